"""Keys, sealed byte strings, and the guarantees of encryption.

Each encrypted tenant has a *data key*: 32 random bytes, drawn when the tenant is first written to. It is stored
wrapped by the tenant's *master key*, which only the provider knows, in the table `data_key` of a file or the row
of the tenant's home in a database. Texts, payloads, vectors and images are sealed with the data key by
AES-256-GCM. A new master key therefore costs one row (:mod:`scrubjay.store.sqlite.rekeying`), and destroying the
master key destroys everything of the tenant, in the file and in all its copies. "The file" below includes the
tables of a database. If the provider has a key store, each user also has a key of their own
(:mod:`scrubjay.store.keys.user_keys`), and everything below about values holds for those that it seals.

    sealed bytes = FF 01 | 8 bytes: which data key | 12 random bytes | ciphertext | 16 bytes: tag

No UTF-8 text, JSON or image begins with FF, so sealed and plain bytes cannot be mistaken for each other (plain
bytes that begin with FF get the prefix FF 00). The associated data - tenant, scope, table, row, column - is
authenticated with the bytes. Random nonces allow 2**32 sealed values per data key before a repetition becomes
likely enough to matter (2**-32).

**What encryption guarantees.** The attacker reads and writes the file and its copies, and knows no key.

- Texts, metadata, vectors, queries in feedback, the records of memory and images of a tenant with a key are
  unreadable.
- A value that was changed, or moved to another row, column, scope or tenant, is rejected.
- A plain row, or a plain file in place of an encrypted one, is rejected for every tenant for which the provider
  gives a key. The exception is `encryption="mixed"`, until `Admin.encrypt` has finished.
- Rows that were rolled back, removed rows and deleted vectors do not match the digest of their scope
  (:mod:`scrubjay.store.sqlite.digests`): loading the partition from rows fails, an old image is not used, and
  `Admin.check` reports them. For rows of memory and feedback `Admin.check` reports the same.
- Once the key is destroyed nothing of the tenant can be read, in the file and in all its copies.

**What it does not guarantee.** Ids, names of tenants, users, agents, authors and runs, keys of policies and
preferences, times, statuses, reasons, numbers and sizes are readable. The log of changes to records is sealed,
but can be truncated. Restoring an earlier state of a whole tenant (its data key, all its scopes and digests), of
a whole scope with its digest and version, or of a whole file is not detected: the file holds no clock that the
attacker cannot turn back. A scope, or a table of memory, that was emptied together with its digest looks erased.
A tenant that an older version encrypted has no digests until its first write, or `Admin.encrypt`; a copy from
that time can be restored undetected, unless `encryption="strict"` requires digests. An interrupted call of
`Admin.encrypt` accepts plain rows when it is resumed. A partition loaded from its image takes the expiry times of
documents from the rows, unverified. Documents that are read one by one (`get`, `list`) are authenticated one by
one, not against the digest. The index in memory is plaintext, and so are swap and core dumps.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from scrubjay.base.errors import CorruptIndexError, EncryptionError, KeyErasedError
from scrubjay.base.extras import imported
from scrubjay.base.locks import renew_in_children
from scrubjay.store.rows.sealed import HEAD_BYTES, ID_BYTES, NONCE_BYTES, SEALED, frame

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from scrubjay.keystores import KeyStore

KeyProvider = Callable[[str], "bytes | None"]
"""Returns a tenant's key. If it has a method `destroy(tenant)`, that is called once nothing of a tenant is left.
If it has an attribute `users`, a :class:`scrubjay.keystores.KeyStore`, every user has a key of their own as well
(:mod:`scrubjay.store.keys.user_keys`)."""

BLOCK_BYTES = 16
"""The size of the summands of a digest."""
WHOLE, COUNTED = 1, 2
"""Marks of a data key, authenticated with it. WHOLE: nothing of the tenant is plain; COUNTED: every scope has a
digest."""
_MARKS = (b"mixed", b"whole", b"mixed, counted", b"whole, counted")

MODES = ("mixed", "sealed", "strict")
"""What the file must provide for a tenant with a key; see `Index.open`."""

KEY_SECONDS = 1.0  # how long an answer of the provider is cached
_MAX_TENANTS = 10_000  # cached


class PlaintextError(EncryptionError):
    """Data of a tenant with a key is plain."""


def _aead(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _derived(key: bytes, purpose: str, n_bytes: int = 32) -> bytes:
    """Derive a key for one purpose; one key reveals nothing of another."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), n_bytes, salt=None, info=b"scrubjay 1 " + purpose.encode()).derive(key)


