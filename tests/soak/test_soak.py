"""A short soak test: seconds in the default run; five minutes, or SCRUBJAY_SOAK_SECONDS, with --slow."""

from __future__ import annotations

import os

import pytest

from tests.data.engines import Kit
from tests.soak.soak import soak


def test_a_soak_of_four_seconds(kit: Kit) -> None:
    calls = soak(kit, seconds=4.0, n_threads=4, seed=1)
    assert sum(calls.values()) > 100


@pytest.mark.slow
def test_five_minutes(kit: Kit) -> None:
    calls = soak(kit, seconds=float(os.environ.get("SCRUBJAY_SOAK_SECONDS", "300")), n_threads=4, seed=2)
    assert sum(calls.values()) > 1000
