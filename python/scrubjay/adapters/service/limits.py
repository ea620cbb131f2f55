"""The limits of what one caller may request."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

_MAX_CALLERS = 10_000
_MAY_BE_0 = ("rate", "max_connections_per_peer")


@dataclass(frozen=True)
class Limits:
    """What a service takes.

    Args:
        max_body_bytes: of one request.
        max_k: hits of a search, memories of a listing.
        max_batch: memories in one write.
        rate: requests a second for each token; 0: no limit. `burst` of them may come at once.
        max_in_flight: requests that are worked on at once.
        max_arriving_bytes: of all bodies that are on their way; above it bodies of more than 64 KiB are refused.
        max_unsent_bytes: of all answers that callers have not read; above it those that waited longest are dropped.
        max_connections: in all; fewer if the process may not open so many files. At the cap the connection that waited
            longest (for a request, the rest of one, or a reader) makes room; if all are at work new ones are refused.
        max_connections_per_peer: from one IPv4 address, or one /64 network of IPv6; 0: no cap of its own, for a service
            behind a proxy, where all callers have the address of the proxy.
        max_header_bytes: of one request.
        header_timeout: seconds that a caller may take to send the headers of a request.
        body_timeout: seconds that a caller may take to send the body.
        request_timeout: seconds from the headers to the answer; what the index is doing then goes on to its end.
        send_timeout: seconds that a caller may take to read an answer.
        idle_timeout: seconds between two requests of a connection.
        drain_timeout: seconds that requests may take to end when the service is told to.

    :func:`serve` enforces the limits of connections; another server that runs the application of :func:`create_app`
    has its own.

    >>> Limits(max_k=10).max_k
    10
    """

    max_body_bytes: int = 4 << 20
    max_k: int = 100
    max_batch: int = 1000
    rate: float = 1000.0
    burst: int = 2000
    max_in_flight: int = 256
    max_arriving_bytes: int = 256 << 20
    max_unsent_bytes: int = 256 << 20
    max_connections: int = 512
    max_connections_per_peer: int = 256
    max_header_bytes: int = 16 << 10
    header_timeout: float = 10.0
    body_timeout: float = 30.0
    request_timeout: float = 120.0
    send_timeout: float = 60.0
    idle_timeout: float = 65.0
    drain_timeout: float = 30.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, least = getattr(self, field.name), 0 if field.name in _MAY_BE_0 else 1
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{field.name}: expected a number, got {type(value).__name__}")
            if not (
                math.isfinite(value) and (value >= least or (least and value > 0 and "timeout" in field.name))
            ):
                raise ValueError(f"{field.name}: expected {least} or more, got {value}")


class Rates:
    """Token buckets (as for leaky ones, not bearers), one a caller. For one thread: the event loop's.

    >>> rates = Rates(rate=10, burst=2)
    >>> [rates.wait("jane", now=now) for now in (0.0, 0.0, 0.0, 0.2)]
    [0.0, 0.0, 0.1, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._callers: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # what is left, as of when

    def wait(self, caller: Hashable, now: float | None = None) -> float:
        """Count one request; return 0, or how many seconds the caller has to wait (and then it does not count)."""
        if self._rate == 0:
            return 0.0
        now = time.monotonic() if now is None else now
        left, at = self._callers.pop(caller, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._rate)
        allowed = left >= 1
        self._callers[caller] = (left - allowed, now)
        if len(self._callers) > _MAX_CALLERS:
            self._callers.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
