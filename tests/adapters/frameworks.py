"""The adapters behind one interface, for tests of every adapter, and of every pair of them.

Each is opened over an index for one user of one tenant and uses the collection "notes". Methods that a framework lacks
are None.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from typing import Any, Literal

from scrubjay import Index, Query, Scope

__all__ = ["FRAMEWORKS", "Framework", "by_name"]

Text = str | None


class Framework:
    """An adapter as its framework uses it, for the memories of `Scope(tenant, user=user)`."""

    package: str
    names_ids = True
    """Whether the caller chooses the ids."""
    lists_ids = False
    """Whether it looks up ids by a listing, which includes shared memories."""
    get: Callable[[str], Text] | None
    delete: Callable[[str], Any] | None

    mode: Literal["lexical"] | None = None
    """The mode of `found`, regardless of the query."""
    in_order = True
    """Whether it keeps the order of the index's search."""

    def __init__(self, index: Index, tenant: str, user: str, query: Query | None = None) -> None:
        self.index, self.tenant, self.user = index, tenant, user
        self.notes = index.collection("notes")
        self.scope = Scope(tenant, user=user)
        self.query = query
        self.open()

    def open(self) -> None:
        """Create the adapter."""

    def write(self, id: str, text: str) -> str:
        """Write a memory, replacing one with this id; return its id."""
        raise NotImplementedError

    def found(self, query: str) -> dict[str, str]:
        """Return the results of a search: texts by id."""
        raise NotImplementedError


class TheIndex(Framework):
    package = "scrubjay"

    def write(self, id: str, text: str) -> str:
        self.notes.upsert(id, text, scope=self.scope)
        return id

    def found(self, query: str) -> dict[str, str]:
        return {str(hit.id): hit.text for hit in self.notes.search(query, scope=self.scope, query=self.query)}

    def get(self, id: str) -> Text:
        record = self.notes.get(id, scope=self.scope)
        return None if record is None else record.text

    def delete(self, id: str) -> Any:
        return self.notes.delete(id, scope=self.scope)


class Service(Framework):
    package = "fastapi"

    def open(self) -> None:
        from fastapi.testclient import TestClient

        from scrubjay.adapters.service import Grant, create_app

        app = create_app(self.notes, grant=Grant("jane", self.tenant, self.user))
        self.client = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5000))

    def write(self, id: str, text: str) -> str:
        answer = self.client.post("/v1/memories", json={"memories": [{"id": id, "text": text}]})
        assert answer.json() == {"ids": [id]}
        return id

    def found(self, query: str) -> dict[str, str]:
        answer = self.client.post("/v1/search", json={"text": query, **fields_of(self.query)})
        assert answer.status_code == 200, answer.text
        return {hit["id"]: hit["text"] for hit in answer.json()["hits"]}

    def get(self, id: str) -> Text:
        answer = self.client.get(f"/v1/memories/{id}")
        return answer.json()["text"] if answer.status_code == 200 else None

    def delete(self, id: str) -> Any:
        return self.client.delete(f"/v1/memories/{id}")


class Mcp(Framework):
    package = "mcp.client.client"  # of mcp 2, which cannot be installed together with CrewAI
    names_ids = False

    def open(self) -> None:
        from scrubjay.adapters.mcp import MemoryServer

        self.server = MemoryServer(self.notes, self.scope, query=self.query)

    def write(self, id: str, text: str) -> str:
        return str(self.server.call("add_memory", {"text": text})["id"])

    def found(self, query: str) -> dict[str, str]:
        given = self.server.call("search_memories", {"query": query})
        return {memory["id"]: memory["text"] for memory in given["memories"]}

    def get(self, id: str) -> Text:
        try:
            return str(self.server.call("get_memory", {"id": id})["text"])
        except KeyError:  # an UnknownMemoryError
            return None

    def delete(self, id: str) -> Any:
        from scrubjay.backend.scoped_changes import ReadOnlyMemoryError

        try:
            return self.server.call("delete_memory", {"id": id})
        except (KeyError, ReadOnlyMemoryError):
            return None


