"""Links: rankings by the links between documents, computed natively over the visible documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from scrubjay._native import Scope
from scrubjay.base.arguments import has_lone_surrogate, shown
from scrubjay.documents.ids import items_of

Entry: TypeAlias = str | int | tuple[Scope, str | int]
"""A document in a ranking of the caller: an id, or a key (scope, id)."""

Direction: TypeAlias = Literal["out", "in", "both"]


@dataclass(frozen=True)
class Links:
    """Rank documents higher that are near others in the link graph, or that many documents link to.

    A document's links are the texts of one metadata field, a list or a single text: ids of documents (integer ids in
    decimal). A link refers to the most specific visible document with that id. Documents hidden by a filter are neither
    traversed nor counted as sources of links; dangling links and links of a document to itself are ignored.

    Args:
        centres: documents from which the distance is measured: ids or pairs (scope, id), as in `rankings` of
            :class:`scrubjay.Query`. Invisible ones are ignored. None: no ranking by distance.
        hops: the maximum distance in links, 1 to 10.
        direction: "out" follows links from the document that has them to the one they name, "in" the other way,
            "both" either way.
        mentions: whether to rank the documents of the other rankings by the number of visible documents that link to
            them.
        field: the metadata field.

    Each is a ranking of the fusion, placed after those of `rankings` in the order of its weights: distance, then
    mentions. The ranking by distance has the documents one link away from a centre first, then those two links away,
    and so on; the centres themselves are not ranked. At equal distance, the document with more links to documents one
    step nearer is first, then document order decides. The ranking by distance adds documents that neither words nor
    meaning find; mentions add none.

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
        if self.centres is not None:
            object.__setattr__(self, "centres", tuple(items_of(self.centres, "centres")))
        for name, kind in (("hops", int), ("mentions", bool), ("field", str), ("direction", str)):
            value = getattr(self, name)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise TypeError(f"{name}: expected {kind.__name__}, got {type(value).__name__} {value!r}")
        if not 1 <= self.hops <= 10:
            raise ValueError(f"hops: expected 1 to 10, got {self.hops}")
        if self.direction not in ("out", "in", "both"):
            raise ValueError(f"direction: expected 'out', 'in' or 'both', got {self.direction!r}")
        if not self.field or has_lone_surrogate(self.field):
            raise ValueError(f"field: expected the name of a metadata field, got {shown(self.field)}")
        if not self.centres and not self.mentions:
            raise ValueError("centres: expected ids, or mentions=True, got neither")

    def _options(self) -> tuple[Any, ...]:
        """Return the engine's form."""
        return self.centres or (), self.hops, self.direction, self.mentions, self.field
