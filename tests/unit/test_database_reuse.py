"""A database that tests reuse shows nothing of the previous test."""

from __future__ import annotations

import time

import pytest

from scrubjay import Scope
from scrubjay.memory import Memory
from tests.data import database_reuse
from tests.data.stores import superuser_rows

JANE = Scope("acme", user="jane")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_reuse, "_left", [])


def written() -> str:
    url = database_reuse.take()
    with Memory.open(url, None) as memory:
        memory.prefer("tone", "short", scope=JANE)
    return url


def taken_again(url: str) -> str:
    """Return a database and take another, once the server has closed the connections to it."""
    database_reuse.give_back(url)
    while database_reuse._has_visitors(url):
        time.sleep(0.01)
    return database_reuse.take()


def test_a_database_is_used_again_and_empty() -> None:
    url = written()
    (before,) = superuser_rows(url, "SELECT name FROM sj_schema")
    assert taken_again(url) == url
    with Memory.open(url, None) as memory:
        assert len(memory.known(JANE)) == 0 and len(memory.index) == 0
        assert memory.admin.check() == []
    assert superuser_rows(url, "SELECT name FROM sj_schema") != [before]


def test_a_database_in_use_is_not_reused() -> None:
    url = database_reuse.take()
    with Memory.open(url, None):
        database_reuse.give_back(url)
        assert database_reuse.take() != url


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE sj_memory_fact ADD COLUMN more text",
        "ALTER TABLE sj_memory_fact NO FORCE ROW LEVEL SECURITY",
        "DROP INDEX sj_memory_fact_once",
        "GRANT SELECT ON sj_document TO PUBLIC",
    ],
)
def test_a_database_with_changed_tables_is_not_reused(change: str) -> None:
    url = written()
    superuser_rows(url, change)
    assert taken_again(url) != url
