"""Settings shared by the tests of all adapters."""

from __future__ import annotations

import os
import tempfile

# Before Haystack is imported: test runs must not count as usage.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

# Before cognee is imported: no network, and no files elsewhere.
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
