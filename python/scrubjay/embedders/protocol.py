"""The protocol of an embedder, and checks of its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.errors import EmbedderError

Vectors = NDArray[np.float32]

ZERO_VECTOR = "zero_vector: the embedder returned no vector for the query's text"


@runtime_checkable
class Embedder(Protocol):
    """Converts texts to float32 vectors. Any object with these members is an embedder; no base class is needed.

    Optional members: `embed_queries(texts) -> (n, dim)` serves `Index.search_batch` in one call; without it
    `embed_query` is called once per text. `native`, a :class:`scrubjay.StaticEmbedder` that computes the same vectors,
    lets a search embed its text inside the native call. `passage_chars` requests passages of at most that many
    characters for texts longer than `whole_chars` (by default the same). `parallel_batches` is the number of concurrent
    calls of `embed_documents`, each on its own thread, among which the batches of one write may be divided; without it
    they follow one another. Methods may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """The identity of the model: only vectors of equal name and dimension are comparable."""
        ...

    @property
    def dim(self) -> int:
        """The length of each vector."""
        ...

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dim), in the order of the texts."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 of shape (dim,)."""
        ...


def checked_matrix(output: Any, n_texts: int, embedder: Embedder) -> Vectors:
    """Return `output` as finite float32 of shape (n_texts, dim), C-contiguous.

    Raises:
        EmbedderError: any other output; the message names the embedder, what was expected and what was returned.
    """
    return _checked(output, (n_texts, embedder.dim), embedder.name)


def checked_vector(output: Any, embedder: Embedder) -> Vectors:
    """Return `output` as one finite float32 vector of shape (dim,).

    Raises:
        EmbedderError: any other output.
    """
    return _checked(output, (embedder.dim,), embedder.name)


def checked_chars(passage_chars: Any, whole_chars: Any) -> tuple[int | None, int]:
    """Return an embedder's limits of text lengths, or raise TypeError or ValueError."""
    for name, value in (("passage_chars", passage_chars), ("whole_chars", whole_chars)):
        if name == "passage_chars" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
        if value < 50:
            raise ValueError(f"{name}: expected 50 or more, got {value}")
    return passage_chars, whole_chars


def read_well(
    embeddings: Any, passage_chars: int | None = None, whole_chars: int | None = None
) -> tuple[int | None, int | None]:
    """Return `passage_chars` and `whole_chars` of an embedder that wraps another: as given, otherwise the wrapped
    one's.

    Raises:
        TypeError, ValueError: one of them is not an int >= 50, or `whole_chars` is given alone.

    >>> read_well(object()), read_well(object(), 700), read_well(object(), 700, 2_000)
    ((None, None), (700, 700), (700, 2000))
    """
    if passage_chars is None:
        passage_chars = getattr(embeddings, "passage_chars", None)
    if whole_chars is None:
        whole_chars = getattr(embeddings, "whole_chars", passage_chars)
    if passage_chars is None:
        if whole_chars is not None:
            raise TypeError("whole_chars: expected passage_chars, too, got None")
        return None, None
    return checked_chars(passage_chars, whole_chars)


def embed_queries(embedder: Embedder, texts: list[str]) -> Vectors:
    """Embed several queries, in one call if the embedder supports it. Shape (n, dim)."""
    batch = getattr(embedder, "embed_queries", None)
    if batch is not None:
        return checked_matrix(batch(texts), len(texts), embedder)
    vectors = np.empty((len(texts), embedder.dim), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row] = checked_vector(embedder.embed_query(text), embedder)
    return vectors


def _checked(output: Any, shape: tuple[int, ...], name: str) -> Vectors:
    try:
        array = np.asarray(output)
    except Exception as error:
        raise EmbedderError(f"embedder {name!r}: expected an array of shape {shape}, got {error}") from error
    if isinstance(output, np.ma.MaskedArray) and np.any(output.mask):
        raise EmbedderError(f"embedder {name!r}: expected numbers, got an array with masked ones")
    if array.dtype.kind not in "fiu":
        raise EmbedderError(f"embedder {name!r}: expected float32 vectors, got dtype {array.dtype}")
    if array.shape != shape:
        raise EmbedderError(f"embedder {name!r}: expected vectors of shape {shape}, got {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(array).all():
        row = "" if array.ndim == 1 else f" in row {int(np.argmin(np.isfinite(array).all(axis=1)))}"
        raise EmbedderError(f"embedder {name!r}: expected finite numbers, got NaN or infinity{row}")
    return array


def as_vectors(output: Any) -> Any:
    """Return a model's output as float32, or unchanged if it cannot be converted.

    For embedders that wrap other code: an exception means that the model did not answer, and leaves texts pending;
    output that is not a vector must be returned, so that the index refuses it.
    """
    try:
        return np.asarray(output, dtype=np.float32)
    except (TypeError, ValueError):
        return output


def as_list(texts: Sequence[str]) -> list[str]:
    """Return `texts` as a list; a single str is refused, because its characters would be embedded."""
    if isinstance(texts, str):
        raise TypeError("texts: expected a sequence of str, got one str")
    return list(texts)


def model_identity(name: str, document_prefix: str) -> str:
    """Return a model's name for the index: a document prefix changes the stored vectors, a query prefix does not."""
    return f"{name}:{document_prefix.strip()}" if document_prefix.strip() else name
