"""How is an index searched, one question at a time or many?

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.degrade import Plan, damaged, make_plan, make_plans
from scrubjay.entities import named_entities
from scrubjay.filters import FilterLike, Ids, lasting
from scrubjay.fusion import Fusion, Prior, Ranking, Recency, Relevance, as_ranking, weighs_entities
from scrubjay.opening import OpenedIndex
from scrubjay.records import as_scope
from scrubjay.results import Hits

__all__ = ["SearchingIndex"]


class SearchingIndex(OpenedIndex):
    """The part of an index that answers."""

    def search(
        self,
        text: str | bytes | None = None,
        *,
        scope: Scope,
        vector: ArrayLike | None = None,
        keywords: str | bytes | None = None,
        k: int = 10,
        mode: str = "hybrid",
        candidates: int | None = None,
        rrf_k: float | None = None,
        weights: tuple[float, float] | None = None,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exclude_ids: Ids | None = None,
        recall: float | Literal["exact"] | None = None,
        rankings: Sequence[Sequence[str | int]] | None = None,
        fusion: Fusion | Ranking | str | None = None,
        identifier_tier: bool | None = None,
        coverage: float | None = None,
        recency: Recency | bool | None = None,
        entities: Sequence[str] | bool | None = None,
        prior: Prior | bool | None = None,
        mmr: float | None = None,
        min_score: float | None = None,
        relevance: Relevance | str | None = None,
        explain: bool = False,
    ) -> Hits:
        """Return the k best memories that `scope` may see: its own and those shared with it.

        Args:
            text: the question; goes to the embedder and to the keyword ranking.
            scope: who asks. Sees (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent), nothing else.
            vector: (dim,) numbers in place of the text's embedding.
            keywords: replaces the text for the keyword ranking only.
            k: how many hits at most.
            mode: "hybrid" (both rankings, fused), "lexical" or "vector".
            candidates: how many of each ranking are fused; by default the larger of 100 and k.
            filter: conditions on metadata, created_at and expires_at, such as ``{"category": {"$in": ["keys",
                "infra"]}}``; what it does not admit is not ranked (see :mod:`scrubjay.filters`).
            ids, exclude_ids: only these memories; all but these. A set, list, integer array, pyroaring bitmap or
                other iterable of ids; those that do not exist are passed over.
            recall: the share of the truly nearest that the vector ranking should find, in (0, 1]; 0.99 unless given.
                1.0 or "exact" compares every visible vector (see :meth:`Engine.search`).
            rrf_k, weights: plain reciprocal rank fusion, as `Ranking(RRF(rrf_k, weights), identifier_tier=False)`;
                60 and (1, 1) unless given.
            rankings: further rankings of yours (a graph walk, an order by popularity), each a sequence of ids, best
                first; ids that are not visible are passed over.
            fusion: how the rankings become one: :class:`Auto` (also "auto", and the default), :class:`RRF`,
                :class:`Weighted`, :class:`Boost`, :class:`Production`, or a :class:`Ranking` with everything below.
            entities: names of what the question is about; True for every name in its text that memories in sight
                carry. Who names them counts more (:class:`Entities`).
            identifier_tier, coverage, recency, prior, mmr, min_score, relevance: see :class:`Ranking`.
            explain: have BM25, similarity, matched terms and coverage for each hit.

        One of text, vector, keywords must be given. What is missing for the mode degrades the search instead of
        failing it (no embedder, an embedder that raises, no text): `hits.mode` says what ran, `hits.degraded` why.

        Ties: score descending, then tenant before user before agent memories, then the order of writing.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert(7, "Sails on Saturdays", scope=Scope("acme"), vector=[1.0, 0.0])
        >>> hit = index.search("sailing", vector=[0.6, 0.8], scope=Scope("acme"), explain=True)[0]
        >>> hit.id, hit.lexical_rank, hit.vector_rank, hit.matched_terms, round(hit.cosine, 2)
        (7, 1, 1, ['sail'], 0.6)
        """
        named = None if entities is None else named_entities(entities, text, keywords)
        ranking = as_ranking(
            fusion,
            rrf_k is not None or weights is not None,
            identifier_tier=identifier_tier,
            coverage=coverage,
            recency=recency,
            entities=None if named is None or weighs_entities(fusion) else True,
            prior=prior,
            mmr=mmr,
            min_score=min_score,
            relevance=relevance,
        )
        generation = self._generation
        ids, exclude_ids = lasting(ids), lasting(exclude_ids)
        embeds = vector is None and text is not None and mode != "lexical"
        if embeds and keywords is None and (native := self._semantics.native) is not None:
            plan = Plan(mode, text, None, (), native)
        elif embeds and text is not None:
            embedded, degraded = self._semantics.query(text)
            embeds = embedded is not None
            plan = make_plan(mode, text, embedded, keywords, degraded)
        else:
            plan = make_plan(mode, text, vector, keywords, ())
        if self._expiry.pending:
            self._expiry.remove_due()
        # Seldom given, and a microsecond to hand on.
        options: dict[str, Any] = {}
        plain = (
            candidates is None and rrf_k is None and weights is None and rankings is None and ranking is None
        )
        if (
            not plain
            or filter is not None
            or ids is not None
            or exclude_ids is not None
            or explain
            or recall is not None
        ):
            options = {
                "candidates": candidates,
                "rrf_k": rrf_k,
                "weights": weights,
                "filter": filter,
                "ids": ids,
                "exclude_ids": exclude_ids,
                "recall": recall,
                "rankings": rankings,
                "fusion": ranking,
                "explain": explain,
                "entities": named,
            }
        try:
            result = self._engine.search(
                plan.lexical_text,
                vector=plan.vector,
                scope=scope,
                k=k,
                mode=plan.mode,
                embedder=plan.embedder,
                **options,
            )
        except ValueError:
            if self._generation == generation or not embeds:
                raise
            result = None
        if result is None or (embeds and self._generation != generation):
            # Another process changed the model while the text was embedded with the old one.
            return self.search(
                text,
                scope=scope,
                keywords=keywords,
                k=k,
                mode=mode,
                candidates=candidates,
                rrf_k=rrf_k,
                weights=weights,
                filter=filter,
                ids=ids,
                exclude_ids=exclude_ids,
                recall=recall,
                rankings=rankings,
                fusion=ranking,
                entities=named,
                explain=explain,
            )
        if self._residency.n_damaged:
            plan = damaged(plan, self._residency.damage(scope))
        return Hits(result, plan.degraded, explain)

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        keywords: Sequence[str | bytes | None] | None = None,
        k: int = 10,
        mode: str = "hybrid",
        candidates: int | None = None,
        rrf_k: float | None = None,
        weights: tuple[float, float] | None = None,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exclude_ids: Ids | None = None,
        recall: float | Literal["exact"] | None = None,
        rankings: Sequence[Sequence[Sequence[str | int]] | None] | None = None,
        fusion: Fusion | Ranking | str | None = None,
        entities: Sequence[Sequence[str] | bool | None] | bool | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> list[Hits]:
        """Answer several questions at once: embedded in one call of the embedder, searched on `threads` threads
        (None: as many as the machine has cores, which is also the most).

        `texts`, `vectors` (n, dim), `keywords`, `rankings` and `entities` have one entry a question (None where it has
        none), `scope` is one for all or one each; `entities` may be True for all. Questions with rankings of yours are
        searched one after another. The other arguments (one for all) and each of the results are those of
        :meth:`search`.
        """
        ranking = as_ranking(
            fusion,
            rrf_k is not None or weights is not None,
            entities=None if not entities or weighs_entities(fusion) else True,
        )
        for name, given in (("texts", texts), ("keywords", keywords)):
            if isinstance(given, (str, bytes)):
                raise TypeError(f"{name}: expected a sequence of str, got one {type(given).__name__}")
        questions: list[Any] = [given for given in (texts, vectors, keywords) if given is not None]
        if not questions:
            raise ValueError("texts, vectors, keywords: expected at least one of them")
        if rankings is not None:
            questions.append(rankings)
        if not isinstance(scope, Scope):
            scope = [as_scope(one) for one in scope]
            questions.append(scope)
        n_questions = len(questions[0])
        if any(len(given) != n_questions for given in questions):
            lengths = ", ".join(str(len(given)) for given in questions)
            raise ValueError(
                f"texts, vectors, keywords, rankings, scope: expected equal lengths, got {lengths}"
            )
        nothing: list[None] = [None] * n_questions
        named: list[Sequence[str]] | None = None
        if entities:
            asked = [entities] * n_questions if isinstance(entities, bool) else list(entities)
            if len(asked) != n_questions:
                raise ValueError(f"entities: expected one entry a question, {n_questions}, got {len(asked)}")
            named = [
                named_entities(one, text, keyword) or ()
                for one, text, keyword in zip(asked, texts or nothing, keywords or nothing, strict=True)
            ]
        generation = self._generation
        ids, exclude_ids = lasting(ids), lasting(exclude_ids)
        plans = make_plans(
            self._semantics,
            mode,
            nothing if texts is None else texts,
            nothing if vectors is None else vectors,
            nothing if keywords is None else keywords,
        )
        found: list[Hits | None] = list(nothing)
        self._expiry.remove_due()
        options: dict[str, Any] = {
            "k": k,
            "candidates": candidates,
            "rrf_k": rrf_k,
            "weights": weights,
            "filter": filter,
            "ids": ids,
            "exclude_ids": exclude_ids,
            "recall": recall,
            "fusion": ranking,
            "explain": explain,
        }

        def again() -> list[Hits]:
            """Another process changed the model while the texts were embedded with the old one."""
            return self.search_batch(
                texts,
                scope=scope,
                vectors=vectors,
                keywords=keywords,
                mode=mode,
                rankings=rankings,
                entities=named,
                threads=threads,
                **options,
            )

        def run(rows: list[int], run_mode: str, embedder: Any) -> list[Any]:
            """Search some of the questions, those with rankings of the caller's one by one."""
            scopes = [scope if isinstance(scope, Scope) else scope[row] for row in rows]
            if len(rows) == 1 and rankings is not None and rankings[rows[0]] is not None:
                plan = plans[rows[0]]
                return [
                    self._engine.search(
                        plan.lexical_text,
                        vector=plan.vector,
                        scope=scopes[0],
                        mode=run_mode,
                        embedder=embedder,
                        rankings=rankings[rows[0]],
                        entities=None if named is None else named[rows[0]],
                        **options,
                    )
                ]
            return self._engine.search_batch(
                [plans[row].lexical_text for row in rows],
                vectors=[plans[row].vector for row in rows],
                scope=scope if isinstance(scope, Scope) else scopes,
                mode=run_mode,
                threads=threads,
                embedder=embedder,
                entities=None if named is None else [named[row] for row in rows],
                **options,
            )

        groups: dict[Any, list[int]] = {}
        for row, plan in enumerate(plans):
            alone = row if rankings is not None and rankings[row] is not None else None
            groups.setdefault((plan.mode, plan.embedder, alone), []).append(row)
        for (run_mode, embedder, _), rows in groups.items():
            try:
                results = run(rows, run_mode, embedder)
            except ValueError:
                if self._generation == generation:
                    raise
                return again()
            if self._generation != generation:
                return again()
            for row, result in zip(rows, results, strict=True):
                plan = plans[row]
                if self._residency.n_damaged:
                    plan = damaged(
                        plan, self._residency.damage(scope if isinstance(scope, Scope) else scope[row])
                    )
                found[row] = Hits(result, plan.degraded, explain)
        return [hits for hits in found if hits is not None]
