"""The recorded history of a fleet, and a check of what each reader may have seen.

Every write call is an interval from its beginning to its acknowledgement; if its outcome is unknown, `ack` is None.
All processes use the clock of the machine. A key (a document, a fact, a slot of facts) has a value or None. Calls that
overlap may have happened in any order; of two that do not, the earlier one ended before the later one began. A reader
is wrong if no order of the calls explains its result:

- a value that was never written, or only after the reader had finished (phantom);
- a value from before a call whose effect the consistency level of the reader guarantees (lost);
- a value of one key from before a call, while another key shows the value of the same call (half-written).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["UNREAD", "Call", "History", "Key", "Seen", "Stamped"]

UNREAD = "?"
"""The value of a key that a reader found but could no longer read; it is not judged."""


class Key(NamedTuple):
    """The name of a value: a part, which is "document", "fact", "slot" (the one in force of mutually exclusive facts)
    or "record" (a fact of a slot, in force or not); an exact scope as text; a name within the scope."""

    part: str
    scope: str
    name: str


@dataclass
class Call:
    """One write call, which is atomic.

    `wipes` are the places that an erasure deletes, as (part, exact scope): all keys in them, known or not.
    """

    who: str
    number: int
    kind: str
    begin: float
    ack: float | None = None
    writes: dict[Key, str | None] = field(default_factory=dict)
    wipes: frozenset[tuple[str, str]] = frozenset()
    is_sighted: bool = False
    """Whether the call was not acknowledged, but a reader saw it; `ack` is then the time at which the reader ended."""

    def is_over_before(self, other: Call) -> bool:
        """Return whether this call had ended when the other one began."""
        return self.ack is not None and self.ack < other.begin

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.who}"


@dataclass(frozen=True)
class Stamped:
    """The stamp of a write that a reader was given: process, scope, beginning of the call, time of the stamp."""

    who: str
    scope: str
    begin: float
    at: float


@dataclass(frozen=True)
class Seen:
    """The result of a reader; keys in its `places` that are not in `values` were not found."""

    who: str
    level: str
    begin: float
    end: float
    places: frozenset[tuple[str, str]]
    values: Mapping[Key, str]
    others_since: float | None
    """The reader must have seen everything that others committed by this time. None: the answer was marked stale, so
    nothing is guaranteed, not even writes of its own process, if it could not catch up after them."""
    stamp: Stamped | None = None
    is_one_moment: bool = False
    """Whether there were no writes meanwhile, so that transactions over several scopes must be complete, too."""

    def relies_on(self, call: Call, key: Key) -> bool:
        """Return whether the level guarantees that the reader has seen the effect of a call on a key."""
        if call.ack is None or self.others_since is None:
            return False
        if call.who == self.who and not call.is_sighted:
            return call.ack <= self.begin
        if call.ack < self.others_since:
            return True
        stamp = self.stamp
        if stamp is None or stamp.scope != key.scope or key.part != "document":
            return False
        return call.ack < stamp.begin or (
            call.who == stamp.who and not call.is_sighted and call.ack <= stamp.at
        )


class History:
    """The calls since a time at which every value was known.

    Args:
        before: the values at that time.
        calls: the calls, in any order.
        past: earlier values; an answer that is marked stale may have them.
    """

    def __init__(
        self, before: Mapping[Key, str], calls: Iterable[Call], past: Collection[tuple[Key, str]] = ()
    ) -> None:
        first = Call("the state before", 0, "state", float("-inf"), float("-inf"))
        self.calls = list(calls)
        self._past = past
        self._all = [first, *self.calls]
        keys = dict.fromkeys([*before, *(key for call in self.calls for key in call.writes)])
        first.writes = {key: before.get(key) for key in keys}
        self._of: dict[Key, list[tuple[Call, str | None]]] = {key: [] for key in keys}
        self._in: dict[tuple[str, str], list[Key]] = {}
        for key in keys:
            self._in.setdefault((key.part, key.scope), []).append(key)
        for call in self._all:
            for place in call.wipes:
                for key in self._in.get(place, ()):
                    call.writes.setdefault(key, None)
            for key, value in call.writes.items():
                self._of[key].append((call, value))

    def written(self) -> set[tuple[Key, str]]:
        """Return all values that existed or may have existed."""
        return {(key, value) for call in self._all for key, value in call.writes.items() if value is not None}

    def sight(self, readers: Iterable[Seen]) -> int:
        """Mark calls as acknowledged if a reader saw one of their values; return their number."""
        n = 0
        for seen in sorted(readers, key=lambda one: one.end):
            for key, value in seen.values.items():
                for call, written in self._of.get(key, ()):
                    if call.ack is None and written == value:
                        call.ack, call.is_sighted = seen.end, True
                        n += 1
        return n

    def disagreements(self, seen: Seen) -> Iterator[str]:
        """Yield a message for each finding of a reader that no order of the calls explains."""
        shown: dict[int, tuple[Call, Key]] = {}
        makers: dict[Key, list[Call]] = {}
        for key in dict.fromkeys(
            [*seen.values, *(k for place in seen.places for k in self._in.get(place, ()))]
        ):
            value = seen.values.get(key)
            if value == UNREAD:
                continue
            written = self._of.get(key, [])
            makers[key] = [call for call, one in written if one == value and call.begin <= seen.end]
            if not makers[key]:
                if value is not None and (key, value) not in self._past:
                    yield f"phantom: {_told(seen, key, value)}, which nobody had written"
                elif seen.others_since is not None:
                    yield f"lost: {_told(seen, key, value)}, from long before"
                continue
            for call, _ in written:
                if seen.relies_on(call, key) and _all_before(makers[key], call):
                    yield (
                        f"lost: {_told(seen, key, value)}, from before {call}, "
                        f"acknowledged {seen.begin - (call.ack or 0):.3f} s earlier"
                    )
                    break
            # A stale answer may lack a value because of a much earlier call, which is not known here.
            if len(makers[key]) == 1 and (value is not None or seen.others_since is not None):
                shown[id(makers[key][0])] = (makers[key][0], key)
        for call, key in shown.values():
            for other in call.writes:
                is_one = seen.is_one_moment or other.scope == key.scope
                if is_one and makers.get(other) and _all_before(makers[other], call):
                    yield (
                        f"half-written: {_told(seen, other, seen.values.get(other))}, from before {call}, "
                        f"which {key} shows"
                    )
                    break


def _all_before(makers: Iterable[Call], call: Call) -> bool:
    return all(maker is not call and maker.is_over_before(call) for maker in makers)


def _told(seen: Seen, key: Key, value: str | None) -> str:
    return f"{seen.who} ({seen.level}) found {value!r} as {'/'.join(key)}"
