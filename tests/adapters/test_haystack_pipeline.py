"""The store and its retrievers as parts of pipelines: run, serialised, restored, awaited."""

from __future__ import annotations

import asyncio
import doctest
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline, component
from haystack.components.caching import CacheChecker
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers import FilterRetriever, MultiQueryTextRetriever, SentenceWindowRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from hypothesis import given
from hypothesis import strategies as st

import scrubjay
import scrubjay.adapters.haystack as haystack_adapter
from scrubjay.adapters.haystack import (
    ScrubjayBM25Retriever,
    ScrubjayDocumentStore,
    ScrubjayEmbeddingRetriever,
    ScrubjayHybridRetriever,
)

TEXTS = [
    "The staging API key prefix is sk-stg-0041.",
    "The production API key prefix is sk-prd-0042.",
    "Lies awake after espresso.",
    "Invoices go out on the first Monday.",
]
RETRIEVERS = [ScrubjayBM25Retriever, ScrubjayEmbeddingRetriever, ScrubjayHybridRetriever]


@component
class Embed:
    """An embedder component for pipelines."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": scrubjay.embedders.default().embed_query(text).tolist()}


def documents() -> list[Document]:
    vectors = scrubjay.embedders.default().embed_documents(TEXTS)
    return [
        Document(id=str(n), content=text, embedding=vector.tolist(), meta={"n": n})
        for n, (text, vector) in enumerate(zip(TEXTS, vectors, strict=True))
    ]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with ScrubjayDocumentStore(str(tmp_path / "documents.scrubjay"), tenant="acme") as store:
        store.write_documents(documents())
        yield store


def hybrid_pipeline(store: ScrubjayDocumentStore) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embed", Embed())
    pipeline.add_component("retriever", ScrubjayHybridRetriever(store, top_k=2))
    pipeline.connect("embed.embedding", "retriever.query_embedding")
    return pipeline


def test_a_pipeline_with_an_embedder(store: ScrubjayDocumentStore) -> None:
    for query, id in (("what is sk-stg-0041?", "0"), ("trouble sleeping", "2")):
        result = hybrid_pipeline(store).run({"embed": {"text": query}, "retriever": {"query": query}})
        assert result["retriever"]["documents"][0].id == id
        assert len(result["retriever"]["documents"]) == 2


def test_an_indexing_pipeline() -> None:
    store = ScrubjayDocumentStore()
    pipeline = Pipeline()
    pipeline.add_component("writer", DocumentWriter(store, policy=DuplicatePolicy.SKIP))
    assert pipeline.run({"writer": {"documents": documents()}})["writer"]["documents_written"] == 4
    assert pipeline.run({"writer": {"documents": documents()}})["writer"]["documents_written"] == 0
    copy = Pipeline.loads(pipeline.dumps())
    assert copy.to_dict() == pipeline.to_dict()


def test_a_pipeline_read_from_yaml_finds_what_was_written(store: ScrubjayDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", ScrubjayHybridRetriever(store, top_k=2, scrubjay_query={"mmr": 0.9}))
    copy = Pipeline.loads(pipeline.dumps())
    assert copy.to_dict() == pipeline.to_dict()
    found = copy.run({"retriever": {"query": "sk-stg-0041"}})["retriever"]["documents"]
    assert found[0].id == "0"
    copy.get_component("retriever").document_store.close()
    assert store.count_documents() == 4  # the file is still open


def test_the_integrations_namespace_has_the_same_classes() -> None:
    from haystack_integrations.components.retrievers import scrubjay as retrievers
    from haystack_integrations.document_stores import scrubjay as stores

    assert stores.ScrubjayDocumentStore is ScrubjayDocumentStore
    assert [getattr(retrievers, kind.__name__) for kind in RETRIEVERS] == RETRIEVERS
    for cls in (ScrubjayDocumentStore, *RETRIEVERS):
        assert cls.__module__.startswith("haystack_integrations.")
        for example in doctest.DocTestFinder().find(cls, cls.__name__, globs=vars(haystack_adapter).copy()):
            example.globs.update(Document=Document)
            assert doctest.DocTestRunner().run(example).failed == 0
    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'wheel.packages = ["python/scrubjay", "python/haystack_integrations"]' in project


def test_pipelines_of_earlier_versions_are_read_if_it_is_allowed(store: ScrubjayDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", ScrubjayBM25Retriever(store))
    text = pipeline.dumps()
    before = text.replace(
        "haystack_integrations.components.retrievers.scrubjay.", "scrubjay.adapters.haystack.retrievers."
    ).replace("haystack_integrations.document_stores.scrubjay.", "scrubjay.adapters.haystack.store.")
    assert before != text
    with pytest.raises(Exception, match="scrubjay"):
        Pipeline.loads(before)
    copy = Pipeline.loads(before, allowed_modules=["scrubjay.*"])
    assert copy.dumps() == text
    copy.get_component("retriever").document_store.close()


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_components_come_back_from_their_dicts(kind: Any, store: ScrubjayDocumentStore) -> None:
    filters = {"field": "meta.n", "operator": ">", "value": 1}
    retriever = kind(store, filters=filters, top_k=3, return_embedding=True, filter_policy=FilterPolicy.MERGE)
    data = retriever.to_dict()
    assert data["type"] == f"haystack_integrations.components.retrievers.scrubjay.{kind.__name__}"
    copy = kind.from_dict(data)
    assert copy.to_dict() == data == retriever.to_dict()
    assert copy.document_store.count_documents() == 4
    copy.document_store.close()
    with pytest.raises(Exception, match="can't be deserialized"):
        kind.from_dict(
            {**data, "init_parameters": {**data["init_parameters"], "document_store": {"type": "os.x"}}}
        )


def test_stores_come_back_from_their_dicts(tmp_path: Path) -> None:
    path = str(tmp_path / "documents.scrubjay")
    options = {"user": "jane", "agent": "a", "embedding_similarity_function": "dot_product", "dtype": "f16"}
    with ScrubjayDocumentStore(
        path, tenant="acme", collection="notes", embedder="default", **options
    ) as store:
        store.write_documents([Document(id="1", content="Prefers trains.")])
        with ScrubjayDocumentStore.from_dict(store.to_dict()) as copy:
            assert copy.to_dict() == store.to_dict() and copy.filter_documents() == store.filter_documents()
    with scrubjay.Index.open(tmp_path / "native.scrubjay") as index:
        over = ScrubjayDocumentStore(index=index.collection("x"), tenant="acme")
        over.write_documents([Document(id="1", content="Prefers trains.")])
        assert over.to_dict()["init_parameters"]["path"] == str(index.path)
        assert over.to_dict()["init_parameters"]["collection"] == "x"
    assert ScrubjayDocumentStore.from_dict(ScrubjayDocumentStore().to_dict()).count_documents() == 0
    with pytest.raises(ValueError, match="cannot be serialised"):
        ScrubjayDocumentStore(index=scrubjay.Index()).to_dict()


def test_run_time_arguments_override_those_of_the_constructor(store: ScrubjayDocumentStore) -> None:
    above = {"field": "meta.n", "operator": ">=", "value": 1}
    below = {
        "field": "id",
        "operator": "in",
        "value": ["0", "1"],
    }  # for the same field, Haystack's merge keeps this one
    replaced = ScrubjayBM25Retriever(store, filters=above)
    merged = ScrubjayBM25Retriever(store, filters=above, filter_policy="merge")

    def ids(retriever: Any, **given: Any) -> list[str]:
        return [document.id for document in retriever.run("API key prefix", **given)["documents"]]

    assert sorted(ids(ScrubjayBM25Retriever(store))) == ["0", "1"]
    assert ids(replaced) == ["1"] and sorted(ids(replaced, filters=below)) == ["0", "1"]
    assert ids(merged, filters=below) == ["1"]
    assert len(ids(ScrubjayBM25Retriever(store), top_k=1)) == 1 and ids(replaced, top_k=0) == []
    (found,) = ScrubjayBM25Retriever(store, scale_score=True).run("sk-stg-0041", top_k=1)["documents"]
    assert 0.5 < found.score < 1.0 and found.embedding is None
    (found,) = ScrubjayBM25Retriever(store).run("sk-stg-0041", top_k=1, return_embedding=True)["documents"]
    assert found.score > 1.0 and found.embedding == documents()[0].embedding


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_invalid_arguments_of_retrievers_are_refused(kind: Any, store: ScrubjayDocumentStore) -> None:
    with pytest.raises(TypeError, match="document_store: expected a ScrubjayDocumentStore"):
        kind(InMemoryDocumentStore())
    for top_k in (0, -1, True, 2.5):
        with pytest.raises(ValueError, match="top_k"):
            kind(store, top_k=top_k)
    query = [1.0] + [0.0] * 255 if kind is ScrubjayEmbeddingRetriever else "x"
    with pytest.raises(ValueError, match="top_k"):
        kind(store).run(query, top_k=-1)
    for bad in ([], "", None, ["a"], [[1.0]], [1.0, 2.0], [float("nan")] * 256, object()):
        if kind is not ScrubjayEmbeddingRetriever and isinstance(bad, str | list):
            continue
        with pytest.raises(ValueError, match=r"query|vector"):
            kind(store).run(bad)
    for bad in ([], ["a"], [1.0, 2.0], [float("nan")] * 256):
        with pytest.raises(ValueError, match=r"query_embedding|vector"):
            ScrubjayHybridRetriever(store).run("x", bad)
    with pytest.raises(ValueError, match=r"scope: unknown in a query, expected fusion, "):
        kind(store, scrubjay_query={"scope": "globex"})
    with pytest.raises(ValueError, match="embedding_similarity_function: expected cosine"):
        ScrubjayDocumentStore(embedding_similarity_function="hamming")


def test_the_zero_vector_is_near_to_nothing(store: ScrubjayDocumentStore) -> None:
    zero = [0.0] * 256
    assert store.embedding_retrieval(zero) == []
    assert store.hybrid_retrieval("sk-stg-0041", zero) == store.bm25_retrieval("sk-stg-0041")


def test_a_store_with_an_embedder_needs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "documents.scrubjay")
    with ScrubjayDocumentStore(path, embedder="default") as store:
        store.write_documents([Document(id=str(n), content=text) for n, text in enumerate(TEXTS)])
        assert store.hybrid_retrieval("trouble sleeping", top_k=1)[0].id == "2"
        # The vectors belong to the store, not to the documents.
        assert [document.embedding for document in store.filter_documents()] == [None] * 4
        with monkeypatch.context() as patched:  # existing embeddings are not made again
            patched.setattr(type(store.index.embedder), "embed_documents", None)
            assert store.update_by_filter({"field": "id", "operator": "==", "value": "2"}, {"n": 2}) == 1
        assert store.hybrid_retrieval("trouble sleeping", top_k=1)[0].meta == {"n": 2}
    with ScrubjayDocumentStore(path) as store:  # without an embedder only words are searched
        assert store.hybrid_retrieval("trouble sleeping") == []
        assert store.hybrid_retrieval("espresso")[0].id == "2"


@given(data=st.data(), metric=st.sampled_from(["cosine", "dot_product"]))
def test_embedding_retrieval_is_that_of_the_store_in_memory(data: st.DataObject, metric: str) -> None:
    numbers = st.integers(-4, 4).map(float)
    vectors = st.lists(numbers, min_size=3, max_size=3)
    written = [
        Document(id=str(n), content="x", embedding=embedding, meta={"n": n % 3})
        for n, embedding in enumerate(data.draw(st.lists(st.none() | vectors, max_size=8)))
    ]
    theirs = InMemoryDocumentStore(embedding_similarity_function=metric, shared=False)
    ours = ScrubjayDocumentStore(embedding_similarity_function=metric)
    theirs.write_documents(written)
    ours.write_documents(written)
    query = data.draw(vectors.filter(any))
    filters = data.draw(st.none() | st.just({"field": "meta.n", "operator": "!=", "value": 1}))
    top_k, scale = data.draw(st.integers(1, 9)), data.draw(st.booleans())
    # The zero vector, which is near to nothing here, scores 0 there.
    expected = theirs.embedding_retrieval(query, filters, 100, scale, return_embedding=True)
    expected = [one for one in expected if any(one.embedding)][:top_k]
    found = ours.embedding_retrieval(query, filters, top_k, scale, return_embedding=True)
    # Equal scores come in another order there.
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-6)
    scores = {one.id: one.score for one in theirs.embedding_retrieval(query, None, 100, scale)}
    for one in found:
        assert one.score == pytest.approx(scores[one.id], abs=1e-6)
        assert one.embedding == written[int(one.id)].embedding


def test_bm25_retrieval_finds_the_documents_of_the_store_in_memory() -> None:
    """Their BM25L and our BM25 score differently; for whole words both find the same documents."""
    theirs, ours = InMemoryDocumentStore(shared=False), ScrubjayDocumentStore()
    words = ["alpha", "beta", "gamma", "delta"]
    written = [
        Document(id=str(n), content=" ".join(words[i] for i in range(4) if n >> i & 1)) for n in range(1, 16)
    ]
    for store in (theirs, ours):
        store.write_documents(written)
    for query in ("alpha", "alpha gamma", "delta beta alpha", "nothing"):
        for filters in (None, {"field": "content", "operator": "!=", "value": "alpha"}):
            expected = {document.id for document in theirs.bm25_retrieval(query, filters, top_k=20)}
            assert {document.id for document in ours.bm25_retrieval(query, filters, top_k=20)} == expected


def test_the_stock_hybrid_and_ours() -> None:
    """Two retrievers and a joiner there are one component here, which finds the identifier first."""
    stock = InMemoryDocumentStore(embedding_similarity_function="cosine", shared=False)
    ours = ScrubjayDocumentStore()
    query = "what is sk-stg-0041?"
    for store in (stock, ours):
        store.write_documents(documents())
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(stock))
    pipeline.add_component("vectors", InMemoryEmbeddingRetriever(stock))
    pipeline.add_component("joiner", DocumentJoiner("reciprocal_rank_fusion"))
    pipeline.connect("words", "joiner")
    pipeline.connect("vectors", "joiner")
    embedding = Embed().run(query)["embedding"]
    joined = pipeline.run({"words": {"query": query}, "vectors": {"query_embedding": embedding}})["joiner"][
        "documents"
    ]
    found = ScrubjayHybridRetriever(ours).run(query, embedding)["documents"]
    assert {document.id for document in found} == {document.id for document in joined}
    assert found[0].id == "0"


def test_haystacks_own_components_over_the_store(store: ScrubjayDocumentStore) -> None:
    """The components that take any document store, or any retriever of its kind."""
    assert len(FilterRetriever(store).run({"field": "meta.n", "operator": ">", "value": 1})["documents"]) == 2
    several = MultiQueryTextRetriever(retriever=ScrubjayBM25Retriever(store, top_k=1))
    found = several.run(queries=["sk-stg-0041", "espresso"])["documents"]
    assert {document.id for document in found} == {"0", "2"}
    checker = CacheChecker(store, cache_field="meta.n")
    assert checker.run([1, 9]) == {"hits": store.filter_documents()[1:2], "misses": [9]}
    parts = DocumentSplitter(split_by="word", split_length=2, split_overlap=0).run(
        [Document(content="one two three four five six seven eight")]
    )["documents"]
    store.write_documents(parts)
    window = SentenceWindowRetriever(store, window_size=1)
    (hit,) = store.bm25_retrieval("five", top_k=1)
    assert window.run([hit])["context_windows"] == ["three four five six seven eight"]


def test_an_async_pipeline(store: ScrubjayDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("bm25", ScrubjayBM25Retriever(store, top_k=1))
    pipeline.add_component("near", ScrubjayEmbeddingRetriever(store, top_k=1))
    pipeline.add_component("hybrid", ScrubjayHybridRetriever(store, top_k=1))
    embedding = documents()[0].embedding
    inputs = {
        "bm25": {"query": "sk-stg-0041"},
        "near": {"query_embedding": embedding},
        "hybrid": {"query": "sk-stg-0041", "query_embedding": embedding},
    }
    result = asyncio.run(pipeline.run_async(inputs))
    assert {name: one["documents"][0].id for name, one in result.items()} == {
        "bm25": "0",
        "near": "0",
        "hybrid": "0",
    }


def test_the_event_loop_goes_on(store: ScrubjayDocumentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every async method runs on another thread than the loop's."""
    threads: list[threading.Thread] = []
    names = [name.removesuffix("_async") for name in dir(ScrubjayDocumentStore) if name.endswith("_async")]
    assert len(names) == 15
    for name in names:
        monkeypatch.setattr(store, name, lambda *_, **__: threads.append(threading.current_thread()))
    arguments: dict[str, tuple[Any, ...]] = {
        "update_by_filter": ({}, {}),
        "count_unique_metadata_by_filter": ({}, []),
        "embedding_retrieval": ([1.0],),
    }

    async def call_all() -> None:
        for name in names:
            function = getattr(store, f"{name}_async")
            without = name in ("count_documents", "delete_all_documents", "get_metadata_fields_info")
            await function(*arguments.get(name, () if without else ("x",)))

    asyncio.run(call_all())
    assert len(threads) == len(names) and threading.main_thread() not in threads


