"""``python -m conformance.stock run [NAME ...]`` and ``python -m conformance.stock publish``, run from the root."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.stock.catalogue import STORES
from conformance.stock.running import CONFORMANCE, run


def main() -> int:
    """Run the command; return 0, or 1 if a store could not be run."""
    parser = argparse.ArgumentParser("python -m conformance.stock", description="The published reports.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser(
        "run", help="run the checks against stores of the catalogue, and keep their reports"
    )
    running.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(store.name for store in STORES)}; none: all"
    )
    running.add_argument(
        "--environments", type=Path, default=CONFORMANCE / ".environments", help="their folder"
    )
    running.add_argument("--python", default=sys.executable, help="that makes the environments")
    running.add_argument("--only", nargs="+", default=[], metavar="CHECK", help="anew; the others stay")
    running.add_argument("--installed", action="store_true", help="the environments have what is needed")
    commands.add_parser("publish", help="write docs/conformance.md from the reports")
    asked = parser.parse_args()
    if asked.command == "publish":
        from conformance.stock.publishing import PAGE, page

        PAGE.write_text(page(), encoding="utf-8")
        return 0
    unknown = set(asked.names) - {store.name for store in STORES}
    if unknown:
        parser.error(f"NAME: expected names of the catalogue, got {sorted(unknown)}")
    code = 0
    for store in STORES:
        if not asked.names or store.name in asked.names:
            answer = run(store, asked.environments, asked.python, not asked.installed, asked.only)
            print(f"{store.name}: exit code {answer}", flush=True)
            code = max(code, answer not in (0, 1))
    return code


if __name__ == "__main__":
    sys.exit(main())
