"""What of memory's own tables may nobody read without the tenant's key, and how is it kept?

By the store's cipher, where it has one, cell by cell. Sealed is what somebody said: texts of policies and preferences;
contents, subjects, predicates, evidence, metadata and places of facts and episodes, with all of what an episode did;
what the gate refused and why; details in the log; author, content, data of a trace's events. In the clear stay ids,
names of tenants, users, agents, authors and runs, the keys of policies and preferences, kinds, statuses, numbers and
times, and the reason of a deletion event, which outlives everything. An empty text stays one.

Sealed bytes open in their table, column and row only, and only while it belongs to whom it belonged. Hashes by which
equal contents are noticed are keyed, so nobody can guess a content and compare. They have to be keyed all or none: the
first write to memory after a tenant got its key seals everything of the tenant that stands there, in the same
transaction (:func:`settle`), and leaves its mark: a row of `memory_sealed`, whose sealed bytes also tell the store that
the data key is still needed, when other tables have no tenant's name.

In the clear a text stays a text in the file, and a hash is plain SHA-256.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.errors import CorruptIndexError
from scrubjay.store.cipher import BESIDE, Beside, Cipher
from scrubjay.store.encryption import is_sealed, sealed_by

__all__ = [
    "BOUND",
    "BYTES",
    "EVENT",
    "SEALED",
    "TABLE",
    "Sealer",
    "cipher_of",
    "keyed",
    "next_number",
    "opened_cell",
    "place_in",
    "place_of_event",
    "release",
    "sealed_cell",
    "sealed_values",
    "settle",
]

SEALED = {
    "memory_policy": ("text", "place"),
    "memory_preference": ("text", "place"),
    "memory_fact": ("content", "subject", "predicate", "evidence", "metadata", "place"),
    "memory_episode": ("summary", "outcome", "task_type", "steps", "artifacts", "metadata", "place"),
    "memory_rejection": ("reason", "content"),
}
"""Table with a tenant's name -> its columns that are sealed; the first is never empty."""
BOUND = {
    "memory_policy": ("key", "version"),
    "memory_preference": ("user", "key"),
    "memory_fact": ("user", "agent"),
    "memory_episode": ("user", "agent"),
    "memory_rejection": ("user", "agent"),
}
"""What else of a row is authenticated with its sealed cells, beside tenant and id."""
BYTES = frozenset({"metadata", "steps", "artifacts"})
"""Which of them are bytes; the others are texts."""
_HASHES = {"memory_fact": ("hash", "topic"), "memory_episode": ("hash",)}
_RECORDS = ("memory_policy", "memory_preference", "memory_fact", "memory_episode")
EVENT = ("author", "content", "data")
"""What is sealed of an event."""
TABLE = (
    "CREATE TABLE IF NOT EXISTS memory_sealed(tenant TEXT PRIMARY KEY, witness BLOB NOT NULL) WITHOUT ROWID"
)


# ---------------------------------------------------------------------- cells


def cipher_of(connection: sqlite3.Connection) -> Cipher | None:
    """Return the cipher of a store's connection; None: it is another one, and everything is in the clear."""
    cipher: Cipher | None = getattr(connection, "cipher", None)
    return cipher


def place_in(table: str, column: str, id: object, bound: Sequence[Any]) -> str:
    """Return where a cell is, for the cipher.

    >>> place_in("memory_fact", "content", "fact_1", ["jane", ""])
    'memory_fact.content ["fact_1", "jane", ""]'
    """
    return f"{table}.{column} {json.dumps([id, *bound])}"


def sealed_cell(cipher: Cipher | None, tenant: str, place: str, given: Any) -> Any:
    """Return what is to be kept of a text or bytes, within a transaction of the store."""
    if cipher is None or given is None or given == "":
        return given
    raw = given.encode() if isinstance(given, str) else given
    kept = cipher.seal(tenant, place, raw)
    return given if kept == raw else kept


def opened_cell(cipher: Cipher, tenant: str, place: str, kept: Any, *, as_bytes: bool, whole: bool) -> Any:
    """Return what :func:`sealed_cell` was given.

    Raises:
        CorruptIndexError: it was changed or moved, or is in the clear though all of the tenant (`whole`) was encrypted.
    """
    if kept is None or kept == "":
        return kept
    if isinstance(kept, str) or (as_bytes and not is_sealed(kept)):
        if whole:
            raise CorruptIndexError(
                f"{place} is in the clear, though all of tenant {tenant!r} was encrypted: something else wrote it "
                "(Index.encrypt accepts and seals it)"
            )
        if isinstance(kept, str):
            return kept
    raw = cipher.open(tenant, place, kept)
    return raw if as_bytes or raw is None else raw.decode()


