"""The encoding of vectors in rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.store.rows.vectors import encode_many

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_one_vector_is_encoded_as_among_others(numbers: list[float]) -> None:
    row = np.array(numbers, dtype=np.float32)
    for dtype in ("f16", "f32"):
        one, again = encode_many(np.stack([row, row]), dtype)
        assert encode_many(row[np.newaxis], dtype) == [one] == [again]
