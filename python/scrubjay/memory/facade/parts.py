"""The parts of a memory, each constructed with the parts it needs; the facade holds them and forwards to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scrubjay.backend import Sweeper
from scrubjay.embedders.accepted import AUTO, EmbedderLike, embedder_of_model
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.memory.exchange.files import Files
from scrubjay.memory.exchange.markdown import Verbs
from scrubjay.memory.facade.administration import MemoryAdmin
from scrubjay.memory.gate.confirmation import Confirmation
from scrubjay.memory.gate.facts import Facts
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.intake.intake import Intake
from scrubjay.memory.intake.relative_dates import checked_languages
from scrubjay.memory.ledger import schema
from scrubjay.memory.ledger.context import COLLECTION, MemoryContext
from scrubjay.memory.ledger.preparation import Preparation
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.trace import Traces
from scrubjay.memory.lifecycle.consistency import Consistency
from scrubjay.memory.lifecycle.editing import Editing
from scrubjay.memory.lifecycle.erasure import Erasure
from scrubjay.memory.lifecycle.sweeping import Sweeping
from scrubjay.memory.model.settings import Settings
from scrubjay.memory.read.feed import Feed
from scrubjay.memory.read.index_notes import IndexNotes
from scrubjay.memory.read.lookup import Lookup
from scrubjay.memory.read.prompts import Prompts
from scrubjay.memory.read.provenance import ProvenanceReader
from scrubjay.memory.read.recall import Recall
from scrubjay.memory.read.rules import Rules
from scrubjay.memory.runs.runs import Runs
from scrubjay.retrieval.retriever import Retriever


def _shown(value: object) -> str:
    return "one in memory" if isinstance(value, Index) else type(value).__name__


def _check(settings: Settings, retriever: object) -> None:
    """Raise TypeError or ValueError for arguments that the parts would refuse after the file has their tables."""
    if not callable(retriever):
        raise TypeError(f"retriever: expected a function of an Index, got {type(retriever).__name__}")
    checked_languages(settings.dates)


class Parts:
    """All parts of a memory over one file.

    Args:
        index: an index with a file or a database.
        settings: the settings of the memory.
        retriever: makes the retriever of a collection; searches run through it.
        owns_index: whether closing the parts closes the index.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        retriever: Callable[[Index], Retriever],
        *,
        owns_index: bool = False,
    ) -> None:
        if not isinstance(index, Index) or not Backend.of(index).is_durable:
            raise TypeError(
                f"index: expected an Index with a file or a database, got {_shown(index)}; Memory.open(path) makes both"
            )
        _check(settings, retriever)
        context = self.context = MemoryContext(index, settings)
        self._owns_index = owns_index
        # ------------------------------------------------------------------ writing
        slots = self.slots = Slots(context)
        promotion = Promotion(context, slots)
        preparation = Preparation(context)
        self.confirmation = Confirmation(context, slots, promotion)
        self.gate = Gate(
            context, preparation, Facts(context, slots, promotion, preparation), self.confirmation
        )
        self.editing = Editing(context, slots)
        self.rules = Rules(context)
        self.erasure = Erasure(context, slots, promotion, self.rules)
        self.sweeping = Sweeping(context, promotion, self.rules)
        consistency = Consistency(context)
        if schema.prepare(context.store):
            consistency.reindex()  # documents of older formats lack the columns of their validity
        # ------------------------------------------------------------------ reading
        self.lookup = Lookup(context)
        self.provenance = ProvenanceReader(context)
        noted = None if index.name == COLLECTION else index
        found = retriever(context.documents)
        notes_retriever = None if noted is None else retriever(noted)
        notes = IndexNotes(noted, notes_retriever, context.documents, context.version_in_file)
        self.recall = Recall(context, found, notes)
        prompts = self.prompts = Prompts(context, self.rules, self.recall)
        traces = Traces(context.store, context.clock, context.version_in_file)
        # ------------------------------------------------------------------ runs, intake, files, administration
        self.runs = Runs(traces, self.gate, prompts)
        self.intake = Intake(context, self.gate, slots, self.lookup, traces)
        self.feed = Feed(context.changes)
        verbs = Verbs(self.lookup.list, self.gate.propose, self.confirmation.revoke, self.editing.update)
        self.files = Files(context, slots, self.gate, self.rules, verbs)
        self.admin = MemoryAdmin(context, consistency, self.erasure, self.sweeping, self.intake, self.runs)
        seconds = settings.sweep_every_s
        self.sweeper = Sweeper(self.sweeping.sweep)
        if seconds is not None:
            self.sweeper.start(seconds)

    def close(self) -> None:
        """Stop the background threads, drop the caches, and close the index if the parts own it."""
        self.sweeper.stop()
        self.intake.close()
        self.recall.close()
        self.rules.clear()
        if self._owns_index:
            self.context.index.close()

    def __str__(self) -> str:
        context = self.context
        if context.backend.is_closed:
            return f"closed: {context.index.path}"
        return f"{len(context.documents):,} documents of facts and episodes: {context.index.path}"


