"""Hybrid engines over SQLite, each used as its own documentation advises, with a file for each user.

As in `hybrid_packages`, the rankings of each are fused by reciprocal rank; a search after a write sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare.hybrid_glue import fused
from benchmarks.compare.hybrid_packages import batches
from benchmarks.memories import CANDIDATES, Block, Memories, Question
from benchmarks.vectors import Floats


def sqlite_with_extensions() -> Any:
    """Return a DB-API module of SQLite that loads extensions; the standard library's often cannot."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    import pysqlite3

    return pysqlite3


class SqliteVec:
    name = "sqlite fts5 + sqlite-vec"
    note = "a file for each user, WAL; two selects fused in Python"
    settings: Sequence[Any] = (None,)
    n_adds = 200

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str | None, Any] = {}

    def _file(self, user: str | None) -> Any:
        file = self._files.get(user)
        if file is None:
            import sqlite_vec

            path = str(self._folder / f"{user}.sqlite3")
            file = sqlite_with_extensions().connect(path, isolation_level=None, check_same_thread=False)
            file.enable_load_extension(True)
            sqlite_vec.load(file)
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute("PRAGMA cache_size = -64000")
            self._files[user] = file
        return file

    def build(self, memories: Memories) -> None:
        dim = memories.vectors.shape[1]
        for block in memories.blocks:
            file = self._file(block.user)
            file.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='ascii')")
            file.execute(f"CREATE VIRTUAL TABLE dense USING vec0(vector float[{dim}] distance_metric=cosine)")
            file.execute("BEGIN")
            for row in range(block.first, block.last):
                self._insert(file, row, memories.terms.line(row), memories.vectors[row])
            file.execute("INSERT INTO words(words) VALUES ('optimize')")
            file.execute("COMMIT")

    def open(self) -> None:
        self._files = {}

    def _insert(self, file: Any, number: int, line: str, vector: Floats) -> None:
        file.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, line))
        file.execute("INSERT INTO dense(rowid, vector) VALUES (?, ?)", (number, vector.tobytes()))

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> list[int]:
        file = self._file(question.user)
        match = " OR ".join(f'"{word}"' for word in question.query.words)
        words = file.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (match, CANDIDATES)
        ).fetchall()
        dense = file.execute(
            "SELECT rowid FROM dense WHERE vector MATCH ? AND k = ?", (question.vector.tobytes(), CANDIDATES)
        ).fetchall()
        return fused([number for (number,) in words], [number for (number,) in dense], k)

    def found(self, question: Question, k: int) -> list[int]:
        return self.search(question, k)

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        file = self._file(block.user)
        file.execute("BEGIN")
        self._insert(file, number, line, vector)
        file.execute("COMMIT")

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()


class SqliteHybridSearch:
    name = "sqlite-hybrid-search"
    note = "C++ over usearch and FTS5, a file for each user; no scope, filter or delete; its own candidates and tokens"
    settings: Sequence[Any] = (None,)
    n_adds = 50

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str | None, Any] = {}
        self._dim = 0

    def build(self, memories: Memories) -> None:
        self._dim = memories.vectors.shape[1]
        (self._folder / "dim").write_text(str(self._dim))
        for block in memories.blocks:
            for rows in batches(block):
                documents = [{"id": str(row), "text": memories.terms.line(row)} for row in rows]
                self._file(block.user).add(documents, memories.vectors[rows.start : rows.stop].tolist())

    def open(self) -> None:
        self._files, self._dim = {}, int((self._folder / "dim").read_text())

    def _file(self, user: str | None) -> Any:
        if user not in self._files:
            import sqlite_hybrid_search

            self._files[user] = sqlite_hybrid_search.Engine(
                str(self._folder / f"{user}.sqlite3"), dim=self._dim
            )
        return self._files[user]

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> Any:
        words = " ".join(question.query.words)
        # It fuses only as many of each ranking as are requested: k alone would lose half of the recall.
        return self._file(question.user).search_hybrid(words, question.vector.tolist(), CANDIDATES)[:k]

    def found(self, question: Question, k: int) -> list[int]:
        return [int(hit["document_id"]) for hit in self.search(question, k)]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._file(block.user).add([{"id": str(number), "text": line}], [vector.tolist()])

    def close(self) -> None:
        self._files.clear()
