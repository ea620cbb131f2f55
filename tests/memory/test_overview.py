"""An overview, counted by the database, must equal the result of listing every record."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import KeyErasedError, Scope
from scrubjay.documents.payload import microseconds
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PolicyCandidate, PreferenceCandidate
from scrubjay.memory.model.records import Episode, Fact, Policy
from scrubjay.memory.read.lookup import Lookup
from scrubjay.memory.read.overview import Overview, Summary
from tests.data.keys import provider
from tests.memory.setting import ACME, GLOBEX, JANE, JOE, START, Clock, open_memory

DAY = 86_400_000_000
SCOPES = [JANE, JOE, ACME, Scope("acme", user="jane", agent="coder"), GLOBEX]


def listed(memory: Memory, scope: Scope, limit: int) -> Summary:
    """Return the same by reading every record and every change."""
    counts: dict[str, dict[str, int]] = {}
    changed: set[datetime] = set()
    for record in memory.list(scope, hidden=True):
        statuses = counts.setdefault(record.kind, {})
        statuses[record.status] = statuses.get(record.status, 0) + 1
        if isinstance(record, Fact):
            changed |= {edge for interval in record.holds for edge in interval if edge is not None}
        elif isinstance(record, Policy):
            changed |= {record.effective_from, record.effective_until or record.effective_from}
        else:
            done = record.completed_at if isinstance(record, Episode) else None
            changed.add(record.created_at if done is None else done)
    known = memory.known(scope)
    in_force = {"policy": len(known.policies), "preference": len(known.preferences), "fact": 0, "episode": 0}
    for record in memory.list(scope, kinds=("fact", "episode")):
        in_force[record.kind] += record.status != "provisional"
    told: set[datetime] = set()
    seen = 0
    while events := memory.feed.changes(seen, scope=scope):
        told |= {event.at for event in events}
        seen = events[-1].cursor
    times = [sorted(map(microseconds, some))[-limit:] for some in (changed, told)]
    return Summary(counts, in_force, len(memory.runs(scope)), *times)


def random_candidate(rng: random.Random, clock: Clock) -> Any:
    """Return a candidate of any kind, about few subjects, at many times."""

    def moment(least: int = -40, most: int = 40) -> datetime:
        return datetime.fromtimestamp((clock.now + rng.randint(least, most) * DAY) / 1e6, timezone.utc)

    place = rng.choice(["Oslo", "Rome", "Bergen", "Ulm"])
    what = rng.randrange(10)
    if what == 0:
        return PreferenceCandidate(rng.choice(["tone", "units"]), f"{place} style", "user_stated")
    if what == 1:
        done = rng.choice([None, moment(-40, 0), datetime(1995, 5, 1, tzinfo=timezone.utc)])
        ttl = rng.choice([None, 5 * 86_400.0])
        return EpisodeCandidate(f"Moved to {place} {rng.random()}", "done", completed_at=done, ttl=ttl)
    if what == 2:
        return PolicyCandidate(rng.choice(["refunds", "tone"]), f"Ask {place} {rng.random()}")
    times: dict[str, Any] = {}
    if rng.random() < 0.5:
        old = datetime(rng.choice([1955, 1969, 1999]), 3, 1, tzinfo=timezone.utc)
        times["valid_from"] = rng.choice([moment(-40, -1), moment(1, 40), old])
    if rng.random() < 0.3:
        times["valid_until"] = moment(41, 80)
    if rng.random() < 0.2:
        times["ttl"] = rng.choice([3, 90]) * 86_400.0
    relation = rng.choice(["asserts", "asserts", "asserts", "plans", "ends", "corrects"])
    predicate = rng.choice(["lives in", "likes", "works at"])
    return FactCandidate(f"Jane {predicate} {place}", "Jane", predicate, relation=relation, **times)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        yield memory


@pytest.mark.parametrize("seed", range(4))
def test_an_overview_agrees_with_a_full_listing(memory: Memory, seed: int) -> None:
    rng, clock = random.Random(seed), memory._parts.context.clock
    assert isinstance(clock, Clock)
    overview = Overview.of(memory)
    for number in range(60):
        scope = rng.choice([JANE, JANE, JANE, *SCOPES])
        candidate = random_candidate(rng, clock)
        if isinstance(candidate, PolicyCandidate):
            scope = Scope(scope.tenant)
        outcome = memory.propose(candidate, scope=scope, source=f"run-{number}")
        if isinstance(candidate, PolicyCandidate) and outcome.id is not None and rng.random() < 0.7:
            memory.confirm(outcome.id, by="ann", scope=scope)
        elif outcome.id is not None and rng.random() < 0.1:
            memory.revoke(outcome.id, reason="wrong", scope=scope)
        if rng.random() < 0.1:
            memory.session(scope, f"run-{number}").user("hello")
        clock.pass_days(rng.choice([0, 0, 1, 9]))
        if number % 12 == 11:
            for one in SCOPES:
                for limit in (1, 5, 1000):
                    assert overview.summary(one, limit) == listed(memory, one, limit)
    over = FactCandidate("Jane sang in a choir", valid_from="2019-01-01", valid_until="2020-01-01")
    memory.propose(over, scope=JANE, source="r")
    assert overview.summary(JANE, 1000) == listed(memory, JANE, 1000)
    kinds = overview.summary(JANE, 1000).counts
    assert {"active", "superseded", "ended"} <= kinds["fact"].keys()


def test_facts_with_gaps_are_in_force_when_they_hold(memory: Memory) -> None:
    clock = memory._parts.context.clock
    assert isinstance(clock, Clock)
    overview = Overview.of(memory)
    memory.propose(FactCandidate("Jane lives in Oslo", "Jane", "lives in"), scope=JANE, source="r1")
    between = {
        name: datetime.fromtimestamp((START + day * DAY) / 1e6, timezone.utc)
        for name, day in (("valid_from", 10), ("valid_until", 20))
    }
    memory.propose(
        FactCandidate("Jane lives in Rome", "Jane", "lives in", **between), scope=JANE, source="r2"
    )
    seen = []
    for _ in range(4):
        assert overview.summary(JANE, 100) == listed(memory, JANE, 100)
        seen.append(overview.summary(JANE, 100).in_force["fact"])
        clock.pass_days(7)
    assert seen == [1, 1, 1, 1]


def test_an_overview_decrypts_no_record(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.propose(FactCandidate("Jane lives in Oslo", "Jane", "lives in"), scope=JANE, source="r1")
    expected = listed(memory, JANE, 10)
    monkeypatch.setattr(Lookup, "list", None)
    monkeypatch.setattr("scrubjay.memory.ledger.rows.opened_rows", None)
    assert Overview.of(memory).summary(JANE, 10) == expected
    with pytest.raises(ValueError, match="limit"):
        Overview.of(memory).summary(JANE, 0)


def test_an_overview_omits_records_of_a_destroyed_key(tmp_path: Path) -> None:
    gone: list[str] = []

    def keys(tenant: str) -> bytes | None:
        if tenant in gone:
            raise KeyErasedError("destroyed")
        return provider(tenant)

    with Memory.open(tmp_path / "m.scrubjay", keys=keys) as memory:
        memory.propose(FactCandidate("Jane lives in Oslo", "Jane", "lives in"), scope=JANE, source="r1")
        memory.admin.global_policy("tone", "Be brief.", by="ops")
        memory.session(JANE, "r").user("hello")
        assert Overview.of(memory).summary(JANE, 10) == listed(memory, JANE, 10)
        gone.append("acme")
        memory.index.admin.forget_keys()
        left = Overview.of(memory).summary(JANE, 10)
        assert left == listed(memory, JANE, 10)
        assert (left.counts, left.runs) == ({"policy": {"active": 1}}, 0)  # the global one, which nobody owns
