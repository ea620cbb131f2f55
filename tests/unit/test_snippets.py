"""Snippets and highlights: the words of a question as written in a text, and the part of a long text that answers."""

from __future__ import annotations

import pickle
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Index, Memory, Query, Retriever, Scope, Snippet, analyze, embedders
from scrubjay.backend import Backend
from scrubjay.documents.sentences import sentences
from scrubjay.index.matched_words import Language, Mark, find_words
from scrubjay.index.question_words import Reading, Wording
from scrubjay.index.snippets import cut_snippet

JANE = Scope("acme", user="jane")
ENGLISH = Language()
MIDDLE = "If the nightly backups fail three times in a row, page Ada before touching the replica."
FILLER = [f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(500)]
LONG = " ".join([*FILLER[:250], MIDDLE, *FILLER[250:]])


def marked(text: str, question: str, language: Language = ENGLISH) -> list[str]:
    return [text[m.start : m.end] for m in find_words(text, language.asked(question), language)]


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("She sailed; SAILING is slow.", "who sails", ["sailed", "SAILING"]),
        ("What the keys open.", "what do the keys open?", ["keys", "open"]),
        ("To be or not to be.", "to be or not to be", ["To", "be", "or", "not", "to", "be"]),
        ("(sk-stg-0041), sk-stg-0042", "sk-stg-0041", ["sk-stg-0041", "sk", "stg"]),
        (
            "see `C++`, C#, #4711 and __init__.py",
            "C++ #4711 __init__.py",
            ["C++", "C", "#4711", "__init__", "py"],
        ),
        ("path/to/sk-stg-0041/x", "sk-stg-0041", ["sk-stg-0041"]),
        (
            "O\u2019Brien's well-known colour",
            "obrien wellknown color",
            ["O\u2019Brien", "well-known", "colour"],
        ),
        ("Die Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("un café, le Cafe\u0301", "cafe", ["café", "Cafe\u0301"]),
        ("「東京タワー」へ行く。", "東京", ["東京"]),
        ("我昨天去了北京大学。", "北京大学", ["北京大学"]),
        ("請用scrubjay登録", "scrubjay", ["scrubjay"]),
        ("請用sk-stg-0041登録", "sk-stg-0041", ["sk-stg-0041"]),
        ("यह हिन्दी में है", "हिन्दी", ["हिन्दी"]),
        ("ภาษาไทยง่าย", "ภาษาไทย", ["ภาษาไทย"]),
        ("رأيت الكتاب اليوم", "الكتاب", ["الكتاب"]),
        ("nothing of it", "zebra", []),
        ("", "zebra", []),
    ],
)
def test_words_are_marked_as_they_stand(text: str, question: str, words: list[str]) -> None:
    assert marked(text, question) == words


def test_only_the_wanted_terms_of_each_text_are_returned() -> None:
    wanted = frozenset({"sail", "sk-stg-0041"})
    found = ENGLISH.terms(["She sails", "", "sk-stg-0041", "90817263 sailing"], wanted)
    assert [sorted(one.all) for one in found] == [["sail"], [], ["sk-stg-0041"], ["sail"]]
    assert [sorted(one.whole) for one in found] == [[], [], ["sk-stg-0041"], []]
    assert ENGLISH.terms([], wanted) == []


def test_many_different_words_are_marked_as_few_are() -> None:
    words = [f"q{first}{second}k" for first in "bcdfghjlmn" for second in "aeiou"]
    assert len(set(words)) == 50
    text = " ".join(f"({word})," for word in words * 2)
    assert marked(text, " ".join(words[:40])) == words[:40] * 2
    assert marked(text, " ".join(words[:4])) == words[:4] * 2


TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("ab1 -_.'京都 กา #+é\u0301\n"))
)


@given(TEXTS)
@example("90817263 90817264 x")
@example("a\u200db \u00a0c\u3000d")
def test_the_analyzer_never_looks_across_white_space(text: str) -> None:
    """The basis of marking: a text has the terms of its pieces."""
    every = frozenset(term for term, _ in analyze(text))
    pieces = [terms.all for terms in ENGLISH.terms(text.split(), every)]
    assert [term for term, _ in analyze(text)] == [
        term for piece in text.split() for term, _ in analyze(piece)
    ]
    assert pieces == [frozenset(term for term, _ in analyze(piece)) for piece in text.split()]


