"""LangChain's standard suites for vector stores and retrievers, complete, without an override."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests")
pytest.importorskip("pytest_asyncio")

from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from scrubjay import Query
from scrubjay.adapters.langchain import ScrubjayEmbeddings, ScrubjayRetriever, ScrubjayVectorStore

pytestmark = pytest.mark.filterwarnings("ignore:.*is marked with '@pytest.mark.asyncio':pytest.PytestWarning")


@pytest.mark.asyncio
class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=["hybrid, memory", "hybrid, file", "vector, memory"])
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
        mode, _, where = request.param.partition(", ")
        path = tmp_path / "documents.scrubjay" if where == "file" else None
        with ScrubjayVectorStore(self.get_embeddings(), path=path, query=Query(mode=mode)) as store:
            yield store


@pytest.mark.asyncio
class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[ScrubjayRetriever]:
        return ScrubjayRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        texts = ["Prefers trains to planes.", "Window seat.", "Decaf after lunch.", "sk-stg-0041 is the key."]
        return {"vectorstore": ScrubjayVectorStore.from_texts(texts, ScrubjayEmbeddings())}

    @property
    def retriever_query_example(self) -> str:
        return "how does she travel?"
