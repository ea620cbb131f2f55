"""The hybrid comparison is fair and complete: right fusion, tuned peers, visible writes, errors listed, true ratios."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks import memories
from benchmarks.compare import __main__ as compare
from benchmarks.compare import footprint, hybrid, hybrid_engines, hybrid_glue, hybrid_page

from tests.reference.fusion import reciprocal_rank_scores

WHOLE = memories.of_users(2, 60, 150, 16, use_system=False)


pytestmark = pytest.mark.usefixtures("benchmark_cache")


def test_the_glue_fuses_as_the_oracle() -> None:
    first, second = [5, 3, 9, 1], [9, 5, 2]
    right = reciprocal_rank_scores([first, second], [1.0, 1.0], memories.RRF_K)
    assert hybrid_glue.fused(first, second, 10) == sorted(right, key=right.__getitem__, reverse=True)
    assert hybrid_glue.fused(first, second, 2) == [5, 9]


def check_engine(name: str, folder: str) -> None:
    """Finds its users' memories, and new writes at once."""
    assert hybrid_engines.installed([name])[0]
    engine = hybrid_engines.ENGINES[name](Path(folder))
    engine.build(WHOLE)
    exact = memories.Exact(WHOLE, of_peers=name not in hybrid_engines.OWN)
    engine.use(engine.settings[-1])
    found = [(question, engine.found(question, 10)) for question in WHOLE.questions(WHOLE.blocks, 12, each=2)]
    for question, rows in found:
        assert all(question.first <= row < question.last for row in rows)
    assert exact.mean_recall(found, 10) > 0.8
    block = WHOLE.blocks[0]
    if name in {"numpy", "usearch + bm25s", "chroma + bm25s"}:
        with pytest.raises(hybrid_glue.FrozenError):
            engine.add(len(WHOLE), block, WHOLE.terms.line(0), WHOLE.vectors[0])
    else:
        assert hybrid.is_seen(engine, WHOLE, len(WHOLE), block, WHOLE.terms.line(0), WHOLE.vectors[70])
    engine.close()


@pytest.mark.parametrize("name", hybrid_engines.ENGINES)
def test_every_engine_finds_its_users_memories_and_sees_writes(name: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "index")
    if name in {*hybrid_engines.OWN, "numpy"}:
        check_engine(name, folder)
        return
    packages = [package.split(".")[0] for package in hybrid_engines.NEEDS[name]]
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed (benchmarks/compare/requirements.txt)")
    # Peers in their own process: some cannot be loaded after others.
    code = f"from tests.unit.test_benchmarks_hybrid import check_engine; check_engine({name!r}, {folder!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


class Knob:
    """An engine whose recall increases with its setting."""

    name, note, n_adds = "knob", "a fake", 0
    settings: Sequence[Any] = (1, 2, 3, 4)

    def __init__(self, exact: memories.Exact, enough: int) -> None:
        self._exact, self._enough, self._setting = exact, enough, 0

    def use(self, setting: Any) -> None:
        self._setting = setting

    def found(self, question: memories.Question, k: int) -> list[int]:
        scores = self._exact.fused(question)
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:k]
        return best if self._setting >= self._enough else best[: self._setting]


@pytest.mark.parametrize(("enough", "chosen"), [(1, 1), (3, 3), (9, 4)])
def test_an_engine_is_tuned_to_the_first_setting_that_is_right(enough: int, chosen: int) -> None:
    exact = memories.Exact(WHOLE)
    knob: Any = Knob(exact, enough)
    found = hybrid.tuned(knob, WHOLE.questions(WHOLE.blocks[:1], 4), exact)
    assert found["setting"] == chosen
    assert (found["recall"] >= 0.99) == (enough <= 4)


def row(engine: str, p95: float, recall: float) -> dict[str, Any]:
    return {"engine": engine, "p50": p95 / 2, "p95": p95, "recall": recall}


def test_ratios_are_against_the_fastest_of_each_kind() -> None:
    rows = [
        row("scrubjay", 10, 1.0),
        row("scrubjay file", 9, 1.0),
        row("numpy", 100, 0.995),
        row("usearch + tantivy", 80, 0.995),
        row("usearch + tantivy (default)", 50, 0.9),
        row("qdrant-edge", 200, 0.9),
        row("zvec", 900, 0.9),
    ]
    found = {one["against"]: one for one in hybrid_page.ratios({"workloads": {"user-1k": {"rows": rows}}})}
    kinds = hybrid_page.WANTED
    assert [found[kinds[kind][0]]["p95"] for kind in ("packaged", "glued", "any")] == [20.0, 8.0, 5.0]
    assert found[kinds["any"][0]]["engine"] == "usearch + tantivy (default)"


def test_the_quick_comparison_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.json"
    arguments = [
        "--quick",
        "--engines",
        "scrubjay,scrubjay file,numpy",
        "--json",
        str(facts),
        "--n-queries",
        "20",
    ]
    assert compare.main(["hybrid", *arguments, "--load-seconds", "0.05"]) == 0
    shown, report = capsys.readouterr().out, json.loads(facts.read_text())
    for measured in report["workloads"].values():
        recalls = {row["engine"]: row["recall"] for row in measured["rows"]}
        assert min(recalls.values()) > 0.97
    assert report["additions"]["numpy"] is None
    assert report["additions"]["scrubjay"]["seen"] == "5 of 5"
    assert "PostgreSQL + pg_search: left out (needs a server)" in shown
    assert hybrid_page.page(report) in shown


def test_an_engine_that_is_not_there_or_breaks_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(folder: Path) -> Any:
        raise OSError("no such disk")

    monkeypatch.setitem(hybrid_engines.NEEDS, "zvec", ("a_package_that_is_not_there",))
    monkeypatch.setattr(hybrid_engines.packages, "start_zvec", lambda: None)
    monkeypatch.setitem(hybrid_engines.ENGINES, "numpy", broken)
    arguments = ["--quick", "--engines", "scrubjay,numpy,zvec", "--n-queries", "10", "--load-seconds", "0"]
    assert hybrid.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "zvec: not measured here (ModuleNotFoundError" in shown
    assert "numpy: not measured here (failed to build: OSError: no such disk)" in shown


def test_the_footprint_is_measured_in_processes_of_their_own() -> None:
    import argparse

    options = argparse.Namespace(n_users=2, each=30, large=60, dim=8, quick=True, seed=0)
    found = footprint.of_engines(["scrubjay file", "numpy"], options)
    assert found["scrubjay file"]["folder_mb"] > 0
    assert found["scrubjay file"]["open"]["seconds"] > 0
    assert found["numpy"]["open"] is None


def test_the_requirements_name_the_packages_of_every_peer() -> None:
    text = (Path(hybrid.__file__).parent / "requirements.txt").read_text()
    pinned = [line.split("==")[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert set(hybrid_engines.VERSIONS) <= set(pinned)
    assert all("==" in line for line in text.splitlines() if line and not line.startswith("#"))
