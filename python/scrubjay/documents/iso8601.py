"""Parsing of ISO 8601 times, the same on every Python.

`datetime.fromisoformat` of Python 3.10 accepts little more than what `isoformat` writes: it refuses what Postgres
prints (``2026-03-01 09:30:00.12345+00``), nanoseconds, an offset without colon, and the basic form. Python 3.11 accepts
these, but only 3.14 accepts midnight as 24:00. What the interpreter refuses is therefore parsed again here.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

__all__ = ["read_any_form", "read_time"]

_CLOCK = r"""
    (?P<{0}hour>[0-9]{{2}}) (?: (?P<{0}colon>:?) (?P<{0}minute>[0-9]{{2}})
    (?: (?P={0}colon) (?P<{0}second>[0-9]{{2}}) (?: [.,] (?P<{0}fraction>[0-9]+) )? )? )?
"""
_FORM = (  # compiled when the interpreter first refuses a text, so that importing scrubjay stays cheap
    r"(?P<year>[0-9]{4}) (?P<dash>-?) (?: (?P<month>[0-9]{2}) (?P=dash) (?P<day>[0-9]{2})"
    r" | W (?P<week>[0-9]{2}) (?: (?P=dash) (?P<weekday>[0-9]) )? )"
    rf"(?: [^0-9] {_CLOCK.format('')} (?P<zone> [Zz] | (?P<sign>[+-]) {_CLOCK.format('zone_')} )? )?"
)


def read_time(text: str) -> datetime:
    """Return the time in `text`; naive if it has no zone.

    A date (``2026-03-01``, ``20260301``, a week ``2026-W09`` or a day of it ``2026-W09-7``), then optionally, after any
    character but a digit, hours, minutes, seconds and a fraction, each optional after the one before, with or without
    colons; then ``Z`` or an offset. The first six digits of the fraction count. 24:00 is the midnight at the end of the
    day.

    Raises:
        ValueError: another form, or a day or time that does not exist.

    >>> read_time("2026-03-01 09:30:00.12345+00")
    datetime.datetime(2026, 3, 1, 9, 30, 0, 123450, tzinfo=datetime.timezone.utc)
    >>> read_time("20260301T24")
    datetime.datetime(2026, 3, 2, 0, 0)
    """
    try:
        # The suffix is replaced because 3.10 does not accept it.
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        return read_any_form(text)


def read_any_form(text: str) -> datetime:
    """Read a time without trying the faster parser of the interpreter; takes ten times as long as `read_time`.

    Raises:
        ValueError: as for `read_time`.

    >>> read_any_form("2026-W09-7")
    datetime.datetime(2026, 3, 1, 0, 0)
    """
    match = re.fullmatch(_FORM, text, re.VERBOSE)
    if match is None:
        raise ValueError(f"expected an ISO 8601 time, got {text!r}")
    try:
        midnight = datetime.combine(_day(match), datetime.min.time())
        return (midnight + _since_midnight(match)).replace(tzinfo=_zone(match))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"expected an ISO 8601 time, got {text!r}: {error}") from None


def _day(match: re.Match[str]) -> date:
    year = int(match["year"])
    if match["week"] is not None:
        return date.fromisocalendar(year, int(match["week"]), int(match["weekday"] or 1))
    return date(year, int(match["month"]), int(match["day"]))


def _since_midnight(match: re.Match[str]) -> timedelta:
    passed = _clock(match, "")
    if passed > timedelta(days=1):
        raise ValueError(f"expected at most 24:00, got {passed}")
    return passed


def _zone(match: re.Match[str]) -> timezone | None:
    if match["zone"] is None:
        return None
    offset = timedelta() if match["sign"] is None else _clock(match, "zone_")
    return timezone(-offset if match["sign"] == "-" else offset)


def _clock(match: re.Match[str], which: str) -> timedelta:
    minute, second = int(match[which + "minute"] or 0), int(match[which + "second"] or 0)
    if minute > 59 or second > 59:
        raise ValueError(f"expected minutes and seconds below 60, got {minute} and {second}")
    micros = (match[which + "fraction"] or "")[:6].ljust(6, "0")
    return timedelta(
        hours=int(match[which + "hour"] or 0), minutes=minute, seconds=second, microseconds=int(micros)
    )
