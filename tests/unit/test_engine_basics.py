"""The engine does what its docstrings say, on examples that can be checked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from scrubjay import RRF, Engine, Query, Scope
from tests.data.engines import Kit


@pytest.fixture
def home(kit: Kit) -> Any:
    return kit.Scope("acme", user="jane")


@pytest.fixture
def engine(kit: Kit, home: Any) -> Any:
    """Three memories of jane, two with vectors."""
    engine = kit.Engine(dim=2, metric="ip", k1=1.2, b=0.75)
    engine.upsert("m1", "jay", scope=home, vector=[1.0, 0.0])
    engine.upsert("m2", "jay jay oak", scope=home, vector=[0.0, 2.0], payload=b"\x00two")
    engine.upsert("m3", "oak acorn", scope=home)
    return engine


def test_lexical_scores_by_hand(engine: Any, home: Any) -> None:
    """N = 3, df(jay) = 2, avg = 2; norms are 1.2 * (0.25 + 0.75 * len / 2)."""
    ids, scores = engine.search("jay", scope=home, query=Query(mode="lexical"))
    idf = math.log(1 + 1.5 / 2.5)
    assert list(ids) == ["m1", "m2"]
    assert scores == pytest.approx([idf / (1 + 0.75), idf * 2 / (2 + 1.65)], abs=1e-6)


def test_parameters_by_the_average_length(kit: Kit, home: Any) -> None:
    """Halfway from 30 to 60 words they are halfway from 0.4 and 0.2 to 1.2 and 0.75."""
    engine = kit.Engine()
    assert (engine.k1, engine.b) == (None, None)
    engine.upsert("m1", "jay" + " oak" * 44, scope=home)
    idf = math.log(1 + 0.5 / 1.5)
    scores = engine.search("jay", scope=home, query=Query(mode="lexical")).scores
    assert scores == pytest.approx([idf / (1 + 0.8)], abs=1e-6)
    engine.upsert("m2", "fir" + " oak" * 24, scope=home)
    share = 5 / 30
    k1, b = 0.4 + 0.8 * share, 0.2 + 0.55 * share
    scores = engine.search("jay", scope=home, query=Query(mode="lexical")).scores
    assert scores == pytest.approx([math.log(2) / (1 + k1 * (1 - b + b * 45 / 35))], abs=1e-6)


def test_vector_scores_by_hand(engine: Any, home: Any) -> None:
    result = engine.search(vector=[1.0, 1.0], scope=home)
    assert (list(result.ids), list(result.scores), result.mode) == (["m2", "m1"], [2.0, 1.0], "vector")


def test_hybrid_scores_by_hand(engine: Any, home: Any) -> None:
    result = engine.search(
        "acorn jay", vector=[1.0, 0.0], scope=home, query=Query(RRF(60.0), identifier_tier=False)
    )
    assert result.mode == "hybrid"
    assert list(result.lexical_ranks) == [{"m3": 1, "m1": 2, "m2": 3}[id] for id in result.ids]
    assert list(result.vector_ranks) == [{"m1": 1, "m2": 2, "m3": 0}[id] for id in result.ids]
    assert dict(zip(result.ids, result.scores, strict=True)) == {
        "m1": 1 / 62 + 1 / 61,
        "m2": 1 / 63 + 1 / 62,
        "m3": 1 / 61,
    }
    assert list(result.ids) == ["m1", "m2", "m3"]


def test_weights_and_rrf_k(engine: Any, home: Any) -> None:
    result = engine.search(
        "acorn jay",
        vector=[1.0, 0.0],
        scope=home,
        query=Query(RRF(10, weights=(0.5, 2.0)), identifier_tier=False),
    )
    assert dict(zip(result.ids, result.scores, strict=True))["m1"] == 0.5 / 12 + 2.0 / 11


def test_result_arrays(engine: Any, home: Any) -> None:
    result = engine.search("acorn jay", vector=[1.0, 0.0], scope=home, explain=True)
    assert len(result) == 3
    assert [array.dtype for array in (result.scores, result.bm25, result.coverage)] == [np.float64] * 3
    assert (result.lexical_ranks.dtype, result.vector_ranks.dtype) == (np.int32, np.int32)
    assert result.similarities.dtype == np.float32
    assert result.ids.dtype == object
    assert all(type(id) is str for id in result.ids)
    assert all(
        len(a) == 3 for a in (result.ids, result.scores, result.bm25, result.similarities, result.coverage)
    )


def test_explanation(engine: Any, home: Any) -> None:
    """Evidence for each hit, in both rankings, exact even if a ranking did not return the document."""
    result = engine.search(
        "acorn jay nowhere", vector=[1.0, 0.0], scope=home, query=Query(candidates=1), k=3, explain=True
    )
    rank = {id: index for index, id in enumerate(result.ids)}
    assert set(rank) == {"m3", "m1"}
    assert math.isnan(result.similarities[rank["m3"]])
    assert result.similarities[rank["m1"]] == 1.0
    assert result.bm25[rank["m1"]] > 0
    assert result.lexical_ranks[rank["m1"]] == 0
    assert result.matched_terms(rank["m3"]) == ["acorn"]
    assert result.matched_terms(rank["m1"]) == ["jay"]
    assert list(result.coverage) == pytest.approx([1 / 3, 1 / 3])
    assert result.text(rank["m3"]) == "oak acorn"


def test_without_explain_nothing_is_invented(engine: Any, home: Any) -> None:
    result = engine.search("acorn", vector=[1.0, 0.0], scope=home, query=Query(candidates=1))
    m1, m3 = list(result.ids).index("m1"), list(result.ids).index("m3")
    assert np.isnan(result.coverage).all()
    assert math.isnan(result.bm25[m1])
    assert math.isnan(result.similarities[m3])


def test_get_returns_what_was_given(engine: Any, home: Any) -> None:
    document = engine.get("m2", scope=home)
    assert (document.id, document.text, document.payload) == ("m2", "jay jay oak", b"\x00two")
    assert (document.scope.tenant, document.scope.user, document.scope.agent) == ("acme", "jane", None)
    assert document.vector.tolist() == [0.0, 2.0]
    assert document.vector.dtype == np.float32
    assert engine.get("m3", scope=home).vector is None
    assert engine.get("m3", scope=home).payload is None
    assert engine.get("m4", scope=home) is None


def test_a_returned_vector_is_a_copy(engine: Any, home: Any) -> None:
    """Modifying the result of `get` does not modify the engine."""
    vector = engine.get("m2", scope=home).vector
    try:
        vector[:] = 7
    except ValueError:
        pass  # read-only is fine, too
    assert engine.get("m2", scope=home).vector.tolist() == [0.0, 2.0]


def test_the_given_array_may_change_afterwards(kit: Kit, home: Any) -> None:
    engine = kit.Engine(metric="ip")
    given = np.array([1.0, 2.0], dtype=np.float32)
    engine.upsert(1, "t", scope=home, vector=given)
    given[:] = 100
    assert engine.search(vector=[1.0, 1.0], scope=home).scores[0] == pytest.approx(3.0, rel=1e-3)


def test_vectors_among_thousands_of_documents_without(kit: Kit, home: Any) -> None:
    """Blocks of rows and codes in which nothing was stored are not allocated."""
    engine = kit.Engine(64)
    vectors = np.random.default_rng(5).normal(size=(100, 64)).astype(np.float32)
    engine.upsert_many(list(range(100)), ["jay"] * 100, scope=home, vectors=vectors)
    engine.upsert_many(list(range(100, 3000)), ["oak"] * 2900, scope=home)
    assert engine.search(vector=vectors[7], scope=home).ids[0] == 7
    engine.upsert(3000, "jay", scope=home, vector=vectors[7])
    engine.upsert_many(list(range(3001, 6000)), ["oak"] * 2999, scope=home)
    assert list(engine.search(vector=vectors[7], scope=home).ids[:2]) == [7, 3000]
    assert list(engine.search("jay", vector=vectors[9], scope=home).ids[:1]) == [9]


def test_len_count(engine: Any, home: Any, kit: Kit) -> None:
    assert len(engine) == engine.count() == engine.count(home) == 3
    assert engine.count(kit.Scope("acme")) == 0
    assert engine.count(kit.Scope("acme", "jane", "coder")) == 3


def test_delete_removes_from_every_projection(engine: Any, home: Any) -> None:
    assert engine.delete("m2", scope=home) is True
    assert engine.delete("m2", scope=home) is False
    assert engine.get("m2", scope=home) is None
    assert sorted(engine.search("jay oak", scope=home).ids) == ["m1", "m3"]
    assert list(engine.search(vector=[0.0, 1.0], scope=home).ids) == ["m1"]
    assert engine.delete_many(["m1", "m1", "m9", "m3"], scope=home) == 2
    assert len(engine) == 0


def test_update_replaces(engine: Any, home: Any) -> None:
    """The old text, payload and vector are gone, even if the new version has none."""
    engine.upsert("m2", "acorn", scope=home)
    assert list(engine.search("jay", scope=home).ids) == ["m1"]
    assert engine.get("m2", scope=home).payload is None
    assert engine.get("m2", scope=home).vector is None
    assert list(engine.search(vector=[0.0, 1.0], scope=home).ids) == ["m1"]
    assert len(engine) == 3


def test_an_update_goes_to_the_end_of_its_ties(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    for id in ("b", "a", "c"):
        engine.upsert(id, "jay", scope=home)
    assert list(engine.search("jay", scope=home).ids) == ["b", "a", "c"]
    engine.upsert("b", "jay", scope=home)
    assert list(engine.search("jay", scope=home).ids) == ["a", "c", "b"]


def test_int_ids(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    engine.upsert_many(np.array([7, -1, 2**63 - 1]), ["jay", "jay", "jay"], scope=home)
    engine.upsert(np.int32(5), "jay", scope=home)
    result = engine.search("jay", scope=home)
    assert result.ids.dtype == np.int64
    assert result.ids.tolist() == [7, -1, 2**63 - 1, 5]
    assert type(engine.get(7, scope=home).id) is int
    assert type(engine.get(5, scope=home).id) is int


def test_k_is_capped_by_what_is_visible(engine: Any, home: Any) -> None:
    assert len(engine.search("jay oak", scope=home, k=1)) == 1
    assert (
        len(engine.search("jay oak", vector=[1, 1], scope=home, k=2**62, query=Query(candidates=2**62))) == 3
    )
    assert len(engine.search(vector=[1, 1], scope=home, k=2**62)) == 2


@pytest.mark.parametrize("text", ["", " ", ".,;!?", "\n\t", "\u200b", "—"])
def test_text_without_a_term(engine: Any, home: Any, text: str) -> None:
    """The lexical ranking is empty; the vector ranking answers alone; nothing is raised."""
    assert len(engine.search(text, scope=home)) == 0
    assert engine.search(text, scope=home).mode == "lexical"
    assert list(engine.search(text, vector=[1.0, 0.0], scope=home).ids) == ["m1", "m2"]
    engine.upsert("m1", text, scope=home)
    assert engine.get("m1", scope=home).text == text
    assert list(engine.search("jay", scope=home).ids) == ["m2"]


def test_only_texts_without_terms(kit: Kit, home: Any) -> None:
    """Total length 0: no division by zero."""
    engine = kit.Engine()
    engine.upsert_many([1, 2], ["", "..."], scope=home)
    assert len(engine.search("jay", scope=home)) == 0
    engine.upsert(3, "jay", scope=home)
    assert list(engine.search("jay", scope=home).ids) == [3]


def test_an_empty_engine_answers(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    for options in ({"text": "jay"}, {"vector": [1.0]}, {"text": "jay", "vector": [1.0]}):
        ids, scores = engine.search(scope=home, **options)
        assert len(ids) == len(scores) == 0
    assert engine.search_batch([], scope=home) == []
    assert engine.upsert_many([], [], scope=home) == 0
    assert engine.delete_many([], scope=home) == engine.erase(home) == engine.count() == 0
    assert engine.get("m", scope=home) is None
    assert engine.dim is None
    engine.compact()


def test_the_first_vector_settles_the_dimension(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    engine.upsert(1, "t", scope=home)
    assert engine.dim is None
    engine.upsert(2, "t", scope=home, vector=[1.0, 2.0, 3.0])
    assert engine.dim == 3
    engine.delete(2, scope=home)
    assert engine.dim == 3


@pytest.mark.parametrize(
    "vector",
    [
        np.array([1, 2], dtype=np.float64),
        np.array([1, 2], dtype=np.float16),
        np.array([1, 2], dtype=np.int64),
        np.array([1, 2], dtype=np.uint8),
        np.array([9, 1, 9, 2, 9], dtype=np.float32)[1::2],
        np.array([2, 1], dtype=np.float64)[::-1],
        np.array([1, 2], dtype=">f4"),
        np.asfortranarray(np.array([[1, 5], [2, 5]], dtype=np.float32))[:, 0],
        [1, 2],
        (1.0, 2.0),
    ],
    ids=["f64", "f16", "i64", "u8", "strided", "reversed", "big-endian", "column", "list", "tuple"],
)
def test_any_numeric_vector(kit: Kit, home: Any, vector: Any) -> None:
    engine = kit.Engine(dim=2, metric="ip")
    engine.upsert(1, "t", scope=home, vector=vector)
    assert engine.get(1, scope=home).vector.tolist() == pytest.approx([1.0, 2.0], rel=1e-3)
    assert engine.search(vector=vector, scope=home).scores.tolist() == pytest.approx([5.0], rel=1e-3)


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(1, 7, dtype=np.float64).reshape(3, 2),
        np.asfortranarray(np.arange(1, 7, dtype=np.float32).reshape(3, 2)),
        np.repeat(np.arange(1, 7, dtype=np.float32).reshape(3, 2), 2, axis=0)[::2],
        np.arange(6, 0, -1, dtype=np.float32).reshape(3, 2)[::-1, ::-1],
        np.arange(1, 7, dtype=np.float16).reshape(3, 2),
        [[1, 2], np.array([3.0, 4.0]), (5, 6)],
    ],
    ids=["f64", "fortran", "strided", "reversed", "f16", "mixed list"],
)
def test_any_numeric_matrix(kit: Kit, home: Any, rows: Any) -> None:
    engine = kit.Engine(metric="ip")
    engine.upsert_many([1, 2, 3], ["t"] * 3, scope=home, vectors=rows)
    stored = np.stack([engine.get(id, scope=home).vector for id in (1, 2, 3)])
    assert stored == pytest.approx(np.array([[1, 2], [3, 4], [5, 6]]), rel=1e-3)
    results = engine.search_batch(None, vectors=rows, scope=home, k=1)
    assert [result.scores[0] for result in results] == pytest.approx([17.0, 39.0, 61.0], rel=1e-3)


def test_upsert_many_rows_are_upserts_in_turn(kit: Kit, home: Any) -> None:
    """The last of duplicates wins and has its place; one scope for all or one each; payloads; missing vectors."""
    engine = kit.Engine()
    other = kit.Scope("globex")
    engine.upsert_many(
        ["a", "b", "a"], ["jay", "jay", "jay"], scope=[home, home, home], payloads=[b"1", None, b"3"],
        vectors=[None, [1.0, 0.0], None],
    )  # fmt: skip
    assert list(engine.search("jay", scope=home).ids) == ["b", "a"]
    assert engine.get("a", scope=home).payload == b"3"
    assert len(engine) == 2
    engine.upsert_many(("c", "d"), ("jay", b"jay"), scope=(home, other))
    assert engine.count(other) == 1


def test_writes_are_visible_to_the_next_search(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    for id in range(300):
        word = "".join("abcdefghij"[int(digit)] for digit in f"{id:03}") + "qx"  # letters only: one term
        engine.upsert(id, f"jay {word}", scope=home)
        assert list(engine.search(word, scope=home).ids) == [id]
        assert len(engine.search("jay", scope=home, k=1000)) == id + 1


def test_searches_repeat_to_the_bit(engine: Any, home: Any) -> None:
    first = engine.search("jay oak acorn", vector=[0.3, 0.7], scope=home)
    for _ in range(20):
        again = engine.search("jay oak acorn", vector=[0.3, 0.7], scope=home)
        assert list(again.ids) == list(first.ids)
        assert again.scores.tobytes() == first.scores.tobytes()


def test_texts_may_be_bytes(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    engine.upsert(1, "naïve jay".encode(), scope=home)
    assert engine.get(1, scope=home).text == "naïve jay"
    assert list(engine.search(b"jay", scope=home).ids) == [1]


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff jay",
        b"jay \xc3",
        b"\xed\xa0\x80 jay",
        b"\xf4\x90\x80\x80 jay",
        b"\xc0\x80 jay",
        b"\xe2\x82 jay",
    ],
)
def test_invalid_utf8_becomes_replacement_characters(kit: Kit, home: Any, raw: bytes) -> None:
    engine = kit.Engine()
    engine.upsert(1, raw, scope=home)
    assert engine.get(1, scope=home).text == raw.decode("utf-8", "replace")
    assert list(engine.search("jay", scope=home).ids) == [1]
    assert list(engine.search(raw, scope=home).ids) == [1]


def test_nul_is_an_ordinary_character(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    engine.upsert("a\0b", "jay\0oak", scope=home)
    engine.upsert("a", "acorn", scope=home)
    assert engine.get("a\0b", scope=home).text == "jay\0oak"
    assert engine.get("a", scope=home).text == "acorn"
    assert list(engine.search("oak", scope=home).ids) == ["a\0b"]


def test_lone_surrogates_in_a_text(kit: Kit, home: Any) -> None:
    """A str that UTF-8 cannot encode: each lone surrogate becomes U+FFFD, like any other invalid text."""
    engine = kit.Engine()
    engine.upsert(1, "jay \ud83d oak", scope=home)
    assert engine.get(1, scope=home).text == "jay \ufffd oak"
    assert list(engine.search("jay \udc00", scope=home).ids) == [1]


def test_very_long_ids_and_texts(kit: Kit, home: Any) -> None:
    engine = kit.Engine()
    long_id, long_text = "é" * 30_000, "jay " * 20_000 + "x" * 100_000
    engine.upsert(long_id, long_text, scope=home)
    engine.upsert(long_id[:-1], "oak", scope=home)
    assert list(engine.search("jay", scope=home).ids) == [long_id]
    assert engine.get(long_id, scope=home).text == long_text
    assert engine.delete(long_id, scope=home)
    assert list(engine.search("oak", scope=home).ids) == [long_id[:-1]]
    endless_id = "x" * 10_000_000
    try:
        engine.upsert(endless_id, "acorn", scope=home)
    except ValueError as error:
        assert "id" in str(error)
        assert len(str(error)) < 1000
    else:
        assert list(engine.search("acorn", scope=home).ids) == [endless_id]


def test_attributes_tell_the_settings(kit: Kit) -> None:
    engine = kit.Engine(dim=3, metric="l2", dtype="f32", k1=0.9, b=0.4)
    assert (engine.dim, engine.metric, engine.dtype, engine.k1, engine.b) == (3, "l2", "f32", 0.9, 0.4)
    assert engine.analyzer.startswith("english")


def test_compact_is_invisible(engine: Any, home: Any) -> None:
    engine.upsert_many([f"tie{number}" for number in range(20)], ["oak"] * 20, scope=home)
    engine.delete_many(["m1", "tie4"], scope=home)
    before = engine.search("jay oak", vector=[1.0, 1.0], scope=home, k=30, explain=True)
    engine.compact()
    after = engine.search("jay oak", vector=[1.0, 1.0], scope=home, k=30, explain=True)
    assert list(after.ids) == list(before.ids)
    assert after.scores.tobytes() == before.scores.tobytes()
    assert engine.get("m1", scope=home) is None
    assert engine.get("m2", scope=home).payload == b"\x00two"


def test_a_result_outlives_its_documents(engine: Any, home: Any) -> None:
    """A result is a snapshot: later writes do not change what it shows."""
    result = engine.search("jay", scope=home, explain=True)
    engine.upsert("m2", "something else", scope=home)
    engine.erase(home)
    engine.compact()
    assert list(result.ids) == ["m1", "m2"]
    assert [result.text(1), result.payload(1)] == ["jay jay oak", b"\x00two"]
    assert result.matched_terms(0) == ["jay"]


@pytest.mark.parametrize("method", ["text", "payload", "scope", "matched_terms"])
def test_hit_numbers_are_checked(engine: Any, home: Any, method: str) -> None:
    result = engine.search("jay", scope=home, explain=True)
    with pytest.raises(IndexError):
        getattr(result, method)(2)


def test_a_custom_stemmer(kit: Kit, home: Any) -> None:
    if not kit.is_native:
        pytest.skip("the model takes an analyzer, not a stemmer")
    calls: list[str] = []

    def stem(word: str) -> str:
        calls.append(word)
        return word[:4]

    engine = kit.Engine(analyzer="first-four", stemmer=stem)
    engine.upsert_many([1, 2], ["caching cached", "cabinet"], scope=home)
    assert list(engine.search("cachet", scope=home).ids) == [1]
    assert sorted(calls) == sorted(set(calls)), "results are memoised per distinct term"
    assert "first-four" in engine.analyzer


def test_an_error_in_the_stemmer_is_the_callers(kit: Kit, home: Any) -> None:
    if not kit.is_native:
        pytest.skip("the model takes an analyzer, not a stemmer")

    def stem(word: str) -> str:
        raise KeyError(word)

    engine = kit.Engine(analyzer="broken", stemmer=stem)
    with pytest.raises(KeyError):
        engine.upsert(1, "jay", scope=home)
    assert len(engine) == 0


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_half_precision_embeddings_come_back_as_given(kit: Kit, home: Any, metric: str) -> None:
    """Unit vectors that are already f16 (as models store them) lose nothing in either stored type."""
    rows = np.random.default_rng(3).normal(size=(50, 256))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    for dtype in ("f16", "f32"):
        engine = kit.Engine(256, metric, dtype=dtype)
        engine.upsert_many(list(range(50)), ["t"] * 50, scope=home, vectors=rows)
        for id in range(50):
            assert np.array_equal(engine.get(id, scope=home).vector, rows[id].astype(np.float32))


@pytest.mark.parametrize(("dtype", "element_bytes"), [("f16", 2), ("f32", 4), ("i8", 1)])
@pytest.mark.parametrize(("dim", "signs"), [(256, 0), (512, 512 / 8 + 6)])
def test_a_vector_takes_the_memory_that_is_documented(
    dim: int, signs: float, dtype: Any, element_bytes: int
) -> None:
    n = 4096
    engine = Engine(dim, dtype=dtype)
    engine.upsert_many(list(range(n)), [""] * n, scope=Scope("acme"), vectors=np.eye(n, dim) + 1)
    # Four arrays end within a page, at most a byte per vector each, and two tables take half a kilobyte: 0.7%.
    assert engine.stats()["vector_bytes"] / n == pytest.approx(
        element_bytes * dim + 6 + dim / 2 + 6 + signs, rel=0.01
    )
