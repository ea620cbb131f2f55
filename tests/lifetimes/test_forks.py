"""After a fork, the child's locks are free; an index on a file belongs to the parent, and a new one works."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import ClosedError, Index, Scope
from scrubjay.backend import Backend
from scrubjay.base import locks
from scrubjay.base.locks import is_mine, renew_in_children
from scrubjay.embedders import QueryCache
from scrubjay.retrieval import Counters
from scrubjay.store.sqlite.connections import StoreConnection, connect

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
JANE = Scope("acme", user="jane")


def in_child(work: Callable[[], object], seconds: float = 120) -> int | None:
    """Run a function in a forked child; return its exit code, or None if it hung."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


class SlowToOpen(sqlite3.Connection):
    """A connection whose open call takes 0.2 s; base class between StoreConnection and SQLite."""

    inside, opened = threading.Event(), threading.Event()

    def __init__(self, path: str, **options: Any) -> None:
        self.inside.set()
        time.sleep(0.2)
        super().__init__(path, **options)
        self.opened.set()


class SlowStoreConnection(StoreConnection, SlowToOpen):
    pass


class Owner:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.many = [threading.RLock(), threading.RLock()]
        renew_in_children(self, "lock", "many")


def test_a_lock_that_another_thread_holds_is_free_in_the_child() -> None:
    owner, release = Owner(), threading.Event()
    held = threading.Event()

    def hold() -> None:
        with owner.lock, owner.many[1]:
            held.set()
            release.wait(120)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def work() -> None:
        assert (
            owner.lock.acquire(timeout=5)
            and owner.many[0].acquire(timeout=5)
            and owner.many[1].acquire(timeout=5)
        )

    assert in_child(work) == 0
    assert owner.lock.locked() and not is_mine(owner.many[0])  # nothing changed in the parent
    release.set()
    thread.join()


def test_a_fork_waits_until_a_guarded_change_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrubjay.base.locks._MAX_WAIT_SECONDS", 300.0)  # the machine may be busy
    owner = Owner()
    pair = [0, 0]
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            with owner.lock:
                pair[0] += 1
                time.sleep(0.001)
                pair[1] += 1
            time.sleep(0.001)  # locks are unfair: a thread that reacquires at once may starve the others

    thread = threading.Thread(target=change)
    thread.start()

    def work() -> None:
        assert pair[0] == pair[1]

    try:
        assert [in_child(work) for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        thread.join()


def test_a_fork_waits_for_a_connection_that_is_being_opened(tmp_path: Path) -> None:
    """The locks of SQLite that its open call holds would stay locked in the child."""
    path = tmp_path / "index"
    Index.open(path, durability="normal").close()
    thread = threading.Thread(target=lambda: SlowStoreConnection(str(path), check_same_thread=False).close())
    thread.start()
    SlowToOpen.inside.wait()

    def work() -> None:
        assert SlowToOpen.opened.is_set()
        with Index.open(path, durability="normal") as own:
            own.upsert(1, "of a child", scope=JANE)

    assert in_child(work) == 0
    thread.join()


def test_children_open_files_while_threads_of_their_parent_do(tmp_path: Path) -> None:
    path = tmp_path / "index"
    Index.open(path, durability="normal").close()
    stop = threading.Event()

    def reopen() -> None:
        while not stop.is_set():
            connect(path, durability="normal", busy_seconds=20).close()

    def work() -> None:
        with Index.open(path, durability="normal") as own:
            assert own.count(JANE) == 0

    threads = [threading.Thread(target=reopen) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(work) for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_fork_waits_for_cursors_that_are_freed_half_way(tmp_path: Path) -> None:
    """Freeing a cursor resets its statement, which takes locks of SQLite."""
    path = tmp_path / "index"
    Index.open(path, durability="normal").close()
    stop = threading.Event()

    def read() -> None:
        connection = connect(path, durability="normal", busy_seconds=20)
        while not stop.is_set():
            connection.execute("SELECT name FROM sqlite_master").fetchone()
        connection.close()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()

    def work() -> None:
        connect(path, durability="normal", busy_seconds=20).close()

    try:
        assert [in_child(work) for _ in range(60)] == [0] * 60
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_caches_and_counters_answer_in_a_child() -> None:
    cache, counters, stop = QueryCache(), Counters(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            cache.stats()
            counters.add("searches_total")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()

    def child() -> None:
        cache.stats()
        cache.get("a")
        counters.render()

    try:
        assert [in_child(child) for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_an_index_on_a_file_belongs_to_the_parent(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = Index.open(path, durability="normal")
    index.upsert_many([{"id": i, "text": f"text {i}", "scope": JANE} for i in range(300)], progress=False)
    half_way = Backend.of(index).engine.store.rows(JANE, now=0)  # type: ignore[union-attr]
    connection = Backend.of(index).engine.store.reading_connection()  # type: ignore[union-attr]
    cursor = connection.execute("SELECT * FROM meta")
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            index.get(7, scope=JANE)
            index.search("text", scope=JANE)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()

    def child() -> None:
        for call in (
            lambda: index.get(7, scope=JANE),
            lambda: index.search("text", scope=JANE),
            lambda: index.list(JANE),
            lambda: index.upsert(1, "changed", scope=JANE),
            lambda: index.collection("new"),
            lambda: next(half_way),
            lambda: cursor.fetchone(),
        ):
            with pytest.raises(ClosedError):
                call()
        index.close()
        with Index.open(path, durability="normal") as own:
            assert own.get(7, scope=JANE).text == "text 7"  # type: ignore[union-attr]
            own.upsert(1000 + os.getpid(), "of a child", scope=JANE)

    try:
        assert [in_child(child) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    cursor.close()  # and the snapshot that it reads
    assert len(index) == 305  # the parent sees its children's writes
    assert index.admin.check().clean
    index.close()


def test_a_fork_waits_for_no_lock_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for a connection hold other locks; in the opposite order, the fork would time out."""
    monkeypatch.setattr(locks, "_MAX_WAIT_SECONDS", 40.0)
    index = Index.open(tmp_path / "index", durability="normal")
    index.upsert_many([{"id": i, "text": f"text {i}", "scope": JANE} for i in range(300)], progress=False)
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            index.get(7, scope=JANE)
            index.search("text", scope=JANE)

    def write() -> None:  # as another process: the readers have to catch up
        with Index.open(tmp_path / "index", durability="normal") as own:
            own.upsert(os.getpid(), "of a child", scope=JANE)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        start = time.monotonic()
        assert [in_child(write) for _ in range(60)] == [0] * 60
        assert time.monotonic() - start < 40
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert index.count(JANE) == 360
    index.close()
