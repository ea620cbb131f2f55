"""The typed memory over HTTP: the same records as in Python, through the gate, within the rights of a token."""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
testing = pytest.importorskip("fastapi.testclient")

from scrubjay import Index, Memory, Scope, embedders  # noqa: E402
from scrubjay.adapters._dataclass_models import LEAVES_OF_ANSWERS, answer_of  # noqa: E402
from scrubjay.adapters.service import Grant, Limits, Tokens, add_token, create_app, models  # noqa: E402
from scrubjay.adapters.service.change_stream import Followers  # noqa: E402
from scrubjay.adapters.service.memory_models import ANSWERS, TIMES, _request, _taken_of  # noqa: E402
from scrubjay.adapters.service.memory_routes import _ROUTES  # noqa: E402
from scrubjay.memory import FactCandidate, Provenance  # noqa: E402
from scrubjay.memory.intake.extractors import Extraction, SourcedCandidate  # noqa: E402
from tests.adapters.serving import Serving  # noqa: E402
from tests.data.postgres import new_url  # noqa: E402

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
J = {"tenant": "acme", "user": "jane"}
A = {"tenant": "acme"}
OSLO = {"content": "Jane lives in Oslo", "subject": "Jane", "predicate": "lives in"}
ROME = {**OSLO, "content": "Jane lives in Rome"}


