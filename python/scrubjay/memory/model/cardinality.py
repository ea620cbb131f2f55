"""Which predicates have one value at a time, by their words; asked where neither candidate nor caller says it.

By default values accumulate: a second allergy does not end the first. Of a predicate the words tell one of three things:

- One value at a time: it is listed in :data:`SINGLE` ("lives in", "wohnt in"), singles one out ("current project",
  "Lieblingsverein"), or ends with a measure of one thing ("insulin dose", "private phone number").
- One value of a kind (:data:`OF_A_KIND`, :data:`ON_CHANGE`): the words only resemble such a predicate. "Born in 1990" does not
  contradict "born in Aleppo", nor one appointment another one. Each two of its statements are compared
  (:mod:`scrubjay.memory.model.kinds`).
- All else: several values at once. A statement whose words say that it adds to what is known ("also", "at weekends",
  "has a second"), or that it speaks of the past ("as a child"), contradicts nothing whatever its predicate.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from scrubjay.memory.model.content import normalised

__all__ = ["OF_A_KIND", "ON_CHANGE", "SEVERAL", "SINGLE", "SYNONYMS", "canonical", "is_single", "synonyms_of", "words_of"]


def _listed(text: str) -> frozenset[str]:
    return frozenset(one.strip() for one in text.replace("\n", ";").split(";") if one.strip())


SINGLE = _listed(
    """
    age; years old; birthday; date of birth; place of birth; birthplace; height; weight; blood type; blood group; gender; pronouns
    full name; first name; last name; surname; maiden name; username; user name; handle
    lives in; lives at; lives; live in; living in; resides in; residence; home; home town; hometown; home city; dwells in
    home address; city; country; location; based in; is based in; moved to; relocated to; located in; postal address
    postcode; zip code; timezone; time zone; currently in; staying in; stays in; stay; stays at
    works at; works for; work at; employer; is employed by; employed by; employed at; company; workplace; works as; work as
    job; job title; title; role; position; occupation; profession; department; team; office; desk; salary
    manager; line manager; boss; reports to; is managed by; supervisor; team lead
    marital status; relationship status; is married to; married to; married; engaged to; spouse; husband; wife; partner
    girlfriend; boyfriend; car; drives a; vehicle; phone number; telephone number; mobile number; cell phone
    email; email address; e-mail; e-mail address; mail; website; homepage; weighs; commutes by; commute; rent
    diet; is on a diet; general practitioner; dentist; therapist; landlord; accountant; gym
    bank; insurer; insurance; health insurance; school; university; major
    pricing plan; tier; subscription plan; subscription tier; status; state; mood; shift
    reply language; interface language; native language; mother tongue; locale; currency; theme; editor; operating system
    browser; shell; office hours; opening hours; hours; refund limit; refund rule; limit; budget; price
    support mail; support address; support email; version; database region; region; owner; ceo; head office; headquarters
    alcohol; smokes; smoking; drinking; religion; nationality; citizenship
    provider; password policy; rate limit; quota; wifi password; pin; travel class; train class
    alter; wohnt in; wohnhaft in; lebt in; wohnort; arbeitet bei; arbeitet für; arbeitgeber; arbeitet als; beruf; chef; chefin
    vorgesetzter; verheiratet mit; geburtstag; geburtsort; familienstand; gewicht; größe; fährt einen; telefonnummer; auto
    âge; habite à; habite; vit à; réside à; travaille chez; travaille pour; travaille à; employeur; métier; profession; patron
    chef; marié à; mariée à; anniversaire; date de naissance; lieu de naissance; poids; taille; domicile; voiture
    edad; vive en; reside en; residencia; trabaja en; trabaja para; trabaja como; empleador; empresa; jefe; jefa; casado con
    casada con; cumpleaños; fecha de nacimiento; lugar de nacimiento; peso; estatura; domicilio; coche; ocupación
    età; vive a; abita a; abita in; residenza; lavora per; lavora presso; lavora a; lavora come; datore di lavoro; capo
    sposato con; sposata con; compleanno; data di nascita; luogo di nascita; altezza; professione; macchina
    idade; vive em; mora em; reside em; morada; trabalha em; trabalha na; trabalha no; trabalha para; trabalha como; empregador
    chefe; casado com; casada com; aniversário; data de nascimento; local de nascimento; altura; profissão; carro
    leeftijd; woont in; woonplaats; werkt bij; werkt voor; werkt als; werkgever; baas; leidinggevende; getrouwd met
    verjaardag; geboortedatum; geboorteplaats; gewicht; lengte; beroep; burgerlijke staat
    """
)
"""Predicates with one value at a time."""

OF_A_KIND = _listed(
    """
    born in; born on; born; birth; phone; telephone; mobile; mobile phone; doctor; physician; lawyer; name; is called; called
    nickname; address; drives; studies at; leaves at; contact number; model; né à; née à; nació en; nato a; nata a; nasceu em
    geboren in; geboren am; geboren; telefon; téléphone; teléfono; telefono; telefone; telefoon; arzt; médecin; médico; medico
    arts; adresse; dirección; indirizzo; endereço; adres; fährt; conduit; conduce; guida; dirige; rijdt
    """
)
"""Predicates with one value at a time of each kind: a number of a phone beside its make, a year beside a place."""

ON_CHANGE = _listed(
    """
    is a; is an; is; was; are; joined; eats; eat; drinks; drink; plan; plans; flight; departure; departs at; arrival
    arrives at; appointment; deadline; due date; due; meeting time; meeting; contact; party; lead
    ist; ist ein; ist eine; isst; trinkt; termin; frist; flug; est; est un; est une; mange; boit; rendez-vous; échéance; vol
    es; es un; es una; come; bebe; cita; plazo; vuelo; è; è un; è una; mangia; beve; appuntamento; scadenza; volo
    é; é um; é uma; consulta; prazo; voo; is een; eet; drinkt; afspraak; vlucht
    """
)
"""Predicates of which a statement ends another one only where its words say that something changed, or where both say
no more than a number, a time or a date of the same thing ("the flight leaves at 9:40")."""

SEVERAL = _listed(
    """
    likes; dislikes; loves; hates; enjoys; wants; owns; has; has a; knows; speaks; language; languages; visited; met
    allergy; allergic to; is allergic to; hobby; hobbies; pet; pets; child; children; sibling; brother; sister; friend
    colleague; instrument; plays; subscription; subscribes to; subscribed to; skill; skills; trip; travelled to; goal
    read; watched; bought; condition; medication; takes; food no; does not eat; avoids; cannot eat; interest; interests
    """
)
"""Predicates with several values at once, though a word in them is listed as single."""

SYNONYMS = """
    lives in; live in; living in; lives at; lives; resides in; residence; home; home city; home town; hometown; moved to; relocated to; is based in; based in; dwells in; wohnt in; lebt in; wohnort; habite à; habite; vit à; vive en; reside en; vive a; abita a; abita in; vive em; mora em; woont in; woonplaats
    works at; works for; work at; employer; is employed by; employed by; employed at; workplace; arbeitet bei; arbeitet für; arbeitgeber; travaille chez; travaille pour; employeur; trabaja en; trabaja para; empleador; lavora per; lavora presso; trabalha em; trabalha na; trabalha no; trabalha para; empregador; werkt bij; werkt voor; werkgever
    works as; work as; job; job title; occupation; profession; position; arbeitet als; beruf; trabaja como; lavora come; trabalha como; werkt als; beroep
    is married to; married to; spouse; husband; wife; verheiratet mit; marié à; mariée à; casado con; casada con; sposato con; sposata con; casado com; casada com; getrouwd met
    marital status; relationship status; familienstand; burgerlijke staat
    age; years old; is aged; alter; âge; edad; età; idade; leeftijd
    birthday; date of birth; born on; geburtstag; date de naissance; fecha de nacimiento; data di nascita; data de nascimento; geboortedatum
    birthplace; place of birth; geburtsort; lieu de naissance; lugar de nacimiento; luogo di nascita; local de nascimento; geboorteplaats
    phone; phone number; telephone; telephone number
    mobile; mobile number; mobile phone; cell phone
    email; e-mail; email address; e-mail address
    manager; boss; line manager; reports to; is managed by; supervisor; chef; chefin; vorgesetzter; jefe; jefa; capo; chefe; baas
    plan; current plan; subscription plan; pricing plan
    allergic to; is allergic to; allergy; allergies; has allergy
    hobby; hobbies
    pet; pets; has pet
    child; children; has child
    speaks; language; languages; speaks language
    car; drives; drives a; vehicle; auto; voiture; coche; macchina; carro
    name; full name
    timezone; time zone
    diet; is on a diet
    deadline; due date; due
