"""Reports become pages and plots, and the guard over instructions fails exactly when it should."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import report
from benchmarks.compare import hybrid, vector
from benchmarks.latency import __main__ as latency
from benchmarks.micro import __main__ as micro
from benchmarks.micro import cases, guard, instructions

COUNTS = {"one": 1_000, "two": 2_000}
AROUND = {"simd": "avx2", "compiler": "GCC 1.0", "python": "3.11", "numpy": "2", "sqlite": "3.40.1"}


pytestmark = pytest.mark.usefixtures("benchmark_cache")


# The guard


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "baseline.json"
    guard.update(path, AROUND, COUNTS, "the first")
    monkeypatch.setattr(guard, "surroundings", lambda: dict(AROUND))
    return path


def counting(monkeypatch: pytest.MonkeyPatch, counts: dict[str, int] | None) -> None:
    monkeypatch.setattr(instructions, "count_cases", lambda: counts)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"one": 1_050, "two": 2_000}, 0),
        ({"one": 1_051, "two": 2_000}, 1),
        ({"one": 10, "two": 2_000, "new": 9_999_999}, 0),
        ({"one": 1_000}, 1),  # one that is no longer counted would be a gap
    ],
)
def test_growth_beyond_five_percent_fails(
    baseline: Path, monkeypatch: pytest.MonkeyPatch, counts: dict[str, int], code: int
) -> None:
    counting(monkeypatch, counts)
    assert micro.main(["instructions", "--check", "--baseline", str(baseline)]) == code


def test_an_update_needs_a_reason_and_keeps_other_baselines(
    baseline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counting(monkeypatch, {"one": 3_000, "two": 2_000})
    with pytest.raises(SystemExit):
        guard.main(["--update", " ", "--baseline", str(baseline)])
    guard.update(baseline, {**AROUND, "simd": "baseline"}, {"one": 7}, "another level")
    assert guard.main(["--update", "it does more now", "--baseline", str(baseline)]) == 0
    assert guard.main(["--check", "--baseline", str(baseline)]) == 0
    assert "it does more now" in capsys.readouterr().out
    stored = {one["simd"]: one for one in guard.stored(baseline)}
    assert stored["avx2"]["counts"]["one"] == 3_000
    assert stored["baseline"]["counts"] == {"one": 7}


def test_missing_valgrind_or_baseline_is_reported_and_passes(
    baseline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counting(monkeypatch, None)
    assert guard.main(["--check", "--baseline", str(baseline)]) == 0
    assert "no valgrind here" in capsys.readouterr().out
    counting(monkeypatch, {"one": 10**9})
    monkeypatch.setattr(guard, "surroundings", lambda: {**AROUND, "compiler": "Clang 99"})
    assert guard.main(["--check", "--baseline", str(baseline)]) == 0
    assert "no baseline for simd avx2, compiler Clang 99" in capsys.readouterr().out


def test_the_stored_baseline_is_of_the_fixed_calls() -> None:
    for one in guard.stored(guard.BASELINE):
        assert set(one["counts"]) == set(cases.NAMES)
        assert one["reason"]
        assert set(guard.KEYS) <= set(one)
    assert len(cases.CASES) == 11
    assert set(guard.surroundings()) == set(guard.KEYS)


def test_the_searches_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SMALL", 60)
    monkeypatch.setattr(cases, "LARGE", 120)
    searches = cases.searches(cases.filled_engine())
    found = {name: search()[0] for name, search in searches.items()}
    assert len(found) == 11
    assert len(found["hybrid, six words, an empty partition"]) == 0
    assert len(found["vector, 10,000"]) == 10


def test_the_calls_about_one_document_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SMALL", 60)
    monkeypatch.setattr(cases, "LARGE", 120)
    engine = cases.filled_engine()
    calls = cases.document_calls(engine)
    assert set(cases.calls()) == set(cases.NAMES)
    assert calls[cases.GET]().id == 120
    for _ in range(2):
        calls[cases.UPSERT]()
        assert calls[cases.DELETE]() is True
    assert len(engine) == 180


@pytest.mark.long
def test_counts_are_the_same_again() -> None:
    first = instructions.counted(["nine words"], "lexical_child(50)")
    if first is None:
        pytest.skip("valgrind is not installed")
    assert instructions.counted(["nine words"], "lexical_child(50)") == first


# Pages and plots


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = {name: folder / f"{name}.json" for name in ("latency", "hybrid", "vector", "instructions")}
    latency.main(["--quick", "--only", "users", "--n-queries", "10", "--json", str(paths["latency"])])
    few = ["--quick", "--engines", "scrubjay,numpy", "--n-queries", "10"]
    hybrid.main([*few, "--load-seconds", "0", "--json", str(paths["hybrid"])])
    vector.main([*few, "--sizes", "60", "--only", "cells", "--json", str(paths["vector"])])
    counts = {"benchmark": "instructions", **AROUND, "counts": COUNTS}
    paths["instructions"].write_text(json.dumps(counts))
    return paths


def test_reports_become_one_page_with_plots(stored: dict[str, Path], tmp_path: Path) -> None:
    assert report.main([*map(str, stored.values()), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.md").read_text()
    for title, _ in (report.PAGES[name] for name in stored):
        assert f"## {title}" in page
    everything = json.loads((tmp_path / "out" / "report.json").read_text())
    assert set(everything) == set(stored)
    if importlib.util.find_spec("matplotlib") is None:
        assert "No plots: matplotlib is not installed" in page
    else:
        for name in report.plots.PLOTS:
            assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
            assert f"]({name})" in page


def test_without_matplotlib_the_page_names_the_extra(
    stored: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report.plots.importlib.util, "find_spec", lambda name: None)
    report.write([json.loads(stored["hybrid"].read_text())], tmp_path, with_plots=True)
    assert "No plots: matplotlib is not installed" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("name", ["latency", "hybrid", "vector"])
def test_a_report_is_held_against_an_older_one(
    name: str, stored: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(stored[name]), "--against", str(stored[name])]) == 0
    shown = capsys.readouterr().out
    assert report.page(json.loads(stored[name].read_text())) in shown
    assert "->" in shown or name != "latency"


def test_counts_that_grew_are_a_fault_here_too(stored: dict[str, Path], tmp_path: Path) -> None:
    newer: dict[str, Any] = {"benchmark": "instructions", **AROUND, "counts": {"one": 1_100, "two": 2_000}}
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(newer))
    assert report.main([str(path), "--against", str(stored["instructions"])]) == 1
    assert report.main([str(path), "--against", str(stored["instructions"]), "--tolerance", "0.2"]) == 0
    with pytest.raises(SystemExit):
        report.main([str(path), "--against", str(stored["hybrid"])])
