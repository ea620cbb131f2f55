"""Two roles for one database: one owns and migrates the tables, the other serves with the least privileges."""

from __future__ import annotations

from typing import Any, NamedTuple

from scrubjay.base.errors import StoreError
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.address import Address, psycopg_module
from scrubjay.store.postgres.errors import translated
from scrubjay.store.postgres.keys import checked_user_homes

_OURS = (
    "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
    "AND c.relkind IN ('r', 'p') AND c.relname LIKE 'sj\\_%' ORDER BY c.relname"
)


class Roles(NamedTuple):
    """The result: the roles that were created (without a password), the schema and its tables."""

    made: list[str]
    schema: str
    tables: list[str]


def make_roles(url: str, *, migrate: str, serve: str, user_homes: int | None = None) -> Roles:
    """Create two roles if they are missing; one gets the tables, the other the privileges to use them.

    Tables are created or migrated if necessary. Idempotent.

    Args:
        url: of the database, as a role that may create roles and change the tables' owner.
        migrate: the role that owns the tables and creates new ones.
        serve: the role of serving processes: it reads and writes rows, and changes no table.
        user_homes: the number of homes for the users of each tenant, if the tables are created; None: no homes of
            their own.

    Raises:
        StoreError: a privilege is missing; or a role is not bound by row-level security.
        ValueError: both are the same role.
    """
    if not migrate or not serve or migrate == serve:
        raise ValueError(
            f"migrate, serve: expected the names of two different roles, got {migrate!r}, {serve!r}"
        )
    n_homes = checked_user_homes(user_homes)
    address, psycopg = Address(url), psycopg_module()
    with (
        translated(address.place, "making roles"),
        psycopg.connect(address.url, autocommit=True) as connection,
        connection.transaction(),
    ):
        (here,) = connection.execute("SELECT current_schema()").fetchone()
        if here is None:
            raise StoreError(f"making roles: no schema of the search_path exists: {address.place}")
        made = [role for role in (migrate, serve) if _make(connection, role, address.place)]
        if connection.execute("SELECT pg_has_role(%s, %s, 'MEMBER')", (serve, migrate)).fetchone()[0]:
            raise StoreError(f"serve: expected a role that is not a member of {migrate!r}, got {serve!r}")
        _give_tables(connection, here, migrate)
        connection.execute(_put("SET LOCAL ROLE {}", migrate))
        schema.prepare(connection, read_only=False, place=address.place, user_homes=n_homes)
        _grant(connection, here, migrate, serve)
        tables = [table for (table,) in connection.execute(_OURS).fetchall()]
    return Roles(made, here, tables)


def _put(statement: str, *names: str) -> Any:
    sql = psycopg_module().sql
    return sql.SQL(statement).format(*map(sql.Identifier, names))


def _make(connection: Any, role: str, place: str) -> bool:
    found = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (role,)
    ).fetchone()
    if found is None:
        connection.execute(_put("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB", role))
        return True
    if found[0]:
        raise StoreError(
            f"making roles: expected roles that row-level security binds, got {role!r}, a superuser or one with "
            f"BYPASSRLS: {place}"
        )
    return False


def _give_tables(connection: Any, here: str, migrate: str) -> None:
    psycopg = psycopg_module()
    with connection.transaction() as inner:
        connection.execute(
            _put("GRANT {} TO CURRENT_USER", migrate)
        )  # required for SET ROLE if the current user is not a superuser
        (is_super,) = connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if is_super:
            raise psycopg.Rollback(inner)
    connection.execute(_put("GRANT USAGE, CREATE ON SCHEMA {} TO {}", here, migrate))
    for (table,) in connection.execute(_OURS).fetchall():
        connection.execute(_put("ALTER TABLE {}.{} OWNER TO {}", here, table, migrate))


def _grant(connection: Any, here: str, migrate: str, serve: str) -> None:
    """As the owner, grant privileges on the existing tables, and on those that migrations will add."""
    for (table,) in connection.execute(_OURS).fetchall():
        connection.execute(_put("GRANT SELECT, INSERT, UPDATE, DELETE ON {}.{} TO {}", here, table, serve))
    connection.execute(
        _put(
            "ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA {} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {}",
            migrate,
            here,
            serve,
        )
    )
    # Only the migrating role may change the version of the tables; creating a collection updates the last number.
    connection.execute(_put("REVOKE INSERT, UPDATE, DELETE ON {}.sj_schema FROM {}", here, serve))
    connection.execute(_put("GRANT UPDATE (last_collection) ON {}.sj_schema TO {}", here, serve))
    connection.execute("RESET ROLE")
    connection.execute(_put("GRANT USAGE ON SCHEMA {} TO {}", here, serve))
