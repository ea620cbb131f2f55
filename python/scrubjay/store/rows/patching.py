"""A change to a document that leaves its text: new metadata, times, vector or context."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from scrubjay.documents import payload as payloads
from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors, fits
from scrubjay.documents.payload import CreatedAt


class Keep(enum.Enum):
    """The type of :data:`KEEP`."""

    KEEP = "keep"

    def __repr__(self) -> str:
        return "KEEP"


KEEP = Keep.KEEP
"""In place of a value: keep the stored one."""


@dataclass(frozen=True, eq=False)
class Patch:
    """A checked change. None in `metadata` removes its key; None as a time, vector or context removes it."""

    metadata: Mapping[str, Any]
    created_at: datetime | Keep | None
    expires_at: datetime | Keep | None
    vector: DocumentVector | Keep | None = KEEP
    context: str | Keep | None = KEEP
    pending: bool = False
    """Whether the text must be embedded again; the stored vector remains until then."""

    @staticmethod
    def of(
        metadata: Mapping[str, Any] | None,
        created_at: CreatedAt | Keep | None,
        expires_at: CreatedAt | Keep | None,
    ) -> Patch:
        """Check the parts of a change.

        Raises:
            TypeError, ValueError: an argument is invalid; the message names it, the expected and the given value.
        """
        return Patch(
            {} if metadata is None else payloads.checked_metadata(metadata),
            created_at if isinstance(created_at, Keep) else payloads.to_utc(created_at),
            expires_at if isinstance(expires_at, Keep) else payloads.to_utc(expires_at, "expires_at"),
        )

    def with_vector(self, vector: DocumentVector | None) -> Patch:
        """Return the change with this vector; None removes the document's vector."""
        return replace(self, vector=vector)

    def with_context(self, context: str | None) -> Patch:
        """Return the change with this context; None removes the document's context."""
        return replace(self, context=context)

    def to_embed(self) -> Patch:
        """Return the change that also marks the document as pending."""
        return replace(self, pending=True)

    def vector_of(self, payload: bytes | None) -> DocumentVector | None:
        """Return the new vector of a document with this payload; vectors without places get those of its passages."""
        assert not isinstance(self.vector, Keep)
        vector, passages = self.vector, payloads.passages_of(payload)
        if not passages or not isinstance(vector, PassageVectors) or vector.spans.any():
            return vector
        return (
            PassageVectors(vector.rows, np.array(passages, np.uint32)) if fits(vector, passages) else vector
        )

    def applied(self, payload: bytes | None) -> bytes | None:
        """Return the changed payload of a document.

        Raises:
            CorruptIndexError: the payload is damaged.

        >>> Patch.of({"b": 2, "a": None}, KEEP, 0).applied(b'{"metadata":{"a":1}}')
        b'{"metadata":{"b":2},"expires_at":"1970-01-01T00:00:00+00:00"}'
        """
        fields = payloads.fields_of(payload)
        metadata = {**fields.get("metadata", {}), **self.metadata}
        changed: dict[str, Any] = {
            "metadata": {
                key: value for key, value in metadata.items() if key not in self.metadata or value is not None
            }
        }
        for name, moment in (("created_at", self.created_at), ("expires_at", self.expires_at)):
            if not isinstance(moment, Keep):
                changed[name] = None if moment is None else moment.isoformat()
        if not isinstance(self.context, Keep):
            changed["context"] = self.context
        if not isinstance(self.vector, Keep):
            changed["pending"] = None  # the vector is decided by the caller
            passages = fields.get("passages")
            if passages is not None and self.vector is not None and not fits(self.vector, passages):
                changed["passages"] = None  # they would describe other vectors
        elif self.pending:
            changed["pending"] = True
        if not changed["metadata"] and "metadata" not in fields:
            del changed["metadata"]
        merged = {name: value for name, value in {**fields, **changed}.items() if value is not None}
        return payloads.encode_fields(merged)
