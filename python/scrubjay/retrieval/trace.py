"""Traces of a retrieval: stages, durations, counters of failures."""

from __future__ import annotations

import importlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from scrubjay.base.errors import MissingExtraError
from scrubjay.base.locks import renew_in_children


@dataclass
class Stage:
    """One step: its name, duration, numbers of candidates in and out, and details.

    Attributes:
        name: of the stage.
        us: duration in microseconds.
        n_in, n_out: candidates in and out.
        details: further information, as JSON types.
    """

    name: str
    us: float = 0.0
    n_in: int = 0
    n_out: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return {
            "name": self.name,
            "us": round(self.us, 1),
            "in": self.n_in,
            "out": self.n_out,
            **self.details,
        }


class _Timed:
    """Times the block. A class, because a generator would cost a search three times as much."""

    __slots__ = ("_attributes", "_span", "_stage", "_start")

    def __init__(self, stage: Stage, span: AbstractContextManager[dict[str, Any]] | None) -> None:
        self._stage = stage
        self._span = span

    def __enter__(self) -> Stage:
        self._start = time.perf_counter_ns()
        if self._span is not None:
            self._attributes = self._span.__enter__()
        return self._stage

    def __exit__(self, *raised: Any) -> None:
        stage = self._stage
        try:
            if self._span is not None:
                if raised[0] is None:
                    self._attributes.update({"in": stage.n_in, "out": stage.n_out})
                self._span.__exit__(*raised)
        finally:
            stage.us = (time.perf_counter_ns() - self._start) / 1000


@dataclass
class Trace:
    """The stages of one retrieval, in order.

    >>> trace = Trace()
    >>> with trace.stage("search", n_in=1) as stage:
    ...     stage.n_out = 3
    >>> [(stage.name, stage.n_in, stage.n_out) for stage in trace.stages]
    [('search', 1, 3)]
    """

    stages: list[Stage] = field(default_factory=list)
    spans: Callable[[str], Any] | None = None
    """Returns a context manager for a stage's name, such as `tracer.start_as_current_span` of OpenTelemetry."""

    def stage(self, name: str, n_in: int = 0, **details: Any) -> _Timed:
        """Time a block; the stage is recorded even if the block raises.

        Args:
            name: of the stage.
            n_in: candidates that go in.
            details: further fields of the :class:`Stage`.
        """
        stage = Stage(name, n_in=n_in, details=details)
        self.stages.append(stage)
        return _Timed(stage, None if self.spans is None else self.whole(name))

    @contextmanager
    def whole(self, name: str) -> Iterator[dict[str, Any]]:
        """Put a span around a block, with the attributes that the block stores in the dict.

        Errors of opening or closing the span are ignored: a span must not fail a retrieval.

        Args:
            name: of the span.
        """
        attributes: dict[str, Any] = {}
        if self.spans is None:
            yield attributes
            return
        manager, span = None, None
        with suppress(Exception):
            context = self.spans(f"scrubjay.{name}")
            span = context.__enter__()
            manager = context
        try:
            yield attributes
        except BaseException as error:
            if manager is not None:
                with suppress(Exception):
                    manager.__exit__(type(error), error, error.__traceback__)
            raise
        if manager is not None:
            with suppress(Exception):
                if span is not None and hasattr(span, "set_attributes"):
                    span.set_attributes({f"scrubjay.{key}": value for key, value in attributes.items()})
            with suppress(Exception):
                manager.__exit__(None, None, None)

    @property
    def total_us(self) -> float:
        """The total time of all stages."""
        return sum(stage.us for stage in self.stages)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the stages as JSON types."""
        return [stage.to_dict() for stage in self.stages]

    def __repr__(self) -> str:
        return " -> ".join(f"{stage.name} {stage.us:.0f} us ({stage.n_out})" for stage in self.stages)


class Counters:
    """Monotonic counters by name, for metrics scrapers. Thread-safe.

    >>> counters = Counters()
    >>> counters.add("searches_total")
    >>> counters.add("degraded_total", reason="reranker_late")
    >>> print(counters.render())
    # TYPE scrubjay_degraded_total counter
    scrubjay_degraded_total{reason="reranker_late"} 1
    # TYPE scrubjay_searches_total counter
    scrubjay_searches_total 1
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._lock = Lock()
        renew_in_children(self, "_lock")

    def add(self, name: str, n: float = 1, **labels: str) -> None:
        """Increase a counter by `n`.

        Args:
            name: of the counter.
            n: the increment.
            labels: of Prometheus.
        """
        with self._lock:
            self._counts[name, tuple(sorted(labels.items())) if labels else ()] += n  # type: ignore[assignment]

    def value(self, name: str, **labels: str) -> float:
        """Return the current count.

        Args:
            name, labels: as given to :meth:`add`.
        """
        with self._lock:
            return self._counts[name, tuple(sorted(labels.items()))]

    def render(self) -> str:
        """Return all counters in the text format of Prometheus."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines: list[str] = []
        for (name, labels), count in counts:
            kind = f"# TYPE scrubjay_{name} counter"
            if kind not in lines:
                lines.append(kind)
            label_text = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels)
            lines.append(
                f"scrubjay_{name}{{{label_text}}} {count:g}" if label_text else f"scrubjay_{name} {count:g}"
            )
        return "\n".join(lines)


def opentelemetry_spans(provider: Any = None) -> Callable[[str], Any]:
    """Return the `spans` of a retriever: one span per retrieval and, inside, one per stage.

    Args:
        provider: a TracerProvider; None: the process's global one.

    Spans are named scrubjay.retrieve, scrubjay.search and so on; attributes are scrubjay.in and scrubjay.out (numbers
    of candidates), on the outer span scrubjay.mode, .hits, .cached and .degraded. They contain no text of a question or
    memory.

    Raises:
        MissingExtraError: `opentelemetry` is not installed (extra "opentelemetry").
    """
    try:
        trace = importlib.import_module("opentelemetry.trace")
    except ImportError:
        raise MissingExtraError("opentelemetry_spans", "opentelemetry", "opentelemetry") from None
    spans: Callable[[str], Any] = trace.get_tracer("scrubjay", tracer_provider=provider).start_as_current_span
    return spans


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def log_to(logger: logging.Logger, level: int = logging.INFO) -> Callable[[dict[str, Any]], None]:
    """Return a hook that logs each retrieval as one record; its fields are in `record.scrubjay`.

    Args:
        logger: of the standard library.
        level: of the records.
    """

    def hook(event: dict[str, Any]) -> None:
        logger.log(
            level,
            "retrieved %d of mode %s in %.0f us",
            event["n_hits"],
            event["mode"],
            event["us"],
            extra={"scrubjay": event},
        )

    return hook
