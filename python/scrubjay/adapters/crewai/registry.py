"""Scrubjay as what CrewAI opens for a name: `Memory(storage="scrubjay")`, or for crews that name none."""

from __future__ import annotations

import os
from typing import Any

from crewai.memory.storage.factory import set_memory_storage_factory

from scrubjay._native import Scope
from scrubjay.adapters.crewai.storage import ScrubjayStorage
from scrubjay.index import Index

_registered: dict[str, dict[str, Any]] = {}


def register(
    where: str | os.PathLike[str] | Index, *, scope: Scope, spec: str = "scrubjay", **options: Any
) -> None:
    """Let CrewAI open a :class:`ScrubjayStorage` wherever a memory is made with this name as its storage.

    Args:
        where, scope, options: of the storage.
        spec: the name. "lancedb" is what CrewAI asks for where nobody names a storage.

    Sets CrewAI's one factory of storages for this process; what is not registered here is CrewAI's own, as before.

    Raises:
        TypeError, ValueError: an argument is not what :class:`ScrubjayStorage` takes, or `spec` is empty.
    """
    if not isinstance(spec, str) or not spec:
        raise ValueError(f"spec: expected a str that is not empty, got {spec!r}")
    ScrubjayStorage(where, scope=scope, **options).close()  # what is wrong is said now
    _registered[spec] = {"where": where, "scope": scope, **options}
    set_memory_storage_factory(_made)


def _made(spec: str) -> ScrubjayStorage | None:
    found = _registered.get(spec)
    return None if found is None else ScrubjayStorage(**found)
