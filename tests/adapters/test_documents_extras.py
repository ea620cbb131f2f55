"""The error for importing an adapter whose framework is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{framework!r}] = None  # as if it were not installed
import scrubjay
try:
    import scrubjay.adapters.{adapter}
except scrubjay.MissingExtraError as missing:
    assert isinstance(missing, ImportError) and missing.extra == {adapter!r}, missing
    print(missing)
"""


@pytest.mark.parametrize(
    ("adapter", "framework", "package"),
    [("langchain", "langchain_core", "langchain-core"), ("haystack", "haystack", "haystack-ai")],
)
def test_a_missing_framework_is_named_with_its_extra(adapter: str, framework: str, package: str) -> None:
    program = PROGRAM.format(adapter=adapter, framework=framework)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout == (
        f'scrubjay.adapters.{adapter} needs {package}, which is not installed: pip install "scrubjay[{adapter}]"\n'
    )


def test_scrubjay_alone_imports_no_framework() -> None:
    program = "import scrubjay, sys; print([m for m in ('langchain_core', 'haystack', 'pydantic') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
