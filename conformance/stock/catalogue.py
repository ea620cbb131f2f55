"""The catalogue of published stores: how each is installed and opened."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["STORES", "Store"]


@dataclass(frozen=True)
class Store:
    """A store under test.

    Attributes:
        name: the name of its report.
        title: its title in the table.
        environment: stores with the same name share a virtual environment.
        packages: what pip installs there, separated by spaces; their versions are in the report.
        ours: whether scrubjay is installed there, too.
        note: a remark on the adapter for readers.
    """

    name: str
    title: str
    environment: str
    packages: str = ""
    ours: bool = False
    note: str = ""

    @property
    def factory(self) -> str:
        """The address "file:function" of its factory, beside this module."""
        file = "scrubjay_stores" if self.ours else "stores"
        return f"{file}.py:{self.name.replace('-', '_')}"


_LANGGRAPH = "a namespace is a scope; the value has a text and the metadata"
_MEM0 = "`VectorStoreBase` as `Memory` calls it: a collection a tenant, `user_id` in each filter"
_LANGCHAIN = "a collection a tenant, the user in metadata and in each filter"
_CREWAI = "`StorageBackend`, the scope is `/tenant/user`"
_MCP = "tools over standard input and output, each call of one memory: a process for each scope"
_COGNEE = "`VectorDBInterface`, which has no users: a collection a scope"

STORES = (
    Store("scrubjay-index", "Scrubjay `Index`", "ours", ours=True),
    Store(
        "scrubjay-memory", "Scrubjay `Memory`", "ours", ours=True, note="items are notes, found by `recall`"
    ),
    Store("langgraph-memory", "LangGraph `InMemoryStore`", "langgraph", "langgraph", note=_LANGGRAPH),
    Store(
        "langgraph-sqlite",
        "LangGraph `SqliteStore`",
        "langgraph",
        "langgraph-checkpoint-sqlite",
        note=_LANGGRAPH,
    ),
    Store("langgraph-scrubjay", "LangGraph, Scrubjay", "langgraph", "langgraph", ours=True, note=_LANGGRAPH),
    Store("mem0-qdrant", "mem0, local Qdrant", "mem0", "mem0ai qdrant-client", note=_MEM0),
    Store("mem0-faiss", "mem0, faiss", "mem0", "mem0ai faiss-cpu", note=_MEM0),
    Store("mem0-scrubjay", "mem0, Scrubjay", "mem0", "mem0ai", ours=True, note=_MEM0 + ", a store a tenant"),
    Store(
        "langchain-memory", "LangChain `InMemoryVectorStore`", "langchain", "langchain-core", note=_LANGCHAIN
    ),
    Store("langchain-chroma", "LangChain, Chroma", "langchain", "langchain-chroma chromadb", note=_LANGCHAIN),
    Store(
        "langchain-scrubjay",
        "LangChain, Scrubjay",
        "langchain",
        "langchain-core",
        ours=True,
        note="a store a scope",
    ),
    Store("crewai-lancedb", "CrewAI, LanceDB", "crewai", "crewai lancedb", note=_CREWAI),
    Store(
        "crewai-scrubjay",
        "CrewAI, Scrubjay",
        "crewai",
        "crewai",
        ours=True,
        note=_CREWAI
        + "; with `ScrubjayEmbedder` around the embedder of all, as its crews have it: `search` is given a vector, "
        "which tells the storage of what text it is",
    ),
    Store(
        "mcp-scrubjay",
        "MCP, Scrubjay's server",
        "mcp",
        "mcp",
        ours=True,
        note=_MCP + ", bound to its tenant and user",
    ),
    Store(
        "mcp-memory-service",
        "MCP, mcp-memory-service",
        "mcp-memory-service",
        "mcp-memory-service",
        note=_MCP
        + ", with a database of its own; searches are hybrid, vectors are the embedder's of all by HTTP. A memory's id "
        "is the hash of its text, and filters ask about tags alone",
    ),
    Store("cognee-lancedb", "cognee, LanceDB", "cognee", "cognee lancedb", note=_COGNEE),
)
