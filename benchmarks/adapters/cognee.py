"""cognee's LanceDB store beside Scrubjay's: identifiers found, isolation of users, and latency.

    python -m benchmarks.adapters.cognee [--notes 2000] [--questions 200] [--json]

Both store the notes as data points, those of two users in two datasets, and embed with the same model, WordLlama,
within the measured time. A row includes the time of writing. LanceDB has a folder for each dataset, as in cognee, and
runs in this process (cognee's own default is a separate process); Scrubjay has one file. Needs the extra `cognee`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any
from uuid import UUID, uuid5

os.environ.setdefault("TELEMETRY_DISABLED", "1")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from cognee.infrastructure.databases.vector.lancedb.LanceDBAdapter import LanceDBAdapter
from cognee.infrastructure.engine import DataPoint

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Query
from scrubjay.adapters.cognee import ScrubjayAdapter
from scrubjay.embedders import default

__all__ = ["main", "run"]


class Chunk(DataPoint):  # type: ignore[misc]
    """A note as a data point of cognee."""

    text: str
    metadata: dict = {"index_fields": ["text"]}  # type: ignore[type-arg] # noqa: RUF012


class Engine:
    """WordLlama as a cognee embedding engine."""

    def __init__(self) -> None:
        self._model = default()

    async def embed_text(self, text: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        vectors: list[list[float]] = self._model.embed_documents(list(text)).tolist()
        return vectors

    def get_vector_size(self) -> int:
        """Return the dimension."""
        return self._model.dim


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each store."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    engine = Engine()
    with tempfile.TemporaryDirectory() as folder, closing(asyncio.new_event_loop()) as loop:
        stores: dict[str, Callable[[str], Any]] = {
            "LanceDB": lambda user: LanceDBAdapter(f"{folder}/{user}.lance", None, engine),
            "Scrubjay": lambda user: ScrubjayAdapter(f"{folder}/a", None, engine, user),
            "Scrubjay, by distance alone": lambda user: ScrubjayAdapter(
                f"{folder}/b", None, engine, user, query=Query(mode="vector")
            ),
        }
        return [_measured(name, make, made, asked, loop) for name, make in stores.items()]


def _measured(
    name: str,
    make: Callable[[str], Any],
    made: Sequence[Note],
    asked: Sequence[Note],
    loop: asyncio.AbstractEventLoop,
) -> Row:
    of = {uuid5(UUID(int=1), note.id): (note.id, note.user) for note in made}
    stores = {user: make(user) for user in ("jane", "joe")}
    start = time.perf_counter()
    for user, store in stores.items():
        points = [Chunk(id=uuid5(UUID(int=1), note.id), text=note.text) for note in made if note.user == user]
        loop.run_until_complete(store.create_collection("Chunk_text", Chunk))
        for first in range(0, len(points), 100):
            loop.run_until_complete(store.create_data_points("Chunk_text", points[first : first + 100]))
    took = time.perf_counter() - start

    def search(text: str) -> list[tuple[str, str]]:
        found = loop.run_until_complete(
            stores["jane"].search("Chunk_text", text, None, K, include_payload=True)
        )
        return [of[one.id] for one in found]

    row = measure(f"{name} (written in {took:.1f} s)", asked, search)
    for store in stores.values():
        loop.run_until_complete(store.close())
    return row


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
