"""A tqdm progress bar on standard error, by default only if that is a terminal."""

from __future__ import annotations

import sys
from typing import Protocol

__all__ = ["Progress", "open_progress"]


class Progress(Protocol):
    """What is needed of a bar."""

    def update(self, n: int) -> object:
        """Advance by `n` units."""
        ...

    def close(self) -> object:
        """Finish the bar."""
        ...


class _Silent:
    def update(self, n: int) -> None:
        pass

    def close(self) -> None:
        pass


def open_progress(wanted: bool | None, *, total: int | None, what: str, unit: str) -> Progress:
    """Open a bar over `total` units, None if that is unknown. `wanted` None means: if standard error is a terminal."""
    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty()
    if not wanted or total == 0:
        return _Silent()
    from tqdm import tqdm

    # a bar that would vanish before it is read is not drawn at all
    bar: Progress = tqdm(total=total, desc=what, unit=f" {unit}", delay=0.2, leave=False, dynamic_ncols=True)
    return bar
