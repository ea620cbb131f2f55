"""Does everything that the documentation shows work: examples in docstrings, blocks of Python in the README?"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import scrubjay

ROOT = Path(__file__).resolve().parents[2]
FOUND = (module.name for module in pkgutil.walk_packages(scrubjay.__path__, "scrubjay."))
MODULES = ["scrubjay", *sorted(name for name in FOUND if not name.endswith(("._native", ".__main__")))]
ADAPTERS = [name for name in MODULES if name.startswith("scrubjay.adapters.")]  # each needs its framework
PYTHON_BLOCK = re.compile(r"^```(?:python|py|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def importable() -> list[str]:
    """The modules that can be imported: all, but for adapters whose framework is absent."""
    names = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except scrubjay.MissingExtraError:
            assert name in ADAPTERS
        else:
            names.append(name)
    return names


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except scrubjay.MissingExtraError as missing:
        assert name in ADAPTERS
        pytest.skip(str(missing))
    names = {"np": np, "scrubjay": scrubjay, "Scope": scrubjay.Scope, **vars(module)}
    parser = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in parser.find(module, name, globs=names):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_docstring_examples() -> None:
    n_examples = 0
    for name in importable():
        for test in doctest.DocTestFinder().find(importlib.import_module(name), name):
            n_examples += len(test.examples)
    assert n_examples > 20


def markdown_files() -> list[Path]:
    return [
        path for path in sorted(ROOT.glob("*.md")) if PYTHON_BLOCK.search(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("path", markdown_files(), ids=lambda path: path.name)
def test_markdown_examples(path: Path) -> None:
    """The blocks of one file run in order and share their names; those with prompts are compared with their output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in PYTHON_BLOCK.findall(path.read_text(encoding="utf-8")):
        if block.lstrip().startswith(">>>"):
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(
                doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0), clear_globs=False
            )
            assert runner.summarize(verbose=False).failed == 0
        else:
            exec(compile(block, str(path), "exec"), names)


def public_objects() -> list[tuple[str, Any]]:
    """Every name of every `__all__`, and the public methods and properties of the classes among them."""
    found: dict[str, Any] = {}
    for name in importable():
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            item = getattr(module, public)
            if isinstance(item, ModuleType) or not getattr(item, "__module__", "").startswith("scrubjay"):
                continue
            found[f"{name}.{public}"] = item
            if inspect.isclass(item):
                for attribute, value in vars(item).items():
                    if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                        found[f"{name}.{public}.{attribute}"] = value
    return sorted(found.items())


def test_everything_public_has_a_docstring() -> None:
    objects = public_objects()
    assert len(objects) > 100
    assert [name for name, item in objects if not inspect.getdoc(item)] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name in importable() if not importlib.import_module(name).__doc__] == []