def open_parts(
    path: str | Path,
    embedder: EmbedderLike | None,
    settings: Settings,
    retriever: Callable[[Index], Retriever],
    options: Mapping[str, Any],
) -> Parts:
    """Open the memory in a file, or create it; the file of an index gets memory's tables beside its own.

    Args:
        path: one SQLite file, or a PostgreSQL URL.
        embedder: as for :meth:`Index.open`; None: facts and episodes are found by keywords alone.
        clock: returns microseconds since 1970, for tests; None: the system's clock.
        judge: decides which facts contradict each other (:class:`DefaultJudge`).
        decay: how facts age.
        retention_days: how long revoked records, superseded preferences and rejections are kept for :meth:`why`.
        history_days: how long superseded facts, and facts whose time is over, are kept; None: forever.
        retriever: makes the :class:`Retriever` of the collection of facts and episodes, with your rewriter or
            reranker: ``lambda documents: Retriever(documents, reranker=mine)``. It is called once more for the
            notes; where a scope has notes, the rewriter and reranker are called for both.
        validate: maps the key of a policy or preference to a function that is called with each value proposed for
            it. If the function raises or returns False, the proposal is rejected, with the error as the reason.
            `jsonschema`'s ``Draft202012Validator(schema).validate`` is such a function.
        classify: called with each candidate of any kind (all have a `text`) that is proposed without a
            `sensitivity`; returns its class ("personal") or None. A detector of personal data, say. If it raises,
            the proposal is rejected.
        sweep_every: a timedelta or seconds: the interval at which :meth:`MemoryAdmin.sweep` runs on a thread of this
            process until the memory is closed. None: it runs only when called.
        dates: languages ("de", "fr", ...) in which relative dates are resolved before a run is distilled, beside
            English (extra `dates`). None: the language of the analyzer, if the extra is installed.
        options: further options of :meth:`Index.open` (durability, busy_timeout, memory_budget, keys). With `keys`
            the memory of a tenant with a key is encrypted in the file: texts, values, subjects, predicates,
            evidence, metadata and places of records, steps of episodes, events of traces, rejected content,
            reasons. Ids, the names of tenants, users, agents, authors and runs, keys of policies and preferences,
            kinds, statuses, numbers and times stay readable, and so do the reasons of deletion events. Existing
            records are encrypted by :meth:`Admin.encrypt`, and cannot be read until then (see `encryption` of
            :meth:`Index.open`).

    Raises:
        StoreFormatError: the file is not an index, or has a newer format.
        StoreError, StoreBusyError, CorruptIndexError: it cannot be opened, or is damaged.
        EmbedderMismatchError: it contains vectors of another model.
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    Calls that need a tenant's key raise EncryptionError where it is unavailable (:meth:`recall` returns nothing and
    says so). A tenant whose key was destroyed counts as erased; :meth:`forget` removes the remaining rows.
    """
    _check(settings, retriever)  # before the file is created
    index = Index.open(path, embedder, **options)
    try:
        if (of_memory := _of_memory(index, embedder)) is not None:
            index.close()
            index = Index.open(path, of_memory, **options)
        return Parts(index, settings, retriever, owns_index=True)
    except BaseException:
        index.close()
        raise


def _of_memory(index: Index, wanted: EmbedderLike | None) -> Embedder | None:
    """Return the embedder that "auto" means if only the memory has vectors and the documents beside it have none."""
    if not (isinstance(wanted, str) and wanted == AUTO) or index.embedder is not None:
        return None
    if COLLECTION not in index.admin.collections():
        return None
    stats = index.collection(COLLECTION).admin.stats()
    return None if stats["embedder"] is None else embedder_of_model(str(stats["embedder"]), None)
