"""Mapping of Scrubjay's errors to errors of a framework."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Caught: TypeAlias = "type[Exception] | tuple[type[Exception], ...]"


class ErrorMap:
    """Translates Scrubjay's errors, as a context manager and a decorator. Thread-safe and reentrant.

    Args:
        rules: type of error (or a tuple of types) -> a function of the error that returns the framework's; often a
            class called with a message. The first matching rule applies, so specific types go first. An error without a
            matching rule propagates unchanged, as does one that a rule has already created.

    The error of Scrubjay is the `__cause__` of the framework's. Its message names the argument, what was expected and
    what was given: include it.

    >>> from scrubjay import StoreError
    >>> class NotStored(Exception): ...
    >>> errors = ErrorMap({StoreError: lambda error: NotStored(f"not stored: {error}")})
    >>> with errors:
    ...     raise StoreError("the disk is full")
    Traceback (most recent call last):
    ...
    scrubjay.backend.error_mapping.NotStored: not stored: the disk is full
    """

    def __init__(self, rules: Mapping[Caught, Callable[[Exception], Exception]] | None = None) -> None:
        self._rules = dict(rules or {})
        for caught, make in self._rules.items():
            types = caught if isinstance(caught, tuple) else (caught,)
            if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in types):
                raise TypeError(f"rules: expected types of errors, got {caught!r}")
            if not callable(make):
                raise TypeError(f"rules[{caught!r}]: expected a function, got {type(make).__name__}")

    def translated(self, error: BaseException) -> Exception | None:
        """Return the framework's error for one of Scrubjay's, or None if no rule matches."""
        for caught, make in self._rules.items():
            if isinstance(error, caught):
                assert isinstance(error, Exception)
                return make(error)
        return None

    def wraps(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorator: return a function that raises the framework's errors."""

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return run

    def __enter__(self) -> ErrorMap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        own = self.translated(error)
        if own is not None and type(own) is not type(error):
            raise own from error
