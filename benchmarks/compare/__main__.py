"""python -m benchmarks.compare WHAT [options]: WHAT is one of the comparisons below, and takes --help."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from benchmarks import one_thread  # noqa: F401 - before anything that imports NumPy
from benchmarks.compare import hybrid, lexical, reading, vector

COMPARISONS: dict[str, Callable[[Sequence[str]], int]] = {
    "lexical": lexical.main,
    "reading": reading.main,
    "hybrid": hybrid.main,
    "vector": vector.main,
}


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in COMPARISONS:
        print(f"usage: python -m benchmarks.compare {{{','.join(COMPARISONS)}}} [--help]", file=sys.stderr)
        return 2
    return COMPARISONS[arguments[0]](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
