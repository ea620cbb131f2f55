"""Tuning: finds the settings that rank best for judged questions, and tests whether the gain is noise.

Every setting answers every judged question once. Five-fold cross-validation chooses the best on four fifths of the
questions and measures it on the rest: the difference to the default ranking estimates the gain on new questions, not on
those it was fitted to. A paired bootstrap that repeats the choice estimates how much of it is chance: questions are
drawn with replacement, the best setting for them is chosen, and measured on those that were not drawn. (Resampling only
the differences of one choice would be too optimistic: with random answers 7 of 60 choices looked like a gain, and 2 of
60 with the choice repeated.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.progress import Progress, open_progress
from scrubjay.fusion import Fusion, Query
from scrubjay.index import Hit, Index
from scrubjay.retrieval.grid import BM25_PAIRS, fusions, variations
from scrubjay.retrieval.judged_sets import JudgedQuery
from scrubjay.retrieval.reranking import Reranker
from scrubjay.retrieval.trials import METRICS, Setting, Trials

_RESAMPLES = 2000
_N_VARIED = 3


@dataclass(frozen=True)
class Gain:
    """A mean difference to the default, with the bounds of 95% of the resampled means."""

    mean: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether chance alone could explain it."""
        return self.low <= 0.0


@dataclass(frozen=True)
class TunedRow:
    """The result of one setting on all questions. `setting` is None for a single ranking, which has no fusion."""

    name: str
    setting: Setting | None
    figures: dict[str, float]
    gain: Gain
    """Measured on the questions by which it was chosen, so optimistic for the best rows."""


