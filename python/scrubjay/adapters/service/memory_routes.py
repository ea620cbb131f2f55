"""The typed memory over HTTP: the routes below /v1/memory.

Each route takes a scope like the other routes, runs on a thread, and answers in JSON types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from scrubjay.adapters._typed import LazyMemory, UnknownRecordError, known_record, page, shown_metadata
from scrubjay.adapters.service import models
from scrubjay.adapters.service.change_stream import Followers
from scrubjay.adapters.service.exporting import Exports
from scrubjay.adapters.service.failures import BadArgumentError, Json
from scrubjay.adapters.service.limits import Limits
from scrubjay.adapters.service.memory_models import ANSWERS, REQUESTS, TIMES, candidate_of
from scrubjay.adapters.service.memory_overview import blocks_of, overview, replayed
from scrubjay.adapters.service.request_scope import FAILURES, grant_of, scope_of
from scrubjay.memory import Memory, Provenance
from scrubjay.memory.exchange.json_types import plain
from scrubjay.memory.intake.extractors import Extractor
from scrubjay.memory.model.checking import classify
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.read.recall_result import RecalledHit

_Id = Annotated[str, Path(min_length=1, max_length=512, description="id of a record")]
_Part = Annotated[str | None, Query(min_length=1, max_length=256)]
_OffLoop = Callable[..., Awaitable[Any]]
_RECALL = ("kinds", "k", "task_type", "filter", "relevance", "without", *TIMES)
_LIMITS = ("budget_tokens", "item_tokens", "turn_tokens", "floor", "edges")


class _Route(NamedTuple):
    method: str
    path: str
    permission: str
    asks: str | None
    """The name of its request model; None: the scope as query parameters."""
    gives: str | None
    """The name of its answer model; None: no content."""
    run: Callable[..., Any]


class MemoryRoutes:
    """The operations of a memory as routes.

    Args:
        memory: the memory in the served file.
        limits: the limits of the service.
        off_loop: runs a call on a thread; its argument errors become errors of the request.
        extractor: reads runs to distil; None: requests bring the candidates.
    """

    def __init__(
        self, memory: LazyMemory, limits: Limits, off_loop: _OffLoop, extractor: Extractor | None
    ) -> None:
        self._memory, self._limits, self._off_loop, self._extractor = memory, limits, off_loop, extractor
        self._exports = Exports(lambda scope: self.memory.files.lines(scope), off_loop)
        self._followers = Followers(lambda: self.memory.feed, limits, off_loop)

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(prefix="/v1/memory", tags=["memory"])
        for route in _ROUTES:
            router.add_api_route(
                route.path,
                self._endpoint(route),
                methods=[route.method],
                name=route.run.__name__.strip("_"),
                description=route.run.__doc__,
                response_class=Response if route.gives is None else Json,
                status_code=204 if route.gives is None else 200,
                response_model=None,
                responses={**_answers(route.gives), **FAILURES, **_CONFLICT},
            )
        self._followers.add_to(router)
        self._exports.add_to(router)
        return router

    def _endpoint(self, route: _Route) -> Callable[..., Awaitable[Response]]:
        """Return the endpoint, whose signature FastAPI reads: a body or query parameters, and optionally an id."""

        async def answer(request: Request, given: Any, id: str | None = None) -> Response:
            scope = scope_of(request, route.permission, given.scope)
            self._check_sizes(given)
            work = _Work(self, scope, given, id, grant_of(request).name)
            result = await self._off_loop(known_record, route.run, work)
            return Response(status_code=204) if route.gives is None else Json(result)

        with_id = "{id}" in route.path
        if route.asks is None:

            async def by_query(
                request: Request, id: _Id, tenant: _Part = None, user: _Part = None, agent: _Part = None
            ) -> Response:
                scope = models.ScopeIn(tenant=tenant, user=user, agent=agent)
                return await answer(request, REQUESTS["runs"](scope=scope), id)

            return by_query
        body = REQUESTS[route.asks]

        async def one(request: Request, id: _Id, given: Any) -> Response:
            return await answer(request, given, id)

        async def all(request: Request, given: Any) -> Response:
            return await answer(request, given)

        endpoint = one if with_id else all
        endpoint.__annotations__["given"] = body
        return endpoint

    def _check_sizes(self, given: Any) -> None:
        for name, most in (
            ("k", self._limits.max_k),
            ("limit", self._limits.max_k),
            ("candidates", self._limits.max_batch),
            ("events", self._limits.max_batch),
        ):
            value = getattr(given, name, None)
            n = len(value) if isinstance(value, list) else value
            if n is None or n <= most:
                continue
            if name not in given.model_fields_set:
                setattr(given, name, most)  # its default
            else:
                raise BadArgumentError(f"{name}: expected at most {most}, got {n}")

    @property
    def memory(self) -> Memory:
        """The memory, created if the file has none yet."""
        return self._memory.make()

    @property
    def extractor(self) -> Extractor | None:
        """The extractor of runs, if any."""
        return self._extractor


class _Work(NamedTuple):
    """One request in progress: its scope and arguments."""

    routes: MemoryRoutes
    scope: Any
    given: Any
    id: Any
    caller: str

    @property
    def memory(self) -> Memory:
        return self.routes.memory

    @property
    def by(self) -> str:
        return self.given.by or self.caller

    def options(self, *names: str) -> dict[str, Any]:
        """Return those of the request's fields that are not null."""
        fields = ((name, getattr(self.given, name, None)) for name in names)
        return {name: value for name, value in fields if value is not None}

    def recall_options(self) -> dict[str, Any]:
        options = self.options(*_RECALL)
        if self.given.query is not None:
            options["query"] = self.given.query.query(self.scope)
        return options

    def session(self, **options: Any) -> Any:
        return self.memory.session(self.scope, self.given.run, **options)


