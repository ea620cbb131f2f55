"""LangChain's in-memory store beside Scrubjay behind the same interface: identifiers found, and latency.

    python -m benchmarks.adapters.langchain [--notes 2000] [--questions 200] [--json]

Notes of two users in one store, many of them alike except for an identifier; jane asks for hers by identifier. Both
stores embed with the same offline model within the measured time. The stock store isolates users only if every call
passes a filter, so it is measured with and without it. Needs the extra `langchain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.adapters.notes import K, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Scope
from scrubjay.adapters.langchain import ScrubjayEmbeddings, ScrubjayVectorStore

__all__ = ["main", "run"]


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each way of searching."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    embeddings = ScrubjayEmbeddings()
    documents = [Document(note.text, id=note.id, metadata={"user": note.user}) for note in made]

    stock = InMemoryVectorStore(embeddings)
    stock.add_documents(documents)
    jane = ScrubjayVectorStore(embeddings, scope=Scope("acme", user="jane"))
    joe = ScrubjayVectorStore(embeddings, index=jane.index, scope=Scope("acme", user="joe"))
    for user, store in (("jane", jane), ("joe", joe)):
        store.add_documents([document for document in documents if document.metadata["user"] == user])

    def users(found: list[Document]) -> list[tuple[str, str]]:
        return [(str(document.id), document.metadata["user"]) for document in found]

    def of_jane(document: Document) -> bool:
        return bool(document.metadata["user"] == "jane")

    return [
        measure("InMemoryVectorStore", asked, lambda text: users(stock.similarity_search(text, k=K))),
        measure(
            "InMemoryVectorStore, with a filter in each call",
            asked,
            lambda text: users(stock.similarity_search(text, k=K, filter=of_jane)),
        ),
        measure("ScrubjayVectorStore", asked, lambda text: users(jane.similarity_search(text, k=K))),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
