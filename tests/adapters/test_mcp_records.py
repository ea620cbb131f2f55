"""Facts and notes over MCP: one memory for a client's tools and for Python, in pages, as resources, in a prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

mcp = pytest.importorskip("mcp")

from scrubjay import EpisodeCandidate, FactCandidate, Index, Memory, OwnedCollectionError, Scope  # noqa: E402
from scrubjay.adapters.mcp import MemoryServer  # noqa: E402
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError, UnknownMemoryError  # noqa: E402
from scrubjay.base.errors import CursorError  # noqa: E402

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
SECRET = "Joe's door code is 4711."


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "memories.scrubjay", durability="normal") as index:
        yield index


@pytest.fixture
def server(index: Index) -> MemoryServer:
    return MemoryServer(index, JANE)


def talk(server: MemoryServer, conversation: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with mcp.Client(server.server, read_timeout_seconds=30) as client:
            await conversation(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def found(server: MemoryServer, query: str, **arguments: Any) -> list[tuple[str, str]]:
    answer = server.call("search_memories", {"query": query, **arguments})
    server.tools["search_memories"].gives.model_validate(answer)
    return [(one["kind"], one["text"]) for one in answer["memories"]]


def test_records_written_by_a_client_are_visible_in_python(index: Index, server: MemoryServer) -> None:
    made = server.call(
        "remember", {"content": "Jane lives in Berlin", "subject": "Jane", "predicate": "lives in"}
    )
    assert made["status"] == "written" and made["active"]
    again = server.call("remember", {"content": "Jane lives in Berlin."})
    assert again["status"] in ("written", "deduplicated")
    moved = server.call(
        "remember", {"content": "Jane lives in Oslo", "subject": "Jane", "predicate": "lives in"}
    )
    assert (moved["status"], moved["superseded"]) == ("superseded", made["id"])
    refused = server.call("remember", {"content": "perhaps", "confidence": 0.2})
    assert (refused["status"], refused["id"]) == ("rejected", None) and "confidence" in refused["reason"]
    note = server.call("add_memory", {"text": "Jane skates in Oslo"})
    with Memory(index) as memory:
        held = {hit.text: hit.kind for hit in memory.recall("Oslo", JANE)}
        assert held == {"Jane lives in Oslo": "fact", "Jane skates in Oslo": "note"}
        memory.propose(EpisodeCandidate("Moved Jane to Oslo", "success"), scope=JANE, source="python")
        fact = memory.get(moved["id"], scope=JANE)
        assert fact is not None and fact.provenance.run == "mcp"
    assert sorted(found(server, "Oslo")) == [
        ("episode", "Moved Jane to Oslo"),
        ("fact", "Jane lives in Oslo"),
        ("note", "Jane skates in Oslo"),
    ]
    assert found(server, "Oslo", filter={"kind": "episode"}) == [("episode", "Moved Jane to Oslo")]
    assert found(server, "Oslo", settings={"mode": "lexical"}, limit=1)
    assert server.call("get_memory", {"id": note["id"]}) == note
    shown = server.call("get_memory", {"id": moved["id"]})
    assert (shown["kind"], shown["text"], shown["shared"]) == ("fact", "Jane lives in Oslo", False)


def test_records_are_changed_and_forgotten_through_the_memory(index: Index, server: MemoryServer) -> None:
    id = server.call("remember", {"content": "Jane lives in Oslo", "metadata": {"a": 1}})["id"]
    changed = server.call("update_memory", {"id": id, "text": "Jane lives in Bergen"})
    assert changed["text"] == "Jane lives in Bergen" and changed["metadata"] == {"a": 1}
    assert server.call("update_memory", {"id": id, "metadata": {"b": 2}})["metadata"] == {"b": 2}
    assert found(server, "Oslo") == []
    why = server.call("why", {"id": id})
    assert server.tools["why"].gives.model_validate(why).model_dump() == why
    assert [event.split()[1] for event in why["events"]] == ["written", "updated", "updated"] and why[
        "run"
    ] == "mcp"
    assert server.call("forget", {"id": id}) == {"deleted": 1}
    wish = server.call("set_preference", {"key": "tone", "text": "Briefly."})
    with pytest.raises(UnknownMemoryError):
        server.call("delete_memory", {"id": wish["id"]})
    assert server.call("forget", {"id": wish["id"]}) == {"deleted": 1}
    note = server.call("add_memory", {"text": "a note"})["id"]
    assert server.call("forget", {"id": note}) == {"deleted": 1}
    for tool in ("forget", "get_memory", "delete_memory", "why"):
        for gone in (id, note, wish["id"]):
            with pytest.raises(UnknownMemoryError):
                server.call(tool, {"id": gone})
    with Memory(index) as memory:
        assert memory.admin.check() == [] and memory.list(JANE, hidden=True) == []


def test_forgetting_everything_takes_facts_and_notes_of_this_scope(
    index: Index, server: MemoryServer
) -> None:
    with Memory(index) as memory:
        for place in ("Berlin", "Oslo"):
            fact = FactCandidate(f"Jane lives in {place}", "Jane", "lives in")
            memory.propose(fact, scope=JANE, source="r")
        memory.propose(SECRET, scope=JOE, source="r")
        memory.prefer("tone", "Briefly.", scope=JANE)
    index.upsert("n", "a note", scope=JANE)
    index.upsert("n", SECRET, scope=JOE)
    assert server.call("delete_all_memories", {"confirm": True}) == {"deleted": 3}  # one was superseded
    assert server.call("list_memories", {})["memories"] == []
    with Memory(index) as memory:
        assert [one.kind for one in memory.list(JANE, hidden=True)] == ["preference"]
        assert len(memory.recall("door code", JOE)) == 2


def test_no_tool_reaches_records_of_another_scope(index: Index, server: MemoryServer) -> None:
    with Memory(index) as memory:
        joes = memory.propose(SECRET, scope=JOE, source="r").id
        rule = memory.propose(FactCandidate("Acme closes on Mondays", "acme"), scope=ACME, source="r").id
        memory.confirm(str(rule), by="boss", scope=ACME)
    for tool in ("get_memory", "forget", "delete_memory", "why"):
        with pytest.raises(UnknownMemoryError):
            server.call(tool, {"id": joes})
    with pytest.raises(UnknownMemoryError):
        server.call("update_memory", {"id": joes, "text": "mine"})
    assert server.call("get_memory", {"id": rule})["shared"] is True
    for tool, more in (("forget", {}), ("delete_memory", {}), ("update_memory", {"text": "a"})):
        with pytest.raises(ReadOnlyMemoryError):
            server.call(tool, {"id": rule, **more})
    for name in ("scope", "tenant", "user", "agent", "source", "kind"):
        with pytest.raises(ValueError, match=name):
            server.call("remember", {"content": "planted", name: "joe"})
    assert SECRET not in json.dumps(server.call("list_memories", {"limit": 50}))
    assert found(server, "door code 4711") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 50])
def test_pages_hold_everything_once(index: Index, server: MemoryServer, limit: int) -> None:
    expected = set()
    for n in range(5):
        expected.add(server.call("remember", {"content": f"Fact number {n}"})["id"])
        expected.add(server.call("add_memory", {"text": f"note {n}"})["id"])
    ids: list[str] = []
    cursor = None
    for _ in range(20):
        given = server.call(
            "list_memories", {"limit": limit, **({} if cursor is None else {"cursor": cursor})}
        )
        assert len(given["memories"]) <= limit
        assert server.tools["list_memories"].gives.model_validate(given).model_dump() == given
        ids += [one["id"] for one in given["memories"]]
        cursor = given["next_cursor"]
        if cursor is None:
            break
    assert cursor is None and len(ids) == 10 and set(ids) == expected
    for wrong in ("", "x", "records.!", "notes.zzz", "other.a"):
        if wrong:
            with pytest.raises(CursorError):
                server.call("list_memories", {"cursor": wrong})


def test_pages_without_a_file() -> None:
    server = MemoryServer(Index(), JANE)
    ids = [server.call("add_memory", {"text": f"note {n}"})["id"] for n in range(3)]
    first = server.call("list_memories", {"limit": 2})
    second = server.call("list_memories", {"limit": 2, "cursor": first["next_cursor"]})
    assert [one["id"] for one in (*first["memories"], *second["memories"])] == ids
    assert second["next_cursor"] is None and "remember" not in server.tools


def test_resources_and_prompts(index: Index, server: MemoryServer) -> None:
    fact = server.call("remember", {"content": "Jane lives in Oslo"})["id"]
    server.call("set_preference", {"key": "tone", "text": "Answer briefly."})
    odd = "a/b ü"
    index.upsert(odd, "an odd id", scope=JANE)
    index.upsert("j", SECRET, scope=JOE)

    async def conversation(client: Any) -> None:
        listed = (await client.list_resources()).resources
        addresses = [str(one.uri) for one in listed]
        where = "scrubjay://memories/"
        assert addresses == [
            "scrubjay://memories", "scrubjay://known", where + fact, where + quote(odd, safe=""),
        ]  # fmt: skip
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "scrubjay://memories/{id}"
        read = {}
        for address in addresses:
            (content,) = (await client.read_resource(address)).contents
            read[address] = json.loads(content.text)
        assert read["scrubjay://known"]["preferences"][0]["text"] == "Answer briefly."
        assert [one["id"] for one in read["scrubjay://memories"]["memories"]] == [fact, odd]
        assert read[addresses[3]]["text"] == "an odd id" and read[addresses[2]]["kind"] == "fact"
        for wrong in (where + "j", where + "none", "scrubjay://other", "file:///etc/passwd", where):
            with pytest.raises(mcp.MCPError) as refused:
                await client.read_resource(wrong)
            assert SECRET not in str(refused.value)
        (prompt,) = (await client.list_prompts()).prompts
        assert [one.name for one in prompt.arguments] == ["question", "budget_tokens"]
        question = "Where does Jane live?"
        (message,) = (await client.get_prompt(prompt.name, {"question": question})).messages
        with Memory(index) as memory:
            assert message.content.text == memory.assemble(question, JANE).text + f"# Question\n{question}\n"
        assert "Answer briefly." in message.content.text and "Jane lives in Oslo" in message.content.text
        for arguments in (
            {}, {"question": ""}, {"question": "a", "budget_tokens": "0"}, {"question": "a", "budget_tokens": "x"},
            {"question": "a", "budget_tokens": "1"}, {"question": "a", "user": "joe"},
        ):  # fmt: skip
            with pytest.raises(mcp.MCPError):
                await client.get_prompt(prompt.name, arguments)
        with pytest.raises(mcp.MCPError, match="with_memory"):
            await client.get_prompt("other", {"question": "a"})

    talk(server, conversation)


def test_resources_come_in_pages(server: MemoryServer) -> None:
    ids = [server.call("add_memory", {"text": f"note {n}"})["id"] for n in range(45)]

    async def conversation(client: Any) -> None:
        seen: list[str] = []
        cursor = None
        for _ in range(5):
            page = await client.list_resources(cursor=cursor)
            seen += [str(one.uri).rpartition("/")[2] for one in page.resources if str(one.uri).count("/") > 2]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == ids

    talk(server, conversation)


def test_a_raw_write_to_a_memorys_collection_is_refused(index: Index) -> None:
    with Memory(index) as memory:
        memory.propose("Jane lives in Oslo", scope=JANE, source="r")
    server = MemoryServer(index.collection("memory"), JANE)
    with pytest.raises(OwnedCollectionError):
        server.call("add_memory", {"text": "planted"})
    assert [one["kind"] for one in server.call("list_memories", {})["memories"]] == ["fact"]
    assert found(server, "Oslo") == [("fact", "Jane lives in Oslo")]

    async def conversation(client: Any) -> None:
        told = await client.call_tool("add_memory", {"text": "planted"})
        assert told.is_error and "scrubjay.Memory" in told.content[0].text

    talk(server, conversation)


def test_reading_makes_no_memory(index: Index) -> None:
    index.upsert("n", "a note", scope=JANE)
    for read_only in (True, False):
        server = MemoryServer(index, JANE, read_only=read_only)
        assert found(server, "note") == [("note", "a note")]
        assert [one["id"] for one in server.call("list_memories", {})["memories"]] == ["n"]
        with pytest.raises(UnknownMemoryError):
            server.call("why", {"id": "n"})
        assert ("remember" in server.tools, "forget" in server.tools) == (not read_only, not read_only)
    assert index.admin.collections() == []
