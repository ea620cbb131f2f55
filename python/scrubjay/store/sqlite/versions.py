"""Which write was the last, and which scopes were written to since another one.

Every write has a number, the version of its scope: that of its last row, of its last tombstone, or where rows went
without one (an erasure, a compaction) the scope's horizon. So the last write is the greatest of three numbers, each at
the end of a tree, and what came after a version is behind it in these trees: no index of versions is needed, which each
write would have to change as well.
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
"""Of a row of scopes: its last write is in none of the three places."""

_HORIZONS = "horizon > 0 AND typeof(horizon) = 'integer'"  # the index of horizons has those above 0


def last_version(connection: sqlite3.Connection, t: Tables) -> int:
    """Return the number of the last write to a collection; 0: there was none.

    Raises:
        CorruptIndexError: it cannot be one.
    """
    found = first_row(
        connection,
        f"SELECT max(ifnull((SELECT max(seq) FROM {t.document}), 0), "
        f"ifnull((SELECT max(seq) FROM {t.tombstone}), 0), "
        f"ifnull((SELECT horizon FROM {t.scope} WHERE {_HORIZONS} ORDER BY horizon DESC LIMIT 1), 0))",
    )
    return integer(None if found is None else found[0], "the last version")


def scopes_since(connection: sqlite3.Connection, t: Tables, version: int) -> Sequence[tuple[Any, ...]]:
    """Return (tenant, user, agent, version) of the scopes that were written to after a version, as they stand in the
    file.

    It takes time for each row that was written since, or for each scope if they are fewer.
    """
    columns = "tenant, user, agent, version"
    n_written = last_version(connection, t) - version
    if n_written <= 0:
        return ()
    if n_written > _FEW:
        found = first_row(connection, f"SELECT max(key) FROM {t.scope}")
        if found is None or found[0] is None or n_written > found[0]:
            return rows_of(connection, f"SELECT {columns} FROM {t.scope} WHERE version > ?", (version,))
    return rows_of(
        connection,
        f"SELECT {columns} FROM {t.scope} WHERE key IN (SELECT scope FROM {t.document} WHERE seq > ? "
        f"UNION ALL SELECT scope FROM {t.tombstone} WHERE seq > ? "
        f"UNION ALL SELECT key FROM {t.scope} WHERE {_HORIZONS} AND horizon > ?)",
        (version, version, version),
    )


_FEW = 100  # writes, of which looking at each costs less than asking how many scopes there are
