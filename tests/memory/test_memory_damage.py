"""A memory with damaged rows answers with the rest of them, and names the damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import CorruptDataWarning, CorruptIndexError
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory
from tests.memory.setting import ACME, JANE, JOE, open_memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        for word in ("oak", "jay"):
            fact = FactCandidate(f"Jane likes {word}", word, "is liked", metadata={"a": 1})
            memory.propose(fact, scope=JANE, source="r")
        memory.propose(
            EpisodeCandidate("Fed a jay", "success", "feeding", ["a"], ["b"]), scope=JANE, source="r"
        )
        memory.propose(FactCandidate("too unsure", confidence=0.1), scope=JANE, source="r")
        memory.prefer("tone", "brief", scope=JANE)
        memory.policy("refunds", "No refunds.", tenant="acme", by="legal")
        memory.forget(JOE)
        with memory.session(JANE, "chat") as session:
            session.user("hello oak")
            session.assemble()
    return path


def forge(path: Path, *statements: str) -> None:
    """Change rows past the rules of the schema."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def of(memory: Memory, kind: str) -> str:
    """Return the id of a record, whatever its status."""
    return str(
        memory._parts.context.store.reading_connection()
        .execute(f"SELECT id FROM memory_{kind} ORDER BY rowid")
        .fetchone()[0]
    )


LISTED = [
    "UPDATE memory_fact SET created_at = 'soon' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET created_at = 9000000000000000000 WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET metadata = x'7b' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET metadata = x'5b5d' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET content = CAST(x'6f616bc328' AS TEXT) WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET content = 'Jane likes oaks' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET confidence = x'00' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET status = 'actjve' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET uses = 'many' WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET hash = 7 WHERE content LIKE '%oak'",
    "UPDATE memory_fact SET slot = '' WHERE content LIKE '%oak'",
]


@pytest.mark.parametrize("statement", LISTED)
def test_one_damaged_record_stops_nothing_but_itself(path: Path, statement: str) -> None:
    forge(path, statement)
    with open_memory(path) as memory:
        with pytest.warns(CorruptDataWarning, match="fact"):
            listed = memory.list(JANE, kinds=("fact",), hidden=True)
        assert [one.text for one in listed] == ["Jane likes jay"]
        with pytest.raises(CorruptIndexError) as raised:
            memory.get(of(memory, "fact"), scope=JANE, hidden=True)
        assert str(path) in str(raised.value) and raised.value.id == of(memory, "fact")
        assert len(memory.recall("likes", JANE)) == 2, "documents have texts of their own"


def test_a_fact_in_another_scope_is_not_served_there(path: Path) -> None:
    forge(path, "UPDATE memory_fact SET user = 'joe'")
    with open_memory(path) as memory, pytest.warns(CorruptDataWarning):
        assert memory.list(JOE, kinds=("fact",)) == []


