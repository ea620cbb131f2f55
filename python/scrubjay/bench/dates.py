"""The times of LoCoMo and LongMemEval as ISO 8601, whatever the locale."""

from __future__ import annotations

import re
from datetime import datetime

from scrubjay.base.datafiles import Row

_MONTHS = "january february march april may june july august september october november december".split()
_LOCOMO = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)
_LONGMEMEVAL = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")


def locomo_time(row: Row, field: str) -> str:
    """Return a field such as "1:56 pm on 8 May, 2023" in ISO 8601.

    Raises:
        DatasetError: it has another form.
    """
    value = row.text(field)
    if match := _LOCOMO.fullmatch(value.strip()):
        hour, minute, half, day, month, year = match.groups()
        hours = int(hour) % 12 + (12 if half.lower() == "p" else 0)
        if month.lower() in _MONTHS:
            time = _iso(int(year), _MONTHS.index(month.lower()) + 1, int(day), hours, int(minute))
            if time is not None:
                return time
    raise row.error(field, 'a time such as "1:56 pm on 8 May, 2023"', value)


def longmemeval_time(row: Row, field: str, given: object) -> str:
    """Return the value of a field, such as "2023/05/30 (Tue) 23:40", in ISO 8601.

    Raises:
        DatasetError: it has another form.
    """
    if isinstance(given, str) and (match := _LONGMEMEVAL.fullmatch(given.strip())):
        year, month, day, hour, minute = (int(part or 0) for part in match.groups())
        time = _iso(year, month, day, hour, minute)
        if time is not None:
            return time
    raise row.error(field, 'a time such as "2023/05/30 (Tue) 23:40"', given)


def _iso(year: int, month: int, day: int, hour: int, minute: int) -> str | None:
    try:
        return datetime(year, month, day, hour, minute).isoformat()
    except ValueError:
        return None
