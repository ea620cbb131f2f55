"""Records one by one: add, get, update, delete, list, and why one is known.

To a caller, an unknown id and an id of another scope are the same.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, cast

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.errors import ConflictError, CorruptIndexError
from scrubjay.memory.base import absent, checked_scope, documents_in, drop, log
from scrubjay.memory.checking import (
    CANDIDATES,
    Unfit,
    encoded,
    encoded_artifacts,
    encoded_detail,
    encoded_list,
    moment_of,
    verify,
)
from scrubjay.memory.content import checked_str, normalised
from scrubjay.memory.facts import topics_in
from scrubjay.memory.holds import check_hold
from scrubjay.memory.known import KnownScopes
from scrubjay.memory.making import as_moment, loaded, record_of
from scrubjay.memory.moments import Moment, moment_asked, was_in_force
from scrubjay.memory.records import (
    EpisodeCandidate,
    Fact,
    FactCandidate,
    Outcome,
    PreferenceCandidate,
    Provenance,
    Record,
)
from scrubjay.memory.rows import (
    EpisodeRow,
    FactRow,
    PolicyRow,
    PreferenceRow,
    Row,
    belongs_to,
    find_row,
    hash_in,
    is_global,
    is_visible,
    rows_where,
    scope_in,
    sealed_columns,
    value_hash_in,
)
from scrubjay.memory.schema import KINDS
from scrubjay.memory.statements import detail_in, facts_of_slot, is_in_force
from scrubjay.memory.values import fault, kept_detail, said, text_of, with_text
from scrubjay.payload import CreatedAt
from scrubjay.store.listing import warn_of
from scrubjay.store.reading import names_of
from scrubjay.store.together import Change

__all__ = ["Crud"]

_CHANGEABLE = {
    "fact": (
        "content",
        "subject",
        "predicate",
        "confidence",
        "metadata",
        "expires_at",
        "ttl",
        "value",
        "single",
        "valid_from",
        "valid_until",
        "entities",
        "importance",
        "sensitivity",
    ),
    "episode": (
        "summary",
        "outcome",
        "task_type",
        "steps",
        "artifacts",
        "metadata",
        "title",
        "completed_at",
        "sensitivity",
        "expires_at",
        "ttl",
    ),
    "preference": ("text", "value", "type", "source", "confidence", "expires_at", "ttl"),
}


class Crud(KnownScopes):
    """The part of a memory that handles single records."""

    def add(
        self,
        content: Any,
        *,
        scope: Scope,
        kind: str = "fact",
        source: Provenance | str = "direct",
        **fields: Any,
    ) -> Outcome:
        """Write a record through the gate: the same as proposing a candidate of this kind with these fields.

        Args:
            content: a fact's content, an episode's summary, the text of a preference or policy (or, if it is not a
                str, its value).
            scope: on whose behalf.
            kind: "fact", "episode" (needs `outcome`), "preference" or "policy" (they need `key`).
            source: the run it comes from.
            fields: further ones of the candidate.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if kind not in CANDIDATES:
            raise ValueError(f"kind: expected one of {sorted(CANDIDATES)}, got {kind!r}")
        if kind in ("policy", "preference"):
            content, value = said(content, fields.get("value"))
            fields = {**fields, "value": value}
        name = {"fact": "content", "episode": "summary"}.get(kind, "text")
        return self.propose({**fields, name: content, "kind": kind}, scope=scope, source=source)

    def get(
        self,
        id: str,
        *,
        scope: Scope,
        hidden: bool = False,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
    ) -> Record | None:
        """Return a record that `scope` sees and that is in force, or None.

        Args:
            id: of the record.
            scope: who asks.
            hidden: also if it is provisional, superseded, revoked, expired or not in force at the time.
            as_of: when it has to be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: by what was known then; None: by all that is known. See :mod:`scrubjay.memory.moments`.
        """
        checked_scope(scope)
        moment = moment_asked(self.clock, as_of, known_at)
        with self.snapshot() as connection:
            row = find_row(connection, id)
            if row is None or not is_visible(row, scope):
                return None
            if not hidden and not self._is_asked_for(connection, row, moment):
                return None
            return record_of(row, self.clock())

    def _is_asked_for(self, connection: sqlite3.Connection, row: Row, moment: Moment | None) -> bool:
        """Whether a record is in force at the time that is asked for."""
        if moment is None:
            return is_in_force(row, self.clock())
        return was_in_force(connection, row, moment, self._is_single)

    def history(self, subject: str, predicate: str, scope: Scope) -> list[Fact]:
        """Return all facts of one slot that `scope` sees, whatever their status, in the order of the times at which
        they begin, or were said: what was so when, by all that is known (`Fact.holds`), and why (`superseded_by`).

        Args:
            subject, predicate: what they are about; synonyms of the predicate count as the same.
            scope: who asks.
        """
        checked_scope(scope)
        subject, predicate = checked_str(subject, "subject"), checked_str(predicate, "predicate")
        found: list[Fact] = []
        now = self.clock()
        with self.snapshot() as connection:
            for one in scope.visible():
                topics = topics_in(connection, one.tenant, subject, predicate)
                if topics and self.is_readable(one):
                    rows = facts_of_slot(connection, names_of(one), topics)
                    found += [cast(Fact, record_of(row, now)) for row in rows]

        def begins(fact: Fact) -> tuple[datetime, datetime, str]:
            assert fact.said_at is not None and fact.recorded_at is not None
            begin = fact.holds[0][0] if fact.holds else fact.valid_from or fact.said_at
            return begin, fact.recorded_at, fact.id

        return sorted(found, key=begins)

    def list(
        self,
        scope: Scope,
        *,
        kinds: Sequence[str] = tuple(KINDS),
        hidden: bool = False,
        exact: bool = False,
        limit: int | None = None,
        subject: str | None = None,
        run: str | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
    ) -> list[Record]:
        """Return the records that `scope` sees, kind by kind, oldest first.

        Args:
            scope: who asks.
            kinds: which, in this order.
            hidden: also those that are provisional, superseded, revoked, expired or not in force at the time.
            exact: only those of exactly this scope (a tenant's policies are those of its scope without a user; global
                policies are of no scope).
            limit: how many at most.
            subject: only facts about it, whatever their predicate; case and spaces do not matter.
            run: only what comes from this run (`Provenance.run`).
            as_of: when they have to be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: by what was known then; None: by all that is known. See :mod:`scrubjay.memory.moments`.

        Records that are damaged in the file are left out, and named in a
        :class:`~scrubjay.CorruptDataWarning`.
        """
        checked_scope(scope)
        if isinstance(kinds, str):
            raise TypeError("kinds: expected a sequence of kinds, got one str")
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"kinds: expected some of {', '.join(KINDS)}, got {kind!r}")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise TypeError(f"limit: expected an int, got {type(limit).__name__}")
        is_wanted = _selection(subject, run)
        seen = [scope] if exact else scope.visible()
        moment = moment_asked(self.clock, as_of, known_at)
        now = self.clock()
        found: list[Record] = []
        damaged: list[str] = []
        with self.snapshot() as connection:
            for kind in dict.fromkeys(kinds):
                rows: list[Row] = []
                for one in seen:
                    tenant, user, agent = names_of(one)
                    if kind == "policy":
                        if not user and not agent:
                            owners = "tenant = ?" if exact else "tenant IN ('', ?)"
                            rows += rows_where(connection, kind, owners, (tenant,), damaged=damaged)
                    elif kind == "preference":
                        if not agent:
                            rows += rows_where(
                                connection, kind, "tenant = ? AND user = ?", (tenant, user), damaged=damaged
                            )
                    else:
                        rows += rows_where(
                            connection,
                            kind,
                            "tenant = ? AND user = ? AND agent = ?",
                            (tenant, user, agent),
                            damaged=damaged,
                        )
                rows.sort(key=lambda row: (row.created_at, row.id))
                for row in rows:
                    try:
                        if is_wanted(row) and (hidden or self._is_asked_for(connection, row, moment)):
                            found.append(record_of(row, now))
                    except CorruptIndexError as error:
                        damaged.append(f"{kind} {row.id!r}: {error.what}")
        warn_of(damaged, self.store.path)
        return found if limit is None else found[: max(limit, 0)]

    # ------------------------------------------------------------------ update

    def update(self, id: str, *, scope: Scope, by: str | None = None, **changes: Any) -> Record:
        """Change a fact, episode or preference in place; its previous text is deleted and no longer searchable.

        Args:
            id: of a record in force that belongs to `scope` (what is shared with others can only be changed by
                whose it is).
            scope: who changes it.
            by: who changes it, for :meth:`why`.
            changes: fields of its candidate. `expires_at=None` removes its expiry.

        Raises:
            KeyError: this scope has no such record of its own.
            TypeError, ValueError: a field is unknown or may not have this value; a policy never changes.
            ConflictError: another record of the scope says that already.
            HeldError: it is under a legal hold.
        """
        checked_scope(scope)
        with self.reading() as connection:
            seen = find_row(connection, id)
        if seen is None or not belongs_to(seen, scope) or not is_in_force(seen, self.clock()):
            raise absent(id)
        if isinstance(seen, PolicyRow):
            raise ValueError("id: a version of a policy never changes; write the next one with policy()")
        known = _CHANGEABLE[seen.kind]
        for name in changes:
            if name not in known:
                raise ValueError(f"{name}: expected a field of a {seen.kind} ({', '.join(known)})")
        if not changes:
            raise ValueError(f"changes: expected some of {', '.join(known)}, got none")
        if "expires_at" in changes or "ttl" in changes:
            until = self.expiry(changes.pop("expires_at", None), changes.pop("ttl", None))
        else:
            until = seen.expires_at
        if until is not None and until <= self.clock():
            raise ValueError("expires_at: expected a time to come; to let a record go, delete or revoke it")
        candidate = self._changed(seen, changes)
        metadata = encoded(candidate.metadata) if seen.kind != "preference" else None
        embedded = None
        if isinstance(seen, (FactRow, EpisodeRow)) and _text(candidate) != seen.text:
            embedded = self._embed_texts([_text(candidate)])[0]
        with self.changing("updating", [scope.tenant]) as change:
            held = find_row(change.connection, id)
            if held is None or _said(held) != _said(seen):
                raise ConflictError(f"id: {id!r} was changed by somebody else meanwhile; look at it again")
            check_hold(change.connection, scope_in(held), within=False)
            fresh = self._rewrite(change, held, candidate, until, metadata)
            if isinstance(fresh, (FactRow, EpisodeRow)) and isinstance(held, (FactRow, EpisodeRow)):
                documents_in(change).put(fresh, embedded, before=held)
            if isinstance(fresh, FactRow) and isinstance(held, FactRow):
                self._project_slot_of(change, held, by)
                # What it says now may contradict what stood beside it.
                self._project_slot_of(change, fresh, by)
                fresh = next(rows_where(change.connection, "fact", "id = ?", (id,)))
            log(change, id, "updated", by, ", ".join(sorted(changes)) or "expires_at")
        return record_of(fresh, self.clock())

    def _changed(self, row: Row, changes: Mapping[str, Any]) -> Any:
        made: Any
        if isinstance(row, FactRow):
            detail = detail_in(row)
            made = FactCandidate(
                row.content,
                row.subject,
                row.predicate,
                row.confidence,
                metadata=loaded(row.metadata),
                single=None if row.single is None or "predicate" in changes else bool(row.single),
                value=None
                if "content" in changes
                else detail.get("value"),  # which said what the old content says
                relation=row.relation or "asserts",
                valid_from=None if row.valid_from is None else as_moment(row.valid_from),
                valid_until=None if row.valid_until is None else as_moment(row.valid_until),
                entities=detail.get("entities", ()),
                importance=detail.get("importance"),
                sensitivity=detail.get("sensitivity", ""),
            )
        elif isinstance(row, EpisodeRow):
            old: Any = record_of(row)
            made = EpisodeCandidate(
                row.summary,
                row.outcome,
                row.task_type,
                old.steps,
                old.artifacts,
                metadata=old.metadata,
                title=old.title,
                completed_at=old.completed_at,
                sensitivity=old.sensitivity,
            )
        else:
            assert isinstance(row, PreferenceRow)
            made = _preference(row, changes)
        names = {field.name for field in fields(made)}
        made = replace(made, **{name: value for name, value in changes.items() if name in names})
        try:
            if isinstance(row, PreferenceRow):
                made = verify(row.kind, with_text(made), Provenance(row.source_run))
                refused = fault(self.validate, made)
                if refused:
                    raise Unfit(refused)
                return made
            return verify(row.kind, made, Provenance(row.source_run))
        except Unfit as unfit:
            raise ValueError(str(unfit)) from None

    def _rewrite(
        self, change: Change, row: Row, candidate: Any, until: int | None, metadata: bytes | None
    ) -> Row:
        values: dict[str, Any] = {"expires_at": until, "updated_at": change.now}
        if isinstance(row, FactRow):
            values.update(
                content=candidate.content,
                subject=candidate.subject,
                predicate=candidate.predicate,
                confidence=candidate.confidence,
                hash=hash_in(change.connection, scope_in(row), candidate.content),
                topic=(
                    topics_in(change.connection, row.tenant, candidate.subject, candidate.predicate) or (b"",)
                )[0],
                metadata=metadata,
                faded=0,
                last_used_at=change.now,
                single=self._cardinality(candidate),
                value_hash=value_hash_in(change.connection, row.tenant, candidate.value),
                detail=encoded_detail(candidate),
                valid_from=moment_of(candidate.valid_from, "valid_from"),
                valid_until=moment_of(candidate.valid_until, "valid_until"),
                relation=candidate.relation,
                said_at=row.created_at if row.said_at is None else row.said_at,
            )
            if (candidate.content, values["topic"], values["value_hash"]) != (
                row.content,
                row.topic,
                row.value_hash,
            ):
                topics = [values["topic"]] if values["topic"] else []
                rivals = (
                    facts_of_slot(change.connection, (row.tenant, row.user, row.agent), topics)
                    if topics
                    else []
                )
                known = [(one.recorded_at or one.created_at) + 1 for one in rivals if one.id != row.id]
                values["recorded_at"] = max([change.now, *known])
            if row.holds is None:
                values["holds"] = json.dumps([[row.created_at, None]])
        elif isinstance(row, EpisodeRow):
            values.update(
                summary=candidate.summary,
                outcome=candidate.outcome,
                task_type=candidate.task_type,
                steps=encoded_list(candidate.steps, "steps"),
                artifacts=encoded_artifacts(candidate.artifacts),
                hash=hash_in(change.connection, scope_in(row), candidate.summary),
                metadata=metadata,
                detail=kept_detail(title=candidate.title, sensitivity=candidate.sensitivity),
                completed_at=_time_of(candidate.completed_at),
            )
        else:
            values.update(
                text=candidate.text,
                source=candidate.source,
                confidence=candidate.confidence,
                detail=kept_detail(value=candidate.value, type=candidate.type),
            )
        if isinstance(row, (FactRow, EpisodeRow)):
            self._make_room(change, row, values["hash"], values.get("topic"))
        values = sealed_columns(change.connection, row, values)
        assignments = ", ".join(f"{name} = ?" for name in values)
        change.connection.execute(
            f"UPDATE {KINDS[row.kind]} SET {assignments} WHERE id = ?", [*values.values(), row.id]
        )
        fresh: Row = next(rows_where(change.connection, row.kind, "id = ?", (row.id,)))
        return fresh

    @staticmethod
    def _make_room(change: Change, row: FactRow | EpisodeRow, hash: bytes, topic: bytes | None) -> None:
        """Refuse what another record says already, rather than leave that to the UNIQUE constraint's words."""
        condition = "tenant = ? AND user = ? AND agent = ? AND hash = ? AND id <> ? "
        condition += "AND status IN ('active', 'provisional')"
        for other in rows_where(
            change.connection, row.kind, condition, (row.tenant, row.user, row.agent, hash, row.id)
        ):
            if topic is not None and other.topic != topic:
                continue
            if other.expires_at is None or other.expires_at > change.now:
                raise ConflictError(f"content: {other.id!r} of this scope says that already")
            drop(change, other)
            Crud.remove_document(change, other, "expired")

    # ------------------------------------------------------------------ delete

    def delete(self, id: str, *, scope: Scope, reason: str = "delete", by: str | None = None) -> bool:
        """Delete a record with everything that is known about it; False if there is no such record of this scope's own.

        What a fact had superseded is in force again, as if it had not been said. A deletion event says that there was
        something.
        """
        checked_scope(scope)
        reason = checked_str(reason, "reason") or "delete"
        if by is not None:
            checked_str(by, "by")
        with self.changing("deleting") as change:
            row = find_row(change.connection, id)
            if row is None or not belongs_to(row, scope):
                return False
            if not is_global(row):
                check_hold(change.connection, scope_in(row), within=False)
            drop(change, row, "forgotten", by)
            if isinstance(row, FactRow):
                change.connection.execute("DELETE FROM memory_observation WHERE fact = ?", (id,))
            self.remove_document(change, row, reason)
            if isinstance(row, FactRow):
                self._project_slot_of(change, row, by)
                self._unshare(change, row.id)
            self.note_deletion(change, scope_in(row), reason, by, {row.kind: 1})
        self.forget_known(scope.tenant)
        return True

    @staticmethod
    def note_deletion(
        change: Change, scope: Scope, reason: str, by: str | None, counts: Mapping[str, int]
    ) -> None:
        """Leave a deletion event."""
        given = json.dumps({what: n for what, n in counts.items() if n})
        change.connection.execute(
            "INSERT INTO memory_deletion(at, tenant, user, agent, reason, by, counts) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (change.now, *names_of(scope), reason, by, given),
        )


