"""Repair and salvage: readable data is preserved, unreadable data is reported and set aside."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import CorruptIndexError, Index, Scope, StoreBusyError, StoreError
from scrubjay.cli import main
from scrubjay.index import Admin
from scrubjay.memory import FactCandidate, Memory
from scrubjay.store.repair import rebuilding, repairing
from tests.data.keys import provider

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.scrubjay"
    with Memory.open(path, dim=3, durability="normal") as memory:
        index = memory.index
        for i in range(40):
            scope = JANE if i % 2 else JOE
            index.upsert(f"m{i}", f"common oak {i}", scope=scope, metadata={"n": i}, vector=[1.0, i, 2.0])
        index.delete("m39", scope=JANE)
        index.feedback("m1", query="oak?", scope=JANE)
        index.collection("side", dim=2).upsert(1, "side oak", scope=JANE, vector=[1, 2])
        fact = FactCandidate("Jane likes oaks", "Jane", "likes", metadata={"a": 1})
        memory.propose(fact, scope=JANE, source="run")
        memory.policy("refunds", "No refunds.", tenant="acme", by="legal")
        memory.prefer("tone", "brief", scope=JANE)
        with memory.session(JANE, "chat") as session:
            session.user("hello")
    return path


def forge(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def everything(path: Path) -> dict[str, Any]:
    """Return the contents of a file, for comparison."""
    with Memory.open(path, durability="normal") as memory:
        index = memory.index
        assert index.admin.check().problems == []
        assert memory.admin.check() == []
        found = index.search("common oak", scope=JANE, k=50, vector=[1.0, 3.0, 2.0])
        return {
            "records": [(one.id, one.text, one.metadata) for s in (JANE, JOE) for one in index.list(s)],
            "vectors": [
                np.asarray(index.get(one.id, scope=one.scope).vector).tolist() for one in index.list(JANE)
            ],  # type: ignore[union-attr]
            "hits": [(hit.id, hit.score) for hit in found],
            "side": [one.text for one in index.collection("side").list(JANE)],
            "facts": [one.text for one in memory.list(JANE)],
            "events": [event.content for event in memory.replay("chat", JANE).events],
            "notes": [
                (note.id, note.query, note.scope, note.document_scope) for note in index.admin.feedbacks()
            ],
            "deletions": [event.reason for event in index.admin.events()],
        }


def test_a_sound_file_is_not_touched(path: Path) -> None:
    everything(path)
    before = (path.stat().st_ino, path.read_bytes())
    report = Admin.repair(path)
    assert not report.changed and report.left_out == report.mended == report.problems == []
    assert (path.stat().st_ino, path.read_bytes()) == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_repair_restores_damage_that_lost_no_data(path: Path) -> None:
    whole = everything(path)
    forge(
        path,
        "UPDATE scope SET documents = 3",
        "UPDATE meta SET value = 'x' WHERE name = 'metric'",
        "UPDATE document SET scope = 77 WHERE id = 'm5'",
        "INSERT INTO vector VALUES (100000, x'00')",
        "DROP TABLE tombstone",
        "DROP INDEX document_scope",
        "DROP TRIGGER memory_log_fixed",
        "CREATE TRIGGER foreign_one BEFORE INSERT ON document BEGIN SELECT RAISE(ABORT, 'no'); END",
        "UPDATE image SET data = zeroblob(length(data))",
    )
    with pytest.raises(CorruptIndexError):
        Index.open(path)
    report = Admin.repair(path)
    assert report.changed and report.problems == []
    assert len(report.left_out) == 1 and "foreign_one" in report.left_out[0]
    said = "\n".join(report.mended)
    for part in ("metric", "m5", "without a document", "tombstone", "memory_log_fixed"):
        assert part in said
    assert everything(path) == whole
    with Index.open(path) as index:
        index.upsert("new", "written again", scope=JANE)


def test_rows_that_cannot_be_read_are_set_aside(path: Path) -> None:
    whole = everything(path)
    original = path.read_bytes()
    forge(
        path,
        "UPDATE document SET text = 'forged' WHERE id = 'm5'",
        "UPDATE document SET payload = x'00ff' WHERE id = 'm6'",
        "UPDATE vector SET data = x'00' WHERE seq = (SELECT seq FROM document WHERE id = 'm7')",
        "UPDATE memory_preference SET created_at = 'soon'",
        "UPDATE feedback SET at = 'x'",
    )
    damaged = path.read_bytes()
    report = Admin.repair(path)
    assert report.changed and report.problems == []
    assert report.damaged is not None and report.set_aside is not None
    assert original != damaged
    for what in ("'m5'", "'m6'", "vector seq", "memory_preference", "feedback"):
        assert any(what in one for one in report.left_out), what
    lines = [json.loads(line) for line in report.set_aside.read_text().splitlines()]
    assert {line["table"] for line in lines} == {"document", "vector", "memory_preference", "feedback"}
    assert any(line["row"].get("text") == "forged" for line in lines)
    assert report.set_aside.stat().st_mode & 0o077 == 0
    after = everything(path)
    assert [one for one in whole["records"] if one not in after["records"]] == [
        one for one in whole["records"] if one[0] in ("m5", "m6")
    ]
    assert after["facts"] == ["No refunds.", "Jane likes oaks"]
    connection = sqlite3.connect(report.damaged)
    assert connection.execute("SELECT text FROM document WHERE id = 'm5'").fetchone() == ("forged",)
    connection.close()


def test_a_column_whose_name_cannot_be_read_is_left_out(path: Path, tmp_path: Path) -> None:
    forge(path, "PRAGMA application_id")
    data = path.read_bytes()
    for table, old, new in (
        ("feedback", b"lexical_rank", b"lexical\xffrank"),
        ("document_1", b"payload", b"pay\xffoad"),
    ):
        at = data.index(old, data.index(b"CREATE TABLE %s" % table.encode()))
        data = data[:at] + new + data[at + len(new) :]
    path.write_bytes(data)
    salvaged = Admin.salvage(path, tmp_path / "out")
    assert salvaged.left_out and salvaged.memories > 0
    report = Admin.repair(path)
    assert report.changed and report.left_out and report.problems == []


def test_pages_that_are_gone_cost_what_was_on_them(path: Path, tmp_path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many({"id": f"x{i}", "text": f"many {i} " * 20, "scope": JANE} for i in range(500))
        index.admin.compact()
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'document'").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    at = data.find(b"many 250 ") // 8192
    assert at != root - 1
    data[at * 8192 : (at + 1) * 8192] = b"\xa5" * 8192
    path.write_bytes(data)
    salvaged = Admin.salvage(path, tmp_path / "out")
    assert bytes(data) == path.read_bytes(), "the file stays as it is"
    assert 450 < salvaged.memories < 542
    assert any(one.startswith("document: rows with numbers") for one in salvaged.left_out)
    report = Admin.repair(path)
    assert report.changed and report.problems == []
    with Index.open(path) as index:
        assert index.admin.check().problems == []
        n = len(index)
        assert 450 < n < 540
    with Index(dim=3) as copy:
        assert copy.admin.import_(tmp_path / "out") == n


@pytest.mark.parametrize("damage", ["header", "size"])
def test_a_file_that_sqlite_refuses_is_read(path: Path, damage: str) -> None:
    whole = everything(path)
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:20] = bytes(20)
    else:
        data[16:18] = b"\x03\x07"
    path.write_bytes(data)
    with pytest.raises(CorruptIndexError):
        Index.open(path)
    assert Admin.repair(path).changed
    assert everything(path) == whole


def test_a_file_without_anything_in_it_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(256)) * 100)
    for call in (lambda: Admin.repair(path), lambda: Admin.salvage(path, tmp_path / "out")):
        with pytest.raises(CorruptIndexError, match="no table of an index"):
            call()
    assert path.read_bytes() == bytes(range(256)) * 100
    assert [one.name for one in tmp_path.iterdir()] == ["noise"]
    with pytest.raises(StoreError, match="no such file"):
        Admin.repair(tmp_path / "nothing")


def test_a_file_that_is_open_is_not_repaired(path: Path) -> None:
    forge(path, "UPDATE scope SET documents = 3")
    with Index.open(path) as index:
        with pytest.raises(StoreBusyError, match="close it"):
            Admin.repair(path)
        index.upsert("new", "oak", scope=JANE)
    assert Admin.repair(path).changed
    with Index.open(path) as index:
        assert index.get("new", scope=JANE) is not None


def test_sealed_rows_are_taken_over_without_a_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    path = tmp_path / "sealed"
    with Memory.open(path, keys=provider, durability="normal") as memory:
        for i in range(5):
            memory.index.upsert(f"m{i}", f"common oak {i}", scope=JANE, metadata={"n": i})
        memory.propose("Jane likes oaks", scope=JANE, source="run")
    forge(path, "UPDATE scope SET documents = 77", "UPDATE document SET text = x'ff01' WHERE id = 'm3'")
    salvaged = Admin.salvage(path, tmp_path / "out")
    assert salvaged.memories == 0 and any("encrypted" in one for one in salvaged.left_out)
    assert (
        Admin.salvage(path, tmp_path / "out2", keys=provider).memories == 5
    )  # four, and the fact's document
    report = Admin.repair(path)
    assert len(report.left_out) == 1 and "'m3'" in report.left_out[0]
    with Memory.open(path, keys=provider) as memory:
        with pytest.raises(CorruptIndexError, match="digest"):  # a row is gone: the holder of the key decides
            memory.index.search("common", scope=JANE)
        memory.index.admin.encrypt("acme", accept=True)
        assert len(memory.index.search("common", scope=JANE)) == 4
        assert memory.recall("oaks", JANE, kinds=("fact",)).texts == ["Jane likes oaks"]
        assert memory.index.admin.check().problems == []


KILLED = """
import os, sys
from pathlib import Path
from scrubjay import Admin
from scrubjay.store.repair import rebuilding
from scrubjay.store.repair import repairing
steps = iter(range(int(sys.argv[2])))
def dying(function):
    def step(*given, **options):
        if next(steps, None) is None:
            os._exit(9)
        return function(*given, **options)
    return step
