"""Embedders behind OpenAI's `POST /embeddings`: OpenAI, Ollama, vLLM, llama.cpp, TEI, LiteLLM.

Uses only the standard library. Transient failures (429, 5xx, no connection, a time-out) are retried with growing
pauses; all others raise at once. Redirects are refused: they would send the API key to another host.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrubjay.base.endpoints import Endpoint
from scrubjay.base.errors import EmbedderError
from scrubjay.base.http import post
from scrubjay.base.initialised import guarded
from scrubjay.embedders.protocol import Vectors, as_list, model_identity

_MAX_PAUSE_S = 30.0
_MAX_ANSWER_BYTES = 1 << 30  # of the vectors of one request
_MAX_ERROR_BYTES = 64 << 10


@guarded
class OpenAICompatible:
    """An embedding model behind HTTP.

    Args:
        model: its name at the endpoint.
        base_url: the address without "/embeddings".
        api_key: sent as a bearer token. By default the environment's key of the provider with the host of `base_url`
            (OPENAI_API_KEY for api.openai.com, MISTRAL_API_KEY, VOYAGE_API_KEY, JINA_API_KEY), over https only; any
            other address gets no key unless it is given here. No message, name or repr contains it.
        dim: the length of the vectors; None: ask the endpoint once, when it is first needed.
        dimensions: request shorter vectors, from models that support it; implies `dim`.
        batch_size: texts per request.
        timeout_s: of one attempt.
        retries: attempts after the first; the pause before the n-th is `backoff_s` * 2^(n-1), or the endpoint's
            Retry-After, at most 30 s.
        query_prefix, document_prefix: prepended to the texts.
        headers: further headers.
        name: the model's name for the index, instead of "openai/" and the model; a document prefix is appended to it.

    Raises (in its methods):
        EmbedderError: the endpoint refuses, does not answer, or returns something other than vectors.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        dim: int | None = None,
        dimensions: int | None = None,
        batch_size: int = 64,
        timeout_s: float = 30.0,
        retries: int = 4,
        backoff_s: float = 0.5,
        query_prefix: str = "",
        document_prefix: str = "",
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        endpoint = Endpoint("base_url", base_url.rstrip("/") + "/embeddings", api_key, headers)
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        if retries < 0:
            raise ValueError(f"retries: expected 0 or more, got {retries}")
        self.name = model_identity(
            name or f"openai/{model}" + (f"-{dimensions}" if dimensions else ""), document_prefix
        )
        self._model = model
        self._endpoint = endpoint
        self._url = endpoint.shown
        self._dim = dimensions if dimensions is not None else dim
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._timeout_s = timeout_s
        self._retries = retries
        self._backoff_s = backoff_s
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    @property
    def dim(self) -> int:
        """The length of the vectors; asks the endpoint if unknown."""
        if self._dim is None:
            self._dim = int(self._request(["dimension"]).shape[1])
        return self._dim

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return float32 (n, dim), in requests of `batch_size` texts."""
        return self._embed([self._document_prefix + text for text in as_list(texts)])

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._embed([self._query_prefix + text for text in as_list(texts)])

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self._request([self._query_prefix + text])[0]
        return vector

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.OpenAICompatible {self.name!r} at {self._url!r}>"

    def _embed(self, texts: list[str]) -> Vectors:
        parts = [
            self._request(texts[i : i + self._batch_size]) for i in range(0, len(texts), self._batch_size)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def _request(self, texts: list[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        answer = self._post(body)
        try:
            rows = sorted(json.loads(answer)["data"], key=lambda row: row.get("index", 0))
            vectors = np.asarray([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbedderError(
                f"{self._url}: expected a list of embeddings, got {self._excerpt(answer)}"
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbedderError(f"{self._url}: expected {len(texts)} embeddings, got shape {vectors.shape}")
        return vectors

    def _post(self, body: dict[str, Any]) -> bytes:
        if self._endpoint.lacks_key:
            raise EmbedderError(f"{self._url}: expected a key{self._endpoint.advice()}")
        for attempt in range(self._retries + 1):
            retry_after: str | None = None
            try:
                return post(self._endpoint, body, timeout_s=self._timeout_s, most_bytes=_MAX_ANSWER_BYTES)
            except urllib.error.HTTPError as error:
                with error:
                    failure = f"status {error.code}: {self._excerpt(error.read(_MAX_ERROR_BYTES))}"
                if error.code in (401, 403):
                    failure += self._endpoint.advice()
                retry_after = error.headers.get("Retry-After")
                if error.code != 429 and error.code < 500:
                    raise EmbedderError(f"{self._url}: {failure}") from None
            except ValueError as error:
                raise EmbedderError(f"{self._url}: {error}") from None
            except (OSError, http.client.HTTPException) as error:  # URLError and time-outs are OSErrors
                failure = self._endpoint.hidden(
                    str(getattr(error, "reason", None) or error or type(error).__name__)
                )
            if attempt < self._retries:
                time.sleep(self._pause_s(attempt, retry_after))
        raise EmbedderError(f"{self._url}: {failure} (after {self._retries + 1} attempts)")

    def _excerpt(self, answer: bytes) -> str:
        text = self._endpoint.hidden(" ".join(answer.decode("utf-8", "replace").split()))
        return repr(text if len(text) <= 200 else text[:200] + "...")

    def _pause_s(self, attempt: int, retry_after: str | None) -> float:
        try:  # Retry-After may also be a date, which is ignored
            pause_s = float(retry_after) if retry_after is not None else self._backoff_s * 2**attempt
        except ValueError:
            pause_s = self._backoff_s * 2**attempt
        return min(max(pause_s, 0.0), _MAX_PAUSE_S)
