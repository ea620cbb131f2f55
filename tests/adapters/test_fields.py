"""Conditions on a field admit the same values as Python's own comparisons, natively or not."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Index, Record, Scope
from scrubjay.backend import Documents, Field, Node, Not, fields_equal
from scrubjay.backend.conditions import native_part

ACME = Scope("acme")
NAMES = ["f", "created_at", "expires_at", "$odd"]
TEXTS = st.sampled_from(["York", "New York", "", "2026-03-01", "1"])
NUMBERS = st.sampled_from([0, 1, -1, 1.0, 2.5, 2**53 + 1, 2**63 - 1, 2**63, -(2**70), 1e300]) | st.booleans()
VALUES = st.none() | TEXTS | NUMBERS | st.lists(TEXTS | NUMBERS, max_size=2)
ROWS = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUES)), max_size=6)
ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def admitted(rows: list[dict[str, Any]], node: Node) -> list[int]:
    index = Index()
    index.upsert_many(
        [{"id": f"{n}", "text": "x", "metadata": row} for n, row in enumerate(rows)],
        scope=ACME,
        progress=False,
    )
    found = Documents(index).list(scope=ACME, filter=node)
    return sorted(int(str(record.id)) for record in found)


def expected(rows: list[dict[str, Any]], holds: Any) -> list[int]:
    return [n for n, row in enumerate(rows) if holds(row)]


@given(ROWS, st.sampled_from(NAMES), st.lists(VALUES, max_size=3))
@example([{"f": ["York"]}, {"f": "York"}, {"f": ["York", "Ely"]}], "f", ["York"])
@example([{"f": True}, {"f": 1.0}, {"f": 0}], "f", [True])
def test_one_of_admits_rows_with_a_listed_value(
    rows: list[dict[str, Any]], name: str, values: list[Any]
) -> None:
    def holds(row: dict[str, Any]) -> bool:
        return row.get(name) in values

    assert admitted(rows, Field(name).one_of(values)) == expected(rows, holds)
    assert admitted(rows, Not(Field(name).one_of(values))) == expected(rows, lambda row: not holds(row))


@given(ROWS, st.sampled_from(NAMES), st.sampled_from([*ORDERS]), TEXTS | NUMBERS)
@example([{"f": True}, {"f": 0.5}, {"f": "1"}], "f", "$lte", True)
def test_comparisons_admit_the_rows_that_satisfy_them(
    rows: list[dict[str, Any]], name: str, order: str, bound: Any
) -> None:
    kind = str if isinstance(bound, str) else (int, float)

    def holds(row: dict[str, Any]) -> bool:
        value = row.get(name)
        # The index does not recognise an integer beyond 64 bits as a number.
        native = name == "f" and not (isinstance(bound, int) and not -(2**63) <= bound < 2**63)
        known = not native or not isinstance(value, int) or -(2**63) <= value < 2**63
        return isinstance(value, kind) and known and bool(ORDERS[order](value, bound))

    assert admitted(rows, Field(name).order(order, bound)) == expected(rows, holds)


@given(ROWS, st.sampled_from(NAMES))
def test_present_admits_rows_with_a_value(rows: list[dict[str, Any]], name: str) -> None:
    assert admitted(rows, Field(name).present()) == expected(rows, lambda row: row.get(name) is not None)


def test_values_of_texts_and_numbers_are_compared_natively() -> None:
    for node in (
        Field("f").one_of(["a", "b", 1, True, None]),
        Field("f").order("$lt", 3),
        Field("f").order("$gt", float("-inf")),
        Field("f").present(),
    ):
        assert native_part(node) is not None
    assert native_part(Field("created_at").one_of(["a"])) is None


def test_a_custom_accessor_supplies_the_field_values() -> None:
    def text_of(record: Record) -> dict[str, Any]:
        return {"$text": record.text}

    assert admitted([{}, {}], Field("$text", text_of).one_of(["x"])) == [0, 1]


def test_names_of_another_type_are_refused() -> None:
    assert admitted([{"a": 1, "b": "x"}, {"a": 1}], fields_equal({"a": True, "b": "x"}, "filters")) == [0]
    with pytest.raises(TypeError, match="filters: expected keys of type str, got int"):
        fields_equal({1: 2}, "filters")


def test_an_unknown_operator_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^operator: expected one of \$gt, \$gte, \$lt, \$lte, got '\$eq'$"):
        Field("f").order("$eq", 1)
