"""The protocol between an index and its engine, the same in memory and over stored rows.

:class:`scrubjay.store.local.LocalEngine` has its documents in memory alone;
:class:`scrubjay.store.engine.DurableEngine` has them in a store, and in memory those that are searched. Expired
documents are found by neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from scrubjay._native import Engine, Filter, Result, Scope
from scrubjay.base.progress import Progress
from scrubjay.filters import Ids
from scrubjay.store.engine import DurableEngine
from scrubjay.store.residency.null_residency import NullResidency
from scrubjay.store.residency.residency import Residency, View
from scrubjay.store.rows.facets import Facet
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.listing import Listing
from scrubjay.store.rows.patching import Patch
from scrubjay.store.rows.scrolling import Position, Scroll
from scrubjay.store.rows.values import Identity, RowId, StoredDocument


class Pending(Protocol):
    """The documents that were written while the embedder failed. Thread-safe."""

    def count(self, scopes: Sequence[Scope] | None = None) -> int:
        """Return their number in these exact scopes, or in all."""
        ...

    def pages(self, size: int) -> Iterator[list[StoredDocument]]:
        """Yield them in order of writing, `size` at a time."""
        ...

    def forget_embedded(self) -> None:
        """Delete the records of documents that are no longer pending."""
        ...


class DocumentEngine(Protocol):
    """The documents of one collection: searched, read and written by scope. Thread-safe.

    Raises (all methods):
        ClosedError: the engine was closed, or was opened by the parent process of a fork.
        StoreError: the rows cannot be read or written.
    """

    @property
    def is_durable(self) -> bool:
        """Whether the documents are in a file or a database, which other processes may have open as well."""
        ...

    @property
    def path(self) -> Path | None:
        """The file; None in memory and over a database."""
        ...

    @property
    def identity(self) -> Identity:
        """The current properties of the collection."""
        ...

    @property
    def dim(self) -> int | None:
        """The dimension of the vectors; None until the first vector is written."""
        ...

    @property
    def metric(self) -> str:
        """ "cosine", "ip" or "l2"."""
        ...

    @property
    def dtype(self) -> str:
        """ "f16", "f32" or "i8"."""
        ...

    @property
    def analyzer(self) -> str:
        """The versioned name of the analyzer."""
        ...

    @property
    def lineage(self) -> str | None:
        """A random name of these documents, used to reject cursors and stamps of others."""
        ...

    @property
    def native(self) -> Engine:
        """The native engine with the documents that are in memory."""
        ...

    @property
    def residency(self) -> Residency | NullResidency:
        """Which documents are in memory, and whether they are current."""
        ...

    @property
    def pending(self) -> Pending:
        """The documents whose texts are still to be embedded."""
        ...

    def durable(self, doing: str) -> DurableEngine:
        """Return the engine itself for verbs of a file or database; raise StoreError in memory."""
        ...

    # ------------------------------------------------------------------ searching

    def search(
        self,
        text: str | bytes | None = None,
        *,
        scope: Scope | Sequence[Scope],
        vector: Any = None,
        k: Any = 10,
        embedder: Any = None,
        seen: View | None = None,
        **options: Any,
    ) -> Result:
        """Search the documents visible to `scope`; `seen` is what `residency.view_now` just returned, if it has
        partitions."""
        ...

    def search_ready(
        self, text: str | bytes, *, vector: Any, scope: Scope | Sequence[Scope], k: int, embedder: Any
    ) -> Result | None:
        """Return what `search` returns, or None if that could take more than the native search."""
        ...

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        **options: Any,
    ) -> list[Result]:
        """Answer several searches."""
        ...

    def find_substring(self, text: str | bytes, *, scope: Scope, k: int = 10) -> Result:
        """Find a text in the texts visible to `scope`."""
        ...

    def admitted(self, scope: Scope, **options: Any) -> Result:
        """Return the documents visible to `scope`, unranked, in order of writing."""
        ...

    def generation(self, scope: Scope) -> Hashable:
        """Return a value that changes with every write that a search from `scope` could see."""
        ...

    def shared_generation(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """Return the same for comparison between processes; None if there is no name that they share."""
        ...

    def holds(self, scope: Scope) -> bool:
        """Whether a search from `scope` would look at any document, or would have to report damage."""
        ...

    def warm(self, scope: Scope, *, pin: bool = False) -> None:
        """Load the documents visible to `scope` into memory; with `pin` they are never evicted."""
        ...

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        """Return the number of all documents."""
        ...

    def get(self, id: RowId, *, scope: Scope) -> StoredDocument | None:
        """Return the document with this id visible to `scope`, the most specific one of several."""
        ...

    def found(self, id: RowId, *, within: Scope) -> list[StoredDocument]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        ...

    def listed(self, wanted: Listing, ids: Ids | None = None) -> list[StoredDocument]:
        """Return the documents of a listing, restricted to `ids` if given, without vectors, in order of their last
        write."""
        ...

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return the documents of a page behind a position, and the position of the next page (None: no more)."""
        ...

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        ...

    def version_at(self, wanted: Sequence[Scroll], n: int) -> int | None:
        """Return the version of the document after the first `n` that any of the scrolls has, in order of writing;
        None: no more; UNKNOWN: the documents have to be walked."""
        ...

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field among the documents of a scroll."""
        ...

    def count(self, scope: Scope | None = None, **filters: Any) -> int:
        """Return the number of documents visible to `scope` that the filters admit; without a scope, of all."""
        ...

    def scopes(self, within: Scope | None = None, users: tuple[str, str] | None = None) -> list[Scope]:
        """Return the scopes that have documents and agree with `within`, in any order; with `users` those whose user
        is at or after the first text and before the second, by code point."""
        ...

    def first_scopes(self, within: Scope | None, after: Scope | None, limit: int) -> list[Scope]:
        """Return the first `limit` of `scopes` behind `after`, in order."""
        ...

    def stats(self, scope: Scope | None = None) -> dict[str, int | float | str]:
        """Return counts and sizes by name."""
        ...

    # ------------------------------------------------------------------ writing

    def upsert(
        self, id: RowId, text: str | bytes, *, scope: Scope, vector: Any = None, payload: bytes | None = None
    ) -> None:
        """Write one document, or replace the one with its id in this scope."""
        ...

    def upsert_many(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
    ) -> int:
        """Write documents, all or none; return the number of distinct documents."""
        ...

    def upsert_versioned(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        versions: Sequence[int | None],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
        fills: bool = False,
    ) -> list[int]:
        """Write documents, all or none, if each has the given version (0: is absent; None: any); return the new
        versions. `fills`: they only receive their pending vectors, which legal holds permit."""
        ...

    def patch(self, id: RowId, change: Patch, *, scope: Scope, version: int | None = None) -> int | None:
        """Change a document of exactly this scope; return its new version, None if it does not exist."""
        ...

    def delete(self, id: RowId, *, scope: Scope, reason: str = "delete") -> bool:
        """Delete one document of exactly this scope; return whether it existed."""
        ...

    def delete_many(
        self, ids: Sequence[RowId], *, scope: Scope | Sequence[Scope], reason: str = "delete"
    ) -> int:
        """Delete documents of exactly this scope, or of a scope for each id; return how many existed."""
        ...

    def delete_matching(
        self, filter: Filter, *, scope: Scope, ids: list[RowId] | None, reason: str
    ) -> list[RowId]:
        """Delete the documents of exactly this scope that a filter admits; return their ids."""
        ...

    def erase(
        self,
        scope: Scope,
        *,
        exact: bool = False,
        reason: str = "erase",
        everywhere: bool = False,
        names: bool = False,
    ) -> int:
        """Erase every document whose scope agrees with `scope`, with `everywhere` or `names` in all collections, and
        with `names` the scopes' names; return the number of documents."""
        ...

    def sweep(self, within: Scope | None = None) -> int:
        """Delete expired documents for good; return how many."""
        ...

    # ------------------------------------------------------------------ beside the documents

    def note(self, note: Feedback) -> bool:
        """Write feedback on a document; False if it is not visible to the note's scope."""
        ...

    def notes(self, scope: Scope | None) -> list[Feedback]:
        """Return the feedback on existing documents, oldest first; with `scope` only that from within it."""
        ...

    def has_layer(self, table: str) -> bool:
        """Whether the layer above that owns this table keeps its rows beside the documents."""
        ...

    def collection_names(self) -> list[str]:
        """Return the names of the collections, without the default one, in alphabetical order."""
        ...

    def drop_collection(self, name: str) -> int:
        """Delete a collection; return the number of its documents."""
        ...

    # ------------------------------------------------------------------ maintenance and closing

    def stale_scopes(self) -> list[Scope]:
        """Return the scopes whose image is missing or older than the last write."""
        ...

    def compact(self, progress: Progress | None = None) -> int:
        """Release the space of deleted documents; return how many were purged from memory."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the engine was closed, or was opened by the parent process of a fork."""
        ...

    def check_open(self) -> None:
        """Raise ClosedError if the engine is closed."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise ClosedError. Idempotent."""
        ...