"""
"""Predicates that say the same, a line each; the first of a line is the usual name."""

_ONE_OF = frozenset(
    "limit hours mail email number status title manager dentist age price version region owner size quota timezone"
    " birthday password temperature salary rent capacity window dose dosage weight height host hostname port url endpoint"
    " laptop workstation time code pin fee balance speed rate threshold shift phone address desk seat room floor"
    " dosis gewicht uhrzeit poids horaire hora ora".split()
)
"""Last words that make a predicate single that has words before it: "private phone", "refund limit", "enalapril dose"."""
_SINGLED_OUT = frozenset(
    "current favourite favorite primary default preferred main usual principal aktuell aktuelle aktueller aktuelles"
    " derzeitige derzeitiger derzeitiges bevorzugte bevorzugter bevorzugtes actuel actuelle favori favorite préféré préférée"
    " principale actual favorito favorita preferido preferida attuale preferito preferita predefinito predefinita atual"
    " predeterminado predeterminada padrão huidig huidige favoriete standaard".split()
)
"""Words that single one value out: "current project", "plat préféré"."""
_SINGLING = ("lieblings", "haupt", "standard", "lievelings", "voorkeurs", "hoofd")
"""Beginnings of words that do so: "Lieblingsverein"."""
_BESIDES = frozenset(
    "also too additionally besides another either second weekends weekdays weekend sometimes occasionally part-time "
    "mornings evenings secondly "
    "auch ausserdem außerdem zudem manchmal zweite zweiten zweites aussi également parfois deuxième seconde también además "
    "otro otra segundo segunda anche inoltre altro altra secondo também outro outra ook bovendien tweede soms".split()
)
"""Words with which a statement says that it adds to what is known."""
_DAYS = frozenset(
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays montags dienstags mittwochs donnerstags freitags "
    "samstags sonntags".split()
)
"""Words that do so too, but of what is about times ("retro time")."""
_PAST = re.compile(
    r"\b(?:as (?:a|an) (?:child|kid|boy|girl|teen\w*|student|baby|toddler)|(?:years?|months?|decades?) ago|used to|formerly|"
    r"previously|originally|back in|when (?:i|he|she|they|we) (?:was|were)|als kind|früher|damals|vor \w+ jahren|enfant|autrefois|"
    r"auparavant|de niñ[oa]|antes|hace \w+ años|da bambin[oa]|una volta|\w+ anni fa|em criança|há \w+ anos|vroeger|"
    r"als kind|\w+ jaar geleden|(?<!since )(?<!since the year )(?:in|during) (?:19|20)\d\d)\b"
)
"""How a statement says, without dates of its own, that it speaks of the past."""
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])")
_NOW = frozenset("now currently presently momentan derzeit jetzt actuellement maintenant ahora actualmente adesso ora agora nu".split())


@lru_cache(maxsize=4096)  # slots are few words
def words_of(predicate: str) -> str:
    """Return a predicate as the lists have it: in words, without "now".

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
    """Whether a predicate holds one value at a time, as far as its words and those of the statement tell.

    Args:
        predicate: of the statement.
        content: its text.
        single, several: predicates of the caller's, as :func:`words_of` has them; they go before the lists here.
        is_dated: whether it says by dates when it holds, so that its words need not tell whether that is past.

    Returns:
        None if it holds one value of a kind: it depends on the other statement.

    >>> is_single("lives in"), is_single("allergic to"), is_single("private phone"), is_single("current project")
    (True, False, True, True)
    >>> is_single("works at", "She also works at the school"), is_single("moved to", "She moved to Ghent as a child")
    (False, False)
    >>> is_single("born in") is None
    True
    """
    said = words_of(predicate)
    if said in several or not said:
        return False
    if said in single:
        return True
    ruled = _ruled(said)
    if ruled is False:
        return False
    text = normalised(content)
    words = text.replace(",", " ").replace(".", " ").split()
    if not _BESIDES.isdisjoint(words) or (not _DAYS.isdisjoint(words) and said.split()[-1] not in _ONE_OF):
        return False
    return False if not is_dated and _PAST.search(text) else ruled


