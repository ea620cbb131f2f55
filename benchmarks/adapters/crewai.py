"""CrewAI's own memory storages beside Scrubjay behind the same memory: identifiers found, and latency.

    python -m benchmarks.adapters.crewai [--notes 2000] [--questions 200] [--json]

Notes of two users, many of them alike except for an identifier; jane asks for hers by identifier through
`crewai.Memory`, which embeds with the same offline model within the measured time and weighs similarity, age and
importance by default. A user's notes are under a path of one memory, `/users/jane` and `/users/jane2`, which is how
CrewAI separates users. Needs CrewAI 1.15 or newer; Qdrant Edge is skipped if it is not installed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("CREWAI_TESTING", "true")  # otherwise each call waits for a trace collector
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")

from crewai.events.event_bus import crewai_event_bus
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Index, Scope
from scrubjay.adapters.crewai import ScrubjayEmbedder, ScrubjayStorage
from scrubjay.embedders import default

__all__ = ["main", "run"]

_NAMES = {"jane": "/users/jane", "joe": "/users/jane2"}  # one is a prefix of the other
_BATCH = 250


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each storage that can be opened."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    vectors = [vector.tolist() for vector in default().embed_documents([note.text for note in made])]
    rows = []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        crewai_event_bus.scoped_handlers(),
    ):
        for name, storage in _storages(Path(folder)).items():
            for start in range(0, len(made), _BATCH):
                several = range(start, min(start + _BATCH, len(made)))
                storage.save([_record(made[i], vectors[i]) for i in several])
            memory = Memory(storage=storage, embedder=ScrubjayEmbedder(), llm="none")
            rows.append(measure(name, asked, _searching(memory)))
            memory.close()
    return rows


def _storages(folder: Path) -> dict[str, Any]:
    from crewai.memory.storage.lancedb_storage import LanceDBStorage

    storages: dict[str, Any] = {"LanceDBStorage": LanceDBStorage(folder / "lancedb")}
    try:
        from crewai.memory.storage.qdrant_edge_storage import QdrantEdgeStorage

        storages["QdrantEdgeStorage"] = QdrantEdgeStorage(str(folder / "qdrant"))
    except ImportError as error:
        print(f"left out: CrewAI's QdrantEdgeStorage: {error}", file=sys.stderr)
    jane = Scope("acme", user="jane")
    storages["Scrubjay in memory"] = ScrubjayStorage(Index(), scope=jane)
    storages["Scrubjay on a file"] = ScrubjayStorage(folder / "ours", scope=jane)
    return storages


def _record(note: Note, vector: list[float]) -> MemoryRecord:
    return MemoryRecord(id=note.id, content=note.text, scope=_NAMES[note.user], embedding=vector)


def _searching(memory: Memory) -> Callable[[str], list[tuple[str, str]]]:
    owner = {path: user for user, path in _NAMES.items()}

    def search(text: str) -> list[tuple[str, str]]:
        found = memory.recall(text, scope=_NAMES["jane"], limit=K, depth="shallow")
        return [(match.record.id, owner[match.record.scope]) for match in found]

    return search


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
