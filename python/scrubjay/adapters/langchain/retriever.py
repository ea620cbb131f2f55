"""The retriever: documents for a question, by keywords and by meaning."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, InstanceOf

from scrubjay.adapters.langchain.store import ScrubjayVectorStore
from scrubjay.fusion import Query
from scrubjay.index import Hit


class ScrubjayRetriever(BaseRetriever):
    """Finds documents of a :class:`ScrubjayVectorStore` by words and by meaning in one native call.

    `invoke` accepts `k`, `filter` and `scrubjay_query` as well; they override these fields.

    >>> store = ScrubjayVectorStore.from_texts(["The staging key prefix is sk-stg-0041."], scope=Scope("acme"))
    >>> retriever = ScrubjayRetriever(vectorstore=store, evidence=True)
    >>> retriever.invoke("sk-stg-0041", k=1)[0].metadata["scrubjay"]["lexical_rank"]
    1
    """

    vectorstore: ScrubjayVectorStore
    """The store to search."""
    k: int = Field(default=4, ge=1)
    """The maximum number of documents."""
    filter: Any = None
    """Which documents may be found, in the form that the store's searches take."""
    query: InstanceOf[Query] | None = None
    """How to rank, and which ids may be found; None: the store's query."""
    evidence: bool = False
    """Whether the metadata of each document explain, under "scrubjay", why it was found."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        hits = self.vectorstore.hits(query, **self._arguments(options))
        return [self._document(hit) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        hits = await self.vectorstore.ahits(query, **self._arguments(options))
        return [self._document(hit) for hit in hits]

    def _arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        defaults = {
            "k": self.k,
            "filter": self.filter,
            "scrubjay_query": self.query,
            "explain": self.evidence,
        }
        return defaults | given

    def _document(self, hit: Hit) -> Document:
        document = self.vectorstore._document(hit)
        if self.evidence:
            evidence = hit.to_dict()
            for name in ("id", "text", "scope", "metadata", "created_at"):  # fields of the document itself
                del evidence[name]
            document.metadata["scrubjay"] = evidence
        return document
