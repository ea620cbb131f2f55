"""Selection of the hits that fit into a prompt, and their order in it.

Models use the beginning and the end of a long context best (Liu et al. 2023, "Lost in the middle"), so the best hits
can be placed there and the weakest in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scrubjay.index import Hit

One = TypeVar("One")
SomeHit = TypeVar("SomeHit", bound=Hit)


def place_at_edges(best_first: Sequence[One]) -> list[One]:
    """Place the first of `best_first` first, the second last, and so on inwards; the weakest are in the middle.

    >>> place_at_edges([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*best_first[::2], *reversed(best_first[1::2])]


def count_roughly(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer: one per four bytes of UTF-8, at least one.

    >>> count_roughly("Prefers trains to planes.")
    7
    """
    return -(-len(text.encode("utf-8", "replace")) // 4) or 1


@dataclass(frozen=True)
class Context:
    """The budget of hits in a prompt, and their placement.

    Args:
        max_tokens: of all texts together; None: no limit. Records are taken whole, best first; one that does not fit
            is skipped, and smaller ones after it may still fit.
        count: counts the tokens of a text; your model's tokenizer is more accurate than the default estimate.
        edges: place the best first and last.
    """

    max_tokens: int | None = None
    count: Callable[[str], int] = count_roughly
    edges: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens: expected 1 or more, or None, got {self.max_tokens}")

    def select(self, best_first: Sequence[SomeHit]) -> list[SomeHit]:
        """Return the hits of `best_first` that fit, placed."""
        chosen = list(best_first)
        if self.max_tokens is not None:
            chosen, left = [], self.max_tokens
            for hit in best_first:
                n_tokens = self.count(hit.text)
                if n_tokens <= left:
                    chosen.append(hit)
                    left -= n_tokens
        return place_at_edges(chosen) if self.edges else chosen
