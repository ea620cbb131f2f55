"""Ranking of the retrievers' candidates. The twin of `cpp/src/engine/ranking.cpp`.

`Evidence` has everything that a ranking may know; equal scores are ordered by the documents' position in `order`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from tests.reference import bm25, filters, neighbours
from tests.reference.analyzer import stem_english
from tests.reference.dates import Dates
from tests.reference.fusion import (
    Found,
    Id,
    Options,
    fused_scores,
    marginal_relevance,
    places,
    raised,
    sure_of,
)
from tests.reference.identifiers import MOST_VISITED, Identifiers, rare_limit, rarest
from tests.reference.identifiers import identifiers as query_identifiers
from tests.reference.word_forms import StandsFor

MOST_NEW_HOLDERS = 100
SHARE_OF_BEST = 0.55
PARTS = (
    "words",
    "meaning",
    "rankings",
    "guarantee",
    "dates",
    "scaling",
    "coverage",
    "recency",
    "entities",
    "prior",
    "identifier",
)
TIERS = ("low", "standard", "high")


@dataclass
class Evidence(Generic[Id]):
    """The evidence about the query and about each visible document."""

    order: Sequence[Id]
    """The candidates; equal scores are ordered by this order."""
    tokens: Sequence[tuple[str, str]]
    """(term, kind) of the query; empty if the lexical retriever does not run."""
    terms_of: Callable[[Id], set[str]]
    bm25: dict[Id, float]
    """BM25 of every document with a term of the query."""
    similarity: dict[Id, float]
    """Similarity of every document with a vector; empty if the vector retriever does not run."""
    cosine: Callable[[Id, Id], float]
    """Cosine of the stored vectors of two documents; 0 if either has none."""
    attributes: Callable[[Id], filters.Attributes] = lambda _: {}
    """The fields of a document that filters can test."""
    entities: Sequence[str] = ()
    """The entities of the query."""
    spread: tuple[float, float] = (math.nan, math.nan)
    """Mean and deviation of the similarities of a sample of the visible documents."""
    function_words: Mapping[str, float] = field(default_factory=dict)
    """Terms that weigh little, with the maximum idf of each."""
    visible: Sequence[Id] | None = None
    """All visible documents; `order` has those that a filter admits. None: it admits all."""
    dates: Dates | None = None
    """The dates in the question, if they count."""
    home_of: Callable[[Id], Hashable] = lambda _: None
    """The exact scope of a document."""
    turns: bool = False
    """Whether the turns beside a turn count."""
    stands_for: Mapping[str, StandsFor] = field(default_factory=dict)
    """Compounds and parts of compounds that stand for terms of the query."""

    @property
    def counted(self) -> Sequence[Id]:
        """The documents over which statistics are computed."""
        return self.order if self.visible is None else self.visible


@dataclass(frozen=True)
class Ranked(Generic[Id]):
    document: Id
    score: float
    identifier: bool
    parts: dict[str, float] = field(default_factory=dict)
    """The summands of the score, by the names in `PARTS`."""


def alone(score: float, arm: str) -> dict[str, float]:
    """Return the parts of a score from the only retriever ("words", "meaning") that ran."""
    return {part: score if part == arm else 0.0 for part in PARTS}


def document_frequency(term: str, evidence: Evidence[Id]) -> int:
    return sum(term in evidence.terms_of(document) for document in evidence.counted)


def identifiers(evidence: Evidence[Id]) -> Identifiers:
    """Return the identifiers in the query (see tests/reference/identifiers.py)."""
    n_documents, counts = len(evidence.counted), Counter(term for term, _ in evidence.tokens)
    frequency = {term: document_frequency(term, evidence) for term in counts}
    mass = {
        term: count * (bm25.idf(n_documents, frequency[term]) if frequency[term] else 0.0)
        for term, count in counts.items()
    }
    return query_identifiers(evidence.tokens, frequency, mass, n_documents)


def lexical_deviation(evidence: Evidence[Id]) -> float:
    """Return the deviation of BM25 in the scope, assuming that terms occur independently of each other."""
    n_documents, variance = len(evidence.counted), 0.0
    for term, count in Counter(term for term, _ in evidence.tokens).items():
        frequency = document_frequency(term, evidence)
        if frequency == 0:
            continue
        idf = bm25.idf(n_documents, frequency)
        worth = idf
        if term in evidence.function_words:
            worth = min(idf, evidence.function_words[term])
        elif (other := evidence.stands_for.get(term)) is not None:
            frequency_of_other = document_frequency(other.term, evidence)
            worth = other.worth(
                idf, bm25.idf(n_documents, frequency_of_other) if frequency_of_other else None
            )
        weight = count * worth
        held = frequency / n_documents
        variance += weight * weight * held * (1.0 - held)
    return math.sqrt(variance)


def complete(found: Found[Id], evidence: Evidence[Id]) -> None:
    """Give every document the scores of both retrievers; a similarity added here is at most the least ranked one."""
    spread = evidence.spread if found.nearest and math.isfinite(evidence.spread[1]) else (0.0, 0.0)
    found.scale = (lexical_deviation(evidence), *spread)
    for document in found.documents:
        found.bm25.setdefault(document, evidence.bm25.get(document, 0.0))
        if found.nearest and document in evidence.similarity and document not in found.similarity:
            least = found.similarity[found.nearest[-1]]
            found.similarity[document] = min(evidence.similarity[document], least)


def coverage(document: Id, evidence: Evidence[Id]) -> float:
    """Return the share of the query's counting terms in a document, weighted by idf; NaN without such terms."""
    n_documents = len(evidence.counted)
    counting = {term for term, kind in evidence.tokens if kind in ("word", "part")}
    total = present = 0.0
    for term in dict.fromkeys(term for term, _ in evidence.tokens):
        weight = bm25.idf(n_documents, document_frequency(term, evidence)) if term in counting else 0.0
        total += weight
        if term in evidence.terms_of(document):
            present += weight
    return present / total if total > 0 else math.nan


