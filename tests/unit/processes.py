"""Scenarios that may kill or hang a process, each in its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SETTING = """
import os, signal, sys, threading, time
import numpy as np
import scrubjay
from scrubjay import Engine, Filter, Query, Scope
scope, vector = Scope("acme"), np.ones(16, np.float32)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and what they start
"""


# A hanging process is killed after this time. It is not a measurement, and long, because other processes may be busy.
PATIENCE_SECONDS = 300.0


def outcome_of(code: str, *, timeout: float = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run `code` after SETTING in a new interpreter; return the process."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SETTING + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run(code: str, *, timeout: float = PATIENCE_SECONDS) -> str:
    """Return the output of a new interpreter that runs `code` after SETTING; it must end by itself, with exit code
    0."""
    outcome = outcome_of(code, timeout=timeout)
    assert outcome.returncode == 0, f"exit code {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome.stdout
