"""cognee's `VectorDBInterface`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cognee.infrastructure.databases.exceptions import MissingQueryParameterError
from cognee.infrastructure.databases.vector.stored_vector_size import choose_stored_vector_size
from cognee.infrastructure.databases.vector.vector_db_interface import VectorDBInterface

from scrubjay.adapters.cognee.collections import Collections
from scrubjay.adapters.cognee.datasets import FILE, scope_of
from scrubjay.adapters.cognee.points import TAGS, IndexSchema, payload_of, text_of
from scrubjay.adapters.cognee.vectors import Vectors
from scrubjay.backend import valid_ids
from scrubjay.fusion import Query
from scrubjay.index import Index

T = TypeVar("T")

_STOCK = ".lancedb"  # suffix of cognee's own default for VECTOR_DB_URL


class ScrubjayAdapter(VectorDBInterface):
    """The vectors of one dataset, searched by words and meaning. Created by cognee after :func:`register`.

    A text search is hybrid: a chunk that contains a rare identifier of the question comes first. Scores are cosine
    distances, as in cognee; a result that words rank above nearer ones gets the distance of the nearest result after
    it, so that sorting by score keeps the order (:func:`scrubjay.adapters.cognee.points.ascending`). A vector search
    and `score_by_ids` rank by distance alone.

    Args:
        url: `VECTOR_DB_URL`, the path of a file; cognee's own default, a LanceDB folder, means "cognee.scrubjay" beside
            it.
        embedding_engine: cognee's embedding engine.
        database_name: the dataset, whose vectors are isolated from those of other datasets.
        path: the path of the file, in place of `url`.
        query: how text searches rank; None: ``scrubjay.Query()``. ``Query(mode="vector")`` ranks by distance alone.
        dtype, analyzer: of the collections.
        options: of :meth:`scrubjay.Index.open`; options that cognee passes for servers are ignored.
        api_key, vector_db_host, vector_db_port, vector_db_username, vector_db_password: passed by cognee for servers;
            ignored.

    Raises:
        TypeError, ValueError: the path is missing, or an argument is invalid.
    """

    name = "Scrubjay"
    supports_payload_update = True

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        embedding_engine: Any = None,
        database_name: str = "",
        *,
        path: str | None = None,
        query: Query | None = None,
        vector_db_host: str = "",
        vector_db_port: str = "",
        vector_db_username: str = "",
        vector_db_password: str = "",
        **options: Any,
    ) -> None:
        self._place = _place(path or url)
        self.embedding_engine = embedding_engine
        self._collections = Collections(str(self._place), scope_of(database_name), query, options)
        self._vectors = Vectors(self._collections)

    # ------------------------------------------------------------------ collections

    async def has_collection(self, collection_name: str) -> bool:
        """Return whether this dataset has the collection `collection_name`."""
        return await self._run(self._collections.find, collection_name) is not None

    async def create_collection(self, collection_name: str, payload_schema: Any = None) -> None:
        """Create a collection unless it exists. It may mix payloads of any schema.

        Args:
            collection_name: the name of the collection.
            payload_schema: cognee's; ignored.
        """
        await self._run(self._collections.make, collection_name, self.embedding_engine.get_vector_size())

    async def get_collection(self, collection_name: str) -> Index:
        """Return the file's collection `collection_name`; other datasets are in other scopes of it."""
        return (await self._run(self._collections.get, collection_name)).index

    async def get_connection(self) -> Index:
        """Return the index of the file."""
        return self._collections.root

    async def create_vector_index(self, index_name: str, index_property_name: str) -> None:
        """Create the collection for one field of a type of data points.

        Args:
            index_name, index_property_name: the type and its field, which together name the collection.
        """
        await self.create_collection(f"{index_name}_{index_property_name}")

    async def get_stored_vector_size(self) -> int | None:
        """Return the dimension of this dataset's vectors; None if there are none."""
        size: int | None = choose_stored_vector_size(await self._run(self._collections.dims), self.name)
        return size

    async def prune(self) -> None:
        """Delete everything of this dataset, in one transaction. Other datasets are unaffected."""
        await self._run(self._collections.clear)

    # ------------------------------------------------------------------ writing

    async def embed_data(self, data: list[str]) -> list[list[float]]:
        """Embed the texts `data` with cognee's embedding engine."""
        vectors: list[list[float]] = await self.embedding_engine.embed_text(data)
        return vectors

    async def create_data_points(self, collection_name: str, data_points: Sequence[Any]) -> None:
        """Write data points, all or none; an existing one is replaced and keeps its sets.

        Args:
            collection_name: the name of the collection.
            data_points: cognee's data points.
        """
        if not data_points:
            return
        texts = [text_of(point) for point in data_points]
        vectors = await self.embed_data(texts)
        if len(vectors) != len(texts):
            raise ValueError(f"embedding_engine: expected {len(texts)} vectors, got {len(vectors)}")
        payloads = [payload_of(point) for point in data_points]
        rows = [
            (str(point.id), text, vector, payload)
            for point, text, vector, payload in zip(data_points, texts, vectors, payloads, strict=True)
        ]
        await self._run(self._vectors.write, collection_name, rows)

    async def index_data_points(
        self, index_name: str, index_property_name: str, data_points: Sequence[Any]
    ) -> None:
        """Write the indexed form of data points for one of their fields.

        Args:
            index_name, index_property_name: the type and its field, which together name the collection.
            data_points: cognee's data points.
        """
        points = [IndexSchema.of(point) for point in data_points]
        await self.create_data_points(f"{index_name}_{index_property_name}", points)

    async def upsert_raw_vectors(
        self, collection_name: str, points: Sequence[Mapping[str, Any]], payload_schema: Any = None
    ) -> None:
        """Write precomputed vectors, each a mapping with id, vector and payload; they are found by vectors alone.

        Args:
            collection_name: the name of the collection.
            points: the mappings.
            payload_schema: cognee's; ignored.

        Raises:
            TypeError, ValueError: a point lacks its id or vector, or a vector has a wrong dimension.
        """
        if not points:
            return
        rows = []
        for position, point in enumerate(points):
            for field in ("id", "vector"):
                if point.get(field) is None:
                    raise ValueError(f"points[{position}].{field}: expected a value, it is missing")
            payload = point.get("payload") or {}
            if payload_schema is not None:
                payload = payload_schema.model_validate(payload).model_dump(mode="json")
            rows.append((str(point["id"]), "", point["vector"], dict(payload)))
        await self._run(self._vectors.write, collection_name, rows)

    async def update_payload(
        self, collection_name: str, payload_updates: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Change fields of payloads, all or none, without embedding. Unknown ids are skipped.

        Args:
            collection_name: the name of the collection.
            payload_updates: id -> field -> new value.
        """
        if payload_updates:
            await self._run(self._vectors.update, collection_name, payload_updates)

    async def delete_data_points(self, collection_name: str, data_point_ids: Sequence[Any]) -> None:
        """Delete data points in one transaction; unknown ids are skipped.

        Args:
            collection_name: the name of the collection.
            data_point_ids: their ids.
        """
        ids = [str(id) for id in data_point_ids]
        await self._run(self._vectors.delete, collection_name, ids)

    async def remove_belongs_to_set_tags(
        self, tags: Sequence[str], node_ids: Sequence[Any] | None = None
    ) -> None:
        """Remove data points from sets, in all collections; those left in no set are deleted.

        Args:
            tags: the names of the sets.
            node_ids: only data points with these ids; None: all.
        """
        if tags and (node_ids is None or node_ids):
            ids = None if node_ids is None else {str(id) for id in node_ids}
            await self._run(self._vectors.untag, list(tags), ids)

    # ------------------------------------------------------------------ reading

    async def retrieve(self, collection_name: str, data_point_ids: Sequence[Any]) -> list[Any]:
        """Return data points by their ids, in that order; unknown ids are skipped.

        Args:
            collection_name: the name of the collection.
            data_point_ids: their ids.
        """
        ids = list(dict.fromkeys(map(str, data_point_ids)))
        return await self._run(self._vectors.retrieve, collection_name, ids)

    async def score_by_ids(
        self, collection_name: str, data_point_ids: Sequence[Any], query_vector: Sequence[float]
    ) -> list[Any]:
        """Return the distances of the data points with these ids, nearest first, without payloads.

        Args:
            collection_name: the name of the collection.
            data_point_ids: their ids.
            query_vector: the vector to measure from.

        Raises:
            CollectionNotFoundError: the collection does not exist.
        """
        ids = list(dict.fromkeys(valid_ids([str(id) for id in data_point_ids])))
        return await self._run(self._vectors.score, collection_name, ids, query_vector)

    async def search(
        self,
        collection_name: str,
        query_text: str | None = None,
        query_vector: Sequence[float] | None = None,
        limit: int | None = 15,
        with_vector: bool = False,
        include_payload: bool = False,
        node_name: Sequence[str] | None = None,
        node_name_filter_operator: str = "OR",
    ) -> list[Any]:
        """Return the best data points for a text, or the nearest to a vector; scores are ascending distances.

        Args:
            collection_name: the collection to search.
            query_text, query_vector: at least one; a vector beside a text is used as its embedding.
            limit: the maximum number of data points; None: all.
            with_vector: has no effect, as with cognee's LanceDB.
            include_payload: whether to return payloads.
            node_name: only data points in these sets.
            node_name_filter_operator: "OR": in one of them; "AND": in all.

        Raises:
            MissingQueryParameterError: neither text nor vector.
            CollectionNotFoundError: the collection does not exist.
        """
        if query_text is None and query_vector is None:
            raise MissingQueryParameterError()
        if query_vector is None or len(query_vector) == 0:
            query_vector = (await self.embed_data([query_text or ""]))[0]
        results = await self._run(
            self._vectors.search,
            collection_name,
            [(query_text, query_vector)],
            limit,
            include_payload,
            _tagged(node_name, node_name_filter_operator),
        )
        return results[0]

    async def batch_search(
        self,
        collection_name: str,
        query_texts: Sequence[str],
        limit: int | None = None,
        with_vectors: bool = False,
        include_payload: bool = False,
        node_name: Sequence[str] | None = None,
    ) -> list[list[Any]]:
        """Return the results of :meth:`search` for each text, embedded and searched together.

        Args:
            collection_name: the name of the collection.
            query_texts: the questions.
            limit, with_vectors, include_payload, node_name: as for :meth:`search`.
        """
        if not query_texts:
            return []
        vectors = await self.embed_data(list(query_texts))
        questions = list(zip(query_texts, vectors, strict=True))
        tagged = _tagged(node_name, "OR")
        return await self._run(
            self._vectors.search, collection_name, questions, limit, include_payload, tagged
        )

    async def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        await asyncio.to_thread(self._collections.close)

    def __repr__(self) -> str:
        dataset = self._collections.scope.user
        return f"<scrubjay.adapters.cognee.ScrubjayAdapter of dataset {dataset!r}: {self._place}>"

    async def _run(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.to_thread(call, *arguments)


def _place(url: Any) -> Path:
    if not isinstance(url, (str, os.PathLike)) or not str(url):
        raise ValueError(f"vector_db_url: expected the path of a file, got {url!r}")
    if "://" in str(url):
        raise ValueError(f"vector_db_url: expected the path of a file, got the address {url!r}")
    path = Path(url)
    if path.name.endswith(_STOCK):
        path = path.with_name(FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _tagged(names: Sequence[str] | None, operator: str) -> dict[str, Any] | None:
    if operator not in ("OR", "AND"):
        raise ValueError(f'node_name_filter_operator: expected "OR" or "AND", got {operator!r}')
    if not names:
        return None
    if operator == "AND":
        return {"$and": [{TAGS: {"$contains": name}} for name in names]}
    return {TAGS: {"$in": list(names)}}
