"""Scrubjay as a document store of Haystack, with BM25, embedding and hybrid retrievers.

``pip install "scrubjay[haystack]"``. A hybrid retriever in a pipeline is one component: no joiner, no second retriever.

>>> from haystack import Document, Pipeline
>>> store = ScrubjayDocumentStore(tenant="acme", user="jane", embedder="default")
>>> documents = [Document(content="The staging key prefix is sk-stg-0041."), Document(content="Pays by card.")]
>>> store.write_documents(documents)
2
>>> pipeline = Pipeline()
>>> _ = pipeline.add_component("retriever", ScrubjayHybridRetriever(store, top_k=1))
>>> pipeline.run({"retriever": {"query": "what is sk-stg-0041?"}})["retriever"]["documents"][0].content
'The staging key prefix is sk-stg-0041.'

Haystack serialises the classes as members of ``haystack_integrations.document_stores.scrubjay`` and
``haystack_integrations.components.retrievers.scrubjay``, which it loads without `allowed_modules`. Pipelines that were
serialised as ``scrubjay.adapters.haystack...`` still load, with ``allowed_modules=["scrubjay.*"]``.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import haystack  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.haystack", "haystack", "haystack-ai") from None

from scrubjay.adapters.haystack.memories import ScrubjayMemoryStore
from scrubjay.adapters.haystack.retrievers import (
    ScrubjayBM25Retriever,
    ScrubjayEmbeddingRetriever,
    ScrubjayHybridRetriever,
)
from scrubjay.adapters.haystack.store import ScrubjayDocumentStore

__all__ = [
    "ScrubjayBM25Retriever",
    "ScrubjayDocumentStore",
    "ScrubjayEmbeddingRetriever",
    "ScrubjayHybridRetriever",
    "ScrubjayMemoryStore",
]
