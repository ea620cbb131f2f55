"""Progress on standard error: a tqdm bar if tqdm is installed (extra "progress"), else a line that is rewritten.

By default it appears only on a terminal, and only for work of more than a second (if requested, a fifth of a second).
"""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

from scrubjay.base.arguments import checked_flag

__all__ = ["Progress", "open_progress"]

_DELAY_S, _ASKED_DELAY_S = 1.0, 0.2
_EVERY_S = 0.1


class Progress(Protocol):
    """The part of a progress bar that is used."""

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


class _Line:
    """A line with count, share and rate; erased at the end."""

    def __init__(self, stream: TextIO, total: int | None, what: str, unit: str, delay_s: float) -> None:
        self._stream, self._total, self._what, self._unit = stream, total, what, unit
        self._begun = time.monotonic()
        self._next = self._begun + delay_s
        self._n = self._width = 0

    def update(self, n: int) -> None:
        self._n += n
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        rate = self._n / (now - self._begun)
        line = f"{self._what}: {self._n:,} {self._unit}, {rate:,.0f} a second"
        if self._total:
            left_s = (self._total - self._n) / rate if rate else 0.0
            line = (
                f"{self._what}: {self._n / self._total:.0%} of {self._total:,} {self._unit}, {rate:,.0f} a second, "
                f"{left_s:,.0f} s left"
            )
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def close(self) -> None:
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, which must not stop the work
            self._next = float("inf")


def open_progress(wanted: bool | None, *, total: int | None, what: str, unit: str) -> Progress:
    """Open a bar over `total` units (None: unknown). `wanted` None: only if standard error is a terminal."""
    if wanted is not None:
        wanted = checked_flag(wanted, "progress")
    delay_s = _DELAY_S if wanted is None else _ASKED_DELAY_S
    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty()
    if not wanted or total == 0 or sys.stderr is None:
        return _Silent()
    try:
        from tqdm import tqdm
    except ImportError:
        return _Line(sys.stderr, total, what, unit, delay_s)
    # the delay keeps a bar from flashing up that would vanish before it can be read
    bar: Progress = tqdm(
        total=total, desc=what, unit=f" {unit}", delay=delay_s, leave=False, dynamic_ncols=True
    )
    return bar
