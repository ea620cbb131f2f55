"""Lexical engines, each used as its own documentation advises.

All of them implement `search(query, k)` and return what a caller needs: the numbers of the documents, best first, and
their scores. Scrubjay gets the query as text and analyses it within the measured time; its peers get terms made in
advance (in their favour) and build a query object within the measured time, because each query is a new one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from benchmarks.compare.workload import Query, Terms

ROWS_A_CALL = 1_000
TANTIVY_HEAP_BYTES = 1_000_000_000


class LexicalEngine(Protocol):
    """An index over documents 0..n-1, and its further operations."""

    name: str
    note: str
    n_adds: int
    """The number of single additions to measure; 0: every addition is a new index."""

    def build(self, texts: Sequence[str], terms: Terms) -> None: ...
    def search(self, query: Query, k: int) -> Any: ...
    def found(self, query: Query, k: int) -> list[int]: ...
    def add(self, number: int, text: str, line: str) -> None: ...
    def delete(self, number: int) -> None: ...


class Scrubjay:
    name = "scrubjay"
    note = (
        "text in: terms are made, and unknown words corrected, inside the measured time (bare: not corrected)"
    )
    n_adds = 2_000

    def __init__(self) -> None:
        import scrubjay

        self.engine = scrubjay.Engine(k1=1.2, b=0.75)
        self.scope = scrubjay.Scope("benchmark")
        self._query = scrubjay.Query(mode="lexical")
        self._as_typed = scrubjay.Query(mode="lexical", spelling=False)

    def build(self, texts: Sequence[str], terms: Terms) -> None:
        for start in range(0, len(texts), ROWS_A_CALL):
            rows = texts[start : start + ROWS_A_CALL]
            self.engine.upsert_many(list(range(start, start + len(rows))), rows, scope=self.scope)

    def search(self, query: Query, k: int) -> Any:
        ids, scores = self.engine.search(query.text, scope=self.scope, k=k, query=self._query)
        return ids, scores

    def bare(self, query: Query, k: int) -> Any:
        """Search the terms as typed: what the formula and the peers get."""
        ids, scores = self.engine.search(query.text, scope=self.scope, k=k, query=self._as_typed)
        return ids, scores

    def found(self, query: Query, k: int) -> list[int]:
        ids, _ = self.bare(query, k)
        return [int(number) for number in ids]

    def add(self, number: int, text: str, line: str) -> None:
        self.engine.upsert(number, text, scope=self.scope)

    def delete(self, number: int) -> None:
        self.engine.delete(number, scope=self.scope)


class Bm25s:
    name = "bm25s"
    note = (
        "retrieve() with the numba backend, one thread, warm; frozen: adding one document builds a new index"
    )
    n_adds = 0

    def __init__(self) -> None:
        import bm25s
        from bm25s.numba.selection import _numba_sorted_top_k

        self._new: Callable[[], Any] = lambda: bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        self._top = _numba_sorted_top_k

    def build(self, texts: Sequence[str], terms: Terms) -> None:
        numbers = list(range(len(terms.vocabulary)))  # one object for each term, not for each occurrence
        rows = [[numbers[term] for term in terms.of(place).tolist()] for place in range(len(terms))]
        self.index = self._new()
        self.index.index((rows, dict(zip(terms.words, numbers, strict=True))), show_progress=False)
        self.index.activate_numba_scorer()
        self._n = len(terms)

    def search(self, query: Query, k: int) -> Any:
        return self.index.retrieve([list(query.words)], k=min(k, self._n), show_progress=False, n_threads=1)

    def bare(self, query: Query, k: int) -> Any:
        """Use get_scores and the package's private top-k: what remains without the checks of retrieve()."""
        scores, numbers = self._top(self.index.get_scores(list(query.words)), min(k, self._n))
        return numbers, scores

    def found(self, query: Query, k: int) -> list[int]:
        numbers, scores = self.search(query, k)
        return [int(number) for number, score in zip(numbers[0], scores[0], strict=True) if score > 0]

    def add(self, number: int, text: str, line: str) -> None:
        raise NotImplementedError("frozen")

    def delete(self, number: int) -> None:
        raise NotImplementedError("frozen")


