"""Embedders specified by a string, on a command line or in a configuration."""

from __future__ import annotations

import re

from scrubjay.base.endpoints import key_named
from scrubjay.embedders.libraries import FastEmbed, Model2Vec, SentenceTransformers
from scrubjay.embedders.onnx import OnnxFolder
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.static import Static
from scrubjay.embedders.wordllama import default


def from_spec(spec: str) -> Embedder | None:
    """Create the embedder that `spec` names; "none" gives None.

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

    URL begins with http:// or https://. Without a scheme, addresses of this machine (``localhost:1234/v1``) and of an
    Ollama (``host`` or ``host:11434``) are http; others, and invalid addresses, are refused. Text after an "@" is never
    part of MODEL, unless a URL with its scheme follows (``openai:gecko@003@https://host/v1``). Without VARIABLE a key
    is only sent to the address of a provider whose own key is in the environment.

    Raises:
        ValueError: the kind is unknown, its argument is missing, or the address is invalid.

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

    model, url = _split_address(kind, argument)
    if not model:
        raise ValueError(f"embedder: expected {kind}:MODEL@URL, got {spec!r}")
    if kind == "ollama":
        address = "http://127.0.0.1:11434" if url is None else url.rstrip("/").removesuffix("/v1")
        return OpenAICompatible(model, base_url=f"{address}/v1", api_key="", name=f"ollama/{model}")
    if url is None:
        return OpenAICompatible(model)
    url, hash, variable = url.partition("#")
    key = key_named("embedder", url, variable) if hash else None
    return OpenAICompatible(model, base_url=url, api_key=key)


_WITH_SCHEME = re.compile(r"(?P<model>.*?)@(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(
    r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?P<port>:[0-9]+)?(?P<path>[/?#].*)?", re.DOTALL
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def _split_address(kind: str, argument: str) -> tuple[str, str | None]:
    """Split "MODEL@URL" into the model and the address with its scheme; None without an address.

    Raises:
        ValueError: the text after the "@" is not an address of http or https.
    """
    if match := _WITH_SCHEME.fullmatch(argument):
        scheme = match["scheme"].lower()
        if scheme not in ("http", "https"):
            raise ValueError(
                f"embedder: expected http:// or https:// after the '@', got {match['scheme']}://"
            )
        return match["model"], f"{scheme}://{match['rest']}"
    model, at, address = argument.rpartition("@")
    if not at:
        return argument, None
    host = _HOST.fullmatch(address)
    is_own = host is not None and host["name"].lower() in _LOOPBACK
    is_mistyped = "@" in model or (host is not None and host["name"].lower() in ("http", "https"))
    if host is None or is_mistyped or not (is_own or kind == "ollama"):
        raise ValueError(
            f"embedder: expected http:// or https:// and a host after the '@', got {address[:80]!r}; a model whose "
            "name holds an '@' needs its URL, or OpenAICompatible(model)"
        )
    port = host["port"] or (":11434" if kind == "ollama" else "")
    return model, f"http://{host['name']}{port}{host['path'] or ''}"
