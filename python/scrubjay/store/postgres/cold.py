"""The cold tier: the rows of unused scopes, as one object per scope in an object store.

Unlike the object of an image, such an object is the truth: it is written and read back before the transaction
that deletes the rows and records it in `sj_cold`. Reads of a cold scope read its object instead of the table, and
change nothing. The first write to its documents restores the rows, under the lock of its home. Neither freezing
nor thawing changes the version of the scope, so partitions in memory stay current.

After thawing the object is kept for a while (`Objects.keep_seconds`), for a lagging standby, or a backup, in
which the scope is still cold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, StoreError
from scrubjay.store.keys.opening import Opening
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.frozen_format import thawed_rows
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.last_use import today
from scrubjay.store.postgres.loading import Loaded, insert
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.server import IDLE_SECONDS

MAX_BYTES = 256 << 20  # of the rows of one scope; larger ones are not frozen
_PLACE = "home = %s AND collection = %s AND scope = %s"


class Cold(NamedTuple):
    """The location of a frozen scope's rows: the hash of the object, its size, the version and the number of
    documents."""

    object: bytes
    n_bytes: int
    version: int
    documents: int


OF_SCOPE = "k.home = s.home AND k.collection = s.collection AND k.scope = s.key"
"""The SQL condition that `sj_cold k` belongs to the scope `sj_scope s`."""


def expired_sql(condition: str, *, expiries: str = "expiries") -> str:
    """Return the SQL expression for the number of documents of frozen scopes (`sj_cold k`) that have expired by a
    time, its last parameter.

    `expiries`: of all documents, or "vector_expiries": of those that have a vector.
    """
    return (
        f"(SELECT count(*) FROM sj_cold k CROSS JOIN LATERAL unnest(k.{expiries}) AS e(at) "
        f"WHERE {condition} AND k.thawed_at IS NULL AND e.at <= %s)"
    )


def fetched(objects: ObjectStore | None, scope: Scope, cold: Cold, place: str) -> bytes:
    """Return the object of a frozen scope; see :meth:`scrubjay.store.postgres.cold_reading.ColdRows.rows`."""
    if objects is None:
        raise StoreError(
            f"{scope!r} is in the cold tier: open the index with the objects=... that it was frozen with: {place}"
        )
    if len(cold.object) != 32 or not 0 < cold.n_bytes <= 2 * MAX_BYTES:
        raise CorruptIndexError("it refers to an invalid object", scope=scope)
    try:
        return objects.fetch(bytes(cold.object), cold.n_bytes)
    except CorruptIndexError as error:
        raise CorruptIndexError(f"its rows are in the cold tier, and {error.what}", scope=scope) from None


def opened(data: bytes, scope: Scope, collection: int, cold: Cold, opening: Opening) -> list[Loaded]:
    """Return the rows of a frozen scope from its object."""
    return thawed_rows(data, scope, collection, cold.version, cold.documents, opening)


# ---------------------------------------------------------------------- thawing


def thaw(
    batch: Batch,
    key: Key,
    collection: int,
    objects: ObjectStore | None,
    opening: Opening,
    place: str,
    ahead: Mapping[bytes, bytes],
) -> None:
    """Restore the rows of a frozen scope; its home is locked.

    Args:
        batch: of the transaction.
        key: of the scope.
        collection: its number.
        objects: the store of its object.
        opening: the keys of the store.
        place: of the database, for messages.
        ahead: objects that were fetched before anything was locked, by their hashes.
    """
    where = (key.home, collection, key.number)
    found = batch.ask(
        f"SELECT object, n_bytes, version, documents FROM sj_cold WHERE {_PLACE} AND thawed_at IS NULL",
        where,
        home=key.home,
    )
    if not found:
        raise CorruptIndexError("its rows are in the cold tier, and their object is unknown", scope=key.scope)
    cold = Cold(*found[0])
    data = ahead.get(bytes(cold.object)) or None
    if data is None:
        batch.ask("SET LOCAL idle_in_transaction_session_timeout = 0")
        data = fetched(objects, key.scope, cold, place)
        batch.add(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}")
    rows = opened(data, key.scope, collection, cold, opening)
    insert(batch, key.home, collection, rows)
    batch.add(
        "UPDATE sj_scope SET cold = NULL, used = %s WHERE home = %s AND collection = %s AND key = %s",
        (today(), *where),
        home=key.home,
    )
    batch.add(
        f"UPDATE sj_cold SET thawed_at = %s WHERE {_PLACE} AND thawed_at IS NULL",
        (int(time.time()), *where),
        home=key.home,
    )


def purge(ask: Callable[..., list[tuple[Any, ...]]], writing: Callable[..., Any], keep_seconds: int) -> None:
    """Delete the references to objects of scopes that were thawed at least `keep_seconds` ago; the objects are
    then removed.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        writing: begins a transaction.
        keep_seconds: how long they are kept.
    """
    latest = int(time.time()) - keep_seconds
    homes = ask(
        "SELECT DISTINCT home FROM sj_cold WHERE thawed_at <= %s ORDER BY home", (latest,), home=EVERY_HOME
    )
    for (home,) in homes:
        with writing("compacting", scopes=()) as transaction:
            transaction.lock_homes([home])
            gone = transaction.batch.ask(
                "DELETE FROM sj_cold WHERE home = %s AND thawed_at <= %s RETURNING object",
                (home, latest),
                home=home,
            )
            transaction.dropped.extend(bytes(digest) for (digest,) in gone)
