"""The registry of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory_store_conformance.outcomes import Violation

if TYPE_CHECKING:
    from memory_store_conformance.context import Context

__all__ = ["LEVELS", "Check", "check", "registered", "require"]

LEVELS = {
    "crud": "what is written comes back, in order",
    "isolation": "nothing of one scope reaches another",
    "deletion": "what was deleted is gone",
    "durability": "what was acknowledged stays",
    "retrieval": "a floor of what a search finds",
    "filters": "a filter means what it says",
    "expiry": "what has expired is gone, and nothing else",
    "truth": "statements and their times",
    "async": "the event loop goes on",
    "errors": "bad input is refused, and changes nothing",
    "paging": "a listing in pages is whole and linear",
    "costs": "bytes, writes and times: measured, not judged",
}
"""The levels in order, with their subjects."""


@dataclass(frozen=True)
class Check:
    """A check of one promise.

    Attributes:
        id: "level.name".
        promise: what a store guarantees.
        why: the consequence for users if it does not.
        needs: the capabilities that the check needs.
        run: the function; it raises :class:`Violation`, and returns figures or None.
    """

    id: str
    promise: str
    why: str
    needs: frozenset[str]
    run: Callable[[Context], dict[str, Any] | None]

    @property
    def level(self) -> str:
        return self.id.partition(".")[0]


_CHECKS: dict[str, Check] = {}


def check(id: str, *, why: str, needs: Iterable[str] = ()) -> Callable[[Any], Any]:
    """Register a function as the check `id`; its docstring is the promise."""
    if id.partition(".")[0] not in LEVELS:
        raise ValueError(f"id: expected one of the levels {list(LEVELS)}, got {id!r}")
    if id in _CHECKS:
        raise ValueError(f"id: expected a new one, got {id!r}")

    def register(function: Callable[[Context], dict[str, Any] | None]) -> Any:
        promise = " ".join((function.__doc__ or "").split())
        if not promise:
            raise ValueError(f"{id}: expected a docstring that says what is promised")
        _CHECKS[id] = Check(id, promise, why, frozenset(needs), function)
        return function

    return register


def registered() -> list[Check]:
    """Return the checks whose modules have been imported."""
    return list(_CHECKS.values())


def require(condition: object, evidence: str) -> None:
    """Raise :class:`Violation` with the evidence unless the condition holds."""
    if not condition:
        raise Violation(evidence)
