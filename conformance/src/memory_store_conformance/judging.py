"""Checks as tests of pytest, for the plugin and for the module that it collects."""

from __future__ import annotations

from typing import Any

from memory_store_conformance.factories import Factory
from memory_store_conformance.registry import Check
from memory_store_conformance.runner import TIME_LIMIT_SECONDS, _offered, run_check

__all__ = ["factory_key", "judge"]

_KEY: Any = None


def judge(check: Check, factory: Factory) -> None:
    """Run a check as a test of pytest: it passes, fails with the evidence, or is skipped if it is not offered."""
    import pytest

    result = run_check(check, factory, _offered(factory), TIME_LIMIT_SECONDS)
    if result.outcome == "not offered":
        pytest.skip(f"not offered: {result.evidence}")
    if result.outcome == "failed":
        pytest.fail(f"{result.promise}\n{result.why}\nevidence: {result.evidence}", pytrace=False)


def factory_key() -> Any:
    """Return the key of pytest's stash under which the factory of --memory-store lies."""
    import pytest

    global _KEY
    if _KEY is None:
        _KEY = pytest.StashKey[Factory]()
    return _KEY
