"""A client of the `openai` library, or of one with the same methods, as an embedder."""

from __future__ import annotations

from typing import Any

import numpy as np

from scrubjay.embedders.protocol import Vectors, as_list, as_vectors


class OpenAIClient:
    """Embeds through `client.embeddings.create(model=, input=)`: `openai.OpenAI`, `AzureOpenAI` and the like.

    The client handles retries, time-outs and keys. :class:`OpenAICompatible` needs no library.

    Args:
        client: a synchronous client.
        model: its name at the endpoint.
        dimensions: request shorter vectors, from models that support it.
        batch_size: texts per request.
        name: the model's name for the index; by default "openai/" and the model, as in :class:`OpenAICompatible`.

    Raises:
        TypeError: `client` has no `embeddings.create`, or is asynchronous.

    The endpoint is asked for the dimension once, when it is first needed.
    """

    def __init__(
        self,
        client: Any,
        model: str,
        *,
        dimensions: int | None = None,
        batch_size: int = 64,
        name: str | None = None,
    ) -> None:
        create = getattr(getattr(client, "embeddings", None), "create", None)
        if not callable(create):
            raise TypeError(f"client: expected one with embeddings.create, got {type(client).__name__}")
        if type(client).__name__.startswith("Async"):
            raise TypeError(f"client: expected one that is not asynchronous, got {type(client).__name__}")
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        self.name = name or f"openai/{model}" + (f"-{dimensions}" if dimensions else "")
        self._create = create
        self._options: dict[str, Any] = {"model": model}
        if dimensions is not None:
            self._options["dimensions"] = dimensions
        self._dim = dimensions
        self._batch_size = batch_size

    @property
    def dim(self) -> int:
        """The length of the vectors; asks the endpoint if unknown."""
        if self._dim is None:
            self._dim = int(np.shape(self._embed(["dimension"]))[1])
        return self._dim

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return float32 (n, dim), in requests of `batch_size` texts."""
        texts = as_list(texts)
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        vectors: Vectors = as_vectors(self._embed(texts))
        return vectors

    embed_queries = embed_documents

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.OpenAIClient {self.name!r}>"

    def _embed(self, texts: list[str]) -> list[Any]:
        vectors = []
        for start in range(0, len(texts), self._batch_size):
            answer = self._create(input=texts[start : start + self._batch_size], **self._options)
            vectors += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        return vectors
