"""The common part of all routes: the grant and scope of a request, and argument errors of the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request

from scrubjay._native import Scope
from scrubjay.adapters.service import models
from scrubjay.adapters.service.auth import Grant
from scrubjay.adapters.service.failures import BadArgumentError
from scrubjay.base.errors import Error

T = TypeVar("T")


def grant_of(request: Request) -> Grant:
    """Return the grant of the request's caller."""
    grant: Grant = request.state.grant
    return grant


def scope_of(request: Request, permission: str, asked: models.ScopeIn | None) -> Scope:
    """Return the scope of a request.

    Raises:
        RefusedError: the grant lacks this permission, or is bound to another scope.
        BadArgumentError: neither grant nor request names the tenant.
    """
    grant = grant_of(request)
    grant.check(permission)
    asked = asked or models.ScopeIn()
    try:
        return grant.scope(asked.tenant, asked.user, asked.agent)
    except ValueError as error:
        raise BadArgumentError(str(error)) from error


def arguments_checked(call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Return the result of a call of the index; its argument errors become :class:`BadArgumentError`."""
    try:
        return call(*arguments, **options)
    except Error:
        raise
    except (TypeError, ValueError) as error:
        raise BadArgumentError(str(error)) from error


FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": models.Failure, "description": description}
    for status, description in (
        (400, "The body is not JSON."),
        (401, "No valid token."),
        (403, "The token does not allow this, or the memory is shared and read-only."),
        (404, "There is no such memory in this scope."),
        (408, "The body took too long to arrive."),
        (413, "The body is too large."),
        (415, "The content type is not JSON."),
        (422, "An argument is invalid; the message names it."),
        (429, "Too many requests from this token."),
        (500, "An internal error."),
        (503, "Busy, shutting down, or a component is unavailable; try again."),
    )
}
"""The answers to failed requests, for the OpenAPI document."""
