"""The committed type stub of the native module equals the one that pybind11-stubgen generates."""

from __future__ import annotations

import ast
import difflib
import subprocess
import sys
from pathlib import Path

import pytest

import scrubjay

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "python" / "scrubjay" / "_native.pyi"


def test_the_stub_is_the_generated_one(tmp_path: Path) -> None:
    pytest.importorskip("pybind11_stubgen", reason="pybind11-stubgen is not installed (extra: test)")
    generated = tmp_path / "_native.pyi"
    subprocess.run(
        [sys.executable, ROOT / "cmake" / "generate_stubs.py", generated], check=True, cwd=tmp_path
    )
    # The meaning is compared, not the layout: `ruff format` may have reformatted the committed file.
    expected, found = (ast.unparse(ast.parse(path.read_text())) for path in (generated, COMMITTED))
    difference = difflib.unified_diff(
        found.splitlines(), expected.splitlines(), "committed", "generated", "", "", 1
    )
    assert expected == found, "run `make stubs`:\n" + "\n".join(difference)


def test_the_stub_names_everything_public() -> None:
    named = {
        node.name
        for node in ast.parse(COMMITTED.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    public = {
        name
        for name, value in vars(scrubjay._native).items()
        if not name.startswith("_")
        and (callable(value))
        and getattr(value, "__module__", "") == "scrubjay._native"
    }
    assert public
    assert public <= named


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(scrubjay.__file__).parent / "py.typed").exists()
