"""What a newcomer waits for: installation, size, import, first hybrid result, a file from the command line.

    python -m benchmarks.first_minutes dist/scrubjay-....whl [--embedder] [--package chromadb --module chromadb]

installs into a fresh virtual environment, with nothing else in PATH (so no compiler), and prints seconds of wall clock
and of CPU, distributions, megabytes, and whether the steps of the tutorial worked, with the embedder of the package.
With --embedder the default embedder's data is installed as well, and that embedder is used. With --package another
project is installed instead of a wheel, and only installed and imported. docs/first-minutes.md has the table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMPORT = """
import json, resource, sys, time
before = time.process_time()
import numpy
between = time.process_time()
import {module}
after = time.process_time()
print(json.dumps({{"numpy_ms": 1e3 * (between - before), "module_ms": 1e3 * (after - between),
                  "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""
SIZES = """
import importlib.metadata as m, json, os
names = sorted(d.name for d in m.distributions() if d.name not in ("pip", "setuptools"))
size = sum(os.path.getsize(f.locate()) for d in m.distributions() if d.name in names for f in d.files or ()
           if f.suffix != ".pyc" and os.path.exists(f.locate()))
print(json.dumps({"packages": names, "mb": size / 1e6}))
"""
FIRST = """
import scrubjay
index = scrubjay.Index("auto")
jane = index.scope("acme", user="jane")
jane.upsert("m1", "Drinks only decaf after lunch, otherwise she lies awake.")
hits = jane.search("trouble sleeping")
assert hits[0].id == "m1" and hits.mode == "hybrid"
"""


class Home:
    """A fresh virtual environment, and commands in it with nothing else in PATH."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self.bin = folder / "bin"
        kept = {name: os.environ[name] for name in ("HOME", "SSL_CERT_FILE", "TMPDIR") if name in os.environ}
        self.environment = {**kept, "PATH": str(self.bin), "PYTHONUTF8": "1"}

    def run(self, *words: str | Path, cwd: Path | None = None) -> tuple[str, float, float]:
        """Run a command; return its output, and seconds of wall clock and of CPU. RuntimeError if it fails."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        outcome = subprocess.run(
            [str(word) for word in words],
            env=self.environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if outcome.returncode != 0:
            raise RuntimeError(f"{words}: {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return outcome.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(wanted: str, module: str, folder: Path, *, ours: bool, embedder: bool) -> dict[str, Any]:
    """Install the package and run the steps."""
    home = Home(folder / "venv")
    python = home.bin / "python"
    found: dict[str, Any] = {"wanted": Path(wanted).name}
    pip = [python, "-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"]
    _, found["install_wall_s"], found["install_cpu_s"] = home.run(*pip, wanted)
    if embedder:
        home.run(python, ROOT / "tests" / "long" / "platforms" / "weights.py")
    found |= json.loads(home.run(python, "-c", SIZES)[0])
    imports = [json.loads(home.run(python, "-c", IMPORT.format(module=module))[0]) for _ in range(6)][1:]
    found |= {name: sorted(one[name] for one in imports)[2] for name in imports[0]}
    if ours:
        (folder / "notes").mkdir()
        (folder / "notes" / "jane.md").write_text("Jane's staging key is sk-stg-0041.\n")
        file = folder / "memories.scrubjay"
        _, found["add_wall_s"], found["add_cpu_s"] = home.run(
            home.bin / "scrubjay", "add", file, folder / "notes", "--tenant", "acme"
        )
        said, found["search_wall_s"], found["search_cpu_s"] = home.run(
            home.bin / "scrubjay", "search", "staging key", file, "--json", "--tenant", "acme"
        )
        found["file_from_the_command_line"] = json.loads(said)["hits"][0]["text"]
        _, found["first_result_wall_s"], found["first_result_cpu_s"] = home.run(python, "-c", FIRST)
        _, found["demo_wall_s"], found["demo_cpu_s"] = home.run(home.bin / "scrubjay", "demo")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", nargs="?", help="our wheel")
    parser.add_argument("--embedder", action="store_true", help="with the default embedder's data")
    parser.add_argument("--package", help="another project, as pip takes it, in place of the wheel")
    parser.add_argument("--module", help="what it is imported as")
    arguments = parser.parse_args()
    if (arguments.wheel is None) == (arguments.package is None):
        parser.error("expected a wheel or --package")
    folder = Path(tempfile.mkdtemp(prefix="first-minutes-"))
    try:
        found = measure(
            arguments.package or str(Path(arguments.wheel).resolve()),
            arguments.module or "scrubjay",
            folder,
            ours=arguments.package is None,
            embedder=arguments.embedder,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({**found, "load": os.getloadavg()[0]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
