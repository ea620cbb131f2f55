"""What seals and opens in a database: the wrapped data key of a tenant stands in the row of its home.

A write locks that row first, and reads the key along with it, so two processes that write a tenant for the first time
agree on one key. Where a tenant's users are in buckets, the row of each has a copy, and who changes the key has the
turns of all of the tenant's homes. What is sealed, and what is refused, is decided where a file decides it
(:mod:`scrubjay.store.keys.opening`); whether a tenant is encrypted is a property of the database, which every process
sees.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError, UnsupportedError
from scrubjay.store.keys.encryption import COUNTED, WHOLE, Box, KeyRing
from scrubjay.store.keys.opening import DataKey, Opening, around_cell, erased_error, keyless_error
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.keys.user_keys import make_user_key, whose
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.user_keys import DatabaseUserKeys, add_key, bury, bury_all, has_content
from scrubjay.store.rows.sealed import SEALED, escaped, frame

KEY = "key_id, key_mark, key_fingerprint, key_wrapped"
"""The columns of `sj_home` that a data key is."""

SEALED_TEXT = "\U0010ffff2"
"""What begins a sealed text; no text of a layer does, see :mod:`scrubjay.store.postgres.beside`."""
_MARK = f"'\\x{SEALED.hex()}'::bytea"


def is_sealed_sql(column: str) -> str:
    """Return the condition that a value is sealed.

    >>> is_sealed_sql("d.text")
    "substr(d.text, 1, 2) = '\\\\xff01'::bytea"
    """
    return f"substr({column}, 1, 2) = {_MARK}"


def tag_sql(column: str) -> str:
    """Return the expression for the end of a sealed value, by which digests know it."""
    return f"substr({column}, octet_length({column}) - 15)"


def table_of(collection: int, table: str = "sj_document") -> str:
    """Return the name of a collection's rows, as it is authenticated with them."""
    return f"{table} {collection}"


def data_key_of(tenant: str, row: Sequence[Any]) -> DataKey | None:
    """Return what the columns `KEY` of a home are; None: the tenant is in the clear.

    Raises:
        CorruptIndexError: they are not what was written.
    """
    if all(value is None for value in row):
        return None
    id, mark, fingerprint, wrapped = row
    if None in (id, mark, fingerprint, wrapped) or mark not in (COUNTED, COUNTED | WHOLE):
        raise CorruptIndexError(f"the data key of tenant {tenant!r} was changed in the database")
    return DataKey(bytes(id), int(mark), bytes(fingerprint), bytes(wrapped))


