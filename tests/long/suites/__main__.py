"""Runs the backend test suites of other projects, and prints a table of the results.

    python -m tests.long.suites [--json] [--list] [NAME...]

LangGraph's store tests come from the newest source distributions of langgraph-checkpoint, -sqlite and -postgres; pip
downloads them into a temporary folder. langchain-tests and haystack.testing are packages. Needs the extra
`test-adapters`, and for LangGraph's: hatchling, pytest-mock, langgraph-checkpoint-sqlite,
langgraph-checkpoint-postgres, psycopg[binary]. A test that fails for a known reason is
listed with it; any other one is a failure.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.long.children import ROOT, run_pytest

_SQL = "looks at rows or connections by SQL"
_ON_LOOP = "wants sync methods to raise on an event loop; here they may be called"
_KEYS = "wants keys of filters with SQL in them refused; here they are keys like others"
_REFRESH = "reads without refresh_ttl=False, which starts the time to live again, and wants it not to"


@dataclass(frozen=True)
class Suite:
    """The tests of a suite, and the known failures: a part of a test's id -> the reason."""

    tests: tuple[str, ...]
    distribution: str | None = None  # from PyPI; None: a test file here runs the suite's classes
    known: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


SUITES = {
    "checkpoint": Suite(("tests/test_store.py",), "langgraph-checkpoint"),
    "sqlite": Suite(
        ("tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"),
        "langgraph-checkpoint-sqlite",
        {
            "test_vector_store_initialization": _SQL,
            "test_sql_injection_vulnerability": _KEYS,
            "test_no_running_loop": _ON_LOOP,
            "override_default": _REFRESH,
        },
    ),
    "postgres": Suite(
        ("tests/test_store.py", "tests/test_async_store.py"),
        "langgraph-checkpoint-postgres",
        {"omit_expired": _SQL, "test_no_running_loop": _ON_LOOP},
        # Async tests of connection pools, and of large batches, wait for a server.
        ("-k", "not large_batches and not (test_async_store and pool)"),
    ),
    "langchain": Suite(("tests/adapters/test_langchain_suite.py",)),
    "haystack": Suite(("tests/adapters/test_haystack_suite.py",)),
}


@dataclass
class Result:
    """The result of one suite. `unexpected` are the ids of tests that failed without a known reason."""

    suite: str
    source: str
    passed: int
    skipped: int
    known: dict[str, str]
    unexpected: list[str]

    @property
    def total(self) -> int:
        return self.passed + self.skipped + len(self.known) + len(self.unexpected)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named suites; return 1 if a test failed without a known reason."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SUITES)}; all unless given")
    parser.add_argument("--json", action="store_true", help="print one object for each suite")
    parser.add_argument("--list", action="store_true", help="say which suites there are, and run none")
    arguments = parser.parse_args(argv)
    names = arguments.names or list(SUITES)
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        parser.error(f"expected names of {', '.join(SUITES)}, got {', '.join(unknown)}")
    if arguments.list:
        print("\n".join(names))
        return 0
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            results.append(_run(name, SUITES[name], Path(folder)))
        if arguments.json:
            print(json.dumps(asdict(results[-1])))
        else:
            _print(results[-1])
    return 1 if any(result.unexpected or not result.passed for result in results) else 0


def _run(name: str, suite: Suite, folder: Path) -> Result:
    where, source, folders = ROOT, "tests/adapters", [ROOT / "python", ROOT]
    options: list[str] = []
    if suite.distribution is not None:
        where = _unpacked(suite.distribution, folder)
        source = where.name
        plugin = folder / "plugin"
        plugin.mkdir()
        (plugin / "langgraph_plugin.py").write_text(
            (Path(__file__).parent / "langgraph_plugin.py").read_text(encoding="utf-8"), encoding="utf-8"
        )
        # Not this repository's root, whose package `tests` would hide that of the suite.
        folders = [ROOT / "python", plugin]
        options = ["-p", "langgraph_plugin", "-o", "asyncio_mode=auto", "-o", "addopts="]
    said = run_pytest(
        ["-rA", "--tb=no", *options, *suite.options, *suite.tests],
        folders=folders,
        cwd=where,
        variables={"SCRUBJAY_SUITE": name},
    )
    return read(name, source, suite, said.stdout)


def read(name: str, source: str, suite: Suite, said: str) -> Result:
    """Return the result that pytest printed with `-rA`.

    >>> said = "PASSED a.py::one\\nFAILED a.py::two[pool] - AssertionError\\nSKIPPED [2] b.py:1: no\\n"
    >>> result = read("s", "s-1", Suite((), known={"two": "why"}), said)
    >>> result.passed, result.skipped, result.known, result.unexpected
    (1, 2, {'a.py::two[pool]': 'why'}, [])
    """
    lines = said.splitlines()
    failed = [line.split(" ", 1)[1].split(" - ")[0] for line in lines if re.match(r"(FAILED|ERROR) \S", line)]
    known, unexpected = {}, []
    for test in dict.fromkeys(failed):
        reason = next((why for part, why in suite.known.items() if part in test), None)
        if reason is None:
            unexpected.append(test)
        else:
            known[test] = reason
    skipped = sum(int(found[1]) for line in lines if (found := re.match(r"SKIPPED \[(\d+)\]", line)))
    return Result(name, source, sum(line.startswith("PASSED ") for line in lines), skipped, known, unexpected)


def _unpacked(distribution: str, folder: Path) -> Path:
    """Download a source distribution, and rename its packages, so that the installed ones are imported."""
    # fmt: off
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--no-build-isolation", "--dest", str(folder), distribution], check=True,
    )
    # fmt: on
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):  # since Python 3.10.12 and 3.11.4
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    (unpacked / "langgraph").rename(unpacked / "not-imported")
    return unpacked


def _print(result: Result) -> None:
    print(f"{result.suite:12} {result.source:40} {result.passed} / {result.total} passed")
    if result.skipped:
        print(f"{'':12} {result.skipped} skipped by the suite")
    reasons: dict[str, list[str]] = {}
    for test, reason in result.known.items():
        reasons.setdefault(reason, []).append(test)
    for reason, tests in reasons.items():
        print(f"{'':12} {len(tests)}: {reason}")
    for test in result.unexpected:
        print(f"{'':12} not passed: {test}")


if __name__ == "__main__":
    raise SystemExit(main())