@given(TEXTS, TEXTS)
@example("sk-stg-0041x", "0041")
def test_a_text_is_marked_if_it_holds_a_term_and_only_there(text: str, question: str) -> None:
    terms = ENGLISH.asked(question)
    marks = find_words(text, terms, ENGLISH)
    held = {term for term, _ in analyze(text)} & set(terms)
    assert set().union(*(mark.terms for mark in marks)) == held
    place = 0
    for mark in marks:
        assert place <= mark.start < mark.end <= len(text) and mark.terms <= held
        assert not text[mark.start].isspace() and not text[mark.end - 1].isspace()
        place = mark.end


@given(TEXTS, st.integers(20, 60), st.text("ab京 ", min_size=1, max_size=5))
def test_a_snippet_is_a_part_of_the_text_that_fits(text: str, width: int, question: str) -> None:
    marks = find_words(text, ENGLISH.asked(question), ENGLISH)
    snippet = cut_snippet(text, marks, width)
    assert snippet.text == text[snippet.start : snippet.end] and len(snippet.text) <= width
    assert snippet.before == bool(text[: snippet.start].strip())
    assert snippet.after == bool(text[snippet.end :].strip())
    words = {(mark.start, mark.end) for mark in marks}
    assert {(snippet.start + start, snippet.start + end) for start, end in snippet.highlights} <= words
    if any(mark.end - mark.start <= width for mark in marks):
        assert snippet.highlights or min(mark.end - mark.start for mark in marks) > width // 2
    assert "".join(piece for piece, _ in snippet.pieces()) == snippet.text
    assert [piece for piece, match in snippet.pieces() if match] == [
        snippet.text[start:end] for start, end in snippet.highlights
    ]
    assert pickle.loads(pickle.dumps(snippet)) == snippet


