"""Embedders of other libraries: Model2Vec, sentence-transformers, fastembed.

Each class takes a model name, a local folder, or a loaded model object. The library is imported when the class is first
used, and may download a model by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.base.extras import imported
from scrubjay.embedders.protocol import Vectors, as_list, checked_chars, model_identity


class Model2Vec:
    """Static embeddings by `model2vec` (extra "model2vec"): microseconds a query, small models.

    Args:
        model: a name of the hub, a folder, or a `StaticModel`.
        name: the model's name for the index; by default its own name. Required for an object.
        passage_chars, whole_chars: as for :class:`WordLlama`: a vector is the mean over all tokens of a text.

    Raises:
        MissingExtraError: `model2vec` is not installed.
        TypeError, ValueError: `passage_chars` or `whole_chars` is not an int >= 50.
    """

    def __init__(
        self,
        model: Any = "minishlab/potion-base-8M",
        *,
        name: str | None = None,
        passage_chars: int | None = 700,
        whole_chars: int = 16_000,
    ) -> None:
        self.passage_chars, self.whole_chars = checked_chars(passage_chars, whole_chars)
        if isinstance(model, (str, Path)):
            library = imported("model2vec", "Model2Vec", "model2vec")
            name = name or f"model2vec/{_last_part(model)}"
            model = library.StaticModel.from_pretrained(str(model))
        self.name = _checked_name(name, "a Model2Vec object")
        self._model: Any = model
        self.dim = int(model.dim)

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return np.asarray(self._model.encode(as_list(texts)), dtype=np.float32).reshape(-1, self.dim)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    embed_queries = embed_documents


class SentenceTransformers:
    """Any `sentence-transformers` model (extra "sentence-transformers").

    `query_prefix` and `document_prefix` are prepended to the texts (for e5 "query: " and "passage: "); a model with its
    own prompts uses those if no prefix is given.

    Args:
        model: a name of the hub, a folder, or a `SentenceTransformer`.
        device: the device, such as "cpu"; None: the library decides.
        batch_size: texts per run.
        name: the model's name for the index; by default its own name. Required for an object.

    Raises:
        MissingExtraError: `sentence-transformers` is not installed.
    """

    def __init__(
        self,
        model: Any = "sentence-transformers/all-MiniLM-L6-v2",
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        device: str | None = None,
        batch_size: int = 32,
        name: str | None = None,
    ) -> None:
        if isinstance(model, (str, Path)):
            library = imported(
                "sentence_transformers",
                "SentenceTransformers",
                "sentence-transformers",
                "sentence-transformers",
            )
            name = name or model_identity(f"sentence-transformers/{_last_part(model)}", document_prefix)
            model = library.SentenceTransformer(str(model), device=device)
        self.name = _checked_name(name, "a SentenceTransformer object")
        self._model: Any = model
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._batch_size = batch_size
        self.dim = int(model.get_sentence_embedding_dimension())

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._encode(as_list(texts), self._document_prefix, "passage", "document")

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._encode(as_list(texts), self._query_prefix, "query")

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def _encode(self, texts: list[str], prefix: str, *prompt_names: str) -> Vectors:
        prompts = getattr(self._model, "prompts", None) or {}
        options: dict[str, Any] = {"batch_size": self._batch_size, "show_progress_bar": False}
        if prefix:
            texts = [prefix + text for text in texts]
        else:
            known = [prompt for prompt in prompt_names if prompts.get(prompt)]
            if known:
                options["prompt_name"] = known[0]
        vectors = self._model.encode(texts, convert_to_numpy=True, **options)
        return np.asarray(vectors, dtype=np.float32).reshape(-1, self.dim)


class FastEmbed:
    """Any text model of `fastembed` (extra "fastembed"): ONNX models by name, CPU.

    Args:
        model: a name that fastembed knows, or a `TextEmbedding`.
        batch_size: texts per run.
        name: the model's name for the index; by default its own name. Required for an object.
        options: further arguments of `TextEmbedding`, such as `cache_dir`.

    Raises:
        MissingExtraError: `fastembed` is not installed.
    """

    def __init__(
        self,
        model: Any = "BAAI/bge-small-en-v1.5",
        *,
        batch_size: int = 64,
        name: str | None = None,
        **options: Any,
    ) -> None:
        if isinstance(model, str):
            library = imported("fastembed", "FastEmbed", "fastembed")
            name = name or f"fastembed/{_last_part(model)}"
            model = library.TextEmbedding(model_name=model, **options)
        self.name = _checked_name(name, "a TextEmbedding object")
        self._model: Any = model
        self._batch_size = batch_size
        self.dim = len(next(iter(model.embed(["dimension"]))))

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._stack(self._model.embed(as_list(texts), batch_size=self._batch_size))

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._stack(self._model.query_embed(as_list(texts)))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def _stack(self, vectors: Any) -> Vectors:
        return np.asarray(list(vectors), dtype=np.float32).reshape(-1, self.dim)


def _last_part(model: str | Path) -> str:
    """Return the model's own name: its identity must not depend on the location of a folder."""
    return str(model).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _checked_name(name: str | None, what: str) -> str:
    if not name:
        raise ValueError(f"name: expected the model's name along with {what}, because the index remembers it")
    return name
