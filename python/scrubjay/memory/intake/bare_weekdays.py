"""English weekdays without "last" or "next": "we met on Monday" is the past one, "I will call on Monday" the next.

Only the verbs decide, so a day is resolved only where they are unambiguous: its clause has a past tense and no sign of
anything else, or a future tense and no past tense. On the same weekday neither is clear.
"""

from __future__ import annotations

import re

_ON = re.compile(
    r"\bon (?:(?P<full>mon|tues|wednes|thurs|fri|satur|sun)day)\b(?! \()"
    r"(?! (?:next|last|this|of|in|after|before|the|\d)\b|,? (?:the )?\d|,? (?:jan|feb|mar|apr|may|june?|july?"
    r"|aug|sep|oct|nov|dec))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[.,;:!?()\u2013\u2014\n]|\b(?:and|but|so|because|when|while|if|that|which|who)\b", re.IGNORECASE
)
_WORD = re.compile(r"[a-z]+(?:['\u2019][a-z]+)?")
_PAST = frozenset(
    "was were had did went met saw said bought came got took made left ate flew drove began broke brought built caught "
    "chose fell felt fought found forgot gave grew heard held hurt kept knew learnt lost paid ran rang read rode sang "
    "sat sent sold slept spent spoke stood stole swam taught threw tore thought told won wore woke wrote".split()
)
_NOT_PAST = frozenset(  # words that end like a past tense
    "need feed speed seed bed red bleed breed succeed proceed exceed indeed used hundred".split()
)
_OTHER = frozenset(
    # present and habit
    "is are am isn't aren't do does don't doesn't has have always usually every often never sometimes "
    # verbs of wishes, arrangements and assumptions, where the day belongs to another event
    "would could should may might must can want wanted told asked decided agreed planned promised hoped booked "
    "scheduled arranged expected invited supposed reserved ordered meant needed due moved postponed set said "
    "thought heard knew unless until by".split()
)
_FUTURE = re.compile(
    r"\b(?:will|won['\u2019]t|shall|(?:am|is|are|['\u2019](?:m|s|re)) going to)\b|['\u2019]ll\b",
    re.IGNORECASE,
)
_INFINITIVE = re.compile(r"\bto (?!the\b|a\b|an\b|my\b|his\b|her\b|our\b|their\b|your\b)[a-z]", re.ASCII)


def bare_weekdays(text: str) -> list[tuple[int, str, int]]:
    """Return (end, first three letters of the day, -1 for the last or 1 for the next) of each unambiguous weekday.

    >>> bare_weekdays("We met on Monday. She will call on Friday. The shop is closed on Sunday.")
    [(16, 'mon', -1), (41, 'fri', 1)]
    """
    phrases = []
    for day in _ON.finditer(text):
        which = _tense(_clause(text, day.start(), day.end()))
        if which:
            phrases.append((day.end(), day["full"][:3].lower(), which))
    return phrases


def _clause(text: str, start: int, end: int) -> str:
    """Return the text around a day between the adjacent punctuation marks or conjunctions."""
    before = [mark.end() for mark in _CLAUSE.finditer(text, 0, start)]
    after = _CLAUSE.search(text, end)
    return text[before[-1] if before else 0 : start] + text[end : after.start() if after else len(text)]


def _tense(clause: str) -> int:
    words = _WORD.findall(clause.lower().replace("\u2019", "'"))
    is_past = any(
        word in _PAST or (len(word) > 3 and word.endswith("ed") and word not in _NOT_PAST) for word in words
    )
    if _FUTURE.search(clause):
        return 0 if is_past else 1
    if not is_past or any(word in _OTHER for word in words):
        return 0
    if any(word.endswith(("'s", "'re", "'m", "'ve", "'d", "'ll")) and word[-2:] != "'s" for word in words):
        return 0
    return 0 if _INFINITIVE.search(clause) else -1
