"""The tests of ``pytest --memory-store``: one case for each check."""

from __future__ import annotations

from typing import Any

from memory_store_conformance.judging import factory_key, judge
from memory_store_conformance.registry import Check


def test_memory_store(memory_store_check: Check, request: Any) -> None:
    judge(memory_store_check, request.config.stash[factory_key()])
