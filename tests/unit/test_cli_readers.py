"""The memories that the command line reads from files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.cli.readers import InputError, read_paths
from scrubjay.documents.turns import as_turn

LOCAL = Scope("local", user="me")


def read(path: Path, content: Any = None) -> list[dict[str, Any]]:
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return list(read_paths([str(path)], LOCAL))


def test_a_paragraph_of_any_length_becomes_records_that_an_embedder_reads(tmp_path: Path) -> None:
    sentence = "Every pump of the hall runs at night. "
    (tmp_path / "long.txt").write_text(sentence * 500 + "\n\nShort.", encoding="utf-8")
    (tmp_path / "long.md").write_text("# Halls\n" + sentence * 500, encoding="utf-8")
    for name in ("long.txt", "long.md"):
        records = read(tmp_path / name)
        texts = [record["text"].removeprefix("Halls\n") for record in records]
        assert len(texts) > 15 and all(len(text) <= 1200 for text in texts)
        assert "".join("".join(texts).removesuffix("Short.").split()) == "".join((sentence * 500).split())
        assert len({record["id"] for record in records}) == len(records)


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "text": "a\u2028b", "meta": {"speaker": "Ann", "ts": "2026-01-01"}, "lang": "en"},
        {"content": "no id", "timestamp": 5},
    ]
    records = read(tmp_path / "x.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    assert records == [
        {
            "id": "7",
            "text": "a\u2028b",
            "scope": LOCAL,
            "metadata": {"lang": "en", "speaker": "Ann"},
            "created_at": "2026-01-01",
        },
        {
            "id": f"{tmp_path.as_posix()}/x.jsonl:2",
            "text": "no id",
            "scope": LOCAL,
            "metadata": {},
            "created_at": 5,
        },
    ]


def test_a_context_is_a_field_if_it_is_a_text(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "x", "context": "Riga"}, {"id": "b", "text": "y", "context": {"page": 3}}]
    first, second = read(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    assert (first["context"], first["metadata"]) == ("Riga", {})
    assert "context" not in second and second["metadata"] == {"context": {"page": 3}}


@pytest.mark.parametrize(
    ("fields", "scope"),
    [
        ({}, LOCAL),
        ({"user": "jane"}, Scope("local", user="jane")),
        ({"tenant": "acme"}, Scope("acme")),
        ({"tenant": "acme", "user": None, "agent": "coder"}, Scope("acme", agent="coder")),
        ({"scope": "conv-26"}, Scope("local", user="conv-26")),
        ({"meta": {"scope": "conv-26"}}, Scope("local", user="conv-26")),
        ({"scope": {"tenant": "acme", "agent": "coder"}}, Scope("acme", agent="coder")),
        ({"metadata": {"user": "jane"}}, Scope("local", user="jane")),
    ],
)
def test_a_record_that_names_its_scope_keeps_it(tmp_path: Path, fields: dict[str, Any], scope: Scope) -> None:
    assert read(tmp_path / "x.jsonl", {"text": "a", **fields})[0]["scope"] == scope


def test_a_list_of_role_and_content(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "My locker is 118."},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Noted."}, {"type": "image_url", "image_url": {}}],
        },
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": None},
    ]
    for name, content in (
        ("a.json", messages),
        ("b.json", {"messages": messages}),
        ("c.jsonl", {"messages": messages}),
    ):
        records = read(tmp_path / name, content)
        where = (tmp_path / name).as_posix()
        run = f"{where}:1"
        assert [(record["text"], record["metadata"]) for record in records] == [
            ("My locker is 118.", {"role": "user", "turn": 0, **as_turn(run, 0, "user")}),
            ("Noted.", {"role": "assistant", "turn": 1, **as_turn(run, 1, "assistant")}),
        ]
        assert [record["id"] for record in records] == [f"{where}:1/0", f"{where}:1/1"]


def test_an_export_of_chatgpt_follows_the_branch_that_was_seen_last(tmp_path: Path) -> None:
    def node(id: str, parent: str | None, role: str, *parts: Any) -> dict[str, Any]:
        message = {"author": {"role": role}, "create_time": 1700000000.5, "content": {"parts": list(parts)}}
        return {"id": id, "parent": parent, "message": message if role else None}

    nodes = [
        node("root", None, ""),
        node("q", "root", "user", "I prefer trains."),
        node("old", "q", "assistant", "an answer that was regenerated"),
        node("new", "q", "assistant", "Trains it is.", {"asset_pointer": "image"}),
    ]
    conversation = {
        "title": "Trip",
        "conversation_id": "c1",
        "current_node": "new",
        "mapping": {n["id"]: n for n in nodes},
    }
    records = read(tmp_path / "conversations.json", [conversation])
    assert [(record["id"], record["text"]) for record in records] == [
        ("c1/0", "I prefer trains."),
        ("c1/1", "Trains it is."),
    ]
    first = {"role": "user", "turn": 0, "conversation": "Trip", **as_turn("c1", 0, "user")}
    assert records[0]["metadata"] == first
    assert records[0]["created_at"] == 1700000000.5
    nodes[0]["parent"] = "new"  # a cycle must end
    assert len(read(tmp_path / "conversations.json", [conversation])) == 2


def test_an_export_of_claude(tmp_path: Path) -> None:
    chat = {
        "uuid": "u1",
        "name": "Locker",
        "chat_messages": [
            {"sender": "human", "text": "My locker is 118.", "created_at": "2026-01-01T00:00:00Z"}
        ],
    }
    (record,) = read(tmp_path / "x.json", [chat])
    assert (record["id"], record["created_at"]) == ("u1/0", "2026-01-01T00:00:00Z")
    said = {"role": "human", "turn": 0, "conversation": "Locker", **as_turn("u1", 0, "human")}
    assert record["metadata"] == said


MARKDOWN = """---
tags: [x]
---
Before any heading.

