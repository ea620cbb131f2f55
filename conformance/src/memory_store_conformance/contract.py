"""The interface of the checks: what every store has, and what a store may have.

A store implements :class:`Store`. Further capabilities are methods of :data:`OPTIONAL_METHODS`, detected by presence,
and words of :data:`OFFERS` in its attribute `offers`. A check that needs a missing capability is "not offered".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from memory_store_conformance.embedder import HashingEmbedder

__all__ = [
    "OFFERS",
    "OPERATORS",
    "OPTIONAL_METHODS",
    "Hit",
    "Item",
    "Page",
    "Scope",
    "Setting",
    "Store",
    "capabilities",
]

Scope = tuple[str, ...]
"""The owner of a memory: (tenant, user). A store that offers "prefixes" also searches a shorter scope and all below."""


@dataclass(frozen=True)
class Item:
    """A memory: its id within its scope, its text, and JSON metadata."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Hit:
    """A memory found by a search. `score` is None if the interface returns none."""

    item: Item
    score: float | None = None

    @property
    def id(self) -> str:
        return self.item.id


@dataclass(frozen=True)
class Page:
    """A page of a listing, with the cursor of the next page, or None."""

    items: Sequence[Item]
    cursor: Any = None


@dataclass(frozen=True)
class Setting:
    """The arguments of a factory.

    Attributes:
        directory: for the store's files. If the store is durable, the same directory must give the same memories.
        embedder: shared by all stores, so that none is judged by its model.
    """

    directory: Path
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)


@runtime_checkable
class Store(Protocol):
    """The methods of every store. A refusal is any exception; the checks decide where one is acceptable."""

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        """Write items, replacing those with existing ids of the scope. Acknowledged when it returns."""

    def get(self, scope: Scope, id: str) -> Item | None:
        """Return the item, or None."""

    def close(self) -> None:
        """Release the store's resources."""


OPTIONAL_METHODS = {
    "get_many": "(scope, ids) -> list[Item | None], in the order of ids",
    "delete": "(scope, ids): ids that are absent are passed over",
    "delete_scope": "(scope): everything of one user",
    "reset": "(tenant): everything of one tenant",
    "search": "(scope, text, k, filter=None) -> list[Hit], the best first",
    "search_vector": "(scope, vector, k) -> list[Hit]",
    "put_vectors": "(scope, items, vectors)",
    "list": "(scope, limit) -> list[Item]",
    "page": "(scope, limit, cursor=None) -> Page",
    "count": "(scope) -> int",
    "scopes": "(prefix) -> list[Scope] that hold items",
    "sweep": "(): forget what has expired",
    "purge": "(): remove the bytes of what was deleted from the files",
    "state": "(scope, subject, predicate, value, single, since=None, until=None): a statement; dates are ISO texts",
    "held": "(scope, subject, predicate, at=None) -> list of the values that hold then",
    "aput": "put, awaitable",
    "aget": "get, awaitable",
    "asearch": "search, awaitable",
}
"""The optional methods of a store, with their signatures."""

OFFERS = {
    "durable": "a store of the same directory has the same memories",
    "expiry": "put takes expires_in, in seconds",
    "prefixes": "search takes a shorter scope, which covers all below it",
    "scoped ids": "get and delete by id are confined to the scope",
    "caller ids": "the caller chooses the ids",
    "texts": "an item has a text of its own, where another kind of value is wrong",
    "batch delete": "delete hands all its ids to the store in one call",
}
"""The words for a store's attribute `offers`."""

OPERATORS = {
    "$eq": "{field: value}",
    "$ne": "{field: {'$ne': value}}",
    "$gt": "also $gte, $lt, $lte, of numbers",
    "$in": "{field: {'$in': [values]}}",
    "$and": "several fields in one mapping",
    "$or": "{'$or': [filters]}",
    "$not": "{'$not': filter}",
    "null": "{field: None}",
    "nested": "{'outer.inner': value}",
    "unknown": "an operator that nobody has, {'$frobnicate': 1}, handed to the store as it is",
}
"""The words for a store's attribute `operators`, in the filter language of `search`."""


def capabilities(store: object) -> frozenset[str]:
    """Return the names of the optional methods, offers and operators (as "filter $eq") of a store or its class."""
    methods = {name for name in OPTIONAL_METHODS if callable(getattr(store, name, None))}
    offers = set(getattr(store, "offers", ()))
    operators = set(getattr(store, "operators", ()))
    for declared, known, attribute in ((offers, OFFERS, "offers"), (operators, OPERATORS, "operators")):
        if declared - set(known):
            raise ValueError(
                f"{attribute}: expected some of {sorted(known)}, got {sorted(declared - set(known))}"
            )
    return frozenset(methods | offers | {f"filter {operator}" for operator in operators})
