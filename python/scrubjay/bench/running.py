"""Runs a data set: loads every case, asks every question, reports figures by category."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

from scrubjay.base.progress import open_progress
from scrubjay.bench.answerers import Answerer, Asked, answer_scores, holds_answer
from scrubjay.bench.datasets import Case, Dataset, Question
from scrubjay.bench.figures import ALL, Figures, Sample, figures_of
from scrubjay.bench.searchers import Found, IndexSearcher, Searcher
from scrubjay.config import show_config
from scrubjay.retrieval import metrics

DEPTHS = (1, 5, 10)


@dataclass
class Report:
    """The measurements of :func:`run`.

    Attributes:
        dataset: its name.
        n_cases, n_documents, n_questions: the amounts read.
        load_seconds: of storing the documents of all cases, including embedding them, and reading them if the data set
            reads them lazily.
        categories: name -> figures, by name.
        all: the figures of all questions.
        answers: the answerer's answers in the order of the questions; empty without an answerer.
        config: of the build and CPU, from :func:`scrubjay.show_config`.
    """

    dataset: str
    n_cases: int = 0
    n_documents: int = 0
    n_questions: int = 0
    load_seconds: float = 0.0
    categories: dict[str, Figures] = field(default_factory=dict)
    all: Figures = field(default_factory=Figures)
    answers: list[dict[str, str]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types; rates and means are numbers, or None if nothing was judged."""
        return {
            "dataset": self.dataset,
            "cases": self.n_cases,
            "documents": self.n_documents,
            "questions": self.n_questions,
            "load_seconds": self.load_seconds,
            "all": self.all.to_dict(),
            "categories": {name: figures.to_dict() for name, figures in self.categories.items()},
            "answers": self.answers,
            "config": self.config,
        }


def run(
    dataset: Dataset,
    searcher: Callable[[], Searcher] = IndexSearcher,
    *,
    k: int = 10,
    depths: Sequence[int] = DEPTHS,
    answerer: Answerer | None = None,
    passes: int = 3,
    limit: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Load each case into its own searcher, and ask its questions.

    Every question is first asked once untimed; the figures of quality come from that answer. Then all questions of the
    case are asked `passes` times, and the median of each counts.

    Args:
        dataset: of :func:`open_dataset`, or any iterable of cases with a name.
        searcher: returns an empty searcher; called once per case.
        k: documents per search: the input of nDCG, MRR and the answerer.
        depths: the cutoffs of recall; those beyond k are left out.
        answerer: called with each question and the documents found (:class:`Asked`); returns its answer.
        passes: over the questions of a case; 0: nothing is timed.
        limit: maximum number of cases; None: all.
        progress: show a progress bar on standard error; None: if that is a terminal.

    Returns:
        figures by category and for all. The same data give the same figures of quality on every run.

    Raises:
        DatasetError: a file violates its format.
        ValueError: an argument is out of range.
    """
    for name, value, least in (("k", k, 1), ("passes", passes, 0), ("limit", limit, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name}: expected {least} or more, got {value}")
    if not depths or min(depths) < 1:
        raise ValueError(f"depths: expected numbers of 1 or more, got {tuple(depths)}")
    report = Report(dataset.name, config=show_config(as_dict=True) or {})
    cut = tuple(sorted(depth for depth in set(depths) if depth <= k)) or (k,)
    samples: list[Sample] = []
    bar = open_progress(progress, total=None, what=f"asking {dataset.name}", unit="questions")
    try:
        for case in islice(iter(dataset), limit):
            for sample in _run_case(case, searcher(), k, cut, answerer, passes, report):
                samples.append(sample)
                bar.update(1)
    finally:
        bar.close()
    report.n_questions = len(samples)
    report.all = figures_of(samples)
    by_category: dict[str, list[Sample]] = {}
    for sample in samples:
        by_category.setdefault(sample.category or ALL, []).append(sample)
    report.categories = {name: figures_of(by_category[name]) for name in sorted(by_category)}
    return report


def _run_case(
    case: Case,
    searcher: Searcher,
    k: int,
    depths: Sequence[int],
    answerer: Answerer | None,
    passes: int,
    report: Report,
) -> Iterable[Sample]:
    try:
        documents = list(case.documents) if isinstance(case.documents, list) else case.documents
        started = perf_counter()
        n_documents = searcher.add(documents)
        report.load_seconds += perf_counter() - started
        report.n_cases += 1
        report.n_documents += n_documents
        first = [searcher.search(question, k) for question in case.questions]
        timed = [[searcher.search(question, k) for question in case.questions] for _ in range(passes)]
        for place, (question, found) in enumerate(zip(case.questions, first, strict=True)):
            sample = _sample(question, found, k, depths, [results[place] for results in timed])
            if answerer is not None:
                answer = answerer(Asked(question, found.ids, found.texts))
                if not isinstance(answer, str):
                    raise TypeError(f"answerer: expected it to return a str, got {answer!r}")
                report.answers.append({"question_id": question.id, "hypothesis": answer})
                sample.answer = answer_scores(answer, question.answers)
            yield sample
    finally:
        searcher.close()


def _sample(
    question: Question, answer: Found, k: int, depths: Sequence[int], timed: Sequence[Found]
) -> Sample:
    sample = Sample(
        question.category, [search.search_us for search in timed], [search.embed_us for search in timed]
    )
    if question.relevant:
        sample.quality = {
            **{
                f"recall@{depth}": metrics.recall_at(depth, answer.ids, question.relevant) for depth in depths
            },
            f"ndcg@{k}": metrics.ndcg(answer.ids, question.relevant, k),
            f"mrr@{k}": metrics.reciprocal_rank(answer.ids, question.relevant, k),
        }
    if question.answers:
        sample.quality[f"answer@{k}"] = float(holds_answer(answer.texts[:k], question.answers))
    return sample
