"""A word is found in its other forms, in each language. Each row has a text and a question that asks for it."""

from __future__ import annotations

import pytest

from scrubjay import Index, Scope

ACME = Scope("acme")
OTHERS = ("Something else altogether, about oaks.", "The weather of last week.", "Notes of a meeting.")


def both_ways(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    return [row for a, b in pairs for row in ((f"About {a} here.", b), (f"About {b} here.", a))]


ROWS = [
    # Misspelt.
    ("They receive it.", "recieve"), ("The database is down.", "databse"), ("We run Postgres.", "postgress"),
    ("The migration failed.", "migraton"),
    # Other forms of English words.
    *both_ways(("knife", "knives"), ("leaf", "leaves"), ("mouse", "mice"), ("analysis", "analyses")),
    *both_ways(("crisis", "crises"), ("colour", "color"), ("organisation", "organization"), ("tyres", "tires")),
    *both_ways(("bought", "buys"), ("went", "go"), ("gone", "going"), ("taught", "teach"), ("written", "wrote")),
    ("Jane's house.", "Jane"), ("The houses.", "house"), ("A caf\u00e9.", "cafe"), ("An e-mail.", "email"),
    *both_ways(("cannot", "can not")),
    *both_ways(("index", "indices"), ("quiz", "quizzes"), ("thesis", "theses"), ("focus", "foci")),
    *both_ways(("vertex", "vertices"), ("schema", "schemata"), ("person", "people"), ("spectrum", "spectra")),
    *both_ways(("judgement", "judgment"), ("licence", "license"), ("cheque", "check"), ("disc", "disk")),
    *both_ways(("kilometre", "kilometer"), ("yoghurt", "yogurt"), ("artefact", "artifact"), ("dialled", "dialing")),
    *both_ways(("misunderstood", "misunderstand"), ("forbade", "forbidden"), ("laid", "lay")),
    # German with the analyzer for English.
    *both_ways(("Buch", "B\u00fccher"), ("Haus", "H\u00e4user"), ("Kind", "Kinder")),
    ("Die Krankenversicherungsbeitr\u00e4ge steigen.", "Versicherung"),
    ("Die Versicherung zahlt.", "Krankenversicherungsbeitr\u00e4ge"),
    # Scripts.
    *both_ways(("\u0643\u062a\u0627\u0628", "\u0627\u0644\u0643\u062a\u0627\u0628")),
    *both_ways(("\u05d1\u05d9\u05ea", "\u05d4\u05d1\u05d9\u05ea")),
    *both_ways(("\u05d1\u05d9\u05ea", "\u05e9\u05d1\u05d1\u05d9\u05ea")),
    *both_ways(("\u05d1\u05d9\u05ea", "\u05db\u05e9\u05d4\u05d1\u05d9\u05ea")),
    *both_ways(("\u0623\u062d\u0645\u062f", "\u0627\u062d\u0645\u062f")),
    *both_ways(("\u0645\u062f\u0631\u0633\u0629", "\u0648\u0627\u0644\u0645\u062f\u0631\u0633\u0647")),
    *both_ways(("\u043a\u043d\u0438\u0433\u0430", "\u043a\u043d\u0438\u0433\u0443")),
    *both_ways(("\u03b4\u03c1\u03cc\u03bc\u03bf\u03c2", "\u03b4\u03c1\u03cc\u03bc\u03bf\u03c5")),
    *both_ways(("\u306d\u3053", "\u30cd\u30b3")),
    ("\u6771\u4eac\u90fd\u5e81", "\u6771\u4eac"), ("\ud559\uad50\uc5d0\uc11c", "\ud559\uad50"),
    ("ti\u1ebfng Vi\u1ec7t", "tieng Viet"), ("\u092a\u093e\u0928\u0940 \u0939\u0948", "\u092a\u093e\u0928\u0940"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "question"), ROWS)
def test_a_word_is_found_in_its_other_forms(text: str, question: str) -> None:
    index = Index()
    for n, other in enumerate(OTHERS):
        index.upsert(f"other{n}", other, scope=ACME)
    index.upsert("it", text, scope=ACME)
    assert list(index.search(question, scope=ACME).ids) == ["it"]


@pytest.mark.parametrize(
    "text",
    [
        "\u0648\u0627\u0644\u0643\u062a\u0627\u0628",
        "\u0644\u0643\u062a\u0627\u0628",
        "\u0643\u062a\u0627\u0628\u0627",
        "\u0641\u0627\u0644\u0643\u062a\u0627\u0628",
        "\u0644\u0644\u0643\u062a\u0627\u0628",
    ],
)
def test_the_analyzer_for_arabic_finds_prefixes_that_its_stemmer_leaves(text: str) -> None:
    index = Index(analyzer="arabic")
    index.upsert("other", "\u0633\u064a\u0627\u0631\u0629", scope=ACME)
    index.upsert("it", text, scope=ACME)
    assert list(index.search("\u0643\u062a\u0627\u0628", scope=ACME).ids) == ["it"]


@pytest.mark.parametrize(
    ("text", "question", "is_found"),
    [
        ("A maple leaf.", "When does he leave?", False),
        ("A maple leaf.", "leaves", True),
        ("When he left.", "leaves", True),
        ("Please sit.", "her SAT score", False),
        ("Please sit.", "where she sat", True),
        ("They find it.", "Who founded the club?", False),
        ("They find it.", "Who found the key?", True),
    ],
)
def test_the_question_says_which_word_is_meant(text: str, question: str, is_found: bool) -> None:
    index = Index()
    index.upsert("it", text, scope=ACME)
    index.upsert("other", "When does he, her, where she, who the: score club key", scope=ACME)
    found = {hit.id: hit for hit in index.search(question, scope=ACME, explain=True)}
    assert ("it" in found) == is_found


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("german", "Die Krankenversicherung und Kranken", "Versicherung"),
        ("german", "Das Haus der Kranken", "Krankenhaus"),
        ("german", "Die Steuererklärung ist fertig", "Steuer"),
        ("german", "Die Wasserleitung tropft", "Wasser"),
        ("german", "Ein Computerspiel", "Computers"),
        ("dutch", "De ziekenhuisopname", "ziekenhuis"),
        ("swedish", "Sjukförsäkringen gäller", "försäkring"),
        ("swedish", "Nya vinterdäck", "vinter"),
        ("danish", "Forsikringsselskabet", "forsikring"),
        ("norwegian", "Forsikringsselskapet", "forsikring"),
        ("finnish", "sairausvakuutus", "vakuutus"),
    ],
)
def test_a_part_of_a_compound_is_found(language: str, text: str, question: str) -> None:
    index = Index(analyzer=language)
    index.upsert("other", "xyz", scope=ACME)
    index.upsert("it", text, scope=ACME)
    assert list(index.search(question, scope=ACME).ids) == ["it"]


