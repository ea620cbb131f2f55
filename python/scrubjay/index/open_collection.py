"""One open collection: an engine, an embedder and their state. The collaborators of an index share it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrubjay._native import Engine
from scrubjay.base.arguments import has_lone_surrogate, shown
from scrubjay.base.errors import CorruptIndexError
from scrubjay.base.initialised import unset
from scrubjay.embedders.accepted import AUTO, Given, embedder_of_model
from scrubjay.embedders.protocol import Embedder
from scrubjay.index.backfill import Backfill
from scrubjay.index.family import Family, checked_name
from scrubjay.index.matched_words import Language
from scrubjay.index.question_words import Reading
from scrubjay.index.semantic import Semantics, checked_embedder, checked_policy
from scrubjay.store.document_engine import DocumentEngine
from scrubjay.store.engine import DurableEngine
from scrubjay.store.keys.encryption import MODES, KeyProvider, KeyRing
from scrubjay.store.local import LocalEngine
from scrubjay.store.location import checked_place
from scrubjay.store.objects.objects import Objects
from scrubjay.store.open import check_engine_options, checked_budget, open_engine
from scrubjay.store.postgres.options import checked_max_stale, checked_shared_feed
from scrubjay.store.residency.null_residency import NullResidency
from scrubjay.store.residency.residency import Residency
from scrubjay.store.rows.values import Identity

if TYPE_CHECKING:
    from scrubjay.store.postgres.database import Database

_NEW = Identity(None, "cosine", "f16", "english")
"""The properties of a new index unless the caller chooses others."""


class OpenCollection:
    """An engine with its embedder. Thread-safe. Created by :func:`make_in_memory` and :func:`open_in_file`.

    Args:
        family: the open collections of the same file, or of the same index in memory.
        name: of the collection; "" for the default collection.
        engine: the rows and the native engine.
        semantics: the embedder.
    """

    __slots__ = (
        "__weakref__", "backfill", "engine", "facade", "family", "is_root", "name", "residency", "semantics",
    )  # fmt: skip

    engine: DocumentEngine
    semantics: Semantics
    backfill: Backfill
    residency: Residency | NullResidency
    family: Family[OpenCollection]
    name: str
    is_root: bool
    """Whether it was opened first; closing it closes all others."""
    facade: weakref.ref[Any] | None
    """The :class:`~scrubjay.Index` of the collection."""

    def __new__(cls, *_: Any, **__: Any) -> OpenCollection:
        collection = super().__new__(cls)
        absent: Any = unset(cls)
        collection.engine = collection.semantics = collection.family = absent
        collection.residency = collection.backfill = absent
        return collection

    def __init__(
        self,
        family: Family[OpenCollection],
        name: str,
        engine: DocumentEngine,
        semantics: Semantics,
    ) -> None:
        self.family = family
        self.name = name
        self.engine = engine
        self.semantics = semantics
        self.backfill = Backfill(engine, semantics, is_read_only=bool(family.options.get("read_only")))
        self.residency = engine.residency
        self.is_root = False
        self.facade = None

    @property
    def path(self) -> Path | None:
        """The file; None for a collection in memory or in a database."""
        return self.engine.path

    @property
    def identity(self) -> Identity:
        """The current properties of the collection."""
        return self.engine.identity

    def reading(self) -> Reading:
        """Return the analyzer and embedder with which words in its texts are marked; outlives the collection."""
        name = self.engine.analyzer.rpartition("-")[0]
        return Reading(Language(name, self.family.options["stemmer"]), self.semantics)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder in use."""
        return self.semantics.embedder

    def use(self, embedder: Embedder | None) -> None:
        """Replace the embedder.

        Raises:
            TypeError: not an embedder.
            EmbedderMismatchError: not the model of the stored vectors.
        """
        if len(self.engine) == 0:
            self.semantics.forget()
        self.semantics.use(embedder, self.engine.dim)
        self.backfill.look()

    def count(self) -> int:
        """Return the number of memories."""
        return len(self.engine)

    def description(self) -> str:
        """Return the description for reprs."""
        if self.is_closed:
            return f"closed: {self.family.place or 'in memory'}"
        engine = self.engine
        n = len(engine)
        vectors = "no vectors" if engine.dim is None else f"{engine.dim}-dim {engine.dtype}"
        return (
            f"{n:,} {'memory' if n == 1 else 'memories'}, {vectors} {engine.metric}, "
            f"{self.semantics.model or 'no embedder'}, {engine.analyzer}"
        )

    def durable(self, doing: str) -> DurableEngine:
        """Return the engine over a file.

        Raises:
            StoreError: the collection has no file.
        """
        return self.engine.durable(doing)

    # ------------------------------------------------------------------ closing

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or was opened before the process forked."""
        return self.engine.is_closed

    def check_open(self) -> None:
        """Raise ClosedError if it is closed; for calls that do not access the engine or the file first."""
        self.engine.check_open()

    def close(self) -> None:
        """Close the index and its file, or discard its memory. Later calls raise ClosedError.

        Concurrent calls of other threads finish or raise ClosedError; close waits for their writes. For a file,
        partition images that changed are written for the next opening. Closing the index that was opened first also
        closes the collections that were opened through it. Calling it again does nothing.
        """
        members = self.family.close() if self.is_root else ()
        self.family.forget(self)
        self.backfill.stop()
        for member in members:
            member.close()
        self.engine.close()


def open_root(
    path: str | Path,
    embedder: Given,
    collection: str | None,
    asked: Identity,
    query_cache: int,
    options: Mapping[str, Any],
    on_embedder_error: str = "pending",
) -> OpenCollection:
    """Open the durable index in a file or a database, or create it.

    Args:
        path: an SQLite file (while it is open, with its logs `-wal` and `-shm` beside it). Several processes of one
            machine may have it open, but not over a network file system. A new file belongs to its owner alone (mode
            0600, whatever the umask; not on Windows); an existing one keeps its mode, which the logs get, too. Or
            "postgresql://user@host/database" (extra `postgres`), for processes on many machines: docs/fleet.md lists
            the supported verbs.
        embedder: as in the constructor; it must be the model whose vectors the file holds (see :meth:`Admin.reembed`).
            "auto": that model if it can be created locally without further arguments (WordLlama, Ollama), otherwise
            none, with a warning in the log `scrubjay.embedders` that names the model; in a new file the default
            embedder, or "static" if its package is missing, with a warning, too.
        dim, metric, dtype, analyzer: of a new index, by default as in the constructor; an existing index has its own,
            and arguments must agree with them.
        stemmer, k1, b, query_cache: as in the constructor; a custom stemmer must be given every time.
        durability: "full": acknowledged writes survive a loss of power. "normal": they survive a crash of the process;
            after a loss of power the last writes may be missing, but none is partial.
        busy_timeout: seconds to wait for another writer.
        memory_budget: bytes for the index in memory (a quarter of them, at most 64 MB, are reserved for SQLite, images
            being loaded and the allocator); the least recently used partitions are evicted. The partitions of one
            search are resident together, whatever the budget. None: no limit.
        collection: the collection to open (see :meth:`Index.collection`); None: the default collection.
        keys: tenant -> a key of 16, 24 or 32 random bytes, or None for an unencrypted tenant. Texts, metadata and
            vectors of a tenant with a key are encrypted in the file (AES-256-GCM, extra `encryption`) and in all its
            copies; ids, names of tenants, users and agents, times, reasons and sizes are not. The index in memory is
            not encrypted. The provider raises :class:`~scrubjay.KeyErasedError` once the key was destroyed: then
            nothing of the tenant is found any more. It is called again after a second, from any thread; any other
            exception fails only the calls that need that key. If it has a method `destroy`, that is called for a tenant
            whose data were all erased, after the commit (a failure raises EncryptionError; erasing again repeats it).
            With :class:`scrubjay.keystores.UserKeys` each user has their own key, which is destroyed when the user is
            erased. See :meth:`Admin.encrypt` and :meth:`Admin.rotate_key`; :mod:`scrubjay.store.keys.encryption`
            states what encryption guarantees and what it does not.
        encryption: the requirement for a tenant with a key. "sealed": nothing may be unencrypted. If anything is,
            because the tenant had no key when it was written or because another program wrote it, reading and writing
            raise EncryptionError until :meth:`Admin.encrypt` was called. "mixed": unencrypted rows can be read, and
            writes continue beside them, until :meth:`Admin.encrypt` has finished. "strict": like "sealed", and a tenant
            that was encrypted before format 3, whose scopes have no digests, is refused until :meth:`Admin.encrypt`.
        read_only: the file must exist and is not changed: writes raise StoreError. This allows opening a file on a
            read-only medium, unless it was not closed properly.
        on_embedder_error: as in the constructor. Pending memories of the file are embedded in the background.
        max_stale: for a database: seconds for which a search may miss writes of other processes (it always sees its
            own); 0: check at each search. A file is always up to date, whatever the value.
        objects: for a database: where images of more than 1 MB are stored: an address ("s3://bucket/scrubjay",
            "gs://...", "az://...", "file:///folder") or :class:`~scrubjay.Objects`, which also has a cache on the local
            disk; the same place for every process. None: in the database. Refused for a file.
        shared_feed: for a database: whether one of the processes of this machine that open it with the same address,
            role and `max_stale` (all values above .8 count as equal) polls the change feed for all of them. False: this
            process polls by itself. A file has no feed and ignores it.
        user_homes: for a new database: the number of homes over which the users of each tenant are distributed. Writes
            to one home are serialised, and a sharded server keeps a home on one node. 0: a tenant is one home. 1 to
            4096: each user is in one of that many homes, beside the tenant's own; for products with a single tenant, or
            a few. None: as the database was created; 0 for a new one. A number that differs from the database's is
            refused; `scrubjay copy` moves everything into a database with another number. Refused for a file.

    A partition is loaded when a search first needs it. Use the index as a context manager, or :meth:`Index.close` it.

    Raises:
        StoreFormatError: the file is not an index, has a newer format, or holds another kind of index.
        StoreError, StoreBusyError, CorruptIndexError: it cannot be opened, or is damaged.
        StoreUnavailableError: the database server does not answer.
        EmbedderMismatchError: it holds vectors of another model.
        MissingExtraError: `keys` need the package cryptography, a database needs psycopg.

    >>> import tempfile
    >>> from scrubjay import Index, Scope
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Index.open(folder.name + "/memories.scrubjay") as index:
    ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
    >>> with Index.open(folder.name + "/memories.scrubjay") as index:
    ...     index.search("train", scope=Scope("acme"))[0].id
    'm1'
    >>> folder.cleanup()
    """
    options = dict(options)
    max_stale, objects = options.pop("max_stale", 1.0), options.pop("objects", None)
    shared_feed, user_homes = options.pop("shared_feed", True), options.pop("user_homes", None)
    where = checked_place(path)
    if isinstance(where, Path):
        checked_max_stale(max_stale)
        checked_shared_feed(shared_feed)
        for what, value in (("objects", objects), ("user_homes", user_homes)):
            if value is not None:
                raise ValueError(f"{what}: expected None for an index in a file, got {value!r}")
    place: Path | Database = (
        where if isinstance(where, Path) else _database(where, max_stale, objects, shared_feed, user_homes)
    )
    family: Family[OpenCollection] = Family(place, query_cache, options, checked_policy(on_embedder_error))
    name = "" if collection is None else checked_name(collection)
    if embedder == AUTO:
        opened = open_in_file(family, name, asked, None, _NEW)
        try:
            identity = opened.identity
            is_new = identity.model is None and identity.dim is None and len(opened.engine) == 0
            opened.use(embedder_of_model(identity.model, identity.dim, is_new=is_new))
        except BaseException:
            opened.close()
            raise
    else:
        opened = open_in_file(family, name, asked, embedder, _NEW)
    opened.is_root = True
    family.add_root(opened)
    return opened


def _database(
    address: str, max_stale: float, objects: str | Objects | None, shared_feed: bool, user_homes: int | None
) -> Database:
    from scrubjay.store.postgres.database import Database  # a tenth of the time of `import scrubjay`

    return Database(
        address, max_stale=max_stale, objects=objects, shared_feed=shared_feed, user_homes=user_homes
    )


def make_root(
    embedder: Given,
    identity: Identity,
    query_cache: int,
    options: Mapping[str, Any],
    on_embedder_error: str = "pending",
) -> OpenCollection:
    """Create an index in memory; see :class:`scrubjay.Index`."""
    checked_identity(identity)
    family: Family[OpenCollection] = Family(None, query_cache, options, checked_policy(on_embedder_error))
    made = (
        embedder_of_model(None, identity.dim, is_new=identity.dim is None) if embedder == AUTO else embedder
    )
    opened = make_in_memory(family, "", identity, made)
    opened.is_root = True
    family.add_root(opened)
    return opened


def asked_identity(
    embedder: Given,
    dim: int | None,
    metric: str | None,
    dtype: str | None,
    analyzer: str | None,
) -> Identity:
    """Return the requested properties of a collection; None and "" mean any.

    Raises:
        TypeError, ValueError: not an embedder, or an embedder of another dimension.
    """
    if not (embedder is None or embedder == AUTO):
        checked_embedder(embedder)
        if dim is not None and dim != embedder.dim:
            raise ValueError(f"dim: expected the embedder's {embedder.dim}, got {dim}")
    metric, dtype, analyzer = ("" if name is None else name for name in (metric, dtype, analyzer))
    return checked_identity(Identity(dim, metric, dtype, analyzer))


def checked_identity(identity: Identity) -> Identity:
    """Return requested properties whose names are texts; the engine checks their values.

    Raises:
        TypeError: one of them is something else.
    """
    for name in ("metric", "dtype", "analyzer"):
        if not isinstance(value := getattr(identity, name), str) or has_lone_surrogate(value):
            expected = {"metric": "'cosine', 'ip' or 'l2'", "dtype": "'f16', 'f32' or 'i8'"}.get(
                name, "a str"
            )
            raise TypeError(f"{name}: expected {expected}, got {type(value).__name__} {shown(value)}")
    return identity


def file_options(
    stemmer: Callable[[str], str] | None = None,
    k1: float | None = None,
    b: float | None = None,
    durability: str = "full",
    busy_timeout: float = 5.0,
    memory_budget: int | None = None,
    keys: KeyProvider | None = None,
    encryption: str = "sealed",
    read_only: bool = False,
    max_stale: float = 1.0,
    objects: str | Objects | None = None,
    shared_feed: bool = True,
    user_homes: int | None = None,
    any_analyzer: bool = False,
) -> dict[str, Any]:
    """Return the options of :func:`scrubjay.store.open.open_engine` that all collections of a file share."""
    options = {
        "stemmer": stemmer,
        "k1": k1,
        "b": b,
        "durability": durability,
        "busy_timeout": busy_timeout,
        "budget": checked_budget(memory_budget),
        "ring": None if keys is None else KeyRing(keys, encryption),
        "read_only": read_only,
        "max_stale": max_stale,
        "any_analyzer": any_analyzer,
        "objects": objects,
        "shared_feed": shared_feed,
        "user_homes": user_homes,
    }
    if encryption not in MODES:
        raise ValueError(f"encryption: expected one of {', '.join(map(repr, MODES))}, got {encryption!r}")
    return options


def open_in_file(
    family: Family[OpenCollection], name: str, asked: Identity, embedder: Embedder | None, usual: Identity
) -> OpenCollection:
    """Open a collection that agrees with `asked`; a new one takes all other properties from `usual`."""
    semantics = Semantics(None, None, family.query_cache, family.on_embedder_error)
    new = Identity(
        embedder.dim if embedder is not None else usual.dim if asked.dim is None else asked.dim,
        asked.metric or usual.metric,
        asked.dtype or usual.dtype,
        asked.analyzer or usual.analyzer,
    )
    engine = open_engine(
        cast("Path | Database", family.place),
        collection=name,
        asked=asked if embedder is None else Identity(None, asked.metric, asked.dtype, asked.analyzer),
        new=new,
        model=lambda: None if semantics.embedder is None else semantics.embedder.name,
        **family.options,
    )
    opened = OpenCollection(family, name, engine, semantics)
    try:
        semantics.restore(engine.identity.model)
        semantics.use(embedder, engine.dim)
        engine.on_new_model = semantics.restore
        with suppress(CorruptIndexError):  # reported when the damaged rows are read
            opened.backfill.look()
    except BaseException:
        opened.close()
        raise
    return opened


def make_in_memory(
    family: Family[OpenCollection], name: str, identity: Identity, embedder: Embedder | None
) -> OpenCollection:
    """Create an empty collection in memory."""
    if embedder is not None:
        checked_embedder(embedder)
    semantics = Semantics(embedder, identity.dim, family.query_cache, family.on_embedder_error)
    check_engine_options(identity.analyzer, family.options.get("k1"), family.options.get("b"))
    dim = identity.dim if embedder is None else embedder.dim
    metric, dtype = cast(Any, identity.metric), cast(Any, identity.dtype)  # the engine checks them
    native = Engine(dim, metric, dtype=dtype, analyzer=identity.analyzer, **family.options)
    engine = LocalEngine(native, lambda: {member.name: member.engine for member in family.everyone()})
    return OpenCollection(family, name, engine, semantics)
