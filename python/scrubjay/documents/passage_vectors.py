"""The vectors of a document: one vector, or one for each passage of its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["DocumentVector", "PassageVectors", "fits", "mean_of"]


class PassageVectors(NamedTuple):
    """The vectors of a document's passages, and the spans of these in its text."""

    rows: NDArray[np.float32]
    """(n, dim), n >= 1."""
    spans: NDArray[np.uint32]
    """(n, 2): first character and end (exclusive) of each passage; (0, 0): unknown."""

    def any(self) -> bool:
        """Whether every vector is non-zero."""
        return bool(self.rows.any(axis=1).all())


DocumentVector: TypeAlias = NDArray[np.float32] | PassageVectors
"""A document's vector, or the vectors of its passages."""


def fits(vector: Any, passages: Sequence[Sequence[int]] | Literal[False]) -> bool:
    """Whether a vector may be that of a document with these passages: one for each, or the vectors of some of them,
    since a passage without words has no vector; one for the whole text if there are no passages (False).

    >>> some = PassageVectors(np.float32([[1, 0]]), np.uint32([[4, 7]]))
    >>> fits(some, [(0, 3), (4, 7)]), fits(some, [(0, 3), (3, 7)]), fits(some, False), fits(some.rows[0], False)
    (True, False, False, True)
    """
    if passages is False or not isinstance(vector, PassageVectors):
        return passages is False and not isinstance(vector, PassageVectors)
    own, named = map(tuple, vector.spans.tolist()), set(map(tuple, passages))
    return len(vector.rows) == len(passages) or all(span in named for span in own)


def mean_of(vector: ArrayLike | PassageVectors) -> NDArray[np.float32]:
    """Return one vector, (dim,), for a whole document, for code without support for passages: the mean of the
    directions of its passages.

    >>> mean_of(PassageVectors(np.float32([[2, 0], [0, 4]]), np.zeros((2, 2), np.uint32))).tolist()
    [0.5, 0.5]
    """
    if not isinstance(vector, PassageVectors):
        return np.asarray(vector, dtype=np.float32)
    rows = vector.rows.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    mean: NDArray[np.float32] = directions.mean(axis=0).astype(np.float32)
    return mean if mean.any() else np.asarray(vector.rows[0])
