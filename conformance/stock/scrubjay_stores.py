"""Scrubjay itself, and Scrubjay behind other projects' interfaces."""

from __future__ import annotations

from typing import Any

from memory_store_conformance import Scope, Setting


def scrubjay_index(setting: Setting) -> Any:
    from memory_store_conformance.adapters.scrubjay import ScrubjayIndex

    return ScrubjayIndex(setting)


def scrubjay_memory(setting: Setting) -> Any:
    from memory_store_conformance.adapters.scrubjay import ScrubjayMemory

    return ScrubjayMemory(setting)


def langgraph_scrubjay(setting: Setting) -> Any:
    from memory_store_conformance.adapters.langgraph import LangGraphStore, index_config
    from scrubjay.adapters.langgraph import ScrubjayStore

    store = ScrubjayStore(setting.directory / "memories.scrubjay", index=index_config(setting))
    return LangGraphStore(store, durable=True)


def mem0_scrubjay(setting: Setting) -> Any:
    from memory_store_conformance.adapters.mem0 import Mem0Store
    from scrubjay.adapters.mem0 import ScrubjayVectorStore

    path, dims = str(setting.directory / "memories.scrubjay"), setting.embedder.dim

    def open_tenant(name: str) -> Any:
        return ScrubjayVectorStore("memories", path, embedding_model_dims=dims, tenant=name)

    return Mem0Store(setting, open_tenant, close=lambda store: store.close())


def langchain_scrubjay(setting: Setting) -> Any:
    import scrubjay
    from memory_store_conformance.adapters.langchain import HashingEmbeddings, LangChainStore, own_filter
    from scrubjay.adapters.langchain import ScrubjayVectorStore

    path, embeddings = setting.directory / "memories.scrubjay", HashingEmbeddings(setting)

    def open_store(scope: Scope) -> Any:
        whose = scrubjay.Scope(scope[0], user=scope[1])
        return ScrubjayVectorStore(embeddings, path=path, scope=whose, model="hashing")

    return LangChainStore(
        open_store,
        key=lambda scope: scope,
        filter_of=own_filter,
        durable=True,
        scoped_ids=True,
        operators=frozenset({"$eq", "$ne", "$gt", "$in", "$and", "$or", "$not", "unknown"}),
        close=lambda store: store.close(),
    )


def crewai_scrubjay(setting: Setting) -> Any:
    import scrubjay
    from memory_store_conformance.adapters.crewai import CrewAIStore
    from scrubjay.adapters.crewai import ScrubjayEmbedder, ScrubjayStorage

    storage = ScrubjayStorage(setting.directory / "memories.scrubjay", scope=scrubjay.Scope("crew"))
    embed = ScrubjayEmbedder(setting.embedder)  # the same vectors, with the text attached for the storage
    return CrewAIStore(setting, storage, ask=lambda text: embed([text])[0])


def mcp_scrubjay(setting: Setting) -> Any:
    import os
    import sys

    from mcp import StdioServerParameters

    from memory_store_conformance.adapters.mcp import MCPStore, Tools

    path = str(setting.directory / "memories.scrubjay")

    def server(scope: Scope) -> StdioServerParameters:
        whose = ["--tenant", scope[0], "--user", scope[1], "--embedder", "none"]
        environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return StdioServerParameters(
            command=sys.executable, args=["-m", "scrubjay", "mcp", path, *whose], env=environment
        )

    def written(item: Any) -> dict[str, Any]:
        return {"text": item.text, "metadata": dict(item.metadata)}

    def search(scope: Scope, text: str, k: int, condition: Any) -> tuple[str, dict[str, Any]]:
        arguments = {"query": text, "limit": k}
        return (
            "search_memories",
            arguments if condition is None else {**arguments, "filter": dict(condition)},
        )

    def found(answer: Any) -> list[tuple[str, str, dict[str, Any], float | None]]:
        memories = answer.get("memories", [answer])
        return [
            (memory["id"], memory["text"], memory["metadata"], memory.get("score")) for memory in memories
        ]

    tools = Tools(
        add=lambda scope, item: ("add_memory", written(item)),
        update=lambda id, item: ("update_memory", {"id": id, **written(item)}),
        delete=lambda id: ("delete_memory", {"id": id}),
        get=lambda id: ("get_memory", {"id": id}),
        search=search,
        added=lambda item, answer: str(answer["id"]),
        found=found,
        page=lambda limit, cursor: ("list_memories", {"limit": min(limit, 100), "cursor": cursor}),
        next=lambda answer: answer["next_cursor"],
        erase=("delete_all_memories", {"confirm": True}),
    )
    operators = frozenset({"$eq", "$ne", "$gt", "$in", "$and", "$or", "$not", "unknown"})
    return MCPStore(setting, server, tools, operators=operators)
