"""Changes through the memory view: after a confirmation, and only with the necessary rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.browser import browser, browser_or_skip, page_of
from tests.adapters.memory_page import JANE, go, make_file, serious_findings
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402

from scrubjay.adapters.service import Grant, add_token  # noqa: E402


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Serving]:
    with Serving(make_file(tmp_path_factory.mktemp("page") / "memory.scrubjay")) as service:
        yield service


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def page(running: Any) -> Iterator[Any]:
    with page_of(running, locale="en-GB", timezone_id="UTC") as page:
        yield page


def told(service: Serving, user: str, *candidates: Any, token: str | None = None) -> list[str]:
    body = {"scope": {"tenant": "acme", "user": user}, "source": "test", "candidates": list(candidates)}
    status, given = service.ask("POST", "/v1/memory/propose", body, token)
    assert status == 200, given
    return [outcome["id"] for outcome in given["outcomes"]]


def test_a_provisional_policy_is_confirmed_on_the_page(page: Any, service: Serving) -> None:
    body = {"kind": "policy", "key": "quiet_hours", "text": "Nobody is called after 22:00."}
    scope = {"tenant": "acme"}
    service.ask("POST", "/v1/memory/propose", {"scope": scope, "source": "test", "candidates": [body]})
    go(page, service, "review")
    waiting = page.locator(".waits", has_text="Nobody is called after 22:00.")
    waiting.get_by_role("button", name="Confirm").click()
    dialog = page.locator("dialog.asking")
    assert "for all of acme" in dialog.inner_text() and "Nobody is called" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(waiting).to_be_visible()  # nothing was done
    waiting.get_by_role("button", name="Confirm").click()
    dialog.get_by_role("button", name="Confirm").click()
    expect(waiting).to_have_count(0)
    known = service.ask("POST", "/v1/memory/known", {"scope": JANE})[1]["policies"]
    assert "quiet_hours" in [policy["key"] for policy in known]
    for said in ("Jane plays the cello", "Jane may be looking for another job"):
        expect(page.locator(".review")).to_contain_text(said)
    page.locator(".parts a", has_text="Known").click()
    page.locator(".policy button.entry", has_text="quiet_hours").click()
    record = page.locator("dialog.record")
    record.get_by_role("button", name="Revoke").click()
    asked = page.locator("dialog.asking")
    asked.get_by_label("Why?").fill("only a test")
    asked.get_by_role("button", name="Revoke").click()
    expect(record.locator(".events")).to_contain_text("Revoked by local: only a test")
    expect(record.get_by_role("button", name="Revoke")).to_have_count(0)


def test_records_are_told_edited_revoked_and_deleted(page: Any, service: Serving) -> None:
    told(service, "joe", {"content": "Joe lives in Rome", "subject": "Joe", "predicate": "lives in"})
    go(page, service, user="joe")
    page.get_by_role("button", name="Tell it something").click()
    form = page.locator("dialog.asking")
    form.get_by_label("The fact, in a sentence").fill("Joe lives in Oslo")
    form.get_by_label("Subject").fill("Joe")
    form.get_by_label("Predicate").fill("lives in")
    form.get_by_role("button", name="Propose").click()
    expect(page.locator(".toast")).to_have_text("Written; it took the place of an earlier fact.")
    own = page.locator(".facts section", has_text="Joe").locator(".wording")
    expect(own).to_have_text(["Joe lives in Oslo"])
    own.click()
    record = page.locator("dialog.record")
    expect(record.locator(".lane")).to_have_count(2)
    record.get_by_role("button", name="Edit").click()
    form.get_by_label("Text").fill("Joe lives in Bergen")
    form.get_by_label("Confidence").fill("3")
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_visible()  # the browser validates the confidence
    form.get_by_label("Confidence").fill("0.9")
    form.get_by_role("button", name="Save").click()
    expect(record.locator("h2")).to_have_text("Joe lives in Bergen")
    expect(record.locator(".events")).to_contain_text("Edited by local")
    record.get_by_role("button", name="Revoke").click()
    form.get_by_role("button", name="Revoke").click()
    expect(form).to_be_visible()  # a reason is required
    form.get_by_label("Why?").fill("he never said so")
    form.get_by_role("button", name="Revoke").click()
    expect(record.locator(".badges")).to_contain_text("revoked")
    expect(record.locator(".events")).to_contain_text("he never said so")
    expect(own).to_have_text(["Joe lives in Rome"])  # in force again
    record.get_by_role("button", name="Delete").click()
    form.get_by_role("button", name="Delete").click()
    expect(record).to_have_count(0)
    body = {"scope": {"tenant": "acme", "user": "joe"}, "kinds": ["fact"], "hidden": True, "exact": True}
    left = service.ask("POST", "/v1/memory/list", body)[1]["records"]
    assert [fact["content"] for fact in left] == ["Joe lives in Rome"]


def test_a_refusal_is_shown_beside_the_form_that_caused_it(page: Any, service: Serving) -> None:
    first, _ = told(service, "ann", "Ann skates", "Ann swims")
    go(page, service, user="ann", record=first)
    record, form = page.locator("dialog.record"), page.locator("dialog.asking")
    record.get_by_role("button", name="Edit").click()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Nothing was changed.")
    form.get_by_label("Text").fill("Ann swims")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).not_to_have_text(re.compile("^(Nothing was changed.)?$"))
    assert "ann" in page.url and form.is_visible()


def test_a_user_is_forgotten_by_name_only(page: Any, service: Serving) -> None:
    told(service, "eve", "Eve likes oak", {"key": "tone", "text": "Brief."})
    go(page, service, user="eve")
    page.get_by_role("button", name="Forget").click()
    form = page.locator("dialog.asking")
    form.get_by_label("Why?").fill("she asked for it")
    form.get_by_label('Type "acme / eve"').fill("acme")
    form.get_by_role("button", name="Forget").click()
    expect(form.get_by_role("alert")).to_have_text('Expected "acme / eve", got "acme".')
    form.get_by_label('Type "acme / eve"').fill("acme / eve")
    form.get_by_role("button", name="Forget").click()
    expect(page.locator(".toast")).to_contain_text("1 fact")
    body = {"scope": {"tenant": "acme", "user": "eve"}, "exact": True, "hidden": True}
    assert service.ask("POST", "/v1/memory/list", body)[1]["records"] == []
    assert service.ask("POST", "/v1/memory/known", {"scope": JANE})[1]["preferences"]  # others' remain


def test_buttons_follow_the_rights_of_the_token(running: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    reader = add_token(tokens, Grant("reader", "acme", "jane", can=("read",)))
    writer = add_token(tokens, Grant("writer", "acme", "jane", can=("read", "write")))

    def opened(page: Any, token: str, where: str) -> None:
        page.goto(where)
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Open").click()

    with Serving(make_file(tmp_path / "memory.scrubjay"), "--tokens", tokens) as service:
        for token, reason, may in ((reader, "This token may only read.", False), (writer, "", True)):
            with page_of(running) as page:
                opened(page, token, f"{service.url}/#/memory")
                expect(page.locator(".facts .wording")).to_have_count(10)
                tell = page.get_by_role("button", name="Tell it something")
                assert tell.is_enabled() is may and page.get_by_role("button", name="Forget").is_disabled()
                head = page.inner_text(".memory-head")
                assert reason in head and "This token may not erase a whole scope." in head
                page.click(".facts .entry:has-text('shellfish')")
                record = page.locator("dialog.record")
                expect(record.get_by_role("button", name="Delete")).to_be_visible()
                for name in ("Edit", "Revoke", "Delete"):
                    assert record.get_by_role("button", name=name).is_enabled() is may
                assert reason in record.locator("footer").inner_text()
                page.keyboard.press("Escape")
                page.click(".policy .entry:has-text('secrets')")  # no user's token can change it
                expect(record.get_by_role("button", name="Delete")).to_be_disabled()
                shared = "It is shared by all of acme" if may else "This token may only read."
                assert shared in record.locator("footer").inner_text()
                assert serious_findings(page) == []
                page.keyboard.press("Escape")
                page.locator(".parts a", has_text="Review").click()
                confirm = page.locator(".waits button", has_text="Confirm").first
                expect(confirm).to_be_disabled()
