"""Answers from a damaged file: the undamaged part, and a report of the damage."""

from __future__ import annotations

import pickle
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import CorruptDataWarning, CorruptIndexError, Index, Scope, StoreError
from scrubjay.backend import Backend
from scrubjay.index import Admin
from scrubjay.store.rows import decoding
from scrubjay.store.sqlite import cipher, registry

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, dim=3, durability="normal") as index:
        for i in range(20):
            scope = JANE if i < 15 else JOE
            index.upsert(f"m{i}", f"common oak {i}", scope=scope, metadata={"n": i}, vector=[1.0, i, 2.0])
    return path


def forge(path: Path, *statements: str) -> None:
    """Change rows as another program might, and drop the images, so that rows are read."""
    connection = sqlite3.connect(path)
    for statement in (*statements, "DELETE FROM image"):
        connection.execute(statement)
    connection.commit()
    connection.close()


def flipped(column: str, at: int, id: str = "m7") -> str:
    head, byte, tail = f"substr({column}, 1, {at})", "x'ff'", f"substr({column}, {at + 2})"
    return f"UPDATE document SET {column} = CAST({head} || {byte} || {tail} AS BLOB) WHERE id = '{id}'"


def test_one_damaged_payload_stops_nothing_but_itself(path: Path, tmp_path: Path) -> None:
    forge(path, flipped("payload", 5))
    with Index.open(path) as index:
        hits = index.search("common", scope=JANE, k=50)
        assert len(hits) == 15
        for hit in hits:
            assert hit.text.startswith("common oak") and hit.score > 0
            if hit.id == "m7":
                with pytest.raises(CorruptIndexError) as raised:
                    hit.metadata  # noqa: B018
                assert (raised.value.id, raised.value.scope) == ("m7", JANE)
                assert raised.value.path == str(path)
                for part in (str(path), "'m7'", "jane", "check --repair", "backup"):
                    assert part in str(raised.value)
            else:
                assert hit.metadata == {"n": int(str(hit.id)[1:])}
        assert len(index.search("common", scope=JANE, k=50, filter={"n": {"$gte": 0}})) == 14
        with pytest.warns(CorruptDataWarning, match="m7") as warned:
            listed = index.list(JANE)
        assert len(listed) == 14
        assert [one.message.damaged for one in warned] == [  # type: ignore[union-attr]
            (f"document 'm7' of {JANE!r}: its metadata is not what was written",)
        ]
        with pytest.raises(CorruptIndexError, match="m7"):
            index.get("m7", scope=JANE)
        assert index.get("m8", scope=JANE) is not None
        with pytest.warns(CorruptDataWarning, match="m7"):
            assert index.admin.export(tmp_path / "export") == 19
        assert any("m7" in problem for problem in index.admin.check().problems)
    with Index(dim=3) as copy:
        assert copy.admin.import_(tmp_path / "export") == 19


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE document SET text = 'another' WHERE id = 'm7'",
        "UPDATE document SET text = CAST(x'6f616bc328' AS TEXT) WHERE id = 'm7'",
        "UPDATE document SET text = x'6f616b' WHERE id = 'm7'",
        "UPDATE document SET id = 'm99' WHERE id = 'm7'",
        "UPDATE document SET id = 7.5 WHERE id = 'm7'",
        "UPDATE document SET id = x'6d37' WHERE id = 'm7'",
        "UPDATE document SET id = 7 WHERE id = 'm7'",
        "UPDATE document SET hash = 7 WHERE id = 'm7'",
        "UPDATE document SET hash = x'' WHERE id = 'm7'",
    ],
)
def test_a_row_that_is_not_what_was_written_is_left_out_and_said(path: Path, statement: str) -> None:
    forge(path, statement)
    with Index.open(path) as index:
        hits = index.search("common", scope=JANE, k=50)
        assert len(hits) == 14
        assert any(reason.startswith("rows_damaged: 1 ") for reason in hits.degraded)
        with pytest.warns(CorruptDataWarning):
            assert len(index.list(JANE)) == 14
        assert not index.admin.check().clean
        assert not any(reason.startswith("rows") for reason in index.search("oak", scope=JOE).degraded)


