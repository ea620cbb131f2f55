"""Level durability: acknowledged writes survive crashes and other writers."""

from __future__ import annotations

import os

from memory_store_conformance.children import Child
from memory_store_conformance.context import JANE, Context, ids_of, plain
from memory_store_conformance.contract import Item
from memory_store_conformance.outcomes import NotOffered
from memory_store_conformance.registry import check, require

_TO_OPEN_SECONDS = 180.0  # some projects import slowly, especially on a busy machine


@check("durability.reopen", needs={"durable"}, why="An agent that restarts has forgotten its user.")
def reopen(ctx: Context) -> None:
    """Items are unchanged after the store was closed and opened again."""
    directory = ctx.directory()
    store = ctx.open(directory)
    items = [Item(f"m{number}", f"note {number}", {"n": number}) for number in range(50)]
    store.put(JANE, items)
    ctx.close(store)
    store = ctx.open(directory)
    for item in items:
        got = plain(store.get(JANE, item.id))
        require(got == plain(item), f"wrote {plain(item)}, after reopening got {got}")


@check(
    "durability.reopen-search", needs={"durable", "search"}, why="Rows without an index are never recalled."
)
def reopen_search(ctx: Context) -> None:
    """A search finds the same items in the same order after the store was closed and opened again."""
    directory = ctx.directory()
    store = ctx.open(directory)
    topics = ["trains", "ships", "keys", "invoices", "coffee"]
    store.put(JANE, [Item(f"m{number}", f"{topics[number % 5]} note {number}") for number in range(40)])
    before = ids_of(store.search(JANE, "trains note 5", 10))
    ctx.close(store)
    after = ids_of(ctx.open(directory).search(JANE, "trains note 5", 10))
    require(before == after, f"before {before}, after reopening {after}")


@check(
    "durability.kill", needs={"durable"}, why="The machine that loses power had said 'I will remember that'."
)
def kill(ctx: Context) -> None:
    """Every write acknowledged before SIGKILL is present afterwards."""
    directory = ctx.directory()
    child = ctx.child(directory, "write", prefix="m", n=5000)
    _go(child)
    acknowledged: list[str] = []
    while len(acknowledged) < 25:
        line = child.line()
        require(
            line is not None and line.startswith("acknowledged"),
            f"writing failed: {line or child.last_error()}",
        )
        acknowledged.append(str(line).split()[1])
    child.kill()
    store = ctx.open(directory)
    lost = [name for name in acknowledged if store.get(JANE, name) is None]
    require(not lost, f"{len(lost)} of {len(acknowledged)} acknowledged writes are lost, first {lost[:3]}")
    store.put(JANE, [Item("later", "written after the kill")])
    require(store.get(JANE, "later") is not None, "the store takes no writes after the kill")


@check("durability.two-writers", needs={"durable"}, why="A web server has more than one worker.")
def two_writers(ctx: Context) -> None:
    """Two processes write to one store concurrently, and no acknowledged write is lost."""
    directory = ctx.directory()
    store = ctx.open(directory)
    store.put(JANE, [Item("first", "the first note")])
    ctx.close(store)
    writers = [ctx.child(directory, "write", prefix=prefix, n=25) for prefix in "ab"]
    for child in writers:
        line = child.line(timeout=_TO_OPEN_SECONDS)
        if line != "open":
            raise NotOffered(f"a second process is refused: {child.last_error()[:200]}")
    for child in writers:
        child.say("go")
    acknowledged: list[str] = []
    for child in writers:
        while (line := child.line()) not in (None, "end"):
            require(str(line).startswith("acknowledged"), f"a writer got {line}")
            acknowledged.append(str(line).split()[1])
        require(line == "end", f"a writer ended: {child.last_error()[:200]}")
    store = ctx.open(directory)
    lost = [name for name in ["first", *acknowledged] if store.get(JANE, name) is None]
    require(len(acknowledged) == 50, f"expected 50 acknowledged writes, got {len(acknowledged)}")
    require(not lost, f"{len(lost)} of 50 acknowledged writes are lost, such as {lost[:3]}")


@check("durability.fork", needs={"durable"}, why="Servers fork workers after they loaded the application.")
def fork(ctx: Context) -> None:
    """After a fork the child gets the right answer or an error, never hangs or crashes, and the parent works on."""
    if not hasattr(os, "fork"):
        raise NotOffered("this system has no fork")
    child = ctx.child(ctx.directory(), "fork", seconds=15.0)
    answer = child.line(timeout=_TO_OPEN_SECONDS)
    require(
        answer is not None, f"a process with an open store did not come to fork: {child.last_error()[:200]}"
    )
    right = str(answer).startswith("child refused") or answer == "child text the note before the fork"
    require(right, f"expected the note or a refusal, got {answer!r}")
    answer = child.line(timeout=90)
    require(
        answer == "parent text the note after the fork",
        f"the parent got {answer!r} {child.last_error()[:200]}",
    )


def _go(child: Child) -> None:
    line = child.line(timeout=_TO_OPEN_SECONDS)
    require(line == "open", f"a process could not open the store: {child.last_error()[:200]}")
    child.say("go")
