"""`scrubjay bench` prints a table or JSON, and refuses unsuitable arguments and data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scrubjay.cli import main
from tests.bench import samples


@pytest.fixture
def locomo(tmp_path: Path) -> str:
    return str(samples.write_json(tmp_path / "locomo10.json", samples.LOCOMO))


def test_a_table_by_category(locomo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", locomo, "--embedder", "none", "--passes", "1"]) == 0
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert lines[0].split()[:4] == ["category", "n", "recall@1", "recall@5"]
    assert [line.split()[0] for line in lines[1:5]] == ["adversarial", "single-hop", "temporal", "all"]
    assert "search us p50/p95" in lines[0] and "embed" not in lines[0]
    assert "1 cases, 3 documents" in lines[5] and "1 without relevant documents" in lines[5]


def test_json_has_everything(locomo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", locomo, "--embedder", "none", "--json", "-k", "3", "--passes", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["dataset"], found["questions"], found["all"]["judged"]) == ("locomo", 3, 2)
    assert {"recall@1", "ndcg@3", "mrr@3"} <= found["all"].keys()
    assert found["settings"]["k"] == 3 and found["all"]["search_us"] == {}
    assert "simd_active" in found["config"]


def test_vectors_and_splits_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = samples.beir(tmp_path / "beir")
    np.save(folder / "m.docs.npy", np.eye(3, dtype=np.float16))
    np.save(folder / "m.queries.npy", np.eye(3, dtype=np.float16)[[2, 0]])
    options = ["--vectors", "m", "--mode", "vector", "--json", "--split", "test", "-k", "1"]
    assert main(["bench", str(folder), *options]) == 0
    assert json.loads(capsys.readouterr().out)["all"]["ndcg@1"] == 1.0  # d3, whose grade is the highest


def test_answers_are_asked_for_and_written(
    locomo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "echo_answerer.py").write_text("def answer(asked):\n    return asked.texts[0]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    out = tmp_path / "h.jsonl"
    command = [
        "bench",
        locomo,
        "--embedder",
        "none",
        "--answerer",
        "echo_answerer:answer",
        "--hypotheses",
        str(out),
    ]
    assert main(command) == 0
    assert "contains" in capsys.readouterr().out.splitlines()[0]
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["question_id"] for row in rows] == ["conv-1/q0", "conv-1/q1", "conv-1/q2"]
    assert main(command) == 2  # nothing is overwritten
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--granularity", "turn"], "--granularity: expected the format longmemeval, this is locomo"),
        (["--vectors", "m"], "--vectors: expected the format beir, judged, this is locomo"),
        (["--answerer", "nowhere_to_be_found:answer"], "--answerer: expected MODULE:FUNCTION"),
        (["--answerer", "json:__name__"], "--answerer: expected a function, got 'json'"),
        (["--hypotheses", "h.jsonl"], "--hypotheses: expected an --answerer"),
        (["--fusion", "best"], "--fusion: expected auto"),
    ],
)
def test_invalid_options_are_refused(
    locomo: str, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", locomo, *options]) == 2
    assert complaint in capsys.readouterr().err


def test_malformed_files_and_empty_sets_exit_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('[{"sample_id": "a"}]')
    assert main(["bench", str(bad)]) == 2
    assert "bad.json, line 1: conversation: expected an object, got None" in capsys.readouterr().err
    assert main(["bench", str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err
    bad.write_text("[]")
    assert main(["bench", str(bad), "--format", "locomo", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["all"]["questions"] == 0