def test_a_row_in_another_scope_is_not_served_there(path: Path) -> None:
    """Nor in its own scope: a checksum of scope, id and text detects it."""
    forge(path, "UPDATE document SET scope = (SELECT key FROM scope WHERE user = 'joe') WHERE id = 'm7'")
    with Index.open(path) as index:
        assert {hit.id for hit in index.search("common", scope=JOE, k=50)} == {f"m{i}" for i in range(15, 20)}
        with pytest.warns(CorruptDataWarning, match="m7"):
            assert len(index.list(JOE)) == 5
        with pytest.raises(CorruptIndexError, match="m7"):
            index.get("m7", scope=JOE)
        assert index.get("m7", scope=JANE) is None


def test_an_image_of_another_scope_is_not_used(path: Path) -> None:
    connection = sqlite3.connect(path)
    (key,) = connection.execute("SELECT key FROM scope WHERE user = 'joe'").fetchone()
    connection.execute("DELETE FROM image WHERE scope = ?", (key,))
    (version,) = connection.execute("SELECT version FROM scope WHERE key = ?", (key,)).fetchone()
    connection.execute("UPDATE image SET scope = ?, version = ?", (key, version))
    connection.commit()
    connection.close()
    with Index.open(path) as index:
        assert {hit.id for hit in index.search("common", scope=JOE, k=50)} == {f"m{i}" for i in range(15, 20)}
        assert len(index.search("common", scope=JANE, k=50)) == 15


@pytest.mark.parametrize("value", ["x'00'", "zeroblob(8)", "'text'", "7", "x'ff7f003c003c003c'"])
def test_a_damaged_vector_is_named(path: Path, value: str) -> None:
    forge(path, f"UPDATE vector SET data = {value} WHERE seq = (SELECT seq FROM document WHERE id = 'm7')")
    with Index.open(path) as index:
        assert len(index.search("common", scope=JANE, k=50)) == 15
        if value != "zeroblob(8)":  # which is a vector, but zero
            with pytest.raises(CorruptIndexError, match="m7"):
                index.get("m7", scope=JANE)
        assert len(index.list(JANE)) == 15


OPENING: dict[str, str] = {
    "analyzer as bytes": "UPDATE meta SET value = x'c328' WHERE name = 'analyzer'",
    "an unknown analyzer": "UPDATE meta SET value = 'engljsh' WHERE name = 'analyzer'",
    "dim": "UPDATE meta SET value = -1 WHERE name = 'dim'",
    "a text as dim": "UPDATE meta SET value = 'three' WHERE name = 'dim'",
    "a large dim": "UPDATE meta SET value = 1000000 WHERE name = 'dim'",
    "metric": "UPDATE meta SET value = 'cosinf' WHERE name = 'metric'",
    "dtype": "UPDATE meta SET value = 16 WHERE name = 'dtype'",
    "model": "UPDATE meta SET value = x'00' WHERE name = 'model'",
    "generation": "UPDATE meta SET value = 'x' WHERE name = 'generation'",
    "no metric": "DELETE FROM meta WHERE name = 'metric'",
    "a table": "DROP TABLE document",
    "a column": "ALTER TABLE vector RENAME COLUMN data TO date",
    "format": "PRAGMA user_version = 0",
    "versions": "UPDATE scope SET version = 9223372036854775807",
}


