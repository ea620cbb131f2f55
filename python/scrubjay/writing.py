"""How do memories get into an index, and out of it again, other than by a search?

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrubjay._native import Engine, Scope
from scrubjay.expiry import Expiry
from scrubjay.family import Family
from scrubjay.filters import FilterLike, Ids
from scrubjay.payload import CreatedAt
from scrubjay.progress import open_progress
from scrubjay.records import Record, VectorRule, check_row, checked_ids, checked_scope, read_rows, to_record
from scrubjay.semantic import Semantics
from scrubjay.states import has_document
from scrubjay.store.engine import DurableEngine
from scrubjay.store.feedback import FeedbackLog
from scrubjay.store.local import LocalEngine
from scrubjay.store.writing import checked_reason

__all__ = ["WritingIndex"]


class WritingIndex:
    """The part of an index that changes what it holds."""

    _engine: Engine | DurableEngine
    _semantics: Semantics
    _expiry: Expiry
    _family: Family
    _notes: FeedbackLog  # in memory; a file has its own
    _check_open: Callable[[], None]

    def upsert(
        self,
        id: str | int,
        text: str | bytes,
        *,
        scope: Scope,
        vector: ArrayLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: CreatedAt | None = None,
        expires_at: CreatedAt | None = None,
        ttl: timedelta | float | None = None,
        entities: Sequence[str] | None = None,
    ) -> None:
        """Write one memory; one with this id in this scope is replaced whole.

        Args:
            id: str or int; the first write settles which of the two this index has.
            text: is embedded and indexed, at most 16 MiB as UTF-8 and 8,388,608 tokens. bytes are UTF-8; invalid
                ones become U+FFFD.
            scope: who may find it.
            vector: (dim,) numbers in place of the embedding.
            metadata: JSON values and datetimes under str keys; returned with each hit, and what filters ask about.
                Tuples come back as lists, datetimes as ISO 8601 (UTC). At most 16 MiB as JSON.
            created_at: a datetime, an ISO 8601 str, or seconds since 1970; naive times are UTC.
            expires_at, ttl: from when on nobody finds it any more: a time, or how long from now (a timedelta
            or seconds).
            entities: who and what it is about; kept in the metadata under `entities` as they are compared (see
                :mod:`scrubjay.entities`), for searches that weigh them.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            EmbedderError: the embedder failed.
            StoreError, StoreBusyError: the file could not be written.
            In each case nothing was written.
        """
        rule = self._vector_rule()
        row = check_row(id, text, scope, vector, metadata, created_at, rule, expires_at, ttl, entities)
        if vector is None and self._semantics.embedder is not None:
            row.vector = self._semantics.documents(
                [text], 1, open_progress(False, total=0, what="", unit="")
            )[0]
            embedded = row.vector is not None
        else:
            embedded = False
        self._engine.upsert(row.id, row.text, scope=row.scope, vector=row.vector, payload=row.payload)
        self._expiry.add([row])
        if embedded:
            self._semantics.wrote()

    def upsert_many(
        self,
        records: Iterable[Mapping[str, Any] | Any],
        *,
        scope: Scope | None = None,
        progress: bool | None = None,
        batch_size: int = 256,
    ) -> int:
        """Write many memories: all, or none whatever fails.

        Args:
            records: mappings or dataclass instances (:class:`Record`, or one of yours) with the fields of
                :meth:`upsert`: id, text, scope, vector, metadata, created_at, expires_at, ttl, entities. A mapping's
                `scope` may itself be a mapping of tenant, user, agent. Of several records of one scope with one
                id the last one counts.
            scope: for the records that have none.
            progress: show a bar on standard error; None: if that is a terminal.
            batch_size: texts the embedder gets at a time.

        Returns:
            The number of memories written (distinct keys).

        Raises:
            TypeError, ValueError: the message names the record's position, the field, what was expected and given.
            EmbedderError: the embedder failed.

        All records and their vectors are in memory at once; write a larger stream in slices.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert_many([{"id": 1, "text": "one"}, {"id": 2, "text": "two"}], scope=Scope("acme"))
        2
        >>> index.upsert_many([{"id": 3, "text": "three"}, {"id": 4, "text": None}], scope=Scope("acme"))
        Traceback (most recent call last):
        ...
        ValueError: records[1]: text: expected a value, it is missing
        """
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        rows = read_rows(records, scope, self._vector_rule())
        to_embed = [row for row in rows if row.vector is None] if self._semantics.embedder is not None else []
        bar = open_progress(progress, total=len(to_embed), what="embedding", unit="texts")
        try:
            vectors = self._semantics.documents([row.text for row in to_embed], batch_size, bar)
        finally:
            bar.close()
        for row, vector in zip(to_embed, vectors, strict=True):
            row.vector = vector
        written = self._engine.upsert_many(
            [row.id for row in rows],
            [row.text for row in rows],
            scope=[row.scope for row in rows],
            vectors=[row.vector for row in rows],
            payloads=[row.payload for row in rows],
        )
        self._expiry.add(rows)
        if any(vector is not None for vector in vectors):
            self._semantics.wrote()
        return written

    def embed(
        self, texts: Sequence[str], *, batch_size: int = 256
    ) -> builtins.list[NDArray[np.float32] | None]:
        """Return what this index's embedder makes of texts that are to be written; None where it finds nothing, or
        where there is no embedder.

        Raises:
            EmbedderError: the embedder failed.
        """
        self._check_open()
        return self._semantics.documents(texts, batch_size, open_progress(False, total=0, what="", unit=""))

    def delete(self, id: str | int, *, scope: Scope, reason: str = "delete") -> bool:
        """Delete one memory; False if exactly this scope has none with this id.

        Args:
            id: of the memory.
            scope: of the memory. What is shared with the scope stays: the scope that it is shared by deletes it.
            reason: 1 to 1,000 characters for the event that is left in the file (see :meth:`events`).
        """
        scope = checked_scope(scope)
        if isinstance(self._engine, DurableEngine):
            return self._engine.delete(id, scope=scope, reason=reason)
        checked_reason(reason)
        deleted = self._engine.delete(id, scope=scope)
        self._notes.forget(lambda note: note.id == id and note.document_scope == scope)
        return deleted

    def delete_many(self, ids: Iterable[str | int], *, scope: Scope, reason: str = "delete") -> int:
        """Delete memories at once: in a file in one transaction, so that all are gone or none; return how many existed.

        Args:
            ids: of the memories; what is not there is passed over.
            scope, reason: as for :meth:`delete`.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> for id in ("m1", "m2", "m3"):
        ...     index.upsert(id, "Prefers trains.", scope=Scope("acme"))
        >>> index.delete_many(["m1", "m3", "m9"], scope=Scope("acme")), len(index)
        (2, 1)
        """
        gone, scope = checked_ids(ids), checked_scope(scope)
        if isinstance(self._engine, DurableEngine):
            return self._engine.delete_many(gone, scope=scope, reason=reason) if gone else 0
        checked_reason(reason)
        n_deleted = int(self._engine.delete_many(gone, scope=scope)) if gone else 0
        ids_gone = set(gone)
        self._notes.forget(lambda note: note.id in ids_gone and note.document_scope == scope)
        return n_deleted

    def erase(
        self,
        scope: Scope,
        *,
        exact: bool = False,
        reason: str = "erase",
        everywhere: bool = False,
        names: bool = False,
    ) -> int:
        """Delete every memory whose scope agrees with all given components; return how many.

        `Scope("acme")` erases all of the tenant, its users and agents included; with `exact` only what has precisely
        this scope (the tenant's shared memories).

        Args:
            scope: whose memories.
            exact: of this scope only.
            reason: 1 to 1,000 characters for the events that are left in the file, one a scope (see :meth:`events`).
            everywhere: in all collections of the file, not in this one only. What a :class:`scrubjay.Memory` keeps in
                the file has rows of its own beside its documents: `Memory.forget` erases those as well.
            names: the names of the erased user, agent or tenant (and its users) go from the file as well, in all
                collections. Random pseudonyms, drawn for this erasure, take their place in the rows of scopes and so in
                :meth:`events`; texts of others and reasons are not looked at. Every process that has the file open
                reads its partitions anew. After :meth:`compact`, :meth:`verify_erased` with `names` proves it.

        Of an encrypted tenant whose key cannot be had now whole scopes can be erased, but not with questions that
        other scopes asked (EncryptionError).
        """
        if isinstance(self._engine, DurableEngine):
            return self._engine.erase(scope, exact=exact, reason=reason, everywhere=everywhere, names=names)
        checked_reason(reason)
        everywhere = everywhere or names
        n_erased = 0
        for member in self._family.everyone() if everywhere else [self]:
            n_erased += int(member._engine.erase(scope, exact=exact))
            member._forget_notes(scope, exact)
        return n_erased

    def _forget_notes(self, scope: Scope, exact: bool) -> None:
        """What was asked from an erased scope goes, and what was noted on memories that are gone."""
        engine: Any = self._engine
        self._notes.forget(
            lambda note: (
                (note.scope == scope if exact else scope.contains(note.scope))
                or not has_document(engine, note)
            )
        )

    def list(
        self,
        scope: Scope,
        *,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exact: bool = False,
        limit: int | None = None,
        offset: int = 0,
        order: Literal["newest", "oldest"] = "newest",
    ) -> builtins.list[Record]:
        """Return the memories that a search from `scope` would look at, without ranking them.

        Args:
            scope: who asks; sees what it sees in :meth:`Index.search`.
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            ids: only memories with these ids, in whichever of the scopes; those that do not exist are passed over.
            exact: only memories of precisely this scope, not those shared with it.
            limit: how many at most; None: all.
            offset: how many to leave out first.
            order: "newest" or "oldest" first, by when they were last written (not by created_at).

        The records are those of one moment (in memory of one for each exact scope), without vectors: :meth:`Index.get`
        has them. From a file only rows are read. Nothing waits for a listing.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "The staging key", scope=jane, metadata={"category": "keys"})
        >>> index.upsert("m2", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.upsert("m3", "Prefers trains.", scope=jane)
        >>> [record.id for record in index.list(jane)], [record.id for record in index.list(jane, exact=True)]
        (['m3', 'm2', 'm1'], ['m3', 'm1'])
        >>> index.list(jane, filter={"category": "keys"})[0].text
        'The staging key'
        """
        self._expiry.remove_due()
        engine = cast("DurableEngine | LocalEngine", self._engine)
        found = engine.listed(
            scope, filter=filter, ids=ids, exact=exact, limit=limit, offset=offset, order=order
        )
        return [to_record(document) for document in found]

    def scopes(self, within: Scope | None = None) -> builtins.list[Scope]:
        """Return the exact scopes that hold memories, sorted.

        Args:
            within: only scopes that agree with every component this one names, as for :meth:`erase`; None: all.

        For the operator, who looks after every tenant: it says who is here.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "The staging key", scope=Scope("acme", user="jane"))
        >>> index.upsert("m2", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.upsert("m3", "Prefers trains.", scope=Scope("globex"))
        >>> index.scopes(Scope("acme"))
        [Scope('acme'), Scope('acme', user='jane')]
        """
        if within is not None and not isinstance(within, Scope):
            raise TypeError(f"within: expected a scrubjay.Scope, got {type(within).__name__}")
        self._expiry.remove_due()
        engine = cast("DurableEngine | LocalEngine", self._engine)
        return sorted(engine.scopes(within))

    def _vector_rule(self) -> VectorRule:
        return VectorRule(self._engine.dim, self._engine.metric)
