"""The demo shows what it claims."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from scrubjay import Index, cli, demo
from scrubjay.embedders import Function, default

MEMORIES = {memory.id: memory for memory in demo.load_memories()}
QUESTIONS = demo.load_questions()


@pytest.fixture(scope="module")
def index() -> Index:
    return demo.make_index(default(), progress=False)


def test_the_sample_is_large_and_varied() -> None:
    assert len(MEMORIES) >= 300
    assert len({memory.text for memory in MEMORIES.values()}) == len(MEMORIES)
    scopes = Counter(
        (m.scope.tenant, m.scope.user is not None, m.scope.agent is not None) for m in MEMORIES.values()
    )
    for tenant in ("acme", "northwind"):
        for kind in ((False, False), (True, False), (False, True), (True, True)):
            assert scopes[(tenant, *kind)] >= 3, (tenant, kind)
    assert all(memory.metadata and memory.created_at for memory in MEMORIES.values())


def test_every_answer_exists_and_may_be_seen(index: Index) -> None:
    assert len(QUESTIONS) >= 5
    for question in QUESTIONS:
        assert question.answers
        visible = {hit.id for hit in index.search(" ", vector=[1.0] * 256, scope=question.scope, k=1000)}
        assert visible >= set(question.answers)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_the_fusion_answers_each_question(index: Index, question: demo.Question) -> None:
    answers, embed_us = demo.ask(index, question, repeats=1)
    found = {answer.mode: {hit.id for hit in answer.hits} for answer in answers}
    assert [answer.hits.mode for answer in answers] == ["lexical", "vector", "hybrid"]
    assert set(question.answers) <= found["hybrid"]
    assert embed_us is not None
    assert all(answer.search_us > 0 for answer in answers)


def test_the_questions_show_what_is_lost_by_one_kind_of_search(index: Index) -> None:
    lost: Counter[str] = Counter()
    for question in QUESTIONS:
        answers, _ = demo.ask(index, question, repeats=1)
        for answer in answers:
            lost[answer.mode] += not {hit.id for hit in answer.hits} >= set(question.answers)
    assert lost["lexical"] >= 2
    assert lost["vector"] >= 2
    assert lost["hybrid"] == 0


def test_one_question_is_asked_from_two_scopes_and_answered_differently() -> None:
    texts = Counter(question.text for question in QUESTIONS)
    twice = [question for question in QUESTIONS if texts[question.text] > 1]
    assert len({question.scope for question in twice}) >= 2
    assert len({question.answers for question in twice}) == len(twice)


def test_the_command_shows_all_three_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo"]) == 0
    out = capsys.readouterr().out
    for question in QUESTIONS:
        assert question.text in out
    assert out.count("keywords alone") == out.count("both, fused") == len(QUESTIONS)
    assert "\x1b" not in out


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["demo", "--json", "--ask", "who may sign a discount?", "--user", "marco", "-k", "2"]) == 0
    )
    (question,) = json.loads(capsys.readouterr().out)["questions"]
    assert question["scope"] == {"tenant": "acme", "user": "marco", "agent": None}
    assert [result["ran"] for result in question["results"]] == ["lexical", "vector", "hybrid"]
    assert all(len(result["hits"]) <= 2 for result in question["results"])


def test_the_command_without_an_embedder_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--embedder", "none", "--ask", "what was OPS-4127 about?"]) == 0
    out = capsys.readouterr().out
    assert "no embedder: keywords only" in out
    assert "both, fused (ran: lexical, no_embedder)" in out


def test_the_command_finds_nothing_where_nothing_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--ask", "anything", "--tenant", "globex"]) == 1
    assert "from which 0 of" in capsys.readouterr().out


def test_an_embedder_that_fails_leaves_the_keywords() -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise RuntimeError("no")

    index = Index(Function(lambda texts: [[1.0]] * len(texts), query=fail, dim=1, name="f"))
    index.upsert_many(demo.load_memories()[:5])
    question = demo.Question("t", "Jane Okafor", MEMORIES["acme/jane/1"].scope)
    answers, embed_us = demo.ask(index, question, repeats=1)
    assert embed_us is None
    assert [answer.hits.mode for answer in answers] == ["lexical"] * 3
