"""How are the documents that a search found to be ranked?

Plain, frozen descriptions: made once, compared, hashed, and turned into the engine's own form the first time they are
used. What each number does is decided in native code (`cpp/src/fusion`, `cpp/src/engine/ranking.hpp`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from scrubjay._native import CompiledRanking
from scrubjay.payload import CreatedAt, microseconds, to_utc

__all__ = [
    "RRF",
    "Auto",
    "Boost",
    "Entities",
    "Fusion",
    "Prior",
    "Production",
    "Ranking",
    "Recency",
    "Relevance",
    "Weighted",
    "as_ranking",
    "load",
    "save",
]

NORMALISERS = ("zscore", "minmax", "max", "logistic")
TIERS = ("low", "standard", "high")


class Fusion:
    """A way to make one score of several rankings: :class:`Auto`, :class:`RRF`, :class:`Weighted`, :class:`Boost` or
    :class:`Production`. By itself it stands for a :class:`Ranking` with no other options."""

    _method: ClassVar[str]

    @property
    def compiled(self) -> CompiledRanking:
        """The engine's own form of this fusion, with the identifier tier and no other options."""
        return _compiled(Ranking(self))

    def _options(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Auto(Fusion):
    """Scores normalised by their spread (z-scores), weighed per query by how well the two rankings agree.

    The lexical share is 0.7 - 0.4 a; the agreement a is the mean of 1/sqrt(rank that the other ranking gives a
    ranking's first document), 0 where it is not there. If both put the same documents first, the vectors may decide
    among what the words cannot tell apart; if they do not, the words weigh more, because a shared word can be checked
    and nearness by an unknown model cannot. The share of a search is in `hits.lexical_share`.

    >>> Auto()
    Auto()
    """

    _method: ClassVar[str] = "auto"

    def _options(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class RRF(Fusion):
    """Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): the sum of weight / (k + rank) over the rankings.

    Args:
        k: 0 or more; the smaller, the more the first ranks count.
        weights: of the lexical, the vector and any rankings of the caller's; those not named weigh 1.

    >>> RRF(10).k
    10
    >>> RRF(-1)
    Traceback (most recent call last):
    ...
    ValueError: rrf_k: expected a finite number >= 0, got -1.000000
    """

    k: float = 60.0
    weights: Sequence[float] = (1.0, 1.0)

    _method: ClassVar[str] = "rrf"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _numbers(self.weights, "weights"))
        _check(self)

    def _options(self) -> dict[str, Any]:
        return {"rrf_k": self.k, "weights": list(self.weights)}


@dataclass(frozen=True)
class Weighted(Fusion):
    """A weighted sum of normalised scores.

    Args:
        weights: of the lexical, the vector and any rankings of the caller's; those not named weigh 1. A caller's
            ranking has no scores: it adds weight * 11 / (10 + rank).
        normalise:
            "zscore": (score - mean) / deviation of a ranking (the lexical one is taken to end in one zero).
            "minmax": (score - least) / (greatest - least); the least of BM25 is 0.
            "max": score / greatest.
            "logistic": BM25 by 1 / (1 + exp(-slope (score - midpoint))), with midpoint and slope 5 and 0.7 for up to
            3 distinct terms in the query, 7 and 0.6 up to 6, 9 and 0.5 up to 9, 10 and 0.5 up to 15, 12 and 0.5
            beyond; similarities as they are, within 0 to 1.

    A document that the lexical ranking does not hold has BM25 0, one that the vector ranking does not hold the least
    similarity of that ranking.

    >>> Weighted((0.3, 0.7), normalise="max").weights
    (0.3, 0.7)
    """

    weights: Sequence[float] = (0.5, 0.5)
    normalise: str = "zscore"

    _method: ClassVar[str] = "weighted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _numbers(self.weights, "weights"))
        _check(self)

    def _options(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "normalise": self.normalise}


@dataclass(frozen=True)
class Boost(Fusion):
    """The vectors admit, the words reorder: similarity + weight * BM25 / (greatest BM25).

    Args:
        gate: the least similarity of a hit; without vectors in the search everything is admitted, and so are documents
            of the identifier tier.
        weight: how much the best lexical match gains.

    >>> Boost(gate=0.2).weight
    0.3
    """

    gate: float = 0.0
    weight: float = 0.3

    _method: ClassVar[str] = "boost"

    def __post_init__(self) -> None:
        _check(self)

    def _options(self) -> dict[str, Any]:
        return {"gate": self.gate, "boost": self.weight}


@dataclass(frozen=True)
class Production(Fusion):
    """The rule that circulates among memory systems: 0.6 BM25 / (greatest BM25) + 0.4 similarity, and a floor.

    Args:
        weights: of the lexical and the vector score.
        floor: a document whose similarity and normalised BM25 are both below it is dropped.
        literal: as it is usually written: a document that only the vectors found has its bare similarity (and so
            outranks what both found), one that only the words found has 0, and scores below the floor are dropped.
            To compare with; on most judged sets it is worse than BM25 alone.

    >>> Production().floor
    0.4
    """

    weights: Sequence[float] = (0.6, 0.4)
    floor: float = 0.4
    literal: bool = False

    _method: ClassVar[str] = "production"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _numbers(self.weights, "weights"))
        _check(self)

    def _options(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "floor": self.floor, "literal": self.literal}


