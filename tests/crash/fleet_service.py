"""A service of a fleet: one process with an index and a memory over the shared database, and a journal file in which it
records the calls that it begins, their acknowledgements, and the results of reads. SIGKILL loses nothing of that file.

Each line is a JSON list that begins with "begin", "ack", "failed" or "read". Between calls the service obeys the
driver: "work", "rest", or "look", which is one search of every scope.
"""

from __future__ import annotations

import json
import os
import random
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import Index, Objects, Query, Scope, Stamp, StoreError, StoreUnavailableError
from scrubjay.memory import DefaultJudge, FactCandidate, Memory
from scrubjay.store.residency import housekeeping, residency
from tests.crash.fleet_history import UNREAD, Key

__all__ = [
    "MAX_STALE",
    "SCOPES",
    "USERS",
    "Orders",
    "named",
    "open_memory",
    "scope_of",
    "seen_values",
    "serve",
]

MAX_STALE = 0.3
N_IDS = 10
DIM = 8
ALL = 10_000  # more than the number of documents
SCOPES = [
    Scope("acme"),
    Scope("acme", user="jane"),
    Scope("acme", user="joe"),
    Scope("acme", agent="coder"),
    Scope("acme", user="jane", agent="coder"),
    Scope("globex"),
    Scope("globex", user="jane"),
]
USERS = [scope for scope in SCOPES if scope.user is not None and scope.agent is None]
_PAUSE_SECONDS = 0.02  # after the server failed to answer
_BUDGET_BYTES = 12_000  # so that partitions are evicted and loaded: one takes 2,500
_LIVES = "Jane lives in oak "
_NOTE = "The oak note "


@dataclass(frozen=True)
class Orders:
    """The settings of a service."""

    url: str
    who: str  # unique in a run
    slot: int
    folder: Path
    seed: int
    driver: int  # the parent process; the service ends with it


def named(scope: Scope) -> str:
    """Return a scope as text."""
    return f"{scope.tenant}.{scope.user or ''}.{scope.agent or ''}"


def scope_of(name: str) -> Scope:
    """Return the scope of a text that `named` returned."""
    tenant, user, agent = name.split(".")
    return Scope(tenant, user=user or None, agent=agent or None)


def objects_in(folder: Path) -> Objects:
    """Storage of nearly every image, with a cache that all processes share."""
    return Objects(
        (folder / "objects").as_uri(), cache=folder / "cache", cache_bytes=100_000, least_bytes=200
    )


def open_memory(url: str, max_stale: float, folder: Path) -> Memory:
    """Open the memory and its index, with the options of every process."""
    return Memory.open(
        url,
        judge=DefaultJudge(single=["lives in"]),
        max_stale=max_stale,
        memory_budget=_BUDGET_BYTES,
        busy_timeout=20,
        objects=objects_in(folder),
    )


# ---------------------------------------------------------------------- what is found


def seen_values(
    index: Index, memory: Memory, scope: Scope, part: str, **options: Any
) -> tuple[dict[Key, str], Any]:
    """Search everything that a scope sees of the documents or of the facts; return the values, and the hits."""
    values: dict[Key, str] = {}
    if part == "document":
        hits = index.search("oak", scope=scope, k=ALL, **options)
        for hit in hits:
            text = hit.text
            _add(values, Key("document", named(hit.scope), str(hit.id)), text.split()[-1] if text else UNREAD)
        return values, hits
    found = memory.recall("oak", scope, k=ALL, kinds=("fact",), query=Query(mode="lexical"))
    for one in found:
        _add(values, *fact_of(named(one.hit.scope), one.text))
    return values, found


def fact_of(scope: str, text: str) -> tuple[Key, str]:
    """Return the key and the value that the text of a fact represents."""
    if text.startswith(_LIVES):
        return Key("slot", scope, ""), text.split()[-1]
    return Key("fact", scope, text.split()[-1]), "there"


def _add(values: dict[Key, str], key: Key, value: str) -> None:
    values[key] = f"{values[key]} and {value}" if key in values else value


# ---------------------------------------------------------------------- the process


