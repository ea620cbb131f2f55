"""Work of the children of `both.py`: judge and write, read beside a writer, compact beside a writer."""

from __future__ import annotations

import os
import pickle
import random
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scrubjay import ClosedError, Index, StoreBusyError
from scrubjay.backend import Backend
from scrubjay.memory import Memory
from scrubjay.store.residency import housekeeping, residency
from scrubjay.store.sqlite import pages, shrinking
from tests.crash import workload
from tests.crash.both_judge import judge, open_memory
from tests.crash.both_workload import EMBEDDERS, Step, World, agree, now, step
from tests.crash.children import FailureError, Say
from tests.data.keys import provider
from tests.memory.model import key_of, seen_from
from tests.memory.setting import EVERYWHERE, Clock

_WRITING = ("INSERT", "UPDATE", "DELETE", "COMMIT", "BEGIN", "CREATE", "DROP")


@dataclass(frozen=True)
class Orders:
    """The task of a child, determined before the fork."""

    path: Path
    seed: int
    number: int  # of the first step
    durability: str
    keyed: bool
    thorough: bool
    compacting: bool  # whether a separate thread compacts the file meanwhile
    kill: str  # "timer", "opening", "statement", "commit" or "zeroing"
    after: int  # number of statements, commits or pages before the kill
    delay: float  # seconds from the time at which the kill is due


def _kill_soon(memory: Memory, orders: Orders) -> None:
    """Let the child kill itself before its n-th writing statement, or a moment after its n-th COMMIT began."""
    left = orders.after
    due = threading.Event()

    def die() -> None:
        due.wait()
        time.sleep(orders.delay)
        os.kill(os.getpid(), signal.SIGKILL)

    def trace(statement: str) -> None:
        nonlocal left
        word = statement.split(None, 1)[0].upper()
        if word not in (("COMMIT",) if orders.kill == "commit" else _WRITING):
            return
        left -= 1
        if left == 0 and orders.kill == "commit":
            due.set()  # the other thread runs when SQLite releases the GIL
        elif left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if orders.kill == "commit":
        threading.Thread(target=die, daemon=True).start()
    for store in {
        id(one): one for one in (memory._parts.context.store, Backend.of(memory.index).engine.store)
    }.values():  # type: ignore[union-attr]
        store._writer.set_trace_callback(trace)


