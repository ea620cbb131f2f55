"""The contents of an index in a file: rows, order, identity, events, expiry; and refusals."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.embedders import Function

ACME = Scope("acme")
JANE = Scope("acme", user="jane")
TEXTS = ["the oak falls", "a jay hides acorns", "oak and jay", "key sk-stg-0041", "naïve 鸟 oak"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def letters(texts: list[str]) -> list[list[float]]:
    return [[text.count("a"), text.count("b"), text.count("c") + 1] for text in texts]


def abc(name: str = "abc", dim: int = 3) -> Function:
    return Function(lambda texts: [row[:dim] for row in letters(texts)], dim=dim, name=name)


def answers(index: Index, query: str, scope: Scope, vector: Any = None) -> list[tuple[Any, float, Any, Any]]:
    hits = index.search(query, scope=scope, vector=vector, k=50, explain=True)
    return [(hit.id, hit.score, hit.bm25, hit.similarity) for hit in hits]


def fill(index: Index, rng: np.random.Generator, n: int = 200) -> None:
    scopes = [ACME, JANE, Scope("acme", agent="coder"), Scope("globex")]
    for start in range(0, n, 20):
        index.upsert_many(
            {
                "id": f"m{i}",
                "text": f"{TEXTS[i % 5]} number {rng.integers(50)}",
                "scope": scopes[i % 4],
                "vector": None if i % 7 == 0 else rng.normal(size=8) * 10.0 ** rng.integers(-6, 6),
                "metadata": {"n": i},
            }
            for i in range(start, start + 20)
        )
    for i in range(0, n, 9):
        index.delete(f"m{i}", scope=scopes[i % 4])
    for i in range(4, n, 16):
        index.upsert(f"m{i}", "an oak again", scope=scopes[i % 4])


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@pytest.mark.parametrize("images", ["fresh", "none", "stale"])
def test_a_reopened_index_answers_the_same_bit_for_bit(
    path: Path, metric: str, dtype: str, images: str
) -> None:
    rng = np.random.default_rng(5)
    query = rng.normal(size=8)
    with Index.open(path, metric=metric, dtype=dtype, durability="normal") as index:
        fill(index, rng)
        if images == "stale":
            index.admin.compact()
            index.delete("m1", scope=JANE)
            index.upsert("m2", "oak oak", scope=JANE if 2 % 4 == 1 else Scope("acme", agent="coder"))
        before = {scope: answers(index, "oak jay number 3", scope, query) for scope in (ACME, JANE)}
        n = len(index)
    if images == "none":
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM image")
        connection.close()
    with Index.open(path) as index:
        assert {scope: answers(index, "oak jay number 3", scope, query) for scope in (ACME, JANE)} == before
        assert len(index) == n
        assert len(before[JANE]) > 20
        assert index.admin.stats()["resident_partitions"] == 2
        assert index.admin.check().problems == []


def test_a_file_answers_like_memory(path: Path) -> None:
    """Vectors differ only by their representation in rows: the same stored values, so the same bits."""
    memory = Index(dtype="f32")
    with Index.open(path, dtype="f32", durability="normal") as index:
        for one in (memory, index):
            fill(one, np.random.default_rng(1))
        query = np.random.default_rng(2).normal(size=8)
        assert answers(index, "oak jay", JANE, query) == answers(memory, "oak jay", JANE, query)
        assert (len(index), index.count(JANE), index.count(ACME)) == (
            len(memory),
            memory.count(JANE),
            memory.count(ACME),
        )
        for id, scope in (("m0", ACME), ("m1", JANE), ("m4", ACME), ("m4", JANE), ("m5", JANE), ("m5", ACME)):
            stored, kept = index.get(id, scope=scope), memory.get(id, scope=scope)
            assert stored == kept
            if kept is not None and kept.vector is not None:
                assert stored is not None
                np.testing.assert_array_equal(np.asarray(stored.vector), np.asarray(kept.vector))


def test_ids_keep_their_kind(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert(-(2**63), "least oak", scope=ACME)
        index.upsert(np.int64(7), "seven oak", scope=ACME)
    with Index.open(path) as index:
        assert [hit.id for hit in index.search("oak", scope=ACME)] == [-(2**63), 7]
        with pytest.raises(TypeError, match="int"):
            index.upsert("7", "seven", scope=ACME)
        with pytest.raises(TypeError, match="int"):
            index.get("7", scope=ACME)
        assert index.get(7, scope=ACME) is not None


def test_strings_of_all_kinds_come_back(path: Path) -> None:
    ids = ["a\0b", "ünï", "'; DROP TABLE document; --", "x" * 1000]
    with Index.open(path) as index:
        for id in ids:
            index.upsert(id, f"text \0 of {id}", scope=Scope("t\0t", user="O'Neil"))
    with Index.open(path) as index:
        for id in ids:
            record = index.get(id, scope=Scope("t\0t", user="O'Neil"))
            assert record is not None
            assert record.text == f"text \0 of {id}"
            assert record.scope == Scope("t\0t", user="O'Neil")
        assert len(index.search("text", scope=Scope("t\0t", user="O'Neil"))) == 4


def test_a_batch_with_one_bad_record_leaves_no_trace(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert("x", "globex's", scope=Scope("globex"))
        for bad, error in (
            ({"id": "", "text": "no id"}, ValueError),
            ({"id": "v", "text": "t", "vector": [1.0, float("nan")]}, ValueError),
            ({"id": 5, "text": "kind"}, TypeError),
        ):
            with pytest.raises(error):
                index.upsert_many([{"id": "ok", "text": "oak"}, bad], scope=ACME)
        assert len(index) == 1
        assert len(index.search("oak", scope=ACME)) == 0
        assert index.dim is None if hasattr(index, "dim") else index.admin.stats()["dim"] is None


def test_identity_is_checked(path: Path, tmp_path: Path) -> None:
    with Index.open(path, abc(), dtype="f32") as index:
        index.upsert("a", "abba", scope=ACME)
    for arguments, message in (
        ({"dim": 4}, "dim: the index was made with 3, got 4"),
        ({"metric": "l2"}, "metric: the index was made with 'cosine', got 'l2'"),
        ({"dtype": "f16"}, "dtype"),
        ({"analyzer": "plain"}, "analyzer"),
    ):
        with pytest.raises(scrubjay.StoreFormatError, match=message):
            Index.open(path, **arguments)  # type: ignore[arg-type]
    with pytest.raises(scrubjay.EmbedderMismatchError, match=r"'abc'.*'other'"):
        Index.open(path, abc("other"))
    with Index.open(path, abc()) as index:
        assert index.search("abba", scope=ACME).mode == "hybrid"
        assert index.admin.stats()["embedder"] == "abc"


def test_a_file_that_is_not_an_index_is_refused_unchanged(path: Path) -> None:
    for letter in (b"a letter to my aunt\n" * 100, b"a note\n", b"PK\x03\x04" + bytes(range(256)) * 50):
        path.write_bytes(letter)
        with pytest.raises(
            scrubjay.StoreFormatError, match=r"path: expected a Scrubjay index, got a file of"
        ):
            Index.open(path)
        assert path.read_bytes() == letter
    path.unlink()
    path.mkdir()
    with pytest.raises(scrubjay.StoreFormatError, match="path: expected a file, got a folder"):
        Index.open(path)
    path.rmdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs(a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(scrubjay.StoreFormatError, match="another SQLite database"):
        Index.open(path)
    assert path.read_bytes() == before
    path.unlink()
    Index.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {scrubjay.store.sqlite.schema.FORMAT + 1}")
    connection.close()
    with pytest.raises(scrubjay.StoreFormatError, match="of a newer Scrubjay"):
        Index.open(path)


@pytest.mark.parametrize(
    "arguments",
    [{"durability": "off"}, {"busy_timeout": -1}, {"memory_budget": -5}, {"metric": "hamming"}, {"dim": 0}],
)
def test_a_bad_argument_makes_no_file(path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Index.open(path, **arguments)
    assert not path.exists()


def test_a_missing_folder_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(scrubjay.StoreError, match=r"the folder .*nowhere does not exist; make it first"):
        Index.open(tmp_path / "nowhere" / "memories.scrubjay")


def test_a_name_that_is_too_long_is_a_typed_error(tmp_path: Path) -> None:
    for place in (tmp_path / ("x" * 300), tmp_path / ("x" * 300) / "memories.scrubjay"):
        with pytest.raises(scrubjay.StoreError, match="opening: File name too long: "):
            Index.open(place)
    too_long = tmp_path / ("x" * 300)
    with Index.open(tmp_path / "memories.scrubjay") as index:
        for write in (index.admin.backup, index.admin.export):
            with pytest.raises(scrubjay.StoreError, match="File name too long"):
                write(too_long)
    with pytest.raises(scrubjay.StoreError, match="File name too long"):
        scrubjay.Admin.repair(too_long)
    with pytest.raises(scrubjay.StoreError, match="File name too long"):
        scrubjay.Admin.salvage(too_long, tmp_path / "saved")


def test_a_closed_index_raises_closed_error_everywhere(path: Path) -> None:
    index = Index.open(path)
    index.upsert("a", "oak", scope=ACME)
    index.close()
    index.close()
    for call in (
        lambda: index.search("oak", scope=ACME),
        lambda: index.upsert("b", "jay", scope=ACME),
        lambda: index.get("a", scope=ACME),
        lambda: index.count(),
        lambda: index.delete("a", scope=ACME),
        lambda: index.erase(ACME),
        lambda: index.admin.compact(),
        lambda: index.admin.check(),
    ):
        with pytest.raises(scrubjay.ClosedError):
            call()


def test_deletions_leave_events_without_content(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many([{"id": f"m{i}", "text": "secret oak", "scope": JANE} for i in range(4)])
        index.upsert("t", "tenant's", scope=ACME)
        index.delete("m0", scope=JANE)
        index.delete("m0", scope=JANE)
        index.erase(ACME, exact=True)
        index.erase(JANE)
    with Index.open(path) as index:
        assert [(event.reason, event.scope, event.documents) for event in index.admin.events()] == [
            ("delete", JANE, 1),
            ("erase", ACME, 1),
            ("erase", JANE, 3),
        ]
        assert len(index) == 0
        assert len(index.search("oak", scope=JANE)) == 0


@pytest.mark.parametrize("in_file", [True, False])
def test_expired_memories_are_invisible_to_every_verb(
    path: Path, in_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    index = Index.open(path) if in_file else Index()
    now = datetime.now(timezone.utc)
    index.upsert("stays", "oak", scope=JANE)
    index.upsert("late", "oak late", scope=JANE, expires_at=now + timedelta(hours=2))
    index.upsert("soon", "oak soon", scope=JANE, ttl=3600)
    index.upsert("past", "oak past", scope=JANE, expires_at="2020-01-01")
    index.upsert("renewed", "oak", scope=JANE, ttl=3600)
    index.upsert("renewed", "oak renewed", scope=JANE)
    assert {hit.id for hit in index.search("oak", scope=JANE)} == {"stays", "late", "soon", "renewed"}
    assert index.count(JANE) == len(index) == 4
    record = index.get("late", scope=JANE)
    assert record is not None
    assert record.expires_at == now + timedelta(hours=2)
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + 5400 * 10**9)
    assert {hit.id for hit in index.search("oak", scope=JANE)} == {"stays", "late", "renewed"}
    assert [len(hits) for hits in index.search_batch(["oak", "soon"], scope=JANE)] == [3, 0]
    assert index.get("soon", scope=JANE) is None
    assert index.find("soon", within=ACME) == []
    assert index.count(JANE) == len(index) == 3
    monkeypatch.setattr("time.time_ns", lambda: real() + 10800 * 10**9)
    swept = index.admin.sweep()
    if in_file:
        assert swept == 3
        assert index.admin.events()[-1].reason == "sweep"
    assert {hit.id for hit in index.search("oak", scope=JANE)} == {"stays", "renewed"}
    index.close()


def test_ttl_and_expires_at_are_checked() -> None:
    index = Index()
    for arguments, error in (
        ({"ttl": 5, "expires_at": 0}, ValueError),
        ({"ttl": "soon"}, TypeError),
        ({"ttl": 1e30}, ValueError),
        ({"expires_at": "soon"}, ValueError),
    ):
        with pytest.raises(error, match=r"ttl|expires_at"):
            index.upsert("a", "b", scope=ACME, **arguments)  # type: ignore[arg-type]
    assert len(index) == 0


@pytest.mark.parametrize("id", ["", "\ud800", "a\udfffb"])
@pytest.mark.parametrize("name", ["get", "delete"])
def test_an_id_that_none_can_have_is_refused_as_in_memory(path: Path, name: str, id: str) -> None:
    """One error for both, before the file is accessed."""
    said = []
    with Index.open(path) as stored:
        for index in (Index(), stored):
            index.upsert("m1", "oak", scope=ACME)
            with pytest.raises(ValueError, match=r"^id: expected") as refused:
                getattr(index, name)(id, scope=ACME)
            with pytest.raises(ValueError, match=r"^id.*: expected"):
                index.find(id, within=ACME)
            said.append((type(refused.value), str(refused.value)))
    assert said[0] == said[1]
