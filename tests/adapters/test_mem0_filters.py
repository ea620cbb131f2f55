"""mem0's filters, compared with a slow evaluation of each payload and with mem0's default store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mem0")

from scrubjay.adapters.mem0 import ScrubjayVectorStore
from scrubjay.adapters.mem0.filters import confined_to
from scrubjay.documents import payload as payloads

FIELDS = ["data", "city", "tags", "n", "$odd", "created_at", "expires_at", "user_id", ""]
TEXTS = [
    "York",
    "New York",
    "new york",
    "",
    "*",
    "a%_\\",
    "Straße",
    "STRASSE",
    "2026-03-01",
    "2026-03-01T10:00:00Z",
    "1",
    "jane",
]
NUMBERS = [0, 1, 1.0, -2, 2.5, 2**40]
texts = st.sampled_from(TEXTS)
scalars = st.one_of(texts, st.sampled_from(NUMBERS), st.booleans())
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.none(), st.just({"a": 1}))


@st.composite
def payloads_of_mem0(draw: st.DrawFn) -> dict[str, Any]:
    chosen = draw(st.dictionaries(st.sampled_from(FIELDS), values, max_size=5))
    for field, kind in (("user_id", str), ("data", str)):
        if not isinstance(chosen.get(field), kind):
            chosen.pop(field, None)
    return chosen


def conditions(
    fields: list[str] = FIELDS, values: st.SearchStrategy[Any] = scalars
) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.lists(values, max_size=3)
    bounds = st.one_of(texts, st.sampled_from(NUMBERS))
    operators = {
        "eq": values, "ne": values, "in": lists, "nin": lists, "gt": bounds, "gte": bounds, "lt": bounds, "lte": bounds,
        "contains": texts, "icontains": texts,
    }  # fmt: skip
    operations = st.one_of(*(st.fixed_dictionaries({name: operand}) for name, operand in operators.items()))
    two = st.tuples(operations, operations).map(lambda pair: {**pair[0], **pair[1]})
    condition = st.one_of(values, lists, st.just("*"), operations, two)
    return st.dictionaries(st.sampled_from(fields), condition, max_size=2)


def trees(leaves: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, min_size=1, max_size=3)
        logical = st.sampled_from(["AND", "OR", "NOT", "$and", "$or", "$not"])
        return st.tuples(leaves, st.dictionaries(logical, lists, max_size=2)).map(
            lambda pair: {**pair[0], **pair[1]}
        )

    return st.recursive(leaves, grow, max_leaves=6)


# ---------------------------------------------------------------------- the slow reading


def admits(filters: dict[str, Any], payload: dict[str, Any]) -> bool:
    return all(entry_holds(key, condition, payload) for key, condition in filters.items())


def entry_holds(key: str, condition: Any, payload: dict[str, Any]) -> bool:
    if key in ("AND", "$and"):
        return all(admits(part, payload) for part in condition)
    if key in ("OR", "$or"):
        return any(admits(part, payload) for part in condition)
    if key in ("NOT", "$not"):
        return not any(admits(part, payload) for part in condition)
    value = payload.get(key)
    if condition == "*":
        return value is not None
    if not isinstance(condition, dict):
        condition = {"in" if isinstance(condition, list) else "eq": condition}
    return all(operation_holds(operator, operand, value, key) for operator, operand in condition.items())


def operation_holds(operator: str, operand: Any, value: Any, key: str) -> bool:
    elements = value if isinstance(value, list) else [value]
    if operator in ("eq", "in"):
        return any(
            same(element, one) for element in elements for one in (operand if operator == "in" else [operand])
        )
    if operator in ("ne", "nin"):
        return value is not None and not operation_holds(
            {"ne": "eq", "nin": "in"}[operator], operand, value, key
        )
    if operator in ("contains", "icontains"):
        fold: Callable[[str], str] = str.casefold if operator == "icontains" else str
        return any(isinstance(element, str) and fold(operand) in fold(element) for element in elements)
    left, right = (value, operand)
    if time_of(operand) is not None:
        left, right = time_of(value), time_of(operand)
    if kind(left) != kind(right) or kind(left) is None:
        return False
    return bool(
        {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[operator]
    )


def kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    for name, types in (("number", (int, float)), ("text", str), ("time", datetime)):
        if isinstance(value, types):  # type: ignore[arg-type]
            return name
    return None


def same(value: Any, one: Any) -> bool:
    return kind(value) == kind(one) is not None and bool(value == one)


def time_of(value: Any) -> datetime | None:
    try:
        return payloads.to_utc(value) if isinstance(value, str) else None
    except ValueError:
        return None


@given(st.lists(payloads_of_mem0(), max_size=8), trees(conditions()))
def test_a_filter_admits_the_documents_that_match(
    written: list[dict[str, Any]], filters: dict[str, Any]
) -> None:
    store = ScrubjayVectorStore()
    ids = [str(number) for number in range(len(written))]
    store.insert([[1.0, 0.5]] * len(written), written, ids)
    expected = {id for id, payload in zip(ids, written, strict=True) if admits(filters, payload)}
    listed = store.list(filters)[0]
    assert {one.id for one in listed} == expected
    assert {one.id: one.payload for one in listed} == {id: written[int(id)] for id in expected}
    found = store.search("nothing of this", [1.0, 0.4], top_k=100, filters=filters)
    assert {one.id for one in found} == expected
    assert all(0.0 <= one.score <= 1.0 for one in found)  # type: ignore[operator]
    assert {one.id: one.payload for one in found} == {id: written[int(id)] for id in expected}


@given(trees(conditions(["user_id", "n"], texts)))
def test_a_filter_admits_only_users_it_is_confined_to(filters: dict[str, Any]) -> None:
    users = confined_to(filters, "user_id")
    for user in TEXTS:
        for n in ("York", ""):
            if users is not None and admits(filters, {"user_id": user, "n": n}):
                assert user in users


@pytest.mark.parametrize(
    ("filters", "error", "named"),
    [
        ({"n": None}, TypeError, "n.eq.*NoneType"),
        ({"user_id": None}, TypeError, "user_id"),
        ({"n": {"ne": None}}, TypeError, "n.ne"),
        ({"n": {"in": ["a", None]}}, TypeError, "n.in"),
        ({"n": {"in": "abc"}}, TypeError, "n.in.*list"),
        ({"n": {}}, ValueError, "n: .*operators"),
        ({"n": {"$eq": 1}}, ValueError, "eq, ne.*'\\$eq'"),
        ({"n": {"gt": True}}, TypeError, "n.gt"),
        ({"n": {"gt": [1]}}, TypeError, "n.gt"),
        ({"n": {"gt": float("nan")}}, ValueError, "n.gt.*nan"),
        ({"n": {"contains": 5}}, TypeError, "n.contains.*str"),
        ({"OR": []}, ValueError, "OR.*empty"),
        ({"NOT": []}, ValueError, "NOT"),
        ({"OR": {"a": 1}}, TypeError, "OR.*list"),
        ({"AND": ["a"]}, TypeError, r"AND\[0\]"),
        ({1: 2}, TypeError, "str keys"),
        ([("n", 1)], TypeError, "mapping"),
        ("n = 1 OR 1 = 1", TypeError, "mapping"),
    ],
)
def test_a_wrong_filter_is_named_and_finds_nothing(filters: Any, error: type[Exception], named: str) -> None:
    store = ScrubjayVectorStore()
    store.insert([[1.0, 0.0]], [{"data": "tea", "user_id": "jane"}])
    for call in (store.list, lambda filters: store.search("tea", [1.0, 0.0], filters=filters)):
        with pytest.raises(error, match=named):
            call(filters)
    with pytest.raises(error, match=named):
        store.keyword_search("tea", filters=filters)


def test_filters_that_are_nested_too_deeply() -> None:
    filters: dict[str, Any] = {"n": 1}
    for _ in range(10_000):
        filters = {"AND": [filters]}
    store = ScrubjayVectorStore()
    with pytest.raises(ValueError, match="levels"):
        store.list(filters)


def test_a_star_under_an_operator_is_a_text() -> None:
    """mem0's wildcard is the bare value; a user named * can still be named."""
    store = ScrubjayVectorStore("memories")
    users = ["*", "jane", "j*"]
    store.insert([None] * 3, [{"data": "tea", "user_id": user} for user in users], ["m1", "m2", "m3"])

    def found(filters: dict[str, Any]) -> list[str]:
        return sorted(one.payload["user_id"] for one in store.search("tea", None, 10, filters))

    assert found({"user_id": "*"}) == sorted(users)
    assert found({"user_id": {"eq": "*"}}) == found({"user_id": {"in": ["*"]}}) == ["*"]
    assert confined_to({"user_id": {"eq": "*"}}, "user_id") == {"*"}
    assert confined_to({"user_id": "*"}, "user_id") is None
