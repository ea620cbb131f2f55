"""Repeatedly damage a file, and try every operation on it in a child process; only documented outcomes are accepted.

    python -m tests.crash.damage --cases 20000 --seed 1 [--keep DIR] [--json] [--only CASE]

An index with memory (several scopes, vectors, a graph, encrypted tenants, feedback, records of every kind, traces) is
damaged in one of the ways of `damaging.py`, then `examining.py` opens it and tries every operation. A case fails if the
process is killed by a signal or exceeds its time limit, if an undocumented error is raised, or if a scope is served
data of another scope, or a text that was not written. Case number n of a seed is the same everywhere.

One process imports everything and forks a child per case; the parent never opens an index.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.damaging import damage
from tests.crash.examining import FILES, Examination, choose, make_file

SECONDS_A_CASE = 60.0
NAME = "damaged"
_OTHER = ("WRONG SCOPE", "ALTERED", "SIGNAL", "HANG", "NOT SOUND")


@dataclass
class Tally:
    """Counts over all cases."""

    seed: int
    cases: int = 0
    failed: int = 0
    signals: int = 0
    hangs: int = 0
    untyped: int = 0
    wrong_scope: int = 0
    altered: int = 0
    not_sound: int = 0
    seconds: float = 0.0
    ways: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)


def prepare(folder: Path) -> dict[str, dict[str, bytes]]:
    """Create the files in a child, and return their bytes by kind and name."""
    files: dict[str, dict[str, bytes]] = {}
    for kind in FILES:
        place = folder / kind
        place.mkdir()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                make_file(kind, place)
                code = 0
            except BaseException:  # noqa: BLE001 - printed, since the parent sees only the exit code
                import traceback

                traceback.print_exc()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        if status:
            raise RuntimeError(f"the file {kind} could not be made")
        files[kind] = {one.name: one.read_bytes() for one in sorted(place.iterdir())}
        shutil.rmtree(place)
    return files


def _write_files(files: dict[str, bytes], folder: Path) -> None:
    for one in folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _child(folder: Path, kind: str, case: str, out: int) -> None:
    """Damage the file and examine it; write the damage and the findings as JSON lines."""
    rng = random.Random(case)
    did = damage(rng, folder, NAME)
    os.write(out, json.dumps({"did": did}).encode() + b"\n")
    forged = did.startswith(("images", "several"))
    examination = Examination(folder / NAME, kind, trusting=forged, seed=rng.randrange(1 << 30))
    examination.run()
    said = {"findings": examination.findings[:50], "outcomes": examination.outcomes}
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]


def run_case(folder: Path, files: dict[str, dict[str, bytes]], seed: int, number: int) -> dict[str, object]:
    """Run one case in a child; return the damage, the findings, and how the child ended."""
    case = f"{seed}:{number}"
    kind = choose(random.Random(f"{case}:kind"))
    _write_files(files[kind], folder)
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(incoming)
        try:
            _child(folder, kind, case, outgoing)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(
                outgoing,
                json.dumps({"findings": [f"driver: {type(error).__name__}: {error}"]}).encode() + b"\n",
            )
        os._exit(0)
    os.close(outgoing)
    said, deadline, hung = b"", time.monotonic() + SECONDS_A_CASE, False
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([incoming], [], [], left)[0]:
            os.kill(child, signal.SIGKILL)
            hung = True
            break
        part = os.read(incoming, 1 << 16)
        if not part:
            break
        said += part
    os.close(incoming)
    _, status = os.waitpid(child, 0)
    result: dict[str, object] = {"kind": kind, "hung": hung, "signal": 0 if hung else os.WTERMSIG(status)}
    for line in said.decode().splitlines():
        result.update(json.loads(line))
    return result


def note(tally: Tally, result: dict[str, object], number: int) -> list[str]:
    """Add a case to the tally; return its findings."""
    findings = [str(one) for one in result.get("findings", [])]  # type: ignore[attr-defined]
    if result["signal"]:
        findings.append(f"SIGNAL {result['signal']}")
        tally.signals += 1
    if result["hung"]:
        findings.append(f"HANG of more than {SECONDS_A_CASE:.0f} s")
        tally.hangs += 1
    tally.wrong_scope += any("WRONG SCOPE" in one for one in findings)
    tally.altered += any("ALTERED" in one for one in findings)
    tally.not_sound += any("NOT SOUND" in one for one in findings)
    untyped = [one for one in findings if not any(word in one for word in _OTHER)]
    tally.untyped += bool(untyped)
    tally.cases += 1
    tally.failed += bool(findings)
    tally.ways[f"{result['kind']} {str(result.get('did', '?')).partition(':')[0]}"] += 1
    tally.outcomes.update(result.get("outcomes", {}))  # type: ignore[arg-type]
    tally.findings.update(set(findings))
    return findings


def main(arguments: argparse.Namespace) -> Tally:
    """Run the cases."""
    started = time.monotonic()
    tally = Tally(arguments.seed)
    numbers = range(arguments.first, arguments.first + arguments.cases)
    memory = "/dev/shm"  # a file system in memory if available, since power is not cut here
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as temporary:
        root = Path(temporary)
        files = prepare(root)
        place = root / "case"
        place.mkdir()
        for number in [arguments.only] if arguments.only is not None else numbers:
            result = run_case(place, files, arguments.seed, number)
            findings = note(tally, result, number)
            if findings:
                print(f"case {number}: {result['kind']}, {str(result.get('did'))[:150]}", file=sys.stderr)
                for finding in list(dict.fromkeys(findings))[:6]:
                    print(f"    {finding}", file=sys.stderr, flush=True)
                if arguments.keep is not None:
                    _keep(files[str(result["kind"])], f"{arguments.seed}:{number}", Path(arguments.keep))
            if arguments.only is not None:
                print(json.dumps(result, indent=2), file=sys.stderr)
            tally.seconds = round(time.monotonic() - started, 1)
            if tally.cases % 250 == 0:
                print(
                    f"seed {tally.seed}: {tally.cases:,} cases, {tally.failed} failed, {tally.seconds:,.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    return tally


def _keep(files: dict[str, bytes], case: str, keep: Path) -> None:
    """Write the damaged file of a case, in a child, for inspection."""
    place = keep / case.replace(":", "-")
    place.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child == 0:
        _write_files(files, place)
        damage(random.Random(case), place, NAME)
        os._exit(0)
    os.waitpid(child, 0)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    made.add_argument("--cases", type=int, default=1000)
    made.add_argument("--first", type=int, default=0, help="number of the first case")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--only", type=int, metavar="CASE", help="run this case alone, and say everything")
    made.add_argument("--keep", metavar="DIR", help="keep the damaged files of cases that fail there")
    made.add_argument("--json", action="store_true", help="print the summary as JSON")
    return made


if __name__ == "__main__":
    tally = main(parser().parse_args())
    if "--json" in sys.argv:
        print(json.dumps(vars(tally), indent=2))
    else:
        print(
            f"seed={tally.seed} cases={tally.cases} failed={tally.failed} signals={tally.signals} hangs={tally.hangs} "
            f"untyped={tally.untyped} wrong_scope={tally.wrong_scope} altered={tally.altered} "
            f"not_sound={tally.not_sound} seconds={tally.seconds}"
        )
        for finding, count in tally.findings.most_common(40):
            print(f"{count:6}  {finding}")
    sys.exit(1 if tally.failed else 0)
