"""Images are written and memory is released in the background, without blocking any caller."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.residency.budget import Budget
from scrubjay.store.residency.partition import Partition

JANE = Scope("acme", user="jane")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def records(n: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": first + i, "text": f"oak {i}", "scope": JANE} for i in range(n)]


def stale(index: Index) -> list[Scope]:
    return Backend.of(index).engine.store.stale_scopes()  # type: ignore[union-attr, no-any-return]


@pytest.mark.usefixtures("eager_housekeeping")
def test_a_written_scope_gets_an_image_when_idle(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many(records(10))
        time.sleep(0.1)
        assert stale(index) == [JANE]  # so few changes are replayed in no time
        index.upsert_many(records(200, 10))
        wait_for(lambda: stale(index) == [])
        assert index.admin.check().images == 1
        index.upsert(500, "a late oak", scope=JANE)
        time.sleep(0.1)
        assert stale(index) == [JANE]


@pytest.mark.usefixtures("eager_housekeeping")
def test_a_scope_loaded_from_rows_gets_an_image(path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, sys
        from scrubjay import Index, Scope
        index = Index.open(sys.argv[1])
        jane = Scope("acme", user="jane")
        index.upsert_many([{"id": i, "text": f"oak {i}", "scope": jane} for i in range(300)])
        os.kill(os.getpid(), 9)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    with Index.open(path) as index:
        assert stale(index) == [JANE]
        assert len(index.search("oak", scope=JANE)) == 10
        wait_for(lambda: stale(index) == [])


@pytest.mark.usefixtures("eager_housekeeping")
def test_a_damaged_image_is_replaced_by_one_of_the_same_version(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many(records(200))
        wait_for(lambda: stale(index) == [])
    with Index.open(path) as index:
        writer = Backend.of(index).engine.store._writer  # type: ignore[union-attr]
        writer.execute("UPDATE image SET data = zeroblob(length(data))")
        assert len(index.search("oak", scope=JANE)) == 10

        def repaired() -> bool:
            (data,) = writer.execute("SELECT data FROM image").fetchone()
            return any(data)

        wait_for(repaired)
        assert index.admin.check().clean


@pytest.mark.usefixtures("eager_housekeeping")
def test_an_image_that_was_overtaken_by_an_erasure_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(path) as index:
        index.upsert_many(records(200))
        wait_for(lambda: stale(index) == [])
        home = Backend.of(index).engine.residency  # type: ignore[union-attr]
        partition = home.partition(JANE)
        made, go_on = threading.Event(), threading.Event()
        real = Backend.of(index).engine.store.writing  # type: ignore[union-attr]

        def slow(doing: str, **options: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                made.set()
                go_on.wait(120)
            return real(doing, **options)

        monkeypatch.setattr(Backend.of(index).engine.store, "writing", slow)  # type: ignore[union-attr]
        saver = threading.Thread(target=home.save, args=[partition], kwargs={"wait": True})
        saver.start()
        assert made.wait(120)  # the bytes of the image are there, but not written yet
        assert index.erase(JANE) == 200
        go_on.set()
        saver.join()
        (n_images,) = Backend.of(index).engine.store._writer.execute("SELECT count(*) FROM image").fetchone()  # type: ignore[union-attr]
        assert n_images == 0
        assert index.admin.check().clean


@pytest.mark.usefixtures("eager_housekeeping")
def test_an_impatient_writer_waits_for_the_housekeeper(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(path, busy_timeout=0) as index:
        store = Backend.of(index).engine.store  # type: ignore[union-attr]
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with store.writing("writing images", in_background=True):
                held.set()
                done.wait(0.3)

        holder = threading.Thread(target=hold)
        holder.start()
        assert held.wait(120)
        index.upsert(1, "oak", scope=JANE)  # and is no StoreBusyError
        holder.join()

        def hold_for_long() -> None:
            with store.writing("writing"):
                held.set()
                done.wait(120)

        held.clear()
        holder = threading.Thread(target=hold_for_long)
        holder.start()
        assert held.wait(120)
        with pytest.raises(scrubjay.StoreBusyError):
            index.upsert(2, "oak", scope=JANE)
        done.set()
        holder.join()


def test_the_thread_ends_with_the_index(path: Path) -> None:
    others = set(threading.enumerate())

    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread not in others]

    assert threads() == []
    with Index.open(path) as index:
        assert threads() == []  # nothing to do yet
        index.upsert_many(records(100))
        assert len(threads()) == 1
    assert threads() == []
    index = Index.open(path)
    index.admin.warm(JANE)
    index.upsert_many(records(100, 100))
    assert len(threads()) == 1
    del index  # not closed, just dropped
    gc.collect()
    wait_for(lambda: threads() == [])


class Flat:
    """A home whose partitions can all be evicted, except those named."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.gone: list[str] = []
        self.in_use: set[str] = set()
        self.dirty: set[str] = set()

    def add(self, name: str, n_bytes: int) -> Partition:
        partition = Partition(self, Scope(name), 1, empty=True)
        partition.last_used = self.budget.tick()
        self.budget.charge(partition, n_bytes)
        return partition

    def let_go(self, partition: Partition, *, briefly: bool = False) -> bool:
        if partition.scope.tenant in self.in_use or (briefly and partition.scope.tenant in self.dirty):
            return False
        self.gone.append(partition.scope.tenant)
        self.budget.charge(partition, 0)
        return True


