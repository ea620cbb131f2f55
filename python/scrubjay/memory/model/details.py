"""The JSON detail of a fact: value, entities, importance, sensitivity; and earlier values of its columns and detail.

A restatement may add what a fact lacked, raise its confidence or extend its expiry; an edit may change its confidence
or its slot. Neither makes another statement, so the fact keeps its row, and its earlier values stay with it:
`earlier` is a list of changes, each with the time it was recorded and the values until then. :func:`as_known` undoes
the changes recorded after a time, for queries about what was known; nothing else reads the list. (An edit of a fact's
*statement* is kept as a version, a row that searches find: :mod:`scrubjay.memory.ledger.versions`.)

The sensitivity of a fact hides it from callers who may not see it. It therefore has no history: the current one counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.model.decoding import decoded, json_of
from scrubjay.memory.model.rows import TYPES, FactRow

_EARLIER = "earlier"
_MARK = b'"earlier":'
_COLUMNS = ("subject", "predicate", "single", "confidence", "expires_at")
_IN_DETAIL = ("value", "entities", "importance")
_Earlier = tuple[int, dict[str, Any]]


def detail_in(row: FactRow) -> Mapping[str, Any]:
    """Return the decoded detail of a row.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    if row.detail is None:
        return {}
    detail: dict[str, Any] = decoded("fact.detail", row.id, lambda: json_of(row.detail, dict, "detail"))
    return detail


def said_now(row: FactRow) -> dict[str, Any]:
    """Return the decoded detail without earlier values.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    return {name: value for name, value in detail_in(row).items() if name != _EARLIER}


def with_earlier(before: FactRow, after: FactRow, recorded_at: int, since: int | None) -> FactRow:
    """Return a changed row with its earlier values recorded in its detail.

    Args:
        before, after: the row before and after the change.
        recorded_at: when the change is recorded; later than all recorded times of the row.
        since: changes recorded before this time are dropped; None: none are.
    """
    earlier = [entry for entry in _earlier_in(before) if since is None or entry[0] >= since]
    changed = _difference(before, after)
    if changed:
        earlier.append((recorded_at, changed))
    detail = said_now(after)
    if earlier:
        detail[_EARLIER] = earlier
    elif len(detail) == len(detail_in(after)):
        return after
    return after._replace(detail=_encoded(detail))


def changed_at(row: FactRow) -> list[int]:
    """Return when changes of a fact's values were recorded, oldest first."""
    return [recorded_at for recorded_at, _ in _earlier_in(row)]


def as_known(row: FactRow, known_at: int) -> FactRow:
    """Return a row with the values that were known at a time, undoing later changes of its own values.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    changes = _earlier_in(row)
    if not any(recorded_at > known_at for recorded_at, _ in changes):
        return row

    def then() -> FactRow:
        state: dict[str, Any] = {}
        for recorded_at, values in reversed(changes):
            if recorded_at > known_at:
                state.update(values)
        detail = said_now(row)
        for name in _IN_DETAIL:
            if name in state and state[name] is None:
                detail.pop(name, None)
            elif name in state:
                detail[name] = state[name]
        columns = {name: state[name] for name in _COLUMNS if name in state}
        if "metadata" in state:
            columns["metadata"] = None if state["metadata"] is None else _encoded(state["metadata"])
        known = row._replace(**columns, detail=_encoded(detail))
        if not (known.subject and known.predicate):
            known = known._replace(topic=b"")  # it was in no slot at that time
        TYPES["fact"].check(known)
        return known

    return decoded("fact.detail", row.id, then)


def _difference(before: FactRow, after: FactRow) -> dict[str, Any]:
    """Return the values that a change replaced, by name."""
    changed = {
        name: getattr(before, name) for name in _COLUMNS if getattr(before, name) != getattr(after, name)
    }
    if before.metadata != after.metadata:
        changed["metadata"] = None if before.metadata is None else json_of(before.metadata, dict, "metadata")
    if before.detail != after.detail:
        old, new = detail_in(before), detail_in(after)
        changed.update({name: old.get(name) for name in _IN_DETAIL if old.get(name) != new.get(name)})
    return changed


def _earlier_in(row: FactRow) -> list[_Earlier]:
    if row.detail is None or _MARK not in row.detail:  # nearly always
        return []

    def changes() -> list[_Earlier]:
        found = [(recorded_at, values) for recorded_at, values in detail_in(row).get(_EARLIER, ())]
        for recorded_at, values in found:
            if type(recorded_at) is not int or not isinstance(values, dict):
                raise CorruptIndexError("expected times in microseconds with values")
        return found

    return decoded("fact.detail", row.id, changes)


def _encoded(detail: Mapping[str, Any]) -> bytes | None:
    return json.dumps(detail, separators=(",", ":")).encode() if detail else None
