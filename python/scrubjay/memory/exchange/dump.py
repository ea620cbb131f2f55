"""Memory as lines of JSON, and back: every row of every table as stored, times in microseconds since 1970.

The first line states the format and the scope; every other line is a row: `{"table": "fact", "id": ..., ...}`. Columns
computed from others (hashes) and what an index rebuilds (documents, vectors) are left out. Columns that are JSON in the
file are JSON in a string here. Nothing is encrypted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.dumped_runs import read_runs, write_run
from scrubjay.memory.ledger.rows import hash_in, insert, rows_where, value_hash_in
from scrubjay.memory.ledger.schema import INDEPENDENT
from scrubjay.memory.ledger.sealing import (
    BYTES,
    is_file,
    next_number,
    opened_in,
    place_in,
    sealed_cell,
    sealed_values,
    settle,
)
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.statements import topics_in
from scrubjay.memory.model.decoding import checked
from scrubjay.memory.model.details import detail_in
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.names import RECORD_KINDS
from scrubjay.memory.model.rows import ROWS, TYPES, EpisodeRow, FactRow, Row, scope_in
from scrubjay.memory.model.statements import has_documents
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import RowRefusedError
from scrubjay.store.writing.write_batches import Change

FORMAT = 1
_COMPUTED = ("hash", "topic", "value_hash")
_LOG = ("at", "record", "what", "by", "detail")
_OBSERVATION = ("run", "user", "fact", "at", "author")
_REJECTION = ("at", "user", "agent", "kind", "reason", "content", "source_run", "source_turn", "author")
_DELETION = ("at", "user", "agent", "reason", "by", "counts")
_NAMES = ("tenant", "user", "agent")


@dataclass
class Imported:
    """The result of an import: rows by table that were written, that existed already, and that were left out because
    the memory has something else in their place (`reasons` has the first hundred).

    Attributes:
        written, same, left_out: table -> number of rows.
        reasons: why rows were left out.
    """

    written: dict[str, int] = field(default_factory=dict)
    same: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def _count(self, counts: dict[str, int], table: str) -> None:
        counts[table] = counts.get(table, 0) + 1

    def _leave(self, table: str, reason: str) -> None:
        self._count(self.left_out, table)
        if len(self.reasons) < 100:
            self.reasons.append(f"{table}: {reason}")


# ---------------------------------------------------------------------- export


def write_lines(context: MemoryContext, scope: Scope) -> Iterator[str]:
    """Yield the lines of all rows of a scope and within it, from one snapshot of the file."""
    where, names = _within(scope)
    cipher = context.store.cipher
    with context.snapshot() as connection:
        yield _line("memory", {"format": FORMAT, **dict(zip(_NAMES, names_of(scope), strict=True))})
        if not context.is_readable(scope):
            return
        ids: set[str] = set()
        for kind in RECORD_KINDS:
            condition = _for_kind(kind, scope)
            if condition is None:
                continue
            for row in rows_where(connection, kind, f"{condition} ORDER BY created_at, id", names):
                ids.add(row.id)
                yield _line(kind, {**_columns(row), **_decision(connection, row)})
        for one in _observations(connection, scope, ids):
            yield _line("observation", one)
        for number, tenant, *values in connection.execute(
            f"SELECT number, tenant, {', '.join(_LOG)} FROM memory_log WHERE {where} ORDER BY number", names
        ).fetchall():
            entry = dict(zip(_LOG, values, strict=True))
            if entry["record"] in ids:
                entry["detail"] = opened_in(
                    cipher, tenant, place_in("memory_log", "detail", number, ()), entry["detail"]
                )
                yield _line("log", entry)
        for number, tenant, *values in connection.execute(
            f"SELECT number, tenant, {', '.join(_REJECTION)} FROM memory_rejection WHERE {where} ORDER BY number",
            names,
        ).fetchall():
            entry = {"tenant": tenant, **dict(zip(_REJECTION, values, strict=True))}
            bound = (entry["user"], entry["agent"])
            if not cipher.readable(tenant, entry["user"]):
                continue
            for column in ("reason", "content"):
                place = place_in("memory_rejection", column, number, bound)
                entry[column] = opened_in(cipher, tenant, place, entry[column])
            yield _line("rejection", entry)
        for values in connection.execute(
            f"SELECT tenant, {', '.join(_DELETION)} FROM memory_deletion WHERE {where} ORDER BY number", names
        ).fetchall():
            yield _line("deletion", dict(zip(("tenant", *_DELETION), values, strict=True)))
        for run in read_runs(connection, context.store, where, names):
            yield _line("run", run)


def _line(table: str, entry: dict[str, Any]) -> str:
    return json.dumps({"table": table, **entry}, ensure_ascii=False) + "\n"


def _columns(row: Row) -> dict[str, Any]:
    columns = {name: value for name, value in row._asdict().items() if name not in _COMPUTED}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in columns.items()}


def _decision(connection: sqlite3.Connection, row: Row) -> dict[str, Any]:
    """Return the columns of the policy table that its row class lacks."""
    if row.kind != "policy":
        return {}
    number, decided_at = connection.execute(
        "SELECT number, decided_at FROM memory_policy WHERE id = ?", (row.id,)
    ).fetchone()
    return {"number": number, "decided_at": decided_at}


def _observations(connection: sqlite3.Connection, scope: Scope, ids: set[str]) -> Iterator[dict[str, Any]]:
    rows = connection.execute(
        f"SELECT {', '.join(_OBSERVATION)} FROM memory_observation WHERE tenant = ? ORDER BY at, run, user",
        (scope.tenant,),
    ).fetchall()
    for values in rows:
        entry = dict(zip(_OBSERVATION, values, strict=True))
        if entry["fact"] in ids:  # the exported fact has the content of the observation
            yield {"tenant": scope.tenant, **entry}


def _within(scope: Scope) -> tuple[str, tuple[str, ...]]:
    bound = [(column, name) for column, name in zip(_NAMES, names_of(scope), strict=True) if name]
    return " AND ".join(f"{column} = ?" for column, _ in bound), tuple(name for _, name in bound)


def _for_kind(kind: str, scope: Scope) -> str | None:
    """Return the condition for the rows of a kind within a scope; None: a scope with these names has none."""
    columns = {"policy": ("tenant",), "preference": ("tenant", "user")}.get(kind, _NAMES)
    bound = [column for column, name in zip(_NAMES, names_of(scope), strict=True) if name]
    return " AND ".join(f"{column} = ?" for column in bound) if set(bound) <= set(columns) else None


# ---------------------------------------------------------------------- import


def read_lines(context: MemoryContext, slots: Slots, lines: Iterable[str], scope: Scope) -> Imported:
    """Write the rows of lines into a memory, in one transaction; existing rows stay unchanged.

    Raises:
        ValueError: a line does not have this format, or does not belong to the scope.
    """
    rows: list[Row] = []
    others: list[dict[str, Any]] = []
    for n, entry in enumerate(_parsed(lines), 1):
        table = entry.pop("table")
        try:
            if table in RECORD_KINDS:
                rows.append(_row(table, entry))
                others.append({"table": "policy", **entry}) if table == "policy" else None
            elif table != "memory":
                others.append({"table": table, **entry})
            if table != "log" and table != "memory":
                _check_scope(entry, scope)
        except (KeyError, TypeError, ValueError, CorruptIndexError) as error:
            raise ValueError(f"line {n + 1}: expected a row of {table!r}, got another: {error}") from None
    searched = [row for row in rows if row.kind in ("fact", "episode")]
    embedded = dict(
        zip((row.id for row in searched), context.embed_texts([r.text for r in searched]), strict=True)
    )
    with context.changing("importing memory", [scope.tenant]) as change:
        return _Import(context, slots, change, embedded).write(rows, others)


def _parsed(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for n, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {n}: expected JSON, got {line[:80]!r}: {error}") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("table"), str):
            raise ValueError(f"line {n}: expected an object with a table, got {line[:80]!r}")
        if n == 1:
            if entry["table"] != "memory" or entry.get("format") != FORMAT:
                raise ValueError(
                    f"line 1: expected an export of memory of format {FORMAT}, got {line[:80]!r}"
                )
            continue
        yield entry


def _check_scope(entry: dict[str, Any], scope: Scope) -> None:
    for name, wanted in zip(_NAMES, names_of(scope), strict=True):
        if wanted and entry.get(name, "") != wanted:
            raise ValueError(f"{name}: expected {wanted!r}, got {entry.get(name)!r}")


def _row(kind: str, entry: dict[str, Any]) -> Row:
    """Return a row without its hashes.

    Raises:
        KeyError, TypeError, ValueError, CorruptIndexError: the line is not a valid row.
    """
    row_type = ROWS[kind]
    values = {name: entry[name] for name in row_type._fields if name not in _COMPUTED}
    for name in BYTES & values.keys():
        if values[name] is not None:
            json.loads(values[name])
            values[name] = values[name].encode()
    blank = {name: b"" for name in _COMPUTED if name in row_type._fields}
    row: Row = row_type(**values, **blank)
    checked(row, TYPES[kind], in_the_clear=False)
    return row


class _Import:
    """An import in progress."""

    def __init__(
        self, context: MemoryContext, slots: Slots, change: Change, embedded: dict[str, Embedded]
    ) -> None:
        self._context, self._slots = context, slots
        self._change, self._embedded = change, embedded
        self._connection = change.connection
        self._done = Imported()
        self._new: set[str] = set()

    def write(self, rows: list[Row], others: list[dict[str, Any]]) -> Imported:
        contents = {row.id: row.text for row in rows if row.kind == "fact"}
        for entry in others:
            if entry["table"] == "observation":
                self._observation(entry, contents)
        numbers = {entry["id"]: entry for entry in others if entry["table"] == "policy"}
        slots: dict[tuple[Any, ...], None] = {}
        for row in rows:
            if self._insert(row, numbers.get(row.id)) and isinstance(row, FactRow):
                topics = topics_in(self._connection, row.tenant, row.subject, row.predicate)
                slots[(row.tenant, row.user, row.agent), topics] = None
        for names, topics in slots:
            self._project(names, topics)
        runs = []
        for entry in others:
            if entry["table"] == "log" and entry["record"] in self._new:
                self._log(entry)
            elif entry["table"] == "run":
                runs.append(entry)
            elif entry["table"] in ("rejection", "deletion"):
                self._note(entry)
            elif entry["table"] not in ("log", "policy", "observation"):
                raise ValueError(f"table: expected one of memory's, got {entry['table']!r}")
        for entry in runs:
            written = write_run(self._connection, self._context.store, entry)
            self._done._count(self._done.written if written else self._done.same, "run")
        return self._done

    def _insert(self, row: Row, decision: dict[str, Any] | None) -> bool:
        """Write a row; return False if it exists, or something else is in its place."""
        connection, done = self._connection, self._done
        there: Row | None = next(rows_where(connection, row.kind, "id = ?", (row.id,)), None)
        if there is not None:
            if _columns(there) == _columns(row):
                done._count(done.same, row.kind)
            else:
                done._leave(row.kind, f"{row.id}: the memory has another state of it")
            return False
        row = self._hashed(row)
        status = row.status
        enters = "provisional" if row.kind == "policy" or _is_tenants(row) else status
        connection.execute("SAVEPOINT one")
        try:
            first = row._replace(status=enters, **_undecided(row, enters))
            insert(connection, f"memory_{row.kind}", first)
            self._raise_to(row, first, decision)
        except (sqlite3.IntegrityError, RowRefusedError) as error:
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            self._context.store.cipher.undone()
            done._leave(row.kind, f"{row.id}: {error}")
            return False
        connection.execute("RELEASE one")
        done._count(done.written, row.kind)
        self._new.add(row.id)
        searched = (
            has_documents(row) if isinstance(row, FactRow) else row.kind == "episode" and status == "active"
        )
        if searched:
            documents_in(self._change).put(row, self._embedded[row.id])  # type: ignore[arg-type]
        return True

    def _raise_to(self, row: Row, first: Row, decision: dict[str, Any] | None) -> None:
        """Bring a row that had to enter as provisional into its state; a policy gets its number if that is free."""
        if isinstance(row, FactRow):
            if row != first:
                values = {
                    "status": row.status,
                    "decided_by": row.decided_by,
                    "superseded_by": row.superseded_by,
                }
                if not is_file(self._connection):
                    self._hold_to_sources(row)
                marks = ", ".join(f"{name} = ?" for name in values)
                self._connection.execute(
                    f"UPDATE memory_fact SET {marks} WHERE id = ?", (*values.values(), row.id)
                )
            return
        if row.kind != "policy" or decision is None:
            return
        execute = self._connection.execute
        for status in ("active", "revoked"):
            if row.status in (status, "revoked"):
                execute(
                    "UPDATE memory_policy SET status = ?, decided_by = ?, decided_at = ? WHERE id = ?",
                    (status, row.decided_by, decision["decided_at"], row.id),  # type: ignore[union-attr]
                )
        taken = execute("SELECT 1 FROM memory_policy WHERE number = ?", (decision["number"],)).fetchone()
        if taken is None:
            execute("UPDATE memory_policy SET number = ? WHERE id = ?", (decision["number"], row.id))

    def _hold_to_sources(self, row: FactRow) -> None:
        """Raise for a tenant's fact that is not confirmed and has too few observers; in a file a trigger does it."""
        independent = INDEPENDENT.format(tenant="?", hash="?")
        (n,) = self._connection.execute(independent, (row.tenant, row.hash)).fetchone()
        if row.status == "active" and row.decided_by is None and n < 2:
            raise RowRefusedError(
                "a fact of a tenant needs two independent sources, or somebody who confirms it"
            )

    def _hashed(self, row: Row) -> Row:
        connection = self._connection
        if isinstance(row, FactRow):
            topics = topics_in(connection, row.tenant, row.subject, row.predicate)
            return row._replace(
                hash=hash_in(connection, scope_in(row), row.text),
                topic=topics[0] if topics else b"",
                value_hash=value_hash_in(connection, row.tenant, detail_in(row).get("value")),
            )
        if isinstance(row, EpisodeRow):
            return row._replace(hash=hash_in(connection, scope_in(row), row.text))
        return row

    def _project(self, names: tuple[str, ...], topics: tuple[bytes, ...]) -> None:
        """Project a slot again if it has both existing and imported facts, which may contradict each other."""
        if not topics:
            return
        marks = ", ".join("?" * len(topics))
        rows = self._connection.execute(
            f"SELECT id FROM memory_fact WHERE tenant = ? AND user = ? AND agent = ? AND topic IN ({marks}) "
            "AND status <> 'provisional'",
            (*names, *topics),
        ).fetchall()
        if any(id not in self._new for (id,) in rows):
            self._slots.project(self._change, names, topics, None)

    def _observation(self, entry: dict[str, Any], contents: dict[str, str]) -> None:
        content = contents.get(entry["fact"])
        if content is None:
            self._done._leave("observation", f"{entry['fact']}: the fact is not in the export")
            return
        hash = hash_in(self._connection, Scope(entry["tenant"]), content)
        written = self._connection.execute(
            "INSERT OR IGNORE INTO memory_observation(tenant, hash, run, user, fact, at, author) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry["tenant"], hash, *(entry[name] for name in ("run", "user", "fact", "at", "author"))),
        ).rowcount
        self._done._count(self._done.written if written else self._done.same, "observation")

    def _log(self, entry: dict[str, Any]) -> None:
        connection = self._connection
        kind = entry["record"].partition("_")[0]
        columns = {"policy": "tenant, '', ''", "preference": "tenant, user, ''"}.get(
            kind, "tenant, user, agent"
        )
        names = connection.execute(
            f"SELECT {columns} FROM memory_{kind} WHERE id = ?", (entry["record"],)
        ).fetchone()
        number = next_number(connection, "memory_log", wanted=settle(connection, names[0]))
        place = place_in("memory_log", "detail", number, ())
        detail = entry["detail"]
        if number is not None:
            detail = sealed_cell(self._context.store.cipher, names[0], names[1], place, detail)
        connection.execute(
            "INSERT INTO memory_log(number, at, record, what, by, detail, tenant, user, agent) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, entry["at"], entry["record"], entry["what"], entry["by"], detail, *names),
        )
        self._done._count(self._done.written, "log")

    def _note(self, entry: dict[str, Any]) -> None:
        """Write a rejection or deletion event, unless the same one exists."""
        connection, table = self._connection, entry["table"]
        columns = ("tenant", *(_REJECTION if table == "rejection" else _DELETION))
        plain = [name for name in columns if name not in ("reason", "content")]
        same = " AND ".join(f"{name} IS ?" for name in plain)
        if connection.execute(
            f"SELECT 1 FROM memory_{table} WHERE {same}", [entry[name] for name in plain]
        ).fetchone():
            self._done._count(self._done.same, table)
            return
        values = {name: entry[name] for name in columns}
        if table == "rejection":
            number = next_number(connection, "memory_rejection", wanted=settle(connection, entry["tenant"]))
            bound = (entry["user"], entry["agent"])
            values = sealed_values(
                connection, "memory_rejection", entry["tenant"], entry["user"], number, bound, values
            )
            values["number"] = number
        marks = ", ".join("?" * len(values))
        connection.execute(
            f"INSERT INTO memory_{table}({', '.join(values)}) VALUES ({marks})", list(values.values())
        )
        self._done._count(self._done.written, table)


def _is_tenants(row: Row) -> bool:
    return row.kind == "fact" and not row.user and not row.agent


def _undecided(row: Row, enters: str) -> dict[str, Any]:
    """Return the columns that a row cannot have while it is provisional."""
    if enters == row.status:
        return {}
    if isinstance(row, FactRow):
        return {"superseded_by": None, "decided_by": None}
    return {"decided_by": None}
