"""Regression test by instruction counts: sixteen fixed calls, counted by callgrind, against a stored baseline.

    python -m benchmarks.micro instructions [--check | --update REASON] [--baseline FILE] [--json FILE]

--check: exit code 1 if a count grew by more than 5%; then make the call faster again, or store the new counts with
--update and the reason, which is committed with them. Counts depend on SIMD level, compiler, Python, NumPy and SQLite,
so there is a baseline for each combination; without one, or without valgrind (Debian package `valgrind`), the check
reports that and passes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.micro import instructions

BASELINE = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.05
KEYS = ("simd", "compiler", "python", "numpy", "sqlite")


def surroundings() -> dict[str, str]:
    """Return what counts depend on besides the code."""
    import numpy as np

    import scrubjay

    config = scrubjay.show_config(as_dict=True) or {}
    return {
        "simd": instructions.simd_level(),
        "compiler": str(config["compiler"]),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": ".".join(np.__version__.split(".")[:1]),
        "sqlite": sqlite3.sqlite_version,
    }


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the baselines of a file; empty if it is absent."""
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["baselines"]
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[key] == other[key] for key in KEYS)


def changes(then: dict[str, int], now: dict[str, int]) -> list[tuple[str, int | None, int, bool]]:
    """Return for each call the instructions before (None: new) and now, and whether they grew beyond the tolerance."""
    return [
        (name, then.get(name), count, name in then and count > then[name] * (1 + TOLERANCE))
        for name, count in now.items()
    ]


def update(path: Path, around: dict[str, str], counts: dict[str, int], reason: str) -> None:
    """Store the counts as the baseline of this combination; keep the others."""
    others = [one for one in stored(path) if not same(one, around)]
    baselines = sorted(
        [*others, {**around, "reason": reason, "counts": counts}], key=lambda one: [one[k] for k in KEYS]
    )
    path.write_text(json.dumps({"baselines": baselines}, indent=1) + "\n", encoding="utf-8")


def check(path: Path, around: dict[str, str], counts: dict[str, int]) -> int:
    """Print the comparison; return 1 if a count grew too much."""
    about = ", ".join(f"{key} {around[key]}" for key in KEYS)
    baseline = next((one for one in stored(path) if same(one, around)), None)
    if baseline is None:
        known = "; ".join(", ".join(f"{key} {one[key]}" for key in KEYS) for one in stored(path)) or "none"
        print(f"no baseline for {about} (there is: {known}): passed over; --update REASON stores one")
        return 0
    print(f"instructions a call ({about}); baseline: {baseline['reason']}")
    compared = changes(baseline["counts"], counts)
    for name, then, now, grew in compared:
        before = "new" if then is None else f"{then:,}"
        share = "" if then is None else f" {now / then - 1:+.1%}"
        print(f"  {name:42} {before:>12} -> {now:>12,}{share}{'  GREW' if grew else ''}")
    for name in baseline["counts"].keys() - counts.keys():
        print(f"  {name:42} is no longer counted: update the baseline")
    grown = [name for name, _, _, grew in compared if grew]
    if grown:
        print(f"{len(grown)} grew by more than {TOLERANCE:.0%}: make them faster, or --update with a reason")
    return 1 if grown or baseline["counts"].keys() - counts.keys() else 0


def main(arguments: Sequence[str]) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.micro instructions", description=about)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="exit code 1 if a count grew by more than 5%%")
    what.add_argument("--update", metavar="REASON", help="store the counts as the new baseline")
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    options = parser.parse_args(arguments)
    if options.update is not None and not options.update.strip():
        parser.error("--update: expected a reason, got an empty one")
    counts = instructions.count_cases()
    if counts is None:
        print("no valgrind here: instructions are not counted, passed over")
        return 0
    around = surroundings()
    if options.json:
        report = {"benchmark": "instructions", **around, "counts": counts}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.update is not None:
        update(options.baseline, around, counts, options.update.strip())
    if options.check or options.update is not None:
        return check(options.baseline, around, counts)
    for name, count in counts.items():
        print(f"  {name:42} {count:12,}")
    return 0
