"""The HTTP service over an index, with a page for people; run by `scrubjay serve`.

Every request acts in a scope: that of its bearer token, or a narrower one named by the request. Without tokens the
service binds to loopback addresses only. It serves its own OpenAPI document, `/openapi.json`.

One process serves one file; put a TLS proxy in front of it for anything but loopback.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    raise MissingExtraError("scrubjay.adapters.service", "serve", missing.name or "fastapi") from None

from scrubjay.adapters.service.app import create_app
from scrubjay.adapters.service.auth import PERMISSIONS, Grant, Tokens, add_token
from scrubjay.adapters.service.examples import Example
from scrubjay.adapters.service.lifespan import serve
from scrubjay.adapters.service.limits import Limits

__all__ = ["PERMISSIONS", "Example", "Grant", "Limits", "Tokens", "add_token", "create_app", "serve"]
