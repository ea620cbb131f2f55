"""The embedder of an index: vectors for documents and queries, all of one model.

If the embedder fails, searches degrade; writes leave texts pending, to be embedded later
(:mod:`scrubjay.index.backfill`), or write nothing. Output that is not a vector of its model is an error in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from scrubjay._native import StaticEmbedder
from scrubjay.base.errors import EmbedderError, EmbedderMismatchError
from scrubjay.base.progress import Progress
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.documents.records import as_text
from scrubjay.embedders.batches import answers, n_at_once
from scrubjay.embedders.cache import QueryCache
from scrubjay.embedders.protocol import (
    ZERO_VECTOR,
    Embedder,
    Vectors,
    checked_matrix,
    checked_vector,
    embed_queries,
)
from scrubjay.index.outage import Outage
from scrubjay.index.passages import ByDocument, Parts, joined, parts_of

_log = logging.getLogger(__name__)

_NO_EMBEDDER = "no_embedder: the index has no embedder and the search gave no vector"


class Embedded(NamedTuple):
    """Vectors of texts, None for texts without one; texts from `n_tried` on are pending."""

    vectors: list[Vectors | None]
    n_tried: int


class EmbeddedDocuments(NamedTuple):
    """Vectors of documents, None for documents without one; documents from `n_tried` on are pending."""

    vectors: list[DocumentVector | None]
    n_tried: int


class Semantics:
    """An embedder, the model of the stored vectors, and the cache of query vectors. Thread-safe if the embedder is.

    Args:
        embedder: the embedder.
        dim: of the index.
        cache_size: the capacity of the cache of query vectors.
        on_error: "pending" or "raise": what writes do if the embedder raises.
    """

    def __init__(
        self, embedder: Embedder | None, dim: int | None, cache_size: int, on_error: str = "pending"
    ) -> None:
        self.cache = QueryCache(cache_size)
        self.outage = Outage()
        self.on_error = on_error
        self._embedder: Embedder | None = None
        self._native: StaticEmbedder | None = None
        self._native_name: str | None = None
        self._queries_fail = False
        self._written_by: str | None = None  # the name of the embedder whose vectors are stored
        if embedder is not None:
            self.use(embedder, dim)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder in use."""
        return self._embedder

    @property
    def native(self) -> StaticEmbedder | None:
        """The embedder of queries inside the native search, if it has one and stored vectors are of its model.

        It is faster than the cache, which is then skipped.
        """
        if self._native is not None and self._written_by in (None, self._native_name):
            return self._native
        return None

    @property
    def model(self) -> str | None:
        """The name of the model whose vectors are stored, or would be by the next write."""
        return self._written_by or (None if self._embedder is None else self._embedder.name)

    def use(self, embedder: Embedder | None, dim: int | None) -> None:
        """Replace the embedder; it must be the model of the stored vectors, of `dim` numbers.

        Raises:
            TypeError: not an embedder.
            EmbedderMismatchError: another model, or another dimension.
        """
        if embedder is not None:
            checked_embedder(embedder)
            if self._written_by is not None and embedder.name != self._written_by:
                raise EmbedderMismatchError(
                    f"embedder: the index holds vectors of {self._written_by!r}, which are not "
                    f"comparable with those of {embedder.name!r}; use the former again, or upsert the texts into "
                    "a new Index made with the latter"
                )
            if dim is not None and embedder.dim != dim:
                raise EmbedderMismatchError(
                    f"embedder: the index has vectors of dimension {dim}, {embedder.name!r} makes {embedder.dim}; "
                    "give the index no dim, or upsert the texts into a new Index made with this embedder"
                )
        self._take(embedder)

    def embed_documents(
        self, documents: Sequence[tuple[str | bytes, bytes | None]], batch_size: int, progress: Progress
    ) -> EmbeddedDocuments:
        """Embed documents to be written, pairs of text and payload: a long text in passages, if the embedder supports
        them; None for a document without a vector (the zero vector). With the policy "pending", documents after the
        first failure are pending, and all are if vectors of a model are stored and no embedder is available.

        Raises:
            EmbedderError: the embedder failed, with the policy "raise"; or it returned something other than vectors.
        """
        return self._embed_documents(documents, batch_size, progress, self.on_error)

    def reembedded(
        self, documents: Sequence[tuple[str | bytes, bytes | None]], batch_size: int, progress: Progress
    ) -> list[DocumentVector | None]:
        """Embed documents with the policy "raise", whatever that of the index: none is pending.

        Raises:
            EmbedderError: the embedder failed; its own exception is the cause.
        """
        return self._embed_documents(documents, batch_size, progress, "raise").vectors

    def parts_of(self, text: str | bytes, payload: bytes | None) -> Parts:
        """Return the texts to embed for a document."""
        passage_chars = getattr(self._embedder, "passage_chars", None)
        return parts_of(text, payload, passage_chars, getattr(self._embedder, "whole_chars", passage_chars))

    def _embed_documents(
        self,
        documents: Sequence[tuple[str | bytes, bytes | None]],
        batch_size: int,
        progress: Progress,
        on_error: str,
    ) -> EmbeddedDocuments:
        if self._embedder is None:
            n_tried = len(documents) if self._written_by is None else 0
            return EmbeddedDocuments([None] * len(documents), n_tried)
        parts = [self.parts_of(*document) for document in documents]
        if all(part.spans is None for part in parts):  # one text each
            whole = self._embed([part.texts[0] for part in parts], batch_size, progress, on_error)
            return EmbeddedDocuments([*whole.vectors], whole.n_tried)
        counted = ByDocument(parts, progress)
        embedded = self._embed([text for part in parts for text in part.texts], batch_size, counted, on_error)
        vectors: list[DocumentVector | None] = []
        first = 0
        for part in parts:
            end = first + len(part.texts)
            if end > embedded.n_tried:
                break
            vectors.append(joined(part, embedded.vectors[first:end]))
            first = end
        n_tried = len(vectors)
        return EmbeddedDocuments(vectors + [None] * (len(documents) - n_tried), n_tried)

    def _embed(
        self, texts: Sequence[str | bytes], batch_size: int, progress: Progress, on_error: str
    ) -> Embedded:
        embedder, outage = self._embedder, self.outage
        vectors: list[Vectors | None] = []
        if embedder is None:
            return Embedded([None] * len(texts), len(texts) if self._written_by is None else 0)
        start = 0
        while start < len(texts):
            if outage.is_on and on_error == "pending" and outage.rests:
                break
            # An embedder that failed gets one batch; the others follow when it has answered.
            n_threads = 1 if outage.is_on else n_at_once(embedder)
            end = len(texts) if n_threads > 1 else start + batch_size
            batches = [
                [as_text(text) for text in texts[first : first + batch_size]]
                for first in range(start, min(end, len(texts)), batch_size)
            ]
            for answer in answers(embedder, batches, n_threads, progress.update):
                if answer.error is not None:
                    if on_error == "pending":
                        outage.failed(embedder.name, _brief(answer.error), answer.seconds)
                        return _embedded(vectors, len(texts))
                    raise EmbedderError(
                        f"embedder {embedder.name!r} failed on the batch of {len(answer.batch)} texts from position "
                        f"{len(vectors)}, nothing was written: {_brief(answer.error)}"
                    ) from answer.error
                matrix = checked_matrix(answer.output, len(answer.batch), embedder)
                outage.answered()
                if matrix.any(axis=1).all():  # nearly always
                    vectors.extend(matrix)
                else:
                    vectors.extend(row if row.any() else None for row in matrix)
            start = end
        return _embedded(vectors, len(texts))

    def restore(self, model: str | None) -> None:
        """Set the model of the vectors that a store holds. An embedder of another model answers no query from then
        on."""
        self._written_by = model

    def replace(self, embedder: Embedder) -> None:
        """Replace the embedder by the one whose vectors are stored now."""
        self._take(embedder)
        self._written_by = embedder.name

    def _take(self, embedder: Embedder | None) -> None:
        self.cache.clear()
        self.outage.forget()
        self._embedder = embedder
        native = getattr(embedder, "native", None)
        self._native = native if isinstance(native, StaticEmbedder) else None
        self._native_name = None if embedder is None else embedder.name

    def wrote(self) -> None:
        """Set the model of the stored vectors to that of the embedder."""
        if self._embedder is not None:
            self._written_by = self._embedder.name

    def forget(self) -> None:
        """Forget the model: no vector is stored any more."""
        self._written_by = None

    def _no_embedder(self) -> str:
        """Return the reason for degradation, with the embedder that the stored vectors need."""
        if self._written_by is None:
            return _NO_EMBEDDER
        return f"{_NO_EMBEDDER}; its vectors are of {self._written_by!r}: {_remedy(self._written_by)}"

    def known_query(self, text: str | bytes) -> tuple[Vectors | None, tuple[str, ...]] | None:
        """Return the same as :meth:`query`, or None if the embedder would have to be called."""
        embedder = self._embedder
        if embedder is None:
            return None, (self._no_embedder(),)
        if self._written_by is not None and self._written_by != embedder.name:
            return None, (_other_model(embedder, self._written_by),)
        vector = self.cache.get(as_text(text))
        return None if vector is None else (vector, ())

    def query(self, text: str | bytes) -> tuple[Vectors | None, tuple[str, ...]]:
        """Return (vector, ()) or (None, reasons); exceptions of the embedder become reasons."""
        embedder = self._embedder
        if embedder is None:
            return None, (self._no_embedder(),)
        if self._written_by is not None and self._written_by != embedder.name:
            return None, (_other_model(embedder, self._written_by),)
        key = as_text(text)
        vector = self.cache.get(key)
        if vector is None:
            try:
                vector = checked_vector(embedder.embed_query(key), embedder)
            except Exception as error:  # noqa: BLE001 - whatever was raised, keywords still answer
                return None, (self._query_failed(embedder, error),)
            self._queries_fail = False
            self.outage.answered()
            if not vector.any():
                return None, (ZERO_VECTOR,)
            self.cache.put(key, vector)
        return vector, ()

    def _query_failed(self, embedder: Embedder, error: Exception) -> str:
        """Return the reason; it is logged as a warning once per outage, then at debug level."""
        reason = _failed(embedder, error)
        _log.log(
            logging.DEBUG if self._queries_fail else logging.WARNING, "%s; searching by keywords only", reason
        )
        self._queries_fail = True
        return reason

    def queries(self, texts: Sequence[str | bytes | None]) -> list[tuple[Vectors | None, tuple[str, ...]]]:
        """Embed several query texts, the uncached ones in one call; for None, return neither vector nor reason."""
        embedder = self._embedder
        keys = [None if text is None else as_text(text) for text in texts]
        if embedder is None:
            return [(None, () if key is None else (self._no_embedder(),)) for key in keys]
        if self._written_by is not None and self._written_by != embedder.name:
            reasons = (_other_model(embedder, self._written_by),)
            return [(None, () if key is None else reasons) for key in keys]
        known: dict[str, Vectors | None] = {}
        for key in keys:
            if key is not None and key not in known:
                known[key] = self.cache.get(key)
        missing = [key for key, vector in known.items() if vector is None]
        failure: str | None = None
        if missing:
            try:
                matrix: NDArray[Any] | None = embed_queries(embedder, missing)
            except Exception as error:  # noqa: BLE001 - whatever was raised, keywords still answer
                matrix, failure = None, self._query_failed(embedder, error)
            if matrix is not None:
                self._queries_fail = False
                self.outage.answered()
                for key, row in zip(missing, matrix, strict=True):
                    if row.any():
                        known[key] = vector = row.copy()
                        self.cache.put(key, vector)
        pairs: list[tuple[Vectors | None, tuple[str, ...]]] = []
        for key in keys:
            vector = None if key is None else known[key]
            reason = () if key is None or vector is not None else (failure or ZERO_VECTOR,)
            pairs.append((vector, reason))
        return pairs


