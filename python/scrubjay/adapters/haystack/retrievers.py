"""The retrievers: pipeline components that search a :class:`ScrubjayDocumentStore`."""

from __future__ import annotations

from typing import Any, TypeVar

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from scrubjay.adapters.haystack.store import ScrubjayDocumentStore
from scrubjay.backend import as_query, awaited
from scrubjay.fusion import Query

_MODULE = "haystack_integrations.components.retrievers.scrubjay"
"""The module under which Haystack serialises the retrievers."""

_MODULE_BEFORE = "scrubjay.adapters.haystack.retrievers"

R = TypeVar("R", bound="_Retriever")
Documents = list[Document]


class _Retriever:
    """The common part of the three: the store, the filters and the options."""

    def __init__(
        self,
        document_store: ScrubjayDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool = False,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
        scrubjay_query: Query | dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(document_store, ScrubjayDocumentStore):
            raise TypeError(
                f"document_store: expected a ScrubjayDocumentStore, got {type(document_store).__name__}"
            )
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k <= 0:
            raise ValueError(f"top_k: expected an int greater than 0, got {top_k!r}")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.filter_policy = (
            filter_policy if isinstance(filter_policy, FilterPolicy) else FilterPolicy.from_str(filter_policy)
        )
        query = None if scrubjay_query is None else as_query(scrubjay_query, "scrubjay_query")
        self._options: dict[str, Any] = {
            "scale_score": scale_score,
            "return_embedding": return_embedding,
            "scrubjay_query": query,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the serialised component with its store.

        Raises:
            ValueError: the query has options that belong to one question.
        """
        options = dict(self._options)
        if isinstance(query := options["scrubjay_query"], Query):
            options["scrubjay_query"] = query.to_dict()
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
            **options,
        )

    @classmethod
    def from_dict(cls: type[R], data: dict[str, Any]) -> R:
        """Restore a component from a result of :meth:`to_dict`."""
        parameters = dict(data.get("init_parameters", {}))
        store = parameters.get("document_store")
        if isinstance(store, dict):  # the class is known; nothing is imported by a name in the data
            parameters["document_store"] = ScrubjayDocumentStore.from_dict(store)
        named = data.get("type")
        if named == f"{_MODULE_BEFORE}.{cls.__name__}":
            named = f"{cls.__module__}.{cls.__name__}"
        return default_from_dict(cls, {**data, "type": named, "init_parameters": parameters})

    def _arguments(self, filters: dict[str, Any] | None, top_k: int | None, **given: Any) -> dict[str, Any]:
        """Return the arguments for the store; those of this call override those of the constructor."""
        options = {name: self._options[name] if value is None else value for name, value in given.items()}
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
            **options,
        }


@component
class ScrubjayBM25Retriever(_Retriever):
    """Retrieves documents by their words.

    Args:
        document_store: the store to search.
        filters: which documents may be found.
        top_k: the maximum number of documents.
        scale_score: scores between 0 and 1 in place of BM25.
        return_embedding: whether the documents carry their embeddings.
        filter_policy: whether filters at run time replace these or are merged with them.
        scrubjay_query: further options except the mode: a :class:`scrubjay.Query`, or its settings. One with ids,
            keywords or rankings cannot be serialised; pass it to `run`.

    >>> store = ScrubjayDocumentStore(tenant="acme")
    >>> store.write_documents([Document(content="The staging key prefix is sk-stg-0041.")])
    1
    >>> retriever = ScrubjayBM25Retriever(store)
    >>> retriever.run("sk-stg-0041")["documents"][0].content
    'The staging key prefix is sk-stg-0041.'
    """

    __module__ = _MODULE

    @component.output_types(documents=Documents)
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
        scrubjay_query: Query | dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return {"documents": the best first}; the arguments override those of the constructor.

        Args:
            query: the question.
            filters, top_k, scale_score, return_embedding, scrubjay_query: as in the constructor; None: the value
                given there.
        """
        arguments = self._arguments(
            filters,
            top_k,
            scale_score=scale_score,
            return_embedding=return_embedding,
            scrubjay_query=scrubjay_query,
        )
        return {"documents": self.document_store.bm25_retrieval(query, **arguments)}

    run_async = awaited(run, "run_async")


@component
class ScrubjayEmbeddingRetriever(_Retriever):
    """Retrieves documents by their embeddings. The arguments are those of :class:`ScrubjayBM25Retriever`.

    Args:
        document_store: the store to search.
        filters, top_k, scale_score, return_embedding, filter_policy, scrubjay_query: as there.

    >>> store = ScrubjayDocumentStore(tenant="acme")
    >>> store.write_documents([Document(content="Trains.", embedding=[1.0, 0.0])])
    1
    >>> ScrubjayEmbeddingRetriever(store).run([0.6, 0.8])["documents"][0].score
    0.6000000238418579
    """

    __module__ = _MODULE

    @component.output_types(documents=Documents)
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
        scrubjay_query: Query | dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return {"documents": the nearest first}; the arguments override those of the constructor.

        Args:
            query_embedding: the vector of the question.
            filters, top_k, scale_score, return_embedding, scrubjay_query: as in the constructor; None: the value
                given there.
        """
        arguments = self._arguments(
            filters,
            top_k,
            scale_score=scale_score,
            return_embedding=return_embedding,
            scrubjay_query=scrubjay_query,
        )
        return {"documents": self.document_store.embedding_retrieval(query_embedding, **arguments)}

    run_async = awaited(run, "run_async")


@component
class ScrubjayHybridRetriever(_Retriever):
    """Retrieves documents by words and embedding in one native call.

    Args:
        document_store: the store to search.
        filters: which documents may be found.
        top_k: the maximum number of documents.
        return_embedding: whether the documents carry their embeddings.
        filter_policy: whether filters at run time replace these or are merged with them.
        scrubjay_query: how to rank: a :class:`scrubjay.Query`, or its settings such as ``{"mmr": 0.7}``. One with ids,
            keywords or rankings cannot be serialised; pass it to `run`.

    >>> store = ScrubjayDocumentStore(tenant="acme", embedder="default")
    >>> store.write_documents([Document(content="Lies awake after espresso."), Document(content="Pays by card.")])
    2
    >>> ScrubjayHybridRetriever(store, top_k=1).run("trouble sleeping")["documents"][0].content
    'Lies awake after espresso.'
    """

    __module__ = _MODULE

    def __init__(
        self,
        document_store: ScrubjayDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
        scrubjay_query: Query | dict[str, Any] | None = None,
    ) -> None:
        _Retriever.__init__(  # the decorator replaces the class, so super() fails
            self, document_store, filters, top_k, False, return_embedding, filter_policy, scrubjay_query
        )
        del self._options["scale_score"]  # fused scores have no scale

    @component.output_types(documents=Documents)
    def run(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_embedding: bool | None = None,
        scrubjay_query: Query | dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return {"documents": the best first}. The store's embedder, if any, makes a missing embedding.

        Args:
            query: the question.
            query_embedding: its vector.
            filters, top_k, return_embedding, scrubjay_query: as in the constructor; None: the value given there.
        """
        arguments = self._arguments(
            filters, top_k, return_embedding=return_embedding, scrubjay_query=scrubjay_query
        )
        return {"documents": self.document_store.hybrid_retrieval(query, query_embedding, **arguments)}

    run_async = awaited(run, "run_async")


for _retriever in (ScrubjayBM25Retriever, ScrubjayEmbeddingRetriever, ScrubjayHybridRetriever):
    component.registry[f"{_MODULE_BEFORE}.{_retriever.__name__}"] = _retriever
