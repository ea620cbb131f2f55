"""The HTTP service: routes, requests and answers."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request
from fastapi.security import HTTPBearer
from starlette.responses import Response

from scrubjay._native import Scope, StaticEmbedder, show_config_dict
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.service import models, search_models
from scrubjay.adapters.service.auth import Grant, Tokens
from scrubjay.adapters.service.examples import Example
from scrubjay.adapters.service.explanation import explain
from scrubjay.adapters.service.failures import BadArgumentError, Json, failure, install
from scrubjay.adapters.service.limits import Limits
from scrubjay.adapters.service.memory_routes import MemoryRoutes
from scrubjay.adapters.service.metrics import Metrics
from scrubjay.adapters.service.models import memory_fields
from scrubjay.adapters.service.page_files import PAGE_FILES, PageFile
from scrubjay.adapters.service.page_routes import PageRoutes
from scrubjay.adapters.service.request_checks import Gate
from scrubjay.adapters.service.request_scope import FAILURES, arguments_checked, grant_of, scope_of
from scrubjay.backend import Backend, ScopedMemories, UnknownMemoryError
from scrubjay.base.errors import Error, StoreUnavailableError
from scrubjay.index import Index
from scrubjay.memory.intake.extractors import Extractor

T = TypeVar("T")

Id = Annotated[str, Path(min_length=1, max_length=512, description="percent-encoded")]
Part = Annotated[str | None, Query(min_length=1, max_length=256)]
_N_THREADS = 8
_QUICK_NS = 1_000_000
_MAX_QUICK = 10_000
_SHORT_TEXT = 1_000
# Fields that cannot make a search slow.
_QUICK_FIELDS = {
    "mode",
    "fusion",
    "identifier_tier",
    "spelling",
    "keywords",
    "coverage",
    "min_score",
    "relevance",
}


def create_app(
    index: Index,
    *,
    tokens: Tokens | None = None,
    grant: Grant | None = None,
    limits: Limits | None = None,
    close_index: bool = False,
    extractor: Extractor | None = None,
    examples: Sequence[Example] = (),
) -> FastAPI:
    """Return the ASGI application over an index.

    Args:
        index: the index to serve; its ids must be str.
        tokens: the callers and their grants.
        grant: the grant of every caller if there are no tokens; by default everything, in any scope. An application
            without tokens is for a loopback address only, which it cannot check itself (:func:`serve` does).
        limits: the limits of requests.
        close_index: close the index when the server ends.
        extractor: reads runs to distil, such as an :class:`OpenAIExtractor`; None: requests bring the candidates.
        examples: questions that the page proposes.

    For an index with a file, the typed memory in it is served below /v1/memory.

    Raises:
        ValueError: the index has int ids, or both tokens and a grant are given.

    >>> app = create_app(Index())
    >>> sorted(app.openapi()["paths"])[-3:]
    ['/v1/search', '/v1/warm', '/v1/whoami']
    """
    if tokens is not None and grant is not None:
        raise ValueError("grant: expected None together with tokens, which have grants")
    if tokens is None and grant is None:
        grant = Grant("local", None)
    limits = limits or Limits()
    service = Service(index, limits)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        service.threads.shutdown()
        if service.typed is not None:
            service.typed.close()
        if close_index:
            index.close()

    app = FastAPI(
        title="Scrubjay",
        version=show_config_dict()["version"],
        description=_DESCRIPTION,
        docs_url=None,  # its page loads third-party scripts
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.add_middleware(Gate, tokens=tokens, grant=grant, limits=limits, metrics=service.metrics)
    install(app)
    app.include_router(service.verbs(), dependencies=[Depends(HTTPBearer(auto_error=False))])
    if service.typed is not None:
        memory = MemoryRoutes(service.typed, limits, service.off_loop, extractor)
        app.include_router(memory.router(), dependencies=[Depends(HTTPBearer(auto_error=False))])
    page = PageRoutes(index, limits, service.off_loop, service.typed, examples)
    app.include_router(page.router(), dependencies=[Depends(HTTPBearer(auto_error=False))])
    app.include_router(service.around(tokens))
    app.openapi = partial(_described, app.openapi, limits)
    app.state.max_k = limits.max_k  # for error messages about larger numbers
    return app


_DESCRIPTION = """Hybrid retrieval for agents' memories: keywords and vectors, fused.

