"""Commands work on an index in PostgreSQL, and a copy equals its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Memory, Objects, Scope, UnsupportedError
from scrubjay.backend import Backend
from scrubjay.base.progress import open_progress
from scrubjay.cli import main
from scrubjay.cli.arguments import make_parser
from scrubjay.cli.objects import objects_of
from scrubjay.cli.reader_state import InputError
from scrubjay.store import copying
from tests.data.keys import provider
from tests.data.postgres import new_url

JANE, JOE = Scope("acme", user="jane"), Scope("globex", user="joe")


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.scrubjay"
    with Index.open(path, dim=3, dtype="f32", metric="ip") as index:
        for i in range(50):
            scope = (JANE, JOE)[i % 2]
            index.upsert(
                i, f"oak number {i}", scope=scope, vector=[i, 1, 2] if i % 5 else None, metadata={"n": i}
            )
        index.delete(4, scope=JANE)
        index.collection("notes", dim=2).upsert("n", "a note on trains", scope=JANE, vector=[1, 2])
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main([*arguments]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_copy_into_a_database_and_back(
    url: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json.loads(said(capsys, "copy", str(path), url, "--json", "--no-progress"))
    assert (facts["memories"], facts["written"]) == (50, 50)
    assert "app@" not in facts["to"] and set(facts["digests"]) == {"", "notes"}
    again = json.loads(said(capsys, "copy", str(path), url, "--json", "--no-progress"))
    assert (again["memories"], again["written"], again["digests"]) == (50, 0, facts["digests"])
    back = json.loads(said(capsys, "copy", url, str(tmp_path / "back"), "--json", "--no-progress"))
    assert (back["written"], back["digests"]) == (50, facts["digests"])
    with Index.open(tmp_path / "back") as index, Index.open(path) as first, Index.open(url) as served:
        for one in (index, served):
            for scope in (JANE, JOE):
                hits = one.search("oak number 7", scope=scope, vector=[1, 2, 3], k=40)
                expected = first.search("oak number 7", scope=scope, vector=[1, 2, 3], k=40)
                assert hits.keys == expected.keys and hits.scores.tobytes() == expected.scores.tobytes()
            assert one.collection("notes").count(JANE) == 1 and one.admin.check().clean


def test_files_are_added_to_a_database(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    notes, table = tmp_path / "notes", tmp_path / "x.csv"
    notes.mkdir()
    (notes / "keys.md").write_text("# Keys\n\nThe staging key is sk-stg-0041.\n")
    table.write_text("text,owner\nRefunds need two signatures,ann\n,bob\n")
    add = ("add", url, "notes", "x.csv", "--user", "jane", "--embedder", "none", "--json", "--no-progress")
    first = json.loads(said(capsys, *add))
    assert (first["added"], first["files"], len(first["skipped"])) == (2, 2, 1)
    assert "app@" not in first["to"]
    again = json.loads(said(capsys, *add))
    assert (again["added"], again["updated"], again["unchanged"], again["deleted"]) == (0, 0, 2, 0)
    table.write_text("text,owner\nRefunds need three signatures,ann\nInvoices on Monday,bob\n")
    changed = json.loads(said(capsys, *add))
    assert (changed["added"], changed["updated"], changed["unchanged"]) == (1, 1, 1)
    table.unlink()
    pruned = json.loads(said(capsys, *add, "--prune"))
    assert (pruned["deleted"], pruned["unchanged"]) == (2, 1)
    with Index.open(url) as index:
        (hit,) = index.search("staging key", scope=Scope("local", user="jane"))
        assert hit.id == "notes/keys.md#1" and hit.metadata["file"] == "notes/keys.md"
    missing = said(capsys, "add", url, "nowhere.md", code=2)
    assert "nowhere.md: No such file" in missing and "app@" not in missing


def test_encrypted_tenants_are_copied_both_ways_with_their_keys(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography")
    first, keys = tmp_path / "sealed", ("--keys", "tests.data.keys:provider")
    with Index.open(first, keys=provider) as index:
        for scope in (JANE, JOE, Scope("globex")):
            index.upsert_many(
                {"id": f"m{i}", "text": f"secret oak {i}", "scope": scope, "vector": [1, i, 2]}
                for i in range(9)
            )
    for source, target in ((first, url), (url, tmp_path / "back")):
        said(capsys, "copy", str(source), str(target), "--no-progress", code=2)  # the keys are missing
        facts = json.loads(said(capsys, "copy", str(source), str(target), *keys, "--json", "--no-progress"))
        assert facts["memories"] == 27
        with Index.open(target, keys=provider) as index, Index.open(first, keys=provider) as other:
            assert index.admin.encrypted_tenants() == other.admin.encrypted_tenants() == [JANE.tenant]
            assert index.search("oak", scope=JANE, k=50).keys == other.search("oak", scope=JANE, k=50).keys
            assert index.admin.check().clean
    assert "expected MODULE:FUNCTION" in said(
        capsys, "copy", str(first), url, "--keys", "no.such:thing", code=2
    )


def test_a_copy_that_was_cut_short_goes_on(
    url: str, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_BATCH", 7)
    n_batches = [0]
    write = copying._write

    def failing(target: object, rows: object) -> int:
        n_batches[0] += 1
        if n_batches[0] == 4:
            raise KeyboardInterrupt
        return write(target, rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(copying, "_write", failing)
        assert main(["copy", str(path), url, "--no-progress"]) != 0
    capsys.readouterr()
    with Index.open(url) as index:
        assert len(index) == 21
    facts = json.loads(said(capsys, "copy", str(path), url, "--json", "--no-progress"))
    assert (facts["memories"], facts["written"]) == (50, 29)
    with Index.open(url) as index:
        index.upsert(0, "something else", scope=JANE)
    assert "beginning of this copy" in said(capsys, "copy", str(path), url, "--no-progress", code=2)


def test_a_memory_is_not_copied_without_its_records(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(tmp_path / "agent") as memory, Index.open(url) as target:
        engines: list[Any] = [Backend.of(one).engine for one in (memory.documents, target)]
        with pytest.raises(UnsupportedError, match="copying a Memory"):
            copying.copy_documents(*engines, open_progress(False, total=0, what="", unit=""))
    facts = json.loads(said(capsys, "copy", str(tmp_path / "agent"), new_url(), "--json", "--no-progress"))
    assert (facts["memories"], facts["records"]) == (
        0,
        0,
    )  # tests/memory/test_copying.py has one with records


def test_commands_take_an_address(
    url: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = ("--embedder", "none")
    said(capsys, "copy", str(path), url, "--no-progress")
    found = json.loads(
        said(capsys, "search", "oak 8", url, *none, "--tenant", "acme", "--user", "jane", "--json")
    )
    assert "oak number 8" in json.dumps(found)
    assert json.loads(said(capsys, "check", url, "--json"))["problems"] == []
    assert json.loads(said(capsys, "stats", url, *none, "--json"))["documents"] == 49
    said(capsys, "compact", url, "--no-progress")
    said(capsys, "export", url, str(tmp_path / "all.jsonl"), "--no-progress")
    said(capsys, "export", str(path), str(tmp_path / "file.jsonl"), "--no-progress")
    assert (tmp_path / "all.jsonl").read_text() == (tmp_path / "file.jsonl").read_text()
    other = new_url()
    assert "app@" not in said(capsys, "import", other, str(tmp_path / "all.jsonl"), *none, "--no-progress")
    with Index.open(other) as index:
        assert len(index) == 49
    for refused in (["backup", url, str(tmp_path / "b")], ["check", "--repair", url]):
        text = said(capsys, *refused, code=2)
        assert "file" in text and "app@" not in text
    assert "once for writing" in said(capsys, "search", "oak", new_url(), *none, "--tenant", "acme", code=2)


def test_the_environment_names_an_object_store_for_every_command(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUBJAY_OBJECTS", (tmp_path / "objects").as_uri())
    monkeypatch.setenv("SCRUBJAY_OBJECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SCRUBJAY_OBJECT_CACHE_MB", "100")
    with Index.open(tmp_path / "m.scrubjay", dim=256) as index:
        vectors = np.random.default_rng(1).normal(size=(3000, 256))
        index.upsert_many(
            [{"id": i, "text": f"oak number {i}", "vector": vectors[i]} for i in range(3000)], scope=JANE
        )
    said(capsys, "copy", str(tmp_path / "m.scrubjay"), url, "--json", "--no-progress")
    said(capsys, "compact", url)
    (made,) = (path for path in (tmp_path / "objects").rglob("*") if path.is_file())
    assert made.stat().st_size > 1 << 20
    (copy,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert copy.read_bytes() == made.read_bytes()
    assert json.loads(said(capsys, "check", url, "--json"))["problems"] == []
    found = said(capsys, "search", "oak number 7", url, "--tenant", "acme", "--user", "jane", "-k", "1")
    assert "oak number 7" in found
    monkeypatch.setenv("SCRUBJAY_OBJECT_CACHE_MB", "many")
    assert "SCRUBJAY_OBJECT_CACHE_MB" in said(capsys, "check", url, code=2)


def test_objects_of_a_served_index_are_those_of_the_command_line(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUBJAY_OBJECTS", "s3://of-the-environment/a")
    parser = make_parser()
    served = parser.parse_args(
        ["serve", url, "--objects", "s3://b/c", "--object-cache", "x", "--object-cache-mb", "7"]
    )
    assert objects_of(served.index, served) == Objects("s3://b/c", cache="x", cache_bytes=7 << 20)
    assert objects_of(url, parser.parse_args(["mcp", url])) == Objects("s3://of-the-environment/a")
    assert objects_of("a.scrubjay", parser.parse_args(["serve", "a.scrubjay"])) is None
    for option, given in (("--objects", "s3://b/c"), ("--object-cache", "x"), ("--object-cache-mb", "7")):
        with pytest.raises(InputError, match=f"^{option}: expected an index in a database"):
            objects_of("a.scrubjay", parser.parse_args(["serve", "a.scrubjay", option, given]))
    monkeypatch.delenv("SCRUBJAY_OBJECTS")
    assert objects_of(url) is None


def test_freezing_by_command(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(url, dim=3) as index:
        for scope in (JANE, JOE):
            index.upsert("m1", "The night train to Vienna.", scope=scope, vector=[1, 2, 3])
        index.collection("notes", dim=3).upsert("n", "a note", scope=JANE, vector=[1, 2, 3])
    assert "objects=" in said(capsys, "freeze", url, "--older-than", "0", code=2)
    monkeypatch.setenv("SCRUBJAY_OBJECTS", (tmp_path / "objects").as_uri())
    monkeypatch.setenv("SCRUBJAY_OBJECT_KEEP_SECONDS", "x")
    assert "SCRUBJAY_OBJECT_KEEP_SECONDS" in said(capsys, "freeze", url, "--older-than", "1", code=2)
    monkeypatch.setenv("SCRUBJAY_OBJECT_KEEP_SECONDS", "0")
    kept = objects_of(url)
    assert kept is not None and kept.keep_seconds == 0
    facts = json.loads(said(capsys, "freeze", url, "--older-than", "1", "--json"))
    assert (facts["scopes"], facts["memories"], facts["bytes"]) == (0, 0, 0)
    facts = json.loads(said(capsys, "freeze", url, "--older-than", "0", "--tenant", "acme", "--json"))
    assert (facts["scopes"], facts["memories"]) == (2, 2)
    frozen = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in frozen) >= facts["bytes"] > 0
    assert "Vienna" in said(capsys, "search", "night train", url, "--tenant", "acme", "--user", "jane")
    assert "problem" not in said(capsys, "check", url)
    assert "--tenant" in said(capsys, "freeze", url, "--older-than", "0", "--user", "jane", code=2)
    assert "database" in said(capsys, "freeze", str(tmp_path / "a"), "--older-than", "0", code=2)
    for wrong in ("-1", "1.5", "x"):
        assert "--older-than" in said(capsys, "freeze", url, "--older-than", wrong, code=2)
    monkeypatch.delenv("SCRUBJAY_OBJECTS")
    assert "objects=" in said(
        capsys, "search", "night train", url, "--tenant", "acme", "--user", "jane", code=2
    )
