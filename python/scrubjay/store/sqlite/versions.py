"""Finding the last write, and the scopes written to since a version.

Every write has a number, the version of its scope: that of its last row, of its last tombstone, or, where rows
were deleted without one (an erasure, a compaction), the scope's horizon. So the last write is the maximum of
three numbers, each at the end of a B-tree, and later writes are found at the ends of these trees. An index of
versions, which each write would have to update as well, is not needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from scrubjay.store.rows.decoding import integer
from scrubjay.store.sqlite.connections import first_row, rows_of
from scrubjay.store.sqlite.schema import Tables

UNFOUND = (
    "version > max(horizon, "
    "ifnull((SELECT max(d.seq) FROM document{s} d WHERE d.scope = scope{s}.key), 0), "
    "ifnull((SELECT max(g.seq) FROM tombstone{s} g WHERE g.scope = scope{s}.key), 0))"
)
"""The SQL condition on a row of scopes that its last write is in none of the three places."""

_HORIZONS = "horizon > 0 AND typeof(horizon) = 'integer'"  # matches the partial index of horizons


def last_version(connection: sqlite3.Connection, t: Tables) -> int:
    """Return the number of the last write to a collection; 0: it was never written to.

    Raises:
        CorruptIndexError: the number is invalid.
    """
    row = first_row(
        connection,
        f"SELECT max(ifnull((SELECT max(seq) FROM {t.document}), 0), "
        f"ifnull((SELECT max(seq) FROM {t.tombstone}), 0), "
        f"ifnull((SELECT horizon FROM {t.scope} WHERE {_HORIZONS} ORDER BY horizon DESC LIMIT 1), 0))",
    )
    return integer(None if row is None else row[0], "the last version")


def scopes_since(connection: sqlite3.Connection, t: Tables, version: int) -> Sequence[tuple[Any, ...]]:
    """Return (tenant, user, agent, version) of the scopes written to after a version, as stored.

    The cost is proportional to the rows written since, or to the number of scopes if that is smaller.
    """
    columns = "tenant, user, agent, version"
    n_written = last_version(connection, t) - version
    if n_written <= 0:
        return ()
    if n_written > _FEW:
        row = first_row(connection, f"SELECT max(key) FROM {t.scope}")
        if row is None or row[0] is None or n_written > row[0]:
            return rows_of(connection, f"SELECT {columns} FROM {t.scope} WHERE version > ?", (version,))
    return rows_of(
        connection,
        f"SELECT {columns} FROM {t.scope} WHERE key IN (SELECT scope FROM {t.document} WHERE seq > ? "
        f"UNION ALL SELECT scope FROM {t.tombstone} WHERE seq > ? "
        f"UNION ALL SELECT key FROM {t.scope} WHERE {_HORIZONS} AND horizon > ?)",
        (version, version, version),
    )


_FEW = 100  # writes; up to this many, examining each costs less than counting the scopes
