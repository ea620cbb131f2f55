"""Is every fact and episode of the class that it was given or found to be of, wherever it is read?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory

JANE = Scope("acme", user="jane")


def finder(candidate: Any) -> str | None:
    """Find telephone numbers, and refuse numbers of cards."""
    text = getattr(candidate, "content", None) or candidate.summary
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


def test_what_is_no_classifier_or_class(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="classify: expected a function of a candidate, got str"):
        Memory.open(tmp_path / "m.scrubjay", classify="personal")  # type: ignore[arg-type]
    with Memory.open(tmp_path / "m.scrubjay", classify=lambda candidate: 7) as memory:  # type: ignore[arg-type,return-value]
        refused = memory.propose("Jane sails", scope=JANE, source="r")
        assert not refused and "classify: expected a str" in refused.reason
        with pytest.raises(TypeError, match="sensitivity: expected a str"):
            memory.propose(FactCandidate("x", sensitivity=3), scope=JANE, source="r")  # type: ignore[arg-type]
