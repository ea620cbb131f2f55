"""The prompt of a turn: policies and preferences always, then recalled records, then the last turns.

Pure functions over records: nothing here reads a file, and the same records give the same bytes. The order of the
blocks is that of their lifetimes, so the most stable come first: as long as no policy or preference
changes, the prompts of all turns begin with the same bytes, which model servers cache.

One record is one item of a list. Lines after its first are indented, so no record can begin a block of its own or pass
for a policy, whatever it holds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from scrubjay.errors import BudgetError
from scrubjay.payload import as_json
from scrubjay.retrieval.context import count_roughly, place_at_edges

__all__ = [
    "Assembled",
    "Block",
    "Envelope",
    "Limits",
    "Piece",
    "Reserved",
    "Shorten",
    "Turn",
    "arrange",
    "brief",
]

TITLES = {
    "policies": "Policies (always follow)",
    "preferences": "Preferences of the user",
    "memories": "Memories (most relevant first)",
    "turns": "Recent turns",
}
_AT_EDGES = "Memories (most relevant first and last)"
RESERVED = ("policies", "preferences")
_CHARS_A_TOKEN = 64  # more than any tokenizer puts into one, on average
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")


class Piece(NamedTuple):
    """One record as assembly sees it: what it is, who it is, what it says, and the key that a reader should see."""

    kind: str
    id: str
    text: str
    label: str = ""


Shorten: TypeAlias = Callable[[Piece, int, Callable[[Piece], int]], Piece | None]
"""Makes a piece shorter: at most so many tokens, as that counts; None if nothing is left of it."""


class Turn(NamedTuple):
    """One turn of the conversation: who spoke, and what was said."""

    author: str
    text: str


@dataclass(frozen=True)
class Limits:
    """How long a prompt may become. Tokens are what `count` says of a text.

    Args:
        budget_tokens: of the whole prompt.
        item_tokens: of one recalled record; of one that is longer the part that answers stands there, if `arrange` is
            told how to find it, or nothing.
        turn_tokens: of the block of recent turns; besides, it gets a quarter of what policies and preferences leave.
        brief_tokens: of one turn in it.
        edges: how records are placed: the most relevant first and last (:func:`place_at_edges`), or first.
        count: tokens of a text; your model's tokenizer knows better than the default estimate. It is asked about
            whole prompts, so it need not be additive.

    Raises:
        TypeError, ValueError: a limit is not an int, or below 1 (0 turn_tokens: no recent turns).
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
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
            if value < least:
                raise ValueError(f"{name}: expected {least} or more, got {value}")
        if not isinstance(self.edges, bool):
            raise TypeError(f"edges: expected a bool, got {type(self.edges).__name__}")
        if not callable(self.count):
            raise TypeError(f"count: expected a function of a text, got {type(self.count).__name__}")


@dataclass(frozen=True)
class Block:
    """A titled part of the prompt, and the ids of the records in it (none for recent turns)."""

    name: str
    text: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reserved:
    """Policies and preferences, laid out: what every prompt begins with until one of them changes."""

    policies: tuple[Piece, ...] = ()
    preferences: tuple[Piece, ...] = ()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """One block each, where there is anything."""
        made = (
            _block(name, [_item(*one) for one in pieces], pieces)
            for name, pieces in (("policies", self.policies), ("preferences", self.preferences))
        )
        return tuple(block for block in made if block is not None)

    @cached_property
    def text(self) -> str:
        """The prefix of the prompt."""
        return "".join(block.text for block in self.blocks)

    @cached_property
    def encoded(self) -> dict[str, str]:
        """The records of each block as the JSON that a trace keeps of them: they are in every prompt that is
        recorded."""
        return {"policies": as_json(self.policies), "preferences": as_json(self.preferences)}


