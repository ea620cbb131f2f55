"""Reads the messages of a channel that Slack exported: a folder per channel, with a JSON list per day.

Names come from `users.json` of the export, if it is beside the folder. A message's id is "slack:channel:ts", so the
same message of a later export replaces it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from scrubjay.cli.reader_state import Reading
from scrubjay.cli.readers.sources import Source
from scrubjay.documents.turns import as_turn

_TS = re.compile(r"\d{9,10}\.\d+\Z")
_LINK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_LISTS = ("users", "channels", "groups", "dms", "mpims", "integration_logs", "canvases", "lists", "org_users")
_SAID = (
    None,
    "",
    "thread_broadcast",
    "me_message",
    "file_share",
    "bot_message",
    "reply_broadcast",
    "file_comment",
)


def is_messages(value: Any) -> bool:
    """Whether a JSON document is one day of a channel."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(item, Mapping) and isinstance(item.get("ts"), str) and _TS.match(item["ts"])
            for item in value
        )
        and any(item.get("type") == "message" for item in value)
    )


def is_listing(source: Source, value: Any) -> str | None:
    """Return what a file at the root of an export lists, or None if it is not a list."""
    if source.stem not in _LISTS or not isinstance(value, list) or not source.found:
        return None
    return source.stem if all(isinstance(item, Mapping) and "text" not in item for item in value) else None


def read(messages: list[Mapping[str, Any]], source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield one record per message with its author, channel and time; joins, topic changes and the like are skipped."""
    names = _names(source)
    channel = PurePosixPath(source.name).parent.name or source.stem
    n_turns: dict[str, int] = {}
    for message in messages:
        if message.get("type") != "message" or message.get("subtype") not in _SAID:
            kind = message.get("subtype") or message.get("type") or "no type"
            reading.skips.add(source.name, f"an event without an author: {kind}")
            continue
        text = _plain(message.get("text") or "", names)
        if not text.strip():
            reading.skips.add(source.name, "a message without text")
            continue
        profile = message.get("user_profile")
        own = profile.get("real_name") if isinstance(profile, Mapping) else None
        author = names.get(str(message.get("user"))) or own or message.get("username") or message.get("user")
        metadata: dict[str, Any] = {"channel": channel}
        if isinstance(author, str):
            metadata["author"] = author
        if isinstance(thread := message.get("thread_ts"), str) and thread != message["ts"]:
            metadata["thread"] = f"slack:{channel}:{thread}"
        # A conversation is one day of the channel or of a thread; the message that began a thread belongs to it.
        run = f"slack:{channel}:{thread if isinstance(thread, str) else ''}:{source.stem}"
        n_turns[run] = n_turns.get(run, 0) + 1
        metadata |= as_turn(run, n_turns[run], author)
        yield {
            "id": f"slack:{channel}:{message['ts']}",
            "text": text,
            "scope": reading.scope,
            "metadata": metadata,
            "created_at": float(message["ts"]),
        }


def _names(source: Source) -> dict[str, str]:
    try:
        users = json.loads(source.neighbour("users.json") or b"[]")
    except ValueError:
        return {}
    names = {}
    for user in users if isinstance(users, list) else ():
        if isinstance(user, Mapping) and isinstance(user.get("id"), str):
            name = user.get("real_name") or user.get("name")
            if isinstance(name, str):
                names[user["id"]] = name
    return names


def _plain(text: str, names: Mapping[str, str]) -> str:
    """Return the text without Slack's markup: mentions as names, links as their labels."""

    def said(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            return "@" + (names.get(target[1:]) or label or target[1:])
        if target.startswith(("#", "!")):
            return target[0].replace("!", "@") + (label or target[1:]).lstrip("@#")
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(said, text))
