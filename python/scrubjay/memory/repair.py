"""Consistency of rows and searched documents. Rows are truth; documents can be made again from them."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.memory.base import Ground
from scrubjay.memory.rows import EpisodeRow, FactRow, rows_where, scope_in
from scrubjay.memory.schema import missing_rules
from scrubjay.store.decoding import is_id, scope_of

__all__ = ["Repair"]


class _Found(NamedTuple):
    """What is wrong: records in force without their document, and documents (their keys) of no record in force."""

    missing: list[FactRow | EpisodeRow]
    stray: list[tuple[Scope, str]]


class Repair(Ground):
    """The part of a memory that holds its index against its rows."""

    def check(self) -> list[str]:
        """Return what is wrong between the records in force and the documents that are searched; empty: nothing.

        They are always written together. What was done to the file past the memory (an index that erased or dropped
        documents, an export that was read in) is what this finds, and :meth:`reindex` repairs.
        """
        with self.snapshot() as connection:
            found = self._compare(connection, self.clock())
            rules = missing_rules(connection)
        return [
            *(f"{name}: an index or rule of the tables is gone" for name in rules),
            *(f"{row.id}: not in the index, or as it was before" for row in found.missing),
            *(
                f"{id} of {scope!r}: in the index, and no record is in force that it is of"
                for scope, id in found.stray
            ),
        ]

    def reindex(self) -> int:
        """Make documents again that are missing or old, delete those of no record; return how many there were.

        Raises:
            EmbedderError: the embedder made no vectors; nothing was written. One that does not answer is no error.
        """
        with self.snapshot() as connection:
            found = self._compare(connection, self.clock())
        embedded = self._embed_texts([row.text for row in found.missing]) if found.missing else []
        known = dict(zip(found.missing, embedded, strict=True))
        with self._backend.changing("reindexing memory") as change:
            found = self._compare(change.connection, change.now)
            if found.stray:
                scopes, ids = zip(*found.stray, strict=True)
                change.delete(ids, scope=scopes, reason="reindex")
            for row in found.missing:
                if row in known:
                    self.put(change, row, known[row])
                else:  # written meanwhile, past the memory again
                    self.put(change, row, self._embed_texts([row.text])[0])
        return len(found.missing) + len(found.stray)

    def _compare(self, connection: sqlite3.Connection, now: int) -> _Found:
        t, cipher = self.store.tables, self.store.cipher
        documents: dict[tuple[Scope, Any], tuple[str, bytes | None]] = {}
        openers: dict[Scope, Any] = {}
        for *row, tenant, user, agent in connection.execute(
            f"SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope WHERE d.expires_at IS NULL OR d.expires_at > ?",
            (now,),
        ).fetchall():
            scope = scope_of(tenant, user, agent)
            if scope not in openers:  # None: the tenant's key was destroyed
                openers[scope] = self.store.row_opener(scope) if cipher.readable(scope.tenant) else None
            if openers[scope] is not None:
                document = openers[scope](row)
                if not is_id(document.id, "str"):
                    raise CorruptIndexError("a document's id cannot be read", id=document.id)
                whole = document.damage is None
                documents[scope, document.id] = (document.text, document.payload) if whole else ("", None)
        missing: list[FactRow | EpisodeRow] = []
        for kind in ("fact", "episode"):
            condition = "status = 'active' AND (expires_at IS NULL OR expires_at > ?)"
            for row in rows_where(connection, kind, condition, (now,)):
                text, data = documents.pop((scope_in(row), row.slot), ("", None))
                until = payload.times_of(data)[1]
                record = payload.decode(data)[0].get("record")
                if (text, record, until) != (row.text, row.id, row.expires_at):
                    missing.append(row)
        return _Found(missing, sorted(documents))
