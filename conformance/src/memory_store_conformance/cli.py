"""The command ``memory-store-conformance``."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory_store_conformance.catalogue import all_checks
from memory_store_conformance.factories import load
from memory_store_conformance.registry import LEVELS
from memory_store_conformance.report import Result
from memory_store_conformance.runner import TIME_LIMIT_SECONDS, validate

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit the process, since a hanging store may have left threads."""
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if a check failed, 2 if nothing could be judged."""
    options = _parser().parse_args(arguments)
    if options.command == "list":
        for check in all_checks(options.only):
            needs = f" [needs {', '.join(sorted(check.needs))}]" if check.needs else ""
            print(f"{check.id}{needs}\n  {check.promise}\n  {check.why}")
        return 0
    sys.path.insert(0, "")
    try:
        factory = load(options.factory)
        report = validate(
            factory,
            only=options.only,
            name=options.name or options.factory,
            on_result=None if options.quiet else _progress,
            time_limit=options.time_limit,
        )
        report = replace(report, about=_about(options.package))
    except (ValueError, ImportError) as error:
        print(f"memory-store-conformance: {error}", file=sys.stderr)
        return 2
    if options.json is not None:
        if str(options.json) == "-":
            print(report.to_json())
        else:
            options.json.write_text(report.to_json() + "\n", encoding="utf-8")
    if str(options.json) != "-":
        print(report.table())
    return report.exit_code


def _about(packages: Sequence[str]) -> dict[str, Any]:
    """Return the environment that the figures depend on.

    Raises:
        ImportError: a package is not installed.
    """
    versions = {name: _version(name) for name in packages}
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": versions,
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # importable, but not installed
        return str(importlib.import_module(package).__version__)


def _progress(result: Result) -> None:
    print(f"{result.outcome:>11}  {result.id} ({result.seconds:.1f} s)", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "memory-store-conformance", description="Checks of a memory store of AI agents."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    only = f"levels ({', '.join(LEVELS)}) or ids of checks"
    run = commands.add_parser("run", help="run the checks against a store")
    run.add_argument("factory", help="module:name or file.py:name of a function that opens a store")
    run.add_argument("--only", nargs="+", default=[], metavar="CHECK", help=only)
    run.add_argument(
        "--json", type=Path, metavar="FILE", help="write the report as JSON there; - for standard output"
    )
    run.add_argument("--name", help="of the store in the report")
    run.add_argument(
        "--package", nargs="+", default=[], metavar="NAME", help="whose versions the report names"
    )
    run.add_argument("--quiet", action="store_true", help="print no progress")
    run.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT_SECONDS, metavar="SECONDS", help="of each check"
    )
    list_them = commands.add_parser("list", help="print the checks, what they promise and why")
    list_them.add_argument("--only", nargs="+", default=[], metavar="CHECK", help=only)
    return parser
