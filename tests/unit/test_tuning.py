"""Tuning finds existing improvements, and reports if there are none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import (
    RRF,
    Auto,
    Boost,
    Entities,
    Index,
    Prior,
    Production,
    Query,
    Recency,
    Relevance,
    Scope,
    Weighted,
    cli,
    fusion,
)
from scrubjay.retrieval import CallableReranker, metrics
from scrubjay.retrieval.grid import variations
from scrubjay.retrieval.judged_sets import JudgedQuery, JudgedSet, from_feedback, read_judged
from scrubjay.retrieval.trials import METRICS, Setting
from scrubjay.retrieval.tuning import describe, tune

ACME = Scope("acme")
WORDS = [f"w{chr(97 + i)}{chr(97 + j)}" for i in range(8) for j in range(8)]


def judged(n: int, *, words_lie: bool, seed: int = 0) -> JudgedSet:
    """Questions whose answer is near them in meaning; the words lead to it, or to another memory."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, 16))
    records: list[dict[str, Any]] = []
    queries = []
    for i in range(n):
        words = " ".join(rng.choice(WORDS, 3))
        texts = [f"{words} right", f"{words} {words} wrong"]
        if words_lie:
            texts[0] = "nothing of it"
        near = directions[i] + rng.normal(size=16) * (0.1 if words_lie else 2.0)
        for kind, text, vector in (("a", texts[0], near), ("b", texts[1], rng.normal(size=16))):
            records.append(
                {"id": f"{kind}{i}", "text": text, "scope": ACME, "vector": vector.astype(np.float32)}
            )
        queries.append(
            JudgedQuery(words, ACME, frozenset([(ACME, f"a{i}")]), directions[i].astype(np.float32))
        )
    return JudgedSet(records, queries)


def filled(one: JudgedSet) -> Index:
    index = Index(dtype="f32")
    index.upsert_many(one.records, progress=False)
    return index


def naive(index: Index, queries: Sequence[JudgedQuery], ranking: Query) -> float:
    found = [
        [(hit.scope, hit.id) for hit in index.search(q.text, vector=q.vector, scope=q.scope, query=ranking)]
        for q in queries
    ]
    return float(np.mean([metrics.ndcg(keys, q.relevant) for keys, q in zip(found, queries, strict=True)]))


def test_tune_prefers_vectors_where_words_mislead() -> None:
    one = judged(60, words_lie=True)
    index = filled(one)
    found = tune(index, one.queries)
    assert not found.gain.is_noise
    assert found.setting == found.winner != Setting()
    assert found.query == found.winner.query != Query()
    assert naive(index, one.queries, found.query) > naive(index, one.queries, Query()) + 0.05
    fusion_found = found.query.fusion
    assert not isinstance(fusion_found, (RRF, Weighted)) or fusion_found.weights[0] < fusion_found.weights[1]
    # figures are those of searches one by one, and the table is in their order
    for row in found.rows[:5]:
        if row.setting is not None and row.setting.bm25 is None:
            assert row.figures["ndcg@10"] == pytest.approx(naive(index, one.queries, row.setting.query))
    reached = [row.figures["ndcg@10"] for row in found.rows]
    assert reached == sorted(reached, reverse=True)
    assert {"lexical", "vector", "Auto() (default)"} <= {row.name for row in found.rows}


def test_a_gain_by_chance_is_reported_as_noise() -> None:
    """Random answers: some setting always looks best, and none is."""
    one = judged(40, words_lie=False)
    rng = np.random.default_rng(7)
    ids = [row["id"] for row in one.records]
    drawn = [frozenset((ACME, id) for id in rng.choice(ids, 2).tolist()) for _ in one.queries]
    lottery = [JudgedQuery(q.text, ACME, keys, q.vector) for q, keys in zip(one.queries, drawn, strict=True)]
    found = tune(filled(one), lottery)
    best = max(row.gain.mean for row in found.rows)
    assert best > 0
    assert found.gain.mean < best  # the questions that did not influence the choice gain less
    assert found.gain.is_noise
    assert found.query == Query()


def test_the_same_seed_gives_the_same_answer() -> None:
    one = judged(20, words_lie=True)
    options = [Query(RRF(10)), Query(Weighted((0.2, 0.8))), Boost()]
    first, second = (tune(filled(one), one.queries, configurations=options, seed=3) for _ in range(2))  # type: ignore[arg-type]
    assert first == second
    assert {row.name for row in first.rows} == {
        "lexical", "vector", "Auto() (default)", "RRF(10)", "Weighted((0.2, 0.8))", "Boost()"
    }  # fmt: skip


