"""Conversions to an embedder: from an embedder, a name, a function, or an object of another library."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from scrubjay.base.errors import MissingExtraError
from scrubjay.embedders.function import Function
from scrubjay.embedders.libraries import FastEmbed, Model2Vec, SentenceTransformers
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.spec import from_spec
from scrubjay.embedders.static import PACKAGED_NAME, Static

AUTO: Literal["auto"] = "auto"
"""The model whose vectors a file holds; in a new file the default one."""

_DATABASES, _FILES = ("postgres://", "postgresql://"), (".scrubjay", ".db", ".sqlite", ".sqlite3")

_log = logging.getLogger("scrubjay.embedders")


@runtime_checkable
class EmbeddingFunctions(Protocol):
    """The two methods of LangChain's `Embeddings`, which many libraries have adopted."""

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """Return a vector."""
        ...


EmbedderLike: TypeAlias = Embedder | EmbeddingFunctions | Callable[[list[str]], Any] | str
"""An embedder, or anything that :func:`as_embedder` converts to one."""

Given: TypeAlias = Embedder | Literal["auto"] | None
"""The embedder with which an index is opened."""


def given_embedder(given: EmbedderLike | None) -> Given:
    """Return an embedder, None or "auto" (see :func:`as_embedder`)."""
    return AUTO if isinstance(given, str) and given == AUTO else as_embedder(given)


def as_embedder(given: EmbedderLike | None) -> Embedder | None:
    """Return `given` as an embedder.

    ==============================================  ==========================================================
    given                                           result
    ==============================================  ==========================================================
    None                                            None: the caller's vectors, or keywords only
    an :class:`Embedder`                            itself
    "default", "ollama:nomic-embed-text", ...       the result of :func:`from_spec`
    a function of a list of texts                   :class:`Function`, named after it
    LangChain's `Embeddings`, or an object like it  :class:`Function`, named after its class and model
    a `SentenceTransformer`                         :class:`SentenceTransformers`
    a Model2Vec `StaticModel`                       :class:`Model2Vec`
    fastembed's `TextEmbedding`                     :class:`FastEmbed`
    ==============================================  ==========================================================

    Functions and objects of LangChain are called once with one text, to determine the dimension.

    Raises:
        TypeError: any other type; for a client of OpenAI's library the message has the line that creates an embedder.
        ValueError: the name is unknown, or the object has no name by which to identify the model.

    >>> def letters(texts):
    ...     return [[text.count("a") + 1.0, text.count("b") + 1.0] for text in texts]
    >>> as_embedder(letters)
    <scrubjay.embedders.Function '...letters', dim 2>
    """
    if given is None:
        return None
    if isinstance(given, str | os.PathLike) and _is_place(given):
        raise TypeError(
            f"embedder: expected an embedder or its name, got {str(given)!r}, which looks like a file or a database: "
            f"those are opened by Index.open() and Memory.open()"
        )
    if isinstance(given, str):
        return from_spec(given)
    if isinstance(given, type):
        raise TypeError(f"embedder: expected an object, got the class {given.__name__}: call it first")
    if isinstance(given, Embedder):
        return given
    if hasattr(given, "encode") and hasattr(given, "get_sentence_embedding_dimension"):
        return SentenceTransformers(given, name=f"sentence-transformers/{_model_name(given)}")
    if hasattr(given, "encode") and hasattr(given, "dim"):
        return Model2Vec(given, name=f"model2vec/{_model_name(given)}")
    if hasattr(given, "query_embed") and hasattr(given, "embed"):
        return FastEmbed(given, name=f"fastembed/{_model_name(given)}")
    if isinstance(given, EmbeddingFunctions):
        return _from_functions(given)
    if hasattr(getattr(given, "embeddings", None), "create"):
        raise TypeError(
            "embedder: expected the model of a client as well: "
            'embedder=scrubjay.embedders.OpenAIClient(client, "text-embedding-3-small")'
        )
    if callable(given):
        return _from_callable(given)
    raise TypeError(
        "embedder: expected an object with name, dim, embed_documents and embed_query, a name such as 'default', a "
        f"function, or a model of a library that scrubjay knows, got {type(given).__name__}{_hint_of(given)}"
    )


