"""The comparisons with the stores of small frameworks run, with the documented results."""

from __future__ import annotations

import importlib
import importlib.util
import json
from typing import Any

import pytest


def rows_of(module: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    comparison = importlib.import_module(f"benchmarks.adapters.{module}")
    assert comparison.main(["--notes", "240", "--questions", "25", "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    ours = [row for row in rows if "crubjay" in row["store"]]
    assert ours and all(row["found_first"] == 1.0 and row["foreign"] == 0 for row in ours)
    return rows


def test_openai_agents(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("agents")
    turn, ours, latest, whole, searched = rows_of("openai_agents", capsys)
    for row in (turn, ours):
        assert "a turn" in row["store"] and row["found"] == 1.0 and row["foreign"] == 0
    assert latest["found"] < 1.0 == whole["found"] == searched["found"]  # only 100 of its 120 items are read
    assert latest["foreign"] == whole["foreign"] == 0


def test_google_adk(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("google.adk")
    stock, run_together, *_ = rows_of("google_adk", capsys)
    assert stock["found_first"] == 1.0 and stock["foreign"] == run_together["foreign"] == 0
    assert run_together["found"] < 0.5


def test_strands(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("strands.memory")
    rows = rows_of("strands", capsys)
    assert [row["found_first"] for row in rows[:4]] == [1.0] * 4
    assert [row["foreign"] > 0 for row in rows[:4]] == [False, True, False, True]  # names that share a place


def test_crewai(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("crewai.memory.storage.factory")
    stock, *_ = rows_of("crewai", capsys)
    assert stock["found_first"] < 0.9
    assert stock["foreign"] > 0  # it treats paths as prefixes


def test_agent_framework(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("agent_framework")
    for row in rows_of("agent_framework", capsys):
        assert row["found_first"] == 1.0 and row["foreign"] == 0


def test_agno(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("agno.vectordb")
    pytest.importorskip("lancedb")
    comparison = importlib.import_module("benchmarks.adapters.agno")
    assert comparison.main(["--notes", "240", "--questions", "25", "--json"]) == 0
    first = {row["store"]: row["found_first"] for row in json.loads(capsys.readouterr().out.split("\n")[-2])}
    assert first["LanceDb, hybrid"] < 0.9
    assert first["Scrubjay in memory, hybrid"] == first["Scrubjay on a file, hybrid"] == 1.0


@pytest.mark.skipif(importlib.util.find_spec("cognee") is None, reason="could not import 'cognee'")
def test_cognee(capsys: pytest.CaptureFixture[str]) -> None:
    comparison = importlib.import_module("benchmarks.adapters.cognee")
    assert comparison.main(["--notes", "240", "--questions", "25", "--json"]) == 0
    stock, ours, by_distance = json.loads(capsys.readouterr().out)
    assert ours["found_first"] == 1.0 and [row["foreign"] for row in (stock, ours, by_distance)] == [0, 0, 0]
    assert stock["found_first"] < 0.9 and abs(stock["found"] - by_distance["found"]) < 0.2
