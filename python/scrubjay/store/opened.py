"""The engines open in this process: abandoned in forked children, stopped at exit."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Protocol


class OpenEngine(Protocol):
    """An engine over a store."""

    residency: Any

    def abandon(self) -> None:
        """In the child after a fork: give the engine up without using or closing anything of it."""
        ...


def remember(engine: OpenEngine) -> None:
    """Register an engine until it is garbage-collected."""
    _opened.add(engine)


# Needed after a fork: a SQLite connection used by two processes would corrupt the file.
_opened: weakref.WeakSet[OpenEngine] = weakref.WeakSet()
_inherited: list[OpenEngine] = []  # kept alive so that a child never closes the parent's connections


def _all_opened() -> list[OpenEngine]:
    while True:
        try:
            return list(_opened)
        except RuntimeError:  # another thread opened or dropped an engine
            continue


def _after_fork() -> None:
    for engine in list(_opened):
        _inherited.append(engine)
        engine.abandon()


def _at_exit() -> None:
    """Stop background work: the interpreter stops daemon threads at arbitrary points when it exits."""
    for engine in _all_opened():
        engine.residency.housekeeper.stop()


atexit.register(_at_exit)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
