"""Metrics of a service for Prometheus. They contain no tenant, id or text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from scrubjay._native import show_config_dict
from scrubjay.base.errors import Error
from scrubjay.index import Index

_SEARCH_SECONDS = (2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5)
_AGE_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 30)
_REQUEST_SECONDS = (5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics of one service, in a separate registry.

    >>> metrics = Metrics(Index())
    >>> metrics.refused.labels("rate").inc()
    >>> 'scrubjay_refused_total{reason="rate"} 1.0' in metrics.render().decode()
    True
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, index: Index) -> None:
        self._registry = CollectorRegistry()
        options: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter(
            "scrubjay_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            **options,
        )
        """Requests by route, method and status."""
        self.seconds = Histogram(
            "scrubjay_request_seconds", "From a request's first byte to its answer.", ["route"],
            buckets=_REQUEST_SECONDS, **options,
        )  # fmt: skip
        """Latency in seconds by route."""
        self.search_seconds = Histogram(
            "scrubjay_search_seconds", "Search time by the mode that ran.", ["mode"],
            buckets=_SEARCH_SECONDS, **options,
        )  # fmt: skip
        """Latency of searches in seconds, by the mode that ran."""
        self.age_seconds = Histogram(
            "scrubjay_search_age_seconds",
            "Maximum age of answers with respect to writes of other processes; over a database.",
            buckets=_AGE_SECONDS,
            **options,
        )
        """Staleness of search answers in seconds."""
        self.degraded = Counter(
            "scrubjay_degraded",
            "Degraded searches, by reason.",
            ["reason"],
            **options,
        )
        """Degraded searches by reason."""
        self.refused = Counter("scrubjay_refused", "Refused requests, by reason.", ["reason"], **options)
        """Refused requests by reason."""
        self.in_flight = Gauge("scrubjay_requests_in_flight", "Requests in progress.", **options)
        """Requests in progress."""
        info = Gauge("scrubjay_info", "The running version.", ["version", "simd"], **options)
        config = show_config_dict()
        info.labels(config["version"], config["simd_active"]).set(1)
        self._registry.register(_IndexCollector(index))

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; index statistics are read at this time."""
        text: bytes = generate_latest(self._registry)
        return text


class _IndexCollector:
    """The state of the index, read when metrics are requested."""

    _SHOWN: ClassVar = {
        "documents": "Memories in the index.",
        "partitions": "Scopes that have memories.",
        "resident_documents": "Memories resident in this process.",
        "memory_bytes": "Resident bytes of the index in this process.",
        "file_bytes": "Bytes of the index's files.",
        "feed_lag_seconds": "Seconds since the last news from the database about other writers.",
    }
    _SOURCES: ClassVar = {
        "image": "loads_from_image",
        "rows": "loads_from_rows",
        "changes": "loads_of_changes",
    }

    _RESULTS: ClassVar = ("read", "cached", "lost", "away", "written")

    def __init__(self, index: Index) -> None:
        self._index = index

    def collect(self) -> Iterable[Any]:
        try:
            stats = self._index.admin.stats()
        except Error:  # closed, or unreadable: /health/ready reports it
            return
        for name, help in self._SHOWN.items():
            if name in stats:
                yield GaugeMetricFamily(f"scrubjay_{name}", help, value=float(stats[name] or 0))
        if "load_seconds" not in stats:  # an index in memory
            return
        loads = CounterMetricFamily(
            "scrubjay_loads",
            "Partitions loaded into memory, by source.",
            labels=["source"],
        )
        for source, name in self._SOURCES.items():
            loads.add_metric([source], float(stats[name] or 0))
        yield loads
        if "objects_read" in stats:
            objects = CounterMetricFamily(
                "scrubjay_objects",
                "Large images: read from the object store, cached on this machine, written; lost, or away with "
                "the store (both load from rows instead).",
                labels=["result"],
            )
            for result in self._RESULTS:
                objects.add_metric([result], float(stats[f"objects_{result}"] or 0))
            yield objects
        took, room = float(stats["load_seconds"] or 0), float(stats["evictions"] or 0)
        yield CounterMetricFamily("scrubjay_load_seconds", "Total seconds of these loads.", value=took)
        yield CounterMetricFamily("scrubjay_evictions", "Evicted partitions.", value=room)

    def describe(self) -> Iterable[Any]:
        return ()
