"""Repairing a damaged file, and salvaging what can be read of one.

A repair copies the file aside (`FILE.damaged`), builds a sound file beside it, checks that, and renames it to the
file's name. Until then the file is unchanged, and afterwards the copy holds every original byte. Omitted rows are
in `FILE.set-aside.jsonl` with all their values.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from scrubjay.base.errors import CorruptIndexError, Error, StoreBusyError, StoreError
from scrubjay.base.whole_files import log_of, mode_of, sync_folder
from scrubjay.store.repair.rebuilding import rebuild
from scrubjay.store.repair.rebuilt_file import Rebuilt, write_aside
from scrubjay.store.rows.values import StoredRow
from scrubjay.store.sqlite.connections import hold_to_size, translated
from scrubjay.store.sqlite.feedback import forget_ids
from scrubjay.store.sqlite.store import SqliteStore

_LOG = "-wal"


@dataclass
class RepairReport:
    """The result of a repair.

    Attributes:
        changed: whether the file was replaced; False: it was sound.
        left_out: a message for each row (or range of rows) that could not be recovered.
        mended: a message for each other problem.
        rows: how many rows were recovered, by table.
        problems: the problems that a check still finds afterwards.
        damaged: the copy of the original file; None if nothing was changed.
        set_aside: the file with the values of the omitted rows, as JSON lines; None if no row was omitted.
    """

    changed: bool = False
    left_out: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    damaged: Path | None = None
    set_aside: Path | None = None


@dataclass
class SalvageReport:
    """The result of a salvage.

    Attributes:
        memories: how many were written.
        files: the files that were written: an export for each collection that has memories, and the rows of other
            tables as JSON lines.
        left_out: a message for each row (or range of rows) that could not be written, with the reason.
    """

    memories: int = 0
    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


Check = Callable[[Path], list[str]]


def repair_file(
    path: Path, check: Check, authenticate: Callable[[Path, TextIO], list[str]] | None = None
) -> RepairReport:
    """Repair a file that is not open anywhere; see :meth:`scrubjay.Admin.repair`.

    Args:
        check: opens the index in a file, writes its images, and returns its problems.
        authenticate: applies :func:`set_aside_forged` to each collection of a file; None without keys.
    """
    report = RepairReport()
    with translated(path, "repairing"):
        if not stat.S_ISREG(mode_of(path)):
            raise StoreError(f"repair: no such file: {path}")
    path = path.resolve()  # the log lies beside the target of a link, and the target is replaced
    with translated(path, "repairing"), _working_folder(path) as folder, _alone_with(path) as held:
        work, fresh, aside = folder / "work", folder / "fresh", folder / "aside"
        hold_to_size(path)
        _copy(held, path, work)
        with _created(aside).open("w", encoding="utf-8") as file:
            rebuilt = rebuild(work, _created(fresh), file)
            if authenticate is not None:
                rebuilt.left_out += authenticate(fresh, file)
        _copy(held, path, work)
        sound = not rebuilt.left_out and not rebuilt.mended and not _checked(work, check)
        report.left_out, report.mended, report.rows = rebuilt.left_out, rebuilt.mended, rebuilt.rows
        if sound:
            return report
        report.problems = check(fresh)
        _fold_log(fresh)
        _sync(fresh)
        report.damaged = _free_name(path, ".damaged")
        _copy(held, path, folder / "kept")
        for end in (_LOG, ""):  # the main file last: once it exists the copy is complete
            copy = folder / f"kept{end}"
            if end == "" or (copy.exists() and copy.stat().st_size):
                _sync(copy)
                copy.rename(report.damaged.with_name(report.damaged.name + end))
        if rebuilt.left_out:
            report.set_aside = _free_name(path, ".set-aside.jsonl")
            _sync(aside)
            aside.rename(report.set_aside)
        held.release_log()
        shutil.copymode(path, fresh)
        fresh.replace(path)
        sync_folder(path.parent)
        report.changed = True
    return report


def set_aside_forged(store: SqliteStore, aside: TextIO) -> list[str]:
    """Set aside the sealed rows of a collection that their tenant's key does not open; return a message for each."""
    t = store.tables
    connection = store.reading_connection()
    forged: list[tuple[int, str, str]] = []  # number, table, reason
    gone: dict[int, list[Any]] = {}  # key of a scope -> ids of its removed documents
    with store.snapshot():
        for scope, state in store.scopes():
            try:
                ring = store.cipher.ring
                if ring is None or not store.cipher.readable(scope.tenant, scope.user):
                    continue
                if ring.users is None and store.cipher.user_keys.of(scope.tenant, scope.user or ""):
                    # the user's key is not available: without the key store their data cannot be decrypted
                    continue
            except Error:  # the key is currently unavailable: keep its rows
                continue
            opened = store.row_opener(scope)
            rows = connection.execute(
                f"SELECT d.seq, d.id, d.text, d.payload, v.data, d.hash FROM {t.document} d "
                f"LEFT JOIN {t.vector} v ON v.seq = d.seq WHERE d.scope = ?",
                (state.key,),
            )
            for row in rows:
                why = _forgery(opened, row)
                if why is not None:
                    table = t.vector if _forgery(opened, (*row[:4], None, row[5])) is None else t.document
                    forged.append((row[0], table, f"{table} id {row[1]!r} of {scope!r}: {why}"))
                    if table == t.document:
                        gone.setdefault(state.key, []).append(row[1])
    if forged:
        with store.writing("setting aside") as transaction:
            execute = transaction.connection.execute
            for seq, table, why in forged:
                cursor = execute(f"SELECT * FROM {table} WHERE seq = ?", (seq,))
                names = [column[0] for column in cursor.description]
                write_aside(aside, table, why, dict(zip(names, cursor.fetchone(), strict=True)))
                for affected in (t.vector,) if table == t.vector else (t.document, t.vector, t.staged_vector):
                    execute(f"DELETE FROM {affected} WHERE seq = ?", (seq,))
            for key, ids in gone.items():
                forget_ids(transaction.connection, t, key, ids)
            execute(
                f"UPDATE {t.scope} SET "
                f"documents = (SELECT count(*) FROM {t.document} d WHERE d.scope = key), "
                f"vectors = (SELECT count(*) FROM {t.vector} v JOIN {t.document} d ON d.seq = v.seq "
                "WHERE d.scope = key)"
            )
            # There are no tombstones, so partitions and images with these documents must be read again.
            transaction.connection.executemany(
                f"UPDATE {t.scope} SET horizon = max(horizon, version) WHERE key = ?",
                [(key,) for key in gone],
            )
    return [why for _, _, why in forged]


