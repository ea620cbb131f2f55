"""Migration of files of older formats: nothing is lost, whatever happens on the way."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import CorruptIndexError, Index, Scope
from scrubjay.index import Admin
from scrubjay.store.sqlite import migration
from scrubjay.store.sqlite.schema import FORMAT
from tests.data.keys import provider

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
NOTES = sorted((GOLDEN / "notes").glob("*.scrubjay"))
OLDER = [
    file for file in sorted(GOLDEN.glob("format-*.scrubjay")) if f"format-{FORMAT}" not in file.name
] + NOTES
ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
GLOBEX = Scope("globex")

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
every_older_file = pytest.mark.parametrize(
    "golden", OLDER, ids=[str(file.relative_to(GOLDEN)) for file in OLDER]
)
every_file_with_notes = pytest.mark.parametrize("golden", NOTES, ids=[file.stem for file in NOTES])


def copied(golden: Path, tmp_path: Path) -> Path:
    shutil.copy(golden, tmp_path / "memories.scrubjay")
    return tmp_path / "memories.scrubjay"


def keys_of(golden: Path) -> Any:
    if "encrypted" not in golden.name:
        return None
    pytest.importorskip("cryptography")
    return provider


def opened(path: Path, golden: Path, **options: Any) -> Index:
    return Index.open(path, keys=keys_of(golden), **options)


def rows(path: Path) -> dict[str, list[Any]]:
    """Return every row of every table; for feedback only the columns of format 3."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        found = {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for (name,) in tables
        }
    for name in found:
        if name.startswith("feedback"):
            found[name] = [row[:11] for row in found[name]]
    return found


def format_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0]) & 0xFF


@every_older_file
def test_every_row_is_taken_over_as_it_stands(golden: Path, tmp_path: Path) -> None:
    path = copied(golden, tmp_path)
    before = rows(path)
    Index.open(path, keys=keys_of(golden)).close()
    after = rows(path)
    assert format_of(path) == FORMAT
    for table, was in before.items():
        if table.startswith("scope") and was and len(was[0]) < len(after[table][0]):  # of formats 1 and 2
            was = [
                (*row, n_vectors, digest)
                for row, (*_, n_vectors, digest) in zip(was, after[table], strict=True)
            ]
        if table.startswith("meta"):  # a count that formats before 5 kept
            was = [row for row in was if row[0] != "documents"]
        assert after[table] == was, table
    assert set(after) - set(before) <= {"collection", "sealed_table", "table_digest"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in after:
            if table.startswith("document"):
                (name,) = (row[1] for row in connection.execute(f"PRAGMA index_list({table})") if row[2])
                key = [row[2] for row in connection.execute(f"PRAGMA index_info({name})")]
                assert (name, key) == (f"sqlite_autoindex_{table}_1", ["id", "scope"])
                indexes = {row[1] for row in connection.execute(f"PRAGMA index_list({table})")}
                end = table.removeprefix("document")
                assert indexes == {name, f"document_scope{end}", f"document_expiry{end}"}


@every_older_file
def test_a_migrated_file_has_the_schema_of_a_new_one(golden: Path, tmp_path: Path) -> None:
    """The same tables, columns and indexes."""
    path = copied(golden, tmp_path)
    with opened(path, golden) as index:
        names = index.admin.collections()
    with Index.open(tmp_path / "new", keys=keys_of(golden)) as index:
        index.upsert("m", "oak", scope=ACME)
        index.feedback("m", scope=ACME)
        for name in names:
            side = index.collection(name)
            side.upsert("m", "oak", scope=ACME)
            side.feedback("m", scope=ACME)
    made = []
    for one in (path, tmp_path / "new"):
        with closing(sqlite3.connect(one)) as connection:
            tables = {
                name: [row[1:6] for row in connection.execute(f"PRAGMA table_info({name})")]
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                ).fetchall()
            }
            indexes = {
                name: [row[2] for row in connection.execute(f"PRAGMA index_info({name})")]
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'index'"
                ).fetchall()
            }
        for table in tables:
            if table.startswith("feedback"):  # columns that were added have defaults
                tables[table] = [
                    (name, kind, not_null, None, key) for name, kind, not_null, _, key in tables[table]
                ]
        made.append((tables, indexes))
    for migrated, new in zip(*made, strict=True):
        assert {name: migrated[name] for name in migrated} == {name: new[name] for name in migrated}