READS: list[tuple[str, Callable[[Memory], Any]]] = [
    ("UPDATE memory_policy SET effective_from = 'soon'", lambda m: m.known(JANE)),
    ("UPDATE memory_policy SET text = x'c328'", lambda m: m.known(JANE)),
    ("UPDATE memory_policy SET decided_by = x'c328'", lambda m: m.policies("acme")),
    ("UPDATE memory_preference SET confidence = 'high'", lambda m: m.known(JANE)),
    ("UPDATE memory_episode SET steps = x'7b7d'", lambda m: m.get(of(m, "episode"), scope=JANE)),
    ("UPDATE memory_episode SET artifacts = x'5b355d'", lambda m: m.get(of(m, "episode"), scope=JANE)),
    ("UPDATE memory_log SET at = 'then'", lambda m: m.why(of(m, "fact"), scope=JANE)),
    ("UPDATE memory_log SET what = x'c328'", lambda m: m.why(of(m, "fact"), scope=JANE)),
    ("UPDATE memory_rejection SET at = 9000000000000000000", lambda m: m.rejections(JANE)),
    ("UPDATE memory_rejection SET content = x'c328'", lambda m: m.rejections(JANE)),
    ("UPDATE memory_deletion SET counts = '{'", lambda m: m.admin.deletions("acme")),
    ("UPDATE memory_deletion SET counts = '[]'", lambda m: m.admin.deletions("acme")),
    ("UPDATE memory_run SET n_events = 'x'", lambda m: m.replay("chat", JANE)),
    ("UPDATE memory_run SET started_at = x'00'", lambda m: m.runs(JANE)),
    ("UPDATE memory_event SET at = 9000000000000000000", lambda m: m.replay("chat", JANE)),
    ("UPDATE memory_event SET content = x'c328'", lambda m: m.admin.find_in_traces("oak", JANE)),
    ("UPDATE memory_event SET data = x'7b'", lambda m: m.replay("chat", JANE)),
    (
        "UPDATE memory_event SET data = CAST('{\"metadata\":{\"pieces\":{}}}' AS BLOB) WHERE kind = 'prompt'",
        lambda m: m.replay("chat", JANE).prompts(),
    ),
    (
        "UPDATE memory_event SET data = CAST(replace(data, '\"turns\":[', '\"turns\":[[1],') AS BLOB) "
        "WHERE kind = 'prompt'",
        lambda m: m.replay("chat", JANE).prompts(),
    ),
    ("UPDATE memory_run SET n_turns = 'x'", lambda m: m.session(JANE, "chat").user("again")),
    ("UPDATE memory_fact SET last_used_at = 0, uses = 'x', confidence = 0.7", lambda m: m.admin.sweep()),
    ("UPDATE memory_fact SET expires_at = x'00'", lambda m: m.admin.check()),
]


@pytest.mark.parametrize(("statement", "read"), READS)
def test_reading_a_damaged_record_raises_corrupt_index_error(
    path: Path, statement: str, read: Callable[[Memory], Any]
) -> None:
    forge(path, statement)
    with open_memory(path) as memory, pytest.raises(CorruptIndexError):
        read(memory)


def test_a_retraction_of_nothing_that_is_a_number_retracts_nothing(path: Path) -> None:
    with open_memory(path) as memory, memory.session(JANE, "chat") as session:
        session.retract(session.model("no").seq)
    forge(
        path,
        "UPDATE memory_event SET data = CAST('{\"metadata\":{\"retracts\":[1]}}' AS BLOB) WHERE kind = 'retraction'",
    )
    with open_memory(path) as memory:
        assert [event.content for event in memory.session(JANE, "chat").recent()] == ["hello oak", "no"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_meta SET value = 'one' WHERE name = 'format'",
        "UPDATE memory_meta SET value = 0 WHERE name = 'format'",
        "DROP TABLE memory_event",
        "ALTER TABLE memory_fact RENAME COLUMN content TO contents",
    ],
)
def test_tables_that_are_not_as_they_were_made_are_named(path: Path, statement: str) -> None:
    forge(path, statement)
    with pytest.raises(CorruptIndexError, match="memory"):
        open_memory(path)


def test_a_document_without_its_record_is_left_out_of_what_is_recalled(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(
        "UPDATE document_1 SET payload = x'00' WHERE rowid = (SELECT min(rowid) FROM document_1)"
    )
    connection.execute("DELETE FROM image_1")
    connection.commit()
    connection.close()
    with open_memory(path) as memory:
        found = memory.recall("likes jay oak", JANE)
        assert len(found) == 2
        assert any(reason.startswith("metadata_damaged: 1 ") for reason in found.degraded)
        assert [hit.kind for hit in found]
        assert len(memory.admin.check()) == 1
        assert memory.admin.reindex() == 1
        assert len(memory.recall("likes jay oak", JANE)) == 3


def test_a_rule_that_is_gone_is_named(path: Path) -> None:
    forge(path)
    with open_memory(path) as memory:
        assert any("memory_log_fixed" in problem for problem in memory.admin.check())
        assert memory.known(ACME).policies