def _forgery(opened: Callable[[Sequence[Any]], StoredRow], row: Sequence[Any]) -> str | None:
    try:
        return opened(row).damage
    except Error as error:
        return error.what if isinstance(error, CorruptIndexError) else str(error)


def salvage_file(path: Path, write: Callable[[Path, Rebuilt], None]) -> Rebuilt:
    """Build a sound file from what can be read in `path`, which is not changed, and pass it to `write`."""
    with translated(path, "salvaging"):
        if not stat.S_ISREG(mode_of(path)):
            raise StoreError(f"salvage: no such file: {path}")
    hold_to_size(path)
    # A thread that is stopped at exit leaves its files behind; then there is nothing to report.
    scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with translated(path, "salvaging"), scratch as temporary:
        folder = Path(temporary)
        work, fresh = folder / "work", folder / "fresh"
        shutil.copyfile(path, work)
        if (log := log_of(path)).exists():
            shutil.copyfile(log, folder / f"work{_LOG}")
        with (folder / "aside").open("w", encoding="utf-8") as file:
            rebuilt = rebuild(work, fresh, file)
        write(fresh, rebuilt)
    return rebuilt


def _checked(work: Path, check: Check) -> list[str]:
    """Return the problems of a file; a copy is opened, since opening changes it."""
    try:
        return check(work)
    except Error as error:
        return [str(error)]


def _fold_log(fresh: Path) -> None:
    """Checkpoint the log of the new file, which replaces the damaged one without its log.

    Closing does the same, but hides that the disk is full.
    """
    with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log = fresh.with_name(fresh.name + _LOG)
    if log.exists() and log.stat().st_size:
        raise StoreError(f"repairing: the log of the new file could not be written back: {fresh}")


class _FileLock:
    """An exclusive lock on a file: a descriptor, and a connection with SQLite's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Closing any descriptor of the file drops SQLite's locks, so this one is closed after the connection.
        self.descriptor = os.open(path, os.O_RDONLY)
        self._connection = self._locked()

    def _locked(self) -> sqlite3.Connection | None:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=0.5)
        try:
            hold_to_size(self.path)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
        except (sqlite3.Error, UnicodeDecodeError, CorruptIndexError) as error:
            if "locked" in str(error) or "busy" in str(error):
                connection.close()
                os.close(self.descriptor)
                raise StoreBusyError(
                    f"repairing: the file is open elsewhere, close it first: {self.path}"
                ) from None
            connection.close()
            return None  # SQLite rejects the file, so it is not open anywhere
        return connection

    def release_log(self) -> None:
        """Remove the log, which SQLite would apply to another file of this name."""
        if self._connection is not None:
            with suppress(sqlite3.Error, UnicodeDecodeError):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        for end in (_LOG, "-shm", "-journal"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the file."""
        if self._connection is not None:
            self._connection.close()
        os.close(self.descriptor)


@contextmanager
def _alone_with(path: Path) -> Iterator[_FileLock]:
    held = _FileLock(path)
    try:
        yield held
    finally:
        held.close()


def _copy(held: _FileLock, path: Path, target: Path) -> None:
    """Copy the file and its log without opening the file again."""
    for end in ("", _LOG, "-shm"):
        target.with_name(target.name + end).unlink(missing_ok=True)
    with _created(target).open("wb") as file:
        start = 0
        while data := os.pread(held.descriptor, 1 << 20, start):
            file.write(data)
            start += len(data)
    log = path.with_name(path.name + _LOG)
    if log.exists():
        shutil.copyfile(log, _created(target.with_name(target.name + _LOG)))


def _created(path: Path) -> Path:
    """Create a file that only its owner can read."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with suppress(OSError):  # the file system may not support modes
        path.chmod(0o600)  # the umask may have removed more
    return path


@contextmanager
def _working_folder(path: Path) -> Iterator[Path]:
    """Create a temporary folder beside the file, so that a rename is atomic."""
    beside = tempfile.TemporaryDirectory(
        prefix=f".{path.name}-repair-", dir=path.parent, ignore_cleanup_errors=True
    )
    with beside as folder:
        yield Path(folder)


def _free_name(path: Path, end: str) -> Path:
    for number in range(1, 10_000):
        name = path.with_name(path.name + end + ("" if number == 1 else f"-{number}"))
        if not name.exists():
            return name
    raise CorruptIndexError(f"too many files {path.name}{end}: delete some")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
