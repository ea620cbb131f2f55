"""Vectors that carry the text they were made from.

CrewAI embeds a query and passes the storage only the vector. The first number of our vectors is a float with the text
as an attribute; it survives CrewAI's flows, which copy lists but not their elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scrubjay.embedders import default
from scrubjay.embedders.protocol import Embedder


class _Number(float):
    """The first number of a vector, with the text of the vector."""

    text: str


class _Vector(list[float]):
    """A list of floats with `tolist()`, which CrewAI prefers to converting each element."""

    def tolist(self) -> list[float]:
        """Return the numbers unchanged."""
        return list(self)


class ScrubjayEmbedder:
    """An embedder for `crewai.Memory(embedder=...)` that passes the text on to a :class:`ScrubjayStorage`.

    Args:
        embed: the model: a Scrubjay embedder; a function from a list of texts to their vectors, as CrewAI takes; a
            mapping with a provider of CrewAI's and its configuration; None: ``scrubjay.embedders.default()``, which
            needs no network.

    Raises:
        TypeError: `embed` has another type.

    >>> vectors = ScrubjayEmbedder(lambda texts: [[float(len(text)), 1.0] for text in texts])(["abc"])
    >>> vectors, text_of(vectors[0]), text_of([3.0, 1.0])
    ([[3.0, 1.0]], 'abc', None)
    """

    def __init__(
        self, embed: Embedder | Callable[[list[str]], Any] | Mapping[str, Any] | None = None
    ) -> None:
        self._embed = _function_of(default() if embed is None else embed)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text.

        Raises:
            ValueError: the embedder returned a wrong number of vectors.
        """
        inputs = list(texts)
        vectors = [np.asarray(vector, dtype=np.float64).tolist() for vector in self._embed(inputs)]
        if len(vectors) != len(inputs):
            raise ValueError(f"embed: expected {len(inputs)} vectors, got {len(vectors)}")
        return [_carrying(text, vector) for text, vector in zip(inputs, vectors, strict=True)]

    def __deepcopy__(self, memo: dict[int, Any]) -> ScrubjayEmbedder:
        return self  # CrewAI copies its memories, which share their model


def text_of(vector: Sequence[float]) -> str | None:
    """Return the text that a vector carries, or None."""
    return getattr(vector[0], "text", None) if len(vector) else None


def _carrying(text: str, numbers: list[float]) -> list[float]:
    vector = _Vector(numbers)
    if vector:
        first = _Number(vector[0])
        first.text = text
        vector[0] = first
    return vector


def _function_of(embed: Any) -> Callable[[list[str]], Any]:
    if isinstance(embed, Embedder):
        return embed.embed_documents
    if isinstance(embed, Mapping):
        from crewai.rag.embeddings.factory import build_embedder

        function: Callable[[list[str]], Any] = build_embedder(dict(embed))
        return function
    if callable(embed):
        return embed
    raise TypeError(f"embed: expected an embedder, a function or a mapping, got {type(embed).__name__}")