@pytest.mark.parametrize("name", OPENING)
def test_damaged_tables_are_named_with_the_path(path: Path, name: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(OPENING[name])
    connection.commit()
    connection.close()
    with pytest.raises((CorruptIndexError, StoreError)) as raised:
        Index.open(path).upsert("new", "oak", scope=JANE)
    assert str(path) in str(raised.value)


def test_a_file_without_tables_is_no_new_index(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ).fetchall():
        connection.execute(f"DROP TABLE {name}")
    connection.close()
    with pytest.raises(CorruptIndexError, match=r"gone|missing"):
        Index.open(path)


@pytest.mark.parametrize(
    ("statement", "ask"),
    [
        ("UPDATE scope SET documents = 'x'", lambda index: index.count(JANE)),
        ("UPDATE scope SET version = x'00'", lambda index: index.search("oak", scope=JANE)),
        ("UPDATE scope SET documents = 'x' WHERE user = 'joe'", len),
        ("UPDATE event SET at = 'x'", lambda index: index.admin.events()),
        ("UPDATE event SET reason = x'c328'", lambda index: index.admin.events()),
        (
            "UPDATE meta SET value = 7 WHERE name = 'file_id'",
            lambda index: Backend.of(index).shared_generation(JANE),
        ),
    ],
)
def test_other_values_are_named(path: Path, statement: str, ask: Callable[[Index], Any]) -> None:
    with Index.open(path) as index:
        index.delete("m0", scope=JANE)
        Backend.of(index).shared_generation(JANE)
    forge(path, statement)
    with Index.open(path) as index, pytest.raises(CorruptIndexError) as raised:
        ask(index)
    assert str(path) in str(raised.value)


def test_damaged_names_of_a_scope_hide_that_scope_only(path: Path) -> None:
    forge(path, "UPDATE scope SET user = CAST(x'c328' AS TEXT) WHERE user = 'joe'")
    with Index.open(path) as index:
        assert len(index.search("common", scope=JANE, k=50)) == 15
        assert len(index.search("common", scope=JOE, k=50)) == 0
        assert index.scopes() == [JANE]
        assert any("scope" in problem for problem in index.admin.check().problems)
        index.upsert("new", "common oak", scope=JANE)
        assert len(index.search("common", scope=JANE, k=50)) == 16


def test_damaged_feedback_is_left_out_and_named(path: Path) -> None:
    with Index.open(path) as index:
        for i in range(3):
            index.feedback(f"m{i}", query="oak?", scope=JANE)
    forge(path, "UPDATE feedback SET at = 'x' WHERE number = 2")
    with Index.open(path) as index:
        with pytest.warns(CorruptDataWarning, match="note 2"):
            assert [note.id for note in index.admin.feedbacks()] == ["m0", "m2"]
        assert any("note of feedback 2" in problem for problem in index.admin.check().problems)


def test_reembedding_ends_where_a_document_has_no_scope(path: Path) -> None:
    forge(path, "UPDATE document SET scope = 77 WHERE id = 'm7'")
    toy = scrubjay.embedders.Function(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="toy")
    with Index.open(path) as index, pytest.raises(CorruptIndexError):
        index.admin.reembed(toy, progress=False)


def test_a_damaged_page_is_named(path: Path) -> None:
    with Index.open(path) as index:
        index.admin.compact()
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 8192):
        data[page * 8192 : page * 8192 + 200] = bytes(200)
    path.write_bytes(data)
    with pytest.raises(CorruptIndexError) as raised, Index.open(path) as index:
        index.search("oak", scope=JANE)
    assert str(path) in str(raised.value) and "--repair" in str(raised.value)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_file_that_was_cut_is_no_new_index(path: Path, size: int) -> None:
    """SQLite would delete the log of a file without a header."""
    with Index.open(path) as index:
        index.upsert("late", "oak", scope=JANE, vector=[1, 2, 3])
        log = path.with_name(path.name + "-wal").read_bytes()
        cut = path.with_name("cut")
        cut.write_bytes(path.read_bytes()[:size])
        cut.with_name("cut-wal").write_bytes(log)
    for call in (Index.open, Admin.repair, lambda file: Admin.salvage(file, path.with_name("out"))):
        with pytest.raises(CorruptIndexError, match="cut to"):
            call(cut)
    assert cut.with_name("cut-wal").read_bytes() == log


