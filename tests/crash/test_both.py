"""An index and a memory in one file survive SIGKILL together. (SCRUBJAY_CRASH_ROUNDS for more rounds.)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay import Scope
from scrubjay.memory import FactCandidate
from tests.crash.both import _states
from tests.crash.both_judge import judge, open_memory
from tests.crash.both_workload import Step, World, _fact_in, now, step
from tests.memory.setting import Clock

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("SCRUBJAY_CRASH_ROUNDS", "60"))


@pytest.mark.parametrize("more", [[], ["--encrypted"]])
def test_index_and_memory_survive_kills_together(more: list[str]) -> None:
    """Runs in its own process: it forks, and pytest may have threads and open files."""
    if more:
        pytest.importorskip("cryptography")
    finished = subprocess.run(
        [sys.executable, "-m", "tests.crash.both", "--rounds", str(ROUNDS), "--seed", "7", *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120 + ROUNDS * 10,
    )
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    tally = json.loads(finished.stdout)
    assert tally["rounds"] == ROUNDS and tally["failures"] == []
    assert tally["judged"] > ROUNDS // 2 and tally["acknowledged"] > ROUNDS // 2
    assert tally["killed_in_a_commit"] > 0 and tally["killed_before_a_statement"] > 0
    # The stepwise compaction runs in the writer and beside it, and is killed at work.
    assert tally["killed_while_zeroing"] > 0 and tally["compacted_beside"] > 0 and tally["compactions"] > 0
    assert tally["pages_zeroed"] > 0 and tally["rows_written_again"] > 0
    kinds = {"together", "batch", "compact", "index patch", "index passages", "index compact"}
    assert kinds <= set(tally["steps"]), tally["steps"]


_LOSING = """
import sys, tempfile, pathlib
from tests.crash import both, both_child
honest = both_child.step
def losing(seed, number, world):
    one = honest(seed, number, world)
    if one.kind not in {kinds!r} or number % 3:
        return one
    parts = tuple(part._replace(do=lambda memory: None) for part in one.parts[1:])
    said = one.then(world.copy())  # as if it had been written
    return one._replace(do=lambda memory: said, parts=one.parts[:1] + parts)
both_child.step = losing
with tempfile.TemporaryDirectory() as folder:
    tally = both.main(400, 3, pathlib.Path(folder))  # ends with the first failure
print(tally.failures)
"""


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("index upsert", "index many"), "documents: lost"),
        (("index patch",), "documents: lost"),
        (("together",), "documents: lost"),
        (("confirm", "revoke"), "records: lost"),
        (("trace",), "runs: lost"),
    ],
)
def test_the_judge_reports_lost_acknowledged_writes(kinds: tuple[str, ...], said: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", _LOSING.format(kinds=kinds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert said in finished.stdout, finished.stdout


def test_steps_follow_from_the_seed_and_the_state() -> None:
    def play() -> tuple[list[str], World]:
        world, kinds = World(), []
        for number in range(300):
            world.model.now = now(number)
            one: Step = step(5, number, world)
            one.then(world)
            kinds.append(one.kind)
        return kinds, world

    (kinds, world), (again, other) = play(), play()
    assert kinds == again and world.index == other.index and world.runs == other.runs
    assert [one.text for one in world.model.entries] == [one.text for one in other.model.entries]
    assert len(set(kinds)) > 20
    copied = world.copy()
    copied.model.entries.clear()
    copied.runs.clear()
    assert world.model.entries and world.runs


def test_any_subset_of_concurrent_steps_may_have_happened() -> None:
    def part(name: str) -> Step:
        return Step(name, lambda memory: None, lambda world: world.runs.update({(KEY, name): []}))

    one = Step("together", lambda memory: None, lambda world: None, tuple(map(part, "abc")))
    found = ["".join(run for _, run in world.runs) for world in _states(World(), one, {1})]
    assert found == ["b", "ba", "bc", "bac"]


def test_worlds_differ_if_a_fact_joined_a_slot(tmp_path: Path) -> None:
    """A fact without a subject that is stated again with one joins a slot, and stays in force and readable."""
    scope, worlds, clock = Scope("acme", user="jane"), [World(), World()], Clock(now(0))
    memory = open_memory(tmp_path / "both.scrubjay", clock, "normal", False, worlds)
    for number, topic in enumerate([("", ""), ("Ann", "sails")]):
        candidate = FactCandidate("oak f1", *topic)
        clock.now = now(number)
        memory.propose(candidate, scope=scope, source="r1")
        for world in worlds[number:]:
            world.model.now = now(number)
            _fact_in(world, candidate, scope, "r1", number)
    worlds[0].model.now = now(1)
    assert judge(memory, worlds, thorough=False) == 1
    memory.close()


KEY = ("acme", "", "")
