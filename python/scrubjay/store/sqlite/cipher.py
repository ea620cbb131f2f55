"""The cipher of a store in a file: it seals what the store writes and opens what it reads.

Every store has a cipher; without a key provider it seals nothing, and rejects sealed values. Other tables of the
same file use it as follows (a *place* names the table, row and column; sealed bytes cannot be opened elsewhere)::

    with store.writing("remembering") as transaction:
        data = store.cipher.seal("acme", f"fact.content {id}", text.encode())  # unchanged if not encrypted
        key = store.cipher.digest("acme", text.encode())  # for a UNIQUE column: equal texts, equal bytes
        transaction.connection.execute("INSERT INTO fact VALUES (?, ?, ?, ?)", ("acme", id, data, key))
    text = store.cipher.open("acme", f"fact.content {id}", data).decode()

A table with sealed bytes has a column `tenant`, which shows whether a data key is still needed after the tenant's
memories are erased. The file records which columns are sealed (:mod:`scrubjay.store.sqlite.registry`), so that
they are sealed when a tenant gets a key. Arguments and results are bytes, for plaintext as well; None stays None.
:meth:`Cipher.readable` returns False if a tenant counts as erased.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.store.keys.encryption import COUNTED, WHOLE, Access, Box, KeyRing, Master
from scrubjay.store.keys.opening import (
    DataKey,
    Opening,
    around_cell,
    erased_error,
    keyless_error,
    uncounted_error,
)
from scrubjay.store.keys.sealing import RowBox, sealed_image
from scrubjay.store.keys.user_keys import make_user_key, whose
from scrubjay.store.rows.decoding import name_of
from scrubjay.store.rows.sealed import SEALED, escaped, frame
from scrubjay.store.sqlite import registry, schema
from scrubjay.store.sqlite.digests import Digests, table_problems
from scrubjay.store.sqlite.user_keys import FileUserKeys, add_key, bury, has_content


def data_key(connection: sqlite3.Connection, tenant: str) -> DataKey | None:
    """Return the data key of a tenant from the file; None if the tenant is not encrypted."""
    try:
        if not schema.has_data_keys(connection):
            return None
        row = connection.execute(
            "SELECT id, whole, fingerprint, wrapped FROM data_key WHERE tenant = ?", (tenant,)
        ).fetchone()
    except sqlite3.DatabaseError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise
        raise CorruptIndexError(f"the file's data keys cannot be read: {error}") from None
    if row is None:
        return None
    if [type(value) for value in row] != [bytes, int, bytes, bytes] or not 0 <= row[1] <= WHOLE | COUNTED:
        raise CorruptIndexError(f"the data key of tenant {tenant!r} was changed in the file")
    return DataKey(*row)


class Cipher(Opening):
    """Encryption and decryption for a store. Sealing requires a transaction of the store; opening is thread-safe.

    Args:
        ring: the provider's keys; None: no provider.
        reader: returns the calling thread's connection.
    """

    def __init__(self, ring: KeyRing | None, reader: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(
            ring,
            lambda tenant: data_key(self._connection_here(), tenant),
            FileUserKeys(self._connection_here),
        )
        self._reader = reader
        self._connection: sqlite3.Connection | None = None  # of the current transaction
        self._thread = 0
        self._current: dict[str, Box | None] = {}  # data keys that this transaction seals with
        self._of_users: dict[tuple[str, str], Box] = {}  # keys of users that this transaction seals with
        # whether the file has data keys; None: not read in this transaction
        self._sealing: bool | None = None
        self._encrypting: str | None = None  # the tenant whose plain rows this transaction accepts
        self.digests = Digests(self)

    # ------------------------------------------------------------------ within a transaction

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a transaction, discarding what was known of the file's keys."""
        self._connection, self._thread = connection, threading.get_ident()
        self._sealing = None
        self._current.clear()
        self._of_users.clear()
        if self.ring is not None or self._has_data_keys(connection):
            self.digests.begin(connection)

    def end(self, *, committed: bool = True) -> None:
        """End the transaction."""
        self._connection = None
        self._encrypting = None
        self.digests.end(committed=committed)

    def accept_plain_rows(self, tenant: str) -> None:
        """Let this transaction create a data key for a tenant that has plain rows, because it is being encrypted."""
        self._encrypting = tenant

    def _has_data_keys(self, connection: sqlite3.Connection) -> bool:
        if self._sealing is None:
            self._sealing = schema.has_data_keys(connection)
        return self._sealing

    def is_encrypted(self, tenant: str) -> bool:
        if tenant in self._current:
            return self._current[tenant] is not None
        connection = self._connection
        return connection is not None and data_key(connection, tenant) is not None

    def counting(self, tenant: str) -> Box | None:
        return self.current(tenant, make=False)

    def seal(self, tenant: str, place: str, data: bytes | None, *, user: str = "") -> bytes | None:
        if data is None:
            return None
        box = self.sealing(tenant, user)
        return escaped(data) if box is None else box.seal(around_cell(tenant, place), data)

    def seal_text(self, tenant: str, place: str, data: bytes, *, user: str = "") -> bytes:
        """Seal the bytes of a text, which is never None, as :meth:`seal` does."""
        sealed = self.seal(tenant, place, data, user=user)
        assert sealed is not None
        return sealed

    def digest(self, tenant: str, data: bytes) -> bytes:
        """Return 32 bytes that are equal for equal data of one tenant: SHA-256, keyed if the tenant is encrypted.

        The digests of a tenant change when it becomes encrypted.
        """
        box = self.current(tenant) if self._in_transaction() else self.box(tenant, None)
        return hashlib.sha256(data).digest() if box is None else box.digest(frame(tenant) + data)

    def current(self, tenant: str, *, make: bool = True) -> Box | None:
        """Return the data key of a tenant in this transaction; None: the tenant is not encrypted.

        With `make`, a tenant for which the provider has a key gets its data key now.
        """
        if tenant in self._current:
            return self._current[tenant]
        if not tenant:  # a row without a tenant
            return None
        if not self._in_transaction():
            raise RuntimeError("sealing needs a transaction of this store, see SqliteStore.writing")
        connection = self._connection
        assert connection is not None
        if self.ring is None:
            if self._has_data_keys(connection) and data_key(connection, tenant) is not None:
                raise keyless_error(tenant)
            self._current[tenant] = None
            return None
        access = self.ring.access(tenant, fresh=False)
        if access.erased:
            raise erased_error(tenant)
        stored = data_key(connection, tenant)
        if stored is not None:
            box: Box | None = self.unwrapped(tenant, access, stored)
            if not stored.mark & COUNTED and access.master is not None:
                box = self._adopt(connection, tenant, access, access.master, stored)
        elif access.master is None:
            box = None
        elif make:
            box = self._make(connection, tenant, access, access.master)
        else:
            return None
        self._current[tenant] = box
        return box

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
        return self.sealing_of_user(self._of_users, tenant, user, box, self._make_of_user if make else None)

    def _make_of_user(self, tenant: str, user: str, box: Box) -> Box:
        assert self.ring is not None and self._connection is not None
        own, key = make_user_key(self.ring, box, tenant, user)
        whole = not has_content(self._connection, tenant, user)
        add_key(self._connection, tenant, key, whole=whole, now=time.time_ns() // 1000)
        self.know(tenant, own)
        return own

    def undone(self) -> None:
        """Forget the keys of users that were created in a rolled-back part of the transaction."""
        self._of_users.clear()

    def row_box(self, table: str, scope: Scope) -> RowBox | None:
        """Return the sealer of the rows of a scope in this transaction; None: they are not encrypted."""
        box = self.sealing(scope.tenant, scope.user)
        return None if box is None else RowBox(box, table, scope)

    def release_user(self, connection: sqlite3.Connection, tenant: str, user: str) -> list[bytes]:
        """Mark the key of a user as dead, if nothing is left that needs it; return its id."""
        if self.user_keys.of(tenant, user) is None or has_content(connection, tenant, user):
            return []
        name: bytes | None = None
        # the tenant's key is unavailable: the row cannot lead back to the name
        with suppress(EncryptionError):
            box = self.current(tenant, make=False)
            name = None if box is None else whose(box, tenant, user)
        self._of_users.pop((tenant, user), None)
        return bury(connection, tenant, user, name)

    def release_users(self, connection: sqlite3.Connection, tenant: str) -> list[bytes]:
        """Mark the keys of all users of a tenant as dead, once nothing of the tenant is left; return their ids."""
        for names in [names for names in self._of_users if names[0] == tenant]:
            del self._of_users[names]
        return bury(connection, tenant, None, None)

    def release(self, connection: sqlite3.Connection, tenant: str) -> bool:
        """Delete a tenant's data key if nothing is left that needs it, so that the next one is new. False:
        something is left."""
        stored = data_key(connection, tenant)
        if _has_documents(connection, tenant) or (
            stored is not None and _is_sealed_elsewhere(connection, tenant)
        ):
            return False
        if stored is not None:
            connection.execute("DELETE FROM data_key WHERE tenant = ?", (tenant,))
            connection.execute("DELETE FROM table_digest WHERE tenant = ?", (tenant,))
            self._current.pop(tenant, None)
        return True

    def _make(self, connection: sqlite3.Connection, tenant: str, access: Access, master: Master) -> Box:
        """Create a tenant's data key. Tables outside of the collections are sealed at once; documents must be
        encrypted."""
        schema.create_data_keys(connection)
        self._sealing = True
        plain = has_plain_rows(connection, tenant)
        self.allow(tenant, plain, encrypting=self._encrypting == tenant)
        mark = COUNTED if plain is not None and plain.startswith("document") else COUNTED | WHOLE
        box, wrapped = master.make(tenant, mark=mark)
        connection.execute(
            "INSERT INTO data_key(tenant, id, whole, fingerprint, wrapped) VALUES (?, ?, ?, ?, ?)",
            (tenant, box.id, mark, master.fingerprint, wrapped),
        )
        access.boxes[box.id] = box
        self._begin(connection, tenant, box, plain)
        return box

    def _adopt(
        self, connection: sqlite3.Connection, tenant: str, access: Access, master: Master, stored: DataKey
    ) -> Box:
        """Add digests to a tenant that an older version encrypted."""
        if self.ring is not None and self.ring.mode == "strict" and self._encrypting != tenant:
            raise uncounted_error(tenant)
        plain = has_plain_rows(connection, tenant)
        self.allow(tenant, plain, encrypting=self._encrypting == tenant)
        mark = stored.mark | COUNTED
        wrapped = master.rewrap(tenant, stored.id, stored.wrapped, stored.mark, master, mark=mark)
        connection.execute(
            "UPDATE data_key SET whole = ?, wrapped = ? WHERE tenant = ?", (mark, wrapped, tenant)
        )
        box = access.boxes[stored.id] = master.unwrap(tenant, stored.id, wrapped, mark=mark)
        self._begin(connection, tenant, box, plain)
        return box

    def _begin(self, connection: sqlite3.Connection, tenant: str, box: Box, plain: str | None) -> None:
        self._current[tenant] = box
        if plain is not None or registry.has_rows(connection, tenant):
            registry.seal_tables(connection, self, tenant, first=True)
        self.digests.begin_anew(tenant)

    def is_sealing(self, connection: sqlite3.Connection) -> bool:
        """Whether this thread is in a transaction of the store, and on this connection."""
        return self._connection is connection and self._in_transaction()

    def _connection_here(self) -> sqlite3.Connection:
        """Return the connection on which this thread sees its own writes."""
        connection = self._connection
        return connection if connection is not None and self._in_transaction() else self._reader()

    def _in_transaction(self) -> bool:
        return self._connection is not None and self._thread == threading.get_ident()

    # ------------------------------------------------------------------ rows and images

    def table_problems(self, tenant: str) -> list[str]:
        """Return the problems with a tenant's rows in the tables outside of the collections."""
        box = self.box(tenant, None)
        return [] if box is None or not box.counted else table_problems(self._reader(), box, tenant)

    def seal_image(self, table: str, scope: Scope, version: int, chunks: Sequence[bytes]) -> Sequence[bytes]:
        """Seal the chunks of an image, if their tenant is encrypted; within a transaction."""
        box = self.sealing(scope.tenant, scope.user, make=False)
        if box is None:
            return chunks
        return sealed_image(box, table, scope, version, chunks)


def _has_documents(connection: sqlite3.Connection, tenant: str) -> bool:
    """Whether any collection has documents of a tenant."""
    return any(
        connection.execute(
            f"SELECT 1 FROM {tables.scope} WHERE tenant = ? AND documents > 0 LIMIT 1", (tenant,)
        ).fetchone()
        for tables in schema.all_tables(connection)
    )


def has_plain_rows(connection: sqlite3.Connection, tenant: str) -> str | None:
    """Return the name of a table that holds plaintext of a tenant, or None."""
    for t in schema.all_tables(connection):
        if connection.execute(
            f"SELECT 1 FROM {t.scope} s CROSS JOIN {t.document} d ON d.scope = s.key "
            "WHERE s.tenant = ? AND typeof(d.text) = 'text' LIMIT 1",
            (tenant,),
        ).fetchone():
            return t.document
    return registry.has_plain_rows(connection, tenant)


def _is_sealed_elsewhere(connection: sqlite3.Connection, tenant: str) -> bool:
    """Whether any other table holds sealed values of a tenant, including tables that this version does not know."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('data_key', 'table_digest', 'user_key')"
    )
    for (found_name,) in tables.fetchall():
        table = name_of(found_name)
        columns = [
            name_of(name) for _, name, *_ in connection.execute(f"PRAGMA table_info({_quoted(table)})")
        ]
        if "tenant" not in columns:
            continue
        sealed = " OR ".join(
            f"hex(substr({_quoted(name)}, 1, 2)) = '{SEALED.hex().upper()}'" for name in columns
        )
        cursor = connection.execute(
            f"SELECT 1 FROM {_quoted(table)} WHERE tenant = ? AND ({sealed}) LIMIT 1", (tenant,)
        )
        if cursor.fetchone() is not None:
            return True
    return False


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
