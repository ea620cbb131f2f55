"""The tables that memory adds to an index's file, and the rules that bind every writer.

Rules that SQL can express are constraints and triggers here, not in the code above: no fact without a source, no change
of a policy, no unconfirmed fact of a tenant in force, no two living records with the same content. They therefore bind
every thread, every process and every mistake.

Scopes are as in the index's own tables: '' stands for a missing name. Times are microseconds since 1970, UTC. Rows of
append-only tables can be deleted only inside a transaction that erases (:func:`erasing`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from scrubjay.base.errors import CorruptIndexError, StoreFormatError
from scrubjay.memory.ledger import holds, postgres, sealing, trace
from scrubjay.memory.ledger.upgrade import upgrade
from scrubjay.memory.model.names import MIN_FACT_CONFIDENCE, MIN_PREFERENCE_CONFIDENCE, RECORD_KINDS
from scrubjay.store.repair.rebuilding import KNOWN_TABLES
from scrubjay.store.rows.decoding import integer
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.registry import register
from scrubjay.store.sqlite.store import SqliteStore

FORMAT = 3

KINDS: dict[str, str] = {kind: f"memory_{kind}" for kind in RECORD_KINDS}
"""Kind of record -> its table."""

# Columns for the source of a record, for every kind.
_PROVENANCE = """
  source_run TEXT NOT NULL CHECK (source_run <> ''), source_turn INTEGER, author TEXT, place TEXT,
  policy_version INTEGER NOT NULL,     -- number of the newest policy in force for the tenant then; 0: none was"""
INDEPENDENT = (
    "SELECT min(count(DISTINCT run), count(DISTINCT CASE user WHEN '' THEN 'author ' || ifnull(author, '') "
    "ELSE 'user ' || user END)) FROM memory_observation WHERE tenant = {tenant} AND hash = {hash}"
)
"""The number of independent sources of a statement about a tenant: the minimum of its distinct runs and its distinct
observers.

Outside of a user's scope the observer is the named author; observations that name no author count as one source."""
_SCOPE = "tenant TEXT NOT NULL CHECK (tenant <> ''), user TEXT NOT NULL, agent TEXT NOT NULL,"
LIVING = "status IN ('provisional', 'active')"

