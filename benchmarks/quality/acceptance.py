"""The default ranking against its better arm and rank fusion, on every judged set, with both kinds of vectors.

    python -m benchmarks.quality.acceptance [--data DIR] [--set NAME ...] [--json FILE]

For each set and model: nDCG@10, recall@10 and recall@100 of both arms, RRF(10), RRF(60) and the default, with and
without dates of the question, by the public search of the engine. The time of a question is that of the set, or else
that of its scope's last memory. SHORT: the default is more than .002 below the best of the others in nDCG@10 or
recall@10, or more than .005 below RRF(60) in recall@100. Exit code 1 if any is.

The vectors of `typo_dev` are of the texts with their errors. An index that embeds its questions embeds the corrected
text instead, so below the table are the mean nDCG@10 of the questions without their errors, with the vector of the
typed text, and with that of the corrected text: where the correction restores the original, its vector.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality import metrics
from benchmarks.quality.judged import VECTOR_SETS, JudgedSet, Query, data_folder, judged_sets
from benchmarks.quality.rankers import asked_then, native_engine, native_scope

SETS = (
    "locomo_dev", "lme_user_dev", "ident_dev", "techcodes", "scifact_dev",
    "beam_dev", "realtalk_dev", "typo_dev", "dated_dev", "multilingual_dev",
)  # fmt: skip
DEPTH = 100
MOST_BELOW = {"ndcg@10": 0.002, "recall@10": 0.002, "recall@100": 0.005}


def asked() -> dict[str, Any]:
    """Return the compared searches; the last one is the default."""
    from scrubjay import RRF
    from scrubjay import Query as Asked

    plain = {"identifier_tier": False, "dates": False, "neighbours": False, "candidates": DEPTH}
    return {
        "lexical": Asked(mode="lexical"),
        "vector": Asked(mode="vector"),
        "RRF(10)": Asked(RRF(10), **plain),
        "RRF(60)": Asked(RRF(60), **plain),
        "no dates": Asked(dates=False),
        "no signals": Asked(dates=False, neighbours=False),
        "default": Asked(),
    }


def figures(judged: JudgedSet, model: str) -> dict[str, dict[str, float]]:
    """Return means over the judged queries, by search."""
    engine, vectors = native_engine(judged, model), judged.query_vectors(model)
    sums = {name: dict.fromkeys(MOST_BELOW, 0.0) for name in asked()}
    for name, query in asked().items():
        for one in judged.queries:
            scope = native_scope(one.scope)
            found = list(
                engine.search(
                    one.text, vector=vectors[one.row], scope=scope, k=DEPTH, query=asked_then(query, one)
                ).ids
            )
            sums[name]["ndcg@10"] += metrics.ndcg(found[:10], one.relevant)
            sums[name]["recall@10"] += metrics.recall(found[:10], one.relevant)
            sums[name]["recall@100"] += len(one.relevant & set(found)) / len(one.relevant)
    n = len(judged.queries)
    return {name: {what: total / n for what, total in each.items()} for name, each in sums.items()}


def short_by(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the default's figures minus the required ones; values below -MOST_BELOW fall short."""
    others = [each for name, each in found.items() if name != "default"]
    held_to = {what: max(each[what] for each in others) for what in ("ndcg@10", "recall@10")}
    held_to["recall@100"] = found["RRF(60)"]["recall@100"]
    return {what: found["default"][what] - least for what, least in held_to.items()}


def typing_errors(judged: JudgedSet, undamaged: JudgedSet, model: str) -> dict[str, float]:
    """Return nDCG@10 of the default for the same questions without and with an error."""
    engine = native_engine(judged, model)
    vectors, undamaged_vectors = judged.query_vectors(model), undamaged.query_vectors(model)
    rows = {query.text: query.row for query in undamaged.queries}
    originals = judged.originals()
    sums = dict.fromkeys(("undamaged", "vector of what was typed", "vector of what was read"), 0.0)
    for one in judged.queries:
        original = originals[one.id]
        asked_at = asked_then(asked()["default"], one)

        def found(text: str, vector: Any, asked_at: Any = asked_at, one: Query = one) -> Any:
            return engine.search(text, vector=vector, scope=native_scope(one.scope), k=10, query=asked_at)

        typed = found(one.text, vectors[one.row])
        is_original = typed.corrected(one.text) == original
        read = found(one.text, undamaged_vectors[rows[original]]) if is_original else typed
        results = (found(original, undamaged_vectors[rows[original]]), typed, read)
        for name, result in zip(sums, results, strict=True):
            sums[name] += metrics.ndcg(list(result.ids), one.relevant)
    return {name: total / len(judged.queries) for name, total in sums.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.acceptance", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="only this set")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), tuple(options.sets or SETS))
    if not sets:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2
    report, n_short = {}, 0
    print(f"{'nDCG@10 / recall@10 / recall@100':32}" + "".join(f"{name:>19}" for name in asked()))
    for judged in sets:
        for model in VECTOR_SETS:
            found = report[f"{judged.name}, {model}"] = figures(judged, model)
            below = [what for what, by in short_by(found).items() if by < -MOST_BELOW[what]]
            n_short += bool(below)
            cells = "".join(
                "  " + "/".join(f"{value:.3f}" for value in each.values()) for each in found.values()
            )
            print(
                f"{judged.name + ', ' + model:32}{cells}" + (f"  SHORT {', '.join(below)}" if below else "")
            )
    print(f"{n_short} of {len(report)} short")
    for judged in sets:
        if judged.name != "typo_dev" or not (undamaged := judged_sets(judged.folder.parent, ("locomo_dev",))):
            continue
        for model in VECTOR_SETS:
            means = typing_errors(judged, undamaged[0], model)
            print(
                f"typing errors, {model}: "
                + ", ".join(f"{name} {value:.4f}" for name, value in means.items())
            )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if n_short else 0


if __name__ == "__main__":
    sys.exit(main())