@dataclass(frozen=True)
class Envelope:
    """What went into a prompt, what did not, and why. References only: the texts are in the records."""

    budget_tokens: int
    blocks: tuple[Block, ...] = field(default=(), compare=False, repr=False)
    count: Callable[[str], int] = field(default=count_roughly, compare=False, repr=False)
    dropped: tuple[tuple[str, str], ...] = ()
    """Recalled records that are not in the prompt, as (id, reason): "below_floor", "over_item_cap" or "over_budget"."""
    excerpts: tuple[str, ...] = ()
    """Ids of the recalled records of which a part is in the prompt, since they are longer than one may be."""
    reasons: tuple[str, ...] = ()
    """What failed while the prompt was made, as "code: sentence"."""
    query: str = ""
    recalled: Any = field(default=None, compare=False, repr=False)
    """The retrieval itself, None if there was none."""

    @cached_property
    def tokens(self) -> dict[str, int]:
        """How many are in each block, and in the "total"."""
        each = {block.name: self.count(block.text) for block in self.blocks}
        return {**each, "total": self.count("".join(block.text for block in self.blocks)) if each else 0}

    @property
    def mode(self) -> str:
        """What retrieval really ran: "hybrid", "vector", "lexical", "substring" or "none"."""
        return "none" if self.recalled is None else str(self.recalled.mode)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why less ran than was asked for."""
        return (*(() if self.recalled is None else self.recalled.degraded), *self.reasons)

    @cached_property
    def relevance(self) -> str:
        """Whether anything that was recalled fits the question: "high", "standard", "low" or "none"."""
        return "none" if self.recalled is None else str(self.recalled.relevance)

    @cached_property
    def retrieved(self) -> tuple[dict[str, Any], ...]:
        """Of each recalled record, best first: id, kind, score, tier."""
        return tuple(
            {"id": hit.id, "kind": hit.kind, "score": hit.score, "tier": hit.tier}
            for hit in self.recalled or ()
        )

    @cached_property
    def promoted(self) -> tuple[str, ...]:
        """Ids that stand above the fused order because they hold an identifier of the query."""
        return tuple(hit.id for hit in self.recalled or () if hit.identifier)

    @property
    def stages(self) -> tuple[dict[str, Any], ...]:
        """What ran in the retrieval, for how long."""
        return () if self.recalled is None else tuple(self.recalled.trace.to_dicts())

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON's own types."""
        return {
            "budget_tokens": self.budget_tokens,
            "tokens": dict(self.tokens),
            "dropped": [list(one) for one in self.dropped],
            "excerpts": list(self.excerpts),
            "query": self.query,
            "relevance": self.relevance,
            "mode": self.mode,
            "degraded": list(self.degraded),
            "retrieved": [dict(one) for one in self.retrieved],
            "promoted": list(self.promoted),
            "stages": [dict(one) for one in self.stages],
        }


