"""Time, changes, exports and legal holds over MCP: the same results as in Python, restricted to one scope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")

from scrubjay import FactCandidate, HeldError, Index, Memory, Scope  # noqa: E402
from scrubjay.adapters._typed import UnknownRecordError  # noqa: E402
from scrubjay.adapters.mcp import MemoryServer  # noqa: E402
from scrubjay.adapters.mcp.offered import offered  # noqa: E402
from scrubjay.adapters.mcp.refusals import refusal  # noqa: E402
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError, UnknownMemoryError  # noqa: E402
from scrubjay.base.errors import CursorError  # noqa: E402

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
SECRET = "Joe's door code is 4711."
ADMINS = {"hold_memories", "release_memories", "list_holds", "import_memories"}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "memories.scrubjay", durability="normal") as index:
        yield index


@pytest.fixture
def server(index: Index) -> MemoryServer:
    return MemoryServer(index, JANE)


def ask(server: MemoryServer, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; its result must match its schema, and be JSON."""
    given = server.call(tool, arguments)
    assert server.tools[tool].gives.model_validate(given).model_dump() == given
    return json.loads(json.dumps(given))  # type: ignore[no-any-return]


def move(server: MemoryServer, place: str, day: str) -> str:
    said = {"content": f"Jane lives in {place}", "subject": "Jane", "predicate": "lives in", "value": place}
    return str(ask(server, "remember", **said, valid_from=day)["id"])


def test_history_lists_the_values_of_a_slot_with_their_times(index: Index, server: MemoryServer) -> None:
    berlin, oslo = move(server, "Berlin", "2024-01-01"), move(server, "Oslo", "2026-05-01")
    facts = ask(server, "get_history", subject="Jane", predicate="lives in")["facts"]
    assert [(one["id"], one["value"], one["status"]) for one in facts] == [
        (berlin, "Berlin", "superseded"),
        (oslo, "Oslo", "active"),
    ]
    assert [one["holds"] for one in facts] == [
        [["2024-01-01T00:00:00+00:00", "2026-05-01T00:00:00+00:00"]],
        [["2026-05-01T00:00:00+00:00", None]],
    ]
    assert facts[0]["superseded_by"] == oslo
    told = facts[1]["recorded_at"]
    before = ask(server, "get_history", subject="jane", predicate="lives in", known_at="2023-01-01")["facts"]
    assert before == []
    with Memory(index) as memory:
        held = memory.history("Jane", "lives in", JANE, known_at=told)
        then = ask(server, "get_history", subject="Jane", predicate="lives in", known_at=told)["facts"]
        assert [one["id"] for one in then] == [fact.id for fact in held]
    assert ask(MemoryServer(index, JOE), "get_history", subject="Jane", predicate="lives in") == {"facts": []}


