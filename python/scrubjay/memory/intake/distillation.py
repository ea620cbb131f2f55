"""Distillation of a run into memories: stabilised, read by an extractor, each candidate through the gate; once.

The extractor runs without a lock and before anything is written, so a slow model blocks no other work. Its results,
and the record that these events were distilled, are then written in one transaction: a run is distilled completely or
not at all, even if several processes try or one of them is killed.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import RetrievalError
from scrubjay.documents.payload import microseconds
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.intake.extractors import (
    AnyExtractor,
    Extraction,
    Extractor,
    Retraction,
    SourcedCandidate,
    as_extraction,
    name_of,
)
from scrubjay.memory.intake.transcripts import Transcript, stabilise
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.event_drafts import check_run_id
from scrubjay.memory.ledger.rows import find_row, kind_of, rows_where
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.trace import CONVERSATION, INSERT_DISTILLED, Run, TraceEvent, Traces
from scrubjay.memory.model.candidates import Candidate, EpisodeCandidate, FactCandidate, Provenance
from scrubjay.memory.model.cardinality import canonical
from scrubjay.memory.model.content import normalised, value_words
from scrubjay.memory.model.decoding import decoded, json_of
from scrubjay.memory.model.details import detail_in
from scrubjay.memory.model.documents import place_in_run
from scrubjay.memory.model.rows import FactRow, belongs_to
from scrubjay.memory.model.target_statements import NamedStatement, ended
from scrubjay.store.rows.decoding import integer
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.sqlite.connections import translated

_log = logging.getLogger("scrubjay.memory")


class DistilledOne(NamedTuple):
    """The result of one candidate: its kind, the gate's status, and the id of the record (None if there is none)."""

    kind: str
    status: str
    id: str | None


@dataclass(frozen=True)
class Distilled:
    """The result of distilling a run."""

    run_id: str
    outcomes: tuple[DistilledOne, ...]
    """One for each candidate, in order; a retraction is a fact that ends others; "revoked" for records taken back."""
    through: int
    """The number of the last distilled event, or 0."""
    fresh: bool
    """False if there was nothing new: the outcomes are those of the last time."""
    n_malformed: int = 0
    """The number of invalid items in a model's answer."""


class _AlreadyDistilled(Exception):  # noqa: N818 - not an error, and internal
    """Another process distilled these events in the meantime."""


def distil(
    context: MemoryContext,
    slots: Slots,
    gate: Gate,
    traces: Traces,
    run_id: str,
    extractor: AnyExtractor,
    scope: Scope,
    languages: Sequence[str] = (),
) -> Distilled:
    """Distil what a run of exactly this scope has said since it was last distilled.

    Raises:
        KeyError: exactly this scope has no such run.
        TypeError, ValueError: an invalid argument, or an extractor that returned something other than candidates.
        RetrievalError: every item of the extractor's answer was malformed; nothing was written.
        Exception: whatever the extractor raises; nothing was written.
    """
    check_run_id(run_id)
    if not callable(extractor) and not isinstance(extractor, Extractor):
        raise TypeError(f"extractor: expected an Extractor or a function, got {type(extractor).__name__}")
    run = traces.run(scope, run_id)
    if run is None:
        raise KeyError(f"run_id: this scope has no run {run_id!r}")
    with context.reading() as connection:
        last = _last_distilled(connection, scope, run.key)
    events = traces.events(scope, run_id)
    if not any(event.seq > last and event.kind != "prompt" for event in events):
        return _recorded(traces, scope, run)
    through = events[-1].seq
    transcript = stabilise(run_id, events, after=last, languages=languages)
    extraction = as_extraction(extractor, transcript) if transcript.utterances else Extraction()
    if extraction.n_malformed:
        _log.warning(
            "run %r: %d items of the extractor's answer are malformed", run_id, extraction.n_malformed
        )
        if not extraction.found and not extraction.retracted:
            raise RetrievalError(
                f"extractor: all {extraction.n_malformed} items of its answer for run {run_id!r} are malformed; nothing"
                " was written, and it can be asked again"
            )
    candidates = _still_held(context, slots, scope, extraction)
    before = stabilise(run_id, [event for event in events if event.seq <= last]).utterances
    taken_back = {utterance.seq for utterance in before} - {utterance.seq for utterance in transcript.context}
    revoked = _noted_from(context, scope, run_id, taken_back)
    positions = _positions(events)
    proposals = [(_placed(one, positions), scope, _source(one, transcript)) for one in candidates]
    outcomes: list[DistilledOne] = []

    def also(change: Any, results: Sequence[Any]) -> None:
        change.lock([scope, Scope(scope.tenant)])  # the gate locks nothing if nothing is proposed
        connection: sqlite3.Connection = change.connection
        if _last_distilled(connection, scope, run.key) != last or not _same_run(connection, scope, run):
            raise _AlreadyDistilled
        outcomes[:] = [DistilledOne(result.kind, result.status, result.id) for result in results]
        outcomes.extend(DistilledOne(str(kind_of(id)), "revoked", id) for id in revoked)
        connection.execute(
            INSERT_DISTILLED,
            (
                *(last + 1, through, change.now, name_of(extractor), json.dumps(outcomes).encode()),
                *(*names_of(scope)[:2], run.key),
            ),
        )

    try:
        gate.propose_all(
            proposals, also=also, revoke=[(id, scope, f"retracted in run {run_id}") for id in revoked]
        )
    except _AlreadyDistilled:
        return _recorded(traces, scope, run)
    return Distilled(run_id, tuple(outcomes), through, True, extraction.n_malformed)


