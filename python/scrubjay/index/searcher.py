"""Searching a collection, one question at a time or many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.errors import StoreUnavailableError
from scrubjay.base.initialised import unset
from scrubjay.documents.entities import mentioned
from scrubjay.documents.records import Stamp, as_scopes, as_vector
from scrubjay.filters import FilterLike
from scrubjay.fusion import Entities, Query
from scrubjay.fusion.query import checked_query
from scrubjay.index.batch import USUAL, Batch, batch_of
from scrubjay.index.filter_functions import has_functions, keys_of, split
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.results import Hits
from scrubjay.index.search_plan import Plan, damaged, incomplete, make_plan, make_plans, stale
from scrubjay.store.residency.residency import View

if TYPE_CHECKING:
    from scrubjay._native import Result

_SCOPES_AT_ONCE = 1_000  # per query for pending memories

_POSITION = re.compile(r"\[(\d+)\]")

# Limits of a search on the event loop's thread, which takes some hundred microseconds.
_MOST_DOCUMENTS, _MOST_CHARACTERS = 20_000, 2_000


class _Ready(NamedTuple):
    """The inputs of a search that must not block: the partitions (none in memory), and the text's vector or the reasons
    why there is none."""

    seen: View
    embedded: tuple[Any, tuple[str, ...]]
    may_be_meant: bool = False
    """Whether a misspelt text would have to be embedded again after its correction."""


class Searcher:
    """Searches one collection. Thread-safe."""

    __slots__ = ("_collection", "_reading")

    def __new__(cls, *_: Any, **__: Any) -> Searcher:
        searcher = super().__new__(cls)
        absent: Any = unset(cls)
        searcher._collection = searcher._reading = absent
        return searcher

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection
        self._reading = collection.reading()

    def search(
        self,
        text: str | bytes | None,
        scope: Scope | Sequence[Scope],
        k: int,
        filter: FilterLike | None,
        vector: ArrayLike | None,
        query: Query | None,
        explain: bool,
        after: Stamp | None = None,
        ready: _Ready | None = None,
    ) -> Hits:
        """Return the k best memories that `scope` may see: its own and those shared with it.

        Args:
            text: the question, for the embedder and the keyword ranking.
            scope: the scope of the reader. It sees (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent),
                nothing else. With a list of scopes, everything that any of them sees is ranked as if one scope saw it:
                the statistics of keywords are those of all that is searched. The cost is that of the memories they
                hold, plus some 2 us per scope.
            k: the maximum number of hits.
            filter: conditions on metadata, created_at and expires_at, such as ``{"category": {"$in": ["keys",
                "infra"]}}``, or a slow function; memories that do not match are not ranked (see
                :mod:`scrubjay.filters`).
            vector: (dim,) numbers in place of the text's embedding.
            query: all other options of a search: mode, fusion, signals, candidates, recall, ids, rankings (see
                :class:`scrubjay.Query`). Create it once and reuse it.
            explain: compute BM25, similarity, matched terms, coverage and the parts of the score for each hit.
            after: a stamp (:meth:`Admin.stamp`) from a process that wrote: the search sees that write, whatever
                `max_stale` is.

        One of text, vector and the query's keywords is required. If something that the mode needs is missing (no
        embedder, an embedder that raises, no text), the search degrades instead of failing: `hits.mode` is the mode
        that ran, `hits.degraded` has the reasons.

        Ties: score descending, then tenant before user before agent memories, then the order of the given scopes, then
        the order of writing.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            StoreUnavailableError: the database server does not answer, and the memories that `scope` sees are not
                resident, or not up to `after`.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert(7, "Sails on Saturdays", scope=Scope("acme"), vector=[1.0, 0.0])
        >>> hit = index.search("sailing", vector=[0.6, 0.8], scope=Scope("acme"), explain=True)[0]
        >>> hit.id, hit.lexical_rank, hit.vector_rank, hit.matched_terms, round(hit.cosine, 2)
        (7, 1, 1, ['sail'], 0.6)
        """
        if explain is not False:
            explain = checked_flag(explain, "explain")
        has_options = query is not None or filter is not None or explain
        if not has_options and after is None and ready is None and text is not None:
            hits = self._usual(text, scope, k, vector)
            if hits is not None:
                return hits
        collection = self._collection
        residency, semantics = collection.residency, collection.semantics
        generation = residency.generation
        search_query = USUAL if query is None else checked_query(query)
        scope = as_scopes(scope)
        plan = self._plan(text, vector, search_query, ready)
        embeds = vector is None and (plan.embedder is not None or plan.vector is not None)
        if after is not None:
            _reach(collection, scope, after)
        native = filter
        if filter is not None and has_functions(filter):
            native, _ = split(filter)
            search_query = search_query.replace(
                ids=keys_of(collection, _each(scope), filter, search_query.ids)
            )
        # Rarely set; passing them costs a microsecond, so defaults are omitted.
        options: dict[str, Any] = {}
        if has_options:
            options = {"query": _planned(search_query, plan), "filter": native, "explain": explain}
            if isinstance(search_query.entities, Entities) and search_query.entities.names is None:
                options["entities"] = mentioned(text, search_query.keywords)
        if ready is not None and ready.seen[0]:
            options["seen"] = ready.seen
        try:
            result = collection.engine.search(
                plan.lexical_text, vector=plan.vector, scope=scope, k=k, embedder=plan.embedder, **options
            )
        except ValueError:
            if residency.generation == generation or not embeds:
                raise
            result = None
        if result is None or (embeds and residency.generation != generation):
            # Another process changed the model while the text was embedded with the old one.
            return self.search(text, scope, k, filter, None, query, explain, after)
        by_text = embeds and plan.embedder is None and search_query.keywords is None
        if by_text and ready is None and text is not None and result.corrections:
            # The corrected text has another vector than the typed one; native embedders correct it themselves.
            meant, _ = semantics.query(result.corrected(text))
            if meant is not None and residency.generation == generation:
                result = collection.engine.search(
                    plan.lexical_text, vector=meant, scope=scope, k=k, **options
                )
        question = text if search_query.keywords is None else search_query.keywords
        return self._hits(result, plan, scope, explain, question)

    def _usual(
        self, text: str | bytes, scope: Scope | Sequence[Scope], k: int, vector: ArrayLike | None
    ) -> Hits | None:
        """Answer a search without options by one native call, if there is nothing to wait for, to report or to clean
        up. Return None otherwise, or if the call raised: the full path then reports the error."""
        collection = self._collection
        residency = collection.residency
        native = collection.semantics.native if vector is None else None
        if (
            (native is None and type(vector) is not np.ndarray)
            or residency.n_damaged
            or collection.backfill.any
        ):
            return None
        generation = residency.generation
        engine = collection.engine
        try:
            result = engine.search_ready(text, vector=vector, scope=scope, k=k, embedder=native)
            if result is None:
                result = engine.search(text, vector=vector, scope=scope, k=k, embedder=native)
        except (TypeError, ValueError):
            return None
        if residency.generation != generation or residency.n_damaged:
            return None
        seconds = 0.0
        degraded: tuple[str, ...] = ()
        if residency.may_be_stale:
            seconds, is_late = residency.freshness()
            if is_late or (residency.left_behind and residency.is_behind(_each(scope))):
                degraded = (stale(seconds),)
        return Hits(result, degraded, False, seconds, text, self._reading)

    def _plan(
        self, text: str | bytes | None, vector: ArrayLike | None, asked: Query, ready: _Ready | None
    ) -> Plan:
        """Return the plan for the engine; the text is embedded here unless native code embeds it during the search."""
        semantics = self._collection.semantics
        if vector is not None or text is None or asked.mode == "lexical":
            checked_vector = None if vector is None else as_vector(vector)
            return make_plan(asked.mode, text, checked_vector, asked.keywords, ())
        native = semantics.native if asked.keywords is None else None
        if native is not None:
            return Plan(asked.mode, text, None, (), native)
        embedded, degraded = semantics.query(text) if ready is None else ready.embedded
        return make_plan(asked.mode, text, embedded, asked.keywords, degraded)

    def _hits(
        self,
        result: Result,
        plan: Plan,
        scope: Scope | Sequence[Scope],
        explain: bool,
        question: str | bytes | None,
    ) -> Hits:
        """Return a result as hits, with the reasons for degradation and the age of the answer."""
        collection = self._collection
        residency, seconds = collection.residency, 0.0
        if residency.n_damaged:
            plan = damaged(plan, residency.damage(_each(scope)))
        if collection.backfill.any:
            plan = incomplete(plan, _count_pending(collection, _each(scope)))
        if residency.may_be_stale:
            seconds, is_late = residency.freshness()
            if is_late or (residency.left_behind and residency.is_behind(_each(scope))):
                plan = plan._replace(degraded=(*plan.degraded, stale(seconds)))
        return Hits(result, plan.degraded, explain, seconds, question, self._reading)

    async def asearch(
        self,
        text: str | bytes | None,
        scope: Scope | Sequence[Scope],
        k: int,
        filter: FilterLike | None,
        vector: ArrayLike | None,
        query: Query | None,
        explain: bool,
        after: Stamp | None,
    ) -> Hits:
        """Search on the event loop's thread if nothing would block, otherwise on another; see :meth:`Index.asearch`."""
        waits = after is not None or (filter is not None and has_functions(filter))
        ready = None if waits else self._ready(text, scope, vector, query)
        if ready is not None:
            hits = self.search(text, scope, k, filter, vector, query, explain, None, ready)
            # The corrected text may have to be embedded, which may take long.
            if not (ready.may_be_meant and hits.corrections):
                return hits
        import asyncio  # a third of the time of `import scrubjay`

        return await asyncio.to_thread(self.search, text, scope, k, filter, vector, query, explain, after)

    def _ready(
        self,
        text: str | bytes | None,
        scope: Scope | Sequence[Scope],
        vector: ArrayLike | None,
        query: Query | None,
    ) -> _Ready | None:
        """Return the inputs of a search, or None if it might block an event loop: partitions to be loaded; an embedder,
        a stemmer, keys or a filter that is not native; work of about a millisecond; or invalid arguments."""
        collection = self._collection
        engine, semantics = collection.engine, collection.semantics
        search_query = USUAL if query is None else query
        if (
            not isinstance(scope, Scope)
            or not isinstance(search_query, Query)
            or search_query.ids is not None
            or search_query.exclude is not None
            or collection.is_closed
            or collection.backfill.any
            or collection.family.options["stemmer"] is not None
            or (text is not None and not (isinstance(text, (str, bytes)) and len(text) <= _MOST_CHARACTERS))
        ):
            return None
        seen = engine.residency.view_now(scope)
        if seen is None or engine.native.count(scope) > _MOST_DOCUMENTS:
            return None
        if text is None or vector is not None or search_query.mode == "lexical":
            return _Ready(seen, (None, ()))
        if semantics.native is not None and search_query.keywords is None:
            return _Ready(seen, (None, ()))
        known = semantics.known_query(text)
        if known is None:
            return None
        return _Ready(seen, known, may_be_meant=semantics.native is None and search_query.keywords is None)

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None,
        scope: Scope | Sequence[Scope],
        k: int,
        filter: FilterLike | None,
        vectors: ArrayLike | Sequence[ArrayLike | None] | None,
        query: Query | Sequence[Query | None] | None,
        explain: bool,
        threads: int | None,
    ) -> list[Hits]:
        """Run several searches at once: texts are embedded in one call of the embedder, and searched on `threads`
        threads (None: one per core, which is also the maximum).

        `texts` and `vectors` (n, dim) have one entry per search (None if missing); `scope` and `query` are one for all
        or one each. The other arguments apply to all searches; they and the results are those of :meth:`Index.search`.
        """
        batch, explain = batch_of(texts, scope, vectors, query), checked_flag(explain, "explain")
        if filter is not None and has_functions(filter):
            filter, batch = self._narrowed(filter, batch)
        while True:
            hits = self._batch(batch, k, filter, explain, threads)
            if hits is not None:
                return hits

    def _narrowed(self, filter: FilterLike, batch: Batch) -> tuple[FilterLike | None, Batch]:
        """Return the native part of a filter with functions, and the searches restricted to the matching documents."""
        queries = [
            query.replace(ids=keys_of(self._collection, [batch.scope(row)], filter, query.ids))
            for row, query in enumerate(batch.queries)
        ]
        return split(filter)[0], batch._replace(queries=queries)

    def _batch(
        self, batch: Batch, k: int, filter: FilterLike | None, explain: bool, threads: int | None
    ) -> list[Hits] | None:
        """Run the searches. Return None if another process changed the model while the texts were embedded with the old
        one."""
        collection = self._collection
        residency = collection.residency
        generation = residency.generation
        keywords = [query.keywords for query in batch.queries]
        modes = [query.mode for query in batch.queries]
        plans = make_plans(collection.semantics, modes, batch.texts, batch.vectors, keywords)
        results: list[Hits | None] = [None] * len(plans)
        groups: dict[Any, list[int]] = {}
        for row, plan in enumerate(plans):
            groups.setdefault(plan.embedder, []).append(row)
        for embedder, rows in groups.items():
            try:
                results_of_group = collection.engine.search_batch(
                    [plans[row].lexical_text for row in rows],
                    vectors=[plans[row].vector for row in rows],
                    scope=batch.scopes_of(rows),
                    k=k,
                    filter=filter,
                    query=[_planned(batch.queries[row], plans[row]) for row in rows],
                    explain=explain,
                    threads=threads,
                    embedder=embedder,
                    entities=batch.entities(rows),
                )
            except (TypeError, ValueError) as error:
                if residency.generation != generation and isinstance(error, ValueError):
                    return None
                if len(groups) == 1 or type(error) not in (TypeError, ValueError):
                    raise
                raise type(error)(_renumbered(str(error), rows)) from None
            if residency.generation != generation:
                return None
            for row, result in zip(rows, results_of_group, strict=True):
                plan, text, scope = plans[row], batch.texts[row], batch.scope(row)
                embedded = embedder is None and plan.vector is not None and batch.vectors[row] is None
                if embedded and text is not None and keywords[row] is None and result.corrections:
                    results[row] = self.search(text, scope, k, filter, None, batch.queries[row], explain)
                else:
                    results[row] = self._hits(result, plan, scope, explain, batch.question(row))
        return [hits for hits in results if hits is not None]


