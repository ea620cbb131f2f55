"""A small store that keeps every promise; the checks are tested by breaking one of its rules at a time."""

from __future__ import annotations

import asyncio
import base64
import bisect
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_store_conformance import Hit, Item, Page, Scope, Setting
from memory_store_conformance.contract import OFFERS, OPERATORS
from reference_filters import Filters
from reference_log import Log


@dataclass
class Row:
    """A stored item with its place in the order of writing."""

    scope: Scope
    id: str
    text: str
    metadata: str
    vector: Any
    expires_at: float | None
    place: int
    identifiers: set[str]

    def item(self) -> Item:
        return Item(self.id, self.text, json.loads(self.metadata))


def as_text(vector: Any) -> str:
    """Return a vector as text for the log."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def as_vector(text: str) -> Any:
    """Return the vector of a text of :func:`as_text`."""
    return np.frombuffer(base64.b64decode(text), "<f4")


def identifiers(text: str) -> set[str]:
    """Return the words of a text that contain a digit, unsplit: vectors of hashed trigrams blur them."""
    return {word for word in re.findall(r"[\w.@-]*\w", text.casefold()) if any(map(str.isdigit, word))}


class ReferenceStore:
    """Everything in dicts, with every operation in a log; lists are sorted on demand."""

    offers = frozenset(OFFERS)
    operators = frozenset(OPERATORS)
    filters = Filters()

    def __init__(self, setting: Setting) -> None:
        self._embedder = setting.embedder
        self._log = Log(setting.directory)
        self._turn = threading.RLock()
        self._rows: dict[Scope, dict[str, Row]] = {}
        self._ordered: dict[Scope, list[Row]] = {}
        self._statements: list[dict[str, Any]] = []
        self._place = 0
        self._closed = False
        self._refresh()

    # ------------------------------------------------------------------ writing

    def put(self, scope: Scope, items: Sequence[Item], *, expires_in: float | None = None) -> None:
        texts = [item.text for item in items]
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"text: expected str, got {type(text).__name__}")
        self.put_vectors(scope, items, self._embedder.embed_documents(texts), expires_in=expires_in)

    def put_vectors(
        self, scope: Scope, items: Sequence[Item], vectors: Any, *, expires_in: float | None = None
    ) -> None:
        self.check_scope(scope)
        self.check_vectors(vectors)
        expires_at = None if expires_in is None else time.time() + expires_in
        written = [
            [item.id, item.text, json.dumps(dict(item.metadata)), as_text(vector), expires_at]
            for item, vector in zip(items, vectors, strict=True)
        ]
        self.write("put", scope, written)

    def check_scope(self, scope: Scope) -> None:
        if len(scope) != 2 or not all(scope):
            raise ValueError(f"scope: expected two names, got {scope!r}")

    def check_vectors(self, vectors: Any) -> None:
        if len(vectors) and vectors.shape[1] != self._embedder.dim:
            raise ValueError(f"vectors: expected {self._embedder.dim} numbers, got {vectors.shape[1]}")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors: expected finite numbers")

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self.write("delete", scope, list(ids))

    def delete_scope(self, scope: Scope) -> None:
        self.write("delete", scope, list(self._rows.get(scope, ())))

    def reset(self, tenant: str) -> None:
        for scope in [scope for scope in self._rows if scope[0] == tenant]:
            self.delete_scope(scope)

    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        """Log an operation and apply it, so that visible changes are durable."""
        with self._turn, self._log.locked():
            if self._closed:
                raise ValueError("the store is closed")
            self._refresh()
            self._log.append([what, scope, arguments])
            self.apply(what, scope, arguments)

    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        rows = self._rows.setdefault(scope, {})
        self._ordered.clear()
        if what == "delete":
            for id in arguments:
                rows.pop(id, None)
            return
        for id, text, metadata, vector, expires_at in arguments:
            self._place += 1
            place = rows[id].place if id in rows else self._place
            rows[id] = Row(scope, id, text, metadata, as_vector(vector), expires_at, place, identifiers(text))

    def _refresh(self) -> None:
        rewritten, operations = self._log.unread()
        if rewritten:
            self._rows = {}
            self._ordered.clear()
        for what, scope, arguments in operations:
            self.apply(what, tuple(scope), arguments)

    def purge(self) -> None:
        with self._turn, self._log.locked():
            self._refresh()
            self._rewrite()

    def _rewrite(self) -> None:
        kept = []
        for scope, rows in self._rows.items():
            for row in rows.values():
                written = [row.id, row.text, row.metadata, as_text(row.vector), row.expires_at]
                kept.append(["put", scope, [written]])
        self._log.rewrite(kept)

    def close(self) -> None:
        self._closed = True

    # ------------------------------------------------------------------ reading

    def visible(self, scope: Scope) -> list[Row]:
        """Return the live rows of a scope, or of all scopes below a shorter one, in order of writing."""
        with self._turn:
            self._refresh()
            rows = self.ordered(scope)
        return [row for row in rows if self.alive(row)]

    def ordered(self, scope: Scope) -> list[Row]:
        """Return all rows of a scope or below a shorter one; the list is cached until the next change."""
        if scope not in self._ordered:
            scopes = [scope] if len(scope) == 2 else self.below(scope)
            rows = [row for one in scopes for row in self._rows.get(one, {}).values()]
            self._ordered[scope] = sorted(rows, key=lambda row: row.place)
        return self._ordered[scope]

    def below(self, prefix: Scope) -> list[Scope]:
        return [scope for scope in self._rows if scope[: len(prefix)] == prefix]

    def alive(self, row: Row) -> bool:
        return row.expires_at is None or row.expires_at > time.time()

    def get(self, scope: Scope, id: str) -> Item | None:
        with self._turn:
            self._refresh()
            row = self._rows.get(scope, {}).get(id)
        return row.item() if row is not None and self.alive(row) else None

    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Item | None]:
        return [self.get(scope, id) for id in ids]

    def candidates(self, scope: Scope) -> list[Row]:
        """Return the rows that a search ranks."""
        return self.visible(scope)

    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        if not isinstance(k, int) or k < 0:
            raise ValueError(f"k: expected a number from 0, got {k!r}")
        return self.ranked(self.candidates(scope), self.embed_question(text), k, filter, identifiers(text))

    def embed_question(self, text: str) -> Any:
        return self._embedder.embed_query(text)

    def search_vector(self, scope: Scope, vector: Any, k: int) -> list[Hit]:
        return self.ranked(self.visible(scope), vector, k, None, set())

    def ranked(
        self, rows: list[Row], vector: Any, k: int, filter: Mapping[str, Any] | None, asked: set[str]
    ) -> list[Hit]:
        if filter is not None:
            rows = [row for row in rows if self.filters.matches(json.loads(row.metadata), filter)]
        if not rows:
            return []
        scores = self.scores(rows, vector)
        if asked:
            scores = scores + np.array([len(asked & row.identifiers) for row in rows])
        order = np.lexsort(([row.place for row in rows], -scores))[:k]
        return [Hit(rows[place].item(), float(scores[place])) for place in order]

    def scores(self, rows: list[Row], vector: Any) -> Any:
        return np.round(np.stack([row.vector for row in rows]) @ np.asarray(vector, np.float32), 6)

    def list(self, scope: Scope, limit: int) -> list[Item]:
        return [row.item() for row in self.visible(scope)[:limit]]

    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        with self._turn:
            self._refresh()
            rows = self.ordered(scope)
        start = 0 if cursor is None else bisect.bisect_right(rows, cursor, key=lambda row: row.place)
        found = [row for row in rows[start : start + limit] if self.alive(row)]
        more = len(rows) > start + limit
        return Page([row.item() for row in found], rows[start + limit - 1].place if more else None)

    def count(self, scope: Scope) -> int:
        return len(self.visible(scope))

    def scopes(self, prefix: Scope) -> list[Scope]:
        return [scope for scope in self.below(prefix) if self._rows[scope]]

    def sweep(self) -> None:
        """Do nothing: expired items are never returned."""

    # ------------------------------------------------------------------ truth

    def state(self, scope: Scope, subject: str, predicate: str, value: str, *, single: bool,
              since: str | None = None, until: str | None = None) -> None:  # fmt: skip
        """Record a statement; an undated one holds from the beginning, and later undated ones win."""
        self._statements.append(
            {"slot": self.slot(scope, subject, predicate), "value": value, "single": single,
             "since": since or "", "until": until or "9", "number": len(self._statements)}
        )  # fmt: skip

    def slot(self, scope: Scope, subject: str, predicate: str) -> Any:
        return (scope, subject, predicate)

    def held(self, scope: Scope, subject: str, predicate: str, at: str | None = None) -> list[str]:
        slot = self.slot(scope, subject, predicate)
        at = at or "8"
        holding = [
            one for one in self._statements if one["slot"] == slot and one["since"] <= at < one["until"]
        ]
        latest = max((one for one in holding if one["single"]), key=self.recency, default=None)
        return [one["value"] for one in holding if not one["single"] or one is latest]

    def recency(self, statement: dict[str, Any]) -> Any:
        return (statement["since"], statement["number"])

    # ------------------------------------------------------------------ async

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        await asyncio.to_thread(self.put, scope, items)

    async def aget(self, scope: Scope, id: str) -> Item | None:
        return await asyncio.to_thread(self.get, scope, id)

    async def asearch(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> Any:
        return await asyncio.to_thread(self.search, scope, text, k, filter)