def _say_how_it_compacts(orders: Orders, say: Say) -> None:
    """Report rewritten rows and zeroed pages; if the orders say so, kill the process before, within or after zeroing
    the n-th page."""
    left = orders.after
    place = random.Random(orders.number).choice(["before", "within", "after"])
    zero, again, write = pages.Pages.zero, shrinking._write_again, os.pwrite

    def die() -> None:
        say("k")
        os.kill(os.getpid(), signal.SIGKILL)

    def half(descriptor: int, data: bytes, at: int) -> int:
        write(descriptor, data[: len(data) // 2], at)
        die()
        return 0

    def zeroing(self: pages.Pages, page: int) -> None:
        nonlocal left
        left -= 1
        is_last = left == 0 and orders.kill == "zeroing"
        if is_last and place == "before":
            die()
        if is_last and place == "within":
            os.pwrite = half
        zero(self, page)
        os.pwrite = write
        say("z")
        if is_last:
            die()

    def writing_again(*arguments: object) -> object:
        say("w")
        return again(*arguments)  # type: ignore[arg-type]

    pages.Pages.zero = zeroing  # type: ignore[method-assign]
    shrinking._write_again = writing_again  # type: ignore[assignment]


class _Compacting:
    """A thread that compacts the file of a memory repeatedly."""

    def __init__(self, memory: Memory, say: Say) -> None:
        self.memory = memory  # may be reopened meanwhile
        self._say = say
        threading.Thread(target=self._compact, daemon=True).start()

    def _compact(self) -> None:
        while True:
            try:
                self.memory.admin.compact()
                self._say("c")
            except (ClosedError, StoreBusyError):  # closing, or a dropped collection; a reader is active
                time.sleep(0.002)
            except BaseException as error:  # noqa: BLE001 - reported to the parent
                self._say(f"!compacting beside: {type(error).__name__}: {error}".replace("\n", " "))
                os._exit(1)


def work(orders: Orders, worlds: list[World], say: Say) -> None:
    """Open the file, report which of the worlds it holds, and continue from there until the kill."""
    # Short pauses, so that the thread that writes images is killed at work, too.
    housekeeping._PAUSE_SECONDS = residency._REST_SECONDS = 0.002
    clock = Clock(now(orders.number - 1))
    memory = open_memory(orders.path, clock, orders.durability, orders.keyed, worlds)
    chosen = judge(memory, worlds, thorough=orders.thorough)
    say(f"j{chosen}")
    world = worlds[chosen]
    memory.documents.embedder = EMBEDDERS[world.embedder]  # an index without vectors opens with any embedder
    if orders.kill in ("statement", "commit"):
        _kill_soon(memory, orders)
    _say_how_it_compacts(orders, say)
    compacting = _Compacting(memory, say) if orders.compacting else None
    number = orders.number
    while True:
        clock.now = world.model.now = now(number)
        one = step(orders.seed, number, world)
        say(f"b{number}")
        if one.kind == "index reopen":
            memory.close()
            memory = open_memory(orders.path, clock, orders.durability, orders.keyed, [world])
            if compacting is not None:
                compacting.memory = memory
            outcome = None
        elif one.parts:
            _together(memory, one, lambda part, number=number: say(f"p{number}.{part}"))
            outcome = None
        else:
            outcome = one.do(memory)
        say(f"a{number}")
        expected = one.then(world)
        if not agree(outcome, expected):
            orders.path.with_name("world-after").write_bytes(pickle.dumps(world))
            raise FailureError(f"step {number}, {one.kind}: expected {expected}, got {outcome}")
        number += 1


def _together(memory: Memory, one: Step, say: Say) -> None:
    """Run the parts of a step concurrently, each on its own thread."""
    errors: list[BaseException] = []

    def do(place: int, part: Step) -> None:
        try:
            part.do(memory)
            say(str(place))
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=do, args=pair) for pair in enumerate(one.parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def read(orders: Orders, say: Say) -> None:
    """Search from random scopes; every hit must be complete and visible to the scope."""
    rng = random.Random(orders.number)
    either = [World(embedder=name) for name in EMBEDDERS]
    memory = open_memory(orders.path, Clock(now(orders.number)), "normal", orders.keyed, either)
    while True:
        scope = rng.choice(workload.SCOPES)
        seen = seen_from(key_of(scope))
        hits = memory.index.search("oak winter", vector=np.ones(workload.DIM), scope=scope, k=50)
        for hit in hits:
            text = hit.text  # "" if it was deleted since
            if key_of(hit.scope) not in seen or (text and not text.split()[-1].startswith("v")):
                raise FailureError(f"a reader at {scope!r} found {hit.scope!r}, {text!r}")
        scope = rng.choice(EVERYWHERE)
        seen = seen_from(key_of(scope))
        for found in memory.recall("oak", scope, k=50, kinds=("fact", "episode")):
            if key_of(found.scope) not in seen or not found.text.startswith("oak f"):
                raise FailureError(f"a reader at {scope!r} recalled {found.scope!r}, {found.text!r}")
        if not all(one.text.startswith("oak f") for one in memory.known(scope).preferences):
            raise FailureError(f"a reader at {scope!r} knows {memory.known(scope)}")
        say("r")


def compact(orders: Orders, say: Say) -> None:
    """Compact the file beside its writer repeatedly."""
    say("o")
    _say_how_it_compacts(orders, say)
    keys = provider if orders.keyed else None
    with Index.open(orders.path, durability="normal", keys=keys, encryption="mixed") as index:
        while True:
            try:
                index.admin.compact()
                say("c")
            except (ClosedError, StoreBusyError):  # a collection was dropped; a reader is active
                time.sleep(0.002)
