"""How do several collections live in one file?

Each is an index of its own: documents, scopes, dimension, embedder, deletion events. They share the file, its
backups, its compaction and one memory budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import StoreError
from scrubjay.family import checked_name
from scrubjay.opening import OpenedIndex
from scrubjay.semantic import checked_embedder
from scrubjay.store.engine import DurableEngine
from scrubjay.store.protocol import Identity
from scrubjay.store.sqlite import check_identity

__all__ = ["CollectedIndex"]

Self = TypeVar("Self", bound="CollectedIndex")


class CollectedIndex(OpenedIndex):
    """The part of an index that knows the collections beside it."""

    embedder: Embedder | None

    def collection(
        self: Self,
        name: str,
        *,
        embedder: Embedder | None = None,
        dim: int | None = None,
        metric: str | None = None,
        dtype: str | None = None,
        analyzer: str | None = None,
    ) -> Self:
        """Return the index of another collection of this file; it is made if there is none.

        Args:
            name: 1 to 200 printable characters.
            embedder: by default this index's, if the collection holds no vectors of another model or dimension.
            dim, metric, dtype, analyzer: of a new collection, by default this index's; of an existing one they are
                known, and what is given must agree.

        Asked again for the same name, the same object is returned as long as it is open; an embedder that is given then
        takes the place of the one it has. Closing the index that was opened closes them all. Without a file,
        collections last as long as the index.

        Raises:
            TypeError, ValueError: the name is none.
            StoreFormatError: the collection exists and is of another kind than asked for.
            EmbedderMismatchError: it holds vectors of another model.

        >>> import tempfile
        >>> from scrubjay import Index, Scope
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     traces = index.collection("traces")
        ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        ...     traces.upsert("m1", "Booked a train.", scope=Scope("acme"))
        ...     index.collections(), len(index), traces.get("m1", scope=Scope("acme")).text
        (['traces'], 1, 'Booked a train.')
        >>> folder.cleanup()
        """
        checked_name(name)
        self._check_open()
        if embedder is not None:
            checked_embedder(embedder)
        if embedder is not None and dim is not None and dim != embedder.dim:
            raise ValueError(f"dim: expected the embedder's {embedder.dim}, got {dim}")
        asked = Identity(dim, metric or "", dtype or "", analyzer or "")
        with self._family.lock:
            self._family.check_open()
            member = self._family.member(name)
            if member is None:
                member = self._open_collection(name, replace(asked, dim=None if embedder else dim), embedder)
                self._family.add(name, member)
                return member
            check_identity(member._identity(), asked, f"collection {name!r}")
            if (
                embedder is not None and embedder is not member.embedder
            ):  # a new one forgets what it has embedded
                member.embedder = embedder
            return cast(Self, member)

    def _open_collection(self: Self, name: str, asked: Identity, embedder: Embedder | None) -> Self:
        own = self.embedder
        usual = self._identity()
        if asked.dim is None and own is not None:
            usual = replace(usual, dim=own.dim)
        if self._family.path is None:
            member = self._make_in_memory(asked, embedder, usual)
            member._family, member._name, member._is_root = self._family, name, False
        else:
            member = type(self)._open_member(self._family, name, asked, embedder, usual)
        identity = member._identity()
        fits = own is not None and identity.model in (None, own.name) and identity.dim in (None, own.dim)
        if embedder is None and fits:
            member.embedder = own
        return member

    def _make_in_memory(self: Self, asked: Identity, embedder: Embedder | None, usual: Identity) -> Self:
        make: Any = type(self)
        member: Self = make(
            embedder,
            dim=None if embedder is not None else usual.dim if asked.dim is None else asked.dim,
            metric=asked.metric or usual.metric,
            dtype=asked.dtype or usual.dtype,
            analyzer=asked.analyzer or usual.analyzer,
            query_cache=self._family.query_cache,
            **self._family.options,
        )
        return member

    def _identity(self) -> Identity:
        engine = self._engine
        if isinstance(engine, DurableEngine):
            return engine.identity
        analyzer = engine.analyzer.rpartition("-")[0]  # without its version
        return Identity(engine.dim, engine.metric, engine.dtype, analyzer)

    def collections(self) -> list[str]:
        """Return the names of the collections in alphabetical order, without the one that has no name."""
        self._check_open()
        if not isinstance(self._engine, DurableEngine):
            return sorted(self._family.members())
        return self._engine.store.collection_names()

    def drop_collection(self, name: str) -> int:
        """Delete a collection with all that is in it; return how many memories it had.

        Events of the index without a name say from which scopes they were. After :meth:`compact` the bytes are gone.

        Raises:
            KeyError: there is no collection of this name.
        """
        checked_name(name)
        with self._family.lock:
            names = self.collections()
            if name not in names:
                raise KeyError(f"collection: expected one of {names}, got {name!r}")
            member = self._family.member(name)
            self._family.check_open()
            if isinstance(self._engine, DurableEngine):
                n_dropped = self._engine.store.drop_collection(name, now=self._engine.clock())
            else:
                n_dropped = len(member) if member is not None else 0
            if member is not None:
                self._family.forget(member)
                member.close()
        return n_dropped

    def _durable(self, doing: str) -> DurableEngine:
        self._check_open()
        if not isinstance(self._engine, DurableEngine):
            raise StoreError(f"{doing}: this index has no file; open one with Index.open(path)")
        return self._engine
