"""BM25 scores, to the last bit.

The native engine and this file do the same arithmetic: IEEE double for statistics, IEEE single for one contribution
(multiply, add, divide; never contracted), fixed point for the sum. Every function is a formula; the ranking itself is
in `model.py`.

[RZ09] Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.
[Luc]  Lucene's BM25Similarity: the non-negative idf.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

MAX_TF = 31
"""Term frequencies saturate at this value: five bits of a posting."""

MAX_EXACT_LENGTH = 1024
MAX_LENGTH_CODE = 2047
STEPS_PER_OCTAVE = 128
MAX_FRACTION_BITS = 20
SCORE_LIMIT = 2.0**30
"""Upper bound of the sum of all contributions of a query, so that it fits 32 bits for any document."""


def length_code(length: int) -> int:
    """Return the 11-bit code of a document length: exact to 1,024 tokens, 128 steps an octave above, then saturated."""
    if length <= MAX_EXACT_LENGTH:
        return length
    octave = (length // MAX_EXACT_LENGTH).bit_length() - 1
    start = MAX_EXACT_LENGTH << octave
    code = MAX_EXACT_LENGTH + STEPS_PER_OCTAVE * octave + (length - start) // (8 << octave)
    return min(code, MAX_LENGTH_CODE)


def decoded_length(code: int) -> int:
    """Return the lower bound of the lengths that share `code`, which BM25 uses as the length."""
    if code <= MAX_EXACT_LENGTH:
        return code
    octave, step = divmod(code - MAX_EXACT_LENGTH, STEPS_PER_OCTAVE)
    return (MAX_EXACT_LENGTH << octave) + step * (8 << octave)


def idf(n_documents: int, document_frequency: int) -> float:
    """[Luc] ln(1 + (N - df + 0.5) / (df + 0.5)): [RZ09] eq. 3.3 shifted to stay above zero."""
    return math.log(1.0 + (n_documents - document_frequency + 0.5) / (document_frequency + 0.5))


def parameters(average_length: float, k1: float | None, b: float | None) -> tuple[float, float]:
    """Return k1 and b; values that are None follow from the average length: short turns to 30 words, long texts from
    60."""
    share = min(max((average_length - 30.0) / (60.0 - 30.0), 0.0), 1.0)
    return (
        0.4 + share * (1.2 - 0.4) if k1 is None else k1,
        0.2 + share * (0.75 - 0.2) if b is None else b,
    )


def fraction_bits(idf_of_term: Mapping[str, float], count_in_query: Mapping[str, int]) -> int:
    """Return the number of fractional bits of a query's scores: 20, fewer if the largest possible score would
    overflow."""
    largest = 0.0
    for term, value in idf_of_term.items():
        largest += count_in_query[term] * value
    bits = MAX_FRACTION_BITS
    while largest * 2.0**bits >= SCORE_LIMIT:
        bits -= 1
    return bits


def weight(idf_value: float, bits: int) -> np.float32:
    """Return the idf in units of the last place of a score."""
    rounded: np.float32 = np.float32(idf_value * 2.0**bits)
    return rounded


def length_norm(length: int, average_length: float, k1: float, b: float) -> np.float32:
    """[RZ09] eq. 3.13: k1 * ((1 - b) + b * len / avg), rounded once, from double."""
    relative = length / average_length if average_length > 0 else 0.0
    rounded: np.float32 = np.float32(k1 * ((1.0 - b) + b * relative))
    return rounded


def contributions(
    term_weight: np.float32, frequencies: Iterable[int], norms: NDArray[np.float32]
) -> NDArray[np.int64]:
    """[RZ09] eq. 3.15 without its constant (k1 + 1): w * tf / (tf + norm), one term against many documents.

    Each step is one rounded single-precision operation; the quotient is rounded half to even to an integer.
    """
    tf = np.minimum(np.fromiter(frequencies, dtype=np.int64), MAX_TF).astype(np.float32)
    product = np.multiply(term_weight, tf, dtype=np.float32)
    quotient = np.divide(product, np.add(tf, norms, dtype=np.float32), dtype=np.float32)
    return np.rint(quotient).astype(np.int64)


def reported_score(score: int, bits: int) -> float:
    """Return a fixed-point score as the caller's float; exact, because bits <= 20 and score < 2^30."""
    return score * 2.0**-bits
