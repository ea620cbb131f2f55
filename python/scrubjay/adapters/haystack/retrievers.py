"""The retrievers: components of a pipeline that ask a :class:`ScrubjayDocumentStore`."""

from __future__ import annotations

from typing import Any, TypeVar

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from scrubjay.adapters.haystack.store import ScrubjayDocumentStore
from scrubjay.backend import as_query, awaited
from scrubjay.fusion import Query

_MODULE = "haystack_integrations.components.retrievers.scrubjay"
"""By which Haystack serialises the retrievers."""

_MODULE_BEFORE = "scrubjay.adapters.haystack.retrievers"

R = TypeVar("R", bound="_Retriever")
Documents = list[Document]


class _Retriever:
    """What the three have in common: which store, which filters, how many."""

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
        asked = None if scrubjay_query is None else as_query(scrubjay_query, "scrubjay_query")
        self._options: dict[str, Any] = {
            "scale_score": scale_score,
            "return_embedding": return_embedding,
            "scrubjay_query": asked,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what makes this component, and its store, again.

        Raises:
            ValueError: its query has what belongs to one question.
        """
        options = dict(self._options)
        if isinstance(asked := options["scrubjay_query"], Query):
            options["scrubjay_query"] = asked.to_dict()
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
        """Make a component of what :meth:`to_dict` returned."""
        parameters = dict(data.get("init_parameters", {}))
        store = parameters.get("document_store")
        if isinstance(store, dict):  # known by its type; nothing is imported by a name from the data
            parameters["document_store"] = ScrubjayDocumentStore.from_dict(store)
        named = data.get("type")
        if named == f"{_MODULE_BEFORE}.{cls.__name__}":
            named = f"{cls.__module__}.{cls.__name__}"
        return default_from_dict(cls, {**data, "type": named, "init_parameters": parameters})

    def _arguments(self, filters: dict[str, Any] | None, top_k: int | None, **given: Any) -> dict[str, Any]:
        """Arguments for the store: what was given now before what was given to the constructor."""
        own = {name: self._options[name] if value is None else value for name, value in given.items()}
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
            **own,
        }


@component
class ScrubjayBM25Retriever(_Retriever):
    """Finds documents by their words.

    Args:
        document_store: where to look.
        filters: which documents may be found.
        top_k: how many at most.
        scale_score: scores between 0 and 1 in place of BM25.
        return_embedding: whether the documents carry their embeddings.
        filter_policy: whether filters at run time replace these or are merged with them.
        scrubjay_query: what else to ask, but for the mode: a :class:`scrubjay.Query`, or its settings. One with ids,
            keywords or rankings is for `run`: it cannot be serialised.

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
        """Return {"documents": the best first}; the arguments go before those of the constructor.

        Args:
            query: the question.
            filters, top_k, scale_score, return_embedding, scrubjay_query: as for the constructor; None: what it
                got.
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
    """Finds documents by their embeddings. The arguments are those of :class:`ScrubjayBM25Retriever`.

    Args:
        document_store: what is searched.
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
        """Return {"documents": the nearest first}; the arguments go before those of the constructor.

        Args:
            query_embedding: the vector of the question.
            filters, top_k, scale_score, return_embedding, scrubjay_query: as for the constructor; None: what it
                got.
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
    """Finds documents by words and embedding in one native call.

    Args:
        document_store: where to look.
        filters: which documents may be found.
        top_k: how many at most.
        return_embedding: whether the documents carry their embeddings.
        filter_policy: whether filters at run time replace these or are merged with them.
        scrubjay_query: how to rank: a :class:`scrubjay.Query`, or its settings such as ``{"mmr": 0.7}``. One with ids,
            keywords or rankings is for `run`: it cannot be serialised.

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
        _Retriever.__init__(  # the decorator makes the class anew, so super() would not find it
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
        """Return {"documents": the best first}. Without an embedding the store's embedder makes one, if it has one.

        Args:
            query: the question.
            query_embedding: its vector.
            filters, top_k, return_embedding, scrubjay_query: as for the constructor; None: what it got.
        """
        arguments = self._arguments(
            filters, top_k, return_embedding=return_embedding, scrubjay_query=scrubjay_query
        )
        return {"documents": self.document_store.hybrid_retrieval(query, query_embedding, **arguments)}

    run_async = awaited(run, "run_async")


for _retriever in (ScrubjayBM25Retriever, ScrubjayEmbeddingRetriever, ScrubjayHybridRetriever):
    component.registry[f"{_MODULE_BEFORE}.{_retriever.__name__}"] = _retriever
