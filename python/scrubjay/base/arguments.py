"""Checks of plain arguments that many methods share: flags, integers, texts that UTF-8 can encode."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["checked_flag", "has_lone_surrogate", "is_integer", "shown"]


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


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy: neither a bool nor NumPy's timedelta, which is a signed integer
    by its class.

    >>> [is_integer(value) for value in (7, np.int8(7), True, 7.0, np.timedelta64(7, "s"))]
    [True, True, False, False, False]
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def has_lone_surrogate(text: str) -> bool:
    """Whether UTF-8 cannot encode a text.

    >>> has_lone_surrogate("Müller"), has_lone_surrogate("\\ud800")
    (False, True)
    """
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def shown(value: Any) -> str:
    """Return a value for a message: ASCII, of at most 80 characters, as the native engine shows it.

    >>> shown("Müller"), len(shown("x" * 100))
    ("'M\\xfcller'", 80)
    """
    text = repr(value).encode("ascii", "backslashreplace").decode("ascii")
    return text if len(text) <= 80 else f"{text[:77]}..."
