"""Events before they are in a trace, and checks of the texts that a file can store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from scrubjay.documents import payload
from scrubjay.memory.model.content import MAX_NAME_CHARS

_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Draft(NamedTuple):
    """A checked event on its way into a trace; made by :meth:`Draft.of`."""

    kind: str
    author: str
    content: str
    data: bytes | None
    at: int | None
    unless_deleted_since: int | None = None
    """Number of a deletion event: the event is skipped if data visible to its scope was deleted after it."""

    @classmethod
    def of(
        cls,
        kind: str,
        content: str,
        author: str | None = None,
        data: Mapping[str, Any] | None = None,
        at: payload.CreatedAt | None = None,
    ) -> Draft:
        """Check and encode an event.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if not isinstance(kind, str):
            raise TypeError(f"kind: expected a str, got {type(kind).__name__}")
        if not _KIND.fullmatch(kind):
            raise ValueError(f"kind: expected up to 64 of a-z, 0-9 and _, a letter first, got {kind!r}")
        check_text("content", content)
        if author is None:
            author = kind
        check_text("author", author, at_most=MAX_NAME_CHARS)
        encoded = _encoded(data)
        moment = payload.to_utc(at, "at")
        return cls(kind, author, content, encoded, None if moment is None else payload.microseconds(moment))

    @classmethod
    def of_prompt(
        cls, data: Mapping[str, Any], at: int, unless_deleted_since: int, encoded: Mapping[str, str]
    ) -> Draft:
        """Return the event of a prompt made by us, whose data are JSON types except for the counts of the caller's
        tokenizer.

        Args:
            data: the recorded data of the prompt, its `pieces` first.
            at: when it was made.
            unless_deleted_since: number of a deletion event.
            encoded: those of the pieces, by name, that are already JSON.

        Raises:
            TypeError, ValueError: the data are not JSON.
        """
        try:
            content: bytes | None = _prompt(data, encoded)
        except (TypeError, ValueError):
            content = _encoded(data)
        return cls("prompt", "prompt", "", content, at, unless_deleted_since)


def check_text(name: str, value: Any, *, at_most: int | None = None) -> None:
    """Check that an argument is a text that a file can store.

    Raises:
        TypeError: not a str.
        ValueError: it contains half of a surrogate pair, which UTF-8 cannot express, or is too long.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    if at_most is not None and len(value) > at_most:
        raise ValueError(f"{name}: expected at most {at_most} characters, got {len(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: expected text that UTF-8 can encode, got a lone surrogate at {error.start}"
        ) from None


def _prompt(data: Mapping[str, Any], encoded: Mapping[str, str]) -> bytes:
    """Return ``payload.encode_fields({"metadata": data})``, reusing the encoded pieces.

    Raises:
        TypeError, ValueError: the data are not JSON, or contain half of a surrogate pair.
    """
    as_json = payload.as_json
    rest = as_json({name: value for name, value in data.items() if name != "pieces"})
    each = (f"{as_json(name)}:{encoded.get(name) or as_json(some)}" for name, some in data["pieces"].items())
    text = f'{{"metadata":{{"pieces":{{{",".join(each)}}},{rest[1:]}}}'
    return text.encode()


def _encoded(data: Mapping[str, Any] | None) -> bytes | None:
    try:
        encoded = payload.encode(data, None)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("metadata", "data", 1)) from None
    return _with_utf8(encoded)


def _with_utf8(encoded: bytes | None) -> bytes | None:
    if encoded is not None:
        try:
            encoded.decode()
        except UnicodeDecodeError:
            raise ValueError("data: expected text that UTF-8 can encode, got a lone surrogate") from None
    return encoded


def check_run_id(run_id: Any) -> None:
    """Check the name of a run.

    Raises:
        TypeError, ValueError: not a str, empty, or longer than a record's provenance can name.
    """
    check_text("run_id", run_id, at_most=MAX_NAME_CHARS)
    if not run_id or run_id != run_id.strip():
        raise ValueError(
            f"run_id: expected 1 to {MAX_NAME_CHARS} characters without space around them, got {run_id!r}"
        )
