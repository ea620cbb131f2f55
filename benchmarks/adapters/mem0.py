"""mem0 over its default store beside mem0 over Scrubjay: identifiers found, and latency.

    python -m benchmarks.adapters.mem0 [--notes 2000] [--questions 200] [--json]

Notes of two users in one collection, many of them alike except for an identifier; jane asks for hers by identifier,
through `mem0.Memory.search`, so mem0's embedding call, threshold and scoring are within the measured time. Both embed
with the same offline model. Needs the extra `mem0`, which installs qdrant-client. mem0 finds nothing by keywords in
Qdrant without fastembed and its model; with them its threshold still drops results without a near vector, as
tests/adapters/test_mem0_memory.py shows.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp())

import mem0
from mem0.utils.factory import EmbedderFactory

import scrubjay.adapters.mem0
from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions

__all__ = ["Embedder", "main", "run"]


class Embedder:
    """Scrubjay's offline model as a mem0 embedder."""

    model = scrubjay.embedders.default()

    def __init__(self, config: Any) -> None:
        self.config = config

    def embed(self, text: str, action: str | None = None) -> list[float]:
        return [float(number) for number in self.model.embed_query(text)]

    def embed_batch(self, texts: Sequence[str], action: str = "add") -> list[list[float]]:
        return [self.embed(text, action) for text in texts]


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each store."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    scrubjay.adapters.mem0.register()
    EmbedderFactory.provider_to_class["openai"] = f"{Embedder.__module__}.Embedder"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, provider, place in (
            ("mem0 over Qdrant, local", "qdrant", {"path": f"{folder}/qdrant"}),
            ("mem0 over Scrubjay in memory", "scrubjay", {}),
            ("mem0 over Scrubjay on a file", "scrubjay", {"path": f"{folder}/scrubjay"}),
        ):
            memory = _memory(provider, place, Path(folder))
            rows.append(_measured(name, memory, made, asked))
            memory.close()
    return rows


def _memory(provider: str, place: dict[str, Any], folder: Path) -> Any:
    store = {"embedding_model_dims": Embedder.model.dim, **place}
    return mem0.Memory.from_config(
        {
            "vector_store": {"provider": provider, "config": store},
            "embedder": {"provider": "openai", "config": {}},
            "llm": {"provider": "openai", "config": {"api_key": "none is called"}},
            "history_db_path": str(folder / "history.db"),
        }
    )


def _measured(name: str, memory: Any, made: Sequence[Note], asked: Sequence[Note]) -> Row:
    payloads = [{"data": note.text, "text_lemmatized": note.text, "user_id": note.user} for note in made]
    vectors = [memory.embedding_model.embed(note.text) for note in made]
    ids = [f"00000000-0000-0000-0000-{int(note.id):012d}" for note in made]
    memory.vector_store.insert(vectors=vectors, payloads=payloads, ids=ids)
    known = dict(zip(ids, made, strict=True))

    def search(text: str) -> list[tuple[str, str]]:
        found = memory.search(text, filters={"user_id": "jane"}, top_k=K)["results"]
        return [(known[one["id"]].id, one["user_id"]) for one in found]

    return measure(name, asked, search)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
