"""Recall and nDCG on the judged sets: the native engine, the oracle and the published figures side by side.

    python -m benchmarks.quality [--data DIR] [--set NAME ...] [--json] [--oracle-only]

Exit code 1 if native and oracle differ in the third decimal, or a named identifier is not among the first three.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality import metrics, rankers
from benchmarks.quality.identifiers import REQUIRED_RANK, NamedIdentifier, named_identifiers
from benchmarks.quality.identifiers import SETS as IDENTIFIER_SETS
from benchmarks.quality.judged import SETS, JudgedSet, data_folder, judged_sets
from benchmarks.quality.published import PUBLISHED

Figures = tuple[float, float]


def figures(judged: JudgedSet, rankings: list[list[str]]) -> Figures:
    """Return the mean recall@10 and nDCG@10 over the judged queries."""
    pairs = list(zip(rankings, judged.queries, strict=True))
    n = len(pairs)
    return (
        sum(metrics.recall(ranking, query.relevant) for ranking, query in pairs) / n,
        sum(metrics.ndcg(ranking, query.relevant) for ranking, query in pairs) / n,
    )


def evaluate(
    judged: JudgedSet, *, with_native: bool, with_oracle: bool, progress: rankers.Progress
) -> dict[str, Any]:
    """Evaluate all arms of one set, and its named identifiers."""
    native = rankers.native_rankings(judged, progress) if with_native else None
    oracle = rankers.oracle_rankings(judged, progress) if with_oracle else None
    rows = []
    for name, _, _ in rankers.arms():
        row: dict[str, Any] = {"arm": name, "published": PUBLISHED.get(judged.name, {}).get(name)}
        row["native"] = figures(judged, native[name]) if native else None
        row["oracle"] = figures(judged, oracle[name]) if oracle else None
        rows.append(row)
    report: dict[str, Any] = {
        "set": judged.name,
        "memories": len(judged.memories),
        "queries": len(judged.queries),
        "rows": rows,
    }
    if judged.name in IDENTIFIER_SETS:
        lexical = (native or oracle or {})["lexical"]
        report["identifiers"] = identifier_report(named_identifiers(judged, lexical))
    return report


def identifier_report(named: list[NamedIdentifier]) -> dict[str, Any]:
    return {
        "queries": len(named),
        "first": sum(one.rank == 1 for one in named),
        "first_three": sum(1 <= one.rank <= 3 for one in named),
        "not_first": [one.as_dict() for one in named if one.rank != 1],
    }


def third_decimal(pair: Figures) -> tuple[float, float]:
    return round(pair[0], 3), round(pair[1], 3)


def faults(report: dict[str, Any]) -> list[str]:
    """Return the failures: native differs from oracle, or an identifier is not found."""
    found = [
        f"{report['set']}, {row['arm']}: native {row['native']} but oracle {row['oracle']}"
        for row in report["rows"]
        if row["native"] and row["oracle"] and third_decimal(row["native"]) != third_decimal(row["oracle"])
    ]
    found.extend(
        f"{report['set']}, {one['query']} {one['text']!r}: rank {one['rank']}, {one['reason']}"
        for one in report.get("identifiers", {}).get("not_first", [])
        if not 1 <= one["rank"] <= REQUIRED_RANK
    )
    return found


def print_table(report: dict[str, Any]) -> None:
    print(f"\n{report['set']}: {report['memories']:,} memories, {report['queries']:,} judged queries")
    print(f"{'recall@10 / nDCG@10':26} {'native':>13} {'oracle':>13} {'published':>13} {'difference':>15}")
    for row in report["rows"]:
        mine = row["native"] or row["oracle"]
        cells = [pair_text(row[column]) for column in ("native", "oracle", "published")]
        difference = "-"
        if row["published"] is not None:
            difference = " / ".join(f"{a - b:+.3f}" for a, b in zip(mine, row["published"], strict=True))
        print(f"{row['arm']:26} {cells[0]:>13} {cells[1]:>13} {cells[2]:>13} {difference:>15}")
    if "identifiers" in report:
        print_identifiers(report["identifiers"])


def pair_text(pair: Figures | None) -> str:
    return "-" if pair is None else f"{pair[0]:.3f} / {pair[1]:.3f}"


def print_identifiers(found: dict[str, Any]) -> None:
    print(
        f"queries that name a stored identifier verbatim: {found['queries']}; "
        f"memory first: {found['first']}, among the first three: {found['first_three']}"
    )
    for one in found["not_first"]:
        mark = "exception" if not one["holds"] else "allowed"
        print(
            f"  {mark}: {one['query']} ({one['category']}) {one['text']!r}: rank {one['rank']}; {one['reason']}"
        )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", type=Path, help="folder of the judged sets (default: $SCRUBJAY_DATA or ../shared/data)"
    )
    parser.add_argument(
        "--set", action="append", dest="sets", choices=SETS, help="only this set (may be repeated)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--oracle-only", action="store_true", help="without the native engine")
    parser.add_argument("--native-only", action="store_true", help="without the oracle (fast)")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), tuple(options.sets or SETS))
    if not sets:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2

    def progress(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)

    reports = []
    for judged in sets:
        report = evaluate(
            judged,
            with_native=not options.oracle_only,
            with_oracle=not options.native_only,
            progress=progress,
        )
        progress("")
        reports.append(report)
        if not options.json:
            print_table(report)
    wrong = [fault for report in reports for fault in faults(report)]
    if options.json:
        print(json.dumps({"sets": reports, "faults": wrong}, indent=1))
    else:
        print("\n" + "\n".join(wrong or ["no faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