TABLES = (
    "CREATE TABLE memory_meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # ------------------------------------------------------------------ policies
    f"""CREATE TABLE memory_policy(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,                -- '': a global policy, in force for every tenant
  key TEXT NOT NULL CHECK (key <> ''),
  version INTEGER NOT NULL CHECK (version >= 1),
  text TEXT NOT NULL CHECK (text <> ''),
  effective_from INTEGER NOT NULL, effective_until INTEGER CHECK (effective_until > effective_from),
  status TEXT NOT NULL CHECK (status IN ('provisional', 'active', 'revoked')),
  decided_by TEXT, decided_at INTEGER,
  created_at INTEGER NOT NULL,{_PROVENANCE}
  detail BLOB,                         -- JSON, see `values`; NULL: nothing besides
  CHECK ((status = 'provisional') = (decided_by IS NULL)),
  UNIQUE (tenant, key, version))""",
    """CREATE TRIGGER memory_policy_enters BEFORE INSERT ON memory_policy WHEN NEW.status <> 'provisional'
BEGIN SELECT RAISE(ABORT, 'a policy enters provisional'); END""",
    """CREATE TRIGGER memory_policy_fixed BEFORE UPDATE ON memory_policy
WHEN NEW.id <> OLD.id OR NEW.tenant <> OLD.tenant OR NEW.key <> OLD.key OR NEW.version <> OLD.version
  OR NEW.text <> OLD.text OR NEW.effective_from <> OLD.effective_from
  OR NEW.effective_until IS NOT OLD.effective_until OR NEW.created_at <> OLD.created_at
  OR NEW.source_run <> OLD.source_run OR NEW.detail IS NOT OLD.detail
BEGIN SELECT RAISE(ABORT, 'a version of a policy never changes'); END""",
    """CREATE TRIGGER memory_policy_forward BEFORE UPDATE OF status ON memory_policy
WHEN OLD.status = 'revoked' OR (OLD.status = 'active' AND NEW.status <> 'revoked')
BEGIN SELECT RAISE(ABORT, 'a policy is confirmed once and revoked once'); END""",
    # ------------------------------------------------------------------ preferences
    f"""CREATE TABLE memory_preference(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL CHECK (tenant <> ''),
  user TEXT NOT NULL,                  -- '': of all users of the tenant
  key TEXT NOT NULL CHECK (key <> ''), text TEXT NOT NULL CHECK (text <> ''),
  source TEXT NOT NULL CHECK (source IN ('user_stated', 'inferred', 'admin_set')),
  confidence REAL NOT NULL CHECK (confidence >= {MIN_PREFERENCE_CONFIDENCE} AND confidence <= 1),
  status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'revoked')), superseded_by TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,{_PROVENANCE}
  detail BLOB,                         -- JSON, see `values`; NULL: nothing besides
  CHECK ((status = 'superseded') = (superseded_by IS NOT NULL)))""",
    "CREATE UNIQUE INDEX memory_preference_once ON memory_preference(tenant, user, key) WHERE status = 'active'",
    # ------------------------------------------------------------------ facts
    # Statements, which accumulate. The statements with one subject and one predicate in a scope are a slot; when each
    # statement of a slot holds is computed from all of them (scrubjay.memory.model.projection) and stored in `status`,
    # `superseded_by` and `holds`.
    # Columns after policy_version are NULL in rows of format 1: those assert, from created_at on.
    f"""CREATE TABLE memory_fact(
  id TEXT PRIMARY KEY,
  slot TEXT NOT NULL,                  -- the id of its document in the index
  {_SCOPE}
  content TEXT NOT NULL CHECK (content <> ''), subject TEXT NOT NULL, predicate TEXT NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),   -- of scope and normalised content
  topic BLOB NOT NULL,                 -- of normalised subject and predicate; empty if one of them is
  confidence REAL NOT NULL CHECK (confidence >= {MIN_FACT_CONFIDENCE} AND confidence <= 1),
  status TEXT NOT NULL CHECK (status IN ('provisional', 'active', 'superseded', 'revoked')),
  superseded_by TEXT, decided_by TEXT,
  metadata BLOB, evidence TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,
  uses INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER NOT NULL, faded INTEGER NOT NULL DEFAULT 0,{_PROVENANCE},
  relation TEXT CHECK (relation IN ('asserts', 'ends', 'corrects', 'plans')),
  single INTEGER CHECK (single IN (0, 1)),
  said_at INTEGER,
  recorded_at INTEGER,                 -- when it came into force as far as the memory knows; NULL: created_at
  valid_from INTEGER, valid_until INTEGER CHECK (valid_until > valid_from),
  withdrawn_at INTEGER,
  affirmed TEXT,                       -- JSON: [when it was said again, when that was recorded], ...
  replaces TEXT, replaced_by TEXT,     -- JSON: ids of statements
  shared_as TEXT,                      -- the tenant's fact that says it for all since it was promoted
  holds TEXT,                          -- JSON: [from, until or null], ...
  value_hash BLOB,                     -- of the normalised value
  detail BLOB,                         -- JSON: value, entities, importance
  CHECK (status <> 'superseded' OR superseded_by IS NOT NULL),
  CHECK (status <> 'provisional' OR (user = '' AND agent = '')))""",
    f"""CREATE UNIQUE INDEX memory_fact_once ON memory_fact(tenant, user, agent, hash, topic,
  ifnull(relation, 'asserts'), ifnull(valid_from, ''), ifnull(valid_until, '')) WHERE {LIVING}""",
    "CREATE UNIQUE INDEX memory_fact_slot ON memory_fact(slot) WHERE status = 'active'",
    "CREATE INDEX memory_fact_topic ON memory_fact(tenant, user, agent, topic)",
    "CREATE INDEX memory_fact_shared ON memory_fact(shared_as) WHERE shared_as IS NOT NULL",
    "CREATE INDEX memory_fact_begins ON memory_fact(tenant, valid_from) WHERE valid_from IS NOT NULL",
    "CREATE INDEX memory_fact_ends ON memory_fact(tenant, valid_until) WHERE valid_until IS NOT NULL",
    """CREATE TRIGGER memory_fact_enters BEFORE INSERT ON memory_fact
WHEN NEW.user = '' AND NEW.agent = '' AND NEW.status <> 'provisional'
BEGIN SELECT RAISE(ABORT, 'a fact of a tenant enters provisional'); END""",
    f"""CREATE TRIGGER memory_fact_promoted BEFORE UPDATE OF status ON memory_fact
WHEN OLD.status = 'provisional' AND NEW.status = 'active' AND NEW.decided_by IS NULL AND 2 > (
  {INDEPENDENT.format(tenant="NEW.tenant", hash="NEW.hash")})
BEGIN SELECT RAISE(ABORT, 'a fact of a tenant needs two independent sources, or somebody who confirms it'); END""",
    """CREATE TRIGGER memory_fact_forward BEFORE UPDATE OF status ON memory_fact
WHEN (OLD.status = 'revoked' OR NEW.status = 'provisional') AND NEW.status <> OLD.status
BEGIN SELECT RAISE(ABORT, 'what was revoked stays so, and what was in force is never provisional again'); END""",
    """CREATE TRIGGER memory_fact_stays BEFORE UPDATE ON memory_fact
WHEN NEW.id <> OLD.id OR NEW.tenant <> OLD.tenant OR NEW.user <> OLD.user OR NEW.agent <> OLD.agent
BEGIN SELECT RAISE(ABORT, 'a fact stays in its scope'); END""",
    # Observers of a statement about a tenant: two that are independent of each other promote it.
    """CREATE TABLE memory_observation(
  tenant TEXT NOT NULL, hash BLOB NOT NULL, run TEXT NOT NULL CHECK (run <> ''), user TEXT NOT NULL,
  fact TEXT NOT NULL,                  -- where it was written then
  at INTEGER NOT NULL,
  author TEXT,
  PRIMARY KEY (tenant, hash, run, user)) WITHOUT ROWID""",
    # ------------------------------------------------------------------ episodes
    f"""CREATE TABLE memory_episode(
  id TEXT PRIMARY KEY,
  slot TEXT NOT NULL UNIQUE,
  {_SCOPE}
  summary TEXT NOT NULL CHECK (summary <> ''), outcome TEXT NOT NULL CHECK (outcome <> ''),
  task_type TEXT NOT NULL, steps BLOB NOT NULL, artifacts BLOB NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
  metadata BLOB,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,
  uses INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER NOT NULL,{_PROVENANCE}
  detail BLOB,                         -- JSON, see `values`; NULL: nothing besides
  completed_at INTEGER)""",
    "CREATE UNIQUE INDEX memory_episode_once ON memory_episode(tenant, user, agent, hash) WHERE status = 'active'",
    "CREATE INDEX memory_episode_status ON memory_episode(tenant, user, agent, status)",
    """CREATE TRIGGER memory_episode_forward BEFORE UPDATE ON memory_episode
WHEN (OLD.status = 'revoked' AND NEW.status <> 'revoked') OR NEW.id <> OLD.id
  OR NEW.tenant <> OLD.tenant OR NEW.user <> OLD.user OR NEW.agent <> OLD.agent
BEGIN SELECT RAISE(ABORT, 'an episode stays in its scope, and revoked if it is'); END""",
    # ------------------------------------------------------------------ events of records
    # The change feed: numbers ascend in the order of commits, because one transaction writes at a time. The events of a
    # record are deleted with it; the event of its expiry or erasure stays, without content (record '': a whole scope).
    """CREATE TABLE memory_log(
  number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
  record TEXT NOT NULL, what TEXT NOT NULL, by TEXT, detail TEXT,
  tenant TEXT NOT NULL DEFAULT '', user TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX memory_log_record ON memory_log(record)",
    "CREATE INDEX memory_log_scope ON memory_log(tenant, user, agent)",
    """CREATE TRIGGER memory_log_fixed BEFORE UPDATE ON memory_log
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    f"""CREATE TABLE memory_rejection(
  number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
  {_SCOPE}
  kind TEXT NOT NULL, reason TEXT NOT NULL, content TEXT NOT NULL,
  source_run TEXT, source_turn INTEGER, author TEXT)""",
    "CREATE INDEX memory_rejection_scope ON memory_rejection(tenant, user, agent)",
    # Deletion events, without the deleted content. Kept forever.
    f"""CREATE TABLE memory_deletion(
  number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
  {_SCOPE}
  reason TEXT NOT NULL, by TEXT, counts TEXT NOT NULL)""",
    *(
        f"""CREATE TRIGGER memory_deletion_{name} BEFORE {name} ON memory_deletion
BEGIN SELECT RAISE(ABORT, 'deletion events are append-only'); END"""
        for name in ("update", "delete")
    ),
    *(
        f"""CREATE TRIGGER memory_{name}_kept BEFORE DELETE ON memory_{name}
WHEN NOT EXISTS (SELECT 1 FROM memory_meta WHERE name = 'erasing')
BEGIN SELECT RAISE(ABORT, 'only an erasure deletes this'); END"""
        for name in ("policy", "log")
    ),
    # ------------------------------------------------------------------ versions for the cache of known()
    # Incremented with every change of a tenant's policies or own preferences (user ''), a user's preferences, or global
    # policies (tenant ''); kept when those are erased.
    """CREATE TABLE memory_stamp(tenant TEXT NOT NULL, user TEXT NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (tenant, user)) WITHOUT ROWID""",
    *(
        f"""CREATE TRIGGER memory_{table}_{event}_stamps AFTER {event} ON memory_{table}
BEGIN INSERT INTO memory_stamp VALUES ({row}.tenant, {user.format(row=row)}, 1)
ON CONFLICT (tenant, user) DO UPDATE SET version = version + 1; END"""
        for table, user in (("policy", "''"), ("preference", "{row}.user"))
        for event, row in (("insert", "NEW"), ("update", "NEW"), ("delete", "OLD"))
    ),
    holds.TABLE,
    *trace.TABLES,
    sealing.TABLE,  # marks of format 2 for sealed tenants
)


