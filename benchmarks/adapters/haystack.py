"""Haystack's in-memory store beside Scrubjay behind the same interface: identifiers found, and latency.

    python -m benchmarks.adapters.haystack [--notes 2000] [--questions 200] [--json]

Notes of two users in one store, many of them alike except for an identifier; jane asks for hers by identifier. All
embed with the same offline model within the measured time; the retrievers are called as pipelines call them. The stock
store isolates users only by a filter in each call, so it is measured without and with it; its hybrid search is two
retrievers and a joiner. Needs the extra `haystack`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import scrubjay
from benchmarks.adapters.notes import K, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay.adapters.haystack import ScrubjayDocumentStore, ScrubjayHybridRetriever

__all__ = ["main", "run"]

OF_JANE = {"field": "meta.user", "operator": "==", "value": "jane"}


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each way of searching."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    embedder = scrubjay.embedders.default()
    vectors = embedder.embed_documents([note.text for note in made]).tolist()
    documents = [
        Document(id=note.id, content=note.text, meta={"user": note.user}, embedding=vector)
        for note, vector in zip(made, vectors, strict=True)
    ]
    stock = InMemoryDocumentStore(embedding_similarity_function="cosine", shared=False)
    stock.write_documents(documents)
    near, words = InMemoryEmbeddingRetriever(stock, top_k=K), InMemoryBM25Retriever(stock, top_k=K)
    joiner = DocumentJoiner("reciprocal_rank_fusion", top_k=K)
    jane = ScrubjayDocumentStore(tenant="acme", user="jane")
    joe = ScrubjayDocumentStore(index=jane.index, tenant="acme", user="joe")
    for user, store in (("jane", jane), ("joe", joe)):
        store.write_documents([document for document in documents if document.meta["user"] == user])
    hybrid = ScrubjayHybridRetriever(jane, top_k=K)

    def users(found: dict[str, list[Document]]) -> list[tuple[str, str]]:
        return [(document.id, document.meta["user"]) for document in found["documents"]]

    def embed(text: str) -> list[float]:
        return [float(number) for number in embedder.embed_query(text)]

    def joined(text: str) -> dict[str, list[Document]]:
        lists = [words.run(text, OF_JANE)["documents"], near.run(embed(text), OF_JANE)["documents"]]
        return dict(joiner.run(lists))

    return [
        measure("InMemory, embeddings", asked, lambda text: users(near.run(embed(text)))),
        measure(
            "InMemory, embeddings, with a filter", asked, lambda text: users(near.run(embed(text), OF_JANE))
        ),
        measure(
            "InMemory, BM25 and embeddings joined, with a filter", asked, lambda text: users(joined(text))
        ),
        measure("ScrubjayHybridRetriever", asked, lambda text: users(hybrid.run(text, embed(text)))),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
