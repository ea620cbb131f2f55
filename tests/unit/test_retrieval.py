"""The retrieval pipeline does what each stage documents, and a failed stage leaves an answer and a reason."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Index, Query, Retriever, Scope
from scrubjay.backend import Backend
from scrubjay.retrieval import (
    CallableReranker,
    Context,
    Counters,
    OpenAIRewriter,
    ResultCache,
    Rewritten,
    place_at_edges,
)
from scrubjay.retrieval.trace import log_to

JANE = Scope("acme", user="jane")
TEXTS = {
    "train": "Takes the night train rather than flying.",
    "key": "The staging API key prefix is sk-stg-0041.",
    "fish": "Allergic to shellfish, was in hospital once.",
    "door": "The door code of the office is 4711.",
    "band": "Plays the cello in a quartet on Tuesdays.",
}
DIRECTIONS = {
    "train": (1, 0, 0),
    "key": (0, 1, 0),
    "fish": (0, 0, 1),
    "door": (0.6, 0.8, 0),
    "band": (0, 0.6, 0.8),
}


class Embedder:
    """Knows the direction of a few words."""

    name = "directions"
    dim = 3
    failing = False

    def embed_documents(self, texts: list[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        if self.failing:
            raise ConnectionError("the embedder is away")
        for id, whole in TEXTS.items():
            if text == whole:
                return np.array(DIRECTIONS[id], dtype=np.float32)
        vector = np.zeros(3)
        for word, direction in (("railway", 0), ("secret", 1), ("seafood", 2)):
            vector[direction] += word in text
        return (vector if vector.any() else np.ones(3)).astype(np.float32)


@pytest.fixture
def index() -> Index:
    index = Index(Embedder(), dtype="f32")
    index.upsert_many(
        [{"id": id, "text": text, "metadata": {"title": id}} for id, text in TEXTS.items()], scope=JANE
    )
    return index


def by_title(order: str) -> CallableReranker:
    """A reranker that prefers the titles in this order; it reads the output of the template."""
    return CallableReranker(lambda _, texts: [-order.split().index(text) for text in texts], name=order)


# ---- stages ----------------------------------------------------------------------------------------------------------


def test_a_bare_retriever_is_a_search(index: Index) -> None:
    found = Retriever(index).search("railway night", scope=JANE, k=3)
    hits = index.search("railway night", scope=JANE, k=3)
    assert list(found.ids) == list(hits.ids)
    assert list(found.scores) == list(hits.scores)
    assert (found.mode, found.degraded, found.cached) == (hits.mode, (), False)
    assert found[0].text == hits[0].text


def test_the_best_rank_of_any_query_counts(index: Index) -> None:
    retriever = Retriever(index, rewriter=lambda _: ["seafood", "cello quartet"])
    found = retriever.search("door code 4711", scope=JANE, query=Query(mode="lexical"))
    assert list(found.ids) == ["door", "band"]
    assert [hit.queries for hit in found] == [(0,), (2,)]
    everything = retriever.search("door code 4711", scope=JANE, k=5)
    assert list(everything.ids)[:3] == ["door", "fish", "band"]
    assert everything[0].queries == (0, 1, 2)


def test_hits_with_an_identifier_of_any_query_come_first(index: Index) -> None:
    """The rewriter knows which key "it" is; the words of the question match another memory better."""
    words = Rewritten(keywords="sk-stg-0041", semantic="seafood")
    retriever = Retriever(index, rewriter=lambda _: words)
    found = retriever.search("is it the code of the office door?", scope=JANE, k=3)
    assert found.ids.tolist()[:2] == ["key", "door"] and found[0].identifier
    plain = retriever.search(
        "is it the code of the office door?", scope=JANE, k=3, query=Query(identifier_tier=False)
    )
    assert plain[0].id == "door" and not plain[0].identifier


def test_memories_of_one_id_are_merged_apart(index: Index) -> None:
    """Two queries each find a different one of two memories with the same id, in two scopes."""
    shared = Scope("acme")
    index.upsert("twin", "The harbour ferry.", scope=JANE, vector=[1, 0, 0])
    index.upsert("twin", "The mountain funicular.", scope=shared, vector=[1, 0, 0])
    retriever = Retriever(index, rewriter=lambda _: ["mountain funicular", "ferry"], cache=True)
    for cached in (False, True):
        found = retriever.search("harbour ferry", scope=JANE, query=Query(mode="lexical"))
        assert found.cached == cached
        assert {hit.scope: (hit.text, hit.queries) for hit in found} == {
            JANE: ("The harbour ferry.", (0, 2)),
            shared: ("The mountain funicular.", (1,)),
        }
        assert found.keys == [(hit.scope, "twin") for hit in found]


def test_keywords_and_semantic_query_go_to_their_arms(index: Index) -> None:
    retriever = Retriever(index, rewriter=lambda _: Rewritten("cello", "railway"))
    found = retriever.search("zzz", scope=JANE, k=5)
    assert found[0].queries[0] == 0
    assert found[1].id in ("band", "train")
    assert {"band", "train"} <= set(found.ids[:4])


def test_a_failing_rewriter_leaves_the_question(index: Index) -> None:
    def rewriter(_: str) -> list[str]:
        raise ConnectionError("away")

    found = Retriever(index, rewriter=rewriter).search("night train", scope=JANE)
    assert found[0].id == "train"
    assert found.degraded == ("rewriter_failed: ConnectionError: away",)


def test_a_reranker_reorders_what_it_sees(index: Index) -> None:
    retriever = Retriever(
        index, reranker=by_title("band fish train key door"), template="{title}", fused_weight=0
    )
    found = retriever.search("railway", scope=JANE, k=3)
    assert list(found.ids) == ["band", "fish", "train"]
    assert [hit.score for hit in found] == [0.0, -1.0, -2.0] == [hit.rerank_score for hit in found]
    only_two = Retriever(index, reranker=by_title("band fish key door train"), template="{title}", rerank=2)
    plain = list(index.search("railway", scope=JANE, k=5).ids)
    assert list(only_two.search("railway", scope=JANE, k=5).ids)[2:] == plain[2:]


def test_fused_scores_count_beside_a_reranker(index: Index) -> None:
    """Compared with the formula: each score by its deviations from the mean of its tier."""
    said = dict(zip("band fish train key door".split(), [0.9, 0.3, 0.2, 0.8, 0.1], strict=True))
    reranker = CallableReranker(lambda _, texts: [said[text] for text in texts])
    plain = index.search("railway night sk-stg-0041", scope=JANE, k=5)
    exact = [hit.id for hit in plain if hit.identifier]
    others = [hit for hit in plain if not hit.identifier]
    orders = set()
    for weight in (0, 0.5, 1, 4, 1000):
        retriever = Retriever(index, reranker=reranker, template="{title}", fused_weight=weight)
        found = retriever.search("railway night sk-stg-0041", scope=JANE, k=5)
        sums = {}
        for hit in others:
            parts = []
            for own, all_of_them in (
                (said[hit.id], [said[other.id] for other in others]),
                (hit.score, [other.score for other in others]),
            ):
                parts.append((own - np.mean(all_of_them)) / np.std(all_of_them))
            sums[hit.id] = parts[0] + weight * parts[1]
        assert list(found.ids) == exact + sorted(sums, key=lambda id: -sums[id])
        orders.add(tuple(found.ids))
    assert exact == ["key"]
    assert len(orders) > 1
    assert list(orders.pop()) != list(plain.ids) or list(orders.pop()) != list(plain.ids)


def test_places_count_where_several_queries_found_the_hits(index: Index) -> None:
    reranker = by_title("door key fish band train")
    retriever = Retriever(
        index,
        lambda _: ["seafood"],
        reranker,
        template="{title}",
        fused_weight=1000,
        query=Query(mode="hybrid"),
    )
    found = retriever.search("railway night", scope=JANE, k=5)
    assert list(found.ids) == list(
        Retriever(index, lambda _: ["seafood"]).search("railway night", scope=JANE, k=5).ids
    )


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 10**400, "1", True, None])
def test_an_invalid_weight_is_refused(index: Index, weight: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="fused_weight: expected a"):
        Retriever(index, fused_weight=weight)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda index: Retriever(index, deadline_s="1"),
            "^deadline_s: expected a number or None, got str '1'",
        ),
        (lambda _: ResultCache("1"), "^max_bytes: expected a number, got str '1'"),
        (lambda _: ResultCache(ttl_s="90"), "^ttl_s: expected a number or None, got str '90'"),
    ],
)
def test_a_number_in_quotes_is_refused_by_name(index: Index, make: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make(index)


def test_numbers_of_numpy_say_how_many(index: Index) -> None:
    for retriever in (Retriever(index), Retriever(index, cache=True)):
        assert len(retriever.search("the door", scope=JANE, k=np.int64(2))) == 2  # type: ignore[arg-type]


def test_repr_of_retriever_and_cache_name_index_and_entries(index: Index) -> None:
    cache = ResultCache()
    retriever = Retriever(index, cache=cache)
    retriever.search("the door", scope=JANE)
    assert repr(retriever) == f"<scrubjay.Retriever of {index!r}>"
    assert repr(cache).startswith("<scrubjay.retrieval.ResultCache of 1 entries, ")


def test_an_exact_identifier_stays_first(index: Index) -> None:
    retriever = Retriever(index, reranker=by_title("band fish train key door"), template="{title}")
    assert retriever.search("sk-stg-0041", scope=JANE)[0].id == "key"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda q, t: [1.0], "scores, got an array of shape (1,)"),
        (
            lambda q, t: [1.0, float("nan")] + [1.0] * (len(t) - 2),
            "expected finite scores, got nan for text 1",
        ),
        (lambda q, t: 1 / 0, "division by zero"),
    ],
)
def test_a_bad_reranker_leaves_the_fused_order(index: Index, answer: Any, message: str) -> None:
    with Retriever(index, reranker=CallableReranker(answer), deadline_s=60) as retriever:
        found = retriever.search("railway", scope=JANE)
    assert list(found.ids) == list(index.search("railway", scope=JANE, k=20).ids)[:10]
    (reason,) = found.degraded
    assert reason.startswith("reranker_failed: ") and message in reason


def test_a_late_reranker_is_not_waited_for(index: Index) -> None:
    may_end, in_time = threading.Event(), []

    def answer(query: str, texts: list[str]) -> list[float]:
        in_time.append(may_end.wait(60))
        return [0.0] * len(texts)

    retriever = Retriever(index, reranker=CallableReranker(answer), deadline_s=0.05)
    found = retriever.search("railway", scope=JANE)
    assert in_time == []  # the search is over, the reranker still runs
    may_end.set()
    assert list(found.ids) == list(index.search("railway", scope=JANE, k=20).ids)[:10]
    assert [reason.partition(":")[0] for reason in found.degraded] == ["reranker_late"]
    retriever.close()


def test_scores_of_a_reranker_are_cached(index: Index) -> None:
    asked: list[int] = []
    reranker = CallableReranker(lambda q, texts: (asked.append(len(texts)), [len(t) for t in texts])[1])
    retriever = Retriever(index, reranker=reranker)
    first, second = (list(retriever.search("railway", scope=JANE).ids) for _ in range(2))
    assert first == second
    assert asked == [5]
    assert retriever.cache_stats()["rerank"].hits == 5


# ---- selection -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(), max_size=20))
def test_placement_puts_the_weak_in_the_middle(items: list[int]) -> None:
    best_first = list(range(len(items)))
    placed = place_at_edges(best_first)
    assert sorted(placed) == best_first
    worst = placed.index(max(placed)) if placed else 0
    assert placed[: worst + 1] == sorted(placed[: worst + 1])
    assert placed[worst:] == sorted(placed[worst:], reverse=True)


def test_a_budget_takes_whole_records(index: Index) -> None:
    context = Context(max_tokens=14, count=lambda text: len(text.split()), edges=True)
    found = Retriever(index, context=context).search("train seafood cello", scope=JANE)
    assert 0 < sum(len(hit.text.split()) for hit in found) <= 14
    assert all(hit.text in TEXTS.values() for hit in found)
    tiny = Retriever(index, context=Context(max_tokens=1)).search("train", scope=JANE)
    assert len(tiny) == 0


# ---- what is down ----------------------------------------------------------------------------------------------------


def test_without_the_embedder_words_answer(index: Index) -> None:
    Embedder.failing = True
    try:
        found = Retriever(index).search("night train", scope=JANE)
    finally:
        Embedder.failing = False
    assert (found[0].id, found.mode) == ("train", "lexical")
    assert found.degraded[0].startswith("embedder_failed")


@pytest.mark.parametrize("expansions", [[], ["by rail"]], ids=["one query", "a batch"])
def test_each_part_that_breaks_leaves_the_next(
    index: Index, monkeypatch: pytest.MonkeyPatch, expansions: list[str]
) -> None:
    broken = {"hybrid"}

    def breaking(search: Any) -> Any:
        def sometimes(*args: Any, query: Any = None, **options: Any) -> Any:
            modes = {one.mode for one in query} if isinstance(query, list) else {query.mode}
            if modes & broken:
                raise OSError(f"the {modes} part is damaged")
            return search(*args, query=query, **options)

        return sometimes

    for name in ("search", "search_batch"):
        monkeypatch.setattr(index, name, breaking(getattr(index, name)))
    retriever = Retriever(index, rewriter=lambda _: expansions)
    found = retriever.search("railway", scope=JANE)
    assert (found[0].id, found.mode) == ("train", "vector")
    broken.add("vector")
    found = retriever.search("night train", scope=JANE)
    assert (found[0].id, found.mode) == ("train", "lexical")
    assert [reason.partition(":")[0] for reason in found.degraded] == ["hybrid_failed", "vector_failed"]
    broken.add("lexical")
    found = retriever.search("NIGHT TRAIN", scope=JANE)
    assert (list(found.ids), found.mode) == (["train"], "substring")

    def down(*_: Any, **__: Any) -> Any:
        raise OSError("the texts are damaged")

    monkeypatch.setattr("scrubjay.backend.Backend.find_substring", down)
    found = retriever.search("night train", scope=JANE)
    assert (len(found), found.mode) == (0, "none")
    assert found.degraded[-1].startswith("substring_failed")


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_one_query_and_a_batch_of_one_say_the_same(index: Index, mode: str) -> None:
    retriever = Retriever(index)
    for question in ("night train", "seafood?", "nothing of this", "", "ra"):
        alone = retriever.search(question, scope=JANE, query=Query(mode=mode), explain=True)
        batch = retriever.search(question, scope=JANE, query=Query(mode=mode), explain=True)
        assert alone.to_dicts() == batch.to_dicts()
        assert (alone.mode, alone.degraded) == (batch.mode, batch.degraded)


def test_a_part_of_a_word_is_found_as_it_stands() -> None:
    index = Index()
    index.upsert(1, "Takes the nght tran.", scope=JANE)
    found = Retriever(index).search("ght tra", scope=JANE)
    assert (list(found.ids), found.mode) == ([1], "substring")
    assert "no_match" in found.degraded[-1]
    strict = Retriever(index, query=Query(relevance="standard"))
    assert len(strict.search("ght tra", scope=JANE)) == 0
    assert len(Retriever(index).search("ght tra", scope=Scope("globex"))) == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": 1}, TypeError),
        ({"k": 0}, ValueError),
        ({"k": "3"}, TypeError),
        ({"query": "fuzzy"}, TypeError),
        ({"scope": None}, TypeError),
    ],
)
def test_bad_arguments_are_errors(index: Index, arguments: dict[str, Any], error: type[Exception]) -> None:
    asked: dict[str, Any] = {"text": "train", "scope": JANE, **arguments}
    with pytest.raises(error):
        Retriever(index, cache=True).search(asked.pop("text"), **asked)


def test_bad_parts_are_errors(index: Index) -> None:
    for options in (
        {"rewriter": 3},
        {"reranker": len},
        {"deadline_s": 0, "reranker": by_title("a")},
        {"rerank": 0},
        {"rerank": 2.5},
    ):
        with pytest.raises((TypeError, ValueError)):
            Retriever(index, **options)


# ---- cache -----------------------------------------------------------------------------------------------------------


def test_a_write_makes_entries_unreachable(index: Index) -> None:
    retriever = Retriever(index, cache=True)
    assert not retriever.search("train", scope=JANE).cached
    again = retriever.search("train", scope=JANE)
    assert again.cached
    assert list(again.ids) == list(index.search("train", scope=JANE).ids)
    index.upsert("new", "Another train.", scope=Scope("acme"))  # shared with jane
    found = retriever.search("train", scope=JANE)
    assert not found.cached
    assert "new" in found.ids
    assert retriever.search("train", scope=JANE).cached
    index.upsert("foreign", "A train.", scope=Scope("globex"))
    assert retriever.search("train", scope=JANE).cached
    index.delete("new", scope=Scope("acme"))
    assert "new" not in retriever.search("train", scope=JANE).ids
    stats = retriever.cache_stats()["results"]
    assert (stats.hits, stats.misses, stats.stale, stats.entries) == (3, 3, 2, 1)


def test_every_option_is_in_the_key(index: Index) -> None:
    cache = ResultCache()
    retriever = Retriever(index, cache=cache)
    for options in ({}, {"k": 2}, {"query": Query(mode="lexical")}, {"query": Query(candidates=3)}):
        assert not retriever.search("train", scope=JANE, **options).cached
    assert not retriever.search("train", scope=Scope("acme", "jane", "coder")).cached
    assert not Retriever(index, cache=cache, query=Query(mmr=0.5)).search("train", scope=JANE).cached
    assert not Retriever(index, by_words, cache=cache).search("train", scope=JANE).cached
    assert not Retriever(index, reranker=by_title("a"), cache=cache).search("train", scope=JANE).cached


def by_words(question: str) -> list[str]:
    return question.split()


def test_degraded_answers_are_not_kept(index: Index) -> None:
    retriever = Retriever(index, rewriter=lambda _: 1 / 0, cache=True)
    retriever.search("train", scope=JANE)
    assert not retriever.search("train", scope=JANE).cached


def test_expiry_makes_entries_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    index.upsert(1, "A train.", scope=JANE)
    index.upsert(2, "A train that leaves.", scope=JANE, ttl=600)
    retriever = Retriever(index, cache=True)
    assert sorted(retriever.search("train", scope=JANE).ids) == [1, 2]
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + 601 * 10**9)
    assert list(retriever.search("train", scope=JANE).ids) == [1]


def test_generations_never_come_back() -> None:
    index, seen = Index(), set()
    for _ in range(20):
        index.upsert(1, "A train.", scope=JANE)
        seen.add(Backend.of(index).generation(JANE))
        index.erase(JANE)
        seen.add(Backend.of(index).generation(JANE))
    assert len(seen) >= 21  # a missing partition looks the same each time; a new one never like an old one


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 40)), max_size=60))
def test_the_cache_is_a_bounded_map(steps: list[tuple[int, int, int]]) -> None:
    cache, model = ResultCache(100, None), {}
    for key, generation, size in steps:
        if size % 2:
            cache.put(key, generation, (key, size), size)
            model[key] = (generation, (key, size))
        else:
            value = cache.get(key, generation)
            assert value in (None, model.get(key, (None, None))[1])
            if value is not None:
                assert model[key][0] == generation
        assert cache.stats().bytes <= 100


def test_entries_age() -> None:
    now = [0.0]
    cache = ResultCache(100, 10.0, clock=lambda: now[0])
    cache.put("a", 1, "x", 1)
    now[0] = 9.9
    assert cache.get("a", 1) == "x"
    now[0] = 10.0
    assert cache.get("a", 1) is None
    assert cache.stats().stale == 1


# ---- observability, threads ------------------------------------------------------------------------------------------


def test_a_trace_lists_the_stages_that_ran(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    events: list[dict[str, Any]] = []
    spans: list[str] = []

    class Span:
        def __init__(self, name: str) -> None:
            spans.append(name)

        def __enter__(self) -> Span:
            return self

        def __exit__(self, *_: Any) -> None:
            pass

    def broken(_: Any) -> None:
        raise RuntimeError

    retriever = Retriever(
        index, reranker=by_title("band fish train key door"), template="{title}", spans=Span,
        hooks=[events.append, broken, log_to(logging.getLogger("retrieval"))],
    )  # fmt: skip
    with caplog.at_level(logging.INFO):
        found = retriever.search("railway", scope=JANE, k=2)
    assert [(s.name, s.n_in, s.n_out) for s in found.trace.stages] == [
        ("search", 1, 5), ("rerank", 5, 5), ("select", 5, 2)
    ]  # fmt: skip
    assert all(stage.us > 0 for stage in found.trace.stages)
    assert spans == ["scrubjay.retrieve", "scrubjay.search", "scrubjay.rerank", "scrubjay.select"]
    assert events[0]["mode"] == "hybrid"
    assert caplog.records[0].scrubjay["n_hits"] == 2  # type: ignore[attr-defined]
    assert retriever.counters.value("retrievals_total", mode="hybrid") == 1
    assert retriever.counters.value("hook_errors_total") == 1
    assert 'scrubjay_retrievals_total{mode="hybrid"} 1' in retriever.counters.render()


def test_counters_escape_labels() -> None:
    counters = Counters()
    counters.add("x", reason='a"b\\c\nd')
    assert counters.render().splitlines()[1] == 'scrubjay_x{reason="a\\"b\\\\c\\nd"} 1'


def test_the_loop_goes_on_while_a_reranker_thinks(index: Index) -> None:
    may_end = threading.Event()
    slow = CallableReranker(lambda q, texts: [0.0] * len(texts) if may_end.wait(60) else [])
    retriever = Retriever(index, reranker=slow)

    async def both() -> tuple[int, int]:
        search = asyncio.ensure_future(retriever.asearch("railway", scope=JANE))
        ticks = 0
        while not search.done():
            await asyncio.sleep(0.01)
            ticks += 1
            if ticks == 5:
                may_end.set()  # if the loop were blocked, the reranker would never end in time
        return ticks, len(await search)

    ticks, n_hits = asyncio.run(both())
    assert ticks >= 5
    assert n_hits == 5


def test_many_threads_retrieve(index: Index) -> None:
    retriever = Retriever(
        index, reranker=by_title("band fish train key door"), template="{title}", cache=True
    )
    errors: list[Exception] = []

    def work(n: int) -> None:
        try:
            for i in range(30):
                if i % 10 == n:
                    index.upsert("extra", f"note {i}", scope=Scope("other"))
                assert len(retriever.search(f"railway {i % 4}", scope=JANE)) == 5
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_feedback_is_kept_until_deletion(index: Index) -> None:
    for hit in index.search("railway", scope=JANE, k=2):
        index.feedback(hit, used=hit.id == "train", query="railway")
    assert [(note.id, note.used) for note in index.admin.feedbacks()][:1] == [("train", True)]
    index.delete("train", scope=JANE)
    assert "train" not in [note.id for note in index.admin.feedbacks()]


def test_a_rewriter_that_cannot_be_reached_is_a_reason(index: Index) -> None:
    rewriter = OpenAIRewriter("m", base_url="http://127.0.0.1:9", api_key="secret", timeout_s=0.2)
    found = Retriever(index, rewriter=rewriter).search("night train", scope=JANE)
    assert found[0].id == "train"
    assert found.degraded[0].startswith("rewriter_failed")
    assert "secret" not in found.degraded[0]


def test_a_file_has_generations_too(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index, Index.open(tmp_path / "a.scrubjay") as other:
        index.upsert("m1", "Takes the train.", scope=JANE)
        retriever = Retriever(other, cache=True)
        assert list(retriever.search("train", scope=JANE).ids) == ["m1"]
        assert retriever.search("train", scope=JANE).cached
        before = Backend.of(other).shared_generation(JANE)
        assert before == Backend.of(index).shared_generation(JANE)
        index.upsert("m2", "Another train.", scope=JANE)
        assert sorted(retriever.search("train", scope=JANE).ids) == ["m1", "m2"]
        assert (
            Backend.of(other).shared_generation(JANE) == Backend.of(index).shared_generation(JANE) != before
        )
