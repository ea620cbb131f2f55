"""Signals that are added to the fused score, and thresholds of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from scrubjay.base.arguments import has_lone_surrogate, shown
from scrubjay.documents.entities import names
from scrubjay.documents.payload import CreatedAt, microseconds, to_utc
from scrubjay.fusion.methods import Auto, compile_ranking, number, numbers, weight

TIERS = ("low", "standard", "high")


@dataclass(frozen=True)
class Relevance:
    """The minimum evidence of a hit, in absolute terms, so that a nonsense query returns nothing.

    Args:
        at_least: "low", "standard" or "high".
        low, standard, high: the thresholds of the tiers, each (similarity, coverage): reaching either is enough.
        Coverage
            is the fraction of the query's terms that the document holds, weighted by their idf, unknown terms included.
            Similarities of different models are not comparable: choose thresholds for yours.

    A document of the identifier tier has high relevance.

    >>> Relevance("standard").high
    (0.7, 0.7)
    """

    at_least: str = "standard"
    low: tuple[float, float] = (0.3, 0.3)
    standard: tuple[float, float] = (0.5, 0.5)
    high: tuple[float, float] = (0.7, 0.7)

    def __post_init__(self) -> None:
        if not isinstance(self.at_least, str):
            raise TypeError(
                f"at_least: expected a str, got {type(self.at_least).__name__} {shown(self.at_least)}"
            )
        for name in TIERS:
            object.__setattr__(self, name, numbers(getattr(self, name), name))
            if len(getattr(self, name)) != 2:
                raise ValueError(f"{name}: expected (similarity, coverage), got {getattr(self, name)!r}")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        bounds = [self.low, self.standard, self.high]
        return {"relevance": self.at_least, "relevance_bounds": bounds}


@dataclass(frozen=True)
class Recency:
    """Favour new memories: weight * 2^(-age / half-life) is added to the scaled score.

    Args:
        weight: 0 or more; the scaled scores lie between 0 and 1.
        half_life_hours: the age in hours at which the gain is half.
        now: the time from which the age is measured, in a form that `created_at` takes; None: the time of the search.

    A memory without `created_at` gains nothing; one from the future counts as new.

    >>> Recency(half_life_hours=24).weight
    0.3
    """

    weight: float = 0.3
    half_life_hours: float = 168.0
    now: CreatedAt | None = None

    def __post_init__(self) -> None:
        to_utc(self.now, "now")
        weight(self.weight, "weight")
        if not 0 < number(self.half_life_hours, "half_life_hours") < inf:
            raise ValueError(f"half_life_hours: expected a finite number > 0, got {self.half_life_hours}")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        now = to_utc(self.now, "now")
        return {
            "recency": self.weight,
            "half_life_us": self.half_life_hours * 3600e6,
            "now_us": None if now is None else microseconds(now),
        }


@dataclass(frozen=True)
class Dates:
    """Favour memories of the days that the question names: weight * match * s is added to the fused score, where s is
    the standard deviation of the candidates' fused scores (1 if they are equal).

    Args:
        weight: 0 or more; 0: off.
        now: the time from which "yesterday", "last March" and "two weeks ago" are counted, in a form that `created_at`
            takes; None: the time of the search.

    A question names a day ("on 8 May 2023", "2023-05-08", "2nd November", "Nov 2", "on the 5th"), a month ("in May
    2023", "last May", "05/2023"), a quarter ("Q3 2023", "last quarter"), a half ("H1 2023"), a season ("last
    summer"), a year ("in 2023") or four months of one ("in late 2023"), what is from one month or year to another
    ("between March and May"), a holiday ("since Easter"; Christmas, Pentecost, Halloween, Thanksgiving, New Year), or
    one of these from now ("yesterday", "the day before yesterday", "last Monday", "on Monday", "this week", "the week
    before last", "three months ago", "two Fridays ago", "a few days ago", "in the last 7 days", "in the past year").
    A day without a year is the most recent day of that name or number; "on Monday" is the last Monday before today,
    unless the question is about the future; holidays without "last", "since" and the like count where it is about
    the past. "before", "after" and "since" mean all the time before, after and since ("the week before 8 May"
    means only 8 May); a date after "not" is ignored ("not in May but in March").

    The match is 1 inside the period. Since people tell of things afterwards, it is also 1 on the day after a named day
    (and on both for "before" that day), 0.7 in the week that follows, 0.5 today for "yesterday", and 0.5 in the first
    days after weeks, months and seasons. It is 1, too, for a memory that holds the date as the question writes it: the
    memory may be about that date. A period does not count if the earliest candidate lies in its last tenth: "last
    year", asked of a conversation that began in December, means what was over by then and was told later. A question
    for the "latest", "newest", "current" or "most recent" adds up to half the weight, by age, among the memories whose
    lexical score is nearly that of the best.

    The time of a memory is `valid_from` of its metadata (a datetime, a text in ISO 8601, or an integer:
    microseconds since 1970), else `created_at`; a memory with neither gains nothing. Days are those of UTC. Dates
    that are content are ignored: "error 2023", "by 8 May", "may 2", "the 5th floor", "5/8/2023" (whose month is
    ambiguous), questions of more than 512 bytes. Names of months are recognised in English, German, French,
    Spanish, Italian, Portuguese and Dutch, and so are "yesterday", the day before it and most holidays; all other
    words are English.

    >>> Dates(now="2024-04-15").weight
    6.0
    """

    weight: float = 6.0
    now: CreatedAt | None = None

    def __post_init__(self) -> None:
        to_utc(self.now, "now")
        weight(self.weight, "weight")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        now = to_utc(self.now, "now")
        return {"dates": self.weight, "dates_now_us": None if now is None else microseconds(now)}


@dataclass(frozen=True)
class Neighbours:
    """Let a turn gain from the turns of other speakers beside it: an answer is found by its question.

    Args:
        weight: 0 or more; 0: off.

    A turn is a memory whose metadata hold a text or an integer in `run` (the conversation) and in `speaker`, and an
    integer in `position`. Its neighbours are the turns of the same exact scope and run, of another speaker, whose
    position is one less or one more. Before the rankings are fused, weight * (their BM25) is added to its BM25, and
    weight * (their similarity minus the lowest of the ranking) to its similarity; both rankings are sorted again. Turns
    of the same speaker do not affect each other. The signal is off in scopes of more than 65,536 memories or without
    turns.

    >>> Neighbours().weight
    0.2
    """

    weight: float = 0.2

    def __post_init__(self) -> None:
        weight(self.weight, "weight")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        return {"neighbours": self.weight}


@dataclass(frozen=True)
class Entities:
    """Favour memories that name the entities of the question: weight * (the best damping of a named entity) is added to
    the scaled score.

    Args:
        weight: 0 or more; the scaled scores lie between 0 and 1.
        field: the metadata field that lists a memory's entities.
        names: the entities of the question; None: every name in its text that visible memories carry.

    The damping of an entity that n visible memories name is 1 / (1 + 0.001 (n - 1)^2): an entity that every memory
    names does not distinguish any of them.

    >>> Entities(names=["Graphiti"]).names
    ('graphiti',)
    """

    weight: float = 0.3
    field: str = "entities"
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _check_field(self.field)
        if self.names is not None:
            object.__setattr__(self, "names", tuple(names(self.names)))
        weight(self.weight, "weight")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        return {"entities": self.weight, "entity_field": self.field}


@dataclass(frozen=True)
class Prior:
    """A query-independent weight: weight * (a number in the memory's metadata) is added to the scaled score.

    Args:
        weight: a finite number; the scaled scores lie between 0 and 1, and priors should, too. The added value is
        clamped
            to 1e100 either way.
        field: the metadata field of the number; a memory without it gains nothing.

    >>> Prior(0.2).field
    'importance'
    """

    weight: float = 0.3
    field: str = "importance"

    def __post_init__(self) -> None:
        _check_field(self.field)
        if not isfinite(number(self.weight, "weight")):
            raise ValueError(f"weight: expected a finite number, got {self.weight}")
        compile_ranking(Auto(), **self._options())

    def _options(self) -> dict[str, Any]:
        return {"prior": self.weight, "prior_field": self.field}


def _check_field(field: str) -> None:
    if not isinstance(field, str):
        raise TypeError(f"field: expected a str, got {type(field).__name__} {field!r}")
    if not field:
        raise ValueError("field: expected the name of a metadata field, got ''")
    if has_lone_surrogate(field):
        raise ValueError(
            f"field: expected text that UTF-8 can encode, got {shown(field)} with a lone surrogate"
        )
