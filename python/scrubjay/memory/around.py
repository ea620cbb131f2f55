"""The part of Memory that stands around its core: prompts, sessions, distillation, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock, Thread, current_thread
from typing import Any

from scrubjay._native import Scope
from scrubjay.index.relevance import checked_tier
from scrubjay.memory.assembly import Assembled, Limits, Piece, Reserved, Turn, arrange
from scrubjay.memory.base import checked_scope
from scrubjay.memory.distil import Distilled, distil
from scrubjay.memory.extractors import Extractor
from scrubjay.memory.forgetting import Forgetting
from scrubjay.memory.ingest import Ingested, ingest
from scrubjay.memory.lines import Line, dated, over_floor, overriding, summary_of
from scrubjay.memory.recall import KINDS, Recall, RecalledHit
from scrubjay.memory.records import Known
from scrubjay.memory.replaying import Replay
from scrubjay.memory.session import N_TURNS, Session, as_turns, check_run_id
from scrubjay.memory.stabilise import Transcript
from scrubjay.memory.trace import TraceEvent, Traces
from scrubjay.payload import CreatedAt
from scrubjay.retrieval.context import count_roughly
from scrubjay.retrieval.rewriting import Conversation

__all__ = ["AroundMemory"]

K_RECALLED = 20
FLOOR = "standard"
_MAX_RESERVED = 1000


class AroundMemory(Forgetting, Recall):
    """Prompts, sessions, distillation and notes of a memory."""

    @cached_property
    def traces(self) -> Traces:
        """The traces in the file."""
        return Traces(self.store, self.clock)

    @cached_property
    def _reserved(self) -> dict[tuple[str, str | None], tuple[Known, Reserved]]:
        return {}

    _background: ThreadPoolExecutor | None = None
    _background_thread: Thread | None = None
    _background_lock: Lock

    # ------------------------------------------------------------------ prompts

    def assemble(
        self,
        text: str,
        scope: Scope,
        budget_tokens: int = 2000,
        *,
        turns: Iterable[Any] = (),
        k: int = K_RECALLED,
        kinds: Sequence[str] = KINDS,
        item_tokens: int = 200,
        turn_tokens: int = 300,
        count: Callable[[str], int] = count_roughly,
        line: Line = dated,
        floor: str = FLOOR,
        edges: bool = False,
        summarise: Callable[[Sequence[Turn]], str] | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
        **options: Any,
    ) -> Assembled:
        """Return the prompt for a question: all policies and preferences in force, what is recalled, the last turns.

        Args:
            text: what memories are recalled for.
            scope: who asks.
            budget_tokens: of the whole prompt, as `count` counts. Over budget, recalled records are left out whole, the
                least relevant first; policies and preferences never are.
            turns: the conversation, oldest first: events of a session, (author, text) pairs, or mappings with "role"
                and "content". The last eight are summarised at the end of the prompt, and told to a rewriter that takes
                a conversation.
            k, kinds, options: of :meth:`recall`.
            item_tokens: of one recalled record; a longer one is left out whole.
            turn_tokens: of the summary of recent turns.
            count: tokens of a text; your model's tokenizer knows better than the default estimate.
            line: what a prompt shows of a recalled hit (a template of yours: ``lambda hit: f"{hit.id}: {hit.text}"``);
                by default its text, since when it is so, and its tier ("high", "standard", "low").
            floor: how relevant the best record has to be for anything to go in: "low", "standard" or "high"; then what
                is of "low" relevance goes in, too. What stays out is in `trace.dropped` as "below_floor". "none":
                everything that was recalled goes in.
            edges: place the most relevant records first and last, the least in the middle, where models read least.
            summarise: what stands in place of the recent turns: a function of all turns that were given, as
                (author, text), to one text. Of one that is over `turn_tokens` the first sentences are taken. If it
                raises, the turns stand there, and `trace.degraded` says so.
            as_of, known_at: the time that is asked for, as in :meth:`recall`; None: now.

        The prompt begins with the same bytes as long as policies and preferences are the same (`.prefix`), and is no
        longer for a long conversation than for a short one. `.trace` says what went in, and what did not.

        Raises:
            BudgetError: policies and preferences alone are over the budget.
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        least = checked_tier(floor, "floor")
        limits = Limits(budget_tokens, item_tokens, turn_tokens, count=count, edges=edges)
        given = turns if isinstance(turns, (list, tuple)) else list(turns)
        said = as_turns(given if summarise is not None else given[-N_TURNS:])
        reserved = self._reserve(scope, as_of, known_at)
        summary, reasons = (None, ()) if summarise is None else summary_of(summarise, said)
        if said:
            heard = Conversation(tuple((turn.author, turn.text) for turn in said[-N_TURNS:]), summary or "")
            options.setdefault("conversation", heard)
        recalled = self.recall(text, scope, kinds=kinds, k=k, as_of=as_of, known_at=known_at, **options)
        fitting, below = over_floor(recalled, least)
        overridden = overriding(fitting, self._is_single)
        ranked = [Piece(hit.kind, hit.id, _line_of(line, hit, overridden.get(hit.id))) for hit in fitting]
        made = arrange(reserved, ranked, said[-N_TURNS:], limits, summary)
        dropped = (*made.trace.dropped, *((hit.id, "below_floor") for hit in below))
        trace = replace(made.trace, query=text, recalled=recalled, dropped=dropped, reasons=reasons)
        return replace(made, trace=trace)

    def _reserve(self, scope: Scope, as_of: CreatedAt | None, known_at: CreatedAt | None) -> Reserved:
        """Lay out what is known; again only if it changed."""
        known = self.known(scope, as_of=as_of, known_at=known_at)
        key = (scope.tenant, scope.user)
        kept = self._reserved.get(key)
        if kept is not None and kept[0] is known:
            return kept[1]
        reserved = Reserved(
            tuple(Piece("policy", one.id, one.text, one.key) for one in known.policies),
            tuple(Piece("preference", one.id, one.text, one.key) for one in known.preferences),
        )
        if len(self._reserved) >= _MAX_RESERVED:
            self._reserved.clear()
        self._reserved[key] = (known, reserved)
        return reserved

    # ------------------------------------------------------------------ sessions

    def session(self, scope: Scope, run_id: str, *, retention: str = "standard") -> Session:
        """Begin a run, or continue one of any process: events in, prompts out.

        Args:
            scope: whose run it is; only exactly this scope sees it.
            run_id: its name, unique within the scope.
            retention: how long events are kept: "short" (7 days), "standard" (90), "long" (365) or "permanent".
        """
        return Session(self, scope, run_id, retention)

    def replay(self, run_id: str, scope: Scope) -> Replay:
        """Return a run from its trace: its events, and each of its prompts made again.

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
        """Return (run id, event) of events of exactly this scope that hold `text`, newest first; for forensics."""
        checked_scope(scope)
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"limit: expected an int, got {type(limit).__name__}")
        if limit < 1:
            raise ValueError(f"limit: expected 1 or more, got {limit}")
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        if run_id is not None:
            check_run_id(run_id)
        return self.traces.find(scope, text, run_id=run_id, limit=limit)

    # ------------------------------------------------------------------ distillation, notes

    def distil(
        self, run_id: str, extractor: Extractor | Callable[[Transcript], Any], *, scope: Scope
    ) -> Distilled:
        """Turn what a run has said since it was last distilled into memories. Idempotent.

        The run is stabilised (what was taken back is left out, "yesterday" gets its date), the extractor reads it, and
        each candidate goes through the gate. Nothing is locked while the extractor works, and everything is written in
        one transaction.

        Args:
            run_id, scope: of the run.
            extractor: an :class:`Extractor`, or a function from a :class:`Transcript` to candidates.

        Raises:
            KeyError: exactly this scope has no such run.
            Exception: what the extractor raises; nothing is written then.
        """
        checked_scope(scope)
        return distil(self, self.traces, run_id, extractor, scope)

    def distil_later(
        self, run_id: str, extractor: Extractor | Callable[[Transcript], Any], *, scope: Scope
    ) -> Future[Distilled]:
        """The same on a thread of its own, one run after the other; closing the memory waits for them.

        A run that was not distilled because the process ended can be distilled by any process later.
        """
        checked_scope(scope)
        with self._background_lock:
            self.store.check_open()
            if self._background is None:
                self._background = ThreadPoolExecutor(1, "scrubjay-distil", self._note_background)
            return self._background.submit(partial(self.distil, run_id, extractor, scope=scope))

    def ingest(
        self,
        folder: str | Path,
        *,
        scope: Scope,
        extractor: Extractor | Callable[[Transcript], Any] | None = None,
        name: str | None = None,
    ) -> Ingested:
        """Take the notes of a folder (Markdown and plain text) into memory; again after they changed.

        Each passage becomes a fact under the headings above it, with file and lines as its provenance. Passages that
        are gone since the last time are revoked, those that are as they were cost nothing.

        Args:
            folder: or one file.
            scope: whose notes they are.
            extractor: reads the passages that are new, as in :meth:`distil`; its candidates go through the same gate.
            name: tells folders apart that one scope ingests; by default the folder's own name.

        Each file is one transaction (files between which a passage moved share one). A file that cannot be read today
        keeps what it gave. Raises as :meth:`distil` does; files before that one are in.
        """
        checked_scope(scope)
        return ingest(self, folder, scope, extractor, name)

    def _note_background(self) -> None:
        self._background_thread = current_thread()

    def _close_around(self) -> None:
        """Wait for what is being distilled; called by `close` before the index is closed."""
        with self._background_lock:
            background, self._background = self._background, None
        if background is not None:
            # An extractor may close the memory: it runs on the thread that would be waited for.
            background.shutdown(wait=self._background_thread is not current_thread())


def _line_of(line: Line, hit: RecalledHit, overridden_by: str | None) -> str:
    said = line(hit)
    if not isinstance(said, str):
        raise TypeError(f"line: expected a function that returns a str, got {type(said).__name__}")
    return said if overridden_by is None else f"{said} [does not hold here: {overridden_by}]"
