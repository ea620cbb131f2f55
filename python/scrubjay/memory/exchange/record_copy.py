"""Copies a memory's records from one store to another, row by row: ids, histories, traces and feed numbers.

The documents of the records are copied by :mod:`scrubjay.store.copying`. Here the rows of each tenant are written in
one transaction, unless the target has exactly these, so that an interrupted copy continues where it stopped. At the end
both sides are read again and their digests compared.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

from scrubjay.base.errors import StoreError, StoreFormatError, UnsupportedError
from scrubjay.index import Index
from scrubjay.memory.ledger import schema
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.postgres import NUMBERED
from scrubjay.memory.ledger.sealing import is_file
from scrubjay.memory.model.settings import Settings
from scrubjay.store.rows.sealed import frame
from scrubjay.store.sqlite.registry import unguarded

_TABLES = (
    "memory_policy",
    "memory_preference",
    "memory_fact",
    "memory_observation",
    "memory_episode",
    "memory_log",
    "memory_rejection",
    "memory_deletion",
    "memory_hold",
    "memory_run",
    "memory_event",
    "memory_distilled",
)
"""The copied tables, in order. Stamps for caches of other processes, and the format, are not copied."""

# table -> (column, the table whose numbers it contains)
_REFERENCES = {
    "memory_event": ("run", "memory_run"),
    "memory_distilled": ("run", "memory_run"),
    "memory_policy": ("policy_version", "memory_policy"),
    "memory_preference": ("policy_version", "memory_policy"),
    "memory_fact": ("policy_version", "memory_policy"),
    "memory_episode": ("policy_version", "memory_policy"),
}

_OF_RUNS = ("memory_event", "memory_distilled")

_Row = tuple[Any, ...]
_Numbers = Mapping[tuple[str, str, int], int]


def opened(index: Index) -> MemoryContext:
    """Return the context of an index's memory, creating its tables if missing, without background threads.

    Raises:
        StoreFormatError: it has an older format: open it once as a Memory.
    """
    context = MemoryContext(index, Settings.checked())
    if schema.prepare(context.store):
        raise StoreFormatError(
            f"copy: the memory was of an older format; open it once: {context.store.place}"
        )
    return context


class CopiedRecords(NamedTuple):
    """The result of a copy: `written` of the `rows` that both sides have now, and their digest."""

    rows: int
    written: int
    digest: str


def copy_records(source: MemoryContext, target: MemoryContext) -> CopiedRecords:
    """Copy every row of a memory. Neither side may be written meanwhile.

    Raises:
        UnsupportedError: rows of the source are sealed with a tenant's key.
        StoreError: the target has other rows of a tenant, or one side was written meanwhile.
    """
    n_written, n_rows, digest = 0, 0, hashlib.blake2b(digest_size=16)
    with source.snapshot() as connection:
        tenants = _tenants(connection)
        with target.reading() as there:
            to_file = is_file(there)
            if others := set(_tenants(there)) - set(tenants):
                raise _other(target, min(others))
        numbers = _numbers(connection) if to_file else {}
        for tenant in tenants:
            rows = {
                table: [_moved(table, row, tenant, numbers) for row in rows_by_table]
                for table, rows_by_table in _rows(connection, tenant, source.store.place)
            }
            expected = _digest(rows)
            n_written += _write(target, tenant, rows, expected)
            with target.reading() as there:
                rows_by_table = dict(_rows(there, tenant, target.store.place))
            if _digest(rows_by_table) != expected:
                raise StoreError(
                    f"copy: the records of {tenant!r} were changed by another writer meanwhile: "
                    f"{target.store.place}"
                )
            n_rows += sum(map(len, rows.values()))
            digest.update(expected)
    return CopiedRecords(n_rows, n_written, digest.hexdigest())


@cache
def _columns() -> dict[str, dict[str, str]]:
    """Table -> its columns and their types."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in schema.TABLES:
            connection.execute(statement)
        return {
            table: {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()}
            for table in _TABLES
        }
    finally:
        connection.close()


def _tenants(connection: Any) -> list[str]:
    tenants: set[str] = set()
    for table in _TABLES:
        if "tenant" in _columns()[table]:
            tenants |= {
                name for (name,) in connection.execute(f"SELECT DISTINCT tenant FROM {table}").fetchall()
            }
    return sorted(tenants)


