"""The order in which writes become visible, for readers that merge several homes by the numbers of writes.

Within a home numbers ascend in the order of commits. Across homes they do not: a transaction that began earlier
may commit later. So each transaction of a layer holds a shared advisory lock whose key is the server's time
before it locked any home; it writes no smaller number. Numbers smaller than the keys of all such locks, and than
the server's time before these were read, are settled: no smaller number will appear. (A server releases locks
after the commit is visible. A time taken after reading the locks would be wrong: in between a transaction may
take its lock and its numbers.)
"""

from __future__ import annotations

_ANYBODY, _EVERYBODY = (
    0x5A0,
    0x5A1,
)  # the upper 11 bits of the key: for rows of a home, and for rows that belong to all tenants
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
# before any part of the statement is executed
_BEFORE = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"


def settling(everybody: bool) -> str:
    """Return the statement that begins a transaction's writes.

    Args:
        everybody: the transaction writes rows that belong to all tenants.
    """
    kind = _EVERYBODY if everybody else _ANYBODY
    return f"SELECT pg_advisory_xact_lock_shared(({kind}::bigint << 52) | {_NOW})"


SETTLED = (
    f"SELECT {_BEFORE}, min(l.key & ((1::bigint << 52) - 1)) FILTER (WHERE l.key >> 52 = {_ANYBODY}), "
    f"min(l.key & ((1::bigint << 52) - 1)) FILTER (WHERE l.key >> 52 = {_EVERYBODY}) "
    "FROM (SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory' "
    "AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) l"
)
"""The query for (time before it, smallest key of any transaction, smallest key of those that write for all
tenants)."""
