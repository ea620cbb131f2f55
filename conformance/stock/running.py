"""Runs the checks against the stores of the catalogue, each in its virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conformance.stock.catalogue import Store

from memory_store_conformance import Report, all_checks

__all__ = ["merged", "run"]

STOCK = Path(__file__).parent
CONFORMANCE = STOCK.parent
ROOT = CONFORMANCE.parent
RESULTS = STOCK / "results"

# No store may send telemetry during a test.
_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "TELEMETRY_DISABLED": "1",
}


def run(store: Store, environments: Path, python: str, install: bool, only: Sequence[str] = ()) -> int:
    """Write the report of a store to results/NAME.json; return the exit code of the command.

    Args:
        store: an entry of the catalogue.
        environments: the folder of the virtual environments.
        python: the interpreter for a new environment. LangGraph's SqliteStore needs a sqlite3 that loads extensions.
        install: whether to install the packages; otherwise the environment must have them.
        only: checks to run again; recorded results of the others are kept. Empty: all checks.
    """
    environment = environments / store.environment
    interpreter = environment / "bin" / "python"
    if install:
        if not interpreter.exists():
            subprocess.run([python, "-m", "venv", str(environment)], check=True)
        ours = [str(ROOT)] if store.ours else []
        packages = [str(CONFORMANCE), *store.packages.split(), *ours]
        subprocess.run([str(interpreter), "-m", "pip", "install", "-q", *packages], check=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{store.name}.json"
    named = [*store.packages.split(), *(["scrubjay"] if store.ours else [])]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [str(interpreter), "-m", "memory_store_conformance", "run", str(STOCK / store.factory)]
        command += ["--name", store.name, "--json", str(file), "--package", *named]
        command += ["--only", *only] if only else []
        done = subprocess.run(
            command, env={**os.environ, **_QUIET}, stdout=subprocess.DEVNULL, stderr=sys.stderr
        )
        if file.exists():
            report = _read(file)
            merged_report = merged(_read(path), report) if only else report
            path.write_text(merged_report.to_json() + "\n", encoding="utf-8")
    return done.returncode


def merged(before: Report, report: Report) -> Report:
    """Return the results of `report`, completed by those of `before` for the checks that it lacks.

    Raises:
        ValueError: the reports are of different versions.
    """
    if before.about != report.about:
        raise ValueError(f"only: expected a run with {before.about}, got one with {report.about}")
    results = {result.id: result for result in (*before.results, *report.results)}
    ids = [check.id for check in all_checks()]
    return replace(report, results=[results[id] for id in ids if id in results])


def _read(file: Path) -> Report:
    return Report.from_json(file.read_text(encoding="utf-8"))
