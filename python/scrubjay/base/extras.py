"""Lazy imports of optional libraries.

Python holds a lock for each module being imported. If a process forks while another thread imports, its child would
wait for that lock forever, with a half-initialised library. So the child gets an error instead.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Any

from scrubjay.base.errors import Error, MissingExtraError

__all__ = ["imported"]

_under_way: dict[int, str] = {}
"""Thread -> the module that it is importing."""
_cut: list[str] = []
"""Modules that other threads of the parent were importing when this process was forked."""


def imported(module: str, what: str, extra: str | None, package: str | None = None) -> Any:
    """Return a module, importing it if necessary.

    Args:
        module: its dotted name.
        what: the feature that needs it, for the message.
        extra: our extra that installs it; None: there is none.
        package: the package that contains it; None: the first part of its name.

    Raises:
        MissingExtraError: it is not installed.
        Error: this process was forked while another thread imported it, or a library that may have needed it.

    >>> imported("json", "this example", None).dumps([1])
    '[1]'
    """
    library = module.partition(".")[0]
    if (loaded := _whole(module)) is not None and _whole(library) is not None:
        return loaded
    if _cut:
        raise Error(
            f"{what}: cannot import {module} here, as this process was forked while a thread imported {_cut[0]}; "
            "import it before you fork"
        )
    thread = threading.get_ident()
    is_outermost = thread not in _under_way
    _under_way.setdefault(thread, module)
    try:
        importlib.import_module(library)  # it may have been removed since
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(what, extra, package or library) from None
    finally:
        if is_outermost:
            del _under_way[thread]


def _whole(module: str) -> Any:
    """Return a module that is completely imported, or None."""
    loaded = sys.modules.get(module)
    return None if getattr(getattr(loaded, "__spec__", None), "_initializing", False) else loaded


def _after_in_child() -> None:
    mine = threading.get_ident()
    _cut.extend(module for thread, module in _under_way.items() if thread != mine)
    for thread in [thread for thread in _under_way if thread != mine]:
        del _under_way[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
