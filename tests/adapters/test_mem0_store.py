"""The vector store itself: mem0's interface, rejected arguments, scores, and a comparison with mem0's default store."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mem0")

from mem0.vector_stores.base import VectorStoreBase

import scrubjay
from scrubjay import Scope
from scrubjay.adapters.mem0 import ScrubjayVectorStore
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError

JANE = {"user_id": "jane"}


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayVectorStore]:
    path = str(tmp_path / "m.scrubjay") if request.param == "file" else None
    made = ScrubjayVectorStore("memories", path, embedding_model_dims=2)
    yield made
    made.close()


def ids(found: list[Any]) -> list[str]:
    return [one.id for one in found]


def write(store: ScrubjayVectorStore, *texts: str, user: str = "jane") -> None:
    payloads = [{"data": text, "user_id": user} for text in texts]
    store.insert(
        [[1.0, float(number)] for number in range(len(texts))], payloads, [text.split()[0] for text in texts]
    )


def test_the_interface_is_mem0s() -> None:
    for name, theirs in inspect.getmembers(VectorStoreBase, inspect.isfunction):
        ours = inspect.signature(getattr(ScrubjayVectorStore, name)).parameters
        expected = inspect.signature(theirs).parameters
        assert list(ours)[: len(expected)] == list(expected), name
        for parameter in expected.values():
            if parameter.default is not parameter.empty:
                assert ours[parameter.name].default == parameter.default, (name, parameter)
    assert ScrubjayVectorStore.__abstractmethods__ == frozenset()
    assert ScrubjayVectorStore.keyword_search is not VectorStoreBase.keyword_search


def test_payloads_are_returned_as_written(store: ScrubjayVectorStore) -> None:
    payloads: list[dict[str, Any]] = [
        {"data": "tea \ud800", "user_id": "jane"},
        {"data": "", "user_id": "jane", "created_at": "no time"},
        {"data": 5, "user_id": "jane", "created_at": "2026-03-01T00:00:00Z"},
        {"user_id": "jane", "nested": {"a": [1, {"b": None}]}, "": "", "$x": 1},
        {"data": "tea\x00", "agent_id": "bot", "text_lemmatized": "tea"},
        {"run_id": "r1", "data": "r"},
        {},
    ]
    store.insert([[1.0, 2.0]] * len(payloads), payloads, list(range(len(payloads))))
    for number, payload in enumerate(payloads):
        found = store.get(number)
        assert found is not None and (found.id, found.score, found.payload) == (str(number), None, payload)
    assert {one.id: one.payload for one in store.list()[0]} == dict(
        zip(map(str, range(7)), payloads, strict=True)
    )
    assert ids(store.search("tea", [1.0, 2.0], top_k=100)) == ids(store.search("tea", [1.0, 2.0], top_k=7))
    store.insert([[1.0, 2.0]])
    assert uuid.UUID((set(ids(store.list()[0])) - set(map(str, range(7)))).pop())


def test_each_payload_goes_to_the_scope_of_its_ids() -> None:
    store = ScrubjayVectorStore(tenant="acme")
    store.insert(
        [[1.0]] * 4,
        [
            {"user_id": "jane", "agent_id": "bot", "run_id": "r"},
            {"agent_id": "bot", "run_id": "r"},
            {"run_id": "r"},
            {},
        ],
    )
    scopes = [Scope("acme", user="jane"), Scope("acme", agent="bot"), Scope("acme", agent="run r")]
    assert set(store.index.scopes()) == {*scopes, Scope("acme", agent="nobody in particular")}
    assert store.col_info() == {"name": "mem0", "count": 4, "dimension": 1, "metric": "cosine"}


@pytest.mark.parametrize(
    ("vectors", "payloads", "given_ids", "error", "named"),
    [
        ([[1.0, 2.0]], [{}, {}], ["a"], ValueError, "equal lengths, got 1, 2, 1"),
        ([[1.0, 2.0], [1.0]], None, None, ValueError, r"records\[1\]: vector"),
        ([[1.0, 2.0], [1.0, math.nan]], None, None, ValueError, "finite"),
        ([[1.0, 2.0], ["a", "b"]], None, None, TypeError, "vector"),
        ([[1.0, 2.0]], [{"a": {1, 2}}], None, TypeError, "metadata"),
        ([[1.0, 2.0]], [{"a": math.nan}], None, ValueError, "metadata"),
        ([[1.0, 2.0]], ["data"], None, TypeError, "payload"),
        ([[1.0, 2.0]], [{"user_id": ["jane"]}], None, TypeError, "user_id"),
        ([[1.0, 2.0]], [{"user_id": True}], None, TypeError, "user_id"),
        ([[1.0, 2.0]], [{"user_id": "j" * 70_000}], None, ValueError, "user"),
        ([[1.0, 2.0]], [{"user_id": "j\ud800"}], None, ValueError, "user"),
    ],
)
def test_a_wrong_write_writes_nothing(
    store: ScrubjayVectorStore,
    vectors: Any,
    payloads: Any,
    given_ids: Any,
    error: type[Exception],
    named: str,
) -> None:
    write(store, "tea at five")
    with pytest.raises(error, match=named):
        store.insert(vectors, payloads, given_ids)
    assert ids(store.list()[0]) == ["tea"]


@pytest.mark.parametrize(
    "hostile", ["", " ", "'; DROP TABLE document; --", "%", "_", "*", "a\x00b", "t\u0435a", "x" * 100_000]
)
def test_hostile_ids_name_nothing_else(store: ScrubjayVectorStore, hostile: str) -> None:
    write(store, "tea at five")
    assert store.get(hostile) is None
    store.delete(hostile)
    with pytest.raises(ValueError, match="vector_id"):
        store.update(hostile, payload={"user_id": "jane"})
    if not 0 < len(hostile) < 65_536:
        with pytest.raises(ValueError, match="id"):
            store.insert([[0.0, 1.0]], [{"data": "train", "user_id": "joe"}], [hostile])
        assert ids(store.list()[0]) == ["tea"]
        return
    store.insert([[0.0, 1.0]], [{"data": "train", "user_id": "joe"}], [hostile])
    assert ids(store.list({"user_id": "joe"})[0]) == [hostile] and ids(store.list(JANE)[0]) == ["tea"]
    assert ids(store.search("train", [0.0, 1.0], filters=JANE)) == ["tea"]
    store.delete(hostile)
    assert ids(store.list()[0]) == ["tea"]


@pytest.mark.parametrize(
    "metadata", ["x' OR 1=1 --", "a\x00b", "$where", "user_id\x00", "\u202e", "k" * 100_000]
)
def test_hostile_fields_are_fields(store: ScrubjayVectorStore, metadata: str) -> None:
    write(store, "tea at five")
    store.insert([[1.0, 1.0]], [{"data": "train", "user_id": "joe", metadata: metadata}], ["train"])
    for filters in ({metadata: metadata}, {metadata: "*"}, {metadata: {"contains": metadata[:2]}}):
        assert ids(store.list(filters)[0]) == ["train"]
        assert ids(store.search("tea", [1.0, 0.0], filters={**filters, **JANE})) == []
        assert ids(store.search("tea", [1.0, 0.0], filters={"OR": [filters, filters], **JANE})) == []


def texts(found: list[Any]) -> list[str]:
    return [one.payload["data"] for one in found]


def test_a_memory_stays_with_its_user(store: ScrubjayVectorStore) -> None:
    write(store, "tea at five")
    with pytest.raises(ValueError, match="payload"):
        store.update("tea", payload={"data": "mine now", "user_id": "joe"})
    assert texts(store.list()[0]) == ["tea at five"]
    store.insert([[1.0, 0.0]], [{"data": "tea at six", "user_id": "jane"}], ["tea"])
    assert texts(store.list()[0]) == ["tea at six"]


def test_an_id_of_two_users_is_two_memories(store: ScrubjayVectorStore) -> None:
    joe = {"user_id": "joe"}
    write(store, "tea at five")
    write(store, "tea at six", user="joe")
    assert texts(store.list(JANE)[0]) == texts(store.keyword_search("tea", filters=JANE)) == ["tea at five"]
    assert len(store.search("tea", [1.0, 0.0])) == 2
    for call in (store.get, store.delete, store.update):  # mem0 names no owner
        with pytest.raises(ValueError, match=r"vector_id.*several"):
            call("tea")
    # The id of a result identifies it.
    (mine,), (his,) = store.search("tea", [1.0, 0.0], filters=JANE), store.list(joe)[0]
    assert mine.id == his.id == "tea"
    store.update(mine.id, payload={"data": "tea at seven", **JANE})
    assert [store.get(one.id).payload["data"] for one in (mine, his)] == ["tea at seven", "tea at six"]  # type: ignore[union-attr]
    store.delete(his.id)
    assert store.get(his.id) is None and texts(store.list()[0]) == ["tea at seven"]
    assert store.get("tea") is not None  # only one is left


def test_documents_written_by_others_for_a_user_belong_to_the_user() -> None:
    """Without a payload the scope determines the user; memories of the whole tenant are readable but not changeable."""
    index = scrubjay.Index()
    store = ScrubjayVectorStore(index=index, tenant="acme")
    notes, expiry = store.index, datetime(2100, 1, 1, tzinfo=timezone.utc)
    notes.upsert(
        "m1", "tea at five", scope=Scope("acme", user="jane"), expires_at=expiry, created_at="2026-03-01"
    )
    notes.upsert("m2", "tea at six", scope=Scope("acme", user="joe"))
    notes.upsert("m3", "tea for all", scope=Scope("acme"))
    notes.upsert("m4", "tea of others", scope=Scope("globex", user="jane"))
    for filters in (JANE, {"user_id": {"in": ["jane"]}}, {"AND": [JANE, {"user_id": {"eq": "jane"}}]}):
        assert ids(store.list(filters)[0]) == ["m1"]
        assert sorted(ids(store.search("tea", None, filters=filters))) == ["m1", "m3"]
    assert store.list({"AND": [JANE, {"user_id": {"in": ["jane"], "ne": "jane"}}]}) == [[]]
    assert store.list({"NOT": [{"user_id": "joe"}], **JANE}) != [[]]
    found = store.get("m1")
    assert found is not None and found.payload == {"data": "tea at five", "user_id": "jane"}
    store.update("m1", payload={**found.payload, "data": "tea at seven"})
    (kept,) = notes.list(Scope("acme", user="jane"), ids=["m1"])
    assert (kept.text, kept.expires_at, kept.created_at) == (
        "tea at seven",
        expiry,
        datetime(2026, 3, 1, tzinfo=timezone.utc),
    )
    for call in (store.update, store.delete):
        with pytest.raises(ReadOnlyMemoryError):
            call("m3")
    store.delete("m1")
    assert store.list(JANE) == [[]] and store.get("m4") is None and len(notes) == 3


def test_updates_change_what_they_are_given(store: ScrubjayVectorStore) -> None:
    write(store, "tea at five", "train at six")
    jane = Scope("mem0", user="jane")
    before = store.index.get("train", scope=jane).vector  # type: ignore[union-attr]
    store.update("train", payload={"data": "night train", "user_id": "jane", "n": 1})
    record = store.index.get("train", scope=jane)
    assert np.array_equal(record.vector, before)  # type: ignore[union-attr, arg-type]
    assert ids(store.keyword_search("night")) == ["train"] and ids(store.keyword_search("six")) == []
    store.update("train", vector=[0.0, 1.0])
    assert store.get("train").payload == {"data": "night train", "user_id": "jane", "n": 1}  # type: ignore[union-attr]
    assert store.search("", [0.0, 1.0])[0].score == pytest.approx(1.0, abs=1e-3)
    store.update("train")
    assert len(store.list()[0]) == 2
    with pytest.raises(ValueError, match=r"vector_id.*'plane'"):
        store.update("plane", payload={})
    store.delete("train")
    store.delete("train")
    assert store.get("train") is None and ids(store.list(JANE)[0]) == ["tea"]


def test_an_index_that_is_shared_shows_one_tenant_only() -> None:
    index = scrubjay.Index()
    acme, globex = (ScrubjayVectorStore(index=index, tenant=tenant) for tenant in ("acme", "globex"))
    write(acme, "tea at five")
    assert globex.get("tea") is None and globex.list() == [[]] and globex.search("tea", [1.0, 0.0]) == []
    with pytest.raises(ValueError, match="vector_id"):
        globex.update("tea", vector=[1.0, 0.0])
    globex.delete("tea")
    write(globex, "tea at six")
    assert [texts(store.list()[0]) for store in (acme, globex)] == [["tea at five"], ["tea at six"]]
    assert acme.get("tea").payload["data"] == "tea at five"  # type: ignore[union-attr]
    globex.delete("tea")
    assert texts(acme.list()[0]) == ["tea at five"]


def test_zero_vectors_rank_by_words_alone(store: ScrubjayVectorStore) -> None:
    store.insert([[0.0, 0.0], [[0.0, 2.0]]], [{"data": "tea"}, {"data": "train"}], ["a", "b"])
    assert ids(store.search("coffee", [[0.0, 1.0]])) == ["b"]
    assert ids(store.search("tea", [0.0, 0.0])) == ["a"]
    assert ids(store.search("tea", None)) == ["a"]
    assert store.search("coffee", [0.0, 0.0]) == [] and store.keyword_search("") == []
    with pytest.raises(ValueError, match="vector"):
        store.search("tea", [1.0, 2.0, 3.0])


def test_the_score_of_keywords_is_bm25(store: ScrubjayVectorStore) -> None:
    """With Lucene's idf, and k1 and b for short texts, over the user's own memories."""
    corpus = {"one": "one tea tea kettle", "two": "two tea", "three": "three train window seat by night"}
    write(store, *corpus.values())
    write(store, "four tea", user="joe")
    n_terms = {name: len(text.split()) for name, text in corpus.items()}
    average = sum(n_terms.values()) / 3
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {}
    for name, count in (("one", 2), ("two", 1)):
        expected[name] = idf * count / (count + 0.4 * (1 - 0.2 + 0.2 * n_terms[name] / average))
    found = {one.id: one.score for one in store.keyword_search("tea", filters=JANE)}
    assert found == {name: pytest.approx(score, abs=1e-5) for name, score in expected.items()}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("cosine", [1.0, 0.6, 0.0]), ("l2", [1.0, 1 / (1 + math.sqrt(0.8)), 1 / 3]), ("ip", [1.0, 0.6, 0.0])],
)
def test_similarities_lie_between_0_and_1(metric: str, expected: list[float]) -> None:
    store = ScrubjayVectorStore(metric=metric)
    store.insert([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]], [{"data": "tea"}] * 3, ["a", "b", "c"])
    found = store.search("nothing", [1.0, 0.0])
    assert [(one.id, one.score) for one in found] == [
        (id, pytest.approx(score, abs=2e-3)) for id, score in zip("abc", expected, strict=True)
    ]


def test_the_most_similar_of_few_is_not_displaced_by_words() -> None:
    """mem0 treats the first of one result as the same entity if its score is 0.95 or more."""
    store = ScrubjayVectorStore()
    store.insert(
        [[1.0, 0.0], [0.0, 1.0]], [{"data": "New York City"}, {"data": "NYC subway"}], ["same", "other"]
    )
    assert [(one.id, one.score >= 0.95) for one in store.search("NYC", [1.0, 0.0], top_k=1)] == [
        ("same", True)
    ]  # type: ignore[operator]
    assert store.search("NYC subway", [0.6, -0.8], top_k=1)[0].score < 0.95  # type: ignore[operator]


def test_batches_are_searches_one_by_one(store: ScrubjayVectorStore) -> None:
    write(store, *(f"{word} at {hour}" for hour, word in enumerate(("tea", "train", "walk", "dinner"))))
    write(store, "noon tea", user="joe")
    queries, vectors = ["tea", "walk at", ""], [[1.0, 0.0], None, [0.0, 1.0]]
    for filters in (None, JANE):
        batch = store.search_batch(queries, vectors, top_k=3, filters=filters)
        assert batch == [
            store.search(query, vector, 3, filters) for query, vector in zip(queries, vectors, strict=True)
        ]
    assert store.search_batch([], []) == []
    with pytest.raises(ValueError, match="queries, vectors_list"):
        store.search_batch(["tea"], [])


def test_top_k_bounds_the_hits(store: ScrubjayVectorStore) -> None:
    write(store, *(f"{number} tea" for number in range(30)))
    for call in (store.keyword_search, lambda query, top_k: store.search(query, [1.0, 1.0], top_k)):
        assert [len(call("tea", top_k=k)) for k in (0, 1, 7, 1000)] == [0, 1, 7, 30]
        for wrong, error in ((-1, ValueError), (True, TypeError), ("5", TypeError), (2.0, TypeError)):
            with pytest.raises(error, match="top_k"):
                call("tea", top_k=wrong)
    assert [len(store.list(top_k=k)[0]) for k in (0, 7, 1000, None)] == [0, 7, 30, 30]


def test_collections_of_one_path(tmp_path: Path) -> None:
    path = str(tmp_path / "m.scrubjay")
    one, other = ScrubjayVectorStore("one", path), ScrubjayVectorStore("other", path, metric="l2")
    write(one, "tea at five")
    write(other, "tea at six")
    assert [each.list()[0][0].payload["data"] for each in (one, other)] == ["tea at five", "tea at six"]
    one.create_col("third", 3, "cosine")
    one.create_col("third", 3)
    with pytest.raises(ValueError, match="dim"):
        one.create_col("third", 4, "cosine")
    with pytest.raises(ValueError, match="metric"):
        one.create_col("fourth", 4, "manhattan")
    assert one.list_cols() == ["one", "other", "third"]
    other.delete_col()
    other.delete_col()
    assert other.list() == [[]] and len(one.list()[0]) == 1
    other.reset()
    assert (other.list(), other.col_info()["metric"], one.list_cols()) == (
        [[]],
        "l2",
        ["one", "other", "third"],
    )
    one.close()
    with pytest.raises(scrubjay.ClosedError):
        one.search("tea", [1.0, 0.0])
    write(other, "tea at seven")
    other.close()
    other.close()
    again = ScrubjayVectorStore("one", path)
    assert [each.payload["data"] for each in again.list()[0]] == ["tea at five"]
    with pytest.raises(ValueError, match="metric"):
        ScrubjayVectorStore("one", path, metric="l2")
    assert ScrubjayVectorStore("other", path).col_info()["metric"] == "l2"
    undecided = ScrubjayVectorStore("undecided", path)
    assert undecided.embedding_model_dims is None
    ScrubjayVectorStore("undecided", path, embedding_model_dims=3)
    with pytest.raises(ValueError, match=r"vector|dim"):
        undecided.insert([[1.0, 0.0, 0.0], [1.0, 0.0]])
    undecided.insert([[1.0, 0.0, 0.0]])
    assert undecided.embedding_model_dims == 3
    with pytest.raises(ValueError, match="dim"):
        ScrubjayVectorStore("undecided", path, embedding_model_dims=4)


def test_threads_that_change_the_same_memory_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "m.scrubjay")
    stores = [ScrubjayVectorStore("one", path, durability="normal") for _ in range(4)]
    write(stores[0], "tea at five")

    def work(number: int) -> None:
        for turn in range(10):
            if number % 2:
                stores[number].update("tea", payload={"data": f"tea {number} {turn}", "user_id": "jane"})
            else:
                stores[number].update("tea", vector=[float(number + 1), float(turn)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = stores[0].index.get("tea", scope=Scope("mem0", user="jane"))
    assert found is not None and found.text.endswith(" 9")
    vector = np.asarray(found.vector)
    assert vector[1] / vector[0] == pytest.approx(9.0, rel=1e-2) or vector[1] / vector[0] == pytest.approx(
        3.0, rel=1e-2
    )


# ---------------------------------------------------------------------- beside mem0's default store

IDS = [str(uuid.UUID(int=number)) for number in range(6)]
vectors = st.tuples(*[st.integers(-3, 3).map(float)] * 3).filter(any).map(list)
fields = st.fixed_dictionaries(
    {"user_id": st.sampled_from(["jane", "joe"])},
    optional={
        "n": st.integers(0, 3),
        "city": st.sampled_from(["York", "Ely"]),
        "tags": st.lists(st.sampled_from("ab"), max_size=2),
    },
)
few = st.integers(0, 3)
orders = st.fixed_dictionaries({}, optional={"gte": few, "lt": few}).filter(bool)
leaf = st.one_of(
    st.fixed_dictionaries(
        {"n": st.one_of(few, orders, st.fixed_dictionaries({"in": st.lists(few, min_size=1)}))}
    ),
    st.fixed_dictionaries(
        {"city": st.sampled_from(["York", "Ely", ["York"], {"ne": "Ely"}, {"nin": ["Ely"]}])}
    ),
    st.fixed_dictionaries({"tags": st.sampled_from("ab")}),
    st.fixed_dictionaries({"user_id": st.sampled_from(["jane", "joe"])}),
)
tree = st.recursive(
    leaf,
    lambda inner: st.dictionaries(
        st.sampled_from(["AND", "OR", "NOT"]), st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=2
    ),
    max_leaves=4,
)
step = st.one_of(
    st.tuples(st.just("insert"), st.sampled_from(IDS), vectors, fields),
    st.tuples(st.just("update"), st.sampled_from(IDS), vectors, fields),
    st.tuples(st.just("delete"), st.sampled_from(IDS)),
    st.tuples(st.just("search"), vectors, tree),
)


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
@given(st.lists(step, max_size=15))
def test_random_operations_beside_mem0s_default_store(steps: list[tuple[Any, ...]]) -> None:
    """Where both agree: whole payloads, an id that stays with its user, queries without words.

    Left out: `contains`, which compares words there if nothing is indexed, and `*`, which it ignores.
    """
    qdrant = pytest.importorskip("mem0.vector_stores.qdrant")
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    stock = qdrant.Qdrant("one", 3, client=client)
    ours = ScrubjayVectorStore("one", embedding_model_dims=3)
    whose: dict[str, str] = {}
    for name, *arguments in steps:
        if name == "search":
            vector, filters = arguments
            expected = {one.id: max(0.0, one.score) for one in stock.search("", vector, 100, filters)}
            found = {one.id: one.score for one in ours.search("", vector, 100, filters)}
            assert found == {id: pytest.approx(score, abs=2e-3) for id, score in expected.items()}, filters
            listed = {one.id: one.payload for one in ours.list(filters)[0]}
            assert listed == {one.id: one.payload for one in stock.list(filters)[0]}, filters
            continue
        id = arguments[0]
        if name != "delete":
            whose.setdefault(id, arguments[2]["user_id"])
        for each in (stock, ours):
            if name == "delete":
                each.delete(id)
            elif name == "insert":
                each.insert([arguments[1]], [{**arguments[2], "user_id": whose[id]}], [id])
            elif each.get(id) is not None:
                each.update(id, vector=arguments[1], payload={**arguments[2], "user_id": whose[id]})
        if name == "delete":
            whose.pop(id, None)
    client.close()


@pytest.mark.parametrize("verb", ["reset", "delete_col"])
@pytest.mark.parametrize("is_durable", [True, False])
def test_a_reset_erases_its_own_tenant_of_its_own_collection_only(
    tmp_path: Path, verb: str, is_durable: bool
) -> None:
    where: dict[str, Any] = (
        {"path": str(tmp_path / "m.scrubjay")} if is_durable else {"index": scrubjay.Index()}
    )
    acme, globex, alike, other = (
        ScrubjayVectorStore(name, tenant=tenant, **where)
        for name, tenant in (("c", "acme"), ("c", "globex"), ("c", "acme2"), ("d", "acme"))
    )
    for number, one in enumerate((acme, globex, alike, other)):
        rows = [
            {"data": f"plan {number} {i}", **whose}
            for i, whose in enumerate(({"user_id": "u"}, {"agent_id": "a"}, {}))
        ]
        one.insert([[1.0, 0.0]] * 3, rows, [f"{number}-{i}" for i in range(3)])
    getattr(acme, verb)()
    assert [len(one.list()[0]) for one in (acme, globex, alike, other)] == [0, 3, 3, 3]
    assert acme.search("plan", [1.0, 0.0]) == [] and len(globex.search("plan", [1.0, 0.0])) == 3
    acme.insert([[1.0, 0.0]], [{"data": "again", "user_id": "u"}], ["again"])  # still usable
    assert len(acme.list()[0]) == 1
    getattr(globex, verb)()
    assert [len(one.list()[0]) for one in (acme, globex, alike, other)] == [1, 0, 3, 3]


def test_a_reset_in_another_process_takes_nothing_from_a_tenant_that_is_about_to_write(
    tmp_path: Path,
) -> None:
    """Earlier versions dropped the collection although other tenants had it open."""
    path = tmp_path / "m.scrubjay"
    store = ScrubjayVectorStore("c", str(path), tenant="globex")
    code = (
        "from scrubjay.adapters.mem0 import ScrubjayVectorStore as S\n"
        f"s = S('c', {str(path)!r}, tenant='acme'); s.insert([[1.0, 0.0]], [{{'data': 'x'}}], ['a']); s.reset()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    store.insert([[1.0, 0.0]], [{"data": "plan 77", "user_id": "bob"}], ["m"])
    assert len(store.list()[0]) == 1
