"""A full disk, a limit on the file's size, or a failure of the engine just after the commit: typed errors, no loss."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.sqlite import store as sqlite_store
from scrubjay.store.sqlite.group import GroupCommit

JANE = Scope("acme", user="jane")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def state(index: Index) -> list[tuple[Any, str]]:
    return sorted((hit.id, hit.text) for hit in index.search("oak", scope=JANE, k=10_000))


def test_a_full_disk_is_a_typed_error_and_the_index_goes_on(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert("a", "oak", scope=JANE)
        writer = Backend.of(index).engine.store._writer  # type: ignore[union-attr]
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + 3}")  # SQLite's own full disk
        written = ["a"]
        failed = 0
        for i in range(60):
            try:
                index.upsert(f"b{i}", "oak " + "x" * 2000, scope=JANE)
                written.append(f"b{i}")
            except scrubjay.StoreError as error:
                assert "full" in str(error)
                failed += 1
        assert failed > 10
        assert [id for id, _ in state(index)] == sorted(written)
        with pytest.raises(scrubjay.StoreError, match="full"):
            index.upsert_many(
                [{"id": f"c{i}", "text": "oak " + "y" * 500, "scope": JANE} for i in range(100)]
            )
        assert [id for id, _ in state(index)] == sorted(written)
        assert index.admin.check().problems == []
        writer.execute("PRAGMA max_page_count = 1073741823")
        index.upsert("later", "oak", scope=JANE)
    with Index.open(path) as index:
        assert [id for id, _ in state(index)] == sorted([*written, "later"])
        assert index.admin.check().problems == []


def test_no_write_step_can_fail_without_a_typed_error(path: Path, tmp_path: Path) -> None:
    """A limit on file sizes makes the write that crosses it fail, at any point: every limit in turn."""
    script = tmp_path / "limited.py"
    script.write_text(
        textwrap.dedent(
            """
            import resource, signal, sys
            import scrubjay
            from scrubjay import Index, Scope

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            path, start = sys.argv[1], int(sys.argv[2])
            jane = Scope("acme", user="jane")
            outcomes = set()
            for step in range(12):
                name = f"{path}{step}"
                limit = start + step * 14000
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                written = []
                try:
                    index = Index.open(name)
                except scrubjay.StoreError:
                    outcomes.add("open refused")
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
                    Index.open(name).close()  # and it is no worse for it
                    continue
                for i in range(40):
                    try:
                        rows = [{"id": 2 * i + j, "text": "oak " + "z" * 900, "scope": jane} for j in (0, 1)]
                        index.upsert_many(rows)
                        written += [2 * i, 2 * i + 1]
                    except scrubjay.StoreError:
                        outcomes.add("write refused")
                    try:
                        if i % 9 == 8:
                            index.admin.compact()
                    except scrubjay.StoreError:
                        outcomes.add("compaction refused")
                    found = [hit.id for hit in index.search("oak", scope=jane, k=1000)]
                    assert sorted(found) == written, (step, i, found, written)
                try:
                    index.close()
                except scrubjay.StoreError:
                    outcomes.add("close refused")
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
                with Index.open(name) as index:
                    found = [hit.id for hit in index.search("oak", scope=jane, k=1000)]
                    assert sorted(found) == written, (step, found, written)
                    assert index.admin.check().problems == [], index.admin.check().problems
            print(sorted(outcomes))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script), str(path), "40000"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "write refused" in done.stdout


