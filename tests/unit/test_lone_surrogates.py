"""Lone surrogates, which UTF-8 cannot encode: replaced in texts, refused in keys, kept in metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope, cli

HOME = Scope("local")
ODD = {"k\ud800": "v\ud801", "list": ["\udfff", "\\\ud800"], "plain": "café 🐦"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        index.upsert("a", "first", scope=HOME, metadata={"plain": 1})
        index.upsert("b", "second \ud800", context="more \udfff", scope=HOME, metadata=ODD)
    return path


def test_lone_surrogates_by_kind_of_input() -> None:
    index = Index()
    index.upsert("b", "x \ud800", context="y \udfff", scope=HOME, metadata=ODD)
    record = index.get("b", scope=HOME)
    assert record is not None
    assert (record.text, record.context, record.metadata) == ("x \ufffd", "y \ufffd", ODD)
    with pytest.raises(ValueError, match=r"id: expected text that UTF-8 can encode"):
        index.upsert("\ud800", "x", scope=HOME)
    with pytest.raises(ValueError, match="user: "):
        Scope("acme", "\ud800")
    with pytest.raises(ValueError, match=r"entities\[0\]: "):
        index.upsert("c", "x", scope=HOME, entities=["\ud800"])


def test_exports_keep_metadata_exactly(file: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "out.jsonl", tmp_path / "back.scrubjay"
    with Index.open(file) as index:
        assert index.admin.export(out) == 2
    assert r'"k\ud800"' in out.read_text(encoding="utf-8") and "café 🐦" in out.read_text(encoding="utf-8")
    with Index.open(back) as index:
        assert index.admin.import_(out) == 2
        assert index.get("b", scope=HOME).metadata == ODD  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "command",
    ["list FILE --json", "get FILE b --json", "search FILE second --json", "list FILE", "get FILE b"],
)
def test_the_command_line_prints_it(file: Path, capsys: Any, command: str) -> None:
    assert cli.main([str(file) if word == "FILE" else word for word in command.split()]) == 0
    out = capsys.readouterr().out
    if "--json" in command:
        found = json.loads(out)
        records = found["hits"] if "hits" in found else found["records"]
        assert next(one["metadata"] for one in records if one["id"] == "b") == ODD


def test_a_scope_is_exported_and_added_again(file: Path, tmp_path: Path, capsys: Any) -> None:
    out, back = str(tmp_path / "scope.jsonl"), tmp_path / "back.scrubjay"
    assert cli.main(["export", str(file), out, "--tenant", "local"]) == 0
    assert cli.main(["import", str(back), out, "--embedder", "none"]) == 0
    with Index.open(back) as index:
        assert index.get("b", scope=HOME).metadata == ODD  # type: ignore[union-attr]


def test_tables_have_it(file: Path) -> None:
    pytest.importorskip("pyarrow")
    with Index.open(file) as index:
        table = index.scroll(scope=HOME).to_arrow()
        assert ODD in [json.loads(text) for text in table["metadata"].to_pylist()]
        assert len(index.search("second", scope=HOME).to_arrow()) == 1
