"""Finds, checks and unpacks the third-party sources named in third_party.json (CMake runs it: third_party.cmake).

    third_party.py unpack [--archives DIR] --to DIR [NAME...]    unpack the named sources, each to DIR/NAME
    third_party.py carry [--archives DIR]                        copy all archives to third_party/, for our sdist

Archives come from third_party/ (inside our own sdist), then from the archive directory, and then from pip.
An archive from any source with a SHA-256 other than the pinned one is an error. Standard library only: this runs in
bare build environments.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CARRIED = HERE.parent / "third_party"
Pin = dict[str, Any]

# pip requests the metadata of a source distribution even if it only downloads it. This backend replaces setuptools, so
# that nothing has to be installed or built; it answers with PKG-INFO, which every source distribution contains.
METADATA_BACKEND = """
import pathlib
import sys

__legacy__ = sys.modules[__name__]  # what pip asks of a project without pyproject.toml

def get_requires_for_build_wheel(config_settings=None):
    return []

get_requires_for_build_sdist = get_requires_for_build_wheel

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    metadata = pathlib.Path("PKG-INFO").read_bytes()
    fields = dict(line.split(b": ", 1) for line in metadata.splitlines()[:10] if b": " in line)
    name = b"-".join([fields[b"Name"].replace(b"-", b"_"), fields[b"Version"]]).decode()
    info = pathlib.Path(metadata_directory) / (name + ".dist-info")
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_bytes(metadata)
    return info.name
"""


class ThirdPartyError(Exception):
    """A source that is not available, or does not match its pin."""


def default_archives() -> Path:
    """The user's cache directory for archives; SCRUBJAY_ARCHIVE_DIR overrides it."""
    if named := os.environ.get("SCRUBJAY_ARCHIVE_DIR"):
        return Path(named)
    if os.name == "nt":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "scrubjay" / "archives"