# ---------------------------------------------------------------------- verbs


def _propose(work: _Work) -> Any:
    """Propose candidates: the gate returns the outcome and reason of each."""
    source = work.given.source
    if not isinstance(source, str):
        source = Provenance(**source.model_dump(exclude_none=True))
    proposals = [(candidate_of(candidate), work.scope, source) for candidate in work.given.candidates]
    return {"outcomes": plain(work.memory.propose_all(proposals))}


def _known(work: _Work) -> Any:
    """Return all policies in force and all preferences of the user, each by key."""
    return plain(work.memory.known(work.scope, **work.options("without", *TIMES)))


def _recall(work: _Work) -> Any:
    """Search the facts, episodes and notes that answer a question, best first."""
    hits = work.memory.recall(work.given.text, work.scope, **work.recall_options())
    return {
        "hits": [_hit(hit) for hit in hits],
        "relevance": hits.relevance,
        "mode": hits.mode,
        "degraded": list(hits.degraded),
    }


def _assemble(work: _Work) -> Any:
    """Assemble the prompt for a question: all policies and preferences, recalled records, the last turns."""
    turns = [{"role": turn.role, "content": turn.content} for turn in work.given.turns]
    options = {**work.recall_options(), **work.options(*_LIMITS)}
    return _prompt(work.memory.assemble(work.given.text, work.scope, turns=turns, **options))


def _list(work: _Work) -> Any:
    """List records that the scope sees, kind by kind, oldest first."""
    options = work.options(
        "kinds", "hidden", "statuses", "exact", "subject", "run", "without", "limit", "cursor", *TIMES
    )
    records, cursor = page(work.memory, work.scope, **options)
    return {"records": plain(records), "next_cursor": cursor}


def _overview(work: _Work) -> Any:
    """Summarise the memory that a scope sees: the number of records by kind and status, and the times of changes."""
    return overview(work.memory, work.scope, work.given.limit)


def _history(work: _Work) -> Any:
    """Return the statements of a subject and predicate, oldest first: past, in force, and future."""
    given = work.given
    facts = work.memory.history(given.subject, given.predicate, work.scope, **work.options("known_at"))
    return {"facts": plain(facts)}


