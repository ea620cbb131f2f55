"""The latency benchmarks measure what they claim: exact answers, no coordinated omission, every workload."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns, sleep

import numpy as np
import pytest
from benchmarks import memories, recording, vectors
from benchmarks.latency import __main__ as latency
from benchmarks.latency import engine as asked
from benchmarks.latency import page, targets
from benchmarks.latency.sizes import QUICK

from scrubjay import RRF, Query
from tests.reference.model import ModelEngine
from tests.reference.scopes import Scope as ModelScope

TINY = replace(
    QUICK, n_queries=12, n_checked=6, load_seconds=0.05, each=40, large=120, n_users=2, strangers=2
)


pytestmark = pytest.mark.usefixtures("benchmark_cache")


# Vectors


def test_smaller_sets_of_vectors_begin_larger_ones() -> None:
    many = vectors.clustered(25_000, 8, seed=3)
    assert np.array_equal(many[:700], vectors.clustered(700, 8, seed=3))
    assert np.array_equal(many[:20_001], vectors.clustered(20_001, 8, seed=3))
    assert np.allclose(np.linalg.norm(many, axis=1), 1.0, atol=1e-5)
    assert not np.array_equal(many[:700], vectors.clustered(700, 8, seed=4))


def test_questions_are_near_what_they_ask_for() -> None:
    some = vectors.clustered(200, 256)
    cosines = np.sum(some * vectors.near(some, seed=1), axis=1)
    assert cosines.min() > 0.85
    assert cosines.max() < 0.95


def test_nearest_breaks_ties_by_row() -> None:
    some = np.eye(4, dtype=np.float32)[[0, 1, 0, 0]]
    assert vectors.nearest(some, np.array([1, 0, 0, 0], dtype=np.float32), 2).tolist() == [0, 2]
    assert vectors.nearest(some, np.array([1, 0, 0, 0], dtype=np.float32), 9).tolist() == [0, 2, 3, 1]


def test_real_vectors_are_left_out_where_there_are_none(tmp_path: Path) -> None:
    assert vectors.real(384, tmp_path) is None
    assert vectors.real(17, tmp_path) is None


# The exact answer


def test_the_exact_answer_is_the_oracles() -> None:
    whole = memories.shared(60, 30, 20, 16, use_system=False)
    everybody = memories.Block(0, 110, "jane", "coder")
    oracle = ModelEngine(16, dtype="f32", k1=1.2, b=0.75)
    for block in whole.blocks:
        rows = range(block.first, block.last)
        scope = ModelScope(memories.TENANT, user=block.user, agent=block.agent)
        oracle.upsert_many(
            list(rows),
            whole.texts[block.first : block.last],
            scope=scope,
            vectors=whole.vectors[block.first : block.last],
        )
    exact = memories.Exact(whole, candidates=20)
    plain = Query(RRF(60.0), identifier_tier=False, candidates=20)
    for question in whole.questions([everybody], 8, seed=2):
        scope = ModelScope(memories.TENANT, user="jane", agent="coder")
        found = oracle.search(question.query.text, vector=question.vector, scope=scope, k=10, query=plain)
        right = exact.fused(question)
        best = sorted(right, key=lambda row: (-right[row], row))[:10]
        assert [right[int(row)] for row in found.ids] == pytest.approx([right[row] for row in best])
        assert exact.recall(question, [int(row) for row in found.ids], 10) == 1.0


def test_recall_counts_ties_as_right_and_others_as_wrong() -> None:
    whole = memories.of_users(1, 50, 50, 16, use_system=False)
    exact = memories.Exact(whole)
    [question] = whole.questions(whole.blocks[1:], 1)
    right = exact.fused(question)
    best = sorted(right, key=right.__getitem__, reverse=True)
    assert min(right) >= 50  # nobody else's
    assert exact.recall(question, best[:10], 10) == 1.0
    assert exact.recall(question, [*best[:5], 0, 1, 2, 3, 4], 10) == pytest.approx(0.5, abs=0.11)
    assert exact.recall(question, [], 10) == 0.0


def test_a_filter_is_applied_before_ranking() -> None:
    whole = memories.of_users(0, 0, 80, 16, use_system=False)
    exact = memories.Exact(whole)
    [question] = whole.questions(whole.blocks, 1)
    allowed = np.arange(80) % 4 == 1
    assert set(exact.fused(question, allowed)) <= set(np.flatnonzero(allowed).tolist())
    assert set(exact.nearest(question, 80)[allowed[exact.nearest(question, 80)]].tolist()) <= set(
        exact.fused(question, allowed)
    )


def test_questions_are_seeded_and_stay_with_one_user_for_a_while() -> None:
    whole = memories.of_users(3, 30, 30, 8, use_system=False)
    questions = whole.questions(whole.blocks[1:], 40, each=10)
    assert [question.user for question in questions] == ["u0"] * 10 + ["u1"] * 10 + ["u2"] * 10 + ["u0"] * 10
    again = whole.questions(whole.blocks[1:], 40, each=10)
    assert [question.query for question in questions] == [question.query for question in again]
    long = whole.questions(whole.blocks, 5, words=(30, 100))
    assert all(30 <= len(question.query.text.split()) <= 100 for question in long)


# Recording


def test_a_stall_makes_those_behind_it_late() -> None:
    stalled = recording.open_loop(lambda n: sleep(0.05 if n == 0 else 0.0), range(20), 1_000, 0.02)
    assert stalled["latency"][5] > 40_000_000  # its own call took no time, but it was due 45 ms earlier
    assert np.median(stalled["service"][1:]) < 20_000_000  # since other processes may be busy


def test_the_concurrent_writer_keeps_running_and_reraises_its_error() -> None:
    done = []
    with recording.ConcurrentWriter(done.append, 1_000) as beside:
        end = time.monotonic() + 60
        while len(done) <= 5 and time.monotonic() < end:
            sleep(0.05)
    assert len(done) == len(beside.latency_ns) > 5
    assert done == list(range(len(done)))

    def fail(_: int) -> None:
        raise KeyError("here")

    with pytest.raises(KeyError), recording.ConcurrentWriter(fail, 1_000):
        sleep(0.05)


def test_throughput_counts_all_threads() -> None:
    seen: set[int] = set()

    def call(_: int) -> None:
        seen.add(threading.get_ident())
        sleep(0.005)  # sleeping needs no CPU, which other processes may use

    one = recording.throughput(call, range(10), [None], 0.5)
    two = recording.throughput(call, range(10), [None, None], 0.5)
    assert len(seen) >= 2
    assert 20 < one <= 200
    assert two > one


def test_a_slow_call_gets_fewer_items() -> None:
    found = recording.interleaved({"slow": lambda _: time.sleep(0.002)}, range(200), seconds=0.02, n_passes=1)
    assert found["slow"]["queries"] < 50
    assert found["slow"]["p50"] >= 2_000
    assert found["slow"]["p99.9"] >= found["slow"]["p50"]


def test_waiting_ends_at_the_moment() -> None:
    moment = perf_counter_ns() + 3_000_000
    recording.wait_until(moment)
    assert perf_counter_ns() >= moment


# The command


def test_parameters_are_found_in_python_and_in_native_functions() -> None:
    import scrubjay

    assert asked.accepts(scrubjay.Index.search, "query")
    assert asked.accepts(scrubjay.Engine.search, "query")
    assert not asked.accepts(scrubjay.Engine.search, "nonsense")
    assert "default" in asked.recall_settings()


def test_every_workload_runs_on_tiny_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name in latency.WORKLOADS if name != "text"]
    report = latency.run(names, replace(TINY, big=150))
    rows = {(row["workload"], row["how"]): row for row in report["rows"]}
    for workload in ("user-1k", "user-10k"):
        assert rows[workload, "hybrid"]["recall"] > 0.97
        assert rows[workload, "hybrid@1m"]["recall"] > 0.97
    assert rows["multi", "hybrid"]["recall"] > 0.97
    assert rows["big", "hybrid, default"]["recall"] > 0.97
    assert rows["agent", "30 to 100 terms"]["p50"] > 0
    assert report["load"][0]["upserts_a_second"] > 0
    assert {store["store"] for store in report["stores"]} == {"users", "users@1m", "multi", "big"}
    assert "| user-10k | hybrid |" in page.page(json.loads(json.dumps(report)))


def test_targets_are_judged_by_their_figures() -> None:
    row = {"workload": "user-1k", "how": "hybrid", "p50": 10.0, "p95": 30.0, "recall": 0.98}
    found = {one["what"]: one for one in targets.judged({"rows": [row], "threads": []})}
    assert found["1,000 memories, p50 us"]["met"]
    assert not found["1,000 memories, p95 us"]["met"]
    assert not found["recall@10, user-1k (the worst row)"]["met"]


def test_a_time_at_a_recall_is_that_of_the_fastest_row_that_has_it() -> None:
    rows = [
        {"workload": "big", "how": how, "p50": p95 / 2, "p95": p95, "recall": recall}
        for how, p95, recall in (("a", 500.0, 0.97), ("b", 900.0, 0.985), ("c", 1_500.0, 0.999))
    ]

    def judged(some: list[dict[str, object]]) -> dict[str, object]:
        (one,) = targets.judged({"rows": some})
        return one

    assert judged(rows)["measured"] == 900.0 and judged(rows)["met"] and "(b)" in str(judged(rows)["what"])
    assert judged(rows[2:])["measured"] == 1_500.0 and not judged(rows[2:])["met"]
    assert not judged(rows[:1])["met"]


def test_an_unknown_workload_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        latency.main(["--only", "users,magic"])
    assert "magic" in capsys.readouterr().err
