"""Comparison of the engine's answers with the model's.

Lexical results are compared bit for bit. Vector results carry the rounding of the stored values, so they are judged by
statements that hold for any correct engine and do not flake at near-ties: every similarity is within the bound, the
order is that of the engine's own similarities (ties by writing), and nothing better was left out.

Results are compared by (exact scope, id): the same id in another scope is another document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrubjay import Query
from tests.reference import fusion, vectors
from tests.reference.model import ModelEngine
from tests.reference.ranking import PARTS
from tests.reference.scopes import AnyScope, DocumentKey, key

ALL = 10**9


def keys(result: Any, n: int = ALL) -> list[DocumentKey]:
    """Return the (exact scope, id) pairs of the first n hits."""
    ids = result.ids[:n].tolist()
    return [(key(result.scope(index)), id) for index, id in enumerate(ids)]


def same_keys(given: Any, expected: Any) -> None:
    given_keys, expected_keys = keys(given), keys(expected)
    assert given_keys == expected_keys, f"expected {expected_keys}, got {given_keys}"


def same_bits(given: Any, expected: Any, what: str) -> None:
    """Assert equality of bit patterns, which also distinguishes -0.0 and compares NaN."""
    given_bits = np.asarray(given, dtype=np.float64).view(np.int64)
    expected_bits = np.asarray(expected, dtype=np.float64).view(np.int64)
    assert given_bits.tolist() == expected_bits.tolist(), f"{what}: expected {expected}, got {given}"


def same_result(given: Any, expected: Any, *, explain: bool = False) -> None:
    """Assert that everything is equal: for lexical results, and for others whose vectors are exact."""
    assert given.mode == expected.mode
    same_keys(given, expected)
    same_bits(given.scores, expected.scores, "scores")
    assert list(given.lexical_ranks) == list(expected.lexical_ranks)
    assert list(given.vector_ranks) == list(expected.vector_ranks)
    assert list(given.identifiers) == list(expected.identifiers)
    same_bits([given.lexical_share], [expected.lexical_share], "lexical_share")
    assert given.corrections == expected.corrections
    if explain:
        same_evidence(given, expected)


def same_evidence(given: Any, expected: Any) -> None:
    """Assert equality of the evidence that `explain` adds; the hits are the same."""
    same_bits(given.bm25, expected.bm25, "bm25")
    same_bits(given.coverage, expected.coverage, "coverage")
    same_bits(given.information, expected.information, "information")
    assert list(given.another) == list(expected.another)
    same_bits([given.query_information], [expected.query_information], "query_information")
    for index in range(len(expected)):
        assert given.matched_terms(index) == expected.matched_terms(index)
        same_stored(given, expected, index)
    same_parts(given, expected)


def same_parts(given: Any, expected: Any) -> None:
    """Assert equality of the parts of each score, and that they add up to it."""
    for index in range(len(expected)):
        parts, twin = given.parts(index), expected.parts(index)
        assert list(parts) == list(twin) == list(PARTS)
        for name, part in parts.items():  # relative: in 2^-x an ulp of x matters
            assert math.isclose(part, twin[name], rel_tol=1e-12, abs_tol=1e-300), f"{parts}, expected {twin}"
        add_up(parts, given.scores[index])


def add_up(parts: Mapping[str, float], score: float) -> None:
    """Assert that the parts add up to the score, up to rounding."""
    size = sum(abs(part) for part in parts.values())
    assert abs(sum(parts.values()) - score) <= 1e-12 * max(size, 1e-300), f"{parts} for {score}"


def same_stored(given: Any, expected: Any, index: int) -> None:
    assert given.text(index) == expected.text(index)
    assert given.payload(index) == expected.payload(index)
    assert key(given.scope(index)) == key(expected.scope(index))
    assert given.passage(index) == expected.passage(index)


def vector_result(given: Any, model: ModelEngine, query: Any, scope: AnyScope, k: int) -> None:
    """Assert the statements above for a result of mode vector."""
    everything = model.search(vector=query, scope=scope, k=ALL, query=Query(mode="vector"))
    exact_of = dict(zip(keys(everything), everything.scores, strict=True))
    found, scores = keys(given), np.asarray(given.scores, dtype=np.float64)

    assert given.mode == "vector"
    assert len(set(found)) == len(found), f"repeated documents: {found}"
    assert set(found) <= set(exact_of), f"not visible or without a vector: {set(found) - set(exact_of)}"
    assert len(found) == min(k, len(exact_of))
    assert list(given.vector_ranks) == list(range(1, len(found) + 1))
    assert not np.any(given.lexical_ranks)
    same_bits(given.similarities, scores.astype(np.float32), "similarities")
    score_of = dict(zip(found, scores.tolist(), strict=True))
    for document, score in score_of.items():
        allowed = allowed_error(model, query, document)
        assert abs(score - exact_of[document]) <= allowed, (
            f"{document}: expected {exact_of[document]} +- {allowed}, got {score}"
        )
    place = {document: index for index, document in enumerate(model.visible_keys(scope))}
    engine_order = sorted(found, key=lambda document: (-score_of[document], place[document]))
    assert found == engine_order, f"expected the order {engine_order}, got {found}"
    if found:
        worst = scores[-1]
        missed = [
            document
            for document in exact_of
            if document not in score_of
            and exact_of[document] > worst  # most are not, and need no bound
            and exact_of[document] - allowed_error(model, query, document) > worst
        ]
        assert not missed, f"better than the last hit, but not returned: {missed}"


def allowed_error(model: ModelEngine, query: Any, key: DocumentKey) -> float:
    document = model.stored(key)
    assert document.vector is not None
    given = np.asarray(query, dtype=np.float32).astype(np.float64)
    rows = document.vector[0] if isinstance(document.vector, tuple) else [document.vector]
    return max(vectors.bound(model.metric, model.dtype, given, row.astype(np.float64)) for row in rows)


def fused_result(
    given: Any,
    lexical: Any,
    nearest: Any,
    model: ModelEngine,
    scope: AnyScope,
    k: int,
    *,
    rrf_k: float,
    weights: tuple[float, float] | None,
) -> None:
    """Compare a hybrid result with RRF over the rankings of the engine's own retrievers (each already cut)."""
    rankings = [keys(lexical), keys(nearest)]
    scores = fusion.reciprocal_rank_scores(rankings, weights or (1.0, 1.0), rrf_k)
    place = {document: index for index, document in enumerate(model.visible_keys(scope))}
    expected = sorted(scores, key=lambda document: (-scores[document], place[document]))[:k]
    assert keys(given) == expected, f"expected {expected}, got {keys(given)}"
    same_bits(given.scores, [scores[document] for document in expected], "scores")
    for ranks, ranking in ((given.lexical_ranks, rankings[0]), (given.vector_ranks, rankings[1])):
        rank_of = {document: rank for rank, document in enumerate(ranking, start=1)}
        assert list(ranks) == [rank_of.get(document, 0) for document in expected]
