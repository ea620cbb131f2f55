"""The encoding of vectors in rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scrubjay import Engine, Index, Scope
from scrubjay.store.rows.vectors import decode_many, encode_many
from tests.reference import vectors

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_one_vector_is_encoded_as_among_others(numbers: list[float]) -> None:
    row = np.array(numbers, dtype=np.float32)
    for dtype in ("f16", "f32", "i8"):
        one, again = encode_many(np.stack([row, row]), dtype)
        assert encode_many(row[np.newaxis], dtype) == [one] == [again]


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@given(st.lists(NUMBERS, min_size=1, max_size=9), st.integers(-30, 30))
def test_what_was_decoded_is_encoded_without_a_change(dtype: str, numbers: list[float], power: int) -> None:
    row = np.ldexp(np.array(numbers, dtype=np.float32), power)
    row = np.clip(row, np.finfo(np.float32).min, np.finfo(np.float32).max)
    decoded = decode_many(encode_many(row[np.newaxis], dtype), dtype)
    assume(
        np.isfinite(decoded).all()
    )  # halves round the greatest floats to infinity, which an engine refuses
    assert decode_many(encode_many(decoded, dtype), dtype).tolist() == decoded.tolist()


@given(st.lists(NUMBERS, min_size=1, max_size=9))
@example([1e-45]).via("the least float")
@example([127e-45, -3e-45]).via("steps of the least float")
@example([3.4028234663852886e38, 1.0]).via("the greatest float")
@example([2.0**-119]).via("a step that is barely normal")
def test_bytes_hold_the_vector_of_the_twin(numbers: list[float]) -> None:
    row = np.array(numbers, dtype=np.float32)
    expected = vectors.in_bytes(row.astype(np.float64)).astype(np.float32)
    decoded = decode_many(encode_many(row[np.newaxis], "i8"), "i8")[0]
    assert decoded.tolist() == expected.tolist()
    largest = float(np.abs(row).max())
    part = (
        253 if largest >= 2.0**-119 else 127
    )  # of steps below the normal floats only powers of two are used
    assert np.abs(decoded.astype(np.float64) - row).max() <= largest / part


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_native_rows_are_encoded_as_those_of_numpy(numbers: list[float]) -> None:
    row = np.array(numbers, dtype=np.float32)
    assume(
        row.any() and np.linalg.norm(row.astype(np.float64)) <= np.finfo(np.float32).max
    )  # as engines demand
    for dtype in ("f16", "i8"):
        engine = Engine(len(row), dtype=dtype)
        engine.upsert("m1", "", scope=Scope("acme"), vector=row)
        stored = engine.get("m1", scope=Scope("acme")).vector
        assert stored.tolist() == decode_many(encode_many(row[np.newaxis], dtype), dtype)[0].tolist()


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
def test_a_vector_is_found_in_the_file_until_it_is_erased(tmp_path: Path, dtype: Any) -> None:
    scope, vector = Scope("acme"), np.random.default_rng(1).normal(size=64).astype(np.float32)
    with Index.open(tmp_path / "m.scrubjay", dim=64, dtype=dtype) as index:
        index.upsert("m1", "Prefers trains.", scope=scope, vector=vector)
        assert not index.admin.verify_erased(vectors=[vector]).clean
        index.erase(scope)
        index.admin.compact()
        assert index.admin.verify_erased(vectors=[vector]).clean
