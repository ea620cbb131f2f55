"""The memory: what an agent knows, kept by kind, written through a gate, recalled in scope, forgotten on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from scrubjay.backend import Backend
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import Index
from scrubjay.locks import renew_in_children
from scrubjay.memory import schema
from scrubjay.memory.administration import MemoryAdmin
from scrubjay.memory.around import AroundMemory
from scrubjay.memory.base import COLLECTION
from scrubjay.memory.decay import Decay
from scrubjay.memory.feed import Feed
from scrubjay.memory.files import Files
from scrubjay.memory.index_notes import IndexNotes
from scrubjay.memory.judge import DefaultJudge, Judge
from scrubjay.memory.sensitivity import Classify, checked_classifier
from scrubjay.memory.sweeping import Sweeper, interval_of
from scrubjay.memory.values import Validators, checked_validators
from scrubjay.retrieval.retriever import Retriever

__all__ = ["Memory"]

Self = TypeVar("Self", bound="Memory")


class Memory(AroundMemory):
    """Five kinds of memory in one file, each with its own life, and the notes beside them.

    ==========  ==========================================================  ===========================================
    kind        how it is read                                              how it lives
    ==========  ==========================================================  ===========================================
    policy      :meth:`known`: by key within the tenant, never ranked       versions that never change; confirmed,
                                                                            in force from and until
    preference  :meth:`known`: all of a user's, by key                      replaced by key; a time to live
    fact        :meth:`recall`: searched in scope                           provisional, active, superseded, revoked
    episode     :meth:`recall`: searched in scope                           long-lived
    (note)      :meth:`recall`: what :class:`scrubjay.Index` wrote          as long as it stays there
    trace       :meth:`replay` by run                                       append-only; retention
    ==========  ==========================================================  ===========================================

    Every durable write passes the gate (:meth:`propose`). Scope is required wherever something is read or written; a
    record of another scope is as if it did not exist. All methods may be called from any thread, and several processes
    may have the file open.

    >>> import tempfile
    >>> from scrubjay import FactCandidate, Scope
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     said = FactCandidate("Jane lives in Berlin", "Jane", "lives in")
    ...     berlin = memory.propose(said, scope=jane, source="run-1")
    ...     said = FactCandidate("Jane lives in Oslo", "Jane", "lives in")
    ...     oslo = memory.propose(said, scope=jane, source="run-2")
    ...     answer = memory.prefer("tone", "Answer briefly.", scope=jane)
    ...     rule = memory.policy("refunds", "Never promise refunds.", tenant="acme", by="legal")
    ...     print(oslo.status, oslo.superseded == berlin.id)
    ...     print(memory.recall("where does Jane live?", jane).texts)
    ...     print([one.text for one in (*memory.known(jane).policies, *memory.known(jane).preferences)])
    superseded True
    ['Jane lives in Oslo']
    ['Never promise refunds.', 'Answer briefly.']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        index: Index,
        *,
        clock: Callable[[], int] | None = None,
        judge: Judge | None = None,
        decay: Decay | None = None,
        retention_days: float = 90.0,
        history_days: float | None = None,
        retriever: Callable[[Index], Retriever] = Retriever,
        validate: Validators | None = None,
        classify: Classify | None = None,
        sweep_every: timedelta | float | None = None,
    ) -> None:
        """Use :meth:`open`; this one takes an index that is open already, and does not close it.

        Args:
            index: with a file.
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
            classify: is called with each fact and episode that is proposed without a `sensitivity`, and returns its
                class ("personal"), or None; a finder of personal data, say. What it raises refuses the proposal.
            sweep_every: a timedelta or seconds: :meth:`sweep` runs on a thread of this process so often, until the
                memory is closed. None: only when it is called.
        """
        if isinstance(index, Index):
            Backend.of(index).need_file("Memory")
        if not isinstance(index, Index) or index.path is None:
            raise TypeError("index: expected an Index with a file; open one with Index.open(path)")
        if judge is not None and not isinstance(judge, Judge):
            raise TypeError(f"judge: expected an object with contradicts(), got {type(judge).__name__}")
        for name, days in (("retention_days", retention_days), ("history_days", history_days)):
            if days is None and name == "history_days":
                continue
            if isinstance(days, bool) or not isinstance(days, (int, float)):
                raise TypeError(f"{name}: expected a number, got {type(days).__name__}")
            if not 0 <= days < 1e6:
                raise ValueError(f"{name}: expected 0 or more, below a million, got {days}")
        seconds = interval_of(sweep_every)
        self.index = index
        self.documents = index.collection(COLLECTION)
        self._backend = Backend.of(self.documents, owner=True)
        self.clock = clock or (lambda: time.time_ns() // 1000)
        if clock is not None:
            self._backend.use_clock(clock)
        self.judge = judge or DefaultJudge()
        self.decay = decay or Decay()
        self.retention_days = retention_days
        self.history_days = history_days
        self.validate = checked_validators(validate)
        self.classify = checked_classifier(classify)
        self._kept = {}
        self._kept_lock = threading.Lock()
        self._background_lock = threading.Lock()
        renew_in_children(self, "_kept_lock", "_background_lock")
        self._owns_index = False
        self.feed = Feed(self)
        self.files = Files(self)
        self.admin = MemoryAdmin(self)
        if schema.prepare(self.store):
            self.reindex()  # documents of older formats do not say when they hold
        self.retriever = retriever(self.documents)
        noted = None if index.name == COLLECTION else index
        self._notes = IndexNotes(noted, None if noted is None else retriever(noted), self.documents)
        self._sweeper = None if seconds is None else Sweeper(self, seconds)

    @classmethod
    def open(
        cls: type[Self],
        path: str | Path,
        embedder: Embedder | None = None,
        *,
        clock: Callable[[], int] | None = None,
        judge: Judge | None = None,
        decay: Decay | None = None,
        retention_days: float = 90.0,
        history_days: float | None = None,
        retriever: Callable[[Index], Retriever] = Retriever,
        validate: Validators | None = None,
        classify: Classify | None = None,
        sweep_every: timedelta | float | None = None,
        **options: Any,
    ) -> Self:
        """Open the memory in a file, or make one; an index's file gets the tables of memory beside its own.

        Args:
            path: one SQLite file.
            embedder: as for :meth:`Index.open`; None: facts and episodes are found by keywords alone.
            clock, judge, decay, retention_days, history_days, retriever, validate, classify, sweep_every: as in the
                constructor.
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

        Calls that need a tenant's key raise EncryptionError where it cannot be had (:meth:`recall` finds nothing and
        says so). A tenant whose key was destroyed is as if erased, and :meth:`forget` removes what is left.
        """
        index = Index.open(path, embedder, **options)
        try:
            memory = cls(
                index,
                clock=clock,
                judge=judge,
                decay=decay,
                retention_days=retention_days,
                history_days=history_days,
                retriever=retriever,
                validate=validate,
                classify=classify,
                sweep_every=sweep_every,
            )
        except BaseException:
            index.close()
            raise
        memory._owns_index = True
        return memory

    def close(self) -> None:
        """Close the file, if :meth:`open` opened it. Other calls raise ClosedError then."""
        if self._sweeper is not None:
            self._sweeper.close()
        self._close_around()
        self.retriever.close()
        self._notes.close()
        self.forget_known()
        if self._owns_index:
            self.index.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._backend.is_closed:
            return f"<scrubjay.Memory closed: {self.index.path}>"
        return f"<scrubjay.Memory {len(self.documents):,} documents of facts and episodes: {self.index.path}>"
