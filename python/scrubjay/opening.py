"""How does a path become an index, and how is it closed?

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast

from scrubjay._native import Engine, Scope
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import ClosedError
from scrubjay.expiry import Expiry
from scrubjay.family import Family, checked_name
from scrubjay.initialised import Unusable
from scrubjay.semantic import Semantics, checked_embedder
from scrubjay.store.encryption import MODES, KeyProvider, KeyRing
from scrubjay.store.engine import DurableEngine
from scrubjay.store.open import checked_budget, open_engine
from scrubjay.store.protocol import Identity
from scrubjay.store.residency import Residency

__all__ = ["OpenedIndex"]

Self = TypeVar("Self", bound="OpenedIndex")


class Unchanging:
    """Stands for the residency of an index without a file."""

    generation = 0
    n_damaged = 0

    def damage(self, scope: Scope) -> tuple[int, int]:
        """No file, no damage."""
        return 0, 0


UNCHANGING = Unchanging()


class OpenedIndex:
    """The part of an index that knows where it is kept."""

    _engine: Engine | DurableEngine
    _semantics: Semantics
    _expiry: Expiry
    _family: Family
    _residency: Residency | Unchanging = UNCHANGING
    _name: str = ""
    _is_root = False

    @classmethod
    def open(
        cls: type[Self],
        path: str | Path,
        embedder: Embedder | None = None,
        *,
        dim: int | None = None,
        metric: str | None = None,
        dtype: str | None = None,
        analyzer: str | None = None,
        stemmer: Callable[[str], str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        query_cache: int = 1024,
        durability: str = "full",
        busy_timeout: float = 5.0,
        memory_budget: int | None = None,
        collection: str | None = None,
        keys: KeyProvider | None = None,
        encryption: str = "sealed",
        read_only: bool = False,
    ) -> Self:
        """Open the index in a file, or create it; what is written survives.

        Args:
            path: one SQLite file (beside it, while it is open, its log `-wal` and `-shm`). Several processes may have
                it open on one machine, not over a network file system. A new file is its owner's alone (mode 0600,
                whatever the umask; not on Windows); one that is there keeps its mode, and the log gets it.
            embedder: as in the constructor; it must be the model whose vectors the file holds (see :meth:`reembed`).
            dim, metric, dtype, analyzer: of a new index, by default as in the constructor; of an existing one they are
                known, and what is given must agree.
            stemmer, k1, b, query_cache: as in the constructor; a custom stemmer must be given every time.
            durability: "full": an acknowledged write survives the loss of power. "normal": it survives the death of the
                process; after a loss of power the last writes may be missing, but nothing is torn.
            busy_timeout: seconds to wait for another writer.
            memory_budget: bytes for the index in memory (a quarter of them, at most 64 MB, are set aside for SQLite,
                images on their way and the allocator); what was used least recently makes room. The partitions of one
                search are in memory together, whatever the budget. None: no limit.
            collection: which of the file's collections to open (see :meth:`collection`); None: the one without a name.
            keys: tenant -> a key of 16, 24 or 32 random bytes, or None for a tenant in the clear. Texts, metadata and
                vectors of a tenant with a key are encrypted in the file (AES-256-GCM, extra `encryption`), and in all
                its copies; ids, names of tenants, users and agents, times, reasons and sizes are not. The index in
                memory is in the clear. It raises :class:`~scrubjay.KeyErasedError` once the key was destroyed: then
                nothing of the tenant is found any more. Asked again after a second, from any thread; whatever else it
                raises fails what needs that key, and nothing more. See :meth:`encrypt` and :meth:`rotate_key`; what
                encryption promises, and what not, stands in :mod:`scrubjay.store.encryption`.
            encryption: what a tenant with a key demands of the file. "sealed": nothing in the clear. Where something
                is, because the tenant had no key when it was written or because something else wrote it, reading and
                writing raise EncryptionError until :meth:`encrypt` was called. "mixed": plain rows are read, and
                writing goes on beside them, until :meth:`encrypt` has finished. "strict": like "sealed", and a tenant
                that was encrypted before format 3, whose scopes have no digests, is refused until :meth:`encrypt`.

            read_only: the file must be there, and nothing in it is changed: what would write raises StoreError. A
                file on a read-only medium can be opened so, unless it was not closed properly.

        A partition is read when a search first needs it. Use the index as a context manager, or :meth:`close` it.

        Raises:
            StoreFormatError: the file is no index, is of a newer format, or holds another kind of index.
            StoreError, StoreBusyError, CorruptIndexError: it cannot be opened, or is damaged.
            EmbedderMismatchError: it holds vectors of another model.
            MissingExtraError: `keys` need the package cryptography.

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
        if embedder is not None:
            checked_embedder(embedder)
        if embedder is not None and dim is not None and dim != embedder.dim:
            raise ValueError(f"dim: expected the embedder's {embedder.dim}, got {dim}")
        options = {
            "stemmer": stemmer,
            "k1": k1,
            "b": b,
            "durability": durability,
            "busy_timeout": busy_timeout,
            "budget": checked_budget(memory_budget),
            "ring": None if keys is None else KeyRing(keys, encryption),
            "read_only": read_only,
        }
        if encryption not in MODES:
            raise ValueError(f"encryption: expected one of {', '.join(map(repr, MODES))}, got {encryption!r}")
        family = Family(Path(path), query_cache, options)
        asked = Identity(dim if embedder is None else None, metric or "", dtype or "", analyzer or "")
        name = "" if collection is None else checked_name(collection)
        index = cls._open_member(family, name, asked, embedder, Identity(None, "cosine", "f16", "english"))
        index._is_root = True
        family.add_root(index)
        return index

    @classmethod
    def _open_member(
        cls: type[Self],
        family: Family,
        name: str,
        asked: Identity,
        embedder: Embedder | None,
        usual: Identity,
    ) -> Self:
        """Open a collection that has what is asked for; a new one has the rest of what is usual."""
        index = cls.__new__(cls)
        index._family, index._name = family, name
        index._semantics = Semantics(None, None, family.query_cache)
        new = Identity(
            embedder.dim if embedder is not None else usual.dim if asked.dim is None else asked.dim,
            asked.metric or usual.metric,
            asked.dtype or usual.dtype,
            asked.analyzer or usual.analyzer,
        )
        index._engine = open_engine(
            cast(Path, family.path),
            collection=name,
            asked=asked,
            new=new,
            model=lambda: None if index._semantics.embedder is None else index._semantics.embedder.name,
            **family.options,
        )
        index._residency = index._engine.residency
        index._expiry = Expiry(index._engine)
        try:
            index._semantics.restore(index._engine.identity.model)
            index._semantics.use(embedder, index._engine.dim)
            index._engine.on_new_model = index._semantics.restore
        except BaseException:
            index.close()
            raise
        return index

    @property
    def path(self) -> Path | None:
        """The file; None for an index in this process's memory."""
        return self._engine.store.path if isinstance(self._engine, DurableEngine) else None

    @property
    def name(self) -> str:
        """The name of this collection; "" for the one that every index has."""
        return self._name

    @property
    def _generation(self) -> int:
        """Changes when the stored vectors become those of another model."""
        return self._residency.generation

    def close(self) -> None:
        """Close the index: its file, or what it has in memory. Other calls raise ClosedError then.

        Calls of other threads that are under way are answered or raise ClosedError; a write of theirs is waited for. Of
        a file, what changed since is kept ready for the next opening. The index that was opened closes the collections
        that were asked of it as well. Safe to call twice.
        """
        members = self._family.close() if self._is_root else ()
        self._family.forget(self)
        for member in members:
            member.close()
        if isinstance(self._engine, DurableEngine):
            self._engine.close()
        else:
            self._engine = cast(Engine, Unusable(ClosedError("the index is closed")))
            self._expiry = Expiry(self._engine)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or belongs to the process that this one was forked from."""
        engine = self._engine
        if isinstance(engine, Engine):
            return False
        return engine.is_closed if isinstance(engine, DurableEngine) else True

    def _check_open(self) -> None:
        """Raise ClosedError if the index is closed: for what asks neither the engine nor the file first."""
        if not isinstance(self._engine, Engine):
            self._engine.check_open()  # where there is no engine any more, that raises as well

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
