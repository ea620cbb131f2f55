"""The projection must keep every statement that was not contradicted, in any order of arrival, at every date."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memory.model.cardinality import is_single
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.predicates import SEVERAL, SINGLE
from scrubjay.memory.model.projection import Statement, Validity, in_force, project

JUDGED = Path(__file__).parents[3] / "shared" / "data" / "memory_truth" / "sequences.jsonl"
days = st.integers(0, 12)


@st.composite
def tellings(draw: st.DrawFn, single: bool) -> list[Statement]:
    """Assertions of one slot with stated times, each said once, on a day of its own."""
    n = draw(st.integers(1, 6))
    said = draw(st.permutations(range(20, 20 + n)))
    told = []
    for i in range(n):
        begin = draw(days)
        lasts = draw(st.none() | st.integers(1, 6))
        value = draw(st.sampled_from("abc"))
        until = None if lasts is None else begin + lasts
        told.append(Statement(f"s{i}", value, "asserts", value, single, said[i], said[i], begin, until))
    return told


def values_at(statements: list[Statement], day: int) -> set[str]:
    """Return the values that hold on a day, by the projection."""
    value = {one.id: one.value for one in statements}
    return {value[id] for id in in_force(statements, valid_at=day)}


def holds(one: Statement, day: int) -> bool:
    """Whether a statement's own dates include a day."""
    assert one.valid_from is not None
    return one.valid_from <= day and (one.valid_until is None or day < one.valid_until)


@given(tellings(single=False))
def test_values_of_a_multi_valued_predicate_hold_on_every_stated_day(told: list[Statement]) -> None:
    for day in range(20):
        assert values_at(told, day) == {one.value for one in told if holds(one, day)}


@given(tellings(single=True))
def test_of_a_single_value_the_statement_that_begins_last_holds(told: list[Statement]) -> None:
    for day in range(20):
        there = [one for one in told if holds(one, day)]
        last = max(there, key=lambda one: (one.valid_from, one.said_at), default=None)
        assert values_at(told, day) == (set() if last is None else {last.value})


@given(st.booleans().flatmap(lambda single: tellings(single=single)), st.randoms())
def test_the_order_of_telling_does_not_matter(told: list[Statement], random: Any) -> None:
    shuffled = list(told)
    random.shuffle(shuffled)
    assert project(shuffled) == project(told)


@given(st.booleans().flatmap(lambda single: tellings(single=single)), st.integers(20, 26))
def test_later_statements_do_not_change_earlier_beliefs(told: list[Statement], known_at: int) -> None:
    then = [one for one in told if one.recorded_at <= known_at]
    assert project(told, known_at=known_at) == project(then)


@given(st.booleans().flatmap(lambda single: tellings(single=single)))
def test_an_end_or_a_correction_without_a_target_changes_nothing(told: list[Statement]) -> None:
    end = Statement("end", "It is over with z.", "ends", "z", said_at=40, recorded_at=40)
    held = project([*told, end])
    assert held.pop("end") == Validity(((40, None),))
    assert held == project(told)
    earlier = Statement("before", "Not z, but z.", "corrects", "z", told[0].single, 1, 1, 0, 1)
    alone = project([earlier])
    assert alone["before"].at(0) and not alone["before"].at(1)


def test_an_end_closes_its_value_and_a_correction_takes_all_of_its_time() -> None:
    cat = Statement("cat", "I have a cat called Momo", value="cat called momo", said_at=1, recorded_at=1)
    dog = Statement("dog", "I have a dog", value="dog", said_at=2, recorded_at=2)
    gone = Statement("gone", "The cat called Momo died", "ends", "", said_at=5, recorded_at=5)
    assert in_force([cat, dog, gone], valid_at=4) == ["cat", "dog"]
    assert in_force([cat, dog, gone], valid_at=5) == ["dog", "gone"]
    assert project([cat, dog, gone])["cat"] == Validity(((1, 5),), "gone")
    porto = Statement("porto", "She lives in Porto", value="porto", single=True, said_at=1, recorded_at=1)
    leeds = Statement("leeds", "Correction: Leeds, not Porto", "corrects", "leeds", True, 6, 6)
    assert in_force([porto, leeds], valid_at=1) == ["leeds"]
    assert in_force([porto, leeds], valid_at=1, known_at=5) == ["porto"]
    assert project([porto, leeds])["porto"] == Validity((), "leeds")


