"""Late interaction: one vector per token of a question and a text, compared token by token."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.locks import renew_in_children
from scrubjay.documents.passages import split

Scores = NDArray[np.float32]
Tokens = NDArray[np.float32]

_MB = 1 << 20


class LateInteractionReranker:
    """A ColBERT-style reranker over the passages of each text.

    The score of a passage is MaxSim (Khattab and Zaharia 2020): for each token of the question the largest dot product
    with a token of the passage, summed over the question. The score of a text is that of its best passage. Vectors of
    passages are cached, so a text that was seen before costs no run of the model.

    Args:
        model: an object of fastembed's `LateInteractionTextEmbedding` (with `query_embed` and `passage_embed`), or of
            PyLate's `models.ColBERT` (with `encode(texts, is_query=...)`), or a function (texts, is_query) -> for each
            text an array of shape (tokens, dim). Vectors are used unchanged: such models normalise them.
        name: identifies the reranker in traces and caches; None: the name of the model's class.
        max_chars: maximum length of a passage, 50 or more; :func:`scrubjay.documents.passages.split` cuts longer texts.
            It is limited by the input length of the model: a token of English has about four or five characters.
        overlap: characters of the previous passage that a passage repeats, at most half of `max_chars`.
        cache_mb: memory for vectors of passages, at four bytes per number; the least recently used ones are evicted. 0:
            no cache.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    >>> def letters(texts, is_query):  # a token a letter
    ...     return [np.eye(26, dtype=np.float32)[[ord(c) - 97 for c in text]] for text in texts]
    >>> LateInteractionReranker(letters, "letters").score("oak", ["jay", "soak"])
    array([1., 3.], dtype=float32)
    """

    def __init__(
        self,
        model: Any,
        name: str | None = None,
        *,
        max_chars: int = 1200,
        overlap: int = 200,
        cache_mb: float = 64.0,
    ) -> None:
        split("", max_chars=max_chars, overlap=overlap)  # checks the two
        if not cache_mb >= 0:
            raise ValueError(f"cache_mb: expected 0 or more, got {cache_mb}")
        self._encode = _encoder(model)
        self.name = f"late-interaction/{type(model).__name__ if name is None else name}"
        self._max_chars, self._overlap = max_chars, overlap
        self._room = int(cache_mb * _MB)
        self._kept: OrderedDict[str, Tokens] = OrderedDict()
        self._lock = Lock()
        renew_in_children(self, "_lock")

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return MaxSim of `query` with the best passage of each of `texts`; 0 for a text without passages.

        Raises:
            ValueError: the model's vectors are not of shape (tokens, dim), or not all of one dim.
        """
        passages = [self._passages(text) for text in texts]
        vectors = self._vectors(list(dict.fromkeys(passage for of_text in passages for passage in of_text)))
        (question,) = self._checked(self._encode([query], True), 1)
        scores = np.zeros(len(texts), dtype=np.float32)
        for place, of_text in enumerate(passages):
            if of_text:
                scores[place] = max(_max_sim(question, vectors[passage]) for passage in of_text)
        return scores

    def _passages(self, text: str) -> list[str]:
        if len(text) <= self._max_chars:
            return [text] if text.strip() else []
        passages = split(text, max_chars=self._max_chars, overlap=self._overlap)
        return [
            f"{passage.context}\n{passage.text}" if passage.headings else passage.text for passage in passages
        ]

    def _vectors(self, passages: list[str]) -> dict[str, Tokens]:
        """Return the vectors of each passage, and cache them."""
        vectors: dict[str, Tokens] = {}
        with self._lock:
            for passage in passages:
                if passage in self._kept:
                    self._kept.move_to_end(passage)
                    vectors[passage] = self._kept[passage]
        missing = [passage for passage in passages if passage not in vectors]
        if missing:
            new = self._checked(self._encode(missing, False), len(missing))
            vectors.update(zip(missing, new, strict=True))
            self._keep({passage: vectors[passage] for passage in missing})
        return vectors

    def _keep(self, made: dict[str, Tokens]) -> None:
        with self._lock:
            for passage, vectors in made.items():
                before = self._kept.pop(passage, None)
                self._room += 0 if before is None else before.nbytes
                self._kept[passage] = vectors
                self._room -= vectors.nbytes
            while self._room < 0:
                self._room += self._kept.popitem(last=False)[1].nbytes

    @staticmethod
    def _checked(answer: Sequence[Any], n: int) -> list[Tokens]:
        vectors = [np.ascontiguousarray(vector, dtype=np.float32) for vector in answer]
        if len(vectors) != n or any(vector.ndim != 2 for vector in vectors):
            shapes = ", ".join(str(vector.shape) for vector in vectors[:3])
            raise ValueError(
                f"model: expected {n} arrays of shape (tokens, dim), got {len(vectors)}: {shapes}"
            )
        return vectors


def _max_sim(question: Tokens, passage: Tokens) -> float:
    if question.shape[1] != passage.shape[1]:
        raise ValueError(f"model: expected one dim, got {question.shape[1]} and {passage.shape[1]}")
    return float((question @ passage.T).max(axis=1).sum()) if len(passage) else 0.0


def _encoder(model: Any) -> Callable[[list[str], bool], list[Any]]:
    """Return the model as a function (texts, is_query) -> vectors."""
    if hasattr(model, "query_embed") and hasattr(model, "passage_embed"):
        return lambda texts, is_query: list((model.query_embed if is_query else model.passage_embed)(texts))
    if hasattr(model, "encode") and not isinstance(model, str):  # which has a method of that name
        return lambda texts, is_query: list(model.encode(texts, is_query=is_query, show_progress_bar=False))
    if callable(model):
        return lambda texts, is_query: list(model(texts, is_query))
    raise TypeError(
        f"model: expected a late interaction model or a function (texts, is_query), got {type(model).__name__}"
    )
