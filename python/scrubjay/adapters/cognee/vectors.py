"""Writing, changing and searching the vectors of one dataset. Blocking; the adapter calls it on a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.adapters.cognee.collections import Collections
from scrubjay.adapters.cognee.points import TAGS, ascending, metadata_of, result_of, stored
from scrubjay.backend import Native
from scrubjay.fusion import Query


class Vectors:
    """The vectors in the collections of one dataset. Thread-safe.

    Args:
        collections: the collections of the dataset.
    """

    def __init__(self, collections: Collections) -> None:
        self._collections, self._scope = collections, collections.scope

    def write(self, name: str, rows: Sequence[tuple[str, str, Sequence[float], dict[str, Any]]]) -> None:
        """Write points, each (id, text, vector, payload); an existing one keeps its sets."""
        documents = self._collections.make(name, len(rows[0][2]))
        with documents.turn:
            records = documents.list(scope=self._scope, exact=True, ids={row[0] for row in rows})
            tags = {str(record.id): (record.metadata or {}).get(TAGS, []) for record in records}
            documents_by_id: dict[str, dict[str, Any]] = {}
            for id, text, vector, payload in rows:  # the last one of an id wins, with the sets of all
                metadata = metadata_of(payload, tags.get(id, []))
                tags[id] = metadata[TAGS]
                documents_by_id[id] = {"id": id, "text": text, "vector": vector, "metadata": metadata}
            documents.upsert_many(documents_by_id.values(), scope=self._scope)

    def update(self, name: str, updates: Mapping[str, Mapping[str, Any]]) -> None:
        """Change fields of payloads."""
        documents = self._collections.find(name)
        if documents is None:
            return
        with documents.turn:
            records = documents.get_many(updates, scope=self._scope)
            rows = [
                _row(record, metadata_of({**stored(record), **updates[str(record.id)]}))
                for record in records
                if record is not None
            ]
            documents.upsert_many(rows, scope=self._scope)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Delete points by their ids, in one transaction."""
        documents = self._collections.find(name)
        if documents is not None:
            documents.delete_many(ids, scope=self._scope, reason="delete_data_points")

    def untag(self, tags: list[str], ids: set[str] | None) -> None:
        """Remove points from sets, in all collections; delete those left in no set."""
        tagged = Native({TAGS: {"$in": tags}})
        for name in self._collections.names():
            documents = self._collections.get(name)
            with documents.turn:
                rows, deleted = [], []
                for record in documents.every(scope=self._scope, filter=tagged, exact=True, vectors=True):
                    if ids is not None and str(record.id) not in ids:
                        continue
                    remaining = [tag for tag in (record.metadata or {})[TAGS] if tag not in tags]
                    if remaining:
                        rows.append(_row(record, metadata_of({**stored(record), TAGS: remaining})))
                    else:
                        deleted.append(record.id)
                documents.upsert_many(rows, scope=self._scope)
                documents.delete_many(deleted, scope=self._scope, reason="remove_belongs_to_set_tags")

    def retrieve(self, name: str, ids: Sequence[str]) -> list[Any]:
        """Return points by their ids, in that order."""
        documents = self._collections.find(name)
        records = [] if documents is None else documents.get_many(ids, scope=self._scope)
        return [result_of(record, 0) for record in records if record is not None]

    def score(self, name: str, ids: Sequence[str], vector: Sequence[float]) -> list[Any]:
        """Return the distances of points, nearest first."""
        if not ids:
            return []
        query = Query(mode="vector", recall="exact", ids=ids)
        documents = self._collections.get(name)
        hits = documents.search(vector=vector, scope=self._scope, k=len(ids), query=query)
        return [result_of(hit, 1.0 - (hit.similarity or 0.0), include_payload=False) for hit in hits]

    def search(
        self,
        name: str,
        questions: Sequence[tuple[str | None, Sequence[float]]],
        limit: int | None,
        include_payload: bool,
        tagged: dict[str, Any] | None,
    ) -> list[list[Any]]:
        """Return the best points for each question, a pair of text (or None) and vector."""
        documents = self._collections.get(name)
        k = documents.count(self._scope, filter=tagged) if limit is None else limit
        if k <= 0:
            return [[] for _ in questions]
        by_distance = documents.query.replace(mode="vector")
        batches = documents.index.search_batch(
            [text for text, _ in questions],
            vectors=[vector for _, vector in questions],
            scope=self._scope,
            k=k,
            filter=tagged,
            query=[documents.query if text else by_distance for text, _ in questions],
            explain=True,  # for the distance of hits found by words alone
        )
        results = []
        for hits in batches:
            distances = ascending([1.0 - (hit.similarity or 0.0) for hit in hits])
            results.append(
                [
                    result_of(hit, distance, include_payload=include_payload)
                    for hit, distance in zip(hits, distances, strict=True)
                ]
            )
        return results


def _row(record: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    return {"id": record.id, "text": record.text, "vector": record.vector, "metadata": metadata}
