"""The shared state of all readers of a collection: its number, homes and keys, and the conversion of stored rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box, KeyRing
from scrubjay.store.keys.opening import DataKey
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.keys import Homes, Unreadable, id_of
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import KEY, Keys, Sealer, data_key_of, table_of
from scrubjay.store.postgres.sessions import Sessions
from scrubjay.store.postgres.user_keys import DatabaseUserKeys
from scrubjay.store.rows.decoding import row_reader, text_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.rows.values import Identity, ScopeState, StoredRow


class Collection:
    """One collection of a database, as its parts see it. Thread-safe.

    Args:
        sessions: runs its queries.
        number: of the collection.
        homes: the assignment of scopes to homes.
        ring: the keys of encrypted tenants; None: nothing is sealed or opened.
        objects: the object store of large images and frozen scopes; None: all are in rows.
        id_kind: of its ids; None: not settled yet.
        saw_generation: called with the generation whenever the identity was read.
    """

    def __init__(
        self,
        sessions: Sessions,
        number: int,
        homes: Homes,
        ring: KeyRing | None,
        objects: ObjectStore | None,
        id_kind: str | None,
        saw_generation: Callable[[int | None], None],
    ) -> None:
        self.sessions = sessions
        self.number = number
        self.homes = homes
        self.objects = objects
        self.ask, self.ask_each = sessions.ask, sessions.ask_each
        self.cipher = Keys(ring, self.data_key, self._sealer, DatabaseUserKeys(sessions.ask, homes))
        self._id_kind = id_kind
        self._saw_generation = saw_generation

    @property
    def place(self) -> str:
        """The address of the database, without user and password."""
        return self.sessions.place

    def _sealer(self) -> Sealer | None:
        transaction = self.sessions.transaction
        return None if transaction is None else transaction.sealer

    def data_key(self, tenant: str) -> DataKey | None:
        """Return the data key of a tenant; None: the tenant is not encrypted."""
        if "\0" in tenant:
            return None
        home = self.homes.own(tenant)  # buckets have copies of it
        found = self.ask(f"SELECT {KEY} FROM sj_home WHERE home = %s", (home,), home=home)
        return data_key_of(tenant, found[0]) if found else None

    # ------------------------------------------------------------------ rows

    def identity(self) -> Identity:
        found = schema.identity_of(self.ask(schema.IDENTITY, (self.number,)))
        self._id_kind = found.id_kind
        self._saw_generation(found.generation)
        return found

    def kind(self) -> str | None:
        """Return the kind of the ids; None: nothing was written yet."""
        if self._id_kind is None:
            self.identity()
        return self._id_kind

    def id_of(self, data: bytes) -> Any:
        """Decode a stored id."""
        return id_of(data, self.kind())

    def id_in(self, collection: int, data: bytes) -> Any:
        """Decode a stored id of any collection."""
        if collection == self.number:
            return self.id_of(data)
        return id_of(data, schema.identity_of(self.ask(schema.IDENTITY, (collection,))).id_kind)

    def opener(self, scope: Scope) -> Callable[[Sequence[Any]], StoredRow]:
        """Return a function that makes rows of this scope from stored (seq, id, text, payload, vector, hash)."""
        kind = self.kind()
        opened = None if self.cipher.ring is None else self.cipher.row_opener(table_of(self.number), scope)
        read = row_reader(scope, opened, lambda: self.data_key(scope.tenant), self.place)

        def row(stored: Sequence[Any]) -> StoredRow:
            seq, data, text, payload, vector, checksum = stored
            id = id_of(data, kind)
            if isinstance(id, Unreadable):
                if is_sealed(text):  # the text is authenticated with its id, which was therefore changed
                    raise CorruptIndexError("its id is not what was written", path=self.place, scope=scope)
                return StoredRow(
                    seq, repr(bytes(data)), "", None, None, "its id is not what was written", False
                )
            return read((seq, id, text if is_sealed(text) else text_of(text), payload, vector, checksum))

        return row

    def sound(self, row: Sequence[Any], scope: Scope) -> tuple[StoredRow, Scope]:
        """Decrypt and check a stored document (seq, id, text, payload, vector, hash); raises CorruptIndexError if
        it is damaged."""
        opened = self.opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), id=opened.id, scope=scope)
        return opened, scope

    # ------------------------------------------------------------------ keys

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        return self.cipher.scope_digest(table_of(self.number), scope, state)

    def encrypted_tenants(self) -> list[str]:
        found = self.ask("SELECT home FROM sj_home WHERE key_id IS NOT NULL", home=EVERY_HOME)
        return sorted({self.homes.tenant(home) for (home,) in found})

    def tenants_without_key(self) -> set[str]:
        return self.cipher.unavailable_of(self.encrypted_tenants())
