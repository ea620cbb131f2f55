"""What the parts of a memory share: the file and its index, the clock, the judge, one way to read and to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import Backend
from scrubjay.errors import EncryptionError
from scrubjay.index import Index
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
from scrubjay.store.together import Change

COLLECTION = MEMORY
"""The collection of an index's file whose documents are facts and episodes."""


_DAY_US = 86_400_000_000


class MemoryContext:
    """The ground that every part of a memory stands on; it knows none of them. Thread-safe.

    Args:
        index: the index of the file.
        settings: of the memory.

    Attributes:
        documents: the collection of the facts and episodes. It is written to through the memory only.
        backend: what that collection offers to what is built on it.
        clock: microseconds since 1970.
        judge: which facts contradict each other.
        changes: what happened to the records.
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
        self._version: tuple[object, object] = (None, None)  # a glance, and the version of the rows then

    # ------------------------------------------------------------------ the file

    @property
    def store(self) -> LayerStore:
        """The file or database, as the collection sees it."""
        return self.backend.rows

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

    def version(self) -> object | None:
        """Return what differs whenever any row but those of traces may have changed; None: that cannot be said now.

        Ask before reading what is to be kept by it: what is written meanwhile is noticed the next time.
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
        """Return the same of a file in the clear; else None: over a database it may cost a round trip, and the key of a
        tenant may be destroyed without a trace in the file."""
        is_plain = isinstance(self._rows, SqliteStore) and self._rows.cipher.ring is None
        return self.version() if is_plain else None

    @contextmanager
    def changing(
        self, doing: str, tenants: Iterable[str] = (), *, of: Iterable[str | Scope] | None = None
    ) -> Iterator[Change]:
        """Begin a change that writes texts of these tenants: from its beginning they are sealed in memory, or are not.

        At its end the documents are written that it asked for (:func:`documents_in`).

        Args:
            doing: what is being done, for the message of an error.
            tenants: whose texts are written.
            of: whose rows are read and written, for which no other process writes meanwhile: all of a tenant ("": what
                belongs to all), or what the user of a scope has, whichever agent (without a user: what the tenant has
                without one); None: all of the same tenants.

        Raises:
            EncryptionError: a tenant's key cannot be had (KeyErasedError: ever again).
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
        except EncryptionError:  # perhaps of a key that could not be destroyed after the commit
            self.changes.deliver()
            raise
        self.changes.deliver()

    def is_readable(self, scope: Scope) -> bool:
        """Whether the tenant's key, and the user's, was not destroyed: otherwise their memory is as if erased.

        Raises:
            EncryptionError: the key cannot be had now.
        """
        checked_scope(scope)
        self.store.check_open()
        with translated(self.store.path, "reading memory"):
            return bool(self.store.cipher.readable(scope.tenant, scope.user))

    def expiry(self, expires_at: Any, ttl: Any) -> int | None:
        """Return when something expires that was given a time, or how long it holds by the memory's clock.

        Raises:
            TypeError, ValueError: both are given, or one of them is not a time.
        """
        return expiry_of(expires_at, ttl, self.clock)

    def history_since(self, now: int) -> int | None:
        """Return the time before which history may be let go, in microseconds since 1970; None: never."""
        days = self.settings.history_days
        return None if days is None else now - int(days * _DAY_US)

    # ------------------------------------------------------------------ what is asked of outside

    def embed_texts(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts that are to be written, long ones in passages, as a backfill or `reembed` would. An embedder that
        does not answer stops no write: they are pending then.

        Raises:
            EmbedderError: it failed, and the index was opened with `on_embedder_error="raise"`; or what it returned is
                no vector of its dimension.
        """
        vectors, marks = self.backend.embed_or_mark(texts, [None] * len(texts))
        return [Embedded(vector, mark is not None) for vector, mark in zip(vectors, marks, strict=True)]

    def is_single(self, predicate: str, content: str) -> bool | None:
        """Whether a predicate has one value at a time, if the judge knows; None: one of a kind."""
        ask = getattr(self.judge, "is_single", None)
        single = False if ask is None else ask(FactCandidate(content, "", predicate))
        return None if single is None else bool(single)

    def cardinality(self, candidate: FactCandidate) -> int | None:
        """What a row says of a candidate's predicate: 1 for one value at a time, 0 for several; None: it depends on the
        other statement, which the judge or the projection compares."""
        return cardinality(self.judge, candidate)


def checked_scope(scope: Any) -> Scope:
    """Return the scope, or raise TypeError: without one nothing is read or written."""
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    return scope


def absent(id: object) -> KeyError:
    """Return the error for an id that is not there, or of another scope: the two cannot be told apart."""
    return KeyError(f"id: no such record in this scope: {id!r}")
