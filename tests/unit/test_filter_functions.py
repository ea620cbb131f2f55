"""A function in a filter is one more condition, evaluated before ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Index, Memory, Query, Record, Retriever, Scope
from scrubjay.fusion import RRF
from scrubjay.memory import DefaultJudge, FactCandidate

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")


def fill(index: Index) -> Index:
    for number in range(40):
        scope = (ACME, JANE, JOE)[number % 3]
        text = f"oak {'jay ' * (number % 4)}number {number}"
        index.upsert(
            f"m{number // 2}",
            text,
            scope=scope,
            vector=[1.0, number / 10],
            metadata={"n": number, "kind": "even" if number % 2 == 0 else "odd"},
        )
    return index


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    opened = (
        Index() if request.param == "memory" else Index.open(tmp_path / "a.scrubjay", durability="normal")
    )
    with opened:
        yield fill(opened)


def found(hits: Any) -> list[Any]:
    return [(hit.scope, hit.id, hit.score) for hit in hits]


def is_third(record: Record) -> bool:
    return record.metadata["n"] % 3 == 1 or record.metadata["n"] > 30


NATIVE = {"n": {"$in": [n for n in range(40) if n % 3 == 1 or n > 30]}}
FORMS: list[tuple[Any, Any]] = [
    (is_third, NATIVE),
    ({"$where": is_third}, NATIVE),
    ({"kind": "odd", "$where": is_third}, {"$and": [NATIVE, {"kind": "odd"}]}),
    ({"$and": [{"kind": "odd"}, is_third]}, {"$and": [NATIVE, {"kind": "odd"}]}),
    ({"$and": [{"kind": "odd", "$where": is_third}, {"n": {"$lt": 20}}]},
     {"$and": [NATIVE, {"kind": "odd"}, {"n": {"$lt": 20}}]}),
    (lambda record: False, {"n": -1}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "native"), FORMS)
@pytest.mark.parametrize("scope", [JANE, ACME, [JANE, JOE]])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_a_search_finds_what_a_native_filter_would(
    index: Index, asked: Any, native: Any, scope: Any, mode: Any
) -> None:
    query = Query(RRF(), mode=mode)
    options: dict[str, Any] = {"scope": scope, "k": 100, "vector": [0.3, 1.0], "query": query}
    assert found(index.search("oak jay", filter=asked, **options)) == found(
        index.search("oak jay", filter=native, **options)
    )


@pytest.mark.parametrize(("asked", "native"), FORMS)
def test_batches_listings_and_counts_do(index: Index, asked: Any, native: Any) -> None:
    texts = ["oak", "jay"]
    for scope in (JANE, [JANE, JOE]):
        by_function = index.search_batch(texts, scope=scope, filter=asked, k=50)
        assert list(map(found, by_function)) == list(
            map(found, index.search_batch(texts, scope=scope, filter=native, k=50))
        )
    for page in ({}, {"limit": 3}, {"limit": 2, "offset": 1, "order": "oldest"}, {"exact": True}):
        assert index.list(JANE, filter=asked, **page) == index.list(JANE, filter=native, **page)
    for more in ({}, {"ids": ["m1", "m2", "m20", "m16"]}, {"exclude": ["m1"]}):
        assert index.count(JANE, filter=asked, **more) == index.count(JANE, filter=native, **more)


@given(st.sets(st.integers(0, 39)), st.sets(st.sampled_from([f"m{n}" for n in range(20)])), st.booleans())
def test_ids_of_the_query_count_too(numbers: set[int], ids: set[str], by_key: bool) -> None:
    index = fill(Index())
    named: Any = [(JANE, id) for id in ids] if by_key else ids
    query = Query(RRF(), ids=named)
    asked = index.search(
        "oak", scope=JANE, k=50, query=query, filter=lambda record: record.metadata["n"] in numbers
    )
    native = index.search("oak", scope=JANE, k=50, query=query, filter={"n": {"$in": list(numbers)}})
    assert found(asked) == found(native)


def test_one_id_in_two_scopes_is_two_memories(index: Index) -> None:
    index.upsert("twin", "oak of the tenant", scope=ACME, metadata={"n": 1})
    index.upsert("twin", "oak of jane", scope=JANE, metadata={"n": 2})
    hits = index.search("oak", scope=JANE, k=50, filter=lambda record: record.metadata["n"] == 2)
    assert [hit.text for hit in hits if hit.id == "twin"] == ["oak of jane"]


def test_the_filter_function_gets_visible_records_that_pass_the_rest(index: Index) -> None:
    seen: list[Record] = []
    index.search("oak", scope=JANE, filter={"kind": "odd", "$where": lambda record: seen.append(record)})
    assert {record.scope for record in seen} == {ACME, JANE} and len(seen) == len(
        {(r.scope, r.id) for r in seen}
    )
    assert {record.metadata["kind"] for record in seen} == {"odd"}
    assert all(record.text and record.vector is None for record in seen)


def test_errors_of_the_filter_function_are_raised(index: Index) -> None:
    def fails(record: Record) -> bool:
        raise LookupError(record.id)

    for call in (index.search, index.search_batch):
        with pytest.raises(LookupError):
            call(["oak"] if call == index.search_batch else "oak", scope=JANE, filter=fails)  # type: ignore[operator]
    assert index.count(JANE) > 0


def test_async_and_a_retriever_and_a_view_take_it(index: Index) -> None:
    async def asked() -> Any:
        return await index.asearch("oak", scope=JANE, k=50, filter=is_third)

    wanted = found(index.search("oak", scope=JANE, k=50, filter=NATIVE))
    assert found(asyncio.run(asked())) == wanted
    assert found(index.scope("acme", user="jane").search("oak", k=50, filter=is_third)) == wanted
    retriever = Retriever(index)
    for _ in range(2):  # nothing is cached
        retrieved = retriever.search("oak", scope=JANE, k=50, filter=is_third)
        assert [(hit.scope, hit.id) for hit in retrieved] == [
            one[:2] for one in wanted
        ] and not retrieved.cached


def test_a_recall_takes_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", judge=DefaultJudge(), durability="normal") as memory:
        for number in range(6):
            memory.propose(
                FactCandidate(f"Jane has oak {number}", metadata={"n": number}), scope=JANE, source="r"
            )
        found = memory.recall("oak", JANE, filter={"$where": lambda record: record.metadata["n"] % 2})
        assert sorted(found.texts) == ["Jane has oak 1", "Jane has oak 3", "Jane has oak 5"]
        faded = memory.recall("oak", JANE, filter=lambda record: record.metadata["n"] > 4)
        assert faded.texts == ["Jane has oak 5"]


@pytest.mark.parametrize("wrong", [{"$where": 3}, {"$where": None}, {"n": 1, "$where": "n > 1"}])
def test_a_filter_that_is_not_a_function_is_refused(index: Index, wrong: Any) -> None:
    for call in (index.count, index.list):
        with pytest.raises(TypeError, match=r"\$where: expected a function of a record"):
            call(JANE, filter=wrong)  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"\$where: expected a function of a record"):
        index.search("oak", scope=JANE, filter=wrong)


def test_malformed_and_filters_and_ids_are_named(index: Index) -> None:
    with pytest.raises((TypeError, ValueError), match=r"\$and"):
        index.search("oak", scope=JANE, filter={"$and": 3, "$where": is_third})
    for wrong in ((JANE, "m1", 3), ("jane", "m1")):
        with pytest.raises(TypeError, match="ids: expected ids and pairs"):
            index.list(JANE, ids=[wrong])
    with pytest.raises(TypeError, match=r"^ids: ids\[0\]: expected str like the ids"):
        index.search("oak", scope=JANE, query=Query(ids=[(JANE, 1)]))


@pytest.mark.parametrize("filter", [is_third, {"$where": is_third}, {"$or": [{"$where": is_third}]}])
def test_calls_that_take_no_filter_function_refuse_one(index: Index, filter: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"filter|where"):
        index.scroll(scope=JANE, filter=filter)
    with pytest.raises((TypeError, ValueError), match=r"filter|where"):
        index.delete_many(filter=filter, scope=JANE)
    with pytest.raises((TypeError, ValueError), match=r"filter|where"):
        index.values("n", scope=JANE, filter=filter)
    if isinstance(filter, dict) and "$or" in filter:
        with pytest.raises(ValueError, match="where"):
            index.search("oak", scope=JANE, filter=filter)
