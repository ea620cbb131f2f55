"""Dates in questions. The twin of `cpp/src/text/dates.hpp`, as patterns over the question's words.

Days are numbered from 1970-01-01, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Collection
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
PLURAL_WEEKDAYS = {name + "s": day for name, day in WEEKDAYS.items()}
_HOLIDAYS = {
    "christmas": "christmas xmas weihnachten noël navidad natale kerstmis",
    "easter": "easter ostern pâques pascua pasqua pasen",
    "pentecost": "pentecost whitsun pfingsten pentecôte pentecostés pentecoste pinksteren",
    "halloween": "halloween",
    "thanksgiving": "thanksgiving",
    "new year": "silvester neujahr nochevieja capodanno",
}
HOLIDAYS = {name: holiday for holiday, names in _HOLIDAYS.items() for name in names.split()}
EVES = {"silvester", "nochevieja"}
"""Of the year that follows."""
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
QUARTERS = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
NUMBERS = {
    name: value
    for value, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
} | {"a": 1, "an": 1}  # fmt: skip
SOME = {"few": (2, 5), "several": (3, 9), "couple": (2, 3)}
UNITS = {
    unit + plural: unit
    for unit in ("day", "week", "fortnight", "month", "quarter", "year")
    for plural in ("", "s")
}
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "quarter": 92, "year": 366}
UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}
RANKS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
"""Of a year, four months each."""
OF_THIRDS = {"beginning", "start", "middle", "end"}
YESTERDAY = {"yesterday", "gestern", "ayer", "ieri", "ontem"}
DAY_BEFORE_YESTERDAY = {"vorgestern", "anteayer", "anteontem"}
TODAY = {"today"}
PARTS_OF_DAY = {"morning", "afternoon", "evening"}
OF = {"of", "de"}
PAST = {"last", "past", "previous"}
RELATIONS = {"before", "after", "since"}
BEFORE_MONTH = {"in", "during", "this", "early", "late", "mid", "im"} | PAST | RELATIONS
BEFORE_YEAR = {"in", "during", "throughout"} | RELATIONS
BEFORE_DAY = {"on", "last", "am"} | RELATIONS
BEFORE_LAST = {"in", "over", "during", "within", "for", "from", "of"}
BEFORE_HOLIDAY = {"over", "at", "around", "during", "on", "this", "an", "zu"}
"""Where the question speaks of what was: of each Christmas otherwise."""
WAS = {"did", "was", "were", "had", "war", "waren", "hatte", "hatten"}
GOES_ON = set(
    "who what which where when why how did do does was were had have has we i he she they you it there at with about by"
    .split()
)  # fmt: skip
"""Behind the number of a day, where it is no number of something else (the 5th floor)."""
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
    is_period: bool = False
    """Whether these are the named days themselves, not the time before, after or since them."""

    def match(self, time_us: int) -> float:
        day = time_us // DAY_US
        if self.start <= day < self.end:
            return 1.0
        return self.after if self.end <= day < self.later else 0.0

    def is_known(self, times_us: Collection[int]) -> bool:
        """Return False if the earliest of these times is in the last tenth of a period."""
        if not self.is_period or not times_us:
            return True
        days_behind = self.end - min(times_us) // DAY_US
        return days_behind <= 0 or days_behind >= (self.end - self.start) / 10


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
            self.range, self.numeric, self.day_month, self.nth_day, self.year, self.month, self.season, self.quarter,
            self.part, self.week_of_month, self.holiday, self.new_year, self.last_units, self.ago, self.before_last,
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

    def ends_or_goes_on(self, place: int) -> bool:
        """Whether the question ends before a place, or goes on with a word that no number before it counts."""
        return self.text(place) in GOES_ON | {""}

    @property
    def speaks_of_the_future(self) -> bool:
        return any(word.text in FUTURE for word in self.words)

    # -- expressions

    def range(self, place: int, word: str) -> int:
        """Between March and May 2023, from 2019 to 2021."""
        links = {"between": {"and"}, "from": {"to", "until", "till", "through"}}.get(
            self.before(place), set()
        )
        year, month, n_words = self.end_of_range(place)
        link = place + n_words
        if not n_words or self.text(link) not in links:
            return 0
        last_year, last_month, n_more = self.end_of_range(link + 1)
        behind = link + 1 + n_more
        if not n_more or bool(month) != bool(last_month):
            return 0
        if not month:
            if not self.ends_or_goes_on(behind) or last_year <= year:
                return 0
            self.add_months(12 * year, 12 * (last_year - year + 1))
            return behind - place
        if not last_year and not self.today:
            return 0
        if not last_year and year:
            last_year = year + (last_month < month)
        elif not last_year:
            assert self.today
            last_year = self.today.year - (last_month > self.today.month)
        year = year or last_year - (month > last_month)
        first, n = 12 * year + month - 1, 12 * (last_year - year) + last_month - month + 1
        if not 1 <= n <= 60:
            return 0
        self.add_months(first, n)
        return behind - place

    def end_of_range(self, place: int) -> tuple[int, int, int]:
        """Year, month (0: the year alone) and how many words that is (0: neither)."""
        word = self.text(place)
        if year := year_of(word):
            return year, 0, 1
        if word not in MONTHS:
            return 0, 0, 0
        year, n_more = self.year_behind(place + 1)
        return year, MONTHS[word], 1 + n_more

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

    def nth_day(self, place: int, word: str) -> int:
        """On the 5th, since the 5th of last month."""
        day = day_of(word)
        if not self.today or not day or word.isdigit():
            return 0
        if self.before(place) != "the" or self.before(place - 1) not in BEFORE_DAY:
            return 0
        which = self.text(place + 2)
        if (
            self.text(place + 1) == "of"
            and self.text(place + 3) == "month"
            and which in PAST | {"this", "the"}
        ):
            known = (
                self.recent_number(day) if which == "the" else self.number_of_month(day, int(which in PAST))
            )
            return 4 if known else 0
        if not self.ends_or_goes_on(place + 1) or self.speaks_of_the_future:
            return 0
        return int(self.recent_number(day))

    def number_of_month(self, day: int, back: int) -> bool:
        """The day of a number in the month so many before this one."""
        assert self.today
        month = 12 * self.today.year + self.today.month - 1 - back
        return self.try_day(month // 12, month % 12 + 1, day, ())

    def recent_number(self, day: int) -> bool:
        """The last day of this number until now."""
        assert self.today
        for back in range(3):
            month = 12 * self.today.year + self.today.month - 1 - back
            if (
                day_exists(month // 12, month % 12 + 1, day)
                and days(month // 12, month % 12 + 1, day) <= self.now
            ):
                return self.number_of_month(day, back)
        return False

    def year(self, place: int, word: str) -> int:
        """In 2023, in late 2023, since mid-2023, at the end of 2023."""
        year = year_of(word)
        if not year:
            return 0
        if self.third_of_year(place, year):
            return 1
        if self.before(place) not in BEFORE_YEAR:
            return 0
        if self.text(place + 1) in QUARTERS or self.text(place + 1, "-") in QUARTERS:
            return 0
        self.add(days(year, 1), days(year + 1, 1), 0, 0.0, (word,))
        return 1

    def third_of_year(self, place: int, year: int) -> bool:
        if place > 0 and self.words[place].gap == "-" and self.words[place - 1].text == "mid":
            named, said = place - 1, self.before(place - 1) in BEFORE_YEAR
        elif self.before(place) == "of":
            named, said = place - 2, self.before_the(place - 2) not in DUE
            said = said and self.before(place - 1) in OF_THIRDS
        else:
            named, said = place - 1, self.before(place - 1) in BEFORE_YEAR
            said = said and self.before(place) in set(THIRDS) - OF_THIRDS
        if not said:
            return False
        self.relation = self.relation_of(named)
        self.add_months(12 * year + 4 * THIRDS[self.words[named].text], 4)
        return True

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
        # At the end of May.
        part = (
            before == "of" and self.before(place - 1) in OF_THIRDS and self.before_the(place - 2) not in DUE
        )
        if word not in NAMED_ALONE or not (before in BEFORE_MONTH or part) or not self.today:
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

    def part(self, place: int, word: str) -> int:
        """In the third quarter of 2023, the second half of last year, H1 2024."""
        if word in ("quarter", "half"):
            before = self.before(place)
            rank = 4 if word == "quarter" and before in ("last", "final") else RANKS.get(before, 0)
            if not 1 <= rank <= (4 if word == "quarter" else 2):
                return 0
            self.relation = self.relation_of(place - 1)
        elif word in ("h1", "h2"):
            rank = int(word[1])
        else:
            return 0
        year, n_more = self.year_behind(place + 1)
        which = self.text(place + 2)
        of_year = self.text(place + 1) == "of" and self.text(place + 3) == "year" and which in PAST | {"this"}
        if not year and of_year and self.today:
            year, n_more = self.today.year - (which in PAST), 3
        if not year:
            return 0
        if word == "quarter":
            self.add_quarter(year, rank)
        else:
            self.add_months(12 * year + 6 * (rank - 1), 6)
        return 1 + n_more

    def week_of_month(self, place: int, word: str) -> int:
        """In the second week of November, on the last weekend of May 2023."""
        name = self.text(place + 2)
        if word not in ("week", "weekend") or self.text(place + 1) != "of" or name not in MONTHS:
            return 0
        which, month = self.before(place), MONTHS[name]
        year, n_more = self.year_behind(place + 3)
        if which not in RANKS and which not in ("last", "final"):
            return 0
        if not year:
            if not self.today or name not in NAMED_ALONE:
                return 0
            year = self.today.year - (month > self.today.month)
        self.relation = self.relation_of(place - 1)
        first, following = days(year, month), days(year + month // 12, month % 12 + 1)
        starts = [first, first + 7, first + 14, first + 21, following - 7]
        if word == "weekend":
            starts = [day for day in range(first, following) if (EPOCH + timedelta(day)).weekday() == 5]
        start = starts[RANKS[which] - 1 if which in RANKS else -1]
        self.add(start, start + (2 if word == "weekend" else 7), 3, 0.5)
        return 3 + n_more

    def holiday(self, place: int, word: str) -> int:
        """Last Christmas, since Easter, Easter 2023."""
        if word not in HOLIDAYS:
            return 0
        n = 1 + (self.text(place + 1) in ("eve", "day"))
        year, n_more = self.year_behind(place + n)
        if year:
            self.add_holiday(HOLIDAYS[word], year + (word in EVES), (word, str(year)))
            return n + n_more
        return n if self.recent_holiday(place, HOLIDAYS[word]) else 0

    def new_year(self, place: int, word: str) -> int:
        """Over New Year, on New Year's Eve 2022."""
        if word != "new" or self.text(place + 1) not in ("year", "years", "year\u2019s"):
            return 0
        n = 2 + (place + 2 < len(self.words) and self.words[place + 2].text == "s")
        eve = self.text(place + n) == "eve"
        n += self.text(place + n) in ("eve", "day")
        year, n_more = self.year_behind(place + n)
        if year:
            self.add_holiday("new year", year + eve)
            return n + n_more
        return n if self.recent_holiday(place, "new year") else 0

    def recent_holiday(self, place: int, holiday: str) -> bool:
        """The last one that has begun; "last" means one that is over."""
        before = self.before_the(place)
        was = before in BEFORE_HOLIDAY and any(word.text in WAS for word in self.words)
        if not self.today or self.speaks_of_the_future or not (was or before in PAST | RELATIONS):
            return False
        over = self.before(place) in PAST
        year = self.today.year + 1
        while holiday_of(year, holiday)[1] > self.now if over else holiday_of(year, holiday)[0] > self.now:
            year -= 1
        self.add_holiday(holiday, year)
        return True

    def add_holiday(self, holiday: str, year: int, terms: tuple[str, ...] = ()) -> None:
        start, end = holiday_of(year, holiday)
        self.add(start, end, 7, 0.5, terms)

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
        self.until_now(unit, most)
        return n_words + 2

    def until_now(self, unit: str, n: int) -> None:
        start = max(self.now - UNIT_DAYS[unit] * n, days(FIRST_YEAR, 1))
        self.add(start, self.now + 1, 0, 0.0)

    def ago(self, place: int, word: str) -> int:
        """Two weeks ago, a few days ago, a couple of months ago, two Fridays ago."""
        least, most, n_words = self.count(place)
        weekday = PLURAL_WEEKDAYS.get(self.text(place + n_words), -1)
        if (
            self.today
            and n_words
            and least == most
            and weekday >= 0
            and self.text(place + n_words + 1) == "ago"
        ):
            self.add_weekday(weekday, most - 1)
            return n_words + 2
        unit = UNITS.get(self.text(place + n_words), "") if n_words else ""
        if not self.today or not unit or self.text(place + n_words + 1) != "ago":
            return 0
        if unit == "day" and least == most:
            self.add_day(self.now - most)
        elif unit == "day":
            self.add(self.now - most, self.now - least + 1, 0, 0.0)
        elif unit in ("week", "fortnight"):
            least, most = (n * UNIT_DAYS[unit] // 7 for n in (least, most))
            self.add(self.now - 7 * most - 3, self.now - 7 * least + 4, 3, 0.5)
        else:
            months = UNIT_MONTHS[unit]
            this = (12 * self.today.year + self.today.month - 1) // months * months
            self.add_months(this - months * most, months * (most - least + 1))
        return n_words + 2

    def before_last(self, place: int, word: str) -> int:
        """The week before last, the Friday before last, the week before last week."""
        unit = word in ("week", "weekend", "month", "quarter", "year")
        if not self.today or not (unit or word in WEEKDAYS or word == "night"):
            return 0
        if self.text(place + 1) != "before" or self.text(place + 2) != "last":
            return 0
        following = self.text(place + 3)
        if following != word and (following in KNOWN or self.count(place + 3)[2]):
            return 0
        if unit:
            self.calendar(word, 2)
        elif word == "night":
            self.add(self.now - 2, self.now - 1, 0, 0.0)
        else:
            self.add_weekday(WEEKDAYS[word], 1)
        return 4 if following == word else 3

    def add_weekday(self, weekday: int, weeks_before: int = 0) -> None:
        """The last one before today, or one so many weeks before that."""
        assert self.today
        back = (self.today.weekday() - weekday) % 7
        self.add_day(self.now - (back or 7) - 7 * weeks_before)

    def relative(self, place: int, word: str) -> int:
        """Yesterday, the day before yesterday, last night, last Monday, on Monday, this week, in the past year."""
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
        elif word in TODAY or (word in PARTS_OF_DAY and before == "this"):
            self.add(self.now, self.now + 1, 0, 0.0)
        elif word in WEEKDAYS and (before in PAST or self.names_weekday(place)):
            self.add_weekday(WEEKDAYS[word])
        elif word == "fortnight" and before in PAST and self.text(place + 1) != "of":
            self.until_now(word, 1)
        elif (
            word in ("week", "weekend", "month", "quarter", "year")
            and before in PAST | {"this"}
            and self.text(place + 1) != "of"
        ):
            the = self.before(place - 1) == "the" and self.before(place - 2) in BEFORE_LAST
            if the and before in ("last", "past") and word != "weekend":
                self.until_now(word, 1)
            else:
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
        said = self.before(place) in ("on", "since", "after")
        return said and not dated and not self.speaks_of_the_future

    def calendar(self, unit: str, back: int) -> None:
        """Add the week, weekend, month, quarter or year that lies `back` units before the present one."""
        assert self.today
        if unit in UNIT_MONTHS:
            months = UNIT_MONTHS[unit]
            this = (12 * self.today.year + self.today.month - 1) // months * months
            self.add_months(this - back * months, months)
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
            "": Window(start, end, end + more, after, terms, is_period=True),
            "before": Window(days(FIRST_YEAR, 1), told, told + more, after),
            "after": Window(past, always, always, 0.0),
            "since": Window(start, until, until, 0.0),
        }[self.relation]
        if days(FIRST_YEAR - 1, 1) <= window.start < window.end:
            self.windows.append(window)