def test_k1_and_b_are_chosen_where_they_matter() -> None:
    """Every answer repeats its word in a long text: it scores high only with a small b."""
    index = Index(k1=1.2, b=1.0)
    for i, word in enumerate(WORDS[:24]):
        filler = " ".join(f"fill{i}x{j}" for j in range(60))
        index.upsert(f"right{i}", f"{word} {word} {word} {word} {filler}", scope=ACME)
        index.upsert(f"wrong{i}", f"{word} short", scope=ACME)
        index.upsert(f"foreign{i}", f"{word} {word}", scope=Scope("globex"))
    queries = [JudgedQuery(word, ACME, frozenset([(ACME, f"right{i}")])) for i, word in enumerate(WORDS[:24])]
    found = tune(index, queries, configurations=[Query()], bm25=[(1.2, 0.0), (0.1, 1.0)])
    assert found.setting == found.winner == Setting(Query(), (1.2, 0.0))
    assert {row.name for row in found.rows} >= {"Auto() (default), k1=1.2, b=0"}
    again = Index(k1=1.2, b=0.0)
    again.upsert_many(index.scroll(scope=ACME, limit=1000).records, progress=False)
    best = next(row for row in found.rows if row.setting == found.winner)
    assert best.figures["ndcg@10"] == pytest.approx(naive(again, queries, Query()))
    assert json.loads(json.dumps(found.to_dict()))["bm25"] == [1.2, 0.0]
    wrong: Any
    for wrong in ([(float("nan"), 1)], [(-1, 0.5)], [(1, 2)], [(1,)], "ab", [("a", 1)], [(True, 0)], 7):
        with pytest.raises(ValueError, match=r"bm25: expected pairs \(k1, b\)"):
            tune(index, queries, configurations=[Query()], bm25=wrong)


def test_the_depth_of_reranking_is_chosen() -> None:
    """The answer is the last of 15 in the fused order, and the reranker knows it."""
    index = Index(dtype="f32")
    rng = np.random.default_rng(5)
    queries, texts = [], 0
    for word in WORDS[:12]:
        axis = rng.normal(size=8)
        for i in range(15):
            index.upsert(
                f"{word}{i}", f"{word} number {i}", scope=ACME, vector=axis + 0.1 * i * rng.normal(size=8)
            )
        queries.append(JudgedQuery(word, ACME, frozenset([(ACME, f"{word}14")]), np.float32(axis)))

    def score(query: str, found: list[str]) -> list[float]:
        nonlocal texts
        texts += len(found)
        return [float(text.startswith(query)) * 2.0 ** int(text.split()[-1]) for text in found]

    options: Any = {"configurations": [Query()], "reranker": CallableReranker(score)}
    found = tune(index, queries, depths=[40, 2, 20], **options)
    assert found.setting == Setting(Query(), None, 20)  # no deeper than necessary
    assert next(row for row in found.rows if row.setting == found.winner).figures["mrr@10"] == 1.0
    assert texts <= 12 * 40  # a pair is scored once
    assert tune(index, queries, configurations=[Query()]).winner == Setting()
    with pytest.raises(ValueError, match="depths: expected ints of 1 or more"):
        tune(index, queries, depths=[0], **options)
    for wrong in ([True], [2.5], 5, "ab"):
        with pytest.raises(ValueError, match="depths: expected ints of 1 or more"):
            tune(index, queries, depths=wrong, **options)
    with pytest.raises(ValueError, match="reranker: reranker_failed"):
        tune(index, queries, configurations=[Query()], reranker=CallableReranker(lambda query, texts: [1.0]))


def test_signals_are_varied() -> None:
    varied = variations(Query())
    assert {query.spelling for query in varied} == {True, False}
    assert {query.dates and query.dates.weight for query in varied} == {None, 3.0, 6.0, 12.0}
    assert {query.neighbours and query.neighbours.weight for query in varied} == {None, 0.1, 0.2, 0.4}
    assert len({query.recency for query in varied}) == 5
    assert len(set(varied)) == len(varied) and Query() not in varied


