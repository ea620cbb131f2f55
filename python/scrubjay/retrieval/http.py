"""One JSON request to an endpoint that may be away. Redirects are refused: they would carry the key to another host."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from scrubjay.endpoints import Endpoint
from scrubjay.errors import RetrievalError

__all__ = ["post_json"]

_MAX_ANSWER_BYTES = 64 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def post_json(endpoint: Endpoint, body: dict[str, Any], timeout_s: float) -> Any:
    """POST `body`, return the decoded answer.

    Raises:
        RetrievalError: no connection, a time-out, a refusal, or no JSON. The key is in no message.
    """
    request = urllib.request.Request(endpoint.url, json.dumps(body).encode(), endpoint.headers())
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as response:
            answer = response.read(_MAX_ANSWER_BYTES + 1)
            if len(answer) > _MAX_ANSWER_BYTES:
                raise ValueError(f"expected an answer of at most {_MAX_ANSWER_BYTES:,} bytes")
            return json.loads(answer)
    except urllib.error.HTTPError as error:
        with error:
            advice = endpoint.advice() if error.code in (401, 403) else ""
            raise RetrievalError(f"{endpoint.shown}: answered {error.code}{advice}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = endpoint.hidden(f"{type(error).__name__}: {error}")
        raise RetrievalError(f"{endpoint.shown}: {said}") from None
