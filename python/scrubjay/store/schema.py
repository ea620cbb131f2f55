"""Which tables does the file have, and how does one know that it is ours and of which format?

`application_id` says that it is ours, `user_version` which format it has; a format that is older is migrated step by
step inside one transaction, a newer one is refused. A file that has data keys of encrypted tenants carries a flag
beside the format, so that versions of Scrubjay that know nothing of them refuse it; one without is as it always was.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from scrubjay.errors import CorruptIndexError, StoreFormatError
from scrubjay.store.protocol import Identity

__all__ = [
    "APPLICATION_ID",
    "FORMAT",
    "Tables",
    "all_tables",
    "collection_names",
    "create",
    "create_collection",
    "create_data_keys",
    "drop_collection",
    "find_collection",
    "has_data_keys",
    "is_current",
    "migrate",
    "read_identity",
    "recognise",
    "set_meta",
]

APPLICATION_ID = 0x534A4159  # "SJAY"
FORMAT = 2
_ENCRYPTED = 0x100  # is added to the format of a file with data keys

_NAMES = ("meta", "scope", "document", "vector", "staged_vector", "tombstone", "event", "image")

# The tables of one collection; {s} is "" for the one without a name, "_" and its number for the others.
_TABLES = """
CREATE TABLE meta{s}(name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row for every scope that was ever written to, kept after erasure so that versions never go back. '' is "none".
CREATE TABLE scope{s}(
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,
  version INTEGER NOT NULL,            -- the last write that touched it
  horizon INTEGER NOT NULL DEFAULT 0,  -- what is older than this must be read anew, it cannot be caught up
  documents INTEGER NOT NULL DEFAULT 0,
  UNIQUE(tenant, user, agent));
CREATE INDEX scope_version{s} ON scope{s}(version);

-- seq is the order of writing; a new version of a document is a new row. Times are microseconds since 1970, UTC.
CREATE TABLE document{s}(
  seq INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,                  -- INTEGER or TEXT, never converted
  scope INTEGER NOT NULL,
  text TEXT NOT NULL,
  payload BLOB,                        -- JSON: metadata, created_at, expires_at, as they are returned
  created_at INTEGER, updated_at INTEGER NOT NULL, expires_at INTEGER,
  hash BLOB NOT NULL);                 -- of text and payload: store/vectors.py
CREATE INDEX document_scope{s} ON document{s}(scope);
CREATE INDEX document_expiry{s} ON document{s}(scope, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE vector{s}(seq INTEGER PRIMARY KEY, data BLOB NOT NULL);        -- by the model that meta names
CREATE TABLE staged_vector{s}(seq INTEGER PRIMARY KEY, data BLOB);          -- of the model that reembed() changes to

-- Ids that were deleted, until every image is newer: an image read later must not bring them back.
CREATE TABLE tombstone{s}(seq INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id NOT NULL);
CREATE INDEX tombstone_scope{s} ON tombstone{s}(scope);

CREATE TABLE event{s}(number INTEGER PRIMARY KEY, at INTEGER NOT NULL, reason TEXT NOT NULL,
                   scope INTEGER NOT NULL, documents INTEGER NOT NULL);

-- Native chunks as of a version of their scope. Never needed, only faster.
CREATE TABLE image{s}(
  number INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL, ordinal INTEGER NOT NULL, n_chunks INTEGER NOT NULL, version INTEGER NOT NULL,
  data BLOB NOT NULL, UNIQUE(scope, ordinal));
"""

# The collections that have a name. A number is never given twice, so nobody mistakes one for one that was dropped.
_COLLECTIONS = "CREATE TABLE collection(number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)"

# One data key for each encrypted tenant, for all collections: store/encryption.py.
_DATA_KEYS = """
CREATE TABLE IF NOT EXISTS data_key(
  tenant TEXT PRIMARY KEY, id BLOB NOT NULL,
  whole INTEGER NOT NULL,              -- nothing of the tenant's is in the clear
  fingerprint BLOB NOT NULL,           -- of the master key
  wrapped BLOB NOT NULL) WITHOUT ROWID;
"""

# Format n -> the statements that make format n + 1 of it.
_MIGRATIONS: Mapping[int, str] = {1: _COLLECTIONS}


def recognise(connection: sqlite3.Connection, path: str) -> bool:
    """Return whether the file is an index of ours (False: it is empty, and can become one).

    Raises:
        StoreFormatError: it is something else, or newer than this version of Scrubjay.
    """
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")  # or another process could make the tables between one look and the next
    try:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        if alone and connection.in_transaction:
            connection.execute("ROLLBACK")
    if n_tables == 0 and application_id in (0, APPLICATION_ID):
        return False
    if application_id != APPLICATION_ID:
        raise StoreFormatError(f"path: expected a Scrubjay index, got another SQLite database: {path}")
    if version & ~_ENCRYPTED > FORMAT:
        raise StoreFormatError(
            f"path: expected format {FORMAT} or older, got format {version} of a newer Scrubjay: {path}"
        )
    return True


class Tables:
    """The names of one collection's tables."""

    __slots__ = ("suffix", *_NAMES)

    def __init__(self, number: int = 0) -> None:
        self.suffix = f"_{number}" if number else ""
        for name in _NAMES:
            setattr(self, name, name + self.suffix)

    def all(self) -> list[str]:
        """Return the names of all of them."""
        return [name + self.suffix for name in _NAMES]

    meta: str
    scope: str
    document: str
    vector: str
    staged_vector: str
    tombstone: str
    event: str
    image: str


def create(connection: sqlite3.Connection, identity: Identity) -> None:
    """Create the tables of a new index; the caller holds the write transaction."""
    _run(connection, _COLLECTIONS)
    _create_tables(connection, Tables(), identity)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create_collection(connection: sqlite3.Connection, name: str, identity: Identity) -> Tables:
    """Create the tables of a new collection; the caller holds the write transaction."""
    number = connection.execute("INSERT INTO collection(name) VALUES (?)", (name,)).lastrowid
    tables = Tables(int(number or 0))
    _create_tables(connection, tables, identity)
    return tables


def find_collection(connection: sqlite3.Connection, name: str) -> Tables | None:
    """Return the tables of the collection with this name, or None."""
    found = connection.execute("SELECT number FROM collection WHERE name = ?", (name,)).fetchone()
    return None if found is None else Tables(found[0])


def collection_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the collections that have one, in alphabetical order."""
    return [name for (name,) in connection.execute("SELECT name FROM collection ORDER BY name").fetchall()]


def all_tables(connection: sqlite3.Connection) -> list[Tables]:
    """Return the tables of every collection, the one without a name first."""
    numbers = connection.execute("SELECT number FROM collection ORDER BY number").fetchall()
    return [Tables(), *(Tables(number) for (number,) in numbers)]


def drop_collection(connection: sqlite3.Connection, name: str) -> None:
    """Drop a collection's tables; the caller holds the write transaction."""
    tables = find_collection(connection, name)
    if tables is not None:
        for table in tables.all():
            connection.execute(f"DROP TABLE {table}")
        connection.execute(
            f"DROP TABLE IF EXISTS feedback{tables.suffix}"
        )  # made by the first note, see feedback.py
        connection.execute("DELETE FROM collection WHERE name = ?", (name,))


def _create_tables(connection: sqlite3.Connection, tables: Tables, identity: Identity) -> None:
    _run(connection, _TABLES.replace("{s}", tables.suffix))
    set_meta(
        connection,
        tables,
        dim=identity.dim,
        metric=identity.metric,
        dtype=identity.dtype,
        analyzer=identity.analyzer,
        model=identity.model,
        id_kind=None,
        generation=0,
        documents=0,
    )


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the file has this format."""
    return bool(_version(connection) & ~_ENCRYPTED == FORMAT)


def has_data_keys(connection: sqlite3.Connection) -> bool:
    """Whether any tenant of the file ever was encrypted."""
    return bool(_version(connection) & _ENCRYPTED)


def create_data_keys(connection: sqlite3.Connection) -> None:
    """Let the file have data keys; the caller holds the write transaction."""
    version = _version(connection)
    if not version & _ENCRYPTED:
        _run(connection, _DATA_KEYS)
        connection.execute(f"PRAGMA user_version = {version | _ENCRYPTED}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> int:
    """Bring an older format up to this one; the caller holds the write transaction. Return how many steps it took."""
    version = _version(connection)
    flag, version = version & _ENCRYPTED, version & ~_ENCRYPTED
    for step in range(version, FORMAT):
        _run(connection, _MIGRATIONS[step])
        connection.execute(f"PRAGMA user_version = {(step + 1) | flag}")
    return FORMAT - version


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Execute statements inside the transaction (executescript would commit it first)."""
    for statement in re.sub("--.*", "", script).split(";"):
        if statement.strip():
            connection.execute(statement)


def set_meta(connection: sqlite3.Connection, tables: Tables, **values: object) -> None:
    """Write named values."""
    connection.executemany(
        f"INSERT OR REPLACE INTO {tables.meta}(name, value) VALUES (?, ?)", list(values.items())
    )


def read_identity(connection: sqlite3.Connection, tables: Tables) -> Identity:
    """Read what a collection is made of."""
    meta = dict(connection.execute(f"SELECT name, value FROM {tables.meta}").fetchall())
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