class LangChain(Framework):
    package = "langchain_core"

    def open(self) -> None:
        from scrubjay.adapters.langchain import ScrubjayVectorStore

        self.store = ScrubjayVectorStore(index=self.notes, scope=self.scope, query=self.query)

    def write(self, id: str, text: str) -> str:
        return self.store.add_texts([text], ids=[id])[0]

    def found(self, query: str) -> dict[str, str]:
        return {str(one.id): one.page_content for one in self.store.similarity_search(query, k=10)}

    def get(self, id: str) -> Text:
        found = self.store.get_by_ids([id])
        return found[0].page_content if found else None

    def delete(self, id: str) -> Any:
        return self.store.delete([id])


class Haystack(Framework):
    package = "haystack"
    mode = "lexical"
    lists_ids = True

    def open(self) -> None:
        from scrubjay.adapters.haystack import ScrubjayDocumentStore

        self.store = ScrubjayDocumentStore(
            index=self.index, collection="notes", dtype="f16", tenant=self.tenant, user=self.user
        )

    def write(self, id: str, text: str) -> str:
        from haystack import Document
        from haystack.document_stores.types import DuplicatePolicy

        self.store.write_documents([Document(id=id, content=text)], DuplicatePolicy.OVERWRITE)
        return id

    def found(self, query: str) -> dict[str, str]:
        return {
            one.id: one.content or "" for one in self.store.bm25_retrieval(query, scrubjay_query=self.query)
        }

    def get(self, id: str) -> Text:
        found = self.store.filter_documents({"field": "id", "operator": "==", "value": id})
        return found[0].content if found else None

    def delete(self, id: str) -> Any:
        self.store.delete_documents([id])


class LlamaIndex(Framework):
    package = "llama_index.core"
    mode = "lexical"
    lists_ids = True

    def open(self) -> None:
        from scrubjay.adapters.llama_index import ScrubjayVectorStore

        self.store = ScrubjayVectorStore(
            index=self.index, collection_name="notes", tenant=self.tenant, user=self.user
        )

    def write(self, id: str, text: str) -> str:
        from llama_index.core.schema import TextNode

        return self.store.add([TextNode(id_=id, text=text)])[0]

    def found(self, query: str) -> dict[str, str]:
        from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

        result = self.store.query(
            VectorStoreQuery(query_str=query, similarity_top_k=10, mode=VectorStoreQueryMode.SPARSE),
            scrubjay_query=self.query,
        )
        nodes = result.nodes or []
        assert [node.node_id for node in nodes] == result.ids
        return {node.node_id: node.get_content() for node in nodes}

    def get(self, id: str) -> Text:
        found = self.store.get_nodes([id])
        return found[0].get_content() if found else None

    def delete(self, id: str) -> Any:
        self.store.delete_nodes([id])


class Mem0(Framework):
    package = "mem0"
    in_order = False

    def open(self) -> None:
        from scrubjay.adapters.mem0 import ScrubjayVectorStore

        self.store = ScrubjayVectorStore("notes", index=self.index, tenant=self.tenant, query=self.query)

    def write(self, id: str, text: str) -> str:
        self.store.insert([None], [{"data": text, "user_id": self.user}], [id])
        return id

    def found(self, query: str) -> dict[str, str]:
        found = self.store.search(query, None, top_k=10, filters={"user_id": self.user})
        return {one.id: one.payload["data"] for one in found}

    def get(self, id: str) -> Text:
        # By a listing, because mem0's `get` has no user.
        found = {one.id: one.payload["data"] for one in self.store.list({"user_id": self.user})[0]}
        return found.get(id)

    def delete(self, id: str) -> Any:
        for one in self.store.list({"user_id": self.user})[0]:
            if one.id == id:
                self.store.delete(one.id)


class GoogleAdk(Framework):
    package = "google.adk"
    get = None

    def open(self) -> None:
        from scrubjay.adapters.google_adk import ScrubjayMemoryService

        self.service = ScrubjayMemoryService(self.index, collection="notes", query=self.query)
        self.whose: dict[str, Any] = {"app_name": self.tenant, "user_id": self.user}

    def write(self, id: str, text: str) -> str:
        from google.adk.memory.memory_entry import MemoryEntry
        from google.genai import types

        memory = MemoryEntry(id=id, content=types.Content(parts=[types.Part(text=text)]))
        asyncio.run(self.service.add_memory(**self.whose, memories=[memory]))
        return id

    def found(self, query: str) -> dict[str, str]:
        response = asyncio.run(self.service.search_memory(**self.whose, query=query))
        return {one.id: one.content.parts[0].text for one in response.memories}

    def delete(self, id: str) -> Any:
        asyncio.run(self.service.delete_memory(**self.whose, memory_id=id))


