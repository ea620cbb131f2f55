"""The check of a file's rows: SQLite's integrity check, counts, names, the hash of every row and the size of its
vector, feedback notes, and the digests of encrypted tenants.

:mod:`scrubjay.store.check` compares the rows with the engine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.store.rows.decoding import Checksum, integer, is_id, scope_of
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.sealed import OVERHEAD_BYTES, is_sealed
from scrubjay.store.rows.vectors import content_hash, fits, n_bytes
from scrubjay.store.sqlite import image_pieces
from scrubjay.store.sqlite.cipher import has_plain_rows
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.feedback import damaged_notes, has_notes
from scrubjay.store.sqlite.reading import ScopeReader
from scrubjay.store.sqlite.registry import rules
from scrubjay.store.sqlite.schema import Tables, all_tables, collection_names, has_data_keys
from scrubjay.store.sqlite.versions import UNFOUND


def _contradictions(t: Tables) -> dict[str, str]:
    return {
        "documents of a scope that does not exist": (
            f"SELECT count(*) FROM {t.document} WHERE scope NOT IN (SELECT key FROM {t.scope})"
        ),
        "scopes whose count of documents is wrong": (
            f"SELECT count(*) FROM {t.scope} s WHERE documents <> "
            f"(SELECT count(*) FROM {t.document} d WHERE d.scope = s.key)"
        ),
        "scopes whose count of vectors is wrong": (
            f"SELECT count(*) FROM {t.scope} s WHERE vectors <> "
            f"(SELECT count(*) FROM {t.document} d JOIN {t.vector} v ON v.seq = d.seq WHERE d.scope = s.key)"
        ),
        "documents newer than their scope": (
            f"SELECT count(*) FROM {t.document} d JOIN {t.scope} s ON s.key = d.scope WHERE d.seq > s.version"
        ),
        "scopes whose last write cannot be found": (
            f"SELECT count(*) FROM {t.scope} WHERE {UNFOUND.format(s=t.suffix)}"
        ),
        "vectors without a document": (
            f"SELECT count(*) FROM {t.vector} WHERE seq NOT IN (SELECT seq FROM {t.document})"
        ),
        "staged vectors without a document": (
            f"SELECT count(*) FROM {t.staged_vector} WHERE seq NOT IN (SELECT seq FROM {t.document})"
        ),
        "images newer than their scope": (
            f"SELECT count(*) FROM {t.image} i JOIN {t.scope} s ON s.key = i.scope WHERE i.version > s.version"
        ),
        "images without a scope": f"SELECT count(*) FROM {t.image} WHERE scope NOT IN (SELECT key FROM {t.scope})",
    }


def inspect_file(store: ScopeReader, report: CheckReport) -> None:
    """Check the rows of a collection of a file; call in a snapshot."""
    with noting(report):
        for (message,) in store.reading_connection().execute("PRAGMA integrity_check").fetchall():
            if message != "ok":
                report.add(f"SQLite: {message}")
    for step in (
        _check_collections,
        _check_counts,
        _check_scopes,
        _check_rows,
        _check_notes,
        _check_tables,
    ):
        with noting(report), translated(store.path, "checking"):
            step(store, report)


def _check_tables(store: ScopeReader, report: CheckReport) -> None:
    """Compare the rows of feedback and memory with their digests, and report plaintext of tenants with keys."""
    connection, cipher = store.reading_connection(), store.cipher
    if cipher.ring is None:
        return
    for tenant in _tenants(connection):
        try:
            if not cipher.readable(tenant):
                continue
            plain = has_plain_rows(connection, tenant) if cipher.refuses_plain(tenant) else None
            if plain is not None:
                report.add(str(cipher.plain(f"a row of table {plain}", tenant)))
            for problem in cipher.table_problems(tenant):
                report.add(problem)
        except CorruptIndexError as error:
            report.add(str(error))
        except EncryptionError:
            continue


def _tenants(connection: sqlite3.Connection) -> list[str]:
    """Return all tenants that occur in the file; rows without a tenant are not encrypted."""
    tables = [t.scope for t in all_tables(connection)] + [
        table_rules.name for table_rules in rules(connection) if not table_rules.owner
    ]
    tables += ["data_key"] if has_data_keys(connection) else []
    names = " UNION ".join(f"SELECT tenant FROM {table}" for table in tables)
    try:
        rows = connection.execute(f"{names} ORDER BY tenant").fetchall()
        return [tenant for (tenant,) in rows if tenant != ""]
    except sqlite3.OperationalError as error:
        raise CorruptIndexError(f"the file has data keys, but {error}") from None


@contextmanager
def noting(report: CheckReport) -> Iterator[None]:
    """Report an error of a step, so that the check continues with the next one."""
    try:
        with translated(Path(), "checking"):
            yield
    except CorruptIndexError as error:
        report.add(error.what)


def _check_collections(store: ScopeReader, report: CheckReport) -> None:
    collection_names(store.reading_connection())


def _check_counts(store: ScopeReader, report: CheckReport) -> None:
    t = store.tables
    connection = store.reading_connection()
    queries = _contradictions(t)
    if image_pieces.exists(connection, t):
        pieces = image_pieces.table_of(t)
        queries["pieces of images without a scope"] = (
            f"SELECT count(*) FROM {pieces} WHERE scope NOT IN (SELECT key FROM {t.scope})"
        )
    for description, query in queries.items():
        (n,) = connection.execute(query).fetchone()
        if n:
            report.add(f"{n} {description}")


def _check_scopes(store: ScopeReader, report: CheckReport) -> None:
    t = store.tables
    rows = store.reading_connection().execute(
        f"SELECT key, tenant, user, agent, version, horizon, documents FROM {t.scope}"
    )
    for key, *names, version, horizon, documents in rows.fetchall():
        with noting(report):
            try:
                scope_of(*names)
                for value, name in ((version, "version"), (horizon, "horizon"), (documents, "documents")):
                    integer(value, f"its {name}")
            except CorruptIndexError as error:
                raise CorruptIndexError(f"scope {key}: {error.what}") from None


def _check_notes(store: ScopeReader, report: CheckReport) -> None:
    t = store.tables
    connection = store.reading_connection()
    if has_notes(connection, t):
        (n,) = connection.execute(
            f"SELECT count(*) FROM feedback{t.suffix} f "
            f"WHERE NOT EXISTS(SELECT 1 FROM {t.document} d WHERE d.id = f.id AND d.scope = f.scope)"
        ).fetchone()
        if n:
            report.add(f"{n} notes of feedback on no document")
        for problem in damaged_notes(connection, t):
            report.add(problem)


def _check_rows(store: ScopeReader, report: CheckReport) -> None:
    t = store.tables
    identity = store.identity()
    expected = None if identity.dim is None else n_bytes(identity.dim, identity.dtype)
    rows = store.reading_connection().execute(
        f"SELECT d.id, d.text, d.payload, d.hash, typeof(v.data), length(v.data), d.scope, s.tenant, s.user, s.agent "
        f"FROM {t.document} d LEFT JOIN {t.vector} v ON v.seq = d.seq LEFT JOIN {t.scope} s ON s.key = d.scope"
    )
    checksums: dict[Any, tuple[str, Checksum | None]] = {}
    for id, text, payload, stored_hash, kind, size, key, *names in rows:
        report.documents += 1
        if key not in checksums:
            checksums[key] = "", None
            with suppress(CorruptIndexError):
                scope = scope_of(*names)
                checksums[key] = f" of {scope!r}", Checksum(scope)
        whose, checksum = checksums[key]
        if damage := _damage(checksum, id, text, payload, stored_hash):
            report.add(f"document {id!r}{whose}: {damage}")
        sealed_bytes = OVERHEAD_BYTES if isinstance(text, bytes) else 0
        right = identity.dim is not None and fits((size or 0) - sealed_bytes, identity.dim, identity.dtype)
        if kind != "null" and (kind != "blob" or not right):
            report.add(f"document {id!r}{whose}: its vector has {size} bytes, expected {expected}")


def _damage(checksum: Checksum | None, id: Any, text: Any, payload: Any, stored: Any) -> str | None:
    """Return what is wrong with a row as far as that can be checked without its key, or None."""
    if not is_id(id) or not isinstance(payload, (bytes, type(None))) or checksum is None:
        return "text or payload, id or scope are not what was written"
    if isinstance(text, str):
        damage, usable = checksum.damage(id, text, payload, stored)
        return (
            damage
            if usable
            else None
            if damage is None
            else "text or payload, id or scope are not what was written"
        )
    sealed = isinstance(text, bytes) and is_sealed(text) and content_hash(text, payload) == stored
    return None if sealed else "text or payload are not what was written"
