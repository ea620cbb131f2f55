"""How many instructions does each of ten fixed queries take? The guard that a busy machine cannot blur.

A child process runs under callgrind; two functions of the C library that nothing else calls here (os.getsid and
os.getpgid reach them by plain calls, unlike ctypes) mark where a query begins and ends. The cost of the markers
themselves is measured and taken off. Callgrind knows no AVX-512, so the child is held to AVX2, or to the level that
SCRUBJAY_SIMD names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.micro.data import ZipfTexts, fixed_queries

BEGIN, END = "getsid", "getpgid"
N_WARM = 3


def count(n_documents: int) -> dict[str, int] | None:
    """Instructions of one warm call of each fixed query; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [f"--zero-before={BEGIN}", f"--dump-before={END}"]
        command += [
            sys.executable,
            "-c",
            f"from benchmarks.micro import instructions as i; i.child({n_documents})",
        ]
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "SCRUBJAY_SIMD": os.environ.get("SCRUBJAY_SIMD", "avx2"),
        }
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if finished.returncode:
            raise RuntimeError(finished.stderr[-2_000:])
        totals = [total_of(Path(f"{out}.{number}")) for number in range(1, len(fixed_queries()) + 3)]
    _, nothing, *each = totals
    return {name: total - nothing for name, total in zip(fixed_queries(), each, strict=True)}


def total_of(dump: Path) -> int:
    """The instructions of one dump."""
    found = re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{dump.name}: expected a line of totals, got none")
    return int(found[1])


def child(n_documents: int) -> None:
    """Runs inside callgrind: an empty pair of markers to bind them, one to be measured, then one for each query."""
    import scrubjay

    begin, end = os.getsid, os.getpgid
    engine, scope = scrubjay.Engine(), scrubjay.Scope("micro")
    engine.upsert_many(list(range(n_documents)), ZipfTexts(seed=1).texts(n_documents), scope=scope)
    search = engine.search

    def nothing(query: str) -> None:
        begin(0)
        end(0)

    def measured(query: str) -> None:
        begin(0)
        search(query, scope=scope, k=10, mode="lexical")
        end(0)

    nothing("")
    nothing("")
    for query in fixed_queries().values():
        for _ in range(N_WARM):
            search(query, scope=scope, k=10, mode="lexical")
        measured(query)
