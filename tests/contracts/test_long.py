"""The long tests are complete: every fuzzer has a limit and a corpus, every stage a name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.long import fuzz

ROOT = Path(__file__).resolve().parents[2]
FUZZERS = ROOT / "cpp" / "fuzz"


def test_every_fuzzer_is_listed_with_its_longest_input() -> None:
    sources = {path.stem for path in FUZZERS.glob("*.cpp")} - {"standalone_main"}
    assert set(fuzz.fuzzers()) == sources
    assert all(longest > 0 for longest in fuzz.fuzzers().values())
    assert {path.stem for path in FUZZERS.glob("*.dict")} <= sources


def test_corpora_are_small_and_of_fuzzers_that_exist() -> None:
    corpora = FUZZERS / "corpus"
    names = {path.name for path in corpora.iterdir()} if corpora.exists() else set()
    assert names <= set(fuzz.fuzzers())
    sizes = {path: path.stat().st_size for path in corpora.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 600_000
    for path, size in sizes.items():
        assert size <= fuzz.fuzzers()[path.parent.name], path


def test_the_stages_are_those_of_the_script() -> None:
    script = ROOT / "tests" / "long" / "run"
    listed = subprocess.run(["bash", script, "--list"], capture_output=True, text=True, check=True)
    called = [line.split()[1] for line in script.read_text().splitlines() if line.startswith("stage ")]
    assert listed.stdout.split() == called
    refused = subprocess.run(
        ["bash", script, "--state", "x", "--only", "nothing"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "no stage nothing" in refused.stderr


FAKE = """#!/bin/sh
for argument; do
  case $argument in -artifact_prefix=*) prefix=${argument#*=} ;; esac
done
echo "#1000	pulse  cov: 12 ft: 34 corp: 5/6b"
[ -e stop ] && { echo x >"${prefix}crash-1"; exit 77; }
exit 0
"""


def test_the_tally_continues_and_findings_are_saved(tmp_path: Path) -> None:
    build, state = tmp_path / "build", tmp_path / "state"
    build.mkdir()
    program = build / "fuzz_text_utf8"
    program.write_text(FAKE)
    program.chmod(0o755)
    state.mkdir()
    tally = fuzz.Tally(state)
    for _ in range(2):
        assert fuzz.run_slice(build, state, "text_utf8", 1, tally, 1)
    again = fuzz.Tally(state)
    assert list(again.of("text_utf8")["inputs"].values()) == [2000]
    assert again.of("text_utf8")["coverage"] == 12
    (state / "text_utf8" / "stop").touch()
    assert not fuzz.run_slice(build, state, "text_utf8", 1, again, 1)
    (finding,) = json.loads((state / "tally.json").read_text())["text_utf8"]["findings"]
    assert finding["inputs"] == ["crash-1"] and "cov: 12" in Path(finding["log"]).read_text()


@pytest.mark.parametrize(
    ("status", "outcome", "code"), [("0", "passed", 0), ("1", "FAILED", 1), ("77", "passed over", 0)]
)
def test_the_report_says_how_stages_ended(tmp_path: Path, status: str, outcome: str, code: int) -> None:
    def report(*arguments: str) -> int:
        script = ROOT / "tests" / "long" / "report.py"
        return subprocess.run([sys.executable, script, tmp_path, *arguments], check=False).returncode

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "faults").write_text('noise\n{"failed": 0}\nlast words\n')
    assert report("begin") == 0 and report("end", "faults", status, "7") == 0
    assert report("finish") == code
    (stage,) = json.loads((tmp_path / "report.json").read_text())["stages"]
    assert stage == {"stage": "faults", "outcome": outcome, "seconds": 7, "figures": {"failed": 0}}
    assert f"faults: {outcome}" in (tmp_path / "report.txt").read_text()