def _rejections(work: _Work) -> Any:
    """List the candidates that the gate rejected in exactly this scope, newest first."""
    return {"rejections": plain(work.memory.rejections(work.scope, work.given.limit))}


def _changes(work: _Work) -> Any:
    """Return the changes after a cursor, oldest first. GET streams the same as server-sent events."""
    given = work.given
    events = work.memory.feed.changes(given.since, scope=work.scope, within=given.within, limit=given.limit)
    return {"changes": plain(events), "cursor": events[-1].cursor if events else given.since}


def _forget(work: _Work) -> Any:
    """Erase the memory of a user, an agent or a tenant: every kind and collection, in one transaction."""
    given = work.given
    forgotten = work.memory.forget(work.scope, reason=given.reason, by=work.by, names=given.names)
    return {"counts": forgotten.counts}


def _get(work: _Work) -> Any:
    """Return a record of any status."""
    record = work.memory.get(work.id, scope=work.scope, hidden=True)
    if record is None:
        raise _unknown(work.id)
    return {"record": plain(record)}


def _update(work: _Work) -> Any:
    """Change a fact, episode or preference of this scope in place."""
    changes = work.given.model_dump(include=work.given.model_fields_set - {"scope", "by"})
    return {"record": plain(work.memory.update(work.id, scope=work.scope, by=work.by, **changes))}


def _delete(work: _Work) -> None:
    """Delete a record of this scope with everything that is known about it."""
    if not work.memory.delete(work.id, scope=work.scope, by=work.caller):
        raise _unknown(work.id)


def _why(work: _Work) -> Any:
    """Return the provenance and the history of a record."""
    why = work.memory.why(work.id, scope=work.scope)
    if why is None:
        raise _unknown(work.id)
    return {"why": plain(why), "text": str(why)}


def _confirm(work: _Work) -> Any:
    """Bring a provisional policy or fact of the tenant into force; the scope must be the tenant's."""
    return plain(work.memory.confirm(work.id, by=work.by, scope=work.scope))


def _revoke(work: _Work) -> None:
    """Take a record of this scope out of force; its history remains."""
    work.memory.revoke(work.id, reason=work.given.reason, scope=work.scope, by=work.by)


def _feedback(work: _Work) -> None:
    """Record whether a fact or episode was useful: used records do not fade."""
    work.memory.feedback(work.id, work.given.used, scope=work.scope)


def _record(work: _Work) -> Any:
    """Append events to a run, durably."""
    events = [event.model_dump(exclude_none=True) for event in work.given.events]
    written = work.session(retention=work.given.retention).extend(events)
    return {"run": work.given.run, "events": [event.to_dict() for event in written]}


def _retract(work: _Work) -> Any:
    """Retract an event of a run: it is left out of future prompts and of distillation."""
    event = work.session().retract(work.given.seq, work.given.why)
    return {"run": work.given.run, "events": [event.to_dict()]}


def _events(work: _Work) -> Any:
    """Return all events of a run, prompts included."""
    replay = work.memory.replay(work.given.run, work.scope)
    return {"run": work.given.run, "events": [event.to_dict() for event in replay.events]}


def _replay(work: _Work) -> Any:
    """Rebuild the prompts of a run from its trace, and report for each whether it is byte for byte the same."""
    return replayed(work.memory, work.scope, work.given.run, work.given.after, work.given.limit)


def _session_prompt(work: _Work) -> Any:
    """Assemble and record the prompt of a run's next turn, with its last turns."""
    with work.session() as session:
        options = {**work.recall_options(), **work.options(*_LIMITS)}
        return _prompt(session.assemble(work.given.text, **options))


def _close(work: _Work) -> Any:
    """End a run and return its counts; its events are durable already, and it may be continued."""
    run, memory = work.given.run, work.memory
    if run not in memory.runs(work.scope):
        raise UnknownRecordError(f"run: this scope has no run {run[:80]!r}")
    with work.session() as session:
        return {"run": run, "events": len(session.events()), "turns": session.turn}


