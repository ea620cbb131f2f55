"""The ageing of facts: a policy, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields

_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Decay:
    """Old, unused facts of low confidence sink in rankings, and at last expire.

    A fact's strength is its confidence, halved every `half_life_days` since it was last used, said or written; each use
    that was noted (`feedback`) adds a half-life's length to that. Only `sweep` reads :meth:`strength`.

    Args:
        half_life_days: of a fact that was never used.
        sink_below: a weaker fact has faded: it is found after all others.
        expire_below: a still weaker fact is deleted; 0: never.
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
            if isinstance(value, bool) or not isinstance(value, (int, float)):
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
        """Return how strong a fact is, 0 to 1.

        Args:
            confidence: of the fact, 0 to 1.
            uses: how often it was of use.
            idle_days: since it was last used, said or written.
        """
        share: float = 2.0 ** -(max(idle_days, 0.0) / (self.half_life_days * (1 + max(uses, 0))))
        return confidence * share

    def strength_now(self, confidence: float, uses: int, last_used_at: int, now: int) -> float:
        """The same with times in microseconds; 1 for a fact that is kept anyway.

        Args:
            confidence, uses: as for :meth:`Decay.strength`.
            last_used_at, now: microseconds since 1970.
        """
        if confidence >= self.keep_from:
            return 1.0
        return self.strength(confidence, uses=uses, idle_days=(now - last_used_at) / _DAY_US)