KNOWN_TABLES["memory_"] = TABLES


def is_prepared(store: Any) -> bool:
    """Whether the store has the tables; changes nothing. `store` may be any collection of the file."""
    if not isinstance(store, SqliteStore):
        return bool(store.has_layer("memory_fact"))
    with translated(store.path, "reading memory"):
        return _format(store.reading_connection()) is not None


def prepare(store: Any) -> bool:
    """Create the tables if there are none yet; return whether they were upgraded from an older format.

    Raises:
        StoreFormatError: they have a newer format, or the collection contains documents of something other than memory.
    """
    if not isinstance(store, SqliteStore):
        postgres.prepare(store, TABLES)
        return False
    with translated(store.path, "reading memory"):
        return _prepare(store, store.reading_connection())


def _prepare(store: SqliteStore, connection: sqlite3.Connection) -> bool:
    is_upgraded = False
    if _format(connection) is None:
        with store.writing("making the tables of memory") as transaction:
            if _format(transaction.connection) is None:  # another process may have been first
                stored_format = transaction.connection.execute(
                    f"SELECT id FROM {store.tables.document} LIMIT 1"
                ).fetchone()
                if stored_format is not None:
                    raise StoreFormatError(
                        f"path: expected the collection {store.collection!r} to be empty, it is where memory keeps its "
                        f"documents; got one with {stored_format[0]!r} in it: {store.path}"
                    )
                for statement in TABLES:
                    transaction.connection.execute(statement)
                for rules in sealing.RULES:
                    register(transaction.connection, rules)
                transaction.connection.execute("INSERT INTO memory_meta VALUES ('format', ?)", (FORMAT,))
    stored_format = _format(connection)
    if stored_format is not None and 1 <= stored_format < FORMAT:
        with store.writing("bringing the tables of memory up to date") as transaction:
            stored_format = _format(transaction.connection)  # another process may have been first
            if stored_format is not None and 1 <= stored_format < FORMAT:
                upgrade(transaction.connection, stored_format, TABLES)
                for rules in sealing.RULES:
                    register(transaction.connection, rules)
                transaction.connection.execute(
                    "UPDATE memory_meta SET value = ? WHERE name = 'format'", (FORMAT,)
                )
                is_upgraded = True
        stored_format = _format(connection)
    if stored_format is None or stored_format > FORMAT:
        raise StoreFormatError(
            f"path: expected memory of format {FORMAT} or older, got format {stored_format} of a newer Scrubjay: "
            f"{store.path}"
        )
    if stored_format < 1:
        raise CorruptIndexError(
            f"memory_meta.format: expected a format from 1 to {FORMAT}, got {stored_format}"
        )
    if store.identity().id_kind == "int":
        raise CorruptIndexError(
            f"the collection {store.collection!r} does not belong to a memory: its ids are numbers"
        )
    missing = [table for table, columns in _tables().items() if _columns(connection, table) != columns]
    if missing:
        raise CorruptIndexError(f"missing or altered tables of memory: {', '.join(missing)}")
    return is_upgraded


