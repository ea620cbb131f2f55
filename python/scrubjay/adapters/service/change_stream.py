"""The changes of a memory as server-sent events: GET /v1/memory/changes.

A stream ends after a while; the browser's EventSource (or any client) reconnects and sends the last event it saw as
`Last-Event-ID`. So a follower misses nothing, and occupies a request in flight no longer than other requests do.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from scrubjay._native import Scope
from scrubjay.adapters.service import models
from scrubjay.adapters.service.failures import BadArgumentError, failure
from scrubjay.adapters.service.limits import Limits
from scrubjay.adapters.service.request_scope import scope_of
from scrubjay.base.errors import Error
from scrubjay.documents.records import as_text
from scrubjay.memory.exchange.json_types import plain
from scrubjay.memory.ledger.changes import ChangeEvent
from scrubjay.memory.read.feed import Feed, checked_cursor

_Part = Annotated[str | None, Query(min_length=1, max_length=256)]
_POLL_SECONDS = 0.5
_COMMENT_SECONDS = 15.0  # interval of keep-alive comments; proxies close silent streams
_MOST_SECONDS = 25.0  # below the drain timeout of a stopping service
_BATCH = 100


class Followers:
    """Streams of changes, at most a quarter of the requests in flight.

    Args:
        feed: returns the feed of the served memory.
        limits: the limits of the service.
        off_loop: runs a call on a thread.
    """

    def __init__(
        self, feed: Callable[[], Feed], limits: Limits, off_loop: Callable[..., Awaitable[Any]]
    ) -> None:
        self._feed, self._off_loop = feed, off_loop
        self._seconds = min(_MOST_SECONDS, limits.request_timeout * 0.8)
        self._most, self._n = max(1, limits.max_in_flight // 4), 0

    def add_to(self, router: APIRouter) -> None:
        """Add the route to the memory routes."""
        # Excluded from the OpenAPI document, whose clients wait for the end of an answer.
        router.add_api_route("/changes", self.follow, methods=["GET"], include_in_schema=False)

    async def follow(
        self,
        request: Request,
        tenant: _Part = None,
        user: _Part = None,
        agent: _Part = None,
        since: Annotated[str | None, Query(max_length=20)] = None,
        within: bool = False,
        wait: Annotated[float, Query(ge=0, le=3600, allow_inf_nan=False)] = _MOST_SECONDS,
    ) -> Response:
        """Stream the changes after a cursor, and new ones as they happen."""
        scope = scope_of(request, "read", models.ScopeIn(tenant=tenant, user=user, agent=agent))
        seen = await self._begin(request.headers.get("last-event-id", since), scope)
        if self._n >= self._most:
            return failure(503, "busy", "too many followers at once; try again", {"retry-after": "1"})
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = self._events(seen, scope, within, min(wait, self._seconds))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def _begin(self, given: str | None, scope: Scope) -> int:
        """Return the cursor at which a stream begins: the last event seen, or the current end."""
        if given is None:
            return int(await self._off_loop(lambda: self._feed().cursor))
        if not given.isascii() or not given.isdigit():
            raise BadArgumentError(f"since: expected the id of an event, got {given[:20]!r}")
        seen = int(given)
        await self._off_loop(lambda: self._feed().changes(checked_cursor(seen), scope=scope, limit=1))
        return seen

    async def _events(self, seen: int, scope: Scope, within: bool, seconds: float) -> AsyncIterator[str]:
        self._n += 1
        try:
            end = said = time.monotonic()
            end += seconds
            yield "retry: 1000\n\n"
            while True:
                events = await self._off_loop(
                    lambda since: self._feed().changes(since, scope=scope, within=within, limit=_BATCH), seen
                )
                now = time.monotonic()
                if events:
                    seen, said = events[-1].cursor, now
                    yield "".join(map(as_event, events))
                elif now - said > _COMMENT_SECONDS:
                    said = now
                    yield ": nothing new\n\n"
                if len(events) < _BATCH:
                    if now >= end:
                        return
                    await asyncio.sleep(min(_POLL_SECONDS, end - now))
        except Error:  # closed, or a missing key: the client reconnects and gets the error
            return
        finally:
            self._n -= 1


def as_event(event: ChangeEvent) -> str:
    r"""Return a change as a server-sent event: its kind, its data on one line, its cursor as the id.

    >>> from scrubjay.memory.model.decoding import as_moment
    >>> as_event(ChangeEvent(7, as_moment(0), "forgotten", None, None, None)).splitlines()[0:2]
    ['id: 7', 'event: forgotten']
    """
    # json.dumps adds no line breaks, and escapes those of texts
    data = as_text(json.dumps(plain(event), ensure_ascii=False))
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"id: {event.cursor}\nevent: {event.action}\ndata: {data}\n\n"
