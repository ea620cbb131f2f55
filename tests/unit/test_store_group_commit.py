"""Group commit: a write that shares its transaction has the same effect as one with its own transaction."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import (
    ClosedError,
    HeldError,
    Index,
    Memory,
    Scope,
    StoreBusyError,
    StoreError,
    VersionConflictError,
)
from scrubjay.backend import Backend
from scrubjay.store.rows.decoding import Checksum
from scrubjay.store.rows.vectors import decode, encode
from scrubjay.store.sqlite.group import GroupCommit
from scrubjay.store.sqlite.store import SqliteStore

DIM = 8
JANE, JOHN = Scope("acme", user="jane"), Scope("acme", user="john")
TABLES = ("scope", "document", "vector", "staged_vector", "tombstone", "event", "meta")
NOW = 1_800_000_000_000_000


def open_index(path: Path, **options: Any) -> Index:
    index = Index.open(path, dim=DIM, **options)
    index.upsert("first", "an oak", scope=Scope("other"), vector=np.ones(DIM))  # settles what is open
    return index


def store_of(index: Index) -> SqliteStore:
    return Backend.of(index).engine.file("testing")  # type: ignore[union-attr]


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the contents of a file, except random values."""
    connection = sqlite3.connect(path)
    found = {}
    for table in TABLES:
        condition = "WHERE name NOT IN ('file_id', 'id')" if table == "meta" else ""
        found[table] = sorted(connection.execute(f"SELECT * FROM {table} {condition}").fetchall(), key=repr)
    connection.close()
    return found


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every write take its own transaction."""
    monkeypatch.setattr(GroupCommit, "takes", lambda self, row: False)


@contextmanager
def together(index: Index) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Start calls on threads while the write lock is held, so that all of them are in the queue; they continue at the
    end of the block, which waits for them."""
    store = store_of(index)
    threads: list[threading.Thread] = []

    def start(call: Callable[[], Any]) -> None:
        n_waiting = len(store.group._queue)
        thread = threading.Thread(target=call)
        thread.start()
        threads.append(thread)
        for _ in range(10_000):
            if len(store.group._queue) > n_waiting:
                return
            thread.join(0.001)
        raise AssertionError("the write did not come into the queue")

    with store.exclusively("testing"):
        yield start
    for thread in threads:
        thread.join()