@given(TEXTS)
def test_sentences_are_all_of_the_text_but_white_space(text: str) -> None:
    spans = sentences(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    assert spans == sorted(spans)


def test_sentences_of_many_scripts() -> None:
    text = "Да. Нет! 「好。」他说。それは？はい。क्या यह है। हाँ। متى؟ غدا. Why\n\n# Head\n- one\nAda: two\nwrapped line"
    assert [text[start:end] for start, end in sentences(text)] == [
        "Да.", "Нет!", "「好。」", "他说。", "それは？", "はい。", "क्या यह है।", "हाँ।", "متى؟", "غدا.", "Why", "# Head",
        "- one", "Ada: two\nwrapped line",
    ]  # fmt: skip


def test_the_part_with_most_of_the_question_is_shown() -> None:
    index = Index()
    index.upsert("log", LONG, scope=JANE)
    snippet = index.search("who to page if backups fail in some hall?", scope=JANE)[0].snippet(100)
    assert MIDDLE in snippet.text and len(snippet.text) <= 100
    assert (snippet.text, snippet.before, snippet.after) == (
        LONG[snippet.start : snippet.end],
        True,
        True,
    )
    assert snippet.marked("[", "]").count("[backups] [fail]") == 1
    assert str(snippet).startswith("… ") and str(snippet).endswith(" …")


def test_long_sentences_are_cut_around_the_matched_words() -> None:
    text = "x " * 500 + "needle " + "y " * 500
    index = Index()
    index.upsert("one", text, scope=JANE)
    snippet = index.search("needle", scope=JANE)[0].snippet(50)
    assert "needle" in snippet.text and 30 <= len(snippet.text) <= 50
    assert snippet.start > 900 and snippet.text.split()[0] in ("x", "needle")
    wide = Index()
    wide.upsert("one", "京" * 300 + "都市" + "京" * 300, scope=JANE)
    assert "都市" in wide.search("都市", scope=JANE)[0].snippet(20).text


def test_a_cut_parts_no_character_from_its_marks() -> None:
    text = "e\u0301" * 400
    snippet = cut_snippet(text, [], 25)
    assert unicodedata.normalize("NFC", snippet.text) == "é" * (len(snippet.text) // 2)


def test_without_its_words_the_nearest_sentence_is_shown() -> None:
    index = Index(embedder=embedders.default())
    index.upsert("log", LONG, scope=JANE)
    question = "whom do we inform when saving data goes wrong again and again?"
    snippet = index.search(question, scope=JANE)[0].snippet(120)
    assert snippet.highlights == () and "backups fail" in snippet.text


def test_spelling_and_keywords_decide_what_is_marked() -> None:
    index = Index()
    index.upsert("log", LONG, scope=JANE)
    hit = index.search("nightly bakups", scope=JANE)[0]
    assert [hit.text[start:end] for start, end in hit.highlights()] == ["nightly", "backups"]
    hit = index.search("nightly", scope=JANE, query=Query(keywords="replica"))[0]
    assert [hit.text[start:end] for start, end in hit.highlights()] == ["replica"]


def test_a_search_without_text_marks_nothing_and_shows_the_beginning() -> None:
    index = Index(dim=2)
    index.upsert("log", LONG, scope=JANE, vector=[1, 0])
    hit = index.search(vector=[1, 0], scope=JANE)[0]
    assert hit.highlights() == []
    assert hit.snippet(80) == Snippet(FILLER[0], 0, len(FILLER[0]), before=False, after=True)


def test_an_analyzer_of_ones_own_marks_its_own_terms() -> None:
    index = Index(analyzer="first-letters", stemmer=lambda word: word[:3])
    index.upsert("one", "Haustür und Haus, Garten", scope=JANE)
    hits = index.search("hausen", scope=JANE)
    assert [hits[0].text[start:end] for start, end in hits[0].highlights()] == ["Haustür", "Haus"]
    pickle.loads(pickle.dumps(hits))[0].snippet()  # without the stemmer, which is a function


def test_hits_say_the_same_after_pickling_closing_and_deleting() -> None:
    index = Index()
    index.upsert("log", LONG, scope=JANE)
    hits = index.search("nightly bakups", scope=JANE, explain=True)
    spans = hits[0].highlights()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(hits))))
    assert again[0].snippet(60) == index.search("nightly bakups", scope=JANE)[0].snippet(60)
    index.delete("log", scope=JANE)
    index.close()
    assert hits[0].highlights() == again[0].highlights() == spans


def test_batches_retrievers_substrings_and_keys_have_snippets() -> None:
    index = Index()
    index.upsert("log", LONG, scope=JANE)
    (batch,) = index.search_batch(["nightly backups"], scope=JANE)
    retrieved = Retriever(index).search("nightly backups", scope=JANE)
    known = Backend.of(index).hits_of([(JANE, "log")], JANE, "nightly backups")
    assert known is not None
    assert batch[0].snippet() == retrieved[0].snippet() == known[0].snippet()
    assert MIDDLE in batch[0].snippet().text
    assert retrieved.to_dicts(snippet=40)[0]["snippet"] == retrieved[0].snippet(40).to_dict()
    assert Backend.of(index).find_substring("pag", scope=JANE)[0].snippet(40).after


def test_recalled_hits_have_snippets(tmp_path: Any) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        memory.index.upsert("log", LONG, scope=JANE)
        hit = memory.recall("nightly backups", JANE)[0]
        assert MIDDLE in hit.snippet().text
        assert [hit.text[start:end] for start, end in hit.highlights()] == ["nightly", "backups"]


def test_dicts_have_a_snippet_where_it_is_asked_for() -> None:
    index = Index()
    index.upsert("log", LONG, scope=JANE)
    hits = index.search("nightly backups", scope=JANE)
    assert "snippet" not in hits.to_dicts()[0]
    shown = hits.to_dicts(snippet=40)[0]["snippet"]
    assert shown == hits[0].snippet(40).to_dict()
    assert [piece["text"] for piece in shown["pieces"] if piece["match"] == "word"] == ["nightly", "backups"]
    assert LONG[shown["start"] : shown["end"]] == "".join(piece["text"] for piece in shown["pieces"])


