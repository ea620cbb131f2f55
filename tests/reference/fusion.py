"""Fusion of several rankings. The twin of `cpp/src/fusion`: each formula over plain lists and dicts.

[CCB09] Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods,
SIGIR 2009: score(d) = sum over rankings of 1 / (k + rank(d)); here with a weight per ranking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Id = TypeVar("Id", bound=Hashable)

LEAST_DEVIATION = 0.2
"""Lower bound of the deviation of BM25 in a scope."""
FIRST, FIRST_K = 4.0, 2.0
"""Added by "auto" for a place in either ranking: FIRST / (FIRST_K + place)."""
NEAR, NEAR_K = 30.0, 60.0
"""Added by "auto" for a place in the vector ranking, in addition."""
PLACES, MOST_NEAR, FAR_OUT, COMPARED = 10, 3, 2.75, 100
"""Guaranteed by "auto": the first places, for how many of the nearest, from how many deviations above the mean, of how
many of the vector ranking."""


def reciprocal_rank_scores(
    rankings: Sequence[Sequence[Id]], weights: Sequence[float], rrf_k: float
) -> dict[Id, float]:
    """Return the RRF scores of every document of any ranking, added in the order of the rankings; ranks start at 1."""
    scores: dict[Id, float] = {}
    for ranking, ranking_weight in zip(rankings, weights, strict=True):
        for rank, document in enumerate(ranking, start=1):
            scores[document] = scores.get(document, 0.0) + ranking_weight / (rrf_k + rank)
    return scores


@dataclass(frozen=True)
class Options:
    """The options of `scrubjay.Query` as flat fields, with the names of the native form."""

    method: str = "auto"
    rrf_k: float = 60.0
    weights: tuple[float, ...] = (1.0, 1.0)
    normalise: str = "zscore"
    boost: float = 0.3
    gate: float = 0.0
    floor: float = 0.4
    literal: bool = False
    guarantee: bool = True
    identifier_tier: bool = True
    spelling: bool = True
    coverage: float = 0.0
    recency: float = 0.0
    half_life_us: float = 168 * 3600e6
    now_us: int | None = None
    entities: float = 0.0
    entity_field: str = "entities"
    dates: float = 6.0
    dates_now_us: int | None = None
    neighbours: float = 0.2
    prior: float = 0.0
    prior_field: str = "importance"
    mmr: float | None = None
    min_score: float | None = None
    relevance: str | None = None
    relevance_bounds: tuple[tuple[float, float], ...] = ((0.3, 0.3), (0.5, 0.5), (0.7, 0.7))

    @property
    def has_signals(self) -> bool:
        return (self.coverage, self.recency, self.entities, self.prior) != (0, 0, 0, 0)

    @property
    def adjusts(self) -> bool:
        return (
            self.has_signals
            or self.mmr is not None
            or self.min_score is not None
            or self.relevance is not None
        )


PLAIN = Options("rrf", identifier_tier=False, spelling=False)


@dataclass
class Found(Generic[Id]):
    """The results of both retrievers, and further scores of documents."""

    lexical: Sequence[Id]
    nearest: Sequence[Id]
    rankings: Sequence[Sequence[Id]]
    bm25: dict[Id, float]
    """Scores of the documents in `lexical`, and of documents with an identifier."""
    similarity: dict[Id, float]
    """Similarities of the documents in `nearest`, and of others if the method needs them; "auto" needs both of all."""
    holders: dict[Id, int] = field(default_factory=dict)
    """The documents of the identifier tier, with the number of identifiers in each."""
    n_terms: int = 0
    scale: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Distribution of scores in the scope: the deviation of BM25, the mean and the deviation of the similarities."""
    parts: dict[Id, dict[str, float]] = field(default_factory=dict)
    """Filled by `fused_scores`: the summands of each score, as "words", "meaning", "rankings"."""

    @property
    def documents(self) -> list[Id]:
        return list(
            dict.fromkeys(
                [*self.lexical, *self.nearest, *self.holders, *(d for r in self.rankings for d in r)]
            )
        )


@dataclass(frozen=True)
class Spread:
    """Mean, deviation, least and greatest of a ranking's scores, with zeros appended."""

    mean: float = 0.0
    deviation: float = 0.0
    least: float = 0.0
    greatest: float = 0.0

    @classmethod
    def of(cls, scores: Sequence[float], n_zeros: int) -> Spread:
        if not scores:
            return cls()
        values = [*scores, *([0.0] * n_zeros)]
        total = 0.0
        for value in values:  # sum() compensates rounding; the definition does not
            total += value
        mean = total / len(values)
        squares = 0.0
        for value in values:
            squares += (value - mean) * (value - mean)
        return cls(mean, math.sqrt(squares / len(values)), values[-1], values[0])

    def zscore(self, score: float) -> float:
        return (score - self.mean) / self.deviation if self.deviation > 0 else 0.0


