"""In which order writes become visible, for whoever reads what several homes wrote by the numbers of writes.

Within a home numbers ascend in the order of commits. Between homes they do not: a transaction that began earlier may
commit later. So each transaction of a layer holds a shared advisory lock whose key is the server's time before it took
the turn of any home, and no number that it writes is smaller. What is smaller than the keys of all such locks, and than
the server's time before they were looked at, is settled: nothing more comes before it. (A server releases locks after
what was committed can be seen. A time taken after the look would be wrong: between the two a transaction may take its
lock and its numbers.)
"""

from __future__ import annotations

_ANYBODY, _EVERYBODY = (
    0x5A0,
    0x5A1,
)  # the upper 11 bits of the key: for a home's own rows, for those of all tenants
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_BEFORE = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"  # before anything of the statement is done


def settling(everybody: bool) -> str:
    """Return the statement that begins a transaction's writes.

    Args:
        everybody: of rows that belong to all tenants.
    """
    kind = _EVERYBODY if everybody else _ANYBODY
    return f"SELECT pg_advisory_xact_lock_shared(({kind}::bigint << 52) | {_NOW})"


SETTLED = (
    f"SELECT {_BEFORE}, min(l.key & ((1::bigint << 52) - 1)) FILTER (WHERE l.key >> 52 = {_ANYBODY}), "
    f"min(l.key & ((1::bigint << 52) - 1)) FILTER (WHERE l.key >> 52 = {_EVERYBODY}) "
    "FROM (SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory' "
    "AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) l"
)
"""The question for (time before it, smallest key of any transaction, that of those that write for all tenants)."""
