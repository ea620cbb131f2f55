"""Files written by the command line: no file is lost, changed by reading it, or left incomplete."""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Memory, Scope, cli
from scrubjay.cli import file_commands
from scrubjay.cli.arguments import make_parser

JANE = Scope("acme", user="jane")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "v.scrubjay"
    with Index.open(path) as index:
        index.upsert_many(
            [
                {"id": f"m{i}", "text": f"oak number {i}", "scope": JANE, "metadata": {"n": i}}
                for i in range(20)
            ]
        )
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Keys\n\nThe staging key is sk-stg-0041.\n")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = cli.main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def state(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Return every file below a folder with the digest of its bytes, its mode and its modification time."""
    return {
        str(file.relative_to(folder)): (
            hashlib.sha256(file.read_bytes()).hexdigest(),
            file.stat().st_mode,
            file.stat().st_mtime_ns,
        )
        for file in folder.rglob("*")
        if file.is_file()
    }


# -------------------------------------------------------------------- nothing is overwritten


def writers(path: Path, notes: Path, target: Path) -> dict[str, list[str | Path]]:
    """Return the commands that write a file, each with this target."""
    judged = notes.parent / "judged"
    judged.mkdir(exist_ok=True)
    for name, letter in (("corpus", "d"), ("queries", "q")):
        rows = [{"id": f"{letter}{i}", "text": f"oak {i}"} for i in range(9)]
        (judged / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (judged / "qrels.tsv").write_text("".join(f"q{i}\td{i}\t1\n" for i in range(9)))
    return {
        "index": ["index", notes, "--embedder", "none", "--out", target],
        "backup": ["backup", path, target],
        "export": ["export", path, target],
        "tune": ["tune", judged, "--embedder", "none", "--no-progress", "--out", target],
    }


@pytest.mark.parametrize("command", ["index", "backup", "export", "tune"])
@pytest.mark.parametrize("suffix", [".jsonl", ".scrubjay"])
def test_an_existing_file_is_replaced_only_with_force(
    path: Path, notes: Path, tmp_path: Path, command: str, suffix: str, capsys: Any
) -> None:
    target = tmp_path / f"there{suffix}"
    target.write_bytes(path.read_bytes())
    target.chmod(0o640)
    arguments = writers(path, notes, target)[command]
    before = state(tmp_path)
    code, _, said = run(capsys, *arguments)
    assert code == 2 and str(target) in said and "--force" in said
    assert state(tmp_path) == before
    code, _, said = run(capsys, *arguments, "--force")
    assert code == 0, said
    after = state(tmp_path)
    assert {name for name in before if after[name] != before[name]} == {target.name}
    assert after.keys() == before.keys()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640  # the mode set by its owner


@pytest.mark.parametrize("command", ["index", "backup", "export"])
@pytest.mark.parametrize("link", ["same", "symlink", "hard link", "dotted"])
def test_commands_that_read_write_no_file(
    path: Path, tmp_path: Path, command: str, link: str, capsys: Any
) -> None:
    source = path
    if command == "index":
        source = tmp_path / "in.jsonl"
        source.write_text('{"text": "oak"}\n')
    target = source
    if link == "symlink":
        target = tmp_path / f"link{source.suffix}"
        target.symlink_to(source)
    elif link == "hard link":
        target = tmp_path / f"link{source.suffix}"
        target.hardlink_to(source)
    elif link == "dotted":
        target = tmp_path / "x" / ".." / source.name
        (tmp_path / "x").mkdir()
    before = state(tmp_path)
    arguments = ["index", source, "--embedder", "none", "--out", target]
    if command != "index":
        arguments = [command, source, target]
    for force in ([], ["--force"]):
        code, _, said = run(capsys, *arguments, *force)
        assert code == 2 and "another file" in said
        assert state(tmp_path) == before


def test_an_index_is_not_copied_onto_itself(path: Path, tmp_path: Path, capsys: Any) -> None:
    link = tmp_path / "link.scrubjay"
    link.symlink_to(path)
    before = state(tmp_path)
    for target in (path, link):
        code, _, said = run(capsys, "copy", path, target, "--no-progress")
        assert code == 2 and "another index" in said
        assert state(tmp_path) == before


def test_salvage_replaces_files_with_force_but_never_its_source(
    path: Path, tmp_path: Path, capsys: Any
) -> None:
    with Memory.open(path) as memory:
        memory.policy("tone", "Be brief.", tenant="acme", by="test")
    source = tmp_path / "v.tables"
    path.rename(source)
    assert run(capsys, "export", source, tmp_path / "out", "--salvage")[0] == 0
    (tmp_path / "out.tables").write_text("old")
    (tmp_path / "out").unlink()
    code, _, said = run(capsys, "export", source, tmp_path / "out", "--salvage")
    assert code == 2 and "exists" in said and (tmp_path / "out.tables").read_text() == "old"
    assert run(capsys, "export", source, tmp_path / "out", "--salvage", "--force")[0] == 0
    assert "Be brief." in (tmp_path / "out.tables").read_text()
    before = source.read_bytes()
    code, _, said = run(capsys, "export", source, tmp_path / "v", "--salvage", "--force")
    assert code == 2 and "another file" in said
    assert source.read_bytes() == before


def test_a_note_below_a_folder_that_is_read_is_not_written(notes: Path, tmp_path: Path, capsys: Any) -> None:
    link = tmp_path / "out.jsonl"
    link.symlink_to(notes / "a.md")
    before = state(tmp_path)
    for out in (notes / "a.md", link):
        code, _, said = run(capsys, "index", notes, "--embedder", "none", "--out", out, "--force")
        assert code == 2 and said
    assert state(tmp_path) == before


def test_names_that_say_nothing_of_the_form_are_refused(notes: Path, tmp_path: Path, capsys: Any) -> None:
    code, _, said = run(capsys, "index", notes, "--embedder", "none", "--out", tmp_path / "out.db")
    assert code == 2 and ".scrubjay or .jsonl" in said and not (tmp_path / "out.db").exists()


@pytest.mark.parametrize("command", ["backup", "index"])
def test_an_index_in_use_is_not_replaced(
    path: Path, notes: Path, tmp_path: Path, command: str, capsys: Any
) -> None:
    """SQLite would apply its log to the file that replaces it."""
    target = tmp_path / "used.scrubjay"
    with Index.open(target) as used:
        used.upsert("m1", "oak", scope=JANE)
        code, _, said = run(capsys, *writers(path, notes, target)[command], "--force")
        assert code == 2 and "in use" in said
        assert used.get("m1", scope=JANE) is not None
    with Index.open(target) as used:
        assert used.get("m1", scope=JANE) is not None and used.admin.check().problems == []


def test_a_failed_export_leaves_no_file(path: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    def half(engine: Any, file: Any, *_: Any, **__: Any) -> int:
        file.write("half")
        file.flush()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scrubjay.index.transfer.write_export", half)
    there = tmp_path / "there.jsonl"
    there.write_text("whole")
    before = state(tmp_path)
    for target in (tmp_path / "new.jsonl", there):
        code, _, said = run(capsys, "export", path, target, "--force")
        assert code == 2 and "No space left" in said
    assert state(tmp_path) == before


def test_a_target_that_is_a_folder_or_lacks_one_is_refused(
    path: Path, notes: Path, tmp_path: Path, capsys: Any
) -> None:
    for target, words in ((tmp_path / "no" / "x.jsonl", "make the folder"), (notes, "this is a folder")):
        code, _, said = run(capsys, "export", path, target)
        assert code == 2 and str(target) in said and words in said


# -------------------------------------------------------------------- a durable index from the command line


@pytest.mark.parametrize("name", ["n.scrubjay", "n.jsonl"])
def test_writing_shows_how_far_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Reading and embedding have a progress bar; writing a large file takes as long again."""
    source = tmp_path / "x.jsonl"
    source.write_text("".join(json.dumps({"id": f"m{i}", "text": f"oak {i}"}) + "\n" for i in range(2300)))
    seen: list[Any] = []

    class Bar:
        def update(self, n: int) -> None:
            seen.append(n)

        def close(self) -> None:
            seen.append("closed")

    def opened(wanted: bool | None, **said: Any) -> Bar:
        seen.append((wanted, said["total"], said["what"]))
        return Bar()

    monkeypatch.setattr(file_commands, "open_progress", opened)
    assert run(capsys, "index", source, "--embedder", "none", "--out", tmp_path / name)[0] == 0
    assert seen[0] == (None, 2300, "writing") and seen[-1] == "closed"
    assert sum(seen[1:-1]) == 2300 and len(seen) > 4


def test_a_search_names_and_shows_the_best_passage(tmp_path: Path, capsys: Any) -> None:
    halls = [
        f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(540)
    ]
    middle = "If the nightly backups fail three times in a row, page Ada before touching the replica."
    long = " ".join([*halls[:270], middle, *halls[270:]])
    source = tmp_path / "a.jsonl"
    rows = [{"id": "manual", "text": long}, {"id": "short", "text": "Hall 3 was swept."}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["search", "whom do we inform when saving our data goes wrong again and again?", source]
    code, out, _ = run(capsys, *asked, "--json")
    hits = {hit["id"]: hit for hit in json.loads(out)["hits"]}
    assert code == 0 and middle in long[slice(*hits["manual"]["passage"])]
    assert "passage" not in hits.get("short", {})
    code, out, _ = run(capsys, *asked)
    assert code == 0 and "page Ada" in out


def test_an_index_is_made_filled_searched_and_described(notes: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "n.scrubjay"
    assert run(capsys, "index", notes, "--out", target, "--no-progress")[0] == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["n.scrubjay", "notes"]
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "t", "text": "Prefers trains to planes."}\n')
    assert run(capsys, "import", target, more, "--no-progress")[0] == 0
    before = state(tmp_path)
    code, out, _ = run(capsys, "search", "railway", target, "-k", "1", "--json")
    assert code == 0 and [hit["id"] for hit in json.loads(out)["hits"]] == ["t"]
    code, out, _ = run(capsys, "search", "sk-stg-0041", target, "-k", "1")
    assert code == 0 and "a.md#1" in out
    code, out, _ = run(capsys, "stats", target, "--json")
    described = json.loads(out)
    assert (
        code == 0 and described["documents"] == described["vectors"] == 2
    )  # of a file that was never searched
    assert described["scopes"] == [{"tenant": "local", "user": None, "agent": None, "memories": 2}]
    assert state(tmp_path) == before
    with Index.open(target) as index:
        assert index.admin.check().problems == [] and index.count(Scope("local")) == 2


def test_exported_files_can_be_searched_and_imported(path: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out.jsonl"
    assert run(capsys, "export", path, out)[0] == 0
    code, said, _ = run(
        capsys, "search", "oak 7", out, "--tenant", "acme", "--user", "jane", "-k", "1", "--json"
    )
    assert code == 0 and json.loads(said)["hits"][0]["id"] == "m7"
    copy = tmp_path / "copy.scrubjay"
    assert run(capsys, "import", copy, out, "--no-progress")[0] == 0
    with Index.open(copy) as index, Index.open(path) as source:
        assert index.list(JANE) == source.list(JANE) and len(index) == 20


def test_passages_in_an_export_are_no_metadata(tmp_path: Path, capsys: Any) -> None:
    source, out, copy = tmp_path / "from.scrubjay", tmp_path / "out.jsonl", tmp_path / "to.scrubjay"
    text, own = "Prefers trains to planes. Dislikes ships.", [(0, 25), (26, 41)]
    with Index.open(source, "static") as index:
        index.upsert("own", text, scope=JANE, passages=own, metadata={"passages": [[1, 2]]})
        index.upsert("none", text, scope=JANE, passages=False)
        index.upsert("rows", text, scope=JANE, vector=np.eye(2, index.admin.stats()["dim"]))
        index.admin.export(out)
    for written in (out, tmp_path / "again.jsonl"):
        copy.unlink(missing_ok=True)
        assert run(capsys, "index", written, "--out", copy, "--embedder", "static", "--no-progress")[0] == 0
        with Index.open(copy, "static") as index:
            records = {record.id: index.get(record.id, scope=JANE) for record in index.list(JANE)}
        assert {id: record.metadata for id, record in records.items()} == {
            "own": {"passages": [[1, 2]]}, "none": {}, "rows": {},
        }  # fmt: skip
        assert records["own"].vector.spans.tolist() == [list(pair) for pair in own]
        assert records["none"].vector.ndim == 1 and len(records["rows"].vector.rows) == 2
        assert (
            run(capsys, "index", out, "--out", tmp_path / "again.jsonl", "--embedder", "static", "--force")[0]
            == 0
        )


@pytest.mark.parametrize(
    ("embedder", "model"), [("static", "static/en-1-64e0f994"), ("default", "wordllama/l2_supercat-256")]
)
def test_a_new_file_takes_the_embedder_whose_vectors_an_export_brings(
    tmp_path: Path, capsys: Any, embedder: str, model: str
) -> None:
    with Index.open(tmp_path / "from.scrubjay", embedder) as index:
        index.upsert("m1", "Prefers trains.", scope=JANE)
        index.admin.export(tmp_path / "out.jsonl")
    assert run(capsys, "import", tmp_path / "to.scrubjay", tmp_path / "out.jsonl")[0] == 0
    with Index.open(tmp_path / "to.scrubjay", "auto") as index:
        assert index.admin.stats()["embedder"] == model
        assert index.search("railway", scope=JANE)[0].vector_rank == 1


def test_importing_vectors_of_an_unavailable_model_is_reported(tmp_path: Path, capsys: Any) -> None:
    target, out = tmp_path / "to.scrubjay", tmp_path / "out.jsonl"
    header: dict[str, Any] = {"scrubjay_export": 1, "metric": "cosine", "dtype": "f16", "dim": 2}
    row = {"id": "m1", "text": "Prefers trains.", "tenant": "acme", "user": "jane", "vector": [1.0, 0.0]}
    out.write_text(json.dumps({**header, "embedder": "elsewhere/model"}) + "\n" + json.dumps(row) + "\n")
    code, _, said = run(capsys, "import", target, out)
    assert code == 2 and "out.jsonl: its vectors are of 'elsewhere/model'" in said and not target.exists()
    assert run(capsys, "import", target, out, "--embedder", "none")[0] == 0
    out.write_text(json.dumps({**header, "embedder": None}) + "\n" + json.dumps(row) + "\n")
    assert run(capsys, "import", tmp_path / "own.scrubjay", out)[0] == 0  # vectors supplied by the caller
    with Index.open(tmp_path / "own.scrubjay") as index:
        assert index.search(None, scope=JANE, vector=[1.0, 0.0])[0].id == "m1"


def test_index_reports_its_result_as_json(notes: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "o.scrubjay"
    code, said, _ = run(capsys, "index", notes, "--out", out, "--json", "--embedder", "none")
    assert code == 0 and json.loads(said) == {"memories": 1, "to": str(out)}


def test_an_import_that_fails_leaves_no_index(tmp_path: Path, capsys: Any) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a", "text": "oak"}\nnot JSON\n')
    assert run(capsys, "import", tmp_path / "new.scrubjay", broken)[0] == 2
    assert [file.name for file in tmp_path.iterdir()] == ["broken.jsonl"]


def test_an_import_does_not_read_the_index_that_it_writes(path: Path, tmp_path: Path, capsys: Any) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    before = state(tmp_path)
    code, _, said = run(capsys, "import", path, link)
    assert code == 2 and "another file" in said
    assert state(tmp_path) == before


def test_an_index_given_with_other_files_is_refused(path: Path, notes: Path, capsys: Any) -> None:
    assert run(capsys, "search", "oak", path, notes)[0] == 2
    code, _, said = run(capsys, "index", path, "--out", "-")
    assert code == 2 and "search and stats take it alone" in said


# -------------------------------------------------------------------- reading does not write

_JANE = ["--tenant", "acme", "--user", "jane"]
READERS: list[list[str]] = [
    ["search", "oak", "FILE", *_JANE],
    ["list", "FILE", *_JANE],
    ["get", "FILE", "m1", *_JANE],
    ["stats", "FILE"],
    ["check", "FILE"],
    ["backup", "FILE", "TARGET"],
    ["export", "FILE", "TARGET"],
    ["export", "FILE", "TARGET", *_JANE],
    ["export", "FILE", "TARGET", "--salvage"],
    ["tune", "FILE", "--embedder", "none"],
    ["memory", "recall", "FILE", "oak"],
    ["memory", "known", "FILE"],
    ["memory", "list", "FILE", "--as-of", "2026-06-01"],
    ["memory", "history", "FILE", "Jane", "lives in"],
    ["memory", "changes", "FILE"],
    ["memory", "holds", "FILE"],
    ["memory", "why", "FILE", "m1"],
    ["memory", "replay", "FILE", "a run"],
    ["memory", "export", "FILE", "TARGET"],
]
DOCTOR = ["doctor", "FILE"]  # a file that is not an index is not an error to it
WRITERS: list[list[str]] = [
    ["memory", "sweep", "FILE"],
    ["memory", "forget", "FILE", "--tenant", "acme", "--yes"],
    ["compact", "FILE"],
]


def names(commands: list[list[str]]) -> list[str]:
    return [
        " ".join(one for one in command if one not in ("FILE", "TARGET", *_JANE))[:40] for command in commands
    ]


def test_every_command_that_reads_is_looked_at() -> None:
    """All others write to the file by design, serve it, or have their own tests above."""
    known = {command[0] if command[0] != "memory" else f"memory {command[1]}" for command in READERS}
    parser = make_parser()
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    commands = set(groups[0].choices)
    of_memory = groups[0].choices["memory"]._actions
    (inner,) = [action for action in of_memory if isinstance(action, argparse._SubParsersAction)]
    commands = (commands - {"memory"}) | {f"memory {name}" for name in inner.choices}
    write = {"add", "rm", "import", "compact", "copy", "roles", "freeze", "mcp", "serve"} | {
        f"memory {name}"
        for name in ("add", "forget", "sweep", "import", "confirm", "revoke", "hold", "release")
    }
    no_file = {"demo", "index", "bench", "completion"}
    assert commands - write - no_file == known | {DOCTOR[0]}


@pytest.mark.parametrize("arguments", READERS + WRITERS, ids=names(READERS + WRITERS))
@pytest.mark.parametrize("what", ["missing", "empty", "text", "other database", "folder"])
def test_commands_leave_a_file_that_is_not_an_index_unchanged(
    tmp_path: Path, arguments: list[str], what: str, capsys: Any
) -> None:
    file = tmp_path / "thing"
    if what == "empty":
        file.touch()
    elif what == "text":
        file.write_text("Dear diary, " * 1000)
    elif what == "folder":
        file.mkdir()
    elif what == "other database":
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE mine(x)")
        connection.close()
    before = state(tmp_path)
    given = [{"FILE": str(file), "TARGET": str(tmp_path / "t.jsonl")}.get(one, one) for one in arguments]
    code, _, said = run(capsys, *given)
    assert code == 2 and "thing" in said and "Traceback" not in said
    assert state(tmp_path) == before


@pytest.mark.parametrize("arguments", [*READERS, DOCTOR], ids=names([*READERS, DOCTOR]))
@pytest.mark.parametrize("kind", ["index", "backup", "memory"])
def test_reading_changes_nothing(
    path: Path, tmp_path: Path, arguments: list[str], kind: str, capsys: Any
) -> None:
    """Rows without images, which another opening would write when it closes; a backup, which has no log yet."""
    if kind == "backup":
        with Index.open(path) as index:
            index.admin.backup(tmp_path / "b")
        path = tmp_path / "b"
    elif kind == "memory":
        with Memory.open(path) as memory:
            memory.policy("tone", "Be brief.", tenant="acme", by="test")
    is_memory = kind == "memory"
    before = state(tmp_path)
    target = tmp_path / "t.jsonl"
    given = [{"FILE": str(path), "TARGET": str(target)}.get(one, one) for one in arguments]
    code, _, said = run(capsys, *given)
    if arguments[0] == "memory":
        assert code in ((0, 1, 2) if is_memory else (2,))
        assert is_memory or f"{path}: no memory in this file" in said
    else:
        assert code == (1 if arguments[0] == "tune" else 0), said
    for file in tmp_path.glob("t.jsonl*"):  # --salvage creates one per collection
        file.unlink()
    assert state(tmp_path) == before


def test_a_medium_that_is_read_only_can_be_read(path: Path, tmp_path: Path) -> None:
    """In its own mount namespace, if this machine allows that."""
    command = (
        f"mount --bind {tmp_path} {tmp_path} && mount -o remount,ro,bind {tmp_path} && cd / && "
        f"python -m scrubjay search oak {path} --tenant acme --user jane --embedder none && "
        f"python -m scrubjay stats {path} && python -m scrubjay check {path}"
    )
    command = command.replace("python -m", f"{sys.executable} -m")
    able = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if able.returncode:
        pytest.skip("no mount namespaces here")
    before = state(tmp_path)
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, check=False)
    if "mount:" in done.stderr:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 0, done.stderr
    assert "oak number" in done.stdout
    assert state(tmp_path) == before


def test_memory_commands_work_on_a_file_with_a_memory(path: Path, capsys: Any) -> None:
    scope = ["--tenant", "acme", "--user", "jane", "--no-progress"]
    assert run(capsys, "memory", "add", path, "Jane prefers oak.", *scope)[0] == 0
    code, out, said = run(capsys, "memory", "recall", path, "oak", *scope)
    assert code == 0 and "prefers oak" in out, said
    assert run(capsys, "memory", "known", path, *scope)[0] in (0, 1)
