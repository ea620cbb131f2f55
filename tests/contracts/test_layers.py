"""Includes and imports run downwards only (ARCHITECTURE.md draws the layers).

A new folder of cpp/src or a new top-level module of python/scrubjay must be added here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Folder of cpp/src -> folders that it may include, besides itself.
CPP_MAY_INCLUDE = {
    "base": set(),
    "simd": {"base"},
    "text": {"base", "simd"},
    "lexical": {"base", "simd", "text"},
    "vector": {"base", "simd"},
    "filter": {"base", "simd"},
    "fusion": {"base"},
    "embed": {"base", "simd", "text"},
    "engine": {"base", "simd", "text", "lexical", "vector", "filter", "fusion", "embed"},
}
# Third-party headers -> the only folder that may include them, and the maximum number of files.
WRAPPED = {
    "stringzilla/": ("src/text", 1),
    "roaring": ("src/filter", None),
    "pybind11/": ("bindings", None),
    "Python.h": ("bindings", None),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Top-level module or package of python/scrubjay -> its floor. It imports from lower floors and from itself.
PYTHON_HEIGHT = {
    "_native": 0,
    "base": 1,
    "config": 1,
    "filters": 1,
    "documents": 2,
    "embedders": 2,
    "keystores": 2,
    "fusion": 3,
    "store": 3,
    "index": 4,
    "backend": 5,
    "retrieval": 5,
    "bench": 6,
    "memory": 6,
    "adapters": 7,
    "demo": 7,
    "cli": 8,
}

# Package or module of python/scrubjay/store -> height in it: shared code, keys, the protocol, the stores, the resident
# partitions, and the modules on top of these.
STORE_HEIGHT = {
    "rows": 0,
    "keys": 1,
    "objects": 1,
    "seam": 2,
    "row_listings": 3,
    "pending": 3,
    "residency": 3,
    "sqlite": 3,
    "postgres": 3,
    "location": 4,
    "repair": 4,
    "opened": 0,
    "expiry": 0,
    "local": 4,
    "writing": 4,
    "engine": 5,
    "check": 6,
    "copying": 6,
    "document_engine": 6,
    "jsonl": 6,
    "open": 6,
    "maintenance": 6,
}


def cpp_violations(cpp: Path) -> Iterator[str]:
    """Return includes below `cpp` (a directory with src and bindings) that run upwards or reach a wrapped library."""
    wrapped_in: dict[str, list[str]] = {}
    for path in sorted(cpp.rglob("*.[ch]pp")):
        file = path.relative_to(cpp).as_posix()
        parts = path.relative_to(cpp).parts
        folder = parts[1] if parts[0] == "src" else None
        if folder is not None and folder not in CPP_MAY_INCLUDE:
            yield f"{file}: the folder {folder} has no place among the layers"
            continue
        for bracket, header in INCLUDE.findall(path.read_text()):
            for prefix, (home, _) in WRAPPED.items():
                if header.startswith(prefix):
                    wrapped_in.setdefault(prefix, []).append(file)
                    if not file.startswith(home + "/"):
                        yield f"{file} includes {header}, which only {home} may"
            if bracket == '"' and folder is not None and "/" in header:
                target = header.split("/")[0]
                if target != folder and target not in CPP_MAY_INCLUDE[folder]:
                    yield f"{file} includes {header}: {folder} may not use {target}"
    for prefix, files in wrapped_in.items():
        at_most = WRAPPED[prefix][1]
        if at_most is not None and len(set(files)) > at_most:
            yield f"{prefix} is included by {sorted(set(files))}: it is to be wrapped in {at_most} file"


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Return the top-level names below scrubjay that a module imports, at any depth of the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "scrubjay":
            names = [f"scrubjay.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("scrubjay."))


def python_violations(package: Path) -> Iterator[str]:
    """Return imports inside the package directory `package` that run upwards or sideways."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        module = parts[0].removesuffix(".py")
        if module in {"__init__", "__main__"}:
            continue
        if module not in PYTHON_HEIGHT:
            yield f"{path.relative_to(package)}: the module {module} has no place among the layers"
            continue
        for target in imported_modules(ast.parse(path.read_text())):
            if target == module:
                continue
            if target not in PYTHON_HEIGHT:
                if not target[0].isupper():  # a class imported from the package itself is not a module
                    yield f"{path.relative_to(package)} imports {target}, which has no place among the layers"
                else:
                    yield f"{path.relative_to(package)} imports {target} from the package: name its module"
            elif PYTHON_HEIGHT[target] >= PYTHON_HEIGHT[module]:
                yield f"{path.relative_to(package)} imports {target}: {module} may not use it"


