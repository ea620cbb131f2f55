"""Dumps of other memory systems: each reader turns one into statements with times, ids and owners.

Readers know the documented formats and skip everything else, with a reason; they write nothing.

    mem0       `get_all()`: {"results": [{"id", "memory", "user_id", "agent_id", "created_at", "metadata"}]}
    letta      an agent file (.af): {"agents": [..], "blocks": [{"label", "value"}]}; or archival passages: [{"text"}].
               Deleted passages are left out, and so is the block `persona`, which is about the agent
    zep        a graph: {"edges": [{"uuid", "fact", "name", "source_node_uuid", "created_at", "valid_at", ..}], "nodes":
               [{"uuid", "name", "summary"}]}. The name of an edge (LIVES_IN) becomes the predicate, its nodes, if
               present, subject and value; a summary becomes a statement about its node
    langgraph  items of a store: [{"namespace", "key", "value", "created_at", "updated_at"}]; LangMem's have the text in
               {"kind": "Memory", "content": {"content"}}
    chatgpt    conversations.json (messages to the tool `bio`), or a list of texts
    claude     memories.json: [{"conversations_memory", "project_memories"}], Markdown, paragraph by paragraph
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_TEXT_FIELDS = ("text", "content", "memory", "data", "fact", "value")
"""Fields that usually contain the text of a LangGraph store's item."""


class ForeignStatement(NamedTuple):
    """A statement of another memory system."""

    text: str
    id: str
    at: Any = None
    """Time at which it was said: ISO 8601 or seconds since 1970; None: unknown."""
    user: str | None = None
    agent: str | None = None
    valid_from: Any = None
    valid_until: Any = None
    metadata: Mapping[str, Any] | None = None
    subject: str = ""
    predicate: str = ""
    value: str | None = None


