"""Conversion of errors to answers for programs, without internal details."""

from __future__ import annotations

import json
import logging
import re
from http import HTTPStatus
from inspect import get_annotations
from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from scrubjay.adapters._typed import UnknownRecordError
from scrubjay.adapters.service.auth import RefusedError, TokenFileError
from scrubjay.backend import ReadOnlyMemoryError, UnknownMemoryError
from scrubjay.base.errors import (
    BudgetError,
    ClosedError,
    ConflictError,
    CursorError,
    EmbedderError,
    Error,
    HeldError,
    OwnedCollectionError,
    RetrievalError,
    StoreBusyError,
)
from scrubjay.documents.records import as_text

_log = logging.getLogger(__name__)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

# Pydantic's names of the alternatives of a field, within the location of a problem.
_ALTERNATIVE = re.compile(r"(constrained-|tagged-|list\[|literal\[|(str|bool|int|float|[A-Za-z]+In)$)")


class BadArgumentError(Exception):
    """An argument that the index rejected: its TypeError or ValueError, as opposed to an error of our own code."""


# Our own exceptions: status, code, and a text if their message is not for callers.
_KNOWN: dict[type[Exception], tuple[int, str, str | None]] = {
    UnknownMemoryError: (404, "not_found", None),
    ReadOnlyMemoryError: (403, "read_only", None),
    UnknownRecordError: (404, "not_found", None),
    OwnedCollectionError: (403, "read_only", None),
    ConflictError: (409, "conflict", None),
    HeldError: (409, "held", None),
    BudgetError: (422, "over_budget", None),
    CursorError: (422, "invalid", None),
    RefusedError: (403, "forbidden", None),
    BadArgumentError: (422, "invalid", None),
    StoreBusyError: (503, "busy", "another writer is at work; try again"),
    ClosedError: (503, "unavailable", "the service is shutting down"),
    EmbedderError: (503, "embedder_failed", "the embedder failed; nothing was written"),
    RetrievalError: (503, "extractor_failed", "the model behind the service failed; nothing was written"),
    TokenFileError: (503, "unavailable", "tokens cannot be checked now"),
    Error: (503, "unavailable", "the store cannot be used now; nothing was changed"),
}
_CODES = {400: "malformed", 404: "not_found", 405: "method_not_allowed", 415: "unsupported_media_type"}


class Json(JSONResponse):
    """A JSON response; lone surrogates, which metadata may contain and clients reject, become U+FFFD."""

    def render(self, content: Any) -> bytes:
        """Return `content` as bytes."""
        return as_text(_encode(content)).encode()


def failure(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Json:
    """Return the answer to a failed request."""
    return Json({"error": {"code": code, "message": message[:1000]}}, status, headers)


def install(app: FastAPI) -> None:
    """Have the application answer every exception with a :class:`~scrubjay.adapters.service.models.Failure`."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    for kind in (*_KNOWN, BadArgumentError):
        app.add_exception_handler(kind, _known)


async def _http(request: Any, error: Any) -> Response:
    code = _CODES.get(error.status_code, "refused")
    message = HTTPStatus(error.status_code).phrase
    if error.status_code == 400:
        message = "body: expected JSON that can be read, within limits of depth and of digits"
    headers = getattr(error, "headers", None)
    if error.status_code == 405 and (allowed := _allowed(request)):
        headers = {"allow": ", ".join(allowed)}
    return failure(error.status_code, code, message, headers)


def _allowed(request: Any) -> list[str]:
    """Return the methods of a path, from the OpenAPI document, because each method is a separate route."""
    for path, operations in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            return sorted(method.upper() for method in operations)
    return []


async def _invalid(request: Any, error: Any) -> Response:
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return failure(400, "malformed", "body: expected JSON")
    if isinstance(getattr(error, "body", None), bytes):  # the body was not parsed as JSON
        return failure(415, "unsupported_media_type", "content-type: expected application/json")
    messages = dict.fromkeys(
        f"{_place(problem['loc'])}: {_said(problem, request)}" for problem in problems[:5]
    )
    return failure(422, "invalid", "; ".join(messages))


def _said(problem: dict[str, Any], request: Any) -> str:
    """Return the message for a problem of a field; for an unknown field it lists the known ones."""
    if problem["type"] == "less_than_equal" and problem["loc"][-1] in (
        "k",
        "limit",
    ):  # the limit of the service may be lower
        most = min(problem["ctx"]["le"], request.app.state.max_k)
        return f"expected at most {most}, got {problem['input']}"
    if problem["type"] != "extra_forbidden":
        return str(problem["msg"])
    fields = _fields_of(request.scope["route"].endpoint) if len(problem["loc"]) == 2 else []
    return f"unknown field, expected {', '.join(fields)}" if fields else "unknown field"


def _fields_of(endpoint: Any) -> list[str]:
    """Return the fields of an endpoint's request body."""
    for hint in get_type_hints(endpoint).values():
        if isinstance(hint, type) and hasattr(hint, "model_fields"):
            own_first = [name for kind in hint.__mro__ for name in get_annotations(kind)]
            names = dict.fromkeys([*own_first, *hint.model_fields])
            return [hint.model_fields[name].alias or name for name in names if name in hint.model_fields]
    return []


def _place(loc: tuple[Any, ...]) -> str:
    """Return the location of a problem in the body, without pydantic's alternatives."""
    parts = [str(part)[:80] for part in loc[1:] if not _ALTERNATIVE.match(str(part))]
    return ".".join(parts) or str(loc[0])


async def _known(request: Any, error: Exception) -> Response:
    for kind in type(error).__mro__:
        if kind in _KNOWN:
            status, code, message = _KNOWN[kind]
            if message is not None:
                _log.warning("%s %s: %s", request.method, request.scope.get("path"), error)
            headers = {"retry-after": "1"} if status == 503 else None
            return failure(status, code, str(error) if message is None else message, headers)
    raise error
