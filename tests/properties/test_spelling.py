"""Misspelt words are corrected as by the oracle: the same corrections, ids, order, scores to the last bit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Query
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Delete, Put
from tests.reference import judge

SHARED, HOME, OTHER = ("acme", None, None), ("acme", "jane", None), ("globex", None, None)
SCOPES = [SHARED, HOME, OTHER]
# Close to one another, so that most edits of one are near several known words.
KNOWN = [
    "wait", "want", "wanted", "wants", "what", "whale", "tale", "table", "tables", "stable", "databases", "migration",
    "migrate", "receive", "story", "abcd", "ABCD", "abcd-4711", "fooBar", "m\u00fcnchen", "\u043c\u043e\u0440\u0435",
    "eating", "boss", "bots", "noed", "no", "post-war", "o'neil", "ann's", "we\u2019ll", "qqrst", "qqrsting",
]  # fmt: skip
BETWEEN = [
    " ",
    " ",
    " ",
    ", ",
    " - ",
    "-",
    '" ',
    ' "',
    "'s ",
    "\u2019s ",
    "n't ",
    "/",
    ". ",
    " #",
    " @",
    "_",
    " \u201c",
    "\u201d ",
]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A known word, usually with one edit."""
    word = draw(st.sampled_from(KNOWN))
    place = draw(st.integers(0, len(word) - 1))
    letter = draw(st.sampled_from("aestxwZ\u00fc"))
    kinds = [
        word,
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
        word.upper(),
    ]
    return draw(st.sampled_from(kinds))


questions = st.lists(st.tuples(damaged(), st.sampled_from(BETWEEN)), min_size=1, max_size=6).map(
    lambda parts: "".join(word + between for word, between in parts)
)
documents = st.lists(
    st.tuples(
        st.lists(st.one_of(st.sampled_from(KNOWN), damaged()), min_size=1, max_size=4).map(" ".join),
        st.sampled_from(SCOPES),
    ),
    max_size=10,
)


def check(pair: Pair, query: str, key: tuple[str, str | None, str | None], *, mode: Any = "lexical") -> Any:
    asked = Query(mode=mode)
    given_result = pair.engine.search(query, scope=pair.scope(key), query=asked, explain=True)
    judge.same_result(
        given_result, pair.model.search(query, scope=pair.scope(key), query=asked, explain=True), explain=True
    )
    return given_result


@given(
    documents, questions, st.sampled_from(SCOPES), st.sampled_from([None, 1, 2]), st.sets(st.integers(0, 9))
)
@example([("want", HOME), ("whale", HOME), ("whale", HOME)], "waht", HOME, None, set())
@example(
    [("the want", HOME), ("want", HOME), ("what what", HOME), ("what", HOME)], "waht want", HOME, 1, set()
)
@example([("what", HOME), ("what", HOME), *[("table", HOME)] * 4], "waht table", HOME, None, set())
@example([("table", HOME), ("stable", SHARED), ("stable", SHARED)], "ttable", HOME, 1, set())
@example([("table", HOME), ("stable", OTHER)], "xstable", HOME, None, set())
@example([("abcd-4711", HOME), ("abcx", HOME)], "abcd-4711 abcx abcy", HOME, None, {1})
@example([("foobar", HOME)], 'fooBaz foobaz "foobaz"', HOME, None, set())
@example([("wait", HOME), ("want", HOME)], "tell me WANTX", HOME, None, set())
@example([("wait", HOME), ("want", HOME)], 'tell me "waxt"', HOME, None, set())
@example([("She bots it", HOME)], "who is her boss", HOME, None, set())
@example([("eats no pork", HOME), ("qqrsting", HOME)], "eate noeds qqrstedd", HOME, None, set())
@example([("turn on", HOME), ("ture", HOME)], "turned turnned turna tury", HOME, None, set())
@example([("a post\u2019war o'neil", HOME), ("ann's", HOME)], "postwer oneill annz", HOME, None, set())
@example([("caf\u00e9s m\u00dcnchen", HOME)], "munchem cafesx", HOME, 1, set())
def test_misspelt_words_are_corrected_like_the_twin(
    kit: Kit,
    written: list[tuple[str, tuple]],
    query: str,
    key: tuple,
    chunk_docs: int | None,
    deleted: set[int],
) -> None:
    pair = Pair(kit, chunk_docs)
    for id, (text, scope) in enumerate(written):
        pair.step(Put(id, text, scope, None))
    for id in sorted(deleted & set(range(len(written)))):
        pair.step(Delete(id, written[id][1]))
    check(pair, query, key)


