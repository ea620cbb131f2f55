"""Consistency of rows and search documents. Rows are the truth; documents can be rebuilt from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.postgres import misplaced_rows
from scrubjay.memory.ledger.rows import rows_where
from scrubjay.memory.ledger.schema import missing_rules
from scrubjay.memory.ledger.sealing import is_file
from scrubjay.memory.model.documents import documents_of, ids_of_documents
from scrubjay.memory.model.rows import EpisodeRow, FactRow, scope_in
from scrubjay.memory.model.statements import has_documents
from scrubjay.store.rows.decoding import is_id, scope_of
from scrubjay.store.rows.values import StoredRow
from scrubjay.store.sqlite.store import SqliteStore


class _Inconsistencies(NamedTuple):
    """Inconsistencies: records without their documents, and the keys of documents without a record."""

    missing: list[FactRow | EpisodeRow]
    stray: list[tuple[Scope, str]]


class Consistency:
    """Compares the index of a memory with its rows."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def check(self) -> list[str]:
        """Return the inconsistencies between the records and the search documents; empty: there are none.

        Both are always written together. This finds changes made without the memory (an index that erased or dropped
        documents, an imported export); :meth:`reindex` repairs them. Documents of older versions, which lack the turn
        of their conversation, are not reported; reindexing renews them.
        """
        with self._context.snapshot() as connection:
            inconsistencies = self._compare(connection, self._context.clock(), admits_older=True)
            rules = missing_rules(connection)
            misplaced = [] if is_file(connection) else misplaced_rows(connection)
        return [
            *(f"{name}: a table, index or trigger is missing" for name in rules),
            *misplaced,
            *(f"{row.id}: missing or outdated in the index" for row in inconsistencies.missing),
            *(
                f"{id} of {scope!r}: in the index without a record in force"
                for scope, id in inconsistencies.stray
            ),
        ]

    def reindex(self) -> int:
        """Rebuild missing or outdated documents and delete those without a record; return how many there were.

        Raises:
            EmbedderError: the embedder returned invalid vectors; nothing was written. An unavailable one is no error.
        """
        with self._context.snapshot() as connection:
            inconsistencies = self._compare(connection, self._context.clock())
        texts = [row for row in inconsistencies.missing if not self._has_vector(row)]
        known = (
            dict(zip(texts, self._context.embed_texts([row.text for row in texts]), strict=True))
            if texts
            else {}
        )
        tenants = {scope_in(row).tenant for row in inconsistencies.missing} | {
            scope.tenant for scope, _ in inconsistencies.stray
        }
        with self._context.changing("reindexing memory", of=tenants) as change:
            inconsistencies = self._compare(change.connection, change.now)
            if inconsistencies.stray:
                scopes, ids = zip(*inconsistencies.stray, strict=True)
                change.delete(ids, scope=scopes, reason="reindex")
            for row in inconsistencies.missing:
                documents_in(change).put(row, known.get(row))  # None: written meanwhile, without the memory
        return len(inconsistencies.missing) + len(inconsistencies.stray)

    def _has_vector(self, row: FactRow | EpisodeRow) -> bool:
        """Whether a document of the record already has its text, whatever its other columns say."""
        document = self._context.backend.engine.get(ids_of_documents(row)[0], scope=scope_in(row))
        return document is not None and document.text == row.text

    def _compare(
        self, connection: sqlite3.Connection, now: int, *, admits_older: bool = False
    ) -> _Inconsistencies:
        documents: dict[tuple[Scope, Any], tuple[str, bytes | None]] = {}
        for document, scope in self._documents(connection, now):
            if not is_id(document.id, "str"):
                raise CorruptIndexError("a document's id cannot be read", id=document.id)
            whole = document.damage is None
            stored = payload.with_pending(document.payload, False) if whole else None
            documents[scope, document.id] = (document.text, stored) if whole else ("", None)
        missing: list[FactRow | EpisodeRow] = []
        for kind, status in (("fact", "<> 'provisional'"), ("episode", "= 'active'")):
            condition = f"status {status} AND (expires_at IS NULL OR expires_at > ?)"
            for row in rows_where(connection, kind, condition, (now,)):
                if isinstance(row, FactRow) and not has_documents(row):
                    continue
                expected = [(one.id, (row.text, one.payload)) for one in documents_of(row)]
                there = [(id, documents.pop((scope_in(row), id), None)) for id, _ in expected]
                if expected == there:
                    continue
                older = documents_of(row, with_turn=False) if admits_older else []
                if there != [(one.id, (row.text, one.payload)) for one in older]:
                    missing.append(row)
        return _Inconsistencies(missing, sorted(documents))

    def _documents(self, connection: sqlite3.Connection, now: int) -> Iterator[tuple[StoredRow, Scope]]:
        """Yield the documents of all tenants whose keys were not destroyed."""
        store = self._context.store
        if not isinstance(store, SqliteStore):
            for scope in store.living_scopes(None, now=now):
                yield from store.rows_in([scope], now=now, newest=False)
            return
        t = store.tables
        openers: dict[Scope, Any] = {}
        for *row, tenant, user, agent in connection.execute(
            f"SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope WHERE d.expires_at IS NULL OR d.expires_at > ?",
            (now,),
        ).fetchall():
            scope = scope_of(tenant, user, agent)
            if scope not in openers:  # None: the tenant's key was destroyed
                openers[scope] = (
                    store.row_opener(scope) if store.cipher.readable(scope.tenant, scope.user) else None
                )
            if openers[scope] is not None:
                yield openers[scope](row), scope