def _runs(work: _Work) -> Any:
    """List the runs of exactly this scope, oldest first."""
    return {"runs": work.memory.runs(work.scope)}


def _distil(work: _Work) -> Any:
    """Distil the part of a run that was not distilled yet into memories."""
    extractor: Any = work.routes.extractor
    if work.given.candidates is not None:
        candidates = [classify(candidate_of(candidate))[1] for candidate in work.given.candidates]

        def extractor(transcript: Any) -> Any:
            return candidates

        extractor.name = "request"
    elif extractor is None:
        raise ValueError("candidates: expected some, as this service was started without an extractor")
    done = work.memory.distil(work.given.run, extractor, scope=work.scope)
    result = plain(done)
    outcomes = [outcome._asdict() for outcome in done.outcomes]
    return {"run": result.pop("run_id"), **result, "outcomes": outcomes}


_ROUTES = (
    _Route("POST", "/propose", "write", "propose", "outcomes", _propose),
    _Route("POST", "/known", "read", "known", "known", _known),
    _Route("POST", "/recall", "read", "recall", "recalled", _recall),
    _Route("POST", "/assemble", "read", "assemble", "assembled", _assemble),
    _Route("POST", "/list", "read", "list", "records", _list),
    _Route("POST", "/overview", "read", "overview", "overview", _overview),
    _Route("POST", "/history", "read", "history", "history", _history),
    _Route("POST", "/rejections", "read", "rejections", "rejections", _rejections),
    _Route("POST", "/changes", "read", "changes", "changes", _changes),
    _Route("POST", "/forget", "erase", "forget", "forgotten", _forget),
    _Route("GET", "/records/{id}", "read", None, "record", _get),
    _Route("PATCH", "/records/{id}", "write", "update", "record", _update),
    _Route("DELETE", "/records/{id}", "write", None, None, _delete),
    _Route("GET", "/records/{id}/why", "read", None, "why", _why),
    _Route("POST", "/records/{id}/confirm", "write", "confirm", "outcome", _confirm),
    _Route("POST", "/records/{id}/revoke", "write", "revoke", None, _revoke),
    _Route("POST", "/records/{id}/feedback", "write", "feedback", None, _feedback),
    _Route("POST", "/sessions/record", "write", "record", "events", _record),
    _Route("POST", "/sessions/retract", "write", "retract", "events", _retract),
    _Route("POST", "/sessions/events", "read", "run", "events", _events),
    _Route("POST", "/sessions/replay", "read", "replay", "replayed", _replay),
    _Route("POST", "/sessions/assemble", "write", "prompt", "assembled", _session_prompt),
    _Route("POST", "/sessions/close", "write", "run", "run", _close),
    _Route("POST", "/sessions/list", "read", "runs", "runs", _runs),
    _Route("POST", "/sessions/distil", "write", "distil", "distilled", _distil),
)

# ---------------------------------------------------------------------- parts

_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {
        "model": models.Failure,
        "description": "Another record already says this, or the record was changed concurrently.",
    }
}


def _answers(gives: str | None) -> dict[int | str, dict[str, Any]]:
    return {204: {"description": "Done."}} if gives is None else {200: {"model": ANSWERS[gives]}}


def _unknown(id: str) -> UnknownRecordError:
    return UnknownRecordError(f"id: no such record in this scope: {id[:80]!r}")


def _hit(hit: RecalledHit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "kind": hit.kind,
        "text": hit.text,
        "score": hit.score,
        "relevance": hit.relevance,
        "tier": hit.tier,
        "identifier": hit.identifier,
        "passage": plain(hit.passage),
        "metadata": shown_metadata(hit),
        "created_at": plain(hit.hit.created_at),
        "scope": plain(hit.scope),
    }


def _prompt(made: Assembled) -> dict[str, Any]:
    return {
        "text": made.text,
        "prefix": made.prefix,
        "sha256": made.sha256,
        "blocks": blocks_of(made),
        "trace": made.trace.to_dict(),
    }