# Stems of several words, stems that begin alike, and words whose stems end otherwise than they do.
LONG = [
    "migration", "migrations", "migrating", "migrated", "immigration", "memories", "memorial", "memorable", "household",
    "households", "household-7", "databases", "database", "environment", "environmental", "authority", "authorities",
    "authorise", "\u043a\u043d\u0438\u0433\u0430\u043c\u0438", "m\u00fcnchnerin", "cafe\u0301teria", "happily",
    "happiness", "categories", "category", "programming", "programmer", "authoritative", "abcdabcdabcd", "dictionary",
]  # fmt: skip


@st.composite
def damaged_twice(draw: st.DrawFn) -> str:
    """A long word, usually with two edits; letters outside ASCII and combining marks among them."""
    word = draw(st.sampled_from(LONG))
    for _ in range(draw(st.sampled_from([2, 2, 2, 1, 3]))):
        place = draw(st.integers(0, len(word) - 1))
        letter = draw(st.sampled_from(["a", "e", "i", "m", "n", "x", "y", "\u00fc", "\u0301", "\u043a"]))
        kinds = [
            word[:place] + word[place + 1 :],
            word[:place] + letter + word[place + 1 :],
            word[:place] + letter + word[place:],
            word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
        ]
        word = draw(st.sampled_from(kinds))
    return word


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(LONG), min_size=1, max_size=4), st.sampled_from(SCOPES)),
        min_size=1,
        max_size=8,
    ),
    st.lists(damaged_twice(), min_size=1, max_size=3),
    st.sampled_from(SCOPES),
    st.sampled_from([None, 1, 2]),
    st.sets(st.integers(0, 7)),
    st.sampled_from(["english", "english", "english", "plain", "german"]),
)
@example([(["migration"], HOME)], ["migratoinn"], HOME, None, set(), "english")
@example([(["memories"], HOME)], ["memmorry", "memmoriess"], HOME, None, set(), "english")
@example([(["databases", "database"], HOME)], ["dattabbases"], HOME, 1, set(), "plain")
@example([(["environmental"], HOME), (["environment"], HOME)], ["enviromnetal"], HOME, None, set(), "english")
@example(
    [(["categories"], HOME), (["databases"], HOME)],
    ["categoriesxy", "databas", "databasesen"],
    HOME,
    None,
    set(),
    "plain",
)
@example([(["household"], HOME), (["households"], OTHER)], ["housseholld"], HOME, 1, {0}, "english")
def test_two_edits_in_long_words(
    kit: Kit,
    written: list[tuple[list[str], tuple]],
    query: list[str],
    key: tuple,
    chunk_docs: int | None,
    deleted: set[int],
    analyzer: str,
) -> None:
    pair = Pair(kit, chunk_docs, analyzer=analyzer)
    for id, (words, scope) in enumerate(written):
        pair.step(Put(id, " ".join(words), scope, None))
    for id in sorted(deleted & set(range(len(written)))):
        pair.step(Delete(id, written[id][1]))
    check(pair, " ".join(query), key)


