"""The vector store: mem0's payloads as memories, with the mem0 user as their scope."""

from __future__ import annotations

import builtins
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import numpy as np
from mem0.vector_stores.base import VectorStoreBase
from numpy.typing import NDArray

from scrubjay._native import Scope
from scrubjay.adapters.mem0.filters import confined_to, payload_of, translated
from scrubjay.adapters.mem0.results import MemoryId, OutputData, best, similarity
from scrubjay.backend import (
    Backend,
    Documents,
    ReadOnlyMemoryError,
    admit_each,
    path_or_index,
    valid_ids,
)
from scrubjay.documents import payload as payloads
from scrubjay.documents.records import Record, as_text
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

_METRICS: dict[str, Literal["cosine", "ip", "l2"]] = {
    "cosine": "cosine",
    "ip": "ip",
    "dot": "ip",
    "inner_product": "ip",
    "l2": "l2",
    "euclid": "l2",
    "euclidean": "l2",
}
_LEAST_POOL = 10
_WORTH_THREADS = 16
"""Below this many scopes, searching takes less time than waking threads."""


class ScrubjayVectorStore(VectorStoreBase):
    """A vector store for mem0 that also ranks by keywords and keeps each user's memories apart.

    Args:
        collection_name: the collection of the file; 1 to 200 printable characters.
        path: the file, opened once for all stores of this process that name it; None: in memory.
        index: an open :class:`scrubjay.Index` in place of a path.
        embedding_model_dims: the dimension of the vectors; None: that of the first one.
        metric: "cosine", "ip" or "l2"; None: that of the collection, "cosine" for a new one.
        tenant: the owner of the store; other tenants' memories are invisible to it.
        query: how :meth:`search` ranks: a :class:`scrubjay.Query`, or its settings. :meth:`keyword_search` ranks alike,
            by words alone.
        durability, busy_timeout: as in :meth:`scrubjay.Index.open`; None: its defaults.

    A memory's exact scope is (tenant, user=user_id); without a user_id, (tenant, agent=agent_id); without both, a
    separate scope for each run_id. A search or listing that names users visits only their scopes: other users' memories
    are not candidates, count in no statistic, and cost no time. One that names no user must visit all of the tenant's
    scopes. In both cases the whole filter applies.

    Searches also find memories of the whole tenant by other writers, which no call of mem0's changes. The scope
    determines the user of a memory that was written without a `user_id`.

    mem0 reads, changes and deletes by id without a scope: knowing an id is enough. The id of a result identifies its
    memory exactly; any other text identifies the only memory of the tenant with that id, and is rejected if several
    scopes have one.

    All methods may be called from any thread.

    >>> store = ScrubjayVectorStore("memories", embedding_model_dims=2)
    >>> store.insert(
    ...     vectors=[[1.0, 0.0], [0.0, 1.0]],
    ...     payloads=[{"data": "The key is sk-stg-0041", "user_id": "jane"}, {"data": "Tea", "user_id": "jane"}],
    ...     ids=["m1", "m2"],
    ... )
    >>> [(hit.id, hit.score) for hit in store.search("sk-stg-0041", [0.0, 1.0], filters={"user_id": "jane"})]
    [('m2', 1.0), ('m1', 0.9)]
    >>> store.search("sk-stg-0041", [0.0, 1.0], filters={"user_id": "joe"})
    []
    """

    def __init__(
        self,
        collection_name: str = "mem0",
        path: str | None = None,
        index: Index | None = None,
        embedding_model_dims: int | None = None,
        metric: str | None = None,
        tenant: str = "mem0",
        query: Query | Mapping[str, Any] | None = None,
        durability: str | None = None,
        busy_timeout: float | None = None,
    ) -> None:
        self.collection_name = collection_name
        self._scope = Scope(tenant)
        options: dict[str, Any] = {"durability": durability, "busy_timeout": busy_timeout}
        self._documents = Documents(
            path_or_index(path, index),
            collection=collection_name,
            query=query,
            dim=embedding_model_dims,
            metric=None if metric is None else _metric(metric),
            **{name: value for name, value in options.items() if value is not None},
        )
        self._by_words = self._documents.query.replace(mode="lexical")
        self._dims = embedding_model_dims

    @property
    def index(self) -> Index:
        """The collection of this store."""
        return self._documents.index

    @property
    def embedding_model_dims(self) -> int | None:
        """The dimension of the vectors; None before the first one."""
        return self._dims if self._dims is not None else Backend.of(self.index).dim

    def close(self) -> None:
        """Release the file; it closes with the last store of the process that uses it."""
        self._documents.close()

    # ------------------------------------------------------------------ writing

    def insert(
        self,
        vectors: Sequence[Any],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        """Write memories, all or none. A memory with an id that its user already has is replaced.

        Args:
            vectors: one for each memory; one with a zero vector is found only by its text.
            payloads: one for each memory; `data` is the text, `user_id`, `agent_id` and `run_id` are the owner.
            ids: one for each memory; None: generate them.

        Raises:
            TypeError, ValueError: the message names the invalid argument, what was expected and what was given.
        """
        n = len(vectors)
        payloads = [{}] * n if payloads is None else payloads
        ids = [str(uuid.uuid4()) for _ in range(n)] if ids is None else ids
        if not n == len(payloads) == len(ids):
            raise ValueError(
                f"vectors, payloads, ids: expected equal lengths, got {n}, {len(payloads)}, {len(ids)}"
            )
        rows = [self._row(*row) for row in zip(ids, vectors, payloads, strict=True)]
        self._documents.upsert_many(rows)

    def update(
        self, vector_id: Any, vector: Any | None = None, payload: Mapping[str, Any] | None = None
    ) -> None:
        """Replace the vector, the payload, or both.

        Args:
            vector_id: mem0's id of the memory.
            vector, payload: the new value; None: unchanged.

        Raises:
            ValueError: the memory does not exist, the id is ambiguous, or the payload names another user.
            ReadOnlyMemoryError: the memory belongs to the whole tenant.
        """
        with self._documents.turn:
            record = self._changeable(vector_id)
            if record is None:
                raise ValueError(f"vector_id: expected the id of a memory, got {vector_id!r}")
            before = payload_of(record)
            merged_vector = record.vector if vector is None else vector
            row = self._row(record.id, merged_vector, before if payload is None else payload)
            if row["scope"] != self._scope_of(before):
                raise ValueError(f"payload: expected the user_id, agent_id and run_id of {vector_id!r}")
            row |= {"scope": record.scope, "expires_at": record.expires_at}
            row["created_at"] = row["created_at"] or record.created_at
            self._documents.upsert_many([row])

    def delete(self, vector_id: Any) -> None:
        """Delete a memory; a no-op for an unknown id.

        Args:
            vector_id: mem0's id of the memory.

        Raises:
            ValueError: the id is ambiguous.
            ReadOnlyMemoryError: the memory belongs to the whole tenant.
        """
        with self._documents.turn:
            record = self._changeable(vector_id)
            if record is not None:
                self._documents.delete_many([record.id], scope=record.scope)

    # ------------------------------------------------------------------ searching

    def search(
        self, query: str, vectors: Any, top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[OutputData]:
        """Return the best memories by meaning and keywords together, the most similar first.

        The hybrid ranking of the index selects the memories. Scores lie between 0 and 1: the greater of the similarity
        of the vectors (cosine or inner product clamped to [0, 1]; l2: 1 / (1 + distance)) and the worth of the matching
        words, so that mem0 does not drop a memory that matches by words only as dissimilar. Words are worth 0.9 for a
        verbatim identifier of the query, otherwise 0.9 * sqrt(share of the query's terms) * BM25 / (BM25 + 2).

        Args:
            query: the question.
            vectors: its vector.
            top_k: the maximum number of memories.
            filters: mem0's filters: `user_id`, `agent_id`, `run_id` and conditions on the payload.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        return self.search_batch([query], [vectors], top_k, filters)[0]

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Any],
        top_k: int = 1,
        filters: Mapping[str, Any] | None = None,
    ) -> list[list[OutputData]]:
        """Return what :meth:`search` returns for each of several queries, in one native call.

        Args:
            queries, vectors_list: the questions and their vectors, in the same order.
            top_k, filters: as for :meth:`search`.
        """
        if len(queries) != len(vectors_list):
            raise ValueError(
                f"queries, vectors_list: expected equal lengths, got {len(queries)} and {len(vectors_list)}"
            )
        vectors = [_vector(vector) for vector in vectors_list]
        metric, pool = Backend.of(self.index).metric, max(_limit(top_k), _LEAST_POOL)
        results = (
            self._found(list(queries), vectors, pool, self._documents.query, filters, explain=True)
            if top_k
            else [[] for _ in queries]
        )
        return [best([(similarity(hit, metric), hit) for hit in hits], top_k) for hits in results]

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[OutputData]:
        """Return the best memories by keywords; the score is BM25 as Lucene defines it, unbounded.

        Document frequencies are counted user by user, so other users' memories change no score.

        Args:
            query: the question.
            top_k: the maximum number of memories.
            filters: mem0's filters: `user_id`, `agent_id`, `run_id` and conditions on the payload.
        """
        k = _limit(top_k)
        (hits,) = self._found([query], [None], k, self._by_words, filters) if k else ([],)
        return best([(hit.score, hit) for hit in hits], k)

    def _found(
        self,
        queries: Sequence[str],
        vectors: Sequence[NDArray[Any] | None],
        k: int,
        asked: Query,
        filters: Mapping[str, Any] | None,
        *,
        explain: bool = False,
    ) -> builtins.list[builtins.list[Hit]]:
        """Return the hits of each query in all scopes that the filter may cover."""
        index, node = self.index, translated(filters)
        results: builtins.list[builtins.list[Hit]] = [[] for _ in queries]
        if not queries:
            return results
        for scopes, admitted in admit_each(index, self._scopes(filters), node, exact=True):
            batch = index.search_batch(
                [query for _ in scopes for query in queries],
                vectors=[vector for _ in scopes for vector in vectors],
                scope=[scope for scope in scopes for _ in queries],
                k=k,
                explain=explain,
                threads=1 if len(scopes) * len(queries) < _WORTH_THREADS else None,
                **admitted.asked(asked),
            )
            for number, hits in enumerate(batch):
                results[number % len(queries)] += hits
        return results

    # ------------------------------------------------------------------ reading

    def get(self, vector_id: Any) -> OutputData | None:
        """Return the memory with this id, or None.

        Args:
            vector_id: mem0's id of the memory.

        Raises:
            ValueError: the id is ambiguous.
        """
        record = self._named(vector_id)
        return None if record is None else OutputData(MemoryId.of(record), None, payload_of(record))

    def list(
        self, filters: Mapping[str, Any] | None = None, top_k: int | None = None
    ) -> builtins.list[builtins.list[OutputData]]:
        """Return the memories that pass the filter, wrapped in a list of one element, as mem0 expects.

        Users are sorted, and the memories of each user ordered by their last write. `top_k` None: all.

        Args:
            filters: as for :meth:`search`; None: all memories.
        """
        remaining = None if top_k is None else _limit(top_k)
        node = translated(filters)
        memories: builtins.list[OutputData] = []
        for scope in self._scopes(filters):
            limit = None if remaining is None else remaining - len(memories)
            if limit == 0:
                break
            records = self._documents.list(scope=scope, filter=node, exact=True, limit=limit, order="oldest")
            memories += [OutputData(MemoryId.of(record), None, payload_of(record)) for record in records]
        return [memories]

    # ------------------------------------------------------------------ collections

    def create_col(self, name: str, vector_size: int | None = None, distance: str = "cosine") -> None:
        """Create a collection in the same file unless the name exists; `distance` is the metric.

        Args:
            name: the name of the collection.
            vector_size: None: that of the first vector.
            distance: "cosine", "ip" or "l2".

        Raises:
            ValueError: the collection exists with another size or metric.
        """
        self._documents.lease.root.collection(name, dim=vector_size, metric=_metric(distance))

    def list_cols(self) -> builtins.list[str]:
        """Return the names of all collections of the file."""
        return self._documents.lease.root.admin.collections()

    def delete_col(self) -> None:
        """Delete everything of this tenant in the collection, in one transaction.

        The collection remains, with its dimension and metric, because other tenants may use it. Dropping it is for the
        operator of the file (`Admin.drop_collection`).
        """
        with self._documents.turn:  # so that no concurrent update restores a memory
            self._documents.erase(self._scope, exact=False, reason="delete_col")

    def col_info(self) -> dict[str, Any]:
        """Return the name, the count (of this tenant's memories), the dimension and the metric of the collection."""
        index = self.index
        count = sum(index.count(scope) for scope in index.scopes(self._scope))
        return {
            "name": self.collection_name,
            "count": count,
            "dimension": Backend.of(index).dim,
            "metric": Backend.of(index).metric,
        }

    def reset(self) -> None:
        """Do the same as :meth:`delete_col`."""
        self.delete_col()

    # ------------------------------------------------------------------ owners

    def _named(self, id: Any) -> Record | None:
        """Return the tenant's memory with an id: that of a result exactly, any other id if it is unambiguous."""
        name = str(id)
        if not valid_ids([name]):
            return None
        scopes = [record.scope for record in self.index.find(name, within=self._scope)]
        if isinstance(id, MemoryId):
            scopes = [scope for scope in scopes if scope == id.scope]
        if len(scopes) > 1:
            raise ValueError(
                f"vector_id: expected the id of one memory, got {id!r}, which several scopes have"
            )
        return self._documents.get_many([name], scope=scopes[0], exact=True)[0] if scopes else None

    def _changeable(self, id: Any) -> Record | None:
        record = self._named(id)
        if record is not None and record.scope == self._scope:
            raise ReadOnlyMemoryError(str(id))
        return record

    def _row(self, id: Any, vector: Any, payload: Mapping[str, Any] | None) -> dict[str, Any]:
        payload = {} if payload is None else payload
        if not isinstance(payload, Mapping):
            raise TypeError(f"payload: expected a mapping, got {type(payload).__name__}")
        text = payload.get("data")
        metadata = dict(payload)
        if isinstance(text, str) and text and as_text(text) == text:
            del metadata["data"]  # stored once, as the text
        return {
            "id": str(id),
            "text": text if isinstance(text, str) else "",
            "scope": self._scope_of(payload),
            "vector": _vector(vector),
            "metadata": metadata,
            "created_at": _time(payload.get("created_at")),
        }

    def _scope_of(self, payload: Mapping[str, Any]) -> Scope:
        user, agent, run = (_name(payload, field) for field in ("user_id", "agent_id", "run_id"))
        if user is not None:
            return Scope(self._scope.tenant, user=user)
        # The space keeps these apart from agents: mem0 allows no space in an id. Filters would tell them apart anyway.
        return Scope(
            self._scope.tenant, agent=agent or ("run " + run if run is not None else "nobody in particular")
        )

    def _scopes(self, filters: Mapping[str, Any] | None) -> Sequence[Scope]:
        """Return the exact scopes that may contain matches of the filter."""
        tenant = self._scope.tenant
        users = confined_to(filters, "user_id")
        if users is not None:
            return [Scope(tenant, user=user) for user in sorted(users)]
        agents = confined_to(filters, "agent_id")
        everywhere = self.index.scopes(self._scope)
        return [
            scope for scope in everywhere if agents is None or scope.user is not None or scope.agent in agents
        ]


def _vector(vector: Any) -> NDArray[Any] | None:
    """Return a vector, None if it is missing or zero; some of mem0's embedders return a list of one list."""
    if vector is None:
        return None
    array = np.asarray(vector)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    return array if array.ndim != 1 or array.dtype.kind not in "fiu" or array.any() else None


def _metric(name: Any) -> Literal["cosine", "ip", "l2"]:
    metric = _METRICS.get(name.lower()) if isinstance(name, str) else None
    if metric is None:
        raise ValueError(f"metric: expected one of {', '.join(_METRICS)}, got {name!r}")
    return metric


def _limit(top_k: Any) -> int:
    if isinstance(top_k, bool) or not isinstance(top_k, (int, np.integer)):
        raise TypeError(f"top_k: expected an int, got {type(top_k).__name__}")
    if top_k < 0:
        raise ValueError(f"top_k: expected 0 or more, got {top_k}")
    return int(top_k)


def _name(payload: Mapping[str, Any], field: str) -> str | None:
    value = payload.get(field)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(f"{field}: expected a str, got {type(value).__name__}")
    return str(value)


def _time(value: Any) -> datetime | None:
    try:
        return payloads.to_utc(value) if isinstance(value, str) else None
    except ValueError:
        return None
