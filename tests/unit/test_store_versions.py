"""The last write, and the scopes that were written since another one, are found without an index of versions."""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
import threading
import time
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.base.errors import StoreError
from scrubjay.index import Admin
from scrubjay.store.sqlite.descriptors import follows
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.versions import UNFOUND, last_version, scopes_since

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
SCOPES = [Scope("acme"), *(Scope("acme", user=f"u{i}") for i in range(6)), Scope("globex", agent="a")]
JANE = Scope("acme", user="jane")


def rows(path: Path, question: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question, values).fetchall()


def holds(path: Path, end: str = "") -> int:
    """Compare the answers with the rows of scopes; return the last version."""
    t = Tables(int(end or 0))
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute(f"SELECT ifnull(max(version), 0) FROM {t.scope}").fetchone()
        assert last_version(connection, t) == last
        assert (
            connection.execute(f"SELECT * FROM {t.scope} WHERE {UNFOUND.format(s=t.suffix)}").fetchall() == []
        )
        for version in range(last + 2):
            slow = "SELECT tenant, user, agent, version FROM {} WHERE version > ?"
            expected = connection.execute(slow.format(t.scope), (version,)).fetchall()
            assert sorted(scopes_since(connection, t, version)) == sorted(expected), version
    return int(last)


@pytest.mark.parametrize("seed", range(4))
def test_the_stored_version_equals_the_newest_row_after_random_writes(seed: int, tmp_path: Path) -> None:
    """Compared with the rows of all scopes, after each of many writes."""
    path, choose = tmp_path / "memories.scrubjay", random.Random(seed)
    last = 0
    with Index.open(path) as index:
        for n in range(60):
            scope, id = choose.choice(SCOPES), f"m{choose.randrange(5)}"
            match choose.randrange(9):
                case 0 | 1 | 2:
                    index.upsert(id, f"oak {n}", scope=scope)
                case 3:
                    some = choose.sample(SCOPES, 3)
                    index.upsert_many([{"id": id, "text": f"jay {n}", "scope": one} for one in some])
                case 4:
                    index.upsert(id, f"acorn {n}", scope=scope, ttl=0.001)
                case 5:
                    index.delete(id, scope=scope)
                case 6:
                    exact = choose.random() < 0.5
                    index.erase(scope, exact=exact, names=not exact and choose.random() < 0.3)
                case 7:
                    index.admin.sweep()
                case 8:
                    index.admin.compact() if choose.random() < 0.5 else index.patch(
                        id, scope=scope, metadata={"n": n}
                    )
            found = holds(path)
            assert found >= last, "it never goes back"
            last = found
        living = "SELECT count(*) FROM document WHERE expires_at IS NULL"
        assert [(len(index),)] == rows(path, living)
        assert index.admin.check().problems == []


def steps(path: Path, version: int) -> int:
    """The steps of SQLite's virtual machine to find the scopes that were written after a version."""
    n = [0]

    def count() -> int:
        n[0] += 1
        return 0

    with closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(count, 1)
        scopes_since(connection, Tables(), version)
    return n[0]


def test_the_cost_of_versions_does_not_grow_with_the_scopes(tmp_path: Path) -> None:
    found = {}
    for n_scopes in (10, 5_000):
        path = tmp_path / str(n_scopes)
        with Index.open(path) as index:
            index.upsert_many(
                {"id": "m", "text": "oak", "scope": Scope("acme", user=f"u{i}")} for i in range(n_scopes)
            )
            index.upsert("m", "jay", scope=JANE)
            index.erase(Scope("acme", user="u3"))
            last = holds(path) if n_scopes == 10 else n_scopes + 2
            found[n_scopes] = [steps(path, last - n) for n in range(3)]
            assert steps(path, 0) < 40 * (n_scopes + 10), "each scope once, however much was written"
    assert found[5_000] == found[10]


