"""Callers' rankings pass through batches and the pipeline, and observers do no harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import RRF, Index, MissingExtraError, Query, Retriever, Scope, Weighted
from scrubjay.retrieval import CallableReranker, opentelemetry_spans

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
WORDS = ["oak", "jay", "acorn", "winter", "feather"]


def made() -> Index:
    rng = np.random.default_rng(0)
    index = Index(dtype="f32")
    for i in range(30):
        scope = (Scope("acme"), JANE, JOE)[i % 3]
        index.upsert(i, " ".join(rng.choice(WORDS, 3)), scope=scope, vector=rng.normal(size=4))
    return index


INDEX = made()

# ---- rankings of callers ---------------------------------------------------------------------------------------------

questions = st.lists(
    st.tuples(
        st.sampled_from([*WORDS, "oak winter", None]),
        st.booleans(),
        st.none() | st.lists(st.lists(st.integers(0, 40), unique=True, max_size=8), max_size=3),
        st.sampled_from([JANE, JOE, Scope("acme")]),
    ).filter(lambda one: one[0] is not None or one[1]),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40)
@given(
    questions,
    st.sampled_from(
        [Query(), Query(RRF(10)), Query(Weighted((0.3, 0.7))), Query(RRF(5, (1, 1, 2)), mmr=0.7)]
    ),
)
def test_a_batch_is_its_searches(asked: list[Any], query: Query) -> None:
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=4).astype(np.float32) if given else None for _, given, _, _ in asked]
    queries = [query.replace(rankings=rankings) for _, _, rankings, _ in asked]
    batch = INDEX.search_batch(
        [text for text, *_ in asked],
        vectors=vectors,
        query=queries,
        scope=[scope for *_, scope in asked],
        k=7,
    )
    for (text, _, _, scope), vector, own, found in zip(asked, vectors, queries, batch, strict=True):
        alone = INDEX.search(text, vector=vector, query=own, scope=scope, k=7)
        assert (found.mode, found.degraded) == (alone.mode, alone.degraded)
        assert found.ids.tolist() == alone.ids.tolist()
        assert found.scores.tolist() == alone.scores.tolist()


def test_queries_are_one_a_question() -> None:
    message = "texts, vectors, query, scope: expected equal lengths, got 2 texts, 1 query"
    with pytest.raises(ValueError, match=message):
        INDEX.search_batch(["oak", "jay"], query=[Query(rankings=[[1]])], scope=JANE)
    with pytest.raises((TypeError, ValueError), match="rankings"):
        INDEX.search_batch(["oak"], query=Query(rankings=[3]), scope=JANE)  # type: ignore[list-item]


def test_recall_reaches_a_batch() -> None:
    with pytest.raises(ValueError, match="recall"):
        INDEX.search_batch(["oak"], vectors=[np.ones(4)], scope=JANE, query=Query(recall=2.0))
    (found,) = INDEX.search_batch(["oak"], vectors=[np.ones(4)], scope=JANE, query=Query(recall="exact"))
    assert found.ids.tolist() == INDEX.search("oak", vector=np.ones(4), scope=JANE).ids.tolist()


def test_a_retriever_takes_rankings_and_another_fusion() -> None:
    retriever = Retriever(INDEX, cache=True)
    seen = [int(id) for id in INDEX.search("oak", scope=JANE, k=30).ids]
    hidden = next(i for i in range(30) if i % 3 == 2)  # joe's
    walk = [hidden, seen[-1], 400]
    found = retriever.search("oak", scope=JANE, query=Query(RRF(10), rankings=[walk]), k=5)
    alone = INDEX.search("oak", scope=JANE, query=Query(RRF(10), rankings=[walk]), k=5)
    assert found.ids.tolist() == alone.ids.tolist()
    assert hidden not in found.ids
    assert seen[-1] in found.ids
    assert retriever.search("oak", scope=JANE, query=Query(RRF(10), rankings=[walk]), k=5).cached
    other = retriever.search("oak", scope=JANE, query=Query(RRF(10), rankings=[walk[::-1]]), k=5)
    assert not other.cached
    weighted = retriever.search("oak", scope=JANE, query=Query(Weighted()), k=5)
    assert not weighted.cached
    assert (
        weighted.scores.tolist()
        == INDEX.search("oak", scope=JANE, query=Query(Weighted()), k=5).scores.tolist()
    )


def test_rankings_go_with_the_verbatim_question_only() -> None:
    retriever = Retriever(INDEX, lambda _: ["jay"])
    seen = {int(id) for id in INDEX.search("oak jay acorn winter feather", scope=JANE, k=30).ids}
    unmatched = [i for i in sorted(seen) if i not in INDEX.search("jay", scope=JANE, k=30).ids]
    found = retriever.search("oak", scope=JANE, query=Query(RRF(10), rankings=[unmatched[:1]]), k=30)
    hit = next(hit for hit in found if hit.id == unmatched[0])
    assert hit.queries == (0,)


@pytest.mark.parametrize(
    "limit", [{"query": Query(ids=[1])}, {"query": Query(exclude=[4])}, {"filter": {"x": 1}}]
)
def test_the_last_resort_heeds_limits(limit: dict[str, Any]) -> None:
    """A substring is searched everywhere, so not if the query is restricted."""
    index = Index()
    index.upsert(4, "Takes the night train.", scope=JANE)
    retriever = Retriever(index)
    assert list(retriever.search("ight trai", scope=JANE).ids) == [4]
    found = retriever.search("ight trai", scope=JANE, **limit)
    assert (len(found), found.mode) == (0, "lexical")


@pytest.mark.parametrize(
    "limit", [{"query": Query(ids=iter([1]))}, {"query": Query(exclude=[4])}, {"filter": {"x": 1}}]
)
def test_when_every_part_is_down_limits_hold(limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    index.upsert(4, "Takes the night train.", scope=JANE)

    def down(*_: Any, **__: Any) -> Any:
        raise OSError("damaged")

    for name in ("search", "search_batch"):
        monkeypatch.setattr(index, name, down)
    retriever = Retriever(index)
    found = retriever.search("night train", scope=JANE, **limit)
    assert (len(found), found.mode) == (0, "none")
    assert list(retriever.search("night train", scope=JANE).ids) == [4]


# ---- watching --------------------------------------------------------------------------------------------------------


def test_caches_say_how_often_they_helped() -> None:
    class Embedder:
        name, dim = "toy", 2

        def embed_documents(self, texts: list[str]) -> Any:
            return np.ones((len(texts), 2), np.float32)

        def embed_query(self, text: str) -> Any:
            return np.ones(2, np.float32)

    index = Index(Embedder())
    index.upsert_many([{"id": i, "text": f"oak {i}", "scope": JANE} for i in range(4)])
    retriever = Retriever(index, reranker=CallableReranker(lambda _, texts: [len(t) for t in texts]))
    for question in ("oak", "oak", "the oak"):
        retriever.search(question, scope=JANE)
    stats = retriever.cache_stats()
    assert (stats["embedding"].hits, stats["embedding"].misses, stats["embedding"].entries) == (1, 2, 2)
    assert (stats["rerank"].hits, stats["rerank"].misses, stats["rerank"].entries) == (4, 8, 8)
    assert set(stats) == {"embedding", "rerank"}
    assert index.admin.query_cache_stats() == {"hits": 1, "misses": 2, "entries": 2, "size": 1024}


class Span:
    """A span that fails on request."""

    def __init__(self, where: str) -> None:
        self._where = where
        if where == "made":
            raise RuntimeError("made")

    def __enter__(self) -> Span:
        if self._where == "entered":
            raise RuntimeError("entered")
        return self

    def set_attributes(self, _: Any) -> None:
        if self._where == "told":
            raise RuntimeError("told")

    def __exit__(self, *_: Any) -> None:
        if self._where == "left":
            raise RuntimeError("left")


@pytest.mark.parametrize("where", ["made", "entered", "told", "left"])
def test_failing_spans_do_not_break_a_search(where: str) -> None:
    retriever = Retriever(INDEX, spans=lambda _: Span(where))
    found = retriever.search("oak", scope=JANE)
    assert found.ids.tolist() == Retriever(INDEX).search("oak", scope=JANE).ids.tolist()
    assert [stage.name for stage in found.trace.stages] == ["search", "select"]


def test_errors_pass_through_spans() -> None:
    left: list[Any] = []

    class Watching(Span):
        def __exit__(self, *error: Any) -> None:
            left.append(error[0])

    with pytest.raises(TypeError):
        Retriever(INDEX, spans=lambda _: Watching("")).search("oak", scope=JANE, filter=7)
    assert left == [TypeError, TypeError]  # the stage's and the whole's


def test_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)  # a framework under test may have disabled it
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    retriever = Retriever(INDEX, lambda _: 1 / 0, spans=opentelemetry_spans(provider), cache=True)
    retriever.search("secret oak", scope=JANE, k=3)
    *stages, whole = exporter.get_finished_spans()
    assert whole.name == "scrubjay.retrieve"
    assert [span.name for span in stages] == [
        f"scrubjay.{n}" for n in ("cache", "rewrite", "search", "select")
    ]
    assert all(span.parent.span_id == whole.context.span_id for span in stages)
    assert dict(whole.attributes) == {
        "scrubjay.mode": "lexical",
        "scrubjay.hits": 3,
        "scrubjay.cached": False,
        "scrubjay.degraded": ("rewriter_failed", "no_embedder"),
    }
    assert stages[2].attributes["scrubjay.out"] == 3
    assert "secret" not in "".join(span.to_json() for span in exporter.get_finished_spans())


def test_opentelemetry_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(MissingExtraError, match="opentelemetry"):
        opentelemetry_spans()
