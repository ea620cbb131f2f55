"""The registry of tables outside of the collections, and of their sealed columns.

It is stored in the file: a row of `sealed_table` for each table, written in the transaction that creates the
table. So what is sealed does not depend on which modules a process has imported. (The tables of feedback, one per
collection, are the store's own and have no row.) The rules are data; every identifier is checked when they are
read:

    key      the columns that identify a row
    bound    the columns that are authenticated with a sealed cell
    form     how these are written: "list" (JSON) or "dots"
    sealed   the columns that are sealed; the first is never empty in a plain row
    empty    whether empty texts are sealed, too
    hashes   the columns with hashes of contents, keyed once the tenant has a key
    owner    how a row belongs to a tenant: by its column `tenant` (empty), or through other rows:
             [[column, table, column], ..]
    counted  whether the rows are in a digest (:mod:`scrubjay.store.sqlite.digests`); they have a column `tenant`
    marker   a table in which format 2 recorded the tenants whose rows it had sealed
    grown    whether columns were appended after a last column that was never NULL: trailing NULLs are not in the
             digest, so older rows keep theirs
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.rows.decoding import name_of
from scrubjay.store.rows.sealed import SEALED, unescaped

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


class Seals(Protocol):
    """What this module needs of a store's cipher."""

    def seal(self, tenant: str, place: str, data: bytes | None, *, user: str = "") -> bytes | None:
        """Return the bytes in stored form, within a transaction."""
        ...

    def digest(self, tenant: str, data: bytes) -> bytes:
        """Return a keyed hash."""
        ...


class Rules(NamedTuple):
    """The sealing rules of one table."""

    name: str
    key: tuple[str, ...]
    bound: tuple[str, ...] = ()
    form: str = "list"
    sealed: tuple[str, ...] = ()
    empty: bool = False
    hashes: tuple[str, ...] = ()
    owner: tuple[tuple[str, str, str], ...] = ()
    counted: bool = True
    marker: str | None = None
    grown: bool = False

    @property
    def owned(self) -> str:
        """The SQL condition that a row belongs to the tenant; its parameters are `asked(tenant)`."""
        if not self.owner:
            return "tenant = ?"
        ways = (f"SELECT {column} FROM {table} WHERE tenant = ?" for _, table, column in self.owner)
        return f"{self.owner[0][0]} IN ({' UNION ALL '.join(ways)})"

    def asked(self, tenant: str) -> tuple[str, ...]:
        """Return the parameters of `owned`."""
        return (tenant,) * max(1, len(self.owner))

    @property
    def plain(self) -> str:
        """The SQL condition that a row is plain."""
        first = self.sealed[0]
        return (
            f"{first} IS NOT NULL AND hex(substr(CAST({first} AS BLOB), 1, 2)) <> '{SEALED.hex().upper()}'"
            + ("" if self.empty else f" AND {first} <> ''")
        )


def register(connection: sqlite3.Connection, rules: Rules) -> None:
    """Register the rules of a table; the caller holds the transaction that creates it."""
    fields = {name: value for name, value in rules._asdict().items() if name != "name"}
    connection.execute(
        "INSERT OR REPLACE INTO sealed_table(name, rules) VALUES (?, ?)", (rules.name, json.dumps(fields))
    )


def rules(connection: sqlite3.Connection) -> list[Rules]:
    """Return the rules of every existing table.

    Raises:
        CorruptIndexError: they were changed in the file.
    """
    rows = connection.execute(
        "SELECT r.name, r.rules FROM sealed_table r JOIN sqlite_master m ON m.type = 'table' AND m.name = r.name "
        "ORDER BY r.name"
    ).fetchall()
    notes = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND (name = 'feedback' OR name IN ("
        "SELECT 'feedback_' || number FROM collection))"
    ).fetchall()
    return [
        *(
            Rules(name, key=("number",), bound=("number",), form="dots", sealed=("query",), empty=True)
            for (name,) in notes
        ),
        *(_read(name, stored) for name, stored in rows),
    ]


def _read(name: Any, said: Any) -> Rules:
    try:
        fields = json.loads(said)
        columns = {field: tuple(fields[field]) for field in ("key", "bound", "sealed", "hashes")}
        owner = tuple((str(a), str(b), str(c)) for a, b, c in fields["owner"])
        form, empty, counted, marker = fields["form"], fields["empty"], fields["counted"], fields["marker"]
        grown = bool(fields.get("grown", False))  # missing in older files
    except (TypeError, ValueError, KeyError, RecursionError):
        raise CorruptIndexError(f"what is sealed of table {name!r} was changed in the file") from None
    identifiers = [name, *(one for way in owner for one in way)]
    for some in columns.values():
        identifiers += some
    identifiers += [] if marker is None else [marker]
    if form not in ("list", "dots") or not all(
        isinstance(identifier, str) and _NAME.fullmatch(identifier) for identifier in identifiers
    ):
        raise CorruptIndexError(f"what is sealed of table {name!r} was changed in the file")
    return Rules(
        name,
        **columns,
        form=form,
        empty=bool(empty),
        owner=owner,
        counted=bool(counted),
        marker=marker,
        grown=grown,
    )


def place(table: str, column: str, form: str, bound: list[Any]) -> str:
    """Return the place of a cell, its associated data.

    >>> place("memory_fact", "content", "list", ["fact_1", "jane", ""])
    'memory_fact.content ["fact_1", "jane", ""]'
    >>> place("memory_event", "data", "dots", [3, 1])
    'memory_event.data 3.1'
    """
    values = json.dumps(bound) if form == "list" else ".".join(map(str, bound))
    return f"{table}.{column} {values}"


def has_plain_rows(connection: sqlite3.Connection, tenant: str) -> str | None:
    """Return the name of a table that holds plaintext of a tenant, or None."""
    for table in rules(connection):
        if (
            table.sealed
            and connection.execute(
                f"SELECT 1 FROM {table.name} WHERE {table.owned} AND {table.plain} LIMIT 1",
                table.asked(tenant),
            ).fetchone()
        ):
            return table.name
    return None


def has_rows(connection: sqlite3.Connection, tenant: str) -> bool:
    """Whether any table has a row of a tenant."""
    return any(
        connection.execute(
            f"SELECT 1 FROM {table.name} WHERE {table.owned} LIMIT 1", table.asked(tenant)
        ).fetchone()
        for table in rules(connection)
    )


def has_content(connection: sqlite3.Connection, tenant: str, user: str) -> bool:
    """Whether any table has a row of a user with a value that is sealed, or will be."""
    for one in rules(connection):
        ways = [way for way in one.owner if _has_user(connection, way[1])]
        if not one.sealed or not (ways if one.owner else _has_user(connection, one.name)):
            continue
        owned = "tenant = ? AND user = ?"
        if one.owner:
            owners = (
                f"SELECT {column} FROM {table} WHERE tenant = ? AND user = ?" for _, table, column in ways
            )
            owned = f"{one.owner[0][0]} IN ({' UNION ALL '.join(owners)})"
        conditions = " OR ".join(f"ifnull(length({column}), 0) > 0" for column in one.sealed)
        if connection.execute(
            f"SELECT 1 FROM {one.name} WHERE {owned} AND ({conditions}) LIMIT 1",
            (tenant, user) * max(1, len(ways)),
        ).fetchone():
            return True
    return False


def _has_user(connection: sqlite3.Connection, table: str) -> bool:
    return any(name == "user" for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))


