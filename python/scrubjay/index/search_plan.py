"""The plan of a search: what can run with the given text, vector and embedder.

hybrid -> vector -> lexical: without an embedder, with one that raises, or without a text the search degrades, and the
result carries the reason ("code: sentence").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scrubjay._native import StaticEmbedder
from scrubjay.index.semantic import Semantics

_NO_TEXT = "no_text: the search gave neither text nor keywords, only the vectors were ranked"
_KEYWORDS_ONLY = (
    "no_query_vector: the search gave keywords but neither text nor vector, only the keywords were ranked"
)


class Plan(NamedTuple):
    """The inputs of the engine's search."""

    mode: str
    lexical_text: str | bytes | None
    vector: Any
    degraded: tuple[str, ...]
    embedder: StaticEmbedder | None = None  # embeds the text during the search


def make_plan(
    mode: str, text: str | bytes | None, vector: Any, keywords: str | bytes | None, degraded: tuple[str, ...]
) -> Plan:
    """Make the plan of one search; `degraded` says why it has no vector, if embedding its text gave none."""
    lexical_text = text if keywords is None else keywords
    if mode == "lexical":
        return Plan(mode, lexical_text, None, ())
    if vector is None:
        if text is None and keywords is not None:
            degraded = (_KEYWORDS_ONLY,)
        if mode == "vector" and lexical_text is not None:
            mode = "lexical"
    elif lexical_text is None and mode == "hybrid":
        degraded = (_NO_TEXT,)
    return Plan(mode, lexical_text, vector, degraded)


def damaged(plan: Plan, counts: tuple[int, int]) -> Plan:
    """Add a reason with the number of visible memories whose vectors in the file cannot be read, if the search uses
    vectors, and one with the number of those that cannot be read at all."""
    n_without_vector, n_lost = counts
    reasons = plan.degraded
    if n_without_vector and plan.mode != "lexical":
        reasons += (
            f"vectors_damaged: {n_without_vector:,} memories have unreadable vectors in the file and are found by "
            "keywords only",
        )
    if n_lost:
        reasons += (
            f"rows_damaged: {n_lost:,} memories in the file cannot be read and were not searched; `scrubjay check` "
            "lists them",
        )
    return plan if reasons is plan.degraded else plan._replace(degraded=reasons)


def incomplete(plan: Plan, n_pending: int) -> Plan:
    """Add a reason with the number of visible memories that are pending, if the search uses vectors."""
    if n_pending == 0 or plan.mode == "lexical":
        return plan
    reason = f"vectors_pending: {n_pending:,} memories are not embedded yet and are found by keywords only"
    return plan._replace(degraded=(*plan.degraded, reason))


def stale(seconds: float) -> str:
    """Return the reason for a search that may miss writes of other processes for longer than `max_stale`."""
    return f"stale: the database has not answered for {seconds:.1f} s; later writes of other processes may be missing"


def make_plans(
    semantics: Semantics,
    modes: Sequence[str],
    texts: Sequence[str | bytes | None],
    vectors: Any,
    keywords: Sequence[str | bytes | None],
) -> list[Plan]:
    """Make the plans of several searches; the texts that need a vector are embedded together."""
    needs = [
        mode != "lexical" and text is not None and vector is None
        for mode, text, vector in zip(modes, texts, vectors, strict=True)
    ]
    native = semantics.native
    on_the_way = [
        need and native is not None and keyword is None for need, keyword in zip(needs, keywords, strict=True)
    ]
    embedded = semantics.queries(
        [
            text if need and not later else None
            for text, need, later in zip(texts, needs, on_the_way, strict=True)
        ]
    )
    return [
        Plan(mode, text, None, (), native)
        if later
        else make_plan(mode, text, own if own is not None else vector, keyword, reasons)
        for mode, text, own, keyword, later, (vector, reasons) in zip(
            modes, texts, vectors, keywords, on_the_way, embedded, strict=True
        )
    ]
