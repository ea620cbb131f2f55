"""The LlamaIndex vector store: its modes, its scope, round trips of nodes, and the framework on top of it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStore,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import scrubjay
from scrubjay import Index, Query, Scope
from scrubjay.adapters.llama_index import ScrubjayVectorStore

MODE = VectorStoreQueryMode


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayVectorStore]:
    made = ScrubjayVectorStore(
        tmp_path / "s.scrubjay" if request.param == "file" else None, tenant="acme", dim=2
    )
    yield made
    made.close()


def write(store: ScrubjayVectorStore, *texts: str, document: str | None = None) -> None:
    source = {} if document is None else {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
    store.add(
        [
            TextNode(
                id_=text.split()[0],
                text=text,
                embedding=[1.0, float(i)],
                relationships=source,
                metadata={"i": i},
            )
            for i, text in enumerate(texts)
        ]
    )


def ask(store: ScrubjayVectorStore, **options: Any) -> list[str]:
    return store.query(VectorStoreQuery(**{"similarity_top_k": 10, **options})).ids  # type: ignore[return-value]


def known(store: ScrubjayVectorStore) -> list[str]:
    return [node.node_id for node in store.get_nodes()]


def test_the_store_implements_llama_indexs_vector_store(store: ScrubjayVectorStore) -> None:
    assert isinstance(store, BasePydanticVectorStore) and isinstance(store, VectorStore)
    assert store.stores_text and store.is_embedding_query
    assert store.client is store.client and isinstance(store.client, Index)


def test_nodes_come_back_whole(store: ScrubjayVectorStore) -> None:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1", metadata={"a": 1}, hash="h")}
    nodes = [
        TextNode(
            id_="a",
            text="tea \ud800",
            metadata={"n": 1, "tags": ["x", 5], "deep": {"a": [None]}, "none": None},
        ),
        TextNode(
            id_="b", text="", metadata={"doc_id": "mine", "_node": 5, "_node_type": "mine", "$x": 1, "": 2}
        ),
        TextNode(
            id_="c", text="tea", relationships=source, excluded_embed_metadata_keys=["n"], start_char_idx=3
        ),
        IndexNode(id_="d", text="tea", index_id="elsewhere"),
        ImageNode(id_="e", text="a picture", image="YWJj", image_path="p.png"),
        Document(id_="f", text="a document\x00", metadata={"created_at": "2026-03-01"}),
    ]
    for node in nodes:
        node.embedding = [1.0, 2.0]
    assert store.add(nodes) == list("abcdef")
    for given, back in zip(nodes, store.get_nodes(), strict=True):
        assert type(back) is type(given)
        assert back.model_dump(exclude={"embedding"}) == given.model_dump(exclude={"embedding"})
    found = store.query(VectorStoreQuery([1.0, 2.0], similarity_top_k=10)).nodes
    assert {node.node_id: node.metadata for node in found} == {node.node_id: node.metadata for node in nodes}  # type: ignore[union-attr]


def test_each_query_mode_ranks_by_its_own_arms(store: ScrubjayVectorStore) -> None:
    write(store, "key sk-stg-0041 for staging", "tea at five", "train at six")
    towards_train = {"query_embedding": [1.0, 2.0], "query_str": "sk-stg-0041"}
    assert (
        ask(store, **towards_train)
        == ["key", "train", "tea"]
        == ask(store, **towards_train, mode=MODE.HYBRID)
    )
    assert ask(store, query_embedding=[1.0, 2.0]) == ["train", "tea", "key"]
    for mode in (MODE.SPARSE, MODE.TEXT_SEARCH):
        assert ask(store, query_str="sk-stg-0041", mode=mode) == ["key"]
        assert ask(store, query_str="at", mode=mode, sparse_top_k=1, similarity_top_k=5) in (
            ["tea"],
            ["train"],
        )
    for mode in (MODE.HYBRID, MODE.SEMANTIC_HYBRID):
        assert ask(store, mode=mode, **towards_train) == ["key", "train", "tea"]
        assert ask(store, mode=mode, alpha=1.0, **towards_train) == ["train", "tea", "key"]
        assert ask(store, mode=mode, alpha=0.0, **towards_train) == ["key"]
        assert ask(store, mode=mode, alpha=0.5, hybrid_top_k=2, **towards_train) == ["key", "train"]
    scores = store.query(VectorStoreQuery(query_str="tea", mode=MODE.SPARSE)).similarities
    assert scores == [
        pytest.approx(store.client.search("tea", scope=Scope("acme"), query=Query(mode="lexical"))[0].score)
    ]


def test_mmr_trades_nearness_for_difference() -> None:
    random = np.random.default_rng(7)
    vectors = random.normal(size=(60, 8)) + 2.0
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = ScrubjayVectorStore()
    store.add([TextNode(id_=str(i), text="x", embedding=vector.tolist()) for i, vector in enumerate(vectors)])
    question = vectors[0] + vectors[1]
    question /= np.linalg.norm(question)
    nearest = ask(store, query_embedding=question.tolist(), similarity_top_k=8)
    likeness = []
    for threshold in (1.0, 0.5, 0.0):
        query = VectorStoreQuery(question.tolist(), similarity_top_k=8, mode=MODE.MMR)
        found = store.query(query, mmr_threshold=threshold)
        query.mmr_threshold = threshold
        assert store.query(query).ids == found.ids
        chosen = [int(id) for id in found.ids or []]
        assert len(set(chosen)) == 8 and str(chosen[0]) == nearest[0]
        assert found.similarities == pytest.approx((vectors[chosen] @ question).tolist(), abs=2e-3)
        likeness.append(float((vectors[chosen] @ vectors[chosen].T).mean()))
        assert threshold < 1.0 or found.ids == nearest
    assert likeness[0] > likeness[1] > likeness[2]
    unasked = VectorStoreQuery(question.tolist(), similarity_top_k=8, mode=MODE.MMR)
    assert store.query(unasked).ids == store.query(unasked, mmr_threshold=0.5).ids


def test_a_query_is_narrowed_to_ids_and_documents(store: ScrubjayVectorStore) -> None:
    write(store, "tea at five", "toast at five", document="d1")
    write(store, "train at six", document="d2")
    write(store, "stray at six")
    for options in ({"query_embedding": [1.0, 0.0]}, {"query_str": "at", "mode": MODE.SPARSE}):
        assert set(ask(store, doc_ids=["d1"], **options)) == {"tea", "toast"}
        assert set(ask(store, doc_ids=["d1", "d2"], node_ids=["tea", "train", "nobody"], **options)) == {
            "tea",
            "train",
        }
        assert ask(store, doc_ids=["d1"], node_ids=["train"], **options) == []
        assert ask(store, doc_ids=[], **options) == [] and len(ask(store, node_ids=[], **options)) == 4
        part = MetadataFilters(filters=[MetadataFilter(key="doc_id", value="d", operator="text_match")])
        assert set(ask(store, filters=part, node_ids=["tea", "stray"], **options)) == {"tea"}
    assert ask(store, query_embedding=[1.0, 0.0], similarity_top_k=0) == []


def test_delete_removes_the_nodes_of_a_document(store: ScrubjayVectorStore) -> None:
    write(store, "tea at five", "toast at five", document="d1")
    write(store, "train at six", "walk at six", document="d2")
    store.delete("d3")
    store.delete("d1")
    assert known(store) == ["train", "walk"]
    store.delete_nodes(["walk", "nobody"])
    store.delete_nodes([])
    assert known(store) == ["train"]
    with pytest.raises(ValueError, match="clear"):
        store.delete_nodes()
    write(store, "train at seven")
    assert [node.get_content() for node in store.get_nodes(["train", "nobody"])] == ["train at seven"]
    store.clear()
    assert known(store) == []


def test_a_scope_reads_shared_nodes_and_changes_only_its_own() -> None:
    index = Index()
    shared, jane, joe = (
        ScrubjayVectorStore(index=index, tenant="acme", user=user) for user in (None, "jane", "joe")
    )
    write(shared, "tea at five", document="d1")
    write(jane, "jam at five", document="d1")
    write(joe, "joke at five", document="d1")
    assert sorted(known(jane)) == ["jam", "tea"] == sorted(ask(jane, query_str="five", mode=MODE.SPARSE))
    jane.delete("d1")
    jane.delete_nodes(["tea", "joke"])
    assert (known(jane), known(joe)) == (["tea"], ["tea", "joke"])
    write(jane, "joke at six")  # joe has one with the same id, which neither notices
    write(jane, "tea at six")
    assert [node.get_content() for node in jane.get_nodes(["joke", "tea"])] == [
        "tea at five",
        "joke at six",
        "tea at six",
    ]
    jane.delete_nodes(["tea"])
    jane.clear()
    assert known(joe) == ["tea", "joke"] and joe.get_nodes(["joke"])[0].get_content() == "joke at five"
    assert ScrubjayVectorStore(index=index, tenant="globex").get_nodes() == []


HOSTILE = [
    "acme'--",
    "acme%",
    "acm_",
    "*",
    "ACME",
    "аcme",
    "acme\x00",
    "acme1",
    "acm",
    "{}",
    "$or",
    "a" * 9000,
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_find_nothing_of_others(hostile: str) -> None:
    index = Index()
    acme = ScrubjayVectorStore(index=index, tenant="acme", user="acme")
    write(acme, "tea at five", document="acme")
    for other in (
        ScrubjayVectorStore(index=index, tenant=hostile, user="acme"),
        ScrubjayVectorStore(index=index, tenant="acme", user=hostile),
        ScrubjayVectorStore(index=index, tenant="acme", agent=hostile),
    ):
        condition = MetadataFilters(
            filters=[MetadataFilter(key="i", value=0), MetadataFilter(key=hostile, value=hostile)],
            condition="or",
        )
        for options in (
            {},
            {"filters": condition},
            {"node_ids": ["tea", hostile]},
            {"doc_ids": ["acme", hostile]},
        ):
            assert ask(other, query_embedding=[1.0, 0.0], query_str="tea", mode=MODE.HYBRID, **options) == []
        other.delete("acme")
        other.delete_nodes(["tea"], condition)
        other.clear()
    acme.delete(hostile)
    acme.delete_nodes([hostile])
    assert known(acme) == ["tea"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mode": MODE.SVM, "query_embedding": [1.0, 0.0]}, "mode.*'svm'"),
        ({"mode": "guess", "query_embedding": [1.0, 0.0]}, "mode.*'guess'"),
        ({"mode": "sparse"}, "query_str.*'sparse'"),
        ({"mode": MODE.DEFAULT, "query_str": "tea"}, "query_embedding"),
        ({"mode": MODE.SPARSE, "query_embedding": [1.0, 0.0]}, "query_str"),
        ({"mode": MODE.HYBRID, "query_embedding": [1.0, 0.0], "alpha": 1.5}, "alpha.*1.5"),
        ({"query_embedding": [1.0, 0.0, 0.0]}, "vector"),
        ({"query_embedding": [1.0, 0.0], "similarity_top_k": -1}, "k"),
        ({"query_embedding": [1.0, 0.0], "mode": MODE.MMR, "mmr_threshold": 7.0}, "mmr"),
    ],
)
def test_a_wrong_query_is_named(store: ScrubjayVectorStore, options: dict[str, Any], named: str) -> None:
    write(store, "tea at five")
    with pytest.raises(ValueError, match=named):
        ask(store, **options)


def test_a_wrong_node_writes_nothing(store: ScrubjayVectorStore) -> None:
    good = TextNode(id_="a", text="tea", embedding=[1.0, 0.0])
    for wrong, named in (
        (TextNode(text="x", embedding=[1.0]), "vector"),
        (TextNode(text="x", embedding=[1.0, float("nan")]), "vector"),
        ("x", "nodes"),
    ):
        with pytest.raises((TypeError, ValueError), match=named):
            store.add([good, wrong])  # type: ignore[list-item]
    assert known(store) == []


def test_nodes_without_a_direction_are_found_by_their_words(store: ScrubjayVectorStore) -> None:
    store.add([TextNode(id_="a", text="tea", embedding=[0.0, 0.0]), TextNode(id_="b", text="tea")])
    assert ask(store, query_embedding=[1.0, 0.0]) == []
    assert set(ask(store, query_embedding=[1.0, 0.0], query_str="tea", mode=MODE.HYBRID)) == {"a", "b"}


def test_an_index_with_an_embedder_embeds_nodes_without_a_vector() -> None:
    index = Index(embedder=scrubjay.embedders.default())
    store = ScrubjayVectorStore(index=index)
    store.add(
        [
            TextNode(id_="a", text="otherwise she lies awake"),
            TextNode(id_="b", text="invoices go out on Mondays"),
        ]
    )
    assert ask(store, query_str="trouble sleeping")[0] == "a"


def test_the_comparison_with_the_simple_store_runs() -> None:
    from benchmarks.adapters.llama_index import run

    unfiltered, filtered, *ours = run(200, 25)
    assert unfiltered.foreign > 0 and filtered.found < 1.0
    assert [row.found_first for row in ours if "hybrid" in row.store] == [1.0, 1.0]
    assert sum(row.foreign for row in ours) == 0


def test_files_and_persisting(tmp_path: Path) -> None:
    path = str(tmp_path / "s.scrubjay")
    one, other = (
        ScrubjayVectorStore(path),
        ScrubjayVectorStore.from_params(path, "other", Scope("acme", user="jane")),
    )
    write(one, "tea at five")
    write(other, "train at six")
    one.persist(str(tmp_path / "elsewhere"))
    assert not (tmp_path / "elsewhere").exists()
    one.close()
    other.close()
    with pytest.raises(scrubjay.ClosedError):
        one.get_nodes()
    assert known(ScrubjayVectorStore.from_persist_path(path)) == ["tea"]
    assert known(ScrubjayVectorStore(path, "other", tenant="acme", user="jane")) == ["train"]
    with pytest.raises(FileNotFoundError, match="persist_path"):
        ScrubjayVectorStore.from_persist_path(str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="user"):
        ScrubjayVectorStore.from_params(path, scope=Scope("acme"), user="jane")
    with pytest.raises(ValueError, match="path, index"):
        ScrubjayVectorStore(path, index=Index())


def test_a_store_in_memory_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "default__vector_store.json"
    store = ScrubjayVectorStore()
    write(store, "tea at five", "train at six")
    store.add([TextNode(id_="plain", text="no vector")])
    for _ in range(2):
        store.persist(str(target))
    assert list(target.parent.iterdir()) == [target]
    again = ScrubjayVectorStore.from_persist_path(str(target))
    assert known(again) == known(store)
    before, after = (one.client.get("train", scope=Scope("llama_index")) for one in (store, again))
    assert after.vector == pytest.approx(before.vector)  # type: ignore[union-attr]
    with pytest.raises(scrubjay.StoreError, match="persist_path"):
        store.persist(str(target))
    again.close()
    store.persist(str(target))
    with pytest.raises(ValueError, match="fs"):
        store.persist(str(target), fs=object())


def test_the_settings_serialise_and_the_nodes_do_not(tmp_path: Path) -> None:
    store = ScrubjayVectorStore(tmp_path / "s.scrubjay", tenant="acme", user="jane")
    write(store, "tea at five")
    described = store.to_dict()
    assert described["class_name"] == "ScrubjayVectorStore" and "tea" not in str(described)
    assert known(ScrubjayVectorStore.from_dict(described)) == ["tea"]


def test_a_misspelt_owner_is_no_owner(tmp_path: Path) -> None:
    path = str(tmp_path / "s.scrubjay")
    ScrubjayVectorStore(path).close()
    for make in (ScrubjayVectorStore, ScrubjayVectorStore.from_params, ScrubjayVectorStore.from_persist_path):
        with pytest.raises(TypeError, match="usr: unexpected keyword argument"):
            make(path, tenant="acme", usr="jane")


def test_the_asynchronous_methods_do_not_block_the_loop(
    store: ScrubjayVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()

    def watched(name: str) -> None:
        method = getattr(ScrubjayVectorStore, name)

        def slow(self: Any, *arguments: Any, **options: Any) -> Any:
            threads.add(threading.get_ident())
            time.sleep(0.02)
            return method(self, *arguments, **options)

        monkeypatch.setattr(ScrubjayVectorStore, name, slow)

    for name in ("add", "delete", "delete_nodes", "clear", "get_nodes", "query"):
        watched(name)

    async def work() -> None:
        nodes = [TextNode(id_=str(i), text=f"tea {i}", embedding=[1.0, float(i)]) for i in range(4)]
        await asyncio.gather(*(store.async_add([node]) for node in nodes))
        found = await store.aquery(VectorStoreQuery([1.0, 0.0], similarity_top_k=10))
        assert found.ids == ["0", "1", "2", "3"]
        await store.adelete_nodes(["0"])
        await store.adelete("None")  # the framework's name for nodes without a document
        assert await store.aget_nodes() == []
        await store.async_add(nodes)
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(work())
    assert threads and threading.get_ident() not in threads


class Topics(BaseEmbedding):
    """Texts about tea have one direction, all others another."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0, 0.1] if "tea" in text else [0.1, 1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_threads_that_add_query_and_delete(store: ScrubjayVectorStore) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                node = TextNode(id_=f"{number}.{turn}", text=f"tea {number}", embedding=[1.0, float(number)])
                store.add([node])
                question = {"query_str": "tea", "query_embedding": [1.0, float(number)], "mode": "hybrid"}
                assert node.node_id in ask(store, similarity_top_k=100, **question)
                if turn % 2:
                    store.delete_nodes([node.node_id])
                    assert store.get_nodes([node.node_id]) == []
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and len(known(store)) == 20


