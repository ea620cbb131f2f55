"""Merging the results of one query over several homes, as if they were one home.

Each home is queried separately, because a statement names one. Rows are sorted by the query's ORDER BY and cut at
its LIMIT; counts, sums and extremes are aggregated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Rows = list[tuple[Any, ...]]

_LIMIT = re.compile(r" LIMIT (?:%\((\w+)\)s|(\d+))$")
_ORDER = re.compile(r" ORDER BY ([\w., ]+)$")
_AGGREGATE = re.compile(r"(?:coalesce\()?(count|sum|max|min)\((?!DISTINCT)")
_OF_ALL = re.compile(r"home (?:= ''|IN \(''|IN \(%\(h\d+\)s, '')")


class _Merge(NamedTuple):
    keys: tuple[tuple[int, bool], ...]
    """Sort keys: the index of a column, and whether it sorts descending."""
    limit: str | int | None
    """The LIMIT, or the name of its parameter."""
    is_distinct: bool
    """Whether duplicate rows are removed."""
    totals: tuple[Callable[[Iterable[Any]], Any], ...] | None
    """For each column of an aggregate query, the function that aggregates the values of all homes."""


def merged(query: str, values: Mapping[str, Any], rows: Rows) -> Rows:
    """Merge the results of a query over several homes.

    Args:
        query: as it was sent to each of them.
        values: its parameters.
        rows: of all results.

    >>> merged("SELECT a, b FROM t WHERE home = %(h0)s ORDER BY b DESC LIMIT 2", {}, [(1, 5), (2, None), (3, 9)])
    [(2, None), (3, 9)]
    >>> merged("SELECT count(*), max(a) FROM t", {}, [(1, None), (2, 7)])
    [(3, 7)]
    """
    merge = _merge_of(query)
    if merge.totals is not None:
        columns = zip(*rows, strict=True)
        return [tuple(total(column) for total, column in zip(merge.totals, columns, strict=True))]
    if merge.is_distinct:
        rows = list(dict.fromkeys(rows))
    for at, descends in reversed(merge.keys):  # PostgreSQL sorts NULL as greater than everything
        rows = sorted(rows, key=lambda row: (row[at] is None, row[at]), reverse=descends)
    limit = values[merge.limit] if isinstance(merge.limit, str) else merge.limit
    return rows if limit is None else rows[:limit]


@lru_cache(maxsize=512)
def _merge_of(query: str) -> _Merge:
    """Return how the results of a query are merged.

    Raises:
        AssertionError: the query is not supported.
    """
    body, limit = query, None
    if found := _LIMIT.search(body):
        body, limit = body[: found.start()], found[1] or int(found[2])
    order: list[str] = []
    if found := _ORDER.search(body):
        body, order = body[: found.start()], [part.strip() for part in found[1].split(",")]
    head, _, rest = _cut(body, " FROM ")
    if _cut(rest, " GROUP BY ")[1] or _cut(rest, " ORDER BY ")[1]:
        raise AssertionError(f"expected a query whose results can be merged, got {query!r}")
    is_distinct = head.startswith("SELECT DISTINCT ")
    columns = _columns(head.removeprefix("SELECT ").removeprefix("DISTINCT "))
    aggregates = [_AGGREGATE.match(column) for column in columns]
    if any(aggregates):
        if not all(aggregates) or is_distinct:
            raise AssertionError(f"expected only counts, sums and extremes, got {query!r}")
        totals = tuple(_TOTALS[found[1]] for found in aggregates if found)
        return _Merge((), None, False, totals)
    names = [column.rpartition(" AS ")[2].rpartition(".")[2] for column in columns]
    keys = []
    for part in order:
        name, _, direction = part.partition(" ")
        if name.rpartition(".")[2] not in names:
            raise AssertionError(f"expected an order by selected columns, got {query!r}")
        keys.append((names.index(name.rpartition(".")[2]), direction == "DESC"))
    is_distinct = is_distinct or " UNION " in body or _OF_ALL.search(query) is not None
    return _Merge(tuple(keys), limit, is_distinct, None)


def _extreme(choose: Callable[[Iterable[Any]], Any]) -> Callable[[Iterable[Any]], Any]:
    def total(values: Iterable[Any]) -> Any:
        found = [value for value in values if value is not None]
        return choose(found) if found else None

    return total


_TOTALS: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "count": sum,
    "sum": lambda values: sum(value for value in values if value is not None),
    "max": _extreme(max),
    "min": _extreme(min),
}


def _cut(text: str, at: str) -> tuple[str, str, str]:
    """Split at the first occurrence outside of parentheses."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(at, i):
            return text[:i], at, text[i + len(at) :]
    return text, "", ""


def _columns(text: str) -> Sequence[str]:
    """Split at the commas outside of parentheses.

    >>> _columns("a, f(b, c) AS d")
    ['a', 'f(b, c) AS d']
    """
    columns, rest = [], text
    while True:
        column, comma, rest = _cut(rest, ",")
        columns.append(column.strip())
        if not comma:
            return columns
