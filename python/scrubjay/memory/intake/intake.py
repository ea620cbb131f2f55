"""Intake: runs, notes and what is known already, turned into proposals to the gate."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread, current_thread

from scrubjay._native import Scope
from scrubjay.locks import renew_in_children
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.intake.consolidation import Consolidated, Merger, consolidate, merge
from scrubjay.memory.intake.distil import Distilled, distil
from scrubjay.memory.intake.extractors import AnyExtractor
from scrubjay.memory.intake.ingest import Ingested, ingest
from scrubjay.memory.intake.relative_dates import checked_languages, language_of, usable
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.trace import Traces
from scrubjay.memory.read.lookup import Lookup


class Intake:
    """Finds what is worth remembering, with extractors and mergers that may be slow.

    Args:
        context: of the memory.
        gate, slots, lookup, traces: of the same.
    """

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

        The run is stabilised (what was taken back is left out, "yesterday" gets its date), the extractor reads it, and
        each candidate goes through the gate. Nothing is locked while the extractor works, and everything is written in
        one transaction.

        Args:
            run_id, scope: of the run.
            extractor: an :class:`Extractor`, or a function from a :class:`Transcript` to candidates. One that has a
                parameter `conversation` is told what was said before as well (:class:`Conversation`): the last turns
                that were distilled already, and the run's summary.

        Raises:
            KeyError: exactly this scope has no such run.
            Exception: what the extractor raises; nothing is written then.
        """
        checked_scope(scope)
        return distil(
            self._context, self._slots, self._gate, self._traces, run_id, extractor, scope, self._languages
        )

    def distil_later(self, run_id: str, extractor: AnyExtractor, scope: Scope) -> Future[Distilled]:
        """The same on a thread of its own, one run after the other; closing the memory waits for them.

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
        """Take the notes of a folder (Markdown and plain text) into memory; again after they changed.

        Each passage becomes a fact under the headings above it, with file and lines as its provenance. Passages that
        are gone since the last time are revoked, those that are as they were cost nothing.

        Args:
            folder: or one file.
            scope: whose notes they are.
            extractor: reads the passages that are new, as in :meth:`distil`; its candidates go through the same gate.
            name: tells folders apart that one scope ingests; by default the folder's own name.

        Each file is one transaction (files between which a passage moved share one). A file that cannot be read today
        keeps what it gave. What is passed over, such as a file that is neither Markdown nor text, is named in `skipped`
        of the report, with the reason. Raises as :meth:`distil` does; files before that one are in.
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
        """Merge what is said twice and sum up episodes of one task type, by proposals to the gate, in one transaction.

        A merged fact is a new one that takes the place of those that it was made of: as a correction, for all of their
        time, or from now on if they have no subject and predicate. They are in force again if it is revoked. A summary
        stands beside its episodes, whose ids its metadata has ("consolidates"). To undo it, revoke the ids of the
        result.

        Args:
            scope: of records in force of exactly this scope.
            merger: takes the records of a group, oldest first, and returns the candidate that is to stand for them, or
                None. The default needs no model: of facts the longest stands for all, episodes stay as they are.
            likeness: share of all words of two facts that both must have (Jaccard). They must be of one subject and
                predicate as well, and differ in no number and no value.
            least_episodes: how many episodes of a task type are worth a summary.
            dry_run: only say what would be proposed.

        Raises:
            TypeError, ValueError: an argument, or what the merger returned; nothing is written.
            Exception: what the merger raises; nothing is written.
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
        """Wait for what is being distilled; to be called before the index is closed."""
        with self._background_lock:
            background, self._background = self._background, None
        if background is not None:
            # An extractor may close the memory: it runs on the thread that would be waited for.
            background.shutdown(wait=self._background_thread is not current_thread())


def _languages(context: MemoryContext) -> tuple[str, ...]:
    """The languages of relative dates beside English: what was asked for, or that of the analyzer."""
    asked = checked_languages(context.settings.dates)
    if asked is not None:
        return asked
    found = language_of(context.backend.engine.analyzer)
    return usable(() if found is None else (found,))
