"""Which days does a question name? The twin of `cpp/src/text/dates.hpp`, as patterns over the question's words.

Days are numbered from 1970-01-01, in UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, timedelta

DAY_US = 86_400_000_000
EPOCH = date(1970, 1, 1)
FIRST_YEAR, LAST_YEAR = 1900, 2100
LONGEST = 512
"""Bytes; what is longer is no question."""
LATEST_WITHIN, LATEST_WORDS = 6, 16
"""Further on than the sixth word, or in a longer question, "current" says which, not when."""

_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "short": "jan feb mar apr - jun jul aug sep oct nov dec",
    "also": "- - - - - - - - sept - - -",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
MONTHS = {
    name: month
    for names in _MONTHS.values()
    for month, name in enumerate(names.split(), start=1)
    if name != "-"
}
NAMED_ALONE = set((_MONTHS["en"] + " " + _MONTHS["de"]).split())
"""These count without a year, too, behind a word that says so."""
WEEKDAYS = {
    name: day for day, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = {
    name: value
    for value, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
} | {"a": 1, "an": 1}  # fmt: skip
UNITS = {unit + plural: unit for unit in ("day", "week", "month", "year") for plural in ("", "s")}
YESTERDAY = {"yesterday", "gestern", "ayer", "ieri", "ontem"}
TODAY = {"today"}
OF = {"of", "de"}
BEFORE_MONTH = {"in", "during", "this", "early", "late", "mid", "since", "im"}
BEFORE_YEAR = {"in", "during", "throughout"}
BEFORE_DAY = {"on", "last", "am"}
PAST = {"last", "past", "previous"}


@dataclass(frozen=True)
class Window:
    """Days [start, end) count fully, [end, later) count `after`; so does a text that holds all of `terms`."""

    start: int
    end: int
    later: int
    after: float
    terms: tuple[str, ...] = ()
    """The date as it is written, where that is more than the name of a month."""

    def match(self, time_us: int) -> float:
        day = time_us // DAY_US
        if self.start <= day < self.end:
            return 1.0
        return self.after if self.end <= day < self.later else 0.0


@dataclass(frozen=True)
class Dates:
    windows: list[Window] = field(default_factory=list)
    latest: bool = False
    """It asks for the newest state of things."""


@dataclass(frozen=True)
class Word:
    text: str
    gap: str
    """Between the word before and this one: one of "-./", " " (blanks, commas and full stops), or "x"."""


def words(question: str) -> list[Word]:
    """Runs of letters and digits (and of all that is not ASCII); capitals of ASCII are folded."""
    found, end = [], 0
    for run in re.finditer(r"[A-Za-z0-9\u0080-\U0010ffff]+", question):
        between = question[end : run.start()]
        gap = " " if between and not between.strip(" \t\n\r,.") else "x"
        gap = between if between in ("-", ".", "/") else gap
        folded = "".join(c.lower() if c.isascii() else c for c in run.group())
        found.append(Word(folded, gap))
        end = run.end()
    return found


def find_dates(question: str, now_us: int) -> Dates:
    if len(question.encode("utf-8", "surrogatepass")) > LONGEST:
        return Dates()
    finder = _Finder(words(question), now_us)
    place = 0
    while place < len(finder.words):
        place += max(1, finder.at(place))
    return Dates(finder.windows, finder.latest)


def days(year: int, month: int, day: int = 1) -> int:
    return (date(year, month, day) - EPOCH).days


def day_exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return FIRST_YEAR <= year <= LAST_YEAR


class _Finder:
    def __init__(self, found: list[Word], now_us: int) -> None:
        self.words = found
        self.windows: list[Window] = []
        self.latest = False
        self.today: date | None = None
        day = now_us // DAY_US
        if days(FIRST_YEAR, 1) <= day <= days(LAST_YEAR, 12, 31):
            self.today = EPOCH + timedelta(days=day)

    def text(self, place: int, gap: str = " ") -> str:
        """The word at a place, if this is between it and the word before."""
        return self.words[place].text if place < len(self.words) and self.words[place].gap == gap else ""

    def before(self, place: int) -> str:
        """The word before a place, if only blanks are between."""
        return self.words[place - 1].text if place > 0 and self.words[place].gap == " " else ""

    def before_the(self, place: int) -> str:
        """The word before a place, without "the"."""
        return self.before(place - 1) if self.before(place) == "the" else self.before(place)

    def year_behind(self, place: int) -> tuple[int, int]:
        """A year, perhaps after "of", and how many words that is."""
        if year := year_of(self.text(place)):
            return year, 1
        if self.text(place) in OF and (year := year_of(self.text(place + 1))):
            return year, 2
        return 0, 0

    def at(self, place: int) -> int:
        """How many words the expression at a place has; 0: none."""
        word = self.words[place].text
        for pattern in (self.numeric, self.day_month, self.year, self.month, self.season, self.relative):
            if n_words := pattern(place, word):
                return n_words
        self.newest(place, word)
        return 0

    def numeric(self, place: int, word: str) -> int:
        """2023-05-08, 8.5.2023, 31/1/2023 (but not 5/8/2023: which is the month?), in 2023-05."""
        if not re.fullmatch("[0-9]{1,4}", word):
            return 0
        for gap in "-./":
            second, third = self.text(place + 1, gap), self.text(place + 2, gap)
            if not second:
                continue
            if gap == "-":
                year, month, day = year_of(word), small(second), small(third)
                if year and 1 <= month <= 12 and not third and self.before(place) in BEFORE_YEAR:
                    self.add_month(year, month, (f"{word}-{second}",))
                    return 2
            else:
                day, month, year = small(word), small(second), year_of(third)
                if gap == "/" and month > 12:
                    day, month = month, day
                elif gap == "/" and day <= 12 and day != month:
                    continue
            if year and month and day and day_exists(year, month, day):
                self.add_day(days(year, month, day), (gap.join((word, second, third)),))
                return 3
        return 0

    def day_month(self, place: int, word: str) -> int:
        """8 May 2023, 8th of May, 2023; on 8 May."""
        if not (day := day_of(word)):
            return 0
        n = 2 if self.text(place + 1) in OF else 1
        name = self.text(place + n)
        if not (month := MONTHS.get(name, 0)):
            return 0
        year, n_more = self.year_behind(place + n + 1)
        if year:
            known = self.try_day(year, month, day, (word, name, str(year)))
        else:
            said = name in NAMED_ALONE and self.before_the(place) in BEFORE_DAY
            known = said and self.recent_day(month, day, (word, name))
        return n + 1 + n_more if known else 0

    def year(self, place: int, word: str) -> int:
        year = year_of(word)
        if not year or self.before(place) not in BEFORE_YEAR:
            return 0
        self.add(days(year, 1), days(year + 1, 1), 0, 0.0, (word,))
        return 1

    def month(self, place: int, word: str) -> int:
        """May 2023, May 8, 2023, on May 8, in May, last May."""
        month = MONTHS.get(word, 0)
        if not month:
            return 0
        year, n_more = self.year_behind(place + 1)
        if year:
            self.add_month(year, month, (word, str(year)))
            return 1 + n_more
        before, number = self.before(place), self.text(place + 1)
        if day := day_of(number):
            if year := year_of(self.text(place + 2)):
                return 3 if self.try_day(year, month, day, (word, number, str(year))) else 0
            said = word in NAMED_ALONE and before in BEFORE_DAY
            return 2 if said and self.recent_day(month, day, (word, number)) else 0
        if word not in NAMED_ALONE or before not in BEFORE_MONTH | PAST or not self.today:
            return 0
        # The last one that has begun; "last" means one that is over.
        year = self.today.year
        if month > self.today.month or (before in PAST and month == self.today.month):
            year -= 1
        self.add_month(year, month)
        return 1

    def season(self, place: int, word: str) -> int:
        """Summer 2023, last summer, this summer: those of the north."""
        first = SEASONS.get(word, 0)
        if not first:
            return 0
        year, n_more = self.year_behind(place + 1)
        if not year:
            past = self.before(place) in PAST
            if not self.today or not (past or self.before(place) == "this"):
                return 0
            year = self.today.year
            # The last one that is over, or that has begun.
            while (self.season_end(year, first) if past else days(year, first)) > self.now:
                year -= 1
        self.add(days(year, first), self.season_end(year, first), 7, 0.5)
        return 1 + n_more

    @staticmethod
    def season_end(year: int, first: int) -> int:
        return days(year + 1, 3) if first == 12 else days(year, first + 3)

    @property
    def now(self) -> int:
        assert self.today
        return (self.today - EPOCH).days

    def relative(self, place: int, word: str) -> int:
        """Yesterday, last night, last Monday, this week, two weeks ago."""
        if not self.today:
            return 0
        before = self.before(place)
        if word in YESTERDAY or (word == "night" and before == "last"):
            self.add_day(self.now - 1)
        elif word in TODAY:
            self.add_day(self.now)
        elif word in WEEKDAYS and before in PAST:
            back = (self.today.weekday() - WEEKDAYS[word]) % 7
            self.add_day(self.now - (back or 7))
        elif word in ("week", "weekend", "month", "year") and before in PAST | {"this"}:
            self.calendar(word, 0 if before == "this" else 1)
        elif self.text(place + 2) == "ago" and (unit := UNITS.get(self.text(place + 1), "")):
            count = NUMBERS.get(word, 0) or (int(word) if re.fullmatch("[0-9]{1,3}", word) else 0)
            if count and unit == "day":
                self.add_day(self.now - count)
            elif count and unit == "week":
                self.add(self.now - 7 * count - 3, self.now - 7 * count + 4, 3, 0.5)
            elif count:
                self.calendar(unit, count)
            return 3 if count else 0
        else:
            return 0
        return 1

    def calendar(self, unit: str, back: int) -> None:
        """The week, weekend, month or year so many before this one."""
        assert self.today
        if unit == "year":
            year = self.today.year - back
            if year >= FIRST_YEAR:
                self.add(days(year, 1), days(year + 1, 1), 7, 0.5)
        elif unit == "month":
            months = 12 * self.today.year + self.today.month - 1 - back
            self.add_month(months // 12, months % 12 + 1)
        else:
            monday = self.now - self.today.weekday() - 7 * back
            self.add(monday + (5 if unit == "weekend" else 0), monday + 7, 3, 0.5)

    def newest(self, place: int, word: str) -> None:
        recent = word == "recent" and self.before(place) == "most"
        asks = place < LATEST_WITHIN and len(self.words) <= LATEST_WORDS
        if asks and (recent or word in ("latest", "newest", "current")):
            self.latest = True

    def try_day(self, year: int, month: int, day: int, terms: tuple[str, ...]) -> bool:
        if not day_exists(year, month, day):
            return False
        self.add_day(days(year, month, day), terms)
        return True

    def recent_day(self, month: int, day: int, terms: tuple[str, ...]) -> bool:
        """The last day of this name until now."""
        if not self.today:
            return False
        for back in range(9):  # 29 February
            year = self.today.year - back
            if day_exists(year, month, day) and days(year, month, day) <= self.now:
                return self.try_day(year, month, day, terms)
        return False

    def add_day(self, day: int, terms: tuple[str, ...] = ()) -> None:
        self.add(day, day + 2, 7, 0.7, terms)

    def add_month(self, year: int, month: int, terms: tuple[str, ...] = ()) -> None:
        if year >= FIRST_YEAR:
            following = days(year + month // 12, month % 12 + 1)
            self.add(days(year, month), following, 7, 0.5, terms)

    def add(self, start: int, end: int, more: int, after: float, terms: tuple[str, ...] = ()) -> None:
        self.windows.append(Window(start, end, end + more, after, terms))


def small(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,2}", text) else 0


def day_of(text: str) -> int:
    found = re.fullmatch("([0-9]{1,2})(st|nd|rd|th)?", text)
    return int(found[1]) if found and int(found[1]) <= 31 else 0


def year_of(text: str) -> int:
    value = int(text) if re.fullmatch("[0-9]{4}", text) else 0
    return value if FIRST_YEAR <= value <= LAST_YEAR else 0
