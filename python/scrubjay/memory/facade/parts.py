"""The parts of a memory, each made with those that it needs; the facade holds them and forwards to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scrubjay.backend import Backend, Sweeper
from scrubjay.embedders.accepted import AUTO, EmbedderLike, embedder_of_model
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import Index
from scrubjay.memory.exchange.files import Files
from scrubjay.memory.exchange.markdown import Verbs
from scrubjay.memory.facade.administration import MemoryAdmin
from scrubjay.memory.gate.facts import Facts
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.gate.standing import Standing
from scrubjay.memory.intake.intake import Intake
from scrubjay.memory.ledger import schema
from scrubjay.memory.ledger.asking import Asking
from scrubjay.memory.ledger.context import COLLECTION, MemoryContext
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


def _said(given: object) -> str:
    return "one in memory" if isinstance(given, Index) else type(given).__name__


class Parts:
    """Everything that a memory is made of, over one file.

    Args:
        index: with a file.
        settings: of the memory.
        retriever: makes what searches run through, of a collection.
        owns_index: whether the index is closed with them.
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
                f"index: expected an Index with a file or a database, got {_said(index)}; Memory.open(path) makes both"
            )
        context = self.context = MemoryContext(index, settings)
        self._owns_index = owns_index
        # ------------------------------------------------------------------ what is written
        slots = self.slots = Slots(context)
        promotion = Promotion(context, slots)
        asking = Asking(context)
        self.standing = Standing(context, slots, promotion)
        self.gate = Gate(context, asking, Facts(context, slots, promotion, asking), self.standing)
        self.editing = Editing(context, slots)
        self.rules = Rules(context)
        self.erasure = Erasure(context, slots, promotion, self.rules)
        self.sweeping = Sweeping(context, promotion, self.rules)
        consistency = Consistency(context)
        if schema.prepare(context.store):
            consistency.reindex()  # documents of older formats do not say when they hold
        # ------------------------------------------------------------------ what is read
        self.lookup = Lookup(context)
        self.provenance = ProvenanceReader(context)
        noted = None if index.name == COLLECTION else index
        found = retriever(context.documents)
        notes_retriever = None if noted is None else retriever(noted)
        notes = IndexNotes(noted, notes_retriever, context.documents, context.version_in_file)
        self.recall = Recall(context, found, notes)
        prompts = self.prompts = Prompts(context, self.rules, self.recall)
        traces = Traces(context.store, context.clock, context.version_in_file)
        # ------------------------------------------------------------------ what stands around it
        self.runs = Runs(traces, self.gate, prompts)
        self.intake = Intake(context, self.gate, slots, self.lookup, traces)
        self.feed = Feed(context.changes)
        verbs = Verbs(self.lookup.list, self.gate.propose, self.standing.revoke, self.editing.update)
        self.files = Files(context, slots, self.gate, self.rules, verbs)
        self.admin = MemoryAdmin(context, consistency, self.erasure, self.sweeping, self.intake, self.runs)
        seconds = settings.sweep_every_s
        self.sweeper = Sweeper(self.sweeping.sweep)
        if seconds is not None:
            self.sweeper.start(seconds)

    def close(self) -> None:
        """End what runs by itself, forget what is kept, and close the index if it is theirs."""
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
    """Open the memory in a file, or make one; an index's file gets the tables of memory beside its own.

    Args:
        path: one SQLite file.
        embedder: as for :meth:`Index.open`; None: facts and episodes are found by keywords alone.
        clock: microseconds since 1970, for tests; None: the system's.
        judge: which facts contradict each other (:class:`DefaultJudge`).
        decay: how facts grow old.
        retention_days: how long revoked records, superseded preferences and rejections are kept to be asked about.
        history_days: how long facts are kept that were superseded, or whose time is over; None: for good.
        retriever: makes what searches run through of the collection of facts and episodes, with a rewriter or
            reranker of yours: ``lambda documents: Retriever(documents, reranker=mine)``. It is called once more for
            the notes; where a scope has notes, rewriter and reranker are asked for both.
        validate: key of a policy or preference -> a function that is called with each value that is proposed for
            it. A value does not fit if it raises, or returns False: the proposal is rejected, with what it raised
            as the reason. `jsonschema`'s ``Draft202012Validator(schema).validate`` is such a function.
        classify: is called with each candidate that is proposed without a `sensitivity`, whatever its kind (all have
            a `text`), and returns its class ("personal"), or None; a finder of personal data, say. What it raises
            refuses the proposal.
        sweep_every: a timedelta or seconds: :meth:`MemoryAdmin.sweep` runs on a thread of this process so often, until
            the memory is closed. None: only when it is called.
        dates: languages ("de", "fr", ...) whose relative dates get their dates before a run is distilled, beside
            English (extra `dates`). None: that of the analyzer, where the extra is installed.
        options: further ones of :meth:`Index.open` (durability, busy_timeout, memory_budget, keys). With `keys`
            all that is said in the memory of a tenant with a key is encrypted in the file: texts, values, subjects,
            predicates, evidence, metadata and places of records, what an episode did, events of traces, what was
            refused, reasons. Ids, the names of tenants, users, agents, authors and runs, keys of policies and
            preferences, kinds, statuses, numbers and times stay readable, and the reasons of deletion events. What
            was there before is encrypted by :meth:`Admin.encrypt`, and refused until then (see `encryption` of
            :meth:`Index.open`).

    Raises:
        StoreFormatError: the file is not an index, or of a newer format.
        StoreError, StoreBusyError, CorruptIndexError: it cannot be opened, or is damaged.
        EmbedderMismatchError: it holds vectors of another model.
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    Calls that need a tenant's key raise EncryptionError where it cannot be had (:meth:`recall` finds nothing and
    says so). A tenant whose key was destroyed is as if erased, and :meth:`forget` removes what is left.
    """
    index = Index.open(path, embedder, **options)
    try:
        if (of_memory := _of_memory(index, embedder)) is not None:
            index.close()
            index = Index.open(path, of_memory, **options)
        return Parts(index, settings, retriever, owns_index=True)
    except BaseException:
        index.close()
        raise


def _of_memory(index: Index, given: EmbedderLike | None) -> Embedder | None:
    """Return the embedder that "auto" means where only the memory has vectors, the documents beside it have none."""
    if not (isinstance(given, str) and given == AUTO) or index.embedder is not None:
        return None
    if COLLECTION not in index.admin.collections():
        return None
    stats = index.collection(COLLECTION).admin.stats()
    return None if stats["embedder"] is None else embedder_of_model(str(stats["embedder"]), None)
