"""The retriever: a search with stages before and after it. No stage can fail the search."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag, is_integer
from scrubjay.base.errors import ClosedError, Error
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.fusion.methods import number
from scrubjay.fusion.query import checked_query
from scrubjay.index import Hit, Hits, Index
from scrubjay.index.backend import Backend
from scrubjay.retrieval.cache import CacheStats, RedisCache, ResultCache
from scrubjay.retrieval.context import Context
from scrubjay.retrieval.hit_merging import merge
from scrubjay.retrieval.keys import name_of
from scrubjay.retrieval.reranking import Reranker, Reranking, order_of, render
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.result_cache import ResultCaches
from scrubjay.retrieval.rewriting import Conversation, Rewriter, Rewritten, as_rewritten, hears
from scrubjay.retrieval.surroundings import days_of, said_before
from scrubjay.retrieval.trace import Counters, Stage, Trace

_CASCADE = {
    "hybrid": ("hybrid", "vector", "lexical"),
    "vector": ("vector", "lexical"),
    "lexical": ("lexical",),
}


Words = tuple[str, str | bytes | None]
"""The text of a query, and the keywords that replace it in the lexical ranking."""


class Request(NamedTuple):
    """The arguments of one retrieval."""

    text: str
    scope: Scope
    filter: FilterLike | None
    vector: ArrayLike | None
    query: Query
    explain: bool
    conversation: Conversation | None = None
    anew: bool = False


class Retriever:
    """Retrieves the memories that answer a question: rewrite, search, rerank, select.

    Args:
        index: with the memories.
        rewriter: a :class:`Rewriter`, or a function from a question to :class:`Rewritten`, a mapping or a list of
            expansions. The verbatim question is always searched, too; all queries run in one batch. A rewriter with a
            parameter `conversation` is given the conversation so far.
        reranker: a :class:`Reranker`; its scores are combined with the fused ones to order the best hits, except for
            documents of the identifier tier, which stay first.
        rerank: the number of best hits to rerank.
        fused_weight: weight of the fused scores relative to the reranker's, both standardised among the reranked hits;
            0: ignore them. Fused scores include signals that a reranker does not see, such as dates.
        surroundings: whether the reranker reads more than texts. If the question names days, the day of a hit precedes
            its text (:class:`scrubjay.Dates`). If it names none, a turn of a conversation is read a second time, after
            what another speaker said just before it (the last 200 characters), and the mean of both scores counts; only
            for documents that record their turn (:class:`scrubjay.Neighbours`), and only for turns that match the
            search's filter; not if the query names ids or the filter contains a function.
        deadline_s: time limit of the reranker; if it is late or fails, the fused order is returned and reported in
            `degraded`. None: no limit.
        template: the reranker's input for a hit: a function of the hit, or a str such as "{title}: {text}" over its
            text and metadata. None: the text.
        query: for searches without a :class:`scrubjay.Query` of their own.
        context: the token budget, and the placement of hits.
        cache: of results in this process; True for one of 16 MB, None for none.
        shared_cache: of results across processes; needs an index in a file. Components are identified by their names
            (:func:`scrubjay.retrieval.keys.name_of`): with a lambda or an object without a `name` nothing is shared.
        spans: returns a context manager for a stage's name: `tracer.start_as_current_span` of OpenTelemetry.
        hooks: called with a dict after each retrieval: mode, degraded, n_hits, us, cached, trace (:func:`log_to`
            returns one that logs). Their exceptions are ignored.

    A component that fails degrades the answer, with the reason in `degraded`: hybrid -> vector -> lexical -> substring.
    Invalid arguments raise TypeError and ValueError as in :meth:`Index.search`.

    >>> index = Index()
    >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
    >>> retriever = Retriever(index, rewriter=lambda question: ["prefers trains"])
    >>> found = retriever.search("How does she travel?", scope=Scope("acme"))
    >>> found[0].id, found[0].queries, found.mode, [stage.name for stage in found.trace.stages]
    ('m1', (1,), 'lexical', ['rewrite', 'search', 'select'])
    """

    def __init__(
        self,
        index: Index,
        rewriter: Rewriter | Callable[[str], Any] | None = None,
        reranker: Reranker | None = None,
        *,
        rerank: int = 20,
        fused_weight: float = 0.5,
        surroundings: bool = True,
        deadline_s: float | None = None,
        template: str | Callable[[Hit], str] | None = None,
        query: Query | None = None,
        context: Context | None = None,
        cache: ResultCache | bool | None = None,
        shared_cache: RedisCache | None = None,
        spans: Callable[[str], Any] | None = None,
        hooks: Sequence[Callable[[dict[str, Any]], None]] = (),
    ) -> None:
        if isinstance(rerank, bool) or not isinstance(rerank, int):
            raise TypeError(f"rerank: expected an int, got {type(rerank).__name__}")
        if rerank < 1:
            raise ValueError(f"rerank: expected 1 or more, got {rerank}")
        if not 0 <= number(fused_weight, "fused_weight") <= sys.float_info.max:
            raise ValueError(f"fused_weight: expected a finite number, 0 or more, got {fused_weight}")
        if not isinstance(surroundings, bool):
            raise TypeError(f"surroundings: expected a bool, got {type(surroundings).__name__}")
        if rewriter is not None and not isinstance(rewriter, Rewriter) and not callable(rewriter):
            raise TypeError(f"rewriter: expected a Rewriter or a function, got {type(rewriter).__name__}")
        if not (cache is None or isinstance(cache, (bool, ResultCache))):
            raise TypeError(f"cache: expected a ResultCache, a bool or None, got {type(cache).__name__}")
        if deadline_s is not None and not number(deadline_s, "deadline_s", "a number or None") > 0:
            raise ValueError(f"deadline_s: expected a number > 0 or None, got {deadline_s}")
        self.index = index
        self.counters = Counters()
        """Counters for a metrics scraper: `counters.render()`."""
        self._rewriter = rewriter
        self._hears = hears(rewriter)
        self._reranking = None if reranker is None else Reranking(reranker, deadline_s)
        self._rerank = rerank
        self._fused_weight = fused_weight
        self._surroundings = surroundings
        self._template = template
        self._query = Query() if query is None else checked_query(query)
        self._context = context or Context()
        self._remembering = ResultCaches(
            index,
            ResultCache() if cache is True else None if cache is False else cache,
            shared_cache,
            (
                *map(name_of, (rewriter, reranker, template, self._context.count)),
                (rerank, float(fused_weight), surroundings) if reranker is not None else 0,
                self._context.max_tokens,
                self._context.edges,
            ),
            self.counters,
        )
        self._spans = spans
        self._hooks = tuple(hooks)
        self._is_plain = (
            rewriter is None
            and reranker is None
            and spans is None
            and not self._hooks
            and not self._remembering.any
            and self._context == Context()
        )

    # ------------------------------------------------------------------ searching

    def search(
        self,
        text: str,
        *,
        scope: Scope,
        k: int = 10,
        filter: FilterLike | None = None,
        vector: ArrayLike | None = None,
        query: Query | None = None,
        explain: bool = False,
        conversation: Conversation | None = None,
        anew: bool = False,
    ) -> Retrieved:
        """Return the k best memories for a question.

        Args:
            text: the question.
            scope: the scope of the reader.
            k: the maximum number of hits.
            filter, vector, explain: as in :meth:`Index.search`; the vector is that of the verbatim question.
            query: in place of the retriever's. Its keywords and rankings apply to the verbatim question.
            conversation: what was said before, for a rewriter that takes it.
            anew: search even if a cache has the result; the new result is cached.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if not is_integer(k):
            raise TypeError(f"k: expected an int, got {type(k).__name__}")
        if (k := int(k)) < 1:
            raise ValueError(f"k: expected 1 or more, got {k}")
        if not isinstance(conversation, (Conversation, type(None))):
            raise TypeError(f"conversation: expected a Conversation, got {type(conversation).__name__}")
        explain, anew = checked_flag(explain, "explain"), checked_flag(anew, "anew")
        search_query = self._query if query is None else checked_query(query)
        request = Request(text, scope, filter, vector, search_query, explain, conversation, anew)
        start = time.perf_counter_ns()
        trace = Trace(spans=self._spans)
        result = (self._run_plain if self._is_plain else self._run_cached)(request, k, trace)
        self._report(result, (time.perf_counter_ns() - start) / 1000)
        return result

    async def asearch(self, text: str, **options: Any) -> Retrieved:
        """Do the same on a thread of the loop's default pool, without blocking the event loop.

        Args:
            text: the question.
            options: further arguments of :meth:`search`.
        """
        import asyncio  # slow to import; callers of this method have imported it

        return await asyncio.get_running_loop().run_in_executor(None, partial(self.search, text, **options))

    def cache_stats(self) -> dict[str, CacheStats]:
        """Return hits, misses and stale look-ups by cache: "results", "shared", "rerank" (scores of texts) and
        "embedding" (vectors of questions, if the embedder is not native)."""
        stats = self._remembering.stats()
        if self._reranking is not None:
            stats["rerank"] = self._reranking.stats()
        vectors = self.index.admin.query_cache_stats()
        stats["embedding"] = CacheStats(vectors["hits"], vectors["misses"], entries=vectors["entries"])
        return stats

    def close(self) -> None:
        """Release the reranker's thread. The index stays open."""
        if self._reranking is not None:
            self._reranking.close()

    def __enter__(self) -> Retriever:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scrubjay.Retriever of {self.index!r}>"

    # ------------------------------------------------------------------ stages

    def _run_cached(self, request: Request, k: int, trace: Trace) -> Retrieved:
        """Run the stages within one span, unless a cache has their result."""
        with trace.whole("retrieve") as attributes:
            options = {
                "text": request.text,
                "k": k,
                "filter": request.filter,
                "vector": request.vector,
                "query": request.query,
                "explain": request.explain,
            }
            if self._hears and request.conversation is not None:
                options["conversation"] = request.conversation
            question = self._remembering.question(request.scope, options)
            result = None
            if question is not None and not request.anew:
                result = self._remembering.recall(question, trace)
            if result is None:
                result = self._run(request, k, trace)
                if question is not None and not any(_passes(reason) for reason in result.degraded):
                    self._remembering.remember(question, result)
            attributes.update(mode=result.mode, hits=len(result), cached=result.cached)
            if result.degraded:
                attributes["degraded"] = [reason.partition(":")[0] for reason in result.degraded]
        return result

    def _run_plain(self, request: Request, k: int, trace: Trace) -> Retrieved:
        """Search without stages before or after: the same as :meth:`_run`, without the overhead of empty stages."""
        reasons: list[str] = []
        start = time.perf_counter_ns()
        hits, ran = self._search(request, [(request.text, request.query.keywords)], k, reasons)
        us, n = (time.perf_counter_ns() - start) / 1000, len(hits)
        trace.stages += [Stage("search", us, 1, n, {"mode": ran}), Stage("select", 0.0, n, n)]
        return Retrieved(hits, ran, tuple(dict.fromkeys(reasons)), trace)

    def _run(self, request: Request, k: int, trace: Trace) -> Retrieved:
        reasons: list[str] = []
        queries = [(request.text, request.query.keywords)]
        if self._rewriter is not None:
            queries = _variants(request, self._rewrite(self._rewriter, request, trace, reasons))
        depth = k if self._reranking is None else max(k, self._rerank)
        with trace.stage("search", n_in=1) as stage:
            hits, ran = self._search(request, queries, depth, reasons)
            stage.n_out = len(hits)
            stage.details["mode"] = ran
        if self._reranking is not None and hits:
            hits = self._reranked(request, hits, trace, reasons)
        with trace.stage("select", n_in=len(hits)) as stage:
            chosen = self._context.select(hits[:k])
            stage.n_out = len(chosen)
        return Retrieved(chosen, ran, tuple(dict.fromkeys(reasons)), trace)

    def _rewrite(
        self, rewriter: Rewriter | Callable[[str], Any], request: Request, trace: Trace, reasons: list[str]
    ) -> Rewritten:
        with trace.stage("rewrite", n_in=1) as stage:
            try:
                rewritten = as_rewritten(rewriter, request.text, request.conversation)
            except Exception as error:  # noqa: BLE001 - on any error the verbatim question is still searched
                reasons.append(f"rewriter_failed: {_short_message(error)}")
                return Rewritten()
            stage.n_out = 1 + len(rewritten.expansions)
            return rewritten

    def _search(
        self, request: Request, queries: list[Words], depth: int, reasons: list[str]
    ) -> tuple[list[RetrievedHit], str]:
        """Search by all queries, in the first mode of the cascade that works; return the hits and that mode."""
        query = request.query
        for mode in _CASCADE[query.mode]:
            try:
                answers = self._ask(
                    request, queries, query if mode == query.mode else query.replace(mode=mode), depth
                )
            except (TypeError, ValueError, ClosedError):
                raise
            except Exception as error:  # noqa: BLE001 - a component is down: degrade to the next mode
                reasons.append(f"{mode}_failed: {_short_message(error)}")
                continue
            for hits in answers:
                reasons += hits.degraded
            ran = answers[0].mode
            merged = merge(answers)
            if merged or ran not in ("lexical", "none") or _is_limited(request) or _refuses(query):
                return merged, ran
            break  # no word was found: perhaps the query is a part of words
        if _is_limited(request):  # a substring search ignores filters and ids
            return [], "none"
        return self._substring(request.text, request.scope, depth, reasons)

    def _ask(self, request: Request, queries: list[Words], query: Query, depth: int) -> list[Hits]:
        """Search by one query, or by several in one batch."""
        if len(queries) == 1:
            return [
                self.index.search(
                    request.text, scope=request.scope, k=depth, filter=request.filter, vector=request.vector,
                    query=query, explain=request.explain,
                )
            ]  # fmt: skip
        vectors = None if request.vector is None else [request.vector, *[None] * (len(queries) - 1)]
        others = {words: query.replace(keywords=words, rankings=None) for _, words in queries[1:]}
        return self.index.search_batch(
            [text for text, _ in queries],
            scope=request.scope,
            k=depth,
            filter=request.filter,
            vectors=vectors,
            query=[query, *(others[words] for _, words in queries[1:])],
            explain=request.explain,
        )

    def _substring(
        self, text: str, scope: Scope, depth: int, reasons: list[str]
    ) -> tuple[list[RetrievedHit], str]:
        substring = text.strip()
        if not substring:
            return [], "none"
        try:
            hits = Backend.of(self.index).find_substring(substring, scope=scope, k=depth)
        except (TypeError, ValueError, ClosedError):
            raise
        except Exception as error:  # noqa: BLE001 - the last fallback failed, too
            reasons.append(f"substring_failed: {_short_message(error)}")
            return [], "none"
        if not len(hits):
            return [], "lexical" if not reasons else "none"
        reasons.append("no_match: no word of the query was found, its text was searched for as a substring")
        return merge([hits]), "substring"

    def _reranked(
        self, request: Request, hits: list[RetrievedHit], trace: Trace, reasons: list[str]
    ) -> list[RetrievedHit]:
        assert self._reranking is not None
        head, tail = hits[: self._rerank], hits[self._rerank :]
        with trace.stage("rerank", n_in=len(head), reranker=self._reranking.name) as stage:
            days, before = self._surroundings_of(request, head, reasons)
            try:
                texts = [render(self._template, hit) for hit in head]
                behind = [
                    f"{context}\n{text}"
                    for context, text in zip(before, texts, strict=True)
                    if context is not None
                ]
                dated = [
                    text if day is None else f"{day}: {text}" for day, text in zip(days, texts, strict=True)
                ]
                scores = self._reranking.score(request.text, dated + behind)
            except TimeoutError as error:
                reasons.append(f"reranker_late: {self._reranking.name}: {error}")
                return hits
            except Exception as error:  # noqa: BLE001 - on any error keep the fused order
                reasons.append(f"reranker_failed: {self._reranking.name}: {_short_message(error)}")
                return hits
            scores, again = scores[: len(head)], scores[len(head) :]
            read_twice = [place for place, context in enumerate(before) if context is not None]
            scores[read_twice] = (scores[read_twice] + again) / 2
            for hit, score in zip(head, scores.tolist(), strict=True):
                hit.rerank_score = score
            stage.n_out = len(head)
            if read_twice:
                stage.details["read_twice"] = len(read_twice)
            return [head[place] for place in order_of(head, scores, self._fused_weight)] + tail

    def _surroundings_of(
        self, request: Request, hits: list[RetrievedHit], reasons: list[str]
    ) -> tuple[Sequence[str | None], Sequence[str | None]]:
        """Return the day of each hit, and what was said before it, for the reranker to read; None if not applicable."""
        nothing: list[str | None] = [None] * len(hits)
        if not self._surroundings:
            return nothing, nothing
        try:
            days = days_of(hits, request.text, request.query)
            if any(days):
                return days, nothing
            return nothing, said_before(self.index, hits, request.scope, request.filter, request.query)
        except Exception as error:  # noqa: BLE001 - the reranker can judge the text alone
            reasons.append(f"surroundings_failed: {_short_message(error)}")
            return nothing, nothing

    def _report(self, result: Retrieved, us: float) -> None:
        self.counters.add("retrievals_total", mode=result.mode)
        self.counters.add("retrieval_microseconds_total", us)
        if result.cached:
            self.counters.add("cached_total")
        for reason in result.degraded:
            self.counters.add("degraded_total", reason=reason.partition(":")[0])
        if not self._hooks:
            return
        event = {
            "mode": result.mode,
            "degraded": result.degraded,
            "n_hits": len(result),
            "us": us,
            "cached": result.cached,
            "trace": result.trace.to_dicts(),
        }
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:  # noqa: BLE001 - a hook must not break a retrieval
                self.counters.add("hook_errors_total")


def _variants(request: Request, rewritten: Rewritten) -> list[Words]:
    """Return the verbatim question and its rewritten forms, without duplicates."""
    queries: list[Words] = [(request.text, request.query.keywords)]
    if rewritten.keywords or rewritten.semantic:
        queries.append((rewritten.semantic or request.text, rewritten.keywords or None))
    queries += [(expansion, None) for expansion in rewritten.expansions]
    return list(dict.fromkeys(queries))


def _is_limited(request: Request) -> bool:
    """Whether a filter or ids may be the cause of an empty result."""
    query = request.query
    return request.filter is not None or query.ids is not None or query.exclude is not None


def _passes(reason: str) -> bool:
    """Whether a reason is transient: a failure or delay, not a missing component."""
    return reason.partition(":")[0].endswith(("_failed", "_late"))


def _refuses(query: Query) -> bool:
    """Whether an empty result may be intended."""
    return query.relevance is not None or query.min_score is not None


def _short_message(error: Exception) -> str:
    text = " ".join(str(error).split())
    kind = "" if isinstance(error, Error) else f"{type(error).__name__}: "
    return f"{kind}{text[:300]}" if text else type(error).__name__
