"""A prompt must be empty if nothing answers the question, and contain the answer otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Relevance, Retriever, Scope, embedders
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.read.prompt_lines import over_floor
from scrubjay.memory.read.prompt_parts import Turn
from scrubjay.retrieval.rewriting import Conversation
from tests.memory.setting import ACME, JANE, open_memory

FACTS = [
    "Jane lives in Oslo.",
    "Jane prefers trains to planes.",
    "The staging environment's API key starts with sk-stg-0041.",
    "The production database is in us-east-1.",
    "Jane is allergic to peanuts.",
    "The fiscal year starts on April 1.",
    "Jane's manager is Priya Raman.",
    "The deploy pipeline runs on Jenkins.",
    "Jane drinks oat milk in her coffee.",
    "The on-call rotation changes every Monday.",
]
ANSWERED = {
    "Where does Jane live?": "Oslo",
    "What API key prefix did I use for the staging environment?": "sk-stg-0041",
    "sk-stg-0041": "sk-stg-0041",
    "Who is Jane's manager?": "Priya",
    "When does the fiscal year start?": "April 1",
    "What is Jane allergic to?": "peanuts",
}
UNANSWERED = ["zebra ballet quantum", "what is my blood type?", "asdf qwer zxcv", "hello"]


@pytest.fixture(params=["hybrid", "lexical"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    embedder = embedders.default() if request.param == "hybrid" else None
    with open_memory(tmp_path / "m.scrubjay", embedder=embedder) as memory:
        memory.propose_all([(FactCandidate(text), JANE, "r") for text in FACTS])
        yield memory


@pytest.mark.parametrize("question", UNANSWERED)
def test_a_question_without_relevant_facts_gives_an_empty_prompt(memory: Memory, question: str) -> None:
    """The row's own example (floor.py): 20 memories, 995 tokens of noise."""
    made = memory.assemble(question, JANE)
    assert made.text == "" and made.trace.tokens["total"] == 0
    recalled = memory.recall(question, JANE, k=20)
    assert recalled.relevance in ("none", "low") and made.trace.relevance == recalled.relevance
    assert made.trace.dropped == tuple((hit.id, "below_floor") for hit in recalled)


@pytest.mark.parametrize(("question", "answer"), ANSWERED.items())
def test_relevant_facts_are_in_the_prompt(memory: Memory, question: str, answer: str) -> None:
    made = memory.assemble(question, JANE)
    assert answer in made.text
    assert made.trace.relevance in ("standard", "high")
    assert len(made.ids("memories")) < len(FACTS)


def test_the_floor_can_be_lowered_raised_and_turned_off(memory: Memory) -> None:
    question = "Where does Jane live?"
    n_in = {
        floor: len(memory.assemble(question, JANE, floor=floor).ids("memories"))
        for floor in ("none", "low", "standard", "high")
    }
    recalled = memory.recall(question, JANE, k=20)
    assert n_in["none"] == len(recalled)
    assert n_in["low"] == n_in["standard"] == sum(hit.relevance != "none" for hit in recalled)
    assert memory.assemble("zebra ballet quantum", JANE, floor="high").text == ""
    for text, error in (("some", ValueError), (None, TypeError)):
        with pytest.raises(error, match="floor: expected"):
            memory.assemble(question, JANE, floor=text)  # type: ignore[arg-type]


class _Found:
    def __init__(self, relevance: str) -> None:
        self.relevance = relevance


@pytest.mark.parametrize(
    ("tiers", "floor", "n_inside"),
    [
        (["high", "low", "none"], "standard", 2),
        (["low", "high", "none"], "high", 2),  # the most relevant record need not be first
        (["standard", "low"], "high", 0),
        (["low", "low", "none"], "standard", 0),
        (["low", "none"], "low", 1),
        (["none"], "low", 0),
        (["none", "none"], "none", 2),
        ([], "standard", 0),
    ],
)
def test_a_relevant_best_hit_admits_hits_of_low_relevance(
    tiers: list[str], floor: str, n_inside: int
) -> None:
    hits: Any = [_Found(tier) for tier in tiers]
    inside, outside = over_floor(hits, floor)
    assert len(inside) == n_inside and len(inside) + len(outside) == len(hits)
    assert [hit for hit in hits if hit in inside] == list(inside)


