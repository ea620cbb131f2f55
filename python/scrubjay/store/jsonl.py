"""How do memories leave an index as JSON Lines, and come back the same?

One object a line: id, text, tenant, user, agent, metadata, created_at, expires_at, and the vector with the embedder's
name. Numbers have as many digits as single precision needs, so a vector comes back bit for bit. The first line names
the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from scrubjay import payload
from scrubjay.errors import StoreFormatError
from scrubjay.progress import Progress
from scrubjay.store.engine import DurableEngine

__all__ = ["read_export", "write_export"]

_HEADER = {"scrubjay_export": 1}


def write_export(engine: DurableEngine, file: TextIO, progress: Progress) -> int:
    """Write every unexpired memory in order of writing, as of one moment; return how many."""
    store = engine.store
    n_written = 0
    with store.snapshot():
        identity = store.identity()
        header = {**_HEADER, "metric": identity.metric, "dtype": identity.dtype, "dim": identity.dim}
        file.write(json.dumps({**header, "embedder": identity.model}) + "\n")
        now = engine.clock()
        after = 0
        while batch := store.ids_after(after, 1000, now=now):
            after = batch[-1][0]
            for _, id in batch:
                document = engine.get(id)
                if document is not None:
                    file.write(json.dumps(_line(document), ensure_ascii=False) + "\n")
                    n_written += 1
            progress.update(len(batch))
    return n_written


def _line(document: Any) -> dict[str, Any]:
    scope = document.scope
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
    line: dict[str, Any] = {"id": document.id, "text": document.text}
    line.update((name, value) for name, value in names.items() if value is not None)
    metadata, created_at = payload.decode(document.payload)
    expires_at = payload.expiry(document.payload)
    if metadata:
        line["metadata"] = metadata
    if created_at is not None:
        line["created_at"] = created_at.isoformat()
    if expires_at is not None:
        line["expires_at"] = expires_at.isoformat()
    if document.vector is not None:
        line["vector"] = [float(f"{x:.9g}") for x in document.vector.tolist()]
    return line


def read_export(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the header of an export, then its records as upsert_many takes them.

    Raises:
        StoreFormatError: the file is no export, or a line is no record; the message names the line.
    """
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except ValueError as error:
                raise StoreFormatError(f"{path}, line {number}: expected JSON, got {error}") from None
            if not isinstance(line, dict) or (number == 1 and line.get("scrubjay_export") != 1):
                raise StoreFormatError(f"{path}, line {number}: expected an export of Scrubjay")
            if number > 1:
                try:
                    line["scope"] = {"tenant": line.pop("tenant")}
                except KeyError:
                    raise StoreFormatError(f"{path}, line {number}: expected a tenant") from None
                line["scope"].update((name, line.pop(name)) for name in ("user", "agent") if name in line)
            yield line
