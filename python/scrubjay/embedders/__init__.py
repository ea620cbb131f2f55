"""Embedders: texts to vectors.

:class:`Embedder` is the protocol; :func:`default` works offline without configuration. Nothing large is imported before
an embedder is created, and each optional library is an extra: ``pip install "scrubjay[onnx]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrubjay.base.initialised import guard_exports
from scrubjay.embedders.accepted import EmbedderLike, as_embedder
from scrubjay.embedders.cache import QueryCache
from scrubjay.embedders.client import OpenAIClient
from scrubjay.embedders.function import Function
from scrubjay.embedders.libraries import FastEmbed, Model2Vec, SentenceTransformers
from scrubjay.embedders.onnx import OnnxFolder
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.spec import from_spec
from scrubjay.embedders.static import Static
from scrubjay.embedders.truncated import Truncated
from scrubjay.embedders.wordllama import WordLlama, default

if TYPE_CHECKING:
    from scrubjay.embedders.http import OpenAICompatible

__all__ = [
    "Embedder",
    "EmbedderLike",
    "FastEmbed",
    "Function",
    "Model2Vec",
    "OnnxFolder",
    "OpenAIClient",
    "OpenAICompatible",
    "QueryCache",
    "SentenceTransformers",
    "Static",
    "Truncated",
    "WordLlama",
    "as_embedder",
    "default",
    "from_spec",
]

guard_exports(__name__)


def __getattr__(name: str) -> Any:
    # importing the standard library's HTTP client would more than double the time of `import scrubjay`
    if name == "OpenAICompatible":
        from scrubjay.embedders.http import OpenAICompatible

        return OpenAICompatible
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
