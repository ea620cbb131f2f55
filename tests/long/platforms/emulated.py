"""Runs a wheel for aarch64 (or its C++ tests) on this machine, under emulation.

    python -m tests.long.platforms.emulated --state DIR --wheel dist/scrubjay-...-manylinux_2_28_aarch64.whl
    python -m tests.long.platforms.emulated --state DIR --cpp-tests build/cross/manylinux-aarch64/scrubjay_tests
    python -m tests.long.platforms.emulated --state DIR --wheel ... --tests "tests/unit/test_filters.py -k numbers"

Needs Debian or Ubuntu (apt-get, dpkg) and pip; nothing is installed: packages of the other architecture are unpacked
below DIR, their interpreter runs under qemu's user mode, and wheels of that platform are downloaded. With a wheel it
runs: the wheel's own version and SIMD levels; tests/smoke.py; and the exchange of files with this platform in both
directions (:mod:`tests.long.platforms.exchange`), which must give equal bits. The package of *this* platform must be
importable here. Exit code 1 if anything fails. Emulation is about ten times slower than the machine: it tests
correctness, not speed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The Debian packages of CPython that the tests need, in the version of the distribution.
LIBRARIES = (
    "libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libsqlite3-0 libbz2-1.0 liblzma5 libuuid1 "
    "libcrypt1 libreadline8 libtinfo6 libncursesw6"
).split()
PYTHON = "libpython{v}-minimal libpython{v}-stdlib python{v}-minimal python{v}".split()
# Packages that the smoke tests import.
TEST_PACKAGES = ["numpy>=1.26", "pytest>=8.0", "hypothesis>=6.100", "uniseg>=0.9", "PyStemmer==3.1.0", "tqdm"]
TEST_PACKAGES += ["cryptography>=42.0"]
WRAPPER = """#!/bin/sh
exec {qemu} -L {root} -0 {wrapper} {root}/usr/bin/python{version} "$@"
"""


def run(*command: str | Path, cwd: Path = ROOT, check: bool = True, **environment: str) -> str:
    """Run a command and return its output; if it fails, raise RuntimeError with the output."""
    outcome = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and outcome.returncode != 0:
        raise RuntimeError(
            f"{' '.join(map(str, command))}: {outcome.returncode}\n{outcome.stdout[-4000:]}{outcome.stderr[-4000:]}"
        )
    return outcome.stdout


class Machine:
    """A root directory of the other architecture, with an interpreter that can be started like a native program."""

    def __init__(self, state: Path, version: str) -> None:
        self.state, self.version = state.resolve(), version
        self.root, self.site = self.state / "root", self.state / "site"
        self.qemu = shutil.which("qemu-aarch64-static") or str(
            self.state / "qemu" / "usr" / "bin" / "qemu-aarch64-static"
        )
        self.python = self.state / "bin" / "python"

    def make(self) -> None:
        """Unpack the missing parts."""
        if not Path(self.qemu).exists():
            self._unpack(["qemu-user-static"], self.state / "qemu")
        if not (self.root / "usr" / "bin" / f"python{self.version}").exists():
            names = [*LIBRARIES, *(name.format(v=self.version) for name in PYTHON)]
            self._unpack([f"{name}:arm64" for name in names], self.root)
        self.python.parent.mkdir(parents=True, exist_ok=True)
        self.python.write_text(
            WRAPPER.format(qemu=self.qemu, root=self.root, wrapper=self.python, version=self.version)
        )
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)

    def _unpack(self, packages: list[str], into: Path) -> None:
        """Unpack Debian packages of either architecture, with a separate package database."""
        apt = self.state / "apt"
        for folder in ("lists/partial", "cache/archives/partial", "downloads", str(into)):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        options = [f"Dir::State={apt}", f"Dir::State::lists={apt / 'lists'}", f"Dir::Cache={apt / 'cache'}"]
        options += [f"Dir::State::status={apt / 'status'}", "APT::Sandbox::User=root"]
        options += ["APT::Architectures::=amd64", "APT::Architectures::=arm64"]
        given = [word for option in options for word in ("-o", option)]
        if not any((apt / "lists").glob("*Packages*")):
            run("apt-get", *given, "update")
        downloads = apt / "downloads"
        for old in downloads.glob("*.deb"):
            old.unlink()
        run("apt-get", *given, "download", *packages, cwd=downloads)
        for package in sorted(downloads.glob("*.deb")):
            run("dpkg", "-x", package, into)

    def install(self, wheel: Path) -> None:
        """Install a wheel and the requirements of its tests for the interpreter."""
        digits = self.version.replace(".", "")
        # By file name, since pip rejects the tag of an older C library as another platform.
        platforms = [f"manylinux_2_{minor}_aarch64" for minor in (28, 27, 26, 24, 17)] + [
            "manylinux2014_aarch64"
        ]
        if not (self.site / "numpy").exists():
            pip(self.site, digits, platforms, TEST_PACKAGES)
            run(sys.executable, "-m", "tests.long.platforms.weights", self.site)
        for old in (self.site / "scrubjay", *self.site.glob("scrubjay-*.dist-info")):
            shutil.rmtree(old, ignore_errors=True)
        pip(self.site, digits, platforms, ["--no-deps", str(wheel.resolve())])

    def run(self, *arguments: str | Path, check: bool = True, **environment: str) -> str:
        """Run the interpreter in the repository, with the installed wheel instead of the sources."""
        return run(self.python, *arguments, check=check, PYTHONPATH=f"{self.site}:{ROOT}", **environment)

    def run_program(self, program: Path) -> str:
        """Run a program of the other architecture; return its output."""
        return run(self.qemu, "-L", self.root, program.resolve(), check=False)


def pip(site: Path, version: str, platforms: list[str], wanted: list[str]) -> None:
    """Install wheels of another platform into a folder."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(site), "--only-binary=:all:"]
    command += ["--upgrade", "--implementation", "cp", "--python-version", version]
    run(*command, *(word for name in platforms for word in ("--platform", name)), *wanted)


