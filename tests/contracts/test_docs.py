"""Everything that the documentation shows works: examples in docstrings and Markdown, commands, links, named files.

A new Markdown file at the root or below docs/ is tested as soon as it exists. Its Python blocks run in order and share
their names. A block whose fence says ``python extra=langchain`` needs that extra, runs separately, and is skipped
without it; ``extra=postgres`` and ``extra=endpoint`` get the addresses of test servers as `URL` and `OTHER_URL`.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.data import markdown
from tests.data.endpoint import new_endpoint
from tests.data.postgres import new_url

import scrubjay
from scrubjay.cli.arguments import make_parser

ROOT = Path(__file__).resolve().parents[2]
FOUND = (module.name for module in pkgutil.walk_packages(scrubjay.__path__, "scrubjay."))
MODULES = ["scrubjay", *sorted(name for name in FOUND if not name.endswith(("._native", ".__main__")))]
ADAPTERS = [name for name in MODULES if name.startswith("scrubjay.adapters.")]  # each needs its framework
OPTIONAL = [*ADAPTERS, "scrubjay.bench.vectordbbench"]
SERVERS = {"postgres": new_url, "endpoint": new_endpoint}
OF_LIBRARIES = {"tables", "readers", "encryption"}  # extras that belong to no adapter
MODULE_OF_EXTRA = {"serve": "scrubjay.adapters.service"}  # if the two have different names


def importable() -> list[str]:
    """Return the modules that can be imported: all except adapters whose framework is missing."""
    names = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except scrubjay.MissingExtraError:
            assert name in OPTIONAL
        else:
            names.append(name)
    return names


@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except scrubjay.MissingExtraError as missing:
        assert name in OPTIONAL
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


def markdown_examples() -> list[tuple[Path, str]]:
    """Yield (file, extra) for each group of Python blocks that runs together."""
    return [
        (path, extra)
        for path in markdown.documents()
        for extra in markdown.python_groups(path.read_text(encoding="utf-8"))
    ]


def name_of(value: Path | str) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else value


@pytest.mark.parametrize(("path", "extra"), markdown_examples(), ids=name_of)
def test_markdown_examples(path: Path, extra: str, request: pytest.FixtureRequest) -> None:
    """Blocks with prompts are compared with their output; the others only run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    if extra in SERVERS:
        names["URL"], names["OTHER_URL"] = SERVERS[extra](), SERVERS[extra]()
    request.getfixturevalue("temporary_folder")  # after the servers, which must outlive this test
    for code in markdown.python_groups(path.read_text(encoding="utf-8"))[extra]:
        try:
            if code.lstrip().startswith(">>>"):
                runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
                example = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), 0)
                runner.run(example, clear_globs=False)
                assert runner.summarize(verbose=False).failed == 0
            else:
                exec(
                    compile(code, str(path), "exec", dont_inherit=True), names
                )  # without the __future__ imports of this file
        except ImportError as missing:
            if not extra:
                raise
            check_absent(extra)
            pytest.skip(str(missing))


def check_absent(extra: str) -> None:
    """Fail if the example of an adapter cannot be imported although its framework is installed."""
    if extra in OF_LIBRARIES:
        return
    with pytest.raises(scrubjay.MissingExtraError):
        importlib.import_module(MODULE_OF_EXTRA.get(extra, f"scrubjay.adapters.{extra.replace('-', '_')}"))


def test_the_documentation_has_examples_of_every_adapter() -> None:
    shown = {extra for _, extra in markdown_examples()} - {"", *SERVERS, *OF_LIBRARIES}
    modules = {MODULE_OF_EXTRA.get(extra, f"scrubjay.adapters.{extra.replace('-', '_')}") for extra in shown}
    packages = {
        name for name in ADAPTERS if name.count(".") == 2 and not name.rpartition(".")[2].startswith("_")
    }
    assert packages - {"scrubjay.adapters.mcp"} == modules  # mcp is a command


def commands() -> list[tuple[Path, str]]:
    """Yield the lines of shell blocks that call `scrubjay`."""
    found = []
    for path in markdown.documents():
        for block in markdown.blocks(path.read_text(encoding="utf-8")):
            if block.language == "sh":
                lines = (line.partition("#")[0].rpartition("&& ")[2] for line in block.code.splitlines())
                found += [(path, line.strip()) for line in lines if line.startswith("scrubjay ")]
    return found


@pytest.mark.parametrize(("path", "command"), commands(), ids=name_of)
def test_markdown_commands_are_understood(path: Path, command: str) -> None:
    make_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("path", markdown.documents(), ids=name_of)
