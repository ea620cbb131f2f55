"""Encryption in a database: the wrapped data key of a tenant is stored in the row of its home.

A write locks that row first, and reads the key along with it, so two processes that write to a new tenant agree
on one key. If a tenant's users are in buckets, the row of each bucket has a copy, and changing the key requires
the locks of all of the tenant's homes. What is sealed or rejected is decided as for a file
(:mod:`scrubjay.store.keys.opening`); whether a tenant is encrypted is a property of the database, seen by every
process.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError, UnsupportedError
from scrubjay.store.keys.encryption import COUNTED, WHOLE, Box, KeyRing
from scrubjay.store.keys.opening import DataKey, Opening, around_cell, erased_error, keyless_error
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.keys.user_keys import make_user_key, whose
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.user_keys import DatabaseUserKeys, add_key, bury, bury_all, has_content
from scrubjay.store.rows.sealed import SEALED, escaped, frame

KEY = "key_id, key_mark, key_fingerprint, key_wrapped"
"""The columns of `sj_home` that hold a data key."""

SEALED_TEXT = "\U0010ffff2"
"""The prefix of a sealed text. No text of a layer begins with it (:mod:`scrubjay.store.postgres.layer_connection`)."""
_MARK = f"'\\x{SEALED.hex()}'::bytea"


def is_sealed_sql(column: str) -> str:
    """Return the SQL condition that a value is sealed.

    >>> is_sealed_sql("d.text")
    "substr(d.text, 1, 2) = '\\\\xff01'::bytea"
    """
    return f"substr({column}, 1, 2) = {_MARK}"


def tag_sql(column: str) -> str:
    """Return the SQL expression for the end of a sealed value, which digests use."""
    return f"substr({column}, octet_length({column}) - 15)"


def table_of(collection: int, table: str = "sj_document") -> str:
    """Return the name of a collection's table, as used in associated data."""
    return f"{table} {collection}"


def data_key_of(tenant: str, row: Sequence[Any]) -> DataKey | None:
    """Return the data key from the columns `KEY` of a home; None: the tenant is not encrypted.

    Raises:
        CorruptIndexError: the columns are damaged.
    """
    if all(value is None for value in row):
        return None
    id, mark, fingerprint, wrapped = row
    if None in (id, mark, fingerprint, wrapped) or mark not in (COUNTED, COUNTED | WHOLE):
        raise CorruptIndexError(f"the data key of tenant {tenant!r} was changed in the database")
    return DataKey(bytes(id), int(mark), bytes(fingerprint), bytes(wrapped))


