"""Fixtures shared by several of these files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrubjay.store.keys import encryption
from scrubjay.store.residency import housekeeping, residency


@pytest.fixture
def eager_housekeeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Housekeeping without the delay after a partition's last use."""
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(residency, "_REST_SECONDS", 0.01)


@pytest.fixture
def benchmark_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder for the texts and vectors that benchmarks cache between runs."""
    monkeypatch.setenv("SCRUBJAY_BENCHMARK_CACHE", str(tmp_path))


@pytest.fixture
def no_key_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the provider of keys at each use of a key."""
    monkeypatch.setattr(encryption, "KEY_SECONDS", -1.0)
