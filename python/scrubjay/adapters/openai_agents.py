"""The OpenAI Agents SDK's `Session` over a Scrubjay index: a stored conversation that can be searched.

>>> import asyncio
>>> session = ScrubjaySession("chat-1")
>>> asyncio.run(session.add_items([{"role": "user", "content": "The staging key prefix is sk-stg-0041."}]))
>>> asyncio.run(session.get_items())
[{'role': 'user', 'content': 'The staging key prefix is sk-stg-0041.'}]
>>> [item["role"] for item in asyncio.run(session.search("sk-stg-0041"))]
['user']
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import NOBODY, AsyncDocuments, Documents
from scrubjay.base.errors import MissingExtraError
from scrubjay.documents.records import Record
from scrubjay.documents.turns import as_turn
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Index

try:
    from agents.memory.session import SessionABC
except ImportError:
    raise MissingExtraError("scrubjay.adapters.openai_agents", "openai-agents", "openai-agents") from None

__all__ = ["ScrubjaySession"]

_IS_ITEM = {"item": {"$exists": True}}  # other writers may share the collection
_IS_TURN = {**_IS_ITEM, "position": {"$gte": 0}}


class ScrubjaySession(SessionABC):
    """One conversation. Sessions with other ids, users or tenants in the same file are invisible.

    Args:
        session_id: the id of the conversation.
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        tenant, user: the owner of the conversation.
        embedder: enables :meth:`search` by meaning; without one it goes by keywords.
        session_settings: the SDK's settings; their `limit` applies to :meth:`get_items`.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    Messages of users and assistants carry their turn in the metadata (`run`, `position`, `speaker`), so that an answer
    is found through its question (:class:`scrubjay.Neighbours`).

    Raises:
        TypeError, ValueError: an id or name is not a str, or empty.
    """

    def __init__(
        self,
        session_id: str,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        tenant: str = "openai-agents",
        user: str | None = None,
        embedder: Embedder | None = None,
        session_settings: Any = None,
        query: Query | None = None,
        collection: str | None = "openai-agents",
        **options: Any,
    ) -> None:
        if user == NOBODY:
            raise ValueError(f"user: expected another name than {NOBODY!r}, which stands for none")
        self.session_id = session_id
        self.session_settings = session_settings
        self._scope = Scope(tenant, NOBODY if user is None else user, session_id)
        self._documents = Documents(where, collection=collection, embedder=embedder, query=query, **options)
        self._awaited = AsyncDocuments(self._documents)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the latest `limit` items in the order of the conversation; None: the limit of the settings, or all.

        A negative limit means no limit, as in the SDK's own sessions.
        """
        if limit is None:
            settings = self.session_settings
            limit = (
                settings.get("limit") if isinstance(settings, Mapping) else getattr(settings, "limit", None)
            )
        records = await asyncio.to_thread(self._latest, None if limit is None or limit < 0 else limit)
        return [(record.metadata or {})["item"] for record in reversed(records)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Append items: all, or none if one cannot be expressed in JSON.

        Raises:
            TypeError, ValueError: the message names the item's position and the error.
        """
        rows = [
            {"id": uuid.uuid4().hex, "text": _text_of(item), "metadata": {"item": item}} for item in items
        ]
        if rows:
            await asyncio.to_thread(self._add, rows)

    def _add(self, rows: list[dict[str, Any]]) -> None:
        with self._documents.turn:
            last = self._documents.list(scope=self._scope, exact=True, filter=_IS_TURN, limit=1)
            position = int((last[0].metadata or {})["position"]) + 1 if last else 0
            for number, row in enumerate(filter(_speaker_of, rows), start=position):
                row["metadata"] |= as_turn(self.session_id, number, _speaker_of(row))
            self._documents.upsert_many(rows, scope=self._scope)

    async def pop_item(self) -> Any | None:
        """Remove the latest item and return it, or None. Concurrent callers never get the same item."""
        return await asyncio.to_thread(self._pop)

    def _pop(self) -> Any | None:
        while latest := self._latest(1):
            if self._documents.delete_many([latest[0].id], scope=self._scope, reason="pop_item"):
                return (latest[0].metadata or {})["item"]
        return None

    def _latest(self, limit: int | None) -> list[Record]:
        """Return the latest items, newest first."""
        return self._documents.list(scope=self._scope, exact=True, filter=_IS_ITEM, limit=limit)

    async def clear_session(self) -> None:
        """Delete all items of this session."""
        await self._awaited.erase(self._scope, reason="clear_session")

    async def search(self, query: str, limit: int = 10) -> list[Any]:
        """Return the items of this session that fit a question, best first. (Not part of the SDK's interface.)

        Args:
            query: the question.
            limit: the maximum number of items.
        """
        hits = await self._awaited.search(query, scope=self._scope, k=limit, filter=_IS_ITEM)
        return [hit.metadata["item"] for hit in hits]

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __repr__(self) -> str:
        user = "nobody" if self._scope.user == NOBODY else f"user {self._scope.user!r}"
        whose = f"{self.session_id!r} of {user} of {self._scope.tenant!r}"
        return f"<scrubjay.adapters.openai_agents.ScrubjaySession {whose}: {self._documents.place}>"


def _speaker_of(row: Mapping[str, Any]) -> str | None:
    """Return the speaker of an item ("user" or "assistant"); None if it is not a message, or has no text."""
    item = row["metadata"]["item"]
    role = item.get("role") if isinstance(item, Mapping) else None
    return role if role in ("user", "assistant") and row["text"].strip() else None


def _text_of(item: Any) -> str:
    """Return the text of an item: its content, a tool's arguments and output."""
    if isinstance(item, Mapping):
        item = [item[name] for name in ("content", "text", "arguments", "output", "summary") if name in item]
    if isinstance(item, (list, tuple)):
        return "\n".join(text for part in item if (text := _text_of(part)))
    return item if isinstance(item, str) else ""
