"""The second wall between tenants: row-level security on every table that has a home.

The first wall are the conditions of our statements. The second one is the server's: each transaction says whose rows it
is about (`scrubjay.home`), and no other row exists for it, so a statement that forgets its condition finds, changes and
deletes nothing of others. What is about all tenants (the feed, counts, exports) says so, too (`scrubjay.across`), and
may only read. The tables' owner is held to it as well; a superuser and a role with BYPASSRLS are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final


class _Every(Enum):
    """The rows of all tenants, for reading."""

    HOME = "every"


EVERY_HOME: Final = _Every.HOME
"""What a statement says that reads the rows of all tenants."""
NO_HOME: Final = ""
"""What one says that needs no tenant's rows; no tenant has an empty name."""
Home = str | _Every

ACROSS = "sj_across"
"""The policy that shows the rows of all tenants to what says that it reads them."""

_SEEING = "SELECT set_config('scrubjay.home', %s, true), set_config('scrubjay.across', %s, true)"

# Functions instead of subqueries, which Citus refuses in policies.
_POLICIES = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY sj_home ON {table} USING (home = current_setting('scrubjay.home', true));
CREATE POLICY {across} ON {table} FOR SELECT USING (current_setting('scrubjay.across', true) = 'on');
"""


def seeing(home: Home) -> tuple[str, Sequence[Any]]:
    """Return the statement after which a transaction sees the rows of this home only.

    >>> seeing("acme")[1], seeing(EVERY_HOME)[1]
    (('acme', 'off'), ('', 'on'))
    """
    return _SEEING, ("", "on") if isinstance(home, _Every) else (home, "off")


def seeing_and(home: Home, call: str, parameters: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the statement that does the same, and calls a function afterwards."""
    query, values = seeing(home)
    return f"{query}, {call}", (*values, *parameters)


def unprotected(connection: Any) -> list[str]:
    """Return the tables of the index that have a home and no wall yet, in alphabetical order."""
    found = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'home' "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') "
        "AND c.relname LIKE 'sj\\_%' AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname"
    ).fetchall()
    return [table for (table,) in found]


def protect(connection: Any) -> list[str]:
    """Raise the wall on every table that needs one; in the transaction that made the tables.

    Only their owner may. Tables are found in the catalog, so that a new one has it without being named here. Returns
    the tables that needed one.
    """
    tables = unprotected(connection)
    for table in tables:
        connection.execute(_POLICIES.format(table=table, across=ACROSS))
    return tables


def show_to_everybody(connection: Any, table: str) -> None:
    """Let every home read the rows of the home "": what belongs to all tenants, and to none."""
    connection.execute(f"CREATE POLICY sj_everybody ON {table} FOR SELECT USING (home = '')")
