"""All options of a ranking together, and what a search makes of its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from scrubjay._native import CompiledRanking
from scrubjay.fusion.methods import RRF, Auto, Boost, Fusion, Production, Weighted, compile_ranking, number
from scrubjay.fusion.signals import Entities, Prior, Recency, Relevance

__all__ = ["Ranking", "as_ranking", "load", "save", "weighs_entities"]


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

    fusion: Fusion = Auto()  # noqa: RUF009 - frozen
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
        for name, kind in _PARTS.items():
            if not isinstance(part := getattr(self, name), (kind, type(None))):
                also = "one of its tiers" if kind is Relevance else "a bool"
                raise TypeError(
                    f"{name}: expected {kind.__name__} or {also}, got {type(part).__name__} {part!r}"
                )
        number(self.coverage, "coverage")
        for name in ("mmr", "min_score"):
            if (value := getattr(self, name)) is not None:
                number(value, name)

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
    options: dict[str, Any] = {
        name: getattr(ranking, name) for name in ("identifier_tier", "coverage", "mmr", "min_score")
    }
    for name, kind in _PARTS.items():
        if isinstance(part := getattr(ranking, name), kind):
            options.update(part._options())
    return compile_ranking(ranking.fusion, **options)


# The fields of a ranking that have fields of their own.
_PARTS: dict[str, Any] = {"recency": Recency, "entities": Entities, "prior": Prior, "relevance": Relevance}
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
