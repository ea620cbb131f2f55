"""Links: rankings by what documents say of each other, walked natively over the visible documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from scrubjay._native import Scope

Entry: TypeAlias = str | int | tuple[Scope, str | int]
"""A document in a ranking of the caller's: an id, or the key of a document."""

Direction: TypeAlias = Literal["out", "in", "both"]


@dataclass(frozen=True)
class Links:
    """Documents near to others in a graph, and documents that are mentioned often, count more.

    A document's links are the texts of one metadata field, a list or a single text: ids of documents (an id that is an
    integer written in decimal). A link names the most specific of the visible documents with that id. Documents that a
    filter hides are not walked through and mention nothing; links to nothing and to the document itself do not count.

    Args:
        centres: what the distance is measured from: ids or pairs (scope, id), as in `rankings` of
            :class:`scrubjay.Query`. Those that are not visible are passed over. None: no ranking by distance.
        hops: how many links away a document may be, 1 to 10.
        direction: "out" follows links from the document that has them to the one that they name, "in" goes the other
            way, "both" either way.
        mentions: whether what the other rankings hold is ranked by how many visible documents link to it, too.
        field: the metadata field.

    Each is a ranking of the fusion, behind those of `rankings` in the order of its weights: distance, then mentions. By
    distance comes first what is one link away from a centre, then what is two, and so on; the centres themselves are
    not ranked. Of equal distance, what has more links with documents one step nearer is first, then what stands first
    in document order. It adds documents that neither words nor meaning find; mentions add none.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    Temporal knowledge graphs rank by breadth-first search, node distance and episode mentions (Rasmussen et al. 2025,
    "Zep: a temporal knowledge graph architecture for agent memory").

    >>> Links(["jane"], hops=2).direction
    'both'
    """

    centres: Sequence[Entry] | None = None
    hops: int = 3
    direction: Direction = "both"
    mentions: bool = False
    field: str = "links"

    def __post_init__(self) -> None:
        if isinstance(self.centres, (str, bytes)):
            raise TypeError(
                f"centres: expected a list of ids, got {type(self.centres).__name__} {self.centres!r}"
            )
        if self.centres is not None:
            object.__setattr__(self, "centres", tuple(self.centres))
        for name, kind in (("hops", int), ("mentions", bool), ("field", str), ("direction", str)):
            value = getattr(self, name)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise TypeError(f"{name}: expected {kind.__name__}, got {type(value).__name__} {value!r}")
        if not 1 <= self.hops <= 10:
            raise ValueError(f"hops: expected 1 to 10, got {self.hops}")
        if self.direction not in ("out", "in", "both"):
            raise ValueError(f"direction: expected 'out', 'in' or 'both', got {self.direction!r}")
        if not self.field:
            raise ValueError("field: expected the name of a metadata field, got ''")
        if not self.centres and not self.mentions:
            raise ValueError("centres: expected ids, or mentions=True, got neither")

    def _options(self) -> tuple[Any, ...]:
        """The engine's own form."""
        return self.centres or (), self.hops, self.direction, self.mentions, self.field
