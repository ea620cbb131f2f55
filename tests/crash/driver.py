"""Repeatedly kill a writer at a random moment, reopen its file, and compare it with the acknowledged writes.

    python -m tests.crash.driver --rounds 10000 --seed 1 [--encrypted]

Every round forks a child that opens the index and works; it reports over a pipe which operation it begins and which was
acknowledged. SIGKILL comes at a random moment, in one round of ten while the file is being opened. Afterwards every
acknowledged write must be present, the one in flight completely or not at all, in the order of writing; and check()
must find rows, images and both retrievers equal, in every collection. With --encrypted all but one tenant get keys when
a file is a few rounds old, and the workload encrypts rows that were unencrypted before.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scrubjay import Index
from scrubjay.store.residency import housekeeping, residency
from tests.crash.patience import TimeOf
from tests.crash.workload import LIMIT_BYTES, State, expected, operation, ordered, run, stored
from tests.data.keys import provider

ROUNDS_A_FILE = 40
ROUNDS_IN_THE_CLEAR = 3  # before tenants get keys


@dataclass
class Tally:
    """Counts over all rounds."""

    rounds: int = 0
    acknowledged: int = 0
    in_flight_kept: int = 0
    in_flight_gone: int = 0
    killed_while_opening: int = 0
    encrypted: int = 0


def _open(path: Path, durability: str, keyed: bool) -> Index:
    return Index.open(
        path,
        durability=durability,
        memory_budget=LIMIT_BYTES,
        keys=provider if keyed else None,
        encryption="mixed",
    )


def _work(path: Path, seed: int, first: int, durability: str, keyed: bool, out: int) -> None:
    # Short pauses, so that the thread that writes images is killed at work, too.
    housekeeping._PAUSE_SECONDS = residency._REST_SECONDS = 0.002
    index = _open(path, durability, keyed)
    os.write(out, b"o\n")
    number = first
    while True:
        op = operation(seed, number)
        os.write(out, b"b%d\n" % number)
        if op.kind == "reopen":
            index.close()
            index = _open(path, durability, keyed)
        else:
            run(index, op)
        os.write(out, b"a%d\n" % number)
        number += 1


def _killed_child(
    path: Path, seed: int, first: int, durability: str, delay: float, *, while_opening: bool, keyed: bool
) -> list[str]:
    """Run the workload in a child, and kill it `delay` seconds after it began, or after it opened the file.

    Time in which the child waited for a processor does not count. Returns the lines of its report.
    """
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(incoming)
        try:
            _work(path, seed, first, durability, keyed, outgoing)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(outgoing, f"!{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os.close(outgoing)
    said = b""
    had, longest = TimeOf(child), delay if while_opening else 60
    opened = while_opening
    while (left := longest - had.seconds()) > 0:
        if select.select([incoming], [], [], left)[0]:
            part = os.read(incoming, 65536)
            if not part:
                break
            said += part
            if not opened:
                opened, had, longest = True, TimeOf(child), delay
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(incoming, 65536):
        said += part
    os.close(incoming)
    return said.decode().splitlines()


def _judge(path: Path, state: State, lines: list[str], seed: int, tally: Tally, keyed: bool) -> State:
    """Reopen the file and return its state, which must agree with the report of the child."""
    failures = [line for line in lines if line.startswith("!")]
    assert not failures, failures
    n_acknowledged = sum(line.startswith("a") for line in lines)
    numbers = [int(line[1:]) for line in lines if line.startswith("b")]
    for number in numbers[:n_acknowledged]:
        state = expected(state, operation(seed, number))
    candidates = [state]
    if len(numbers) > n_acknowledged:
        op = operation(seed, numbers[-1])
        if op.kind == "delete":  # one call per key: any prefix may be done
            candidates += [expected(state, op._replace(keys=op.keys[: n + 1])) for n in range(len(op.keys))]
        else:
            candidates.append(expected(state, op))
    elif "o" not in lines:
        tally.killed_while_opening += 1
    tally.acknowledged += n_acknowledged
    with _open(path, "normal", keyed) as index:
        tally.encrypted += bool(index.admin.encrypted_tenants())
        found = stored(index)
        matching = [i for i, candidate in enumerate(candidates) if ordered(candidate) == ordered(found)]
        assert matching, _difference(found, candidates)
        if len(candidates) > 1 and candidates[0] != candidates[-1]:
            if matching[0] == 0:
                tally.in_flight_gone += 1
            else:
                tally.in_flight_kept += 1
        n_memories = 0
        for one in [index, *(index.collection(name) for name in index.admin.collections())]:
            n_memories += len(one)
            report = one.admin.check()
            assert report.clean, report.problems
        assert n_memories == len(found)
    return found


def _difference(found: State, candidates: list[State]) -> str:
    wanted = candidates[-1]
    lost = [key for key in candidates[0] if key not in found]
    phantom = [key for key in found if all(key not in candidate for candidate in candidates)]
    changed = [key for key in wanted if key in found and wanted[key] != found[key]]
    return f"lost {lost}, phantom {phantom}, changed {changed}, or the order differs"


def main(
    n_rounds: int, seed: int, folder: Path, longest_ms: float = 60.0, *, encrypted: bool = False
) -> Tally:
    """Run rounds; raise AssertionError at the first disagreement."""
    rng = random.Random(seed)
    tally = Tally()
    path = folder / "crash.scrubjay"
    state: State = {}
    first = 0
    for number in range(n_rounds):
        if number % ROUNDS_A_FILE == 0:
            for old in folder.glob("crash.scrubjay*"):
                old.unlink()
            state = {}
        durability = rng.choice(["full", "normal"])
        delay = rng.random() * longest_ms / 1000 * rng.choice([0.2, 1.0, 3.0])
        while_opening = rng.random() < 0.1
        keyed = encrypted and number % ROUNDS_A_FILE >= ROUNDS_IN_THE_CLEAR
        lines = _killed_child(path, seed, first, durability, delay, while_opening=while_opening, keyed=keyed)
        state = _judge(path, state, lines, seed, tally, keyed)
        first += len(lines) + 1
        tally.rounds += 1
        if number % 500 == 499:
            print(tally, file=sys.stderr, flush=True)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encrypted", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        print(main(arguments.rounds, arguments.seed, Path(temporary), encrypted=arguments.encrypted))
