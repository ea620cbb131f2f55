"""The search view in a real browser: a search per keystroke, both rankings, lines, slider, comparison, editing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.adapters.browser import ask, browser, browser_or_skip, page_of, settle
from tests.adapters.serving import Serving

browser_or_skip()

from playwright.sync_api import expect  # noqa: E402

JANE = "#/search?tenant=acme&user=jane"
QUESTION = "pg-prd-01 is down, whom do I wake up?"


@pytest.fixture(scope="module")
def service() -> Iterator[Serving]:
    with Serving("--demo") as service:
        yield service


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def page(running: Any) -> Iterator[Any]:
    with page_of(running, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


def explained(service: Serving, text: str, **options: Any) -> Any:
    asked = {"text": text, "scope": {"tenant": "acme", "user": "jane"}, **options}
    status, given = service.ask("POST", "/v1/explain", asked)
    assert status == 200
    return given


def texts(page: Any, column: str) -> list[str]:
    found: list[str] = page.locator(f".column.{column} li .text").evaluate_all(
        "all => all.map(one => one.textContent)"
    )
    return found


def parameters(page: Any) -> dict[str, str]:
    """Return the parameters of the address, which follows typing with a delay."""
    page.wait_for_timeout(300)
    return {name: values[0] for name, values in parse_qs(page.url.partition("?")[2]).items()}


def test_the_start_proposes_questions_and_shows_memories(page: Any, service: Serving) -> None:
    page.goto(service.url)
    expect(page.locator(".example").first).to_be_visible()
    expect(page.locator("button.scope")).to_contain_text("acme / jane")
    expect(page.locator("button.scope .badge")).to_have_text("99")
    assert page.locator(".newest li").count() == 12
    page.locator(".example", has_text="gpu-lab-3").click()
    expect(page.locator("button.scope")).to_contain_text("acme / priya")
    expect(page.locator(".column.fused li").first).to_contain_text("gpu-lab-3")
    assert parameters(page) == {
        "tenant": "acme",
        "user": "priya",
        "q": "how long can we still pay for gpu-lab-3?",
    }
    page.go_back()
    expect(page.locator(".example").first).to_be_visible()


def test_pending_input_is_written_to_the_history_entry_of_its_own_page(page: Any, service: Serving) -> None:
    """The address follows with a delay; navigating at once must not write the new one into the old history entry."""
    page.goto(service.url + JANE)
    settle(page)
    page.evaluate(
        "import('/state.js').then(({ state }) => {"
        " state.set({ q: 'train' }); state.set({ q: 'key' }, { push: true }); })"
    )
    expect(page.locator("#q")).to_have_value("key")
    page.go_back()
    expect(page.locator("#q")).to_have_value("train")


def test_every_keystroke_is_a_search(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    settle(page)
    asked: list[str] = []
    page.on(
        "request", lambda sent: asked.append(sent.post_data_json["text"]) if "explain" in sent.url else None
    )
    page.locator("#q").press_sequentially("pg-prd", delay=150)
    settle(page)
    assert asked[-1] == "pg-prd" and len(asked) >= 3 and asked == sorted(asked, key=len)
    expect(page.locator(".counter .figure")).to_have_text(re.compile(r"^\d+(\.\d)?$"))
    expect(page.locator(".counter .unit")).to_have_text(re.compile("^(µs|ms)$"))
    assert re.search(
        r"embedding alone .+ · median of \d+ searches .+ · explained and over HTTP \d+ ms",
        page.inner_text("#times"),
    )
    page.fill("#q", "")
    expect(page.locator(".example").first).to_be_visible()


def test_columns_show_both_rankings_and_their_fusion(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    ask(page, QUESTION)
    expected = explained(service, QUESTION)
    for column, name in (("fused", "hits"), ("words", "lexical"), ("meaning", "vector")):
        assert texts(page, column) == [hit["text"] for hit in expected[name]], column
    assert page.locator("mark.identifier").first.inner_text() == "pg-prd-01"
    marked = page.locator(".column.fused mark.word").all_inner_texts()
    # A word as written; "is" is not a search term.
    assert "wake" in marked and "is" not in marked
    first = page.locator(".column.fused li").first
    assert (
        "#1 words" in first.inner_text()
        and "#1 meaning" in first.inner_text()
        and "Sep 16, 2025" in first.inner_text()
    )
    # The fused ranking comes first, for screen readers and on a phone.
    assert page.locator(".column").first.get_attribute("aria-label") == "Fused"
    first.locator("summary").click()
    details = first.locator("dl").inner_text()
    assert "BM25 15.49, place 1" in details and "acme/jane/13" in details and "infrastructure" in details
    assert "holds a rare identifier" in details


def test_side_columns_show_what_stands_below_a_heading(page: Any, service: Serving) -> None:
    """Only two lines of a text are shown there: line feeds would waste them on a heading."""
    page.goto(service.url + JANE)
    ask(page, QUESTION)
    styles = page.locator(".column.words .text, .column.meaning .text").evaluate_all(
        "all => all.map(one => getComputedStyle(one).whiteSpace)"
    )
    assert set(styles) == {"normal"}
    assert "pre-line" in page.locator(".column.fused .text").first.evaluate(
        "one => getComputedStyle(one).whiteSpace"
    )


def test_lines_join_the_places_of_a_memory(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    ask(page, QUESTION)
    expected = explained(service, QUESTION)
    fused = {hit["id"] for hit in expected["hits"]}
    for kind, name, rank in (("words", "lexical", "lexical_rank"), ("meaning", "vector", "vector_rank")):
        there = fused & {hit["id"] for hit in expected[name]}
        beyond = {hit["id"] for hit in expected["hits"] if hit[rank] is not None} - there
        assert page.locator(f".lines path.{kind}").count() == len(there | beyond), kind
        assert page.locator(f".column.{kind} .pill").count() == len(beyond), kind
    hit = page.locator(".column.fused li").nth(2)
    hit.hover()
    key = hit.get_attribute("data-key")
    lit = page.locator(".lit").evaluate_all(
        "all => all.map(one => [one.tagName.toLowerCase(), one.dataset.key])"
    )
    assert {name for name, _ in lit} >= {"li", "path"} and {of for _, of in lit} == {key}
    assert sum(name == "li" for name, _ in lit) == 3 and sum(name == "path" for name, _ in lit) == 2
    # A line ends at the edge of its cards.
    ends = page.evaluate(
        """key => {
            const box = document.querySelector(".columns").getBoundingClientRect();
            const of = selector => [...document.querySelectorAll(selector)].find(one => one.dataset.key === key);
            const card = of(".column.fused li").getBoundingClientRect();
            const path = of(".lines path.words");
            const end = path.getPointAtLength(path.getTotalLength());
            return [end.x + box.left - card.left, end.y + box.top - card.top, card.height];
        }""",
        key,
    )
    assert abs(ends[0]) < 1.5 and 0 < ends[1] < ends[2]
    # By keyboard, too: focusing a card's rank highlights its copies, Enter pins them.
    page.mouse.move(0, 0)
    page.locator(".column.words .rank").nth(1).focus()
    assert page.locator("li.lit").count() >= 2
    page.keyboard.press("Enter")
    page.locator("#q").focus()
    assert page.locator("li.lit").count() >= 2 and page.locator(".rank[aria-pressed=true]").count() >= 2


def test_the_slider_fuses_live(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    ask(page, QUESTION)
    chosen = explained(service, QUESTION)["lexical_share"]
    assert page.locator("#weight").input_value() in {
        str(round(5 * round((1 - chosen) * 20))),
        str(round((1 - chosen) * 100)),
    }
    assert page.locator(".auto").get_attribute("aria-pressed") == "true"
    page.locator("#weight").focus()
    page.keyboard.press("End")
    settle(page)
    by_meaning = explained(service, QUESTION, fusion={"method": "weighted", "weights": [0.0, 1.0]})
    assert texts(page, "fused") == [hit["text"] for hit in by_meaning["hits"]]
    assert parameters(page)["w"] == "0"
    assert page.locator("#weight").get_attribute("aria-valuetext") == "0 % words, 100 % meaning"
    page.keyboard.press("Home")
    settle(page)
    by_words = explained(service, QUESTION, fusion={"method": "weighted", "weights": [1.0, 0.0]})
    assert (
        texts(page, "fused")
        == [hit["text"] for hit in by_words["hits"]]
        != [hit["text"] for hit in by_meaning["hits"]]
    )
    page.click(".auto")
    settle(page)
    assert "w" not in parameters(page)
    assert texts(page, "fused") == [hit["text"] for hit in explained(service, QUESTION)["hits"]]


def test_a_link_shows_the_same_to_a_colleague(page: Any, running: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    ask(page, QUESTION)
    page.locator("#weight").focus()
    page.keyboard.press("Home")
    page.fill("#k", "3")
    page.keyboard.press("Tab")
    settle(page)
    page.click("text=Copy link")
    link = page.evaluate("navigator.clipboard.readText()")
    shown = texts(page, "fused")
    assert len(shown) == 3
    with page_of(running) as other:
        other.goto(link)
        expect(other.locator(".column.fused li")).to_have_count(3)
        assert texts(other, "fused") == shown and other.input_value("#q") == QUESTION
        other.reload()
        expect(other.locator(".column.fused li")).to_have_count(3)
        assert texts(other, "fused") == shown


def test_a_dialog_closes_when_its_page_is_left(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    page.click("text=What would another see?")
    expect(page.locator("dialog")).to_be_visible()
    page.goto(service.url + "#/map?tenant=acme&user=jane")
    expect(page.locator("dialog")).to_have_count(0)
    page.get_by_role("link", name="Memory").click()  # nothing covers it


def test_code_that_is_copied_finds_the_same(page: Any, service: Serving, tmp_path: Any) -> None:
    awkward = 'the "staging" key\'s prefix \\ $HOME `id`'
    page.goto(service.url + JANE)
    ask(page, awkward)
    page.locator("#weight").focus()
    page.keyboard.press("Home")
    settle(page)
    page.click("text=Copy curl")
    command = shlex.split(page.evaluate("navigator.clipboard.readText()").replace("\\\n", " "))
    assert command[0] == "curl" and service.url + "/v1/search" in command
    body = json.loads(command[command.index("-d") + 1])
    assert body["text"] == awkward and body["scope"] == {"tenant": "acme", "user": "jane"}
    status, found = service.ask("POST", "/v1/search", body)
    assert status == 200 and [hit["text"] for hit in found["hits"]] == texts(page, "fused")
    page.click("text=Copy Python")
    script = page.evaluate("navigator.clipboard.readText()")
    make = (
        "from scrubjay import demo, embedders; "
        "demo.make_file('memories.scrubjay', embedders.default()).close()"
    )
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True)
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert [line.split(" ", 1)[1] for line in ran.stdout.splitlines()] == [
        f"{hit['id']} {hit['text']}" for hit in found["hits"]
    ]


def test_results_of_another_scope_are_shown_side_by_side(page: Any, service: Serving) -> None:
    page.goto(service.url + JANE)
    ask(page, "holiday requests")
    page.click("text=What would another see?")
    page.fill("dialog input[type=search]", "priya")
    page.locator("dialog .scopes button", has_text="priya").first.click()
    expect(page.locator(".column.other h2")).to_have_text("acme / priya sees")
    settle(page)
    assert parameters(page)["vs"] == "acme/priya"
    for column, user in (("one", "jane"), ("other", "priya")):
        asked = {"text": "holiday requests", "scope": {"tenant": "acme", "user": user}}
        expected = service.ask("POST", "/v1/explain", asked)[1]["hits"]
        assert texts(page, column) == [hit["text"] for hit in expected]
    assert page.inner_text(".verdict").startswith("Nothing crosses over.")
    both = set(texts(page, "one")) & set(texts(page, "other"))
    assert both and page.locator(".lines path").count() == len(both)
    page.click("text=End the comparison")
    expect(page.locator(".column.words")).to_be_visible()


def test_a_memory_is_added_changed_and_deleted_after_asking(page: Any, service: Serving) -> None:
    page.goto(service.url + "#/search?tenant=acme&user=newcomer")
    expect(page.locator(".notice")).to_contain_text("Nothing is stored for acme / newcomer itself")
    page.click("text=Add a memory")
    page.fill("dialog textarea >> nth=0", "The kettle <b>whistles</b> in E flat.")
    page.fill("dialog textarea >> nth=1", "{broken")
    page.click("dialog button.primary")
    expect(page.locator("dialog .wrong")).to_contain_text("expected JSON")
    page.fill("dialog textarea >> nth=1", '{"category": "kitchen"}')
    page.click("dialog button.primary")
    expect(page.locator(".newest li").first).to_contain_text("The kettle <b>whistles</b>")
    ask(page, "kettle")
    first = page.locator(".column.fused li").first
    first.locator("summary").click()
    first.get_by_role("button", name=re.compile("^Edit")).click()
    page.fill("dialog textarea >> nth=0", "The kettle whistles in G.")
    page.fill("dialog textarea >> nth=1", '{"room": "hall"}')  # a removed key is deleted
    page.click("dialog button.primary")
    expect(first.locator(".text")).to_have_text("The kettle whistles in G.")
    sought = {"text": "kettle", "k": 1, "scope": {"tenant": "acme", "user": "newcomer"}}
    assert service.ask("POST", "/v1/search", sought)[1]["hits"][0]["metadata"] == {"room": "hall"}
    first.get_by_role("button", name=re.compile("^Delete")).click()
    assert page.locator("dialog").inner_text().count("The kettle whistles in G.") == 1
    page.click("dialog >> text=Cancel")
    asked = {"text": "kettle", "k": 1, "scope": {"tenant": "acme", "user": "newcomer"}}
    assert "kettle" in service.ask("POST", "/v1/search", asked)[1]["hits"][0]["text"]
    first.get_by_role("button", name=re.compile("^Delete")).click()
    page.click("dialog button.danger")
    expect(page.locator(".toast", has_text="Deleted")).to_be_visible()
    settle(page)
    assert "kettle" not in page.inner_text(".column.fused")
    assert "kettle" not in service.ask("POST", "/v1/search", asked)[1]["hits"][0]["text"]


def test_empty_and_failed_searches_show_what_to_do(page: Any, service: Serving) -> None:
    page.goto(service.url + "#/search?tenant=acne")
    expect(page.locator(".empty h2")).to_have_text("Nothing to see from acne")
    page.locator(".empty button", has_text="acme").first.click()
    expect(page.locator(".example").first).to_be_visible()
    page.goto(service.url + JANE + "&q=key&k=5000")
    expect(page.locator(".notice.bad")).to_contain_text("100 hits at most; 5000 were asked for")
    page.goto(service.url + JANE + "&k=10")
    ask(page, "stagnig gatewya")
    expect(page.locator(".notices")).to_contain_text("Searched for “staging” in place of “stagnig”")
    page.route("**/v1/explain", lambda route: route.abort())
    page.fill("#q", "anything")
    expect(page.locator(".empty.bad")).to_contain_text("The service does not answer")
    page.unroute("**/v1/explain")
    page.click("text=Try again")
    expect(page.locator(".column.fused li").first).to_be_visible()
