"""The keys of users in a database: the table `sj_user_key`, and the data that a user owns in a home.

:mod:`scrubjay.store.keys.user_keys` describes their purpose. A key is read, created and marked as dead under the
lock of its home, so that two processes that write data of a new user agree on one key, and none writes with a key
that an erasure is about to destroy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.user_keys import StoredUserKey
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.row_security import EVERY_HOME

DYING, DESTROYED = 1, 2
"""Values of `sj_user_key.dead` other than 0: the half in the key store is to be destroyed; it was destroyed."""

_HOME_OF_NOBODY = ""  # home of dead keys of tenants of whom nothing is left


class DatabaseUserKeys:
    """The keys of users, as visible to the calling thread.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        homes: the assignment of users to homes.
    """

    def __init__(self, ask: Callable[..., list[tuple[Any, ...]]], homes: Homes) -> None:
        self._ask = ask
        self._homes = homes

    def of(self, tenant: str, user: str) -> StoredUserKey | None:
        return self._one("usr = %s AND dead = 0", tenant, user, self._homes.of_user(tenant, user))

    def by_id(self, tenant: str, id: bytes) -> StoredUserKey | None:
        return self._one("id = %s AND dead = 0", tenant, id, None)

    def any(self, tenant: str) -> bool:
        return "\0" not in tenant and bool(self._asked("SELECT 1", "true", tenant, (), None, " LIMIT 1"))

    def _asked(
        self,
        select: str,
        condition: str,
        tenant: str,
        values: tuple[Any, ...],
        home: str | None,
        rest: str = "",
    ) -> list[tuple[Any, ...]]:
        """Query a home; None: every home of a tenant, since the user is unknown."""
        if home is None and not self._homes.user_homes:
            home = tenant
        if home is not None:
            query = f"{select} FROM sj_user_key WHERE home = %s AND {condition}{rest}"
            return self._ask(query, (home, *values), home=home)
        query = f"{select} FROM sj_user_key WHERE home = ANY(%s) AND {condition}{rest}"
        return self._ask(query, (self._homes.all(tenant), *values), home=EVERY_HOME)

    def _one(self, condition: str, tenant: str, value: str | bytes, home: str | None) -> StoredUserKey | None:
        if "\0" in tenant or (isinstance(value, str) and "\0" in value):
            return None
        found = self._asked("SELECT id, usr, half", condition, tenant, (value,), home)
        if not found:
            return None
        id, user, half = found[0]
        if half is None:
            raise CorruptIndexError(f"the key of a user of tenant {tenant!r} was changed in the database")
        return StoredUserKey(bytes(id), user, bytes(half))

    def buried(self, tenant: str, whose: bytes) -> list[tuple[bytes, int, bool]]:
        return self._told("whose = %s AND dead > 0", tenant, whose, None)

    def living(self, tenant: str, user: str) -> list[tuple[bytes, int, bool]]:
        home = self._homes.of_user(tenant, user)
        return [] if "\0" in user else self._told("usr = %s AND dead = 0", tenant, user, home)

    def _told(
        self, condition: str, tenant: str, value: str | bytes, home: str | None
    ) -> list[tuple[bytes, int, bool]]:
        found = self._asked(
            "SELECT id, made_at, whole", condition, tenant, (value,), home, " ORDER BY made_at, id"
        )
        return [(bytes(id), at, whole) for id, at, whole in found]


def add_key(batch: Batch, home: str, key: StoredUserKey, *, whole: bool, now: int) -> None:
    """Write a new key of a locked home."""
    batch.add(
        "INSERT INTO sj_user_key(home, id, usr, half, made_at, whole, dead) VALUES (%s, %s, %s, %s, %s, %s, 0)",
        (home, key.id, key.user, key.sealed, now, whole),
        home=home,
    )


def bury(batch: Batch, home: str, user: str, whose: bytes | None) -> None:
    """Mark the key of a user of a locked home as dead, with `whose` in place of the name."""
    batch.add(
        f"UPDATE sj_user_key SET usr = '', half = NULL, dead = {DYING}, whose = %s WHERE home = %s AND usr = %s "
        "AND dead = 0",
        (whose, home, user),
        home=home,
    )


def bury_all(batch: Batch, home: str) -> bool:
    """Mark the keys of all users of a locked home as dead, and erase all names from them; return whether there
    are any."""
    found = batch.ask(
        "DELETE FROM sj_user_key WHERE home = %s RETURNING id, made_at, whole, dead", (home,), home=home
    )
    to_destroy = [row[:3] for row in found if row[3] != DESTROYED]
    for id, made_at, whole in to_destroy:
        batch.add(
            "INSERT INTO sj_user_key(home, id, usr, made_at, whole, dead) "
            f"VALUES ('{_HOME_OF_NOBODY}', %s, '', %s, %s, {DYING})",
            (id, made_at, whole),
            home=_HOME_OF_NOBODY,
        )
    return bool(to_destroy)


def dying(ask: Callable[..., list[tuple[Any, ...]]]) -> list[tuple[str, bytes]]:
    """Return (home, id) of the keys whose halves in the key store are to be destroyed."""
    found = ask(f"SELECT home, id FROM sj_user_key WHERE dead = {DYING} ORDER BY home, id", home=EVERY_HOME)
    return [(home, bytes(id)) for home, id in found]


def settle(batch: Batch, keys: Iterable[tuple[str, bytes]]) -> None:
    """Record that the halves of keys in the key store were destroyed."""
    for home, id in keys:
        batch.add(
            "DELETE FROM sj_user_key WHERE home = %s AND id = %s"
            if home == _HOME_OF_NOBODY
            else f"UPDATE sj_user_key SET dead = {DESTROYED} WHERE home = %s AND id = %s AND dead = {DYING}",
            (home, id),
            home=home,
        )


_CONTENT = {
    "sj_feedback": "usr = %(user)s AND query IS NOT NULL",
    "sj_memory_preference": "usr = %(user)s",
    "sj_memory_fact": "usr = %(user)s",
    "sj_memory_episode": "usr = %(user)s",
    "sj_memory_rejection": "usr = %(user)s",
    "sj_memory_log": "tenant = %(tenant)s AND usr = %(user)s AND detail IS NOT NULL",
    "sj_memory_event": "(home, run) IN (SELECT home, key FROM sj_memory_run WHERE home = %(home)s "
    "AND tenant = %(tenant)s AND usr = %(user)s)",
}
"""Table -> the condition for a user's rows with values that a key seals."""


