"""What all parts of a memory use: the index, the collection of searchable records, the file, the clock."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.backend import Backend
from scrubjay.errors import CorruptIndexError
from scrubjay.index import Index
from scrubjay.index.owners import MEMORY
from scrubjay.memory.documents import Documents, Embedded
from scrubjay.memory.feed import Feed
from scrubjay.memory.holds import is_held
from scrubjay.memory.judge import Judge
from scrubjay.memory.rows import EpisodeRow, FactRow, Row, kind_of
from scrubjay.memory.schema import KINDS, erasing
from scrubjay.memory.sealing import cipher_of, next_number, place_in, sealed_cell, settle
from scrubjay.memory.sensitivity import Classify
from scrubjay.memory.values import Validators
from scrubjay.store.connections import translated
from scrubjay.store.sqlite import SqliteStore
from scrubjay.store.together import Change

__all__ = [
    "COLLECTION",
    "Ground",
    "absent",
    "checked_scope",
    "documents_in",
    "drop",
    "log",
    "log_gone",
    "remove",
]

COLLECTION = MEMORY
"""The collection of an index's file whose documents are facts and episodes."""


class Ground:
    """What the parts of :class:`scrubjay.memory.memory.Memory` share."""

    index: Index
    """The index of the file."""
    documents: Index
    """The collection of the facts and episodes. It is written to through the memory only."""
    _backend: Backend
    """What that collection offers to what is built on it."""
    clock: Callable[[], int]
    """Microseconds since 1970."""
    judge: Judge
    feed: Feed
    """What happened to the records, with a cursor."""
    validate: Validators
    """Key of a policy or preference -> what its values are held against."""
    classify: Classify | None
    """Says the sensitivity of facts and episodes."""

    @property
    def store(self) -> SqliteStore:
        """The file, as the collection sees it."""
        return self._backend.store

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give this thread's reading connection, its errors translated into ours."""
        store = self.store
        store.check_open()
        with translated(store.path, "reading memory"):
            yield store.reading_connection()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The same for several questions that are to be answered from one state."""
        store = self.store
        store.check_open()
        with store.snapshot():
            yield store.reading_connection()

    @contextmanager
    def changing(self, doing: str, tenants: Iterable[str] = ()) -> Iterator[Change]:
        """Begin a change that writes texts of these tenants: from its beginning they are sealed in memory, or are not.

        At its end the documents are written that it asked for (:func:`documents_in`).

        Raises:
            EncryptionError: a tenant's key cannot be had (KeyErasedError: ever again).
        """
        tenants = sorted(set(tenants))
        self.store.cipher.require(tenants)
        with self._backend.changing(doing) as change:
            for tenant in tenants:
                settle(change.connection, tenant)
            engine = self._backend.engine
            change.layer = Documents(change, lambda id, scope: engine.get(id, scope=scope), self._embed_texts)
            yield change
            change.layer.flush()
        self.feed._deliver()

    def is_readable(self, scope: Scope) -> bool:
        """Whether the tenant's key was not destroyed: otherwise its memory is as if erased.

        Raises:
            EncryptionError: the key cannot be had now.
        """
        checked_scope(scope)
        self.store.check_open()
        with translated(self.store.path, "reading memory"):
            return self.store.cipher.readable(scope.tenant)

    def expiry(self, expires_at: Any, ttl: Any) -> int | None:
        """Return when something expires that was given a time, or how long it holds by the memory's clock.

        Raises:
            TypeError, ValueError: both are given, or one of them is not a time.
        """
        moment = payload.expiry_of(expires_at, ttl)
        if moment is None:
            return None
        if ttl is None:
            return payload.microseconds(moment)
        lasts = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
        return self.clock() + lasts // timedelta(microseconds=1)

    def _embed_texts(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts that are to be written. An embedder that does not answer stops no write: they are pending then.

        Raises:
            EmbedderError: it failed, and the index was opened with `on_embedder_error="raise"`; or what it returned is
                no vector of its dimension.
        """
        vectors, marks = self._backend.embed_or_mark(texts, [None] * len(texts))
        return [Embedded(vector, mark is not None) for vector, mark in zip(vectors, marks, strict=True)]


def checked_scope(scope: Any) -> Scope:
    """Return the scope, or raise TypeError: without one nothing is read or written."""
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    return scope


def absent(id: object) -> KeyError:
    """Return the error for an id that is not there, or of another scope: the two cannot be told apart."""
    return KeyError(f"id: no such record in this scope: {id!r}")


def drop(change: Change, row: Row, what: str = "expired", by: str | None = None) -> None:
    """Delete the row of a record, and what the log says of it but that it is gone; its document is the caller's.

    What expired and is under a legal hold stays, revoked.
    """
    if what == "expired" and is_held(change.connection)(row):
        extra = ", withdrawn_at = :now, holds = '[]'" if row.kind == "fact" else ""
        change.connection.execute(
            f"UPDATE {KINDS[row.kind]} SET status = 'revoked', updated_at = :now{extra} WHERE id = :id",
            {"now": change.now, "id": row.id},
        )
        log(change, row.id, "revoked", by, "expired")
        return
    with erasing(change.connection):
        change.connection.execute(f"DELETE FROM {KINDS[row.kind]} WHERE id = ?", (row.id,))
        change.connection.execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
    log_gone(change, row.id, (row.tenant, row.user, row.agent), what, by)


def documents_in(change: Change) -> Documents:
    """Return what a change does to documents."""
    documents: Documents = change.layer
    return documents


def remove(change: Change, row: FactRow | EpisodeRow, reason: str) -> None:
    """Delete the documents of a fact or episode."""
    documents_in(change).remove(row, reason)


def log(change: Change, record: str, what: str, by: str | None = None, detail: str | None = None) -> None:
    """Note that something happened to a record that is there. The detail may quote it, and is sealed as it is."""
    connection, number, kept = change.connection, None, detail
    kind = str(kind_of(record))
    cipher = cipher_of(connection)
    if detail is not None and cipher is not None and cipher.ring is not None:
        found = connection.execute(f"SELECT tenant FROM {KINDS[kind]} WHERE id = ?", (record,)).fetchone()
        if found is None:
            raise CorruptIndexError("its row is gone", id=record)
        (tenant,) = found
        if settle(connection, tenant):
            number = next_number(connection, "memory_log", wanted=True)
            kept = sealed_cell(cipher, tenant, place_in("memory_log", "detail", number, ()), detail)
    written = connection.execute(_LOGGED[kind], (number, change.now, what, by, kept, record))
    if written.rowcount != 1:
        raise CorruptIndexError("its row is gone", id=record)


_LOGGED = {
    kind: "INSERT INTO memory_log(number, at, record, what, by, detail, tenant, user, agent) "
    f"SELECT ?, ?, id, ?, ?, ?, tenant, {names} FROM {KINDS[kind]} WHERE id = ?"
    for kind, names in {
        "policy": "'', ''", "preference": "user, ''", "fact": "user, agent", "episode": "user, agent"
    }.items()
}  # fmt: skip


def log_gone(
    change: Change, record: str, names: tuple[str, str, str], what: str, by: str | None = None
) -> None:
    """Note that a record, or all of a scope (''), is gone: "expired" or "forgotten"; never what it said."""
    change.connection.execute(
        "INSERT INTO memory_log(at, record, what, by, tenant, user, agent) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (change.now, record, what, by, *names),
    )
