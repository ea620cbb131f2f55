"""POST JSON to an endpoint. Redirects are refused: they would send the key to another host."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from scrubjay.base.endpoints import Endpoint
from scrubjay.base.errors import RetrievalError

__all__ = ["post", "post_json"]

_MAX_ANSWER_BYTES = 64 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def post(endpoint: Endpoint, body: dict[str, Any], *, timeout_s: float, most_bytes: int) -> bytes:
    """POST `body` as JSON and return the answer's bytes.

    Raises:
        urllib.error.HTTPError: the endpoint answered with an error status.
        OSError, http.client.HTTPException: no connection, or a time-out.
        ValueError: the answer is longer than `most_bytes`.
    """
    request = urllib.request.Request(endpoint.url, json.dumps(body).encode(), endpoint.headers())
    with _opener.open(request, timeout=timeout_s) as response:
        answer: bytes = response.read(most_bytes + 1)
    if len(answer) > most_bytes:
        raise ValueError(f"expected an answer of at most {most_bytes:,} bytes")
    return answer


def post_json(endpoint: Endpoint, body: dict[str, Any], timeout_s: float) -> Any:
    """POST `body` as JSON and return the decoded answer.

    Raises:
        RetrievalError: no connection, a time-out, an error status, or invalid JSON. No message contains the key.
    """
    try:
        return json.loads(post(endpoint, body, timeout_s=timeout_s, most_bytes=_MAX_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            advice = endpoint.advice() if error.code in (401, 403) else ""
            raise RetrievalError(f"{endpoint.shown}: answered {error.code}{advice}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        message = endpoint.hidden(f"{type(error).__name__}: {error}")
        raise RetrievalError(f"{endpoint.shown}: {message}") from None