# Setup
Install it.

```sh
# no heading
make
```

## Docker ##
Use acme/base:1.2.

# Empty
"""


def test_markdown_is_cut_at_headings(tmp_path: Path) -> None:
    records = read(tmp_path / "notes.md", MARKDOWN)
    assert [record["text"] for record in records] == [
        "Before any heading.",
        "Setup\nInstall it.\n\n```sh\n# no heading\nmake\n```",
        "Setup > Docker\nUse acme/base:1.2.",
    ]
    assert [record["metadata"].get("heading") for record in records] == [None, "Setup", "Docker"]
    assert records[0]["id"].endswith("notes.md#1")


def test_long_sections_are_cut_between_paragraphs(tmp_path: Path) -> None:
    paragraphs = [f"paragraph {i} " + "x" * 500 for i in range(5)]
    records = read(tmp_path / "long.txt", "\n\n".join(paragraphs))
    assert "\n\n".join(record["text"] for record in records) == "\n\n".join(paragraphs)
    assert [len(record["text"]) <= 1200 for record in records] == [True] * 3


def test_folders_give_their_markdown_and_text(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "sub/c.markdown", ".git/d.md", "e.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [record["text"] for record in read(tmp_path)] == ["a.txt", "b.md", "sub/c.markdown"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="found none"):
        read(tmp_path / "empty")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "a"}\n'))
    (record,) = read_paths(["-"], LOCAL)
    assert (record["id"], record["text"]) == ("standard input:1", "a")


def test_bytes_that_are_not_utf8_do_not_stop_it(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert read(tmp_path / "latin.txt")[0]["text"] == "caf\ufffd"


@pytest.mark.parametrize("content", ["7", '"text"', "[1]", "{", '[{"role": "user"}]', '{"mapping": 1}'])
def test_json_of_another_shape_is_named(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"x\.json: "):
        read(tmp_path / "x.json", content)
