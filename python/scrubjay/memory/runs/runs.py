"""Runs of agents: sessions that write them, and replays that read them."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.ledger.context import checked_scope
from scrubjay.memory.ledger.event_drafts import check_run_id
from scrubjay.memory.ledger.trace import TraceEvent, Traces
from scrubjay.memory.model.names import Retention
from scrubjay.memory.read.prompts import Prompts
from scrubjay.memory.runs.replaying import Replay
from scrubjay.memory.runs.session import Session
from scrubjay.store.rows.listing import checked_count


class Runs:
    """The runs of a memory."""

    def __init__(self, traces: Traces, gate: Gate, prompts: Prompts) -> None:
        self.traces = traces
        self.propose = gate.propose
        self.assemble = prompts.assemble

    def session(self, scope: Scope, run_id: str, *, retention: Retention = "standard") -> Session:
        """Begin a run, or continue one of any process: events in, prompts out.

        Args:
            scope: the scope of the run; only exactly this scope sees it.
            run_id: its name, unique within the scope.
            retention: how long events are kept: "short" (7 days), "standard" (90), "long" (365) or "permanent".
        """
        return Session(self, scope, run_id, retention)

    def replay(self, run_id: str, scope: Scope) -> Replay:
        """Return a run from its trace: its events, and each of its prompts rebuilt.

        Args:
            run_id: the name of the run.
            scope: its exact scope.

        Raises:
            KeyError: exactly this scope has no such run.
        """
        checked_scope(scope)
        check_run_id(run_id)
        if self.traces.run(scope, run_id) is None:
            raise KeyError(f"run_id: this scope has no run {run_id!r}")
        return Replay(run_id, scope, tuple(self.traces.events(scope, run_id)))

    def runs(self, scope: Scope) -> list[str]:
        """Return the names of the runs of exactly this scope, oldest first."""
        checked_scope(scope)
        return [run.run_id for run in self.traces.runs(scope)]

    def find_in_traces(
        self, text: str, scope: Scope, *, run_id: str | None = None, limit: int = 100
    ) -> list[tuple[str, TraceEvent]]:
        """Return (run id, event) for events of exactly this scope that contain `text`, newest first; for forensics.

        Args:
            text: a substring; case is ignored.
            scope: the exact scope of the runs.
            run_id: search only this run.
            limit: the maximum number.
        """
        checked_scope(scope)
        limit = checked_count(limit, "limit", at_least=1)
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        if run_id is not None:
            check_run_id(run_id)
        return self.traces.find(scope, text, run_id=run_id, limit=limit)
