"""The MCP server and its tools."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from scrubjay._native import Scope, show_config_dict
from scrubjay.adapters._typed import LazyMemory, known_record, shown_metadata
from scrubjay.adapters.mcp.administering import AdminTools
from scrubjay.adapters.mcp.known import KnownTools
from scrubjay.adapters.mcp.offered import instructions, offered
from scrubjay.adapters.mcp.records import RecordTools
from scrubjay.adapters.mcp.refusals import refusal
from scrubjay.adapters.mcp.resources import Prompts, Resources
from scrubjay.adapters.mcp.told import ToldTools
from scrubjay.adapters.mcp.tools import (
    AddMemory,
    DeleteAllMemories,
    ListMemories,
    OneMemory,
    SearchMemories,
    UpdateMemory,
    bounded,
    well_formed,
)
from scrubjay.backend import Backend, ScopedMemories, UnknownMemoryError, as_query
from scrubjay.base.errors import CursorError
from scrubjay.documents.records import Record
from scrubjay.fusion import Query
from scrubjay.index import Hit, Hits, Index
from scrubjay.memory import Recalled, RecalledHit
from scrubjay.memory.ledger.context import COLLECTION
from scrubjay.memory.read.index_notes import notes_of
from scrubjay.memory.read.time_axes import QueryTime, moment_asked

SHOWN_TEXT = 4_000  # characters of a text in search results; get_memory returns all

T = TypeVar("T")


class MemoryServer:
    """The memories of one scope as tools of the Model Context Protocol.

    Args:
        index: the index of the memories; its ids must be str. It stays open when the server ends. If it has a file,
            there are tools for the data of :class:`scrubjay.Memory` in it: policies, preferences, facts, episodes.
        scope: the scope of the memories. Writes go to exactly this scope; searches also see what is shared with it.
        read_only: offer only the tools that change nothing.
        query: how searches rank unless a call's `settings` override it; None: ``scrubjay.Query()``. Calls cannot change
            which ids it admits.
        admin: also offer the tools of an administrator: legal holds on these memories, and imports, which bypass the
            gate.

    Raises:
        ValueError: the index has int ids, or `admin` is set and it has no file.

    >>> index = Index()
    >>> jane = MemoryServer(index, Scope("acme", user="jane"))
    >>> added = jane.call("add_memory", {"text": "Prefers trains to planes."})
    >>> [memory["text"] for memory in jane.call("search_memories", {"query": "train"})["memories"]]
    ['Prefers trains to planes.']
    >>> joe = MemoryServer(index, Scope("acme", user="joe"))
    >>> joe.call("get_memory", {"id": added["id"]})
    Traceback (most recent call last):
    ...
    scrubjay.backend.scoped_changes.UnknownMemoryError: id: expected the id of a memory in this scope, got ...
    """

    def __init__(
        self,
        index: Index,
        scope: Scope,
        *,
        read_only: bool = False,
        query: Query | None = None,
        admin: bool = False,
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self.scope = scope
        typed = LazyMemory(index, read_only=read_only) if Backend.of(index).is_durable else None
        if admin and typed is None:
            raise ValueError("admin: expected an index with a file, which has a memory to administer")
        self.tools = offered(
            typed=typed is not None, user=scope.user is not None, read_only=read_only, admin=admin
        )
        """The tools by name."""
        self._index = index
        self._query = as_query(query)
        self._memories = ScopedMemories(index)
        self._known = None if typed is None else KnownTools(typed, scope)
        self._records = None if typed is None else RecordTools(typed, scope)
        self._told = None if typed is None else ToldTools(typed, scope)
        self._admin = None if typed is None else AdminTools(typed, scope)
        self._resources = Resources(self.call, set(self.tools))
        self._prompts = None if typed is None else Prompts(typed, scope)
        self.server = Server(
            "scrubjay",
            title="Scrubjay memory",
            version=show_config_dict()["version"],
            instructions=instructions(typed=typed is not None),
            on_list_tools=self._on_list_tools,
            on_call_tool=self._on_call_tool,
            on_list_resources=self._on_list_resources,
            on_list_resource_templates=self._on_list_resource_templates,
            on_read_resource=self._on_read_resource,
            on_list_prompts=self._on_list_prompts if typed is not None else None,
            on_get_prompt=self._on_get_prompt if typed is not None else None,
        )
        """The SDK's server, for other transports than standard input and output."""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run one tool and return its result in JSON types.

        Args:
            name, arguments: the name and arguments of the tool.

        Raises:
            KeyError: the tool is unknown.
            pydantic.ValidationError: the arguments are invalid.
            TypeError, ValueError, UnknownMemoryError, ReadOnlyMemoryError: the index or the scope rejects the call.
        """
        tool = self.tools[name]
        return well_formed(_RUN[name](self, tool.takes.model_validate(arguments)))

    # ------------------------------------------------------------------ tools

    def _add(self, given: AddMemory) -> dict[str, Any]:
        id, now = uuid.uuid4().hex, datetime.now(timezone.utc)
        record: dict[str, Any] = {
            "id": id,
            "text": given.text,
            "metadata": bounded("metadata", given.metadata),
            "created_at": now,
        }
        if given.expires_in_days is not None:
            record["ttl"] = timedelta(days=given.expires_in_days)
        self._memories.put(self.scope, [record])
        return self._get(OneMemory(id=id))

    def _search(self, given: SearchMemories) -> dict[str, Any]:
        filter = bounded("filter", given.filter)
        settings = bounded("settings", given.settings)
        ranking = self._query if settings is None else _with_settings(self._query, settings)
        hits: Recalled | Hits | None = None
        if self._records is not None:
            hits = self._records.recall(given, filter, ranking)
        if hits is None:  # only notes
            condition = notes_of(filter, _moment(given))
            hits = self._index.search(
                given.query, scope=self.scope, k=given.limit, filter=condition, query=ranking
            )
        return {
            "memories": [self._found(hit) for hit in hits],
            "mode": hits.mode,
            "degraded": [reason.partition(":")[0] for reason in hits.degraded],
        }

    def _list(self, given: ListMemories) -> dict[str, Any]:
        """List facts and episodes, then notes; the cursor's prefix tells which of the two continues."""
        which, _, cursor = (given.cursor or "records.").partition(".")
        if which not in ("records", "notes"):
            raise CursorError("cursor: expected one that list_memories gave; begin again without one")
        listed: list[dict[str, Any]] = []
        if which == "records" and self._records is not None:
            listed, after = self._records.page(given, cursor or None)
            if after is not None:
                return {"memories": listed, "next_cursor": f"records.{after}"}
            cursor = ""
        remaining = given.limit - len(listed)
        if remaining == 0:
            return {"memories": listed, "next_cursor": "notes."}
        is_of_records = self._index.name == COLLECTION and self._records is not None
        if is_of_records or given.subject is not None:  # notes have no subject
            return {"memories": listed, "next_cursor": None}
        condition = notes_of(None, _moment(given))
        page = self._index.scroll(scope=self.scope, limit=remaining, cursor=cursor or None, filter=condition)
        listed += [self._shown(record) for record in page.records]
        return {"memories": listed, "next_cursor": None if page.cursor is None else f"notes.{page.cursor}"}

    @property
    def known(self) -> KnownTools:
        """The policies and preferences, if the index has a file."""
        assert self._known is not None
        return self._known

    def _remember(self, given: Any) -> dict[str, Any]:
        assert self._records is not None
        return self._records.remember(given)

    @property
    def records(self) -> RecordTools:
        """The facts and episodes, if the index has a file."""
        assert self._records is not None
        return self._records

    @property
    def told(self) -> ToldTools:
        """The history, changes and exports, if the index has a file."""
        assert self._told is not None
        return self._told

    @property
    def admin(self) -> AdminTools:
        """The operator's tools, if the index has a file."""
        assert self._admin is not None
        return self._admin

    def _why(self, given: OneMemory) -> dict[str, Any]:
        assert self._records is not None
        why = self._records.why(given)
        if why is None:
            raise UnknownMemoryError(given.id)
        return why

    def _get(self, given: OneMemory) -> dict[str, Any]:
        if self._records is not None:
            held = self._records.find(given.id)
            if held is not None:
                return self._records.shown(held)
        record = self._index.get(given.id, scope=self.scope)
        if record is None:
            raise UnknownMemoryError(given.id)
        return self._shown(record)

    def _update(self, given: UpdateMemory) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if given.text is not None:
            changes["text"] = given.text
        if given.metadata is not None:
            changes["metadata"] = bounded("metadata", given.metadata)
        if not changes:
            raise ValueError("text, metadata: expected at least one of them")
        if self._records is not None:
            changed = self._records.update(given.id, changes.get("text"), changes.get("metadata"))
            if changed is not None:
                return self._records.shown(changed)
        return self._shown(self._memories.update(self.scope, given.id, changes))

    def _delete(self, given: OneMemory) -> dict[str, Any]:
        if self._records is None or not self._records.delete(given.id):
            self._memories.delete(self.scope, given.id)
        return {"deleted": 1}

    def _forget(self, given: OneMemory) -> dict[str, Any]:
        if self._records is not None and self._records.delete(given.id, ("preference",)):
            return {"deleted": 1}
        return self._delete(given)

    def _delete_all(self, given: DeleteAllMemories) -> dict[str, Any]:
        n_deleted = 0 if self._records is None else self._records.delete_all()
        return {"deleted": n_deleted + self._memories.erase(self.scope, exact=True)}

    def _shown(self, record: Record) -> dict[str, Any]:
        return {
            "id": record.id,
            "kind": "note",
            "text": record.text,
            "metadata": dict(record.metadata or {}),
            "created_at": _iso(record.created_at),
            "expires_at": _iso(record.expires_at),
            "shared": record.scope != self.scope,
        }

    def _found(self, hit: Hit | RecalledHit) -> dict[str, Any]:
        text = hit.text
        created_at = hit.hit.created_at if isinstance(hit, RecalledHit) else hit.created_at
        return {
            "id": hit.id,
            "kind": hit.kind if isinstance(hit, RecalledHit) else "note",
            "text": text[:SHOWN_TEXT],
            "truncated": len(text) > SHOWN_TEXT,
            "passage": None if hit.passage is None else list(hit.passage),
            "snippet": hit.snippet().text if len(text) > SHOWN_TEXT else None,
            "score": hit.score,
            "metadata": shown_metadata(hit) if isinstance(hit, RecalledHit) else hit.metadata,
            "created_at": _iso(created_at),
            "shared": hit.scope != self.scope,
        }

    # ------------------------------------------------------------------ protocol

    async def _on_list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.takes.model_json_schema(),
                    output_schema=tool.gives.model_json_schema(mode="serialization"),
                    annotations=types.ToolAnnotations(title=tool.title, open_world_hint=False, **tool.hints),
                )
                for name, tool in self.tools.items()
            ]
        )

    async def _on_call_tool(self, context: Any, params: Any) -> types.CallToolResult:
        if params.name not in self.tools:
            raise MCPError(types.INVALID_PARAMS, f"name: expected one of {sorted(self.tools)}")
        try:  # on a thread: embedders and writes may block
            result = await anyio.to_thread.run_sync(self.call, params.name, params.arguments or {})
        except Exception as error:  # noqa: BLE001 - report any error to the client and continue
            return types.CallToolResult(
                content=[
                    types.TextContent(
                        text=refusal(params.name, error, self.tools[params.name].takes.model_fields)
                    )
                ],
                is_error=True,
            )
        text = json.dumps(result, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=result)

    # ------------------------------------------------------------------ resources, prompts

    async def _on_list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        listed, after = await _told(self._resources.listed, cursor)
        return types.ListResourcesResult(resources=listed, next_cursor=after)

    async def _on_list_resource_templates(
        self, context: Any, params: Any
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=self._resources.templates())

    async def _on_read_resource(self, context: Any, params: Any) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[await _told(self._resources.read, params.uri)])

    async def _on_list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        assert self._prompts is not None
        return types.ListPromptsResult(prompts=self._prompts.listed())

    async def _on_get_prompt(self, context: Any, params: Any) -> types.GetPromptResult:
        assert self._prompts is not None
        messages = await _told(self._prompts.get, params.name, params.arguments or {})
        return types.GetPromptResult(messages=messages)


