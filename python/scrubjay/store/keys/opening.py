"""Decryption of sealed values, independent of where the wrapped data keys are stored.

A file keeps them in a table of its own (:mod:`scrubjay.store.sqlite.cipher`), a database in the row of a tenant's
home (:mod:`scrubjay.store.postgres.sealing`). The rules for rejecting values are here for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError, KeyErasedError, StoreUnavailableError
from scrubjay.store.keys import encryption
from scrubjay.store.keys.digest import ScopeDigest, open_digest
from scrubjay.store.keys.encryption import Access, Box, KeyRing, Master, PlaintextError, checked_key
from scrubjay.store.keys.sealing import RowBox, around_image
from scrubjay.store.keys.user_keys import UserKeyTable, opened_user_key, proofs_of, whose
from scrubjay.store.rows.erasure_search import KeyProof
from scrubjay.store.rows.sealed import frame, is_sealed, sealed_by, unescaped
from scrubjay.store.rows.values import ScopeState, StoredRow

_MAX_USERS = 10_000  # users whose key ids and boxes are cached


class DataKey(NamedTuple):
    """A tenant's data key as it is stored: wrapped by the master key with this fingerprint, with its mark."""

    id: bytes
    mark: int
    fingerprint: bytes
    wrapped: bytes

    def rewrapped(self, tenant: str, was: Master, by: Master, *, mark: int) -> DataKey:
        """Return the key wrapped by another master key, or with another mark."""
        wrapped = was.rewrap(tenant, self.id, self.wrapped, self.mark, by, mark=mark)
        return DataKey(self.id, mark, by.fingerprint, wrapped)


def rotated(ring: KeyRing | None, tenant: str, old: bytes) -> Callable[[DataKey | None], DataKey | None]:
    """Request the provider's current master key, which replaces `old`; return a function that rewraps a stored
    data key with it, or returns None if it is rewrapped already.

    Raises:
        EncryptionError: `old` is invalid, or the provider gives no key; from the returned function: the tenant is
            not encrypted, or `old` is not its key.
    """
    was = Master(checked_key(old, "old"))
    if ring is None:
        raise EncryptionError("rotate_key: expected an index that was opened with keys=")
    ring.forget(tenant)  # the cached answer is the old key
    master = ring.access(tenant).master
    if master is None:
        raise EncryptionError(f"keys: expected the new key of tenant {tenant!r}, got none")

    def turn(stored: DataKey | None) -> DataKey | None:
        if stored is None:
            raise EncryptionError(f"tenant: {tenant!r} is not encrypted here")
        if stored.fingerprint == master.fingerprint:
            return None  # rewrapped before
        if stored.fingerprint != was.fingerprint:
            raise EncryptionError(f"old: tenant {tenant!r} is encrypted with another key")
        return stored.rewrapped(tenant, was, master, mark=stored.mark)

    return turn


