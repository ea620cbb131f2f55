"""The stock stores under check: each as its project's documentation opens it, with the one embedder of all."""

from __future__ import annotations

from typing import Any

from memory_store_conformance import Setting


def langgraph_memory(setting: Setting) -> Any:
    from langgraph.store.memory import InMemoryStore

    from memory_store_conformance.adapters.langgraph import LangGraphStore, index_config

    return LangGraphStore(InMemoryStore(index=index_config(setting)))


def langgraph_sqlite(setting: Setting) -> Any:
    import sqlite3

    from langgraph.store.sqlite import SqliteStore

    from memory_store_conformance.adapters.langgraph import LangGraphStore, index_config

    path = str(setting.directory / "store.db")
    connection = sqlite3.connect(
        path, check_same_thread=False, isolation_level=None
    )  # as from_conn_string does
    store = SqliteStore(connection, index=index_config(setting))
    store.setup()
    operators = frozenset({"$eq", "$ne", "$gt", "$and", "nested", "unknown"})
    return LangGraphStore(store, durable=True, operators=operators, close=connection.close)


def mem0_qdrant(setting: Setting) -> Any:
    from mem0.vector_stores.qdrant import Qdrant
    from qdrant_client import QdrantClient

    from memory_store_conformance.adapters.mem0 import Mem0Store

    client = QdrantClient(path=str(setting.directory / "qdrant"))

    def open_tenant(name: str) -> Any:
        return Qdrant(name, setting.embedder.dim, client=client, on_disk=True)

    store = Mem0Store(setting, open_tenant)
    close = store.close

    def close_all() -> None:
        close()
        client.close()

    store.close = close_all  # type: ignore[method-assign]
    return store


def mem0_faiss(setting: Setting) -> Any:
    from mem0.vector_stores.faiss import FAISS

    from memory_store_conformance.adapters.mem0 import Mem0Store

    def open_tenant(name: str) -> Any:
        path = str(setting.directory / f"faiss-{name}")
        return FAISS(name, path, distance_strategy="cosine", embedding_model_dims=setting.embedder.dim)

    return Mem0Store(setting, open_tenant, operators=frozenset({"$eq", "$and"}))


def langchain_memory(setting: Setting) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    from memory_store_conformance.adapters.langchain import HashingEmbeddings, LangChainStore

    return LangChainStore(lambda scope: InMemoryVectorStore(HashingEmbeddings(setting)))


def langchain_chroma(setting: Setting) -> Any:
    import chromadb
    from chromadb.api.client import SharedSystemClient
    from langchain_chroma import Chroma

    from memory_store_conformance.adapters.langchain import HashingEmbeddings, LangChainStore, chroma_filter

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(setting.directory / "chroma"), settings=settings)
    store = LangChainStore(
        lambda scope: Chroma(
            collection_name=scope[0],
            client=client,
            embedding_function=HashingEmbeddings(setting),
            collection_metadata={"hnsw:space": "cosine"},
        ),
        filter_of=chroma_filter,
        durable=True,
        operators=frozenset({"$eq", "$ne", "$gt", "$in", "$and", "$or", "unknown"}),
        sign=-1,
    )
    close = store.close

    def close_all() -> None:
        close()
        SharedSystemClient.clear_system_cache()  # a client has no close

    store.close = close_all  # type: ignore[method-assign]
    return store


def crewai_lancedb(setting: Setting) -> Any:
    from crewai.memory.storage.lancedb_storage import LanceDBStorage

    from memory_store_conformance.adapters.crewai import CrewAIStore

    return CrewAIStore(setting, LanceDBStorage(setting.directory / "crewai", vector_dim=setting.embedder.dim))


def cognee_lancedb(setting: Setting) -> Any:
    from cognee.infrastructure.databases.vector.lancedb.LanceDBAdapter import LanceDBAdapter

    from memory_store_conformance.adapters.cognee import CogneeStore, EmbeddingEngine

    url = str(setting.directory / "cognee.lancedb")
    return CogneeStore(lambda: LanceDBAdapter(url, None, EmbeddingEngine(setting)))
