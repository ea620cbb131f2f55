"""`scrubjay check`, `compact`, `backup` and `export`: the care of an index in a file."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from scrubjay.cli.readers import InputError
from scrubjay.index import Index

__all__ = ["run_backup", "run_check", "run_compact", "run_export"]


def run_check(arguments: argparse.Namespace) -> int:
    """Run `scrubjay check`; 0 if nothing is wrong, 1 if something is."""
    start = time.perf_counter()
    with _open(arguments) as index:
        members = [index, *(index.collection(name) for name in index.collections())]
        reports = {member.name: member.check(progress=_bar(arguments)) for member in members}
    facts = {
        "documents": sum(report.documents for report in reports.values()),
        "partitions": sum(report.partitions for report in reports.values()),
        "images": sum(report.images for report in reports.values()),
    }
    problems = [
        f"collection {name!r}: {problem}" if name else problem
        for name, report in reports.items()
        for problem in report.problems
    ]
    _say(arguments, {**facts, "problems": problems}, time.perf_counter() - start)
    return 1 if problems else 0


def run_compact(arguments: argparse.Namespace) -> int:
    """Run `scrubjay compact`; return its exit code."""
    start = time.perf_counter()
    before = Path(arguments.index).stat().st_size if Path(arguments.index).is_file() else 0
    with _open(arguments) as index:
        index.compact(progress=_bar(arguments))
    after = Path(arguments.index).stat().st_size
    _say(arguments, {"bytes_before": before, "bytes_after": after}, time.perf_counter() - start)
    return 0


def run_backup(arguments: argparse.Namespace) -> int:
    """Run `scrubjay backup`; return its exit code."""
    start = time.perf_counter()
    with _open(arguments) as index:
        n_bytes = index.backup(arguments.target, progress=_bar(arguments))
    _say(arguments, {"bytes": n_bytes, "to": arguments.target}, time.perf_counter() - start)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Run `scrubjay export`; return its exit code."""
    start = time.perf_counter()
    with _open(arguments) as index:
        n_written = index.export(arguments.target, progress=_bar(arguments))
    _say(arguments, {"memories": n_written, "to": arguments.target}, time.perf_counter() - start)
    return 0


def _open(arguments: argparse.Namespace) -> Index:
    if not Path(arguments.index).is_file():  # opening would make one
        raise InputError(f"{arguments.index}: no such file")
    return Index.open(arguments.index)


def _bar(arguments: argparse.Namespace) -> bool | None:
    return False if arguments.no_progress else None


def _say(arguments: argparse.Namespace, facts: dict[str, object], seconds: float) -> None:
    if arguments.json:
        print(json.dumps({**facts, "seconds": round(seconds, 3)}, ensure_ascii=False, indent=2))
        return
    for name, value in facts.items():
        if isinstance(value, list):
            for problem in value:
                print(f"problem: {problem}")
            continue
        print(f"{name.replace('_', ' '):<14}{value:,}" if isinstance(value, int) else f"{name:<14}{value}")
    print(f"{'seconds':<14}{seconds:.2f}")
