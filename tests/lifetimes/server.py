"""A process that imports everything once and forks a fresh process for each case.

    python -m tests.lifetimes.server [PART of case names...] [--share N]

runs the cases whose names contain all the parts (one in N, always the same), and prints those that failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from tests.lifetimes import situations
from tests.lifetimes.situations import Case

MAX_SECONDS = 180.0
"""A case that takes longer hangs. Most take a tenth of a second; the limit allows for a busy machine."""


class Outcome(NamedTuple):
    """The exit code and output of a case's process."""

    case: Case
    code: int | None  # negative: killed by a signal; None: it hung
    said: str

    @property
    def passed(self) -> bool:
        """Whether the process exited with code 0 and wrote nothing to standard error."""
        return self.code == 0 and not self.said

    def __str__(self) -> str:
        how = "hung" if self.code is None else f"ended with {self.code}"
        return f"{self.case} {how}: {self.said[-3000:]}"


def run(cases: Iterable[Case], *, at_a_time: int = 3) -> Iterator[Outcome]:
    """Run cases in parallel, each in a child of this process; yield their outcomes as they end.

    This process must have no threads and no open index.
    """
    waiting = list(cases)[::-1]
    running: dict[int, tuple[Case, Path, float]] = {}
    while waiting or running:
        while waiting and len(running) < at_a_time:
            case = waiting.pop()
            folder = Path(tempfile.mkdtemp(prefix="lifetimes"))
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                _become_process(case, folder)
            running[child] = (case, folder, time.monotonic())
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            case, folder, _ = running.pop(pid)
            yield _outcome(case, folder, os.waitstatus_to_exitcode(status))
            continue
        for child, (case, folder, since) in list(running.items()):
            if time.monotonic() - since > MAX_SECONDS:
                os.kill(child, signal.SIGABRT)  # faulthandler prints the stacks of all threads
                time.sleep(0.2)
                _kill(child)
                del running[child]
                yield _outcome(case, folder, None)
        time.sleep(0.002)


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        return
    os.waitpid(child, 0)


def _outcome(case: Case, folder: Path, code: int | None) -> Outcome:
    said = (folder / "stderr").read_text(errors="replace")
    if code != 0:
        said = (folder / "stdout").read_text(errors="replace")[-300:] + said
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(case, code, said)


def _become_process(case: Case, folder: Path) -> None:
    """Become the process of a case, which exits as any program does."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    faulthandler.enable(sys.stderr)
    try:
        situations.run(case, folder)
    except Exception:  # noqa: BLE001 - the traceback is shortened
        traceback.print_exc(limit=-3)
        raise SystemExit(1) from None
    raise SystemExit(0)


def main() -> None:
    """Run the cases that the command line selects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--share", type=int, default=1)
    asked = parser.parse_args()
    cases = [
        case
        for case in situations.all_cases()
        if all(part in str(case) for part in asked.part) and crc32(str(case).encode()) % asked.share == 0
    ]
    # A collection in a child, as at its exit, passes over what was imported here: most of a case's work was to copy
    # those pages.
    gc.collect()
    gc.freeze()
    start, n_failed = time.monotonic(), 0
    for outcome in run(cases):
        if not outcome.passed:
            n_failed += 1
            print(outcome, flush=True)
    print(f"{len(cases)} cases, {n_failed} failed, {time.monotonic() - start:.0f} s")
    raise SystemExit(n_failed != 0)


if __name__ == "__main__":
    main()
