"""The storage: one scope of an index, in which CrewAI's paths are conditions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord, ScopeInfo

from scrubjay._native import Scope
from scrubjay.adapters._similarity import similarity, worth
from scrubjay.adapters.crewai.embedding import text_of
from scrubjay.adapters.crewai.records import (
    CATEGORIES,
    LAST_ACCESSED,
    PATH,
    below,
    conditions,
    document_of,
    path_of,
    record_of,
)
from scrubjay.backend import Backend, Documents, awaited
from scrubjay.base.errors import VersionConflictError
from scrubjay.documents.records import Record
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

# The maximum similarity of matching words: below .85, from which on CrewAI takes a new memory for a version of an old
# one and asks a model about it.
_WORDS = 0.8
# The lead of an identifier match over the most similar memory; in CrewAI's score it outweighs four days of age.
_AHEAD = 0.05
_LEAST_POOL = 50  # hits ordered by CrewAI's scores, so that a smaller limit returns a prefix of a larger one


class ScrubjayStorage:
    """CrewAI's `StorageBackend` over one scope. Thread-safe.

    Args:
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        scope: the owner of the memories. CrewAI's own scopes are paths, which are conditions within this scope; other
            scopes of the index are invisible, also to `reset`.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    Searches also find what is shared with the scope, which no call changes.

    Scores lie between 0 and 1: the similarity of the vectors, or the worth of the matching words (at most 0.8),
    whichever is greater. A memory that contains an identifier of the query scores 0.05 above the most similar one.

    >>> storage = ScrubjayStorage(scope=Scope("acme", user="jane"))
    >>> storage.save([MemoryRecord(id="m1", content="Prefers trains.", scope="/trips", embedding=[1.0, 0.0])])
    >>> storage.search([1.0, 0.0], scope_prefix="/trips")[0][0].content, storage.search([1.0, 0.0], "/trip")
    ('Prefers trains.', [])
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope,
        query: Query | Mapping[str, Any] | None = None,
        collection: str | None = "crewai",
        **options: Any,
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self._scope = scope
        self._documents = Documents(where, collection=collection, query=query, **options)

    # ------------------------------------------------------------------ writing

    def save(self, records: Iterable[MemoryRecord]) -> None:
        """Write records, all or none. A record with an existing id replaces that one.

        Raises:
            EmbeddingDimensionMismatchError: a vector's length differs from that of the stored ones.
            ValueError: a metadata key begins with `crewai_`.
        """
        rows = {record.id: document_of(record) for record in records}
        self._write(list(rows.values()))

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id; its vector is kept if the new record has none and the same
        content.

        Raises:
            The errors of :meth:`save`.
        """
        row = document_of(record)
        with self._documents.turn:
            if row["vector"] is None:
                (before,) = self._documents.get_many([record.id], scope=self._scope, exact=True)
                if before is not None and before.text == row["text"]:
                    row["vector"] = before.vector
            self._write([row])

    def touch_records(self, record_ids: Sequence[str]) -> None:
        """Set the access time of records to now; records written concurrently are left alone.

        Args:
            record_ids: their ids.
        """
        now = datetime.now(timezone.utc).isoformat()
        with self._documents.turn:
            rows = [
                {
                    "id": record.id,
                    "text": record.text,
                    "vector": record.vector,
                    "metadata": {**(record.metadata or {}), LAST_ACCESSED: now},
                    "created_at": record.created_at,
                    "expires_at": record.expires_at,
                    "version": record.version,
                }
                for record in self._documents.get_many(record_ids, scope=self._scope, exact=True)
                if record is not None
            ]
            try:
                self._write(rows)
            except VersionConflictError:
                pass  # another process wrote one; an access time is not worth a retry

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet all conditions, in one transaction, and return their number. No condition: all.

        An empty list of ids matches no record. (CrewAI's LanceDB storage treats it as no condition, ignores the other
        conditions if ids are given, and counts records at the root to every path.)

        Args:
            scope_prefix: a path of CrewAI's, such as "/crew"; None: the root.
            categories: at least one of these.
            record_ids: only these.
            older_than: created before this time.
            metadata_filter: keys with the values that the metadata must have.
        """
        node = conditions(scope_prefix, categories, metadata_filter, older_than)
        return self._documents.delete_many(record_ids, scope=self._scope, filter=node)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete everything of the scope at or below a path; None: everything of the scope.

        Args:
            scope_prefix: the path.
        """
        if path_of(scope_prefix or "/") == "/":
            self._documents.erase(self._scope, reason="reset")
        else:
            self.delete(scope_prefix)

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        dim = self._dim
        for row in rows:
            dim = _checked(row["vector"], dim)
        if rows:
            self._documents.upsert_many(rows, scope=self._scope)

    @property
    def _dim(self) -> int | None:
        return Backend.of(self._documents.index).dim

    # ------------------------------------------------------------------ reading

    def search(
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the best records at or below a path with their scores, best first.

        Ranks by words and meaning for a vector of :class:`ScrubjayEmbedder`, by meaning alone for others. All
        conditions apply before ranking.

        Args:
            query_embedding: the vector of the question.
            scope_prefix: a path of CrewAI's, such as "/crew"; None: the root.
            categories: at least one of these.
            metadata_filter: keys with the values that the metadata must have.
            limit: the maximum number of records.
            min_score: the minimum score.

        Raises:
            EmbeddingDimensionMismatchError: the vector's length differs from that of the stored ones.
        """
        dim, text = _checked(query_embedding, self._dim), text_of(query_embedding)
        # If no vector is stored, only words rank.
        vector = list(query_embedding) if self._dim == dim and len(query_embedding) else None
        if limit < 1 or (vector is None and not text):
            return []
        hits = self._documents.search(
            text,
            scope=self._scope,
            k=max(limit, _LEAST_POOL) if text else limit,
            vector=vector,
            filter=conditions(scope_prefix, categories, metadata_filter),
            explain=True,
        )
        scored = _scored(hits, Backend.of(self._documents.index).metric)[:limit]
        return [(record_of(hit), score) for hit, score in scored if score >= min_score]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return the record `record_id`, or None."""
        (record,) = self._documents.get_many([record_id], scope=self._scope)
        return None if record is None else record_of(record)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return a page of the records at or below a path, newest creation first.

        The first page sorts them; later pages continue after the previous one, regardless of writes and deletions in
        between (:class:`scrubjay.backend.Offsets`).

        Args:
            scope_prefix: a path of CrewAI's, such as "/crew"; None: the root.
            limit, offset: the size and start of the page.
        """
        if limit < 1 or offset < 0:
            return []
        page = self._documents.page(
            scope=self._scope,
            offset=offset,
            limit=limit,
            filter=below(scope_prefix),
            order_by="created_at",
            descending=True,
        )
        return [record_of(record) for record in page]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return the number of records at or below the path `scope`, their time range and categories, and the paths one
        step below."""
        path = path_of(scope)
        ends = [self._page(path, limit=1, descending=descending) for descending in (False, True)]
        oldest, newest = (None if not end else record_of(end[0]).created_at for end in ends)
        return ScopeInfo(
            path=path,
            record_count=self.count(path),
            categories=sorted(self.list_categories(path)),
            oldest_record=oldest,
            newest_record=newest,
            child_scopes=self.list_scopes(path),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the paths with records one step below the path `parent`, sorted."""
        path = path_of(parent)
        before = "/" if path == "/" else path + "/"
        paths = [value for value in self._values(PATH, path) if isinstance(value, str)]
        steps = {value[len(before) :].split("/", 1)[0] for value in paths if value.startswith(before)}
        return sorted(before + step for step in steps if step)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories at or below a path with their numbers of records, most frequent first.

        Args:
            scope_prefix: a path of CrewAI's, such as "/crew"; None: the root.
        """
        return {str(value): n for value, n in self._values(CATEGORIES, scope_prefix).items()}

    def count(self, scope_prefix: str | None = None) -> int:
        """Return the number of records at or below a path.

        Args:
            scope_prefix: a path of CrewAI's, such as "/crew"; None: the root.
        """
        return self._documents.count(self._scope, filter=below(scope_prefix))

    def _values(self, field: str, path: str | None) -> dict[Any, int]:
        counts: dict[Any, int] = self._documents.values(field, scope=self._scope, filter=below(path).filter)
        return counts

    def _page(self, path: str | None, *, limit: int, descending: bool) -> list[Record]:
        return self._documents.scroll(
            scope=self._scope, limit=limit, filter=below(path), order_by="created_at", descending=descending
        ).records

    # ------------------------------------------------------------------ asynchronous

    asave = awaited(save, "asave")
    asearch = awaited(search, "asearch")
    adelete = awaited(delete, "adelete")

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it. Called by `Memory.close`."""
        self._documents.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> ScrubjayStorage:
        return self  # copies of a crew share the storage

    def __repr__(self) -> str:
        return f"<scrubjay.adapters.crewai.ScrubjayStorage {self._scope}: {self._documents.place}>"


def _checked(vector: Any, dim: int | None) -> int | None:
    """Return the dimension of the vectors after checking this one against it; None if unknown."""
    if vector is None or len(vector) == 0:
        return dim
    if dim is not None and len(vector) != dim:
        raise EmbeddingDimensionMismatchError(dim, len(vector))
    return len(vector)


def _scored(hits: Sequence[Hit], metric: str) -> list[tuple[Hit, float]]:
    """Return hits with their scores, best first; ties keep the order of the search."""
    similar = [similarity(hit, metric) for hit in hits]
    ahead = min(1.0, max(similar, default=0.0) + _AHEAD)
    scored = []
    for hit, score in zip(hits, similar, strict=True):
        least = ahead if hit.identifier else 0.0
        scored.append((hit, max(score, least, _WORDS * worth(hit))))
    return sorted(scored, key=lambda pair: -pair[1])
