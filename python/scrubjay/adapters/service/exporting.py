"""Export of a scope's memory: GET /v1/memory/export, in the line format of :class:`scrubjay.memory.Files`."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import IO, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from scrubjay._native import Scope
from scrubjay.adapters.service import models
from scrubjay.adapters.service.request_scope import FAILURES, scope_of

_Part = Annotated[str | None, Query(min_length=1, max_length=256)]
_MAX_IN_MEMORY_BYTES = 4 << 20
_CHUNK_BYTES = 64 << 10
_KIND = "application/x-ndjson"


class Exports:
    """Exports of a memory.

    Args:
        lines: returns the lines of a scope's export.
        off_loop: runs a call on a thread.
    """

    def __init__(
        self, lines: Callable[[Scope], Iterable[str]], off_loop: Callable[..., Awaitable[Any]]
    ) -> None:
        self._lines, self._off_loop = lines, off_loop

    def add_to(self, router: APIRouter) -> None:
        """Add the route to the memory routes."""
        good: dict[int | str, dict[str, Any]] = {
            200: {"description": "One row a line.", "content": {_KIND: {"schema": {"type": "string"}}}}
        }
        router.add_api_route(
            "/export",
            self.export,
            methods=["GET"],
            response_class=Response,
            response_model=None,
            responses={**good, **FAILURES},
        )

    async def export(
        self, request: Request, tenant: _Part = None, user: _Part = None, agent: _Part = None
    ) -> Response:
        """Export everything of a scope and within it, one row a line, losslessly and unencrypted."""
        scope = scope_of(request, "read", models.ScopeIn(tenant=tenant, user=user, agent=agent))
        file = await self._off_loop(self._written, scope)
        headers = {
            "cache-control": "no-store",
            "content-disposition": 'attachment; filename="memory.jsonl"',
        }
        return StreamingResponse(self._read(file), media_type=_KIND, headers=headers)

    def _written(self, scope: Scope) -> IO[bytes]:
        """Return an unnamed file with the lines, read from one snapshot of the memory on one thread."""
        file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY_BYTES)  # noqa: SIM115 - closed when it was sent
        try:
            for line in self._lines(scope):
                file.write(line.encode("utf-8", "backslashreplace"))  # JSON's escapes, as in files
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    async def _read(self, file: IO[bytes]) -> AsyncIterator[bytes]:
        try:
            while chunk := await self._off_loop(file.read, _CHUNK_BYTES):
                yield chunk
        finally:
            file.close()