def _renumbered(message: str, rows: Sequence[int]) -> str:
    """Return the message of an error about some searches of a batch, with their positions in the whole batch.

    >>> _renumbered("texts[1], vectors[1]: expected at least one of them, got neither", [0, 4])
    'texts[4], vectors[4]: expected at least one of them, got neither'
    """
    names, colon, rest = message.partition(":")
    return _POSITION.sub(lambda found: f"[{rows[int(found[1])]}]", names) + colon + rest


def _each(scope: Scope | Sequence[Scope]) -> Sequence[Scope]:
    return (scope,) if isinstance(scope, Scope) else scope


def _reach(collection: OpenCollection, scope: Scope | Sequence[Scope], after: Stamp) -> None:
    """Wait until the visible partitions include the write of a stamp."""
    if not isinstance(after, Stamp):
        raise TypeError(f"after: expected a scrubjay.Stamp, got {type(after).__name__}")
    if not any(after.scope in seeing.visible() for seeing in _each(scope)):
        raise ValueError(
            f"after: expected the stamp of a scope that {scope!r:.200} sees, got that of {after.scope!r}"
        )
    engine = collection.engine
    if engine.lineage != after.lineage:
        raise ValueError("after: expected a stamp of this collection, got one of another")
    engine.residency.reach(after.scope, after.version)


def _count_pending(collection: OpenCollection, scopes: Sequence[Scope]) -> int:
    """Return how many of the visible memories are pending; 0 if the database does not answer."""
    try:
        seen = list(dict.fromkeys(visible for scope in scopes for visible in scope.visible()))
        groups = (seen[at : at + _SCOPES_AT_ONCE] for at in range(0, len(seen), _SCOPES_AT_ONCE))
        return sum(map(collection.backfill.count, groups))
    except StoreUnavailableError:
        return 0


def _planned(query: Query, plan: Plan) -> Query:
    """Return the query with the mode of the plan, which may be degraded."""
    return query if plan.mode == query.mode else query.replace(mode=plan.mode)
