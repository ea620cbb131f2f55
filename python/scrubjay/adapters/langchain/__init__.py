"""Scrubjay as a LangChain vector store with keyword search, and a hybrid retriever.

``pip install "scrubjay[langchain]"``. Moving from another store changes one line; identifiers are then found verbatim,
and each scope sees only its own documents.

>>> store = ScrubjayVectorStore(ScrubjayEmbeddings(), scope=Scope("acme", user="jane"))
>>> ids = store.add_texts(["The staging key prefix is sk-stg-0041.", "Lies awake after espresso.", "Pays by card."])
>>> store.similarity_search("what is sk-stg-0041?", k=1)[0].page_content
'The staging key prefix is sk-stg-0041.'
>>> ScrubjayRetriever(vectorstore=store, k=1).invoke("trouble sleeping")[0].page_content
'Lies awake after espresso.'
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import langchain_core  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.langchain", "langchain", "langchain-core") from None

from scrubjay.adapters.langchain.embeddings import ScrubjayEmbeddings
from scrubjay.adapters.langchain.retriever import ScrubjayRetriever
from scrubjay.adapters.langchain.store import ScrubjayVectorStore

__all__ = ["ScrubjayEmbeddings", "ScrubjayRetriever", "ScrubjayVectorStore"]
