"""What a client is told of a call that failed."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from scrubjay.adapters._typed import UnknownRecordError
from scrubjay.backend import ReadOnlyMemoryError, UnknownMemoryError
from scrubjay.errors import (
    BudgetError,
    ConflictError,
    CursorError,
    Error,
    HeldError,
    OwnedCollectionError,
)

__all__ = ["refusal"]

_log = logging.getLogger("scrubjay.adapters.mcp")


def refusal(name: str, error: Exception) -> str:
    """What the model reads of an error: what it can do better, nothing of paths and other memories."""
    if isinstance(error, ValidationError):
        return "\n".join(
            f"{'.'.join(str(part)[:80] for part in problem['loc'])}: {problem['msg']}".encode(
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
