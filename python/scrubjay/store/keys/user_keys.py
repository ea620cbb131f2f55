"""Keys of users: the data of one user can be made unreadable, in every copy that was ever made, without affecting
others.

If the provider has a key store (:class:`scrubjay.keystores.UserKeys`), each user of an encrypted tenant has a key
of their own. It seals everything in scopes of that user: texts, metadata, vectors, images, queries in feedback,
rows of memory, events of runs. Data that belongs to no user is sealed with the tenant's data key, and so are
digests, which hold no content.

The key consists of two halves of 32 random bytes. The first is stored with the rows, sealed with the tenant's
data key and authenticated with the names of its user: it proves whose key it is. The second is in the caller's
key store and nowhere else. A backup has the first half only, so once the second one is destroyed no copy of the
rows, of whatever age, opens what was sealed with the key: not with the tenant's key, nor with its master key. The
key store alone opens nothing either, and it is given no names.

    made         within the transaction that first writes data of the user. The second half is durable in the key
                 store before the first one is committed; if the commit fails, an unused half is left there
    used         sealed bytes name their key (:func:`scrubjay.store.rows.sealed.sealed_by`). Keys are cached for a
                 second, so other processes notice that one was destroyed
    destroyed    when a user is erased and nothing is left that needs the key, the transaction that removes the
    last
                 rows marks the key as dead. The second half is destroyed after the commit. After a crash, or if
                 the
                 key store is away, the next opening of the index does it. A user who returns gets another key

A key that is missing in the key store while rows are still here (a backup from before the erasure, or a key
destroyed by hand) makes the user count as erased: searches find nothing, and writes raise KeyErasedError until
the rows are erased.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import NamedTuple, Protocol

from scrubjay.base.errors import EncryptionError, KeyErasedError
from scrubjay.store.keys.encryption import Box, KeyRing
from scrubjay.store.rows.erasure_search import KeyProof
from scrubjay.store.rows.sealed import ID_BYTES, frame

_HALF_BYTES = 32
_TRIES = 3


class StoredUserKey(NamedTuple):
    """A user's key as stored with the rows."""

    id: bytes
    user: str
    sealed: bytes
    """The first half, sealed with the tenant's data key."""


class UserKeyTable(Protocol):
    """The stored keys of users, as visible to the calling thread."""

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
        """Return (id, creation time, whole) of the dead keys of a user."""
        ...

    def living(self, tenant: str, user: str) -> list[tuple[bytes, int, bool]]:
        """Return the same of the user's current key."""
        ...


def proofs_of(ring: KeyRing, rows: list[tuple[bytes, int, bool]]) -> tuple[KeyProof, ...]:
    """Return the state of keys (id, creation time in microseconds, whole), as the key store reports it now."""
    return tuple(
        KeyProof(id.hex(), datetime.fromtimestamp(at / 1e6, timezone.utc), whole, ring.destroyed_at(id))
        for id, at, whole in rows
    )


def make_user_key(ring: KeyRing, box: Box, tenant: str, user: str) -> tuple[Box, StoredUserKey]:
    """Create a key for a user of the tenant whose data key is `box`; its second half is in the key store on
    return.

    Raises:
        EncryptionError: the key store does not accept it.
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
    """Return a user's key, decrypted.

    Raises:
        KeyErasedError: it was destroyed.
        CorruptIndexError: its first half was changed, or belongs to another user.
    """
    other = ring.secret(key.id)
    if other is None:
        raise erased_user_error(tenant, key.user)
    return box.with_secret(key.id, box.open(_around(tenant, key.user, key.id), key.sealed) + other)


def whose(box: Box, tenant: str, user: str) -> bytes:
    """Return the keyed hash that replaces the user's name in a dead key's row."""
    return box.digest(frame("whose key", tenant, user))


def erased_user_error(tenant: str, user: str) -> KeyErasedError:
    """Return the error for a user whose key was destroyed."""
    return KeyErasedError(
        f"the key of user {user!r} of tenant {tenant!r} was destroyed; erase(Scope({tenant!r}, {user!r})) removes what "
        "is left"
    )


def _around(tenant: str, user: str, id: bytes) -> bytes:
    return frame("user key", tenant, user) + id
