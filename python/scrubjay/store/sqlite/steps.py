"""What maintenance in steps needs beside the steps: checkpoints of the log without the write lock, and pauses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.store.sqlite.connections import StoreConnection, connect, translated
from scrubjay.store.sqlite.descriptors import looking_at


@contextmanager
def beside(path: Path, doing: str) -> Iterator[StoreConnection]:
    """Open a second connection, which checkpoints the log without the write lock."""
    looking = looking_at(path)  # keeps the files' descriptors open until this connection is closed as well
    try:
        with translated(path, doing):
            connection = connect(path, durability="normal", busy_seconds=0)
            try:
                connection.execute("PRAGMA wal_autocheckpoint = 0")
                yield connection
            finally:
                connection.close()
    finally:
        looking.close()


def checkpoint(connection: StoreConnection) -> bool:
    """Checkpoint the log as far as readers permit; return whether it was complete."""
    busy, n_log, n_brought = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not busy and n_log == n_brought


def rest(seconds: float) -> None:
    """Pause for twice the duration of a step: writers of other processes poll for the lock."""
    time.sleep(min(max(2 * seconds, 0.0005), 0.02))