@pytest.mark.parametrize("error", [MemoryError("none left"), RuntimeError("a bug")])
@pytest.mark.parametrize("operation", ["upsert", "upsert_many", "delete", "erase"])
def test_an_engine_that_fails_after_the_commit_is_read_anew(
    path: Path, error: Exception, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(path) as index:
        index.upsert_many([{"id": f"m{i}", "text": "oak", "scope": JANE} for i in range(9)])
        real = Backend.of(index).engine.residency  # type: ignore[union-attr]
        broken = real._put if operation.startswith("upsert") else real._forget
        name = broken.__name__ if operation != "erase" else "drop"

        def fail(*_: Any) -> None:
            raise error

        monkeypatch.setattr(real, name, fail)
        if operation == "upsert":
            index.upsert("new", "oak", scope=JANE)
        elif operation == "upsert_many":
            index.upsert_many([{"id": "m1", "text": "beech"}, {"id": "new", "text": "oak"}], scope=JANE)
        elif operation == "delete":
            assert index.delete("m3", scope=JANE)
        else:
            assert index.erase(JANE) == 9
        monkeypatch.undo()
        found = [id for id, _ in state(index)]
        expected = {
            "upsert": [*(f"m{i}" for i in range(9)), "new"],
            "upsert_many": [*(f"m{i}" for i in range(9) if i != 1), "new"],
            "delete": [f"m{i}" for i in range(9) if i != 3],
            "erase": [],
        }[operation]
        assert found == expected
        assert index.admin.check().problems == []


def test_a_commit_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("a", "oak", scope=JANE)

        def fail(self: Any, *of_a_group: Any) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(sqlite_store.Transaction, "commit", fail)
        monkeypatch.setattr(GroupCommit, "_commit", fail)
        for call in (
            lambda: index.upsert("b", "oak", scope=JANE),
            lambda: index.upsert("a", "beech", scope=JANE, vector=np.ones(4)),
            lambda: index.delete("a", scope=JANE),
            lambda: index.erase(JANE),
        ):
            with pytest.raises(scrubjay.StoreError, match="I/O"):
                call()
            assert state(index) == state(other) == [("a", "oak")]
        monkeypatch.undo()
        other.upsert("b", "oak two", scope=JANE)  # takes the number that the failed write had
        assert state(index) == [("a", "oak"), ("b", "oak two")]
        index.upsert("c", "oak three", scope=JANE)
        assert state(other) == state(index) == [("a", "oak"), ("b", "oak two"), ("c", "oak three")]
        assert index.admin.stats()["dim"] is None


@pytest.mark.parametrize("verb", ["upsert", "upsert_many", "delete"])
def test_a_search_beside_a_commit_that_fails_finds_what_another_process_wrote(
    path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite undoes a COMMIT that fails and lets others write before it says so: what they write then has the number
    that the failed write had, and searches of other threads find it at once."""
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert_many([{"id": id, "text": "oak"} for id in "ab"], scope=JANE)
        assert state(index) == [("a", "oak"), ("b", "oak")]
        seen: list[Any] = []

        def fail(connection: Any) -> None:
            monkeypatch.undo()
            connection.rows("ROLLBACK")
            other.upsert("c", "oak three", scope=JANE)
            thread = threading.Thread(target=lambda: seen.append(state(index)))
            thread.start()
            thread.join()
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(sqlite_store.Transaction, "commit", lambda self: fail(self.connection))
        monkeypatch.setattr(GroupCommit, "_commit", lambda self, group, known: fail(self._connection))
        calls: dict[str, Any] = {
            "upsert": lambda: index.upsert("d", "oak four", scope=JANE),
            "upsert_many": lambda: index.upsert_many([{"id": "d", "text": "oak four"}], scope=JANE),
            "delete": lambda: index.delete("a", scope=JANE),
        }
        with pytest.raises(scrubjay.StoreError, match="I/O"):
            calls[verb]()
        assert seen == [[("a", "oak"), ("b", "oak"), ("c", "oak three")]]
        assert state(index) == seen[0]
        index.upsert("e", "oak five", scope=JANE)
        assert state(other) == state(index) == [*seen[0], ("e", "oak five")]
        assert index.admin.check().clean


@pytest.mark.parametrize("collection", ["", "notes"])
def test_an_index_whose_making_fails_leaves_nothing(
    tmp_path: Path, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk gets full after each page that a new index needs."""
    real = sqlite_store.connect
    n_pages = 0

    def full(*args: Any, **options: Any) -> Any:
        connection = real(*args, **options)
        connection.execute("PRAGMA page_size = 8192")
        connection.execute(f"PRAGMA max_page_count = {n_pages}")  # SQLite's own full disk
        return connection

    monkeypatch.setattr(sqlite_store, "connect", full)
    path = tmp_path / "memories.scrubjay"
    n_refused = 0
    while n_refused < 200:
        n_pages += 1
        try:
            with Index.open(path, collection=collection) if collection else Index.open(path):
                break
        except scrubjay.StoreError as error:
            assert "full" in str(error)
            assert list(tmp_path.iterdir()) == []
            n_refused += 1
    assert n_refused > 10
    monkeypatch.undo()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    with Index.open(path) as index:
        index.upsert("a", "oak", scope=JANE)
        assert state(index) == [("a", "oak")]
    assert path.stat().st_mode & 0o777 == 0o600


def test_limits_are_those_of_this_platform() -> None:
    """The fault test above relies on them."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] in (resource.RLIM_INFINITY, -1)
    assert hasattr(signal, "SIGXFSZ")
