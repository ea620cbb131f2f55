"""Scrubjay as a vector store of `LlamaIndex <https://github.com/run-llama/llama_index>`_:
``pip install "scrubjay[llama-index]"``.

>>> from llama_index.core.schema import TextNode
>>> from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
>>> store = ScrubjayVectorStore(tenant="acme")
>>> store.add([TextNode(id_="n1", text="The staging key is sk-stg-0041", embedding=[1.0, 0.0])])
['n1']
>>> store.query(VectorStoreQuery(query_str="sk-stg-0041", mode=VectorStoreQueryMode.SPARSE)).ids
['n1']

Under a :class:`llama_index.core.VectorStoreIndex`, ``as_retriever(vector_store_query_mode="hybrid", alpha=0.5)`` asks
for both rankings. The modes are described at :class:`ScrubjayVectorStore`, the filters in
:mod:`scrubjay.adapters.llama_index.filters`.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import llama_index.core as _  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.llama_index", "llama-index", "llama-index-core") from None

from scrubjay.adapters.llama_index.store import ScrubjayVectorStore

__all__ = ["ScrubjayVectorStore"]
