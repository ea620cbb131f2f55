"""An index over HTTP, with a page to search and read it: what `scrubjay serve` runs.

Every request acts in a scope: that of its bearer token, or a narrower one that the request names. Without tokens only
loopback addresses are served. The interface is described by the service itself, in `/openapi.json`.

One process serves one file; put a proxy that speaks TLS in front of anything but loopback.
"""

from __future__ import annotations

from scrubjay.errors import MissingExtraError

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    raise MissingExtraError("scrubjay.adapters.service", "serve", missing.name or "fastapi") from None

from scrubjay.adapters.service.app import create_app
from scrubjay.adapters.service.auth import PERMISSIONS, Grant, Tokens, add_token
from scrubjay.adapters.service.examples import Example
from scrubjay.adapters.service.limits import Limits
from scrubjay.adapters.service.running import serve

__all__ = ["PERMISSIONS", "Example", "Grant", "Limits", "Tokens", "add_token", "create_app", "serve"]
