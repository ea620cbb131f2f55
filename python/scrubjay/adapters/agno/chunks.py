"""The chunks of one tenant, by owner.

Agno's verbs name one owner, everybody (the shared chunks), or no owner, which means all owners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters.agno.documents import OWN_ID
from scrubjay.backend import Backend, Documents, Native, Node

Key = tuple[Scope, "str | int"]


def having(field: str, value: Any) -> Native:
    """Return the condition that one of Agno's own fields has a value.

    Raises:
        TypeError: the value is not a str.
    """
    if not isinstance(value, str):
        raise TypeError(f"{field.removeprefix('agno_')}: expected a str, got {type(value).__name__}")
    return Native({field: value})


class Chunks:
    """The chunks of a tenant, in all of its scopes."""

    def __init__(self, documents: Documents, tenant: Scope) -> None:
        self._documents = documents
        self._tenant = tenant

    def owner(self, user_id: str | None) -> Scope:
        """Return the scope of a user's chunks; None: the shared ones."""
        if user_id is not None and not isinstance(user_id, str):
            raise TypeError(f"user_id: expected a str, got {type(user_id).__name__}")
        return Scope(self._tenant.tenant, user=user_id)

    def scopes(self) -> list[Scope]:
        """Return all non-empty scopes of the tenant."""
        return self._documents.index.scopes(self._tenant)

    def visible(self, user_id: str | None) -> list[Scope]:
        """Return the scopes to search from: that of a user, which sees the shared chunks, or all of the tenant's."""
        return self.scopes() if user_id is None else [self.owner(user_id)]

    def holds(self, where: Node, scopes: Sequence[Scope]) -> bool:
        """Return whether a document of exactly these scopes meets the conditions."""
        documents = self._documents
        return any(len(documents.scroll(scope=scope, limit=1, filter=where, exact=True)) for scope in scopes)

    def keys(self, where: Node, scopes: Sequence[Scope] | None = None) -> list[Key]:
        """Return the keys of the documents that meet the conditions in exactly these scopes; None: all scopes."""
        return [
            (record.scope, record.id)
            for scope in (self.scopes() if scopes is None else scopes)
            for record in self._documents.every(scope=scope, filter=where, exact=True)
        ]

    def named(self, id: str, user_id: str | None = None) -> list[Key]:
        """Return the keys of the chunks with this document id, or else of those whose original id it is."""
        given = having(OWN_ID, id)
        scopes = self.scopes() if user_id is None else [self.owner(user_id)]
        documents = self._documents
        keys: list[Key] = [
            (one, id) for one in scopes if documents.get_many([id], scope=one, exact=True) != [None]
        ]
        return keys or self.keys(given, scopes)

    def delete(self, where: Node, user_id: str | None) -> bool:
        """Delete what meets the conditions, of one owner or of all, in one commit; return whether anything matched."""
        if user_id is not None:
            return self._documents.delete_many(scope=self.owner(user_id), filter=where) > 0
        with self._documents.turn:
            return Backend.of(self._documents.index).delete_keys(self.keys(where)) > 0
