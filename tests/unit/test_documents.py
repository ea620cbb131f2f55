"""Single documents: pages, patches, conditional writes, deletion by filter, values; in memory and in files, encrypted
and not."""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import (
    ConflictError,
    CorruptDataWarning,
    CorruptIndexError,
    Cursor,
    CursorError,
    Filter,
    Index,
    Page,
    Record,
    Scope,
    VersionConflictError,
)
from scrubjay.backend import Backend
from tests.data.keys import provider
from tests.data.postgres import new_url
from tests.data.stores import freeze_after_writes

ACME = Scope("acme")
JANE = Scope("acme", user="jane")
JOE = Scope("acme", user="joe")
BOT = Scope("acme", user="jane", agent="bot")
KINDS = ["memory", "file", "sealed", "postgres", "sealed postgres"]
if os.environ.get("SCRUBJAY_TEST_COLD"):  # every scope is frozen after each write to it
    KINDS = ["cold postgres", "sealed cold postgres"]

Open = Callable[..., Index]


@pytest.fixture(params=KINDS)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[Index] = []

    def make(**options: Any) -> Index:
        if request.param == "memory":
            index = Index(**options)
        else:
            keys = provider if request.param.startswith("sealed") else None
            path: Any = tmp_path / f"{len(opened)}.scrubjay"
            if request.param.endswith("postgres"):
                path = new_url()
            if "cold" in request.param:
                freeze_after_writes(request.getfixturevalue("monkeypatch"))
                options = {"objects": (tmp_path / "objects").as_uri(), **options}
            index = Index.open(path, keys=keys, durability="normal", **options)
        opened.append(index)
        return index

    yield make
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: Open) -> Index:
    return open_index()


def ids(records: Any) -> list[str | int]:
    return [record.id for record in records]


def version(index: Index, id: str | int, scope: Scope = JANE) -> int:
    record = index.get(id, scope=scope)
    assert record is not None
    assert record.version is not None
    return record.version


def paged(index: Index, scope: Scope = JANE, **options: Any) -> list[Record]:
    """Return all pages in order; each except the last is full."""
    limit = options.get("limit", 100)
    found: list[Record] = []
    cursor: Cursor | None = None
    while True:
        page = index.scroll(scope=scope, cursor=cursor, **options)
        found += page.records
        cursor = page.cursor
        if cursor is None:
            return found
        assert len(page) == limit


