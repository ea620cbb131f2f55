"""Pages by offset: equal to slices of a listing, consistent beside writers, and late pages cost no more."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.backend import AsyncDocuments, Documents, Test, offsets
from scrubjay.documents.records import Record
from scrubjay.embedders import default
from scrubjay.store.engine import DurableEngine
from scrubjay.store.local import LocalEngine
from scrubjay.store.sqlite.connections import StoreConnection

ACME, GLOBEX = Scope("acme"), Scope("globex")
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
ODD = Test({"n": {"$gte": 0}}, lambda record: (record.metadata or {})["n"] % 2 == 1)
EVERYTHING, SOME = None, {"n": {"$gt": 5}}


@pytest.fixture(params=["memory", "file"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Documents]:
    where = None if request.param == "memory" else tmp_path / "a.scrubjay"
    with Documents(where, collection="notes") as opened:
        yield opened


def note(id: str, n: int) -> dict[str, Any]:
    return {"id": id, "text": f"note {id}", "metadata": {"n": n}, "created_at": 1_700_000_000 + n % 7}


def fill(documents: Documents, n: int, scope: Scope = JANE, name: str = "m") -> None:
    documents.upsert_many([note(f"{name}{i}", i) for i in range(n)], scope=scope)


def ids(records: list[Record]) -> list[Any]:
    return [record.id for record in records]


def walk(
    documents: Documents, limit: int, between: Callable[[list[Record]], None] = lambda _: None, **asked: Any
) -> list[Any]:
    """Iterate over all pages as users of a framework do; return the keys."""
    found: list[Any] = []
    offset = 0
    while True:
        page = documents.page(offset=offset, limit=limit, **asked)
        assert len(page) <= limit
        found += [(record.scope, record.id) for record in page]
        if len(page) < limit:
            return found
        offset += limit
        between(page)


ORDERS = [
    {},
    {"descending": True},
    {"order_by": "created_at", "descending": True},
    {"order_by": "n"},
    {"order_by": "updated_at", "descending": True},
]
FILTERS = [
    pytest.param(EVERYTHING, {}, id="everything"),
    pytest.param(SOME, {}, id="native"),
    pytest.param(ODD, {"question": "odd"}, id="test"),
    pytest.param(EVERYTHING, {"kept": lambda r: "7" not in r.id, "question": "kept"}, id="kept"),
    pytest.param(ODD, {}, id="test, not remembered"),
]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(("filter", "more"), FILTERS)
def test_any_page_is_a_slice_of_the_listing(
    documents: Documents, order: dict[str, Any], filter: Any, more: dict[str, Any]
) -> None:
    fill(documents, 90)
    fill(documents, 30, ACME, "shared")
    fill(documents, 30, JOE, "joe")
    asked = {"scope": JANE, "filter": filter, **order}
    kept = more.get("kept", lambda record: True)
    whole = [record.id for record in documents.every(**asked) if kept(record)]
    assert whole
    for offset in (0, 1, 7, 50, 77, 3, 89, 0, 200):  # in random order, at which no page ended
        for limit in (1, 10, 500):
            assert ids(documents.page(offset=offset, limit=limit, **asked, **more)) == whole[offset:][:limit]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_pages_at_unremembered_offsets_are_slices_too(documents: Documents, order: dict[str, Any]) -> None:
    fill(documents, 300)
    whole = ids(list(documents.every(scope=JANE, filter=SOME, **order)))
    for offset in (290, 17, 293, 294, 295, 5000):
        with Documents(documents.index) as fresh:
            page = fresh.page(scope=JANE, offset=offset, limit=3, filter=SOME, **order)
        assert ids(page) == whole[offset : offset + 3]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(("filter", "more"), FILTERS[:4])
@pytest.mark.parametrize("seed", range(2))
def test_a_walk_beside_writers_is_whole(
    documents: Documents, order: dict[str, Any], filter: Any, more: dict[str, Any], seed: int
) -> None:
    """A document that exists throughout and is not written comes exactly once."""
    fill(documents, 100)
    fill(documents, 20, ACME, "shared")
    choose = random.Random(seed)
    asked = {"scope": JANE, "filter": filter, **order, **more}
    stays = set(walk(documents, 1000, **asked))

    def disturb(page: list[Record]) -> None:
        fill(documents, choose.randint(0, 4), JANE, f"new{choose.random()}")
        gone = {f"m{choose.randrange(100)}", *(r.id for r in page if choose.random() < 0.3)}
        documents.delete_many(gone, scope=JANE)
        changed = f"m{choose.randrange(100)}"
        documents.patch(changed, scope=JANE, metadata={"n": 1})
        stays.difference_update((JANE, id) for id in (*gone, changed))

    found = walk(documents, 9, disturb, **asked)
    once = [key for key in found if key in stays]
    assert len(once) == len(set(once))
    assert set(once) == stays


def test_deleting_what_was_read_skips_nothing(documents: Documents) -> None:
    fill(documents, 100)

    def delete(page: list[Record]) -> None:
        documents.delete_many(ids(page), scope=JANE)

    assert len(walk(documents, 10, delete, scope=JANE, descending=True)) == 100


def test_two_listings_of_one_collection_do_not_know_of_each_other(documents: Documents) -> None:
    fill(documents, 20)
    fill(documents, 20, GLOBEX, "globex")
    documents.page(scope=JANE, limit=5, descending=True)
    fill(documents, 5, JANE, "new")
    assert ids(documents.page(scope=GLOBEX, offset=5, limit=2, descending=True)) == ["globex14", "globex13"]
    assert ids(documents.page(scope=JANE, offset=5, limit=2)) == ["m5", "m6"]
    below = documents.page(scope=JANE, offset=3, limit=2, descending=True, filter={"n": {"$lt": 3}})
    assert ids(below) == ["m2", "m1"]  # behind new2, new1 and new0
    assert ids(documents.page(scope=JANE, offset=5, limit=2, descending=True)) == ["m14", "m13"]


def test_remembered_offsets_are_dropped_after_writes_and_with_age(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(documents, 20)
    now = 1000.0
    monkeypatch.setattr(offsets.time, "monotonic", lambda: now)
    documents.page(scope=JANE, limit=5, descending=True)
    fill(documents, 5, JANE, "new")
    assert ids(documents.page(scope=JANE, offset=5, limit=1, descending=True)) == ["m14"]
    now += 601.0
    assert ids(documents.page(scope=JANE, offset=5, limit=1, descending=True)) == ["m19"]


def test_remembered_offsets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "_MOST_LISTINGS", 3)
    monkeypatch.setattr(offsets, "_MOST_ENDS", 5)
    monkeypatch.setattr(offsets, "_MOST_KEYS", 250)
    with Documents(None) as documents:
        fill(documents, 100)
        known: Any = documents._offsets
        for bound in range(10):
            walk(documents, 9, scope=JANE, filter={"n": {"$gte": bound}})
            assert len(known._walks) <= 3
            assert all(len(one.ends) <= 5 for one in known._walks.values())
        for bound in range(10):
            found = walk(documents, 9, scope=JANE, filter={"n": {"$gte": bound}}, order_by="n")
            assert len(found) == 100 - bound
            assert sum(one.n_keys for one in known._walks.values()) <= 250


def test_several_scopes_are_one_listing(documents: Documents) -> None:
    fill(documents, 30)
    fill(documents, 30, JOE, "joe")
    fill(documents, 7, ACME, "shared")
    fill(documents, 3, JANE, "late")
    for exact, n in ((True, 63), (False, 70)):
        found = walk(documents, 8, scope=[JANE, JOE], descending=True, exact=exact)
        assert len(found) == len(set(found)) == n
        assert found[:3] == [(JANE, f"late{i}") for i in (2, 1, 0)]
    jump = documents.page(scope=[JANE, JOE], offset=30, limit=5, descending=True, exact=True)
    assert ids(jump) == [f"joe{i}" for i in (2, 1, 0)] + ["m29", "m28"]
    assert documents.page(scope=[], limit=5) == []
    with pytest.raises(ValueError, match="order_by: expected None for 2 scopes, got 'n'"):
        documents.page(scope=[JANE, JOE], order_by="n")


@pytest.mark.parametrize("order", ORDERS[1:3], ids=str)
def test_a_late_page_reads_what_the_first_one_reads(
    documents: Documents, order: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in documents, since times vary between runs."""
    fill(documents, 2000)
    n_read = [0]
    for engine in (DurableEngine, LocalEngine):
        for name in ("page", "listed"):
            plain = getattr(engine, name)

            def counted(self: Any, *args: Any, plain: Any = plain, **options: Any) -> Any:
                found = plain(self, *args, **options)
                n_read[0] += len(found[0] if isinstance(found, tuple) else found)
                return found

            monkeypatch.setattr(engine, name, counted)
    walked = walk(documents, 50, scope=JANE, **order)
    assert len(walked) == 2000 and n_read[0] <= 2000 + 50
    n_read[0] = 0
    with Documents(documents.index) as fresh:
        assert len(fresh.page(scope=JANE, offset=1900, limit=50, **order)) == 50
    assert n_read[0] <= 51


