"""Level paging: a paged listing is complete, stable and linear."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from memory_store_conformance.context import JANE, JOE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_PAGE = 50
_SMALL, _LARGE = 500, 2000
_MOST_ATTEMPTS = 10
_MOST_GROWTH = 8.0  # for four times the items: 4 if pages are linear, 16 if quadratic


def _walk(store: Any, limit: int = _PAGE, between: Callable[[int], None] | None = None) -> list[str]:
    """Return the ids of all pages; `between` is called with the number of each page read."""
    ids: list[str] = []
    cursor: Any = None
    for number in range(10_000):
        page = store.page(JANE, limit, cursor)
        require(len(page.items) <= limit, f"a page of {limit} has {len(page.items)} items")
        ids += ids_of(page.items)
        cursor = page.cursor
        if cursor is None:
            return ids
        if between is not None:
            between(number)
    require(False, "10,000 pages, and no end")
    return ids


@check(
    "paging.whole",
    needs={"page"},
    why="An export that misses items is no export; one that repeats them doubles a user.",
)
def whole(ctx: Context) -> None:
    """All pages together contain every item once, whatever the page size."""
    store = ctx.open()
    store.put(JOE, [Item(f"j{number}", f"note {number} of joe") for number in range(30)])
    store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(120)])
    for limit in (7, 40, 120, 500):
        got = _walk(store, limit)
        require(len(got) == len(set(got)), f"pages of {limit}: {len(got) - len(set(got))} items come twice")
        require(len(got) == 120, f"pages of {limit}: {len(got)} items of 120")


@check("paging.stable", needs={"page"}, why="Users write while a listing runs.")
def stable(ctx: Context) -> None:
    """Items that exist throughout the listing come exactly once, while others are written."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(100)])

    def write(number: int) -> None:
        store.put(JANE, [Item(f"new{number}", "written meanwhile")])

    got = [id for id in _walk(store, 10, write) if id.startswith("m")]
    twice = sorted({id for id in got if got.count(id) > 1})
    require(not twice, f"{len(twice)} of 100 items come twice, such as {twice[:3]}")
    require(len(got) == 100, f"{100 - len(got)} of 100 items do not come")


@check(
    "paging.deleted",
    needs={"page", "delete"},
    why="A clean-up that deletes page by page skips every other page.",
)
def deleted(ctx: Context) -> None:
    """Items that stay come exactly once, while items of the pages already read are deleted."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(100)])
    read: list[str] = []
    cursor: Any = None
    while True:
        page = store.page(JANE, 10, cursor)
        read += ids_of(page.items)
        cursor = page.cursor
        if cursor is None:
            break
        store.delete(JANE, ids_of(page.items))
    missed = 100 - len(set(read))
    require(not missed and len(read) == 100, f"{missed} of 100 items do not come")


@check("paging.linear", needs={"page"}, why="The export of a long life takes hours instead of minutes.")
def linear(ctx: Context) -> dict[str, Any]:
    """Reading four times as many items in pages takes less than eight times as long."""
    stores = {n: ctx.open() for n in (_SMALL, _LARGE)}
    for n, store in stores.items():
        store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(n)])
        _walk(store)
    least = dict.fromkeys(stores, float("inf"))
    growth = float("inf")
    for attempt in range(_MOST_ATTEMPTS):  # other work on the machine only adds to a time
        for n, store in stores.items():
            least[n] = min(least[n], _timed(store))
        growth = least[_LARGE] / max(least[_SMALL], 1e-6)
        if growth < _MOST_GROWTH or (attempt > 2 and growth > 1.5 * _MOST_GROWTH):
            break
    evidence = (
        f"{_SMALL} items {least[_SMALL]:.4f} s, {_LARGE} items {least[_LARGE]:.4f} s: {growth:.1f} times"
    )
    require(growth < _MOST_GROWTH, evidence)
    return {"growth for 4 times the items": round(growth, 1)}


def _timed(store: Any) -> float:
    start = time.perf_counter()
    _walk(store)
    return time.perf_counter() - start