def store_violations(store: Path) -> Iterator[str]:
    """Return imports between the packages of `store` that run upwards or sideways."""
    for path in sorted(store.rglob("*.py")):
        file = path.relative_to(store).as_posix()
        room = file.split("/")[0].removesuffix(".py")
        if room == "__init__":
            continue
        if room not in STORE_HEIGHT:
            yield f"{file}: {room} has no place among the rooms of the store"
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("scrubjay.store"):
                continue
            below = str(node.module).split(".")[2:3]
            for target in below or [alias.name for alias in node.names]:
                if target == room:
                    continue
                if STORE_HEIGHT.get(target, 99) >= STORE_HEIGHT[room]:
                    yield f"{file}: {room} may not use {target}"


def imports_of_modules(package: Path, name: str) -> dict[str, set[str]]:
    """Return each module of the package `name` with those of it that it imports, including imports for annotations."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        modules[".".join((name, *parts)).removesuffix(".__init__")] = path
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= (whole & set(modules)) or {node.module}
        found[module] = (named & set(modules)) - {module, name}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, sorted; empty if there is no cycle."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for target in graph.get(left.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        return seen

    reach = {module: reached(module) for module in graph}
    knots = {frozenset(other for other in reach[one] if one in reach.get(other, ())) for one in graph}
    return sorted(sorted(knot) for knot in knots if knot)


def floors(package: Path, name: str) -> dict[str, int]:
    """Return the floor of each module and folder of the package: one above the highest that it imports."""
    below: dict[str, set[str]] = {}
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        used = below.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            else:
                continue
            used |= {one[len(name) + 1 :].split(".")[0] for one in named if one.startswith(name + ".")}
    heights: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in heights:
            heights[room] = 1 + max((height(one) for one in below[room] & set(below) - {room}), default=0)
        return heights[room]

    return {room: height(room) for room in below}


@pytest.mark.parametrize(("name", "most"), [("scrubjay", 9), ("scrubjay.store", 7), ("scrubjay.memory", 7)])
def test_few_floors_stand_on_each_other(name: str, most: int) -> None:
    heights = floors(ROOT / "python" / Path(*name.split(".")), name)
    assert max(heights.values()) <= most, sorted(heights.items(), key=lambda one: -one[1])


def test_floors_are_counted(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "a.py").write_text("import os\n")
    (tmp_path / "middle.py").write_text("from one.low.a import b\n")
    (tmp_path / "high.py").write_text("def f():\n    from one import middle\n")
    assert floors(tmp_path, "one") == {"low": 1, "middle": 2, "high": 3}


@pytest.mark.parametrize(
    "package", ["python/scrubjay", "benchmarks", "conformance/src/memory_store_conformance"]
)
def test_imports_make_no_circle(package: str) -> None:
    if not (ROOT / package).is_dir():
        pytest.skip(f"a source distribution has no {package}")
    graph = imports_of_modules(ROOT / package, package.rpartition("/")[2])
    assert graph
    assert circles(graph) == []


def test_a_circle_of_imports_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_includes_run_downwards() -> None:
    assert list(cpp_violations(ROOT / "cpp")) == []


def test_imports_run_downwards() -> None:
    assert list(python_violations(ROOT / "python" / "scrubjay")) == []


def test_imports_between_the_rooms_of_the_store_run_downwards() -> None:
    assert list(store_violations(ROOT / "python" / "scrubjay" / "store")) == []


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("rows/vectors.py", "from scrubjay.store.keys.encryption import Box", "rows may not use keys"),
        ("postgres/store.py", "from scrubjay.store.sqlite import schema", "postgres may not use sqlite"),
        ("residency/loads.py", "from scrubjay.store import engine", "residency may not use engine"),
        ("oddments.py", "", "no place"),
    ],
)
def test_a_wrong_import_in_the_store_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n", encoding="utf-8")
    (violation,) = store_violations(tmp_path)
    assert complaint in violation


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("src/base/a.hpp", '#include "engine/engine.hpp"', "base may not use engine"),
        ("src/lexical/a.cpp", '#include "vector/scan.hpp"', "lexical may not use vector"),
        ("src/engine/a.cpp", "#include <pybind11/pybind11.h>", "only bindings may"),
        ("src/text/a.cpp", "#  include <roaring.h>", "only src/filter may"),
        ("src/magic/a.cpp", "", "no place"),
    ],
)
def test_a_wrong_include_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    (violation,) = cpp_violations(tmp_path)
    assert complaint in violation


def test_stringzilla_stays_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "src" / "text").mkdir(parents=True)
    for name in ("a.cpp", "b.cpp"):
        (tmp_path / "src" / "text" / name).write_text("#include <stringzilla/stringzilla.h>\n")
    (violation,) = cpp_violations(tmp_path)
    assert "wrapped in 1 file" in violation


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("base/errors.py", "from scrubjay.index import Index", "base may not use it"),
        ("embedders/onnx.py", "def load():\n    import scrubjay.cli.main", "embedders may not use it"),
        ("index.py", "from scrubjay import cli", "index may not use it"),
        ("index.py", "from scrubjay import Scope", "name its module"),
        ("oddments.py", "", "no place"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    (violation,) = python_violations(tmp_path)
    assert complaint in violation