def test_an_interrupted_statement_resumes_and_a_plan_starts_on_its_day() -> None:
    bern = Statement("bern", "in Bern", value="bern", single=True, said_at=1, recorded_at=1)
    oslo = Statement(
        "oslo", "in Oslo until 5", value="oslo", single=True, said_at=3, recorded_at=3, valid_until=5
    )
    assert project([bern, oslo])["bern"].intervals == ((1, 3), (5, None))
    someday = Statement("someday", "perhaps Rome", "plans", "rome", True, 6, 6)
    soon = Statement("soon", "to Riga on 9", "plans", "riga", True, 6, 6, valid_from=9)
    every = [bern, oslo, someday, soon]
    assert in_force(every, valid_at=8) == [
        "bern",
        "someday",
        "soon",
    ]  # plans, which end nothing before their day
    assert in_force(every, valid_at=9) == ["someday", "soon"] and in_force(every, valid_at=5) == ["bern"]


def test_a_statement_said_again_returns_after_what_came_between() -> None:
    first = Statement("a", "vegan", value="vegan", single=True, said_at=1, recorded_at=1, affirmed=((9, 9),))
    other = Statement("b", "omnivore", value="omnivore", single=True, said_at=4, recorded_at=4)
    assert project([first, other])["a"].intervals == ((1, 4), (9, None))
    assert in_force([first, other], valid_at=9, known_at=8) == ["b"]


@given(st.booleans(), st.permutations([1, 4, 9]))
def test_restatements_give_the_same_result_in_any_order(single: bool, days: list[int]) -> None:
    """The first statement stands for all, whichever arrived first; the others affirm it."""
    at, *again = days
    said = Statement(
        "s",
        "vegan",
        value="vegan",
        single=single,
        said_at=at,
        recorded_at=at,
        affirmed=tuple(zip(again, again, strict=True)),
    )
    other = Statement("other", "omnivore", value="omnivore", single=single, said_at=6, recorded_at=6)
    assert values_at([said], 0) == set() and values_at([said], 1) == values_at([said], 9) == {"vegan"}
    assert values_at([said, other], 6) == ({"omnivore"} if single else {"vegan", "omnivore"})
    assert values_at([said, other], 9) == ({"vegan"} if single else {"vegan", "omnivore"})


def test_an_end_holds_until_its_value_is_stated_again() -> None:
    job = Statement("job", "works at the library", value="library", single=True, said_at=1, recorded_at=1)
    quit = Statement("quit", "quit at the library", "ends", "library", True, 5, 5)
    new = Statement("new", "works at the mill", value="mill", single=True, said_at=9, recorded_at=9)
    held = project([job, quit, new])
    assert held["quit"] == Validity(((5, 9),), "new") and held["job"] == Validity(((1, 5),), "quit")
    assert in_force([job, quit], valid_at=20) == ["quit"]
    cat = Statement("cat", "has a cat", value="cat", said_at=1, recorded_at=1)
    gone = Statement("gone", "gave the cat away", "ends", "cat", said_at=3, recorded_at=3)
    dog = Statement("dog", "has a dog", value="dog", said_at=4, recorded_at=4)
    again = Statement("again", "has a cat again", value="cat", said_at=7, recorded_at=7)
    assert in_force([cat, gone, dog, again], valid_at=6) == ["gone", "dog"]
    assert in_force([cat, gone, dog, again], valid_at=8) == ["dog", "again"]


