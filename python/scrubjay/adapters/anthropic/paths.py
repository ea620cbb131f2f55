"""Paths of the memory tool, all within one directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrubjay.backend import Native
from scrubjay.base.errors import Error

ROOT = "/memories"
PATH = "path"
"""The metadata key of a file's path; its id is the same text."""


class MemoryFileError(Error, ValueError):
    """A command failed; the message is for the model."""


def path_of(given: Any, name: str = "path") -> str:
    """Return a path without `.`, `..` and empty parts.

    Raises:
        MemoryFileError: it leads out of the directory, or contains a character that file names cannot contain.

    >>> path_of("/memories//notes/./a.md/"), path_of("/memories/a/../b")
    ('/memories/notes/a.md', '/memories/b')
    >>> path_of("/memories/../etc/passwd")
    Traceback (most recent call last):
    ...
    scrubjay.adapters.anthropic.paths.MemoryFileError: Path /memories/../etc/passwd would escape /memories directory
    """
    if not isinstance(given, str):
        raise MemoryFileError(f"{name}: expected a str, got {type(given).__name__}")
    if given != ROOT and not given.startswith(ROOT + "/"):
        raise MemoryFileError(f"Path must start with {ROOT}, got: {given}")
    parts: list[str] = []
    for part in given[len(ROOT) :].split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                raise MemoryFileError(f"Path {given} would escape {ROOT} directory")
            parts.pop()
            continue
        if not part.isprintable() or part.encode(errors="ignore").decode() != part:
            raise MemoryFileError(f"{name}: expected printable characters, got {given!r}")
        parts.append(part)
    return "/".join([ROOT, *parts])


def parents(path: str) -> Iterator[str]:
    """Yield the directories of a path, from its parent up to a child of the root.

    >>> list(parents("/memories/a/b/c.md"))
    ['/memories/a/b', '/memories/a']
    """
    while (path := path.rpartition("/")[0]) != ROOT and path:
        yield path


def below(directory: str) -> Native:
    """Return the condition that a file is below a directory."""
    # "0" is the character after "/".
    return Native({PATH: {"$gte": directory + "/", "$lt": directory + "0"}})
