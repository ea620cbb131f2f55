"""Several processes and threads over one file: visibility, and the duration of lock waits."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.rows.values import Identity
from scrubjay.store.sqlite import schema

ACME = Scope("acme")
JANE = Scope("acme", user="jane")
GLOBEX = Scope("globex")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def ids(index: Index, query: str = "oak", scope: Scope = JANE) -> list[Any]:
    return [hit.id for hit in index.search(query, scope=scope, k=1000)]


def test_another_connection_sees_each_write_at_its_next_search(path: Path) -> None:
    """Two indexes in one process are as independent as two processes."""
    with Index.open(path) as writer, Index.open(path) as reader:
        assert ids(reader) == []
        for i in range(20):
            writer.upsert(i, f"oak {i}", scope=JANE if i % 3 else ACME)
            assert sorted(ids(reader)) == list(range(i + 1))
        writer.upsert(1, "beech", scope=JANE)
        assert 1 not in ids(reader)
        writer.delete(2, scope=JANE)
        assert 2 not in ids(reader)
        writer.upsert_many([{"id": 100 + i, "text": "oak", "scope": JANE} for i in range(50)])
        assert sum(id >= 100 for id in ids(reader)) == 50
        writer.erase(JANE)
        assert sorted(ids(reader)) == [0, 3, 6, 9, 12, 15, 18]
        writer.admin.compact()
        writer.upsert(7, "oak back", scope=GLOBEX)  # an id that the reader knew in another scope
        assert ids(reader, scope=GLOBEX) == [7]
        assert reader.admin.check().problems == []
        # and back
        reader.upsert(8, "oak mine", scope=GLOBEX)
        assert ids(writer, scope=GLOBEX) == [7, 8]
        writer.upsert(1009, "oak", scope=GLOBEX)
        assert ids(reader, scope=GLOBEX) == ids(writer, scope=GLOBEX)
        assert sorted(ids(reader, scope=GLOBEX)) == [7, 8, 1009]


def test_an_id_that_moved_is_found_where_it_is(path: Path) -> None:
    with Index.open(path) as one, Index.open(path) as two:
        one.upsert("x", "oak", scope=ACME)
        one.upsert("y", "oak", scope=GLOBEX)
        assert ids(two, scope=ACME) == ["x"]
        assert ids(two, scope=GLOBEX) == ["y"]
        one.delete("x", scope=ACME)
        one.upsert("x", "oak moved", scope=GLOBEX)
        assert ids(two, scope=GLOBEX) == ["y", "x"]
        assert ids(two, scope=ACME) == []
        one.delete("x", scope=GLOBEX)
        one.upsert("x", "oak", scope=ACME)
        two.upsert("z", "oak", scope=ACME)  # writes before it has looked
        assert ids(two, scope=ACME) == ["x", "z"]
        assert two.admin.check().problems == one.admin.check().problems == []


@pytest.mark.parametrize("seed", range(6))
def test_two_writers_at_random_agree_with_the_rows(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    scopes = [ACME, JANE, GLOBEX]
    with Index.open(path, memory_budget=20_000 if seed % 2 else None) as one, Index.open(path) as two:
        for _ in range(120):
            index = rng.choice([one, two])
            id = rng.randrange(25)
            kind = rng.randrange(10)
            if kind < 5:
                index.upsert(id, f"oak {rng.randrange(9)}", scope=rng.choice(scopes))
            elif kind < 7:
                index.delete(id, scope=rng.choice(scopes))
            elif kind == 7:
                index.erase(rng.choice(scopes), exact=rng.random() < 0.5)
            elif kind == 8 and rng.random() < 0.2:
                index.admin.compact()
            scope = rng.choice(scopes)
            assert ids(one, scope=scope) == ids(two, scope=scope)
            assert one.count(scope) == two.count(scope) == len(ids(one, scope=scope))
        assert one.admin.check().problems == two.admin.check().problems == []


def _write_until(path: str, seen: Any, started: Any) -> None:
    """At least 60 batches, and until the reader has seen some arrive."""
    with Index.open(path, durability="normal") as index:
        started.set()
        for i in range(20_000):
            if i >= 60 and seen.is_set():
                break
            index.upsert_many([{"id": i * 4 + j, "text": f"oak {i}", "scope": JANE} for j in range(4)])


def test_a_process_sees_whole_batches_of_another(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    started, seen = context.Event(), context.Event()
    process = context.Process(target=_write_until, args=(str(path), seen, started))
    with Index.open(path) as reader:
        process.start()
        assert started.wait(120)
        sizes = []
        while process.is_alive():
            sizes.append(len(ids(reader)))
            assert sizes[-1] % 4 == 0
            if len(set(sizes)) > 2:
                seen.set()
        process.join()
        assert process.exitcode == 0
        assert sizes == sorted(sizes)
        assert len(ids(reader)) == min(reader.count(JANE), 1000) >= 240
        assert len(set(sizes)) > 2, "the reader looked while the other wrote"


def test_a_killed_writer_leaves_what_it_acknowledged(path: Path) -> None:
    """The short form of tests/crash, for every platform: batches are acknowledged, then the process is killed."""
    code = f"""
from scrubjay import Index, Scope
index, number = Index.open({str(path)!r}), 0
while True:
    rows = [{{"id": 3 * number + i, "text": f"oak {{number}}"}} for i in range(3)]
    index.upsert_many(rows, scope=Scope("acme", user="jane"))
    print(number, flush=True)
    number += 1
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(next(writer.stdout)) for _ in range(10)]
        writer.kill()
        acknowledged += [
            int(line) for line in writer.stdout.read().splitlines(keepends=True) if line[-1] == "\n"
        ]
    assert acknowledged == list(range(len(acknowledged))) and writer.wait() != 0
    with Index.open(path) as index:
        assert index.admin.check().problems == []
        n_batches = index.count(JANE) // 3
        assert index.count(JANE) == 3 * n_batches and n_batches - len(acknowledged) in (
            0,
            1,
        )  # whole, and no more
        assert sorted(ids(index)) == list(range(3 * n_batches))
        index.upsert(0, "beech", scope=JANE)
        assert ids(index, "beech") == [0]


