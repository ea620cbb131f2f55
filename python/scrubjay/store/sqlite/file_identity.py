"""A process-independent identity for a file and collection, for results that processes share.

A path does not identify a file: it is relative, and a file may be replaced by another. Versions do not either:
those of different files may be equal. So a file gets a random name when one is first requested (a row of `meta`,
which older versions ignore). A backup gets another name, since its history diverges; a copy made by other means
is recognised by its inode, unless it is written over the original.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from scrubjay.base.errors import CorruptIndexError, StoreError
from scrubjay.store.rows.decoding import shown
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.schema import Tables

FILE_ID = "file_id"


class IdentifiedCollection(Protocol):
    """What this module needs of a collection of a file."""

    path: Path
    tables: Tables

    def reading_connection(self) -> Any:
        """Return this thread's connection."""
        ...

    def writing(self, doing: str, *, wait: bool = True) -> AbstractContextManager[Any]:
        """Acquire the write lock; yield the transaction."""
        ...


def place_of(store: IdentifiedCollection) -> str | None:
    """Return a value that is equal in all processes that have this collection of this file open, and in no others.

    None: the file has no name yet and cannot be given one now, because another writer is active.
    """
    name = _file_name(store)
    if name is None:
        return None
    status = store.path.stat()
    return f"{name}:{status.st_dev}:{status.st_ino}{store.tables.suffix}"


def name_of(store: IdentifiedCollection) -> str | None:
    """Return a name that is equal wherever this collection is open, even after the file was moved; a backup has
    another one.

    None: as for :func:`place_of`.
    """
    name = _file_name(store)
    return None if name is None else name + store.tables.suffix


def _file_name(store: IdentifiedCollection) -> str | None:
    whole = Tables()
    query = f"SELECT value FROM {whole.meta} WHERE name = ?"
    with translated(store.path, "reading"):
        row = store.reading_connection().execute(query, (FILE_ID,)).fetchone()
    if row is None:
        try:
            with store.writing("naming the file", wait=False) as transaction:
                transaction.connection.execute(
                    f"INSERT OR IGNORE INTO {whole.meta}(name, value) VALUES (?, ?)",
                    (FILE_ID, secrets.token_hex(16)),
                )
                row = transaction.connection.execute(query, (FILE_ID,)).fetchone()
        except StoreError:
            return None
    if row[0].__class__ is not str:
        raise CorruptIndexError(f"meta.{FILE_ID}: expected a text, got {shown(row[0])}", path=store.path)
    name: str = row[0]
    return name