def sealed_values(
    connection: sqlite3.Connection,
    table: str,
    tenant: str,
    id: object,
    bound: Sequence[Any],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """Return values of a row as they are to be kept, within a transaction of the store.

    Raises:
        EncryptionError: the tenant's key cannot be had; nothing may be written.
    """
    kept = dict(values)
    if settle(connection, tenant):
        cipher = cipher_of(connection)
        for column in SEALED[table]:
            if column in kept:
                kept[column] = sealed_cell(cipher, tenant, place_in(table, column, id, bound), kept[column])
    return kept


def next_number(connection: sqlite3.Connection, table: str, *, wanted: bool) -> int | None:
    """Return the number that a row of an AUTOINCREMENT table is to have; None: whatever is next."""
    if not wanted:
        return None
    query = "SELECT ifnull(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = ?"
    (number,) = connection.execute(query, (table,)).fetchone()
    return int(number)


def keyed(connection: sqlite3.Connection, tenant: str, hash: bytes) -> bytes:
    """Return a hash of contents as it stands in the file, if the tenant is sealed there; empty stays empty."""
    cipher = cipher_of(connection)
    if cipher is None or not hash:
        return hash
    if cipher.is_sealing(connection):
        sealed = settle(connection, tenant)
    else:
        sealed = cipher.ring is not None and _witness(connection, tenant) is not None
    return cipher.digest(tenant, hash) if sealed else hash


# ---------------------------------------------------------------------- a tenant


def settle(connection: sqlite3.Connection, tenant: str) -> bool:
    """Seal all that memory has of a tenant who has got a key since the last write; return whether it is sealed.

    Within a transaction of the store. Rows and hashes that were read before may be others after.

    Raises:
        EncryptionError: the tenant's key cannot be had (KeyErasedError: ever again).
    """
    cipher = cipher_of(connection)
    box = None if cipher is None else cipher.current(tenant)
    if cipher is None or box is None:
        return False
    witness = _witness(connection, tenant)
    if witness is None:
        _seal(connection, tenant)
    elif not is_sealed(witness) or sealed_by(witness) != box.id:
        raise CorruptIndexError(f"what memory keeps of tenant {tenant!r} was sealed with another data key")
    return True


def release(connection: sqlite3.Connection, tenant: str) -> None:
    """Let go of the mark of a tenant of whom memory keeps nothing any more; its data key may go then."""
    if _is_there(connection) and not _has_rows(connection, tenant):
        connection.execute("DELETE FROM memory_sealed WHERE tenant = ?", (tenant,))


def _witness(connection: sqlite3.Connection, tenant: str) -> bytes | None:
    found = connection.execute("SELECT witness FROM memory_sealed WHERE tenant = ?", (tenant,)).fetchone()
    return None if found is None else bytes(found[0])


def _is_there(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_run'").fetchone() is not None


_EVENTS_OF = "memory_event e JOIN memory_run r ON r.key = e.run WHERE r.tenant = ?"
_ANY_EVENT = f"SELECT 1 FROM {_EVENTS_OF} LIMIT 1"
_CLEAR_EVENTS = (
    f"SELECT e.run, e.seq, e.author, e.content, e.data FROM {_EVENTS_OF} AND typeof(e.author) = 'text'"
)


def _has_rows(connection: sqlite3.Connection, tenant: str) -> bool:
    execute = connection.execute
    tables = (*SEALED, "memory_observation", "memory_run")
    return any(
        execute(f"SELECT 1 FROM {table} WHERE tenant = ? LIMIT 1", (tenant,)).fetchone() for table in tables
    )


def _is_clear(connection: sqlite3.Connection, tenant: str) -> bool:
    """Whether anything of a tenant is there that is not sealed."""
    if not _is_there(connection):
        return False
    execute = connection.execute
    return any(
        execute(
            f"SELECT 1 FROM {table} WHERE tenant = ? AND typeof({columns[0]}) = 'text' LIMIT 1", (tenant,)
        ).fetchone()
        for table, columns in SEALED.items()
    ) or bool(execute(f"{_CLEAR_EVENTS} LIMIT 1", (tenant,)).fetchone())


def _seal(connection: sqlite3.Connection, tenant: str) -> None:
    """Seal what is in the clear of a tenant, hashes included; and mark it."""
    cipher = cipher_of(connection)
    if cipher is None or not _is_there(connection):
        return
    execute = connection.execute
    execute(TABLE)
    is_first = _witness(connection, tenant) is None
    # A record's content stays what it was, and so do events: the rules that forbid to change them are set aside until
    # the end of this step. Nobody else writes meanwhile, and a transaction that fails brings them back as well.
    triggers = execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'memory\\_%' ESCAPE '\\'"
    ).fetchall()
    for name, _ in triggers:
        execute(f"DROP TRIGGER {name}")
    for table in SEALED:
        _seal_table(connection, cipher, table, tenant)
    if is_first:
        hashes = execute(
            "SELECT DISTINCT hash FROM memory_observation WHERE tenant = ?", (tenant,)
        ).fetchall()
        for (hash,) in hashes:
            execute(
                "UPDATE memory_observation SET hash = ? WHERE tenant = ? AND hash = ?",
                (cipher.digest(tenant, hash), tenant, hash),
            )
    for record in _RECORDS:
        for number, detail in execute(
            f"SELECT l.number, l.detail FROM {record} r JOIN memory_log l ON l.record = r.id "
            "WHERE r.tenant = ? AND typeof(l.detail) = 'text'",
            (tenant,),
        ).fetchall():
            kept = sealed_cell(cipher, tenant, place_in("memory_log", "detail", number, ()), detail)
            execute("UPDATE memory_log SET detail = ? WHERE number = ?", (kept, number))
    for run, seq, *texts in execute(_CLEAR_EVENTS, (tenant,)).fetchall():
        kept_texts = [
            cipher.seal(
                tenant, place_of_event(column, run, seq), text.encode() if isinstance(text, str) else text
            )
            for column, text in zip(EVENT, texts, strict=True)
        ]
        execute(
            "UPDATE memory_event SET author = ?, content = ?, data = ? WHERE run = ? AND seq = ?",
            (*kept_texts, run, seq),
        )
    for _, statement in triggers:
        execute(statement)
    execute(
        "INSERT OR REPLACE INTO memory_sealed VALUES (?, ?)",
        (tenant, cipher.seal(tenant, "memory_sealed.witness", b"memory")),
    )


def _seal_table(connection: sqlite3.Connection, cipher: Cipher, table: str, tenant: str) -> None:
    columns, hashes = SEALED[table], _HASHES.get(table, ())
    key = "number" if table == "memory_rejection" else "id"
    bound = BOUND[table]
    wanted = ", ".join((key, *bound, *columns, *hashes))
    query = f"SELECT {wanted} FROM {table} WHERE tenant = ? AND typeof({columns[0]}) = 'text'"
    assignments = ", ".join(f"{column} = ?" for column in (*columns, *hashes))
    for id, *values in connection.execute(query, (tenant,)).fetchall():
        names, cells, plain = (
            values[: len(bound)],
            values[len(bound) : len(bound) + len(columns)],
            values[len(bound) + len(columns) :],
        )
        kept = [
            sealed_cell(cipher, tenant, place_in(table, column, id, names), cell)
            for column, cell in zip(columns, cells, strict=True)
        ]
        kept += [cipher.digest(tenant, hash) if hash else hash for hash in plain]
        connection.execute(f"UPDATE {table} SET {assignments} WHERE {key} = ?", (*kept, id))


BESIDE.append(Beside(_is_clear, _seal))


# ---------------------------------------------------------------------- traces


def place_of_event(column: str, run: int, seq: int) -> str:
    """Return where a cell of an event is, for the cipher."""
    return f"memory_event.{column} {run}.{seq}"


class Sealer:
    """Seals and opens the texts of traces in one store; in the clear if it has no cipher.

    >>> sealer = Sealer(store=None)
    >>> sealer.seal("acme", "memory_event.content 1.1", "Hello"), sealer.readable("acme")
    ('Hello', True)
    """

    def __init__(self, store: Any) -> None:
        self._cipher: Cipher | None = getattr(store, "cipher", None)

    def readable(self, tenant: str) -> bool:
        """Whether the tenant's key was not destroyed: otherwise the tenant is as if erased."""
        return self._cipher is None or self._cipher.readable(tenant)

    def require(self, tenant: str) -> None:
        """Ask for the tenant's key before a transaction, so that nobody waits for it within one."""
        if self._cipher is not None:
            self._cipher.require([tenant])

    def seal(self, tenant: str, place: str, given: str | bytes | None) -> str | bytes | None:
        """Return what is to be kept, within a transaction of the store."""
        if self._cipher is None or given is None:
            return given
        raw = given.encode() if isinstance(given, str) else given
        kept = self._cipher.seal(tenant, place, raw)
        return given if kept == raw else kept

    def open(self, tenant: str, place: str, kept: str | bytes | None) -> bytes | None:
        """Return the bytes that were given (of a str its UTF-8).

        Raises:
            CorruptIndexError: they were changed or moved, or are in the clear though all of the tenant was encrypted.
        """
        raw = kept.encode() if isinstance(kept, str) else kept
        if self._cipher is None or raw is None:
            return raw
        if isinstance(kept, str) and self._cipher.is_whole(tenant):
            raise CorruptIndexError(f"{place} is in the clear, though all of tenant {tenant!r} was encrypted")
        return self._cipher.open(tenant, place, raw)