def test_stores_over_one_file_share_it(tmp_path: Path) -> None:
    path = str(tmp_path / "documents.scrubjay")
    one, other = ScrubjayDocumentStore(path), ScrubjayDocumentStore(path)
    notes = ScrubjayDocumentStore(path, collection="notes")
    one.write_documents(documents())
    notes.write_documents([Document(id="0", content="Another collection.")])
    one.close()
    one.close()
    with pytest.raises(scrubjay.ClosedError):
        one.count_documents()
    assert other.count_documents() == 4 and notes.count_documents() == 1
    other.close()
    notes.close()
    with scrubjay.Index.open(path) as index:
        assert index.admin.collections() == ["haystack", "notes"]


def test_half_the_memory_and_other_metrics() -> None:
    rng = np.random.default_rng(3)
    for metric in ("cosine", "dot_product", "l2"):
        for dtype in ("f16", "f32"):
            store = ScrubjayDocumentStore(embedding_similarity_function=metric, dtype=dtype)
            vectors = rng.standard_normal((20, 8))
            store.write_documents(
                [
                    Document(id=str(n), content="x", embedding=vector.tolist())
                    for n, vector in enumerate(vectors)
                ]
            )
            found = store.embedding_retrieval(vectors[7].tolist(), scale_score=True, top_k=20)
            if metric != "dot_product":
                assert found[0].id == "7" and found[0].score == pytest.approx(1.0, abs=1e-2)
            assert all(0.0 <= one.score <= 1.0 + 1e-6 for one in found)
            assert sorted(found, key=lambda one: -one.score) == found