@dataclass(frozen=True)
class Assembled:
    """A prompt: its blocks in order, and the envelope that says how it came about."""

    blocks: tuple[Block, ...]
    trace: Envelope
    pieces: dict[str, tuple[Piece, ...]]
    """The records in it by block: "policies", "preferences", "memories" (most relevant first)."""
    limits: Limits
    summary: str | None = None
    """What stands in it in place of the recent turns."""
    reserved: Reserved = field(default=Reserved(), compare=False, repr=False)
    """What it begins with, as it was laid out."""

    @cached_property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(block.text for block in self.blocks)

    @property
    def prefix(self) -> str:
        """What the prompt begins with as long as policies and preferences are unchanged, byte for byte."""
        return "".join(block.text for block in self.blocks if block.name in RESERVED)

    @property
    def sha256(self) -> str:
        """Of the prompt's UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def ids(self, name: str) -> tuple[str, ...]:
        """Return the ids of the records in one block, in their order; empty if there is no such block.

        Args:
            name: of the block: "policies", "preferences", "memories".
        """
        return next((block.ids for block in self.blocks if block.name == name), ())

    def __repr__(self) -> str:
        shown = ", ".join(f"{block.name} {len(block.ids)}" for block in self.blocks)
        return f"<scrubjay.Assembled {self.trace.tokens['total']} tokens: {shown or 'empty'}>"


def arrange(
    reserved: Reserved,
    ranked: Sequence[Piece],
    turns: Sequence[Turn],
    limits: Limits,
    summary: str | None = None,
    shorten: Shorten | None = None,
) -> Assembled:
    """Return the prompt of these records.

    Args:
        reserved: all of its policies and preferences are in the prompt, in their order.
        ranked: what was recalled, best first. The longest beginning of it that fits is in the prompt, after those over
            `limits.item_tokens` were shortened or left out: so over budget, whole records go, the least relevant
            first.
        turns: the conversation, oldest first; the newest are summarised (:func:`brief`) and stand last.
        limits: how long it may become, and how records are placed.
        summary: stands in place of the turns, if there is one.
        shorten: asked for a shorter piece, within `limits.item_tokens`, in place of one that is longer.

    Raises:
        BudgetError: policies and preferences alone are over the budget. A prompt without a rule that must be kept
            would be silently wrong, and one over budget would be cut elsewhere; the error names a sufficient
            budget.

    >>> rules = Reserved((Piece("policy", "p1", "Never promise refunds.", "refunds"),))
    >>> found = [Piece("fact", "f1", "Jane moved to Toronto.")]
    >>> print(arrange(rules, found, [Turn("user", "Where do I live?")], Limits(200)).text, end="")
    # Policies (always follow)
    - refunds: Never promise refunds.
    <BLANKLINE>
    # Memories (most relevant first)
    - Jane moved to Toronto.
    <BLANKLINE>
    # Recent turns
    - user: Where do I live?
    <BLANKLINE>
    """
    count, budget = limits.count, limits.budget_tokens
    needed = count(reserved.text) if reserved.text else 0
    if needed > budget:
        raise BudgetError(
            f"budget_tokens: policies and preferences alone need {needed}, got {budget}; they are never left out",
            needed,
            budget,
        )
    most = min(limits.turn_tokens, (budget - needed) // 4)
    if summary is None:
        recent = _recent(turns, most, limits)
    else:
        recent = _recent([Turn("summary", summary)], most, replace(limits, brief_tokens=max(1, most)))
    kept: list[Piece] = []
    lines, dropped, excerpts = [], [], []
    for piece in ranked:
        line = _item(*piece)
        if count(line) > limits.item_tokens:
            shorter = shorten(piece, limits.item_tokens, lambda one: count(_item(*one))) if shorten else None
            if shorter is None:
                dropped.append((piece.id, "over_item_cap"))
                continue
            excerpts.append(piece.id)
            piece, line = shorter, _item(*shorter)
        kept.append(piece)
        lines.append(line)

    def whole(n_items: int, last: Block | None) -> tuple[Block, ...]:
        place = place_at_edges if limits.edges else list
        memories = _block("memories", place(lines[:n_items]), place(kept[:n_items]))
        if memories is not None and limits.edges:
            memories = replace(memories, text=memories.text.replace(TITLES["memories"], _AT_EDGES, 1))
        return tuple(block for block in (*reserved.blocks, memories, last) if block is not None)

    def fits(n_items: int) -> bool:
        return count("".join(block.text for block in whole(n_items, recent))) <= budget

    n_items = _most(len(kept), fits)
    if n_items is None:  # tokens do not add up in every tokenizer
        recent, n_items = None, 0
    dropped += [(piece.id, "over_budget") for piece in kept[n_items:]]
    blocks = whole(n_items, recent)
    pieces = {
        "policies": reserved.policies,
        "preferences": reserved.preferences,
        "memories": tuple(kept[:n_items]),
    }
    shown = {piece.id for piece in kept[:n_items]}
    trace = Envelope(budget, blocks, count, tuple(dropped), tuple(id for id in excerpts if id in shown))
    return Assembled(blocks, trace, pieces, limits, summary, reserved)


def brief(turn: Turn, max_tokens: int, count: Callable[[str], int] = count_roughly) -> str | None:
    """Return a turn as one line: whole, or as many sentences from its beginning as fit, or None if not even one does.

    >>> brief(Turn("user", "Book the train. I will tell you later why, it is a long story."), 8)
    '- user: Book the train. [...]'
    """
    longest = _CHARS_A_TOKEN * max_tokens  # of a turn of megabytes only the beginning is looked at
    said = " ".join(turn.text[:longest].split())
    author = " ".join(turn.author.split())
    line = f"- {author}: {said}"
    if not said:
        return None
    if len(turn.text) <= longest and count(line) <= max_tokens:
        return line
    sentences = _SENTENCE_END.split(said)[:-1]
    shorter = [f"- {author}: {' '.join(sentences[: n + 1])} [...]" for n in range(len(sentences))]
    n_kept = _most(len(shorter), lambda n: n == 0 or count(shorter[n - 1]) <= max_tokens)
    return shorter[n_kept - 1] if n_kept else None


def _recent(turns: Sequence[Turn], max_tokens: int, limits: Limits) -> Block | None:
    """The block of the newest turns that fit, in their order. A turn is skipped if not even one sentence of it fits."""
    briefs = (brief(turn, limits.brief_tokens, limits.count) for turn in turns)
    lines = [line + "\n" for line in briefs if line is not None]

    def newest(n: int) -> Block | None:
        return _block("turns", lines[len(lines) - n :], ())

    def fits(n: int) -> bool:
        block = newest(n)
        return block is None or limits.count(block.text) <= max_tokens

    return newest(_most(len(lines), fits) or 0)


def _block(name: str, lines: Sequence[str], pieces: Sequence[Piece]) -> Block | None:
    if not lines:
        return None
    return Block(name, f"# {TITLES[name]}\n{''.join(lines)}\n", tuple(piece.id for piece in pieces))


def _item(kind: str, id: str, text: str, label: str = "") -> str:
    """One record as lines of its own. Lines are what any reader may take for one, so every separator counts."""
    said = f"{label}: {text}" if label else f"Episode: {text}" if kind == "episode" else text
    if "\n" not in said and said.isprintable():
        return f"- {said}\n"
    return "- " + "\n  ".join(said.splitlines()) + "\n"


def _most(n: int, holds: Callable[[int], bool]) -> int | None:
    """The largest number up to n for which `holds`, by bisection, or None if none was found."""
    if holds(n):
        return n
    low, high = -1, n  # holds(low) was seen to be true, or low is -1; holds(high) was seen to be false
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low if low >= 0 else None
