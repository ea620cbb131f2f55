"""`known` returns everything in force for a scope, in order, at once, whoever changed it and however."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay
from scrubjay import Scope
from scrubjay.memory import Memory
from tests.memory.setting import ACME, CODER, DAY, GLOBEX, JANE, JANES_CODER, JOE, START, Clock, open_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def rules(memory: Memory, scope: Scope = ACME) -> list[str]:
    return [policy.text for policy in memory.known(scope).policies]


def wishes(memory: Memory, scope: Scope = JANE) -> list[str]:
    return [preference.text for preference in memory.known(scope).preferences]


def seconds(microseconds: int) -> float:
    return microseconds / 1e6


def test_known_returns_all_rules_in_order_of_key(memory: Memory) -> None:
    keys = [f"key {i:03}" for i in range(150)]
    for key in reversed(keys):
        memory.prefer(key, f"text of {key}", scope=JANE)
        memory.policy(key, f"rule of {key}", tenant="acme", by="boss")
    known = memory.known(JANES_CODER)
    assert [one.key for one in known.preferences] == keys
    assert [one.key for one in known.policies] == keys
    assert len(known) == 300
    assert memory.known(CODER).preferences == () and len(memory.known(CODER).policies) == 150
    assert len(memory.known(GLOBEX)) == len(memory.known(Scope("globex", user="jane"))) == 0
    assert memory.known(JOE).preferences == ()


def test_recall_never_ranks_policies_and_preferences(memory: Memory) -> None:
    memory.prefer("tone", "Answer briefly", scope=JANE)
    memory.policy("refunds", "Never promise refunds", tenant="acme", by="boss")
    assert len(memory.documents) == 0
    assert len(memory.recall("briefly refunds", JANE)) == 0
    with pytest.raises(ValueError, match="others are never ranked"):
        memory.recall("x", JANE, kinds=["policy"])


def test_a_policy_is_in_force_from_and_until(memory: Memory, clock: Clock) -> None:
    now = seconds(START)
    day = seconds(DAY)
    memory.policy("refunds", "one", tenant="acme", by="boss")
    memory.policy(
        "refunds", "two", tenant="acme", by="boss", effective_from=now + day, effective_until=now + 2 * day
    )
    memory.policy("refunds", "three", tenant="acme", by="boss", effective_from=now + 3 * day)
    told = []
    for _ in range(8):
        told.append(rules(memory)[0])
        clock.pass_days(0.5)
    assert told == ["one", "one", "two", "two", "one", "one", "three", "three"]
    assert [policy.version for policy in memory.policies("acme", "refunds")] == [1, 2, 3]
    clock.now = START + DAY - 1
    assert rules(memory) == ["one"]
    clock.now += 1
    assert rules(memory) == ["two"]
    clock.now = START + 2 * DAY - 1
    assert rules(memory) == ["two"]
    clock.now += 1
    assert rules(memory) == ["one"]


def test_a_version_never_changes(memory: Memory) -> None:
    first = memory.policy("refunds", "one", tenant="acme", by="boss")
    with pytest.raises(ValueError, match="never changes"):
        memory.update(first.id or "", scope=ACME, text="two")
    second = memory.policy("refunds", "two", tenant="acme", by="boss")
    assert [(p.version, p.text) for p in memory.policies("acme")] == [(1, "one"), (2, "two")]
    memory.revoke(second.id or "", reason="no", scope=ACME, by="boss")
    assert rules(memory) == ["one"]
    assert memory.policy("refunds", "two", tenant="acme", by="boss").status == "written"
    assert [p.version for p in memory.policies("acme")] == [1, 2, 3]
    assert memory.policy("refunds", "Two.", tenant="acme").status == "deduplicated"


def test_invalid_policies_are_refused_and_a_policy_needs_no_user(memory: Memory) -> None:
    with pytest.raises(ValueError, match="text: expected some text"):
        memory.policy("refunds", "", tenant="acme")
    with pytest.raises(ValueError, match="effective_until"):
        memory.policy("refunds", "x", tenant="acme", effective_from=10, effective_until=10)
    with pytest.raises((TypeError, ValueError), match="tenant"):
        memory.policy("refunds", "x", tenant="")
    assert memory.policies("acme") == []


def test_a_preference_ends(memory: Memory, clock: Clock) -> None:
    memory.prefer("tone", "brief", scope=JANE, ttl=10)
    memory.prefer("food", "vegan", scope=JANE, expires_at=seconds(START) + 20)
    memory.prefer("city", "Oslo", scope=JANE)
    assert wishes(memory) == ["Oslo", "vegan", "brief"]
    clock.now += 9_999_999
    assert wishes(memory) == ["Oslo", "vegan", "brief"]
    clock.now += 1
    assert wishes(memory) == ["Oslo", "vegan"]
    clock.now += 10_000_000
    assert wishes(memory) == ["Oslo"]


def test_every_opener_sees_a_change_at_once(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path, clock) as one, open_memory(path, clock) as two:
        for memory in (one, two):
            assert len(memory.known(JANE)) == 0
        tone = one.prefer("tone", "brief", scope=JANE)
        rule = two.policy("refunds", "never", tenant="acme")
        assert wishes(one) == wishes(two) == ["brief"] and rules(one) == rules(two) == []
        one.confirm(rule.id or "", by="boss", scope=ACME)
        assert rules(one) == rules(two) == ["never"]
        two.update(tone.id or "", scope=JANE, text="long")
        assert wishes(one) == wishes(two) == ["long"]
        one.propose("Jane sails", scope=JANE, source="r1")  # unrelated
        assert wishes(two) == ["long"]
        two.revoke(rule.id or "", reason="x", scope=ACME)
        one.delete(tone.id or "", scope=JANE)
        for memory in (one, two):
            assert len(memory.known(JANE)) == 0
        one.prefer("tone", "brief", scope=JANE)
        two.forget(JANE)
        for memory in (one, two):
            assert len(memory.known(JANE)) == 0


def test_the_same_answer_is_the_same_object_until_something_changes(memory: Memory) -> None:
    for i in range(10):
        memory.prefer(f"k{i}", "x", scope=JANE)
    known = memory.known(JANE)
    assert memory.known(JANE) is known
    memory.prefer("k3", "x", scope=JOE)
    assert memory.known(JANE) is known
    memory.prefer("k3", "y", scope=JANE)
    again = memory.known(JANE)
    assert again is not known
    same = [a is b for a, b in zip(again.preferences, known.preferences, strict=True)]
    assert same == [i != 3 for i in range(10)]


def test_readers_in_threads_while_somebody_writes(memory: Memory) -> None:
    """Each answer is from one moment: both halves of a pair of preferences, written together, are equal."""
    done = threading.Event()
    wrong: list[object] = []

    def look() -> None:
        while not done.is_set():
            found = wishes(memory)
            if len(found) == 2 and found[0] != found[1]:
                wrong.append(found)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(100):
        memory.propose_all([({"key": key, "text": f"{i}"}, JANE, "r1") for key in ("a", "b")])
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == [] and wishes(memory) == ["99", "99"]


def test_a_closed_memory_raises_closed_error(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.scrubjay")
    memory.prefer("tone", "brief", scope=JANE)
    memory.known(JANE)
    memory.close()
    with pytest.raises(scrubjay.ClosedError):
        memory.known(JANE)
    with pytest.raises(scrubjay.ClosedError):
        memory.propose("x", scope=JANE, source="r")
    memory.close()
