"""Migration of files of older formats, step by step inside one transaction.

Each step is written out as it was when its format was current, so later formats do not change it. No key is
requested: sealed values stay as they are, and the digests of encrypted tenants stay valid.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.sqlite.schema import (
    COLLECTIONS,
    FLAGS,
    FORMAT,
    SEALED_TABLES,
    Tables,
    all_tables,
    missing_tables,
    run_script,
    version_of,
)

# The sealed columns of memory in files of format 2, which did not record them; later formats do.
_MEMORY_2: Mapping[str, Mapping[str, object]] = {
    "memory_policy": {"bound": ["id", "key", "version"], "sealed": ["text", "place"]},
    "memory_preference": {"bound": ["id", "user", "key"], "sealed": ["text", "place"]},
    "memory_fact": {
        "bound": ["id", "user", "agent"],
        "sealed": ["content", "subject", "predicate", "evidence", "metadata", "place"],
        "hashes": ["hash", "topic"],
    },
    "memory_episode": {
        "bound": ["id", "user", "agent"],
        "sealed": ["summary", "outcome", "task_type", "steps", "artifacts", "metadata", "place"],
        "hashes": ["hash"],
    },
    "memory_rejection": {
        "key": ["number"],
        "bound": ["number", "user", "agent"],
        "sealed": ["reason", "content"],
    },
    "memory_observation": {"key": ["hash"], "hashes": ["hash"], "marker": "memory_sealed"},
    "memory_log": {
        "key": ["number"],
        "bound": ["number"],
        "sealed": ["detail"],
        "owner": [
            ["record", table, "id"]
            for table in ("memory_policy", "memory_preference", "memory_fact", "memory_episode")
        ],
        "counted": False,
    },
    "memory_event": {
        "key": ["run", "seq"],
        "bound": ["run", "seq"],
        "form": "dots",
        "sealed": ["author", "content", "data"],
        "empty": True,
        "owner": [["run", "memory_run", "key"]],
    },
}
_USUAL: Mapping[str, object] = {
    "key": ["id"],
    "bound": [],
    "form": "list",
    "sealed": [],
    "empty": False,
    "hashes": [],
    "owner": [],
    "counted": True,
    "marker": None,
}


def _count_vectors(connection: sqlite3.Connection) -> None:
    """Format 3: scopes count their vectors and have digests; the file records the sealed columns of other tables."""
    for t in all_tables(connection):
        connection.execute(f"ALTER TABLE {t.scope} ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0")
        connection.execute(f"ALTER TABLE {t.scope} ADD COLUMN digest BLOB")
        counts = connection.execute(
            f"SELECT count(*), d.scope FROM {t.vector} v JOIN {t.document} d ON d.seq = v.seq GROUP BY d.scope"
        ).fetchall()
        connection.executemany(f"UPDATE {t.scope} SET vectors = ? WHERE key = ?", counts)
    run_script(connection, SEALED_TABLES)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_sealed'").fetchone() is not None:
        connection.executemany(
            "INSERT INTO sealed_table(name, rules) VALUES (?, ?)",
            [(name, json.dumps({**_USUAL, **rules})) for name, rules in _MEMORY_2.items()],
        )


# Documents of format 4: the key is (id, scope); before it was the id alone.
_DOCUMENT_4 = """
CREATE TABLE {new}(
  seq INTEGER PRIMARY KEY,
  id NOT NULL,
  scope INTEGER NOT NULL,
  text TEXT NOT NULL,
  payload BLOB,
  created_at INTEGER, updated_at INTEGER NOT NULL, expires_at INTEGER,
  hash BLOB NOT NULL,
  UNIQUE(id, scope));
INSERT INTO {new}(seq, id, scope, text, payload, created_at, updated_at, expires_at, hash)
  SELECT seq, id, scope, text, payload, created_at, updated_at, expires_at, hash FROM {document} ORDER BY seq;
