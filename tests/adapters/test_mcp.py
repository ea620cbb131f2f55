"""The MCP server as seen by clients: a process behind pipes, and a model that may send anything."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

mcp = pytest.importorskip("mcp")

from scrubjay import Index, Scope  # noqa: E402
from scrubjay.adapters.mcp import MemoryServer  # noqa: E402
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError, UnknownMemoryError  # noqa: E402
from scrubjay.memory import FactCandidate, Memory  # noqa: E402

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
COMMAND = ["-m", "scrubjay", "mcp"]
SECRET = "Joe's door code is 4711."
UNKNOWN = "id: expected the id of a memory in this scope"


def talk(
    path: Path,
    conversation: Callable[[Any], Coroutine[Any, Any, None]],
    *,
    mode: str = "auto",
    embedder: str = "none",
) -> None:
    """Start `scrubjay mcp` on the file for jane of acme, and talk to it with the SDK's client."""
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=[*COMMAND, str(path), "--tenant", "acme", "--user", "jane", "--embedder", embedder],
        env={name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ},
    )

    async def run() -> None:
        async with mcp.Client(server, mode=mode, read_timeout_seconds=30) as client:
            await conversation(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def talk_here(server: MemoryServer, conversation: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """The same without a separate process."""

    async def run() -> None:
        async with mcp.Client(server.server, read_timeout_seconds=30) as client:
            await conversation(client)

    asyncio.run(asyncio.wait_for(run(), 60))


async def ask(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; its result must match its schema, in both forms."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    given: dict[str, Any] = result.structured_content
    server = MemoryServer(Index(), JANE)
    assert server.tools[tool].gives.model_validate(given).model_dump() == given
    assert json.loads(result.content[0].text) == given
    return given


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    """Call a tool that must be rejected, and return the message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None
    text: str = result.content[0].text
    return text


def fill(path: Path) -> dict[str, str]:
    """Write memories of jane, of joe, of the tenant and of another tenant; return texts by scope and id."""
    with Index.open(path) as index:
        index.upsert("bare", "Jane prefers trains.", scope=JANE, metadata={"tags": ["rail"]})
        index.upsert("joes", SECRET, scope=JOE)
        index.upsert("shared", "Closed on Mondays.", scope=ACME)
        index.upsert("bots", SECRET, scope=Scope("acme", user="jane", agent="bot"))
        index.upsert("foreign", SECRET, scope=Scope("globex", user="jane"))
        index.upsert("bare", SECRET, scope=JOE)
        return contents(index)


def contents(index: Index) -> dict[str, str]:
    records = [record for scope in index.scopes() for record in index.list(scope, exact=True)]
    return {f"{record.scope} {record.id}": record.text for record in records}


def test_a_client_uses_every_tool(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"

    async def first(client: Any) -> None:
        assert client.server_info.name == "scrubjay" and "memory" in client.instructions
        added = await ask(
            client, "add_memory", text="The staging key is sk-stg-0041.", metadata={"kind": "key"}
        )
        other = await ask(client, "add_memory", text="Drinks only decaf after lunch.", expires_in_days=30)
        assert added["shared"] is False and other["expires_at"] > other["created_at"]
        found = await ask(client, "search_memories", query="what is sk-stg-0041?", limit=1)
        assert [memory["id"] for memory in found["memories"]] == [added["id"]] and found["mode"] == "hybrid"
        found = await ask(
            client, "search_memories", query="key or coffee", filter={"kind": {"$exists": False}}
        )
        assert [memory["id"] for memory in found["memories"]] == [other["id"]]
        changed = await ask(client, "update_memory", id=added["id"], text="The staging key is sk-stg-0042.")
        assert changed == {**added, "text": "The staging key is sk-stg-0042."}
        assert await ask(client, "get_memory", id=added["id"]) == changed
        assert await ask(client, "delete_memory", id=other["id"]) == {"deleted": 1}
        assert UNKNOWN in await refused(client, "delete_memory", id=other["id"])

    async def later(client: Any) -> None:
        found = await ask(client, "search_memories", query="staging key")
        assert [memory["text"] for memory in found["memories"]] == ["The staging key is sk-stg-0042."]
        assert await ask(client, "delete_all_memories", confirm=True) == {"deleted": 1}
        assert (await ask(client, "search_memories", query="staging key"))["memories"] == []

    talk(path, first, embedder="default")
    talk(path, later, mode="legacy")


@pytest.mark.parametrize("with_memory", [False, True])
def test_a_long_text_is_shown_by_the_passage_that_answers(tmp_path: Path, with_memory: bool) -> None:
    path = tmp_path / "memories.scrubjay"
    halls = [
        f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(540)
    ]
    middle = "If the nightly backups fail three times in a row, page Ada before touching the replica."
    long = " ".join([*halls[:270], middle, *halls[270:]])
    with Index.open(path, "default") as index:
        index.upsert("manual", long, scope=JANE)
        index.upsert("short", "Hall 3 was swept.", scope=JANE)
        if with_memory:
            Memory(index).propose(FactCandidate("Hall 4 was swept.", "hall 4", "was"), scope=JANE, source="r")

    async def search(client: Any) -> None:
        question = "whom do we inform when saving our data goes wrong again and again?"
        asked = {"query": question, "settings": {"mode": "vector"}}
        best, *others = (await ask(client, "search_memories", **asked))["memories"]
        assert best["id"] == "manual" and best["truncated"] and middle not in best["text"]
        assert middle in long[slice(*best["passage"])] and "page Ada" in best["snippet"]
        assert others and all((one["passage"], one["snippet"]) == (None, None) for one in others)

    talk(path, search, embedder="default")


def test_tools_say_what_they_may_destroy() -> None:
    async def conversation(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = {
            name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
            for name, tool in tools.items()
        }
        assert hints == {
            "add_memory": (False, False),
            "search_memories": (True, False),
            "list_memories": (True, False),
            "get_memory": (True, False),
            "update_memory": (False, True),
            "delete_memory": (False, True),
            "delete_all_memories": (False, True),
        }
        for tool in tools.values():
            assert tool.annotations.open_world_hint is False and tool.output_schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False
            assert not {"scope", "tenant", "user", "agent"} & set(tool.input_schema["properties"])

    talk_here(MemoryServer(Index(), JANE), conversation)


def test_no_argument_reaches_another_scope(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    before = fill(path)
    foreign = [
        "joes",
        "foreign",
        "m1",
        '["acme","joe",null]:m1',
        '["globex","jane",null]:foreign',
        "*",
        "%",
        "_",
    ]
    foreign += ["bare\x00", "ｂare", "BARE", " bare", "b" * 1000, "' OR 1=1 --", '{"$ne": null}', "../joes"]

    async def conversation(client: Any) -> None:
        for id in foreign:
            for tool in ("get_memory", "delete_memory"):
                assert UNKNOWN in await refused(client, tool, id=id)
            assert UNKNOWN in await refused(client, "update_memory", id=id, text="mine now")
        for name in ("scope", "tenant", "user", "agent", "namespace", "scopes", "_scope", "read_only"):
            for value in ("joe", {"tenant": "acme", "user": "joe"}, None, ["*"]):
                told = await refused(client, "search_memories", query="door code", **{name: value})
                assert name in told
                await refused(client, "add_memory", text="planted", **{name: value})
                await refused(client, "delete_all_memories", confirm=True, **{name: value})
        for filter in ({"user": "joe"}, {"$or": [{}, {"tenant": "globex"}]}, {"text": {"$exists": False}}):
            result = await client.call_tool(
                "search_memories", {"query": "Joe's door code 4711", "filter": filter}
            )
            assert SECRET not in result.model_dump_json()
        everything = await ask(client, "search_memories", query="door code 4711 trains mondays", limit=50)
        assert {memory["id"]: memory["shared"] for memory in everything["memories"]} == {
            "bare": False,
            "shared": True,
        }
        assert "shared" in await refused(client, "update_memory", id="shared", text="open")
        assert "shared" in await refused(client, "delete_memory", id="shared")

    talk(path, conversation)
    with Index.open(path) as index:
        assert contents(index) == before

    async def last(client: Any) -> None:
        assert await ask(client, "delete_all_memories", confirm=True) == {"deleted": 1}

    talk(path, last)
    with Index.open(path) as index:
        assert contents(index) == {key: text for key, text in before.items() if key != f"{JANE} bare"}
        assert f"{JOE} bare" in before  # not part of the request


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("add_memory", {}, "text"),
    ("add_memory", {"text": ""}, "text"),
    ("add_memory", {"text": "x" * 20_001}, "text"),
    ("add_memory", {"text": ["x"]}, "text"),
    ("add_memory", {"text": None}, "text"),
    ("add_memory", {"text": "x", "metadata": "not an object"}, "metadata"),
    ("add_memory", {"text": "x", "metadata": {"a": "x" * 10_001}}, "metadata"),
    ("add_memory", {"text": "x", "expires_in_days": -1}, "expires_in_days"),
    ("add_memory", {"text": "x", "id": "mine"}, "id"),
    ("search_memories", {"query": ""}, "query"),
    ("search_memories", {"query": "x" * 4_001}, "query"),
    ("search_memories", {"query": "x", "limit": 0}, "limit"),
    ("search_memories", {"query": "x", "limit": 101}, "limit"),
    ("search_memories", {"query": "x", "limit": 10**30}, "limit"),
    ("search_memories", {"query": "x", "filter": {"a": {"$where": "1"}}}, "$where"),
    ("search_memories", {"query": "x", "filter": {"a": {"$gt": None}}}, "$gt"),
    ("search_memories", {"query": "x", "filter": {"$or": [{"a": n} for n in range(5000)]}}, "filter"),
    ("get_memory", {"id": ""}, "id"),
    ("get_memory", {"id": 7}, "id"),
    ("get_memory", {"id": "x" * 1_001}, "id"),
    ("update_memory", {"id": "x"}, "text, metadata"),
    ("update_memory", {"id": "x", "text": ""}, "text"),
    ("delete_all_memories", {}, "confirm"),
    ("delete_all_memories", {"confirm": False}, "confirm"),
    ("search_memories", {"question": "x"}, "question: unknown argument, expected some of query, "),
]


def test_bad_calls_are_refused_by_name_and_the_server_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    fill(path)
    with Index.open(path) as index:
        index.upsert("odd", "Half a pair.", scope=JANE, metadata={"\ud800": ["\udfff"]})
        before = contents(index)

    async def conversation(client: Any) -> None:
        for tool, arguments, named in BAD_CALLS:
            told = await refused(client, tool, **arguments)
            assert named in told and len(told) < 2000, (tool, told)
        with pytest.raises(mcp.MCPError, match="expected one of"):
            await client.call_tool("drop_everything", {})
        assert len((await ask(client, "search_memories", query="trains"))["memories"]) == 1
        # No message can carry a lone surrogate, which metadata may contain.
        assert (await ask(client, "get_memory", id="odd"))["metadata"] == {"\ufffd": ["\ufffd"]}

    talk(path, conversation)
    with Index.open(path) as index:
        assert contents(index) == before


def test_read_only_offers_nothing_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    before = fill(path)

    async def conversation(client: Any) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            "search_memories",
            "list_memories",
            "get_memory",
            "why",
            "get_history",
            "list_changes",
            "export_memories",
            "get_policies_and_preferences",
        }
        for tool in ("add_memory", "delete_all_memories"):
            with pytest.raises(mcp.MCPError):
                await client.call_tool(tool, {"text": "x", "confirm": True})
        assert (await ask(client, "get_memory", id="bare"))["text"] == "Jane prefers trains."

    with Index.open(path) as index:
        talk_here(MemoryServer(index, JANE, read_only=True), conversation)
        assert contents(index) == before


CHATTERING = """
import sys
import numpy as np
import scrubjay
from scrubjay.adapters.mcp import serve_stdio

class Chattering:
    name, dim = "chattering", 2
    def embed_documents(self, texts):
        print("loading a model ...")
        sys.stdout.flush()
        import os
        os.write(1, b"and from native code\\n")
        return np.ones((len(texts), 2), dtype=np.float32)
    def embed_query(self, text):
        return self.embed_documents([text])[0]

with scrubjay.Index.open(sys.argv[1], Chattering()) as index:
    serve_stdio(index, scrubjay.Scope("acme", user="jane"))
print("the end")
"""


def test_nothing_but_the_protocol_goes_to_standard_output(tmp_path: Path) -> None:
    lines: list[bytes] = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        b'"clientInfo":{"name":"raw","version":"1"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b"this is not JSON",
        b"\xff\xfe\x00",
        b"[" * 5000,
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_memory","arguments":{"text":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add_memory","arguments":{"text":"\\u0000"}}}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search_memories","arguments":{"query":"a"}}}',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get_memory","arguments":["id"]}}',
        b'{"jsonrpc":"2.0","id":6,"method":"no/such"}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_memory","arguments":{"text":"'
        + b"x" * 1_000_000
        + b'"}}}',
        b'{"jsonrpc":"2.0","id":8,"method":"ping"}',
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", CHATTERING, str(tmp_path / "memories.scrubjay")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    answers: dict[int, Any] = {}
    try:
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        while not {1, 3, 4, 5, 6, 7, 8} <= answers.keys():
            line = process.stdout.readline()
            assert line, process.stderr.read().decode() if process.stderr else ""
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            answers[message.get("id")] = message
        rest, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert rest == b"the end\n" and process.returncode == 0  # standard output is restored
    assert b"loading a model" in errors and b"native code" in errors
    assert answers[3]["result"]["isError"] is False and answers[4]["result"]["isError"] is False
    assert "error" in answers[5] and "error" in answers[6] and answers[7]["result"]["isError"] is True


def test_an_index_with_int_ids_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert(7, "Sails on Saturdays", scope=JANE)
    ran = subprocess.run(
        [sys.executable, *COMMAND, str(path), "--embedder", "none"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "") and "ids are int" in ran.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(
        ["text", "id", "query", "limit", "filter", "metadata", "confirm", "scope", "user", "tenant"]
    ),
    JSON
    | st.sampled_from(
        ["m1", "bare", "joes", "shared", "door code", 5, {"$or": [{}]}, {"a": {"$ne": 1}}, True]
    ),
    max_size=4,
)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(MemoryServer(Index(), JANE).tools)), ARGUMENTS), max_size=15)
)
@settings(max_examples=30)
def test_random_tool_calls_never_reach_another_scope(calls: list[tuple[str, dict[str, Any]]]) -> None:
    from pydantic import ValidationError

    index = Index()
    index.upsert("bare", "Jane prefers trains.", scope=JANE)
    index.upsert("joes", SECRET, scope=JOE)
    index.upsert("shared", "Closed on Mondays.", scope=ACME)
    index.upsert("bare", SECRET, scope=JOE)
    server = MemoryServer(index, JANE)
    for tool, arguments in calls:
        try:
            given = server.call(tool, arguments)
        except (ValidationError, ValueError, TypeError, UnknownMemoryError, ReadOnlyMemoryError):
            continue
        assert SECRET not in json.dumps(given)
    assert {record.id: record.text for record in index.list(JOE)} == {
        "joes": SECRET,
        "bare": SECRET,
        "shared": "Closed on Mondays.",
    }