class TestScroll:
    def test_pages_in_the_order_of_writing(self, index: Index) -> None:
        for number in range(7):
            index.upsert(number, f"text {number}", scope=(ACME, JANE)[number % 2], metadata={"n": number})
        index.upsert(99, "another's", scope=JOE)
        index.upsert(2, "text again", scope=ACME)
        for limit in (1, 2, 3, 7, 8):
            assert ids(paged(index, limit=limit)) == [0, 1, 3, 4, 5, 6, 2]
            assert ids(paged(index, limit=limit, descending=True)) == [2, 6, 5, 4, 3, 1, 0]
            assert ids(paged(index, limit=limit, exact=True)) == [1, 3, 5]
            assert ids(paged(index, limit=limit, filter={"n": {"$gte": 3}})) == [3, 4, 5, 6]
            assert ids(paged(index, limit=limit, order_by="updated_at", descending=True)) == [
                2,
                6,
                5,
                4,
                3,
                1,
                0,
            ]
        page = index.scroll(scope=JANE, limit=3)
        assert isinstance(page, Page)
        assert (len(page), ids(page)) == (3, [0, 1, 3])
        assert isinstance(page.cursor, str)
        assert page.cursor.replace("-", "").replace("_", "").isalnum()
        assert [record.version for record in page] == [
            version(index, record.id, record.scope) for record in page
        ]
        assert index.scroll(scope=Scope("nobody")) == Page([])
        assert index.scroll(scope=JANE, limit=100).cursor is None

    def test_records_are_those_that_get_returns(self, open_index: Open) -> None:
        index = open_index(dim=2)
        index.upsert("a", "with all", scope=JANE, vector=[1.0, 0.5], metadata={"n": 1}, created_at=5)
        index.upsert("b", "with nothing", scope=ACME)
        for order_by in (None, "n"):
            bare = index.scroll(scope=JANE, order_by=order_by).records
            full = index.scroll(scope=JANE, order_by=order_by, vectors=True).records
            assert bare == full == [index.get("a", scope=JANE), index.get("b", scope=JANE)]
            assert [record.vector is None for record in bare] == [True, True]
            expected = index.get("a", scope=JANE)
            assert expected is not None
            np.testing.assert_array_equal(np.asarray(full[0].vector), np.asarray(expected.vector))
            assert full[1].vector is None

    def test_orders_of_values(self, index: Index) -> None:
        values: list[Any] = [3, "b", None, 1.5, True, "a", [1], -(10**400), {"x": 1}, 10**400, False, "b", 3]
        for number, value in enumerate(values):
            index.upsert(number, "text", scope=JANE, metadata={"field": value})
        index.upsert(len(values), "text", scope=JANE)
        missing = [2, 6, 8, 13]
        ascending = [7, 3, 0, 12, 9, 5, 1, 11, 10, 4]
        descending = [4, 10, 1, 11, 5, 9, 0, 12, 3, 7]
        for limit in (1, 2, 3, 5, 20):
            assert ids(paged(index, limit=limit, order_by="field")) == ascending + missing
            assert ids(paged(index, limit=limit, order_by="field", descending=True)) == descending + missing
            kept = {"field": {"$gt": 1}}
            assert ids(paged(index, limit=limit, order_by="field", filter=kept)) == [3, 0, 12]

    def test_orders_of_times(self, index: Index) -> None:
        times = ["2026-03-01", None, "2020-01-01T00:00:00.5Z", "2020-01-01T01:00:00+02:00", None]
        for number, time in enumerate(times):
            index.upsert(
                number, "text", scope=JANE, created_at=time, metadata={"created_at": f"{9 - number}"}
            )
        for limit in (1, 2, 9):
            assert ids(paged(index, limit=limit, order_by="created_at")) == [3, 2, 0, 1, 4]
            assert ids(paged(index, limit=limit, order_by="created_at", descending=True)) == [0, 2, 3, 1, 4]
        index.patch(4, scope=JANE, expires_at="2190-01-01")
        assert ids(index.scroll(scope=JANE, order_by="expires_at")) == [4, 0, 1, 2, 3]

    def test_long_texts_are_ordered_by_their_beginning(self, index: Index) -> None:
        for number, text in enumerate(
            ["a" * 300, "a" * 299 + "\N{EARTH GLOBE EUROPE-AFRICA}", "b" * 10**6, "a"]
        ):
            index.upsert(number, "text", scope=JANE, metadata={"t": text})
        assert ids(paged(index, limit=1, order_by="t")) == [3, 0, 1, 2]
        emoji = "\N{EARTH GLOBE EUROPE-AFRICA}" * 1000
        index.upsert(4, "text", scope=JANE, metadata={"t": emoji})
        index.upsert(5, "text", scope=JANE, metadata={"t": emoji + "b"})
        assert ids(paged(index, limit=1, order_by="t")) == [3, 0, 1, 2, 4, 5]

    @pytest.mark.parametrize("order_by", [None, "n"])
    def test_pages_are_stable_beside_writers(self, index: Index, order_by: str | None) -> None:
        for number in range(10):
            index.upsert(number, "text", scope=JANE, metadata={"n": number})
        first = index.scroll(scope=JANE, limit=4, order_by=order_by)
        assert ids(first) == [0, 1, 2, 3]
        index.delete_many([3, 5], scope=JANE)  # including the last of the page
        index.upsert(1, "again", scope=JANE, metadata={"n": 1})
        index.upsert(-1, "new", scope=JANE, metadata={"n": -1})
        rest = ids(index.scroll(scope=JANE, cursor=first.cursor, order_by=order_by))
        assert rest == ([4, 6, 7, 8, 9, 1, -1] if order_by is None else [4, 6, 7, 8, 9])

    def test_unchanged_documents_are_scrolled_once_beside_a_writer(self, index: Index) -> None:
        index.upsert_many(
            [{"id": n, "text": "text", "metadata": {"n": n % 7}} for n in range(200)], scope=JANE
        )
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                index.upsert(1000 + number % 50, "text", scope=JANE, metadata={"n": number % 7})
                index.delete(1000 + (number * 7) % 50, scope=JANE)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            options: dict[str, Any]
            for options in ({}, {"descending": True}, {"order_by": "n"}):
                for _ in range(3):
                    found: list[Any] = []
                    cursor = None
                    for _ in range(60):  # a rewritten document is returned again, without end
                        page = index.scroll(scope=JANE, limit=17, cursor=cursor, **options)
                        found += [id for id in ids(page) if int(id) < 200]
                        cursor = page.cursor
                        if cursor is None or (not options and len(found) == 200):
                            break
                    assert sorted(found) == list(range(200))
        finally:
            stop.set()
            writer.join()

    def test_scroll_leaves_out_expired_documents(self, index: Index) -> None:
        index.upsert(1, "short", scope=JANE, ttl=timedelta(microseconds=1))
        index.upsert(2, "long", scope=JANE, ttl=60)
        assert ids(index.scroll(scope=JANE)) == ids(index.scroll(scope=JANE, order_by="n")) == [2]

    def test_cursors_of_others_are_refused(self, open_index: Open) -> None:
        index, other = open_index(), open_index()
        for one in (index, other):
            for number in range(4):
                one.upsert(number, "text", scope=JANE, metadata={"n": number})
        options: dict[str, Any]
        for options in ({}, {"order_by": "n"}, {"descending": True}, {"exact": True}):
            cursor = index.scroll(scope=JANE, limit=2, **options).cursor
            assert cursor is not None
            assert len(index.scroll(scope=JANE, cursor=cursor, **options)) == 2
            with pytest.raises(CursorError, match="of this index"):
                other.scroll(scope=JANE, cursor=cursor, **options)
            with pytest.raises(CursorError, match="with this scope"):
                index.scroll(scope=JOE, cursor=cursor, **options)
            for another in ({}, {"order_by": "n"}, {"descending": True}, {"exact": True}, {"order_by": "m"}):
                if another != options:
                    with pytest.raises(CursorError, match="with this scope"):
                        index.scroll(scope=JANE, cursor=cursor, **another)
        collection = index.collection("notes")
        with pytest.raises(CursorError, match="of this index"):
            collection.scroll(scope=JANE, cursor=cursor, **options)

    def test_damaged_cursors_are_refused(self, index: Index) -> None:
        for number in range(4):
            index.upsert(number, "text", scope=JANE, metadata={"n": number})
        cursor = str(index.scroll(scope=JANE, limit=2, order_by="n").cursor)
        damaged = [
            "",
            "a",
            "AAAA",
            cursor[:-1],
            cursor + "A",
            cursor + "=",
            cursor * 500,
            "ü",
            "a b",
            "\ud800",
        ]
        for place in range(len(cursor)):
            damaged.append(cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :])
        for wrong in damaged:
            with pytest.raises(CursorError):
                index.scroll(scope=JANE, cursor=wrong, order_by="n")
        assert issubclass(CursorError, ValueError)
        with pytest.raises(TypeError, match="cursor"):
            index.scroll(scope=JANE, cursor=7)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"scope": "acme"}, TypeError, "scope: expected a scrubjay.Scope, got str"),
            ({"limit": 0}, ValueError, "limit: expected 1 or more, got 0"),
            ({"limit": 1.5}, TypeError, "limit: expected an int, got float"),
            ({"order_by": 7}, TypeError, "order_by"),
            ({"order_by": ""}, ValueError, "order_by"),
            ({"filter": {"a": {"$like": 1}}}, ValueError, r"\$like"),
        ],
    )
    def test_bad_arguments_are_named(
        self, index: Index, arguments: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            index.scroll(**{"scope": JANE, **arguments})

    def test_a_view_scrolls(self, index: Index) -> None:
        jane = index.scope("acme", user="jane")
        jane.upsert(1, "hers", metadata={"n": 1})
        index.upsert(2, "shared", scope=ACME)
        assert ids(jane.scroll()) == [1, 2]
        assert ids(jane.scroll(exact=True)) == [1]


class TestScrollOfAFile:
    def test_a_cursor_outlives_the_opening_and_compaction(self, tmp_path: Path) -> None:
        path = tmp_path / "a.scrubjay"
        with Index.open(path) as index:
            for number in range(6):
                index.upsert(number, "text", scope=JANE)
            index.delete(0, scope=JANE)
            cursor = index.scroll(scope=JANE, limit=2).cursor
            index.admin.compact()
        with Index.open(path) as index:
            assert ids(index.scroll(scope=JANE, cursor=cursor)) == [3, 4, 5]
            assert index.admin.stats()["resident_documents"] == 0

    def test_a_page_reads_what_it_returns(self, tmp_path: Path) -> None:
        with Index.open(tmp_path / "a.scrubjay") as index:
            index.upsert_many([{"id": n, "text": "text"} for n in range(3000)], scope=JANE)
            engine: Any = Backend.of(index).engine
            read: list[Any] = []
            rows_in = engine.store.rows_in
            engine.store.rows_in = lambda *a, **o: (read.append(1) or row for row in rows_in(*a, **o))
            cursor = None
            for page in range(3):
                read.clear()
                found = index.scroll(scope=JANE, limit=50, cursor=cursor)
                assert ids(found) == list(range(50 * page, 50 * page + 50))
                assert len(read) <= 64
                cursor = found.cursor
            t = engine.store.tables
            plan = engine.store.reading_connection().execute(
                f"EXPLAIN QUERY PLAN SELECT seq FROM {t.document} WHERE scope = ? "
                "AND (expires_at IS NULL OR expires_at > ?) AND seq > ? ORDER BY seq ASC",
                (1, 2, 3),
            )
            (step,) = [row[3] for row in plan.fetchall()]
            assert "scope=? AND rowid>?" in step

    def test_damaged_documents_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.scrubjay"
        with Index.open(path) as index:
            for number in range(4):
                index.upsert(number, "text", scope=JANE, metadata={"n": number})
            with Backend.of(index).changing("damaging") as change:
                change.connection.execute("UPDATE document SET payload = x'7b7d' WHERE id = 1")
            for options in ({}, {"order_by": "n"}):
                with pytest.warns(CorruptDataWarning, match="document 1"):
                    assert ids(index.scroll(scope=JANE, **options)) == [0, 2, 3]
            with pytest.warns(CorruptDataWarning):
                assert index.values("n", scope=JANE) == {0: 1, 2: 1, 3: 1}
            with pytest.warns(CorruptDataWarning):
                assert index.delete_many(filter={"n": {"$gte": 0}}, scope=JANE) == 3
            with pytest.raises(CorruptIndexError, match="document 1"):
                index.patch(1, scope=JANE, metadata={"n": 7})
            row = (
                Backend.of(index)
                .engine.store.reading_connection()
                .execute(  # type: ignore[union-attr]
                    "SELECT payload FROM document WHERE id = 1"
                )
            )
            assert row.fetchone() == (b"{}",)


class TestPatch:
    def test_metadata_is_merged_key_by_key(self, index: Index) -> None:
        index.upsert("m", "The text", scope=JANE, metadata={"a": 1, "b": {"x": 1}, "c": None}, created_at=9)
        before = index.get("m", scope=JANE)
        written = index.patch("m", scope=JANE, metadata={"b": {"y": (2,)}, "d": [3], "a": None, "none": None})
        after = index.get("m", scope=JANE)
        assert before is not None
        assert after is not None
        assert after.metadata == {"b": {"y": [2]}, "c": None, "d": [3]}
        assert (after.text, after.created_at, after.expires_at) == ("The text", before.created_at, None)
        assert after.version == written
        assert written is not None
        assert written > (before.version or 0)
        assert ids(index.search("text", scope=JANE, filter={"d": {"$exists": True}})) == ["m"]
        assert ids(index.search("text", scope=JANE, filter={"a": 1})) == []
        index.patch("m", scope=JANE, metadata={"b": None, "c": None, "d": None})
        assert (index.get("m", scope=JANE) or before).metadata == {}

    def test_times(self, index: Index) -> None:
        index.upsert("m", "text", scope=JANE)
        index.patch("m", scope=JANE, created_at="2026-01-01", expires_at="2190-01-01")
        record = index.get("m", scope=JANE)
        assert record is not None
        assert record.created_at == datetime(2026, 1, 1, tzinfo=timezone.utc)
        assert record.expires_at == datetime(2190, 1, 1, tzinfo=timezone.utc)
        index.patch("m", scope=JANE, metadata={"n": 1})
        assert index.get("m", scope=JANE) == Record(
            "m", "text", JANE, {"n": 1}, record.created_at, None, record.expires_at
        )
        index.patch("m", scope=JANE, created_at=None, expires_at=None)
        assert index.get("m", scope=JANE) == Record("m", "text", JANE, {"n": 1})
        index.patch("m", scope=JANE, expires_at="2020-01-01")
        assert index.get("m", scope=JANE) is None
        assert index.count(JANE) == 0
        assert index.patch("m", scope=JANE, metadata={"n": 2}) is None

    @pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_the_vector_stays_to_the_bit(self, open_index: Open, dtype: str, metric: str) -> None:
        index = open_index(dim=7, dtype=dtype, metric=metric)
        random = np.random.default_rng(5)
        for number in range(40):
            scale = 10.0 ** random.integers(-4, 4)
            index.upsert(number, "text", scope=JANE, vector=random.normal(size=7) * scale)
            before = index.get(number, scope=JANE)
            assert before is not None
            for turn in range(3):
                index.patch(number, scope=JANE, metadata={"n": turn})
            after = index.get(number, scope=JANE)
            assert after is not None
            np.testing.assert_array_equal(np.asarray(before.vector), np.asarray(after.vector))

    def test_vectors(self, open_index: Open) -> None:
        index = open_index(dim=2, dtype="f32")
        index.upsert("m", "text", scope=JANE, metadata={"n": 1})
        index.patch("m", scope=JANE, vector=[3.0, 4.0])
        (hit,) = index.search(vector=[0.0, 1.0], scope=JANE)
        assert hit.cosine == pytest.approx(0.8)
        assert hit.metadata == {"n": 1}
        index.patch("m", scope=JANE, vector=None)
        assert index.admin.stats()["vectors"] == 0
        for wrong in ([1.0], [0.0, 0.0], [1.0, float("nan")], "ab", [[[1.0, 2.0]]], [[1.0]]):
            with pytest.raises((TypeError, ValueError), match="vector"):
                index.patch("m", scope=JANE, vector=wrong)

    def test_patch_embeds_nothing(self, open_index: Open) -> None:
        class Counting:
            name, dim, calls = "counting", 2, 0

            def embed_documents(self, texts: list[str]) -> Any:
                self.calls += 1
                return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)

            def embed_query(self, text: str) -> Any:
                return np.array([1.0, len(text)], dtype=np.float32)

        embedder: Any = Counting()
        index = open_index(embedder=embedder)
        index.upsert("m", "text", scope=JANE)
        assert embedder.calls == 1
        index.patch("m", scope=JANE, metadata={"n": 1}, created_at=5)
        assert embedder.calls == 1
        record = index.get("m", scope=JANE)
        assert record is not None
        assert record.vector is not None

    def test_only_the_exact_scope_is_changed(self, index: Index) -> None:
        index.upsert("m", "shared", scope=ACME)
        assert index.patch("m", scope=JANE, metadata={"n": 1}) is None
        with pytest.raises(VersionConflictError) as caught:
            index.patch("m", scope=JANE, metadata={"n": 1}, version=version(index, "m"))
        assert caught.value.found == 0
        assert (index.get("m", scope=JANE) or Record("", "", ACME)).metadata == {}
        assert index.scope(ACME).patch("m", metadata={"n": 1}) == version(index, "m")

    def test_versions(self, index: Index) -> None:
        index.upsert("m", "text", scope=JANE)
        first = version(index, "m")
        second = index.patch("m", scope=JANE, metadata={"n": 1}, version=first)
        with pytest.raises(VersionConflictError) as caught:
            index.patch("m", scope=JANE, metadata={"n": 2}, version=first)
        assert (caught.value.id, caught.value.expected, caught.value.found) == ("m", first, second)
        assert index.values("n", scope=JANE) == {1: 1}
        for wrong in (0, -1, 2**63):
            with pytest.raises(ValueError, match="version"):
                index.patch("m", scope=JANE, version=wrong)
        with pytest.raises(TypeError, match="version"):
            index.patch("m", scope=JANE, version=True)

    def test_feedback_and_other_documents_stay(self, index: Index) -> None:
        for id in ("m", "n"):
            index.upsert(id, f"text {id}", scope=JANE)
        assert index.feedback("m", query="which?", scope=JANE)
        other = index.get("n", scope=JANE)
        index.patch("m", scope=JANE, metadata={"n": 1})
        assert [note.id for note in index.admin.feedbacks()] == ["m"]
        assert index.get("n", scope=JANE) == other
        if index.path is not None:
            assert index.admin.events() == []

    def test_bad_arguments_change_nothing(self, index: Index) -> None:
        index.upsert("m", "text", scope=JANE, metadata={"n": 1})
        before = version(index, "m")
        for wrong in (
            {"metadata": {"a": object()}},
            {"metadata": {1: 2}},
            {"metadata": [1]},
            {"created_at": "soon"},
            {"expires_at": "never"},
            {"scope": "acme"},
        ):
            with pytest.raises((TypeError, ValueError)):
                index.patch("m", **{"scope": JANE, **wrong})
        with pytest.raises(TypeError, match="id"):
            index.patch(7, scope=JANE, metadata={})
        assert version(index, "m") == before

    def test_patches_of_several_threads_are_all_there(self, index: Index) -> None:
        index.upsert("m", "text", scope=JANE)

        def work(name: str) -> None:
            for number in range(20):
                index.patch("m", scope=JANE, metadata={f"{name}{number}": number})

        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len((index.get("m", scope=JANE) or Record("", "", ACME)).metadata or {}) == 60

    def test_two_openings_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.scrubjay"
        with Index.open(path, keys=provider) as one, Index.open(path, keys=provider) as two:
            one.upsert("m", "text", scope=JANE, metadata={"n": 0})
            assert ids(two.search("text", scope=JANE)) == ["m"]
            one.patch("m", scope=JANE, metadata={"n": 1})
            two.patch("m", scope=JANE, metadata={"k": 2}, version=version(two, "m"))
            for index in (one, two):
                assert index.search("text", scope=JANE)[0].metadata == {"n": 1, "k": 2}
                assert index.admin.check().clean


