"""The result of assembly: the prompt, and a trace of how it was made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

from scrubjay.base.arguments import checked_flag, is_integer
from scrubjay.memory.read.prompt_parts import RESERVED, Block, Piece, PromptPrefix
from scrubjay.retrieval.context import count_roughly

__all__ = ["Assembled", "Envelope", "Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of a prompt. Tokens are counted by `count`.

    Args:
        budget_tokens: maximum of the whole prompt.
        item_tokens: maximum of one recalled record; a longer one is replaced by the part that answers the question, if
            `arrange` is given a function that finds it, or left out.
        turn_tokens: maximum of the block of recent turns, which also gets at most a quarter of the budget left by
            policies and preferences.
        brief_tokens: maximum of one turn in that block.
        edges: whether the most relevant records are placed first and last (:func:`place_at_edges`), instead of first.
        count: returns the number of tokens of a text; your model's tokenizer is more exact than the default estimate.
            It is called with whole prompts, so it need not be additive.

    Raises:
        TypeError, ValueError: a limit is not an int, or below 1 (`turn_tokens` may be 0: no recent turns); `count` does
            not return an int of 0 or more for a word.
    """

    budget_tokens: int
    item_tokens: int = 200
    turn_tokens: int = 300
    brief_tokens: int = 60
    count: Callable[[str], int] = count_roughly
    edges: bool = False

    def __post_init__(self) -> None:
        for name, least in (
            ("budget_tokens", 1),
            ("item_tokens", 1),
            ("turn_tokens", 0),
            ("brief_tokens", 1),
        ):
            value = getattr(self, name)
            if not is_integer(value):
                raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
            if value < least:
                raise ValueError(f"{name}: expected {least} or more, got {value}")
        checked_flag(self.edges, "edges")
        if not callable(self.count):
            raise TypeError(f"count: expected a function of a text, got {type(self.count).__name__}")
        if self.count is not count_roughly:
            n = self.count("a")
            if isinstance(n, bool) or not isinstance(n, (int, Integral)) or n < 0:  # NumPy ints are Integral
                raise TypeError(
                    f"count: expected a function that returns an int, 0 or more, got {n!r} for 'a'"
                )


@dataclass(frozen=True)
class Envelope:
    """The contents of a prompt, the omitted records, and the reasons. References only: the texts are in the records."""

    budget_tokens: int
    blocks: tuple[Block, ...] = field(default=(), compare=False, repr=False)
    count: Callable[[str], int] = field(default=count_roughly, compare=False, repr=False)
    dropped: tuple[tuple[str, str], ...] = ()
    """Recalled records that are not in the prompt, as (id, reason): "below_floor", "over_item_cap" or "over_budget"."""
    excerpts: tuple[str, ...] = ()
    """Ids of recalled records that were too long, so that the prompt has only the part that answers the question."""
    reasons: tuple[str, ...] = ()
    """Failures while the prompt was made, as "code: sentence"."""
    query: str = ""
    recalled: Any = field(default=None, compare=False, repr=False)
    """The retrieval itself; None if there was none."""

    @cached_property
    def tokens(self) -> dict[str, int]:
        """Tokens of each block, and the "total"."""
        each = {block.name: self.count(block.text) for block in self.blocks}
        return {**each, "total": self.count("".join(block.text for block in self.blocks)) if each else 0}

    @property
    def mode(self) -> str:
        """The mode in which retrieval ran: "hybrid", "vector", "lexical", "substring" or "none"."""
        return "none" if self.recalled is None else str(self.recalled.mode)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Reasons why less ran than was requested."""
        return (*(() if self.recalled is None else self.recalled.degraded), *self.reasons)

    @cached_property
    def relevance(self) -> str:
        """The relevance of the best recalled record to the question: "high", "standard", "low" or "none"."""
        return "none" if self.recalled is None else str(self.recalled.relevance)

    @cached_property
    def retrieved(self) -> tuple[dict[str, Any], ...]:
        """Id, kind, score and tier of each recalled record, best first."""
        return tuple(
            {"id": hit.id, "kind": hit.kind, "score": hit.score, "tier": hit.tier}
            for hit in self.recalled or ()
        )

    @cached_property
    def promoted(self) -> tuple[str, ...]:
        """Ids placed above the fused order because they contain an identifier of the query."""
        return tuple(hit.id for hit in self.recalled or () if hit.identifier)

    @property
    def stages(self) -> tuple[dict[str, Any], ...]:
        """The stages of the retrieval, with their times."""
        return () if self.recalled is None else tuple(self.recalled.trace.to_dicts())

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in JSON types."""
        return {
            **self.fields(),
            "tokens": dict(self.tokens),
            "dropped": [list(entry) for entry in self.dropped],
            "excerpts": list(self.excerpts),
            "degraded": list(self.degraded),
            "retrieved": [dict(entry) for entry in self.retrieved],
            "promoted": list(self.promoted),
            "stages": [dict(entry) for entry in self.stages],
        }

    def fields(self) -> dict[str, Any]:
        """Return the same with tuples instead of lists; read only, because its parts belong to the envelope."""
        return {
            "budget_tokens": self.budget_tokens,
            "tokens": self.tokens,
            "dropped": self.dropped,
            "excerpts": self.excerpts,
            "query": self.query,
            "relevance": self.relevance,
            "mode": self.mode,
            "degraded": self.degraded,
            "retrieved": self.retrieved,
            "promoted": self.promoted,
            "stages": self.stages,
        }


@dataclass(frozen=True)
class Assembled:
    """A prompt: its blocks in order, and the envelope that records how it was made."""

    blocks: tuple[Block, ...]
    trace: Envelope
    pieces: dict[str, tuple[Piece, ...]]
    """The records in it by block: "policies", "preferences", "memories" (most relevant first)."""
    limits: Limits
    summary: str | None = None
    """The text that replaces the recent turns."""
    reserved: PromptPrefix = field(default=PromptPrefix(), compare=False, repr=False)
    """The reserved blocks at its beginning."""

    @cached_property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(block.text for block in self.blocks)

    @property
    def prefix(self) -> str:
        """The beginning of the prompt, identical byte for byte as long as policies and preferences are unchanged."""
        return "".join(block.text for block in self.blocks if block.name in RESERVED)

    @property
    def sha256(self) -> str:
        """SHA-256 of the prompt in UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def ids(self, name: str) -> tuple[str, ...]:
        """Return the ids of the records in one block, in order; empty if there is no such block.

        Args:
            name: the name of the block: "policies", "preferences", "memories".
        """
        return next((block.ids for block in self.blocks if block.name == name), ())

    def __repr__(self) -> str:
        shown = ", ".join(f"{block.name} {len(block.ids)}" for block in self.blocks)
        return f"<scrubjay.Assembled {self.trace.tokens['total']} tokens: {shown or 'empty'}>"
