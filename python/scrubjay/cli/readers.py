"""Reads memories from files: JSON Lines, chat exports, Markdown, plain text, recognised by suffix and content.

A record that names a tenant, user, agent or scope keeps it; the others get the scope of the command line. Ids become
str.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.cli import chats, prose

__all__ = ["InputError", "is_export", "paths_below", "read_paths"]

_TEXT_FIELDS = ("text", "content", "memory", "message", "body")
_TIME_FIELDS = ("created_at", "timestamp", "ts", "time", "date", "create_time")
_META_FIELDS = ("metadata", "meta")
_SCOPE_FIELDS = ("scope", "tenant", "user", "agent")
_PROSE_SUFFIXES = (".md", ".markdown", ".txt")


class InputError(Exception):
    """A file that cannot be read as memories; the message names file and line."""


def read_paths(paths: list[str], scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield records for `Index.upsert_many` from files and folders; "-" is JSON Lines on standard input.

    From folders only Markdown and text is read, hidden files and folders excepted. An `embedder` that a record names
    (`scrubjay index --out` writes it beside the vector) stays in it.

    Raises:
        InputError: a file is missing, or is not what its name says.
    """
    for name in paths:
        path = Path(name)
        if name == "-":
            yield from _read_jsonl(sys.stdin.read(), "standard input", scope)
        elif path.is_dir():
            files = [
                file
                for file in sorted(path.rglob("*"))
                if file.suffix.lower() in _PROSE_SUFFIXES
                and not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
            if not files:
                raise InputError(f"{name}: expected Markdown or text files in this folder, there are none")
            for file in files:
                yield from prose.read(_read_text(file), file.as_posix(), scope)
        elif path.suffix.lower() in _PROSE_SUFFIXES:
            yield from prose.read(_read_text(path), path.as_posix(), scope)
        elif path.suffix.lower() in (".jsonl", ".ndjson"):
            yield from _read_jsonl(_read_text(path), name, scope)
        elif path.suffix.lower() == ".json":
            yield from _read_json(_read_text(path), name, scope)
        else:
            raise InputError(
                f"{name}: expected a folder or a .jsonl, .ndjson, .json, .md, .markdown or .txt file"
            )


def paths_below(names: list[str]) -> Iterator[Path]:
    """Yield the files that :func:`read_paths` would read."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from (file for file in path.rglob("*") if file.suffix.lower() in _PROSE_SUFFIXES)
        elif name != "-":
            yield path


def is_export(path: Path) -> bool:
    """Whether a file is what `Admin.export` wrote: its first line says so."""
    try:
        with path.open("rb") as file:
            return b'"scrubjay_export"' in file.readline(1000)
    except OSError:
        return False


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _read_jsonl(content: str, name: str, scope: Scope) -> Iterator[dict[str, Any]]:
    made_by: Any = None  # the embedder that an export names for all its vectors
    # not splitlines(): JSON strings may hold U+2028 and the like
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: expected JSON: {error}") from None
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
            continue  # of the sealed ones that follow
        if made_by is not None and "vector" in value:
            value = {**value, "embedder": made_by}
        yield from _read_object(value, f"{Path(name).stem}:{number}", where, scope)


def _read_json(content: str, name: str, scope: Scope) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: expected JSON: {error}") from None
    if chats.is_messages(value):
        value = {"messages": value}
    if not isinstance(value, (Mapping, list)):
        raise InputError(f"{name}: expected an object or a list of objects, got {type(value).__name__}")
    for number, item in enumerate([value] if isinstance(value, Mapping) else value, start=1):
        if not isinstance(item, Mapping):
            raise InputError(f"{name}: entry {number}: expected an object, got {type(item).__name__}")
        yield from _read_object(item, f"{Path(name).stem}:{number}", f"{name}: entry {number}", scope)


def _read_object(
    value: Mapping[str, Any], fallback_id: str, where: str, scope: Scope
) -> Iterator[dict[str, Any]]:
    if chats.is_conversation(value):
        yield from chats.read(value, fallback_id, scope)
        return
    text = next((value[field] for field in _TEXT_FIELDS if isinstance(value.get(field), str)), None)
    if text is None:
        raise InputError(
            f"{where}: expected a text under one of {', '.join(_TEXT_FIELDS)}, or a conversation"
        )
    nested: Mapping[str, Any] = next(
        (value[field] for field in _META_FIELDS if isinstance(value.get(field), Mapping)), {}
    )
    record: dict[str, Any] = {
        "id": str(value["id"]) if value.get("id") is not None else fallback_id,
        "text": text,
        "scope": _scope_of(value, nested, where, scope),
        "metadata": {
            **{
                key: item
                for key, item in value.items()
                if key
                not in (
                    "id",
                    "vector",
                    "embedder",
                    *_TEXT_FIELDS[:1],
                    *_META_FIELDS,
                    *_SCOPE_FIELDS,
                    *_TIME_FIELDS,
                )
                and item is not text
            },
            **{key: item for key, item in nested.items() if key not in (*_SCOPE_FIELDS, *_TIME_FIELDS)},
        },
        "created_at": _first(value, nested, _TIME_FIELDS),
    }
    for field in ("vector", "embedder"):
        if value.get(field) is not None:
            record[field] = value[field]
    yield record


def _scope_of(value: Mapping[str, Any], nested: Mapping[str, Any], where: str, scope: Scope) -> Scope:
    """The scope that the record names, otherwise that of the command line. A scope that is a str names a user."""
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
    try:
        return Scope(named["tenant"] or scope.tenant, named["user"] or None, named["agent"] or None)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _first(value: Mapping[str, Any], nested: Mapping[str, Any], fields: tuple[str, ...]) -> Any:
    for field in fields:
        for source in (value, nested):
            if source.get(field) is not None:
                return source[field]
    return None
