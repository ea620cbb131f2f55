"""Rows of memory's tables, and which of them a scope may see or change (`making` turns them into records)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.memory.ledger.inserting import insert_values
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.sealing import (
    BOUND,
    BYTES,
    SEALED,
    cipher_of,
    keyed,
    opened_cell,
    place_in,
    sealed_values,
    settle,
)
from scrubjay.memory.model.content import digest, topic, value_digest
from scrubjay.memory.model.decoding import RowTypes, checked, decoded
from scrubjay.memory.model.names import Relation
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.connections import fetched
from scrubjay.store.together import Change

__all__ = [
    "IN_SCOPE",
    "ROWS",
    "TYPES",
    "EpisodeRow",
    "FactRow",
    "PolicyRow",
    "PreferenceRow",
    "Row",
    "as_row",
    "belongs_to",
    "find_row",
    "hash_in",
    "insert",
    "is_among",
    "is_global",
    "is_visible",
    "kind_of",
    "names_seen",
    "new_id",
    "new_ids",
    "opened_rows",
    "opener",
    "raw_rows_where",
    "rows_where",
    "sealed_columns",
    "topic_in",
    "update_fact",
    "value_hash_in",
]


class PolicyRow(NamedTuple):
    """A row of memory_policy."""

    id: str
    tenant: str  # '': global
    user: str  # ''
    agent: str  # ''
    status: str
    begins_at: int
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    key: str
    version: int
    text: str
    decided_by: str | None
    detail: bytes | None

    @property
    def kind(self) -> str:
        """ "policy"."""
        return "policy"


class PreferenceRow(NamedTuple):
    """A row of memory_preference."""

    id: str
    tenant: str
    user: str  # '': of all users
    agent: str  # ''
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    key: str
    text: str
    source: str
    confidence: float
    superseded_by: str | None
    updated_at: int
    detail: bytes | None

    @property
    def kind(self) -> str:
        """ "preference"."""
        return "preference"


class FactRow(NamedTuple):
    """A row of memory_fact."""

    id: str
    tenant: str
    user: str
    agent: str
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    content: str
    subject: str
    predicate: str
    confidence: float
    superseded_by: str | None
    decided_by: str | None
    uses: int
    last_used_at: int
    faded: int
    evidence: str | None
    metadata: bytes | None
    updated_at: int
    slot: str
    hash: bytes
    topic: bytes
    relation: Relation | None = None  # from here on: None in rows of format 1
    single: int | None = None
    said_at: int | None = None
    recorded_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    withdrawn_at: int | None = None
    affirmed: str | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    shared_as: str | None = None
    holds: str | None = None
    value_hash: bytes | None = None
    detail: bytes | None = None

    @property
    def kind(self) -> str:
        """ "fact"."""
        return "fact"

    @property
    def text(self) -> str:
        """What is searched."""
        return self.content


class EpisodeRow(NamedTuple):
    """A row of memory_episode."""

    id: str
    tenant: str
    user: str
    agent: str
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    summary: str
    outcome: str
    task_type: str
    steps: bytes
    artifacts: bytes
    uses: int
    last_used_at: int
    metadata: bytes | None
    updated_at: int
    slot: str
    hash: bytes
    detail: bytes | None
    completed_at: int | None

    @property
    def kind(self) -> str:
        """ "episode"."""
        return "episode"

    @property
    def text(self) -> str:
        """What is searched."""
        return self.summary


Row = PolicyRow | PreferenceRow | FactRow | EpisodeRow

ROWS: dict[str, type[Any]] = {
    "policy": PolicyRow,
    "preference": PreferenceRow,
    "fact": FactRow,
    "episode": EpisodeRow,
}
_MISSING = {
    "policy": {"user": "''", "agent": "''", "begins_at": "effective_from", "expires_at": "effective_until"},
    "preference": {"agent": "''", "begins_at": "NULL"},
    "fact": {"begins_at": "NULL"},
    "episode": {"begins_at": "NULL"},
}
_SAID = {kind: row._fields.index(SEALED[KINDS[kind]][0]) for kind, row in ROWS.items()}
TYPES = {kind: RowTypes(row) for kind, row in ROWS.items()}
SELECT = {
    kind: f"SELECT {', '.join(_MISSING[kind].get(name, name) for name in row._fields)} FROM {KINDS[kind]} "
    for kind, row in ROWS.items()
}
"""Kind -> the beginning of a statement that reads its rows."""


def _columns(kind: str) -> dict[int, str]:
    """Where in its tuple a kind has the columns that its table has, and what they are called there."""
    names = ((i, _MISSING[kind].get(name, name)) for i, name in enumerate(ROWS[kind]._fields))
    return {i: name for i, name in names if name not in ("''", "NULL")}


_COLUMNS = {table: _columns(kind) for kind, table in KINDS.items()}
_VALUES = {table: itemgetter(*names) for table, names in _COLUMNS.items()}
_INSERT = {
    table: f"INSERT INTO {table}({', '.join(names.values())}) VALUES ({', '.join('?' * len(names))})"
    for table, names in _COLUMNS.items()
}


IN_SCOPE = "tenant = ? AND user = ? AND agent = ? "
"""The condition for facts and episodes of exactly one scope."""


def new_id(kind: str) -> str:
    """Return an id that is unique in the file, which tells its kind and nothing else; callers never choose one."""
    return f"{kind}_{os.urandom(16).hex()}"


def new_ids(*kinds: str) -> tuple[str, ...]:
    """Return several of them, drawn at once."""
    drawn = os.urandom(16 * len(kinds)).hex()
    return tuple([f"{kind}_{drawn[32 * i : 32 * i + 32]}" for i, kind in enumerate(kinds)])


def kind_of(id: object) -> str | None:
    """Return the kind of record that an id is of, or None for an id of another form.

    Raises:
        TypeError: it is not a str.
    """
    if not isinstance(id, str):
        raise TypeError(f"id: expected a str, got {type(id).__name__}")
    kind = id.partition("_")[0]
    return kind if kind in KINDS else None


def rows_where(
    connection: sqlite3.Connection,
    kind: str,
    condition: str,
    values: Sequence[Any] = (),
    *,
    damaged: list[str] | None = None,
) -> Iterator[Any]:
    """Yield the rows of a kind that meet a condition, opened; those of a tenant whose key was destroyed are not there.

    A condition can ask for what is not sealed, see :mod:`scrubjay.memory.ledger.sealing`.

    Args:
        damaged: is called with what is wrong with unreadable rows, which are left out; None: they raise.

    Raises:
        EncryptionError: a row's key is not available.
        CorruptIndexError: something else changed a row in the file.
    """
    yield from opened_rows(connection, kind, raw_rows_where(connection, kind, condition, values), damaged)


def opened_rows(
    connection: sqlite3.Connection, kind: str, found: Iterable[tuple[Any, ...]], damaged: list[str] | None
) -> Iterator[Any]:
    """Yield what :func:`raw_rows_where` returned as :func:`rows_where` does."""
    make, open_row = ROWS[kind]._make, opener(connection)
    for values_of_row in found:
        try:
            row = open_row(make(values_of_row))
        except CorruptIndexError as error:
            if damaged is None:
                raise
            damaged.append(f"{kind} {values_of_row[0]!r}: {error.what}")
            continue
        if row is not None:
            yield row


def opener(connection: sqlite3.Connection) -> Callable[[Any], Any]:
    """Return what opens rows of the file, for immediate use; None if the tenant's or user's key was destroyed.

    It raises CorruptIndexError for a row that is not what was written.
    """
    cipher = cipher_of(connection)
    if cipher is None:
        return _checked
    if cipher.ring is None:
        return partial(_unsealed, cipher)
    owners: dict[tuple[str, str], tuple[bool, bool]] = {}

    def opened(row: Any) -> Any:
        if row.tenant.__class__ is not str or row.user.__class__ is not str:
            return _checked(row)
        owner = row.tenant, row.user
        if owner not in owners:
            readable = cipher.readable(*owner)
            owners[owner] = readable, readable and cipher.refuses_plain(row.tenant)
        readable, refused = owners[owner]
        return _opened(cipher, row, refused) if readable else None

    return opened


def _unsealed(cipher: Cipher, row: Row) -> Row:
    """Return a row as it is, without keys; a sealed one is refused."""
    if row.tenant.__class__ is not str or type(row[_SAID[row.kind]]) is str:
        return _checked(row)
    return _opened(cipher, row, False)


def _checked(row: Row, *, in_the_clear: bool = True) -> Row:
    held: Row = checked(row, TYPES[row.kind], in_the_clear=in_the_clear)
    return held


def _opened(cipher: Cipher, row: Row, refused: bool) -> Row:
    table = KINDS[row.kind]
    bound = [getattr(row, name) for name in BOUND[table]]
    sealed = is_sealed_text(row[_SAID[row.kind]])

    def cells() -> dict[str, Any]:
        return {
            column: opened_cell(
                cipher,
                row.tenant,
                place_in(table, column, row.id, bound),
                getattr(row, column),
                as_bytes=column in BYTES,
                refused=refused,
            )
            for column in SEALED[table]
        }

    opened: Row = row._replace(**decoded("sealed bytes", row.id, cells))
    return _checked(opened, in_the_clear=not sealed)


def is_sealed_text(kept: Any) -> bool:
    """Whether a text column holds sealed bytes."""
    return isinstance(kept, bytes) and is_sealed(kept)


def raw_rows_where(
    connection: sqlite3.Connection, kind: str, condition: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return the same as they are in the file, as bare tuples, their ids first; :func:`as_row` makes rows of them."""
    return fetched(connection, f"{SELECT[kind]}WHERE {condition}", values)


