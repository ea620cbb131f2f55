"""Fixtures of `pytest benchmarks --benchmark-only`: indexes filled once, outside the timed part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.micro.users import Users
from scrubjay.bench.pytest_plugin import each_call, pytest_benchmark_update_machine_info

__all__ = ["each_call", "pytest_benchmark_update_machine_info", "users"]


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    """Indexes of one user's memories, each filled on first use."""
    with Users(tmp_path_factory.mktemp("users")) as made:
        yield made