def test_expired_memories_leave_no_holes(documents: Documents) -> None:
    rows = [{**note(f"m{i}", i), **({"ttl": 3.0} if i % 3 == 0 else {})} for i in range(30)]
    documents.upsert_many(rows, scope=JANE)
    first = documents.page(scope=JANE, limit=5, order_by="n")
    assert len(first) == 5
    while documents.count(JANE) > 20:
        time.sleep(0.1)
    rest = documents.page(scope=JANE, offset=5, limit=50, order_by="n")
    assert ids(rest) == [f"m{i}" for i in range(5, 30) if i % 3]


def test_wrong_arguments_are_named(documents: Documents) -> None:
    for wrong, error, message in [
        ({"offset": -1}, ValueError, "offset: expected 0 or more, got -1"),
        ({"limit": True}, TypeError, "limit: expected an int, got bool"),
        ({"order_by": 3}, TypeError, "order_by"),
        ({"filter": 3}, TypeError, "where"),
        ({"scope": [3]}, TypeError, "scope"),
        (
            {"scope": [JANE, GLOBEX]},
            ValueError,
            "scope: expected scopes of one tenant, got those of acme, globex",
        ),
    ]:
        asked: dict[str, Any] = {"scope": JANE, **wrong}
        with pytest.raises(error, match=message):
            documents.page(**asked)
    assert documents.page(scope=JANE, limit=0) == []


