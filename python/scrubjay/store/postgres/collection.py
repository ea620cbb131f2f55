"""What all who read a collection share: its number, its homes and keys, and how stored rows become documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box, KeyRing
from scrubjay.store.keys.opening import DataKey
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.keys import Homes, Unreadable, id_of
from scrubjay.store.postgres.sealing import KEY, Keys, Sealer, data_key_of, table_of
from scrubjay.store.postgres.sessions import Sessions
from scrubjay.store.postgres.user_keys import DatabaseUserKeys
from scrubjay.store.postgres.walls import EVERY_HOME
from scrubjay.store.rows.decoding import row_reader, text_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.rows.stored import Identity, ScopeState, StoredRow


class Collection:
    """One collection of a database, as its parts see it. Thread-safe.

    Args:
        sessions: what its questions are asked by.
        number: of the collection.
        homes: where rows are.
        ring: the keys of encrypted tenants; None: nothing is sealed or opened.
        objects: where large images and frozen scopes are kept; None: in their rows.
        id_kind: of its ids; None: it has none yet.
        saw_generation: is told the generation whenever the identity was read.
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
        """The address of the database without user and password."""
        return self.sessions.place

    def _sealer(self) -> Sealer | None:
        transaction = self.sessions.transaction
        return None if transaction is None else transaction.sealer

    def data_key(self, tenant: str) -> DataKey | None:
        """Return the data key of a tenant; None: the tenant is in the clear."""
        if "\0" in tenant:
            return None
        home = self.homes.own(tenant)  # its buckets have copies
        found = self.ask(f"SELECT {KEY} FROM sj_home WHERE home = %s", (home,), home=home)
        return data_key_of(tenant, found[0]) if found else None

    # ------------------------------------------------------------------ rows

    def identity(self) -> Identity:
        found = schema.identity_of(self.ask(schema.IDENTITY, (self.number,)))
        self._id_kind = found.id_kind
        self._saw_generation(found.generation)
        return found

    def kind(self) -> str | None:
        """Return of what kind the ids are; None: nothing was written yet."""
        if self._id_kind is None:
            self.identity()
        return self._id_kind

    def id_of(self, data: bytes) -> Any:
        """Return the id of stored bytes."""
        return id_of(data, self.kind())

    def id_in(self, collection: int, data: bytes) -> Any:
        """Return the id of stored bytes of a row of any collection."""
        if collection == self.number:
            return self.id_of(data)
        return id_of(data, schema.identity_of(self.ask(schema.IDENTITY, (collection,))).id_kind)

    def opener(self, scope: Scope) -> Callable[[Sequence[Any]], StoredRow]:
        """Return what makes rows of this scope of (seq, id, text, payload, vector, hash) as they are stored."""
        kind = self.kind()
        opened = None if self.cipher.ring is None else self.cipher.row_opener(table_of(self.number), scope)
        read = row_reader(scope, opened, lambda: self.data_key(scope.tenant), self.place)

        def row(stored: Sequence[Any]) -> StoredRow:
            seq, data, text, payload, vector, checksum = stored
            id = id_of(data, kind)
            if isinstance(id, Unreadable):
                if is_sealed(text):  # authenticated with its id: something else changed that
                    raise CorruptIndexError("its id is not what was written", path=self.place, scope=scope)
                return StoredRow(
                    seq, repr(bytes(data)), "", None, None, "its id is not what was written", False
                )
            return read((seq, id, text if is_sealed(text) else text_of(text), payload, vector, checksum))

        return row

    def sound(self, row: Sequence[Any], scope: Scope) -> tuple[StoredRow, Scope]:
        """Return a document as it is stored (seq, id, text, payload, vector, hash); raise CorruptIndexError unless it
        is what was written."""
        opened = self.opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), id=opened.id, scope=scope)
        return opened, scope

    # ------------------------------------------------------------------ keys

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of a scope in a state that was read; None: it has none.

        Raises:
            CorruptIndexError: the state, or the digest, was put back or changed.
        """
        return self.cipher.scope_digest(table_of(self.number), scope, state)

    def encrypted_tenants(self) -> list[str]:
        found = self.ask("SELECT home FROM sj_home WHERE key_id IS NOT NULL", home=EVERY_HOME)
        return sorted({self.homes.tenant(home) for (home,) in found})

    def tenants_without_key(self) -> set[str]:
        away: set[str] = set()
        for tenant in self.encrypted_tenants():
            try:
                self.cipher.readable(tenant) if self.cipher.ring is not None else away.add(tenant)
            except (EncryptionError, CorruptIndexError):
                away.add(tenant)
        return away
