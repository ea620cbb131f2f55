"""Facts as statements: the projection's input from their rows, and its result in their rows.

:func:`scrubjay.memory.model.projection.project` computes when each fact of a slot holds whenever one of them changes,
in the same transaction, and the result is stored in the row. Rows of format 1 lack these columns: they assert, and hold
from the time at which they were written until they were superseded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.model.content import normalised, value_words
from scrubjay.memory.model.decoding import decoded, json_of
from scrubjay.memory.model.details import detail_in
from scrubjay.memory.model.projection import Interval, Statement, Validity, project
from scrubjay.memory.model.rows import EpisodeRow, FactRow, Row

IsSingle = Callable[[str, str], bool | None]
"""(predicate, content) -> whether the predicate has one value at a time (None: one of a kind), for rows that do not
state it."""


def holds_of(row: FactRow) -> tuple[Interval, ...]:
    """Return when a fact holds, in microseconds since 1970, as stored in its row.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    if row.holds is None:  # a row of format 1
        if row.status == "active":
            return ((row.created_at, None),)
        over = row.status == "superseded" and row.created_at < row.updated_at
        return ((row.created_at, row.updated_at),) if over else ()
    return decoded("fact.holds", row.id, partial(_intervals, row.holds))


def intervals_in(kept: str) -> tuple[Interval, ...]:
    """Return the intervals encoded by :func:`encoded_intervals`.

    Raises:
        CorruptIndexError: the text is not what was written.
    """
    return decoded("fact.holds", None, partial(_intervals, kept))


@lru_cache(maxsize=4096)  # reading a record decodes its intervals several times
def _intervals(data: str) -> tuple[Interval, ...]:
    return tuple(_interval(pair) for pair in json_of(data, list, "holds"))


def _interval(pair: Any) -> Interval:
    begin, end = pair
    if type(begin) is not int or type(end) not in (int, type(None)):
        raise CorruptIndexError("expected times in microseconds")
    return begin, end