class Box:
    """A data key, which seals and opens byte strings. Thread-safe."""

    __slots__ = ("_aead", "_digest_key", "_head", "_sum_cipher", "_sum_key", "id", "mark")

    def __init__(self, id: bytes, key: bytes, *, mark: int) -> None:
        self.id = id
        self.mark = mark
        self._head = SEALED + id
        self._aead = _aead(_derived(key, "seal"))
        self._digest_key = _derived(key, "digest")
        self._sum_key = _derived(key, "sum")
        self._sum_cipher: Any = None  # created when first needed

    @property
    def whole(self) -> bool:
        """Whether nothing of the tenant is plain; any plain row was then written by other software."""
        return bool(self.mark & WHOLE)

    @property
    def counted(self) -> bool:
        """Whether every scope of the tenant has a digest."""
        return bool(self.mark & COUNTED)

    def with_secret(self, id: bytes, secret: bytes) -> Box:
        """Return the box of a user's key, which is derived from the secret."""
        return Box(id, _derived(secret, "user"), mark=self.mark)

    def seal(self, around: bytes, data: bytes) -> bytes:
        """Seal bytes; opening them requires the same associated data `around`."""
        nonce = os.urandom(NONCE_BYTES)
        return self._head + nonce + self._aead.encrypt(nonce, data, around)

    def open(self, around: bytes, sealed: bytes | memoryview) -> bytes:
        """Decrypt sealed bytes.

        Raises:
            CorruptIndexError: the bytes were changed or moved.
        """
        from cryptography.exceptions import InvalidTag

        text_at = HEAD_BYTES + NONCE_BYTES
        try:
            if sealed[:HEAD_BYTES] != self._head:
                raise ValueError("not sealed with this key, or not in this form")
            return self._aead.decrypt(bytes(sealed[HEAD_BYTES:text_at]), sealed[text_at:], around)
        except (InvalidTag, ValueError, TypeError):  # a value of another type, which Scrubjay did not write
            raise CorruptIndexError(
                "sealed bytes were changed, cut, or moved from where they belong"
            ) from None

    def digest(self, data: bytes) -> bytes:
        """Return a keyed hash of 32 bytes, which reveals nothing but equality without the key."""
        return hmac.digest(self._digest_key, data, "sha256")

    def block(self, values: Sequence[Any]) -> bytes:
        """Return a keyed hash of 16 bytes of the unsealed values of a row, for :meth:`total`."""
        encoded = repr(tuple(values)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(encoded, key=self._sum_key, digest_size=BLOCK_BYTES).digest()

    def total(self, blocks: bytes | bytearray) -> int:
        """Return the sum, modulo 2**128, of a pseudorandom function of every 16 bytes.

        The function is AES under a key of its own: the blocks are tags of sealed values, which are public. The
        sums are stored sealed, so without the key neither the function of a block nor two sums that differ by it
        are known.
        """
        return self.totals(blocks)[0]

    def totals(self, *groups: bytes | bytearray) -> list[int]:
        """Return :meth:`total` for several groups of blocks, at the cost of one call."""
        joined = b"".join(groups)
        if not joined:
            return [0] * len(groups)
        if self._sum_cipher is None:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

            # ECB is what a multiset hash needs: each block is mapped independently, and nothing is encrypted by
            # it.
            self._sum_cipher = Cipher(algorithms.AES(self._sum_key), modes.ECB())
        enciphered = self._sum_cipher.encryptor().update(joined)
        totals, at = [], 0
        for group in groups:
            totals.append(_sum(enciphered[at : at + len(group)]) if group else 0)
            at += len(group)
        return totals


def _sum(blocks: bytes) -> int:
    if len(blocks) <= 8 * BLOCK_BYTES:
        parts = range(0, len(blocks), BLOCK_BYTES)
        return sum([int.from_bytes(blocks[at : at + BLOCK_BYTES], "little") for at in parts]) % 2**128
    lanes = np.frombuffer(blocks, "<u4").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
    return sum(int(lane) << 32 * i for i, lane in enumerate(lanes)) % 2**128


class Master:
    """A tenant's master key, from the provider. It only wraps data keys."""

    __slots__ = ("_aead", "fingerprint")

    def __init__(self, key: bytes) -> None:
        self.fingerprint = _derived(key, "fingerprint", 8)
        self._aead = _aead(_derived(key, "wrap"))

    def make(self, tenant: str, *, mark: int) -> tuple[Box, bytes]:
        """Create a new data key; return it and its wrapped form."""
        id, key = os.urandom(ID_BYTES), os.urandom(32)
        return Box(id, key, mark=mark), self._wrap(tenant, id, key, mark)

    def _wrap(self, tenant: str, id: bytes, key: bytes, mark: int) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, key, _around_key(tenant, id, mark))

    def unwrap(self, tenant: str, id: bytes, wrapped: bytes, *, mark: int) -> Box:
        """Unwrap a data key that this master key wrapped."""
        return Box(id, self._unwrap(tenant, id, wrapped, mark), mark=mark)

    def _unwrap(self, tenant: str, id: bytes, wrapped: bytes, mark: int) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._aead.decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _around_key(tenant, id, mark)
            )
        except (InvalidTag, ValueError):
            raise CorruptIndexError(f"the data key of tenant {tenant!r} was changed in the file") from None

    def rewrap(self, tenant: str, id: bytes, wrapped: bytes, was: int, by: Master, *, mark: int) -> bytes:
        """Unwrap a data key that this master key wrapped with the mark `was`, and wrap it with another one."""
        return by._wrap(tenant, id, self._unwrap(tenant, id, wrapped, was), mark)


