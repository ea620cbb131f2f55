"""A framework's embeddings as an embedder of an index, even if they are computed on an event loop.

An index calls its embedder synchronously, which would block a loop. So the vectors are awaited first
(:meth:`FrameworkEmbedder.prepare`), and the index finds them prepared (:func:`prepared`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from scrubjay.documents.records import as_text
from scrubjay.embedders.protocol import as_vectors, read_well
from scrubjay.index.passages import parts_of

Prepared: TypeAlias = "dict[tuple[Literal['document', 'query'], str], Any]"
"""Vectors by their purpose and text; an exception in place of a vector that could not be computed."""

_ready: ContextVar[Mapping[Any, Any] | None] = ContextVar("scrubjay_prepared_vectors", default=None)


class FrameworkEmbedder:
    """An embedder over an object with `embed_documents(texts)` and `embed_query(text)`, such as LangChain's embeddings.

    Args:
        embeddings: that object; :meth:`prepare` needs `aembed_documents` and `aembed_query` as well.
        name: of the model, for the index; see :func:`model_of`.
        dim: the length of the vectors; None: found by embedding a word, when it is first needed.
        passage_chars, whole_chars: embed texts of more than `whole_chars` characters in passages of at most
            `passage_chars`, as :class:`scrubjay.embedders.WordLlama` does; None: by the attributes of `embeddings` with
            these names, otherwise embed whole texts.

    >>> class Lengths:
    ...     def embed_documents(self, texts):
    ...         return [[float(len(text)), 1.0] for text in texts]
    ...     def embed_query(self, text):
    ...         return [float(len(text)), 1.0]
    >>> embedder = FrameworkEmbedder(Lengths(), "lengths")
    >>> with prepared({("query", "train"): [0.0, 1.0]}):
    ...     embedder.embed_query("train"), embedder.embed_query("tram"), embedder.dim
    (array([0., 1.], dtype=float32), array([4., 1.], dtype=float32), 2)
    """

    def __init__(
        self,
        embeddings: Any,
        name: str,
        dim: int | None = None,
        passage_chars: int | None = None,
        whole_chars: int | None = None,
    ) -> None:
        self.embeddings = embeddings
        self.name = name
        self.passage_chars, self.whole_chars = read_well(embeddings, passage_chars, whole_chars)
        self._dim = None if dim is None else int(dim)

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        if self._dim is None:
            self._dim = len(self.embeddings.embed_documents(["dimension"])[0])
        return self._dim

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Return a float32 vector for each of `texts`."""
        ready = _ready.get() or {}
        missing = [text for text in texts if ("document", text) not in ready]
        new_vectors = self.embeddings.embed_documents(missing) if missing else []
        if len(missing) == len(texts):
            return as_vectors(new_vectors)
        new = iter(new_vectors)
        vectors = [ready["document", text] if ("document", text) in ready else next(new) for text in texts]
        return as_vectors([_vector(vector) for vector in vectors])

    def embed_query(self, text: str) -> Any:
        """Return the float32 vector of the question `text`."""
        ready = _ready.get() or {}
        return as_vectors(
            _vector(ready["query", text]) if ("query", text) in ready else self.embeddings.embed_query(text)
        )

    def asked_for(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that an index will embed when it writes `texts`: distinct, long ones in passages."""
        parts = (parts_of(text, None, self.passage_chars, self.whole_chars).texts for text in texts)
        return list(dict.fromkeys(chain.from_iterable(parts)))

    async def prepare(self, documents: Iterable[str] = (), queries: Iterable[str] = ()) -> Prepared:
        """Embed what an index will need, awaiting the embeddings' own methods concurrently; for :func:`prepared`.

        Args:
            documents: texts to be written.
            queries: questions to be searched.

        A failure is stored as its exception, and raised when the index asks for the vector.
        """
        texts, questions = self.asked_for(documents), list(dict.fromkeys(queries))
        calls: list[Any] = [self.embeddings.aembed_query(text) for text in questions]
        if texts:
            calls.append(self.embeddings.aembed_documents(texts))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        ready: Prepared = {("query", text): answer for text, answer in zip(questions, answers, strict=False)}
        rows: Any = answers[-1] if texts else []
        if not isinstance(rows, BaseException) and len(rows) != len(texts):
            rows = ValueError(f"embeddings: expected {len(texts)} vectors, got {len(rows)}")
        vectors = [rows] * len(texts) if isinstance(rows, BaseException) else rows
        return ready | {("document", text): vector for text, vector in zip(texts, vectors, strict=True)}


@contextmanager
def prepared(vectors: Mapping[tuple[Literal["document", "query"], str], Any]) -> Iterator[None]:
    """Provide vectors, or exceptions, to the embedder of an index, in this context and in threads that copy it.

    Args:
        vectors: by ("document" or "query", text), as :meth:`FrameworkEmbedder.prepare` returns them.

    The index still records their model, and degrades a search whose question could not be embedded.
    """
    token = _ready.set({(kind, as_text(text)): vector for (kind, text), vector in vectors.items()})
    try:
        yield
    finally:
        _ready.reset(token)


def model_of(
    embeddings: Any, attributes: Sequence[str] = ("model", "model_name", "model_id", "deployment")
) -> str | None:
    """Return the name of the model from an attribute of another library's object, or None.

    Args:
        embeddings: the object.
        attributes: the attributes to try; the first one with a name counts.

    >>> from types import SimpleNamespace
    >>> model_of(SimpleNamespace(model_name="small")), model_of(SimpleNamespace())
    ('small', None)
    """
    for attribute in attributes:
        name = getattr(embeddings, attribute, None)
        if isinstance(name, str) and name:
            return name
    return None


def _vector(vector: Any) -> Any:
    if isinstance(vector, BaseException):
        raise vector
    return np.asarray(vector)
