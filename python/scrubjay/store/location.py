"""The place of an index: a file or a database."""

from __future__ import annotations

import re
from pathlib import Path

from scrubjay.base.arguments import checked_path
from scrubjay.store.postgres.address import is_address

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_IN_MEMORY = (":memory:", "file::memory:")


def checked_place(path: object) -> str | Path:
    """Return the address of a database unchanged, or the path of a file.

    Names that other libraries interpret differently are rejected, so that no file of that name is created: URLs
    of other kinds of servers, and SQLite's names for in-memory databases.

    Raises:
        TypeError, ValueError: `path` cannot be the place of an index.

    >>> checked_place("postgresql://localhost/memories"), checked_place("memories.scrubjay").name
    ('postgresql://localhost/memories', 'memories.scrubjay')
    >>> checked_place(":memory:")
    Traceback (most recent call last):
    ...
    ValueError: path: expected a file, got ':memory:'; Index() is an index in memory
    """
    if isinstance(path, str) and is_address(path):
        return path
    if path == "":
        raise ValueError("path: expected a file, got ''")
    file = checked_path(path, "path")
    name = path if isinstance(path, str) else str(file)
    if name.startswith(_IN_MEMORY):
        raise ValueError(f"path: expected a file, got {name!r}; Index() is an index in memory")
    if isinstance(path, str) and _URL.match(path):
        raise ValueError(f"path: expected a file or postgresql://..., got {name!r}")
    return file
