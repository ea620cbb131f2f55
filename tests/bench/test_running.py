"""The runner reports the quality of results by category, and times the search alone."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from scrubjay.bench import (
    Asked,
    Case,
    Document,
    Found,
    IndexSearcher,
    LoCoMo,
    LongMemEval,
    MemoryAgentBench,
    Question,
    answer_scores,
    run,
    write_hypotheses,
)
from scrubjay.bench.answerers import holds_answer
from scrubjay.fusion import Query
from tests.bench import samples


class Ranked:
    """A searcher that returns given ids, regardless of its documents."""

    opened = 0

    def __init__(self, *ids: str) -> None:
        self.ids, self.calls, self.closed = ids, 0, False
        Ranked.opened += 1

    def add(self, documents: Iterable[Document]) -> int:
        self.texts = {document.id: document.text for document in documents}
        return len(self.texts)

    def search(self, question: Question, k: int) -> Found:
        self.calls += 1
        ids = self.ids[:k]
        return Found(
            ids, tuple(self.texts.get(id, "") for id in ids), search_us=100.0 * self.calls, embed_us=7.0
        )

    def close(self) -> None:
        self.closed = True


class Listed:
    """A data set of given cases."""

    name = "listed"

    def __init__(self, *cases: Case) -> None:
        self.cases = cases

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)


DOCUMENTS = [
    Document("a", "Tea is green."),
    Document("b", "Coffee is black."),
    Document("c", "Milk is white."),
]


def asked(id: str, category: str, relevant: dict[str, float], *answers: str) -> Question:
    return Question(id, "what colour?", category, relevant, answers)


def test_figures_are_those_of_the_formulas() -> None:
    case = Case(
        "one",
        DOCUMENTS,
        (asked("q1", "x", {"b": 1, "c": 2}), asked("q2", "y", {"a": 1}), asked("q3", "y", {})),
    )
    report = run(
        Listed(case), lambda: Ranked("a", "b", "c"), k=3, depths=(1, 2, 3, 10), passes=0, progress=False
    )
    x, y = report.categories["x"], report.categories["y"]
    dcg, ideal = 1 / math.log2(3) + 2 / math.log2(4), 2 / math.log2(2) + 1 / math.log2(3)
    assert x.quality == pytest.approx(
        {"recall@1": 0, "recall@2": 0.5, "recall@3": 1, "ndcg@3": dcg / ideal, "mrr@3": 0.5}
    )
    assert (y.n, y.n_judged, y.quality["recall@1"]) == (2, 1, 1.0)
    assert report.all.quality["recall@1"] == 0.5  # a question without judgements does not count
    assert (report.n_cases, report.n_documents, report.n_questions) == (1, 3, 3)
    assert report.all.search_us == {}


def test_times_are_the_median_of_the_passes_beside_the_embedders() -> None:
    case = Case("one", DOCUMENTS, (asked("q1", "x", {"a": 1}),))
    report = run(Listed(case), lambda: Ranked("a"), passes=3, progress=False)
    assert report.all.search_us == {"p50": 300.0, "p95": 300.0}  # calls 2, 3 and 4: the first is not timed
    assert report.all.embed_us == {"p50": 7.0, "p95": 7.0}


def test_each_case_has_a_searcher_of_its_own_that_is_closed() -> None:
    made: list[Ranked] = []

    def searcher() -> Ranked:
        made.append(Ranked("a"))
        return made[-1]

    cases = [Case(name, DOCUMENTS, (asked(name, "", {"a": 1}),)) for name in ("one", "two", "three")]
    report = run(Listed(*cases), searcher, limit=2, passes=0, progress=False)
    assert (report.n_cases, len(made), [one.closed for one in made]) == (2, 2, [True, True])
    assert list(report.categories) == ["all"]

    class Failing(Ranked):
        def search(self, question: Question, k: int) -> Found:
            raise ArithmeticError

    failing = Failing()
    with pytest.raises(ArithmeticError):
        run(Listed(*cases), lambda: failing, progress=False)
    assert failing.closed


def test_the_answerer_reads_what_was_found() -> None:
    case = Case(
        "one",
        DOCUMENTS,
        (asked("q1", "x", {"a": 1}, "green"), asked("q2", "x", {}, "black"), asked("q3", "x", {})),
    )

    def answerer(given: Asked) -> str:
        assert given.ids == ("a", "c")
        return given.texts[0].rstrip(".").split()[-1]

    report = run(Listed(case), lambda: Ranked("a", "c"), k=2, answerer=answerer, passes=0, progress=False)
    assert report.answers == [{"question_id": f"q{n}", "hypothesis": "green"} for n in (1, 2, 3)]
    assert report.all.n_answered == 2
    assert report.all.answer == {"f1": 0.5, "exact": 0.5, "contains": 0.5}
    assert report.all.quality["answer@2"] == 0.5  # "green" was found, "black" was not


def test_an_answer_that_is_no_str_is_refused() -> None:
    case = Case("one", DOCUMENTS, (asked("q1", "x", {"a": 1}, "green"),))
    with pytest.raises(TypeError, match="answerer: expected it to return a str, got None"):
        run(Listed(case), lambda: Ranked("a"), answerer=lambda _: None, progress=False)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("answer", "accepted", "scores"),
    [
        ("The Café.", ["cafe", "café"], (1, 1, 1)),
        ("in Bergen, Norway", ["Bergen"], (0.5, 0, 1)),
        ("Bergensk", ["Bergen"], (0, 0, 0)),
        ("彼は東京にいます", ["東京"], (0.4, 0, 1)),
        ("", ["x"], (0, 0, 0)),
        ("हिन्दी", ["हिन्दी"], (1, 1, 1)),
    ],
)
def test_answers_are_compared_in_any_script(
    answer: str, accepted: list[str], scores: tuple[float, ...]
) -> None:
    assert tuple(answer_scores(answer, accepted).values()) == pytest.approx(scores)
    assert holds_answer([answer], accepted) is bool(scores[2])


def test_no_accepted_answer_gives_no_score() -> None:
    assert answer_scores("anything", []) == {} and not holds_answer(["anything"], [])


def test_hypotheses_are_written_as_longmemeval_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    write_hypotheses(path, [{"question_id": "q1", "hypothesis": "zwölf\nx"}])
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [
        {"question_id": "q1", "hypothesis": "zwölf\nx"}
    ]
    with pytest.raises(FileExistsError):
        write_hypotheses(path, [])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"k": 0}, "k: expected 1"),
        ({"passes": -1}, "passes"),
        ({"limit": 0}, "limit"),
        ({"depths": ()}, "depths"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        run(Listed(), **arguments)  # type: ignore[arg-type]


class Slow:
    """An embedder that takes two milliseconds for a question."""

    name, dim = "slow", 4

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]

    def embed_query(self, text: str) -> np.ndarray:
        time.sleep(0.002)
        return np.eye(4, dtype=np.float32)[len(text) % 4]


def test_an_index_is_searched_and_its_embedder_timed_apart(tmp_path: Path) -> None:
    dataset = LongMemEval(samples.write_json(tmp_path / "a.json", samples.LONGMEMEVAL))
    report = run(dataset, lambda: IndexSearcher(Slow()), progress=False)
    assert report.all.quality["recall@1"] == 1.0
    assert report.all.embed_us["p50"] >= 2_000
    assert report.all.n_judged == 1 and report.categories["abstention"].n == 1
    lexical = run(dataset, lambda: IndexSearcher(Slow(), Query(mode="lexical")), progress=False)
    assert lexical.all.embed_us["p50"] == 0


def test_figures_of_quality_are_the_same_on_every_run(tmp_path: Path) -> None:
    dataset = LoCoMo(samples.write_json(tmp_path / "a.json", samples.LOCOMO))
    first, second = (run(dataset, progress=False) for _ in range(2))
    assert first.all.quality == second.all.quality and first.all.quality["mrr@10"] > 0
    assert set(first.categories) == {"single-hop", "temporal", "adversarial"}


def test_the_share_of_answers_found_needs_no_judgements(tmp_path: Path) -> None:
    dataset = MemoryAgentBench(
        samples.write_json(tmp_path / "a.json", samples.MEMORYAGENTBENCH), chunk_words=5
    )
    found = run(dataset, k=1, passes=0, progress=False).all
    assert (found.n_judged, found.quality) == (
        0,
        {"answer@1": 0.5},
    )  # flute ties with trumpet, and is older
