"""Planted faults of the levels expiry, truth and paging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faults import fault
from faults_writing import _Ghosts
from memory_store_conformance import Item, Page, Scope
from reference import ReferenceStore, Row, as_text, as_vector


@fault("expiry.get")
class ReadsExpired(ReferenceStore):
    def get(self, scope: Scope, id: str) -> Item | None:
        row = self._rows.get(scope, {}).get(id)
        return super().get(scope, id) if row is None else row.item()


@fault("expiry.search")
class FindsExpired(ReferenceStore):
    def candidates(self, scope: Scope) -> list[Row]:
        return list(self.ordered(scope))


@fault("expiry.list")
class ListsExpired(ReferenceStore):
    def list(self, scope: Scope, limit: int) -> list[Item]:
        return [row.item() for row in self.ordered(scope)[:limit]]


@fault("expiry.replaced")
class KeepsTheOldLifetime(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        rows = self._rows.get(scope, {})
        for written in arguments if what == "put" else ():
            if written[0] in rows and written[4] is None:
                written[4] = rows[written[0]].expires_at
        super().apply(what, scope, arguments)


@fault("truth.additive")
class OneValueEach(ReferenceStore):
    def state(self, *slot: Any, single: bool, **times: Any) -> None:
        super().state(*slot, single=True, **times)


@fault("truth.single")
class UndatedStays(ReferenceStore):
    def state(self, *slot: Any, single: bool, **times: Any) -> None:
        super().state(*slot, single=single and "since" in times, **times)


@fault("truth.past")
class ForgetsTheOlder(ReferenceStore):
    def state(self, *slot: Any, single: bool, **times: Any) -> None:
        super().state(*slot, single=single, **times)
        new = self._statements[-1]
        older = [
            one for one in self._statements if one["slot"] == new["slot"] and one["since"] < new["since"]
        ]
        if single:
            self._statements = [one for one in self._statements if one not in older]


@fault("truth.late")
class ByArrival(ReferenceStore):
    def recency(self, statement: dict[str, Any]) -> Any:
        return statement["number"]


@fault("truth.until")
class NothingEnds(ReferenceStore):
    def state(self, *slot: Any, single: bool, until: str | None = None, **times: Any) -> None:
        super().state(*slot, single=single, **times)


@fault("truth.apart")
class OneSubject(ReferenceStore):
    def slot(self, scope: Scope, subject: str, predicate: str) -> Any:
        return (scope, predicate)


@fault("paging.whole")
class DropsTheLastOfAFullPage(ReferenceStore):
    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        page = super().page(scope, limit, cursor)
        full = limit >= 40 and page.cursor is None and len(page.items) == limit
        return Page(page.items[:-1], None) if full else page


class _Offsets(_Ghosts):
    def rows_of_pages(self, scope: Scope) -> list[Row]:
        raise NotImplementedError

    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        rows, start = self.rows_of_pages(scope), cursor or 0
        dead = {row.place for row in self.deleted}
        items = [row.item() for row in rows[start : start + limit] if row.place not in dead]
        return Page(items, start + limit if len(rows) > start + limit else None)


@fault("paging.stable")
class OffsetsOfTheNewest(_Offsets):
    """Deleted rows keep their places; new ones are added at the front."""

    def rows_of_pages(self, scope: Scope) -> list[Row]:
        return sorted(self.ordered(scope) + self.dead(scope), key=lambda row: -row.place)


@fault("paging.deleted")
class OffsetsOfTheOldest(_Offsets):
    """New rows are added at the end; deletions shift the others."""

    def rows_of_pages(self, scope: Scope) -> list[Row]:
        return self.ordered(scope)


@fault("paging.linear")
class ReadsEverythingForAPage(ReferenceStore):
    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        for row in self.ordered(scope):
            as_vector(as_text(row.vector))
        return super().page(scope, limit, cursor)


@fault("crud.batch-order")
class SkipsAbsent(ReferenceStore):
    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Item | None]:
        return [item for item in super().get_many(scope, ids) if item is not None]