def test_a_writer_that_waits_too_long_says_so_and_readers_never_wait(path: Path) -> None:
    with Index.open(path, busy_timeout=0.2) as index, Index.open(path, busy_timeout=300) as patient:
        index.upsert("a", "oak", scope=JANE)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            start = time.monotonic()
            with pytest.raises(scrubjay.StoreBusyError, match="another writer"):
                index.upsert("b", "oak", scope=JANE)
            assert 0.15 < time.monotonic() - start < 60
            start = time.monotonic()
            for reader in (index, patient):
                assert ids(reader) == ["a"]
                assert reader.get("a", scope=JANE) is not None
                assert reader.count(JANE) == 1
            assert time.monotonic() - start < 60  # waiting for the writer would take five minutes
        finally:
            other.execute("ROLLBACK")
            other.close()
        index.upsert("b", "oak", scope=JANE)
        assert ids(index) == ["a", "b"]


def _open_at(path: Path, start: threading.Barrier, opened: list[str]) -> None:
    start.wait()
    with Index.open(path, dim=4):
        opened.append("")


def test_a_file_may_be_made_by_many_at_once(tmp_path: Path) -> None:
    """One process creates it, the others wait, even for the write-ahead log, where SQLite itself does not."""
    for round_number in range(30):
        opened: list[str] = []
        start = threading.Barrier(6)
        threads = [
            threading.Thread(target=_open_at, args=(tmp_path / f"{round_number}.sj", start, opened))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 6


def test_a_forked_child_cannot_use_the_index(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert("a", "oak", scope=JANE)
        child = os.fork()
        if child == 0:
            try:
                index.search("oak", scope=JANE)
            except scrubjay.ClosedError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        index.upsert("b", "oak", scope=JANE)
        assert ids(index) == ["a", "b"]


@pytest.mark.parametrize("budget", [None, 30_000])
def test_threads_load_evict_write_and_search(path: Path, budget: int | None) -> None:
    """Every search of a user finds exactly that user's memories, whatever is loaded or evicted meanwhile."""
    n_users, n_each = 12, 20
    users = [Scope("acme", user=f"u{i}") for i in range(n_users)]
    with Index.open(path, durability="normal") as index:
        for i, user in enumerate(users):
            index.upsert_many(
                [{"id": i * 1000 + j, "text": f"oak {j}", "scope": user} for j in range(n_each)]
            )
    failures: list[str] = []
    stop = time.monotonic() + 1.5
    with Index.open(path, durability="normal", memory_budget=budget) as index:

        def search(seed: int) -> None:
            rng = random.Random(seed)
            try:
                while time.monotonic() < stop and not failures:
                    i = rng.randrange(n_users)
                    found = {id for id in ids(index, scope=users[i]) if id % 1000 < 500}
                    if found != {i * 1000 + j for j in range(n_each)}:
                        failures.append(f"user {i}: {len(found)} of {n_each}")
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(repr(error))

        def write() -> None:
            rng = random.Random(99)
            try:
                while time.monotonic() < stop and not failures:
                    i, j = rng.randrange(n_users), 500 + rng.randrange(100)
                    if rng.random() < 0.7:
                        index.upsert(i * 1000 + j, "oak more", scope=users[i])
                        if i * 1000 + j not in ids(index, scope=users[i]):
                            failures.append("a write is not visible")
                    else:
                        index.delete(i * 1000 + j, scope=users[i])
            except BaseException as error:  # noqa: BLE001
                failures.append(repr(error))

        threads = [threading.Thread(target=search, args=(seed,)) for seed in range(4)]
        threads.append(threading.Thread(target=write))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert index.admin.check().problems == []


def test_a_budget_is_kept_and_pinned_partitions_stay(path: Path) -> None:
    users = [Scope("acme", user=f"u{i}") for i in range(30)]
    with Index.open(path, durability="normal") as index:
        for i, user in enumerate(users):
            index.upsert_many(
                [{"id": i * 1000 + j, "text": f"oak number {j}", "scope": user} for j in range(50)]
            )
        index.admin.compact()
        one = Backend.of(index).engine.native.partition_bytes(users[0])  # type: ignore[union-attr]
    with Index.open(path, memory_budget=6 * one) as index:
        assert index.admin.warm(users[0], pin=True) == 50
        for _ in range(2):
            for user in users:
                assert len(ids(index, scope=user)) == 50
                stats = index.admin.stats()
                assert stats["resident_partitions"] <= 7 + 1  # the tenant's own counts as one
                assert stats["documents"] == 1500
            loaded = [p.scope for p in Backend.of(index).engine.residency.resident()]  # type: ignore[union-attr]
            assert users[0] in loaded
            assert users[-1] in loaded
            assert users[5] not in loaded


def test_a_first_write_while_another_opens_is_no_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The properties of an index and its rows are read in one snapshot of the file."""
    read_identity = schema.read_identity
    with Index.open(path) as first:

        def read_then_written(connection: sqlite3.Connection, tables: schema.Tables) -> Identity:
            identity = read_identity(connection, tables)
            monkeypatch.setattr(schema, "read_identity", read_identity)
            first.upsert("m1", "the first document", scope=Scope("acme"))
            return identity

        monkeypatch.setattr(schema, "read_identity", read_then_written)
        with Index.open(path) as second:
            assert second.get("m1", scope=Scope("acme")).text == "the first document"
