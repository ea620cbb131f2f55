"""What can be written at once.

A write locks the row of its home first, then reads what it needs to know; what it writes is collected and sent together
with the COMMIT, so that a usual write takes two round trips. Numbers of writes come from the home: the server's time in
microseconds, or the number after the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import StoreBusyError, StoreUnavailableError, UnsupportedError, VersionConflictError
from scrubjay.payload import is_pending
from scrubjay.store.decoding import Checksum, marked, scope_of
from scrubjay.store.feedback import MAX_NOTES, Feedback
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.errors import is_away
from scrubjay.store.postgres.keys import Key, can_hold, home_of, key_of, stored_id
from scrubjay.store.postgres.reading import agreeing
from scrubjay.store.protocol import Identity, NewRow, RowId, Written
from scrubjay.store.pseudonyms import Pseudonyms
from scrubjay.store.scopes import names_of

__all__ = ["PostgresTransaction"]

_PRUNED_EVERY = 256  # notes
_MANY = 16  # rows from which COPY takes less time than statements
_COLUMNS = "home, collection, scope, seq, id, text, payload, vector, created_at, updated_at, expires_at, hash, pending"
_TYPES = (
    "text", "int4", "int8", "int8", "bytea", "bytea", "bytea", "bytea", "int8", "int8", "int8", "bytea", "bool",
)  # fmt: skip
_PLACE = "home = %s AND collection = %s AND scope = %s"


@dataclass
class _Touched:
    """A scope as the transaction leaves it."""

    scope: Scope
    version: int
    documents: int
    vectors: int
    horizon: int
    is_new: bool
    is_changed: bool = False


class PostgresTransaction:
    """One transaction on one connection. Not for several threads.

    Args:
        connection: on which BEGIN was sent.
        collection: the number of the collection.
        place: of the database, for messages.
        lineage: the history that the server shows now.
        id_of: stored bytes -> id.
    """

    def __init__(
        self, connection: Any, collection: int, place: str, lineage: str, id_of: Callable[[bytes], Any]
    ) -> None:
        self.committed = False
        self.images_belong = True
        """Whether what this process has in memory is of the server's history."""
        self._connection = connection
        self._collection = collection
        self._place = place
        self._lineage = lineage
        self._id_of = id_of
        self._last: dict[str, int] = {}  # home -> the number of its last write; its row is locked
        self._touched: dict[Key, _Touched] = {}
        self._later: list[tuple[str, Sequence[Any]]] = []
        self.elsewhere: list[tuple[int, Scope, int]] = []
        """What was written to other collections: their number, the scope, its version."""

    @property
    def connection(self) -> Any:
        """There are no tables beside the documents here."""
        raise UnsupportedError("tables beside the documents", self._place)

    # ------------------------------------------------------------------ sending

    def _ask(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, after everything that was collected."""
        return self._ask_all([(query, parameters)])[0]

    def _ask_all(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[list[tuple[Any, ...]]]:
        """Send what was collected and these statements in one round trip; return the rows of the latter."""
        later, self._later = self._later, []
        with self._connection.pipeline():
            for query, parameters in later:
                self._connection.execute(query, parameters)
            cursors = [self._connection.execute(*one, binary=True) for one in statements]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def flush(self) -> None:
        """Send what was collected, so that reads on the connection see it."""
        if self._later:
            self._ask_all([])

    def commit(self) -> None:
        """Commit now; what follows in the block runs outside of the transaction."""
        for key, state in self._touched.items():
            if state.is_changed:
                self._later.append(self._statement_of(key, state))
        self._later += [
            ("UPDATE sj_home SET last = %s WHERE home = %s", (last, home))
            for home, last in self._last.items()
        ]
        started = time.monotonic()
        try:
            self._ask_all([("COMMIT", ())])
        except Exception as error:
            if is_away(error):
                raise StoreUnavailableError(
                    "committing: the connection was lost, and it is not known whether this was written; write it "
                    f"again: {self._place}"
                ) from error
            raise
        self.committed = True
        if time.monotonic() - started > schema.WINDOW_SECONDS / 2:
            self._stamp_again()

    def _stamp_again(self) -> None:
        """The COMMIT took so long that feeds may have missed its stamp."""
        for key, state in self._touched.items():
            if state.is_changed:
                self._connection.execute(
                    "UPDATE sj_scope SET changed = statement_timestamp() WHERE home = %s AND collection = %s "
                    "AND key = %s",
                    (key.home, self._collection, key.number),
                )

    def _statement_of(self, key: Key, state: _Touched) -> tuple[str, Sequence[Any]]:
        values = (state.version, state.horizon, state.documents, state.vectors, self._lineage)
        if state.is_new:
            return (
                "INSERT INTO sj_scope(home, collection, key, tenant, usr, agent, version, horizon, documents, "
                "vectors, lineage, changed) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, statement_timestamp())",
                (key.home, self._collection, key.number, *names_of(state.scope), *values),
            )
        return (
            "UPDATE sj_scope SET version = %s, horizon = %s, documents = %s, vectors = %s, lineage = %s, "
            "changed = statement_timestamp() WHERE home = %s AND collection = %s AND key = %s",
            (*values, key.home, self._collection, key.number),
        )

    # ------------------------------------------------------------------ locks, numbers, states

    def start(self, scopes: Iterable[Scope], *, wait: bool) -> None:
        """Begin, with the turns of these scopes' homes; without `wait` only if nobody has them."""
        self._later.append(("BEGIN", ()))
        if not wait:
            self._later.append(("SET LOCAL lock_timeout = 1", ()))
        self.begin(scope for scope in scopes if can_hold(scope))  # the others have no documents
        self.flush()

    def begin(self, scopes: Iterable[Scope]) -> None:
        """Lock the homes of scopes, in one order for everybody, and read the states of the scopes."""
        by_home: dict[str, list[Scope]] = {}
        for scope in dict.fromkeys(scopes):
            if key_of(scope) not in self._touched:
                by_home.setdefault(home_of(_holdable(scope)), []).append(scope)
        for home in sorted(by_home):
            self._read(home, by_home[home])

    def _lock(self, homes: Iterable[str]) -> None:
        for home in sorted(set(homes) - self._last.keys()):
            self._read(home, [])

    def _read(self, home: str, scopes: Sequence[Scope]) -> None:
        """Read the states of scopes of a home, which is locked before if it is not yet."""
        questions: list[tuple[str, Sequence[Any]]] = [
            (
                "SELECT version, documents, vectors, horizon FROM sj_scope WHERE home = %s AND collection = %s "
                "AND key = %s AND tenant = %s AND usr = %s AND agent = %s",
                (home, self._collection, key_of(scope).number, *names_of(scope)),
            )
            for scope in scopes
        ]
        if home in self._last:
            states = self._ask_all(questions)
        else:
            # Each statement sees what was committed before it began, so the states are those after the wait.
            lock = (
                "SELECT last, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM sj_home WHERE home = %s "
                "FOR UPDATE",
                (home,),
            )
            found, *states = self._ask_all([lock, *questions])
            if not found:
                self._ask("INSERT INTO sj_home VALUES (%s, 0) ON CONFLICT DO NOTHING", (home,))
                found, *states = self._ask_all([lock, *questions])
            self._last[home] = max(found[0])
        for scope, state in zip(scopes, states, strict=True):
            version, documents, vectors, horizon = state[0] if state else (0, 0, 0, 0)
            self._touched[key_of(scope)] = _Touched(
                scope, version, documents, vectors, horizon, is_new=not state
            )

    def _state(self, scope: Scope) -> _Touched:
        """Return the state of a scope, whose home is locked now."""
        if key_of(scope) not in self._touched:
            self.begin([scope])
        return self._touched[key_of(scope)]

    def _next(self, home: str) -> int:
        self._last[home] += 1
        return self._last[home]

    # ------------------------------------------------------------------ what the index is made of

    def identity(self) -> Identity:
        """Return what the index is made of."""
        self.flush()
        return schema.read_identity(self._connection, self._collection)

    def settle(self, **values: object) -> None:
        """Write values of the identity; nobody else settles them before the transaction ends.

        Raises:
            StoreBusyError: another process settled one of them otherwise just now; nothing was written.
        """
        self.flush()
        found = schema.read_identity(self._connection, self._collection, for_update=True)
        for name, value in values.items():
            if getattr(found, name) not in (None, value) and not (name == "model" and not self.has_vectors()):
                raise StoreBusyError(
                    f"{name}: another process settled {getattr(found, name)!r} just now, got {value!r}; try again: "
                    f"{self._place}"
                )
        names = ", ".join(f"{name} = %s" for name in values)
        self._ask(
            f"UPDATE sj_collection SET {names} WHERE collection = %s", (*values.values(), self._collection)
        )

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        found = self._ask(
            "SELECT 1 FROM sj_document WHERE collection = %s AND vector IS NOT NULL LIMIT 1",
            (self._collection,),
        )
        return bool(found)

    # ------------------------------------------------------------------ documents

    def upsert(self, rows: Sequence[NewRow], *, now: int) -> list[Written]:
        """Write rows with distinct keys (scope and id); a row replaces the one with its key.

        Raises:
            VersionConflictError: a row is to replace another version than the one that is there.
        """
        by_scope: dict[Scope, list[NewRow]] = {}
        for row in rows:
            by_scope.setdefault(row.scope, []).append(row)
        self.begin(by_scope)
        old = self._old(by_scope)
        for row in rows:
            if row.expected is not None:
                seq, _, expires_at = old.get((key_of(row.scope), stored_id(row.id)), (0, False, None))
                found = 0 if expires_at is not None and expires_at <= now else seq
                if found != row.expected:
                    raise VersionConflictError(row.id, row.expected, found)
        written = []
        before = {scope: self._touched[key_of(scope)] for scope in by_scope}
        before = {scope: _copy(state) for scope, state in before.items()}
        new = self._numbered(rows, now)
        for scope, part in by_scope.items():
            key, state = key_of(scope), self._touched[key_of(scope)]
            gone = [
                found for found in (old.get((key, stored_id(row.id))) for row in part) if found is not None
            ]
            if gone:
                self._remove(key, [seq for seq, _, _ in gone])
            state.documents += len(part) - len(gone)
            state.vectors += sum(row.vector is not None for row in part) - sum(has for _, has, _ in gone)
            written.append(Written(scope, before[scope].version, state.version, before[scope].documents))
        self._insert(new)
        return written

    def _numbered(self, rows: Sequence[NewRow], now: int) -> list[tuple[Any, ...]]:
        """Return rows as the table has them, with numbers in their order, also where they are of several homes."""
        number = max((self._last[home_of(row.scope)] for row in rows), default=0)
        known: dict[Scope, tuple[Key, _Touched, Checksum]] = {}
        new = []
        for row in rows:
            of_scope = known.get(row.scope)
            if of_scope is None:
                key = key_of(row.scope)
                of_scope = known[row.scope] = key, self._touched[key], Checksum(row.scope)
            key, state, checksum = of_scope
            number += 1
            self._last[key.home] = state.version = number
            state.is_changed = True
            hashed = checksum.of(row.id, row.text, row.payload)
            times = (row.created_at, now, row.expires_at)
            data = (stored_id(row.id), row.text.encode(), row.payload, row.vector)
            new.append(
                (
                    key.home,
                    self._collection,
                    key.number,
                    number,
                    *data,
                    *times,
                    hashed,
                    is_pending(row.payload),
                )
            )
        return new

    def _old(
        self, by_scope: Mapping[Scope, Sequence[NewRow]]
    ) -> dict[tuple[Key, bytes], tuple[int, bool, int | None]]:
        """Return (number, whether it has a vector, expiry) of the rows that are there, by key and id."""
        questions = []
        known = []
        for scope, part in by_scope.items():
            key = key_of(scope)
            if self._touched[key].documents:
                known.append(key)
                questions.append(
                    (
                        f"SELECT id, seq, vector IS NOT NULL, expires_at FROM sj_document WHERE {_PLACE} "
                        "AND id = ANY(%s)",
                        (key.home, self._collection, key.number, [stored_id(row.id) for row in part]),
                    )
                )
        found = self._ask_all(questions) if questions else []
        return {(key, row[0]): row[1:] for key, rows in zip(known, found, strict=True) for row in rows}

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        if len(rows) < _MANY:
            statement = f"INSERT INTO sj_document({_COLUMNS}) VALUES ({', '.join(['%s'] * len(_TYPES))})"
            self._later += [(statement, row) for row in rows]
            return
        self.flush()
        statement = f"COPY sj_document({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(_TYPES)
            for row in rows:
                copy.write_row(row)

    def _remove(self, key: Key, seqs: Sequence[int]) -> None:
        self._later.append(
            (
                f"DELETE FROM sj_document WHERE {_PLACE} AND seq = ANY(%s)",
                (key.home, self._collection, key.number, list(seqs)),
            )
        )

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        """Delete documents of exactly this scope; unknown ids are ignored. None: the scope has none of them."""
        if not can_hold(scope):
            return None
        wanted = {stored_id(id): id for id in ids}
        key, state = key_of(scope), self._state(scope)
        if not state.documents or not wanted:
            return None
        found = self._ask(
            f"SELECT id, seq, vector IS NOT NULL FROM sj_document WHERE {_PLACE} AND id = ANY(%s)",
            (key.home, self._collection, key.number, list(wanted)),
        )
        by_id = {row[0]: row[1:] for row in found}
        gone = [(*by_id[data], data) for data in wanted if data in by_id]
        return self._delete(scope, gone, [wanted[data] for *_, data in gone], reason, now) if gone else None

    def _delete(
        self,
        scope: Scope,
        gone: Sequence[tuple[int, bool, bytes]],
        ids: Sequence[RowId],
        reason: str,
        now: int,
    ) -> Written:
        """Delete rows (number, whether it has a vector, id) of a locked scope; leave tombstones and an event."""
        key, state = key_of(scope), self._state(scope)
        before = _copy(state)
        self._remove(key, [seq for seq, _, _ in gone])
        place = (key.home, self._collection, key.number)
        self._later.append(
            (f"DELETE FROM sj_feedback WHERE {_PLACE} AND id = ANY(%s)", (*place, [g[2] for g in gone]))
        )
        numbers = [self._next(key.home) for _ in gone]
        self._later.append(
            (
                "INSERT INTO sj_tombstone SELECT %s, %s, %s, u.seq, u.id "
                "FROM unnest(%s::bigint[], %s::bytea[]) AS u(seq, id)",
                (*place, numbers, [data for _, _, data in gone]),
            )
        )
        state.version, state.is_changed = numbers[-1], True
        state.documents -= len(gone)
        state.vectors -= sum(has for _, has, _ in gone)
        self._event(key, state.version, reason, len(gone), now)
        return Written(scope, before.version, state.version, before.documents, list(ids))

    def _event(self, key: Key, version: int, reason: str, n_documents: int, now: int) -> None:
        self._later.append(
            (
                "INSERT INTO sj_event(home, collection, scope, version, at, reason, documents) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (
                    key.home,
                    self._collection,
                    key.number,
                    version,
                    now,
                    reason.encode("utf-8", "surrogatepass"),
                    n_documents,
                ),
            )
        )

    def add_event(self, scope: Scope, reason: str, n_documents: int, *, now: int) -> None:
        """Write that documents of a scope were deleted."""
        key, state = key_of(scope), self._state(scope)
        state.version, state.is_changed = self._next(key.home), True
        self._event(key, state.version, reason, n_documents, now)

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a note of feedback; False if its document is not there. A home keeps MAX_NOTES, and a few more."""
        key = key_of(note.document_scope)
        place = (key.home, self._collection)
        data = stored_id(note.id)
        found = self._ask(
            f"SELECT 1 FROM sj_document WHERE {_PLACE} AND id = %s AND (expires_at IS NULL OR expires_at > %s)",
            (*place, key.number, data, now),
        )
        if not found:
            return False
        number = self._next(key.home)
        query = None if note.query is None else note.query.encode()
        ranks = (note.lexical_rank, note.vector_rank, note.score)
        self._later.append(
            (
                "INSERT INTO sj_feedback VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    *place,
                    number,
                    round(note.at * 1e6),
                    *names_of(note.scope),
                    key.number,
                    data,
                    note.used,
                    query,
                    *ranks,
                ),
            )
        )
        (n,) = self._ask("SELECT count(*) FROM sj_feedback WHERE home = %s AND collection = %s", place)[0]
        if n > MAX_NOTES + _PRUNED_EVERY:
            self._later.append(
                (
                    "DELETE FROM sj_feedback WHERE home = %s AND collection = %s AND number <= (SELECT number FROM "
                    "sj_feedback WHERE home = %s AND collection = %s ORDER BY number DESC LIMIT 1 OFFSET %s)",
                    (*place, *place, MAX_NOTES),
                )
            )
        return True

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        """Delete the documents that have expired of scopes that agree with `within` (None: of all)."""
        if within is not None and not can_hold(within):
            return []
        condition, names = agreeing(within, table="s")
        found = self._ask(
            "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 "
            f"AND {condition} AND EXISTS(SELECT 1 FROM sj_document d WHERE d.home = s.home AND "
            "d.collection = s.collection AND d.scope = s.key AND d.expires_at <= %s)",
            (self._collection, *names, now),
        )
        scopes = [scope for scope in (scope_of(*row) for row in found) if scope.tenant not in leaving]
        self.begin(scopes)
        written = []
        for scope in scopes:
            key = key_of(scope)
            gone = self._ask(
                f"SELECT seq, vector IS NOT NULL, id FROM sj_document WHERE {_PLACE} AND expires_at <= %s ORDER BY seq",
                (key.home, self._collection, key.number, now),
            )
            if gone:
                ids = [self._id_of(data) for _, _, data in gone]
                written.append(self._delete(scope, gone, ids, "sweep", now))
        return written

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`; images and tombstones go with them."""
        if not can_hold(scope):
            return []
        self._lock([home_of(scope)])
        condition, names = agreeing(scope, exact=exact, table="s")
        rows = "home = s.home AND {table}.collection = s.collection AND {table}.scope = s.key"
        found = self._ask(
            f"SELECT tenant, usr, agent FROM sj_scope s WHERE {condition} AND collection = %s AND (documents > 0 "
            + "".join(
                f"OR EXISTS(SELECT 1 FROM {table} WHERE {table}.{rows.format(table=table)}) "
                for table in ("sj_image", "sj_tombstone")
            )
            + ")",
            (*names, self._collection),
        )
        scopes = [scope_of(*row) for row in found]
        self.begin(scopes)
        asked, asked_names = agreeing(scope, exact=exact)
        self._later.append(
            (f"DELETE FROM sj_feedback WHERE {asked} AND collection = %s", (*asked_names, self._collection))
        )
        written = []
        for one in scopes:
            key, state = key_of(one), self._state(one)
            before = _copy(state)
            for table in ("sj_document", "sj_image", "sj_tombstone", "sj_feedback"):
                self._later.append(
                    (f"DELETE FROM {table} WHERE {_PLACE}", (key.home, self._collection, key.number))
                )
            state.version = state.horizon = self._next(key.home)
            state.documents, state.vectors, state.is_changed = 0, 0, True
            if before.documents:
                self._event(key, state.version, reason, before.documents, now)
            written.append(Written(one, before.version, state.version, before.documents, erased=True))
        return written

    def erase_elsewhere(
        self, scope: Scope, reason: str, *, exact: bool, now: int, words: Pseudonyms | None
    ) -> int:
        """Do the same in all other collections; return how many documents they had."""
        if words is not None:
            self.forget_names(scope, words)
        found = self._ask(
            "SELECT collection FROM sj_collection WHERE collection <> %s ORDER BY collection",
            (self._collection,),
        )
        n_gone = 0
        for (number,) in found:
            other = self._beside(number)
            n_gone += sum(one.documents_before for one in other.erase(scope, reason, exact=exact, now=now))
            self._adopt(other)
        return n_gone

    def _beside(self, number: int) -> PostgresTransaction:
        """Return this transaction as it writes to another collection; to be adopted."""
        other = PostgresTransaction(self._connection, number, self._place, self._lineage, self._id_of)
        other._last = self._last
        return other

    def _adopt(self, other: PostgresTransaction) -> None:
        """Send with this transaction what another collection's collected."""
        self._later += other._later
        for key, state in other._touched.items():
            if state.is_changed:
                self._later.append(other._statement_of(key, state))
                self.elsewhere.append((other._collection, state.scope, state.version))

    def forget_names(self, scope: Scope, words: Pseudonyms) -> None:
        """Names stay in the rows of scopes here."""
        raise UnsupportedError("erase(names=True)", self._place)

    # ------------------------------------------------------------------ images and care

    def write_image(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> None:
        """Replace a scope's image by that of `version`, unless it is of no use any more, or it has a newer one."""
        if not self.images_belong or not can_hold(scope):
            return
        key = key_of(scope)
        place = (key.home, self._collection, key.number)
        found = self._ask(
            "SELECT horizon, version FROM sj_scope WHERE home = %s AND collection = %s AND key = %s "
            "FOR NO KEY UPDATE",  # two processes write one image after the other
            place,
        )
        newest = self._ask(f"SELECT max(version) FROM sj_image WHERE {_PLACE}", place)[0][0]
        if not found or not found[0][0] <= version <= found[0][1]:
            return
        if newest is not None and newest + (not replace) > version:
            return
        self._later.append((f"DELETE FROM sj_image WHERE {_PLACE}", place))
        self._later += [
            (
                "INSERT INTO sj_image VALUES (%s, %s, %s, %s, %s, %s, %b)",
                (*place, i, len(chunks), version, data),
            )
            for i, data in enumerate(marked(scope, version, chunks))
        ]

    def drop_image(self, key: Any) -> None:
        """Delete the image of the scope with this key."""
        self._later.append((f"DELETE FROM sj_image WHERE {_PLACE}", (key.home, self._collection, key.number)))

    def forget_deleted(self) -> None:
        """Drop the ids of deleted documents of all collections, and every image that needs them."""
        homes = self._ask("SELECT DISTINCT home FROM sj_tombstone")
        self._lock([home for (home,) in homes])
        for (home,) in homes:
            self._ask_all(
                [
                    (
                        "UPDATE sj_scope s SET horizon = greatest(s.horizon, t.last), changed = statement_timestamp() "
                        "FROM (SELECT collection, scope, max(seq) AS last FROM sj_tombstone WHERE home = %s "
                        "GROUP BY collection, scope) t WHERE s.home = %s AND s.collection = t.collection "
                        "AND s.key = t.scope",
                        (home, home),
                    ),
                    ("DELETE FROM sj_tombstone WHERE home = %s", (home,)),
                    (
                        "DELETE FROM sj_image i USING sj_scope s WHERE i.home = %s AND s.home = %s "
                        "AND s.collection = i.collection AND s.key = i.scope AND i.version < s.horizon",
                        (home, home),
                    ),
                ]
            )

    def forget_stale_pending(self) -> None:
        """A document itself says whether it is pending: nothing is stale."""

    def drop_collection(self, name: str, *, now: int) -> int:
        """Delete a collection, and leave an event in the one without a name for each scope that had documents; return
        how many documents that were."""
        number, root = (schema.find_collection(self._connection, one) for one in (name, ""))
        if number is None or root is None:
            return 0
        found = self._ask(
            "SELECT tenant, usr, agent, documents FROM sj_scope WHERE collection = %s AND documents > 0 "
            "ORDER BY home, key",
            (number,),
        )
        scopes = [scope_of(*row[:3]) for row in found]
        self._lock(map(home_of, scopes))
        events = self._beside(root)
        for scope, row in zip(scopes, found, strict=True):
            events.add_event(scope, f"drop_collection {name}", row[3], now=now)
        self._adopt(events)
        self._later += [(f"DELETE FROM {table} WHERE collection = %s", (number,)) for table in schema.TABLES]
        self._later.append(("DELETE FROM sj_collection WHERE collection = %s", (number,)))
        return sum(row[3] for row in found)

    def roll_back(self) -> None:
        """Undo everything."""
        with suppress(Exception):
            self._connection.execute("ROLLBACK")


def _copy(state: _Touched) -> _Touched:
    return _Touched(
        state.scope,
        state.version,
        state.documents,
        state.vectors,
        state.horizon,
        state.is_new,
        state.is_changed,
    )


def _holdable(scope: Scope) -> Scope:
    if not can_hold(scope):
        raise ValueError(
            f"scope: expected names without the character NUL, which PostgreSQL cannot store, got {scope!r}"
        )
    return scope
