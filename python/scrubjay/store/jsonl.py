"""Lossless export to and import from JSON Lines.

Each line is an object: id, text, context, tenant, user, agent, metadata, created_at, expires_at, `passages` if the
writer defined them or chose none (false), and the vector (for a document with passages a list of vectors, and `spans`,
their positions in the text). In an index with vectors, null is the vector of a document that has none and is not
pending: it is not embedded on import either. Numbers have as many digits as single precision needs, so
a vector round-trips bit for bit. The first line names the format.

The key of a memory is its scope and its id, so a file may contain an id in several scopes. In files of earlier
versions each id occurs once; they are read in the same way.

Memories of an encrypted tenant are exported as sealed lines under a key generated for the export. The key,
wrapped by the tenant's master key, precedes the first of them.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from scrubjay.base.errors import CorruptIndexError, EncryptionError, StoreFormatError
from scrubjay.base.progress import Progress
from scrubjay.documents import payload
from scrubjay.documents.passage_vectors import PassageVectors, fits
from scrubjay.documents.records import NO_VECTOR
from scrubjay.store.engine import DurableEngine
from scrubjay.store.keys.encryption import WHOLE, Box, KeyRing, Master
from scrubjay.store.rows.decoding import is_id, shown
from scrubjay.store.rows.listing import warn_of
from scrubjay.store.rows.sealed import frame
from scrubjay.store.sqlite.schema import Tables, all_tables
from scrubjay.store.sqlite.store import SqliteStore

_CLEAR, _SEALED = 1, 2  # formats


def write_export(
    engine: DurableEngine,
    file: TextIO,
    progress: Progress,
    *,
    plaintext: bool,
    damaged: list[str] | None = None,
) -> int:
    """Write every unexpired memory in order of writing, as of one moment; return their number.

    Memories of encrypted tenants are sealed, unless `plaintext`; those of tenants whose keys were destroyed are
    omitted. Damaged memories are omitted and named in a CorruptDataWarning. With `damaged` they are appended to
    that list instead, and so are memories whose keys are not available.

    Raises:
        EncryptionError: a tenant's key is not available, and `damaged` is None.
    """
    store = engine.store
    n_written = 0
    found_damaged: list[str] = [] if damaged is None else damaged
    with store.snapshot():
        identity = store.identity()
        sealing = not plaintext and bool(store.encrypted_tenants())
        boxes: dict[str, Box | None] = {}
        header = {
            "scrubjay_export": _SEALED if sealing else _CLEAR,
            "metric": identity.metric,
            "dtype": identity.dtype,
            "dim": identity.dim,
        }
        file.write(json.dumps({**header, "embedder": identity.model}) + "\n")
        now = engine.clock()
        for batch in store.walk(now=now):
            for id, load in batch:
                try:
                    if not is_id(id, identity.id_kind):
                        raise CorruptIndexError(f"an id that is {shown(id)}")
                    row_and_scope = load()
                    if row_and_scope is None:
                        continue
                    document = engine.document(*row_and_scope)
                    text = json.dumps(_line(document, identity.dim is not None), ensure_ascii=False)
                except CorruptIndexError as error:
                    named = "" if error.scope is None else f" of {error.scope!r}"
                    found_damaged.append(f"document {id!r}{named}: {error.what}")
                    continue
                except EncryptionError as error:
                    if damaged is None:
                        raise
                    damaged.append(f"document {id!r}: {error}")
                    continue
                if sealing:
                    tenant = document.scope.tenant
                    if tenant not in boxes:
                        boxes[tenant] = _write_key(engine, tenant, file)
                    box = boxes[tenant]
                    if box is not None:
                        sealed = box.seal(frame("export", tenant), text.encode("utf-8", "surrogatepass"))
                        text = json.dumps({"tenant": tenant, "sealed": _base64(sealed)})
                file.write(text + "\n")
                n_written += 1
            progress.update(len(batch))
    if damaged is None:
        warn_of(found_damaged, store.path)
    return n_written


def write_tables(store: SqliteStore, file: TextIO) -> int:
    """Write the rows of the tables of layers above, which belong to no collection, unchanged; return their
    number.

    Each line is {"table": ..., "row": {...}}; bytes are {"base64": ...}. Feedback notes have the names of their
    document's scope in place of its key.
    """
    n_written = 0
    with store.snapshot():
        connection = store.reading_connection()
        own = {
            name for tables in all_tables(connection) for name in (*tables.all(), f"pending{tables.suffix}")
        } | {
            "collection",
            "data_key",
        }
        tables_found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        for (table,) in tables_found:
            if table in own:
                continue
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            scopes = _scopes(connection, table)
            for row in cursor:
                values = {
                    name: {"base64": _base64(value)} if isinstance(value, bytes) else value
                    for name, value in zip(names, row, strict=True)
                }
                if scopes is not None:
                    values["scope"] = scopes.get(values["scope"])
                file.write(json.dumps({"table": table, "row": values}, ensure_ascii=False) + "\n")
                n_written += 1
    return n_written


def _scopes(connection: sqlite3.Connection, table: str) -> dict[Any, list[str]] | None:
    """Return key -> names for the scopes of a feedback table; None for any other table."""
    head, _, number = table.partition("_")
    if head != "feedback" or not (number == "" or number.isdigit()):
        return None
    rows = connection.execute(f"SELECT key, tenant, user, agent FROM {Tables(int(number or 0)).scope}")
    return {key: names for key, *names in rows}


def _write_key(engine: DurableEngine, tenant: str, file: TextIO) -> Box | None:
    """Write a new key for the tenant's lines; None: the tenant is not encrypted."""
    master = engine.store.cipher.master(tenant)
    if master is None:
        return None
    box, wrapped = master.make(tenant, mark=WHOLE)
    key = {"id": box.id.hex(), "fingerprint": master.fingerprint.hex(), "wrapped": _base64(wrapped)}
    file.write(json.dumps({"tenant": tenant, "key": key}) + "\n")
    return box


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _line(document: Any, has_vectors: bool) -> dict[str, Any]:
    scope = document.scope
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
    line: dict[str, Any] = {"id": document.id, "text": document.text}
    line.update((name, value) for name, value in names.items() if value is not None)
    metadata, created_at = payload.decode(document.payload)
    if (context := payload.context_of(document.payload)) is not None:
        line["context"] = context
    expires_at = payload.expiry(document.payload)
    if (passages := payload.passages_of(document.payload)) is not None:
        line["passages"] = passages or False
    if metadata:
        line["metadata"] = metadata
    if created_at is not None:
        line["created_at"] = created_at.isoformat()
    if expires_at is not None:
        line["expires_at"] = expires_at.isoformat()
    if document.vector is not None:
        vector = document.vector
        if isinstance(vector, PassageVectors):
            line["vector"] = [_numbers(row) for row in vector.rows]
            line["spans"] = vector.spans.tolist()
        else:
            line["vector"] = _numbers(vector)
    elif has_vectors and not payload.is_pending(document.payload):
        line["vector"] = None
    return line


