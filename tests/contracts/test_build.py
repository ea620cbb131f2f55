"""The build: one version, pinned sources, no silent fallback to scalar kernels, no network."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import scrubjay

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "cmake" / "third_party.py"
PINS = json.loads((ROOT / "cmake" / "third_party.json").read_text())
LEVELS = {
    "avx2": {"avx2", "bmi1", "bmi2", "f16c", "fma"},
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512_vnni"},
}
LEVELS["avx512-gather"] = LEVELS["avx512"]


def offline(**more: str) -> dict[str, str]:
    """Return an environment in which pip can reach no server."""
    hidden = {"PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", **more}


def third_party(*arguments: str | Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False
    )


# One version number


def test_one_version_number() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.+)"$', pyproject, re.MULTILINE)
    assert scrubjay.__version__ == version
    assert scrubjay.show_config(as_dict=True)["version"] == version
    assert importlib.metadata.version("scrubjay") == version


# SIMD


def cpu_flags() -> set[str]:
    if platform.machine() not in {"x86_64", "AMD64"} or not Path("/proc/cpuinfo").exists():
        pytest.skip("what this CPU can do is read from /proc/cpuinfo of an x86 Linux")
    (flags, *_) = re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(flags.split())


def best_level() -> str:
    flags = cpu_flags()
    gathers_slowly = "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    best = "baseline"
    for level, needed in LEVELS.items():
        if not needed <= flags or (level == "avx512-gather" and gathers_slowly):
            break
        best = level
    return best


def active_level(**environment: str) -> subprocess.CompletedProcess[str]:
    program = "import scrubjay; print(scrubjay.show_config(as_dict=True)['simd_active'])"
    kept = {name: value for name, value in os.environ.items() if name != "SCRUBJAY_SIMD"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_best_level_that_this_cpu_has_is_active() -> None:
    assert active_level().stdout.strip() == best_level()


@pytest.mark.parametrize("level", ["baseline", *LEVELS])
def test_a_level_can_be_forced(level: str) -> None:
    if level != "baseline" and not LEVELS[level] <= cpu_flags():
        pytest.skip(f"this CPU has no {level}")
    assert active_level(SCRUBJAY_SIMD=level).stdout.strip() == level


def test_a_level_that_does_not_exist_is_refused_by_name() -> None:
    outcome = active_level(SCRUBJAY_SIMD="quantum")
    assert outcome.returncode != 0
    assert "SCRUBJAY_SIMD" in outcome.stderr
    assert "baseline" in outcome.stderr
    assert "quantum" in outcome.stderr


# Third-party sources


def write_wrong_archive(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / PINS[name]["archive"]
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(SCRIPT, arcname="wrong-1.0/include/wrong.hpp")
    return archive


@pytest.mark.parametrize("name", sorted(PINS))
def test_a_wrong_hash_stops_with_file_expected_and_found(name: str, tmp_path: Path) -> None:
    archive = write_wrong_archive(tmp_path / "archives", name)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    outcome = third_party(
        "unpack", "--archives", archive.parent, "--to", tmp_path / "to", name, environment=offline()
    )
    assert outcome.returncode != 0
    assert str(archive) in outcome.stderr
    assert PINS[name]["sha256"] in outcome.stderr
    assert found in outcome.stderr
    assert not (tmp_path / "to").exists()


def cmake() -> str:
    command = Path(sys.executable).with_name("cmake")
    found = str(command) if command.exists() else shutil.which("cmake")
    if found is None:
        pytest.skip("no cmake here (extra: test)")
    return found


def test_a_wrong_hash_stops_the_build(tmp_path: Path) -> None:
    archive = write_wrong_archive(tmp_path / "archives", "CROARING")
    command = [cmake(), "-S", str(ROOT), "-B", str(tmp_path / "build"), "-DSCRUBJAY_PYTHON=OFF"]
    if (ROOT / "third_party").exists():
        pytest.skip("third_party/ lies in this tree and comes first")
    outcome = subprocess.run(
        [*command, f"-DSCRUBJAY_ARCHIVE_DIR={archive.parent}", f"-DPython_EXECUTABLE={sys.executable}"],
        env=offline(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode != 0
    assert "wrong SHA-256" in outcome.stderr
    assert archive.name in outcome.stderr


def test_without_archives_and_without_network_the_remedy_is_named(tmp_path: Path) -> None:
    if (ROOT / "third_party").exists():
        pytest.skip("third_party/ lies in this tree and comes first")
    outcome = third_party(
        "unpack", "--archives", tmp_path / "none", "--to", tmp_path / "to", "CROARING", environment=offline()
    )
    assert outcome.returncode != 0
    assert PINS["CROARING"]["archive"] in outcome.stderr
    assert "SCRUBJAY_ARCHIVE_DIR" in outcome.stderr


# The package


def test_import_without_the_native_part_says_what_to_run(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "python" / "scrubjay",
        tmp_path / "scrubjay",
        ignore=shutil.ignore_patterns("_native*.so", "_native*.pyd", "__pycache__"),
    )
    # -I -S: neither an installed scrubjay nor an editable one's import hook.
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import scrubjay"
    outcome = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert outcome.returncode != 0
    assert "pip install" in outcome.stderr.splitlines()[-1]


def test_licence_and_notice_come_with_the_package() -> None:
    files = {Path(str(file)).name: file for file in importlib.metadata.files("scrubjay") or []}
    assert {"LICENSE", "NOTICE"} <= set(files)
    notice = (ROOT / "NOTICE").read_text()
    for pin in PINS.values():
        assert f"{pin['project']} {pin['version']}" in notice or pin["project"] == "stringzilla"
    assert "StringZilla 5.3.2" in notice


def test_the_notice_carries_the_licences_that_ask_for_it() -> None:
    """Licences of code compiled into the module, whose texts must accompany binaries, too."""
    notice = (ROOT / "NOTICE").read_text().partition("Not in the wheel")[0]
    for text in (
        "Redistributions in binary form must reproduce the above copyright notice",  # pybind11
        "Wenzel Jakob",
        "Neither the name of the Snowball project",
        "Unicode, Inc.",  # StringZilla's tables are derived from its data
        "this copyright and permission notice appear in associated Documentation",
        "Runtime Library Exception",
        "LLVM Exceptions",
    ):
        assert text in notice


def test_the_package_holds_what_it_should_and_nothing_else() -> None:
    if not any("scrubjay/_native" in str(file) for file in importlib.metadata.files("scrubjay") or []):
        pytest.skip("an editable installation")
    assert_complete([str(file) for file in importlib.metadata.files("scrubjay") or []])


def assert_complete(names: list[str]) -> None:
    assert any(re.fullmatch(r"scrubjay/_native\..*(so|pyd)", name) for name in names)
    assert {"scrubjay/py.typed", "scrubjay/_native.pyi", "scrubjay/__init__.py"} <= set(names)
    assert "scrubjay/embedders/en-1.static" in names
    assert not [name for name in names if name.startswith(("include/", "lib/", "third_party/"))]


BACKEND = "import sys, scikit_build_core.build as b; print(b.build_{}(sys.argv[1]))"


def with_tools(**more: str) -> dict[str, str]:
    return {**more, "PATH": os.pathsep.join([str(Path(cmake()).parent), os.environ["PATH"]])}


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return our source distribution, unpacked."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed (extra: test)")
    pytest.importorskip("pybind11", reason="pybind11 is not installed (extra: test)")
    folder = tmp_path_factory.mktemp("sdist")
    tree = folder / "tree"  # of a copy: building an sdist leaves third_party/ behind
    shutil.copytree(
        ROOT,
        tree,
        ignore=shutil.ignore_patterns(".git", "build", "dist", "third_party", "__pycache__", ".*_cache"),
    )
    subprocess.run(
        [sys.executable, "-c", BACKEND.format("sdist"), folder / "made"],
        cwd=tree,
        env={**os.environ, **with_tools()},
        check=True,
    )
    (sdist,) = (folder / "made").glob("scrubjay-*.tar.gz")
    with tarfile.open(sdist) as tar:
        if hasattr(tarfile, "data_filter"):  # since Python 3.10.12 and 3.11.4
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder / "unpacked")
    (source,) = (folder / "unpacked").iterdir()
    return source


@pytest.mark.slow
def test_our_source_distribution_is_complete_and_needs_no_network(
    source_distribution: Path, tmp_path: Path
) -> None:
    """Everything but compiling, which test_a_wheel_is_built_from_our_source_distribution_without_network does."""
    carried = {file.name for file in (source_distribution / "third_party").iterdir()}
    assert carried == {pin["archive"] for pin in PINS.values()}
    needed = [ROOT / name for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "NOTICE")]
    for folder in ("cmake", "cpp/src", "cpp/bindings", "python/scrubjay"):
        needed += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in needed:
        if "__pycache__" not in path.parts and path.suffix not in (".so", ".pyd"):
            there = source_distribution / path.relative_to(ROOT)
            assert there.is_file() and there.read_bytes() == path.read_bytes(), there
    options = [f"-DSCRUBJAY_ARCHIVE_DIR={tmp_path / 'none'}", f"-DPython_EXECUTABLE={sys.executable}"]
    build = tmp_path / "build"
    subprocess.run(
        [cmake(), "-S", str(source_distribution), "-B", str(build), *options],
        env=offline(**with_tools()),
        check=True,
    )
    assert {file.name for file in (build / "third_party").iterdir()} >= set(PINS)


@pytest.mark.long
def test_a_wheel_is_built_from_our_source_distribution_without_network(
    source_distribution: Path, tmp_path: Path
) -> None:
    # Neither optimised nor with debug information, which is fastest to build.
    nowhere = with_tools(SCRUBJAY_ARCHIVE_DIR=str(tmp_path / "none"), SKBUILD_CMAKE_BUILD_TYPE="None")
    subprocess.run(
        [sys.executable, "-c", BACKEND.format("wheel"), tmp_path],
        cwd=source_distribution,
        env=offline(**nowhere),
        check=True,
    )
    (wheel,) = tmp_path.glob("scrubjay-*.whl")
    assert_complete(zipfile.ZipFile(wheel).namelist())
