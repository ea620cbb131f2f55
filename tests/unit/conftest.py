"""Fixtures shared by several of these files."""

from __future__ import annotations

import pytest

from scrubjay.store.residency import housekeeping, residency


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Housekeeping without the delay after a partition's last use."""
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(residency, "_REST_SECONDS", 0.01)
