"""Function words rank behind content words, and are found if the question has no others."""

from __future__ import annotations

from collections import Counter

import pytest

from scrubjay import Query
from tests.data.engines import Kit

LEXICAL = Query(mode="lexical")


def first(kit: Kit, texts: list[str], query: str) -> str:
    engine, home = kit.Engine(), kit.Scope("acme")
    engine.upsert_many(list(range(len(texts))), texts, scope=home)
    ids = engine.search(query, scope=home, query=LEXICAL).ids
    return texts[next(iter(ids))]


FACTS = [
    "I did the rollout on Tuesday.",
    "User's staging prefix is sk-stg-0041.",
    "Staging runs in the eu-central cluster.",
    "The prefix of invoices is INV.",
    "Staging is green.",
    "Each team has a prefix.",
]


def test_a_rare_function_word_does_not_outrank_content(kit: Kit) -> None:
    """I, did and for are as rare as possible in six facts."""
    assert first(kit, FACTS, "What prefix did I use for staging?") == FACTS[1]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (
            "to be or not to be",
            ["To be, or not to be, that is the question.", "The question is open.", "Be quick."],
        ),
        ("The Who", ["Saw The Who in Leeds.", "The concert in Leeds.", "A concert in Leeds."]),
        (
            "did IT approve the laptop?",
            ["IT says the laptop is fine", "did the laptop arrive", "the laptop broke"],
        ),
        (
            "when did we see The Who?",
            ["We saw who? The Who!", "when we did the laundry", "when did we go to the sea"],
        ),
    ],
)
def test_words_that_are_asked_for_are_found(kit: Kit, query: str, texts: list[str]) -> None:
    assert first(kit, list(reversed(texts)), query) == texts[0]


def test_endings_of_a_japanese_question_do_not_outrank_its_nouns(kit: Kit) -> None:
    """The pairs of characters in ですか are as rare here as that of the name."""
    texts = ["佐藤さんは医者ですか。", "伊藤さんは松山で生まれた。"]
    texts += [f"鈴木は{city}に行く。" for city in ("大阪", "金沢", "神戸", "名古屋", "仙台")]
    query = "伊藤さんの趣味は何ですか？"
    assert first(kit, texts, query) == texts[1]
    assert first(kit, texts, "ですか") == texts[0]  # it has nothing else
    assert first(kit, [*texts, "ひですか"], "ひですか") == "ひですか"  # a noun perhaps


def test_several_pairs_of_japanese_endings_weigh_less_than_a_frequent_name(kit: Kit) -> None:
    """さんの and ですか are four pairs, the name is one, which three of eight texts hold."""
    texts = ["中村さんの兄は医者ですか。", *[f"伊藤は{what}を集める。" for what in ("切手", "古本", "植物")]]
    texts += [f"鈴木は{city}に行く。" for city in ("大阪", "金沢", "神戸", "仙台")]
    assert first(kit, texts, "伊藤さんの趣味は何ですか？").startswith("伊藤")


@pytest.mark.parametrize(
    ("query", "frequent", "rare", "is_content"),
    [
        ("How many layovers?", "A layover in Oslo.", "There were many.", False),
        ("Tell me how  much sugar it was", "Two spoons of sugar.", "It cost much.", False),
        ("What kind of car is it?", "The car is new.", "How kind!", False),
        ("Which types of pasta", "The pasta is new.", "A type of joy.", False),
        # In another place or form it is a content word.
        ("What kind of car is kind?", "The car is new.", "How kind!", True),
        ("What kind car is it?", "The car is new.", "How kind!", True),
        ("the many cars", "The car is new.", "There were many.", True),
        ("how many-sided cars", "The car is new.", "There were many.", True),
    ],
)
def test_question_phrases_with_a_function_word_weigh_little(
    kit: Kit, query: str, frequent: str, rare: str, is_content: bool
) -> None:
    """With equal weights the rarer word would be first."""
    texts = [rare, *[f"{frequent} {n}" for n in range(4)], *[f"Oak {n}" for n in range(20)]]
    assert (first(kit, texts, query) == rare) == is_content