def _selection(subject: str | None, run: str | None) -> Callable[[Row], bool]:
    """Return whether a row is about a subject and comes from a run; None: of any."""
    about = None if subject is None else normalised(checked_str(subject, "subject"))
    if run is not None:
        checked_str(run, "run")

    def is_wanted(row: Row) -> bool:
        if run is not None and row.source_run != run:
            return False
        return about is None or (isinstance(row, FactRow) and normalised(row.subject) == about)

    return is_wanted


def _said(row: Row) -> Row:
    """The row without its hashes, which say nothing more, and change when its tenant is sealed."""
    if isinstance(row, FactRow):
        return row._replace(hash=b"", topic=b"", value_hash=None)
    return row._replace(hash=b"") if isinstance(row, EpisodeRow) else row


def _preference(row: PreferenceRow, changes: Mapping[str, Any]) -> PreferenceCandidate:
    """What stays of a preference: a text that was made of the value goes with it, and the value with such a text."""
    held: Any = record_of(row)
    value = None if held.value_json is None else held.value
    text = held.text
    if value is not None and text == text_of(value):
        if "text" in changes:
            value = None
        elif "value" in changes:
            text = ""
    elif value is None and changes.get("value") is not None:
        text = text if "text" in changes else ""
    return PreferenceCandidate(row.key, text, row.source, row.confidence, value=value, type=held.type)


def _time_of(given: CreatedAt | None) -> int | None:
    moment = payload.to_utc(given, "completed_at")
    return None if moment is None else payload.microseconds(moment)


def _text(candidate: Any) -> str:
    return str(candidate.content if isinstance(candidate, FactCandidate) else candidate.summary)
