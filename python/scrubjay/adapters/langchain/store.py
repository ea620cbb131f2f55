"""The vector store: LangChain's interface over one scope of one collection."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from scrubjay._native import Scope
from scrubjay.adapters.langchain.embeddings import ScrubjayEmbeddings, model_name
from scrubjay.adapters.langchain.searching import Searching
from scrubjay.backend import Documents, FrameworkEmbedder, awaited, path_or_index, prepared
from scrubjay.base.errors import EmbedderError
from scrubjay.documents.records import Record
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

Self = TypeVar("Self", bound="ScrubjayVectorStore")


class ScrubjayVectorStore(Searching, VectorStore):
    """Documents of one scope, in a file or in memory, found by keywords and by meaning.

    Args:
        embedding: LangChain's embeddings, or an embedder of Scrubjay. None: the index's; without one, keywords only.
        path: the path of the file; None: in memory. Stores of one process may share a file.
        index: an open index in place of `path`.
        collection: by default "langchain", or the index itself; "" is a file's unnamed collection.
        scope: the owner of these documents. The store also finds what is shared with it (see
            :class:`scrubjay.Scope`); it changes and deletes only documents of exactly this scope. An id in another
            scope is another document.
        query: how searches rank by default; None: ``scrubjay.Query()``.
        metric, dtype, analyzer: of a new collection (see :class:`scrubjay.Index`).
        model: the name of the embeddings that is stored in the file; by default the class and its `model`. Vectors of
            another model are refused.
        passage_chars, whole_chars: a document of more than `whole_chars` characters is embedded in passages of at most
            `passage_chars`, each with its own vector (see :class:`scrubjay.embedders.WordLlama`). None: the attributes
            of these names of LangChain's embeddings, or no passages.
        options: of :meth:`scrubjay.Index.open`, such as `durability`.

    All methods may be called from any thread; their async twins use the embeddings' async methods and do not block the
    event loop. If a question cannot be embedded, the search falls back to keywords and logs a warning.

    Raises:
        StoreError and the other errors of :meth:`scrubjay.Index.open`.

    >>> store = ScrubjayVectorStore(ScrubjayEmbeddings(), scope=Scope("acme"))
    >>> store.add_texts(["Prefers trains.", "Window seat."], [{"n": 1}, {"n": 2}], ids=["a", "b"])
    ['a', 'b']
    >>> store.similarity_search("rail travel", k=1, filter={"n": {"$gt": 0}})
    [Document(id='a', metadata={'n': 1}, page_content='Prefers trains.')]
    >>> store.delete(["a"]), [document.id for document in store.get_by_ids(["a", "b"])]
    (True, ['b'])
    """

    def __init__(
        self,
        embedding: Embeddings | Embedder | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        index: Index | None = None,
        collection: str | None = None,
        scope: Scope = Scope("default"),  # noqa: B008 - immutable
        query: Query | None = None,
        metric: str | None = None,
        dtype: str | None = None,
        analyzer: str | None = None,
        model: str | None = None,
        passage_chars: int | None = None,
        whole_chars: int | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        where = path_or_index(path, index)
        if collection is None:
            collection = "langchain" if index is None else ""
        self.scope = scope
        """The scope of searches, and the owner of added documents."""
        self._embeddings: FrameworkEmbedder | None = None  # set for LangChain embeddings
        self._given = embedding
        if isinstance(embedding, Embeddings) and not isinstance(embedding, ScrubjayEmbeddings):
            named = model or model_name(embedding)
            self._embeddings = FrameworkEmbedder(embedding, named, None, passage_chars, whole_chars)
        elif passage_chars is not None or whole_chars is not None:
            raise TypeError("passage_chars, whole_chars: expected None, an embedder of Scrubjay has its own")
        elif embedding is not None and not isinstance(embedding, (ScrubjayEmbeddings, Embedder)):
            raise TypeError(
                f"embedding: expected LangChain's Embeddings or an embedder of Scrubjay, got {type(embedding).__name__}"
            )
        self._documents = Documents(
            where,
            collection=collection or None,
            query=query,
            metric=metric,
            dtype=dtype,
            analyzer=analyzer,
            **options,
        )
        self.query = self._documents.query
        """The query of searches that pass no other."""
        native = embedding.embedder if isinstance(embedding, ScrubjayEmbeddings) else embedding
        if self._embeddings is None and native is not None:
            self._use(native)

    # ------------------------------------------------------------------ properties

    @property
    def index(self) -> Index:
        """The collection's index, for operations that LangChain lacks."""
        return self._documents.index

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings in use; None: documents are found by keywords only."""
        if isinstance(self._given, Embeddings):
            return self._given
        embedder = self.index.embedder
        return None if embedder is None else ScrubjayEmbeddings(embedder)

    def close(self) -> None:
        """Release the file; it closes with the last store of the process that uses it."""
        self._documents.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def from_texts(
        cls: type[Self],
        texts: list[str],
        embedding: Embeddings | Embedder | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a store with these texts; `options` are those of the constructor.

        Args:
            texts, metadatas, ids: as for :meth:`add_texts`.
            embedding: LangChain's or Scrubjay's; None: keywords only.

        >>> store = ScrubjayVectorStore.from_texts(["Prefers trains."], ids=["a"], scope=Scope("acme"))
        >>> store.similarity_search("trains")[0].id
        'a'
        """
        store = cls(embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls: type[Self],
        texts: list[str],
        embedding: Embeddings | Embedder | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> Self:
        """Run :meth:`from_texts` asynchronously."""
        store = await asyncio.to_thread(cls, embedding, **options)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    # ------------------------------------------------------------------ writing

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Add texts, all or none, and return their ids; a text with an existing id replaces that document.

        Args:
            texts: the texts to add.
            metadatas: one mapping for each text, or None.
            ids: one for each text; None: generate one.
            batch_size: the number of texts in a call of the embeddings; None: all.
        """
        documents = _documents(texts, metadatas)
        return self.add_documents(documents, ids=ids, batch_size=batch_size)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Run :meth:`add_texts` asynchronously."""
        documents = _documents(texts, metadatas)
        return await self.aadd_documents(documents, ids=ids, batch_size=batch_size)

    def add_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Add documents, all or none, and return their ids; a document with an existing id replaces that one.

        Args:
            documents: with metadata that JSON can express. They are not modified.
            ids: override those of the documents; a document with neither gets a random one.
            batch_size: the number of texts in a call of the embeddings; None: all.

        Raises:
            TypeError, ValueError: a document or an id is invalid; the message says which and why.
            EmbedderError: the embeddings returned no vectors of one length. What they raise is passed on.
            EmbedderMismatchError: the collection holds vectors of another model.
            In each case nothing was written.
        """
        named = _named(documents, ids)
        if self._embeddings is None:
            return self._write(named, None)
        texts, vectors = self._embeddings.asked_for(document.page_content for _, document in named), []
        for part in _parts(texts, batch_size):
            vectors += self._embeddings.embeddings.embed_documents(part)
        return self._write(named, (texts, vectors))

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Add documents as :meth:`add_documents` does, embedded by the embeddings' async method.

        Args:
            documents: the documents to add.
            ids, batch_size: as for :meth:`add_texts`.
        """
        named = _named(documents, ids)
        if self._embeddings is None:
            return await asyncio.to_thread(self._write, named, None)
        texts, vectors = self._embeddings.asked_for(document.page_content for _, document in named), []
        for part in _parts(texts, batch_size):
            vectors += await self._embeddings.embeddings.aembed_documents(part)
        return await asyncio.to_thread(self._write, named, (texts, vectors))

    def _write(
        self, named: list[tuple[str, Document]], embedded: tuple[list[str], list[Any]] | None
    ) -> list[str]:
        if not named:
            return []
        made: dict[Any, Any] = {}
        if embedded is not None:
            texts, vectors = embedded
            if len(vectors) != len(texts):
                raise EmbedderError(
                    f"embedding: expected {len(texts)} vectors for as many texts, got {len(vectors)}"
                )
            made = {("document", text): vector for text, vector in zip(texts, vectors, strict=True)}
            dim = np.asarray(vectors[0]).size
            if dim == 0:
                raise EmbedderError("embedding: expected vectors of numbers, got an empty one")
            self._attach(dim)
        records = [
            {"id": id, "text": document.page_content, "metadata": document.metadata or None}
            for id, document in named
        ]
        with prepared(made):
            self._documents.upsert_many(records, scope=self.scope)
        return [id for id, _ in named]

    def delete(self, ids: Sequence[str] | None = None) -> bool:
        """Delete the scope's own documents with these ids, in one transaction; None deletes all of them. Unknown ids
        are skipped."""
        if ids is None:
            self._documents.erase(self.scope)
        else:
            self._documents.delete_many([ids] if isinstance(ids, str) else ids, scope=self.scope)
        return True

    adelete = awaited(delete, "adelete")

    # ------------------------------------------------------------------ reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the visible documents with these ids, in that order; the scope's own wins over a shared one."""
        records = self._documents.get_many([ids] if isinstance(ids, str) else ids, scope=self.scope)
        return [self._document_of(record) for record in records if record is not None]

    aget_by_ids = awaited(get_by_ids, "aget_by_ids")

    # ------------------------------------------------------------------ inside

    def _use(self, embedder: Embedder) -> None:
        """Have the index embed with this model; an equal one is not swapped in, which would clear the query cache."""
        index = self.index
        current = index.embedder
        if current is None or _known_by(current) != _known_by(embedder):
            index.embedder = embedder

    def _attach(self, dim: int) -> None:
        if (embeddings := self._embeddings) is not None:
            self._use(
                FrameworkEmbedder(
                    embeddings.embeddings,
                    embeddings.name,
                    dim,
                    embeddings.passage_chars,
                    embeddings.whole_chars,
                )
            )

    def _document(self, hit: Hit) -> Document:
        return Document(id=str(hit.id), page_content=hit.text, metadata=hit.metadata)

    def _document_of(self, record: Record) -> Document:
        return Document(id=str(record.id), page_content=record.text, metadata=dict(record.metadata or {}))


def _known_by(embedder: Embedder) -> tuple[Any, ...]:
    """Return the identity of an embedder: its model, and how it splits long texts."""
    chars = [getattr(embedder, name, None) for name in ("passage_chars", "whole_chars")]
    return (embedder.name, embedder.dim, *chars)


def _documents(texts: Iterable[str], metadatas: Sequence[Mapping[str, Any] | None] | None) -> list[Document]:
    if isinstance(texts, str):
        raise TypeError("texts: expected an iterable of str, got one str")
    texts = list(texts)
    if metadatas is not None and len(metadatas) != len(texts):
        raise ValueError(f"metadatas: expected {len(texts)}, as many as texts, got {len(metadatas)}")
    return [
        Document(page_content=text, metadata=dict(metadata or {}))
        for text, metadata in zip(texts, metadatas or [None] * len(texts), strict=True)
    ]


def _named(documents: Sequence[Document], ids: Sequence[str | None] | None) -> list[tuple[str, Document]]:
    """Return the documents with their ids; of equal ids the last, as if added one after the other."""

    documents = list(documents)
    if ids is not None and (isinstance(ids, str) or len(ids) != len(documents)):
        got = "one str" if isinstance(ids, str) else str(len(ids))
        raise ValueError(f"ids: expected {len(documents)}, as many as documents, got {got}")
    named = []
    for position, document in enumerate(documents):
        if not isinstance(document, Document):
            raise TypeError(f"documents[{position}]: expected a Document, got {type(document).__name__}")
        id = document.id if ids is None else ids[position]
        if id is not None and not isinstance(id, str):
            raise TypeError(f"ids[{position}]: expected a str, got {type(id).__name__}")
        named.append((id or str(uuid.uuid4()), document))
    return named


def _parts(texts: list[str], size: int | None) -> Iterable[list[str]]:
    if size is None:
        return [texts] if texts else []
    if size < 1:
        raise ValueError(f"batch_size: expected 1 or more, got {size}")
    return (texts[start : start + size] for start in range(0, len(texts), size))
