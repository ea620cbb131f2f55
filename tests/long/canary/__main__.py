"""Tests each adapter with the newest release and the newest pre-release of its framework, in a separate environment.

    python -m tests.long.canary [--json] [--list] [--no-pre] [--keep DIR] [--wheel FILE] [NAME...]

For each adapter a fresh virtual environment gets Scrubjay (the wheel, or else this source tree, whose native module
must be built for this Python), the framework from the package index, and the requirements of the adapter's tests; then
the tests run. A row names the installed versions and the number of passed tests. A failure here affects users who
install today; one of a pre-release affects them soon.

Exit code 1 if a released framework breaks an adapter. A pre-release that does is reported, but is not a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.long.children import ROOT, run_pytest

USUAL = ("pytest", "pytest-asyncio", "hypothesis", "cryptography")


@dataclass(frozen=True)
class Canary:
    """The distribution of a framework, the tests of its adapter, and the other packages that they need."""

    distribution: str
    tests: tuple[str, ...]
    needs: tuple[str, ...] = ()


NEEDS = {
    "langgraph": ("langchain-core",),
    "langchain": ("langchain-tests",),
    "txtai": ("torch", "wordllama"),
    "service": ("uvicorn", "prometheus-client", "httpx2", "schemathesis"),
}
"""Adapter -> packages that its tests need besides the framework."""

EXTRAS = {"service": "serve"}
"""Adapter -> its extra, if that has another name."""

WITHOUT_EXTRA = {"hermes": "hermes-agent"}
"""Frameworks that are not extras, because they pin too many packages."""


def canaries(root: Path = ROOT) -> dict[str, Canary]:
    """Return a canary for each adapter: the first distribution of its extra, and the tests that begin with its name.

    >>> canaries()["mem0"].distribution, canaries()["strands"].tests
    ('mem0ai', ('tests/adapters/test_strands.py',))
    """
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    extras = dict(re.findall(r'^([\w-]+) = \["([\w-]+)', project, re.MULTILINE))
    found = {}
    for path in sorted((root / "python" / "scrubjay" / "adapters").iterdir()):
        module = path.stem
        if module.startswith("_") or not (path.suffix == ".py" or (path / "__init__.py").is_file()):
            continue
        name = module.replace("_", "-")
        tests = sorted((root / "tests" / "adapters").glob(f"test_{module}*.py"))
        files = tuple(test.relative_to(root).as_posix() for test in tests)
        distribution = WITHOUT_EXTRA.get(name) or extras[EXTRAS.get(name, name)]
        found[name] = Canary(distribution, files, NEEDS.get(name, ()))
    return found


CANARIES = canaries()


@dataclass
class Row:
    """The result of an adapter with one version. `problem`: a failure before the tests ran, or of the whole run."""

    adapter: str
    framework: str
    pre: bool
    version: str | None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str | None = None

    @property
    def is_sound(self) -> bool:
        """Whether tests ran, and none failed."""
        return self.problem is None and self.failed == 0 and self.passed > 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the canaries and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(CANARIES)}; all unless given"
    )
    parser.add_argument("--json", action="store_true", help="print one object a row")
    parser.add_argument("--list", action="store_true", help="say which adapters there are, and run none")
    parser.add_argument("--no-pre", action="store_true", help="releases only")
    parser.add_argument("--keep", type=Path, help="make the environments in this folder, and keep them")
    parser.add_argument("--wheel", type=Path, help="a wheel of Scrubjay in the place of this source tree")
    arguments = parser.parse_args(argv)
    names = arguments.names or list(CANARIES)
    unknown = [name for name in names if name not in CANARIES]
    if unknown:
        parser.error(f"expected names of {', '.join(CANARIES)}, got {', '.join(unknown)}")
    if arguments.list:
        print("\n".join(names))
        return 0
    rows = []
    for name in names:
        released: str | None = None
        for pre in (False,) if arguments.no_pre else (False, True):
            row = _row(name, pre, released, arguments.wheel, arguments.keep)
            if row is None:
                continue  # there is no newer pre-release
            released = row.version
            rows.append(row)
            print(json.dumps(asdict(row)) if arguments.json else line(row), flush=True)
    return 1 if any(not row.is_sound and not row.pre for row in rows) else 0


def line(row: Row) -> str:
    """Return a row of the table.

    >>> line(Row("mem0", "mem0ai", False, "2.2.1", passed=129))
    'mem0           mem0ai           release     2.2.1           129 passed'
    """
    said = f"{row.passed} passed"
    if row.failed:
        said += f", {row.failed} FAILED"
    if row.skipped:
        said += f", {row.skipped} skipped"
    if row.problem:
        said += f": {row.problem}"
    kind = "pre-release" if row.pre else "release"
    return f"{row.adapter:14} {row.framework:16} {kind:11} {row.version or '?':15} {said}"


def _row(name: str, pre: bool, released: str | None, wheel: Path | None, keep: Path | None) -> Row | None:
    canary = CANARIES[name]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) if keep is None else keep / f"{name}-{'pre' if pre else 'release'}"
        venv.create(place, with_pip=True, clear=True)
        python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
        row = Row(name, canary.distribution, pre, None)
        own = [str(wheel)] if wheel is not None else ["numpy", "tqdm", "wordllama>=0.4.0.post1,<0.5"]
        problem = _install(python, [*own, *USUAL, *canary.needs, canary.distribution], ())
        if problem is None and pre:  # of the framework alone: its dependencies stay at releases if possible
            problem = _install(python, [canary.distribution], ("--pre", "--upgrade"))
        if problem is not None:
            row.problem = problem
            return row
        row.version = _version(python, canary.distribution)
        if pre and row.version == released:
            return None
        _judge(row, python, canary, wheel is None)
        return row


def _install(python: Path, packages: Sequence[str], options: Sequence[str]) -> str | None:
    """Install packages; return the last error of pip, or None."""
    said = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *options, *packages], capture_output=True, text=True
    )
    if said.returncode == 0:
        return None
    errors = [one for one in said.stderr.splitlines() if "ERROR" in one]
    return f"not installed: {(errors or ['pip failed'])[-1][:200]}"


def _version(python: Path, distribution: str) -> str | None:
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip() or None


def _judge(row: Row, python: Path, canary: Canary, from_source: bool) -> None:
    folders = [ROOT / "python", ROOT] if from_source else [ROOT]
    said = run_pytest(["--tb=line", *canary.tests], folders=folders, python=python)
    read(row, said.stdout, said.returncode)


def read(row: Row, said: str, code: int) -> None:
    """Fill a row from pytest's last line and exit code.

    >>> row = Row("mem0", "mem0ai", False, "2.2.1")
    >>> read(row, "1 failed, 128 passed, 2 skipped in 3.1s", 1)
    >>> row.passed, row.failed, row.skipped, row.problem
    (128, 1, 2, None)
    """
    last = next((one for one in reversed(said.splitlines()) if re.search(r" in [\d.]+s", one)), "")
    counts = {
        word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)", last)
    }
    row.passed = counts.get("passed", 0)
    row.failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    row.skipped = counts.get("skipped", 0)
    if code not in (0, 1):
        row.problem = f"pytest ended with {code}"
    elif not row.passed and not row.failed:
        row.problem = "no test ran: the adapter cannot be imported, or its tests skip this version"


if __name__ == "__main__":
    raise SystemExit(main())
