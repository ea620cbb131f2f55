"""Services that share a database keep acknowledged writes, and read what their level guarantees, although they and the
server are killed. (SCRUBJAY_FLEET_ROUNDS for more rounds.)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.crash.fleet_history import Call, History, Key, Seen, Stamped

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("SCRUBJAY_FLEET_ROUNDS", "6"))
PLACE = ("document", "acme..")
ONE, TWO = Key(*PLACE, "1"), Key(*PLACE, "2")


def test_a_fleet_survives_kills() -> None:
    """Runs in its own process, since it forks."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.crash.fleet", "--rounds", str(ROUNDS), "--seed", "7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=200 + ROUNDS * 30,
    )
    if finished.returncode == 77:
        pytest.skip(finished.stdout.strip())
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    tally = json.loads(finished.stdout)
    assert tally["rounds"] == ROUNDS and tally["failures"] == []
    assert tally["acknowledged"] > ROUNDS and sum(tally["kills"].values()) == ROUNDS
    assert tally["reads"]["bounded"] > ROUNDS and tally["reads"]["rows"] == ROUNDS


_WORSE = """
import sys, tempfile
from pathlib import Path
from scrubjay.store.postgres.feed import Feed
from tests.crash import fleet
from tests.crash.fleet_service import Service
from tests.data.postgres import new_cluster

def losing(self, honest=Service._upsert):
    kind, writes, wipes, do, scope = honest(self)
    return kind, writes, wipes, (lambda: None) if self._number % 3 == 0 else do, scope

def deaf(self, rows, generations, honest=Feed._tell):
    honest(self, [(rows[0][0], None, "", "", "", 0)], generations)

if sys.argv[1] == "losing":
    Service._upsert = losing
else:
    Feed._tell = deaf
server = new_cluster()
if isinstance(server, str):
    print(server)
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    print(fleet.main(8, 3, Path(folder), server).failures)  # ends with the first failure
"""


@pytest.mark.parametrize("what", ["losing", "deaf"])
def test_the_driver_sees_a_worse_library(what: str) -> None:
    """One library loses an acknowledged write, the other never learns of the writes of other processes."""
    finished = subprocess.run(
        [sys.executable, "-c", _WORSE, what],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    if finished.returncode == 77:
        pytest.skip(finished.stdout.strip())
    assert "lost: " in finished.stdout, finished.stdout[-3000:] + finished.stderr[-3000:]


# ---------------------------------------------------------------------- the judge


def upsert(
    who: str, begin: float, ack: float | None, writes: Mapping[Key, str | None], kind: str = "upsert"
) -> Call:
    return Call(who, 1, kind, begin, ack, dict(writes))


def observation(
    values: Mapping[Key, str],
    *,
    who: str = "b",
    begin: float = 10,
    since: float | None = 10,
    stamp: Stamped | None = None,
) -> Seen:
    return Seen(who, "bounded", begin, begin + 0.1, frozenset([PLACE]), values, since, stamp)


def violations(calls: list[Call], reader: Seen, before: Mapping[Key, str] | None = None) -> list[str]:
    history = History(before or {}, calls, {(ONE, "long ago")})
    history.sight([reader])
    return [one.partition(":")[0] for one in history.disagreements(reader)]


def test_a_lost_acknowledged_write_is_reported() -> None:
    calls = [upsert("a", 1, 2, {ONE: "x", TWO: "y"})]
    assert violations(calls, observation({ONE: "x", TWO: "y"})) == []
    assert violations(calls, observation({})) == ["lost", "lost"]
    assert (
        violations(calls, observation({}, since=1.5)) == []
    )  # acknowledged after the time that the level guarantees
    assert violations(calls, observation({}, since=None)) == []  # the answer was marked stale


def test_searches_that_miss_own_or_stamped_writes_are_reported() -> None:
    calls = [upsert("a", 1, 2, {ONE: "x", TWO: "y"})]
    assert violations(calls, observation({}, who="a", since=0)) == ["lost", "lost"]
    assert violations(calls, observation({}, since=0, stamp=Stamped("a", "acme..", 1, 3))) == ["lost", "lost"]
    assert violations(calls, observation({}, since=0, stamp=Stamped("c", "acme..", 3, 4))) == ["lost", "lost"]
    assert (
        violations(calls, observation({}, since=0, stamp=Stamped("c", "acme..", 1.5, 4))) == []
    )  # they overlap
    assert violations(calls, observation({}, since=0, stamp=Stamped("a", "globex..", 1, 3))) == []


def test_a_half_written_call_is_reported() -> None:
    unknown = [upsert("a", 1, None, {ONE: "x", TWO: "y"})]
    assert violations(unknown, observation({})) == []
    assert violations(unknown, observation({ONE: "x", TWO: "y"})) == []
    assert "half-written" in violations(unknown, observation({ONE: "x"}, since=0))
    over = [*unknown, upsert("c", 3, 4, {TWO: None}, "delete")]
    assert violations(over, observation({ONE: "x"}, since=0)) == []  # deleted since
    half_deleted = [upsert("a", 3, None, {ONE: None, TWO: None}, "delete")]
    assert violations(half_deleted, observation({ONE: "x"}), {ONE: "x", TWO: "y"}) == ["half-written"]


def test_a_value_never_written_or_written_later_is_reported() -> None:
    calls = [upsert("a", 11, 12, {ONE: "x"})]
    assert violations(calls, observation({ONE: "x"})) == ["phantom"]
    assert violations(calls, observation({ONE: "z"})) == ["phantom"]
    assert violations(calls, observation({ONE: "long ago"})) == ["lost"]
    assert violations(calls, observation({ONE: "long ago"}, since=None)) == []


def test_an_erased_value_that_reappears_is_reported() -> None:
    erased = Call("a", 2, "erase", 3, 4, {}, frozenset([PLACE]))
    calls = [upsert("a", 1, 2, {ONE: "x"}), erased]
    assert violations(calls, observation({})) == []
    assert violations(calls, observation({ONE: "x"})) == ["lost"]
    assert violations([*calls, upsert("c", 3.5, 5, {ONE: "z"})], observation({ONE: "z"})) == []


def test_calls_that_overlap_have_any_order() -> None:
    calls = [upsert("a", 1, 4, {ONE: "x", TWO: "x"}), upsert("c", 2, 3, {ONE: "z", TWO: "z"})]
    assert (
        violations(calls, observation({ONE: "x", TWO: "x"}))
        == []
        == violations(calls, observation({ONE: "z", TWO: "z"}))
    )


def test_a_write_that_disappears_after_a_search_saw_it_is_reported() -> None:
    unknown = upsert("a", 1, None, {ONE: "x"})
    early, late = observation({ONE: "x"}, begin=5, since=5), observation({}, begin=10, since=10)
    history = History({}, [unknown])
    assert history.sight([late, early]) == 1
    assert [*history.disagreements(early)] == [] and len([*history.disagreements(late)]) == 1