for place, name in ((repairing, "_sync"), (repairing, "_copy"), (repairing, "rebuild"), (repairing, "_free_name"),
                    (Path, "replace"), (Path, "rename"), (Path, "unlink"), (repairing.shutil, "copymode")):
    setattr(place, name, dying(getattr(place, name)))
Admin.repair(sys.argv[1])
"""


def test_a_repair_that_is_killed_loses_nothing(path: Path) -> None:
    whole = everything(path)
    forge(path, "UPDATE scope SET documents = 3")
    damaged = path.read_bytes()
    deaths = 0
    for n in range(60):
        path.write_bytes(damaged)
        ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(n)], check=False, timeout=300)
        assert path.exists()
        if ended.returncode == 0:
            break
        assert ended.returncode == 9
        deaths += 1
        report = Admin.repair(path)
        assert report.problems == [] and report.left_out == []
        assert everything(path) == whole
        for one in path.parent.glob("*damaged*"):
            one.unlink()
    assert deaths > 8


def test_a_full_disk_stops_a_repair_and_blames_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite rolls back when a row does not fit; later writes then find no table."""
    path = tmp_path / "m.scrubjay"
    with Index.open(path, durability="normal") as index:
        index.upsert_many([{"id": i, "text": f"oak {i} " * 400, "scope": JANE} for i in range(60)])
    forge(path, "UPDATE document SET text = 'forged' WHERE id = 5", "DELETE FROM image", "VACUUM")
    damaged = path.read_bytes()

    class Limited(rebuilding.RebuiltFile):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.execute(f"PRAGMA max_page_count = {len(damaged) // 8192 - 4}")

    monkeypatch.setattr(rebuilding, "RebuiltFile", Limited)
    with pytest.raises(StoreError, match="full"):
        Admin.repair(path)
    assert path.read_bytes() == damaged
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    monkeypatch.undo()
    assert len(Admin.repair(path).left_out) == 1
    with Index.open(path) as index:
        assert len(index) == 59


