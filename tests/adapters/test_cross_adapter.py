"""One memory for all adapters: by the framework's id, in the framework's scope, in one collection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay import Index, Scope
from tests.adapters.frameworks import FRAMEWORKS, Framework, by_name

JANE, JOE, GLOBEX = ("acme", "jane"), ("acme", "joe"), ("globex", "jane")

writers = pytest.mark.parametrize("writer", FRAMEWORKS, ids=by_name)
readers = pytest.mark.parametrize("reader", FRAMEWORKS, ids=by_name)


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    with Index() if request.param == "memory" else Index.open(tmp_path / "agent.scrubjay") as index:
        yield index


@writers
@readers
def test_each_adapter_finds_replaces_and_deletes_documents_of_the_others(
    index: Index, writer: type[Framework], reader: type[Framework]
) -> None:
    written, read = writer(index, *JANE), reader(index, *JANE)
    id = written.write("m1", "Prefers trains.")
    assert id == "m1" or not writer.names_ids
    assert read.found("trains") == {id: "Prefers trains."}
    if read.get is not None:
        assert read.get(id) == "Prefers trains."
    if reader.names_ids:
        assert read.write(id, "Prefers planes.") == id
        assert len(read.notes) == 1
        assert written.found("planes") == {id: "Prefers planes."} and written.found("trains") == {}
        if written.get is not None:
            assert written.get(id) == "Prefers planes."
    if read.delete is not None:
        read.delete(id)
        assert len(read.notes) == 0 and written.found("prefers") == {}


@writers
@readers
def test_an_id_in_two_scopes_is_two_memories(
    index: Index, writer: type[Framework], reader: type[Framework]
) -> None:
    """Both writes succeed, and neither is visible to the other: not by a search, an id, a deletion."""
    mine = writer(index, *JANE)
    id = mine.write("m1", "Prefers trains.")
    for others in (JOE, GLOBEX):
        theirs = reader(index, *others)
        if theirs.get is not None:
            assert theirs.get(id) is None
        if theirs.delete is not None:
            theirs.delete(id)
        own = theirs.write("m1", "Prefers planes.")
        assert own == id or not (writer.names_ids and reader.names_ids)
        assert theirs.found("prefers") == {own: "Prefers planes."}
        assert mine.found("prefers") == {id: "Prefers trains."}
        if theirs.get is not None:
            assert theirs.get(own) == "Prefers planes."
        if theirs.delete is not None:
            theirs.delete(own)
            assert theirs.found("prefers") == {}
    assert mine.found("prefers") == {id: "Prefers trains."}


@readers
def test_tenant_wide_documents_are_read_only_in_every_adapter(index: Index, reader: type[Framework]) -> None:
    read, tenant = reader(index, *JANE), Scope("acme")
    read.notes.upsert("m1", "Closed on Mondays.", scope=tenant)
    assert read.found("mondays") == {"m1": "Closed on Mondays."}
    if read.delete is not None:
        read.delete("m1")
    if reader.names_ids:  # its own memory is another one, and wins for this id
        assert read.write("m1", "Open on Mondays.") == "m1"
        if read.get is not None and not reader.lists_ids:
            assert read.get("m1") == "Open on Mondays."
        if read.delete is not None:
            read.delete("m1")
            assert read.found("mondays") == {"m1": "Closed on Mondays."}
    assert [record.text for record in read.notes.list(tenant)] == ["Closed on Mondays."]


def test_the_items_of_a_session_are_memories_of_its_scope(index: Index) -> None:
    """And memories of other writers in that scope are not items."""
    pytest.importorskip("agents")
    openai_agents = pytest.importorskip("scrubjay.adapters.openai_agents")
    session = openai_agents.ScrubjaySession("chat", index, tenant="acme", user="jane", collection="notes")
    scope, notes = Scope("acme", user="jane", agent="chat"), index.collection("notes")
    item = {"role": "user", "content": "Prefers trains."}

    async def use() -> None:
        await session.add_items([item])
        (record,) = notes.list(scope)
        assert (record.scope, record.text) == (scope, "Prefers trains.")
        notes.upsert("m1", "Trains are late.", scope=scope)
        notes.upsert("m2", "Trains for all.", scope=Scope("acme"))
        assert (
            await session.get_items()
            == await session.get_items(1)
            == await session.search("trains")
            == [item]
        )
        assert await session.pop_item() == item and await session.pop_item() is None
        assert [one.id for one in notes.list(scope)] == ["m2", "m1"]

    asyncio.run(use())


def test_the_items_of_a_namespace_are_memories_of_its_scope(index: Index) -> None:
    pytest.importorskip("langgraph.store.base")
    langgraph = pytest.importorskip("scrubjay.adapters.langgraph")
    store = langgraph.ScrubjayStore(index, tenant="acme", collection="notes")
    store.put(("users", "jane"), "m1", {"text": "Prefers trains."})
    notes = index.collection("notes")
    home = Scope("acme", user="users.jane", agent=".")
    (record,) = notes.list(home, exact=True)
    assert record.metadata is not None and record.metadata["key"] == "m1"
    assert len(notes) == 1  # one document for an item, regardless of its prefixes
    notes.upsert("m2", "Trains for all.", scope=Scope("acme"))
    assert [item.key for item in store.search(("users",), query="trains")] == ["m1"]
    other = langgraph.ScrubjayStore(index, tenant="globex", collection="notes")
    other.put(("users", "jane"), "m1", {"text": "Prefers planes."})
    assert {one.id for one in notes.list(Scope("globex", user="users.jane", agent="."))} == {record.id}
    other.delete(("users", "jane"), "m1")
    assert store.get(("users", "jane"), "m1").value == {"text": "Prefers trains."}


def test_collections_of_one_file_are_apart(tmp_path: Path) -> None:
    pytest.importorskip("mem0")
    mem0 = pytest.importorskip("scrubjay.adapters.mem0")
    pytest.importorskip("llama_index.core")
    llama_index = pytest.importorskip("scrubjay.adapters.llama_index")
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

    path = tmp_path / "agent.scrubjay"
    memories = mem0.ScrubjayVectorStore("mem0", str(path), embedding_model_dims=2, tenant="acme")
    nodes = llama_index.ScrubjayVectorStore(path, tenant="acme", user="jane", dim=3)
    memories.insert([[1.0, 0.0]], [{"data": "a memory of tea", "user_id": "jane"}], ["one"])
    nodes.add([TextNode(id_="one", text="a node about tea", embedding=[1.0, 0.0, 0.0])])
    with Index.open(path) as index:  # the same file opened a second time, by its owner
        index.upsert("one", "a note on tea", scope=Scope("acme", user="jane"))
        assert index.admin.collections() == ["llama_index", "mem0"]
        found = index.collection("mem0").search("tea", scope=Scope("acme", user="jane"))
        assert [hit.text for hit in found] == ["a memory of tea"]
    assert [hit.payload["data"] for hit in memories.keyword_search("tea")] == ["a memory of tea"]
    query = VectorStoreQuery(query_str="tea", similarity_top_k=5, mode=VectorStoreQueryMode.SPARSE)
    assert [node.get_content() for node in nodes.query(query).nodes or []] == ["a node about tea"]
    memories.reset()
    assert len(nodes.get_nodes()) == 1
    nodes.clear()
    memories.close()
    nodes.add([TextNode(id_="two", text="still open", embedding=[1.0, 0.0, 0.0])])
    nodes.close()
    with Index.open(path) as index:
        assert len(index) == 1 and len(index.collection("llama_index")) == 1