@dataclass(frozen=True)
class Tuning:
    """The result of :func:`tune`.

    Attributes:
        metric: the optimised metric.
        rows: all settings, best first, including the default and the single rankings.
        winner: the best setting on all questions.
        folds: for each part of the questions, the setting that the others chose, its result on the part, and the
            default's.
        gain: of this choice, on questions that did not influence it (cross-validated).
    """

    metric: str
    n_queries: int
    rows: tuple[TunedRow, ...]
    winner: Setting
    folds: tuple[tuple[str, float, float], ...]
    gain: Gain

    @property
    def setting(self) -> Setting:
        """The setting to use: the winner, or the default if the gain is within noise."""
        return Setting() if self.gain.is_noise else self.winner

    @property
    def query(self) -> Query:
        """The query of `setting`."""
        return self.setting.query

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return {
            "metric": self.metric,
            "queries": self.n_queries,
            "rows": [{"name": row.name, **row.figures, "gain": vars(row.gain)} for row in self.rows],
            "winner": _as_dict(self.winner),
            **_as_dict(self.setting),
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
    bm25: Sequence[tuple[float, float]] | None = None,
    reranker: Reranker | None = None,
    depths: Sequence[int] = (10, 20, 50),
    template: str | Callable[[Hit], str] | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Find the settings that answer judged questions best, and estimate the gain on new questions.

    The query is chosen first, then (k1, b) with it, then the depth of reranking with both: a more expensive setting
    must be better; ties are won by the earlier one.

    Args:
        index: with the memories that the judgements name.
        queries: the questions (:func:`read_judged`, :func:`from_feedback`).
        metric: one of `METRICS`.
        folds: the number of parts of the questions, at most one per question.
        seed: of the split and of the bootstrap: equal seeds give equal results.
        candidates: as in :meth:`Index.search`.
        configurations: queries to choose from, instead of a grid over all fusions whose best three are then varied
            (without the identifier tier or spelling, with coverage or recency, other weights of dates and neighbours,
            finer weights of the rankings).
        bm25: pairs (k1, b) to try beside those of the index; None: a few, unless `configurations` are given. Each is
            tried on an in-memory copy of the memories that the questions see.
        reranker: tried at each of `depths`; None: no reranking.
        depths: the numbers of best hits to rerank (the argument `rerank` of :class:`scrubjay.Retriever`).
        template: the reranker's input for a hit, as in :class:`scrubjay.Retriever`.
        progress: show a progress bar on standard error; None: if that is a terminal.

    Raises:
        ValueError: fewer than two judged questions, a bad argument, or a reranker that fails.
        EmbedderError: the questions could not be embedded.

    >>> from scrubjay import Index, Scope, Weighted
    >>> index, acme = Index(dtype="f32"), Scope("acme")
    >>> index.upsert(1, "oak", scope=acme, vector=[1.0, 0.0])
    >>> index.upsert(2, "jay", scope=acme, vector=[0.0, 1.0])
    >>> oak = frozenset([(acme, 1)])
    >>> asked = [JudgedQuery(text, acme, oak, np.float32([0, 1])) for text in ("oak", "an oak")]
    >>> found = tune(index, asked, configurations=[Weighted((0.9, 0.1)), Weighted((0.1, 0.9))], folds=2)
    >>> {row.name: row.figures["mrr@10"] for row in found.rows}
    {'lexical': 1.0, 'Auto() (default)': 1.0, 'Weighted((0.9, 0.1))': 1.0, 'vector': 0.5, 'Weighted((0.1, 0.9))': 0.5}
    >>> found.winner == Setting(), found.gain.is_noise
    (True, True)
    """
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise ValueError(f"folds: expected an int of 2 or more, got {folds!r}")
    if len(queries) < 2 or not all(query.relevant for query in queries):
        raise ValueError(
            f"queries: expected two or more, each with a relevant memory, got {len(queries)}, "
            f"{sum(not query.relevant for query in queries)} of them without any"
        )
    if not isinstance(depths, Sequence) or not all(type(depth) is int and depth >= 1 for depth in depths):
        raise ValueError(f"depths: expected ints of 1 or more, got {depths!r}")
    if bm25 is not None and not (isinstance(bm25, Sequence) and all(map(_is_pair, bm25))):
        raise ValueError(f"bm25: expected pairs (k1, b) of k1 >= 0 and b from 0 to 1, got {bm25!r}")
    steps = _Steps(
        queries=tuple(
            dict.fromkeys(
                [Query(), *(fusions() if configurations is None else map(_as_query, configurations))]
            )
        ),
        varied=configurations is None,
        bm25=tuple(bm25 if bm25 is not None else () if configurations is not None else BM25_PAIRS),
        depths=() if reranker is None else tuple(sorted(set(depths))),
    )
    trials = Trials(index, queries, list(METRICS).index(metric), candidates, reranker, template)
    bar = open_progress(progress, total=len(steps.queries) + 2 + folds, what="tuning", unit="steps")
    try:
        return _tune(trials, steps, folds, seed, bar)
    finally:
        bar.close()
        trials.close()


def _is_pair(given: Any) -> bool:
    if (
        not isinstance(given, tuple)
        or len(given) != 2
        or not all(type(number) in (int, float) for number in given)
    ):
        return False
    k1, b = given
    return bool(0 <= k1 < math.inf and 0 <= b <= 1)


@dataclass(frozen=True)
class _Steps:
    """The options to choose from, in the order of the choice."""

    queries: tuple[Query, ...]
    varied: bool
    bm25: tuple[tuple[float, float], ...]
    depths: tuple[int, ...]


def _tune(trials: Trials, steps: _Steps, n_folds: int, seed: int, bar: Progress) -> Tuning:
    default = Setting()
    n = len(trials.queries)
    rng = np.random.default_rng(seed)
    for arm in ("lexical", "vector"):
        trials.scores(arm)
        bar.update(1)
    for query in steps.queries:
        trials.scores(Setting(query))
        bar.update(1)
    everything = np.arange(n)
    winner = _choose(trials, steps, everything)
    base = trials.target_scores(default)
    reached, folds = np.empty(n), []
    for part in np.array_split(rng.permutation(n), min(n_folds, n)):
        chosen = _choose(trials, steps, np.setdiff1d(everything, part))
        reached[part] = trials.target_scores(chosen)[part]
        folds.append((describe_setting(chosen), float(reached[part].mean()), float(base[part].mean())))
        bar.update(1)
    differences = np.array(
        [trials.target_scores(setting) - base for setting in trials.done if isinstance(setting, Setting)]
    )
    gain = Gain(float((reached - base).mean()), *_bounds(_bootstrap_gains(differences, rng)))
    weights = _draw_counts(n, rng) / n
    rows = [
        TunedRow(
            setting if isinstance(setting, str) else describe_setting(setting),
            None if isinstance(setting, str) else setting,
            dict(zip(METRICS, scores.mean(axis=1).tolist(), strict=True)),
            Gain(
                float((scores[trials.target] - base).mean()),
                *_bounds(weights @ (scores[trials.target] - base)),
            ),
        )
        for setting, scores in trials.done.items()
    ]
    metric = list(METRICS)[trials.target]
    rows.sort(key=lambda row: -row.figures[metric])  # stable: in a tie the simpler setting is first
    return Tuning(metric, n, tuple(rows), winner, tuple(folds), gain)


def _choose(trials: Trials, steps: _Steps, places: NDArray[Any]) -> Setting:
    """Return the best setting for these questions, without looking at the others."""

    def best_first(options: Sequence[Setting]) -> list[Setting]:
        means = {option: round(float(trials.target_scores(option)[places].mean()), 12) for option in options}
        return sorted(means, key=lambda option: -means[option])  # ties keep their order

    leading = best_first([Setting(query) for query in steps.queries])[:_N_VARIED]
    if steps.varied:
        leading += [Setting(query) for setting in leading for query in variations(setting.query)]
    best = best_first(leading)[0]
    best = best_first([best, *(replace(best, bm25=pair) for pair in steps.bm25)])[0]
    return best_first([best, *(replace(best, rerank=depth) for depth in steps.depths)])[0]


def _draw_counts(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each of n questions is drawn in each resample."""
    return rng.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)


