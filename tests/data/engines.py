"""The engine under test.

This is the native one; or, with SCRUBJAY_TEST_ENGINE=model, the reference model itself, to check that the tests
pass; or, with SCRUBJAY_TEST_ENGINE=mutant:<name>, a model with a seeded bug, to check that they fail.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Kit:
    """An engine class and the scope class that belongs to it."""

    name: str
    Engine: Any
    Scope: Any

    @property
    def is_native(self) -> bool:
        return self.name == "native"


@lru_cache(maxsize=1)
def engine_kit() -> Kit:
    """Return the kit that the environment selects; a missing native module is an error, not a skip."""
    name = os.environ.get("SCRUBJAY_TEST_ENGINE", "native")
    if name == "native":
        from scrubjay import _native

        return Kit(name, _native.Engine, _native.Scope)
    from tests.reference import model, mutants, scopes

    if name == "model":
        return Kit(name, model.ModelEngine, scopes.Scope)
    if name.startswith("mutant:"):
        return Kit(name, mutants.MUTANTS[name.removeprefix("mutant:")], scopes.Scope)
    raise ValueError(f"SCRUBJAY_TEST_ENGINE: expected native, model or mutant:<name>, got {name}")
