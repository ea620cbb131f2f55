"""What the tests of every adapter share."""

from __future__ import annotations

import os

# Before anything imports Haystack: running a pipeline in a test is nobody's usage.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
