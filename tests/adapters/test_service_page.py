"""The page of the service in a real browser: what it shows, and what hostile memories do to it (nothing)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from scrubjay import Index, Scope, embedders  # noqa: E402
from scrubjay.adapters.service import Grant, add_token  # noqa: E402
from tests.adapters.serving import Serving  # noqa: E402

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
if BROWSER is None:
    pytest.skip("no Chromium here (apt-get install chromium)", allow_module_level=True)

JANE = Scope("acme", user="jane")
HOSTILE = [
    "<script>window.pwned = 1</script> hostile",
    "<img src=x onerror=\"window.pwned = 2\"> hostile",
    "hostile </div></li></ol><svg onload='window.pwned = 3'>",
    "hostile <iframe srcdoc='<script>parent.pwned = 4</script>'></iframe>",
    'hostile " onmouseover="window.pwned = 5" x="',
    "hostile javascript:window.pwned=6 ${window.pwned=7} {{constructor.constructor('window.pwned=8')()}}",
    "hostile \u202e right to left \u0000 nul &lt;b&gt; &#60;b&#62;",
    "hostile <style>* { display: none }</style><base href='https://evil.example/'><meta http-equiv=refresh>",
]  # fmt: skip
HOSTILE_SCOPE = Scope("<b>acme</b>", user="<img src=x onerror='window.pwned = 9'>")


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Serving]:
    path = tmp_path_factory.mktemp("page") / "memories.scrubjay"
    with Index.open(path, embedders.default()) as index:
        rows = {
            "key": "The staging API key prefix is sk-stg-0041.",
            "sleep": "Drinks only decaf after lunch, otherwise she lies awake.",
            "train": "Prefers trains to planes, window seat.",
        }
        index.upsert_many([{"id": id, "text": text} for id, text in rows.items()], scope=JANE)
        for number, text in enumerate(HOSTILE):
            index.upsert(f"<u onclick='pwned=1'>{number}</u>", text, scope=HOSTILE_SCOPE)
    with Serving(path) as service:
        yield service


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails the test on any error, on any dialog, and on any request to elsewhere."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(20_000)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda request: None if request.url.startswith("http://127.0.0.1:") else troubles.append(request.url),
    )
    page.troubles = troubles
    yield page
    expected = [
        one for one in troubles if "the server responded with a status of 4" in one
    ]  # the browser's own note
    assert [one for one in troubles if one not in expected] == []
    context.close()


def search(page: Any, text: str, **scope: str) -> None:
    for part in ("tenant", "user", "agent"):
        if page.locator(f"#{part}").is_enabled():
            page.fill(f"#{part}", scope.get(part, ""))
    page.fill("#text", text)
    page.click("button")
    playwright.expect(page.locator("#said")).not_to_have_text(re.compile("^(searching.*|)$"), timeout=20_000)


def test_it_shows_both_rankings_the_fusion_and_why(page: Any, service: Serving) -> None:
    page.goto(service.url)
    search(page, "sk-stg-0041 trouble sleeping", tenant="acme", user="jane")
    assert "3 found in" in page.inner_text("#said")
    asked = {"text": "sk-stg-0041 trouble sleeping", "scope": {"tenant": "acme", "user": "jane"}}
    expected = service.ask("POST", "/v1/explain", asked)[1]
    for column in ("lexical", "vector", "hits"):
        shown = page.locator(f"#{column} .text").all_inner_texts()
        assert shown == [hit["text"] for hit in expected[column]], column
    assert page.locator("#lexical li").count() == 1 and page.locator("#vector li").count() == 3
    why = page.locator("#hits .why").all_inner_texts()
    assert "rare identifier" in why[0] and "1st by words" in why[0] and "sk-stg-0041" in why[0]
    assert "no word in common" in why[1] and "by meaning (similarity 0." in why[1]
    stages = page.locator("#stages tr").all_inner_texts()
    assert [row.split("\t")[0] for row in stages] == [
        "embed",
        "words",
        "embed and meaning",
        "fusion",
        "whole",
    ]
    assert all("µs" in row for row in stages)
    assert "words weighed" in page.inner_text("#fused-note")
    # The same memory is marked in all columns.
    page.hover("#hits li >> nth=0")
    assert page.locator("li.same").count() == 3
    page.select_option("#fusion", "rrf")
    page.fill("#k", "1")
    search(page, "sk-stg-0041 trouble sleeping", tenant="acme", user="jane")
    assert page.locator("#hits li").count() == 1 and "words weighed" not in page.inner_text("#fused-note")
    search(page, "nothing of this kind", tenant="globex")
    assert page.locator("#hits li").all_inner_texts() == ["nothing"]


def test_hostile_memories_are_shown_as_they_are(page: Any, service: Serving) -> None:
    page.goto(service.url)
    search(
        page,
        "hostile <script>window.pwned = 10</script>",
        tenant=HOSTILE_SCOPE.tenant,
        user=HOSTILE_SCOPE.user or "",
    )
    shown = page.locator("#hits .text").evaluate_all("all => all.map(one => one.textContent)")
    assert sorted(shown) == sorted(HOSTILE)
    assert page.locator("#hits .id").first.inner_text().count("<u onclick='pwned=1'>") == 1
    assert HOSTILE_SCOPE.user in page.locator("#hits .scope").first.inner_text()
    for item in page.locator("#hits li").all():
        item.hover()
    assert page.evaluate("window.pwned") is None
    inside = "#answer :is(script, img, svg, iframe, style, base, meta, u, b, a, object, embed)"
    assert page.locator(inside).count() == 0 and page.locator("script").count() == 1
    assert page.locator("base").count() == 0


def test_hostile_errors_are_shown_as_they_are(page: Any, service: Serving) -> None:
    page.goto(service.url)
    page.route(
        "**/v1/explain",
        lambda route: route.fulfill(
            status=422,
            content_type="application/json",
            body='{"error": {"code": "x", "message": "<img src=x onerror=window.pwned=1>"}}',
        ),
    )
    search(page, "x", tenant="acme")
    assert page.inner_text("#said") == "<img src=x onerror=window.pwned=1>"
    assert page.evaluate("window.pwned") is None and page.locator("img").count() == 0


def test_the_policy_would_stop_a_script_that_got_in(browser: Any, service: Serving) -> None:
    """The second line of defence, by itself: markup and scripts that are put in by force do not run."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(service.url)
    stopped = page.evaluate(
        """() => {
            const failed = [];
            for (const tried of [
                () => { document.body.innerHTML += "<img src=x onerror='window.pwned = 1'>"; },
                () => { const made = document.createElement("script"); made.textContent = "window.pwned = 2";
                        document.body.append(made); },
                () => { document.body.setAttribute("onclick", "window.pwned = 3"); document.body.click(); },
            ]) { try { tried(); } catch (error) { failed.push(error.name); } }
            return failed;
        }"""
    )
    blocked = page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')")
    assert stopped == ["TypeError"] * 3 and blocked == "stopped"  # of trusted types
    assert page.evaluate("window.pwned") is None
    context.close()


def test_a_token_opens_it(page: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    token = add_token(tokens, Grant("jane", "acme", "jane", can=("read", "write")))
    with Serving(tmp_path / "memories.scrubjay", "--tokens", tokens, "--embedder", "none") as service:
        service.ask("PUT", "/v1/memories/m1", {"text": "Prefers trains."}, token)
        page.goto(service.url)
        playwright.expect(page.locator("#said")).to_contain_text("token", timeout=20_000)
        search(page, "trains")
        assert "valid token" in page.inner_text("#said") and page.locator("#answer").is_hidden()
        page.fill("#token", token)
        page.press("#token", "Tab")
        playwright.expect(page.locator("#user")).to_have_value("jane", timeout=20_000)
        assert page.locator("#tenant").is_disabled() and page.input_value("#tenant") == "acme"
        search(page, "trains")
        assert page.locator("#hits .text").all_inner_texts() == ["Prefers trains."]
        assert "degraded: no_embedder" in page.inner_text("#said")
        stored = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
        assert token not in stored and token not in page.url
