"""Consolidation merges duplicates and nothing else, can be undone, and periodic sweeps run if configured."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import Episode, EpisodeCandidate, FactCandidate, Memory
from scrubjay.memory.lifecycle.sweeping import Sweeping
from tests.memory.setting import ACME, JANE, JOE, Clock, open_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def say(memory: Memory, content: str, scope: Scope = JANE, subject: str = "Jane", **options: Any) -> str:
    candidate = FactCandidate(content, subject, "drinks", single=False, **options)
    return memory.propose(candidate, scope=scope, source="r").id or ""


def in_force(memory: Memory, scope: Scope = JANE, **options: Any) -> list[str]:
    return sorted(one.text for one in memory.list(scope, kinds=["fact"], exact=True, **options))


COFFEE = [
    "Jane drinks her coffee black",
    "Jane always drinks her coffee black",
    "Jane drinks her coffee black now",
]


def test_near_duplicates_are_merged_and_can_be_had_back(memory: Memory, clock: Clock) -> None:
    ids = []
    for i, text in enumerate(COFFEE):
        clock.now += 1_000_000
        ids.append(say(memory, text, entities=[f"e{i}"], metadata={f"k{i}": i}))
    say(memory, "Jane drinks tea in the evening")
    clock.now += 1_000_000
    before, moment = in_force(memory), clock.now
    assert memory.admin.consolidate(JANE, likeness=0.6, dry_run=True).merged[0][1] == tuple(ids)
    assert in_force(memory) == before
    clock.now += 1_000_000
    done = memory.admin.consolidate(JANE, likeness=0.6)
    ((outcome, made_of),) = done.merged
    assert made_of == tuple(ids) and outcome.status == "superseded" and done.ids == [outcome.id]
    assert in_force(memory) == ["Jane always drinks her coffee black", "Jane drinks tea in the evening"]
    merged: Any = memory.get(outcome.id or "", scope=JANE)
    assert merged.entities == ("e0", "e1", "e2") and merged.metadata == {"k0": 0, "k1": 1, "k2": 2}
    why = memory.why(merged.id, scope=JANE)
    assert why is not None and set(why.supersedes) == set(ids) and why.provenance.run == "consolidation"
    assert (
        memory.recall("coffee", JANE, kinds=["fact"], k=9).texts[0] == "Jane always drinks her coffee black"
    )
    assert in_force(memory, known_at=moment / 1e6) == before
    assert in_force(memory, as_of=(moment - 100_000) / 1e6) == in_force(memory)
    assert memory.admin.consolidate(JANE, likeness=0.6).merged == ()
    for id in done.ids:
        memory.revoke(id, reason="undone", scope=JANE)
    assert in_force(memory) == before and memory.admin.check() == []


def test_facts_without_a_slot_are_merged_from_now_on(memory: Memory, clock: Clock) -> None:
    ids = [memory.add(text, scope=JANE).id for text in COFFEE]
    before, moment = in_force(memory), clock.now
    clock.now += 1_000_000
    done = memory.admin.consolidate(JANE, likeness=0.6)
    assert set(done.merged[0][1]) == set(ids) and in_force(memory) == ["Jane always drinks her coffee black"]
    assert in_force(memory, as_of=moment / 1e6) == before and memory.admin.check() == []
    memory.revoke(done.ids[0], reason="undone", scope=JANE)
    assert in_force(memory) == before


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("Jane drinks 2 cups of coffee a day", "Jane drinks 3 cups of coffee a day", {}),
        ("Jane drinks coffee", "Jane drinks wine with dinner", {}),
        ("Jane drinks her coffee black", "Jane drinks her coffee black now", {"subject": "Joe"}),
        ("Jane drinks her coffee black", "Jane drinks her coffee black now", {"value": "black"}),
        ("Jane drinks her coffee black", "Jane drinks her coffee black now", {"scope": JOE}),
        ("Jane drinks her coffee black", "Jane drinks her coffee black now", {"ttl": 100}),
        ("Jane may drink coffee at night", "Jane may never drink coffee at night", {}),
        ("Jane wohnt in Wien an der Donau", "Jane wohnt nicht in Wien an der Donau", {}),
        ("Jane n'aime pas le vin rouge", "Jane aime le vin rouge", {}),
        ("Ada lent Bob 50 euros", "Bob lent Ada 50 euros", {}),
        ("Jane prefers tea to coffee", "Jane prefers coffee to tea", {}),
        ("Jane moved from Rome to Bari", "Jane moved from Bari to Rome", {}),
        ("Jane is married to Joe now", "Jane is unmarried to Joe now", {}),
    ],
)
def test_consolidation_does_not_merge_facts_that_differ(
    memory: Memory, one: str, other: str, options: Any
) -> None:
    say(memory, one)
    say(memory, other, **options)
    assert memory.admin.consolidate(JANE, likeness=0.7).merged == () and memory.list(JANE)
    assert len(in_force(memory)) == (1 if "scope" in options else 2)


def test_a_group_is_alike_in_all_its_pairs(memory: Memory) -> None:
    """Groups are not chains: if each fact were only like the next, a group would drift from its first member."""
    words = "jane drinks one two three four five six seven eight nine ten".split()
    for i in range(6):
        say(memory, " ".join(words[i : i + 7]))
    for _, made_of in memory.admin.consolidate(JANE, likeness=0.7, dry_run=True).merged:
        assert len(made_of) == 2


def test_a_merger_of_ones_own_and_summaries_of_episodes(memory: Memory) -> None:
    for n in range(5):
        memory.propose(EpisodeCandidate(f"Rotated key {n}", "success", "keys"), scope=JANE, source="r")
    memory.propose(EpisodeCandidate("Went home", "success", "travel"), scope=JANE, source="r")

    def merger(records: Sequence[Any]) -> Any:
        if isinstance(records[0], Episode):
            return EpisodeCandidate(f"Rotated {len(records)} keys", "success", "keys")
        return None

    done = memory.admin.consolidate(JANE, merger)
    ((outcome, made_of),) = done.summed_up
    assert (
        len(made_of) == 5 and outcome.status == "written" and len(memory.list(JANE, kinds=["episode"])) == 7
    )
    assert memory.admin.consolidate(JANE, merger).summed_up == ()
    memory.revoke(outcome.id or "", reason="undone", scope=JANE)
    assert len(memory.admin.consolidate(JANE, merger).summed_up) == 1
    assert memory.admin.consolidate(ACME, merger).ids == []


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"merger": 5}, TypeError, "merger: expected a function"),
        ({"likeness": 0}, ValueError, "likeness: expected more than 0"),
        ({"likeness": "1"}, TypeError, "likeness: expected a number"),
        ({"least_episodes": 1}, ValueError, "least_episodes: expected an int of 2"),
        (
            {"merger": lambda records: EpisodeCandidate("x", "y")},
            TypeError,
            "expected a FactCandidate or None",
        ),
    ],
)
def test_invalid_arguments_are_refused_and_nothing_is_written(
    memory: Memory, arguments: Any, error: Any, said: str
) -> None:
    for text in COFFEE:
        say(memory, text)
    with pytest.raises(error, match=said):
        memory.admin.consolidate(JANE, **{"likeness": 0.6, **arguments})
    assert in_force(memory) == sorted(COFFEE)


# ---------------------------------------------------------------------- sweeps


def wait_for(what: Any) -> None:
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_sweep_every_runs_sweeps_in_the_background(tmp_path: Path, clock: Clock, caplog: Any) -> None:
    with open_memory(tmp_path / "m.scrubjay", clock, sweep_every=timedelta(milliseconds=20)) as memory:
        memory.add("Jane sings", scope=JANE, ttl=10)
        clock.now += 20_000_000
        wait_for(lambda: memory.list(JANE, hidden=True) == [])
        thread = memory._parts.sweeper._thread  # type: ignore[union-attr]
    assert not thread.is_alive() and caplog.text == ""


def test_a_sweep_that_fails_is_not_the_last_one(tmp_path: Path, monkeypatch: Any, caplog: Any) -> None:
    from scrubjay.base.errors import StoreBusyError

    calls: list[int] = []

    def sweep(self: Sweeping) -> None:
        calls.append(1)
        raise StoreBusyError("another writer")

    monkeypatch.setattr(Sweeping, "sweep", sweep)
    with open_memory(tmp_path / "m.scrubjay", sweep_every=0.01):
        wait_for(lambda: len(calls) > 2)
    assert "a sweep failed" in caplog.text


def test_a_memory_that_is_dropped_is_not_kept_by_its_sweeps(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.scrubjay", sweep_every=0.01)
    gone, thread = weakref.ref(memory), memory._parts.sweeper._thread  # type: ignore[union-attr]
    memory.index.close()
    del memory

    def is_gone() -> bool:
        gc.collect()
        return gone() is None and not thread.is_alive()

    wait_for(is_gone)


@pytest.mark.parametrize(
    ("every", "error"), [(0, ValueError), (-1, ValueError), ("1", TypeError), (True, TypeError)]
)
def test_intervals_are_checked(tmp_path: Path, every: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="sweep_every: expected"):
        open_memory(tmp_path / "m.scrubjay", sweep_every=every)
