"""Ageing of facts: a policy in plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields

from scrubjay.base.arguments import is_number

_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Decay:
    """Old, unused facts of low confidence sink in rankings, and finally expire.

    A fact's strength is its confidence, halved every `half_life_days` since it was last used, said or written; each
    recorded use (`feedback`) lengthens the half-life by its initial value. Only `sweep` reads :meth:`strength`.

    Args:
        half_life_days: the half-life of a fact that was never used.
        sink_below: facts weaker than this have faded: they are ranked after all others.
        expire_below: facts weaker than this are deleted; 0: never.
        keep_from: facts of at least this confidence neither sink nor expire.

    >>> Decay().strength(0.8, uses=0, idle_days=180)
    0.4
    >>> Decay().strength(0.8, uses=2, idle_days=540)
    0.4
    """

    half_life_days: float = 180.0
    sink_below: float = 0.3
    expire_below: float = 0.05
    keep_from: float = 0.95

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not is_number(value):
                raise TypeError(f"{field.name}: expected a number, got {type(value).__name__}")
        if not 0 < self.half_life_days < 1e6:
            raise ValueError(
                f"half_life_days: expected more than 0, below a million, got {self.half_life_days}"
            )
        if not 0 <= self.expire_below <= self.sink_below <= 1:
            raise ValueError(
                f"expire_below: expected 0 <= expire_below <= sink_below <= 1, got {self.expire_below} and "
                f"{self.sink_below}"
            )

    def strength(self, confidence: float, *, uses: int, idle_days: float) -> float:
        """Return the strength of a fact, 0 to 1.

        Args:
            confidence: the confidence of the fact, 0 to 1.
            uses: the number of recorded uses.
            idle_days: days since it was last used, said or written.
        """
        share: float = 2.0 ** -(max(idle_days, 0.0) / (self.half_life_days * (1 + max(uses, 0))))
        return confidence * share

    def strength_now(self, confidence: float, uses: int, last_used_at: int, now: int) -> float:
        """Return :meth:`strength` from times in microseconds; 1 for a fact of at least `keep_from`.

        Args:
            confidence, uses: as for :meth:`Decay.strength`.
            last_used_at, now: microseconds since 1970.
        """
        if confidence >= self.keep_from:
            return 1.0
        return self.strength(confidence, uses=uses, idle_days=(now - last_used_at) / _DAY_US)
