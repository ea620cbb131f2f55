"""The vector store: LlamaIndex's interface over one scope of one collection."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from scrubjay._native import Scope
from scrubjay.adapters.llama_index.filters import translated
from scrubjay.adapters.llama_index.nodes import DOCUMENT, to_node, to_row
from scrubjay.backend import (
    All,
    Backend,
    Documents,
    Native,
    Node,
    as_query,
    awaited,
    narrowed,
    path_or_index,
    valid_ids,
)
from scrubjay.base.errors import StoreError
from scrubjay.base.whole_files import log_of, put_in_place
from scrubjay.fusion import Query, Weighted
from scrubjay.index import Hit, Index

_MODES = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
}


class ScrubjayVectorStore(BasePydanticVectorStore):
    """A vector store for LlamaIndex with keyword, vector, hybrid and diverse search inside one scope.

    Args:
        path: the file, opened once for all stores of this process that name it; None: in memory.
        collection_name: the collection of the file; 1 to 200 printable characters.
        tenant, user, agent: the scope of writes and searches (see :class:`scrubjay.Scope`). Searches also find what is
            shared with it; deletions affect exactly this scope.
        dim: the dimension of the vectors; None: that of the first one.
        metric: "cosine", "ip" or "l2"; None: that of the collection, "cosine" for a new one.
        index: an open :class:`scrubjay.Index` in place of a path.
        default_mode: the meaning of mode DEFAULT, which LlamaIndex's retrievers use: "hybrid", so that identifiers are
            found as well, or "vector". A query without a text is answered by its vector in either case.
        scrubjay_query: how searches rank: a :class:`scrubjay.Query` or its settings; serialised with the store.
            :meth:`query` takes another one.
        kwargs: fields of LlamaIndex's own, as a serialised store has them. Any other name is a TypeError: with a
            misspelt `user` the store would be that of the whole tenant.

    All methods may be called from any thread; the asynchronous ones run on another thread.

    >>> from llama_index.core.schema import TextNode
    >>> store = ScrubjayVectorStore(tenant="acme", user="jane")
    >>> store.add([
    ...     TextNode(id_="n1", text="The staging key is sk-stg-0041", embedding=[1.0, 0.0], metadata={"kind": "key"}),
    ...     TextNode(id_="n2", text="Tea at five", embedding=[0.0, 1.0], metadata={"kind": "habit"}),
    ... ])
    ['n1', 'n2']
    >>> store.query(VectorStoreQuery(query_embedding=[0.1, 0.9], similarity_top_k=1)).ids
    ['n2']
    >>> hybrid = VectorStoreQuery([0.1, 0.9], 1, query_str="sk-stg-0041", mode=VectorStoreQueryMode.HYBRID)
    >>> store.query(hybrid).nodes[0].metadata
    {'kind': 'key'}
    """

    stores_text: bool = True
    flat_metadata: bool = False

    path: str | None = None
    collection_name: str = "llama_index"
    tenant: str = "llama_index"
    user: str | None = None
    agent: str | None = None
    dim: int | None = None
    metric: str | None = None
    default_mode: str = "hybrid"
    scrubjay_query: dict[str, Any] | None = None

    _documents: Documents = PrivateAttr()
    _scope: Scope = PrivateAttr()

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        collection_name: str = "llama_index",
        *,
        tenant: str = "llama_index",
        user: str | None = None,
        agent: str | None = None,
        dim: int | None = None,
        metric: str | None = None,
        index: Index | None = None,
        default_mode: str = "hybrid",
        scrubjay_query: Query | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if unknown := sorted(set(kwargs) - {*type(self).model_fields, "class_name"}):
            raise TypeError(f"{unknown[0]}: unexpected keyword argument")
        where = path_or_index(path, index)
        if default_mode not in ("hybrid", "vector"):
            raise ValueError(f"default_mode: expected 'hybrid' or 'vector', got {default_mode!r}")
        settings = as_query(scrubjay_query, "scrubjay_query")
        scope = Scope(tenant, user=user, agent=agent)
        super().__init__(
            path=None if path is None else os.fspath(path),
            collection_name=collection_name,
            tenant=tenant,
            user=user,
            agent=agent,
            dim=dim,
            metric=metric,
            default_mode=default_mode,
            scrubjay_query=None if scrubjay_query is None else settings.to_dict(),
            **kwargs,
        )
        self._scope = scope
        self._documents = Documents(where, collection=collection_name, query=settings, dim=dim, metric=metric)

    @classmethod
    def from_params(
        cls,
        path: str | os.PathLike[str] | None = None,
        collection_name: str = "llama_index",
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> ScrubjayVectorStore:
        """Return a store for `scope`, given in place of tenant, user and agent.

        Args:
            path, collection_name, kwargs: as in the constructor.
        """
        if scope is not None:
            names = [name for name in ("tenant", "user", "agent") if name in kwargs]
            if names:
                raise ValueError(f"{', '.join(names)}: expected none beside scope")
            kwargs.update(tenant=scope.tenant, user=scope.user, agent=scope.agent)
        return cls(path, collection_name, **kwargs)

    @classmethod
    def from_persist_path(cls, persist_path: str, **kwargs: Any) -> ScrubjayVectorStore:
        """Return a store over a file that :meth:`persist` wrote; later writes go to that file.

        Args:
            persist_path: the path of the file.
            kwargs: further arguments of the constructor; LlamaIndex's `fs` is ignored.

        Raises:
            FileNotFoundError: the file does not exist.
        """
        if not Path(persist_path).is_file():
            raise FileNotFoundError(f"persist_path: expected a file, got {persist_path!r}")
        kwargs.pop("fs", None)
        return cls(persist_path, **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises the store; nodes are not serialised with it."""
        return "ScrubjayVectorStore"

    @property
    def client(self) -> Index:
        """The index of the collection."""
        return self._documents.index

    def close(self) -> None:
        """Release the file; it closes with the last store of the process that uses it."""
        self._documents.close()

    # ------------------------------------------------------------------ writing

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Write nodes, all or none, and return their ids; a node with an existing id replaces that one.

        Args:
            nodes: with their embeddings.
            kwargs: LlamaIndex's; ignored.

        Raises:
            TypeError, ValueError: the message names the invalid node, what was expected and what was given.
        """
        rows = [to_row(node, self._scope) for node in nodes]
        self._documents.upsert_many(rows)
        return [row["id"] for row in rows]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document, atomically.

        Args:
            ref_doc_id: the id of the document.
            delete_kwargs: LlamaIndex's; ignored.
        """
        self._documents.delete_many(scope=self._scope, filter={DOCUMENT: ref_doc_id})

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete the nodes of exactly this scope with these ids that pass the filters, in one transaction.

        Args:
            node_ids: None: any id.
            filters: None: all nodes.
            delete_kwargs: LlamaIndex's; ignored.

        Raises:
            ValueError: neither is given; use :meth:`clear` to delete everything.
        """
        if node_ids is None and filters is None:
            raise ValueError("node_ids, filters: expected one of them at least; clear() deletes everything")
        self._documents.delete_many(node_ids, scope=self._scope, filter=_conditions(filters))

    def clear(self) -> None:
        """Delete everything of this scope; other scopes and collections are unaffected."""
        self._documents.erase(self._scope)

    # ------------------------------------------------------------------ reading

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes with these ids that pass the filters, by last write, oldest first, without embeddings.

        Without ids and filters, return every node that the scope sees.

        Args:
            node_ids: None: any id.
            filters: None: all nodes.
        """
        records = self._documents.list(
            scope=self._scope, filter=_conditions(filters), ids=node_ids, order="oldest"
        )
        return [to_node(record) for record in records]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the best nodes, their scores (descending, except for MMR) and their ids.

        ====================== =======================================================================================
        DEFAULT                by the store's `default_mode`: as HYBRID without `alpha` if there is a `query_str`, or
                               the nearest to `query_embedding`, with similarities as scores
        MMR                    the nearest, each different from those before it by `mmr_threshold` (also a keyword
                               argument; 0: only different, 1: only near, default 0.5)
        SPARSE, TEXT_SEARCH    the best for the words of `query_str`; scores are BM25. `sparse_top_k` overrides
                               `similarity_top_k`
        HYBRID,                both rankings fused: weighed by `alpha` (0: only words, 1: only vectors), or by the
        SEMANTIC_HYBRID        fusion of the :class:`scrubjay.Query`; `hybrid_top_k` overrides `similarity_top_k`
        ====================== =======================================================================================

        The keyword argument `scrubjay_query`, a :class:`scrubjay.Query`, or else the store's query decides the rest.

        Only nodes that pass `filters`, with an id in `node_ids` and a document in `doc_ids`, are ranked. Empty
        `node_ids`, which the framework's own index passes to stores like this one, mean any id.

        Args:
            kwargs: `scrubjay_query` and `mmr_threshold`; others are ignored.

        Raises:
            ValueError: the mode is unknown, lacks an argument that it needs, or a number is out of range.
        """
        mode = _MODES.get(query.mode)
        name = getattr(query.mode, "value", query.mode)  # it may be a plain str
        if mode is None:
            raise ValueError(f"mode: expected one of {', '.join(one.value for one in _MODES)}, got {name!r}")
        where = _conditions(query.filters, query.doc_ids)
        settings = as_query(kwargs.get("scrubjay_query"), "scrubjay_query", self._documents.query)
        changes: dict[str, Any] = {}
        k = query.similarity_top_k
        if mode == "lexical":
            k = k if query.sparse_top_k is None else query.sparse_top_k
        elif mode == "hybrid":
            k = k if query.hybrid_top_k is None else query.hybrid_top_k
            mode, changes = _weighed(query.alpha)
        if mode == "lexical" and query.query_str is None:
            raise ValueError(f"query_str: expected a str in mode {name!r}, got None")
        if mode == "vector" and query.query_embedding is None and self.client.embedder is None:
            raise ValueError(f"query_embedding: expected numbers in mode {name!r}, got None")
        if query.mode == VectorStoreQueryMode.DEFAULT and query.query_str is not None:
            mode = self.default_mode
        if query.mode == VectorStoreQueryMode.MMR:
            threshold = kwargs.get("mmr_threshold", query.mmr_threshold)
            changes["mmr"] = 0.5 if threshold is None else threshold
        settings = narrowed(settings, valid_ids(query.node_ids) if query.node_ids else None)
        if k == 0 or settings.ids == []:
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        hits = self._documents.search(
            query.query_str,
            vector=None if mode == "lexical" else query.query_embedding,
            scope=self._scope,
            k=k,
            filter=where,
            query=settings.replace(mode=mode, **changes),
        )
        return _result(hits, query.mode)

    # ------------------------------------------------------------------ persistence

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Write a store that is in memory to a file, replacing an existing one.

        A store with a path is in its file already; the call does nothing. Only nodes of exactly this scope are written,
        even if others wrote to the same index.

        Args:
            persist_path: the path of the new file.
            fs: None, or the local file system.

        Raises:
            ValueError: `fs` is not the local file system.
            StoreError: the file is open elsewhere, or cannot be written.
        """
        index = self.client
        if index.path is not None:
            return
        if fs is not None and type(fs).__name__ != "LocalFileSystem":
            raise ValueError(f"fs: expected None or the local file system, got {type(fs).__name__}")
        target = Path(persist_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if log_of(target).exists():  # a log that SQLite would apply to the new file
            raise StoreError(f"persist_path: expected a file that is not open elsewhere: {target}")
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with Index.open(fresh) as file:
                seam = Backend.of(index)
                options: dict[str, Any] = {"dim": seam.dim, "metric": seam.metric, "dtype": seam.dtype}
                copy = file.collection(self.collection_name, **options)
                records = self._documents.every(scope=self._scope, exact=True, vectors=True)
                copy.upsert_many(records, progress=False)
                file.admin.compact()
            put_in_place(fresh, target, replace=True)
        finally:
            for leftover in fresh.parent.glob(f"{fresh.name}*"):
                leftover.unlink()

    # ------------------------------------------------------------------ async twins

    async_add = awaited(add, "async_add")
    adelete = awaited(delete, "adelete")
    adelete_nodes = awaited(delete_nodes, "adelete_nodes")
    aclear = awaited(clear, "aclear")
    aget_nodes = awaited(get_nodes, "aget_nodes")
    aquery = awaited(query, "aquery")


def _conditions(filters: MetadataFilters | None, doc_ids: Sequence[str] | None = None) -> Node | None:
    conditions: list[Node] = [] if filters is None else [translated(filters)]
    if doc_ids is not None:
        conditions.append(Native({DOCUMENT: {"$in": list(doc_ids)}}))
    return All(conditions) if conditions else None


def _weighed(alpha: float | None) -> tuple[str, dict[str, Any]]:
    """Return the mode and, if chosen, the fusion of a hybrid search; at 0 and 1 only one ranking is used."""
    if alpha is None:
        return "hybrid", {}
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 <= alpha <= 1:
        raise ValueError(f"alpha: expected a number from 0 (words) to 1 (vectors), got {alpha!r}")
    if alpha in (0, 1):
        return ("vector" if alpha else "lexical"), {}
    return "hybrid", {"fusion": Weighted((1 - alpha, alpha))}


def _result(hits: list[Hit], mode: VectorStoreQueryMode) -> VectorStoreQueryResult:
    similar = mode == VectorStoreQueryMode.MMR  # MMR orders by no score
    return VectorStoreQueryResult(
        nodes=[to_node(hit) for hit in hits],
        similarities=[(hit.similarity or 0.0) if similar else hit.score for hit in hits],
        ids=[str(hit.id) for hit in hits],
    )
