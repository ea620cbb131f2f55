"""Functions that the user names on the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scrubjay.cli.reader_state import InputError


def named_function(option: str, spec: str) -> Callable[..., Any]:
    """Import the MODULE:FUNCTION that an option names, also from modules of the working directory.

    Raises:
        InputError: it does not exist, or is not a function.
    """
    module, _, name = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        value = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{option}: expected MODULE:FUNCTION, got {spec!r}: {error}") from None
    if not callable(value):
        raise InputError(f"{option}: expected a function, got {value!r}")
    function: Callable[..., Any] = value
    return function