def test_identifiers_are_distinguished_from_words() -> None:
    index = Index()
    index.upsert("key", "The staging key is sk-stg-0041, staged.", scope=JANE)
    snippet = index.search("staging sk-stg-0041", scope=JANE)[0].snippet()
    assert snippet.pieces() == [
        ("The ", None), ("staging", "word"), (" key is ", None), ("sk-stg-0041", "identifier"), (", ", None),
        ("staged", "word"), (".", None),
    ]  # fmt: skip
    assert snippet.marked("[", "]") == "The [staging] key is [sk-stg-0041], [staged]."


@pytest.mark.parametrize(
    ("width", "error"), [(19, ValueError), (0, ValueError), ("9", TypeError), (True, TypeError)]
)
def test_a_bad_width_is_an_error(width: Any, error: type[Exception]) -> None:
    index = Index()
    index.upsert("one", "text", scope=JANE)
    hits = index.search("text", scope=JANE)
    with pytest.raises(error, match=r"^width: expected .* got"):
        hits[0].snippet(width)
    with pytest.raises(error, match=r"^snippet: expected .* got"):
        hits.to_dicts(snippet=width)


@pytest.mark.parametrize("width", [20, 21, 240])
def test_more_marks_than_a_snippet_has_room_for(width: int) -> None:
    heap = "x" * 100 + "a" + "\u0301" * 3000 + "b" + "y" * 200
    for text in (heap, "\u0301" * 3000, "key" + "\u20dd" * 500 + " key"):
        for place in (None, 0, 2, 101, 1500, len(text) - 1):
            if place is not None and place >= len(text):
                continue
            marks = [] if place is None else [Mark(place, place + 1, frozenset("a"))]
            snippet = cut_snippet(text, marks, width)
            assert snippet.text == text[snippet.start : snippet.end]
            assert 0 < len(snippet.text) <= width
            assert place is None or snippet.highlights


def test_a_word_longer_than_a_snippet_behind_white_space_is_shown() -> None:
    assert cut_snippet(" " + "x" * 100, [], 20).text == "x" * 20
    assert cut_snippet("Ja. " + "x" * 100, [], 20).text != ""


@pytest.mark.parametrize("place", [0, 40_000, 65_530, 300_000, 699_990])
def test_the_snippet_of_a_long_text_is_found_wherever_it_is(place: int) -> None:
    plain = "Pumps and valves are checked in each hall.\n" * 17_000
    at = plain.rfind("\n", 0, place) + 1
    text = plain[:at] + MIDDLE + "\n" + plain[at:]
    index = Index()
    index.upsert("log", text, scope=JANE)
    for width in (100, 240):
        snippet = index.search("nightly backups replica", scope=JANE)[0].snippet(width)
        assert snippet.text == text[snippet.start : snippet.end] and MIDDLE in snippet.text
        words = [snippet.text[start:end] for start, end in snippet.highlights]
        assert words == ["nightly", "backups", "replica"]
        assert (snippet.before, snippet.after) == (snippet.start > 0, snippet.end < len(text) - 1)


def test_a_match_in_every_word_of_a_long_text_costs_what_a_part_of_it_costs() -> None:
    """Counts the words that are tested one by one, not seconds: the whole text has 150,000."""
    text = " ".join(f"w{number}" for number in range(150_000))
    index = Index()
    index.upsert("log", text, scope=JANE)
    hit = index.search("w77 w100", scope=JANE)[0]
    looked_at: list[int] = []

    class Counting(Wording):
        def marks(self, text: str) -> list[Mark]:
            looked_at.append(len(text))
            return super().marks(text)

    found = Counting("w77 w100", Reading(ENGLISH), hit._hits._result).snippet(text, 240)
    assert found == hit.snippet(240) and "w77 " in found.text
    assert sum(looked_at) < 70_000


def test_of_equal_parts_of_a_text_without_sentences_the_first_is_shown() -> None:
    log = "disk pump error valve " * 400
    marks = find_words(log, ENGLISH.asked("error"), ENGLISH)
    assert cut_snippet(log, marks, 60).start < 60
    marks = find_words(log + "valve error " + log, ENGLISH.asked("error valve"), ENGLISH)
    snippet = cut_snippet(log + "valve error " + log, marks, 60)
    assert snippet.start < 60 and len(snippet.highlights) > 1
