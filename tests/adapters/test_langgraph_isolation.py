"""Isolation of LangGraph's store: items outside the prefix, or of another tenant, are not found, changed or noticed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp

from scrubjay import Error, Index, Scope
from scrubjay.adapters.langgraph import ScrubjayStore

HOSTILE = [
    "user1", "user10", "user", "User1", "USER1", "user1 ", " user1", "user%", "user_", "user*", "*", "%", "_", "%user1",
    "'; DROP TABLE document; --", '" OR "1"="1', "user1' OR '1'='1", "//user1", "user1/", "user1\\", "user1\n", "\t",
    "üser1", "u\u0308ser1", "ü", "\uff55ser1", "us\u0435r1", "user\u200b1", "\u202euser1", "\U0001f426", "null", "None",
    "0", "$", "$eq", "[0]", "{}", "x" * 3000, "user1:0", "user1-1-0", "langgraph",
]  # fmt: skip


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayStore]:
    with ScrubjayStore(None if request.param == "memory" else tmp_path / "a") as opened:
        yield opened


def test_hostile_labels_and_keys_are_only_themselves(store: ScrubjayStore) -> None:
    names = [(label,) for label in HOSTILE] + [("users", label) for label in HOSTILE]
    store.batch(
        [
            PutOp(name, key, {"text": "secret", "of": list(name), "k": key})
            for name in names
            for key in HOSTILE[:9]
        ]
    )
    for name in names:
        for query in (None, "secret"):
            found = store.search(name, query=query, limit=1000)
            assert {item.namespace for item in found} == {name}
            assert len(found) == 9
        for key in HOSTILE[:9]:
            assert store.get(name, key).value == {"text": "secret", "of": list(name), "k": key}
    assert len(store.search(("users",), limit=10_000)) == 9 * len(HOSTILE)
    assert store.list_namespaces(limit=1000) == sorted(names)
    for label in HOSTILE:
        if label != "*":  # a wildcard for one label here
            assert store.list_namespaces(prefix=(label,)) == [(label,)]
            assert store.list_namespaces(suffix=(label,), prefix=("users",)) == [("users", label)]
    store.delete(("users", "user1"), "user1")
    assert len(store.search((), limit=10_000)) == 9 * len(names) - 1


@pytest.mark.parametrize("label", ["", ".", "user.1", "a\0", "\0", "\ud800", 7, None, b"user1", ("user1",)])
def test_an_invalid_namespace_label_is_refused_by_every_operation(store: ScrubjayStore, label: Any) -> None:
    store.put(("user1",), "k", {"text": "secret"})
    for use in (
        lambda: store.put((label,), "k", {}),
        lambda: store.get((label,), "k"),
        lambda: store.delete(("users", label), "k"),
        lambda: store.search((label,)),
        lambda: store.list_namespaces(prefix=(label,)),
        lambda: store.list_namespaces(suffix=("users", label)),
        lambda: store.batch([SearchOp((label,))]),
        lambda: store.batch([PutOp((label,), "k", {})]),
    ):
        with pytest.raises(InvalidNamespaceError):
            use()


def test_tenants_share_a_file_and_nothing_else(tmp_path: Path) -> None:
    names = ["acme", "acme2", "Acme", "a%", "*", "'; --", None]
    stores = [ScrubjayStore(tmp_path / "a", tenant=name) for name in names]
    for store, name in zip(stores, names, strict=True):
        store.put(("memories", "jane"), "m1", {"text": "The staging key", "of": name})
    for store, name in zip(stores, names, strict=True):
        for query in (None, "staging key"):
            assert [item.value["of"] for item in store.search((), query=query)] == [name]
        assert store.get(("memories", "jane"), "m1").value["of"] == name
        assert store.list_namespaces() == [("memories", "jane")]
    stores[0].delete(("memories", "jane"), "m1")
    stores[0].sweep_ttl()
    assert stores[0].search(()) == stores[0].list_namespaces() == []
    assert all(len(store.search(())) == 1 for store in stores[1:])
    for store in stores:
        store.close()


def test_other_namespaces_change_neither_scores_nor_order() -> None:
    """Statistics are those of the prefix: thousands of other memories with the same words change no bit."""
    alone, crowded = ScrubjayStore(), ScrubjayStore()
    for store in (alone, crowded):
        for i in range(30):
            store.put(("memories", "jane"), f"m{i}", {"text": f"the staging key number {i % 5}", "n": i})
    crowded.batch(
        [
            PutOp(("memories", f"jane{i}"), "m", {"text": "staging key " * (i % 9) + "number 3"})
            for i in range(500)
        ]
        + [PutOp(("memories", "joe"), f"m{i}", {"text": "staging"}) for i in range(500)]
        + [PutOp(("other",), f"m{i}", {"text": "number 3"}) for i in range(100)]
    )
    for query, filter in itertools.product(["staging number 3", "key"], [None, {"n": {"$gt": 3}}]):
        expected = alone.search(("memories", "jane"), query=query, filter=filter, limit=30)
        got = crowded.search(("memories", "jane"), query=query, filter=filter, limit=30)
        assert [(item.key, item.score) for item in got] == [(item.key, item.score) for item in expected]


def test_filters_reach_nothing_outside(store: ScrubjayStore) -> None:
    store.put(("users", "jane"), "m1", {"owner": "jane", "text": "secret"})
    store.put(("users", "joe"), "m1", {"owner": "joe", "text": "secret"})
    for filter in (
        {"namespace": "joe"}, {"=owner": "sjoe"}, {"owner') = 'joe' OR '1'='1": 1}, {"$or": [{"owner": "joe"}]},
        {"owner": {"$ne": "jane"}}, {"owner": "joe' OR '1'='1"}, {"owner": {"$gt": "jane"}},
        {"tenant": None, "x\0": "y"},
        {"part": 0, "key": "m1"}, {"value": {"owner": "joe"}}, {"owner": "s" * 100_000}, {"\ud800": "\ud800"},
    ):  # fmt: skip
        for query in (None, "secret"):
            try:
                found = store.search(("users", "jane"), filter=filter, query=query)
            except (TypeError, ValueError, Error):
                continue
            assert all(item.namespace == ("users", "jane") for item in found)
            assert found == [] or filter == {"tenant": None, "x\0": "y"}
    assert len(store.search(("users", "jane"), filter={"owner": {"$ne": "joe"}})) == 1


def test_documents_of_others_in_the_collection_are_no_items() -> None:
    index = Index()
    store = ScrubjayStore(index)
    mine = index.collection("langgraph")
    mine.upsert("stranger", "secret", scope=Scope("."), metadata={"part": 0})
    mine.upsert("stranger2", "secret", scope=Scope(".", user="users.jane"))
    store.put(("users", "jane"), "m1", {"text": "secret"})
    assert [item.key for item in store.search(("users", "jane"), query="secret")] == ["m1"]
    assert [item.key for item in store.search(())] == ["m1"]
    assert store.list_namespaces() == [("users", "jane")]


LABELS = st.text(st.characters(exclude_characters=".\0", exclude_categories=["Cs"]), min_size=1, max_size=4)
NAMESPACES = st.lists(
    st.one_of(st.sampled_from(["a", "ab", "a*", "A", "%"]), LABELS), min_size=1, max_size=3
).map(tuple)
KEYS = st.one_of(
    st.sampled_from(["k", ".k", "k.", "", "a..k"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)


@given(items=st.dictionaries(st.tuples(NAMESPACES, KEYS), st.integers(), max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_names_are_kept_apart(items: dict[tuple[tuple[str, ...], str], int]) -> None:
    store = ScrubjayStore()
    store.batch([PutOp(namespace, key, {"v": v}) for (namespace, key), v in items.items()])
    found = store.batch([GetOp(namespace, key) for namespace, key in items])
    assert [item.value["v"] for item in found] == list(items.values())
    prefixes = {namespace[:n] for namespace, _ in items for n in range(4)}
    for prefix in prefixes:
        below = {(item.namespace, item.key) for item in store.search(prefix, limit=100)}
        assert below == {name for name in items if name[0][: len(prefix)] == prefix}