def _still_held(
    context: MemoryContext, slots: Slots, scope: Scope, extraction: Extraction
) -> list[SourcedCandidate]:
    """Remove candidates that the same run retracts later; add a fact that ends what earlier runs recorded."""

    candidates = list(extraction.found)
    for retraction in extraction.retracted:
        here = [
            one for one in candidates if _is_about(one.candidate, retraction) and not _before(retraction, one)
        ]
        undone = [
            here[place] for place in _ended(retraction, [_named(context, one.candidate) for one in here])
        ]
        candidates = [one for one in candidates if not any(one is other for other in undone)]
        known = _in_force(context, slots, scope, retraction)
        places = _ended(retraction, [_named_row(context, row) for row in known])
        if known and (places or not undone):  # a retraction that names nothing known is recorded as said
            rows = [known[place] for place in places]
            text = retraction.content or "No longer so: " + " ".join(row.text for row in rows)
            ends = FactCandidate(
                text,
                retraction.subject,
                retraction.predicate,
                value=retraction.value,
                relation="ends",
                replaces=[row.id for row in rows],
            )
            candidates.append(SourcedCandidate(ends, retraction.seq))
    return candidates


def _ended(retraction: Retraction, known: Sequence[NamedStatement]) -> list[int]:
    """Return the positions of the statements of its slot that a retraction ends: all, if it has no content or value."""
    if not retraction.content and retraction.value is None:
        return list(range(len(known)))
    words = "" if retraction.value is None else value_words(retraction.value)
    value = retraction.value if isinstance(retraction.value, str) else words
    return ended(
        NamedStatement(retraction.content, words, value, None, retraction.subject, retraction.predicate),
        known,
    )


def _is_about(candidate: Candidate, retraction: Retraction) -> bool:
    if not isinstance(candidate, FactCandidate) or candidate.relation == "ends":
        return False
    return all(
        normalised(name) == normalised(other)
        for name, other in (
            (candidate.subject, retraction.subject),
            (canonical(candidate.predicate), canonical(retraction.predicate)),
        )
    )


def _named(context: MemoryContext, one: Any) -> NamedStatement:
    words = normalised(one.content) if one.value is None else value_words(one.value)
    value = one.value if isinstance(one.value, str) else "" if one.value is None else words
    single = context.cardinality(one)
    return NamedStatement(
        one.content, words, value, None if single is None else bool(single), one.subject, one.predicate
    )


def _named_row(context: MemoryContext, row: FactRow) -> NamedStatement:
    single = None if row.single is None else bool(row.single)
    value = detail_in(row).get("value")
    candidate = FactCandidate(row.content, row.subject, row.predicate, value=value, single=single)
    return _named(context, candidate)


def _in_force(context: MemoryContext, slots: Slots, scope: Scope, retraction: Retraction) -> list[FactRow]:
    """Return the facts in force that a retraction is about, except for ends."""
    with context.reading() as connection:
        rows = [
            row
            for id in slots.facts_about(scope, retraction.subject, retraction.predicate)
            if isinstance(row := find_row(connection, id, scope), FactRow)
        ]
    return [row for row in rows if row.relation != "ends"]