def checked_embedder(embedder: Any) -> None:
    """Raise TypeError for any object that is not an embedder."""
    if not isinstance(embedder, Embedder):
        raise TypeError(
            "embedder: expected an object with name, dim, embed_documents and embed_query, got "
            f"{type(embedder).__name__}"
        )


def checked_policy(on_embedder_error: str) -> str:
    """Return "pending" or "raise", or raise ValueError."""
    if not isinstance(on_embedder_error, str) or on_embedder_error not in ("pending", "raise"):
        raise ValueError(f"on_embedder_error: expected 'pending' or 'raise', got {on_embedder_error!r}")
    return on_embedder_error


def _remedy(model: str) -> str:
    """Return how to obtain the embedder of a model."""
    if model.startswith(("wordllama/", "ollama/")):
        return 'Index.open(path, "auto") loads it' + (
            ' (pip install "scrubjay[wordllama]")' if model.startswith("wordllama/") else ""
        )
    return "give that embedder to Index.open"


def _other_model(embedder: Embedder, model: str) -> str:
    return f"embedder_mismatch: the vectors are of {model!r} since another process changed them, not {embedder.name!r}"


def _failed(embedder: Embedder, error: Exception) -> str:
    return f"embedder_failed: {embedder.name}: {_brief(error)}"


def _embedded(vectors: list[Vectors | None], n_texts: int) -> Embedded:
    """Return the vectors of the first of `n_texts` texts; the others are pending."""
    n_tried = len(vectors)
    return Embedded(vectors + [None] * (n_texts - n_tried), n_tried)


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
