"""The gate: what is accepted, where, and with which status; each rule, and attempts of a hostile caller."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Scope
from scrubjay.memory import (
    EpisodeCandidate,
    FactCandidate,
    Memory,
    PolicyCandidate,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.checking import CANDIDATES
from tests.memory.setting import (
    ACME,
    CODER,
    EVERYWHERE,
    JANE,
    JOE,
    START,
    Clock,
    by_ann,
    lives,
    open_memory,
    row_count,
    texts,
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


# ---------------------------------------------------------------------- status and kind


@pytest.mark.parametrize("scope", [JANE, CODER, Scope("acme", user="jane", agent="coder")])
def test_proposals_of_a_user_or_agent_are_active_at_once(memory: Memory, scope: Scope) -> None:
    fact = memory.propose("The door code is 4711", scope=scope, source="r1")
    episode = memory.propose(EpisodeCandidate("Opened the door", "success"), scope=scope, source="r1")
    assert (fact.status, fact.active, episode.status, episode.active) == ("written", True, "written", True)
    assert texts(memory, "door", scope) == ["Opened the door", "The door code is 4711"]


def test_a_policy_is_provisional_until_confirmed(memory: Memory) -> None:
    outcome = memory.propose(PolicyCandidate("refunds", "Never."), scope=JANE, source="r1")
    assert outcome.status == "written" and not outcome.active and "confirm" in outcome.reason
    assert memory.known(JANE).policies == ()
    with pytest.raises(KeyError, match="no such record in this scope"):
        memory.confirm(outcome.id or "", by="jane", scope=JANE)  # a user's scope cannot confirm for all
    assert memory.known(JANE).policies == ()
    memory.confirm(outcome.id or "", by="legal", scope=ACME)
    assert [(p.text, p.decided_by, p.status) for p in memory.known(JANE).policies] == [
        ("Never.", "legal", "active")
    ]


def test_a_policy_is_never_promoted_by_being_said_often(memory: Memory) -> None:
    for run in range(5):
        for scope in (JANE, JOE, ACME):
            outcome = memory.propose(PolicyCandidate("refunds", "Always."), scope=scope, source=f"r{run}")
            assert not outcome.active
    assert memory.known(ACME).policies == () and len(memory.policies("acme")) == 1


def test_of_simultaneous_provisional_facts_the_last_proposed_is_listed(memory: Memory) -> None:
    for number in range(12):  # ids are random: a wrong order would be right by chance sometimes
        for told in (f"Acme sells oak {number}", f"Acme sells ash {number}"):
            outcome = memory.propose(FactCandidate(told, "Acme", "sells"), scope=ACME, source="r1")
            assert not outcome.active
        assert [r.text for r in memory.list(ACME) if r.status == "provisional"] == [
            f"Acme sells ash {number}"
        ]


def test_a_promoted_fact_supersedes_a_simultaneous_provisional_one(memory: Memory) -> None:
    for number in range(12):  # as above
        oak, ash = (FactCandidate(f"Acme sells {tree} {number}", "Acme", "sells") for tree in ("oak", "ash"))
        assert not memory.propose(oak, scope=ACME, source="r1").active
        memory.propose(ash, scope=JANE, source="r2")
        assert memory.propose(ash, scope=ACME, source="r3").active  # two independent sources
        assert [r.text for r in memory.list(ACME)] == [ash.content]


def test_a_fact_that_gains_a_slot_supersedes_a_simultaneous_provisional_one(memory: Memory) -> None:
    for number in range(12):  # as above
        ash = FactCandidate(f"Acme sells ash {number}", "Acme")
        memory.propose(ash, scope=JANE, source="r2")
        assert memory.propose(ash, scope=ACME, source="r3").active
        oak = FactCandidate(f"Acme sells oak {number}", "Acme", "sells")
        assert not memory.propose(oak, scope=ACME, source="r1").active
        again = memory.propose(replace(ash, predicate="sells"), scope=ACME, source="r4")
        assert again.status == "deduplicated"
        assert [r.text for r in memory.list(ACME)] == [ash.content]


@pytest.mark.parametrize("subject", ["", "Jane"])
@pytest.mark.parametrize(("ttl", "again"), [(2, None), (2, 6)])
def test_restating_with_a_longer_ttl_extends_it(
    memory: Memory, clock: Clock, subject: str, ttl: int, again: int | None
) -> None:
    said = FactCandidate("Jane is in Rome", subject, "is", ttl=ttl)
    first = memory.propose(said, scope=JANE, source="r1")
    assert memory.propose(replace(said, ttl=again), scope=JANE, source="r2").status == "deduplicated"
    clock.now += 3_000_000
    assert texts(memory, "Rome", JANE) == ["Jane is in Rome"]
    assert [record.id for record in memory.list(JANE)] == [first.id]
    clock.now += 4_000_000
    assert texts(memory, "Rome", JANE) == ([] if again else ["Jane is in Rome"])


def test_no_candidate_has_a_status_or_names_a_scope() -> None:
    for candidate in CANDIDATES.values():
        assert not {"status", "scope", "tenant", "active"} & {field.name for field in fields(candidate)}


@pytest.mark.parametrize("field", ["status", "tenant", "scope", "slot", "id"])
def test_a_mapping_cannot_set_what_the_gate_decides(memory: Memory, field: str) -> None:
    with pytest.raises(ValueError, match=f"{field}: unknown field of a fact"):
        memory.propose({"content": "x", field: "active"}, scope=JANE, source="r1")
    assert row_count(memory, "memory_fact") == 0


def test_mappings_get_their_kind_from_their_fields(memory: Memory) -> None:
    def kind(candidate: Any) -> str:
        return memory.propose(candidate, scope=JANE, source="r1").kind

    assert kind("Jane sails") == "fact"
    assert kind({"content": "Jane swims", "confidence": 0.9}) == "fact"
    assert kind({"key": "tone", "text": "brief"}) == "preference"
    assert kind({"summary": "Sailed", "outcome": "success"}) == "episode"
    assert kind({"kind": "policy", "key": "tone", "text": "formal"}) == "policy"
    with pytest.raises(ValueError, match="kind: expected one of"):
        kind({"kind": "trace", "content": "x"})
    with pytest.raises(ValueError, match="candidate: episode: expected more"):
        kind({"summary": "Sailed"})
    with pytest.raises(TypeError, match="candidate: expected"):
        kind(3)


# ---------------------------------------------------------------------- scope


@pytest.mark.parametrize("scope", [None, "acme", ("acme", "jane"), {"tenant": "acme"}])
def test_without_a_scope_nothing_happens(memory: Memory, scope: Any) -> None:
    for call in (
        lambda: memory.propose("x", scope=scope, source="r"),
        lambda: memory.recall("x", scope),
        lambda: memory.known(scope),
        lambda: memory.get("fact_1", scope=scope),
        lambda: memory.update("fact_1", scope=scope, content="y"),
        lambda: memory.delete("fact_1", scope=scope),
        lambda: memory.list(scope),
        lambda: memory.confirm("fact_1", by="x", scope=scope),
        lambda: memory.revoke("fact_1", reason="x", scope=scope),
        lambda: memory.feedback("fact_1", scope=scope),
        lambda: memory.why("fact_1", scope=scope),
        lambda: memory.rejections(scope),
        lambda: memory._parts.slots.facts_about(scope, "a", "b"),
        lambda: memory.admin.verify_erased(scope),
    ):
        with pytest.raises(TypeError, match=r"scope: expected a scrubjay\.Scope"):
            call()


def test_records_stay_in_the_scope_of_their_proposal(memory: Memory) -> None:
    lives(memory, "Oslo")
    memory.propose(EpisodeCandidate("Moved to Oslo", "success"), scope=JANE, source="r1")
    memory.prefer("city", "Oslo", scope=JANE)
    for scope in EVERYWHERE:
        inside = scope.tenant == "acme" and scope.user == "jane"
        assert len(memory.recall("Oslo", scope, k=9)) == (2 if inside else 0), scope
        assert len(memory.known(scope).preferences) == (1 if inside else 0), scope


def test_a_preference_set_under_an_agent_belongs_to_the_user(memory: Memory) -> None:
    memory.prefer("tone", "brief", scope=Scope("acme", user="jane", agent="coder"))
    assert [one.scope for one in memory.known(JANE).preferences] == [JANE]


def test_a_preference_of_an_agent_is_refused(memory: Memory) -> None:
    outcome = memory.prefer("tone", "brief", scope=CODER)
    assert outcome.status == "rejected" and "belongs to a user or a tenant" in outcome.reason


def test_a_tenants_scope_takes_only_facts_about_the_tenant(memory: Memory) -> None:
    fact = memory.propose(FactCandidate("Jane is ill", "Jane", "is"), scope=ACME, source="r1")
    assert fact.status == "rejected" and "subject is the tenant itself" in fact.reason
    assert row_count(memory, "memory_fact") == 0


# ---------------------------------------------------------------------- facts of a tenant


SHIPS = FactCandidate("Acme ships on Fridays", "ACME", "ships on")


def visible_to(memory: Memory, query: str = "ships") -> list[Scope]:
    return [scope for scope in EVERYWHERE if len(memory.recall(query, scope))]


def test_a_tenants_fact_waits_for_a_second_independent_run(memory: Memory) -> None:
    first = memory.propose(SHIPS, scope=ACME, source="r1")
    assert first.status == "written" and not first.active
    assert visible_to(memory) == [] and memory.get(first.id or "", scope=ACME) is None
    again = memory.propose(SHIPS, scope=ACME, source="r1")  # the same run is not a second observer
    assert again.status == "deduplicated" and not again.active and visible_to(memory) == []
    nobody = memory.propose(SHIPS, scope=ACME, source="r2")  # nor is another run without a named author
    assert nobody.status == "deduplicated" and not nobody.active and visible_to(memory) == []
    second = memory.propose(SHIPS, scope=ACME, source=by_ann("r2"))
    assert not second.active, "it is the run that said it already"
    second = memory.propose(SHIPS, scope=ACME, source=by_ann("r3"))
    assert second.id == first.id and second.active and "promoted" in second.reason
    assert visible_to(memory) == [scope for scope in EVERYWHERE if scope.tenant == "acme"]
    assert memory.why(first.id or "", scope=JANE).observed_in == ("r1", "r2", "r3")  # type: ignore[union-attr]


def test_a_tenant_fact_is_visible_to_its_user_until_a_second_user_confirms_it(memory: Memory) -> None:
    own = memory.propose(SHIPS, scope=JANE, source="r1")
    assert own.active and JOE not in visible_to(memory) and ACME not in visible_to(memory)
    for run in ("r2", "r3"):  # repetition by one user does not count
        assert memory.propose(SHIPS, scope=JANE, source=run).id == own.id
    assert JOE not in visible_to(memory)
    same_run = memory.propose(SHIPS, scope=JOE, source="r1")  # another user; jane's r1 counts once
    assert same_run.active
    assert [hit.scope for hit in memory.recall("ships", JOE)] == [ACME]
    assert [hit.scope for hit in memory.recall("ships", JANE)] == [ACME]  # without her own copy
    assert memory.get(own.id or "", scope=JANE) is None
    assert memory.get(own.id or "", scope=JANE, hidden=True).superseded_by == same_run.id  # type: ignore[union-attr]


def test_two_users_in_one_run_are_one_witness(memory: Memory) -> None:
    memory.propose(SHIPS, scope=JANE, source="r1")
    memory.propose(SHIPS, scope=JOE, source="r1")
    assert ACME not in visible_to(memory)
    assert [hit.scope for hit in memory.recall("ships", JOE)] == [JOE]


def test_a_tenants_fact_that_is_confirmed_counts_for_all(memory: Memory) -> None:
    fact = memory.propose(SHIPS, scope=ACME, source="r1")
    with pytest.raises(KeyError):
        memory.confirm(fact.id or "", by="jane", scope=JANE)
    assert visible_to(memory) == []
    assert memory.confirm(fact.id or "", by="boss", scope=ACME).active
    assert JOE in visible_to(memory)
    with pytest.raises(ValueError, match="expected a provisional"):
        memory.confirm(fact.id or "", by="boss", scope=ACME)
    with pytest.raises(ValueError, match="by: expected 1 to"):
        memory.confirm(fact.id or "", by=" ", scope=ACME)


def test_a_promoted_fact_supersedes_those_it_contradicts(memory: Memory) -> None:
    first = memory.propose(SHIPS, scope=ACME, source="r1")
    memory.confirm(first.id or "", by="boss", scope=ACME)
    mondays = FactCandidate("Acme ships on Mondays", "acme", "Ships on")
    second = memory.propose(mondays, scope=ACME, source="r1")
    assert not second.active and texts(memory, "ships", JANE) == ["Acme ships on Fridays"]
    third = memory.propose(mondays, scope=ACME, source=by_ann("r2"))
    assert (third.status, third.id, third.superseded) == ("superseded", second.id, first.id)
    assert texts(memory, "ships", JANE) == ["Acme ships on Mondays"]


def test_add_cannot_make_a_tenants_fact_by_itself(memory: Memory) -> None:
    for _ in range(3):
        assert not memory.add(
            "Acme ships on Fridays", scope=ACME, subject="acme", predicate="ships on"
        ).active
    assert visible_to(memory) == []


# ---------------------------------------------------------------------- verification


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (FactCandidate("x", confidence=0.69), "confidence: a fact needs 0.7, got 0.69"),
        (FactCandidate("x", confidence=1.01), "confidence: expected 0 to 1, got 1.01"),
        (FactCandidate("x", confidence=float("nan")), "confidence: expected 0 to 1, got nan"),
        (FactCandidate(""), "content: expected some text"),
        (FactCandidate(" \t\n "), "content: expected some text"),
        (FactCandidate("x" * 20_001), "content: expected at most 20,000 characters, got 20,001"),
        (FactCandidate("x", subject="s" * 501), "subject: expected at most 500"),
        (PreferenceCandidate("k", "x", confidence=0.49), "confidence: a preference needs 0.5, got 0.49"),
        (PreferenceCandidate("", "x"), "key: expected some text"),
        (PreferenceCandidate("k", ""), "text: expected some text"),
        (PreferenceCandidate("k", "x", source="guessed"), "source: expected one of user_stated, inferred"),
        (EpisodeCandidate("", "success"), "summary: expected some text"),
        (EpisodeCandidate("x", ""), "outcome: expected some text"),
        (EpisodeCandidate("x", "success", steps=["s" * 90_000]), "steps: expected at most"),
        (PolicyCandidate("k", ""), "text: expected some text"),
    ],
)
def test_unfit_candidates_are_rejected_and_recorded(memory: Memory, candidate: Any, reason: str) -> None:
    outcome = memory.propose(candidate, scope=JANE, source=Provenance("r1", turn=4, author="jane"))
    assert outcome.status == "rejected" and outcome.id is None and not outcome and not outcome.active
    assert reason in outcome.reason
    (recorded,) = memory.rejections(JANE)
    assert (recorded.reason, recorded.kind, recorded.run, recorded.turn) == (
        outcome.reason,
        outcome.kind,
        "r1",
        4,
    )
    assert memory.rejections(JOE) == memory.rejections(ACME) == []
    assert memory.list(JANE, hidden=True) == []


@pytest.mark.parametrize("when", [{"ttl": 0}, {"ttl": -5}, {"expires_at": 1}, {"expires_at": START / 1e6}])
def test_candidates_that_already_ended_are_rejected(memory: Memory, when: Any) -> None:
    candidates = [
        FactCandidate("x", **when),
        EpisodeCandidate("x", "success", **when),
        PreferenceCandidate("k", "x", **when),
    ]
    for candidate in candidates:
        outcome = memory.propose(candidate, scope=JANE, source="r1")
        assert outcome.status == "rejected" and "expected a future time" in outcome.reason
    assert memory.list(JANE, hidden=True) == []


def test_the_minimal_confidence_is_accepted(memory: Memory) -> None:
    assert memory.propose(FactCandidate("a", confidence=0.7), scope=JANE, source="r1")
    assert memory.propose(PreferenceCandidate("k", "b", confidence=0.5), scope=JANE, source="r1")


@pytest.mark.parametrize("run", ["", "  "])
def test_without_a_run_nothing_is_remembered(memory: Memory, run: str) -> None:
    for candidate in (
        FactCandidate("x"),
        PreferenceCandidate("k", "x"),
        EpisodeCandidate("x", "success"),
        PolicyCandidate("k", "x"),
    ):
        outcome = memory.propose(candidate, scope=JANE, source=run)
        assert outcome.status == "rejected" and "run" in outcome.reason


@pytest.mark.parametrize(
    ("candidate", "error", "message"),
    [
        (FactCandidate(3), TypeError, "content: expected a str, got int"),  # type: ignore[arg-type]
        (FactCandidate("x", confidence="high"), TypeError, "confidence: expected a number"),  # type: ignore[arg-type]
        (FactCandidate("x", confidence=True), TypeError, "confidence: expected a number, got bool"),
        (FactCandidate("x", ttl="soon"), TypeError, "ttl: expected a timedelta"),  # type: ignore[arg-type]
        (FactCandidate("x", expires_at="soon"), ValueError, "expires_at: expected an ISO 8601"),
        (FactCandidate("x", expires_at=1, ttl=1), ValueError, "ttl: expected either"),
        (FactCandidate("x", metadata={"kind": "policy"}), ValueError, "metadata: expected other names"),
        (FactCandidate("x", metadata={"a": object()}), TypeError, "metadata"),
        (FactCandidate("x", metadata={"a": float("inf")}), ValueError, "metadata"),
        (EpisodeCandidate("x", "y", steps="abc"), TypeError, "steps: expected a sequence of str"),
        (EpisodeCandidate("x", "y", artifacts=[1]), TypeError, r"artifacts\[0\]: expected a str"),  # type: ignore[list-item]
        (PolicyCandidate("k", "x", effective_until=1), ValueError, "effective_until: expected a time after"),
    ],
)
def test_an_invalid_candidate_raises_and_writes_nothing(
    memory: Memory, candidate: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        memory.propose(candidate, scope=JANE, source="r1")
    assert memory.list(JANE, hidden=True) == [] and memory.rejections(JANE) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "source: expected a Provenance"),
        (Provenance(3), "source.run: expected a str"),  # type: ignore[arg-type]
        (Provenance("r", turn="3"), "source.turn: expected an int"),  # type: ignore[arg-type]
        (Provenance("r", turn=-1), "source.turn: expected 0 or more"),
        (Provenance("r" * 501), "source.run: expected at most 500"),
    ],
)
def test_bad_sources_are_errors(memory: Memory, source: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        memory.propose("x", scope=JANE, source=source)


@pytest.mark.parametrize(
    "text",
    ["naïve 鸟 \U0001f426", "half \ud800 a pair", "a\0b", "'; DROP TABLE memory_fact; --", "%_\\", "\u202e"],
)
def test_any_text_can_be_remembered(memory: Memory, text: str) -> None:
    candidate = FactCandidate(f"bird {text}", text, text, evidence=text, metadata={"said": text})
    source = Provenance(f"run {text}", author=text, place=text)
    fact = memory.propose(candidate, scope=JANE, source=source)
    assert fact and len(memory.recall("bird", JANE)) == 1
    assert memory.propose(PreferenceCandidate(f"key {text}", text), scope=JANE, source=source)
    assert memory.propose(EpisodeCandidate(text, text, text, [text], [text]), scope=JANE, source=source)
    assert len(memory.list(JANE)) == 3
    record = memory.get(fact.id or "", scope=JANE)
    assert record is not None and record.text == f"bird {text}".replace("\ud800", "\ufffd").strip()
    assert memory.why(fact.id or "", scope=JANE) is not None


# ---------------------------------------------------------------------- duplicates


def test_equal_texts_are_deduplicated_within_a_scope(memory: Memory) -> None:
    first = lives(memory, "Oslo")
    for again in ("  Jane  lives in OSLO. ", "jane lives in oslo", "Jane lives in Ｏslo!"):
        outcome = memory.propose(again, scope=JANE, source="r2")
        assert (outcome.status, outcome.id) == ("deduplicated", first.id)
    assert memory.propose("Jane lives in Oslo?", scope=JANE, source="r2").status == "written"
    assert lives(memory, "Oslo", scope=JOE).status == "written"  # another scope does not know it
    assert row_count(memory, "memory_fact") == 3


def test_equal_texts_about_another_subject_are_another_fact(memory: Memory) -> None:
    one = memory.propose(FactCandidate("Lives in Oslo", "Jane", "city"), scope=JANE, source="r1")
    two = memory.propose(FactCandidate("Lives in Oslo", "Ann", "city"), scope=JANE, source="r1")
    assert (one.status, two.status) == ("written", "written")
    assert memory.propose("lives in oslo", scope=JANE, source="r1").status == "deduplicated"


def test_restating_raises_confidence_and_extends_the_ttl(memory: Memory, clock: Clock) -> None:
    first = lives(memory, "Oslo", confidence=0.7, ttl=10)
    lives(memory, "Oslo", confidence=0.9, ttl=100, run="r2")
    record = memory.get(first.id or "", scope=JANE)
    assert record is not None and record.confidence == 0.9  # type: ignore[union-attr]
    clock.now += 50_000_000
    assert texts(memory, "Oslo", JANE) == ["Jane lives in Oslo"]
    assert memory.recall("Oslo", JANE)[0].metadata["confidence"] == 0.9
    lives(memory, "Oslo", confidence=0.7, ttl=10, run="r3")  # lowers neither confidence nor expiry
    clock.now += 49_000_000
    assert len(memory.recall("Oslo", JANE)) == 1
    clock.now += 2_000_000
    assert len(memory.recall("Oslo", JANE)) == 0
    assert [event.action for event in memory.why(first.id or "", scope=JANE).events] == [
        "written",
        "restated",
    ]  # type: ignore[union-attr]


def test_an_expired_fact_can_be_proposed_again(memory: Memory, clock: Clock) -> None:
    first = lives(memory, "Oslo", ttl=10)
    trip = memory.propose(EpisodeCandidate("Went home", "success", ttl=10), scope=JANE, source="r1")
    tone = memory.prefer("tone", "brief", scope=JANE, ttl=10)
    clock.now += 10_000_000
    assert memory.list(JANE) == [] and len(memory.recall("Oslo home", JANE)) == 0
    assert memory.known(JANE).preferences == ()
    again = [
        lives(memory, "Oslo"),
        memory.propose(EpisodeCandidate("Went home", "success"), scope=JANE, source="r1"),
        memory.prefer("tone", "brief", scope=JANE),
    ]
    assert [one.status for one in again] == ["written"] * 3
    assert not {one.id for one in again} & {first.id, trip.id, tone.id}
    assert len(memory.list(JANE)) == 3 and len(memory.recall("Oslo home", JANE)) == 2


def test_equal_episodes_are_deduplicated(memory: Memory) -> None:
    one = memory.propose(EpisodeCandidate("Booked a train", "success"), scope=JANE, source="r1")
    two = memory.propose(EpisodeCandidate("booked a train.", "failure"), scope=JANE, source="r2")
    assert (two.status, two.id) == ("deduplicated", one.id)


# ---------------------------------------------------------------------- preferences


def test_a_preference_is_replaced_by_its_key(memory: Memory) -> None:
    first = memory.prefer("tone", "brief", scope=JANE)
    second = memory.prefer("tone", "friendly", scope=JANE, source="admin_set")
    assert (second.status, second.superseded) == ("superseded", first.id)
    memory.prefer("food", "vegan", scope=JANE)
    memory.prefer("tone", "rude", scope=JOE)
    assert [(p.key, p.text, p.source) for p in memory.known(JANE).preferences] == [
        ("food", "vegan", "user_stated"),
        ("tone", "friendly", "admin_set"),
    ]
    assert memory.prefer("tone", "Friendly", scope=JANE, source="admin_set").status == "deduplicated"


@pytest.mark.parametrize("stated", ["user_stated", "admin_set"])
def test_inferred_preferences_never_replace_stated_ones(memory: Memory, stated: str) -> None:
    memory.prefer("tone", "brief", scope=JANE, source="inferred")
    memory.prefer("tone", "briefer", scope=JANE, source="inferred")
    assert memory.prefer("tone", "long", scope=JANE, source=stated).status == "superseded"
    outcome = memory.prefer("tone", "brief", scope=JANE, source="inferred")
    assert outcome.status == "rejected" and "does not replace" in outcome.reason
    assert [p.text for p in memory.known(JANE).preferences] == ["long"]


# ---------------------------------------------------------------------- several at once


def test_several_proposals_are_one_write(memory: Memory) -> None:
    seen: list[Any] = []

    def also(change: Any, outcomes: Any) -> None:
        seen.extend(one.status for one in outcomes)
        raise ZeroDivisionError

    proposals = [
        (FactCandidate("Jane lives in Oslo", "Jane", "lives in"), JANE, "r1"),
        (FactCandidate("Jane lives in Rome", "Jane", "lives in"), JANE, "r1"),
        ("jane lives in rome", JANE, "r1"),
        (PreferenceCandidate("tone", "brief"), JANE, "r1"),
        (FactCandidate("x", confidence=0.1), JANE, "r1"),
    ]
    with pytest.raises(ZeroDivisionError):
        memory.propose_all(proposals, also=also)
    assert seen == ["written", "superseded", "deduplicated", "written", "rejected"]
    assert memory.list(JANE, hidden=True) == [] and memory.rejections(JANE) == []
    assert len(memory.recall("Jane", JANE)) == 0
    assert [one.status for one in memory.propose_all(proposals)] == seen
    assert texts(memory, "Jane", JANE) == ["Jane lives in Rome"]


def test_revoked_first_then_proposed(memory: Memory) -> None:
    old = memory.propose("Jane sails", scope=JANE, source="r1")
    foreign = memory.propose("Joe sails", scope=JOE, source="r1")
    revoke = [(old.id or "", JANE, "wrong"), (foreign.id or "", JANE, "wrong"), ("fact_none", JANE, "wrong")]
    (again,) = memory.propose_all([("Jane sails", JANE, "r2")], revoke=revoke)
    assert again.status == "written" and again.id != old.id
    assert texts(memory, "sails", JANE) == ["Jane sails"] and texts(memory, "sails", JOE) == ["Joe sails"]


def test_an_embedder_or_judge_that_fails_leaves_nothing(tmp_path: Path) -> None:
    class Failing:
        name, dim = "failing", 2

        def embed_documents(self, texts: Any) -> Any:
            raise OSError("down")

        def embed_query(self, text: str) -> Any:
            raise OSError("down")

    class Angry:
        def contradicts(self, known: Any, candidate: Any) -> bool:
            raise OSError("no verdict")

    with open_memory(tmp_path / "a.scrubjay", embedder=Failing()) as memory:
        assert lives(memory, "Oslo").active  # embedded later: test_embedder_outage.py
        assert memory.prefer("tone", "brief", scope=JANE)  # needs no vector
        assert len(memory.list(JANE, hidden=True)) == 2
    with open_memory(tmp_path / "c.scrubjay", embedder=Failing(), on_embedder_error="raise") as memory:
        with pytest.raises(scrubjay.EmbedderError):
            lives(memory, "Oslo")
        assert memory.list(JANE, hidden=True) == []
    with open_memory(tmp_path / "b.scrubjay", judge=Angry()) as memory:
        lives(memory, "Oslo")
        with pytest.raises(OSError, match="no verdict"):
            lives(memory, "Rome")
        assert texts(memory, "lives", JANE) == ["Jane lives in Oslo"]
        assert row_count(memory, "memory_fact") == 1


def test_a_rejection_cannot_be_overlooked(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    unsure = FactCandidate("Jane may sail.", confidence=0.2)
    with caplog.at_level("WARNING", logger="scrubjay.memory"):
        assert not memory.propose(unsure, scope=JANE, source="r")
    assert [record.getMessage() for record in caplog.records] == [
        "a fact was rejected: confidence: a fact needs 0.7, got 0.2"
    ]
    with pytest.raises(scrubjay.RejectedError, match=r"a fact was rejected: confidence") as refused:
        memory.propose(unsure, scope=JANE, source="r", raise_if_rejected=True)
    assert isinstance(refused.value, ValueError) and [one.status for one in refused.value.outcomes] == [
        "rejected"
    ]
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (str(copy), copy.outcomes) == (str(refused.value), refused.value.outcomes)
    both: Any = [("Jane sails.", JANE, "r"), (unsure, JANE, "r")]
    with pytest.raises(scrubjay.RejectedError, match=r"^proposals\[1\]: a fact was rejected"):
        memory.propose_all(both, raise_if_rejected=True)
    assert memory.list(JANE) == [] and len(memory.rejections(JANE)) == 1, "all or nothing"
    assert [one.status for one in memory.propose_all(both)] == ["written", "rejected"]
