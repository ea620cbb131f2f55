"""Every parameter of the public API is named in its docstring, or in that of a method to which it refers.

Our own packages are inspected as Python sees them, because facades show the docstrings of the methods behind them.
Adapters are read from their source, so that no framework is needed.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import scrubjay
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.runs.session import Session

PACKAGE = Path(scrubjay.__file__).parent
MODULES = [
    "scrubjay",
    "scrubjay.memory",
    "scrubjay.retrieval",
    "scrubjay.embedders",
    "scrubjay.fusion",
    "scrubjay.filters",
    "scrubjay.backend",
    "scrubjay.bench",
    "scrubjay.bench.mteb",
]
UNNAMED = {"scrubjay.memory": [Assembled, Session]}
"""Classes of objects that callers receive, but that no package exports."""
SOURCES = [
    *sorted(path for path in (PACKAGE / "adapters").rglob("*.py") if not path.name.startswith("_")),
    PACKAGE / "bench" / "vectordbbench.py",
]
MADE_BY_THE_LIBRARY = {
    "Admin",
    "Assembled",
    "Backend",
    "Feed",
    "Files",
    "Hit",
    "Hits",
    "Lease",
    "MemoryAdmin",
    "MemoryErasure",
    "Recalled",
    "RecalledHit",
    "ResultCaches",
    "Retrieved",
    "RetrievedHit",
    "Session",
}
"""Classes of objects that callers receive, but do not create."""


class Callable(NamedTuple):
    """A function or constructor: its location, its docstring, the names of its parameters."""

    place: str
    doc: str
    parameters: list[str]


def followed(doc: str, prefix: str) -> str:
    """Return the docstrings of the methods that a docstring refers to, such as ``see :meth:`scrubjay.Index.search`
    ``."""
    docs = []
    for name in re.findall(r":(?:meth|func|class):`~?([\w.]+)`", doc):
        for path in (name, f"scrubjay.{name}", f"{prefix}.{name}"):
            item: Any = scrubjay
            try:
                for part in path.removeprefix("scrubjay.").split("."):
                    item = getattr(item, part)
            except AttributeError:
                continue
            docs.append(inspect.getdoc(item) or "")
            break
    return "\n".join(docs)


def missing(one: Callable, prefix: str = "scrubjay", beside: str = "") -> list[str]:
    """Return the parameters that neither docstring names; `beside` is the text of methods of the class that it
    follows."""
    text = f"{one.doc}\n{followed(one.doc, prefix)}\n{beside}"
    return [name for name in one.parameters if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def parameters_of(function: Any) -> list[str]:
    names = inspect.signature(function).parameters
    return [name for name in names if name not in {"self", "cls"} and not name.startswith("_")]


def described(item: type) -> set[str]:
    """Return the fields of a dataclass that are followed by a docstring in the source."""
    if not dataclasses.is_dataclass(item) and not hasattr(item, "_fields"):
        return set()
    body = ast.parse(textwrap.dedent(inspect.getsource(item))).body[0].body  # type: ignore[attr-defined]
    return {
        field.target.id
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def functions(place: str, item: Any) -> Iterator[Callable]:
    """Yield a function, or the constructor and the public methods of a class, including inherited ones of ours."""
    if inspect.isfunction(item):
        function = inspect.unwrap(item)  # the twin of a method has its docstring
        yield Callable(place, inspect.getdoc(function) or "", parameters_of(function))
    if not inspect.isclass(item) or issubclass(item, BaseException) or getattr(item, "_is_protocol", False):
        return
    init = inspect.getattr_static(item, "__init__")
    if inspect.isfunction(init) and item.__name__ not in MADE_BY_THE_LIBRARY:
        doc = f"{inspect.getdoc(item) or ''}\n{init.__doc__ or ''}"
        fields = described(item)
        yield Callable(place, doc, [name for name in parameters_of(init) if name not in fields])
    for owner in item.__mro__:
        if owner.__module__.startswith("scrubjay"):
            for name, value in vars(owner).items():
                method = getattr(value, "__func__", value)
                if not name.startswith("_") and inspect.isfunction(method):
                    yield from functions(f"{place}.{name}", method)


@pytest.mark.parametrize("module", MODULES)
def test_every_parameter_is_named(module: str) -> None:
    loaded = importlib.import_module(module)
    found = [
        one
        for name in loaded.__all__
        if getattr(getattr(loaded, name), "__module__", "").startswith("scrubjay")
        for one in functions(f"{module}.{name}", getattr(loaded, name))
    ]
    for item in UNNAMED.get(module, []):
        found += functions(f"{module}.{item.__name__}", item)
    assert sum(len(one.parameters) for one in found) > 1
    lost = {one.place: names for one in found if (names := missing(one, one.place.rpartition(".")[0]))}
    assert lost == {}


def exported(source: Path) -> set[str]:
    """Return the names of `__all__` of a module's package."""
    package = source if source.parent.name in {"adapters", "bench"} else source.parent / "__init__.py"
    for node in ast.parse(package.read_text(encoding="utf-8")).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(ast.literal_eval(node.value))  # type: ignore[union-attr]
    return set()


def written(source: Path) -> Iterator[Callable]:
    """Yield the definitions in a source file that belong to the public names of its package."""
    names = exported(source)
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            yield from _written(node.name, node, "")
        elif isinstance(node, ast.ClassDef) and node.name in names:
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    if method.name == "__init__":
                        yield from _written(node.name, method, ast.get_docstring(node) or "")
                    elif not method.name.startswith("_"):
                        yield from _written(f"{node.name}.{method.name}", method, "")


def _written(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, more: str) -> Iterator[Callable]:
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
    doc = f"{ast.get_docstring(node) or ''}\n{more}"
    yield Callable(
        name, doc, [one for one in names if one not in {"self", "cls"} and not one.startswith("_")]
    )


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_parameter_of_adapters_is_named(source: Path) -> None:
    found = list(written(source))
    docs = {one.place: one.doc for one in found}
    lost = {}
    for one in found:
        owner = one.place.partition(".")[0]
        beside = (docs.get(f"{owner}.{name}", "") for name in re.findall(r":meth:`(\w+)`", one.doc))
        if names := missing(one, beside="\n".join(beside)):
            lost[one.place] = names
    assert lost == {}


def test_a_parameter_that_is_not_named_is_found() -> None:
    def named(text: str, k: int = 10) -> None:
        """Search for `text`."""

    def following(text: str, k: int = 10) -> None:
        """Search; see :meth:`scrubjay.Index.search`."""

    assert [missing(one) for one in functions("named", named)] == [["k"]]
    assert [missing(one) for one in functions("following", following)] == [[]]


def test_the_adapters_are_read() -> None:
    assert sum(len(one.parameters) for source in SOURCES for one in written(source)) > 300