def holds(index: Index) -> None:
    """The contents that make_notes.py wrote exist, and answer."""
    side = index.collection("side")
    for one, word in ((index, "oak"), (side, "beech")):
        for i, scope in enumerate((ACME, JANE, JOE) * 3):
            record = one.get(f"m{i}", scope=scope)
            assert record is not None and (record.text, record.scope) == (f"{word} {i}", scope)
            assert record.metadata == {"n": i} and record.vector is not None
        assert {hit.id for hit in one.search(word, scope=JANE, k=50)} == {
            *(f"m{i}" for i in (0, 1, 3, 4, 6, 7)),
            "soon",
        }
        noted = [(n.id, n.document_scope, n.scope, n.used, n.query) for n in one.admin.feedbacks(ACME)]
        assert noted == [
            ("m0", ACME, JANE, True, "asked by jane"),
            ("m1", JANE, JANE, False, "asked by jane"),
            ("m0", ACME, JOE, True, "asked by joe"),
            ("m2", JOE, JOE, True, None),
        ]
        assert one.admin.check().problems == []
    assert [(n.id, n.document_scope) for n in index.admin.feedbacks(GLOBEX)] == [("g", GLOBEX)]


@every_file_with_notes
def test_feedback_names_the_scope_of_its_document(golden: Path, tmp_path: Path) -> None:
    path = copied(golden, tmp_path)
    with opened(path, golden, encryption="strict") as index:
        holds(index)
        index.upsert("m0", "another oak", scope=JANE)  # an id that a note has in another scope
        assert index.delete("m0", scope=JANE)
        holds(index)
        index.feedback("m0", query="asked later", scope=JANE)
        assert index.admin.check().problems == []
        assert index.delete("m0", scope=ACME)
        assert [note.id for note in index.admin.feedbacks(ACME)] == ["m1", "m2"]
        assert index.admin.check().problems == []
        index.erase(JANE, everywhere=True)
        assert [note.id for note in index.admin.feedbacks(ACME)] == ["m2"]
        assert [note.query for note in index.collection("side").admin.feedbacks()] == ["asked by joe", None]
        assert index.admin.check().problems == index.collection("side").admin.check().problems == []


