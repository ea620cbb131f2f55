"""Rankings by links between documents: distance and mentions. The twin of `cpp/src/engine/link_graph.cpp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["by_distance", "by_mentions", "edges"]

Edges = set[tuple[int, int]]


def texts(value: Any) -> list[str]:
    """Return the links in a field's value."""
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def edges(links_of: Mapping[int, Any], named: Callable[[str | int], int | None]) -> Edges:
    """Return pairs (document, linked document); `named` returns the document with an id."""

    def document(link: str) -> int | None:
        if not link:
            return None
        found = named(link)
        if found is None and link.removeprefix("-").isascii() and link.removeprefix("-").isdigit():
            number = int(link)
            if str(number) == link and -(2**63) <= number < 2**63:
                found = named(number)
        return found

    pairs = {(serial, document(link)) for serial, value in links_of.items() for link in texts(value)}
    return {(one, other) for one, other in pairs if other is not None and other != one}


def by_distance(
    edges: Edges, centres: Sequence[int], place: Mapping[int, int], hops: int, direction: str
) -> list[int]:
    """Return the documents 1 to `hops` links from the centres, in ranking order."""
    ways: Edges = set()
    if direction in ("out", "both"):
        ways |= edges
    if direction in ("in", "both"):
        ways |= {(other, one) for one, other in edges}
    frontier, passed = list(centres), set(centres)
    ranked: list[int] = []
    for _ in range(hops):
        reached = {other for one, other in ways if one in frontier and other not in passed}
        n_links = {other: len({one for one in frontier if (one, other) in ways}) for other in reached}
        frontier = sorted(reached, key=lambda serial: (-n_links[serial], place[serial]))
        ranked += frontier
        passed |= reached
    return ranked


def by_mentions(edges: Edges, documents: Sequence[int], place: Mapping[int, int]) -> list[int]:
    """Return the documents to which others link, in ranking order."""
    n_mentions = {serial: sum(other == serial for _, other in edges) for serial in documents}
    mentioned = [serial for serial in n_mentions if n_mentions[serial] > 0]
    return sorted(mentioned, key=lambda serial: (-n_mentions[serial], place[serial]))
