"""The texts to embed for a document: its whole text, or the passages of a long one, each with its own vector.

An embedder with `passage_chars` gets long texts in passages (:func:`scrubjay.documents.passages.split`): each passage
is prefixed with its headings, and adjacent passages share the sentences at their border. Passages that the caller
defined are stored in the payload, for when the text is embedded again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.progress import Progress
from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors
from scrubjay.documents.passages import split
from scrubjay.documents.payload import context_of, passages_of
from scrubjay.documents.records import as_text
from scrubjay.embedders.protocol import Vectors

_MOST = 8_000  # passages per text; the engine allows 16,384


class Parts(NamedTuple):
    """The texts to embed of one document."""

    texts: list[str]
    spans: list[tuple[int, int]] | None
    """Their spans in the text of the document; None: it is embedded as a whole."""


class ByDocument:
    """Adapts a progress bar that counts documents to updates that count embedded texts."""

    def __init__(self, parts: Sequence[Parts], progress: Progress) -> None:
        self._ends = list(accumulate(len(part.texts) for part in parts))
        self._n_texts = 0
        self._progress = progress

    def update(self, n: int) -> None:
        """Add `n` embedded texts."""
        before = bisect_right(self._ends, self._n_texts)
        self._n_texts += n
        self._progress.update(bisect_right(self._ends, self._n_texts) - before)

    def close(self) -> None:
        """Do nothing: the bar's owner closes it."""


def parts_of(
    text: str | bytes, payload: bytes | None, passage_chars: int | None, whole_chars: int | None
) -> Parts:
    """Return the texts to embed for a document.

    Args:
        text: of the document.
        payload: of the document: its context, and the passages that its writer defined.
        passage_chars: the embedder's length of a passage; None: it embeds whole texts.
        whole_chars: the embedder's maximum length of a text that is embedded as a whole.

    >>> parts = parts_of("# Trips\\n\\nBy train. " + "In March it rains. " * 5, None, 60, 60)
    >>> parts.spans, parts.texts[0]
    ([(9, 56), (57, 113)], 'Trips\\n\\nBy train. In March it rains. In March it rains.')
    """
    whole = as_text(text)
    context = context_of(payload)
    pairs = passages_of(payload)
    around: list[str | None]
    if pairs:
        spans, around = [(start, end) for start, end in pairs], [context] * len(pairs)
    elif pairs is not None or passage_chars is None or len(whole) <= (whole_chars or passage_chars):
        return Parts([_with_context(context, whole)], None)
    else:
        passages = split(
            whole, max_chars=max(passage_chars, -(-len(whole) // _MOST)), overlap=passage_chars // 6
        )
        if len(passages) < 2:
            return Parts([_with_context(context, whole)], None)
        spans = [(passage.start, passage.end) for passage in passages]
        around = ["\n\n".join(filter(None, (context, passage.context))) for passage in passages]
    return Parts(
        [_with_context(outer, whole[start:end]) for outer, (start, end) in zip(around, spans, strict=True)],
        spans,
    )


def joined(parts: Parts, vectors: Sequence[Vectors | None]) -> DocumentVector | None:
    """Return a document's vectors from those of its parts (None for parts without a vector)."""
    if parts.spans is None:
        return vectors[0]
    pairs = [(row, span) for row, span in zip(vectors, parts.spans, strict=True) if row is not None]
    if not pairs:
        return None
    rows: NDArray[Any] = np.stack([row for row, _ in pairs])
    return PassageVectors(rows, np.array([span for _, span in pairs], dtype=np.uint32))


def _with_context(context: str | None, text: str) -> str:
    return f"{context}\n\n{text}" if context else text
