"""The maintenance commands of an index in a file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from scrubjay import Index, Scope
from scrubjay.cli import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        for i in range(30):
            index.upsert(f"m{i}", f"oak number {i}", scope=Scope("acme", user=f"u{i % 3}"), metadata={"n": i})
        index.delete("m3", scope=Scope("acme", user="u0"))
    return path


def test_check_compact_backup_export(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert (checked["documents"], checked["partitions"], checked["problems"]) == (29, 3, [])
    assert main(["compact", str(path), "--no-progress"]) == 0
    assert "bytes after" in capsys.readouterr().out
    assert b"oak number 3\0" not in path.read_bytes()
    assert main(["backup", str(path), str(tmp_path / "copy")]) == 0
    assert main(["backup", str(path), str(tmp_path / "copy")]) == 2
    assert "the file exists" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "copy"), str(tmp_path / "all.jsonl")]) == 0
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 30
    capsys.readouterr()


def test_check_says_what_is_wrong(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE document SET text = 'forged' WHERE id = 'm4'")
    connection.close()
    assert main(["check", str(path)]) == 1
    assert "problem: document 'm4'" in capsys.readouterr().out


def test_check_looks_into_every_collection(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Index.open(path) as index:
        index.collection("traces").upsert("t1", "oak", scope=Scope("acme"))
    assert main(["check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 30
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE document_1 SET text = 'forged'")
    connection.close()
    assert main(["check", str(path)]) == 1
    assert "problem: collection 'traces': document 't1'" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "compact"])
def test_a_missing_file_is_not_made(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(tmp_path / "nothing")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
