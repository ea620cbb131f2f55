"""A change of several writes is atomic: committed whole or not at all, never seen in part, including other tables."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from scrubjay.store.writing.write_batches import Change

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture
def index(tmp_path: Path) -> Any:
    with Index.open(tmp_path / "memories.scrubjay", dim=2, durability="normal") as index:
        with Backend.of(index).changing("preparing") as change:
            change.connection.execute("CREATE TABLE note(text TEXT UNIQUE)")
        yield index


def put(change: Change, ids: list[Any], scope: Scope, word: str = "oak", vector: Any = (1.0, 2.0)) -> None:
    n = len(ids)
    texts = [f"{word} {id}" for id in ids]
    change.upsert(ids, texts, scopes=[scope] * n, vectors=[vector] * n, payloads=[None] * n)


def found(index: Index, scope: Scope, word: str = "oak") -> list[Any]:
    return sorted(hit.id for hit in index.search(word, scope=scope, k=100, query=Query(mode="lexical")))


def notes(index: Index) -> list[str]:
    connection = Backend.of(index).engine.store.reading_connection()  # type: ignore[union-attr]
    return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def test_documents_and_other_rows_are_one_write(index: Index) -> None:
    with Backend.of(index).changing("writing") as change:
        put(change, ["a", "b"], JANE)
        change.connection.execute("INSERT INTO note VALUES ('of a and b')")
        assert found(index, JANE) == [] and notes(index) == []
    assert found(index, JANE) == ["a", "b"]
    assert notes(index) == ["of a and b"]
    assert found(index, JOE) == []
    assert index.admin.check().clean


@pytest.mark.parametrize("steps", range(5))
def test_an_error_in_the_block_rolls_back(index: Index, steps: int) -> None:
    index.upsert_many([{"id": i, "text": f"oak {i}", "scope": JANE} for i in ("a", "b")])

    def change_and_fail() -> None:
        with Backend.of(index).changing("failing") as change:
            for step in range(steps):
                if step == 0:
                    put(change, ["c"], JANE)
                elif step == 1:
                    change.connection.execute("INSERT INTO note VALUES ('never')")
                elif step == 2:
                    change.delete(["a"], scope=JANE, reason="test")
                else:
                    change.erase(ACME, reason="test", everywhere=True)
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        change_and_fail()
    assert found(index, JANE) == ["a", "b"] and notes(index) == []
    assert index.admin.events() == []
    index.upsert("d", "oak d", scope=JANE)
    assert found(index, JANE) == ["a", "b", "d"]
    assert index.admin.check().clean


def test_a_failed_step_fails_the_change_even_if_its_error_is_caught(index: Index) -> None:
    index.upsert("a", "oak a", scope=JANE)

    def ignore_a_step() -> None:
        with Backend.of(index).changing("writing") as change:
            put(change, ["b"], JANE)
            with pytest.raises(TypeError, match="expected str like the ids"):
                put(change, [7], JOE)

    with pytest.raises(scrubjay.StoreError, match="a step of the change failed"):
        ignore_a_step()
    assert found(index, JANE) == ["a"] and found(index, JOE) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": [True]}, "id"),
        ({"ids": [7]}, "expected str like the ids"),
        ({"vectors": [(1.0,)]}, "vector"),
        ({"vectors": [(1.0, float("nan"))]}, "vector"),
        ({"texts": [3]}, "text"),
        ({"scopes": [None]}, "scope"),
    ],
)
def test_bad_documents_are_refused_before_anything_is_written(
    index: Index, arguments: dict[str, Any], message: str
) -> None:
    index.upsert("a", "oak a", scope=JANE)
    given = {"ids": ["b"], "texts": ["oak b"], "scopes": [JANE], "vectors": [None], "payloads": [None]}
    with (
        pytest.raises((TypeError, ValueError), match=message),
        Backend.of(index).changing("writing") as change,
    ):
        change.upsert(**{**given, **arguments})
    assert found(index, JANE) == ["a"]


def test_a_change_is_over_after_its_block(index: Index) -> None:
    with Backend.of(index).changing("writing") as change:
        put(change, ["a"], JANE)
    with pytest.raises(scrubjay.StoreError, match="outside of its `with` block"):
        put(change, ["b"], JANE)
    with pytest.raises(scrubjay.StoreError, match="outside of its `with` block"):
        change.delete(["a"], scope=JANE, reason="late")
    with pytest.raises(scrubjay.StoreError, match="outside of its `with` block"):
        change.erase(JANE, reason="late")
    assert found(index, JANE) == ["a"]


def test_a_write_inside_of_a_change_is_refused_and_harms_nothing(index: Index) -> None:

    def write_inside() -> None:
        with Backend.of(index).changing("writing") as change:
            put(change, ["a"], JANE)
            index.upsert("b", "oak b", scope=JANE)

    with pytest.raises(scrubjay.StoreError, match="in the middle of another write"):
        write_inside()
    assert found(index, JANE) == []
    with Backend.of(index).changing("writing") as change:
        put(change, ["a"], JANE)
        with pytest.raises(scrubjay.StoreError, match="in the middle of another write"):
            index.delete("a", scope=JANE)
    assert found(index, JANE) == ["a"]


def test_only_an_index_with_a_file_changes_together() -> None:
    with pytest.raises(scrubjay.StoreError, match="no file"), Backend.of(Index()).changing("writing"):
        raise AssertionError


STEPS: dict[str, Any] = {
    "put a": lambda c: put(c, ["a"], JANE),
    "put a again": lambda c: put(c, ["a"], JANE, "beech"),
    "put b": lambda c: put(c, ["b"], JANE),
    "delete a": lambda c: c.delete(["a"], scope=JANE, reason="test"),
    "delete b": lambda c: c.delete(["b"], scope=JANE, reason="test"),
    "move a": lambda c: (c.delete(["a"], scope=JANE, reason="test"), put(c, ["a"], JOE), None)[-1],
    "delete all a": lambda c: c.delete(["a", "a", "a"], scope=[JANE, JOE, ACME], reason="test"),
    "share a": lambda c: put(c, ["a"], ACME),
    "erase": lambda c: c.erase(JANE, reason="test"),
    "erase all": lambda c: c.erase(ACME, reason="test"),
}


@pytest.mark.parametrize("seed", range(25))
def test_steps_in_one_change_equal_the_same_steps_one_by_one(tmp_path: Path, seed: int) -> None:
    """Compared with the same steps in separate changes, from a second process, and after reopening."""
    rng = np.random.default_rng(seed)
    one_by_one = Index.open(tmp_path / "one.scrubjay", dim=2, durability="normal")
    together = Index.open(tmp_path / "together.scrubjay", dim=2, durability="normal")
    for index in (one_by_one, together):
        with Backend.of(index).changing("preparing") as change:
            put(change, ["a", "x"], JANE)
            put(change, ["y"], ACME)
    beside = Index.open(tmp_path / "together.scrubjay", durability="normal")

    def state(index: Index) -> Any:
        return [
            [
                (h.id, h.score, h.text)
                for h in index.search("oak beech", scope=s, k=50, query=Query(mode="lexical"))
            ]
            for s in (JANE, JOE, ACME)
        ]

    for index in (one_by_one, together, beside):
        state(index)
    for _ in range(3):
        names = [str(name) for name in rng.choice(list(STEPS), size=rng.integers(1, 6))]
        for name in names:
            with Backend.of(one_by_one).changing(name) as change:
                STEPS[name](change)
        with Backend.of(together).changing("several") as change:
            for name in names:
                STEPS[name](change)
        assert state(together) == state(one_by_one), names
        assert state(beside) == state(one_by_one), names
        assert len(together) == len(one_by_one)
    assert [(e.reason, e.scope, e.documents) for e in together.admin.events()] == [
        (e.reason, e.scope, e.documents) for e in one_by_one.admin.events()
    ]
    assert together.admin.check().clean and beside.admin.check().clean
    for index in (one_by_one, together, beside):
        index.close()


@pytest.mark.parametrize("kind", ["replace", "exchange"])
@pytest.mark.parametrize("where", ["thread", "process"])
def test_no_search_sees_both_or_neither(tmp_path: Path, kind: str, where: str) -> None:
    """`replace` rewrites one id, `exchange` deletes one and writes another; there is always exactly one in a
    partition."""
    path = tmp_path / "memories.scrubjay"
    index = Index.open(path, dim=2, durability="normal")
    index.upsert("m0", "oak 0", scope=JANE, vector=[1.0, 2.0])
    done = threading.Event()
    seen: list[int] = []
    n_searches = 0

    def look() -> None:
        nonlocal n_searches
        while not done.is_set():
            hits = index.search("oak", scope=JANE, k=10, query=Query(mode="lexical"))
            n_searches += 1
            if len(hits) != 1:
                seen.append(len(hits))

    lookers = [threading.Thread(target=look, daemon=True) for _ in range(3)]
    for looker in lookers:
        looker.start()
    if where == "thread":
        exchange(path, kind, index)
    else:
        code = f"import sys; sys.path[:0] = {sys.path!r}; from tests.unit.test_store_atomic_changes import exchange; "
        code += f"from pathlib import Path; exchange(Path({str(path)!r}), {kind!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
    done.set()
    for looker in lookers:
        looker.join()
    assert seen == [] and n_searches > 100
    assert [hit.text for hit in index.search("oak", scope=JANE)] == ["oak 200"]
    index.close()


def exchange(path: Path, kind: str, index: Index | None = None) -> None:
    """Replace one document by another, 200 times."""
    own = index if index is not None else Index.open(path, durability="normal")
    for i in range(1, 201):
        id = "m0" if kind == "replace" else f"m{i}"
        with Backend.of(own).changing("exchanging") as change:
            if kind == "exchange":
                assert change.delete([f"m{i - 1}"], scope=JANE, reason="exchanged") == 1
            change.upsert([id], [f"oak {i}"], scopes=[JANE], vectors=[(1.0, float(i))], payloads=[None])
    if index is None:
        own.close()


def test_an_error_of_sqlite_rolls_back(index: Index) -> None:
    index.upsert("a", "oak a", scope=JANE)

    def write_twice() -> None:
        with Backend.of(index).changing("writing") as change:
            put(change, ["b"], JANE)
            change.connection.execute("INSERT INTO note VALUES ('x')")
            change.connection.execute("INSERT INTO note VALUES ('x')")

    with pytest.raises(scrubjay.StoreError, match="UNIQUE"):
        write_twice()
    assert found(index, JANE) == ["a"] and notes(index) == []
    assert index.admin.check().clean


def test_vectors_settle_dimension_and_model(tmp_path: Path) -> None:
    from scrubjay.embedders import Function

    embedder = Function(lambda texts: [[1.0, float(len(t)), 0.5] for t in texts], dim=3, name="toy")
    with Index.open(tmp_path / "m.scrubjay", embedder, durability="normal") as index:
        vectors = Backend.of(index).embed(["oak a"])
        assert vectors[0] is not None and vectors[0].shape == (3,)
        with Backend.of(index).changing("writing") as change:
            change.upsert(["a"], ["oak a"], scopes=[JANE], vectors=vectors, payloads=[None])
        assert index.search("oak a", scope=JANE).mode == "hybrid"
    with pytest.raises(scrubjay.EmbedderMismatchError):
        Index.open(tmp_path / "m.scrubjay", Function(lambda t: [[1.0] * 3] * len(t), dim=3, name="other"))


def test_a_search_that_overlaps_a_catching_up_in_two_steps_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index, Index.open(path, durability="normal") as other:
        index.upsert("m0", "oak 0", scope=JANE)
        residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
        view, stamp = residency.view(JANE)
        with Backend.of(other).changing("replacing") as change:
            put(change, ["m0"], JANE, vector=None)
        assert found(index, JANE) == ["m0"] and residency.held(view, stamp)  # one step
        with Backend.of(other).changing("exchanging") as change:
            change.delete(["m0"], scope=JANE, reason="exchanged")
            put(change, ["m1"], JANE, vector=None)
        assert found(index, JANE) == ["m1"] and not residency.held(view, stamp)


class Restless:
    """A native engine during whose first `n` calls the documents that they read are evicted."""

    def __init__(self, residency: Any, n: int) -> None:
        self._residency, self._engine, self._n = residency, residency.engine, n

    def __getattr__(self, name: str) -> Any:
        def disturbed(*given: Any, **named: Any) -> Any:
            if self._n > 0:
                self._n -= 1
                for partition in self._residency.view(JANE)[0]:
                    with partition.lock:
                        self._residency.drop(partition)
            return getattr(self._engine, name)(*given, **named)

        asks = name in ("search", "search_batch", "count", "find_substring")
        return disturbed if asks else getattr(self._engine, name)


@pytest.mark.parametrize("n", [1, 8, 9, 12])
def test_a_search_that_is_disturbed_again_and_again_still_finds_everything(index: Index, n: int) -> None:
    """Even without evictions: partitions are also dropped if they are replaced, or their key is unavailable."""
    ids = [f"m{i}" for i in range(5)]
    with Backend.of(index).changing("writing") as change:
        put(change, ids, JANE)
    residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
    native = residency.engine
    asked = {
        "search": lambda: found(index, JANE),
        "search with options": lambda: sorted(
            hit.id
            for hit in index.search(
                "oak", scope=JANE, query=Query(mode="lexical"), filter={"x": {"$exists": False}}
            )
        ),
        "batch": lambda: sorted(
            hit.id
            for hit in index.search_batch(["oak"], scope=JANE, query=Query(mode="lexical"), vectors=None)[0]
        ),
        "substring": lambda: sorted(Backend.of(index).engine.find_substring("oak", scope=JANE).ids.tolist()),
        "count": lambda: ids if index.count(JANE, filter={"x": {"$exists": False}}) == 5 else [],
    }
    for name, ask in asked.items():
        residency.engine = Restless(residency, n)
        try:
            assert ask() == ids, name
        finally:
            residency.engine = native
