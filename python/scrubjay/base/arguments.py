"""Checks of plain arguments that many methods share: flags, numbers, files, texts that UTF-8 can encode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

__all__ = ["checked_flag", "checked_path", "has_lone_surrogate", "is_integer", "is_number", "shown"]


def checked_flag(value: Any, name: str) -> bool:
    """Return an argument that is True or False, of Python or NumPy. The truth of any other value would be a guess:
    that of "false" is True.

    Raises:
        TypeError: it is something else.

    >>> checked_flag("no", "exact")
    Traceback (most recent call last):
    ...
    TypeError: exact: expected a bool, got str 'no'
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"{name}: expected a bool, got {type(value).__name__} {shown(value)}")


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy: neither a bool nor NumPy's timedelta, which is a signed integer
    by its class.

    >>> [is_integer(value) for value in (7, np.int8(7), True, 7.0, np.timedelta64(7, "s"))]
    [True, True, False, False, False]
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number of Python or NumPy; bools and NumPy's timedeltas do not count.

    >>> [is_number(value) for value in (7, 0.5, np.float32(0.5), True, np.timedelta64(7, "s"))]
    [True, True, True, False, False]
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.timedelta64)
    )


def checked_path(value: Any, name: str) -> Path:
    """Return the path of a file or folder.

    Raises:
        TypeError, ValueError: it is neither a str nor a path, or no file can have it.

    >>> checked_path("", "folder")
    Traceback (most recent call last):
    ...
    ValueError: folder: expected a path, got ''
    """
    if not isinstance(value, (str, os.PathLike)) or not isinstance(path := os.fspath(value), str):
        raise TypeError(f"{name}: expected a str or a path, got {type(value).__name__}")
    if not path:  # pathlib takes it for the current folder
        raise ValueError(f"{name}: expected a path, got ''")
    if "\0" in path:
        raise ValueError(f"{name}: expected no null character, got {path!r}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}: expected text that UTF-8 can encode, got {path!r} with a lone surrogate"
        ) from None
    return Path(path)


def has_lone_surrogate(text: str) -> bool:
    """Whether UTF-8 cannot encode a text.

    >>> has_lone_surrogate("Müller"), has_lone_surrogate("\\ud800")
    (False, True)
    """
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def shown(value: Any) -> str:
    """Return a value for a message: ASCII, of at most 80 characters, as the native engine shows it.

    >>> print(shown("Müller")), len(shown("x" * 100))
    'M\\xfcller'
    (None, 80)
    """
    text = repr(value).encode("ascii", "backslashreplace").decode("ascii")
    return text if len(text) <= 80 else f"{text[:77]}..."