class Sealer:
    """What one transaction seals with. Not for several threads.

    Args:
        opening: the store's keys.
        batch: of the transaction.
        homes: where rows are.
        stored: home -> its copy of the tenant's data key, of each home whose row is locked.
        lock: locks homes, which then are in `stored`.
        lock_tenant: locks every home of a tenant, and returns them.
        begin: seals what is beside the documents of a tenant that got its data key, and begins its digests.
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
        """The tenant whose plain rows this transaction accepts: it is being encrypted."""
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
        """Return the data key of a tenant, one of whose turns is taken if none is yet; None: it is in the clear."""
        return self._of(tenant)

    def mark(self, tenant: str, mark: int) -> None:
        """Add a mark to a tenant's data key."""
        stored = self._of(tenant)
        master = None if self.ring is None else self.ring.access(tenant, fresh=False).master
        if stored is not None and master is not None:
            self.write(tenant, stored.rewrapped(tenant, master, master, mark=stored.mark | mark))

    def _of(self, tenant: str) -> DataKey | None:
        for home, key in self._stored.items():  # seldom more than one
            if self._homes.tenant(home) == tenant:
                return key
        own = self._homes.own(tenant)
        self._lock([own])
        return self._stored[own]

    def current(self, tenant: str, *, make: bool = True) -> Box | None:
        """Return what this transaction seals a tenant's bytes with; None: the tenant is in the clear.

        With `make`, a tenant for which the provider has a key gets its data key now.

        Raises:
            EncryptionError: the key is not available (KeyErasedError: ever again); PlaintextError: the tenant has rows
                in the clear.
        """
        if tenant in self._current:
            return self._current[tenant]
        if not tenant:  # what belongs to all tenants
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
            if stored is not None:  # another process was first, while this one waited for the other homes
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
        """Let a tenant have another data key, or none, in all of its homes."""
        for home in self._lock_tenant(tenant):
            self._stored[home] = key
            self._batch.add(
                f"UPDATE sj_home SET ({KEY}) = (%s, %s, %s, %s) WHERE home = %s",
                ((None,) * 4 if key is None else key) + (home,),
                home=home,
            )
        self._current.pop(tenant, None)

    def row_box(self, collection: int, scope: Scope) -> RowBox | None:
        """Return what seals the rows of a scope; None: they are in the clear."""
        box = self.sealing(scope.tenant, scope.user)
        return None if box is None else RowBox(box, table_of(collection), scope)

    def sealing(self, tenant: str, user: str | None, *, make: bool = True) -> Box | None:
        """Return what this transaction seals with what one user of a tenant has ('', None: none of them); None: it is
        in the clear.

        With `make`, a user who has no key gets one, if there is a key store.

        Raises:
            EncryptionError: a key is not available (KeyErasedError: ever again).
        """
        box = self.current(tenant, make=make)
        if box is None or not user:
            return box
        self._lock([self._homes.of_user(tenant, user)])  # where the user's key stands
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
        """A part of the transaction was undone: keys of users that were made in it are not in the database."""
        self._of_users.clear()

    def release_user(self, tenant: str, user: str) -> bool:
        """Mark the key of a user of whom nothing is left as dead; whether there is one."""
        if self.opening.user_keys.of(tenant, user) is None or has_content(
            self._batch, self._homes, tenant, user
        ):
            return False
        name: bytes | None = None
        with suppress(EncryptionError):  # the tenant's key is away: then nothing leads back to the name
            box = self.current(tenant, make=False)
            name = None if box is None else whose(box, tenant, user)
        self._of_users.pop((tenant, user), None)
        bury(self._batch, self._homes.of_user(tenant, user), user, name)
        return True

    def release_users(self, tenant: str) -> bool:
        """Mark the keys of all users of a tenant of whom nothing is left as dead; whether there are any."""
        buried = [bury_all(self._batch, home) for home in self._lock_tenant(tenant)]
        return any(buried)

    def release(self, tenant: str) -> bool:
        """Destroy the data key of a tenant whose erased rows are gone; False: something is left that needs it."""
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
    """Sealed bytes in the place of a text: a column of texts has them as `SEALED_TEXT` and base64."""

    __slots__ = ()

    def to_text(self) -> str:
        """Return the text that the column has."""
        return SEALED_TEXT + base64.b64encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> SealedText:
        """Return what :meth:`to_text` was asked of; of what something else wrote bytes that no key opens.

        >>> SealedText.from_text(SealedText(b"abc").to_text())
        b'abc'
        """
        try:
            return cls(base64.b64decode(text[len(SEALED_TEXT) :], validate=True))
        except ValueError:
            return cls(SEALED)


class Keys(Opening):
    """The keys of a store: any thread opens with them, and seals within its transaction.

    Args:
        ring: the provider's keys; None: without a provider.
        stored: returns the data key of a tenant as the asking thread sees it, None if the tenant is in the clear.
        sealer: returns what the transaction of the asking thread seals with; None: it has no transaction.
        user_keys: the keys of users, as the asking thread sees them.
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
        """Return what this thread's transaction seals a tenant's bytes with; None: the tenant is in the clear."""
        sealer = self._sealer()
        if sealer is None:
            raise RuntimeError("sealing needs a transaction of this store, see PostgresStore.writing")
        return sealer.current(tenant, make=make)

    def undone(self) -> None:
        """A part of this thread's transaction was undone."""
        sealer = self._sealer()
        if sealer is not None:
            sealer.undone()

    def _sealing(self, tenant: str, user: str) -> Box | None:
        self.current(tenant)  # or it is no transaction
        sealer = self._sealer()
        return None if sealer is None else sealer.sealing(tenant, user)

    def seal(self, tenant: str, place: str, data: bytes | None, *, user: str = "") -> bytes | None:
        """Return bytes of a tenant, or of one of its users, as they are to be kept, within a transaction of the
        store."""
        if data is None:
            return None
        box = self._sealing(tenant, user)
        return escaped(data) if box is None else box.seal(around_cell(tenant, place), data)

    def seal_text(self, tenant: str, place: str, data: bytes, *, user: str = "") -> bytes:
        """Return the bytes of a text as a column of texts is to keep them: sealed ones as :class:`SealedText`."""
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
"""Tables of layers above whose rows have digests -> the column that is sealed if any is."""


def layer_tables(ask: Callable[..., Any]) -> list[str]:
    """Return those of `LAYER_TABLES` that there are."""
    names = list(LAYER_TABLES)
    return [
        name
        for (name,) in ask("SELECT n FROM unnest(%s::text[]) n WHERE to_regclass(n) IS NOT NULL", (names,))
    ]


def _is_sealed_text(column: str) -> str:
    return f"left({column}, {len(SEALED_TEXT)}) = U&'\\+10FFFF2'"


def plain_table(ask: Callable[..., Any], home: str) -> str | None:
    """Return the name of a table in which something of a home is in the clear, or None.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        home: whose rows.
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
    """Whether a layer above keeps rows in the home of a tenant that is not encrypted, all of them in the clear."""
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
