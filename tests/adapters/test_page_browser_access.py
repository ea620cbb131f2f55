"""Accessibility of the page in a real browser: no serious axe findings, no sideways scrolling, keyboard access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.browser import ask, browser, browser_or_skip, page_of, settle
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402

WIDTHS = (390, 820, 1440)
LINKS = {
    "start": "#/search?tenant=acme&user=jane",
    "search": "#/search?tenant=acme&user=jane&q=pg-prd-01+is+down,+whom+do+I+wake+up%3F",
    "compare": "#/search?tenant=acme&user=jane&q=holiday+requests&vs=acme/priya",
    "nothing": "#/search?tenant=acne",
    "map": "#/map?tenant=acme&user=jane&q=what+may+she+eat",
}


@pytest.fixture(scope="module")
def service() -> Iterator[Serving]:
    with Serving("--demo") as service:
        yield service


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


def check(page: Any, name: str) -> None:
    """Fail on serious and critical findings of axe."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe here (pip install axe-playwright-python)"
    )
    found = axe.Axe().run(page).response
    assert found["passes"], name
    serious = [
        (each["id"], each["impact"], [node["target"] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDTHS[0], WIDTHS[-1]])
def test_axe_finds_nothing_serious(running: Any, service: Serving, width: int, scheme: str) -> None:
    with page_of(running, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        for name, link in LINKS.items():
            page.goto(service.url + link)
            settle(page)
            check(page, name)
        page.goto(service.url + LINKS["search"])
        page.locator(".column.fused summary").first.click()
        check(page, "details")
        page.get_by_role("button", name="Edit acme/jane/13").click()
        check(page, "edit")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Delete acme/jane/13").click()
        check(page, "delete")
        page.keyboard.press("Escape")
        page.locator("button.scope").click()
        expect(page.locator("dialog .scopes button").first).to_be_visible()
        check(page, "scopes")


def test_no_width_scrolls_sideways(running: Any, service: Serving) -> None:
    for width in (320, *WIDTHS):
        with page_of(running, viewport={"width": width, "height": 844}) as page:
            for name, link in LINKS.items():
                page.goto(service.url + link)
                settle(page)
                reach = page.evaluate(
                    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
                )
                assert reach[0] <= reach[1], (width, name)
            page.locator("button.scope").click()
            expect(page.locator("dialog .scopes button").first).to_be_visible()
            assert page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth"), width


def test_on_a_phone_the_answer_comes_first_and_fields_do_not_zoom(running: Any, service: Serving) -> None:
    with page_of(running, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.goto(service.url + LINKS["search"])
        expect(page.locator(".column.fused li").first).to_be_visible()
        settle(page)
        tops = {
            name: page.locator(f".column.{name}").bounding_box()["y"]
            for name in ("fused", "words", "meaning")
        }
        assert tops["fused"] < 844 / 2 and tops["fused"] < tops["words"] < tops["meaning"]
        page.locator("summary", has_text="More").first.click()
        small = page.evaluate(
            """[...document.querySelectorAll("input, select, textarea")].filter(one => one.checkVisibility())
               .map(one => [one.id, parseFloat(getComputedStyle(one).fontSize)]).filter(([, size]) => size < 16)"""
        )
        assert small == [] and page.locator(".lines").is_hidden()


def test_a_keyboard_is_enough(running: Any, service: Serving) -> None:
    with page_of(running) as page:
        page.goto(service.url + LINKS["start"])
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.type("staging key")
        expect(page.locator(".column.fused li").first).to_contain_text("sk-stg-0041")
        settle(page)
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        # It is filled in by an event shortly after the key.
        expect(page.locator(".column.fused details[open] button", has_text="Edit")).to_be_visible()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Edit"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        # The safe answer is focused, and Escape restores the previous focus.
        expect(page.locator("dialog button", has_text="Cancel")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        assert page.evaluate("document.activeElement.textContent") == "Delete"
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.press("End")
        page.keyboard.type("/")
        assert page.input_value("#q").endswith("/")


def test_search_results_are_announced_to_screen_readers(running: Any, service: Serving) -> None:
    with page_of(running) as page:
        page.goto(service.url + LINKS["start"])
        settle(page)
        ask(page, "staging key")
        expect(page.locator("#said")).to_contain_text("10 found, first: The API key for the staging gateway")
        assert page.locator("main h1").count() == 1 and page.locator("main").count() == 1
        names = page.locator("button:visible, a:visible, input:visible").evaluate_all(
            "all => all.filter(one => !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).length"
        )
        assert names == 0
