"""The class that most callers use: an index of texts with metadata, searched by keywords and by meaning."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.initialised import unset
from scrubjay.documents.payload import CreatedAt
from scrubjay.documents.records import Cursor, Page, Record, Scopes, Stamp
from scrubjay.embedders.accepted import EmbedderLike, as_embedder, given_embedder
from scrubjay.embedders.protocol import Embedder
from scrubjay.filters import FilterLike, Ids
from scrubjay.fusion import Query
from scrubjay.index.admin import Admin
from scrubjay.index.collections import Collections
from scrubjay.index.feedback import FeedbackBook
from scrubjay.index.open_collection import (
    OpenCollection,
    asked_identity,
    file_options,
    make_root,
    open_root,
)  # fmt: skip
from scrubjay.index.reader import Reader
from scrubjay.index.results import Hit, Hits
from scrubjay.index.searcher import Searcher
from scrubjay.index.shared_docstrings import documented
from scrubjay.index.view import ScopeView, as_view_scope
from scrubjay.index.writer import Writer
from scrubjay.store.keys.encryption import KeyProvider
from scrubjay.store.objects.objects import Objects
from scrubjay.store.rows.facets import Value
from scrubjay.store.rows.patching import KEEP, Keep
from scrubjay.store.rows.values import Identity

Self = TypeVar("Self", bound="Index")
Metric: TypeAlias = Literal["cosine", "ip", "l2"]
DType: TypeAlias = Literal["f16", "f32", "i8"]
OnError: TypeAlias = Literal["pending", "raise"]


class Index:
    """Memories in this process or in a file (:meth:`open`), searched by keywords and by meaning within one scope and
    fused in native code.

    Args:
        embedder: turns texts into vectors (see :mod:`scrubjay.embedders`): an embedder, a name ("default"), a function,
            or a model of another library (:func:`scrubjay.embedders.as_embedder`). None: the caller supplies vectors;
            a search without one uses keywords alone and reports it.
        dim: length of the vectors; by default the embedder's, or that of the first vector written.
        metric: "cosine", "ip" (inner product) or "l2" (similarities are negated squared distances).
        dtype: how vectors are stored: "f16", "f32", or "i8", a byte an element (docs/embedders.md).
        analyzer: "english" (Porter2 stems), "plain" (no stems), a Snowball language ("german", "french", ...;
            :func:`scrubjay.languages`), or any name of your choice together with `stemmer`.
        stemmer: a function from word to stem, for languages that Snowball lacks; called once per distinct word.
        k1, b: parameters of BM25. None: chosen by the average length of the texts visible to the search: 0.4 and 0.2 up
            to 30 words, 1.2 and 0.75 from 60, linear in between. If both are given, function words weigh like others.
        query_cache: capacity of the cache of query vectors; 0: no cache. A native embedder needs none.
        on_embedder_error: what a write does if the embedder raises. "pending": store the memory without a vector;
            keyword searches find it, and it is embedded later (:meth:`Admin.backfill`). "raise": raise EmbedderError
            and write nothing.

    All methods may be called from any thread; reads never wait for writes. A write is visible to the next search as
    soon as it returns.

    >>> index = Index()
    >>> jane = Scope("acme", user="jane")
    >>> index.upsert("m1", "The staging API key prefix is sk-stg-0041.", scope=jane, metadata={"category": "keys"})
    >>> index.upsert("m2", "Prefers trains to planes.", scope=jane, created_at="2026-03-01")
    >>> hits = index.search("which key prefix for staging?", scope=jane)
    >>> hits[0].id, hits[0].metadata, hits.mode
    ('m1', {'category': 'keys'}, 'lexical')
    >>> len(index.search("staging", scope=Scope("globex", user="jane")))
    0
    """

    def __new__(cls: type[Self], *_: Any, **__: Any) -> Self:
        index = super().__new__(cls)
        absent: Any = unset(cls)
        index._collection = index._reader = index._writer = index._searcher = absent
        index._collections = index._feedback = index._admin = absent
        return index

    def __init__(
        self, embedder: EmbedderLike | None = None, *, dim: int | None = None, metric: Metric = "cosine",
        dtype: DType = "f16", analyzer: str = "english", stemmer: Callable[[str], str] | None = None,
        k1: float | None = None, b: float | None = None, query_cache: int = 1024,
        on_embedder_error: OnError = "pending",
    ) -> None:  # fmt: skip
        identity, options = Identity(dim, metric, dtype, analyzer), {"stemmer": stemmer, "k1": k1, "b": b}
        self._attach(make_root(given_embedder(embedder), identity, query_cache, options, on_embedder_error))

    @classmethod
    @documented(open_root)
    def open(
        cls: type[Self], path: str | Path, embedder: EmbedderLike | None = None, *, dim: int | None = None,
        metric: Metric | None = None, dtype: DType | None = None, analyzer: str | None = None, k1: float | None = None,
        stemmer: Callable[[str], str] | None = None, b: float | None = None, query_cache: int = 1024,
        durability: Literal["full", "normal"] = "full", busy_timeout: float = 5.0, memory_budget: int | None = None,
        collection: str | None = None, keys: KeyProvider | None = None, read_only: bool = False, max_stale: float = 1.0,
        encryption: Literal["sealed", "mixed", "strict"] = "sealed", shared_feed: bool = True,
        on_embedder_error: OnError = "pending", objects: str | Objects | None = None, user_homes: int | None = None,
    ) -> Self:  # fmt: skip
        """Open the durable index in a file or a database, or create it."""
        given = given_embedder(embedder)
        identity = asked_identity(given, dim, metric, dtype, analyzer)
        options = file_options(stemmer, k1, b, durability, busy_timeout, memory_budget, keys, encryption, read_only,
                               max_stale, objects, shared_feed, user_homes)  # fmt: skip
        return cls._of(open_root(path, given, collection, identity, query_cache, options, on_embedder_error))

    @classmethod
    def _of(cls: type[Self], collection: OpenCollection) -> Self:
        """Return the index of a collection; at most one exists at a time."""
        index = None if collection.facade is None else collection.facade()
        if index is None:
            index = cls.__new__(cls)
            index._attach(collection)
        return index

    def _attach(self, collection: OpenCollection) -> None:
        self._collection = collection
        self._reader = Reader(collection)
        self._writer = Writer(collection)
        self._searcher = Searcher(collection)
        self._collections = Collections(collection)
        self._feedback = FeedbackBook(collection)
        self._admin = Admin(collection)
        collection.facade = weakref.ref(self)

    # ------------------------------------------------------------------ properties

    @property
    def admin(self) -> Admin:
        """Operator verbs: check, compact, backup, encrypt, stats, ..."""
        return self._admin

    @property
    def name(self) -> str:
        """The name of this collection; "" for the default collection."""
        return self._collection.name

    @property
    def path(self) -> Path | None:
        """The file; None for an index in memory or in a database."""
        return self._collection.path

    @property
    def embedder(self) -> Embedder | None:
        """The embedder. Assigning one with another model or dimension raises EmbedderMismatchError, with the remedy."""
        return self._collection.embedder

    @embedder.setter
    def embedder(self, embedder: EmbedderLike | None) -> None:
        self._collection.use(as_embedder(embedder))

    def scope(self, tenant: str | Scope, *, user: str | None = None, agent: str | None = None) -> ScopeView:
        """Return a view of the index for the scope of a `tenant` (or a whole Scope), `user` and `agent`. It has the
        same verbs without the argument `scope` (:class:`ScopeView`)."""
        self._collection.check_open()
        return ScopeView(self, as_view_scope(tenant, user, agent))

    @documented(Collections.open)
    def collection(
        self: Self, name: str, *, embedder: EmbedderLike | None = None, dim: int | None = None,
        metric: Metric | None = None, dtype: DType | None = None, analyzer: str | None = None,
    ) -> Self:  # fmt: skip
        """Return the index of another collection of this file; created if it does not exist."""
        return self._of(self._collections.open(name, as_embedder(embedder), dim, metric, dtype, analyzer))

    # ------------------------------------------------------------------ searching

    @documented(Searcher.search)
    def search(
        self, text: str | bytes | None = None, *, scope: Scopes, k: int = 10, filter: FilterLike | None = None,
        vector: ArrayLike | None = None, query: Query | None = None, explain: bool = False, after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Return the k best memories that `scope` may see: its own and those shared with it."""
        return self._searcher.search(text, scope, k, filter, vector, query, explain, after)

    async def asearch(
        self, text: str | bytes | None = None, *, scope: Scopes, k: int = 10, filter: FilterLike | None = None,
        vector: ArrayLike | None = None, query: Query | None = None, explain: bool = False, after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Search as :meth:`Index.search` does without blocking the event loop; same arguments and errors.

        If nothing can block, it is a plain call: at most 20,000 memories are visible, resident and up to date, and the
        text's vector is computed natively or is in the query cache. Otherwise it runs on a thread of the loop's default
        pool, which adds about 0.1 ms. :class:`scrubjay.AsyncIndex` has the twins of all other methods.

        >>> import asyncio
        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> asyncio.run(index.asearch("train", scope=Scope("acme")))[0].id
        'm1'
        """
        return await self._searcher.asearch(text, scope, k, filter, vector, query, explain, after)

    @documented(Searcher.search_batch)
    def search_batch(
        self, texts: Sequence[str | bytes | None] | None = None, *, scope: Scope | Sequence[Scope], k: int = 10,
        filter: FilterLike | None = None, vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        query: Query | Sequence[Query | None] | None = None, explain: bool = False, threads: int | None = None,
    ) -> builtins.list[Hits]:  # fmt: skip
        """Run several searches at once."""
        return self._searcher.search_batch(texts, scope, k, filter, vectors, query, explain, threads)

    @documented(FeedbackBook.note)
    def feedback(
        self, hit: Hit | str | int, used: bool = True, query: str | None = None, *, scope: Scope | None = None
    ) -> bool:
        """Record that a hit was useful (or was not)."""
        return self._feedback.note(hit, used, query, scope)

    # ------------------------------------------------------------------ reading

    @documented(Reader.get)
    def get(self, id: str | int, *, scope: Scope) -> Record | None:
        """Return the memory with this id that `scope` sees."""
        return self._reader.get(id, scope)

    @documented(Reader.get_many)
    def get_many(self, ids: Iterable[str | int], *, scope: Scope) -> builtins.list[Record | None]:
        """Return what :meth:`get` returns for each id, in the order of `ids`."""
        return self._reader.get_many(ids, scope)

    @documented(Reader.find)
    def find(self, id: str | int, *, within: Scope) -> builtins.list[Record]:
        """Return every memory with this id in any scope that agrees with `within`."""
        return self._reader.find(id, within)

    @documented(Reader.count)
    def count(
        self, scope: Scope | None = None, *, filter: FilterLike | None = None, ids: Ids | None = None,
        exclude: Ids | None = None,
    ) -> int:  # fmt: skip
        """Return the number of memories visible to a search from `scope`."""
        return self._reader.count(scope, filter, ids, exclude)

    @documented(Reader.list)
    def list(
        self, scope: Scope, *, filter: FilterLike | None = None, ids: Ids | None = None, exact: bool = False,
        limit: int | None = None, offset: int = 0, order: Literal["newest", "oldest"] = "newest",
    ) -> builtins.list[Record]:  # fmt: skip
        """Return the memories visible to a search from `scope`, without ranking them."""
        return self._reader.list(scope, filter, ids, exact, limit, offset, order)

    @documented(Reader.scroll)
    def scroll(
        self, *, scope: Scope, limit: int = 100, cursor: Cursor | str | None = None, filter: FilterLike | None = None,
        order_by: str | None = None, descending: bool = False, vectors: bool = False, exact: bool = False,
    ) -> Page:  # fmt: skip
        """Return one page of the memories that `scope` sees, and the cursor of the next page."""
        return self._reader.scroll(scope, limit, cursor, filter, order_by, descending, vectors, exact)

    @documented(Reader.values)
    def values(
        self, field: str, *, scope: Scope, filter: FilterLike | None = None, limit: int | None = 100,
        exact: bool = False,
    ) -> dict[Value, int]:  # fmt: skip
        """Return the distinct values of a field, each with the number of memories that have it."""
        return self._reader.values(field, scope, filter, limit, exact)

    @documented(Reader.scopes)
    def scopes(self, within: Scope | None = None) -> builtins.list[Scope]:
        """Return the exact scopes that hold memories, sorted."""
        return self._reader.scopes(within)

    # ------------------------------------------------------------------ writing

    @documented(Writer.upsert)
    def upsert(
        self, id: str | int, text: str | bytes, *, scope: Scope, vector: ArrayLike | None = None,
        metadata: Mapping[str, Any] | None = None, created_at: CreatedAt | None = None,
        expires_at: CreatedAt | None = None, ttl: timedelta | float | None = None,
        entities: Sequence[str] | None = None, version: int | None = None, context: str | None = None,
        passages: Sequence[tuple[int, int]] | Literal[False] | None = None,
    ) -> None:  # fmt: skip
        """Write one memory, replacing the memory with this id in this scope, if any."""
        self._writer.upsert(id, text, scope, vector, metadata, created_at, expires_at, ttl, entities, version,
                            context, passages)  # fmt: skip

    @documented(Writer.upsert_many)
    def upsert_many(
        self, records: Iterable[Mapping[str, Any] | Any], *, scope: Scope | None = None, progress: bool | None = None,
        batch_size: int = 256,
    ) -> int:  # fmt: skip
        """Write many memories: all of them, or none if anything fails."""
        return self._writer.upsert_many(records, scope, progress, batch_size)

    @documented(Writer.patch)
    def patch(
        self, id: str | int, *, scope: Scope, metadata: Mapping[str, Any] | None = None,
        created_at: CreatedAt | Keep | None = KEEP, expires_at: CreatedAt | Keep | None = KEEP,
        vector: ArrayLike | Keep | None = KEEP, version: int | None = None, context: str | Keep | None = KEEP,
    ) -> int | None:  # fmt: skip
        """Change one memory but not its text; return its new version, or None if it does not exist."""
        return self._writer.patch(id, scope, metadata, created_at, expires_at, vector, version, context)

    @documented(Writer.delete)
    def delete(self, id: str | int, *, scope: Scope, reason: str = "delete") -> bool:
        """Delete one memory; return False if this exact scope has none with this id."""
        return self._writer.delete(id, scope, reason)

    @documented(Writer.delete_many)
    def delete_many(
        self, ids: Iterable[str | int] | None = None, *, scope: Scope, filter: FilterLike | None = None,
        reason: str = "delete",
    ) -> int:  # fmt: skip
        """Delete several memories at once."""
        return self._writer.delete_many(ids, scope, filter, reason)

    @documented(Writer.erase)
    def erase(
        self, scope: Scope, *, exact: bool = False, reason: str = "erase", everywhere: bool = False,
        names: bool = False,
    ) -> int:  # fmt: skip
        """Delete every memory whose scope agrees with all given components; return the number deleted."""
        return self._writer.erase(scope, exact, reason, everywhere, names)

    @documented(OpenCollection.close)
    def close(self) -> None:
        """Close the index and its file, or discard its memory. Later calls raise ClosedError."""
        self._collection.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._collection.count()

    def __repr__(self) -> str:
        return f"<scrubjay.Index {self._collection.description()}>"
