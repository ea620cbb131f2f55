"""Where an index is: a file, or a database."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scrubjay.store.postgres.address import is_address

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_IN_MEMORY = (":memory:", "file::memory:")


def checked_place(path: object) -> str | Path:
    """Return the address of a database as it is, and the path of a file.

    Names that other libraries read otherwise are refused, so that no file of that name is made: the address of another
    kind of server, and SQLite's name of a database in memory.

    Raises:
        TypeError, ValueError: it cannot be the place of an index.

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
