"""LangGraph's embedding configurations as embedders of an index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langgraph.store.base import ensure_embeddings

from scrubjay.backend import FrameworkEmbedder, model_of
from scrubjay.embedders.protocol import Embedder, read_well


def embedder_of(config: Any) -> Embedder | None:
    """Return the embedder of an IndexConfig: a Scrubjay embedder as it is, any other that LangGraph takes wrapped.

    Raises:
        TypeError, ValueError: it is not an embedder, or its dimension is not `dims`.

    >>> embedder_of({"embed": lambda texts: [[float(len(text)), 1.0] for text in texts]}).embed_query("abc")
    array([3., 1.], dtype=float32)
    """
    embed, dims = config.get("embed"), config.get("dims")
    if embed is None:
        return None
    if isinstance(embed, Embedder):
        if dims is not None and dims != embed.dim:
            raise ValueError(f"index: expected dims {embed.dim} like the embedder's, got {dims!r}")
        return embed
    if not isinstance(embed, str) and not callable(embed) and not hasattr(embed, "embed_documents"):
        raise TypeError(
            f"index: expected embed to be embeddings, a function or an embedder, got {type(embed).__name__}"
        )
    model = model_of(embed, ("model", "model_name"))
    kind = type(embed).__name__ if hasattr(embed, "embed_documents") else "function"
    embeddings: Any = ensure_embeddings(embed)
    # With only an async function, synchronous calls wait for it.
    if hasattr(embeddings, "afunc") and not hasattr(embeddings, "func"):
        embeddings = ensure_embeddings(embeddings.afunc)
        embeddings.func = lambda texts: _finished(lambda: embeddings.aembed_documents(texts))
    name = f"langgraph:{kind}" if model is None else f"langgraph:{kind}:{model}"
    return FrameworkEmbedder(embeddings, name, dims, *read_well(embed))


def _finished(begin: Callable[[], Any]) -> Any:
    """Run a coroutine to its end on a separate thread, since this thread's event loop may be running."""
    with ThreadPoolExecutor(1, "scrubjay-embedding") as pool:
        return pool.submit(lambda: asyncio.run(begin())).result()