def test_no_key_is_needed(tmp_path: Path) -> None:
    """The digests of encrypted tenants are right after the migration, including those of feedback."""
    pytest.importorskip("cryptography")
    golden = GOLDEN / "notes" / "format-3-encrypted.scrubjay"
    path = copied(golden, tmp_path)
    with Index.open(path) as index:
        assert index.find("g", within=GLOBEX)[0].text == "oak of globex"
    assert format_of(path) == FORMAT
    with opened(path, golden, encryption="strict") as index:
        holds(index)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE feedback SET used = 1 - used WHERE number = 1",
        "UPDATE feedback SET bound = 1",
        "DELETE FROM feedback WHERE number = 2",
    ],
)
def test_digests_of_older_notes_still_tell_what_was_changed(tmp_path: Path, statement: str) -> None:
    pytest.importorskip("cryptography")
    golden = GOLDEN / "notes" / "format-3-encrypted.scrubjay"
    path = copied(golden, tmp_path)
    Index.open(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with opened(path, golden) as index:
        assert any("feedback" in problem for problem in index.admin.check().problems)


# ---------------------------------------------------------------------- interruptions and failures


def killed_after(path: Path, n_statements: int) -> bool:
    """Open a file in a process that is killed after a number of statements of the migration; return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            left = n_statements
            run = migration.run_script

            def one_by_one(connection: sqlite3.Connection, script: str) -> None:
                nonlocal left
                for statement in script.split(";"):
                    if left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left -= 1
                    run(connection, statement)

            migration.run_script = one_by_one
            Index.open(path)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@needs_fork
@every_file_with_notes
def test_killed_on_the_way_the_file_is_as_it_was(golden: Path, tmp_path: Path) -> None:
    path = copied(golden, tmp_path)
    before = rows(path)
    step, n_killed = 0, 0
    while killed_after(path, step):
        n_killed += 1
        step += 3
        assert rows(path) == before
    assert n_killed >= 8
    with opened(path, golden) as index:
        holds(index)


@needs_fork
@every_file_with_notes
def test_without_room_the_file_is_as_it_was(golden: Path, tmp_path: Path) -> None:
    """Each write of the migration fails once, by the limit on the size of a file."""
    path = copied(golden, tmp_path)
    before = rows(path)
    n_failed = 0
    for limit in range(4096, 1 << 22, 24 * 1024):
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        shutil.copy(golden, path)
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                Index.open(path)
                os._exit(0)
            except scrubjay.StoreError:
                os._exit(3)
            finally:
                os._exit(4)
        said = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if said == 0:
            break
        assert said == 3
        assert rows(path) == before
        n_failed += 1
    else:
        raise AssertionError("never enough room")
    assert n_failed >= 5
    with opened(path, golden) as index:
        holds(index)


@every_file_with_notes
def test_several_open_an_older_file_at_once(golden: Path, tmp_path: Path) -> None:
    path = copied(golden, tmp_path)
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            with opened(path, golden) as index:
                holds(index)
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_reading_only_changes_nothing(tmp_path: Path) -> None:
    path = copied(GOLDEN / "format-3.scrubjay", tmp_path)
    before = path.read_bytes()
    with pytest.raises(scrubjay.StoreFormatError, match="opening it once for writing"):
        Index.open(path, read_only=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("said", range(1, FORMAT))
def test_a_file_that_says_an_older_format_than_it_has_is_corrupt(tmp_path: Path, said: int) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("m", "oak", scope=ACME)
        index.upsert("m", "oak", scope=JANE)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {said}")
    with pytest.raises(CorruptIndexError, match=f"user_version: {said}"):
        Index.open(path)


def test_a_collection_that_is_damaged_does_not_stop_the_others(tmp_path: Path) -> None:
    path = copied(GOLDEN / "notes" / "format-3.scrubjay", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE document_1")
    with Index.open(path) as index:
        assert len(index.search("oak", scope=JANE)) == 7
        with pytest.raises(CorruptIndexError, match="document_1"):
            index.collection("side")


def test_a_foreign_trigger_survives_the_migration(tmp_path: Path) -> None:
    path = copied(GOLDEN / "notes" / "format-3.scrubjay", tmp_path)
    rule = "CREATE TRIGGER theirs AFTER DELETE ON event BEGIN SELECT missing FROM document WHERE gone; END"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(rule)
    with Index.open(path) as index:
        holds(index)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT sql FROM sqlite_master WHERE name = 'theirs'").fetchone() == (rule,)


@every_file_with_notes
def test_repair_and_salvage_read_older_files(golden: Path, tmp_path: Path) -> None:
    path = copied(golden, tmp_path)
    assert not Admin.repair(path, keys=keys_of(golden)).changed
    assert format_of(path) == 3
    report = Admin.salvage(path, tmp_path / "saved", keys=keys_of(golden))
    assert (report.memories, report.left_out) == (21, [])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM vector WHERE seq = 1")
        connection.execute("INSERT INTO vector VALUES (999, x'00')")
    report = Admin.repair(path, keys=keys_of(golden))
    assert report.changed and report.left_out == []
    with opened(path, golden) as index:
        if keys_of(golden) is not None:
            index.admin.encrypt("acme", accept=True)
        notes = [(n.id, n.document_scope, n.query) for n in index.admin.feedbacks(JANE)]
        assert notes == [("m0", ACME, "asked by jane"), ("m1", JANE, "asked by jane")]
        assert index.admin.check().problems == []
        index.feedback("m1", query="later", scope=JANE)
        assert index.admin.check().problems == []


def test_an_export_of_before_is_read(tmp_path: Path) -> None:
    lines = [
        '{"scrubjay_export": 1, "metric": "cosine", "dtype": "f16", "dim": null, "embedder": null}',
        '{"id": "m1", "text": "oak", "tenant": "acme"}',
        '{"id": "m2", "text": "oak of jane", "tenant": "acme", "user": "jane", "metadata": {"n": 1}}',
    ]
    (tmp_path / "export").write_text("\n".join(lines) + "\n")
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert("m1", "hers", scope=JANE)  # under an id that the export has in another scope
        assert index.admin.import_(tmp_path / "export") == 2
        assert [r.text for r in index.find("m1", within=ACME)] == ["oak", "hers"]
        assert [r.text for r in index.find("m2", within=ACME)] == ["oak of jane"]
