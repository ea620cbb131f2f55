"""Scrubjay's own Index and Memory. The scope (tenant, user) is scrubjay.Scope(tenant, user=user)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scrubjay
from memory_store_conformance.contract import Hit, Item, Page, Scope, Setting

__all__ = ["ScrubjayIndex", "ScrubjayMemory"]


def _scope(scope: Scope) -> Any:
    return scrubjay.Scope(scope[0], user=scope[1])


def _item(record: Any) -> Item:
    return Item(record.id, record.text, record.metadata or {})


class ScrubjayIndex:
    """An Index with one file.

    Args:
        setting: of the factory.
        options: of Index.open.
    """

    operators = frozenset({"$eq", "$ne", "$gt", "$in", "$and", "$or", "$not", "unknown"})
    offers = frozenset({"durable", "expiry", "scoped ids", "caller ids", "batch delete", "texts"})

    def __init__(self, setting: Setting, **options: Any) -> None:
        self._path = setting.directory / "memories.scrubjay"
        self._index = scrubjay.Index.open(self._path, embedder=setting.embedder, **options)
        self._twin = scrubjay.AsyncIndex(self._index)

    def put(self, scope: Scope, items: Sequence[Item], *, expires_in: float | None = None) -> None:
        self._index.upsert_many(_records(items, expires_in), scope=_scope(scope), progress=False)

    def put_vectors(self, scope: Scope, items: Sequence[Item], vectors: Any) -> None:
        records = [
            {**record, "vector": row} for record, row in zip(_records(items, None), vectors, strict=True)
        ]
        self._index.upsert_many(records, scope=_scope(scope), progress=False)

    def get(self, scope: Scope, id: str) -> Item | None:
        record = self._index.get(id, scope=_scope(scope))
        return None if record is None else _item(record)

    def get_many(self, scope: Scope, ids: Sequence[str]) -> Sequence[Item | None]:
        records = self._index.get_many(ids, scope=_scope(scope))
        return [None if record is None else _item(record) for record in records]

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self._index.delete_many(ids, scope=_scope(scope))

    def delete_scope(self, scope: Scope) -> None:
        self._index.erase(_scope(scope), exact=True)

    def reset(self, tenant: str) -> None:
        self._index.erase(scrubjay.Scope(tenant))

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return _hits(self._index.search(text, scope=_scope(scope), k=k, filter=filter))

    def search_vector(self, scope: Scope, vector: Any, k: int) -> Sequence[Hit]:
        return _hits(self._index.search(vector=vector, scope=_scope(scope), k=k))

    def list(self, scope: Scope, limit: int) -> Sequence[Item]:
        return [_item(record) for record in self._index.list(_scope(scope), limit=limit)]

    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        page = self._index.scroll(scope=_scope(scope), limit=limit, cursor=cursor)
        return Page([_item(record) for record in page.records], page.cursor)

    def count(self, scope: Scope) -> int:
        return self._index.count(_scope(scope))

    def scopes(self, prefix: Scope) -> Sequence[Scope]:
        return [(one.tenant, one.user or "") for one in self._index.scopes(within=scrubjay.Scope(*prefix))]

    def purge(self) -> None:
        self._index.admin.compact()

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        await self._twin.upsert_many(_records(items, None), scope=_scope(scope), progress=False)

    async def aget(self, scope: Scope, id: str) -> Item | None:
        record = await self._twin.get(id, scope=_scope(scope))
        return None if record is None else _item(record)

    async def asearch(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return _hits(await self._twin.search(text, scope=_scope(scope), k=k, filter=filter))

    def close(self) -> None:
        self._index.close()


def _records(items: Sequence[Item], expires_in: float | None) -> list[dict[str, Any]]:
    return [
        {"id": item.id, "text": item.text, "metadata": item.metadata, "ttl": expires_in} for item in items
    ]


def _hits(found: Any) -> Sequence[Hit]:
    return [Hit(Item(hit.id, hit.text, hit.metadata or {}), hit.score) for hit in found]


class ScrubjayMemory:
    """A Memory: items are notes of its index, found by recall; statements are facts."""

    operators = ScrubjayIndex.operators
    offers = frozenset({"durable", "scoped ids", "caller ids", "batch delete", "texts"})

    def __init__(self, setting: Setting) -> None:
        self._path = Path(setting.directory) / "memories.scrubjay"
        self._memory = scrubjay.Memory.open(self._path, embedder=setting.embedder)

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        self._memory.index.upsert_many(_records(items, None), scope=_scope(scope), progress=False)

    def get(self, scope: Scope, id: str) -> Item | None:
        record = self._memory.index.get(id, scope=_scope(scope))
        return None if record is None else _item(record)

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self._memory.index.delete_many(ids, scope=_scope(scope))

    def delete_scope(self, scope: Scope) -> None:
        self._memory.forget(user=scope[1], tenant=scope[0])

    def reset(self, tenant: str) -> None:
        self._memory.forget(tenant=tenant)

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        hits = self._memory.recall(text, _scope(scope), k=k, filter=filter)
        return [Hit(Item(hit.id, hit.record.text, hit.record.metadata or {}), hit.score) for hit in hits]

    def purge(self) -> None:
        self._memory.compact()

    def state(
        self, scope: Scope, subject: str, predicate: str, value: str, *, single: bool,
        since: str | None = None, until: str | None = None,
    ) -> None:  # fmt: skip
        fact = scrubjay.FactCandidate(
            f"{subject} {predicate} {value}",
            subject,
            predicate,
            value=value,
            single=single,
            valid_from=since,
            valid_until=until,
        )
        self._memory.propose(fact, scope=_scope(scope), source="conformance", raise_if_rejected=True)

    def held(self, scope: Scope, subject: str, predicate: str, at: str | None = None) -> list[str]:
        facts = self._memory.list(_scope(scope), kinds=["fact"], subject=subject, as_of=at)
        return [fact.value for fact in facts if fact.predicate == predicate]

    def close(self) -> None:
        self._memory.close()
