"""Listing: exactly the documents visible to a search, in order of writing, in memory and over a file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Filter, Index, Record, Scope
from scrubjay.backend import Backend
from tests.data.postgres import new_url

ACME = Scope("acme")
JANE = Scope("acme", user="jane")
BOT = Scope("acme", agent="bot")
BOTH = Scope("acme", user="jane", agent="bot")
SCOPES = [ACME, JANE, BOT, BOTH, Scope("acme", user="joe"), Scope("globex"), Scope("globex", user="jane")]


@pytest.fixture(params=["memory", "file", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    if request.param == "memory":
        yield Index()
        return
    path = new_url() if request.param == "postgres" else tmp_path / "memories.scrubjay"
    with Index.open(path) as opened:
        yield opened


def ids(records: list[Record]) -> list[str | int]:
    return [record.id for record in records]


def keys(records: list[Record]) -> list[tuple[Scope, str | int]]:
    return [(record.scope, record.id) for record in records]


def test_list_returns_the_documents_visible_to_a_search(index: Index) -> None:
    for number, scope in enumerate(SCOPES):
        index.upsert(number, "the same words", scope=scope, metadata={"n": number}, created_at=number)
    for scope in SCOPES:
        listed = index.list(scope)
        assert set(ids(listed)) == {hit.id for hit in index.search("words", scope=scope)}
        assert ids(listed) == sorted(ids(listed), reverse=True)
        assert ids(index.list(scope, order="oldest")) == ids(listed)[::-1]
        for record in listed:
            assert record == index.get(record.id, scope=record.scope)
            assert record.vector is None
    assert ids(index.list(BOTH)) == [3, 2, 1, 0]
    assert ids(index.list(BOTH, exact=True)) == [3]
    assert index.list(Scope("nobody")) == []


def test_scopes_that_hold_memories(index: Index) -> None:
    assert index.scopes() == []
    for number, scope in enumerate(reversed(SCOPES)):
        index.upsert(number, "the same words", scope=scope)
        index.upsert(number + 100, "more words", scope=scope)
    assert index.scopes() == sorted(SCOPES)
    assert index.scopes(ACME) == sorted([ACME, JANE, BOT, BOTH, Scope("acme", user="joe")])
    assert index.scopes(JANE) == [JANE, BOTH]
    assert index.collection("another").scopes() == []
    index.erase(JANE)
    assert index.scopes(ACME) == sorted([ACME, BOT, Scope("acme", user="joe")])
    for number in (6, 106):
        index.delete(number, scope=ACME)
    assert index.scopes(ACME) == sorted([BOT, Scope("acme", user="joe")])
    index.upsert(6, "back", scope=JANE)
    assert index.scopes(ACME) == sorted([BOT, JANE, Scope("acme", user="joe")])
    with pytest.raises(TypeError, match="within"):
        index.scopes("acme")  # type: ignore[arg-type]


def test_a_memory_that_is_written_again_is_the_newest(index: Index) -> None:
    for id in ("a", "b", "c"):
        index.upsert(id, "text", scope=JANE)
    index.upsert("a", "another text", scope=JANE)
    assert ids(index.list(JANE)) == ["a", "c", "b"]
    assert index.list(JANE)[0].text == "another text"
    assert index.delete("c", scope=JANE)
    assert ids(index.list(JANE, order="oldest")) == ["b", "a"]
    index.upsert("c", "in another scope", scope=ACME)
    assert index.list(JANE)[0].scope == ACME
    assert ids(index.list(JANE, exact=True)) == ["a", "b"]


def test_a_listing_without_anything_to_rank_by(index: Index) -> None:
    """Texts without a single term, and the empty text, are listed like all others."""
    index.upsert("empty", "", scope=JANE)
    index.upsert("signs", "?! ...", scope=JANE)
    assert ids(index.list(JANE)) == ["signs", "empty"]


def test_filters_ids_limit_and_offset(index: Index) -> None:
    index.upsert_many(
        [
            {"id": n, "text": f"text {n}", "scope": JANE, "metadata": {"n": n, "odd": n % 2 == 1}}
            for n in range(5000)
        ]
    )
    assert ids(index.list(JANE, limit=3)) == [4999, 4998, 4997]
    assert ids(index.list(JANE, limit=2, offset=4999)) == [0]
    assert index.list(JANE, limit=0) == []
    odd = index.list(JANE, filter={"odd": True, "n": {"$lt": 4000}}, offset=10, limit=3)
    assert ids(odd) == [3979, 3977, 3975]
    assert ids(index.list(JANE, filter=Filter({"n": {"$gte": 4998}}))) == [4999, 4998]
    assert ids(index.list(JANE, ids={3, 10_000, 1, 2}, filter={"odd": True})) == [3, 1]
    assert ids(index.list(JANE, ids=iter(range(700)), order="oldest")) == list(range(700))
    assert index.list(JANE, ids=[]) == []
    assert index.list(Scope("acme", user="joe"), ids=[1, 2, 3]) == []
    assert len(index.list(JANE, filter={"n": {"$exists": True}})) == index.count(JANE) == 5000


def test_times_are_filtered_as_in_a_search(index: Index) -> None:
    index.upsert(1, "old", scope=JANE, created_at="2020-01-01")
    index.upsert(2, "new", scope=JANE, created_at="2026-01-01", metadata={"created_at": "1999-01-01"})
    assert ids(index.list(JANE, filter={"created_at": {"$gte": "2025-01-01"}})) == [2]


def test_expired_documents_are_not_listed(index: Index) -> None:
    index.upsert(1, "short", scope=JANE, ttl=timedelta(microseconds=1))
    index.upsert(2, "long", scope=JANE, ttl=60)
    assert ids(index.list(JANE)) == [2]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scope": "acme"}, TypeError, "scope: expected a scrubjay.Scope, got str"),
        ({"scope": None}, TypeError, "scope: expected a scrubjay.Scope, got NoneType"),
        ({"limit": -1}, ValueError, "limit: expected 0 or more, got -1"),
        ({"limit": 1.5}, TypeError, "limit: expected an int, got float"),
        ({"offset": True}, TypeError, "offset: expected an int, got bool"),
        ({"offset": None}, TypeError, "offset: expected an int, got NoneType"),
        ({"order": "best"}, ValueError, "order: expected 'newest' or 'oldest', got 'best'"),
        ({"filter": {"a": {"$like": 1}}}, ValueError, r"\$like"),
        ({"filter": 7}, TypeError, "filter"),
        ({"ids": [1]}, TypeError, "expected str like the ids of this"),
        ({"ids": 3}, TypeError, "iterable"),
        ({"ids": "a"}, TypeError, "ids: expected ids .* got str"),
    ],
)
def test_bad_arguments_are_named(
    index: Index, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    index.upsert("a", "text", scope=JANE)
    with pytest.raises(error, match=message):
        index.list(**{"scope": JANE, **arguments})


def test_an_empty_index_lists_nothing(index: Index) -> None:
    assert index.list(JANE) == index.list(JANE, filter={"a": 1}) == index.list(JANE, ids=["a"]) == []


def test_writes_to_the_engine_itself_are_listed() -> None:
    index = Index()
    Backend.of(index).engine.upsert_many(["a", "b"], ["one", "two"], scope=[JANE, ACME])
    Backend.of(index).engine.upsert("c", "three", scope=JANE)
    assert ids(index.list(JANE)) == ["c", "b", "a"]
    Backend.of(index).engine.delete_many(["a", "no such"], scope=JANE)
    Backend.of(index).engine.erase(Scope("acme", user="jane"))
    assert ids(index.list(JANE)) == ["b"]
    images = Backend.of(index).engine.native.save_partition(ACME)
    Backend.of(index).engine.erase(ACME, exact=True)
    assert ids(index.list(JANE)) == []
    assert Backend.of(index).engine.native.load_partition(ACME, images) == 1
    assert ids(index.list(JANE)) == ["b"]
    with pytest.raises(ValueError, match="texts"):
        Backend.of(index).engine.upsert_many(["d", "e"], ["one"], scope=JANE)
    assert ids(index.list(JANE)) == ["b"]


def test_a_listing_from_a_file_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, dim=2) as index:
        index.upsert("a", "text", scope=JANE, vector=[1.0, 2.0], metadata={"n": 1})
    with Index.open(path) as index:
        assert ids(index.list(JANE, filter={"n": 1})) == ["a"]
        assert index.admin.stats()["resident_documents"] == 0


def test_collections_are_listed_apart(index: Index) -> None:
    index.upsert("a", "text", scope=JANE)
    traces = index.collection("traces")
    traces.upsert("a", "trace", scope=JANE)
    assert [record.text for record in index.list(JANE)] == ["text"]
    assert [record.text for record in traces.list(JANE)] == ["trace"]


def test_a_listing_is_of_one_moment(index: Index) -> None:
    """Batches are seen whole: all documents of a listing are of the same round, in memory per exact scope."""
    n, stop = 300, threading.Event()

    def write(round: int) -> None:
        index.upsert_many(
            [
                {"id": i, "text": "text", "scope": (JANE, ACME)[i % 2], "metadata": {"round": round}}
                for i in range(n)
            ]
        )

    def rewrite() -> None:
        round = 0
        while not stop.is_set():
            round += 1
            write(round)

    write(0)
    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(30):
            listed = index.list(JANE)
            kept = index.list(JANE, filter={"round": {"$gt": -1}}, order="oldest")
            assert len(listed) == len(kept) == n
            if index.path is not None:
                assert len({(record.metadata or {})["round"] for record in listed}) == 1
                assert ids(kept) == list(range(n))
            for scope in (JANE, ACME):
                rounds = {(record.metadata or {})["round"] for record in listed if record.scope == scope}
                assert len(rounds) == 1
                assert [record.id for record in kept if record.scope == scope] == [
                    i for i in range(n) if (JANE, ACME)[i % 2] == scope
                ]
    finally:
        stop.set()
        writer.join()


def test_scopes_of_a_file_are_read_at_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(tmp_path / "a") as index:
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        lists = store.rows_in.__self__
        read = lists._rows_of

        def write(round: int) -> None:
            index.upsert_many(
                [
                    {"id": str(s), "text": "text", "scope": s, "metadata": {"round": round}}
                    for s in (ACME, JANE)
                ]
            )

        def read_late(key: int, scope: Scope, *arguments: Any) -> Iterator[Any]:
            if scope == JANE:  # the tenant's have been read
                writer = threading.Thread(target=write, args=(2,))
                writer.start()
                writer.join()
            yield from read(key, scope, *arguments)

        write(1)
        monkeypatch.setattr(lists, "_rows_of", read_late)
        assert [record.metadata for record in index.list(JANE)] == [{"round": 1}] * 2


class Model:
    """The obvious twin: a dictionary by scope and id, in order of writing."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Scope, int], int] = {}

    def upsert(self, id: int, scope: Scope, n: int) -> None:
        self.rows.pop((scope, id), None)
        self.rows[scope, id] = n

    def erase(self, scope: Scope, exact: bool) -> None:
        def agrees(known: Scope) -> bool:
            if exact:
                return known == scope
            return (
                known.tenant == scope.tenant
                and scope.user in (None, known.user)
                and scope.agent in (None, known.agent)
            )

        self.rows = {key: n for key, n in self.rows.items() if not agrees(key[0])}

    def listed(self, scope: Scope, exact: bool) -> list[tuple[Scope, int, int]]:
        def sees(known: Scope) -> bool:
            if exact:
                return known == scope
            return (
                known.tenant == scope.tenant
                and known.user in (None, scope.user)
                and known.agent in (None, scope.agent)
            )

        return [(known, id, n) for (known, id), n in self.rows.items() if sees(known)]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("upsert"),
            st.lists(
                st.tuples(st.integers(0, 6), st.sampled_from(SCOPES), st.integers(0, 3)),
                min_size=1,
                max_size=5,
            ),
        ),
        st.tuples(st.just("delete"), st.integers(0, 6), st.sampled_from(SCOPES)),
        st.tuples(st.just("erase"), st.sampled_from(SCOPES), st.booleans()),
        st.tuples(st.just("list"), st.sampled_from(SCOPES), st.booleans(), st.integers(0, 3)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", ["memory", "file"])
@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_listings_agree_with_a_model(kind: str, steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = Index() if kind == "memory" else Index.open(Path(folder) / "i.scrubjay", durability="normal")
        with index:
            model = Model()
            for step in steps:
                _take(index, model, step)
            _take(index, model, ("list", BOTH, False, 0))


def _take(index: Index, model: Model, step: tuple[Any, ...]) -> None:
    if step[0] == "upsert":
        rows = [{"id": id, "text": f"text {n}", "scope": s, "metadata": {"n": n}} for id, s, n in step[1]]
        assert index.upsert_many(rows) == len({(row["scope"], row["id"]) for row in rows})
        for id, scope, n in step[1]:
            model.upsert(id, scope, n)
    elif step[0] == "delete":
        _, id, scope = step
        assert index.delete(id, scope=scope) == (model.rows.pop((scope, id), None) is not None)
    elif step[0] == "erase":
        index.erase(step[1], exact=step[2])
        model.erase(step[1], step[2])
    else:
        _, scope, exact, bound = step
        expected = model.listed(scope, exact)
        got = index.list(scope, exact=exact, order="oldest")
        assert [(record.scope, record.id, (record.metadata or {})["n"]) for record in got] == expected
        assert got == index.list(scope, exact=exact)[::-1]
        kept = [(home, id) for home, id, n in expected if n >= bound]
        assert keys(index.list(scope, exact=exact, order="oldest", filter={"n": {"$gte": bound}})) == kept
        some = [(home, id) for home, id, _ in expected if id % 3 == bound]
        listed_ids = [id for id in range(7) if id % 3 == bound]
        assert keys(index.list(scope, exact=exact, order="oldest", ids=listed_ids)) == some
        assert (
            keys(index.list(scope, exact=exact, order="oldest", limit=2, offset=1))
            == [(home, id) for home, id, _ in expected][1:3]
        )
        if not exact:
            assert len(got) == index.count(scope)
