"""The sixteen calls whose instructions are counted (`cases.py`), by the clock. Test names are permanent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.micro import cases
from scrubjay.bench.pytest_plugin import EachCall


@pytest.fixture(scope="module")
def calls() -> dict[str, Callable[[], Any]]:
    return cases.calls()


@pytest.mark.parametrize("name", cases.NAMES)
def test_engine(each_call: EachCall, calls: dict[str, Callable[[], Any]], name: str) -> None:
    call = calls[name]
    each_call(lambda _: call(), [None])
