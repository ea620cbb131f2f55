"""Planted faults of the levels retrieval and filters."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from faults import fault
from memory_store_conformance import Hit, Scope
from reference import ReferenceStore, Row
from reference_filters import ABSENT, COMPARISONS, Filters


@fault("retrieval.identifiers")
class VectorsAlone(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        if not isinstance(k, int) or k < 0:
            raise ValueError(f"k: expected a number from 0, got {k!r}")
        return self.ranked(self.candidates(scope), self.embed_question(text), k, filter, set())


@fault("retrieval.paraphrases")
class KnowsNoForms(ReferenceStore):
    """Searches only for words of a question without common English endings."""

    def embed_question(self, text: str) -> Any:
        words = [word for word in text.split() if not re.search(r"(s|ing|tion|ed|y|e|ic|nt)\W*$", word)]
        return super().embed_question(" ".join(words) if len(text) < 60 and "number" not in text else text)


@fault("retrieval.filter-first")
class FiltersAfterwards(ReferenceStore):
    def ranked(self, rows: list[Row], vector: Any, k: int, filter: Any, asked: set[str]) -> list[Hit]:
        found = super().ranked(rows, vector, 10 * k, None, asked)
        return [hit for hit in found if filter is None or self.filters.matches(hit.item.metadata, filter)][:k]


@fault("retrieval.ties")
class TiesAlternate(ReferenceStore):
    _n_searches = 0

    def ranked(self, rows: list[Row], vector: Any, k: int, filter: Any, asked: set[str]) -> list[Hit]:
        TiesAlternate._n_searches += 1
        if len({row.text for row in rows}) == 1 and TiesAlternate._n_searches % 2:
            return super().ranked(rows, vector, len(rows), filter, asked)[::-1][:k]
        return super().ranked(rows, vector, k, filter, asked)


@fault("retrieval.order")
class OrderOfWriting(ReferenceStore):
    def ranked(self, rows: list[Row], vector: Any, k: int, filter: Any, asked: set[str]) -> list[Hit]:
        places = {row.id: row.place for row in rows}
        return sorted(super().ranked(rows, vector, k, filter, asked), key=lambda hit: places[hit.id])


@fault("retrieval.k")
class AtMost25(ReferenceStore):
    def ranked(self, rows: list[Row], vector: Any, k: int, filter: Any, asked: set[str]) -> list[Hit]:
        return super().ranked(rows, vector, min(k, 25), filter, asked)


@fault("retrieval.fresh")
class IndexesLater(ReferenceStore):
    _n_written = 1

    def apply(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        self._n_written = len(arguments)
        super().apply(what, scope, arguments)

    def candidates(self, scope: Scope) -> list[Row]:
        rows = super().candidates(scope)
        return rows[:-1] if len(rows) > 20 and self._n_written == 1 else rows


@fault("retrieval.scripts")
class LatinAlone(ReferenceStore):
    def scores(self, rows: list[Row], vector: Any) -> Any:
        latin = [bool(re.search("[a-z]", row.text)) for row in rows]
        return super().scores(rows, vector) * latin


class StripsTexts(Filters):
    def equal(self, value: Any, wanted: Any) -> bool:
        return super().equal(*(one.strip(" ") if isinstance(one, str) else one for one in (value, wanted)))


class FirstField(Filters):
    def matches(self, metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
        return super().matches(metadata, dict(list(condition.items())[:1]))


class NotEqualAdmitsNumbers(Filters):
    def compare(self, name: str, value: Any, bound: Any) -> bool:
        return (name == "$ne" and isinstance(value, int)) or super().compare(name, value, bound)


class ComparesAsText(Filters):
    def ordered(self, name: str, value: Any, bound: Any) -> bool:
        return bool(COMPARISONS[name](str(value), str(bound)))


class FirstOfTheList(Filters):
    def compare(self, name: str, value: Any, bound: Any) -> bool:
        return super().compare(name, value, bound[:1] if name == "$in" else bound)


class FirstSide(Filters):
    def either(self, metadata: Mapping[str, Any], sides: list[Mapping[str, Any]]) -> bool:
        return self.matches(metadata, sides[0])


class NotIsPassedOver(Filters):
    def negation(self, metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
        return True


class ValuesAsText(Filters):
    def equal(self, value: Any, wanted: Any) -> bool:
        return str(value) == str(wanted)


class NullIsFalsy(Filters):
    def equal(self, value: Any, wanted: Any) -> bool:
        return not value if wanted is None else super().equal(value, wanted)


class MissingIsEqual(Filters):
    def field_matches(self, metadata: Mapping[str, Any], field: str, wanted: Any) -> bool:
        absent = "." not in field and not field.startswith("$") and field not in metadata
        return absent or super().field_matches(metadata, field, wanted)


class LastPartOfAPath(Filters):
    def value(self, metadata: Mapping[str, Any], field: str) -> Any:
        found = super().value(metadata, field)
        return metadata.get(field.rpartition(".")[2], ABSENT) if found is ABSENT else found


class UnknownIsPassedOver(Filters):
    def unknown(self, name: str) -> bool:
        return True


class Wildcards(Filters):
    def equal(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, str) and isinstance(wanted, str) and "_" in wanted:
            return fnmatch.fnmatchcase(value, wanted.replace("_", "?"))
        return super().equal(value, wanted)


_BROKEN_FILTERS = {
    "filters.equal": StripsTexts,
    "filters.and": FirstField,
    "filters.not-equal": NotEqualAdmitsNumbers,
    "filters.compare": ComparesAsText,
    "filters.in": FirstOfTheList,
    "filters.or": FirstSide,
    "filters.not": NotIsPassedOver,
    "filters.types": ValuesAsText,
    "filters.null": NullIsFalsy,
    "filters.missing": MissingIsEqual,
    "filters.nested": LastPartOfAPath,
    "filters.unknown": UnknownIsPassedOver,
    "filters.hostile": Wildcards,
}
for _check, _filters in _BROKEN_FILTERS.items():
    fault(_check)(type(_filters.__name__, (ReferenceStore,), {"filters": _filters()}))
