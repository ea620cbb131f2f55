"""Tuning: the fusion and weights that rank best for judged questions, and whether the gain is noise.

Every configuration answers every judged question once. Five-fold cross-validation chooses the best on four fifths of
the questions and measures it on the rest: the difference to the default ranking estimates the gain on new questions,
not on the ones it was fitted to. A paired bootstrap that repeats the choice estimates how much of it is chance:
questions are drawn with replacement, the best configuration for them is chosen, and measured on those that were not
drawn. (Resampling only the differences of one choice would be too optimistic: with random answers 7 of 60 choices
looked like a gain then, and 2 of 60 with the choice repeated.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedders.protocol import embed_queries
from scrubjay.fusion import RRF, Auto, Boost, Fusion, Production, Query, Weighted
from scrubjay.index import Index
from scrubjay.progress import Progress, open_progress
from scrubjay.retrieval import metrics
from scrubjay.retrieval.judged import JudgedQuery

__all__ = ["METRICS", "Gain", "TunedRow", "Tuning", "describe", "tune"]

METRICS: dict[str, Callable[[Sequence[Any], frozenset[Any]], float]] = {
    "ndcg@10": metrics.ndcg,
    "recall@5": lambda ranking, relevant: metrics.recall_at(5, ranking, relevant),
    "recall@10": metrics.recall,
    "mrr@10": metrics.reciprocal_rank,
}
_BATCH = 256
_RESAMPLES = 2000
_N_VARIED = 3

Scores = NDArray[np.float64]  # of one configuration: (metrics, questions)


@dataclass(frozen=True)
class Gain:
    """A mean difference to the default, and between which bounds 95% of the resampled means lie."""

    mean: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether chance alone would explain it."""
        return self.low <= 0.0


@dataclass(frozen=True)
class TunedRow:
    """What one configuration reached on all questions. `query` is None for a single arm, which has no fusion."""

    name: str
    query: Query | None
    figures: dict[str, float]
    gain: Gain
    """On the questions that it was chosen by, so on the bright side for those at the top."""


@dataclass(frozen=True)
class Tuning:
    """What :func:`tune` found.

    Attributes:
        metric: what was to become better.
        rows: all configurations, best first; the default and the single arms are among them.
        winner: what is chosen when all questions have their say.
        folds: for each part of the questions which configuration the others chose, what that reached on the part,
            and what the default did.
        gain: of choosing in this way, on questions that had no say (cross-validated).
    """

    metric: str
    n_queries: int
    rows: tuple[TunedRow, ...]
    winner: Query
    folds: tuple[tuple[str, float, float], ...]
    gain: Gain

    @property
    def query(self) -> Query:
        """What to search with: the winner, or the default if the gain is within noise."""
        return Query() if self.gain.is_noise else self.winner

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON's own types."""
        return {
            "metric": self.metric,
            "queries": self.n_queries,
            "rows": [{"name": row.name, **row.figures, "gain": vars(row.gain)} for row in self.rows],
            "winner": self.winner.to_dict(),
            "query": self.query.to_dict(),
            "folds": [
                {"chosen": chosen, "reached": reached, "default": default}
                for chosen, reached, default in self.folds
            ],
            "gain": {**vars(self.gain), "is_noise": self.gain.is_noise},
        }