def _rows(connection: Any, tenant: str, place: str) -> Iterator[tuple[str, list[_Row]]]:
    """Yield each table with the rows of a tenant ("": rows of all tenants)."""
    for table, columns in _columns().items():
        if "tenant" in columns:
            query = f"SELECT {', '.join(columns)} FROM {table} WHERE tenant = ?"
        else:
            of_table = ", ".join(f"t.{column}" for column in columns)
            query = f"SELECT {of_table} FROM {table} t JOIN memory_run r ON t.run = r.key WHERE r.tenant = ?"
        rows = connection.execute(query, (tenant,)).fetchall()
        texts = [i for i, kind in enumerate(columns.values()) if kind == "TEXT"]
        if any(isinstance(row[i], bytes) for row in rows for i in texts):
            raise UnsupportedError("copying the records of an encrypted tenant", place)
        yield table, [tuple(row) for row in rows]


def _numbers(connection: Any) -> dict[tuple[str, str, int], int]:
    """Return (table, tenant, number) -> number in a file, where numbers are unique over all tenants: ascending in the
    same order, and unchanged wherever possible."""
    numbers: dict[tuple[str, str, int], int] = {}
    for table, column in NUMBERED.items():
        rows = connection.execute(f"SELECT {column}, tenant FROM {table}").fetchall()
        last = 0
        for number, tenant in sorted(rows):
            last = max(number, last + 1)
            numbers[table, tenant, number] = last
    return numbers


def _moved(table: str, row: _Row, tenant: str, numbers: _Numbers) -> _Row:
    """Return a row with the numbers of the target."""
    if not numbers:
        return row
    columns = list(_columns()[table])
    values = list(row)
    for column, target in ((NUMBERED.get(table), table), _REFERENCES.get(table, (None, ""))):
        if column is None:
            continue
        at = columns.index(column)
        if values[at] is not None:  # the newest policy in force may be a global one
            number = values[at]
            values[at] = numbers.get((target, tenant, number), numbers.get((target, "", number), number))
    return tuple(values)


def _write(target: MemoryContext, tenant: str, rows: Mapping[str, Sequence[_Row]], expected: bytes) -> int:
    """Write the rows of a tenant in one transaction, unless they exist; return the number of rows written."""
    with target.changing("copying", of=[tenant]) as change:
        connection = change.connection
        there = dict(_rows(connection, tenant, target.store.place))
        if any(there.values()):
            if _digest(there) != expected:
                raise _other(target, tenant)
            return 0
        tables = list(_TABLES)
        with unguarded(connection, tables) if is_file(connection) else nullcontext():
            user_of = _users(rows)
            for table, found in rows.items():
                for row in found:
                    connection.execute(*_insertion(table, row, tenant, user_of, is_file(connection)))
        if is_file(connection):  # invalidates the caches of other processes
            connection.execute(
                "INSERT INTO memory_stamp(tenant, user, version) VALUES ('', '', 1) "
                "ON CONFLICT (tenant, user) DO UPDATE SET version = memory_stamp.version + 1"
            )
    return sum(map(len, rows.values()))


def _users(rows: Mapping[str, Sequence[_Row]]) -> dict[Any, str]:
    """Return the user of each run, by its key."""
    columns = list(_columns()["memory_run"])
    key, user = columns.index("key"), columns.index("user")
    return {row[key]: row[user] for row in rows.get("memory_run", ())}


def _insertion(
    table: str, row: _Row, tenant: str, user_of: Mapping[Any, str], to_file: bool
) -> tuple[str, _Row]:
    columns = list(_columns()[table])
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    if "user" in columns or table not in _OF_RUNS or (to_file and "tenant" in columns):
        return f"INSERT INTO {table}({names}) VALUES ({marks})", row
    # The row has no user column: its run determines the home.
    run = row[columns.index("run")]
    return (
        f"INSERT INTO {table}({names}) SELECT {marks} FROM memory_run WHERE tenant = ? AND user = ? AND key = ?",
        (*row, tenant, user_of.get(run, ""), run),
    )


def _digest(rows: Mapping[str, Sequence[_Row]]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for table in _TABLES:
        for one in sorted(frame(table, *map(_as_text, row)) for row in rows.get(table, ())):
            digest.update(len(one).to_bytes(8, "big"))
            digest.update(one)
    return digest.digest()


_FORMS: dict[type, Callable[[Any], str]] = {bytes: bytes.hex, str: str, int: str, float: repr}


def _as_text(value: Any) -> str:
    return "" if value is None else f"{type(value).__name__} {_FORMS[type(value)](value)}"


def _other(target: MemoryContext, tenant: str) -> StoreError:
    return StoreError(
        f"copy: expected no records of {tenant!r}, or those of this copy, got others: {target.store.place}"
    )