def test_a_log_is_read_where_its_index_cannot_be_made(path: Path, tmp_path: Path) -> None:
    """As on a full disk, where the log is no worse than elsewhere."""
    with Index.open(path, durability="normal") as index:
        index.upsert("late", "late oak", scope=JANE)
        for end in ("", "-wal"):
            (tmp_path / f"work{end}").write_bytes((tmp_path / f"{path.name}{end}").read_bytes())
    script = (
        "import resource, signal, sys; from pathlib import Path; "
        "from scrubjay.store.repair.damaged_file import open_damaged; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)); "
        "mended = []; damaged = open_damaged(Path(sys.argv[1]), mended); "
        "print(mended, damaged.execute(\"SELECT text FROM document WHERE id = 'late'\").fetchall())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "work")]
    said = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout
    assert said == "[] [('late oak',)]\n"


def test_changes_that_a_check_left_in_the_log_reach_the_file(path: Path) -> None:
    forge(path, "UPDATE document SET text = 'forged' WHERE id = 'm5'")
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode = WAL'); "
        "c.execute('UPDATE scope SET documents = 17'); c.commit(); os._exit(0)"
    )

    def check(
        file: Path,
    ) -> list[str]:  # ends as on a full disk: the log cannot be written back when it closes
        subprocess.run([sys.executable, "-c", script, str(file)], check=True, timeout=60)
        assert file.with_name(file.name + "-wal").stat().st_size
        return []

    assert repairing.repair_file(path, check).changed
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT DISTINCT documents FROM scope").fetchall() == [(17,)]
    connection.close()