FORMS = [
    "mouse", "mice", "colour", "color", "colors", "crisis", "crises", "knife-edge", "knives", "oak", "leaf", "leave",
    "leaves", "left", "LEAVES", "sat", "SAT", "sit", "\u0623\u062d\u0645\u062f", "\u0627\u062d\u0645\u062f",
    "\u0645\u062f\u0631\u0633\u0629", "\u0645\u062f\u0631\u0633\u0647", "\u0627\u0644\u0645\u062f\u0631\u0633\u0649",
    "\u043a\u043d\u0438\u0433\u0430", "\u043a\u043d\u0438\u0433\u0443", "\u043a\u043d\u0438\u0433\u0438",
    "\u043c\u043e\u0438", "\u03b4\u03c1\u03cc\u03bc\u03bf\u03c2", "\u03b4\u03c1\u03cc\u03bc\u03bf\u03c5",
    "\u306d\u3053", "\u30cd\u30b3", "\u306d\u30b3", "\u30fe\u309d", "\u732b\u306d", "\u732b\u30cd",
    "\u0643\u062a\u0627\u0628", "\u0627\u0644\u0643\u062a\u0627\u0628", "\u0648\u0627\u0644\u0643\u062a\u0627\u0628",
    "\u0628\u064a\u062a", "\u05d1\u05d9\u05ea", "\u05d4\u05d1\u05d9\u05ea", "\u05d1\u05d1\u05d9\u05ea", "\u05d4\u05dd",
]  # fmt: skip


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(FORMS), min_size=1, max_size=3), st.sampled_from(SCOPES)),
        max_size=8,
    ),
    st.lists(st.sampled_from([*FORMS, "mouse-7", "mousx", "colouur"]), min_size=1, max_size=4),
    st.sampled_from(SCOPES),
)
@example([(["mouse"], HOME), (["mice"], HOME), (["mice"], HOME)], ["mouse"], HOME)
@example([(["mice"], HOME), (["color", "colors"], HOME)], ["mouse", "mouse", "colour"], HOME)
@example([(["mice"], HOME), (["mouse"], HOME)], ["mouse", "mice", "mousx"], HOME)
@example([(["leaf"], HOME), (["left"], HOME)], ["leave", "SAT"], HOME)
@example([(["leaf"], HOME), (["left"], HOME), (["sit"], HOME)], ["leave", "leaves", "SAT", "sat"], HOME)
@example([(["\u0623\u062d\u0645\u062f"], HOME)], ["\u0627\u062d\u0645\u062f"], HOME)
@example(
    [(["mouse"], HOME), (["mouse", "oak"], HOME), (["mice"], HOME), (["oak"], HOME)], ["mouse", "oak"], HOME
)
def test_other_forms_of_a_written_word_are_corrected_like_the_twin(
    kit: Kit, written: list[tuple[list[str], tuple]], query: list[str], key: tuple
) -> None:
    pair = Pair(kit)
    for id, (words, scope) in enumerate(written):
        pair.step(Put(id, " ".join(words), scope, None))
    check(pair, " ".join(query), key)


COMPOUNDS = """
    Versicherung Krankenversicherung Krankenversicherungsbeiträge Beitrag Kranken Haus Krankenhaus Hund Hundert Auflage
    Lage Schwarz Schwarzwald Wald Wälder Köch-7 der und nicht ist arbetsmarknad arbete marknad cannot can not
    lentokone lento kone Steuer Steuererklärung Erklärung Wasser Wasserleitung vinter vinterdäck
""".split()


