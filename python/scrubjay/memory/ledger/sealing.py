"""Encryption of memory's own tables: which values are sealed, and how.

Values are sealed one by one by the store's cipher, if it has one. Sealed columns are: texts, values and types of
policies and preferences; contents, subjects, predicates, evidence, metadata and places of facts and episodes, with
all fields of an episode's task; content and reason of rejections; details in the log; author, content and data of
trace events. Not sealed are ids, names of tenants, users, agents, authors and runs, keys of policies and preferences,
kinds, statuses, numbers and times, the reasons of deletion events, which are kept forever, and global policies, which
belong to no tenant. An empty text stays empty.

Sealed bytes can be decrypted only in their table, column and row, and only while the row has the same owner. Hashes by
which equal contents are found are keyed, so that guessed contents cannot be tested against them.

The file itself declares all this (:data:`RULES`, written when the tables are created:
:mod:`scrubjay.store.sqlite.registry`), and the store seals accordingly in the transaction in which a tenant gets its
data key. So the rows of every tenant with a data key are sealed.

In the clear a text is stored as a text, and a hash is plain SHA-256.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.memory.model.names import RECORD_KINDS
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.registry import Rules, place

SEALED = {
    "memory_policy": ("text", "place", "detail"),
    "memory_preference": ("text", "place", "detail"),
    "memory_fact": ("content", "subject", "predicate", "evidence", "metadata", "place", "detail"),
    "memory_episode": (
        "summary",
        "outcome",
        "task_type",
        "steps",
        "artifacts",
        "metadata",
        "place",
        "detail",
    ),
    "memory_rejection": ("reason", "content"),
}
"""Table with a tenant's name -> its sealed columns; the first is never empty."""
BOUND = {
    "memory_policy": ("key", "version"),
    "memory_preference": ("user", "key"),
    "memory_fact": ("user", "agent"),
    "memory_episode": ("user", "agent"),
    "memory_rejection": ("user", "agent"),
}
"""Further columns authenticated with a row's sealed cells, beside tenant and id."""
BYTES = frozenset({"metadata", "steps", "artifacts", "detail"})
"""Sealed columns that contain bytes; the others contain texts."""
_HASHES = {"memory_fact": ("hash", "topic", "value_hash"), "memory_episode": ("hash",)}
EVENT = ("author", "content", "data")
"""The sealed columns of an event."""
TABLE = (
    "CREATE TABLE IF NOT EXISTS memory_sealed(tenant TEXT PRIMARY KEY, witness BLOB NOT NULL) WITHOUT ROWID"
)
"""Tenants whose rows were sealed in format 2; no longer written."""


def _rules(table: str) -> Rules:
    key, grown = ("number", False) if table == "memory_rejection" else ("id", True)
    return Rules(
        table, (key,), (key, *BOUND[table]), sealed=SEALED[table], hashes=_HASHES.get(table, ()), grown=grown
    )


RULES = (
    *map(_rules, SEALED),
    Rules("memory_observation", ("hash",), hashes=("hash",), marker="memory_sealed", grown=True),
    Rules(
        "memory_log",
        ("number",),
        ("number",),
        sealed=("detail",),
        owner=tuple(("record", table, "id") for table in map("memory_{}".format, RECORD_KINDS)),
        counted=False,
    ),
    Rules(
        "memory_event",
        ("run", "seq"),
        ("run", "seq"),
        form="dots",
        sealed=EVENT,
        empty=True,
        owner=(("run", "memory_run", "key"),),
    ),
)
"""The declaration of memory's tables in the file."""


# ---------------------------------------------------------------------- cells


def cipher_of(connection: sqlite3.Connection) -> Cipher | None:
    """Return the cipher of a store's connection; None for any other connection: everything is in the clear."""
    cipher: Cipher | None = getattr(connection, "cipher", None)
    return cipher


def place_in(table: str, column: str, id: object, bound: Sequence[Any]) -> str:
    """Return the place of a cell, which the cipher authenticates.

    >>> place_in("memory_fact", "content", "fact_1", ["jane", ""])
    'memory_fact.content ["fact_1", "jane", ""]'
    """
    return place(table, column, "list", [id, *bound])


def sealed_cell(cipher: Cipher | None, tenant: str, user: str, place: str, given: Any) -> Any:
    """Return the stored form of a text or bytes of a user ('': no user), within a transaction of the store."""
    if cipher is None or given is None or given == "":
        return given
    raw = given.encode() if isinstance(given, str) else given
    sealed = (cipher.seal_text if isinstance(given, str) else cipher.seal)(tenant, place, raw, user=user)
    return given if sealed == raw else sealed


def opened_cell(cipher: Cipher, tenant: str, place: str, kept: Any, *, as_bytes: bool, refused: bool) -> Any:
    """Return the value passed to :func:`sealed_cell`.

    Raises:
        CorruptIndexError, EncryptionError: it was changed or moved, or is in the clear and `refused`.
    """
    if kept is None or kept == "":
        return kept
    if isinstance(kept, str) or (as_bytes and not is_sealed(kept)):
        if refused:
            raise cipher.plain(place, tenant)
        if isinstance(kept, str):
            return kept
    raw = cipher.open(tenant, place, kept)
    return raw if as_bytes or raw is None else raw.decode()


def opened_in(cipher: Any, tenant: str, place: str, kept: Any) -> Any:
    """Return the text of a cell that is not part of a record; accepted in the clear if the tenant may be."""
    return opened_cell(cipher, tenant, place, kept, as_bytes=False, refused=cipher.refuses_plain(tenant))


