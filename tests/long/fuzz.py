"""Run the fuzzers in turn until each has had its CPU time, and keep a tally; a later call continues from it.

    python -m tests.long.fuzz --build build/fuzz --state DIR [--minutes 20] [--only NAME,NAME] [--slice 60]
    python -m tests.long.fuzz --state DIR --coverage build/fuzz-coverage    # which lines the corpora reach
    python -m tests.long.fuzz --build build/fuzz --state DIR --minimise     # writes cpp/fuzz/corpus

DIR/NAME/corpus grows from cpp/fuzz/corpus/NAME; DIR/NAME/findings holds inputs that crashed a fuzzer; DIR/tally.json
holds CPU seconds and inputs by commit. The fuzzers need clang: `CC=clang CXX=clang++ cmake --preset fuzz`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "cpp" / "fuzz"
MOST_FINDINGS = 5  # per fuzzer, after which it is not run any more
MOST_FILES, MOST_BYTES = 80, 40_000  # of the corpus of one fuzzer in the repository


def fuzzers() -> dict[str, int]:
    """Return the maximum length of the inputs of each fuzzer."""
    lines = (SOURCES / "fuzzers.txt").read_text().splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: int(longest) for name, longest in pairs}


def commit() -> str:
    """Return the commit that is checked out, with a plus sign if files differ from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def _timed(command: list[str], log: Path) -> tuple[int, float]:
    """Run a command; return its exit code and the CPU seconds that it took."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=log.parent, env=_environment()
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


class Tally:
    """The CPU time, inputs and findings of every fuzzer, in a file."""

    def __init__(self, state: Path) -> None:
        self.path = state / "tally.json"
        self.entries: dict[str, dict[str, Any]] = (
            json.loads(self.path.read_text()) if self.path.exists() else {}
        )

    def of(self, name: str) -> dict[str, Any]:
        """Return the entry of a fuzzer."""
        usual = {"cpu_seconds": {}, "inputs": {}, "coverage": 0, "features": 0, "corpus": 0, "findings": []}
        return self.entries.setdefault(name, usual)

    def seconds(self, name: str, of_commit: str | None = None) -> float:
        """Return the CPU seconds of a fuzzer, in all or on one commit."""
        spent = self.of(name)["cpu_seconds"]
        return float(sum(spent.values()) if of_commit is None else spent.get(of_commit, 0.0))

    def save(self) -> None:
        """Write the file."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.entries, indent=1, sort_keys=True) + "\n")
        fresh.replace(self.path)


def run_slice(build: Path, state: Path, name: str, seconds: int, tally: Tally, seed: int) -> bool:
    """Run a fuzzer for some seconds; return False if it found something."""
    folder = state / name
    corpus, findings = folder / "corpus", folder / "findings"
    for one in (corpus, findings):
        one.mkdir(parents=True, exist_ok=True)
    known = {path.name for path in findings.iterdir()}
    kept = SOURCES / "corpus" / name
    dictionary = SOURCES / f"{name}.dict"
    log = folder / "log"
    code, cpu_seconds = _timed(
        [
            str(build / f"fuzz_{name}"),
            f"-max_total_time={seconds}",
            f"-max_len={fuzzers()[name]}",
            f"-seed={seed}",
            "-timeout=60",
            "-rss_limit_mb=3000",
            "-print_final_stats=1",
            f"-artifact_prefix={findings}/",
            *([f"-dict={dictionary}"] if dictionary.exists() else []),
            str(corpus),
            *([str(kept)] if kept.exists() else []),
        ],
        log,
    )
    said = log.read_text(errors="replace")
    entry, now = tally.of(name), commit()
    entry["cpu_seconds"][now] = round(entry["cpu_seconds"].get(now, 0.0) + cpu_seconds, 1)
    inputs = re.findall(r"^#(\d+)\s", said, re.MULTILINE)
    entry["inputs"][now] = entry["inputs"].get(now, 0) + (int(inputs[-1]) if inputs else 0)
    reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", said)
    if reached:
        entry["coverage"], entry["features"], entry["corpus"] = map(int, reached[-1])
    if code != 0:
        new = sorted({path.name for path in findings.iterdir()} - known)
        kept_log = findings / f"log-of-{new[0] if new else len(entry['findings'])}"
        shutil.copy(log, kept_log)
        entry["findings"].append({"commit": now, "inputs": new, "log": str(kept_log)})
    tally.save()
    return code == 0


def fuzz(build: Path, state: Path, names: list[str], minutes: float, slice_seconds: int, here: bool) -> Tally:
    """Give each fuzzer its CPU minutes, slice by slice, those with the least time first.

    With `here`, only time on the checked-out commit counts.
    """
    tally = Tally(state)
    of_commit = commit() if here else None
    turn = 0
    while True:
        due = [
            name
            for name in names
            if tally.seconds(name, of_commit) < 60 * minutes
            and len(tally.of(name)["findings"]) < MOST_FINDINGS
        ]
        if not due:
            return tally
        turn += 1
        name = min(due, key=lambda one: tally.seconds(one, of_commit))
        seed = turn * 7919 + int(tally.seconds(name)) + 1
        whole = run_slice(build, state, name, slice_seconds, tally, seed)
        entry = tally.of(name)
        print(
            f"{name}: {tally.seconds(name) / 60:.1f} CPU min, {sum(entry['inputs'].values()):,} inputs, "
            f"cov {entry['coverage']}, corpus {entry['corpus']}{'' if whole else ' FINDING'}",
            flush=True,
        )


