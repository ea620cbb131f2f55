"""The public classes and members, by introspection of names, regardless of what the classes inherit from."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import scrubjay

MODULES = (
    "scrubjay",
    "scrubjay.backend",
    "scrubjay.embedders",
    "scrubjay.fusion",
    "scrubjay.keystores",
    "scrubjay.memory",
    "scrubjay.retrieval",
)
HANDED_OUT = (  # classes that are not exported, but returned by public ones
    "scrubjay.memory.runs.session.Session",
    "scrubjay._native.Document",
    "scrubjay._native.CompiledRanking",
    "scrubjay._native.PreparedDocuments",
)
SPECIAL = (
    "__len__",
    "__repr__",
    "__iter__",
    "__contains__",
    "__getitem__",
    "__eq__",
    "__hash__",
    "__enter__",
)
"""The special methods that a class of the package may define."""


@cache
def classes() -> dict[str, type]:
    """Return the public classes except errors, by name."""
    found: dict[str, type] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and not issubclass(value, BaseException):
                found[value.__name__] = value
    for path in HANDED_OUT:
        module_name, _, name = path.rpartition(".")
        found[name] = getattr(importlib.import_module(module_name), name)
    return found


def members(cls: type) -> Iterator[str]:
    """Yield the names of public methods and properties, and of the special methods that the class defines."""
    for name in sorted(dir(cls)):
        if not name.startswith("_"):
            yield name
    for name in SPECIAL:
        if getattr(cls, name, None) is not getattr(object, name, None):
            yield name


def required(cls: type, name: str) -> list[tuple[str, bool]] | None:
    """Return (name, is keyword-only) of the parameters without default; None if the member is not called."""
    static = inspect.getattr_static(cls, name)
    value = getattr(cls, name)
    if isinstance(static, property) or not callable(value) or not (inspect.isroutine(value)):
        return None
    if name in ("__repr__", "__len__", "__iter__", "__hash__", "__enter__"):
        return []
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return _from_stub(cls.__name__, name)
    bound = isinstance(static, (classmethod, staticmethod))
    parameters = list(signature.parameters.values())[0 if bound else 1 :]
    return [
        (one.name, one.kind is one.KEYWORD_ONLY)
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]


def optional(cls: type, name: str) -> list[str]:
    """Return the names of the parameters that have a default."""
    try:
        parameters = inspect.signature(getattr(cls, name)).parameters.values()
    except (TypeError, ValueError):
        function = _stub().get((cls.__name__, name))
        if function is None:
            return []
        spec = function.args
        positional = spec.args[len(spec.args) - len(spec.defaults) :]
        keyword = [
            one for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None
        ]
        return [one.arg for one in [*positional, *keyword]]
    return [one.name for one in parameters if one.default is not one.empty]


@cache
def _stub() -> dict[tuple[str, str], ast.FunctionDef]:
    """Return the methods of the native classes, whose signatures Python cannot inspect."""
    package = Path(scrubjay.__file__).parent
    tree = ast.parse((package / "_native.pyi").read_text(encoding="utf-8"))
    return {
        (cls.name, function.name): function
        for cls in tree.body
        if isinstance(cls, ast.ClassDef)
        for function in cls.body
        if isinstance(function, ast.FunctionDef)
    }


def _from_stub(cls: str, name: str) -> list[tuple[str, bool]] | None:
    function = _stub().get((cls, name))
    if function is None:
        return [("other", False)] if name in ("__eq__", "__contains__", "__getitem__") else []
    spec = function.args
    n_required = len(spec.args) - len(spec.defaults)
    names = [(one.arg, False) for one in spec.args[:n_required]]
    is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
    keyword = [
        (one.arg, True)
        for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if default is None
    ]
    return [*(names if is_static else names[1:]), *keyword]


def described(cls: type, member: str) -> Any:
    """Return the unbound attribute of a member."""
    return inspect.getattr_static(cls, member)
