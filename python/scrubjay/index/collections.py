"""The collections of a file: open, list, drop.

Each is an independent index: documents, scopes, dimension, embedder, deletion events. They share the file, its
backups, its compaction and one memory budget.
"""

from __future__ import annotations

from dataclasses import replace

from scrubjay.base.initialised import guarded
from scrubjay.embedders.protocol import Embedder
from scrubjay.index.family import checked_name
from scrubjay.index.open_collection import OpenCollection, asked_identity, make_in_memory, open_in_file
from scrubjay.store.rows.values import Identity
from scrubjay.store.sqlite.store import check_identity


@guarded
class Collections:
    """The collections of one file, or of one index in memory, accessed from one of them. Thread-safe."""

    __slots__ = ("_collection",)

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection

    def open(
        self,
        name: str,
        embedder: Embedder | None = None,
        dim: int | None = None,
        metric: str | None = None,
        dtype: str | None = None,
        analyzer: str | None = None,
    ) -> OpenCollection:
        """Return the index of another collection of this file; created if it does not exist.

        Args:
            name: 1 to 200 printable characters.
            embedder: by default this index's, if the collection holds no vectors of another model or dimension.
            dim, metric, dtype, analyzer: of a new collection, by default this index's; an existing collection has its
                own, and arguments must agree with them.

        Repeated calls with the same name return the same object while it is open; a given embedder then replaces the
        current one. Closing the index that was opened first closes all collections. Without a file, collections last
        as long as the index.

        Raises:
            TypeError, ValueError: the name is invalid.
            StoreFormatError: the collection exists and is of another kind than requested.
            EmbedderMismatchError: it holds vectors of another model.

        >>> import tempfile
        >>> from scrubjay import Index, Scope
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     traces = index.collection("traces")
        ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        ...     traces.upsert("m1", "Booked a train.", scope=Scope("acme"))
        ...     index.admin.collections(), len(index), traces.get("m1", scope=Scope("acme")).text
        (['traces'], 1, 'Booked a train.')
        >>> folder.cleanup()
        """
        checked_name(name)
        self._collection.check_open()
        identity = asked_identity(embedder, dim, metric, dtype, analyzer)
        family = self._collection.family
        with family.lock:
            family.check_open()
            member = family.member(name)
            if member is None:
                member = self._make(
                    name, identity if embedder is None else replace(identity, dim=None), embedder
                )
                family.add(member)
                return member
            check_identity(member.identity, identity, f"collection {name!r}")
            if embedder is not None and embedder is not member.embedder:
                member.use(embedder)  # only if it differs: assigning one clears the cache
            return member

    def _make(self, name: str, asked: Identity, embedder: Embedder | None) -> OpenCollection:
        own, usual, family = self._collection.embedder, self._collection.identity, self._collection.family
        if asked.dim is None and own is not None:
            usual = replace(usual, dim=own.dim)
        if family.place is None:
            dim = None if embedder is not None else usual.dim if asked.dim is None else asked.dim
            identity = Identity(
                dim,
                asked.metric or usual.metric,
                asked.dtype or usual.dtype,
                asked.analyzer or usual.analyzer,
            )
            member = make_in_memory(family, name, identity, embedder)
        else:
            member = open_in_file(family, name, asked, embedder, usual)
        made = member.identity
        fits = own is not None and made.model in (None, own.name) and made.dim in (None, own.dim)
        if embedder is None and fits:
            member.use(own)
        return member

    def names(self) -> list[str]:
        """Return the names of the collections in alphabetical order, without the default collection."""
        self._collection.check_open()
        return self._collection.engine.collection_names()

    def drop(self, name: str) -> int:
        """Delete a collection with everything in it; return how many memories it had.

        Raises:
            KeyError: no collection has this name.
        """
        checked_name(name)
        family = self._collection.family
        with family.lock:
            names = self.names()
            if name not in names:
                raise KeyError(f"collection: expected one of {names}, got {name!r}")
            member = family.member(name)
            family.check_open()
            n_dropped = self._collection.engine.drop_collection(name)
            if member is not None:
                family.forget(member)
                member.close()
        return n_dropped

    def everyone(self) -> list[OpenCollection]:
        """Open and return all collections: this one, then the others in alphabetical order."""
        return [self._collection, *(self.open(name) for name in self.names())]
