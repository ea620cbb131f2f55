"""Files that several adapters of one process share.

Each adapter requests a collection of a path and gets a :class:`Lease`; the file is opened once, and closed when the
last lease is closed or dropped. So a framework may open several stores or never close them, and two independent
frameworks may name the same path.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from scrubjay.base.errors import ClosedError
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import Index
from scrubjay.store.postgres.address import is_address


class _SharedFile:
    """A file that this process has open, and its leases."""

    def __init__(self, index: Index, options: dict[str, Any]) -> None:
        self.index = index
        self.options = options
        self.file = None if index.path is None else _identity(index.path)
        self.is_ours = True
        # Weak: a framework that drops its store without closing it must not keep the file open. No lock is taken when a
        # lease is collected, since that may happen at any point.
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()

    def usable(self, path: Path | str) -> bool:
        """Whether the file or database is still open, and the path still names the same file."""
        try:
            self.index.admin.collections()
        except ClosedError:  # the index itself was closed
            return False
        return isinstance(path, str) or (self.file is not None and self.file == _identity(path))


class Lease:
    """One adapter's share of an open file, or of an index that it was given. Thread-safe.

    Made by :func:`lease`. A context manager; :meth:`close` may be called more than once.
    """

    def __init__(
        self, opened: _SharedFile, collection: str | None, embedder: Embedder | None, identity: dict[str, Any]
    ) -> None:
        self._opened = opened
        self._collection = collection
        self._embedder = embedder
        self._identity = identity
        self._index: Index | None = None  # the last one returned; strong, to be reused
        self._closed = False

    @property
    def root(self) -> Index:
        """The index that was opened: the default collection."""
        if self._closed:
            raise ClosedError("the store of this adapter is closed")
        return self._opened.index

    @property
    def index(self) -> Index:
        """The collection. Created again if it was dropped since, also by another holder of the file."""
        root = self.root
        if self._collection is None:
            return root
        index = self._index
        if (
            index is None
            or index._collection.is_closed
            or (self._embedder is not None and index._collection.embedder is not self._embedder)
        ):
            index = root.collection(self._collection, embedder=self._embedder, **self._identity)
            self._index = index
        return index

    @property
    def turn(self) -> AbstractContextManager[bool]:
        """A lock that all holders of the file share, for reading and then writing."""
        with _lock:
            turn: AbstractContextManager[bool] = _turns.setdefault(self.root, threading.RLock())
            return turn

    def place(self, index: Index) -> str:
        """Return the description for the `repr` of the adapter of this index. Reads and opens nothing.

        >>> held = lease(None, collection="notes")
        >>> held.place(held.index)
        "'notes' in memory, by words"
        >>> held.close()
        >>> held.place(Index())
        "'notes' in memory, by words, closed"
        """
        path = self._opened.index.path
        where = "in memory" if path is None else f"of {path}"
        name = "" if self._collection is None else f"{self._collection!r} "
        by = "words" if index.embedder is None else f"words and {index.embedder.name}"
        return f"{name}{where}, by {by}{', closed' if self._closed else ''}"

    def close(self) -> None:
        """Return the file; the last holder's call closes it. Later calls raise ClosedError."""
        with _lock:  # also while the file is being closed: another opening waits
            if self._closed:
                return
            self._closed, self._index = True, None
            self._opened.leases.discard(self)
            if not self._opened.is_ours or len(self._opened.leases) > 0:
                return
            for path, opened in list(_files.items()):
                if opened is self._opened:
                    del _files[path]
            self._opened.index.close()

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lease(
    where: str | os.PathLike[str] | Index | None,
    *,
    collection: str | None = None,
    embedder: Embedder | None = None,
    dim: int | None = None,
    metric: str | None = None,
    dtype: str | None = None,
    analyzer: str | None = None,
    **options: Any,
) -> Lease:
    """Return a lease on a collection of a file.

    Args:
        where: a path, or the address of a database (postgresql://...); an open index, which the lease never closes;
            None: a new index in memory.
        collection: of the file; None: the default collection.
        embedder, dim, metric, dtype, analyzer: of the collection, as in :meth:`scrubjay.Index.collection`.
        options: durability, busy_timeout and the other arguments of :meth:`scrubjay.Index.open` that concern the
            file. The first opening determines them; later ones with other options raise.

    Paths are compared with links resolved. One file is opened at a time.

    Raises:
        ValueError: the file is open with other options.
        The errors of Index.open and Index.collection.

    >>> import tempfile
    >>> from scrubjay import Scope
    >>> folder = tempfile.TemporaryDirectory()
    >>> one = lease(folder.name + "/agent.scrubjay", collection="notes")
    >>> other = lease(folder.name + "/agent.scrubjay", collection="notes")
    >>> acme = Scope("acme")
    >>> one.index.upsert("m1", "Prefers trains to planes.", scope=acme)
    >>> one.close()
    >>> other.index is one._opened.index.collection("notes"), other.index.get("m1", scope=acme).text
    (True, 'Prefers trains to planes.')
    >>> other.close()
    >>> folder.cleanup()
    """
    identity = {"dim": dim, "metric": metric, "dtype": dtype, "analyzer": analyzer}
    identity = {name: value for name, value in identity.items() if value is not None}
    if isinstance(where, Index) and options:
        raise ValueError(f"{', '.join(options)}: expected none with an index that is already open")
    with _lock:  # until the lease is registered, so that no other thread closes the file
        if where is None or isinstance(where, Index):
            opened = _SharedFile(Index(**options) if where is None else where, {})
            opened.is_ours = False  # not registered; its owner closes it
        else:
            opened = _open(str(where) if is_address(where) else Path(where), options)
        held = Lease(opened, collection, embedder, identity)
        opened.leases.add(held)
    try:
        if collection is None:
            _fit(opened.index, embedder, identity)
        else:
            _ = held.index  # errors of the collection are raised now
    except BaseException:
        held.close()
        raise
    return held


