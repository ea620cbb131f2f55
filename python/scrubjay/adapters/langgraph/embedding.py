"""LangChain's embeddings, or a function, as an embedder of an index.

An index calls its embedder synchronously. An event loop must not wait for that, so :meth:`Embedding.prepare` awaits the
embeddings beforehand, and the index then finds them ready on another thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from langgraph.store.base import ensure_embeddings

from scrubjay.embedders.protocol import Embedder, Vectors, read_well
from scrubjay.index.passages import parts_of

__all__ = ["Embedding", "embedder_of", "using"]

# (kind, text) -> a vector or an exception, for the calls of one context
_prepared: contextvars.ContextVar[dict[tuple[str, str], Any] | None] = contextvars.ContextVar(
    "scrubjay_prepared", default=None
)


def embedder_of(config: Any) -> Embedder | None:
    """Return the embedder of an IndexConfig: one of Scrubjay's as it is, anything else that LangGraph takes wrapped.

    Raises:
        TypeError, ValueError: it is not one, or its dimension is not `dims`.
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
    return Embedding(embed, dims)


class Embedding:
    """An embedder of Scrubjay's over LangChain's embeddings, a function of texts, or an async function of texts.

    Args:
        embed: what IndexConfig's `embed` may be.
        dims: the length of the vectors; None: found by embedding a word.

    If `embed` has an attribute `passage_chars`, longer texts than that (or than its `whole_chars`) are embedded in
    passages, as of :class:`scrubjay.embedders.WordLlama`.

    >>> Embedding(lambda texts: [[float(len(text)), 1.0] for text in texts], None).embed_query("abc")
    array([3., 1.], dtype=float32)
    """

    def __init__(self, embed: Any, dims: int | None) -> None:
        self.embeddings = ensure_embeddings(embed)
        model = next(
            (one for name in ("model", "model_name") if isinstance(one := getattr(embed, name, None), str)),
            None,
        )
        kind = type(embed).__name__ if hasattr(embed, "embed_documents") else "function"
        self.name = f"langgraph:{kind}" if model is None else f"langgraph:{kind}:{model}"
        self.passage_chars, self.whole_chars = read_well(embed)
        self.dim = len(self._documents(["dimension"])[0]) if dims is None else int(dims)

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dim)."""
        ready = _prepared.get() or {}
        missing = [text for text in texts if ("document", text) not in ready]
        made = dict(zip(missing, self._documents(missing), strict=True)) if missing else {}
        return np.asarray([made[text] if text in made else _given(ready["document", text]) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return one float32 vector of shape (dim,)."""
        ready = _prepared.get() or {}
        if ("query", text) in ready:
            return np.asarray(_given(ready["query", text]), dtype=np.float32)
        if self._only_async:
            return np.asarray(_finished(lambda: self.embeddings.aembed_query(text)), dtype=np.float32)
        return np.asarray(self.embeddings.embed_query(text), dtype=np.float32)

    async def prepare(self, documents: Iterable[str], queries: Iterable[str]) -> dict[tuple[str, str], Any]:
        """Embed texts without blocking the event loop; a failure is stored as its exception."""
        parts = [parts_of(text, None, self.passage_chars, self.whole_chars).texts for text in documents]
        texts, questions = list(dict.fromkeys(chain.from_iterable(parts))), list(dict.fromkeys(queries))
        calls: list[Any] = [self.embeddings.aembed_query(text) for text in questions]
        if texts:
            calls.append(self.embeddings.aembed_documents(texts))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        ready: dict[tuple[str, str], Any] = {}
        for text, answer in zip(questions, answers, strict=False):
            ready["query", text] = answer
        if texts:
            rows: Any = answers[-1]
            failed = isinstance(rows, BaseException) or len(rows) != len(texts)
            if failed and not isinstance(rows, BaseException):
                rows = ValueError(f"expected {len(texts)} vectors, got {len(rows)}")
            for i, text in enumerate(texts):
                ready["document", text] = rows if failed else rows[i]
        return ready

    @property
    def _only_async(self) -> bool:
        return hasattr(self.embeddings, "afunc") and not hasattr(self.embeddings, "func")

    def _documents(self, texts: list[str]) -> Any:
        if self._only_async:
            return _finished(lambda: self.embeddings.aembed_documents(texts))
        return self.embeddings.embed_documents(texts)


@contextmanager
def using(ready: dict[tuple[str, str], Any]) -> Iterator[None]:
    """Let calls of this context take what :meth:`Embedding.prepare` returned."""
    token = _prepared.set(ready)
    try:
        yield
    finally:
        _prepared.reset(token)


def _given(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _finished(begin: Callable[[], Any]) -> Any:
    """Run a coroutine to its end on a thread of its own, since this one's event loop may be running."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(begin()))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            outcome.append(error)

    thread = threading.Thread(target=run, name="scrubjay-embedding")
    thread.start()
    thread.join()
    return _given(outcome[0])
