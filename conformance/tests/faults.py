"""Planted faults: the reference store with one rule broken. Each class is a factory that child processes can import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FAULTS: dict[str, list[type]] = {}
"""The broken stores, by the id of the only check that must catch each."""


def fault(check: str) -> Callable[[Any], Any]:
    """Register a broken store as a fault that exactly the check `check` must catch."""

    def register(store: type) -> type:
        FAULTS.setdefault(check, []).append(store)
        return store

    return register


def all_faults() -> dict[str, list[type]]:
    """Return every planted fault."""
    import faults_reading  # noqa: F401
    import faults_scopes  # noqa: F401
    import faults_searching  # noqa: F401
    import faults_working  # noqa: F401
    import faults_writing  # noqa: F401

    return FAULTS
