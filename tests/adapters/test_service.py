"""The verbs of the HTTP service, in this process: their results, access rights, and rejected requests."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
testing = pytest.importorskip("fastapi.testclient")

from scrubjay import Index, PassageVectors, Scope, embedders  # noqa: E402
from scrubjay.adapters.service import Grant, Limits, Tokens, add_token, create_app, models, search_models  # noqa: E402
from scrubjay.index.question_words import Wording  # noqa: E402

SECRET = "Joe's door code is 4711."
ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")


class Caller:
    """A client with a token: answers are validated against their models."""

    def __init__(self, app: Any, token: str | None = None) -> None:
        self.client = testing.TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        if token is not None:
            self.client.headers["authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, **options)

    def good(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self.ask(method, path, body, **options)
        assert answer.status_code == 200, answer.text
        given = answer.json()
        kind = KINDS.get(path.partition("?")[0]) or (models.Written if method == "PUT" else models.Memory)
        shown = kind.model_validate(given, strict=True).model_dump(exclude_unset=True)
        assert shown == given
        return given

    def bad(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> str:
        answer = self.ask(method, path, body, **options)
        assert answer.status_code == status, (answer.status_code, answer.text)
        error = models.Failure.model_validate(answer.json(), strict=True).error
        return f"{error.code}: {error.message}"


KINDS: dict[str, Any] = {
    "/v1/search": search_models.Hits,
    "/v1/explain": search_models.Explanation,
    "/v1/list": models.Listing,
    "/v1/count": models.Count,
    "/v1/erase": models.Erased,
    "/v1/warm": models.Warmed,
    "/v1/memories": models.Written,
    "/v1/whoami": models.WhoAmI,
    "/health/live": models.Status,
    "/health/ready": models.Status,
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "memories.scrubjay", embedders.default()) as index:
        yield index


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "tokens.json"
    grants = [
        Grant("jane", "acme", "jane", can=("read", "write")),
        Grant("joe", "acme", "joe", can=("read", "write", "erase")),
        Grant("reader", "acme", "jane", can=("read",)),
        Grant("acme", "acme", can=("read", "write", "erase")),
        Grant("globex", "globex", can=("read", "write", "erase")),
        Grant("scraper", "ops", can=("metrics",)),
    ]
    return {grant.name: add_token(path, grant) for grant in grants}


@pytest.fixture
def callers(index: Index, tokens: dict[str, str], tmp_path: Path) -> dict[str, Caller]:
    app = create_app(index, tokens=Tokens(tmp_path / "tokens.json"))
    return {name: Caller(app, token) for name, token in tokens.items()} | {"nobody": Caller(app)}


@pytest.fixture
def local() -> Caller:
    return Caller(create_app(Index(), grant=Grant("local", "acme", "jane")))


# ---------------------------------------------------------------------- verbs


def test_a_memory_is_written_found_changed_and_deleted(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    written = {"text": "The staging key is sk-stg-0041.", "metadata": {"kind": "key", "n": [1, None]}}
    assert jane.good("PUT", "/v1/memories/m1", {**written, "created_at": "2026-03-01"}) == {"ids": ["m1"]}
    many = jane.good(
        "POST", "/v1/memories", {"memories": [{"id": "m2", "text": "Prefers trains."}, {"text": "Tea."}]}
    )
    assert many["ids"][0] == "m2" and len(many["ids"][1]) == 32
    memory = jane.good("GET", "/v1/memories/m1")
    assert memory.pop("version") > 0
    assert memory == {
        "id": "m1",
        **written,
        "created_at": "2026-03-01T00:00:00+00:00",
        "expires_at": None,
        "context": None,
        "passages": None,
        "scope": {"tenant": "acme", "user": "jane", "agent": None},
    }
    found = jane.good("POST", "/v1/search", {"text": "what is sk-stg-0041?", "k": 1})
    assert [hit["id"] for hit in found["hits"]] == ["m1"] and found["mode"] == "hybrid"
    assert "bm25" not in found["hits"][0]
    explained = jane.good("POST", "/v1/search", {"text": "sk-stg-0041", "k": 1, "explain": True})["hits"][0]
    assert (
        explained["identifier"] is True
        and explained["bm25"] > 0
        and "sk-stg-0041" in explained["matched_terms"]
        and explained["parts"]["final"] == explained["score"]
    )
    assert jane.good("POST", "/v1/count", {"filter": {"kind": {"$exists": True}}}) == {"count": 1}
    changed = jane.good("PATCH", "/v1/memories/m1", {"metadata": None, "text": "It is sk-stg-0042."})
    assert changed.pop("version") > 0
    assert changed == {**memory, "metadata": {}, "text": "It is sk-stg-0042."}
    assert jane.good("POST", "/v1/search", {"text": "0041", "mode": "lexical"})["hits"] == []
    deleted = jane.ask("DELETE", "/v1/memories/m1")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert "not_found" in jane.bad(404, "GET", "/v1/memories/m1")
    assert "not_found" in jane.bad(404, "DELETE", "/v1/memories/m1")
    assert "not_found" in jane.bad(404, "PATCH", "/v1/memories/m1", {"text": "back"})


def test_a_patch_merges_metadata(callers: dict[str, Caller], index: Index) -> None:
    jane = callers["jane"]
    jane.good("PUT", "/v1/memories/m1", {"text": "Trains.", "metadata": {"a": 1, "b": {"c": 2}, "d": None}})
    jane.good("PUT", "/v1/memories/m2", {"text": "Trains.", "metadata": {"a": 1, "b": {"c": 2}, "d": None}})
    for change in ({"a": 5}, {"b": {"e": 3}}, {"a": None, "new": [1]}, {}):
        merged = jane.good("PATCH", "/v1/memories/m1", {"metadata": change})["metadata"]
        index.patch("m2", scope=JANE, metadata=change)  # as in Python
        assert merged == jane.good("GET", "/v1/memories/m2")["metadata"]
    assert merged == {"b": {"e": 3}, "d": None, "new": [1]}
    assert jane.good("PATCH", "/v1/memories/m1", {"metadata": None})["metadata"] == {}


def test_a_version_is_a_condition(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    jane.good("PUT", "/v1/memories/m1", {"text": "Trains.", "version": 0})
    assert "conflict" in jane.bad(409, "PUT", "/v1/memories/m1", {"text": "Ships.", "version": 0})
    seen = jane.good("GET", "/v1/memories/m1")["version"]
    assert jane.good("POST", "/v1/list", {})["memories"][0]["version"] == seen
    after = jane.good("PATCH", "/v1/memories/m1", {"metadata": {"a": 1}, "version": seen})["version"]
    assert after > seen
    for method, path, body in (
        ("PUT", "/v1/memories/m1", {"text": "Ships.", "version": seen}),
        ("PATCH", "/v1/memories/m1", {"text": "Ships.", "version": seen}),
        (
            "POST",
            "/v1/memories",
            {"memories": [{"id": "m2", "text": "x"}, {"id": "m1", "text": "x", "version": seen}]},
        ),
        ("DELETE", f"/v1/memories/m1?version={seen}", None),
    ):
        told = jane.bad(409, method, path, body)
        assert "conflict" in told and f"found it at version {after}" in told
    assert (
        jane.good("GET", "/v1/memories/m1")["text"] == "Trains."
        and jane.good("POST", "/v1/count", {})["count"] == 1
    )
    assert "version" in jane.bad(422, "PATCH", "/v1/memories/m1", {"text": "x", "version": 0})
    assert "not_found" in jane.bad(404, "DELETE", "/v1/memories/m9?version=1")
    assert jane.ask("DELETE", f"/v1/memories/m1?version={after}").status_code == 204


def test_errors_use_the_field_names_of_the_request(local: Caller) -> None:
    wrong = {"text": "x", "created_at": "soon"}
    told = local.bad(422, "POST", "/v1/memories", {"memories": [{"text": "x"}, wrong]})
    assert "memories[1]: created_at: expected an ISO 8601 time" in told and "records" not in told
    told = local.bad(422, "PUT", "/v1/memories/m1", wrong)
    assert (
        "records" not in told and "memories" not in told and "created_at: expected an ISO 8601 time" in told
    )


def test_a_listing_goes_on_where_it_ended(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    jane.good(
        "POST", "/v1/memories", {"memories": [{"id": f"m{i}", "text": f"number {i}"} for i in range(5)]}
    )
    callers["acme"].good("PUT", "/v1/memories/m1", {"text": "shared"})
    seen: list[tuple[str, str]] = []
    offset: int | None = 0
    n_pages = 0
    while offset is not None:
        n_pages += 1
        page = jane.good("POST", "/v1/list", {"limit": 2, "offset": offset, "order": "oldest"})
        seen += [(memory["id"], memory["text"]) for memory in page["memories"]]
        offset = page["next_offset"]
    assert n_pages == 3  # the last one is full, and known to be the last
    assert seen == [(f"m{i}", f"number {i}") for i in range(5)] + [("m1", "shared")]
    assert len(jane.good("POST", "/v1/list", {"exact": True})["memories"]) == 5
    chosen = jane.good("POST", "/v1/list", {"ids": ["m1", "m3", "none"], "order": "oldest"})["memories"]
    assert [memory["text"] for memory in chosen] == ["number 1", "number 3", "shared"]


def test_an_explanation_shows_both_rankings_and_their_fusion(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    rows = [
        {"id": "key", "text": "The staging API key prefix is sk-stg-0041."},
        {"id": "sleep", "text": "Drinks only decaf after lunch, otherwise she lies awake."},
        {"id": "train", "text": "Prefers trains to planes."},
    ]
    jane.good("POST", "/v1/memories", {"memories": rows})
    shown = jane.good("POST", "/v1/explain", {"text": "sk-stg-0041 trouble sleeping"})
    assert [hit["id"] for hit in shown["lexical"]] == ["key"]
    assert {hit["id"] for hit in shown["vector"]} == {"key", "sleep", "train"}
    assert {hit["id"] for hit in shown["hits"]} == {"key", "sleep", "train"} and shown["hits"][0][
        "id"
    ] == "key"
    assert shown["took_us"] > 0 and shown["embed_us"] > 0 and 0 <= shown["lexical_share"] <= 1
    searched = jane.good("POST", "/v1/search", {"text": "sk-stg-0041 trouble sleeping", "explain": True})
    assert searched["hits"] == [without_snippet(hit) for hit in shown["hits"]]
    for fusion in ("rrf", "weighted", "boost", "production"):
        shown = jane.good("POST", "/v1/explain", {"text": "staging", "fusion": fusion})
        searched = jane.good("POST", "/v1/search", {"text": "staging", "fusion": fusion, "explain": True})
        assert [without_snippet(hit) for hit in shown["hits"]] == searched["hits"]
        assert shown["lexical_share"] is None


def without_snippet(hit: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in hit.items() if name != "snippet"}


def test_an_explanation_shows_the_words_that_matched(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    long = (
        "Nothing of the kind is said here. " * 40
        + "The keys were rotated on Monday. "
        + "Nor is it here. " * 40
    )
    rows = [
        {"id": "key", "text": "Two Staging keys: sk-stg-0041, sk-stg-0042."},
        {"id": "long", "text": long},
    ]
    jane.good("POST", "/v1/memories", {"memories": rows})
    shown = jane.good("POST", "/v1/explain", {"text": "the staging key sk-stg-0041", "snippet": 100})
    pieces = {hit["id"]: hit["snippet"] for hit in shown["hits"]}
    marked = [(piece["text"], piece["match"]) for piece in pieces["key"]["pieces"] if piece["match"]]
    # Words as in the text, not stems; the identifier as a whole; of the other one only the common part.
    assert marked[:3] == [("Staging", "word"), ("keys", "word"), ("sk-stg-0041", "identifier")]
    assert {text for text, _ in marked[3:]} == {"sk", "stg"}
    assert "".join(piece["text"] for piece in pieces["key"]["pieces"]) == rows[0]["text"]
    around = "".join(piece["text"] for piece in pieces["long"]["pieces"])
    assert "keys were rotated" in around and around in long and len(around) <= 100
    assert pieces["long"]["before"] and pieces["long"]["after"] and not pieces["key"]["before"]
    # The same in every column, also in the ranking by meaning.
    assert {hit["id"] for hit in shown["vector"]} == {"key", "long"}
    assert all(hit["snippet"] == pieces[hit["id"]] for hit in shown["lexical"] + shown["vector"])
    jane.bad(422, "POST", "/v1/explain", {"text": "x", "snippet": 10})


def test_a_context_is_found_and_shown_by_the_memory_only(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    jane.good("PUT", "/v1/memories/p7", {"text": "She took the train.", "context": "Ada in Riga"})
    jane.good("POST", "/v1/memories", {"memories": [{"id": "p8", "text": "By ship.", "context": "Oslo"}]})
    (hit,) = jane.good("POST", "/v1/search", {"text": "Riga", "mode": "lexical"})["hits"]
    assert hit["id"] == "p7" and "Riga" not in json.dumps(hit)
    assert jane.good("GET", "/v1/memories/p7")["context"] == "Ada in Riga"
    changed = jane.good("PATCH", "/v1/memories/p8", {"context": "Bergen"})
    assert (changed["context"], changed["text"]) == ("Bergen", "By ship.")
    assert jane.good("POST", "/v1/search", {"text": "Oslo", "mode": "lexical"})["hits"] == []
    assert jane.good("PATCH", "/v1/memories/p8", {"text": "By ferry."})["context"] == "Bergen"
    assert jane.good("PATCH", "/v1/memories/p8", {"context": None})["context"] is None
    assert "context" in jane.bad(422, "PUT", "/v1/memories/p9", {"text": "x", "context": 7})


def test_a_search_shows_the_part_that_answers(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    text = "The pump runs. " * 400 + "If backups fail \U0001f4be, page Ada. " + "The valve holds. " * 400
    jane.good("POST", "/v1/memories", {"memories": [{"id": "log", "text": text}]})
    path = "/v1/search"
    (hit,) = jane.good("POST", path, {"text": "whom to page", "k": 1, "snippet": True})["hits"]
    shown = hit["snippet"]
    part = "".join(piece["text"] for piece in shown["pieces"])
    assert "page Ada" in part and len(part) <= 240 and text[shown["start"] : shown["end"]] == part
    assert [piece for piece in shown["pieces"] if piece["match"]] == [{"text": "page", "match": "word"}]
    assert shown["before"] and shown["after"]
    (hit,) = jane.good("POST", path, {"text": "whom to page", "k": 1, "snippet": 30})["hits"]
    assert text[hit["snippet"]["start"] : hit["snippet"]["end"]] == "If backups fail \U0001f4be, page Ada."
    (hit,) = jane.good("POST", path, {"text": "whom to page", "k": 1})["hits"]
    assert "snippet" not in hit
    for bad in (19, 2001, "yes", 100.0, None):
        assert "snippet" in jane.bad(422, "POST", path, {"text": "page", "snippet": bad})


def test_snippets_are_not_cut_where_all_requests_wait(
    callers: dict[str, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long text may take a second; however fast its search was, other requests are answered meanwhile."""
    jane = callers["jane"]
    jane.good("PUT", "/v1/memories/m1", {"text": "The staging key is sk-stg-0041. " * 30})
    cut, on_loop = Wording.snippet, []

    def watched(self: Wording, *arguments: Any) -> Any:
        on_loop.append(asyncio._get_running_loop() is not None)
        return cut(self, *arguments)

    monkeypatch.setattr(Wording, "snippet", watched)
    for _ in range(3):  # later searches use the fast path for the scope
        assert jane.good("POST", "/v1/search", {"text": "staging", "snippet": 100})["hits"][0]["snippet"]
    jane.good("POST", "/v1/explain", {"text": "staging"})
    assert len(on_loop) >= 4 and not any(on_loop)


