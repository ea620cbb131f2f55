"""Fixtures that several of these files use."""

from __future__ import annotations

import pytest

from scrubjay.store.residency import housekeeping, residency


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Housekeeping that does not wait until a partition has rested for long."""
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(residency, "_REST_SECONDS", 0.01)
