"""A real headless browser for the tests of the page.

Needs `playwright` and a Chromium: SCRUBJAY_BROWSER names one, otherwise the usual names are tried. Modules that
need it call :func:`browser_or_skip` first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser_or_skip() -> str:
    """Return the path of a browser; skip the calling module if there is none."""
    for module in ("playwright.sync_api", "fastapi", "uvicorn", "prometheus_client"):
        pytest.importorskip(module, reason=f"no {module.partition('.')[0]} here (pip install playwright)")
    named = os.environ.get("SCRUBJAY_BROWSER")
    found = named or next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        pytest.skip(
            "no Chromium here (apt-get install chromium, or SCRUBJAY_BROWSER)", allow_module_level=True
        )
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser_or_skip(), args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


class Troubles:
    """Detects errors of a page, dialogs of the browser, and requests to other hosts."""

    def __init__(self, page: Any) -> None:
        self.found: list[str] = []
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("dialog", lambda dialog: (self.found.append(dialog.message), dialog.dismiss()))
        page.on("console", self._said)
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        # The browser logs refused or aborted requests itself.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.found.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith("http://127.0.0.1:"):
            self.found.append(request.url)


@contextmanager
def page_of(running: Any, **options: Any) -> Iterator[Any]:
    """Yield a page in a separate context, without motion by default; fail on any trouble."""
    options.setdefault("reduced_motion", "reduce")
    options.setdefault("viewport", {"width": 1280, "height": 900})
    context = running.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    troubles = Troubles(page)
    try:
        yield page
        assert not troubles.found, troubles.found
    finally:
        context.close()


def ask(page: Any, text: str) -> None:
    """Type a question, and wait for its answer (or its refusal)."""
    page.fill("#q", text)
    settle(page)


def settle(page: Any) -> None:
    """Wait until a view is mounted, no request is pending, and its result is shown."""
    page.wait_for_function(
        """() => document.querySelector("main > :not(noscript)") && !document.querySelector("[aria-busy=true]")"""
    )
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
