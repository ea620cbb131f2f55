"""Closing a connection is reported once it is closed, to any number of callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrubjay import ClosedError
from scrubjay.store.sqlite.connections import StoreConnection, connect


@pytest.fixture
def connection(tmp_path: Path) -> StoreConnection:
    return connect(tmp_path / "file", durability="normal", busy_seconds=1.0)


def test_each_shutdown_callback_is_called_once(connection: StoreConnection) -> None:
    """A thread that ends closes its own connection, at the same time as an index that closes, or before."""
    told: list[str] = []
    connection.shut(lambda: told.append("first"))
    connection.shut()
    connection.shut(lambda: told.append("again"))
    assert told == ["first", "again"]
    with pytest.raises(ClosedError):
        connection.execute("SELECT 1")


def test_a_shutdown_within_a_call_happens_when_the_call_returns(connection: StoreConnection) -> None:
    told: list[str] = []

    def shutting() -> int:
        connection.shut(lambda: told.append("index"))
        connection.shut()
        assert told == []
        return 1

    connection.create_function("shutting", 0, shutting)
    connection.execute("SELECT shutting()")
    assert told == ["index"]
