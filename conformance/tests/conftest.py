"""Puts this folder on the import path, for the tests and for the child processes of a check."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
