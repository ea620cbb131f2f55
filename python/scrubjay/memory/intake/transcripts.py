"""Stabilised transcripts: retracted turns are left out, and "yesterday" becomes a date.

English is handled here, other languages in :mod:`scrubjay.memory.intake.relative_dates`.

A turn is understood in its context; a memory is read months later. Before distillation, therefore, retracted turns are
left out, relative times get their dates beside the words, and every line names its speaker. These are rules without a
model: an extractor may refine the rest, but retracted turns never reach it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from scrubjay.memory.intake.bare_weekdays import bare_weekdays
from scrubjay.memory.intake.relative_dates import WEEKDAYS, Phrase, phrases_of
from scrubjay.memory.ledger.trace import CONVERSATION, TraceEvent
from scrubjay.memory.read.turns import N_TURNS
from scrubjay.retrieval.rewriting import Conversation

_TAKES_BACK = re.compile(
    r"\s*(?:(?:oh|no|wait|sorry|hmm|actually|please)[,.! ]+)*"
    r"(?:scratch that|strike that|never\s?mind(?: that| what i (?:just )?said)?"
    r"|disregard (?:that|what i (?:just )?said)"
    r"|forget (?:that|it|what i (?:just )?said)|ignore (?:that|my last message|what i (?:just )?said)"
    r"|i take that back)(?=\s*(?:[.,;:!\u2013\u2014-]|$))[\s.,;:!\u2013\u2014-]*",
    re.IGNORECASE,
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "a couple of": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_RELATIVE = re.compile(
    r"\b(?:(?P<day>the day before yesterday|yesterday|last night|today|tonight|tomorrow)"
    r"|(?P<which>last|this|next) (?:(?P<unit>week|weekend|month|year)|(?P<weekday>" + _DAY + r")"
    r"|(?P<month>" + _MONTH + r")(?! \d))"
    r"|(?P<n>\d{1,3}|" + "|".join(_NUMBERS) + r") (?P<units>day|week|fortnight|month|year)s? ago)\b(?! \()",
    re.IGNORECASE,
)
_SHIFT = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
}


@dataclass(frozen=True)
class Utterance:
    """The stabilised text of one event."""

    seq: int
    turn: int
    at: datetime
    kind: str
    author: str
    text: str

    @property
    def line(self) -> str:
        """The line that an extractor reads: number, day, author, text."""
        return f"[{self.seq}] {self.at.date().isoformat()} {self.author}: {self.text}"


@dataclass(frozen=True)
class Transcript:
    """The turns of a run, without retracted ones.

    `context` has the turns distilled before, for references only; facts should come from `utterances`. `summary` is the
    summary of the run so far, if one of its prompts was made with one (`assemble(summarise=...)`).
    """

    run_id: str
    utterances: tuple[Utterance, ...]
    context: tuple[Utterance, ...] = ()
    summary: str = ""

    @property
    def text(self) -> str:
        """The utterances, one per line."""
        return "\n".join(utterance.line for utterance in self.utterances)

    def before(self, n: int = N_TURNS) -> Conversation:
        """Return what was said before the utterances, in the form for rewriters: the last n turns, and the summary."""
        turns = [
            (utterance.author, utterance.text) for utterance in self.context if utterance.kind in CONVERSATION
        ]
        return Conversation(tuple(turns[len(turns) - min(n, len(turns)) :]), self.summary)

    def turn_of(self, seq: int | None) -> int:
        """Return the turn of an event; the last utterance's turn for a number outside of this run."""
        for utterance in self.utterances:
            if utterance.seq == seq:
                return utterance.turn
        return self.utterances[-1].turn if self.utterances else 0


def stabilise(
    run_id: str, events: Iterable[TraceEvent], *, after: int = 0, languages: Sequence[str] = ()
) -> Transcript:
    """Return the transcript of a run's events.

    An event is left out if it was retracted (:meth:`Session.retract`), or if its speaker's next words take it back
    ("scratch that", "never mind", "I take that back" ...): then the whole turn is left out, including answers to it.
    The text after those words stays. Events up to number `after` are context. Relative dates in `languages` get their
    dates beside those in English.

    >>> from datetime import timezone
    >>> day = datetime(2023, 5, 8, tzinfo=timezone.utc)
    >>> said = ["I live in Bergen.", "Scratch that. I moved to Oslo yesterday."]
    >>> events = [TraceEvent(i + 1, i + 1, day, "user", "Jane", text) for i, text in enumerate(said)]
    >>> print(stabilise("r1", events).text)
    [2] 2023-05-08 Jane: I moved to Oslo yesterday (2023-05-07).
    """
    events = list(events)
    retracted = {event.data.get("retracts") for event in events if event.kind == "retraction"}
    utterances: list[Utterance] = []
    for event in events:
        if event.kind in ("prompt", "retraction") or event.seq in retracted:
            continue
        text, author = event.content, " ".join(event.author.split())  # must stay on one line
        if event.kind == "user" and (taken_back := _TAKES_BACK.match(text)):
            utterances = _without_last_turn(utterances, author)
            text = text[taken_back.end() :]
        text = with_dates(" ".join(text.split()), event.at.date(), languages)
        if text:
            utterances.append(Utterance(event.seq, event.turn, event.at, event.kind, author, text))
    fresh = tuple(utterance for utterance in utterances if utterance.seq > after)
    context = tuple(utterance for utterance in utterances if utterance.seq <= after)
    summaries = (event.data.get("summary") for event in reversed(events) if event.kind == "prompt")
    return Transcript(
        run_id, fresh, context, next((one for one in summaries if one and isinstance(one, str)), "")
    )


