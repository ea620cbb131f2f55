"""The change feed: one order, nothing missed, nothing of other scopes, no content of forgotten records."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate
from tests.data.keys import provider
from tests.memory.setting import (
    ACME,
    CODER,
    EVERYWHERE,
    GLOBEX,
    JANE,
    JANES_CODER,
    JOE,
    Clock,
    by_ann,
    lives,
    open_memory,
)

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def changes(memory: Memory, since: int = 0, scope: Scope = JANE, **options: Any) -> list[tuple[str, Any]]:
    return [(event.action, event.record) for event in memory.feed.changes(since, scope=scope, **options)]


def test_a_change_carries_its_record_and_details(memory: Memory, clock: Clock, store: str) -> None:
    oslo = lives(memory, "Oslo").id
    rome = lives(memory, "Rome").id
    memory.revoke(rome or "", reason="a joke", scope=JANE, by="jane")
    told = memory.feed.changes(scope=JANE)
    assert [(e.action, e.record, e.detail, e.by) for e in told] == [
        ("proposed", oslo, None, None),
        ("superseded", oslo, rome, None),
        ("proposed", rome, None, None),
        ("resumed", oslo, None, "jane"),
        ("revoked", rome, "a joke", "jane"),
    ]
    assert all((e.scope, e.kind) == (JANE, "fact") and e.at.timestamp() * 1e6 == clock.now for e in told)
    cursors = [e.cursor for e in told]
    assert cursors == sorted(set(cursors))
    assert memory.feed.cursor == cursors[-1] if store == "file" else memory.feed.cursor >= cursors[-1]
    assert memory.feed.changes(cursors[1], scope=JANE) == told[2:]
    assert memory.feed.changes(cursors[1], scope=JANE, limit=2) == told[2:4]


def test_every_kind_is_in_it(memory: Memory, clock: Clock) -> None:
    wish = memory.prefer("tone", "brief", scope=JANE, ttl=10).id
    trip = memory.propose(EpisodeCandidate("Went home", "success", ttl=10), scope=JANE, source="r").id
    rule = memory.policy("refunds", "never", tenant="acme", by="legal").id
    world = memory.admin.global_policy("law", "obey", by="us").id
    shared = memory.propose(FactCandidate("acme is old", "acme", "is"), scope=ACME, source=by_ann("r1")).id
    memory.propose(FactCandidate("acme is old", "acme", "is"), scope=JOE, source="r2")
    clock.now += 20_000_000
    memory.admin.sweep()
    assert changes(memory) == [
        *(("proposed", rule), ("confirmed", rule), ("proposed", world), ("confirmed", world)),
        *(("proposed", shared), ("promoted", shared)),
        *(("expired", wish), ("expired", trip)),
    ]
    assert [e.scope for e in memory.feed.changes(scope=JANE)] == [
        ACME,
        ACME,
        None,
        None,
        ACME,
        ACME,
        JANE,
        JANE,
    ]
    assert [e.action for e in memory.feed.changes(scope=GLOBEX)] == [
        "proposed",
        "confirmed",
    ]  # of the global policy


@pytest.mark.parametrize("how", ["again", "update"])
def test_replaced_expired_records_are_in_the_feed(memory: Memory, clock: Clock, how: str) -> None:
    if how == "again":
        said: list[Any] = [
            FactCandidate("Jane lives in Oslo", "Jane", "lives in", ttl=10),
            EpisodeCandidate("Moved to Oslo", "done", ttl=10),
            PreferenceCandidate("tone", "briefly", ttl=10),
        ]
        old = [memory.propose(one, scope=JANE, source="r").id for one in said]
        clock.now += 60_000_000
        seen = memory.feed.cursor
        new = [memory.propose(one, scope=JANE, source="r").id for one in said]
        pairs = zip(old, new, strict=True)
        assert changes(memory, seen) == [one for a, b in pairs for one in (("expired", a), ("proposed", b))]
        return
    stale = memory.add("Jane works in Bergen", scope=JANE, ttl=10).id
    other = memory.add("Jane works in Oslo", scope=JANE).id
    clock.now += 60_000_000
    seen = memory.feed.cursor
    memory.update(other or "", scope=JANE, content="Jane works in Bergen")
    assert changes(memory, seen) == [("expired", stale), ("updated", other)]


def test_the_feed_of_a_scope_has_the_events_visible_to_it(memory: Memory) -> None:
    made = {
        scope: memory.propose(EpisodeCandidate(f"by {scope!r}", "done"), scope=scope, source="r").id
        for scope in EVERYWHERE
    }
    for scope in EVERYWHERE:
        assert changes(memory, scope=scope) == [
            ("proposed", made[one]) for one in EVERYWHERE if one in scope.visible()
        ]
    inside = [one for one in EVERYWHERE if one.tenant == "acme"]
    assert changes(memory, scope=ACME, within=True) == [("proposed", made[one]) for one in inside]
    assert changes(memory, scope=JANE, within=True) == [
        ("proposed", made[JANE]),
        ("proposed", made[JANES_CODER]),
    ]
    assert changes(memory, scope=CODER, within=True) == [
        ("proposed", made[CODER]),
        ("proposed", made[JANES_CODER]),
    ]


def test_forgetting_leaves_one_event_without_content(memory: Memory) -> None:
    lives(memory, "Oslo")
    memory.revoke(lives(memory, "Rome").id or "", reason="because of zanzibar", scope=JANE)
    kept = lives(memory, "Bern", JOE).id
    only = memory.propose(FactCandidate("acme is blue", "acme", "is"), scope=JANE, source="r9").id
    cat = memory.propose("Jane has a cat", scope=JANES_CODER, source="r").id or ""
    memory.delete(cat, scope=JANES_CODER, by="jane")
    assert changes(memory, scope=JANES_CODER)[-1] == ("forgotten", cat)
    memory.forget(JANE, by="jane")
    left = memory.feed.changes(scope=ACME, within=True)
    assert [(e.action, e.scope, e.kind, e.record, e.detail) for e in left] == [
        ("proposed", JOE, "fact", kept, None),
        ("forgotten", JANE, None, None, None),
    ]
    assert only not in [e.record for e in left]
    memory.forget(tenant="acme")
    assert [(e.action, e.scope, e.record) for e in memory.feed.changes(scope=JOE)] == [
        ("forgotten", ACME, None)
    ]


def test_the_tenants_feed_reports_facts_lost_with_a_forgotten_user(memory: Memory) -> None:
    shared = memory.propose(FactCandidate("acme is blue", "acme", "is"), scope=ACME, source=by_ann("r1")).id
    memory.propose(FactCandidate("acme is blue", "acme", "is"), scope=JANE, source="r2")
    memory.propose(FactCandidate("acme is red", "acme", "colour"), scope=JANE, source="r3")
    assert ("promoted", shared) in changes(memory, scope=ACME)
    seen = memory.feed.cursor
    memory.forget(JANE)
    assert changes(memory, seen, ACME) == []  # ann said it as well
    assert [e.scope for e in memory.feed.changes(seen, scope=JANE)] == [JANE]


def test_names_that_are_forgotten_are_not_in_the_feed(memory: Memory, tmp_path: Path) -> None:
    memory.policy("tone", "formal", tenant="acme", by="zanzibar")
    who = Scope("acme", user="zanzibar")
    memory.delete(lives(memory, "Oslo", who).id or "", scope=who, by="zanzibar")
    memory.delete(lives(memory, "Oslo").id or "", scope=JANE, by="zanzibar")
    memory.forget(who, by="zanzibar")
    memory.forget(who, names=True, by="zanzibar")
    every = memory.feed.changes(scope=ACME, within=True)
    assert "forgotten" in [e.action for e in every] and "zanzibar" not in repr(every)
    memory.admin.compact()
    assert memory.admin.verify_erased(who, names=["zanzibar"]).clean


def test_a_follower_and_a_later_reader_get_the_same_records(memory: Memory, clock: Clock) -> None:
    """A mirror fed only by the feed has the same records, after a random history and at any batch size."""
    rng = random.Random(5)
    scopes = [one for one in EVERYWHERE if one.user]
    live: dict[str, Scope] = {}
    seen = 0

    def follow(to: dict[str, Scope], since: int, limit: int) -> int:
        while found := [
            e
            for tenant in (ACME, GLOBEX)
            for e in memory.feed.changes(since, scope=tenant, within=True, limit=limit)
        ]:
            for e in sorted(found, key=lambda e: e.cursor)[:limit]:
                since = e.cursor
                if e.record is None:
                    assert e.scope is not None
                    for id in [id for id, one in to.items() if contains(e.scope, one)]:
                        del to[id]
                elif e.action == "proposed":
                    assert e.scope is not None
                    to[e.record] = e.scope
                elif e.action in ("expired", "forgotten"):
                    to.pop(e.record, None)
        return since

    for n in range(150):
        scope, roll = rng.choice(scopes), rng.random()
        clock.now += 1_000_000
        if roll < 0.6:
            lives(memory, f"place {n}", scope, ttl=rng.choice([None, 5]))
        elif roll < 0.7:
            memory.prefer("tone", f"tone {n}", scope=scope, ttl=rng.choice([None, 5]))
        elif roll < 0.8:
            memory.admin.sweep()
        elif roll < 0.85:
            memory.forget(scope)
        elif found := memory.list(scope, exact=True):
            getattr(memory, rng.choice(["delete", "revoke"]))(rng.choice(found).id, scope=scope, reason="x")
        if rng.random() < 0.2:
            seen = follow(live, seen, 7)
    follow(live, seen, 7)
    memory.admin.sweep()
    follow(live, seen, 100)
    late: dict[str, Scope] = {}
    follow(late, 0, 13)
    there = {one.id: scope for scope in scopes for one in memory.list(scope, exact=True, hidden=True)}
    assert live == late == there


def contains(outer: Scope, inner: Scope) -> bool:
    return all(
        mine is None or mine == other
        for mine, other in (
            (outer.tenant, inner.tenant),
            (outer.user, inner.user),
            (outer.agent, inner.agent),
        )
    )


# ---------------------------------------------------------------------- hooks


def test_a_hook_gets_each_change_once_and_in_order(memory: Memory) -> None:
    told: list[Any] = []
    stop = memory.feed.on_change(told.append, scope=ACME, within=True)
    threads = [
        threading.Thread(
            target=lambda i=i: [memory.propose(f"fact {i} {n}", scope=JANE, source="r") for n in range(8)]
        )
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == memory.feed.changes(scope=ACME, within=True) and len(told) == 32
    stop()
    lives(memory, "Oslo")
    assert len(told) == 32


def test_a_hook_that_fails_breaks_no_write_and_no_other_hook(memory: Memory, caplog: Any) -> None:
    told: list[str] = []

    def fail(event: Any) -> None:
        raise RuntimeError("boom")

    memory.feed.on_change(fail, scope=JANE)
    memory.feed.on_change(lambda event: told.append(event.action), scope=JANE)
    assert lives(memory, "Oslo").status == "written" and lives(memory, "Rome").status == "superseded"
    assert told == ["proposed", "superseded", "proposed"] and caplog.text.count("RuntimeError: boom") == 3


def test_a_hook_sees_no_other_scope_and_no_failed_change(memory: Memory, tmp_path: Path) -> None:
    told: list[Any] = []
    memory.feed.on_change(told.append, scope=JANE)
    lives(memory, "Oslo", JOE)
    with pytest.raises(RuntimeError):
        memory.propose_all([("Jane sings", JANE, "r")], also=fails)
    assert told == []
    with open_memory(tmp_path / "m.scrubjay") as other:
        lives(other, "Oslo")
    assert told == []  # until this process writes
    lives(memory, "Rome")
    assert [e.action for e in told] == ["proposed", "superseded", "proposed"]


def fails(*_: Any) -> None:
    raise RuntimeError("no")


def test_a_write_succeeds_if_its_hooks_cannot_be_notified(memory: Memory, caplog: Any) -> None:
    """The server's clock, which numbers changes over PostgreSQL, was set back behind what a hook has seen."""
    told: list[Any] = []
    memory.feed.on_change(told.append, scope=JANE)
    (follower,) = memory._parts.context.changes._hooks
    seen, follower.since = follower.since, 1 << 62
    assert lives(memory, "Oslo").status == "written"
    assert told == [] and "could not be read for a hook" in caplog.text
    follower.since = seen  # the clock has caught up
    assert lives(memory, "Rome").status == "superseded"
    assert [e.action for e in told] == ["proposed", "superseded", "proposed"]


