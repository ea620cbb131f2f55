"""The cost of a call must not grow with its scope."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from scrubjay.memory import Memory
from scrubjay.memory.ledger import preparation as module
from scrubjay.memory.read import row_cache as keeping
from scrubjay.store.sqlite import connections
from scrubjay.store.sqlite.connections import StoreConnection
from tests.memory.setting import JANE, JOE, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(tmp_path / "m.scrubjay")


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that this thread sends to SQLite; another thread writes images."""
    sent: list[str] = []
    call, here = StoreConnection.call, threading.get_ident()
    functions = (
        connections._EXECUTE,
        connections._EXECUTE_MANY,
        connections._first_row,
        connections._all_rows,
    )

    def noted(self: StoreConnection, function: Any, *arguments: Any) -> Any:
        if threading.get_ident() == here and function in functions:
            sent.append(arguments[1])
        return call(self, function, *arguments)

    monkeypatch.setattr(StoreConnection, "call", noted)
    return sent


def test_each_of_several_proposals_sends_one_statement(memory: Memory, statements: list[str]) -> None:
    """It checks for an existing document; all else is queried once for all, and rows are written 1, 4, 16 or 64 at a
    time."""
    memory.propose("Jane sails.", scope=JANE, source="r")  # the first write settles the index's configuration
    counts = []
    for n in (10, 30):
        statements.clear()
        memory.propose_all([(f"Jane sails on lake {n}.{i}.", JANE, "r") for i in range(n)])
        counts.append(len(statements))
    n_rows, n_logs = 2, 2  # more statements: 10 are 4 + 4 + 1 + 1, and 30 are 16 + 4 + 4 + 4 + 1 + 1
    assert counts[1] - counts[0] == 20 + n_rows + n_logs and counts[0] <= 10 + 2 * 4 + 14


def test_a_turn_sends_few_statements(memory: Memory, statements: list[str]) -> None:
    memory.propose("Jane sails.", scope=JANE, source="r")
    with memory.session(JANE, "chat") as session:
        for _ in range(2):
            statements.clear()
            session.user("Who sails?")
            session.assemble()
            session.model("Jane.")
        assert len(statements) <= 15


@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_a_duplicate_is_found_by_its_hash(memory: Memory, kind: str) -> None:
    """Reading the scope instead would cost n^2 for n facts written one by one."""
    with memory._parts.context.reading() as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN " + module._SAYS_SO[kind] + "(?, ?)", ("acme", "jane", "", b"", b"1")
        ).fetchall()
    assert len(plan) == 1 and f"memory_{kind}_once" in plan[0][3] and "hash=?" in plan[0][3]


def test_a_duplicate_is_embedded_no_more(memory: Memory) -> None:
    embedded: list[str] = []
    original = memory._parts.context.embed_texts
    memory._parts.context.embed_texts = lambda texts: (embedded.extend(texts), original(texts))[1]  # type: ignore[method-assign]
    for _ in range(2):
        memory.propose("Jane sails.", scope=JANE, source="r")
    assert embedded == ["Jane sails."]


def test_the_records_of_an_answer_are_read_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records cost one statement, yet each is current when it is accessed."""
    memory.propose_all([(f"Jane sails on lake {n}.", JANE, "r") for n in range(10)])
    found = memory.recall("Jane sails on which lake?", JANE)
    asked: list[str] = []
    original = keeping.rows_where

    def counted(connection: Any, kind: str, condition: str, *rest: Any, **options: Any) -> Any:
        asked.append(kind)
        return original(connection, kind, condition, *rest, **options)

    monkeypatch.setattr(keeping, "rows_where", counted)
    records = [hit.record for hit in found]
    assert len(records) == 10 and asked == ["fact"]
    assert [record.id for record in records if record is not None] == found.ids
    memory.revoke(found[3].id, reason="no lake", scope=JANE)
    assert [hit.record is None for hit in found] == [n == 3 for n in range(10)]
    assert asked == ["fact", "fact"]  # again, because something was written
    memory.propose("Joe sails.", scope=JOE, source="r")
    assert found[0].record == records[0]
