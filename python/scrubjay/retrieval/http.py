"""One JSON request to an endpoint that may be away. Redirects are refused: they would carry the key to another host."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from scrubjay.errors import RetrievalError

__all__ = ["post_json"]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def post_json(url: str, body: dict[str, Any], key: str | None, key_variable: str, timeout_s: float) -> Any:
    """POST `body`, return the decoded answer; `key`, or the environment's `key_variable`, is a bearer token.

    Raises:
        RetrievalError: no connection, a time-out, a refusal, or no JSON. The key is in no message.
    """
    headers = {"Content-Type": "application/json"}
    token = key if key is not None else os.environ.get(key_variable)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RetrievalError(f"{url}: answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise RetrievalError(f"{url}: {type(error).__name__}: {error}") from None
