"""Keys of users, stored outside the backups of the index.

With ``keys=UserKeys(provider, store)`` every user of an encrypted tenant has their own key, half of which is only in
`store`. Erasing the user destroys that half, and so makes every copy of the user's data unreadable: backups, standbys,
archives of the write-ahead log, versions of objects. This holds as long as no copy of the *key store* is kept longer
than erased data may stay readable: back it up separately, and for a short time.

Two stores are provided: a folder (:class:`KeyFolder`) for an index on one machine, and a database
(:class:`KeyDatabase`), which must not be the index's. A key management service can replace them with four methods
(:class:`KeyStore`).

>>> import tempfile
>>> from scrubjay import Index, Scope
>>> from scrubjay.keystores import KeyFolder, UserKeys
>>> folder = tempfile.TemporaryDirectory()
>>> master = bytes(range(32))  # of a key manager
>>> keys = UserKeys(lambda tenant: master, KeyFolder(folder.name + "/keys"))
>>> jane = Scope("acme", user="jane")
>>> with Index.open(folder.name + "/memories.scrubjay", keys=keys) as index:
...     index.upsert("m1", "The door code is 4711.", scope=jane)
...     index.erase(jane)
...     [proof.destroyed_at is not None for proof in index.admin.verify_erased(scope=jane).keys]
1
[True]
>>> folder.cleanup()
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from scrubjay.base.errors import EncryptionError, KeyErasedError
from scrubjay.base.extras import imported
from scrubjay.base.initialised import guard_exports

__all__ = ["KeyDatabase", "KeyFolder", "KeyStore", "UserKeys"]


@runtime_checkable
class KeyStore(Protocol):
    """Stores keys by id, and destroys them. Called from any thread; its exceptions fail the calls that need the key.

    Ids are random and do not identify users. The store remembers destroyed ids as destroyed.
    """

    def put(self, id: bytes, key: bytes) -> None:
        """Store a new key, durably before it returns.

        Raises:
            FileExistsError: a key with this id exists or existed.
        """
        ...

    def get(self, id: bytes) -> bytes | None:
        """Return a key, or None if it was never stored.

        Raises:
            KeyErasedError: it was destroyed.
        """
        ...

    def destroy(self, id: bytes) -> None:
        """Destroy a key, durably before it returns; an id without a key, or already destroyed, becomes or stays
        destroyed."""
        ...

    def destroyed_at(self, id: bytes) -> datetime | None:
        """Return when a key was destroyed (in UTC), or None if it was not."""
        ...


class UserKeys:
    """A provider of tenants' keys (see :meth:`scrubjay.Index.open`) with a key store for their users.

    Args:
        provider: tenant -> its key, or None for an unencrypted tenant. Its method `destroy`, if any, is used as without
            this class.
        users: the store of the users' keys: a :class:`KeyStore`.

    Raises:
        TypeError: `provider` is not callable, or `users` lacks a method of a KeyStore.
    """

    def __init__(self, provider: Callable[[str], bytes | None], users: KeyStore) -> None:
        if not callable(provider):
            raise TypeError(
                f"provider: expected a callable (tenant -> bytes or None), got {type(provider).__name__}"
            )
        if not isinstance(users, KeyStore):
            raise TypeError(
                "users: expected a KeyStore (put, get, destroy, destroyed_at), got " + type(users).__name__
            )
        self._provider = provider
        self.users = users

    def __call__(self, tenant: str) -> bytes | None:
        """Return the key of a tenant."""
        return self._provider(tenant)

    def destroy(self, tenant: str) -> None:
        """Call the provider's `destroy` for a tenant, if it has one."""
        destroy = getattr(self._provider, "destroy", None)
        if destroy is not None:
            destroy(tenant)


