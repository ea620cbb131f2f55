"""A static embedder beside WordLlama, on every judged set.

    python -m benchmarks.embedder.evaluate [FILE] [--against NAME] [--data DIR] [--set NAME ...] [--json FILE]

FILE is a table (`static:FILE`), by default that of the package. For each set, nDCG@10 and recall@10 of both embedders
by vectors alone and by the default search, question by question; p is that of a two-sided paired randomisation test
with 10,000 sign changes (Smucker et al. 2007). LOSS: the default search is worse than with the other embedder, and
p < .05. Exit code 1 if a set has a loss. Texts are embedded whole.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import metrics
from benchmarks.quality.acceptance import SETS
from benchmarks.quality.judged import JudgedSet, data_folder, judged_sets
from benchmarks.quality.rankers import asked_then, native_scope

DEPTH = 10
ROUNDS, SEED = 10_000, 11
LEAST_P = 0.05
MODES = ("vector", "default")
MEASURES = ("nDCG@10", "recall@10")

Embed = Callable[[list[str]], NDArray[np.float32]]
Outcome = dict[str, NDArray[np.float64]]
"""For each mode: nDCG@10 and recall@10, shape (questions, 2)."""


def outcome(judged: JudgedSet, embed: Embed) -> Outcome:
    """Ask every question of a set."""
    from scrubjay import Query, _native
    from scrubjay.documents import payload

    engine = _native.Engine()
    engine.upsert_many(
        [memory.id for memory in judged.memories],
        [memory.text for memory in judged.memories],
        payloads=[payload.encode(memory.turn, memory.created_at) for memory in judged.memories],
        scope=[native_scope(memory.scope) for memory in judged.memories],
        vectors=[vector if vector.any() else None for vector in embed([one.text for one in judged.memories])],
    )
    vectors = embed([one.text for one in judged.queries])
    found: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    for mode, asked in (("vector", Query(mode="vector", dates=False)), ("default", Query())):
        for one, vector in zip(judged.queries, vectors, strict=True):
            result = engine.search(
                one.text,
                vector=vector if vector.any() else None,
                scope=native_scope(one.scope),
                k=DEPTH,
                query=asked_then(asked, one) if vector.any() else Query(mode="lexical"),
            )
            ids = list(result.ids)
            found[mode].append((metrics.ndcg(ids, one.relevant), metrics.recall(ids, one.relevant)))
    return {mode: np.array(rows) for mode, rows in found.items()}


def p_value(differences: NDArray[np.float64]) -> float:
    """Return how often random signs give a mean difference at least as great."""
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    chance = np.random.default_rng(SEED)
    seen, n_as_great = abs(differences.sum()), 0
    for begin in range(0, ROUNDS, 500):
        signs = chance.integers(0, 2, (min(500, ROUNDS - begin), len(differences)), dtype=np.int8) * 2 - 1
        n_as_great += int((np.abs(signs @ differences) >= seen - 1e-12).sum())
    return (n_as_great + 1) / (ROUNDS + 1)


def compared(own: Outcome, other: Outcome) -> dict[str, Any]:
    """Return the means of both, and the test, by mode and measure."""
    return {
        f"{mode} {measure}": {
            "own": float(own[mode][:, column].mean()),
            "other": float(other[mode][:, column].mean()),
            "p": p_value(own[mode][:, column] - other[mode][:, column]),
        }
        for mode in MODES
        for column, measure in enumerate(MEASURES)
    }


def losses(rows: dict[str, Any]) -> list[str]:
    """Return the measures that are significantly worse by the default search."""
    return [
        measure
        for measure in MEASURES
        if (row := rows[f"default {measure}"])["own"] < row["other"] and row["p"] < LEAST_P
    ]


def main(arguments: list[str] | None = None) -> int:
    from scrubjay.embedders import as_embedder

    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder.evaluate", description=__doc__)
    parser.add_argument(
        "file", type=Path, nargs="?", help="the table of the static embedder; by default the package's"
    )
    parser.add_argument("--against", default="default", help="the embedder that it is compared with, by name")
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="only this set")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), tuple(options.sets or SETS))
    if not sets:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2
    own, other = (
        as_embedder("static" if options.file is None else f"static:{options.file}"),
        as_embedder(options.against),
    )
    if own is None or other is None:
        parser.error("--against: expected an embedder")
    print(f"{own.name} beside {other.name}; own/other (p)")
    report, n_lost = {}, 0
    for judged in sets:
        rows = compared(outcome(judged, own.embed_documents), outcome(judged, other.embed_documents))
        report[judged.name] = rows
        lost = losses(rows)
        n_lost += bool(lost)
        cells = "".join(
            f"  {what} {row['own']:.3f}/{row['other']:.3f} ({row['p']:.3f})" for what, row in rows.items()
        )
        print(f"{judged.name:18}{cells}" + (f"  LOSS {', '.join(lost)}" if lost else ""), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if n_lost else 0


if __name__ == "__main__":
    sys.exit(main())
