"""Building a sound file from what can be read in a damaged one.

Each row that can be read (:mod:`scrubjay.store.repair.damaged_file`) is validated (:mod:`scrubjay.store.rows.decoding`;
for other tables the types of their columns and the constraints of the table); an invalid one is *set aside*
(:mod:`scrubjay.store.repair.rebuilt_file`). Images and tombstones are omitted, since images are rebuilt from the
rows. Sealed values are copied as they are, without a key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents.payload import CONTEXT
from scrubjay.documents.payload import decode as decode_payload
from scrubjay.store.repair.damaged_file import DamagedFile, open_damaged
from scrubjay.store.repair.rebuilt_file import UNFIT, Rebuilt, RebuiltFile, raise_if_full
from scrubjay.store.repair.rebuilt_identity import identity_of
from scrubjay.store.rows.decoding import (
    Checksum,
    integer,
    is_id,
    optional_integer,
    scope_of,
    shown,
    vector_of,
)
from scrubjay.store.rows.identity import is_collection_name
from scrubjay.store.rows.sealed import OVERHEAD_BYTES, is_sealed
from scrubjay.store.rows.values import Identity
from scrubjay.store.rows.vectors import content_hash, fits, has_passages
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.feedback import NOTE, check_note, feedback_tables
from scrubjay.store.sqlite.schema import Tables

KNOWN_TABLES: dict[str, Sequence[str]] = {}
"""Prefix of a table's name -> the statements that create all tables, indexes and triggers of a layer above, which
registers itself when it is imported. Unknown tables are created with the file's own statements."""

_DERIVED = ("image", "tombstone")


def rebuild(source: Path, target: Path, aside: TextIO) -> Rebuilt:
    """Write what can be read in `source` (with its log beside it, both of which may be changed) to a new file.

    Args:
        aside: receives a JSON line for each omitted row, with its values.

    Raises:
        CorruptIndexError: SQLite finds no table of an index in it.
    """
    report = Rebuilt()
    with (
        closing(open_damaged(source, report.mended)) as damaged,
        closing(RebuiltFile(target, report, aside)) as fresh,
    ):
        fresh.execute("BEGIN")
        _Rebuilding(DamagedFile(damaged, fresh.lost), fresh).run()
        fresh.execute("COMMIT")
    return report