def easter(year: int) -> int:
    """Sunday; by the tables of the Gregorian calendar: the Sunday after the full moon on or after 21 March."""
    golden, century = year % 19 + 1, year // 100 + 1
    skipped_leap_days, lunar = 3 * century // 4 - 12, (8 * century + 5) // 25 - 5
    sunday = 5 * year // 4 - skipped_leap_days - 10
    epact = (11 * golden + 20 + lunar - skipped_leap_days) % 30
    if epact == 24 or (epact == 25 and golden > 11):
        epact += 1
    moon = 44 - epact
    moon += 30 if moon < 21 else 0
    return days(year, 3) - 1 + moon + 7 - (sunday + moon) % 7


def holiday_of(year: int, holiday: str) -> tuple[int, int]:
    """The days [start, end); a new year begins with the eve before it."""
    if holiday == "christmas":
        return days(year, 12, 24), days(year, 12, 27)
    if holiday == "easter":
        return easter(year) - 2, easter(year) + 2
    if holiday == "pentecost":
        return easter(year) + 48, easter(year) + 51
    if holiday == "halloween":
        return days(year, 10, 31), days(year, 11, 2)
    if holiday == "thanksgiving":
        thursdays = [day for day in range(days(year, 11), days(year, 12)) if day % 7 == 0]
        return thursdays[3], thursdays[3] + 4
    return days(year, 1) - 1, days(year, 1, 2)


KNOWN = (
    {
        *MONTHS,
        *WEEKDAYS,
        *PLURAL_WEEKDAYS,
        *SEASONS,
        *QUARTERS,
        *HOLIDAYS,
        *UNITS,
        *PARTS_OF_DAY,
        *YESTERDAY,
        *TODAY,
    }
    | DAY_BEFORE_YESTERDAY
    | {"weekend", "half", "h1", "h2", "night", "ago", "latest", "newest", "current", "recent"}
)
"""Words that may be a part of a date."""


def small(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,2}", text) else 0


def day_of(text: str) -> int:
    found = re.fullmatch("([0-9]{1,2})(st|nd|rd|th)?", text)
    return int(found[1]) if found and int(found[1]) <= 31 else 0


def year_of(text: str) -> int:
    value = int(text) if re.fullmatch("[0-9]{4}", text) else 0
    return value if FIRST_YEAR <= value <= LAST_YEAR else 0
