"""`known_at` must answer what was believed at that time, whatever was said, restated, edited or retracted since.

The slow twin is the memory itself: its answers on a day, for all days of the world, are recorded on that day, and
queried again at the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.base.errors import ConflictError
from scrubjay.memory import Fact, FactCandidate, Memory, Provenance
from tests.memory.setting import ACME, JANE, JOE, Clock, open_memory

START = datetime(2027, 1, 15, 8, tzinfo=timezone.utc)  # the clock's
ABOUT_NOW = {"uses", "last_used_at", "faded", "updated_at", "sensitivity"}
"""Fields that are not beliefs: present values of the row, and the sensitivity by which texts are hidden."""
SHOWN = [field.name for field in fields(Fact) if field.name not in {"id", "superseded_by", *ABOUT_NOW}]
_ERASED = {"provenance": None, "evidence": None}  # of a tenant's facts, together with their observers
DAYS = [-8, 0, 5, 11, 17, 23, 29, 40, 65, 78, 90]
N_DAYS = 30

Shown = dict[str, dict[str, Any]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def day(n: float) -> datetime:
    """Return the n-th day after the clock's start."""
    return START + timedelta(days=n)


def first_name(id: str | None) -> str | None:
    """Return the unchanging id of a fact that may have been edited; its versions have a numbered suffix."""
    return None if id is None else id.partition(".")[0]


def shown(records: Sequence[Any]) -> Shown:
    """Return the fields that a user sees of believed facts, by id."""
    believed = [record for record in records if record.status != "provisional"]
    found = {
        str(first_name(record.id)): {
            **{name: getattr(record, name) for name in SHOWN},
            "superseded_by": first_name(record.superseded_by),
            **(_ERASED if record.scope == ACME else {}),
        }
        for record in believed
    }
    assert len(found) == len(believed), "two versions of one fact were believed at once"
    return found


def believed_facts(memory: Memory, scope: Scope, **times: Any) -> Shown:
    """Return the believed facts."""
    return shown(memory.list(scope, kinds=["fact"], **times))


def agree(memory: Memory, scope: Scope, known_at: datetime, as_of: datetime) -> None:
    """Check that every kind of query believes the same as a list."""
    times = {"known_at": known_at, "as_of": as_of}
    listed: list[Any] = [
        one for one in memory.list(scope, kinds=["fact"], **times) if one.status != "provisional"
    ]
    every = memory.list(scope, kinds=["fact"], hidden=True)
    found = memory.recall(" ".join(one.text for one in every) or "x", scope, kinds=["fact"], k=500, **times)
    assert {hit.id: hit.record for hit in found} == {one.id: one for one in listed}
    assert all(memory.get(one.id, scope=scope, **times) == one for one in listed)
    assert all(memory.get(one.id.partition(".")[0], scope=scope, **times) == one for one in listed)
    slots = {(one.subject.lower(), one.predicate) for one in listed if one.subject and one.predicate}
    for subject, predicate in slots:
        history = memory.history(subject, predicate, scope, known_at=known_at)
        there = {one.id: one for one in history if one.at(as_of)}
        assert there == {
            one.id: one for one in listed if (one.subject.lower(), one.predicate) == (subject, predicate)
        }


def difference(before: Shown, after: Shown) -> list[Any]:
    """Return the difference between two answers, for people."""
    return [
        (id, "was" if id in before else "is", "alone") if id not in before or id not in after
        else (id, {n: (v, after[id][n]) for n, v in before[id].items() if after[id][n] != v})
        for id in sorted(before.keys() | after.keys()) if before.get(id) != after.get(id)
    ]  # fmt: skip


