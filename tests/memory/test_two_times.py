"""A memory must know when something was true, and when it learned of it: both axes, in every kind of query."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, Fact, FactCandidate, Memory, Outcome, Provenance
from scrubjay.memory.model.documents import holding
from tests.data.keys import provider
from tests.memory.setting import ACME, DAY, JANE, JOE, Clock, by_ann, lives, open_memory

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
START = datetime(2027, 1, 15, 8, tzinfo=timezone.utc)  # the clock's


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


def say(
    memory: Memory, content: str, predicate: str = "lives in", scope: Scope = JANE, **fields: Any
) -> Outcome:
    source = fields.pop("source", "r")
    return memory.propose(FactCandidate(content, "Jane", predicate, **fields), scope=scope, source=source)


def facts_in_force(memory: Memory, scope: Scope = JANE, **times: Any) -> list[str]:
    """Return the facts in force from four queries that must agree."""
    listed = memory.list(scope, kinds=["fact"], **times)
    contents = sorted(record.text for record in listed)
    every = {record.id: record.text for record in memory.list(scope, kinds=["fact"], hidden=True)}
    found = memory.recall(" ".join(every.values()) or "x", scope, kinds=["fact"], k=100, **times)
    assert sorted(found.texts) == contents and [hit.record for hit in found if hit.record is None] == []
    assert all(memory.get(record.id, scope=scope, **times) == record for record in listed)
    for id in every.keys() - {record.id for record in listed}:
        assert memory.get(id, scope=scope, **times) is None
    return contents


def one(memory: Memory, outcome: Outcome, scope: Scope = JANE) -> Fact:
    record = memory.get(outcome.id or "", scope=scope, hidden=True)
    assert isinstance(record, Fact)
    return record


def test_history_at_a_valid_time(memory: Memory, clock: Clock) -> None:
    berlin = say(memory, "Jane lives in Berlin")
    clock.pass_days(10)
    oslo = say(memory, "Jane lives in Oslo")
    assert oslo.superseded == berlin.id and facts_in_force(memory) == ["Jane lives in Oslo"]
    assert facts_in_force(memory, as_of=day(9)) == ["Jane lives in Berlin"]
    assert (
        facts_in_force(memory, as_of=day(10)) == ["Jane lives in Oslo"]
        and facts_in_force(memory, as_of=day(-1)) == []
    )
    assert one(memory, berlin).holds == ((day(0), day(10)),) and one(memory, oslo).holds == ((day(10), None),)
    history = memory.history("jane", "Lives_in", JANE)
    assert [(fact.content, fact.status, fact.superseded_by) for fact in history] == [
        ("Jane lives in Berlin", "superseded", oslo.id),
        ("Jane lives in Oslo", "active", None),
    ]
    assert memory.history("Jane", "lives in", JOE) == [] and memory.admin.check() == []


def test_a_late_fact_about_the_past_is_placed_by_its_time(memory: Memory, clock: Clock) -> None:
    oslo = say(memory, "Jane lives in Oslo")
    clock.pass_days(1)
    late = say(memory, "In 2019 Jane lived in Berlin", valid_from="2019-01-01", valid_until="2020-01-01")
    assert (late.status, late.superseded, late.active, late.reason) == ("written", None, False, "it is over")
    assert facts_in_force(memory) == ["Jane lives in Oslo"] and one(memory, oslo).status == "active"
    assert (
        facts_in_force(memory, as_of="2019-06-01") == ["In 2019 Jane lived in Berlin"]
        and one(memory, late).status == "ended"
    )
    assert facts_in_force(memory, as_of="2019-06-01", known_at=day(0.5)) == []
    before = say(memory, "Jane lived in Bern", said_at="2018-05-05")  # superseded by the later known fact
    assert not before.active and facts_in_force(memory, as_of="2018-06-01") == ["Jane lived in Bern"]
    assert facts_in_force(memory, as_of="2020-06-01") == ["Jane lived in Bern"] and facts_in_force(
        memory
    ) == ["Jane lives in Oslo"]


def test_the_time_of_the_source_counts(memory: Memory, clock: Clock) -> None:
    rome = say(
        memory,
        "Jane lives in Rome",
        source=Provenance("import", at=datetime(2023, 5, 1, tzinfo=timezone.utc)),
    )
    fact = one(memory, rome)
    assert fact.said_at == fact.provenance.at == datetime(2023, 5, 1, tzinfo=timezone.utc)
    assert fact.recorded_at == fact.created_at == START and facts_in_force(memory, as_of="2024-01-01") == [
        "Jane lives in Rome"
    ]
    hit = memory.recall("Rome", JANE)[0]
    assert hit.hit.created_at == datetime(2023, 5, 1, tzinfo=timezone.utc)
    older = say(
        memory,
        "Jane lives in Pisa",
        source=Provenance("import", at=datetime(2022, 5, 1, tzinfo=timezone.utc)),
    )
    assert older.superseded is None and facts_in_force(memory) == ["Jane lives in Rome"]


def test_an_ended_fact_stops_holding_on_the_day_of_its_end(memory: Memory, clock: Clock) -> None:
    for what in ("nuts", "cats"):
        say(memory, f"Jane is allergic to {what}", "allergic to", value=what)
    clock.pass_days(5)
    end = say(memory, "Jane is not allergic to cats any more", "allergic to", value="Cats", relation="ends")
    assert end.status == "superseded" and end.reason == "ends a known fact"
    assert facts_in_force(memory) == ["Jane is allergic to nuts", "Jane is not allergic to cats any more"]
    assert facts_in_force(memory, as_of=day(4)) == ["Jane is allergic to cats", "Jane is allergic to nuts"]
    assert facts_in_force(memory, known_at=day(4)) == ["Jane is allergic to cats", "Jane is allergic to nuts"]
    assert facts_in_force(memory, as_of=day(6), known_at=day(4)) == facts_in_force(memory, known_at=day(4))
    clock.pass_days(1)
    say(memory, "Jane is allergic to cats again", "allergic to", value="cats")
    assert facts_in_force(memory) == ["Jane is allergic to cats again", "Jane is allergic to nuts"]


def test_a_correction_was_true_all_along(memory: Memory, clock: Clock) -> None:
    porto = say(memory, "Jane lives in Porto", value="Porto")
    clock.pass_days(5)
    leeds = say(memory, "Sorry, it is Leeds, not Porto", value="Leeds", relation="corrects")
    assert leeds.superseded == porto.id and facts_in_force(memory) == ["Sorry, it is Leeds, not Porto"]
    assert facts_in_force(memory, as_of=day(1)) == ["Sorry, it is Leeds, not Porto"]
    assert facts_in_force(memory, known_at=day(1)) == ["Jane lives in Porto"]
    assert one(memory, porto).holds == () and one(memory, porto).status == "superseded"


def test_a_plan_waits_for_its_day(memory: Memory, clock: Clock) -> None:
    say(memory, "Jane lives in Porto")
    plan = say(memory, "Jane moves to Graz", relation="plans", valid_from=day(7))
    assert plan.superseded is None and facts_in_force(memory) == ["Jane lives in Porto", "Jane moves to Graz"]
    future = say(memory, "Jane works at Oakline", "works at", valid_from=day(3))
    assert (
        not future.active and future.reason == "it begins later" and one(memory, future).status == "planned"
    )
    clock.pass_days(2.9)
    assert "Jane works at Oakline" not in facts_in_force(memory)
    clock.pass_days(0.2)
    assert "Jane works at Oakline" in facts_in_force(memory)  # by time alone, without a write
    clock.pass_days(5)
    assert facts_in_force(memory) == ["Jane moves to Graz", "Jane works at Oakline"]


def test_a_statement_resumes_after_its_interruption(memory: Memory, clock: Clock) -> None:
    bern = say(memory, "Jane lives in Bern")
    clock.pass_days(1)
    say(memory, "Jane stays in Oslo for a week", valid_until=day(8))
    assert facts_in_force(memory) == ["Jane stays in Oslo for a week"]
    assert one(memory, bern).holds == ((day(0), day(1)), (day(8), None))
    clock.pass_days(8)
    assert facts_in_force(memory) == ["Jane lives in Bern"] and memory.admin.check() == []
    assert facts_in_force(memory, as_of=day(0.5)) == ["Jane lives in Bern"]
    found = memory.recall("Jane lives in Bern", JANE, known_at=day(9), k=1)
    assert found.texts == ["Jane lives in Bern"]  # which has two documents


def test_a_restatement_in_other_words_is_one_fact(memory: Memory, clock: Clock) -> None:
    first = say(memory, "I am based in Porto", value="Porto")
    clock.pass_days(1)
    again = say(memory, "My home is in Porto", value="porto.")
    assert (again.status, again.id) == ("deduplicated", first.id) and facts_in_force(memory) == [
        "I am based in Porto"
    ]
    bare = memory.propose("Jane sails", scope=JANE, source="r")
    said = say(memory, "Jane sails", "hobby", value="sailing")
    assert said.id == bare.id and (one(memory, said).subject, one(memory, said).value) == ("Jane", "sailing")
    assert [fact.id for fact in memory.history("Jane", "hobbies", JANE)] == [bare.id]


def test_a_fact_may_replace_facts_of_other_slots(memory: Memory, clock: Clock) -> None:
    tea = say(memory, "Jane drinks tea every morning", "habit", single=False)
    other = lives(memory, "Oslo", scope=JOE)
    clock.pass_days(1)
    coffee = say(memory, "Jane switched to coffee", "drinks in the morning", single=False, replaces=[tea.id])
    assert coffee.superseded == tea.id and facts_in_force(memory) == ["Jane switched to coffee"]
    assert facts_in_force(memory, known_at=day(0)) == ["Jane drinks tea every morning"]
    assert facts_in_force(memory, as_of=day(0.5)) == ["Jane drinks tea every morning"]
    refused = say(memory, "x", replaces=[other.id])
    assert refused.status == "rejected" and "replaces: expected ids of facts of this scope" in refused.reason
    assert memory.list(JOE, kinds=["fact"])[0].text == "Jane lives in Oslo"
    memory.revoke(coffee.id or "", reason="wrong", scope=JANE)
    assert facts_in_force(memory) == ["Jane drinks tea every morning"], "what nobody contradicts any more"


def test_synonyms_are_one_slot(memory: Memory) -> None:
    first = say(memory, "Jane works for Northwind", "employer")
    assert say(memory, "Jane joined Oakline", "works at").superseded == first.id


def test_revoking_a_fact_restores_the_superseded_one(memory: Memory, clock: Clock) -> None:
    oslo = say(memory, "Jane lives in Oslo")
    clock.pass_days(1)
    rome = say(memory, "Jane lives in Rome")
    clock.pass_days(1)
    memory.revoke(rome.id or "", reason="a joke", scope=JANE)
    assert facts_in_force(memory) == ["Jane lives in Oslo"] and facts_in_force(memory, known_at=day(1)) == [
        "Jane lives in Rome"
    ]
    assert one(memory, oslo).holds == ((day(0), None),)
    lima = say(memory, "Jane lives in Lima")
    assert memory.delete(lima.id or "", scope=JANE) and facts_in_force(memory) == ["Jane lives in Oslo"]
    assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_episodes_preferences_and_policies_have_a_past(memory: Memory, clock: Clock) -> None:
    memory.propose(EpisodeCandidate("Booked a train", "success"), scope=JANE, source="r")
    memory.prefer("tone", "brief", scope=JANE)
    memory.policy("refunds", "none", tenant="acme", by="legal")
    clock.pass_days(2)
    memory.prefer("tone", "long", scope=JANE)
    (policy,) = memory.policies("acme")
    memory.revoke(policy.id, reason="x", scope=ACME)

    def known(**times: Any) -> list[str]:
        found = memory.known(JANE, **times)
        return [one.text for one in (*found.policies, *found.preferences)]

    assert known() == ["long"] and known(as_of=day(1)) == known(known_at=day(1)) == ["none", "brief"]
    assert known(as_of=day(-1)) == [] and memory.known(JOE, as_of=day(1)).preferences == ()
    late = memory.prefer("tone", "polite", scope=JANE, provenance=Provenance("import", at=day(-5)))
    assert not late.active and known() == ["long"] and known(as_of=day(-1)) == ["polite"]
    assert known(as_of=day(-1), known_at=day(1)) == []
    told = memory.propose(
        EpisodeCandidate("Went to Rome", "success"), scope=JOE, source=Provenance("import", at=day(-9))
    )
    assert memory.get(told.id or "", scope=JOE, as_of=day(-8)).completed_at == day(-9)  # type: ignore[union-attr]

    def all_of(**times: Any) -> list[str]:
        return [record.text for record in memory.list(JANE, **times)]

    assert all_of() == ["long", "Booked a train"] and all_of(as_of=day(-6)) == []
    assert all_of(as_of=day(1)) == all_of(known_at=day(1)) == ["none", "brief", "Booked a train"]
    assert memory.recall("train", JANE, as_of=day(1)).texts == ["Booked a train"]
    assert memory.recall("train", JANE, as_of=day(-1)).texts == []
    assert memory.recall("train", JANE, known_at=day(-1)).texts == []


def test_a_tenants_fact_is_known_from_its_promotion_on(memory: Memory, clock: Clock) -> None:
    ships = FactCandidate("Acme ships on Fridays", "acme", "ships on")
    memory.propose(ships, scope=ACME, source="r1")
    clock.pass_days(3)
    assert memory.propose(ships, scope=ACME, source=by_ann("r2")).active
    assert facts_in_force(memory, ACME, as_of=day(1)) == ["Acme ships on Fridays"]
    assert facts_in_force(memory, ACME, known_at=day(1)) == []


def test_prompts_say_since_when_and_how_sure(memory: Memory, clock: Clock) -> None:
    memory.prefer("tone", "brief", scope=JANE)
    say(memory, "Jane lives in Berlin")
    clock.pass_days(10)
    memory.prefer("tone", "long", scope=JANE)
    say(memory, "Jane lives in Oslo")
    memory.propose(
        EpisodeCandidate("Booked Oslo", "success", completed_at="2026-12-24"), scope=JANE, source="r"
    )
    text = memory.assemble("Oslo", JANE).text
    assert (
        "- Jane lives in Oslo (since 2027-01-25; " in text and "- Episode: Booked Oslo (2026-12-24; " in text
    )
    then = memory.assemble("where does Jane live, in Berlin?", JANE, as_of=day(5)).text
    assert "- Jane lives in Berlin (2027-01-15 to 2027-01-25; " in then and "Oslo (since" not in then
    assert "tone: brief" in then and "tone: long" in text
    by_id = memory.assemble("Oslo", JANE, line=lambda hit: f"[{hit.id}] {hit.text}")
    assert all(f"[{id}] " in by_id.text for id in by_id.ids("memories"))
    with pytest.raises(TypeError, match="line: expected a function that returns a str, got None"):
        memory.assemble("Oslo", JANE, line=lambda hit: None)  # type: ignore[arg-type,return-value]


def test_bad_times_are_errors_or_reasons(memory: Memory) -> None:
    for name in ("as_of", "known_at"):
        for method in (memory.list, lambda scope, **t: memory.recall("x", scope, **t)):
            with pytest.raises(ValueError, match=f"{name}: expected an ISO 8601 time"):
                method(JANE, **{name: "yesterday"})  # type: ignore[operator]
            with pytest.raises(TypeError, match=f"{name}: expected a datetime"):
                method(JANE, **{name: [1]})  # type: ignore[operator]
    with pytest.raises(ValueError, match="valid_from: expected an ISO 8601 time"):
        say(memory, "x", valid_from="soon")
    for fields, reason in (
        ({"said_at": day(9)}, "said_at: expected a past or present time"),
        ({"valid_from": day(2), "valid_until": day(2)}, "valid_until: expected a time after"),
        ({"relation": "denies"}, "relation: expected one of asserts, ends, corrects, plans"),
        ({"importance": 2}, "importance: expected 0 to 1"),
        ({"value": "x" * 100_000}, "value: expected at most"),
    ):
        outcome = say(memory, "x", **fields)
        assert outcome.status == "rejected" and reason in outcome.reason, outcome
    for wrong in ({"value": {1, 2}}, {"replaces": "fact_1"}, {"entities": [3]}, {"value": float("nan")}):
        with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
            say(memory, "x", **wrong)
    assert memory.list(JANE, hidden=True) == []


def test_values_entities_importance_and_a_vector_of_ones_own(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", dim=2) as memory:
        said = say(memory, "Jane is 31", "age", value=31, entities=["Jane"], importance=0.5, vector=[1, 0])
        fact = one(memory, said)
        assert (fact.value, fact.entities, fact.importance) == (31, ("jane",), 0.5)
        hit = memory.recall("Jane 31", JANE, filter={"value": {"$gt": 30}})[0]
        assert hit.metadata["importance"] == 0.5 and hit.metadata["entities"] == ["jane"]
        (document,) = memory.documents.scroll(scope=JANE, exact=True)
        assert document.id and memory.documents.get(document.id, scope=JANE).vector is not None  # type: ignore[union-attr]
        with pytest.raises(ValueError, match="vector"):
            say(memory, "Jane is 32", "age", vector=[1, 2, 3])
        assert say(memory, "Jane is a Pisces", "sign", value={"name": "Pisces", "ruler": ["Neptune"]}).active


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_arrival_does_not_matter(tmp_path: Path, seed: int) -> None:
    """Statements with stated times, in any order of arrival, give the same past, in the file and by the projection."""
    rng = random.Random(seed)
    told = []
    for n in range(12):
        predicate = rng.choice(["lives in", "works at", "likes"])
        value, begin = rng.choice("abcd"), rng.randrange(0, 60)
        until = rng.choice([None, None, begin + rng.randrange(1, 20)])
        relation = rng.choice(["asserts"] * 5 + ["ends", "corrects"])
        told.append(
            FactCandidate(
                f"{predicate} {value} {n}", "Jane", predicate, value=value, relation=relation,
                said_at=day(begin - 100 + n / 100), valid_from=day(begin - 100),
                valid_until=None if until is None else day(until - 100),
            )
        )  # fmt: skip
    answers = set()
    for turn in range(3):
        rng.shuffle(told)
        with open_memory(tmp_path / f"{turn}.scrubjay", Clock()) as memory:
            for candidate in told:
                memory.propose(candidate, scope=JANE, source="r")
            assert memory.admin.check() == []
            answers.add(
                tuple(str(sorted(facts_in_force(memory, as_of=day(n - 100)))) for n in range(0, 85, 5))
            )
    assert len(answers) == 1


def test_later_statements_do_not_change_earlier_beliefs(
    memory: Memory, clock: Clock, share_of: Callable[[int, int], int]
) -> None:
    rng, believed = random.Random(7), {}
    for n in range(40 // share_of(2, 2)):
        clock.pass_days(1)
        relation = rng.choice(["asserts"] * 4 + ["ends", "corrects", "plans"])
        begin = rng.choice([None, None, day(n - rng.randrange(1, 10)), day(n + rng.randrange(3, 9))])
        value = rng.choice("abc")
        say(memory, f"Jane: {value} {n}", value=value, relation=relation, valid_from=begin)
        if n % 9 == 4:
            record = rng.choice(memory.list(JANE, kinds=["fact"]) or [None])  # type: ignore[list-item]
            if record is not None:
                memory.revoke(record.id, reason="x", scope=JANE)
        now = day(n + 1.5)
        believed[now] = facts_in_force(memory, as_of=now, known_at=now)
        assert believed[now] == facts_in_force(memory, as_of=now), "nothing is known that was recorded later"
        for moment in rng.sample(sorted(believed), min(4, len(believed))):
            assert facts_in_force(memory, known_at=moment) == believed[moment]
    assert memory.admin.check() == []


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_memory_of_format_1_is_migrated_with_its_history(tmp_path: Path, encrypted: bool) -> None:
    path = tmp_path / "m.scrubjay"
    shutil.copy(GOLDEN / f"memory-1{'-encrypted' if encrypted else ''}.scrubjay", path)
    for opening in range(2):
        with Memory.open(path, keys=provider if encrypted else None) as memory:
            assert (
                memory.admin.check() == []
                and memory.documents.admin.check().clean
                and memory.index.admin.check().clean
            )
            where = memory.history("Jane", "lives in", JANE)
            assert [fact.content for fact in where if fact.status != "revoked"][:2] == [
                "Jane lives in Berlin",
                "Jane lives in Oslo",
            ]
            assert where[0].holds[0][1] == where[1].holds[0][0] and where[0].superseded_by == where[1].id
            assert memory.recall("lives", JANE, as_of=where[0].holds[0][0]).texts[0] == "Jane lives in Berlin"
            assert "Jane lives in Berlin" not in memory.recall("where does Jane live?", JANE, k=20).texts
            cello = [record for record in memory.list(JANE, hidden=True) if "cello" in record.text]
            assert [record.status for record in cello] == ["revoked"]
            assert [record.status for record in memory.list(ACME, kinds=["fact"], hidden=True)] == [
                "provisional",
                "active",
            ]
            if opening == 0:
                moved = lives(memory, "Rome")
                assert moved.superseded == where[1].id and memory.admin.check() == []
    if encrypted:
        with Memory.open(path, keys=provider) as memory:
            assert memory.index.admin.check().clean
        assert b"Jane lives in" not in path.read_bytes()


def test_no_search_asks_for_more_than_its_time(memory: Memory, clock: Clock) -> None:
    """A search uses the same moment until something is written or begins, so that cached filters are reused."""
    lives(memory, "Oslo")
    first = memory._parts.recall._present.moment(JANE)
    clock.now += 1000
    assert memory._parts.recall._present.moment(JANE) == first
    say(memory, "Jane works at Oakline", "works at", valid_from=(clock.now + 5_000_000) / 1e6)
    second = memory._parts.recall._present.moment(JANE)
    clock.now += 4_000_000
    assert memory._parts.recall._present.moment(JANE) == second > first
    clock.now += 2_000_000
    assert memory._parts.recall._present.moment(JANE) > second
    assert holding(3) == {"$not": {"$or": [{"valid_from": {"$gt": 3}}, {"valid_until": {"$lte": 3}}]}}
    assert DAY == 86_400_000_000


def test_a_fact_revoked_while_provisional_was_never_believed(memory: Memory, clock: Clock) -> None:
    said = memory.propose(FactCandidate("acme ships on Fridays", "acme", "ships"), scope=ACME, source="r")
    [fact] = memory.list(ACME, kinds=["fact"], hidden=True)
    assert said.active is False and fact.status == "provisional"
    clock.pass_days(1)
    memory.revoke(fact.id, reason="wrong", scope=ACME)
    for known_at in (None, day(0.5), day(1)):
        assert facts_in_force(memory, ACME, known_at=known_at) == []
    assert memory.admin.check() == [] and memory.admin.reindex() == 0


def test_a_fact_revoked_in_the_same_instant_leaves_a_sound_memory(memory: Memory, clock: Clock) -> None:
    outcome = say(memory, "Jane lives in Oslo")
    memory.revoke(str(outcome.id), reason="wrong", scope=JANE)
    assert facts_in_force(memory) == [] and memory.admin.check() == []
    assert memory.admin.reindex() == 0


# The history of a slot as it was believed.


def test_history_with_known_at_shows_the_beliefs_of_that_time(memory: Memory, clock: Clock) -> None:
    berlin = say(memory, "Jane lives in Berlin")
    clock.pass_days(10)
    oslo = say(memory, "Jane lives in Oslo")
    clock.pass_days(10)
    memory.revoke(oslo.id or "", reason="wrong", scope=JANE)
    clock.pass_days(10)
    (first,) = memory.history("Jane", "lives in", JANE, known_at=day(5))
    assert (first.status, first.superseded_by, first.holds) == ("active", None, ((day(0), None),))
    then = memory.history("Jane", "lives in", JANE, known_at=day(15))
    assert [(fact.id, fact.status, fact.superseded_by, fact.holds) for fact in then] == [
        (berlin.id, "superseded", oslo.id, ((day(0), day(10)),)),
        (oslo.id, "active", None, ((day(10), None),)),
    ]
    now = memory.history("Jane", "lives in", JANE)
    assert [(fact.status, len(fact.holds)) for fact in now] == [("active", 1), ("revoked", 0)]
    assert memory.history("Jane", "lives in", JANE, known_at=day(25)) == now
    assert memory.history("Jane", "lives in", JANE, known_at=day(1000)) == now
    assert memory.history("Jane", "lives in", JANE, known_at=day(-1)) == []
    with pytest.raises(ValueError, match="known_at: expected"):
        memory.history("Jane", "lives in", JANE, known_at="soon")


@pytest.mark.parametrize("seed", range(4))
def test_histories_and_lists_believe_the_same(memory: Memory, clock: Clock, seed: int) -> None:
    rng = random.Random(seed)
    predicates = ("lives in", "is allergic to")
    told: list[str] = []
    for _ in range(25):
        clock.pass_days(1)
        if told and rng.random() < 0.2:
            memory.revoke(told.pop(rng.randrange(len(told))), reason="wrong", scope=JANE)
            continue
        value, begin = rng.choice(("oak", "ash", "elm")), rng.randrange(-10, 30)
        fields: dict[str, Any] = {
            "value": value,
            "relation": rng.choice(("asserts", "asserts", "ends", "corrects", "plans")),
        }
        if rng.random() < 0.7:
            fields["valid_from"] = day(begin)
        if rng.random() < 0.3:
            fields["valid_until"] = day(begin + rng.randrange(1, 10))
        outcome = say(memory, f"Jane {value} {len(told)} {begin}", rng.choice(predicates), **fields)
        if outcome.id is not None and outcome.id not in told:
            told.append(outcome.id)
    n_believed = 0
    for known_at in (day(2.5), day(8.5), day(14.5), day(20.5), day(24.5)):
        histories = [memory.history("Jane", predicate, JANE, known_at=known_at) for predicate in predicates]
        for as_of in (day(-5), day(0), day(4), day(11), day(18), day(28)):
            listed = {fact.id for fact in memory.list(JANE, kinds=["fact"], as_of=as_of, known_at=known_at)}
            assert listed == {fact.id for history in histories for fact in history if fact.at(as_of)}
            n_believed += len(listed)
    assert n_believed > 20


def test_a_provisional_fact_is_listed_as_long_as_nothing_later_says_otherwise(
    memory: Memory, clock: Clock
) -> None:
    tenant = Scope("acme")
    for at, text in ((1, "The office opens at 8"), (5, "The office opens at 9")):
        clock.now = int(day(at).timestamp() * 1e6)
        said = FactCandidate(text, "acme", "office hours", said_at=day(at))
        memory.propose(said, scope=tenant, source=f"run-{at}")
    (fact,) = memory.list(JANE)
    assert (fact.text, fact.status) == ("The office opens at 9", "provisional")
    assert [one.text for one in memory.list(JANE, as_of=day(2))] == ["The office opens at 8"]
    assert not memory.recall("when does the office open?", JANE) and memory.get(fact.id, scope=JANE) is None
    memory.confirm(fact.id, scope=tenant, by="legal")
    assert [one.status for one in memory.list(JANE)] == ["active"]
    assert memory.recall("when does the office open?", JANE).texts == ["The office opens at 9"]