class Sealer:
    """Encryption for one transaction. Not thread-safe.

    Args:
        opening: the store's keys.
        batch: of the transaction.
        homes: the assignment of scopes to homes.
        stored: home -> its copy of the tenant's data key, for each locked home.
        lock: locks homes, which adds them to `stored`.
        lock_tenant: locks every home of a tenant, and returns them.
        begin: seals the rows beside the documents of a tenant that got its data key, and starts its digests.
    """

    def __init__(
        self,
        opening: Opening,
        batch: Batch,
        homes: Homes,
        stored: dict[str, DataKey | None],
        lock: Callable[[Iterable[str]], None],
        lock_tenant: Callable[[str], list[str]],
        begin: Callable[[str, Box], None],
    ) -> None:
        self.opening = opening
        self.encrypting: str | None = None
        """The tenant whose plain rows this transaction accepts, because it is being encrypted."""
        self._batch = batch
        self._homes = homes
        self._stored = stored
        self._lock = lock
        self._lock_tenant = lock_tenant
        self._begin = begin
        self._current: dict[str, Box | None] = {}
        self._of_users: dict[tuple[str, str], Box] = {}

    @property
    def ring(self) -> KeyRing | None:
        """The provider's keys."""
        return self.opening.ring

    def is_encrypted(self, tenant: str) -> bool:
        if tenant in self._current:
            return self._current[tenant] is not None
        return self._of(tenant) is not None

    def stored(self, tenant: str) -> DataKey | None:
        """Return the data key of a tenant, locking its own home if none is locked yet; None: it is not encrypted."""
        return self._of(tenant)

    def mark(self, tenant: str, mark: int) -> None:
        """Add a mark to a tenant's data key."""
        stored = self._of(tenant)
        master = None if self.ring is None else self.ring.access(tenant, fresh=False).master
        if stored is not None and master is not None:
            self.write(tenant, stored.rewrapped(tenant, master, master, mark=stored.mark | mark))

    def _of(self, tenant: str) -> DataKey | None:
        for home, key in self._stored.items():  # rarely more than one
            if self._homes.tenant(home) == tenant:
                return key
        own = self._homes.own(tenant)
        self._lock([own])
        return self._stored[own]

    def current(self, tenant: str, *, make: bool = True) -> Box | None:
        """Return the data key of a tenant in this transaction; None: the tenant is not encrypted.

        With `make`, a tenant for which the provider has a key gets its data key now.

        Raises:
            EncryptionError: the key is not available (KeyErasedError: it was destroyed); PlaintextError: the
                tenant has plain rows.
        """
        if tenant in self._current:
            return self._current[tenant]
        if not tenant:  # rows that belong to all tenants
            return None
        if self.ring is None:
            if self._of(tenant) is not None:
                raise keyless_error(tenant)
            return None
        access = self.ring.access(tenant, fresh=False)
        if access.erased:
            raise erased_error(tenant)
        stored = self._of(tenant)
        box: Box | None
        if stored is not None:
            box = self.opening.unwrapped(tenant, access, stored)
        elif access.master is None:
            box = None
        elif not make:
            return None
        else:
            homes = self._lock_tenant(tenant)
            stored = self._of(tenant)
            if stored is not None:  # another process created it while this one waited for the other homes
                box = self.opening.unwrapped(tenant, access, stored)
                self._current[tenant] = box
                return box
            if _has_records(self._batch.ask, homes[0]):
                raise UnsupportedError(
                    f"encrypting tenant {tenant!r}, of whom a Memory without keys keeps records,",
                    "a database",
                    "export the tenant (Memory.files), forget it, and import it into a Memory with keys",
                )
            plain = next(filter(None, (plain_table(self._batch.ask, home) for home in homes)), None)
            self.opening.allow(tenant, plain, encrypting=self.encrypting == tenant)
            mark = COUNTED if plain == "sj_document" else COUNTED | WHOLE
            box, wrapped = access.master.make(tenant, mark=mark)
            self.write(tenant, DataKey(box.id, mark, access.master.fingerprint, wrapped))
            access.boxes[box.id] = box
            if plain is not None:
                self._begin(tenant, box)
        self._current[tenant] = box
        return box

    def write(self, tenant: str, key: DataKey | None) -> None:
        """Replace or delete a tenant's data key in all of its homes."""
        for home in self._lock_tenant(tenant):
            self._stored[home] = key
            self._batch.add(
                f"UPDATE sj_home SET ({KEY}) = (%s, %s, %s, %s) WHERE home = %s",
                ((None,) * 4 if key is None else key) + (home,),
                home=home,
            )
        self._current.pop(tenant, None)

    def row_box(self, collection: int, scope: Scope) -> RowBox | None:
        """Return the sealer of the rows of a scope; None: they are not encrypted."""
        box = self.sealing(scope.tenant, scope.user)
        return None if box is None else RowBox(box, table_of(collection), scope)

    def sealing(self, tenant: str, user: str | None, *, make: bool = True) -> Box | None:
        """Return the key that seals the data of a tenant's user in this transaction ('', None: data of no user);
        None: it is not encrypted.

        With `make`, a user without a key gets one, if there is a key store.

        Raises:
            EncryptionError: a key is not available (KeyErasedError: it was destroyed).
        """
        box = self.current(tenant, make=make)
        if box is None or not user:
            return box
        self._lock([self._homes.of_user(tenant, user)])  # the home of the user's key
        return self.opening.sealing_of_user(
            self._of_users, tenant, user, box, self._make_of_user if make else None
        )

    def _make_of_user(self, tenant: str, user: str, box: Box) -> Box:
        assert self.ring is not None
        own, key = make_user_key(self.ring, box, tenant, user)
        whole = not has_content(self._batch, self._homes, tenant, user)
        home = self._homes.of_user(tenant, user)
        add_key(self._batch, home, key, whole=whole, now=time.time_ns() // 1000)
        self.opening.know(tenant, own)
        return own

    def undone(self) -> None:
        """Forget the keys of users that were created in a rolled-back part of the transaction."""
        self._of_users.clear()

    def release_user(self, tenant: str, user: str) -> bool:
        """Mark the key of a user as dead if nothing of the user is left; return whether one was marked."""
        if self.opening.user_keys.of(tenant, user) is None or has_content(
            self._batch, self._homes, tenant, user
        ):
            return False
        name: bytes | None = None
        # the tenant's key is unavailable: the row cannot lead back to the name
        with suppress(EncryptionError):
            box = self.current(tenant, make=False)
            name = None if box is None else whose(box, tenant, user)
        self._of_users.pop((tenant, user), None)
        bury(self._batch, self._homes.of_user(tenant, user), user, name)
        return True

    def release_users(self, tenant: str) -> bool:
        """Mark the keys of all users of a tenant as dead, once nothing of the tenant is left; return whether any
        was marked."""
        buried = [bury_all(self._batch, home) for home in self._lock_tenant(tenant)]
        return any(buried)

    def release(self, tenant: str) -> bool:
        """Delete the data key of a tenant whose rows were erased; False: something is left that needs it."""
        if self.ring is None and self._of(tenant) is None:
            return True
        homes = self._lock_tenant(tenant)
        if any(_needs_key(self._batch, home) for home in homes):
            return False
        if self._of(tenant) is not None:
            self.write(tenant, None)
            for home in homes:
                self._batch.add("DELETE FROM sj_digest WHERE home = %s", (home,), home=home)
        return True


class SealedText(bytes):
    """Sealed bytes in place of a text: a column of texts stores them as `SEALED_TEXT` and base64."""

    __slots__ = ()

    def to_text(self) -> str:
        """Return the text to store."""
        return SEALED_TEXT + base64.b64encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> SealedText:
        """Return the bytes from the result of :meth:`to_text`; for invalid text, bytes that no key opens.

        >>> SealedText.from_text(SealedText(b"abc").to_text())
        b'abc'
        """
        try:
            return cls(base64.b64decode(text[len(SEALED_TEXT) :], validate=True))
        except ValueError:
            return cls(SEALED)


class Keys(Opening):
    """The keys of a store. Opening is thread-safe; sealing uses the calling thread's transaction.

    Args:
        ring: the provider's keys; None: no provider.
        stored: returns the data key of a tenant as visible to the calling thread, None if the tenant is not
            encrypted.
        sealer: returns the sealer of the calling thread's transaction; None: it has no transaction.
        user_keys: the keys of users, as visible to the calling thread.
    """

    def __init__(
        self,
        ring: KeyRing | None,
        stored: Callable[[str], DataKey | None],
        sealer: Callable[[], Sealer | None],
        user_keys: DatabaseUserKeys,
    ) -> None:
        super().__init__(ring, stored, user_keys)
        self._sealer = sealer

    def current(self, tenant: str, *, make: bool = True) -> Box | None:
        """Return the data key of a tenant in this thread's transaction; None: the tenant is not encrypted."""
        sealer = self._sealer()
        if sealer is None:
            raise RuntimeError("sealing needs a transaction of this store, see PostgresStore.writing")
        return sealer.current(tenant, make=make)

    def undone(self) -> None:
        """Handle the rollback of a part of this thread's transaction."""
        sealer = self._sealer()
        if sealer is not None:
            sealer.undone()

    def _sealing(self, tenant: str, user: str) -> Box | None:
        self.current(tenant)  # raises without a transaction
        sealer = self._sealer()
        return None if sealer is None else sealer.sealing(tenant, user)

    def seal(self, tenant: str, place: str, data: bytes | None, *, user: str = "") -> bytes | None:
        if data is None:
            return None
        box = self._sealing(tenant, user)
        return escaped(data) if box is None else box.seal(around_cell(tenant, place), data)

    def seal_text(self, tenant: str, place: str, data: bytes, *, user: str = "") -> bytes:
        """Return the bytes of a text in the form for a column of texts: sealed ones as :class:`SealedText`."""
        box = self._sealing(tenant, user)
        return data if box is None else SealedText(box.seal(around_cell(tenant, place), data))

    def is_sealing(self, connection: Any) -> bool:
        """Whether this thread is in a transaction of the store."""
        return self._sealer() is not None

    def digest(self, tenant: str, data: bytes) -> bytes:
        """Return 32 bytes that are equal for equal data of one tenant: SHA-256, keyed if the tenant is encrypted."""
        box = self.box(tenant, None) if self._sealer() is None else self.current(tenant)
        return hashlib.sha256(data).digest() if box is None else box.digest(frame(tenant) + data)


LAYER_TABLES = {
    "sj_memory_policy": "text",
    "sj_memory_preference": "text",
    "sj_memory_fact": "content",
    "sj_memory_episode": "summary",
    "sj_memory_rejection": "reason",
    "sj_memory_event": "content",
    "sj_memory_observation": None,
}
"""Tables of layers above whose rows have digests -> a column that is sealed in every sealed row, or None."""


def layer_tables(ask: Callable[..., Any]) -> list[str]:
    """Return the existing ones of `LAYER_TABLES`."""
    names = list(LAYER_TABLES)
    return [
        name
        for (name,) in ask("SELECT n FROM unnest(%s::text[]) n WHERE to_regclass(n) IS NOT NULL", (names,))
    ]


def _is_sealed_text(column: str) -> str:
    return f"left({column}, {len(SEALED_TEXT)}) = U&'\\+10FFFF2'"


def plain_table(ask: Callable[..., Any], home: str) -> str | None:
    """Return the name of a table that holds plaintext of a home, or None.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        home: of the rows.
    """
    for own, value in (("sj_document", "text"), ("sj_feedback", "query")):
        found = ask(
            f"SELECT 1 FROM {own} WHERE home = %s AND NOT {is_sealed_sql(value)} LIMIT 1",
            (home,),
            home=home,
        )
        if found:
            return own
    if ask(
        "SELECT 1 FROM sj_cold WHERE home = %s AND plain AND thawed_at IS NULL LIMIT 1",
        (home,),
        home=home,
    ):
        return "sj_document"
    for table in layer_tables(ask):
        column = LAYER_TABLES[table]
        if column is not None and ask(
            f"SELECT 1 FROM {table} WHERE home = %s AND {column} <> '' AND NOT {_is_sealed_text(column)} LIMIT 1",
            (home,),
            home=home,
        ):
            return table
    return None


def _has_records(ask: Callable[..., Any], home: str) -> bool:
    """Whether a layer above has rows, which are plain, in the home of an unencrypted tenant."""
    return any(
        ask(f"SELECT 1 FROM {table} WHERE home = %s LIMIT 1", (home,), home=home)
        for table in layer_tables(ask)
    )


def _needs_key(batch: Batch, home: str) -> bool:
    found = batch.ask(
        "SELECT EXISTS(SELECT 1 FROM sj_document WHERE home = %s) OR EXISTS(SELECT 1 FROM sj_feedback WHERE home = %s) "
        "OR EXISTS(SELECT 1 FROM sj_scope WHERE home = %s AND cold IS NOT NULL)",
        (home, home, home),
        home=home,
    )
    if found[0][0]:
        return True
    for table in layer_tables(batch.ask):
        column = LAYER_TABLES[table]
        if column is not None and batch.ask(
            f"SELECT 1 FROM {table} WHERE home = %s AND {_is_sealed_text(column)} LIMIT 1",
            (home,),
            home=home,
        ):
            return True
    return False
