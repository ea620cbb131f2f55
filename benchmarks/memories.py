"""The searched memories, the questions, and their exact answers.

`Memories` are texts and vectors in blocks, one block for each scope; a `Question` is a text and a vector asked from one
of the scopes. `Exact` answers by the documented formulas alone (BM25 as in `tests/reference`, inner products in
float32, reciprocal rank fusion), over the visible documents only; it uses nothing of an index.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.fusion import reciprocal_rank_scores

from benchmarks import vectors as vectors_of
from benchmarks.compare import exact, texts, workload
from benchmarks.compare.workload import Query, Terms
from benchmarks.corpus import Corpus

TENANT = "bench"
LARGE = "large"
RRF_K = 60.0
CANDIDATES = 50
ROWS_A_CALL = 1_000


@dataclass(frozen=True)
class Block:
    """The documents first..last-1, of one scope of the tenant."""

    first: int
    last: int
    user: str | None = None
    agent: str | None = None

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Question:
    """A question, the scope it is asked from, and the documents visible from there (a run of blocks)."""

    query: Query
    vector: vectors_of.Floats
    user: str | None
    agent: str | None
    first: int
    last: int

    @cached_property
    def scope(self) -> Any:
        """Scrubjay's scope of the question; created once, as callers keep it."""
        return scope_of(self)

    def with_vector(self, vector: Any) -> Question:
        """Return the same question with another vector, (dim,)."""
        return replace(self, vector=np.ascontiguousarray(vector, dtype=np.float32))