def agreement(found: Found[Id]) -> float:
    """Return the mean of 1/sqrt(rank of a ranking's first document in the other ranking)."""
    if not found.lexical or not found.nearest:
        return 0.0
    return (
        _root_reciprocal(found.lexical[0], found.nearest) + _root_reciprocal(found.nearest[0], found.lexical)
    ) / 2


def _root_reciprocal(document: Id, ranking: Sequence[Id]) -> float:
    return 1 / math.sqrt(list(ranking).index(document) + 1) if document in ranking else 0.0


def far_out(z: float) -> float:
    """Return the score for a distance of z deviations above the mean."""
    return z * math.sqrt(math.sqrt(z)) if z > 0 else z


def places(ranking: Sequence[Id], scores: Mapping[Id, float]) -> dict[Id, int]:
    """Return the place of each document: one more than the number of higher scores; equal scores share a place."""
    found: dict[Id, int] = {}
    for rank, document in enumerate(ranking, start=1):
        before = ranking[rank - 2] if rank > 1 else document
        tied = rank > 1 and scores[document] == scores[before]
        found[document] = found[before] if tied else rank
    return found


def sure_of(found: Found[Id], own_similarity: Mapping[Id, float]) -> list[Id]:
    """Return the documents that "auto" guarantees a place: the first by words, and of the three nearest those that
    stand out in the vector ranking; documents with equal scores together or not at all."""
    sure: list[Id] = []
    by_words, by_nearness = places(found.lexical, found.bm25), places(found.nearest, found.similarity)
    if list(by_words.values()).count(1) == 1:
        sure.append(found.lexical[0])
    compared = sorted((own_similarity[document] for document in found.nearest), reverse=True)[:COMPARED]
    total = squares = 0.0
    for similarity in compared:
        total += similarity - compared[-1]
        squares += (similarity - compared[-1]) * (similarity - compared[-1])
    n = max(len(compared), 1)
    variance = squares / n - (total / n) * (total / n)
    bound = total / n + FAR_OUT * math.sqrt(max(variance, 0.0))
    for document in found.nearest[:MOST_NEAR] if variance > 0 else ():
        cut = [d for d in found.nearest[MOST_NEAR:] if by_nearness[d] == by_nearness[document]]
        if not cut and own_similarity[document] - compared[-1] >= bound:
            sure.append(document)
    return [document for document in dict.fromkeys(sure) if document not in found.holders]


def raised(
    scores: Mapping[Id, float],
    sure: Sequence[Id],
    holders: Collection[Id],
    place: Mapping[Id, int],
    by_nearness: Mapping[Id, int],
) -> dict[Id, float]:
    """Return new scores for the documents of `sure`, so that they are among the first ten; {} if they are.

    `place` orders equal scores, `by_nearness` the documents that are raised. Only ten minus the guaranteed documents
    and the identifier tier may precede them.
    """

    def first(documents: Collection[Id]) -> list[Id]:
        return sorted(documents, key=lambda d: (-scores[d], place[d]))

    others = first([document for document in scores if document not in sure and document not in holders])
    n_before = max(PLACES - len(sure) - len(holders), 0)
    order = first(sure)
    if len(others) <= n_before or not sure or first([order[-1], others[n_before]])[0] == order[-1]:
        return {}
    levels = [scores[others[n_before]]]
    for _ in range(1 + MOST_NEAR):
        levels.append(math.nextafter(levels[-1], math.inf))
    below = [document for document in sure if scores[document] <= levels[-1]]
    farthest_first = sorted({by_nearness.get(document, math.inf) for document in below}, reverse=True)
    level_of = dict(zip(farthest_first, levels[1:], strict=False))
    return {document: level_of[by_nearness.get(document, math.inf)] for document in below}


def logistic(bm25: float, n_terms: int) -> float:
    """Return the logistic score with midpoint and slope by the query's length, as in production memory systems."""
    for limit, midpoint, slope in ((3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5)):
        if n_terms <= limit:
            return 1 / (1 + math.exp(-slope * (bm25 - midpoint)))
    return 1 / (1 + math.exp(-0.5 * (bm25 - 12.0)))


