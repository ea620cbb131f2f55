"""Excerpts: the part of a long record that answers the question, for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrubjay.memory.read.prompt_parts import Piece
from scrubjay.memory.read.recall_result import RecalledHit

_LEAST_CHARS = 60  # a shorter excerpt says nothing
_MOST_CHARS_A_TOKEN = 8
_SHORTER = 0.8  # factor between the widths that are tried


class Excerpts:
    """Shortens the pieces of a prompt to the result of :meth:`RecalledHit.snippet` for their records.

    Args:
        pieces, hits: the pieces and their hits, in the same order.
        write: returns the text of a hit in a prompt.
    """

    def __init__(
        self, pieces: Sequence[Piece], hits: Sequence[RecalledHit], write: Callable[[RecalledHit], str]
    ) -> None:
        self._pieces = pieces
        self._hits = hits
        self._write = write

    def __call__(self, piece: Piece, max_tokens: int, count: Callable[[Piece], int]) -> Piece | None:
        """Return a piece with the longest excerpt of its record that fits; None if that would be too short.

        Args:
            piece: a piece that is too long.
            max_tokens: the maximum of the result.
            count: returns the tokens of a piece.
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
