"""The memory store of Haystack's experimental agent: messages of users and agents, searchable.

It implements `haystack_experimental.memory_stores.types.MemoryStore` without importing it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ChatRole

from scrubjay._native import Scope
from scrubjay.adapters.haystack.filters import translate
from scrubjay.backend import NOBODY, All, Documents, Native, Node, path_or_index
from scrubjay.base.errors import Error
from scrubjay.documents.records import Record
from scrubjay.documents.turns import FIELDS, as_turn
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index

_SPEAKERS = (ChatRole.USER, ChatRole.ASSISTANT)
_SHARED = {
    *("messages", "query", "filters", "top_k", "user_id", "agent_id", "run_id", "include_memory_metadata"),
    *("search_criteria", "infer", "async_mode"),
}
_AGENT, _RUN, _ROLE, _META = "agent_id", "run_id", "role", "meta"


class ScrubjayMemoryStore:
    """The memories of the users of one tenant, in a file or in memory, searched by words and by meaning.

    Args:
        path: the path of the file; None: in memory, for this object alone. Stores of one process may share a file.
        tenant: the tenant of the users.
        embedder: a spec of :func:`scrubjay.embedders.from_spec`, such as "default"; None: search by words only.
        collection: the collection of the file.
        index: an open index in place of `path`; a store over an index in memory cannot be serialised.

    A search sees exactly the memories of one user; `agent_id` and `run_id` narrow it further. The same message of the
    same user, agent and run is one memory, because the agent adds the whole conversation again after each of its runs.
    Messages of users and assistants in a run carry their turn in the metadata (`run`, `position`, `speaker`), so that
    an answer is found through its question (:class:`scrubjay.Neighbours`), unless the meta of the message already has
    one of these names.

    The agent passes the same keyword arguments to every method, so each ignores those of the others, and those of
    Haystack's other stores. Any other name is an error: with a misspelt `run_id`, all runs would
    be meant. A deletion of all ignores nothing.

    Raises:
        TypeError: an unknown keyword argument.
        ValueError: a call names neither user, agent nor run.

    >>> store = ScrubjayMemoryStore(tenant="acme")
    >>> added = store.add_memories(messages=[ChatMessage.from_user("The key is sk-stg-0041.")], user_id="jane")
    >>> [message.text for message in store.search_memories(query="sk-stg-0041", user_id="jane")]
    ['The key is sk-stg-0041.']
    >>> store.search_memories(query="sk-stg-0041", user_id="joe")
    []
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        tenant: str = "default",
        embedder: str | None = None,
        collection: str = "haystack memories",
        index: Index | None = None,
    ) -> None:
        where = path_or_index(None if path is None else Path(path), index)
        self.tenant, self.embedder, self.collection = tenant, embedder, collection
        Scope(tenant)  # raises for an invalid tenant
        self._path = str(index.path) if index is not None and index.path is not None else path
        self._borrowed = index is not None
        self._documents = Documents(
            where,
            collection=collection,
            embedder=None if embedder is None else from_spec(embedder),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the serialised store; a store in memory is restored empty.

        Raises:
            ValueError: the store was given an index in memory.
        """
        if self._borrowed and self._path is None:
            raise ValueError("index: a store over an index in memory cannot be serialised; give it a path")
        serialised: dict[str, Any] = default_to_dict(
            self,
            path=self._path,
            tenant=self.tenant,
            embedder=self.embedder,
            collection=self.collection,
        )
        return serialised

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScrubjayMemoryStore:
        """Restore a store from `data`, a result of :meth:`to_dict`."""
        return default_from_dict(cls, data)

    def add_memories(
        self,
        *,
        messages: list[ChatMessage],
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **given: Any,
    ) -> list[dict[str, Any]]:
        """Store messages, all or none, and return {"memory_id", "memory"} of each; messages without text are skipped.

        Args:
            messages: the messages.
            user_id, agent_id, run_id: their owner, agent and run; None: unspecified.
            given: arguments of the other methods; ignored.

        Raises:
            TypeError: an element is not a ChatMessage, or its meta cannot be expressed in JSON.
        """
        _check_shared(given)
        scope, labels = self._scope(user_id, agent_id, run_id)
        rows: dict[str, dict[str, Any]] = {}
        spoken: dict[str, str] = {}
        for position, message in enumerate(messages):
            if not isinstance(message, ChatMessage):
                raise TypeError(f"messages[{position}]: expected a ChatMessage, got {type(message).__name__}")
            if not message.text:
                continue
            identity = "\0".join(
                [
                    message.role.value,
                    scope.user or "",
                    labels.get(_AGENT, ""),
                    labels.get(_RUN, ""),
                    message.text,
                ]
            )
            id = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
            meta = dict(message.meta)
            metadata = {**meta, _META: {"keys": list(meta)}, _ROLE: message.role.value, **labels}
            rows[id] = {"id": id, "text": message.text, "scope": scope, "metadata": metadata}
            if message.role in _SPEAKERS and not meta.keys() & set(FIELDS):
                spoken[id] = message.name or message.role.value
        with self._documents.turn:
            records = self._documents.get_many(list(rows), scope=scope)
            new = [row for row, record in zip(rows.values(), records, strict=True) if record is None]
            if new:
                self._number(new, spoken, run_id, scope)
                self._documents.upsert_many(new)
        return [{"memory_id": id, "memory": row["text"]} for id, row in rows.items()]

    def _number(
        self, rows: list[dict[str, Any]], spoken: dict[str, str], run_id: str | None, scope: Scope
    ) -> None:
        """Give new messages, whose speakers `spoken` maps from ids, the next turns of their run."""
        if not run_id or not spoken:
            return
        is_turn = Native({"run": run_id, "position": {"$exists": True}, _RUN: run_id})
        last = self._documents.list(scope=scope, exact=True, filter=is_turn, limit=1)  # the newest
        previous = (last[0].metadata or {})["position"] if last else -1
        # The value may come from a message's meta.
        position = previous + 1 if isinstance(previous, int) else 0
        for row in rows:
            if row["id"] in spoken:
                row["metadata"] |= as_turn(run_id, position, spoken[row["id"]])
                position += 1

    def search_memories(
        self,
        *,
        query: str | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 5,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        include_memory_metadata: bool = False,
        search_criteria: dict[str, Any] | None = None,
        **given: Any,
    ) -> list[ChatMessage]:
        """Return the memories that fit a query best (without a query: the latest) as system messages.

        Args:
            query: a question; identifiers in it are found verbatim.
            filters: Haystack's filters on the meta of messages, on role, agent_id and run_id, applied before ranking.
            top_k: the maximum number of memories.
            user_id, agent_id, run_id: whose memories.
            include_memory_metadata: put id, role and times into `meta["retrieved_memory_metadata"]`.
            search_criteria: arguments of this method that take precedence, as the agent's `memory_store_kwargs` have
                them.
            given: arguments of the other methods; ignored.

        Raises:
            FilterError: the filter is malformed.
            ValueError: top_k is negative.
        """
        _check_shared(given)
        if search_criteria:
            usual: dict[str, Any] = {
                "query": query, "filters": filters, "top_k": top_k, "user_id": user_id, "agent_id": agent_id,
                "run_id": run_id, "include_memory_metadata": include_memory_metadata,
            }  # fmt: skip
            return self.search_memories(**{**usual, **search_criteria})
        scope, labels = self._scope(user_id, agent_id, run_id)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
            raise ValueError(f"top_k: expected 0 or more, got {top_k!r}")
        where = _narrowed(labels, filters)
        if top_k == 0:
            return []
        if query is not None and query.strip():
            hits: list[Any] = list(self._documents.search(query, scope=scope, k=top_k, filter=where))
        else:
            hits = list(self._documents.list(scope=scope, exact=True, filter=where, limit=top_k))
        return [_message(hit, include_memory_metadata) for hit in hits]

    def delete_all_memories(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **given: Any,
    ) -> None:
        """Delete the memories of a user, or of an agent or run of that user, in one transaction.

        Args:
            user_id, agent_id, run_id: whose memories; None: unspecified.
            given: no others; the protocol of stores has this parameter.
        """
        _check_shared(given, set())
        scope, labels = self._scope(user_id, agent_id, run_id)
        if labels:
            self._documents.delete_many(scope=scope, filter=_narrowed(labels), reason="delete_all_memories")
        else:
            self._documents.erase(scope, reason="delete_all_memories")

    def delete_memory(self, memory_id: str, *, user_id: str | None = None, **given: Any) -> None:
        """Delete a user's memory `memory_id`; without `user_id`, any user's. A no-op for an unknown id.

        Args:
            memory_id: the id of the memory.
            user_id: its owner.
            given: arguments of the other methods; ignored.
        """
        _check_shared(given)
        if not isinstance(memory_id, str):
            raise TypeError(f"memory_id: expected a str, got {type(memory_id).__name__}")
        if user_id is not None:
            self._documents.delete_many([memory_id], scope=Scope(self.tenant, user_id))
            return
        try:
            records = self._documents.index.find(memory_id, within=Scope(self.tenant)) if memory_id else []
        except (ValueError, Error):
            return
        for record in records:
            self._documents.delete_many([memory_id], scope=record.scope)

    def close(self) -> None:
        """Release the file; it closes with the last store of the process that uses it."""
        self._documents.close()

    def _scope(
        self, user_id: str | None, agent_id: str | None, run_id: str | None
    ) -> tuple[Scope, dict[str, str]]:
        if user_id == "":
            raise ValueError(
                "user_id: expected a name, got ''; leave it out for memories of no user in particular"
            )
        if not user_id and not agent_id and not run_id:
            raise ValueError("user_id, agent_id, run_id: expected one of them at least, got none")
        labels = {name: value for name, value in ((_AGENT, agent_id), (_RUN, run_id)) if value}
        if user_id == NOBODY:
            raise ValueError(f"user_id: expected another name than {NOBODY!r}, which stands for none")
        return Scope(self.tenant, user_id or NOBODY), labels


def _check_shared(given: dict[str, Any], shared: set[str] = _SHARED) -> None:
    """Raise TypeError for a keyword argument that no method of any memory store has."""
    if unknown := sorted(set(given) - shared):
        raise TypeError(f"{unknown[0]}: unexpected keyword argument, expected user_id, agent_id or run_id")


def _narrowed(of: dict[str, str], filters: dict[str, Any] | None = None) -> Node | None:
    """Return the conditions for an agent, a run and Haystack's filter."""
    node = translate(filters, _document)
    if not of:
        return node
    return All([Native(dict(of)), *([] if node is None else [node])])


def _document(record: Record, with_embedding: bool) -> Document:
    metadata = {key: value for key, value in (record.metadata or {}).items() if key != _META}
    return Document(id=str(record.id), content=record.text, meta=metadata)


def _message(record: Any, with_metadata: bool) -> ChatMessage:
    metadata = record.metadata or {}
    keys = (metadata.get(_META) or {}).get("keys", [])
    meta = {key: metadata[key] for key in keys if key in metadata}
    if with_metadata:
        at = record.created_at
        meta["retrieved_memory_metadata"] = {
            "memory_id": str(record.id),
            "score": getattr(record, "score", None),
            "created_at": None if at is None else at.isoformat(),
            **{name: metadata[name] for name in (_ROLE, _AGENT, _RUN) if name in metadata},
        }
    return ChatMessage.from_system(text=record.text, meta=meta)
