"""The memory stores of Strands beside Scrubjay's: identifiers found, isolation of users, and latency.

    python -m benchmarks.adapters.strands [--notes 2000] [--questions 200] [--json]

Notes of two users; jane asks for hers by identifier. All search by words and need no model; the last row also embeds,
within the measured time. Strands' stores have a name and no users, so each user has a store: of `TestMemoryStore` once
with its own path, once at its default path, which its name determines; of `FileMemoryStore`, which has a file for each
heading (here the identifier) and reads all files for each question, by name. `"a" and "b"` in a row are the names of
jane's store and the other. All stores find all identifiers. Stores whose names map to one file name, or one of whose
folders is inside the other, share their contents without a warning; others are isolated. `TestMemoryStore` writes its
whole file for each note. Needs the extra `strands`.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from strands.storage import LocalFileStorage
from strands.vended_memory_stores.file_memory_store import FileMemoryStore
from strands.vended_memory_stores.test_memory_store import TestMemoryStore

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Scope
from scrubjay.adapters.strands import ScrubjayMemoryStore
from scrubjay.embedders import default

__all__ = ["main", "run"]

_IDENTIFIER = re.compile(r"\w+-\w+-\d+")
_FEW = 20


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return a row for each way of storing two users' notes. Stores of files get at most 20 questions."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        apart = [TestMemoryStore(name=user, path=f"{folder}/{user}.json") for user in ("jane", "joe")]
        rows.append(_measured("TestMemoryStore, a path each", apart, made, asked))
        with mock.patch.dict(os.environ, {"HOME": folder, "USERPROFILE": folder}):  # the default path
            named = [TestMemoryStore(name=name) for name in ("jane_2", "jane/2")]
        rows.append(_measured('TestMemoryStore, "jane_2" and "jane/2"', named, made, asked))
        for other in ("jane2", "jane/2"):
            storage = LocalFileStorage(f"{folder}/{len(rows)}")
            files = [FileMemoryStore(name=name, storage=storage) for name in ("jane", other)]
            rows.append(_measured(f'FileMemoryStore, "jane" and "{other}"', files, made, asked[:_FEW]))
        for name, path, embedder in (
            ('Scrubjay in memory, "jane" and "jane/2"', None, None),
            ('Scrubjay on a file, "jane" and "jane/2"', Path(folder) / "words", None),
            ('Scrubjay on a file, embedding, "jane" and "jane/2"', Path(folder) / "both", default()),
        ):
            ours = [
                ScrubjayMemoryStore("notes", path, scope=Scope("acme", user=user), embedder=embedder)
                for user in ("jane", "jane/2")
            ]
            rows.append(_measured(name, ours, made, asked))
            for store in ours:
                store.close()
    return rows


def _measured(name: str, stores: Sequence[Any], made: Sequence[Note], asked: Sequence[Note]) -> Row:
    """Measure the first store, which gets jane's notes; the second gets the others'."""
    of = {note.identifier: (note.id, note.user) for note in made}
    janes, others = stores

    async def add_all() -> None:
        for note in made:
            store = janes if note.user == "jane" else others
            text = f"# {note.identifier}\n{note.text}" if isinstance(store, FileMemoryStore) else note.text
            await store.add(text)

    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(add_all())

        def search(text: str) -> list[tuple[str, str]]:
            found = loop.run_until_complete(janes.search(text, {"max_search_results": K}))
            return [of[_IDENTIFIER.findall(entry.content)[-1]] for entry in found]

        return measure(name, asked, search)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