@pytest.mark.parametrize(
    ("text", "question"),
    [("Hundert Leute, der das nicht ist", "Hund"), ("Die Auflage der Karte ist nicht auf", "Lage")],
)
def test_a_word_that_stands_in_another_by_chance_is_not_found(text: str, question: str) -> None:
    for analyzer in ("english", "german"):
        index = Index(analyzer=analyzer)
        index.upsert("it", text, scope=ACME)
        assert list(index.search(question, scope=ACME).ids) == []


def test_a_word_itself_is_worth_more_than_a_compound_with_it() -> None:
    index = Index(analyzer="german")
    index.upsert("compound", "Krankenversicherung", scope=ACME)
    for n in range(6):
        index.upsert(f"word{n}", "Versicherung", scope=ACME)
    found = index.search("Versicherung", scope=ACME, k=10)
    assert list(found.ids)[-1] == "compound"
    before = [hit.score for hit in found][:6]
    index.delete("compound", scope=ACME)
    index.upsert("compound", "Anderes", scope=ACME)
    after = [hit.score for hit in index.search("Versicherung", scope=ACME, k=10)]
    assert before == after


@pytest.mark.parametrize("question", ["Versicherung-7", "versicherung_nummer", '"Krankenhaus7"'])
def test_identifiers_have_no_compounds(question: str) -> None:
    index = Index()
    index.upsert("it", "Krankenversicherungsbeitrag", scope=ACME)
    assert list(index.search(question, scope=ACME).ids) == []


def test_english_words_have_no_compounds_by_chance() -> None:
    index = Index()
    index.upsert("it", "The firewall, the football and a workplace", scope=ACME)
    for word in ("fire", "ball", "place", "wall"):
        assert list(index.search(word, scope=ACME).ids) == []
