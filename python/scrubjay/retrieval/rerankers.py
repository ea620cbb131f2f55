"""Rerankers: a function, a cross-encoder by sentence-transformers or by ONNX, and HTTP endpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.endpoints import Endpoint
from scrubjay.base.errors import RetrievalError
from scrubjay.base.extras import imported
from scrubjay.retrieval.keys import name_of

Scores = NDArray[np.float32]


class CallableReranker:
    """Any function (query, texts) -> scores.

    Args:
        function: (query, texts) -> one number per text, higher is better.
        name: identifies the reranker in traces and caches; None: "callable", and caches identify the function.

    >>> CallableReranker(lambda query, texts: [len(text) for text in texts]).score("q", ["a", "bc"])
    array([1., 2.], dtype=float32)
    """

    def __init__(self, function: Callable[[str, list[str]], Any], name: str | None = None) -> None:
        self.name = "callable" if name is None else name
        self.cache_name = name_of(function) if name is None else ("callable", name)
        self._function = function

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return the function's scores of `texts` for `query`, float32, one per text."""
        return np.asarray(self._function(query, texts), dtype=np.float32)


class SentenceTransformersReranker:
    """A cross-encoder of sentence-transformers (extra "sentence-transformers").

    Args:
        model: a name or a folder.
        options: further arguments of `CrossEncoder`, such as `device`.
    """

    def __init__(self, model: str, **options: Any) -> None:
        library = imported("sentence_transformers", "SentenceTransformersReranker", "sentence-transformers")
        self.name = f"cross-encoder/{model}"
        self._model: Any = library.CrossEncoder(model, **options)

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return the model's relevance of each of `texts` to `query`."""
        return np.asarray(self._model.predict([(query, text) for text in texts]), dtype=np.float32)


class OnnxReranker:
    """A cross-encoder from a local folder with `model.onnx` and `tokenizer.json` (extra "onnx").

    Each pair is run separately, so its score does not depend on other pairs. In a batch it would: int8 models scale a
    whole batch by its largest value, and padding changes the last bits. On a CPU batches save nothing: 20 turns of a
    conversation took .95 to 1.24 times the CPU time in batches of 16 (ms-marco-MiniLM-L12, int8).

    Args:
        folder: contains the two files; `model_file` is the name of the model if it differs.
        max_length: maximum number of tokens of query and text together; the text is truncated.
        threads: of onnxruntime for one run; None: onnxruntime decides.

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
        threads: int | None = None,
    ) -> None:
        path = Path(folder)
        for file in (model_file, "tokenizer.json"):
            if not (path / file).is_file():
                raise FileNotFoundError(f"{path / file}: expected a file")
        onnxruntime = imported("onnxruntime", "OnnxReranker", "onnx")
        tokenizers = imported("tokenizers", "OnnxReranker", "onnx")
        self.name = f"onnx/{path.resolve().name}"
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.enable_truncation(max_length, strategy="only_second")
        tokenizer.no_padding()
        self._tokenize: Any = tokenizer.encode_batch
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(
            str(path / model_file), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return the model's logit for `query` with each of `texts`."""
        scores = np.empty(len(texts), dtype=np.float32)
        for place, encoding in enumerate(self._tokenize([(query, text) for text in texts])):
            feed = {
                "input_ids": np.array([encoding.ids], dtype=np.int64),
                "attention_mask": np.array([encoding.attention_mask], dtype=np.int64),
                "token_type_ids": np.array([encoding.type_ids], dtype=np.int64),
            }
            feed = {name: array for name, array in feed.items() if name in self._inputs}
            scores[place] = np.asarray(self._session.run(None, feed)[0]).reshape(-1)[-1]
        return scores


class HttpReranker:
    """An endpoint that takes a query and texts and returns pairs of index and score.

    Args:
        model: its name at the endpoint; not sent to text-embeddings-inference, which serves one model.
        url: the whole address, such as "https://api.jina.ai/v1/rerank".
        api_key: sent as a bearer token; by default the environment's key of the provider with this host (CO_API_KEY or
            COHERE_API_KEY, JINA_API_KEY, VOYAGE_API_KEY), over https. No message contains it.
        timeout_s: of each request; there is no retry.
        shape: of the body. "documents": `{"model", "query", "documents"}`, for Cohere, Jina and Voyage; "texts":
            `{"query", "texts", "truncate": true}` for Hugging Face's text-embeddings-inference.
        batch_size: texts per request, 1 or more; None: all in one request, or 32 for the shape "texts", the default
            limit of such a server.
    """

    def __init__(
        self,
        model: str,
        *,
        url: str,
        api_key: str | None = None,
        timeout_s: float = 5.0,
        shape: Literal["documents", "texts"] = "documents",
        batch_size: int | None = None,
    ) -> None:
        if shape not in ("documents", "texts"):
            raise ValueError(f"shape: expected 'documents' or 'texts', got {shape!r}")
        if batch_size is not None and (isinstance(batch_size, bool) or not batch_size >= 1):
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size!r}")
        self._endpoint = Endpoint("url", url, api_key)
        self.name = f"{self._endpoint.name}/{model}"
        self._model = model
        self._url = self._endpoint.shown
        self._timeout_s = timeout_s
        self._shape = shape
        self._batch_size = 32 if batch_size is None and shape == "texts" else batch_size

    def score(self, query: str, texts: list[str]) -> Scores:
        """Request the relevance of each of `texts` to `query`, in one request per batch.

        Raises:
            RetrievalError: the endpoint refuses, does not answer in time, or returns something other than scores.
        """
        step = self._batch_size or max(1, len(texts))
        parts = [self._asked(query, texts[start : start + step]) for start in range(0, len(texts), step)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)

    def _asked(self, query: str, texts: list[str]) -> Scores:
        from scrubjay.base.http import post_json  # the HTTP client is slow to import

        body: dict[str, Any] = {"model": self._model, "query": query, "documents": texts}
        if self._shape == "texts":
            body = {"query": query, "texts": texts, "truncate": True}
        answer = post_json(self._endpoint, body, self._timeout_s)
        rows: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        scores = np.full(len(texts), np.nan, dtype=np.float32)
        try:
            for row in rows:
                scores[row["index"]] = row["relevance_score"] if "relevance_score" in row else row["score"]
        except (TypeError, KeyError, IndexError) as error:
            raise RetrievalError(f"{self._url}: no list of index and relevance_score: {error!r}") from None
        return scores
