"""Pages by offset of search results, each result once.

The number of candidates of each ranking grows with the number of results, and with it the order of results beyond the
first hundred: pages cut from rankings of different lengths would repeat some results and omit others. So the results of
previous pages are remembered, and a page has the best of the remaining ones.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from scrubjay.base.initialised import guarded
from scrubjay.base.locks import renew_in_children

T = TypeVar("T")

_STEADY = 100
"""Results up to here are the same in rankings of every length: a query fuses at least this many candidates."""

_SECONDS = 600.0
_MOST_WALKS, _MOST_KEYS = 256, 1_000_000


class _Walk(NamedTuple):
    """The results of the pages of a question so far, in order."""

    until: float
    keys: list[Hashable]


@guarded
class RankedPages:
    """The pages of one adapter's questions. Thread-safe.

    >>> def found(n):  # a ranking whose order depends on its length
    ...     names = ["a", "b", "c", "d"][:n]
    ...     return names, [*reversed(names)] if n > 2 else names
    >>> pages = RankedPages(steady=1)
    >>> [pages.page("question", offset, 2, lambda n: (found(n)[1], found(n)[1])) for offset in (0, 2)]
    [['a', 'b'], ['d', 'c']]
    """

    def __init__(self, steady: int = _STEADY) -> None:
        self._steady = steady
        self._walks: OrderedDict[Hashable, _Walk] = OrderedDict()
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")

    def page(
        self,
        question: Hashable,
        offset: int,
        limit: int,
        search: Callable[[int], tuple[Sequence[T], Sequence[Hashable]]],
    ) -> list[T]:
        """Return the best `limit` results, without the `offset` ones that the previous pages had.

        If no page ended at `offset` in the last ten minutes, these are the first `offset` of the ranking.

        Args:
            question: equal only for the pages of one question.
            offset, limit: the number of results to skip, and the maximum number to return.
            search: takes a number and returns that many results, best first, and a key that identifies each.
        """
        need = offset + limit
        if need <= self._steady:
            return list(search(need)[0][offset:])
        before = search(offset)[1] if 0 < offset <= self._steady else self._before(question, offset)
        results, keys = search(need)
        is_jump = before is None and offset > 0
        if before is None:
            before, left = keys[:offset], [*range(offset, len(results))]
        else:
            seen = set(before)
            left = [i for i, key in enumerate(keys) if key not in seen][:limit]
        self._remember(question, [*before, *(keys[i] for i in left)], is_jump)
        return [results[i] for i in left]

    def _before(self, question: Hashable, offset: int) -> Sequence[Hashable] | None:
        with self._lock:
            walk = self._walks.get(question)
            is_known = walk is not None and walk.until >= time.monotonic() and len(walk.keys) >= offset > 0
            return walk.keys[:offset] if walk is not None and is_known else None

    def _remember(self, question: Hashable, keys: list[Hashable], is_jump: bool) -> None:
        with self._lock:
            known = self._walks.get(question)
            if is_jump and known is not None and known.until >= time.monotonic():
                return  # the walk continues at its end
            if known is not None and known.keys[: len(keys)] == keys:  # an earlier page, requested again
                keys = known.keys
            self._walks[question] = _Walk(time.monotonic() + _SECONDS, keys)
            self._walks.move_to_end(question)
            while self._walks and (
                len(self._walks) > _MOST_WALKS
                or sum(len(walk.keys) for walk in self._walks.values()) > _MOST_KEYS
            ):
                self._walks.popitem(last=False)
