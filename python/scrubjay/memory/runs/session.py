"""A session: one run of an agent, which another process can continue.

Everything durable is in the trace; a session object holds only scratch state and the envelope of a prompt whose
answer is pending. Any process may therefore continue a run by its id.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeVar

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.base.initialised import guarded
from scrubjay.base.locks import renew_in_children
from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.ledger.event_drafts import Draft, check_run_id
from scrubjay.memory.ledger.trace import CONVERSATION, DAY_US, RETENTION_DAYS, State, TraceEvent, Traces
from scrubjay.memory.model.candidates import Candidate, EpisodeCandidate, Outcome, Provenance
from scrubjay.memory.model.names import Retention
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.read.turns import N_TURNS
from scrubjay.store.rows.listing import checked_count

__all__ = ["CONVERSATION", "Session", "SessionMemory", "prompt_data"]

_OURS = ("prompt", "retraction")
_FIELDS = ("kind", "content", "author", "data", "at")
_NEVER = 2**63

Self = TypeVar("Self", bound="Session")


class SessionMemory(Protocol):
    """The part of a memory that a session needs."""

    @property
    def traces(self) -> Traces:
        """The traces to which events are appended."""
        ...

    def propose(
        self, candidate: Candidate | Mapping[str, Any] | str, *, scope: Scope, source: Provenance | str
    ) -> Outcome:
        """Propose a candidate to the gate."""
        ...

    def assemble(
        self, text: str, scope: Scope, budget_tokens: int, *, turns: Sequence[Any], **options: Any
    ) -> Assembled:
        """Return the prompt for a query."""
        ...


class _Recent(NamedTuple):
    """The last turns of a run in one of its states, and the time for which they are valid (microseconds since 1970)."""

    state: State
    turns: tuple[TraceEvent, ...]
    since: int
    until: int


@guarded
class Session:
    """One run: events in, prompts out. Made by `Memory.session`. Thread-safe.

    Args:
        memory: the memory of the run.
        scope: the scope of the run; only exactly this scope sees it.
        run_id: its name. An existing run is continued.
        retention: how long new events are kept, a name in :data:`RETENTION_DAYS`.

    A prompt is recorded together with the event that follows it, in one transaction, so that requesting one waits for
    no disk; :meth:`close` (or leaving a `with` block) records one that nothing followed. It is recorded with the
    texts of all its records as they were: they stay in the trace until its retention ends or the scope is forgotten,
    even if a record is deleted later. If something visible to the scope is deleted or forgotten before the prompt is
    recorded, the prompt is not recorded, so that nothing deleted is brought back.

    >>> import tempfile
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     rule = memory.prefer("tone", "Brief answers.", scope=jane)
    ...     with memory.session(jane, "chat-7") as session:
    ...         event = session.user("Hello!")
    ...         prompt = session.assemble().text
    ...     again = memory.replay("chat-7", jane).prompts()
    ...     again[0].faithful, again[0].assembled.text == prompt, session.turn
    (True, True, 1)
    >>> folder.cleanup()

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """

    def __init__(
        self, memory: SessionMemory, scope: Scope, run_id: str, retention: Retention = "standard"
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        check_run_id(run_id)
        if not isinstance(retention, str) or retention not in RETENTION_DAYS:
            raise ValueError(f"retention: expected one of {sorted(RETENTION_DAYS)}, got {retention!r}")
        self.scope = scope
        self.run_id = run_id
        self.scratch: dict[str, Any] = {}
        """Arbitrary values, for the lifetime of this object. Never written anywhere."""
        self._memory = memory
        self._retention = retention
        # Prompt, numbers of its turns, time, and the number of the last deletion event before it.
        self._pending: list[tuple[Assembled, list[int], int, int]] = []
        self._lock = threading.RLock()  # append calls the memory's clock and key provider, which may re-enter
        self._is_writing = False
        self._recent: _Recent | None = None
        renew_in_children(self, "_lock")

    # ------------------------------------------------------------------ events in

    def user(self, content: str, **options: Any) -> TraceEvent:
        """Append what the user said; it begins the next turn.

        Args:
            content: what was said.
            options: `author`, `data` and `at` of :meth:`append`.
        """
        return self.append("user", content, **options)

    def model(self, content: str, **options: Any) -> TraceEvent:
        """Append what the model said.

        Args:
            content: what was said.
            options: `author`, `data` and `at` of :meth:`append`.
        """
        return self.append("model", content, **options)

    def tool(self, content: str, **options: Any) -> TraceEvent:
        """Append a tool's input or output; name the tool with `author`.

        Args:
            content: what was said.
            options: `author`, `data` and `at` of :meth:`append`.
        """
        return self.append("tool", content, **options)

    def append(
        self,
        kind: str,
        content: str,
        *,
        author: str | None = None,
        data: Mapping[str, Any] | None = None,
        at: CreatedAt | None = None,
    ) -> TraceEvent:
        """Append one event; it is durable when this returns.

        Args:
            kind: "user", "model", "tool" or any other name of up to 64 of a-z, 0-9 and _; "prompt" and "retraction" are
                written by :meth:`assemble` and :meth:`retract`.
            content: what was said.
            author: the speaker; by default the kind.
            data: JSON to store with it.
            at: when it happened; by default now.
        """
        return self.extend([{"kind": kind, "content": content, "author": author, "data": data, "at": at}])[0]

    def extend(self, events: Iterable[Mapping[str, Any]]) -> list[TraceEvent]:
        """Append several events in one transaction, all or none; each a mapping with the arguments of
        :meth:`append`."""
        drafts = []
        for position, event in enumerate(events):
            try:
                drafts.append(_draft(event))
            except (TypeError, ValueError) as error:
                raise type(error)(f"events[{position}]: {error}" if position else str(error)) from None
        return self._write(drafts)

    def retract(self, seq: int, why: str = "") -> TraceEvent:
        """Retract an event: it stays in the trace, and is left out of later prompts and of distillation.

        Args:
            seq: the number of the event.
            why: a reason, kept in the trace.

        Raises:
            TypeError, ValueError: this run has no such event.
        """
        if isinstance(seq, bool) or not isinstance(seq, int):
            raise TypeError(f"seq: expected an int, got {type(seq).__name__}")
        is_number = 0 < seq < 2**62
        held = self._memory.traces.events(self.scope, self.run_id, after=seq - 1) if is_number else []
        if not held or held[0].seq != seq or held[0].kind in _OURS:
            raise ValueError(f"seq: expected the number of an event of this run, got {seq}")
        return self._write([Draft.of("retraction", why, data={"retracts": seq})])[0]

    def _write(self, drafts: list[Draft]) -> list[TraceEvent]:
        with self._lock:
            if self._is_writing:
                raise StoreError(
                    "this session is already appending: the memory's clock or key provider called it again"
                )
            pending = [_prompt_draft(*prompt) for prompt in self._pending]
            if not pending and not drafts:
                return []
            self._is_writing = True
            now = self._memory.traces.clock()
            try:
                written = self._memory.traces.append(
                    self.scope, self.run_id, [*pending, *drafts], self._retention, len(pending)
                )
            finally:
                self._is_writing = False
            del self._pending[: len(pending)]
            self._heard(written, len(pending), now)
        return written

    def position(self, event: TraceEvent) -> int:
        """Return the position of an event among the turns of the conversation, not counting prompts and tools.

        Args:
            event: an event of this run.
        """
        return self._memory.traces.position(self.scope, self.run_id, event.seq)

    # ------------------------------------------------------------------ memories out

    def propose(self, candidate: Candidate | Mapping[str, Any] | str) -> Outcome:
        """Propose something to remember, with this run and turn as its source; see `Memory.propose`.

        Args:
            candidate: as for :meth:`scrubjay.Memory.propose`.
        """
        source = Provenance(run=self.run_id, turn=self.turn)
        return self._memory.propose(candidate, scope=self.scope, source=source)

    def complete(
        self,
        summary: str,
        outcome: str = "success",
        *,
        task_type: str = "",
        steps: Sequence[str] = (),
        artifacts: Sequence[str] = (),
    ) -> Outcome:
        """Record a completed task: an episode, with this run as its source.

        Args:
            summary: what was done.
            outcome: how it ended.
            task_type: a name shared by similar tasks.
            steps: what was done, in order.
            artifacts: the results.
        """
        return self.propose(EpisodeCandidate(summary, outcome, task_type, tuple(steps), tuple(artifacts)))

    # ------------------------------------------------------------------ prompts out

    @property
    def turn(self) -> int:
        """The number of the current turn, from 1; 0 before the user said anything."""
        run = self._memory.traces.run(self.scope, self.run_id)
        return 0 if run is None else run.n_turns

    def events(self) -> list[TraceEvent]:
        """Return all events within their retention, in order."""
        return self._memory.traces.events(self.scope, self.run_id)

    def recent(self, n: int = N_TURNS) -> list[TraceEvent]:
        """Return the last n turns of the conversation, oldest first, without retracted ones."""
        n = checked_count(n, "n")
        return self._read_recent(n)[0]

    def _read_recent(self, n: int) -> tuple[list[TraceEvent], int | None]:
        """Return the last n turns, and when the first of the events read reaches the end of its retention."""
        kinds = (*CONVERSATION, "retraction")
        found, until = self._memory.traces.tail_until(self.scope, self.run_id, n, kinds)
        if any(event.kind == "retraction" for event in found):  # it follows the event that it retracts
            found, until = self._memory.traces.tail_until(self.scope, self.run_id, 2 * n, kinds)
        # A list, because a damaged file may contain unhashable values.
        retracted = [event.data.get("retracts") for event in found if event.kind == "retraction"]
        turns = [event for event in found if event.kind in CONVERSATION and event.seq not in retracted]
        return turns[-n:], until

    def _turns_now(self) -> Sequence[TraceEvent]:
        """Return the last turns for a prompt: the cached ones, unless another writer appended or deleted something,
        or the first of them has reached the end of its retention."""
        traces = self._memory.traces
        state, now = traces.state(self.scope, self.run_id), traces.clock()
        last = self._recent
        if state is not None and last is not None and last.state == state and last.since <= now < last.until:
            return last.turns
        turns, until = self._read_recent(N_TURNS)
        if state is not None:  # read before the turns: later events belong to a later state
            self._recent = _Recent(state, tuple(turns), now, _NEVER if until is None else until)
        return turns

    def _heard(self, written: Sequence[TraceEvent], n_unseen: int, now: int) -> None:
        """Update the cached turns with events written here, after `n_unseen` others of this write, at `now` or
        later."""
        last, self._recent = self._recent, None
        if last is None or not written or written[0].seq != last.state.n_events + n_unseen + 1:
            return  # another writer wrote as well
        if any(event.kind == "retraction" for event in written):
            return
        turns = (*last.turns, *(event for event in written if event.kind in CONVERSATION))[-N_TURNS:]
        days = RETENTION_DAYS[self._retention]
        until = last.until if days is None else min(last.until, now + days * DAY_US)
        state = last.state._replace(n_events=written[-1].seq)
        self._recent = _Recent(state, turns, last.since, until)

    def assemble(self, query: str | None = None, budget_tokens: int = 2000, **options: Any) -> Assembled:
        """Return the prompt of this turn, as `Memory.assemble` does, with this run's last turns; it is recorded.

        Args:
            query: the question for which memories are recalled; by default what the user said last.
            budget_tokens: maximum of the whole prompt.
            options: further options of `Memory.assemble`.

        Raises:
            ValueError: there is no query, because the user has not said anything.
            BudgetError: policies and preferences alone are over the budget.
        """
        deletion = self._memory.traces.last_deletion(self.scope.tenant)  # before anything is read
        turns = self._turns_now()
        if query is None:
            query = next((turn.content for turn in reversed(turns) if turn.kind == "user"), None)
            if query is None:
                raise ValueError("query: expected a str, because the user has not said anything in this run")
        assembled = self._memory.assemble(query, self.scope, budget_tokens, turns=turns, **options)
        with self._lock:
            seqs = [turn.seq for turn in turns]
            self._pending.append((assembled, seqs, self._memory.traces.clock(), deletion))
        return assembled

    def flush(self) -> None:
        """Record a prompt that no event followed."""
        self._write([])

    def close(self) -> None:
        """Do the same; the run stays, and may be continued."""
        self.flush()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scrubjay.Session {self.run_id!r} of {self.scope!r}>"


def _prompt_draft(assembled: Assembled, seqs: Sequence[int], at: int, deletion: int) -> Draft:
    known = {
        name: data
        for name, data in assembled.reserved.encoded.items()
        if assembled.pieces.get(name) is getattr(assembled.reserved, name)
    }
    return Draft.of_prompt(prompt_data(assembled, seqs, known), at, deletion, known)


def _draft(event: Mapping[str, Any]) -> Draft:
    if not isinstance(event, Mapping):
        raise TypeError(f"expected a mapping, got {type(event).__name__}")
    for name in ("kind", "content"):
        if name not in event:
            raise ValueError(f"{name}: expected a value, it is missing")
    for name in event:
        if name not in _FIELDS:
            raise ValueError(f"{name}: unknown field, expected {', '.join(_FIELDS)}")
    if event["kind"] in _OURS:
        raise ValueError(f"kind: {event['kind']!r} is written by the session itself")
    return Draft.of(**event)


def prompt_data(made: Assembled, seqs: Sequence[int], known: Collection[str] = ()) -> dict[str, Any]:
    """Return the recorded data of a prompt: every record in it, as it was, so that the prompt can be rebuilt. Pieces
    that are `known` as JSON stay as they are."""
    return {
        "pieces": {
            name: pieces if name in known else [list(piece) for piece in pieces]
            for name, pieces in made.pieces.items()
        },
        "turns": list(seqs),
        "limits": {
            name: getattr(made.limits, name)
            for name in ("budget_tokens", "item_tokens", "turn_tokens", "brief_tokens", "edges")
        },
        "summary": made.summary,
        "envelope": made.trace.fields(),
        "sha256": made.sha256,
    }
