"""Level retrieval: minimum search quality. All stores share the same embedder of hashed words."""

from __future__ import annotations

from typing import Any

from memory_store_conformance import corpus
from memory_store_conformance.context import JANE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_N_IDENTIFIERS, _N_NOTES = 200, 1000
_LEAST_FIRST = 0.95
_LEAST_PARAPHRASES = 0.8


@check(
    "retrieval.identifiers",
    needs={"search"},
    why="A key, a ticket or an address is asked for as it is written.",
)
def identifiers(ctx: Context) -> dict[str, Any]:
    """Of 200 identifiers among 1,000 notes, queried verbatim, at least 95% return their note first."""
    store = ctx.open()
    names = corpus.identifiers(_N_IDENTIFIERS)
    texts = corpus.notes(_N_NOTES, names)
    store.put(JANE, [Item(f"m{number}", text) for number, text in enumerate(texts)])
    wrong = []
    for number, name in enumerate(names):
        hits = store.search(JANE, f"what is {name}?", 1)
        if ids_of(hits) != [f"m{number}"]:
            wrong.append((name, hits[0].item.text if hits else None))
    first = _N_IDENTIFIERS - len(wrong)
    require(
        first >= _LEAST_FIRST * _N_IDENTIFIERS, f"{first} of {_N_IDENTIFIERS} first; asked, got: {wrong[:3]}"
    )
    return {"identifiers first of 200": first}


@check("retrieval.paraphrases", needs={"search"}, why="Nobody asks in the words of the note.")
def paraphrases(ctx: Context) -> dict[str, Any]:
    """Of 20 questions in other forms of a note's words, at least 80% return it among the first 5 of 220 notes."""
    store = ctx.open()
    store.put(JANE, [Item(f"p{number}", text) for number, (text, _) in enumerate(corpus.PARAPHRASES)])
    store.put(JANE, [Item(f"m{number}", text) for number, text in enumerate(corpus.notes(200, []))])
    wrong = [
        question
        for number, (_, question) in enumerate(corpus.PARAPHRASES)
        if f"p{number}" not in ids_of(store.search(JANE, question, 5))
    ]
    n = len(corpus.PARAPHRASES)
    require(
        n - len(wrong) >= _LEAST_PARAPHRASES * n, f"{n - len(wrong)} of {n} found; not found: {wrong[:4]}"
    )
    return {"paraphrases found of 20": n - len(wrong)}


@check(
    "retrieval.filter-first",
    needs={"search", "filter $eq"},
    why="Three matching notes are there, and none is returned.",
)
def filter_first(ctx: Context) -> None:
    """A filter applies before ranking: admitted items are found however many better matches it excludes."""
    store = ctx.open()
    store.put(
        JANE,
        [Item(f"no{n}", f"the quarterly invoice of the customer {n}", {"kind": "draft"}) for n in range(500)],
    )
    store.put(
        JANE, [Item(f"yes{n}", f"sent, somehow about an invoice {n}", {"kind": "final"}) for n in range(3)]
    )
    got = sorted(ids_of(store.search(JANE, "the quarterly invoice of the customer", 3, {"kind": "final"})))
    require(got == ["yes0", "yes1", "yes2"], f"expected yes0, yes1, yes2, got {got}")


@check(
    "retrieval.ties", needs={"search"}, why="A test that passed yesterday fails today, and nobody knows why."
)
def ties(ctx: Context) -> None:
    """Equal matches come in the same order each time, and in a second store that was written alike."""
    answers = []
    for _ in range(2):
        store = ctx.open()
        for number in range(40):
            store.put(JANE, [Item(f"m{number}", "the same words in every note")])
        answers += [ids_of(store.search(JANE, "the same words", 10)) for _ in range(3)]
    require(
        all(answer == answers[0] for answer in answers),
        f"of 6 equal searches: {answers[0]} and {max(answers)}",
    )
    require(len(set(answers[0])) == 10, f"10 results are {len(set(answers[0]))} different items")


@check("retrieval.order", needs={"search"}, why="A prompt takes the first results and drops the rest.")
def order(ctx: Context) -> None:
    """Results come best first: an exact text first, scores never rise, and fewer results are a prefix of more."""
    store = ctx.open()
    items = [Item(f"m{number}", text) for number, text in enumerate(corpus.notes(100, []))]
    store.put(JANE, [*items, Item("exact", "The lighthouse keeper paints miniature ships")])
    many = store.search(JANE, "The lighthouse keeper paints miniature ships", 10)
    require(
        many and many[0].id == "exact", f"the exact text is not first: {[hit.item.text for hit in many[:3]]}"
    )
    few = ids_of(store.search(JANE, "The lighthouse keeper paints miniature ships", 3))
    require(few == ids_of(many)[:3], f"k=3 gives {few}, k=10 begins {ids_of(many)[:3]}")
    scores = [hit.score for hit in many if hit.score is not None]
    require(scores == sorted(scores, reverse=True), f"scores rise: {scores}")


@check("retrieval.k", needs={"search"}, why="A prompt budget is computed from k.")
def k_results(ctx: Context) -> None:
    """A search returns at most k distinct results, and exactly k if there are that many matches."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"a note about trains, number {number}") for number in range(30)])
    for k, expected in ((1, 1), (7, 7), (30, 30), (100, 30)):
        ids = ids_of(store.search(JANE, "a note about trains", k))
        require(len(ids) == len(set(ids)) == expected, f"k={k} of 30 matches gives {len(ids)}: {ids[:5]}")


@check("retrieval.fresh", needs={"search"}, why="What was said a minute ago is what the next turn asks for.")
def fresh(ctx: Context) -> None:
    """An item is found by the search that follows its put."""
    store = ctx.open()
    for number in range(30):
        store.put(JANE, [Item(f"m{number}", f"code word {number} zebra{number}")])
        ids = ids_of(store.search(JANE, f"zebra{number}", 30))
        require(f"m{number}" in ids, f"written as number {number + 1}, not among {len(ids)} results")


@check("retrieval.scripts", needs={"search"}, why="Most people do not write English.")
def scripts(ctx: Context) -> None:
    """A note in any script is found first by its own words."""
    store = ctx.open()
    texts = {
        "de": "Größere Räume für die Übung", "ru": "Поезд в Ригу отходит ночью", "el": "Η καφετιέρα χάλασε χθες",
        "he": "הרכבת יוצאת בלילה", "ar": "القطار يغادر ليلا", "hi": "ट्रेन रात में जाती है", "ko": "기차는 밤에 떠난다",
    }  # fmt: skip
    store.put(JANE, [Item(id, text) for id, text in texts.items()])
    for id, text in texts.items():
        ids = ids_of(store.search(JANE, text, 1))
        require(ids == [id], f"{text!r} found {ids}, expected [{id!r}]")
