"""Embedders named by a string, on a command line or in a configuration."""

from __future__ import annotations

from scrubjay.embedders.libraries import FastEmbed, Model2Vec, SentenceTransformers
from scrubjay.embedders.onnx import OnnxFolder
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.static import Static
from scrubjay.embedders.wordllama import default
from scrubjay.endpoints import key_named

__all__ = ["from_spec"]


def from_spec(spec: str) -> Embedder | None:
    """Make the embedder that `spec` names; "none" gives None.

    ======================================  ======================================
    spec                                    embedder
    ======================================  ======================================
    ``default``                             :func:`default`
    ``none``                                no embedder: keyword search only
    ``static`` or ``static:FILE``           :class:`Static`
    ``onnx:FOLDER``                         :class:`OnnxFolder`
    ``model2vec:NAME``                      :class:`Model2Vec`
    ``sentence-transformers:NAME``          :class:`SentenceTransformers`
    ``fastembed:NAME``                      :class:`FastEmbed`
    ``openai:MODEL`` or ``openai:MODEL@URL``  :class:`OpenAICompatible`
    ``openai:MODEL@URL#VARIABLE``           the same with the key that the environment's VARIABLE holds
    ``ollama:MODEL`` or ``ollama:MODEL@URL``  :class:`OpenAICompatible`, of an Ollama on this machine
    ======================================  ======================================

    Without VARIABLE no key is sent to an address but that of a provider whose own key the environment holds.

    Raises:
        ValueError: the kind is unknown, or its argument is missing.

    >>> from_spec("none") is None
    True
    """
    kind, _, argument = spec.partition(":")
    if kind in ("default", "none"):
        if argument:
            raise ValueError(f"embedder: {kind!r} takes no argument, got {spec!r}")
        return default() if kind == "default" else None
    if kind not in ("static", "onnx", "model2vec", "sentence-transformers", "fastembed", "openai", "ollama"):
        raise ValueError(
            "embedder: expected default, none, static[:FILE], onnx:FOLDER, model2vec:NAME, sentence-transformers:NAME, "
            f"fastembed:NAME, ollama:MODEL[@URL] or openai:MODEL[@URL[#VARIABLE]], got {spec!r}"
        )
    if kind == "static":
        return Static(argument or None)
    if not argument:
        raise ValueError(f"embedder: expected {kind}:NAME, got {spec!r}")
    if kind == "onnx":
        return OnnxFolder(argument)
    if kind == "model2vec":
        return Model2Vec(argument)
    if kind == "sentence-transformers":
        return SentenceTransformers(argument)
    if kind == "fastembed":
        return FastEmbed(argument)
    from scrubjay.embedders.http import OpenAICompatible

    model, at, url = argument.partition("@http")
    if kind == "ollama":
        address = ("http" + url).rstrip("/").removesuffix("/v1") if at else "http://127.0.0.1:11434"
        return OpenAICompatible(model, base_url=f"{address}/v1", api_key="", name=f"ollama/{model}")
    if not at:
        return OpenAICompatible(model)
    url, hash, variable = ("http" + url).partition("#")
    key = key_named("embedder", url, variable) if hash else None
    return OpenAICompatible(model, base_url=url, api_key=key)