def _noted_from(context: MemoryContext, scope: Scope, run_id: str, seqs: Iterable[int]) -> list[str]:
    """Return the ids of the living records distilled from events that have been retracted since."""
    seqs = sorted(seqs)
    if not seqs:
        return []
    with context.reading() as connection:
        living = [
            row
            for kind in ("preference", "fact", "episode")
            for row in rows_where(
                connection,
                kind,
                "tenant = ? AND user = ? AND source_run = ? AND status IN ('provisional', 'active') ORDER BY id",
                (scope.tenant, scope.user or "", run_id),
            )
        ]
    return [
        row.id
        for seq in seqs
        for row in living  # the column `place` may be sealed, so it is compared here
        if row.place == place_in_run(seq) and belongs_to(row, scope)
    ]


def _before(retraction: Retraction, one: SourcedCandidate) -> bool:
    return retraction.seq is not None and one.seq is not None and retraction.seq < one.seq


def _source(one: SourcedCandidate, transcript: Transcript) -> Provenance:
    utterance = next((utterance for utterance in transcript.utterances if utterance.seq == one.seq), None)
    if utterance is None:
        at = transcript.utterances[-1].at if transcript.utterances else None
        return Provenance(run=transcript.run_id, turn=transcript.turn_of(None), at=at)
    return Provenance(
        run=transcript.run_id,
        turn=utterance.turn,
        author=utterance.author,
        place=place_in_run(utterance.seq),
        at=utterance.at,
    )


def _positions(events: Sequence[TraceEvent]) -> dict[int, int]:
    """Return event number -> position among the turns of the conversation, as :meth:`Traces.position` counts them."""
    spoken = [event.seq for event in events if event.kind in CONVERSATION]
    return {seq: events[0].seq + place for place, seq in enumerate(spoken)}


def _placed(one: SourcedCandidate, positions: Mapping[int, int]) -> Candidate:
    """Return the candidate, with its position in the conversation if any, for its neighbours
    (:mod:`scrubjay.documents.turns`)."""
    candidate, position = one.candidate, positions.get(-1 if one.seq is None else one.seq)
    if position is None or not isinstance(candidate, (FactCandidate, EpisodeCandidate)):
        return candidate
    metadata = {"position": position, **(candidate.metadata or {})}
    return replace(candidate, metadata=metadata)


def _same_run(connection: sqlite3.Connection, scope: Scope, run: Run) -> bool:
    """Whether the run was not erased in the meantime; its key and name may have been reused."""
    row = connection.execute(
        "SELECT run, started_at, n_events FROM memory_run WHERE tenant = ? AND user = ? AND key = ?",
        (*names_of(scope)[:2], run.key),
    ).fetchone()
    if row is None or integer(row[2], "a run's events") < run.n_events:
        return False
    return (row[0], row[1]) == (run.run_id, microseconds(run.started_at))


def _last_distilled(connection: sqlite3.Connection, scope: Scope, key: int) -> int:
    (last,) = connection.execute(
        "SELECT ifnull(max(d.last_seq), 0) FROM memory_run r JOIN memory_distilled d ON d.run = r.key "
        "WHERE r.tenant = ? AND r.user = ? AND r.key = ?",
        (*names_of(scope)[:2], key),
    ).fetchone()
    return integer(last, "memory_distilled.last_seq")


def _recorded(traces: Traces, scope: Scope, run: Run) -> Distilled:
    with translated(traces.store.path, "reading what was distilled"):
        rows = (
            traces.store.reading_connection()
            .execute(
                "SELECT d.last_seq, d.outcomes FROM memory_run r JOIN memory_distilled d ON d.run = r.key "
                "WHERE r.tenant = ? AND r.user = ? AND r.key = ? ORDER BY d.first_seq",
                (*names_of(scope)[:2], run.key),
            )
            .fetchall()
        )
        if not rows:
            return Distilled(run.run_id, (), 0, False)
        last, data = rows[-1]
        name = f"what was distilled of run {run.run_id!r}"
        outcomes = decoded(name, None, lambda: tuple(DistilledOne(*one) for one in json_of(data, list, name)))
        return Distilled(run.run_id, outcomes, integer(last, name), False)
