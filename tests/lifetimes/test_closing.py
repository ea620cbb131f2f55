"""Closing during reads, from any thread or callback: readers get a typed error or the right answer."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import ClosedError, FactCandidate, Index, Memory, Scope
from scrubjay.backend import Backend
from scrubjay.store.sqlite.connections import connect

JANE = Scope("acme", user="jane")


def opened(path: Path, **options: Any) -> Index:
    index = Index.open(path, durability="normal", **options)
    index.upsert_many([{"id": i, "text": f"text {i}", "scope": JANE} for i in range(500)], progress=False)
    return index


READS: dict[str, Callable[[Index], object]] = {
    "get": lambda index: index.get(7, scope=JANE),
    "get_many": lambda index: index.get_many([7, 8], scope=JANE),
    "find": lambda index: index.find(7, within=JANE),
    "view": lambda index: len(index.scope(JANE)),
    "list": lambda index: index.list(JANE, limit=3),
    "list with a filter": lambda index: index.list(JANE, filter={"kind": "none"}),
    "search": lambda index: index.search("text", scope=JANE),
    "count": lambda index: index.count(JANE),
    "scopes": lambda index: index.scopes(),
    "events": lambda index: index.admin.events(),
    "check": lambda index: index.admin.check(),
    "encrypted": lambda index: index.admin.encrypted_tenants(),
}


@pytest.mark.parametrize("read", READS)
def test_readers_get_closed_error(tmp_path: Path, read: str) -> None:
    """Runs in its own process: the failure was a segmentation fault."""
    program = f"""
        import threading, time
        from pathlib import Path
        from scrubjay import ClosedError
        from tests.lifetimes.test_closing import READS, opened

        for turn in range(6):
            index = opened(Path({str(tmp_path)!r}) / str(turn))
            failed = []
            def work():
                try:
                    while True:
                        READS[{read!r}](index)
                except ClosedError:
                    pass
                except BaseException as error:
                    failed.append(error)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads: thread.start()
            time.sleep(0.02)
            index.close()
            for thread in threads: thread.join(120)
            assert not failed and not any(thread.is_alive() for thread in threads), failed
    """
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_close_waits_for_the_statement_under_way_and_interrupts_it(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    raised: list[BaseException] = []
    began = threading.Event()

    def read() -> None:
        connection = Backend.of(index).engine.store.reading_connection()  # type: ignore[union-attr]
        began.set()
        try:
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
            ).fetchone()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    began.wait()
    time.sleep(0.05)
    start = time.monotonic()
    index.close()
    assert time.monotonic() - start < 60  # without an interrupt the statement would never end
    thread.join(120)
    assert [type(error) for error in raised] == [ClosedError]


def test_a_cursor_that_is_left_half_way_delays_nobody(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    store = Backend.of(index).engine.store  # type: ignore[union-attr]
    rows = store.rows(JANE, now=0)
    cursor = store.reading_connection().execute(f"SELECT id FROM {store.tables.document}")
    next(rows), next(cursor)
    index.close()
    with pytest.raises(ClosedError):
        list(cursor)
    with pytest.raises(ClosedError):
        store.reading_connection().execute("SELECT 1")
    with pytest.raises(ClosedError):
        list(rows)
    cursor.close()
    gc.collect()


def test_close_inside_of_a_call_into_sqlite_closes_afterwards(tmp_path: Path) -> None:
    """A finalizer may close the index: Python runs it wherever memory is allocated."""
    index = opened(tmp_path / "index")
    store = Backend.of(index).engine.store  # type: ignore[union-attr]
    connection = store.reading_connection()

    def step() -> int:
        index.close()
        return 1

    sqlite3.Connection.create_function(connection, "step", 0, step)
    assert connection.row("SELECT step()") == (1,)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        sqlite3.Connection.execute(connection, "SELECT 1")
    with opened(tmp_path / "index"):
        pass


def test_two_threads_close_at_once(tmp_path: Path) -> None:
    for turn in range(10):
        index = opened(tmp_path / str(turn))
        failed: list[BaseException] = []

        def close(index: Index = index, failed: list[BaseException] = failed) -> None:
            try:
                index.close()
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=close) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not failed and not any(thread.is_alive() for thread in threads)


def test_close_within_a_change_undoes_it(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    change = Backend.of(index).changing("testing")
    change.__enter__().upsert([1000], ["not to be"], scopes=[JANE], vectors=[None], payloads=[None])
    index.close()
    with pytest.raises(ClosedError):
        change.__exit__(None, None, None)
    with Index.open(tmp_path / "index") as again:
        assert len(again) == 500


def test_close_from_a_stemmer_and_an_extractor(tmp_path: Path) -> None:
    closers: list[Callable[[], None]] = []

    def stem(word: str) -> str:
        if word == "vocabulary":
            closers.pop()()
        return word

    index = Index.open(tmp_path / "index", analyzer="tests", stemmer=stem, durability="normal")
    closers.append(index.close)
    done = threading.Thread(
        target=lambda: _ignoring_closed(lambda: index.upsert(1, "vocabulary", scope=JANE))
    )
    done.daemon = True
    done.start()
    done.join(120)
    assert not done.is_alive() and Backend.of(index).is_closed

    memory = Memory.open(tmp_path / "memory", durability="normal")
    with memory.session(JANE, "run") as session:
        session.user("I live in Oslo.")

    def extract(transcript: Any) -> list[Any]:
        memory.close()
        return [FactCandidate("Jane lives in Oslo")]

    with pytest.raises(ClosedError):
        memory.distil_later("run", extract, scope=JANE).result(120)


def _ignoring_closed(call: Callable[[], object]) -> None:
    try:
        call()
    except ClosedError:
        pass


def test_an_index_in_memory_closes_like_one_in_a_file() -> None:
    index = Index()
    index.upsert(1, "one", scope=JANE)
    notes = index.collection("notes")
    notes.upsert(1, "two", scope=JANE)
    view = index.scope(JANE)
    with index:
        assert not Backend.of(index).is_closed
    assert Backend.of(index).is_closed and Backend.of(notes).is_closed
    index.close()
    calls: list[Callable[[], object]] = [
        lambda: index.search("one", scope=JANE),
        lambda: index.get(1, scope=JANE),
        lambda: index.find(1, within=JANE),
        lambda: index.upsert(2, "two", scope=JANE),
        lambda: index.list(JANE),
        lambda: index.collection("more"),
        lambda: index.admin.stats(),
        lambda: len(index),
        lambda: 1 in index.scope(JANE),
        lambda: notes.search("two", scope=JANE),
    ]
    for call in calls:
        with pytest.raises(ClosedError):
            call()
    assert "closed" in repr(index) and "is closed" in repr(view)


def test_a_collection_in_memory_closes_alone() -> None:
    index = Index()
    index.collection("notes").close()
    index.upsert(1, "one", scope=JANE)
    assert len(index) == 1 and len(index.collection("notes")) == 0


def test_no_collection_is_opened_once_the_index_is_closed(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    index.close()
    for call in (
        lambda: index.collection("new"),
        index.admin.collections,
        lambda: index.admin.drop_collection("new"),
    ):
        with pytest.raises(ClosedError):
            call()
    with Index.open(tmp_path / "index") as again:
        assert again.admin.collections() == []


def test_a_connection_is_closed_with_its_thread(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    thread = threading.Thread(target=lambda: index.get(1, scope=JANE))
    before = len(Backend.of(index).engine.store._readers._all)  # type: ignore[union-attr]
    thread.start()
    thread.join()
    end = time.monotonic() + 60
    while len(Backend.of(index).engine.store._readers._all) != before and time.monotonic() < end:  # type: ignore[union-attr]
        time.sleep(0.01)  # join() may return before the locals are freed
        gc.collect()
    assert len(Backend.of(index).engine.store._readers._all) == before  # type: ignore[union-attr]
    index.close()


def test_sqlite_errors_of_a_connection_keep_their_type(tmp_path: Path) -> None:
    connection = connect(tmp_path / "file", durability="normal", busy_seconds=1)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        connection.execute("SELECT * FROM absent")
    assert connection.row("SELECT 1, 2") == (1, 2)
    assert connection.row("SELECT 1 WHERE 0") is None
    connection.close()
    connection.close()
    connection.rollback()
    for call in (connection.cursor, lambda: connection.row("SELECT 1"), connection.commit):
        with pytest.raises(ClosedError):
            call()
