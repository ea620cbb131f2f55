"""Planted faults of the levels crud and deletion."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Sequence
from typing import Any

from faults import fault
from memory_store_conformance import Hit, Item, Scope
from reference import ReferenceStore, Row


def _changed(item: Item, text: str | None = None, metadata: dict[str, Any] | None = None) -> Item:
    return Item(item.id, item.text if text is None else text, item.metadata if metadata is None else metadata)


@fault("crud.round-trip")
class NormalisesText(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        normal = [
            _changed(i, unicodedata.normalize("NFC", i.text) if isinstance(i.text, str) else i.text)
            for i in items
        ]
        super().put(scope, normal, **options)


@fault("crud.round-trip")
class CutsLongTexts(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        cut = [[id, text[:8192], *rest] for id, text, *rest in arguments] if what == "put" else arguments
        super().apply(what, scope, cut)


@fault("crud.metadata")
class RoundsNumbers(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        def rounded(value: Any) -> Any:
            return round(value, 1) if isinstance(value, float) else value

        super().put(
            scope,
            [_changed(i, None, {k: rounded(v) for k, v in i.metadata.items()}) for i in items],
            **options,
        )


@fault("crud.metadata-nested")
class FlattensNumbers(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        def flat(value: Any) -> Any:
            return (
                {k: v if isinstance(v, dict) else str(v) for k, v in value.items()}
                if isinstance(value, dict)
                else value
            )

        super().put(
            scope, [_changed(i, None, {k: flat(v) for k, v in i.metadata.items()}) for i in items], **options
        )


@fault("crud.missing")
class EmptyStoreAnswers(ReferenceStore):
    def get(self, scope: Scope, id: str) -> Item | None:
        return super().get(scope, id) if self._rows else Item(id, "")


@fault("crud.replace")
class MergesMetadata(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if what == "put":
            rows = self._rows.get(scope, {})
            for written in arguments:
                if written[0] in rows:
                    written[2] = json.dumps(
                        {**json.loads(rows[written[0]].metadata), **json.loads(written[2])}
                    )
        super().apply(what, scope, arguments)


class _Ghosts(ReferenceStore):
    """Keeps the rows that were replaced or deleted."""

    def __init__(self, setting: Any) -> None:
        self.replaced: list[Row] = []
        self.deleted: list[Row] = []
        super().__init__(setting)

    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        rows = self._rows.get(scope, {})
        if what == "put":
            self.replaced += [rows[written[0]] for written in arguments if written[0] in rows]
        elif len(arguments) > 1:
            self.deleted += [rows[id] for id in arguments if id in rows]
        super().apply(what, scope, arguments)

    def dead(self, scope: Scope) -> list[Row]:
        return [row for row in self.deleted if row.scope == scope]


@fault("crud.replace-search")
class FindsReplacedTexts(_Ghosts):
    def candidates(self, scope: Scope) -> list[Row]:
        return super().candidates(scope) + [row for row in self.replaced if row.scope == scope]


@fault("crud.batch-same-id")
class FirstOfABatchStays(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if what == "put":
            arguments = list({written[0]: written for written in reversed(arguments)}.values())[::-1]
        super().apply(what, scope, arguments)


@fault("crud.batch-order")
class OwnOrder(ReferenceStore):
    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Item | None]:
        found = super().get_many(scope, sorted(ids))
        return [item for item in found if item is not None] + [item for item in found if item is None]


@fault("crud.batch-large")
class BatchesOf999(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        super().put(scope, items[:999], **options)


@fault("crud.batch-empty")
class EmptyBatchEmpties(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        super().put(scope, items, **options)
        if not items:
            self.delete_scope(scope)


@fault("crud.same-text")
class OneItemAText(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        texts = {str(item.text): item for item in items}
        super().put(scope, [item for item in items if texts[str(item.text)] is item], **options)


@fault("crud.odd-ids")
class IdsWithoutCase(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if what == "put":
            arguments = [[written[0].casefold(), *written[1:]] for written in arguments]
        super().apply(what, scope, arguments)

    def get(self, scope: Scope, id: str) -> Item | None:
        return super().get(scope, id.casefold())


@fault("crud.no-alias")
class HandsOutItsOwn(ReferenceStore):
    def __init__(self, setting: Any) -> None:
        self._handed: dict[Any, Item] = {}
        super().__init__(setting)

    def get(self, scope: Scope, id: str) -> Item | None:
        found = super().get(scope, id)
        before = self._handed.get((scope, id))
        if found is None or before is None or found.text != before.text:
            if found is not None:
                self._handed[scope, id] = found
            return found
        return before


@fault("crud.list")
class ListsTwenty(ReferenceStore):
    def list(self, scope: Scope, limit: int) -> list[Item]:
        return super().list(scope, min(limit, 20))


@fault("crud.count")
class CountsWrites(_Ghosts):
    def count(self, scope: Scope) -> int:
        return super().count(scope) + sum(row.scope == scope for row in self.replaced)


@fault("deletion.get")
class ReadsDeleted(_Ghosts):
    def get(self, scope: Scope, id: str) -> Item | None:
        dead = [row.item() for row in self.dead(scope) if row.id == id]
        return dead[0] if dead and len(self.deleted) < 100 else super().get(scope, id)


@fault("deletion.search")
class FindsDeleted(_Ghosts):
    def candidates(self, scope: Scope) -> list[Row]:
        return super().candidates(scope) + (self.dead(scope) if len(self.deleted) < 100 else [])


@fault("deletion.vector")
class FindsDeletedByVector(_Ghosts):
    def search_vector(self, scope: Scope, vector: Any, k: int) -> list[Hit]:
        return self.ranked(self.visible(scope) + self.dead(scope), vector, k, None, set())


@fault("deletion.list")
class ListsDeleted(_Ghosts):
    def list(self, scope: Scope, limit: int) -> list[Item]:
        return super().list(scope, limit) + [row.item() for row in self.dead(scope)]


@fault("deletion.count")
class CountsDeleted(_Ghosts):
    def count(self, scope: Scope) -> int:
        return super().count(scope) + len(self.dead(scope))


@fault("deletion.absent")
class AbsentIsAnError(ReferenceStore):
    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        for id in ids:
            if id not in self._rows.get(scope, {}):
                raise KeyError(id)
        super().delete(scope, ids)


@fault("deletion.again")
class TombstonesStay(ReferenceStore):
    def __init__(self, setting: Any) -> None:
        self._tombstones: set[Any] = set()
        super().__init__(setting)

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        super().delete(scope, ids)
        self._tombstones |= {(scope, id) for id in ids}

    def candidates(self, scope: Scope) -> list[Row]:
        return [row for row in super().candidates(scope) if (row.scope, row.id) not in self._tombstones]


@fault("deletion.reopened")
class ForgetsDeletions(ReferenceStore):
    """A deletion of one id is not replayed."""

    def _refresh(self) -> None:
        rewritten, operations = self._log.unread()
        if rewritten:
            self._rows = {}
            self._ordered.clear()
        for what, scope, arguments in operations:
            if what != "delete" or len(arguments) != 1:
                self.apply(what, tuple(scope), arguments)


@fault("deletion.scope")
class DeletesAThousand(ReferenceStore):
    def delete_scope(self, scope: Scope) -> None:
        self.delete(scope, list(self._rows.get(scope, ()))[:1000])


@fault("deletion.bytes")
class KeepsBytes(ReferenceStore):
    def purge(self) -> None:
        pass


@fault("deletion.killed")
class DeletesOneByOne(ReferenceStore):
    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        for id in ids:
            super().delete(scope, [id])
            if len(ids) > 100:
                time.sleep(0.001)