def test_held_out_questions_have_no_say() -> None:
    """Two questions that need opposite settings: each fold is judged by the choice of the other."""
    index = Index(dtype="f32")
    index.upsert(1, "oak", scope=ACME, vector=[1.0, 0.0])
    index.upsert(2, "jay", scope=ACME, vector=[0.0, 1.0])
    lexical, vector = Query(Weighted((0.9, 0.1))), Query(Weighted((0.1, 0.9)))
    queries = [JudgedQuery("oak", ACME, frozenset([(ACME, id)]), np.float32([0, 1])) for id in (1, 2)]
    found = tune(index, queries, configurations=[lexical, vector], folds=2)
    assert sorted(reached for _, reached, _ in found.folds) == pytest.approx([0.6309, 0.6309], abs=1e-4)
    assert found.gain.is_noise


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "bleu"}, "metric: expected one of ndcg@10, recall@5, recall@10, mrr@10, got 'bleu'"),
        ({"folds": 1}, "folds: expected an int of 2 or more, got 1"),
        ({"queries": []}, "queries: expected two or more"),
        ({"queries": [JudgedQuery("a", ACME, frozenset())] * 2}, "got 2, 2 of them without any"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    one = judged(3, words_lie=False)
    with pytest.raises(ValueError, match=message):
        tune(filled(one), options.pop("queries", one.queries), **options)


@given(
    st.lists(st.integers(0, 20), unique=True, max_size=15),
    st.sets(st.integers(0, 20), min_size=1, max_size=12),
)
def test_metrics_by_their_definitions(ranking: list[int], relevant: set[int]) -> None:
    gains = [1 if id in relevant else 0 for id in ranking[:10]]
    ideal = sum(1 / np.log2(i + 2) for i in range(min(10, len(relevant))))
    assert metrics.ndcg(ranking, relevant) == pytest.approx(
        sum(g / np.log2(i + 2) for i, g in enumerate(gains)) / ideal
    )
    assert metrics.recall(ranking, relevant) == len(set(ranking[:10]) & relevant) / len(relevant)
    first = next((i for i, g in enumerate(gains) if g), None)
    assert metrics.reciprocal_rank(ranking, relevant) == (0 if first is None else 1 / (first + 1))
    assert set(METRICS) == {"ndcg@10", "recall@5", "recall@10", "mrr@10"}


# ---- settings --------------------------------------------------------------------------------------------------------

RANKINGS = [
    Query(),
    Query(RRF(10.0, (2, 1, 0.5)), identifier_tier=False, mmr=0.5),
    Query(Weighted((0.25, 0.75), "max"), coverage=0.4, min_score=0.1),
    Query(Boost(0.2, 1.0), recency=Recency(0.5, 24.0, "2026-03-01")),
    Query(Production((0.5, 0.5), 0.0, literal=True), relevance=Relevance("high", (0.1, 0.2))),
    Query(Auto(), recency=True, relevance="low"),
    Query(Auto(), entities=Entities(0.5, "people"), prior=Prior(-0.2, "weight")),
]


@pytest.mark.parametrize("ranking", RANKINGS, ids=repr)
def test_settings_come_back_the_same(tmp_path: Path, ranking: Query) -> None:
    fusion.save(ranking, tmp_path / "r.json")
    assert fusion.load(tmp_path / "r.json") == ranking
    index = filled(judged(5, words_lie=False))
    loaded = index.search("waa", scope=ACME, query=(fusion.load(tmp_path / "r.json")))
    assert loaded.ids.tolist() == index.search("waa", scope=ACME, query=ranking).ids.tolist()
    if not any(
        (ranking.recency, ranking.relevance, ranking.entities, ranking.prior)
    ):  # what has parts is described as in the file
        assert eval(f"Query({describe(ranking).removesuffix(' (default)')})") == ranking


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("[]", 'expected the settings of a query'),
        ('{"fusion": {"method": "rrf"}}', 'expected the settings of a query'),
        ('{"scrubjay_query": 1, "fusion": {"method": "magic"}}', "fusion: expected a method among auto, rrf"),
        ('{"scrubjay_query": 1, "fusion": {"method": ["rrf"]}}', "fusion: expected a method among"),
        ('{"scrubjay_query": 1, "fusion": "magic"}', "fusion: expected"),
        ('{"scrubjay_query": 1, "fusion": {"method": "rrf", "q": 1}}', "q: unknown in fusion rrf, expected k"),
        ('{"scrubjay_query": 1, "fusion": {"method": "rrf", "k": "x"}}', "fusion.k: "),
        ('{"scrubjay_query": 1, "fusion": {"method": "rrf", "k": NaN}}', "fusion.k: "),
        ('{"scrubjay_query": 1, "boost": 1}', "boost: unknown in a query"),
        ('{"scrubjay_query": 1, "mmr": 7}', "mmr"),
        ('{"scrubjay_query": 1, "recency": {"weight": -1}}', "recency"),
        ('{"scrubjay_query": 1, "recency": {"wait": 1}}', "wait: unknown in recency"),
        ('{"scrubjay_query": 2}', "expected the settings of a query"),
    ],
)  # fmt: skip
def test_a_file_without_settings(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        fusion.load(path)
    assert str(caught.value).startswith(str(path))


# ---- judged sets -----------------------------------------------------------------------------------------------------


def write_set(folder: Path, one: JudgedSet) -> Path:
    folder.mkdir()
    rows = [
        {"id": r["id"], "text": r["text"], "tenant": "acme", "vector": r["vector"].tolist()}
        for r in one.records
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        {
            "_id": f"q{i}",
            "text": q.text,
            "metadata": {"scope": {"tenant": "acme"}},
            "vector": np.asarray(q.vector).tolist(),
        }
        for i, q in enumerate(one.queries)
    ]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    qrels = [f"q{i}\t{id}\t1" for i, q in enumerate(one.queries) for _, id in q.relevant]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(qrels) + "\nq0\tb0\t0\n")
    return folder