class Strands(Framework):
    package = "strands.memory"
    in_order = False
    names_ids = False
    get = delete = None

    def open(self) -> None:
        from scrubjay.adapters.strands import ScrubjayMemoryStore

        self.store = ScrubjayMemoryStore(
            "notes", self.index, scope=self.scope, collection="notes", query=self.query
        )

    def write(self, id: str, text: str) -> str:
        return asyncio.run(self.store.add(text))

    def found(self, query: str) -> dict[str, str]:
        texts = [entry.content for entry in asyncio.run(self.store.search(query))]
        # Its entries have no ids: use those of the documents with the same texts.
        return {str(one.id): one.text for one in self.notes.list(self.scope) if one.text in texts}


class CrewAi(Framework):
    package = "crewai.memory.storage.factory"
    in_order = False

    def open(self) -> None:
        from scrubjay.adapters.crewai import ScrubjayEmbedder, ScrubjayStorage

        self.storage = ScrubjayStorage(self.index, scope=self.scope, collection="notes", query=self.query)
        self.embed = ScrubjayEmbedder(lambda texts: [[1.0, 0.0] for _ in texts])

    def write(self, id: str, text: str) -> str:
        from crewai.memory.types import MemoryRecord

        self.storage.save([MemoryRecord(id=id, content=text)])
        return id

    def found(self, query: str) -> dict[str, str]:
        return {one.id: one.content for one, _ in self.storage.search(self.embed([query])[0])}

    def get(self, id: str) -> Text:
        found = self.storage.get_record(id)
        return None if found is None else found.content

    def delete(self, id: str) -> Any:
        return self.storage.delete(record_ids=[id])


class Agno(Framework):
    package = "agno.vectordb"
    names_ids = False
    mode = "lexical"
    get = None

    def open(self) -> None:
        from agno.vectordb.search import SearchType

        from scrubjay.adapters.agno import ScrubjayDb

        self.db = ScrubjayDb(
            self.index,
            tenant=self.tenant,
            collection="notes",
            query=self.query,
            search_type=SearchType.keyword,
        )

    def write(self, id: str, text: str) -> str:
        from agno.knowledge.document import Document

        document = Document(content=text, embedding=[])  # found by words alone, as in other adapters
        self.db.insert(f"hash of {id}", [document], user_id=self.user)
        return next(found.id for found in self.db.search(text, user_id=self.user) if found.content == text)

    def found(self, query: str) -> dict[str, str]:
        return {one.id: one.content for one in self.db.search(query, 10, user_id=self.user)}

    def delete(self, id: str) -> Any:
        return self.db.delete_by_id(id, user_id=self.user)


def fields_of(query: Query | None) -> dict[str, Any]:
    """Return a query as the fields of an HTTP request."""
    if query is None:
        return {}
    names = ("keywords", "ids", "exclude", "rankings")
    own = {name: given for name in names if (given := getattr(query, name)) is not None}
    if query.rankings is not None:
        own["rankings"] = [[_entry(entry) for entry in ranking] for ranking in query.rankings]
    return {**query.replace(**dict.fromkeys(names)).to_dict(), **own}


def _entry(entry: Any) -> Any:
    if not isinstance(entry, tuple):
        return entry
    scope, id = entry
    return {"id": id, "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}}


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


FRAMEWORKS: list[type[Framework]] = [
    framework
    for framework in (
        TheIndex,
        Service,
        Mcp,
        LangChain,
        Haystack,
        LlamaIndex,
        Mem0,
        GoogleAdk,
        Strands,
        CrewAi,
        Agno,
    )
    if _is_installed(framework.package)
]


def by_name(framework: type[Framework]) -> str:
    """Return the name of a framework, for the ids of tests."""
    return framework.__name__