def test_awaited_pages_are_the_same(documents: Documents) -> None:
    fill(documents, 12)

    async def read() -> list[Record]:
        awaited = AsyncDocuments(documents)
        first = await awaited.page(scope=JANE, limit=5, descending=True)
        fill(documents, 3, JANE, "new")
        return first + await awaited.page(scope=JANE, offset=5, limit=50, descending=True)

    assert ids(asyncio.run(read())) == [f"m{i}" for i in range(11, -1, -1)]


def test_a_page_of_many_scopes_reads_what_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the scopes hold, and however late the page is: counted in rows that SQLite returns."""
    many = [Scope("acme", user=f"user{i}") for i in range(20)]
    with Documents(tmp_path / "a.scrubjay", collection="notes") as documents:
        for turn in range(4):
            for scope in many:
                fill(documents, 30, scope, f"turn{turn}m")
        n_fetched = [0]
        plain = StoreConnection.execute

        def counted(self: Any, *args: Any) -> Any:
            found = plain(self, *args)
            return _Counted(found, n_fetched) if "FROM document" in args[0] and "text" in args[0] else found

        monkeypatch.setattr(StoreConnection, "execute", counted)
        for filter in (EVERYTHING, {"n": {"$gte": 0}}):
            per_page = []
            for offset in range(0, 2400, 60):
                n_fetched[0] = 0
                page = documents.page(
                    scope=many, offset=offset, limit=60, descending=True, exact=True, filter=filter
                )
                assert len(page) == 60
                per_page.append(n_fetched[0])
            share = 2 * 4  # per scope; then up to four times as much of those that contribute to the page
            assert min(per_page) > 0 and max(per_page) <= share * len(many) + 5 * 61


class _Counted:
    """A cursor that counts the rows fetched from it."""

    def __init__(self, cursor: Any, n_fetched: list[int]) -> None:
        self._cursor, self._n_fetched = cursor, n_fetched

    def fetchall(self) -> Any:
        rows = self._cursor.fetchall()
        self._n_fetched[0] += len(rows)
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


# ---------------------------------------------------------------------- of what a question finds


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_pages_of_a_question_have_each_memory_once(kind: str, tmp_path: Path) -> None:
    where = None if kind == "memory" else tmp_path / "a.scrubjay"
    documents = Documents(where, collection="notes", embedder=default())
    words = ["trains", "coffee", "keys", "invoices", "ships"]
    rows = [{"id": f"m{n}", "text": f"note {n} of {words[n % 5]} and {words[n * 7 % 3]}"} for n in range(400)]
    documents.upsert_many(rows, scope=JANE)
    asked: dict[str, Any] = {"scope": JANE, "k": 30}
    for question in ("the keys of the trains 7", "coffee on ships"):
        documents.search(question, scope=JANE, k=400, offset=1)  # a page of another walk
        found = [
            hit.id
            for offset in range(0, 420, 30)
            for hit in documents.search(question, offset=offset, **asked)
        ]
        assert len(found) == len(set(found)) == 400
        assert found[:90] == [hit.id for hit in documents.search(question, scope=JANE, k=90)]
        again = ids(documents.search(question, offset=300, **asked))
        assert again == found[300:330]
    assert documents.search("keys", scope=JANE, k=10, offset=1000) == []
    documents.close()


def test_pages_of_a_search_repeat_no_hit_beside_writes(documents: Documents) -> None:
    fill(documents, 300)
    asked: dict[str, Any] = {"scope": JANE, "k": 40}
    found: list[Any] = []
    for offset in range(0, 400, 40):
        found += ids(documents.search("note", offset=offset, **asked))
        fill(documents, 5, JANE, f"new{offset}")
        documents.delete_many(found[-3:], scope=JANE)
    old = [id for id in found[120:] if str(id).startswith("m")]
    assert len(found[120:]) == len(set(found[120:])) and len(old) > 100
