"""The options of this build of Scrubjay, and the calls of the benchmark.

The suite covers several versions: an option that a build lacks is reported as not available.
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
    """Return whether a function, in Python or native, has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        first = (function.__doc__ or "").split("\n")[0]
        return re.search(rf"\b{name}:", first) is not None


def recall_settings(recalls: Sequence[float] = RECALLS) -> dict[str, dict[str, Any]]:
    """Return the recall settings by name, the default first."""
    found: dict[str, dict[str, Any]] = {"default": {}}
    found |= {f"recall={recall}": {"recall": recall} for recall in recalls}
    return {**found, "exact": {"recall": "exact"}}


def textbook_query(**settings: Any) -> Any:
    """Return plain reciprocal rank fusion of 50 candidates of each ranking, which the oracle also computes."""
    from scrubjay import RRF, Query

    return Query(RRF(RRF_K), identifier_tier=False, candidates=CANDIDATES, **settings)


def filled(memories: Memories, blocks: Sequence[Any] | None = None) -> Any:
    """Return an engine with the memories (of some blocks)."""
    import scrubjay

    engine = scrubjay.Engine(memories.vectors.shape[1], k1=1.2, b=0.75)
    write_blocks(engine, memories, memories.blocks if blocks is None else blocks)
    return engine


def asker(engine: Any, k: int = K, **settings: Any) -> Callable[[Question], Any]:
    """Return the caller's operation: one call, and the two arrays of its result."""
    search, query = engine.search, textbook_query(**settings)

    def ask(question: Question) -> Any:
        ids, scores = search(
            question.query.text,
            vector=question.vector,
            scope=question.scope,
            k=k,
            query=query,
        )
        return ids, scores

    return ask


def found_by(
    ask: Callable[[Question], Any], questions: Sequence[Question]
) -> list[tuple[Question, list[int]]]:
    """Return each question with the numbers it finds."""
    return [(question, [int(number) for number in ask(question)[0]]) for question in questions]
