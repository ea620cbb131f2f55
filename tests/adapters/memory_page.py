"""Helpers for browser tests of the memory view: its links, its file, and axe's findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from scrubjay import EpisodeCandidate, FactCandidate, Index, Memory, Scope, embedders
from scrubjay.demo import remember
from tests.adapters.serving import Serving

__all__ = [
    "EVIL", "HOSTILE", "JANE", "QUESTION", "address", "go", "make_file", "serious_findings", "sideways", "texts",
]  # fmt: skip

JANE = {"tenant": "acme", "user": "jane"}
HOSTILE = Scope("<b>acme</b>", user="<img src=x onerror='window.pwned = 1'>")
EVIL = "<img src=x onerror='window.pwned = 2'> <script>window.pwned = 3</script>"
QUESTION = "Which version does the staging gateway run?"


def make_file(path: Path) -> Path:
    """Write a file with the demo's memory, a note beside it, and the memory of a scope with only hostile texts."""
    with Index.open(path, embedders.default()) as index:
        remember(index)
        index.upsert("note-1", "Jane's cat is called Miso.", scope=Scope("acme", user="jane"))
        with Memory(index) as memory:
            memory.propose(FactCandidate(EVIL, EVIL, EVIL, evidence=EVIL), HOSTILE, EVIL)
            memory.prefer(EVIL, EVIL, scope=HOSTILE)
            memory.propose(EpisodeCandidate(EVIL, EVIL, title=EVIL), HOSTILE, "r")
            with memory.session(HOSTILE, EVIL) as session:
                session.user(EVIL)
                session.assemble(budget_tokens=500)
    return path


def address(service: Serving, part: str = "", **parameters: str) -> str:
    """Return the link to a part of the view; of Jane's memory by default."""
    asked = {**JANE, **({"part": part} if part else {}), **parameters}
    return f"{service.url}/#/memory?{urlencode(asked)}"


def go(page: Any, service: Serving, part: str = "", **parameters: str) -> None:
    """Open a part of the view in a blank page."""
    page.goto("about:blank")
    page.goto(address(service, part, **parameters))
    page.locator(".parts a").first.wait_for()


def texts(page: Any, selector: str) -> list[str]:
    """Return the exact texts of elements, including spaces."""
    found: list[str] = page.locator(selector).evaluate_all("all => all.map(one => one.textContent)")
    return found


def serious_findings(page: Any) -> list[str]:
    """Return the serious and critical findings of axe on the current page."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe here (pip install axe-playwright-python)"
    )
    found = axe.Axe().run(page).response
    assert found["passes"]
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def sideways(page: Any) -> int:
    """Return how many pixels the page is wider than the window."""
    root = "document.documentElement"
    return max(0, int(page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")))