DROP TABLE {document};
ALTER TABLE {new} RENAME TO {document};
CREATE INDEX document_scope{s} ON {document}(scope);
CREATE INDEX document_expiry{s} ON {document}(scope, expires_at) WHERE expires_at IS NOT NULL;
"""

# A note names its document's scope. The digests of format 3, which cannot be recomputed without the keys, do not
# cover that column: such notes are not `bound`.
_FEEDBACK_4 = """
ALTER TABLE feedback{s} ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feedback{s} ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
UPDATE feedback{s} SET scope = ifnull((SELECT d.scope FROM {document} d WHERE d.id = feedback{s}.id), 0);
DROP INDEX IF EXISTS feedback_id{s};
CREATE INDEX feedback_id{s} ON feedback{s}(id, scope);
"""


def _key_by_scope(connection: sqlite3.Connection) -> None:
    """Format 4: the key of a document is its scope and its id, so an id may occur in several scopes."""
    for t in all_tables(connection):
        if t.document in missing_tables(connection, t):
            continue  # opening that collection reports it; the others are migrated
        if len(connection.execute(f"PRAGMA index_info(sqlite_autoindex_{t.document}_1)").fetchall()) != 1:
            raise CorruptIndexError("user_version: 3, but the tables are those of a later format")
        names = {"new": f"{t.document}_new", "document": t.document, "s": t.suffix}
        run_script(connection, _DOCUMENT_4.format(**names))
        if _has_feedback(connection, t):
            run_script(connection, _FEEDBACK_4.format(**names))


# The index of versions and the count of all documents changed with each write, and are derived now: the count
# from the rows of scopes, the last write of a scope from its rows, tombstones and horizon. Where a repair removed
# documents without a tombstone, the horizon is set to the version.
_VERSIONS_5 = """
DROP INDEX IF EXISTS scope_version{s};
CREATE INDEX scope_horizon{s} ON {scope}(horizon) WHERE horizon > 0;
UPDATE {scope} SET horizon = version WHERE typeof(version) = 'integer' AND version > max(horizon,
  ifnull((SELECT max(d.seq) FROM {document} d WHERE d.scope = {scope}.key), 0),
  ifnull((SELECT max(g.seq) FROM {tombstone} g WHERE g.scope = {scope}.key), 0));
DELETE FROM {meta} WHERE name = 'documents';
"""


def _find_versions(connection: sqlite3.Connection) -> None:
    """Format 5: each write changes fewer pages."""
    for t in all_tables(connection):
        if set(missing_tables(connection, t)) & {t.scope, t.document, t.tombstone, t.meta}:
            continue  # opening that collection reports it; the others are migrated
        names = {"scope": t.scope, "document": t.document, "tombstone": t.tombstone, "meta": t.meta}
        run_script(connection, _VERSIONS_5.format(**names, s=t.suffix))


def _has_feedback(connection: sqlite3.Connection, t: Tables) -> bool:
    name = f"feedback{t.suffix}"
    cursor = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return cursor.fetchone() is not None


# Format n -> the step to format n + 1: statements, or a function.
_MIGRATIONS: Mapping[int, str | Callable[[sqlite3.Connection], None]] = {
    1: COLLECTIONS,
    2: _count_vectors,
    3: _key_by_scope,
    4: _find_versions,
}


def migrate(connection: sqlite3.Connection) -> int:
    """Migrate an older format to the current one; the caller holds the write transaction. Return the number of
    steps.

    Raises:
        CorruptIndexError: the file does not have its stated format, or its rows contradict each other.
    """
    version = version_of(connection)
    flags, version = version & FLAGS, version & ~FLAGS
    if version not in (*_MIGRATIONS, FORMAT):
        raise CorruptIndexError(f"user_version: expected a format from 1 to {FORMAT}, got {version}")
    connection.execute("PRAGMA legacy_alter_table = ON")  # a damaged trigger does not stop the migration
    for step in range(version, FORMAT):
        change = _MIGRATIONS[step]
        try:
            if isinstance(change, str):
                run_script(connection, change)
            else:
                change(connection)
        except sqlite3.IntegrityError as error:
            raise CorruptIndexError(f"its rows contradict each other: {error}") from error
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error) and "already exists" not in str(error):
                raise
            raise CorruptIndexError(
                f"user_version: {version}, but the tables are those of a later format"
            ) from error
        connection.execute(f"PRAGMA user_version = {(step + 1) | flags}")
    connection.execute("PRAGMA legacy_alter_table = OFF")
    return FORMAT - version
