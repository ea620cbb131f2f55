"""Contradiction between two statements of a predicate that has one value of a kind.

"Born in 1990" and "born in Aleppo", a phone's number and its make, one appointment and the next: the words of such
predicates only resemble those of predicates with one value at a time. Two of their statements contradict each other if

- their values are of one kind (:func:`kind_of`): both are numbers, times, dates, addresses, or names; and
- their words are not about different things ("the tax return is due", "the grant application is due"), unless the
  later one names the earlier one's value; and
- the later one announces a change ("now", "moved", "instead of"), or the predicate is in
  :data:`~scrubjay.memory.model.cardinality.OF_A_KIND`, or the values are bare numbers, times or dates.

If neither value has a kind, because both are plain words, a statement contradicts only if it announces a change.

For an unlisted predicate, a statement contradicts another only if it says that it replaces one
(:mod:`scrubjay.memory.model.replacing`): the value that it names, or, if it names none, the only value in its slot
(:func:`replaced`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from scrubjay.memory.model.cardinality import (
    holds_names,
    is_compound,
    is_listed,
    says_besides,
    synonyms_of,
    words_of,
)
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.replacing import in_place_of, is_now, is_number_now, says_in_place
from scrubjay.memory.model.wording import stems

_MONTH = (
    r"(?:jan(?:uar[iy]?|uary|vier|eiro)?|jänner|ene(?:ro)?|gen(?:naio)?|feb(?:ruar[iy]?|rero|braio)?|f[ée]v(?:rier|ereiro)?|"
    r"mar(?:ch|s|zo)?|märz|março|maart|apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|may|mai|mayo|maio|mei|mag(?:gio)?|"
    r"jun[ei]?|juin|junio|junho|giu(?:gno)?|jul[yi]?|juil(?:let)?|julio|julho|lug(?:lio)?|aug(?:ust|ustus)?|ao[uû]t|"
    r"ago(?:sto)?|sept?(?:ember|embre|iembre)?|set(?:tembre|embro)?|o[ck]t(?:ober|obre|ubre)?|ott(?:obre)?|"
    r"out(?:ubro)?|nov(?:ember|embre|iembre|embro)?|de[cz](?:ember|embro)?|d[ée]c(?:embre)?|dic(?:iembre|embre)?)\.?"
)
"""Names of months, in full or abbreviated; "Maja" and "Marco" do not match."""
_BARE = (
    (
        "time",
        re.compile(
            r"(?:at |um |à |a las |alle |às |om )?\d{1,2}(?:[:.h]\d{2})?\s*(?:am|pm|uhr|h|uur|o'clock)|\d{1,2}[:.]\d{2}"
        ),
    ),
    (
        "date",
        re.compile(
            r"(?:on |in |am |le |el |il |the )?"
            rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of |de |di )?{_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|{_MONTH})"
            r"(?:,? (?:de )?(?:19|20)\d\d)?|\d{4}-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:\d{2}|\d{4})|(?:19|20)\d\d"
        ),
    ),
    ("address", re.compile(r"\S+@\S+\.\S+|https?://\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[/:]\S*)?")),
    ("number", re.compile(r"[-+]?[\d][\d\s.,/()-]*|\+[\d\s()-]+")),
    ("number", re.compile(r"[-+~]?[$€£]?\s?\d[\d.,]*\s?(?:[^\W\d]+|[%$€£°])?")),
)
"""Patterns of normalised values that are nothing but a number, a time, a date or an address, by kind."""
_EXACT = frozenset(("time", "date", "address", "number"))

_CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|instead|switched|changed|moved|replaced|swapped|traded|upgraded|"
    r"became|becomes|turned|raised|lowered|increased|reduced|rescheduled|postponed|brought forward|from now on|as of|"
    r"retired|jetzt|nun|neuerdings|nicht mehr|stattdessen|statt|gewechselt|geändert|umgezogen|gezogen|verschoben|"
    r"inzwischen|ab sofort|"
    r"maintenant|désormais|ne \w+ plus|plut[oô]t|au lieu|chang[eé]\w*|déménagé|remplac\w+|report[eé]|"
    r"ahora|ya no|en lugar|en vez|cambi[oóaé]\w*|mud[oóaé]\w*|reemplaz\w+|desde ahora|aplaz\w+|"
    r"adesso|ora|ormai|non \w+ più|invece|trasferit\w+|sostituit\w+|spostat\w+|d'ora in poi|"
    r"agora|já não|em vez|troc\w+|substitu\w+|a partir de|adiad\w+|"
    r"nu|tegenwoordig|niet meer|voortaan|overgestapt|verhuisd|veranderd|gewijzigd|verplaatst|vervangen|in plaats van|"
    r"took over|takes over|taken over|übernommen|übernimmt|overgenomen|sorry|correction|actually)\b"
    rf"|\b(?:from|as of|starting|ab|desde|vanaf) (?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:de )?{_MONTH}|{_MONTH} \d)"
    r"|\bfrom \S+(?: \S+){0,3} to \S|\bvon \S+(?: \S+){0,3} (?:zu|nach|auf) \S|\bde \S+(?: \S+){0,3} [àa] \S"
    r"|\b(?:my|his|her|our|their|the|'s|s) new (?:\w+ ){1,3}(?:is|was|are)\b"
    r"|\b(?:neue[rs]? \w+ (?:ist|heißt)|(?:nouveau|nouvelle|nuev[oa]|nuov[oa]|nov[oa]) \w+|nieuwe \w+ (?:is|heet))\b"
)
"""Words and phrases that announce a change."""
_INDEFINITE = (
    r"\b(?:has|have|got|had|hat|habe|a|ho|tiene|tengo|tem|tenho|heeft|heb|ai) "
    r"(?:an?|ein(?:en?)?|une?|una?|um|uma|een) (?:\w+ )?%s"
)


def says_change(text: str) -> bool:
    """Whether a text announces a change.

    >>> says_change("The dentist is now Dr Abel"), says_change("She switched from Vim to Helix"), says_change("Dr Abel")
    (True, True, False)
    """
    return _CHANGE.search(normalised(text)) is not None or says_in_place(text)


@lru_cache(maxsize=4096)
def kind_of(value: str) -> str:
    """Return the kind of a value: "time", "date", "address", "number", "name", or "" for plain words.

    >>> [kind_of(value) for value in ("9:40", "31 July", "+32 1", "12 kg", "Aleppo", "a Pixel 9", "no pork")]
    ['time', 'date', 'number', 'number', 'name', 'name', '']
    """
    bare = normalised(value)
    for kind, pattern in _BARE:
        if pattern.fullmatch(bare):
            return kind
    words = [word for word in re.findall(r"[^\W_]+", value) if word.lower() not in _SMALL]
    return "name" if words and all(word != word.lower() or word[0].isdigit() for word in words) else ""


_SMALL = frozenset(
    "a an the of de la le der die das von van den het een il lo el os do da di du des and und et y e".split()
)


def contradicts(
    known: str, said: str, predicate: str, *, subject: str = "", known_value: str = "", said_value: str = ""
) -> bool:
    """Whether a later statement contradicts an earlier one of a predicate that has one value of a kind.

    Args:
        known, said: the texts of the earlier and of the later statement.
        predicate, subject: of both statements.
        known_value, said_value: their values, as stated; empty: the part of the text after the predicate.

    >>> contradicts("Nadia was born in Aleppo", "Nadia was born in 1990", "born in")
    False
    >>> contradicts("My doctor is Dr Roth", "My doctor is Dr Abel now", "doctor")
    True
    """
    before, after = known_value or _tail(known, predicate), said_value or _tail(said, predicate)
    kinds = kind_of(before), kind_of(after)
    named = stems(before)
    if not is_listed(predicate):
        is_frame = not _takes_place(said, predicate)
        if says_besides(known) or (is_frame and not (kinds[1] in _EXACT and is_number_now(said))):
            return False
        if kinds[0] != kinds[1] and not _EXACT.isdisjoint(kinds):
            return False
        if not is_frame and kinds == ("number", "number") and _unit(before) == _unit(after):
            return True
    else:
        changed = says_change(said)
        is_frame = not changed and is_compound(predicate)
        if kinds[0] != kinds[1]:
            return False
        if not changed and re.search(_INDEFINITE % re.escape(_noun(predicate)), normalised(said)):
            return False  # "has a dentist appointment": one of several
        if not changed and not (kinds[0] in _EXACT or (kinds[0] and holds_names(predicate))):
            return False
        if not changed:
            named = frozenset()
    if named and named <= stems(said):
        return True
    named = stems(before)
    beside = stems(synonyms_of(predicate), predicate, subject) | _CHANGING
    old, new = stems(known) - named - beside, stems(said) - stems(after) - beside
    return old == new if is_frame else not (old and new) or bool(old & new)


def replaced(said: Any, known: Sequence[Any]) -> list[Any]:
    """Return the statements of a slot in force that a later one ends.

    For an unlisted predicate these are the statements whose values it names; if it names none, the only value in the
    slot. If there are several values and it names none, it ends none.

    Args:
        said, known: the later statement and those in force, with `text`, `value`, `given`, `subject`, `predicate` and
            `single` (:class:`scrubjay.memory.model.projection.Statement`).
    """
    is_known = is_listed(said.predicate)
    ended = [
        statement
        for statement in known
        if not (is_known and statement.single is False)
        and contradicts(
            statement.text,
            said.text,
            said.predicate,
            subject=said.subject,
            known_value=statement.given,
            said_value=said.given,
        )
    ]
    if is_known or said.single:
        return ended
    words = stems(said.text)
    values = [stems(statement.given or _tail(statement.text, statement.predicate)) for statement in ended]
    named = [statement for statement, value in zip(ended, values, strict=True) if value and value <= words]
    if named or in_place_of(said.text):
        return named
    return ended if len({statement.value for statement in ended}) == 1 else []


def _takes_place(text: str, predicate: str) -> bool:
    return says_in_place(text) or is_now(text, _noun(predicate))


def _unit(value: str) -> str:
    return "".join(re.findall(r"[^\W\d_]+|[%$€£°]", normalised(value)))


def _noun(predicate: str) -> str:
    return words_of(predicate).split()[-1] if predicate else ""


def _tail(text: str, predicate: str) -> str:
    """Return the part of a text after the words of its predicate; all of it if they do not occur."""
    phrase = words_of(predicate)
    place = re.search(rf"\b{re.escape(phrase)}\b", text, re.IGNORECASE) if phrase else None
    rest = text[place.end() :] if place else text
    rest = re.sub(r"^[\s:]*(?:is|are|was|were|ist|est|es|è|é)\b", "", rest).strip(" .!:")
    return re.sub(r"^now |,? (?:now|instead|jetzt|nun|maintenant|ahora|adesso|ora|agora|nu)$", "", rest)


_CHANGING = stems(
    "switched changed moved replaced became turned sorry correction actually instead nowadays days new upgraded "
    "renamed raised lowered increased reduced slipped rescheduled postponed migrated swapped traded took over went "
    "up down"
) | stems(
    "last lasts long planned set scheduled due takes needs total today per week month year hour minute "
    "first second third fourth fifth sixth seventh eighth ninth tenth "
    "one two three four five six seven eight nine ten eleven twelve"
)
"""Words that describe a change or a quantity; they do not tell what a statement is about."""
