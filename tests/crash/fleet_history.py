"""What happened in a fleet, as the processes wrote it down, and what a reader may have seen of it.

Every call that writes is an interval: it began, and it was acknowledged, or nobody knows what became of it (`ack` is
None). The clock is that of the machine, which its processes share. A key (a document, a fact, a slot of facts) has a
value or None. Nothing is said about the order of calls that overlap; of two that do not, the earlier one is over when
the later one begins. A reader is wrong if no order of the calls explains what it found:

- a value that nobody wrote, or that was written only after the reader had finished (phantom);
- a value from before a call that the reader's level lets it rely on (lost, or a level that is broken);
- a value of one key from before a call that another key of the same transaction shows (half-written).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["UNREAD", "Call", "History", "Key", "Seen", "Stamped"]

UNREAD = "?"
"""What a reader found, and could no longer read: as if it had not looked."""


class Key(NamedTuple):
    """What has a value: part "document", "fact", "slot" (what holds of facts that exclude each other) or "record" (a
    fact of a slot, in force or not); an exact scope as text; a name within it."""

    part: str
    scope: str
    name: str


@dataclass
class Call:
    """One call that writes: all of it is there or nothing.

    `wipes` names what an erasure deletes, as (part, exact scope): every key of them, also those that it knows not.
    """

    who: str
    number: int
    kind: str
    begin: float
    ack: float | None = None
    writes: dict[Key, str | None] = field(default_factory=dict)
    wipes: frozenset[tuple[str, str]] = frozenset()
    is_sighted: bool = False
    """Nobody acknowledged it, but a reader saw it: `ack` is when that reader had finished."""

    def is_over_before(self, other: Call) -> bool:
        """Whether it had ended when the other one began."""
        return self.ack is not None and self.ack < other.begin

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.who}"


@dataclass(frozen=True)
class Stamped:
    """A stamp that a reader was given: of which process's call on which scope, when that began, when it was taken."""

    who: str
    scope: str
    begin: float
    at: float


@dataclass(frozen=True)
class Seen:
    """What a reader found: everything of some parts of some scopes that is not in `values` was not there."""

    who: str
    level: str
    begin: float
    end: float
    places: frozenset[tuple[str, str]]
    values: Mapping[Key, str]
    others_since: float | None
    """Whatever others had committed by then it has to have seen; None: it said that it may be old, so that it need not
    have seen anything, not even a write of its own process behind which it could not catch up any more."""
    stamp: Stamped | None = None
    is_one_moment: bool = False
    """Rows that were read while nobody wrote: transactions over several scopes are to be whole, too."""

    def relies_on(self, call: Call, key: Key) -> bool:
        """Whether the level says that the reader has seen this call's effect on a key."""
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
    """The calls since a moment at which every value was known.

    Args:
        before: the values at that moment.
        calls: in any order.
        past: values that there were earlier; an answer that says that it may be old may have them.
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
        """Return all values that there were, or may have been."""
        return {(key, value) for call in self._all for key, value in call.writes.items() if value is not None}

    def sight(self, readers: Iterable[Seen]) -> int:
        """Take calls of which somebody saw a value for acknowledged; return how many those were."""
        n = 0
        for seen in sorted(readers, key=lambda one: one.end):
            for key, value in seen.values.items():
                for call, written in self._of.get(key, ()):
                    if call.ack is None and written == value:
                        call.ack, call.is_sighted = seen.end, True
                        n += 1
        return n

    def disagreements(self, seen: Seen) -> Iterator[str]:
        """Yield what no order of the calls explains of what a reader found."""
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
            # An old answer may lack a value since long before, by no call that is known here.
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