def test_the_error_can_be_sent_to_another_process() -> None:
    error = CorruptIndexError("its metadata is gone", path="x.scrubjay", id="m7")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.id, again.path, again.what) == (str(error), "m7", "x.scrubjay", error.what)
    assert CorruptIndexError("alone").args == ("alone",)


def test_a_payload_that_the_caller_made_up_is_a_bad_argument(path: Path) -> None:
    with Index.open(path) as index, pytest.raises(ValueError, match="payload"):
        Backend.of(index).engine.upsert(
            "new", "oak", scope=JANE, payload=b'{"expires_at":"soon"}', vector=np.ones(3)
        )


def with_schema(path: Path, old: bytes, new: bytes) -> sqlite3.Connection:
    """Change bytes of the schema, and connect as a store does."""
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = decoding.text_of
    return connection


def test_names_of_the_schema_that_cannot_be_read_are_named(path: Path) -> None:
    forge(
        path,
        "CREATE TABLE other(tenant TEXT, somebody TEXT)",
        "CREATE TRIGGER other_rule BEFORE DELETE ON other BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    connection = with_schema(path, b"somebody", b"some\xffody")
    with pytest.raises(CorruptIndexError, match="schema"):
        cipher._is_sealed_elsewhere(connection, "acme")
    connection.close()
    connection = with_schema(path, b"other_rule", b"other\xffrule")
    with pytest.raises(CorruptIndexError, match="schema"), registry.unguarded(connection, ["other"]):
        pass
    connection.close()


@pytest.mark.parametrize("rules", ["[" * 3000, "{", "[]", "7", '{"key": 5}'])
def test_damaged_sealing_rules_name_their_table(path: Path, rules: str) -> None:
    forge(
        path,
        "CREATE TABLE other(tenant TEXT, somebody TEXT)",
        f"INSERT INTO sealed_table(name, rules) VALUES ('other', '{rules}')",
    )
    connection = sqlite3.connect(path)
    with pytest.raises(CorruptIndexError, match="'other'"):
        registry.rules(connection)
    connection.close()


def test_an_index_that_leads_to_another_scope_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        for scope in (JANE, JOE):
            index.upsert("m1", f"an oak of {scope.user}", scope=scope)
        index.admin.compact()  # writes images: what they hold is not asked for its scope
    with sqlite3.connect(path, isolation_level=None) as connection:  # changes the rows past their index
        connection.execute("PRAGMA writable_schema = ON")
        (kept,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'scope'").fetchone()
        entry = connection.execute(
            "SELECT * FROM sqlite_master WHERE name = 'sqlite_autoindex_scope_1'"
        ).fetchone()
        assert entry is not None and "UNIQUE(tenant, user, agent)" in kept
        connection.execute("DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_scope_1'")
        bare = re.sub(r",\s*UNIQUE\(tenant, user, agent\)", "", kept)
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'scope'", (bare,))
    connection.close()
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("UPDATE scope SET user = CASE user WHEN 'jane' THEN 'joe' ELSE 'jane' END")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'scope'", (kept,))
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry)
    connection.close()
    with Index.open(path) as index:
        for verb in (
            lambda: index.search("oak", scope=JANE),
            lambda: index.upsert("m2", "an elm", scope=JANE),
            lambda: index.delete("m1", scope=JANE),
            lambda: index.list(JANE),
        ):
            with pytest.raises(CorruptIndexError, match="leads to another scope"):
                verb()


def test_a_decreasing_version_is_reported_as_damage(path: Path) -> None:
    with Index.open(path) as index:
        assert len(index.search("oak", scope=JANE)) > 0
        partition = Backend.of(index).engine.residency.partition(JANE)  # type: ignore[union-attr]
        partition.version += 5  # as from a damaged page
        partition.ready = False
        with pytest.raises(CorruptIndexError, match="version went back"):
            index.search("oak", scope=JANE)
