"""Reads a chat that WhatsApp exported as text.

Lines are "[31/12/2025, 21:04:05] Ann: ..." or "12/31/25, 9:04 PM - Ann: ...", depending on the phone's language.
Whether the day or the month comes first is inferred from the dates of the whole chat; if they are ambiguous, the month
comes first only if there is AM or PM. The export has no time zone: times are taken as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, NamedTuple

from scrubjay.cli.reader_state import Reading
from scrubjay.documents.turns import as_turn

_LINE = re.compile(
    r"\[?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{1,4}),?\s+(?P<hour>\d{1,2})[:.](?P<minute>\d{2})"
    r"(?:[:.](?P<second>\d{2}))?\s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?(?:\]\s*|\s+[-\u2013]\s+)(?P<rest>.*)\Z"
)
_SAID = re.compile(r"(?P<author>[^:]{1,100}):\s(?P<text>.*)\Z")
_MEDIA = re.compile(
    r"<[^<>]{1,60}>\Z|\u200e?(?:image|video|audio|sticker|GIF|document|Contact card) omitted\Z", re.IGNORECASE
)
_MARKS = {ord(mark): None for mark in "\u200e\u200f\u202a\u202c\ufeff"} | {
    ord(space): " " for space in "\u202f\u00a0"
}


class _Message(NamedTuple):
    when: re.Match[str]
    author: str | None
    text: str


def is_chat(content: str) -> bool:
    """Whether a text is such an export: its first line and many more begin with a time, and some of them with a
    name."""
    lines = [line.translate(_MARKS) for line in content[:20000].split("\n") if line.strip()][:40]
    matches = [match for line in lines if (match := _LINE.match(line.strip("\r")))]
    if not lines or not matches or _LINE.match(lines[0].strip("\r")) is None:
        return False
    return any(_SAID.match(match["rest"]) for match in matches) and 4 * len(matches) >= len(lines)


def read(content: str, name: str, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield one record per message, with the id "file#number"; system messages, and media without text, are skipped."""
    messages = list(_messages(content))
    order = _order([message.when for message in messages])
    chat = re.sub(r"\A.*WhatsApp Chat (?:with|-)\s*", "", re.sub(r"\.txt\Z", "", name.rpartition("/")[2]))
    number = 0
    for message in messages:
        if message.author is None:
            reading.skips.add(name, "a system message of WhatsApp")
            continue
        number += 1  # media count, too, so that later ids do not depend on whether media are exported
        if _MEDIA.match(message.text.strip()):
            reading.skips.add(name, "media without text")
            continue
        try:
            created_at = _time(message.when, order)
        except ValueError:
            reading.skips.add(name, f"an invalid time: {message.when[0][:20]}")
            continue
        yield {
            "id": f"{name}#{number}",
            "text": message.text.strip(),
            "scope": reading.scope,
            "metadata": {
                "author": message.author,
                "chat": chat,
                **as_turn(name, number, message.author),
            },
            "created_at": created_at,
        }


def _messages(content: str) -> Iterator[_Message]:
    last: _Message | None = None
    for line in content.replace("\r\n", "\n").split("\n"):
        match = _LINE.match(line.translate(_MARKS))
        if match is None:
            if last is not None:
                last = last._replace(text=f"{last.text}\n{line}")
            continue
        if last is not None:
            yield last
        said = _SAID.match(match["rest"])
        last = (
            _Message(match, None, match["rest"])
            if said is None
            else _Message(match, said["author"].strip(), said["text"])
        )
    if last is not None:
        yield last


def _order(times: list[re.Match[str]]) -> str:
    """Return "ymd", "dmy" or "mdy"."""
    if any(len(time["a"]) == 4 for time in times):
        return "ymd"
    if any(int(time["a"]) > 12 for time in times):
        return "dmy"
    if any(int(time["b"]) > 12 for time in times):
        return "mdy"
    return "mdy" if any(time["half"] for time in times) else "dmy"


def _time(match: re.Match[str], order: str) -> datetime:
    parts = dict(zip(order, (int(match["a"]), int(match["b"]), int(match["c"])), strict=True))
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
    year = parts["y"] + (2000 if parts["y"] < 100 else 0)
    return datetime(
        year,
        parts["m"],
        parts["d"],
        hour,
        int(match["minute"]),
        int(match["second"] or 0),
        tzinfo=timezone.utc,
    )
