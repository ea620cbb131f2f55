"""Query: all options of a search besides its text, scope, k, filter and vector, as one frozen object."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from scrubjay._native import CompiledQuery, CompiledRanking
from scrubjay.base.arguments import checked_path
from scrubjay.base.whole_files import whole_file
from scrubjay.filters import Ids
from scrubjay.fusion.links import Entry, Links
from scrubjay.fusion.methods import RRF, Auto, Boost, Fusion, Production, Weighted, compile_ranking, number
from scrubjay.fusion.signals import Dates, Entities, Neighbours, Prior, Recency, Relevance

__all__ = ["Entry", "Query", "load", "save"]

FusionName: TypeAlias = Literal["auto", "rrf", "weighted", "boost", "production"]
Tier: TypeAlias = Literal["high", "standard", "low"]
Mode: TypeAlias = Literal["hybrid", "lexical", "keyword", "vector", "semantic"]


@dataclass(frozen=True, eq=False)
class Query:
    """The options of a search: how it ranks and what it may find. Frozen; checked and compiled once, so create it once
    and use it for many searches. Accepted by every search: :meth:`scrubjay.Index.search`, :class:`scrubjay.Retriever`,
    :meth:`scrubjay.Memory.recall`, the HTTP service, the adapters.

    Args:
        fusion: the method that merges the rankings: :class:`Auto` (the default), :class:`RRF`, :class:`Weighted`,
            :class:`Boost`, :class:`Production`, or a name: "auto", "rrf", "weighted", "boost", "production".
        mode: "hybrid" (both rankings, fused), "lexical" or "keyword" (BM25 alone), "vector" or "semantic" (vectors
            alone).
        candidates: the number of candidates that each ranking contributes, or (lexical, vector); None: the larger of
        100
            and k.
        recall: the fraction of the true nearest neighbours that the vector ranking should find, in (0, 1]; None: 0.99.
            1.0 or "exact" compares every visible vector.
        identifier_tier: whether documents that hold a rare identifier of the query verbatim (one that at most
            max(5, 0.5%) of the visible documents hold) rank first: those that hold more of the query's identifiers
            before the others, then in their fused order. Measures, years, ordinals, ranges and numbered words ("400mg",
            "2023", "18th", "1/2", "interleukin-2") count as identifiers only in queries that consist mostly of them.
            Applies where rankings are fused.
        spelling: whether a word that no visible document holds and that is not a common English word is replaced by the
            word at edit distance 1 that most visible documents hold (preferring words with the same first letter).
            :attr:`Hits.corrections` lists the replacements. Applies to words of 4 to 24 letters, but not to
            identifiers, words in capitals, or text between double quotes.
        coverage: weight of the fraction of the query's terms, weighted by idf, that a document holds.
        recency: favour new documents; True for :class:`Recency` with its defaults.
        dates: favour documents of the days that the question names: True (the default) for :class:`Dates` with its
            defaults, False for never. Applies in mode "hybrid", even if only one of the two rankings is available; does
            not change the ranking of a question without a date.
        neighbours: let the turns of a conversation gain from the turns beside them: True (the default) for
            :class:`Neighbours` with its defaults, False for never. Applies in the same modes as `dates`, and only to
            documents that record their turn.
        entities: favour documents that name the entities of the question: :class:`Entities`, names, or True for those
        in
            the question's text.
        prior: favour documents by a number in their metadata; True for :class:`Prior` with its defaults.
        mmr: trade-off of maximal marginal relevance (Carbonell and Goldstein 1998), from 0 (only diversity) to 1 (only
            relevance); None: off. Similarities are cosines of the stored vectors.
        min_score: drop hits with a lower score; None: keep all.
        relevance: drop hits with less evidence: :class:`Relevance`, or the name of a tier.
        keywords: text for the keyword ranking alone, in place of the search text.
        ids, exclude: only documents with these ids; no documents with these. A set, list, integer array, pyroaring
        bitmap
            or other iterable; unknown ids are ignored.
        rankings: further rankings of the caller (a graph walk, an order by popularity), each a sequence, best first, of
            ids (an id refers to the most specific document that may be found, as in :meth:`scrubjay.Index.get`) or of
            pairs (scope, id); invisible ones are ignored.
        links: further rankings by the links between documents: :class:`Links`.

    A weight of coverage, recency, entities or prior other than 0 scales the fused scores of the best `candidates` to
    0..1 and adds weight * signal.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    >>> Query(RRF(10), mmr=0.5) == Query(RRF(10), mmr=0.5)
    True
    >>> Query(mode="keyword", candidates=(50, 200))
    Query(mode='lexical', candidates=(50, 200))
    """

    fusion: Fusion | FusionName = Auto()  # noqa: RUF009 - frozen
    _: KW_ONLY
    mode: Mode = "hybrid"
    candidates: int | tuple[int, int] | None = None
    recall: float | Literal["exact"] | None = None
    identifier_tier: bool = True
    spelling: bool = True
    coverage: float = 0.0
    recency: Recency | bool | None = None
    dates: Dates | bool | None = Dates()  # noqa: RUF009 - frozen
    neighbours: Neighbours | bool | None = Neighbours()  # noqa: RUF009 - frozen
    entities: Entities | Sequence[str] | bool | None = None
    prior: Prior | bool | None = None
    mmr: float | None = None
    min_score: float | None = None
    relevance: Relevance | Tier | None = None
    keywords: str | bytes | None = None
    ids: Ids | None = None
    exclude: Ids | None = None
    rankings: Sequence[Sequence[Entry]] | None = None
    links: Links | None = None
    compiled: CompiledQuery = field(init=False, repr=False)
    """The engine's form."""

    def __post_init__(self) -> None:
        for name, value in _normal(self).items():
            object.__setattr__(self, name, value)
        values = {name: getattr(self, name) for name in _OF_ONE_SEARCH if name != "links"}
        links = None if self.links is None else self.links._options()
        names = self.entities.names if isinstance(self.entities, Entities) else None
        compiled = CompiledQuery(
            _compiled_ranking(_Ranking(*(getattr(self, name) for name in _RANKING))),
            mode=self.mode,
            candidates=self.candidates,
            recall=self.recall,
            entities=names,
            links=links,
            **values,
        )
        object.__setattr__(self, "compiled", compiled)

    def replace(self, **changes: Any) -> Query:
        """Return a query with some fields changed; the query itself, already compiled, if no value differs.

        Args:
            changes: fields of the query with their new values.

        >>> Query(RRF(), mode="lexical").replace(mode="hybrid")
        Query(fusion=RRF(k=60.0, weights=(1.0, 1.0)))
        """
        for name, value in changes.items():
            own = getattr(self, name, changes)  # `changes` is the value of no field
            if own is not value and not (isinstance(value, str) and isinstance(own, str) and own == value):
                return dataclasses.replace(self, **changes)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON types; :meth:`from_dict` reads them.

        Raises:
            ValueError: the query has keywords, ids, exclude, rankings or links, which belong to one question.

        >>> Query.from_dict(Query(RRF(10), recency=True).to_dict()) == Query(RRF(10), recency=True)
        True
        """
        for name in _OF_ONE_SEARCH:
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: expected None in stored settings, it belongs to one question")
        assert isinstance(self.fusion, Fusion)
        settings: dict[str, Any] = {"fusion": {"method": self.fusion._method, **asdict(self.fusion)}}  # type: ignore[call-overload]
        for name in _SETTINGS:
            value = getattr(self, name)
            settings[name] = asdict(value) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]
        plain: dict[str, Any] = json.loads(json.dumps(settings, default=_as_json))
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Query:
        """Create a query from what :meth:`to_dict` returned; missing settings have their defaults.

        Raises:
            TypeError, ValueError: these are not settings of a query; the message names the field.
        """
        return _from_dict(settings)

    def values(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in _FIELDS}

    def _token(self) -> tuple[Any, ...]:
        """Return a value that is equal for equal queries."""
        return tuple(_comparable(getattr(self, name)) for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Query) and self._token() == other._token())

    def __hash__(self) -> int:
        return hash(self._token())

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles are compiled again
        return _remade, (self.values(),)

    def __repr__(self) -> str:
        changed = (
            option
            for option in fields(self)
            if option.init and not _same(getattr(self, option.name), option.default)
        )
        return f"Query({', '.join(f'{option.name}={getattr(self, option.name)!r}' for option in changed)})"


_RANKING = (
    "fusion",
    "identifier_tier",
    "spelling",
    "coverage",
    "recency",
    "dates",
    "neighbours",
    "entities",
    "prior",
    "mmr",
    "min_score",
    "relevance",
)
_SETTINGS = ("mode", "candidates", "recall", *_RANKING[1:])
_OF_ONE_SEARCH = ("keywords", "ids", "exclude", "rankings", "links")
_FIELDS = ("fusion", *_SETTINGS, *_OF_ONE_SEARCH)
# The fields whose values have fields of their own.
_PARTS: dict[str, Any] = {
    "recency": Recency,
    "dates": Dates,
    "neighbours": Neighbours,
    "entities": Entities,
    "prior": Prior,
    "relevance": Relevance,
}
_METHODS: dict[str, Any] = {kind._method: kind for kind in (Auto, RRF, Weighted, Boost, Production)}
_WITHOUT_ORDER = (set, frozenset, Mapping)
_SYNONYMS = {"keyword": "lexical", "semantic": "vector"}
_Ranking = dataclasses.make_dataclass("_Ranking", _RANKING, frozen=True)


def checked_query(given: Any, name: str = "query") -> Query:
    """Return a query that was given as an argument.

    Raises:
        TypeError: it is something else.

    >>> checked_query("rrf")
    Traceback (most recent call last):
    ...
    TypeError: query: expected a scrubjay.Query, got str 'rrf'; write Query('rrf')
    """
    if isinstance(given, Query):
        return given
    is_fusion = isinstance(given, Fusion) or (isinstance(given, str) and given in get_args(FusionName))
    hint = f"; write Query({given!r})" if is_fusion else ""
    raise TypeError(f"{name}: expected a scrubjay.Query, got {type(given).__name__} {given!r}{hint}")


def save(query: Query | Fusion, path: str | Path, *, replace: bool = True) -> None:
    """Write the settings of a query to a JSON file that :func:`load` reads; a new file has mode 0600.

    Args:
        query: a query, or a fusion alone.
        path: the file.
        replace: whether to overwrite an existing file.

    Raises:
        FileExistsError: the file exists and `replace` is False.
    """
    settings = query if isinstance(query, Query) else Query(query)
    with whole_file(path, replace=replace) as file:
        file.write(json.dumps({"scrubjay_query": 1, **settings.to_dict()}, indent=2) + "\n")


def load(path: str | Path) -> Query:
    """Read the settings that :func:`save` or `scrubjay tune` wrote, for `Index.search(query=...)`.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file does not hold settings of a query; the message names the file and what is wrong.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> save(Weighted((0.3, 0.7)), folder.name + "/query.json")
    >>> load(folder.name + "/query.json").fusion
    Weighted(weights=(0.3, 0.7), normalise='zscore')
    >>> folder.cleanup()
    """
    file = checked_path(path, "path")
    try:
        settings = json.loads(file.read_text("utf-8"))
        if not isinstance(settings, dict) or settings.pop("scrubjay_query", None) != 1:
            raise ValueError('expected the settings of a query ("scrubjay_query": 1)')
        return _from_dict(settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def _remade(values: Mapping[str, Any]) -> Query:
    return Query(**values)


def _normal(query: Query) -> dict[str, Any]:
    """Return the fields whose stored form differs from the given one."""
    changed: dict[str, Any] = {}
    fusion = query.fusion
    if isinstance(fusion, str):
        if fusion not in _METHODS:
            raise ValueError(
                f"fusion: expected one of {', '.join(map(repr, _METHODS))} or a fusion, got {fusion!r}"
            )
        changed["fusion"] = _METHODS[fusion]()
    elif not isinstance(fusion, Fusion):
        raise TypeError(
            f"fusion: expected Auto, RRF, Weighted, Boost or Production, got {type(fusion).__name__} {fusion!r}"
        )
    signals = {name: part for name, part in _PARTS.items() if part is not Relevance}
    for name, signal in signals.items():
        if isinstance(given := getattr(query, name), bool):
            changed[name] = signal() if given else None
    if query.entities is not None and not isinstance(query.entities, (bool, Entities)):
        changed["entities"] = Entities(names=query.entities)
    if isinstance(query.relevance, str):
        changed["relevance"] = Relevance(query.relevance)
    for name, kind in _PARTS.items():
        if not isinstance(part := changed.get(name, getattr(query, name)), (kind, type(None))):
            also = "one of its tiers" if kind is Relevance else "a bool"
            raise TypeError(f"{name}: expected {kind.__name__} or {also}, got {type(part).__name__} {part!r}")
    if not isinstance(query.links, (Links, type(None))):
        raise TypeError(f"links: expected Links, got {type(query.links).__name__} {query.links!r}")
    number(query.coverage, "coverage")
    for name in ("identifier_tier", "spelling"):  # before the cache, to which 1 is True
        if not isinstance(value := getattr(query, name), bool):
            raise TypeError(f"{name}: expected a bool, got {type(value).__name__} {value!r}")
    for name in ("mmr", "min_score"):
        if (value := getattr(query, name)) is not None and not math.isfinite(number(value, name)):
            raise ValueError(f"{name}: expected a finite number, got {value!r}")
    for name in ("ids", "exclude"):
        if isinstance(value := getattr(query, name), Iterator):
            changed[name] = tuple(value)
    if query.rankings is not None and not isinstance(query.rankings, (str, bytes)):
        changed["rankings"] = _lasting_rankings(query.rankings)
    candidates: Any = query.candidates
    if hasattr(candidates, "tolist"):  # NumPy's
        candidates = changed["candidates"] = candidates.tolist()
    if isinstance(candidates, list):
        changed["candidates"] = tuple(candidates)
    if isinstance(query.mode, str) and query.mode in _SYNONYMS:
        changed["mode"] = _SYNONYMS[query.mode]
    return changed


def _lasting_rankings(rankings: Any) -> Any:
    """Return rankings that can be iterated more than once; iterators become tuples.

    Raises:
        TypeError: a ranking without an order, or a mapping, whose values would be ignored.
    """
    given = tuple(rankings) if isinstance(rankings, Iterator) else rankings
    if isinstance(given, _WITHOUT_ORDER) or not isinstance(given, Iterable):
        raise TypeError(f"rankings: expected a sequence, got {type(given).__name__}")
    for i, ranking in enumerate(given):
        if isinstance(ranking, _WITHOUT_ORDER):
            raise TypeError(f"rankings[{i}]: expected a sequence, best first, got {type(ranking).__name__}")
    if any(isinstance(ranking, Iterator) for ranking in given):
        return tuple(tuple(ranking) if isinstance(ranking, Iterator) else ranking for ranking in given)
    return given


@lru_cache(maxsize=1024)
def _compiled_ranking(ranking: Any) -> CompiledRanking:
    options: dict[str, Any] = {
        name: getattr(ranking, name)
        for name in ("identifier_tier", "spelling", "coverage", "mmr", "min_score")
    }
    for name, kind in _PARTS.items():
        if isinstance(part := getattr(ranking, name), kind):
            options.update(part._options())
    if ranking.dates is None:
        options["dates"] = 0.0
    if ranking.neighbours is None:
        options["neighbours"] = 0.0
    return compile_ranking(ranking.fusion, **options)


def _as_json(value: Any) -> int | float | str:
    """Return a number of another library, or a time, as a JSON type."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else str(value)


