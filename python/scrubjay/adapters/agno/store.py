"""The vector database: one tenant of an index, with Agno's users as scopes."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from agno.knowledge.document import Document
from agno.vectordb.base import VectorDb, aembed_before_replace, embed_before_replace
from agno.vectordb.distance import Distance
from agno.vectordb.search import SearchType

from scrubjay._native import Scope
from scrubjay.adapters._similarity import similarity, worth
from scrubjay.adapters.agno.chunks import Chunks, having
from scrubjay.adapters.agno.documents import (
    CONTENT_HASH,
    CONTENT_ID,
    NAME,
    checked_metadata,
    document_of,
    row_of,
)
from scrubjay.adapters.agno.embedding import LocalEmbedder, as_agno
from scrubjay.adapters.agno.filters import equals, translated
from scrubjay.backend import EVERYTHING, Backend, Documents, Node, awaited
from scrubjay.base.errors import VersionConflictError
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

_METRICS = {Distance.cosine: "cosine", Distance.l2: "l2", Distance.max_inner_product: "ip"}
_MODES = {SearchType.vector: "vector", SearchType.keyword: "lexical", SearchType.hybrid: "hybrid"}
_TRIES = 5


def _embedding_first(method: Callable[..., None], name: str) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return the async twin of a write method, which embeds the documents with the model's async methods first."""
    write = awaited(method, name)

    @functools.wraps(write)
    async def run(
        self: ScrubjayDb, content_hash: str, documents: list[Document], *args: Any, **options: Any
    ) -> None:
        await aembed_before_replace(documents, self.embedder)
        await write(self, content_hash, documents, *args, **options)

    return run


