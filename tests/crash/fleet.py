"""Repeatedly kill services that share one database, and its server, and judge every read.

    python -m tests.crash.fleet --rounds 300 --seed 1 [--seconds N] [--keep FOLDER] [--every FILE]

Three processes work on one PostgreSQL database, each with an index and a memory of its own over it
(:mod:`tests.crash.fleet_service`). In each round some of them, or processes of the server, or both get SIGKILL at a
random moment. The survivors continue with their state in memory. Then all pause, a fresh process reads the rows, and
:mod:`tests.crash.fleet_history` compares the rows and every search of the round with the acknowledged calls. The first
disagreement ends the run with exit code 1. Exit code 77: PostgreSQL is not available.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrubjay.store.postgres import schema
from tests.crash.children import Child, FailureError
from tests.crash.fleet_history import Call, History, Key, Seen, Stamped
from tests.crash.fleet_rows import read_rows
from tests.crash.fleet_service import MAX_STALE, SCOPES, Orders, named, scope_of, serve
from tests.data.postgres import Cluster, as_superuser, new_cluster, new_url

N_SERVICES = 3
ROUNDS_A_DATABASE = 10
THOROUGH_EVERY = 3
LONGEST_SECONDS = 0.8  # of work before a kill, and after it
GIVE_UP_SECONDS = 120.0  # limit for an answer of a service, on a busy machine
_KILLS = {"service": 30, "opening": 5, "several": 15, "backend": 15, "server": 20, "both": 15}
_PASSED_OVER = 77


@dataclass
class Tally:
    """Counts over all rounds."""

    seed: int = 0
    rounds: int = 0
    databases: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    services_killed: int = 0
    acknowledged: int = 0
    unknown: int = 0
    unknown_seen: int = 0
    """How many of the unknown calls a reader saw later."""
    reads: dict[str, int] = field(default_factory=dict)
    """Judged reads, by level."""
    said_to_be_old: int = 0
    unavailable: int = 0
    checked: int = 0
    seconds: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


class Process:
    """A service, and the pipe of its commands."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        incoming, self._outgoing = os.pipe()
        self.child = Child(lambda say: serve(orders, incoming, say))
        os.close(incoming)

    def tell(self, word: str) -> None:
        """Send a command."""
        try:
            os.write(self._outgoing, f"{word}\n".encode())
        except BrokenPipeError:
            self.child.listen(1)
            raise FailureError(f"{self.orders.who} ended: {self.child.said()[-2000:]}") from None

    def has_done(self, word: str) -> None:
        """Wait until a command is acknowledged."""
        if not self.child.listen(GIVE_UP_SECONDS, f"{word}\n".encode()):
            raise FailureError(f"{self.orders.who} did not answer to {word!r}: {self.child.said()[-2000:]}")

    def kill(self) -> None:
        """Kill the service."""
        os.close(self._outgoing)
        self.child.kill()