class Service:
    """A worker that runs until it is killed."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._rng = random.Random(f"fleet:{orders.seed}:{orders.who}")
        self._journal = os.open(
            orders.folder / f"journal-{orders.who}", os.O_WRONLY | os.O_APPEND | os.O_CREAT
        )
        self._number = 0
        self._memory = open_memory(orders.url, MAX_STALE, orders.folder)
        self._index = self._memory.index
        objects = objects_in(orders.folder)
        self._strict = Index.open(orders.url, max_stale=0, memory_budget=_BUDGET_BYTES, objects=objects)

    def _note(self, *line: Any) -> None:
        os.write(self._journal, json.dumps(line).encode() + b"\n")  # one write is atomic

    def step(self) -> None:
        """Write or read once."""
        if self._rng.random() < 0.4:
            self._write()
        else:
            self._read(
                self._rng.choice(SCOPES), self._rng.choice(["bounded", "bounded", "session", "strict"])
            )
            if self._rng.random() < 0.3:
                self._read(self._rng.choice(USERS), "recall")

    def look(self) -> None:
        """Search every scope once."""
        for scope in SCOPES:
            self._read(scope, "bounded")
            if scope in USERS:
                self._read(scope, "recall")

    # ------------------------------------------------------------------ writing

    def _write(self) -> None:
        kinds: dict[Callable[[], tuple[Any, ...]], int] = {
            self._upsert: 45,
            self._delete: 15,
            self._erase: 3,
            self._propose: 20,
            self._propose_several: 12,
            self._forget: 2,
        }
        (make,) = self._rng.choices(list(kinds), weights=list(kinds.values()))
        self._number += 1
        kind, writes, wipes, do, scope = make()
        begin = time.monotonic()
        self._note(
            "begin",
            self._number,
            begin,
            kind,
            [[*key, value] for key, value in writes.items()],
            sorted(wipes),
        )
        try:
            said = do()
        except StoreError as error:
            self._note("failed", self._number, time.monotonic(), f"{type(error).__name__}: {error}")
            time.sleep(_PAUSE_SECONDS)
            return
        self._note("ack", self._number, time.monotonic(), said if kind == "propose" else [])
        if scope is not None and self._rng.random() < 0.5:
            self._leave_stamp(scope, begin)

    def _value(self, position: int = 0) -> str:
        return f"{self._orders.who}x{self._number}y{position}z"

    def _leave_stamp(self, scope: Scope, begin: float) -> None:
        at = time.monotonic()
        left = [self._orders.who, named(scope), begin, at, str(self._index.admin.stamp(scope))]
        path = self._orders.folder / f"stamp-{self._orders.slot}"
        path.with_suffix(".new").write_text(json.dumps(left))
        path.with_suffix(".new").replace(path)

    def _upsert(self) -> tuple[Any, ...]:
        """Upsert documents of one scope, or of several, also of other tenants, in one transaction."""
        rng = self._rng
        scopes = rng.sample(SCOPES, rng.choice([1, 1, 2, 3]))
        rows, writes = [], {}
        for position, (scope, id) in enumerate(
            rng.sample([(scope, id) for scope in scopes for id in range(N_IDS)], rng.randint(1, 8))
        ):
            text = f"{' '.join(rng.choices(['jay', 'acorn', 'winter'], k=3))} oak {self._value(position)}"
            vector = [float(rng.randint(-8, 8) or 1) for _ in range(DIM)]
            rows.append({"id": str(id), "scope": scope, "text": text, "vector": vector})
            writes[Key("document", named(scope), str(id))] = self._value(position)
        return "upsert", writes, (), lambda: self._index.upsert_many(rows), rows[0]["scope"]

    def _delete(self) -> tuple[Any, ...]:
        scope = self._rng.choice(SCOPES)
        ids = [str(id) for id in self._rng.sample(range(N_IDS), self._rng.randint(1, 4))]
        writes = {Key("document", named(scope), id): None for id in ids}
        return "delete", writes, (), lambda: self._index.delete_many(ids, scope=scope), scope

    def _erase(self) -> tuple[Any, ...]:
        scope = self._rng.choice(SCOPES[1:])
        wipes = [("document", named(one)) for one in SCOPES if scope.contains(one)]
        return "erase", {}, wipes, lambda: self._index.erase(scope), scope

    def _propose(self) -> tuple[Any, ...]:
        """Propose another place where Jane lives, which supersedes the previous one."""
        scope, value = self._rng.choice(USERS), self._value()
        fact = FactCandidate(f"{_LIVES}{value}", "Jane", "lives in")
        writes = {Key("slot", named(scope), ""): value, Key("record", named(scope), value): "there"}

        def do() -> list[Any]:
            said = self._memory.propose(fact, scope=scope, source=self._orders.who)
            return [said.superseded] if said.superseded else []

        return "propose", writes, (), do, None

    def _propose_several(self) -> tuple[Any, ...]:
        writes: dict[Key, str | None] = {}
        proposals = []
        for position in range(self._rng.randint(2, 4)):
            scope, value = self._rng.choice(USERS), self._value(position)
            writes[Key("fact", named(scope), value)] = "there"
            proposals.append((FactCandidate(f"{_NOTE}{value}"), scope, self._orders.who))

        return "propose several", writes, (), lambda: self._memory.propose_all(proposals), None

    def _forget(self) -> tuple[Any, ...]:
        scope = self._rng.choice(USERS)
        parts = ("document", "fact", "slot", "record")
        wipes = [(part, named(one)) for one in SCOPES if scope.contains(one) for part in parts]

        def do() -> None:
            self._memory.forget(scope)

        return "forget", {}, wipes, do, scope

    # ------------------------------------------------------------------ reading

    def _stamp(self) -> tuple[list[Any], Stamp, Scope] | None:
        """Return what another service left, and a scope that sees it."""
        paths = [
            path
            for path in self._orders.folder.glob("stamp-[0-9]")
            if path.name[-1] != str(self._orders.slot)
        ]
        if not paths:
            return None
        left = json.loads(self._rng.choice(paths).read_text())
        scope = scope_of(left[1])
        return (
            left[:4],
            Stamp.read(left[4]),
            self._rng.choice([one for one in SCOPES if scope in one.visible()]),
        )

    def _read(self, scope: Scope, level: str) -> None:
        given = self._stamp() if level == "session" else None
        options: dict[str, Any] = {}
        if given is not None:
            options["after"], scope = given[1:]
        elif level == "session":
            level = "bounded"
        if self._rng.random() < 0.5:
            options["query"] = Query(mode="lexical")
        else:
            options |= {"vector": np.ones(DIM), "query": Query(mode="vector")}
        index = self._strict if level == "strict" else self._index
        begin = time.monotonic()
        try:
            if level == "recall":
                values, found = seen_values(index, self._memory, scope, "fact")
            else:
                values, found = seen_values(index, self._memory, scope, "document", **options)
        except StoreUnavailableError as error:
            self._note("unread", begin, time.monotonic(), level, str(error))
            time.sleep(_PAUSE_SECONDS)
            return
        end = time.monotonic()
        failed = [reason for reason in found.degraded if "_failed: " in reason]  # a retriever says so instead
        if failed:
            self._note("unread", begin, end, level, failed[0])
            return
        is_stale = any(reason.startswith("stale: ") for reason in found.degraded)
        freshness = getattr(found, "freshness", None)
        lines = [[*key, value] for key, value in values.items()]
        self._note(
            "read",
            begin,
            end,
            level,
            named(scope),
            lines,
            is_stale,
            freshness,
            None if given is None else given[0],
        )


def serve(orders: Orders, commands: int, say: Callable[[str], None]) -> None:
    """Obey the commands of the driver, and acknowledge each when it is done. A command may have a number: "rest:7"."""
    # Short pauses, so that the thread that writes images is killed at work, too.
    housekeeping._PAUSE_SECONDS = residency._REST_SECONDS = 0.02
    service = Service(orders)
    for word in _words(commands, orders.driver):
        if word == "work":
            service.step()
            continue
        if word.startswith("look"):
            service.look()
        say(word)


def _words(commands: int, driver: int) -> Iterator[str]:
    """Yield the next command; "work" repeats until there is another one."""
    waiting, works = "", False
    while os.getppid() == driver:
        if not select.select([commands], [], [], 0 if works else 1)[0]:
            if works:
                yield "work"
            continue
        *words, waiting = (waiting + os.read(commands, 4096).decode()).split("\n")
        for word in words:
            works = word == "work"
            if not works:
                yield word
