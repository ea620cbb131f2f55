"""Reads conversations: exports of ChatGPT and Claude, and plain lists of role and content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrubjay.cli.reader_state import Reading
from scrubjay.documents.turns import as_turn

_SPOKEN = ("user", "assistant", "human", "ai", "model")


def is_conversation(value: Mapping[str, Any]) -> bool:
    """Whether an object of a JSON file is one conversation."""
    return (
        isinstance(value.get("mapping"), Mapping)
        or isinstance(value.get("chat_messages"), list)
        or is_messages(value.get("messages"))
    )


def is_messages(value: Any) -> bool:
    """Whether `value` is a list of messages with role and content."""
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and ("role" in item or "author" in item) and "content" in item
        for item in value
    )


def read(
    conversation: Mapping[str, Any], fallback_id: str, file: str, reading: Reading
) -> Iterator[dict[str, Any]]:
    """Yield one record for each turn of a speaker; system and tool messages, and turns without text, are skipped.

    Ids are "conversation/turn"; the metadata have role, turn (from 0) and the conversation's title, if any, and the
    same as `run`, `position` and `speaker` (:class:`scrubjay.Neighbours`).
    """
    name = next(
        (conversation[key] for key in ("id", "conversation_id", "uuid") if conversation.get(key)), fallback_id
    )
    title = conversation.get("title") or conversation.get("name")
    turn = 0
    for message in _messages(conversation):
        role = _role(message)
        text = _text(message.get("content", message.get("text"))) or _text(message.get("text"))
        if role not in _SPOKEN:
            reading.skips.add(file, f"a message of the role {role or 'none'}, which is not a speaker")
            continue
        if not text.strip():
            reading.skips.add(file, "a turn without text (an image or a call)")
            continue
        metadata = {"role": role, "turn": turn, **as_turn(str(name), turn, role)}
        if isinstance(title, str):
            metadata["conversation"] = title
        yield {
            "id": f"{name}/{turn}",
            "text": text,
            "scope": reading.scope,
            "metadata": metadata,
            "created_at": next(
                (message[key] for key in ("create_time", "created_at", "timestamp") if message.get(key)), None
            ),
        }
        turn += 1


def _messages(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, Mapping):
        return list(conversation.get("chat_messages") or conversation["messages"])
    # ChatGPT stores a tree of edits: the visible conversation is the path from the current node up to the root
    nodes: list[Mapping[str, Any]] = []
    node_id = conversation.get("current_node")
    seen = set()
    while isinstance(node_id, str) and isinstance(mapping.get(node_id), Mapping) and node_id not in seen:
        seen.add(node_id)
        nodes.append(mapping[node_id])
        node_id = mapping[node_id].get("parent")
    nodes.reverse()
    if not nodes:
        nodes = [node for node in mapping.values() if isinstance(node, Mapping)]
    return [node["message"] for node in nodes if isinstance(node.get("message"), Mapping)]


def _role(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    role = (
        author.get("role")
        if isinstance(author, Mapping)
        else author or message.get("role") or message.get("sender")
    )
    return role if isinstance(role, str) else ""


def _text(content: Any) -> str:
    """Return the text of a message's content: a str, {"parts": [...]}, or a list of parts, some of them text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text(content.get("parts", content.get("text")))
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    return ""
