"""Intake: turns runs, notes and known records into proposals to the gate."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread, current_thread

from scrubjay._native import Scope
from scrubjay.base.locks import renew_in_children
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.intake.consolidation import Consolidated, Merger, consolidate, merge
from scrubjay.memory.intake.distillation import Distilled, distil
from scrubjay.memory.intake.extractors import AnyExtractor
from scrubjay.memory.intake.ingest import Ingested, ingest
from scrubjay.memory.intake.relative_dates import checked_languages, language_of, usable
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.trace import Traces
from scrubjay.memory.read.lookup import Lookup


class Intake:
    """Finds what is worth remembering, with extractors and mergers that may be slow."""

    def __init__(
        self, context: MemoryContext, gate: Gate, slots: Slots, lookup: Lookup, traces: Traces
    ) -> None:
        self._context = context
        self._gate = gate
        self._slots = slots
        self._lookup = lookup
        self._traces = traces
        self._languages = _languages(context)
        self._background: ThreadPoolExecutor | None = None
        self._background_thread: Thread | None = None
        self._background_lock = threading.Lock()
        renew_in_children(self, "_background_lock")

    def distil(self, run_id: str, extractor: AnyExtractor, scope: Scope) -> Distilled:
        """Turn what a run has said since it was last distilled into memories. Idempotent.

        The run is stabilised (retracted turns are left out, "yesterday" gets its date), the extractor reads it, and
        each candidate goes through the gate. Nothing is locked while the extractor works, and everything is written
        in one transaction.

        Args:
            run_id, scope: the run.
            extractor: an :class:`Extractor`, or a function from a :class:`Transcript` to candidates. If it has a
                parameter `conversation`, it also gets what was said before (:class:`Conversation`): the last turns
                that were already distilled, and the run's summary.

        Raises:
            KeyError: exactly this scope has no such run.
            Exception: whatever the extractor raises; nothing is written.
        """
        checked_scope(scope)
        return distil(
            self._context, self._slots, self._gate, self._traces, run_id, extractor, scope, self._languages
        )

    def distil_later(self, run_id: str, extractor: AnyExtractor, scope: Scope) -> Future[Distilled]:
        """Do the same on a background thread, one run after another; closing the memory waits for them.

        A run that was not distilled because the process ended can be distilled by any process later.

        Args:
            run_id, extractor, scope: as for :meth:`Memory.distil`.
        """
        checked_scope(scope)
        with self._background_lock:
            self._context.store.check_open()
            if self._background is None:
                self._background = ThreadPoolExecutor(1, "scrubjay-distil", self._note_background)
            return self._background.submit(partial(self.distil, run_id, extractor, scope=scope))

    def ingest(
        self,
        folder: str | Path,
        scope: Scope,
        extractor: AnyExtractor | None = None,
        name: str | None = None,
    ) -> Ingested:
        """Import the notes of a folder (Markdown and plain text) into memory; repeat it when they have changed.

        Each passage becomes a fact under the headings above it, with file and lines as its provenance. Passages removed
        since the last time are revoked, unchanged ones cost nothing.

        Args:
            folder: a folder, or one file.
            scope: the scope of the notes.
            extractor: reads the new passages, as in :meth:`distil`; its candidates go through the same gate.
            name: distinguishes the folders that one scope ingests; by default the folder's own name.

        Each file is one transaction (files between which a passage moved share one). A file that is unreadable today
        keeps its facts. Skipped files, such as those that are neither Markdown nor text, are in `skipped` of the
        report, with the reason. It raises as :meth:`distil` does; files before the failing one stay imported.
        """
        checked_scope(scope)
        return ingest(self._context, self._gate, folder, scope, extractor, name)

    def consolidate(
        self,
        scope: Scope,
        merger: Merger = merge,
        likeness: float = 0.8,
        least_episodes: int = 5,
        dry_run: bool = False,
    ) -> Consolidated:
        """Merge duplicates, and summarise episodes of one task type, by proposals to the gate, in one transaction.

        A merged fact is a new one that replaces its sources: as a correction, for all of their time, or from now on
        if they have no subject and predicate. They are in force again if it is revoked. A summary stands beside its
        episodes, whose ids are in its metadata ("consolidates"). To undo it, revoke the ids of the result.

        Args:
            scope: the scope; records in force of exactly this scope are consolidated.
            merger: takes the records of a group, oldest first, and returns the candidate that replaces them, or None.
                The default needs no model: the longest fact replaces all, episodes stay as they are.
            likeness: share of all words of two facts that both must have (Jaccard). They must also have one subject and
                predicate, and must not differ in a number or a value.
            least_episodes: the minimum number of episodes of a task type for a summary.
            dry_run: only report what would be proposed.

        Raises:
            TypeError, ValueError: an argument, or the merger's result, is invalid; nothing is written.
            Exception: whatever the merger raises; nothing is written.
        """
        return consolidate(
            self._lookup,
            self._gate,
            self._context.clock,
            scope,
            merger,
            likeness=likeness,
            least_episodes=least_episodes,
            dry_run=dry_run,
        )

    def _note_background(self) -> None:
        self._background_thread = current_thread()

    def close(self) -> None:
        """Wait for running distillations; must be called before the index is closed."""
        with self._background_lock:
            background, self._background = self._background, None
        if background is not None:
            # An extractor may close the memory: it runs on the very thread that would be joined.
            background.shutdown(wait=self._background_thread is not current_thread())


def _languages(context: MemoryContext) -> tuple[str, ...]:
    """Return the languages of relative dates beside English: the configured ones, or that of the analyzer."""
    asked = checked_languages(context.settings.dates)
    if asked is not None:
        return asked
    language = language_of(context.backend.engine.analyzer)
    return usable(() if language is None else (language,))
