"""Fork-safe locks, and a test whether this thread holds a lock.

`os.fork` copies only the calling thread: a lock that another thread held at that moment would stay locked in the child
forever, and the state it guards might be half changed. So before a fork the forking thread acquires the registered
locks, waiting for their holders; afterwards the parent releases them and the child gets new ones.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any

__all__ = ["is_mine", "renew_in_children"]

_MAX_WAIT_SECONDS = 5.0  # for all locks together, so that a long write does not delay a fork for longer
_LEAST_WAIT_SECONDS = 0.5  # for a turn, whose holder is inside SQLite, however long the other locks took

_owners: dict[int, tuple[weakref.ref[Any], tuple[str, ...]]] = {}
_acquired = threading.local()  # `locks`: those that this thread acquired for its fork
_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())


def renew_in_children(owner: Any, *names: str) -> None:
    """Register locks: attributes of `owner` that are a Lock, an RLock or a list of them. `owner` is referenced
    weakly."""
    key = id(owner)
    _owners[key] = (weakref.ref(owner, lambda _: _owners.pop(key, None)), names)


def is_mine(lock: Any) -> bool:
    """Whether this thread holds an RLock."""
    return bool(lock._is_owned())  # what threading.Condition uses


def _attributes() -> list[tuple[Any, str]]:
    pairs: list[tuple[Any, str]] = []
    for reference, names in list(_owners.values()):  # an atomic copy: other threads may register meanwhile
        owner = reference()
        if owner is not None:
            pairs.extend((owner, name) for name in names)
    return pairs


def _before() -> None:
    last = time.monotonic() + _MAX_WAIT_SECONDS
    _acquired.locks = []
    seen: set[tuple[int, str]] = set()
    # Repeat until there are no new locks: while this thread waits for one, others may register more.
    while new := [(owner, name) for owner, name in _attributes() if (id(owner), name) not in seen]:
        # Turns last: a thread that waits for a turn holds other locks, and this thread would wait for those in vain.
        for owner, name in sorted(new, key=lambda lock: lock[1] == "turn"):
            seen.add((id(owner), name))
            held = getattr(owner, name)
            least = _LEAST_WAIT_SECONDS if name == "turn" else 0.0
            for lock in held if isinstance(held, list) else [held]:
                # Skip a lock that is not released in time, or that this thread holds: the child gets a new one.
                wait = max(last - time.monotonic(), least)
                if lock.acquire(blocking=False) or lock.acquire(timeout=wait):
                    _acquired.locks.append(lock)


def _after_in_parent() -> None:
    while _acquired.locks:
        _acquired.locks.pop().release()


def _after_in_child() -> None:
    _acquired.locks = []
    for owner, name in _attributes():
        held = getattr(owner, name)
        setattr(owner, name, [_new(lock) for lock in held] if isinstance(held, list) else _new(held))


def _new(lock: Any) -> Any:
    return threading.Lock() if isinstance(lock, _LOCK) else threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