def exchange(machine: Machine, folder: Path) -> list[str]:
    """Write a file on each platform, and search both files on both platforms; return the differences."""
    script = "tests.long.platforms.exchange"
    answers = {}
    for writer in ("here", "there"):
        for reader in ("here", "there"):
            path = folder / f"{writer}-{reader}.scrubjay"
            for old in folder.glob(path.name + "*"):
                old.unlink()
            make, ask = ("-m", script, "make", path), ("-m", script, "ask", path, "--write")
            _ = run(sys.executable, *make) if writer == "here" else machine.run(*make)
            answers[writer, reader] = run(sys.executable, *ask) if reader == "here" else machine.run(*ask)
    own = answers["here", "here"]
    if len(own) < 10_000 or '"problems": []' not in own:
        return [f"the answers of this platform are not what they should be: {own[:500]}"]
    return [
        f"written {writer}, read {reader}: other answers"
        for (writer, reader), said in answers.items()
        if said != own
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--state", type=Path, required=True, help="a folder for what is unpacked and written")
    parser.add_argument("--wheel", type=Path, help="the wheel to try")
    parser.add_argument("--cpp-tests", type=Path, help="the program scrubjay_tests to run")
    parser.add_argument("--python", default="3.11", help="the version of Debian's interpreter (3.11)")
    parser.add_argument("--tests", help="pytest's arguments in place of the smoke tests; '' for none")
    arguments = parser.parse_args()
    machine = Machine(arguments.state, arguments.python)
    machine.make()
    failures = []
    if arguments.cpp_tests:
        said = machine.run_program(arguments.cpp_tests)
        print(said[-300:], flush=True)
        failures += [] if re.search(r"^[1-9]\d* passed, 0 failed", said, re.MULTILINE) else ["C++ tests"]
    if arguments.wheel:
        machine.install(arguments.wheel)
        about = (
            "import platform, scrubjay; print(platform.machine(), scrubjay.__file__); scrubjay.show_config()"
        )
        print(machine.run("-c", about), flush=True)
        failures += exchange(machine, arguments.state)
        print("exchange of files:", failures or "equal bits in both directions", flush=True)
        smoke = ["-m", "tests.smoke"]
        chosen = smoke if arguments.tests is None else ["-m", "pytest", "-q", *arguments.tests.split()]
        if arguments.tests != "":
            said = machine.run(*chosen, check=False, SCRUBJAY_TEST_PROFILE="tiny").strip()
            print(said[-3000:], flush=True)
            failures += [said.splitlines()[-1]] if " passed" not in said or " failed" in said else []
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
