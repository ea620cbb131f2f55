"""Static token vectors from one file: word pieces are looked up and summed in native code; needs only NumPy."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from scrubjay._native import StaticEmbedder
from scrubjay.base.errors import CorruptIndexError, EmbedderError
from scrubjay.embedders.batches import usable_cores
from scrubjay.embedders.protocol import Vectors, as_list, checked_chars

_PACKAGED = Path(__file__).with_name("en-1.static")
PACKAGED_NAME = "static/en-1-64e0f994"
"""The name of the table in this package."""


def _read(path: str | os.PathLike[str]) -> StaticEmbedder:
    try:
        return StaticEmbedder.read(Path(path).read_bytes())
    except CorruptIndexError as error:
        raise EmbedderError(f"{os.fspath(path)}: {error.what}") from None


@cache  # 11 MB, immutable
def _packaged() -> StaticEmbedder:
    return _read(_PACKAGED)


class Static:
    """A static embedder from a file: unit vectors, microseconds per query, no network, no further package.

    A text's vector is the sum of the rows of its word pieces. A text without word pieces (an empty one) gets the zero
    vector. Thread-safe; releases the GIL. benchmarks/embedder/ creates such files.

    Args:
        path: the file. None: the one in this package, for English, with 384 dimensions; docs/embedders.md compares it
            with WordLlama.
        passage_chars, whole_chars: as for :class:`WordLlama`: a vector is the mean over all tokens of a text.

    Raises:
        TypeError, ValueError: `passage_chars` or `whole_chars` is not an int >= 50.
        OSError: the file cannot be read.
        EmbedderError: the file has another format, or is damaged; the message says where.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        passage_chars: int | None = 700,
        whole_chars: int = 16_000,
    ) -> None:
        self.passage_chars, self.whole_chars = checked_chars(passage_chars, whole_chars)
        self.native = _packaged() if path is None else _read(path)
        self.name = f"static/{self.native.name}"
        self.dim = self.native.dim

    @property
    def parallel_batches(self) -> int:
        """The number of cores that this process may use."""
        return usable_cores()

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 of shape (n, dim)."""
        return self.native.embed(as_list(texts))

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 of shape (n, dim): a query is embedded like a document."""
        return self.native.embed(as_list(texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of `text`, float32 of shape (dim,)."""
        return self.native.embed_query(text)

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.Static {self.name!r}, dim {self.dim}>"
