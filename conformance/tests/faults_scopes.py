"""Planted faults of the level isolation."""

from __future__ import annotations

import fnmatch
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from faults import fault
from memory_store_conformance import Hit, Item, Scope
from reference import ReferenceStore, Row


class _Sees(ReferenceStore):
    """A search that also ranks the rows of scopes for which a rule holds."""

    rule: Callable[[Scope, Scope], bool]

    def candidates(self, scope: Scope) -> list[Row]:
        if len(scope) < 2:
            return super().candidates(scope)
        scopes = [one for one in self._rows if one == scope or type(self).rule(scope, one)]
        return [row for one in scopes for row in self.visible(one)]


@fault("isolation.users")
class BucketsByLength(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        names = asking[1] + other[1]
        same = asking[0] == other[0] and len(asking[1]) == len(other[1])
        return same and names.isalpha() and names.isascii() and names.islower()


@fault("isolation.tenants")
class OneTenant(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return bool(asking[0]) and asking[1] == other[1]


@fault("isolation.look-alikes")
class StripsNames(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return asking[0] == other[0] and asking[1].strip() == other[1].strip()


@fault("isolation.separators")
class JoinsNames(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return ".".join(asking) == ".".join(other)


@fault("isolation.wildcards")
class MatchesGlobs(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return asking[0] == other[0] and fnmatch.fnmatchcase(other[1], asking[1])


@fault("isolation.quotes")
class PastesNames(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return asking[0] == other[0] and "' OR " in asking[1]


@fault("isolation.unicode")
class NormalisesNames(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        def normal(name: str) -> str:
            return unicodedata.normalize("NFC", name)

        return asking[0] == other[0] and normal(asking[1]) == normal(other[1])


@fault("isolation.empty-parts")
class EmptyIsEveryone(_Sees):
    @staticmethod
    def rule(asking: Scope, other: Scope) -> bool:
        return asking[0] == other[0] and not asking[1]


@fault("isolation.same-id")
class GlobalIds(ReferenceStore):
    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if what == "put":
            for rows in self._rows.values():
                for written in arguments:
                    if rows is not self._rows.get(scope):
                        rows.pop(written[0], None)
        super().apply(what, scope, arguments)


@fault("isolation.get")
class ReadsAnyId(ReferenceStore):
    def get(self, scope: Scope, id: str) -> Item | None:
        found = [super(ReadsAnyId, self).get(one, id) for one in (scope, *self._rows)]
        return next((item for item in found if item is not None), None)


@fault("isolation.oracle")
class TellsTakenIds(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        for other, rows in self._rows.items():
            taken = [item.id for item in items if other != scope and item.id in rows]
            if taken:
                raise ValueError(f"id: {taken[0]!r} exists in another scope")
        super().put(scope, items, **options)


@fault("isolation.list")
class ListsLookAlikes(ReferenceStore):
    def list(self, scope: Scope, limit: int) -> list[Item]:
        scopes = [one for one in self._rows if one[0] == scope[0] and one[1].startswith(scope[1])]
        return [item for one in scopes for item in super(ListsLookAlikes, self).list(one, limit)][:limit]


@fault("isolation.count")
class CountsTheTenant(ReferenceStore):
    def count(self, scope: Scope) -> int:
        return sum(super(CountsTheTenant, self).count(one) for one in self._rows if one[0] == scope[0])


@fault("isolation.crowding")
class RanksBeforeTheScope(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        neighbours = [one for one in self._rows if one[0] == scope[0] and one != scope]
        if len(scope) < 2 or not neighbours or not isinstance(k, int) or not all(scope):
            return super().search(scope, text, k, filter)
        everybody = [row for one in (scope, *neighbours) for row in self.visible(one)]
        places = {row.place for row in self.visible(scope)}
        found = self.ranked(everybody, self.embed_question(text), 300, filter, set())
        by_id = {(row.id, row.text): row.place for row in everybody}
        return [hit for hit in found if by_id[hit.id, hit.item.text] in places][:k]


@fault("isolation.statistics")
class ScoresByTheTenant(ReferenceStore):
    def scores(self, rows: list[Row], vector: Any) -> Any:
        return super().scores(rows, vector) / math.log(3 + sum(map(len, self._rows.values())))


@fault("isolation.metadata")
class ScopeFromMetadata(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        for item in items:
            super().put((scope[0], item.metadata.get("user_id", scope[1])), [item], **options)


@fault("isolation.filter")
class FilterWinsOverScope(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        if filter and "user_id" in filter:
            scope, filter = (scope[0], filter["user_id"]), None
        return super().search(scope, text, k, filter)


def _starts(scope: Scope, prefix: Scope) -> bool:
    return ".".join(scope).startswith(".".join(prefix))


@fault("isolation.prefix")
class PrefixOfLetters(ReferenceStore):
    def candidates(self, scope: Scope) -> list[Row]:
        if len(scope) == 2:
            return super().candidates(scope)
        return [row for one in self._rows if _starts(one, scope) for row in self.visible(one)]


@fault("isolation.scopes")
class ListsScopesByLetters(ReferenceStore):
    def scopes(self, prefix: Scope) -> list[Scope]:
        return [one for one, rows in self._rows.items() if rows and _starts(one, prefix)]


@fault("isolation.delete")
class DeletesAnyId(ReferenceStore):
    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        for one in list(self._rows):
            super().delete(one, ids)


@fault("isolation.delete-scope")
class DeletesLookAlikes(ReferenceStore):
    def delete_scope(self, scope: Scope) -> None:
        for one in [one for one in self._rows if one[0] == scope[0] and one[1].startswith(scope[1])]:
            super().delete_scope(one)


@fault("isolation.reset")
class ResetsEverybody(ReferenceStore):
    def reset(self, tenant: str) -> None:
        for one in {scope[0] for scope in self._rows}:
            super().reset(one)


@fault("isolation.replace")
class SharesTexts(ReferenceStore):
    """Replacing a text replaces it in every item of the tenant with the same text."""

    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        rows = self._rows.get(scope, {})
        for id, text, *_ in arguments if what == "put" else ():
            if id in rows:
                for row in (row for one in self._rows.values() for row in one.values()):
                    if row.text == rows[id].text and row.scope[0] == scope[0] and row.scope != scope:
                        row.text = text
        super().apply(what, scope, arguments)