def fused_scores(options: Options, found: Found[Id]) -> tuple[dict[Id, float], set[Id], float]:
    """Return the scores of all documents, those that the method refuses, and the lexical share (NaN unless "auto")."""
    share = math.nan
    lexical_weight, vector_weight = options.weights[:2]
    refused: set[Id] = set()
    if options.method == "rrf":
        weights = [*options.weights, *([1.0] * len(found.rankings))][: 2 + len(found.rankings)]
        scores = reciprocal_rank_scores(
            [found.lexical, found.nearest, *found.rankings], weights, options.rrf_k
        )
        for document in found.documents:
            each = [
                weight / (options.rrf_k + listed.index(document) + 1) if document in listed else 0.0
                for listed, weight in zip(
                    (found.lexical, found.nearest, *found.rankings), weights, strict=True
                )
            ]
            found.parts[document] = _parts(each[0], each[1], sum(each[2:]))
        return {d: scores.get(d, 0.0) for d in found.documents}, refused, share
    lexical = Spread.of([found.bm25[d] for d in found.lexical], 1)
    nearest = Spread.of([found.similarity[d] for d in found.nearest], 0)
    greatest = lexical.greatest
    scores = {}
    by_words: dict[Id, int] = {}
    by_nearness: dict[Id, int] = {}
    if options.method == "auto":
        share = 0.6 - 0.1 * agreement(found)
        by_words = places(found.lexical, found.bm25)
        by_nearness = places(found.nearest, found.similarity)
    lexical_deviation, mean, deviation = found.scale
    for document in found.documents:
        bm25 = found.bm25.get(document, 0.0)
        known = found.similarity.get(document)
        in_nearest = document in found.nearest
        near = found.similarity[document] if in_nearest else nearest.least
        of_greatest = bm25 / greatest if greatest > 0 else 0.0
        if options.method == "auto":
            words = share * (bm25 / max(lexical_deviation, LEAST_DEVIATION))
            if document in by_words:
                words += FIRST / (FIRST_K + by_words[document])
            similarity = nearest.least if known is None else known
            far = far_out((similarity - mean) / deviation) if found.nearest and deviation > 0 else 0.0
            meaning = (1.0 - share) * far
            if document in by_nearness:
                place = by_nearness[document]
                meaning += FIRST / (FIRST_K + place) + NEAR / (NEAR_K + place)
            score = words + meaning
        elif options.method == "weighted" and options.normalise == "zscore":
            words, meaning = lexical_weight * lexical.zscore(bm25), vector_weight * nearest.zscore(near)
            score = words + meaning
        elif options.method == "weighted":
            of_bm25, of_similarity = {
                "minmax": (of_greatest, _minmax(near, nearest) if in_nearest else 0.0),
                "max": (of_greatest, near / nearest.greatest if nearest.greatest > 0 else 0.0),
                "logistic": (logistic(bm25, found.n_terms), min(max(near, 0.0), 1.0)),
            }[options.normalise]
            words = lexical_weight * of_bm25 if found.lexical else 0.0
            meaning = vector_weight * of_similarity if found.nearest else 0.0
            score = words + meaning
        elif options.method == "boost":
            by_logistic = logistic(bm25, found.n_terms) if bm25 > 0 else 0.0
            of_bm25 = by_logistic if options.normalise == "logistic" else of_greatest
            words, meaning = options.boost * of_bm25, 0.0 if known is None else known
            score = meaning + words
            if found.nearest and document not in found.holders and (known is None or known < options.gate):
                refused.add(document)
        else:
            similarity = 0.0 if known is None else max(known, 0.0)
            words, meaning = lexical_weight * of_greatest, vector_weight * similarity
            score = meaning + words
            if options.literal:
                if not in_nearest:
                    words = meaning = score = 0.0
                elif document not in found.lexical:
                    words, meaning = 0.0, similarity
                    score = similarity
            below = score < options.floor if options.literal else max(similarity, of_greatest) < options.floor
            if below:
                refused.add(document)
        scores[document] = score
        found.parts[document] = _parts(words, meaning, 0.0)
    for ranking, weight in zip(
        found.rankings, [*options.weights[2:], *([1.0] * len(found.rankings))], strict=False
    ):
        for rank, document in enumerate(ranking, start=1):
            scores[document] += weight * 11.0 / (10.0 + rank)
            found.parts[document]["rankings"] += weight * 11.0 / (10.0 + rank)
    return scores, refused, share


def _parts(words: float, meaning: float, rankings: float) -> dict[str, float]:
    return {"words": words + 0.0, "meaning": meaning + 0.0, "rankings": rankings}  # turns -0.0 into 0.0


def _minmax(score: float, spread: Spread) -> float:
    if spread.greatest > spread.least:
        return (score - spread.least) / (spread.greatest - spread.least)
    return 1.0


def marginal_relevance(
    documents: Sequence[Id],
    relevance: Sequence[float],
    trade_off: float,
    k: int,
    similarity: Callable[[Id, Id], float],
    n_first: int = 0,
) -> list[Id]:
    """[Carbonell and Goldstein, SIGIR 1998] Greedy; the first `n_first` documents are taken in the given order."""
    taken = list(documents[: min(n_first, k)])
    left = list(range(n_first, len(documents)))
    while left and len(taken) < k:

        def value(place: int) -> float:
            nearest = max([0.0, *(similarity(documents[place], other) for other in taken)])
            return trade_off * relevance[place] - (1 - trade_off) * nearest

        best = max(left, key=lambda place: (value(place), -place))
        taken.append(documents[best])
        left.remove(best)
    return taken
