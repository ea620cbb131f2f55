"""The lexical benchmarks measure what they claim: same terms for all, exact answers, seeded data, true tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import report
from benchmarks.compare import exact, lexical, lexical_engines, tables, texts, timing, workload
from benchmarks.micro import __main__ as micro
from benchmarks.micro import data, instructions

from scrubjay import Query
from tests.reference.model import ModelEngine
from tests.reference.scopes import Scope

SOURCE = texts.source(use_system=False)
DOCUMENTS = workload.documents(SOURCE, 300)
TERMS = workload.terms_of(DOCUMENTS)
_, HELD_OUT = workload.shuffled(SOURCE, 0)


pytestmark = pytest.mark.usefixtures("benchmark_cache")


# Texts and queries


def test_a_description_is_cut_into_whole_sentences() -> None:
    sentences = [
        "archiver for seven formats\n",
        *(f"It packs {word} files {'very ' * 14} well. " for word in "abcd"),
    ]
    passages = list(texts.passages_of("".join(sentences)))
    assert " ".join(passages) == " ".join("".join(sentences).split())
    assert [len(passage.split()) for passage in passages] == [4 + 2 * 19 - 19, 38, 19]
    assert all(passage.endswith("well.") for passage in passages)


def test_a_long_sentence_is_cut_and_a_short_rest_is_left_out() -> None:
    passages = list(texts.passages_of("archiver\n" + " ".join(f"word{number}" for number in range(90)) + "."))
    assert [len(passage.split()) for passage in passages] == [40, 40, 10]
    assert list(texts.passages_of("archiver for seven formats")) == []


def test_documents_are_seeded_and_larger_collections_begin_with_smaller_ones() -> None:
    many = workload.documents(SOURCE, len(SOURCE.passages) + 500, seed=4)
    assert many == workload.documents(SOURCE, len(many), seed=4)
    assert many[:700] == workload.documents(SOURCE, 700, seed=4)
    assert many[:700] != workload.documents(SOURCE, 700, seed=5)


def test_no_query_text_is_indexed() -> None:
    assert not set(HELD_OUT) & set(workload.documents(SOURCE, len(SOURCE.passages)))


def test_terms_of_a_batch_equal_those_of_each_text() -> None:
    import scrubjay

    odd = ["TS-999 and sk-stg-0041", "", "Straße, e-mail a@b.com", "src/main.cpp:12"]
    terms = workload.terms_of(odd)
    for place, text in enumerate(odd):
        tokens = scrubjay.analyze(text)
        assert [terms.vocabulary[number] for number in terms.of(place)] == [term for term, _ in tokens]
        assert terms.lengths[place] == sum(kind in {"word", "part"} for _, kind in tokens)


def test_peers_get_distinct_plain_words_for_distinct_terms() -> None:
    terms = workload.terms_of(["naïve naive TS-999 ts999 zqx straße", "zq1 日本語"])
    assert len(set(terms.words)) == len(terms.vocabulary)
    assert all(word.isascii() and word.isalnum() for word in terms.words)


def test_terms_come_back_from_the_cache_as_they_were() -> None:
    first = workload.terms_of(DOCUMENTS[:20], cache_name="test")
    again = workload.terms_of(DOCUMENTS[:20], cache_name="test")
    assert again.vocabulary == first.vocabulary
    assert np.array_equal(again.ids, first.ids)
    assert np.array_equal(again.lengths, first.lengths)


@pytest.mark.parametrize("kind", workload.QUERY_KINDS)
def test_queries_are_seeded_and_have_known_terms(kind: str) -> None:
    found = workload.queries(kind, 30, HELD_OUT, TERMS)
    assert found == workload.queries(kind, 30, HELD_OUT, TERMS)
    assert all(len(query.distinct) >= (1 if kind == "w1" else 2) for query in found)
    n_words = [len(query.text.split()) for query in found]
    exactly = {f"w{n}": (n, n) for n in workload.NUMBERS_OF_WORDS}
    least, most = {"nat": (6, 12), "kw": (2, 4), "stop": (3, 6), "long": (60, 60), **exactly}[kind]
    assert least <= min(n_words)
    assert max(n_words) <= most


def test_a_changelog_is_cut_into_its_entries() -> None:
    words = " ".join(f"word{number}" for number in range(12))
    log = f"""tool (1.0) unstable; urgency=low

  * {words}
    and further down.
  * Too short.

  - src/a.c: {words}
    * {words} within

 -- Somebody <a@b.c>  Mon, 01 Jan 2024 00:00:00 +0000