class Opening:
    """Decrypts sealed values, and decides whose values may not be read now. Thread-safe.

    Args:
        ring: the provider's keys; None: no provider.
        stored: returns the data key of a tenant as visible to the calling thread, None if the tenant is not
            encrypted.
        user_keys: the table of users' keys.
    """

    def __init__(
        self,
        ring: KeyRing | None,
        stored: Callable[[str], DataKey | None],
        user_keys: UserKeyTable,
    ) -> None:
        self.ring = ring
        self._stored = stored
        self.user_keys = user_keys
        # ids of users' keys, and the expiry of the entry
        self._ids: dict[tuple[str, str], tuple[bytes | None, float]] = {}

    def readable(self, tenant: str, user: str | None = None) -> bool:
        """Check the tenant's key, and that of the user if there is one; False: it was destroyed, and the tenant
        or user counts as erased.

        Raises:
            EncryptionError: a key is not available, or is not the one that wrapped the tenant's data key.
        """
        if user and self.is_erased(tenant, user):
            return False
        if self.ring is None or not tenant:  # rows without a tenant are not encrypted
            return True
        access = self.ring.access(tenant)
        if not access.checked and not access.erased:
            stored = self._stored(tenant)
            if stored is not None:
                box = self.unwrapped(tenant, access, stored)
                if self.ring.mode == "strict" and not box.counted:
                    raise uncounted_error(tenant)
            access.checked = True
        return not access.erased

    def is_erased(self, tenant: str, user: str) -> bool:
        ring = self.ring
        if ring is None or ring.users is None:
            return False
        id, until = self._ids.get((tenant, user), (None, 0.0))
        if id is not None and ring.secret(id) is not None:
            return False
        now = time.monotonic()
        if id is None and now < until:
            return False  # the user recently had no key
        try:
            stored = self.user_keys.of(tenant, user)  # may be another key by now
        except StoreUnavailableError:
            return id is not None  # data in memory stays readable
        if len(self._ids) >= _MAX_USERS:
            self._ids.clear()
        self._ids[tenant, user] = None if stored is None else stored.id, now + encryption.KEY_SECONDS
        return stored is not None and ring.secret(stored.id) is None

    def readable_of(self, scopes: Sequence[Scope]) -> Sequence[Scope]:
        """Return the scopes whose tenants' and users' keys were not destroyed.

        Raises:
            EncryptionError: a key is not available.
        """
        if self.ring is None or all(self.readable(scope.tenant, scope.user) for scope in scopes):
            return scopes
        return [scope for scope in scopes if self.readable(scope.tenant, scope.user)]

    def openable(self, tenant: str, user: str | None = None) -> bool:
        """Whether `readable` holds; False also if the tenant is encrypted and there is no provider."""
        return self.readable(tenant, user) if self.ring is not None else self._stored(tenant) is None

    def unavailable_of(self, tenants: Iterable[str]) -> set[str]:
        """Return those of these encrypted tenants whose keys are not available."""
        unavailable: set[str] = set()
        for tenant in tenants:
            try:
                self.readable(tenant) if self.ring is not None else unavailable.add(tenant)
            except (EncryptionError, CorruptIndexError):
                unavailable.add(tenant)
        return unavailable

    def require(self, tenants: Iterable[str]) -> None:
        """Request keys before a transaction, so that no other writer waits for a provider.

        Raises:
            EncryptionError: a key is not available (KeyErasedError: it was destroyed).
        """
        if self.ring is not None:
            for tenant in tenants:
                if not self.readable(tenant):
                    raise erased_error(tenant)

    def master(self, tenant: str) -> Master | None:
        if self.box(tenant, None) is None or self.ring is None:
            return None
        return self.ring.access(tenant, fresh=False).master

    def ring_or_error(self, tenant: str) -> KeyRing:
        """Return the key ring, after checking the tenant's key.

        Raises:
            EncryptionError: no keys, or the tenant's is not available (KeyErasedError: it was destroyed).
        """
        if self.ring is None:
            raise EncryptionError(f"keys: expected a key for tenant {tenant!r}, got None")
        access = self.ring.access(tenant)
        if access.erased:
            raise erased_error(tenant)
        stored = self._stored(tenant)
        if stored is not None and access.master is not None:
            self.unwrapped(tenant, access, stored)
        return self.ring

    def open(self, tenant: str, place: str, data: bytes | str | None) -> bytes | None:
        """Return the argument of :meth:`seal`.

        Raises:
            EncryptionError: the tenant's key is not available (KeyErasedError: it was destroyed).
            CorruptIndexError: the bytes were changed, or belong to another place or tenant.
        """
        self.require([tenant])
        if data is None:
            return None
        if isinstance(data, str) or not is_sealed(data):
            if self.refuses_plain(tenant):
                raise self.plain(place, tenant)
            return unescaped(data.encode() if isinstance(data, str) else bytes(data))
        return self.opening(tenant, sealed_by(data)).open(around_cell(tenant, place), data)

    def opening(self, tenant: str, id: bytes) -> Box:
        """Return the data key with this id, as named by sealed bytes."""
        box = self._known_of_a_user(tenant, id) or self.box(tenant, id)
        if box is not None and box.id != id:
            box = self._of_a_user(tenant, id, box)
        if box is None:
            raise EncryptionError(
                f"bytes of tenant {tenant!r} are sealed with a data key that is not in the file"
            )
        return box

    def _of_a_user(self, tenant: str, id: bytes, box: Box) -> Box | None:
        """Return the key of a user of the tenant by its id; None: unknown id."""
        assert self.ring is not None  # otherwise there is no box
        user_box = self._known_of_a_user(tenant, id)
        if user_box is not None:
            return user_box
        stored = self.user_keys.by_id(tenant, id)
        if stored is None:
            return None
        user_box = opened_user_key(self.ring, box, tenant, stored)
        self.know(tenant, user_box)
        return user_box

    def _known_of_a_user(self, tenant: str, id: bytes) -> Box | None:
        """Return a cached key of a user, unless it was destroyed since."""
        if self.ring is None or self.ring.users is None:
            return None
        user_box = self.ring.access(tenant, fresh=False).users.get(id)
        return None if user_box is None or self.ring.secret(id) is None else user_box

    def know(self, tenant: str, own: Box) -> None:
        """Cache the key of a user."""
        assert self.ring is not None
        known = self.ring.access(tenant, fresh=False).users
        if len(known) >= _MAX_USERS:
            known.clear()
        known[own.id] = own

    def key_of_user(self, tenant: str, user: str, box: Box) -> Box | None:
        """Return the key of a user of the tenant whose data key is `box`; None: the user has no key.

        Raises:
            EncryptionError: it is not available (KeyErasedError: it was destroyed).
        """
        stored = self.user_keys.of(tenant, user)
        return None if stored is None else self._of_a_user(tenant, stored.id, box)

    def sealing_of_user(
        self,
        known: dict[tuple[str, str], Box],
        tenant: str,
        user: str,
        box: Box,
        make: Callable[[str, str, Box], Box] | None,
    ) -> Box:
        """Return the key that seals a user's data: the user's own, or `box`, the data key of the tenant.

        Args:
            known: keys that the transaction used before; this one is added.
            make: creates a key from the same three arguments; None: keys are not created.

        Raises:
            EncryptionError: as :meth:`key_of_user` and :meth:`makes_user_keys`.
        """
        own = known.get((tenant, user))
        if own is None:
            own = self.key_of_user(tenant, user, box)
            if own is None and make is not None and self.makes_user_keys(tenant):
                own = make(tenant, user, box)
            if own is None:
                return box
            known[tenant, user] = own
        return own

    def makes_user_keys(self, tenant: str) -> bool:
        """Whether users of the tenant without a key get one.

        Raises:
            EncryptionError: there is no key store, and other users of the tenant have keys: data sealed by the
                tenant's key only must not be written.
        """
        if self.ring is not None and self.ring.users is not None:
            return True
        if self.user_keys.any(tenant):
            raise EncryptionError(
                f"keys: users of tenant {tenant!r} have keys of their own: open the index with "
                "keys=UserKeys(provider, store), see scrubjay.keystores"
            )
        return False

    def proofs(self, tenant: str, user: str) -> tuple[KeyProof, ...]:
        """Return the state of each key that the user has or had.

        Raises:
            EncryptionError: the key store, or the tenant's key, is not available.
        """
        if self.ring is None or self.ring.users is None:
            return ()
        box = self.box(tenant, None)
        dead = [] if box is None else self.user_keys.buried(tenant, whose(box, tenant, user))
        return proofs_of(self.ring, dead + self.user_keys.living(tenant, user))

    def is_sealed(self, tenant: str) -> bool:
        """Whether the tenant has a data key."""
        return self.box(tenant, None) is not None

    def refuses_plain(self, tenant: str) -> bool:
        """Whether plain rows of a tenant must be rejected: Scrubjay did not write them, or they are not encrypted
        yet."""
        if self.ring is None or not tenant or self.ring.access(tenant, fresh=False).master is None:
            return False
        if self.ring.mode != "mixed":
            return True
        box = self.box(tenant, None)
        return box is not None and box.whole

    def allow(self, tenant: str, plain: str | None, *, encrypting: bool) -> None:
        """Raise an error if a tenant may not get a data key because the table `plain` holds plaintext of it
        (None: no table does).

        Raises:
            PlaintextError: it does, the tenant is not being encrypted, and the mode is not "mixed".
        """
        mixed = self.ring is not None and self.ring.mode == "mixed"
        if plain is not None and not mixed and not encrypting:
            raise PlaintextError(
                f"tenant {tenant!r} has rows in the clear ({plain}), and keys give a key for it: call "
                f"index.admin.encrypt({tenant!r}) first (or open the index with encryption='mixed')"
            )

    def plain(self, what: str, tenant: str) -> PlaintextError | CorruptIndexError:
        """Return the error for plaintext that :meth:`refuses_plain` rejects."""
        box = self.box(tenant, None)
        if box is not None and box.whole:
            return CorruptIndexError(
                f"{what} is in the clear, though all of tenant {tenant!r} was encrypted: other software wrote it "
                "(index.admin.encrypt(tenant, accept=True) seals it)"
            )
        return PlaintextError(
            f"{what} is in the clear, though keys give a key for tenant {tenant!r}: call "
            f"index.admin.encrypt({tenant!r}), "
            "or open the file with encryption='mixed' until then"
        )

    def scope_digest(self, table: str, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of a scope in the state that was read; None: its tenant has no digests.

        Raises:
            CorruptIndexError: the digest does not match this state.
        """
        if self.ring is None:
            return None
        box = self.box(scope.tenant, None)
        if box is None or not box.counted:
            return None
        names = (scope.tenant, scope.user or "", scope.agent or "")
        return box, open_digest(
            box, table, names, state.version, state.documents, state.vectors, state.digest
        )

    def box(self, tenant: str, id: bytes | None) -> Box | None:
        """Return the data key with this id, or the tenant's current one."""
        if self.ring is None:
            if id is None and self._stored(tenant) is None:
                return None
            raise keyless_error(tenant)
        access = self.ring.access(tenant, fresh=False)
        if access.erased:
            raise erased_error(tenant)
        box = None if id is None else access.boxes.get(id)
        if box is None:
            stored = self._stored(tenant)
            box = None if stored is None else self.unwrapped(tenant, access, stored)
        return box

    def unwrapped(self, tenant: str, access: Access, stored: DataKey) -> Box:
        """Unwrap a stored data key with the provider's answer.

        Raises:
            EncryptionError: the answer is no key, or another one.
            CorruptIndexError: the stored key was changed or rolled back.
        """
        box = access.boxes.get(stored.id)
        if box is not None:
            if box.mark & ~stored.mark:
                raise CorruptIndexError(f"the data key of tenant {tenant!r} was rolled back in the file")
            box.mark = stored.mark  # the mark may gain demands since it was authenticated, never lose any
            return box
        if access.master is None:
            raise EncryptionError(
                f"keys: tenant {tenant!r} is encrypted in this file, expected its key, got None"
            )
        if access.master.fingerprint != stored.fingerprint:
            raise EncryptionError(
                f"keys: tenant {tenant!r} is encrypted with another key than the one given (was it rotated? see "
                "index.admin.rotate_key)"
            )
        box = access.master.unwrap(tenant, stored.id, stored.wrapped, mark=stored.mark)
        access.boxes[stored.id] = box
        return box

    def row_opener(self, table: str, scope: Scope) -> Callable[[Sequence[Any]], StoredRow]:
        """Return a function that decrypts a stored row (seq, id, text, payload, vector)."""
        tenant = scope.tenant
        refused: bool | None = None  # computed when first needed
        if self.ring is not None and self.ring.access(tenant, fresh=False).erased:
            raise erased_error(tenant)
        boxes: dict[bytes, RowBox] = {}

        def opened(row: Sequence[Any]) -> StoredRow:
            nonlocal refused
            text = row[2]
            if isinstance(text, str):
                if refused is None:
                    refused = self.refuses_plain(tenant)
                if refused:
                    raise self.plain(f"document {row[1]!r}", tenant)
                return StoredRow(*row)
            id = sealed_by(text)
            box = boxes.get(id)
            if box is None:
                box = boxes[id] = RowBox(self.opening(tenant, id), table, scope)
            return box.open(row)

        return opened

    def open_image(
        self, table: str, scope: Scope, version: int, chunks: Sequence[bytes | memoryview]
    ) -> Sequence[bytes | memoryview]:
        """Decrypt the chunks of an image.

        Raises:
            CorruptIndexError: they cannot be used, and the rows have to be read.
        """
        current = self.box(scope.tenant, None)
        refused = self.refuses_plain(scope.tenant)
        if current is None:
            if refused:
                raise CorruptIndexError(f"an image of tenant {scope.tenant!r} is in the clear")
            return chunks
        if scope.user:
            current = self.key_of_user(scope.tenant, scope.user, current) or current
        opened: list[bytes | memoryview] = []
        for i, chunk in enumerate(chunks):
            if is_sealed(chunk) and sealed_by(chunk) == current.id:
                opened.append(current.open(around_image(table, scope, version, i, len(chunks)), chunk))
            elif is_sealed(chunk) or refused:
                raise CorruptIndexError("an image was sealed with another key, or not at all")
            else:
                opened.append(chunk)
        return opened


def around_cell(tenant: str, place: str) -> bytes:
    """Return the associated data of a cell of a tenant's row."""
    return frame(tenant, place)


def erased_error(tenant: str) -> KeyErasedError:
    """Return the error for a tenant whose key was destroyed."""
    return KeyErasedError(
        f"the key of tenant {tenant!r} was destroyed; erase(Scope({tenant!r})) removes what is left"
    )


def uncounted_error(tenant: str) -> EncryptionError:
    """Return the error for a tenant without digests in mode "strict"."""
    return EncryptionError(
        f"tenant {tenant!r} was encrypted by an older version, and has no digests, which encryption='strict' demands: "
        f"call index.admin.encrypt({tenant!r})"
    )


def keyless_error(tenant: str) -> EncryptionError:
    """Return the error for an encrypted tenant without a provider."""
    return EncryptionError(f"tenant {tenant!r} is encrypted: open the index with keys=")
