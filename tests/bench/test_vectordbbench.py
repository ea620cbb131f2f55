"""The client works with VectorDBBench's own runners, in one process and in several."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vectordb_bench")

from vectordb_bench.backend.clients.api import MetricType
from vectordb_bench.backend.filter import LabelFilter, NewIntFilter, non_filter
from vectordb_bench.backend.payload import PayloadProfile
from vectordb_bench.backend.runner.serial_runner import SerialSearchRunner
from vectordb_bench.backend.workload import WorkloadKind

from scrubjay.bench.vectordbbench import Scrubjay, ScrubjayConfig, ScrubjayIndexConfig

N, DIM, K = 500, 12, 10
VECTORS = np.random.default_rng(1).normal(size=(N, DIM)).astype(np.float32)
QUERIES = np.random.default_rng(2).normal(size=(20, DIM)).astype(np.float32)
LABELS = ["label_20p" if row % 5 == 3 else "label_80p" for row in range(N)]


def client(path: Path, metric: str = "COSINE", **options: Any) -> Scrubjay:
    case = ScrubjayIndexConfig(metric_type=MetricType[metric], recall=1.0, dtype="f32")
    return Scrubjay(DIM, ScrubjayConfig(path=str(path)).to_dict(), case, **options)


def filled(path: Path, metric: str = "COSINE") -> Scrubjay:
    db = client(path, metric, drop_old=True, with_scalar_labels=True)
    with db.init():
        for first in range(0, N, 200):
            rows = range(first, min(N, first + 200))
            some = [LABELS[row] for row in rows]
            assert db.insert_embeddings(VECTORS[list(rows)].tolist(), list(rows), labels_data=some) == (
                len(rows),
                None,
            )
        db.optimize(N)
    return db


def nearest(metric: str, query: np.ndarray, allowed: np.ndarray) -> list[int]:
    vectors = VECTORS.astype(np.float64)
    if metric == "L2":
        scores = -np.linalg.norm(vectors - query, axis=1)
    else:
        scores = vectors @ query.astype(np.float64)
        if metric == "COSINE":
            scores /= np.linalg.norm(vectors, axis=1)
    scores[~allowed] = -np.inf
    return np.argsort(-scores, kind="stable")[:K].tolist()


EVERYTHING = np.ones(N, dtype=bool)


@pytest.mark.parametrize("metric", ["COSINE", "IP", "L2"])
def test_the_serial_runner_finds_the_nearest(tmp_path: Path, metric: str) -> None:
    db = filled(tmp_path / "v.scrubjay", metric)
    truth = [nearest(metric, query, EVERYTHING) for query in QUERIES]
    runner = SerialSearchRunner(db, list(QUERIES), truth, k=K)
    recall, ndcg, p99, p95, *_ = runner.search((runner.test_data, truth))
    assert (recall, ndcg) == (1.0, 1.0)
    assert 0 <= p95 <= p99 < 5


@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        (NewIntFilter(filter_rate=0.9, int_value=450), np.arange(N) >= 450),
        (LabelFilter(label_percentage=0.2), np.asarray([label == "label_20p" for label in LABELS])),
    ],
    ids=["number", "label"],
)
def test_filters_are_applied_before_ranking(tmp_path: Path, filters: Any, allowed: np.ndarray) -> None:
    assert Scrubjay.filter_supported(filters)
    db = filled(tmp_path / "v.scrubjay")
    truth = [nearest("COSINE", query, allowed) for query in QUERIES]
    runner = SerialSearchRunner(db, list(QUERIES), truth, k=K, filters=filters)
    assert runner.search((runner.test_data, truth))[0] == 1.0
    with db.init():
        db.prepare_filter(non_filter)
        assert db.search_embedding(QUERIES[0].tolist(), K) == nearest("COSINE", QUERIES[0], EVERYTHING)


def found_elsewhere(db: Scrubjay, query: list[float], answers: Any) -> None:
    with db.init():
        answers.put(db.search_embedding(query, K))


def test_another_process_finds_what_this_one_wrote(tmp_path: Path) -> None:
    db = filled(tmp_path / "v.scrubjay")
    with db.init():  # an open client can be pickled, too
        assert pickle.loads(pickle.dumps(db))._index is None
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=found_elsewhere, args=(db, QUERIES[0].tolist(), answers))
        process.start()
        found = answers.get(timeout=120)
        process.join()
    assert found == nearest("COSINE", QUERIES[0], EVERYTHING)


def test_tenants_find_only_their_own(tmp_path: Path) -> None:
    db = client(tmp_path / "v.scrubjay", drop_old=True)
    tenants = [f"t{row % 3}" for row in range(N)]
    assert db.supports_multitenant()
    with db.init():
        assert db.insert_embeddings(VECTORS.tolist(), list(range(N)), tenant_labels_data=tenants)[0] == N
        mine = np.arange(N) % 3 == 1
        assert db.search_embedding(QUERIES[0].tolist(), K, tenant="t1") == nearest("COSINE", QUERIES[0], mine)
        assert db.search_embedding(QUERIES[0].tolist(), K, tenant="t9") == []
        assert db.search_embedding(QUERIES[0].tolist(), K) == []


def test_full_text_through_the_runner(tmp_path: Path) -> None:
    db = client(tmp_path / "v.scrubjay", drop_old=True)
    assert Scrubjay.supports_full_text_search() and db.supports_document_payload_profile(PayloadProfile.TEXT)
    with db.init():
        texts = ["the oak and the acorn", "an owl at night", "acorns, acorns, acorns"]
        assert db.insert_documents(texts, ["a", "b", "c"]) == (3, None)
        assert db.search_documents("acorn", 2, payload_profile=PayloadProfile.TEXT) == ["c", "a"]
    truth = [{"c": 1, "a": 1}]
    runner = SerialSearchRunner(db, ["acorn"], truth, k=2, workload_kind=WorkloadKind.FULL_TEXT)
    assert runner.search((["acorn"], truth))[:3] == (1.0, 1.0, 1.0)


def test_dropping_the_old_leaves_other_files(tmp_path: Path) -> None:
    path, other = tmp_path / "v.scrubjay", tmp_path / "v.scrubjayed"
    filled(path)
    other.write_text("mine")
    db = client(path, drop_old=True)
    with db.init():
        assert db.search_embedding(QUERIES[0].tolist(), K) == []
    assert other.read_text() == "mine"


def test_insert_errors_are_returned_and_calls_outside_init_raise(tmp_path: Path) -> None:
    db = client(tmp_path / "v.scrubjay")
    with pytest.raises(RuntimeError, match=r"call inside `with db\.init\(\):`"):
        db.search_embedding([0.0] * DIM)
    with db.init():
        n, error = db.insert_embeddings([[0.0] * DIM], [1])
        assert n == 0 and isinstance(error, ValueError)
    with pytest.raises(ValueError, match="metric_type: expected one of L2, COSINE, IP, DP, got JACCARD"):
        ScrubjayIndexConfig(metric_type=MetricType.JACCARD).index_param()
    with pytest.raises(ValueError, match="path"):
        ScrubjayConfig(path="")
