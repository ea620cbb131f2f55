"""Selection of recalled hits for a prompt, and their lines: with time, relevance, and the fact that overrides them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol, TypeAlias

from scrubjay._native import Scope
from scrubjay.index.relevance import best_of, reaches
from scrubjay.memory.model.cardinality import canonical
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.model.records import Fact
from scrubjay.memory.read.prompt_parts import Turn
from scrubjay.memory.read.recall_result import RecalledHit

Summarise: TypeAlias = Callable[[Sequence[Turn]], str]
"""Summarises a conversation."""


class Line(Protocol):
    """Writes the text of a hit in a prompt."""

    def __call__(self, hit: RecalledHit) -> str:
        """Return the text of one item; several lines are indented as one."""
        ...


def dated(hit: RecalledHit) -> str:
    """Return the text of a hit with the day since when it is true, the day on which it ends (if any), and its
    relevance: "Jane lives in Oslo (since 2026-03-01; high)". A plan has its planned day: "Jane moves to Rome (planned
    for 2026-06-01; high)". A note without a time shows none."""
    when = _when(hit)
    return f"{hit.text} ({when}; {hit.relevance})" if when else f"{hit.text} ({hit.relevance})"


def over_floor(
    hits: Sequence[RecalledHit], floor: str
) -> tuple[Sequence[RecalledHit], Sequence[RecalledHit]]:
    """Return the hits that go into a prompt, and those that stay out.

    All stay out unless the best is as relevant as `floor`; then only hits without relevance do. With floor "none" all
    go in.
    """
    if floor == "none":
        return hits, ()
    tiers = [hit.relevance for hit in hits]
    answered = reaches(best_of(tiers), floor)
    inside: list[RecalledHit] = []
    outside: list[RecalledHit] = []
    for hit, tier in zip(hits, tiers, strict=True):
        (inside if answered and tier != "none" else outside).append(hit)
    return inside, outside


def overriding(hits: Sequence[RecalledHit], is_single: Callable[[str, str], bool | None]) -> dict[str, str]:
    """Return, by the ids of overridden facts, the text that holds instead.

    A statement in a narrower scope overrides one that is shared with it: of facts in different scopes about one
    subject and a predicate with one value at a time, those of the narrowest scope hold (user and agent, user, agent,
    tenant).

    Args:
        hits: recalled records.
        is_single: whether a predicate (with a content) has one value at a time, for facts that do not state it.
    """
    slots: dict[tuple[str, str], list[RecalledHit]] = {}
    if len({hit.scope for hit in hits}) < 2:
        return {}
    for hit in hits:
        metadata = hit.metadata
        subject, predicate = metadata.get("subject"), metadata.get("predicate")
        if hit.kind == "fact" and isinstance(subject, str) and isinstance(predicate, str):
            slots.setdefault((normalised(subject), canonical(predicate)), []).append(hit)
    found: dict[str, str] = {}
    for (_, predicate), rivals in slots.items():
        if len({hit.scope for hit in rivals}) < 2:
            continue
        holding = max(rivals, key=lambda hit: _narrowness(hit.scope))
        fact = holding.record  # rarely read: only if several scopes have facts in one slot
        if not isinstance(fact, Fact):
            continue
        if not (is_single(predicate, fact.content) if fact.single is None else fact.single):
            continue
        for hit in rivals:
            narrower = _narrowness(holding.scope) > _narrowness(hit.scope)
            if narrower and normalised(hit.text) != normalised(holding.text):
                found[hit.id] = holding.text
    return found


def summary_of(summarise: Summarise, turns: Sequence[Turn]) -> tuple[str | None, tuple[str, ...]]:
    """Return the summary of a conversation, None if the summariser failed, and the reasons.

    Raises:
        TypeError: it did not return a str.
    """
    try:
        summary = summarise(turns)
    except Exception as error:  # noqa: BLE001 - on any error the turns themselves are used
        return None, (f"summariser_failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}",)
    if not isinstance(summary, str):
        raise TypeError(f"summarise: expected a function that returns a str, got {type(summary).__name__}")
    return summary, ()


def _narrowness(scope: Scope) -> tuple[bool, bool]:
    return scope.user is not None, scope.agent is not None


def _when(hit: RecalledHit) -> str:
    if hit.kind == "note":
        created_at = hit.hit.created_at
        return "" if created_at is None else created_at.date().isoformat()
    metadata = hit.metadata
    begin, end = _day(metadata.get("valid_from")), _day(metadata.get("valid_until"))
    if hit.kind == "episode":
        return begin
    if metadata.get("relation") == "plans":
        plan = hit.record  # rarely read: the planned day is not among the intervals of a plan
        at = plan.valid_from if isinstance(plan, Fact) else None
        return f"planned for {at.date().isoformat()}" if at else f"a plan of {begin}"
    return f"{begin} to {end}" if end else f"since {begin}" if begin else ""


def _day(moment: object) -> str:
    return _date(moment) if type(moment) is int else ""


@lru_cache(maxsize=4096)
def _date(moment: int) -> str:
    return as_moment(moment).date().isoformat()
