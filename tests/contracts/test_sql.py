"""SQLite's SQL binds its parameters in a form that every Python accepts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "scrubjay"
NUMBERED = re.compile(r"(?<!\w)\?\d")
SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|VALUES|AND|SET)\b|=\s*\?")


def numbered(source: str) -> Iterator[str]:
    """Return the strings of a module that are SQL with numbered parameters."""
    for node in ast.walk(ast.parse(source)):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and NUMBERED.search(text) and SQL.search(text):
            yield f"{node.lineno}: {text[:60]}"


def test_no_parameter_is_numbered() -> None:
    """`?1` with a tuple is what SQLite documents, but Python 3.12.0 to 3.12.3 warn that it will be an error."""
    found = [
        f"{path.name}:{one}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for one in numbered(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source", ['"SELECT a FROM t WHERE b = ?1"', 'f"SET {column} = ?2 WHERE x"', '"tenant = ?1"']
)
def test_a_numbered_parameter_is_detected(source: str) -> None:
    assert list(numbered(source))
