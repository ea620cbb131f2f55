"""The page of claims reads every table of the documentation, and judges the figures of a run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import __main__ as everything
from benchmarks import claims_page
from benchmarks.claims import FILES, ROOT, SENTENCES, TABLES, against_own, claims, numbers, tables


def test_every_table_with_figures_is_known() -> None:
    found = {(table.file, table.heading, table.head[1]) for file in FILES for table in tables(file)}
    assert found == set(TABLES)
    assert len(claims({})) > 80
    assert all(claim.measured is None and claim.stated for claim in claims({}))


def test_every_claimed_sentence_is_in_its_file() -> None:
    for file, words, _, _ in SENTENCES:
        assert words in " ".join((ROOT / file).read_text(encoding="utf-8").split()), words


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("14 / 20", (14.0, 20.0)),
        (".647 / .522", (0.647, 0.522)),
        ("1,674 / 1,956", (1674.0, 1956.0)),
        ("1.06 times that", (1.06,)),
        ("never: a new index", ()),
        ("1.000 / .785", (1.0, 0.785)),
        ("", ()),
    ],
)
def test_figures_of_a_cell(cell: str, found: tuple[float, ...]) -> None:
    assert numbers(cell) == found


def run_with(peer_p95: float, ndcg: float) -> dict[str, Any]:
    """Return a run with the README's workload of 1,000 memories for two engines, and one judged set."""
    rows = [
        {"engine": "scrubjay", "p50": 7.0, "p95": 10.0, "recall": 1.0},
        {"engine": "numpy", "p50": 40.0, "p95": peer_p95, "recall": 1.0},
    ]
    figures = {"recall@10": 0.847, "ndcg@10": ndcg}
    return {
        "hybrid": {"benchmark": "hybrid", "workloads": {"user-1k": {"visible": 1_000, "rows": rows}}},
        "quality": {"lme_user_dev, bge_small_int8": {"lexical": {**figures, "recall@10": 0.882}}},
        "failed": {"vector": "<no> libraries"},
    }


def verdicts(run: dict[str, Any]) -> dict[str, str]:
    found = claims(run)
    against = against_own(found)
    return {f"{claim.file} {claim.what}": claims_page.verdict(claim, against) for claim in found}


NUMPY = "README.md NumPy, exact, arrays per scope: 1,000 memories, p50 / p95 us"
BM25 = "docs/benchmarks.md assistant histories: BM25"


def test_ratios_to_peers_and_quality_are_judged() -> None:
    stated = 110 / 27  # in the README
    held, lost = verdicts(run_with(10 * stated * 0.81, 0.787)), verdicts(run_with(10 * stated * 0.79, 0.784))
    assert (held[NUMPY], held[BM25]) == ("held", "held")
    assert (lost[NUMPY], lost[BM25]) == ("lost", "lost")
    assert held["README.md Scrubjay 0.1, in memory: 1,000 memories, p50 / p95 us"] == ""
    assert held["README.md NumPy, exact, arrays per scope: 10,000 memories"] == "absent"


def test_a_time_without_a_peer_is_no_claim_and_a_share_found_is_quality() -> None:
    run = run_with(50.0, 0.777)
    run["hybrid"]["additions"] = {"scrubjay": {"us": {"p50": 900.0}}}
    row = {"engine": "hnswlib", "setting": None, "p50": 1.0, "p95": 1.0, "recall": 0.97, "bytes_a_vector": 1}
    cell = {"data": "clustered", "dim": 256, "n": 100_000, "k": 10, "rows": [row]}
    run["vector"] = {"benchmark": "vector", "cells": [cell]}
    found = verdicts(run)
    assert found["README.md Scrubjay 0.1, in memory: a written document is found"] == ""
    row_of = "docs/benchmarks.md 100,000 clustered, `recall=0.93`"
    assert found[f"{row_of}: hnswlib in the same run, found"] == "lost"
    assert found[f"{row_of}: found"] == "absent"


def test_a_run_of_other_sizes_measures_nothing() -> None:
    run = run_with(50.0, 0.777)
    run["hybrid"]["workloads"]["user-1k"]["visible"] = 100
    assert verdicts(run)[NUMPY] == "absent"


def test_the_page_is_written_from_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "run.json"
    source.write_text(json.dumps(run_with(10.0, 0.762)))
    assert everything.main(["--from", str(source), "--out", str(tmp_path / "page")]) == 1
    assert "vector: <no> libraries" in capsys.readouterr().out
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "&lt;no&gt; libraries" in page and "<no>" not in page
    assert "class='lost'" in page and "4.1 &rarr; 1.0" in page
    drawn = importlib.util.find_spec("matplotlib") is not None
    assert ("data:image/png;base64," in page) is drawn


def test_a_part_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(everything.PARTS, "profile", (["benchmarks.no_such_module"], []))
    assert everything.main(["--only", "profile", "--out", str(tmp_path)]) == 0
    run = json.loads((tmp_path / "run.json").read_text())
    assert "no_such_module" in run["failed"]["profile"]
    with pytest.raises(SystemExit):
        everything.main(["--only", "speed"])


def test_commands_write_their_reports(tmp_path: Path) -> None:
    for part in everything.PARTS:
        for quick in (False, True):
            command = everything.command_of(part, tmp_path / "r.json", quick=quick)
            assert any(str(tmp_path / "r.json") in word for word in command)
