"""Relative dates in languages other than English: "vor zwei Wochen" gets its date, "guten Morgen" does not.

The library `dateparser` (extra `dates`) translates phrases: by its locales "vorige Woche" is "1 week ago". Nothing else
of it is used. Most of what it would take for a date in running text is not one ("je", its abbreviation of jeudi, "im
Mai", numbers), so a phrase counts only if its translation is, as a whole, a number of days, weeks, months or years ago,
or the next one of them; or a weekday's full name beside a word for "last" or "next". A number with a future word ("in 3
Tagen") is left alone, because it means "within 3 days" as often, except for Dutch "over 3 dagen".

The tables below contain what the library's locales lack, and what would mislead it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from scrubjay.base.extras import imported
from scrubjay.memory.intake.false_friends import is_of_another_language

LANGUAGES: Mapping[str, str] = {
    "danish": "da",
    "dutch": "nl",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "hungarian": "hu",
    "italian": "it",
    "norwegian": "nb",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}
"""Snowball's name of an analyzer's language -> the language code of its texts."""

_MOST_WORDS = 5
_TOKEN = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[ '’\-]")
_MEANT = re.compile(r"(?:(?P<future>in) )?(?P<n>\d{1,3}) (?P<unit>day|week|month|year)s?(?: ago)?")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class _Words:
    """The vocabulary of a language that the library lacks."""

    numbers: str = ""
    """From one on, in order; forms of one number are separated by slashes."""
    last: str = ""
    next: str = ""
    """Words before or after a weekday."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further phrases, and their meaning."""
    not_after: str = ""
    """Words after which no phrase of one word begins: "guten Morgen"."""
    noun: str = ""
    """Words that are nouns, not dates, if they are capitalised in the middle of a sentence."""
    idioms: str = ""
    """Phrases with such words that are not dates, separated by slashes."""
    ahead: str = ""
    """A word before a number of days (weeks, ...) in the future."""
    about: str = ""
    """Words after which that word means "about"."""


_WORDS: Mapping[str, _Words] = {
    "de": _Words(
        "ein/eine/einem/einer/einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "letzten letzter letzte letztes letztem vergangenen vergangene vergangener vorigen voriger",
        "nächsten nächster nächste nächstem kommenden kommender kommende",
        {"vorvorgestern": "3 day ago", "letzte nacht": "1 day ago"},
        "guten gutem schönen jeden jedem heute gestern vorgestern frühen nächsten diesem diesen",
        "morgen",
        "von heute auf morgen",
    ),
    "fr": _Words(
        "un/une deux trois quatre cinq six sept huit neuf dix onze douze",
        "dernier dernière passé",
        "prochain prochaine",
        {"hier soir": "1 day ago", "la nuit dernière": "1 day ago", "après demain": "in 2 day"},
    ),
    "es": _Words(
        "un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "pasado último",
        "próximo siguiente",
        {
            "anoche": "1 day ago",
            "pasado mañana": "in 2 day",
            "antes de ayer": "2 day ago",
            "antier": "2 day ago",
            "mes que viene": "in 1 month",
            "semana que viene": "in 1 week",
            "año que viene": "in 1 year",
            "semana próxima": "in 1 week",
        },
        "la una cada buena esta misma",
        idioms="hoy en día",
    ),
    "it": _Words(
        "un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        "scorso scorsa passato",
        "prossimo prossima",
        {
            "dopodomani": "in 2 day",
            "ieri sera": "1 day ago",
            "ieri notte": "1 day ago",
            "stasera": "0 day ago",
        },
        "un il del",
    ),
    "pt": _Words(
        "um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze",
        "passado passada último última",
        "próximo próxima",
        {
            "depois de amanhã": "in 2 day",
            "ontem à noite": "1 day ago",
            "mês passado": "1 month ago",
            "próximo mês": "in 1 month",
            "mês que vem": "in 1 month",
            "semana que vem": "in 1 week",
            "ano que vem": "in 1 year",
        },
        "o do",
        idioms="hoje em dia",
    ),
    "nl": _Words(
        "een/één twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "afgelopen vorige verleden",
        "volgende komende aanstaande",
        {"gisteravond": "1 day ago", "vannacht": "0 day ago", "vanavond": "0 day ago"},
        "goede goeden de elke s deze",
        idioms="vandaag de dag/vandaag of morgen",
        ahead="over",
        about="gaat ging praat praten praatten spreek spreekt spreken sprak spraken verdeeld gespreid vertelde",
    ),
    "ru": _Words(
        "один/одну/одна два/две три четыре пять шесть семь восемь девять десять",
        "прошлый прошлую прошлое прошлая прошлой прошлом",
        "следующий следующую следующее следующая следующей следующем",
        {"вчера вечером": "1 day ago"},
    ),
    "pl": _Words("jeden/jedną dwa/dwie trzy cztery pięć sześć siedem osiem dziewięć dziesięć"),
}
_NO_WORDS = _Words()


