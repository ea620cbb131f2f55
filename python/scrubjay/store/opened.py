"""The engines that this process has open: given up in its children, stopped at its end."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Protocol


class Opened(Protocol):
    """An engine over a store."""

    residency: Any

    def abandon(self) -> None:
        """After a fork, in the child: use and close nothing of it."""
        ...


def remember(engine: Opened) -> None:
    """Register an engine until it is collected."""
    _opened.add(engine)


# For the children of this process: a connection that two processes share would corrupt the file.
_opened: weakref.WeakSet[Opened] = weakref.WeakSet()
_inherited: list[Opened] = []  # kept alive, so that nothing of them is ever closed in a child


def _all_opened() -> list[Opened]:
    while True:
        try:
            return list(_opened)
        except RuntimeError:  # another thread opened or dropped one just now
            continue


def _after_fork() -> None:
    for engine in list(_opened):
        _inherited.append(engine)
        engine.abandon()


def _at_exit() -> None:
    """Stop background work: a thread that runs while the interpreter ends is stopped anywhere."""
    for engine in _all_opened():
        engine.residency.housekeeper.stop()


atexit.register(_at_exit)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