def test_under_the_frameworks_index(store: ScrubjayVectorStore) -> None:
    documents = [
        Document(id_="d1", text="Tea is at five. tea", metadata={"kind": "habit"}),
        Document(id_="d2", text="The staging key is sk-stg-0041.", metadata={"kind": "key"}),
        Document(id_="d3", text="The production key is sk-prd-0007.", metadata={"kind": "key"}),
    ]
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=Topics())
    question = "tea, and what is sk-stg-0041?"

    def texts(**options: Any) -> list[str]:
        return [found.text for found in index.as_retriever(**options).retrieve(question)]

    assert "sk-stg-0041" not in texts(similarity_top_k=1, vector_store_query_mode="mmr")[0]
    assert "sk-stg-0041" in texts(similarity_top_k=1)[0]  # with the default mode
    assert "sk-stg-0041" in texts(similarity_top_k=1, vector_store_query_mode="hybrid")[0]
    keys = MetadataFilters(filters=[MetadataFilter(key="kind", value="key")])
    assert len(texts(similarity_top_k=5, filters=keys)) == 2
    again = VectorStoreIndex.from_vector_store(store, embed_model=Topics())
    again.delete_ref_doc("d2")
    assert all(
        "sk-stg-0041" not in text for text in texts(similarity_top_k=5, vector_store_query_mode="sparse")
    )
    assert sorted(node.ref_doc_id for node in store.get_nodes()) == ["d1", "d3"]  # type: ignore[type-var]
    again.insert(Document(id_="d4", text="tea at six"))
    assert asyncio.run(again.as_retriever(vector_store_query_mode="mmr").aretrieve("tea"))[
        0
    ].score == pytest.approx(1.0, abs=2e-3)