@cache
def _tables() -> dict[str, list[str]]:
    """Table -> its columns, from a database in memory; without the table that files of older versions lack."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in TABLES:
            if "IF NOT EXISTS" not in statement:
                connection.execute(statement)
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'memory%'"
        )
        return {name: _columns(connection, name) for (name,) in names.fetchall()}
    finally:
        connection.close()


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]


def missing_rules(connection: sqlite3.Connection) -> list[str]:
    """Return the names of memory's indexes and triggers that are missing in the file."""
    if not sealing.is_file(connection):
        return postgres.missing_tables(connection)
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    heads = (statement.split("(")[0].split() for statement in TABLES)
    return [
        words[i + 1]
        for words in heads
        for i, word in enumerate(words)
        if word in _RULES and words[i + 1] not in there
    ]


_RULES = ("INDEX", "TRIGGER")


def _format(connection: sqlite3.Connection) -> int | None:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_meta'").fetchone() is None:
        return None
    row = connection.execute("SELECT value FROM memory_meta WHERE name = 'format'").fetchone()
    return None if row is None else integer(row[0], "memory_meta.format")


@contextmanager
def erasing(connection: sqlite3.Connection) -> Iterator[None]:
    """Permit deletions from append-only tables, inside the caller's transaction."""
    if not sealing.is_file(connection):  # a database has no triggers that forbid them
        yield
        return
    outer = connection.execute("INSERT OR IGNORE INTO memory_meta VALUES ('erasing', 1)").rowcount == 0
    yield
    if outer:  # an enclosing erasure goes on
        return
    connection.execute("DELETE FROM memory_meta WHERE name = 'erasing'")