def _around_key(tenant: str, id: bytes, mark: int) -> bytes:
    return frame("data key", tenant) + id + _MARKS[mark]


class Access:
    """The provider's answer for one tenant, and the data keys that were unwrapped with it."""

    __slots__ = ("boxes", "checked", "erased", "master", "until", "users")

    def __init__(self, master: Master | None, *, erased: bool, until: float) -> None:
        self.master = master  # None: the tenant is not encrypted, or its key was destroyed
        self.erased = erased
        self.until = until
        self.checked = False  # that this master key wrapped the file's data key
        self.boxes: dict[bytes, Box] = {}  # by id
        self.users: dict[bytes, Box] = {}  # keys of users, by id; the key store is asked before one is used


class KeyRing:
    """The keys of a provider, cached for a second. Thread-safe, if the provider is."""

    def __init__(self, provider: KeyProvider, mode: str = "sealed") -> None:
        if mode not in MODES:
            raise ValueError(f"encryption: expected one of {', '.join(map(repr, MODES))}, got {mode!r}")
        self.mode = mode
        if not callable(provider):
            raise TypeError(
                f"keys: expected a callable (tenant -> bytes or None), got {type(provider).__name__}"
            )
        imported("cryptography.hazmat.primitives.ciphers.aead", "keys", "encryption")
        self._provider = provider
        self.users: KeyStore | None = getattr(provider, "users", None)
        """The key store of users' keys; None: users have no keys of their own."""
        self._lock = threading.Lock()  # guards the tables below; never held during a call of the provider
        renew_in_children(self, "_lock")
        self._known: dict[str, Access] = {}
        # id -> (key, or None if it was destroyed; expiry of the entry)
        self._secrets: dict[bytes, tuple[bytes | None, float]] = {}

    def access(self, tenant: str, *, fresh: bool = True) -> Access:
        """Return the provider's answer for a tenant; without `fresh` it may be the cached one.

        Raises:
            EncryptionError: the provider failed, or returned an invalid key.
        """
        access = self._known.get(tenant)
        if access is not None and (not fresh or time.monotonic() < access.until):
            return access
        return self._ask(tenant)

    def _ask(self, tenant: str) -> Access:
        master, erased = None, False
        try:
            key = self._provider(tenant)
        except KeyErasedError:
            erased = True
        except Exception as error:
            raise EncryptionError(
                f"keys: the provider failed for tenant {tenant!r} ({type(error).__name__}); nothing is lost, "
                "try again"
            ) from error
        else:
            master = None if key is None else Master(checked_key(key, f"keys: for tenant {tenant!r}"))
        until = time.monotonic() + KEY_SECONDS
        with self._lock:
            known = self._known.get(tenant)
            if known is not None and known.erased == erased and _same(known.master, master):
                known.until = until
                return known
            if len(self._known) >= _MAX_TENANTS:
                self._known.clear()
            access = self._known[tenant] = Access(master, erased=erased, until=until)
        return access

    def has_opened(self, tenant: str) -> bool:
        """Whether this ring has unwrapped a data key of a tenant; another process may have destroyed the key since."""
        access = self._known.get(tenant)
        return access is not None and bool(access.boxes)

    def destroy(self, tenants: Iterable[str]) -> None:
        """Let the provider destroy the keys of tenants of whom nothing is left, if it has a method `destroy`.

        Raises:
            EncryptionError: it failed for a tenant; the others' keys were destroyed.
        """
        destroy = getattr(self._provider, "destroy", None)
        if destroy is None:
            return
        failed: dict[str, Exception] = {}
        for tenant in tenants:
            try:
                destroy(tenant)
            except KeyErasedError:
                pass  # already destroyed
            except Exception as error:  # noqa: BLE001 - raised by the provider
                failed[tenant] = error
            self.forget(tenant)
        for tenant, cause in failed.items():
            raise EncryptionError(
                f"keys: everything of tenant {tenant!r} was erased, but the provider failed to destroy its key "
                f"({type(cause).__name__}); until it is destroyed, copies of the file can be read: erase it again"
            ) from cause

    def secret(self, id: bytes) -> bytes | None:
        """Return the key store's half of a user's key; None: it was destroyed.

        Raises:
            EncryptionError: no key store, the key store failed, or it does not know the key.
        """
        known = self._secrets.get(id)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        with self._asking("get", id) as store:
            try:
                secret = store.get(id)
            except KeyErasedError:
                secret = None
            else:
                if secret is None:
                    raise EncryptionError(
                        f"keys: the key store does not know the user's key {id.hex()}, and does not say that it was "
                        "destroyed: is it the store that this index was written with?"
                    )
                secret = checked_key(secret, "keys: of a user")
        self._remember(id, secret)
        return secret

    def _remember(self, id: bytes, secret: bytes | None) -> None:
        with self._lock:
            if len(self._secrets) >= _MAX_TENANTS:
                self._secrets.clear()
            self._secrets[id] = secret, time.monotonic() + KEY_SECONDS

    def put(self, id: bytes, secret: bytes) -> None:
        """Store a new user's key durably in the key store.

        Raises:
            EncryptionError: it failed; the key must not be used.
        """
        with self._asking("put", id) as store:
            store.put(id, secret)
        self._remember(id, secret)

    def destroy_users(self, ids: Iterable[bytes]) -> None:
        """Destroy users' keys in the key store.

        Raises:
            EncryptionError: it failed for a key; the keys before it were destroyed.
        """
        for id in ids:
            with self._lock:
                self._secrets.pop(id, None)
            with self._asking("destroy", id) as store:
                store.destroy(id)

    def destroyed_at(self, id: bytes) -> datetime | None:
        """Return when a user's key was destroyed; None: it was not.

        Raises:
            EncryptionError: no key store, or the key store failed.
        """
        with self._asking("destroyed_at", id) as store:
            return store.destroyed_at(id)

    @contextmanager
    def _asking(self, what: str, id: bytes) -> Iterator[KeyStore]:
        if self.users is None:
            raise EncryptionError(
                "keys: expected the keys of users, which this tenant's users have of their own here: open the index "
                "with keys=UserKeys(provider, store), see scrubjay.keystores"
            )
        try:
            yield self.users
        except EncryptionError:
            raise
        except Exception as error:
            raise EncryptionError(
                f"keys: the key store failed to {what} the user's key {id.hex()} ({type(error).__name__}: {error}); "
                "nothing is lost, try again"
            ) from error

    def forget(self, tenant: str | None) -> None:
        """Drop cached answers for a tenant; None: for every tenant."""
        with self._lock:
            self._secrets.clear()
            if tenant is None:
                self._known.clear()
            else:
                self._known.pop(tenant, None)


def _same(one: Master | None, other: Master | None) -> bool:
    return (None if one is None else one.fingerprint) == (None if other is None else other.fingerprint)


def checked_key(key: Any, what: str) -> bytes:
    """Return an AES key, or raise EncryptionError; messages never contain the key."""
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise EncryptionError(f"{what}: expected a key as bytes, got {type(key).__name__}")
    if len(key) not in (16, 24, 32):
        raise EncryptionError(f"{what}: expected 16, 24 or 32 bytes, got {len(key)}")
    return bytes(key)
