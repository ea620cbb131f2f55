"""The tables in the database, and their creation and migration.

`home` begins every key of rows that belong to a tenant. There are no triggers, sequences or defaults that are not
constants. Two small tables have no home: sharding servers replicate them everywhere. Ids, texts and metadata are
bytes, because a text of PostgreSQL cannot hold every character that a document may.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scrubjay.base.errors import CorruptIndexError, StoreFormatError
from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.keys import MOST_BUCKETS
from scrubjay.store.postgres.last_use import today
from scrubjay.store.postgres.row_security import protect, show_to_everybody
from scrubjay.store.rows.identity import is_collection_name, is_identity
from scrubjay.store.rows.values import Identity

VERSION = 7
WINDOW_SECONDS = 10.0
"""How long after its stamp (`sj_scope.changed`) a write may become visible without being missed by a feed."""
_LOCK = 0x534A4159  # "SJAY": the advisory lock for changes to tables or collections

TABLES = (
    "sj_scope",
    "sj_document",
    "sj_tombstone",
    "sj_event",
    "sj_image",
    "sj_feedback",
    "sj_staged",
    "sj_digest",
    "sj_cold",
)
"""The tables of rows of a tenant and a collection; `sj_home` and `sj_user_key` are shared by all collections."""

_SCRIPT = """
CREATE TABLE sj_schema(
  one int PRIMARY KEY CHECK (one = 1), version int NOT NULL, name text NOT NULL, last_collection int NOT NULL);

CREATE TABLE sj_collection(
  collection int PRIMARY KEY, name text NOT NULL UNIQUE, dim int, metric text NOT NULL, dtype text NOT NULL,
  analyzer text NOT NULL, model text, id_kind text, generation int NOT NULL);

-- Every write locks the row of its home first: the writer's turn. `last` is the number of the home's last write; a
-- number is the server's time in microseconds, or the next one, so that numbers of one home ascend in order of writing
-- and those of different homes are in order of time.
CREATE TABLE sj_home(home text PRIMARY KEY, last bigint NOT NULL);

-- One row for every scope that was ever written to, kept after erasure so that versions never go back. '' is "none".
CREATE TABLE sj_scope(
  home text NOT NULL, collection int NOT NULL, key bigint NOT NULL,   -- key: a hash of the names
  tenant text NOT NULL, usr text NOT NULL, agent text NOT NULL,
  version bigint NOT NULL,                -- the last write that touched it
  horizon bigint NOT NULL,                -- what is older than this must be read anew, it cannot be caught up
  documents bigint NOT NULL, vectors bigint NOT NULL,
  lineage text NOT NULL,                  -- the history that gave the version
  changed timestamptz NOT NULL,           -- the feed: the server's time just before the commit
  PRIMARY KEY (home, collection, key), UNIQUE (home, collection, tenant, usr, agent));
CREATE INDEX sj_scope_changed ON sj_scope(changed);

CREATE TABLE sj_document(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, seq bigint NOT NULL,
  id bytea NOT NULL, text bytea NOT NULL, payload bytea, vector bytea,
  created_at bigint, updated_at bigint NOT NULL, expires_at bigint, hash bytea NOT NULL, pending boolean NOT NULL,
  PRIMARY KEY (home, collection, scope, seq), UNIQUE (home, collection, id, scope));