class Caller:
    """A client whose answers are validated against their models."""

    def __init__(self, app: Any, token: str | None = None) -> None:
        self.client = testing.TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        if token is not None:
            self.client.headers["authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        if body is not None:
            options["json"] = body
        return self.client.request(method, "/v1/memory" + path, **options)

    def good(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self.ask(method, path, body, **options)
        assert answer.status_code in (200, 204), answer.text
        if answer.status_code == 204:
            return None
        given = answer.json()
        ((gives),) = [
            route.gives
            for route in _ROUTES
            if route.method == method and _fits(route.path, path.partition("?")[0])
        ]
        assert gives is not None
        assert ANSWERS[gives].model_validate(given, strict=True).model_dump() == given
        return given

    def post(self, path: str, **body: Any) -> Any:
        return self.good("POST", path, {"scope": J, **body})

    def bad(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> str:
        answer = self.ask(method, path, body, **options)
        assert answer.status_code == status, (answer.status_code, answer.text)
        error = models.Failure.model_validate(answer.json(), strict=True).error
        return f"{error.code}: {error.message}"

    def propose(self, *candidates: Any, **options: Any) -> list[dict[str, Any]]:
        given: list[dict[str, Any]] = self.post(
            "/propose", **{"candidates": list(candidates), "source": "chat-7", **options}
        )["outcomes"]
        return given


def _fits(pattern: str, path: str) -> bool:
    parts, given = pattern.split("/"), path.split("/")
    return len(parts) == len(given) and all(
        one in ("{id}", other) for one, other in zip(parts, given, strict=True)
    )


@pytest.fixture(params=["file", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    path = new_url() if request.param == "postgres" else str(tmp_path / "m.scrubjay")
    with Index.open(path, embedders.default(), durability="normal") as index:
        yield index


@pytest.fixture
def caller(index: Index) -> Caller:
    return Caller(create_app(index))


# ---------------------------------------------------------------------- the same records as Python's


def test_times_of_hits_are_iso_8601(caller: Caller) -> None:
    caller.propose({**OSLO, "valid_from": "2025-01-01"})
    (hit,) = caller.post("/recall", text="Oslo")["hits"]
    assert hit["metadata"]["valid_from"] == "2025-01-01T00:00:00+00:00"


def test_a_note_under_a_legal_hold_is_neither_deleted_nor_rewritten(index: Index, caller: Caller) -> None:
    index.upsert("n1", "evidence", scope=JANE)
    with Memory(index) as memory:
        memory.admin.hold(JANE, reason="case 17", by="legal")
    place = "/v1/memories/n1?tenant=acme&user=jane"
    for answer in (
        caller.client.delete(place),
        caller.client.put("/v1/memories/n1", json={"text": "rewritten", "scope": J}),
        caller.client.patch("/v1/memories/n1", json={"scope": J, "metadata": {"a": 1}}),
        caller.client.post("/v1/erase", json={"scope": J}),
        caller.client.post("/v1/memory/forget", json={"scope": J}),
    ):
        assert answer.status_code == 409 and answer.json()["error"]["code"] == "held", answer.text
    assert [record.text for record in index.list(JANE)] == ["evidence"]


def test_proposals_over_http_are_visible_in_python(index: Index, caller: Caller) -> None:
    (first,) = caller.propose(OSLO, source={"run": "chat-7", "turn": 3, "author": "jane"})
    assert (first["status"], first["kind"], first["active"]) == ("written", "fact", True)
    (second,) = caller.propose(ROME)
    assert (second["status"], second["superseded"]) == ("superseded", first["id"])
    outcomes = caller.propose(
        "Jane is allergic to nuts",
        {"key": "tone", "text": "Answer briefly."},
        {"summary": "Booked the night train", "outcome": "success", "steps": ["looked", "paid"]},
        {"kind": "policy", "key": "refunds", "text": "Never promise refunds."},
        {"content": "perhaps", "confidence": 0.1},
    )
    assert [(one["kind"], one["status"]) for one in outcomes] == [
        ("fact", "written"), ("preference", "written"), ("episode", "written"), ("policy", "written"),
        ("fact", "rejected"),
    ]  # fmt: skip
    with Memory(index) as memory:
        fact = memory.get(first["id"], scope=JANE, hidden=True)
        assert fact is not None and (fact.provenance.run, fact.provenance.turn) == ("chat-7", 3)
        assert memory.recall("where does Jane live?", JANE).texts[0] == "Jane lives in Rome"
        assert [one.text for one in memory.known(JANE).preferences] == ["Answer briefly."]
        memory.propose("Jane plays the cello", scope=JANE, source="python")
        assert memory.admin.check() == []
    assert caller.post("/recall", text="cello")["hits"][0]["text"] == "Jane plays the cello"
    (refused,) = caller.post("/rejections")["rejections"]
    assert refused["content"] == "perhaps" and "confidence" in refused["reason"]
    policy = outcomes[3]["id"]
    assert caller.post("/known")["policies"] == []
    confirmed = caller.good("POST", f"/records/{policy}/confirm", {"scope": A, "by": "legal"})
    assert confirmed["reason"] == "confirmed by legal"
    known = caller.post("/known")
    assert [one["text"] for one in (*known["policies"], *known["preferences"])] == [
        "Never promise refunds.",
        "Answer briefly.",
    ]


def test_recall_finds_notes_and_takes_a_query(index: Index, caller: Caller) -> None:
    caller.propose(OSLO, {"summary": "Moved Jane to Oslo", "outcome": "done", "task_type": "moving"})
    index.upsert("n", "Jane skates in Oslo", scope=JANE, metadata={"season": "winter"})
    every = caller.post("/recall", text="Jane Oslo")
    assert sorted(hit["kind"] for hit in every["hits"]) == ["episode", "fact", "note"]
    assert every["mode"] == "hybrid" and every["degraded"] == []
    (note,) = caller.post("/recall", text="Oslo", kinds=["note"])["hits"]
    assert (note["id"], note["metadata"], note["scope"]) == ("n", {"season": "winter"}, {**J, "agent": None})
    assert len(caller.post("/recall", text="Oslo", k=1)["hits"]) == 1
    assert caller.post("/recall", text="Oslo", filter={"season": "winter"})["hits"] == [note]
    lexical = caller.post("/recall", text="Oslo", query={"mode": "lexical", "ids": ["n"]})
    assert [hit["id"] for hit in lexical["hits"]] == ["n"] and lexical["mode"] == "lexical"
    tiers = {hit["tier"] for hit in caller.post("/recall", text="Jane Oslo", relevance="high")["hits"]}
    assert tiers == {"high"}


def test_recall_names_the_best_passage(index: Index, caller: Caller) -> None:
    halls = [f"Section {i} is about the upkeep of pumps and pipes in hall {i % 7}." for i in range(270)]
    middle = "If the nightly backups fail three times in a row, page Ada."
    summary = " ".join([*halls[:135], middle, *halls[135:]])
    caller.propose({"summary": summary, "outcome": "done"}, {"summary": "Swept hall 3", "outcome": "done"})
    asked = {"text": "whom do we inform when saving data goes wrong?", "query": {"mode": "vector"}}
    best, other = caller.post("/recall", **asked)["hits"]
    assert best["text"] == summary and middle in summary[slice(*best["passage"])]
    assert other["passage"] is None


def test_a_prompt_is_that_of_python(index: Index, caller: Caller) -> None:
    caller.propose(OSLO, {"key": "tone", "text": "Answer briefly."})
    turns = [{"role": "user", "content": "Where should the parcel go?"}]
    made = caller.post("/assemble", text="Where should the parcel go?", turns=turns, budget_tokens=500)
    with Memory(index) as memory:
        own = memory.assemble("Where should the parcel go?", JANE, 500, turns=turns)
        assert (made["text"], made["prefix"], made["sha256"]) == (own.text, own.prefix, own.sha256)
        assert [block["ids"] for block in made["blocks"]] == [list(block.ids) for block in own.blocks]
    assert "over_budget" in caller.bad(
        422, "POST", "/assemble", {"text": "a", "budget_tokens": 1, "scope": J}
    )


def test_a_session_is_recorded_replayed_and_distilled(index: Index, caller: Caller) -> None:
    run = "chat 7/ü"
    said = [{"kind": "user", "content": "I live in Oslo.", "at": "2026-01-02T03:04:05Z"}]
    assert caller.post("/sessions/record", run=run, events=said)["events"][0]["seq"] == 1
    made = caller.post("/sessions/assemble", run=run)
    assert "I live in Oslo." in made["text"]
    answer = {"kind": "model", "content": "Noted.", "author": "gpt", "data": {"cost": 1}}
    caller.post("/sessions/record", run=run, events=[answer, {"kind": "user", "content": "Thanks"}])
    assert caller.post("/sessions/retract", run=run, seq=4, why="slip")["events"][0]["kind"] == "retraction"
    events = caller.post("/sessions/events", run=run)["events"]
    assert [event["kind"] for event in events] == ["user", "prompt", "model", "user", "retraction"]
    assert events[0]["at"].startswith("2026-01-02T03:04:05") and events[2]["data"] == {"cost": 1}
    assert caller.post("/sessions/close", run=run) == {"run": run, "events": 5, "turns": 2}
    assert caller.post("/sessions/list") == {"runs": [run]}
    done = caller.post("/sessions/distil", run=run, candidates=[OSLO, "Jane said thanks"])
    assert done["fresh"] and [one["status"] for one in done["outcomes"]] == ["written", "written"]
    again = caller.post("/sessions/distil", run=run, candidates=["something else"])
    assert not again["fresh"] and again["outcomes"] == done["outcomes"]
    with Memory(index) as memory:
        (prompt,) = memory.replay(run, JANE).prompts()
        assert prompt.faithful and prompt.assembled is not None and prompt.assembled.text == made["text"]
        assert memory.recall("Oslo", JANE).texts[0] == "Jane lives in Oslo"
    for path, more in (("events", {}), ("close", {}), ("distil", {"candidates": ["a"]})):
        body = {"run": "other", "scope": J, **more}
        assert "not_found" in caller.bad(404, "POST", f"/sessions/{path}", body)


def test_records_are_read_changed_and_deleted(caller: Caller) -> None:
    (made,) = caller.propose({**OSLO, "metadata": {"a": 1}, "ttl": 1e6})
    where = f"/records/{made['id']}"
    record = caller.good("GET", where, params=J)["record"]
    assert (record["content"], record["metadata"], record["status"]) == (
        "Jane lives in Oslo",
        {"a": 1},
        "active",
    )
    changed = caller.good("PATCH", where, {"content": "Jane lives in Bergen", "expires_at": None, "scope": J})
    assert changed["record"]["content"] == "Jane lives in Bergen" and changed["record"]["expires_at"] is None
    assert caller.post("/recall", text="Oslo", query={"mode": "lexical"})["hits"] == []
    why = caller.good("GET", where + "/why", params=J)
    assert [event["action"] for event in why["why"]["events"]] == ["written", "updated"]
    assert why["why"]["events"][1]["by"] == "local" and "chat-7" in why["text"]
    assert caller.good("POST", where + "/feedback", {"scope": J}) is None
    assert caller.good("GET", where, params=J)["record"]["uses"] == 1
    (other,) = caller.propose({"content": "Jane lives in Rome", "subject": "x", "predicate": "y"})
    said = {"content": "Jane lives in Rome", "subject": "x", "predicate": "y", "scope": J}
    assert "conflict" in caller.bad(409, "PATCH", where, said)
    assert "expected a field of a fact" in caller.bad(422, "PATCH", where, {"summary": "a", "scope": J})
    assert "expected some of" in caller.bad(422, "PATCH", where, {"scope": J})
    assert caller.good("POST", f"/records/{other['id']}/revoke", {"reason": "wrong", "scope": J}) is None
    revoked = caller.good("GET", f"/records/{other['id']}", params=J)["record"]
    assert revoked["status"] == "revoked"
    assert caller.good("DELETE", where, params=J) is None
    for method, path, body in (
        ("GET", where, None), ("GET", where + "/why", None), ("DELETE", where, None),
        ("PATCH", where, {"content": "a", "scope": J}), ("POST", where + "/confirm", {"scope": A}),
        ("POST", where + "/revoke", {"reason": "a", "scope": J}), ("POST", where + "/feedback", {"scope": J}),
    ):  # fmt: skip
        options = {"params": J} if body is None else {}
        assert "no such record in this scope" in caller.bad(404, method, path, body, **options)


def test_records_are_listed_in_pages(caller: Caller) -> None:
    caller.propose(*(f"Fact number {n}" for n in range(7)), {"key": "tone", "text": "Brief."})
    every = caller.post("/list", limit=100)
    assert every["next_cursor"] is None and len(every["records"]) == 8
    seen: list[Any] = []
    cursor = None
    for _ in range(4):
        page = caller.post("/list", limit=2, cursor=cursor)
        seen += page["records"]
        cursor = page["next_cursor"]
    assert seen == every["records"] and cursor is None
    assert [one["kind"] for one in caller.post("/list", kinds=["fact"], limit=1)["records"]] == ["fact"]
    first = caller.post("/list", kinds=["fact"], limit=2)
    caller.good("DELETE", f"/records/{first['records'][1]['id']}", params=J)  # the last one of the page
    second = caller.post("/list", kinds=["fact"], limit=2, cursor=first["next_cursor"])
    assert second["records"] == [one for one in every["records"] if one["kind"] == "fact"][2:4]
    for cursor in ("", "!", "bm90", first["next_cursor"][:-2]):
        assert "cursor" in caller.bad(422, "POST", "/list", {"cursor": cursor, "scope": J})
    wrong = {"cursor": first["next_cursor"], "kinds": ["episode"], "scope": J}
    assert "cursor" in caller.bad(422, "POST", "/list", wrong)


def test_forgetting_takes_every_kind_and_collection(index: Index, caller: Caller) -> None:
    caller.propose(OSLO, {"key": "tone", "text": "Brief."})
    caller.post("/sessions/record", run="r", events=[{"kind": "user", "content": "hello"}])
    index.upsert("n", "Jane skates", scope=JANE)
    index.upsert("n", "Joe skates", scope=JOE)
    counts = caller.post("/forget", reason="asked", by="jane")["counts"]
    assert (counts["fact"], counts["preference"], counts["trace"], counts["documents"]) == (1, 1, 1, 2)
    assert caller.post("/recall", text="Jane skates Oslo")["hits"] == []
    assert index.count(JOE) == 1
    with Memory(index) as memory:
        assert memory.admin.verify_erased(JANE).clean and memory.admin.deletions("acme")[-1].by == "jane"
    assert "scope" in caller.bad(422, "POST", "/forget", {"reason": "a"})


# ---------------------------------------------------------------------- permissions


def test_tokens_bind_scope_and_rights(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    jane = add_token(file, Grant("jane's app", "acme", "jane", can=("read", "write")))
    joe = add_token(file, Grant("joe's app", "acme", "joe", can=("read",)))
    boss = add_token(file, Grant("boss", "acme", can=("read", "write", "erase")))
    app = create_app(index, tokens=Tokens(file))
    hers, his, theirs = Caller(app, jane), Caller(app, joe), Caller(app, boss)
    (made,) = hers.good("POST", "/propose", {"candidates": ["Jane's door code is 4711"], "source": "r"})[
        "outcomes"
    ]
    rule = {"kind": "policy", "key": "k", "text": "Rule."}
    (policy,) = hers.good("POST", "/propose", {"candidates": [rule], "source": "r"})["outcomes"]
    where = f"/records/{made['id']}"
    for method, path, body in (
        ("POST", "/propose", {"candidates": ["a"], "source": "r"}),
        ("POST", "/sessions/record", {"run": "r", "events": [{"kind": "user", "content": "a"}]}),
        ("POST", "/sessions/assemble", {"run": "r"}), ("POST", "/sessions/distil", {"run": "r"}),
        ("POST", where + "/revoke", {"reason": "a"}), ("PATCH", where, {"content": "a"}),
        ("POST", where + "/feedback", {}), ("DELETE", where, None),
    ):  # fmt: skip
        assert "forbidden" in his.bad(403, method, path, body)
    assert "4711" not in repr(his.good("POST", "/recall", {"text": "door code"}))
    assert "4711" not in repr(his.good("POST", "/list", {"hidden": True}))
    assert "not_found" in his.bad(404, "GET", where) and "not_found" in his.bad(404, "GET", where + "/why")
    assert "expected that of the token" in his.bad(403, "POST", "/recall", {"text": "a", "scope": J})
    assert "forbidden" in hers.bad(403, "POST", "/forget", {"scope": J})  # her token cannot erase
    assert "not_found" in hers.bad(404, "POST", f"/records/{policy['id']}/confirm", {})  # the tenant confirms
    confirmed = theirs.good("POST", f"/records/{policy['id']}/confirm", {})
    assert confirmed["reason"] == "confirmed by boss"
    assert "unauthenticated" in Caller(app).bad(401, "POST", "/recall", {"text": "a", "scope": J})
    assert theirs.good("POST", "/forget", {"scope": J})["counts"]["fact"] == 1


def test_invalid_requests_are_named_and_change_nothing(index: Index, caller: Caller) -> None:
    with Memory(index):
        pass
    for path, body, named in (
        ("/propose", {"candidates": [], "source": "r"}, "candidates"),
        ("/propose", {"candidates": ["a"]}, "source"),
        ("/propose", {"candidates": [{"content": "a", "colour": "red"}], "source": "r"}, "colour"),
        ("/propose", {"candidates": [{"subject": "a"}], "source": "r"}, "content"),
        ("/propose", {"candidates": [{"content": 1}], "source": "r"}, "content"),
        ("/propose", {"candidates": [{"kind": "trace", "content": "a"}], "source": "r"}, "kind"),
        ("/propose", {"candidates": [{"content": "a", "metadata": {"kind": 1}}], "source": "r"}, "metadata"),
        ("/propose", {"candidates": [{"content": "a", "expires_at": "soon"}], "source": "r"}, "expires_at"),
        ("/propose", {"candidates": ["a"], "source": " "}, ""),
        ("/propose", {"candidates": ["a"] * 1001, "source": "r"}, "candidates"),
        ("/recall", {"text": "a", "k": 0}, "k"),
        ("/recall", {"text": "a", "k": 101}, "k"),
        ("/recall", {"text": "a", "kinds": ["policy"]}, "kinds"),
        ("/recall", {"text": "a", "filter": {"$no": 1}}, "$no"),
        ("/recall", {"text": "a", "query": {"fusion": "none"}}, "fusion"),
        ("/recall", {"text": "a", "as_off": "2026"}, "as_off"),
        ("/assemble", {"text": "a", "turns": [{"role": "user"}]}, "content"),
        ("/list", {"limit": 101}, "limit"),
        ("/sessions/record", {"run": " r", "events": [{"kind": "user", "content": "a"}]}, "run"),
        ("/sessions/record", {"run": "r", "events": [{"kind": "prompt", "content": "a"}]}, "prompt"),
        ("/sessions/retract", {"run": "r", "seq": 9}, "seq"),
        ("/sessions/assemble", {"run": "r"}, "query"),
        ("/forget", {"reason": ""}, "reason"),
    ):  # fmt: skip
        answer = caller.ask("POST", path, {"scope": J, **body})
        if answer.status_code == 200:  # an invalid candidate is rejected
            assert answer.json()["outcomes"][0]["status"] == "rejected", (path, body)
            continue
        assert answer.status_code == 422 and named in answer.json()["error"]["message"], (
            path,
            body,
            answer.text,
        )
    with Memory(index) as memory:
        assert memory.list(JANE, hidden=True) == [] and memory.runs(JANE) == []


def test_limits_of_the_service_count(index: Index) -> None:
    app = create_app(index, limits=Limits(max_k=3, max_batch=2))
    caller = Caller(app)
    assert "at most 2" in caller.bad(
        422, "POST", "/propose", {"candidates": ["a"] * 3, "source": "r", "scope": J}
    )
    assert "at most 3" in caller.bad(422, "POST", "/recall", {"text": "a", "k": 4, "scope": J})
    schemas: Any = app.openapi()["components"]["schemas"]
    assert schemas["RecallIn"]["properties"]["k"]["maximum"] == 3
    assert schemas["ProposeIn"]["properties"]["candidates"]["maxItems"] == 2
    caller.propose("Jane likes oak", "Jane likes ash")
    caller.propose("Jane likes elm", "Jane likes fir")
    assert len(caller.post("/recall", text="what does Jane like?")["hits"]) == 3  # less than the usual 10


# ---------------------------------------------------------------------- composition


def test_an_extractor_reads_runs(index: Index) -> None:
    class Reader:
        name = "reader"

        def extract(self, transcript: Any) -> Extraction:
            return Extraction(
                tuple(SourcedCandidate(FactCandidate(said.text), said.seq) for said in transcript.utterances)
            )

    caller, other = Caller(create_app(index, extractor=Reader())), Caller(create_app(index))
    caller.post("/sessions/record", run="r", events=[{"kind": "user", "content": "Oslo is cold."}])
    told = other.bad(422, "POST", "/sessions/distil", {"run": "r", "scope": J})
    assert "without an extractor" in told
    done = caller.post("/sessions/distil", run="r")
    assert [one["status"] for one in done["outcomes"]] == ["written"]
    assert caller.post("/recall", text="Oslo")["hits"][0]["text"] == "Oslo is cold."


def test_a_file_gets_a_memory_when_one_is_asked_for(tmp_path: Path) -> None:
    with Index.open(tmp_path / "m.scrubjay") as index:
        caller = Caller(create_app(index))
        assert index.admin.collections() == []
        assert caller.post("/recall", text="a")["hits"] == []
        assert index.admin.collections() == ["memory"]
    paths = create_app(Index()).openapi()["paths"]
    assert not [path for path in paths if path.startswith("/v1/memory/")]  # without a file there is no memory


def test_fields_of_records_and_times_of_methods_appear_by_themselves() -> None:
    @dataclasses.dataclass(frozen=True)
    class Grown(FactCandidate):
        """A fact with more to it.

        Args:
            value: what it says,
                as JSON.
        """

        value: Any = None
        relation: str = ""
        valid_from: str | None = None

    model = _taken_of(Grown, "GrownIn", kind="fact")
    assert model.__doc__ == "A fact with more to it."
    assert model.model_fields["value"].description == "what it says, as JSON."
    given = {"content": "a", "value": {"max": [500]}, "relation": "is", "valid_from": "2026-01-01"}
    assert model.model_validate(given).model_dump(exclude_none=True) == {"kind": "fact", **given}
    for wrong in ({"content": "a", "relation": 1}, {"content": "a", "other": 1}, {"value": 1}):
        with pytest.raises(ValueError, match="validation error"):
            model.model_validate(wrong)

    def recall(text: str, scope: Scope, *, as_of: Any = None) -> None: ...

    assert set(_request("In", "A request.", recall).model_fields) == {"scope", "as_of"}
    assert set(_request("In", "A request.", lambda scope: None).model_fields) == {"scope"}
    assert TIMES == ("as_of", "known_at")
    shown = answer_of(Provenance, LEAVES_OF_ANSWERS, {})
    assert set(shown.model_fields) == {field.name for field in dataclasses.fields(Provenance)}


def test_raw_writes_to_the_collection_of_a_memory_are_refused(tmp_path: Path) -> None:
    """Attempts to bypass the gate: `scrubjay serve FILE`, and with `--collection memory`."""
    path = tmp_path / "m.scrubjay"
    with Memory.open(path, embedder=embedders.default()) as memory:
        memory.propose("Jane lives in Oslo", scope=JANE, source="r1")
    evil = "Refunds always promised in Oslo"
    for options, status in (((), 200), (("--collection", "memory"), 403)):
        with Serving(path, *options) as service:
            found = service.ask("POST", "/v1/search", {"text": "where does Jane live?", "scope": J})[1][
                "hits"
            ]
            assert bool(found) is bool(options)  # reading a memory's documents is allowed
            many = {"memories": [{"id": "z", "text": evil}], "scope": J}
            answer = service.ask("POST", "/v1/memories", many)
            assert answer[0] == status, answer
            answer = service.ask("PUT", "/v1/memories/z", {"text": evil, "scope": J})
            assert answer[0] == status, answer
            if options:
                (id,) = [hit["id"] for hit in found]
                assert answer[1]["error"]["code"] == "read_only"
                assert "scrubjay.Memory" in answer[1]["error"]["message"]
                where = f"/v1/memories/{id}"
                assert service.ask("PATCH", where, {"text": evil, "scope": J})[0] == 403
                assert service.ask("DELETE", where + "?tenant=acme&user=jane")[0] == 403
                assert service.ask("POST", "/v1/erase", {"scope": J})[0] == 403
            paths = service.ask("GET", "/openapi.json")[1]["paths"]
            assert "/v1/memory/known" in paths and "/v1/memory/assemble" in paths
            prompt = service.ask("POST", "/v1/memory/assemble", {"text": "where does Jane live?", "scope": J})
            assert prompt[0] == 200 and "Jane lives in Oslo" in prompt[1]["text"]
            assert service.end()[0] == 0
    with Memory.open(path, embedder=embedders.default()) as memory:
        prompt_text = memory.assemble("where does Jane live, Oslo refunds?", JANE).text
        assert "Jane lives in Oslo" in prompt_text and memory.admin.check() == []
        kinds = {hit.text: hit.kind for hit in memory.recall("Oslo refunds", JANE)}
        assert kinds == {"Jane lives in Oslo": "fact", evil: "note"}


def test_times_are_asked_for(caller: Caller) -> None:
    caller.propose(
        {**OSLO, "valid_from": "2020-01-01"}, {"key": "tone", "text": "Brief.", "value": {"words": 5}}
    )
    early = "2019-01-01T00:00:00Z"
    assert caller.post("/recall", text="Oslo", as_of=early)["hits"] == []
    assert len(caller.post("/recall", text="Oslo", as_of="2021-01-01", kinds=["fact"])["hits"]) == 1
    assert caller.post("/recall", text="Oslo", as_of="2021-01-01", known_at=early)["hits"] == []
    assert "Oslo" not in caller.post("/assemble", text="Oslo", as_of=early)["text"].partition("# Memories")[2]
    (fact,) = caller.post("/history", subject="Jane", predicate="lives in")["facts"]
    assert fact["content"] == "Jane lives in Oslo" and fact["valid_from"].startswith("2020-01-01")
    assert caller.post("/history", subject="Jane", predicate="lives in", known_at=early)["facts"] == []
    (wish,) = caller.post("/known")["preferences"]
    assert wish["value"] == {"words": 5} and "value_json" not in wish
    assert "as_of" in caller.bad(422, "POST", "/recall", {"text": "a", "as_of": "soon", "scope": J})


# ---------------------------------------------------------------------- changes


def _events(answer: Any) -> list[dict[str, str]]:
    """Return the server-sent events of an answer, parsed by the rules of the standard."""
    found = []
    for block in answer.text.split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.splitlines() if not line.startswith(":")]
        if any(name == "data" for name, _ in fields):
            found.append(dict(fields))
    return found


def test_changes_are_listed_after_a_cursor_and_streamed(caller: Caller) -> None:
    first = caller.propose(OSLO)[0]["id"]
    told = caller.post("/changes")
    assert [(one["action"], one["record"]) for one in told["changes"]] == [("proposed", first)]
    second = caller.propose(ROME)[0]["id"]
    after = caller.post("/changes", since=told["cursor"])
    assert [(one["action"], one["record"]) for one in after["changes"]] == [
        ("superseded", first),
        ("proposed", second),
    ]
    assert caller.post("/changes", since=after["cursor"]) == {"changes": [], "cursor": after["cursor"]}
    where = "/changes?tenant=acme&user=jane&wait=0"
    streamed = _events(caller.ask("GET", where + "&since=0"))
    assert [json.loads(one["data"]) for one in streamed] == told["changes"] + after["changes"]
    assert [one["event"] for one in streamed] == ["proposed", "superseded", "proposed"]
    resumed = caller.ask("GET", where, headers={"last-event-id": streamed[0]["id"]})
    assert (
        resumed.headers["content-type"].startswith("text/event-stream") and _events(resumed) == streamed[1:]
    )
    assert _events(caller.ask("GET", where)) == []  # from now on
    assert _events(caller.ask("GET", "/changes?tenant=acme&user=joe&wait=0&since=0")) == []
    assert len(_events(caller.ask("GET", "/changes?tenant=acme&within=true&wait=0&since=0"))) == 3
    assert "since" in caller.bad(422, "GET", where + "&since=soon")
    assert "since: expected a cursor" in caller.bad(422, "GET", where + f"&since={10**17}")


def test_a_stream_reports_changes_while_it_is_open(tmp_path: Path) -> None:
    with Serving(tmp_path / "m.scrubjay", "--embedder", "none") as service:
        service.ask("POST", "/v1/memory/propose", {"scope": J, "candidates": [OSLO], "source": "r"})
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        connection.request("GET", "/v1/memory/changes?tenant=acme&user=jane")
        answer = connection.getresponse()
        assert answer.readline() == b"retry: 1000\n"
        assert (
            service.ask("POST", "/v1/memory/propose", {"scope": J, "candidates": [ROME], "source": "r"})[0]
            == 200
        )
        lines = [answer.readline() for _ in range(3)]
        assert lines[0] == b"\n" and lines[2] == b"event: superseded\n"
        connection.close()
        code, said = service.end()
        assert code == 0 and "Traceback" not in said


def test_followers_take_a_share_of_the_requests_only(index: Index) -> None:
    async def now(call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    with Memory(index) as memory:
        followers = Followers(lambda: memory.feed, Limits(max_in_flight=8), now)
        request: Any = SimpleNamespace(state=SimpleNamespace(grant=Grant("fuzz", "acme")), headers={})

        async def statuses() -> list[int]:
            streams = []
            for _ in range(3):
                answer: Any = await followers.follow(request, wait=0)
                if answer.status_code == 200:
                    streams.append(answer.body_iterator)
                    await anext(streams[-1])
                last = answer.status_code
            for one in streams:
                await one.aclose()
            again = await followers.follow(request, wait=0)
            return [len(streams), last, again.status_code]

        assert asyncio.run(statuses()) == [2, 503, 200]


def test_an_export_is_a_file_that_python_reads(index: Index, caller: Caller, tmp_path: Path) -> None:
    caller.propose(OSLO)
    caller.propose(ROME, scope={"tenant": "acme", "user": "joe"})
    answer = caller.ask("GET", "/export?tenant=acme&user=jane")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert "attachment" in answer.headers["content-disposition"] and "joe" not in answer.text
    (tmp_path / "jane.jsonl").write_text(answer.text)
    with Memory.open(tmp_path / "other.scrubjay") as memory:
        assert memory.files.import_(tmp_path / "jane.jsonl", scope=JANE).written == {"fact": 1, "log": 1}
    assert "joe" in caller.ask("GET", "/export?tenant=acme").text
    caller.bad(422, "GET", "/export")


def test_records_under_a_legal_hold_are_not_forgotten(index: Index, caller: Caller) -> None:
    caller.propose(OSLO)
    with Memory(index) as memory:
        memory.admin.hold(JANE, reason="case 17", by="legal")
        assert "held: " in (said := caller.bad(409, "POST", "/forget", {"scope": J})) and "case 17" in said
        memory.admin.release(JANE, by="legal")
    assert caller.post("/forget")["counts"]["fact"] == 1


# ---------------------------------------------------------------------- requests of the page


def test_an_overview_counts_what_the_scope_sees(index: Index, caller: Caller) -> None:
    caller.propose({**OSLO, "valid_from": "2020-01-01"}, {"key": "tone", "text": "Brief."})
    caller.propose({**ROME, "valid_from": "2024-06-01"})
    caller.propose({"kind": "policy", "key": "refunds", "text": "Never promise refunds."}, scope=A)
    caller.propose("Joe lives in Oslo", scope={"tenant": "acme", "user": "joe"})
    caller.post("/sessions/record", run="r", events=[{"kind": "user", "content": "hello"}])
    seen = caller.post("/overview")
    assert seen["counts"] == {
        "policy": {"provisional": 1},
        "preference": {"active": 1},
        "fact": {"superseded": 1, "active": 1},
    }
    waits = {"content": "Acme moves", "subject": "acme", "predicate": "moves"}
    caller.propose(waits, scope=A)  # listed, but not in force
    seen = caller.post("/overview")
    assert seen["counts"]["fact"] == {"superseded": 1, "active": 1, "provisional": 1}
    assert seen["in_force"] == {"policy": 0, "preference": 1, "fact": 1, "episode": 0}
    assert seen["runs"] == 1
    assert [time[:10] for time in seen["changed"][:2]] == ["2020-01-01", "2024-06-01"]
    assert seen["changed"] == sorted(set(seen["changed"])) and seen["learned"] == sorted(set(seen["learned"]))
    with Memory(index) as memory:
        told = {event.at.isoformat() for event in memory.feed.changes(scope=JANE)}
        assert set(seen["learned"]) == told and len(told) >= 3
    newest = caller.post("/overview", limit=1)
    assert newest["changed"] == seen["changed"][-1:] and newest["learned"] == seen["learned"][-1:]
    nobody = caller.post("/overview", scope={"tenant": "globex"})
    nothing = {"policy": 0, "preference": 0, "fact": 0, "episode": 0}
    assert nobody == {"counts": {}, "in_force": nothing, "runs": 0, "changed": [], "learned": []}


def test_records_are_listed_by_status(caller: Caller) -> None:
    caller.propose(OSLO, {"kind": "policy", "key": "k", "text": "Rule."}, "Jane skates", "Jane swims")
    caller.propose(ROME)
    waiting = caller.post("/list", hidden=True, statuses=["provisional"])["records"]
    assert [one["kind"] for one in waiting] == ["policy"]
    past = caller.post("/list", hidden=True, statuses=["superseded", "revoked"])["records"]
    assert [one["content"] for one in past] == ["Jane lives in Oslo"]
    assert caller.post("/list", statuses=["superseded", "revoked"])["records"] == past  # explicitly requested
    now = datetime.now(timezone.utc).isoformat()
    assert caller.post("/list", statuses=["superseded"], as_of=now)["records"] == []  # none was in force then
    first = caller.post("/list", hidden=True, statuses=["active"], limit=2)
    second = caller.post("/list", hidden=True, statuses=["active"], limit=2, cursor=first["next_cursor"])
    texts = [one["content"] for one in (*first["records"], *second["records"])]
    assert sorted(texts) == ["Jane lives in Rome", "Jane skates", "Jane swims"] and len(first["records"]) == 2
    assert second["next_cursor"] is None
    for wrong in ([], ["gone"], "active"):
        assert "statuses" in caller.bad(422, "POST", "/list", {"statuses": wrong, "scope": J})


def test_a_run_is_replayed_byte_for_byte(index: Index, caller: Caller) -> None:
    caller.propose(OSLO, {"key": "tone", "text": "Brief."})
    made = []
    for said in ("Where does Jane live?", "And where did she live before?", "Thanks"):
        caller.post("/sessions/record", run="r", events=[{"kind": "user", "content": said}])
        made.append(caller.post("/sessions/assemble", run="r"))
    caller.post("/propose", candidates=[ROME], source="r")  # later changes make no difference
    replayed = caller.post("/sessions/replay", run="r")
    assert replayed["run"] == "r" and replayed["next_after"] is None
    assert [one["text"] for one in replayed["prompts"]] == [one["text"] for one in made]
    assert [one["recorded_sha256"] for one in replayed["prompts"]] == [one["sha256"] for one in made]
    assert [one["sha256"] for one in replayed["prompts"]] == [one["sha256"] for one in made]
    assert all(one["faithful"] for one in replayed["prompts"])
    assert [one["turn"] for one in replayed["prompts"]] == [1, 2, 3]
    assert [one["blocks"] for one in replayed["prompts"]] == [one["blocks"] for one in made]
    asked = replayed["prompts"][0]["trace"]
    assert asked["query"] == "Where does Jane live?" and asked["retrieved"] == made[0]["trace"]["retrieved"]
    first = caller.post("/sessions/replay", run="r", limit=2)
    assert len(first["prompts"]) == 2 and first["next_after"] == first["prompts"][1]["seq"]
    rest = caller.post("/sessions/replay", run="r", limit=2, after=first["next_after"])
    assert rest["prompts"] == replayed["prompts"][2:] and rest["next_after"] is None
    with Memory(index) as memory, memory.session(JANE, "counted") as session:
        session.user("Where does Jane live?")
        prompt = session.assemble(count=lambda text: 1, budget_tokens=2)  # a tokenizer that the service lacks
    (other,) = caller.post("/sessions/replay", run="counted")["prompts"]
    assert not other["faithful"] and other["sha256"] is None is other["text"] and other["blocks"] == []
    assert other["recorded_sha256"] == prompt.sha256 and other["trace"]["budget_tokens"] == 2
    assert "no run" in caller.bad(404, "POST", "/sessions/replay", {"run": "other", "scope": J})


def test_the_page_reads_under_the_rights_of_its_token(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    joe = add_token(file, Grant("joe", "acme", "joe", can=("read",)))
    writer = add_token(file, Grant("writer", "acme", "joe", can=("write",)))
    app = create_app(index, tokens=Tokens(file), limits=Limits(max_k=3))
    his, blind = Caller(app, joe), Caller(app, writer)
    for path, body in (("/overview", {}), ("/sessions/replay", {"run": "r"})):
        assert "expected that of the token" in his.bad(403, "POST", path, {**body, "scope": J})
        assert "forbidden" in blind.bad(403, "POST", path, body)
        assert "at most 3" in his.bad(422, "POST", path, {**body, "limit": 4})
    schemas: Any = app.openapi()["components"]["schemas"]
    assert {schemas[name]["properties"]["limit"]["maximum"] for name in ("OverviewIn", "ReplayIn")} == {3}


def test_classes_are_left_out_over_http(tmp_path: Path) -> None:
    with Index.open(tmp_path / "m.scrubjay") as index:
        caller = Caller(create_app(index))
        caller.propose(
            {"content": "Jane's number is +4712", "sensitivity": "personal"},
            {"key": "calls", "text": "Call +4712.", "sensitivity": "personal"},
            {"kind": "policy", "key": "codes", "text": "+4712 is ours", "sensitivity": "personal"},
        )
        listed = caller.post("/list", hidden=True)["records"]
        assert [one["sensitivity"] for one in listed] == ["personal"] * 3
        for path, more in (
            ("/recall", {"text": "number"}),
            ("/assemble", {"text": "number", "floor": "none"}),
            ("/known", {}),
            ("/list", {}),
        ):
            assert "+4712" in json.dumps(caller.post(path, **more))
            assert "+4712" not in json.dumps(caller.post(path, **more, without=["personal"]))
            assert "without" in caller.bad(422, "POST", path, {"scope": J, **more, "without": "personal"})
