"""A search query as flat options for the oracle; the engine takes the same object in its compiled form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from tests.reference.fusion import PLAIN, Options

__all__ = ["PLAIN", "Asked", "Options", "asked"]


@dataclass(frozen=True)
class Asked:
    """A query with its ranking options in the native form."""

    ranking: Options = Options()  # noqa: RUF009 - frozen
    mode: str = "hybrid"
    candidates: int | tuple[int, int] | None = None
    recall: Any = None
    keywords: Any = None
    ids: Any = None
    exclude: Any = None
    rankings: Sequence[Sequence[Any]] | None = None
    entities: Sequence[str] | None = None
    links: Any = None
    spread: bool = False

    @cached_property
    def compiled(self) -> Any:
        """The engine's own form."""
        from scrubjay import _native

        options = {one.name: getattr(self.ranking, one.name) for one in fields(self.ranking)}
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "ranking"}
        given["links"] = None if self.links is None else self.links._options()
        return _native.CompiledQuery(_native.CompiledRanking(options.pop("method"), **options), **given)

    @property
    def depths(self) -> tuple[int | None, int | None]:
        """The number of candidates fused from the lexical and from the vector ranking."""
        if isinstance(self.candidates, tuple):
            return self.candidates
        return self.candidates, self.candidates


def asked(query: Any) -> Asked:
    """Convert a query for the oracle: None, an Asked, or a scrubjay.Query."""
    if query is None:
        return Asked()
    if isinstance(query, Asked):
        return query
    if not hasattr(query, "fusion"):
        raise TypeError(f"query: expected a Query, got {type(query).__name__}")
    options: dict[str, Any] = {
        name: getattr(query, name) for name in ("identifier_tier", "spelling", "coverage", "mmr", "min_score")
    }
    parts = ("fusion", "recency", "dates", "neighbours", "entities", "prior", "relevance")
    for part in (getattr(query, name) for name in parts):
        if part is not None:
            options.update(part._options())
    if query.dates is None:
        options["dates"] = 0.0
    if query.neighbours is None:
        options["neighbours"] = 0.0
    if "relevance_bounds" in options:
        options["relevance_bounds"] = tuple(map(tuple, options["relevance_bounds"]))
    if "weights" in options:
        options["weights"] = tuple(options["weights"])
    for name in ("rrf_k", "coverage"):
        if name in options and not math.isfinite(options[name]):
            raise ValueError(f"{name}: expected a finite number, got {options[name]}")
    return Asked(
        Options(query.fusion._method, **options),
        query.mode,
        query.candidates,
        query.recall,
        query.keywords,
        query.ids,
        query.exclude,
        query.rankings,
        None if query.entities is None else query.entities.names,
        query.links,
    )
