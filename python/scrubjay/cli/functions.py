"""Functions of the caller's modules that an option names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scrubjay.cli.reading import InputError


def named_function(option: str, spec: str) -> Callable[..., Any]:
    """Import what an option names, MODULE:FUNCTION; modules of the working directory are found, too.

    Raises:
        InputError: there is none, or it is no function.
    """
    module, _, name = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{option}: expected MODULE:FUNCTION, got {spec!r}: {error}") from None
    if not callable(found):
        raise InputError(f"{option}: expected a function, got {found!r}")
    function: Callable[..., Any] = found
    return function
