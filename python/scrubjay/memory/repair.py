"""Do the documents that are searched say what the rows say? Rows are truth; documents can be made again from them."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from scrubjay import payload
from scrubjay.memory.base import Ground
from scrubjay.memory.rows import EpisodeRow, FactRow, rows_where
from scrubjay.store.reading import scope_of

__all__ = ["Repair"]


class _Found(NamedTuple):
    """What is wrong: records in force without their document, and documents (ids) of no record in force."""

    missing: list[FactRow | EpisodeRow]
    stray: list[str]


class Repair(Ground):
    """The part of a memory that holds its index against its rows."""

    def check(self) -> list[str]:
        """Return what is wrong between the records in force and the documents that are searched; empty: nothing.

        They are always written together. What was done to the file past the memory (an index that erased or dropped
        documents, an export that was read in) is what this finds, and :meth:`reindex` repairs.
        """
        with self.snapshot() as connection:
            found = self._compare(connection, self.clock())
        return [
            *(f"{row.id}: not in the index, or as it was before" for row in found.missing),
            *(f"{id}: in the index, and no record is in force that it is of" for id in found.stray),
        ]

    def reindex(self) -> int:
        """Make documents again that are missing or old, delete those of no record; return how many there were.

        Raises:
            EmbedderError: the embedder failed; nothing was written.
        """
        with self.snapshot() as connection:
            found = self._compare(connection, self.clock())
        vectors = self.documents.embed([row.text for row in found.missing]) if found.missing else []
        known = dict(zip(found.missing, vectors, strict=True))
        with self.documents.changing("reindexing memory") as change:
            found = self._compare(change.connection, change.now)
            if found.stray:
                change.delete(found.stray, reason="reindex")
            for row in found.missing:
                if row in known:
                    self.put(change, row, known[row])
                else:  # written meanwhile, past the memory again
                    self.put(change, row, self.documents.embed([row.text])[0])
        return len(found.missing) + len(found.stray)

    def _compare(self, connection: sqlite3.Connection, now: int) -> _Found:
        t, cipher = self.store.tables, self.store.cipher
        documents: dict[Any, Any] = {}
        openers: dict[tuple[str, ...], Any] = {}
        for *row, tenant, user, agent in connection.execute(
            f"SELECT d.seq, d.id, d.text, d.payload, NULL, s.tenant, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope WHERE d.expires_at IS NULL OR d.expires_at > ?",
            (now,),
        ).fetchall():
            names = (tenant, user, agent)
            if names not in openers:  # None: the tenant's key was destroyed
                readable = cipher.readable(tenant)
                openers[names] = cipher.row_opener(t.document, scope_of(*names)) if readable else None
            if openers[names] is not None:
                document = openers[names](row)
                documents[document.id] = (document.text, document.payload, names)
        missing: list[FactRow | EpisodeRow] = []
        for kind in ("fact", "episode"):
            condition = "status = 'active' AND (expires_at IS NULL OR expires_at > ?)"
            for row in rows_where(connection, kind, condition, (now,)):
                text, data, names = documents.pop(row.slot, ("", None, None))
                until = payload.times_of(data)[1]
                record = payload.decode(data)[0].get("record")
                if (text, names, record, until) != (row.text, row[1:4], row.id, row.expires_at):
                    missing.append(row)
        return _Found(missing, sorted(documents))