def path_or_index(
    path: str | os.PathLike[str] | None, index: Index | None
) -> str | os.PathLike[str] | Index | None:
    """Return `path` or `index`, whichever is given, for adapters that have a parameter for each.

    Raises:
        ValueError: both are given.
    """
    if path is not None and index is not None:
        raise ValueError("path, index: expected either path or index, got both")
    return path if index is None else index


def _open(path: Path | str, options: dict[str, Any]) -> _SharedFile:
    path = path.resolve() if isinstance(path, Path) else path
    opened = _files.get(path)
    if opened is not None and opened.usable(path):
        for name, value in options.items():
            if opened.options.get(name, _DEFAULT) != value:
                there = opened.options.get(name, _DEFAULT)
                raise ValueError(f"{name}: {path} is open with {there!r}, got {value!r}; close it first")
        return opened
    opened = _SharedFile(Index.open(path, **options), options)
    _files[path] = opened
    return opened


def _fit(index: Index, embedder: Embedder | None, identity: dict[str, Any]) -> None:
    """Apply the embedder to the default collection, and check the requested properties."""
    if embedder is not None:
        index.embedder = embedder
    stats = index.admin.stats()
    for name, value in identity.items():
        there = stats[name]
        fits = there == value or (name == "analyzer" and str(there).rpartition("-")[0] == value)
        if not fits and not (name == "dim" and there is None):
            raise ValueError(f"{name}: the index has {there!r}, got {value!r}")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


_DEFAULT = "the default"
# By resolved path; unused entries disappear by themselves.
_files: weakref.WeakValueDictionary[Path | str, _SharedFile] = weakref.WeakValueDictionary()
_turns: weakref.WeakKeyDictionary[Index, Any] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def _after_fork() -> None:
    """In a child: the parent's files are not usable, and its lock may be held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()
    _files.clear()
    _turns.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
