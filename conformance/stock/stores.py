"""The stock stores under test: each opened as its project's documentation shows, with the shared embedder."""

from __future__ import annotations

import json
from typing import Any

from memory_store_conformance import Scope, Setting


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


def mcp_memory_service(setting: Setting) -> Any:
    """Each scope is a separate database, as the project's documentation separates projects.

    A memory's id is the hash of its text, and no tool reads one by it; so a tag names the memory, and it is read by
    listing the tag. The metadata of the checks are one field, beside those that the server adds.
    """
    import hashlib
    import os
    import re
    import sys
    from pathlib import Path

    from mcp import StdioServerParameters

    from memory_store_conformance.adapters.mcp import MCPStore, ToolError, Tools
    from memory_store_conformance.adapters.served import EmbeddingService

    service = EmbeddingService(setting)

    def server(scope: Scope) -> StdioServerParameters:
        folder = setting.directory / hashlib.sha256(repr(scope).encode()).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_SQLITE_PATH": str(folder / "memories.db"),
            "MCP_MEMORY_BASE_DIR": str(folder),
            "MCP_EXTERNAL_EMBEDDING_URL": service.url,
            "MCP_EXTERNAL_EMBEDDING_MODEL": setting.embedder.name,
            "NO_PROXY": "127.0.0.1",
        }
        command = str(Path(sys.executable).parent / "memory-server")
        return StdioServerParameters(command=command, args=[], env=environment)

    def label(item: Any) -> str:
        return "checked-" + hashlib.sha256(item.id.encode("utf-8", "replace")).hexdigest()[:24]

    def written(scope: Scope, item: Any) -> dict[str, Any]:
        metadata = {"tags": [label(item)], "checked": dict(item.metadata)}
        # One conversation, or the server would reject memories similar to one of the last 24 hours as duplicates.
        return {"content": item.text, "metadata": metadata, "conversation_id": "/".join(scope)}

    def changed(given: str, item: Any) -> dict[str, Any]:
        name, content_hash = given.split(":")
        metadata = {"checked": dict(item.metadata)}
        updates = {"content": item.text, "tags": [name], "metadata": metadata, "reason": "corrected"}
        return {"content_hash": content_hash, "updates": updates, "versioned": True}

    def hash_in(answer: str) -> str:
        match = re.search(r"(?:\(hash|New hash): ([0-9a-f]{64})", answer)
        if match is None:
            raise ToolError(answer[:300])
        return match[1]

    def read(text: str) -> Any:
        if re.match(r"Error|Failed", text):
            raise ToolError(text[:300])
        return json.loads(text) if text.startswith("{") else text

    def found(answer: Any) -> list[tuple[str, str, dict[str, Any], float | None]]:
        if isinstance(answer, dict):  # a listing
            return [
                (
                    f"{memory['tags'][0]}:{memory['content_hash']}",
                    memory["content"],
                    memory["metadata"]["checked"],
                    None,
                )
                for memory in answer["memories"]
            ]
        hits = re.findall(
            r"^\d+\. (.*?)\n   Hash: ([0-9a-f]{64})\n   Created: \S+ \[([\w-]+)\]",
            answer,
            re.DOTALL | re.MULTILINE,
        )
        return [(f"{name}:{content_hash}", text, {}, None) for text, content_hash, name in hits]

    def search(scope: Scope, text: str, k: int, condition: Any) -> tuple[str, dict[str, Any]]:
        return ("memory_search", {"query": text, "limit": k, "mode": "hybrid"})

    tools = Tools(
        add=lambda scope, item: ("memory_store", written(scope, item)),
        update=lambda id, item: ("memory_update", changed(id, item)),
        delete=lambda id: ("memory_delete", {"content_hash": id.split(":")[1]}),
        get=lambda id: ("memory_list", {"tags": [id.split(":")[0]]}),
        search=search,
        added=lambda item, answer: f"{label(item)}:{hash_in(answer)}",
        updated=lambda id, answer: f"{id.split(':')[0]}:{hash_in(answer)}",
        found=found,
        read=read,
        page=lambda limit, cursor: ("memory_list", {"page": cursor or 1, "page_size": min(limit, 100)}),
        next=lambda answer: answer["page"] + 1 if answer["has_more"] else None,
    )
    store = MCPStore(setting, server, tools)
    close = store.close

    def close_all() -> None:
        close()
        service.close()

    store.close = close_all  # type: ignore[method-assign]
    return store
