"""Kills at every step of every operation must leave all of the operation, or nothing.

A child does one operation and kills itself (SIGKILL) right before its n-th writing statement, for n = 1, 2, ... until
it completes; then the file is opened again, and must be in its state from before, or in the state after an
uninterrupted operation.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PolicyCandidate
from scrubjay.store.sqlite.transaction import Transaction
from tests.memory.setting import ACME, DAY, JANE, JOE, Clock, lives, open_memory

MOST_STEPS = 150
TABLES = (
    "policy",
    "preference",
    "fact",
    "episode",
    "observation",
    "log",
    "rejection",
    "deletion",
    "run",
    "event",
)
SHIPS = FactCandidate("Acme ships on Fridays", "acme", "ships")


def prepare(path: Path) -> None:
    """Create the state from which all operations start."""
    fill(lambda **options: open_memory(path, Clock(), **options))


def fill(opened: Callable[..., Memory]) -> None:
    """Write that state to the memory that `opened` returns."""
    with opened() as memory:
        lives(memory, "Oslo")
        memory.prefer("tone", "brief", scope=JANE)
        memory.propose(EpisodeCandidate("Booked a train", "success", ttl=1), scope=JANE, source="r")
        memory.propose(FactCandidate("tea", confidence=0.7), scope=JANE, source="r")
        memory.propose(SHIPS, scope=JOE, source="r1")
        memory.propose(FactCandidate("Acme builds", "acme", "builds"), scope=ACME, source="r1")
        memory.policy("refunds", "never", tenant="acme")
        memory.propose(FactCandidate("x", confidence=0.1), scope=JANE, source="r")
        memory.index.upsert("plain", "a plain document", scope=JANE)


def one(memory: Memory, text: str) -> str:
    """Return the id of a record by its text."""
    records = [*memory.list(JANE, hidden=True), *memory.list(JOE, hidden=True)]
    return next(record.id for record in records if record.text == text)


OPERATIONS: dict[str, Callable[[Memory], Any]] = {
    "propose": lambda m: m.propose("Jane sails", scope=JANE, source="r9"),
    "supersede": lambda m: lives(m, "Rome"),
    "promote": lambda m: m.propose(SHIPS, scope=JANE, source="r2"),
    "confirm": lambda m: m.confirm(one(m, "Acme builds"), by="boss", scope=ACME),
    "confirm policy": lambda m: m.confirm(one(m, "never"), by="boss", scope=ACME),
    "replace": lambda m: m.prefer("tone", "long", scope=JANE),
    "several": lambda m: m.propose_all(
        [
            (PolicyCandidate("a", "b"), JANE, "r"),
            ("y", JANE, "r"),
            (FactCandidate("z", confidence=0), JANE, "r"),
        ],
        revoke=[(one(m, "tea"), JANE, "wrong")],
    ),
    "update": lambda m: m.update(one(m, "Jane lives in Oslo"), scope=JANE, content="Jane lives in Lima"),
    "revoke": lambda m: m.revoke(one(m, "Jane lives in Oslo"), reason="wrong", scope=JANE),
    "delete": lambda m: m.delete(one(m, "Jane lives in Oslo"), scope=JANE),
    "feedback": lambda m: m.feedback(one(m, "tea"), scope=JANE),
    "sweep": lambda m: m.admin.sweep(),
    "forget": lambda m: m.forget(JANE),
    "forget tenant": lambda m: m.forget(tenant="acme"),
}


def later() -> Clock:
    """Return the time of the operations: an episode has expired, and a fact has faded."""
    return Clock(Clock().now + 300 * DAY)


def state(path: Path) -> str:
    """Return the content of a file without ids, after comparing documents with rows."""
    with open_memory(path, later()) as memory:
        assert (
            memory.documents.admin.check().clean
            and memory.index.admin.check().clean
            and memory.admin.check() == []
        )
        connection = memory._parts.context.store.reading_connection()
        rows = {}
        for table in TABLES:
            cursor = connection.execute(f"SELECT * FROM memory_{table}")
            names = [column[0] for column in cursor.description]
            left_out = {"id", "slot", "superseded_by", "fact", "record", "detail", "number", "shared_as"}
            rows[table] = sorted(
                repr([(n, v) for n, v in zip(names, row, strict=True) if n not in left_out]) for row in cursor
            )
        written = connection.execute(
            "SELECT slot, content FROM memory_fact WHERE status <> 'provisional' UNION ALL "
            "SELECT slot, summary FROM memory_episode WHERE status = 'active'"
        ).fetchall()
        (n_documents,) = connection.execute(
            f"SELECT count(*) FROM {memory._parts.context.store.tables.document}"
        ).fetchone()
        texts = connection.execute(
            f"SELECT id, text FROM {memory._parts.context.store.tables.document}"
        ).fetchall()
        assert sorted(texts) == sorted(written) and n_documents == len(written)
        assert connection.execute("SELECT 1 FROM memory_meta WHERE name = 'erasing'").fetchone() is None
        return json.dumps([rows, len(memory.index), memory.known(JANE) == memory.known(JANE)])


def killed_child(path: Path, operation: Callable[[Memory], Any], step: int) -> bool:
    """Run an operation in a child that kills itself before its statement `step`; return False if it completed."""
    child = os.fork()
    if child == 0:
        try:
            memory = open_memory(path, later())
            n_left = step

            def trace(statement: str) -> None:
                nonlocal n_left
                if statement.split(None, 1)[0].upper() in ("INSERT", "UPDATE", "DELETE", "COMMIT", "BEGIN"):
                    n_left -= 1
                    if n_left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            memory._parts.context.store._writer.set_trace_callback(trace)
            operation(memory)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def copy(source: Path, target: Path) -> Path:
    """Return a fresh copy of a file that is not open."""
    for old in target.parent.glob(target.name + "*"):
        old.unlink()
    shutil.copy(source, target)
    return target


@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_before_each_statement(tmp_path: Path, name: str, share_of: Callable[[int, int], int]) -> None:
    """Quick: before every fifth statement; --slow: before every second; --long: before each."""
    stride = share_of(5, 2)
    prepared = tmp_path / "prepared.scrubjay"
    prepare(prepared)
    before = state(copy(prepared, tmp_path / "before.scrubjay"))
    whole = copy(prepared, tmp_path / "whole.scrubjay")
    assert not killed_child(whole, OPERATIONS[name], MOST_STEPS * 10)
    after = state(whole)
    assert before != after
    n_killed = 0
    for step in range(1 + sum(map(ord, name)) % stride, MOST_STEPS, stride):
        path = copy(prepared, tmp_path / "tried.scrubjay")
        if not killed_child(path, OPERATIONS[name], step):
            assert state(path) == after
            break
        n_killed += 1
        assert state(path) == before, (name, step)
    else:
        raise AssertionError(f"{name} never got through")
    assert n_killed > 3 // stride


def open_and_die(path: Path, n_tables: int) -> None:
    """Open a memory for the first time, and be killed before its n-th table."""
    made = Transaction.__init__
    n_left = n_tables

    def counting(self: Any, connection: sqlite3.Connection, *rest: Any, **options: Any) -> None:
        def trace(statement: str) -> None:
            nonlocal n_left
            n_left -= statement.startswith("CREATE")
            if n_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        made(self, connection, *rest, **options)
        connection.set_trace_callback(trace)

    Transaction.__init__ = counting  # type: ignore[method-assign]
    open_memory(path)


def test_killed_while_the_tables_are_made(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    for step in (1, 2, 10, 30):
        child = os.fork()
        if child == 0:
            try:
                open_and_die(path, step)
            finally:
                os._exit(1)  # on any error: the child must not continue with the tests
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), step
    with open_memory(path) as memory:
        assert lives(memory, "Oslo").status == "written"
        assert memory.recall("Oslo", JANE).mode == "lexical"


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path: Path, name: str) -> None:
    """A statement fails as on a full disk: the operation raises StoreError, and the open memory works as before."""
    prepared = tmp_path / "prepared.scrubjay"
    prepare(prepared)
    before = state(copy(prepared, tmp_path / "before.scrubjay"))
    path = copy(prepared, tmp_path / "tried.scrubjay")
    failed = 0
    with open_memory(path, later()) as memory:
        seen = visible_to_all(memory)
        writer = memory._parts.context.store._writer
        for n_statements in (1, 2, 3, 5, 8, 13, 21):
            n_left = n_statements

            def refuse(action: int, table: str | None, *_: Any) -> int:
                nonlocal n_left
                writes = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
                n_left -= writes and not str(table).startswith("sqlite_")
                return sqlite3.SQLITE_DENY if writes and n_left <= 0 else sqlite3.SQLITE_OK

            writer.set_authorizer(refuse)
            try:
                OPERATIONS[name](memory)
            except scrubjay.StoreError:
                failed += 1
            else:
                writer.set_authorizer(None)
                break
            writer.set_authorizer(None)
            assert visible_to_all(memory) == seen, n_statements
        assert failed > 0
    if failed == 7:
        assert state(path) == before


def visible_to_all(memory: Memory) -> Any:
    """Return what is visible without opening the file again."""
    return [
        (
            memory.list(scope, hidden=True),
            memory.known(scope),
            sorted(memory.recall("Jane tea Acme", scope).texts),
        )
        for scope in (ACME, JANE, JOE)
    ]
