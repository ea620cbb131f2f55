"""Repeatedly kill a process that writes to an index and a memory in one file, and judge the state that the next finds.

    python -m tests.crash.both --rounds 30000 --seed 1 [--encrypted] [--seconds N] [--keep FOLDER]

The process that imports the package opens no file: it forks a child per round. The child reopens the file, compares it
with the possible states (after the last acknowledged step, or after the one in flight), reports which of them it found,
and continues to work until SIGKILL comes: while it opens the file, at a random moment, before a random statement,
inside a COMMIT, or before, within or after the zeroing of a page by a compaction. In some rounds another process reads
meanwhile, or compacts the file until it is killed, before the writer or after it. With --encrypted all but one tenant
get keys when a file is a few rounds old. A disagreement ends the run with exit code 1; --keep stores the file, and the
pickled worlds that were possible when the round began.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path

from tests.crash.both_child import Orders, compact, read, work
from tests.crash.both_workload import Step, World, now, step
from tests.crash.children import Child, FailureError

ROUNDS_A_FILE = 30
ROUNDS_IN_THE_CLEAR = 6  # of a file, before tenants get keys
THOROUGH_EVERY = 5
LONGEST_SECONDS = 0.1  # of work of a child
_TIMES = {"statement": 2, "commit": 2, "zeroing": 10}  # factor of that for a child that kills itself
GIVE_UP_SECONDS = 120.0  # limit for opening and judging, on a busy machine


@dataclass
class Tally:
    """Counts over all rounds."""

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
    killed_while_zeroing: int = 0
    judged: int = 0
    checked: int = 0
    read_beside: int = 0
    reads: int = 0
    compacted_beside: int = 0
    compactions: int = 0
    rows_written_again: int = 0
    pages_zeroed: int = 0
    seconds: float = 0.0
    steps: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


class Rounds:
    """The rounds of one seed."""

    def __init__(self, seed: int, folder: Path, encrypted: bool) -> None:
        self.path = folder / "both.scrubjay"
        self.tally = Tally(seed, encrypted)
        self._rng = random.Random(seed)
        self.worlds = [World()]
        self._number = 0

    def _begin_file(self) -> None:
        for old in self.path.parent.glob(self.path.name + "*"):
            old.unlink()
        self.worlds = [World()]
        self.tally.files += 1

    def _orders(self) -> Orders:
        rng = self._rng
        kinds = ["timer", "opening", "statement", "commit", "zeroing"]
        kill = rng.choices(kinds, weights=[40, 8, 17, 23, 12])[0]
        longest = LONGEST_SECONDS * rng.choice([0.1, 0.3, 1.0])
        delay = rng.random() * (0.002 * rng.random() if kill == "commit" else longest)
        return Orders(
            self.path,
            self.tally.seed,
            self._number,
            rng.choice(["full", "normal", "normal"]),
            self.tally.encrypted and self.tally.rounds % ROUNDS_A_FILE >= ROUNDS_IN_THE_CLEAR,
            self.tally.rounds % THOROUGH_EVERY == 0,
            kill == "zeroing" or rng.random() < 0.15,
            kill,
            rng.randint(1, 6 if kill == "commit" else 120),
            delay,
        )

    def round(self) -> None:
        """Fork a child, kill it, and derive the worlds that the next child may find."""
        tally, rng = self.tally, self._rng
        if tally.rounds % ROUNDS_A_FILE == 0:
            self._begin_file()
        for world in self.worlds:
            world.model.now = now(self._number - 1)
        orders, worlds = self._orders(), self.worlds
        beside: list[Child] = []
        child = Child(lambda say: work(orders, worlds, say))
        if orders.kill == "opening":
            child.listen(orders.delay)
        else:
            judged = child.listen(GIVE_UP_SECONDS, b"j") and child.listen(GIVE_UP_SECONDS, b"\n")
            if judged and rng.random() < 0.06:
                beside.append(Child(lambda say: read(orders, say)))
                beside[-1].listen(GIVE_UP_SECONDS, b"r")
            if judged and rng.random() < 0.15:
                beside.append(self._compactor(orders))
            if judged:
                child.listen(
                    orders.delay if orders.kill == "timer" else LONGEST_SECONDS * _TIMES[orders.kill]
                )
        lines = child.kill()
        for other in beside:
            other.listen(0.005)
            self._hear(other)
        self._count(orders, lines)
        self._follow(lines)
        tally.rounds += 1

    def _compactor(self, orders: Orders) -> Child:
        """Start a process that compacts the file; half of them are killed before the writer is."""
        rng = self._rng
        kill = rng.choice(["timer", "zeroing"])
        its = replace(orders, number=rng.randrange(1 << 30), kill=kill, after=rng.randint(1, 30))
        child = Child(lambda say: compact(its, say))
        child.listen(GIVE_UP_SECONDS, b"o")
        if rng.random() < 0.5:
            child.listen(rng.random() * LONGEST_SECONDS)
        return child

    def _hear(self, other: Child) -> None:
        """Kill a process beside the writer, and count its work."""
        try:
            lines = other.kill()
        except FailureError as failure:
            if "EmbedderMismatchError" in str(failure) or "neither" in str(failure):
                return  # the embedding model changed while it opened the file
            raise
        self._count_compactions(lines)
        self.tally.read_beside += "r" in lines
        self.tally.reads += lines.count("r")
        self.tally.compacted_beside += "o" in lines

    def _count_compactions(self, lines: list[str]) -> None:
        tally = self.tally
        tally.compactions += lines.count("c")
        tally.rows_written_again += lines.count("w")
        tally.pages_zeroed += lines.count("z")
        tally.killed_while_zeroing += "k" in lines

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
        self._count_compactions(lines)

    def _follow(self, lines: list[str]) -> None:
        """Derive the possible worlds from the report of the child."""
        chosen = [int(line[1:]) for line in lines if line.startswith("j")]
        if not chosen:
            return
        if len(self.worlds) > 1:
            self.tally.in_flight_kept += chosen[0] > 0
        world = self.worlds[chosen[0]]
        done = sum(line.startswith("a") for line in lines)
        begun = [int(line[1:]) for line in lines if line.startswith("b")]
        self.worlds = [world]
        for position, number in enumerate(begun):
            world.model.now = now(number)
            one = step(self.tally.seed, number, world)
            if position < done:
                one.then(world)
            else:
                self.tally.in_flight += 1
                said = {int(line.partition(".")[2]) for line in lines if line.startswith(f"p{number}.")}
                self.worlds = _states(world, one, said)
            self.tally.steps[one.kind] = self.tally.steps.get(one.kind, 0) + 1
        self._number += len(begun)


def _states(world: World, one: Step, said: set[int]) -> list[World]:
    """Return the possible worlds after an interrupted step: before it and after it; if it has parts, with the
    acknowledged parts and any of the others."""
    if not one.parts:
        after = world.copy()
        one.then(after)
        return [world, after]
    for place in said:
        one.parts[place].then(world)
    others = [part for place, part in enumerate(one.parts) if place not in said]
    worlds = []
    for n in range(len(others) + 1):
        for some in combinations(others, n):
            worlds.append(world.copy())
            for part in some:
                part.then(worlds[-1])
    return worlds


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
    """Run rounds until their number is reached, the time is over, or there is a failure (`failures`)."""
    rounds = Rounds(seed, folder, encrypted)
    tally, started = rounds.tally, time.monotonic()
    while tally.rounds < n_rounds and (seconds is None or time.monotonic() - started < seconds):
        try:
            rounds.round()
        except AssertionError as error:
            tally.failures.append(f"seed {seed}, round {tally.rounds}: {error}")
            if keep is not None:
                (folder / "worlds-before").write_bytes(pickle.dumps(rounds.worlds))
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
