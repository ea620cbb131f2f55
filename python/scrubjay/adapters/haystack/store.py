"""The document store: Haystack's interface over one scope of one collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document, default_from_dict, default_to_dict, logging
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from scrubjay._native import Scope
from scrubjay.adapters.haystack.asynchronous import AsyncDocumentStore
from scrubjay.adapters.haystack.documents import to_document, to_fields
from scrubjay.adapters.haystack.filters import Translated, translate
from scrubjay.adapters.haystack.metadata import MetadataQueries
from scrubjay.adapters.haystack.retrieval import Retrieval
from scrubjay.backend import Backend, lease, valid_ids
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index
from scrubjay.records import Record

__all__ = ["ScrubjayDocumentStore"]

logger = logging.getLogger(__name__)

_METRICS = {"cosine": "cosine", "dot_product": "ip", "l2": "l2"}


_TYPE_BEFORE = "scrubjay.adapters.haystack.store.ScrubjayDocumentStore"


class ScrubjayDocumentStore(Retrieval, MetadataQueries, AsyncDocumentStore):
    """Documents of one scope, in a file or in memory, found by keywords and by embedding.

    Args:
        path: of the file; None: in memory, for this object alone. Stores of one process may share a file.
        collection: by default "haystack", or the index itself; "" is a file's collection without a name, whose kind is
            as it is.
        tenant, user, agent: whose documents these are. The store also finds what is shared with them (see
            :class:`scrubjay.Scope`); it changes and deletes only what is exactly theirs. An id in another scope is
            another document.
        embedding_similarity_function: "cosine", "dot_product" or "l2" (the negated squared distance).
        dtype: "f32" gives embeddings back as they were; "f16" rounds them and takes half the memory.
        embedder: what embeds documents and queries that come without an embedding, as
            :func:`scrubjay.embedders.from_spec` has it, such as "default". None: pipelines bring all embeddings.
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

    __module__ = "haystack_integrations.document_stores.scrubjay"  # by which Haystack serialises it

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
        if path is not None and index is not None:
            raise ValueError("index: expected either path or index, got both")
        if collection is None:
            collection = "haystack" if index is None else ""
        self.scope = Scope(tenant, user, agent)
        """Who asks, and whose the written documents are."""
        self.collection = index.name if index is not None and not collection else collection
        self.embedding_similarity_function = embedding_similarity_function
        self.dtype = dtype
        self.embedder = embedder
        self.return_embedding = return_embedding
        self._path = str(index.path) if index is not None and index.path is not None else path
        self._borrowed = index is not None
        kind: dict[str, Any] = {"metric": _METRICS[embedding_similarity_function], "dtype": dtype}
        self._held = lease(
            Path(path) if path is not None else index,
            collection=collection or None,
            **(kind if collection else {}),
        )
        model = None if embedder is None else from_spec(embedder)
        own = self._held.index.embedder
        if model is not None and (own is None or own.name != model.name):
            self._held.index.embedder = model

    # ------------------------------------------------------------------ what it is

    @property
    def index(self) -> Index:
        """The collection's index, for what Haystack has no word for."""
        return self._held.index

    def to_dict(self) -> dict[str, Any]:
        """Return what makes this store again; a store in memory comes back empty.

        Raises:
            ValueError: it stands on an index in memory that it was given.
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
        """Make a store of what :meth:`to_dict` returned."""
        own = f"{cls.__module__}.{cls.__name__}"
        return default_from_dict(cls, {**data, "type": own} if data.get("type") == _TYPE_BEFORE else data)

    def close(self) -> None:
        """Give the file back; the last store of a process that holds it closes it."""
        self._held.close()

    def __enter__(self) -> ScrubjayDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ writing

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all or none, and return how many were written.

        Args:
            documents: with embeddings of one length; without one, a document is found by its words only.
            policy: NONE is FAIL, as in Haystack's in-memory store; SKIP writes those whose ids are new (of equal ids in
                `documents` the first); OVERWRITE replaces (the last). Between processes, an id that another one writes
                in the same moment is overwritten.

        Raises:
            DuplicateDocumentError: with FAIL or NONE an id exists, or occurs twice.
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
        with self._held.turn:
            if policy == DuplicatePolicy.OVERWRITE:
                self._upsert([self._fields(document) for document in documents])
                return len(documents)
            ids = valid_ids(document.id for document in documents)
            there = {record.id for record in self.index.list(self.scope, ids=ids, exact=True)}
            fresh: dict[str, Document] = {}
            for document in documents:
                if document.id not in there and document.id not in fresh:
                    fresh[document.id] = document
                elif policy == DuplicatePolicy.SKIP:
                    logger.warning("ID '{document_id}' already exists", document_id=document.id)
                else:
                    raise DuplicateDocumentError(f"ID '{document.id}' already exists.")
            self._upsert([self._fields(document) for document in fresh.values()])
            return len(fresh)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add `meta` to that of the scope's own documents that match; return how many. They count as rewritten."""
        with self._held.turn:
            changed = []
            for record, document in self._matching(translate(filters), exact=True, with_embedding=True):
                fields = self._fields(replace(document, meta=document.meta | meta))
                if fields["vector"] is None:  # the vector that the store's own embedder made of the same text
                    fields["vector"] = record.vector
                fields |= {"created_at": record.created_at, "expires_at": record.expires_at}
                changed.append(fields)
            self._upsert(changed)
        return len(changed)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the scope's own documents with these ids, at once; ids of no document are passed over."""
        self.index.delete_many(valid_ids(document_ids), scope=self.scope)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the scope's own documents that match, at once; return how many."""
        matching = self._matching(translate(filters), exact=True)
        return self.index.delete_many([record.id for record, _ in matching], scope=self.scope)

    def delete_all_documents(self) -> None:
        """Delete all documents that are exactly the scope's own."""
        self.index.erase(self.scope, exact=True)

    def _fields(self, document: Document) -> dict[str, Any]:
        index = self.index
        return to_fields(
            document, self.scope, dtype=Backend.of(index).dtype, embeds=index.embedder is not None
        )

    def _upsert(self, records: list[dict[str, Any]]) -> None:
        if records:
            self.index.upsert_many(records, progress=False)

    # ------------------------------------------------------------------ looking

    def count_documents(self) -> int:
        """Return how many documents the scope sees."""
        return self.index.count(self.scope)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, in the order in which they were written.

        Raises:
            FilterError: the filter is malformed, or orders values without an order.
        """
        matching = self._matching(translate(filters), with_embedding=self.return_embedding)
        documents = [document for _, document in matching]
        return documents if self.return_embedding else [replace(one, embedding=None) for one in documents]

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return how many documents match."""
        translated = translate(filters)
        if translated.judge is None:
            return self.index.count(self.scope, filter=translated.native)
        return sum(1 for _ in self._matching(translated))

    def _matching(
        self, filter: Translated, *, exact: bool = False, with_embedding: bool = False
    ) -> Iterator[tuple[Record, Document]]:
        """The memories that a filter admits, oldest first, and what documents they are."""
        ids = None if filter.ids is None else valid_ids(filter.ids)
        index = self.index
        with_embedding = with_embedding or filter.reads_embedding
        for record in index.list(self.scope, filter=filter.native, ids=ids, exact=exact, order="oldest"):
            if with_embedding:
                found = index.get(record.id, scope=record.scope)
                if found is None or found.scope != record.scope:  # gone since the listing
                    continue
                record = found
            document = to_document(
                str(record.id),
                record.text,
                record.metadata or {},
                vector=None if record.vector is None else np.asarray(record.vector),
                with_embedding=with_embedding,
            )
            if filter.judge is None or filter.judge(document):
                yield record, document
