"""CrewAI's own storage of memories beside Scrubjay behind the same interface: who finds an identifier, and how fast?

    python -m benchmarks.adapters.crewai [--notes 2000] [--questions 200] [--json]

Two users' notes, many of them alike but for an identifier; jane asks for hers by identifier, with the interface's own
threshold. `RAGStorage` (Chroma) and Scrubjay embed with the same offline model within the measured time. `RAGStorage`
has no users: all notes of a crew are in one collection, and users are apart only if every search carries a filter,
which is shown once without and once with it. Needs CrewAI before 1.10, and for its own storage a Chroma that it can
open: CrewAI 0.193 can with `pip install chromadb==0.6.3`, but not with 1.5; then its rows are left out, as stderr says.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

import numpy as np

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Index, Scope
from scrubjay.adapters.crewai import ScrubjayStorage
from scrubjay.embedders import default

__all__ = ["main", "run"]

_NAMES = {"jane": "jane", "joe": "jane2"}  # of which one begins like the other


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each way of searching; none for CrewAI's own storage where it cannot be opened."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    rows = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            stock = _stock(folder)
        except ImportError as error:
            print(
                f"left out: CrewAI's RAGStorage, which cannot be opened: {error.__cause__ or error}",
                file=sys.stderr,
            )
        else:
            _fill(dict.fromkeys(_NAMES, stock), made)
            rows.append(measure("RAGStorage", asked, _searching(stock)))
            filtered = _searching(stock, {"user": _NAMES["jane"]})
            rows.append(measure("RAGStorage, with a filter in each search", asked, filtered))
        places: dict[str, Any] = {"in memory": Index(), "on a file": Path(folder) / "ours"}
        for name, place in places.items():
            ours = {
                owner: ScrubjayStorage(place, scope=Scope("acme", user=user), embedder=default())
                for owner, user in _NAMES.items()
            }
            _fill(ours, made)
            rows.append(measure(f"Scrubjay {name}", asked, _searching(ours["jane"])))
            for storage in ours.values():
                storage.close()
    return rows


def _stock(folder: str) -> Any:
    """Open CrewAI's storage in a folder.

    Raises:
        ImportError: CrewAI does not fit the Chroma that is installed.
    """
    from chromadb import EmbeddingFunction
    from crewai.memory.storage.rag_storage import RAGStorage
    from crewai.rag.chromadb.config import ChromaDBConfig
    from crewai.rag.config.utils import set_rag_config

    model = default()

    class Ours(EmbeddingFunction[Any]):
        """Scrubjay's offline model as Chroma asks for one."""

        def __init__(self) -> None:
            pass

        def __call__(self, input: Any) -> Any:
            return [np.asarray(vector, dtype=np.float32) for vector in model.embed_documents(list(input))]

    # Where CrewAI keeps it is fixed when it is imported, and its configuration does not take other settings.
    with mock.patch("crewai.rag.chromadb.config.DEFAULT_STORAGE_PATH", folder):
        set_rag_config(ChromaDBConfig(embedding_function=Ours()))
    return RAGStorage("short_term")


def _fill(storages: Mapping[str, Any], made: Sequence[Note]) -> None:
    for note in made:
        storages[note.user].save(note.text, {"note": note.id, "user": _NAMES[note.user]})
    for owner, storage in storages.items():
        text = next(note.text for note in made if note.user == owner)
        if not storage.search(text, limit=K):  # RAGStorage logs what fails and goes on
            raise RuntimeError(f"{type(storage).__name__} did not keep {text!r}")


def _searching(
    storage: Any, filter: Mapping[str, Any] | None = None
) -> Callable[[str], list[tuple[str, str]]]:
    owner = {name: user for user, name in _NAMES.items()}

    def search(text: str) -> list[tuple[str, str]]:
        found = [hit["metadata"] for hit in storage.search(text, limit=K, filter=filter)]
        return [(metadata["note"], owner[metadata["user"]]) for metadata in found]

    return search


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