class KeyFolder:
    """A folder with one file per key, for an index on the same machine.

    Only their owner can read the files (mode 0600). A destroyed key is overwritten before its file is deleted. A disk
    that relocates writes (an SSD, a copy-on-write file system, a snapshot) may keep the old bytes: encrypt that disk.

    Args:
        path: of the folder; created if missing. It must not be inside what the backup of the index copies.

    Raises:
        TypeError: `path` is not a path.
        OSError: the folder cannot be created.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path: expected a str or os.PathLike, got {type(path).__name__}")
        self._path = Path(path)
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _file(self, id: bytes) -> Path:
        if not isinstance(id, bytes) or not id:
            raise ValueError(f"id: expected bytes, one at least, got {id!r}")
        name = id.hex()
        return self._path / name[:2] / name

    def _make_parent(self, file: Path) -> None:
        if not file.parent.is_dir():
            file.parent.mkdir(mode=0o700, exist_ok=True)
            _sync(self._path)

    def put(self, id: bytes, key: bytes) -> None:
        """Store a new key.

        Raises:
            FileExistsError: a key with this id exists or existed.
        """
        file = self._file(id)
        if self.destroyed_at(id) is not None:
            raise FileExistsError(f"key {id.hex()}: it was destroyed")
        self._make_parent(file)
        # Written under a temporary name first, so that a file under the final name is always complete.
        fresh = file.with_name(f"{file.name}.{os.urandom(4).hex()}")
        try:
            _write(fresh, key, os.O_CREAT | os.O_EXCL)
            os.link(fresh, file)
        except FileExistsError:
            raise FileExistsError(f"key {id.hex()}: a key with this id exists or existed") from None
        finally:
            fresh.unlink(missing_ok=True)
        _sync(file.parent)

    def get(self, id: bytes) -> bytes | None:
        """Return a key, or None if it was never stored.

        Raises:
            KeyErasedError: it was destroyed.
        """
        if self.destroyed_at(id) is not None:
            raise KeyErasedError(f"key {id.hex()}: it was destroyed")
        try:
            return self._file(id).read_bytes()
        except FileNotFoundError:
            if self.destroyed_at(id) is not None:  # just now
                raise KeyErasedError(f"key {id.hex()}: it was destroyed") from None
            return None

    def destroy(self, id: bytes) -> None:
        """Destroy a key."""
        file, note = self._file(id), self._note(id)
        self._make_parent(file)
        with suppress(FileExistsError):  # the marker first: from then on no process uses the key
            _write(note, str(time.time_ns() // 1000).encode(), os.O_CREAT | os.O_EXCL)
        _sync(file.parent)
        with suppress(FileNotFoundError):
            n_bytes = file.stat().st_size
            _write(file, bytes(n_bytes), 0)
            file.unlink()
        _sync(file.parent)

    def destroyed_at(self, id: bytes) -> datetime | None:
        """Return when a key was destroyed, or None if it was not."""
        note = self._note(id)
        try:
            content = note.read_bytes()
            at = int(content) / 1e6 if content else note.stat().st_mtime
        except FileNotFoundError:
            return None
        return datetime.fromtimestamp(at, timezone.utc)

    def _note(self, id: bytes) -> Path:
        return self._file(id).with_suffix(".destroyed")


def _write(path: Path, data: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o600)
    try:
        if flags & os.O_CREAT and hasattr(os, "fchmod"):
            # The umask may have removed bits that are needed later to overwrite the key; a file system may have no
            # modes.
            with suppress(OSError):
                os.fchmod(descriptor, 0o600)
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a loss of power, on systems that can sync folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class KeyDatabase:
    """A table in a PostgreSQL database, for an index shared by processes on many machines.

    It must be in another database cluster than the index, or `pg_basebackup` copies the keys along. A destroyed key is
    overwritten in its row; the old row version and the write-ahead log keep it until they are vacuumed and recycled:
    keep neither archives of this server's log nor backups of it for longer than erased data may stay readable.

    Args:
        url: "postgresql://user@host/database" (extra `postgres`).
        timeout: seconds to wait for an answer.

    Raises:
        MissingExtraError: psycopg is not installed.
        EncryptionError: the database does not answer, or its table cannot be created.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self._psycopg = imported("psycopg", "KeyDatabase", "postgres")
        self._url, self._timeout = url, timeout
        self._idle: list[Any] = []
        self._process = os.getpid()
        with self._connection() as connection:
            table = connection.execute("SELECT to_regclass('scrubjay_user_key')").fetchone()[0]
            if table is None:
                connection.execute(_KEY_TABLE)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        if os.getpid() != self._process:  # a child must not use its parent's connections
            self._idle, self._process = [], os.getpid()
        for fresh in (False, True):
            try:
                connection = None if fresh else self._idle.pop()
            except IndexError:
                continue
            try:
                if connection is None:
                    connection = self._psycopg.connect(
                        self._url, autocommit=True, connect_timeout=max(2, int(self._timeout))
                    )
                    connection.execute(f"SET statement_timeout = {int(self._timeout * 1000)}")
                elif not fresh:
                    connection.execute("SELECT 1")  # it may be stale, from before a restart
            except self._psycopg.Error as error:
                if connection is not None:
                    connection.close()
                if fresh:
                    raise EncryptionError(
                        f"keys: the key database does not answer ({type(error).__name__})"
                    ) from error
                continue
            break
        try:
            yield connection
        except BaseException:
            connection.close()  # type: ignore[union-attr]
            raise
        self._idle.append(connection)

    def put(self, id: bytes, key: bytes) -> None:
        """Store a new key.

        Raises:
            FileExistsError: a key with this id exists or existed.
        """
        with self._connection() as connection:
            done = connection.execute(
                "INSERT INTO scrubjay_user_key(id, key) VALUES (%s, %s) ON CONFLICT DO NOTHING", (id, key)
            )
        if done.rowcount != 1:
            raise FileExistsError(f"key {id.hex()}: a key with this id exists or existed")

    def get(self, id: bytes) -> bytes | None:
        """Return a key, or None if it was never stored.

        Raises:
            KeyErasedError: it was destroyed.
        """
        with self._connection() as connection:
            row = connection.execute("SELECT key FROM scrubjay_user_key WHERE id = %s", (id,)).fetchone()
        if row is None:
            return None
        if row[0] is None:
            raise KeyErasedError(f"key {id.hex()}: it was destroyed")
        return bytes(row[0])

    def destroy(self, id: bytes) -> None:
        """Destroy a key."""
        with self._connection() as connection:
            connection.execute(
                "INSERT INTO scrubjay_user_key(id, destroyed_at) VALUES (%s, clock_timestamp()) ON CONFLICT (id) "
                "DO UPDATE SET key = NULL, destroyed_at = coalesce(scrubjay_user_key.destroyed_at, clock_timestamp())",
                (id,),
            )

    def destroyed_at(self, id: bytes) -> datetime | None:
        """Return when a key was destroyed, or None if it was not."""
        with self._connection() as connection:
            row = connection.execute(
                "SELECT destroyed_at FROM scrubjay_user_key WHERE id = %s", (id,)
            ).fetchone()
        at: datetime | None = None if row is None else row[0]
        return None if at is None else at.astimezone(timezone.utc)

    def close(self) -> None:
        """Close the connections; the next call opens a new one."""
        while self._idle:
            self._idle.pop().close()


_KEY_TABLE = """
CREATE TABLE IF NOT EXISTS scrubjay_user_key(
  id bytea PRIMARY KEY, key bytea, destroyed_at timestamptz, CHECK ((key IS NULL) <> (destroyed_at IS NULL)))
"""

guard_exports(__name__)
