"""Error messages of failed calls for clients."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from scrubjay.adapters._typed import UnknownRecordError
from scrubjay.backend import ReadOnlyMemoryError, UnknownMemoryError
from scrubjay.base.errors import (
    BudgetError,
    ConflictError,
    CursorError,
    Error,
    HeldError,
    OwnedCollectionError,
)

_log = logging.getLogger("scrubjay.adapters.mcp")


def refusal(name: str, error: Exception, takes: Iterable[str] = ()) -> str:
    """Return the message of an error for the model: how to correct the call, without paths and other memories.

    Args:
        name: the name of the tool.
        error: the exception that it raised.
        takes: the names of its arguments.
    """
    if isinstance(error, ValidationError):
        arguments = ", ".join(takes)
        return "\n".join(
            f"{'.'.join(str(part)[:80] for part in problem['loc'])}: {_said(problem, arguments)}".encode(
                "utf-8", "replace"
            ).decode()
            for problem in error.errors(include_url=False, include_context=False, include_input=False)[:10]
        )
    known = isinstance(
        error,
        UnknownMemoryError
        | ReadOnlyMemoryError
        | OwnedCollectionError
        | ConflictError
        | CursorError
        | BudgetError
        | HeldError
        | UnknownRecordError,
    )
    if known or (isinstance(error, TypeError | ValueError) and not isinstance(error, Error)):
        return str(error)[:1000].encode("utf-8", "replace").decode()
    _log.error("%s failed", name, exc_info=error)
    return f"{name}: it could not be done now; nothing was changed. Try again later."


def _said(problem: Any, known: str) -> str:
    if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1 and known:
        return f"unknown argument, expected some of {known}"
    return str(problem["msg"])