async def _told(call: Callable[..., T], *arguments: Any) -> T:
    """Run a call on a thread; its argument errors are reported to the client.

    Raises:
        MCPError: the call raised; the message is that of a failed tool.
    """
    try:
        return await anyio.to_thread.run_sync(call, *arguments)
    except MCPError:
        raise
    except Exception as error:  # noqa: BLE001 - report any error to the client and continue
        raise MCPError(types.INVALID_PARAMS, refusal("it", error)) from None


def serve_stdio(
    index: Index, scope: Scope, *, read_only: bool = False, query: Query | None = None, admin: bool = False
) -> None:
    """Serve one client on standard input and output until it closes them; the index stays open.

    Standard output carries only the protocol; other prints go to standard error meanwhile.

    Args:
        index: the index to serve.
        scope: the scope of the client.
        read_only: offer no tool that writes.
        query: how searches rank; None: ``scrubjay.Query()``.
        admin: offer the tools of an administrator.
    """
    server = MemoryServer(index, scope, read_only=read_only, query=query, admin=admin).server

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


# ---------------------------------------------------------------------- parts


_RUN: dict[str, Callable[[MemoryServer, Any], dict[str, Any]]] = {
    "add_memory": MemoryServer._add,
    "search_memories": MemoryServer._search,
    "list_memories": MemoryServer._list,
    "get_memory": MemoryServer._get,
    "update_memory": MemoryServer._update,
    "delete_memory": MemoryServer._delete,
    "delete_all_memories": MemoryServer._delete_all,
    "remember": MemoryServer._remember,
    "forget": MemoryServer._forget,
    "why": MemoryServer._why,
    "get_policies_and_preferences": lambda server, given: server.known.get(given),
    "set_preference": lambda server, given: server.known.set(given),
    "delete_preference": lambda server, given: server.known.delete(given),
    "revoke_memory": lambda server, given: known_record(server.records.revoke, given),
    "give_feedback": lambda server, given: known_record(server.records.feedback, given),
    "get_history": lambda server, given: server.told.history(given),
    "list_changes": lambda server, given: server.told.changes(given),
    "export_memories": lambda server, given: server.told.export(given),
    "hold_memories": lambda server, given: server.admin.hold(given),
    "release_memories": lambda server, given: server.admin.release(given),
    "list_holds": lambda server, given: server.admin.holds(given),
    "import_memories": lambda server, given: server.admin.take(given),
}


def _with_settings(query: Query, settings: dict[str, Any]) -> Query:
    """Return the query with the fields of `settings` replaced."""
    changes = Query.from_dict(settings)
    return query.replace(**{name: getattr(changes, name) for name in settings})


def _moment(given: SearchMemories | ListMemories) -> QueryTime | None:
    return moment_asked(lambda: time.time_ns() // 1000, given.as_of, given.known_at)


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
