"""The tables of the file, and the recognition of its format.

`application_id` identifies the file as ours and `user_version` is its format. An older format is migrated
(:mod:`scrubjay.store.sqlite.migration`), a newer one is rejected. Flags beside the format make versions of
Scrubjay without a feature reject a file that uses it: data keys of encrypted tenants, keys of users, documents
with a context, or with a vector per passage, images in pieces.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache

from scrubjay.base.errors import CorruptIndexError, StoreFormatError
from scrubjay.store.rows.decoding import shown
from scrubjay.store.rows.identity import IDENTITY, is_collection_name
from scrubjay.store.rows.sealed import OVERHEAD_BYTES
from scrubjay.store.rows.values import Identity
from scrubjay.store.rows.vectors import fits

APPLICATION_ID = 0x534A4159  # "SJAY"
FORMAT = 5
# Flags beside the format. Versions of Scrubjay without the feature must not open such files.
ENCRYPTED = 0x100  # the file has data keys
CONTEXTS = 0x200  # documents have a context, whose words are indexed as their terms
PASSAGES = 0x400  # documents have several vectors, one per passage of their text
USER_KEYS = 0x800  # users of encrypted tenants have keys of their own
IMAGE_PIECES = 0x1000  # large images are in pieces (store/sqlite/image_pieces.py), which erasure must delete
FLAGS = ENCRYPTED | CONTEXTS | PASSAGES | USER_KEYS | IMAGE_PIECES

_NAMES = ("meta", "scope", "document", "vector", "staged_vector", "tombstone", "event", "image")

# The tables of one collection; {s} is "" for the unnamed one, "_" and its number for the others.
_TABLES = """
CREATE TABLE meta{s}(name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row for every scope that was ever written to, kept after erasure so that versions never go back. '' is "none".
CREATE TABLE scope{s}(
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,
  version INTEGER NOT NULL,            -- the last write that touched it
  horizon INTEGER NOT NULL DEFAULT 0,  -- what is older than this must be read anew, it cannot be caught up
  documents INTEGER NOT NULL DEFAULT 0,
  vectors INTEGER NOT NULL DEFAULT 0,  -- how many of them have one
  digest BLOB,                         -- of an encrypted tenant's rows
  UNIQUE(tenant, user, agent));
CREATE INDEX scope_horizon{s} ON scope{s}(horizon) WHERE horizon > 0;  -- few: see store/sqlite/versions.py

-- seq is the order of writing; a new version of a document is a new row. Times are microseconds since 1970, UTC.
CREATE TABLE document{s}(
  seq INTEGER PRIMARY KEY,
  id NOT NULL,                         -- INTEGER or TEXT, never converted
  scope INTEGER NOT NULL,
  text TEXT NOT NULL,
  payload BLOB,                        -- JSON: metadata, created_at, expires_at, as they are returned
  created_at INTEGER, updated_at INTEGER NOT NULL, expires_at INTEGER,
  hash BLOB NOT NULL,                  -- of text and payload
  UNIQUE(id, scope));                  -- the key; in this order, so that an id is found in whatever scopes it is
CREATE INDEX document_scope{s} ON document{s}(scope);
CREATE INDEX document_expiry{s} ON document{s}(scope, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE vector{s}(seq INTEGER PRIMARY KEY, data BLOB NOT NULL);        -- by the model that meta names
CREATE TABLE staged_vector{s}(seq INTEGER PRIMARY KEY, data BLOB);          -- of the model that reembed() changes to

-- Ids that were deleted from a scope, until its images are newer: one read later must not bring them back.
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

# The named collections. Numbers are not reused, so a new collection is never mistaken for a dropped one.
COLLECTIONS = "CREATE TABLE collection(number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)"

# One data key per encrypted tenant, shared by all collections: store/keys/encryption.py.
_DATA_KEYS = """
CREATE TABLE IF NOT EXISTS data_key(
  tenant TEXT PRIMARY KEY, id BLOB NOT NULL,
  whole INTEGER NOT NULL,              -- marks: nothing is in the clear, scopes have digests
  fingerprint BLOB NOT NULL,           -- of the master key
  wrapped BLOB NOT NULL) WITHOUT ROWID;
"""

# Halves of the keys of users, shared by all collections: store/keys/user_keys.py.
_USER_KEYS = """
CREATE TABLE IF NOT EXISTS user_key(
  id BLOB PRIMARY KEY, tenant TEXT NOT NULL,
  user TEXT NOT NULL,                  -- '' once the key is dead
  half BLOB,                           -- sealed with the tenant's data key; NULL once the key is dead
  made_at INTEGER NOT NULL,
  whole INTEGER NOT NULL,              -- the user had nothing before there was the key
  dead INTEGER NOT NULL DEFAULT 0,     -- 1: the other half is to be destroyed; 2: it was
  whose BLOB) WITHOUT ROWID;           -- of a dead one: a keyed digest of the name
CREATE UNIQUE INDEX IF NOT EXISTS user_key_user ON user_key(tenant, user) WHERE dead = 0;
CREATE INDEX IF NOT EXISTS user_key_dying ON user_key(dead) WHERE dead = 1;
CREATE INDEX IF NOT EXISTS user_key_whose ON user_key(tenant, whose) WHERE dead > 0;
"""


@cache
def _columns() -> dict[str, list[str]]:
    """Return table -> the names of its columns, computed in a temporary database."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_TABLES.replace("{s}", ""))
        return {
            name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})").fetchall()]
            for name in _NAMES
        }
    finally:
        connection.close()


# Tables outside of the collections that hold sealed values (store/sqlite/registry.py), and the digests of their
# rows.
SEALED_TABLES = """
CREATE TABLE sealed_table(name TEXT PRIMARY KEY, rules TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE table_digest(tenant TEXT NOT NULL, name TEXT NOT NULL, digest BLOB NOT NULL,
                          PRIMARY KEY(tenant, name)) WITHOUT ROWID;
"""


def recognise(connection: sqlite3.Connection, path: str) -> bool:
    """Return whether the file is an index (False: it is empty and can become one).

    Raises:
        StoreFormatError: the file is another database, or newer than this version of Scrubjay.
    """
    alone = not connection.in_transaction
    if alone:
        # one snapshot, since another process may create the tables between two reads
        connection.execute("BEGIN")
    try:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        if alone and connection.in_transaction:
            connection.execute("ROLLBACK")
    if n_tables == 0 and application_id == 0:
        return False
    if n_tables == 0 and application_id == APPLICATION_ID:
        raise CorruptIndexError("its tables are gone", path=path)
    if application_id != APPLICATION_ID:
        raise StoreFormatError(f"path: expected a Scrubjay index, got another SQLite database: {path}")
    if version & ~FLAGS > FORMAT:
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
        """Return the names of all the tables."""
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
    run_script(connection, COLLECTIONS)
    run_script(connection, SEALED_TABLES)
    create_tables(connection, Tables(), identity)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create_collection(connection: sqlite3.Connection, name: str, identity: Identity) -> Tables:
    """Create the tables of a new collection; the caller holds the write transaction."""
    number = connection.execute("INSERT INTO collection(name) VALUES (?)", (name,)).lastrowid
    tables = Tables(int(number or 0))
    create_tables(connection, tables, identity)
    return tables


def find_collection(connection: sqlite3.Connection, name: str) -> Tables | None:
    """Return the tables of a named collection, or None if it does not exist."""
    row = connection.execute("SELECT number FROM collection WHERE name = ?", (name,)).fetchone()
    return None if row is None else _tables(row[0])


def collection_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the named collections, in alphabetical order."""
    names = [name for (name,) in connection.execute("SELECT name FROM collection ORDER BY name").fetchall()]
    for name in names:
        if not is_collection_name(name):
            raise CorruptIndexError(
                f"collection.name: expected 1 to 200 printable characters, got {shown(name)}"
            )
    return names


def all_tables(connection: sqlite3.Connection) -> list[Tables]:
    """Return the tables of every collection, the unnamed one first."""
    numbers = connection.execute("SELECT number FROM collection ORDER BY number").fetchall()
    return [Tables(), *(_tables(number) for (number,) in numbers)]


def _tables(number: object) -> Tables:
    if not isinstance(number, int) or number < 1:
        raise CorruptIndexError(f"collection.number: expected an integer from 1, got {number!r}")
    return Tables(number)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the file has a table."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def missing_tables(connection: sqlite3.Connection, tables: Tables) -> list[str]:
    """Return the tables of a collection that are missing from the file, or have other columns."""
    missing = []
    for name, columns in _columns().items():
        table = name + tables.suffix
        present = [row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]
        if present != columns:
            missing.append(table)
    return missing


def drop_collection(connection: sqlite3.Connection, name: str) -> None:
    """Drop a collection's tables; the caller holds the write transaction."""
    tables = find_collection(connection, name)
    if tables is not None:
        for table in tables.all():
            connection.execute(f"DROP TABLE {table}")
        # created by their first row, see feedback.py, embedding_queue.py and image_pieces.py
        for table in ("feedback", "pending", "image_piece"):
            connection.execute(f"DROP TABLE IF EXISTS {table}{tables.suffix}")
        connection.execute("DELETE FROM table_digest WHERE name = ?", (f"feedback{tables.suffix}",))
        connection.execute("DELETE FROM collection WHERE name = ?", (name,))


def create_tables(connection: sqlite3.Connection, tables: Tables, identity: Identity) -> None:
    """Create the tables of one collection; the caller holds the write transaction."""
    run_script(connection, _TABLES.replace("{s}", tables.suffix))
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
    )


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the file has the current format."""
    return bool(version_of(connection) & ~FLAGS == FORMAT)


def has_data_keys(connection: sqlite3.Connection) -> bool:
    """Whether any tenant of the file was ever encrypted."""
    return bool(version_of(connection) & ENCRYPTED)


def create_data_keys(connection: sqlite3.Connection) -> None:
    """Create the table of data keys if necessary; the caller holds the write transaction."""
    version = version_of(connection)
    if not version & ENCRYPTED:
        run_script(connection, _DATA_KEYS)
        connection.execute(f"PRAGMA user_version = {version | ENCRYPTED}")


def has_user_keys(connection: sqlite3.Connection) -> bool:
    """Whether any user ever had a key of their own."""
    return bool(version_of(connection) & USER_KEYS)


def create_user_keys(connection: sqlite3.Connection) -> None:
    """Create the table of user keys if necessary; the caller holds the write transaction."""
    version = version_of(connection)
    if not version & USER_KEYS:
        run_script(connection, _USER_KEYS)
        connection.execute(f"PRAGMA user_version = {version | USER_KEYS}")


def note_contexts(connection: sqlite3.Connection) -> None:
    """Flag the file as having documents with a context; the caller holds the write transaction."""
    _note(connection, CONTEXTS)


def note_passages(connection: sqlite3.Connection) -> None:
    """Flag the file as having vectors of passages; the caller holds the write transaction."""
    _note(connection, PASSAGES)


def note_image_pieces(connection: sqlite3.Connection) -> None:
    """Flag the file as having images in pieces; the caller holds the write transaction."""
    _note(connection, IMAGE_PIECES)


def _note(connection: sqlite3.Connection, flag: int) -> None:
    version = version_of(connection)
    if not version & flag:
        connection.execute(f"PRAGMA user_version = {version | flag}")


def version_of(connection: sqlite3.Connection) -> int:
    """Return the format of a file, including its flags."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Execute the statements of a script inside the transaction (executescript would commit it first)."""
    for statement in re.sub("--.*", "", script).split(";"):
        if statement.strip():
            connection.execute(statement)


def set_meta(connection: sqlite3.Connection, tables: Tables, **values: object) -> None:
    """Write named values of the identity or state."""
    connection.executemany(
        f"INSERT OR REPLACE INTO {tables.meta}(name, value) VALUES (?, ?)", list(values.items())
    )


def read_identity(connection: sqlite3.Connection, tables: Tables) -> Identity:
    """Read the identity of a collection."""
    meta = dict(connection.execute(f"SELECT name, value FROM {tables.meta}").fetchall())
    for name, is_right in IDENTITY.items():
        if name not in meta or not is_right(meta[name]):
            value = repr(meta[name])[:60] if name in meta else "nothing"
            raise CorruptIndexError(f"{tables.meta}.{name}: expected a valid value, got {value}")
    return Identity(**{name: meta[name] for name in IDENTITY})


def hold_to_rows(connection: sqlite3.Connection, tables: Tables) -> None:
    """Check the identity of a collection against a sample of its documents and vectors.

    Raises:
        CorruptIndexError: they contradict each other.
    """
    identity = read_identity(connection, tables)
    kinds = {"text": "str", "integer": "int"}
    rows = connection.execute(f"SELECT typeof(id) FROM {tables.document} LIMIT {_SAMPLE}").fetchall()
    seen = {kinds[kind] for (kind,) in rows if kind in kinds}
    if seen and identity.id_kind not in seen:
        raise CorruptIndexError(f"{tables.meta}.id_kind is {identity.id_kind!r}, and ids are {seen.pop()}")
    sizes = connection.execute(
        f"SELECT length(data) FROM {tables.vector} WHERE typeof(data) = 'blob' LIMIT {_SAMPLE}"
    ).fetchall()
    dim, dtype = identity.dim, identity.dtype
    right = (
        dim is not None and (fits(size, dim, dtype) or fits(size - OVERHEAD_BYTES, dim, dtype))
        for (size,) in sizes
    )
    if len(sizes) > 1 and not any(right):
        raise CorruptIndexError(f"{tables.meta}.dim is {identity.dim}, and vectors have {sizes[0][0]} bytes")


_SAMPLE = 5  # rows; with one row a damaged one would reject a sound file
