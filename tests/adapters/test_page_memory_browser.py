"""The memory view in a real browser: its contents, their times, and their provenance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Memory, Scope
from tests.adapters.browser import browser, browser_or_skip, page_of
from tests.adapters.memory_page import EVIL, HOSTILE, JANE, QUESTION, address, go, make_file, texts
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402

from scrubjay.demo.remembering import RUN  # noqa: E402


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


# ---------------------------------------------------------------------- valid and known times


def test_the_page_shows_the_records_of_the_scope(page: Any, service: Serving) -> None:
    go(page, service)
    facts = page.locator(".facts .wording")
    expect(facts).to_have_count(10)
    listed = service.ask("POST", "/v1/memory/list", {"scope": JANE, "kinds": ["fact"], "limit": 100})[1][
        "records"
    ]
    in_force = [record["content"] for record in listed if record["status"] != "provisional"]
    assert sorted(texts(page, ".facts .wording")) == sorted(in_force)
    known = service.ask("POST", "/v1/memory/known", {"scope": JANE})[1]
    assert texts(page, ".rules .preference .wording") == [one["text"] for one in known["preferences"]]
    assert texts(page, ".rules .policy .wording") == [one["text"] for one in known["policies"]]
    assert "3 policies, 3 preferences, 10 facts, 2 episodes in force" in page.inner_text(".summary")
    assert page.inner_text("h1") == "What is known of acme / jane"
    # Four versions of the gateway in one strip, the one in force last.
    strip = page.locator(".facts li", has_text="The staging gateway runs v3.15.0").locator(".strip")
    assert strip.locator(".hold").count() == 4 and strip.locator(".hold.own").count() == 1
    page.fill("[aria-label='Filter what is known']", "allergic")
    assert sorted(page.locator(".rows > li:visible .wording").all_inner_texts()) == [
        "Jane is allergic to penicillin",
        "Jane is allergic to shellfish",
    ]


def test_two_times_are_asked_for(page: Any, service: Serving) -> None:
    go(page, service)
    expect(page.locator(".facts .wording")).to_have_count(10)
    page.fill(".as_of input[type=date]", "2020-01-01")
    expect(page.locator(".facts .wording")).to_have_text(
        ["From 2018 to 2021 Jane lived in Brno, not in Milan"]
    )
    page.fill(".known_at input[type=date]", "2025-10-20")
    expect(page.locator(".facts .wording")).to_have_text(["Before Lisbon Jane lived in Milan"])
    assert page.inner_text(".sentence") == "What was so on 1 Jan 2020, by what was believed on 20 Oct 2025."
    expect(page).to_have_url(re.compile("as_of=2020-01-01&known_at=2025-10-20$"))
    page.reload()  # the link has the whole state
    expect(page.locator(".facts .wording")).to_have_text(["Before Lisbon Jane lived in Milan"])
    # The timeline has the chosen time as well: Milan holds, and Brno and Porto are unknown.
    page.click(".facts .entry")
    dialog = page.locator("dialog.record")
    expect(dialog).to_contain_text("Timeline, as it was believed on 20 Oct 2025")
    assert dialog.locator(".lane").count() == 2 and "Brno" not in dialog.locator(".lanes").inner_text()
    milan = dialog.locator(".lane.own")
    assert milan.locator(".hold").count() == 1 and "1 May 2018 to 1 Mar 2021" in milan.inner_text()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.click(".as_of button:has-text('Now')")
    page.click(".known_at button:has-text('Now')")
    expect(page.locator(".facts .wording")).to_have_count(10)
    assert page.inner_text(".sentence") == "What is so now, by all that is known."
    assert page.locator(".as_of button:has-text('Now')").is_disabled()


def test_the_sliders_step_from_change_to_change(page: Any, service: Serving) -> None:
    go(page, service)
    slider = page.locator(".as_of input[type=range]")
    overview = service.ask("POST", "/v1/memory/overview", {"scope": JANE, "limit": 100})[1]
    days = sorted({time[:10] for time in overview["changed"]})
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "1 Mar 2026" and days[-1] == "2026-03-01"
    page.keyboard.press("Home")
    assert page.input_value(".as_of input[type=date]") == days[0]
    expect(page.locator(".facts .wording")).to_have_text(
        ["From 2018 to 2021 Jane lived in Brno, not in Milan"]
    )
    page.get_by_role("button", name="What was so: one change on").click()
    assert page.input_value(".as_of input[type=date]") == days[1]
    page.get_by_role("button", name="What was so: one change back").click()
    assert page.input_value(".as_of input[type=date]") == days[0]
    # A day between two changes selects the earlier one.
    page.fill(".as_of input[type=date]", "2025-10-10")
    expect(page.locator(".facts .wording", has_text="runs v3.15.0-rc1")).to_be_visible()
    assert slider.get_attribute("aria-valuetext") == "10 Oct 2025"
    assert days[int(slider.input_value())] == "2025-10-09"


def test_a_record_says_why_and_has_a_timeline(page: Any, service: Serving) -> None:
    go(page, service)
    row = page.locator(".facts button.entry", has_text="Jane moves to Porto in March")
    row.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.record")
    expect(dialog.locator("h2")).to_have_text("Jane moves to Porto in March")
    body = {"scope": JANE, "subject": "Jane", "predicate": "lives in"}
    history = service.ask("POST", "/v1/memory/history", body)[1]["facts"]
    lanes = dialog.locator(".lane")
    assert lanes.count() == len(history) == 4
    for lane, fact in zip(lanes.all(), history, strict=True):
        assert fact["content"] in lane.inner_text()
        plan = fact["relation"] == "plans"
        assert lane.locator(".hold").count() == len(fact["holds"]) + plan
        assert lane.locator(".told").count() == 1
    lisbon = lanes.nth(2).inner_text()
    assert "1 Mar 2021 to 1 Mar 2026" in lisbon and 'then "Jane moves to Porto in March"' in lisbon
    assert "holds at no time" in lanes.nth(0).inner_text()
    # Bars are to scale: a longer span is wider.
    wide = [lanes.nth(place).locator(".hold").first.bounding_box()["width"] for place in (1, 2)]
    assert wide[1] / wide[0] == pytest.approx(
        1826 / 1035, rel=0.02
    )  # days; rendered widths are rounded to pixels
    assert "jane said it in planning-2025-12-01, on 1 Dec 2025." in dialog.inner_text()
    page.click(".lane button:has-text('From 2018 to 2021')")
    expect(dialog.locator("h2")).to_have_text("From 2018 to 2021 Jane lived in Brno, not in Milan")
    assert dialog.locator("blockquote").inner_text() == "No, it was Brno before Lisbon, never Milan."
    assert "record=fact_" in page.url
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page).not_to_have_url(re.compile("record="))
    expect(row).to_be_focused()
    row.click()
    page.get_by_role("link", name="planning-2025-12-01").click()
    expect(page.locator(".replay h2")).to_have_text("No run of this name is recorded")
    page.go_back()
    page.goto(address(service, record="fact_" + "0" * 32))
    expect(page.locator("dialog.record h2")).to_have_text("It is not here")


def test_versions_of_policies_and_preferences_are_lanes(page: Any, service: Serving) -> None:
    go(page, service)
    page.click(".policy button.entry:has-text('secrets')")
    lanes = page.locator("dialog.record .lane")
    expect(lanes).to_have_count(2)
    assert (
        "1 Sept 2025 to 14 Oct 2025" in lanes.nth(0).inner_text()
        and "since 14 Oct 2025" in lanes.nth(1).inner_text()
    )
    page.keyboard.press("Escape")
    page.click(".preference button.entry:has-text('summary_length')")
    expect(page.locator("dialog.record .lane")).to_have_count(2)
    assert "4 Sept 2025 to 25 Nov 2025" in lanes.nth(0).inner_text()


# ---------------------------------------------------------------------- prompts and runs


def test_the_prompt_is_the_one_that_would_be_made(page: Any, service: Serving) -> None:
    go(page, service, "prompt")
    expect(page.locator(".empty h2")).to_have_text("What would the model be told?")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_label("Budget in tokens, as a number").fill("150")
    page.keyboard.press("Enter")
    page.get_by_label("Question").focus()
    expect(page.locator(".budget strong")).to_have_text(re.compile(r"\d+ of 150 tokens"))
    made = service.ask(
        "POST", "/v1/memory/assemble", {"scope": JANE, "text": QUESTION, "budget_tokens": 150}
    )[1]
    shown = texts(page, ".prompt-text pre")
    assert "\n\n".join(shown) == made["text"].strip()
    tokens = made["trace"]["tokens"]
    label = page.locator(".segments").get_attribute("aria-label")
    assert label.startswith(f"{tokens['total']} of 150 tokens: policies {tokens['policies']}, preferences")
    segments = page.locator(".segments i")
    assert segments.count() == len(tokens) - 1
    share = segments.first.bounding_box()["width"] / page.locator(".segments").bounding_box()["width"]
    assert share == pytest.approx(tokens["policies"] / 150, abs=0.01)  # rendered widths are rounded to pixels
    dropped = dict(made["trace"]["dropped"])
    assert set(dropped.values()) == {"over_budget", "below_floor"}
    rows = page.locator(".recalled tbody tr")
    assert rows.count() == len(made["trace"]["retrieved"])
    for row, hit in zip(rows.all(), made["trace"]["retrieved"], strict=True):
        said = {"over_budget": "Over the budget", "below_floor": "Not relevant enough", None: "✓ yes"}
        assert row.locator("td").last.inner_text() == said[dropped.get(hit["id"])]
        assert row.locator("td").nth(2).inner_text() == hit["tier"]
    page.get_by_label("Budget in tokens, as a number").fill("20")
    page.keyboard.press("Enter")
    expect(page.locator(".empty h2")).to_have_text("The budget is too small")
    page.click("text=Make it")
    expect(page.locator(".prompt-text")).to_be_visible()
    page.get_by_label("Question").fill("zebra ballet quantum")
    expect(page.locator(".remark")).to_contain_text("Nothing that is remembered answers this question")
    page.get_by_label("Floor").select_option("none")
    expect(page.locator(".remark")).to_have_count(0)
    # The prompt as of another day.
    page.goto(address(service, "prompt", q=QUESTION, as_of="2025-09-30", budget="500"))
    expect(page.locator(".prompt-text")).to_contain_text("The staging gateway runs v3.14.2")


def test_runs_are_replayed(page: Any, service: Serving) -> None:
    go(page, service, "runs")
    expect(page.locator(".replay-verdict")).to_have_text(
        "✓ 3 of 3 prompts made again from the trace are the same, byte for byte."
    )
    events = service.ask("POST", "/v1/memory/sessions/events", {"scope": JANE, "run": RUN})[1]["events"]
    said = [event["content"] for event in events if event["kind"] != "prompt"]
    assert texts(page, ".turn .says") == said
    replayed = service.ask("POST", "/v1/memory/sessions/replay", {"scope": JANE, "run": RUN})[1]["prompts"]
    prompts = page.locator(".prompt-made")
    assert prompts.count() == len(replayed) == 3
    second = prompts.nth(1)
    assert "✓ same bytes" in second.inner_text() and replayed[1]["sha256"][:12] in second.inner_text()
    second.locator("summary").click()
    shown = second.locator("pre").evaluate_all("all => all.map(one => one.textContent)")
    assert "\n\n".join(shown) == replayed[1]["text"].strip()
    assert "Over the budget" in second.inner_text()
    expect(second.locator("button.link", has_text="key starts with sk-stg-0041")).to_be_visible()
    assert "episode_" not in second.locator("table").inner_text()


# ---------------------------------------------------------------------- hostile content


def test_hostile_records_are_shown_as_they_are(page: Any, service: Serving) -> None:
    scope = {"tenant": HOSTILE.tenant, "user": HOSTILE.user or ""}
    go(page, service, **scope)
    expect(page.locator(".facts .wording")).to_have_text([EVIL])
    assert (
        EVIL in page.locator(".preference").first.inner_text()
        and EVIL in page.locator(".episode").inner_text()
    )
    page.click(".facts .entry")
    expect(page.locator("dialog.record h2")).to_have_text(EVIL)
    page.locator("dialog.record summary").click()
    page.locator("dialog.record").get_by_role("button", name="Revoke").click()
    expect(page.locator("dialog.asking blockquote")).to_have_text(EVIL)
    for part in ("prompt", "runs", "review"):
        go(page, service, part, **scope, q=EVIL)
        expect(page.locator(".prompt-text, .replay-verdict, .beside").first).to_be_visible()
    assert page.evaluate("window.pwned") is None
    inside = "main :is(script, iframe, style, base, meta, object, embed), main img, dialog img"
    assert page.locator(inside).count() == 0


def test_empty_and_failed_views_say_what_to_do(page: Any, service: Serving) -> None:
    go(page, service, tenant="globex", user="nobody")
    expect(page.locator(".empty h2")).to_have_text("Nothing is remembered here yet")
    assert "scrubjay memory add" in page.inner_text(".empty")
    go(page, service, "runs", user="marco")
    expect(page.locator(".empty h2")).to_have_text("No run is recorded here")
    go(page, service, as_of="1990-01-01")
    expect(page.locator(".facts .nothing")).to_have_text(
        "No facts then. Move the time, or tell it something."
    )

    def fail(route: Any) -> None:
        route.fulfill(
            status=503, json={"error": {"code": "busy", "message": "<i>another writer</i> is at work"}}
        )

    page.route("**/v1/memory/known", fail)
    go(page, service)
    expect(page.locator(".empty.bad p")).to_have_text("<i>another writer</i> is at work")
    page.unroute("**/v1/memory/known")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".facts .wording")).to_have_count(10)
    page.route("**/v1/memory/overview", fail)
    go(page, service)
    expect(page.locator(".empty.bad")).to_contain_text("is at work")


def test_a_large_memory_is_shown_in_pages(page: Any, service: Serving) -> None:
    scope = {"tenant": "acme", "user": "many"}
    candidates = [
        {"content": f"Many has item {n}", "subject": "Many", "predicate": f"item {n}"} for n in range(130)
    ]
    body = {"scope": scope, "source": "test", "candidates": candidates}
    assert service.ask("POST", "/v1/memory/propose", body)[0] == 200
    go(page, service, user="many")
    mine = page.locator(".facts section", has_text="Many").locator(".wording")
    expect(mine).to_have_count(98)  # and two that are shared, one of which waits
    assert "99+" in page.inner_text(".facts h2")
    page.get_by_role("button", name="Show more").click()
    expect(mine).to_have_count(130)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    assert sorted(set(texts(page, ".facts .wording"))) == sorted(
        {one["content"] for one in candidates} | {"The winter off-site is in Lisbon from 27 to 29 January"}
    )


def test_a_file_of_a_memory_alone_opens_on_what_is_known(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    with Memory.open(path) as memory:
        memory.propose("Kim skates", scope=Scope("acme", user="kim"), source="r")
    with Serving(path) as service:
        page.goto(service.url)
        expect(page.locator("h1")).to_have_text("What is known of acme / kim")
        expect(page.locator(".facts .wording")).to_have_text(["Kim skates"])
        page.get_by_role("link", name="Search", exact=True).click()
        expect(page).to_have_url(re.compile("#/search"))
