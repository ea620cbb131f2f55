"""A feed shared by the processes of a machine, compared with one feed each; prints one line for each figure.

    python -m benchmarks.shared_feed [--processes N] [--rounds N] [--writes N] [--json]

A server of Debian's packages is started in a temporary folder, on a socket. N processes open one database with a feed
each, N others another one with a shared feed; all stay open and are measured alternately. One process writes, and
another searches until it finds the acknowledged write, each pair in turn: with hints, and by polling alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from multiprocessing import get_context
from statistics import median
from typing import Any

import psycopg
from tests.data.postgres import as_superuser, new_cluster, new_url

from scrubjay import Index, Scope
from scrubjay.backend import Backend

JANE = Scope("acme", user="jane")
N_DOCUMENTS = 1000
SETTLE_SECONDS = 3.0  # until followers release the connections of their first polls
_GIVE_UP_SECONDS = 30


def serve(url: str, shared: bool, orders: Any) -> None:
    """Execute the orders of the benchmark, in a separate process."""
    with Index.open(url, shared_feed=shared) as index:
        feed: Any = Backend.of(index).engine.store._feed  # type: ignore[union-attr]
        add = feed.hints.add
        while (order := orders.recv()) is not None:
            kind, value = order
            answer: Any = None
            if kind == "write":
                index.upsert(value, f"a jay, {_word(value)}", scope=JANE)
                answer = time.monotonic()  # the same clock for all processes of a machine
            elif kind == "find":
                last = time.monotonic() + _GIVE_UP_SECONDS
                while all(hit.id != value for hit in index.search(_word(value), scope=JANE)):
                    time.sleep(0.0005)
                    if time.monotonic() > last:
                        raise RuntimeError(f"{value} was not found")
                answer = time.monotonic()
            elif kind == "search":
                times = []
                for _ in range(value):
                    started = time.perf_counter_ns()
                    index.search("oak", scope=JANE)
                    times.append((time.perf_counter_ns() - started) / 1e3)
                answer = median(times)
            elif kind == "hints":
                feed.hints.add = add if value else lambda hints: None
            elif kind == "count":
                answer = feed.n_polls, time.process_time()
            orders.send(answer)


def _word(number: int) -> str:
    """Return a word of letters."""
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


class Fleet:
    """Processes that have one database open in the same way."""

    def __init__(self, n: int, shared: bool, base: str) -> None:
        self._url = new_url(base)
        self._name = f"fleet-{os.getpid()}-{shared}"
        self._n_written = N_DOCUMENTS
        with Index.open(self._url) as index:
            index.upsert_many(
                [{"id": i, "text": f"an oak, number {i}", "scope": JANE} for i in range(N_DOCUMENTS)]
            )
        context, self._ends = get_context("spawn"), []
        for _ in range(n):
            end, theirs = context.Pipe()
            url = f"{self._url}&application_name={self._name}"
            context.Process(target=serve, args=(url, shared, theirs), daemon=True).start()
            self._ends.append(end)
        self.ask("search", 10)

    def ask(self, kind: str, value: Any = None) -> list[Any]:
        """Have all processes execute an order; return the answers."""
        for end in self._ends:
            end.send((kind, value))
        return [end.recv() for end in self._ends]

    def connections(self) -> int:
        """Return the number of the server's connections to these processes."""
        with psycopg.connect(as_superuser(self._url)) as connection:
            ((n,),) = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (self._name,)
            ).fetchall()
        return int(n)

    def visible(self, n: int, *, hints: bool) -> list[float]:
        """Return the milliseconds from the acknowledgement of a write by one process until another finds it."""
        self.ask("hints", hints)
        seen = []
        for _ in range(n):
            self._n_written += 1
            place, step = divmod(self._n_written, len(self._ends) - 1)
            writer, reader = (self._ends[i % len(self._ends)] for i in (place, place + 1 + step))
            reader.send(("find", self._n_written))
            writer.send(("write", self._n_written))
            acknowledged = writer.recv()
            seen.append(max(reader.recv() - acknowledged, 0) * 1e3)
        return seen

    def searched(self, n: int) -> float:
        """Return the median microseconds of a warm search in one process while the others are idle."""
        self._ends[-1].send(("search", n))
        return float(self._ends[-1].recv())

    def idle(self, seconds: float) -> tuple[float, float]:
        """Return the polls a second of all processes, and their total CPU milliseconds a second, while
        idle."""
        before, started = self.ask("count"), time.monotonic()
        time.sleep(seconds)
        after, took = self.ask("count"), time.monotonic() - started
        polls, worked = (sum(b[i] - a[i] for a, b in zip(before, after, strict=True)) for i in (0, 1))
        return polls / took, worked / took * 1e3

    def end(self) -> None:
        """Close all processes."""
        for end in self._ends:
            end.send(None)


def _percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def measure(n: int, rounds: int, writes: int, base: str) -> dict[str, tuple[float, float]]:
    """Return each figure of processes with a feed each, and of those that share one."""
    fleets = [Fleet(n, shared, base) for shared in (False, True)]
    time.sleep(SETTLE_SECONDS)
    figures: dict[str, list[list[float]]] = {}

    def note(name: str, place: int, values: list[float]) -> None:
        figures.setdefault(name, [[], []])[place].extend(values)

    for place, fleet in enumerate(fleets):
        note("connections, nobody has written", place, [fleet.connections()])
    for _ in range(rounds):
        for place, fleet in enumerate(fleets):
            polls, worked = fleet.idle(2.0)
            note("polls/s while idle", place, [polls])
            note("processor ms/s while idle, of the processes", place, [worked])
            note("visible, hints", place, fleet.visible(writes, hints=True))
            note("visible, polling", place, fleet.visible(writes, hints=False))
            fleet.ask("hints", True)
        for _ in range(10):
            for place, fleet in enumerate(fleets):
                note("warm search us", place, [fleet.searched(500)])
    for place, fleet in enumerate(fleets):
        note("connections, all have written", place, [fleet.connections()])
        fleet.end()
    found: dict[str, tuple[float, float]] = {}
    for name, sides in figures.items():
        if name.startswith("visible"):
            for share, label in ((0.5, "p50"), (0.99, "p99")):
                found[f"{name} {label} ms"] = (_percentile(sides[0], share), _percentile(sides[1], share))
        else:
            found[name] = (median(sides[0]), median(sides[1]))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writes", type=int, default=40, help="of a round, with hints and without")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    server = new_cluster()
    if isinstance(server, str):
        parser.exit(77, f"passed over: {server}\n")
    found = measure(arguments.processes, arguments.rounds, arguments.writes, server.url)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, (alone, shared) in found.items():
        print(f"{name:45} {alone:10.2f} alone {shared:10.2f} shared")


if __name__ == "__main__":
    main()
