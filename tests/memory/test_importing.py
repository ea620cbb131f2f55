"""Dumps of other memory systems are imported with times, ids and owners; parts left out are counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import Fact, FactCandidate, Memory
from tests.memory.setting import ACME, JANE, JOE, Clock, open_memory

MEM0 = {
    "results": [
        {"id": "a1", "memory": "Jane plays go", "hash": "x", "user_id": "jane", "agent_id": None,
         "created_at": "2025-03-01T10:00:00-08:00", "updated_at": None,
         "metadata": {"category": "hobbies", "kind": "game"}},
        {"id": "a2", "memory": "Joe plays chess", "user_id": "joe", "created_at": "2025-03-02T10:00:00Z"},
        {"id": "a3", "memory": "  ", "user_id": "jane"},
        {"id": "a4", "memory": "Jane hums", "user_id": "jane", "created_at": "soon"},
    ],
    "relations": [],
}  # fmt: skip
LETTA = {
    "agents": [{"id": "agent-0", "name": "sam", "messages": [{"role": "user", "content": "hi"}] * 2}],
    "blocks": [
        {
            "id": "block-0",
            "label": "human",
            "value": "Name: Jane.\n\nLikes trains.\n- Owns a cello",
            "limit": 5000,
        },
        {"id": "block-1", "label": "persona", "value": "", "limit": 5000},
    ],
}
PASSAGES = [
    {"id": "passage-1", "text": "Jane moved to Oslo", "created_at": "2024-05-01T00:00:00Z"},
    {"id": "p2"},
]
ZEP = {
    "edges": [
        {"uuid": "e1", "name": "LIVES_IN", "fact": "Jane lives in Berlin", "source_node_uuid": "n1",
         "target_node_uuid": "n2", "created_at": "2024-01-03T00:00:00Z", "valid_at": "2023-01-01T00:00:00Z",
         "invalid_at": "2024-06-01T00:00:00Z", "expired_at": "2024-06-02T00:00:00Z"},
        {"uuid": "e2", "name": "LIVES_IN", "fact": "Jane lives in Oslo", "created_at": "2024-06-02T00:00:00Z",
         "valid_at": "2024-06-01T00:00:00Z", "invalid_at": None},
        {"uuid": "e3", "name": "LIKES", "fact": "Jane likes nothing", "valid_at": "2024-06-01T00:00:00Z",
         "invalid_at": "2024-06-01T00:00:00Z"},
    ]
}  # fmt: skip
LANGGRAPH = [
    {"namespace": ["memories", "jane"], "key": "k1", "value": {"text": "Jane sings", "mood": "glad"},
     "created_at": "2024-01-01T00:00:00+00:00", "updated_at": "2024-02-01T00:00:00+00:00"},
    {"namespace": ["memories", "jane"], "key": "k2", "value": {"n": 5}},
]  # fmt: skip
CHATGPT = [
    {
        "title": "A chat",
        "mapping": {
            "r": {"id": "r", "message": None},
            "u": {"message": {"id": "u", "author": {"role": "user"}, "recipient": "all", "create_time": 1.7e9,
                              "content": {"content_type": "text", "parts": ["I ski"]}}},
            "b": {"message": {"id": "b", "author": {"role": "assistant"}, "recipient": "bio", "create_time": 1.7e9,
                              "content": {"content_type": "text", "parts": ["User skis in winter."]}}},
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "conversations_memory": "**Work context**\n\nJane leads a team of four.\n\n**Personal**\n\nJane has two cats.",
        "project_memories": {"p-1": "# Purpose\n\nA site about trains."},
        "account_uuid": "a-1",
    }
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        yield memory


def import_dump(
    memory: Memory, tmp_path: Path, dump: Any, kind: str, scope: Scope = JANE, **options: Any
) -> Any:
    path = tmp_path / "dump.json"
    path.write_text(dump if isinstance(dump, str) else json.dumps(dump))
    return memory.files.import_from(path, kind, scope=scope, **options)


def facts(memory: Memory, scope: Scope = JANE, **options: Any) -> list[str]:
    return sorted(one.text for one in memory.list(scope, kinds=["fact"], **options))


@pytest.mark.parametrize(
    ("kind", "dump", "texts", "left_out"),
    [
        ("mem0", MEM0, ["Jane plays go"], {"no text": 1, "of another user": 1, "an invalid time": 1}),
        ("letta", LETTA, ["Likes trains.", "Name: Jane.", "Owns a cello"],
         {"an empty block": 1, "a message, not a memory": 2}),
        ("letta", PASSAGES, ["Jane moved to Oslo"], {"no text": 1}),
        ("zep", ZEP, ["Jane lives in Oslo"], {"an empty interval": 1}),
        ("langgraph", LANGGRAPH, ["Jane sings"], {"no text in the value": 1}),
        ("chatgpt", CHATGPT, ["User skis in winter."], {"a message, not a memory": 2}),
        ("chatgpt", ["Skis", {"id": "m", "content": "Sings"}], ["Sings", "Skis"], {}),
        ("claude", CLAUDE, ["A site about trains.", "Jane has two cats.", "Jane leads a team of four."], {}),
    ],
)  # fmt: skip
def test_a_dump_is_taken_over(
    memory: Memory, tmp_path: Path, kind: str, dump: Any, texts: list[str], left_out: dict[str, int]
) -> None:
    tried = import_dump(memory, tmp_path, dump, kind, dry_run=True)
    assert memory.list(JANE, hidden=True) == [] and tried.written == 0
    done = import_dump(memory, tmp_path, dump, kind)
    assert (done.left_out, done.found) == (tried.left_out, tried.found) == (left_out, done.found)
    assert facts(memory) == texts
    assert done.written >= len(texts) and memory.rejections(JANE) == []
    for one in memory.list(JANE, kinds=["fact"]):
        assert one.provenance.run == f"import from {kind}" and one.metadata["imported_from"] == kind  # type: ignore[union-attr]
    before = memory.list(JANE, hidden=True)
    again = import_dump(memory, tmp_path, dump, kind)
    assert {one.status for one in again.outcomes} == {"deduplicated"}
    assert [one.id for one in memory.list(JANE, hidden=True)] == [one.id for one in before]


def test_times_and_ids_are_those_of_the_dump(memory: Memory, tmp_path: Path) -> None:
    import_dump(memory, tmp_path, MEM0, "mem0")
    go: Any = memory.list(JANE, kinds=["fact"])[0]
    assert go.said_at == datetime(2025, 3, 1, 18, tzinfo=timezone.utc)
    assert go.provenance.place == "mem0:a1"
    assert (go.metadata["category"], go.metadata["imported_kind"]) == ("hobbies", "game")
    import_dump(memory, tmp_path, ZEP, "zep", JOE)
    assert facts(memory, JOE) == ["Jane lives in Oslo"]
    assert facts(memory, JOE, as_of="2023-06-01T00:00:00Z") == ["Jane lives in Berlin"]


def test_users_of_a_dump_are_those_of_the_tenant(memory: Memory, tmp_path: Path) -> None:
    done = import_dump(memory, tmp_path, MEM0, "mem0", ACME)
    assert facts(memory, JANE) == ["Jane plays go"] and facts(memory, JOE) == ["Joe plays chess"]
    assert done.left_out == {"no text": 1, "an invalid time": 1}


def test_notes_pass_no_gate(memory: Memory, tmp_path: Path) -> None:
    done = import_dump(memory, tmp_path, LANGGRAPH, "langgraph", as_notes=True)
    assert (done.notes, done.written, done.outcomes) == (1, 1, []) and facts(memory) == []
    (note,) = memory.recall("what does she do, sings?", JANE)
    assert (note.kind, note.id, note.metadata["item"]) == (
        "note",
        "langgraph:memories/jane/k1",
        '{"mood": "glad"}',
    )
    assert (
        import_dump(memory, tmp_path, LANGGRAPH, "langgraph", as_notes=True).written == 0
        and len(memory.index) == 1
    )


def test_a_changed_note_is_written_again(memory: Memory, tmp_path: Path) -> None:
    for text, written in (("Jane sings", 1), ("Jane sings", 0), ("Jane hums", 1)):
        dump = [{"namespace": ["m"], "key": "k", "value": {"text": text}}]
        assert import_dump(memory, tmp_path, dump, "langgraph", as_notes=True).written == written
    assert [one.text for one in memory.index.list(JANE)] == ["Jane hums"]


def test_the_nested_text_of_langmem_records_is_imported(memory: Memory, tmp_path: Path) -> None:
    dump = [
        {"namespace": ["memories", "jane"], "key": "k",
         "value": {"kind": "Memory", "content": {"content": "Jane plays the oud.", "mood": "glad"}},
         "created_at": "2025-01-01T00:00:00+00:00", "updated_at": "2025-01-01T00:00:00+00:00"},
        {"namespace": ["profile"], "key": "p", "value": {"kind": "Profile", "content": {"name": "Jane"}}},
    ]  # fmt: skip
    done = import_dump(memory, tmp_path, dump, "langgraph")
    assert facts(memory) == ["Jane plays the oud."] and done.left_out == {"no text in the value": 1}
    (fact,) = memory.list(JANE)
    assert isinstance(fact, Fact) and json.loads(fact.metadata["item"]) == {"kind": "Memory", "mood": "glad"}


def test_edges_of_zep_are_of_a_slot_and_nodes_are_summed_up(memory: Memory, tmp_path: Path) -> None:
    nodes = [
        {"uuid": "n1", "name": "Jane", "summary": "Jane is a nurse", "created_at": "2024-01-01T00:00:00Z"},
        {"uuid": "n2", "name": "Ghent", "summary": ""},
    ]
    edge = {"uuid": "e", "fact": "She lives in Ghent", "name": "LIVES_IN", "created_at": "2024-01-01T00:00:00Z",
            "valid_at": "2024-01-01T00:00:00Z", "source_node_uuid": "n1", "target_node_uuid": "n2"}  # fmt: skip
    bare = {
        "uuid": "f",
        "fact": "Jane works at Sol Bakery",
        "name": "WORKS_AT",
        "created_at": "2024-01-01T00:00:00Z",
    }
    odd = {"uuid": "g", "fact": "It rained", "name": "HAD_WEATHER", "created_at": "2024-01-01T00:00:00Z"}
    done = import_dump(memory, tmp_path, {"edges": [edge, bare, odd], "nodes": nodes}, "zep")
    assert done.left_out == {"a node without a summary": 1} and done.refused == {}
    said = {
        one.text: (one.subject, one.predicate, one.value)
        for one in memory.list(JANE)
        if isinstance(one, Fact)
    }
    assert said == {
        "She lives in Ghent": ("Jane", "lives in", "Ghent"),
        "Jane works at Sol Bakery": ("Jane", "works at", None),
        "It rained": ("", "", None),
        "Jane is a nurse": ("Jane", "", None),
    }
    memory.propose(FactCandidate("Jane lives in Bergen", "Jane", "lives in"), scope=JANE, source="r")
    assert "She lives in Ghent" not in facts(memory) and "Jane lives in Bergen" in facts(memory)
    assert import_dump(memory, tmp_path, {"nodes": nodes}, "zep").found == 1


def test_deleted_and_persona_blocks_of_letta_are_left_out(memory: Memory, tmp_path: Path) -> None:
    blocks = [
        {"label": "persona", "value": "I am a careful travel agent."},
        {"label": "human", "value": "Likes trains.", "created_at": "2025-01-01T00:00:00+00:00"},
        {"label": "old", "value": "Likes ships.", "is_deleted": True},
    ]
    done = import_dump(memory, tmp_path, {"agent_type": "memgpt_agent", "core_memory": blocks}, "letta")
    assert facts(memory) == ["Likes trains."] and done.left_out == {
        "the agent's persona, not about the user": 1,
        "deleted there": 1,
    }
    (fact,) = memory.list(JANE)
    assert isinstance(fact, Fact) and fact.said_at == datetime(2025, 1, 1, tzinfo=timezone.utc)
    passages = [{"id": "p", "text": "Jane prefers the aisle.", "is_deleted": True}]
    assert import_dump(memory, tmp_path, passages, "letta").left_out == {"deleted there": 1}


def test_headings_of_claude_are_no_statements(memory: Memory, tmp_path: Path) -> None:
    text = (
        "# Personal\nJane swims.\n- Jane bakes\n**Brief history**\n\n*Recent months*\n\nJane planned a trip."
    )
    import_dump(memory, tmp_path, {"conversations_memory": text}, "claude")
    assert {one.text: one.metadata["heading"] for one in memory.list(JANE) if isinstance(one, Fact)} == {
        "Jane swims.": "Personal",
        "Jane bakes": "Personal",
        "Jane planned a trip.": "Recent months",
    }


@pytest.mark.parametrize("kind", ["mem0", "letta", "zep", "langgraph", "chatgpt", "claude"])
@pytest.mark.parametrize("dump", [{"foo": 1}, {}, {"results": "x"}])
def test_an_object_of_another_kind_is_refused(memory: Memory, tmp_path: Path, kind: str, dump: Any) -> None:
    with pytest.raises(ValueError, match="path: expected a list, or an object with"):
        import_dump(memory, tmp_path, dump, kind)


def test_records_rejected_by_the_gate_are_counted(memory: Memory, tmp_path: Path) -> None:
    done = import_dump(memory, tmp_path, {"results": [{"id": "1", "memory": "x" * 70_000}]}, "mem0")
    assert done.written == 0 and list(done.refused.values()) == [1] and done.left_out == {}


def test_lines_of_json_and_other_files(memory: Memory, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(one) for one in MEM0["results"])
    assert import_dump(memory, tmp_path, lines, "mem0").found == 3
    raw = "\n".join(
        json.dumps({"memory": f"Jane saw film {n}\u2028twice\x85"}, ensure_ascii=False) for n in (1, 2)
    )
    assert import_dump(memory, tmp_path, raw, "mem0").found == 2  # these characters end no line
    with pytest.raises(ValueError, match="path: expected JSON"):
        import_dump(memory, tmp_path, "tea", "mem0")
    with pytest.raises(ValueError, match="path: expected a list"):
        import_dump(memory, tmp_path, "5", "zep")
    with pytest.raises(ValueError, match="kind: expected one of mem0, letta"):
        import_dump(memory, tmp_path, [], "tea")