@dataclass(frozen=True)
class Relevance:
    """The least evidence that a hit must have, in absolute terms, so that a nonsense query returns nothing.

    Args:
        at_least: "low", "standard" or "high".
        low, standard, high: what reaches the tier, as (similarity, coverage): either of the two is enough. Coverage is
            the fraction of the query's terms that the document holds, weighted by their idf, unknown terms
            included. Similarities of different models are not comparable: choose bounds for yours.

    A document of the identifier tier is of high relevance.

    >>> Relevance("standard").high
    (0.7, 0.7)
    """

    at_least: str = "standard"
    low: tuple[float, float] = (0.3, 0.3)
    standard: tuple[float, float] = (0.5, 0.5)
    high: tuple[float, float] = (0.7, 0.7)

    def __post_init__(self) -> None:
        for name in TIERS:
            object.__setattr__(self, name, _numbers(getattr(self, name), name))
        _check(Auto(), relevance=self)


@dataclass(frozen=True)
class Recency:
    """What is new counts more: weight * 2^(-age / half-life) is added to the scaled score.

    Args:
        weight: 0 or more; the scaled scores lie between 0 and 1.
        half_life_hours: after so many hours it counts half.
        now: what the age is measured from, as `created_at` takes it; None: the moment of the search.

    A memory without `created_at` gains nothing; one from the future counts as new.

    >>> Recency(half_life_hours=24).weight
    0.3
    """

    weight: float = 0.3
    half_life_hours: float = 168.0
    now: CreatedAt | None = None

    def __post_init__(self) -> None:
        to_utc(self.now, "now")
        _compile(Auto(), recency=self)

    def _options(self) -> dict[str, Any]:
        now = to_utc(self.now, "now")
        return {
            "recency": self.weight,
            "half_life_us": self.half_life_hours * 3600e6,
            "now_us": None if now is None else microseconds(now),
        }


@dataclass(frozen=True)
class Entities:
    """Memories that name what the question is about count more: weight * (the best damping of a named entity) is added
    to the scaled score.

    Args:
        weight: 0 or more; the scaled scores lie between 0 and 1.
        field: where in the metadata the memories list their entities.

    The damping of an entity that n visible memories name is 1 / (1 + 0.001 (n - 1)^2): who is in every memory says
    nothing about any of them. A search says which entities it is about: `entities=["Graphiti"]`, or `entities=True` for
    those that occur in its text.

    >>> Entities(weight=0.5).field
    'entities'
    """

    weight: float = 0.3
    field: str = "entities"

    def __post_init__(self) -> None:
        _check_field(self.field)
        _compile(Auto(), entities=self)

    def _options(self) -> dict[str, Any]:
        return {"entities": self.weight, "entity_field": self.field}


@dataclass(frozen=True)
class Prior:
    """What a memory is worth before anything is asked: weight * (a number in its metadata) is added to the scaled
    score.

    Args:
        weight: a finite number; the scaled scores lie between 0 and 1, so priors had best do, too.
        field: where in the metadata the number is; a memory that has none there gains nothing.

    >>> Prior(0.2).field
    'importance'
    """

    weight: float = 0.3
    field: str = "importance"

    def __post_init__(self) -> None:
        _check_field(self.field)
        _compile(Auto(), prior=self)

    def _options(self) -> dict[str, Any]:
        return {"prior": self.weight, "prior_field": self.field}