class Life:
    """A random life of a memory, one action a day."""

    def __init__(self, memory: Memory, clock: Clock, rng: random.Random) -> None:
        self.memory, self.clock, self.rng = memory, clock, rng
        self.n = 0

    def live(self) -> str | None:
        """Perform an action; return the user whose past an erasure removed, if it did: "joe", "jane"."""
        self.n += 1
        self.clock.pass_days(1)
        deeds: list[tuple[int, Callable[[], str | None]]] = [
            (12, self.say), (3, self.say_of_the_tenant), (4, self.edit), (2, self.revoke), (2, self.confirm),
            (1, self.consolidate), (1, self.delete),
        ]  # fmt: skip
        (deed,) = self.rng.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])
        return deed()

    def any_of(self, *some: Any) -> Any:
        return self.rng.choice(some)

    def some_fact(self, scope: Scope = JANE, *statuses: str) -> Fact | None:
        found: list[Any] = [
            record
            for record in self.memory.list(scope, kinds=["fact"], exact=True, hidden=not statuses)
            if "." not in record.id and (not statuses or record.status in statuses)
        ]
        return self.rng.choice(found) if found else None

    def say(self) -> None:
        """Say one of few facts, with more or less detail: often it is known, and gains what it lacked."""
        predicate, value = (
            self.any_of("lives in", "lives in", "likes", "works at"),
            self.any_of("oak", "ash", "elm"),
        )
        content = f"Jane {predicate} {value}"
        more: dict[str, Any] = {"confidence": self.any_of(0.75, 0.8, 0.9, 1.0)}
        if self.rng.random() < 0.6:
            more.update(subject="Jane", predicate=predicate)
        if self.rng.random() < 0.5:
            more["value"] = value
        if self.rng.random() < 0.2:
            content = f"{content} {self.any_of('indeed', 'they say', 'again')}"
        more["relation"] = self.any_of(*["asserts"] * 6, "ends", "corrects", "plans")
        if self.rng.random() < 0.25:
            more["valid_from"] = day(self.n + self.any_of(-9, -4, 2, 6))
            if self.rng.random() < 0.5:
                more["valid_until"] = more["valid_from"] + timedelta(days=self.any_of(2, 9))
        if self.rng.random() < 0.3:
            more["expires_at"] = day(self.any_of(60, 70, 80))
        if self.rng.random() < 0.3:
            more["entities"] = [value.title()]
        if self.rng.random() < 0.3:
            more["importance"] = self.any_of(0.2, 0.7)
        replaced = self.some_fact() if self.rng.random() < 0.15 else None
        if replaced is not None:
            more["replaces"] = [replaced.id]
        if self.rng.random() < 0.15:
            more["said_at"] = day(self.n - self.any_of(2, 8))
        source = Provenance(f"run {self.rng.randrange(5)}", author=self.any_of(None, "ann"))
        self.memory.propose(FactCandidate(content, **more), scope=JANE, source=source)

    def say_of_the_tenant(self) -> None:
        content = f"acme ships on {self.any_of('Fridays', 'Mondays')}"
        candidate = FactCandidate(
            content,
            "acme",
            self.any_of("ships on", "ships on", ""),
            confidence=self.any_of(0.8, 0.9),
            value=self.any_of(None, content.split()[-1]),
            expires_at=self.any_of(None, None, day(70)),
        )
        scope = self.any_of(ACME, JANE, JOE)
        source = Provenance(f"run {self.rng.randrange(9)}", author=self.any_of("ann", "bob"))
        self.memory.propose(candidate, scope=scope, source=source)

    def edit(self) -> None:
        scope = self.any_of(JANE, JANE, ACME)
        fact = self.some_fact(scope, "active", "planned")
        if fact is None:
            return
        changes: dict[str, Any] = self.any_of(
            {"confidence": 0.7}, {"metadata": {"n": self.n}}, {"expires_at": day(75)}, {"expires_at": None},
            {"importance": 0.9, "entities": ["Kiel"]}, {"content": f"{fact.content}, no {self.n}"},
            {"content": fact.content.replace("oak", "ash"), "value": "ash"}, {"subject": "JANE"},
            {"subject": "Jane", "predicate": "likes"}, {"valid_from": day(self.n - 12)}, {"value": "elm"},
        )  # fmt: skip
        try:
            self.memory.update(fact.id, scope=scope, by="joe", **changes)
        except ConflictError:
            pass  # another fact has this content already
        except ValueError as error:
            assert "valid_until" in str(error)

    def revoke(self) -> None:
        scope = self.any_of(JANE, JANE, ACME)
        fact = self.some_fact(scope, "active", "planned", "provisional")
        if fact is not None:
            self.memory.revoke(fact.id, reason="wrong", scope=scope)

    def confirm(self) -> None:
        fact = self.some_fact(ACME, "provisional")
        if fact is not None:
            self.memory.confirm(fact.id, by="ann", scope=ACME)

    def consolidate(self) -> None:
        self.memory.admin.consolidate(JANE)

    def delete(self) -> str | None:
        if self.rng.random() < 0.5:
            self.memory.forget(JOE)
            return "joe"
        fact = self.some_fact()
        if fact is None:
            return None
        self.memory.delete(fact.id, scope=JANE)
        return "jane"


