"""Accessibility of the memory view in a real browser: no serious axe findings, no sideways scrolling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.browser import browser, browser_or_skip, page_of
from tests.adapters.memory_page import QUESTION, go, make_file, serious_findings, sideways
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Serving]:
    with Serving(make_file(tmp_path_factory.mktemp("page") / "memory.scrubjay")) as service:
        yield service


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


PARTS = {
    "known": {},
    "then": {"as_of": "2025-10-10", "known_at": "2025-12-01"},
    "prompt": {"part": "prompt", "q": QUESTION, "budget": "150"},
    "runs": {"part": "runs"},
    "review": {"part": "review"},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 820, 390])
def test_every_part_is_accessible_and_fits(running: Any, service: Serving, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900}
    with page_of(running, color_scheme=scheme, viewport=size) as page:
        for name, parameters in PARTS.items():
            go(page, service, **parameters)
            expect(page.locator(".facts .entry, .prompt-text, .replay-verdict, .waits").first).to_be_visible()
            if name == "runs":
                page.locator(".prompt-made summary").nth(1).click()
            assert serious_findings(page) == [], name
            assert sideways(page) == 0, name
        go(page, service)
        page.click(".facts .entry:has-text('Porto in March')")
        dialog = page.locator("dialog.record")
        expect(dialog.locator(".lane").first).to_be_visible()
        assert serious_findings(page) == [] and sideways(page) == 0
        inside = dialog.bounding_box()
        assert inside["x"] >= 0 and inside["x"] + inside["width"] <= width
        assert dialog.evaluate("one => one.scrollWidth - one.clientWidth") == 0
        dialog.get_by_role("button", name="Revoke").click()
        expect(page.locator("dialog.asking")).to_be_visible()
        assert serious_findings(page) == []
