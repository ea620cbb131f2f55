"""A write is acknowledged when it is on the disk, and threads share the wait for it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import FactCandidate, Index, Scope
from scrubjay.store.sqlite import descriptors, syncing
from scrubjay.store.sqlite.group import GroupCommit
from scrubjay.store.sqlite.syncing import SharedSync

SCOPE = Scope("acme")
Spans = list[tuple[float, float]]


def slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Spans:
    """Make the disk slow; return the times of its syncs."""
    spans: Spans = []

    def sync(descriptor: int) -> None:
        begun = time.monotonic()
        time.sleep(seconds)
        os.fsync(descriptor)
        spans.append((begun, time.monotonic()))

    monkeypatch.setattr(syncing, "_sync", sync)
    return spans


def test_threads_wait_together_and_each_for_its_own_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_at: dict[Any, float] = {}
    commit = GroupCommit._commit

    def committed(self: GroupCommit, group: Any, known: Any) -> None:
        commit(self, group, known)
        committed_at.update((write.row.id, time.monotonic()) for write in group.writes)

    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert(0, "the first", scope=SCOPE, vector=np.ones(4))
        spans = slow(monkeypatch, 0.02)
        monkeypatch.setattr(GroupCommit, "_commit", committed)
        writes: Spans = []

        def work(first: int) -> None:
            for id in range(first, first + 10):
                index.upsert(id, f"oak {id}", scope=SCOPE, vector=np.ones(4))
                writes.append((committed_at[id], time.monotonic()))

        threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(writes) == 80
        assert len(spans) < 40
        for written_at, acknowledged_at in writes:
            assert any(written_at <= begun and ended <= acknowledged_at for begun, ended in spans)
        assert len(index) == 81


@pytest.mark.parametrize("write", ["upsert", "upsert_many", "delete", "erase", "patch", "memory"])
def test_every_write_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str) -> None:
    with scrubjay.Memory.open(tmp_path / "memories.scrubjay") as memory:
        index = memory.index
        index.upsert("a", "oak", scope=SCOPE)
        spans = slow(monkeypatch, 0)
        writes: dict[str, Any] = {
            "upsert": lambda: index.upsert("b", "oak", scope=SCOPE),
            "upsert_many": lambda: index.upsert_many([{"id": "b", "text": "oak", "scope": SCOPE}]),
            "delete": lambda: index.delete("a", scope=SCOPE),
            "erase": lambda: index.erase(SCOPE),
            "patch": lambda: index.patch("a", scope=SCOPE, metadata={"stars": 5}),
            "memory": lambda: memory.propose(
                FactCandidate("Jane lives in Rome", "Jane", "lives in"), scope=SCOPE, source="run-1"
            ),
        }
        writes[write]()
        assert spans


def test_normal_durability_waits_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(tmp_path / "memories.scrubjay", durability="normal") as index:
        spans = slow(monkeypatch, 0)
        index.upsert("a", "oak", scope=SCOPE)
        assert spans == []


def test_a_failed_sync_raises_in_every_waiting_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert("a", "oak", scope=SCOPE)
        n_errors = 0

        def fail(descriptor: int) -> None:
            time.sleep(0.05)
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(syncing, "_sync", fail)

        def work(id: str) -> None:
            nonlocal n_errors
            try:
                index.upsert(id, "oak", scope=SCOPE)
            except scrubjay.StoreError:
                n_errors += 1

        threads = [threading.Thread(target=work, args=(f"b{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert n_errors == 6
        assert len(index.search("oak", scope=SCOPE)) == 7  # a committed write is not undone
        monkeypatch.undo()
        with pytest.raises(
            scrubjay.StoreError, match="open it again"
        ):  # an earlier failed write may be missing
            index.upsert("c", "oak", scope=SCOPE)
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert("d", "oak", scope=SCOPE)
        assert len(index.search("oak", scope=SCOPE)) == 9
        assert index.admin.check().clean


def test_closing_waits_for_threads_that_wait_for_a_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch, 0.003)
    n_closed = 0
    for n in range(20):
        path = tmp_path / f"{n}.scrubjay"
        index = Index.open(path)
        written: list[str] = []
        others: list[BaseException] = []

        def work(name: str, index: Index = index, written: list[str] = written, others: Any = others) -> None:
            nonlocal n_closed
            try:
                for i in range(200):
                    index.upsert(f"{name}{i}", "oak", scope=SCOPE)
                    written.append(f"{name}{i}")
            except scrubjay.ClosedError:
                n_closed += 1
            except BaseException as error:  # noqa: BLE001 - it is asserted that there is none
                others.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        while len(written) < 5:
            time.sleep(0.001)
        time.sleep(0.001 * (n % 7))
        index.close()
        for thread in threads:
            thread.join()
        assert others == []
        assert not any(descriptors._descriptors.values())  # none is opened again after it was closed
        with Index.open(path, durability="normal") as again:
            assert len(again) >= len(written)
    assert n_closed == 80


def test_closing_by_a_thread_that_waits_itself_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.open(tmp_path / "memories.scrubjay")
    index.upsert("a", "oak", scope=SCOPE)
    begun = time.monotonic()
    monkeypatch.setattr(syncing, "_sync", lambda descriptor: index.close())  # as a finalizer does
    index.upsert("b", "oak", scope=SCOPE)
    assert time.monotonic() - begun < 20


def test_after_an_interrupted_wait_the_others_sync_again(tmp_path: Path) -> None:
    file = (tmp_path / "log").open("wb")
    entered, leave = threading.Event(), threading.Event()
    waits: list[str] = []

    def descriptor() -> int:
        waits.append(threading.current_thread().name)
        if len(waits) == 1:
            entered.set()
            leave.wait()
            raise KeyboardInterrupt
        return file.fileno()

    shared = SharedSync(descriptor)
    ended: list[str] = []

    def wait() -> None:
        try:
            shared.wait()
            ended.append("waited")
        except KeyboardInterrupt:
            ended.append("interrupted")

    first, second = (threading.Thread(target=wait, name=name) for name in ("first", "second"))
    first.start()
    entered.wait()
    second.start()
    time.sleep(0.05)
    leave.set()
    first.join(10)
    second.join(10)
    file.close()
    assert ended == ["interrupted", "waited"] and waits == ["first", "second"]
