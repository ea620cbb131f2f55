"""The keys of users in a file: the table `user_key`, and the data that a user owns in the file.

:mod:`scrubjay.store.keys.user_keys` describes their purpose. The table is created with the first key; a flag
beside the format makes versions that do not know it reject the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.user_keys import StoredUserKey
from scrubjay.store.sqlite import registry, schema

ALIVE, DYING, DESTROYED = 0, 1, 2
"""Values of `user_key.dead`: the other half is in the key store; it is to be destroyed; it was destroyed."""


class FileUserKeys:
    """The keys of users, as visible to the calling thread."""

    def __init__(self, reader: Callable[[], sqlite3.Connection]) -> None:
        self._reader = reader

    def of(self, tenant: str, user: str) -> StoredUserKey | None:
        return self._one("tenant = ? AND user = ? AND dead = 0", (tenant, user))

    def by_id(self, tenant: str, id: bytes) -> StoredUserKey | None:
        return self._one("tenant = ? AND id = ? AND dead = 0", (tenant, id))

    def any(self, tenant: str) -> bool:
        connection = self._reader()
        return schema.has_user_keys(connection) and bool(
            connection.execute("SELECT 1 FROM user_key WHERE tenant = ? LIMIT 1", (tenant,)).fetchone()
        )

    def _one(self, condition: str, values: tuple[Any, ...]) -> StoredUserKey | None:
        connection = self._reader()
        try:
            if not schema.has_user_keys(connection):
                return None
            row = connection.execute(
                f"SELECT id, user, half FROM user_key WHERE {condition}", values
            ).fetchone()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise
            raise CorruptIndexError(f"the keys of users cannot be read: {error}") from None
        if row is None:
            return None
        if [type(value) for value in row] != [bytes, str, bytes]:
            raise CorruptIndexError(f"the key of a user of tenant {values[0]!r} was changed in the file")
        return StoredUserKey(*row)

    def buried(self, tenant: str, whose: bytes) -> list[tuple[bytes, int, bool]]:
        return self._told("tenant = ? AND whose = ? AND dead > 0", (tenant, whose))

    def living(self, tenant: str, user: str) -> list[tuple[bytes, int, bool]]:
        return self._told("tenant = ? AND user = ? AND dead = 0", (tenant, user))

    def _told(self, condition: str, values: tuple[Any, ...]) -> list[tuple[bytes, int, bool]]:
        connection = self._reader()
        if not schema.has_user_keys(connection):
            return []
        rows = connection.execute(
            f"SELECT id, made_at, whole FROM user_key WHERE {condition} ORDER BY made_at, id", values
        )
        return [(bytes(id), int(at), bool(whole)) for id, at, whole in rows.fetchall()]


def add_key(
    connection: sqlite3.Connection, tenant: str, key: StoredUserKey, *, whole: bool, now: int
) -> None:
    """Write a new key; the caller holds the write transaction."""
    schema.create_user_keys(connection)
    connection.execute(
        "INSERT INTO user_key(id, tenant, user, half, made_at, whole) VALUES (?, ?, ?, ?, ?, ?)",
        (key.id, tenant, key.user, key.sealed, now, int(whole)),
    )


def bury(connection: sqlite3.Connection, tenant: str, user: str | None, whose: bytes | None) -> list[bytes]:
    """Mark the key of a user as dead, with `whose` in place of the name; return the ids.

    Without a user, mark the keys of all users of a tenant, and erase all names from them.
    """
    if not schema.has_user_keys(connection):
        return []
    condition, values = "tenant = ? AND dead = 0", [tenant]
    if user is not None:
        condition, values = f"{condition} AND user = ?", [tenant, user]
    rows = connection.execute(f"SELECT id FROM user_key WHERE {condition}", values).fetchall()
    connection.execute(
        f"UPDATE user_key SET user = '', half = NULL, dead = {DYING}, whose = ? WHERE {condition}",
        (whose, *values),
    )
    if user is None:
        connection.execute(f"DELETE FROM user_key WHERE tenant = ? AND dead = {DESTROYED}", (tenant,))
        connection.execute("UPDATE user_key SET tenant = '', whose = NULL WHERE tenant = ?", (tenant,))
    return [id for (id,) in rows]


def dying(connection: sqlite3.Connection) -> list[bytes]:
    """Return the ids of keys whose other halves are to be destroyed."""
    if not schema.has_user_keys(connection):
        return []
    rows = connection.execute(f"SELECT id FROM user_key WHERE dead = {DYING} ORDER BY id").fetchall()
    return [id for (id,) in rows]


def settle(connection: sqlite3.Connection, ids: Sequence[bytes]) -> None:
    """Record that the other halves of keys were destroyed; the caller holds the write transaction."""
    for id in ids:
        connection.execute("DELETE FROM user_key WHERE id = ? AND tenant = ''", (id,))
        connection.execute(f"UPDATE user_key SET dead = {DESTROYED} WHERE id = ? AND dead = {DYING}", (id,))


def has_content(connection: sqlite3.Connection, tenant: str, user: str) -> bool:
    """Whether the file has data of a user that a key seals, or will: documents, queries, rows of layers above."""
    for t in schema.all_tables(connection):
        if connection.execute(
            f"SELECT 1 FROM {t.scope} WHERE tenant = ? AND user = ? AND documents > 0 LIMIT 1", (tenant, user)
        ).fetchone():
            return True
    return registry.has_content(connection, tenant, user)
