"""Vectors that carry the text that they were made of.

CrewAI embeds a query and hands the storage the vector alone. Its first number is a float that has the text as an
attribute; that passes through CrewAI's flows, which copy lists but not their elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scrubjay.embedders import default
from scrubjay.embedders.protocol import Embedder


class _Number(float):
    """A number that knows the text of whose vector it is the first."""

    text: str


class _Vector(list[float]):
    """A vector of floats. CrewAI takes `tolist()` where there is one, and converts each element otherwise."""

    def tolist(self) -> list[float]:
        """Return the numbers as they are."""
        return list(self)


class ScrubjayEmbedder:
    """An embedder for `crewai.Memory(embedder=...)` through which a :class:`ScrubjayStorage` learns the text.

    Args:
        embed: what makes the vectors: an embedder of Scrubjay's; a function from a list of texts to their vectors, as
            CrewAI takes; a mapping that names a provider of CrewAI's and its configuration; None:
            ``scrubjay.embedders.default()``, which needs no network.

    Raises:
        TypeError: `embed` is something else.

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
            ValueError: the embedder returned another number of vectors.
        """
        given = list(texts)
        made = [np.asarray(vector, dtype=np.float64).tolist() for vector in self._embed(given)]
        if len(made) != len(given):
            raise ValueError(f"embed: expected {len(given)} vectors, got {len(made)}")
        return [_carrying(text, vector) for text, vector in zip(given, made, strict=True)]

    def __deepcopy__(self, memo: dict[int, Any]) -> ScrubjayEmbedder:
        return self  # CrewAI copies its memories, which share their model


def text_of(vector: Sequence[float]) -> str | None:
    """Return the text that a vector carries; None: it carries none."""
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

        made: Callable[[list[str]], Any] = build_embedder(dict(embed))
        return made
    if callable(embed):
        return embed
    raise TypeError(f"embed: expected an embedder, a function or a mapping, got {type(embed).__name__}")