UPKEEP = [f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(540)]
MIDDLE = "If the nightly backups fail three times in a row, page Ada before touching the replica."
LONG = " ".join([*UPKEEP[:270], MIDDLE, *UPKEEP[270:]])
ASKED = "whom do we inform when saving our data goes wrong again and again?"


def test_the_best_passage_of_a_long_text_is_named_and_shown(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    halls = [{"id": f"n{number}", "text": f"Hall {number} was swept."} for number in range(10)]
    jane.good("POST", "/v1/memories", {"memories": [{"id": "manual", "text": LONG}, *halls]})
    asked = {"text": ASKED, "mode": "vector", "k": 3, "snippet": True}
    best, *others = jane.good("POST", "/v1/search", asked)["hits"]
    assert best["id"] == "manual" and MIDDLE in LONG[slice(*best["passage"])]
    assert "page Ada" in "".join(piece["text"] for piece in best["snippet"]["pieces"])
    assert all("passage" not in hit for hit in others)
    explained = jane.good("POST", "/v1/explain", {"text": ASKED, "mode": "vector", "k": 1})
    for hit in (explained["hits"][0], explained["vector"][0]):
        assert hit["passage"] == best["passage"]
        assert "page Ada" in "".join(piece["text"] for piece in hit["snippet"]["pieces"])
    jane.good("PATCH", "/v1/memories/manual", {"passages": False})
    assert all("passage" not in hit for hit in jane.good("POST", "/v1/search", asked)["hits"])


def test_passages_can_be_given_and_changed_over_http(index: Index, callers: dict[str, Caller]) -> None:
    jane, text = callers["jane"], "The pumps are old. Backups run at night. Ada likes tea."
    spans = [[0, 18], [19, 40]]

    def held(id: str = "m1") -> Any:
        vector = index.get(id, scope=JANE).vector  # type: ignore[union-attr]
        return vector.spans.tolist() if isinstance(vector, PassageVectors) else None

    def passage(text: str = "when are data saved?") -> Any:
        (hit,) = jane.good("POST", "/v1/search", {"text": text, "mode": "vector", "ids": ["m1"]})["hits"]
        return hit.get("passage")

    jane.good("PUT", "/v1/memories/m1", {"text": text, "passages": spans})
    assert held() == spans and passage() == [19, 40]
    assert jane.good("GET", "/v1/memories/m1")["passages"] == spans
    jane.good("PATCH", "/v1/memories/m1", {"metadata": {"n": 1}})
    assert held() == spans
    jane.good("PATCH", "/v1/memories/m1", {"context": "A manual"})  # embedded again with the new context
    assert held() == spans and passage() == [19, 40]
    jane.good("PATCH", "/v1/memories/m1", {"passages": [[41, 55]]})
    assert held() == [[41, 55]] and passage() == [41, 55]
    jane.good("PATCH", "/v1/memories/m1", {"passages": None})
    assert held() is None and passage() is None
    assert jane.good("GET", "/v1/memories/m1")["passages"] is None
    jane.good("PATCH", "/v1/memories/m1", {"passages": spans, "text": f"{text} She pays by card."})
    assert held() == spans
    jane.good("PATCH", "/v1/memories/m1", {"text": "Another text."})
    assert held() is None
    jane.good("PUT", "/v1/memories/m1", {"text": LONG, "passages": False})
    jane.good("PATCH", "/v1/memories/m1", {"metadata": {"n": 1}})
    jane.good("PATCH", "/v1/memories/m1", {"context": "A manual"})
    assert held() is None and jane.good("GET", "/v1/memories/m1")["passages"] is False
    vectors = [[1.0] + [0.0] * 255, [0.0] * 255 + [1.0]]
    memory = {"id": "m2", "text": text, "vector": vectors, "passages": spans}
    jane.good("POST", "/v1/memories", {"memories": [memory, {"id": "m3", "text": text, "vector": vectors}]})
    assert held("m2") == spans and held("m3") == [[0, 0], [0, 0]]
    (hit, other) = jane.good("POST", "/v1/search", {"vector": vectors[1], "ids": ["m2", "m3"]})["hits"]
    assert hit["passage"] == spans[1] and "passage" not in other


@pytest.mark.parametrize("method", ["rrf", "weighted", "production"])
def test_further_rankings_have_weights_over_http(callers: dict[str, Caller], method: str) -> None:
    """As in Python: those of the lexical and the vector ranking come first."""
    jane = callers["jane"]
    jane.good("POST", "/v1/memories", {"memories": [{"id": f"m{i}", "text": f"oak {i}"} for i in range(3)]})
    rankings = [["m2", "m1"], ["m1", "m0"]]
    best = {}
    for weights in ([0, 0, 1, 0], [0, 0, 0, 1]):
        asked = {
            "text": "oak",
            "rankings": rankings,
            "fusion": {"method": method, "weights": weights, "floor": 0},
        }
        if method != "production":
            del asked["fusion"]["floor"]
        best[str(weights)] = jane.good("POST", "/v1/search", asked)["hits"][0]["id"]
    assert best == {"[0, 0, 1, 0]": "m2", "[0, 0, 0, 1]": "m1"}
    refused = {"text": "oak", "fusion": {"method": method, "weights": [1]}}
    assert "weights" in jane.bad(422, "POST", "/v1/search", refused)


def test_ids_may_be_any_text(callers: dict[str, Caller]) -> None:
    jane = callers["jane"]
    for id in (
        "a/b",
        "a//b/",
        "ü ✓",
        "100%",
        "a\x00b",
        "?x=1#y",
        "x" * 512,
        "😀",
        "memories",
        "'; DROP TABLE--",
    ):
        path = "/v1/memories/" + quote(id, safe="")
        assert jane.good("PUT", path, {"text": f"this is {id}"}) == {"ids": [id]}
        assert jane.good("GET", path)["text"] == f"this is {id}"
        assert jane.ask("DELETE", path).status_code == 204
    assert "invalid" in jane.bad(422, "PUT", "/v1/memories/" + "x" * 513, {"text": "x"})
    assert "invalid" in jane.bad(422, "GET", "/v1/memories/")


# ---------------------------------------------------------------------- scopes


def test_no_answer_reveals_memories_of_another_scope(index: Index, callers: dict[str, Caller]) -> None:
    jane, joe, globex = callers["jane"], callers["joe"], callers["globex"]
    joe.good("PUT", "/v1/memories/m1", {"text": SECRET})
    globex.good("PUT", "/v1/memories/m1", {"text": SECRET})
    index.upsert("bare", SECRET, scope=JOE)
    before = {str(record): record.text for record in index.list(JOE)}
    for id in (
        "m1",
        "bare",
        '["acme","joe",null]:m1',
        "*",
        "%",
        "m1\x00",
        "ｍ1",
        "M1",
        "../joe/m1",
        "m" * 500,
    ):
        path = "/v1/memories/" + quote(id, safe="")
        unknown = jane.bad(404, "GET", path)
        assert "expected the id of a memory in this scope" in unknown and SECRET not in unknown
        jane.bad(404, "DELETE", path)
        jane.bad(404, "PATCH", path, {"text": "mine"})
        # Writing an id that others have has the same outcome as writing a new one.
        assert jane.good("PUT", path, {"text": "mine"}) == {"ids": [id]}
        assert jane.good("GET", path)["text"] == "mine"
        assert jane.ask("DELETE", path).status_code == 204
    for filter in ({"user": "joe"}, {"$or": [{}]}, {"$not": {"a": 1}}, {"owner": {"$exists": False}}):
        assert jane.good("POST", "/v1/search", {"text": "door code 4711", "filter": filter})["hits"] == []
        assert jane.good("POST", "/v1/count", {"filter": filter}) == {"count": 0}
    for ids in (["m1", "bare"], ['["acme","joe",null]:m1'], ["\x00"]):
        assert jane.good("POST", "/v1/search", {"text": "door code", "ids": ids})["hits"] == []
        assert jane.good("POST", "/v1/list", {"ids": ids})["memories"] == []
    assert {str(record): record.text for record in index.list(JOE)} == before


@pytest.mark.parametrize(
    "scope",
    [
        {"user": "joe"},
        {"tenant": "globex"},
        {"tenant": "globex", "user": "jane"},
        {"tenant": "acme", "user": "Jane"},
        {"user": "jane\x00"},
        {"user": "j\u0430ne"},
        {"user": "*"},
    ],
)
def test_a_request_cannot_leave_the_scope_of_its_token(
    callers: dict[str, Caller], scope: dict[str, str]
) -> None:
    jane = callers["jane"]
    for path in ("search", "explain"):
        assert "forbidden" in jane.bad(403, "POST", f"/v1/{path}", {"text": "x", "scope": scope})
    for path in ("list", "count"):
        assert "forbidden" in jane.bad(403, "POST", f"/v1/{path}", {"scope": scope})
    assert "forbidden" in jane.bad(403, "POST", "/v1/memories", {"memories": [{"text": "x"}], "scope": scope})
    for method, body in (("PUT", {"text": "x"}), ("PATCH", {"text": "x"})):
        assert "forbidden" in jane.bad(403, method, "/v1/memories/m1", {**body, "scope": scope})
    for method in ("GET", "DELETE"):
        assert "forbidden" in jane.bad(403, method, "/v1/memories/m1", params=scope)
    assert "forbidden" in callers["joe"].bad(403, "POST", "/v1/erase", {"scope": {"tenant": "globex"}})


def test_a_token_for_a_tenant_acts_for_its_users_and_agents(callers: dict[str, Caller]) -> None:
    acme, jane = callers["acme"], callers["jane"]
    acme.good("PUT", "/v1/memories/m1", {"text": "Jane's train", "scope": {"user": "jane"}})
    acme.good(
        "PUT", "/v1/memories/m1", {"text": "the bot's train", "scope": {"user": "jane", "agent": "bot"}}
    )
    acme.good("PUT", "/v1/memories/m1", {"text": "everybody's train"})
    assert jane.good("GET", "/v1/memories/m1")["text"] == "Jane's train"
    assert jane.good("GET", "/v1/memories/m1?agent=bot")["text"] == "the bot's train"
    assert acme.good("GET", "/v1/memories/m1")["text"] == "everybody's train"
    assert len(jane.good("POST", "/v1/search", {"text": "train"})["hits"]) == 2
    assert len(jane.good("POST", "/v1/search", {"text": "train", "scope": {"agent": "bot"}})["hits"]) == 3
    assert jane.ask("DELETE", "/v1/memories/m1").status_code == 204
    assert "read_only" in jane.bad(403, "DELETE", "/v1/memories/m1")  # the remaining one is the tenant's
    assert "read_only" in jane.bad(403, "PATCH", "/v1/memories/m1", {"text": "mine"})


def test_permissions_are_needed(callers: dict[str, Caller]) -> None:
    reader, jane, scraper = callers["reader"], callers["jane"], callers["scraper"]
    jane.good("PUT", "/v1/memories/m1", {"text": "train"})
    assert reader.good("GET", "/v1/memories/m1")["text"] == "train"
    for method, path, body in (
        ("PUT", "/v1/memories/m1", {"text": "x"}),
        ("PATCH", "/v1/memories/m1", {"text": "x"}),
        ("DELETE", "/v1/memories/m1", None),
        ("POST", "/v1/memories", {"memories": [{"text": "x"}]}),
        ("POST", "/v1/erase", {"scope": {}}),
        ("GET", "/metrics", None),
    ):
        assert "forbidden" in reader.bad(403, method, path, body)
    assert "erase" in jane.bad(403, "POST", "/v1/erase", {"scope": {}})
    assert "read" in scraper.bad(403, "POST", "/v1/search", {"text": "x"})
    assert scraper.ask("GET", "/metrics").status_code == 200
    assert jane.good("GET", "/v1/whoami") == {
        "name": "jane", "tenant": "acme", "user": "jane", "agent": None, "can": ["read", "write"],
    }  # fmt: skip


def test_erasing_deletes_the_scope_and_no_other(index: Index, callers: dict[str, Caller]) -> None:
    acme = callers["acme"]
    for scope in ({}, {"user": "jane"}, {"user": "joe"}, {"user": "jane", "agent": "bot"}):
        acme.good("PUT", "/v1/memories/m1", {"text": "train", "scope": scope})
    callers["globex"].good("PUT", "/v1/memories/m1", {"text": "train"})
    assert "scope" in acme.bad(422, "POST", "/v1/erase", {})
    assert acme.good("POST", "/v1/erase", {"scope": {}, "exact": True}) == {"erased": 1}
    assert callers["joe"].good("POST", "/v1/erase", {"scope": {}}) == {"erased": 1}
    assert acme.good("POST", "/v1/erase", {"scope": {"user": "jane"}}) == {"erased": 2}
    assert [str(record.scope) for record in index.list(Scope("globex"))] == ["Scope('globex')"] and len(
        index
    ) == 1


def test_requests_without_a_valid_token_are_refused(
    callers: dict[str, Caller], tokens: dict[str, str]
) -> None:
    nobody = callers["nobody"]
    wrong = [None, "", "Bearer", "Bearer ", "Bearer x", f"Basic {tokens['jane']}", tokens["jane"]]
    wrong += [f"Bearer {tokens['jane']}x", f"Bearer {tokens['jane']} {tokens['joe']}", "Bearer \xff"]
    for header in wrong:
        headers = {} if header is None else {"authorization": header.encode("latin-1")}
        for method, path in (
            ("POST", "/v1/search"),
            ("GET", "/v1/memories/m1"),
            ("GET", "/v1/whoami"),
            ("GET", "/metrics"),
            ("GET", "/v1/none"),
            ("GET", "//v1/search"),
            ("OPTIONS", "/v1/search"),
        ):
            answer = nobody.ask(method, path, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer")
    assert "unauthenticated" in nobody.bad(401, "POST", "/v1/search", content=b"not even JSON")
    two = [("authorization", f"Bearer {tokens['jane']}"), ("authorization", f"Bearer {tokens['joe']}")]
    assert "unauthenticated" in nobody.bad(401, "GET", "/v1/whoami", headers=two)
    assert nobody.ask("GET", "/openapi.json").status_code == 200
    assert nobody.good("GET", "/health/ready") == {"status": "ok"}


def test_without_tokens_a_request_names_its_tenant() -> None:
    caller = Caller(create_app(Index()))
    assert "tenant" in caller.bad(422, "POST", "/v1/search", {"text": "x"})
    caller.good("PUT", "/v1/memories/m1", {"text": "train", "scope": {"tenant": "acme", "user": "jane"}})
    assert caller.good("POST", "/v1/count", {"scope": {"tenant": "acme", "user": "jane"}}) == {"count": 1}
    assert caller.good("POST", "/v1/count", {"scope": {"tenant": "acme"}}) == {"count": 0}


def test_warming_reads_what_the_token_may_search(callers: dict[str, Caller], index: Index) -> None:
    index.upsert("shared", "The office is closed.", scope=ACME)
    index.upsert("own", "Prefers trains.", scope=JANE)
    index.upsert("joe", SECRET, scope=JOE)
    jane, everyone = callers["jane"], callers["acme"]
    assert jane.good("POST", "/v1/warm", {}) == {"memories": 2}
    assert callers["reader"].good("POST", "/v1/warm", {"scopes": [{"user": "jane"}]}) == {"memories": 2}
    both = {"scopes": [{"user": "jane"}, {"user": "joe"}, {"user": "nobody"}]}
    assert everyone.good("POST", "/v1/warm", both) == {"memories": 2 + 2 + 1}
    assert callers["globex"].good("POST", "/v1/warm", {}) == {"memories": 0}
    assert "forbidden" in jane.bad(403, "POST", "/v1/warm", both)
    assert "forbidden" in callers["globex"].bad(403, "POST", "/v1/warm", {"scopes": [{"tenant": "acme"}]})
    assert "forbidden" in callers["scraper"].bad(403, "POST", "/v1/warm", {})
    assert "scopes" in jane.bad(422, "POST", "/v1/warm", {"scopes": []})
    assert "scopes" in jane.bad(422, "POST", "/v1/warm", {"scopes": [{}] * 101})


# ---------------------------------------------------------------------- refused requests

BAD_BODIES: list[tuple[str, str, Any, str]] = [
    ("POST", "/v1/search", {}, "text"),
    ("POST", "/v1/search", {"text": "x", "k": 0}, "k:"),
    ("POST", "/v1/search", {"text": "x", "k": 101}, "k: expected at most 100"),
    ("POST", "/v1/search", {"text": "x", "k": "10"}, "k:"),
    ("POST", "/v1/search", {"text": "x", "k": True}, "k:"),
    ("POST", "/v1/search", {"text": "x", "k": 1.5}, "k:"),
    ("POST", "/v1/search", {"text": 5}, "text:"),
    ("POST", "/v1/search", {"query": "x"}, "query: unknown field, expected "),
    ("POST", "/v1/search", {"text": "x" * 20_001}, "text:"),
    ("POST", "/v1/search", {"text": "x", "mode": "magic"}, "mode:"),
    ("POST", "/v1/search", {"text": "x", "fusion": "magic"}, "fusion:"),
    ("POST", "/v1/search", {"text": "x", "fusion": {"method": "rrf", "gate": 1}}, "gate:"),
    ("POST", "/v1/search", {"text": "x", "fusion": {"method": "rrf", "k": -1}}, "k:"),
    ("POST", "/v1/search", {"text": "x", "exclude_ids": ["m1"]}, "exclude_ids:"),
    ("POST", "/v1/search", {"text": "x", "recall": 0}, "recall:"),
    ("POST", "/v1/search", {"text": "x", "mmr": 1.5}, "mmr:"),
    ("POST", "/v1/search", {"text": "x", "candidates": [1]}, "candidates:"),
    ("POST", "/v1/search", {"text": "x", "recency": {"weight": -1}}, "recency"),
    ("POST", "/v1/search", {"text": "x", "relevance": "perfect"}, "relevance:"),
    ("POST", "/v1/search", {"text": "x", "rankings": [[{"id": "m1"}]]}, "scope:"),
    ("POST", "/v1/explain", {"text": "x", "rankings": [["m1", 7]]}, "rankings"),
    ("POST", "/v1/search", {"text": "x", "filter": {"a": {"$where": 1}}}, "$where"),
    ("POST", "/v1/search", {"text": "x", "filter": {"a": {"$gt": None}}}, "$gt"),
    ("POST", "/v1/search", {"text": "x", "filter": []}, "filter:"),
    ("POST", "/v1/search", {"text": "x", "vector": [1.0, 2.0]}, "vector"),
    ("POST", "/v1/search", {"text": "x", "scopes": {}}, "scopes:"),
    (
        "POST",
        "/v1/search",
        {"text": "x", "scope": {"tenant": "acme", "role": "admin"}},
        "role: unknown field",
    ),
    ("POST", "/v1/search", {"text": "x", "scope": {"user": ""}}, "user:"),
    ("POST", "/v1/list", {"limit": 101}, "limit: expected at most 100"),
    ("POST", "/v1/list", {"offset": -1}, "offset:"),
    ("POST", "/v1/memories", {"memories": []}, "memories:"),
    ("POST", "/v1/memories", {"memories": [{"text": "x"}, {"text": None}]}, "memories.1.text"),
    (
        "POST",
        "/v1/memories",
        {"memories": [{"text": "x"}, {"text": "y", "created_at": "soon"}]},
        "created_at",
    ),
    ("POST", "/v1/memories", {"memories": [{"text": "x"}] * 1001}, "at most 1000"),
    ("PUT", "/v1/memories/m1", {"text": "x", "vector": [0.0] * 256}, "vector"),
    (
        "PUT",
        "/v1/memories/m1",
        {"text": "x", "vector": [0.0, "a"]},
        "vector.1: Input should be a valid number",
    ),
    ("PUT", "/v1/memories/m1", {"text": "x", "vector": [[0.0], []]}, "vector.1: List should have at least 1"),
    (
        "PUT",
        "/v1/memories/m1",
        {"text": "x", "vector": [[1.0] * 256] * 2, "passages": [[0, 1]]},
        "vector: expected",
    ),
    (
        "PUT",
        "/v1/memories/m1",
        {"text": "x", "passages": [[0, 2]]},
        "passages[0]: expected 0 <= start < end <= 1",
    ),
    ("PUT", "/v1/memories/m1", {"text": "x", "passages": []}, "passages: expected 1 to"),
    ("PUT", "/v1/memories/m1", {"text": "x", "passages": True}, "passages:"),
    ("PUT", "/v1/memories/m1", {"text": "x", "passages": [[0]]}, "passages.0:"),
    (
        "POST",
        "/v1/memories",
        {"memories": [{"text": "x", "passages": [[0, 1.5]]}]},
        "memories.0.passages.0.1",
    ),
    ("PUT", "/v1/memories/m1", {"text": "x", "ttl": 1, "expires_at": 5}, "ttl"),
    ("PUT", "/v1/memories/m1", {"text": "x", "id": "m2"}, "id:"),
    ("PATCH", "/v1/memories/m1", {}, "something to change"),
    ("PATCH", "/v1/memories/m1", {"text": None}, "text"),
    ("POST", "/v1/erase", {"scope": None}, "scope:"),
]


@pytest.mark.parametrize(("method", "path", "body", "said"), BAD_BODIES)
def test_invalid_requests_are_refused_by_name_and_write_nothing(
    index: Index, callers: dict[str, Caller], method: str, path: str, body: Any, said: str
) -> None:
    if body.get("vector") == [0.0] * 256 or method == "PATCH":
        callers["jane"].good("PUT", "/v1/memories/m1", {"text": "there"})
    before = len(index)
    caller = callers["joe" if path == "/v1/erase" else "jane"]
    told = caller.bad(422, method, path, body)
    assert told.startswith("invalid: ") and said in told and len(index) == before


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff", 400),
        (b'{"text": "\xff"}', 400),
        (b"[" * 100_000, 400),
        (b'{"text": ' + b"1" * 5000 + b"}", 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"text": "\\ud800"}', 422),
        (b'{"text": "x", "\\ud800": 1}', 422),
        (b'{"text": "x", "filter": {"\\ud800": 1}}', 422),
        (b'{"text": "x", "filter": {"a": "\\ud800"}}', 422),
        (b'{"text": "x", "min_score": NaN}', 422),
        (b'{"text": "x", "min_score": 1e999}', 422),
        (b'{"text": "x", "filter": {"a": NaN}}', 422),
        (b'{"text": "x", "filter": {"a": 1' + b"0" * 400 + b"}}", 422),
        (b'{"text": "x", "filter": ' + b'{"$not": ' * 200 + b"{}" + b"}" * 200 + b"}", 422),
        (b'{"text": "x", "text": "y"}', 200),
    ],
)
def test_malformed_request_bodies_get_their_status(local: Caller, content: bytes, status: int) -> None:
    answer = local.ask("POST", "/v1/search", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status
    if status != 200:
        models.Failure.model_validate(answer.json())


def test_only_json_is_taken_for_json(local: Caller) -> None:
    """This also prevents pages of other sites from sending requests without a CORS preflight."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        told = local.bad(415, "POST", "/v1/search", content=b'{"text": "x"}', headers={"content-type": kind})
        assert "application/json" in told
    assert "method_not_allowed" in local.bad(405, "GET", "/v1/search")
    assert "not_found" in local.bad(404, "GET", "/v1/none")
    assert "not_found" in local.bad(404, "GET", "/docs")


def test_a_vector_does_not_settle_the_dimension_for_everybody(local: Caller) -> None:
    assert "no dimension" in local.bad(422, "PUT", "/v1/memories/m1", {"text": "x", "vector": [1.0]})
    caller = Caller(create_app(Index(dim=2), grant=Grant("local", "acme")))
    caller.good("PUT", "/v1/memories/m1", {"text": "x", "vector": [1, 0.5]})
    found = caller.good("POST", "/v1/search", {"vector": [1.0, 0.5], "mode": "vector"})
    assert [hit["id"] for hit in found["hits"]] == ["m1"]
    assert "vector" in caller.bad(422, "PUT", "/v1/memories/m1", {"text": "x", "vector": [1.0]})


def test_half_a_surrogate_pair_that_is_stored_already_breaks_no_answer(index: Index) -> None:
    index.upsert("odd", "train", scope=ACME, metadata={"\ud800": "\udfff"})
    caller = Caller(create_app(index, grant=Grant("local", "acme")))
    assert caller.good("POST", "/v1/search", {"text": "train"})["hits"][0]["metadata"] == {"\ufffd": "\ufffd"}
    assert caller.good("POST", "/v1/list", {})["memories"][0]["metadata"] == {"\ufffd": "\ufffd"}
    put = b'{"text": "x", "metadata": {"a": ["\\udfff"]}}'
    told = caller.bad(422, "PUT", "/v1/memories/m", content=put, headers={"content-type": "application/json"})
    assert "surrogate" in told


def test_errors_of_the_store_tell_callers_nothing_of_it(index: Index, tmp_path: Path, caplog: Any) -> None:
    caller = Caller(create_app(index, grant=Grant("local", "acme")))
    caller.good("PUT", "/v1/memories/m1", {"text": "x"})
    index.close()
    for method, path, body in (
        ("POST", "/v1/search", {"text": "x"}),
        ("PUT", "/v1/memories/m1", {"text": "x"}),
        ("GET", "/v1/memories/m1", None),
        ("GET", "/health/ready", None),
    ):
        told = caller.bad(503, method, path, body)
        assert "unavailable" in told and str(tmp_path) not in told
    assert caller.good("GET", "/health/live") == {"status": "ok"}
    assert caller.ask("GET", "/metrics").status_code == 200


def test_internal_errors_are_logged_and_hidden_from_callers(monkeypatch: Any, caplog: Any) -> None:
    class Broken(Index):
        def search(self, *arguments: Any, **options: Any) -> Any:
            raise RuntimeError("secret detail")

    caller = Caller(create_app(Broken(), grant=Grant("local", "acme")))
    told = caller.bad(500, "POST", "/v1/search", {"text": "x"})
    assert told.startswith("internal") and "secret" not in told and "secret detail" in caplog.text


def test_searches_beside_writes_of_many_threads(index: Index) -> None:
    app = create_app(index, grant=Grant("local", "acme"), limits=Limits(rate=0))
    failures: list[str] = []

    def work(number: int) -> None:
        caller = Caller(app)
        for i in range(15):
            for answer in (
                caller.ask("PUT", f"/v1/memories/m{number}-{i}", {"text": f"train {number} {i}"}),
                caller.ask("POST", "/v1/search", {"text": f"train {number} {i}", "k": 3}),
                caller.ask("PATCH", f"/v1/memories/m{number}-{i}", {"metadata": {"i": i}}),
            ):
                if answer.status_code != 200:
                    failures.append(answer.text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == [] and index.count(ACME, filter={"i": {"$exists": True}}) == 60


def test_shutdown_waits_for_a_slow_write_before_closing_the_index() -> None:
    happened: list[str] = []
    begun = threading.Event()

    class Slow(Index):
        def upsert_many(self, *arguments: Any, **options: Any) -> int:
            begun.set()
            time.sleep(0.3)
            happened.append("written")
            return super().upsert_many(*arguments, **options)

        def close(self) -> None:
            happened.append("closed")
            super().close()

    app = create_app(Slow(), grant=Grant("local", "acme"), close_index=True)
    body = b'{"memories": [{"text": "x"}]}'
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"29")]
    request = {"type": "http", "method": "POST", "path": "/v1/memories", "raw_path": b"/v1/memories"}
    request |= {"query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": ""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        happened.append("answered")

    async def live() -> None:
        async with app.router.lifespan_context(app):
            asking = asyncio.create_task(
                app({**request, "headers": headers, "server": ("a", 1)}, receive, send)
            )
            while not begun.is_set():
                assert not asking.done()
                await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(live())
    assert happened == ["written", "closed"]


FIELD = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=5)
    | st.just({"tenant": "acme", "user": "joe"})
)
BODIES = st.dictionaries(
    st.sampled_from(
        ["text", "k", "scope", "filter", "ids", "mode", "memories", "exact", "metadata", "limit", "user"]
    ),
    FIELD
    | st.lists(FIELD, max_size=2)
    | st.sampled_from(["door code", {"user": {"$ne": "x"}}, {}, [{"text": "x"}]]),
    max_size=4,
)
PATHS = [
    "search",
    "explain",
    "list",
    "count",
    "erase",
    "memories",
    "memories/m1",
    "memories/joes",
    "whoami",
    "scopes",
    "map",
    "about",
]


CALL = st.tuples(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]), st.sampled_from(PATHS), BODIES)


@pytest.fixture(scope="module")
def guarded() -> tuple[Index, Caller]:
    index = Index()
    index.upsert("joes", SECRET, scope=JOE)
    index.upsert("other", SECRET, scope=Scope("globex", user="jane"))
    return index, Caller(create_app(index, grant=Grant("jane", "acme", "jane")))


@given(st.lists(CALL, max_size=4))
def test_random_requests_never_reach_another_scope(
    guarded: tuple[Index, Caller], requests: list[tuple[str, str, Any]]
) -> None:
    index, caller = guarded
    for method, path, body in requests:
        answer = caller.ask(method, f"/v1/{path}", body)
        assert answer.status_code < 500 and SECRET not in answer.text
    kept = [index.get("joes", scope=JOE), index.get("other", scope=Scope("globex", user="jane"))]
    assert [record.text for record in kept if record is not None] == [SECRET, SECRET]


def test_the_openapi_document_covers_every_route() -> None:
    document = create_app(Index()).openapi()
    assert json.dumps(document)
    assert "Every request names a scope" in document["info"]["description"]  # for callers, not a docstring
    paths = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert {"PUT /v1/memories/{id}", "POST /v1/search", "GET /health/live", "GET /metrics"} <= paths
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == path.startswith("/v1/"), path
