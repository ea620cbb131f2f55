"""Backups of the file of an index."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from scrubjay.base.errors import ClosedError, StoreError
from scrubjay.base.progress import Progress
from scrubjay.base.whole_files import beside, log_of
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.file_identity import FILE_ID
from scrubjay.store.sqlite.store import SqliteStore

_BACKUP_PAGES = 2048


def back_up(store: SqliteStore, target: Path, progress: Progress, *, replace: bool = False) -> int:
    """Copy the current state of the index to `target`, concurrently with readers and writers; return the size of
    the copy in bytes.

    The copy appears under its name when it is complete.
    """
    with translated(target, "backing up"):
        if target.exists():
            if not replace:
                raise StoreError(f"backup: the file exists already, name a new one: {target}")
            if target.samefile(store.path):
                raise StoreError(f"backup: expected another file than the index itself: {target}")
            if log_of(target).exists():  # it would be applied to the copy
                raise StoreError(f"backup: the file is an index that is in use, name another one: {target}")
    with translated(target, "backing up"), beside(target, replace=replace, sweeps=True) as partial:
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy, store.snapshot():
            source = store.reading_connection()
            source.execute("SELECT count(*) FROM meta").fetchone()  # fixes the snapshot that is read
            done = 0

            def advance(_status: int, remaining: int, total: int) -> None:
                nonlocal done
                if source.is_shut:  # otherwise closing the index would wait for the whole copy
                    raise ClosedError(f"the index was closed while backing up: {target}")
                progress.update(total - remaining - done)
                done = total - remaining

            try:
                source.backup(copy, pages=_BACKUP_PAGES, progress=advance)
            except sqlite3.Error as error:
                if "full" not in str(error):  # an error of the index itself
                    raise
                with translated(target, "backing up"):
                    raise
            # the copy gets an identity of its own
            copy.execute("DELETE FROM meta WHERE name = ?", (FILE_ID,))
            copy.execute("PRAGMA journal_mode = DELETE")  # a single file; the next opening sets WAL again
        with partial.open("rb") as file:
            os.fsync(file.fileno())
    return target.stat().st_size
