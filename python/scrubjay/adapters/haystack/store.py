"""The document store: Haystack's interface over one scope of one collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, default_from_dict, default_to_dict, logging
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from scrubjay._native import Scope
from scrubjay.adapters.haystack import metadata
from scrubjay.adapters.haystack.documents import to_fields
from scrubjay.adapters.haystack.filters import translate
from scrubjay.adapters.haystack.retrieval import Retrieval
from scrubjay.backend import EVERYTHING, Backend, Documents, awaited, path_or_index
from scrubjay.documents.records import Record
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index

logger = logging.getLogger(__name__)

_METRICS = {"cosine": "cosine", "dot_product": "ip", "l2": "l2"}


_TYPE_BEFORE = "scrubjay.adapters.haystack.store.ScrubjayDocumentStore"


class ScrubjayDocumentStore(Retrieval):
    """Documents of one scope, in a file or in memory, searched by keywords and by embedding.

    Args:
        path: the path of the file; None: in memory, for this object alone. Stores of one process may share a file.
        collection: by default "haystack", or the index itself; "" is a file's unnamed collection, with its existing
            settings.
        tenant, user, agent: the owner of these documents. The store also finds what is shared with the owner (see
            :class:`scrubjay.Scope`); it changes and deletes only documents of exactly this scope. An id in another
            scope is another document.
        embedding_similarity_function: "cosine", "dot_product" or "l2" (the negated squared distance).
        dtype: "f32" returns embeddings unchanged; "f16" and "i8" round them to two bytes and one an element.
        embedder: embeds documents and queries that come without an embedding: a spec of
            :func:`scrubjay.embedders.from_spec`, such as "default". None: pipelines supply all embeddings.
        return_embedding: whether returned documents carry their embeddings.
        index: an open index in place of `path`; a store over an index in memory cannot be serialised.

    All methods may be called from any thread; the methods that end in `_async` do not block the event loop.

    Raises:
        StoreError and the other errors of :meth:`scrubjay.Index.open`.

    >>> from haystack import Document
    >>> store = ScrubjayDocumentStore(tenant="acme", embedder="default")
    >>> store.write_documents([Document(id="1", content="The staging key prefix is sk-stg-0041.", meta={"kind": "key"}),
    ...                        Document(id="2", content="Lies awake after espresso.")])
    2
    >>> store.bm25_retrieval("sk-stg-0041")[0].id, store.hybrid_retrieval("trouble sleeping", top_k=1)[0].id
    ('1', '2')
    >>> [found.id for found in store.filter_documents({"field": "meta.kind", "operator": "==", "value": "key"})]
    ['1']
    """

    __module__ = "haystack_integrations.document_stores.scrubjay"  # the name for serialisation

    def __init__(
        self,
        path: str | None = None,
        *,
        collection: str | None = None,
        tenant: str = "default",
        user: str | None = None,
        agent: str | None = None,
        embedding_similarity_function: str = "cosine",
        dtype: str = "f32",
        embedder: str | None = None,
        return_embedding: bool = True,
        index: Index | None = None,
    ) -> None:
        if embedding_similarity_function not in _METRICS:
            raise ValueError(
                f"embedding_similarity_function: expected {', '.join(_METRICS)}, got {embedding_similarity_function!r}"
            )
        where = path_or_index(None if path is None else Path(path), index)
        if collection is None:
            collection = "haystack" if index is None else ""
        self.scope = Scope(tenant, user, agent)
        """The scope of searches, and the owner of written documents."""
        self.collection = index.name if index is not None and not collection else collection
        self.embedding_similarity_function = embedding_similarity_function
        self.dtype = dtype
        self.embedder = embedder
        self.return_embedding = return_embedding
        self._path = str(index.path) if index is not None and index.path is not None else path
        self._borrowed = index is not None
        kind: dict[str, Any] = {"metric": _METRICS[embedding_similarity_function], "dtype": dtype}
        self._documents = Documents(where, collection=collection or None, **(kind if collection else {}))
        model = None if embedder is None else from_spec(embedder)
        current = self.index.embedder
        if model is not None and (current is None or current.name != model.name):
            self.index.embedder = model

    # ------------------------------------------------------------------ properties

    @property
    def index(self) -> Index:
        """The collection's index, for operations that Haystack lacks."""
        return self._documents.index

    def to_dict(self) -> dict[str, Any]:
        """Return the serialised store; a store in memory is restored empty.

        Raises:
            ValueError: the store was given an index in memory.
        """
        if self._borrowed and self._path is None:
            raise ValueError("index: a store over an index in memory cannot be serialised; give it a path")
        return default_to_dict(
            self,
            path=self._path,
            collection=self.collection,
            tenant=self.scope.tenant,
            user=self.scope.user,
            agent=self.scope.agent,
            embedding_similarity_function=self.embedding_similarity_function,
            dtype=self.dtype,
            embedder=self.embedder,
            return_embedding=self.return_embedding,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScrubjayDocumentStore:
        """Restore a store from `data`, a result of :meth:`to_dict`."""
        name = f"{cls.__module__}.{cls.__name__}"
        return default_from_dict(cls, {**data, "type": name} if data.get("type") == _TYPE_BEFORE else data)

    def close(self) -> None:
        """Release the file; it closes with the last store of the process that uses it."""
        self._documents.close()

    def __enter__(self) -> ScrubjayDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ writing

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all or none, and return the number written.

        Args:
            documents: with embeddings of one length; a document without one is found by its words only.
            policy: NONE is FAIL, as in Haystack's in-memory store; SKIP writes documents with new ids (of equal ids in
                `documents` the first); OVERWRITE replaces (the last). An id that another process writes at the same
                moment is overwritten.

        Raises:
            DuplicateDocumentError: with FAIL or NONE, an id exists or occurs twice.
            ValueError, TypeError: an argument is not a document, or cannot be stored; the message says which.
        """
        if isinstance(documents, (str, bytes, Mapping)) or not isinstance(documents, Iterable):
            raise ValueError(f"documents: expected a list of Documents, got {type(documents).__name__}")
        documents = list(documents)
        for position, document in enumerate(documents):
            if not isinstance(document, Document):
                raise ValueError(f"documents[{position}]: expected a Document, got {type(document).__name__}")
            if not isinstance(document.id, str):
                raise ValueError(
                    f"documents[{position}].id: expected a str, got {type(document.id).__name__}"
                )
        if not isinstance(policy, DuplicatePolicy):
            raise ValueError(f"policy: expected a DuplicatePolicy, got {policy!r}")
        with self._documents.turn:
            if policy == DuplicatePolicy.OVERWRITE:
                self._upsert([self._fields(document) for document in documents])
                return len(documents)
            ids = [document.id for document in documents]
            existing = {record.id for record in self._documents.list(scope=self.scope, ids=ids, exact=True)}
            fresh: dict[str, Document] = {}
            for document in documents:
                if document.id not in existing and document.id not in fresh:
                    fresh[document.id] = document
                elif policy == DuplicatePolicy.SKIP:
                    logger.warning("ID '{document_id}' already exists", document_id=document.id)
                else:
                    raise DuplicateDocumentError(f"ID '{document.id}' already exists.")
            self._upsert([self._fields(document) for document in fresh.values()])
            return len(fresh)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Merge `meta` into that of the scope's own matching documents and return their number; counts as a write.

        Args:
            filters: Haystack's filters.
            meta: the keys to add.
        """
        with self._documents.turn:
            changed = []
            for record, document in self._matching(filters, exact=True, with_embedding=True):
                fields = self._fields(replace(document, meta=document.meta | meta))
                if fields["vector"] is None:  # keep the embedding of the same text
                    fields["vector"] = record.vector
                fields |= {"created_at": record.created_at, "expires_at": record.expires_at}
                changed.append(fields)
            self._upsert(changed)
        return len(changed)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the scope's own documents with these ids, in one transaction; unknown ids are skipped.

        Args:
            document_ids: their ids.
        """
        self._documents.delete_many(document_ids, scope=self.scope)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the scope's own matching documents, in one transaction, and return their number.

        Args:
            filters: Haystack's filters.
        """
        where = translate(filters, self._document)
        return self._documents.delete_many(scope=self.scope, filter=EVERYTHING if where is None else where)

    def delete_all_documents(self) -> None:
        """Delete all documents of exactly this scope."""
        self._documents.erase(self.scope)

    def _fields(self, document: Document) -> dict[str, Any]:
        index = self.index
        return to_fields(
            document, self.scope, dtype=Backend.of(index).dtype, embeds=index.embedder is not None
        )

    def _upsert(self, records: list[dict[str, Any]]) -> None:
        if records:
            self._documents.upsert_many(records)

    # ------------------------------------------------------------------ reading

    def count_documents(self) -> int:
        """Return the number of documents that the scope sees."""
        return self._documents.count(self.scope)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the matching documents, in the order in which they were written.

        Args:
            filters: Haystack's filters; None: all documents.

        Raises:
            FilterError: the filter is malformed, or orders values that have no order.
        """
        embedded = self.return_embedding
        documents = [document for _, document in self._matching(filters, with_embedding=embedded)]
        return documents if embedded else [replace(document, embedding=None) for document in documents]

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of matching documents.

        Args:
            filters: Haystack's filters.
        """
        return self._documents.count(self.scope, filter=translate(filters, self._document))

    def _matching(
        self, filters: dict[str, Any] | None, *, exact: bool = False, with_embedding: bool = False
    ) -> Iterator[tuple[Record, Document]]:
        """Yield the memories that pass a filter, oldest first, with their documents."""
        where = translate(filters, self._document)
        records = self._documents.list(scope=self.scope, filter=where, exact=exact, order="oldest")
        if with_embedding:
            complete: dict[Any, Record] = {}
            for scope in {record.scope for record in records}:
                ids = [record.id for record in records if record.scope == scope]
                batch = self._documents.get_many(ids, scope=scope, exact=True)
                complete.update({(record.scope, record.id): record for record in batch if record is not None})
            keys = [(record.scope, record.id) for record in records]
            # Others were deleted since the listing.
            records = [complete[key] for key in keys if key in complete]
        for record in records:
            yield record, self._document(record, with_embedding)

    # ------------------------------------------------------------------ metadata

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return the number of distinct values of each field among the matching documents.

        Args:
            filters: Haystack's filters.
            metadata_fields: with or without the prefix "meta.", which the result lacks.
        """
        return metadata.distinct(self._metas(filters), metadata_fields)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each field: "boolean", "int", "float" or, for everything else, "keyword"."""
        return metadata.types(self._metas(None))

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the extremes of `metadata_field` as "min" and "max"; both None if it has no values, or incomparable
        ones."""
        return metadata.least_and_greatest(self._metas(None), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the distinct values of a field, ordered by their texts, and their total number.

        Args:
            metadata_field: with or without the prefix "meta.".
            search_term: keep values whose text contains it, ignoring case.
            from_, size: the page.
            filters: restricts the documents.
        """
        values = metadata.found_values(self._metas(filters), metadata_field, search_term)
        return values[from_ : from_ + size], len(values)

    def _metas(self, filters: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
        return (document.meta for _, document in self._matching(filters))

    # ------------------------------------------------------------------ async twins

    write_documents_async = awaited(write_documents, "write_documents_async")
    update_by_filter_async = awaited(update_by_filter, "update_by_filter_async")
    delete_documents_async = awaited(delete_documents, "delete_documents_async")
    delete_by_filter_async = awaited(delete_by_filter, "delete_by_filter_async")
    delete_all_documents_async = awaited(delete_all_documents, "delete_all_documents_async")
    count_documents_async = awaited(count_documents, "count_documents_async")
    filter_documents_async = awaited(filter_documents, "filter_documents_async")
    count_documents_by_filter_async = awaited(count_documents_by_filter, "count_documents_by_filter_async")
    count_unique_metadata_by_filter_async = awaited(
        count_unique_metadata_by_filter, "count_unique_metadata_by_filter_async"
    )
    get_metadata_fields_info_async = awaited(get_metadata_fields_info, "get_metadata_fields_info_async")
    get_metadata_field_min_max_async = awaited(get_metadata_field_min_max, "get_metadata_field_min_max_async")
    get_metadata_field_unique_values_async = awaited(
        get_metadata_field_unique_values, "get_metadata_field_unique_values_async"
    )
