"""`scrubjay check`, `compact`, `freeze`, `backup` and `export`: maintenance of an index in a file or database."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptDataWarning
from scrubjay.cli.options import iso
from scrubjay.cli.outputs import check_output, file_or_output, open_index, shown_place, written
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import clean
from scrubjay.index import Admin, Index
from scrubjay.store.postgres.address import is_address


def run_check(arguments: argparse.Namespace) -> int:
    """Run `scrubjay check`; 0: no problem, 1: problems (with --repair: repaired), 3: rows were left out."""
    start = time.perf_counter()
    if arguments.repair:
        return _repair(arguments, start)
    with open_index(arguments.index) as index:
        members = [index, *(index.collection(name) for name in index.admin.collections())]
        reports = {member.name: member.admin.check(progress=_bar(arguments)) for member in members}
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


def _repair(arguments: argparse.Namespace, start: float) -> int:
    """Repair the file; 0: no problem, 1: repaired completely, 3: rows were left out."""
    _need_file(arguments.index)
    report = Admin.repair(arguments.index)
    facts: dict[str, object] = {
        "changed": report.changed,
        "rows": sum(report.rows.values()),
        "damaged": None if report.damaged is None else str(report.damaged),
        "set_aside": None if report.set_aside is None else str(report.set_aside),
        "mended": report.mended,
        "left_out": report.left_out,
        "problems": report.problems,
    }
    _say(arguments, facts, time.perf_counter() - start)
    return 3 if report.left_out else 1 if report.changed else 0


def run_compact(arguments: argparse.Namespace) -> int:
    """Run `scrubjay compact`; return its exit code."""
    start = time.perf_counter()
    with open_index(arguments.index, writes=True) as index:
        before = _size(arguments.index, index)
        index.admin.compact(progress=_bar(arguments))
        after = _size(arguments.index, index)
    after = after if is_address(arguments.index) else Path(arguments.index).stat().st_size
    _say(arguments, {"bytes_before": before, "bytes_after": after}, time.perf_counter() - start)
    return 0


def run_freeze(arguments: argparse.Namespace) -> int:
    """Run `scrubjay freeze`; return its exit code."""
    start = time.perf_counter()
    if not is_address(arguments.index):
        raise InputError(
            f"{arguments.index}: expected an index in a database, postgresql://..., to freeze scopes of"
        )
    within = None
    if arguments.tenant is not None:
        within = Scope(arguments.tenant, arguments.user, arguments.agent)
    elif arguments.user is not None or arguments.agent is not None:
        raise InputError("--tenant: expected with --user and --agent")
    with open_index(arguments.index, writes=True) as index:
        members = [index, *(index.collection(name) for name in index.admin.collections())]
        reports = [
            member.admin.freeze(arguments.older_than, within=within, progress=_bar(arguments))
            for member in members
        ]
    facts: dict[str, object] = {
        "scopes": sum(report.scopes for report in reports),
        "memories": sum(report.documents for report in reports),
        "bytes": sum(report.n_bytes for report in reports),
    }
    _say(arguments, facts, time.perf_counter() - start)
    return 0


def run_backup(arguments: argparse.Namespace) -> int:
    """Run `scrubjay backup`; return its exit code."""
    start = time.perf_counter()
    _need_target(arguments)
    check_output(arguments.target, force=arguments.force, reads=[arguments.index])
    with open_index(arguments.index) as index:
        n_bytes = index.admin.backup(arguments.target, replace=arguments.force, progress=_bar(arguments))
    _say(arguments, {"bytes": n_bytes, "to": arguments.target}, time.perf_counter() - start)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Run `scrubjay export`; 0 if everything was written, 3 if damaged memories were left out."""
    start = time.perf_counter()
    check_output(arguments.target, force=arguments.force, reads=[arguments.index])
    left_out: list[str] = []
    if arguments.tenant is not None or arguments.user is not None or arguments.agent is not None:
        return _export_scope(arguments, start)
    if arguments.salvage:
        _need_file(arguments.index)
        _need_target(arguments)
        report = Admin.salvage(arguments.index, arguments.target, replace=arguments.force)
        n_written, left_out = report.memories, report.left_out
        files: list[object] = [str(file) for file in report.files]
    else:
        with warnings.catch_warnings(record=True) as caught, open_index(arguments.index) as index:
            warnings.simplefilter("always", CorruptDataWarning)
            with file_or_output(arguments.target) as target:
                n_written = index.admin.export(target, replace=arguments.force, progress=_bar(arguments))
        for warning in caught:
            if isinstance(warning.message, CorruptDataWarning):
                left_out += warning.message.damaged
        files = [arguments.target]
    facts: dict[str, object] = {"memories": n_written, "to": arguments.target, "left_out": left_out}
    if arguments.salvage:
        facts["files"] = files
    _say(arguments, facts, time.perf_counter() - start)
    return 3 if left_out else 0


