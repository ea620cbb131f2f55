"""Searching a collection, one question at a time or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.entities import mentioned
from scrubjay.errors import StoreUnavailableError
from scrubjay.filters import FilterLike
from scrubjay.fusion import Entities, Query
from scrubjay.index.degrade import Plan, damaged, incomplete, make_plan, make_plans, stale
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.results import Hits
from scrubjay.initialised import unset
from scrubjay.records import Stamp, as_scope, as_vector
from scrubjay.store.engine import DurableEngine
from scrubjay.store.residency import View

__all__ = ["Searcher"]

_USUAL = Query()
_OPTIONS = frozenset(("scope", "k", "filter", "vector", "query", "explain"))
# What a search in the thread of an event loop may look at: some hundred microseconds.
_MOST_DOCUMENTS, _MOST_CHARACTERS = 20_000, 2_000


class Ready(NamedTuple):
    """What a search that must not wait has: the partitions, if there is a file, and the text's vector or why not."""

    seen: View | None
    embedded: tuple[Any, tuple[str, ...]]


class Searcher:
    """Answers the questions to one collection. Thread-safe.

    Each search reads `collection.engine` again: it changes when the collection is closed.
    """

    __slots__ = ("_collection",)

    def __new__(cls, *_: Any, **__: Any) -> Searcher:
        searcher = super().__new__(cls)
        absent: Any = unset(cls)
        searcher._collection = absent
        return searcher

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection

    def search(
        self,
        text: str | bytes | None,
        scope: Scope,
        k: int,
        filter: FilterLike | None,
        vector: ArrayLike | None,
        query: Query | None,
        explain: bool,
        after: Stamp | None = None,
    ) -> Hits:
        """Return the k best memories that `scope` may see: its own and those shared with it.

        Args:
            text: the question; goes to the embedder and to the keyword ranking.
            scope: who asks. Sees (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent), nothing else.
            k: how many hits at most.
            filter: conditions on metadata, created_at and expires_at, such as ``{"category": {"$in": ["keys",
                "infra"]}}``; what it does not admit is not ranked (see :mod:`scrubjay.filters`).
            vector: (dim,) numbers in place of the text's embedding.
            query: all else that a search may be asked: mode, fusion, signals, candidates, recall, ids, rankings (see
                :class:`scrubjay.Query`). Make it once and use it again.
            explain: have BM25, similarity, matched terms, coverage and the parts of the score for each hit.
            after: a stamp (:meth:`Admin.stamp`) from a process that wrote: the search has seen that write, however
                `max_stale` was chosen.

        One of text, vector, the query's keywords must be given. What is missing for the mode degrades the search
        instead of failing it (no embedder, an embedder that raises, no text): `hits.mode` says what ran,
        `hits.degraded` why.

        Ties: score descending, then tenant before user before agent memories, then the order of writing.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            StoreUnavailableError: of a database, what `scope` sees is not in memory, or not as of `after`, and the
                server does not answer.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert(7, "Sails on Saturdays", scope=Scope("acme"), vector=[1.0, 0.0])
        >>> hit = index.search("sailing", vector=[0.6, 0.8], scope=Scope("acme"), explain=True)[0]
        >>> hit.id, hit.lexical_rank, hit.vector_rank, hit.matched_terms, round(hit.cosine, 2)
        (7, 1, 1, ['sail'], 0.6)
        """
        if query is None and filter is None and not explain and after is None and text is not None:
            hits = self._usual(text, scope, k, vector)
            if hits is not None:
                return hits
        return self._whole(text, scope, k, filter, vector, query, explain, after)

    def _usual(self, text: str | bytes, scope: Scope, k: int, vector: ArrayLike | None) -> Hits | None:
        """Answer a search without options where there is nothing to wait for, to report or to clean up: by one native
        call and little else. None: that is not so, or it raised; the whole way says what is the matter."""
        collection = self._collection
        residency = collection.residency
        native = collection.semantics.native if vector is None else None
        if (
            (native is None and type(vector) is not np.ndarray)
            or residency.may_be_stale
            or residency.n_damaged
            or collection.backfill.any
            or collection.expiry.pending
        ):
            return None
        generation = residency.generation
        try:
            result = collection.engine.search(text, vector=vector, scope=scope, k=k, embedder=native)
        except ValueError:
            return None
        if residency.generation != generation or residency.n_damaged:
            return None
        return Hits(result)

    def _whole(
        self,
        text: str | bytes | None,
        scope: Scope,
        k: int,
        filter: FilterLike | None,
        vector: ArrayLike | None,
        query: Query | None,
        explain: bool,
        after: Stamp | None = None,
        ready: Ready | None = None,
    ) -> Hits:
        collection = self._collection
        residency, semantics = collection.residency, collection.semantics
        generation = residency.generation
        asked = _USUAL if query is None else query
        if not isinstance(asked, Query):
            raise TypeError(f"query: expected a scrubjay.Query, got {type(query).__name__} {query!r}")
        embeds = vector is None and text is not None and asked.mode != "lexical"
        native = semantics.native if embeds and asked.keywords is None else None
        if native is not None:
            plan = Plan(asked.mode, text, None, (), native)
        elif embeds and text is not None:
            embedded, degraded = semantics.query(text) if ready is None else ready.embedded
            embeds = embedded is not None
            plan = make_plan(asked.mode, text, embedded, asked.keywords, degraded)
        else:
            given = None if vector is None else as_vector(vector)
            plan = make_plan(asked.mode, text, given, asked.keywords, ())
        if collection.expiry.pending:
            collection.expiry.remove_due()
        if after is not None:
            _reach(collection, scope, after)
        # Rarely set; passing them costs a microsecond, so defaults are omitted.
        options: dict[str, Any] = {}
        if query is not None or filter is not None or explain:
            options = {"query": _planned(asked, plan), "filter": filter, "explain": explain}
            if isinstance(asked.entities, Entities) and asked.entities.names is None:
                options["entities"] = mentioned(text, asked.keywords)
        if ready is not None and ready.seen is not None:
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
            return self._whole(text, scope, k, filter, None, query, explain, after)
        by_text = embeds and native is None and asked.keywords is None
        if by_text and ready is None and text is not None and result.corrections:
            # What was meant has another vector than what was typed; native embedders see to it themselves.
            meant, _ = semantics.query(result.corrected(text))
            if meant is not None and residency.generation == generation:
                result = collection.engine.search(
                    plan.lexical_text, vector=meant, scope=scope, k=k, **options
                )
        if residency.n_damaged:
            plan = damaged(plan, residency.damage(scope))
        if collection.backfill.any:
            plan = incomplete(plan, _count_pending(collection, scope))
        if not residency.may_be_stale:
            return Hits(result, plan.degraded, explain)
        seconds, is_late = residency.freshness(scope)
        return Hits(result, (stale(plan, seconds) if is_late else plan).degraded, explain, seconds)

    async def asearch(
        self,
        text: str | bytes | None,
        scope: Scope,
        k: int,
        filter: FilterLike | None,
        vector: ArrayLike | None,
        query: Query | None,
        explain: bool,
        after: Stamp | None,
    ) -> Hits:
        """Search at once where nothing would wait, otherwise on a thread; see :meth:`Index.asearch`."""
        options = {
            "scope": scope,
            "k": k,
            "filter": filter,
            "vector": vector,
            "query": query,
            "explain": explain,
        }
        hits = self.search_now(text, options if after is None else {**options, "after": after})
        if hits is not None:
            return hits
        import asyncio  # a third of the time of `import scrubjay`

        return await asyncio.to_thread(self.search, text, scope, k, filter, vector, query, explain, after)

    def search_now(self, text: str | bytes | None, options: Mapping[str, Any]) -> Hits | None:
        """Return what :meth:`search` does, or None where that might keep an event loop waiting: partitions to be read,
        an embedder, a stemmer, keys or a filter that is not native code, work in the order of a millisecond, or options
        that are refused."""
        collection, scope = self._collection, options.get("scope")
        query, vector = options.get("query"), options.get("vector")
        engine, semantics = collection.engine, collection.semantics
        if (
            not isinstance(scope, Scope)
            or not options.keys() <= _OPTIONS
            or collection.is_closed
            or collection.expiry.pending
            or collection.backfill.any
            or collection.family.options["stemmer"] is not None
            or (text is not None and not (isinstance(text, (str, bytes)) and len(text) <= _MOST_CHARACTERS))
        ):
            return None
        if query is not None and (
            not isinstance(query, Query) or query.ids is not None or query.exclude is not None
        ):
            return None
        seen = None
        if isinstance(engine, DurableEngine):
            seen = engine.residency.view_now(scope)
            if seen is None:
                return None
        if (engine.residency.engine if isinstance(engine, DurableEngine) else engine).count(
            scope
        ) > _MOST_DOCUMENTS:
            return None
        embedded: tuple[Any, tuple[str, ...]] = (None, ())
        mode, keywords = ("hybrid", None) if query is None else (query.mode, query.keywords)
        embeds = vector is None and text is not None and mode != "lexical"
        if text is not None and embeds and (semantics.native is None or keywords is not None):
            known = semantics.known_query(text)
            if known is None:
                return None
            embedded = known
        hits = self._whole(
            text,
            scope,
            options.get("k", 10),
            options.get("filter"),
            vector,
            query,
            options.get("explain", False),
            None,
            Ready(seen, embedded),
        )
        # The vector of what was meant may have to be waited for.
        by_text = embeds and semantics.native is None and keywords is None
        return None if by_text and hits.corrections else hits

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
        """Answer several questions at once: embedded in one call of the embedder, searched on `threads` threads
        (None: as many as the machine has cores, which is also the most).

        `texts` and `vectors` (n, dim) have one entry a question (None where it has none), `scope` and `query` are one
        for all or one each. The other arguments (one for all) and each of the results are those of
        :meth:`Index.search`.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts: expected a sequence of str, got one {type(texts).__name__}")
        queries = None if query is None or isinstance(query, Query) else list(query)
        scopes = None if isinstance(scope, Scope) else [as_scope(one) for one in scope]
        named = {"texts": texts, "vectors": vectors, "query": queries, "scope": scopes}
        lengths = {name: len(value) for name, value in named.items() if value is not None}  # type: ignore[arg-type]
        if (
            texts is None
            and vectors is None
            and (queries is None or not any(one and one.keywords for one in queries))
        ):
            raise ValueError("texts, vectors: expected at least one of them")
        if len(set(lengths.values())) > 1:
            given = ", ".join(f"{length} {name}" for name, length in lengths.items())
            raise ValueError(f"texts, vectors, query, scope: expected equal lengths, got {given}")
        n = next(iter(lengths.values()))
        asked = [_USUAL if one is None else one for one in (queries or [query] * n)]  # type: ignore[list-item]
        for i, one in enumerate(asked):
            if not isinstance(one, Query):
                raise TypeError(f"query[{i}]: expected a scrubjay.Query, got {type(one).__name__} {one!r}")
        nothing: list[None] = [None] * n
        given_vectors: Any = nothing if vectors is None else vectors
        collection = self._collection
        residency = collection.residency
        generation = residency.generation
        plans = make_plans(
            collection.semantics,
            [one.mode for one in asked],
            nothing if texts is None else texts,
            given_vectors,
            [one.keywords for one in asked],
        )
        collection.expiry.remove_due()

        def again() -> list[Hits]:
            """Another process changed the model while the texts were embedded with the old one."""
            return self.search_batch(texts, scope, k, filter, vectors, query, explain, threads)

        results: list[Hits | None] = list(nothing)
        groups: dict[Any, list[int]] = {}
        for row, plan in enumerate(plans):
            groups.setdefault(plan.embedder, []).append(row)
        for embedder, rows in groups.items():
            names: list[list[str] | None] = [
                mentioned(None if texts is None else texts[row], asked[row].keywords)
                if isinstance(entities := asked[row].entities, Entities) and entities.names is None
                else None
                for row in rows
            ]
            try:
                found = collection.engine.search_batch(
                    [plans[row].lexical_text for row in rows],
                    vectors=[plans[row].vector for row in rows],
                    scope=scope if scopes is None else [scopes[row] for row in rows],
                    k=k,
                    filter=filter,
                    query=[_planned(asked[row], plans[row]) for row in rows],
                    explain=explain,
                    threads=threads,
                    embedder=embedder,
                    entities=names if any(names) else None,
                )
            except ValueError:
                if residency.generation == generation:
                    raise
                return again()
            if residency.generation != generation:
                return again()
            for row, result in zip(rows, found, strict=True):
                plan, own = plans[row], cast(Scope, scope if scopes is None else scopes[row])
                embedded = embedder is None and plan.vector is not None and given_vectors[row] is None
                if embedded and texts is not None and asked[row].keywords is None and result.corrections:
                    results[row] = self.search(texts[row], own, k, filter, None, asked[row], explain)
                    continue
                if residency.n_damaged:
                    plan = damaged(plan, residency.damage(own))
                if collection.backfill.any:
                    plan = incomplete(plan, _count_pending(collection, own))
                seconds, is_late = residency.freshness(own) if residency.may_be_stale else (0.0, False)
                results[row] = Hits(
                    result, (stale(plan, seconds) if is_late else plan).degraded, explain, seconds
                )
        return [hits for hits in results if hits is not None]


def _reach(collection: OpenCollection, scope: Scope, after: Stamp) -> None:
    """See to it that a search has seen the write of a stamp."""
    if not isinstance(after, Stamp):
        raise TypeError(f"after: expected a scrubjay.Stamp, got {type(after).__name__}")
    if after.scope not in as_scope(scope).visible():
        raise ValueError(
            f"after: expected the stamp of a scope that {scope!r} sees, got that of {after.scope!r}"
        )
    engine = collection.engine
    if engine.lineage != after.lineage:
        raise ValueError("after: expected a stamp of this collection, got one of another")
    if isinstance(engine, DurableEngine):
        engine.residency.reach(after.scope, after.version)


def _count_pending(collection: OpenCollection, scope: Scope) -> int:
    """Return how many of the visible memories are still to be embedded; 0 while the database does not answer."""
    try:
        return collection.backfill.count(scope.visible())
    except StoreUnavailableError:
        return 0


def _planned(query: Query, plan: Plan) -> Query:
    """The query with the mode that is left of it."""
    return query if plan.mode == query.mode else query.replace(mode=plan.mode)
