"""`scrubjay add` and other commands on one file: adding the same files again costs nothing and changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Scope, cli

LOCAL = Scope("local")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notes; the working folder is its parent."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "keys.md").write_text(
        "# Keys\n\nThe staging key is sk-stg-0041.\n\n# Doors\n\nThe back door sticks.\n"
    )
    (folder / "sub" / "food.txt").write_text("Decaf after lunch.\n")
    (folder / "x.csv").write_text("id,text,stars\na,oak table,5\nb,pine shelf,3\n")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def add(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, int, int, int]:
    """Return the counts that `add` reported: added, updated, unchanged, deleted."""
    code, out, err = run(capsys, "add", "m.scrubjay", *arguments, "--json")
    assert (code, err) == (0, ""), err
    facts = json.loads(out)
    return facts["added"], facts["updated"], facts["unchanged"], facts["deleted"]


def ids(scope: Scope = LOCAL) -> list[str]:
    with Index.open("m.scrubjay") as index:
        return sorted(str(record.id) for record in index.list(scope, exact=True))


def test_the_same_files_again_change_nothing(
    notes: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add(capsys, "notes") == (5, 0, 0, 0)
    everything = ["a", "b", "notes/keys.md#1", "notes/keys.md#2", "notes/sub/food.txt#1"]
    assert ids() == everything
    with Index.open("m.scrubjay") as index:
        before = {record.id: record.version for record in index.list(LOCAL)}
    assert add(capsys, "./notes/") == (0, 0, 5, 0)
    assert add(capsys, notes) == (0, 0, 5, 0)
    monkeypatch.chdir(notes / "sub")  # names are relative to the index's folder all the same
    code, out, _ = run(capsys, "add", "../../m.scrubjay", "..", "food.txt", "--json")
    assert (code, json.loads(out)["unchanged"], json.loads(out)["added"]) == (0, 5, 0)
    monkeypatch.chdir(notes.parent)
    with Index.open("m.scrubjay") as index:
        assert {record.id: record.version for record in index.list(LOCAL)} == before


def test_add_writes_changed_records_and_deletes_those_gone_from_a_file(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    (notes / "keys.md").write_text("# Keys\n\nThe staging key is sk-stg-0042.\n")
    (notes / "x.csv").write_text("id,text,stars\na,oak table,4\nc,ash desk,3\n")
    assert add(capsys, "notes") == (1, 2, 1, 2)
    assert ids() == ["a", "c", "notes/keys.md#1", "notes/sub/food.txt#1"]
    with Index.open("m.scrubjay") as index:
        assert index.get("a", scope=LOCAL).metadata == {"stars": 4, "file": "notes/x.csv"}  # type: ignore[union-attr]
    (notes / "keys.md").write_text("")  # an empty file has no memories
    assert add(capsys, "notes/keys.md") == (0, 0, 0, 1)


def test_prune_deletes_what_came_from_files_that_are_gone(notes: Path, capsys: Any) -> None:
    (notes.parent / "notes2").mkdir()
    (notes.parent / "notes2" / "other.md").write_text("Another folder.")
    add(capsys, "notes", "notes2")
    with Index.open("m.scrubjay", "auto") as index:
        index.upsert("mine", "Written by a program.", scope=LOCAL, metadata={"kind": "note"})
    (notes / "sub" / "food.txt").unlink()
    (notes.parent / "notes2" / "other.md").unlink()
    assert add(capsys, "notes") == (0, 0, 4, 0)  # without --prune they stay
    assert add(capsys, "notes", "--prune") == (0, 0, 4, 1)
    assert "notes2/other.md#1" in ids() and "mine" in ids()
    (notes / "x.csv").unlink()
    assert add(capsys, "notes/x.csv", "--prune") == (0, 0, 0, 2)
    assert ids() == ["mine", "notes/keys.md#1", "notes/keys.md#2", "notes2/other.md#1"]
    code, _, said = run(capsys, "add", "m.scrubjay", "notes/x.csv")
    assert code == 2 and "notes/x.csv: No such file" in said and "--prune" in said


def test_a_file_that_cannot_be_read_any_more_loses_nothing(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    (notes / "x.csv").write_bytes(bytes(range(256)) * 20)
    assert add(capsys, "notes", "--prune") == (0, 0, 3, 0)
    assert len(ids()) == 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems allow no such names")
def test_a_name_that_is_not_utf_8_stops_nothing(notes: Path, capsys: Any) -> None:
    """As on archives of old disks: the file is read, its name is written with escapes."""
    strange = os.fsencode(notes) + b"/caf\xe9.md"
    Path(os.fsdecode(strange)).write_text("Café Oslo opens at nine.\n", encoding="utf-8")
    assert add(capsys, "notes") == (6, 0, 0, 0)
    assert r"notes/caf\udce9.md#1" in ids()
    assert add(capsys, "notes", os.fsdecode(b"notes/caf\xe9.md")) == (0, 0, 6, 0)
    code, out, _ = run(capsys, "search", "m.scrubjay", "when does the café open?", "-k", 1)
    assert code == 0 and r"caf\udce9.md#1" in out
    Path(os.fsdecode(strange)).unlink()
    assert add(capsys, "notes", "--prune") == (0, 0, 5, 1)


def test_add_and_prune_leave_records_of_other_users(notes: Path, capsys: Any) -> None:
    for user in ("jane", "joe"):
        assert add(capsys, "notes", "--user", user) == (5, 0, 0, 0)
    (notes / "x.csv").unlink()
    assert add(capsys, "notes", "--user", "jane", "--prune") == (0, 0, 3, 2)
    assert len(ids(Scope("local", user="jane"))) == 3 and len(ids(Scope("local", user="joe"))) == 5
    assert ids() == []


def test_a_record_keeps_its_scope_and_its_own_field_file(notes: Path, capsys: Any) -> None:
    rows = [{"id": "r", "text": "oak", "user": "ann", "file": "theirs"}, {"id": "s", "text": "elm"}]
    Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert add(capsys, "r.jsonl") == (2, 0, 0, 0)
    assert add(capsys, "r.jsonl") == (0, 0, 2, 0)
    with Index.open("m.scrubjay") as index:
        record = index.get("r", scope=Scope("local", user="ann"))
        assert record is not None and record.metadata == {"file": "r.jsonl", "file_": "theirs"}


def test_an_id_in_two_files_is_reported(notes: Path, capsys: Any) -> None:
    Path("y.csv").write_text("id,text\na,elm\n")
    add(capsys, "notes/x.csv")
    code, out, said = run(capsys, "add", "m.scrubjay", "y.csv")
    assert code == 0 and "1 updated" in out
    assert "note: notes/x.csv: an id that y.csv has, too, which took its place" in said
    assert add(capsys, "y.csv", "--number") == (1, 0, 0, 1)
    assert ids() == ["b", "y.csv:1"]


def test_vectors_that_a_file_has_are_kept_and_compared(notes: Path, capsys: Any) -> None:
    Path("v.jsonl").write_text('{"id": "v", "text": "oak", "vector": [1, 2, 2]}\n')
    assert add(capsys, "v.jsonl", "--embedder", "none") == (1, 0, 0, 0)
    assert add(capsys, "v.jsonl") == (0, 0, 1, 0)
    with Index.open("m.scrubjay") as index:
        vector = index.get("v", scope=LOCAL).vector  # type: ignore[union-attr]
        assert np.allclose(np.asarray(vector) / np.linalg.norm(vector), np.array([1, 2, 2]) / 3, atol=1e-3)
    Path("v.jsonl").write_text('{"id": "v", "text": "oak", "vector": [2, 2, 1]}\n')
    assert add(capsys, "v.jsonl") == (0, 1, 0, 0)


def test_records_added_without_an_embedder_are_embedded_by_a_later_add(notes: Path, capsys: Any) -> None:
    assert add(capsys, "notes/x.csv", "--embedder", "none") == (2, 0, 0, 0)
    assert add(capsys, "notes/x.csv") == (0, 2, 0, 0)
    assert add(capsys, "notes/x.csv") == (0, 0, 2, 0)
    code, out, _ = run(capsys, "search", "m.scrubjay", "furniture", "--json", "-k", "1")
    assert code == 0 and json.loads(out)["mode"] == "hybrid"


def test_a_failed_first_run_leaves_no_index(notes: Path, capsys: Any) -> None:
    Path("bad.jsonl").write_text('{"id": "a", "text": "oak", "created_at": "soon"}\n')
    code, _, said = run(capsys, "add", "m.scrubjay", "notes", "bad.jsonl")
    assert code == 2 and "created_at" in said
    assert not Path("m.scrubjay").exists()


def test_add_updates_and_deletes_more_records_than_one_batch(notes: Path, capsys: Any) -> None:
    Path("many.csv").write_text("id,text\n" + "".join(f"{i},note number {i}\n" for i in range(2500)))
    assert add(capsys, "many.csv", "--embedder", "none") == (2500, 0, 0, 0)
    assert add(capsys, "many.csv", "--embedder", "none") == (0, 0, 2500, 0)
    Path("many.csv").write_text("id,text\n" + "".join(f"{i},note number {i}\n" for i in range(1000)))
    assert add(capsys, "many.csv", "--embedder", "none") == (0, 0, 1000, 1500)


# -------------------------------------------------------------------- the other verbs


def test_list_get_and_rm(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    code, out, _ = run(capsys, "list", "m.scrubjay", "--limit", "2")
    assert code == 0 and "2 of 5 memories" in out and "--cursor " in out
    cursor = out.rpartition("--cursor ")[2].strip().removesuffix("\x1b[0m")
    code, out, _ = run(capsys, "list", "m.scrubjay", "--limit", "9", "--cursor", cursor, "--json")
    page = json.loads(out)
    assert (len(page["records"]), page["cursor"], page["count"]) == (3, None, 5)
    code, out, _ = run(capsys, "list", "m.scrubjay", "--filter", '{"stars": {"$gte": 4}}', "--json")
    assert [one["id"] for one in json.loads(out)["records"]] == ["a"]
    assert run(capsys, "list", "m.scrubjay", "--user", "joe", "--exact")[0] == 1

    code, out, _ = run(capsys, "get", "m.scrubjay", "a", "notes/keys.md#1")
    assert code == 0 and "oak table" in out and "stars: 5" in out and "The staging key" in out
    code, out, said = run(capsys, "get", "m.scrubjay", "a", "zzz", "--json")
    assert code == 1 and json.loads(out)["missing"] == ["zzz"]

    assert run(capsys, "rm", "m.scrubjay", "a", "zzz")[:2] == (0, "1 deleted, 1 not there\n")
    assert run(capsys, "rm", "m.scrubjay", "a")[0] == 1
    code, _, said = run(capsys, "rm", "m.scrubjay", "--file", "notes/keys.md")
    assert code == 2 and "this would delete 2 memories" in said and "--yes" in said
    assert run(capsys, "rm", "m.scrubjay", "--file", "notes/keys.md", "--yes")[0] == 0
    assert ids() == ["b", "notes/sub/food.txt#1"]
    assert run(capsys, "rm", "m.scrubjay", "--filter", "{}", "--yes")[0] == 2  # an empty filter is refused
    for arguments in (
        ["rm", "m.scrubjay"],
        ["rm", "m.scrubjay", "b", "--file", "x"],
        ["list", "m.scrubjay", "--filter", "["],
    ):
        assert run(capsys, *arguments)[0] == 2
    assert len(ids()) == 2


def test_get_and_rm_find_numbers(notes: Path, capsys: Any) -> None:
    with Index.open("m.scrubjay") as index:
        index.upsert(7, "seven", scope=LOCAL)
    assert run(capsys, "get", "m.scrubjay", "7")[0] == 0
    assert run(capsys, "rm", "m.scrubjay", "7")[0] == 0


def test_rm_of_a_user_leaves_what_is_shared_with_her(notes: Path, capsys: Any) -> None:
    with Index.open("m.scrubjay") as index:
        index.upsert("a", "shared", scope=LOCAL)
    assert run(capsys, "rm", "m.scrubjay", "a", "--user", "jane")[0] == 1
    assert ids() == ["a"]


def test_search_takes_the_file_first(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    first = run(capsys, "search", "m.scrubjay", "staging key", "-k", "1")[1].splitlines()[1]
    last = run(capsys, "search", "staging key", "m.scrubjay", "-k", "1")[1].splitlines()[1]
    assert first == last and "notes/keys.md#1" in first


def test_export_of_one_scope_is_what_add_reads(notes: Path, capsys: Any) -> None:
    for user in ("jane", "joe"):
        add(capsys, "notes", "--user", user)
    assert run(capsys, "export", "m.scrubjay", "jane.jsonl", "--tenant", "local", "--user", "jane")[0] == 0
    rows = [json.loads(line) for line in Path("jane.jsonl").read_text().splitlines()]
    assert {row["user"] for row in rows} == {"jane"} and len(rows) == 5
    assert run(capsys, "import", "copy.scrubjay", "jane.jsonl")[0] == 0
    with Index.open("copy.scrubjay") as copy, Index.open("m.scrubjay") as index:
        jane = Scope("local", user="jane")
        assert sorted(copy.list(jane), key=str) == sorted(index.list(jane), key=str)
    assert run(capsys, "export", "m.scrubjay", "x.jsonl", "--user", "jane")[0] == 2


def test_reading_commands_change_nothing(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    before = Path("m.scrubjay").read_bytes()
    for arguments in (["list", "m.scrubjay"], ["get", "m.scrubjay", "a"], ["doctor", "m.scrubjay"]):
        assert run(capsys, *arguments)[0] == 0
    assert Path("m.scrubjay").read_bytes() == before


@pytest.mark.parametrize("arguments", [["add"], ["list"], ["get", "ID"], ["rm", "ID"], ["doctor"]])
@pytest.mark.parametrize("what", ["text", "folder", "missing"])
def test_a_path_that_is_not_an_index_is_refused_with_a_message(
    tmp_path: Path, arguments: list[str], what: str, capsys: Any
) -> None:
    thing = tmp_path / "thing"
    if what == "text":
        thing.write_text("Dear diary")
    elif what == "folder":
        thing.mkdir()
    elif arguments == ["add"]:
        return  # creates it
    (tmp_path / "a.md").write_text("oak")
    given = [arguments[0], thing, *arguments[1:], *([tmp_path / "a.md"] if arguments == ["add"] else [])]
    code, _, said = run(capsys, *given)
    assert code == 2 and "thing" in said
    assert what != "text" or thing.read_text() == "Dear diary"


def test_add_does_not_read_the_index_that_it_writes(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    link = Path("link.jsonl")
    link.symlink_to("m.scrubjay")
    for name in ("m.scrubjay", "link.jsonl"):
        code, _, said = run(capsys, "add", "m.scrubjay", name)
        assert code == 2 and "another file" in said
    assert add(capsys, ".") == (0, 0, 5, 0)  # nor is it found in the folder


# -------------------------------------------------------------------- errors as JSON, doctor, completion


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["search", "x", "missing.scrubjay"], "InputError", "missing.scrubjay"),
        (["search", "x"], "UsageError", "required"),
        (["fly"], "UsageError", "invalid choice"),
        (["list", "missing.scrubjay"], "InputError", "no such file"),
        (["stats", "x.jsonl", "--embedder", "magic"], "ValueError", "expected default"),
        (["memory", "recall", "missing.scrubjay", "x"], "InputError", "no such file"),
        (["stats", "x.pdf"], "MissingExtraError", "scrubjay[readers]"),
    ],
)
def test_errors_are_json_beside_json(
    tmp_path: Path, arguments: list[str], kind: str, words: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    Path("x.jsonl").write_text('{"text": "a"}')
    Path("x.pdf").write_text("%PDF")
    code, out, said = run(capsys, *arguments, "--json")
    error = json.loads(said)["error"]
    assert (code, out, error["type"], error["exit_code"]) == (2, "", kind, 2)
    assert words in error["message"]


def test_doctor_names_what_is_here_and_what_is_wrong(notes: Path, capsys: Any) -> None:
    add(capsys, "notes")
    code, out, err = run(capsys, "doctor", "m.scrubjay", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report["here"]["simd_active"] in report["here"]["simd_levels"]
    assert report["embedder"]["default"] == report["file"]["embedder"] == "wordllama/l2_supercat-256"
    facts = report["file"]
    assert (facts["documents"], facts["scopes"], facts["problems"], facts["embedder_here"]) == (
        5,
        1,
        [],
        True,
    )
    assert report["extras"]["wordllama"] == {"installed": True, "missing": []}
    code, out, _ = run(capsys, "doctor")
    assert code == 0 and 'pip install "scrubjay[' in out and "simd active" in out


def test_doctor_says_damage(notes: Path, capsys: Any) -> None:
    import sqlite3

    add(capsys, "notes")
    with sqlite3.connect("m.scrubjay") as connection:
        connection.execute("UPDATE document SET text = 'another' WHERE id = 'a'")
    connection.close()
    code, out, _ = run(capsys, "doctor", "m.scrubjay", "--json")
    assert code == 1 and json.loads(out)["file"]["problems"]


def test_doctor_knows_every_extra() -> None:
    from scrubjay.cli.doctor_command import EXTRAS

    tomllib = pytest.importorskip("tomllib")
    root = Path(__file__).resolve().parents[2]
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    ours = {"all", "dev", "bench", "docs", "notebooks"}  # sets of extras, and developers' tools
    assert set(EXTRAS) == {name for name in declared if name not in ours and not name.startswith("test")}


def complete(script: str, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    typed = f"COMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_scrubjay"
    code = f"{script}\n{typed}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(os.name == "nt", reason="no bash there")
def test_completion_for_bash_completes(notes: Path, capsys: Any) -> None:
    code, script, _ = run(capsys, "completion", "bash")
    assert code == 0
    assert complete(script, "scrubjay", "se") == ["search", "serve"]
    assert complete(script, "scrubjay", "memory", "ad") == ["add"]
    assert set(complete(script, "scrubjay", "memory", "add", "f", "--k")) == {"--kind", "--key"}
    assert complete(script, "scrubjay", "search", "q", "--mode", "le") == ["lexical"]
    assert complete(script, "scrubjay", "completion", "z") == ["zsh"]
    assert complete(script, "scrubjay", "stats", "no") == ["notes"]


def test_completion_for_zsh_and_fish_names_every_command(capsys: Any) -> None:
    zsh = run(capsys, "completion", "zsh")[1]
    fish = run(capsys, "completion", "fish")[1]
    assert zsh.startswith("#compdef scrubjay\n") and "bashcompinit" in zsh
    for name in cli._COMMANDS:
        assert f" {name} " in f" {zsh} ".replace("'", " ") and f"-a {name} -d" in fish
    assert "-n '__fish_seen_subcommand_from search' -l mode" in fish
    assert run(capsys, "completion", "csh")[0] == 2


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_add_from_standard_input(notes: Path) -> None:
    command = [sys.executable, "-m", "scrubjay", "add", "m.scrubjay", "-", "--embedder", "none"]
    done = subprocess.run(command, input='{"text": "oak"}\n', capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ids() == ["standard input:1"]
