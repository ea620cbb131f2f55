"""Tests of the oracle against values computed by hand or by another method, so that it is not its own judge."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Query
from tests.reference import bm25, fusion, vectors
from tests.reference.model import ModelEngine
from tests.reference.scopes import Scope, erased_by, visible_partitions


def words(text: str) -> list[tuple[str, str]]:
    return [(word, "word") for word in text.split()]


def test_length_codes_at_their_borders() -> None:
    assert [bm25.length_code(n) for n in (0, 1, 1023, 1024)] == [0, 1, 1023, 1024]
    assert [bm25.length_code(n) for n in (1025, 1031, 1032, 1039, 1040)] == [1024, 1024, 1025, 1025, 1026]
    assert [bm25.length_code(n) for n in (2047, 2048, 2063, 2064)] == [1151, 1152, 1152, 1153]
    assert bm25.length_code(10**9) == bm25.MAX_LENGTH_CODE
    assert bm25.decoded_length(bm25.MAX_LENGTH_CODE) == 261_120


@given(st.integers(0, 300_000))
def test_a_coded_length_is_close_from_below(length: int) -> None:
    decoded = bm25.decoded_length(bm25.length_code(length))
    assert decoded <= length
    assert length <= 1024 or length >= 262_144 or length - decoded <= length / 128
    assert bm25.length_code(decoded) == bm25.length_code(length)


@given(st.integers(0, 300_000))
def test_codes_grow_with_lengths(length: int) -> None:
    assert bm25.length_code(length) <= bm25.length_code(length + 1)


def test_idf_is_ln_of_two_for_half_of_a_pair() -> None:
    assert bm25.idf(2, 1) == math.log(2.0)
    assert bm25.idf(10, 10) == math.log(1 + 0.5 / 10.5)


@given(st.integers(1, 31), st.integers(1, 1000), st.integers(1, 10_000), st.integers(1, 1000))
def test_a_contribution_is_near_the_rational_formula(tf: int, length: int, df: int, average: int) -> None:
    """Exact rational arithmetic and the fixed point agree to single precision."""
    norm = bm25.length_norm(length, float(average), 1.2, 0.75)
    weight = bm25.weight(bm25.idf(20_000, df), 20)
    [given_value] = bm25.contributions(weight, [tf], np.array([norm]))
    exact_norm = Fraction(12, 10) * (Fraction(1, 4) + Fraction(3, 4) * Fraction(length, average))
    exact = Fraction(bm25.idf(20_000, df)) * 2**20 * tf / (tf + exact_norm)
    assert abs(int(given_value) - exact) <= Fraction(1, 2) + exact * Fraction(5, 2**24)


def test_contributions_round_half_to_even() -> None:
    no_norm = np.zeros(1, dtype=np.float32)
    assert [int(bm25.contributions(np.float32(w), [1], no_norm)[0]) for w in (0.5, 1.5, 2.5)] == [0, 2, 2]


def test_bits_are_lowered_until_the_sum_fits() -> None:
    assert bm25.fraction_bits({"a": 1023.9}, {"a": 1}) == 20
    assert bm25.fraction_bits({"a": 1024.0}, {"a": 1}) == 19
    assert bm25.fraction_bits({"a": 4.0, "b": 4.0}, {"a": 256, "b": 256}) == 18


def test_bm25_of_three_documents_by_hand() -> None:
    """N = 3, avg = 2; 'jay' has df 2. Norms: 1.2 * (0.25 + 0.75 * len / 2)."""
    engine = ModelEngine(k1=1.2, b=0.75, analyze=words)
    home = Scope("acme")
    engine.upsert_many([1, 2, 3], ["jay", "jay jay oak", "oak acorn"], scope=home)
    ids, scores = engine.search("jay", scope=home, query=Query(mode="lexical"))
    weight = math.log(1 + 1.5 / 2.5)
    assert list(ids) == [1, 2]
    assert scores == pytest.approx([weight * 1 / (1 + 0.75), weight * 2 / (2 + 1.65)], abs=1e-6)


def test_similarities_by_hand() -> None:
    a, b = np.array([3.0, 4.0]), np.array([4.0, 3.0])
    assert vectors.similarity("ip", a, b) == 24.0
    assert vectors.similarity("cosine", a, b) == pytest.approx(0.96)
    assert vectors.similarity("l2", a, b) == -2.0


def test_reciprocal_ranks_by_hand() -> None:
    scores = fusion.reciprocal_rank_scores([["a", "b"], ["b", "c"]], [1.0, 2.0], 60.0)
    assert scores == {"a": 1 / 61, "b": 1 / 62 + 2 / 61, "c": 2 / 62}


def test_visibility_by_hand() -> None:
    assert visible_partitions(Scope("t")) == [("t", None, None)]
    assert visible_partitions(Scope("t", "u")) == [("t", None, None), ("t", "u", None)]
    assert visible_partitions(Scope("t", agent="a")) == [("t", None, None), ("t", None, "a")]
    assert visible_partitions(Scope("t", "u", "a")) == [
        ("t", None, None),
        ("t", "u", None),
        ("t", None, "a"),
        ("t", "u", "a"),
    ]


def test_erasure_by_hand() -> None:
    partitions = [("t", None, None), ("t", "u", None), ("t", "u", "a"), ("t", None, "a"), ("x", "u", None)]

    def erased(scope: Scope, *, exact: bool = False) -> list[int]:
        return [i for i, partition in enumerate(partitions) if erased_by(scope, partition, exact=exact)]

    assert erased(Scope("t")) == [0, 1, 2, 3]
    assert erased(Scope("t", "u")) == [1, 2]
    assert erased(Scope("t", agent="a")) == [2, 3]
    assert erased(Scope("t"), exact=True) == [0]
    assert erased(Scope("t", "u"), exact=True) == [1]


def test_an_id_is_another_document_in_another_scope() -> None:
    engine = ModelEngine(analyze=words)
    engine.upsert("m", "jay", scope=Scope("acme"))
    engine.upsert("m", "jay", scope=Scope("globex"))
    assert (engine.count(Scope("acme")), engine.count(Scope("globex"))) == (1, 1)
