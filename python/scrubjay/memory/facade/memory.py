"""The `Memory` facade: records by kind, written through the gate, recalled in scope, erased on request."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from scrubjay._native import Scope
from scrubjay.documents.payload import CreatedAt
from scrubjay.embedders.accepted import EmbedderLike
from scrubjay.fusion import Query, Relevance
from scrubjay.index import Index
from scrubjay.index.shared_docstrings import documented
from scrubjay.memory.exchange.files import Files
from scrubjay.memory.facade.administration import MemoryAdmin
from scrubjay.memory.facade.parts import Parts, open_parts
from scrubjay.memory.gate.confirmation import Confirmation
from scrubjay.memory.gate.gate import Gate, Proposed
from scrubjay.memory.intake.distillation import Distilled
from scrubjay.memory.intake.extractors import AnyExtractor
from scrubjay.memory.intake.ingest import Ingested
from scrubjay.memory.intake.intake import Intake
from scrubjay.memory.lifecycle.editing import Editing
from scrubjay.memory.lifecycle.erasure import Erasure, Forgotten
from scrubjay.memory.lifecycle.sweeping import Sweeping
from scrubjay.memory.model.answers import Rejection, Why
from scrubjay.memory.model.candidates import Candidate, Outcome, Provenance
from scrubjay.memory.model.decay import Decay
from scrubjay.memory.model.judge import Judge
from scrubjay.memory.model.names import (
    RECALLED_KINDS,
    RECORD_KINDS,
    Floor,
    RecalledKind,
    RecordKind,
    Retention,
)
from scrubjay.memory.model.records import Fact, Known, Policy, Record
from scrubjay.memory.model.sensitivity import Classify
from scrubjay.memory.model.settings import Settings
from scrubjay.memory.model.values import Validators
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.read.feed import Feed
from scrubjay.memory.read.lookup import ListingPosition, Lookup
from scrubjay.memory.read.prompt_lines import Line, Summarise, dated
from scrubjay.memory.read.prompts import FLOOR, K_RECALLED, Prompts
from scrubjay.memory.read.provenance import ProvenanceReader
from scrubjay.memory.read.recall import Recall
from scrubjay.memory.read.recall_result import Recalled
from scrubjay.memory.read.rules import Rules
from scrubjay.memory.runs.replaying import Replay
from scrubjay.memory.runs.runs import Runs
from scrubjay.memory.runs.session import Session
from scrubjay.retrieval.context import count_roughly
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.rewriting import Conversation
from scrubjay.store.writing.write_batches import Change

Self = TypeVar("Self", bound="Memory")


class Memory:
    """Five kinds of memory in one file, each with its own lifetime, and notes beside them (:mod:`scrubjay.memory`).

    Every durable write passes the gate (:meth:`propose`). Every read and every write names a scope; a record of another
    scope is treated as if it did not exist. All methods are thread-safe, and several processes may have the file open.

    >>> import tempfile
    >>> from scrubjay import FactCandidate, Scope
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     berlin = memory.propose(FactCandidate("Jane lives in Berlin", "Jane", "lives in"), jane, source="run-1")
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
        self, index: Index, *, clock: Callable[[], int] | None = None, judge: Judge | None = None,
        decay: Decay | None = None, retention_days: float = 90.0, history_days: float | None = None,
        retriever: Callable[[Index], Retriever] = Retriever, validate: Validators | None = None,
        classify: Classify | None = None, sweep_every: timedelta | float | None = None,
        dates: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """As :meth:`Memory.open`, over an index with a file that is open already; closing the memory leaves it open."""
        settings = clock, judge, decay, retention_days, history_days, validate, classify, sweep_every, dates
        self._parts = Parts(index, Settings.checked(*settings), retriever)

    @classmethod
    @documented(open_parts)
    def open(
        cls: type[Self], path: str | Path, embedder: EmbedderLike | None = None, *,
        clock: Callable[[], int] | None = None, judge: Judge | None = None, decay: Decay | None = None,
        retention_days: float = 90.0, history_days: float | None = None,
        retriever: Callable[[Index], Retriever] = Retriever, validate: Validators | None = None,
        classify: Classify | None = None, sweep_every: timedelta | float | None = None,
        dates: Sequence[str] | None = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Open the memory in a file, or create it; the file of an index gets memory's tables beside its own."""
        settings = clock, judge, decay, retention_days, history_days, validate, classify, sweep_every, dates
        memory = cls.__new__(cls)
        memory._parts = open_parts(path, embedder, Settings.checked(*settings), retriever, options)
        return memory

    @property
    def index(self) -> Index:
        """The index of the file; its documents are the notes beside the memory."""
        return self._parts.context.index

    @property
    def documents(self) -> Index:
        """The collection of facts and episodes. Only the memory writes to it."""
        return self._parts.context.documents

    @property
    def feed(self) -> Feed:
        """The change feed of the records, with a cursor."""
        return self._parts.feed

    @property
    def files(self) -> Files:
        """Import and export: dumps, Markdown, files of other memory systems."""
        return self._parts.files

    @property
    def admin(self) -> MemoryAdmin:
        """The operator's methods: check, compact, sweep, global policies, legal holds, ..."""
        return self._parts.admin

    # ------------------------------------------------------------------ writing and erasing

    @documented(Gate.propose)
    def propose(
        self, candidate: Candidate | Mapping[str, Any] | str, scope: Scope, source: Provenance | str,
        raise_if_rejected: bool = False,
    ) -> Outcome:  # fmt: skip
        """Propose something to remember."""
        return self._parts.gate.propose(candidate, scope, source, raise_if_rejected)

    @documented(Gate.propose_all)
    def propose_all(
        self, proposals: Iterable[Proposed], also: Callable[[Change, Sequence[Outcome]], None] | None = None,
        revoke: Iterable[tuple[str, Scope, str]] = (), raise_if_rejected: bool = False,
    ) -> builtins.list[Outcome]:  # fmt: skip
        """Propose several candidates in one transaction, in order; each sees those before it."""
        return self._parts.gate.propose_all(proposals, also, revoke, raise_if_rejected)

    @documented(Gate.add)
    def add(
        self, content: Any, *, scope: Scope, kind: RecordKind = "fact", source: Provenance | str = "direct",
        **fields: Any,
    ) -> Outcome:  # fmt: skip
        """Write a record through the gate: proposes a candidate of this kind with these fields."""
        return self._parts.gate.add(content, scope=scope, kind=kind, source=source, **fields)

    @documented(Gate.policy)
    def policy(
        self, key: str, text: Any = "", *, tenant: str | Scope, value: Any = None, type: str = "",
        effective_from: CreatedAt | None = None, effective_until: CreatedAt | None = None,
        by: str | None = None, source: Provenance | str = "admin", sensitivity: str = "",
    ) -> Outcome:  # fmt: skip
        """Write the next version of a policy."""
        return self._parts.gate.policy(
            key, text, tenant=tenant, value=value, type=type, effective_from=effective_from, by=by, source=source,
            effective_until=effective_until, sensitivity=sensitivity,
        )  # fmt: skip

    @documented(Gate.prefer)
    def prefer(
        self, key: str, text: Any = "", *, scope: Scope, value: Any = None, type: str = "",
        source: str = "user_stated", confidence: float = 1.0, expires_at: CreatedAt | datetime | None = None,
        ttl: float | None = None, provenance: Provenance | str = "direct", sensitivity: str = "",
    ) -> Outcome:  # fmt: skip
        """Write a preference of a user or, if `scope` names no user, of the tenant."""
        return self._parts.gate.prefer(
            key, text, scope=scope, value=value, type=type, source=source, confidence=confidence,
            expires_at=expires_at, ttl=ttl, provenance=provenance, sensitivity=sensitivity,
        )  # fmt: skip

    @documented(Confirmation.confirm)
    def confirm(self, id: str, *, by: str, scope: Scope) -> Outcome:
        """Bring a tenant's provisional fact or policy into force."""
        return self._parts.confirmation.confirm(id, by=by, scope=scope)

    @documented(Confirmation.revoke)
    def revoke(self, id: str, *, reason: str, scope: Scope, by: str | None = None) -> None:
        """Take a record out of force permanently."""
        self._parts.confirmation.revoke(id, reason=reason, scope=scope, by=by)

    @documented(Editing.update)
    def update(self, id: str, *, scope: Scope, by: str | None = None, **changes: Any) -> Record:
        """Change a fact, episode or preference; it keeps its id."""
        return self._parts.editing.update(id, scope=scope, by=by, **changes)

    @documented(Sweeping.feedback)
    def feedback(self, id: str, used: bool = True, *, scope: Scope) -> None:
        """Record that a fact or episode was useful (or was not): facts in use do not fade."""
        self._parts.sweeping.feedback(id, used, scope=scope)

    @documented(Erasure.delete)
    def delete(self, id: str, *, scope: Scope, reason: str = "delete", by: str | None = None) -> bool:
        """Delete a record and everything stored about it."""
        return self._parts.erasure.delete(id, scope=scope, reason=reason, by=by)

    @documented(Erasure.forget)
    def forget(
        self, user: str | Scope | None = None, tenant: str | None = None, agent: str | None = None,
        reason: str = "forget", by: str | None = None, names: bool = False,
    ) -> Forgotten:  # fmt: skip
        """Erase all data of a user (or an agent, or a whole tenant), of all kinds, in one transaction."""
        return self._parts.erasure.forget(user, tenant, agent, reason, by, names)

    # ------------------------------------------------------------------ reading

    @documented(Rules.known)
    def known(
        self, scope: Scope, *, as_of: CreatedAt | None = None, known_at: CreatedAt | None = None,
        without: Sequence[str] = (),
    ) -> Known:  # fmt: skip
        """Return all policies in force for the tenant and all preferences of the user."""
        return self._parts.rules.known(scope, as_of=as_of, known_at=known_at, without=without)

    @documented(Rules.policies)
    def policies(self, tenant: str | Scope | None, key: str | None = None) -> builtins.list[Policy]:
        """Return all versions of a tenant's policies (None: of the global ones), or those of one key."""
        return self._parts.rules.policies(tenant, key)

    @documented(Recall.recall)
    def recall(
        self, text: str, scope: Scope, kinds: Sequence[RecalledKind] = RECALLED_KINDS, k: int = 10,
        task_type: str | None = None, filter: Mapping[str, Any] | None = None,
        relevance: Relevance | str | None = None, query: Query | None = None, as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None, conversation: Conversation | None = None, without: Sequence[str] = (),
    ) -> Recalled:  # fmt: skip
        """Return the k facts, episodes and notes in force that are most relevant to a question."""
        return self._parts.recall.recall(
            text, scope, kinds, k, task_type, filter, relevance, query, as_of, known_at, conversation, without,
        )  # fmt: skip

    @documented(Prompts.assemble)
    def assemble(
        self, text: str, scope: Scope, budget_tokens: int = 2000, turns: Iterable[Any] = (),
        k: int = K_RECALLED, kinds: Sequence[RecalledKind] = RECALLED_KINDS, item_tokens: int = 200,
        turn_tokens: int = 300, count: Callable[[str], int] = count_roughly, line: Line = dated,
        floor: Floor = FLOOR, edges: bool = False, summarise: Summarise | None = None,
        as_of: CreatedAt | None = None, known_at: CreatedAt | None = None, without: Sequence[str] = (), **options: Any,
    ) -> Assembled:  # fmt: skip
        """Return the prompt for a question: all policies and preferences in force, recalled memories, last turns."""
        return self._parts.prompts.assemble(
            text, scope, budget_tokens, turns, k, kinds, item_tokens, turn_tokens, count, line, floor, edges,
            summarise, as_of, known_at, without, **options,
        )  # fmt: skip

    @documented(Lookup.get)
    def get(
        self, id: str, scope: Scope, hidden: bool = False, as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
    ) -> Record | None:  # fmt: skip
        """Return a record that is visible to `scope` and in force, or None."""
        return self._parts.lookup.get(id, scope, hidden, as_of, known_at)

    @documented(Lookup.list)
    def list(
        self, scope: Scope, kinds: Sequence[RecordKind] = RECORD_KINDS, hidden: bool = False, exact: bool = False,
        limit: int | None = None, subject: str | None = None, run: str | None = None, as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None, without: Sequence[str] = (), after: ListingPosition | None = None,
    ) -> builtins.list[Record]:  # fmt: skip
        """Return the records visible to `scope`, kind by kind, oldest first."""
        return self._parts.lookup.list(
            scope, kinds, hidden, exact, limit, subject, run, as_of, known_at, without, after,
        )  # fmt: skip

    @documented(Lookup.history)
    def history(
        self, subject: str, predicate: str, scope: Scope, known_at: CreatedAt | None = None
    ) -> builtins.list[Fact]:
        """Return all facts of one slot that are visible to `scope`, whatever their status."""
        return self._parts.lookup.history(subject, predicate, scope, known_at)

    @documented(ProvenanceReader.why)
    def why(self, id: str, *, scope: Scope) -> Why | None:
        """Return the provenance and history of a record, whatever its status; None if it is not visible to `scope`."""
        return self._parts.provenance.why(id, scope=scope)

    @documented(ProvenanceReader.rejections)
    def rejections(self, scope: Scope, limit: int = 100) -> builtins.list[Rejection]:
        """Return the proposals that the gate rejected in exactly this scope, newest first."""
        return self._parts.provenance.rejections(scope, limit)

    # ------------------------------------------------------------------ runs and notes

    @documented(Runs.session)
    def session(self, scope: Scope, run_id: str, *, retention: Retention = "standard") -> Session:
        """Begin a run, or continue one of any process: events in, prompts out."""
        return self._parts.runs.session(scope, run_id, retention=retention)

    @documented(Runs.replay)
    def replay(self, run_id: str, scope: Scope) -> Replay:
        """Return a run from its trace: its events, and each of its prompts rebuilt."""
        return self._parts.runs.replay(run_id, scope)

    @documented(Runs.runs)
    def runs(self, scope: Scope) -> builtins.list[str]:
        """Return the names of the runs of exactly this scope, oldest first."""
        return self._parts.runs.runs(scope)

    @documented(Intake.distil)
    def distil(self, run_id: str, extractor: AnyExtractor, scope: Scope) -> Distilled:
        """Turn what a run has said since it was last distilled into memories."""
        return self._parts.intake.distil(run_id, extractor, scope)

    @documented(Intake.distil_later)
    def distil_later(self, run_id: str, extractor: AnyExtractor, scope: Scope) -> Future[Distilled]:
        """Do the same on a background thread, one run after another; closing the memory waits for them."""
        return self._parts.intake.distil_later(run_id, extractor, scope)

    @documented(Intake.ingest)
    def ingest(
        self, folder: str | Path, scope: Scope, extractor: AnyExtractor | None = None, name: str | None = None,
    ) -> Ingested:  # fmt: skip
        """Import the notes of a folder (Markdown and plain text) into memory; repeat it when they have changed."""
        return self._parts.intake.ingest(folder, scope, extractor, name)

    def close(self) -> None:
        """Close the file if :meth:`open` opened it. Later calls raise ClosedError."""
        self._parts.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scrubjay.Memory {self._parts}>"
