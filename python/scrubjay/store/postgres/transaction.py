"""The writes of one transaction.

A write first locks its homes, then reads what it needs. Its changes are batched and sent together with the
COMMIT, so that a typical write takes two round trips.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import (
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UnsupportedError,
)
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.opening import Opening
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.digests import count_tables_anew, seal_notes
from scrubjay.store.postgres.document_writing import DocumentWriter
from scrubjay.store.postgres.erasure import erase_scopes
from scrubjay.store.postgres.errors import is_away
from scrubjay.store.postgres.feedback import write_note
from scrubjay.store.postgres.hint_buckets import Hint, bucket_of
from scrubjay.store.postgres.holds import HoldTable
from scrubjay.store.postgres.home_locks import PLACE, Turns
from scrubjay.store.postgres.images import write_image
from scrubjay.store.postgres.keys import Homes, Key, can_hold, stored_id
from scrubjay.store.postgres.maintenance import drop_collection, forget_deleted
from scrubjay.store.postgres.renaming import agrees, is_whole_tenant, rename_scopes
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import Sealer
from scrubjay.store.postgres.write_order import settling
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import Identity, NewRow, RowId, Written


class PostgresTransaction:
    """One transaction on one connection. Not thread-safe.

    Args:
        connection: outside of any transaction; :meth:`start` begins one.
        collection: the number of the collection.
        place: of the database, for messages.
        lineage: the history that the server shows now.
        id_of: stored bytes -> id.
        opening: the keys of the store.
        table: the cached existence of the table of legal holds.
        homes: the assignment of scopes to homes.
        is_held: whether legal holds apply to the documents of the collection (:class:`Turns`).
    """

    def __init__(
        self,
        connection: Any,
        collection: int,
        place: str,
        lineage: str,
        id_of: Callable[[bytes], Any],
        opening: Opening,
        table: HoldTable,
        homes: Homes,
        is_held: bool,
    ) -> None:
        self.committed = False
        self.images_belong = True
        """Whether the partitions of this process belong to the server's history."""
        self.batch = Batch(connection)
        self._homes = homes
        self._turns = Turns(self.batch, collection, lineage, opening, table, homes, is_held, place)
        self._documents = DocumentWriter(self._turns, id_of)
        self._place = place
        self._lineage = lineage
        self._id_of = id_of
        self.elsewhere: list[tuple[int, Scope, int]] = []
        """Writes to other collections: number of the collection, scope, version."""
        self.generations: dict[int, int] = {}
        """Collection -> its new generation, after which everything of it must be read again."""
        self._forgotten: list[Scope] = []  # scopes whose names are erased
        self._erased: dict[str, None] = {}  # tenants that were erased as a whole
        self._erased_users: dict[tuple[str, str], None] = {}  # users that were erased
        self.buries = False
        """Whether keys of users must be destroyed after the commit."""
        self.released: list[str] = []
        """Tenants of whom nothing is left that needs a key."""
        self.hints: list[Hint] = []
        """Hints for other processes, sent after the commit."""
        self._changed_beside: dict[tuple[str, str, str], None] = {}
        self.numbered = 0
        """The last number of a row of a layer above."""
        self.beside: Any = None
        """The connection object of the layer above."""
        self.home_of_record: dict[Any, str] = {}
        """The homes of records of a layer above that were read or written."""

    @property
    def objects(self) -> ObjectStore | None:
        """The object store of large images and cold rows; None: images are in their rows."""
        return self._turns.objects

    @objects.setter
    def objects(self, objects: ObjectStore | None) -> None:
        self._turns.objects = objects

    @property
    def ahead(self) -> dict[bytes, bytes]:
        """Objects that were fetched before anything was locked, by their hashes."""
        return self._turns.ahead

    @property
    def cold(self) -> list[tuple[Key, bytes]]:
        """The started scopes whose rows are objects, and the hashes of these."""
        return [(key, state.cold) for key, state in self._turns.touched.items() if state.cold is not None]

    @property
    def dropped(self) -> list[bytes]:
        """The hashes of objects that no image refers to after the commit."""
        return self._turns.dropped

    @property
    def sealer(self) -> Sealer:
        """Seals the values that the transaction writes."""
        return self._turns.sealer

    def in_collection(self, number: int) -> Turns:
        """Return the locks for writes to a collection; changed states must be written with
        :meth:`Turns.leave_digest`, or not at all."""
        return self._turns if number == self._turns.collection else self._turns.beside(number)

    def seal_notes(self, tenant: str, box: Box) -> None:
        """Seal the plain queries of a tenant's feedback, in every collection."""
        for home in self._turns.lock_tenant(tenant):
            if seal_notes(self.batch, self.sealer.sealing, home, tenant):
                count_tables_anew(self.batch, box, home)

    def note_rows(self, sign: int, table: str, rows: Sequence[tuple[Any, ...]], home: str) -> None:
        """Record rows of a layer above that are added (1) or removed (-1), for their digest."""
        self._turns.notes.note(sign, home, 0, table, rows)

    def count_anew(self, tenant: str, box: Box) -> None:
        """Recompute all digests of a tenant from its rows."""
        self._turns.count_anew(tenant, box)

    # ------------------------------------------------------------------ a layer above

    @property
    def connection(self) -> Any:
        if self.beside is None:
            raise UnsupportedError("tables beside the documents", self._place)
        return self.beside

    def lock(self, whose: Iterable[str | Scope]) -> None:
        """Lock rows of a layer above: a tenant locks all its rows ("": the rows that belong to all tenants); a
        scope locks the rows of its user, for all agents (without a user: the rows of the tenant that have no
        user).

        Rows of a user are in the user's home, which is what is locked. So users of different homes do not wait
        for each other, and locking a tenant waits for all of them. Creating the data key of a tenant requires the
        locks of all its homes, its own first, so with keys a user's lock includes the tenant's own home until this
        process has seen the tenant's key. (If another process destroys that key and this one creates a new one, it
        locks the tenant's own home after a user's. A deadlock is then possible, which the server ends: one of the two
        raises StoreBusyError.)

        Until it ends, the transaction publishes the smallest number that it may write (:meth:`Writer.settled`).

        Raises:
            ValueError: a name that the tables cannot store.
        """
        whose = list(whose)
        tenants = [one for one in whose if isinstance(one, str)]
        scopes = [one for one in whose if not isinstance(one, str)]
        for tenant in (*tenants, *(scope.tenant for scope in scopes)):
            if "\0" in tenant:
                raise ValueError(
                    f"tenant: expected a name without the character NUL, got {tenant!r}: {self._place}"
                )
        for everybody in (False, *((True,) if "" in tenants else ())):
            self.batch.add(settling(everybody))
        homes = {self._homes.of_user(scope.tenant, scope.user) for scope in scopes}
        homes.update(map(self._homes.own, tenants))
        ring = self.sealer.ring
        if ring is not None:
            homes.update(self._homes.own(one.tenant) for one in scopes if not ring.has_opened(one.tenant))
        self._turns.lock(homes)
        for tenant in filter(None, tenants):
            self._turns.lock_tenant(tenant)

    def lock_tenant(self, tenant: str) -> list[str]:
        """Lock all homes of a tenant, and return them, its own first."""
        return self._turns.lock_tenant(tenant)

    def lock_homes(self, homes: Iterable[str]) -> None:
        """Lock homes, as named in rows, in the global lock order."""
        self._turns.lock(homes)

    def lock_scopes(self, scopes: Iterable[Scope]) -> None:
        """Lock the homes of scopes in the global lock order."""
        self._turns.lock(map(self._homes.of, scopes))

    @property
    def homes(self) -> list[str]:
        """The homes locked by the transaction, in alphabetical order."""
        return self._turns.locked

    def homes_of_record(self, id: Any) -> Sequence[str]:
        """Return the home of a record of a layer above, if it was read or written before; otherwise all locked
        homes."""
        known = self.home_of_record.get(id)
        return self._turns.locked if known is None else [known]

    def has_turn_of(self, home: str) -> bool:
        """Whether no other transaction can write to a home."""
        return self._turns.is_locked(self._homes.tenant(home), home)

    def has_turn(self, tenant: str, user: str) -> bool:
        """Whether no other transaction can write rows of a layer above that belong to a user of a tenant ('': no
        user)."""
        return self._turns.is_locked(tenant, self._homes.of_user(tenant, user))

    def number(self) -> int:
        """Return the number of a row of a layer above: greater than all before it in the locked homes."""
        if not self._turns.locked:
            raise StoreError(f"writing: expected the lock of a home, got none: {self._place}")
        self.numbered = self._turns.next_of_all()
        return self.numbered

    def touch(self, tenant: str, user: str, agent: str) -> None:
        """Record that a row of a layer above changed that belongs to a scope (tenant "": to all tenants), whose
        version then grows."""
        self._changed_beside[tenant, user, agent] = None

    def _touch_scopes(self) -> None:
        for tenant, user, agent in sorted(
            self._changed_beside, key=lambda names: self._homes.of_user(*names[:2])
        ):
            if any(agrees((tenant, user, agent), scope) for scope in self._forgotten):
                continue
            if not tenant:
                self._touch_everybody()
                continue
            scope = scope_of(tenant, user, agent)
            if can_hold(scope) and not self._turns.state(scope).is_changed:
                key = self._homes.key(scope)
                self._turns.number(key, self._turns.next(key.home))

    def _touch_everybody(self) -> None:
        """Increase the version of the row for everything that belongs to all tenants, in home "", which the feed
        sees."""
        self.batch.add(
            "INSERT INTO sj_scope AS s VALUES ('', %s, 0, '', '', '', %s, 0, 0, 0, %s, statement_timestamp()) "
            "ON CONFLICT (home, collection, key) DO UPDATE SET version = excluded.version, "
            "lineage = excluded.lineage, changed = statement_timestamp()",
            (self._turns.collection, self._turns.next(""), self._lineage),
        )

    # ------------------------------------------------------------------ beginning and end

    def start(self, scopes: Iterable[Scope], *, wait: bool, ids: Sequence[RowId] = ()) -> None:
        """Begin, and lock the homes of these scopes; without `wait` only if they are free.

        With `ids`, the documents of a single scope that will be written, the same round trip looks up which of
        them exist.
        """
        self.batch.add("BEGIN")
        if not wait:
            self.batch.add("SET LOCAL lock_timeout = 1")
        scopes = [scope for scope in scopes if can_hold(scope)]  # the others cannot have documents
        if ids and len(scopes) == 1:
            wanted = [stored_id(id) for id in ids]
            key = self._homes.key(scopes[0])
            found = self._turns.begin_with(scopes[0], len(ids), self._documents.question_of_old(key, wanted))
            state = self._turns.state(scopes[0])
            # otherwise its staged vectors were just moved into place
            if not state.is_changed and state.cold is None:
                self._documents.know(key, wanted, found)
        else:
            self._turns.begin(scopes)
        self.batch.flush()

    def flush(self) -> None:
        """Send the batch, so that reads on the connection see its writes."""
        self.batch.flush()

    def commit(self) -> None:
        self._touch_scopes()
        self._leave_scopes()
        self._turns.stamp_others()
        self._turns.notes.settle()
        self.released = [tenant for tenant in self._erased if self.sealer.release(tenant)]
        buried = [self.sealer.release_users(tenant) for tenant in self.released]
        buried += [self.sealer.release_user(*names) for names in self._erased_users]
        self.buries = any(buried)
        self._turns.leave_homes()
        started = time.monotonic()
        try:
            self.batch.commit()
        except Exception as error:
            if is_away(error):
                raise StoreUnavailableError(
                    "committing: the connection was lost, and it is not known whether this was written; write it "
                    f"again: {self._place}"
                ) from error
            raise
        self.committed = True
        if time.monotonic() - started > schema.WINDOW_SECONDS / 2:
            self._turns.stamp_again()

    def _leave_scopes(self) -> None:
        self._turns.leave_scopes()
        self.hints += [
            Hint(self._turns.collection, key.number, bucket_of(key.home)) for key, _ in self._turns.changed()
        ]

    def roll_back(self) -> None:
        """Roll the transaction back."""
        with suppress(Exception):
            self.batch.connection.execute("ROLLBACK")

    # ------------------------------------------------------------------ identity

    def identity(self) -> Identity:
        """Return the identity of the collection, as of the lock or later."""
        if self._turns.made_of is not None:
            return schema.identity_of([self._turns.made_of])
        self.flush()
        return schema.read_identity(self.batch.connection, self._turns.collection)

    def settle(self, **values: object) -> None:
        """Write fields of the identity, which no other transaction can settle before this one ends.

        Raises:
            StoreBusyError: another process just settled a field with another value; nothing was written.
        """
        self.flush()
        self._turns.made_of = None
        found = schema.read_identity(self.batch.connection, self._turns.collection, for_update=True)
        for name, value in values.items():
            if getattr(found, name) not in (None, value) and not (name == "model" and not self.has_vectors()):
                raise StoreBusyError(
                    f"{name}: another process settled {getattr(found, name)!r} just now, got {value!r}; try again: "
                    f"{self._place}"
                )
        names = ", ".join(f"{name} = %s" for name in values)
        self.batch.ask(
            f"UPDATE sj_collection SET {names} WHERE collection = %s",
            (*values.values(), self._turns.collection),
        )

    def is_newer(self, generation: int) -> bool:
        """Whether the collection has a newer generation than this one; valid after any scope was locked."""
        return self._turns.generation > generation

    def has_vectors(self) -> bool:
        found = self.batch.ask(
            "(SELECT 1 FROM sj_document WHERE collection = %s AND vector IS NOT NULL LIMIT 1) UNION ALL "
            "(SELECT 1 FROM sj_scope WHERE collection = %s AND cold IS NOT NULL AND vectors > 0 LIMIT 1)",
            (self._turns.collection, self._turns.collection),
            home=EVERY_HOME,
        )
        return bool(found)

    # ------------------------------------------------------------------ documents

    def upsert(self, rows: Sequence[NewRow], *, now: int, fills: bool = False) -> list[Written]:
        return self._documents.upsert(rows, now=now, fills=fills)

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        return self._documents.delete(scope, ids, reason, now=now)

    def add_event(self, scope: Scope, reason: str, n_documents: int, *, now: int) -> None:
        """Write a deletion event for a scope."""
        self._documents.add_event(scope, reason, n_documents, now=now)

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a feedback note; False if its document does not exist. A home keeps MAX_NOTES, and a few more."""
        return write_note(self._turns, note, now=now)

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        return self._documents.sweep(within, leaving=leaving, now=now)

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        if not can_hold(scope):
            return []
        written = erase_scopes(self._turns, self._documents, scope, reason, exact=exact, now=now)
        if scope.user is None and scope.agent is None:
            self._erased[scope.tenant] = None
        elif scope.user is not None:
            self._erased_users[scope.tenant, scope.user] = None
        return written

    def erase_elsewhere(
        self, scope: Scope, reason: str, *, exact: bool, now: int, words: Pseudonyms | None
    ) -> int:
        found = self.batch.ask(
            "SELECT collection FROM sj_collection WHERE collection <> %s ORDER BY collection",
            (self._turns.collection,),
        )
        n_gone = 0
        for (number,) in found:
            other = self._beside(number)
            n_gone += sum(one.documents_before for one in other.erase(scope, reason, exact=exact, now=now))
            if words is not None:
                other.forget_names(scope, words)
            self._adopt(other)
        return n_gone

    def _beside(self, number: int) -> PostgresTransaction:
        """Return this transaction for writes to another collection; pass it to `_adopt` afterwards."""
        other = copy(self)
        other._turns = self._turns.beside(number)
        other._documents = DocumentWriter(other._turns, self._id_of)
        return other

    def _adopt(self, other: PostgresTransaction) -> None:
        """Add the writes to another collection to this transaction."""
        other._leave_scopes()
        self.elsewhere += [
            (other._turns.collection, state.scope, state.version) for _, state in other._turns.changed()
        ]

    def forget_names(self, scope: Scope, words: Pseudonyms) -> None:
        """Replace the names of every empty scope that agrees with `scope` by pseudonyms; see
        :mod:`scrubjay.store.postgres.renaming`."""
        if not can_hold(scope):
            return
        homes = self._turns.lock_tenant(scope.tenant)
        if is_whole_tenant(scope):
            self._turns.lock([self._homes.own(words.of(*names_of(scope))[0])])
            for home in homes:
                self._turns.drop_home(home)
        self._forgotten.append(scope)
        self.hints += [
            Hint(self._turns.collection, key.number, bucket_of(key.home)) for key, _ in self._turns.changed()
        ]
        generation = rename_scopes(self._turns, scope, words)
        if generation is not None:
            self.generations[self._turns.collection] = generation
            self.elsewhere += [
                (self._turns.collection, state.scope, state.version) for _, state in self._turns.changed()
            ]

    # ------------------------------------------------------------------ images and maintenance

    def write_image(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> None:
        if self.images_belong and can_hold(scope):
            write_image(self._turns, scope, version, chunks, replace=replace, objects=self.objects)

    def drop_image(self, key: Any) -> None:
        place = (key.home, self._turns.collection, key.number)
        self._turns.drop_images(PLACE, place, home=key.home)

    def drop_images(self, condition: str, home: str) -> None:
        """Delete the images of a locked home, of all collections, that meet a condition with the home as
        parameter."""
        self._turns.drop_images(condition, (home,), home=home)

    def forget_deleted(self) -> None:
        forget_deleted(self._turns)

    def forget_stale_pending(self) -> None:
        """Do nothing: whether a document is pending is stored in its row, so no entries become stale."""

    def drop_collection(self, name: str, *, now: int) -> int:
        """Delete a collection, leaving an event in the unnamed one for each scope that had documents; return the
        number of documents."""
        self.flush()
        root = schema.find_collection(self.batch.connection, "")
        if root is None:
            return 0
        events = self._beside(root)
        n_gone = drop_collection(
            events._turns, name, lambda scope, reason, n: events.add_event(scope, reason, n, now=now)
        )
        self._adopt(events)
        return n_gone