def _user_of(connection: sqlite3.Connection, one: Rules) -> str:
    """Return the SQL expression for the user that owns a row of a table."""
    if _has_user(connection, one.name):
        return f"{one.name}.user"
    ways = (
        f"(SELECT user FROM {table} WHERE {table}.{column} = {one.name}.{own})"
        for own, table, column in one.owner
        if _has_user(connection, table)
    )
    return f"coalesce({', '.join([*ways, repr(''), repr('')])})"


def seal_tables(connection: sqlite3.Connection, cipher: Seals, tenant: str, *, first: bool) -> None:
    """Seal the plain values of a tenant in every table, within a transaction of the store.

    Args:
        connection: of the transaction.
        cipher: of the store.
        tenant: the owner of the rows.
        first: the hashes of the tenant are not keyed yet.
    """
    known = rules(connection)
    with unguarded(connection, [table.name for table in known]):
        for table in known:
            if table.sealed:
                _seal_table(connection, cipher, table, tenant)
            elif first and not _is_marked(connection, table.marker, tenant):
                _key_hashes(connection, cipher, table, tenant)


def _is_marked(connection: sqlite3.Connection, marker: str | None, tenant: str) -> bool:
    return (
        marker is not None
        and connection.execute(f"SELECT 1 FROM {marker} WHERE tenant = ?", (tenant,)).fetchone() is not None
    )


@contextmanager
def unguarded(connection: sqlite3.Connection, tables: list[str]) -> Iterator[None]:
    """Drop the triggers of some tables, which forbid changing rows, for the duration of a block, within a
    transaction of the store.

    No other writer is active meanwhile, and a rollback restores the triggers as well.
    """
    marks = ", ".join("?" * len(tables))
    rows = connection.execute(
        f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ({marks})", tables
    )
    triggers = [(name_of(name), name_of(statement)) for name, statement in rows.fetchall()]
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER main.{_quoted(name)}")
    yield
    for _, statement in triggers:
        connection.execute(statement)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _seal_table(connection: sqlite3.Connection, cipher: Seals, one: Rules, tenant: str) -> None:
    parts = (one.key, one.bound, one.sealed, one.hashes)
    wanted = ", ".join(column for part in parts for column in part)
    assignments = ", ".join(f"{column} = ?" for column in (*one.sealed, *one.hashes))
    is_row = " AND ".join(f"{column} = ?" for column in one.key)
    rows = connection.execute(
        f"SELECT {_user_of(connection, one)}, {wanted} FROM {one.name} WHERE {one.owned} AND {one.plain}",
        one.asked(tenant),
    ).fetchall()
    for user, *values in rows:
        at, split = 0, []
        for part in parts:
            split.append(list(values[at : at + len(part)]))
            at += len(part)
        key, bound, cells, hashes = split
        fresh = [
            cell
            if cell is None or (cell == "" and not one.empty)
            else cipher.seal(
                tenant,
                place(one.name, column, one.form, bound),
                cell.encode() if isinstance(cell, str) else unescaped(bytes(cell)),
                user=user if isinstance(user, str) else "",
            )
            for column, cell in zip(one.sealed, cells, strict=True)
        ]
        fresh += [cipher.digest(tenant, hash) if hash else hash for hash in hashes]
        connection.execute(f"UPDATE {one.name} SET {assignments} WHERE {is_row}", (*fresh, *key))


def _key_hashes(connection: sqlite3.Connection, cipher: Seals, one: Rules, tenant: str) -> None:
    for column in one.hashes:
        for (hash,) in connection.execute(
            f"SELECT DISTINCT {column} FROM {one.name} WHERE {one.owned}", one.asked(tenant)
        ).fetchall():
            connection.execute(
                f"UPDATE {one.name} SET {column} = ? WHERE {one.owned} AND {column} = ?",
                (cipher.digest(tenant, hash), *one.asked(tenant), hash),
            )