def coverage(build: Path, state: Path) -> dict[str, Any]:
    """Replay all corpora; return the numbers of lines and of covered lines by folder of cpp/src, and by file."""
    profiles, programs = [], []
    for name in fuzzers():
        corpora = [str(one) for one in (state / name / "corpus", SOURCES / "corpus" / name) if one.exists()]
        if not corpora:
            continue
        profile = state / name / "profraw"
        profile.parent.mkdir(parents=True, exist_ok=True)
        program = str(build / f"fuzz_{name}")
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(profile)}
        subprocess.run(
            [program, "-runs=0", *corpora],
            env=environment,
            cwd=profile.parent,
            check=True,
            capture_output=True,
        )
        profiles.append(str(profile))
        programs += ["-object", program]
    merged = state / "profdata"
    subprocess.run([_llvm("llvm-profdata"), "merge", "-sparse", *profiles, "-o", str(merged)], check=True)
    exported = subprocess.run(
        [
            _llvm("llvm-cov"),
            "export",
            "-summary-only",
            f"-instr-profile={merged}",
            *programs,
            str(ROOT / "cpp" / "src"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    folders: dict[str, list[int]] = {}
    files: dict[str, list[int]] = {}
    for file in json.loads(exported.stdout)["data"][0]["files"]:
        path = Path(file["filename"]).relative_to(ROOT / "cpp" / "src")
        lines = file["summary"]["lines"]
        files[path.as_posix()] = [lines["covered"], lines["count"]]
        reached = folders.setdefault(path.parts[0], [0, 0])
        reached[0] += lines["covered"]
        reached[1] += lines["count"]
    return {"folders": folders, "files": files}


def _llvm(tool: str) -> str:
    """Return the path of a tool; Debian installs some only under the version of clang."""
    found = shutil.which(tool)
    if found is None:
        version = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True).stdout
        found = shutil.which(f"{tool}-{version.split('.')[0]}")
    if found is None:
        raise SystemExit(f"{tool}: expected it on the path (it comes with clang)")
    return found


def minimise(build: Path, state: Path, names: list[str]) -> None:
    """Write inputs with the coverage of all corpora to cpp/fuzz/corpus, preferring small ones."""
    for name in names:
        merged = state / name / "merged"
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir(parents=True)
        kept = SOURCES / "corpus" / name
        sources = [str(one) for one in (state / name / "corpus", kept) if one.exists()]
        if not sources:
            continue
        subprocess.run(
            [str(build / f"fuzz_{name}"), "-set_cover_merge=1", str(merged), *sources],
            cwd=merged.parent,
            env=_environment(),
            check=True,
            capture_output=True,
        )
        n_bytes, chosen = 0, []
        for path in sorted(merged.iterdir(), key=lambda one: (one.stat().st_size, one.name)):
            n_bytes += path.stat().st_size
            if n_bytes > MOST_BYTES or len(chosen) >= MOST_FILES:
                break
            chosen.append(path)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for path in chosen:
            shutil.copy(path, kept / path.name[:12])
        print(f"{name}: {len(chosen)} of {len(list(merged.iterdir()))} inputs")


def main() -> int:
    """Run the command line; the exit code tells whether there are findings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20.0, help="CPU minutes of each fuzzer")
    parser.add_argument("--here", action="store_true", help="count the time on this commit only")
    parser.add_argument("--slice", type=int, default=60, help="seconds at a time")
    parser.add_argument("--only", help="names of fuzzers, with commas between them")
    parser.add_argument("--coverage", type=Path, metavar="BUILD")
    parser.add_argument("--minimise", action="store_true")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(fuzzers())
    unknown = set(names) - set(fuzzers())
    if unknown:
        parser.error(f"--only: expected some of {', '.join(fuzzers())}, got {', '.join(sorted(unknown))}")
    state = arguments.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    if arguments.coverage is not None:
        reached = coverage(arguments.coverage.resolve(), state)
        (state / "coverage.json").write_text(json.dumps(reached, indent=1) + "\n")
        for folder, (covered, count) in sorted(reached["folders"].items()):
            print(f"{folder}: {covered:,} of {count:,} lines, {100 * covered / count:.1f}%")
        return 0
    if arguments.build is None:
        parser.error("--build: expected the folder of the fuzzers")
    build = arguments.build.resolve()
    if arguments.minimise:
        minimise(build, state, names)
        return 0
    tally = fuzz(build, state, names, arguments.minutes, arguments.slice, arguments.here)
    findings = sum(len(tally.of(name)["findings"]) for name in names)
    print(f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