@pytest.mark.parametrize("seed", range(4))
def test_known_at_returns_the_beliefs_of_that_day(memory: Memory, clock: Clock, seed: int) -> None:
    life = Life(memory, clock, random.Random(seed))
    written: dict[Scope, list[tuple[datetime, dict[int, Shown]]]] = {JANE: [], JOE: [], ACME: []}
    for n in range(1, N_DAYS + 1):
        erased = life.live()
        if erased is not None:  # with everything said about it
            for scope in (JANE, ACME, JOE) if erased == "joe" else (JANE,):
                written[scope] = [] if scope != JANE or erased == "jane" else written[scope]
        for scope, days in written.items():
            days.append(
                (day(n + 0.5), {as_of: believed_facts(memory, scope, as_of=day(as_of)) for as_of in DAYS})
            )
    assert memory.admin.check() == []
    clock.pass_days(1)
    n_believed = 0
    for scope, days in written.items():
        for known_at, answers in days:
            for as_of, answer in answers.items():
                n_believed += len(answer)
                again = believed_facts(memory, scope, known_at=known_at, as_of=day(as_of))
                assert again == answer, (scope, known_at, as_of, difference(answer, again))
            agree(memory, scope, known_at, day(life.rng.choice(DAYS)))
    assert n_believed > 100


def say(memory: Memory, content: str = "Jane lives in Oslo", **more: Any) -> str:
    outcome = memory.propose(FactCandidate(content, **more), scope=JANE, source="r")
    assert outcome.id is not None
    return outcome.id


def test_fields_added_to_a_fact_are_absent_from_earlier_beliefs(memory: Memory, clock: Clock) -> None:
    id = say(memory, confidence=0.8)
    clock.pass_days(1)
    other = say(memory, "Jane lives in Rome", subject="Jane", predicate="lives in")
    clock.pass_days(1)
    more = {"value": "Oslo", "importance": 0.5, "entities": ["Oslo"], "confidence": 0.9}
    assert say(memory, subject="Jane", predicate="lives in", said_at=day(-3), **more) == id
    old: Any
    new: Any
    old, new = memory.get(id, scope=JANE, known_at=day(1.5)), memory.get(id, scope=JANE, hidden=True)
    assert (old.subject, old.predicate, old.value, old.importance, old.entities, old.confidence, old.status) == (
        "", "", None, None, (), 0.8, "active",
    )  # fmt: skip
    assert (new.subject, new.predicate, new.value, new.importance, new.entities, new.confidence, new.status) == (
        "Jane", "lives in", "Oslo", 0.5, ("oslo",), 0.9, "superseded",
    )  # fmt: skip
    assert {one.id for one in memory.list(JANE, known_at=day(1.5))} == {id, other}, "it was in no slot"
    assert [one.id for one in memory.list(JANE)] == [other]
    assert [one.id for one in memory.history("Jane", "lives in", JANE, known_at=day(1.5))] == [other]
    assert memory.list(JANE, subject="Jane", known_at=day(0.5)) == []


def test_how_long_a_fact_was_believed_to_last(memory: Memory, clock: Clock) -> None:
    id = say(memory, expires_at=day(20))
    clock.pass_days(1)
    assert say(memory, expires_at=day(30)) == id
    clock.pass_days(1)
    assert say(memory) == id
    for known_at, lasts in ((day(0.5), day(20)), (day(1.5), day(30)), (day(2), None)):
        fact: Any = memory.get(id, scope=JANE, known_at=known_at)
        assert (fact.expires_at, fact.holds[0][1]) == (lasts, lasts)
        there = [bool(memory.list(JANE, as_of=day(n), known_at=known_at)) for n in (10, 25, 35)]
        assert there == [True, lasts != day(20), lasts is None]


def test_an_edit_of_a_fact_in_no_slot_changes_when_it_holds(memory: Memory, clock: Clock) -> None:
    id = say(memory, expires_at=day(20))
    clock.pass_days(1)
    for changes, holds in (
        ({"expires_at": day(9)}, (day(0), day(9))), ({"expires_at": None}, (day(0), None)),
        ({"valid_from": day(-4)}, (day(-4), None)), ({"valid_until": day(6)}, (day(-4), day(6))),
    ):  # fmt: skip
        record: Any = memory.update(id, scope=JANE, **changes)
        assert record.holds == (holds,) and memory.admin.check() == []
    assert [one.id for one in memory.list(JANE, as_of=day(-3))] == [id]
    assert memory.list(JANE, as_of=day(7)) == []


def test_the_value_of_a_tenants_fact_can_be_edited(memory: Memory, clock: Clock) -> None:
    outcome = memory.propose(
        FactCandidate("acme ships daily", "acme", "ships", value=1), scope=ACME, source="r"
    )
    id = str(outcome.id)
    memory.confirm(id, by="ann", scope=ACME)
    clock.pass_days(1)
    for value in (2, 3):
        memory.update(id, scope=ACME, value=value)
        clock.pass_days(1)
    values = [
        getattr(memory.get(id, scope=ACME, known_at=day(n)), "value", None) for n in (-1, 0.5, 1.5, 2.5, 9)
    ]
    assert values == [None, 1, 2, 3, 3] and memory.admin.check() == []