@given(
    st.sampled_from(["english", "german", "swedish", "finnish"]),
    st.lists(
        st.tuples(st.lists(st.sampled_from(COMPOUNDS), min_size=1, max_size=5), st.sampled_from(SCOPES)),
        max_size=8,
    ),
    st.lists(
        st.sampled_from([*COMPOUNDS, "Versicherungen-3", "Krankenhaeuser", "Versichrung"]),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(SCOPES),
    st.sampled_from([None, 1, 2]),
)
@example("english", [(["Krankenversicherungsbeitr\u00e4ge"], HOME)], ["Versicherung"], HOME, None)
@example(
    "german", [(["Haus"], HOME), (["Haus"], HOME), (["Krankenhaus", "Kranken"], HOME)], ["Haus"], HOME, 1
)
@example("german", [(["Haus", "Kranken"], HOME)], ["Krankenhaus", "Krankenhaus"], HOME, None)
@example("german", [(["Steuererkl\u00e4rung"], HOME)], ["Steuer", "STEUERN"], HOME, None)
@example("swedish", [(["vinterd\u00e4ck", "vintern"], HOME)], ["vinter"], HOME, 1)
@example("english", [(["der", "und", "nicht", "ist", "Wald", "Schwarz"], HOME)], ["Schwarzwald"], HOME, None)
@example("english", [(["cannot"], HOME), (["Haus"], HOME)], ["can not", "Haus"], HOME, None)
@example("english", [(["can not"], HOME), (["Haus"], HOME)], ["cannot", "Haus"], HOME, None)
def test_compound_parts_match_like_the_twin(
    kit: Kit,
    analyzer: str,
    written: list[tuple[list[str], tuple]],
    query: list[str],
    key: tuple,
    chunk_docs: int | None,
) -> None:
    pair = Pair(kit, chunk_docs, analyzer=analyzer)
    for id, (words, scope) in enumerate(written):
        pair.step(Put(id, " ".join(words), scope, None))
    check(pair, " ".join(query), key)


FOREIGN = {
    "german": "fahren fuhr gefahren f\u00e4hrt anrufen angerufen Anruf M\u00fcller Mueller Buch "
    "B\u00fccher Ger\u00e4t-7 ",
    "danish": "\u00c5rhus Aarhus S\u00f8rensen Soerensen Sorensen g\u00e5 gik g\u00e5et by byer aa ",
    "swedish": "\u00c5sa Aasa Asa g\u00e5 gick bok b\u00f6cker Boecker ",
    "french": "aller va vais all\u00e9 \u0153il yeux oeil fait faire fit Zuerich Z\u00fcrich Noel ",
    "spanish": "ir ser fue voy dice decir dijo voz voces vez ",
    "russian": "\u0436\u0438\u0442\u044c \u0436\u0438\u0432\u0451\u0442 \u0436\u0438\u0432\u0443 "
    "\u0434\u0440\u0443\u0433 \u0434\u0440\u0443\u0437\u044c\u044f \u0435\u0441\u0442\u044c "
    "\u0435\u0441\u0442 ",
    "greek": "\u03c4\u03c1\u03ce\u03c9 \u03ad\u03c6\u03b1\u03b3\u03b1 \u03c6\u03ac\u03c9 "
    "\u03c0\u03ac\u03c9 \u03c0\u03ae\u03b3\u03b1 ",
    "arabic": "\u0643\u062a\u0627\u0628 \u0648\u0627\u0644\u0643\u062a\u0627\u0628 \u0643\u062a\u0627\u0628\u0627 "
    "\u0644\u0643\u062a\u0627\u0628 \u0628\u0627\u0644\u0643\u062a\u0627\u0628 \u0628\u064a\u062a "
    "\u0633\u064a\u0627\u0631\u0629 \u0627\u0644\u0633\u064a\u0627\u0631\u0629 "
    "\u0645\u062f\u0631\u0633\u0629 \u0644\u0644\u0645\u062f\u0631\u0633\u0629 ",
    "english": "M\u00fcller Muller Mueller \u00c5rhus Aarhus go went mueller Poet pot MUELLER Ae ",
    "plain": "M\u00fcller Muller Mueller \u00c5rhus Aarhus go went ",
}  # fmt: skip


@st.composite
def foreign(draw: st.DrawFn) -> tuple[str, list[tuple[str, tuple]], str]:
    """An analyzer, texts with scopes, a question."""
    analyzer = draw(st.sampled_from(sorted(FOREIGN)))
    text = st.lists(st.sampled_from(FOREIGN[analyzer].split()), min_size=1, max_size=4).map(" ".join)
    written = draw(st.lists(st.tuples(text, st.sampled_from(SCOPES)), max_size=8))
    return analyzer, written, draw(text)


@given(foreign(), st.sampled_from(SCOPES), st.sampled_from([None, 1, 2]))
@example(("german", [("fuhr", HOME), ("gefahren", HOME), ("gefahren", HOME)], "fahren"), HOME, None)
@example(("german", [("M\u00fcller", HOME), ("Mueller", HOME)], "Mueller angerufen"), HOME, 1)
@example(("danish", [("\u00c5rhus", HOME), ("Aarhus", HOME)], "\u00c5rhus Aarhus"), HOME, None)
@example(("spanish", [("ir", HOME), ("ser", HOME), ("voy", HOME)], "fue voy"), HOME, None)
@example(("english", [("Mueller", HOME), ("Muller", HOME)], "M\u00fcller"), HOME, None)
@example(
    (
        "arabic",
        [("\u0648\u0627\u0644\u0643\u062a\u0627\u0628 \u0644\u0643\u062a\u0627\u0628", HOME)],
        "\u0643\u062a\u0627\u0628",
    ),
    HOME,
    None,
)
def test_foreign_forms_match_like_the_twin(
    kit: Kit, given: tuple[str, list[tuple[str, tuple]], str], key: tuple, chunk_docs: int | None
) -> None:
    analyzer, written, question = given
    pair = Pair(kit, chunk_docs, analyzer=analyzer)
    for id, (text, scope) in enumerate(written):
        pair.step(Put(id, text, scope, None))
    check(pair, question, key)


@pytest.mark.parametrize("chunk_docs", [None, 150])
def test_compounds_among_many_terms(kit: Kit, chunk_docs: int | None) -> None:
    """So many words that they are looked up by letters; searched again after more were written."""
    pair = Pair(kit, chunk_docs, analyzer="german")
    fronts = ["Kranken", "Haus", "Lebens", "Reise", "Unfall", "Wasser", "Wald", "Stadt", "Arbeits", "Kinder"]
    backs = [
        "versicherung",
        "haus",
        "mittel",
        "schule",
        "beitrag",
        "strasse",
        "garten",
        "markt",
        "recht",
        "kasse",
    ]
    words = [
        front + middle + back
        for middle in ("", "schaden", "handel", "dienst")
        for front in fronts
        for back in backs
    ]
    for id, word in enumerate(words):
        pair.step(Put(id, word, HOME, None))
        if id in (200, 320, 399):
            found = [
                len(check(pair, asked, HOME).ids)
                for asked in ("Versicherung", "Wassermarkt Haus", "Lebensmittelhandelsrecht", "garten")
            ]
            assert min(found[:3]) > 0


@pytest.mark.parametrize("n_words", [15, 16, 17, 40])
def test_at_most_16_words_are_corrected(kit: Kit, n_words: int) -> None:
    pair = Pair(kit)
    words = [f"x{chr(97 + n // 8)}{chr(97 + n % 8)}qk" for n in range(n_words)]
    pair.step(Put(1, " ".join(words), HOME, None))
    result = check(pair, " ".join(f"{word}z" for word in words), HOME)
    assert len(result.corrections) == min(n_words, 16)


@pytest.mark.parametrize("n_bytes", [4096, 4097])
def test_longer_texts_are_no_questions(kit: Kit, n_bytes: int) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "migration", HOME, None))
    result = check(pair, "migraton".ljust(n_bytes, "."), HOME)
    assert len(result.corrections) == (n_bytes == 4096)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("recieve", "receive"),
        ("databse", "database"),
        ("postgress", "postgres"),
        ("migraton", "migration"),
        ("runnig", "running"),
        ("knife", "knives"),
        ("leaves", "leaf"),
        ("mouse", "mice"),
        ("children", "child"),
        ("analysis", "analyses"),
        ("crises", "crisis"),
        ("colour", "color"),
        ("organisation", "organization"),
        ("tyre", "tire"),
        ("\u0643\u062a\u0627\u0628", "\u0648\u0627\u0644\u0643\u062a\u0627\u0628"),
        ("\u0644\u0644\u0643\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"),
        ("\u05d4\u05d1\u05d9\u05ea", "\u05d1\u05d1\u05d9\u05ea"),
        ("\u043a\u043d\u0438\u0433\u0430", "\u043a\u043d\u0438\u0433\u0430\u043c\u0438"),
        ("\u043d\u043e\u0432\u044b\u0439", "\u043d\u043e\u0432\u0430\u044f"),
        (
            "\u03c0\u03c1\u03cc\u03b2\u03bb\u03b7\u03bc\u03b1",
            "\u03c0\u03c1\u03bf\u03b2\u03bb\u03ae\u03bc\u03b1\u03c4\u03b1",
        ),
        ("\u3089\u30fc\u3081\u3093", "\u30e9\u30fc\u30e1\u30f3"),
        ("\u30cd\u30b3", "\u306d\u3053"),
    ],
)
def test_each_misspelling_finds_its_document(kit: Kit, typed: str, known: str) -> None:
    pair = Pair(kit)
    pair.step(Put(1, f"{known} of the team", HOME, None))
    pair.step(Put(2, "nothing of the kind", HOME, None))
    assert check(pair, typed, HOME).ids.tolist() == [1]


