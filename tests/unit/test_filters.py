"""Filters apply in every call and after every kind of write, and report their errors."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Filter, Index, Query, Scope, filters
from scrubjay.backend import Backend
from scrubjay.documents import payload
from tests.reference import filters as oracle

ACME = Scope("acme")
KEYS = {"category": "keys"}


def filled(index: Index) -> Index:
    index.upsert(1, "The staging key", scope=ACME, vector=[1, 0], metadata={"category": "keys", "uses": 3})
    index.upsert(
        2, "The production key", scope=ACME, vector=[0, 1], metadata={"category": "keys", "uses": 30}
    )
    index.upsert(
        3, "The spare key", scope=ACME, vector=[1, 1], metadata={"category": "infra"}, created_at="2026-03-01"
    )
    index.upsert(4, "The forgotten key", scope=ACME, vector=[1, 2])
    return index


def found(index: Index, filter: Any = None, **options: Any) -> list[Any]:
    query = Query(**options)
    return sorted(
        hit.id for hit in index.search("key", vector=[1, 0], scope=ACME, filter=filter, query=query)
    )


def test_every_mode_and_call_is_filtered() -> None:
    index = filled(Index())
    for mode in ("hybrid", "lexical", "vector"):
        assert found(index, KEYS, mode=mode) == [1, 2]
        assert found(index, Filter(KEYS), mode=mode, exclude=[2]) == [1]
        assert found(index, {"category": "nothing"}, mode=mode) == []
    (hits,) = index.search_batch(["key"], scope=ACME, filter=KEYS)
    assert sorted(hit.id for hit in hits) == [1, 2]
    assert index.count(ACME, filter=KEYS) == 2
    assert index.count(ACME, ids=[1, 3, 99]) == 2
    assert index.count(ACME, filter={}) == index.count(ACME) == 4


def test_scores_are_those_of_the_unfiltered_search() -> None:
    index = filled(Index())
    everything = {
        hit.id: hit.score for hit in index.search("staging key", scope=ACME, query=Query(mode="lexical"))
    }
    for filter in (KEYS, {"category": "infra"}, {"uses": {"$lt": 10}}):
        for hit in index.search("staging key", scope=ACME, query=Query(mode="lexical"), filter=filter):
            assert hit.score == everything[hit.id]


def test_a_filter_follows_updates_deletes_and_compaction() -> None:
    index = filled(Index())
    index.upsert(1, "The staging key", scope=ACME, metadata={"category": "infra"})
    index.delete(2, scope=ACME)
    assert found(index, KEYS) == [] and found(index, {"category": "infra"}) == [1, 3]
    index.admin.compact()
    assert found(index, KEYS) == [] and found(index, {"category": "infra"}) == [1, 3]


def test_filters_survive_closing_with_images_and_without(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        filled(index)
        index.admin.compact()
    for drop_images in (False, True):
        with Index.open(path) as index:
            if drop_images:
                with Backend.of(index).engine.store.writing("testing") as transaction:  # type: ignore[union-attr]
                    transaction.connection.execute("DELETE FROM image")
                    transaction.commit()
            assert index.count(ACME, filter=KEYS) == 2
            assert found(index, KEYS) == [1, 2]
            assert found(index, {"created_at": {"$gte": "2026-01-01"}}) == [3]
            assert found(index, ids={1, 3, 99}) == [1, 3]
            with pytest.raises(TypeError, match="scope: expected"):
                index.count(filter=KEYS)


def test_conditions_on_times_compare_instants() -> None:
    index = Index()
    at = datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=1)))
    index.upsert(1, "key", scope=ACME, created_at=at, metadata={"seen": at, "day": "2026-03-01"})
    assert index.get(1, scope=ACME).metadata["seen"] == "2026-03-01T08:30:00+00:00"  # type: ignore[union-attr]
    for operand in (
        at,
        "2026-03-01T08:30:00Z",
        at.timestamp(),
        int(at.timestamp()),
        "2026-03-01T09:30+01:00",
    ):
        assert found(index, {"created_at": operand}) == [1], operand
        assert found(index, {"created_at": {"$lt": operand}}) == []
    assert found(index, {"seen": at, "day": {"$lte": at}}) == [1]
    assert found(index, {"seen": {"$gt": "2026-03-01T08"}}) == [1], "texts compare as texts"
    assert found(index, {"seen": {"$gt": 5}}) == []


def test_explain_reports_how_a_filter_was_applied() -> None:
    engine = Engine(dim=2)
    n = 500
    engine.upsert_many(
        list(range(n)),
        ["the key"] * n,
        scope=ACME,
        vectors=np.ones((n, 2)),
        payloads=[payload.encode({"n": i}, None) for i in range(n)],
    )
    rare = engine.search("key", vector=[1, 1], scope=ACME, filter={"n": {"$lt": 2}})
    assert (rare.admitted, rare.gathered, len(rare)) == (2, ("lexical", "vector"), 2)
    usual = engine.search("key", vector=[1, 1], scope=ACME, filter={"n": {"$gte": 2}})
    assert (usual.admitted, usual.gathered) == (n - 2, ())
    assert (rare.vector_work["originals"], usual.vector_work["originals"]) == (2, n)
    assert engine.search("key", scope=ACME).admitted == n


@pytest.mark.parametrize(
    "form", [set, list, tuple, iter, np.array, lambda ids: np.array(ids, dtype=np.uint16)]
)
def test_ids_and_exclude_accept_every_kind_of_set(form: Any) -> None:
    index = filled(Index())
    assert found(index, ids=form([1, 3])) == [1, 3]
    assert found(index, exclude=form([1, 3])) == [2, 4]
    assert found(index, ids=form([])) == []


def test_ids_and_exclude_accept_string_ids() -> None:
    index = Index()
    for id in ("a", "b", "c"):
        index.upsert(id, "key", scope=ACME)
    assert found(index, ids=["a", "z"], exclude={"b"}) == ["a"]
    assert found(index, ids=["a", "b"] * 50, exclude={"b"}) == ["a"]
    with pytest.raises(TypeError, match="ids: expected str like the ids of this index, got int"):
        found(index, ids=[1])


def test_pyroaring_bitmaps() -> None:
    pyroaring = pytest.importorskip("pyroaring")
    index = filled(Index())
    for kind in (pyroaring.BitMap, pyroaring.FrozenBitMap, pyroaring.BitMap64):
        assert found(index, ids=kind([1, 3, 2**31])) == [1, 3]
        assert found(index, exclude=kind([1, 3])) == [2, 4]
        assert found(index, ids=kind(range(1, 100_000))) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"filter": "keys"},
            TypeError,
            r"filter: expected a mapping of fields to conditions, got str 'keys'",
        ),
        ({"filter": {1: 2}}, TypeError, r"filter: expected str keys, got int 1"),
        (
            {"filter": {"$nor": []}},
            ValueError,
            r"filter: expected a field, \$and, \$or or \$not, got '\$nor'",
        ),
        ({"filter": {"a": {"$above": 1}}}, ValueError, r"a: expected an operator .*, got '\$above'"),
        ({"filter": {"a": {}}}, ValueError, r"a: expected a value or operators .*, got \{\}"),
        (
            {"filter": {"a": {"$gt": [1]}}},
            TypeError,
            r"a\.\$gt: expected a str, number, bool or datetime, got list",
        ),
        (
            {"filter": {"a": {"$in": [1, None]}}},
            TypeError,
            r"a\.\$in\[1\]: expected .* got NoneType None; .*\$exists",
        ),
        ({"filter": {"a": {"$in": "ab"}}}, TypeError, r"a\.\$in: expected a list of values, got str 'ab'"),
        (
            {"filter": {"a": 2**64}},
            ValueError,
            r"a\.\$eq: expected an int of 64 bits, got 18446744073709551616",
        ),
        ({"filter": {"a": {"$contains": 1}}}, TypeError, r"a\.\$contains: expected a str, got int 1"),
        ({"filter": {"a": {"$exists": 1}}}, TypeError, r"a\.\$exists: expected a bool, got int 1"),
        (
            {"filter": {"$or": [{"a": {"$gt": True}}]}},
            TypeError,
            r"a\.\$gt: expected a number, str or datetime",
        ),
        (
            {"filter": {"$or": [{"a": 1}, 5]}},
            TypeError,
            r"\$or\[1\]: expected a mapping of fields .* got int 5",
        ),
        ({"filter": {"$or": {"a": 1}}}, TypeError, r"\$or: expected a list of filters, got dict"),
        (
            {"filter": {"created_at": "soon"}},
            ValueError,
            r"created_at\.\$eq: expected an ISO 8601 time, got 'soon'",
        ),
        # Larger than any float: it used to be read as one second before 1970.
        (
            {"filter": {"created_at": {"$gt": 10**400}}},
            ValueError,
            r"created_at\.\$gt: expected seconds since 1970",
        ),
        # A lone surrogate in a name: building the message used to fail with another error.
        ({"filter": {"\ud800": {"$near": 1}}}, ValueError, r"expected an operator .* got '\$near'"),
        ({"filter": {"\ud800": {"$in": 1}}}, TypeError, r"\$in: expected a list of values, got int 1"),
        (
            {"filter": {"a\0b": {"$in": 1}}},
            TypeError,
            r"^a\\x00b\.\$in: expected a list of values, got int 1",
        ),
        ({"ids": 5}, TypeError, r"ids: expected ids .* got int"),
        ({"ids": "abc"}, TypeError, r"ids: expected ids .* got str"),
        (
            {"exclude": [1, "a"]},
            TypeError,
            r"exclude\[1\]: expected ids of one kind, got str after int",
        ),
        ({"ids": [1.5]}, TypeError, r"ids\[0\]: expected a str or an int, got float 1\.5"),
        (
            {"ids": np.ones((2, 2), dtype=int)},
            ValueError,
            r"ids: expected a one-dimensional array, got shape \(2, 2\)",
        ),
    ],
)
def test_errors_of_filters_name_the_field(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    index = filled(Index())
    with pytest.raises(error, match=message) as raised:
        found(index, **options)
    assert raised.type is error  # UnicodeDecodeError is a ValueError, but does not name the filter


def test_a_filter_that_changes_while_it_is_read() -> None:
    conditions: dict[str, Any] = {"a": 1}

    class Changing:
        """An int that changes the filter containing it when it is read."""

        def __index__(self) -> int:
            conditions.clear()
            conditions.update({str(n): n for n in range(100)})
            return 7

    conditions["b"] = {"$in": [Changing(), 2]}
    assert "Filter" in repr(Filter(conditions))


def test_deep_filters_are_refused_and_not_followed() -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(10_000):
        deep = {"$not": deep}
    with pytest.raises(ValueError, match="at most 60 levels"):
        Filter(deep)


def test_both_and_visible_to_combine_filters() -> None:
    index = filled(Index())
    assert found(index, filters.both(KEYS, None, {"uses": {"$gt": 5}})) == [2]
    assert found(index, filters.both()) == [1, 2, 3, 4]
    for wrong in (None, ["jane", 1], 3):
        with pytest.raises(TypeError, match=r"user: expected a str or several, got (NoneType|int)"):
            filters.visible_to(wrong)  # type: ignore[arg-type]


def test_a_set_of_users_sees_what_one_of_them_sees() -> None:
    index, acme = Index(), Scope("acme")
    users = [f"u{number}" for number in range(40)]
    for number, owner in enumerate(users):
        shared = [users[(number + step) % 40] for step in range(1, number % 4)]
        metadata = {"owner": owner, "shared_with": shared, "is_public": number == 7}
        index.upsert(number, "plan", scope=acme, metadata=metadata)

    def seen(by: str | Iterable[str]) -> set[Any]:
        return {hit.id for hit in index.search("plan", scope=acme, k=100, filter=filters.visible_to(by))}

    assert seen([]) == {7}
    for several in (users[:1], users[3:5], set(users[5:25]), tuple(users), iter(users[30:])):
        team = list(several)
        assert seen(team) == set().union(*(seen(user) for user in team))
    assert seen(frozenset(users)) == set(range(40))


def test_a_date_is_its_midnight_in_utc() -> None:
    index, acme = Index(), Scope("acme")
    for day in (1, 2, 3):
        index.upsert(
            day, "key", scope=acme, created_at=date(2026, 3, day), metadata={"due": date(2026, 3, day)}
        )
    for field in ("created_at", "due"):
        assert index.count(acme, filter={field: date(2026, 3, 2)}) == 1
        assert index.count(acme, filter={field: {"$gte": date(2026, 3, 2)}}) == 2
        assert index.count(acme, filter={field: {"$in": [date(2026, 3, 1), date(2026, 3, 3)]}}) == 2
        assert (
            index.count(acme, filter={field: {"$gt": datetime(2026, 3, 2), "$lt": date(9999, 12, 31)}}) == 1
        )


def test_contains_refuses_a_number_and_says_that_texts_match() -> None:
    with pytest.raises(
        TypeError, match=r"nums\.\$contains: expected a str, got int 2; of a list its texts are found"
    ):
        Index().count(Scope("acme"), filter={"nums": {"$contains": 2}})


@pytest.mark.parametrize("n", [9, 500])
@pytest.mark.parametrize("sparse", [False, True])
def test_in_of_many_values_is_what_the_oracle_says(n: int, sparse: bool) -> None:
    drawn = random.Random(n + sparse)

    def value() -> Any:
        few = drawn.randrange(-n, n)
        most = drawn.choice((2**63 - 1, -(2**63), 2**53 + 1, float(2**53), 1e300, -0.0))
        return drawn.choice((few, few, few, few + 0.5, float(few), f"s{few}", few > 0, most))

    all_metadata = [{"other": id} if sparse and id % 40 else {"v": value()} for id in range(600)]
    held = [oracle.attributes_of(payload.encode(metadata, None)) for metadata in all_metadata]
    index = Index()
    records = [{"id": id, "text": "key", "metadata": metadata} for id, metadata in enumerate(all_metadata)]
    index.upsert_many(records, scope=ACME)
    for _ in range(2):
        for kinds in ((int,), (int, float), (str,), (int, float, str, bool)):
            values = [one for one in (value() for _ in range(3 * n)) if type(one) in kinds][:n]
            for filter in ({"v": {"$in": values}}, {"v": {"$nin": values}}):
                expected = [id for id, attributes in enumerate(held) if oracle.admits(filter, attributes)]
                ids = index.search("key", scope=ACME, k=600, filter=filter, query=Query(mode="lexical")).ids
                assert sorted(ids) == expected


@pytest.mark.parametrize("step", [1, 61_000_000, 0.25, 1e-3])
def test_in_of_many_numbers_over_blocks_of_digests(step: float) -> None:
    """Numbers that zone maps distinguish (a step of 1), and numbers that share one; some documents are in no full
    block."""
    drawn, engine, n = random.Random(7), Engine(), 2_700
    held = [drawn.randrange(1_000) * step for _ in range(n)]
    engine.upsert_many(
        list(range(n)), ["key"] * n, scope=ACME, payloads=[payload.encode({"v": v}, None) for v in held]
    )
    near = [value + type(value)(step) for value in held[:200]]
    for values in (
        [9 * step] * 20,
        sorted(set(held))[::2],
        near,
        [float(v) for v in near],
        [v + 1 for v in held],
    ):
        expected = [id for id, value in enumerate(held) if value in set(values)]
        ids = engine.search("key", scope=ACME, k=n, filter={"v": {"$in": values}}).ids.tolist()
        assert sorted(ids) == expected
        assert engine.count(ACME, filter={"v": {"$nin": values}}) == n - len(expected)


def test_in_of_texts_in_a_row_and_out_of_order() -> None:
    """Codes are assigned in the order of writing: values in order of codes, in reverse, with gaps, few and many."""
    engine, n = Engine(), 1_500
    held = [f"s{id % 300}" for id in range(n)]
    engine.upsert_many(
        list(range(n)), ["key"] * n, scope=ACME, payloads=[payload.encode({"v": v}, None) for v in held]
    )
    for numbers in (
        range(20, 40),
        range(40, 20, -1),
        range(250),
        range(249, -1, -1),
        range(0, 300, 2),
        range(0, 40, 3),
    ):
        values = [f"s{number}" for number in numbers]
        expected = [id for id, value in enumerate(held) if value in set(values)]
        ids = engine.search("key", scope=ACME, k=n, filter={"v": {"$in": values}}).ids.tolist()
        assert sorted(ids) == expected
