"""Examples from the documents that we promise to implement, as their readers would try them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from scrubjay import Index, Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate, Provenance
from tests.memory.setting import ACME, JANE, JOE

ALLERGIES = [
    "Jane is allergic to penicillin", "Jane is allergic to peanuts", "Jane speaks German", "Jane speaks Italian",
    "Jane has a cat called Miso", "Jane has a dog called Rex", "Jane likes oysters", "Jane likes jazz",
    "Jane plays tennis", "Jane plays the piano",
]  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        yield memory


def say(memory: Memory, content: str, predicate: str = "", scope: Scope = JANE, run: str = "r") -> str:
    subject, _, rest = content.partition(" ")
    words = predicate or " ".join(rest.split()[:-1])
    return memory.propose(FactCandidate(content, subject, words), scope=scope, source=run).status


def test_only_contradicting_facts_supersede(memory: Memory) -> None:
    for content in ALLERGIES:
        assert say(memory, content, content.split()[1]) == "written"
    assert say(memory, "Jane lives in Bergen", "lives in") == "written"
    assert say(memory, "Jane lives in Oslo", "lives in") == "superseded"
    held = {record.text for record in memory.list(JANE, kinds=["fact"])}
    assert held == {*ALLERGIES, "Jane lives in Oslo"}


def test_an_old_fact_that_arrives_late_supersedes_nothing(memory: Memory) -> None:
    say(memory, "Jane lives in Oslo", "lives in")
    then = datetime(2019, 6, 1, tzinfo=timezone.utc)
    late = FactCandidate("In 2019 Jane lived in Berlin", "Jane", "lives in")
    memory.propose(late, scope=JANE, source=Provenance("import", at=then))
    assert [record.text for record in memory.list(JANE)] == ["Jane lives in Oslo"]
    assert [record.text for record in memory.list(JANE, as_of=then)] == ["In 2019 Jane lived in Berlin"]


def test_two_names_of_runs_are_not_two_sources(memory: Memory) -> None:
    for run in ("run-1", "run-2", "run-3"):
        say(memory, "acme ships on Fridays", "ships", ACME, run)
    assert [record.status for record in memory.list(JOE)] == ["provisional"]
    assert (
        not memory.recall("when does acme ship?", JOE)
        and "Fridays" not in memory.assemble("acme ships?", JOE).text
    )
    for who in (JANE, JOE):
        say(memory, "acme ships on Fridays", "ships", who)
    assert [record.text for record in memory.list(Scope("acme", user="ann"))] == ["acme ships on Fridays"]


def test_one_query_joins_a_rule_and_a_wish(memory: Memory) -> None:
    """The guide's join: a policy's minimum confidence, and whether the user allows personalization."""
    memory.policy("fact_retrieval", {"min_confidence": 0.9}, tenant="acme", by="legal")
    memory.prefer("privacy", {"allow_personalization": True}, scope=JANE)
    memory.prefer("privacy", {"allow_personalization": False}, scope=JOE)
    sure = FactCandidate("Jane ships to Oslo", "Jane", "ships to", confidence=0.95)
    unsure = FactCandidate("Jane ships to Bergen, perhaps", "Jane", "ships to", confidence=0.75)
    memory.propose_all([(sure, JANE, "r"), (unsure, JANE, "r")])

    def facts(who: Scope) -> list[str]:
        known = memory.known(who)
        if not known["privacy"].value["allow_personalization"]:
            return []
        least = known["fact_retrieval"].value["min_confidence"]
        return memory.recall("ships", who, filter={"confidence": {"$gte": least}}).texts

    assert facts(JANE) == ["Jane ships to Oslo"] and facts(JOE) == []


def test_policy_and_preference_values_keep_their_types(memory: Memory) -> None:
    memory.policy("refund_limit", {"max_auto_approve_usd": 500}, tenant="acme", type="approval", by="legal")
    memory.prefer("page_size", 25, scope=ACME)  # for the whole tenant
    known = memory.known(JOE)
    assert known["refund_limit"].value["max_auto_approve_usd"] == 500 and known["page_size"].value == 25
    memory.admin.global_policy("disclaimer", "No legal advice.", by="operations")
    assert memory.known(Scope("globex"))["disclaimer"].text == "No legal advice."


def test_an_episode_has_a_title_a_time_and_artifacts(memory: Memory) -> None:
    done = EpisodeCandidate(
        "Rotated the webhook secret.", "resolved", "support_case", ["compared", "redeployed"], {"ticket": "T-17"},
        title="Webhook mismatch", completed_at="2026-03-01T09:30:00Z",
    )  # fmt: skip
    memory.propose(done, scope=ACME, source="r")
    record = memory.recall("webhook", JANE, kinds=["episode"])[0].record
    assert (record.title, record.artifacts["ticket"]) == ("Webhook mismatch", "T-17")  # type: ignore[union-attr]
    assert record.completed_at.date().isoformat() == "2026-03-01"  # type: ignore[union-attr]


def test_facts_are_listed_by_subject_and_by_run(memory: Memory) -> None:
    say(memory, "Jane sails", "hobby", run="r1")
    say(memory, "Ann rows", "hobby", run="r2")
    assert [record.text for record in memory.list(JANE, subject="Jane")] == ["Jane sails"]
    assert [record.text for record in memory.list(JANE, run="r2")] == ["Ann rows"]


def test_one_file_serves_chat_agent_and_human(memory: Memory, tmp_path: Path) -> None:
    memory.index.upsert("n1", "The router in the attic is called Heimdall.", scope=JANE)
    memory.propose(FactCandidate("Jane's ship is called Argo."), scope=JANE, source="r")
    assert memory.recall("router", JANE).texts[0].endswith("Heimdall.")
    assert memory.recall("ship", JANE).texts[0].endswith("Argo.")
    with Index.open(tmp_path / "m.scrubjay") as index:
        assert index.search("Heimdall", scope=JANE).ids == ["n1"]


def test_prompts_say_since_when(memory: Memory) -> None:
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    memory.propose(FactCandidate("Jane lives in Oslo"), scope=JANE, source=Provenance("r", at=at))
    assert "Jane lives in Oslo (since 2026-03-01; " in memory.assemble("where does Jane live?", JANE).text


def test_preferences_of_a_tenant_may_be_proposed(memory: Memory) -> None:
    assert (
        memory.propose(PreferenceCandidate("dates", "DD/MM/YYYY"), scope=ACME, source="r").status == "written"
    )
    assert memory.known(JANE)["dates"].text == "DD/MM/YYYY"
