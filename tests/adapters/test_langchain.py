"""The vector store fulfils LangChain's interface, and finds documents that a pure vector store would lose."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex
from langchain_core.indexing import index as index_documents
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import scrubjay
from scrubjay import Query, Scope
from scrubjay.adapters.langchain import ScrubjayEmbeddings, ScrubjayRetriever, ScrubjayVectorStore

NEAR, WORDS = Query(mode="vector"), Query(mode="lexical")
TEXTS = [
    "The staging API key prefix is sk-stg-0041.",
    "The production API key prefix is sk-prd-0042.",
    "Lies awake after espresso.",
    "Invoices go out on the first Monday.",
]
METADATAS = [{"n": n, "tags": ["even" if n % 2 == 0 else "odd"]} for n in range(4)]


class Recorded(Embeddings):
    """Embeddings that count their calls, can fail, and record their thread."""

    def __init__(self, size: int = 8, model: str = "m") -> None:
        self.inner = DeterministicFakeEmbedding(size=size)
        self.model = model
        self.calls: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.failing = False

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.threads.add(threading.current_thread())
        if self.failing:
            raise ConnectionError("the endpoint is down")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._called("embed_documents")
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self._called("embed_query")
        return self.inner.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self._called("aembed_documents")
        return self.inner.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self._called("aembed_query")
        return self.inner.embed_query(text)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayVectorStore]:
    path = tmp_path / "documents.scrubjay" if request.param == "file" else None
    with ScrubjayVectorStore(ScrubjayEmbeddings(), path=path, scope=Scope("acme", user="jane")) as store:
        store.add_texts(TEXTS, METADATAS, ids=["0", "1", "2", "3"])
        yield store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


# ---------------------------------------------------------------------- searching


def test_identifiers_and_paraphrases_are_found(store: ScrubjayVectorStore) -> None:
    assert ids(store.similarity_search("what is sk-stg-0041?", k=1)) == ["0"]
    assert ids(store.similarity_search("trouble sleeping", k=1)) == ["2"]
    assert ids(store.similarity_search("sk-prd-0042", k=1, scrubjay_query=WORDS)) == ["1"]
    assert store.similarity_search("trouble sleeping", scrubjay_query=WORDS) == []


def test_ways_to_ask_agree(store: ScrubjayVectorStore) -> None:
    query = "API key for staging"
    found = store.similarity_search(query, k=3)
    assert store.search(query, "similarity", k=3) == found
    assert [document for document, _ in store.similarity_search_with_score(query, k=3)] == found
    assert [document for document, _ in store.similarity_search_with_relevance_scores(query, k=3)] == found
    assert store.as_retriever(search_kwargs={"k": 3}).invoke(query) == found
    assert ScrubjayRetriever(vectorstore=store, k=3).invoke(query) == found
    assert ScrubjayRetriever(vectorstore=store).invoke(query, k=3) == found
    vector = store.embeddings.embed_query(query)
    near = store.similarity_search(query, k=3, scrubjay_query=NEAR)
    assert store.similarity_search_by_vector(vector, k=3) == near
    scored = store.similarity_search_with_score_by_vector(vector, k=3)
    assert [document for document, _ in scored] == near
    assert [score for _, score in scored] == sorted((score for _, score in scored), reverse=True)
    assert store.similarity_search(query, k=0) == []
    with pytest.raises(ValueError, match="k: expected an int >= 1, got -1"):
        store.similarity_search(query, k=-1)


def test_filters_admit_the_matching_documents(store: ScrubjayVectorStore) -> None:
    def found(filter: Any, **options: Any) -> list[str | None]:
        return sorted(ids(store.similarity_search("the key", k=10, filter=filter, **options)))

    assert found({"n": {"$gte": 2}}) == ["2", "3"]
    assert found({"tags": {"$contains": "odd"}}) == ["1", "3"]
    assert found(scrubjay.Filter({"n": 0})) == ["0"]
    assert found(lambda document: document.metadata["n"] > 1) == ["2", "3"]
    assert found(lambda document: document.id == "1" and "production" in document.page_content) == ["1"]
    assert found(lambda document: False) == []
    assert found(None, scrubjay_query=Query(ids=["0", "3", "nobody's"])) == ["0", "3"]
    assert found(None, scrubjay_query=Query(exclude=["0", "3"])) == ["1", "2"]
    assert found(lambda document: document.metadata["n"] < 2, scrubjay_query=Query(ids=["1", "2"])) == ["1"]
    assert ids(
        store.similarity_search("nothing of it", k=1, scrubjay_query=WORDS.replace(rankings=[["3", "2"]]))
    ) in (
        [],
        ["3"],
    )
    with pytest.raises((TypeError, ValueError), match=r"n: expected an operator"):
        found({"n": {"$regex": "x"}})
    with pytest.raises(ZeroDivisionError):
        found(lambda document: 1 / 0)


def test_a_filter_decides_before_the_best_are_chosen(store: ScrubjayVectorStore) -> None:
    """The k best of the matching documents, not the matching ones of the k best."""
    store.add_texts([f"The staging key number {n}" for n in range(50)], [{"n": -n} for n in range(50)])
    for filter in ({"n": -49}, lambda document: document.metadata["n"] == -49):
        (found,) = store.similarity_search("staging key number 1", k=1, filter=filter)
        assert found.page_content == "The staging key number 49"


def test_relevance_is_from_0_to_1(store: ScrubjayVectorStore) -> None:
    by_id = {
        document.id: score
        for document, score in store.similarity_search_with_relevance_scores("is it sk-stg-0041?", k=4)
    }
    assert by_id["0"] == 1.0 and all(0.0 <= score <= 1.0 for score in by_id.values())
    assert set(by_id) == {"0", "1", "2", "3"}
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99, "k": 4}
    )
    assert ids(retriever.invoke("is it sk-stg-0041?")) == ["0"]  # no embedding is near enough
    words = ScrubjayVectorStore.from_texts(TEXTS)
    (found,) = words.similarity_search_with_relevance_scores("espresso machines", k=1)
    assert found[1] == 0.5  # without vectors: one of two words
    for metric in ("ip", "l2"):
        other = ScrubjayVectorStore.from_texts(TEXTS, ScrubjayEmbeddings(), metric=metric, query=NEAR)
        scores = [score for _, score in other.similarity_search_with_relevance_scores(TEXTS[2])]
        assert scores[0] == pytest.approx(1.0, abs=1e-3) and all(0.0 <= score <= 1.0 for score in scores)


def test_marginal_relevance_prefers_different_documents(store: ScrubjayVectorStore) -> None:
    copies = store.add_texts(["The staging API key prefix is sk-stg-0041."] * 5)
    query = "prefix of the staging key"
    near = ids(store.similarity_search(query, k=3, scrubjay_query=NEAR))
    assert set(near) <= {"0", *copies}  # all copies are equal
    diverse = store.max_marginal_relevance_search(query, k=3, lambda_mult=0.3, scrubjay_query=NEAR)
    assert len({document.page_content for document in diverse}) == 3
    assert ids(store.max_marginal_relevance_search(query, k=3, lambda_mult=1.0, scrubjay_query=NEAR)) == near
    assert ids(store.search(query, "mmr", k=3, lambda_mult=0.3, scrubjay_query=NEAR)) == ids(diverse)
    vector = store.embeddings.embed_query(query)
    assert store.max_marginal_relevance_search_by_vector(vector, k=3, lambda_mult=0.3) == diverse
    assert len(store.max_marginal_relevance_search(query, k=6, fetch_k=2)) == 6
    assert ids(store.max_marginal_relevance_search(query, k=2, filter={"n": 3})) == ["3"]
    with pytest.raises(ValueError, match="mmr: expected a number from 0 to 1"):
        store.max_marginal_relevance_search(query, lambda_mult=1.5)


def test_a_retriever_says_why(store: ScrubjayVectorStore) -> None:
    retriever = ScrubjayRetriever(vectorstore=store, k=1, evidence=True, filter={"n": {"$lt": 3}})
    (found,) = retriever.invoke("what is sk-stg-0041?")
    evidence = found.metadata["scrubjay"]
    assert (
        evidence["lexical_rank"] == 1
        and evidence["identifier"]
        and "sk-stg-0041" in evidence["matched_terms"]
    )
    assert found.metadata["n"] == 0
    assert "scrubjay" not in store.get_by_ids(["0"])[0].metadata  # part of the answer, not stored
    diverse = ScrubjayRetriever(vectorstore=store, query=Query(scrubjay.RRF(10), mmr=0.5))
    assert len(diverse.invoke("key", k=2)) == 2
    assert ids(diverse.invoke("espresso", scrubjay_query=WORDS)) == ids(
        store.hits("espresso", scrubjay_query=WORDS)
    )
    chain = retriever | RunnableLambda(lambda documents: documents[0].id)
    assert chain.invoke("what is sk-stg-0041?") == "0"
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        ScrubjayRetriever(vectorstore=store, k=0)


# ---------------------------------------------------------------------- writing


def test_ids_and_documents(store: ScrubjayVectorStore) -> None:
    documents = [Document("one", id="x"), Document("two"), Document("three", id="z")]
    made = store.add_documents(documents)
    assert made[0] == "x" and made[2] == "z" and len(made[1]) == 36
    assert ids(documents) == ["x", None, "z"]  # unchanged
    assert store.add_documents(documents, ids=["a", "", None])[0] == "a"  # explicit ids win
    assert ids(store.get_by_ids(["z", "nobody's", "a", "z"])) == ["z", "a", "z"]
    assert store.add_texts([]) == [] and store.add_documents([]) == []
    assert store.add_texts(["first", "last"], ids=["same", "same"]) == ["same", "same"]
    assert store.get_by_ids(["same"])[0].page_content == "last"
    assert store.add_texts(iter(["x"]), [None], batch_size=1)
    n = len(store.index)
    for arguments, complaint in (
        ((["a", "b"], [{}]), "metadatas: expected 2, as many as texts, got 1"),
        ((["a", "b"], None, ["1"]), "ids: expected 2, as many as documents, got 1"),
        ((["a"], None, "1"), "ids: expected 1, as many as documents, got one str"),
        (("abc",), "texts: expected an iterable of str, got one str"),
        ((["good", "bad"], [{}, {"a": object()}]), r"records\[1\]: metadata\['a'\]"),
        (
            (["good", "bad"], [{}, {"a": float("nan")}]),
            r"records\[1\]: metadata\['a'\]: expected a finite number",
        ),
        ((["good", "bad"], None, ["1", 2]), r"ids\[1\]: expected a str, got int"),
        ((["good", "bad"], None, ["1", "\ud800"]), "UTF-8"),
        ((["good", "bad"], None, ["1", "x" * 70_000]), "65,535 bytes"),
    ):
        texts, metadatas, given = (*arguments, None, None)[:3]
        with pytest.raises((TypeError, ValueError), match=complaint):
            store.add_texts(texts, metadatas, ids=given)
    with pytest.raises(TypeError, match=r"documents\[1\]: expected a Document, got str"):
        store.add_documents([Document("x"), "y"])
    with pytest.raises(ValueError, match="batch_size: expected 1 or more, got 0"):
        ScrubjayVectorStore(Recorded()).add_texts(["x"], batch_size=0)
    assert len(store.index) == n


def test_delete_removes_the_named_ids_or_everything(store: ScrubjayVectorStore) -> None:
    assert store.delete(["0", "nobody's"]) is True
    assert store.delete("1") is True  # one id is one id, not its characters
    assert ids(store.get_by_ids(["0", "1", "2", "3"])) == ["2", "3"]
    assert store.delete() is True
    assert store.similarity_search("key") == [] and len(store.index) == 0


def test_metadata_come_back(store: ScrubjayVectorStore) -> None:
    metadata = {
        "a": {"b": [1, None, {"c": 0.1}]},
        "created_at": "2026-03-01",
        "$x": 1,
        "NUL\0": "\0é",
        "": "",
    }
    store.add_texts(["x"], [metadata], ids=["m"])
    assert store.get_by_ids(["m"])[0].metadata == metadata
    metadata["a"]["b"] = "changed"
    assert store.get_by_ids(["m"])[0].metadata["a"] == {"b": [1, None, {"c": 0.1}]}
    assert ids(store.similarity_search("x", filter={"created_at": {"$lt": "2026-04-01"}})) == ["m"]


def test_langchains_indexing_writes_and_cleans_up(store: ScrubjayVectorStore) -> None:
    records = InMemoryRecordManager(namespace="test")
    records.create_schema()
    documents = [Document(text, metadata={"source": "notes"}) for text in TEXTS]
    options = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
    store.delete()
    result = index_documents(documents, records, store, **options)
    assert (result["num_added"], result["num_deleted"]) == (4, 0)
    result = index_documents(documents, records, store, **options)
    assert (result["num_added"], result["num_skipped"]) == (0, 4)
    result = index_documents(documents[:1], records, store, **options)
    assert (result["num_added"], result["num_deleted"], len(store.index)) == (0, 3, 1)
    result = asyncio.run(aindex(documents, records, store, **options))
    assert (result["num_added"], len(store.index)) == (3, 4)


def test_two_users_may_have_the_same_text_and_id(store: ScrubjayVectorStore) -> None:
    """Ids made from content are equal for all owners of that content."""
    joe = ScrubjayVectorStore(index=store.index, scope=Scope("acme", user="joe"))
    assert joe.add_texts(["Joe's"], ids=["0"]) == ["0"]
    assert joe.get_by_ids(["0"])[0].page_content == "Joe's"
    assert store.get_by_ids(["0"])[0].page_content == TEXTS[0]


# ---------------------------------------------------------------------- embeddings


def test_async_twins_use_the_async_embeddings_and_another_thread() -> None:
    embeddings = Recorded()

    async def use() -> None:
        store = await ScrubjayVectorStore.afrom_texts(TEXTS, embeddings, METADATAS, ids=["0", "1", "2", "3"])
        loop_thread = threading.current_thread()
        searched: set[threading.Thread] = set()
        search = store.index.search

        def recorded(*arguments: Any, **options: Any) -> Any:
            searched.add(threading.current_thread())
            return search(*arguments, **options)

        store.index.search = recorded  # type: ignore[method-assign]
        found = await store.asimilarity_search(TEXTS[2], k=1)
        assert found == store.similarity_search(TEXTS[2], k=1) and ids(found) == ["2"]
        searched.clear()
        embeddings.calls.clear()
        assert len(await store.asimilarity_search("a question that nobody asked before", k=2)) == 2
        assert embeddings.calls == ["aembed_query"]
        assert (await store.asimilarity_search_with_score(TEXTS[2], k=1))[0][0] == found[0]
        assert (await store.asimilarity_search_with_relevance_scores(TEXTS[2], k=1))[0][0] == found[0]
        assert len(await store.amax_marginal_relevance_search(TEXTS[2], k=2)) == 2
        assert await ScrubjayRetriever(vectorstore=store, k=1).ainvoke(TEXTS[2]) == found
        assert await store.as_retriever(search_kwargs={"k": 1}).ainvoke(TEXTS[2]) == found
        assert set(embeddings.calls) == {"aembed_query"}
        vector = embeddings.inner.embed_query(TEXTS[2])
        assert ids(await store.asimilarity_search_by_vector(vector, k=1)) == ["2"]
        assert len(await store.amax_marginal_relevance_search_by_vector(vector, k=2)) == 2
        assert loop_thread not in searched
        await store.aadd_documents([Document("x", id="4")])
        assert await store.aadd_texts(["y"], ids=["5"]) == ["5"]
        assert await store.adelete(["4"]) and ids(await store.aget_by_ids(["4", "5"])) == ["5"]
        assert set(embeddings.calls) == {"aembed_query", "aembed_documents"}
        assert await store.asimilarity_search("y", k=0) == []

    asyncio.run(use())


def test_a_question_is_embedded_once_and_only_where_it_helps() -> None:
    embeddings = Recorded()
    store = ScrubjayVectorStore(embeddings)
    assert store.similarity_search("x") == [] and embeddings.calls == []  # an empty store
    store.add_texts(TEXTS, batch_size=3)
    assert embeddings.calls == ["embed_documents"] * 2
    embeddings.calls.clear()
    for _ in range(3):
        store.similarity_search("espresso")
    store.similarity_search("espresso", scrubjay_query=WORDS)
    assert embeddings.calls == ["embed_query"]


def test_embeddings_that_fail(caplog: pytest.LogCaptureFixture) -> None:
    """In a search the words answer; a write raises, and nothing is written."""
    embeddings = Recorded()
    store = ScrubjayVectorStore.from_texts(TEXTS, embeddings, ids=["0", "1", "2", "3"])
    embeddings.failing = True
    assert ids(store.similarity_search("sk-stg-0041", k=1)) == ["0"]
    assert "the endpoint is down" in caplog.text
    caplog.clear()
    assert ids(asyncio.run(store.asimilarity_search("espresso", k=1))) == ["2"]
    assert "the endpoint is down" in caplog.text
    for write in (store.add_texts, lambda texts: asyncio.run(store.aadd_texts(texts))):
        with pytest.raises(ConnectionError):
            write(["x"])
    assert len(store.index) == 4


class Wrong(Embeddings):
    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> Any:
        return self.vectors

    def embed_query(self, text: str) -> Any:
        return self.vectors


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0]], [[1.0], [1.0, 2.0]], [[], []], [None, None], [["a"], ["b"]], [[float("nan")], [1.0]], 5],
)
def test_malformed_embeddings_are_refused(vectors: Any) -> None:
    store = ScrubjayVectorStore(Wrong(vectors))
    with pytest.raises((scrubjay.EmbedderError, TypeError, ValueError)):
        store.add_texts(["a", "b"])
    assert len(store.index) == 0


def test_a_text_in_which_the_model_finds_nothing() -> None:
    """The zero vector has no direction: the document is stored and found by its words."""
    store = ScrubjayVectorStore(Wrong([[0.0, 0.0], [1.0, 0.0]]))
    store.add_texts(["nothing in it", "something"])
    assert len(store.similarity_search_by_vector([1.0, 0.0])) == 1
    assert len(store.similarity_search("nothing", scrubjay_query=WORDS)) == 1


def test_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "documents.scrubjay"
    with ScrubjayVectorStore(Recorded(model="one"), path=path) as store:
        store.add_texts(TEXTS)
        assert store.index.admin.stats()["embedder"] == "Recorded:one"
    with ScrubjayVectorStore(Recorded(model="two"), path=path) as store:
        with pytest.raises(
            scrubjay.EmbedderMismatchError, match="not comparable with those of 'Recorded:two'"
        ):
            store.add_texts(["x"])
        with pytest.raises(scrubjay.EmbedderMismatchError):
            store.similarity_search("x")
    with ScrubjayVectorStore(Recorded(size=9, model="one"), path=path) as store:
        with pytest.raises(scrubjay.EmbedderMismatchError, match="dimension 8, 'Recorded:one' makes 9"):
            store.add_texts(["x"])
        assert (
            len(store.similarity_search("key")) == 2
        )  # a question that cannot be embedded is searched by its words
    with pytest.raises(scrubjay.EmbedderMismatchError):
        ScrubjayVectorStore(ScrubjayEmbeddings(), path=path)
    with ScrubjayVectorStore(Recorded(model="renamed"), path=path, model="Recorded:one") as store:
        assert len(store.similarity_search(TEXTS[2], k=4)) == 4
    with ScrubjayVectorStore(path=path) as store:  # the words need no model
        assert len(store.similarity_search("key")) == 2


def test_each_kind_of_embedding_is_accepted() -> None:
    own = scrubjay.embedders.default()
    for embedding in (own, ScrubjayEmbeddings(own), ScrubjayEmbeddings()):
        store = ScrubjayVectorStore.from_texts(TEXTS, embedding)
        assert ids(store.similarity_search("trouble sleeping", k=1)) == [
            store.similarity_search("espresso", k=1)[0].id
        ]
        assert isinstance(store.embeddings, ScrubjayEmbeddings) and store.index.embedder is not None
    assert ScrubjayVectorStore().embeddings is None
    fake = DeterministicFakeEmbedding(size=4)
    assert ScrubjayVectorStore(fake).embeddings is fake
    assert np.allclose(
        ScrubjayEmbeddings(own).embed_documents(["x"])[0], ScrubjayEmbeddings(own).embed_query("x")
    )
    # Our embeddings work in LangChain's own store as well.
    assert InMemoryVectorStore.from_texts(TEXTS, ScrubjayEmbeddings()).similarity_search("espresso")
    for bad in ("default", object(), 5):
        with pytest.raises(TypeError, match="embedding: expected"):
            ScrubjayVectorStore(bad)


def test_invalid_arguments_are_refused_by_name(tmp_path: Path) -> None:
    for arguments, complaint in (
        ({"query": "magic"}, "query: expected a scrubjay.Query or its settings, got str 'magic'"),
        ({"query": {"mode": "magic"}}, "mode: expected"),
        ({"query": {"k": 7}}, "k: unknown in a query"),
        ({"scope": "acme"}, "scope: expected a scrubjay.Scope, got str"),
        ({"path": tmp_path / "x", "index": scrubjay.Index()}, "expected either path or index, got both"),
        ({"path": tmp_path / "x", "collection": "\n"}, "collection: expected 1 to 200 printable characters"),
    ):
        with pytest.raises((TypeError, ValueError), match=complaint):
            ScrubjayVectorStore(**arguments)
    assert scrubjay.Index.open(tmp_path / "y").close() is None


# ---------------------------------------------------------------------- files and collections


def test_stores_over_one_file_share_it(tmp_path: Path) -> None:
    path = tmp_path / "documents.scrubjay"
    one = ScrubjayVectorStore.from_texts(TEXTS, ScrubjayEmbeddings(), path=path)
    other = ScrubjayVectorStore(ScrubjayEmbeddings(), path=path)
    notes = ScrubjayVectorStore(path=path, collection="notes")
    unnamed = ScrubjayVectorStore(path=path, collection="")
    notes.add_texts(["note"])
    unnamed.add_texts(["unnamed"])
    one.close()
    with pytest.raises(scrubjay.ClosedError):
        one.similarity_search("key")
    assert len(other.similarity_search("key", k=10)) == 4 and len(notes.similarity_search("note")) == 1
    for store in (other, notes, unnamed):
        store.close()
    with scrubjay.Index.open(path) as index:
        assert index.admin.collections() == ["langchain", "notes"] and len(index) == 1


def test_many_threads(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ScrubjayVectorStore(Recorded(), path=tmp_path / "documents.scrubjay", durability="normal") as store:

        def work(n: int) -> int:
            store.add_texts([f"text {n}", f"other {n}"], ids=[str(n), f"o{n}"])
            assert f"text {n}" in [one.page_content for one in store.similarity_search(f"text {n}", k=200)]
            store.delete([f"o{n}"])
            return len(store.get_by_ids([str(n), f"o{n}"]))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(40))) == [1] * 40
        assert len(store.index) == 40


def test_native_memories_are_documents_too() -> None:
    index = scrubjay.Index()
    acme = Scope("acme")
    index.upsert("m1", "Prefers trains.", scope=acme, metadata={"n": 1})
    store = ScrubjayVectorStore(index=index, scope=acme)
    assert (
        store.get_by_ids(["m1"])
        == store.similarity_search("trains")
        == [Document("Prefers trains.", id="m1", metadata={"n": 1})]
    )
    store.add_texts(["Prefers planes."], ids=["m1"])
    assert len(index) == 1 and index.get("m1", scope=acme).text == "Prefers planes."
    store.delete(["m1"])
    assert len(index) == 0


def test_async_searches_take_the_question_by_name() -> None:
    store = ScrubjayVectorStore.from_texts(
        ["Prefers trains.", "Window seat."], ids=["a", "b"], scope=Scope("acme")
    )

    async def ids() -> list[list[str | None]]:
        found = [
            await store.asimilarity_search(query="trains", k=1),
            await store.amax_marginal_relevance_search(query="trains", k=1, lambda_mult=1.0),
            [document for document, _ in await store.asimilarity_search_with_score(query="trains")],
        ]
        return [[document.id for document in one] for one in found]

    assert asyncio.run(ids()) == [["a"], ["a"], ["a"]]


LONG = "aaaa aaaa aaaa aaaa aaaa aaaa. bbbb bbbb bbbb bbbb bbbb bbbb. cccc cccc cccc cccc cccc cccc."


class Letters(Embeddings):
    """Counts three letters; `texts` records its inputs."""

    model = "letters"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[text.count(letter) + 0.01 for letter in "abc"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class Reading(Letters):
    """Declares the length of its passages."""

    passage_chars = 60


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("says_so", [False, True])
def test_long_documents_are_embedded_in_passages_by_ones_own_embeddings(
    is_async: bool, says_so: bool, tmp_path: Path
) -> None:
    embeddings = Reading() if says_so else Letters()
    chars = {} if says_so else {"passage_chars": 60}
    path = tmp_path / "documents.scrubjay"
    with ScrubjayVectorStore(embeddings, path=path, query=NEAR, **chars) as store:
        documents = [Document(LONG, id="long"), Document("bab", id="short"), Document("bab", id="again")]
        if is_async:
            asyncio.run(store.aadd_documents(documents, batch_size=2))
        else:
            store.add_documents(documents, batch_size=2)
        spans = [(0, 30), (31, 61), (62, 92)]
        assert embeddings.texts == [*(LONG[start:end] for start, end in spans), "bab"]  # equal texts once
        (hit,) = store.hits("ccc", 1)
        assert (hit.id, hit.passage) == ("long", spans[2])
        # as the index itself embeds it, now and later
        (written,) = store._documents.get_many(["long"], scope=store.scope)
        store.index.upsert("native", LONG, scope=store.scope)
        assert (
            store.index.get("native", scope=store.scope).vector.rows.tolist() == written.vector.rows.tolist()
        )
    whole = Letters()
    with ScrubjayVectorStore(whole, path=tmp_path / "whole.scrubjay", query=NEAR) as store:
        store.add_documents([Document(LONG, id="long")])
        assert whole.texts == [LONG] and store.hits("ccc", 1)[0].passage is None


def test_invalid_passage_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="passage_chars: expected 50 or more, got 5"):
        ScrubjayVectorStore(Letters(), passage_chars=5)
    with pytest.raises(TypeError, match="whole_chars: expected passage_chars, too"):
        ScrubjayVectorStore(Letters(), whole_chars=500)
    with pytest.raises(TypeError, match="an embedder of Scrubjay has its own"):
        ScrubjayVectorStore(ScrubjayEmbeddings(), passage_chars=500)
    embeddings = Reading()
    embeddings.embed_documents = lambda texts: [[1.0, 2.0]]  # type: ignore[method-assign]
    store = ScrubjayVectorStore(embeddings)
    with pytest.raises(scrubjay.EmbedderError, match="expected 3 vectors for as many texts, got 1"):
        store.add_documents([Document(LONG)])
