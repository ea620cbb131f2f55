"""The limits of requests, and the service's metrics and health."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
testing = pytest.importorskip("fastapi.testclient")

from scrubjay import Index, Scope  # noqa: E402
from scrubjay.adapters.service import Grant, Limits, Tokens, add_token, create_app  # noqa: E402
from scrubjay.adapters.service.limits import Rates  # noqa: E402
from scrubjay.adapters.service.metrics import Metrics  # noqa: E402

ACME = Scope("acme")


def client(index: Index | None = None, host: str = "127.0.0.1", **limits: Any) -> Any:
    app = create_app(index or Index(), grant=Grant("local", "acme"), limits=Limits(**limits))
    return testing.TestClient(app, base_url=f"http://{host}", raise_server_exceptions=False)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_too_many_hits_are_refused_with_the_services_own_limit() -> None:
    caller = client(max_k=50)
    for path, name in (("/v1/search", "k"), ("/v1/list", "limit")):
        for n in (51, 1000, 100_000):
            answer = caller.post(path, json={name: n, **({"text": "x"} if name == "k" else {})})
            assert answer.status_code == 422
            assert answer.json()["error"]["message"] == f"{name}: expected at most 50, got {n}"


def test_a_body_that_is_too_large_is_refused_with_and_without_a_length() -> None:
    caller = client(max_body_bytes=1000)
    small = json.dumps({"text": "x" * 900}).encode()
    large = json.dumps({"text": "x" * 1000}).encode()
    kind = {"content-type": "application/json"}

    def pieces(content: bytes) -> Iterator[bytes]:
        for at in range(0, len(content), 100):
            yield content[at : at + 100]

    assert caller.post("/v1/search", content=small, headers=kind).status_code == 200
    assert caller.post("/v1/search", content=pieces(small), headers=kind).status_code == 200
    assert code(caller.post("/v1/search", content=large, headers=kind)) == (413, "too_large")
    assert code(caller.post("/v1/search", content=pieces(large), headers=kind)) == (413, "too_large")
    for length in ("1001", "9" * 30, "10000000000000000000000"):
        answer = caller.post("/v1/search", content=small, headers={**kind, "content-length": length})
        assert code(answer) == (413, "too_large")


def test_the_rate_limit_of_one_caller_spares_the_others() -> None:
    caller = client(rate=0.5, burst=3)
    answers = [caller.get("/v1/whoami") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert code(answers[4]) == (429, "rate_limited") and 1 <= int(answers[4].headers["retry-after"]) <= 3
    assert caller.get("/health/live").status_code == 200
    unlimited = client(rate=0)
    assert {unlimited.get("/v1/whoami").status_code for _ in range(50)} == {200}


def test_a_name_that_others_use_is_not_shared_with_them(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    acme, globex = (add_token(tokens, Grant("app", tenant, can=("read",))) for tenant in ("acme", "globex"))
    app = create_app(Index(), tokens=Tokens(tokens), limits=Limits(rate=0.1, burst=2))
    caller = testing.TestClient(app, base_url="http://service", raise_server_exceptions=False)

    def asked(token: str) -> int:
        status: int = caller.get("/v1/whoami", headers={"authorization": f"Bearer {token}"}).status_code
        return status

    assert [asked(acme), asked(acme), asked(acme), asked(globex)] == [200, 200, 429, 200]


@given(st.lists(st.floats(0, 0.4), min_size=1, max_size=100), st.integers(1, 5))
def test_a_caller_gets_the_burst_and_then_the_rate(pauses: list[float], burst: int) -> None:
    rates, now, n_allowed = Rates(10.0, burst), 0.0, 0
    for pause in pauses:
        now += pause
        wait = rates.wait("jane", now)
        n_allowed += wait == 0
        assert n_allowed <= burst + now * 10 + 1e-6
        assert 0 <= wait <= 0.1 + 1e-9
        if wait > 0:  # after that wait the request is admitted
            now += wait + 1e-9
            assert rates.wait("jane", now) == 0
            n_allowed += 1
    assert rates.wait("joe", now) == 0


def test_callers_that_come_once_do_not_fill_the_memory() -> None:
    rates = Rates(10.0, 1)
    for number in range(30_000):
        rates.wait(str(number), 0.0)
    assert len(rates._callers) <= 10_000


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]:80",
    ],
)
def test_a_name_that_is_turned_to_this_machine_does_not_get_in(host: str) -> None:
    """DNS rebinding: the browser's page is from evil.example, whose address becomes 127.0.0.1."""
    caller = client()
    for path in ("/v1/whoami", "/", "/metrics", "/health/live"):
        assert code(caller.get(path, headers={"host": host})) == (421, "wrong_host")
    for good in ("127.0.0.1", "127.0.0.1:8421", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8421"):
        assert caller.get("/v1/whoami", headers={"host": good}).status_code == 200


def test_every_answer_has_restrictive_security_headers() -> None:
    caller = client(max_body_bytes=10)
    for path in ("/", "/page.js", "/v1/whoami", "/v1/none", "/openapi.json"):
        answer = caller.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    refused = caller.post("/v1/search", content=b"x" * 20)
    assert "default-src 'none'" in refused.headers["content-security-policy"]


def ask(app: Any, body: list[dict[str, Any]], wait: float = 0.0, path: str = "/v1/search") -> dict[str, Any]:
    """Call the application like a server that receives the body in pieces."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(wait)
        return body.pop(0) if body else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [
        (b"host", b"localhost"),
        (b"content-type", b"application/json"),
        (b"transfer-encoding", b"chunked"),
    ]
    request = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    request.update(
        {"headers": headers, "http_version": "1.1", "scheme": "http", "root_path": "", "server": ("a", 1)}
    )
    asyncio.run(app(request, receive, send))
    return {"status": sent[0]["status"], "body": b"".join(message.get("body", b"") for message in sent[1:])}


def test_a_body_that_does_not_come_or_does_not_end_is_not_waited_for_or_guessed() -> None:
    index = Index()
    app = create_app(index, grant=Grant("local", "acme"), limits=Limits(body_timeout=0.2))
    whole = json.dumps({"memories": [{"text": "train"}]}).encode()
    half = {"type": "http.request", "body": whole[:20], "more_body": True}
    assert ask(app, [half] * 5, wait=0.15, path="/v1/memories")["status"] == 408
    app = create_app(index, grant=Grant("local", "acme"))
    ended = {
        "type": "http.request",
        "body": whole,
        "more_body": True,
    }  # it looks complete, but more was announced
    assert ask(app, [ended], path="/v1/memories")["status"] == 400
    assert len(index) == 0
    assert ask(app, [{**half, "body": whole, "more_body": False}], path="/v1/memories")["status"] == 200
    assert len(index) == 1


def test_too_many_concurrent_requests_get_503_with_retry_after() -> None:
    may_end = threading.Event()

    class Slow(Index):
        def count(self, *arguments: Any, **options: Any) -> int:
            may_end.wait(60)
            return 0

    app = create_app(Slow(), grant=Grant("local", "acme"), limits=Limits(max_in_flight=3))

    async def crowd() -> list[int]:
        n_refused = 0
        may_end.clear()

        async def one() -> int:
            nonlocal n_refused
            status = 0

            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b"{}", "more_body": False}

            async def send(message: Any) -> None:
                nonlocal status
                status = message.get("status", status)

            headers = [
                (b"host", b"localhost"),
                (b"content-type", b"application/json"),
                (b"content-length", b"2"),
            ]
            request = {"type": "http", "method": "POST", "path": "/v1/count", "raw_path": b"/v1/count"}
            request |= {"query_string": b"", "headers": headers, "http_version": "1.1", "scheme": "http"}
            await app({**request, "root_path": "", "server": ("a", 1)}, receive, send)
            n_refused += status == 503
            if n_refused == 5:
                may_end.set()
            return status

        return list(await asyncio.gather(*(one() for _ in range(8))))

    assert sorted(asyncio.run(crowd())) == [200] * 3 + [503] * 5
    assert asyncio.run(crowd()).count(200) == 3  # the earlier ones have finished


def test_metrics_count_what_happened_and_name_nobody() -> None:
    index = Index()
    caller = client(index, max_body_bytes=2000)
    secret = "m-secret-id"
    caller.put(f"/v1/memories/{secret}", json={"text": "a secret train"})
    caller.post("/v1/search", json={"text": "train", "scope": {"user": "jane-secret"}})
    caller.post("/v1/search", json={"text": "train", "k": 0})
    caller.get(f"/v1/memories/{secret}-none")
    caller.get(f"/{secret}")
    caller.request(secret.upper(), "/v1/search")
    caller.post("/v1/search", content=b"x" * 3000)
    text = caller.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    requests = "scrubjay_requests_total"
    assert lines[f'{requests}{{method="PUT",route="/v1/memories/{{id:path}}",status="200"}}'] == "1.0"
    assert lines[f'{requests}{{method="POST",route="/v1/search",status="200"}}'] == "1.0"
    assert lines[f'{requests}{{method="POST",route="/v1/search",status="422"}}'] == "1.0"
    assert lines[f'{requests}{{method="GET",route="/v1/memories/{{id:path}}",status="404"}}'] == "1.0"
    assert lines[f'{requests}{{method="GET",route="other",status="404"}}'] == "1.0"
    assert lines['scrubjay_refused_total{reason="size"}'] == "1.0"
    assert lines['scrubjay_search_seconds_count{mode="lexical"}'] == "1.0"
    assert lines['scrubjay_degraded_total{reason="no_embedder"}'] == "1.0"
    assert not any("loads" in name or "feed" in name for name in lines)  # for an index in memory
    assert lines["scrubjay_documents"] == "1.0" and lines["scrubjay_requests_in_flight"] == "1.0"
    assert "secret" not in text.lower() and "acme" not in text


def test_metrics_of_a_file_say_what_was_read(tmp_path: Path) -> None:
    for _ in range(2):
        with Index.open(tmp_path / "a.scrubjay") as index:
            index.upsert(1, "oak", scope=Scope("acme"))
            index.search("oak", scope=Scope("acme"))
            text = Metrics(index).render().decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    loads = {name: value for name, value in lines.items() if name.startswith("scrubjay_loads_total")}
    assert loads == {
        'scrubjay_loads_total{source="image"}': "0.0",
        'scrubjay_loads_total{source="rows"}': "1.0",
        'scrubjay_loads_total{source="changes"}': "0.0",
    }
    assert lines["scrubjay_evictions_total"] == "0.0" and float(lines["scrubjay_load_seconds_total"]) > 0
    assert "scrubjay_feed_lag_seconds" not in lines  # there is no feed


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"max_k": 0}, ValueError),
        ({"rate": -1}, ValueError),
        ({"rate": float("nan")}, ValueError),
        ({"body_timeout": 0}, ValueError),
        ({"burst": True}, TypeError),
        ({"max_body_bytes": "1"}, TypeError),
    ],
)
def test_invalid_limits_are_refused_by_name(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(wrong))):
        Limits(**wrong)