def _hint_of(given: object) -> str:
    """Return a hint for Index(256)."""
    return f"; for vectors of your own give dim={given}" if isinstance(given, int) else ""


def embedder_of_model(model: str | None, dim: int | None, *, is_new: bool = True) -> Embedder | None:
    """Return the embedder of the stored vectors, which have `dim` elements.

    For a model name it is the embedder of this name, if it can be created locally without further arguments; otherwise
    None, with a warning that says what to do. For vectors without a model, which the caller supplied, it is None. If no
    vector is stored, it is the default embedder. If the default's package is missing, it is None (keywords find what is
    stored), or, if nothing is stored at all (`is_new`), the embedder in this package, with a warning, since the file
    will depend on it. If only `dim` is known, since nothing was embedded yet, it is the one of the two with this
    dimension.
    """
    from scrubjay.embedders.wordllama import WordLlama, default

    if model is None:
        if dim is not None:
            return _first_of_dim(dim, (default, Static)) if is_new else None
        try:
            return default()
        except MissingExtraError:
            if not is_new:
                return None
            _log.warning(
                'the default embedder is not installed (pip install "scrubjay[wordllama]"): '
                "%s is used, which is in the package",
                PACKAGED_NAME,
            )
            return Static()
    kind, _, name = model.partition("/")
    try:
        if model == WordLlama.name:
            return default()
        if model == PACKAGED_NAME:
            return Static()
        if (
            kind == "ollama" and "@" not in name and ":" not in name.partition(":")[2]
        ):  # a file names no address
            return from_spec(f"ollama:{name}")
    except MissingExtraError as missing:
        _log.warning("the vectors are of %r: %s; searches use keywords only", model, missing)
        return None
    _log.warning("the vectors are of %r; give that embedder: searches use keywords only", model)
    return None


def _first_of_dim(dim: int, makers: Iterable[Callable[[], Embedder]]) -> Embedder | None:
    for make in makers:
        with suppress(MissingExtraError):
            if (candidate := make()).dim == dim:
                return candidate
    return None


def _is_place(given: str | os.PathLike[str]) -> bool:
    """Whether the argument looks like the location of an index; no embedder has such a name."""
    return not isinstance(given, str) or given.startswith(_DATABASES) or given.endswith(_FILES)


def _from_functions(given: EmbeddingFunctions) -> Embedder:
    dim = len(given.embed_query("dimension"))

    def queries(texts: list[str]) -> Any:
        return [given.embed_query(text) for text in texts]

    name = f"{type(given).__module__.partition('.')[0]}/{_model_name(given, optional=True) or type(given).__qualname__}"
    return Function(given.embed_documents, dim=dim, name=name, query=queries)


def _from_callable(given: Callable[[list[str]], Any]) -> Embedder:
    name = getattr(given, "__qualname__", None)
    if name is None or "<lambda>" in name:
        raise ValueError(
            "embedder: expected a function with a name, because the index remembers it: "
            "scrubjay.embedders.Function(function, dim=..., name=...)"
        )
    shape = np.shape(given(["dimension"]))
    if len(shape) != 2 or shape[0] != 1:
        raise ValueError(
            f"embedder: expected {name} to return (n, dim) numbers for n texts, got shape {shape} for 1"
        )
    return Function(given, dim=int(shape[1]), name=f"{given.__module__}.{name}")


def _model_name(model: Any, *, optional: bool = False) -> str:
    """Return the library's own name of a model object; it must not depend on the location of a folder."""
    card = getattr(model, "model_card_data", None)
    for owner in (model, card):
        for attribute in ("model_name", "base_model_name", "base_model", "model_id", "model", "deployment"):
            name = getattr(owner, attribute, None)
            if isinstance(name, str) and name:
                return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    if optional:
        return ""
    raise ValueError(
        f"embedder: expected a {type(model).__name__} that knows its name, because the index remembers it; "
        "wrap it in its class of scrubjay.embedders with name=..."
    )
