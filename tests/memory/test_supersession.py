"""A contradicting fact replaces the old one: at once, for all readers, and no reader ever sees both or neither."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import DefaultJudge, Fact, FactCandidate, Memory, Outcome
from tests.memory.setting import (
    ACME,
    JANE,
    JANES_CODER,
    JOE,
    Clock,
    by_ann,
    lives,
    open_memory,
    row_count,
    texts,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        yield memory


def fact(memory: Memory, id: str | None, scope: Scope = JANE) -> Fact:
    record = memory.get(id or "", scope=scope, hidden=True)
    assert isinstance(record, Fact)
    return record


def test_the_new_fact_takes_the_place_of_the_old(memory: Memory) -> None:
    old = lives(memory, "Oslo")
    memory.recall("lives", JANE)  # fills the caches
    new = lives(memory, "Rome", run="r2")
    assert (new.status, new.superseded) == ("superseded", old.id)
    assert texts(memory, "lives", JANE) == ["Jane lives in Rome"]
    assert len(memory.recall("Oslo", JANE)) == 0
    assert (fact(memory, old.id).status, fact(memory, old.id).superseded_by) == ("superseded", new.id)
    assert fact(memory, new.id).status == "active"
    assert memory.admin.check() == [] and memory.documents.admin.check().clean
    why = memory.why(new.id or "", scope=JANE)
    assert why is not None and why.supersedes == (old.id,) and [e.action for e in why.events] == ["written"]
    before = memory.why(old.id or "", scope=JANE)
    assert before is not None and before.superseded_by == new.id
    assert [(e.action, e.detail) for e in before.events] == [("written", None), ("superseded", new.id)]


def test_a_value_that_returns_is_a_new_statement(memory: Memory) -> None:
    ids = [lives(memory, where).id for where in ("Oslo", "Rome", "Oslo", "Rome")]
    assert len(set(ids)) == 4
    assert texts(memory, "lives", JANE) == ["Jane lives in Rome"]
    held = [one.content for one in memory.history("Jane", "lives in", JANE) if one.status == "active"]
    assert held == ["Jane lives in Rome"] and len(memory.history("Jane", "lives in", JANE)) == 4


@pytest.mark.parametrize(
    ("subject", "predicate", "contradicts"),
    [
        ("jane", "LIVES  in", True),
        ("Jane", "lived in", False),
        ("Ann", "lives in", False),
        ("", "lives in", False),
        ("Jane", "", False),
    ],
)
def test_only_the_same_subject_and_predicate_contradict(
    memory: Memory, subject: str, predicate: str, contradicts: bool
) -> None:
    lives(memory, "Oslo")
    outcome = memory.propose(FactCandidate("It is Rome", subject, predicate), scope=JANE, source="r2")
    assert outcome.status == ("superseded" if contradicts else "written")
    assert len(memory.recall("Oslo Rome", JANE)) == (1 if contradicts else 2)


@pytest.mark.parametrize("other", [JOE, JANES_CODER, Scope("globex", user="jane")])
def test_another_scope_is_not_contradicted(memory: Memory, other: Scope) -> None:
    lives(memory, "Oslo")
    assert lives(memory, "Rome", scope=other).status == "written"
    assert texts(memory, "lives", JANE) == ["Jane lives in Oslo"]


def test_ended_facts_are_not_superseded(tmp_path: Path) -> None:
    clock = Clock()
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        old = lives(memory, "Oslo")
        memory.revoke(old.id or "", reason="wrong", scope=JANE)
        assert lives(memory, "Rome").status == "written"
        assert fact(memory, old.id).status == "revoked"


def test_a_judge_may_let_both_stand(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", judge=DefaultJudge(several=["Lives in"])) as memory:
        lives(memory, "Oslo")
        assert lives(memory, "Rome").status == "written"
        assert len(memory.recall("lives", JANE)) == 2
    for name in ("several", "single"):
        with pytest.raises(TypeError, match=f"{name}: expected a collection of str, got one str"):
            DefaultJudge(**{name: "likes"})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"{name}: a predicate: expected a str, got int"):
            DefaultJudge(**{name: [3]})  # type: ignore[arg-type,list-item]
    with pytest.raises(ValueError, match="single: expected other predicates than in several, got 'likes'"):
        DefaultJudge(["Likes", "owns"], ["likes"])


def allergic(memory: Memory, what: str, predicate: str = "allergic to", **options: Any) -> Outcome:
    candidate = FactCandidate(f"Jane is allergic to {what}", "Jane", predicate, **options)
    return memory.propose(candidate, scope=JANE, source="r")


@pytest.mark.parametrize("predicate", ["allergic to", "allergy", "is_allergic_to", "reacts to"])
def test_statements_of_a_predicate_with_several_values_all_hold(memory: Memory, predicate: str) -> None:
    """Predicates have several values unless something says otherwise, including unlisted predicates."""
    said = [allergic(memory, what, predicate).status for what in ("penicillin", "peanuts", "cats", "cats")]
    assert said == ["written", "written", "written", "deduplicated"]
    assert len(texts(memory, "allergic", JANE)) == 3


def test_a_candidate_says_whether_its_predicate_is_single(memory: Memory) -> None:
    first, second = (allergic(memory, what, single=True) for what in ("penicillin", "peanuts"))
    assert (second.status, second.superseded) == ("superseded", first.id)
    assert lives(memory, "Oslo").status == lives(memory, "Rome", single=False).status == "written"
    assert len(texts(memory, "lives", JANE)) == 2
    with pytest.raises(TypeError, match="single: expected a bool or None, got str"):
        allergic(memory, "cats", single="yes")


@pytest.mark.parametrize(
    "predicate", ["works at", "Works_At", "age", "current plan", "is married to", "employer"]
)
def test_predicates_with_one_value_are_known(memory: Memory, predicate: str) -> None:
    first = memory.propose(FactCandidate("It is 31", "Jane", predicate), scope=JANE, source="r1")
    second = memory.propose(FactCandidate("It is 32", "Jane", predicate), scope=JANE, source="r2")
    assert (second.status, second.superseded) == ("superseded", first.id)
    also = memory.propose(FactCandidate("She also has 33", "Jane", predicate), scope=JANE, source="r3")
    assert also.status == "written", "it says that it adds to what is known"


def test_a_judge_of_ones_own_may_find_several_contradictions(tmp_path: Path) -> None:
    class Moody:
        strict = False

        def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
            return self.strict and known.content.endswith(("Oslo", "Rome"))

    judge = Moody()
    with open_memory(tmp_path / "m.scrubjay", judge=judge) as memory:
        old = [lives(memory, where) for where in ("Oslo", "Rome", "Lima")]
        judge.strict = True
        new = lives(memory, "Bern")
        assert (new.status, new.superseded) == ("superseded", old[0].id)
        assert [fact(memory, one.id).superseded_by for one in old] == [new.id, new.id, None]
        assert texts(memory, "lives", JANE) == ["Jane lives in Bern", "Jane lives in Lima"]
        assert memory.documents.admin.check().clean
    with pytest.raises(TypeError, match="judge: expected an object with contradicts"):
        open_memory(tmp_path / "m.scrubjay", judge=3)


def test_the_judge_is_called_outside_of_the_write_lock(tmp_path: Path) -> None:
    """Another thread writes while the judge works; its facts are judged as well."""
    with open_memory(tmp_path / "m.scrubjay", busy_timeout=0) as memory:
        asked: list[str] = []

        class Slow:
            def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
                if not asked:
                    asked.append(known.content)
                    thread = threading.Thread(target=lives, args=(memory, "Lima"))
                    thread.start()
                    thread.join()
                asked.append(known.content)
                return True

        lives(memory, "Oslo")
        memory._parts.context.judge = Slow()
        assert lives(memory, "Rome").status == "superseded"
        assert texts(memory, "lives", JANE) == ["Jane lives in Rome"]
        assert "Jane lives in Lima" in asked


def test_an_update_contradicts_as_well(memory: Memory) -> None:
    lives(memory, "Oslo")
    other = memory.propose(FactCandidate("Jane sails", "Jane", "sails"), scope=JANE, source="r1")
    memory.update(other.id or "", scope=JANE, content="Jane lives in Rome", predicate="lives in")
    assert texts(memory, "Jane", JANE) == ["Jane lives in Rome"]
    assert memory.documents.admin.check().clean


# ---------------------------------------------------------------------- both or neither


@pytest.mark.parametrize("where", ["thread", "process"])
def test_every_search_sees_exactly_one_of_two_contradicting_facts(tmp_path: Path, where: str) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        lives(memory, "place 0")
        done = threading.Event()
        wrong: list[list[str]] = []
        n_looks = [0, 0, 0]

        def look(number: int) -> None:
            while not done.is_set():
                found = memory.recall("lives", JANE)
                n_looks[number] += 1
                if len(found) != 1:
                    wrong.append([hit.text for hit in found])

        lookers = [threading.Thread(target=look, args=(number,)) for number in range(3)]
        for looker in lookers:
            looker.start()
        if where == "thread":
            move(memory)
        else:
            code = "import sys; from pathlib import Path; from tests.memory.test_supersession import move; "
            code += f"from tests.memory.setting import open_memory; move(open_memory(Path({str(path)!r})))"
            subprocess.run([sys.executable, "-c", code], check=True)
        done.set()
        for looker in lookers:
            looker.join()
        assert wrong == [] and min(n_looks) > 10
        newest = ["Jane lives in place 60"]
        last = time.monotonic() + 5  # writes of other processes to a database are seen within `max_stale`
        while texts(memory, "lives", JANE) != newest and time.monotonic() < last:
            time.sleep(0.02)
        assert texts(memory, "lives", JANE) == newest
        assert row_count(memory, "memory_fact", "status = 'active'") == 1


def move(memory: Memory, n: int = 60) -> None:
    """Let one fact supersede the other, n times."""
    for i in range(1, n + 1):
        assert lives(memory, f"place {i}", run=f"r{i}").status == "superseded"


def test_superseding_several_facts_is_one_step_for_searches(tmp_path: Path) -> None:
    """Two old facts, two documents: the engine needs two steps, searches see one."""

    class Strict:
        strict = True

        def contradicts(self, known: Any, candidate: Any) -> bool:
            return self.strict

    judge = Strict()
    with open_memory(tmp_path / "m.scrubjay", judge=judge) as memory:
        done = threading.Event()
        wrong: list[int] = []

        def look() -> None:
            before = 0
            while not done.is_set():
                n = len(memory.recall("lives", JANE))
                if n not in (1, 2) and before:
                    wrong.append(n)
                before = n

        lookers = [threading.Thread(target=look) for _ in range(2)]
        lives(memory, "place 0")
        for looker in lookers:
            looker.start()
        for i in range(1, 60):
            judge.strict = False
            lives(memory, f"place {i} a")
            judge.strict = True
            lives(memory, f"place {i}")
        done.set()
        for looker in lookers:
            looker.join()
        assert wrong == []
        assert texts(memory, "lives", JANE) == ["Jane lives in place 59"]


def test_promotion_and_confirmation_survive_reopening(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    ships = FactCandidate("Acme ships on Fridays", "acme", "ships")
    with open_memory(path) as memory:
        memory.propose(ships, scope=ACME, source="r1")
    with open_memory(path) as memory:
        assert memory.propose(ships, scope=ACME, source=by_ann("r2")).active
    with open_memory(path) as memory:
        assert texts(memory, "ships", JOE) == ["Acme ships on Fridays"]