class Fleet:
    """The rounds of one seed."""

    def __init__(self, seed: int, folder: Path, server: Cluster, user_homes: int) -> None:
        self.tally = Tally(seed)
        self._user_homes = user_homes  # in every second database
        self._folder = folder
        self._server = server
        self._rng = random.Random(f"fleet:{seed}")
        self._services: list[Process] = []
        self._n_started = 0
        self._before: dict[Key, str] = {}
        self._past: set[tuple[Key, str]] = set()
        self._superseded: set[str] = set()
        self._url = ""

    # ------------------------------------------------------------------ a round

    def round(self) -> None:
        """Let the services work, kill, and judge."""
        tally, rng = self.tally, self._rng
        if tally.rounds % ROUNDS_A_DATABASE == 0:
            self._begin_database()
        (kill,) = rng.choices(list(_KILLS), weights=list(_KILLS.values()))
        self._start_services(wait=kill != "opening")
        time.sleep(rng.random() * (0.1 if kill == "opening" else LONGEST_SECONDS))
        victim = rng.choice(self._services)
        if kill != "opening" and rng.random() < 0.7:
            self._wait_for_a_write(victim)
        killed = self._kill(kill, victim)
        time.sleep(rng.random() * LONGEST_SECONDS)
        for one in self._services:
            one.tell(f"rest:{tally.rounds}")
        for one in self._services:
            one.has_done(f"rest:{tally.rounds}")
        self._wait_for_the_dead(killed)
        time.sleep(MAX_STALE)
        for one in self._services:
            one.tell(f"look:{tally.rounds}")
        for one in self._services:
            one.has_done(f"look:{tally.rounds}")
        self._judge(touches_server=kill in ("backend", "server", "both"))
        tally.kills[kill] = tally.kills.get(kill, 0) + 1
        tally.services_killed += len(killed)
        tally.rounds += 1

    def _begin_database(self) -> None:
        """Create a fresh database, without fsync: SIGKILL loses nothing that was written to the kernel."""
        self.end()
        for old in self._folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        import psycopg

        self._url = new_url(self._server.url)
        with psycopg.connect(self._url, autocommit=True) as connection:
            n_homes = self._user_homes if self.tally.databases % 2 == 0 else 0
            schema.prepare(connection, read_only=False, place=self._url, user_homes=n_homes)
        self._before, self._past, self._superseded = {}, set(), set()
        self._ask("ALTER SYSTEM SET fsync = off")
        self._ask("SELECT pg_reload_conf()")
        self.tally.databases += 1

    def _start_services(self, *, wait: bool) -> None:
        there = {one.orders.slot for one in self._services}
        for slot in set(range(N_SERVICES)) - there:
            self._n_started += 1
            who = f"w{self._n_started}"
            url = f"{self._url}&application_name={who}"
            orders = Orders(url, who, slot, self._folder, self.tally.seed, os.getpid())
            self._services.append(Process(orders))
        for one in self._services:
            one.tell("work")
        if wait:
            last = time.monotonic() + GIVE_UP_SECONDS
            while not all(self._has_written(one) for one in self._services):
                for one in self._services:
                    one.child.listen(0.01)
                    one.tell("work")  # fails if the service ended
                if time.monotonic() > last:
                    raise FailureError("a service wrote nothing")

    def _has_written(self, one: Process) -> bool:
        return any(line[0] == "ack" for line in self._lines(one.orders.who))

    def _wait_for_a_write(self, one: Process) -> None:
        """Wait until a service is within a write, for a second at most; a kill then is more likely to matter."""
        path = self._folder / f"journal-{one.orders.who}"
        last = time.monotonic() + 1
        while time.monotonic() < last:
            if path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2].startswith(b'["begin"'):
                time.sleep(self._rng.random() * self._rng.choice([0.002, 0.01, 0.05]))
                return
            time.sleep(0.0005)

    def _kill(self, kill: str, victim: Process) -> list[str]:
        """Kill; return the names of the killed services, the victim first."""
        rng = self._rng
        n_services = {
            "service": 1,
            "opening": 1,
            "several": rng.randint(2, N_SERVICES),
            "both": rng.randint(1, 3),
        }
        others = [one for one in self._services if one is not victim]
        chosen = [victim, *rng.sample(others, n_services[kill] - 1)] if kill in n_services else []
        server_first = rng.random() < 0.5
        self._services = [one for one in self._services if one not in chosen]
        if kill == "backend":
            self._kill_backend()
        elif kill == "server" or (kill == "both" and server_first):
            self._server.kill()
        for one in chosen:
            one.kill()
        if kill == "both" and not server_first:
            self._server.kill()
        if kill in ("server", "both"):
            time.sleep(rng.random() * rng.choice([0.02, 0.5]))  # sometimes the services notice
            self._server.start()
        return [one.orders.who for one in chosen]

    def _kill_backend(self) -> None:
        """Kill the backend of one connection, so that the server ends all others and recovers."""
        found = self._ask("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'w%%' ORDER BY pid")
        if found:
            os.kill(self._rng.choice(found)[0], signal.SIGKILL)

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser as soon as the server accepts connections."""
        import psycopg

        last = time.monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                with psycopg.connect(as_superuser(self._url), autocommit=True) as connection:
                    done = connection.execute(statement, values)
                    return [] if done.description is None else done.fetchall()
            except psycopg.OperationalError:
                if time.monotonic() > last:
                    raise FailureError("the server does not come back") from None
                time.sleep(0.02)

    def _wait_for_the_dead(self, killed: list[str]) -> None:
        """Wait until the connections of killed services end: the server still carries out a COMMIT that was sent."""
        last = time.monotonic() + GIVE_UP_SECONDS
        while self._ask("SELECT 1 FROM pg_stat_activity WHERE application_name = ANY(%s)", killed):
            if time.monotonic() > last:
                raise FailureError(f"the server still has connections of {killed}")
            time.sleep(0.02)

    def end(self) -> None:
        """Kill the services."""
        services, self._services = self._services, []
        for one in services:
            one.kill()

    # ------------------------------------------------------------------ judging

    def _lines(self, who: str) -> list[list[Any]]:
        path = self._folder / f"journal-{who}"
        if not path.exists():
            return []
        whole = path.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def _judge(self, *, touches_server: bool) -> None:
        tally = self.tally
        calls, readers = [], []
        for path in sorted(self._folder.glob("journal-*")):
            who = path.name.partition("-")[2]
            lines = self._lines(who)
            calls += _calls(who, lines)
            readers += list(_readers(who, lines))
            self._count(who, lines, touches_server)
        rows = self._rows(calls)
        readers.append(rows)
        history = History(self._before, calls, self._past)
        tally.unknown += sum(call.ack is None for call in calls)
        tally.unknown_seen += history.sight(readers)
        wrong = [told for seen in readers for told in history.disagreements(seen)]
        if wrong:
            raise FailureError(f"{len(wrong)} disagreements: {' | '.join(wrong[:10])}")
        for call in calls:
            tally.calls[call.kind] = tally.calls.get(call.kind, 0) + 1
        for seen in readers:
            tally.reads[seen.level] = tally.reads.get(seen.level, 0) + 1
            tally.said_to_be_old += seen.others_since is None
        self._before = dict(rows.values)
        self._past |= history.written()
        for path in self._folder.glob("journal-*"):
            os.truncate(path, 0)

    def _count(self, who: str, lines: list[list[Any]], touches_server: bool) -> None:
        """Count the outcomes of calls, and fail on an error that is not allowed."""
        for line in lines:
            if line[0] in ("failed", "unread"):
                said = str(line[-1])
                self.tally.unavailable += 1
                if not touches_server or (
                    line[0] == "failed" and not said.startswith("StoreUnavailableError")
                ):
                    raise FailureError(f"{who}: {line}")
            elif line[0] == "ack":
                self.tally.acknowledged += 1
                for id in line[3]:  # the superseded facts
                    if id in self._superseded:
                        raise FailureError(f"{who}: fact {id} was superseded twice")
                    self._superseded.add(id)

    def _rows(self, calls: list[Call]) -> Seen:
        """Read the rows in a fresh process."""
        thorough = self.tally.rounds % THOROUGH_EVERY == 0
        self.tally.checked += thorough
        path = self._folder / "rows"
        erased = _erased(calls, self._before) if thorough else []
        begin = time.monotonic()
        child = Child(lambda say: read_rows(self._url, path, thorough, erased, say))
        if not child.listen(GIVE_UP_SECONDS, b"read\n"):
            child.kill()
            raise FailureError("the rows were not read in time")
        child.kill()
        values, problems = json.loads(path.read_text())
        if problems:
            raise FailureError(f"rows: {' | '.join(problems)}")
        places = frozenset((part, named(scope)) for scope in SCOPES for part in _PARTS)
        found = {Key(*line[:3]): line[3] for line in values}
        return Seen("the rows", "rows", begin, time.monotonic(), places, found, begin, is_one_moment=True)


_PARTS = ("document", "fact", "slot", "record")


def _calls(who: str, lines: list[list[Any]]) -> list[Call]:
    """Return the calls of a journal, acknowledged or not."""
    calls: dict[int, Call] = {}
    for what, number, *rest in lines:
        if what == "begin":
            begin, kind, writes, wipes = rest
            written = {Key(*line[:3]): line[3] for line in writes}
            calls[number] = Call(who, number, kind, begin, None, written, frozenset(map(tuple, wipes)))
        elif what == "ack" and number in calls:
            calls[number].ack = rest[0]
    return list(calls.values())


def _readers(who: str, lines: list[list[Any]]) -> Iterator[Seen]:
    """Yield the results of the reads in a journal, with the guarantees of their level."""
    for what, *rest in lines:
        if what != "read":
            continue
        begin, end, level, scope, values, is_stale, freshness, stamp = rest
        since: float | None = begin if level == "strict" else begin - MAX_STALE
        if is_stale:
            since = None
        elif freshness is not None:
            since = max(since or 0.0, begin - freshness)  # the freshness of the answer is a guarantee, too
        parts = ("fact", "slot") if level == "recall" else ("document",)
        places = frozenset((part, named(one)) for one in scope_of(scope).visible() for part in parts)
        found = {Key(*line[:3]): line[3] for line in values}
        yield Seen(who, level, begin, end, places, found, since, None if stamp is None else Stamped(*stamp))


def _erased(calls: list[Call], before: dict[Key, str]) -> list[str]:
    """Return values that an acknowledged erasure deleted, and that cannot have been written again."""
    gone = []
    written = [(Call("", 0, "", 0, 0, dict(before))), *calls]
    for erasure in calls:
        for call in written if erasure.ack is not None and erasure.wipes else ():
            if call.is_over_before(erasure):
                gone += [
                    key.name if key.part in ("fact", "record") else value
                    for key, value in call.writes.items()
                    if value is not None and (key.part, key.scope) in erasure.wipes
                ]
    return sorted(set(gone))[:40]


# ---------------------------------------------------------------------- the command


def main(
    n_rounds: int,
    seed: int,
    folder: Path,
    server: Cluster,
    *,
    seconds: float | None = None,
    keep: Path | None = None,
    said: Callable[[Tally], None] | None = None,
    user_homes: int = 3,
) -> Tally:
    """Run rounds until their number is reached, the time is over, or there is a failure (`failures`).

    Every second database, starting with the first, keeps the users of a tenant in `user_homes` homes.
    """
    fleet = Fleet(seed, folder, server, user_homes)
    tally, started = fleet.tally, time.monotonic()
    try:
        while tally.rounds < n_rounds and (seconds is None or time.monotonic() - started < seconds):
            with _failing_into(tally, folder, keep):
                fleet.round()
            tally.seconds = round(time.monotonic() - started, 1)
            if tally.failures:
                break
            if said is not None and tally.rounds % 10 == 0:
                said(tally)
    finally:
        with _failing_into(tally, folder, None):
            fleet.end()
    return tally


@contextmanager
def _failing_into(tally: Tally, folder: Path, keep: Path | None) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        tally.failures.append(f"seed {tally.seed}, round {tally.rounds}: {error}")
        if keep is not None:
            kept = keep / f"fleet-{tally.seed}-{tally.rounds}"
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            tally.failures.append(f"kept: {kept}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep", type=Path, help="a folder for the journals of a round that failed")
    parser.add_argument("--every", type=Path, help="a file for the figures so far, written every 10 rounds")
    parser.add_argument(
        "--user-homes", type=int, default=3, help="of every second database: homes of a tenant's users"
    )
    arguments = parser.parse_args()
    made = new_cluster()
    if isinstance(made, str):
        print(f"passed over: {made}")
        sys.exit(_PASSED_OVER)

    def note(tally: Tally) -> None:
        """Write the figures so far."""
        if arguments.every is not None:
            arguments.every.write_text(json.dumps(asdict(tally)) + "\n")

    with tempfile.TemporaryDirectory() as temporary:
        result = main(
            arguments.rounds,
            arguments.seed,
            Path(temporary),
            made,
            seconds=arguments.seconds,
            keep=arguments.keep,
            said=note,
            user_homes=arguments.user_homes,
        )
    note(result)
    print(json.dumps(asdict(result)))
    sys.exit(1 if result.failures else 0)