@dataclass
class ForeignDump:
    """The statements of a dump, and the number of parts left out, by reason."""

    said: list[ForeignStatement] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave(self, reason: str) -> None:
        """Count a part that is left out."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def _mem0(dump: Any, statements: ForeignDump) -> None:
    for item in _items(dump, "results", "memories", texts=("memory", "text")):
        text = _text_in(item, "memory", "text")
        if text is None:
            statements.leave("no text")
            continue
        statements.said.append(
            ForeignStatement(
                text,
                _id_in(item, "id"),
                item.get("updated_at") or item.get("created_at"),
                item.get("user_id"),
                item.get("agent_id"),
                metadata=_plain(item.get("metadata")),
            )
        )


def _letta(dump: Any, statements: ForeignDump) -> None:
    if isinstance(dump, Mapping) and ("blocks" in dump or "agents" in dump or "core_memory" in dump):
        agents = [item for item in dump.get("agents") or [] if isinstance(item, Mapping)] or [dump]
        blocks = [*(dump.get("blocks") or []), *(dump.get("core_memory") or [])]
        blocks += [item for agent in agents for item in (agent.get("memory_blocks") or [])]
        for block in blocks:
            if not isinstance(block, Mapping) or not _text_in(block, "value"):
                statements.leave("an empty block")
                continue
            label = str(block.get("label") or "block")
            if label == "persona":
                statements.leave("the agent's persona, not about the user")
                continue
            if block.get("is_deleted"):
                statements.leave("deleted there")
                continue
            at = block.get("updated_at") or block.get("created_at")
            for i, part in enumerate(_paragraphs(str(block["value"]))):
                statements.said.append(
                    ForeignStatement(
                        part, f"{_id_in(block, 'id') or label}.{i}", at, metadata={"label": label}
                    )
                )
        for agent in agents:
            for _ in agent.get("messages") or []:
                statements.leave("a message, not a memory")
        return
    for item in _items(dump, "passages", "archival_memory", texts=("text", "content")):
        text = _text_in(item, "text", "content")
        if text is None:
            statements.leave("no text")
        elif item.get("is_deleted"):
            statements.leave("deleted there")
        else:
            statements.said.append(
                ForeignStatement(text, _id_in(item, "id"), item.get("created_at") or item.get("timestamp"))
            )


def _zep(dump: Any, statements: ForeignDump) -> None:
    nodes = _nodes_in(dump)
    names = {_id_in(item, "uuid", "uuid_"): _text_in(item, "name") for item in nodes}
    if not nodes or any(isinstance(dump.get(name), list) for name in ("edges", "facts")):
        for item in _items(dump, "edges", "facts", texts=("fact",)):
            text = _text_in(item, "fact")
            if text is None:
                statements.leave("no fact")
                continue
            # A fact that Zep marks as superseded (`expired_at`) is known to be over since then.
            until = item.get("invalid_at") or item.get("expired_at")
            name = _text_in(item, "name")
            predicate = "" if name is None else " ".join(name.replace("_", " ").split()).lower()
            subject = names.get(str(item.get("source_node_uuid"))) or _subject_in(text, predicate)
            statements.said.append(
                ForeignStatement(
                    text,
                    _id_in(item, "uuid", "uuid_"),
                    item.get("created_at"),
                    valid_from=item.get("valid_at"),
                    valid_until=until,
                    metadata=None if name is None else {"relation_name": name},
                    subject=subject if predicate else "",
                    predicate=predicate if subject else "",  # without a subject it has no slot
                    value=names.get(str(item.get("target_node_uuid"))) if predicate and subject else None,
                )
            )
    for item in nodes:
        text = _text_in(item, "summary")
        if text is None:
            statements.leave("a node without a summary")
        else:
            subject = _text_in(item, "name") or ""
            statements.said.append(
                ForeignStatement(text, _id_in(item, "uuid", "uuid_"), item.get("created_at"), subject=subject)
            )


def _nodes_in(dump: Any) -> list[Mapping[str, Any]]:
    nodes = dump.get("nodes") if isinstance(dump, Mapping) else None
    return [node for node in nodes if isinstance(node, Mapping)] if isinstance(nodes, list) else []


def _subject_in(fact: str, predicate: str) -> str:
    """Return the text before the words of the predicate: "Jane" in "Jane lives in Oslo"; "" if they do not occur."""
    match = (
        re.match(rf"(\S+(?: \S+){{0,3}}) {re.escape(predicate)}\b", fact, re.IGNORECASE)
        if predicate
        else None
    )
    return match[1] if match else ""


def _langgraph(dump: Any, statements: ForeignDump) -> None:
    for one in _items(dump, "items", "results", texts=("value",)):
        value = one.get("value")
        text = value if isinstance(value, str) else None
        if isinstance(value, Mapping):
            text = _text_in(value, *_TEXT_FIELDS)
            inner = value.get("content")
            if text is None and isinstance(inner, Mapping):  # the format of LangMem
                text = _text_in(inner, *_TEXT_FIELDS)
                if text is not None:
                    value = {**{name: item for name, item in value.items() if name != "content"}, **inner}
        if not text:
            statements.leave("no text in the value")
            continue
        namespace = one.get("namespace") or one.get("prefix") or []
        parts = namespace.split(".") if isinstance(namespace, str) else [str(part) for part in namespace]
        statements.said.append(
            ForeignStatement(
                text,
                "/".join([*parts, str(one.get("key", ""))]),
                one.get("updated_at") or one.get("created_at"),
                metadata={"namespace": parts, **(_rest(value, text) if isinstance(value, Mapping) else {})},
            )
        )


def _chatgpt(dump: Any, statements: ForeignDump) -> None:
    for n, item in enumerate(
        _items(dump, "memories", "conversations", texts=("content", "text", "memory", "mapping"))
    ):
        if isinstance(item.get("mapping"), Mapping):
            for node in item["mapping"].values():
                message = node.get("message") if isinstance(node, Mapping) else None
                if not isinstance(message, Mapping) or message.get("recipient") != "bio":
                    statements.leave("a message, not a memory")
                    continue
                parts = (message.get("content") or {}).get("parts") or []
                text = "\n".join(part for part in parts if isinstance(part, str)).strip()
                if text:
                    statements.said.append(
                        ForeignStatement(text, _id_in(message, "id"), message.get("create_time"))
                    )
                else:
                    statements.leave("no text")
        elif (text := _text_in(item, "content", "text", "memory") or "") != "":
            at = item.get("updated_at") or item.get("created_at") or item.get("created_timestamp")
            statements.said.append(ForeignStatement(text, _id_in(item, "id") or str(n), at))
        else:
            statements.leave("no text")


def _claude(dump: Any, statements: ForeignDump) -> None:
    for item in _items(dump, "memories", texts=("conversations_memory", "project_memories")):
        projects = item.get("project_memories") or {}
        memories = [("conversations", item.get("conversations_memory"))]
        memories += list(projects.items()) if isinstance(projects, Mapping) else []
        for where, text in memories:
            if not isinstance(text, str) or not text.strip():
                statements.leave("no text")
                continue
            for i, (heading, statement) in enumerate(_under_headings(text)):
                statements.said.append(
                    ForeignStatement(
                        statement,
                        f"{where}.{i}",
                        item.get("updated_at"),
                        metadata={"heading": heading, "part": str(where)},
                    )
                )


READERS: dict[str, Callable[[Any, ForeignDump], None]] = {
    "mem0": _mem0,
    "letta": _letta,
    "zep": _zep,
    "langgraph": _langgraph,
    "chatgpt": _chatgpt,
    "claude": _claude,
}
"""Reader by the name of the other memory system."""


# ---------------------------------------------------------------------- parts


def _items(dump: Any, *names: str, texts: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, or of the list under one of these names; a str becomes an object with a text.

    An object with one of the fields `texts` is an item itself.

    Raises:
        ValueError: the dump is none of these.
    """
    actual = type(dump).__name__
    if isinstance(dump, Mapping):
        actual = f"one with {', '.join(map(repr, list(dump)[:5]))}" if dump else "an empty one"
        alone = [dump] if any(name in dump for name in texts) else None
        dump = next((dump[name] for name in names if isinstance(dump.get(name), list)), alone)
    if not isinstance(dump, list):
        raise ValueError(f"path: expected a list, or an object with {' or '.join(names)}, got {actual}")
    for item in dump:
        if isinstance(item, str):
            yield {"text": item}
        elif isinstance(item, Mapping):
            yield item
        else:
            yield {}


