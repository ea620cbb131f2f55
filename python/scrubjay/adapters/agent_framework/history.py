"""The history provider: the messages of sessions, with one scope for each session."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agent_framework import HistoryProvider, Message

from scrubjay._native import Scope
from scrubjay.adapters._turn_memory import writable
from scrubjay.backend import NOBODY, Documents
from scrubjay.documents.records import Record
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Index

NO_SESSION = "default"
_IS_MESSAGE = {"message": {"$exists": True}}  # other writers may share the collection


class ScrubjayHistoryProvider(HistoryProvider):
    """The messages of sessions. Sessions with other ids, users or tenants in the same file are invisible.

    Like the framework's own providers it stores only new messages: those that repeat the end of a session, or all of
    it, are skipped. For that it reads at most one message more than it is given, however long the session is.

    Args:
        where: the path of a file; an open :class:`scrubjay.Index`; None: in memory, for this process.
        scope: the owner of the sessions: a tenant and optionally a user; or a function from a session id to such a
            scope.
        source_id, load_messages, store_inputs, store_context_messages, store_context_from, store_outputs,
            skip_excluded: as for the framework's FileHistoryProvider.
        limit: load only this many of the latest messages; None: all.
        embedder: enables :meth:`search` by meaning; without one it goes by words.
        query: how :meth:`search` ranks; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        options: further arguments of :meth:`scrubjay.Index.open` and :meth:`scrubjay.Index.collection`.

    A session without an id is named "default", as in the framework's FileHistoryProvider.

    Raises:
        TypeError, ValueError: an argument is invalid, or a message cannot be expressed in JSON.

    >>> import asyncio
    >>> history = ScrubjayHistoryProvider(scope=Scope("acme", user="jane"))
    >>> said = [Message("user", ["The staging key prefix is sk-stg-0041."])]
    >>> asyncio.run(history.save_messages("s1", said))
    >>> [message.text for message in asyncio.run(history.get_messages("s1"))]
    ['The staging key prefix is sk-stg-0041.']
    >>> asyncio.run(history.get_messages("s2"))
    []
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "scrubjay_history"

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope | Callable[[str], Scope],
        source_id: str = DEFAULT_SOURCE_ID,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        skip_excluded: bool = False,
        limit: int | None = None,
        embedder: Embedder | None = None,
        query: Query | None = None,
        collection: str | None = "agent-framework",
        **options: Any,
    ) -> None:
        if isinstance(scope, Scope):
            _checked(scope)
        elif not callable(scope):
            raise TypeError(
                f"scope: expected a scrubjay.Scope or a function that returns one, got {type(scope).__name__}"
            )
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ValueError(f"limit: expected 1 or more, or None, got {limit!r}")
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self.skip_excluded = skip_excluded
        self._scope, self._limit = scope, limit
        self._documents = Documents(where, collection=collection, embedder=embedder, query=query, **options)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the latest `limit` messages of a session, oldest first.

        Args:
            session_id: the id of the session; None: the session without an id.
            state, kwargs: the framework's; ignored.
        """
        records = await asyncio.to_thread(self._latest, self._session(session_id), self._limit)
        messages = [_message(record) for record in reversed(records)]
        if self.skip_excluded:
            return [
                message for message in messages if not message.additional_properties.get("_excluded", False)
            ]
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Any],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append the new messages durably, all or none.

        Args:
            session_id: the id of the session; None: the session without an id.
            messages: all messages of the turn.
            state, kwargs: the framework's; ignored.
        """
        if messages:
            rows = [_row(message, position) for position, message in enumerate(messages)]
            await asyncio.to_thread(self._append, self._session(session_id), rows)

    async def search(self, query: str, session_id: str | None, limit: int = 10) -> list[Any]:
        """Return the messages of a session that fit a question, best first. (Not part of the framework's interface.)

        Args:
            query: the question.
            session_id: the id of the session; None: the session without an id.
            limit: the maximum number of messages.
        """
        index, settings = self._documents.index, self._documents.query
        scope = self._session(session_id)
        hits = await index.asearch(query, scope=scope, k=limit, filter=_IS_MESSAGE, query=settings)
        return [_message(hit) for hit in hits]

    async def delete_session(self, session_id: str | None) -> int:
        """Delete the messages of a session and return their number. (Not part of the framework's interface.)

        Args:
            session_id: the id of the session; None: the session without an id.
        """
        scope = self._session(session_id)
        return await asyncio.to_thread(self._documents.erase, scope, reason="delete_session")

    async def delete_sessions(self, scope: Scope) -> int:
        """Delete all sessions of a user, or of a tenant if the scope has no user; return the number of messages."""
        checked = _checked(scope)
        return await asyncio.to_thread(self._documents.erase, checked, exact=False, reason="delete_sessions")

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __repr__(self) -> str:
        whose = self._scope if isinstance(self._scope, Scope) else "many scopes"
        text = f"ScrubjayHistoryProvider of {whose}: {self._documents.place}"
        return f"<scrubjay.adapters.agent_framework.{text}>"

    def _session(self, session_id: str | None) -> Scope:
        id = session_id or NO_SESSION
        scope = self._scope if isinstance(self._scope, Scope) else _checked(self._scope(id))
        return Scope(scope.tenant, NOBODY if scope.user is None else scope.user, id)

    def _latest(self, scope: Scope, limit: int | None) -> list[Record]:
        """Return the latest messages, newest first."""
        return self._documents.list(scope=scope, exact=True, filter=_IS_MESSAGE, limit=limit)

    def _append(self, scope: Scope, rows: list[dict[str, Any]]) -> None:
        with self._documents.turn:
            latest = self._latest(scope, len(rows) + 1)
            identities = [(record.metadata or {})["identity"] for record in reversed(latest)]
            n_known = _n_repeated(identities, [row["metadata"]["identity"] for row in rows])
            if rows[n_known:]:
                self._documents.upsert_many(rows[n_known:], scope=scope)


