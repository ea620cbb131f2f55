"""A legal hold protects the held data, and nothing else, from everything that destroys."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrubjay import HeldError, Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate
from tests.data.keys import provider
from tests.data.stores import database_of, superuser_rows
from tests.memory.setting import ACME, CODER, GLOBEX, JANE, JANES_CODER, JOE, Clock, lives, open_memory

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


DESTROYING: dict[str, Callable[[Memory, str], Any]] = {
    "forget the user": lambda memory, id: memory.forget(JANE),
    "forget the tenant": lambda memory, id: memory.forget(tenant="acme"),
    "forget an agent": lambda memory, id: memory.forget(JANES_CODER),
    "forget names": lambda memory, id: memory.forget(JANE, names=True),
    "delete": lambda memory, id: memory.delete(id, scope=JANE),
    "update": lambda memory, id: memory.update(id, scope=JANE, content="Jane lives in Rome"),
}


@pytest.mark.parametrize("how", DESTROYING)
def test_no_verb_destroys_records_under_a_hold(memory: Memory, how: str, store: str) -> None:
    if store == "postgres" and how == "forget names":
        pytest.skip("names are erased in files only")
    id = lives(memory, "Oslo").id or ""
    memory.admin.hold(JANE, reason="case 17", by="legal")
    before = list(memory.files.lines(ACME))
    with pytest.raises(HeldError, match="case 17") as caught:
        DESTROYING[how](memory, id)
    assert (
        caught.value.scope == JANE and list(memory.files.lines(ACME)) == before and memory.admin.check() == []
    )
    assert memory.admin.release(JANE, by="legal") and not memory.admin.release(JANE, by="legal")
    DESTROYING[how](memory, id)
    assert how == "forget an agent" or list(memory.files.lines(ACME)) != before


@pytest.mark.parametrize(
    ("held", "forgotten", "is_refused"),
    [
        (ACME, JANE, True), (JANE, ACME, True), (JANE, JANES_CODER, True), (JANES_CODER, JANE, True),
        (CODER, JANE, True), (JANES_CODER, CODER, True), (JOE, JANE, False), (GLOBEX, ACME, False),
        (JANES_CODER, JOE, False), (JANES_CODER, Scope("acme", user="jane", agent="other"), False),
    ],
)  # fmt: skip
def test_a_hold_refuses_forgetting_scopes_that_overlap_it(
    memory: Memory, held: Scope, forgotten: Scope, is_refused: bool
) -> None:
    memory.admin.hold(held, reason="x", by="legal")
    if is_refused:
        with pytest.raises(HeldError):
            memory.forget(forgotten)
    else:
        memory.forget(forgotten)


def test_a_sweep_skips_records_under_a_hold(memory: Memory, clock: Clock) -> None:
    for scope in (JANE, JOE):
        lives(memory, "Oslo", scope, ttl=10)
        memory.propose(EpisodeCandidate("Went home", "success", ttl=10), scope=scope, source="r")
        memory.prefer("tone", "brief", scope=scope, ttl=10)
        memory.revoke(memory.add("Jane sings", scope=scope).id or "", reason="x", scope=scope)
        memory.propose(FactCandidate("x", confidence=0.1), scope=scope, source="r")
        with memory.session(scope, "chat", retention="short") as session:
            session.user("Hello")
    memory.admin.hold(JANE, reason="case 17", by="legal")
    clock.pass_days(400)
    memory.admin.sweep()
    assert len(memory.list(JANE, hidden=True)) == 4 and len(memory.rejections(JANE)) == 1
    assert memory.list(JANE) == [] and memory.list(JOE, hidden=True) == [] and memory.rejections(JOE) == []
    events = (
        memory._parts.context.store.reading_connection()
        .execute("SELECT count(*) FROM memory_event")
        .fetchone()
    )
    assert events == (1,)
    memory.admin.release(JANE, by="legal")
    memory.admin.sweep()
    assert memory.list(JANE, hidden=True) == [] and memory.rejections(JANE) == []


@pytest.mark.parametrize(
    "candidate",
    [
        FactCandidate("Jane lives in Oslo", "Jane", "lives in", ttl=10),
        EpisodeCandidate("Moved to Oslo", "done", ttl=10),
        PreferenceCandidate("tone", "briefly", ttl=10),
    ],
)
def test_an_expired_record_under_a_hold_is_replaced_but_kept(
    memory: Memory, clock: Clock, candidate: Any
) -> None:
    old = memory.propose(candidate, scope=JANE, source="r").id
    memory.admin.hold(JANE, reason="case 17", by="legal")
    clock.now += 60_000_000
    new = memory.propose(candidate, scope=JANE, source="r")
    assert new.status == "written" and [one.id for one in memory.list(JANE)] == [new.id]
    kept = memory.get(old or "", scope=JANE, hidden=True)
    assert kept is not None and kept.status == "revoked" and memory.admin.check() == []


def test_holds_are_listed_and_in_the_feed(memory: Memory, tmp_path: Path) -> None:
    seen: list[Any] = []
    memory.admin.on_change(seen.append)
    memory.admin.hold(JANE, reason="old", by="legal", name="17")
    memory.admin.hold(JANE, reason="case 17", by="legal", name="17")
    memory.admin.hold(GLOBEX, reason="case 18", by="legal")
    assert [(one.scope, one.reason, one.by) for one in memory.admin.holds()] == [
        (JANE, "case 17", "legal"),
        (GLOBEX, "case 18", "legal"),
    ]
    assert [one.scope for one in memory.admin.holds("acme")] == [JANE]
    memory.admin.release(JANE, by="court")
    told = [(one.action, one.scope, one.by) for one in memory.admin.changes()]
    assert told == [
        ("held", JANE, "legal"), ("held", JANE, "legal"), ("held", GLOBEX, "legal"), ("released", JANE, "court"),
    ]  # fmt: skip
    assert seen == memory.admin.changes()
    for wrong in ({"reason": "", "by": "x"}, {"reason": "x", "by": ""}):
        with pytest.raises(ValueError, match="expected 1 to 1,000"):
            memory.admin.hold(JANE, **wrong)
    with pytest.raises(TypeError, match="scope: expected"):
        memory.admin.hold("acme", reason="x", by="y")  # type: ignore[arg-type]
    with open_memory(tmp_path / "m.scrubjay") as other, pytest.raises(HeldError):
        other.forget(GLOBEX)


def test_a_memory_of_format_1_can_be_held(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "memory-1.scrubjay", tmp_path / "m.scrubjay")
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        memory.admin.hold(ACME, reason="case 17", by="legal")
        with pytest.raises(HeldError):
            memory.forget(JANE)


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_memory_of_format_2_is_held_on(tmp_path: Path, encrypted: bool) -> None:
    shutil.copy(GOLDEN / f"memory-2{'-encrypted' if encrypted else ''}.scrubjay", tmp_path / "m.scrubjay")
    with Memory.open(tmp_path / "m.scrubjay", keys=provider if encrypted else None) as memory:
        assert [(one.scope, one.name, one.by) for one in memory.admin.holds()] == [
            (GLOBEX, "case 17", "legal")
        ]
        assert memory.admin.check() == [] and memory.index.admin.check().clean
        with pytest.raises(HeldError):
            memory.forget(GLOBEX)
        assert len(memory.history("Jane", "lives in", JANE)) == 2


def test_holds_stack_and_are_released_one_by_one(memory: Memory, clock: Clock) -> None:
    lives(memory, "Oslo")
    assert memory.admin.hold(JANE, reason="case 1", by="legal") == "case 1"
    clock.now += 1
    assert memory.admin.hold(JANE, reason="tax", by="audit", name="case 2") == "case 2"
    assert [(one.name, one.reason, one.by) for one in memory.admin.holds()] == [
        ("case 1", "case 1", "legal"),
        ("case 2", "tax", "audit"),
    ]
    with pytest.raises(
        ValueError, match="name: expected that of one of the holds, 'case 1', 'case 2', got None"
    ):
        memory.admin.release(JANE, by="legal")
    assert not memory.admin.release(JANE, by="legal", name="case 3")
    assert memory.admin.release(JANE, by="legal", name="case 1")
    with pytest.raises(HeldError, match="tax"):
        memory.forget(JANE)
    assert memory.admin.release(JANE, by="legal") and memory.admin.holds() == []
    memory.forget(JANE)


def test_a_hold_of_format_2_is_named_by_its_reason(tmp_path: Path, store: str) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        memory.admin.hold(JANE, reason="case 17", by="legal")
    if store == "postgres":
        database = database_of(path) or ""
        superuser_rows(
            database,
            "ALTER TABLE sj_memory_hold DROP name, ADD CONSTRAINT sj_memory_hold_pkey PRIMARY KEY "
            "(home, tenant, usr, agent)",
        )
        superuser_rows(database, "UPDATE sj_memory_schema SET format = 2")
    else:
        with closing(sqlite3.connect(path)) as file:
            file.executescript(
                "CREATE TABLE old(tenant TEXT, user TEXT, agent TEXT, reason TEXT, by TEXT, at INTEGER, "
                "PRIMARY KEY (tenant, user, agent)) WITHOUT ROWID; "
                "INSERT INTO old SELECT tenant, user, agent, reason, by, at FROM memory_hold; "
                "DROP TABLE memory_hold; ALTER TABLE old RENAME TO memory_hold; "
                "UPDATE memory_meta SET value = 2 WHERE name = 'format'"
            )
    for _ in range(2):
        with open_memory(path) as memory:
            assert [(one.scope, one.name, one.reason) for one in memory.admin.holds()] == [
                (JANE, "case 17", "case 17")
            ]
            with pytest.raises(HeldError):
                memory.forget(JANE)
            assert memory.admin.check() == []
    with open_memory(path) as memory:
        memory.admin.hold(JANE, reason="tax", by="audit")
        assert len(memory.admin.holds()) == 2