def test_a_statement_of_another_slot_may_replace() -> None:
    tea = Statement("tea", "likes tea", value="tea", said_at=1, recorded_at=1)
    mate = Statement("mate", "dislikes tea", value="tea", said_at=4, recorded_at=4, replaces=("tea",))
    assert project([tea], others=[mate]) == {"tea": Validity(((1, 4),), "mate")}
    assert project([tea], others=[mate], known_at=3) == {"tea": Validity(((1, None),))}


def test_withdrawn_and_replaced_statements_are_not_in_force() -> None:
    rome = Statement("rome", "Rome", value="rome", said_at=1, recorded_at=1, withdrawn_at=7)
    assert in_force([rome], valid_at=6) == [] and in_force([rome], valid_at=6, known_at=6) == ["rome"]
    tea = Statement("tea", "tea", value="tea", said_at=1, recorded_at=1)
    mate = Statement("mate", "mate", value="mate", said_at=4, recorded_at=4, replaces=("tea",))
    assert project([tea, mate])["tea"] == Validity(((1, 4),), "mate")


def test_the_lists_of_predicates() -> None:
    assert not {one.strip() for one in SINGLE} & {one.strip() for one in SEVERAL} - {""}
    for several in ("allergic to", "pet", "hobby", "something that nobody listed", ""):
        assert not is_single(several)
    for one in ("lives in", "Lives_In", "job title", "work phone", "age"):
        assert is_single(one)
    assert not is_single("lives in", several=["lives in"]) and is_single("club", single=["club"])


@pytest.mark.skipif(not JUDGED.exists(), reason="the judged sequences are not here")
@pytest.mark.parametrize("told", [True, False])
def test_judged_sequences(told: bool) -> None:
    """At least 98% of what holds is in force, and at most 2% (10% where cardinality is not stated) of what does not."""
    counts = {(tag, want): [0, 0] for tag in ("end", "date") for want in ("true", "false")}
    for line in JUDGED.read_text().splitlines():
        sequence = json.loads(line)
        slots: dict[Any, list[Statement]] = {}
        for number, one in enumerate(sequence["statements"]):
            single = one["cardinality"] == "one" if told else is_single(one["slot"], one["text"])
            slots.setdefault((one["level"], one["subject"], one["slot"]), []).append(
                _statement(one, number, single)
            )
        states = [("end", sequence["now"], sequence["at_end"])]
        states += [("date", state["date"], state) for state in sequence["at_dates"]]
        for tag, date, state in states:
            found = set()
            for statements in slots.values():
                found |= _kept(statements, _moment(date))
            for want in ("true", "false"):
                for id in state[want]:
                    counts[tag, want][id in found] += 1
    for tag in ("end", "date"):
        absent, present = counts[tag, "true"]
        assert present >= 0.98 * (absent + present), counts
        absent, present = counts[tag, "false"]
        assert present <= (0.02 if told else 0.10) * (absent + present), counts


def _kept(statements: list[Statement], moment: int) -> set[str]:
    """Return the statements in force, and those that repeat one in force."""
    held = project(statements)
    there = {one.id: one for one in statements if held[one.id].at(moment)}
    again = {
        one.id
        for one in statements
        if one.relation != "ends"
        and (by := there.get(held[one.id].by or ""))
        and (by.value, by.relation == "ends") == (one.value, False)
        and (one.said_at if one.valid_from is None else one.valid_from) <= moment
    }
    return again | there.keys()


def _moment(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


def _statement(one: dict[str, Any], number: int, single: bool) -> Statement:
    relation = {"end": "ends", "correct": "corrects", "plan": "plans"}.get(one["op"], "asserts")
    begin, until = (None if one[name] is None else _moment(one[name]) for name in ("valid_from", "valid_to"))
    value = normalised(str(one["value"]))
    return Statement(
        one["id"], one["text"], relation, value, single, _moment(one["said_at"]), number, begin, until
    )
