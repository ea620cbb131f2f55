"""Reports of operations on all scopes: a check, a freeze."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

_MAX_PROBLEMS = 100


@dataclass
class CheckReport:
    """What was checked, and the problems found (at most 100 messages; empty: none).

    `sealed` counts partitions whose tenant's key was not available: only the hashes of their rows are checked.
    """

    documents: int = 0
    partitions: int = 0
    images: int = 0
    sealed: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def add(self, problem: str) -> None:
        """Add a problem."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


class FreezeReport(NamedTuple):
    """What was moved to the cold tier: the number of scopes and documents, and the size of their objects."""

    scopes: int
    documents: int
    n_bytes: int