class Phrase(NamedTuple):
    """A relative date in a text: its span and its meaning."""

    start: int
    end: int
    n: int
    """The number of units, negative for the past."""
    unit: str
    """ "day", "week", "month", "year", or the English name of a weekday (the last or next one is meant)."""
    is_counted: bool
    """Whether a number was said ("vor einer Woche" is a day), not a name ("vorige Woche" is a week)."""


def language_of(analyzer: str) -> str | None:
    """Return the language code of an analyzer's texts; None: English, or no language.

    >>> language_of("german-1"), language_of("english-1"), language_of("plain-1")
    ('de', None, None)
    """
    return LANGUAGES.get(analyzer.rpartition("-")[0] or analyzer)


def checked_languages(dates: Any) -> tuple[str, ...] | None:
    """Return the requested languages; None: that of the analyzer.

    Raises:
        TypeError, ValueError: not a sequence of codes such as "de" that the library knows.
        MissingExtraError: the library is not installed.
    """
    if dates is None:
        return None
    if isinstance(dates, (str, bytes)) or not isinstance(dates, Sequence):
        raise TypeError(f'dates: expected a sequence of languages such as ["de"], got {type(dates).__name__}')
    for language in dates:
        if not isinstance(language, str):
            raise TypeError(f"dates: expected languages as str, got {type(language).__name__}")
        if language != "en":
            _locale(language)
    return tuple(dict.fromkeys(language for language in dates if language != "en"))


def phrases_of(text: str, language: str) -> list[Phrase]:
    """Return the relative dates of a text, in order; a longer phrase takes precedence over a shorter one within it.

    >>> [text[a:b] for text in ["Wir waren vor zwei Wochen da"] for a, b, *_ in phrases_of(text, "de")]
    ['vor zwei Wochen']
    """
    words = [(phrases.start(), phrases.end()) for phrases in _TOKEN.finditer(text)]
    joined = [  # whether a word directly follows the one before it
        at > 0 and bool(_BETWEEN.fullmatch(text[words[at - 1][1] : words[at][0]])) for at in range(len(words))
    ]
    phrases: list[Phrase] = []
    at = 0
    while at < len(words):
        length = 1
        while length < _MOST_WORDS and at + length < len(words) and joined[at + length]:
            length += 1
        at += _read(language, text, words, at, length, phrases)
    return phrases


def _read(
    language: str,
    text: str,
    words: Sequence[tuple[int, int]],
    at: int,
    length: int,
    phrases: list[Phrase],
) -> int:
    """Append the longest phrase that begins with a word, if there is one; return the number of words consumed."""

    def meaning(first: int, last: int) -> tuple[int, str, bool] | None:
        phrase = text[words[first][0] : words[last][1]]
        return _meaning(language, " ".join(phrase.split()).replace("\u2019", "'"))

    idioms = _WORDS.get(language, _NO_WORDS).idioms.split("/")
    for last in range(at + length - 1, at - 1, -1):
        if text[words[at][0] : words[last][1]].casefold() in idioms:
            return last - at + 1
        meant = meaning(at, last)
        if meant is None or (last > at and meaning(at, last - 1) == meant):
            continue  # no phrase, or a shorter one followed by a word that the library ignores
        first = at
        while first < last and meaning(first + 1, last) == meant:
            first += 1
        if (first == last or meant[0] > 0) and _misleads(language, text, words, first, last):
            continue
        phrases.append(Phrase(words[first][0], words[last][1], *meant))
        return last - at + 1
    return 1


