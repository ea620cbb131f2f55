"""A search result detached from the engine, from which a pickled :class:`~scrubjay.Hits` is restored."""

from __future__ import annotations

from typing import Any

from scrubjay._native import Result, Scope

_COLUMNS = (
    "ids",
    "scores",
    "lexical_ranks",
    "vector_ranks",
    "identifiers",
    "another",
    "bm25",
    "similarities",
    "coverage",
    "information",
)
_FACTS = (
    "mode",
    "nothing_embedded",
    "corrections",
    "lexical_share",
    "vector_work",
    "admitted",
    "similarity_spread",
    "static_cosines",
    "query_information",
)


class FrozenResult:
    """Implements the part of a native result that :class:`~scrubjay.Hits` uses."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_state"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __len__(self) -> int:
        return len(self._state["texts"])

    def id(self, i: int) -> str | int:
        """Return the id of hit `i`."""
        id: str | int = self._state["ids"].tolist()[i]
        return id

    def score(self, i: int) -> float:
        """Return the score of hit `i`."""
        return float(self._state["scores"][i])

    def text(self, i: int) -> str:
        """Return the text of hit `i`."""
        return str(self._state["texts"][i])

    def scope(self, i: int) -> Scope:
        """Return the exact scope of hit `i`."""
        scope: Scope = self._state["scopes"][i]
        return scope

    def payload(self, i: int) -> bytes | None:
        """Return the payload of hit `i`."""
        payload: bytes | None = self._state["payloads"][i]
        return payload

    def passage(self, i: int) -> tuple[int, int] | None:
        """Return the span of the nearest passage of hit `i`."""
        passage: tuple[int, int] | None = self._state["passages"][i]
        return passage

    def matched_terms(self, i: int) -> list[str]:
        """Return the matched terms of hit `i`."""
        return list(self._state["terms"][i])

    def corrected(self, text: str) -> str:
        """Return the text unchanged: it was corrected before the result was copied."""
        return text

    def parts(self, i: int) -> dict[str, float]:
        """Return the parts of the score of hit `i`."""
        return dict(self._state["all_parts"][i])


def freeze(result: Result | FrozenResult, explained: bool) -> FrozenResult:
    """Return a copy of a result that can be pickled."""
    if isinstance(result, FrozenResult):
        return result
    state: dict[str, Any] = {name: getattr(result, name) for name in (*_COLUMNS, *_FACTS)}
    rows = range(len(result))
    state["texts"] = result.texts
    state["scopes"] = [result.scope(i) for i in rows]
    state["payloads"] = [result.payload(i) for i in rows]
    state["passages"] = [result.passage(i) for i in rows]
    state["terms"] = [result.matched_terms(i) for i in rows] if explained else []
    state["all_parts"] = [result.parts(i) for i in rows] if explained else []
    return FrozenResult(state)
