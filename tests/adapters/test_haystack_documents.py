"""Documents come back from the store unchanged, and the policies for duplicates hold."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("haystack")

from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given, settings
from hypothesis import strategies as st

import scrubjay
from scrubjay.adapters.haystack import ScrubjayDocumentStore

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
# Keys with a meaning for the index, or for the storage of documents.
KEYS = TEXTS | st.sampled_from(
    [
        "created_at",
        "expires_at",
        "$and",
        "$x",
        "_haystack",
        "_haystack.a",
        "_haystack:no_content",
        "a.b",
        "id",
        "",
    ]
)
METAS = st.dictionaries(KEYS, VALUES, max_size=4)
BLOBS = st.builds(
    ByteStream,
    st.binary(max_size=20),
    meta=st.dictionaries(TEXTS, SCALARS, max_size=2),
    mime_type=st.none() | TEXTS,
)
SPARSE = st.lists(st.tuples(st.integers(0, 9), NUMBERS), max_size=3).map(
    lambda pairs: SparseEmbedding([index for index, _ in pairs], [value for _, value in pairs])
)
# Outside float32's range a document has no vector; embeddings within it come back to the last bit.
EMBEDDINGS = st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3)
DOCUMENTS = st.builds(
    Document,
    content=st.none() | TEXTS,
    meta=METAS,
    blob=st.none() | BLOBS,
    score=st.none() | NUMBERS,
    embedding=st.none() | EMBEDDINGS,
    sparse_embedding=st.none() | SPARSE,
)


@given(documents=st.lists(DOCUMENTS, max_size=4, unique_by=lambda document: document.id))
def test_written_documents_are_returned_equal(documents: list[Document]) -> None:
    store = ScrubjayDocumentStore()
    assert store.write_documents(documents) == len(documents)
    assert store.filter_documents() == documents
    assert store.update_by_filter({"operator": "AND", "conditions": []}, {}) == len(documents)
    assert store.filter_documents() == documents


def test_written_documents_are_returned_equal_from_a_file(tmp_path: Path) -> None:
    documents = [
        Document(
            content="The staging key",
            meta={"a": {"b": [1, {"c": None}]}, "created_at": "2026-03-01", "NUL\0": "\0", "tags": ["x", 1]},
            blob=ByteStream(b"\0\xff", meta={"page": 1}, mime_type="image/png"),
            score=0.25,
            embedding=np.random.default_rng(1).random(768).tolist(),
            sparse_embedding=SparseEmbedding([1, 5], [0.5, -1.0]),
        ),
        Document(blob=ByteStream(b"only a blob")),
        Document(content="", embedding=[0.0] * 768),
        Document(content="f32", embedding=np.random.default_rng(2).random(768, dtype=np.float32).tolist()),
    ]
    path = str(tmp_path / "documents.scrubjay")
    with ScrubjayDocumentStore(path) as store:
        store.write_documents(documents)
    with ScrubjayDocumentStore(path) as store:
        assert store.filter_documents() == documents
        assert [
            document.embedding for document in store.hybrid_retrieval("staging key", documents[3].embedding)
        ] == [None] * 2  # not requested
        (found,) = store.bm25_retrieval("staging key", return_embedding=True)
        assert found.embedding == documents[0].embedding and found.blob == documents[0].blob
    without = ScrubjayDocumentStore(path, return_embedding=False)
    assert [document.embedding for document in without.filter_documents()] == [None] * 4
    without.close()


def test_embeddings_of_float32_are_kept_once() -> None:
    """Embeddings of models are float32: storing them exactly needs nothing beside the vector."""
    store = ScrubjayDocumentStore()
    embedding = np.random.default_rng(1).random(256, dtype=np.float32).tolist()
    store.write_documents([Document(id="1", content="x", embedding=embedding), Document(id="2", content="y")])
    assert [record.metadata for record in store.index.list(store.scope)] == [{}, {}]
    assert store.filter_documents()[0].embedding == embedding


def test_half_precision_rounds_embeddings() -> None:
    store = ScrubjayDocumentStore(dtype="f16")
    store.write_documents([Document(id="1", content="x", embedding=[0.1, 0.7])])
    (found,) = store.filter_documents()
    assert found.embedding == pytest.approx([0.1, 0.7], abs=1e-3) and found.embedding != [0.1, 0.7]


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (Document(content="x", meta={"a": object()}), r"records\[1\]: metadata\['a'\]"),
        (Document(content="x", meta={"a": {"b": float("nan")}}), r"records\[1\]: metadata\['a'\]\['b'\]"),
        (Document(content="x", meta={1: "a"}), r"records\[1\]: metadata: expected str keys"),
        (Document(content="x", embedding=[1.0, 2.0, 3.0]), r"records\[1\]: vector: expected shape \(2,\)"),
        (
            Document(content="x", embedding=[1.0, float("inf")]),
            r"records\[1\]: vector: expected finite numbers",
        ),
        (Document(content="x", embedding=[1.0, 1e300]), r"records\[1\]: vector: expected finite numbers"),
        (Document(id="\ud800", content="x"), "UTF-8"),
        (Document(id="x" * 70_000, content="x"), "65,535 bytes"),
        ("no document", r"documents\[1\]: expected a Document, got str"),
    ],
)
def test_one_invalid_document_refuses_the_whole_batch(document: Any, complaint: str) -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id="0", content="before", embedding=[1.0, 0.0])])
    with pytest.raises((TypeError, ValueError), match=complaint):
        store.write_documents([Document(id="1", content="good", embedding=[0.0, 1.0]), document])
    assert [found.id for found in store.filter_documents()] == ["0"]


@pytest.mark.parametrize("policy", [DuplicatePolicy.NONE, DuplicatePolicy.FAIL])
def test_a_duplicate_fails_and_nothing_is_written(policy: DuplicatePolicy) -> None:
    store = ScrubjayDocumentStore()
    one, two = Document(id="1", content="one"), Document(id="2", content="two")
    assert store.write_documents([one], policy) == 1
    with pytest.raises(DuplicateDocumentError, match="'1'"):
        store.write_documents([two, Document(id="1", content="other")], policy)
    with pytest.raises(DuplicateDocumentError, match="'2'"):
        store.write_documents([two, two], policy)
    assert store.filter_documents() == [one]


@given(
    batches=st.lists(
        st.tuples(
            st.sampled_from(list(DuplicatePolicy)),
            st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["one", "two"])), max_size=4),
        ),
        max_size=5,
    )
)
def test_policies_are_those_of_the_store_in_memory(
    batches: list[tuple[DuplicatePolicy, list[tuple[str, str]]]],
) -> None:
    """All policies, except that a failed batch leaves nothing behind."""
    theirs, ours = InMemoryDocumentStore(shared=False), ScrubjayDocumentStore()
    for policy, batch in batches:
        documents = [Document(id=id, content=content) for id, content in batch]
        before = theirs.filter_documents()
        try:
            expected: Any = theirs.write_documents(documents, policy)
        except DuplicateDocumentError:
            expected = DuplicateDocumentError
            theirs.delete_all_documents()
            theirs.write_documents(before)
        try:
            written: Any = ours.write_documents(documents, policy)
        except DuplicateDocumentError:
            written = DuplicateDocumentError
        assert written == expected
        assert ours.filter_documents() == theirs.filter_documents()
        assert ours.count_documents() == theirs.count_documents()


def test_writers_at_once_write_a_document_once(tmp_path: Path) -> None:
    """Two stores over one file, eight threads: of equal ids exactly one write succeeds under FAIL."""
    from concurrent.futures import ThreadPoolExecutor

    stores = [ScrubjayDocumentStore(str(tmp_path / "documents.scrubjay")) for _ in range(2)]

    def write(n: int) -> int:
        try:
            return stores[n % 2].write_documents([Document(id=str(n // 8), content=f"by {n}")])
        except DuplicateDocumentError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(write, range(80)))
    assert [sum(written[i : i + 8]) for i in range(0, 80, 8)] == [1] * 10
    assert stores[0].count_documents() == 10
    for store in stores:
        store.close()


def test_native_memories_are_documents_too() -> None:
    """A memory written to the index without the adapter is found, filtered, replaced and deleted by its own id."""
    index = scrubjay.Index()
    acme = scrubjay.Scope("acme")
    index.upsert("m1", "Prefers trains.", scope=acme, metadata={"kind": "travel"})
    store = ScrubjayDocumentStore(index=index, tenant="acme")
    assert store.filter_documents({"field": "meta.kind", "operator": "==", "value": "travel"}) == [
        Document(id="m1", content="Prefers trains.", meta={"kind": "travel"})
    ]
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([Document(id="m1", content="x")])
    store.write_documents([Document(id="m1", content="Prefers planes.")], DuplicatePolicy.OVERWRITE)
    assert store.count_documents() == 1 and index.get("m1", scope=acme).text == "Prefers planes."
    store.delete_documents(["m1"])
    assert len(index) == 0


def test_a_document_without_oddities_is_a_plain_memory() -> None:
    store = ScrubjayDocumentStore(tenant="acme")
    store.write_documents([Document(id="1", content="Trains.", meta={"kind": "travel", "tags": ["rail"]})])
    (hit,) = store.index.search(
        "trains", scope=scrubjay.Scope("acme"), filter={"tags": {"$contains": "rail"}}
    )
    assert hit.text == "Trains." and hit.metadata == {"kind": "travel", "tags": ["rail"]}


@settings(max_examples=20)
@given(data=st.binary(max_size=50))
def test_blobs_are_kept_as_base64(data: bytes) -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(blob=ByteStream(data))])
    (record,) = store.index.list(store.scope)
    assert base64.b64decode(record.metadata["_haystack"]["blob"]["data"]) == data