def with_dates(text: str, day: date, languages: Sequence[str] = ()) -> str:
    """Insert dates after times that are only understandable on the day they were said.

    Args:
        text: in English, or in one of the languages.
        day: the day on which it was said.
        languages: further languages, such as "de" (extra `dates`).

    >>> with_dates("We met two weeks ago, and again last Friday.", date(2023, 5, 8))
    'We met two weeks ago (2023-04-24), and again last Friday (2023-05-05).'
    """
    for language in languages:
        for phrase in reversed(phrases_of(text, language)):
            if not text.startswith(" (", phrase.end):
                text = f"{text[: phrase.end]} ({_meant(phrase, day)}){text[phrase.end :]}"
    for end, name, step in reversed(bare_weekdays(text)):
        weekday = _DAYS.index(name)
        if weekday != day.weekday():
            text = f"{text[:end]} ({_safely(_weekday, day, weekday, step)}){text[end:]}"
    return _RELATIVE.sub(lambda found: f"{found[0]} ({_resolved(found, day)})", text)


def _safely(weekday_of: Callable[[date, int, int], date], day: date, weekday: int, step: int) -> str:
    try:
        return weekday_of(day, weekday, step).isoformat()
    except OverflowError:  # a date before the year 1 or after 9999
        return "long ago"


def _without_last_turn(utterances: Sequence[Utterance], author: str) -> list[Utterance]:
    """Remove the last turn of an author, and the answers to it."""
    last = next(
        (turn for turn in reversed(utterances) if turn.kind == "user" and turn.author == author), None
    )
    if last is None:
        return list(utterances)
    return [
        turn for turn in utterances if turn.seq < last.seq or (turn.kind == "user" and turn.author != author)
    ]


def _resolved(match: re.Match[str], day: date) -> str:
    try:
        if match["day"]:
            return (day + timedelta(days=_SHIFT[match["day"].lower()])).isoformat()
        if match["n"]:
            n = int(match["n"]) if match["n"].isdigit() else _NUMBERS[match["n"].lower()]
            return _ago(day, n, match["units"].lower())
        step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
        if match["weekday"]:
            return _weekday(day, _DAYS.index(match["weekday"][:3].lower()), step).isoformat()
        if match["month"]:
            return _named_month(day, _MONTHS.index(match["month"][:3].lower()) + 1, step)
        unit = match["unit"].lower()
        if unit == "year":
            return str(day.year + step)
        if unit == "month":
            return _month(day, step)
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=step)
        return f"week of {monday.isoformat()}" if unit == "week" else (monday + timedelta(days=5)).isoformat()
    except (OverflowError, ValueError):  # a date before the year 1 or after 9999
        return "long ago"


def _meant(phrase: Phrase, day: date) -> str:
    n, unit = phrase.n, phrase.unit
    try:
        if unit == "day":
            return (day + timedelta(days=n)).isoformat()
        if unit == "week":
            return (day + timedelta(weeks=n)).isoformat() if phrase.is_counted else _week(day, n)
        if unit == "month":
            return _month(day, n)
        return str(day.year + n) if unit == "year" else _weekday(day, WEEKDAYS.index(unit), n).isoformat()
    except (OverflowError, ValueError):  # a date before the year 1 or after 9999
        return "long ago"


def _week(day: date, step: int) -> str:
    return f"week of {(day - timedelta(days=day.weekday()) + timedelta(weeks=step)).isoformat()}"


def _ago(day: date, n: int, unit: str) -> str:
    if unit == "day":
        return (day - timedelta(days=n)).isoformat()
    if unit in ("week", "fortnight"):
        return (day - timedelta(weeks=n if unit == "week" else 2 * n)).isoformat()
    return _month(day, -n) if unit == "month" else str(day.year - n)


def _month(day: date, step: int) -> str:
    months = day.year * 12 + day.month - 1 + step
    return f"{months // 12:04d}-{months % 12 + 1:02d}"


def _named_month(day: date, month: int, step: int) -> str:
    """Return the last month of a name that is over, the one of this year, or the next one that has not begun."""
    year = day.year
    if step < 0:
        year -= month >= day.month
    elif step > 0:
        year += month <= day.month
    return f"{year:04d}-{month:02d}"


def _weekday(day: date, weekday: int, step: int) -> date:
    """Return the last weekday before the day, the one in its week, or the next one after it."""
    if step < 0:
        return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)
    if step > 0:
        return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
    return day + timedelta(days=weekday - day.weekday())