@dataclass(frozen=True)
class Ranking:
    """All options of a ranking together; an index takes them as separate arguments of its searches.

    Args:
        fusion: how several rankings become one.
        identifier_tier: documents that hold a rare identifier of the query verbatim (at most max(5, 0.5%) of the
            visible ones do) come first, in their fused order. Applies where rankings are fused.
        coverage: weight of the fraction of the query's terms, weighted by idf, that a document holds.
        recency: what is new counts more; True for :class:`Recency` with its defaults.
        entities: who names what the question is about counts more; True for :class:`Entities` with its defaults.
        prior: who is worth more counts more; True for :class:`Prior` with its defaults.
        mmr: trade-off of maximal marginal relevance (Carbonell and Goldstein 1998), from 0 (only different) to 1 (only
            relevant); None: off. Similarities are cosines of the stored vectors.
        min_score: drops hits with a lower score; None: none.
        relevance: drops hits with less evidence; None: none.

    A weight that is not 0 scales the fused scores of the best `candidates` to 0..1 and adds weight * signal.

    >>> Ranking(RRF(10), mmr=0.5).compiled is Ranking(RRF(10), mmr=0.5).compiled
    True
    """

    fusion: Fusion = Auto()
    identifier_tier: bool = True
    coverage: float = 0.0
    recency: Recency | bool | None = None
    entities: Entities | bool | None = None
    prior: Prior | bool | None = None
    mmr: float | None = None
    min_score: float | None = None
    relevance: Relevance | str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fusion, Fusion):
            raise TypeError(
                "fusion: expected Auto, RRF, Weighted, Boost or Production, got "
                f"{type(self.fusion).__name__} {self.fusion!r}"
            )
        signals: dict[str, Any] = {"recency": Recency, "entities": Entities, "prior": Prior}
        for name, signal in signals.items():
            if isinstance(given := getattr(self, name), bool):
                object.__setattr__(self, name, signal() if given else None)
        if isinstance(self.relevance, str):
            object.__setattr__(self, "relevance", Relevance(self.relevance))

    @property
    def compiled(self) -> CompiledRanking:
        """The engine's own form; made once for equal rankings."""
        return _compiled(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking in JSON's own types; :meth:`from_dict` makes the same of it.

        >>> Ranking.from_dict(Ranking(RRF(10), recency=True).to_dict()) == Ranking(RRF(10), recency=True)
        True
        """
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "fusion"}
        said = {
            name: asdict(value) if hasattr(value, "__dataclass_fields__") else value
            for name, value in said.items()
        }
        named: dict[str, Any] = {"fusion": {"method": self.fusion._method, **asdict(self.fusion)}, **said}  # type: ignore[call-overload]
        plain: dict[str, Any] = json.loads(json.dumps(named, default=str))
        return plain

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Ranking:
        """Make a ranking of what :meth:`to_dict` returned; what it does not name is as usual.

        Raises:
            TypeError, ValueError: it is no ranking; the message names the field.
        """
        return _from_dict(cls, said)


def weighs_entities(fusion: Fusion | Ranking | str | None) -> bool:
    """Whether the entities of a search would count."""
    return isinstance(fusion, Ranking) and isinstance(fusion.entities, Entities)


def as_ranking(fusion: Fusion | Ranking | str | None, plain: bool, **options: Any) -> Fusion | Ranking | None:
    """What a search passes to the engine for the arguments it was given; `plain`: rrf_k or weights are among them.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """
    if fusion is None and not any(value is not None for value in options.values()):
        return None  # the usual search
    if isinstance(fusion, str):
        if fusion != "auto":
            raise ValueError(f"fusion: expected 'auto' or a fusion (RRF, Weighted, ...), got {fusion!r}")
        fusion = None
    given = {name: value for name, value in options.items() if value is not None}
    if plain and (fusion is not None or given):
        named = ["fusion"] * (fusion is not None) + list(given)
        raise ValueError(f"{', '.join(named)}: expected none beside rrf_k or weights; say fusion=RRF(...)")
    if not given:
        return fusion
    if isinstance(fusion, Ranking):
        raise ValueError(f"{', '.join(given)}: expected none beside a Ranking, which has them")
    return Ranking(Auto() if fusion is None else fusion, **given)


@lru_cache(maxsize=1024)
def _compiled(ranking: Ranking) -> CompiledRanking:
    return _compile(
        ranking.fusion,
        identifier_tier=ranking.identifier_tier,
        coverage=ranking.coverage,
        recency=ranking.recency if isinstance(ranking.recency, Recency) else None,
        entities=ranking.entities if isinstance(ranking.entities, Entities) else None,
        prior=ranking.prior if isinstance(ranking.prior, Prior) else None,
        mmr=ranking.mmr,
        min_score=ranking.min_score,
        relevance=ranking.relevance if isinstance(ranking.relevance, Relevance) else None,
    )


def _compile(
    fusion: Fusion,
    *,
    relevance: Relevance | None = None,
    recency: Recency | None = None,
    entities: Entities | None = None,
    prior: Prior | None = None,
    **options: Any,
) -> CompiledRanking:
    for signal in (recency, entities, prior):
        if signal is not None:
            options.update(signal._options())
    if relevance is not None:
        options["relevance"] = relevance.at_least
        options["relevance_bounds"] = [relevance.low, relevance.standard, relevance.high]
    return CompiledRanking(fusion._method, **fusion._options(), **options)


def _check(fusion: Fusion, relevance: Relevance | None = None) -> None:
    """Have the engine check the numbers now, where they are given."""
    _compile(fusion, relevance=relevance)


def _check_field(field: str) -> None:
    if not isinstance(field, str):
        raise TypeError(f"field: expected a str, got {type(field).__name__} {field!r}")
    if not field:
        raise ValueError("field: expected the name of a metadata field, got ''")


def _numbers(values: Any, name: str) -> tuple[float, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name}: expected a sequence of numbers, got {type(values).__name__} {values!r}")
    for value in values:
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float)):
            raise TypeError(f"{name}: expected numbers, got {type(value).__name__} {value!r}")
    return tuple(float(value) for value in values)


# The fields of a ranking that have fields of their own.
_PARTS = {"recency": Recency, "entities": Entities, "prior": Prior, "relevance": Relevance}
_METHODS = {one._method: one for one in (Auto, RRF, Weighted, Boost, Production)}


def save(ranking: Ranking | Fusion, path: str | Path) -> None:
    """Write a ranking to a JSON file that :func:`load` reads; one that is there is replaced."""
    ranking = ranking if isinstance(ranking, Ranking) else Ranking(ranking)
    Path(path).write_text(json.dumps({"scrubjay_ranking": 1, **ranking.to_dict()}, indent=2) + "\n", "utf-8")


def load(path: str | Path) -> Ranking:
    """Read a ranking that :func:`save` or `scrubjay tune` wrote, for `Index.search(fusion=...)`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no ranking; the message names the file and what is wrong.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> save(Weighted((0.3, 0.7)), folder.name + "/ranking.json")
    >>> load(folder.name + "/ranking.json").fusion
    Weighted(weights=(0.3, 0.7), normalise='zscore')
    >>> folder.cleanup()
    """
    try:
        said = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(said, dict) or said.pop("scrubjay_ranking", None) != 1:
            raise ValueError('expected the settings of a ranking ("scrubjay_ranking": 1)')
        return Ranking.from_dict(said)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def _from_dict(cls: type[Ranking], said: Mapping[str, Any]) -> Ranking:
    given = dict(said)
    _known(given, cls, "a ranking")
    fusion = given.pop("fusion", {"method": "auto"})
    if not isinstance(fusion, Mapping) or str(fusion.get("method")) not in _METHODS:
        raise ValueError(f"fusion: expected a method among {', '.join(_METHODS)}, got {fusion!r}")
    method = _METHODS[str(fusion["method"])]
    options = {name: value for name, value in fusion.items() if name != "method"}
    _known(options, method, f"fusion {fusion['method']}")
    for name, kind in _PARTS.items():
        if isinstance(part := given.get(name), Mapping):
            _known(part, kind, name)
            given[name] = kind(**part)
    ranking = cls(method(**options), **given)
    _ = ranking.compiled  # checks the numbers that no part of it has checked
    return ranking


def _known(given: Mapping[str, Any], kind: Any, place: str) -> None:
    names = [one.name for one in fields(kind)]
    for name in given:
        if name not in names:
            raise ValueError(f"{name}: unknown in {place}, expected {', '.join(names)}")
