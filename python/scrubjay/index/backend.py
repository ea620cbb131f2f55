"""The interface of an index for memories and retrievers, beyond its public methods.

:class:`Backend` guarantees less than the rest of :mod:`scrubjay.backend`: its properties are stable, but the objects it
returns (the engine, the store) are internal, and its writing methods may change with any release.

>>> from scrubjay import Index, Scope
>>> index = Index()
>>> backend = Backend.of(index)
>>> before = backend.generation(Scope("acme"))
>>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
>>> backend.generation(Scope("acme")) == before
False
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Scope
from scrubjay.base.initialised import guarded
from scrubjay.base.progress import open_progress
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.documents.payload import is_pending, with_pending
from scrubjay.documents.records import Record, Row, as_scope, to_record
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index.facade import Index
from scrubjay.index.open_collection import OpenCollection, make_root
from scrubjay.index.owners import check_unowned
from scrubjay.index.results import Hits
from scrubjay.store.document_engine import DocumentEngine
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scrolling import Position, Scroll
from scrubjay.store.seam import LayerStore
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.writing.write_batches import Change


@guarded
class Backend:
    """The interface of one open collection for layers above it; created by :meth:`of`. Thread-safe, as cheap as a
    tuple."""

    __slots__ = ("_collection", "_is_owner")

    def __init__(self, collection: OpenCollection, is_owner: bool = False) -> None:
        self._collection = collection
        self._is_owner = is_owner

    @staticmethod
    def of(index: Index, *, owner: bool = False) -> Backend:
        """Return the backend of an index.

        Args:
            index: the collection.
            owner: whether the caller is the layer that owns the collection (:mod:`scrubjay.index.owners`): writes by
                other callers raise OwnedCollectionError.
        """
        if not isinstance(index, Index):
            raise TypeError(f"index: expected a scrubjay.Index, got {type(index).__name__}")
        return Backend(index._collection, owner)

    # ------------------------------------------------------------------ properties

    @property
    def engine(self) -> DocumentEngine:
        """The engine, in memory or over a file. Writes through it are visible here, too, but texts are
        not embedded."""
        return self._collection.engine

    @property
    def store(self) -> SqliteStore:
        """The rows.

        Raises:
            StoreError: the index has no file; UnsupportedError: its rows are in another store.
        """
        return self._collection.durable("store").file("tables beside the documents")

    @property
    def rows(self) -> LayerStore:
        """The store of the rows, in which a layer above may keep its own tables.

        Raises:
            StoreError: the index is in memory.
        """
        store: Any = self._collection.durable("store").store
        return cast(LayerStore, store)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or was opened before the process forked."""
        return self._collection.is_closed

    @property
    def is_durable(self) -> bool:
        """Whether it is in a file or a database, which other processes may have open as well."""
        self._collection.check_open()
        return self._collection.engine.is_durable

    @property
    def dim(self) -> int | None:
        """The dimension of the vectors; None until the first vector determines it."""
        return self._collection.engine.dim

    @property
    def metric(self) -> str:
        """ "cosine", "ip" or "l2"."""
        return self._collection.engine.metric

    @property
    def dtype(self) -> str:
        """How vectors are stored, "f16", "f32" or "i8"."""
        return self._collection.engine.dtype

    @property
    def id_kind(self) -> str | None:
        """The type of the ids in a file, "str" or "int"; None: either, or unknown."""
        return self._collection.identity.id_kind

    def use_clock(self, clock: Callable[[], int]) -> None:
        """Use another clock (microseconds since 1970) from now on, for tests of layers over a file."""
        engine = self._collection.durable("use_clock")
        if not callable(clock):
            raise TypeError(f"clock: expected a callable, got {type(clock).__name__}")
        engine.use_clock(clock)

    # ------------------------------------------------------------------ reading

    def generation(self, scope: Scope) -> Hashable:
        """Return a value that changes with every write, also by another process, that could affect a search from
        `scope`, including expiry. Equal values imply equal results of the same search.

        >>> from scrubjay import Index
        >>> backend = Backend.of(Index())
        >>> backend.generation(Scope("globex")) == backend.generation(Scope("globex"))
        True
        """
        return self._collection.engine.generation(scope)

    def shared_generation(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """Return the same for `scope`, comparable between processes that have one file open; None without a file.

        The first element identifies this collection of this file, the rest changes with writes and expiry. None also if
        the file has no identity yet and could not get one because of a concurrent write.
        """
        return self._collection.engine.shared_generation(scope)

    def hits_of(
        self, keys: Sequence[tuple[Scope, str | int]], scope: Scope, asked: str | None = None
    ) -> Hits | None:
        """Return the memories with these keys, pairs of exact scope and id, as hits, in this order; None if one of them
        does not exist or is not visible from `scope`. `asked`: the question that they answer, for their snippets."""
        self._collection.check_open()
        if not keys:
            return None
        result = self._collection.engine.search(
            "", scope=scope, k=len(keys), query=Query("rrf", candidates=len(keys), rankings=[keys])
        )
        if len(result) != len(keys):
            return None
        return Hits(result, asked=asked, reading=self._collection.reading())

    def holds(self, scope: Scope) -> bool:
        """Whether a search from `scope` would look at any memory, or would have to report damage.

        >>> from scrubjay import Index
        >>> Backend.of(Index()).holds(Scope("acme"))
        False
        """
        return self._collection.engine.holds(scope)

    def query_vector(self, text: str | bytes) -> NDArray[np.float32] | None:
        """Return the embedder's vector of the question `text`, which is cached; None without an embedder, if it fails,
        or for the zero vector."""
        self._collection.check_open()
        return self._collection.semantics.query(text)[0]

    def lend_query(self, text: str, to: Backend) -> None:
        """Copy the cached vector of the question `text` `to` the cache of another collection with the same embedder, so
        that it is not embedded twice. Does nothing if there is none."""
        self._collection.check_open()
        own, other = self._collection.semantics, to._collection.semantics
        if own.embedder is not None and own.embedder is other.embedder and other.native is None:
            vector = own.cache.get(text)
            if vector is not None:
                other.cache.put(text, vector)

    def scopes_below(self, within: Scope, users: tuple[str, str]) -> list[Scope]:
        """Return the exact scopes that hold memories, agree with `within`, and whose user is at or after the first of
        the two texts `users` and before the second, by code point; in any order.

        The cost grows with the scopes found in a file, in memory with all scopes.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> for user in ("a.x", "a.y", "b.x"):
        ...     index.upsert("m1", "A note", scope=Scope("acme", user=user))
        >>> sorted(scope.user for scope in Backend.of(index).scopes_below(Scope("acme"), ("a.", "a/")))
        ['a.x', 'a.y']
        """
        if not isinstance(within, Scope):
            raise TypeError(f"within: expected a scrubjay.Scope, got {type(within).__name__}")
        users = _text_range(users)
        return self._collection.engine.scopes(within, users)

    def first_scopes(self, within: Scope | None, after: Scope | None, limit: int) -> list[Scope]:
        """Return the first scopes after the scope `after` that hold memories and agree with `within`, in order.

        The cost grows with the scopes returned from a file, in memory with all scopes.

        Args:
            within: as for :meth:`scrubjay.Index.scopes`.
            after: the last scope of the previous page; None: start at the first.
            limit: the maximum number.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> for user in ("ann", "jane", "joe"):
        ...     index.upsert("m1", "A note", scope=Scope("acme", user=user))
        >>> Backend.of(index).first_scopes(None, Scope("acme", user="ann"), 1)
        [Scope('acme', user='jane')]
        """
        within = None if within is None else as_scope(within, "within")
        after = None if after is None else as_scope(after, "after")
        limit = checked_count(limit, "limit")
        return self._collection.engine.first_scopes(within, after, limit)

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[Record], Position | None]:
        """Return the memories of the page `wanted` after the position `after` (None: the first page), and the position
        of the next page, or None after the last."""
        documents, last = self._collection.engine.page(wanted, after)
        return [to_record(document) for document in documents], last

    def find_substring(self, text: str, *, scope: Scope, k: int = 10) -> Hits:
        """Return at most `k` memories that `scope` sees and whose text contains `text` verbatim."""
        result = self._collection.engine.find_substring(text, scope=scope, k=k)
        return Hits(result, asked=text, reading=self._collection.reading())

    def admitted(
        self, scope: Scope, *, filter: FilterLike | None = None, ids: Sequence[str | int] | None = None
    ) -> Hits:
        """Return the memories visible to a search from `scope`, unranked, in the order of writing; they are read from
        the engine, which loads the partitions of a file.

        Args:
            scope: of the reader.
            filter: native conditions, as a mapping or compiled.
            ids: only these, in any of the visible scopes; None: all.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains.", scope=Scope("acme"), metadata={"run": "monday"})
        >>> [hit.text for hit in Backend.of(index).admitted(Scope("acme"), filter={"run": "monday"})]
        ['Prefers trains.']
        """
        result = self._collection.engine.admitted(scope, filter=filter, ids=ids)
        return Hits(result, reading=self._collection.reading())

    def scratch(self, k1: float | None = None, b: float | None = None) -> Index:
        """Return an empty index in memory with the same properties: dimension, metric, analysis, and embedder.

        Args:
            k1, b: of BM25, in place of those of this index.

        >>> from scrubjay import Index
        >>> Backend.of(Index(dim=2, metric="ip")).scratch()
        <scrubjay.Index 0 memories, 2-dim f16 ip, no embedder, english-1>
        """
        self._collection.check_open()
        options = {name: self._collection.family.options.get(name) for name in ("stemmer", "k1", "b")}
        options |= {name: value for name, value in (("k1", k1), ("b", b)) if value is not None}
        root = make_root(self._collection.embedder, self._collection.identity, 1, options)
        return Index._of(root)

    # ------------------------------------------------------------------ writing

    def embed(
        self,
        texts: Sequence[str],
        payloads: Sequence[bytes | None] | None = None,
        *,
        batch_size: int = 256,
    ) -> list[DocumentVector | None]:
        """Return the embedder's vectors of documents to be written; None for a document without a vector, or without an
        embedder.

        A long text gets the vectors of its passages (:class:`scrubjay.PassageVectors`), as in
        :meth:`scrubjay.Index.upsert` and in a later backfill.

        Args:
            texts: of the documents.
            payloads: of the same documents, in order: their contexts and passages are used. None: no document has any.
            batch_size: texts per call of the embedder.

        Raises:
            EmbedderError: the embedder failed.

        >>> from scrubjay import Index
        >>> Backend.of(Index(dim=2)).embed(["Prefers trains to planes."])
        [None]
        """
        self._collection.check_open()
        silent = open_progress(False, total=0, what="", unit="")
        semantics = self._collection.semantics
        return semantics.reembedded(_documents(texts, payloads), batch_size, silent)

    def embed_or_mark(
        self, texts: Sequence[str], payloads: Sequence[bytes | None], *, batch_size: int = 256
    ) -> tuple[list[DocumentVector | None], list[bytes | None]]:
        """Return vectors as :meth:`embed` does, and the payloads, marked as pending if the embedder failed: documents
        written with them are embedded later, in the background or by `index.admin.backfill()`.

        Args:
            texts: of the documents.
            payloads: of the same documents, in order.
            batch_size: texts per call of the embedder.

        Raises:
            EmbedderError: the embedder failed, and the index was created with `on_embedder_error="raise"`; or it
                returned something other than vectors.
        """
        self._collection.check_open()
        silent = open_progress(False, total=0, what="", unit="")
        semantics = self._collection.semantics
        vectors, n_tried = semantics.embed_documents(_documents(texts, payloads), batch_size, silent)
        return vectors, [*payloads[:n_tried], *map(with_pending, payloads[n_tried:])]

    @contextmanager
    def changing(self, doing: str) -> Iterator[Change]:
        """Write several things atomically: documents, and rows of the caller's tables in the same file.

        Nothing of it is visible before the block ends, and no search sees a part of it. Other writers wait, so embed
        texts before the block (:meth:`embed`).

        Args:
            doing: the operation, for the message of an error.

        Raises:
            StoreBusyError: another thread or process held the write lock for longer than the index waits.
            StoreError: the index has no file, or the transaction could not be written; nothing was written.
            OwnedCollectionError: the collection belongs to another layer.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.upsert("old", "Lives in Berlin.", scope=Scope("acme"))
        ...     with Backend.of(index).changing("moving") as change:
        ...         n = change.delete(["old"], scope=Scope("acme"), reason="superseded")
        ...         change.upsert(
        ...             ["new"], ["Lives in Oslo."], scopes=[Scope("acme")], vectors=[None], payloads=[None]
        ...         )
        ...     [hit.text for hit in index.search("where does she live?", scope=Scope("acme"))]
        ['Lives in Oslo.']
        >>> folder.cleanup()
        """
        self._check_owner(doing)
        with self._collection.durable("changing").changing(doing) as change:
            yield change
        if change.embedded:
            self._collection.semantics.wrote()
        if change.pending:
            self._collection.backfill.look()

    def write_rows(self, rows: Sequence[Row]) -> int:
        """Write rows that are already checked, encoded and embedded, all or none; return how many keys."""
        self._check_owner("write_rows")
        written = self._collection.engine.upsert_many(
            [row.id for row in rows],
            [row.text for row in rows],
            scope=[row.scope for row in rows],
            vectors=[row.vector for row in rows],
            payloads=[row.payload for row in rows],
        )
        if any(is_pending(row.payload) for row in rows):
            self._collection.backfill.wake()
        return written

    def delete_keys(self, keys: Sequence[tuple[Scope, str | int]]) -> int:
        """Delete the memories with these keys, pairs of exact scope and id; return how many existed."""
        self._check_owner("delete_keys")
        return self._collection.engine.delete_many([id for _, id in keys], scope=[scope for scope, _ in keys])

    def _check_owner(self, doing: str) -> None:
        if not self._is_owner:
            check_unowned(self._collection, doing)


def _documents(
    texts: Sequence[str], payloads: Sequence[bytes | None] | None
) -> list[tuple[str, bytes | None]]:
    """Return pairs of text and payload.

    Raises:
        TypeError: a payload is neither bytes nor None.
        ValueError: the lengths differ.
    """
    if payloads is None:
        return [(text, None) for text in texts]
    for i, payload in enumerate(payloads):
        if payload is not None and not isinstance(payload, bytes):
            raise TypeError(f"payloads[{i}]: expected bytes or None, got {type(payload).__name__}")
    return list(zip(texts, payloads, strict=True))


def _text_range(users: Any) -> tuple[str, str]:
    """Return the checked range of users."""
    if not isinstance(users, tuple) or len(users) != 2 or not all(isinstance(user, str) for user in users):
        raise TypeError(f"users: expected a tuple of two str, got {users!r:.100}")
    for user in users:
        try:
            user.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"users: expected texts that UTF-8 can encode, got {user!r:.100} with a lone surrogate"
            ) from None
    return users
