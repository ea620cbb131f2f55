"""LlamaIndex's filters admit the same nodes as its own SimpleVectorStore."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("llama_index.core")

from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn, node_to_metadata_dict

from scrubjay.adapters.llama_index import ScrubjayVectorStore

KEYS = ["city", "n", "tags", "created_at", "$odd", "doc_id", "expires_at"]
texts = st.sampled_from(
    ["York", "New York", "new york", "", "o", "2026-03-01", "a%_*", "None", "Straße", "1"]
)
numbers = st.sampled_from([0, 1, -1, 2, 1.0, 2.5, 2**63, -(2**70)])
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
values = st.one_of(scalars, st.lists(st.one_of(texts, numbers, st.booleans()), max_size=3))
metadata = st.dictionaries(st.sampled_from([*KEYS[:5], "expires_at"]), values, max_size=4)
TEXT_ONLY = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)
LISTS = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
ORDERS = (FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE)


@st.composite
def filters(draw: st.DrawFn) -> MetadataFilter:
    operator = draw(st.sampled_from(FilterOperator))
    # Each list has one type, as the framework declares.
    lists = st.one_of(
        st.lists(texts, max_size=3), st.lists(numbers.filter(lambda n: isinstance(n, int)), max_size=3)
    )
    operand: Any = None
    if operator in LISTS:
        operand = draw(lists)
    elif operator in TEXT_ONLY:
        operand = draw(texts)
    elif operator in ORDERS or operator == FilterOperator.CONTAINS:
        operand = draw(st.one_of(texts, numbers))
    elif operator != FilterOperator.IS_EMPTY:
        operand = draw(st.one_of(texts, numbers, lists))
    return MetadataFilter(key=draw(st.sampled_from(KEYS)), value=operand, operator=operator)


trees = st.recursive(
    filters(),
    lambda inner: st.builds(
        MetadataFilters, filters=st.lists(inner, max_size=3), condition=st.sampled_from(FilterCondition)
    ),
    max_leaves=5,
)


def admits(tree: MetadataFilter | MetadataFilters, node: TextNode) -> bool:
    """Evaluate single filters by the framework; it neither nests nor compares values of different types."""
    if isinstance(tree, MetadataFilter):
        known = node_to_metadata_dict(node, remove_text=True)
        try:
            return build_metadata_filter_fn(lambda _: known, MetadataFilters(filters=[tree]))(node.node_id)
        except TypeError:
            if tree.operator in (FilterOperator.ANY, FilterOperator.ALL):
                parts = [
                    admits(MetadataFilter(key=tree.key, value=one, operator="contains"), node)
                    for one in tree.value
                ]  # type: ignore[union-attr, arg-type]
                return any(parts) if tree.operator == FilterOperator.ANY else all(parts)
            return False
    met = [admits(part, node) for part in tree.filters]
    if not met:
        return True
    if tree.condition == FilterCondition.OR:
        return any(met)
    return not any(met) if tree.condition == FilterCondition.NOT else all(met)


@given(st.lists(metadata, max_size=8), trees)
@example(
    [{"tags": ["York"]}, {"tags": "York"}],
    MetadataFilter(key="tags", value="York", operator=FilterOperator.EQ),
)
def test_a_filter_admits_what_the_framework_admits(
    written: list[dict[str, Any]], tree: MetadataFilter | MetadataFilters
) -> None:
    tree = tree if isinstance(tree, MetadataFilters) else MetadataFilters(filters=[tree])
    nodes = [
        TextNode(id_=str(i), text="x", metadata=one, embedding=[1.0, 2.0]) for i, one in enumerate(written)
    ]
    store = ScrubjayVectorStore()
    store.add(nodes)
    expected = {node.node_id for node in nodes if admits(tree, node)}
    assert {node.node_id for node in store.get_nodes(filters=tree)} == expected
    found = store.query(VectorStoreQuery([1.0, 2.0], similarity_top_k=100, filters=tree))
    assert set(found.ids or []) == expected
    asked = ["0", "2", "nobody"]
    store.delete_nodes(asked, filters=tree)
    assert {node.node_id for node in store.get_nodes()} == {node.node_id for node in nodes} - (
        expected & set(asked)
    )


# ---------------------------------------------------------------------- the whole store

IDS = [f"n{number}" for number in range(6)]
numbers_of = st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3)).filter(any)
vectors = numbers_of.map(lambda vector: [float(number) for number in vector])
documents = st.sampled_from(["d1", "d2"])
plain = st.fixed_dictionaries({"city": st.sampled_from(["York", "Ely"]), "n": st.integers(0, 3)})
comparable = st.one_of(
    st.builds(MetadataFilter, key=st.just("city"), value=st.sampled_from(["York", "Ely", "o"]),
              operator=st.sampled_from(["==", "!=", ">", "text_match", "text_match_insensitive", "contains"])),
    st.builds(MetadataFilter, key=st.just("n"), value=st.integers(0, 3),
              operator=st.sampled_from(["==", "!=", ">", "<=", "<", ">="])),
    st.builds(MetadataFilter, key=st.just("n"), value=st.lists(st.integers(0, 3)),
              operator=st.sampled_from(["in", "nin"])),
    st.builds(MetadataFilter, key=st.sampled_from(["doc_id", "ref_doc_id"]), value=documents),
    st.builds(MetadataFilter, key=st.sampled_from(["none", "city"]), value=st.none(), operator=st.just("is_empty")),
)  # fmt: skip
queries = st.builds(
    MetadataFilters, filters=st.lists(comparable, max_size=3), condition=st.sampled_from(FilterCondition)
)
step = st.one_of(
    st.tuples(
        st.just("add"), st.lists(st.tuples(st.sampled_from(IDS), vectors, plain, documents), max_size=3)
    ),
    st.tuples(st.just("delete"), documents),
    st.tuples(st.just("delete_nodes"), st.none() | st.lists(st.sampled_from(IDS), max_size=3), queries),
    st.tuples(st.just("clear")),
    st.tuples(
        st.just("query"),
        vectors,
        st.integers(1, 7),
        st.none() | queries,
        st.none() | st.lists(st.sampled_from(IDS), min_size=1),
    ),
)


@given(st.lists(step, max_size=15))
def test_random_operations_beside_the_simple_store(steps: list[tuple[Any, ...]]) -> None:
    stock, ours = SimpleVectorStore(), ScrubjayVectorStore()
    for name, *arguments in steps:
        for each in (stock, ours):
            if name == "add":
                nodes = [make_node(*one) for one in {one[0]: one for one in arguments[0]}.values()]
                assert each.add(nodes) == [node.node_id for node in nodes]
            elif name == "delete":
                each.delete(arguments[0])
            elif name == "delete_nodes":
                each.delete_nodes(*arguments)
            elif name == "clear":
                each.clear()
        if name == "query":
            vector, k, tree, ids = arguments
            everything = VectorStoreQuery(vector, similarity_top_k=100, filters=tree, node_ids=ids)
            expected, found = stock.query(everything), ours.query(everything)
            similar = dict(zip(expected.ids, expected.similarities, strict=True))  # type: ignore[arg-type]
            assert dict(zip(found.ids, found.similarities, strict=True)) == pytest.approx(similar, abs=2e-3)  # type: ignore[arg-type]
            best = ours.query(VectorStoreQuery(vector, similarity_top_k=k, filters=tree, node_ids=ids))
            assert best.similarities == pytest.approx(sorted(similar.values(), reverse=True)[:k], abs=2e-3)


def make_node(id: str, vector: list[float], plain: dict[str, Any], document: str) -> TextNode:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
    return TextNode(
        id_=id, text=f"text of {id}", embedding=vector, metadata=dict(plain), relationships=source
    )


@pytest.mark.parametrize(
    ("tree", "error", "named"),
    [
        (MetadataFilter(key="n", value=None), TypeError, "n ==.*None"),
        (MetadataFilter(key="n", value=["a"], operator=FilterOperator.GT), TypeError, "n >.*list"),
        (MetadataFilter(key="n", value=5, operator=FilterOperator.TEXT_MATCH), TypeError, "text_match"),
        ({"n": 1}, TypeError, "MetadataFilters"),
    ],
)
def test_a_wrong_filter_is_named(tree: Any, error: type[Exception], named: str) -> None:
    store = ScrubjayVectorStore()
    store.add([TextNode(text="x", embedding=[1.0])])
    asked = tree if isinstance(tree, dict) else MetadataFilters(filters=[tree])
    with pytest.raises(error, match=named):
        store.get_nodes(filters=asked)
    with pytest.raises(error, match=named):
        store.delete_nodes(filters=asked)
    assert len(store.get_nodes()) == 1


def test_filters_that_are_nested_too_deeply() -> None:
    tree = MetadataFilters(filters=[])
    for _ in range(100):
        tree = MetadataFilters(filters=[tree], condition=FilterCondition.NOT)
    with pytest.raises(ValueError, match="levels"):
        ScrubjayVectorStore().get_nodes(filters=tree)