class _Rebuilding:
    """The rebuilding of a damaged file to a new one."""

    def __init__(self, damaged: DamagedFile, fresh: RebuiltFile) -> None:
        self._damaged = damaged
        self.fresh = fresh
        self.report = fresh.report

    def run(self) -> None:
        """Copy everything."""
        collections = self._collections()
        identities = {
            tables.suffix: identity_of(self._damaged, tables, self.report.mended)
            for tables in (Tables(), *map(Tables, collections))
        }
        schema.create(self.fresh.connection, identities[""])
        for number, name in collections.items():
            self.fresh.execute("INSERT INTO collection(number, name) VALUES (?, ?)", (number, name))
            schema.create_tables(self.fresh.connection, Tables(number), identities[f"_{number}"])
        for suffix, identity in identities.items():
            tables = Tables(int(suffix[1:] or 0))
            schema.set_meta(
                self.fresh.connection, tables, id_kind=identity.id_kind, generation=identity.generation
            )
        self._data_keys()
        for tables in (Tables(), *map(Tables, collections)):
            self._collection(tables, identities[tables.suffix])
            self._note_contexts(tables)
        self._tables_of_others()
        self._sequence()
        created = self.fresh.execute(
            "SELECT name FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL"
        ).fetchall()
        # Before format 5 an index of versions took the place of the index of horizons.
        there = {name.replace("scope_version", "scope_horizon") for _, name, _ in self._damaged.schema}
        if missing := sorted({name for (name,) in created} - there):
            self.report.mended.append(f"missing indexes and triggers were recreated: {', '.join(missing)}")

    # ------------------------------------------------------------------ collections

    def _collections(self) -> dict[int, str]:
        named: dict[int, str] = {}
        for row in self._damaged.rows("collection"):
            number, name = row.get("number"), row.get("name")
            if (
                isinstance(number, int)
                and number > 0
                and is_collection_name(name)
                and name not in named.values()
            ):
                named[number] = name
            else:
                self.fresh.set_aside("collection", row, "its number or name is not what was written")
        for table in sorted(self._damaged.tables):
            match = re.fullmatch(r"document_(\d+)", table)
            if match is not None and int(match[1]) not in named and int(match[1]) > 0:
                named[int(match[1])] = f"recovered-{match[1]}"
                self.report.mended.append(f"the name of collection {match[1]} is lost: recovered-{match[1]}")
        return named

    # ------------------------------------------------------------------ a collection

    def _collection(self, t: Tables, identity: Identity) -> None:
        if missing := [table for table in t.all() if table not in self._damaged.tables]:
            self.report.mended.append(f"missing tables were recreated empty: {', '.join(missing)}")
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
        # Without tombstones and images older versions cannot be caught up, and the horizon gives the last write.
        execute(f"UPDATE {t.scope} SET horizon = version")

    def _meta(self, t: Tables) -> None:
        written = {name for (name,) in self.fresh.execute(f"SELECT name FROM {t.meta}").fetchall()}
        for row in self._damaged.rows(t.meta):
            name = row.get("name")
            if name in written or name == "documents":  # a count in files before format 5
                continue
            if not isinstance(name, str) or isinstance(row.get("value"), bytes) or "\0" in name:
                self.fresh.set_aside(t.meta, row, "it is not a value of an index")
            else:
                self.fresh.execute(
                    f"INSERT OR IGNORE INTO {t.meta}(name, value) VALUES (?, ?)", (name, row["value"])
                )

    def _scopes(self, t: Tables) -> dict[int, Scope]:
        scopes: dict[int, Scope] = {}
        for row in self._damaged.rows(t.scope):
            try:
                scope = scope_of(row["tenant"], row["user"], row["agent"])
                key = integer(row["key"], "key", 1)
                if scope in scopes.values():
                    raise CorruptIndexError("another scope has these names")
            except (CorruptIndexError, KeyError) as error:
                self.fresh.set_aside(t.scope, row, str(error))
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
            self.fresh.insert(t.scope, {**row, "version": numbers[0], "horizon": numbers[1], "documents": 0})
        return scopes

    def _documents(self, t: Tables, scopes: dict[int, Scope], identity: Identity) -> dict[int, bool]:
        """Copy documents; return number -> whether it is sealed."""
        checksums = {key: Checksum(scope) for key, scope in scopes.items()}
        sealed: dict[int, bool] = {}
        ids: set[tuple[int, Any]] = set()
        for row in self._damaged.rows(t.document):
            try:
                key = self._checked_document(row, checksums, identity)
                if (key, row["id"]) in ids:
                    raise CorruptIndexError("another document of its scope has its id")
                if not self.fresh.insert(t.document, {**row, "scope": key}, quietly=True):
                    raise CorruptIndexError("its row contradicts another one")
            except (CorruptIndexError, KeyError) as error:
                self.fresh.set_aside(t.document, row, str(error))
                continue
            if key != row["scope"]:
                self.report.mended.append(f"{t.document} {row['id']!r}: its scope was {shown(row['scope'])}")
            ids.add((key, row["id"]))
            sealed[row["seq"]] = isinstance(row["text"], bytes)
        self.report.rows[t.document] = len(sealed)
        return sealed

    def _checked_document(
        self, row: dict[str, Any], checksums: dict[int, Checksum], identity: Identity
    ) -> int:
        """Return the key of a document's scope, which its checksum reveals even if the row is damaged."""
        id, text, payload, stored = row["id"], row["text"], row["payload"], row["hash"]
        if not is_id(id, identity.id_kind):
            raise CorruptIndexError("its id is not what was written")
        if payload is not None and payload.__class__ is not bytes:
            raise CorruptIndexError("its metadata is not what was written")
        if row["seq"].__class__ is not int or not 0 < row["seq"] < 1 << 61:
            raise CorruptIndexError("its number is invalid")
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
        for row in self._damaged.rows(table):
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
                self.fresh.set_aside(
                    table, row, "it is not a vector of this index; its document is found by words only"
                )
                continue
            self.fresh.insert(table, row)
            n_kept += 1
        if n_orphans:
            self.report.mended.append(f"{table}: {n_orphans} vectors without a document")
        self.report.rows[table] = n_kept

    def _events(self, t: Tables, scopes: dict[int, Scope]) -> None:
        for row in self._damaged.rows(t.event):
            try:
                integer(row["at"], "at")
                integer(row["documents"], "documents")
                if not isinstance(row["reason"], str) or row["scope"] not in scopes:
                    raise CorruptIndexError("its reason or scope is not what was written")
            except (CorruptIndexError, KeyError) as error:
                self.fresh.set_aside(t.event, row, str(error))
                continue
            self.fresh.insert(t.event, row)

    def _feedback(self, t: Tables) -> None:
        table = f"feedback{t.suffix}"
        if table not in self._damaged.tables:
            return
        for statement in feedback_tables(t):
            self.fresh.execute(statement)
        for row in self._damaged.rows(table):
            try:
                scope_of(row["tenant"], row["user"], row["agent"])
                check_note([row[name] for name in NOTE])
            except (CorruptIndexError, KeyError) as error:
                self.fresh.set_aside(table, row, str(error))
                continue
            scopes = self.fresh.execute(
                f"SELECT scope FROM {t.document} WHERE id = ?", (row["id"],)
            ).fetchall()
            if "scope" not in row and len(scopes) == 1:  # of format 3, where an id was in one scope
                row = {**row, "scope": scopes[0][0], "bound": 0}
            if (row.get("scope"),) in scopes:
                self.fresh.take(table, row)
            else:
                self.report.mended.append(f"{table} {row.get('number')}: a note on no document")

    def _note_contexts(self, t: Tables) -> None:
        """Set the flag of contexts, also where a sealed payload may have one."""
        begins = f"substr(payload, 1, {len(CONTEXT)}) = x'{CONTEXT.hex()}'"
        sealed = "typeof(text) = 'blob' AND payload IS NOT NULL"
        cursor = self.fresh.execute(f"SELECT 1 FROM {t.document} WHERE {begins} OR {sealed} LIMIT 1")
        if cursor.fetchone() is not None:
            schema.note_contexts(self.fresh.connection)
        for table in (t.vector, t.staged_vector):
            heads = self.fresh.execute(f"SELECT substr(data, 1, 64) FROM {table}")
            if any(has_passages(head) or is_sealed(head) for (head,) in heads if isinstance(head, bytes)):
                schema.note_passages(self.fresh.connection)

    # ------------------------------------------------------------------ other tables

    def _data_keys(self) -> None:
        for table in (
            "sealed_table",
            "table_digest",
        ):  # rules of sealed tables, and digests of their rows
            for row in self._damaged.rows(table):
                self.fresh.take(table, row)
        if "data_key" not in self._damaged.tables:
            return
        schema.create_data_keys(self.fresh.connection)
        for row in self._damaged.rows("data_key"):
            self.fresh.take("data_key", row)
        if "user_key" in self._damaged.tables:
            schema.create_user_keys(self.fresh.connection)
            for row in self._damaged.rows("user_key"):
                self.fresh.take("user_key", row)

    def _tables_of_others(self) -> None:
        names = self.fresh.names()
        derived = {name for name in self._damaged.tables if name.partition("_")[0] in _DERIVED}
        own = re.compile(r"(meta|scope|document|vector|staged_vector|tombstone|event|image|feedback)_\d+")
        others = sorted(self._damaged.tables - names - derived - {"sqlite_sequence"})
        later: list[str] = []
        for beginning, statements in KNOWN_TABLES.items():
            if any(table.startswith(beginning) for table in others):
                for statement in statements:
                    if re.match(r"\s*CREATE\s+TRIGGER", statement):
                        later.append(statement)
                    else:
                        self.fresh.execute(statement)
        names = self.fresh.names()
        known = {statement.split("(")[0].split()[2] for statement in later}
        for kind, name, sql in self._damaged.schema:
            if kind == "table" and name in others and name not in names and not own.fullmatch(name):
                self.fresh.make_table(name, sql)
            elif kind == "index" and name not in names and not name.startswith("sqlite_"):
                later.append(sql) if name.startswith("memory_") else None
            elif kind == "trigger" and name not in known:
                if name.startswith("memory_") and not any(name.startswith(prefix) for prefix in KNOWN_TABLES):
                    later.append(sql)
                else:
                    self.fresh.lost("trigger", f"{name} does not belong to Scrubjay: {sql}")
        names = self.fresh.names("table")
        for table in others:
            if table in names:
                for row in self._damaged.rows(table):
                    self.fresh.take(table, row)
            elif own.fullmatch(table):
                self.fresh.lost(table, "a table of a collection that is not in the file")
        for statement in later:
            try:
                self.fresh.execute(statement)
            except UNFIT as error:
                raise_if_full(error)
                self.report.mended.append(f"left out: {statement[:60]}: {error}")

    def _sequence(self) -> None:
        """Restore the counters of numbers that must not be reused."""
        for row in self._damaged.rows("sqlite_sequence"):
            name, seq = row.get("name"), row.get("seq")
            if isinstance(name, str) and seq.__class__ is int and 0 <= int(str(seq)) < 1 << 61:
                self.fresh.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (seq, name))


def _is_vector(data: bytes, identity: Identity, sealed: bool) -> bool:
    """Whether the bytes of a vector are valid for the engine, as far as that can be checked without a key."""
    if identity.dim is None:
        return False
    if sealed:
        return fits(len(data) - OVERHEAD_BYTES, identity.dim, identity.dtype)
    try:
        vector = vector_of(data, identity.dim, identity.dtype)
    except CorruptIndexError:
        return False
    return identity.metric != "cosine" or bool(vector.any())  # for passages: every one
