"""Ingestion: notes become memories, and follow later changes of the files.

Each file is compared with the facts that came from it: new passages go through the gate, facts of removed passages are
revoked, both in one transaction; files between which a passage moved share one transaction. An ingestion can therefore
be repeated, and one that was killed is simply run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_path
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.intake.extractors import AnyExtractor, Extractor, as_extraction
from scrubjay.memory.intake.notes import Note, read_notes
from scrubjay.memory.intake.transcripts import Transcript, Utterance
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.event_drafts import check_text
from scrubjay.memory.ledger.rows import rows_where
from scrubjay.memory.model.candidates import FactCandidate, Provenance
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.records import Fact
from scrubjay.memory.model.row_records import record_of
from scrubjay.store.rows.scopes import names_of


@dataclass
class Ingested:
    """The result of ingesting a folder: numbers of new, unchanged and removed passages."""

    written: int = 0
    unchanged: int = 0
    revoked: int = 0
    distilled: int = 0
    """The number of the extractor's candidates that the gate accepted."""
    rejected: list[tuple[str, str]] = field(default_factory=list)
    """(place, reason) of each rejection by the gate."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Skipped files, with the reason: of another type, or unreadable. Hidden files are not reported."""
    files: int = 0


def ingest(
    context: MemoryContext,
    gate: Gate,
    folder: str | Path,
    scope: Scope,
    extractor: AnyExtractor | None,
    name: str | None,
) -> Ingested:
    """Bring memory in line with the notes of a folder; see `Memory.ingest`."""
    if extractor is not None and not callable(extractor) and not isinstance(extractor, Extractor):
        raise TypeError(f"extractor: expected an Extractor or a function, got {type(extractor).__name__}")
    folder = checked_path(folder, "folder")
    if name is None:
        name = folder.resolve().name
    check_text("name", name, at_most=200)
    if not name or "/" in name:
        raise ValueError(f"name: expected 1 to 200 characters without a slash, got {name!r}")
    notes = read_notes(folder)
    report = Ingested(skipped=dict(sorted({**notes.skipped, **notes.others}.items())))
    # One run for all files: a passage in two of them was not observed twice.
    run = f"notes:{name}"
    known: dict[str, list[Fact]] = {file: [] for file in notes.by_file}
    for fact in facts_from(context, scope, run):
        file = str(fact.metadata.get("file"))
        if file not in notes.skipped:  # a file that is unreadable today is not deleted
            known.setdefault(file, []).append(fact)
    plans = [_plan(file, notes.by_file.get(file, []), facts) for file, facts in known.items()]
    for group in _together(plans):
        _write(gate, scope, run, group, extractor, report)
    report.files = len(notes.by_file)
    return report


@dataclass
class _Plan:
    """The changes for a file: its passages by mark, the new ones among them, and the facts to revoke."""

    notes: Sequence[Note]
    by_mark: dict[str, Note]
    new: dict[str, Note]
    gone: list[Fact]

    @property
    def leaving(self) -> set[str]:
        """The marks of the passages to be removed."""
        return {fact.metadata["passage"] for fact in self.gone if "passage" in fact.metadata}


def _plan(file: str, notes: Sequence[Note], known: Sequence[Fact]) -> _Plan:
    by_mark = {mark_of(note.passage.text): note for note in notes}
    held = {str(fact.metadata.get("passage")) for fact in known}
    # A fact that an extractor found in the file as a whole is revoked with the file.
    stale = [fact for fact in known if not by_mark or fact.metadata.get("passage", "") not in (*by_mark, "")]
    return _Plan(notes, by_mark, {mark: note for mark, note in by_mark.items() if mark not in held}, stale)


def _together(plans: Sequence[_Plan]) -> list[list[_Plan]]:
    """Group the files between which passages move: before a fact enters with one file it must leave with the other."""
    leaving = set[str]().union(*(plan.leaving for plan in plans))
    groups: list[tuple[set[str], list[_Plan]]] = []
    alone: list[list[_Plan]] = []
    for plan in plans:
        moving, group = leaving & {*plan.new, *plan.leaving}, [plan]
        if not moving:
            alone.append(group)
            continue
        apart = []
        for marks, others in groups:
            if marks & moving:
                moving, group = moving | marks, others + group
            else:
                apart.append((marks, others))
        groups = [*apart, (moving, group)]
    return [*(group for _, group in groups), *alone]