def _numbers(vector: Any) -> list[float]:
    return [float(f"{x:.9g}") for x in vector.tolist()]


def read_export(path: Path, ring: KeyRing | None) -> Iterator[dict[str, Any]]:
    """Yield the header of an export, then its records as upsert_many takes them.

    Raises:
        StoreFormatError: the file is not an export, or a line is not a record; the message names the line.
        EncryptionError: a line is sealed with a key that is not available.
        CorruptIndexError: a sealed line was changed.
    """
    boxes: dict[str, Box] = {}
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            try:
                line = json.loads(data.decode())
            except (ValueError, RecursionError) as error:
                raise StoreFormatError(f"{path}, line {number}: expected JSON, got {error}") from None
            if not isinstance(line, dict) or (
                number == 1 and line.get("scrubjay_export") not in (_CLEAR, _SEALED)
            ):
                raise StoreFormatError(f"{path}, line {number}: expected an export of Scrubjay")
            if number > 1:
                if "key" in line or "sealed" in line:
                    opened = _opened(line, ring, boxes, f"{path}, line {number}")
                    if opened is None:
                        continue
                    line = opened
                if "spans" in line:
                    line["vector"] = _passages(line, f"{path}, line {number}")
                passages, vector = line.get("passages"), line.get("vector")
                if vector is None and "vector" in line:
                    line["vector"] = NO_VECTOR
                if passages is not None and vector is not None and not fits(vector, passages):
                    del line["passages"]  # an earlier version patched the vector
                try:
                    line["scope"] = {"tenant": line.pop("tenant")}
                except KeyError:
                    raise StoreFormatError(f"{path}, line {number}: expected a tenant") from None
                line["scope"].update((name, line.pop(name)) for name in ("user", "agent") if name in line)
            yield line


def _passages(line: dict[str, Any], place: str) -> PassageVectors:
    try:
        rows, spans = np.array(line["vector"], np.float32), np.array(line.pop("spans"), np.uint32)
        return PassageVectors(rows.reshape(len(spans), -1), spans.reshape(-1, 2))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise StoreFormatError(f"{place}: expected a vector for each span") from None


def _opened(
    line: dict[str, Any], ring: KeyRing | None, boxes: dict[str, Box], place: str
) -> dict[str, Any] | None:
    """Return the record of a sealed line; None: the line was a key."""
    tenant, key = line.get("tenant"), line.get("key")
    try:
        if not isinstance(tenant, str):
            raise TypeError("a tenant")
        if key is not None:
            master = _master(ring, tenant, bytes.fromhex(key["fingerprint"]), place)
            wrapped = base64.b64decode(key["wrapped"], validate=True)
            boxes[tenant] = master.unwrap(tenant, bytes.fromhex(key["id"]), wrapped, mark=WHOLE)
            return None
        sealed = base64.b64decode(line["sealed"], validate=True)
        text = boxes[tenant].open(frame("export", tenant), sealed)
    except CorruptIndexError as error:
        raise CorruptIndexError(f"{place}: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise StoreFormatError(f"{place}: expected a sealed memory, after the key of its tenant") from None
    return cast("dict[str, Any]", json.loads(text.decode("utf-8", "surrogatepass")))


def _master(ring: KeyRing | None, tenant: str, fingerprint: bytes, place: str) -> Master:
    master = None if ring is None else ring.access(tenant).master
    if master is None:
        raise EncryptionError(
            f"{place}: tenant {tenant!r} is encrypted, and there is no key for it (see keys=)"
        )
    if master.fingerprint != fingerprint:
        raise EncryptionError(f"{place}: tenant {tenant!r} is encrypted with another key than the one given")
    return master
