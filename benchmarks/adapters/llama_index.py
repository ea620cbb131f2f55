"""LlamaIndex's simple store beside Scrubjay behind the same interface: identifiers found, and latency.

    python -m benchmarks.adapters.llama_index [--notes 2000] [--questions 200] [--json]

Notes of two users in one store, many of them alike except for an identifier; jane asks for hers by identifier. All
embed with the same offline model within the measured time. The simple store isolates users only if every query has a
filter, so it is measured without and with it; it has no keyword or hybrid mode. Needs the extra `llama-index`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import scrubjay
from benchmarks.adapters.notes import K, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay.adapters.llama_index import ScrubjayVectorStore

__all__ = ["main", "run"]

OF_JANE = MetadataFilters(filters=[MetadataFilter(key="user", value="jane")])


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each way of searching."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    embedder = scrubjay.embedders.default()
    user = {note.id: note.user for note in made}
    nodes = [
        TextNode(
            id_=note.id,
            text=note.text,
            metadata={"user": note.user},
            embedding=[float(number) for number in embedder.embed_query(note.text)],
        )
        for note in made
    ]

    def searching(store: Any, mode: VectorStoreQueryMode, filters: MetadataFilters | None = None) -> Any:
        def search(text: str) -> list[tuple[str, str]]:
            vector = [float(number) for number in embedder.embed_query(text)]
            asked = VectorStoreQuery(vector, similarity_top_k=K, query_str=text, mode=mode, filters=filters)
            return [(id, user[id]) for id in store.query(asked).ids]

        return search

    default, hybrid = VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID
    stock = SimpleVectorStore()
    stock.add(nodes)
    rows = [
        measure("SimpleVectorStore", asked, searching(stock, default)),
        measure("SimpleVectorStore, with a filter in each query", asked, searching(stock, default, OF_JANE)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("in memory", None), ("on a file", Path(folder) / "notes")):
            stores = {"jane": ScrubjayVectorStore(path, tenant="acme", user="jane")}
            stores["joe"] = (
                ScrubjayVectorStore(path, tenant="acme", user="joe")
                if path is not None
                else ScrubjayVectorStore(index=stores["jane"].client, tenant="acme", user="joe")
            )
            for owner, store in stores.items():
                store.add([node for node in nodes if node.metadata["user"] == owner])
            for mode in (default, hybrid):
                row = measure(f"Scrubjay {name}, {mode.value}", asked, searching(stores["jane"], mode))
                rows.append(row)
            for store in stores.values():
                store.close()
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