def _text_in(item: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        if isinstance(item.get(name), str) and item[name].strip():
            return str(item[name]).strip()
    return None


def _id_in(item: Mapping[str, Any], *names: str) -> str:
    return next((str(item[name]) for name in names if item.get(name)), "")


def _plain(metadata: Any) -> Mapping[str, Any] | None:
    return metadata if isinstance(metadata, Mapping) and metadata else None


def _rest(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the fields of an item beside its text, as JSON on one line, so that nothing is lost."""
    rest = {name: content for name, content in value.items() if content != text}
    return {"item": json.dumps(rest, ensure_ascii=False)} if rest else {}


def _paragraphs(text: str) -> list[str]:
    parts = re.split(r"\n\s*\n|\n(?=[-*] )", text)
    return [re.sub(r"^[-*] ", "", part.strip()) for part in parts if part.strip()]


_HEADING = re.compile(r"(?:#+\s*(.+?)|\*\*(.+?)\*\*:?|\*(.+?)\*:?)")


def _under_headings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs and items of a Markdown text, each with the heading above it. A heading is a line of its
    own."""
    heading = ""
    lines = [f"\n{line}\n" if _HEADING.fullmatch(line.strip()) else line for line in text.split("\n")]
    for part in _paragraphs("\n".join(lines)):
        marked = _HEADING.fullmatch(part)
        if marked:
            heading = marked[1] or marked[2] or marked[3]
        else:
            yield heading, part