def test_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = judged(12, words_lie=True)
    folder = write_set(tmp_path / "set", one)
    found = read_judged(folder)
    assert found.queries == one.queries
    assert [row["id"] for row in found.records] == [row["id"] for row in one.records]
    np.save(folder / "m.docs.npy", np.float16([row["vector"] for row in one.records]))
    np.save(folder / "m.queries.npy", np.zeros((3, 16), np.float16))
    with pytest.raises(ValueError, match=r"m\.queries\.npy: expected 12 rows, got shape \(3, 16\)"):
        read_judged(folder, "m")
    np.save(folder / "m.queries.npy", np.float16([query.vector for query in one.queries]))
    again = read_judged(folder, "m")
    assert np.allclose(again.queries[3].vector, one.queries[3].vector, atol=0.01)  # type: ignore[arg-type]


def test_scopes_by_name_and_trec_judgements(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "On oaks", "text": "Old.", "meta": {"scope": "conv-1"}}\n{"id": "b", "text": "x"}\n'
    )
    (tmp_path / "queries.jsonl").write_text(
        '{"id": "1", "text": "q", "scope": "conv-1"}\n\n{"id": "2", "text": "r", "user": null, "tenant": "t"}\n'
    )
    (tmp_path / "qrels.tsv").write_text("1\t0\ta\t2\n2\t0\tb\t0\n")
    found = read_judged(tmp_path)
    assert [(row["text"], row["scope"]) for row in found.records] == [
        ("On oaks Old.", Scope("judged", user="conv-1")),
        ("x", Scope("judged")),
    ]
    home = Scope("judged", user="conv-1")
    assert found.queries == [JudgedQuery("q", home, frozenset([(home, "a")]))]


