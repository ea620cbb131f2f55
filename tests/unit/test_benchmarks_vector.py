"""The vector comparison is fair: libraries tuned to the same recall, exact answers, ratios of correct ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import stored_vectors, vectors
from benchmarks.compare import vector, vector_engines, vector_page

VECTORS = vectors.clustered(400, 32)
QUESTIONS = vectors.near(VECTORS[:30], seed=5)


pytestmark = pytest.mark.usefixtures("benchmark_cache")


def check_engine(name: str) -> None:
    """A library that can be tuned to be correct."""
    engine = vector_engines.ENGINES[name]()
    engine.build(VECTORS)
    for k in (10, 50):
        exact = vector.Neighbours(VECTORS, QUESTIONS, k)
        setting, recall = vector.tuned(engine, exact, k)
        assert recall >= 0.99, (setting, recall)
        assert len(engine.found(QUESTIONS[0], k)) == k
    assert engine.n_bytes() > 400 * 32 // 2


@pytest.mark.parametrize("name", vector_engines.ENGINES)
def test_every_engine_can_be_tuned_to_be_right(name: str) -> None:
    there, missing = vector_engines.installed([name])
    if not there:
        pytest.skip(f"{name}: {missing[name]} (benchmarks/compare/requirements.txt)")
    if name in {"scrubjay", "numpy"}:
        check_engine(name)
    else:  # peers in their own process: some cannot be loaded after others
        code = f"from tests.unit.test_benchmarks_vector import check_engine; check_engine({name!r})"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_recall_counts_ties_as_right_and_others_as_wrong() -> None:
    some = np.eye(4, dtype=np.float32)[[0, 0, 0, 1, 2]]
    exact = vector.Neighbours(some, some[:1], 2)
    assert exact.recall(lambda _: [1, 2]) == 1.0
    assert exact.recall(lambda _: [1, 3]) == 0.5
    assert exact.recall(lambda _: [1, 1]) == 0.5
    assert exact.recall(lambda _: []) == 0.0


def row(engine: str, p50: float, recall: float, held_out: float | None = None) -> dict[str, Any]:
    found = {"engine": engine, "p50": p50, "p95": 2 * p50, "recall": recall}
    return found if held_out is None else {**found, "held_out_recall": held_out}


def test_ratios_are_between_the_fastest_that_are_right() -> None:
    cell = {
        "rows": [
            row("scrubjay", 10, 0.98),
            row("scrubjay exact", 20, 1.0),
            row("numpy", 1, 1.0),
            row("hnswlib", 30, 0.95, 0.95),
            row("faiss HNSW", 40, 0.989, 0.991),
            row("faiss Flat", 50, 1.0, 1.0),
        ]
    }
    assert vector_page.ratio(cell, "p50") == 2.0
    assert vector_page.ratio({"rows": cell["rows"][:1]}, "p50") is None


def test_the_quick_comparison_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.json"
    arguments = [
        "--quick",
        "--engines",
        "scrubjay,numpy",
        "--sizes",
        "60,200",
        "--n-queries",
        "10",
        "--json",
        str(facts),
    ]
    assert vector.main(arguments) == 0
    shown, report = capsys.readouterr().out, json.loads(facts.read_text())
    assert {(cell["n"], cell["k"]) for cell in report["cells"]} == {(60, 10), (60, 50), (200, 10), (200, 50)}
    for cell in report["cells"]:
        by = {row["engine"]: row for row in cell["rows"]}
        assert by["scrubjay"]["recall"] > 0.97
        assert by["numpy"]["recall"] == 1.0
    assert report["turnovers"]["turned"]["recall"] > 0.97
    assert "real, 64 dimensions, 60: skipped (no stored embeddings" in shown
    assert vector_page.page(report) in shown


def test_stored_embeddings_are_split_into_tuning_and_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "locomo_dev"
    folder.mkdir()
    many = vectors.clustered(1_000, 256)
    np.save(folder / "wordllama256.docs.npy", many[:500].astype(np.float16))
    np.save(folder / "wordllama256.queries.npy", many[500:].astype(np.float16))
    monkeypatch.setenv("SCRUBJAY_DATA", str(tmp_path))
    options = vector.parse(["--quick"])
    documents, tuning, measured = vector.data_of("real", 300, 256, options)
    assert documents.shape == (300, 256)
    assert len(tuning) == vector.N_TUNING
    assert len(measured) == options.n_queries
    assert not {tuple(one) for one in tuning[:, :4]} & {tuple(one) for one in measured[:, :4]}
    assert vector.data_of("real", 600, 256, options) == "only 500 stored embeddings"


def test_stored_types_are_compared_by_what_they_keep(tmp_path: Path) -> None:
    stored_vectors.main(["--quick", "--json", str(tmp_path / "out.json")])
    report = json.loads((tmp_path / "out.json").read_text())
    for by_type in report.values():
        assert by_type["i8"]["bytes"] < by_type["f16"]["bytes"] < by_type["f32"]["bytes"]
        assert by_type["i8"]["file bytes"] < by_type["f16"]["file bytes"] < by_type["f32"]["file bytes"]
        assert by_type["f32"]["recall"] == 1 and by_type["i8"]["recall"] >= 0.9