def has_content(batch: Batch, homes: Homes, tenant: str, user: str) -> bool:
    """Whether a tenant has data of a user that a key seals, or will: documents, queries, rows of layers above.
    The user's home is locked."""
    return "\0" not in user and any(
        _has_content(batch, home, tenant, user)
        for home in dict.fromkeys((homes.of_user(tenant, user), homes.own(tenant)))
    )


def _has_content(batch: Batch, home: str, tenant: str, user: str) -> bool:
    asked = {"home": home, "tenant": tenant, "user": user}
    documents = (
        "SELECT 1 FROM sj_collection c JOIN sj_scope s ON s.home = %(home)s AND s.collection = c.collection "
        "AND s.tenant = %(tenant)s AND s.usr = %(user)s WHERE s.cold IS NOT NULL OR EXISTS(SELECT 1 FROM sj_document d "
        "WHERE d.home = %(home)s AND d.home = s.home AND d.collection = s.collection AND d.scope = s.key) LIMIT 1"
    )
    if batch.ask(documents, asked, home=home):
        return True
    there = batch.ask(
        "SELECT n FROM unnest(%s::text[]) n WHERE to_regclass(n) IS NOT NULL", (list(_CONTENT),), home=home
    )
    return any(
        batch.ask(
            f"SELECT 1 FROM {table} WHERE home = %(home)s AND {_CONTENT[table]} LIMIT 1", asked, home=home
        )
        for (table,) in there
    )
