"""An empty name of a tenant, user or agent, as from an unset shell variable, is refused and so widens nothing."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Memory, Scope, cli
from scrubjay.cli.readers import InputError, read_paths

JANE = Scope("acme", "jane")
COMMANDS = (
    "add FILE notes.txt",
    "list FILE",
    "get FILE m1",
    "rm FILE m1",
    "search staging FILE",
    "import FILE notes.txt",
    "export FILE out.jsonl",
    "stats FILE",
    "index notes.txt --search staging",
    "tune FILE",
    "mcp FILE",
    "serve FILE --tokens t.json --add-token emp --can read",
    "memory forget FILE --yes",
    "memory known FILE",
    "memory hold FILE --reason r --by b",
    "memory export FILE out.md",
    "demo --ask staging",
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        index.upsert("m1", "The staging key.", scope=JANE)
    with Memory.open(path, None) as memory:
        memory.propose("Jane lives in Oslo", scope=JANE, source="t")
    (tmp_path / "notes.txt").write_text("A note.\n")
    return path


def test_an_empty_name_is_refused_by_every_command(file: Path, capsys: Any) -> None:
    before = file.read_bytes()
    for command, part in product(COMMANDS, ("tenant", "user", "agent")):
        words = [str(file) if word == "FILE" else word for word in command.split()]
        named = {"tenant": "acme", part: ""}
        code = cli.main([*words, *(word for name, value in named.items() for word in (f"--{name}", value))])
        captured = capsys.readouterr()
        assert (code, captured.out) == (2, ""), command
        expected = f"--{part}: expected a name, got ''; for no {part} in particular leave --{part} out"
        assert expected in captured.err, command
        assert file.read_bytes() == before
    assert not (file.parent / "t.json").exists() and not (file.parent / "out.jsonl").exists()


def test_an_empty_name_is_refused_as_json_too(file: Path, capsys: Any) -> None:
    assert cli.main(["list", str(file), "--tenant", "acme", "--user=", "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["type"] == "UsageError" and "leave --user out" in error["message"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"user": ""}, "user"),
        ({"agent": ""}, "agent"),
        ({"tenant": ""}, "tenant"),
        ({"scope": ""}, "user"),
        ({"scope": {"tenant": "acme", "user": ""}}, "user"),
        ({"metadata": {"user": ""}}, "user"),
    ],
)
def test_an_empty_name_in_a_record_is_refused_by_file_and_line(
    file: Path, capsys: Any, row: dict[str, Any], field: str
) -> None:
    source = Path("records.jsonl")
    lines = [{"id": "s1", "text": "first"}, {"id": "s2", "text": "second", **row}]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=rf"\Arecords\.jsonl:2: {field}: expected a name, got ''"):
        list(read_paths([str(source)], JANE))
    for command in ("add", "import"):
        assert cli.main([command, str(file), str(source), "--tenant", "acme", "--user", "mia"]) == 2
        assert f"records.jsonl:2: {field}: expected a name, got ''" in capsys.readouterr().err
    with Index.open(file) as index:
        assert index.count(Scope("acme", "joe")) == 0


def test_null_and_empty_cells_are_no_names(file: Path) -> None:
    Path("r.jsonl").write_text(json.dumps({"id": "a", "text": "x", "user": None}) + "\n")
    Path("r.csv").write_text("id,text,user\nb,y,\n")
    assert [record["scope"] for record in read_paths(["r.jsonl", "r.csv"], JANE)] == [JANE, JANE]


def test_an_empty_name_in_another_programs_dump_is_left_out(file: Path) -> None:
    rows = [
        {"id": "1", "memory": "Prefers trains.", "user_id": ""},
        {"id": "2", "memory": "Prefers tea.", "user_id": "jane", "agent_id": ""},
        {"id": "3", "memory": "Prefers rye bread.", "user_id": "jane"},
    ]
    Path("mem0.json").write_text(json.dumps({"results": rows}))
    with Memory.open(file, None) as memory:
        done = memory.files.import_from("mem0.json", "mem0", scope=Scope("acme"), as_notes=True)
        assert done.notes == 1
        assert done.left_out == {"with an empty user": 1, "with an empty agent": 1}
        assert [record.text for record in memory.documents.list(Scope("acme", "joe"))] == []
