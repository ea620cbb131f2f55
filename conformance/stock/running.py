"""Runs the checks against the stores of the catalogue, each in its virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conformance.stock.catalogue import Store

__all__ = ["run"]

STOCK = Path(__file__).parent
CONFORMANCE = STOCK.parent
ROOT = CONFORMANCE.parent
RESULTS = STOCK / "results"

# No store may call home while it is judged.
_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "TELEMETRY_DISABLED": "1",
}


def run(store: Store, environments: Path, python: str, install: bool) -> int:
    """Write the report of a store to results/NAME.json; return the exit code of the command.

    Args:
        store: from the catalogue.
        environments: the folder of the virtual environments.
        python: that makes a new one. LangGraph's SqliteStore needs one whose sqlite3 loads extensions.
        install: whether to install what is needed; without, the environment has it already.
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
    named = [*store.packages.split(), *(["scrubjay"] if store.ours else [])]
    command = [str(interpreter), "-m", "memory_store_conformance", "run", str(STOCK / store.factory)]
    command += ["--name", store.name, "--json", str(RESULTS / f"{store.name}.json"), "--package", *named]
    done = subprocess.run(command, env={**os.environ, **_QUIET}, stdout=subprocess.DEVNULL, stderr=sys.stderr)
    return done.returncode
