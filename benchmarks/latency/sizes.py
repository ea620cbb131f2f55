"""The sizes of the workloads, and the type of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sizes:
    """The sizes of everything; chosen by `--quick` and `--full`."""

    n_users: int = 100
    each: int = 1_000
    large: int = 10_000
    strangers: int = 0
    """The number of further users of the second, large store; 0: no such store."""
    big: int = 0
    """The number of documents of the one large partition; 0: none."""
    shared: tuple[int, int, int] = (5_000, 1_000, 500)
    dim: int = 256
    n_queries: int = 2_000
    n_checked: int = 200
    seconds: float = 20.0
    """The longest pass of one call."""
    load_seconds: float = 8.0
    use_system: bool = True
    seed: int = 0
    cores: Sequence[int] = field(default_factory=list)


Row = dict[str, Any]
Part = dict[str, list[Row]]
"""Rows by section: "rows" (times), "stores", "load", "threads", "corpus", "notes"."""


QUICK = Sizes(
    n_users=4,
    each=100,
    large=400,
    strangers=4,
    shared=(200, 100, 50),
    dim=32,
    n_queries=60,
    n_checked=20,
    seconds=1.0,
    load_seconds=0.2,
    use_system=False,
)
USUAL = Sizes()
FULL = Sizes(strangers=890, big=1_000_000)
