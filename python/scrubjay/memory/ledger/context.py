"""Shared context of a memory's parts: the file and its index, the clock, the judge, one way to read and to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import EncryptionError
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.index.owners import MEMORY
from scrubjay.memory.ledger.changes import Changes
from scrubjay.memory.ledger.documents import Documents
from scrubjay.memory.ledger.sealing import settle
from scrubjay.memory.model.candidates import FactCandidate
from scrubjay.memory.model.decoding import expiry_of
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.judge import cardinality
from scrubjay.memory.model.settings import Settings
from scrubjay.store.seam import LayerStore
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.writing.write_batches import Change

COLLECTION = MEMORY
"""The collection, in the file of an index, whose documents are facts and episodes."""


_DAY_US = 86_400_000_000


class MemoryContext:
    """The context that all parts of a memory share; it depends on none of them. Thread-safe.

    Attributes:
        documents: the collection of facts and episodes. Only the memory writes to it.
        backend: the collection's interface for layers built on it.
        clock: returns microseconds since 1970.
        judge: decides which facts contradict each other.
        changes: the change feed of the records.
    """

    def __init__(self, index: Index, settings: Settings) -> None:
        self.index = index
        self.settings = settings
        self.documents = index.collection(COLLECTION)
        self.backend = Backend.of(self.documents, owner=True)
        self._rows = self.backend.rows
        self.clock = settings.clock
        if settings.has_own_clock:
            self.backend.use_clock(settings.clock)
        self.judge = settings.judge
        self.changes = Changes(self)
        self._version: tuple[object, object] = (None, None)  # the last glance, and its row version

    # ------------------------------------------------------------------ the file

    @property
    def store(self) -> LayerStore:
        """The file or database, as seen by the collection."""
        return self.backend.rows

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield this thread's reading connection; its errors are translated into ours."""
        store = self.store
        store.check_open()
        with translated(store.path, "reading memory"):
            yield store.reading_connection()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Yield a reading connection on which several queries read one snapshot."""
        store = self.store
        store.check_open()
        with store.snapshot():
            yield store.reading_connection()

    def version(self) -> object | None:
        """Return a value that differs whenever any row except those of traces may have changed; None: unknown now.

        A cache must read the version before the rows, so that a write in between invalidates the entry next time.
        """
        store = self._rows
        glance = store.glance()
        if glance == self._version[0]:
            return self._version[1]
        version = store.rows_version()
        if version is not None:
            self._version = (glance, version)
        return version

    def version_in_file(self) -> object | None:
        """Return :meth:`version` for a file in the clear; else None: over a database it may cost a round trip, and a
        tenant's key may be destroyed without a trace in the file."""
        is_plain = isinstance(self._rows, SqliteStore) and self._rows.cipher.ring is None
        return self.version() if is_plain else None

    @contextmanager
    def changing(
        self, doing: str, tenants: Iterable[str] = (), *, of: Iterable[str | Scope] | None = None
    ) -> Iterator[Change]:
        """Begin a change that writes texts of these tenants. Its beginning settles whether their rows are sealed.

        At its end the requested documents are written (:func:`documents_in`).

        Args:
            doing: what is being done, for error messages.
            tenants: the tenants whose texts are written.
            of: the tenants and scopes whose rows are read and written; other processes do not write them meanwhile. A
                tenant ("": the rows of all tenants) stands for all of its rows; a scope for the rows of its user under
                any agent (without a user: the tenant's rows without a user). None: all rows of `tenants`.

        Raises:
            EncryptionError: a tenant's key is unavailable (KeyErasedError: permanently).
        """
        tenants = sorted(set(tenants))
        self.store.cipher.require(tenants)
        try:
            with self.backend.changing(doing) as change:
                change.lock(tenants if of is None else of)
                for tenant in tenants:
                    settle(change.connection, tenant)
                engine = self.backend.engine
                change.layer = Documents(
                    change, lambda id, scope: engine.get(id, scope=scope), self.embed_texts
                )
                yield change
                change.layer.flush()
        except EncryptionError:  # possibly of a key that could not be destroyed after the commit
            self.changes.deliver()
            raise
        self.changes.deliver()

    def is_readable(self, scope: Scope) -> bool:
        """Whether neither the tenant's nor the user's key was destroyed; if one was, their memory counts as erased.

        Raises:
            EncryptionError: the key is unavailable now.
        """
        checked_scope(scope)
        self.store.check_open()
        with translated(self.store.path, "reading memory"):
            return bool(self.store.cipher.readable(scope.tenant, scope.user))

    def expiry(self, expires_at: Any, ttl: Any) -> int | None:
        """Return the expiry time of a record from an absolute time or a duration, by the memory's clock.

        Raises:
            TypeError, ValueError: both are given, or one of them is invalid.
        """
        return expiry_of(expires_at, ttl, self.clock)

    def history_since(self, now: int) -> int | None:
        """Return the time before which history may be deleted, in microseconds since 1970; None: never."""
        days = self.settings.history_days
        return None if days is None else now - int(days * _DAY_US)

    # ------------------------------------------------------------------ embedder and judge

    def embed_texts(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be written, long ones in passages, as a backfill or `reembed` does. If the embedder is
        unavailable, the write goes on and the texts are pending.

        Raises:
            EmbedderError: it failed, and the index was opened with `on_embedder_error="raise"`; or it did not return
                vectors of its dimension.
        """
        vectors, marks = self.backend.embed_or_mark(texts, [None] * len(texts))
        return [Embedded(vector, mark is not None) for vector, mark in zip(vectors, marks, strict=True)]

    def is_single(self, predicate: str, content: str) -> bool | None:
        """Whether a predicate has one value at a time, according to the judge; None: one value of a kind."""
        ask = getattr(self.judge, "is_single", None)
        single = False if ask is None else ask(FactCandidate(content, "", predicate))
        return None if single is None else bool(single)

    def cardinality(self, candidate: FactCandidate) -> int | None:
        """Return a candidate's `single` column: 1 if its predicate has one value at a time, 0 for several; None: that
        depends on the other statement, with which the judge or the projection compares it."""
        return cardinality(self.judge, candidate)


def checked_scope(scope: Any) -> Scope:
    """Return the scope, or raise TypeError: every read and write needs one."""
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    return scope


def absent(id: object) -> KeyError:
    """Return the error for an id that does not exist or belongs to another scope; callers cannot tell the two apart."""
    return KeyError(f"id: no such record in this scope: {id!r}")
