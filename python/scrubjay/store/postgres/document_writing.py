"""Writes and deletions of documents within a transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import KeyErasedError, VersionConflictError
from scrubjay.documents.payload import is_pending
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.postgres.batch import Statement
from scrubjay.store.postgres.cold import OF_SCOPE, expired_sql
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.digests import BLOCKS
from scrubjay.store.postgres.home_locks import PLACE, TouchedScope, Turns
from scrubjay.store.postgres.keys import Key, can_hold, stored_id
from scrubjay.store.postgres.loading import Loaded, insert
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.rows.decoding import Checksum, scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import NewRow, RowId, Written
from scrubjay.store.rows.vectors import content_hash

_Old = tuple[int, bool, int | None, bytes | None]  # number, whether it has a vector, expiry, blocks


class DocumentWriter:
    """Writes documents of one collection. Not thread-safe.

    Args:
        turns: of the transaction, in that collection.
        id_of: stored bytes -> id.
    """

    def __init__(self, turns: Turns, id_of: Callable[[bytes], Any]) -> None:
        self._turns = turns
        self._id_of = id_of
        self._known: tuple[Key, list[bytes], list[tuple[Any, ...]]] | None = None

    def know(self, key: Key, ids: list[bytes], rows: list[tuple[Any, ...]]) -> None:
        """Cache the result of :meth:`question_of_old`, which is valid until anything is written."""
        self._known = key, ids, rows

    def upsert(self, rows: Sequence[NewRow], *, now: int, fills: bool = False) -> list[Written]:
        by_scope: dict[Scope, list[NewRow]] = {}
        for row in rows:
            by_scope.setdefault(row.scope, []).append(row)
        self._turns.begin(by_scope)
        for scope in by_scope:
            self._turns.thawed(scope)
        old = self._old(by_scope)
        for row in rows:
            if row.expected is not None:
                seq, _, expires_at, _ = old.get(
                    (self._turns.homes.key(row.scope), stored_id(row.id)), (0, False, None, None)
                )
                found = 0 if expires_at is not None and expires_at <= now else seq
                if found != row.expected:
                    raise VersionConflictError(row.id, row.expected, found)
        written = []
        before = {scope: replace(self._turns.state(scope)) for scope in by_scope}
        new = self._numbered(rows, now)
        for scope, part in by_scope.items():
            key, state = self._turns.homes.key(scope), self._turns.state(scope)
            gone = [
                found for found in (old.get((key, stored_id(row.id))) for row in part) if found is not None
            ]
            if gone:
                if self._turns.is_held and not fills:
                    self._turns.holds.check(scope)
                self._remove(key, state, [(seq, expires_at, blocks) for seq, _, expires_at, blocks in gone])
            state.documents += len(part) - len(gone)
            state.vectors += sum(row.vector is not None for row in part) - sum(has for _, has, *_ in gone)
            written.append(Written(scope, before[scope].version, state.version, before[scope].documents))
        for home, of_home in new.items():
            insert(self._turns.batch, home, self._turns.collection, of_home)
        return written

    def _numbered(self, rows: Sequence[NewRow], now: int) -> dict[str, list[Loaded]]:
        """Return rows in stored form, by home. Their numbers ascend in order of the rows, across homes."""
        number = self._turns.newest(self._turns.homes.of(row.scope) for row in rows)
        known: dict[Scope, tuple[Key, Checksum, RowBox | None]] = {}
        numbered: dict[str, list[Loaded]] = {}
        for row in rows:
            of_scope = known.get(row.scope)
            if of_scope is None:
                box = self._turns.sealer.row_box(self._turns.collection, row.scope)
                of_scope = known[row.scope] = self._turns.homes.key(row.scope), Checksum(row.scope), box
            key, checksum, box = of_scope
            number += 1
            self._turns.number(key, number)
            text, payload, vector = row.text.encode(), row.payload, row.vector
            if box is None:
                hash = checksum.of(row.id, row.text, payload)
            else:
                text, payload, vector = box.seal(number, row.id, row.text, payload, vector)
                hash = content_hash(text, payload)
                self._turns.state(row.scope).counted.add(number, row.expires_at, text, payload, vector)
            numbered.setdefault(key.home, []).append(
                Loaded(
                    number,
                    key.number,
                    stored_id(row.id),
                    text,
                    payload,
                    vector,
                    row.created_at,
                    now,
                    row.expires_at,
                    hash,
                    is_pending(row.payload),
                )
            )
        return numbered

    def _old(self, by_scope: Mapping[Scope, Sequence[NewRow]]) -> dict[tuple[Key, bytes], _Old]:
        """Return the existing rows, by key and id."""
        found: dict[tuple[Key, bytes], _Old] = {}
        by_home: dict[str, list[tuple[Key, list[bytes]]]] = {}
        known, self._known = self._known, None  # valid until anything is written
        for scope, part in by_scope.items():
            key = self._turns.homes.key(scope)
            if known is not None and known[:2] == (key, [stored_id(row.id) for row in part]):
                found.update(((key, row[0]), row[1:]) for row in known[2])
            elif self._turns.state(scope).documents:
                by_home.setdefault(key.home, []).append((key, [stored_id(row.id) for row in part]))
        for home, wanted in by_home.items():
            questions = [self.question_of_old(key, ids) for key, ids in wanted]
            answers = self._turns.batch.ask_all(questions, home=home)
            for (key, _), answer in zip(wanted, answers, strict=True):
                found.update(((key, row[0]), row[1:]) for row in answer)
        return found

    def question_of_old(self, key: Key, ids: list[bytes]) -> Statement:
        """Return the query for the existing rows of a scope with these ids."""
        place = (key.home, self._turns.collection, key.number)
        columns = f"id, seq, vector IS NOT NULL, expires_at, {self.blocks}"
        if len(ids) == 1:
            return f"SELECT {columns} FROM sj_document d WHERE {PLACE} AND id = %s", (*place, ids[0])
        # One by one: for `id = ANY(%s)` a server without statistics of the table may read the whole scope.
        return (
            f"SELECT d.* FROM unnest(%s::bytea[]) AS wanted(one) CROSS JOIN LATERAL (SELECT {columns} "
            f"FROM sj_document d WHERE {PLACE} AND id = wanted.one OFFSET 0) d",
            (ids, *place),
        )

    @property
    def blocks(self) -> str:
        """The SQL expression for what a row contributes to a digest, if it may be sealed."""
        return "NULL::bytea" if self._turns.sealer.ring is None else BLOCKS

    def _remove(
        self, key: Key, state: TouchedScope, rows: Sequence[tuple[int, int | None, bytes | None]]
    ) -> None:
        """Delete rows (number, expiry, blocks) of a scope."""
        seqs = [row[0] for row in rows]
        if any(blocks is not None for _, _, blocks in rows):
            with suppress(KeyErasedError):  # then the digest is never read again
                box = self._turns.sealer.current(key.scope.tenant, make=False)
                if box is not None:
                    for row in rows:
                        state.counted.remove(box, *row)
        which, value = ("= %s", seqs[0]) if len(seqs) == 1 else ("= ANY(%s)", seqs)
        self._turns.batch.add(
            f"DELETE FROM sj_document WHERE {PLACE} AND seq {which}",
            (key.home, self._turns.collection, key.number, value),
            home=key.home,
        )

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        if not can_hold(scope):
            return None
        wanted = {stored_id(id): id for id in ids}
        key, state = self._turns.homes.key(scope), self._turns.state(scope)
        if not state.documents or not wanted:
            return None
        self._turns.thawed(scope)
        found = self._turns.batch.ask(*self.question_of_old(key, list(wanted)), home=key.home)
        by_id = {row[0]: row for row in found}
        gone = [by_id[data] for data in wanted if data in by_id]
        if gone and self._turns.is_held:
            self._turns.holds.check(scope)
        return self._delete(scope, gone, [wanted[row[0]] for row in gone], reason, now) if gone else None

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        if within is not None and not can_hold(within):
            return []

        def question(home: str | None) -> Statement:
            condition, names = agreeing(within, home, table="s")
            return (
                "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 "
                f"AND {condition} AND (EXISTS(SELECT 1 FROM sj_document d WHERE d.home = s.home AND "
                "d.collection = s.collection AND d.scope = s.key AND d.expires_at <= %s) "
                f"OR s.cold IS NOT NULL AND {expired_sql(OF_SCOPE)} > 0)",
                (self._turns.collection, *names, now, now),
            )

        found: list[tuple[Any, ...]]
        if within is None:
            found = self._turns.batch.ask(*question(None), home=EVERY_HOME)
        else:
            homes = self._turns.homes.within(within)
            answers = self._turns.batch.ask_each([(home, question(home)) for home in homes])
            found = [row for rows in answers for row in rows]
        scopes = [scope for scope in (scope_of(*row) for row in found) if scope.tenant not in leaving]
        self._turns.begin(scopes)
        written = []
        for scope in scopes:
            key = self._turns.homes.key(scope)
            if self._turns.is_held and self._turns.holds.holds(*names_of(scope)):
                continue
            self._turns.thawed(scope)
            gone = self._turns.batch.ask(
                f"SELECT id, seq, vector IS NOT NULL, expires_at, {self.blocks} FROM sj_document d WHERE {PLACE} "
                "AND expires_at <= %s ORDER BY seq",
                (key.home, self._turns.collection, key.number, now),
                home=key.home,
            )
            if gone:
                ids = [self._id_of(row[0]) for row in gone]
                written.append(self._delete(scope, gone, ids, "sweep", now))
        return written

    def _delete(
        self,
        scope: Scope,
        gone: Sequence[tuple[Any, ...]],
        ids: Sequence[RowId],
        reason: str,
        now: int,
    ) -> Written:
        """Delete rows (id, number, whether it has a vector, expiry, blocks) of a locked scope, leaving tombstones
        and an event."""
        key, state = self._turns.homes.key(scope), self._turns.state(scope)
        before = replace(state)
        self._remove(key, state, [(seq, expires_at, blocks) for _, seq, _, expires_at, blocks in gone])
        place = (key.home, self._turns.collection, key.number)
        self.delete_notes(f"{PLACE} AND id = ANY(%s)", (*place, [row[0] for row in gone]), key.home)
        numbers = [self._turns.next(key.home) for _ in gone]
        self._turns.batch.add(
            "INSERT INTO sj_tombstone SELECT %s, %s, %s, u.seq, u.id "
            "FROM unnest(%s::bigint[], %s::bytea[]) AS u(seq, id)",
            (*place, numbers, [row[0] for row in gone]),
            home=key.home,
        )
        state.version, state.is_changed = numbers[-1], True
        state.documents -= len(gone)
        state.vectors -= sum(row[2] for row in gone)
        state.counted.tombstones += zip(numbers, (row[0] for row in gone), strict=True)
        self.event(key, state.version, reason, len(gone), now)
        return Written(scope, before.version, state.version, before.documents, list(ids))

    def delete_notes(self, condition: str, parameters: Sequence[Any], home: str) -> None:
        """Delete the feedback notes in a locked home that meet a condition."""
        query = f"DELETE FROM sj_feedback WHERE {condition}"
        self._turns.notes.run(-1, query, parameters, home, self._turns.collection)

    def event(self, key: Key, version: int, reason: str, n_documents: int, now: int) -> None:
        """Write the deletion event of a scope for the write with this number."""
        written = reason.encode("utf-8", "surrogatepass")
        self._turns.batch.add(
            "INSERT INTO sj_event(home, collection, scope, version, at, reason, documents) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (key.home, self._turns.collection, key.number, version, now, written, n_documents),
            home=key.home,
        )

    def add_event(self, scope: Scope, reason: str, n_documents: int, *, now: int) -> None:
        """Write a deletion event for a scope."""
        key, state = self._turns.homes.key(scope), self._turns.state(scope)
        state.version, state.is_changed = self._turns.next(key.home), True
        self.event(key, state.version, reason, n_documents, now)
