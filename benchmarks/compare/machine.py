"""The machine of a measurement, and the core it is pinned to."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any


def pin(core: int | None = None) -> int | None:
    """Bind this process to one core (default: the last allowed one); return it, or None if unsupported."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def allowed_cores() -> list[int]:
    """Return the cores this process may use, before pinning; [] if the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


LEXICAL_PEERS = ("bm25s", "numba", "tantivy", "numpy")


def describe(peers: Sequence[str] = LEXICAL_PEERS) -> dict[str, Any]:
    """Describe what absolute figures depend on: CPU, SIMD level, build, versions and load."""
    import scrubjay

    config = dict(scrubjay.show_config(as_dict=True) or {})
    cpuinfo = Path("/proc/cpuinfo")
    model = (
        re.search(r"^model name\s*:\s*(.*)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    )
    return {
        "cpu": model[1] if model else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "niceness": os.nice(0) if hasattr(os, "nice") else None,
        "python": sys.version.split()[0],
        "scrubjay": {name: config[name] for name in sorted(config) if isinstance(config[name], (str, int))},
        "peers": {name: version_of(name) for name in peers} | {"sqlite": sqlite3.sqlite_version},
    }
