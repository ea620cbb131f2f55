"""Kill a process that writes to an index and to a memory in one file; judge what the next process finds; many times.

    python -m tests.crash.both --rounds 30000 --seed 1 [--encrypted] [--seconds N] [--keep FOLDER]

The process that imports the package opens nothing: it forks a child a round. The child opens the file afresh, holds it
to what was acknowledged (the state after the last acknowledged step, or after the one in flight), says which of the two
it is, and goes on working until SIGKILL comes: while it opens, at a random moment, before a random statement, inside a
COMMIT. In some rounds another process reads all the while. A disagreement ends the run with exit code 1, the file kept
in --keep.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from scrubjay.backend import Backend
from scrubjay.memory import Memory
from scrubjay.store.residency import housekeeping, residency
from tests.crash import workload
from tests.crash.both_judge import judge, open_memory
from tests.crash.both_workload import EMBEDDERS, World, agree, now, step
from tests.crash.patience import TimeOf
from tests.memory.model import key_of, seen_from
from tests.memory.setting import EVERYWHERE, Clock

ROUNDS_A_FILE = 30
THOROUGH_EVERY = 5
LONGEST_SECONDS = 0.1  # that a child works
GIVE_UP_SECONDS = 120.0  # that a child may take to open and to judge, on a busy machine
_WRITING = ("INSERT", "UPDATE", "DELETE", "COMMIT", "BEGIN", "CREATE", "DROP")


@dataclass
class Tally:
    """What happened in all rounds."""

    seed: int = 0
    encrypted: bool = False
    rounds: int = 0
    files: int = 0
    acknowledged: int = 0
    in_flight: int = 0
    in_flight_kept: int = 0
    killed_while_opening: int = 0
    killed_before_a_statement: int = 0
    killed_in_a_commit: int = 0
    judged: int = 0
    checked: int = 0
    read_beside: int = 0
    reads: int = 0
    seconds: float = 0.0
    steps: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


class FailureError(AssertionError):
    """A child found something that may not be."""


# ---------------------------------------------------------------------- in the child


@dataclass(frozen=True)
class Orders:
    """What a child is to do, settled before it is forked."""

    path: Path
    seed: int
    number: int  # of the first step
    durability: str
    keyed: bool
    thorough: bool
    kill: str  # "timer", "opening", "statement" or "commit"
    after: int  # so many statements or commits
    delay: float  # seconds, from when the kill is due


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
            due.set()  # the other thread runs as soon as SQLite does
        elif left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if orders.kill == "commit":
        threading.Thread(target=die, daemon=True).start()
    for store in {
        id(one): one for one in (memory._parts.context.store, Backend.of(memory.index).engine.store)
    }.values():  # type: ignore[union-attr]
        store._writer.set_trace_callback(trace)


def _work(orders: Orders, worlds: list[World], say: Callable[[str], None]) -> None:
    # The thread that writes images shall be killed at its work as well.
    housekeeping._PAUSE_SECONDS = residency._REST_SECONDS = 0.002
    clock = Clock(now(orders.number - 1))
    memory = open_memory(orders.path, clock, orders.durability, orders.keyed, worlds)
    chosen = judge(memory, worlds, thorough=orders.thorough)
    say(f"j{chosen}")
    world = worlds[chosen]
    memory.documents.embedder = EMBEDDERS[world.embedder]  # an index without vectors opens with any
    if orders.kill in ("statement", "commit"):
        _kill_soon(memory, orders)
    number = orders.number
    while True:
        clock.now = world.model.now = now(number)
        one = step(orders.seed, number, world)
        say(f"b{number}")
        if one.kind == "index reopen":
            memory.close()
            memory = open_memory(orders.path, clock, orders.durability, orders.keyed, [world])
            outcome = None
        else:
            outcome = one.do(memory)
        say(f"a{number}")
        expected = one.then(world)
        if not agree(outcome, expected):
            raise FailureError(f"step {number}, {one.kind}: expected {expected}, got {outcome}")
        number += 1


def _read(orders: Orders, say: Callable[[str], None]) -> None:
    """Search from every scope: what is found is whole, and in sight."""
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


# ---------------------------------------------------------------------- in the process that forks


class Child:
    """A forked process and the pipe through which it speaks."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self.incoming, outgoing = os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(self.incoming)
            try:
                work(lambda word: void(os.write(outgoing, word.encode() + b"\n")))
            except BaseException as error:  # noqa: BLE001 - the parent shall hear of it, whatever it is
                os.write(
                    outgoing, f"!{type(error).__name__}: {error}\n".replace("\n", " ", 1).encode() + b"\n"
                )
            os._exit(1)
        os.close(outgoing)
        self._said = b""
        self.status = 0

    def listen(self, seconds: float, until: bytes | None = None) -> bool:
        """Hear what it says for some time; True once it has said `until`, False when the time or the child is over.

        The time is that in which it was not kept waiting for a processor.
        """
        had = TimeOf(self.id)
        while until is None or until not in self._said:
            left = seconds - had.seconds()
            if left <= 0:
                return False
            if not select.select([self.incoming], [], [], left)[0]:
                continue
            part = os.read(self.incoming, 65536)
            if not part:
                return False
            self._said += part
        return True

    def said(self) -> str:
        """Return what was heard of it so far."""
        return self._said.decode(errors="replace")

    def kill(self) -> list[str]:
        """End it and return its lines."""
        os.kill(self.id, signal.SIGKILL)
        _, self.status = os.waitpid(self.id, 0)
        while part := os.read(self.incoming, 65536):
            self._said += part
        os.close(self.incoming)
        lines = self._said.decode(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith("!")]
        if failed:
            raise FailureError(failed[0][1:])
        if not os.WIFSIGNALED(self.status) or os.WTERMSIG(self.status) != signal.SIGKILL:
            raise FailureError(f"a child ended with status {self.status}")
        return lines


