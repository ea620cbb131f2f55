"""Building a sound file of what can be read in a damaged one.

Each row that can be read (:mod:`scrubjay.store.wreck`) is held to what it must be (:mod:`scrubjay.store.decoding`; for
other tables the types of their columns and the constraints of the table); one that fails is *set aside*: written to a
file of JSON lines with all its values. Images and tombstones are left out, since images are made again from the rows.
What is sealed is copied as it stands: no key is needed.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.payload import decode as decode_payload
from scrubjay.store import schema
from scrubjay.store.decoding import (
    Checksum,
    integer,
    is_id,
    optional_integer,
    scope_of,
    shown,
    vector_of,
)
from scrubjay.store.encryption import OVERHEAD_BYTES, is_sealed
from scrubjay.store.feedback import feedback_tables
from scrubjay.store.protocol import Identity
from scrubjay.store.schema import Tables, is_collection_name
from scrubjay.store.vectors import content_hash, n_bytes
from scrubjay.store.wreck import PAGE_BYTES, Wreck, open_wreck, quoted

__all__ = ["KNOWN_TABLES", "Rebuilt", "rebuild", "write_aside"]

KNOWN_TABLES: dict[str, Sequence[str]] = {}
"""Beginning of a table's name -> the statements that make all tables, indexes and triggers of a layer above this one,
which registers itself when it is imported. For unknown tables the file's own statements are used."""

_JSON_COLUMNS = ("metadata", "steps", "artifacts", "data", "outcomes", "counts")  # of tables of layers above
# What a row or a statement of the wreck may raise that the new file does not take.
_UNFIT = (sqlite3.Error, UnicodeDecodeError, OverflowError)
_NO_ROOM = ("is full", "disk i/o error", "readonly", "unable to open")  # of the new file, whatever is written
_DERIVED = ("image", "tombstone")


@dataclass
class Rebuilt:
    """The result of rebuilding a file.

    Attributes:
        rows: how many rows were taken over, by table.
        left_out: a sentence for each row, or range of rows, that could not be.
        mended: a sentence for each thing that was wrong and costs nothing.
    """

    rows: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)


def rebuild(source: Path, target: Path, aside: TextIO) -> Rebuilt:
    """Write what can be read in `source` (with its log beside it, both to be changed freely) into a new file.

    Args:
        aside: gets a JSON line for each row that is left out, with its values.

    Raises:
        CorruptIndexError: SQLite finds no table of an index in it.
    """
    report = Rebuilt()
    with closing(open_wreck(source, report.mended)) as wreck, closing(_new_file(target)) as fresh:
        fresh.execute("BEGIN")
        _Rebuilding(wreck, fresh, report, aside).run()
        fresh.execute("COMMIT")
    return report


