"""Rules that hold in the file itself, whoever writes to it: each is tried with plain SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay
from scrubjay import Index, Query
from scrubjay.backend import Backend
from scrubjay.documents import payload
from scrubjay.embedders import Function
from scrubjay.memory import FactCandidate, Memory, Provenance
from scrubjay.memory.ledger import schema
from tests.memory.setting import ACME, JANE, JOE, Clock, by_ann, lives, open_memory, row_count, texts

FACT = {
    "id": "'fact_1'", "slot": "'s1'", "tenant": "'acme'", "user": "'jane'", "agent": "''", "content": "'c'",
    "subject": "''", "predicate": "''", "hash": "zeroblob(32)", "topic": "x''", "confidence": "0.9",
    "status": "'active'", "created_at": "1", "updated_at": "1", "last_used_at": "1", "source_run": "'r'",
    "policy_version": "0",
}  # fmt: skip
PREFERENCE = {
    "id": "'preference_1'", "tenant": "'acme'", "user": "'jane'", "key": "'k'", "text": "'t'",
    "source": "'inferred'", "confidence": "0.5", "status": "'active'", "created_at": "1", "updated_at": "1",
    "source_run": "'r'", "policy_version": "0",
}  # fmt: skip
EPISODE = {
    "id": "'episode_1'", "slot": "'s1'", "tenant": "'acme'", "user": "'jane'", "agent": "''", "summary": "'s'",
    "outcome": "'o'", "task_type": "''", "steps": "'[]'", "artifacts": "'[]'", "hash": "zeroblob(32)",
    "status": "'active'", "created_at": "1", "updated_at": "1", "last_used_at": "1", "source_run": "'r'",
    "policy_version": "0",
}  # fmt: skip
POLICY = {
    "id": "'policy_1'", "tenant": "'acme'", "key": "'k'", "version": "1", "text": "'t'", "effective_from": "1",
    "status": "'provisional'", "created_at": "1", "source_run": "'r'", "policy_version": "0",
}  # fmt: skip
ROWS = {"fact": FACT, "preference": PREFERENCE, "episode": EPISODE, "policy": POLICY}


@pytest.fixture
def file() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in schema.TABLES:
        connection.execute(statement)
    yield connection
    connection.close()


def insert(file: sqlite3.Connection, kind: str, **changes: str | None) -> None:
    row = {**ROWS[kind], **changes}
    names = [name for name, value in row.items() if value is not None]
    file.execute(
        f"INSERT INTO memory_{kind}({', '.join(names)}) VALUES ({', '.join(row[n] or '' for n in names)})"
    )


def test_the_rows_of_these_tests_are_fit(file: sqlite3.Connection) -> None:
    for kind in ROWS:
        insert(file, kind)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("fact", {"confidence": "0.69"}),
        ("fact", {"confidence": "1.1"}),
        ("fact", {"source_run": None}),
        ("fact", {"source_run": "''"}),
        ("fact", {"tenant": "''"}),
        ("fact", {"tenant": None}),
        ("fact", {"content": "''"}),
        ("fact", {"hash": "x'00'"}),
        ("fact", {"status": "'confirmed'"}),
        ("fact", {"status": "'superseded'"}),
        ("fact", {"relation": "'denies'"}),
        ("fact", {"single": "2"}),
        ("fact", {"valid_from": "2", "valid_until": "2"}),
        ("fact", {"status": "'provisional'"}),
        ("fact", {"user": "''"}),
        ("preference", {"confidence": "0.49"}),
        ("preference", {"tenant": "''"}),
        ("preference", {"source": "'guessed'"}),
        ("preference", {"source_run": "''"}),
        ("preference", {"status": "'provisional'"}),
        ("episode", {"tenant": "''"}),
        ("episode", {"source_run": None}),
        ("episode", {"outcome": "''"}),
        ("episode", {"status": "'provisional'"}),
        ("policy", {"status": "'active'", "decided_by": "'boss'"}),
        ("policy", {"decided_by": "'boss'"}),
        ("policy", {"version": "0"}),
        ("policy", {"effective_until": "1"}),
        ("policy", {"source_run": None}),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused(
    file: sqlite3.Connection, kind: str, changes: dict[str, str | None]
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert(file, kind, **changes)


@pytest.mark.parametrize(
    ("kind", "second"),
    [
        ("fact", {"id": "'fact_2'", "slot": "'s2'"}),
        ("fact", {"id": "'fact_2'", "hash": "randomblob(32)"}),
        ("preference", {"id": "'preference_2'", "text": "'other'"}),
        ("episode", {"id": "'episode_2'", "slot": "'s2'"}),
        ("policy", {"id": "'policy_2'", "text": "'other'"}),
    ],
    ids=["the same content", "the same slot", "the same key", "the same summary", "the same version"],
)
def test_two_rows_that_exclude_each_other(
    file: sqlite3.Connection, kind: str, second: dict[str, str]
) -> None:
    insert(file, kind)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        insert(file, kind, **second)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memory_policy SET text = 'other'",
        "UPDATE memory_policy SET effective_from = 0",
        "UPDATE memory_policy SET effective_until = 9",
        "UPDATE memory_policy SET key = 'other'",
        "UPDATE memory_policy SET version = 2",
        "UPDATE memory_policy SET tenant = 'globex'",
        "UPDATE memory_policy SET source_run = 'other'",
        "UPDATE memory_policy SET detail = '{}'",
        "UPDATE memory_policy SET status = 'active'",  # not confirmed
        "DELETE FROM memory_policy",
    ],
)
def test_a_version_of_a_policy_never_changes(file: sqlite3.Connection, change: str) -> None:
    insert(file, "policy")
    with pytest.raises(sqlite3.IntegrityError):
        file.execute(change)
    file.execute("UPDATE memory_policy SET status = 'active', decided_by = 'boss'")
    with pytest.raises(sqlite3.IntegrityError):
        file.execute(change if "active" not in change else "UPDATE memory_policy SET status = 'provisional'")
    file.execute("UPDATE memory_policy SET status = 'revoked'")
    with pytest.raises(sqlite3.IntegrityError):
        file.execute("UPDATE memory_policy SET status = 'active'")


def test_a_tenants_fact_is_promoted_by_two_independent_runs_or_by_somebody(file: sqlite3.Connection) -> None:
    promote = "UPDATE memory_fact SET status = 'active' WHERE id = 'fact_1'"
    insert(file, "fact", user="''", status="'provisional'")

    def observe(run: str, user: str, author: str | None = None) -> None:
        file.execute(
            "INSERT INTO memory_observation(tenant, hash, run, user, fact, at, author) "
            "VALUES ('acme', zeroblob(32), ?, ?, '', 1, ?)",
            (run, user, author),
        )

    with pytest.raises(sqlite3.IntegrityError, match="two independent sources"):
        file.execute(promote)
    for run, user in (("r1", ""), ("r1", "jane"), ("r1", "joe")):  # one run
        observe(run, user)
        with pytest.raises(sqlite3.IntegrityError, match="two independent sources"):
            file.execute(promote)
    file.execute("DELETE FROM memory_observation")
    for run in ("r1", "r2", "r3"):  # one user
        observe(run, "jane")
        with pytest.raises(sqlite3.IntegrityError, match="two independent sources"):
            file.execute(promote)
    observe("r4", "joe")
    file.execute("BEGIN")
    file.execute(promote)
    file.execute("ROLLBACK")
    file.execute("DELETE FROM memory_observation")
    for run, author in (("r1", None), ("r2", None), ("r3", "ann")):  # those without an author are one source
        with pytest.raises(sqlite3.IntegrityError, match="two independent sources"):
            file.execute(promote)
        observe(run, "", author)
    file.execute("BEGIN")
    file.execute(promote)
    file.execute("ROLLBACK")
    file.execute("DELETE FROM memory_observation")
    file.execute("UPDATE memory_fact SET status = 'active', decided_by = 'boss'")


@pytest.mark.parametrize("status", ["active", "superseded", "provisional"])
def test_a_trigger_keeps_revoked_records_revoked(file: sqlite3.Connection, status: str) -> None:
    insert(file, "fact")
    file.execute("UPDATE memory_fact SET status = 'superseded', superseded_by = 'fact_2'")
    file.execute("UPDATE memory_fact SET status = 'active'")  # the fact that interrupted it is over
    with pytest.raises(sqlite3.IntegrityError):
        file.execute("UPDATE memory_fact SET status = 'provisional'")
    file.execute("UPDATE memory_fact SET status = 'revoked'")
    with pytest.raises(sqlite3.IntegrityError):
        file.execute(f"UPDATE memory_fact SET status = '{status}'")
    insert(file, "episode")
    file.execute("UPDATE memory_episode SET status = 'revoked'")
    with pytest.raises(sqlite3.IntegrityError):
        file.execute("UPDATE memory_episode SET status = 'active'")


@pytest.mark.parametrize("kind", ["fact", "episode"])
@pytest.mark.parametrize("column", ["tenant", "user", "agent"])
def test_a_record_stays_in_its_scope(file: sqlite3.Connection, kind: str, column: str) -> None:
    insert(file, kind)
    with pytest.raises(sqlite3.IntegrityError, match="stays in its scope"):
        file.execute(f"UPDATE memory_{kind} SET {column} = 'other'")


def test_logs_are_append_only(file: sqlite3.Connection) -> None:
    file.execute("INSERT INTO memory_log(at, record, what) VALUES (1, 'fact_1', 'written')")
    file.execute(
        "INSERT INTO memory_deletion(at, tenant, user, agent, reason, counts) VALUES (1, 'acme', '', '', 'r', '{}')"
    )
    for change in (
        "UPDATE memory_log SET what = 'x'",
        "DELETE FROM memory_log",
        "UPDATE memory_deletion SET reason = 'x'",
        "DELETE FROM memory_deletion",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            file.execute(change)
    file.execute("INSERT INTO memory_meta VALUES ('erasing', 1)")
    file.execute("DELETE FROM memory_log")
    with pytest.raises(sqlite3.IntegrityError):  # not even then
        file.execute("DELETE FROM memory_deletion")


def test_every_change_of_what_is_known_is_numbered(file: sqlite3.Connection) -> None:
    def stamps() -> list[tuple[str, int]]:
        return file.execute("SELECT user, version FROM memory_stamp ORDER BY user").fetchall()

    insert(file, "preference")
    assert stamps() == [("jane", 1)]
    file.execute("UPDATE memory_preference SET text = 'x'")
    assert stamps() == [("jane", 2)]
    file.execute("DELETE FROM memory_preference")
    assert stamps() == [("jane", 3)]
    insert(file, "policy")
    file.execute("UPDATE memory_policy SET status = 'active', decided_by = 'boss'")
    assert stamps() == [("", 2), ("jane", 3)]
    insert(file, "fact")
    assert stamps() == [("", 2), ("jane", 3)]


# ---------------------------------------------------------------------- the file


def test_an_index_becomes_a_memory_and_stays_an_index(tmp_path: Path) -> None:
    path = tmp_path / "i.scrubjay"
    with Index.open(path) as index:
        index.upsert("m1", "Jane sails", scope=JANE)
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        assert memory.index.search("sails", scope=JANE)[0].id == "m1"
    with Index.open(path) as index:
        assert index.search("sails", scope=JANE)[0].id == "m1" and index.admin.check().clean
        assert index.admin.collections() == ["memory"]
    with open_memory(path) as memory:
        assert texts(memory, "lives", JANE) == ["Jane lives in Oslo"]


def test_a_newer_memory_is_refused(tmp_path: Path) -> None:
    with (
        open_memory(tmp_path / "m.scrubjay") as memory,
        memory._parts.context.store.writing("testing") as transaction,
    ):
        newer = schema.FORMAT + 1
        transaction.connection.execute("UPDATE memory_meta SET value = ? WHERE name = 'format'", (newer,))
    with pytest.raises(
        scrubjay.StoreFormatError, match=f"memory of format {schema.FORMAT} or older, got format {newer}"
    ):
        open_memory(tmp_path / "m.scrubjay")


def test_half_made_tables_are_made_again_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.scrubjay"
    with monkeypatch.context() as patched:
        patched.setattr(schema, "TABLES", (*schema.TABLES[:9], "SELECT nonsense"))
        with pytest.raises(scrubjay.StoreError):
            open_memory(path)
    with open_memory(path) as memory:
        assert lives(memory, "Oslo").status == "written"


def test_a_backup_is_a_memory(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        lives(memory, "Oslo")
        memory.prefer("tone", "brief", scope=JANE)
        memory.propose(FactCandidate("Acme ships", "acme", "ships"), scope=ACME, source="r1")
        memory.index.admin.backup(tmp_path / "copy.scrubjay")
    with open_memory(tmp_path / "copy.scrubjay", Clock()) as copy:
        assert texts(copy, "lives ships", JANE) == ["Jane lives in Oslo"] and len(copy.known(JANE)) == 1
        copy.propose(FactCandidate("Acme ships", "acme", "ships"), scope=ACME, source=by_ann("r2"))
        assert texts(copy, "ships", JOE) == ["Acme ships"]
        assert row_count(copy, "memory_fact") == 2


def test_a_model_can_be_changed(tmp_path: Path) -> None:
    from scrubjay.embedders import Function

    def embedder(name: str) -> Function:
        return Function(lambda texts: [[len(t), t.count("o") + 1, 1.0] for t in texts], dim=3, name=name)

    with open_memory(tmp_path / "m.scrubjay", embedder=embedder("one")) as memory:
        lives(memory, "Oslo")
        memory.documents.admin.reembed(embedder("two"), progress=False)
        assert memory.recall("Oslo", JANE).mode == "hybrid"
        lives(memory, "Rome")
        assert texts(memory, "lives", JANE) == ["Jane lives in Rome"]
    assert Memory.open(tmp_path / "m.scrubjay").recall("Rome", JANE).mode == "lexical"


def test_a_foreign_collection_named_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        index.collection("memory").upsert("m1", "not of a memory", scope=JANE)
    with pytest.raises(scrubjay.StoreFormatError, match="to be empty"):
        open_memory(path)
    with Index.open(path) as index:
        assert len(index.collection("memory")) == 1
        index.admin.drop_collection("memory")
    with open_memory(path) as memory:
        assert lives(memory, "Oslo").status == "written"


@pytest.mark.parametrize("harm", ["dropped", "erased", "changed", "strange", "copied"])
def test_documents_changed_outside_the_memory_are_found_and_repaired(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path, Clock()) as memory:
        slots = [lives(memory, "Oslo").id, memory.propose("Joe sails", scope=JOE, source="r").id]
        memory.propose("gone soon", scope=JANE, source=Provenance("r"))
        assert memory.admin.check() == [] and memory.admin.reindex() == 0 and len(slots) == 2
    with Index.open(path) as index:
        documents = index.collection("memory")
        engine = Backend.of(documents).engine  # below the check that refuses raw writes
        if harm == "dropped":
            index.admin.drop_collection("memory")
        elif harm == "erased":
            engine.erase(JANE)
        elif harm == "changed":
            hit = documents.search("Oslo", scope=JANE)[0]
            engine.upsert(hit.id, "Jane lives in Rome", scope=JANE)
        elif harm == "copied":  # the id of jane's document, in another user's scope
            hit = documents.search("Oslo", scope=JANE)[0]
            said = payload.encode(hit.metadata, None)
            engine.upsert(hit.id, hit.text, scope=JOE, payload=said)
        else:
            engine.upsert("stranger", "Jane lives in Rome", scope=JANE)
    with open_memory(path, Clock()) as memory:
        n_wrong = {"dropped": 3, "erased": 2, "changed": 1, "strange": 1, "copied": 1}[harm]
        assert len(memory.admin.check()) == n_wrong
        assert memory.admin.reindex() == n_wrong and memory.admin.check() == []
        assert texts(memory, "lives gone", JANE) == ["Jane lives in Oslo", "gone soon"]
        assert texts(memory, "sails", JOE) == texts(memory, "sails lives", JOE) == ["Joe sails"]
        assert memory.documents.admin.check().clean


def test_a_document_that_is_written_again_has_the_vector_of_its_text(tmp_path: Path) -> None:
    """Within one change a slot may have been given to another text."""
    embedder = Function(
        lambda texts: [[t.count("o") + 0.1, t.count("i") + 0.1] for t in texts], dim=2, name="oi"
    )
    with open_memory(tmp_path / "m.scrubjay", embedder=embedder) as memory:
        lives(memory, "iiiiii")
        moved, surer = (FactCandidate("Jane lives in Oooooo", "Jane", "lives in", c) for c in (0.8, 0.9))
        memory.propose_all([(moved, JANE, "r1"), (surer, JANE, "r2")])
        (hit,) = memory.recall("Jane lives in Oooooo", JANE, query=Query(mode="vector"))
        assert hit.metadata["confidence"] == 0.9
        assert hit.hit.similarity == pytest.approx(1.0, abs=1e-3)
