"""Batches of searches, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.arguments import shown
from scrubjay.documents.entities import mentioned
from scrubjay.documents.records import as_scope
from scrubjay.fusion import Entities, Query
from scrubjay.fusion.query import checked_query

USUAL = Query()
"""The query of a search without one."""


class Batch(NamedTuple):
    """Several searches; texts, vectors and queries have one entry per search."""

    texts: Sequence[str | bytes | None]
    scopes: Scope | list[Scope]
    vectors: Any
    queries: list[Query]

    def scope(self, row: int) -> Scope:
        """Return the scope of a search."""
        return self.scopes[row] if isinstance(self.scopes, list) else self.scopes

    def scopes_of(self, rows: Sequence[int]) -> Scope | list[Scope]:
        """Return the common scope, or the scopes of these searches."""
        return [self.scopes[row] for row in rows] if isinstance(self.scopes, list) else self.scopes

    def question(self, row: int) -> str | bytes | None:
        """Return the keywords of a search, else its text."""
        keywords = self.queries[row].keywords
        return self.texts[row] if keywords is None else keywords

    def entities(self, rows: Sequence[int]) -> list[list[str] | None] | None:
        """Return the entities that the texts mention, for queries that ask for them; None if no query does."""
        names = [
            mentioned(self.texts[row], self.queries[row].keywords)
            if isinstance(signal := self.queries[row].entities, Entities) and signal.names is None
            else None
            for row in rows
        ]
        return names if any(names) else None


def batch_of(
    texts: Sequence[str | bytes | None] | None,
    scope: Scope | Sequence[Scope],
    vectors: ArrayLike | Sequence[ArrayLike | None] | None,
    query: Query | Sequence[Query | None] | None,
) -> Batch:
    """Return the searches of :meth:`scrubjay.Index.search_batch`.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """
    for name, value, expected in (
        ("texts", texts, "a sequence of str"),
        ("vectors", vectors, "an array or a sequence of arrays"),
        ("query", None if isinstance(query, Query) else query, "a scrubjay.Query or a sequence of them"),
    ):
        if value is not None and not _has_rows(value):
            raise TypeError(f"{name}: expected {expected}, got one {type(value).__name__}")
    texts, vectors = _by_place(texts), _by_place(vectors)
    for i, text in enumerate(() if texts is None else texts):
        if text is not None and not isinstance(text, (str, bytes)):
            raise TypeError(
                f"texts[{i}]: expected a str, bytes or None, got {type(text).__name__} {shown(text)}"
            )
    queries = None if query is None or isinstance(query, Query) else list(query)
    scopes: Scope | list[Scope]
    named: dict[str, Any] = {"texts": texts, "vectors": vectors, "query": queries}
    if (
        isinstance(scope, (Scope, Mapping, str, bytes))
        or not isinstance(scope, Iterable)
        or _is_scalar(scope)
    ):
        scopes = as_scope(scope)
    else:
        named["scope"] = scopes = [as_scope(part, f"scope[{i}]") for i, part in enumerate(scope)]
    lengths = {name: len(value) for name, value in named.items() if value is not None}
    has_keywords = queries is not None and any(
        isinstance(entry, Query) and entry.keywords for entry in queries
    )
    if texts is None and vectors is None and not has_keywords:
        raise ValueError("texts, vectors: expected at least one of them")
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"texts, vectors, query, scope: expected equal lengths, got {counts}")
    n = next(iter(lengths.values()))
    entries = [USUAL if entry is None else entry for entry in (queries or [query] * n)]  # type: ignore[list-item]
    for i, entry in enumerate(entries):
        checked_query(entry, f"query[{i}]")
    nothing: list[None] = [None] * n
    return Batch(
        nothing if texts is None else texts, scopes, nothing if vectors is None else vectors, entries
    )


def _by_place(given: Any) -> Any:
    """Return texts or vectors so that `[row]` is the one at that place: a Series of pandas would look up its label, a
    DataFrame a column."""
    return np.asarray(given) if hasattr(given, "iloc") else given


def _has_rows(given: Any) -> bool:
    """Whether a value is a sequence or an array."""
    counted = hasattr(given, "__len__") and hasattr(given, "__getitem__")
    return (
        counted
        and not isinstance(given, (str, bytes, bytearray, memoryview, Mapping))
        and not _is_scalar(given)
    )


def _is_scalar(given: Any) -> bool:
    """Whether a value is an array without dimensions, which NumPy cannot iterate."""
    return getattr(given, "ndim", 1) == 0