def _bootstrap_gains(differences: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the gains of repeated choices: by questions drawn with replacement, on those not drawn.

    `differences` are those of each setting to the default, for each question.
    """
    drawn = _draw_counts(differences.shape[1], rng)
    drawn = drawn[(drawn == 0).any(axis=1)]
    chosen = np.argmax(np.round(drawn @ differences.T, 12), axis=1)
    return np.array(
        [differences[choice, counts == 0].mean() for choice, counts in zip(chosen, drawn, strict=True)]
    )


def _bounds(means: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(means, [2.5, 97.5]).tolist()
    return low, high


def _as_query(given: Query | Fusion) -> Query:
    return given if isinstance(given, Query) else Query(given)


def describe_setting(setting: Setting) -> str:
    """Describe a setting as briefly as possible.

    >>> describe_setting(Setting(Query(), (1.2, 0.75), 20))
    'Auto() (default), k1=1.2, b=0.75, rerank=20'
    """
    parts = [describe(setting.query)]
    if setting.bm25 is not None:
        parts.append("k1={:g}, b={:g}".format(*setting.bm25))
    if setting.rerank:
        parts.append(f"rerank={setting.rerank}")
    return ", ".join(parts)


def describe(query: Query) -> str:
    """Describe a query as a constructor call, as briefly as possible.

    >>> from scrubjay import RRF, Weighted
    >>> describe(Query()), describe(Query(RRF(10), coverage=0.2, identifier_tier=False))
    ('Auto() (default)', 'RRF(10), coverage=0.2, identifier_tier=False')
    >>> describe(Query(Weighted((0.3, 0.7), normalise="max")))
    "Weighted((0.3, 0.7), 'max')"
    """
    if query == Query():
        return f"{query.fusion!r} (default)"
    settings, usual = query.to_dict(), Query().to_dict()
    kind: Any = type(query.fusion)
    values = [value for name, value in settings.pop("fusion").items() if name != "method"]
    usually = [value for name, value in Query(kind()).to_dict()["fusion"].items() if name != "method"]
    while values and values[-1] == usually[len(values) - 1]:
        del values[-1]
    options = []
    for name, value in sorted(settings.items()):
        if value != usual[name]:
            part = getattr(query, name)
            options.append(f"{name}={part!r}" if is_dataclass(part) else f"{name}={_short(value)}")
    return ", ".join([f"{kind.__name__}({', '.join(map(_short, values))})", *options])


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return f"({', '.join(map(_short, value))})"
    return repr(value)


def _as_dict(setting: Setting) -> dict[str, Any]:
    return {"query": setting.query.to_dict(), "bm25": setting.bm25, "rerank": setting.rerank}
