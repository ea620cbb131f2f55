"""LangGraph's store compared with the stock one in memory: random operations, equal results where semantics agree.

Intended differences are removed before the comparison: the order of listings (newest first here), times (an update
keeps `created_at` here), and namespaces without items (listed there).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from scrubjay import Query
from scrubjay.adapters.langgraph import ScrubjayStore, conditions
from scrubjay.backend import Native
from tests.adapters.test_langgraph import letters

NAMESPACES = st.sampled_from(
    [("a",), ("a", "b"), ("a", "bc"), ("a", "b", "c"), ("ab",), ("b", "c"), ("*",), ("a", "*")]
)
PREFIXES = st.sampled_from(
    [(), ("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b",), ("*",), ("a", "*"), ("z",)]
)
NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0, 2.5, 1e300, 2**53, -(2**53)]), st.booleans()
)
SCALARS = st.one_of(
    NUMBERS, st.sampled_from(["", "a", "b", "1", "2.5", " 3 ", "x" * 300, "x" * 299 + "y"]), st.none()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)
    ),
    max_leaves=4,
)
ITEMS = st.fixed_dictionaries(
    {"text": st.text("abc ", max_size=6)}, optional={"n": VALUES, "m": VALUES, "d.e": SCALARS}
)
ORDERED = st.tuples(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.one_of(NUMBERS, st.sampled_from(["1", "-2"]))
)
COMPARED = st.tuples(st.sampled_from(["$eq", "$ne"]), VALUES)
CONDITIONS = st.one_of(VALUES, st.one_of(ORDERED, COMPARED).map(lambda pair: {pair[0]: pair[1]}))
FILTERS = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(["n", "m", "text", "d.e", "absent"]), CONDITIONS, max_size=2)
)
PATHS = st.lists(st.sampled_from(["*", "a", "b", "c"]), min_size=1, max_size=3).map(tuple)
QUERIES = st.one_of(st.none(), st.text("abc", min_size=1, max_size=4))
OPS = st.one_of(
    st.builds(PutOp, NAMESPACES, st.sampled_from("klm"), st.one_of(ITEMS, st.none()),
              st.sampled_from([None, None, None, False, ["n"], ["text", "m"], ["m[*].x"]]), st.none()),
    st.builds(GetOp, NAMESPACES, st.sampled_from("klm")),
    st.builds(SearchOp, PREFIXES, FILTERS, st.just(100), st.just(0), QUERIES),
    st.builds(
        ListNamespacesOp,
        st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS), max_size=2).map(tuple),
        st.one_of(st.none(), st.integers(1, 3)), st.integers(0, 4), st.integers(0, 2),
    ),
)  # fmt: skip
BATCHES = st.lists(st.lists(OPS, max_size=6), max_size=6)


class Stock(InMemoryStore):
    """The stock store without properties that prevent a comparison."""

    def batch(self, ops: Any) -> Any:
        self.tidy()  # looking up an item creates an empty namespace
        return super().batch(ops)

    def tidy(self) -> None:
        for name in [name for name, items in self._data.items() if not items]:
            del self._data[name]

    def _extract_texts(self, put_ops: Any) -> Any:
        """The stock store embeds empty texts, which are left out here because many models refuse them; and it keeps the
        texts of an item's previous value, which are removed here."""
        for namespace, key in put_ops:
            self._vectors[namespace].pop(key, None)
        found = super()._extract_texts(put_ops)
        found.pop("", None)
        return found

    def _insertinmem_store(self, to_embed: Any, embeddings: Any) -> None:
        """The original fails if two texts of a batch are equal."""
        for embedding, places in zip(embeddings, to_embed.values(), strict=True):
            for namespace, key, path in places:
                self._vectors[namespace][key][path] = embedding


