"""The place of an index: a file or a database."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
    if not isinstance(path, (str, os.PathLike)) or not isinstance(name := os.fspath(path), str):
        raise TypeError(f"path: expected a str or a path, got {type(path).__name__}")
    if not name:
        raise ValueError("path: expected a file, got ''")
    if name.startswith(_IN_MEMORY):
        raise ValueError(f"path: expected a file, got {name!r}; Index() is an index in memory")
    if isinstance(path, str) and _URL.match(path):
        raise ValueError(f"path: expected a file or postgresql://..., got {name!r}")
    if "\0" in name:
        raise ValueError(f"path: expected no null character, got {name!r}")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise ValueError(
            f"path: expected text that UTF-8 can encode, got {name!r} with a lone surrogate"
        ) from None
    return Path(name)
