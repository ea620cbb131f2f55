"""Facets: the distinct values of a field, and how many documents have each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from scrubjay.documents import payload as payloads

Value = str | int | float | bool | datetime
"""A countable value; times are those of `created_at` and `expires_at`."""

_NUMBER, _TEXT, _BOOLEAN, _TIME = range(4)


class Facet:
    """Counts of values. 1 and True are different values (as in filters), 1 and 1.0 are equal."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, Value], int] = {}

    def add(self, payload: bytes | None, field: str) -> None:
        """Count the value in a document's payload; a list counts each distinct value once."""
        for key in _values(payload, field):
            self._counts[key] = self._counts.get(key, 0) + 1

    def most_common(self, limit: int | None) -> dict[Value, int]:
        """Return the most frequent values with their counts; ties by value: numbers, texts, booleans, times, each
        ascending.

        A dict cannot hold both True and 1 (or False and 0): the more frequent one stands for both, with the sum
        of their counts.
        """
        ranked = sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        counts: dict[Value, int] = {}
        for (_, value), count in ranked:
            counts[value] = counts.get(value, 0) + count
        if len(counts) < len(ranked):
            ranked_again = sorted(counts.items(), key=lambda entry: (-entry[1], _typed(entry[0])))
            counts = dict(ranked_again)
        return counts if limit is None else dict(list(counts.items())[:limit])


def facet_of(payloads_of: Iterable[bytes | None], field: str) -> Facet:
    """Count the values of a field in these payloads.

    >>> facet_of([b'{"metadata":{"tag":["b","a"]}}', b'{"metadata":{"tag":"b"}}', None], "tag").most_common(None)
    {'b': 2, 'a': 1}
    """
    facet = Facet()
    for payload in payloads_of:
        facet.add(payload, field)
    return facet


def _values(payload: bytes | None, field: str) -> set[tuple[int, Value]]:
    if payload is None:
        return set()
    metadata, created_at = payloads.decode(payload)
    own: datetime | None = None
    if field == "created_at":
        own = created_at
    elif field == "expires_at":
        own = payloads.expiry(payload)
    if own is not None:
        return {_typed(own)}
    value = metadata.get(field)
    values = value if isinstance(value, list) else [value]
    return {_typed(one) for one in values if isinstance(one, (str, bool, int, float))}


def _typed(value: Value) -> tuple[int, Value]:
    if isinstance(value, bool):
        return _BOOLEAN, value
    if isinstance(value, (int, float)):
        return _NUMBER, value
    return (_TEXT, value) if isinstance(value, str) else (_TIME, value)
