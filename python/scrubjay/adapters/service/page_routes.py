"""The page's own routes: about, scopes, map."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from scrubjay._native import Scope, show_config_dict
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.service import models, page_models
from scrubjay.adapters.service.auth import RefusedError
from scrubjay.adapters.service.examples import Example
from scrubjay.adapters.service.failures import BadArgumentError, Json
from scrubjay.adapters.service.limits import Limits
from scrubjay.adapters.service.request_scope import FAILURES, grant_of, scope_of
from scrubjay.adapters.service.vector_map import draw
from scrubjay.backend import Backend
from scrubjay.base.errors import CursorError
from scrubjay.index import Index

_Part = Annotated[str | None, Query(min_length=1, max_length=256)]
_Contains = Annotated[
    str | None, Query(max_length=256, description="substring of a part of the scope, ignoring case")
]
_Cursor = Annotated[str | None, Query(max_length=4_000, description="next_cursor of the previous page")]
_Limit = Annotated[int, Query(ge=1, le=page_models.MAX_SCOPES)]


class PageRoutes:
    """The page's own routes, under the grant of the request's token.

    Args:
        index: the index to serve.
        limits: the limits of the service.
        off_loop: runs a call on a thread; its argument errors become errors of the request.
        typed: the typed memory in the same file, or None.
        examples: questions worth asking; the page shows those whose scope the token covers.
    """

    def __init__(
        self,
        index: Index,
        limits: Limits,
        off_loop: Callable[..., Awaitable[Any]],
        typed: LazyMemory | None,
        examples: Sequence[Example],
    ) -> None:
        self._index, self._limits, self._off_loop = index, limits, off_loop
        self._typed, self._examples = typed, examples

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(prefix="/v1", tags=["page"])
        for method, path, endpoint, gives in (
            ("GET", "/about", self.about, page_models.About),
            ("GET", "/scopes", self.scopes, page_models.Scopes),
            ("POST", "/map", self.map, page_models.Map),
        ):
            answers: dict[int | str, dict[str, Any]] = {200: {"model": gives}, **FAILURES}
            router.add_api_route(
                path, endpoint, methods=[method], response_class=Json, response_model=None, responses=answers
            )
        return router

    async def about(self, request: Request) -> Response:
        """Describe the service, and propose questions."""
        grant = grant_of(request)
        embedder = self._index.embedder

        def covers(scope: Scope) -> bool:
            try:
                return grant.scope(scope.tenant, scope.user, scope.agent) == scope
            except RefusedError:
                return False

        return Json(
            {
                "version": show_config_dict()["version"],
                "embedder": None if embedder is None else str(embedder.name),
                "max_k": min(self._limits.max_k, models.MAX_K),
                "memory": self._typed is not None,
                "examples": [
                    {
                        "title": example.title,
                        "text": example.text,
                        "scope": _parts(example.scope),
                        "shows": example.shows,
                    }
                    for example in self._examples
                    if covers(example.scope)
                ],
            }
        )

    async def scopes(
        self,
        request: Request,
        tenant: _Part = None,
        user: _Part = None,
        agent: _Part = None,
        contains: _Contains = None,
        limit: _Limit = 100,
        cursor: _Cursor = None,
    ) -> Response:
        """List the scopes with memories that the token may name, page by page, with their counts of own and visible
        memories."""
        within: Scope | None = None
        if grant_of(request).tenant is None and tenant is None:
            grant_of(request).check("read")
            if user is not None or agent is not None:
                raise BadArgumentError("tenant: expected one beside user or agent, it is missing")
        else:
            within = scope_of(request, "read", models.ScopeIn(tenant=tenant, user=user, agent=agent))
        after = None if cursor is None else _place(cursor)
        return Json(await self._off_loop(self._listed, within, contains or "", limit, after))

    async def map(self, request: Request, given: page_models.MapIn) -> Response:
        """Place the last written memories that a search sees on a plane, and a question among them."""
        scope = scope_of(request, "read", given.scope)
        return Json(await self._off_loop(draw, self._index, scope, given))

    def _listed(self, within: Scope | None, contains: str, limit: int, after: Scope | None) -> dict[str, Any]:
        index, sought = self._index, contains.casefold()
        memory = None if self._typed is None else self._typed.find()  # reading creates no tables
        holders = [Backend.of(index), *([] if memory is None else [Backend.of(memory.documents)])]
        matches: list[Scope] = []
        remembered: set[Scope] = set()
        n_asked = limit + 1
        while len(matches) <= limit:
            pages = [holder.first_scopes(within, after, n_asked) for holder in holders]
            remembered.update(*pages[1:])
            ends = [page[-1] for page in pages if len(page) == n_asked]  # there may be more after these
            scopes = [scope for scope in sorted({*chain(*pages)}) if not ends or not min(ends) < scope]
            matches += [one for one in scopes if any(sought in part.casefold() for part in _named(one))]
            if not ends:
                break
            after, n_asked = scopes[-1], _PART
        rows = [
            {
                **_parts(scope),
                "own": _own(index, scope),
                "visible": index.count(scope),
                "memory": scope in remembered,
            }
            for scope in matches[:limit]
        ]
        is_more = len(matches) > limit
        return {
            "scopes": rows,
            "more": is_more,
            "next_cursor": json.dumps(_named(matches[limit - 1], whole=True)) if is_more else None,
        }


_PART = 1000


def _named(scope: Scope, *, whole: bool = False) -> list[str]:
    """Return the names of a scope; `whole`: with '' for missing ones."""
    return [part or "" for part in (scope.tenant, scope.user, scope.agent) if part or whole]


def _place(cursor: str) -> Scope:
    """Return the scope after which a page begins.

    Raises:
        CursorError: the cursor is invalid.
    """
    try:
        tenant, user, agent = json.loads(cursor)
        return Scope(tenant, user or None, agent or None)
    except (ValueError, TypeError, RecursionError):
        raise CursorError(
            "cursor: expected the next_cursor of this listing; begin again without one"
        ) from None


def _own(index: Index, scope: Scope) -> int:
    """Return the number of memories of exactly this scope: what it sees without what is shared with it."""
    n = index.count(scope)
    if scope.user is not None and scope.agent is not None:
        shared = index.count(Scope(scope.tenant))
        n += shared - index.count(Scope(scope.tenant, scope.user))
        n -= index.count(Scope(scope.tenant, agent=scope.agent))
    elif scope.user is not None or scope.agent is not None:
        n -= index.count(Scope(scope.tenant))
    return max(0, n)  # a concurrent writer may change the counts in between


def _parts(scope: Scope) -> dict[str, str | None]:
    return {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
