"""Search results of an Index: modes, degradation, hits and their evidence."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import RRF, Index, Query, Record, Scope, ScoreParts
from scrubjay.embedders import Function

ACME = Scope("acme")
JANE = Scope("acme", user="jane")
TEXTS = {
    "key": "The staging key starts with sk-stg-0041",
    "train": "Prefers trains to planes",
    "fish": "Shellfish puts her in hospital",
}
# the meaning of each word on three axes: secrets, travel, food
MEANING = {"key": 0, "credential": 0, "staging": 0, "trains": 1, "railway": 1, "shellfish": 2, "seafood": 2}


def meaning(texts: list[str]) -> list[list[float]]:
    rows = []
    for text in texts:
        row = [0.0, 0.0, 0.0]
        for word in text.lower().split():
            if word in MEANING:
                row[MEANING[word]] += 1.0
        rows.append(row)
    return rows


class Embedder(Function):
    """Counts its calls, and fails on request."""

    def __init__(self) -> None:
        super().__init__(meaning, dim=3, name="meaning")
        self.n_calls = 0
        self.failing = False

    def embed_queries(self, texts: list[str]) -> Any:
        self.n_calls += 1
        if self.failing:
            raise ConnectionError("endpoint is away")
        return super().embed_queries(texts)


@pytest.fixture
def index() -> Index:
    index = Index(Embedder(), dtype="f32")
    index.upsert_many([Record(id, text, JANE, {"n": len(text)}) for id, text in TEXTS.items()])
    return index


def test_hybrid_finds_by_keyword_and_by_meaning(index: Index) -> None:
    hits = index.search(
        "seafood hospital", scope=JANE, explain=True, query=Query(RRF(60), identifier_tier=False)
    )
    assert (hits.mode, hits.degraded) == ("hybrid", ())
    first = hits[0]
    assert (first.id, first.lexical_rank, first.vector_rank) == ("fish", 1, 1)
    assert first.score == pytest.approx(2 / 61)
    assert first.cosine == pytest.approx(1.0)
    assert first.bm25 is not None
    assert first.bm25 > 0
    assert (first.matched_terms, first.coverage) == (["hospit"], 0.5)
    assert first.parts == ScoreParts(words=1 / 61, meaning=1 / 61, final=first.score)
    by_meaning = index.search("railway", scope=JANE)[0]
    assert (by_meaning.id, by_meaning.lexical_rank, by_meaning.vector_rank) == ("train", None, 1)


def test_keywords_replace_the_text_for_the_lexical_ranking_only(index: Index) -> None:
    hits = index.search("seafood", query=Query(keywords="planes"), scope=JANE)
    ranks = {hit.id: (hit.lexical_rank, hit.vector_rank) for hit in hits}
    assert ranks["train"][0] == 1
    assert ranks["fish"] == (None, 1)


def test_a_vector_replaces_the_embedding_only(index: Index) -> None:
    hits = index.search("planes", vector=[0, 0, 1], scope=JANE)
    ranks = {hit.id: (hit.lexical_rank, hit.vector_rank) for hit in hits}
    assert ranks["train"][0] == 1
    assert ranks["fish"][1] == 1
    assert isinstance(index.embedder, Embedder)
    assert index.embedder.n_calls == 0


@pytest.mark.parametrize(
    ("given", "mode", "ran", "code"),
    [
        ({"text": "railway"}, "hybrid", "hybrid", None),
        ({"text": "trains"}, "lexical", "lexical", None),
        ({"text": "railway"}, "vector", "vector", None),
        ({"vector": [0, 1, 0]}, "hybrid", "vector", "no_text"),
        ({"vector": [0, 1, 0]}, "vector", "vector", None),
        ({"keywords": "trains"}, "hybrid", "lexical", "no_query_vector"),
        ({"keywords": "trains"}, "vector", "lexical", "no_query_vector"),
        ({"keywords": "trains", "vector": [0, 1, 0]}, "hybrid", "hybrid", None),
        ({"text": "no meaning, trains"}, "hybrid", "hybrid", None),
        ({"text": "planes"}, "hybrid", "lexical", "zero_vector"),
    ],
)
def test_mode_says_what_ran_and_degraded_says_why(
    index: Index, given: dict[str, Any], mode: str, ran: str, code: str | None
) -> None:
    given = dict(given)
    query = Query(mode=mode, keywords=given.pop("keywords", None))
    hits = index.search(**given, query=query, scope=JANE)
    assert hits.mode == ran
    assert [reason.partition(":")[0] for reason in hits.degraded] == ([] if code is None else [code])
    assert hits.ids[0] == "train"
    batch = index.search_batch(
        [given.get("text")],
        vectors=[given.get("vector")],
        query=[query],
        scope=JANE,
    )
    assert (batch[0].mode, batch[0].degraded) == (hits.mode, hits.degraded)
    assert list(batch[0].ids) == list(hits.ids)
    np.testing.assert_array_equal(batch[0].scores, hits.scores)


def test_without_embedder_and_vectors_the_index_answers_by_keywords_and_says_so() -> None:
    index = Index()
    index.upsert("m", "Prefers trains", scope=JANE)
    for mode in ("hybrid", "vector"):
        hits = index.search("trains", scope=JANE, query=Query(mode=mode))
        assert (hits.mode, [hit.id for hit in hits]) == ("lexical", ["m"])
        assert hits.degraded[0].startswith("no_embedder: ")
    assert index.search("trains", scope=JANE, query=Query(mode="lexical")).degraded == ()


def test_an_embedder_that_fails_while_searching_degrades(index: Index) -> None:
    assert isinstance(index.embedder, Embedder)
    index.embedder.failing = True
    hits = index.search("trains", scope=JANE)
    assert (hits.mode, hits.ids[0]) == ("lexical", "train")
    assert hits.degraded == ("embedder_failed: meaning: ConnectionError: endpoint is away",)
    batch = index.search_batch(["trains", "shellfish"], scope=JANE)
    assert [one.degraded for one in batch] == [hits.degraded] * 2
    index.embedder.failing = False
    assert index.search("trains", scope=JANE).mode == "hybrid"


@pytest.mark.parametrize("bad", [[[1.0, 2.0]], [[float("nan")] * 3], "text", None, [1.0, 2.0, 3.0]])
def test_a_malformed_vector_of_the_embedder_degrades_the_search(bad: Any) -> None:
    class Bad:
        name, dim = "bad", 3

        def embed_documents(self, texts: list[str]) -> Any:
            return bad

        def embed_query(self, text: str) -> Any:
            return bad

    index = Index(Bad())
    with pytest.raises(scrubjay.EmbedderError, match=r"^embedder 'bad': expected"):
        index.upsert("m", "trains", scope=JANE)
    assert len(index) == 0
    index.embedder = None
    index.upsert("m", "trains", scope=JANE)
    index.embedder = Bad()
    if bad != [1.0, 2.0, 3.0]:
        assert (
            index.search("trains", scope=JANE).degraded[0].startswith("embedder_failed: bad: EmbedderError")
        )


def test_an_embedder_that_fails_while_writing_may_be_an_error_and_nothing_is_written() -> None:
    def fail_on_third(texts: list[str]) -> list[list[float]]:
        if "c" in texts:
            raise RuntimeError("out of memory")
        return [[1.0]] * len(texts)

    index = Index(Function(fail_on_third, dim=1, name="third"), on_embedder_error="raise")
    with pytest.raises(
        scrubjay.EmbedderError, match=r"third.*position 2.*RuntimeError: out of memory"
    ) as caught:
        index.upsert_many([Record(id, id, JANE) for id in "abc"], batch_size=1)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert len(index) == 0


def test_documents_without_a_vector_are_found_by_keywords() -> None:
    index = Index(Embedder())
    index.upsert("plain", "nothing it knows", scope=JANE)
    index.upsert("train", "trains", scope=JANE)
    record = index.get("plain", scope=JANE)
    assert record is not None
    assert record.vector is None
    hits = index.search("knows railway", scope=JANE)
    assert {hit.id: hit.vector_rank for hit in hits} == {"plain": None, "train": 1}


def test_the_query_cache_spares_the_embedder(index: Index) -> None:
    assert isinstance(index.embedder, Embedder)
    for _ in range(3):
        index.search("railway", scope=JANE)
    index.search_batch(["railway", "seafood", "seafood"], scope=JANE)
    assert index.embedder.n_calls == 2
    stats = index.admin.stats()
    assert (stats["query_cache_hits"], stats["query_cache_entries"]) == (3, 2)


def test_another_model_is_refused_with_the_remedy(index: Index) -> None:
    with pytest.raises(scrubjay.EmbedderMismatchError, match=r"'meaning'.*'other'.*new Index"):
        index.embedder = Function(meaning, dim=3, name="other")
    with pytest.raises(scrubjay.EmbedderMismatchError, match="dimension 3, 'meaning' makes 4"):
        index.embedder = Function(meaning, dim=4, name="meaning")
    with pytest.raises(TypeError, match="embedder: expected an object with name, dim"):
        index.embedder = 7  # type: ignore[assignment]
    with pytest.raises(ValueError, match=r"embedder: expected default, none, .*, got 'meaning'"):
        index.embedder = "meaning"
    with pytest.raises(scrubjay.EmbedderMismatchError):
        Index(Embedder(), dim=4)
    index.embedder = Embedder()
    assert index.admin.stats()["embedder"] == "meaning"
    index.embedder = None
    with pytest.raises(scrubjay.EmbedderMismatchError):
        index.embedder = Function(meaning, dim=3, name="other")
    index.erase(ACME)
    index.embedder = Function(meaning, dim=3, name="other")


def test_a_search_needs_a_scope_and_a_question(index: Index) -> None:
    with pytest.raises(TypeError, match="scope"):
        index.search("trains")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="scope"):
        index.search("trains", scope=None)  # type: ignore[arg-type]
    for mode in ("hybrid", "lexical", "vector"):
        with pytest.raises(ValueError, match="text"):
            index.search(scope=JANE, query=Query(mode=mode))
    with pytest.raises(ValueError, match="mode"):
        index.search("trains", scope=JANE, query=Query(mode="fuzzy"))
    with pytest.raises(ValueError, match="k"):
        index.search("trains", scope=JANE, k=0)
    with pytest.raises(TypeError, match="text: expected str or bytes, got int"):
        index.search(10**9, scope=JANE)  # type: ignore[arg-type]


def test_search_batch_checks_lengths(index: Index) -> None:
    with pytest.raises(ValueError, match="expected equal lengths, got 2 texts, 1 vectors"):
        index.search_batch(["a", "b"], vectors=[[1, 0, 0]], scope=JANE)
    with pytest.raises(ValueError, match="expected equal lengths, got 1 texts, 2 scope"):
        index.search_batch(["a"], scope=[JANE, ACME])
    with pytest.raises(ValueError, match="expected at least one"):
        index.search_batch(scope=JANE)
    with pytest.raises(TypeError, match="texts: expected a sequence of str, got one str"):
        index.search_batch("trains", scope=JANE)
    assert index.search_batch([], scope=JANE) == []


def test_search_batch_names_the_search_that_is_wrong(index: Index) -> None:
    nothing = r"texts\[2\], vectors\[2\]: expected at least one of them, got neither"
    with pytest.raises(ValueError, match=f"^{nothing}$"):
        index.search_batch(["a", "b", None, None], scope=JANE)
    engine, vectors = scrubjay.Engine(dim=3), [[1, 0, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"^texts\[1\]: expected a text in mode 'lexical', got None$"):
        engine.search_batch(["a", None], vectors=vectors, scope=JANE, query=Query(mode="lexical"))
    with pytest.raises(ValueError, match=r"^vectors\[0\]: expected a vector in mode 'vector', got None$"):
        engine.search_batch(["a", "b"], scope=JANE, query=Query(mode="vector"))
    with pytest.raises(ValueError, match=r"^text, vector: expected at least one of them, got neither$"):
        index.search(None, scope=JANE)


def test_search_batch_names_it_among_searches_that_embed_and_do_not() -> None:
    """These are two calls of the engine, each with some of the searches."""
    index = Index("static")
    index.upsert("a", "trains", scope=JANE)
    vector = np.ones(int(index.admin.stats()["dim"]))
    for wrong in range(4):
        texts: list[Any] = ["trains", None, "ships", None]
        vectors: list[Any] = [None, vector, None, vector]
        assert len(index.search_batch(texts, vectors=vectors, scope=JANE)) == 4
        texts[wrong] = vectors[wrong] = None
        with pytest.raises(
            ValueError, match=rf"^texts\[{wrong}\], vectors\[{wrong}\]: expected at least one"
        ):
            index.search_batch(texts, vectors=vectors, scope=JANE)
        vectors[wrong] = [1.0]
        with pytest.raises(ValueError, match=rf"^vectors\[{wrong}\]: expected"):
            index.search_batch(texts, vectors=vectors, scope=JANE)


@pytest.mark.parametrize("given", [{"a": "b"}, {"a"}, iter("a"), 5], ids=["dict", "set", "iterator", "int"])
def test_search_batch_wants_entries_in_an_order(index: Index, given: Any) -> None:
    with pytest.raises(TypeError, match="texts: expected a sequence of str, got one"):
        index.search_batch(given, scope=JANE)
    with pytest.raises(TypeError, match="vectors: expected an array or a sequence of arrays, got one"):
        index.search_batch(["a"], vectors=given, scope=JANE)
    with pytest.raises(TypeError, match=r"query: expected a scrubjay.Query or a sequence of them, got one"):
        index.search_batch(["a"], query=given, scope=JANE)


def test_a_fusion_in_place_of_a_query_is_refused_with_the_remedy(index: Index) -> None:
    for given, shown in (
        ("rrf", "str 'rrf'; write Query\\('rrf'\\)"),
        (RRF(10), r"RRF RRF\(k=10.*; write Query\(RRF\(k=10.*\)"),
    ):
        with pytest.raises(TypeError, match=rf"^query: expected a scrubjay.Query, got {shown}$"):
            index.search("a", scope=JANE, query=given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^query\[1\]: expected a scrubjay.Query, got str 'semantic'$"):
        index.search_batch(["a", "b"], scope=JANE, query=[None, "semantic"])  # type: ignore[list-item]


def test_search_batch_answers_each_from_its_own_scope(index: Index) -> None:
    hits = index.search_batch(["trains", "trains"], scope=[JANE, Scope("acme", user="marco")])
    assert hits[0].ids[0] == "train"
    assert len(hits[1]) == 0


def test_hits_behave_like_a_sequence(index: Index) -> None:
    hits = index.search("key trains shellfish", scope=JANE)
    assert len(hits) == 3
    assert [hit.id for hit in hits] == list(hits.ids) == [hits[i].id for i in range(3)]
    assert hits[-1].id == hits.ids[-1]
    assert [hit.id for hit in hits[1:]] == list(hits.ids[1:])
    assert hits.scores.dtype == np.float64
    assert (np.diff(hits.scores) <= 0).all()
    for outside in (3, -4):
        with pytest.raises(IndexError):
            hits[outside]
    assert not index.search("trains", scope=Scope("globex"))


def test_hits_know_text_scope_and_metadata(index: Index) -> None:
    hit = index.search("trains", scope=JANE)[0]
    assert (hit.text, hit.scope, hit.metadata, hit.created_at) == (TEXTS["train"], JANE, {"n": 24}, None)


def test_evidence_needs_explain(index: Index) -> None:
    hit = index.search("trains", scope=JANE)[0]
    for name in ("matched_terms", "coverage", "parts"):
        with pytest.raises(ValueError, match=f"{name}: known only to a search with explain=True"):
            getattr(hit, name)


def test_to_dicts_is_json(index: Index) -> None:
    plain = index.search("trains", scope=JANE).to_dicts()
    explained = index.search("trains", scope=JANE, explain=True).to_dicts()
    assert json.loads(json.dumps(explained)) == explained
    assert set(explained[0]) - set(plain[0]) == {
        "bm25",
        "similarity",
        "matched_terms",
        "coverage",
        "identifier",
        "parts",
        "relevance",
        "relevance_parts",
    }
    assert explained[0]["scope"] == {"tenant": "acme", "user": "jane", "agent": None}


@pytest.mark.parametrize("text", [b"caf\xe9 trains", "caf\ud800 trains", "nul\0 trains", "", "\U0001f426"])
def test_any_text_can_be_written_and_asked(text: str | bytes) -> None:
    index = Index(scrubjay.embedders.default())
    index.upsert_many([Record("m", text, ACME), Record("n", "other", ACME)])  # type: ignore[arg-type]
    record = index.get("m", scope=ACME)
    assert record is not None
    assert record.text == (text if isinstance(text, str) else text.decode("utf-8", "replace")).replace(
        "\ud800", "\ufffd"
    )
    hits = index.search(text, scope=ACME)
    assert [hit.id for hit in hits if text] == (["m", "n"] if text else [])


def test_ints_as_ids() -> None:
    index = Index()
    index.upsert_many([Record(7, "trains", JANE), Record(np.int64(8), "planes", JANE)])  # type: ignore[arg-type]
    hits = index.search("trains planes", scope=JANE)
    assert hits.ids.dtype == np.int64
    assert type(hits[0].id) is int


def test_reprs_are_worth_reading(index: Index) -> None:
    assert repr(index).startswith("<scrubjay.Index 3 memories, 3-dim f32 cosine, meaning, english-")
    hits = index.search("trains", scope=JANE)
    assert repr(hits).startswith("<scrubjay.Hits")
    assert "lexical #1, vector #1" in repr(hits)
    assert "Prefers trains" in repr(hits[0])
    assert "no_embedder" in repr(Index().search("x", scope=JANE))


def test_scope_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(JANE)) == JANE
    assert len({JANE, Scope("acme", user="jane"), ACME}) == 2


@pytest.mark.parametrize("ids", [range(40), [f"m{i}" for i in range(40)]], ids=["int", "str"])
def test_the_short_way_answers_as_the_whole_way(tmp_path: Any, ids: Any) -> None:
    """A search without options equals one with the defaults spelled out."""
    numbers = np.random.default_rng(3)
    vectors = numbers.standard_normal((40, 4)).astype(np.float32)
    words = ["oak", "pine", "elm", "table", "shelf"]
    for index in (Index(dim=4), Index.open(tmp_path / "m.scrubjay", dim=4)):
        with index:
            for place, id in enumerate(ids):
                text = " ".join(numbers.choice(words, 4))
                index.upsert(id, text, scope=Scope("acme", user="jane"), vector=vectors[place])
            for question in ("oak table", "", "tabel pine", "nothing of it"):
                for vector in (vectors[7], vectors[8].astype(np.float64), vectors[9].tolist()):
                    bare = index.search(question, scope=Scope("acme", user="jane"), vector=vector)
                    whole = index.search(
                        question, scope=Scope("acme", user="jane"), vector=vector, query=Query()
                    )
                    assert bare.keys == whole.keys and bare.scores.tolist() == whole.scores.tolist()
                    assert (bare.mode, bare.degraded) == (whole.mode, whole.degraded)
