"""The part of a long record that goes into a prompt: the one that answers the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrubjay.memory.read.pieces import Piece
from scrubjay.memory.read.recalled import RecalledHit

_LEAST_CHARS = 60  # less of a record says nothing
_MOST_CHARS_A_TOKEN = 8
_SHORTER = 0.8  # than what was still too long


class Excerpts:
    """Shortens the pieces of a prompt to what :meth:`RecalledHit.snippet` finds in their records.

    Args:
        pieces, hits: of each the other.
        write: what a prompt shows of a hit.
    """

    def __init__(
        self, pieces: Sequence[Piece], hits: Sequence[RecalledHit], write: Callable[[RecalledHit], str]
    ) -> None:
        self._pieces = pieces
        self._hits = hits
        self._write = write

    def __call__(self, piece: Piece, max_tokens: int, count: Callable[[Piece], int]) -> Piece | None:
        """Return a piece with as much of its record as fits; None if that would say nothing.

        Args:
            piece: one that is too long.
            max_tokens: what it may have.
            count: tokens of a piece.
        """
        hit = self._hits[self._pieces.index(piece)]
        n_chars = len(hit.text)
        width = min(n_chars * max_tokens // count(piece), _MOST_CHARS_A_TOKEN * max_tokens, n_chars)
        while width >= _LEAST_CHARS:
            shorter = piece._replace(text=self._write(hit.showing(str(hit.snippet(width)))))
            if count(shorter) <= max_tokens:
                return shorter
            width = int(width * _SHORTER)
        return None
