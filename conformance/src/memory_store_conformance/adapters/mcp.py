"""MCP memory servers, through the official client over standard input and output: one server process for each scope.

Tool names differ between servers, so :class:`Tools` maps operations to calls. Servers issue the ids; this adapter, the
client, stores them beside the store's directory. The embedder is the server's own, or the one of :mod:`.served`. Values
that no JSON message can carry, which would end the client's session, are rejected before anything is sent; in a batch,
before the first item is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from memory_store_conformance.adapters._loop import LoopThread
from memory_store_conformance.contract import Hit, Item, Page, Scope, Setting

__all__ = ["MCPStore", "Tools"]

Call = tuple[str, dict[str, Any]]
"""The name and arguments of a tool call."""


@dataclass(frozen=True)
class Tools:
    """The calls of a server's tools.

    Attributes:
        add: maps (scope, item) to the call that writes it.
        update: maps (id, item) to the call that replaces it.
        delete, get: map an id to the call.
        search: maps (scope, text, k, filter) to the call.
        added: maps (item, the answer of `add`) to the id that the server issued.
        found: maps an answer to [(id, text, metadata, score)].
        updated: maps (id, the answer of `update`) to the new id.
        page: maps (limit, cursor) to the call that lists; None: listings are not offered.
        next: maps the answer of `page` to the cursor of the next page, or None.
        erase: returns the call that deletes everything of the scope; None: not offered.
        read: parses the text of an answer without structured content.
    """

    add: Callable[[Scope, Item], Call]
    update: Callable[[str, Item], Call]
    delete: Callable[[str], Call]
    get: Callable[[str], Call]
    search: Callable[[Scope, str, int, Mapping[str, Any] | None], Call]
    added: Callable[[Item, Any], str]
    found: Callable[[Any], list[tuple[str, str, dict[str, Any], float | None]]]
    updated: Callable[[str, Any], str] = lambda id, answer: id
    page: Callable[[int, Any], Call] | None = None
    next: Callable[[Any], Any] = lambda answer: None
    erase: Call | None = None
    read: Callable[[str], Any] = json.loads


class ToolError(Exception):
    """A server answered with an error; the message is the server's."""


class MCPStore:
    """An MCP memory server as a store of the checks.

    Args:
        setting: of the factory.
        server: maps a scope to the command of its server.
        tools: the tools of the server.
        durable: whether a server over the same files has the same memories.
        operators: of its filters.
    """

    def __init__(
        self,
        setting: Setting,
        server: Callable[[Scope], StdioServerParameters],
        tools: Tools,
        *,
        durable: bool = True,
        operators: frozenset[str] = frozenset(),
    ) -> None:
        self._server, self._tools = server, tools
        self._loop = LoopThread()
        self._sessions: dict[Scope, tuple[ClientSession, asyncio.Event, asyncio.Task[None]]] = {}
        self._memo = setting.directory.parent / f"{setting.directory.name}.ids"
        lines = self._memo.read_text(encoding="utf-8").splitlines() if self._memo.exists() else []
        self._ids: dict[tuple[Scope, str], str] = {
            (tuple(scope), id): issued for scope, id, issued in map(json.loads, lines)
        }
        self.operators = operators
        self.offers = {"scoped ids", "texts"} | ({"durable"} if durable else set())
        if tools.page is not None:
            self.page, self.list = self._page, self._list
        if tools.erase is not None:
            self.delete_scope = self._erase

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        for item in items:
            _check_sendable(self._tools.add(scope, item))
        for item in items:
            current = self._ids.get((scope, item.id))
            if current is not None and self.get(scope, item.id) is not None:
                issued = self._tools.updated(current, self._call(scope, self._tools.update(current, item)))
            else:
                issued = self._tools.added(item, self._call(scope, self._tools.add(scope, item)))
            if issued != current:
                self._ids[scope, item.id] = issued
                with self._memo.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([scope, item.id, issued]) + "\n")

    def get(self, scope: Scope, id: str) -> Item | None:
        issued = self._ids.get((scope, id))
        if issued is None:
            return None
        try:
            memories = self._tools.found(self._call(scope, self._tools.get(issued)))
        except ToolError:
            return None
        return Item(id, memories[0][1], memories[0][2]) if memories else None

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        for id in ids:
            if self.get(scope, id) is not None:
                self._call(scope, self._tools.delete(self._ids[scope, id]))

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return self._hits(scope, self._call(scope, self._tools.search(scope, text, k, filter)))

    def close(self) -> None:
        for _, stop, task in self._sessions.values():
            self._loop.run(_end(stop, task))
        self._sessions.clear()
        self._loop.close()

    def _page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        assert self._tools.page is not None
        answer = self._call(scope, self._tools.page(limit, cursor))
        return Page([hit.item for hit in self._hits(scope, answer)], self._tools.next(answer))

    def _list(self, scope: Scope, limit: int) -> Sequence[Item]:
        page = self._page(scope, limit)
        items = [*page.items]
        while page.cursor is not None and len(items) < limit:
            page = self._page(scope, limit - len(items), page.cursor)
            items += page.items
        return items

    def _erase(self, scope: Scope) -> None:
        assert self._tools.erase is not None
        self._call(scope, self._tools.erase)

    def _hits(self, scope: Scope, answer: Any) -> list[Hit]:
        names = {issued: id for (whose, id), issued in self._ids.items() if whose == scope}
        return [
            Hit(Item(names.get(given, given), text, metadata), score)
            for given, text, metadata, score in self._tools.found(answer)
        ]

    def _call(self, scope: Scope, call: Call) -> Any:
        _check_sendable(call)
        return self._loop.run(self._answer(scope, call))

    async def _answer(self, scope: Scope, call: Call) -> Any:
        if scope not in self._sessions:
            ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
            stop = asyncio.Event()
            task = asyncio.ensure_future(_serve(self._server(scope), ready, stop))
            self._sessions[scope] = (await ready, stop, task)
        result: Any = await self._sessions[scope][0].call_tool(*call)
        texts = [part.text for part in result.content if getattr(part, "text", None) is not None]
        if getattr(result, "is_error", getattr(result, "isError", False)):
            raise ToolError(" ".join(texts)[:300])
        structured = getattr(result, "structured_content", getattr(result, "structuredContent", None))
        return structured if structured is not None else self._tools.read(texts[0])


def _check_sendable(call: Call) -> None:
    """Raise TypeError or ValueError for values that no message can carry: not JSON, or a lone surrogate."""
    json.dumps(call[1], ensure_ascii=False).encode()


async def _serve(
    server: StdioServerParameters, ready: asyncio.Future[ClientSession], stop: asyncio.Event
) -> None:
    """Keep a session open until `stop` is set, in a single task as the client requires."""
    try:
        async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            ready.set_result(session)
            await stop.wait()
    except Exception as error:  # noqa: BLE001 - passed on through the future
        if not ready.done():
            ready.set_exception(error)


async def _end(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
    stop.set()
    await asyncio.wait([task], timeout=20)