def tune(
    index: Index,
    queries: Sequence[JudgedQuery],
    *,
    metric: str = "ndcg@10",
    folds: int = 5,
    seed: int = 0,
    candidates: int | None = None,
    configurations: Sequence[Query] | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Find the ranking that answers judged questions best, and say what that gains on questions not seen before.

    Args:
        index: holds the memories that the judgements name.
        queries: the questions (:func:`read_judged`, :func:`from_feedback`).
        metric: one of `METRICS`.
        folds: into how many parts the questions are cut, at most one a question.
        seed: of the cut and of the bootstrap: equal seeds, equal answers.
        candidates: as in :meth:`Index.search`.
        configurations: what to choose from, instead of a grid over all fusions whose best three are then varied
            (without the identifier tier, with coverage, with finer weights).
        progress: show a bar on standard error; None: if that is a terminal.

    Raises:
        ValueError: fewer than two judged questions, or a bad argument.
        EmbedderError: the questions could not be embedded.

    >>> from scrubjay import Index, Scope
    >>> index, acme = Index(dtype="f32"), Scope("acme")
    >>> index.upsert(1, "oak", scope=acme, vector=[1.0, 0.0])
    >>> index.upsert(2, "jay", scope=acme, vector=[0.0, 1.0])
    >>> oak = frozenset([(acme, 1)])
    >>> asked = [JudgedQuery(text, acme, oak, np.float32([0, 1])) for text in ("oak", "an oak")]
    >>> found = tune(index, asked, configurations=[Weighted((0.9, 0.1)), Weighted((0.1, 0.9))], folds=2)
    >>> {row.name: row.figures["mrr@10"] for row in found.rows}
    {'lexical': 1.0, 'Auto() (default)': 1.0, 'Weighted((0.9, 0.1))': 1.0, 'vector': 0.5, 'Weighted((0.1, 0.9))': 0.5}
    >>> found.winner == Query(), found.gain.is_noise
    (True, True)
    """
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise ValueError(f"folds: expected an int of 2 or more, got {folds!r}")
    if len(queries) < 2 or not all(query.relevant for query in queries):
        raise ValueError(
            f"queries: expected two or more, each with a relevant memory, got {len(queries)} of which "
            f"{sum(not query.relevant for query in queries)} have none"
        )
    grid = _grid() if configurations is None else [_as_query(one) for one in configurations]
    trials = _Trials(index, queries, list(METRICS).index(metric), candidates)
    bar = open_progress(progress, total=len(grid) + 3, what="tuning", unit="configurations")
    try:
        return _tune(trials, list(dict.fromkeys([Query(), *grid])), configurations is None, folds, seed, bar)
    finally:
        bar.close()


class _Trials:
    """Answers every question with a configuration, once."""

    def __init__(
        self, index: Index, queries: Sequence[JudgedQuery], target: int, candidates: int | None
    ) -> None:
        self.queries = queries
        self.target = target
        self.done: dict[Query | str, Scores] = {}
        self._index = index
        self._candidates = candidates
        self._vectors: list[Any] = [query.vector for query in queries]
        missing = [place for place, vector in enumerate(self._vectors) if vector is None]
        if missing and index.embedder is not None:  # once for all configurations
            embedded = embed_queries(index.embedder, [queries[place].text for place in missing])
            for place, vector in zip(missing, embedded, strict=True):
                self._vectors[place] = vector.copy() if vector.any() else None

    def scores(self, configuration: Query | str) -> Scores:
        """Return all metrics for all questions; a str is the mode of a single arm."""
        known = self.done.get(configuration)
        if known is not None:
            return known
        scores = np.zeros((len(METRICS), len(self.queries)))
        query = Query(mode=configuration) if isinstance(configuration, str) else configuration  # type: ignore[arg-type]
        query = query.replace(candidates=self._candidates)
        for start in range(0, len(self.queries), _BATCH):
            part = self.queries[start : start + _BATCH]
            found = self._index.search_batch(
                [query.text for query in part],
                vectors=self._vectors[start : start + _BATCH],
                scope=[query.scope for query in part],
                k=metrics.DEPTH,
                query=query,
            )
            for place, (judged, hits) in enumerate(zip(part, found, strict=True), start=start):
                keys = hits.keys
                scores[:, place] = [figure(keys, judged.relevant) for figure in METRICS.values()]
        self.done[configuration] = scores
        return scores

    def target_scores(self, configuration: Query | str) -> NDArray[np.float64]:
        """Return the metric that is to become better, for all questions."""
        return np.asarray(self.scores(configuration)[self.target])


def _tune(trials: _Trials, grid: list[Query], vary: bool, n_folds: int, seed: int, bar: Progress) -> Tuning:
    default = Query()
    n = len(trials.queries)
    rng = np.random.default_rng(seed)
    for arm in ("lexical", "vector"):
        trials.scores(arm)
        bar.update(1)
    for query in grid:
        trials.scores(query)
        bar.update(1)
    everything = np.arange(n)
    winner = _choose(trials, grid, vary, everything)
    base = trials.target_scores(default)
    reached, folds = np.empty(n), []
    for part in np.array_split(rng.permutation(n), min(n_folds, n)):
        chosen = _choose(trials, grid, vary, np.setdiff1d(everything, part))
        reached[part] = trials.target_scores(chosen)[part]
        folds.append((describe(chosen), float(reached[part].mean()), float(base[part].mean())))
    differences = np.array(
        [trials.target_scores(one) - base for one in trials.done if isinstance(one, Query)]
    )
    gain = Gain(float((reached - base).mean()), *_bounds(_repeated(differences, rng)))
    weights = _draw(n, rng) / n
    rows = [
        TunedRow(
            configuration if isinstance(configuration, str) else describe(configuration),
            None if isinstance(configuration, str) else configuration,
            dict(zip(METRICS, scores.mean(axis=1).tolist(), strict=True)),
            Gain(
                float((scores[trials.target] - base).mean()),
                *_bounds(weights @ (scores[trials.target] - base)),
            ),
        )
        for configuration, scores in trials.done.items()
    ]
    metric = list(METRICS)[trials.target]
    rows.sort(key=lambda row: -row.figures[metric])  # stable: of equal ones the simpler came first
    return Tuning(metric, n, tuple(rows), winner, tuple(folds), gain)


def _choose(trials: _Trials, grid: list[Query], vary: bool, places: NDArray[Any]) -> Query:
    """Return the best for these questions, and look at nothing of the others."""

    def best_first(options: list[Query]) -> list[Query]:
        means = {option: round(float(trials.target_scores(option)[places].mean()), 12) for option in options}
        return sorted(means, key=lambda option: -means[option])  # of equal ones the first

    leading = best_first(grid)[:_N_VARIED]
    if not vary:
        return leading[0]
    return best_first([*leading, *(one for query in leading for one in _variations(query))])[0]


def _draw(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each of n questions is drawn, in each of the resamples."""
    return rng.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)