def test_an_edit_keeps_the_replacements_made_before_it(memory: Memory, clock: Clock) -> None:
    tea = say(memory, "Jane likes tea", subject="Jane", predicate="likes", single=False)
    clock.pass_days(1)
    milk = say(memory, "Jane likes milk", subject="Jane", predicate="likes", single=False, replaces=[tea])
    clock.pass_days(1)
    memory.revoke(milk, reason="wrong", scope=JANE)
    clock.pass_days(1)
    memory.update(tea, scope=JANE, content="Jane likes green tea")
    clock.pass_days(1)
    for known_at, texts in ((0.5, ["Jane likes tea"]), (1.5, ["Jane likes milk"]), (2.5, ["Jane likes tea"])):
        assert [one.text for one in memory.list(JANE, known_at=day(known_at))] == texts


def test_a_users_copy_of_a_promoted_fact_is_not_a_separate_belief_afterwards(
    memory: Memory, clock: Clock
) -> None:
    said = FactCandidate("acme ships on Fridays", "acme", "ships on")
    copy = memory.propose(said, scope=JANE, source="r1")
    clock.pass_days(1)
    shared = memory.propose(said, scope=JOE, source="r2")
    assert shared.reason.startswith("promoted") and [one.id for one in memory.list(JANE)] == [shared.id]
    clock.pass_days(1)
    memory.update(str(shared.id), scope=ACME, content="acme ships on Fridays at noon")
    clock.pass_days(1)
    for known_at, ids in ((0.5, {copy.id}), (1.5, {f"{shared.id}.1"}), (2.5, {shared.id})):
        assert {one.id for one in memory.list(JANE, known_at=day(known_at))} == ids


def test_without_withholds_a_fact_by_its_current_class_at_any_known_at(memory: Memory, clock: Clock) -> None:
    id = say(memory, confidence=0.8)
    clock.pass_days(1)
    assert say(memory, sensitivity="personal", confidence=0.9) == id
    clock.pass_days(1)
    for times in ({}, {"known_at": day(0.5)}):
        assert memory.list(JANE, without=["personal"], **times) == []
        assert memory.recall("Oslo", JANE, without=["personal"], **times).texts == []


def test_preferences_and_policies_have_the_status_that_they_had(memory: Memory, clock: Clock) -> None:
    memory.prefer("tone", "brief", scope=JANE)
    policy = memory.policy("refunds", "none", tenant="acme", by="legal")
    clock.pass_days(1)
    memory.prefer("tone", "long", scope=JANE)
    memory.revoke(str(policy.id), reason="x", scope=ACME)
    clock.pass_days(1)
    known = memory.known(JANE, known_at=day(0.5))
    wish = known["tone"]
    assert (wish.text, wish.status, wish.superseded_by) == ("brief", "active", None)  # type: ignore[union-attr]
    assert known["refunds"].status == "active"  # type: ignore[union-attr]
    past: Any = memory.known(JANE, as_of=day(0.5))
    assert (past["tone"].status, past["refunds"].status) == ("superseded", "revoked"), "by what is known now"


def test_earlier_versions_of_a_fact_are_exported_and_deleted_with_it(
    memory: Memory, clock: Clock, tmp_path: Path
) -> None:
    id = say(memory, confidence=0.8)
    clock.pass_days(1)
    say(memory, confidence=0.9)
    memory.update(id, scope=JANE, metadata={"a": 1})
    clock.pass_days(1)
    memory.files.export(tmp_path / "all.jsonl", scope=JANE)
    with open_memory(tmp_path / "other.scrubjay", Clock(clock.now)) as other:
        other.files.import_(tmp_path / "all.jsonl", scope=JANE)
        for one in (memory, other):
            fact: Any = one.get(id, scope=JANE, known_at=day(0.5))
            assert (fact.confidence, fact.metadata) == (0.8, {})
    assert say(memory, "Jane lives in Oslo, Norway", subject="Jane", predicate="lives in") != id
    memory.delete(id, scope=JANE)
    assert [one.text for one in memory.list(JANE, known_at=day(0.5), hidden=True)] == [
        "Jane lives in Oslo, Norway"
    ]


def test_earlier_versions_of_a_fact_expire_after_history_days(tmp_path: Path) -> None:
    for days, n_known in ((None, 4), (30, 2)):
        clock = Clock()
        with open_memory(tmp_path / f"{days}.scrubjay", clock, history_days=days) as memory:
            id = say(memory, confidence=0.75)
            for n in range(1, 4):
                clock.pass_days(20)
                memory.update(id, scope=JANE, confidence=0.75 + n / 100)
            clock.pass_days(1)
            known: list[Any] = [memory.get(id, scope=JANE, known_at=day(20 * n + 0.5)) for n in range(4)]
            assert len({one.confidence for one in known}) == n_known + (days is not None)
