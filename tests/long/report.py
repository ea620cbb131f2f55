"""Writes the report of tests/long/run: DIR/report.json, and the same as text.

python tests/long/report.py DIR begin | end STAGE STATUS SECONDS [FIGURES] | finish
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PASSED_OVER = "77"


def _last_words(log: Path) -> Any:
    """Return the last line of a log that is JSON or begins with the seed; if there is none, the last line."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    for line in reversed(lines[-100:]):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
        if line.startswith("seed="):
            return line
    return lines[-1].strip() if lines else ""


def _figures(state: Path, stage: str) -> Any:
    if stage in ("kills", "fleet"):
        return [json.loads(path.read_text()) for path in sorted(state.glob(f"{stage}-*.json"))]
    if stage == "fuzz" and (state / "fuzz" / "tally.json").exists():
        return json.loads((state / "fuzz" / "tally.json").read_text())
    if stage == "coverage" and (state / "fuzz" / "coverage.json").exists():
        return json.loads((state / "fuzz" / "coverage.json").read_text())["folders"]
    return _last_words(state / "logs" / stage)


def _text_of(stage: str, figures: Any) -> list[str]:
    """Return the figures of a stage as lines."""
    if stage == "kills" and isinstance(figures, list):
        wanted = ("rounds", "acknowledged", "in_flight", "in_flight_kept", "judged", "checked")
        return [
            f"seed {one['seed']}{' encrypted' if one['encrypted'] else ''}: "
            + ", ".join(f"{name} {one[name]:,}" for name in wanted)
            + f", {one['seconds'] / 3600:.2f} h, {len(one['failures'])} failures"
            for one in figures
        ]
    if stage == "fleet" and isinstance(figures, list):
        wanted = ("rounds", "services_killed", "acknowledged", "unknown", "said_to_be_old")
        return [
            f"seed {one['seed']}: "
            + ", ".join(f"{name} {one[name]:,}" for name in wanted)
            + f", reads {sum(one['reads'].values()):,}, {one['seconds'] / 3600:.2f} h, {len(one['failures'])} failures"
            for one in figures
        ]
    if stage == "fuzz" and isinstance(figures, dict):
        return [
            f"{name}: {sum(one['cpu_seconds'].values()) / 60:.1f} CPU min, {sum(one['inputs'].values()):,} inputs, "
            f"{one['coverage']:,} edges, {len(one['findings'])} findings"
            for name, one in sorted(figures.items())
        ]
    if stage == "coverage" and isinstance(figures, dict):
        return [f"{name}: {100 * a / n:.1f}% of {n:,} lines" for name, (a, n) in sorted(figures.items())]
    return [str(figures)[:300]]


def main(state: Path, what: str, *rest: str) -> int:
    """Update the report; `finish` returns 1 if a stage failed."""
    path = state / "report.json"
    if what == "begin":
        head = subprocess.run(
            ["git", "log", "-1", "--format=%h %cI"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        report: dict[str, Any] = {
            "commit": head.stdout.strip(),
            "began": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
            "machine": f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "stages": [],
        }
    else:
        report = json.loads(path.read_text())
    if what == "end":
        stage, status, seconds, *figures = rest
        outcome = {"0": "passed", PASSED_OVER: "passed over", "left-out": "left out"}.get(status, "FAILED")
        report["stages"].append(
            {
                "stage": stage,
                "outcome": outcome,
                "seconds": int(seconds),
                "figures": figures[0] if figures else _figures(state, stage),
            }
        )
        print(f"-- {stage}: {outcome} ({seconds} s)")
    if what == "finish":
        report["ended"] = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    path.write_text(json.dumps(report, indent=1) + "\n")
    lines = [f"{report['commit']}\n{report['machine']}\n{report['began']} to {report.get('ended', '...')}"]
    for one in report["stages"]:
        lines.append(f"\n{one['stage']}: {one['outcome']}, {one['seconds'] / 3600:.2f} h")
        lines += [f"  {line}" for line in _text_of(one["stage"], one["figures"])]
    (state / "report.txt").write_text("\n".join(lines) + "\n")
    failed = [one["stage"] for one in report["stages"] if one["outcome"] == "FAILED"]
    if what == "finish":
        print((state / "report.txt").read_text())
        return 1 if failed else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