VERBS = {
    "delete": "store.delete('doc')",
    "delete_nodes": "store.delete_nodes([str(i) for i in range(500)])",
    "delete by filter": "store.delete_nodes(filters=Filters(filters=[Condition(key='i', value=0, operator='>=')]))",
    "delete_ref_doc": "VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(2)).delete_ref_doc('doc')",
}
IN_A_CHILD = """
import os, signal, sys
from contextlib import contextmanager
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.vector_stores.types import MetadataFilter as Condition, MetadataFilters as Filters
from scrubjay.adapters.llama_index import ScrubjayVectorStore
from scrubjay.store.sqlite.store import SqliteStore

class Counted(SqliteStore):
    def writing(self, doing, **options):
        @contextmanager
        def counted():
            with whole(self, doing, **options) as transaction:
                yield transaction
            if doing == "deleting":
                os.kill(os.getpid(), signal.SIGKILL)  # after the first commit
        return counted()

store = ScrubjayVectorStore(sys.argv[1], tenant="acme")
whole, SqliteStore.writing = SqliteStore.writing, Counted.writing
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("verb", VERBS)
def test_a_document_of_500_nodes_is_deleted_in_one_commit(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "s.scrubjay"
    with_other = ScrubjayVectorStore(path, tenant="acme", dim=2)
    write(with_other, *(f"{i} oak" for i in range(500)), document="doc")
    write(with_other, "other oak", document="another")
    other_user = ScrubjayVectorStore(path, tenant="acme", user="joe", dim=2)
    write(other_user, "joe oak", document="doc")
    with_other.delete_nodes(["other"]) if verb == "delete by filter" else None
    with_other.close()
    other_user.close()
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD + VERBS[verb], path], check=False)
    assert done.returncode == -signal.SIGKILL
    with Index.open(path) as index:
        left = index.collection("llama_index")
        assert [record.id for record in left.list(Scope("acme"))] == (
            ["other"] if verb != "delete by filter" else []
        )
        assert left.count(Scope("acme", user="joe")) == left.count(Scope("acme")) + 1
        assert left.admin.check().problems == []


def test_the_frameworks_default_retriever_finds_identifiers() -> None:
    """`index.as_retriever()` uses DEFAULT: vectors alone lose an identifier, words find it."""
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

    nodes = [
        TextNode(id_=f"n{i}", text=f"The key of project {i} is sk-stg-{i:04}", embedding=[1.0, i / 1000])
        for i in range(200)
    ]
    by_mode = {}
    for mode in ("hybrid", "vector"):
        store = ScrubjayVectorStore(tenant="acme", default_mode=mode)
        store.add(nodes)
        asked = VectorStoreQuery([1.0, 0.0], 1, query_str="sk-stg-0041")
        assert asked.mode == VectorStoreQueryMode.DEFAULT
        by_mode[mode] = store.query(asked).ids
        assert store.query(VectorStoreQuery([1.0, 0.0], 1)).ids == ["n0"]  # without a text, the nearest
        assert ScrubjayVectorStore.from_dict(store.to_dict()).default_mode == mode
    assert by_mode == {"hybrid": ["n41"], "vector": ["n0"]}
    with pytest.raises(ValueError, match="default_mode"):
        ScrubjayVectorStore(default_mode="words")


def test_a_document_is_deleted_in_one_commit(tmp_path: Path) -> None:
    store = ScrubjayVectorStore(tmp_path / "a", tenant="acme")
    nodes = [TextNode(id_=f"n{i}", text=f"chunk {i}", embedding=[1.0, i / 1000]) for i in range(500)]
    for node in nodes:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="doc")
    store.add(nodes)
    before = len(store.client.admin.events())
    store.delete("doc")
    assert len(store.client) == 0 and len(store.client.admin.events()) == before + 1
    store.add(nodes)
    store.delete_nodes([node.node_id for node in nodes])
    assert len(store.client) == 0 and len(store.client.admin.events()) == before + 2
