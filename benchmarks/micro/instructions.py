"""Instruction counts of calls, which do not depend on the load of the machine.

A child process runs under callgrind; two functions of the C library that nothing else calls here (os.getsid and
os.getpgid reach them by plain calls, unlike ctypes) mark the beginning and end of a call. The cost of the markers is
measured and subtracted. Callgrind does not support AVX-512, so the child is limited to AVX2, or to the level in
SCRUBJAY_SIMD.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.micro import cases
from benchmarks.micro.data import ZipfTexts, fixed_queries

BEGIN, END = "getsid", "getpgid"
CONTROL = "callgrind_control"
"""Switches the counting on when the imports are over, which would otherwise take most of the time."""
N_WARM = 3
N_OF_FILE = 8
"""The number of counts of the write to a file: some writes begin a new page, so the least counts."""


def simd_level() -> str:
    """Return the SIMD level of the child."""
    return os.environ.get("SCRUBJAY_SIMD", "avx2")


def count(n_documents: int) -> dict[str, int] | None:
    """Return instructions of one warm lexical call of each fixed query, over n documents; None without valgrind."""
    return counted(list(fixed_queries()), f"lexical_child({n_documents})")


def count_cases() -> dict[str, int] | None:
    """Return instructions of one warm call of each of the fixed cases; None without valgrind."""
    names = (*cases.NAMES, *(f"{cases.FILE}, {n}" for n in range(1, N_OF_FILE)))
    found = counted(names, "cases_child()")
    if found is None:
        return None
    least = min(found[name] for name in names if name.startswith(cases.FILE))
    return {**{name: found[name] for name in cases.NAMES}, cases.FILE: least}


def counted(names: Sequence[str], child: str) -> dict[str, int] | None:
    """Run a function of this module under callgrind, which must run `measured` on as many calls."""
    dumps = dumped(len(names), f"from benchmarks.micro import instructions as i; i.{child}")
    if dumps is None:
        return None
    nothing, *each = map(total_of, dumps)
    return {name: total - nothing for name, total in zip(names, each, strict=True)}


def dumped(n_calls: int, code: str) -> list[str] | None:
    """Return callgrind's dumps of an empty pair of markers and of each call of a child; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [f"--zero-before={BEGIN}", f"--dump-before={END}"]
        if shutil.which(CONTROL):
            command.append("--instr-atstart=no")
        command += [sys.executable, "-c", code]
        finished = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        if finished.returncode:
            raise RuntimeError(finished.stderr[-2_000:])
        # the first dump is the startup, with the binding of the markers
        return [Path(f"{out}.{number}").read_text(errors="replace") for number in range(2, n_calls + 3)]


def environment() -> dict[str, str]:
    """Return the environment of a child with reproducible instructions."""
    fixed = {"PYTHONHASHSEED": "0", "SCRUBJAY_HASH_SEED": "1", "SCRUBJAY_SIMD": simd_level()}
    return {**os.environ, **fixed}


def total_of(dump: str) -> int:
    """Return the instructions of one dump."""
    found = re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)
    if found is None:
        raise RuntimeError("expected a line of totals in callgrind's dump, got none")
    return int(found[1])


def lexical_child(n_documents: int) -> None:
    """Runs inside callgrind: the fixed queries, BM25 alone."""
    import scrubjay

    engine, scope = scrubjay.Engine(), scrubjay.Scope("micro")
    engine.upsert_many(list(range(n_documents)), ZipfTexts(seed=1).texts(n_documents), scope=scope)
    queries, lexical = fixed_queries().items(), scrubjay.Query(mode="lexical")
    measured({name: partial(engine.search, text, scope=scope, k=10, query=lexical) for name, text in queries})


def cases_child() -> None:
    """Runs inside callgrind: the fixed cases."""
    calls = cases.calls()
    calls.update({f"{cases.FILE}, {n}": calls[cases.FILE] for n in range(1, N_OF_FILE)})
    measured(calls)


def measured(calls: Mapping[str, Callable[[], Any]]) -> None:
    """Run an empty pair of markers to bind them, one to be measured, then one for each call, warmed up."""
    begin, end = os.getsid, os.getpgid
    if shutil.which(CONTROL):
        control = subprocess.Popen([CONTROL, "--instr=on", str(os.getpid())], stdout=subprocess.DEVNULL)
        while control.poll() is None:
            pass  # callgrind listens between instructions; to interrupt a wait its tool would need the right to trace
        if control.returncode:
            raise RuntimeError(f"{CONTROL}: expected exit code 0, got {control.returncode}")

    def between(call: Callable[[], Any]) -> None:
        begin(0)
        call()
        end(0)

    def nothing() -> None:
        pass

    between(nothing)
    between(nothing)
    for call in calls.values():
        for _ in range(N_WARM):
            call()
        between(call)
