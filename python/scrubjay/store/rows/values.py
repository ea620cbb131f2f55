"""The values exchanged between the index and a store: rows, states of scopes, results of writes. The protocol is
in :mod:`scrubjay.store.seam`.

Rows are the truth; everything native is rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.documents.passage_vectors import DocumentVector

RowId = str | int


class RowRefusedError(StoreError):
    """A row of a layer above violates a constraint of its table. The transaction remains usable."""


@dataclass(frozen=True)
class Identity:
    """The identity of an index: settled when it is created, or by its first write (None until then).

    `model` is the embedder of the stored vectors; `generation` counts changes of the model.
    """

    dim: int | None
    metric: str
    dtype: str
    analyzer: str
    model: str | None = None
    id_kind: str | None = None
    generation: int = 0


class NewRow(NamedTuple):
    """A document to write; `vector` is encoded by :mod:`scrubjay.store.rows.vectors`, times are in microseconds."""

    id: RowId
    scope: Scope
    text: str
    payload: bytes | None
    vector: bytes | None
    created_at: int | None
    expires_at: int | None
    expected: int | None = None
    """The version that the stored document must have; 0: it must not exist; None: no condition."""


class StoredRow(NamedTuple):
    """A document as it is stored.

    `damage` describes what is wrong with a damaged row. The row is not `usable` if its text, id or scope may be
    affected; a usable one has its payload replaced by a marker that does not decode to metadata.
    """

    seq: int
    id: RowId
    text: str
    payload: bytes | None
    vector: bytes | None
    damage: str | None = None
    usable: bool = True


class StoredDocument(NamedTuple):
    """A document as an index returns it. `vector` is None if it has none or none was requested; `version` is the
    number of its last write."""

    id: RowId
    text: str
    scope: Scope
    payload: bytes | None
    vector: DocumentVector | None
    version: int


class ScopeState(NamedTuple):
    """The store's state of one exact scope. Images and partitions older than `horizon` must be read again as a
    whole."""

    key: Any
    """The store's internal key of the scope, opaque to callers; 0: the scope is unknown."""
    version: int
    horizon: int
    documents: int
    vectors: int = 0
    digest: bytes | None = None
    """Sealed; see :mod:`scrubjay.store.sqlite.digests`."""


class Written(NamedTuple):
    """The effect of a write on one scope: from version `before` with `documents_before` documents to version
    `after`."""

    scope: Scope
    before: int
    after: int
    documents_before: int
    deleted: Sequence[RowId] = ()
    erased: bool = False


class Changes(NamedTuple):
    """The changes of a scope after a version: deleted ids, and new rows in order of writing."""

    deleted: Sequence[RowId]
    rows: Sequence[StoredRow]


class Event(NamedTuple):
    """A deletion event, without what was deleted: time (microseconds), reason, scope, number of documents."""

    at: int
    reason: str
    scope: Scope
    documents: int


class ScopeHead(NamedTuple):
    """What is read of a scope before its documents: its state, the expired ids, and the next expiry."""

    state: ScopeState | None
    expired: Sequence[RowId]
    next_expiry: int | None


class ChangedScopes(NamedTuple):
    """The scopes written to since a mark, with their versions, and the next mark.

    `changed` is None if the history is another one (a replica that is behind took over), which invalidates
    everything read.
    """

    mark: Any
    changed: Sequence[tuple[Scope, int]] | None
    is_renewed: bool = False
    """Whether the generation of the collection may have changed, independent of any writes."""


class Entry(NamedTuple):
    """One document of a walk over all documents; `load` reads it (None: its tenant's key was destroyed)."""

    id: Any
    load: Callable[[], tuple[StoredRow, Scope] | None]