"""
    assert list(texts.entries_of(log)) == [
        f"{words} and further down.",
        f"src/a.c: {words}",
        f"{words} within",
    ]


def test_a_judged_set_gives_its_texts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRUBJAY_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    rows = [{"id": str(n), "text": text} for n, text in enumerate(["one  two", "three", "", "one two"])]
    (tmp_path / "set" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert texts.judged("set") == texts.Source("set", ("one two", "three"))


# The exact answer


def test_the_exhaustive_formula_is_the_oracle() -> None:
    oracle, scope = ModelEngine(k1=1.2, b=0.75), Scope("benchmark")
    oracle.upsert_many(list(range(len(DOCUMENTS))), DOCUMENTS, scope=scope)
    whole = exact.Exhaustive(TERMS)
    for query in workload.queries("nat", 10, HELD_OUT, TERMS):
        found = oracle.search(query.text, scope=scope, k=10, query=Query(mode="lexical"))
        scores = whole.scores(query)
        best = exact.best(scores, 10)
        assert list(found.ids) == best.tolist()
        assert list(found.scores) == scores[best].tolist()


def test_recall_forgives_ties_and_nothing_else() -> None:
    scores = np.array([3.0, 2.0, 2.0, 1.0, 0.0])
    assert exact.best(scores, 2).tolist() == [0, 1]
    assert exact.best(scores, 9).tolist() == [0, 1, 2, 3]
    assert exact.recall([0, 2], scores, 2) == 1.0
    assert exact.recall([0, 3], scores, 2) == 0.5
    assert exact.recall([], scores, 2) == 0.0


def test_the_floor_counts_a_dense_term_by_documents() -> None:
    terms = workload.terms_of(["common rare", *["common"] * 99])
    query = workload.queries("nat", 1, ["common rare common rare common rare"], terms)[0]
    expected = 0.05 * 100 + 0.45 * 1 + 0.05 * 100 + 60 * 2 + 2_500
    assert exact.Exhaustive(terms).floor_ns(query) == pytest.approx(expected)


# Engines and timing


@pytest.mark.parametrize("name", lexical_engines.ENGINES)
def test_every_engine_finds_the_best_by_its_own_lengths(name: str) -> None:
    for package in lexical_engines.NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed (extra: bench)")
    engine = lexical_engines.ENGINES[name]()
    engine.build(DOCUMENTS, TERMS)
    own = exact.Exhaustive(TERMS)
    formula = own if name == "scrubjay" else own.of_peers(TERMS)
    recalls = [
        exact.recall(engine.found(query, 10), formula.scores(query), 10)
        for query in workload.queries("kw", 20, HELD_OUT, TERMS)
    ]
    assert np.mean(recalls) > (0.75 if name == "fts5" else 0.99)  # FTS5 uses another idf
    if engine.n_adds:
        text = "quagga zebu okapi"
        engine.add(len(DOCUMENTS), text, text)
        query = workload.Query(text, (), ("quagga", "zebu"))
        assert engine.found(query, 5) == [len(DOCUMENTS)]
        engine.delete(len(DOCUMENTS))
        assert engine.found(query, 5) == []


def test_slow_engines_get_fewer_queries() -> None:
    import time

    assert timing.affordable(lambda _: time.sleep(0.002), range(1_000), budget_seconds=0.02) != range(1_000)
    assert len(timing.affordable(lambda _: None, range(1_000), budget_seconds=1.0)) == 1_000


def test_percentiles_are_medians_over_passes_in_microseconds() -> None:
    passes = [np.full(100, 1_000 * number) for number in (1, 2, 9)]
    assert timing.percentiles_us(passes) == {"p50": 2.0, "p95": 2.0, "p99": 2.0}


# The commands


def test_the_quick_comparison_runs_and_is_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, facts = tmp_path / "page.md", tmp_path / "facts.json"
    assert (
        lexical.main(["--quick", "--engines", "scrubjay,fts5", "--markdown", str(page), "--json", str(facts)])
        == 0
    )
    stored = json.loads(facts.read_text())
    assert page.read_text().strip() == capsys.readouterr().out.strip()
    assert {cell["kind"] for size in stored["sizes"] for cell in size["cells"]} == set(workload.QUERY_KINDS)
    for _, cell in tables.each_cell(stored):
        mine, theirs = cell["engines"]["scrubjay"], cell["engines"]["fts5"]
        assert tables.ratios(cell)["fts5_p50"] == pytest.approx(theirs["p50"] / mine["p50"])
        assert cell["check"]["scrubjay"]["recall"] == 1.0
    assert stored["sizes"][0]["memory"]["postings"] == stored["sizes"][0]["postings"]


def test_a_wrong_result_fails_the_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exact, "best", lambda scores, k: np.argsort(scores)[:k])
    assert lexical.main(["--quick", "--engines", "scrubjay", "--kinds", "kw", "--no-writes"]) == 1
    assert "NOT EXACT" in capsys.readouterr().err


def test_an_unknown_engine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        lexical.main(["--engines", "scrubjay,magic"])
    assert "magic" in capsys.readouterr().err


def test_the_quick_micro_benchmark_runs(tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    assert micro.main(["--quick", "--no-instructions", "--json", str(facts)]) == 0
    measured = json.loads(facts.read_text())["primitives"]
    assert measured["call"]["search, 9 words"]["p50"] > 0
    assert list(measured["k"]) == ["1", "10", "100", "1000"]


def test_fixed_queries_stay_what_they_were() -> None:
    queries = data.fixed_queries()
    assert len(queries) == 10
    assert {len(queries["three keywords"].split()), len(queries["sixty words"].split())} == {3, 60}
    assert set(" ".join(queries.values()).split()) <= set(data.vocabulary())
    assert queries == data.fixed_queries()


@pytest.mark.slow
def test_instructions_are_counted_and_grow_with_the_query() -> None:
    counted = instructions.count(200)
    if counted is None:
        pytest.skip("valgrind is not installed")
    assert counted["one rare word"] > 1_000
    assert counted["sixty words"] > 2 * counted["three keywords"]


def micro_report(**counts: int) -> dict[str, object]:
    times = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    groups = {group: {"1": times} for group in ("call", "k", "words", "keywords")}
    about = {"cpu": "a CPU", "scrubjay": {}, "load": None, "core": 0}
    return {
        "benchmark": "micro",
        "machine": about,
        "primitives": {"documents": 10, **groups},
        "tokenizing": {"ascii_warm_mb_a_second": 100.0},
        "instructions_documents": 10,
        "instructions": counts,
    }


@pytest.mark.parametrize(("grown", "code"), [(103, 0), (104, 1), (50, 0)])
def test_more_instructions_than_before_are_a_fault(tmp_path: Path, grown: int, code: int) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(micro_report(words=100, other=7)))
    new.write_text(json.dumps(micro_report(words=grown, other=7, added=10**6)))
    assert report.main([str(new), "--against", str(old)]) == code


def test_a_stored_comparison_reads_as_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.json"
    assert (
        lexical.main(
            ["--quick", "--engines", "scrubjay", "--kinds", "kw", "--no-writes", "--json", str(facts)]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert report.main([str(facts), "--against", str(facts)]) == 0
    again = capsys.readouterr().out
    assert again.startswith(shown)
    assert "->" in again
