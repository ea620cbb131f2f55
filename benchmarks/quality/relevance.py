"""Error rates of relevance, on questions with and without an answer.

    python -m benchmarks.quality.relevance [--data DIR] [--fit] [--json]

Questions of the judged sets are asked in their own scopes, whole and cut into random groups of 6, 30 and 150 documents.
Added are as many questions of other scopes (of other sets, where the scopes of a set answer the same questions), and
nonsense: two to six words of other sets, or of random letters. "Answer gone" are the first questions again with the
judged documents excluded: the hardest, since the rest is about the same people and subjects, and some of it answers in
part; nothing is fitted to them. By set, tier and kind: the fraction of questions whose best hit reaches the tier.
Recall counts questions whose judged document is among the ten hits; precision assumes that half of the questions have
no answer and are of other scopes.

The arms: with words and given vectors, of two models; words alone; vectors alone; and the same with the static
embedders of the package (WordLlama's and its own), whose cosines themselves are evidence.

The weights were fitted by logistic regression: right hits against all hits of questions without an answer; every set,
size and class has the same weight. `--fit` repeats it, and judges each set by weights fitted without it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.judged import VECTOR_SETS, JudgedSet, Query, data_folder, judged_sets
from benchmarks.quality.rankers import native_scope
from scrubjay import Query as Asked
from scrubjay import _native, embedders
from scrubjay.embedders.spec import from_spec
from scrubjay.index import relevance

SETS = (
    "locomo_dev", "lme_user_dev", "realtalk_dev", "beam_dev", "ident_dev", "techcodes", "scifact_dev", "typo_dev",
    "multilingual_dev", "dated_dev",
)  # fmt: skip
ALIKE = {"techcodes", "scifact_dev", "multilingual_dev", "dated_dev"}
"""Sets with one scope, or whose scopes answer the same questions."""
SIZES = (0, 6, 30, 150)
"""Documents of a scope; 0: unchanged."""
ARMS = {
    "both": relevance.BOTH, "words": relevance.WORDS, "vectors": relevance.VECTORS,
    "both, static": relevance.BOTH_STATIC, "vectors, static": relevance.VECTORS_STATIC,
}  # fmt: skip
KINDS = ("answered", "other scope", "nonsense", "answer gone")
GONE = KINDS.index("answer gone")
N_QUESTIONS, N_NONSENSE = 300, 150


class Case(NamedTuple):
    """One question in one scope."""

    text: str
    vector: NDArray[Any]
    scope: str
    kind: str
    right: frozenset[str] = frozenset()


class Row(NamedTuple):
    """One hit: its case, and its evidence."""

    set: int
    size: int
    model: int
    case: int
    kind: int
    right: bool
    information: float
    found: float
    standing: float
    cosine: float
    documents: float
    identifier: bool


def static_embedders() -> list[Any]:
    """Return the static embedders of the package; their rows come after those of the given models."""
    return [embedders.default(), from_spec("static")]


def cases(judged: JudgedSet, every: Sequence[JudgedSet], model: str, home: dict[str, str]) -> Iterator[Case]:
    """Yield questions of one set, and as many without an answer."""
    chance = random.Random(f"{judged.name} {model}")
    vectors = {one.name: one.query_vectors(model) for one in every}
    asked = chance.sample(judged.queries, min(N_QUESTIONS, len(judged.queries)))
    for query in asked:
        scope = home[min(query.relevant)]
        yield Case(query.text, vectors[judged.name][query.row], scope, "answered", query.relevant)
        others: Sequence[Query]
        if judged.name in ALIKE:
            # dated_dev is filled up with lme_user_dev.
            strangers = [
                one for one in every if one.name not in ALIKE | {"lme_user_dev"} and one is not judged
            ]
            other = chance.choice(strangers)
            others = other.queries
        else:
            other, others = judged, [one for one in judged.queries if one.scope != query.scope]
        stranger = chance.choice(others)
        yield Case(stranger.text, vectors[other.name][stranger.row], scope, "other scope")
    if model != VECTOR_SETS[0]:
        return  # nonsense is embedded here, by the model of the package
    embedder = embedders.default()
    words = sorted({word for one in every if one is not judged for memory in one.memories[::7]
                    for word in memory.text.split() if word.isalpha() and len(word) > 3})  # fmt: skip
    letters = "abcdefghijklmnopqrstuvwxyz"
    for number, query in enumerate(asked[:N_NONSENSE]):
        n_words = chance.randint(2, 6)
        if number % 3 == 0:
            said = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(n_words)]
        else:
            said = chance.choices(words, k=n_words)
        text = " ".join(said)
        yield Case(text, np.asarray(embedder.embed_queries([text])[0]), home[min(query.relevant)], "nonsense")


def rows_of(judged: JudgedSet, every: Sequence[JudgedSet], place: int, size: int) -> Iterator[Row]:
    """Yield the evidence of every hit of every case."""
    chance = random.Random(f"{judged.name} {size}")
    memories = sorted(judged.memories, key=lambda memory: (memory.scope, chance.random()))
    counts: dict[str, int] = {}
    home: dict[str, str] = {}
    for memory in memories:
        number = counts[memory.scope] = counts.get(memory.scope, 0) + 1
        home[memory.id] = f"{memory.scope}#{(number - 1) // size}" if size else memory.scope
    texts = [memory.text for memory in memories]
    vectors: list[Any] = [
        judged.document_vectors(model)[[memory.row for memory in memories]] for model in VECTOR_SETS
    ]
    embed: list[Any] = [None] * len(VECTOR_SETS)
    for embedder in static_embedders():
        embedded = np.asarray(embedder.embed_documents(texts))
        vectors.append([row if row.any() else None for row in embedded])
        embed.append(embedder.native)
    for m, (rows, embedder) in enumerate(zip(vectors, embed, strict=True)):
        engine = _native.Engine()
        scopes = [native_scope(home[memory.id]) for memory in memories]
        engine.upsert_many([memory.id for memory in memories], texts, scope=scopes, vectors=rows)
        for number, case in enumerate(cases(judged, every, VECTOR_SETS[0 if embedder else m], home)):
            given = (
                {"embedder": embedder}
                if embedder
                else {"vector": case.vector if np.any(case.vector) else None}
            )
            for kind in (case.kind, "answer gone") if case.right else (case.kind,):
                right = frozenset() if kind == "answer gone" else case.right
                asked = Asked(exclude=sorted(case.right)) if kind == "answer gone" else Asked()
                result = engine.search(
                    case.text, scope=native_scope(case.scope), k=10, query=asked, explain=True, **given
                )
                for id, parts in zip(result.ids, relevance.evidence(result), strict=True):
                    yield Row(
                        place, size, m, 2 * number + (kind == "answer gone"), KINDS.index(kind), id in right,
                        parts.information or 0.0, parts.found or 0.0, parts.standing or 0.0, parts.cosine or 0.0,
                        float(np.log(max(parts.n_documents, 2))), parts.identifier,
                    )  # fmt: skip


def features(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns in the order of :class:`scrubjay.index.relevance.Weights`."""
    return np.column_stack([np.ones(len(table)), table[:, 6:]])


