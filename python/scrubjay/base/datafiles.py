"""Streaming readers of data sets: JSON Lines, JSON arrays of any size, tab-separated values.

One row is in memory at a time. Invalid data raise :class:`scrubjay.DatasetError`, which names file, line and field.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from scrubjay.base.errors import DatasetError

__all__ = ["Row", "json_items", "json_lines", "json_lines_at", "tab_lines"]

_BLOCK_BYTES = 1 << 20
_BETWEEN = " \t\r\n"
_TAIL = 16
"""Maximum length of a token other than a string ("-Infinity", an escape) that the end of a block may split."""


@dataclass(frozen=True)
class Row:
    """One object of a file, with its location. The getters check what they return.

    >>> Row({"id": 7}, Path("a.jsonl"), 3).text("id")
    Traceback (most recent call last):
    ...
    scrubjay.DatasetError: a.jsonl, line 3: id: expected a str, got 7
    """

    value: Mapping[str, Any]
    path: Path
    line: int
    inside: str = ""
    """The path to it from the object that begins on the line, such as `qa[3].`"""
    offset: int = 0
    """Its byte offset in a JSON Lines file."""

    def error(self, field: str, expected: str, given: object) -> DatasetError:
        """Return the error for a field with another value than expected."""
        text = repr(given)
        if len(text) > 80:
            text = f"{text[:77]}..."
        return DatasetError(f"{self.inside}{field}: expected {expected}, got {text}", self.path, self.line)

    def text(self, *names: str) -> str:
        """Return the str under the first of the names that is present."""
        value = next((self.value[name] for name in names if self.value.get(name) is not None), None)
        if not isinstance(value, str):
            raise self.error(" or ".join(names), "a str", value)
        return value

    def optional_text(self, name: str) -> str | None:
        """Return the str under a name, or None if it is missing."""
        return None if self.value.get(name) is None else self.text(name)

    def items(self, name: str) -> list[Any]:
        """Return the list under a name."""
        items = self.value.get(name)
        if not isinstance(items, list):
            raise self.error(name, "a list", items)
        return items

    def optional_items(self, name: str) -> list[Any]:
        """Return the list under a name, or [] if it is missing."""
        return [] if self.value.get(name) is None else self.items(name)

    def texts(self, name: str) -> list[str]:
        """Return the list of str under a name."""
        items = self.items(name)
        for number, item in enumerate(items):
            if not isinstance(item, str):
                raise self.error(f"{name}[{number}]", "a str", item)
        return items

    def row(self, name: str) -> Row:
        """Return the object under a name."""
        return self._below(name, self.value.get(name))

    def rows(self, name: str) -> Iterator[Row]:
        """Yield the objects of the list under a name."""
        for number, item in enumerate(self.items(name)):
            yield self._below(f"{name}[{number}]", item)

    def rows_of(self, name: str, items: object) -> Iterator[Row]:
        """Yield the objects of the list `items`, which is below this row at `name`."""
        if not isinstance(items, list):
            raise self.error(name, "a list", items)
        for number, item in enumerate(items):
            yield self._below(f"{name}[{number}]", item)

    def _below(self, name: str, item: object) -> Row:
        if not isinstance(item, Mapping):
            raise self.error(name, "an object", item)
        return Row(item, self.path, self.line, f"{self.inside}{name}.")


def json_lines(path: Path) -> Iterator[Row]:
    """Yield the objects of a JSON Lines file; empty lines are skipped.

    Raises:
        FileNotFoundError: the file does not exist.
        DatasetError: a line is not UTF-8, not JSON, or not an object.
    """
    with path.open("rb") as lines:
        offset = 0
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _object(line, path, number, offset)
            offset += len(line)


def json_lines_at(path: Path, places: Iterator[tuple[int, int]]) -> Iterator[Row]:
    """Yield the objects at pairs of offset and line number that :func:`json_lines` returned."""
    with path.open("rb") as lines:
        for offset, number in places:
            lines.seek(offset)
            yield _object(lines.readline(), path, number, offset)


def _object(line: bytes, path: Path, number: int, offset: int) -> Row:
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"expected JSON: {error}", path, number) from None
    if not isinstance(value, dict):
        raise DatasetError(f"expected an object, got {type(value).__name__}", path, number)
    return Row(value, path, number, offset=offset)


def tab_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of a file of tab-separated values; empty lines are skipped.

    Raises:
        FileNotFoundError: the file does not exist.
        DatasetError: a line is not UTF-8.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise DatasetError(f"expected UTF-8: {error}", path, number) from None
            if text:
                yield number, text.split("\t")


def json_items(path: Path) -> Iterator[Row]:
    """Yield the objects of a JSON file: of an array, of concatenated objects, or the only one.

    The file is read in blocks, and an object is decoded as soon as it is complete: memory use is about twice the
    largest object.

    Raises:
        FileNotFoundError: the file does not exist.
        DatasetError: the file is not UTF-8, not JSON, holds anything but objects, or ends within one.
    """
    with path.open("rb") as file:
        yield from _items(_Blocks(path, file))


def _items(blocks: _Blocks) -> Iterator[Row]:
    blocks.skip(_BETWEEN)
    in_array = blocks.take("[")
    first = True
    while True:
        blocks.skip(_BETWEEN)
        if in_array and blocks.take("]"):
            break
        if not first and in_array:
            if not blocks.take(","):
                raise blocks.unexpected('"," or "]"')
            blocks.skip(_BETWEEN)
        if blocks.at_end():
            if in_array:
                raise blocks.unexpected('an object or "]"')
            return
        yield blocks.next_object()
        first = False
    blocks.skip(_BETWEEN)
    if not blocks.at_end():
        raise blocks.unexpected("the end of the file")


class _Blocks:
    """The text of a file; only the part that is not decoded yet is in memory."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._text, self._place = "", 0
        self._ended = False
        self.line = 1

    def next_object(self) -> Row:
        """Decode the object that begins here."""
        if self._text[self._place] != "{":
            raise self.unexpected("an object")
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._place)
            except RecursionError as error:
                raise DatasetError(f"expected JSON: {error}", self._path, self.line) from None
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    line = self.line + self._text.count("\n", self._place, error.pos)
                    raise DatasetError(f"expected JSON: {error.msg}", self._path, line) from None
                self._read_more()
            else:
                row = Row(value, self._path, self.line)
                self._advance(end)
                return row

    def skip(self, characters: str) -> None:
        """Skip any of these characters."""
        while not self.at_end() and self._text[self._place] in characters:
            end = self._place
            while end < len(self._text) and self._text[end] in characters:
                end += 1
            self._advance(end)

    def take(self, character: str) -> bool:
        """Skip one character if it is this one; return whether it was."""
        if self.at_end() or self._text[self._place] != character:
            return False
        self._advance(self._place + 1)
        return True

    def at_end(self) -> bool:
        """Whether the end of the file is reached."""
        while self._place == len(self._text) and not self._ended:
            self._read_more()
        return self._place == len(self._text)

    def unexpected(self, expected: str) -> DatasetError:
        """Return the error for the unexpected text at the current position."""
        rest = "the end of the file" if self.at_end() else repr(self._text[self._place : self._place + 20])
        return DatasetError(f"expected {expected}, got {rest}", self._path, self.line)

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _TAIL

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._place, end)
        self._place = end

    def _read_more(self) -> None:
        """Read as much again as is left, so that an object of n blocks is tried log n times."""
        left = self._text[self._place :]
        data = self._file.read(max(_BLOCK_BYTES, len(left)))
        try:
            more = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self.line + left.count("\n") + bytes(error.object[: error.start]).count(b"\n")
            raise DatasetError(f"expected UTF-8: {error}", self._path, line) from None
        if not data:
            self._ended = True
        self._text, self._place = left + more, 0
