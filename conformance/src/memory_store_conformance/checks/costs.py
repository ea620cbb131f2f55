"""Level costs: measured, not judged; times are comparable only on the same machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from memory_store_conformance import corpus
from memory_store_conformance.context import JANE, Context
from memory_store_conformance.contract import Item
from memory_store_conformance.outcomes import NotOffered
from memory_store_conformance.registry import check, require

_SIZES = (100, 1000, 4000)
_N_SEARCHES = 40
_N_ITEMS = 1000


def _items(n: int) -> list[Item]:
    return [
        Item(f"m{number}", text, {"n": number})
        for number, text in enumerate(corpus.notes(n, corpus.identifiers(200)))
    ]


@check(
    "costs.bytes",
    needs={"durable"},
    why="A memory that is stored several times fills disks and caches several times.",
)
def bytes_an_item(ctx: Context) -> dict[str, Any]:
    """Bytes on disk per item for 1,000 items written in one batch, after closing, beyond those of a single item."""
    sizes = {}
    for n in (1, 1 + _N_ITEMS):
        directory = ctx.directory()
        store = ctx.open(directory)
        store.put(JANE, _items(n))
        ctx.close(store)
        sizes[n] = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    return {"bytes an item": round((sizes[1 + _N_ITEMS] - sizes[1]) / _N_ITEMS)}


@check("costs.writes", needs={"durable"}, why="Writes wear disks, and are paid for where storage is rented.")
def writes_an_item(ctx: Context) -> dict[str, Any]:
    """Bytes and write system calls per item for 100 items put one by one, by this process."""
    store = ctx.open()
    store.put(JANE, [Item("first", "a note")])
    before = _written()
    for item in _items(100):
        store.put(JANE, [item])
    after = _written()
    return {name: round((after[name] - before[name]) / 100) for name in before}


def _written() -> dict[str, int]:
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        raise NotOffered("this system does not count a process's writes in /proc/self/io") from None
    counts = dict(line.split(": ") for line in lines)
    return {"bytes written an item": int(counts["wchar"]), "write calls an item": int(counts["syscw"])}


@check("costs.put", why="The turn of a conversation waits for it.")
def put_times(ctx: Context) -> dict[str, Any]:
    """Milliseconds of a put of one item into a store of 1,000 items: p50 and p95."""
    store = ctx.open()
    store.put(JANE, _items(_N_ITEMS))
    times = []
    for number in range(_N_SEARCHES):
        start = time.perf_counter()
        store.put(JANE, [Item(f"new{number}", f"a new note {number}")])
        times.append(time.perf_counter() - start)
    return _percentiles(times, "put")


@check("costs.search", needs={"search"}, why="Every turn of a conversation waits for it.")
def search_times(ctx: Context) -> dict[str, Any]:
    """Milliseconds of a search for 10 results, with the embedding: p50 and p95 among 100, 1,000 and 4,000 items."""
    figures: dict[str, Any] = {}
    names = corpus.identifiers(200)
    for n in _SIZES:
        store = ctx.open()
        store.put(JANE, _items(n))
        questions = [f"what is {names[number]}?" for number in range(_N_SEARCHES + 5)]
        for question in questions[:5]:
            store.search(JANE, question, 10)
        times = []
        for question in questions[5:]:
            start = time.perf_counter()
            hits = store.search(JANE, question, 10)
            times.append(time.perf_counter() - start)
            require(hits, f"{question!r} found nothing among {n} items")
        figures |= _percentiles(times, f"of {n}")
        ctx.close(store)
    return figures


def _percentiles(seconds: list[float], name: str) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        f"{name} p50 ms": round(1000 * ordered[len(ordered) // 2], 3),
        f"{name} p95 ms": round(1000 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 3),
    }