@lru_cache(maxsize=4096)
def _ruled(said: str) -> bool | None:
    """What the words of a predicate say by themselves."""
    for name in dict.fromkeys((said, _bare(said))):
        if name in _SEVERAL:
            return False
        if name in _MAYBE:
            return None
        if name in _SINGLE:
            return True
    words = said.split()
    last = words[-1]
    if any(word in _SINGLED_OUT or (word.startswith(_SINGLING) and word not in _SINGLING) for word in words):
        is_plural = last.endswith("s") and not last.endswith(("ss", "us", "is", "as", "os"))
        return not is_plural or last in _ONE_OF
    return len(words) > 1 and last in _ONE_OF and words[0] not in ("free", "spare", "all", "former", "any")


def _bare(said: str) -> str:
    """A predicate without the verb that carries it: "is living in", "has employer"."""
    first, _, rest = said.partition(" ")
    return rest if rest and first in ("is", "are", "has", "have", "am", "s", "was") else said


def canonical(predicate: str) -> str:
    """Return the usual name of a predicate, under which its statements stand in one slot.

    >>> canonical("Resides_in"), canonical("employer"), canonical("now wohnt in"), canonical("favourite bird")
    ('lives in', 'works at', 'lives in', 'favourite bird')
    """
    said = words_of(predicate)
    return _USUAL.get(said) or _USUAL.get(_bare(said), said)


def synonyms_of(predicate: str) -> str:
    """Return all words that say what a predicate says.

    >>> synonyms_of("hobby"), synonyms_of("favourite bird")
    ('hobby hobbies', 'favourite bird')
    """
    usual = canonical(predicate)
    return _ALIKE.get(usual, usual)


_USUAL: dict[str, str] = {}
_ALIKE: dict[str, str] = {}
for _line in SYNONYMS.strip().splitlines():
    _names = [words_of(one) for one in _line.split(";")]
    _USUAL.update((name, _names[0]) for name in _names)
    _ALIKE[_names[0]] = " ".join(_names)
_SINGLE = frozenset(words_of(one) for one in SINGLE)
_SEVERAL = frozenset(words_of(one) for one in SEVERAL)
_MAYBE = frozenset(words_of(one) for one in OF_A_KIND | ON_CHANGE)