def of_arm(table: NDArray[np.float64], arm: str) -> NDArray[np.float64]:
    """Return the rows for judging an arm."""
    rows: NDArray[np.float64] = table[(table[:, 2] >= len(VECTOR_SETS)) == ("static" in arm)]
    return rows


def fitted(table: NDArray[np.float64], arm: str) -> NDArray[np.float64]:
    """Fit the weights of an arm's evidence by logistic regression (Newton's method); 0 for evidence it lacks."""
    table = of_arm(table[table[:, 4] != GONE], arm)
    right, wrong = table[:, 5] == 1, table[:, 4] > 0
    table = table[right | wrong]
    right = table[:, 5] == 1
    groups = np.unique(np.column_stack([table[:, :3], right]), axis=0, return_inverse=True)[1].ravel()
    weight = 100.0 / np.bincount(groups)[groups]
    has = np.array([bool(value) for value in ARMS[arm]])
    evidence = features(table)[:, has]
    found = np.zeros(evidence.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-evidence @ found))
        slope = evidence.T @ (weight * (p - right)) + 1e-3 * found
        bend = (evidence * (weight * p * (1 - p))[:, None]).T @ evidence + 1e-3 * np.eye(len(found))
        found -= np.linalg.solve(bend, slope)
    weights = np.zeros(len(has))
    weights[has] = found
    return weights


