"""The part of Memory that stands around its core: prompts, sessions, distillation, notes.

What the core (gate, records, recall) is asked for is declared at the top of the class, and nothing else of it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.session import Session
from scrubjay.memory.trace import Traces

__all__ = ["AroundMemory"]


class AroundMemory:
    """Prompts, sessions, distillation and notes of a memory."""

    # ------------------------------------------------------------------ asked of the core
    # The core's class sets or defines these.

    traces: Traces
    known: Callable[..., Any]
    """known(scope): .policies (each .id, .key, .text) and .preferences (the same), in order."""
    recall: Callable[..., Any]
    """recall(query, scope, kinds=, k=): the hits in order, each with .id, .kind, .text, .score, .tier; and .mode,
    .degraded, .trace of the retrieval."""
    propose: Callable[..., Any]
    propose_all: Callable[..., Any]
    """propose_all([(candidate, scope, provenance), ...], also=function of the open Change or None) -> [Outcome, ...]:
    several proposals through the gate in their order in ONE transaction (each sees those before it; embedded before
    it begins), with further rows written by `also` at its start; if anything raises, nothing of all is written.
    Distillation is idempotent because what was distilled is written in the same transaction."""

    def session(self, scope: Scope, run_id: str, *, retention: str = "standard") -> Session:
        """Begin a run, or go on with one."""
        return Session(self, scope, run_id, retention)  # type: ignore[arg-type]

    def _recent(self, turns: Sequence[Any]) -> Sequence[Any]:
        return turns
