"""Every record must have the sensitivity that was given or found, wherever it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PolicyCandidate, PreferenceCandidate

JANE = Scope("acme", user="jane")


def finder(candidate: Any) -> str | None:
    """Classify telephone numbers, and refuse card numbers."""
    text = candidate.text
    if re.search(r"\d{4} \d{4} \d{4} \d{4}", text):
        raise ValueError("the number of a card is not to be kept")
    return "personal" if re.search(r"\+\d{6,}", text) else None


def test_a_class_is_kept_searched_by_and_explained(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", classify=finder) as memory:
        memory.propose("Jane's number is +4712345678", scope=JANE, source="r")
        memory.propose(FactCandidate("Jane's number is secret", sensitivity="secret"), scope=JANE, source="r")
        memory.propose(EpisodeCandidate("Called +4712345678", "success"), scope=JANE, source="r")
        memory.propose("Jane's number has eight digits", scope=JANE, source="r")
        found = {hit.text: hit.record.sensitivity for hit in memory.recall("number called", JANE)}  # type: ignore[union-attr]
        assert found == {
            "Jane's number is +4712345678": "personal",
            "Jane's number is secret": "secret",
            "Called +4712345678": "personal",
            "Jane's number has eight digits": "",
        }
        hidden = {"$not": {"sensitivity": {"$in": ["personal", "secret"]}}}
        assert memory.recall("number called", JANE, filter=hidden).texts == ["Jane's number has eight digits"]
        refused = memory.propose("Jane's card is 1234 5678 9012 3456", scope=JANE, source="r")
        assert not refused and refused.reason == "classify: the number of a card is not to be kept"


def test_a_class_is_not_lost(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        id = str(memory.propose(FactCandidate("Jane is ill", "Jane", "health"), scope=JANE, source="r").id)
        ill = FactCandidate("Jane is ill", "Jane", "health", sensitivity="health")
        assert memory.propose(ill, scope=JANE, source="r").status == "deduplicated"
        for said in ({}, {"value": "ill"}, {"sensitivity": "other"}):
            memory.propose(FactCandidate("Jane is ill", "Jane", "health", **said), scope=JANE, source="r")  # type: ignore[arg-type]
            [fact] = memory.list(JANE, kinds=["fact"])
            assert fact.sensitivity == "health"  # type: ignore[union-attr]
        assert fact.value == "ill"  # type: ignore[union-attr]
        assert memory.update(id, scope=JANE, content="Jane was ill").sensitivity == "health"  # type: ignore[union-attr]
        assert memory.update(id, scope=JANE, sensitivity="").sensitivity == ""  # type: ignore[union-attr]
        assert memory.admin.check() == []


def test_invalid_classifiers_and_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="classify: expected a function of a candidate, got str"):
        Memory.open(tmp_path / "m.scrubjay", classify="personal")  # type: ignore[arg-type]
    with Memory.open(tmp_path / "m.scrubjay", classify=lambda candidate: 7) as memory:  # type: ignore[arg-type,return-value]
        refused = memory.propose("Jane sails", scope=JANE, source="r")
        assert not refused and "classify: expected a str" in refused.reason
        with pytest.raises(TypeError, match="sensitivity: expected a str"):
            memory.propose(FactCandidate("x", sensitivity=3), scope=JANE, source="r")  # type: ignore[arg-type]


ACME, JOE = Scope("acme"), Scope("acme", user="joe")
CLASSES = {"secret": "policy", "personal": "preference", "health": "fact", "work": "episode"}


def write_each_kind(memory: Memory) -> dict[str, str]:
    """Write a record of each kind with a class of its own, and one without; return the ids by class."""
    made = {
        "secret": memory.policy(
            "codes", "The door code is 4711.", tenant="acme", by="b", sensitivity="secret"
        ),
        "personal": memory.prefer("call", "Call her on +4712.", scope=JANE, sensitivity="personal"),
        "health": memory.propose(
            FactCandidate("Jane is allergic to nuts", sensitivity="health"), JANE, source="r"
        ),
        "work": memory.propose(
            EpisodeCandidate("Booked Jane nuts", "success", sensitivity="work"), JANE, "r"
        ),
    }
    memory.policy("tone", "Be kind.", tenant="acme", by="b")
    memory.prefer("style", "Short.", scope=JANE)
    memory.propose("Jane sells nuts", scope=JANE, source="r")
    memory.index.upsert("n1", "a note of nuts", scope=JANE, metadata={"sensitivity": "health"})
    return {name: str(outcome.id) for name, outcome in made.items()}


def test_every_kind_has_a_class_and_can_be_left_out(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        ids = write_each_kind(memory)
        for name, kind in CLASSES.items():
            record = memory.get(ids[name], scope=JANE)
            assert record is not None and (record.kind, record.sensitivity) == (kind, name)
            left = memory.list(JANE, without=[name])
            assert {one.id for one in memory.list(JANE)} - {one.id for one in left} == {ids[name]}
        everything = memory.assemble("nuts", JANE, floor="none")
        for text in ("4711", "+4712", "allergic", "Booked", "a note"):
            assert text in everything.text
        some = memory.assemble("nuts", JANE, floor="none", without=[*CLASSES])
        for text in ("4711", "+4712", "allergic", "Booked", "a note"):
            assert text not in some.text
        assert "Be kind." in some.text and "Short." in some.text and "sells nuts" in some.text
        assert {(ids["secret"], "sensitive"), (ids["personal"], "sensitive")} <= set(some.trace.dropped)
        assert memory.assemble("nuts", JANE, floor="none").text == everything.text  # nothing was cached
        assert [one.key for one in memory.known(JANE, without=("secret",)).policies] == ["tone"]
        assert [one.key for one in memory.known(JANE, without=["personal"]).preferences] == ["style"]
        assert len(memory.known(JANE, without=["else"])) == len(memory.known(JANE)) == 4
        assert memory.recall("nuts", JANE, without=["health", "work"]).texts == ["Jane sells nuts"]
        kept = memory.recall("nuts", JANE, without=["health"], filter={"kind": "episode"}).texts
        assert kept == ["Booked Jane nuts"]
        for call in (memory.known, memory.list, lambda scope, **o: memory.recall("nuts", scope, **o)):
            with pytest.raises(TypeError, match="without: expected a sequence of classes, got str"):
                call(JANE, without="secret")  # type: ignore[operator]
            with pytest.raises(ValueError, match="without: expected names of classes"):
                call(JANE, without=[""])  # type: ignore[operator]


def test_a_withheld_preference_does_not_expose_the_one_it_overrides(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        memory.prefer("call", "Call the desk.", scope=ACME)
        memory.prefer("call", "Call her on +4712.", scope=JANE, sensitivity="personal")
        assert not memory.known(JANE, without=["personal"]).preferences
        assert memory.known(JOE, without=["personal"])["call"].text == "Call the desk."


def test_a_class_of_a_wish_or_rule_is_not_lost(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        first = memory.prefer("call", "Call her on +4712.", scope=JANE)
        again = memory.prefer("call", "Call her on +4712.", scope=JANE, sensitivity="personal")
        assert (again.status, again.id) == ("deduplicated", first.id)
        assert memory.known(JANE)["call"].sensitivity == "personal"
        assert memory.prefer("call", "call her on +4712.", scope=JANE).status == "deduplicated"
        assert memory.known(JANE)["call"].sensitivity == "personal"
        other = memory.prefer("call", "Call her on +4712.", scope=JANE, sensitivity="secret")
        assert other.status == "superseded" and memory.known(JANE)["call"].sensitivity == "secret"
        changed = memory.update(str(other.id), scope=JANE, text="Call her on +4713.")
        assert changed.sensitivity == "secret"
        assert memory.update(str(other.id), scope=JANE, sensitivity="").sensitivity == ""
        rule = memory.policy("codes", "4711", tenant="acme", by="b", sensitivity="secret")
        assert memory.policy("codes", "4711", tenant="acme", by="b").id == rule.id
        plain = memory.policy("tone", "Be kind.", tenant="acme", by="b")
        classed = memory.policy("tone", "Be kind.", tenant="acme", by="b", sensitivity="internal")
        assert classed.id != plain.id and memory.known(JANE)["tone"].sensitivity == "internal"
        wide = memory.admin.global_policy("codes2", "4712", by="ops", sensitivity="secret")
        assert memory.known(JOE)["codes2"].sensitivity == "secret" and wide.active
        assert [event.action for event in memory.feed.changes(scope=JANE) if event.record == first.id] == [
            "proposed",
            "restated",
            "superseded",
        ]
        assert memory.admin.check() == []


def test_a_finder_sees_wishes_and_rules(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", classify=finder) as memory:
        memory.prefer("call", "Call +4712345678.", scope=JANE)
        memory.policy("desk", "The desk is +4787654321.", tenant="acme", by="b")
        memory.propose(PreferenceCandidate("fax", "Fax +4712345679.", sensitivity="fax"), JANE, "r")
        known = memory.known(JANE)
        assert [known[key].sensitivity for key in ("call", "desk", "fax")] == ["personal", "personal", "fax"]
        refused = memory.propose(PreferenceCandidate("card", "Use 1234 5678 9012 3456"), JANE, source="r")
        assert not refused and refused.reason == "classify: the number of a card is not to be kept"
        refused = memory.propose(PolicyCandidate("card", "Use 1234 5678 9012 3456"), JANE, source="r")
        assert not refused


def test_classes_go_through_files(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        write_each_kind(memory)
        memory.files.export(tmp_path / "acme.jsonl", scope=ACME)
        memory.files.export_markdown(tmp_path / "jane.md", scope=JANE)
        edited = (tmp_path / "jane.md").read_text().replace("Call her on +4712.", "Call her on +4799.")
        (tmp_path / "jane.md").write_text(edited)
        assert memory.files.import_markdown(tmp_path / "jane.md", scope=JANE).updated
        assert memory.known(JANE)["call"].sensitivity == "personal"
    with Memory.open(tmp_path / "n.scrubjay") as memory:
        memory.files.import_(tmp_path / "acme.jsonl", scope=ACME)
        assert {one.sensitivity for one in memory.list(JANE)} == {"", *CLASSES}