def sealed_values(
    connection: sqlite3.Connection,
    table: str,
    tenant: str,
    user: str,
    id: object,
    bound: Sequence[Any],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """Return values of a row in their stored form, within a transaction of the store.

    Raises:
        EncryptionError: the tenant's key is unavailable; nothing may be written.
    """
    sealed = dict(values)
    if settle(connection, tenant):
        cipher = cipher_of(connection)
        for column in SEALED[table]:
            if column in sealed:
                at = place_in(table, column, id, bound)
                sealed[column] = sealed_cell(cipher, tenant, user, at, sealed[column])
    return sealed


def next_number(connection: sqlite3.Connection, table: str, *, wanted: bool) -> int | None:
    """Return the number for a new row of an AUTOINCREMENT table; None: SQLite assigns it."""
    if not wanted:
        return None
    if not is_file(connection):
        number: int = connection.next_number()  # type: ignore[attr-defined]
        return number
    query = "SELECT ifnull(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = ?"
    (found,) = connection.execute(query, (table,)).fetchone()
    return int(found)


def keyed(connection: sqlite3.Connection, tenant: str, hash: bytes) -> bytes:
    """Return the stored form of a content hash: keyed if the tenant is sealed; an empty one stays empty."""
    cipher = cipher_of(connection)
    if cipher is None or not hash:
        return hash
    if cipher.is_sealing(connection):
        return cipher.digest(tenant, hash) if settle(connection, tenant) else hash
    sealed = cipher.ring is not None and cipher.is_sealed(tenant)
    return cipher.digest(tenant, hash) if sealed else hash


# ---------------------------------------------------------------------- a tenant


def settle(connection: sqlite3.Connection, tenant: str) -> bool:
    """Give a tenant that has a key its data key; return whether new values are sealed.

    Called within a transaction of the store. Drawing the data key seals the tables, so rows and hashes read before may
    have changed.

    Raises:
        EncryptionError: the tenant's key is unavailable (KeyErasedError: permanently), or the tenant must first be
            encrypted by :meth:`scrubjay.Admin.encrypt`.
    """
    cipher = cipher_of(connection)
    return cipher is not None and cipher.current(tenant) is not None


def is_file(connection: sqlite3.Connection) -> bool:
    """Whether the tables are in a file, with triggers, and may be sealed; otherwise they are in a database."""
    return bool(getattr(connection, "is_file", True))


def release(connection: sqlite3.Connection, tenant: str) -> None:
    """Delete the mark of format 2 for a tenant without rows."""
    if is_file(connection) and not _has_rows(connection, tenant):
        connection.execute("DELETE FROM memory_sealed WHERE tenant = ?", (tenant,))


def _has_rows(connection: sqlite3.Connection, tenant: str) -> bool:
    execute = connection.execute
    tables = (*SEALED, "memory_observation", "memory_run")
    return any(
        execute(f"SELECT 1 FROM {table} WHERE tenant = ? LIMIT 1", (tenant,)).fetchone() for table in tables
    )


# ---------------------------------------------------------------------- traces


def place_of_event(column: str, run: int, seq: int) -> str:
    """Return the place of an event's cell, which the cipher authenticates."""
    return f"memory_event.{column} {run}.{seq}"


class Sealer:
    """Seals and decrypts the texts of traces in one store; in the clear if it has no cipher.

    >>> sealer = Sealer(store=None)
    >>> sealer.seal("acme", "memory_event.content 1.1", "Hello"), sealer.readable("acme")
    ('Hello', True)
    """

    def __init__(self, store: Any) -> None:
        self._cipher: Any = getattr(store, "cipher", None)

    def readable(self, tenant: str, user: str | None = None) -> bool:
        """Whether neither the tenant's nor the user's key was destroyed; if one was, the data counts as erased."""
        return self._cipher is None or self._cipher.readable(tenant, user)

    def opens_plain(self) -> bool:
        """Whether every stored text is plain, for every tenant: there are no keys."""
        return self._cipher is None or self._cipher.ring is None

    def require(self, tenant: str) -> None:
        """Obtain the tenant's key before a transaction, so that no other writer waits for the key provider."""
        if self._cipher is not None:
            self._cipher.require([tenant])

    def seal(
        self, tenant: str, place: str, given: str | bytes | None, *, user: str = ""
    ) -> str | bytes | None:
        """Return the stored form of a value of a user ('': no user), within a transaction of the store."""
        if self._cipher is None or given is None:
            return given
        raw = given.encode() if isinstance(given, str) else given
        seal = self._cipher.seal_text if isinstance(given, str) else self._cipher.seal
        sealed: str | bytes | None = seal(tenant, place, raw, user=user)
        return given if sealed == raw else sealed

    def open_text(self, tenant: str, column: str, run: int, seq: int, kept: str | bytes | None) -> str | None:
        """Return the text of an event's cell.

        Raises:
            CorruptIndexError, EncryptionError: as :meth:`open`.
        """
        if kept.__class__ is str and self.opens_plain():
            return kept
        opened = self.open(tenant, place_of_event(column, run, seq), kept)
        return None if opened is None else opened.decode()

    def open(self, tenant: str, place: str, kept: str | bytes | None) -> bytes | None:
        """Return the bytes of a sealed value (of a str its UTF-8).

        Raises:
            CorruptIndexError, EncryptionError: they were changed or moved, or are in the clear, which is refused.
        """
        raw = kept.encode() if isinstance(kept, str) else kept
        if self._cipher is None or raw is None:
            return raw
        if isinstance(kept, str) and self._cipher.refuses_plain(tenant):
            raise self._cipher.plain(place, tenant)
        opened: bytes | None = self._cipher.open(tenant, place, raw)
        return opened
