"""A memory copied from a file into a database and back is the same memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.cli import main
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.exchange import record_copy
from tests.data.keys import provider
from tests.data.postgres import as_superuser, new_url
from tests.memory.setting import ACME, GLOBEX, JANE, JOE, Clock, lives, open_memory

psycopg = pytest.importorskip("psycopg")

SCOPES = [ACME, JANE, JOE, GLOBEX, Scope("acme", user="jane", agent="coder")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.scrubjay"
    with open_memory(path, Clock()) as memory:
        fill(memory)
    return path


def fill(memory: Memory) -> None:
    """Create rows in every table, and documents of other collections."""
    memory.admin.global_policy("tone", "Be polite.", by="root")
    memory.policy("refunds", "Never promise one.", tenant="acme", by="legal")
    lives(memory, "Oslo")
    lives(memory, "Rome")  # which supersedes it
    lives(memory, "Bern", scope=JOE)
    memory.prefer("tone", "Answer briefly.", scope=JANE)
    waiting = memory.propose(FactCandidate("acme has a dog", "acme", "has"), scope=ACME, source="r1")
    memory.confirm(str(waiting.id), by="jane", scope=ACME)
    gone = memory.propose("a boat\0with a NUL and \U0010ffff", scope=JANE, source="r")
    memory.delete(str(gone.id), scope=JANE, by="jane")
    memory.propose("a plover\0with a NUL", scope=JANE, source="r")
    memory.propose(FactCandidate("perhaps", confidence=0.1), scope=JANE, source="r")
    for scope in (JANE, GLOBEX):
        with memory.session(scope, "chat") as session:
            session.user("hello, I live in Paris")
    memory.distil(
        "chat", lambda turns: [FactCandidate("Jane lives in Paris", "Jane", "lives in")], scope=JANE
    )
    memory.admin.hold(GLOBEX, reason="a lawsuit", by="court")
    memory.index.upsert("note", "oak", scope=JANE)
    memory.index.collection("side").upsert("note", "oak at the side", scope=JOE)


def shown(memory: Memory) -> dict[str, Any]:
    """Return all answers of a memory."""
    found: dict[str, Any] = {}
    for scope in SCOPES:
        found[repr(scope)] = (
            [repr(record) for record in memory.list(scope)],
            repr(memory.known(scope)),
            [(hit.id, hit.text) for hit in memory.recall("Where does Jane live? a dog, a plover", scope)],
            memory.runs(scope),
            [event.content for run in memory.runs(scope) for event in memory.replay(run, scope).events],
            [repr(hit) for hit in memory.index.search("oak", scope=scope)],
        )
        for record in memory.list(scope, kinds=("fact",)):
            found[record.id] = repr(memory.why(record.id, scope=scope))
    for tenant in ("acme", "globex"):
        found[tenant] = (
            [repr(deletion) for deletion in memory.admin.deletions(tenant)],
            [repr(hold) for hold in memory.admin.holds(tenant)],
            [repr(policy) for policy in memory.policies(tenant)],
        )
    found[""] = [repr(policy) for policy in memory.policies(None)]
    return found


def copied(capsys: pytest.CaptureFixture[str], source: Path | str, target: Path | str) -> dict[str, Any]:
    assert main(["copy", str(source), str(target), "--json", "--no-progress"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_a_memory_goes_into_a_database_and_back(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_memory(path, Clock()) as memory:
        expected = shown(memory)
    url, back = new_url(), tmp_path / "back"
    there = copied(capsys, path, url)
    assert there["records"] == there["records written"] > 30
    with open_memory(url, Clock()) as memory:  # type: ignore[arg-type]
        assert shown(memory) == expected
        assert memory.admin.check() == memory.index.admin.check().problems == []
    again = copied(capsys, path, url)
    assert (again["written"], again["records written"]) == (0, 0)
    assert again["digest of records"] == there["digest of records"]
    home = copied(capsys, url, back)
    assert home["digest of records"] == there["digest of records"] and home["digests"] == there["digests"]
    with open_memory(back, Clock()) as memory:
        assert shown(memory) == expected
        assert memory.admin.check() == memory.index.admin.check().problems == []
        # Its rules are enforced again, and it can be written.
        with (
            pytest.raises(Exception, match="append-only"),
            memory._parts.context.changing("trying") as change,
        ):
            change.connection.execute("UPDATE memory_log SET what = 'x'")
        assert lives(memory, "Bergen").status == "superseded"
        memory.policy("refunds", "Sometimes.", tenant="acme", by="legal")
        assert [policy.version for policy in memory.policies("acme")] == [1, 2]


def test_a_database_goes_on_after_a_copy(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = new_url()
    copied(capsys, path, url)
    with open_memory(url) as memory:  # type: ignore[arg-type]
        cursor = memory.feed.cursor
        assert lives(memory, "Bergen").id is not None
        assert [change.action for change in memory.feed.changes(cursor, scope=JANE)][-1:] != []
        memory.forget(JANE, names=True)
        memory.admin.compact()
        assert memory.admin.verify_erased(JANE, names=["jane"]).files is not None
        assert memory.admin.check() == []


def test_a_copy_that_was_cut_short_goes_on_and_another_memory_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = new_url()
    write = record_copy._write

    def fail_at_globex(target: Any, tenant: str, *arguments: Any) -> int:
        if tenant == "globex":
            raise KeyboardInterrupt
        return write(target, tenant, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(record_copy, "_write", fail_at_globex)
        assert main(["copy", str(path), url, "--no-progress"]) != 0
    capsys.readouterr()
    facts = copied(capsys, path, url)
    assert 0 < facts["records written"] < facts["records"]
    with open_memory(url) as memory:  # type: ignore[arg-type]
        memory.prefer("tone", "At length.", scope=JOE)
    assert main(["copy", str(path), url, "--no-progress"]) != 0
    assert "expected no records of 'acme'" in capsys.readouterr().err
    with open_memory(tmp_path / "other") as memory:
        memory.prefer("tone", "At length.", scope=Scope("umbrella", user="ann"))
    assert main(["copy", str(path), str(tmp_path / "other"), "--no-progress"]) != 0
    assert "expected no records of 'umbrella'" in capsys.readouterr().err


def test_numbers_that_two_tenants_have_in_a_database_are_made_different_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = new_url()
    with open_memory(url) as memory:  # type: ignore[arg-type]
        for tenant in ("acme", "globex"):
            memory.policy("refunds", f"Not at {tenant}.", tenant=tenant, by="legal")
            memory.propose("a fact", scope=Scope(tenant, user="jane"), source="r")
            with memory.session(Scope(tenant, user="jane"), "chat") as session:
                session.user(f"hello {tenant}")
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        for statement in (
            "UPDATE sj_memory_policy SET number = 7, policy_version = 0",
            "UPDATE sj_memory_fact SET policy_version = 7",
            "UPDATE sj_memory_run SET key = 9",
            "UPDATE sj_memory_event SET run = 9",
        ):
            connection.execute(statement)
    copied(capsys, url, tmp_path / "file")
    again = copied(capsys, url, tmp_path / "file")
    assert again["records written"] == 0
    with open_memory(tmp_path / "file") as memory:
        assert memory.admin.check() == []
        for tenant in ("acme", "globex"):
            jane = Scope(tenant, user="jane")
            (policy,) = memory.policies(tenant)
            assert policy.text == f"Not at {tenant}."
            (fact,) = memory.list(jane, kinds=("fact",))
            assert [event.content for event in memory.replay("chat", jane).events] == [f"hello {tenant}"]
            connection = memory._parts.context.store.reading_connection()
            ((number,),) = connection.execute(
                "SELECT number FROM memory_policy WHERE tenant = ?", (tenant,)
            ).fetchall()
            ((seen,),) = connection.execute(
                "SELECT policy_version FROM memory_fact WHERE id = ?", (fact.id,)
            ).fetchall()
            assert number == seen


def test_records_of_an_encrypted_tenant_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography")
    with open_memory(tmp_path / "sealed", keys=provider) as memory:
        memory.prefer("tone", "Answer briefly.", scope=JANE)
    url = new_url()
    assert main(["copy", str(tmp_path / "sealed"), url, "--no-progress"]) != 0
    assert "encrypted" in capsys.readouterr().err
    with Index.open(url) as index:
        assert len(index) == 0
