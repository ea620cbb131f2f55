"""Cardinality of predicates by their words, used where neither the candidate nor the caller states it.

By default values accumulate: a second allergy does not end the first. The words of a predicate decide between three
cases:

- One value at a time: the predicate is listed in :data:`SINGLE` ("lives in", "wohnt in"), singles one out ("current
  project", "Lieblingsverein"), or ends with a measure of one thing ("insulin dose", "private phone number").
- One value of a kind (:data:`OF_A_KIND`, :data:`ON_CHANGE`): the words only resemble such a predicate. "Born in 1990"
  does not contradict "born in Aleppo", nor one appointment another. Each two of its statements are compared
  (:mod:`scrubjay.memory.model.kinds`).
- All others: several values at once; but a statement that says that it replaces another ("switched to", "from now
  on", "took over", "the dentist is now") may end the one that it names, or the only one in its slot.

A statement whose words add to what is known ("also", "at weekends", "has a second", "one of my"), or speak of the past
("as a child"), contradicts nothing, whatever its predicate.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from scrubjay.memory.model.content import normalised, topic
from scrubjay.memory.model.predicates import (
    ENDS_OF_A_KIND,
    ENDS_ON_CHANGE,
    OF_A_KIND,
    ON_CHANGE,
    SEVERAL,
    SINGLE,
    SYNONYMS,
)
from scrubjay.memory.model.replacing import is_now, is_number_now, says_in_place

_ONE_OF = frozenset(
    """
    limit hours mail email number status title manager dentist age price version region owner size quota timezone
    birthday password temperature salary rent capacity window dose dosage weight height host hostname port url
    endpoint laptop workstation color colour tier farbe couleur kleur
    time code pin fee balance speed rate threshold shift phone address desk seat room
    floor dosis gewicht uhrzeit poids horaire hora ora
    """.split()
)
"""Last words that make a predicate of several words single: "private phone", "refund limit", "enalapril dose"."""
_SINGLED_OUT = frozenset(
    """
    current favourite favorite primary default preferred main usual principal aktuell aktuelle aktueller aktuelles
    derzeitige derzeitiger derzeitiges bevorzugte bevorzugter bevorzugtes actuel actuelle favori favorite préféré
    préférée principale actual favorito favorita preferido preferida attuale preferito preferita predefinito
    predefinita atual predeterminado predeterminada padrão huidig huidige favoriete standaard
    """.split()
)
"""Words that single one value out: "current project", "plat préféré"."""
_SINGLING = ("lieblings", "haupt", "standard", "lievelings", "voorkeurs", "hoofd")
"""Prefixes that do the same: "Lieblingsverein"."""
_BESIDES = frozenset(
    """
    also too additionally besides another either second weekends weekdays weekend sometimes occasionally part-time
    mornings evenings secondly auch ausserdem außerdem zudem manchmal zweite zweiten zweites aussi également parfois
    deuxième seconde también además otro otra segundo segunda anche inoltre altro altra secondo também outro outra
    ook bovendien tweede soms
    """.split()
)
"""Words by which a statement adds to what is known."""
_ONE_OF_SEVERAL = re.compile(
    r"\b(?:one of (?:the|my|our|his|her|their|its|your)|among(?:st)? (?:the|my|our|his|her|their)|a favou?rite|"
    r"ein\w* (?:meiner|unserer|seiner|ihrer)|une? de (?:mes|ses|nos)|un[oa] de (?:mis|sus)|un[oa] dei (?:miei|suoi)|"
    r"um[a]? d[oa]s (?:meus|minhas|seus|suas)|een van (?:mijn|zijn|haar|onze))\b"
)
"""Phrases that mark a value as one of several: "one of my favourite bands"."""
_MANY = frozenset(
    """
    any all other another second side former previous past ex old free spare possible potential dream business client
    customer portfolio sister partner has have had knows wants likes loves
    """.split()
)
"""Words before the last word that allow several values: "former employer", "side project"."""
_DAYS = frozenset(
    """
    mondays tuesdays wednesdays thursdays fridays saturdays sundays montags dienstags mittwochs donnerstags freitags
    samstags sonntags
    """.split()
)
"""Words that allow several values, except for predicates about times ("retro time")."""
_PAST = re.compile(
    r"\b(?:as (?:a|an) (?:child|kid|boy|girl|teen\w*|student|baby|toddler)|(?:years?|months?|decades?) ago|used to|"
    r"formerly|previously|originally|back in|when (?:i|he|she|they|we) (?:was|were)|als kind|früher|damals|"
    r"vor \w+ jahren|enfant|autrefois|"
    r"auparavant|de niñ[oa]|antes|hace \w+ años|da bambin[oa]|una volta|\w+ anni fa|em criança|há \w+ anos|vroeger|"
    r"\w+ jaar geleden|(?<!since )(?<!since the year )(?:in|during) (?:19|20)\d\d)\b"
)
"""Phrases by which a statement without dates speaks of the past."""
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])")
_NOW = frozenset(
    """
    now currently presently momentan derzeit jetzt actuellement maintenant ahora actualmente adesso ora agora nu
    """.split()
)


@lru_cache(maxsize=4096)  # there are few distinct predicates
def words_of(predicate: str) -> str:
    """Return a predicate in the form of the lists: as words, without "now".

    >>> words_of("Lives_In"), words_of("is-married-to"), words_of("livesIn"), words_of("now lives in")
    ('lives in', 'is married to', 'lives in', 'lives in')
    """
    words = normalised(_CAMEL.sub(" ", predicate)).replace("_", " ").replace("-", " ").split()
    return " ".join([word for word in words if word not in _NOW] or words)


def is_single(
    predicate: str,
    content: str = "",
    *,
    single: Collection[str] = (),
    several: Collection[str] = (),
    is_dated: bool = False,
) -> bool | None:
    """Whether a predicate has one value at a time, as far as its words and those of the statement tell.

    Args:
        predicate: the predicate of the statement.
        content: the text of the statement.
        single, several: the caller's predicates, in the form of :func:`words_of`; they override the lists here.
        is_dated: whether the statement has dates of validity, so that words about the past are ignored.

    Returns:
        None if it depends on the other statement: the predicate has one value of a kind, or the statement says that it
        replaces another one.

    >>> is_single("lives in"), is_single("allergic to"), is_single("private phone"), is_single("current project")
    (True, False, True, True)
    >>> is_single("works at", "She also works at the school"), is_single("moved to", "She moved to Ghent as a child")
    (False, False)
    >>> is_single("born in") is None
    True
    """
    phrase = words_of(predicate)
    if phrase in several or not phrase:
        return False
    if phrase in single:
        return True
    ruled = _ruled(phrase)
    if ruled is False:
        return False
    text = normalised(content)
    words = _spoken(text)
    if not _BESIDES.isdisjoint(words) or (not _DAYS.isdisjoint(words) and phrase.split()[-1] not in _ONE_OF):
        return False
    if _ONE_OF_SEVERAL.search(text) or (not is_dated and _PAST.search(text)):
        return False
    if isinstance(ruled, str):  # unlisted
        takes_place = says_in_place(text) or is_now(text, phrase.split()[-1]) or is_number_now(text)
        return None if takes_place else False
    return ruled


def says_besides(content: str) -> bool:
    """Whether a statement adds to what is known.

    >>> says_besides("Jane has a second dog"), says_besides("Jane has a dog")
    (True, False)
    """
    return not _BESIDES.isdisjoint(_spoken(normalised(content)))


def _spoken(text: str) -> list[str]:
    text = re.sub(r"\b(?:last|this|next|past) weekend\b", " ", text) if "weekend" in text else text
    return text.replace(",", " ").replace(".", " ").replace(";", " ").split()


def is_listed(predicate: str) -> bool:
    """Whether the words of a predicate alone decide its cardinality.

    >>> is_listed("lives in"), is_listed("speaks"), is_listed("volunteers at")
    (True, True, False)
    """
    return _ruled(words_of(predicate)) != _UNLISTED


@lru_cache(maxsize=4096)
def is_compound(predicate: str) -> bool:
    """Whether only the last word of a predicate decides its cardinality.

    >>> is_compound("savings goal"), is_compound("doctor")
    (True, False)
    """
    phrase = words_of(predicate)
    return not any(name in _MAYBE for name in (phrase, _bare(phrase), _head(phrase)))


@lru_cache(maxsize=4096)
def holds_names(predicate: str) -> bool:
    """Whether a predicate has one name at a time even where no word announces a change: "born in", "expense approver".

    >>> holds_names("doctor"), holds_names("expense approver"), holds_names("savings goal"), holds_names("joined")
    (True, True, False, False)
    """
    phrase = words_of(predicate)
    head = _head(phrase)
    return phrase in _KINDS or (head not in _MAYBE and _ends(head, _ENDS_OF_A_KIND))


_UNLISTED = "unlisted"
_COMPOUND = re.compile(
    r"(?!pastime|lifetime|update)\w{3,}(?:time|date|name|size|rate|limit|number|zeit|datum|nummer|grösse|gewicht|preis|farbe|dosis|gehalt)"
)
"""Compound words: "bedtime", "schuhgrösse"."""


@lru_cache(maxsize=4096)
def _ruled(phrase: str) -> bool | str | None:
    """Return the cardinality that the words of a predicate give by themselves; `_UNLISTED`: none."""
    for name in _forms(phrase):
        if name in _SEVERAL:
            return False
        if name in _MAYBE:
            return None
        if name in _SINGLE:
            return True
    head = _head(phrase)
    if head != phrase:
        return _ruled(head)
    words = phrase.split()
    if not words:  # empty, or punctuation only
        return _UNLISTED
    last = words[-1]
    if any(word in _SINGLED_OUT or (word.startswith(_SINGLING) and word not in _SINGLING) for word in words):
        is_plural = last.endswith("s") and not last.endswith(("ss", "us", "is", "as", "os"))
        return not is_plural or last in _ONE_OF
    if len(words) > 1 and last in _ONE_OF:
        return words[0] not in ("free", "spare", "all", "former", "any")
    return None if _ends(phrase, _ENDS_OF_A_KIND) or _ends(phrase, _ENDS_ON_CHANGE) else _UNLISTED


def _head(phrase: str) -> str:
    """Return the head noun of a predicate: "city" in "city of residence"."""
    head, _, rest = phrase.partition(" of ")
    return head if rest else phrase


def _ends(phrase: str, last_words: frozenset[str]) -> bool:
    """Whether a predicate ends with one of these words, and the words before it do not allow several values."""
    *before, last = phrase.split()
    if not before:
        return last_words is _ENDS_ON_CHANGE and _COMPOUND.fullmatch(last) is not None
    if last not in last_words:
        return False
    return not any(
        word in _MANY or word.endswith("ed") or word.removesuffix("s").removesuffix("'") in _SEVERAL
        for word in before
    )


def _forms(phrase: str) -> dict[str, None]:
    """Return the forms under which the lists may have a predicate: as it is, without its auxiliary verb, with its verb
    in the present tense ("residing in", "reside in": "resides in")."""
    bare = _bare(phrase)
    forms = dict.fromkeys((phrase, bare))
    first, _, rest = bare.partition(" ")
    if rest and first.isascii():
        stem = first.removesuffix("ing")
        forms.update(dict.fromkeys(f"{verb} {rest}" for verb in (f"{stem}s", f"{stem}es")))
    return forms


def _bare(phrase: str) -> str:
    """Return a predicate without its auxiliary verb: "is living in", "has employer"."""
    first, _, rest = phrase.partition(" ")
    return rest if rest and first in ("is", "are", "has", "have", "am", "s", "was") else phrase


def canonical(predicate: str) -> str:
    """Return the canonical name of a predicate; it decides the slot of its statements.

    >>> canonical("Resides_in"), canonical("employer"), canonical("now wohnt in"), canonical("favourite bird")
    ('lives in', 'works at', 'lives in', 'favourite bird')
    """
    phrase = words_of(predicate)
    return next((_USUAL[form] for form in _forms(phrase) if form in _USUAL), phrase)


def topics_of(subject: str, predicate: str) -> tuple[bytes, ...]:
    """Return the topics of a slot: under the canonical name of the predicate, and under its own name."""
    if not subject or not predicate:
        return ()
    usual = topic(subject, canonical(predicate))
    return tuple(dict.fromkeys((usual, topic(subject, predicate)))) if usual else ()


def synonyms_of(predicate: str) -> str:
    """Return all synonyms of a predicate, separated by spaces.

    >>> synonyms_of("hobby"), synonyms_of("favourite bird")
    ('hobby hobbies', 'favourite bird')
    """
    usual = canonical(predicate)
    return _ALIKE.get(usual, usual)


_USUAL: dict[str, str] = {}
_ALIKE: dict[str, str] = {}
for _group in SYNONYMS:
    _names = [words_of(one) for one in _group]
    _USUAL.update((name, _names[0]) for name in _names)
    _ALIKE[_names[0]] = " ".join(_names)
_SINGLE = frozenset(words_of(one) for one in SINGLE)
_SEVERAL = frozenset(words_of(one) for one in SEVERAL)
_KINDS = frozenset(words_of(one) for one in OF_A_KIND)
_MAYBE = _KINDS | {words_of(one) for one in ON_CHANGE}
_ENDS_OF_A_KIND = frozenset(words_of(one) for one in ENDS_OF_A_KIND)
_ENDS_ON_CHANGE = frozenset(words_of(one) for one in ENDS_ON_CHANGE)
