"""The signal of adjacent turns of a conversation. The twin of `cpp/src/engine/neighbour_signal.hpp`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference import filters
from tests.reference.fusion import Found, Id

if TYPE_CHECKING:
    from tests.reference.ranking import Evidence

MOST_DOCUMENTS = 65_536


def has_turns(attributes: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of these documents is a turn."""
    return any(turn_of(row) is not None for row in attributes)


Name = str | int


def turn_of(attributes: Mapping[str, Any]) -> tuple[Name, int, Name] | None:
    """Return (run, position, speaker) of a document that is a turn; None otherwise."""
    run, position, speaker = (attributes.get(name) for name in ("run", "position", "speaker"))
    if not (_is_name(run) and _is_integer(position) and _is_name(speaker)):
        return None
    return run, position, speaker


def _is_name(value: Any) -> bool:
    return value != "" if isinstance(value, str) else _is_integer(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, (bool, filters.Time))


def apply(evidence: Evidence[Id], found: Found[Id], weight: float) -> None:
    """Add the neighbours' scores to both rankings of `found`, and sort them again, in place."""
    turns = {document: turn_of(evidence.attributes(document)) for document in evidence.order}
    place = {document: index for index, document in enumerate(evidence.order)}
    least = found.similarity[found.nearest[-1]] if found.nearest else 0.0

    def beside(document: Id) -> list[Id]:
        own = turns[document]
        if own is None:
            return []
        run, position, speaker = own
        return [
            other
            for wanted in (position - 1, position + 1)
            for other, turn in turns.items()
            if turn is not None
            and turn[:2] == (run, wanted)
            and turn[2] != speaker
            and evidence.home_of(other) == evidence.home_of(document)
        ]

    def above(document: Id) -> float:
        return max(0.0, evidence.similarity.get(document, least) - least)

    def add(ranking: Any, scores: dict[Id, float], score: Any) -> dict[Id, float]:
        new = {}
        for document in ranking:
            total = 0.0
            for other in beside(document):
                total += score(other)
            new[document] = scores[document] + weight * total
        ranking.sort(key=lambda document: (-new[document], place[document]))
        return new

    found.bm25 = add(found.lexical, found.bm25, lambda document: evidence.bm25.get(document, 0.0))
    found.similarity = add(found.nearest, found.similarity, above)