def commits_of(index: Index, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of documents of each group that is committed."""
    sizes: list[int] = []
    commit = GroupCommit._commit

    def counted(self: GroupCommit, group: Any, known: Any) -> None:
        n = sum(len(scope.rows) for scope in group.scopes)
        commit(self, group, known)
        sizes.append(n)

    monkeypatch.setattr(GroupCommit, "_commit", counted)
    return sizes


@pytest.mark.parametrize("seed", range(6))
def test_the_file_is_that_of_a_transaction_each(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same writes and deletions, sequentially, in both ways: equal rows, versions, errors and answers."""

    def run(path: Path) -> tuple[list[Any], list[Any]]:
        choose = random.Random(seed)
        results: list[Any] = []
        with open_index(path) as index:
            engine = Backend.of(index).engine
            ticks = iter(range(NOW, NOW + 10**9, 1000))
            engine.use_clock(lambda: next(ticks))  # type: ignore[union-attr]
            for step in range(150):
                if step == 75:  # as if an interrupted reembed() had left them
                    with store_of(index).writing("staging") as transaction:
                        t = transaction.connection
                        t.execute("INSERT INTO staged_vector SELECT seq, zeroblob(18) FROM document")
                scope = choose.choice([JANE, JOHN, Scope("acme"), Scope("globex", agent=f"a{step % 7}")])
                id = f"m{choose.randrange(12)}"
                vector = choose.choice([None, np.arange(DIM) + choose.random(), np.ones(DIM - 1)])
                options: dict[str, Any] = {"vector": vector}
                kind = choose.randrange(10)
                if kind < 2:
                    options["version"] = choose.choice([0, 1, step])
                if kind == 2:
                    options["expires_at"] = choose.choice([NOW / 1e6 + 0.05, NOW / 1e6 + 10**6])
                if kind == 3:
                    options["metadata"] = {"stars": step, "pending": choose.choice([True, 1])}
                if kind == 4:
                    options["context"] = "of trees"
                if kind == 5:
                    options |= {"vector": np.ones((2, DIM)), "passages": [(0, 2), (2, 5)]}
                try:
                    if kind == 6:
                        results.append(index.delete(id, scope=scope))
                    elif kind == 7:
                        index.upsert(step, "an id of the other kind", scope=scope)
                    else:
                        index.upsert(id, f"oak number {step}", scope=scope, **options)
                except (TypeError, ValueError, VersionConflictError) as error:
                    results.append((type(error), str(error)))
            answers = [
                (list(hits.ids), [hit.score for hit in hits])
                for scope in (JANE, JOHN, Scope("acme"))
                for hits in (index.search("oak number", scope=scope, k=50, vector=np.arange(DIM) + 1),)
            ]
            assert index.admin.check().clean
        return results, answers

    monkeypatch.setattr("time.time_ns", lambda: NOW * 1000)
    grouped = run(tmp_path / "grouped.scrubjay")
    alone(monkeypatch)
    assert run(tmp_path / "alone.scrubjay") == grouped
    assert rows_of(tmp_path / "grouped.scrubjay") == rows_of(tmp_path / "alone.scrubjay")


@pytest.mark.parametrize("seed", range(8))
def test_writes_and_deletions_in_one_group_are_those_of_a_transaction_each(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are written, deleted and written again in a group, in the order of the queue."""

    def run(path: Path, in_groups: bool) -> tuple[list[Any], list[Any]]:
        choose = random.Random(seed)
        results: list[Any] = []
        with open_index(path) as index:
            Backend.of(index).engine.use_clock(lambda: NOW)  # type: ignore[union-attr]
            for step in range(12):
                steps: list[Callable[[], Any]] = []
                for number in range(choose.randrange(1, 9)):
                    scope, id = choose.choice([JANE, JOHN]), f"m{choose.randrange(4)}"
                    name = f"{step}.{number}"
                    vector = choose.choice([None, np.arange(DIM) + choose.random()])

                    def delete(id: str = id, scope: Scope = scope, name: str = name) -> None:
                        results.append((name, index.delete(id, scope=scope, reason=name)))

                    def upsert(
                        id: str = id, scope: Scope = scope, name: str = name, vector: Any = vector
                    ) -> None:
                        index.upsert(id, f"oak number {name}", scope=scope, vector=vector)

                    steps.append(choose.choice([delete, delete, upsert]))
                if in_groups:
                    with together(index) as start:
                        for one in steps:
                            start(one)
                else:
                    for one in steps:
                        one()
                results.append(
                    [
                        (list(hits.ids), [hit.score for hit in hits], [hit.text for hit in hits])
                        for scope in (JANE, JOHN)
                        for hits in (index.search("oak number", scope=scope, k=50),)
                    ]
                )
            assert index.admin.check().clean
        deletions = [one for one in results if isinstance(one, tuple)]
        return sorted(deletions), [one for one in results if not isinstance(one, tuple)]

    monkeypatch.setattr("time.time_ns", lambda: NOW * 1000)
    sizes = []
    commit = GroupCommit._commit

    def counted(self: GroupCommit, group: Any, known: Any) -> Any:
        sizes.append((len(group.writes), sum(len(state.deleted) for state in group.scopes)))
        return commit(self, group, known)

    monkeypatch.setattr(GroupCommit, "_commit", counted)
    grouped = run(tmp_path / "grouped.scrubjay", in_groups=True)
    assert any(n > 3 and n_deleted for n, n_deleted in sizes)
    alone(monkeypatch)
    assert run(tmp_path / "alone.scrubjay", in_groups=False) == grouped
    assert rows_of(tmp_path / "grouped.scrubjay") == rows_of(tmp_path / "alone.scrubjay")


def test_waiting_writers_share_a_commit_and_get_their_own_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_index(tmp_path / "memories.scrubjay") as index:
        index.upsert("a", "oak", scope=JANE, vector=np.ones(DIM))
        at = index.get("a", scope=JANE).version  # type: ignore[union-attr]
        sizes = commits_of(index, monkeypatch)
        errors: dict[str, Exception] = {}

        def write(name: str, id: Any, **options: Any) -> Callable[[], None]:
            def call() -> None:
                try:
                    index.upsert(id, f"elm {name}", **{"scope": JANE, **options})
                except Exception as error:  # noqa: BLE001 - judged below
                    errors[name] = error

            return call

        with together(index) as start:
            start(write("new", "b", vector=np.ones(DIM)))
            start(write("again", "a", version=at))
            start(write("too late", "a", version=at))
            start(write("absent", "c", scope=Scope("nobody"), version=3))
            start(write("another scope", "d", scope=JOHN))
            start(write("the same id", "b"))
        assert sizes == [4]
        assert set(errors) == {"too late", "absent"}
        conflict = errors["too late"]
        assert isinstance(conflict, VersionConflictError) and conflict.found == at + 2
        versions = {id: index.get(id, scope=JANE).version for id in ("a", "b")}  # type: ignore[union-attr]
        assert versions == {"a": at + 2, "b": at + 4}
        assert index.get("b", scope=JANE).text == "elm the same id"  # type: ignore[union-attr]
        assert Scope("nobody") not in [scope for scope, _ in store_of(index).scopes()]
        assert store_of(index).scope_state(Scope("nobody")) is None
        assert {*index.search("elm", scope=JANE).ids} == {"a", "b"}
        assert list(index.search("elm", scope=JOHN).ids) == ["d"]
        assert index.admin.check().clean


def test_a_group_that_fails_leaves_nothing_and_each_tries_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document that SQLite refuses: the others are written, and only its own thread gets the error."""
    with open_index(tmp_path / "memories.scrubjay") as index:
        failed: list[str] = []
        put = GroupCommit._put

        def failing(self: GroupCommit, write: Any, group: Any, known: Any) -> None:
            put(self, write, group, known)
            if write.row.id == "bad":
                raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(GroupCommit, "_put", failing)

        def write(id: str) -> None:
            try:
                index.upsert(id, "elm", scope=JANE)
            except StoreError:
                failed.append(id)

        with together(index) as start:
            for id in ("a", "bad", "b", "c"):
                start(lambda id=id: write(id))  # type: ignore[misc]
        assert failed == ["bad"]
        assert {*index.search("elm", scope=JANE).ids} == {"a", "b", "c"}
        assert index.count(JANE) == 3
        assert index.admin.check().clean


def test_an_interrupted_writer_leaves_the_others_to_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C at each step of the thread that writes for all: the waiting threads write the rest."""
    for place in ("_learnt", "_put", "_commit"):
        with open_index(tmp_path / f"{place}.scrubjay") as index:
            real, interrupted = getattr(GroupCommit, place), []

            def stopped(self: GroupCommit, *args: Any, real: Any = real, done: Any = interrupted) -> Any:
                if not done:
                    done.append(threading.get_ident())
                    raise KeyboardInterrupt
                return real(self, *args)

            monkeypatch.setattr(GroupCommit, place, stopped)
            told: list[str] = []

            def write(id: str, index: Index = index, told: list[str] = told) -> None:
                try:
                    index.upsert(id, "elm", scope=JANE)
                except KeyboardInterrupt:
                    told.append(id)

            with together(index) as start:
                for id in ("a", "b", "c"):
                    start(lambda id=id, write=write: write(id))  # type: ignore[misc]
            monkeypatch.undo()
            assert len(told) == 1
            assert {*index.search("elm", scope=JANE).ids} == {"a", "b", "c"} - {*told}
            assert index.count(JANE) == 2
            index.upsert("d", "elm", scope=JANE)
            assert len(index.search("elm", scope=JANE)) == 3


def test_a_write_that_waits_too_long_is_withdrawn(tmp_path: Path) -> None:
    with open_index(tmp_path / "memories.scrubjay", busy_timeout=0.05) as index:
        with together(index) as start:
            told: list[Exception] = []

            def write() -> None:
                try:
                    index.upsert("a", "elm", scope=JANE)
                except StoreBusyError as error:
                    told.append(error)

            start(write)
            for _ in range(1000):
                if told:
                    break
                threading.Event().wait(0.01)
            assert told
        index.upsert("b", "elm", scope=JANE)
        assert list(index.search("elm", scope=JANE).ids) == ["b"]


def test_many_threads_beside_other_writes(tmp_path: Path) -> None:
    """Every write exists with the text of the last one, whatever else is written between groups."""
    path = tmp_path / "memories.scrubjay"
    with open_index(path, durability="normal") as index:

        def work(n: int) -> None:
            for step in range(40):
                scope = (JANE, JOHN)[step % 2]
                index.upsert(f"{n}-{step % 10}", f"elm {step}", scope=scope, vector=np.ones(DIM))
                if step % 10 == 9:
                    index.upsert_many([{"id": f"many-{n}-{step}", "text": "elm", "scope": scope}])
                    index.delete(f"many-{n}-{step}", scope=scope)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert index.count(JANE) + index.count(JOHN) == 60
        for n in range(6):
            for place in range(10):
                record = index.get(f"{n}-{place}", scope=(JANE, JOHN)[place % 2])
                assert record is not None and record.text == f"elm {30 + place}"
        assert len(index) == 61
        assert index.admin.check().clean
        hits = index.search("elm", scope=JANE, k=100)
        assert len(hits) == 30
    with Index.open(path) as index:
        assert sorted(index.search("elm", scope=JANE, k=100).ids) == sorted(hits.ids)


_OTHER = """
import json, sys
import numpy as np
from scrubjay import Index, Scope
scope = Scope("acme", user="jane")
with Index.open(sys.argv[1]) as index:
    for line in sys.stdin:
        id = line.strip()
        index.upsert(id, "elm", scope=scope)
        print(json.dumps(sorted(index.search("elm", scope=scope, k=100).ids)), flush=True)
"""


def test_writes_of_another_process_are_noticed(tmp_path: Path) -> None:
    """State kept between groups is dropped when another process commits: versions continue, counts are right."""
    path = tmp_path / "memories.scrubjay"
    with open_index(path) as index:
        other = subprocess.Popen(
            [sys.executable, "-c", _OTHER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdin is not None and other.stdout is not None
        versions = []
        for n in range(5):
            index.upsert(f"a{n}", "elm", scope=JANE)
            index.upsert("shared", f"elm {n}", scope=JANE)
            versions.append(index.get("shared", scope=JANE).version)  # type: ignore[union-attr]
            other.stdin.write(f"b{n}\n")
            other.stdin.flush()
            seen = json.loads(other.stdout.readline())
            assert len(seen) == 2 * n + 3
            index.upsert("shared", "elm", scope=JANE)
            assert {*index.search("elm", scope=JANE, k=100).ids} == {*seen}
        other.stdin.close()
        assert other.wait() == 0
        assert versions == sorted(set(versions))
        assert index.count(JANE) == 11
        assert index.admin.check().clean


def test_a_hold_that_another_connection_sets_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Memory.open(path) as memory, Index.open(path) as index:
        index.upsert("a", "oak", scope=JANE)
        index.upsert("a", "elm", scope=JANE)
        memory.admin.hold(JANE, reason="a lawsuit", by="the court")
        with pytest.raises(HeldError):
            index.upsert("a", "ash", scope=JANE)
        index.upsert("b", "elm", scope=JANE)
        assert index.get("a", scope=JANE).text == "elm"  # type: ignore[union-attr]
        assert index.count(JANE) == 2


def test_closing_beside_writers(tmp_path: Path) -> None:
    """Each write is acknowledged and exists, or its thread is told that the index is closed."""
    for n in range(5):
        path = tmp_path / f"{n}.scrubjay"
        index = open_index(path)
        acknowledged: list[str] = []
        begun = threading.Barrier(5)

        def work(name: int, index: Index = index, done: list[str] = acknowledged, begun: Any = begun) -> None:
            begun.wait()
            try:
                for step in range(10_000):
                    index.upsert(f"{name}-{step}", "elm", scope=JANE)
                    done.append(f"{name}-{step}")
            except (StoreError, ClosedError):
                pass

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        threading.Event().wait(0.05)
        index.close()
        for thread in threads:
            thread.join()
        with Index.open(path) as again:
            assert all(again.get(id, scope=JANE) is not None for id in acknowledged)
            assert again.admin.check().clean


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
def test_native_rows_are_those_of_the_format(dtype: str) -> None:
    """prepare_row() encodes a vector to the same bytes as rows/vectors.py, whatever its magnitude."""
    import scrubjay

    numbers = np.random.default_rng(5)
    for case in range(400):
        dim = int(numbers.integers(1, 40))
        vector = numbers.normal(size=dim).astype(np.float32)
        vector *= np.float32(2.0) ** int(numbers.integers(-55, 55))
        if case % 5 == 0:
            vector[numbers.integers(dim)] = np.float32(1e-45) * numbers.integers(0, 3)
        if not vector.any():
            continue
        engine = scrubjay.Engine(dim, metric="ip", dtype=dtype)  # type: ignore[arg-type]
        prepared, stored, _ = engine.prepare_row("a", "oak", scope=JANE, vector=vector)
        expected = encode(vector, dtype)
        assert stored == expected
        engine.apply(prepared)
        whole = engine.prepare(["a"], ["oak"], scope=JANE, vectors=[decode(expected, dtype)])
        other = scrubjay.Engine(dim, metric="ip", dtype=dtype)  # type: ignore[arg-type]
        other.apply(other.prepare(["a"], ["oak"], scope=JANE, vectors=[decode(expected, dtype)]))
        assert engine.save_partition(JANE) == other.save_partition(JANE)
        assert len(whole) == 1


@pytest.mark.parametrize(
    "scope",
    [
        Scope("acme"),
        Scope("acme", user="jane"),
        Scope("acme", agent="jane"),
        Scope("a" * 200, "é" * 70, "漢字"),
    ],
)
def test_native_checksums_are_those_of_the_format(scope: Scope) -> None:
    """prepare_row() computes the checksum that `Checksum`, with hashlib, finds in the row when it is read."""
    import scrubjay

    engines: dict[type, Any] = {str: scrubjay.Engine(), int: scrubjay.Engine()}
    checksum = Checksum(scope)
    ids: list[Any] = [0, 7, -1, 2**63 - 1, -(2**63), "7", "a", "é漢\U0001f600", "x" * 127, "y" * 300]
    texts = [
        "",
        "oak",
        "0 oak",
        "é漢\U0001f600 " * 30,
        *("t" * n for n in (90, 100, 110, 120, 127, 128, 129, 256, 1000)),
    ]
    payloads = [None, b"{}", b'{"metadata": {"a": "' + b"b" * 300 + b'"}}']
    for id in ids:
        for text in texts:
            for payload in payloads:
                _, stored, found = engines[type(id)].prepare_row(id, text, scope=scope, payload=payload)
                assert stored is None
                assert found == checksum.of(id, text, payload), (id, text, payload)


def test_ids_of_a_subclass_of_str_are_written_as_str(tmp_path: Path) -> None:
    """One by one and together; a subclass with another text of its own does not change the id."""

    class Loud(str):
        def __str__(self) -> str:
            return self.upper()

    vector = np.ones(4, np.float32)
    with Index.open(tmp_path / "ids.scrubjay", dim=4) as index:
        index.upsert("first", "oak", scope=JANE, vector=vector)
        index.upsert(np.str_("one"), "oak one", scope=JANE, vector=vector)
        index.upsert(Loud("two"), "oak two", scope=JANE, vector=vector)
        index.upsert_many(
            [
                {"id": kind(id), "text": f"oak {id}", "vector": vector}
                for kind, id in ((np.str_, "three"), (Loud, "four"))
            ],
            scope=JANE,
        )
    with Index.open(tmp_path / "ids.scrubjay") as index:
        assert sorted(hit.id for hit in index.search("oak", scope=JANE)) == [
            "first",
            "four",
            "one",
            "three",
            "two",
        ]
        assert index.admin.check().clean
        record = index.get(np.str_("two"), scope=JANE)
        assert record is not None and record.text == "oak two"
        assert index.delete(np.str_("one"), scope=JANE)
