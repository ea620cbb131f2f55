"""The memory stores that Strands comes with beside Scrubjay's: who finds an identifier, who sees whose, and how fast?

    python -m benchmarks.adapters.strands [--notes 2000] [--questions 200] [--json]

Two users' notes; jane asks for hers by identifier. All search by words and need no model; the last row embeds too,
within the measured time. Strands' stores have a name and no users, so each user has a store: of `TestMemoryStore` once
at a path of its own, once at the place that its name alone stands for, which is its default; of `FileMemoryStore`,
which keeps a file per heading (here the identifier) and reads all files at each question, by name. Where a row says
`"a" and "b"`, these are the names of jane and of the other. Identifiers are lost by none. Names that become one file
name, or of which one is a folder in the other, share what they hold, and nothing warns of it; other names are kept
apart. `TestMemoryStore` writes its whole file at each note. Needs the extra `strands`.
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
    """Return a row for each way of keeping two users' notes. Stores of files are asked at most 20 questions."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        apart = [TestMemoryStore(name=user, path=f"{folder}/{user}.json") for user in ("jane", "joe")]
        rows.append(_measured("TestMemoryStore, a path each", apart, made, asked))
        with mock.patch.dict(os.environ, {"HOME": folder, "USERPROFILE": folder}):  # where its default lies
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
    """Measure how the first store answers; it is given jane's notes, and the second the others'."""
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
