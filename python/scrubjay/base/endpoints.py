"""HTTP endpoints, and the rules that decide which key is sent to which.

A key given by the caller is sent to the address it is given for. A key from the environment belongs to a provider: it
is sent to that provider's host over https, and nowhere else.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Mapping
from hashlib import sha256

__all__ = ["Endpoint", "key_named"]

# Host -> the environment variables of its key, under the names that the provider's own client uses.
_KEYS = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "api.cohere.com": ("CO_API_KEY", "COHERE_API_KEY"),
    "api.jina.ai": ("JINA_API_KEY",),
    "api.voyageai.com": ("VOYAGE_API_KEY",),
    "api.mistral.ai": ("MISTRAL_API_KEY",),
}
_SECRET = re.compile("auth|key|token|cookie|secret", re.IGNORECASE)  # matches names of headers
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Endpoint:
    """An address and the headers of requests to it. Its `repr`, `shown` and `name` never contain a key.

    Args:
        argument: the name of the address in messages.
        url: http:// or https://, without user and password.
        api_key: sent to the address as a bearer token; None: the environment's key of the provider with this host. "":
            no key.
        headers: further headers.

    Raises:
        ValueError: the address is invalid, or the key or a header cannot be sent. The message does not contain the key.

    >>> endpoint = Endpoint("base_url", "https://models.example/v1/embeddings", "secret")
    >>> endpoint.headers()["Authorization"]
    'Bearer secret'
    >>> endpoint
    <Endpoint https://models.example/v1/embeddings>
    """

    def __init__(
        self,
        argument: str,
        url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = _parts(argument, url)
        self.url = url
        self.shown = urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        """The address without parts that may be secret."""
        self.name = self.shown + (f"?{sha256(parts.query.encode()).hexdigest()[:8]}" if parts.query else "")
        """Identifies the address."""
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        for name, value in self._headers.items():
            _check_header(f"headers: {name}", value)
        self._key = None if api_key is None else _check_header("api_key", api_key.strip())
        self._has_own = any(name.lower() == "authorization" for name in self._headers)
        is_safe = parts.scheme == "https" and parts.port in (None, 443)
        host = (parts.hostname or "").lower()
        self._provider = host if host in _KEYS else None
        self._variables = _KEYS.get(host, ()) if is_safe else ()
        unsafe = None if is_safe or self._key is not None else _first(_KEYS.get(host, ()))
        if unsafe is not None:
            raise ValueError(
                f"{argument}: expected https://{host} for the key in {unsafe}, got {self.shown!r}"
            )

    def headers(self) -> dict[str, str]:
        """Return the headers of a request, with the key if there is one for this address."""
        headers = dict(self._headers)
        if key := self._token():
            headers["Authorization"] = f"Bearer {key}"
        return headers

    @property
    def lacks_key(self) -> bool:
        """Whether the address is that of a provider that requires a key, and no key is given."""
        return self._provider is not None and not self._has_own and not self._token()

    def advice(self) -> str:
        """Return advice to append to a refusal if no key was sent; otherwise ""."""
        if self._token() or self._has_own:
            return ""
        if self._variables:
            return f"; no key was sent: set {self._variables[0]}, or give api_key="
        unsent = [name for names in _KEYS.values() for name in names if os.environ.get(name)]
        why = f" ({unsent[0]} of the environment is sent only to its provider's host)" if unsent else ""
        return f"; no key was sent{why}: give the one for this address as api_key="

    def hidden(self, text: str) -> str:
        """Return a text without the key, in case the server repeated it."""
        secrets = [value for name, value in self._headers.items() if _SECRET.search(name)]
        for secret in filter(None, (self._token(), *secrets)):
            text = text.replace(secret, "[hidden]")
        return text

    def __repr__(self) -> str:
        return f"<Endpoint {self.shown}>"

    def _token(self) -> str:
        if self._key is not None:
            return self._key
        name = None if self._has_own else _first(self._variables)
        return "" if name is None else _check_header(name, os.environ[name].strip())


def key_named(argument: str, url: str, variable: str) -> str:
    """Return the key in an environment variable that was named beside the address.

    Raises:
        ValueError: the variable is not set, or the address is neither https nor of this machine.
    """
    parts = _parts(argument, url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ValueError(f"{argument}: expected https:// for a key, got http://{parts.hostname}")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ValueError(f"{argument}: expected a key in the environment's {variable}, it is not set")
    return key


def _first(variables: tuple[str, ...]) -> str | None:
    return next((name for name in variables if os.environ.get(name, "").strip()), None)


def _parts(argument: str, url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port  # raises unless it is a number
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"{argument}: expected http:// or https:// and a host") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{argument}: expected http:// or https:// and a host, got {url[:200]!r}")
    if "@" in parts.netloc:
        raise ValueError(
            f"{argument}: expected no user and password before the host; give api_key= or headers="
        )
    if any(character <= " " or character in '\\"<>^`{|}\x7f' for character in url):
        raise ValueError(
            f"{argument}: expected an address without spaces or special characters, got {parts.hostname!r} and more"
        )
    return parts


def _check_header(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    if not value.isascii() or not (value.isprintable() or not value):
        raise ValueError(
            f"{name}: expected printable ASCII characters"
        )  # the message must not contain the value
    return value