def recency(document: Id, evidence: Evidence[Id], options: Options) -> float:
    """Return the recency signal: halved with every half-life; 0 without a time, 1 for a time in the future."""
    created = evidence.attributes(document).get("created_at")
    created_us = filters.instant_of(created) if isinstance(created, str) else created
    if not isinstance(created, (str, filters.Time)) or created_us is None:
        return 0.0
    assert options.now_us is not None, "the twin has no clock"
    return 2.0 ** -(max(options.now_us - created_us, 0) / options.half_life_us)


def entity_boost(document: Id, evidence: Evidence[Id], options: Options) -> float:
    """Return the largest damped boost among the query's entities that a document names."""

    def named(document: Id) -> list[str]:
        listed = evidence.attributes(document).get(options.entity_field)
        return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []

    boosts = [0.0]
    for entity in evidence.entities:
        if entity in named(document):
            n_links = sum(entity in named(other) for other in evidence.counted)
            boosts.append(1 / (1 + 0.001 * float((n_links - 1) * (n_links - 1))))
    return max(boosts)


def prior(document: Id, evidence: Evidence[Id], options: Options) -> float:
    """Return the number in a document's field of priors; 0 without one."""
    value = evidence.attributes(document).get(options.prior_field)
    is_number = isinstance(value, (int, float)) and not isinstance(value, (bool, filters.Time))
    return float(value) if is_number else 0.0


def time_of(document: Id, evidence: Evidence[Id]) -> int | None:
    """Return the begin of a document's validity, or else its creation time, in microseconds since 1970."""
    attributes = evidence.attributes(document)
    begin = attributes.get("valid_from")
    if isinstance(begin, int) and not isinstance(begin, (bool, filters.Time)):
        return begin
    if isinstance(begin, str) and (instant := filters.instant_of(begin)) is not None:
        return instant
    created = attributes.get("created_at")
    return filters.instant_of(created) if isinstance(created, str) else created


