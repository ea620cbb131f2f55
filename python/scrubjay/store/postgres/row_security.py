"""Row-level security on every table with a home: the second wall between tenants.

The first wall are the conditions of our statements. The second one is enforced by the server: each transaction
sets the home that it is about (`scrubjay.home`) and sees no other rows, so a statement without its condition
cannot read, change or delete rows of other tenants. Reads across tenants (the feed, counts, exports) are declared
as well (`scrubjay.across`), and may only read. The tables' owner is bound too; superusers and roles with
BYPASSRLS are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final


class _Every(Enum):
    """The rows of all tenants, for reading."""

    HOME = "every"


EVERY_HOME: Final = _Every.HOME
"""The home of statements that read the rows of all tenants."""
NO_HOME: Final = ""
"""The home of statements that need no tenant's rows; no tenant has an empty name."""
Home = str | _Every

ACROSS = "sj_across"
"""The policy that shows the rows of all tenants to transactions that declare reading them."""

_SEEING = "SELECT set_config('scrubjay.home', %s, true), set_config('scrubjay.across', %s, true)"

# Functions, because Citus rejects subqueries in policies.
_POLICIES = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY sj_home ON {table} USING (home = current_setting('scrubjay.home', true));
CREATE POLICY {across} ON {table} FOR SELECT USING (current_setting('scrubjay.across', true) = 'on');
"""


def seeing(home: Home) -> tuple[str, Sequence[Any]]:
    """Return the statement that makes only the rows of this home visible to a transaction.

    >>> seeing("acme")[1], seeing(EVERY_HOME)[1]
    (('acme', 'off'), ('', 'on'))
    """
    return _SEEING, ("", "on") if isinstance(home, _Every) else (home, "off")


def seeing_and(home: Home, call: str, parameters: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the statement that does the same, and then calls a function."""
    query, values = seeing(home)
    return f"{query}, {call}", (*values, *parameters)


def unprotected(connection: Any) -> list[str]:
    """Return the tables of the index that have a home and no row-level security yet, in alphabetical order."""
    found = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'home' "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') "
        "AND c.relname LIKE 'sj\\_%' AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname"
    ).fetchall()
    return [table for (table,) in found]


def protect(connection: Any) -> list[str]:
    """Enable row-level security on every table that needs it, in the transaction that created the tables; return
    these tables.

    Only their owner may do so. Tables are found in the catalog, so that new ones need not be named here.
    """
    tables = unprotected(connection)
    for table in tables:
        connection.execute(_POLICIES.format(table=table, across=ACROSS))
    return tables


def show_to_everybody(connection: Any, table: str) -> None:
    """Make the rows of home "", which belong to all tenants, readable from every home."""
    connection.execute(f"CREATE POLICY sj_everybody ON {table} FOR SELECT USING (home = '')")
