"""A pytest plugin that imports one module with one change: `-p tests.memory.seeded`, SCRUBJAY_SEEDED=JSON.

The variable contains [module, before, after]; `before` must occur exactly once in the module's source.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any


class Seeded(importlib.machinery.SourceFileLoader):
    """Loads a module from its changed source."""

    def __init__(self, name: str, path: str, before: str, after: str) -> None:
        super().__init__(name, path)
        self.before, self.after = before, after

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        assert source.count(self.before) == 1, f"{fullname}: expected {self.before!r} once"
        return compile(source.replace(self.before, self.after), self.path, "exec")


class Finder:
    """Finds the one module wherever its package is installed."""

    def __init__(self, module: str, before: str, after: str) -> None:
        self.module, self.before, self.after = module, before, after

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = Seeded(name, spec.origin, self.before, self.after)
        return spec


if "SCRUBJAY_SEEDED" in os.environ:
    sys.meta_path.insert(0, Finder(*json.loads(os.environ["SCRUBJAY_SEEDED"])))  # type: ignore[arg-type]
