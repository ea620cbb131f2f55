"""Concurrent embedding of batches, for embedders that gain by it.

An embedder requests it by its attribute `parallel_batches`. The batches do not depend on the concurrency, so neither do
the vectors, nor what a failure leaves behind: batches start in order, and the first failed batch in that order counts.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scrubjay.embedders.protocol import Embedder

_MOST = 32  # threads per call


class Answer(NamedTuple):
    """The result of embedding a batch."""

    batch: list[str]
    output: Any
    error: Exception | None
    """The exception, if it failed."""
    seconds: float


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_at_once(embedder: Embedder) -> int:
    """Return how many batches to give an embedder concurrently; 1: one after the other."""
    n = getattr(embedder, "parallel_batches", 1)
    if isinstance(n, bool) or not isinstance(n, int):
        return 1
    return max(1, min(n, _MOST))


def answers(
    embedder: Embedder, batches: Sequence[list[str]], n_threads: int, progress: Callable[[int], object]
) -> list[Answer]:
    """Embed batches on `n_threads` threads, one of them the caller's; return the answers up to the first failure.

    Exceptions that are not an Exception (Ctrl-C) propagate. The other threads have ended when this returns or raises:
    they finish the batches that they have started. If a thread cannot be started, there are fewer.

    Args:
        embedder: its `embed_documents` is called.
        batches: of texts.
        n_threads: the number of threads.
        progress: called on the caller's thread with the number of texts embedded since its last call.
    """
    work = _Work(embedder, batches)
    helpers: list[threading.Thread] = []
    try:
        for _ in range(min(n_threads, len(batches)) - 1):
            context = contextvars.copy_context()
            helper = threading.Thread(target=context.run, args=(work.do,), name="scrubjay-embedding")
            try:
                helper.start()
            except RuntimeError:  # the interpreter is shutting down, or the limit of threads is reached
                break
            helpers.append(helper)
        work.do(progress)
    finally:
        work.is_over = True
        for helper in helpers:
            helper.join()
    if helpers:
        work.tell(progress)
    if work.stopped_by is not None:
        raise work.stopped_by
    return work.in_order()


class _Work:
    """Batches that threads take in order. Every batch that was taken is embedded, so there are no gaps before the first
    failed one."""

    def __init__(self, embedder: Embedder, batches: Sequence[list[str]]) -> None:
        self.is_over = False
        self.stopped_by: BaseException | None = None
        self._embedder = embedder
        self._batches = batches
        self._numbers = itertools.count()  # shared by the threads: next() is atomic
        self._answers: list[Answer | None] = [None] * len(batches)
        self._sizes: list[int] = []  # of the embedded batches, in order of completion
        self._n_told = 0

    def do(self, progress: Callable[[int], object] | None = None) -> None:
        """Embed batches until none is left or one has failed."""
        while not self.is_over and (number := next(self._numbers)) < len(self._batches):
            try:
                self._answers[number] = self._answer(self._batches[number])
            except BaseException as error:
                self.is_over = True
                if progress is not None:  # this is the caller's thread
                    raise
                self.stopped_by = error
            if progress is not None:
                self.tell(progress)

    def _answer(self, batch: list[str]) -> Answer:
        begun = time.monotonic()
        try:
            output = self._embedder.embed_documents(batch)
        except Exception as error:  # noqa: BLE001 - the caller decides
            self.is_over = True
            return Answer(batch, None, error, time.monotonic() - begun)
        self._sizes.append(len(batch))
        return Answer(batch, output, None, time.monotonic() - begun)

    def tell(self, progress: Callable[[int], object]) -> None:
        """Report the number of texts embedded since the last call; on the caller's thread."""
        since = self._sizes[self._n_told :]
        self._n_told += len(since)
        if since:
            progress(sum(since))

    def in_order(self) -> list[Answer]:
        """Return the answers up to the first failure."""
        found = []
        for answer in self._answers:
            if answer is None:
                break
            found.append(answer)
            if answer.error is not None:
                break
        return found
