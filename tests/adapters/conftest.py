"""What the tests of every adapter share."""

from __future__ import annotations

import os
import tempfile

# Before anything imports Haystack: running a pipeline in a test is nobody's usage.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

# Before anything imports cognee: it needs no network, and writes nowhere but here.
_COGNEE = f"{tempfile.gettempdir()}/scrubjay-tests-cognee-{os.getpid()}"
for _name, _value in {
    "TELEMETRY_DISABLED": "1",
    "LOG_LEVEL": "ERROR",
    "COGNEE_LOGS_DIR": f"{_COGNEE}/logs",
    "SYSTEM_ROOT_DIRECTORY": f"{_COGNEE}/system",
    "DATA_ROOT_DIRECTORY": f"{_COGNEE}/data",
    "CACHE_ROOT_DIRECTORY": f"{_COGNEE}/cache",
    "CACHING": "false",
    "LLM_API_KEY": "none",
}.items():
    os.environ.setdefault(_name, _value)