def _checked(scope: Any) -> Scope:
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    if scope.agent is not None:
        raise ValueError(
            f"scope: expected a tenant and a user, got {scope!r}; an agent stands for the session"
        )
    if scope.user == NOBODY:
        raise ValueError(f"scope: expected another user than {NOBODY!r}, which stands for none")
    return scope


def _n_repeated(there: Sequence[str], given: Sequence[str]) -> int:
    """Return how many of the given messages, from the first, are stored already.

    Args:
        there: the latest stored messages, oldest first: all, or one more than `given` has.
        given: the new messages, in order.

    Follows the framework's rule: either `given` contains the whole session consecutively, or it begins with the end of
    the session. A single user message without an id counts as a repeated question instead.
    """
    is_question = bool(there) and there[-1].startswith("user:")
    for start in range(len(given) - len(there) + 1 if there else 0):
        if list(given[start : start + len(there)]) == list(there):
            if start == 0 and len(there) == 1 and is_question:
                break
            return start + len(there)
    for n in range(min(len(there), len(given)), 0, -1):
        if list(there[-n:]) == list(given[:n]) and not (n == 1 and is_question):
            return n
    return 0


def _row(message: Any, position: int) -> dict[str, Any]:
    if not isinstance(message, Message):
        raise TypeError(f"messages[{position}]: expected a Message, got {type(message).__name__}")
    fields = message.to_dict()
    try:
        # As text, so that any message is restored unchanged and none of its fields is filterable.
        encoded = json.dumps(fields, ensure_ascii=True)
        contents = json.dumps(fields.get("contents", []), ensure_ascii=True, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise type(error)(f"messages[{position}]: expected what JSON can express: {error}") from None
    if message.message_id is None:
        identity = f"{message.role}:{hashlib.sha256(contents.encode()).hexdigest()}"
    else:
        identity = f"id {message.message_id}"
    return {
        "id": uuid.uuid4().hex,
        "text": writable(message.text),
        "metadata": {"message": {"json": encoded}, "identity": writable(identity)},
    }


def _message(record: Any) -> Any:
    return Message.from_dict(json.loads(record.metadata["message"]["json"]))