CREATE INDEX sj_document_expiry ON sj_document(home, collection, scope, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX sj_document_pending ON sj_document(home, collection, scope) WHERE pending;
ALTER TABLE sj_document ALTER vector SET STORAGE EXTERNAL;

CREATE TABLE sj_tombstone(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, seq bigint NOT NULL, id bytea NOT NULL,
  PRIMARY KEY (home, collection, scope, seq));

CREATE TABLE sj_event(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, version bigint NOT NULL,
  at bigint NOT NULL, reason bytea NOT NULL, documents bigint NOT NULL, PRIMARY KEY (home, collection, scope, version));

-- Native chunks as of a version of their scope. Never needed, only faster.
CREATE TABLE sj_image(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, ordinal int NOT NULL,
  n_chunks int NOT NULL, version bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (home, collection, scope, ordinal));
ALTER TABLE sj_image ALTER data SET STORAGE EXTERNAL;

-- number: of the home's writes; tenant, usr, agent: who asked; scope, id: of the document.
CREATE TABLE sj_feedback(
  home text NOT NULL, collection int NOT NULL, number bigint NOT NULL, at bigint NOT NULL,
  tenant text NOT NULL, usr text NOT NULL, agent text NOT NULL, scope bigint NOT NULL, id bytea NOT NULL,
  used boolean NOT NULL, query bytea, lexical_rank int, vector_rank int, score double precision,
  PRIMARY KEY (home, collection, number));
CREATE INDEX sj_feedback_document ON sj_feedback(home, collection, scope, id);
"""

_STAGED = """
-- Vectors of another model on their way: until all documents have one, and then until their scope is written to or they
-- are put in place. `sj_scope.embedding` says which of the collection's embeddings is in place.
CREATE TABLE sj_staged(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, seq bigint NOT NULL, data bytea,
  PRIMARY KEY (home, collection, scope, seq));
ALTER TABLE sj_staged ALTER data SET STORAGE EXTERNAL;
ALTER TABLE sj_scope ADD embedding int NOT NULL DEFAULT 0;
ALTER TABLE sj_collection ADD embedding int NOT NULL DEFAULT 0, ADD reembedding text;
"""

_SEALED = """
-- The data key of an encrypted tenant, wrapped by its master key; all four are NULL if the tenant is in the clear.
ALTER TABLE sj_home ADD key_id bytea, ADD key_mark int, ADD key_fingerprint bytea, ADD key_wrapped bytea;
-- Sealed digests of the rows of encrypted tenants: of a scope's documents, of other tables by name.
ALTER TABLE sj_scope ADD digest bytea;
CREATE TABLE sj_digest(
  home text NOT NULL, collection int NOT NULL, name text NOT NULL, digest bytea NOT NULL,
  PRIMARY KEY (home, collection, name));
"""

_OBJECTS = """
-- An image in an object store: its hash there, its length; `data` has its first bytes, which say whether it is sealed.
ALTER TABLE sj_image ADD object bytea, ADD n_bytes bigint;
CREATE INDEX sj_image_object ON sj_image(object) WHERE object IS NOT NULL;
"""

_USER_KEYS = """
-- Halves of the keys of users, sealed with the tenant's data key: store/keys/user_keys.py.
CREATE TABLE sj_user_key(
  home text NOT NULL, id bytea NOT NULL,
  usr text NOT NULL,                      -- '' once the key is dead
  half bytea,                             -- NULL once the key is dead
  made_at bigint NOT NULL,
  whole boolean NOT NULL,                 -- the user had nothing before there was the key
  dead int NOT NULL,                      -- 1: the half in the key store is to be destroyed; 2: it was
  whose bytea,                            -- of a dead one: a keyed digest of the name
  PRIMARY KEY (home, id));
CREATE UNIQUE INDEX sj_user_key_user ON sj_user_key(home, usr) WHERE dead = 0;
CREATE INDEX sj_user_key_dying ON sj_user_key(home, id) WHERE dead = 1;
CREATE INDEX sj_user_key_whose ON sj_user_key(home, whose) WHERE dead > 0;
"""

_BUCKETS = """
-- In how many homes the users of each tenant are: store/postgres/keys.py. Chosen when the tables are made.
ALTER TABLE sj_schema ADD user_homes int NOT NULL DEFAULT 0;
"""

_COLD = """
-- Scopes whose rows are one object in an object store, by its hash. `sj_scope.cold` names it as long as it is the
-- truth; afterwards it is kept for a while (thawed_at: seconds since 1970). expiries: when documents of it expire;
-- vector_expiries: of those, the ones that have a vector; NULL: none.
CREATE TABLE sj_cold(
  home text NOT NULL, collection int NOT NULL, scope bigint NOT NULL, object bytea NOT NULL,
  n_bytes bigint NOT NULL, version bigint NOT NULL, documents bigint NOT NULL, first_seq bigint NOT NULL,
  plain boolean NOT NULL,                 -- a row of it is in the clear
  expiries bigint[], vector_expiries bigint[], thawed_at bigint, PRIMARY KEY (home, collection, scope, object));
CREATE INDEX sj_cold_object ON sj_cold(object);
CREATE INDEX sj_cold_thawed ON sj_cold(thawed_at, home) WHERE thawed_at IS NOT NULL;
-- used: the day since 1970 on which the scope was read or written last, as far as its row was told.
ALTER TABLE sj_scope ADD cold bytea, ADD used int NOT NULL DEFAULT {today};
ALTER TABLE sj_scope ALTER used SET DEFAULT 0;
"""

_MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (),  # row security policies, see row_security.py
    3: (_STAGED,),
    4: (_SEALED,),
    5: (_OBJECTS,),
    6: (_USER_KEYS,),
    7: (_COLD, _BUCKETS),
}
"""Version -> the statements that migrate to it from the version before. Afterwards every table with a home gets
its row security policies."""


def prepare(
    connection: Any, *, read_only: bool, place: str, user_homes: int | None = None
) -> tuple[str, int]:
    """Create the tables, or migrate them; return the random name of the index, and the number of homes for the
    users of each tenant.

    Args:
        connection: outside of any transaction.
        read_only: create and change nothing.
        place: of the database, for messages.
        user_homes: the required number of homes; None: as the tables were created, in new ones 0.

    Raises:
        StoreFormatError: the tables are newer than this version of Scrubjay; or missing or older, and the index
            is read-only; or they were created with another number of homes.
    """
    found = _version(connection)
    if found is None or found[0] < VERSION:
        if read_only:
            what = "no index" if found is None else f"tables of version {found[0]}"
            raise StoreFormatError(
                f"path: expected tables of version {VERSION}, got {what}; open it once for writing: {place}"
            )
        try:
            found = _bring_up_to_date(connection, user_homes or 0)
        except psycopg_module().errors.InsufficientPrivilege as error:
            if found is None:
                raise
            raise StoreFormatError(
                f"path: expected tables of version {VERSION}, got {found[0]}, and this user may not change them; open "
                f"the index once as their owner, or call `scrubjay roles`: {place}"
            ) from error
    if found is None:
        raise CorruptIndexError("sj_schema: expected one row, got none")
    version, name = found
    if version > VERSION:
        raise StoreFormatError(
            f"path: expected tables of version {VERSION} or older, got {version} of a newer Scrubjay: {place}"
        )
    (n_homes,) = connection.execute("SELECT user_homes FROM sj_schema").fetchone()
    if user_homes is not None and user_homes != n_homes:
        raise StoreFormatError(
            f"user_homes: expected {n_homes}, as the database was created, got {user_homes}; "
            f"`scrubjay copy --user-homes {user_homes}` into a new database moves everything: {place}"
        )
    if not 0 <= n_homes <= MOST_BUCKETS:
        raise CorruptIndexError(f"sj_schema.user_homes: expected 0 to {MOST_BUCKETS}, got {n_homes}")
    return name, int(n_homes)


def _bring_up_to_date(connection: Any, user_homes: int) -> tuple[int, str] | None:
    try:
        return _make_or_migrate(connection, user_homes)
    except psycopg_module().errors.DuplicateTable:
        # Another process created them while this one waited. Within its transaction the server still assumes that
        # they do not exist; a new transaction sees them.
        return _make_or_migrate(connection, user_homes)


def _make_or_migrate(connection: Any, user_homes: int) -> tuple[int, str] | None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = _version(connection)  # another process may have created them first
        if found is None:
            connection.execute(
                _SCRIPT + _STAGED + _SEALED + _OBJECTS + _USER_KEYS + _of_today(_COLD) + _BUCKETS
            )
            connection.execute(
                "INSERT INTO sj_schema(one, version, name, last_collection, user_homes) VALUES (1, %s, %s, 0, %s)",
                (VERSION, secrets.token_hex(16), user_homes),
            )
        else:
            for version in range(found[0] + 1, VERSION + 1):
                for statement in _MIGRATIONS[version]:
                    connection.execute(_of_today(statement))
                connection.execute("UPDATE sj_schema SET version = %s", (version,))
        protect(connection)
        return _version(connection)


def _of_today(statements: str) -> str:
    """Return statements with the number of this day, as the last use of existing rows."""
    return statements.replace("{today}", str(today()))


def make_layer(
    connection: Any,
    name: str,
    statements: Sequence[str],
    format: int,
    upgrades: Mapping[int, Sequence[str]],
    *,
    read_only: bool,
    place: str,
) -> int:
    """Create the tables of a layer above if they are missing, or migrate older ones; return their format.

    Raises:
        StoreFormatError: they are missing or older, and the index is read-only, or its user may not change
            tables.
    """
    found = layer_format(connection, name)
    if found is not None and found >= format:
        return found
    if read_only:
        what = "none" if found is None else f"those of format {found}"
        raise StoreFormatError(
            f"path: expected the tables of a {name} of format {format}, got {what}; open it once for writing: {place}"
        )
    try:
        return _make_layer(connection, name, statements, format, upgrades)
    except psycopg_module().errors.DuplicateTable:  # as in _bring_up_to_date
        return _make_layer(connection, name, statements, format, upgrades)
    except psycopg_module().errors.InsufficientPrivilege as error:
        if found is None:
            raise
        raise StoreFormatError(
            f"path: expected the tables of a {name} of format {format}, got those of format {found}, and this user may "
            f"not change them; open the {name} once as their owner: {place}"
        ) from error


def _make_layer(
    connection: Any, name: str, statements: Sequence[str], format: int, upgrades: Mapping[int, Sequence[str]]
) -> int:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = layer_format(connection, name)  # another process may have created them first
        if found is not None:
            for step in range(found + 1, format + 1):
                for statement in upgrades[step]:
                    connection.execute(statement)
                connection.execute(f"UPDATE sj_{name}_schema SET format = %s", (step,))
            return max(found, format)
        for statement in statements:
            connection.execute(statement)
        connection.execute(
            f"CREATE TABLE sj_{name}_schema(one int PRIMARY KEY CHECK (one = 1), format int NOT NULL)"
        )
        connection.execute(f"INSERT INTO sj_{name}_schema VALUES (1, %s)", (format,))
        for table in protect(connection):
            show_to_everybody(connection, table)
        return format


def layer_format(connection: Any, name: str) -> int | None:
    """Return the format of the tables of a layer above; None: they do not exist."""
    (table,) = connection.execute("SELECT to_regclass(%s)::text", (f"sj_{name}_schema",)).fetchone()
    if table is None:
        return None
    found = connection.execute(f"SELECT format FROM sj_{name}_schema").fetchone()
    if found is None:
        raise CorruptIndexError(f"sj_{name}_schema: expected one row, got none")
    return int(found[0])


def _version(connection: Any) -> tuple[int, str] | None:
    """Return (version, name of the index); None: the tables do not exist."""
    (table,) = connection.execute("SELECT to_regclass('sj_schema')").fetchone()
    if table is None:
        return None
    found: tuple[int, str] | None = connection.execute("SELECT version, name FROM sj_schema").fetchone()
    if found is None:
        raise CorruptIndexError("sj_schema: expected one row, got none")
    return found


def find_collection(connection: Any, name: str) -> int | None:
    """Return the number of a collection, or None."""
    found = connection.execute("SELECT collection FROM sj_collection WHERE name = %s", (name,)).fetchone()
    return None if found is None else int(found[0])


def find_or_create(connection: Any, name: str, identity: Identity, *, read_only: bool, place: str) -> int:
    """Return the number of a collection, which is created with `identity` if it is missing, along with the
    unnamed collection of every index.

    Raises:
        StoreFormatError: it is missing, and the index is read-only.
    """
    number = find_collection(connection, name)
    if number is not None:
        return number
    if read_only:
        raise StoreFormatError(f"collection: there is no {name!r}: {place}")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if name and find_collection(connection, "") is None:
            _create(connection, "", replace(identity, dim=None, model=None))
        number = find_collection(connection, name)
        return _create(connection, name, identity) if number is None else number


def _create(connection: Any, name: str, identity: Identity) -> int:
    (number,) = connection.execute(  # never reused, so that no collection is mistaken for a dropped one
        "UPDATE sj_schema SET last_collection = last_collection + 1 RETURNING last_collection"
    ).fetchone()
    connection.execute(
        "INSERT INTO sj_collection(collection, name, dim, metric, dtype, analyzer, model, generation) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, 0)",
        (number, name, identity.dim, identity.metric, identity.dtype, identity.analyzer, identity.model),
    )
    return int(number)


def collection_names(connection: Any) -> list[str]:
    """Return the names of the named collections, in alphabetical order."""
    found = connection.execute("SELECT name FROM sj_collection WHERE name <> ''").fetchall()
    names = sorted(name for (name,) in found)
    for name in names:
        if not is_collection_name(name):
            raise CorruptIndexError(
                f"sj_collection.name: expected 1 to 200 printable characters, got {name!r}"
            )
    return names


_FIELDS = ("dim", "metric", "dtype", "analyzer", "model", "id_kind", "generation")


IDENTITY_COLUMNS = ", ".join(f"c.{name}" for name in _FIELDS)
"""The columns of `sj_collection` c that :func:`identity_of` reads."""
IDENTITY = f"SELECT {IDENTITY_COLUMNS} FROM sj_collection c WHERE collection = %s"
"""The query for the identity of a collection; :func:`identity_of` reads its result."""


def read_identity(connection: Any, collection: int, *, for_update: bool = False) -> Identity:
    """Read the identity of a collection; with `for_update` no other transaction can settle it before this one
    ends."""
    question = IDENTITY + (" FOR UPDATE" if for_update else "")
    return identity_of(connection.execute(question, (collection,)).fetchall())


def identity_of(rows: Sequence[Sequence[Any]]) -> Identity:
    """Return the identity from the result of :data:`IDENTITY`.

    Raises:
        StoreFormatError: the collection no longer exists.
        CorruptIndexError: the identity is invalid.
    """
    if not rows:
        raise StoreFormatError("collection: it was dropped by another process")
    values = dict(zip(_FIELDS, rows[0], strict=True))
    for name, value in values.items():
        if not is_identity(name, value):
            raise CorruptIndexError(f"sj_collection.{name}: expected a valid value, got {value!r}")
    return Identity(**values)
