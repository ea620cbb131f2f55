"""The vectors of the benchmarks, and their exact neighbours.

Clustered synthetic unit vectors, the same on every machine, where smaller sets are prefixes of larger ones; and the
real embeddings stored beside the judged sets, if present.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.judged import SETS, data_folder

Floats = NDArray[np.float32]
N_CENTRES = 256
SPREAD = 0.7
"""Deviation of a vector from its centre, relative to the length 1 of centres: related texts have a cosine of ~0.67."""
NOISE = 0.5
"""Deviation of a question from its target: a cosine of about 0.9."""
BLOCK = 10_000
REAL_SETS = {384: "bge_small_int8", 256: "wordllama256"}
"""The name of the stored vectors by dimension."""


def unit(vectors: Floats) -> Floats:
    """Return the rows, normalised."""
    normalised: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return normalised


def clustered(n: int, dim: int, seed: int = 0) -> Floats:
    """Return (n, dim) unit vectors around 256 centres; made in blocks, so that smaller sets are prefixes."""
    centres = np.random.default_rng((seed, dim)).standard_normal((N_CENTRES, dim), dtype=np.float32)
    out = np.empty((n, dim), dtype=np.float32)
    for number, start in enumerate(range(0, n, BLOCK)):
        numbers = np.random.default_rng((seed, dim, number))
        around = centres[numbers.integers(N_CENTRES, size=BLOCK)]
        around += SPREAD * numbers.standard_normal((BLOCK, dim), dtype=np.float32)
        out[start : start + BLOCK] = unit(around)[: n - start]
    return out


def near(vectors: Floats, seed: int) -> Floats:
    """Return a question for each row: the row plus noise of half its length, normalised."""
    noise = np.random.default_rng((seed, 1)).standard_normal(vectors.shape, dtype=np.float32)
    return unit(vectors + NOISE / np.sqrt(vectors.shape[1]) * noise)


def real(dim: int, folder: Path | None = None) -> tuple[Floats, Floats] | None:
    """Return (documents, questions) of all judged sets, shuffled by a fixed seed; None if the sets are absent."""
    found = [data_folder(folder) / name for name in SETS]
    name = REAL_SETS.get(dim)
    files = [(one / f"{name}.docs.npy", one / f"{name}.queries.npy") for one in found]
    there = [pair for pair in files if pair[0].is_file() and pair[1].is_file()]
    if name is None or not there:
        return None
    numbers = np.random.default_rng(0)
    documents = np.concatenate([np.load(documents) for documents, _ in there]).astype(np.float32)
    questions = np.concatenate([np.load(questions) for _, questions in there]).astype(np.float32)
    documents = documents[np.linalg.norm(documents, axis=1) > 0]
    questions = questions[np.linalg.norm(questions, axis=1) > 0]
    return unit(numbers.permutation(documents)), unit(numbers.permutation(questions))


def nearest(vectors: Floats, question: Floats, k: int) -> NDArray[np.int64]:
    """Return the k rows of highest inner product, best first; ties by row."""
    similarities = vectors @ question
    if len(similarities) > k:
        bar = np.partition(similarities, len(similarities) - k)[len(similarities) - k]
        rows = np.flatnonzero(similarities >= bar)
    else:
        rows = np.arange(len(similarities))
    return rows[np.lexsort((rows, -similarities[rows]))][:k]


def exact_neighbours(vectors: Floats, questions: Floats, k: int) -> NDArray[np.int64]:
    """Return (n questions, k) rows, best first."""
    return np.stack([nearest(vectors, question, k) for question in questions])


def recall(found: Sequence[Sequence[int]], right: NDArray[np.int64]) -> float:
    """Return the mean fraction of the right rows that were found."""
    shares = [
        len(set(some) & set(rows.tolist())) / len(rows) for some, rows in zip(found, right, strict=True)
    ]
    return float(np.mean(shares)) if shares else 1.0
