"""A model's answer is only material: invalid items are left out, and nothing reaches beyond its fields."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from scrubjay.base.errors import RetrievalError
from scrubjay.memory.intake.extractors import (
    CONFIDENCE,
    PROMPT,
    Extraction,
    OpenAIExtractor,
    Retraction,
    SourcedCandidate,
    as_extraction,
    name_of,
    read_answer,
)
from scrubjay.memory.intake.transcripts import Transcript, Utterance
from scrubjay.memory.model.candidates import EpisodeCandidate, FactCandidate, PreferenceCandidate
from scrubjay.retrieval.rewriting import Conversation

AT = datetime(2023, 5, 8, tzinfo=timezone.utc)
SAID = Utterance(4, 2, AT, "user", "Jane", "I moved to Oslo. {context} {transcript}")
TRANSCRIPT = Transcript("r1", (SAID,), (Utterance(1, 1, AT, "user", "Jane", "Hello there"),))


class Endpoint:
    """A fake model behind HTTP: its answers, and the requests it got."""

    status = 200

    def __init__(self) -> None:
        self.answer: Any = {}
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.asked.append(json.loads(body))
                endpoint.keys.append(self.headers.get("Authorization"))
                content = endpoint.answer if isinstance(endpoint.answer, str) else json.dumps(endpoint.answer)
                out = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
                self.send_response(endpoint.status)
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_an_answer_becomes_candidates(endpoint: Endpoint) -> None:
    endpoint.answer = {
        "facts": [
            {
                "content": "Jane lives in Oslo.",
                "subject": "Jane",
                "predicate": "lives in",
                "single": True,
                "confidence": 0.9,
                "line": 4,
            },
            {
                "content": "Jane sails.",
                "subject": "Jane",
                "predicate": "hobby",
                "single": "no",
                "confidence": 1,
            },
        ],
        "preferences": [{"key": "tone", "text": "Brief.", "stated": True, "confidence": 1, "line": "4"}],
        "retracted": [{"subject": "Jane", "predicate": "works at", "line": 4}],
        "episode": {"summary": "Moved.", "steps": ["packed", 3], "task_type": "move"},
    }
    extractor = OpenAIExtractor("m", base_url=endpoint.url, api_key="secret")
    assert as_extraction(extractor, TRANSCRIPT) == Extraction(
        (
            SourcedCandidate(FactCandidate("Jane lives in Oslo.", "Jane", "lives in", 0.9, single=True), 4),
            SourcedCandidate(FactCandidate("Jane sails.", "Jane", "hobby", 1.0), None),
            SourcedCandidate(PreferenceCandidate("tone", "Brief.", "user_stated", 1.0), None),
            SourcedCandidate(EpisodeCandidate("Moved.", "completed", task_type="move", steps=("packed",))),
        ),
        (Retraction("Jane", "works at", 4),),
    )
    (asked,) = endpoint.asked
    prompt = asked["messages"][0]["content"]
    assert "[4] 2023-05-08 Jane: I moved to Oslo. {context} {transcript}" in prompt
    assert prompt.count("Hello there") == 1, "what was said is no place to put something in"
    assert endpoint.keys == ["Bearer secret"] and "secret" not in repr(extractor)
    assert name_of(extractor) == "openai/m"


def test_malformed_candidates_are_counted_and_left_out(endpoint: Endpoint) -> None:
    good = {
        "content": "Jane sails.",
        "subject": "Jane",
        "predicate": "sails",
        "confidence": 1,
        "status": "active",
        "scope": {"tenant": "globex"},
        "id": "fact_1",
    }
    endpoint.answer = {
        "facts": [
            good,
            "a str",
            None,
            {**good, "confidence": 7},
            {**good, "confidence": True},
            {**good, "confidence": "high"},
            {**good, "content": ""},
            {**good, "content": ["x"]},
            {**good, "content": "\ud800"},
            {"content": "x"},
        ],
        "preferences": {"key": "tone"},
        "retracted": [{"subject": "Jane"}],
        "episode": ["no"],
        "policies": [{"key": "obey", "text": "me"}],
    }
    found = as_extraction(OpenAIExtractor("m", base_url=endpoint.url), TRANSCRIPT)
    assert [one.candidate for one in found.found] == [
        FactCandidate("Jane sails.", "Jane", "sails", 1.0),
        FactCandidate("a str"),  # a text, or an object without a slot, is a fact without a slot
        FactCandidate("x"),
    ]
    assert found.n_malformed == 9 and found.retracted == ()


def test_a_missing_confidence_is_that_of_a_candidate() -> None:
    fact = {"content": "Jane sails.", "subject": "Jane", "predicate": "sails", "confidence": None}
    found = read_answer({"facts": [fact], "preferences": [{"key": "tone", "text": "Brief."}]})
    assert [one.candidate.confidence for one in found.found] == [CONFIDENCE, CONFIDENCE]  # type: ignore[union-attr]
    assert found.n_malformed == 0 and FactCandidate("x").confidence == CONFIDENCE


def test_a_retraction_says_what_ended() -> None:
    said = {"subject": "Jane", "predicate": "allergic to", "content": "It is over.", "value": "nuts"}
    assert read_answer({"retracted": [said]}).retracted[0].value == "nuts"
    assert '"ends"' in PROMPT and '"value": what ended' in PROMPT


@pytest.mark.parametrize("answer", ["no JSON", "[]", "null", "{"])
def test_an_answer_that_is_not_a_json_object_is_an_error(endpoint: Endpoint, answer: str) -> None:
    endpoint.answer = answer
    with pytest.raises(RetrievalError, match="expected a JSON object"):
        OpenAIExtractor("m", base_url=endpoint.url).extract(TRANSCRIPT)


def test_a_refusal_is_an_error_without_the_key(endpoint: Endpoint) -> None:
    endpoint.status = 500
    with pytest.raises(RetrievalError, match="answered 500") as failed:
        OpenAIExtractor("m", base_url=endpoint.url, api_key="secret").extract(TRANSCRIPT)
    assert "secret" not in str(failed.value)
    with pytest.raises(RetrievalError):
        OpenAIExtractor("m", base_url="http://127.0.0.1:1", timeout_s=1).extract(TRANSCRIPT)


def test_functions_are_extractors_too() -> None:
    fact = FactCandidate("x")
    assert as_extraction(
        lambda _: [fact, SourcedCandidate(fact, 4), Retraction("a", "b")], TRANSCRIPT
    ) == Extraction((SourcedCandidate(fact), SourcedCandidate(fact, 4)), (Retraction("a", "b"),))
    for answer in (None, "x", {"notes": []}, [1]):
        with pytest.raises(TypeError, match="extractor: expected"):
            as_extraction(lambda _, answer=answer: answer, TRANSCRIPT)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"base_url": "ftp://x"}, "base_url: expected http"),
        ({"prompt": "x"}, "prompt: expected {transcript}"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OpenAIExtractor("m", **arguments)


def test_an_answer_says_when_and_how_a_fact_is_so(endpoint: Endpoint) -> None:
    said = {"content": "Jane lived in Bern.", "subject": "Jane", "predicate": "lives in", "confidence": 1}
    endpoint.answer = {
        "facts": [
            {
                **said,
                "value": "Bern",
                "relation": "corrects",
                "valid_from": "2019",
                "valid_until": "2020-03",
                "entities": ["Bern", 7],
            },
            {**said, "value": ["Bern"], "relation": None, "valid_from": 2019, "valid_until": "unknown"},
            {**said, "valid_from": "2019-04-30T12:00:00+02:00"},
            {**said, "valid_from": "some day"},  # without its time it would supersede later facts
            {**said, "valid_until": "2019-13"},
            {**said, "relation": "denies"},
        ],
        "retracted": [{"subject": "Jane", "predicate": "works at", "content": "Jane left Acme."}],
    }
    found = as_extraction(OpenAIExtractor("m", base_url=endpoint.url), TRANSCRIPT)
    first, second, third = (one.candidate for one in found.found)
    assert isinstance(first, FactCandidate) and isinstance(second, FactCandidate)
    assert (first.value, first.relation, first.entities) == ("Bern", "corrects", ("Bern",))
    assert first.valid_from == datetime(2019, 1, 1, tzinfo=timezone.utc)
    assert first.valid_until == datetime(2020, 3, 1, tzinfo=timezone.utc)
    assert (second.value, second.relation, second.valid_until) == (None, "asserts", None)
    assert second.valid_from == first.valid_from
    assert getattr(third, "valid_from", None) == datetime(2019, 4, 30, 10, tzinfo=timezone.utc)
    assert found.n_malformed == 3
    assert found.retracted == (Retraction("Jane", "works at", None, "Jane left Acme."),)


@pytest.mark.parametrize(
    "answer",
    [
        {"facts": ["Jane lives in Oslo.", "Jane sails."]},  # mem0
        {"memories": ["Jane lives in Oslo.", "Jane sails."]},
        {"memories": [{"memory": "Jane lives in Oslo."}, {"text": "Jane sails."}]},
        {
            "memory": "x",
            "memories": [{"content": "Jane lives in Oslo."}, {"memory": "Jane sails.", "id": "7"}],
        },
        ["Jane lives in Oslo.", {"content": "Jane sails."}],
    ],
)
def test_common_shapes_are_understood(endpoint: Endpoint, answer: Any) -> None:
    expected = [FactCandidate("Jane lives in Oslo."), FactCandidate("Jane sails.")]
    assert [one.candidate for one in as_extraction(lambda _: answer, TRANSCRIPT).found] == expected
    if isinstance(answer, dict):
        for said in (answer, f"```json\n{json.dumps(answer)}\n```"):
            endpoint.answer = said
            found = as_extraction(OpenAIExtractor("m", base_url=endpoint.url), TRANSCRIPT)
            assert [one.candidate for one in found.found] == expected and found.n_malformed == 0


def test_shapes_that_are_wrong_are_counted() -> None:
    found = as_extraction(
        lambda _: {"memories": ["", {"text": 3}, None, {"memory": "x", "confidence": 9}]}, TRANSCRIPT
    )
    assert (found.found, found.n_malformed) == ((), 4)
    mixed = [{"key": "tone", "text": "Brief."}, {"summary": "Moved.", "outcome": "success"}]
    assert [one.candidate for one in as_extraction(lambda _: mixed, TRANSCRIPT).found] == [
        PreferenceCandidate("tone", "Brief."),
        EpisodeCandidate("Moved.", "success"),
    ]
    with pytest.raises(ValueError, match="unknown field of a fact"):
        as_extraction(lambda _: [{"content": "x", "status": "active"}], TRANSCRIPT)


def test_extractors_get_the_earlier_turns_as_context(endpoint: Endpoint) -> None:
    before = tuple(
        Utterance(n, n, AT, kind, kind.title(), f"word {n}")
        for n, kind in enumerate(["user", "tool", *["user", "model"] * 5], 1)
    )
    transcript = Transcript("r1", (SAID,), before, "They plan\na trip.")
    heard: list[Conversation] = []

    def listening(transcript: Transcript, conversation: Conversation) -> list[Any]:
        heard.append(conversation)
        return []

    class Listening:
        def extract(self, transcript: Transcript, conversation: Conversation | None = None) -> Extraction:
            assert conversation is not None
            heard.append(conversation)
            return Extraction()

    for extractor in (listening, Listening()):
        as_extraction(extractor, transcript)
    first, second = heard
    assert first == second == transcript.before() and first.summary == "They plan\na trip."
    assert first.turns == tuple((one.author, one.text) for one in before[-8:])
    assert transcript.before(2).turns == (("User", "word 11"), ("Model", "word 12"))
    assert transcript.before(0).turns == () and len(transcript.before(99).turns) == 11  # without the tool's
    as_extraction(OpenAIExtractor("m", base_url=endpoint.url), transcript)
    asked = endpoint.asked[0]["messages"][0]["content"]
    assert "Before: (in short) They plan a trip. / [1] 2023-05-08 User: word 1 / " in asked
