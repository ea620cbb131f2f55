"""Single records: visible and changeable by scope, never stale, and with a history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Query, Scope
from scrubjay.embedders import Function
from scrubjay.memory import Episode, Fact, FactCandidate, Memory, PreferenceCandidate, Provenance
from scrubjay.memory.ledger.rows import find_row
from scrubjay.memory.model.rows import belongs_to, is_visible
from scrubjay.memory.read.recall_result import RecordRows
from tests.memory.setting import (
    ACME,
    CODER,
    EVERYWHERE,
    GLOBEX,
    JANE,
    JANES_CODER,
    JOE,
    OF_RECORDS,
    Clock,
    lives,
    open_memory,
    row_count,
    texts,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        yield memory


def test_a_record_comes_back_as_it_was_given(memory: Memory) -> None:
    source = Provenance("chat-7", turn=3, author="jane", place="notes.md:4")
    memory.policy("tone", "formal", tenant="acme", by="boss")
    outcome = memory.add(
        "Jane lives in Oslo",
        scope=JANE,
        source=source,
        subject="Jane",
        predicate="lives in",
        confidence=0.8,
        evidence="I moved to Oslo",
        metadata={"tags": ["city"], "n": 3},
        expires_at="2100-01-01",
    )
    fact = memory.get(outcome.id or "", scope=JANE)
    assert isinstance(fact, Fact)
    assert (fact.content, fact.subject, fact.predicate, fact.confidence) == (
        "Jane lives in Oslo",
        "Jane",
        "lives in",
        0.8,
    )
    assert fact.evidence == "I moved to Oslo" and fact.metadata == {"tags": ["city"], "n": 3}
    assert fact.scope == JANE and fact.expires_at is not None and fact.expires_at.year == 2100
    given = fact.provenance
    assert (given.run, given.turn, given.author, given.place) == ("chat-7", 3, "jane", "notes.md:4")
    assert given.at == fact.created_at and given.policy_version >= 1
    episode = memory.add(
        "Booked a train",
        scope=JANE,
        kind="episode",
        outcome="success",
        task_type="travel",
        steps=["looked", "booked"],
        artifacts=["ticket.pdf"],
    )
    found = memory.get(episode.id or "", scope=JANE)
    assert isinstance(found, Episode)
    assert (found.steps, found.artifacts, found.task_type) == (
        ("looked", "booked"),
        ("ticket.pdf",),
        "travel",
    )
    with pytest.raises(ValueError, match="kind: expected one of"):
        memory.add("x", scope=JANE, kind="trace")


def test_a_scope_sees_shared_records_and_changes_only_its_own(memory: Memory) -> None:
    """Visibility follows the rule of the index; only its owner changes a shared record."""
    ids: dict[Scope, str] = {}
    for scope in EVERYWHERE:
        if scope.user or scope.agent:
            ids[scope] = memory.propose(f"A thing of {scope!r}", scope=scope, source="r1").id or ""
    shared = memory.propose(FactCandidate("A thing of acme", "acme", "is"), scope=ACME, source="r1")
    ids[ACME] = memory.confirm(shared.id or "", by="boss", scope=ACME).id or ""
    connection = memory._parts.context.store.reading_connection()
    changeable: dict[Scope, set[Scope]] = {}
    for caller in EVERYWHERE:
        visible = {owner for owner, id in ids.items() if memory.get(id, scope=caller) is not None}
        assert visible == set(caller.visible()) & set(ids), caller
        assert {r.scope for r in memory.list(caller)} == visible
        for owner, id in ids.items():
            assert (memory.why(id, scope=caller) is not None) == (owner in visible)
            row = find_row(connection, id)
            assert row is not None and (not belongs_to(row, caller) or is_visible(row, caller))
            if belongs_to(row, caller):
                changeable.setdefault(caller, set()).add(owner)
    assert changeable == {
        ACME: {ACME},
        JANE: {JANE},
        JOE: {JOE},
        CODER: {CODER},
        JANES_CODER: {JANES_CODER, JANE},
        Scope("globex", user="jane"): {Scope("globex", user="jane")},
    }


def test_an_id_of_a_foreign_scope_does_not_exist(memory: Memory) -> None:
    id = lives(memory, "Oslo").id or ""
    own = memory.prefer("tone", "brief", scope=JANE).id or ""
    for caller in (ACME, JOE, CODER, GLOBEX):
        for one in (id, own, "fact_none", "nonsense", "\ud800", "memory_meta_1"):
            assert memory.get(one, scope=caller, hidden=True) is None
            assert memory.why(one, scope=caller) is None
            assert memory.delete(one, scope=caller) is False
            calls = [
                lambda one=one, caller=caller: memory.update(one, scope=caller, content="x"),
                lambda one=one, caller=caller: memory.revoke(one, reason="x", scope=caller),
                lambda one=one, caller=caller: memory.confirm(one, by="x", scope=caller),
                lambda one=one, caller=caller: memory.feedback(one, scope=caller),
            ]
            for call in calls:
                with pytest.raises(KeyError, match="no such record in this scope"):
                    call()
    assert texts(memory, "lives", JANE) == ["Jane lives in Oslo"] and len(memory.list(JANE)) == 2
    with pytest.raises(TypeError, match="id: expected a str"):
        memory.get(3, scope=JANE)  # type: ignore[arg-type]


def letters(texts: list[str]) -> Any:
    return np.array(
        [[text.count(c) + 0.1 for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], np.float32
    )


def test_an_update_is_embedded_and_indexed_again(tmp_path: Path) -> None:
    embedder = Function(letters, dim=26, name="letters")
    with open_memory(tmp_path / "m.scrubjay", Clock(), embedder=embedder) as memory:
        id = lives(memory, "Oslo").id or ""
        trip = memory.add("Booked a train", scope=JANE, kind="episode", outcome="failure").id or ""
        changed = memory.update(
            id, scope=JANE, content="Jane lives in Zzyzx", metadata={"state": "CA"}, by="jane"
        )
        assert isinstance(changed, Fact) and changed.content == "Jane lives in Zzyzx" and changed.id == id
        assert memory.get(id, scope=JANE) == changed
        assert len(memory.recall("Oslo", JANE, query=Query(mode="lexical"))) == 0
        assert memory.recall("Zzyzx", JANE, query=Query(mode="lexical")).ids == [id]
        assert memory.recall("x", JANE, filter={"state": "CA"}).ids == [id]
        (hit,) = memory.recall("Jane lives in Zzyzx", JANE, query=Query(mode="vector"), kinds=["fact"])
        assert hit.hit.similarity == pytest.approx(1.0, abs=1e-3)
        memory.update(trip, scope=JANE, outcome="success", steps=["again"])  # text and vector are unchanged
        (hit,) = memory.recall("Booked a train", JANE, query=Query(mode="vector"), kinds=["episode"])
        assert hit.metadata["outcome"] == "success" and hit.hit.similarity == pytest.approx(1.0, abs=1e-3)
        record = hit.record
        assert isinstance(record, Episode) and record.steps == ("again",) and record.outcome == "success"
        old = lives(memory, "Oslo", scope=JOE)
        assert old.status == "written"
        assert memory.documents.admin.check().clean


def test_invalid_updates_change_nothing(memory: Memory) -> None:
    id = lives(memory, "Oslo").id or ""
    other = memory.propose("Jane sails", scope=JANE, source="r").id or ""
    tone = memory.prefer("tone", "brief", scope=JANE).id or ""
    wrong: list[tuple[str, dict[str, Any], type[Exception], str]] = [
        (id, {"confidence": 0.5}, ValueError, "a fact needs 0.7"),
        (id, {"content": ""}, ValueError, "content: expected some text"),
        (id, {"content": 3}, TypeError, "content: expected a str"),
        (id, {"status": "provisional"}, ValueError, "status: expected a field of a fact"),
        (id, {"scope": ACME}, TypeError, "scope"),
        (id, {"metadata": {"record": "x"}}, ValueError, "metadata: expected other names"),
        (id, {}, ValueError, "changes: expected some of"),
        (id, {"ttl": -1}, ValueError, "expires_at: expected a future time"),
        (other, {"content": "jane lives in oslo."}, scrubjay.ConflictError, "already has this content"),
        (tone, {"key": "food"}, ValueError, "key: expected a field of a preference"),
        (tone, {"confidence": 0.4}, ValueError, "a preference needs 0.5"),
        (tone, {"source": "x"}, ValueError, "source: expected one of"),
    ]
    before = memory.list(JANE)
    for one, changes, error, message in wrong[:4] + wrong[5:]:
        if one == other:
            changes = {**changes, "subject": "Jane", "predicate": "lives in"}
        with pytest.raises(error, match=message):
            memory.update(one, scope=JANE, **changes)
        assert memory.list(JANE) == before, changes
    assert texts(memory, "Jane", JANE) == ["Jane lives in Oslo", "Jane sails"]
    superseded = lives(memory, "Rome").superseded or ""
    with pytest.raises(KeyError):
        memory.update(superseded, scope=JANE, content="x")


def test_a_deleted_record_is_gone_with_its_history(memory: Memory) -> None:
    id = lives(memory, "Oslo").id or ""
    trip = memory.add("Booked a train", scope=JANE, kind="episode", outcome="failure").id or ""
    tone = memory.prefer("tone", "brief", scope=JANE).id or ""
    rule = memory.policy("tone", "formal", tenant="acme", by="boss").id or ""
    assert len(memory.known(JANE)) == 2
    for one in (id, trip, tone):
        assert memory.delete(one, scope=JANE, reason="asked for", by="jane")
        assert memory.get(one, scope=JANE, hidden=True) is None and not memory.delete(one, scope=JANE)
        assert row_count(memory, "memory_log", f"record = '{one}' AND {OF_RECORDS}") == 0
    assert not memory.delete(rule, scope=JANE) and memory.delete(rule, scope=ACME)
    assert len(memory.known(JANE)) == 0 and len(memory.recall("Oslo train", JANE)) == 0
    assert len(memory.documents) == 0
    assert [(d.scope, d.reason, d.by, d.counts) for d in memory.admin.deletions("acme")] == [
        (JANE, "asked for", "jane", {"fact": 1}),
        (JANE, "asked for", "jane", {"episode": 1}),
        (JANE, "asked for", "jane", {"preference": 1}),
        (ACME, "delete", None, {"policy": 1}),
    ]
    assert memory.admin.deletions("globex") == []


def test_a_revoked_record_is_hidden_and_explained(memory: Memory) -> None:
    ids = [
        lives(memory, "Oslo").id or "",
        memory.add("Booked a train", scope=JANE, kind="episode", outcome="failure").id or "",
        memory.prefer("tone", "brief", scope=JANE).id or "",
    ]
    for id in ids:
        memory.revoke(id, reason="was wrong", scope=JANE, by="jane")
        assert memory.get(id, scope=JANE) is None
        why = memory.why(id, scope=JANE)
        assert why is not None and why.record.status == "revoked"
        assert (why.events[-1].action, why.events[-1].by, why.events[-1].detail) == (
            "revoked",
            "jane",
            "was wrong",
        )
        assert "revoked" in str(why) and "from run" in str(why)
        with pytest.raises(KeyError):
            memory.revoke(id, reason="again", scope=JANE)
    assert len(memory.known(JANE)) == 0 and len(memory.recall("Oslo train", JANE)) == 0
    assert memory.list(JANE) == [] and len(memory.list(JANE, hidden=True)) == 3
    with pytest.raises(ValueError, match="reason: expected 1 to"):
        memory.revoke(ids[0], reason="", scope=JANE)


def test_lists_are_in_order_and_in_scope(memory: Memory) -> None:
    for i in range(5):
        memory.propose(f"fact {i}", scope=JANE, source="r")
        memory._parts.context.clock.now += 1  # type: ignore[attr-defined]
    memory.prefer("tone", "brief", scope=JANE)
    memory.policy("tone", "formal", tenant="acme", by="boss")
    kinds = [record.kind for record in memory.list(JANE)]
    assert kinds == ["policy", "preference"] + ["fact"] * 5
    assert [r.text for r in memory.list(JANE, kinds=["fact"], limit=2)] == ["fact 0", "fact 1"]
    assert [r.kind for r in memory.list(JANE, exact=True)] == ["preference"] + ["fact"] * 5
    assert [r.kind for r in memory.list(ACME, exact=True)] == ["policy"]
    assert memory.list(JANE, limit=0) == []
    for wrong, error in ((["trace"], ValueError), ("fact", TypeError)):
        with pytest.raises(error, match="kinds"):
            memory.list(JANE, kinds=wrong)
    with pytest.raises(TypeError, match="limit"):
        memory.list(JANE, limit="3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^limit: expected 0 or more, got -1$"):
        memory.list(JANE, limit=-1)


# ---------------------------------------------------------------------- recall


def test_kinds_task_types_and_filters(memory: Memory) -> None:
    memory.propose(FactCandidate("trains to Oslo", metadata={"source": "web"}), scope=JANE, source="r")
    memory.propose(FactCandidate("trains to Rome", "trains", "go to", 0.8), scope=JANE, source="r")
    for kind in ("travel", "mail"):
        memory.add(
            f"a task about trains: {kind}", scope=JANE, kind="episode", outcome="success", task_type=kind
        )
    assert len(memory.recall("trains", JANE)) == 4
    assert {hit.kind for hit in memory.recall("trains", JANE, kinds=["fact"])} == {"fact"}
    assert texts(memory, "trains", JANE, kinds=["episode"], task_type="mail") == ["a task about trains: mail"]
    assert len(memory.recall("trains", JANE, task_type="mail")) == 3  # facts have no task type
    assert texts(memory, "trains", JANE, filter={"source": "web"}) == ["trains to Oslo"]
    assert texts(memory, "trains", JANE, filter={"confidence": {"$lt": 0.9}}) == ["trains to Rome"]
    assert texts(memory, "trains", JANE, kinds=["fact"], filter={"subject": "trains"}) == ["trains to Rome"]
    assert len(memory.recall("trains", JANE, k=1)) == 1
    hit = memory.recall("trains to Rome", JANE)[0]
    assert hit.tier == "high" and hit.record == memory.get(hit.id, scope=JANE) and hit.scope == JANE
    assert len(memory.recall("trains to Rome", JANE, relevance="high")) < 4
    for wrong in ([], "fact", ["policy"], None):
        with pytest.raises((TypeError, ValueError), match="kinds"):
            memory.recall("x", JANE, kinds=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="task_type"):
        memory.recall("x", JANE, task_type=3)  # type: ignore[arg-type]


def test_a_hit_of_a_revoked_record_has_no_record(memory: Memory) -> None:
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Oslo", JANE)[0]
    assert hit.record is not None
    memory.revoke(id, reason="x", scope=JANE)
    assert hit.record is None and hit.text == "Jane lives in Oslo"


def test_records_and_documents_of_other_collections_do_not_mix(memory: Memory) -> None:
    memory.index.upsert("m1", "lives in a plain index", scope=JANE)
    lives(memory, "Oslo")
    assert texts(memory, "lives", JANE, kinds=["fact", "episode"]) == ["Jane lives in Oslo"]
    assert [hit.id for hit in memory.index.search("lives", scope=JANE)] == ["m1"]


def test_records_are_listed_by_what_they_are_about_and_where_they_come_from(memory: Memory) -> None:
    lives(memory, "Oslo", run="r1")
    memory.propose(FactCandidate("Jane sails", "Jane", "hobby"), scope=JANE, source="r2")
    memory.propose(FactCandidate("Ann sails", "Ann", "hobby"), scope=JANE, source="r2")
    memory.propose(PreferenceCandidate("tone", "brief"), scope=JANE, source="r2")
    about = memory.list(JANE, subject=" jane ")
    assert {record.text for record in about} == {"Jane lives in Oslo", "Jane sails"}
    promoted = memory.list(JANE, run="r2")  # the records of this run
    assert {record.text for record in promoted} == {"brief", "Jane sails", "Ann sails"}
    assert [record.text for record in memory.list(JANE, subject="Jane", run="r2")] == ["Jane sails"]
    assert memory.list(JOE, subject="Jane") == memory.list(JANE, run="r3") == []
    with pytest.raises(TypeError, match="subject: expected a str, got int"):
        memory.list(JANE, subject=3)  # type: ignore[arg-type]


def test_rows_of_an_answer_are_those_that_its_scope_sees(memory: Memory) -> None:
    """Whatever record a document names, the row is checked against the scope of the caller."""
    ids = {scope: memory.add("likes tea", scope=scope).id or "" for scope in (JANE, JOE, CODER, JANES_CODER)}
    for asking in EVERYWHERE:
        found = RecordRows(memory._parts.recall.kept, [], asking)
        there = {scope for scope, id in ids.items() if found.row(id) is not None}
        assert there == {scope for scope in ids if scope in asking.visible()}
