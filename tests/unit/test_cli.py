"""The command line: output, exit codes, refusals."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scrubjay import cli
from scrubjay.cli.terminal import clean, fit, render_table, width_of

RECORDS = [
    {
        "id": "k",
        "text": "The staging key starts with sk-stg-0041",
        "user": "jane",
        "metadata": {"category": "keys"},
    },
    {"id": "t", "text": "Prefers trains to planes", "user": "jane", "created_at": "2026-03-01"},
    {"id": "s", "text": "The office closes at nine"},
    {"id": "x", "text": "Somebody else's staging key", "user": "marco"},
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "memories.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_search_shows_a_table(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, "search", "staging key", file, "--user", "jane", "--explain")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["#", "id", "score", "text"]
    assert lines[1].split()[:2] == ["1", "k"]
    assert lines[2].startswith("   relevance high; lexical #1, vector #1; bm25 ")
    assert lines[2].endswith("terms stage key")
    assert lines[3].split()[0] == "2"
    assert lines[-2] == "vectors: 3 originals"  # all visible ones
    assert "Scope('local', user='jane')" in lines[-1]
    assert "else's" not in out


def test_search_as_json(capsys: pytest.CaptureFixture[str], file: str) -> None:
    answer = as_json(capsys, "search", "railway", file, "--user", "jane", "-k", "1")
    assert answer["mode"] == "hybrid"
    (hit,) = answer["hits"]
    assert (hit["id"], hit["lexical_rank"], hit["vector_rank"]) == ("t", None, 1)
    assert hit["created_at"] == "2026-03-01T00:00:00+00:00"
    assert hit["scope"] == {"tenant": "local", "user": "jane", "agent": None}


def test_search_shows_the_part_of_a_long_text_that_answers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = "The pump runs. " * 400 + "If backups fail, page Ada. " + "The valve holds. " * 400
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": "log", "text": text}) + "\n", encoding="utf-8")
    code, out, _ = run(capsys, "search", "whom to page", str(path))
    assert code == 0 and "If backups fail, page Ada." in out.splitlines()[1]
    shown = as_json(capsys, "search", "whom to page", str(path))["hits"][0]["snippet"]
    part = "".join(piece["text"] for piece in shown["pieces"])
    assert "page Ada" in part and text[shown["start"] : shown["end"]] == part
    assert [piece["text"] for piece in shown["pieces"] if piece["match"]] == ["page"]


def test_an_id_in_several_scopes_is_several_memories(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, out, again = tmp_path / "same.jsonl", tmp_path / "out.jsonl", tmp_path / "out.scrubjay"
    whose = (
        {"tenant": "local"},
        {"user": "jane"},
        {"agent": "coder"},
        {"user": "jane", "agent": "coder"},
        {"user": "marco"},
    )
    rows = [{"id": "m", "text": f"oak {number}", **names} for number, names in enumerate(whose)]
    rows += [{"id": "m", "text": "oak 9", "user": "jane"}]  # replaces jane's
    path.write_text("\n".join(map(json.dumps, rows)))
    for target in (out, again):
        code, _, err = run(capsys, "index", str(path), "--out", str(target), "--search", "oak", "-k", "1")
        assert (code, "5 records written" in err) == (0, True)
    asked = ("--user", "jane", "--agent", "coder", "--mode", "lexical")
    for source in (path, out, again):
        hits = as_json(capsys, "search", "oak", str(source), *asked)["hits"]
        found = {hit["text"]: (hit["id"], hit["scope"]["user"], hit["scope"]["agent"]) for hit in hits}
        assert found == {
            "oak 0": ("m", None, None),
            "oak 9": ("m", "jane", None),
            "oak 2": ("m", None, "coder"),
            "oak 3": ("m", "jane", "coder"),
        }
        scopes = as_json(capsys, "stats", str(source))["scopes"]
        assert sum(one["memories"] for one in scopes) == len(scopes) == 5
        table = run(capsys, "search", "oak", str(source), *asked)[1].splitlines()
        assert table[0].split() == ["#", "id", "scope", "score", "text"]
        assert sorted(line.split()[2] for line in table[1:5]) == ["agent", "tenant", "user", "user+agent"]


def test_without_an_embedder_the_missing_ranking_is_reported(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    code, out, _ = run(capsys, "search", "office", file, "--embedder", "none")
    assert code == 0
    assert "lexical" in out
    assert "degraded: no_embedder" in out


def test_a_search_without_hits_exits_with_1(capsys: pytest.CaptureFixture[str], file: str) -> None:
    assert run(capsys, "search", "giraffe", file, "--mode", "lexical")[0] == 1
    other = Path(file).with_name("other.jsonl")
    other.write_text('{"text": "staging", "tenant": "acme"}', encoding="utf-8")
    code, out, err = run(capsys, "search", "staging", str(other), "--tenant", "globex")
    assert code == 1
    assert "0 of 0 memories" in out
    assert "none of the 1 memories is visible" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage"),
        (["fly"], "invalid choice"),
        (["search", "x"], "required"),
        (["search", "x", "missing.jsonl"], "missing.jsonl: No such file"),
        (["search", "x", "program.exe"], "program.exe: No such file"),
        (["search", "missing.scrubjay", "x y"], "missing.scrubjay: No such file"),
        (["search", "x", sys.executable], "expected a folder or a .jsonl"),
        (["search", "x", "FILE", "-k", "0"], "expected a positive int, got '0'"),
        (["search", "x", "FILE", "--embedder", "magic"], "embedder: expected default, none"),
        (["search", "x", "FILE", "--tenant", ""], "tenant"),
        (["search", "x", "FILE", "--rrf-k", "-1"], "--rrf-k: expected a finite number >= 0"),
        (["index", "FILE", "--out", "no/such/folder/out.jsonl"], "No such file"),
    ],
)
def test_wrong_usage_is_2(
    capsys: pytest.CaptureFixture[str], file: str, arguments: list[str], message: str
) -> None:
    code, _, err = run(capsys, *[file if argument == "FILE" else argument for argument in arguments])
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{\n", ":1: expected JSON"),
        ("[" * 3000, ":1: expected JSON"),
        ('{"id": 1, "text": "a"}\n\n[1]\n', ":3: expected an object, got list"),
        ('{"id": 1}\n', ":1: expected a text under one of text, content"),
        ('{"text": "a", "user": 7}\n', ":1: user: expected a str, got 7"),
        ('{"text": "a", "created_at": "soon"}\n', ":1: created_at: expected an ISO 8601 time"),
        ('{"text": "a", "vector": [1, 2]}\n', ":1': vector: expected shape (256,), got (2,)"),
        ('{"text": "a", "vector": [1, 2], "embedder": "other"}\n', "made by 'other', the embedder in use is"),
    ],
)
def test_bad_input_is_2_and_names_the_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    code, out, err = run(capsys, "search", "a", str(path))
    assert (code, out) == (2, "")
    assert message in err


def test_index_writes_vectors_that_are_not_made_again(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    code, _, err = run(capsys, "index", file, "--out", str(out), "--search", "staging key", "--user", "jane")
    assert code == 0
    assert "4 records written" in err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["k", "t", "s", "x"]
    assert rows[0]["user"] == "jane"
    assert rows[0]["metadata"] == {"category": "keys"}
    assert len(rows[0]["vector"]) == 256
    before = as_json(capsys, "search", "railway", file, "--user", "jane", "--explain")
    after = as_json(capsys, "search", "railway", str(out), "--user", "jane", "--explain")
    assert [hit["id"] for hit in after["hits"]] == [hit["id"] for hit in before["hits"]]
    for one, other in zip(before["hits"], after["hits"], strict=True):
        assert one["similarity"] == pytest.approx(other["similarity"], abs=2e-3)


def test_index_answers_questions_from_standard_input(
    capsys: pytest.CaptureFixture[str], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("trains\n\nstaging key\n"))
    code, out, _ = run(capsys, "index", file, "--user", "jane", "-k", "1")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("1  ")] == ["t", "k"]


def test_stats_counts_by_scope(capsys: pytest.CaptureFixture[str], file: str) -> None:
    stats = as_json(capsys, "stats", file)
    assert (stats["documents"], stats["dim"], stats["embedder"]) == (4, 256, "wordllama/l2_supercat-256")
    assert {(row["user"], row["memories"]) for row in stats["scopes"]} == {
        ("jane", 2),
        (None, 1),
        ("marco", 1),
    }
    code, out, _ = run(capsys, "stats", file)
    assert code == 0
    assert "documents" in out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("version")
    code, out, _ = run(capsys, "search", "--help")
    assert code == 0
    assert "exit codes: 0 found" in out


def test_a_closed_pipe_is_no_error(file: str) -> None:
    command = [sys.executable, "-m", "scrubjay", "index", file, "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(120) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_ctrl_c_is_130_without_a_traceback(file: str) -> None:
    command = [sys.executable, "-m", "scrubjay", "index", file]
    # A shell's background jobs ignore the signal, and so would their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stderr is not None
        process.stderr.readline()  # the index is loaded, it waits for questions
        process.stderr.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert process.stderr.read().strip() == "interrupted"


def test_tables_keep_their_shape() -> None:
    table = render_table(
        ["id", "text"], [["1", "東京へ\x1b[31m行きました"], ["2", "a\nb"]], stretch=1, width=14
    )
    assert "\x1b" not in table
    assert [width_of(line) <= 14 for line in table.splitlines()] == [True] * 3
    assert clean("a\u0007\tb\r\n c") == "a b c"
    assert fit("abcdef", 5) == "ab..."
    assert fit("東京東京", 7) == "東京..."