def as_row(kind: str, values: tuple[Any, ...]) -> Row:
    """Return a bare tuple as a row."""
    row: Row = ROWS[kind]._make(values)
    return row


def find_row(connection: sqlite3.Connection, id: object) -> Row | None:
    """Return the row of an id, whatever its status, or None."""
    kind = kind_of(id)
    if kind is None or "\udc00" <= max(str(id)) <= "\udfff":
        return None
    return next(rows_where(connection, kind, "id = ?", (id,)), None)


def insert(connection: sqlite3.Connection, table: str, *rows: Row) -> None:
    """Insert rows in their order; the columns that their table has under another name, or not at all, are known. They
    are sealed here."""
    sealing = {tenant: settle(connection, tenant) for tenant in {row.tenant for row in rows}}
    values = []
    for row in rows:
        if sealing[row.tenant]:
            said = {name: getattr(row, name) for name in SEALED[table]}
            row = row._replace(**sealed_columns(connection, row, said))
        values.append(_VALUES[table](row))
    insert_values(connection, _INSERT[table], values)


def sealed_columns(connection: sqlite3.Connection, row: Row, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values of some columns of a row as they are to be kept, within a transaction.

    Raises:
        EncryptionError: the tenant's key cannot be had.
    """
    table = KINDS[row.kind]
    bound = [getattr(row, name) for name in BOUND[table]]
    return sealed_values(connection, table, row.tenant, row.user, row.id, bound, values)


def update_fact(change: Change, old: FactRow, new: FactRow, columns: Iterable[str]) -> None:
    """Write those of some columns of a fact that changed."""
    values = {name: getattr(new, name) for name in columns if getattr(new, name) != getattr(old, name)}
    if values:
        values = sealed_columns(change.connection, new, values)
        assignments = ", ".join(f"{name} = ?" for name in values)
        change.connection.execute(
            f"UPDATE memory_fact SET {assignments} WHERE id = ?", (*values.values(), old.id)
        )


def hash_in(connection: sqlite3.Connection, scope: Scope, text: str) -> bytes:
    """Return the hash of a content in a scope as the file has it."""
    return keyed(connection, scope.tenant, digest(scope, text))


def topic_in(connection: sqlite3.Connection, tenant: str, subject: str, predicate: str) -> bytes:
    """Return what facts of a tenant have in common that may contradict each other, as the file has it."""
    return keyed(connection, tenant, topic(subject, predicate))


def value_hash_in(connection: sqlite3.Connection, tenant: str, value: Any) -> bytes | None:
    """Return by what equal values of a slot are found, as the file has it; None without a value."""
    return None if value is None else keyed(connection, tenant, value_digest(value))


# ---------------------------------------------------------------------- who may


def scope_in(row: Row) -> Scope:
    """Return the exact scope of a row."""
    return scope_of(row.tenant, row.user, row.agent)


def is_global(row: Row) -> bool:
    """Whether a row is a policy that is in force for every tenant; it has no scope."""
    return row.kind == "policy" and row.tenant == ""


def is_visible(row: Row, scope: Scope) -> bool:
    """Whether a search from `scope` may see what the row's scope holds; a global policy is everybody's."""
    return is_among(row, names_seen(scope))


def is_among(row: Row, names: Collection[tuple[str, str, str]]) -> bool:
    """The same for the scopes of :func:`names_seen`, where many rows are asked about."""
    return is_global(row) or row[1:4] in names


def names_seen(scope: Scope) -> frozenset[tuple[str, str, str]]:
    """Return the scopes that a search from `scope` may see, as rows have them."""
    return frozenset(map(names_of, scope.visible()))


def belongs_to(row: Row, scope: Scope) -> bool:
    """Whether `scope` may change a record: it sees it, and no other scope does.

    A tenant's own records belong to the tenant's scope only, those of an agent for all users to no single user.
    """
    user, agent = scope.user or "", scope.agent or ""
    if row.tenant != scope.tenant or row.user != user:
        return False
    return row.agent == agent or (user != "" and row.agent == "")
