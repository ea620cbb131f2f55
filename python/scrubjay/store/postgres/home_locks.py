"""The locks of homes that a transaction holds, the numbers of its writes, and the states of the scopes that it
touches.

A write locks the row of its home first, then reads what it needs. The home assigns the numbers of writes: the
server's time in microseconds, or the last number plus one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import KeyErasedError, StoreFormatError
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.opening import DataKey, Opening
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.cold import thaw
from scrubjay.store.postgres.digests import (
    Notes,
    ScopeChanges,
    count_scopes_anew,
    count_tables_anew,
    recent_of,
    seal_digest,
    seal_notes,
)
from scrubjay.store.postgres.holds import Holds, HoldTable
from scrubjay.store.postgres.keys import Homes, Key, can_hold
from scrubjay.store.postgres.last_use import today
from scrubjay.store.postgres.row_security import EVERY_HOME, Home
from scrubjay.store.postgres.schema import IDENTITY_COLUMNS
from scrubjay.store.postgres.sealing import KEY, Sealer, data_key_of
from scrubjay.store.postgres.staging import ends_of, holding_model, put_in_place, vectors_of
from scrubjay.store.rows.scopes import names_of

PLACE = "home = %s AND collection = %s AND scope = %s"


@dataclass
class TouchedScope:
    """The state of a scope as the transaction will leave it."""

    scope: Scope
    version: int
    documents: int
    vectors: int
    horizon: int
    is_new: bool
    is_changed: bool = False
    embedding: int = 0
    """The embedding that is in place; see :mod:`scrubjay.store.postgres.staging`."""
    counted: ScopeChanges = field(default_factory=ScopeChanges)
    """The changes for its digest."""
    cold: bytes | None = None
    """The hash of the object that has its rows; None: they are in the table."""


class Turns:
    """The locked homes of a transaction, and its writes to one collection. Not thread-safe.

    Lock order: with more than one home, first the own homes of all tenants in alphabetical order, then buckets in
    any order (:meth:`_to_lock`).

    Args:
        batch: of the transaction.
        collection: the number of the collection.
        lineage: the history that the server shows now.
        opening: the keys of the store.
        table: the cached existence of the table of legal holds.
        homes: the assignment of scopes to homes.
        is_held: whether legal holds apply to the documents of the collection; False if they mirror records of a
            layer, which holds those.
        place: of the database, for messages.
    """

    def __init__(
        self,
        batch: Batch,
        collection: int,
        lineage: str,
        opening: Opening,
        table: HoldTable,
        homes: Homes,
        is_held: bool = True,
        place: str = "",
    ) -> None:
        self.batch = batch
        self._place = place
        self.homes = homes
        self.holds = Holds(table, homes)
        self.is_held = is_held
        self._table = table
        self.collection = collection
        self.generation = 0
        """The generation of the collection, known once the state of any scope was read; constant until the
        transaction ends."""
        self.made_of: Sequence[Any] | None = None
        """The collection's identity as it was read along with that (:func:`identity_of`)."""
        self.touched: dict[Key, TouchedScope] = {}
        self._lineage = lineage
        self._last: dict[str, int] = {}  # home -> the number of its last write; its row is locked
        self._taken: dict[str, int] = {}  # home -> the last number that its row has already
        self._dropped: set[str] = set()
        self._whole: set[str] = set()  # tenants with all homes locked
        self._keys: dict[
            str, DataKey | None
        ] = {}  # home -> its copy of the tenant's data key; its row is locked
        self.sealer = Sealer(opening, batch, homes, self._keys, self.lock, self.lock_tenant, self._begin)
        self._all = [self]  # the instances of all collections that the transaction writes to
        self.dropped: list[bytes] = []
        """The hashes of objects that no image refers to once the transaction is committed."""
        self.notes = Notes(batch, self.sealer, homes)
        self.objects: ObjectStore | None = None
        """The object store; None: the index was opened without one."""
        self.ahead: dict[bytes, bytes] = {}
        """Objects that were fetched before anything was locked, by their hashes."""

    def beside(self, collection: int) -> Turns:
        """Return the same locks for the transaction's writes to another collection."""
        other = Turns(
            self.batch,
            collection,
            self._lineage,
            self.sealer.opening,
            self._table,
            self.homes,
            place=self._place,
        )
        other.holds = self.holds
        other._last, other._taken, other._dropped = self._last, self._taken, self._dropped
        other._whole = self._whole
        other._keys, other.sealer, other.notes = self._keys, self.sealer, self.notes
        other._all, other.dropped = self._all, self.dropped
        other.objects, other.ahead = self.objects, self.ahead
        self._all.append(other)
        call, parameters = holding_model(collection)
        self.batch.add(f"SELECT {call}", parameters)
        return other

    # ------------------------------------------------------------------ locks and states

    def begin(self, scopes: Iterable[Scope]) -> None:
        """Lock the homes of scopes in the global lock order, and read the states of the scopes."""
        by_home: dict[str, list[Scope]] = {}
        for scope in dict.fromkeys(scopes):
            if self.homes.key(scope) not in self.touched:
                by_home.setdefault(self.homes.of(_holdable(scope)), []).append(scope)
        for home in self._to_lock(by_home):
            self._read(home, by_home.pop(home, []))
        for home, of_home in by_home.items():
            self._read(home, of_home)

    def begin_with(self, scope: Scope, n_numbers: int, question: Statement) -> list[tuple[Any, ...]]:
        """In one round trip, lock the home of a scope, reserve numbers for `n_numbers` writes, read the scope's
        state and run one more query about its home; return the rows of that query.

        This must be the first step of a transaction.
        """
        home = self.homes.of(_holdable(scope))
        take: Statement = (
            # statement_timestamp(), because a sharding server rejects times later than the statement; numbers
            # ascend anyway.
            "UPDATE sj_home SET last = greatest(last, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint) "
            f"+ %s WHERE home = %s RETURNING last, {KEY}",
            (n_numbers, home),
        )
        self.batch.add_seeing(home, *holding_model(self.collection))
        (taken, state, found), held = self._asked(home, [take, self._question(scope), question])
        if not taken:
            self._read(home, [scope])
            return self.batch.ask(*question, home=home)
        self._taken[home] = taken[0][0]
        self._last[home] = taken[0][0] - n_numbers
        self._keys[home] = data_key_of(self.homes.tenant(home), taken[0][1:])
        if held is not None:
            self.holds.answer(home, held)
        self._enter(home, scope, state)
        return found

    def lock(self, homes: Iterable[str]) -> None:
        """Lock homes in the global lock order."""
        for home in self._to_lock(homes):
            self._read(home, [])

    def _to_lock(self, homes: Iterable[str]) -> list[str]:
        """Return the homes to lock, these and those that must be locked before them, in lock order.

        A transaction that locks more than one home locks the own homes of all their tenants first, in
        alphabetical order, and then buckets, in any order. Any other transaction that holds one of those buckets
        holds nothing else, and waits for nothing. So no two transactions deadlock, even if one learns of further
        buckets later, as long as it begins with an own home.
        """
        new = set(homes) - self._last.keys()
        if new and len(new) + len(self._last) > 1:
            new |= {
                self.homes.own(self.homes.tenant(home)) for home in new | self._last.keys()
            } - self._last.keys()
        return sorted(new, key=lambda home: (not self.homes.is_own(home), home))

    def lock_tenant(self, tenant: str) -> list[str]:
        """Lock every home of a tenant; return the existing ones, its own first.

        No bucket is created meanwhile: that requires the lock of the tenant's own home.
        """
        own = self.homes.own(tenant)
        self.lock([own])
        if self.homes.user_homes and tenant not in self._whole:
            found = self.batch.ask(
                "SELECT home FROM sj_home WHERE home = ANY(%s)", (self.homes.all(tenant),), home=EVERY_HOME
            )
            self._read_each([home for (home,) in found if home not in self._last])
            self._whole.add(tenant)
        return self.locked_of(tenant)

    def locked_of(self, tenant: str) -> list[str]:
        """Return the locked homes of a tenant, its own first."""
        return sorted(home for home in self._last if self.homes.tenant(home) == tenant)

    def _asked(
        self, home: str, statements: Sequence[Statement]
    ) -> tuple[list[list[tuple[Any, ...]]], list[tuple[Any, ...]] | None]:
        """Return the answers to statements about a home that the first one locks, and, if it is a bucket, the
        holds of its tenant (None: they are known)."""
        about: list[tuple[Home, Statement]] = [(home, statement) for statement in statements]
        held = self.holds.question(home) if self.is_held else None
        answers = self.batch.ask_each(about if held is None else [*about, held])
        return (answers, None) if held is None else (answers[:-1], answers[-1])

    def _read(self, home: str, scopes: Sequence[Scope]) -> None:
        """Read the states of scopes of a home, which is locked first if necessary."""
        if home in self._last:
            questions = [self._question(scope) for scope in scopes]
            states, held = self._asked(home, questions) if questions else ([], None)
        else:
            # Each statement sees what was committed before it began, so the states are read after the lock was
            # acquired.
            lock = _lock(home)
            if not self._last:
                self.batch.add_seeing(home, *holding_model(self.collection))
            questions = [self._question(scope) for scope in scopes]
            (found, *states), held = self._asked(home, [lock, *questions])
            # the home is new, or another process has just erased its name, perhaps repeatedly
            while not found:
                self._make_home(home)
                questions = [self._question(scope) for scope in scopes]
                (found, *states), held = self._asked(home, [lock, *questions])
            self._last[home] = max(found[0][:2])
            self._keys[home] = data_key_of(self.homes.tenant(home), found[0][2:])
        if held is not None:
            self.holds.answer(home, held)
        for scope, state in zip(scopes, states, strict=True):
            self._enter(home, scope, state)

    def _read_each(self, homes: Sequence[str]) -> None:
        """Lock existing buckets in one round trip. They may be locked in any order, because this transaction
        holds the lock of their tenant's own home; buckets are never deleted without it."""
        if self.is_held:  # holds have to be read for each home
            self.lock(homes)
            return
        answers = self.batch.ask_each([(home, _lock(home)) for home in homes])
        for home, found in zip(homes, answers, strict=True):
            self._last[home] = max(found[0][:2])
            self._keys[home] = data_key_of(self.homes.tenant(home), found[0][2:])

    def _make_home(self, home: str) -> None:
        """Add the row of a home to the batch. The row of a bucket is created under the lock of the tenant's own
        home, with a copy of the tenant's data key."""
        key: Sequence[Any] = (None,) * 4
        own = self.homes.own(self.homes.tenant(home))
        if home != own:
            self.lock([own])
            key = self._keys[own] or key
        self.batch.add(
            f"INSERT INTO sj_home(home, last, {KEY}) VALUES (%s, 0, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (home, *key),
            home=home,
        )

    def _question(self, scope: Scope) -> Statement:
        key = self.homes.key(scope)
        holds, needs_home = self.holds.column(key.home) if self.is_held else ("false", False)
        return (
            "SELECT s.version, s.documents, s.vectors, s.horizon, s.embedding, c.embedding, c.generation, "
            f"s.digest, s.cold, {holds}, {IDENTITY_COLUMNS} "
            "FROM sj_collection c LEFT JOIN sj_scope s ON s.home = %s AND s.collection = c.collection "
            "AND s.key = %s AND s.tenant = %s AND s.usr = %s AND s.agent = %s WHERE c.collection = %s",
            (*([key.home] * needs_home), key.home, key.number, *names_of(scope), self.collection),
        )

    def _enter(self, home: str, scope: Scope, state: Sequence[tuple[Any, ...]]) -> None:
        """Record the state of a scope, after moving its staged vectors into place."""
        if not state:
            raise StoreFormatError("collection: it was dropped by another process")
        version, documents, vectors, horizon, in_place, embedding, self.generation, digest, cold, holds = (
            state[0][:10]
        )
        self.made_of = state[0][10:]
        if self.is_held:
            self.holds.enter(self.batch, home, holds)
        touched = TouchedScope(
            scope,
            version or 0,
            documents or 0,
            vectors or 0,
            horizon or 0,
            is_new=version is None,
            embedding=embedding,
            counted=ScopeChanges(version or 0, documents or 0, vectors or 0, digest),
            cold=cold,
        )
        key = self.homes.key(scope)
        self.touched[key] = touched
        if in_place is not None and in_place < embedding:
            if self.sealer.is_encrypted(scope.tenant):
                for row in self.batch.ask(*ends_of(self.collection, key), home=home):
                    touched.counted.exchange(*row)
            put_in_place(self.batch, self.collection, key)
            self.drop_images(PLACE, (home, self.collection, key.number), home=home)
            ((touched.vectors,),) = self.batch.ask(*vectors_of(self.collection, key), home=home)
            touched.version = touched.horizon = self.next(home)
            touched.is_changed = True

    def thawed(self, scope: Scope) -> TouchedScope:
        """Return the state of a scope, with its home locked and its rows in the table.

        Raises:
            StoreError: its rows are in an object store that the index was opened without, or that does not
                answer.
            CorruptIndexError: its object is missing or damaged.
        """
        state, key = self.state(scope), self.homes.key(scope)
        if state.cold is not None:
            thaw(self.batch, key, self.collection, self.objects, self.sealer.opening, self._place, self.ahead)
            state.cold = None
        return state

    def state(self, scope: Scope) -> TouchedScope:
        """Return the state of a scope, with its home locked."""
        key = self.homes.key(scope)
        if key not in self.touched:
            self.begin([scope])
        return self.touched[key]

    # ------------------------------------------------------------------ numbers

    def next(self, home: str) -> int:
        """Return the number of one more write of a locked home."""
        self._last[home] += 1
        return self._last[home]

    def is_locked(self, tenant: str, home: str) -> bool:
        """Whether no other transaction can write to a home of a tenant until this one ends."""
        return home in self._last or tenant in self._whole

    @property
    def locked(self) -> list[str]:
        """The locked homes, in alphabetical order."""
        return sorted(self._last)

    def next_of_all(self) -> int:
        """Return the number of one more write, greater than all before it in every locked home.

        No other transaction assigns it to a row of the same tenant: with buckets each home of a tenant has the
        numbers of one remainder. (A transaction with several homes has locked the own homes of their tenants, and
        uses numbers of those.)
        """
        number = max(self._last.values()) + 1
        if self.homes.user_homes:
            part = min(map(self.homes.part, self._last))
            number += (part - number) % (self.homes.user_homes + 1)
        self._last.update(dict.fromkeys(self._last, number))
        return number

    def newest(self, homes: Iterable[str]) -> int:
        """Return the highest number of locked homes."""
        return max((self._last[home] for home in homes), default=0)

    def number(self, key: Key, number: int) -> None:
        """Assign to a scope and its home a number that is greater than all before."""
        state = self.touched[key]
        self._last[key.home] = state.version = number
        state.is_changed = True

    # ------------------------------------------------------------------ changes to write

    def changed(self) -> list[tuple[Key, TouchedScope]]:
        """Return the scopes that were written to, home by home."""
        found = [(key, state) for key, state in self.touched.items() if state.is_changed]
        return sorted(found, key=lambda one: one[0].home)

    def leave_scopes(self) -> None:
        """Add the new states of this collection's scopes to the batch."""
        for key, state in self.changed():
            self.batch.add(*self._statement_of(key, state), home=key.home)
            state.is_new = False

    def drop_images(
        self, condition: str, parameters: Sequence[Any], *, home: str, but: Sequence[bytes] = ()
    ) -> None:
        """Delete the images of a home that meet a condition; their objects, except those in `but`, are removed
        after the commit."""
        found = self.batch.ask(
            f"DELETE FROM sj_image WHERE {condition} RETURNING object", parameters, home=home
        )
        self.dropped += [bytes(digest) for (digest,) in found if digest is not None and digest not in but]

    def drop_cold(self, condition: str, parameters: Sequence[Any], *, home: str) -> None:
        """Delete the references of a home to objects with rows of scopes, current or former; the objects are
        removed after the commit."""
        found = self.batch.ask(
            f"DELETE FROM sj_cold WHERE {condition} RETURNING object", parameters, home=home
        )
        self.dropped += [bytes(digest) for (digest,) in found]

    def drop_home(self, home: str) -> None:
        """Delete the row of a locked home at the end, because its tenant's name is erased. A writer that waits
        for it creates a new one."""
        self._dropped.add(home)

    def leave_homes(self) -> None:
        """Add the last numbers of the homes to the batch."""
        for home, last in sorted(self._last.items()):
            if home in self._dropped:
                self.batch.add("DELETE FROM sj_home WHERE home = %s", (home,), home=home)
                continue
            if self._taken.get(home, -1) >= last:
                continue
            self.batch.add("UPDATE sj_home SET last = %s WHERE home = %s", (last, home), home=home)

    def picture(self, box: Box, key: Key, version: int) -> None:
        """Add to the batch the digest of a scope that gets an image of a version, and is otherwise unchanged."""
        total = self.touched[key].counted.opened(box, key, self.collection).total
        recent = recent_of(self.batch.ask, box, key, self.collection, version)
        self.leave_digest(box, key, ScopeDigest(total, version, recent))

    def leave_digest(self, box: Box, key: Key, digest: ScopeDigest) -> None:
        """Add to the batch the digest of a scope whose version and counts are as they were read."""
        was = self.touched[key].counted
        state = (was.version, was.documents, was.vectors)
        sealed = seal_digest(box, key, self.collection, *state, digest)
        self.touched[key].counted = ScopeChanges(*state, sealed)
        self.batch.add(
            "UPDATE sj_scope SET digest = %s WHERE home = %s AND collection = %s AND key = %s",
            (sealed, key.home, self.collection, key.number),
            home=key.home,
        )

    def _begin(self, tenant: str, box: Box) -> None:
        """Compute digests for everything of a tenant with plain rows that got its data key."""
        for home in self.lock_tenant(tenant):
            seal_notes(self.batch, self.sealer.sealing, home, tenant)
        self.count_anew(tenant, box)

    def count_anew(self, tenant: str, box: Box) -> None:
        """Recompute all digests of a locked tenant from its rows, in every collection."""
        for home in self.lock_tenant(tenant):
            sealed = count_scopes_anew(self.batch, box, home)
            for turns in self._all:
                for key, state in turns.touched.items():
                    if key.home == home:
                        state.counted.digest = sealed.get((turns.collection, key.number))
            count_tables_anew(self.batch, box, home)

    def _digest(self, key: Key, state: TouchedScope) -> bytes | None:
        """Return the new digest of a scope; None: it needs none.

        Raises:
            EncryptionError: the tenant's key is not available.
            CorruptIndexError: other software changed the scope before.
        """
        if not state.documents or not self.sealer.is_encrypted(key.scope.tenant):
            return None
        try:
            box = self.sealer.current(key.scope.tenant, make=False)
        except KeyErasedError:
            return state.counted.digest  # it is never read again
        if box is None:
            return None
        after = state.counted.after(box, key, self.collection)
        return seal_digest(box, key, self.collection, state.version, state.documents, state.vectors, after)

    def _statement_of(self, key: Key, state: TouchedScope) -> Statement:
        digest = self._digest(key, state)
        state.counted = ScopeChanges(state.version, state.documents, state.vectors, digest)
        values = (
            state.version,
            state.horizon,
            state.documents,
            state.vectors,
            self._lineage,
            state.embedding,
            digest,
            today(),
        )
        if state.is_new:
            return (
                "INSERT INTO sj_scope(home, collection, key, tenant, usr, agent, version, horizon, documents, vectors, "
                "lineage, embedding, digest, used, changed) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, "
                "statement_timestamp())",
                (key.home, self.collection, key.number, *names_of(state.scope), *values),
            )
        return (
            "UPDATE sj_scope SET version = %s, horizon = %s, documents = %s, vectors = %s, lineage = %s, "
            "embedding = %s, digest = %s, used = %s, changed = statement_timestamp() "
            "WHERE home = %s AND collection = %s AND key = %s",
            (*values, key.home, self.collection, key.number),
        )

    def stamp_others(self) -> None:
        """Renew the stamps of the other collections' scopes, which were written before the end of the transaction
        and may by now be older than the feeds' window."""
        for turns in self._all:
            if turns is not self:
                for home, statement in turns._stamps():
                    self.batch.add(*statement, home=home)

    def stamp_again(self) -> None:
        """Renew the stamps of all collections after a slow COMMIT, whose stamps feeds may have missed."""
        for turns in self._all:
            for home, statement in turns._stamps():
                self.batch.ask(*statement, home=home)

    def _stamps(self) -> list[tuple[str, Statement]]:
        by_home: dict[str, list[int]] = {}
        for key, _ in self.changed():
            by_home.setdefault(key.home, []).append(key.number)
        return [
            (
                home,
                (
                    "UPDATE sj_scope SET changed = statement_timestamp() WHERE home = %s AND collection = %s "
                    "AND key = ANY(%s)",
                    (home, self.collection, numbers),
                ),
            )
            for home, numbers in by_home.items()
        ]


def _lock(home: str) -> Statement:
    """Return the statement that locks a home and returns its last number, the server's time, and its data key."""
    return (
        f"SELECT last, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, {KEY} FROM sj_home "
        "WHERE home = %s FOR UPDATE",
        (home,),
    )


def _holdable(scope: Scope) -> Scope:
    if not can_hold(scope):
        raise ValueError(
            f"scope: expected names without the character NUL, which PostgreSQL cannot store, got {scope!r}"
        )
    return scope