def date_gains(
    evidence: Evidence[Id],
    dates: Dates,
    scores: dict[Id, float],
    refused: set[Id],
    lexical: Sequence[Id],
    bm25_of: dict[Id, float],
    options: Options,
) -> dict[Id, float]:
    """Return the score that the question's dates add to each candidate (see cpp/src/engine/date_signal.hpp)."""
    counted = [score for document, score in scores.items() if document not in refused]
    total = squares = 0.0
    for score in counted:
        total += score
    mean = total / len(counted) if counted else 0.0
    for score in counted:
        squares += (score - mean) * (score - mean)
    deviation = math.sqrt(squares / len(counted)) if counted else 0.0
    unit = options.dates * (1.0 if counted and min(counted) == max(counted) else deviation)
    if not math.isfinite(unit):
        return {}
    times = {document: time_of(document, evidence) for document in scores}
    terms = {term for term, _ in evidence.tokens}
    boosts = dict.fromkeys(scores, 0.0)
    known_times = [time_us for time_us in times.values() if time_us is not None]
    for window in dates.windows:
        written = [{word, stem_english(word)} & terms for word in window.terms]
        known = window.is_known(known_times)
        for document, time_us in times.items():
            if known and time_us is not None:
                boosts[document] = max(boosts[document], window.match(time_us))
            if written and all(words & evidence.terms_of(document) for words in written):
                boosts[document] = 1.0
    if dates.latest and lexical:
        least = SHARE_OF_BEST * bm25_of[lexical[0]]
        states = {d: times[d] for d in lexical if times[d] is not None and bm25_of[d] >= least}
        for document, time_us in states.items():
            n_older = sum(other < time_us for other in states.values())  # type: ignore[operator]
            if len(states) > 1:
                boosts[document] = max(boosts[document], 0.5 * (n_older / (len(states) - 1)))
    return {document: unit * boost for document, boost in boosts.items()}


def relevance(document: Id, identifier: bool, evidence: Evidence[Id], options: Options) -> int:
    """Return 0 for no relevance, otherwise the position of the tier from 1."""
    if identifier:
        return len(TIERS)
    covered = coverage(document, evidence)
    similarity = evidence.similarity.get(document, math.nan)
    for tier in range(len(TIERS), 0, -1):
        bound = options.relevance_bounds[tier - 1]
        if similarity >= bound[0] or covered >= bound[1]:
            return tier
    return 0


def rank(
    evidence: Evidence[Id],
    lexical: Sequence[Id],
    nearest: Sequence[Id],
    rankings: Sequence[Sequence[Id]],
    options: Options,
    *,
    fused: bool,
    k: int,
    depth: int,
    fuse: Callable[[Options, Found[Id]], tuple[dict[Id, float], set[Id], float]] = fused_scores,
) -> tuple[list[Ranked[Id]], float]:
    """Return the hits, and the lexical share (NaN unless the fusion is automatic)."""
    place = {document: index for index, document in enumerate(evidence.order)}
    found = Found(
        lexical,
        nearest,
        rankings,
        {document: evidence.bm25[document] for document in lexical},
        {document: evidence.similarity[document] for document in nearest},
        n_terms=len({term for term, _ in evidence.tokens}),
    )
    if evidence.turns:
        neighbours.apply(evidence, found, options.neighbours)  # sorts the lists in place
    share = math.nan
    if fused:
        if options.identifier_tier:
            found.holders = holders(evidence, [*lexical, *nearest])
            for document in found.holders:
                found.bm25.setdefault(document, evidence.bm25[document])
        corrected = options.method == "production" and not options.literal
        if nearest and (options.method == "boost" or corrected):
            for document in set(lexical) | set(found.holders):
                if document in evidence.similarity:
                    found.similarity[document] = evidence.similarity[document]
        if options.method == "auto":
            complete(found, evidence)
        scores, refused, share = fuse(options, found)
    else:
        scores = dict(found.bm25 if lexical else found.similarity)
        refused = set()
        found.parts.update({d: alone(scores[d], "words" if lexical else "meaning") for d in scores})
    parts = {document: {**alone(0.0, "words"), **found.parts.get(document, {})} for document in scores}
    if fused and options.method == "auto" and options.guarantee:
        admitted = {document: score for document, score in scores.items() if document in place}
        sure = sure_of(found, evidence.similarity)
        for document, score in raised(
            admitted, sure, found.holders, place, places(found.nearest, found.similarity)
        ).items():
            parts[document]["guarantee"] = score - scores[document]
            scores[document] = score
    if evidence.dates is not None:
        for document, gain in date_gains(
            evidence, evidence.dates, scores, refused, lexical, found.bm25, options
        ).items():
            scores[document] += gain
            parts[document]["dates"] = gain
    in_tier = found.holders

    def best(documents: Sequence[Id], n: int) -> list[Id]:
        return sorted(documents, key=lambda d: (-in_tier.get(d, 0), -scores[d], place[d]))[:n]

    hits = [document for document in scores if document in place and document not in refused]
    if options.adjusts:
        hits = best(hits, depth)
        if options.has_signals:
            before = [scores[document] for document in hits]
            for document, value in zip(hits, scale(before), strict=True):
                scale_parts(parts[document], scores[document], before)
                signals = {}
                covered = coverage(document, evidence)
                if not math.isnan(covered) and options.coverage != 0:
                    signals["coverage"] = options.coverage * covered
                if options.recency != 0:
                    signals["recency"] = options.recency * recency(document, evidence, options)
                if options.entities != 0:
                    signals["entities"] = options.entities * entity_boost(document, evidence, options)
                if options.prior != 0:
                    worth = options.prior * prior(document, evidence, options)
                    signals["prior"] = min(max(worth, -1e100), 1e100)
                for part, signal in signals.items():
                    value += signal
                    parts[document][part] += signal
                scores[document] = value
        if options.min_score is not None:
            hits = [document for document in hits if scores[document] >= options.min_score]
        if options.relevance is not None:
            least = TIERS.index(options.relevance) + 1
            hits = [d for d in hits if relevance(d, d in in_tier, evidence, options) >= least]
    remaining = [scores[document] for document in hits]
    of_tier = [scores[document] for document in hits if document in in_tier]
    bonus = 1.0 + (max(remaining) - min(of_tier)) if of_tier else 0.0
    hits = best(hits, k if options.mmr is None else depth)
    if options.mmr is not None:
        scaled = scale([scores[document] for document in hits])
        n_first = sum(document in in_tier for document in hits)
        hits = marginal_relevance(hits, scaled, options.mmr, k, evidence.cosine, n_first)
    for document in in_tier.keys() & set(hits):
        parts[document]["identifier"] = bonus * in_tier[document]
    return [
        Ranked(d, scores[d] + bonus * in_tier[d] if d in in_tier else scores[d], d in in_tier, parts[d])
        for d in hits
    ], share