def _new_file(target: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(target, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA synchronous = OFF")  # no one uses it before it is complete
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


class _Rebuilding:
    """One rebuilding: from a damaged file to a new one."""

    def __init__(
        self, wreck: sqlite3.Connection, fresh: sqlite3.Connection, report: Rebuilt, aside: TextIO
    ) -> None:
        self._wreck = Wreck(wreck, self._lost)
        self.fresh = fresh
        self.report = report
        self._aside = aside
        self._columns: dict[str, list[tuple[str, str]]] = {}

    def run(self) -> None:
        """Take over everything."""
        collections = self._collections()
        identities = {
            tables.suffix: self._identity(tables) for tables in (Tables(), *map(Tables, collections))
        }
        schema.create(self.fresh, identities[""])
        for number, name in collections.items():
            self.fresh.execute("INSERT INTO collection(number, name) VALUES (?, ?)", (number, name))
            schema.create_tables(self.fresh, Tables(number), identities[f"_{number}"])
        for suffix, one in identities.items():
            tables = Tables(int(suffix[1:] or 0))
            schema.set_meta(self.fresh, tables, id_kind=one.id_kind, generation=one.generation)
        self._data_keys()
        for tables in (Tables(), *map(Tables, collections)):
            self._collection(tables, identities[tables.suffix])
        self._tables_of_others()
        self._sequence()
        made = self.fresh.execute(
            "SELECT name FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL"
        ).fetchall()
        if missing := sorted({name for (name,) in made} - {name for _, name, _ in self._wreck.schema}):
            self.report.mended.append(f"indexes and rules that were missing: {', '.join(missing)}")

    # ------------------------------------------------------------------ what goes wrong

    def set_aside(self, table: str, row: dict[str, Any], why: str) -> None:
        """Leave a row out, and keep its values."""
        key = next(iter(row.items()), ("row", "?"))
        named = f"{table} {key[0]} {shown(key[1])}" if "id" not in row else f"{table} id {shown(row['id'])}"
        self.report.left_out.append(f"{named}: {why}")
        write_aside(self._aside, table, why, row)

    def _lost(self, table: str, what: str) -> None:
        self.report.left_out.append(f"{table}: {what}")
        write_aside(self._aside, table, what, None)

    # ------------------------------------------------------------------ what an index is made of

    def _collections(self) -> dict[int, str]:
        named: dict[int, str] = {}
        for row in self._wreck.rows("collection"):
            number, name = row.get("number"), row.get("name")
            if (
                isinstance(number, int)
                and number > 0
                and is_collection_name(name)
                and name not in named.values()
            ):
                named[number] = name
            else:
                self.set_aside("collection", row, "its number or name is not what was written")
        for table in sorted(self._wreck.tables):
            found = re.fullmatch(r"document_(\d+)", table)
            if found is not None and int(found[1]) not in named and int(found[1]) > 0:
                named[int(found[1])] = f"recovered-{found[1]}"
                self.report.mended.append(f"the name of collection {found[1]} is lost: recovered-{found[1]}")
        return named

    def _identity(self, tables: Tables) -> Identity:
        meta = {
            row["name"]: row.get("value")
            for row in self._wreck.rows(tables.meta)
            if isinstance(row.get("name"), str)
        }
        usual = {
            "dim": None,
            "metric": "cosine",
            "dtype": "f16",
            "analyzer": "english",
            "model": None,
            "id_kind": None,
            "generation": 0,
        }
        values: dict[str, Any] = {}
        for name, otherwise in usual.items():
            if schema.is_identity(name, meta.get(name, _MISSING)):
                values[name] = meta[name]
                continue
            values[name] = otherwise
            self.report.mended.append(f"{tables.meta}.{name} is lost; it is taken to be {otherwise!r}")
        self._hold_to_rows(tables, values)
        return Identity(**values)

    def _hold_to_rows(self, tables: Tables, values: dict[str, Any]) -> None:
        """Where dimension or kind of ids contradict most vectors or ids, these are right."""
        kinds = {"str": 0, "int": 0}
        for row in self._wreck.rows(tables.document):
            kinds["int" if row.get("id").__class__ is int else "str"] += 1
        kind = max(kinds, key=lambda one: kinds[one])
        if kinds[kind] and kinds.get(values["id_kind"], 0) * 2 < kinds[kind]:
            values["id_kind"] = kind
            self.report.mended.append(f"{tables.meta}.id_kind is {kind!r}, as the ids are")
        dim = self._dim(tables, values["dtype"])
        if dim is not None and dim != values["dim"]:
            values["dim"] = dim
            self.report.mended.append(f"{tables.meta}.dim is {dim}, as the vectors are")

    def _dim(self, tables: Tables, dtype: str) -> int | None:
        """The dimension that most vectors have."""
        sizes: dict[int, int] = {}
        for row in self._wreck.rows(tables.vector):
            data = row.get("data")
            if isinstance(data, bytes):
                size = len(data) - (OVERHEAD_BYTES if is_sealed(data) else 0)
                dim = (size - 2) // 2 if dtype == "f16" else size // 4
                sizes[dim] = sizes.get(dim, 0) + 1
        dims = [dim for dim in sizes if schema.is_identity("dim", dim)]
        return max(dims, key=lambda dim: sizes[dim], default=None)

    # ------------------------------------------------------------------ a collection

    def _collection(self, t: Tables, identity: Identity) -> None:
        if missing := [table for table in t.all() if table not in self._wreck.tables]:
            self.report.mended.append(f"tables that were missing are empty now: {', '.join(missing)}")
        self._meta(t)
        scopes = self._scopes(t)
        documents = self._documents(t, scopes, identity)
        self._vectors(t.vector, documents, identity)
        self._vectors(t.staged_vector, documents, None)
        self._events(t, scopes)
        self._feedback(t)
        execute = self.fresh.execute
        execute(
            f"UPDATE {t.scope} SET documents = (SELECT count(*) FROM {t.document} d WHERE d.scope = key), "
            f"vectors = (SELECT count(*) FROM {t.vector} v JOIN {t.document} d ON d.seq = v.seq WHERE d.scope = key), "
            f"version = max(version, ifnull((SELECT max(seq) FROM {t.document} d WHERE d.scope = key), 0))"
        )
        execute(f"UPDATE {t.scope} SET horizon = min(horizon, version)")
        (count,) = execute(f"SELECT count(*) FROM {t.document}").fetchone()
        counted = [row.get("value") for row in self._wreck.rows(t.meta) if row.get("name") == "documents"]
        if counted != [count]:
            self.report.mended.append(f"{t.document}: {count} documents; {counted or 'nothing'} was counted")
        schema.set_meta(self.fresh, t, documents=count)

    def _meta(self, t: Tables) -> None:
        made = {name for (name,) in self.fresh.execute(f"SELECT name FROM {t.meta}").fetchall()}
        for row in self._wreck.rows(t.meta):
            name = row.get("name")
            if name in made:
                continue
            if not isinstance(name, str) or isinstance(row.get("value"), bytes) or "\0" in name:
                self.set_aside(t.meta, row, "no value of an index")
            else:
                self.fresh.execute(
                    f"INSERT OR IGNORE INTO {t.meta}(name, value) VALUES (?, ?)", (name, row["value"])
                )

    def _scopes(self, t: Tables) -> dict[int, Scope]:
        scopes: dict[int, Scope] = {}
        for row in self._wreck.rows(t.scope):
            try:
                scope = scope_of(row["tenant"], row["user"], row["agent"])
                key = integer(row["key"], "key", 1)
                if scope in scopes.values():
                    raise CorruptIndexError("another scope has these names")
            except (CorruptIndexError, KeyError) as error:
                self.set_aside(t.scope, row, str(error))
                continue
            version, horizon = row.get("version"), row.get("horizon")
            for name, value in (
                ("version", version),
                ("horizon", horizon),
                ("documents", row.get("documents")),
            ):
                if value.__class__ is not int or not 0 <= value < 1 << 61:
                    self.report.mended.append(f"{t.scope} {key}: {name} was {shown(value)}")
            scopes[key] = scope
            numbers = [
                value if value.__class__ is int and 0 <= value < 1 << 61 else 0
                for value in (version, horizon)
            ]
            self._insert(t.scope, {**row, "version": numbers[0], "horizon": numbers[1], "documents": 0})
        return scopes

    def _documents(self, t: Tables, scopes: dict[int, Scope], identity: Identity) -> dict[int, bool]:
        """Take over documents; return their numbers, and whether each is sealed."""
        checksums = {key: Checksum(scope) for key, scope in scopes.items()}
        kept: dict[int, bool] = {}
        ids: set[tuple[int, Any]] = set()
        for row in self._wreck.rows(t.document):
            try:
                key = self._checked_document(row, checksums, identity)
                if (key, row["id"]) in ids:
                    raise CorruptIndexError("another document of its scope has its id")
                if not self._insert(t.document, {**row, "scope": key}, quietly=True):
                    raise CorruptIndexError("its row contradicts another one")
            except (CorruptIndexError, KeyError) as error:
                self.set_aside(t.document, row, str(error))
                continue
            if key != row["scope"]:
                self.report.mended.append(f"{t.document} {row['id']!r}: its scope was {shown(row['scope'])}")
            ids.add((key, row["id"]))
            kept[row["seq"]] = isinstance(row["text"], bytes)
        self.report.rows[t.document] = len(kept)
        return kept

    def _checked_document(
        self, row: dict[str, Any], checksums: dict[int, Checksum], identity: Identity
    ) -> int:
        """Return the key of a document's scope; a checksum tells it even if the row does not."""
        id, text, payload, stored = row["id"], row["text"], row["payload"], row["hash"]
        if not is_id(id, identity.id_kind):
            raise CorruptIndexError("its id is not what was written")
        if payload is not None and payload.__class__ is not bytes:
            raise CorruptIndexError("its metadata is not what was written")
        if not 0 < row["seq"] < 1 << 61:
            raise CorruptIndexError("its number is not one that was given")
        for name in ("created_at", "expires_at"):
            optional_integer(row[name], name)
        integer(row["updated_at"], "updated_at", -(1 << 62))
        if text.__class__ is not str:
            if row["scope"] not in checksums:
                raise CorruptIndexError("its scope is not in the file")
            if not isinstance(text, bytes) or not is_sealed(text) or content_hash(text, payload) != stored:
                raise CorruptIndexError("its text is not what was written")
            return int(row["scope"])
        own = checksums.get(row["scope"]) if row["scope"].__class__ is int else None
        damage = "its scope is not in the file" if own is None else own.damage(id, text, payload, stored)[0]
        if damage is None:
            decode_payload(payload)
            return int(row["scope"])
        for key, checksum in checksums.items():
            if stored == checksum.of(id, text, payload):
                return key
        raise CorruptIndexError(damage)

    def _vectors(self, table: str, documents: dict[int, bool], identity: Identity | None) -> None:
        n_orphans = n_kept = 0
        for row in self._wreck.rows(table):
            data, sealed = row.get("data"), documents.get(row.get("seq", 0))
            if sealed is None:
                n_orphans += 1
                continue
            is_right = isinstance(data, bytes) and is_sealed(data) == sealed
            if isinstance(data, bytes) and is_right and identity is not None:
                is_right = _is_vector(data, identity, sealed)
            if data is None and identity is None:
                is_right = True
            if not is_right:
                self.set_aside(table, row, "it is not a vector of this index; only words find its document")
                continue
            self._insert(table, row)
            n_kept += 1
        if n_orphans:
            self.report.mended.append(f"{table}: {n_orphans} vectors without a document")
        self.report.rows[table] = n_kept

    def _events(self, t: Tables, scopes: dict[int, Scope]) -> None:
        for row in self._wreck.rows(t.event):
            try:
                integer(row["at"], "at")
                integer(row["documents"], "documents")
                if not isinstance(row["reason"], str) or row["scope"] not in scopes:
                    raise CorruptIndexError("its reason or scope is not what was written")
            except (CorruptIndexError, KeyError) as error:
                self.set_aside(t.event, row, str(error))
                continue
            self._insert(t.event, row)

    def _feedback(self, t: Tables) -> None:
        table = f"feedback{t.suffix}"
        if table not in self._wreck.tables:
            return
        for statement in feedback_tables(t):
            self.fresh.execute(statement)
        for row in self._wreck.rows(table):
            try:
                scope_of(row["tenant"], row["user"], row["agent"])
            except (CorruptIndexError, KeyError) as error:
                self.set_aside(table, row, str(error))
                continue
            if not is_id(row.get("id")):
                self.set_aside(table, row, "its document's id is not what was written")
                continue
            found = self.fresh.execute(
                f"SELECT scope FROM {t.document} WHERE id = ?", (row["id"],)
            ).fetchall()
            if "scope" not in row and len(found) == 1:  # of format 3, where an id was in one scope
                row = {**row, "scope": found[0][0], "bound": 0}
            if (row.get("scope"),) in found:
                self._take(table, row)
            else:
                self.report.mended.append(f"{table} {row.get('number')}: a note on no document")

    # ------------------------------------------------------------------ other tables

    def _data_keys(self) -> None:
        for table in (
            "sealed_table",
            "table_digest",
        ):  # what is sealed of other tables, and the digests of that
            for row in self._wreck.rows(table):
                self._take(table, row)
        if "data_key" not in self._wreck.tables:
            return
        schema.create_data_keys(self.fresh)
        for row in self._wreck.rows("data_key"):
            self._take("data_key", row)

    def _tables_of_others(self) -> None:
        made = {name for (name,) in self.fresh.execute("SELECT name FROM sqlite_master").fetchall()}
        derived = {name for name in self._wreck.tables if name.partition("_")[0] in _DERIVED}
        own = re.compile(r"(meta|scope|document|vector|staged_vector|tombstone|event|image|feedback)_\d+")
        others = sorted(self._wreck.tables - made - derived - {"sqlite_sequence"})
        later: list[str] = []
        for beginning, statements in KNOWN_TABLES.items():
            if any(table.startswith(beginning) for table in others):
                for statement in statements:
                    if re.match(r"\s*CREATE\s+TRIGGER", statement):
                        later.append(statement)
                    else:
                        self.fresh.execute(statement)
        made = {name for (name,) in self.fresh.execute("SELECT name FROM sqlite_master").fetchall()}
        known = {statement.split("(")[0].split()[2] for statement in later}
        for kind, name, sql in self._wreck.schema:
            if kind == "table" and name in others and name not in made and not own.fullmatch(name):
                self._make(name, sql)
            elif kind == "index" and name not in made and not name.startswith("sqlite_"):
                later.append(sql) if name.startswith("memory_") else None
            elif kind == "trigger" and name not in known:
                if name.startswith("memory_") and not any(name.startswith(one) for one in KNOWN_TABLES):
                    later.append(sql)
                else:
                    self._lost("trigger", f"{name} is none of Scrubjay's: {sql}")
        made = {
            name
            for (name,) in self.fresh.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
        }
        for table in others:
            if table in made:
                for row in self._wreck.rows(table):
                    self._take(table, row)
            elif own.fullmatch(table):
                self._lost(table, "a table of a collection that is not in the file")
        for statement in later:
            try:
                self.fresh.execute(statement)
            except _UNFIT as error:
                _hold_to_room(error)
                self.report.mended.append(f"left out: {statement[:60]}: {error}")

    def _make(self, name: str, sql: str) -> None:
        try:
            if not re.match(r"\s*CREATE\s+TABLE", sql):
                raise sqlite3.OperationalError("not what makes a table")
            self.fresh.execute(sql)
        except _UNFIT as error:
            _hold_to_room(error)
            self._lost(name, f"the table cannot be made again: {error}")

    def _take(self, table: str, row: dict[str, Any]) -> None:
        """Take over a row whose values have the types of their columns and meet the table's constraints."""
        for name, declared in self._columns_of(table):
            if (why := _misfit(name, declared, row.get(name))) is not None:
                self.set_aside(table, row, why)
                return
        if not self._insert(table, row, quietly=True):
            self.set_aside(table, row, "it breaks a rule of its table")
            return
        self.report.rows[table] = self.report.rows.get(table, 0) + 1

    def _insert(self, table: str, row: dict[str, Any], *, quietly: bool = False) -> bool:
        names = [name for name, _ in self._columns_of(table) if name in row]
        marks, chosen = ", ".join("?" * len(names)), ", ".join(map(quoted, names))
        statement = f"INSERT INTO {quoted(table)}({chosen}) VALUES ({marks})"
        try:
            self.fresh.execute(statement, [row[name] for name in names])
        except _UNFIT as error:
            _hold_to_room(error)
            if not quietly:
                self.set_aside(table, row, "it breaks a rule of its table")
            return False
        return True

    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        """Return (name, declared type) of the columns of a table of the new file."""
        if table not in self._columns:
            found = self.fresh.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            self._columns[table] = [(row[1], row[2].upper()) for row in found]
        return self._columns[table]

    def _sequence(self) -> None:
        """Numbers that were given are not given again."""
        for row in self._wreck.rows("sqlite_sequence"):
            name, seq = row.get("name"), row.get("seq")
            if isinstance(name, str) and seq.__class__ is int and 0 <= int(str(seq)) < 1 << 61:
                self.fresh.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (seq, name))


_MISSING = object()


def _is_vector(data: bytes, identity: Identity, sealed: bool) -> bool:
    """Whether the engine can take what a row of vectors holds, as far as that can be seen without a key."""
    if identity.dim is None:
        return False
    if sealed:
        return len(data) == n_bytes(identity.dim, identity.dtype) + OVERHEAD_BYTES
    try:
        vector = vector_of(data, identity.dim, identity.dtype)
    except CorruptIndexError:
        return False
    return identity.metric != "cosine" or bool(vector.any())


def _hold_to_room(error: Exception) -> None:
    """Raise if the new file cannot be written: on a full disk no row is damaged, and none is set aside."""
    if isinstance(error, sqlite3.Error) and any(sign in str(error).lower() for sign in _NO_ROOM):
        raise error


def _misfit(name: str, declared: str, value: Any) -> str | None:
    """Return why a value cannot be one of a column, or None if it can."""
    if value is None:
        return None
    fits = True
    if "INT" in declared:
        fits = value.__class__ is int and -(1 << 62) < value < 1 << 62
    elif "TEXT" in declared:
        fits = value.__class__ is str or (isinstance(value, bytes) and is_sealed(value))
    elif "REAL" in declared:
        fits = value.__class__ in (int, float)
    elif "BLOB" in declared:
        fits = value.__class__ is bytes
    if not fits:
        return f"{name} is {shown(value)}"
    is_text = isinstance(value, str) or (isinstance(value, bytes) and not is_sealed(value))
    if name in _JSON_COLUMNS and is_text:
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return f"{name} is no JSON"
    return None


def write_aside(aside: TextIO, table: str, why: str, row: dict[str, Any] | None) -> None:
    """Write a row that is left out, with all its values, as a JSON line."""
    kept = None if row is None else {name: _as_json(value) for name, value in row.items()}
    aside.write(json.dumps({"table": table, "why": why, "row": kept}) + "\n")


def _as_json(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