def check(archive: Path, pin: Pin) -> None:
    """Raises ThirdPartyError, naming file, expected and actual hash, unless the archive is the pinned one."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != pin["sha256"]:
        raise ThirdPartyError(f"wrong SHA-256: {archive}\n  expected {pin['sha256']}\n  found    {found}")


def pips() -> Iterator[tuple[list[str], dict[str, str]]]:
    """Command and environment of each possible pip: this interpreter's, then the base interpreter's.

    Inside an isolated build this interpreter may have no pip, or PYTHONPATH may hide it.
    """
    inherited = dict(os.environ, PIP_REQUIRE_VIRTUALENV="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    bare = {
        name: value
        for name, value in inherited.items()
        if name not in {"PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PIP_BUILD_TRACKER"}
    }
    yield [sys.executable, "-m", "pip"], inherited
    yield [sys.executable, "-m", "pip"], bare
    base = getattr(sys, "_base_executable", None)
    if base:
        yield [base, "-m", "pip"], bare
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for name in (f"python{version}", "python3", "python"):
        for folder in (Path(sys.base_prefix) / "bin", Path(sys.base_prefix)):
            if (found := folder / name).exists():
                yield [str(found), "-m", "pip"], bare
    if found_pip := shutil.which("pip", path=bare.get("PATH")):
        yield [found_pip], bare


def find_pip() -> tuple[list[str], dict[str, str]]:
    """The first pip that runs."""
    tried = []
    for command, environment in pips():
        tried.append(command)
        try:
            answer = subprocess.run(
                [*command, "--version"], env=environment, capture_output=True, check=False
            )
        except OSError:
            continue
        if answer.returncode == 0:
            return command, environment
    looked = "\n  ".join(sorted({" ".join(command) for command in tried}))
    raise ThirdPartyError(f"no pip to ask for the sources; tried\n  {looked}")


def download(pins: list[Pin], to: Path) -> None:
    """Downloads the source distributions of `pins` to `to` with pip, which checks the hashes before it opens them."""
    command, environment = find_pip()
    with tempfile.TemporaryDirectory() as scratch:
        backend = Path(scratch) / "setuptools"
        backend.mkdir()
        backend.joinpath("__init__.py").write_text("")
        backend.joinpath("build_meta.py").write_text(METADATA_BACKEND)
        requirements = Path(scratch) / "requirements.txt"
        requirements.write_text(
            "".join(f"{pin['project']}=={pin['version']} --hash=sha256:{pin['sha256']}\n" for pin in pins)
        )
        path = os.pathsep.join(filter(None, [scratch, environment.get("PYTHONPATH")]))
        only_sources = ",".join(pin["project"] for pin in pins)
        options = ["--no-deps", "--no-binary", only_sources, "--no-build-isolation", "--require-hashes"]
        # Ignore the Python version that the packages require: we use their C and C++ files.
        options += [
            "--ignore-requires-python",
            "--progress-bar",
            "off",
            "-d",
            str(to),
            "-r",
            str(requirements),
        ]
        outcome = subprocess.run(
            [*command, "download", *options],
            env=dict(environment, PYTHONPATH=path, PIP_USE_PEP517="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    missing = [pin["archive"] for pin in pins if not (to / pin["archive"]).exists()]
    if outcome.returncode != 0 or missing:
        raise ThirdPartyError(
            f"pip could not bring {', '.join(pin['archive'] for pin in pins)}\n{outcome.stdout}\n"
            "Without a package index: put the archives into a directory and name it in SCRUBJAY_ARCHIVE_DIR, "
            "or unpack them and name each tree in <NAME>_SOURCE_DIR."
        )


def find(names: list[str], archives: Path) -> dict[str, Path]:
    """Archives of the named sources, all checked. Requests the missing ones from pip in one call."""
    known: dict[str, Pin] = json.loads((HERE / "third_party.json").read_text())
    found: dict[str, Path] = {}
    for name in names:
        for folder in (CARRIED, archives):
            archive = folder / known[name]["archive"]
            if archive.exists():
                check(archive, known[name])
                found[name] = archive
                break
    missing = [name for name in names if name not in found]
    if missing:
        fresh = Path(tempfile.mkdtemp(prefix="scrubjay-"))
        try:
            download([known[name] for name in missing], fresh)
            for name in missing:
                archive = fresh / known[name]["archive"]
                check(archive, known[name])
                found[name] = keep(archive, archives)
        finally:
            if fresh not in {archive.parent for archive in found.values()}:
                shutil.rmtree(fresh, ignore_errors=True)
    return found


def keep(archive: Path, archives: Path) -> Path:
    """Moves a checked archive atomically to the archive directory; leaves it if that is not writable."""
    try:
        archives.mkdir(parents=True, exist_ok=True)
        arriving = archives / f"{archive.name}.{os.getpid()}"
        shutil.copyfile(archive, arriving)
        return arriving.replace(archives / archive.name)
    except OSError:
        return archive


def unpack(archive: Path, pin: Pin, to: Path) -> None:
    """Unpacks the files that `pin` selects to the directory `to`; a no-op if already done with this hash."""
    done = to / ".sha256"
    if done.exists() and done.read_text() == pin["sha256"]:
        return
    shutil.rmtree(to, ignore_errors=True)
    wanted: dict[str, str] = pin["unpack"]
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.partition("/")[2]
            if not member.isfile() or ".." in Path(inside).parts:
                continue
            for prefix, target in wanted.items():
                if inside == prefix or (prefix.endswith("/") and inside.startswith(prefix)):
                    destination = to / (target + inside[len(prefix) :])
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    source = tar.extractfile(member)
                    assert source is not None
                    destination.write_bytes(source.read())
    done.write_text(pin["sha256"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["unpack", "carry"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--archives", type=Path, default=None)
    parser.add_argument("--to", type=Path)
    arguments = parser.parse_intermixed_args()
    known: dict[str, Pin] = json.loads((HERE / "third_party.json").read_text())
    names = arguments.names or list(known)
    try:
        found = find(names, arguments.archives or default_archives())
        if arguments.action == "unpack":
            for name, archive in found.items():
                unpack(archive, known[name], arguments.to / name)
        else:
            CARRIED.mkdir(exist_ok=True)
            for archive in found.values():
                if archive.parent != CARRIED:
                    shutil.copyfile(archive, CARRIED / archive.name)
    except (ThirdPartyError, OSError, tarfile.TarError) as error:
        sys.exit(f"{error}")
    print(", ".join(f"{known[name]['archive']}" for name in found), end="")


if __name__ == "__main__":
    main()
