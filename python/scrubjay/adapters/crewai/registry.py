"""Registration of storages by name with CrewAI: `Memory(storage="scrubjay")`, or the default of crews without one."""

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
    """Let CrewAI open a :class:`ScrubjayStorage` for memories whose storage has this name.

    Args:
        where, scope, options: the arguments of the storage.
        spec: the name. "lancedb" is CrewAI's default, used if no storage is named.

    Sets CrewAI's only storage factory, for this process; other names still open CrewAI's own storages.

    Raises:
        TypeError, ValueError: an argument is invalid for :class:`ScrubjayStorage`, or `spec` is empty.
    """
    if not isinstance(spec, str) or not spec:
        raise ValueError(f"spec: expected a str that is not empty, got {spec!r}")
    ScrubjayStorage(where, scope=scope, **options).close()  # raises for invalid arguments
    _registered[spec] = {"where": where, "scope": scope, **options}
    set_memory_storage_factory(_made)


def _made(spec: str) -> ScrubjayStorage | None:
    arguments = _registered.get(spec)
    return None if arguments is None else ScrubjayStorage(**arguments)
