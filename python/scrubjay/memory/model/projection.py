"""The projection: which statements of a slot are in force, as one pure function.

A slot is the set of statements with one subject and one predicate in one scope ("Jane", "lives in"). Statements are
never changed; the times at which they hold are computed from all of them, so that their order of arrival does not
matter:

- A statement holds from the day that it states, or else from the day that it was said, to the end that it states.
- With a predicate that has several values at once (allergies, pets) statements accumulate: none ends another.
- With a predicate that has one value at a time (`single`: where a person lives) the statement that begins last holds,
  whenever it arrived; when it is over, the one that it interrupted holds again.
- With a predicate that has one value of a kind (`single` is None) statements accumulate, except that a later one ends
  an earlier one that it contradicts by its words (:mod:`scrubjay.memory.model.kinds`).
- `ends` closes the earlier statements that it names (:mod:`scrubjay.memory.model.target_statements`) on its day, and
  holds itself until its value (for a single value: any value) begins anew; `corrects` replaces a statement for all of
  its time; `plans` holds as a plan from the day it was said, and competes with others only from its stated day
  (without one never).
- Statements that say the same are one: the one that begins first stands for all. One that says more about the same
  value replaces the one that says less while it holds; two that say different things about the same value both hold.
- An end or a correction that names no statement changes none.

`known_at` leaves out statements recorded later: what was believed at a time never changes afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scrubjay.memory.model.kinds import replaced
from scrubjay.memory.model.names import Relation
from scrubjay.memory.model.target_statements import NamedStatement, corrected, ended
from scrubjay.memory.model.voices import Voices, voices_of, without

Interval = tuple[int, int | None]
"""From (inclusive) until (exclusive; None: without end), in microseconds since 1970."""


class Statement(NamedTuple):
    """A statement in the form that the projection takes. Times are microseconds since 1970."""

    id: str
    text: str
    relation: Relation = "asserts"
    value: str = ""
    """Its value in the slot, normalised: statements with equal values say the same."""
    single: bool | None = False
    """Whether the slot has one value at a time; None: one of a kind."""
    said_at: int = 0
    recorded_at: int = 0
    valid_from: int | None = None
    valid_until: int | None = None
    affirmed: tuple[tuple[int, int], ...] = ()
    """(said at, recorded at) of its restatements without dates of their own."""
    replaces: tuple[str, ...] = ()
    """Ids of statements that it contradicts, whatever their values."""
    withdrawn_at: int | None = None
    """Time at which it was revoked, or merged into another."""
    subject: str = ""
    predicate: str = ""
    given: str = ""
    """Its value as the text that was given, if any."""


class Validity(NamedTuple):
    """The intervals in which a statement holds, ascending; and the id of the statement that cut, ended or covers it."""

    intervals: tuple[Interval, ...] = ()
    by: str | None = None

    def at(self, moment: int) -> bool:
        """Whether it holds at this moment."""
        return any(begin <= moment and (end is None or moment < end) for begin, end in self.intervals)


class _Claim(NamedTuple):
    """A value claimed for an interval, by a statement or by its restatement."""

    begin: int
    end: int | None
    statement: Statement
    said_at: int
    recorded_at: int

    @property
    def order(self) -> tuple[int, int, int, str]:
        """The sort key: of claims that hold at once, the one with the highest order prevails."""
        return self.begin, self.said_at, self.recorded_at, self.statement.id


def in_force(statements: Iterable[Statement], *, valid_at: int, known_at: int | None = None) -> list[str]:
    """Return the ids of the statements of one slot that hold at a time, in the given order.

    >>> oslo = Statement("s1", "Jane lives in Oslo", value="oslo", single=True, said_at=20)
    >>> late = Statement("s2", "In 2010 Jane lived in Bern", value="bern", single=True, said_at=30, recorded_at=30,
    ...                  valid_from=10, valid_until=15)
    >>> in_force([oslo, late], valid_at=31), in_force([oslo, late], valid_at=12)
    (['s1'], ['s2'])
    >>> in_force([oslo, late], valid_at=12, known_at=25)
    []
    """
    statements = list(statements)
    held = project(statements, known_at=known_at)
    return [
        statement.id for statement in statements if statement.id in held and held[statement.id].at(valid_at)
    ]


def project(
    statements: Iterable[Statement], *, known_at: int | None = None, others: Sequence[Statement] = ()
) -> dict[str, Validity]:
    """Return when each statement of one slot holds, as was known at a time (None: now).

    Statements recorded later are absent from the result.

    Args:
        statements: all statements of the slot.
        known_at: in microseconds since 1970.
        others: statements of other slots that replace some of these.
    """
    known = [statement for statement in statements if known_at is None or statement.recorded_at <= known_at]
    if len(known) == 1 and known[0].relation == "asserts" and not known[0].affirmed and not others:
        return {known[0].id: _alone(known[0], known_at)}
    known.sort(key=lambda statement: (statement.said_at, statement.recorded_at, statement.id))
    alive = [statement for statement in known if not _is_withdrawn(statement, known_at)]
    closed: dict[str, str] = {}
    spans = _spans(alive, closed)
    plans = {
        statement.id: (statement.said_at, statement.valid_from)
        for statement in alive
        if statement.relation == "plans"
    }
    _end(alive, spans, plans, closed)
    beside = [statement for statement in others if known_at is None or statement.recorded_at <= known_at]
    beside = [statement for statement in beside if not _is_withdrawn(statement, known_at)]
    spans.update((statement.id, (_begin(statement), statement.valid_until)) for statement in beside)
    _replace([*alive, *beside], alive, spans, plans, closed)
    _contradict(alive, spans, closed)
    claims = [
        claim
        for statement in alive
        if statement.id in spans and _is_span(spans[statement.id]) and statement.relation != "ends"
        for claim in _claims(statement, spans[statement.id], known_at)
    ]
    held = {statement.id: Validity(by=closed.get(statement.id)) for statement in known}
    voices = voices_of([claim.statement for claim in sorted(claims, key=lambda claim: claim.order)])
    _accumulate([claim for claim in claims if not claim.statement.single], held, closed, voices)
    _prevail([claim for claim in claims if claim.statement.single], held, closed, voices)
    for less, more in voices.richer:
        cut = without(held[less].intervals, held[more].intervals)
        if cut != held[less].intervals:
            held[less] = Validity(cut, more)
    for statement in alive:
        if statement.relation == "ends":
            held[statement.id] = _after_end(statement, claims, closed)
        elif statement.id in plans and (statement.id in spans or statement.valid_from is None):
            held[statement.id] = _with_plan(plans[statement.id], held[statement.id])
    return held


def _alone(statement: Statement, known_at: int | None) -> Validity:
    """Return when a statement holds that no other one affects."""
    span = (_begin(statement), statement.valid_until)
    return Validity((span,)) if _is_span(span) and not _is_withdrawn(statement, known_at) else Validity()


def _claims(statement: Statement, span: Interval, known_at: int | None) -> list[_Claim]:
    """Return the claims of a statement: from its beginning, and from each restatement."""
    begin, end = span
    again = [(at, at, when) for at, when in statement.affirmed if known_at is None or when <= known_at]
    return [
        _Claim(at, end, statement, said_at, recorded_at)
        for at, said_at, recorded_at in ((begin, statement.said_at, statement.recorded_at), *again)
        if end is None or at < end
    ]


def _after_end(statement: Statement, claims: Sequence[_Claim], closed: Mapping[str, str]) -> Validity:
    """Return when an end holds: until the ended value begins anew."""
    moment = _end_of(statement)
    ended = {id for id, by in closed.items() if by == statement.id}
    values = {claim.statement.value for claim in claims if claim.statement.id in ended} | {statement.value}
    anew = [
        claim
        for claim in claims
        if claim.begin >= moment
        and claim.statement.id not in ended
        and (claim.statement.value in values or (statement.single and claim.statement.single))
    ]
    if not anew:
        return Validity(((moment, None),), closed.get(statement.id))
    first = min(anew, key=lambda claim: claim.order)
    return Validity(((moment, first.begin),) if moment < first.begin else (), first.statement.id)


def _with_plan(plan: Interval, held: Validity) -> Validity:
    """Prepend the interval in which a plan is only a plan to the intervals in which it is true."""
    if not _is_span(plan):
        return held
    if held.intervals and held.intervals[0][0] == plan[1]:
        return held._replace(intervals=((plan[0], held.intervals[0][1]), *held.intervals[1:]))
    return held._replace(intervals=(plan, *held.intervals))


def _is_withdrawn(statement: Statement, known_at: int | None) -> bool:
    return statement.withdrawn_at is not None and (known_at is None or statement.withdrawn_at <= known_at)


def _is_span(span: Interval) -> bool:
    return span[1] is None or span[0] < span[1]


def _begin(statement: Statement) -> int:
    return statement.said_at if statement.valid_from is None else statement.valid_from


def _spans(alive: Sequence[Statement], closed: dict[str, str]) -> dict[str, Interval]:
    """Return the stated interval of each statement; a correction takes it over from the corrected one, which has
    none."""
    spans = {
        statement.id: (_begin(statement), statement.valid_until)
        for statement in alive
        if statement.relation != "plans" or statement.valid_from is not None
    }
    for statement in alive:
        if statement.relation != "corrects":
            continue
        for target in _corrected(statement, alive, closed):
            begin, end = spans.pop(target.id, spans[statement.id])
            closed[target.id] = statement.id
            spans[statement.id] = (
                begin if statement.valid_from is None else statement.valid_from,
                end if statement.valid_until is None else statement.valid_until,
            )
    return spans


def _corrected(
    statement: Statement, alive: Sequence[Statement], closed: Mapping[str, str]
) -> list[Statement]:
    """Return what a correction corrects: the statements in `replaces`, or the one that it names among earlier ones."""
    if statement.replaces:
        return [other for other in alive if other.id in statement.replaces]
    earlier = [
        other
        for other in alive
        if other.id not in closed
        and other.relation != "ends"
        and (other.said_at, other.recorded_at, other.id)
        < (statement.said_at, statement.recorded_at, statement.id)
    ]
    return [earlier[place] for place in corrected(_named(statement), [_named(other) for other in earlier])]


def _named(statement: Statement) -> NamedStatement:
    return NamedStatement(
        statement.text,
        statement.value,
        statement.given,
        statement.single,
        statement.subject,
        statement.predicate,
    )


def _end_of(statement: Statement) -> int:
    """Return the moment of an end: its stated beginning, else its stated end, else the time when it was said."""
    return (
        statement.valid_until
        if statement.valid_from is None and statement.valid_until is not None
        else _begin(statement)
    )


def _end(
    alive: Sequence[Statement], spans: dict[str, Interval], plans: dict[str, Interval], closed: dict[str, str]
) -> None:
    """Close, for each end, the earlier statements that it names."""
    for statement in alive:
        if statement.relation != "ends":
            continue
        moment = _end_of(statement)
        begun = [
            other
            for other in alive
            if other.relation != "ends"
            and (_begins_by(spans.get(other.id), moment) or _begins_by(plans.get(other.id), moment))
        ]
        if statement.replaces:
            targets = [other for other in begun if other.id in statement.replaces]
        else:
            targets = [begun[place] for place in ended(_named(statement), [_named(other) for other in begun])]
        for other in targets:
            _close(other, moment, statement, spans, plans, closed)


def _begins_by(span: Interval | None, moment: int) -> bool:
    return span is not None and span[0] <= moment


def _replace(
    some: Sequence[Statement],
    alive: Sequence[Statement],
    spans: dict[str, Interval],
    plans: dict[str, Interval],
    closed: dict[str, str],
) -> None:
    """End the statements that others replace explicitly where those begin."""
    for statement in some:
        if statement.replaces and statement.relation in ("asserts", "plans") and statement.id in spans:
            for other in alive:
                if other.id in statement.replaces and other.id != statement.id:
                    _close(other, spans[statement.id][0], statement, spans, plans, closed)


def _contradict(alive: Sequence[Statement], spans: dict[str, Interval], closed: dict[str, str]) -> None:
    """Let statements with one value of a kind end the earlier ones that they contradict; permanently, so they must have
    no end themselves.

    Plans without a day, ends, and statements that last only for a time contradict nothing here: whether the interrupted
    statement is over is unknown.
    """
    asserted = [statement for statement in alive if statement.id in spans and statement.relation != "ends"]
    if all(statement.single is not None for statement in asserted):
        return
    asserted.sort(key=lambda statement: _order(statement, spans))
    for place, statement in enumerate(asserted):
        begin, end = spans[statement.id]
        if statement.single is False or end is not None:
            continue
        rivals = [
            other
            for other in asserted[:place]
            if _lasts_to(spans[other.id], begin)
            and other.value != statement.value
            and not (statement.single and other.single)
        ]
        for other in replaced(statement, rivals) if rivals else ():
            spans[other.id] = (spans[other.id][0], begin)
            closed[other.id] = statement.id


def _order(statement: Statement, spans: Mapping[str, Interval]) -> tuple[int, int, int, str]:
    return spans[statement.id][0], statement.said_at, statement.recorded_at, statement.id


def _lasts_to(span: Interval, moment: int) -> bool:
    return span[1] is None or moment < span[1]


def _close(
    other: Statement,
    moment: int,
    by: Statement,
    spans: dict[str, Interval],
    plans: dict[str, Interval],
    closed: dict[str, str],
) -> None:
    for intervals in (spans, plans):
        if other.id in intervals:
            begin, end = intervals[other.id]
            if end is None or moment < end:
                intervals[other.id] = (begin, moment)
                closed[other.id] = by.id


def _accumulate(
    claims: Sequence[_Claim], held: dict[str, Validity], closed: Mapping[str, str], voices: Voices
) -> None:
    """Project values that hold at once; claims that say the same and touch or overlap are merged into the first."""
    of_voice: dict[tuple[str, int], list[_Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.order):
        of_voice.setdefault(voices.of(claim.statement), []).append(claim)
    owned: dict[str, list[Interval]] = {}
    by: dict[str, str | None] = {}
    for some in of_voice.values():
        first = some[0].statement.id
        begin, end, closer = some[0].begin, some[0].end, closed.get(first)
        for claim in some[1:]:
            id = claim.statement.id
            if end is not None and claim.begin > end:
                owned.setdefault(first, []).append((begin, end))
                by[first] = closer
                first, begin, end, closer = id, claim.begin, claim.end, closed.get(id)
                continue
            if end is not None and (claim.end is None or claim.end > end):
                end, closer = claim.end, closed.get(id)
            if id != first:
                by.setdefault(id, first)
        owned.setdefault(first, []).append((begin, end))
        by[first] = closer
    for claim in claims:
        id = claim.statement.id
        held[id] = Validity(tuple(owned.get(id, ())), by.get(id))


def _prevail(
    claims: Sequence[_Claim], held: dict[str, Validity], closed: Mapping[str, str], voices: Voices
) -> None:
    """Project one value at a time: in every stretch the claim that begins last prevails, together with claims of the
    same value that say something else about it."""
    stretches = _stretches(claims)
    owned: dict[str, list[Interval]] = {}
    for begin, end, best in stretches:
        owned.setdefault(best.statement.id, []).append((begin, end))
    if voices.are_several:
        owned = _voiced(claims, stretches, voices)
    for claim in claims:
        id = claim.statement.id
        intervals = tuple(owned.get(id, ()))
        end = intervals[-1][1] if intervals else claim.begin
        by = closed.get(id)
        if end is not None and end != claim.end:  # another claim prevails from there on
            by = next((best.statement.id for begin, _, best in stretches if begin == end), by)
            if not intervals:
                by = next((s[2].statement.id for s in stretches if _covers(s, claim.begin)), by)
        held[id] = Validity(intervals, by)


def _voiced(
    claims: Sequence[_Claim], stretches: Sequence[tuple[int, int | None, _Claim]], voices: Voices
) -> dict[str, list[Interval]]:
    """Return when each statement holds if several say different things about one value: each voice by itself, while the
    value prevails and one of its claims lasts."""
    of_voice: dict[tuple[str, int], list[_Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.order):
        of_voice.setdefault(voices.of(claim.statement), []).append(claim)
    owned: dict[str, list[Interval]] = {}
    for begin, end, best in stretches:
        for (value, _), some in of_voice.items():
            if value != best.statement.value:
                continue
            first, since, until = "", begin, end
            for claim in some:
                since_claim = max(begin, claim.begin)
                until_claim = _earlier(end, claim.end)
                if until_claim is not None and since_claim >= until_claim:
                    continue
                if first and until is not None and since_claim > until:
                    owned.setdefault(first, []).append((since, until))
                    first = ""
                if not first:
                    first, since, until = claim.statement.id, since_claim, until_claim
                elif until is not None and (until_claim is None or until_claim > until):
                    until = until_claim
            if first:
                owned.setdefault(first, []).append((since, until))
    return owned


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((end for end in (one, other) if end is not None), default=None)


def _stretches(claims: Sequence[_Claim]) -> list[tuple[int, int | None, _Claim]]:
    """Return which claim prevails when: stretches in ascending order; neighbours have different values."""
    begins = sorted(claims, key=lambda claim: claim.order, reverse=True)  # a stack: the next is on top
    edges = sorted({edge for claim in claims for edge in (claim.begin, claim.end) if edge is not None})
    there: list[
        _Highest
    ] = []  # a heap of the claims that have begun; those that are over are dropped when they reach the top
    stretches: list[tuple[int, int | None, _Claim]] = []
    for begin, end in zip(edges, [*edges[1:], None], strict=False):  # the last stretch is open
        while begins and begins[-1].begin <= begin:
            heapq.heappush(there, _Highest(begins.pop()))
        while there and (until := there[0].claim.end) is not None and until <= begin:
            heapq.heappop(there)
        if not there:
            continue
        best = there[0].claim
        if stretches and stretches[-1][1] == begin and _same(stretches[-1][2], best):
            stretches[-1] = (stretches[-1][0], end, stretches[-1][2])
        else:
            stretches.append((begin, end, best))
    return stretches


class _Highest(NamedTuple):
    """Wrapper for a heap whose first element is the claim with the highest order."""

    claim: _Claim

    def __lt__(self, other: tuple[_Claim, ...]) -> bool:
        return self.claim.order > other[0].order


def _same(one: _Claim, other: _Claim) -> bool:
    return one.statement.value == other.statement.value


def _covers(stretch: tuple[int, int | None, _Claim], moment: int) -> bool:
    return stretch[0] <= moment and (stretch[1] is None or moment < stretch[1])