def test_recall_says_how_relevant_each_is_and_takes_the_least(memory: Memory) -> None:
    found = memory.recall("Where does Jane live?", JANE)
    assert found.relevance == found[0].relevance == found[0].tier == "high"
    parts = found[0].hit.relevance_parts
    assert parts.tier == "high" and parts.information == 1.0 and parts.n_documents == len(FACTS)
    for least in ("low", "standard", "high"):
        kept = memory.recall("Where does Jane live?", JANE, relevance=least)
        order = ("none", "low", "standard", "high")
        assert kept.ids == [hit.id for hit in found if order.index(hit.relevance) >= order.index(least)]
    assert memory.recall("Where does Jane live?", JANE, relevance="none").ids == found.ids
    bounds = Relevance("low", low=(2.0, 0.5), standard=(2.0, 2.0), high=(2.0, 2.0))
    assert "Jane lives in Oslo." in memory.recall("Where does Jane live?", JANE, relevance=bounds).texts
    with pytest.raises(ValueError, match="relevance: expected one of none, low"):
        memory.recall("Jane", JANE, relevance="any")


def test_documents_of_other_scopes_do_not_change_relevance(memory: Memory) -> None:
    before = [hit.hit.relevance_parts for hit in memory.recall("Where does Jane live?", JANE)]
    other = Scope("globex", user="jane")
    memory.propose_all([(FactCandidate(f"Jane lives in {n}."), other, "r") for n in range(50)])
    assert [hit.hit.relevance_parts for hit in memory.recall("Where does Jane live?", JANE)] == before


def test_best_first_and_last(memory: Memory) -> None:
    plain = memory.assemble("Where does Jane live, and who is her manager?", JANE, floor="none")
    edged = memory.assemble("Where does Jane live, and who is her manager?", JANE, floor="none", edges=True)
    best_first = plain.ids("memories")
    assert edged.ids("memories") == (*best_first[::2], *best_first[1::2][::-1])
    assert "# Memories (most relevant first and last)\n" in edged.text
    assert sorted(plain.text.splitlines()[1:]) == sorted(edged.text.splitlines()[1:])
    with memory.session(JANE, "edges") as session:
        session.user("Where does Jane live?")
        made = session.assemble(edges=True, floor="none")
    (again,) = memory.replay("edges", JANE).prompts()
    assert again.faithful and again.assembled is not None and again.assembled.text == made.text


def fiscal_lines(path: Path, *, single: bool) -> dict[str, str]:
    """Return a prompt's lines about a slot in which the tenant and the user have different facts."""
    with open_memory(path / "m.scrubjay") as memory:
        shared = memory.propose(
            FactCandidate("The fiscal year starts in April.", "acme", "fiscal year start", single=single),
            scope=ACME,
            source="r",
        )
        assert shared.id is not None
        memory.confirm(shared.id, by="ann", scope=ACME)
        own = FactCandidate(
            "For Jane the fiscal year starts in July.", "Acme", "fiscal year start", single=single
        )
        memory.propose(own, scope=JANE, source="s")
        text = memory.assemble("When does the fiscal year start?", JANE).text
    return {
        ("April" if "in April" in line else "July"): line for line in text.splitlines() if "fiscal" in line
    }


def test_a_tenants_fact_that_a_user_contradicts_says_what_holds(tmp_path: Path) -> None:
    lines = fiscal_lines(tmp_path, single=True)
    assert lines["April"].endswith("[does not hold here: For Jane the fiscal year starts in July.]")
    assert "does not hold" not in lines["July"]