RECORDS = [
    "Le médecin de Noël est le docteur Blanc.",
    "Le médecin de Rémi est le docteur Petit.",
    "Le train de Lille est le plus lent.",
    "Rémi collectionne les vieux disques.",
]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("Quel est le passe-temps de Rémi ?", RECORDS[1:2] + RECORDS[3:]),
        ("Wo ist die Rechnung von der Firma?", ["Firma: Rechnung bezahlt"]),
        ("¿Cuál es la ciudad de los trenes?", ["Trenes, ciudad"]),
    ],
)
def test_function_words_of_other_languages_leave_content_first(
    kit: Kit, query: str, texts: list[str]
) -> None:
    """Documents without any content word of the question are last, however many function words they hold."""
    others = [
        *RECORDS[:1],
        *RECORDS[2:3],
        "Wo die Frau ist, von der er sprach.",
        "La casa de los libros es la mejor.",
    ]
    engine, home = kit.Engine(), kit.Scope("acme")
    engine.upsert_many(list(range(len(texts + others))), others + texts, scope=home)
    ids = list(engine.search(query, scope=home, query=LEXICAL).ids)
    assert {(others + texts)[id] for id in ids[: len(texts)]} == set(texts)


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("que dit le rouge et le noir", ["le", "et"]),
        ("das Boot und die Welle", ["das", "und", "die"]),
        ("who directed Das Boot and Die Hard?", []),  # mostly English
        ("das boot", []),  # one word does not determine the language
        ("LA or DE offices for the team", []),
        ("bureaux de LA et de Lyon, DE", ["et"]),  # a word in capitals is a name
        ("de la et le", []),  # there are no other words
        ("os man war die hat", []),  # could be English
    ],
)
def test_which_function_words_of_other_languages_weigh_little(kit: Kit, query: str, held: list[str]) -> None:
    """In one document, other words score 1.6 an occurrence, English function words 0.36."""
    words = ["le", "et", "das", "und", "die", "la", "de", "ou", "est", "os", "man", "hat"]
    engine, home = kit.Engine(), kit.Scope("acme")
    engine.upsert_many(list(range(len(words))), words, scope=home)
    scores = {
        words[id]: score
        for id, score in zip(*engine.search(query, scope=home, query=LEXICAL, k=20), strict=True)
    }
    n_asked = Counter(query.lower().replace(",", "").split())
    assert {word for word, score in scores.items() if score < 0.1 * n_asked[word]} == set(held)


def test_other_analyzers_know_no_function_words(kit: Kit) -> None:
    """At equal rarity it weighs as much as another word."""
    for analyzer, more in (("plain", True), ("english", False)):
        engine, home = kit.Engine(analyzer=analyzer), kit.Scope("acme")
        engine.upsert_many([1, 2, 3, 4], ["did", "jay", "oak", "fir"], scope=home)
        scores = dict(zip(*engine.search("did jay", scope=home, query=LEXICAL), strict=True))
        assert bool(scores[1] == scores[2]) is more, analyzer


def test_given_k1_and_b_mean_the_textbooks_formula(kit: Kit) -> None:
    """Peers have no function words; fixing only one parameter keeps ours."""
    for parameters, same in (({"k1": 1.2, "b": 0.75}, True), ({"k1": 1.2}, False), ({"b": 0.75}, False)):
        engine, home = kit.Engine(**parameters), kit.Scope("acme")
        engine.upsert_many([1, 2, 3, 4], ["did", "jay", "oak", "fir"], scope=home)
        scores = dict(zip(*engine.search("did jay", scope=home, query=LEXICAL), strict=True))
        assert bool(scores[1] == scores[2]) is same, parameters