Every request names a scope (tenant, and perhaps user and agent) and is answered from what that scope sees. A memory's
key is its exact scope and its id. Errors are `{"error": {"code", "message"}}`; the message names the field, what was
expected and what was given. With tokens, send `Authorization: Bearer ...`."""


def _described(describe: Callable[[], dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document with the limits of this service."""
    document = describe()
    schemas = document["components"]["schemas"]
    most = min(limits.max_batch, models.MAX_BATCH)
    for name, field in _NUMBERED:
        if name in schemas:
            schemas[name]["properties"][field]["maximum"] = min(limits.max_k, models.MAX_K)
    for name, field in _BATCHES:
        if name in schemas:
            schemas[name]["properties"][field]["maxItems"] = most
    return document


_NUMBERED = (
    ("SearchIn", "k"),
    ("ExplainIn", "k"),
    ("ListIn", "limit"),
    ("RecallIn", "k"),
    ("AssembleIn", "k"),
    ("SessionPromptIn", "k"),
    ("ListRecordsIn", "limit"),
    ("OverviewIn", "limit"),
    ("ReplayIn", "limit"),
    ("RejectionsIn", "limit"),
)
_BATCHES = (("UpsertIn", "memories"), ("ProposeIn", "candidates"), ("RecordIn", "events"))