def test_values_of_a_multi_valued_predicate_are_not_marked_contradicted(tmp_path: Path) -> None:
    lines = fiscal_lines(tmp_path, single=False)
    assert set(lines) == {"April", "July"} and "does not hold" not in "".join(lines.values())


def test_a_summary_stands_in_place_of_the_turns(memory: Memory) -> None:
    turns = [("user", f"Turn {n}.") for n in range(20)]
    seen: list[Turn] = []

    def summarise(given: Any) -> str:
        seen.extend(given)
        return "They counted\nto nineteen."

    made = memory.assemble("Where does Jane live?", JANE, turns=turns, summarise=summarise)
    assert len(seen) == 20 and made.text.endswith("# Recent turns\n- summary: They counted to nineteen.\n\n")
    with memory.session(JANE, "sum") as session:
        session.user("Where does Jane live?")
        prompt = session.assemble(summarise=summarise)
    (again,) = memory.replay("sum", JANE).prompts()
    assert again.faithful and again.assembled is not None and again.assembled.text == prompt.text


def test_a_summariser_that_fails_leaves_the_turns(memory: Memory) -> None:
    def summarise(_: Any) -> str:
        raise RuntimeError("no model")

    made = memory.assemble("Oslo?", JANE, turns=[("user", "Hello there.")], summarise=summarise)
    assert "- user: Hello there." in made.text
    assert "summariser_failed: RuntimeError: no model" in made.trace.degraded
    with pytest.raises(TypeError, match="summarise: expected a function that returns a str, got int"):
        memory.assemble("Oslo?", JANE, summarise=lambda _: 3)  # type: ignore[arg-type,return-value]


def test_a_rewriter_sees_the_conversation(tmp_path: Path) -> None:
    """The row's own example: in a session it got "what's his name again?" alone."""
    heard: list[tuple[str, Conversation | None]] = []

    def rewriter(question: str, conversation: Conversation | None) -> dict[str, Any]:
        heard.append((question, conversation))
        about = "manager" if conversation is not None and "manager" in str(conversation) else "nobody"
        return {"keywords": [about], "searchQuery": f"Jane's {about} is"}

    made = open_memory(
        tmp_path / "m.scrubjay", retriever=lambda documents: Retriever(documents, rewriter, cache=True)
    )
    with made as memory:
        memory.propose_all([(FactCandidate(text), JANE, "r") for text in FACTS])
        with memory.session(JANE, "chat") as session:
            session.user("I have to write to my manager.")
            session.model("About what?")
            session.user("what's his name again?")
            prompt = session.assemble(summarise=lambda turns: f"{len(turns)} turns.")
        assert "Priya Raman" in prompt.text
        question, conversation = heard[0]
        assert question == "what's his name again?" and conversation is not None
        assert conversation.turns[0] == ("user", "I have to write to my manager.")
        assert conversation.summary == "3 turns."
        # Another conversation is another cache key; there is none without a conversation.
        memory.recall("what's his name again?", JANE)
        memory.recall("what's his name again?", JANE)
        memory.recall("what's his name again?", JANE, conversation=conversation._replace(summary=""))
        assert [said for _, said in heard[1:]] == [None, conversation._replace(summary="")]
        with pytest.raises(TypeError, match="conversation: expected a Conversation, got str"):
            memory.recall("name?", JANE, conversation="I said")  # type: ignore[arg-type]


def test_a_rewriter_of_a_question_alone_is_asked_as_before(tmp_path: Path) -> None:
    made = open_memory(
        tmp_path / "m.scrubjay", retriever=lambda documents: Retriever(documents, lambda question: ["Oslo"])
    )
    with made as memory:
        memory.propose("Jane lives in Oslo.", scope=JANE, source="r")
        assert "Oslo" in memory.assemble("Her town?", JANE, turns=[("user", "Hello.")]).text
