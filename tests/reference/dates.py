"""Dates in questions. The twin of `cpp/src/text/dates.hpp`, as patterns over the question's words.

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
"""Maximum length in bytes; a longer text is not treated as a question."""
LATEST_WITHIN, LATEST_WORDS = 6, 16
"""After the sixth word, or in a longer question, "current" is an attribute, not a question about time."""

_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "short": "jan feb mar apr - jun jul aug sep oct nov dec",
    "also": "- - - - - - - - sept - - -",
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
"""Months that also count without a year, after a word that marks them."""
SHORT = set((_MONTHS["short"] + " " + _MONTHS["also"]).split()) - {"-"}
"""Abbreviations that count with a day."""
OTHER_WORDS = {"may", "march", "mai"}
WEEKDAYS = {
    name: day for day, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
QUARTERS = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
NUMBERS = {
    name: value
    for value, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
} | {"a": 1, "an": 1}  # fmt: skip
SOME = {"few": (2, 5), "several": (3, 9), "couple": (2, 3)}
UNITS = {unit + plural: unit for unit in ("day", "week", "month", "year") for plural in ("", "s")}
UNIT_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
YESTERDAY = {"yesterday", "gestern", "ayer", "ieri", "ontem"}
DAY_BEFORE_YESTERDAY = {"vorgestern", "anteayer", "anteontem"}
TODAY = {"today"}
OF = {"of", "de"}
PAST = {"last", "past", "previous"}
RELATIONS = {"before", "after", "since"}
BEFORE_MONTH = {"in", "during", "this", "early", "late", "mid", "im"} | PAST | RELATIONS
BEFORE_YEAR = {"in", "during", "throughout"} | RELATIONS
BEFORE_DAY = {"on", "last", "am"} | RELATIONS
BEFORE_LAST = {"in", "over", "during", "within", "for", "from", "of"}
DUE = {"by", "until", "till", "from", "to", "due", "for", "than", "through"}
FUTURE = {"will", "shall", "ll", "going", "gonna", "wont", "tomorrow", "next", "upcoming"}
NEGATED = BEFORE_MONTH | BEFORE_DAY | {"the", "throughout", "at", "from", "of"}
"""Words that may occur between "not" and the excluded expression."""


@dataclass(frozen=True)
class Window:
    """Days [start, end) count fully, [end, later) count `after`; a text with all of `terms` counts fully as well."""

    start: int
    end: int
    later: int
    after: float
    terms: tuple[str, ...] = ()
    """The words of the date, if it is more than the name of a month."""

    def match(self, time_us: int) -> float:
        day = time_us // DAY_US
        if self.start <= day < self.end:
            return 1.0
        return self.after if self.end <= day < self.later else 0.0


@dataclass(frozen=True)
class Dates:
    windows: list[Window] = field(default_factory=list)
    latest: bool = False
    """Whether the question asks for the newest state."""


@dataclass(frozen=True)
class Word:
    text: str
    gap: str
    """The text between the previous word and this one: one of "-./", " " (blanks, commas and full stops), or "x"."""


def words(question: str) -> list[Word]:
    """Return the runs of letters, digits and non-ASCII characters; ASCII capitals are folded."""
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
        self.relation = ""
        """The relation of the expression to the days that it names: "", one of RELATIONS, or "not"."""
        self.today: date | None = None
        day = now_us // DAY_US
        if days(FIRST_YEAR, 1) <= day <= days(LAST_YEAR, 12, 31):
            self.today = EPOCH + timedelta(days=day)

    # -- words of the question

    def text(self, place: int, gap: str = " ") -> str:
        """Return the word at a place, if this gap separates it from the word before; else ""."""
        return self.words[place].text if place < len(self.words) and self.words[place].gap == gap else ""

    def before(self, place: int) -> str:
        """Return the word before a place, if only blanks are between."""
        return self.words[place - 1].text if place > 0 and self.words[place].gap == " " else ""

    def before_the(self, place: int) -> str:
        """Return the word before a place, skipping "the"."""
        return self.before(place - 1) if self.before(place) == "the" else self.before(place)

    def year_behind(self, place: int) -> tuple[int, int]:
        """Return a year at a place, possibly after "of", and the number of words."""
        if year := year_of(self.text(place)):
            return year, 1
        if self.text(place) in OF and (year := year_of(self.text(place + 1))):
            return year, 2
        return 0, 0

    def at(self, place: int) -> int:
        """Return the number of words of the expression at a place; 0: there is none."""
        word = self.words[place].text
        self.relation = self.relation_of(place)
        for pattern in (
            self.numeric, self.day_month, self.year, self.month, self.season, self.quarter, self.last_units, self.ago,
            self.relative,
        ):  # fmt: skip
            if n_words := pattern(place, word):
                return n_words
        self.newest(place, word)
        return 0

    def relation_of(self, place: int) -> str:
        """Before May, after 2024, since Monday; not in May. "The week before 8 May" has no relation: it is near that
        day."""
        first = place
        for _ in range(3):
            first -= self.before(first) in NEGATED
        if self.before(first) == "not":
            return "not"
        named = place
        while self.before(named) in PAST | {"the", "this"}:
            named -= 1
        relation = self.before(named)
        if relation not in RELATIONS or self.before(named - 1) in {*UNITS, "weekend", *WEEKDAYS, "night"}:
            return ""
        return relation

    # -- expressions

    def numeric(self, place: int, word: str) -> int:
        """2023-05-08, 8.5.2023, 31/1/2023 (but not 5/8/2023, where the month is ambiguous), 05/2023, in 2023-05."""
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
                alone = not third and self.words[place].gap != "/"
                if gap == "/" and alone and 1 <= day <= 12 and year_of(second):
                    self.add_month(year_of(second), day, (f"{word}/{second}",))
                    return 2
                if gap == "/" and month > 12:
                    day, month = month, day
                elif gap == "/" and day <= 12 and day != month:
                    continue
            if year and month and day and self.try_day(year, month, day, (gap.join((word, second, third)),)):
                return 3
        return 0

    def names_day(self, first: int, name: str, day: str, of: bool) -> bool:
        """Whether a day without a year is a date: after "on", or with an unambiguous month name and not in a
        deadline."""
        if name not in NAMED_ALONE | SHORT:
            return False
        if name in NAMED_ALONE and self.before_the(first) in BEFORE_DAY:
            return True
        certain = name not in OTHER_WORDS or not day.isdigit() or of
        return certain and self.before_the(first) not in DUE | {"and", "or"}

    def day_month(self, place: int, word: str) -> int:
        """8 May 2023, 8th of May, 2023; on 8 May; 2nd November."""
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
            known = self.names_day(place, name, word, n == 2) and self.recent_day(month, day, (word, name))
        return n + 1 + n_more if known else 0

    def year(self, place: int, word: str) -> int:
        year = year_of(word)
        if not year or self.before(place) not in BEFORE_YEAR:
            return 0
        if self.text(place + 1) in QUARTERS or self.text(place + 1, "-") in QUARTERS:
            return 0
        self.add(days(year, 1), days(year + 1, 1), 0, 0.0, (word,))
        return 1

    def month(self, place: int, word: str) -> int:
        """May 2023, May 8, 2023, on May 8, Nov 8, in May, last May."""
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
            said = self.names_day(place, word, number, False)
            return 2 if said and self.recent_day(month, day, (word, number)) else 0
        if word not in NAMED_ALONE or before not in BEFORE_MONTH or not self.today:
            return 0
        # The last one that has begun; with "last" the last one that is over.
        year = self.today.year
        if month > self.today.month or (before in PAST and month == self.today.month):
            year -= 1
        self.add_month(year, month)
        return 1

    def season(self, place: int, word: str) -> int:
        """Summer 2023, last summer, this summer: seasons of the northern hemisphere."""
        first = SEASONS.get(word, 0)
        if not first:
            return 0
        year, n_more = self.year_behind(place + 1)
        if not year:
            past = self.before(place) in PAST
            if not self.today or not (past or self.before(place) == "this"):
                return 0
            year = self.today.year
            # The last one that is over, or the last one that has begun.
            while (self.season_end(year, first) if past else days(year, first)) > self.now:
                year -= 1
        self.add(days(year, first), self.season_end(year, first), 7, 0.5)
        return 1 + n_more

    @staticmethod
    def season_end(year: int, first: int) -> int:
        return days(year + 1, 3) if first == 12 else days(year, first + 3)

    def quarter(self, place: int, word: str) -> int:
        """Q3 2023, 2023 Q3, 2023-Q3, in Q3, last Q3."""
        if year := year_of(word):
            for gap in " -":
                if quarter := QUARTERS.get(self.text(place + 1, gap), 0):
                    self.add_quarter(year, quarter)
                    return 2
        if not (quarter := QUARTERS.get(word, 0)):
            return 0
        year, n_more = self.year_behind(place + 1)
        if year:
            self.add_quarter(year, quarter, (word, str(year)))
            return 1 + n_more
        if not self.today or self.before_the(place) not in BEFORE_MONTH:
            return 0
        now = (self.today.month + 2) // 3
        over = self.before(place) in PAST
        self.add_quarter(self.today.year - (quarter > now or (over and quarter == now)), quarter)
        return 1

    @property
    def now(self) -> int:
        assert self.today
        return (self.today - EPOCH).days

    def count(self, place: int) -> tuple[int, int, int]:
        """Return the minimum and maximum number of units, and the number of words: 7, two, a few, a couple of."""
        word = self.words[place].text if place < len(self.words) else ""
        if word in SOME:
            return *SOME[word], 2 if word == "couple" and self.text(place + 1) == "of" else 1
        n = NUMBERS.get(word, 0) or (int(word) if re.fullmatch("[0-9]{1,3}", word) else 0)
        return n, n, 1 if n else 0

    def last_units(self, place: int, word: str) -> int:
        """In the last 7 days, over the past few weeks."""
        if not self.today or word not in PAST or self.before_the(place) not in BEFORE_LAST:
            return 0
        if not self.text(place + 1):
            return 0
        _, most, n_words = self.count(place + 1)
        unit = UNITS.get(self.text(place + 1 + n_words), "") if n_words else ""
        if not unit:
            return 0
        start = max(self.now - UNIT_DAYS[unit] * most, days(FIRST_YEAR, 1))
        self.add(start, self.now + 1, 0, 0.0)
        return n_words + 2

    def ago(self, place: int, word: str) -> int:
        """Two weeks ago, a few days ago, a couple of months ago."""
        least, most, n_words = self.count(place)
        unit = UNITS.get(self.text(place + n_words), "") if n_words else ""
        if not self.today or not unit or self.text(place + n_words + 1) != "ago":
            return 0
        if unit == "day" and least == most:
            self.add_day(self.now - most)
        elif unit == "day":
            self.add(self.now - most, self.now - least + 1, 0, 0.0)
        elif unit == "week":
            self.add(self.now - 7 * most - 3, self.now - 7 * least + 4, 3, 0.5)
        else:
            months = 12 if unit == "year" else 1
            this = 12 * self.today.year + (0 if unit == "year" else self.today.month - 1)
            self.add_months(this - months * most, months * (most - least + 1))
        return n_words + 2

    def relative(self, place: int, word: str) -> int:
        """Yesterday, the day before yesterday, last night, last Monday, on Monday, this week."""
        if not self.today:
            return 0
        before = self.before(place)
        if word == "day" and self.text(place + 1) == "before" and self.text(place + 2) in YESTERDAY:
            self.add(self.now - 2, self.now - 1, 0, 0.0)
            return 3
        if word in DAY_BEFORE_YESTERDAY:
            self.add(self.now - 2, self.now - 1, 0, 0.0)
        elif word in YESTERDAY or (word == "night" and before == "last"):
            self.add(self.now - 1, self.now, 1, 0.5)  # also told a day later, but then rather about that day
        elif word in TODAY:
            self.add(self.now, self.now + 1, 0, 0.0)
        elif word in WEEKDAYS and (before in PAST or self.names_weekday(place)):
            back = (self.today.weekday() - WEEKDAYS[word]) % 7
            self.add_day(self.now - (back or 7))
        elif word in ("week", "weekend", "month", "year") and before in PAST | {"this"}:
            self.calendar(word, 0 if before == "this" else 1)
        else:
            return 0
        return 1

    def names_weekday(self, place: int) -> bool:
        """On Monday: but not in the future, not with a date, and not every Monday."""
        if self.text(place + 1) in RELATIONS | {"and", "or", "mornings", "afternoons", "evenings", "nights"}:
            return False
        following = place + 1 + (self.text(place + 1) == "the")
        next_word = self.text(following)
        dated = re.fullmatch("[0-9]{1,4}", next_word) or day_of(next_word) or next_word in MONTHS
        future = any(word.text in FUTURE for word in self.words)
        return self.before(place) in ("on", "since", "after") and not dated and not future

    def calendar(self, unit: str, back: int) -> None:
        """Add the week, weekend, month or year that lies `back` units before the present one."""
        assert self.today
        if unit == "year":
            self.add_months(12 * (self.today.year - back), 12)
        elif unit == "month":
            self.add_months(12 * self.today.year + self.today.month - 1 - back, 1)
        else:
            monday = self.now - self.today.weekday() - 7 * back
            self.add(monday + (5 if unit == "weekend" else 0), monday + 7, 3, 0.5)

    def newest(self, place: int, word: str) -> None:
        recent = word == "recent" and self.before(place) == "most"
        asks = place < LATEST_WITHIN and len(self.words) <= LATEST_WORDS
        if asks and (recent or word in ("latest", "newest", "current")):
            self.latest = True

    # -- windows

    def try_day(self, year: int, month: int, day: int, terms: tuple[str, ...]) -> bool:
        if not day_exists(year, month, day):
            return False
        self.add_day(days(year, month, day), terms)
        return True

    def recent_day(self, month: int, day: int, terms: tuple[str, ...]) -> bool:
        """Add the last day with this name until now."""
        if not self.today:
            return False
        for back in range(9):  # 29 February
            year = self.today.year - back
            if day_exists(year, month, day) and days(year, month, day) <= self.now:
                return self.try_day(year, month, day, terms)
        return False

    def add_day(self, day: int, terms: tuple[str, ...] = ()) -> None:
        self.add(day, day + 2, 7, 0.7, terms, past=day + 1)

    def add_month(self, year: int, month: int, terms: tuple[str, ...] = ()) -> None:
        self.add_months(12 * year + month - 1, 1, terms)

    def add_quarter(self, year: int, quarter: int, terms: tuple[str, ...] = ()) -> None:
        self.add_months(12 * year + 3 * (quarter - 1), 3, terms)

    def add_months(self, first: int, n: int, terms: tuple[str, ...] = ()) -> None:
        """Add `n` months from the month `first`, counted from the year 0."""
        if first >= 12 * FIRST_YEAR:
            start, end = (days(month // 12, month % 12 + 1) for month in (first, first + n))
            self.add(start, end, 7, 0.5, terms)

    def add(
        self,
        start: int,
        end: int,
        more: int,
        after: float,
        terms: tuple[str, ...] = (),
        *,
        past: int | None = None,
    ) -> None:
        """Add a window; `past` is where the time after the expression begins."""
        if self.relation == "not":
            return
        past = end if past is None else past
        always = days(LAST_YEAR + 1, 1)
        told = end if end > past else start  # the time before a day is told until the day after it
        until = self.now + 1 if self.today else always
        window = {
            "": Window(start, end, end + more, after, terms),
            "before": Window(days(FIRST_YEAR, 1), told, told + more, after),
            "after": Window(past, always, always, 0.0),
            "since": Window(start, until, until, 0.0),
        }[self.relation]
        if days(FIRST_YEAR - 1, 1) <= window.start < window.end:
            self.windows.append(window)


def small(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,2}", text) else 0


def day_of(text: str) -> int:
    found = re.fullmatch("([0-9]{1,2})(st|nd|rd|th)?", text)
    return int(found[1]) if found and int(found[1]) <= 31 else 0


def year_of(text: str) -> int:
    value = int(text) if re.fullmatch("[0-9]{4}", text) else 0
    return value if FIRST_YEAR <= value <= LAST_YEAR else 0