class ScrubjayDb(VectorDb):
    """The chunks of one tenant for Agno's `Knowledge`, isolated by user. All methods may be called from any thread.

    Args:
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        tenant: the owner; other tenants of the file are invisible, also to `drop` and `delete`.
        embedder: Agno's or Scrubjay's; None: ``scrubjay.embedders.default()``, which needs no network.
        search_type: how searches rank; `Knowledge.search(search_type=...)` sets it.
        distance: the metric of a new collection.
        similarity_threshold: the minimum similarity of a result; matching words count as a similarity, too.
        query: how searches rank within their type; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        name, description, id, reranker: of Agno's VectorDb.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    A chunk with a `user_id` is in the scope of that user. A search with a `user_id` covers this user's chunks and the
    shared ones (written without one), nothing else. Without one it covers the whole tenant, as Agno defines, and so do
    deletions that name no user; such a search ranks all scopes together and costs one search for each.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        tenant: str,
        embedder: Any = None,
        search_type: SearchType = SearchType.hybrid,
        distance: Distance = Distance.cosine,
        similarity_threshold: float | None = None,
        query: Query | Mapping[str, Any] | None = None,
        collection: str | None = "agno",
        name: str | None = None,
        description: str | None = None,
        id: str | None = None,
        reranker: Any = None,
        **options: Any,
    ) -> None:
        self._tenant = Scope(tenant)
        place = "memory" if where is None else where.path if isinstance(where, Index) else where
        super().__init__(
            id=id or f"scrubjay:{place}:{collection}:{tenant}",
            name=name,
            description=description,
            similarity_threshold=similarity_threshold,
        )
        self.embedder = as_agno(embedder)
        self.search_type = SearchType(search_type)
        self.distance = Distance(distance)
        if reranker is not None:
            self.reranker = reranker
        metric = _METRICS[self.distance]
        self._documents = Documents(where, collection=collection, query=query, metric=metric, **options)
        self._chunks = Chunks(self._documents, self._tenant)

    # ------------------------------------------------------------------ writing

    def insert(
        self,
        content_hash: str,
        documents: list[Document],
        filters: dict[str, Any] | None = None,
        user_id: str | None = None,
    ) -> None:
        """Write the chunks of some content, all or none. Writing the same content again is idempotent.

        Args:
            content_hash: the hash of the content.
            documents: its chunks; those without an embedding are embedded first.
            filters: metadata added to each.
            user_id: the owner; None: shared.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            agno.exceptions.EmbeddingError: the embedder failed; nothing was written.
        """
        self._embed(documents)
        self._write(content_hash, documents, filters, self._chunks.owner(user_id))

    async_insert = _embedding_first(insert, "async_insert")

    def upsert_available(self) -> bool:
        """Return True."""
        return True

    def upsert(
        self,
        content_hash: str,
        documents: list[Document],
        filters: dict[str, Any] | None = None,
        user_id: str | None = None,
    ) -> None:
        """Write the chunks of some content, replacing this owner's previous chunks of it.

        The new chunks are written before the old ones are deleted, so that the content is never missing.

        Args:
            content_hash: the hash of the content, made by Agno.
            documents: the chunks.
            filters: metadata added to each.
            user_id: the owner; None: shared.
        """
        self._embed(documents)
        self._replace(content_hash, documents, filters, self._chunks.owner(user_id))

    async_upsert = _embedding_first(upsert, "async_upsert")

    def update_metadata(self, content_id: str, metadata: dict[str, Any]) -> None:
        """Merge metadata into those of all chunks with this content id, in one commit, without embedding again.

        Args:
            content_id: the id of the content.
            metadata: the keys to merge in.
        """
        changes, where = (
            checked_metadata(metadata, "metadata"),
            having(CONTENT_ID, content_id),
        )
        for tried in range(_TRIES):
            with self._documents.turn:
                rows = [
                    {
                        "id": record.id,
                        "text": record.text,
                        "scope": scope,
                        "vector": record.vector,
                        "metadata": {**(record.metadata or {}), **changes},
                        "created_at": record.created_at,
                        "expires_at": record.expires_at,
                        "version": record.version,
                    }
                    for scope in self._chunks.scopes()
                    for record in self._documents.every(scope=scope, filter=where, exact=True, vectors=True)
                ]
                try:
                    if rows:
                        self._documents.upsert_many(rows)
                    return
                except VersionConflictError:  # another process wrote one of them since
                    if tried == _TRIES - 1:
                        raise

    def _embed(self, documents: list[Document]) -> None:
        if isinstance(self.embedder, LocalEmbedder):
            pending = [document for document in documents if document.embedding is None]
            vectors = self.embedder.many([document.content for document in pending])
            for document, vector in zip(pending, vectors, strict=True):
                document.embedding = vector
        else:
            embed_before_replace(documents, self.embedder)

    def _write(
        self, content_hash: str, documents: Sequence[Document], filters: Any, owner: Scope
    ) -> list[str]:
        rows = [row_of(document, content_hash, filters) for document in documents]
        if rows:
            self._documents.upsert_many({row["id"]: row for row in rows}.values(), scope=owner)
        return [row["id"] for row in rows]

    def _replace(self, content_hash: str, documents: Sequence[Document], filters: Any, owner: Scope) -> None:
        with self._documents.turn:
            where = having(CONTENT_HASH, content_hash)
            before = [
                str(record.id) for record in self._documents.every(scope=owner, filter=where, exact=True)
            ]
            now = set(self._write(content_hash, documents, filters, owner))
            self._documents.delete_many(
                [id for id in before if id not in now], scope=owner, reason="replaced"
            )

    # ------------------------------------------------------------------ searching

    def search(
        self, query: str, limit: int = 5, filters: Any = None, user_id: str | None = None
    ) -> list[Document]:
        """Return the best chunks, best first.

        Args:
            query: the text.
            limit: the maximum number of chunks.
            filters: a mapping that metadata must contain, an expression of `agno.filters`, or a list of those; applied
                before ranking.
            user_id: search this user's chunks and the shared ones; None: all of the tenant's.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        where, scopes = translated(filters), self._chunks.visible(user_id)
        if limit < 1 or not query.strip():
            return []
        vector = None if self.search_type == SearchType.keyword else self.embedder.get_embedding(query)
        return self._found(query, vector, limit, where, scopes)

    async def async_search(
        self, query: str, limit: int = 5, filters: Any = None, user_id: str | None = None
    ) -> list[Document]:
        """Return the results of :meth:`search` without blocking the event loop."""
        where = translated(filters)
        if limit < 1 or not query.strip():
            return []
        vector = None
        if self.search_type != SearchType.keyword:
            vector = await self.embedder.async_get_embedding(query)
        return await asyncio.to_thread(
            lambda: self._found(query, vector, limit, where, self._chunks.visible(user_id))
        )

    def _found(
        self, query: str, vector: Any, limit: int, where: Node | None, scopes: Sequence[Scope]
    ) -> list[Document]:
        backend = Backend.of(self._documents.index)
        hits: list[Hit] = self._documents.search(
            query,
            scope=scopes,
            k=limit,
            filter=where,
            # Only words rank if no vector is stored, or if the model returns none for the question.
            vector=vector or None if backend.dim is not None else None,
            query=self._documents.query.replace(mode=_MODES[SearchType(self.search_type)]),
            explain=self.similarity_threshold is not None,
        )
        if self.similarity_threshold is not None:
            least, metric = self.similarity_threshold, backend.metric
            hits = [hit for hit in hits if max(similarity(hit, metric), worth(hit)) >= least]
        documents = [document_of(hit, self.embedder) for hit in hits]
        return (
            self.reranker.rerank(query=query, documents=documents)
            if self.reranker and documents
            else documents
        )

    def get_supported_search_types(self) -> list[str]:
        """Return all three types."""
        return [SearchType.vector, SearchType.keyword, SearchType.hybrid]

    # ------------------------------------------------------------------ reading

    def create(self) -> None:
        """Do nothing: the first write creates everything."""

    async_create = awaited(create, "async_create")

    def exists(self) -> bool:
        """Return whether the tenant has any chunk."""
        return bool(self._chunks.scopes())

    async_exists = awaited(exists, "async_exists")

    def get_count(self) -> int:
        """Return the number of chunks of the tenant."""
        return len(self._chunks.keys(EVERYTHING))

    def name_exists(self, name: str) -> bool:
        """Return whether a chunk of the tenant has this name."""
        return self._chunks.holds(having(NAME, name), self._chunks.scopes())

    async_name_exists = awaited(name_exists, "async_name_exists")

    def id_exists(self, id: str) -> bool:
        """Return whether the tenant has a chunk with this id: that of a search result, or the original one."""
        return bool(self._chunks.named(id))

    def content_hash_exists(self, content_hash: str, user_id: str | None = None) -> bool:
        """Return whether exactly this owner (None: shared) has chunks of this content.

        Args:
            content_hash: the hash of the content.
            user_id: the owner.
        """
        where = having(CONTENT_HASH, content_hash)
        return self._chunks.holds(where, [self._chunks.owner(user_id)])

    # ------------------------------------------------------------------ deleting

    def drop(self) -> None:
        """Delete everything of the tenant."""
        self._documents.erase(self._tenant, exact=False, reason="drop")

    async_drop = awaited(drop, "async_drop")

    def delete(self) -> bool:
        """Delete everything of the tenant; return whether anything was deleted."""
        return self._documents.erase(self._tenant, exact=False, reason="delete") > 0

    def delete_by_id(self, id: str, user_id: str | None = None) -> bool:
        """Delete the chunk with this id, that of a search result or the original one; return whether it
        existed.

        Raises:
            ValueError: several owners have a chunk with this original id, and `user_id` is missing.
        """
        with self._documents.turn:
            keys = self._chunks.named(id, user_id)
            if len({scope for scope, _ in keys}) > 1:
                raise ValueError(f"id: expected one that a single owner has, got {id!r}; say the user_id")
            return Backend.of(self._documents.index).delete_keys(keys) > 0

    def delete_by_name(self, name: str, user_id: str | None = None) -> bool:
        """Delete the chunks with this name, of one owner or of all; return whether any existed.

        Args:
            name: the name of the chunks.
            user_id: the owner; None: all owners.
        """
        return self._chunks.delete(having(NAME, name), user_id)

    def delete_by_metadata(self, metadata: dict[str, Any], user_id: str | None = None) -> bool:
        """Delete the chunks whose metadata contain these, of one owner or of all; return whether any existed.

        Args:
            metadata: the keys and values to match.
            user_id: the owner; None: all owners.

        Raises:
            ValueError: the metadata are empty; use :meth:`delete` to delete everything.
        """
        if not isinstance(metadata, Mapping):
            raise TypeError(f"metadata: expected a mapping, got {type(metadata).__name__}")
        if not metadata:
            raise ValueError(
                "metadata: expected one condition at least, got none; delete() deletes everything"
            )
        return self._chunks.delete(equals(metadata, "metadata"), user_id)

    def delete_by_content_id(self, content_id: str, user_id: str | None = None) -> bool:
        """Delete the chunks of some content, of one owner (shared chunks remain) or of all; return whether any
        existed.

        Args:
            content_id: the id of the content.
            user_id: the owner; None: all owners.
        """
        return self._chunks.delete(having(CONTENT_ID, content_id), user_id)

    def optimize(self) -> None:
        """Do nothing: the index maintains itself."""

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> ScrubjayDb:
        return self  # copies of an agent share the database

    def __repr__(self) -> str:
        return f"<scrubjay.adapters.agno.ScrubjayDb of {self._tenant.tenant!r}: {self._documents.place}>"