def _comparable(value: Any) -> Any:
    """Return a hashable form of the value of a field."""
    if (
        value is None
        or isinstance(value, (str, bytes, int, float, frozenset))
        or dataclasses.is_dataclass(value)
    ):
        return value
    if isinstance(value, (set, Mapping)):
        return frozenset(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(map(_comparable, value))
    try:
        hash(value)
    except TypeError:
        return frozenset(value)
    return value


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and bool(value == usual)


def _from_dict(settings: Mapping[str, Any]) -> Query:
    if not isinstance(settings, Mapping):
        raise TypeError(f"settings: expected a mapping, got {type(settings).__name__} {settings!r}")
    values = dict(settings)
    _check_known(values, ("fusion", *_SETTINGS), "a query")
    fusion = values.pop("fusion", {"method": "auto"})
    if isinstance(fusion, str):
        fusion = {"method": fusion}
    if not isinstance(fusion, Mapping) or str(fusion.get("method")) not in _METHODS:
        raise ValueError(f"fusion: expected a method among {', '.join(_METHODS)}, got {fusion!r}")
    method = _METHODS[str(fusion["method"])]
    options = {name: value for name, value in fusion.items() if name != "method"}
    _check_known(options, [option.name for option in fields(method)], f"fusion {fusion['method']}")
    for name, kind in _PARTS.items():
        if isinstance(part := values.get(name), Mapping):
            _check_known(part, [option.name for option in fields(kind)], name)
            values[name] = _made(name, kind, part)
    return Query(_made("fusion", method, options), **values)


def _made(name: str, kind: Any, options: Mapping[str, Any]) -> Any:
    """Create a part of a query; an error of its constructor is raised with the name of the part."""
    try:
        return kind(**options)
    except TypeError as error:
        raise TypeError(f"{name}.{error}") from None
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from None


def _check_known(given: Mapping[str, Any], names: Sequence[str], place: str) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{name}: unknown in {place}, expected {', '.join(names)}")
