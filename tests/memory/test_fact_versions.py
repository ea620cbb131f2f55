"""An edit is a correction: the new text holds for all of the fact's time, and what was known before stays known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay import HeldError, Scope
from scrubjay.memory import FactCandidate, Memory
from tests.memory.setting import ACME, JANE, Clock, is_gone, open_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def edited(memory: Memory, clock: Clock, scope: Scope = JANE) -> tuple[str, list[float]]:
    """Write a fact, edit it on the second and on the fourth day; return its id, and a moment in each of the three
    states."""
    subject = "Jane" if scope == JANE else scope.tenant
    outcome = memory.propose(
        FactCandidate(f"{subject} is in Brno", subject, "lives in"), scope=scope, source="r"
    )
    assert outcome.id is not None
    if scope == ACME:
        memory.confirm(outcome.id, by="ann", scope=scope)
    moments = [clock.now / 1e6]
    for city in ("Prague", "Graz"):
        clock.pass_days(2)
        memory.update(outcome.id, scope=scope, by="joe", content=f"{subject} is in {city}")
        moments.append(clock.now / 1e6)
        clock.pass_days(0.5)
    return outcome.id, moments


@pytest.mark.parametrize("scope", [JANE, ACME])
def test_earlier_versions_stay_visible_at_known_at(memory: Memory, clock: Clock, scope: Scope) -> None:
    id, (told, second, third) = edited(memory, clock, scope)
    subject = "Jane" if scope == JANE else "acme"

    def seen(**when: float) -> tuple[list[str], list[str]]:
        return [one.text for one in memory.list(scope, **when)], memory.recall(
            "where is?", scope, **when
        ).texts

    for city, when in (
        ("Graz", {}),
        ("Graz", {"as_of": told}),
        ("Brno", {"known_at": told}),
        ("Prague", {"known_at": second}),
        ("Prague", {"known_at": second, "as_of": told}),
        ("Graz", {"known_at": third}),
    ):
        assert seen(**when) == ([f"{subject} is in {city}"],) * 2, when
    history = memory.history(subject, "lives in", scope)
    assert [(one.text.split()[-1], one.status) for one in history] == [
        ("Brno", "revoked"), ("Prague", "revoked"), ("Graz", "active"),
    ]  # fmt: skip
    assert [one.superseded_by for one in history] == [id, id, None]
    before = memory.history(subject, "lives in", scope, known_at=told)
    assert [(one.text.split()[-1], one.status) for one in before] == [("Brno", "active")]
    why = memory.why(history[0].id, scope=scope)
    assert why is not None and why.superseded_by == id
    changed = memory.why(id, scope=scope)
    assert (
        changed is not None
        and [(one.action, one.by) for one in changed.events][-2:] == [("updated", "joe")] * 2
    )
    assert memory.recall("Brno", scope).texts in ([], [f"{subject} is in Graz"])
    assert memory.admin.check() == [] and memory.documents.admin.check().clean
    memory.admin.reindex()
    assert seen(known_at=second) == ([f"{subject} is in Prague"],) * 2


def test_an_update_without_new_content_adds_no_version(memory: Memory, clock: Clock) -> None:
    outcome = memory.propose(FactCandidate("Jane is in Brno", "Jane", "lives in"), scope=JANE, source="r")
    memory.update(outcome.id or "", scope=JANE, confidence=0.8, importance=0.3, metadata={"a": 1})
    assert len(memory.history("Jane", "lives in", JANE)) == 1


def test_an_edited_fact_still_supersedes_facts_of_other_slots(memory: Memory, clock: Clock) -> None:
    tea = memory.propose(FactCandidate("Jane likes tea", "Jane", "likes"), scope=JANE, source="r")
    clock.pass_days(1)
    other = FactCandidate("Jane drinks no tea", "Jane", "avoids", replaces=[tea.id or ""])
    new = memory.propose(other, scope=JANE, source="r")
    clock.pass_days(1)
    between = clock.now / 1e6
    clock.pass_days(1)
    memory.update(new.id or "", scope=JANE, content="Jane never drinks tea")
    assert [one.text for one in memory.list(JANE)] == ["Jane never drinks tea"]
    assert [one.text for one in memory.list(JANE, known_at=between)] == ["Jane drinks no tea"]


def test_erasure_takes_every_version(memory: Memory, clock: Clock) -> None:
    id, (told, _, _) = edited(memory, clock)
    assert memory.delete(id, scope=JANE)
    assert memory.list(JANE, hidden=True) == [] and memory.recall("where", JANE, known_at=told).texts == []
    id, _ = edited(memory, clock)
    memory.forget(JANE)
    memory.admin.compact()
    assert is_gone(memory, JANE, "Jane is in Brno", "Jane is in Prague", "Jane is in Graz")


def test_versions_last_as_long_as_history(tmp_path: Path) -> None:
    for days, n_left in ((None, 3), (30, 1)):
        clock = Clock()
        with open_memory(
            tmp_path / f"{days}.scrubjay", clock, history_days=days, retention_days=10
        ) as memory:
            edited(memory, clock)
            clock.pass_days(60)
            memory.admin.sweep()
            assert len(memory.history("Jane", "lives in", JANE)) == n_left
            assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_an_edit_after_a_sweep_takes_no_number_that_is_taken(tmp_path: Path) -> None:
    clock = Clock()
    with open_memory(tmp_path / "m.scrubjay", clock, history_days=30, retention_days=10) as memory:
        id, _ = edited(memory, clock)
        clock.pass_days(28.5)  # deletes the version of the second day, not that of the fourth
        memory.admin.sweep()
        assert len(memory.history("Jane", "lives in", JANE)) == 2
        memory.update(id, scope=JANE, content="Jane is in Bergen")
        said = sorted(one.text for one in memory.history("Jane", "lives in", JANE))
        assert said == ["Jane is in Bergen", "Jane is in Graz", "Jane is in Prague"]
        assert memory.admin.check() == []


def test_versions_expire_with_their_fact(memory: Memory, clock: Clock) -> None:
    id, (told, _, _) = edited(memory, clock)
    memory.update(id, scope=JANE, ttl=3600)
    clock.pass_days(1)
    memory.admin.sweep()
    assert memory.list(JANE, hidden=True) == [] and memory.recall("where", JANE, known_at=told).texts == []


def test_a_fact_under_a_hold_cannot_be_edited(memory: Memory, clock: Clock) -> None:
    id, _ = edited(memory, clock)
    memory.admin.hold(JANE, reason="case 9", by="legal")
    with pytest.raises(HeldError):
        memory.update(id, scope=JANE, content="Jane is nowhere")
    assert len(memory.history("Jane", "lives in", JANE)) == 3


def test_versions_are_exported_and_imported(memory: Memory, clock: Clock, tmp_path: Path) -> None:
    _, (told, second, _) = edited(memory, clock)
    memory.files.export(tmp_path / "all.jsonl", scope=JANE)
    with open_memory(tmp_path / "other.scrubjay", Clock(clock.now)) as other:
        other.files.import_(tmp_path / "all.jsonl", scope=JANE)
        for city, when in (("Brno", told), ("Prague", second)):
            assert [one.text for one in other.list(JANE, known_at=when)] == [f"Jane is in {city}"]
        assert [one.text for one in other.list(JANE)] == ["Jane is in Graz"]