@pytest.mark.parametrize(
    "query", ["databse-7", "@databse", "#databse", "databse_x", '"databse"', "the DATABSE", "dtabse/x"]
)
def test_words_meant_literally_are_not_corrected(kit: Kit, query: str) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "database", HOME, None))
    result = check(pair, query, HOME)
    assert result.corrections == []
    assert len(result) == 0


def test_spelling_can_be_turned_off(kit: Kit) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "database", HOME, None))
    off = Query(mode="lexical", spelling=False)
    assert len(pair.engine.search("databse", scope=pair.scope(HOME), query=off)) == 0
    assert pair.engine.search("databse", scope=pair.scope(HOME)).ids.tolist() == [1]


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("the bots are slow", "who is her boss"),
        ("does not eat pork", "the wedding date"),
        ("wore shorts and played", "which sports and plays"),
        ("a tale of two", "the tall one"),
        ("no pork", "it is noed"),
        ("she could not", "would she"),
    ],
)
def test_correct_words_and_words_that_stand_nowhere(kit: Kit, document: str, question: str) -> None:
    pair = Pair(kit)
    pair.step(Put(1, document, HOME, None))
    assert check(pair, question, HOME).corrections == []


def test_a_correction_stands_in_a_document(kit: Kit) -> None:
    """Whatever the stem: the form at edit distance 1 that some document has; there may be several."""
    pair = Pair(kit)
    pair.step(Put(1, "we migrated it", HOME, None))
    pair.step(Put(2, "a Migration of data", HOME, None))
    pair.step(Put(3, "the m\u00fcnchner office", HOME, None))
    assert check(pair, "migraton", HOME).corrections == [("migraton", "migration")]
    assert check(pair, "migratd", HOME).corrections == [("migratd", "migrated")]
    assert check(pair, "migrxtses", HOME).corrections == []
    assert check(pair, "munchnr", HOME).corrections == [("munchnr", "munchner")]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("kubernatis", "kubernetes"),
        ("migratoinn", "migration"),
        ("enviromnetal", "environmental"),
        ("memmorry", None),  # the known word has six letters
        ("cubarnates", None),  # another first letter
        ("environmentalis", "environmental"),
        ("kubarnatis", None),  # three edits
        ("kubernat\u0435s", None),  # a Cyrillic letter
        ("kubernati\u0301s", None),  # a combining mark
        ('"kubernatis"', None),
        ("kubernatis-7", None),
    ],
)
def test_long_words_with_two_edits(kit: Kit, typed: str, written: str | None) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "the kubernetes migration of memory, an environmental question", HOME, None))
    pair.step(Put(2, "nothing of the kind", HOME, None))
    expected = [] if written is None else [(typed, written)]
    assert check(pair, typed, HOME).corrections == expected


