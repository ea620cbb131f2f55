"""Which options does this build of Scrubjay have, and how is it asked?

The suite outlives single versions: an option that a build lacks is reported as not available, never guessed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.memories import CANDIDATES, RRF_K, Memories, Question, write_blocks

K = 10
RECALLS = (0.9, 0.95, 0.98, 0.99)


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Whether a function, Python's or native, has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        first = (function.__doc__ or "").split("\n")[0]
        return re.search(rf"\b{name}:", first) is not None


def recall_settings(
    search: Callable[..., Any], recalls: Sequence[float] = RECALLS
) -> dict[str, dict[str, Any]]:
    """The settings of recall that this build offers, by name: at least the default."""
    found: dict[str, dict[str, Any]] = {"default": {}}
    if accepts(search, "recall"):
        found |= {f"recall={recall}": {"recall": recall} for recall in recalls}
        found["exact"] = {"recall": "exact"}
    elif accepts(search, "exact"):
        found["exact"] = {"exact": True}
    return found


def filled(memories: Memories, blocks: Sequence[Any] | None = None) -> Any:
    """An engine with the memories (of some blocks)."""
    import scrubjay

    engine = scrubjay.Engine(memories.vectors.shape[1])
    write_blocks(engine, memories, memories.blocks if blocks is None else blocks)
    return engine


def asker(engine: Any, k: int = K, **options: Any) -> Callable[[Question], Any]:
    """How a caller asks: one call, and the two arrays of its result."""
    search = engine.search

    def ask(question: Question) -> Any:
        ids, scores = search(
            question.query.text,
            vector=question.vector,
            scope=question.scope,
            k=k,
            candidates=CANDIDATES,
            rrf_k=RRF_K,
            **options,
        )
        return ids, scores

    return ask


def found_by(
    ask: Callable[[Question], Any], questions: Sequence[Question]
) -> list[tuple[Question, list[int]]]:
    """Each question with the numbers it finds."""
    return [(question, [int(number) for number in ask(question)[0]]) for question in questions]
