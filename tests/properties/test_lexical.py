"""The engine ranks by BM25 as the oracle does: the same ids in the same order, scores equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrubjay import Query
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Delete, Erase, Put, Step
from tests.reference import judge

HEAVY = settings(max_examples=max(5, settings().max_examples // 6))
SHARED, HOME = ("acme", None, None), ("acme", "jane", None)
CODER, BOTH = ("acme", None, "coder"), ("acme", "jane", "coder")
AAA = ("a", "a", "a")


def check(pair: Pair, query: str, key: tuple[str, str | None, str | None], k: int = 10) -> None:
    scope = pair.scope(key)
    given_result = pair.engine.search(query, scope=scope, k=k, query=Query(mode="lexical"), explain=True)
    expected = pair.model.search(query, scope=scope, k=k, query=Query(mode="lexical"), explain=True)
    judge.same_result(given_result, expected, explain=True)


@given(
    draw.histories(),
    st.lists(st.tuples(draw.queries, draw.scope_keys), min_size=1, max_size=5),
    draw.k_values,
    draw.chunk_sizes,
)
@example(
    [Put(1, "jay", HOME, None), Put(2, "jay", HOME, None), Put(1, "jay", HOME, None)], [("jay", HOME)], 9, 1
)
@example(
    [Put(1, "jay", HOME, None), Put(2, "jay oak", HOME, None), Delete(1, HOME)], [("jay oak", HOME)], 10, None
)
@example(  # one id in four scopes, of which one is replaced, one deleted
    [
        *(Put(1, "jay", key, None) for key in (SHARED, HOME, CODER, BOTH)),
        Put(1, "jay oak", CODER, None),
        Delete(1, HOME),
    ],
    [("jay", BOTH), ("jay", HOME), ("oak", CODER)],
    10,
    1,
)
@example([Put(1, "", HOME, None)], [("", HOME), ("jay", HOME), (" .,; ", HOME)], 10, None)
@example(
    [Put(1, "the of and", HOME, None), Put(2, "the the", HOME, None)], [("the of and the", HOME)], 9, None
)
@example([Put(1, "jay", CODER, None), Put(2, "jay", HOME, None)], [("jay", BOTH)], 1, None)
@example([Put(1, "jay", ("a", "a", None), None), Put(2, "jay", ("a", None, "a"), None)], [("jay", AAA)], 9, 1)
@example(
    [Put(1, "oak", HOME, None), Erase(SHARED, True), Put(1, "oak oak", HOME, None)], [("oak", HOME)], 5, 3
)
def test_ranking_is_bm25(
    kit: Kit, history: list[Step], searches: list[tuple[str, tuple]], k: int, chunk_docs: int | None
) -> None:
    pair = Pair(kit, chunk_docs).apply(history)
    for query, key in searches:
        check(pair, query, key, k)


@given(draw.histories(), draw.queries, draw.scope_keys, st.floats(0, 4), st.floats(0, 1))
@example([Put(1, "jay", HOME, None), Put(2, "jay jay oak", HOME, None)], "jay", HOME, 0.0, 0.0)
@example([Put(1, "jay", HOME, None), Put(2, "jay jay oak", HOME, None)], "jay", HOME, 1.2, 1.0)
def test_parameters_are_those_of_the_engine(
    kit: Kit, history: list[Step], query: str, key: tuple, k1: float, b: float
) -> None:
    check(Pair(kit, k1=k1, b=b).apply(history), query, key)


@HEAVY
@given(st.lists(st.integers(1, 120), min_size=1, max_size=8), st.booleans(), st.booleans())
@example([29, 31], True, True)
@example([59, 61], True, True)
@example([45, 45, 45], True, False)
@example([45, 46, 45], False, True)
def test_parameters_follow_the_average_length(
    kit: Kit, lengths: list[int], open_k1: bool, open_b: bool
) -> None:
    pair = Pair(kit, k1=None if open_k1 else 0.9, b=None if open_b else 0.4)
    for id, length in enumerate(lengths):
        pair.step(Put(id, " ".join(["jay", *["oak"] * (length - 1)]), HOME, None))
    check(pair, "jay oak", HOME)


def check_words(kit: Kit, words: list[str], query: list[tuple[str, str]], space: str) -> None:
    """Check a query, words with what follows each, against memories of these words alone and of their last ones."""
    pair = Pair(kit)
    for id, word in enumerate(words):
        pair.step(Put(id, f"{word} oak", HOME, None))
        pair.step(Put(len(words) + id, space.join(words[id:]), HOME, None))
    check(pair, "".join(word + between for word, between in query), HOME)


FUNCTION = [
    "what",
    "did",
    "What",
    "The",
    "the",
    "WHO",
    "who",
    "I",
    "it",
    "IT",
    "us",
    "don't",
    "Didn\u2019t",
    "who's",
    "how",
    "How",
    "many",
    "kind",
    "kinds",
    "of",
]
CONTENT = ["jay", "Jay", "oak-tree", "TS-999", "itself_2", "caf\u00e9", "'the'", "them\u00e9", "they'ren't"]
BETWEEN = [" ", " ", " ", ". ", "? ", ', "', ") ", " - ", "\n", "."]


@given(
    st.lists(st.sampled_from(FUNCTION + CONTENT), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.sampled_from(FUNCTION + CONTENT), st.sampled_from(BETWEEN)), min_size=1, max_size=8
    ),
)
@example(["the", "jay"], [("the", " "), ("jay", " ")])
@example(["who", "did"], [("did", " "), ("The", " "), ("WHO", " "), ("jay", " ")])
@example(["who", "did", "what"], [("jay", ". "), ("What", " "), ("did", " "), ("who", " ")])
@example(["who", "did"], [("who", " "), ("did", " ")])
@example(["many", "jay"], [("How", " "), ("many", " "), ("jay", " ")])
@example(["many", "jay"], [("how", " "), ("many", "."), ("jay", " "), ("many", ".")])
@example(["kind", "jay"], [("What", " "), ("kinds", " "), ("of", " "), ("jay", " ")])
@example(["kind", "jay"], [("what", " "), ("kind", " "), ("jay", " ")])
def test_function_words_weigh_little(kit: Kit, words: list[str], query: list[tuple[str, str]]) -> None:
    check_words(kit, words, query, " ")


FOREIGN = [
    "le",
    "les",
    "est",
    "quel",
    "DE",
    "de",
    "die",
    "der",
    "welcher",
    "zwischen",
    "LA",
    "la",
    "el",
    "donde",
]
FOREIGN += [
    "dónde",
    "où",
    "für",
    "che",
    "não",
    "het",
    "och",
    "ikke",
    "OS",
    "os",
    "d'où",
    "the",
    "what",
    "jay",
    "Jay",
]


@given(
    st.lists(st.sampled_from(FOREIGN), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from(FOREIGN), st.sampled_from(BETWEEN)), min_size=1, max_size=8),
)
@example(["le", "jay", "est"], [("le", " "), ("est", " "), ("quel", " "), ("jay", " ")])
@example(["la", "de", "jay"], [("LA", " "), ("de", " "), ("la", " "), ("el", " "), ("jay", " ")])
@example(["le", "the"], [("le", " "), ("quel", " "), ("the", " "), ("what", " "), ("jay", " ")])
def test_function_words_of_other_languages_weigh_less(
    kit: Kit, words: list[str], query: list[tuple[str, str]]
) -> None:
    check_words(kit, words, query, " ")


JAPANESE = """
    伊藤 趣味 何 味 ガリ デス jay さん さんの くん さんたちには ちゃんと は の の について です ですか
    でしたよ のですが していましたか してください いますか こと もの からは かに りんごが さく すから
    でかさん しないでくださいね さんについてしないでくださいけど さたち
