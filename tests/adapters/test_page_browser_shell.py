"""The shell of the page in a real browser: hostile memories are inert, a token opens it, empty states explain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope, embedders
from tests.adapters.browser import ask, browser, browser_or_skip, page_of, settle
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402

from scrubjay.adapters.service import Grant, add_token  # noqa: E402

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
SCOPE = Scope("<b>acme</b>", user="<img src=x onerror='window.pwned = 9'>")
LINK = "#/search?tenant=%3Cb%3Eacme%3C%2Fb%3E&user=%3Cimg+src%3Dx+onerror%3D%27window.pwned+%3D+9%27%3E"
MADE = "main :is(script, img, iframe, style, base, meta, u, b, object, embed), main svg:not(.lines, .plane)"


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def page(running: Any) -> Iterator[Any]:
    with page_of(running) as page:
        yield page


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Serving]:
    path = tmp_path_factory.mktemp("page") / "memories.scrubjay"
    with Index.open(path, embedders.default()) as index:
        for number, text in enumerate(HOSTILE):
            metadata = {
                "category": "<i onclick='pwned=1'>",
                "<s>": {"<u>": ["<a href='javascript:pwned=1'>"]},
            }
            index.upsert(f"<u onclick='pwned=1'>{number}</u>", text, scope=SCOPE, metadata=metadata)
    with Serving(path) as service:
        yield service


def test_hostile_memories_are_shown_as_they_are(page: Any, service: Serving) -> None:
    page.goto(service.url + LINK)
    expect(page.locator(".newest li")).to_have_count(len(HOSTILE))
    ask(page, "hostile <script>window.pwned = 10</script>")
    shown = page.locator(".column.fused .text").evaluate_all("all => all.map(one => one.textContent)")
    assert sorted(shown) == sorted(HOSTILE)
    for summary in page.locator(".column.fused summary").all():
        summary.click()
    assert "<u onclick='pwned=1'>" in page.locator(".column.fused dl code").first.inner_text()
    assert str(SCOPE.user) in page.locator(".column.fused dl").first.inner_text()
    page.locator("button.scope").click()
    expect(page.locator("dialog .scopes")).to_contain_text(str(SCOPE.user))
    page.keyboard.press("Escape")
    assert page.evaluate("window.pwned") is None
    assert (
        page.locator(MADE).count() == 0
        and page.locator("script").count() == 2
        and page.locator("base").count() == 0
    )
    page.goto(service.url + LINK.replace("search", "map"))
    expect(page.locator(".plane .dot")).to_have_count(len(HOSTILE))
    for dot in page.locator(".plane .dot").all():
        dot.hover(force=True)
    assert page.locator("main .pointed .text").inner_text()
    assert page.evaluate("window.pwned") is None and page.locator(MADE).count() == 0


def test_hostile_addresses_and_errors_are_text(page: Any, service: Serving) -> None:
    for link in (
        "#/<img src=x onerror=window.pwned=1>",
        "#/search?vs=%zz/%00&w=NaN&k=-1e9&tenant=%F0",
        "#/constructor",
        "#/map?q=%3Cb%3E&tenant=x",
        "#?",
    ):
        page.goto("about:blank")
        page.goto(service.url + link)
        settle(page)
        assert page.locator("main > *").count() == 1 and page.evaluate("window.pwned") is None, link
    said = "<img src=x onerror=window.pwned=1>"
    body = json.dumps({"error": {"code": "x", "message": said}})
    page.goto(service.url + LINK)
    settle(page)
    page.route(
        "**/v1/explain", lambda route: route.fulfill(status=422, content_type="application/json", body=body)
    )
    page.fill("#q", "anything")
    expect(page.locator(".empty.bad p")).to_have_text(said)
    assert page.evaluate("window.pwned") is None and page.locator(MADE).count() == 0


def test_the_policy_would_stop_a_script_that_got_in(running: Any, service: Serving) -> None:
    """The second line of defence alone: markup and scripts inserted by force do not run."""
    context = running.new_context()
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
    assert stopped == ["TypeError"] * 3 and blocked == "stopped"  # by trusted types
    assert page.evaluate("window.pwned") is None
    context.close()


def test_a_token_opens_it_and_is_kept_nowhere(running: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    writer = add_token(tokens, Grant("jane", "acme", "jane", can=("read", "write")))
    reader = add_token(tokens, Grant("joe", "acme", "joe", can=("read",)))
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert("m1", "Prefers trains.", scope=Scope("acme", user="jane"))
        index.upsert("m2", "The office has a train timetable.", scope=Scope("acme"))
    with Serving(path, "--tokens", tokens, "--embedder", "none") as service:
        with page_of(running) as page:
            page.goto(service.url + "#/search?q=trains")
            expect(page.locator("h1")).to_have_text("A token, please")
            page.fill("#token", "sj_guessed")
            page.click("text=Open")
            expect(page.locator("#token-why")).to_contain_text("does not know this token")
            page.fill("#token", writer)
            page.keyboard.press("Enter")
            expect(page.locator("button.scope")).to_contain_text("acme / jane")
            expect(page.locator(".column.fused li")).to_have_count(2)
            expect(page.locator(".notice.bad")).to_contain_text("no embedder")
            stored = page.evaluate(
                "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])"
            )
            assert writer not in stored and writer not in page.url and writer not in page.content()
            for summary in page.locator(".column.fused summary").all():
                summary.click()
            # Its own memory can be changed, the shared one cannot.
            assert page.get_by_role("button", name="Delete m1").count() == 1
            assert page.get_by_role("button", name="Delete m2").count() == 0
            page.locator("button.scope").click()
            expect(page.locator("dialog .scopes button")).to_have_count(1)
            assert page.locator("dialog input[name=tenant]").is_disabled()
            page.keyboard.press("Escape")
            page.reload()
            expect(page.locator("h1")).to_have_text("A token, please")
        with page_of(running) as page:  # a link to a scope that the token does not cover
            page.goto(service.url + "#/search?q=trains&tenant=acme&user=jane")
            page.fill("#token", reader)
            page.keyboard.press("Enter")
            expect(page.locator("button.scope")).to_contain_text("acme / joe")
            expect(page.locator(".column.fused li")).to_have_count(1)
            page.locator(".column.fused summary").click()
            expect(page.locator(".column.fused")).to_contain_text(
                "does not write"
            )  # details open asynchronously
            expect(page).to_have_url(re.compile("user=joe"))  # the address follows with a delay
            page.evaluate("location.hash = '#/search?q=trains&tenant=acme&user=jane'")
            expect(page.locator(".empty.bad h2")).to_have_text("Your token does not allow this")


def test_an_empty_index_is_filled_from_here(page: Any, tmp_path: Path) -> None:
    with Serving(tmp_path / "memories.scrubjay", "--embedder", "none") as service:
        page.goto(service.url)
        expect(page.locator(".empty h2")).to_have_text("This index is empty")
        assert "scrubjay add memories.scrubjay" in page.inner_text(".empty")
        page.click("text=Add the first memory")
        page.click("text=Name another scope")
        page.fill("dialog input[name=tenant]", "acme")
        page.fill("dialog input[name=user]", "jane")
        page.click("text=Use it")
        page.fill("dialog textarea >> nth=0", "Prefers trains.")
        page.click("dialog button.primary")
        expect(page.locator(".newest li")).to_contain_text("Prefers trains.")
        expect(page.locator("button.scope")).to_contain_text("acme / jane")
        assert service.ask("POST", "/v1/count", {"scope": {"tenant": "acme", "user": "jane"}})[1] == {
            "count": 1
        }
        page.goto(service.url + "#/map?tenant=acme&user=jane")
        expect(page.locator(".empty h2")).to_have_text("No vectors here")


def test_the_map_highlights_the_hits(page: Any) -> None:
    with Serving("--demo") as service:
        page.goto(service.url + "#/map?tenant=acme&user=jane")
        expect(page.locator(".plane .dot")).to_have_count(99)
        assert page.locator(".legend li").count() == 9
        page.fill(".view-map input", "who bakes bread?")
        expect(page.locator(".plane .question")).to_be_visible()
        asked = {"text": "who bakes bread?", "k": 8, "scope": {"tenant": "acme", "user": "jane"}}
        found = service.ask("POST", "/v1/search", asked)[1]["hits"]
        expect(page.locator(".side .hits .text")).to_have_text([hit["text"] for hit in found])
        keys = page.locator(".plane .dot.hit").evaluate_all(
            "all => all.map(one => JSON.parse(one.dataset.key)[3])"
        )
        assert sorted(keys) == sorted(hit["id"] for hit in found)
        page.locator(".side .rank").first.click()
        expect(page.locator(".panel.pointed .text")).to_contain_text(found[0]["text"][:100])
        # By keyboard from one memory to the next.
        page.locator(".plane").focus()
        before = page.inner_text(".panel.pointed .text")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        assert page.inner_text(".panel.pointed .text") != before
        pointed = page.inner_text(".panel.pointed .text")
        page.keyboard.press("Enter")
        expect(page.locator(".column.fused li .text").first).to_have_text(
            pointed.removesuffix(" …"), use_inner_text=False
        )


def test_a_theme_is_kept_and_nothing_else(running: Any, service: Serving) -> None:
    with page_of(running, color_scheme="light") as page:
        page.goto(service.url + LINK)
        settle(page)
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Use dark colours").click()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != light
        page.reload()
        settle(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
        assert page.evaluate("JSON.stringify({...localStorage})") == '{"scrubjay-theme":"dark"}'
