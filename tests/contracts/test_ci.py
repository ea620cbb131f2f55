"""`.ci/run` leaves out C++ tests by parts of their names: each part names a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILTERS = sorted(
    {
        name
        for names in re.findall(r"left_out=\(([^)]*)\)", (ROOT / ".ci/run").read_text(encoding="utf-8"))
        for name in re.findall(r"-(\w+)", names)
    }
)


def test_filters_are_read() -> None:
    assert len(FILTERS) > 10 and "soak_" in FILTERS


@pytest.mark.parametrize("name", FILTERS)
def test_each_left_out_name_is_part_of_a_test_name(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "cpp/tests").glob("*.cpp")]
    assert any(re.search(rf"^TEST\(\w*{name}", text, re.MULTILINE) for text in texts)
