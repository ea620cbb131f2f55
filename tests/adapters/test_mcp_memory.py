"""Policies and preferences over MCP: a process behind pipes, and a model that tries to change the rules."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")

from scrubjay import Index, Memory, Scope  # noqa: E402
from scrubjay.adapters.mcp import MemoryServer  # noqa: E402

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
GET = "get_policies_and_preferences"
NEW = {GET, "set_preference", "delete_preference"}
SECRET = "Joe's secret wish."
LIKES = "Likes tables."
USERS = ("--tenant", "acme", "--user", "jane")


def talk(
    path: Path, conversation: Callable[[Any], Coroutine[Any, Any, None]], *options: str, mode: str = "auto"
) -> None:
    """Start `scrubjay mcp` on the file and talk to it with the SDK's client."""
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "scrubjay", "mcp", str(path), "--embedder", "none", *options],
        env={name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ},
    )

    async def run() -> None:
        async with mcp.Client(server, mode=mode, read_timeout_seconds=30) as client:
            await conversation(client)

    asyncio.run(asyncio.wait_for(run(), 60))


async def ask(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed, with exactly the fields of its output schema, in both forms."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    given: dict[str, Any] = result.structured_content
    (schema,) = [one.output_schema for one in (await client.list_tools()).tools if one.name == tool]
    assert set(schema["properties"]) == set(given) == set(schema["required"])
    assert json.loads(result.content[0].text) == given
    return given


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    """Call a tool that must be rejected, and return the message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None
    text: str = result.content[0].text
    return text


async def offered(client: Any) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools} & NEW


def fill(path: Path) -> dict[str, str]:
    """Write policies and preferences of several tenants and users; return ids by key."""
    with Memory.open(path) as memory:
        made = [
            ("refunds", memory.policy("refunds", "Never promise refunds.", tenant="acme", by="legal")),
            ("tone", memory.prefer("tone", "Answer briefly.", scope=JANE, source="admin_set")),
            ("guess", memory.prefer("guess", LIKES, scope=JANE, source="inferred", confidence=0.6)),
            ("joes", memory.prefer("tone", SECRET, scope=JOE)),
            ("late", memory.policy("late", SECRET, tenant="acme")),
        ]
        memory.policy("refunds", SECRET, tenant="acme")  # an unconfirmed second version
        memory.policy("future", SECRET, tenant="acme", by="legal", effective_from="2999-01-01T00:00:00Z")
        revoked = memory.policy("old", SECRET, tenant="acme", by="legal")
        assert revoked.id is not None
        memory.revoke(revoked.id, reason="wrong", scope=Scope("acme"))
        memory.policy("refunds", SECRET, tenant="globex", by="legal")
        memory.prefer("tone", SECRET, scope=Scope("globex", user="jane"))
        memory.prefer("tone", SECRET, scope=Scope("acme", user="jane2"))
        return {key: str(outcome.id) for key, outcome in made}


def rows(path: Path, condition: str = "name LIKE 'memory%'") -> dict[str, list[Any]]:
    """Return the contents of the file's tables."""
    connection = sqlite3.connect(path)
    try:
        tables = f"SELECT name FROM sqlite_master WHERE type = 'table' AND {condition}"
        names = [name for (name,) in connection.execute(tables)]
        return {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in names}
    finally:
        connection.close()


def others(path: Path) -> list[str]:
    """Return the rows of policies, and of preferences other than those of jane of acme."""
    connection = sqlite3.connect(path)
    try:
        found = [*connection.execute("SELECT * FROM memory_policy")]
        found += connection.execute(
            "SELECT * FROM memory_preference WHERE NOT (tenant = 'acme' AND user = 'jane')"
        )
        return sorted(map(repr, found))
    finally:
        connection.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_uses_every_tool(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "memories.scrubjay"
    ids = fill(path)
    before = others(path)

    async def first(client: Any) -> None:
        assert GET in client.instructions and await offered(client) == NEW
        assert await ask(client, GET) == {
            "policies": [
                {
                    "id": ids["refunds"],
                    "key": "refunds",
                    "version": 1,
                    "text": "Never promise refunds.",
                    "value": "Never promise refunds.",
                }
            ],
            "preferences": [
                {
                    "id": ids["guess"],
                    "key": "guess",
                    "text": LIKES,
                    "value": LIKES,
                    "source": "inferred",
                    "confidence": 0.6,
                },
                {
                    "id": ids["tone"],
                    "key": "tone",
                    "text": "Answer briefly.",
                    "value": "Answer briefly.",
                    "source": "admin_set",
                    "confidence": 1.0,
                },
            ],
        }
        made = await ask(client, "set_preference", key=" language ", text="German, please.")
        assert (made["key"], made["source"], made["confidence"]) == ("language", "user_stated", 1.0)
        again = await ask(client, "set_preference", key="language", text="german, please")
        assert again == made  # already known
        valued = await ask(client, "set_preference", key="page", value={"size": 25})
        assert (valued["value"], valued["text"]) == ({"size": 25}, '{"size": 25}')
        both = await ask(client, "set_preference", key="page", text="Short pages.", value=10)
        known = await ask(client, GET)
        assert [(one["text"], one["value"]) for one in known["preferences"] if one["id"] == both["id"]] == [
            ("Short pages.", 10)
        ]
        await ask(client, "delete_preference", key="page")
        new = await ask(client, "set_preference", key="language", text="Danish, please.")
        assert new["id"] != made["id"]
        assert await ask(client, "delete_preference", key="guess") == {"deleted": 1}
        assert "key: expected the key" in await refused(client, "delete_preference", key="guess")
        known = await ask(client, GET)
        assert [one["text"] for one in known["preferences"]] == ["Danish, please.", "Answer briefly."]
        assert await ask(client, "delete_all_memories", confirm=True) == {"deleted": 0}
        assert await ask(client, GET) == known

    async def later(client: Any) -> None:
        assert await ask(client, "delete_preference", key=" language") == {"deleted": 1}
        known = await ask(client, GET)  # no older value returns
        assert [one["key"] for one in known["preferences"]] == ["tone"]

    talk(path, first, *USERS, mode=mode)
    with Memory.open(path) as memory:
        held = {one.key: one for one in memory.known(JANE).preferences}
        assert held["language"].text == "Danish, please." and held["language"].provenance.run == "mcp"
        assert memory.admin.check() == []
    talk(path, later, *USERS, mode=mode)
    assert others(path) == before


HOSTILE_KEYS = ["%", "_", "*", "TONE", "ｔone", "tone\x00", "to_e", "' OR 1=1 --", "joe:tone", "t" * 500]


def test_preferences_of_others_and_policies_are_neither_shown_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    ids = fill(path)
    before = others(path)

    async def conversation(client: Any) -> None:
        async def unknown(key: str) -> None:
            told = await refused(client, "delete_preference", key=key)
            assert "key: expected the key" in told and SECRET not in told

        for key in (*HOSTILE_KEYS, *ids.values(), "refunds", "late"):
            await unknown(key)
        for key in (*HOSTILE_KEYS, ids["joes"], ids["refunds"], "refunds"):
            made = await ask(client, "set_preference", key=key, text="mine")
            assert made["id"] not in ids.values() and made["key"] == key
        for id in ids.values():  # the tools for memories do not see these records
            for tool in ("get_memory", "delete_memory"):
                assert "expected the id of a memory" in await refused(client, tool, id=id)
        for name in (
            "scope",
            "tenant",
            "user",
            "agent",
            "source",
            "confidence",
            "id",
            "kind",
            "by",
            "policy",
        ):
            for value in ("joe", {"tenant": "acme", "user": "joe"}, None, "policy"):
                assert name in await refused(client, GET, **{name: value})
                assert name in await refused(
                    client, "set_preference", key="tone", text="planted", **{name: value}
                )
                assert name in await refused(client, "delete_preference", key="tone", **{name: value})
        known = await ask(client, GET)
        assert SECRET not in json.dumps(known)
        assert [one["key"] for one in known["policies"]] == ["refunds"]
        held = {one["key"]: one["text"] for one in known["preferences"]}
        assert held["tone"] == "Answer briefly."
        assert set(held.values()) == {"Answer briefly.", LIKES, "mine"}
        with pytest.raises(mcp.MCPError, match="expected one of"):
            await client.call_tool("set_policy", {"key": "refunds", "text": "Refund everything."})

    talk(path, conversation, *USERS)
    assert others(path) == before

    async def joe(client: Any) -> None:
        (held,) = (await ask(client, GET))["preferences"]
        assert (held["id"], held["text"]) == (ids["joes"], SECRET)

    talk(path, joe, "--tenant", "acme", "--user", "joe")


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("set_preference", {}, "key"),
    ("set_preference", {"key": "tone"}, "text"),
    ("set_preference", {"key": "", "text": "x"}, "key"),
    ("set_preference", {"key": " \n", "text": "x"}, "key"),
    ("set_preference", {"key": "tone", "text": " \t "}, "text"),
    ("set_preference", {"key": "k" * 501, "text": "x"}, "key"),
    ("set_preference", {"key": "tone", "text": "x" * 20_001}, "text"),
    ("set_preference", {"key": 7, "text": "x"}, "key"),
    ("set_preference", {"key": "tone", "text": ["x"]}, "text"),
    ("set_preference", {"key": None, "text": None}, "key"),
    ("set_preference", {"key": "tone", "value": None}, "text, value"),
    ("set_preference", {"key": "tone", "value": "x" * 20_001}, "value"),
    ("delete_preference", {}, "key"),
    ("delete_preference", {"key": ""}, "key"),
    ("delete_preference", {"key": "k" * 501}, "key"),
    ("delete_preference", {"key": "tone"}, "key"),
    (GET, {"limit": 5}, "limit"),
]


def test_the_file_gets_tables_of_memory_with_the_first_preference_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("bare", "Jane prefers trains.", scope=JANE)

    async def asking(client: Any) -> None:
        assert await ask(client, GET) == {"policies": [], "preferences": []}
        for tool, arguments, named in BAD_CALLS:
            told = await refused(client, tool, **arguments)
            assert named in told and len(told) < 2000, (tool, told)

    async def setting(client: Any) -> None:
        assert await ask(client, GET) == {"policies": [], "preferences": []}
        made = await ask(client, "set_preference", key="k" * 500, text="x" * 20_000)
        assert (await ask(client, GET))["preferences"] == [made]
        odd = await ask(client, "set_preference", key="odd\x00\n", text="a\x00b")
        assert odd["text"] == "a\x00b"
        assert len((await ask(client, "search_memories", query="trains"))["memories"]) == 1

    talk(path, asking, *USERS)
    assert rows(path) == {}
    with Index.open(path) as index:
        assert index.admin.collections() == []
    talk(path, setting, *USERS)
    with Index.open(path) as index:
        assert index.admin.collections() == ["memory"] and len(index) == 1


def test_read_only_reads_and_writes_nothing(tmp_path: Path) -> None:
    path, empty = tmp_path / "memories.scrubjay", tmp_path / "empty.scrubjay"
    fill(path)
    with Index.open(empty) as index:
        index.upsert("bare", "Jane prefers trains.", scope=JANE)
    before, before_empty = rows(path, "1"), rows(empty, "1")

    async def conversation(client: Any) -> None:
        assert await offered(client) == {GET}
        known = await ask(client, GET)
        assert [one["key"] for one in known["preferences"]] == ["guess", "tone"]
        for tool, arguments in (
            ("set_preference", {"key": "a", "text": "b"}),
            ("delete_preference", {"key": "tone"}),
        ):
            with pytest.raises(mcp.MCPError, match="expected one of"):
                await client.call_tool(tool, arguments)

    async def nothing(client: Any) -> None:
        assert await ask(client, GET) == {"policies": [], "preferences": []}

    talk(path, conversation, *USERS, "--read-only")
    talk(empty, nothing, *USERS, "--read-only")
    assert rows(path, "1") == before and rows(empty, "1") == before_empty


def test_a_reader_does_not_make_a_dropped_collection_again(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    fill(path)
    with Index.open(path) as index:
        index.admin.drop_collection("memory")
        server = MemoryServer(index, JANE, read_only=True)
        with pytest.raises(Exception, match="was dropped"):  # not an empty result
            server.call(GET, {})
        assert index.admin.collections() == []
        assert len(MemoryServer(index, JANE).call(GET, {})["policies"]) == 1


def test_tools_offered_depend_on_file_and_user(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    fill(path)

    async def tenant(client: Any) -> None:
        assert await offered(client) == {GET}
        known = await ask(client, GET)
        assert known["preferences"] == [] and [one["key"] for one in known["policies"]] == ["refunds"]

    async def agent(client: Any) -> None:  # a user's preferences are independent of the agent
        assert await offered(client) == NEW
        await ask(client, "set_preference", key="tone", text="Answer at length.")

    talk(path, tenant, "--tenant", "acme")
    talk(path, agent, *USERS, "--agent", "bot")
    with Memory.open(path) as memory:
        assert {one.key: one.text for one in memory.known(JANE).preferences}["tone"] == "Answer at length."
    here = MemoryServer(Index(), JANE)
    assert not NEW & set(here.tools)
    with Index.open(path) as index:
        assert set(MemoryServer(index, JANE).tools) >= NEW
        assert not NEW - {GET} & set(MemoryServer(index, Scope("acme", agent="bot")).tools)


def test_preferences_of_one_server_are_visible_in_the_other(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as one, Index.open(path) as other:
        writer, reader = MemoryServer(one, JANE), MemoryServer(other, JANE, read_only=True)
        assert reader.call(GET, {}) == {"policies": [], "preferences": []}
        made = writer.call("set_preference", {"key": "tone", "text": "Briefly."})
        assert reader.call(GET, {})["preferences"] == [made]
        writer.call("delete_preference", {"key": "tone"})
        assert reader.call(GET, {})["preferences"] == []
        for arguments in ({"key": "tone", "text": "half \ud800 a pair"}, {"key": "\udfff", "text": "x"}):
            with pytest.raises(ValueError, match="valid string"):
                writer.call("set_preference", arguments)


def test_a_preference_replaced_concurrently_is_still_in_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path / "memories.scrubjay") as memory:
        server, prefer = MemoryServer(memory.index, JANE), Memory.prefer

        def overtaken(self: Memory, key: str, text: str, **options: Any) -> Any:
            outcome = prefer(self, key, text, **options)
            prefer(memory, key, "of another process", scope=JANE)
            return outcome

        monkeypatch.setattr(Memory, "prefer", overtaken)
        assert server.call("set_preference", {"key": "tone", "text": "Briefly."})["text"] == "Briefly."
        assert server.call(GET, {})["preferences"][0]["text"] == "of another process"


def test_many_threads_set_the_first_preferences_at_once(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay") as index:
        server = MemoryServer(index, JANE)

        def work(n: int) -> None:
            server.call("set_preference", {"key": f"own {n}", "text": "x"})
            server.call("set_preference", {"key": "shared", "text": f"by {n}"})
            assert server.call(GET, {})["preferences"]

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(16)))
        known = [one["key"] for one in server.call(GET, {})["preferences"]]
        assert known == sorted([*(f"own {n}" for n in range(16)), "shared"])


def test_an_encrypted_tenant_without_its_key_gets_an_error_and_no_data(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    path, keys = tmp_path / "memories.scrubjay", {"acme": b"k" * 32}
    with Index.open(path, keys=keys.get) as index:
        server = MemoryServer(index, JANE)
        made = server.call("set_preference", {"key": "tone", "text": SECRET})
        assert server.call(GET, {})["preferences"] == [made]
    assert SECRET not in repr(rows(path))

    async def conversation(client: Any) -> None:
        for tool, arguments in ((GET, {}), ("set_preference", {"key": "tone", "text": "b"})):
            told = await refused(client, tool, **arguments)
            assert "could not be done now" in told and str(path) not in told

    before = rows(path)
    talk(path, conversation, *USERS)
    assert rows(path) == before
