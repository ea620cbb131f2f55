"""The settings of a memory, checked once when it is opened."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scrubjay.base.arguments import is_number
from scrubjay.memory.model.decay import Decay
from scrubjay.memory.model.judge import DefaultJudge, Judge
from scrubjay.memory.model.sensitivity import Classify, checked_classifier
from scrubjay.memory.model.values import Validators, checked_validators


@dataclass(frozen=True)
class Settings:
    """The options of :meth:`scrubjay.memory.Memory.open` that do not concern the file. Made by :meth:`checked`."""

    clock: Callable[[], int]
    """Returns microseconds since 1970."""
    has_own_clock: bool
    """Whether the clock is the caller's; the index then uses it as well."""
    judge: Judge
    decay: Decay
    retention_days: float
    history_days: float | None
    validate: Validators
    """Key of a policy or preference -> function that checks its values."""
    classify: Classify | None
    """Returns the sensitivity of candidates."""
    sweep_every_s: float | None
    dates: Sequence[str] | None
    """Languages of relative dates beside English, validated by the date reader; None: the analyzer's language."""

    @classmethod
    def checked(
        cls,
        clock: Callable[[], int] | None = None,
        judge: Judge | None = None,
        decay: Decay | None = None,
        retention_days: float = 90.0,
        history_days: float | None = None,
        validate: Validators | None = None,
        classify: Classify | None = None,
        sweep_every: timedelta | float | None = None,
        dates: Sequence[str] | None = None,
    ) -> Settings:
        """Return the settings with defaults filled in.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if clock is not None and not callable(clock):
            raise TypeError(f"clock: expected a callable, got {type(clock).__name__}")
        if decay is not None and not isinstance(decay, Decay):
            raise TypeError(f"decay: expected a Decay, got {type(decay).__name__}")
        if judge is not None and not isinstance(judge, Judge):
            raise TypeError(f"judge: expected an object with contradicts(), got {type(judge).__name__}")
        for name, days in (("retention_days", retention_days), ("history_days", history_days)):
            if days is None and name == "history_days":
                continue
            if not is_number(days):
                raise TypeError(f"{name}: expected a number, got {type(days).__name__}")
            if not 0 <= days < 1e6:
                raise ValueError(f"{name}: expected 0 or more, below a million, got {days}")
        seconds = interval_of(sweep_every)
        return cls(
            clock or (lambda: time.time_ns() // 1000),
            clock is not None,
            judge or DefaultJudge(),
            decay or Decay(),
            retention_days,
            history_days,
            checked_validators(validate),
            checked_classifier(classify),
            seconds,
            dates,
        )


def interval_of(every: Any) -> float | None:
    """Return an interval in seconds.

    Raises:
        TypeError, ValueError: not an interval, or not positive.

    >>> interval_of(timedelta(hours=1)), interval_of(None)
    (3600.0, None)
    """
    if every is None:
        return None
    if isinstance(every, timedelta):
        every = every.total_seconds()
    if not is_number(every):
        raise TypeError(f"sweep_every: expected a timedelta or seconds, got {type(every).__name__}")
    if not 0 < every <= threading.TIMEOUT_MAX:
        raise ValueError(f"sweep_every: expected more than 0 seconds, got {every}")
    return float(every)
