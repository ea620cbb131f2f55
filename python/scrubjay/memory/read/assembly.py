"""The prompt of a turn: all policies and preferences, then recalled records, then the last turns.

Pure functions over records: nothing here reads a file, and the same records give the same bytes. Blocks are ordered by
lifetime, the most stable first: as long as no policy or preference changes, the prompts of all turns begin with the
same bytes, which model servers cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from scrubjay.base.errors import BudgetError
from scrubjay.memory.read.assembly_result import Assembled, Envelope, Limits
from scrubjay.memory.read.prompt_parts import TITLES, Block, Piece, PromptPrefix, Turn, block_of, item_of
from scrubjay.retrieval.context import count_roughly, place_at_edges

_AT_EDGES = "Memories (most relevant first and last)"
_CHARS_A_TOKEN = 64  # more characters than any tokenizer averages for a token
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")

_NOTHING: Mapping[str, Any] = {}
Shorten: TypeAlias = Callable[[Piece, int, Callable[[Piece], int]], Piece | None]
"""Shortens a piece to a maximum number of tokens by a count; None if nothing is left of it."""


def arrange(
    reserved: PromptPrefix,
    ranked: Sequence[Piece],
    turns: Sequence[Turn],
    limits: Limits,
    summary: str | None = None,
    shorten: Shorten | None = None,
    told: Mapping[str, Any] = _NOTHING,
) -> Assembled:
    """Return the prompt of these records.

    Args:
        reserved: the policies and preferences; all are in the prompt, in order.
        ranked: the recalled records, best first. Records over `limits.item_tokens` are shortened or left out; then the
            longest prefix that fits is in the prompt: over budget, whole records are dropped, the least relevant first.
        turns: the conversation, oldest first; the newest turns are abridged (:func:`brief`) and placed last.
        limits: its maximum lengths, and the placement of records.
        summary: replaces the turns, if given.
        shorten: called for a shorter piece, within `limits.item_tokens`, for one that is longer.
        told: further fields of the envelope; its `dropped` is appended to the records left out here.

    Raises:
        BudgetError: policies and preferences alone are over the budget. A prompt without a mandatory rule would be
            silently wrong, and one over budget would be cut elsewhere; the error names a sufficient budget.

    >>> rules = PromptPrefix((Piece("policy", "p1", "Never promise refunds.", "refunds"),))
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
    fitting: list[Piece] = []
    lines, dropped, excerpts = [], [], []
    for piece in ranked:
        line = item_of(*piece)
        if count(line) > limits.item_tokens:
            shorter = (
                shorten(piece, limits.item_tokens, lambda one: count(item_of(*one))) if shorten else None
            )
            if shorter is None:
                dropped.append((piece.id, "over_item_cap"))
                continue
            excerpts.append(piece.id)
            piece, line = shorter, item_of(*shorter)
        fitting.append(piece)
        lines.append(line)

    def whole(n_items: int, last: Block | None) -> tuple[Block, ...]:
        place = place_at_edges if limits.edges else list
        memories = block_of("memories", place(lines[:n_items]), place(fitting[:n_items]))
        if memories is not None and limits.edges:
            memories = replace(memories, text=memories.text.replace(TITLES["memories"], _AT_EDGES, 1))
        return tuple(block for block in (*reserved.blocks, memories, last) if block is not None)

    def fits(n_items: int) -> bool:
        return count("".join(block.text for block in whole(n_items, recent))) <= budget

    n_items = _most(len(fitting), fits)
    if n_items is None:  # token counts are not additive in every tokenizer
        recent, n_items = None, 0
    dropped += [(piece.id, "over_budget") for piece in fitting[n_items:]]
    blocks = whole(n_items, recent)
    pieces = {
        "policies": reserved.policies,
        "preferences": reserved.preferences,
        "memories": tuple(fitting[:n_items]),
    }
    shown = {piece.id for piece in fitting[:n_items]}
    details = {**told, "dropped": (*dropped, *told.get("dropped", ()))}
    trace = Envelope(budget, blocks, count, excerpts=tuple(id for id in excerpts if id in shown), **details)
    return Assembled(blocks, trace, pieces, limits, summary, reserved)


def brief(turn: Turn, max_tokens: int, count: Callable[[str], int] = count_roughly) -> str | None:
    """Return a turn as one line: whole, or its first sentences that fit, or None if not even one does.

    >>> brief(Turn("user", "Book the train. I will tell you later why, it is a long story."), 8)
    '- user: Book the train. [...]'
    """
    longest = _CHARS_A_TOKEN * max_tokens  # only the beginning of a very long turn is examined
    text = " ".join(turn.text[:longest].split())
    author = " ".join(turn.author.split())
    line = f"- {author}: {text}"
    if not text:
        return None
    if len(turn.text) <= longest and count(line) <= max_tokens:
        return line
    sentences = _SENTENCE_END.split(text)[:-1]
    shorter = [f"- {author}: {' '.join(sentences[: n + 1])} [...]" for n in range(len(sentences))]
    n_kept = _most(len(shorter), lambda n: n == 0 or count(shorter[n - 1]) <= max_tokens)
    return shorter[n_kept - 1] if n_kept else None


def _recent(turns: Sequence[Turn], max_tokens: int, limits: Limits) -> Block | None:
    """Return the block of the newest turns that fit, in order. A turn is skipped if not even its first sentence
    fits."""
    briefs = (brief(turn, limits.brief_tokens, limits.count) for turn in turns)
    lines = [line + "\n" for line in briefs if line is not None]

    def newest(n: int) -> Block | None:
        return block_of("turns", lines[len(lines) - n :], ())

    def fits(n: int) -> bool:
        block = newest(n)
        return block is None or limits.count(block.text) <= max_tokens

    return newest(_most(len(lines), fits) or 0)


def _most(n: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest number up to n for which `holds` by bisection, or None if there is none."""
    if holds(n):
        return n
    low, high = -1, n  # invariant: holds(low), or low is -1; not holds(high)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low if low >= 0 else None
