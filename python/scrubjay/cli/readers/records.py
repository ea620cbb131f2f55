"""Converts a JSON object, or a row of a table, to a record for `Index.upsert_many`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scrubjay._native import Scope
from scrubjay.cli.reader_state import InputError, Reading
from scrubjay.cli.readers import chats
from scrubjay.documents.payload import to_utc

TEXT_FIELDS = ("text", "content", "memory", "message", "body")
TIME_FIELDS = ("created_at", "timestamp", "ts", "time", "date", "create_time")
ID_FIELDS = ("id",)
_META_FIELDS = ("metadata", "meta")
_SCOPE_FIELDS = ("scope", "tenant", "user", "agent")
_PASSAGE_FIELDS = ("spans", "passages")
_EMBEDDING = "embedding"  # ignored: its model is unknown, and vectors of two models are not comparable
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?\Z")


def read_object(
    value: Mapping[str, Any], fallback_id: str, where: str, file: str, reading: Reading
) -> Iterator[dict[str, Any]]:
    """Yield the record of an object, or one for each turn of a conversation.

    Args:
        value: the object.
        fallback_id: the id of an object without one.
        where: file and line, for messages.
        file: the file under which skipped turns and empty texts are counted.

    Raises:
        InputError: it has no text, or its scope is invalid, for example because of an empty name.
    """
    value = _renamed(value, where, reading)
    if chats.is_conversation(value):
        yield from chats.read(value, fallback_id, file, reading)
        return
    text = next((value[field] for field in TEXT_FIELDS if isinstance(value.get(field), str)), None)
    if text is None:
        raise InputError(f"{where}: expected a text under one of {', '.join(TEXT_FIELDS)}, or a conversation")
    vector = value.get("vector")
    if value.get(_EMBEDDING) is not None:
        reading.skips.note(
            file, "a field embedding: ignored, vectors are computed again; a field vector would be kept"
        )
    if not text.strip() and vector is None:
        reading.skips.add(file, "an empty text", at=place_of(where, file))
        return
    nested: Mapping[str, Any] = next(
        (value[field] for field in _META_FIELDS if isinstance(value.get(field), Mapping)), {}
    )
    passages = {
        name: value[name] for name in _PASSAGE_FIELDS if "tenant" in value and _are_passages(value.get(name))
    }
    known = (
        *passages,
        "id",
        "vector",
        _EMBEDDING,
        "embedder",
        "text",
        *_META_FIELDS,
        *_SCOPE_FIELDS,
        *TIME_FIELDS,
    )
    record: dict[str, Any] = {
        "id": str(value["id"]) if value.get("id") is not None else fallback_id,
        "text": text,
        "scope": _scope_of(value, nested, where, reading.scope),
        "metadata": {
            **{
                key: item
                for key, item in value.items()
                if key not in known and item is not text and not (key == "context" and isinstance(item, str))
            },
            **{key: item for key, item in nested.items() if key not in (*_SCOPE_FIELDS, *TIME_FIELDS)},
        },
        "created_at": _moment(_first(value, nested, TIME_FIELDS), where),
    }
    if isinstance(value.get("context"), str):
        record["context"] = value["context"]
    if vector is not None:
        record["vector"] = vector
    if passages and _fits(own := next(iter(passages.values())), vector):
        record["passages"] = own
    if value.get("embedder") is not None:
        record["embedder"] = value["embedder"]
    yield record


def _are_passages(given: Any) -> bool:
    """Whether a field has the form in which exports write passages: pairs of numbers, or false for no passages."""
    return given is False or (
        isinstance(given, list)
        and bool(given)
        and all(isinstance(pair, list) and len(pair) == 2 and {int} == set(map(type, pair)) for pair in given)
    )


def _fits(passages: Any, vector: Any) -> bool:
    """Whether a vector may be written with these passages; vectors without places have (0, 0) for each."""
    rows = len(vector) if isinstance(vector, list) and vector and isinstance(vector[0], list) else None
    if passages is False:
        return rows is None
    return all(start < end for start, end in passages) and (vector is None or rows == len(passages))


def _renamed(value: Mapping[str, Any], where: str, reading: Reading) -> Mapping[str, Any]:
    """Return the object with the fields named on the command line renamed to the known ones."""
    for field, column in reading.columns.items():
        if column == field:
            continue
        if not column:
            value = {key: item for key, item in value.items() if key != field}
            continue
        if column not in value:
            raise InputError(
                f"{where}: expected a field {column!r}, got {', '.join(map(repr, value)) or 'none'}"
            )
        value = {
            field: value[column],
            **{key: item for key, item in value.items() if key not in (column, field)},
        }
    return value


def place_of(where: str, file: str) -> str:
    """Return the position in a file that messages show beside its name.

    >>> place_of("a.csv: row 2", "a.csv"), place_of("a.jsonl:7", "a.jsonl")
    ('row 2', 'line 7')
    """
    place = where.removeprefix(file)
    return f"line {place[1:]}" if place[1:].isdecimal() else place.removeprefix(": ")


def _moment(value: Any, where: str) -> Any:
    """Return the time of a record unchanged, except that seconds since 1970 written as text become a number.

    Raises:
        InputError: it is not a time.
    """
    moment = float(value) if isinstance(value, str) and _SECONDS.match(value) else value
    try:
        to_utc(moment)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None
    return moment


def _scope_of(value: Mapping[str, Any], nested: Mapping[str, Any], where: str, scope: Scope) -> Scope:
    """Return the scope of the record, or else that of the command line. A scope that is a str names a user."""
    named = {field: _first(value, nested, (field,)) for field in _SCOPE_FIELDS}
    if all(item is None for item in named.values()):
        return scope
    whole = named.pop("scope")
    if isinstance(whole, Mapping):
        named = {field: whole.get(field) for field in named}
    elif whole is not None:
        named["user"] = whole
    for field, item in named.items():
        if item is not None and not isinstance(item, str):
            raise InputError(f"{where}: {field}: expected a str, got {item!r}")
        if item == "":  # would mean all users, where the command line may name one
            raise InputError(
                f"{where}: {field}: expected a name, got ''; for no {field} in particular leave the field out"
            )
    try:
        return Scope(
            scope.tenant if named["tenant"] is None else named["tenant"], named["user"], named["agent"]
        )
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _first(value: Mapping[str, Any], nested: Mapping[str, Any], fields: tuple[str, ...]) -> Any:
    for field in fields:
        for source in (value, nested):
            if source.get(field) is not None:
                return source[field]
    return None