def test_searches_and_lists_answer_for_another_time(index: Index, server: MemoryServer) -> None:
    move(server, "Berlin", "2024-01-01")
    move(server, "Oslo", "2026-05-01")
    server.call("remember", {"content": "Ann lives in Rome", "subject": "Ann", "predicate": "lives in"})
    index.upsert("old", "where Jane lives is a secret", scope=JANE, created_at="2024-06-01T00:00:00Z")
    index.upsert("new", "where Jane lives is known", scope=JANE, created_at="2026-06-01T00:00:00Z")

    def texts(tool: str, **arguments: Any) -> set[str]:
        return {one["text"] for one in ask(server, tool, **arguments)["memories"]}

    then = {"Jane lives in Berlin", "where Jane lives is a secret"}
    question = {"query": "where does Jane live?", "limit": 50}
    assert texts("search_memories", **question, as_of="2025-01-01") == then
    assert texts("list_memories", as_of="2025-01-01") == then
    assert "Jane lives in Oslo" in texts("search_memories", **question)
    assert "Jane lives in Berlin" not in texts("list_memories")
    assert texts("list_memories", known_at="2023-01-01") == set()
    assert texts("search_memories", **question, known_at="2023-01-01") == set()
    assert texts("list_memories", subject="Ann") == {"Ann lives in Rome"}
    found, cursor = [], None
    while True:  # page by page
        page = ask(
            server, "list_memories", limit=1, as_of="2025-01-01", **({"cursor": cursor} if cursor else {})
        )
        found += [one["text"] for one in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert set(found) == then and len(found) == 2
    for tool, more in (("list_memories", {}), ("search_memories", question)):
        with pytest.raises(ValueError, match="as_of"):
            server.call(tool, {**more, "as_of": "yesterday"})


def test_notes_of_an_index_without_memory_are_asked_for_another_time(index: Index) -> None:
    for server in (MemoryServer(index, JANE), MemoryServer(Index(), JANE)):
        server._index.upsert("new", "Jane skates", scope=JANE, created_at="2026-06-01T00:00:00Z")
        for given, expected in (({}, ["new"]), ({"as_of": "2026-01-01"}, [])):
            listed = ask(server, "list_memories", **given)["memories"]
            found = ask(server, "search_memories", query="skates", **given)["memories"]
            assert [one["id"] for one in listed] == [one["id"] for one in found] == expected


def test_preferences_of_another_time(index: Index, server: MemoryServer) -> None:
    ask(server, "set_preference", key="tone", text="Briefly.")
    assert ask(server, "get_policies_and_preferences")["preferences"][0]["text"] == "Briefly."
    assert ask(server, "get_policies_and_preferences", known_at="2023-01-01")["preferences"] == []


def test_changes_of_this_scope_are_reported_once(index: Index, server: MemoryServer) -> None:
    assert ask(server, "list_changes") == {"changes": [], "cursor": 0}
    first = move(server, "Berlin", "2024-01-01")
    with Memory(index) as memory:
        memory.propose(SECRET, scope=JOE, source="r")
        memory.policy("refunds", "Never.", tenant="acme", by="legal")
    said = ask(server, "list_changes")
    assert [(one["action"], one["kind"], one["shared"]) for one in said["changes"]] == [
        ("proposed", "fact", False),
        ("proposed", "policy", True),
        ("confirmed", "policy", True),
    ]
    assert ask(server, "list_changes", since=said["cursor"]) == {"changes": [], "cursor": said["cursor"]}
    ask(server, "revoke_memory", id=first, reason="she never did")
    later = ask(server, "list_changes", since=said["cursor"])["changes"]
    assert [(one["action"], one["id"], one["by"], one["detail"]) for one in later] == [
        ("revoked", first, "mcp", "she never did")
    ]
    one_by_one, since = [], 0
    while page := ask(server, "list_changes", since=since, limit=1)["changes"]:
        one_by_one += page
        since = page[-1]["cursor"]
    assert one_by_one == said["changes"] + later
    assert SECRET not in json.dumps(one_by_one)
    with pytest.raises(ValueError, match="since"):
        server.call("list_changes", {"since": since + 1000})


def test_an_export_is_read_in_pages_from_one_state(
    index: Index, server: MemoryServer, tmp_path: Path
) -> None:
    assert ask(server, "export_memories") == {"lines": [], "next_cursor": None}  # no memory yet
    with Memory(index) as memory:
        memory.propose_all([(f"fact {n} " + "x" * 9000, JANE, "r") for n in range(40)])
        memory.propose(SECRET, scope=JOE, source="r")
        expected = [*memory.files.lines(JANE)]
    lines, cursor, n_pages = [], None, 0
    while n_pages == 0 or cursor is not None:
        given = {} if cursor is None else {"cursor": cursor}
        page = ask(server, "export_memories", **given)
        assert ask(server, "export_memories", **given)["lines"] == page["lines"]  # repeatable
        server.call("remember", {"content": f"said meanwhile {n_pages}"})
        if n_pages == 0:
            page = ask(server, "export_memories")
            expected = [*Memory(index).files.lines(JANE)]
        lines += page["lines"]
        cursor = page["next_cursor"]
        n_pages += 1
    assert n_pages > 3 and [f"{line}\n" for line in lines] == expected
    assert SECRET not in json.dumps(lines)
    for bad in ("", "x", "0.1", cursor or "a.b"):
        with pytest.raises(CursorError):
            server.call("export_memories", {"cursor": bad})
    begun = ask(server, "export_memories")["next_cursor"]
    name, _, place = begun.partition(".")
    for bad in (f"{name}.{int(place) - 1}", f"{name}.99999999999", f"{name}.-1", f"{name}.٣"):
        with pytest.raises(CursorError):
            server.call("export_memories", {"cursor": bad})
    for _ in range(4):
        server.call("export_memories", {})
    with pytest.raises(CursorError):  # the oldest is discarded
        server.call("export_memories", {"cursor": begun})


def test_administrator_tools_are_off_by_default(index: Index, server: MemoryServer) -> None:
    assert not ADMINS & set(server.tools)
    admin = MemoryServer(index, JANE, admin=True)
    assert set(admin.tools) == set(server.tools) | ADMINS
    assert {*offered(typed=True, user=True, read_only=True, admin=True)} & ADMINS == {"list_holds"}
    for tool in ADMINS:
        with pytest.raises(KeyError):
            server.call(tool, {})
        properties = admin.tools[tool].takes.model_json_schema().get("properties", {})
        assert not {"scope", "tenant", "user", "agent", "by"} & set(properties)
    with pytest.raises(ValueError, match="admin: expected an index with a file"):
        MemoryServer(Index(), JANE, admin=True)


def test_times_of_found_facts_are_iso_8601(index: Index) -> None:
    server = MemoryServer(index, Scope("acme", user="jane"))
    with Memory(index) as memory:
        fact = FactCandidate(
            "Jane lived in Oslo", "Jane", "lives in", valid_from="2025-01-01", valid_until="2090-01-01"
        )
        memory.propose(fact, scope=JANE, source="r")
        memory.index.upsert("n", "Oslo notes", scope=JANE, metadata={"valid_from": 5})
    found = {one["kind"]: one["metadata"] for one in ask(server, "search_memories", query="Oslo")["memories"]}
    assert found["fact"]["valid_from"] == "2025-01-01T00:00:00+00:00"
    assert found["fact"]["valid_until"] == "2090-01-01T00:00:00+00:00" and found["note"]["valid_from"] == 5


def test_a_hold_keeps_memories_until_it_is_released(index: Index) -> None:
    server = MemoryServer(index, JANE, admin=True)
    id = ask(server, "remember", content="Jane sails")["id"]
    with Memory(index) as memory:
        memory.admin.hold(JOE, reason="another case", by="legal")
        memory.admin.hold(ACME, reason="audit", by="legal")
    held = ask(server, "hold_memories", reason="case 17")["holds"]
    assert [(one["scope"]["user"], one["reason"], one["by"]) for one in held] == [
        (None, "audit", "legal"),
        ("jane", "case 17", "mcp"),
    ]
    for tool, arguments in (
        ("forget", {"id": id}),
        ("update_memory", {"id": id, "text": "other"}),
        ("delete_all_memories", {"confirm": True}),
    ):
        with pytest.raises(HeldError) as raised:
            server.call(tool, arguments)
        assert "case 17" in refusal(tool, raised.value) or "audit" in refusal(tool, raised.value)
    assert ask(server, "release_memories") == {"released": True}
    assert ask(server, "release_memories") == {"released": False}
    with Memory(index) as memory:
        memory.admin.release(ACME, by="legal")
    assert ask(server, "list_holds") == {"holds": []}  # Jane cannot see Joe's
    assert ask(server, "forget", id=id) == {"deleted": 1}


def test_an_export_is_taken_back_whole(index: Index, server: MemoryServer, tmp_path: Path) -> None:
    move(server, "Berlin", "2024-01-01")
    move(server, "Oslo", "2026-05-01")
    ask(server, "set_preference", key="tone", text="Briefly.")
    lines = ask(server, "export_memories")["lines"]
    with Index.open(tmp_path / "other.scrubjay") as other:
        admin = MemoryServer(other, JANE, admin=True)
        done = ask(admin, "import_memories", lines=lines)
        assert done["written"]["fact"] == 2 and done["written"]["preference"] == 1 and done["left_out"] == {}
        assert ask(admin, "import_memories", lines=lines)["written"] == {}
        history = {"subject": "Jane", "predicate": "lives in"}
        assert ask(admin, "get_history", **history) == ask(server, "get_history", **history)
        with pytest.raises(ValueError, match="line 1"):
            admin.call("import_memories", {"lines": ["{}"]})
        with pytest.raises(ValueError, match="at most 4,194,304 characters"):
            admin.call("import_memories", {"lines": ["x" * 5_000_000]})
        for name, value in (("user", "joe"), ("tenant", "globex")):
            planted = [json.dumps({**json.loads(line), name: value}) for line in lines[1:]]
            with pytest.raises(ValueError, match=name):
                admin.call("import_memories", {"lines": [lines[0], *planted]})
        rule = {**json.loads(lines[1]), "table": "policy"}  # of a tenant other than this scope's
        with pytest.raises(ValueError, match="line 2"):
            admin.call("import_memories", {"lines": [lines[0], json.dumps(rule)]})


def test_feedback_counts_uses_and_revoke_withdraws_a_record(index: Index, server: MemoryServer) -> None:
    id = ask(server, "remember", content="Jane sails")["id"]
    assert ask(server, "give_feedback", id=id) == {"noted": True}
    wish = ask(server, "set_preference", key="tone", text="Briefly.")["id"]
    with Memory(index) as memory:
        fact = memory.get(id, scope=JANE)
        assert fact is not None and fact.uses == 1  # type: ignore[union-attr]
        rule = str(memory.propose(FactCandidate("Acme closes", "acme"), scope=ACME, source="r").id)
        memory.confirm(rule, by="boss", scope=ACME)
        policy = str(memory.policy("refunds", "Never.", tenant="acme", by="legal").id)
        joes = str(memory.propose(SECRET, scope=JOE, source="r").id)
    for one in (id, wish):
        assert ask(server, "revoke_memory", id=one, reason="not so") == {"revoked": True}
        assert ask(server, "why", id=one)["status"] == "revoked"
    with pytest.raises(ReadOnlyMemoryError):
        server.call("revoke_memory", {"id": rule, "reason": "mine"})
    for one in (policy, joes, "fact_0", "n"):
        with pytest.raises((UnknownMemoryError, UnknownRecordError)) as raised:
            server.call("revoke_memory", {"id": one, "reason": "mine"})
        assert SECRET not in refusal("revoke_memory", raised.value)
    with pytest.raises(UnknownRecordError):
        server.call("give_feedback", {"id": joes})