def test_one_edit_comes_before_two_and_frequent_terms_before_rare_ones(kit: Kit) -> None:
    pair = Pair(kit)
    for id, word in enumerate(
        ["qqabkdofgh", "qqabkdofgh", "qqabkdofij", "qqabkdofki", "qqabkdolgh", "qqabkdolgh"]
    ):
        pair.step(Put(id, word, HOME, None))
    assert check(pair, "qqabkdofxx", HOME).corrections == [("qqabkdofxx", "qqabkdofgh")]
    assert check(pair, "qqabkdofkx", HOME).corrections == [("qqabkdofkx", "qqabkdofki")]
    assert check(pair, "qqabkdoxgx", HOME).corrections == [("qqabkdoxgx", "qqabkdofgh")]  # the lesser of two


def test_two_edits_among_many_terms(kit: Kit) -> None:
    """So many that they are listed by first letter; searched again after more were written."""
    pair = Pair(kit)
    fronts = [
        "kranken",
        "kinder",
        "lebens",
        "kreis",
        "unfall",
        "wasser",
        "wald",
        "kunst",
        "arbeits",
        "klassen",
    ]
    backs = ["haus", "mittel", "schule", "beitrag", "strasse", "garten", "markt", "recht", "kasse", "wesen"]
    words = [
        front + middle + back for middle in ("", "s", "e", "schaden") for front in fronts for back in backs
    ]
    for id, word in enumerate(words):
        pair.step(Put(id, word, HOME, None))
        if id in (3, 200, 320, 399):
            typed = word[:2] + "x" + word[3:-2] + word[-1]
            assert check(pair, typed, HOME).corrections == [(typed, word)]


