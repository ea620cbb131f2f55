"""What passes between the index and a store: rows, states of scopes, what a write did. The protocol itself is in
:mod:`scrubjay.store.seam`.

Rows are the truth, everything native is rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.errors import StoreError
from scrubjay.passage_vectors import DocumentVector

RowId = str | int


class RowRefusedError(StoreError):
    """A row of a layer above that a constraint of its table forbids. The rest of the transaction goes on."""


@dataclass(frozen=True)
class Identity:
    """What an index is made of: settled when it is created, or by its first write (None until then).

    `model` is the embedder whose vectors are stored; `generation` counts changes of the model.
    """

    dim: int | None
    metric: str
    dtype: str
    analyzer: str
    model: str | None = None
    id_kind: str | None = None
    generation: int = 0


class NewRow(NamedTuple):
    """A document to be written; `vector` is in the bytes of :mod:`scrubjay.store.rows.vectors`, times are
    microseconds.
    """

    id: RowId
    scope: Scope
    text: str
    payload: bytes | None
    vector: bytes | None
    created_at: int | None
    expires_at: int | None
    expected: int | None = None
    """The version that the document must have to be replaced, 0 if there must be none; None: whichever."""


class StoredRow(NamedTuple):
    """A document as it is stored.

    `damage` says what is wrong with a row that is not what was written; it is not `usable` if that may be its text, its
    id or its scope. Of a usable one the payload is replaced by a marker that no reader takes for metadata.
    """

    seq: int
    id: RowId
    text: str
    payload: bytes | None
    vector: bytes | None
    damage: str | None = None
    usable: bool = True


class StoredDocument(NamedTuple):
    """A document as an index gives it back; `vector` None: it has none, or it was not asked for. `version` is the
    number of its last write."""

    id: RowId
    text: str
    scope: Scope
    payload: bytes | None
    vector: DocumentVector | None
    version: int


class ScopeState(NamedTuple):
    """What a store knows of one exact scope. Images and memory older than `horizon` cannot be caught up."""

    key: Any
    """What the store finds its rows by, for the store alone to read; 0: the scope is not known."""
    version: int
    horizon: int
    documents: int
    vectors: int = 0
    digest: bytes | None = None
    """Sealed, see :mod:`scrubjay.store.sqlite.digests`."""


class Written(NamedTuple):
    """What a write did to one scope: it stood at version `before` with `documents_before`, and is at `after` now."""

    scope: Scope
    before: int
    after: int
    documents_before: int
    deleted: Sequence[RowId] = ()
    erased: bool = False


class Changes(NamedTuple):
    """What happened to a scope after a version: ids that went, rows that came, in order of writing."""

    deleted: Sequence[RowId]
    rows: Sequence[StoredRow]


class Event(NamedTuple):
    """That something was deleted, without what it was: when (microseconds), why, from which scope, how many."""

    at: int
    reason: str
    scope: Scope
    documents: int


class Look(NamedTuple):
    """What is to be known of a scope before it is read: its state, and which documents have expired or will."""

    state: ScopeState | None
    expired: Sequence[RowId]
    next_expiry: int | None


class Noticed(NamedTuple):
    """What a store noticed since a mark: the scopes that were written to, with their versions, and the next mark.

    `changed` None: the history is another one (a server that is behind took over), nothing that was read still counts.
    """

    mark: Any
    changed: Sequence[tuple[Scope, int]] | None
    is_renewed: bool = False
    """Whether the collection may have another generation, whatever was written."""


class Entry(NamedTuple):
    """One document of a walk over all of them; `load` reads it (None: its tenant's key was destroyed)."""

    id: Any
    load: Callable[[], tuple[StoredRow, Scope] | None]
