"""Keys of users: what one user has can be made unreadable without the others, in every copy that was ever made.

Where the provider has a key store (:class:`scrubjay.keystores.UserKeys`), each user of an encrypted tenant has a key of
their own. What belongs to scopes of that user is sealed with it: texts, metadata, vectors, images, questions in
feedback, rows of memory, events of runs. What belongs to no user is sealed with the tenant's data key, as are digests,
which hold no content.

The key is made of two halves of 32 random bytes. One stands in the store of the rows, sealed with the tenant's data key
and authenticated with the names of its user: it proves whose the key is. The other one is in the caller's key store and
nowhere else. A backup has the first half only, so once the second one is destroyed no copy of the rows, of whatever
age, opens what was sealed with the key: not with the tenant's key, nor with its master key. The key store alone opens
nothing either, and it is told no names.

    made         within the transaction that first writes something of the user: the second half is durable in the key
                 store before the first one is committed. If that fails, a half is left that belongs to nothing
    used         sealed bytes name their key (:func:`scrubjay.store.rows.sealed.sealed_by`). A key is asked for again
                 after a second, so that other processes notice that it was destroyed
    destroyed    when a user is erased, and nothing is left that needs the key, the transaction that removes the last
                 rows marks the key as dead. The second half is destroyed after the commit; what a crash, or a key store
                 that is away, leaves undone, the next opening of the index does. A user who comes back gets another key

A key that is gone in the key store while rows are still here (a backup from before the erasure; somebody destroyed it
by hand) makes the user as if erased: nothing is found, writing raises KeyErasedError until the rows were erased.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import NamedTuple, Protocol

from scrubjay.errors import EncryptionError, KeyErasedError
from scrubjay.store.keys.encryption import Box, KeyRing
from scrubjay.store.rows.erased import KeyProof
from scrubjay.store.rows.sealed import ID_BYTES, frame

_HALF_BYTES = 32
_TRIES = 3


class StoredUserKey(NamedTuple):
    """A user's key as the rows have it."""

    id: bytes
    user: str
    sealed: bytes
    """Its first half, sealed with the tenant's data key."""


class UserKeyTable(Protocol):
    """Where a store keeps them, as the asking thread sees it."""

    def of(self, tenant: str, user: str) -> StoredUserKey | None:
        """Return the key of a user."""
        ...

    def by_id(self, tenant: str, id: bytes) -> StoredUserKey | None:
        """Return the key with this id."""
        ...

    def any(self, tenant: str) -> bool:
        """Whether any user of a tenant has or had a key."""
        ...

    def buried(self, tenant: str, whose: bytes) -> list[tuple[bytes, int, bool]]:
        """Return (id, when it was made, whole) of the dead keys of a user."""
        ...

    def living(self, tenant: str, user: str) -> list[tuple[bytes, int, bool]]:
        """Return the same of the key that a user has."""
        ...


def proofs_of(ring: KeyRing, rows: list[tuple[bytes, int, bool]]) -> tuple[KeyProof, ...]:
    """Return what became of keys (id, when it was made in microseconds, whole), as the key store says now."""
    return tuple(
        KeyProof(id.hex(), datetime.fromtimestamp(at / 1e6, timezone.utc), whole, ring.destroyed_at(id))
        for id, at, whole in rows
    )


def make_user_key(ring: KeyRing, box: Box, tenant: str, user: str) -> tuple[Box, StoredUserKey]:
    """Make a key for a user of the tenant whose data key is `box`; its second half is in the key store now.

    Raises:
        EncryptionError: the key store does not take it.
    """
    half, other = os.urandom(_HALF_BYTES), os.urandom(_HALF_BYTES)
    for left in reversed(range(_TRIES)):
        id = os.urandom(ID_BYTES)
        try:
            ring.put(id, other)
            break
        except EncryptionError as error:
            if not left or not isinstance(error.__cause__, FileExistsError):
                raise
    return (
        box.with_secret(id, half + other),
        StoredUserKey(id, user, box.seal(_around(tenant, user, id), half)),
    )


def opened_user_key(ring: KeyRing, box: Box, tenant: str, key: StoredUserKey) -> Box:
    """Return a user's key.

    Raises:
        KeyErasedError: it was destroyed.
        CorruptIndexError: its first half was changed, or is another user's.
    """
    other = ring.secret(key.id)
    if other is None:
        raise erased_user_error(tenant, key.user)
    return box.with_secret(key.id, box.open(_around(tenant, key.user, key.id), key.sealed) + other)


def whose(box: Box, tenant: str, user: str) -> bytes:
    """Return what a dead key's row has in the place of its user's name: only the tenant's data key leads back to it."""
    return box.digest(frame("whose key", tenant, user))


def erased_user_error(tenant: str, user: str) -> KeyErasedError:
    """Return the error for a user whose key was destroyed."""
    return KeyErasedError(
        f"the key of user {user!r} of tenant {tenant!r} was destroyed; erase(Scope({tenant!r}, {user!r})) removes what "
        "is left"
    )


def _around(tenant: str, user: str, id: bytes) -> bytes:
    return frame("user key", tenant, user) + id
