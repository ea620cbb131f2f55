"""Level async: the event loop runs on while the store works."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from memory_store_conformance.context import JANE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_N_SEARCHES = 200
_LEAST_LAG_SECONDS = 0.2


@check(
    "async.same",
    needs={"aput", "aget", "search", "asearch"},
    why="Two interfaces with two behaviours are two products.",
)
def same(ctx: Context) -> None:
    """The awaitable methods do the same as the synchronous ones."""
    store = ctx.open()

    async def work() -> tuple[Any, list[str]]:
        await store.aput(JANE, [Item(f"m{number}", f"note {number} about trains") for number in range(20)])
        return await store.aget(JANE, "m7"), ids_of(await store.asearch(JANE, "note 7 about trains", 5))

    item, ids = asyncio.run(work())
    require(item is not None and item.text == "note 7 about trains", f"aget gives {item}")
    expected = ids_of(store.search(JANE, "note 7 about trains", 5))
    require(ids == expected, f"search gives {expected}, asearch {ids}")


class _Instant:
    """The start of a measurement of the time that this process itself is responsible for.

    On a busy machine its threads also wait for a processor used by others, which the kernel reports. The elapsed time
    without that, or the CPU time of its threads if that is more, is attributed to the process.
    """

    def __init__(self) -> None:
        self._wall, self._worked, self._waited = time.perf_counter(), time.process_time(), _waited_seconds()

    def seconds_since(self) -> float:
        now = _Instant()
        remaining = now._wall - self._wall - max(0.0, now._waited - self._waited)
        return max(remaining, now._worked - self._worked)


def _waited_seconds() -> float:
    """Return how long the live threads waited for a processor; 0 if the system does not report it."""
    waited = 0
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        try:
            waited += int(thread.read_text().split()[1])
        except (OSError, IndexError):  # the thread has ended
            continue
    return waited / 1e9


@check("async.lag", needs={"asearch"}, why="One user's search stops the answers to all others.")
def lag(ctx: Context) -> dict[str, Any]:
    """While 200 searches run concurrently, the loop is blocked for at most 0.2 s, or a third of their total time."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number} about trains and keys") for number in range(1500)])

    async def work(attempt: int) -> tuple[float, float]:
        await store.asearch(JANE, "warm up", 10)
        longest = 0.0
        over = False

        async def tick() -> None:
            nonlocal longest
            while not over:
                before = _Instant()
                await asyncio.sleep(0.001)
                longest = max(longest, before.seconds_since() - 0.001)

        ticking = asyncio.ensure_future(tick())
        await asyncio.sleep(0.02)
        start = _Instant()
        questions = [f"note {number} about keys {attempt}" for number in range(_N_SEARCHES)]
        await asyncio.gather(*(store.asearch(JANE, question, 10) for question in questions))
        total = start.seconds_since()
        over = True
        await ticking
        return longest, total

    attempts = []
    for attempt in range(3):  # a busy machine may block the loop once
        longest, whole = asyncio.run(work(attempt))
        if longest <= max(_LEAST_LAG_SECONDS, whole / 3):
            return {"longest lag ms": round(1000 * longest, 1), "of ms": round(1000 * whole, 1)}
        attempts.append(f"{longest:.2f} s of {whole:.2f} s")
    require(False, f"the loop was held for {', '.join(attempts)}")
    return {}


@check(
    "async.cancelled",
    needs={"aput", "aget"},
    why="A user who closes the window must not leave half a memory.",
)
def cancelled(ctx: Context) -> None:
    """A cancelled put is complete or absent, and the store keeps working."""
    store = ctx.open()
    n = 200

    async def work(delay: float, prefix: str) -> int:
        items = [Item(f"{prefix}{number}", f"part {number} of a document") for number in range(n)]
        task = asyncio.ensure_future(store.aput(JANE, items))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task], timeout=30)
        await asyncio.sleep(0.3)  # let work on threads finish
        results = [await store.aget(JANE, f"{prefix}{number}") for number in range(n)]
        await store.aput(JANE, [Item(f"{prefix}after", "written after the cancellation")])
        require(await store.aget(JANE, f"{prefix}after") is not None, "after a cancellation a put is lost")
        return sum(item is not None for item in results)

    async def all_of_it() -> None:
        for number, delay in enumerate((0.0, 0.001, 0.01, 0.05)):
            got = await work(delay, f"c{number}-")
            require(got in (0, n), f"cancelled {delay} s into a put of {n} items, {got} of them are there")

    asyncio.run(all_of_it())


@check("async.loops", needs={"aput", "aget"}, why="Tests, scripts and notebooks start a loop for each call.")
def loops(ctx: Context) -> None:
    """A store works in a second event loop after the first one was closed."""
    store = ctx.open()
    asyncio.run(store.aput(JANE, [Item("m1", "a note of the first loop")]))
    item = asyncio.run(store.aget(JANE, "m1"))
    require(item is not None and item.text == "a note of the first loop", f"the second loop got {item}")


@check("async.together", needs={"aput", "aget"}, why="Turns of many users end at the same moment.")
def together(ctx: Context) -> None:
    """Concurrent puts all take effect."""
    store = ctx.open()

    async def work() -> list[int]:
        await asyncio.gather(
            *(store.aput(JANE, [Item(f"m{number}", f"note {number}")]) for number in range(60))
        )
        return [number for number in range(60) if (await store.aget(JANE, f"m{number}")) is None]

    lost = asyncio.run(work())
    require(not lost, f"{len(lost)} of 60 puts at once are lost, such as m{lost[0] if lost else ''}")