""".split()


@given(
    st.lists(st.sampled_from(JAPANESE), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.sampled_from(JAPANESE), st.sampled_from(["", "", "", "、", " ", "?", "・", "\u3099"])),
        min_size=1,
        max_size=8,
    ),
)
@example(
    ["さんです", "趣味"], [("伊藤", ""), ("さんの", ""), ("趣味", ""), ("は", ""), ("何", ""), ("ですか", "")]
)
@example(["です", "趣味"], [("です", ""), ("さく", ""), ("趣味", ""), ("です", "")])
@example(["です", "すか"], [("ですか", "")])
@example(["さん", "かに"], [("かに", "、"), ("さんと", "、"), ("趣味", "")])
def test_pairs_of_hiragana_in_endings_weigh_little(
    kit: Kit, words: list[str], query: list[tuple[str, str]]
) -> None:
    check_words(kit, words, query, "")


@HEAVY
@given(
    draw.histories(texts=st.one_of(draw.texts, draw.long_texts()), max_size=8), draw.queries, draw.scope_keys
)
@example(
    [Put(i, "jay" + " filler" * n, HOME, None) for i, n in enumerate((1022, 1023, 1024, 1031, 2047, 2063))],
    "jay",
    HOME,
)
def test_long_documents_have_coded_lengths(kit: Kit, history: list[Step], query: str, key: tuple) -> None:
    check(Pair(kit).apply(history), query, key)


def test_lengths_saturate(kit: Kit) -> None:
    """Beyond the last code, longer documents do not count as longer; one step before they still do."""
    engine, home = kit.Engine(), kit.Scope("acme")
    if not kit.is_native:
        pytest.skip("a million words are too many for the model's analyzer")
    for id, n_words in enumerate((261_119, 261_120, 300_000)):
        engine.upsert(id, "jay" + " oak" * (n_words - 1), scope=home)
    ids, scores = engine.search("jay", scope=home)
    assert ids.tolist() == [0, 1, 2]
    assert scores[0] > scores[1] == scores[2]


@given(st.lists(st.integers(1, 80), min_size=2, max_size=12), draw.words)
@example([30, 31, 32, 33, 1], "jay")
def test_frequencies_saturate(kit: Kit, counts: list[int], word: str) -> None:
    pair = Pair(kit, b=0.0)
    for id, count in enumerate(counts):
        pair.step(Put(id, " ".join([word] * count), HOME, None))
    check(pair, word, HOME, k=100)


@given(draw.histories(), st.one_of(draw.long_queries, draw.repeated_words()), draw.scope_keys)
@example([Put(1, "jay", HOME, None), Put(2, "jay oak", HOME, None)], "jay " * 3000 + "oak", HOME)
@example([Put(i, f"w{i}", HOME, None) for i in range(30)], " ".join(f"w{i} " * 40 for i in range(30)), HOME)
def test_long_queries_lower_the_fraction_bits(kit: Kit, history: list[Step], query: str, key: tuple) -> None:
    check(Pair(kit).apply(history), query, key)


@HEAVY
@given(
    st.randoms(use_true_random=False),
    st.integers(200, 900),
    st.integers(1, 40),
    st.sampled_from([None, 64, 100]),
)
def test_large_partitions_rank_like_the_twin(
    kit: Kit, random, n_documents: int, k: int, chunk_docs: int | None
) -> None:
    """Enough documents for more than one SIMD block, dense and rare terms, many ties, deletes in the middle."""
    pair = Pair(kit, chunk_docs)
    vocabulary = [f"w{i}" for i in range(60)] + draw.WORDS
    texts = [
        " ".join(
            random.choices(
                vocabulary, weights=[1 / (i + 1) for i in range(len(vocabulary))], k=random.randint(0, 12)
            )
        )
        for _ in range(n_documents)
    ]
    keys = [
        random.choice([("acme", None, None), HOME, ("acme", None, "coder"), ("acme", "jane", "coder")])
        for _ in texts
    ]
    ids = [number // random.choice([1, 3]) for number in range(n_documents)]
    homes = [pair.scope(key) for key in keys]
    pair.both(lambda engine: engine.upsert_many(ids, texts, scope=homes))
    gone = random.sample(range(n_documents), n_documents // 7)
    pair.both(lambda engine: engine.delete_many([ids[i] for i in gone], scope=[homes[i] for i in gone]))
    for _ in range(6):
        query = " ".join(random.choices(vocabulary, k=random.randint(1, 10)))
        check(pair, query, ("acme", "jane", "coder"), k)
        check(pair, query, HOME, k)


@given(draw.histories(), draw.histories(), draw.queries, draw.k_values)
def test_other_tenants_change_nothing(
    kit: Kit, history: list[Step], neighbours: list[Step], query: str, k: int
) -> None:
    """Not one bit of acme's answers depends on what other tenants write, change or erase, with their own ids or with
    acme's.
    """
    home, alone = kit.Scope("acme", "jane", "coder"), Pair(kit)
    together = Pair(kit)
    mine = [step for step in history if isinstance(step, Put) and step.scope[0] == "acme"]
    theirs = [step for step in neighbours if isinstance(step, Put) and step.scope[0] != "acme"]
    for index, step in enumerate(mine):
        alone.step(Put(index // 2, step.text, step.scope, None))
        if index < len(theirs):
            together.step(Put(index, theirs[index].text, theirs[index].scope, None))
        together.step(Put(index // 2, step.text, step.scope, None))
        if index % 5 == 4:
            together.step(
                Delete(index // 2, theirs[index % len(theirs)].scope if theirs else ("globex", None, None))
            )
    before = alone.engine.search(query, scope=home, k=k)
    judge.same_result(together.engine.search(query, scope=home, k=k), before)
    together.step(Erase(("globex", None, None), False))
    judge.same_result(together.engine.search(query, scope=home, k=k), before)


@given(draw.histories(), draw.queries, draw.scope_keys, draw.chunk_sizes)
def test_answers_do_not_depend_on_earlier_updates_and_deletions(
    kit: Kit, history: list[Step], query: str, key: tuple, chunk_docs: int | None
) -> None:
    """Updated, deleted, erased and compacted, or freshly built from the remaining documents: the same answers."""
    pair = Pair(kit, chunk_docs).apply(history)
    fresh = kit.Engine()
    for row in sorted(pair.model._rows.values(), key=lambda row: row.serial):
        fresh.upsert(row.document.id, row.document.text, scope=row.document.scope)
    scope = pair.scope(key)
    expected = fresh.search(query, scope=scope, k=100, explain=True) if query else None
    if expected is None:
        return
    judge.same_result(pair.engine.search(query, scope=scope, k=100, explain=True), expected, explain=True)
    pair.engine.compact()
    judge.same_result(pair.engine.search(query, scope=scope, k=100, explain=True), expected, explain=True)


@given(
    draw.histories(),
    st.lists(draw.queries, min_size=1, max_size=6),
    draw.scope_keys,
    st.sampled_from([None, 1, 2, 4]),
)
def test_batch_is_one_search_each(
    kit: Kit, history: list[Step], queries: list[str], key: tuple, threads: int | None
) -> None:
    pair = Pair(kit).apply(history)
    scope = pair.scope(key)
    results = pair.engine.search_batch(
        queries, scope=scope, k=7, query=Query(mode="lexical"), explain=True, threads=threads
    )
    assert len(results) == len(queries)
    for query, result in zip(queries, results, strict=True):
        judge.same_result(
            result,
            pair.model.search(query, scope=scope, k=7, query=Query(mode="lexical"), explain=True),
            explain=True,
        )


@given(draw.histories(), draw.queries, draw.scope_keys)
def test_scores_are_multiples_of_the_fixed_point(
    kit: Kit, history: list[Step], query: str, key: tuple
) -> None:
    pair = Pair(kit).apply(history)
    scores = pair.engine.search(query, scope=pair.scope(key), k=100, query=Query(mode="lexical")).scores
    assert np.array_equal(scores * 2.0**20, np.rint(scores * 2.0**20))
    assert np.all(np.diff(scores) <= 0)
