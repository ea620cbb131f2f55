"""The short way of a warm search of a file: taken only if nothing has to be read, and with the same answer."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from scrubjay.base.errors import ClosedError

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
NEAR = np.asarray([1.0, 0.0], np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def opened(path: Path) -> Index:
    return Index.open(path, dim=2, durability="normal")


def put(index: Index, id: Any, *, scope: Scope = JANE, **more: Any) -> None:
    index.upsert(id, f"oak {id}", scope=scope, vector=NEAR, **more)


def ready(index: Index, scope: Any = JANE) -> list[Any] | None:
    """Return the ids that the short way finds; None: it was not taken."""
    engine: Any = Backend.of(index).engine
    result = engine.search_ready("oak", vector=NEAR, scope=scope, k=10, embedder=None)
    return None if result is None else result.ids.tolist()


def found(index: Index, scope: Any = JANE) -> list[Any]:
    ids: list[Any] = index.search("oak", scope=scope, vector=NEAR).ids.tolist()
    return ids


def test_it_finds_what_the_long_way_finds(path: Path) -> None:
    with opened(path) as index:
        for n in range(5):
            put(index, n, scope=(ACME, JANE, JOE)[n % 3])
        for scope in (ACME, JANE, JOE):
            long_way = index.search("oak", scope=scope, vector=NEAR, query=Query())
            short_way = index.search("oak", scope=scope, vector=NEAR)
            assert ready(index, scope) == long_way.ids.tolist() == short_way.ids.tolist()
            assert short_way.scores.tolist() == long_way.scores.tolist()


def test_a_partition_that_is_not_in_memory_is_loaded_by_the_long_way(path: Path) -> None:
    with opened(path) as index:
        put(index, 1)
    with opened(path) as index:
        assert ready(index) is None
        assert found(index) == [1] and ready(index) == [1]


def test_a_write_of_another_index_is_seen(path: Path) -> None:
    with opened(path) as index, opened(path) as other:
        put(index, 1)
        assert found(index) == [1] and ready(index) == [1]
        put(other, 2)
        assert ready(index) is None
        assert sorted(found(index)) == [1, 2] and sorted(ready(index) or ()) == [1, 2]
        other.delete(1, scope=JANE)
        assert ready(index) is None and found(index) == [2]


def test_expired_documents_are_not_found(path: Path) -> None:
    with opened(path) as index:
        put(index, 1)
        put(index, 2, expires_at=datetime.now(timezone.utc) + timedelta(hours=1))
        assert sorted(found(index)) == [1, 2] and ready(index) is not None
        engine: Any = Backend.of(index).engine
        late = engine.now() + 2 * 3600 * 10**6
        engine.use_clock(lambda: late)
        assert ready(index) is None
        assert found(index) == [1]


def test_several_scopes_and_closed_indexes_go_the_long_way(path: Path) -> None:
    with opened(path) as index:
        put(index, 1)
        put(index, 2, scope=JOE)
        assert sorted(found(index, [JANE, JOE])) == [1, 2]
        assert ready(index, [JANE, JOE]) is None and ready(index, "jane") is None
        with pytest.raises(TypeError, match="scope"):
            found(index, "jane")
        engine: Any = Backend.of(index).engine
    assert engine.search_ready("oak", vector=NEAR, scope=JANE, k=10, embedder=None) is None
    with pytest.raises(ClosedError):
        index.search("oak", scope=JANE, vector=NEAR)


class Leaving:
    """A native engine whose documents are evicted before its first search."""

    def __init__(self, residency: Any) -> None:
        self._residency, self._engine, self._stays = residency, residency.engine, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def search(self, *arguments: Any, **options: Any) -> Any:
        if not self._stays:
            self._stays = True
            for partition in self._residency.resident():
                with partition.lock:
                    self._residency.drop(partition)
        return self._engine.search(*arguments, **options)


def test_documents_that_leave_during_a_search_are_found(path: Path) -> None:
    with opened(path) as index:
        put(index, 1)
        assert found(index) == [1]
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        native = residency.engine
        residency.engine = Leaving(residency)
        assert ready(index) is None
        residency.engine = native
        assert found(index) == [1]
        residency.engine = Leaving(residency)
        assert found(index) == [1]
        residency.engine = native


def test_a_warm_search_of_a_file_makes_three_more_calls_in_python(path: Path) -> None:
    def n_calls(index: Index) -> int:
        assert found(index) == [1]
        calls = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            index.search("oak", scope=JANE, vector=NEAR)
        finally:
            sys.setprofile(None)
        return calls

    with opened(path) as index, Index(dim=2) as in_memory:
        put(index, 1)
        put(in_memory, 1)
        assert n_calls(index) == n_calls(in_memory) + 3
