"""The native embedder as an object, and searches that embed their text natively."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Index, Query, Scope, StaticEmbedder
from scrubjay.embedders import Function, default
from scrubjay.embedders.protocol import Vectors

HOME = Scope("acme", user="jane")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
VOCABULARY = [*BYTES, "\u2581", "a", "b", "ab", "\u2581a", "<s>"]
MERGES = np.array([[257, 258, 259], [256, 257, 260]], dtype=np.uint32)
TEXTS = {
    "key": "The staging API key prefix is sk-stg-0041.",
    "train": "Prefers trains to planes.",
    "tea": "Drinks green tea in the morning.",
    "dog": "The dog is called Bello.",
}


def table(n: int = len(VOCABULARY), dim: int = 16, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(3).normal(size=(n, dim)).astype(dtype)


class Slow:
    """The default embedder without its native part."""

    name = default().name
    dim = default().dim

    def embed_documents(self, texts: list[str]) -> Vectors:
        return default().embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        return default().embed_query(text)


@pytest.fixture
def pair() -> tuple[Index, Index]:
    """Two indexes with the same memories: one embeds in the native search, one in Python before it."""
    indexes = Index(default()), Index(Slow())
    for index in indexes:
        index.upsert_many([{"id": id, "text": text} for id, text in TEXTS.items()], scope=HOME)
    return indexes


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_order_of_merges_decides(dtype: Any) -> None:
    rows = table(dtype=dtype)
    embedder = StaticEmbedder(rows, VOCABULARY, MERGES, [("<s>", 261)])
    assert embedder.dim == 16
    assert embedder.tokenize("ab") == [256, 259]  # a and b merge before the marker and a
    assert embedder.tokenize("aab") == [260, 259]
    assert embedder.tokenize(" a") == [256, 260]
    assert embedder.tokenize("a<s>b") == [260, 261, 256, 258]
    assert embedder.tokenize("c") == [256, ord("c")]
    assert embedder.tokenize(b"\xff") == [256, *"\ufffd".encode()]
    assert embedder.tokenize("") == []
    expected = rows[[260, 259]].astype(np.float32).sum(axis=0)
    np.testing.assert_allclose(embedder.embed_query("aab"), expected / np.linalg.norm(expected), rtol=1e-6)


def test_a_row_of_zeros_is_no_direction() -> None:
    embedder = StaticEmbedder(np.zeros_like(table()), VOCABULARY, MERGES)
    assert not embedder.embed_query("ab").any()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((table(dtype=np.float64), VOCABULARY, MERGES), TypeError, "table: expected a C-contiguous matrix"),
        ((table()[:, ::2], VOCABULARY, MERGES), TypeError, "table: expected a C-contiguous matrix"),
        ((table()[0], VOCABULARY, MERGES), TypeError, "table: expected a C-contiguous matrix"),
        (
            (table(dim=24), VOCABULARY, MERGES),
            ValueError,
            "table: expected rows of 16, 32, ... 4096 numbers, got 24",
        ),
        ((table(n=9), VOCABULARY, MERGES), ValueError, "table: expected a row for each of 262 tokens, got 9"),
        ((table(), VOCABULARY[1:], MERGES), ValueError, "vocabulary: expected a token <0x..> for each byte"),
        (
            (table(), [*VOCABULARY, 7], MERGES),
            TypeError,
            r"vocabulary\[262\]: expected str or bytes, got int",
        ),
        ((table(), [*VOCABULARY[:-1], b"\xff"], MERGES), ValueError, r"vocabulary\[261\]: expected UTF-8"),
        ((table(), VOCABULARY, MERGES[:, :2]), ValueError, r"merges: expected shape \(n, 3\)"),
        ((table(), VOCABULARY, MERGES + 5), ValueError, r"merges\[0\]: expected"),
        (
            (table(), VOCABULARY, MERGES[:, ::-1]),
            ValueError,
            r"merges\[0\]: expected the concatenation of both tokens",
        ),
        ((table(), VOCABULARY, [[0, 1, 2]]), ValueError, r"merges\[0\]: expected"),
        ((table(), VOCABULARY, MERGES, [("", 1)]), ValueError, r"added\[0\]: expected a text"),
        ((table(), VOCABULARY, MERGES, [("<s>", 999)]), ValueError, r"added\[0\]: expected a text and an id"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        StaticEmbedder(*arguments)


def test_bad_texts() -> None:
    embedder = StaticEmbedder(table(), VOCABULARY, MERGES)
    with pytest.raises(TypeError, match=r"texts\[1\]: expected str or bytes, got int"):
        embedder.embed(["a", 7])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="text: expected str or bytes, got NoneType"):
        embedder.embed_query(None)  # type: ignore[arg-type]


def test_an_engine_embeds_in_the_same_call() -> None:
    native, engine = default().native, Engine(256)
    engine.upsert_many(
        list(TEXTS), list(TEXTS.values()), scope=HOME, vectors=native.embed(list(TEXTS.values()))
    )
    for mode in ("hybrid", "vector"):
        for query in ("which railway?", "staging key", b"a hot drink", "\udc80 dog"):
            text = (
                query
                if isinstance(query, bytes)
                else query.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            )
            own = engine.search(query, scope=HOME, query=Query(mode=mode), embedder=native)
            given = engine.search(query, vector=native.embed_query(text), scope=HOME, query=Query(mode=mode))
            assert own.mode == given.mode == mode
            assert list(own.ids) == list(given.ids)
            assert list(own.scores) == list(given.scores)
            assert not own.nothing_embedded
    given_vector = engine.search(
        "tea", vector=native.embed_query("dog"), scope=HOME, query=Query(mode="vector"), embedder=native
    )
    assert given_vector.id(0) == "dog"  # a vector of the caller takes precedence
    assert engine.search("tea", scope=HOME, query=Query(mode="lexical"), embedder=native).mode == "lexical"


def test_a_batch_embeds_on_its_threads() -> None:
    native, engine = default().native, Engine(256)
    engine.upsert_many(
        list(TEXTS), list(TEXTS.values()), scope=HOME, vectors=native.embed(list(TEXTS.values()))
    )
    queries = ["which railway?", "", "staging key", "a hot drink"] * 5
    for query, result in zip(queries, engine.search_batch(queries, scope=HOME, embedder=native), strict=True):
        alone = engine.search(query, scope=HOME, embedder=native)
        assert (list(alone.ids), list(alone.scores), alone.mode) == (
            list(result.ids),
            list(result.scores),
            result.mode,
        )


def test_nothing_to_embed_is_searched_by_words() -> None:
    engine = Engine(256)
    engine.upsert("a", "words", scope=HOME, vector=default().embed_query("words"))
    for mode in ("hybrid", "vector"):
        result = engine.search("", scope=HOME, query=Query(mode=mode), embedder=default().native)
        assert (result.mode, len(result), result.nothing_embedded) == ("lexical", 0, True)


def test_the_engine_refuses_another_embedder() -> None:
    engine = Engine(64)
    engine.upsert("a", "words", scope=HOME)
    with pytest.raises(ValueError, match="embedder: expected one of 64 dimensions like the vectors, got 256"):
        engine.search("words", scope=HOME, embedder=default().native)
    with pytest.raises(TypeError, match="embedder: expected a StaticEmbedder or None, got WordLlama"):
        engine.search("words", scope=HOME, embedder=default())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="text, vector: expected at least one"):
        engine.search(scope=HOME, embedder=default().native)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
@pytest.mark.parametrize("query", ["which railway?", "sk-stg-0041", b"a hot drink", "", "dog \udc80"])
def test_an_index_answers_as_with_the_embedder_in_python(
    pair: tuple[Index, Index], mode: str, query: Any
) -> None:
    def facts(index: Index, keywords: str | None = None, vector: Any = None) -> list[Any]:
        asked = Query(mode=mode, keywords=keywords)
        hits = index.search(query, scope=HOME, query=asked, explain=True, vector=vector)
        (batch,) = index.search_batch([query], scope=HOME, query=asked, explain=True, vectors=[vector])
        assert [hit.to_dict() for hit in batch] == [hit.to_dict() for hit in hits]
        assert (batch.mode, batch.degraded, repr(batch)) == (hits.mode, hits.degraded, repr(hits))
        # Relevance knows the range of the cosines only of an embedder given to the search.
        shown = [
            {name: value for name, value in one.items() if "relevance" not in name} for one in hits.to_dicts()
        ]
        return [hits.mode, hits.degraded, shown]

    native, python = pair
    for options in ({}, {"keywords": "tea"}, {"keywords": ""}, {"vector": default().embed_query("dog")}):
        assert facts(native, **options) == facts(python, **options)


def test_batches_mix_native_python_and_given_embeddings(pair: tuple[Index, Index]) -> None:
    texts = ["which railway?", None, "", "tea", None]
    queries = [Query(keywords=keywords) for keywords in (None, "dog", None, "key", None)]
    vectors = [None, None, None, None, default().embed_query("dog")]
    answers = [
        [
            (hits.mode, hits.degraded, hits.to_dicts())
            for hits in index.search_batch(texts, query=queries, vectors=vectors, scope=HOME)
        ]
        for index in pair
    ]
    assert answers[0] == answers[1]


def test_another_model_answers_by_words(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, default()) as index:
        index.upsert("a", "green tea", scope=HOME)
        assert index.search("a hot drink", scope=HOME).mode == "hybrid"
        other = Function(lambda texts: np.ones((len(texts), 256), dtype=np.float32), name="ones", dim=256)
        with Index.open(path) as second:
            second.admin.reembed(other)
            second.upsert("b", "black tea", scope=HOME)
        hits = index.search("tea", scope=HOME)
        assert hits.mode == "lexical"
        assert hits.degraded[0].startswith("embedder_mismatch")
        assert [hits.mode for hits in index.search_batch(["tea", "dog"], scope=HOME)] == [
            "lexical",
            "lexical",
        ]


def test_an_index_in_a_file_embeds_natively(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay", default()) as index:
        index.upsert_many([{"id": id, "text": text} for id, text in TEXTS.items()], scope=HOME)
        assert index.search("a hot drink", scope=HOME, query=Query(mode="vector"))[0].id == "tea"
        assert index.admin.stats()["query_cache_misses"] == 0
