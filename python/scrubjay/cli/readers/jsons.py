"""Reads JSON and JSON Lines: objects with a text, conversations, Slack's messages, exports of `scrubjay export`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from scrubjay.cli.reader_state import InputError, Reading, decode
from scrubjay.cli.readers import chats, slack
from scrubjay.cli.readers.records import read_object
from scrubjay.cli.readers.sources import Source


def read_lines(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the records of JSON Lines; missing ids become "file:line"."""
    made_by: Any = None  # the embedder that an export names for all its vectors
    name = source.name
    # not splitlines(): JSON strings may contain U+2028 and other line separators
    for number, line in enumerate(decode(source.read(), name, reading.skips).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        value = _parsed(line, where)
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: expected an object, got {type(value).__name__}")
        if number == 1 and "scrubjay_export" in value:
            made_by = value.get("embedder")
            continue
        if "sealed" in value and "text" not in value:
            raise InputError(
                f"{where}: the memories of an encrypted tenant; index.admin.import_() reads them, with keys"
            )
        if "key" in value and "tenant" in value and "text" not in value:
            continue  # the header of sealed records
        if made_by is not None and "vector" in value:
            value = {**value, "embedder": made_by}
        yield from read_object(value, f"{name}:{number}", where, name, reading)


def read_json(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the records of one JSON document; missing ids become "file:entry"."""
    name = source.name
    value = _parsed(decode(source.read(), name, reading.skips), name)
    if slack.is_messages(value):
        yield from slack.read(value, source, reading)
        return
    if (kind := slack.is_listing(source, value)) is not None:
        raise InputError(f"{name}: Slack's list of {kind}, which holds no messages")
    if chats.is_messages(value):
        value = {"messages": value}
    if not isinstance(value, (Mapping, list)):
        raise InputError(f"{name}: expected an object or a list of objects, got {type(value).__name__}")
    for number, item in enumerate([value] if isinstance(value, Mapping) else value, start=1):
        where = f"{name}: entry {number}"
        if not isinstance(item, Mapping):
            raise InputError(f"{where}: expected an object, got {type(item).__name__}")
        yield from read_object(item, f"{name}:{number}", where, name, reading)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: expected JSON: {error}") from None
