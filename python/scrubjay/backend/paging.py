"""Pages by cursor, even if a part of the filter is a Python function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend.conditions import Node, met_by, split
from scrubjay.documents.records import Cursor, Page, Record
from scrubjay.index import Index

_LEAST_PAGE = 256
"""Memories per read if most of them may not match the conditions."""


def page_of(
    index: Index,
    scope: Scope,
    where: Node | None = None,
    *,
    limit: int = 100,
    cursor: Cursor | str | None = None,
    **options: Any,
) -> Page:
    """Return one page of the memories that match the conditions `where`, and the cursor of the next one.

    `options` are `order_by`, `descending`, `vectors` and `exact` of :meth:`scrubjay.Index.scroll`, whose guarantees
    hold here: a late page costs no more than the first.

    Raises:
        CursorError: the cursor is damaged, or belongs to another index, scope or order.

    >>> from scrubjay.backend.conditions import Test, is_text
    >>> index, acme = Index(), Scope("acme")
    >>> for number in range(6):
    ...     index.upsert(number, "A note", scope=acme, metadata={"city": ["York", "New York"][number % 2]})
    >>> new = Test(is_text("city"), lambda record: "New" in record.metadata["city"])
    >>> page = page_of(index, acme, new, limit=2)
    >>> [record.id for record in page], [record.id for record in page_of(index, acme, new, cursor=page.cursor)]
    ([1, 3], [5])
    """
    native, rest = (None, None) if where is None else split(where)
    if rest is None:
        return index.scroll(scope=scope, filter=native, limit=limit, cursor=cursor, **options)
    records: list[Record] = []
    while True:
        room, start = limit - len(records), cursor
        page = index.scroll(scope=scope, filter=native, limit=max(room, _LEAST_PAGE), cursor=start, **options)
        met = met_by(index, scope, rest, page.records)
        if len(met) > room:
            # The page ends in the middle of the memories read: its cursor is that of a shorter read.
            positions = [
                position for position, record in enumerate(page.records, 1) if record is met[room - 1]
            ]
            page = index.scroll(scope=scope, filter=native, limit=positions[0], cursor=start, **options)
            met = met_by(index, scope, rest, page.records)[:room]
        records += met
        cursor = page.cursor
        if cursor is None or len(records) >= limit:
            return Page(records, cursor)


def every(
    index: Index, scope: Scope, where: Node | None = None, *, page: int = 1000, **options: Any
) -> Iterator[Record]:
    """Yield all memories that match the conditions `where`, page by page, in the order of writing unless `options`
    differ.

    Memories written meanwhile may or may not be included; see :meth:`scrubjay.Index.scroll`.
    """
    cursor: Cursor | str | None = None
    while True:
        found = page_of(index, scope, where, limit=page, cursor=cursor, **options)
        yield from found
        cursor = found.cursor
        if cursor is None:
            return
