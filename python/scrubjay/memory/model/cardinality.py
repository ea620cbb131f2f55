"""Which predicates have one value at a time, by their words; asked where neither candidate nor caller says it.

By default values accumulate: a second allergy does not end the first. A predicate is single
if its words are listed here, or in the judge's own list, unless the statement's words say that it adds to what is known
("also", "at weekends") or that it is one of several.
"""

from __future__ import annotations

from collections.abc import Collection

from scrubjay.memory.model.content import normalised

__all__ = ["SEVERAL", "SINGLE", "SYNONYMS", "canonical", "is_single", "words_of"]

SINGLE = frozenset(
    """
    age; years old; birthday; date of birth; born on; born in; birthplace; height; weight; blood type; gender; pronouns
    name; is called; full name; first name; last name; surname; nickname; maiden name; username; user name; handle
    lives in; lives at; lives; live in; living in; resides in; residence; home; home town; hometown; home city
    home address; city; country; location; based in; is based in; moved to; located in; address; postal address
    postcode; zip code; timezone; time zone; currently in; staying in; stays in; stay; stays at; current location
    works at; works for; work at; employer; is employed by; employed by; company; workplace; joined; works as; work as
    job; job title; title; role; position; occupation; profession; is a; department; team; office; desk; salary
    manager; boss; reports to; is managed by; supervisor; lead; team lead
    marital status; relationship status; is married to; married to; married; engaged to; spouse; husband; wife; partner
    car; drives; drives a; vehicle; main car; phone; phone number; mobile; mobile number; telephone; email
    email address; e-mail; mail; website; homepage
    diet; is on a diet; eats; doctor; general practitioner; physician; dentist; therapist; lawyer; landlord; accountant
    bank; insurer; insurance; health insurance; school; university; studies at; major; gym
    plan; current plan; pricing plan; tier; subscription plan; subscription tier; status; state; current status; mood
    flight; departure; departs at; leaves at; arrival; arrives at; appointment; deadline; due date; due; meeting time
    reply language; preferred language; interface language; native language; mother tongue; default language; locale
    currency; theme; editor; operating system; browser; shell; favourite colour; favorite color
    office hours; opening hours; hours; refund limit; refund rule; limit; budget; price; support mail; support address
    support email; contact; version; current version; database region; region; owner; ceo; head office; headquarters
    alcohol; smokes; drinks; smoking; drinking; religion; party; nationality; citizenship
    default model; model; provider; password policy; rate limit; quota; wifi password; pin; travel class; train class
    """.replace("\n", ";").split(";")
)
"""Predicates with one value at a time; spaces around are not part of them."""

SEVERAL = frozenset(
    """
    likes; dislikes; loves; hates; enjoys; wants; owns; has; has a; knows; speaks; language; languages; visited; met
    allergy; allergic to; is allergic to; hobby; hobbies; pet; pets; child; children; sibling; brother; sister; friend
    colleague; instrument; plays; subscription; subscribes to; subscribed to; skill; skills; trip; travelled to; goal
    read; watched; bought; condition; medication; takes; food no; does not eat; avoids; cannot eat; interest; interests
    """.replace("\n", ";").split(";")
)
"""Predicates with several values at once, though a word in them is listed as single."""

SYNONYMS = """
    lives in; live in; living in; lives at; lives; resides in; residence; home city; moved to; is based in; based in
    works at; works for; work at; employer; is employed by; employed by; employed at; workplace; joined
    works as; work as; job; job title; occupation; profession; position
    is married to; married to; spouse; husband; wife
    marital status; relationship status
    age; years old; is aged
    birthday; date of birth; born on
    birthplace; born in; place of birth
    phone; phone number; telephone; telephone number
    mobile; mobile number; mobile phone; cell phone
    email; e-mail; email address; e-mail address
    manager; boss; reports to; is managed by; supervisor
    plan; current plan; subscription plan; pricing plan
    allergic to; is allergic to; allergy; allergies; has allergy
    hobby; hobbies
    pet; pets; has pet
    child; children; has child
    speaks; language; languages; speaks language
    car; drives; drives a; vehicle; main car
    name; is called; full name
    timezone; time zone
    diet; is on a diet
    deadline; due date; due
"""
"""Predicates that say the same, a line each; the first of a line is the usual name."""

_ONE_OF = frozenset(
    "limit hours phone mail email address number status title manager doctor dentist age deadline price version region"
    " owner plan size quota timezone birthday password temperature salary rent model capacity window".split()
)
"""Last words that make a predicate single whatever stands before them: "private phone", "refund limit"."""
_BESIDES = frozenset(
    "also too additionally besides another either second weekends weekdays weekend sometimes occasionally part-time "
    "mornings evenings auch ausserdem außerdem zudem aussi également también también además".split()
)
"""Words with which a statement says that it adds to what is known."""


def words_of(predicate: str) -> str:
    """Return a predicate as the lists have it.

    >>> words_of("Lives_In"), words_of("is-married-to")
    ('lives in', 'is married to')
    """
    return " ".join(normalised(predicate).replace("_", " ").replace("-", " ").split())


def is_single(
    predicate: str, content: str = "", *, single: Collection[str] = (), several: Collection[str] = ()
) -> bool:
    """Whether a predicate holds one value at a time, as far as its words and those of the statement tell.

    Args:
        predicate: of the statement.
        content: its text.
        single, several: predicates of the caller's, as :func:`words_of` has them; they go before the lists here.

    >>> is_single("lives in"), is_single("allergic to"), is_single("private phone"), is_single("reply language")
    (True, False, True, True)
    >>> is_single("works at", "She also works at the school")
    False
    """
    said = words_of(predicate)
    if said in several or not said:
        return False
    if said in single:
        return True
    if _BESIDES.intersection(normalised(content).replace(",", " ").replace(".", " ").split()):
        return False
    if said in _SEVERAL:
        return False
    return said in _SINGLE or said.split()[-1] in _ONE_OF


def canonical(predicate: str) -> str:
    """Return the usual name of a predicate, under which its statements stand in one slot.

    >>> canonical("Resides_in"), canonical("employer"), canonical("favourite bird")
    ('lives in', 'works at', 'favourite bird')
    """
    said = words_of(predicate)
    return _USUAL.get(said, said)


_USUAL: dict[str, str] = {}
for _line in SYNONYMS.strip().splitlines():
    _names = [words_of(one) for one in _line.split(";")]
    _USUAL.update((name, _names[0]) for name in _names)
_SINGLE = frozenset(words_of(one) for one in SINGLE if one.strip())
_SEVERAL = frozenset(words_of(one) for one in SEVERAL if one.strip())
