"""Shares one docstring between the method that does the work and the facade that forwards to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def documented(source: Callable[..., Any]) -> Callable[[F], F]:
    """Decorator: give a method of a facade the docstring of the method that it forwards to.

    In the source, the facade's method has the first sentence, for readers of the code.
    """

    def decorate(method: F) -> F:
        method.__doc__ = source.__doc__
        return method

    return decorate