def ids_of(row: FactRow, column: str) -> tuple[str, ...]:
    """Return the ids of records in a column of a row.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    data = getattr(row, column)
    if data is None:
        return ()
    ids = decoded(f"fact.{column}", row.id, lambda: json_of(data, list, column))
    if not all(isinstance(id, str) for id in ids):
        raise CorruptIndexError(f"fact.{column}: expected ids", id=row.id)
    return tuple(ids)


def encoded_ids(ids: Iterable[str]) -> str | None:
    """Return the stored form of ids of records; None without any."""
    unique = list(dict.fromkeys(ids))
    return json.dumps(unique) if unique else None


def affirmed_of(row: FactRow) -> tuple[tuple[int, int], ...]:
    """Return (said at, recorded at) of each restatement of a fact."""
    if row.affirmed is None:
        return ()

    def times() -> tuple[tuple[int, int], ...]:
        found = [(said_at, recorded) for said_at, recorded in json_of(row.affirmed, list, "affirmed")]
        if not all(type(moment) is int for pair in found for moment in pair):
            raise CorruptIndexError("expected times in microseconds")
        return tuple(found)

    return decoded("fact.affirmed", row.id, times)


def withdrawn_at(row: FactRow, now: int) -> int:
    """Return the time from which a fact that is revoked now is known to be wrong.

    A provisional one was never believed, so it is withdrawn as of when it was recorded; others are withdrawn later.
    """
    recorded_at = row.created_at if row.recorded_at is None else row.recorded_at
    return recorded_at if row.status == "provisional" else max(now, recorded_at + 1)


def has_documents(row: FactRow) -> bool:
    """Whether a fact is in the index: whether it was ever believed."""
    if row.status == "provisional":
        return False
    return row.withdrawn_at is None or row.recorded_at is None or row.withdrawn_at > row.recorded_at


def statement_of(row: FactRow, is_single: IsSingle, *, is_alone: bool = False) -> Statement:
    """Return a fact as the projection takes it; without a value to compare if it is alone in its slot."""
    relation, words, given = row.relation or "asserts", "", ""
    if not is_alone:
        value = detail_in(row).get("value")
        if value is not None:
            words = value_words(value)
            given = value if isinstance(value, str) else words
        elif relation != "ends":
            words = normalised(row.content)
    said_at = row.created_at if row.said_at is None else row.said_at
    until, withdrawn_at = row.valid_until, row.withdrawn_at
    if row.expires_at is not None and (until is None or row.expires_at < until):
        until = row.expires_at
    if withdrawn_at is None and row.status == "revoked":
        withdrawn_at = row.updated_at
    return Statement(
        id=row.id,
        text=row.content,
        relation=relation,
        value=words,
        single=_single(row, is_single),
        said_at=said_at,
        recorded_at=row.created_at if row.recorded_at is None else row.recorded_at,
        valid_from=row.valid_from,
        valid_until=until,
        affirmed=affirmed_of(row),
        replaces=ids_of(row, "replaces"),
        withdrawn_at=withdrawn_at,
        subject=row.subject,
        predicate=row.predicate,
        given=given,
    )


def _single(row: FactRow, is_single: IsSingle) -> bool | None:
    if row.single is not None:
        return bool(row.single)
    single = is_single(row.predicate, row.content)
    return None if single is None else bool(single)


def first_id(id: str) -> str:
    """Return the id of a fact, given the id of one of its versions (:mod:`scrubjay.memory.ledger.versions`)."""
    return id.partition(".")[0]


def _replacing(statement: Statement, versions: Mapping[str, Sequence[str]]) -> Statement:
    """Return a statement that also replaces the earlier versions of the facts that it replaces."""
    more = [version for id in statement.replaces for version in versions.get(id, ())]
    return statement._replace(replaces=(*statement.replaces, *more)) if more else statement


def projected_slot(
    rows: Sequence[FactRow],
    beside: Sequence[FactRow],
    is_single: IsSingle,
    *,
    known_at: int | None = None,
) -> dict[str, Validity]:
    """Return when each fact of one slot holds, as was known at a time (None: now).

    Args:
        rows: all facts of the slot.
        beside: facts of other slots that replace some of these.
        is_single: the cardinality for rows that do not state it.
        known_at: in microseconds since 1970.
    """
    is_alone = len(rows) == 1 and not beside
    statements = {row.id: statement_of(row, is_single, is_alone=is_alone) for row in rows}
    for row in rows:
        by = statements.get(row.superseded_by or "")
        if row.relation is None and by is not None:  # keeps the decision of the judge in format 1
            statements[by.id] = by._replace(replaces=(*by.replaces, row.id))
    others = [statement_of(row, is_single) for row in beside]
    versions: dict[str, list[str]] = {}
    for row in rows:
        if (first := first_id(row.id)) != row.id:
            versions.setdefault(first, []).append(row.id)
    if versions:
        statements = {id: _replacing(statement, versions) for id, statement in statements.items()}
        others = [_replacing(statement, versions) for statement in others]
    return project(statements.values(), known_at=known_at, others=others)


def projected_alone(row: FactRow, is_single: IsSingle) -> Validity:
    """Return when a fact holds that no other one affects."""
    return project([statement_of(row, is_single, is_alone=True)])[row.id]


def with_held(row: FactRow, held: Validity, now: int) -> FactRow:
    """Return a row with the result of the projection.

    A revoked fact stays revoked. A fact that the tenant's fact stands for since its promotion counts in its slot, but
    holds at no time itself.
    """
    if row.holds is None and row.status != "active":
        # In format 1 its documents went to the fact that superseded it, which is the tenant's if it is not in the slot.
        shared_as = row.superseded_by if row.status == "superseded" and held.by is None else None
        row = row._replace(slot=row.id, shared_as=shared_as)
    if row.status == "revoked":
        return row._replace(holds="[]")
    if row.shared_as is not None:
        return row._replace(status="superseded", superseded_by=row.shared_as, holds="[]")
    over = all(end is not None and end <= now for _, end in held.intervals)
    return row._replace(
        status="superseded" if over and held.by is not None else "active",
        superseded_by=held.by,
        holds=encoded_intervals(held.intervals),
    )


def encoded_intervals(intervals: Iterable[Interval]) -> str:
    """Return the stored form of intervals, in JSON.

    >>> encoded_intervals([(1, 2), (3, None)])
    '[[1,2],[3,null]]'
    """
    each = [f"[{begin},{'null' if end is None else end}]" for begin, end in intervals]
    return f"[{','.join(each)}]"


_NEVER = 1 << 62


def begin_of_episode(row: EpisodeRow) -> int:
    """Return when an episode begins: when the task was completed, or else when it was recorded."""
    return row.created_at if row.completed_at is None else row.completed_at


def holds_at(row: FactRow, moment: int) -> bool:
    """Whether a fact holds at a time according to its row, whatever its status."""
    return any(begin <= moment and (end is None or moment < end) for begin, end in holds_of(row))


def is_in_force(row: Row, now: int) -> bool:
    """Whether a record is in force now."""
    if row.expires_at is not None and row.expires_at <= now:
        return False
    if isinstance(row, FactRow):
        return row.status == "active" and holds_at(row, now)
    return row.status == "active" and (row.begins_at is None or row.begins_at <= now)


def next_edge(row: Row, now: int) -> int:
    """Return the next time at which a record comes into force or goes out of it by the passing of time alone."""
    edges = [row.begins_at, row.expires_at]
    if isinstance(row, FactRow):
        edges += [edge for times in holds_of(row) for edge in times]
    return min((edge for edge in edges if edge is not None and edge > now), default=_NEVER)
