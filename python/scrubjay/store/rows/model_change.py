"""A change of the model: what a store is given for it, whichever kind it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scrubjay._native import Scope
from scrubjay.base.progress import Progress
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.store.rows.values import StoredRow
from scrubjay.store.rows.vectors import encode


@dataclass(frozen=True)
class ModelChange:
    """The new model, and the engine's share of the change."""

    model: str
    dim: int
    dtype: str
    """Of the stored vectors."""
    embed: Callable[[Sequence[tuple[str, bytes | None]]], Sequence[DocumentVector | None]]
    """Returns a vector for each text and payload, or None where the model finds nothing."""
    failing: tuple[type[Exception], ...]
    """If `embed` raises one of these, the documents without a new vector become pending, and the model is changed. If
    it raises another, the change ends, and what was embedded is kept for the next call with the same model."""
    batch_size: int
    progress: Progress
    make_pending: Callable[[StoredRow, Scope], bool]
    """Rewrites a document as pending, with its current vector; False if it was rewritten, was deleted or has expired
    meanwhile, or cannot be read."""
    adopt: Callable[[], None]
    """Makes the engine begin anew with vectors of the new model."""

    @property
    def goal(self) -> str:
        """The name of the change, by which a later call continues it."""
        return f"{self.model}\n{self.dim}"

    def vectors(self, documents: Sequence[tuple[str, bytes | None] | None]) -> list[bytes | None]:
        """Embed the texts and payloads that are given; return encoded vectors, None where there is nothing."""
        given = [document for document in documents if document is not None]
        embedded = iter(self.embed(given) if given else [])
        vectors = [None if document is None else next(embedded) for document in documents]
        return [None if vector is None else encode(vector, self.dtype) for vector in vectors]
