"""The limits of callers."""

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
    """The limits of a service.

    Args:
        max_body_bytes: the body of one request.
        max_k: hits of a search, memories of a listing.
        max_batch: memories in one write.
        rate: requests a second for each token, with bursts of `burst`; 0: no limit.
        max_in_flight: requests processed at once.
        max_arriving_bytes: total size of arriving bodies; above it bodies of more than 64 KiB are refused.
        max_unsent_bytes: total size of unread answers; above it the longest-waiting ones are dropped.
        max_connections: connections in total; fewer if the limit of open files is lower. At the cap the
            longest-waiting connection (for a request, the rest of one, or a reader) is closed; if all are working, new
            ones are refused.
        max_connections_per_peer: connections from one IPv4 address, or one /64 network of IPv6; 0: no separate cap, for
            a service behind a proxy, where all callers have the address of the proxy.
        max_header_bytes: the headers of one request.
        header_timeout: seconds for receiving the headers of a request.
        body_timeout: seconds for receiving the body.
        request_timeout: seconds from the headers to the answer; a running call of the index is still completed.
        send_timeout: seconds for the caller to read an answer.
        idle_timeout: seconds between two requests of a connection.
        drain_timeout: seconds for running requests when the service stops.

    :func:`serve` enforces the limits of connections; another server that runs the application of :func:`create_app` has
    its own.

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
    """Token buckets of rate limiting, one for each caller. Single-threaded: used on the event loop only.

    >>> rates = Rates(rate=10, burst=2)
    >>> [rates.wait("jane", now=now) for now in (0.0, 0.0, 0.0, 0.2)]
    [0.0, 0.0, 0.1, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._callers: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # (tokens left, time)

    def wait(self, caller: Hashable, now: float | None = None) -> float:
        """Count one request and return 0, or return the seconds that the caller must wait, without counting it."""
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