def _misleads(language: str, text: str, words: Sequence[tuple[int, int]], at: int, last: int) -> bool:
    """Whether a single word, or a word before a number, has another meaning here."""
    known = _WORDS.get(language, _NO_WORDS)
    start, end = words[at]
    if last > at:
        before = text[words[at - 1][0] : words[at - 1][1]].casefold() if at > 0 else ""
        return text[start:end].casefold() == known.ahead and before in known.about.split()
    if is_of_another_language(language, text, start, end):
        return True
    if at > 0:
        a, b = words[at - 1]
        stands_alone = text[b:start].isspace() and text[a - 1 : a] != "-"  # unlike the "o" of "vi-o ontem"
        if stands_alone and text[a:b].casefold() in known.not_after.split():
            return True
    begins = re.search(r"(?:^|[.!?:\"„“»«(\n])\s*$", text[:start]) is not None
    return text[start].isupper() and not begins and text[start:end].casefold() in known.noun.split()


@lru_cache(maxsize=4096)
def _meaning(language: str, phrase: str) -> tuple[int, str, bool] | None:
    """Return (count, unit, whether the number was said) of a phrase; None: it is not a relative date."""
    known, folded = _WORDS.get(language, _NO_WORDS), phrase.casefold()
    numbered = _numbered(language, folded)
    is_counted = any(letter.isdigit() for letter in numbered)
    translated = known.more.get(folded) or _translated(language, numbered)
    if translated is None:
        return None
    meant = _MEANT.fullmatch(translated)
    if meant is not None:
        is_past = meant["future"] is None
        if not translated.startswith("0 ") and is_past != translated.endswith("ago"):
            return None  # "3 Tage", which is not a date
        if is_counted and not is_past and folded.split(" ")[0] != known.ahead:
            return None
        return (-1 if is_past else 1) * int(meant["n"]), meant["unit"], is_counted
    return _of_weekday(known, language, folded)


def _of_weekday(known: _Words, language: str, phrase: str) -> tuple[int, str, bool] | None:
    """Return the last or next weekday for a name beside a word that says which."""
    parts = phrase.split(" ")
    last, next = set(known.last.split()), set(known.next.split())
    for which, name in ((parts[0], parts[1:]), (parts[-1], parts[:-1])):
        if len(parts) < 2 or which not in last | next:
            continue
        day = _translated(language, " ".join(name))
        if day in WEEKDAYS and len(name[0]) > 3:  # "vi" and "je" abbreviate weekdays, but are words as well
            return -1 if which in last else 1, day, False
    return None


def _numbered(language: str, phrase: str) -> str:
    """Return a phrase with figures for its number words."""
    numbers = _numbers(language)
    return " ".join(str(numbers.get(word, word)) for word in phrase.split(" "))


@lru_cache(maxsize=64)
def _numbers(language: str) -> Mapping[str, int]:
    known = _WORDS.get(language, _NO_WORDS).numbers.split()
    return {form: n for n, forms in enumerate(known, 1) for form in forms.split("/")}


def _translated(language: str, phrase: str) -> str | None:
    """Return the library's translation of a phrase into English; None if it fails."""
    settings: Any = _settings()
    try:
        translation: str = _locale(language).translate(phrase, settings=settings)
    except (ValueError, TypeError, IndexError, AttributeError, re.error):  # the library parses any input
        return None
    return " ".join(translation.split())


@lru_cache(maxsize=64)
def _locale(language: str) -> Any:
    loader = imported("dateparser.languages.loader", "dates", "dates")
    try:
        return loader.LocaleDataLoader().get_locale(language)
    except (ValueError, KeyError, ImportError):
        raise ValueError(f"dates: expected languages that dateparser knows, got {language!r}") from None


@lru_cache(maxsize=1)
def _settings() -> Any:
    from dateparser.conf import Settings

    return Settings()


def usable(languages: Iterable[str]) -> tuple[str, ...]:
    """Return the languages whose dates can be read here: none without the library."""
    found = tuple(languages)
    if not found:
        return found
    try:
        import dateparser  # noqa: F401
    except ImportError:
        return ()
    return found