class TestVersions:
    def test_insert_if_absent(self, index: Index) -> None:
        index.upsert("m", "first", scope=JANE, version=0)
        found = version(index, "m")
        with pytest.raises(VersionConflictError) as caught:
            index.upsert("m", "second", scope=JANE, version=0)
        error = caught.value
        assert (error.id, error.expected, error.found) == ("m", 0, found)
        assert isinstance(error, ConflictError)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert "'m'" in str(error)
        assert (index.get("m", scope=JANE) or Record("", "", ACME)).text == "first"
        index.upsert("m", "the tenant's", scope=ACME, version=0)  # another key
        index.delete("m", scope=JANE)
        index.upsert("m", "third", scope=JANE, version=0)
        assert version(index, "m") > found

    def test_replace_if_unchanged(self, index: Index) -> None:
        index.upsert("m", "first", scope=JANE)
        seen = version(index, "m")
        index.upsert("m", "second", scope=JANE, version=seen)
        with pytest.raises(VersionConflictError):
            index.upsert("m", "third", scope=JANE, version=seen)
        index.delete("m", scope=JANE)
        with pytest.raises(VersionConflictError) as caught:
            index.upsert("m", "third", scope=JANE, version=seen)
        assert caught.value.found == 0
        assert index.get("m", scope=JANE) is None

    def test_a_refused_first_write_settles_nothing(self, index: Index) -> None:
        with pytest.raises(VersionConflictError):
            index.upsert("m", "text", scope=JANE, vector=[1.0, 2.0], version=5)
        assert len(index) == 0
        assert index.scopes() == []
        assert index.admin.stats()["dim"] is None
        index.upsert(1, "text", scope=JANE, vector=[1.0, 2.0, 3.0], version=0)

    def test_an_expired_document_counts_as_absent_for_version_0(self, index: Index) -> None:
        index.upsert("m", "text", scope=JANE, ttl=timedelta(microseconds=1))
        index.upsert("m", "text", scope=JANE, version=0)

    def test_batches_are_all_or_nothing(self, index: Index) -> None:
        index.upsert("a", "first", scope=JANE)
        seen = version(index, "a")
        rows: list[Any] = [
            {"id": "new", "text": "new", "scope": JOE, "version": 0},
            {"id": "a", "text": "second", "scope": JANE, "version": seen},
            {"id": "any", "text": "any", "scope": JANE},
        ]
        with pytest.raises(VersionConflictError) as caught:
            index.upsert_many([*rows, {"id": "b", "text": "b", "scope": JANE, "version": 9}])
        assert (caught.value.id, caught.value.expected, caught.value.found) == ("b", 9, 0)
        assert [(record.id, record.text) for record in index.list(JANE)] == [("a", "first")]
        assert index.upsert_many(rows) == 3
        assert index.count() == 3
        if index.path is not None:
            assert index.admin.check().clean

    def test_of_equal_keys_the_last_counts_with_its_condition(self, index: Index) -> None:
        rows = [
            {"id": "a", "text": "one", "scope": JANE, "version": 77},
            {"id": "a", "text": "two", "scope": JANE, "version": 0},
        ]
        assert index.upsert_many(rows) == 1
        with pytest.raises(VersionConflictError):
            index.upsert_many(rows[::-1])

    def test_a_record_is_no_condition_and_its_fields_are(self, index: Index) -> None:
        index.upsert("a", "one", scope=JANE)
        record = index.get("a", scope=JANE)
        index.upsert_many([vars(record)])
        index.upsert_many([record])
        with pytest.raises(VersionConflictError):
            index.upsert_many([vars(record)])

    def test_versions_are_returned_by_every_verb(self, index: Index) -> None:
        index.upsert("a", "one", scope=JANE)
        seen = version(index, "a")
        for record in (
            index.get_many(["a"], scope=JANE)[0],
            index.list(JANE)[0],
            index.find("a", within=ACME)[0],
            index.scroll(scope=JANE).records[0],
        ):
            assert record is not None
            assert record.version == seen

    @pytest.mark.parametrize("wrong", [-1, 2**63, True, "1", 1.5])
    def test_bad_versions_are_named(self, index: Index, wrong: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="version"):
            index.upsert("m", "text", scope=JANE, version=wrong)
        with pytest.raises((TypeError, ValueError), match=r"records\[0\]: version"):
            index.upsert_many([{"id": "m", "text": "text", "version": wrong}], scope=JANE)
        assert len(index) == 0

    def test_one_of_several_writers_wins_each_round(self, index: Index) -> None:
        """A counter that several threads read and write loses nothing."""
        index.upsert("n", "text", scope=JANE, metadata={"n": 0})

        def count() -> None:
            for _ in range(15):
                while True:
                    record = index.get("n", scope=JANE)
                    assert record is not None
                    n = (record.metadata or {})["n"]
                    try:
                        index.upsert("n", "text", scope=JANE, metadata={"n": n + 1}, version=record.version)
                        break
                    except VersionConflictError:
                        continue

        threads = [threading.Thread(target=count) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert index.values("n", scope=JANE) == {45: 1}


class TestDeleteByFilter:
    def test_deletion_by_filter_deletes_matches_of_the_exact_scope_only(self, index: Index) -> None:
        for number in range(10):
            for scope in (ACME, JANE):
                index.upsert(number, f"text {number}", scope=scope, metadata={"odd": number % 2 == 1})
        assert index.delete_many(filter={"odd": True}, scope=JANE) == 5
        assert ids(index.scroll(scope=JANE, exact=True)) == [0, 2, 4, 6, 8]
        assert index.count(ACME) == 10
        assert index.delete_many(filter={"odd": True}, scope=JANE) == 0
        assert index.delete_many([0, 1, 2], filter=Filter({"odd": False}), scope=JANE) == 2
        assert index.scope(JANE).delete_many(filter={"odd": {"$exists": True}}) == 3
        assert index.count(JANE) == 10  # the tenant's
        if index.path is not None:
            assert [(event.reason, event.documents, event.scope) for event in index.admin.events()] == [
                ("delete", 5, JANE),
                ("delete", 2, JANE),
                ("delete", 3, JANE),
            ]
            assert index.admin.check().clean

    def test_deletion_by_filter_deletes_the_feedback(self, index: Index) -> None:
        for id in ("a", "b"):
            index.upsert(id, "text", scope=JANE, metadata={"id": id})
            index.feedback(id, query="which?", scope=JANE)
        index.delete_many(filter={"id": "a"}, scope=JANE, reason="told so")
        assert [note.id for note in index.admin.feedbacks()] == ["b"]

    def test_a_filter_that_says_nothing_deletes_nothing(self, index: Index) -> None:
        index.upsert("a", "text", scope=JANE)
        with pytest.raises(ValueError, match="filter: expected conditions"):
            index.delete_many(filter={}, scope=JANE)
        assert index.delete_many(filter={"$or": []}, scope=JANE) == 0
        assert index.delete_many(["b"], filter={}, scope=JANE) == 0
        with pytest.raises(TypeError, match="ids: expected several, or a filter"):
            index.delete_many(scope=JANE)
        with pytest.raises(ValueError, match="reason"):
            index.delete_many(filter={"a": 1}, scope=JANE, reason="")
        with pytest.raises(TypeError, match="scope"):
            index.delete_many(filter={"a": 1}, scope="acme")  # type: ignore[arg-type]
        assert len(index) == 1

    def test_deletion_by_filter_spares_documents_that_stop_matching(self, index: Index) -> None:
        """A memory that stops matching the filter in time stays."""
        stop = threading.Event()

        def keep() -> None:
            while not stop.is_set():
                for number in range(20):
                    index.upsert(number, "text", scope=JANE, metadata={"keep": True})

        for number in range(20, 40):
            index.upsert(number, "text", scope=JANE, metadata={"keep": False})
        writer = threading.Thread(target=keep)
        writer.start()
        try:
            n_deleted = 0
            for _ in range(20):
                n_deleted += index.delete_many(filter={"keep": False}, scope=JANE)
        finally:
            stop.set()
            writer.join()
        assert n_deleted == 20
        assert sorted(ids(index.list(JANE))) == list(range(20))  # type: ignore[type-var]


class TestValues:
    def test_counts_of_values(self, index: Index) -> None:
        kinds: list[Any] = ["b", "a", "b", ["c", "c", "a"], 2, 2.0, 1, {"x": 1}, None, True]
        for number, kind in enumerate(kinds):
            index.upsert(number, "text", scope=(ACME, JANE)[number % 2], metadata={"kind": kind})
        index.upsert(99, "another's", scope=JOE, metadata={"kind": "a"})
        index.upsert(100, "no metadata", scope=JANE)
        assert list(index.values("kind", scope=JANE).items()) == [
            (1, 2),
            (2, 2),
            ("a", 2),
            ("b", 2),
            ("c", 1),
        ]
        assert index.values("kind", scope=JANE, limit=2) == {1: 2, 2: 2}
        assert index.values("kind", scope=ACME) == {"b": 2, 2: 1, 1: 1}
        assert index.values("kind", scope=JANE, exact=True) == {"a": 2, 2: 1, True: 1, "c": 1}
        assert index.scope(JANE).values("kind", filter={"kind": "b"}) == {"b": 2}
        assert index.values("kind", scope=Scope("nobody")) == index.values("none", scope=JANE) == {}

    def test_ties_by_type_and_value(self, index: Index) -> None:
        for number, value in enumerate(["b", True, 3, "a", -1.5]):
            index.upsert(number, "text", scope=JANE, metadata={"v": value})
        assert list(index.values("v", scope=JANE)) == [-1.5, 3, "a", "b", True]

    def test_times(self, index: Index) -> None:
        index.upsert(1, "text", scope=JANE, created_at=0)
        index.upsert(2, "text", scope=JANE, created_at=0, metadata={"created_at": "x"})
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc)
        assert index.values("created_at", scope=JANE) == {moment: 2}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"field": 7}, "field"),
            ({"field": ""}, "field"),
            ({"limit": 0}, "limit"),
            ({"scope": "a"}, "scope"),
        ],
    )
    def test_bad_arguments_are_named(self, index: Index, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises((TypeError, ValueError), match=message):
            index.values(**{"field": "a", "scope": JANE, **arguments})


class TestListFields:
    def test_in_and_nin_look_into_lists(self, index: Index) -> None:
        for number, tags in enumerate([["a", "b"], ["c"], "a", [], None, ["b", 1]]):
            index.upsert(number, "text", scope=JANE, metadata={"tags": tags})
        found = sorted(map(int, ids(index.scroll(scope=JANE, filter={"tags": {"$in": ["a", "c"]}}))))
        assert found == [0, 1, 2]
        rest = sorted(map(int, ids(index.scroll(scope=JANE, filter={"tags": {"$nin": ["a", "c"]}}))))
        assert rest == [3, 4, 5]


def test_everything_is_refused_once_closed(open_index: Open) -> None:
    index = open_index()
    index.upsert("a", "text", scope=JANE)
    if index.path is None:
        return
    index.close()
    calls: list[Callable[[], Any]] = [
        lambda: index.scroll(scope=JANE),
        lambda: index.patch("a", scope=JANE, metadata={"n": 1}),
        lambda: index.upsert("a", "text", scope=JANE, version=0),
        lambda: index.delete_many(filter={"n": 1}, scope=JANE),
        lambda: index.values("n", scope=JANE),
    ]
    for call in calls:
        with pytest.raises(Exception, match="closed"):
            call()


def test_patch_keeps_unknown_payload_fields(index: Index) -> None:
    payload = json.dumps({"metadata": {"a": 1}, "own": [1, 2]}).encode()
    Backend.of(index).engine.upsert("a", "text", scope=JANE, payload=payload)
    index.patch("a", scope=JANE, metadata={"b": 2})
    document: Any = Backend.of(index).engine.get("a", scope=JANE)
    assert json.loads(document.payload) == {"metadata": {"a": 1, "b": 2}, "own": [1, 2]}
