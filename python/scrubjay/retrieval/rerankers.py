"""Rerankers: a function, a cross-encoder by sentence-transformers or by ONNX, and endpoints of the usual shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.endpoints import Endpoint
from scrubjay.errors import MissingExtraError, RetrievalError
from scrubjay.retrieval.keys import name_of

__all__ = ["CallableReranker", "HttpReranker", "OnnxReranker", "SentenceTransformersReranker"]

Scores = NDArray[np.float32]


class CallableReranker:
    """Any function (query, texts) -> scores.

    >>> CallableReranker(lambda query, texts: [len(text) for text in texts]).score("q", ["a", "bc"])
    array([1., 2.], dtype=float32)
    """

    def __init__(self, function: Callable[[str, list[str]], Any], name: str | None = None) -> None:
        self.name = "callable" if name is None else name
        self.cache_name = name_of(function) if name is None else ("callable", name)
        self._function = function

    def score(self, query: str, texts: list[str]) -> Scores:
        """Call the function."""
        return np.asarray(self._function(query, texts), dtype=np.float32)


class SentenceTransformersReranker:
    """A cross-encoder of sentence-transformers (extra "sentence-transformers")."""

    def __init__(self, model: str, **options: Any) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError(
                "SentenceTransformersReranker", "sentence-transformers", "sentence_transformers"
            ) from None
        self.name = f"cross-encoder/{model}"
        self._model: Any = CrossEncoder(model, **options)

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return the model's relevance of each text."""
        return np.asarray(self._model.predict([(query, text) for text in texts]), dtype=np.float32)


class OnnxReranker:
    """A cross-encoder from a local folder with `model.onnx` and `tokenizer.json` (extra "onnx").

    Args:
        folder: holds the two files; `model_file` is the model's name if it is another.
        max_length: tokens of query and text together; the text is cut.
        batch_size: pairs a run.
        threads: of onnxruntime for one run; None leaves it to onnxruntime.

    Raises:
        FileNotFoundError: the folder lacks one of the files.
        MissingExtraError: `onnxruntime` or `tokenizers` is not installed.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model_file: str = "model.onnx",
        max_length: int = 256,
        batch_size: int = 16,
        threads: int | None = None,
    ) -> None:
        path = Path(folder)
        for file in (model_file, "tokenizer.json"):
            if not (path / file).is_file():
                raise FileNotFoundError(f"{path / file}: expected a file")
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtraError("OnnxReranker", "onnx", "onnxruntime") from None
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("OnnxReranker", "onnx", "tokenizers") from None
        self.name = f"onnx/{path.resolve().name}"
        tokenizer: Any = Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.enable_truncation(max_length, strategy="only_second")
        tokenizer.enable_padding()
        self._tokenize: Any = tokenizer.encode_batch
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(
            str(path / model_file), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._batch_size = batch_size

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return the model's logit for each text."""
        scores = np.empty(len(texts), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(texts), self._batch_size):
            rows = by_length[start : start + self._batch_size]
            encodings = self._tokenize([(query, texts[i]) for i in rows])
            feed = {
                "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
                "attention_mask": np.array(
                    [encoding.attention_mask for encoding in encodings], dtype=np.int64
                ),
                "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
            }
            feed = {name: array for name, array in feed.items() if name in self._inputs}
            scores[rows] = np.asarray(self._session.run(None, feed)[0]).reshape(len(rows), -1)[:, -1]
        return scores


class HttpReranker:
    """An endpoint of the shape that Cohere, Jina and Voyage share: query and documents in, index and score out.

    Args:
        model: its name, as the endpoint knows it.
        url: the whole address, such as "https://api.jina.ai/v1/rerank".
        api_key: sent as a bearer token; by default the environment's key of the provider whose host it is (CO_API_KEY
            or COHERE_API_KEY, JINA_API_KEY, VOYAGE_API_KEY), over https. It is in no message.
        timeout_s: of the one attempt.
    """

    def __init__(self, model: str, *, url: str, api_key: str | None = None, timeout_s: float = 5.0) -> None:
        self._endpoint = Endpoint("url", url, api_key)
        self.name = f"{self._endpoint.name}/{model}"
        self._model = model
        self._url = self._endpoint.shown
        self._timeout_s = timeout_s

    def score(self, query: str, texts: list[str]) -> Scores:
        """Ask the endpoint once.

        Raises:
            RetrievalError: it refuses, does not answer in time, or answers something else.
        """
        body = {"model": self._model, "query": query, "documents": texts}
        from scrubjay._http import post_json  # the HTTP client is slow to import

        answer = post_json(self._endpoint, body, self._timeout_s)
        rows: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        scores = np.full(len(texts), np.nan, dtype=np.float32)
        try:
            for row in rows:
                scores[row["index"]] = row["relevance_score"] if "relevance_score" in row else row["score"]
        except (TypeError, KeyError, IndexError) as error:
            raise RetrievalError(f"{self._url}: no list of index and relevance_score: {error!r}") from None
        return scores
