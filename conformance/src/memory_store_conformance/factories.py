"""Factories by address, for the command line and for child processes of a check."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_store_conformance.contract import Setting, Store
from memory_store_conformance.outcomes import NotOffered

__all__ = ["Factory", "address_of", "load"]

Factory = Callable[[Setting], Store]
"""A function that opens a store."""


def load(address: str) -> Factory:
    """Return the factory of "module:name" or "path/to/file.py:name".

    Raises:
        ValueError: the address is malformed, or the function does not exist.
    """
    where, colon, name = address.rpartition(":")
    if not colon or not where or not name:
        raise ValueError(f"factory: expected 'module:name' or 'file.py:name', got {address!r}")
    module = _module_of_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise ValueError(
            f"factory: expected a function in {where!r}, got {name!r}, which is {type(target).__name__}"
        )
    return target


def _module_of_file(path: Path) -> Any:
    name = f"memory_store_conformance_factory_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"factory: expected a Python file, got {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    module.__memory_store_file__ = str(path.resolve())  # type: ignore[attr-defined]
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def address_of(factory: Factory) -> str:
    """Return the address by which a child process imports the factory.

    Raises:
        NotOffered: it is a lambda or a local function, which no other process can import.
    """
    name = getattr(factory, "__qualname__", "")
    module = sys.modules.get(getattr(factory, "__module__", ""))
    if module is None or not name or "<" in name:
        raise NotOffered("the factory is a lambda or a local function, which a child process cannot import")
    file = getattr(module, "__memory_store_file__", None)
    if module.__name__ == "__main__":
        file = getattr(module, "__file__", None)
        if file is None:
            raise NotOffered("the factory was defined at a prompt, which a child process cannot import")
    return f"{file or module.__name__}:{name}"
