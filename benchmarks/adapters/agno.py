"""Agno's default vector database beside Scrubjay behind the same `Knowledge`: identifiers found, and latency.

    python -m benchmarks.adapters.agno [--notes 2000] [--questions 200] [--json]

Notes of two users, many of them alike except for an identifier; jane asks for hers by identifier, as user jane. LanceDB
and Scrubjay embed with the same offline model within the measured time; both use the framework's three search types.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("AGNO_TELEMETRY", "false")

from agno.knowledge.document import Document
from agno.knowledge.knowledge import Knowledge
from agno.utils.log import set_log_level_to_error
from agno.vectordb.lancedb import LanceDb
from agno.vectordb.search import SearchType

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Index
from scrubjay.adapters.agno import LocalEmbedder, ScrubjayDb

__all__ = ["main", "run"]


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each store and search type."""
    set_log_level_to_error()
    made = notes(n_notes)
    asked = questions(made, n_questions)
    embedder = LocalEmbedder()
    vectors = embedder.many([note.text for note in made])
    rows = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lancedb = LanceDb(uri=str(Path(folder) / "lancedb"), table_name="notes", embedder=embedder)
        lancedb.create()
        stores: dict[str, Any] = {
            "LanceDb": lancedb,
            "Scrubjay in memory": ScrubjayDb(Index(), tenant="acme"),
            "Scrubjay on a file": ScrubjayDb(Path(folder) / "ours", tenant="acme"),
        }
        for name, store in stores.items():
            for user in ("jane", "joe"):
                documents = [
                    Document(id=note.id, name=note.user, content=note.text, embedding=vector)
                    for note, vector in zip(made, vectors, strict=True)
                    if note.user == user
                ]
                store.insert(user, documents, user_id=user)
            knowledge = Knowledge(vector_db=store)
            for kind in SearchType:
                rows.append(measure(f"{name}, {kind.value}", asked, _searching(knowledge, kind, made)))
            if isinstance(store, ScrubjayDb):
                store.close()
    return rows


def _searching(
    knowledge: Knowledge, kind: SearchType, made: Sequence[Note]
) -> Callable[[str], list[tuple[str, str]]]:
    id_of = {note.text: note.id for note in made}

    def search(text: str) -> list[tuple[str, str]]:
        found = knowledge.search(text, max_results=K, search_type=kind.value, user_id="jane")
        return [(id_of[document.content], document.name or "") for document in found]

    return search


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
