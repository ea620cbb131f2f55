"""Documentation that is written once, where the work is done, and shown on the facade as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def documented(source: Callable[..., Any]) -> Callable[[F], F]:
    """Give a method of a facade the docstring of the method that it forwards to; a decorator.

    In the source the facade's method has the first sentence, for readers of the code.
    """

    def decorate(method: F) -> F:
        method.__doc__ = source.__doc__
        return method

    return decorate