def _write(
    gate: Gate,
    scope: Scope,
    run: str,
    plans: Sequence[_Plan],
    extractor: AnyExtractor | None,
    report: Ingested,
) -> None:
    """Bring memory in line with some files, in one transaction."""
    proposals = [_passage_fact(scope, run, mark, note) for plan in plans for mark, note in plan.new.items()]
    n_passages = len(proposals)
    if extractor is not None:
        for plan in plans:
            if plan.new:
                proposals += _extracted(scope, run, plan.new, plan.notes, extractor)
    report.unchanged += sum(len(plan.by_mark) - len(plan.new) for plan in plans)
    revoke = [
        (fact.id, scope, "the passage is gone" if plan.by_mark else "the note is gone")
        for plan in plans
        for fact in plan.gone
    ]
    if not proposals and not revoke:
        return
    outcomes = gate.propose_all(proposals, revoke=revoke)
    report.revoked += len(revoke)
    for position, ((_, _, source), outcome) in enumerate(zip(proposals, outcomes, strict=True)):
        if not outcome:
            report.rejected.append((str(source.place), outcome.reason))
        elif position >= n_passages:
            report.distilled += 1
        elif outcome.status == "deduplicated":
            report.unchanged += 1
        else:
            report.written += 1


def facts_from(context: MemoryContext, scope: Scope, run: str) -> list[Fact]:
    """Return the living facts of exactly this scope that come from a run."""
    with context.reading() as connection:
        rows = rows_where(
            connection,
            "fact",
            "tenant = ? AND user = ? AND agent = ? AND status IN ('provisional', 'active') "
            "AND source_run = ? AND (expires_at IS NULL OR expires_at > ?)",
            (*names_of(scope), run, context.clock()),
        )
        return [cast(Fact, record_of(row)) for row in rows]


def mark_of(text: str) -> str:
    """Return the identity of a passage, independent of its position in the file."""
    return hashlib.sha256(normalised(text).encode()).hexdigest()[:32]


def _passage_fact(scope: Scope, run: str, mark: str, note: Note) -> tuple[FactCandidate, Scope, Provenance]:
    metadata: dict[str, Any] = {"passage": mark, "file": note.file}
    if note.passage.headings:
        metadata["heading"] = note.passage.headings[-1]
    # Without a user or agent only facts about the tenant itself are accepted; they need a confirmation.
    subject = scope.tenant if scope.user is None and scope.agent is None else ""
    candidate = FactCandidate(note.passage.text, subject=subject, metadata=metadata)
    return candidate, scope, Provenance(run=run, place=note.place)


def _extracted(
    scope: Scope,
    run: str,
    new: dict[str, Note],
    notes: Sequence[Note],
    extractor: AnyExtractor,
) -> list[tuple[Any, Scope, Provenance]]:
    """Return an extractor's candidates from the new passages; facts have the mark of their passage, and go with it."""
    now = datetime.now(timezone.utc)
    marks = list(new)

    def utterances(some: Iterable[Note], first: int) -> tuple[Utterance, ...]:
        return tuple(
            Utterance(seq, 1, now, "note", note.place, " ".join(note.passage.text.split()))
            for seq, note in enumerate(some, first)
        )

    read = utterances(new.values(), 1)
    context = utterances((note for note in notes if note not in new.values()), len(read) + 1)
    found = []
    for one in as_extraction(extractor, Transcript(run, read, context)).found:
        candidate, note = one.candidate, next(iter(new.values()))
        marked: dict[str, Any] = {"file": note.file}
        place = note.file
        if one.seq is not None and 1 <= one.seq <= len(marks):
            marked["passage"] = marks[one.seq - 1]
            place = new[marks[one.seq - 1]].place
        if isinstance(candidate, FactCandidate):
            candidate = replace(candidate, metadata={**(candidate.metadata or {}), **marked})
        found.append((candidate, scope, Provenance(run=run, place=place)))
    return found
