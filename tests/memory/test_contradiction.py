"""Contradiction, ends and repetition among statements: a statement that nothing contradicts is never lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay.memory import FactCandidate, Memory, Outcome
from scrubjay.memory.model.cardinality import canonical, is_single
from scrubjay.memory.model.kinds import contradicts, kind_of, says_change
from scrubjay.memory.model.new_facts import UNFELT
from scrubjay.memory.model.predicates import OF_A_KIND, ON_CHANGE, SEVERAL, SINGLE
from scrubjay.memory.model.projection import Statement, in_force, project
from scrubjay.memory.model.voices import says_more
from tests.memory.setting import JANE, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        yield memory


def propose(memory: Memory, content: str, predicate: str, **fields: Any) -> Outcome:
    return memory.propose(FactCandidate(content, "Noor", predicate, **fields), scope=JANE, source="r")


def held(memory: Memory, **when: Any) -> list[str]:
    return sorted(record.text for record in memory.list(JANE, kinds=["fact"], **when))


# ---------------------------------------------------------------------- one value, one of a kind, or several


def test_the_lists_exclude_each_other() -> None:
    assert not SINGLE & SEVERAL and not (OF_A_KIND | ON_CHANGE) & (SINGLE | SEVERAL)


@pytest.mark.parametrize(
    "predicate",
    [
        "livesIn",
        "LIVES_IN",
        "now lives in",
        "is living in",
        "wohnt in",
        "habite à",
        "vive en",
        "abita a",
        "mora em",
        "woont in",
    ],
)
def test_a_predicate_is_known_in_other_spellings_and_languages(predicate: str) -> None:
    assert canonical(predicate) == "lives in" and is_single(predicate)


SINGLE_OUT = (
    "favourite club; current project; default editor; enalapril dose; stand-up time; vpn host; commutes by"
)
SINGLE_OUT += (
    "; weighs; work laptop; Lieblingsverein; plat préféré; âge; arbeitet bei; trabalha em; gate code"
)


@pytest.mark.parametrize("predicate", SINGLE_OUT.split("; "))
def test_predicates_of_one_thing_or_one_measure_are_single_valued(predicate: str) -> None:
    assert is_single(predicate) is True


@pytest.mark.parametrize(
    "predicate", ["favourite films", "free time", "volunteers at", "joins", "former employer"]
)
def test_look_alike_predicates_are_not_single_valued(predicate: str) -> None:
    assert is_single(predicate) is False


BOTH_HOLD = [
    ("born in", "Noor was born in Aleppo", "Noor was born in 1990"),
    ("phone", "Noor's phone is +32 1", "Noor's phone is a Pixel 9"),
    ("drives", "Noor drives a Fiat", "Noor drives her kids to school"),
    ("eats", "Noor eats no pork", "Noor eats breakfast at 7"),
    ("drinks", "Noor drinks espresso in the morning", "Noor drinks rooibos at night"),
    ("is a", "Noor is a vegetarian", "Noor is a nurse"),
    ("doctor", "Dr. Ek is Noor's cardiologist", "Dr. Lund is Noor's eye doctor"),
    ("deadline", "The tax return is due on 31 July", "The grant application is due on 15 August"),
    ("appointment", "Noor has a dentist appointment on 3 June", "Noor has an optician appointment on 9 June"),
    ("plan", "Noor plans to retire at 60", "Noor plans to learn Greek"),
    ("address", "Noor's address for invoices is Rue A 1", "Noor's delivery address is Rue B 2"),
    ("lives in", "Noor lives in Bruges", "Noor moved to Ghent as a child"),
    ("works as", "Noor works as a nurse", "Noor works as a yoga teacher on Sundays"),
]


@pytest.mark.parametrize(("predicate", "first", "second"), BOTH_HOLD)
def test_statements_that_only_resemble_a_contradiction_both_hold(
    memory: Memory, predicate: str, first: str, second: str
) -> None:
    propose(memory, first, predicate)
    assert propose(memory, second, predicate).superseded is None
    assert held(memory) == sorted([first, second])


TAKES_ITS_PLACE = [
    ("flight", "The flight leaves at 9:10", "The flight leaves at 9:40", "9:10", "9:40"),
    ("doctor", "My doctor is Dr Roth", "My doctor is Dr Abel now", "", ""),
    ("phone", "Noor's phone is +32 1", "Noor's phone is +32 2", "", ""),
    ("drinks", "Noor drinks coffee", "Noor switched from coffee to tea", "coffee", "tea"),
    ("drives", "Noor drives a Skoda", "Noor traded the Skoda for a Kia", "Skoda", "Kia"),
]


@pytest.mark.parametrize(("predicate", "first", "second", "old", "new"), TAKES_ITS_PLACE)
def test_a_later_contradicting_statement_supersedes_the_earlier(
    memory: Memory, predicate: str, first: str, second: str, old: str, new: str
) -> None:
    """The order of arrival does not matter if they state their times."""
    one = {"value": old or None, "said_at": "2024-01-01"}
    two = {"value": new or None, "said_at": "2024-02-01"}
    propose(memory, first, predicate, **one)
    assert propose(memory, second, predicate, **two).status == "superseded"
    assert held(memory) == [second] and held(memory, as_of="2024-01-15") == [first]
    memory.forget(JANE)
    propose(memory, second, predicate, **two)
    propose(memory, first, predicate, **one)
    assert held(memory) == [second] and held(memory, as_of="2024-01-15") == [first]


def test_kinds_and_changes() -> None:
    assert [kind_of(one) for one in ("3 May", "2024-05-03", "a@b.example", "40 mg", "Dr. Ek", "the rowing club")] == [
        "date", "date", "address", "number", "name", "",
    ]  # fmt: skip
    for text in (
        "Sie wohnt jetzt in Ulm",
        "Il a déménagé",
        "Se mudó a Vigo",
        "Si è trasferita",
        "Ze is verhuisd",
    ):
        assert says_change(text)
    due = {"known_value": "31 July", "said_value": "15 August"}
    assert not contradicts(
        "The tax return is due on 31 July", "The grant is due on 15 August", "deadline", **due
    )
    assert contradicts(
        "The tax return is due on 31 July", "The tax return is due on 15 August", "deadline", **due
    )
    assert not contradicts("I joined the choir", "I joined the rowing club", "joined")
    assert contradicts(
        "I am in the choir", "I moved from the choir to the band", "joined", known_value="the choir"
    )


# ---------------------------------------------------------------------- predicates that no list knows

IN_ITS_PLACE = [
    ("favours for sketches", "Noor favours Figma", "Noor switched to Sketch", "Figma", "Sketch"),
    ("runs builds on", "Builds run on Jenkins", "From now on builds run on Woodpecker", "Jenkins", "Woodpecker"),
    ("notice period", "Customers wait 14 days", "As of today, tell us 30 days before", "14 days", "30 days"),
    ("installs with", "We install by npm", "We migrated from npm to pnpm", "npm", "pnpm"),
    ("resting pulse", "My resting pulse is low", "My resting pulse is high now", "low", "high"),
    ("phone model", "My phone is a Pixel 6", "I switched to an iPhone 15", "Pixel 6", "iPhone 15"),
    ("savings goal", "I want to save 10,000", "I raised it to 15,000", "10000", "15000"),
    ("expense approver", "Finn approves expenses", "Maja approves expenses", "Finn", "Maja"),
    ("school grade", "Noor is in fourth grade", "Noor is in fifth grade now", "4", "5"),
    ("sprint length", "Sprints last two weeks", "Sprints are three weeks long from now on", "two weeks", "three weeks"),
    ("bedtime", "I go to bed at ten", "These days I go to bed late", "ten", "late"),
    ("cloud provider", "We are on Hetzner", "From 1 June 2024 we are on Exoscale", "Hetzner", "Exoscale"),
    ("on call engineer", "Ines is on call", "Tobias took over on-call", "Ines", "Tobias"),
    ("city of residence", "I live in Izmir", "I moved to Hamburg last weekend", "Izmir", "Hamburg"),
    ("hair colour", "Noor's hair is brown", "Noor dyed her hair red", "brown", "red"),
    ("residing in", "Noor is in Ghent", "Noor has settled in Bruges", "Ghent", "Bruges"),
    ("marathon best", "Noor ran it in 3:58", "Noor ran it in 3:51 now", "3:58", "3:51"),
    ("newsletter wanted", "Noor wants it", "Noor does not want it", "yes", "no"),
]  # fmt: skip


@pytest.mark.parametrize(("predicate", "first", "second", "old", "new"), IN_ITS_PLACE)
def test_a_statement_worded_as_a_replacement_supersedes(
    memory: Memory, predicate: str, first: str, second: str, old: str, new: str
) -> None:
    """The order of arrival does not matter."""
    one = (first, predicate, {"value": old, "said_at": "2024-01-01"})
    two = (second, predicate, {"value": new, "said_at": "2024-06-01"})
    for order in ((one, two), (two, one)):
        for content, named, fields in order:
            propose(memory, content, named, **fields)
        assert held(memory) == [second] and held(memory, as_of="2024-03-01") == [first]
        memory.forget(JANE)


NO_PLACE = [
    ("uses", "I use Figma for design", "I switched to Neovim for coding", "Figma", "Neovim"),
    ("worked with", "I worked with Ana", "I worked with Ben, who took over the tests", "Ana", "Ben"),
    ("has in the hall", "A Hue lamp is in the hall", "A Nest doorbell is in the hall now", "Hue lamp", "Nest"),
    ("branch city", "There is a branch in Rome", "There is a branch in Oslo", "Rome", "Oslo"),
    ("exam date", "The maths exam is on 3 May", "The physics exam is on 9 May", "3 May", "9 May"),
    ("hiking goal", "I want to climb Mont Blanc", "I want to hike the GR20", "Mont Blanc", "GR20"),
    ("streaming provider", "We have Netflix", "We have MUBI", "Netflix", "MUBI"),
    ("swim trainer", "Kim trains me", "Lou trains my swim start", "Kim", "Lou"),
    ("supported browser", "We support Firefox", "Safari is supported now", "Firefox", "Safari"),
    ("client city", "We serve a client in Rome", "Now we serve a client in Oslo", "Rome", "Oslo"),
    ("previous employer", "Noor left Bosch", "Noor left Zeiss", "Bosch", "Zeiss"),
    ("project's name", "I run project Atlas", "Now I run project Orion", "Atlas", "Orion"),
    ("favourite band", "Radiohead is one of my favourite bands", "I adore The National", "Radiohead", "National"),
    ("games won", "Noor won 3 at chess", "Noor now won 5 at go", "3", "5"),
    ("pastime", "I knit", "I row instead of running", "knitting", "rowing"),
    ("pastime", "I also knit", "I switched to rowing", "knitting", "rowing"),
]  # fmt: skip


@pytest.mark.parametrize(("predicate", "first", "second", "old", "new"), NO_PLACE)
def test_a_statement_worded_as_an_addition_supersedes_nothing(
    memory: Memory, predicate: str, first: str, second: str, old: str, new: str
) -> None:
    propose(memory, first, predicate, value=old, said_at="2024-01-01")
    propose(memory, second, predicate, value=new, said_at="2024-06-01")
    assert held(memory) == sorted([first, second])


def test_a_change_ends_only_the_value_it_names_among_several(memory: Memory) -> None:
    for day, tool in enumerate(("Figma", "Slack"), 1):
        propose(memory, f"Noor uses {tool}", "uses", value=tool, said_at=f"2024-01-0{day}")
    propose(memory, "Noor switched to Penpot", "uses", value="Penpot", said_at="2024-02-01")
    assert len(held(memory)) == 3, "it names none of both"
    outcome = propose(memory, "Noor replaced Slack with Matrix", "uses", value="Matrix", said_at="2024-03-01")
    assert outcome.status == "superseded"
    assert held(memory) == ["Noor replaced Slack with Matrix", "Noor switched to Penpot", "Noor uses Figma"]


def test_candidate_and_caller_override_the_wording_about_several_values(memory: Memory) -> None:
    propose(memory, "Noor favours Figma", "favours", value="Figma")
    propose(memory, "Noor switched to Sketch", "favours", value="Sketch", single=False)
    assert len(held(memory)) == 2
    assert not is_single("favours", "Noor switched to Sketch", several=["favours"])
    assert is_single("favours", "Noor switched to Sketch") is None and is_single("favours") is False


def test_a_name_that_begins_like_a_month_is_a_name() -> None:
    names = ("Maja", "Marco", "Jana", "Octavia", "Nova 5", "Mark 2", "Decker", "Setubal", "iPhone")
    assert {kind_of(name) for name in names} == {"name"}
    assert {kind_of(date) for date in ("May", "3 sept.", "4 mars 2024", "maart", "2 mei", "1 Okt")} == {
        "date"
    }


def test_a_temporary_statement_does_not_end_a_permanent_one() -> None:
    usual = Statement("a", "The flight leaves at 9:10", value="9:10", single=None, said_at=1, recorded_at=1)
    other = usual._replace(id="b", text="The flight leaves at 9:40", value="9:40", said_at=2, recorded_at=2)
    usual, other = (one._replace(predicate="flight", given=one.value) for one in (usual, other))
    assert in_force([usual, other], valid_at=3) == ["b"]
    assert in_force([usual, other._replace(valid_until=5)], valid_at=9) == ["a"]


# ---------------------------------------------------------------------- the same value, said otherwise


@pytest.mark.parametrize(
    ("predicate", "value", "first", "second"),
    [
        ("child", "son", "Noor has a son, Ali", "Noor has a son, Karim"),
        ("pet", "dog", "Noor has a dog", "Noor's second dog, Rex, is deaf"),
        ("meeting", "Monday", "Noor meets her tutor every Monday", "Noor meets the book club every Monday"),
        ("allergic to", "nuts", "Noor is allergic to nuts", "Noor is not allergic to nuts"),
    ],
)
def test_the_same_value_of_two_things_is_two_statements(
    memory: Memory, predicate: str, value: str, first: str, second: str
) -> None:
    propose(memory, first, predicate, value=value)
    assert propose(memory, second, predicate, value=value).status == "written"
    assert held(memory) == sorted([first, second])


@pytest.mark.parametrize("predicate", ["lives in", "has a flat in"])
def test_a_more_detailed_statement_supersedes_the_shorter_one(memory: Memory, predicate: str) -> None:
    old = propose(
        memory, "Noor lives in Oslo", predicate, value="Oslo", sensitivity="private", said_at="2024-01-01"
    )
    richer = "Noor lives in Oslo, near the opera"
    new = propose(memory, richer, predicate, value="Oslo", said_at="2024-02-01")
    assert (new.status, new.superseded, new.reason) == ("superseded", old.id, "says more than a known fact")
    assert memory.recall("opera", JANE).texts == [richer] and held(memory) == [richer]
    record: Any = memory.get(new.id or "", scope=JANE)
    assert record.sensitivity == "private", "its class is not lost"
    assert held(memory, as_of="2024-01-15") == ["Noor lives in Oslo"]
    again = propose(memory, "Oslo is where Noor lives", predicate, value="Oslo")
    assert (again.status, again.id) == ("deduplicated", new.id)
    assert propose(memory, "Noor lives in Rome", "lives in", value="Rome").status in ("superseded", "written")
    assert (richer in held(memory)) is (predicate != "lives in"), "another value ends both"


def test_two_that_say_different_things_of_a_single_value_both_hold_until_another_value_begins() -> None:
    opera = Statement(
        "a", "In Oslo, near the opera", value="oslo", single=True, said_at=1, recorded_at=1, given="Oslo"
    )
    floor = opera._replace(id="b", text="In Oslo, on the third floor", said_at=3, recorded_at=3)
    rome = opera._replace(id="c", text="In Rome", value="rome", given="Rome", said_at=5, recorded_at=5)
    held = project([opera, floor, rome])
    assert held["a"].intervals == ((1, 5),) and held["b"].intervals == ((3, 5),) and held["c"].at(5)
    assert project([rome, floor, opera]) == held
    more = opera._replace(id="d", text="In Oslo, near the opera and the harbour", said_at=4, recorded_at=4)
    held = project([opera, more, rome])
    assert held["a"].intervals == ((1, 4),) and held["a"].by == "d" and held["d"].intervals == ((4, 5),)
    assert says_more("Oslo", "Oslo", value="oslo", subject="", predicate="") is False


# ---------------------------------------------------------------------- ends and corrections


def test_an_end_closes_only_the_fact_it_names(memory: Memory) -> None:
    for what in ("nuts", "latex"):
        propose(memory, f"Noor is allergic to {what}", "allergic to")
    assert (
        propose(memory, "Noor's nut allergy is gone", "allergic to", relation="ends").status == "superseded"
    )
    assert held(memory) == ["Noor is allergic to latex", "Noor's nut allergy is gone"]


@pytest.mark.parametrize(
    ("known", "said", "fields"),
    [
        ("Noor takes sertraline", "Noor was taken off sertraline", {"value": "sertraline"}),
        ("Noor takes sertraline", "Noor was taken off sertraline", {}),
        ("Noor takes peanuts along", "That is over", {"value": "peanut"}),
    ],
)
def test_an_end_finds_its_target_by_words(
    memory: Memory, known: str, said: str, fields: dict[str, Any]
) -> None:
    propose(memory, known, "takes", value="peanuts" if "peanuts" in known else None)
    propose(memory, "Noor takes metformin", "takes")
    assert propose(memory, said, "takes", relation="ends", **fields).status == "superseded"
    assert held(memory) == sorted([said, "Noor takes metformin"])


@pytest.mark.parametrize("relation", ["ends", "corrects"])
def test_an_end_or_correction_without_a_target_changes_nothing_and_warns(
    memory: Memory, relation: str, caplog: pytest.LogCaptureFixture
) -> None:
    for what in ("Netflix", "The Economist"):
        propose(memory, f"Noor subscribes to {what}", "subscribes to", value=what)
    with caplog.at_level(logging.WARNING, "scrubjay.memory"):
        outcome = propose(memory, "It was her streaming, really", "subscribes to", relation=relation)
    assert (outcome.status, outcome.reason, outcome.superseded) == ("written", UNFELT[relation], None)
    assert UNFELT[relation] in caplog.text
    assert {"Noor subscribes to Netflix", "Noor subscribes to The Economist"} < set(held(memory))
    alone = propose(memory, "Noor gave up rowing", "rows", relation=relation)
    assert alone.reason == UNFELT[relation]


def test_a_correction_supersedes_the_fact_it_names(memory: Memory) -> None:
    for what in ("walnuts", "kiwi"):
        propose(memory, f"I react to {what}", "food allergy")
    propose(memory, "Sorry, not walnuts: I meant hazelnuts", "food allergy", relation="corrects")
    assert held(memory) == ["I react to kiwi", "Sorry, not walnuts: I meant hazelnuts"]


@pytest.mark.parametrize("predicate", ["--", "?", "\u2026"])
def test_a_predicate_of_signs_alone_is_on_no_list(memory: Memory, predicate: str) -> None:
    assert is_single(predicate) is False
    assert propose(memory, "Noor drinks tea.", predicate)
    assert propose(memory, "Noor reads maps.", predicate)
    assert len(memory.list(JANE)) == 2