def test_check_repair_on_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path), "--repair"]) == 0
    forge(path, "UPDATE scope SET documents = 3")
    assert main(["check", str(path)]) == 1
    capsys.readouterr()
    assert main(["check", str(path), "--repair", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["changed"] is True and said["left_out"] == []
    forge(path, "UPDATE document SET text = 'forged' WHERE id = 'm5'")
    assert main(["check", str(path), "--repair"]) == 3
    out = capsys.readouterr().out
    assert "left out: document id str 'm5'" in out and "set aside" in out
    assert main(["check", str(path)]) == 0
    assert main(["check", str(path) + "nothing", "--repair"]) == 2


def test_export_on_the_command_line_says_what_it_left_out(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(path), str(tmp_path / "whole"), "--salvage"]) == 0
    names = {one.name for one in tmp_path.iterdir()}
    assert {"whole", "whole.side", "whole.memory", "whole.tables"} <= names
    lines = [json.loads(line) for line in (tmp_path / "whole.tables").read_text().splitlines()]
    assert {"memory_fact", "memory_policy", "memory_event", "feedback"} <= {line["table"] for line in lines}
    assert [line["row"]["scope"] for line in lines if line["table"] == "feedback"] == [["acme", "jane", ""]]
    forge(path, "UPDATE document SET payload = x'00' WHERE id = 'm5'", "DELETE FROM image")
    assert main(["export", str(path), str(tmp_path / "part")]) == 3
    assert "left out: document 'm5'" in capsys.readouterr().out
    assert main(["export", str(path), str(tmp_path / "salvaged"), "--salvage", "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["memories"] == 40 and len(said["left_out"]) == 1
    assert main(["export", str(path), str(tmp_path / "salvaged"), "--salvage"]) == 2
    assert "exist" in capsys.readouterr().err


def test_repair_leaves_no_working_folder(path: Path) -> None:
    forge(path, "UPDATE scope SET documents = 3")
    Admin.repair(path)
    assert {one.name for one in path.parent.iterdir()} == {path.name, f"{path.name}.damaged"}
    assert repairing.RepairReport().changed is False


@pytest.mark.parametrize("name", ["é" * 201, "", " ", "a\x00b", "line\nline"])
def test_a_collection_with_a_name_that_none_may_have(path: Path, name: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE collection SET name = ? WHERE name = 'side'", (name,))
    connection.close()
    with Index.open(path) as index:
        with pytest.raises(
            CorruptIndexError, match=r"collection\.name: expected 1 to 200 printable characters"
        ):
            index.admin.collections()
        assert any("collection.name" in problem for problem in index.admin.check().problems)
        assert index.count(JANE) == 19
    report = Admin.repair(path)
    assert "the name of collection 2 is lost: recovered-2" in report.mended
    with Index.open(path) as index:
        assert "recovered-2" in index.admin.collections()
        assert [one.text for one in index.collection("recovered-2").list(JANE)] == ["side oak"]
        assert index.admin.check().problems == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE feedback SET used = -1",
        "UPDATE feedback SET score = 'x'",
        f"UPDATE meta SET value = {1 << 62} WHERE name = 'generation'",
    ],
)
def test_numbers_that_were_never_written_are_not_kept(path: Path, statement: str) -> None:
    forge(path, statement)
    assert Admin.repair(path).problems == []
    everything(path)


def test_notes_on_sealed_memories_that_cannot_be_opened_go_with_them(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    path = tmp_path / "m.scrubjay"
    with Index.open(path, keys=provider) as index:
        for scope in (JANE, JOE):
            index.upsert("m1", "common oak", scope=scope)
            index.feedback("m1", query="oak?", scope=scope)
    forge(path, "UPDATE scope SET user = 'other' WHERE user = 'joe'")
    report = Admin.repair(path, keys=provider)
    assert report.changed and report.problems == []
    with Index.open(path, keys=provider) as index:
        assert index.admin.check().problems == []
        assert [note.id for note in index.admin.feedbacks()] == ["m1"]
        assert index.count() == 1


def stem(word: str) -> str:
    return word[:3]


@pytest.fixture
def stemmed(tmp_path: Path) -> Path:
    """A file with a custom analyzer, and a damaged row."""
    path = tmp_path / "stemmed.scrubjay"
    with Index.open(path, analyzer="mine", stemmer=stem, durability="normal") as index:
        index.upsert("m1", "oaken doors", scope=JANE)
        index.upsert("m2", "more of them", scope=JANE)
        index.collection("side").upsert("m3", "oaken boats", scope=JANE)
    forge(path, "UPDATE document SET text = 'another' WHERE id = 'm2'")
    return path


@pytest.mark.parametrize("options", [{}, {"stemmer": stem}, {"keys": provider}])
def test_a_file_with_an_analyzer_of_the_callers_is_repaired(stemmed: Path, options: dict[str, Any]) -> None:
    report = Admin.repair(stemmed, **options)
    assert report.changed and report.rows["document"] == report.rows["document_1"] == 1
    said = ["analyzer" in problem for problem in report.problems]
    assert said == ([] if "stemmer" in options else [True])  # it was not checked
    for name in ({}, {"analyzer": "mine"}):
        with Index.open(stemmed, stemmer=stem, durability="normal", **name) as index:
            assert list(index.search("oaks", scope=JANE).ids) == ["m1"]
            assert list(index.collection("side").search("oaks", scope=JANE).ids) == ["m3"]
            assert index.admin.check().clean


def test_a_file_with_an_analyzer_of_the_callers_is_salvaged(stemmed: Path, tmp_path: Path) -> None:
    report = Admin.salvage(stemmed, tmp_path / "out")
    assert report.memories == 2 and len(report.left_out) == 1
    with Index() as index:
        assert index.admin.import_(report.files[0]) == 1
        assert list(index.search("oaken", scope=JANE).ids) == ["m1"]


def test_rows_of_a_tenant_with_a_key_that_are_not_encrypted_yet_are_taken_over(
    path: Path, tmp_path: Path
) -> None:
    forge(path, "UPDATE document SET text = 'another' WHERE id = 'm5'")
    report = Admin.salvage(path, tmp_path / "out", keys=provider, plaintext=True)
    assert len(report.left_out) == 1 and "m5" in report.left_out[0]
    report = Admin.repair(path, keys=provider)  # type: ignore[assignment]
    assert len(report.left_out) == 1 and "m5" in report.left_out[0]
    with Index.open(path, durability="normal") as index:
        assert index.count(JANE) + index.count(JOE) == 38


def test_a_stemmer_alone_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a name of your own"):
        Index.open(tmp_path / "new.scrubjay", stemmer=stem)
    assert not (tmp_path / "new.scrubjay").exists()
