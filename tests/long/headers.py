"""Checks that every header of the core compiles alone, without includes before it.

    python -m tests.long.headers [--jobs N] [PART of paths...]

compiles each cpp/src/**/*.hpp by itself (with c++ or $CXX) and prints those that fail; exit code 1 if any does.
The parts of the kernels are skipped, since they are included inside the namespace of each SIMD level. Third-party
headers come from a build tree (--build; any preset, configured).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "cpp" / "src"
PARTS_OF_KERNELS = ("simd/kernels_*.hpp", "simd/lanes.hpp", "simd/pooling_impl.hpp")


def headers(parts: Sequence[str] = ()) -> list[Path]:
    """Return the headers whose paths contain one of the parts, or all."""
    found = [path for path in sorted(SOURCES.rglob("*.hpp")) if not any(map(path.match, PARTS_OF_KERNELS))]
    return [path for path in found if not parts or any(part in str(path) for part in parts)]


def compile_alone(header: Path, build: Path) -> str:
    """Return the errors of the compiler for a header; "" if it compiles."""
    includes = [f"-I{SOURCES}", *(f"-isystem{path}" for path in third_party(build))]
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra"]
    ended = subprocess.run(
        [*command, "-Wno-psabi", "-Werror", *includes, "-x", "c++", "-"],
        input=f'#include "{header.relative_to(SOURCES)}"\n',
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stderr if ended.returncode else ""


def third_party(build: Path) -> list[Path]:
    """Return the folders of third-party headers in a build tree."""
    unpacked = build / "third_party"
    return [unpacked / "STRINGZILLA" / "include", unpacked / "CROARING"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile the headers; return 1 if one fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    wanted = headers(asked.part)
    with ThreadPoolExecutor(asked.jobs) as pool:
        said = list(pool.map(lambda header: compile_alone(header, asked.build), wanted))
    failed = [(header, text) for header, text in zip(wanted, said, strict=True) if text]
    for header, text in failed:
        print(f"{header.relative_to(ROOT)} does not compile alone:\n{text[:2000]}")
    print(f"{len(wanted)} headers, {len(failed)} do not compile alone")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
