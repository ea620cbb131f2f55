"""LangGraph's store: runs operations and returns results. The index decides what matches and in which order."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Generator, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    PutOp,
    SearchOp,
)

from scrubjay._native import Scope
from scrubjay.adapters.langgraph.conditions import translated
from scrubjay.adapters.langgraph.embedding import embedder_of
from scrubjay.adapters.langgraph.items import (
    FIRST_PART,
    CheckedPut,
    as_item,
    as_search_item,
    is_item,
    item_key,
    item_value,
    put_of,
)
from scrubjay.adapters.langgraph.migration import migrate
from scrubjay.adapters.langgraph.namespaces import (
    NO_TENANT,
    Namespace,
    all_homes,
    checked_labels,
    checked_namespace,
    document_id,
    home_of,
    listed,
    namespace_of,
    path_of,
)
from scrubjay.adapters.langgraph.writes import refresh, write
from scrubjay.backend import (
    All,
    Backend,
    Documents,
    FrameworkEmbedder,
    Node,
    RankedPages,
    ScopeTree,
    Sweeper,
    admit,
    as_query,
    prepared,
    search_together,
)
from scrubjay.documents.records import Record
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

_MANY = 10_000
_FAR = 100  # results from which on a check that no item has several parts pays off
_OTHER_PARTS = {"$not": {"part": 0, "key": {"$gte": ""}}}
"""Matches documents that are not the first of an item: further parts, and documents of other writers."""
_DEFAULT_SWEEP_MINUTES = 5.0


class ScrubjayStore(BaseStore):
    """LangGraph's long-term memory in one file: searched by keywords and by meaning, below any prefix.

    Args:
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        index: LangGraph's IndexConfig: `dims`, `embed` (LangChain embeddings, a function, an async function, a
            provider's name, or one of :mod:`scrubjay.embedders`) and `fields`, the paths of the texts to search
            (default ``["$"]``, the whole value as JSON).
        embedder: one of :mod:`scrubjay.embedders`, in place of `index`'s. With neither, searches go by keywords alone.
        ttl: LangGraph's TTLConfig. Expired items are never returned, whatever `omit_expired` is.
        tenant: the owner of the store. Stores of several tenants may share a file; no tenant sees another's items, and
            the empty prefix covers all items of the tenant. Stores without a tenant share items that no tenant sees.
        query: how searches rank: a :class:`scrubjay.Query`; ``Query(mode="vector")`` has the stock store's order.
        unranked: whether items that a query does not rank (not indexed, no word in common) fill up its page, newest
            first and with a score of None, as in the stock store.
        collection: the collection of the file; other adapters use others.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    An item is one document (one for each of several indexed texts) in the scope of its namespace; other namespaces do
    not influence its searches. A search below a prefix covers all namespaces there in one call, as if they were one,
    and costs what they hold plus about 0.01 ms for each. `async with` and `await store.setup()` work as with other
    stores. Files of the first format, which stored an item once for each prefix, are converted when they are opened.

    Thread-safe. Differences from `InMemoryStore`: values come back as JSON; an update keeps `created_at`; without a
    query the newest come first, and an offset at which a page ended continues after that page, regardless of writes in
    between; a namespace without items is not listed; empty texts are not embedded; `$gt` and the other order operators
    do not match non-numbers instead of raising, and compare texts as texts; a filter key with periods that no item has
    as a key is a path into nested mappings.

    Raises:
        TypeError, ValueError: an argument is invalid; the message names it.
        EmbedderMismatchError: the file holds vectors of another model.

    >>> from scrubjay.embedders import default
    >>> store = ScrubjayStore(index={"embed": default(), "fields": ["text"]})
    >>> store.put(("memories", "user1"), "m1", {"text": "The staging key prefix is sk-stg-0041.", "kind": "keys"})
    >>> store.put(("memories", "user10"), "m2", {"text": "Prefers trains to planes.", "kind": "travel"})
    >>> [item.key for item in store.search(("memories", "user1"), query="sk-stg-0041")]
    ['m1']
    >>> [item.key for item in store.search(("memories",), filter={"kind": "travel"})]
    ['m2']
    >>> store.list_namespaces(prefix=("memories",))
    [('memories', 'user1'), ('memories', 'user10')]
    """

    supports_ttl = True

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        index: Any = None,
        embedder: Embedder | None = None,
        ttl: Any = None,
        tenant: str | None = None,
        query: Query | None = None,
        unranked: bool = True,
        collection: str | None = "langgraph",
        **options: Any,
    ) -> None:
        if tenant == NO_TENANT:
            raise ValueError(f"tenant: expected another name than {NO_TENANT!r}, which stands for none")
        self._tenant = Scope(NO_TENANT if tenant is None else tenant).tenant
        self.index_config = None if index is None else dict(index)
        self._fields = _fields_of(self.index_config)
        if embedder is None and self.index_config is not None:
            embedder = embedder_of(self.index_config)
        settings = as_query(query)
        if settings.mode == "vector" and embedder is None:
            raise ValueError("query: expected mode 'hybrid' or 'lexical' without embeddings, got 'vector'")
        self._embedder = embedder
        self.embeddings = embedder.embeddings if isinstance(embedder, FrameworkEmbedder) else embedder
        self._query = settings.replace(mode="lexical") if embedder is None else settings
        self._unranked = unranked
        self.ttl_config = None if ttl is None else dict(ttl)
        self._documents = Documents(where, collection=collection, embedder=embedder, **options)
        self._index = self._documents.index
        try:
            migrate(self._documents, self._tenant)
            self._tree = ScopeTree(self._index, all_homes(self._tenant), ".")
        except BaseException:
            self._documents.close()
            raise
        self._sweeper = Sweeper(self.sweep_ttl, "scrubjay-ttl-sweeper")
        self._ranked_pages = RankedPages()

    @classmethod
    def from_conn_string(cls, conn_string: str, **options: Any) -> ScrubjayStore:
        """Return a store over a file, as a context manager: the usual constructor of LangGraph's stores.

        Args:
            conn_string: the path of the file.
            options: further arguments of the constructor.
        """
        return cls(conn_string, **options)

    # ------------------------------------------------------------------ LangGraph's interface

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Run operations; return their results in the same order.

        Reads see the state before the puts of the batch. The last of several puts of one item wins. All puts are
        written together: all, or none if one of them is invalid.

        Args:
            ops: LangGraph's operations.

        Raises:
            InvalidNamespaceError: a namespace is invalid.
            TypeError, ValueError: another argument is invalid; nothing was done.
            EmbedderError, StoreError: as in :meth:`Index.upsert`; nothing was written.
        """
        return self._run([self._checked(op) for op in ops])

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Run :meth:`batch` on another thread; embeddings are awaited first."""
        checked = [self._checked(op) for op in ops]
        embedder = self._embedder
        if not isinstance(embedder, FrameworkEmbedder):
            return await asyncio.to_thread(self._run, checked)
        puts = self._last_puts(checked)
        ready = await embedder.prepare(
            (text for put in puts for text in put.texts),
            (
                op.query
                for op in checked
                if isinstance(op, SearchOp) and op.query and self._query.mode != "lexical"
            ),
        )
        with prepared(ready):
            return await asyncio.to_thread(self._run, checked)

    # ------------------------------------------------------------------ time to live

    def sweep_ttl(self) -> int:
        """Delete expired items from the file and return their number; in memory they expire by themselves."""
        n_items = self._index.admin.sweep(all_homes(self._tenant))
        self._index.admin.sweep(Scope(self._tenant))
        return n_items

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Start sweeping periodically on a thread; cancel the future or call :meth:`stop_ttl_sweeper` to stop.

        Args:
            sweep_interval_minutes: None: the interval of the store's `ttl`, or LangGraph's default.
        """
        minutes = sweep_interval_minutes
        if minutes is None:
            minutes = (self.ttl_config or {}).get("sweep_interval_minutes") or _DEFAULT_SWEEP_MINUTES
        if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 < minutes < 1e6:
            raise ValueError(f"sweep_interval_minutes: expected a number above 0, got {minutes!r}")
        return self._sweeper.start(minutes * 60)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; return whether it stopped within the timeout.

        Args:
            timeout: in seconds; None: wait without a limit.
        """
        return self._sweeper.stop(timeout)

    # ------------------------------------------------------------------ closing

    def setup(self) -> Awaitable[None]:
        """Do nothing: the file is ready. Callers of other stores call this once, or await it."""
        return _Done()

    def close(self) -> None:
        """Stop the sweeper and release the file; it closes with the last store that uses it."""
        self._sweeper.stop()
        self._documents.close()

    def __repr__(self) -> str:
        whose = "no tenant" if self._tenant == NO_TENANT else f"tenant {self._tenant!r}"
        text = f"ScrubjayStore of {whose}, {self._query.mode}: {self._documents.place}"
        return f"<scrubjay.adapters.langgraph.{text}>"

    def __enter__(self) -> ScrubjayStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> ScrubjayStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    # ------------------------------------------------------------------ operations

    def _checked(self, op: Any) -> Any:
        """Return an operation with its arguments checked; a PutOp as a Put."""
        if isinstance(op, PutOp):
            return put_of(
                op._replace(key=_checked_key(op.key)), checked_namespace(op.namespace), self._fields
            )
        if isinstance(op, GetOp):
            return op._replace(namespace=checked_labels(op.namespace), key=_checked_key(op.key))
        if isinstance(op, SearchOp):
            if op.query is not None and not isinstance(op.query, str):
                raise TypeError(f"query: expected a str or None, got {type(op.query).__name__}")
            translated(op.filter, item_value)
            _check_page(op)
            return op._replace(namespace_prefix=checked_labels(op.namespace_prefix))
        if isinstance(op, ListNamespacesOp):
            _check_page(op)
            for condition in op.match_conditions or ():
                path_of(condition)
                if condition.match_type not in ("prefix", "suffix"):
                    raise ValueError(
                        f"match_type: expected 'prefix' or 'suffix', got {condition.match_type!r}"
                    )
            return op
        raise ValueError(f"ops: expected GetOp, SearchOp, PutOp or ListNamespacesOp, got {type(op).__name__}")

    def _run(self, checked: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        read: list[Record | Hit] = []  # whose time to live starts again
        for op in checked:
            if isinstance(op, GetOp):
                record = self._get(op)
                results.append(None if record is None else as_item(record))
                if record is not None and op.refresh_ttl:
                    read.append(record)
            elif isinstance(op, SearchOp):
                page = self._search(op)
                results.append([as_search_item(found, score) for found, score in page])
                if op.refresh_ttl:
                    read.extend(found for found, _ in page)
            elif isinstance(op, ListNamespacesOp):
                results.append(listed(map(namespace_of, self._tree.below()), op))
            else:
                results.append(None)
        puts = self._last_puts(checked)
        written = {(put.namespace, put.key) for put in puts}
        due = [found for found in read if item_key(found) not in written]
        if due:
            refresh(self._documents, self._tenant, due)
        if puts:
            write(self._documents, self._tenant, puts)
            self._tree.note({".".join(put.namespace) for put in puts if put.value is not None})
        return results

    @staticmethod
    def _last_puts(checked: Sequence[Any]) -> list[CheckedPut]:
        return list({(op.namespace, op.key): op for op in checked if isinstance(op, CheckedPut)}.values())

    def _get(self, op: GetOp) -> Record | None:
        home = home_of(self._tenant, op.namespace)
        return self._index.get(document_id(op.namespace, op.key, 0), scope=home)

    def _search(self, op: SearchOp) -> list[tuple[Record | Hit, float | None]]:
        """Return a page of results with scores; None for items that the query does not rank."""
        need = op.offset + op.limit
        homes = self._tree.below(".".join(op.namespace_prefix)) if op.limit else []
        if not homes:
            return []
        if need > _MANY:
            need = min(need, sum(self._index.count(home) for home in homes))
            if need <= op.offset:
                return []
        where = translated(op.filter, item_value)
        if not op.query:  # the newest items; a page continues after the previous one
            newest = self._documents.page(
                scope=homes,
                filter=where,
                offset=op.offset,
                limit=op.limit,
                descending=True,
                exact=True,
                own=is_item,
                question=repr(op.filter),
            )
            return [(record, None) for record in newest]

        def found(n: int) -> tuple[list[Record | Hit], list[Hashable]]:
            return self._best(op.query or "", homes, where, n)

        question = (op.namespace_prefix, op.query, repr(op.filter))
        page = self._ranked_pages.page(question, op.offset, need - op.offset, found)
        return [(hit, self._score(hit) if isinstance(hit, Hit) else None) for hit in page]

    def _best(
        self, query: str, homes: Sequence[Scope], where: Node | None, need: int
    ) -> tuple[list[Record | Hit], list[Hashable]]:
        """Return the best `need` items, unranked ones last, and the identity of each."""
        if need >= _FAR and not any(self._index.count(home, filter=_OTHER_PARTS) for home in homes):
            # Each document is an item, so hits need not be grouped by item.
            hits = search_together(self._index, homes, query, k=need, where=where, query=self._query)
            if len(hits) == need:
                return [*hits], [hit.id for hit in hits]
        ranked = self._ranked(query, homes, where, need)
        results: list[Record | Hit] = list(ranked.values())
        if len(results) < need and self._unranked:
            unranked = self._listed(homes, where, need, len(ranked))
            results += [record for record in unranked if is_item(record) and item_key(record) not in ranked]
            results = results[:need]
        return results, [document_id(*item_key(hit), 0) for hit in results]

    def _score(self, hit: Hit) -> float:
        """Return the score; by vectors alone with l2 the negative distance, as in LangGraph's other stores."""
        is_square = self._query.mode == "vector" and Backend.of(self._index).metric == "l2"
        return -math.sqrt(max(0.0, -hit.score)) if is_square else hit.score

    def _listed(self, homes: Sequence[Scope], where: Node | None, need: int, n_ranked: int) -> list[Record]:
        """Return the newest items; none if all items were ranked already."""
        condition = FIRST_PART if where is None else All([FIRST_PART, where])
        admitted = [(home, admit(self._index, home, condition)) for home in homes]
        if where is not None or n_ranked:  # counted natively, to avoid reading all rows in vain
            n_items = sum(self._index.count(home, **one.options) for home, one in admitted)
            if min(need, n_items) <= n_ranked:
                return []
        listings = [self._index.list(home, limit=need, **one.options) for home, one in admitted]
        if len(listings) == 1:
            return listings[0]
        # By last write, the order of a listing of one scope.
        return sorted(chain(*listings), key=lambda record: record.version or 0, reverse=True)

    def _ranked(
        self, query: str, homes: Sequence[Scope], where: Node | None, need: int
    ) -> dict[tuple[Namespace, str], Hit]:
        """Return the best `need` items, best first, each by its best part."""
        k = max(1, need)
        while True:
            hits = search_together(self._index, homes, query, k=k, where=where, query=self._query)
            best: dict[tuple[Namespace, str], Hit] = {}
            for hit in hits:
                if is_item(hit):
                    best.setdefault(item_key(hit), hit)
            if len(best) >= need or len(hits) < k:
                return dict(list(best.items())[:need])
            k *= 2  # some items occur with several parts


class _Done:
    """An awaitable that completes immediately."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


def _fields_of(config: Mapping[str, Any] | None) -> list[str]:
    fields = None if config is None else config.get("fields")
    if fields is None:
        return ["$"]
    if isinstance(fields, str) or not all(isinstance(path, str) for path in fields):
        raise TypeError(f"index: expected fields to be a list of paths, got {fields!r}")
    return list(fields) or ["$"]


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"key: expected a str, got {type(key).__name__}")
    return key


def _check_page(op: SearchOp | ListNamespacesOp) -> None:
    for name, value in (("limit", op.limit), ("offset", op.offset)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
        if value < 0:
            raise ValueError(f"{name}: expected 0 or more, got {value}")
