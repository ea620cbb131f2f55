"""The public interface is as small as intended, and every object is built by composition."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Admin, Index, Memory
from scrubjay.base.errors import MissingExtraError
from scrubjay.memory import MemoryAdmin

PACKAGE = Path(scrubjay.__file__).parent

FACADES = {"index/facade.py": 350, "memory/facade/memory.py": 350}
"""File of a facade -> its maximum number of lines."""

PUBLIC_MEMBERS = {Index: 25, Memory: 35}
"""Class -> its maximum number of public members, besides `admin`."""

ENGINES = ("DurableEngine", "LocalEngine", "WritingEngine", "NullResidency")
"""Classes for which no code asks."""

LADDERS = (
    "scrubjay.adapters.service.models.",
    "scrubjay.adapters.service.search_models.",
)  # fields that requests share
"""Modules whose classes may inherit from more than one of ours."""


def classes() -> Iterator[type]:
    """Yield every class of the package that can be imported here."""
    seen: set[type] = set()
    for module in pkgutil.walk_packages(scrubjay.__path__, "scrubjay."):
        if module.name.endswith("__main__"):
            continue
        try:
            found = vars(importlib.import_module(module.name))
        except MissingExtraError:
            continue
        for value in list(found.values()):
            if inspect.isclass(value) and value.__module__.startswith("scrubjay.") and value not in seen:
                seen.add(value)
                yield value


def ancestors(cls: type) -> list[str]:
    """Return the classes of ours that a class inherits from, directly or not; no protocols, errors or native types."""
    return [
        base.__qualname__
        for base in cls.__mro__[1:]
        if base.__module__.startswith("scrubjay.")
        and not base.__module__.endswith("._native")
        and not getattr(base, "_is_protocol", False)
        and not issubclass(base, BaseException)
    ]


def test_no_class_is_a_slice_of_another() -> None:
    ladders = {
        f"{cls.__module__}.{cls.__qualname__}": found
        for cls in classes()
        if len(found := ancestors(cls)) > 1 and not f"{cls.__module__}.".startswith(LADDERS)
    }
    assert ladders == {}


def test_no_code_asks_for_the_kind_of_an_engine() -> None:
    """The engine in memory and the one over rows have one protocol (store/document_engine.py)."""
    assert list(kinds_asked_for(PACKAGE)) == []


def kinds_asked_for(package: Path) -> Iterator[str]:
    """Yield the places at which a module checks the type of an engine or of a residency."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(kind in text for kind in ENGINES):
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "isinstance"
                and any(kind in ast.unparse(node.args[1]) for kind in ENGINES)
            ):
                yield f"{path.relative_to(package).as_posix()}: {ast.unparse(node)}"


def test_a_question_for_the_kind_of_an_engine_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("isinstance(self.engine, (int, DurableEngine))", encoding="utf-8")
    assert list(kinds_asked_for(tmp_path)) == ["a.py: isinstance(self.engine, (int, DurableEngine))"]


@pytest.mark.parametrize("cls", [Index, Admin, Memory, MemoryAdmin])
def test_a_facade_inherits_from_nothing_of_ours(cls: type) -> None:
    assert ancestors(cls) == []


@pytest.mark.parametrize("cls", PUBLIC_MEMBERS)
def test_the_public_members_of_a_facade_are_few(cls: type, tmp_path: Path) -> None:
    public = {name for name in dir(cls) if not name.startswith("_")} - {"admin"}
    assert len(public) <= PUBLIC_MEMBERS[cls], sorted(public)
    with made_of(cls, tmp_path) as made:
        assert not [name for name in vars(made) if not name.startswith("_")]


def made_of(cls: type, folder: Path) -> Any:
    """Return an open object of a facade, to be used in `with`."""
    return Memory.open(folder / "m.scrubjay") if cls in (Memory, MemoryAdmin) else Index(dim=2)


@pytest.mark.parametrize("file", FACADES)
def test_a_facade_is_short(file: str) -> None:
    assert len((PACKAGE / file).read_text(encoding="utf-8").splitlines()) <= FACADES[file]


@pytest.mark.parametrize(
    ("file", "cls"),
    [
        ("index/facade.py", Index),
        ("memory/facade/memory.py", Memory),
        ("memory/facade/administration.py", MemoryAdmin),
    ],
)
def test_the_first_sentence_of_a_forwarding_method_is_that_of_its_documentation(file: str, cls: type) -> None:
    """`documented` replaces the docstring; readers of the source must not read a different one."""
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    different = []
    for method in ast.walk(tree):
        if isinstance(method, ast.FunctionDef) and any(
            isinstance(one, ast.Call) and ast.unparse(one.func) == "documented"
            for one in method.decorator_list
        ):
            here = _plain(ast.get_docstring(method) or "")
            shown = _plain(inspect.getdoc(getattr(cls, method.name)) or "")
            if not here or not shown.startswith(here.rstrip(".")):
                different.append(method.name)
    assert different == []


def _plain(docstring: str) -> str:
    return " ".join(re.sub(r":meth:`(?:\w+\.)?(\w+)`", r"\1", docstring).split())


@pytest.mark.parametrize("cls", [Index, Admin, Memory, MemoryAdmin])
def test_errors_of_calls_name_the_public_class(cls: type, tmp_path: Path) -> None:
    with made_of(cls, tmp_path) as opened:
        _check_errors(cls, opened.admin if cls in (Admin, MemoryAdmin) else opened)


def _check_errors(cls: type, made: Any) -> None:
    n_tried = 0
    for name in sorted(name for name in dir(cls) if not name.startswith("_")):
        static = inspect.getattr_static(cls, name)
        if isinstance(static, property):
            continue
        with pytest.raises(TypeError, match=rf"{cls.__name__}\.{name}\(\)"):
            _call(getattr(made, name))
        n_tried += 1
    assert n_tried >= 13


def _call(method: Any) -> None:
    called = method(unheard_of=1)
    if inspect.iscoroutine(called):
        import asyncio

        asyncio.run(called)