def test_many_writes_to_a_scope_cost_no_more_than_its_row(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("m", "jay", scope=JANE)
        index.upsert_many(
            [{"id": f"m{i}", "text": "oak"} for i in range(3_000)], scope=Scope("acme"), progress=False
        )
    assert steps(path, 0) < 300
    assert steps(path, 1) < 300


def test_a_deletion_that_was_the_last_write(tmp_path: Path) -> None:
    """Neither a compaction nor a repair, which leave no tombstone of it, reassigns its number."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("m1", "oak", scope=JANE)
        index.upsert("m2", "jay", scope=JANE)
        index.delete("m2", scope=JANE)
        assert holds(path) == 3
        index.admin.compact()
        assert rows(path, "SELECT * FROM tombstone") == []
        assert holds(path) == 3
        index.upsert("m3", "acorn", scope=JANE)
        index.delete("m3", scope=JANE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE scope SET documents = 7")
    assert Admin.repair(path).changed
    assert holds(path) == 5
    with Index.open(path) as index:
        index.upsert("m4", "leaf", scope=JANE)
        assert index.get("m4", scope=JANE).version == 6  # type: ignore[union-attr]
        assert index.admin.check().problems == []


def test_an_older_file_in_which_the_last_write_left_nothing(tmp_path: Path) -> None:
    """As left by an earlier version of repair, which removed documents."""
    path = tmp_path / "memories.scrubjay"
    shutil.copy(GOLDEN / "format-4.scrubjay", path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM vector WHERE seq IN (SELECT max(seq) FROM document)")
        connection.execute("DELETE FROM document WHERE seq IN (SELECT max(seq) FROM document)")
        connection.execute("UPDATE scope SET version = version + 20, horizon = 0 WHERE user = 'jane'")
    (last,) = rows(path, "SELECT max(version) FROM scope")[0]
    with Index.open(path):
        pass
    assert holds(path) == last
    holds(path, "1")  # of the collection
    with Index.open(path) as index:
        index.upsert("new", "oak", scope=Scope("globex"))
        assert index.get("new", scope=Scope("globex")).version == last + 1  # type: ignore[union-attr]


def test_a_scope_whose_last_write_cannot_be_found_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("m1", "oak", scope=JANE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE scope SET version = 9")
    with Index.open(path) as index:
        assert "1 scopes whose last write cannot be found" in index.admin.check().problems
        index.upsert("m2", "jay", scope=JANE)  # its versions do not decrease nevertheless
        assert index.get("m2", scope=JANE).version == 10  # type: ignore[union-attr]
        index.upsert_many([{"id": "m3", "text": "jay"}, {"id": "m4", "text": "jay"}], scope=JANE)
        assert index.get("m4", scope=JANE).version == 12  # type: ignore[union-attr]
        assert index.admin.check().problems == []


def test_another_process_sees_what_was_written_to_many_scopes(tmp_path: Path) -> None:
    """As two connections, each with the memory of a process."""
    path, users = tmp_path / "memories.scrubjay", [Scope("acme", user=f"u{i}") for i in range(300)]
    with Index.open(path) as one, Index.open(path) as other:
        one.upsert_many([{"id": "m", "text": "oak", "scope": user} for user in users])
        assert [len(other.search("oak", scope=user)) for user in users] == [1] * 300
        one.upsert_many([{"id": "m", "text": "jay", "scope": user} for user in users[::2]])
        one.delete("m", scope=users[1])
        one.erase(users[3])
        found = [len(other.search("jay", scope=user)) for user in users]
        assert found == [1 - i % 2 for i in range(300)]
        assert [len(other.search("oak", scope=user)) for user in users[:6]] == [0, 0, 0, 0, 0, 1]
        engine = Backend.of(other).engine
        assert engine.store.noticed(engine.store.mark()).changed == []  # type: ignore[union-attr]


# ---------------------------------------------------------------------- writes of this process


def asked(index: Index, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the versions since which the store is asked for writes, from now on."""
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    marks: list[int] = []
    noticed = store.noticed
    monkeypatch.setattr(store, "noticed", lambda mark: (marks.append(mark), noticed(mark))[1])
    return marks


def test_a_search_asks_nothing_after_writes_of_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("m", "oak", scope=JANE)
        assert len(index.search("oak", scope=JANE)) == 1
        marks = asked(index, monkeypatch)
        for n in range(5):
            index.upsert(f"m{n}", "oak", scope=JANE)
            index.upsert("own", f"oak {n}", scope=Scope("acme", user=f"u{n}"))
            assert len(index.search("oak", scope=JANE)) == n + 2
        assert marks == []
        other.upsert("theirs", "oak", scope=JANE)
        assert len(index.search("oak", scope=JANE)) == 7
        assert marks == [11], "what it wrote itself it need not see again"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_write_of_another_process_around_a_commit_is_seen(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run just before the transaction begins, or between its commit and the read of its result."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        for one in (index, other):
            one.upsert(f"m{one is other}", "oak", scope=JANE)
            assert index.search("oak", scope=JANE)
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        head, n_looks = store.head, [0]

        def looking() -> bytes | None:
            n_looks[0] += 1
            if when == "after" and n_looks[0] == 2:
                other.upsert("theirs", "oak", scope=JANE)
            return head()  # type: ignore[no-any-return]

        monkeypatch.setattr(store, "head", looking)
        if when == "before":
            other.upsert("theirs", "oak", scope=JANE)
        index.upsert("own", "oak", scope=JANE)
        assert n_looks[0] == 2
        assert {hit.id for hit in index.search("oak", scope=JANE)} == {"mFalse", "mTrue", "theirs", "own"}


def test_threads_and_processes_see_each_other(tmp_path: Path) -> None:
    """Two indexes of one file, two threads each: every thread finds its own writes, and in the end all find
    everything."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as one, Index.open(path) as other:
        failures: list[str] = []

        def work(index: Index, name: str) -> None:
            for n in range(60):
                index.upsert(f"{name}-{n}", f"word{name}x{n}", scope=JANE)
                if index.search(f"word{name}x{n}", scope=JANE)[0].id != f"{name}-{n}":
                    failures.append(f"{name}-{n}")

        threads = [
            threading.Thread(target=work, args=(index, f"{letter}{i}"))
            for letter, index in (("a", one), ("b", other))
            for i in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        for index in (one, other):
            assert index.count(JANE) == 240
            for name in ("a0", "a1", "b0", "b1"):
                for n in range(60):
                    assert index.search(f"word{name}x{n}", scope=JANE)[0].id == f"{name}-{n}"
            assert index.admin.check().problems == []


def test_one_commit_follows_another() -> None:
    def head(count: int) -> bytes:
        return bytes(8) + count.to_bytes(4, sys.byteorder) + bytes(36)

    assert follows(head(5), head(6))
    assert not any(follows(head(a), head(b)) for a, b in ((5, 5), (5, 7), (6, 5), (5, 0)))


# ---------------------------------------------------------------------- searches beside a commit of this process


def test_a_search_beside_a_commit_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is committed but not yet in the engine is this process's own, and not acknowledged yet."""
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert("m", "oak", scope=JANE)
        assert len(index.search("oak", scope=JANE)) == 1
        marks = asked(index, monkeypatch)
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        apply, found = residency.apply, []

        def look_first(*change: Any) -> None:
            found.append(len(index.search("oak", scope=JANE)))
            apply(*change)

        monkeypatch.setattr(residency, "apply", look_first)
        index.upsert("own", "oak", scope=JANE)
        assert (found, marks) == ([1], [])
        assert len(index.search("oak", scope=JANE)) == 2
        assert marks == []


@pytest.mark.parametrize("fails", [False, True])
def test_a_search_waits_for_the_outcome_of_a_commit_that_it_saw(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit shows in the file before COMMIT returns: a search that ends in between reads nothing if it succeeds."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("m", "oak", scope=JANE)
        assert len(index.search("oak", scope=JANE)) == 1
        marks = asked(index, monkeypatch)
        monkeypatch.setattr("scrubjay.store.residency.residency._UNDECIDED_SECONDS", 60)
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        call, threads, found = store.group._connection.call, [], []

        def commit(function: Any, *arguments: Any) -> Any:
            if arguments != ("COMMIT",):
                return call(function, *arguments)
            call(function, "ROLLBACK" if fails else "COMMIT")
            if fails:
                other.upsert("theirs", "oak", scope=JANE)
            assert residency._explanation(store.glance()) is not None
            thread = threading.Thread(target=lambda: found.append(len(index.search("oak", scope=JANE))))
            threads.append(thread)
            thread.start()
            while not residency._own._gates:
                assert thread.is_alive()
                time.sleep(0.001)
            assert found == []
            if fails:
                raise sqlite3.OperationalError("database or disk is full")
            return None

        with monkeypatch.context() as patched:
            patched.setattr(store.group._connection, "call", commit)
            with pytest.raises(StoreError, match="full") if fails else nullcontext():
                index.upsert("own", "oak", scope=JANE)
        threads[0].join()
        assert found == [2] if fails else found[0] in (1, 2)  # not acknowledged before the search began
        assert bool(marks) == fails
        assert len(index.search("oak", scope=JANE)) == 2


def test_the_log_is_copied_into_the_file_after_the_write_is_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not within COMMIT, where searches would see a commit without an outcome for as long as that takes."""
    monkeypatch.setattr("scrubjay.store.sqlite.group._CHECKPOINT_PAGES", 20)
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        index.upsert("m", "oak", scope=JANE)
        assert len(index.search("oak", scope=JANE)) == 1
        marks = asked(index, monkeypatch)
        group: Any = Backend.of(index).engine.store.group  # type: ignore[union-attr]
        checkpoint, found = group._checkpoint, []

        def look_first() -> None:
            assert not group._connection.in_transaction
            found.append((n, len(index.search("oak", scope=JANE, k=1_000))))
            checkpoint()

        monkeypatch.setattr(group, "_checkpoint", look_first)
        for n in range(200):
            index.upsert(f"m{n}", "oak", scope=JANE)
        assert len(found) > 20 and all(n_found == n + 2 for n, n_found in found)
        assert len(marks) <= len(
            found
        )  # the log begins anew after each, which a search cannot tell from a commit
        assert path.with_name(path.name + "-wal").stat().st_size < 60 * 8_300


def test_writes_of_another_process_after_a_failed_commit_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change token cannot distinguish the two, until the failure of the own commit is known."""
    path, bob = tmp_path / "memories.scrubjay", Scope("acme", user="bob")
    with Index.open(path) as index, Index.open(path) as other:
        for one in (index, other):
            one.upsert(f"m{one is other}", "oak", scope=bob)
            assert index.search("oak", scope=bob)
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        marks = asked(index, monkeypatch)
        call, found = store.group._connection.call, []

        def fail(function: Any, *arguments: Any) -> Any:
            if arguments != ("COMMIT",):
                return call(function, *arguments)
            call(function, "ROLLBACK")  # as SQLite does by itself if the disk is full
            other.upsert("theirs", "oak", scope=bob)
            assert residency._explanation(store.glance()) is not None
            found.append({hit.id for hit in index.search("oak", scope=bob)})
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(store.group._connection, "call", fail)
        with pytest.raises(StoreError, match="full"):
            index.upsert("own", "oak", scope=JANE)
        assert found == [{"mFalse", "mTrue", "theirs"}]
        assert len(marks) == 1
        assert {hit.id for hit in index.search("oak", scope=bob)} == found[0]
