"""The comparisons with the stores of LangChain and Haystack run, and Scrubjay finds what those lose."""

from __future__ import annotations

import importlib
import json

import pytest


@pytest.mark.parametrize(
    ("framework", "module"),
    [("langchain_core", "langchain"), ("haystack", "haystack")],
    ids=lambda name: name,
)
def test_comparison_puts_scrubjays_answers_first_without_foreign_hits(
    framework: str, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(framework)
    comparison = importlib.import_module(f"benchmarks.adapters.{module}")
    assert comparison.main(["--notes", "200", "--questions", "50", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    ours = rows[-1]
    assert "Scrubjay" in ours["store"]
    assert ours["found_first"] == 1.0 and ours["foreign"] == 0
    assert rows[0]["found_first"] < 0.9 and rows[0]["foreign"] > 0  # vectors alone, and no filter
    assert comparison.main(["--notes", "200", "--questions", "5"]) == 0
    assert capsys.readouterr().out.count("\n") == len(rows) + 2
