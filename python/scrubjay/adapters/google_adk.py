"""Google ADK's `BaseMemoryService` over a Scrubjay index: messages of sessions, found again by words and meaning.

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
from itertools import count
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import All, AsyncDocuments, Documents, Ids, Native, Not
from scrubjay.base.errors import MissingExtraError
from scrubjay.documents.turns import as_turn
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError:
    raise MissingExtraError("scrubjay.adapters.google_adk", "google-adk", "google-adk") from None

__all__ = ["ScrubjayMemoryService"]

_NO_SESSION = ""


class ScrubjayMemoryService(BaseMemoryService):
    """Memories of the users of applications. Each user of each application is isolated from all others.

    Args:
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        embedder: enables search by meaning; without one searches go by keywords.
        max_results: the maximum number of memories that a search returns.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: the collection of the file; ids of deleted memories are kept in a second one, named after it.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    A memory's id is the id of its event or entry, and its scope is Scope(app_name, user_id). Events without a text are
    skipped. A deleted memory does not come back when its session is added again. Events of a session carry their turn
    (`run`, `position`, `speaker`), so that an answer is found through its question (:class:`scrubjay.Neighbours`).
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
        self._documents = Documents(where, collection=collection, embedder=embedder, query=query, **options)
        self._deleted = self._documents.lease.root.collection(f"{collection}: deleted")

    async def add_session_to_memory(self, session: Any) -> None:
        """Store a session's events, and delete stored events of the session that it no longer has."""
        scope = Scope(session.app_name, session.user_id)
        rows = _rows_of(session.events, session.id)
        await asyncio.to_thread(self._write, scope, rows, session.id, whole=True)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Append events. `custom_metadata` is stored with each.

        Args:
            app_name, user_id: the owner.
            events: of a session.
            session_id: the id of the session.
            custom_metadata: JSON values.
        """
        scope = Scope(app_name, user_id)
        rows = _rows_of(events, session_id or _NO_SESSION, custom_metadata)
        await asyncio.to_thread(self._write, scope, rows, session_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are; entries without an id get one.

        Args:
            app_name, user_id: the owner.
            memories: ADK's entries.
            custom_metadata: JSON values stored with each.
        """
        rows = [
            _row(memory, _NO_SESSION, memory.timestamp, {**(custom_metadata or {}), **memory.custom_metadata})
            for memory in memories
        ]
        await asyncio.to_thread(self._write, Scope(app_name, user_id), rows)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        """Return the memories of this user of this application that fit a question best.

        Args:
            app_name, user_id: the owner.
            query: the question.
        """
        scope = Scope(app_name, user_id)
        if not query.strip():
            return SearchMemoryResponse()
        hits = await AsyncDocuments(self._documents).search(query, scope=scope, k=self._max_results)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete one of the user's memories; a no-op for an unknown id.

        Args:
            app_name, user_id: the owner.
            memory_id: the id of the memory; None: nothing is deleted.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, Scope(app_name, user_id), memory_id)

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __repr__(self) -> str:
        text = f"ScrubjayMemoryService {self._documents.place}, {self._max_results} at most"
        return f"<scrubjay.adapters.google_adk.{text}>"

    def _write(
        self, scope: Scope, given: list[dict[str, Any]], session: str | None = None, whole: bool = False
    ) -> None:
        """Write standalone rows, or events of a session: the whole session (`whole`), or events to append; an event
        that is stored already keeps its turn. Rows without a text are skipped."""
        rows = [row for row in given if row["text"].strip()]
        with self._documents.turn:
            if session is not None:
                positions = {} if whole else self._positions(scope, session)
                new = dict.fromkeys(row["id"] for row in rows if row["id"] not in positions)
                positions |= dict(zip(new, count(max(positions.values(), default=-1) + 1)))
                rows = [_turn(row, positions[row["id"]]) for row in rows]
            deleted = {
                record.id for record in self._deleted.list(scope, exact=True, ids=[row["id"] for row in rows])
            }
            live = {row["id"]: row for row in rows if row["id"] not in deleted}
            stored = {
                record.id: record.metadata
                for record in self._documents.list(scope=scope, exact=True, ids=live)
            }
            # A session is added repeatedly as it grows, so unchanged events are not written again.
            changed = [row for id, row in live.items() if id not in stored or stored[id] != row["metadata"]]
            self._documents.upsert_many(changed, scope=scope)
            if whole:
                obsolete = All([Native({"session": session}), Not(Ids(frozenset(live)))])
                self._documents.delete_many(scope=scope, filter=obsolete, reason="session without this event")

    def _positions(self, scope: Scope, session: str) -> dict[str | int, int]:
        """Return the turn of each stored event of a session, by id."""
        turns = {"session": session, "position": {"$exists": True}}
        records = self._documents.list(scope=scope, exact=True, filter=turns)
        return {record.id: (record.metadata or {})["position"] for record in records}

    def _delete(self, scope: Scope, memory_id: str) -> None:
        with self._documents.turn:
            if self._documents.list(scope=scope, exact=True, ids=[memory_id]):
                self._deleted.upsert(memory_id, "", scope=scope)
                self._documents.delete_many([memory_id], scope=scope, reason="delete_memory")


def _rows_of(
    events: Sequence[Any], session: str, custom: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    return [
        # The format of ADK's in-memory service.
        _row(
            event, session, datetime.fromtimestamp(event.timestamp).isoformat(), custom or {}, event.timestamp
        )
        for event in events
    ]


def _turn(row: dict[str, Any], position: int) -> dict[str, Any]:
    """Return a row with its turn in the metadata."""
    metadata = row["metadata"]
    return {**row, "metadata": {**as_turn(metadata["session"], position, metadata["author"]), **metadata}}


def _row(
    one: Any, session: str, timestamp: str | None, custom: Any, at: float | None = None
) -> dict[str, Any]:
    """Return the document of an event or memory entry."""
    parts = (one.content.parts or []) if one.content is not None else []
    id = one.id or uuid.uuid4().hex
    metadata = {
        "session": session,
        "event": id,
        "author": one.author,
        "timestamp": timestamp,
        "content": {"json": one.content.model_dump_json(exclude_none=True)} if parts else None,
        "custom": dict(custom),
    }
    text = " ".join(part.text for part in parts if part.text)
    return {"id": id, "text": text, "metadata": metadata, "created_at": at}


def _entry(hit: Hit) -> Any:
    """Return the ADK entry of a hit; a document of another writer becomes an entry with its text."""
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