class Tantivy:
    name = "tantivy"
    note = "in memory, frequencies, one segment, TopDocs without count; an addition is commit and reload"
    n_adds = 50

    def __init__(self, heap_bytes: int = TANTIVY_HEAP_BYTES) -> None:
        import tantivy

        self._tantivy, self._heap_bytes = tantivy, heap_bytes
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="plain", index_option="freq")
        builder.add_integer_field("number", stored=False, indexed=True, fast=True)
        self._schema = builder.build()
        self.index = tantivy.Index(self._schema)
        plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self.index.register_tokenizer("plain", plain)

    def build(self, texts: Sequence[str], terms: Terms) -> None:
        self._writer = self.index.writer(heap_size=self._heap_bytes, num_threads=1)
        for number in range(len(terms)):
            self._add(number, terms.line(number))
        self._writer.commit()
        self._reload()
        self.n_segments = self._searcher.num_segments

    def _add(self, number: int, line: str) -> None:
        document = self._tantivy.Document(text=[line])
        # With an explicit signed type: a keyword is read as another type, and deletes fail in an unsigned field.
        document.add_integer("number", number)
        self._writer.add_document(document)

    def _reload(self) -> None:
        self.index.reload()
        self._searcher = self.index.searcher()

    def search(self, query: Query, k: int) -> Any:
        make, should, schema = self._tantivy.Query.term_query, self._tantivy.Occur.Should, self._schema
        clauses = [(should, make(schema, "text", word, "freq")) for word in query.words]
        return self._searcher.search(self._tantivy.Query.boolean_query(clauses), limit=k, count=False).hits

    def found(self, query: Query, k: int) -> list[int]:
        addresses = [address for _, address in self.search(query, k)]
        return [int(number or 0) for number in self._searcher.fast_field_values("number", addresses)]

    def add(self, number: int, text: str, line: str) -> None:
        self._add(number, line)
        self._writer.commit()
        self._reload()

    def delete(self, number: int) -> None:
        self._writer.delete_documents_by_term("number", number)
        self._writer.commit()
        self._reload()


class Fts5:
    name = "fts5"
    note = "in memory, contentless, rank limit"
    n_adds = 500

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.execute("CREATE VIRTUAL TABLE notes USING fts5(text, content='', tokenize='ascii')")

    def build(self, texts: Sequence[str], terms: Terms) -> None:
        self.connection.execute("BEGIN")
        rows = ((number, terms.line(number)) for number in range(len(terms)))
        self.connection.executemany("INSERT INTO notes(rowid, text) VALUES (?, ?)", rows)
        self.connection.execute("INSERT INTO notes(notes) VALUES ('optimize')")
        self.connection.execute("COMMIT")

    def search(self, query: Query, k: int) -> Any:
        match = " OR ".join(f'"{word}"' for word in query.words)
        return self.connection.execute(
            "SELECT rowid, rank FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (match, k)
        ).fetchall()

    def found(self, query: Query, k: int) -> list[int]:
        return [number for number, _ in self.search(query, k)]

    def add(self, number: int, text: str, line: str) -> None:
        self.connection.execute("INSERT INTO notes(rowid, text) VALUES (?, ?)", (number, line))
        self._lines = {**getattr(self, "_lines", {}), number: line}

    def delete(self, number: int) -> None:
        line = self._lines.pop(number)
        self.connection.execute(
            "INSERT INTO notes(notes, rowid, text) VALUES ('delete', ?, ?)", (number, line)
        )


ENGINES: dict[str, Callable[[], LexicalEngine]] = {
    "scrubjay": Scrubjay,
    "bm25s": Bm25s,
    "tantivy": Tantivy,
    "fts5": Fts5,
}
NEEDS: dict[str, Sequence[str]] = {
    "scrubjay": (),
    "bm25s": ("bm25s", "numba"),
    "tantivy": ("tantivy",),
    "fts5": (),
}
RIVALS = ("bm25s", "tantivy")
"""Ratios are to the better of these."""


def notes() -> dict[str, str]:
    """Return how each engine is used, for the report."""
    return {kind.name: kind.note for kind in (Scrubjay, Bm25s, Tantivy, Fts5)}