def best_hits(table: NDArray[np.float64], odds: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the greatest probability of a question's hits, by kind; for answered ones only if the answer was found."""
    case = np.unique(table[:, :4], axis=0, return_inverse=True)[1].ravel()
    best, kind, found = (np.full(case.max() + 1, least) for least in (-np.inf, 0.0, 0.0))
    np.maximum.at(best, case, odds)
    np.maximum.at(found, case, table[:, 5])
    kind[case] = table[:, 4]
    p = 1 / (1 + np.exp(-best))
    return {name: p[(kind == i) & ((found == 1) | (i > 0))] for i, name in enumerate(KINDS)}


def judged_tiers(best: dict[str, NDArray[np.float64]]) -> dict[str, dict[str, float]]:
    """Return for each tier the fraction of each kind of questions that reach it, and precision."""
    report = {}
    for tier, least in relevance.BOUNDS.items():
        shares = {kind: float((p >= least).mean()) for kind, p in best.items() if len(p)}
        recall, noise = shares["answered"], shares["other scope"]
        report[tier] = {**shares, "precision": recall / (recall + noise) if recall + noise else 1.0}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of judged sets; default: SCRUBJAY_DATA")
    parser.add_argument(
        "--fit", action="store_true", help="fit again, each set judged by weights fitted without it"
    )
    parser.add_argument("--quick", action="store_true", help="does it run? two sets, whole scopes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    every = judged_sets(data_folder(arguments.data), SETS[:2] if arguments.quick else SETS)
    sizes = SIZES[:1] if arguments.quick else SIZES
    table = np.array(
        [
            row
            for place, judged in enumerate(every)
            for size in sizes
            for row in rows_of(judged, every, place, size)
        ]
    ).astype(np.float64)
    report: dict[str, Any] = {}
    whole = table
    for arm, constants in ARMS.items():
        table = of_arm(whole, arm)
        weights = fitted(table, arm) if arguments.fit else np.array(constants)
        by_set = {}
        every_odds = np.zeros(len(table))
        for place, judged in enumerate(every):
            own = table[:, 0] == place
            using = fitted(table[~own], arm) if arguments.fit else weights
            every_odds[own] = features(table[own]) @ using
            by_set[judged.name] = judged_tiers(best_hits(table[own], every_odds[own]))
        by_size = {
            str(size or "whole"): judged_tiers(best_hits(table[own], every_odds[own]))
            for size in sizes
            for own in [table[:, 1] == size]
        }
        all_of = judged_tiers(best_hits(table, every_odds))
        report[arm] = {"weights": weights.tolist(), "all": all_of, "by set": by_set, "by size": by_size}
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for arm, said in report.items():
        print(f"\n{arm}: weights {', '.join(f'{weight:.3f}' for weight in said['weights'])}")
        columns = ("answered", "other scope", "nonsense", "answer gone", "precision")
        print(f"{'':<20}{'tier':<10}" + "".join(f"{name:>14}" for name in columns))
        for name, tiers in {"all": said["all"], **said["by size"], **said["by set"]}.items():
            for tier, shares in tiers.items():
                print(
                    f"{name:<20}{tier:<10}"
                    + "".join(f"{shares.get(one, float('nan')):>14.3f}" for one in columns)
                )


if __name__ == "__main__":
    main()
