"""A forked process that reports what it does, one line per word, until it is killed."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

from tests.crash.patience import TimeOf

__all__ = ["Child", "FailureError", "Say"]

Say = Callable[[str], None]
"""Writes a line to the parent."""


class FailureError(AssertionError):
    """A child found a violation, or ended by itself."""


class Child:
    """A forked process and the pipe of its reports."""

    def __init__(self, work: Callable[[Say], None]) -> None:
        self.incoming, outgoing = os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(self.incoming)
            try:
                work(lambda word: void(os.write(outgoing, word.encode() + b"\n")))
            except BaseException as error:  # noqa: BLE001 - reported to the parent
                os.write(
                    outgoing, f"!{type(error).__name__}: {error}\n".replace("\n", " ", 1).encode() + b"\n"
                )
            os._exit(1)
        os.close(outgoing)
        self._said = b""
        self.status = 0

    def listen(self, seconds: float, until: bytes | None = None) -> bool:
        """Read the reports of the child for some time; return whether `until` came before the time or the child ended.

        Time in which the child waited for a processor does not count.
        """
        had = TimeOf(self.id)
        while until is None or until not in self._said:
            left = seconds - had.seconds()
            if left <= 0:
                return False
            if not select.select([self.incoming], [], [], left)[0]:
                continue
            part = os.read(self.incoming, 65536)
            if not part:
                return False
            self._said += part
        return True

    def said(self) -> str:
        """Return the reports read so far."""
        return self._said.decode(errors="replace")

    def kill(self) -> list[str]:
        """Kill the child and return the lines of its report."""
        os.kill(self.id, signal.SIGKILL)
        _, self.status = os.waitpid(self.id, 0)
        while part := os.read(self.incoming, 65536):
            self._said += part
        os.close(self.incoming)
        lines = self._said.decode(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith("!")]
        if failed:
            raise FailureError(failed[0][1:])
        if not os.WIFSIGNALED(self.status) or os.WTERMSIG(self.status) != signal.SIGKILL:
            raise FailureError(f"a child ended with status {self.status}")
        return lines


def void(_: object) -> None:
    """Discard a value."""
