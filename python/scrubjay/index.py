"""The index: an engine, an embedder, and texts with metadata. What most callers use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from scrubjay._native import Engine, Scope
from scrubjay.asynchronous import AsyncSearch
from scrubjay.embedders.protocol import Embedder
from scrubjay.expiry import Expiry
from scrubjay.family import Family
from scrubjay.filters import FilterLike, Ids, lasting
from scrubjay.initialised import unset
from scrubjay.records import Record, checked_ids, checked_scope, to_record
from scrubjay.searching import SearchingIndex
from scrubjay.semantic import Semantics, checked_embedder
from scrubjay.states import StatefulIndex
from scrubjay.store.engine import DurableEngine
from scrubjay.store.feedback import FeedbackLog
from scrubjay.store.local import LocalEngine
from scrubjay.store.writing import checked_id
from scrubjay.stored import StoredIndex
from scrubjay.view import ScopeView, as_view_scope
from scrubjay.writing import WritingIndex

__all__ = ["Index"]

Self = TypeVar("Self", bound="Index")


class Index(WritingIndex, SearchingIndex, AsyncSearch, StoredIndex, StatefulIndex):
    """Memories, in this process or in a file (:meth:`open`): searched by keywords and by meaning, inside one
    scope, fused in native code.

    Args:
        embedder: turns texts into vectors (see :mod:`scrubjay.embedders`). None: vectors are the caller's, and without
            them the index answers by keywords alone and says so.
        dim: length of the vectors; by default the embedder's, or that of the first vector written.
        metric: "cosine", "ip" (inner product) or "l2" (similarities are negated squared distances).
        dtype: how vectors are stored, "f16" or "f32".
        analyzer: "english" (Porter2 stems), "plain" (no stems), or any name of yours along with `stemmer`.
        stemmer: word -> stem, for other languages (:func:`scrubjay.snowball`); called once per distinct word.
        k1, b: of BM25.
        query_cache: how many query vectors are kept; 0 for none. An embedder that is native code needs none.

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
        index._engine = index._expiry = index._family = index._notes = index._semantics = absent
        return index

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        dim: int | None = None,
        metric: str = "cosine",
        dtype: str = "f16",
        analyzer: str = "english",
        stemmer: Callable[[str], str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        query_cache: int = 1024,
    ) -> None:
        if embedder is not None:
            checked_embedder(embedder)
        self._semantics = Semantics(embedder, dim, query_cache)
        if embedder is not None:
            dim = embedder.dim
        self._engine = LocalEngine(dim, metric, dtype=dtype, analyzer=analyzer, stemmer=stemmer, k1=k1, b=b)
        self._expiry = Expiry(self._engine)
        self._notes = FeedbackLog()
        self._family = Family(None, query_cache, {"stemmer": stemmer, "k1": k1, "b": b})
        self._family.add_root(self)
        self._is_root = True

    # ------------------------------------------------------------------ looking

    def get(self, id: str | int, *, scope: Scope) -> Record | None:
        """Return the memory with this id that `scope` sees, its vector included; None if there is none.

        Of several the most specific: the scope's own before those that are shared with it (a user's before an agent's
        before the tenant's).

        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.get("m1", scope=jane).text
        'Invoices go out on Mondays.'
        >>> index.upsert("m1", "Prefers trains to planes.", scope=jane)
        >>> index.get("m1", scope=jane).text, index.get("m1", scope=Scope("acme", user="joe")).text
        ('Prefers trains to planes.', 'Invoices go out on Mondays.')
        """
        self._expiry.remove_due()
        document = self._engine.get(id, scope=scope)
        return None if document is None else to_record(document)

    def get_many(self, ids: Iterable[str | int], *, scope: Scope) -> list[Record | None]:
        """Return what :meth:`get` returns for each id, in the order of `ids`."""
        wanted, scope = checked_ids(ids), checked_scope(scope)
        self._expiry.remove_due()
        documents = (self._engine.get(id, scope=scope) for id in wanted)
        return [None if document is None else to_record(document) for document in documents]

    def find(self, id: str | int, *, within: Scope) -> list[Record]:
        """Return every memory with this id in any scope that agrees with `within`, in order of scope, without vectors.

        For the operator, who looks after all users of a tenant; what a user may see is what :meth:`get` returns.

        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains.", scope=Scope("acme", user="jane"))
        >>> index.upsert("m1", "Prefers planes.", scope=Scope("acme", user="joe"))
        >>> [record.scope.user for record in index.find("m1", within=Scope("acme"))]
        ['jane', 'joe']
        """
        id, within = checked_id(id, None), checked_scope(within, "within")
        self._expiry.remove_due()
        engine = cast("DurableEngine | LocalEngine", self._engine)
        return [to_record(document) for document in engine.found(id, within=within)]

    def scope(self, tenant: str | Scope, *, user: str | None = None, agent: str | None = None) -> ScopeView:
        """Return the index as one scope has it: the same verbs, the scope said once.

        >>> jane = Index().scope("acme", user="jane")
        >>> jane.upsert("m1", "Prefers trains to planes.")
        >>> jane.search("trains")[0].id, "m1" in jane
        ('m1', True)
        """
        self._check_open()
        return ScopeView(self, as_view_scope(tenant, user, agent))

    def count(
        self,
        scope: Scope | None = None,
        *,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exclude: Ids | None = None,
    ) -> int:
        """Return how many memories a search from `scope` would look at, with a filter as in :meth:`search` how many it
        admits; without a scope (and then without a filter) how many there are.
        """
        self._expiry.remove_due()
        if filter is None and ids is None and exclude is None:
            return self._engine.count(scope)
        return self._engine.count(scope, filter=filter, ids=lasting(ids), exclude=lasting(exclude))

    def stats(self) -> dict[str, int | float | str | None]:
        """Return the engine's counts (documents, partitions, vectors, memory_bytes, ...), embedder and query cache."""
        cache = self._semantics.cache.stats()
        return {
            **self._engine.stats(),
            "embedder": self._semantics.model,
            "dim": self._engine.dim,
            "metric": self._engine.metric,
            "dtype": self._engine.dtype,
            "analyzer": self._engine.analyzer,
            "query_cache_entries": cache["entries"],
            "query_cache_hits": cache["hits"],
            "query_cache_misses": cache["misses"],
        }

    @property
    def embedder(self) -> Embedder | None:
        """The embedder. Assigning another object is refused unless it is the model whose vectors the index holds.

        Raises (on assignment):
            EmbedderMismatchError: another model, or another dimension; the message names the remedy.
        """
        return self._semantics.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        if len(self._engine) == 0:
            self._semantics.forget()
        self._semantics.use(embedder, self._engine.dim)

    @property
    def engine(self) -> Engine | DurableEngine:
        """The engine below: the native one, or the one over a file. What is written to it is found here too, but is not
        embedded."""
        return self._engine

    def __len__(self) -> int:
        self._expiry.remove_due()
        return len(self._engine)

    def __repr__(self) -> str:
        if self.is_closed:
            return f"<scrubjay.Index closed: {self.path or 'in memory'}>"
        n = len(self._engine)
        model = self._semantics.model
        vectors = "no vectors" if self._engine.dim is None else f"{self._engine.dim}-dim {self._engine.dtype}"
        return (
            f"<scrubjay.Index {n:,} {'memory' if n == 1 else 'memories'}, "
            f"{vectors} {self._engine.metric}, {model or 'no embedder'}, {self._engine.analyzer}>"
        )