class Service:
    """The endpoints over one index."""

    def __init__(self, index: Index, limits: Limits) -> None:
        self.index = index
        self.memories = ScopedMemories(index)
        self.typed = LazyMemory(index) if Backend.of(index).is_durable else None
        self.metrics = Metrics(index)
        self.threads = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="scrubjay-service")
        self._limits = limits
        self._quick: OrderedDict[Scope, None] = OrderedDict()  # used on the event loop only

    # ------------------------------------------------------------------ verbs

    async def put(self, request: Request, id: Id, given: models.PutIn) -> Response:
        """Write one whole memory; an existing one with this id in this scope is replaced."""
        scope = scope_of(request, "write", given.scope)
        record = {**given.model_dump(exclude={"scope"}, exclude_none=True), "id": id}
        await self.off_loop(self._put, scope, [self._checked(record)], alone=True)
        return Json({"ids": [id]})

    async def upsert(self, request: Request, given: models.UpsertIn) -> Response:
        """Write many memories: all, or none if one of them is invalid."""
        scope = scope_of(request, "write", given.scope)
        if len(given.memories) > self._limits.max_batch:
            raise BadArgumentError(
                f"memories: expected at most {self._limits.max_batch}, got {len(given.memories)}"
            )
        records = [self._checked(memory.model_dump(exclude_none=True)) for memory in given.memories]
        for record in records:
            record.setdefault("id", uuid.uuid4().hex)
        await self.off_loop(self._put, scope, records)
        return Json({"ids": [record["id"] for record in records]})

    def _put(self, scope: Scope, records: list[dict[str, Any]], *, alone: bool = False) -> None:
        """Write memories; an error names the record by its field in the request, if any."""
        try:
            self.memories.put(scope, records)
        except Error:
            raise
        except (TypeError, ValueError) as error:
            at, _, message = str(error).partition(": ")
            if not at.startswith("records["):
                raise
            raise BadArgumentError(
                message if alone else f"memories{at.removeprefix('records')}: {message}"
            ) from error

    async def get(
        self, request: Request, id: Id, tenant: Part = None, user: Part = None, agent: Part = None
    ) -> Response:
        """Read one memory: the scope's own, or a shared one."""
        scope = scope_of(request, "read", models.ScopeIn(tenant=tenant, user=user, agent=agent))
        record = await self.off_loop(self.index.get, id, scope=scope)
        if record is None:
            raise UnknownMemoryError(id)
        return Json(memory_fields(record))

    async def update(self, request: Request, id: Id, given: models.Changes) -> Response:
        """Change parts of a memory. Metadata is merged into the stored one; a null removes its key."""
        scope = scope_of(request, "write", given.scope)
        changes = given.model_dump(include=given.model_fields_set - {"scope", "version"})
        if not changes:
            raise BadArgumentError("body: expected something to change")
        if changes.get("text", "") is None:
            raise BadArgumentError("text: expected a text, got null")
        return Json(
            memory_fields(
                await self.off_loop(
                    self.memories.update, scope, id, self._checked(changes), merge=True, version=given.version
                )
            )
        )

    async def delete(
        self,
        request: Request,
        id: Id,
        tenant: Part = None,
        user: Part = None,
        agent: Part = None,
        version: Annotated[models.SeenAt | None, Query()] = None,
    ) -> Response:
        """Delete one memory of exactly this scope; with a `version`, only if it is unchanged, otherwise 409."""
        scope = scope_of(request, "write", models.ScopeIn(tenant=tenant, user=user, agent=agent))
        await self.off_loop(self.memories.delete, scope, id, version=version)
        return Response(status_code=204)

    async def search(self, request: Request, given: search_models.SearchIn) -> Response:
        """Search the memories that answer a question, best first."""
        scope = scope_of(request, "read", given.scope)
        self._check_k("k", given.k)
        options: dict[str, Any] = {"k": given.k, "filter": given.filter, "explain": given.explain}
        if given.asks:
            options["query"] = arguments_checked(given.query, scope)
        work = partial(_timed, self.index.search, given.text, scope=scope, vector=given.vector, **options)
        if self._may_be_long(scope, given):
            hits, took_ns = await self.off_loop(work)
        else:
            hits, took_ns = arguments_checked(work)
        self._remember(scope, took_ns)
        self.metrics.search_seconds.labels(hits.mode).observe(took_ns / 1e9)
        if self.index.path is None and hits.freshness:
            self.metrics.age_seconds.observe(hits.freshness)
        for reason in hits.degraded:
            self.metrics.degraded.labels(reason.partition(":")[0]).inc()
        width = search_models.snippet_width(given.snippet)
        if width is None:
            dicts = hits.to_dicts()
        else:  # snippets read texts, which may be slow
            dicts = await self.off_loop(hits.to_dicts, snippet=width)
        return Json(
            {
                "hits": dicts,
                "mode": hits.mode,
                "degraded": list(hits.degraded),
                "corrections": hits.corrections,
                "took_us": took_ns / 1000,
            }
        )

    async def explain(self, request: Request, given: search_models.ExplainIn) -> Response:
        """Search and explain: both rankings, the evidence for each hit, its matching words, and the time taken."""
        scope = scope_of(request, "read", given.scope)
        self._check_k("k", given.k)
        return Json(await self.off_loop(explain, self.index, scope, given))

    async def listing(self, request: Request, given: models.ListIn) -> Response:
        """List the memories that a search would see, in order of writing."""
        scope = scope_of(request, "read", given.scope)
        self._check_k("limit", given.limit)
        options = given.model_dump(exclude={"scope", "limit"}, exclude_none=True)
        records = await self.off_loop(self.index.list, scope, limit=given.limit + 1, **options)
        more = len(records) > given.limit
        return Json(
            {
                "memories": [memory_fields(record) for record in records[: given.limit]],
                "next_offset": given.offset + given.limit if more else None,
            }
        )

    async def count(self, request: Request, given: models.CountIn) -> Response:
        """Count the memories that a search would see."""
        scope = scope_of(request, "read", given.scope)
        return Json({"count": await self.off_loop(self.index.count, scope, filter=given.filter)})

    async def warm(self, request: Request, given: models.WarmIn) -> Response:
        """Load what searches of these scopes see into memory, for example when a user logs in, so that the first search
        is as fast as the next. Nothing is changed; memories beyond the memory budget are evicted again."""
        scopes = [scope_of(request, "read", scope) for scope in given.scopes or [models.ScopeIn()]]
        return Json({"memories": await self.off_loop(self.index.admin.warm, scopes)})

    async def erase(self, request: Request, given: models.EraseIn) -> Response:
        """Delete everything of a scope: without a user, that of all users of the tenant, unless `exact`."""
        scope = scope_of(request, "erase", given.scope)
        return Json({"erased": await self.off_loop(self.memories.erase, scope, exact=given.exact)})

    async def whoami(self, request: Request) -> Response:
        """Describe the grant of the request's token."""
        grant = grant_of(request)
        bound = {"tenant": grant.tenant, "user": grant.user, "agent": grant.agent}
        return Json({"name": grant.name, **bound, "can": list(grant.can)})

    # ------------------------------------------------------------------ routes

    def verbs(self) -> APIRouter:
        """Return the routes below /v1."""
        router = APIRouter(tags=["memories"])
        for method, path, endpoint, gives in (
            ("POST", "/v1/search", self.search, search_models.Hits),
            ("PUT", "/v1/memories/{id:path}", self.put, models.Written),
            ("GET", "/v1/memories/{id:path}", self.get, models.Memory),
            ("PATCH", "/v1/memories/{id:path}", self.update, models.Memory),
            ("DELETE", "/v1/memories/{id:path}", self.delete, None),
            ("POST", "/v1/memories", self.upsert, models.Written),
            ("POST", "/v1/explain", self.explain, search_models.Explanation),
            ("POST", "/v1/list", self.listing, models.Listing),
            ("POST", "/v1/count", self.count, models.Count),
            ("POST", "/v1/warm", self.warm, models.Warmed),
            ("POST", "/v1/erase", self.erase, models.Erased),
            ("GET", "/v1/whoami", self.whoami, models.WhoAmI),
        ):
            router.add_api_route(
                path,
                endpoint,
                methods=[method],
                response_class=Json if gives is not None else Response,
                status_code=204 if gives is None else 200,
                response_model=None,  # answers are built by hand; tests compare them with these models
                responses={
                    **_answers(gives),
                    **FAILURES,
                    **(_CONFLICT if path in _WRITING and method != "GET" else {}),
                },
            )
        return router

    def around(self, tokens: Tokens | None) -> APIRouter:
        """Return the other routes: the page, health, metrics."""
        router = APIRouter(tags=["service"])
        live: dict[int | str, dict[str, Any]] = {200: {"model": models.Status}}
        ready = {**live, 503: {"model": models.Failure}}
        router.add_api_route("/health/live", self.live, response_model=None, responses=live)
        router.add_api_route(
            "/health/ready", partial(self.ready, tokens), name="ready", response_model=None, responses=ready
        )
        router.add_api_route(
            "/metrics", self.scrape, response_model=None, response_class=Response, responses=FAILURES
        )
        for path, file in PAGE_FILES.items():
            router.add_api_route(path, _endpoint(file), response_model=None, include_in_schema=False)
        return router

    async def live(self) -> Response:
        """Report that the process is alive."""
        return Json({"status": "ok"})

    async def ready(self, tokens: Tokens | None) -> Response:
        """Report whether memories can be read and callers identified. "stale" while a database is unreachable:
        searches still answer from memory, so a load balancer should not remove the service."""
        try:
            if tokens is not None:
                tokens.find("")
            await self.off_loop(Backend.of(self.index).first_scopes, None, None, 1)  # cheap with many scopes
        except StoreUnavailableError:
            if self.index.path is None:
                return Json({"status": "stale"})
            return _unready()
        except Error:
            return _unready()
        return Json({"status": "ok"})

    async def scrape(self, request: Request) -> Response:
        """Return the metrics in the text format of Prometheus."""
        grant_of(request).check("metrics")
        text = await self.off_loop(self.metrics.render)
        return Response(text, headers={"content-type": self.metrics.content_type})

    # ------------------------------------------------------------------ parts

    async def off_loop(self, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Run a call of the index on a thread; its argument errors become errors of the request."""
        work = partial(arguments_checked, call, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)

    def _may_be_long(self, scope: Scope, given: search_models.SearchIn) -> bool:
        """Return whether a search should not run on the event loop, because it may wait or compute for long.

        A handover to a thread costs more than the usual search: without it, one client on loopback waited 0.5 to 0.7 of
        the time; for eight clients at once it made no difference (`python -m benchmarks.adapters.service`).
        """
        embedder = self.index.embedder
        waits = embedder is not None and not isinstance(getattr(embedder, "native", None), StaticEmbedder)
        plain = given.asks <= _QUICK_FIELDS
        short = plain and len(given.text or "") + len(given.keywords or "") <= _SHORT_TEXT
        return waits or not short or scope not in self._quick

    def _remember(self, scope: Scope, took_ns: int) -> None:
        """Note the speed of a scope's last search: a quick one means a small scope in memory, others may be neither."""
        self._quick.pop(scope, None)
        if took_ns < _QUICK_NS:
            self._quick[scope] = None
            if len(self._quick) > _MAX_QUICK:
                self._quick.popitem(last=False)

    def _check_k(self, name: str, k: int) -> None:
        if k > self._limits.max_k:
            raise BadArgumentError(f"{name}: expected at most {self._limits.max_k}, got {k}")

    def _checked(self, record: dict[str, Any]) -> dict[str, Any]:
        if record.get("vector") is not None and Backend.of(self.index).dim is None:
            # The first vector would fix the dimension for all scopes.
            raise BadArgumentError(
                "vector: expected no vector, since this index has no embedder and no dimension"
            )
        return record


def _timed(call: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, int]:
    """Return the result of a call, and the nanoseconds that it took."""
    start = time.perf_counter_ns()
    result = call(*arguments, **options)
    return result, time.perf_counter_ns() - start


def _unready() -> Response:
    return failure(503, "unavailable", "the store or the tokens cannot be read", {"retry-after": "1"})


def _endpoint(file: PageFile) -> Callable[[], Any]:
    """Return an endpoint for a file of the page."""

    async def read() -> Response:
        return Response(file.content, media_type=file.kind, headers={"cache-control": "no-cache"})

    return read


_WRITING = ("/v1/memories/{id:path}", "/v1/memories", "/v1/erase")
_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": models.Failure, "description": "The memory has another version, or is under a legal hold."}
}


def _answers(gives: Any) -> dict[int | str, dict[str, Any]]:
    return {204: {"description": "Deleted."}} if gives is None else {200: {"model": gives}}