def _repeated(differences: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The gains of choosing again and again: by questions drawn with replacement, on those not drawn.

    `differences` are those of each configuration to the default, for each question.
    """
    drawn = _draw(differences.shape[1], rng)
    drawn = drawn[(drawn == 0).any(axis=1)]
    chosen = np.argmax(np.round(drawn @ differences.T, 12), axis=1)
    return np.array([differences[one, counts == 0].mean() for one, counts in zip(chosen, drawn, strict=True)])


def _bounds(means: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(means, [2.5, 97.5]).tolist()
    return low, high


def _as_query(given: Query | Fusion) -> Query:
    return given if isinstance(given, Query) else Query(given)


def _grid() -> list[Query]:
    fusions: list[Fusion] = [Auto()]
    fusions += [
        RRF(k, weights)
        for k in (5.0, 10.0, 20.0, 60.0)
        for weights in ((1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (1.0, 0.25), (0.25, 1.0))
    ]
    fusions += [
        Weighted(_shares(share), normalise)
        for normalise in ("zscore", "minmax", "max", "logistic")
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    fusions += [Boost(weight=weight) for weight in (0.1, 0.3, 1.0)]
    fusions += [Production(), Production(floor=0.0)]
    return [Query(fusion) for fusion in fusions]


def _variations(query: Query) -> list[Query]:
    """One step around a configuration of the grid."""
    varied = [replace(query, identifier_tier=False)]
    varied += [replace(query, coverage=coverage) for coverage in (0.1, 0.2, 0.4, 0.8)]
    fusion = query.fusion
    if isinstance(fusion, Weighted):
        share = fusion.weights[0]
        varied += [
            replace(query, fusion=Weighted(_shares(share + step), fusion.normalise)) for step in (-0.05, 0.05)
        ]
    elif isinstance(fusion, RRF):
        lexical, vector = fusion.weights[:2]
        varied += [replace(query, fusion=RRF(fusion.k, (lexical * factor, vector))) for factor in (0.75, 1.5)]
    return varied


def _shares(lexical: float) -> tuple[float, float]:
    return (round(lexical, 2), round(1 - lexical, 2))


def describe(query: Query) -> str:
    """Write a query as one would call it, as briefly as that goes.

    >>> describe(Query()), describe(Query(RRF(10), coverage=0.2, identifier_tier=False))
    ('Auto() (default)', 'RRF(10), coverage=0.2, identifier_tier=False')
    >>> describe(Query(Weighted((0.3, 0.7), normalise="max")))
    "Weighted((0.3, 0.7), 'max')"
    """
    if query == Query():
        return f"{query.fusion!r} (default)"
    said, usual = query.to_dict(), Query().to_dict()
    kind: Any = type(query.fusion)
    values = [value for name, value in said.pop("fusion").items() if name != "method"]
    usually = [value for name, value in Query(kind()).to_dict()["fusion"].items() if name != "method"]
    while values and values[-1] == usually[len(values) - 1]:
        del values[-1]
    rest = [f"{name}={_short(value)}" for name, value in sorted(said.items()) if value != usual[name]]
    return ", ".join([f"{kind.__name__}({', '.join(map(_short, values))})", *rest])


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return f"({', '.join(map(_short, value))})"
    return repr(value)
