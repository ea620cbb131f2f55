"""Trees of conditions, where a scope's own memory and a shared one may have the same id."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Index, Scope
from scrubjay.backend import Documents
from scrubjay.backend.conditions import All, Either, Ids, Native, Node, Not, Test, admit, admit_each, only
from scrubjay.documents.records import Record

ASKER = Scope("acme", user="jane", agent="bot")
SCOPES = [
    ASKER,
    Scope("acme", user="jane"),
    Scope("acme", agent="bot"),
    Scope("acme"),
    Scope("acme", user="joe"),
]
IDS = ["m1", "m2", "m3"]

MEMORIES = st.dictionaries(
    st.tuples(st.sampled_from(SCOPES), st.sampled_from(IDS)), st.integers(0, 3), max_size=12
)
LEAVES = st.one_of(
    st.integers(0, 3).map(lambda n: Native({"n": n})),
    st.integers(0, 3).map(lambda n: Test({"n": {"$exists": True}}, lambda record: _n(record) >= n)),
    st.frozensets(st.sampled_from([*IDS, "m9"]), max_size=2).map(Ids),
    st.sampled_from(IDS).map(lambda id: Test({}, lambda record: record.id == id)),
)
TREES: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(All) | st.lists(inner, max_size=3).map(Either) | inner.map(Not)
    ),
    max_leaves=6,
)


def _n(record: Record) -> int:
    n: int = (record.metadata or {})["n"]
    return n


def holds(node: Node, record: Record) -> bool:
    """Evaluate the conditions for one record."""
    if isinstance(node, Native):
        return all(_n(record) == n for n in node.filter.values())
    if isinstance(node, Test):
        return node.holds(record)
    if isinstance(node, Ids):
        return record.id in node.ids
    if isinstance(node, Not):
        return not holds(node.part, record)
    return (all if isinstance(node, All) else any)(holds(part, record) for part in node.parts)


def keys(found: Any) -> list[tuple[Scope, Any]]:
    return [(one.scope, one.id) for one in found]


@given(MEMORIES, TREES, st.integers(1, 12))
def test_a_search_finds_what_meets_the_conditions(
    memories: dict[tuple[Scope, str], int], tree: Node, k: int
) -> None:
    index = Index()
    for (scope, id), n in memories.items():
        index.upsert(id, f"train {'late ' * n}", scope=scope, metadata={"n": n})
    seen = index.list(ASKER)
    expected = {(record.scope, record.id) for record in seen if holds(tree, record)}
    admitted = admit(index, ASKER, tree)
    assert set(keys(index.list(ASKER, **admitted.options))) == expected
    assert index.count(ASKER, **admitted.options) == len(expected)
    hits = index.search("train", scope=ASKER, k=k, **admitted.asked())
    assert (
        keys(hits) == [key for key in keys(index.search("train", scope=ASKER, k=100)) if key in expected][:k]
    )
    own = admit(index, ASKER, tree, exact=True)
    listed = keys(index.list(ASKER, exact=True, **own.options))
    assert listed == [key for key in keys(seen) if key in expected and key[0] == ASKER]
    groups = {scope for scopes, _ in admit_each(index, SCOPES, tree) for scope in scopes}
    assert ASKER in groups or not expected
    chosen = [record for record in seen if holds(tree, record)]
    assert set(only(chosen).ids or ()) == expected


def test_ids_alone_are_looked_up() -> None:
    index = Index()
    for id in IDS:
        index.upsert(id, "x", scope=ASKER, metadata={"n": int(id[1])})
    both = All([Ids(frozenset(["m1", "m2", "m9"])), Native({"n": 2}), Ids(frozenset(["m2", "m3"]))])
    assert admit(index, ASKER, both).options == {"filter": {"n": 2}, "ids": ["m2"]}
    read: list[str | int] = []
    test = Test({"n": {"$gt": 0}}, lambda record: not read.append(record.id))
    assert admit(index, ASKER, All([test, Ids(frozenset(["m3"]))])).ids == [(ASKER, "m3")]
    assert read == ["m3"]
    documents = Documents(index)
    assert documents.count(ASKER, filter=Ids(frozenset(["m1", "m7"]))) == 1
    assert documents.count(ASKER, filter=Not(Ids(frozenset(["m1", "m7"])))) == 2
    assert [hit.id for hit in documents.search("x", scope=ASKER, filter=Ids(frozenset(["m3"])))] == ["m3"]
    assert documents.delete_many(scope=ASKER, filter=Ids(frozenset(["m3"]))) == 1