@dataclass(frozen=True)
class Memories:
    """n texts and n vectors, in blocks that cover them in order. A document's id is its number."""

    source: str
    texts: list[str]
    vectors: vectors_of.Floats
    blocks: list[Block]
    cache_name: str | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def terms(self) -> Terms:
        return workload.terms_of(self.texts, cache_name=self.cache_name)

    def head(self, n_blocks: int) -> Memories:
        """Return the first blocks."""
        n = self.blocks[n_blocks - 1].last
        return replace(self, texts=self.texts[:n], vectors=self.vectors[:n], blocks=self.blocks[:n_blocks])

    def with_vectors(self, given: vectors_of.Floats) -> Memories:
        """Return the same memories with other vectors, (n, dim)."""
        return replace(self, vectors=given)

    def questions(
        self,
        blocks: Sequence[Block],
        n: int,
        *,
        seed: int = 0,
        each: int = 100,
        words: tuple[int, int] | None = None,
    ) -> list[Question]:
        """Return n questions, each near a document: 3 to 8 of its words, and a vector of cosine 0.9.

        Each block asks `each` consecutive questions. `words`: the range of their numbers of words, from the document
        and the documents after it.
        """
        corpus, numbers = Corpus(seed, use_system=False), random.Random(seed)
        asking = [blocks[(place // each) % len(blocks)] for place in range(n)]
        rows = [numbers.randrange(block.first, block.last) for block in asking]
        if words is None:
            asked = [corpus.query(self.texts[row]) for row in rows]
        else:
            asked = [self._words_from(row, numbers.randint(*words)) for row in rows]
        queries = workload.as_queries(asked, self.terms)
        near = vectors_of.near(self.vectors[rows], seed)
        return [
            Question(query, vector, block.user, block.agent, block.first, block.last)
            for query, vector, block in zip(queries, near, asking, strict=True)
        ]

    def _words_from(self, row: int, n_words: int) -> str:
        """Return the first n words from a text on."""
        words: list[str] = []
        while len(words) < n_words:
            words += self.texts[row % len(self.texts)].split() or [""]
            row += 1
        return " ".join(words[:n_words])


def of_users(
    n_users: int,
    each: int,
    large: int,
    dim: int,
    *,
    strangers: int = 0,
    use_system: bool = True,
    seed: int = 0,
) -> Memories:
    """Return one user with `large` memories and n with `each`; then as many strangers, also with `each`."""
    n = large + (n_users + strangers) * each
    source = texts.source(use_system=use_system)
    blocks = [Block(0, large, LARGE)]
    blocks += [
        Block(large + number * each, large + (number + 1) * each, f"u{number}")
        for number in range(n_users + strangers)
    ]
    name = f"{source.fingerprint}-{seed}" if use_system else None
    return Memories(
        source.kind, workload.documents(source, n, seed), vectors_of.clustered(n, dim, seed), blocks, name
    )


def shared(
    tenant: int, user: int, agent: int, dim: int, *, use_system: bool = True, seed: int = 0
) -> Memories:
    """Return the memories of a tenant, of one of its users and of one of its agents, which are searched together."""
    source = texts.source(use_system=use_system)
    n = tenant + user + agent
    blocks = [Block(0, tenant), Block(tenant, tenant + user, "jane"), Block(tenant + user, n, None, "coder")]
    return Memories(
        source.kind, workload.documents(source, n, seed), vectors_of.clustered(n, dim, seed), blocks
    )


class Exact:
    """The exact ranking of each question."""

    def __init__(self, memories: Memories, *, of_peers: bool = False, candidates: int = CANDIDATES) -> None:
        """`of_peers`: use document lengths as seen by a peer, which gets all terms as plain words."""
        self._memories, self._of_peers, self.candidates = memories, of_peers, candidates
        self._formulas: dict[tuple[int, int], exact.Exhaustive] = {}

    def _formula(self, first: int, last: int) -> exact.Exhaustive:
        if (first, last) not in self._formulas:
            terms = self._memories.terms.part(first, last)
            own = exact.Exhaustive(terms)
            self._formulas[first, last] = own.of_peers(terms) if self._of_peers else own
        return self._formulas[first, last]

    def lexical(self, question: Question, k: int) -> NDArray[np.int64]:
        """Return the numbers of the k best by BM25."""
        scores = self._formula(question.first, question.last).scores(question.query)
        return question.first + exact.best(scores, k)

    def nearest(self, question: Question, k: int) -> NDArray[np.int64]:
        """Return the numbers of the k nearest."""
        visible = self._memories.vectors[question.first : question.last]
        return question.first + vectors_of.nearest(visible, question.vector, k)

    def fused(self, question: Question, allowed: NDArray[np.bool_] | None = None) -> dict[int, float]:
        """Return the RRF score by document; only over the `allowed` documents, if given (filter, then rank)."""
        if allowed is None:
            arms = [self.lexical(question, self.candidates), self.nearest(question, self.candidates)]
        else:
            everything = question.last - question.first
            arms = [
                rows[allowed[rows]][: self.candidates]
                for rows in (self.lexical(question, everything), self.nearest(question, everything))
            ]
        return reciprocal_rank_scores([arm.tolist() for arm in arms], [1.0, 1.0], RRF_K)

    def recall(
        self, question: Question, found: Sequence[int], k: int, allowed: NDArray[np.bool_] | None = None
    ) -> float:
        """Return the fraction of the k best that was found; ties with the last of them count as found."""
        scores = self.fused(question, allowed)
        best = sorted(scores.values(), reverse=True)[:k]
        if not best:
            return 1.0
        good = sum(scores.get(document, 0.0) >= best[-1] for document in set(found))
        return min(1.0, good / len(best))

    def mean_recall(
        self,
        found: Sequence[tuple[Question, Sequence[int]]],
        k: int,
        allowed: NDArray[np.bool_] | None = None,
    ) -> float:
        """Return the mean recall over some questions and their results."""
        return float(np.mean([self.recall(question, numbers, k, allowed) for question, numbers in found]))


def scope_of(who: Block | Question) -> Any:
    """Return Scrubjay's scope of a block or a question."""
    import scrubjay

    return scrubjay.Scope(TENANT, user=who.user, agent=who.agent)


def write_blocks(engine: Any, memories: Memories, blocks: Sequence[Block]) -> None:
    """Upsert the documents of some blocks into a scrubjay.Engine, a thousand a call."""
    for block in blocks:
        scope = scope_of(block)
        for first in range(block.first, block.last, ROWS_A_CALL):
            last = min(first + ROWS_A_CALL, block.last)
            engine.upsert_many(
                list(range(first, last)),
                memories.texts[first:last],
                scope=scope,
                vectors=memories.vectors[first:last],
            )
