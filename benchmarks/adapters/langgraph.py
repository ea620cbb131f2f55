"""LangGraph's in-memory store beside Scrubjay behind the same interface: identifiers found, and latency.

    python -m benchmarks.adapters.langgraph [--notes 2000] [--questions 200] [--json]

Notes of two users in one store, in the namespaces ("notes", "jane") and ("notes", "jane2"), many of them alike except
for an identifier; jane asks for hers by identifier. All stores embed with the same offline model within the measured
time. Needs the extra `langgraph`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay.adapters.langgraph import ScrubjayStore
from scrubjay.embedders import default

__all__ = ["main", "run"]

_NAMES = {"jane": "jane", "joe": "jane2"}  # one is a prefix of the other


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each store."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    embedder = default()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[float(x) for x in vector] for vector in embedder.embed_documents(list(texts))]

    stock_config: Any = {"dims": embedder.dim, "embed": embed, "fields": ["text"]}
    config = {"embed": embedder, "fields": ["text"]}
    rows = [_measured("InMemoryStore", InMemoryStore(index=stock_config), made, asked)]
    with ScrubjayStore(index=config) as store:
        rows.append(_measured("ScrubjayStore in memory", store, made, asked))
    with tempfile.TemporaryDirectory() as folder, ScrubjayStore(Path(folder) / "a", index=config) as store:
        rows.append(_measured("ScrubjayStore on a file", store, made, asked))
    return rows


def _measured(name: str, store: BaseStore, made: Sequence[Note], asked: Sequence[Note]) -> Row:
    store.batch([PutOp(("notes", _NAMES[note.user]), note.id, {"text": note.text}) for note in made])

    def search(text: str) -> list[tuple[str, str]]:
        found = store.search(("notes", "jane"), query=text, limit=K)
        return [(item.key, item.namespace[1]) for item in found]

    return measure(name, asked, search)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