def void(_: object) -> None:
    """Drop a value."""


class Rounds:
    """The rounds of one seed."""

    def __init__(self, seed: int, folder: Path, encrypted: bool) -> None:
        self.path = folder / "both.scrubjay"
        self.tally = Tally(seed, encrypted)
        self._rng = random.Random(seed)
        self._worlds = [World()]
        self._number = 0

    def _begin_file(self) -> None:
        for old in self.path.parent.glob(self.path.name + "*"):
            old.unlink()
        self._worlds = [World()]
        self.tally.files += 1

    def _orders(self) -> Orders:
        rng = self._rng
        kill = rng.choices(["timer", "opening", "statement", "commit"], weights=[50, 8, 17, 25])[0]
        longest = LONGEST_SECONDS * rng.choice([0.1, 0.3, 1.0])
        delay = rng.random() * (0.002 * rng.random() if kill == "commit" else longest)
        return Orders(
            self.path,
            self.tally.seed,
            self._number,
            rng.choice(["full", "normal", "normal"]),
            self.tally.encrypted,
            self.tally.rounds % THOROUGH_EVERY == 0,
            kill,
            rng.randint(1, 6 if kill == "commit" else 120),
            delay,
        )

    def round(self) -> None:
        """Fork, kill, and derive what the next child may find."""
        tally, rng = self.tally, self._rng
        if tally.rounds % ROUNDS_A_FILE == 0:
            self._begin_file()
        for world in self._worlds:
            world.model.now = now(self._number - 1)
        orders, worlds = self._orders(), self._worlds
        reader = None
        child = Child(lambda say: _work(orders, worlds, say))
        if orders.kill == "opening":
            child.listen(orders.delay)
        else:
            judged = child.listen(GIVE_UP_SECONDS, b"j") and child.listen(GIVE_UP_SECONDS, b"\n")
            if judged and rng.random() < 0.06:
                reader = Child(lambda say: _read(orders, say))
                reader.listen(GIVE_UP_SECONDS, b"r")
            if judged:
                child.listen(orders.delay if orders.kill == "timer" else 2 * LONGEST_SECONDS)
        lines = child.kill()
        if reader is not None:
            reader.listen(0.005)
            self._hear_reader(reader)
        self._count(orders, lines)
        self._follow(lines)
        tally.rounds += 1

    def _hear_reader(self, reader: Child) -> None:
        try:
            lines = reader.kill()
        except FailureError as failure:
            if "EmbedderMismatchError" in str(failure) or "neither" in str(failure):
                return  # the model changed while it opened the file
            raise
        self.tally.read_beside += 1
        self.tally.reads += len(lines)

    def _count(self, orders: Orders, lines: list[str]) -> None:
        tally = self.tally
        judged = any(line.startswith("j") for line in lines)
        tally.judged += judged
        tally.checked += judged and orders.thorough
        if not judged:
            tally.killed_while_opening += 1
        elif orders.kill == "statement":
            tally.killed_before_a_statement += 1
        elif orders.kill == "commit":
            tally.killed_in_a_commit += 1
        tally.acknowledged += sum(line.startswith("a") for line in lines)

    def _follow(self, lines: list[str]) -> None:
        """Let the possible worlds be those that follow from what the child said."""
        chosen = [int(line[1:]) for line in lines if line.startswith("j")]
        if not chosen:
            return
        if len(self._worlds) > 1:
            self.tally.in_flight_kept += chosen[0]
        world = self._worlds[chosen[0]]
        done = sum(line.startswith("a") for line in lines)
        begun = [int(line[1:]) for line in lines if line.startswith("b")]
        self._worlds = [world]
        for position, number in enumerate(begun):
            world.model.now = now(number)
            if position >= done:
                world = world.copy()
                self._worlds.append(world)
                self.tally.in_flight += 1
            one = step(self.tally.seed, number, world)
            one.then(world)
            self.tally.steps[one.kind] = self.tally.steps.get(one.kind, 0) + 1
        self._number += len(begun)


def main(
    n_rounds: int,
    seed: int,
    folder: Path,
    *,
    encrypted: bool = False,
    seconds: float | None = None,
    keep: Path | None = None,
    said: Callable[[Tally], None] | None = None,
) -> Tally:
    """Run rounds until there were enough, the time is over, or something is wrong (`failures`)."""
    rounds = Rounds(seed, folder, encrypted)
    tally, started = rounds.tally, time.monotonic()
    while tally.rounds < n_rounds and (seconds is None or time.monotonic() - started < seconds):
        try:
            rounds.round()
        except AssertionError as error:
            tally.failures.append(f"seed {seed}, round {tally.rounds}: {error}")
            if keep is not None:
                kept = keep / f"both-{seed}-{tally.rounds}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                tally.failures.append(f"kept: {kept}")
            break
        finally:
            tally.seconds = round(time.monotonic() - started, 1)
        if said is not None and tally.rounds % 500 == 0:
            said(tally)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the files of a round that failed")
    parser.add_argument("--every", type=Path, help="a file for the figures so far, written every 500 rounds")
    arguments = parser.parse_args()

    def note(tally: Tally) -> None:
        """Write the figures so far."""
        if arguments.every is not None:
            arguments.every.write_text(json.dumps(asdict(tally)) + "\n")

    with tempfile.TemporaryDirectory() as temporary:
        result = main(
            arguments.rounds,
            arguments.seed,
            Path(temporary),
            encrypted=arguments.encrypted,
            seconds=arguments.seconds,
            keep=arguments.keep,
            said=note,
        )
    note(result)
    print(json.dumps(asdict(result)))
    sys.exit(1 if result.failures else 0)