def test_a_hook_may_write(memory: Memory) -> None:
    told: list[str] = []

    def react(event: Any) -> None:
        told.append(event.kind)
        if event.kind == "fact":
            memory.prefer("tone", "brief", scope=JANE)

    memory.feed.on_change(react, scope=JANE)
    lives(memory, "Oslo")
    assert told == ["fact", "preference"]


# ---------------------------------------------------------------------- arguments, files


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"since": "3", "scope": JANE}, TypeError, "since: expected the cursor"),
        ({"since": True, "scope": JANE}, TypeError, "since: expected the cursor"),
        ({"since": -1, "scope": JANE}, ValueError, "since: expected a cursor"),
        ({"since": 1, "scope": JANE}, ValueError, "at most 0, got 1"),
        ({"scope": "jane"}, TypeError, "scope: expected"),
        ({"scope": JANE, "within": 1}, TypeError, "within: expected a bool"),
        ({"scope": JANE, "limit": -1}, ValueError, "limit"),
    ],
)
def test_bad_arguments_are_named(memory: Memory, arguments: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        memory.feed.changes(**arguments)
    with pytest.raises(TypeError, match="function: expected"):
        memory.feed.on_change("f", scope=JANE)  # type: ignore[arg-type]


def test_the_feed_of_an_encrypted_tenant_is_sealed(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Memory.open(path, keys=provider) as memory:
        id = lives(memory, "Oslo").id or ""
        memory.revoke(id, reason="because of zanzibar", scope=JANE)
        assert [e.detail for e in memory.feed.changes(scope=JANE)] == [None, "because of zanzibar"]
        file = sqlite3.connect(path)
        assert not [
            kept for (kept,) in file.execute("SELECT detail FROM memory_log") if isinstance(kept, str)
        ]
        file.close()
        memory.delete(id, scope=JANE)
        assert [e.action for e in memory.feed.changes(scope=JANE)] == ["forgotten"]
        memory.forget(tenant="acme")
        assert memory.admin.verify_erased(ACME).clean


@pytest.mark.parametrize("name", ["memory-1.scrubjay", "memory-1-encrypted.scrubjay"])
def test_the_log_of_a_memory_of_format_1_is_its_feed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.scrubjay"
    shutil.copy(GOLDEN / name, path)
    file = sqlite3.connect(path)
    logged = file.execute("SELECT record, what FROM memory_log ORDER BY number").fetchall()
    file.close()
    with Memory.open(path, keys=provider if "encrypted" in name else None) as memory:
        told = memory.feed.changes(scope=ACME, within=True)
        assert [(e.record, e.action.replace("proposed", "written")) for e in told] == logged
        assert {e.scope for e in told} == {ACME, JANE} and "sold" in [e.detail for e in told]
        assert {e.scope for e in told if e.kind == "policy"} == {ACME}
        lives(memory, "Rome")
        assert [e.action for e in memory.feed.changes(told[-1].cursor, scope=JANE)] == [
            "superseded",
            "proposed",
        ]