def stock_admits(value: dict[str, Any], filter: dict[str, Any]) -> bool:
    """Return the stock store's answer for one item; False if it raises for a value that is not a number."""
    stock = Stock()
    stock.put(("a",), "k", value)
    try:
        return len(stock.search(("a",), filter=filter)) == 1
    except (TypeError, ValueError, OverflowError):
        return False


@given(value=ITEMS, filter=FILTERS)
@example(value={"n": [1, {"x": True}]}, filter={"n": [1.0, {"x": 1}]})
@example(value={"n": {"x": 1, "y": 2}}, filter={"n": {"x": {"$gt": 0}}})
@example(value={"n": 2**53 + 1}, filter={"n": float(2**53)})
@example(value={"n": "1"}, filter={"n": 1})
@example(value={"n": {"x": None}}, filter={"n": {"$eq": {}}})
@example(value={"n": ["1"]}, filter={"n": [1]})
@example(value={"n": [1, 2.0, [True]]}, filter={"n": [1.0, 2, [1]]})
@example(value={"n": {"x": 1}}, filter={"n": {"$eq": {"x": True}}})
@settings(max_examples=300, deadline=None)
def test_a_filter_admits_what_the_stock_store_admits(
    value: dict[str, Any], filter: dict[str, Any] | None
) -> None:
    if filter is None:
        return
    expected = stock_admits(value, filter)
    store = ScrubjayStore()
    store.put(("a",), "k", value)
    assert (len(store.search(("a",), filter=filter)) == 1) == expected
    assert (len(store.search(("a",), filter=filter, query="a")) == 1) == expected
    if filter and isinstance(conditions.translated(filter, lambda record: None), Native):
        assert conditions.matches(value, filter) == expected


def raises(stock: Stock, op: Any) -> bool:
    try:
        stock.batch([op])
    except (TypeError, ValueError, OverflowError):
        return True
    return False


def comparable(op: Any, result: Any) -> Any:
    if isinstance(op, GetOp):
        return (
            None
            if result is None
            else (result.namespace, result.key, json.dumps(result.value, sort_keys=True))
        )
    if isinstance(op, SearchOp):
        rows = [(item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in result]
        if op.query is None:
            return sorted(rows)
        # Equal scores may come in any order, so compare the scores, and the items of each.
        scores = [None if item.score is None else round(item.score, 3) + 0.0 for item in result]
        return sorted(zip(rows, map(str, scores), strict=True)), [
            score for score in scores if score is not None
        ]
    return result


@given(batches=BATCHES)
@settings(max_examples=60, deadline=None)
def test_operations_agree_with_the_stock_store(batches: list[list[Any]]) -> None:
    _play(batches, None)


@given(batches=BATCHES)
@settings(max_examples=20, deadline=None)
def test_operations_on_a_file_agree_with_the_stock_store(batches: list[list[Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _play(batches, Path(folder) / "a", durability="normal")


def _play(batches: list[list[Any]], where: Path | None, **options: Any) -> None:
    config: Any = {"dims": 3, "embed": letters, "fields": ["text", "n"]}
    stock = Stock(index=config)
    with ScrubjayStore(where, index=config, query=Query(mode="vector"), dtype="f32", **options) as store:
        for batch in batches:
            _compare(stock, store, batch)
        _compare(stock, store, [SearchOp((), limit=100), ListNamespacesOp()])


def _compare(stock: Stock, store: ScrubjayStore, batch: list[Any]) -> None:
    ops = [op for op in batch if isinstance(op, PutOp) or not raises(stock, op)]
    reads = [stock.batch([op])[0] for op in ops if not isinstance(op, PutOp)]
    puts = stock.batch([op for op in ops if isinstance(op, PutOp)])
    expected = [puts.pop() if isinstance(op, PutOp) else reads.pop(0) for op in ops]
    stock.tidy()
    got = store.batch(ops)
    assert len(got) == len(expected) == len(ops)
    for op, one, other in zip(ops, got, expected, strict=True):
        assert comparable(op, one) == comparable(op, other), op