def scale(scores: Sequence[float]) -> list[float]:
    """Scale scores to 0..1; equal scores become 1."""
    if not scores:
        return []
    least, greatest = min(scores), max(scores)
    if greatest == least:
        return [1.0] * len(scores)
    return [(score - least) / (greatest - least) for score in scores]


def scale_parts(parts: dict[str, float], score: float, scores: Sequence[float]) -> None:
    """Scale the parts of one of the scores as `scale` does."""
    least, greatest = min(scores), max(scores)
    if greatest == least:
        parts["scaling"] = 1.0 - score
        return
    for part in ("words", "meaning", "rankings", "guarantee", "dates"):
        parts[part] /= greatest - least
    parts["scaling"] = -least / (greatest - least)


def holders(evidence: Evidence[Id], candidates: Sequence[Id]) -> dict[Id, int]:
    """Return the documents of the identifier tier, with the number of the query's identifiers in each, at least 1; at
    most a hundred of them outside of the retrievers' candidates."""
    found: dict[Id, int] = {}
    n_new = 0
    query = identifiers(evidence)

    def held(document: Id) -> int:
        return max(query.held(evidence.terms_of(document)), 1)

    def add(document: Id) -> None:
        nonlocal n_new
        if document not in candidates and document not in found:
            if n_new == MOST_NEW_HOLDERS:
                return
            n_new += 1
        found[document] = held(document)

    for term in query.members:
        for document in evidence.order:
            if term in evidence.terms_of(document):
                add(document)
    if not query.members and len(query.named) > 1:
        frequency = {term: document_frequency(term, evidence) for forms in query.named for term in forms}
        forms = rarest(query.named, frequency)
        pairs = [
            document
            for document in evidence.order
            if not forms.isdisjoint(evidence.terms_of(document)) and held(document) > 1
        ]
        few = len(pairs) <= rare_limit(len(evidence.counted))
        if few and sum(frequency[form] for form in forms) <= MOST_VISITED:
            for document in pairs:
                add(document)
    return found
