"""Soak test: mixed writes and searches from several threads, for a given time, must stay correct and stable.

    python -m tests.soak.soak [--seconds S] [--threads N] [--seed N] [--no-model]

Each thread owns a tenant and writes only there, so that it can keep a model of its own scopes and compare every search
with it bit for bit, while the other threads write to theirs; searches of other tenants are checked for the guarantees
that every reader has. All tenants have the same ids, and an id is in several scopes of a tenant at once.

Runs against a sanitizer build unchanged: preload its runtime (LD_PRELOAD="$(gcc -print-file-name=libasan.so)
$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0) and give --no-model, because the model's time
would exceed the engine's by far.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from tests.data.engines import Kit, engine_kit
from tests.data.strategies import IDENTIFIERS, WORDS, exact_vector
from tests.reference import judge
from tests.reference.model import ModelEngine
from tests.reference.query import Asked
from tests.reference.scopes import key, most_specific_first

DIM = 16
MAX_DOCUMENTS = 400
"""The approximate number of documents per thread; deletes and updates find some, and memory use stays constant."""


class Resident:
    """One thread's tenant: random writes and searches, compared with a model of the tenant alone."""

    def __init__(self, kit: Kit, engine: Any, number: int, seed: int, *, with_model: bool) -> None:
        self.kit, self.engine, self.number = kit, engine, number
        self.tenant = f"tenant{number}"
        self.random = random.Random(seed * 1000 + number)
        self.model = ModelEngine(DIM, "ip") if with_model else None
        self.scopes = [
            kit.Scope(self.tenant), kit.Scope(self.tenant, "jane"), kit.Scope(self.tenant, None, "coder"),
            kit.Scope(self.tenant, "jane", "coder"),
        ]  # fmt: skip
        self.live: set[tuple[str, Any]] = set()
        """Ids and scopes of the existing documents."""
        self.calls: Counter[str] = Counter()

    def step(self) -> None:
        names = [
            "upsert",
            "upsert_many",
            "update",
            "delete",
            "delete_many",
            "search",
            "batch",
            "get",
            "search_ids",
            "look_around",
        ]
        weights = [20, 3, 10, 10, 2, 45, 3, 10, 3, 5]
        if self.random.random() < 0.002:
            names, weights = ["erase", "compact"], [1, 2]
        [name] = self.random.choices(names, weights)
        self.calls[name] += 1
        getattr(self, name)()

    def both(self, name: str, *arguments: Any, **options: Any) -> None:
        given = getattr(self.engine, name)(*arguments, **options)
        if self.model is not None:
            expected = getattr(self.model, name)(*arguments, **options)
            assert given == expected, f"{name}{arguments}: expected {expected}, got {given}"

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS + IDENTIFIERS, k=self.random.randint(0, 30)))

    def vector(self) -> Any:
        """Return a vector that is exact in every stored type, so that results can be compared bit for bit."""
        signs = self.random.choices([-1, 1], k=DIM)
        return np.roll(exact_vector(signs, self.random.choice([1, 4, 16]), 1.0), self.random.randrange(DIM))

    def drawn_key(self) -> tuple[str, Any]:
        """Return an id and a scope of the tenant; such a document may exist."""
        return f"m{self.random.randrange(MAX_DOCUMENTS // 4)}", self.random.choice(self.scopes)

    def upsert(self) -> None:
        id, scope = self.drawn_key()
        vector = self.vector() if self.random.random() < 0.8 else None
        self.both("upsert", id, self.text(), scope=scope, vector=vector, payload=payload_of(id, scope))
        self.live.add((id, scope))

    def update(self) -> None:
        if self.live:
            id, scope = self.random.choice(list(self.live))
            self.both(
                "upsert", id, self.text(), scope=scope, vector=self.vector(), payload=payload_of(id, scope)
            )

    def upsert_many(self) -> None:
        keys = [self.drawn_key() for _ in range(self.random.randint(1, 60))]
        self.both(
            "upsert_many", [id for id, _ in keys], [self.text() for _ in keys], scope=[scope for _, scope in keys],
            vectors=np.stack([self.vector() for _ in keys]), payloads=[payload_of(*key) for key in keys],
        )  # fmt: skip
        self.live.update(keys)

    def delete(self) -> None:
        id, scope = self.drawn_key()
        self.both("delete", id, scope=scope)
        self.live.discard((id, scope))

    def delete_many(self) -> None:
        keys = [self.drawn_key() for _ in range(30)]
        self.both("delete_many", [id for id, _ in keys], scope=[scope for _, scope in keys])
        self.live.difference_update(keys)

    def erase(self) -> None:
        self.both("erase", self.scopes[0])
        self.live.clear()

    def compact(self) -> None:
        self.engine.compact()

    def get(self) -> None:
        id, scope = self.drawn_key()
        document = self.engine.get(id, scope=scope)
        seen = [self.kit.Scope(*home) for home in most_specific_first(scope)]
        home = next((home for home in seen if (id, home) in self.live), None)
        assert (None if document is None else document.scope) == home, (id, scope)
        if document is not None:
            assert document.payload == payload_of(id, home)

    def search_ids(self) -> None:
        """Search by ids, which name documents of all visible scopes, and by a ranking of ids and pairs."""
        keys, scope = [self.drawn_key() for _ in range(8)], self.random.choice(self.scopes)
        ids = [id for id, _ in keys]
        ranking: list[Any] = [*((home, id) for id, home in keys[:4]), *ids[4:]]
        n_seen = sum(
            (id, self.kit.Scope(*home)) in self.live for id in set(ids) for home in most_specific_first(scope)
        )
        assert self.engine.count(scope, ids=ids) == n_seen
        given = self.engine.search("jay", scope=scope, query=Asked(ids=ids, rankings=[ranking]), k=50)
        if self.model is not None:
            judge.same_result(
                given, self.model.search("jay", scope=scope, query=Asked(ids=ids, rankings=[ranking]), k=50)
            )

    def search(self) -> None:
        query = " ".join(self.random.choices(WORDS + IDENTIFIERS, k=self.random.randint(1, 8)))
        options: dict[str, Any] = {
            "scope": self.random.choice(self.scopes),
            "k": self.random.choice([1, 10, 50]),
            "query": Asked(mode=self.random.choice(["lexical", "vector", "hybrid"])),
            "vector": self.vector(),
            "explain": self.random.random() < 0.3,
        }
        given = self.engine.search(query, **options)
        for index, id in enumerate(given.ids):
            home = given.scope(index)
            assert home.tenant == self.tenant, (query, options, list(given.ids), given.mode)
            assert given.payload(index) == payload_of(id, home)
        if self.model is not None:
            judge.same_result(given, self.model.search(query, **options))

    def batch(self) -> None:
        queries = [" ".join(self.random.choices(WORDS, k=3)) for _ in range(5)]
        given = self.engine.search_batch(queries, scope=self.scopes[-1], threads=2)
        for query, result in zip(queries, given, strict=True):
            if self.model is not None:
                judge.same_result(result, self.model.search(query, scope=self.scopes[-1]))

    def look_around(self) -> None:
        """Search a tenant that another thread is writing."""
        tenant = f"tenant{self.number + 1}"
        result = self.engine.search(
            "jay oak", vector=self.vector(), scope=self.kit.Scope(tenant, "jane", "coder"), k=100
        )
        found = judge.keys(result)
        assert len(set(found)) == len(found)
        for index, (home, id) in enumerate(found):
            assert home[0] == tenant
            assert result.payload(index) == payload_of(id, result.scope(index))
        assert np.all(np.diff(result.scores) <= 0)


def payload_of(id: str, scope: Any) -> bytes:
    """Return the payload of a document, which repeats its id and scope."""
    return repr((id, key(scope))).encode()


def soak(kit: Kit, seconds: float, n_threads: int, seed: int, *, with_model: bool = True) -> Counter[str]:
    """Run for the given time; return the number of calls by name; raise the first failure of any thread."""
    engine = kit.Engine(DIM, "ip")
    residents = [Resident(kit, engine, number, seed, with_model=with_model) for number in range(n_threads)]
    stop, failures = threading.Event(), []

    def live(resident: Resident) -> None:
        try:
            while not stop.is_set():
                resident.step()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=live, args=(resident,)) for resident in residents]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum((resident.calls for resident in residents), Counter())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--no-model", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    calls = soak(
        engine_kit(), options.seconds, options.threads, options.seed, with_model=not options.no_model
    )
    print(f"{sum(calls.values()):,} calls without a fault: {dict(calls)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