def test_markdown_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in markdown.links(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{path.name}: {link}"
        if anchor:
            assert anchor in markdown.anchors(target.read_text(encoding="utf-8")), f"{path.name}: {link}"


def test_every_guide_is_reached_from_the_readme() -> None:
    """The index of docs/ links to the pages in its folders; test_site.py checks the navigation."""
    linked = {
        (ROOT / link.partition("#")[0]).resolve() for link in markdown.links((ROOT / "README.md").read_text())
    }
    assert set((ROOT / "docs").glob("*.md")) <= linked


def test_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 800
    assert len(re.findall(r"^\|[ :|-]+\|$", text, re.MULTILINE)) == 2  # tables


def test_readme_and_the_guide_agree_where_it_has_run() -> None:
    """The README's matrix is an abridged copy of the one in docs/installing.md."""
    short = re.search(r"^## Where it has run$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    whole = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    assert short is not None
    claimed = re.findall(r"^\| (?!wheel|---)(.*?) \| (.*?) \|$", short[1], re.MULTILINE)
    tried = re.findall(r"^\| (?!platform|---)(.*?) \| .*? \| (.*) \|$", whole, re.MULTILINE)
    assert len(claimed) == 5 and len(tried) > 8
    for system in ("macOS", "Windows", "aarch64", "musl", "free-threaded", "x86-64"):
        said = [what for name, what in claimed if system in name]
        found = [what for name, what in tried if system in name]
        assert said and found, system
        did_run = any(not re.match(r"no\b|\*\*not sound", what) for what in found)
        assert did_run == any(not what.startswith("nothing") for what in said), system


README_BLOCKS = markdown.python_groups((ROOT / "README.md").read_text(encoding="utf-8"))[""]


@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize("number", range(len(README_BLOCKS)))
def test_a_block_of_the_readme_runs_by_itself(number: int) -> None:
    """A newcomer copies one of these blocks, not all in order."""
    exec(compile(README_BLOCKS[number], "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})


def test_readme_begins_with_its_two_commands() -> None:
    """.ci/run runs these two in fresh environments."""
    first = next(markdown.blocks((ROOT / "README.md").read_text(encoding="utf-8")))
    lines = [line.partition("#")[0].strip() for line in first.code.splitlines()]
    assert lines == ['pip install ".[wordllama]" && scrubjay demo', 'pip install ".[test]" && pytest']


@pytest.mark.parametrize(
    "name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md"]
)
def test_named_files_exist(name: str) -> None:
    """A path of this repository in backticks exists; `*` and capitals are wildcards."""
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.*-]+(?:/[\w.*-]*)+)(?:::\w+)?`", text))
    ours = {path.split("/")[0] for path in map(str, ROOT.iterdir())} | {path.name for path in ROOT.iterdir()}
    missing = [
        path
        for path in sorted(named)
        if path.split("/")[0] in ours - {"build", "third_party"}
        and not re.search(r"[A-Z]{4,}", path)
        and not list(ROOT.glob(path.rstrip("/")))
    ]
    assert missing == []


def test_places_of_the_architecture_exist() -> None:
    """Each row of the table below "Where to add a feature" names existing files."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## Where to add a feature")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 7
    for row in rows:
        files = re.findall(r"`([\w./-]+)`", row)
        assert files, row
        assert [file for file in files if "/" in file and not (ROOT / file).exists()] == [], row


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize("script", EXAMPLES, ids=name_of)
def test_examples_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(script)])
    try:
        runpy.run_path(str(script), run_name="__main__")
    except scrubjay.MissingExtraError as missing:
        pytest.skip(str(missing))
    except ModuleNotFoundError as missing:
        needed = re.findall(
            r"^ *pip install \"\.\[([\w,-]+)\]\"", script.read_text(encoding="utf-8"), re.MULTILINE
        )
        if not needed or missing.name is None or missing.name.startswith("scrubjay"):
            raise
        pytest.skip(f'{missing}: pip install "scrubjay[{needed[0]}]"')


def test_a_newcomer_needs_forty_lines() -> None:
    """From an empty folder to an agent with memory over a file, HTTP and MCP; runs like the other examples."""
    lines = (ROOT / "examples" / "newcomer.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 40


def names_of(module: ModuleType) -> list[str]:
    """Return the names of `__all__`, which public modules have; otherwise the functions and classes without an
    underscore that the module defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, item in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(item) or inspect.isroutine(item))
        and item.__module__ == module.__name__
    ]


def public_objects() -> list[tuple[str, Any]]:
    """Yield the public objects of modules, and the public methods and properties of their classes."""
    found: dict[str, Any] = {}
    for name in importable():
        module = importlib.import_module(name)
        for public in names_of(module):
            item = getattr(module, public)
            if isinstance(item, ModuleType) or not getattr(item, "__module__", "").startswith("scrubjay"):
                continue
            found[f"{name}.{public}"] = item
            if inspect.isclass(item):
                for attribute, value in vars(item).items():
                    if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                        found[f"{name}.{public}.{attribute}"] = value
    return sorted(found.items())


def said_by_protocols() -> set[str]:
    """Return the names of methods that the protocols of the store document for all implementations."""
    return {
        name.rpartition(".")[2]
        for name, item in public_objects()
        if name.startswith("scrubjay.store.") and _is_of_a_protocol(name) and inspect.getdoc(item)
    }


def _is_of_a_protocol(name: str) -> bool:
    module, cls, _ = name.rsplit(".", 2)
    return inspect.isclass(found := getattr(sys.modules.get(module), cls, None)) and getattr(
        found, "_is_protocol", False
    )


def test_everything_public_has_a_docstring() -> None:
    objects, said = public_objects(), said_by_protocols()
    assert len(objects) > 100 and len(said) > 50
    silent = [name for name, item in objects if not inspect.getdoc(item)]
    assert [
        name
        for name in silent
        if not name.startswith("scrubjay.store.") or name.rpartition(".")[2] not in said
    ] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name in importable() if not importlib.import_module(name).__doc__] == []
