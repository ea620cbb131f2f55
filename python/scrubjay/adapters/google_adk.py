"""Google ADK's `BaseMemoryService` over a Scrubjay index: what was said in sessions, found again by words and meaning.

>>> import asyncio
>>> from google.adk.memory.memory_entry import MemoryEntry
>>> from google.genai import types
>>> memory = ScrubjayMemoryService()
>>> said = types.Content(parts=[types.Part(text="The staging key prefix is sk-stg-0041.")])
>>> asyncio.run(memory.add_memory(app_name="app", user_id="jane", memories=[MemoryEntry(content=said)]))
>>> found = asyncio.run(memory.search_memory(app_name="app", user_id="jane", query="sk-stg-0041"))
>>> found.memories[0].content.parts[0].text
'The staging key prefix is sk-stg-0041.'
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import as_query, lease, valid_ids
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import MissingExtraError
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index
from scrubjay.turns import as_turn

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError:
    raise MissingExtraError("scrubjay.adapters.google_adk", "google-adk", "google-adk") from None

__all__ = ["ScrubjayMemoryService"]

_NO_SESSION = ""


class ScrubjayMemoryService(BaseMemoryService):
    """Memories of users of applications: a user of one application sees neither another user nor another application.

    Args:
        where: the path of a file; an :class:`Index` that is open already; None: in this process's memory.
        embedder: for finding by meaning; without one searches go by keywords.
        max_results: how many memories a search returns at most.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: of the file; the ids of deleted memories are kept in another, named after it.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    A memory's id is that of its event, or the one it was given, and its scope is Scope(app_name, user_id). Events
    without a text are not kept. A deleted memory does not come back when its session is added again. Events of a
    session say which turn of it they are (`run`, `position`, `speaker`), so that an answer is found by its question
    (:class:`scrubjay.Neighbours`).
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        embedder: Embedder | None = None,
        max_results: int = 10,
        query: Query | None = None,
        collection: str = "google-adk",
        **options: Any,
    ) -> None:
        self._max_results = max_results
        self._query = as_query(query)
        self._lease = lease(where, collection=collection, embedder=embedder, **options)
        self._index = self._lease.index
        self._deleted = self._lease.root.collection(f"{collection}: deleted")

    async def add_session_to_memory(self, session: Any) -> None:
        """Keep a session's events; those of an earlier version of the session that are not in it any more go."""
        scope = Scope(session.app_name, session.user_id)
        rows = _rows_of(session.events, session.id)
        await asyncio.to_thread(self._write, scope, rows, replaces=session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep further events. `custom_metadata` comes back with each.

        Args:
            app_name, user_id: whose.
            events: of a session.
            session_id: of the session.
            custom_metadata: JSON values.
        """
        scope = Scope(app_name, user_id)
        rows = _rows_of(events, session_id or _NO_SESSION, custom_metadata)
        await asyncio.to_thread(self._write, scope, rows, follows=session_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep memories as they are given; one that has no id gets one.

        Args:
            app_name, user_id: whose.
            memories: ADK's entries.
            custom_metadata: JSON values that come back with each.
        """
        scope = Scope(app_name, user_id)
        rows = []
        for memory in memories:
            own = {**(custom_metadata or {}), **memory.custom_metadata}
            id = memory.id or uuid.uuid4().hex
            row = _row(memory.content, _NO_SESSION, id, memory.author, memory.timestamp, own)
            if row is not None:
                rows.append(row)
        await asyncio.to_thread(self._write, scope, rows)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        """Return what fits a question best of what this user of this application sees.

        Args:
            app_name, user_id: whose.
            query: the question.
        """
        scope = Scope(app_name, user_id)
        if not query.strip():
            return SearchMemoryResponse()
        hits = await self._index.asearch(query, scope=scope, k=self._max_results, query=self._query)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete one of the user's memories; a no-op for an unknown id.

        Args:
            app_name, user_id: whose.
            memory_id: of the memory; None: nothing is deleted.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, Scope(app_name, user_id), memory_id)

    def close(self) -> None:
        """Give the file back; the last adapter that uses it closes it."""
        self._lease.close()

    def __repr__(self) -> str:
        place = self._lease.place(self._index)
        return f"<scrubjay.adapters.google_adk.ScrubjayMemoryService {place}, {self._max_results} at most>"

    def _write(
        self,
        scope: Scope,
        rows: list[dict[str, Any]],
        replaces: str | None = None,
        follows: str | None = None,
    ) -> None:
        """Write rows that are all of a session (`replaces`), that come after what is there of one (`follows`), or
        stand alone."""
        with self._lease.turn:
            if replaces is not None:
                rows = [_turn(row, position) for position, row in enumerate(rows)]
            elif follows is not None:
                rows = self._following(scope, rows, follows)
            ids = [row["id"] for row in rows]
            deleted = {record.id for record in self._deleted.list(scope, exact=True, ids=ids)}
            kept = {row["id"]: row for row in rows if row["id"] not in deleted}
            there = {record.id: record for record in self._index.list(scope, exact=True, ids=list(kept))}
            new = [
                row for id, row in kept.items() if id not in there or there[id].metadata != row["metadata"]
            ]  # a session is added again and again as it grows
            if new:
                self._index.upsert_many(new, scope=scope, progress=False)
            if replaces is not None:
                there_now = self._index.list(scope, exact=True, filter={"session": replaces})
                gone = [record.id for record in there_now if record.id not in kept]
                self._index.delete_many(gone, scope=scope, reason="session without this event")

    def _following(self, scope: Scope, rows: list[dict[str, Any]], session: str) -> list[dict[str, Any]]:
        """Return rows with their turns: after those that are there; one that is there keeps its own."""
        there = self._index.list(
            scope, exact=True, filter={"session": session, "position": {"$exists": True}}
        )
        known = {record.id: (record.metadata or {})["position"] for record in there}
        position = max(known.values(), default=-1)
        turns = []
        for row in rows:
            if row["id"] not in known:
                known[row["id"]] = position = position + 1
            turns.append(_turn(row, known[row["id"]]))
        return turns

    def _delete(self, scope: Scope, memory_id: str) -> None:
        with self._lease.turn:
            if self._index.list(scope, exact=True, ids=valid_ids([memory_id])):
                self._deleted.upsert(memory_id, "", scope=scope)
                self._index.delete(memory_id, scope=scope, reason="delete_memory")


