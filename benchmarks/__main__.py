"""Measures the figures of README.md and docs/benchmarks.md, and writes a page with the results.

    python -m benchmarks [--out DIR] [--only PART,...] [--quick]
    python -m benchmarks --from DIR/run.json [--out DIR]

Writes DIR/run.json (each part's own report) and DIR/index.html (every claim beside the measurement, with plots by
matplotlib, extra `bench`). All parts take about an hour and a half on a quiet core; --quick is a smoke test, with sizes
that few claims refer to. The page names parts that failed. Exit code 1 if a claim was lost.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import claims_page

PARTS: dict[str, tuple[list[str], list[str]]] = {
    # name -> module and options; further options of a full run or of a quick one follow
    "latency": (["benchmarks.latency"], []),
    "hybrid": (["benchmarks.compare", "hybrid"], []),
    "lexical": (["benchmarks.compare", "lexical"], []),
    "vector": (["benchmarks.compare", "vector"], ["--dims", "256", "--data", "real,clustered"]),
    "stored types": (["benchmarks.stored_vectors"], []),
    "quality": (["benchmarks.quality.acceptance"], []),
    "truth": (["benchmarks.quality.truth"], []),
    "truth-confirmed": (["benchmarks.quality.truth", "--confirmed"], []),
    "calls": (["pytest", "benchmarks", "--benchmark-only", "-q", "-p", "no:cacheprovider"], []),
    "profile": (["benchmarks.micro.profile"], []),
}
QUICK = {"quality": ["--set", "techcodes"], "calls": ["-k", "test_search and 1000 and not 10000"]}


def command_of(part: str, out: Path, *, quick: bool) -> list[str]:
    """Return the command line of a part, which writes its report to `out`."""
    module, full = PARTS[part]
    options = QUICK.get(part, ["--quick"]) if quick else full
    written = [f"--benchmark-json={out}"] if part == "calls" else ["--json", str(out)]
    return [sys.executable, "-m", *module, *options, *written]


def measured(parts: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Return the reports of the parts by name; "failed" has the reasons for missing ones."""
    run: dict[str, Any] = {"failed": {}}
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(parts, start=1):
            print(f"{number} of {len(parts)}: {part}", file=sys.stderr, flush=True)
            out = Path(folder) / f"{part}.json"
            finished = subprocess.run(
                command_of(part, out, quick=quick), capture_output=True, text=True, check=False
            )
            if out.is_file() and out.stat().st_size:
                run[part] = json.loads(out.read_text(encoding="utf-8"))
            else:
                said = (finished.stderr.strip() or finished.stdout.strip()).splitlines()
                run["failed"][part] = said[-1] if said else f"exit code {finished.returncode}"
    return run


def parts_of(text: str) -> list[str]:
    """Parse names of parts, separated by commas."""
    named = text.split(",")
    if unknown := [name for name in named if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(PARTS)}, got {unknown[0]!r}")
    return named


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("report"), metavar="DIR", help="default: report")
    parser.add_argument("--only", type=parts_of, default=list(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="FILE", help="a run.json, instead of measuring"
    )
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.source is None:
        run = measured(options.only, quick=options.quick)
        (options.out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    else:
        run = json.loads(options.source.read_text(encoding="utf-8"))
    (options.out / "index.html").write_text(claims_page.page(run), encoding="utf-8")
    by = claims_page.counts(run)
    print(f"{options.out / 'index.html'}: " + ", ".join(f"{n} {state}" for state, n in by.items()))
    for part, reason in run.get("failed", {}).items():
        print(f"  {part}: {reason}")
    return 1 if by["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
