"""Is what the engine answered what the model demands?

Lexical results are compared bit for bit. Vector results carry the rounding of what is stored, so they are judged by
statements that hold for any correct engine and do not flake at near-ties: every similarity is within the bound, the
order is the order of the engine's own similarities (ties by writing), and nothing better was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.reference import fusion, vectors
from tests.reference.model import ModelEngine
from tests.reference.scopes import AnyScope, key

ALL = 10**9


def same_ids(given: Any, expected: Any) -> None:
    assert list(given.ids) == list(expected.ids), f"expected {list(expected.ids)}, got {list(given.ids)}"


def same_bits(given: Any, expected: Any, what: str) -> None:
    """Equal as bit patterns, so that -0.0 and NaN count as what they are."""
    given_bits = np.asarray(given, dtype=np.float64).view(np.int64)
    expected_bits = np.asarray(expected, dtype=np.float64).view(np.int64)
    assert given_bits.tolist() == expected_bits.tolist(), f"{what}: expected {expected}, got {given}"


def same_result(given: Any, expected: Any, *, explain: bool = False) -> None:
    """Everything equal: for lexical results, and for others whose vectors are exact."""
    assert given.mode == expected.mode
    same_ids(given, expected)
    same_bits(given.scores, expected.scores, "scores")
    assert list(given.lexical_ranks) == list(expected.lexical_ranks)
    assert list(given.vector_ranks) == list(expected.vector_ranks)
    assert list(given.identifiers) == list(expected.identifiers)
    same_bits([given.lexical_share], [expected.lexical_share], "lexical_share")
    if explain:
        same_evidence(given, expected)


def same_evidence(given: Any, expected: Any) -> None:
    """What explain adds, for hits that are the same."""
    same_bits(given.bm25, expected.bm25, "bm25")
    same_bits(given.coverage, expected.coverage, "coverage")
    for index in range(len(expected)):
        assert given.matched_terms(index) == expected.matched_terms(index)
        same_stored(given, expected, index)


def same_stored(given: Any, expected: Any, index: int) -> None:
    assert given.text(index) == expected.text(index)
    assert given.payload(index) == expected.payload(index)
    assert key(given.scope(index)) == key(expected.scope(index))


def vector_result(given: Any, model: ModelEngine, query: Any, scope: AnyScope, k: int) -> None:
    """The statements above, for a result of mode vector."""
    everything = model.search(vector=query, scope=scope, k=ALL, mode="vector")
    exact_of = dict(zip(everything.ids, everything.scores, strict=True))
    allowed = {id: allowed_error(model, query, id) for id in exact_of}
    ids, scores = list(given.ids), np.asarray(given.scores, dtype=np.float64)

    assert given.mode == "vector"
    assert len(set(ids)) == len(ids), f"repeated ids: {ids}"
    assert set(ids) <= set(exact_of), f"not visible or without a vector: {set(ids) - set(exact_of)}"
    assert len(ids) == min(k, len(exact_of))
    assert list(given.vector_ranks) == list(range(1, len(ids) + 1))
    assert not np.any(given.lexical_ranks)
    same_bits(given.similarities, scores.astype(np.float32), "similarities")
    for id, score in zip(ids, scores, strict=True):
        assert abs(score - exact_of[id]) <= allowed[id], (
            f"{id}: expected {exact_of[id]} +- {allowed[id]}, got {score}"
        )
    place = {id: index for index, id in enumerate(model.visible_ids(scope))}
    engine_order = sorted(ids, key=lambda id: (-scores[ids.index(id)], place[id]))
    assert ids == engine_order, f"expected the order {engine_order}, got {ids}"
    if ids:
        worst = scores[-1]
        missed = [id for id in exact_of if id not in set(ids) and exact_of[id] - allowed[id] > worst]
        assert not missed, f"better than the last hit, but not returned: {missed}"


def allowed_error(model: ModelEngine, query: Any, id: Any) -> float:
    document = model.get(id)
    assert document is not None and document.vector is not None
    given = np.asarray(query, dtype=np.float32).astype(np.float64)
    return vectors.bound(model.metric, model.dtype, given, document.vector.astype(np.float64))


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
    extra: Sequence[Sequence[Any]] = (),
) -> None:
    """A hybrid result against RRF over the rankings that the engine's own arms gave (each already cut)."""
    rankings = [list(lexical.ids), list(nearest.ids), *(list(ranking) for ranking in extra)]
    all_weights = [*(weights or (1.0, 1.0)), *(1.0 for _ in extra)]
    scores = fusion.reciprocal_rank_scores(rankings, all_weights, rrf_k)
    place = {id: index for index, id in enumerate(model.visible_ids(scope))}
    expected = sorted(scores, key=lambda id: (-scores[id], place[id]))[:k]
    assert list(given.ids) == expected, f"expected {expected}, got {list(given.ids)}"
    same_bits(given.scores, [scores[id] for id in expected], "scores")
    for ranks, ranking in ((given.lexical_ranks, rankings[0]), (given.vector_ranks, rankings[1])):
        rank_of = {id: rank for rank, id in enumerate(ranking, start=1)}
        assert list(ranks) == [rank_of.get(id, 0) for id in expected]
