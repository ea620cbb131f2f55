"""Every Python parses times alike, in every form that newer versions accept."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay.documents.iso8601 import read_any_form, read_time

offsets = st.integers(-86399, 86399).map(lambda seconds: timezone(timedelta(seconds=seconds)))
moments = st.datetimes(timezones=st.one_of(st.none(), offsets, st.just(timezone.utc)))


def clock(hour: int, minute: int, second: int, colon: str, parts: int) -> str:
    """Return the first `parts` of hours, minutes and seconds."""
    return colon.join(f"{part:02}" for part in (hour, minute, second)[:parts])


@st.composite
def written(draw: st.DrawFn) -> tuple[str, datetime]:
    """A time in one of the forms, and its value: missing parts are zero."""
    moment = draw(moments)
    dash, colon, parts = (
        draw(st.sampled_from(["-", ""])),
        draw(st.sampled_from([":", ""])),
        draw(st.integers(0, 3)),
    )
    year, week, weekday = moment.isocalendar()
    if draw(st.booleans()) and 1 <= year <= 9999:
        text = f"{year:04}{dash}W{week:02}{dash}{weekday}"
    else:
        text = f"{moment.year:04}{dash}{moment.month:02}{dash}{moment.day:02}"
    if not parts:
        return text, datetime(moment.year, moment.month, moment.day)
    digits = draw(st.integers(0, 9)) if parts == 3 else 0
    text += draw(st.sampled_from("Tt _")) + clock(moment.hour, moment.minute, moment.second, colon, parts)
    shown = moment.replace(
        minute=moment.minute if parts > 1 else 0,
        second=moment.second if parts > 2 else 0,
        microsecond=int(f"{moment.microsecond:06}"[:digits].ljust(6, "0")),
    )
    if digits:
        text += draw(st.sampled_from(".,")) + f"{moment.microsecond:06}123"[:digits]
    offset = moment.utcoffset()
    if offset is None:
        return text, shown
    if not offset and draw(st.booleans()):
        return text + "Z", shown
    size = abs(int(offset.total_seconds()))
    sign = "-" if offset < timedelta(0) else "+"
    return text + sign + clock(
        size // 3600, size // 60 % 60, size % 60, draw(st.sampled_from([":", ""])), 3
    ), shown


@given(written())
def test_every_form_is_read_as_it_was_meant(case: tuple[str, datetime]) -> None:
    text, moment = case
    for read in (read_time, read_any_form):
        assert read(text) == moment, read.__name__
        assert read(text).utcoffset() == moment.utcoffset(), read.__name__


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10's own reader knows one form")
@given(written().map(lambda case: case[0]), st.integers(0, 40), st.sampled_from("0123456789-:+.,WZT "))
@example("2026-03-01T09:30:00", 11, "2")
def test_a_changed_character_is_judged_as_by_the_interpreter(text: str, at: int, other: str) -> None:
    text = text[:at] + other + text[at + 1 :]
    try:
        ours = read_any_form(text)
    except ValueError:
        return  # it requires a separator that is not a digit and an offset below 24 hours
    try:
        theirs = datetime.fromisoformat(text)
    except ValueError:
        theirs = None
    assert theirs is None or (ours, ours.utcoffset()) == (theirs, theirs.utcoffset())


@pytest.mark.parametrize("text", ["2026-02-29", "2026-W54", "2026-W09-8", "2026-060", "2026-03-0112:00", "2026-03-01T9",
    "2026-03-01T24:01", "2026-03-01T12:60", "2026-03-01T12:0000", "2026-03-01T1200:00", "2026-03-01T12:00:00.",
    "2026-03-01T12:00+24:00", "9999-12-31T24:00", "2026-0301", "\u0662026-03-01", "", "tomorrow"])  # fmt: skip
def test_texts_that_are_not_times_are_refused(text: str) -> None:
    for read in (read_time, read_any_form):
        with pytest.raises(ValueError, match="expected an ISO 8601 time, got"):
            read(text)