def _rows_of(
    events: Sequence[Any], session: str, custom: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    rows = []
    for event in events:
        at = datetime.fromtimestamp(event.timestamp).isoformat()  # as the service in memory writes it
        row = _row(event.content, session, event.id, event.author, at, custom or {})
        if row is not None:
            rows.append({**row, "created_at": event.timestamp})
    return rows


def _turn(row: dict[str, Any], position: int) -> dict[str, Any]:
    """Return a row that says which turn of its session it is."""
    metadata = row["metadata"]
    return {**row, "metadata": {**as_turn(metadata["session"], position, metadata["author"]), **metadata}}


def _row(
    content: Any, session: str, id: str, author: str | None, timestamp: str | None, custom: Any
) -> dict[str, Any] | None:
    parts = (content.parts or []) if content is not None else []
    text = " ".join(part.text for part in parts if part.text)
    if not text.strip():
        return None
    metadata = {
        "session": session,
        "event": id,
        "author": author,
        "timestamp": timestamp,
        "content": {"json": content.model_dump_json(exclude_none=True)},
        "custom": dict(custom),
    }
    return {"id": id, "text": text, "metadata": metadata}


def _entry(hit: Hit) -> Any:
    """Return a memory as ADK has it; of one that was not written here, its text."""
    metadata = hit.metadata
    if "event" not in metadata:
        at = None if hit.created_at is None else hit.created_at.isoformat()
        content = types.Content(parts=[types.Part(text=hit.text)])
        return MemoryEntry(content=content, custom_metadata=metadata, id=str(hit.id), timestamp=at)
    return MemoryEntry(
        content=types.Content.model_validate_json(metadata["content"]["json"]),
        custom_metadata=metadata["custom"],
        id=str(hit.id),
        author=metadata["author"],
        timestamp=metadata["timestamp"],
    )
