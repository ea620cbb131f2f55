"""Which tables does the file have, and how does one know that it is ours and of which format?

`application_id` says that it is ours, `user_version` which format it has; a format that is older is migrated step by
step inside one transaction, a newer one is refused.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from scrubjay.errors import CorruptIndexError, StoreFormatError
from scrubjay.store.protocol import Identity

__all__ = ["APPLICATION_ID", "FORMAT", "create", "migrate", "read_identity", "recognise", "set_meta"]

APPLICATION_ID = 0x534A4159  # "SJAY"
FORMAT = 1

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row for every scope that was ever written to, kept after erasure so that versions never go back. '' is "none".
CREATE TABLE scope(
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,
  version INTEGER NOT NULL,            -- the last write that touched it
  horizon INTEGER NOT NULL DEFAULT 0,  -- what is older than this must be read anew, it cannot be caught up
  documents INTEGER NOT NULL DEFAULT 0,
  UNIQUE(tenant, user, agent));
CREATE INDEX scope_version ON scope(version);

-- seq is the order of writing; a new version of a document is a new row. Times are microseconds since 1970, UTC.
CREATE TABLE document(
  seq INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,                  -- INTEGER or TEXT, never converted
  scope INTEGER NOT NULL,
  text TEXT NOT NULL,
  payload BLOB,                        -- JSON: metadata, created_at, expires_at, as they are returned
  created_at INTEGER, updated_at INTEGER NOT NULL, expires_at INTEGER,
  hash BLOB NOT NULL);                 -- of text and payload: store/vectors.py
CREATE INDEX document_scope ON document(scope);
CREATE INDEX document_expiry ON document(scope, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE vector(seq INTEGER PRIMARY KEY, data BLOB NOT NULL);        -- by the model that meta names
CREATE TABLE staged_vector(seq INTEGER PRIMARY KEY, data BLOB);          -- of the model that reembed() changes to

-- Ids that were deleted, until every image is newer: an image read later must not bring them back.
CREATE TABLE tombstone(seq INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id NOT NULL);
CREATE INDEX tombstone_scope ON tombstone(scope);

CREATE TABLE event(number INTEGER PRIMARY KEY, at INTEGER NOT NULL, reason TEXT NOT NULL,
                   scope INTEGER NOT NULL, documents INTEGER NOT NULL);

-- Native chunks as of a version of their scope. Never needed, only faster.
CREATE TABLE image(
  number INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL, ordinal INTEGER NOT NULL, n_chunks INTEGER NOT NULL, version INTEGER NOT NULL,
  data BLOB NOT NULL, UNIQUE(scope, ordinal));
"""

# Format n -> the statements that make format n + 1 of it.
_MIGRATIONS: Mapping[int, str] = {}


def recognise(connection: sqlite3.Connection, path: str) -> bool:
    """Return whether the file is an index of ours (False: it is empty, and can become one).

    Raises:
        StoreFormatError: it is something else, or newer than this version of Scrubjay.
    """
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if n_tables == 0 and application_id in (0, APPLICATION_ID):
        return False
    if application_id != APPLICATION_ID:
        raise StoreFormatError(f"path: expected a Scrubjay index, got another SQLite database: {path}")
    if version > FORMAT:
        raise StoreFormatError(
            f"path: expected format {FORMAT} or older, got format {version} of a newer Scrubjay: {path}"
        )
    return True


def create(connection: sqlite3.Connection, identity: Identity) -> None:
    """Create the tables; the caller holds the write transaction."""
    _run(connection, _TABLES)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    set_meta(
        connection,
        dim=identity.dim,
        metric=identity.metric,
        dtype=identity.dtype,
        analyzer=identity.analyzer,
        model=identity.model,
        id_kind=None,
        generation=0,
        documents=0,
    )


def migrate(connection: sqlite3.Connection) -> int:
    """Bring an older format up to this one; the caller holds the write transaction. Return how many steps it took."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for step in range(version, FORMAT):
        _run(connection, _MIGRATIONS[step])
        connection.execute(f"PRAGMA user_version = {step + 1}")
    return int(FORMAT - version)


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Execute statements inside the transaction (executescript would commit it first)."""
    for statement in re.sub("--.*", "", script).split(";"):
        if statement.strip():
            connection.execute(statement)


def set_meta(connection: sqlite3.Connection, **values: object) -> None:
    """Write named values."""
    connection.executemany("INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)", list(values.items()))


def read_identity(connection: sqlite3.Connection) -> Identity:
    """Read what the index is made of."""
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    try:
        return Identity(
            dim=meta["dim"],
            metric=meta["metric"],
            dtype=meta["dtype"],
            analyzer=meta["analyzer"],
            model=meta["model"],
            id_kind=meta["id_kind"],
            generation=meta["generation"],
        )
    except KeyError as error:
        raise CorruptIndexError(f"the index's table meta has no {error}") from None
