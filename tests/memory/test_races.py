"""Concurrent calls that do the same at the same moment, in threads and in processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PolicyCandidate, PreferenceCandidate
from tests.memory.setting import ACME, JANE, JOE, OF_RECORDS, documents_now, open_memory, row_count, texts

ROOT = Path(__file__).resolve().parents[2]
N_THREADS, N_PROCESSES, N_ROUNDS = 8, 2, 6


def together(jobs: list[Callable[[], Any]]) -> list[Any]:
    """Run jobs on separate threads, all started at once."""
    barrier = threading.Barrier(len(jobs))
    results: list[Any] = [None] * len(jobs)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = jobs[number]()
        except BaseException as error:  # noqa: BLE001 - reported to the test
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


CANDIDATES: dict[str, Callable[[int], Any]] = {
    "fact": lambda n: FactCandidate(f"fact number {n}", f"s{n}", "is"),
    "preference": lambda n: PreferenceCandidate(f"key {n}", "the same wish"),
    "episode": lambda n: EpisodeCandidate(f"episode number {n}", "success"),
    "policy": lambda n: PolicyCandidate(f"key {n}", "the same rule"),
}


@pytest.mark.parametrize("kind", CANDIDATES)
def test_eight_threads_propose_the_same(tmp_path: Path, kind: str) -> None:
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=60) as memory:
        for n in range(N_ROUNDS):
            candidate = CANDIDATES[kind](n)
            job = lambda candidate=candidate: memory.propose(candidate, scope=JANE, source="r")  # noqa: E731
            outcomes = together([job] * N_THREADS)
            statuses = sorted(outcome.status for outcome in outcomes)
            assert statuses == ["deduplicated"] * (N_THREADS - 1) + ["written"]
            assert len({outcome.id for outcome in outcomes}) == 1
        assert row_count(memory, f"memory_{kind}") == N_ROUNDS
        assert len(memory.documents) == (N_ROUNDS if kind in ("fact", "episode") else 0)
        assert memory.documents.admin.check().clean


def propose_all(path: Path, go: Path) -> None:
    """Propose, in a separate process and from four threads, what the other processes propose."""
    with open_memory(path, busy_timeout=60) as memory:
        while not go.exists():
            pass
        for n in range(N_ROUNDS):
            jobs = [
                lambda kind=kind, n=n: memory.propose(CANDIDATES[kind](n), scope=JANE, source="r")
                for kind in CANDIDATES
            ]
            for outcome in together(jobs):
                assert outcome.status in ("written", "deduplicated"), outcome
                print(outcome.status, outcome.id)


def test_two_processes_propose_the_same(tmp_path: Path) -> None:
    path, go = tmp_path / "m.scrubjay", tmp_path / "go"
    open_memory(path).close()
    code = "import sys; from pathlib import Path; from tests.memory.test_races import propose_all; "
    code += f"propose_all(Path({str(path)!r}), Path({str(go)!r}))"
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(N_PROCESSES)
    ]
    go.touch()
    said = [
        line.split() for process in processes for line in process.communicate(timeout=120)[0].splitlines()
    ]
    assert [process.returncode for process in processes] == [0] * N_PROCESSES
    assert len(said) == N_PROCESSES * N_ROUNDS * len(CANDIDATES)
    assert (
        sum(status == "written" for status, _ in said)
        == len({id for _, id in said})
        == N_ROUNDS * len(CANDIDATES)
    )
    with open_memory(path) as memory:
        for kind in CANDIDATES:
            assert row_count(memory, f"memory_{kind}") == N_ROUNDS
        assert memory.documents.admin.check().clean and len(memory.documents) == 2 * N_ROUNDS


def test_threads_that_contradict_each_other_leave_one(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=60) as memory:
        for n in range(N_ROUNDS):
            jobs = [
                lambda i=i, n=n: memory.propose(
                    FactCandidate(f"Jane lives at {n} {i}", "Jane", "lives"), scope=JANE, source=f"r{i}"
                )
                for i in range(N_THREADS)
            ]
            outcomes = together(jobs)
            (active,) = memory.list(JANE, kinds=["fact"])
            assert texts(memory, "Jane lives", JANE) == [active.text]
            replaced = [outcome.superseded for outcome in outcomes if outcome.superseded]
            assert len(set(replaced)) == len(replaced) and active.id not in replaced
        assert row_count(memory, "memory_fact") == N_ROUNDS * N_THREADS
        assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_witnesses_at_the_same_moment_promote_once(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=60) as memory:
        for n in range(N_ROUNDS):
            fact = FactCandidate(f"Acme ships number {n}", "acme", f"ships {n}")
            jobs = [
                lambda i=i, fact=fact: memory.propose(fact, scope=Scope("acme", user=f"u{i}"), source=f"r{i}")
                for i in range(N_THREADS)
            ]
            outcomes = together(jobs)
            assert all(outcome.active for outcome in outcomes)
        shared = memory.list(ACME, kinds=["fact"])
        assert len(shared) == N_ROUNDS
        for i in range(N_THREADS):
            assert len(memory.list(Scope("acme", user=f"u{i}"), kinds=["fact"], exact=True)) == 0
        assert len(documents_now(memory, Scope("acme", user="u0"), "ships")) == N_ROUNDS
        assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_forgetting_during_concurrent_writes_leaves_no_partial_record(tmp_path: Path) -> None:
    """Records written after the erasure exist, those written before do not; none exists partially."""
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=60) as memory:

        def write(i: int) -> None:
            for n in range(6):
                memory.propose(FactCandidate(f"fact {i} {n}"), scope=JANE, source="r")
                memory.prefer(f"key {i} {n}", "x", scope=JANE)

        jobs: list[Callable[[], Any]] = [lambda i=i: write(i) for i in range(4)]  # type: ignore[misc]
        results = together([*jobs, lambda: [memory.forget(JANE) for _ in range(4)]])
        assert not [result for result in results if isinstance(result, BaseException)], results
        left = memory.list(JANE)
        assert len(memory.recall("fact", JANE, k=100)) == sum(record.kind == "fact" for record in left)
        assert len(memory.known(JANE).preferences) == sum(record.kind == "preference" for record in left)
        assert row_count(memory, "memory_log", OF_RECORDS) == len(left)
        memory.forget(JANE)
        assert memory.admin.verify_erased(JANE).clean and len(memory.documents) == 0


def test_updates_at_the_same_moment_are_not_lost(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=60) as memory:
        id = memory.propose("tea", scope=JANE, source="r").id or ""
        results = together(
            [lambda i=i: memory.update(id, scope=JANE, content=f"tea {i}") for i in range(N_THREADS)]  # type: ignore[misc]
        )
        done = [result for result in results if not isinstance(result, BaseException)]
        assert done and all("changed in the meantime" in str(r) for r in results if r not in done)
        found = memory.get(id, scope=JANE)
        assert found is not None and found.text in {record.text for record in done}
        assert texts(memory, "tea", JANE) == [found.text] and memory.documents.admin.check().clean
        for _ in range(3):
            together([lambda: memory.feedback(id, scope=JANE)] * N_THREADS)
        assert memory.get(id, scope=JANE).uses == 3 * N_THREADS  # type: ignore[union-attr]


def test_an_update_does_not_undo_another(tmp_path: Path) -> None:
    """Another writer changes the record while the new text is being embedded."""

    class Meddling:
        name, dim = "meddling", 2
        meddle: Callable[[], Any] | None = None

        def embed_documents(self, texts: Any) -> Any:
            meddle, self.meddle = self.meddle, None
            if meddle is not None:
                together([meddle])
            return np.ones((len(texts), 2), np.float32)

        def embed_query(self, text: str) -> Any:
            return np.ones(2, np.float32)

    embedder = Meddling()
    with open_memory(tmp_path / "m.scrubjay", embedder=embedder) as memory:
        id = memory.propose("tea", scope=JANE, source="r").id or ""
        embedder.meddle = lambda: memory.update(id, scope=JANE, content="tea of another", confidence=0.8)
        with pytest.raises(scrubjay.ConflictError, match="changed in the meantime"):
            memory.update(id, scope=JANE, content="tea of mine")
        assert texts(memory, "tea", JANE) == ["tea of another"]
        embedder.meddle = lambda: memory.delete(id, scope=JANE)
        with pytest.raises(scrubjay.ConflictError, match="changed in the meantime"):
            memory.update(id, scope=JANE, content="tea of mine")
        assert memory.list(JANE, hidden=True) == [] and len(memory.documents) == 0


def test_memories_of_one_file_in_one_process_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path, busy_timeout=60) as one, open_memory(path, busy_timeout=60) as two:

        def write(memory: Memory, scope: Scope) -> None:
            for n in range(20):
                memory.propose(FactCandidate(f"Jane lives at {n}", "Jane", "lives"), scope=scope, source="r")

        results = together([lambda: write(one, JANE), lambda: write(two, JANE), lambda: write(two, JOE)])
        assert results == [None] * 3
        for memory in (one, two):
            assert len(memory.list(JANE)) == len(memory.recall("lives", JANE)) == 1
            assert memory.documents.admin.check().clean
