"""Home assignment of layer rows, and the migration of older databases.

A row that belongs to a user is in the home of that user, like the user's documents; the layer lists these tables
(`Layer.spread`). Rows without a user, and rows about a tenant as a whole even if they name users (observations,
legal holds, deletion events), are in the tenant's own home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scrubjay._native import Scope
from scrubjay.base.errors import EncryptionError, StoreFormatError
from scrubjay.store.postgres.dialect import Layer, Statement
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import LAYER_TABLES

if TYPE_CHECKING:
    from scrubjay.store.postgres.collection import Collection
    from scrubjay.store.postgres.transaction import PostgresTransaction

MOVED = 4
"""The format of a memory's tables since which the rows of users are in their homes."""
_USERS_AT_ONCE = 100


def homes_of(made: Statement, given: Mapping[str, Any], homes: Homes) -> Sequence[str] | None:
    """Return the homes that a statement is about; None: it does not specify them.

    Args:
        made: the statement.
        given: its original parameters.
        homes: the assignment of scopes to homes.
    """
    if made.home is None:
        return None
    tenant = given[made.home] if made.home else ""
    own = homes.own(tenant)
    if not tenant or not made.is_spread or made.user == "":
        return [own]
    if made.user is None:
        return homes.all(tenant) if homes.user_homes else [own]
    of_user = homes.of_user(tenant, given[made.user])
    return [own, of_user] if made.with_shared and of_user != own else [of_user]


def _tables(layer: Layer) -> list[str]:
    """Return the tables with a column of users, followed by those whose rows are in the home of another table's
    row."""
    named = sorted(layer.spread - layer.runs.keys())
    return [f"sj_{table}" for table in (*named, *sorted(layer.runs))]


def misplaced(collection: Collection, layer: Layer) -> list[str]:
    """Return the problems with the homes of a layer's rows; call in a snapshot."""
    problems = []
    for table in _tables(layer):
        if table.removeprefix("sj_") in layer.runs:
            column, of, key = layer.runs[table.removeprefix("sj_")]
            (n,) = collection.ask(
                f"SELECT count(*) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM sj_{of} r WHERE r.home = t.home "
                f"AND r.{key} = t.{column})",
                home=EVERY_HOME,
            )[0]
            if n:
                problems.append(f"{table}: {n} rows without their row of {of} in the same home")
            continue
        found = collection.ask(f"SELECT DISTINCT home, tenant, usr FROM {table}", home=EVERY_HOME)
        for home, tenant, user in found:
            if (right := collection.homes.of_user(tenant, user)) != home:
                problems.append(f"{table} of {tenant!r}, {user!r}: expected the home {right!r}, got {home!r}")
    return problems


def move_rows(store: Any, layer: Layer) -> int:
    """Move the rows of users from their tenants' own homes, where versions before format 4 stored them; return
    the number of users moved.

    Each transaction moves some users with all their rows, so after a crash the next process resumes. Each
    statement names one home.

    Args:
        store: the collection of the layer (:class:`scrubjay.store.postgres.store.PostgresStore`).
        layer: the description of its tables.

    Raises:
        StoreFormatError: the required key of an encrypted tenant is not available.
    """
    n_moved = 0
    while users := _users_to_move(store, layer):
        tenant = users[0][0]
        some = [user for of, user in users if of == tenant][:_USERS_AT_ONCE]
        try:
            with store.writing("moving the rows of users into their homes") as transaction:
                transaction.lock([tenant])
                for user in some:
                    transaction.lock([Scope(tenant, user=user)])
                    _move(transaction, store.homes, layer, tenant, user)
        except EncryptionError as error:
            raise StoreFormatError(
                f"path: the rows of users of {tenant!r} are to be moved into their homes, which needs the tenant's "
                f"key; open it once with that: {store.place}: {error}"
            ) from error
        n_moved += len(some)
    return n_moved


def _users_to_move(store: Any, layer: Layer) -> list[tuple[str, str]]:
    """Return the tenants and users with rows in a tenant's own home."""
    homes = store.homes
    if not homes.user_homes:
        return []
    found: set[tuple[str, str]] = set()
    for table in sorted(layer.spread - layer.runs.keys()):
        rows = store.ask(
            f"SELECT DISTINCT home, tenant, usr FROM sj_{table} WHERE usr <> ''", home=EVERY_HOME
        )
        found.update((tenant, user) for home, tenant, user in rows if home == homes.own(tenant))
    return sorted(found)


def _move(transaction: PostgresTransaction, homes: Homes, layer: Layer, tenant: str, user: str) -> None:
    """Move the rows of a user."""
    batch, own, right = transaction.batch, homes.own(tenant), homes.of_user(tenant, user)
    names = {"own": own, "tenant": tenant, "user": user}
    of_user = "home = %(own)s AND tenant = %(tenant)s AND usr = %(user)s"
    for table in reversed(_tables(layer)):  # rows that refer to a run are moved before the run
        condition = of_user
        if (reference := layer.runs.get(table.removeprefix("sj_"))) is not None:
            column, of, key = reference
            condition = f"home = %(own)s AND {column} IN (SELECT {key} FROM sj_{of} WHERE {of_user})"
        rows = batch.ask(f"DELETE FROM {table} WHERE {condition} RETURNING *", names, home=own)
        moved = [(right, *row[1:]) for row in rows]
        marks = ", ".join(["%s"] * len(moved[0])) if moved else ""
        for row in moved:
            batch.add(f"INSERT INTO {table} VALUES ({marks})", row, home=right)
        if table in LAYER_TABLES and transaction.sealer.is_encrypted(tenant):
            transaction.note_rows(-1, table, rows, own)
            transaction.note_rows(1, table, moved, right)