def test_times_and_turns_of_a_folder_count(tmp_path: Path) -> None:
    """The default ranks with the question's dates and with turns of another speaker, as searches of an index do."""
    days = [f"2024-03-{day:02}T09:00:00" for day in range(1, 9)]
    memories = [
        {"id": f"m{i}", "text": "We met for the garden.", "meta": {"scope": "s", "ts": day}}
        for i, day in enumerate(days)
    ]
    turns = ["We met at the street.", "Good.", "Which dentist do you mean?", "The one at the street."]
    memories += [
        {"id": f"t{i}", "text": text, "meta": {"scope": "t", "session": 1, "turn": i, "speaker": "ab"[i % 2]}}
        for i, text in enumerate(turns)
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, memories)))
    asked = [
        {"id": "own", "text": "garden, when we met yesterday", "scope": "s", "ts": "2024-03-05T12:00:00"},
        {"id": "last", "text": "garden, when we met the day before yesterday", "scope": "s"},
        {"id": "turn", "text": "dentist street", "scope": "t"},
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (tmp_path / "qrels.tsv").write_text("own\tm3\t1\nlast\tm5\t1\nturn\tt3\t1\n")
    found = read_judged(tmp_path)
    assert [query.asked_at and query.asked_at.day for query in found.queries] == [5, 8, None]
    with Index() as index:
        index.upsert_many(found.records, progress=False)
        plain = Query(dates=False, neighbours=False)
        rows = {
            row.setting.query: row.figures for row in tune(index, found.queries, configurations=[plain], folds=2).rows
            if row.setting is not None and row.setting.bm25 is None
        }  # fmt: skip
        reranked = tune(
            index, found.queries, configurations=[], folds=2, depths=(1,),
            reranker=CallableReranker(lambda question, texts: [0.0] * len(texts)),
        )  # fmt: skip
    assert rows[Query()]["mrr@10"] >= 2.5 / 3 > rows[plain]["mrr@10"]
    (row,) = (row for row in reranked.rows if row.setting == Setting(rerank=1))
    assert row.figures["mrr@10"] >= 2.5 / 3


def test_the_time_of_feedback_is_that_of_the_question() -> None:
    with Index() as index:
        index.upsert("m", "oak", scope=ACME)
        index.feedback("m", query="oak", scope=ACME)
        (note,) = index.admin.feedbacks()
        (query,) = from_feedback(index)
    # a datetime has microseconds, and a float of that size has quarters of one
    assert query.asked_at is not None and query.asked_at.timestamp() == pytest.approx(note.at, abs=2e-6)


def test_a_judgement_is_of_the_most_specific_that_the_question_sees(tmp_path: Path) -> None:
    jane, coder, both = Scope("t", "jane"), Scope("t", agent="coder"), Scope("t", "jane", "coder")
    scopes = [Scope("other"), Scope("t"), coder, jane, both, Scope("t", "joe")]
    for n_there in range(2, len(scopes) + 1):
        rows = [
            {"id": "m", "text": "x", "tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
            for scope in scopes[:n_there]
        ]
        (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
        asked = {"id": "q", "text": "q", "tenant": "t", "user": "jane", "agent": "coder"}
        (tmp_path / "queries.jsonl").write_text(json.dumps(asked))
        (tmp_path / "qrels.tsv").write_text("q\tm\t1\n")
        (query,) = read_judged(tmp_path).queries
        assert query.relevant == {(scopes[min(n_there, 5) - 1], "m")}
        with Index() as index:  # as a look-up has it
            index.upsert_many(read_judged(tmp_path).records, progress=False)
            assert index.get("m", scope=both).scope == next(iter(query.relevant))[0]  # type: ignore[union-attr]
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "q", "tenant": "nobody"}')
    (query,) = read_judged(tmp_path).queries
    assert query.relevant == {(Scope("other"), "m")}  # which counts as not found


def test_answers_are_named_by_scope_and_id() -> None:
    """Of two memories with one id only the one that was judged counts."""
    jane = Scope("acme", "jane")
    index = Index(dtype="f32")
    index.upsert("m", "oak", scope=ACME, vector=[0.0, 1.0])
    index.upsert("m", "jay", scope=jane, vector=[1.0, 0.0])
    asked = [
        JudgedQuery(text, jane, frozenset([(ACME, "m")]), np.float32([1, 0])) for text in ("oak", "an oak")
    ]
    found = tune(index, asked, configurations=[Query(RRF(10))], folds=2)
    reached = {row.name: row.figures["mrr@10"] for row in found.rows}
    assert (reached["lexical"], reached["vector"]) == (1.0, 0.5)
    with pytest.raises(TypeError, match=r"relevant: expected pairs of scrubjay\.Scope and id, got 'm'"):
        JudgedQuery("oak", jane, frozenset(["m"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl, line 1: "),
        ("corpus.jsonl", "[]\n", "line 1: expected an object, got list"),
        ("queries.jsonl", '{"id": 1, "text": "q"}', "line 1: id or _id: expected a str, got 1"),
        ("queries.jsonl", '{"id": "1", "text": "q", "scope": {"user": "u"}}', "line 1: scope: expected the keys"),
        ("queries.jsonl", '{"id": "1", "text": "q", "ts": "soon"}', "queries.jsonl, line 1: ts: expected"),
        ("corpus.jsonl", '{"id": "1", "text": "q", "meta": 3}', "line 1: meta: expected an object, got 3"),
        ("qrels.tsv", "q0 a0 1\n", "qrels.tsv, line 1: expected question, document and judgement"),
        ("qrels.tsv", "q0\ta0\t1\nq0\ta1\tyes\n", "qrels.tsv, line 2: expected question, document and judgement"),
        ("qrels.tsv", "q0\tz9\t1\n", "'z9' is judged but not in corpus.jsonl"),
    ],
)  # fmt: skip
def test_a_malformed_judged_set_is_refused(tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = write_set(tmp_path / "set", judged(3, words_lie=False))
    (folder / file).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_judged(folder)
    assert cli.main(["tune", str(folder), "--embedder", "none"]) == 2


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_what_searches_can_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_set(tmp_path / "set", judged(30, words_lie=True))
    out = tmp_path / "tuned.json"
    assert cli.main(["tune", str(folder), "--embedder", "none", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["queries"] == 30
    assert not said["gain"]["is_noise"]
    assert Query.from_dict(said["query"]) == fusion.load(out) != Query()
    assert cli.main(["tune", str(folder), "--embedder", "none", "--folds", "3"]) == 0
    table = capsys.readouterr().out
    assert "Auto() (default)" in table
    assert "30 judged questions, cross-validated over 3 folds" in table
    assert table.count(f"settings: {describe(fusion.load(out))}") == 1


def test_the_command_warns_of_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = judged(12, words_lie=False)
    rng = np.random.default_rng(1)
    ids = [row["id"] for row in one.records]
    drawn = [frozenset((ACME, id) for id in rng.choice(ids, 2).tolist()) for _ in one.queries]
    lottery = [JudgedQuery(q.text, ACME, keys, q.vector) for q, keys in zip(one.queries, drawn, strict=True)]
    folder = write_set(tmp_path / "set", JudgedSet(one.records, lottery))
    out = tmp_path / "tuned.json"
    assert cli.main(["tune", str(folder), "--embedder", "none", "--out", str(out)]) == 0
    assert "is within noise (12 questions); the default stands" in capsys.readouterr().err
    assert fusion.load(out) == Query()
    assert cli.main(["tune", str(folder), "--embedder", "none", "--out", str(out), "--winner"]) == 2
    assert "--force" in capsys.readouterr().err and fusion.load(out) == Query()
    command = ["tune", str(folder), "--embedder", "none", "--out", str(out), "--winner", "--force"]
    assert cli.main(command) == 0
    assert fusion.load(out) != Query()


def test_the_command_learns_from_feedback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path) as index:
        for i in range(8):
            index.upsert(f"m{i}", f"oak number {WORDS[i]}", scope=Scope("acme", user=f"u{i % 2}"))
    assert cli.main(["tune", str(path), "--embedder", "none"]) == 1
    assert "0 judged questions, at least 2 are needed" in capsys.readouterr().err
    with Index.open(path) as index:
        for i in range(8):
            index.feedback(f"m{i}", query=f"which oak {WORDS[i]}?", scope=Scope("acme", user=f"u{i % 2}"))
    assert cli.main(["tune", str(path), "--embedder", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 8
    arguments = ["tune", str(path), "--embedder", "none", "--json", "--tenant", "acme", "--user", "u1"]
    assert cli.main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "expected a folder or an index file, found neither"),
        (["SET", "--tenant", "acme"], "expected an index file as SOURCE"),
        (["SET", "--out", "/nonexistent/x.json"], "/nonexistent/x.json: No such file"),
        (["SET", "--vectors", "m"], "m.docs.npy"),
        (["SET/corpus.jsonl"], "corpus.jsonl: expected an index"),
        (["SET", "--folds", "1"], "folds: expected an int of 2 or more"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = write_set(tmp_path / "set", judged(3, words_lie=False))
    given = [argument.replace("SET", str(folder)) for argument in arguments]
    assert cli.main(["tune", "--embedder", "none", *given]) == 2
    import re

    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("spec", ["auto", "rrf", "rrf:10", "weighted", "boost", "production", "FILE"])
def test_search_takes_a_fusion(tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str) -> None:
    fusion.save(Query(RRF(3), coverage=0.2), tmp_path / "r.json")
    (tmp_path / "a.txt").write_text("The oak.\n\nThe jay.\n")
    given = spec.replace("FILE", str(tmp_path / "r.json"))
    arguments = ["search", "oak", str(tmp_path / "a.txt"), "--embedder", "none", "--fusion", given]
    assert cli.main(arguments) == 0
    assert "oak" in capsys.readouterr().out


@pytest.mark.parametrize("spec", ["magic", "rrf:", "rrf:-1", "rrf:x", ""])
def test_search_refuses_an_invalid_fusion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str
) -> None:
    (tmp_path / "a.txt").write_text("The oak.")
    assert cli.main(["search", "oak", str(tmp_path / "a.txt"), "--embedder", "none", "--fusion", spec]) == 2
    assert "--fusion: expected" in capsys.readouterr().err