def test_the_least_recently_used_go_first() -> None:
    budget = Budget(1000)  # a quarter is set aside
    home = Flat(budget)
    partitions = {name: home.add(name, 200) for name in "abcdef"}
    partitions["a"].last_used = budget.tick()  # used again
    partitions["b"].pinned = True
    home.in_use = {"c"}
    budget.evict(keep=[partitions["d"]])
    assert home.gone == ["e", "f", "a"]
    assert budget.used_bytes == 600
    home.in_use = set()
    budget.charge(partitions["d"], 1000)
    budget.evict()
    assert home.gone == ["e", "f", "a", "c", "d"]
    assert budget.used_bytes == 200  # what is pinned


def test_a_search_evicts_only_what_needs_no_writing() -> None:
    budget = Budget(1000)  # 750 for partitions, and 62 of the reserve
    home = Flat(budget)
    for name in "abcd":
        home.add(name, 200)
    home.dirty = {"a", "b", "c"}
    assert budget.evict(seconds=10.0)
    assert home.gone == ["d"]
    home.add("e", 200)
    home.dirty.add("e")
    assert not budget.evict(seconds=10.0)  # a write leaves it to others
    assert home.gone == ["d"]
    assert budget.evict()
    assert home.gone == ["d", "a"]
    home.add("f", 220)
    assert budget.evict(seconds=10.0)  # so much that it cannot wait
    assert home.gone == ["d", "a", "b"]


def test_a_search_evicts_no_longer_than_it_may() -> None:
    budget = Budget(100_000)
    home = Flat(budget)
    for i in range(780):
        home.add(str(i), 100)
    assert not budget.evict(seconds=0.0)
    assert home.gone == []


def test_evicting_does_not_walk_over_everything() -> None:
    budget = Budget(1_000_000)
    home = Flat(budget)
    for i in range(20_000):
        home.add(str(i), 37)  # 740,000 of 750,000
    looks = 0
    real = home.let_go

    def counted(partition: Partition) -> bool:
        nonlocal looks
        looks += 1
        return real(partition)

    home.let_go = counted  # type: ignore[method-assign]
    for i in range(2000):
        home.add(f"new {i}", 37)
        budget.evict()
    assert budget.used_bytes <= 750_000
    assert looks == len(home.gone) <= 2600


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001, 7, None])
def test_reasons_are_checked(path: Path, reason: Any) -> None:
    with Index.open(path) as index:
        for one in (index, Index()):
            one.upsert(1, "oak", scope=JANE)
            with pytest.raises((ValueError, TypeError), match="reason"):
                one.delete(1, scope=JANE, reason=reason)
            with pytest.raises((ValueError, TypeError), match="reason"):
                one.erase(JANE, reason=reason)
            assert len(one) == 1
        assert index.admin.events() == []


def test_events_carry_the_reason(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many(records(3))
        assert index.delete(1, scope=JANE, reason="request 4711 of the user")
        assert index.erase(JANE, reason="account closed") == 2
        assert [(event.reason, event.documents) for event in index.admin.events()] == [
            ("request 4711 of the user", 1),
            ("account closed", 2),
        ]