@pytest.mark.parametrize("n_before", [31, 32])
def test_corrections_read_at_most_32_documents(kit: Kit, n_before: int) -> None:
    pair = Pair(kit, 8)
    for id in range(n_before):
        pair.step(Put(id, "it waits", HOME, None))
    pair.step(Put(n_before, "waiting", HOME, None))
    assert len(check(pair, "waitin", HOME).corrections) == (n_before == 31)


@pytest.mark.parametrize("n_filled", [65_528, 65_529, 65_536])
def test_corrections_read_at_most_64_kib(kit: Kit, n_filled: int) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "waits ".ljust(n_filled, ".") + " waiting", HOME, None))
    pair.step(Put(2, "waiting", HOME, None))
    assert len(check(pair, "waitin", HOME).corrections) == (n_filled == 65_528)


def test_contexts_are_read_too(kit: Kit) -> None:
    pair = Pair(kit)
    payload = b'{"context":"a migration"}'
    pair.both(lambda engine: engine.upsert(1, "of data", scope=pair.scope(HOME), payload=payload))
    assert check(pair, "migraton", HOME).corrections == [("migraton", "migration")]


def test_a_guess_says_half(kit: Kit) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "database", HOME, None))
    pair.step(Put(2, "nothing", HOME, None))
    assert check(pair, "databse", HOME).information.tolist() == [0.5]
    assert check(pair, "database databse", HOME).information.tolist() == [1.0]


def test_words_of_other_scopes_are_no_corrections(kit: Kit) -> None:
    pair = Pair(kit)
    pair.step(Put(1, "database", OTHER, None))
    pair.step(Put(2, "oak", HOME, None))
    assert check(pair, "databse", HOME).corrections == []
