"""Large images in an object store: named by the hash of their content, verified at each read, never trusted.

The database records the object of an image, its length and its hash. A missing or different object costs a
rebuild from the rows; a place that does not answer is not asked again for a while. The rows of cold scopes
(:mod:`scrubjay.store.postgres.cold`) are objects, too, and the truth: they are read back before their rows are
deleted, and are not cached locally.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from scrubjay.base.errors import CorruptIndexError, StoreUnavailableError
from scrubjay.base.locks import renew_in_children
from scrubjay.store.objects.blob_cache import BlobCache
from scrubjay.store.objects.blobs import Blobs, Folder
from scrubjay.store.objects.cloud import Cloud

GRACE_SECONDS = 3600.0
"""How long an object may exist before a row refers to it; older objects without a row are removed."""
HEAD_BYTES = 2  # the first bytes of an image, stored in its row: whether it is sealed
_AWAY_SECONDS = 15.0  # a place that did not answer is not asked for this long
_TIDY_SECONDS = 300.0
_COUNTED = ("read", "cached", "lost", "away", "written")
_PAGE = 500  # names per query to the rows
_INDEX = re.compile(r"[0-9a-f]{32}")
_OBJECT = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\..*\.partial")  # left in a folder by a killed process
_T = TypeVar("_T")

NamedStatement = Callable[[Sequence[bytes]], Collection[bytes]]
"""Hashes of objects -> those that a row refers to."""


@dataclass(frozen=True)
class Objects:
    """Where an index in a database keeps large images: `Index.open("postgresql://...", objects=Objects(...))`.

    Args:
        place: file:///folder, or s3://bucket/path, gs://bucket/path, az://container/path (extra `objects`;
            credentials are the environment's, the address's query has further options of obstore,
            `?region=...&endpoint=...`). Several indexes may share it. Or an object with the methods of
            :class:`scrubjay.store.objects.blobs.Blobs`.
        cache: a local folder for copies of what was read; None: no cache. Processes and indexes may share it.
        cache_bytes: bound on the copies of one index; the least recently used are evicted.
        least_bytes: images of at most this size stay in the database.
        keep_seconds: how long the object of a scope is kept after its rows came back from the cold tier
            (docs/fleet.md); at least as long as a standby may lag or a backup may be restored.

    Raises:
        TypeError, ValueError: a value is invalid.

    >>> Objects("s3://bucket/scrubjay?secret_access_key=x", cache="/var/cache/scrubjay")
    <scrubjay.Objects s3://bucket/scrubjay cache=/var/cache/scrubjay>
    """

    place: str | Blobs
    cache: str | Path | None = None
    cache_bytes: int = 1 << 30
    least_bytes: int = 1 << 20
    keep_seconds: int = 86_400

    def __post_init__(self) -> None:
        if not isinstance(self.place, str) and not callable(getattr(self.place, "get", None)):
            raise TypeError(f"objects: expected an address, got {type(self.place).__name__}")
        if self.place == "":
            raise ValueError("objects: expected an address, got ''")
        if self.cache is not None and not isinstance(self.cache, (str, Path)):
            raise TypeError(f"cache: expected a folder, got {type(self.cache).__name__}")
        for name in ("cache_bytes", "least_bytes", "keep_seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
            if value < 0:
                raise ValueError(f"{name}: expected 0 or more, got {value}")

    def __repr__(self) -> str:
        place = self.place.partition("?")[0] if isinstance(self.place, str) else self.place.place
        cache = "" if self.cache is None else f" cache={self.cache}"
        return f"<scrubjay.Objects {place}{cache}>"


def blobs_of(options: Objects) -> Blobs:
    """Return the place that the options name.

    Raises:
        MissingExtraError: obstore is not installed.
        ValueError: the address is invalid.
    """
    if not isinstance(options.place, str):
        return options.place
    parts = urlsplit(options.place)
    if parts.scheme != "file":
        return Cloud(options.place)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise ValueError(f"objects: expected file:///folder, got {options.place}")
    return Folder(Path(unquote(parts.path)))


def name_of(index: str, digest: bytes) -> str:
    """Return the name of an object of an index (by its random name); it does not reveal the owner of the data.

    >>> name_of("0f3c", bytes(32))[:12]
    '0f3c/00/0000'
    """
    hexadecimal = digest.hex()
    return f"{index}/{hexadecimal[:2]}/{hexadecimal}"


class ObjectStore:
    """The objects of one index, with a local cache. Thread-safe.

    Args:
        options: place, cache and bounds.
        index: the random name of the index, the prefix of its objects.
        blobs: the place that `options` names.

    Raises:
        CorruptIndexError: `index` is not such a name, so the folder may belong to something else.
    """

    def __init__(self, options: Objects, index: str, blobs: Blobs) -> None:
        if not _INDEX.fullmatch(index):
            raise CorruptIndexError(f"sj_schema.name: expected 32 hexadecimal digits, got {index!r}")
        self._blobs = blobs
        self._index = index
        self._least_bytes = options.least_bytes
        self.keep_seconds = options.keep_seconds
        """How long an object is kept after its rows came back."""
        folder = None if options.cache is None else Path(options.cache) / index
        self._cache = None if folder is None else BlobCache(folder, options.cache_bytes)
        self._lock = threading.Lock()  # guards everything below
        renew_in_children(self, "_lock")
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._away_until = 0.0
        self._tidy_at = 0.0
        self._owed: set[bytes] = set()

    @property
    def place(self) -> str:
        return self._blobs.place

    def takes(self, data: bytes) -> bool:
        """Whether an image is large enough to be an object."""
        return len(data) > self._least_bytes

    # ------------------------------------------------------------------ images

    def put(self, data: bytes) -> bytes | None:
        """Write an image; return its hash, or None if the place does not accept it now."""
        if self._is_away():
            return None
        digest = hashlib.sha256(data).digest()
        try:
            self._blobs.put(name_of(self._index, digest), data)
        except OSError:
            self._did_not_answer()
            return None
        self._count("written")
        if self._cache is not None:
            self._cache.put(digest.hex(), data)
        return digest

    def get(self, digest: bytes, n_bytes: int, *, past_cache: bool = False) -> bytes | None:
        """Return an image; None: the place does not answer now.

        Raises:
            CorruptIndexError: it is missing or damaged.
        """
        copy = None if self._cache is None or past_cache else self._cache.get(digest.hex(), n_bytes + 1)
        if copy is not None:
            if hashlib.sha256(copy).digest() == digest:
                self._count("cached")
                return copy
            if self._cache is not None:
                self._cache.forget([digest.hex()])
        if self._is_away():
            self._count("away")
            return None
        name = name_of(self._index, digest)
        try:
            data = self._blobs.get(name, n_bytes)
        except FileNotFoundError:
            self._count("lost")
            raise CorruptIndexError(f"the object {name} is missing in {self.place}") from None
        except OSError:
            self._count("away")
            self._did_not_answer()
            return None
        if len(data) != n_bytes or hashlib.sha256(data).digest() != digest:
            self._count("lost")
            raise CorruptIndexError(f"the object {name} in {self.place} is not what was put there")
        self._count("read")
        if self._cache is not None and not past_cache:
            self._cache.put(digest.hex(), data)
        return data

    # ------------------------------------------------------------------ rows of cold scopes

    def keep(self, data: bytes) -> bytes:
        """Write an object that is the only copy of its data, and verify it by reading it back; return its hash.
        It is not cached.

        Raises:
            StoreUnavailableError: the place does not accept it now, or does not return what it took.
        """
        digest = hashlib.sha256(data).digest()
        name = name_of(self._index, digest)
        try:
            self._blobs.put(name, data)
            self._count("written")
            stored = self._blobs.get(name, len(data) + 1)
        except OSError as error:
            self._did_not_answer()
            raise StoreUnavailableError(
                f"keeping an object: {self.place} does not take it: {error}"
            ) from None
        if stored != data:
            raise StoreUnavailableError(
                f"keeping an object: {self.place} did not give {name} back as it was put there"
            )
        return digest

    def fetch(self, digest: bytes, n_bytes: int) -> bytes:
        """Return the argument of :meth:`keep`.

        Raises:
            StoreUnavailableError: the place does not answer now.
            CorruptIndexError: it is missing or damaged.
        """
        data = self.get(digest, n_bytes, past_cache=True)
        if data is None:
            raise StoreUnavailableError(f"reading an object: {self.place} does not answer")
        return data

    def discard(self, digests: Collection[bytes]) -> None:
        """Remove objects that no row refers to, and their copies; failed removals are retried later."""
        if not digests:
            return
        if self._cache is not None:
            self._cache.forget(digest.hex() for digest in digests)
        try:
            if not self._is_away():
                self._blobs.delete(name_of(self._index, digest) for digest in digests)
                return
        except OSError:
            self._did_not_answer()
        with self._lock:
            self._owed.update(digests)

    def _is_away(self) -> bool:
        return monotonic() < self._away_until

    def _did_not_answer(self) -> None:
        self._away_until = monotonic() + _AWAY_SECONDS

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def stats(self) -> dict[str, int]:
        """Return the counters of this process: images read from the place and from the cache, lost (missing or
        damaged), unavailable (the place was away), and written."""
        with self._lock:
            return {f"objects_{name}": n for name, n in self._counts.items()}

    # ------------------------------------------------------------------ maintenance

    def is_due(self) -> bool:
        """Whether :meth:`tidy` is due; if so, it is not due again for a while."""
        now = monotonic()
        with self._lock:
            if now < self._tidy_at:
                return False
            self._tidy_at = now + _TIDY_SECONDS
            return True

    def tidy(self, named: NamedStatement) -> None:
        """Remove cached copies of images that no longer exist, and retry failed removals."""
        if self._cache is not None:
            held = [name for name in self._cache.names() if _OBJECT.fullmatch(name)]
            for page in _pages(held):
                living = {digest.hex() for digest in named([bytes.fromhex(name) for name in page])}
                self._cache.forget(name for name in page if name not in living)
        with self._lock:
            owed, self._owed = self._owed, set()
        if owed:
            try:
                self.discard(owed - set(named(list(owed))))
            except BaseException:
                with self._lock:
                    self._owed |= owed
                raise

    def sweep(self, named: NamedStatement) -> int:
        """Remove the objects that no row refers to, except those younger than the grace period; return their
        number. Other files in the place are ignored.

        Raises:
            StoreUnavailableError: the place does not answer.
        """
        self.tidy(named)
        n_removed = 0
        try:
            old = (blob.name for blob in self._blobs.list(self._index) if blob.age > GRACE_SECONDS)
            for page in _pages(name for name in old if _is_ours(name)):
                objects = {
                    name: bytes.fromhex(_last(name)) for name in page if _OBJECT.fullmatch(_last(name))
                }
                living = named(list(objects.values()))
                gone = [name for name in page if objects.get(name) not in living]
                self._blobs.delete(gone)
                n_removed += len(gone)
        except OSError as error:
            raise StoreUnavailableError(f"sweeping objects: {self.place} does not answer: {error}") from None
        return n_removed

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Yield (name, bytes) of every object of the index, and of every copy on this machine.

        Raises:
            StoreUnavailableError: the place does not answer.
        """
        try:
            for blob in self._blobs.list(self._index):
                with suppress(FileNotFoundError):  # removed meanwhile
                    yield f"{self.place}/{blob.name}", self._blobs.get(blob.name, blob.n_bytes)
        except OSError as error:
            raise StoreUnavailableError(f"reading objects: {self.place} does not answer: {error}") from None
        if self._cache is not None:
            yield from self._cache.everything()


def _pages(items: Iterable[_T]) -> Iterator[list[_T]]:
    page: list[_T] = []
    for item in items:
        page.append(item)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _is_ours(name: str) -> bool:
    """Whether the name is that of an object of ours, or of an unfinished one."""
    last = _last(name)
    return bool(_OBJECT.fullmatch(last) or _UNFINISHED.fullmatch(last))