def _size(name: str, index: Index) -> int:
    return int(index.admin.stats()["file_bytes"] or 0) if is_address(name) else Path(name).stat().st_size


def _export_scope(arguments: argparse.Namespace, start: float) -> int:
    """Write the memories within a scope as JSON Lines, without vectors, which `scrubjay add` and `import` read."""
    if arguments.tenant is None or arguments.salvage:
        raise InputError("--user, --agent: expected a --tenant with them, and no --salvage")
    within = Scope(arguments.tenant, arguments.user, arguments.agent)
    n_written = 0
    with open_index(arguments.index) as index, written(arguments.target, force=arguments.force) as file:
        for scope in index.scopes(within):
            cursor = None
            while True:
                page = index.scroll(scope=scope, exact=True, limit=1000, cursor=cursor)
                for record in page:
                    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
                    times = {"created_at": record.created_at, "expires_at": record.expires_at}
                    row: dict[str, Any] = {"id": record.id, "text": record.text, **names}
                    row |= {name: getattr(record, name) for name in ("context", "passages")}
                    row["metadata"] = record.metadata or None
                    row |= {name: iso(time) for name, time in times.items()}
                    values = {name: value for name, value in row.items() if value is not None}
                    file.write(json.dumps(values, ensure_ascii=False) + "\n")
                    n_written += 1
                cursor = page.cursor
                if cursor is None:
                    break
    _say(arguments, {"memories": n_written, "to": arguments.target}, time.perf_counter() - start)
    return 0


def _need_file(path: str) -> None:
    if is_address(path):
        raise InputError(f"{shown_place(path)}: expected a file, a database has tools of its own for this")
    if not Path(path).is_file():  # opening would create it
        raise InputError(f"{path}: no such file")


def _need_target(arguments: argparse.Namespace) -> None:
    if arguments.target == "-":
        raise InputError("TARGET: expected the name of a file, got '-', standard output")


def _bar(arguments: argparse.Namespace) -> bool | None:
    return False if arguments.no_progress else None


_LISTED = {"problems": "problem", "left_out": "left out", "files": "file"}


def _say(arguments: argparse.Namespace, facts: dict[str, object], seconds: float) -> None:
    # with output on standard output, messages go to standard error
    out = sys.stderr if getattr(arguments, "target", None) == "-" else sys.stdout
    if arguments.json:
        print(json.dumps({**facts, "seconds": round(seconds, 3)}, ensure_ascii=False, indent=2), file=out)
        return
    for name, value in facts.items():
        if isinstance(value, list):
            label = _LISTED.get(name, name)
            for item in value:
                print(f"{label}: {clean(str(item))}", file=out)
            continue
        text = f"{value:,}" if isinstance(value, int) else value
        print(f"{name.replace('_', ' '):<14}{text}", file=out)
    print(f"{'seconds':<14}{seconds:.2f}", file=out)
