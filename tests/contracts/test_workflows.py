"""The workflows use existing runners and actions, and build as many wheels as expected."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.smoke import PROOFS

import scrubjay

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RETIRED = re.compile(r"macos-1[1-4]\b|ubuntu-(18|20)\.04|windows-201\d")
"""Labels of runners for which a job would wait forever; macos-14 was withdrawn on 2 November 2026."""
ON_NODE_24 = {
    "actions/checkout": 5,
    "actions/setup-python": 6,
    "actions/upload-artifact": 6,
    "actions/download-artifact": 7,
    "actions/upload-pages-artifact": 5,
    "actions/deploy-pages": 5,
    "pypa/cibuildwheel": 4,
}
"""The first major version of each action that runs on Node 24, or is itself no JavaScript but uses such; runners have
no older Node since autumn 2026. cibuildwheel 4 verifies the interpreters that it downloads."""


def read(path: Path) -> str:
    if not path.is_file():
        pytest.skip("the source distribution has no workflows")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_supported_runners_and_actions(path: Path) -> None:
    text = read(path)
    assert not RETIRED.findall(text)
    for action, version in re.findall(r"uses: ([\w./-]+)@(\S+)", text):
        if action == "pypa/gh-action-pypi-publish":  # a container; its maintainers move the branch
            assert version == "release/v1"
        else:
            assert int(version.lstrip("v").partition(".")[0]) >= ON_NODE_24[action], (action, version)


def test_a_release_waits_for_every_wheel() -> None:
    tomllib = pytest.importorskip("tomllib", reason="before Python 3.11")
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = settings["tool"]["cibuildwheel"]
    text = read(ROOT / ".github" / "workflows" / "wheels.yml")
    names = re.findall(r"\{ name: ([\w-]+), runner: ([\w.-]+), archs: (\w+) \}", text)
    n_kinds = sum(2 if name.startswith("linux") else 1 for name, _, _ in names)  # manylinux and musllinux
    waited = int(re.findall(r"ls dist/\*\.whl \| wc -l\)\" -eq (\d+)", text)[0])
    assert waited == n_kinds * len(built["build"]) == 42
    assert {name for name, _, _ in names} == {
        "linux-x86-64", "linux-aarch64", "macos-arm64", "macos-x86-64", "windows-x86-64"
    }  # fmt: skip
    for kind in ("manylinux", "musllinux"):
        for machine in ("x86_64", "aarch64"):
            assert f"{kind}-{machine}-image" in built
    assert built["windows"]["config-settings"] == {"cmake.args": "-TClangCL"}


@pytest.mark.parametrize("proof", PROOFS)
def test_each_line_of_the_smoke_tests_names_tests_that_are_there(proof: str) -> None:
    """A renamed test would be dropped silently; pytest with --smoke reports it, too, but runs rarely."""
    for test in PROOFS[proof]:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or f"\ndef {name.partition('[')[0]}" in text, test


@pytest.mark.slow
def test_wheels_are_tested_with_what_is_copied_for_it(tmp_path: Path) -> None:
    """cibuildwheel runs the smoke tests in a folder with only `test-sources`."""
    tomllib = pytest.importorskip("tomllib", reason="before Python 3.11")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in settings["tool"]["cibuildwheel"]["test-sources"]:
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    places = [str(tmp_path), str(Path(scrubjay.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-m", "tests.smoke"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(places)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-3000:]


def test_only_the_release_may_publish_and_it_attests() -> None:
    text = read(ROOT / ".github" / "workflows" / "wheels.yml")
    before, _, publish = text.partition("  publish:\n")
    assert "id-token: write" not in before and "id-token: write" in publish
    assert "needs: [wheels, sdist]" in publish and "github.event_name == 'release'" in publish
    assert "attestations: true" in publish and "password" not in publish
