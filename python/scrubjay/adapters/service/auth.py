"""Tokens, their permissions and their scopes."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import Error
from scrubjay.base.locks import renew_in_children
from scrubjay.base.whole_files import whole_file

PERMISSIONS = ("read", "write", "erase", "metrics")
"""read: search, get, list, count. write: upsert, update, delete one. erase: a whole scope. metrics: /metrics."""

_CHECK_SECONDS = 1.0


class RefusedError(Error):
    """A grant does not cover the request."""


class TokenFileError(Error, ValueError):
    """The token file cannot be read. Until it can, every request is refused."""


@dataclass(frozen=True)
class Grant:
    """The permissions of a token, and the scope that it is bound to.

    Args:
        name: a label; not secret, and not necessarily unique.
        tenant, user, agent: the scope that it is bound to. A part that is None may be chosen by each request; tenant
            None, meaning any tenant, is for an operator on loopback and never part of a token.
        can: of :data:`PERMISSIONS`.

    >>> Grant("app", "acme", can=("read",)).scope(user="jane")
    Scope('acme', user='jane')
    >>> Grant("jane", "acme", "jane", can=("read",)).scope(user="joe")
    Traceback (most recent call last):
    ...
    scrubjay.adapters.service.auth.RefusedError: user: expected that of the token or none, got another
    """

    name: str
    tenant: str | None
    user: str | None = None
    agent: str | None = None
    can: Sequence[str] = PERMISSIONS

    def __post_init__(self) -> None:
        if self.tenant is None and (self.user is not None or self.agent is not None):
            raise ValueError("tenant: expected a str where user or agent is given, got None")
        if self.tenant is not None:
            Scope(self.tenant, self.user, self.agent)
        unknown = [permission for permission in self.can if permission not in PERMISSIONS]
        if isinstance(self.can, str) or unknown or not self.can:
            raise ValueError(f"can: expected some of {', '.join(PERMISSIONS)}, got {self.can!r}")
        object.__setattr__(self, "can", tuple(self.can))

    def scope(self, tenant: str | None = None, user: str | None = None, agent: str | None = None) -> Scope:
        """Return the scope of a request with these parts.

        Args:
            tenant, user, agent: of the request; None: those of the grant.

        Raises:
            RefusedError: the grant is bound to other parts.
            ValueError: neither names the tenant.
        """
        parts = []
        for name, bound, asked in (
            ("tenant", self.tenant, tenant),
            ("user", self.user, user),
            ("agent", self.agent, agent),
        ):
            if bound is not None and asked is not None and asked != bound:
                raise RefusedError(f"{name}: expected that of the token or none, got another")
            parts.append(asked if bound is None else bound)
        if parts[0] is None:
            raise ValueError("scope.tenant: expected a tenant, it is missing")
        return Scope(parts[0], parts[1], parts[2])

    def check(self, permission: str) -> None:
        """Raise RefusedError unless the grant has this permission."""
        if permission not in self.can:
            raise RefusedError(f"this needs the permission {permission!r}, which the token does not have")


class Tokens:
    """The tokens of a JSON file, by their SHA-256; the file is read again when it changes.

    The file is an object with `tokens`, a list of objects with `sha256` (hexadecimal), `name`, `tenant`, `can`, and
    optionally `user` and `agent`. :func:`add_token` writes it.

    Args:
        path: the path of the file.

    Raises:
        TokenFileError: the file is malformed. After a later change, :meth:`find` raises it.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> token = add_token(folder.name + "/tokens.json", Grant("app", "acme", can=("read", "write")))
    >>> tokens = Tokens(folder.name + "/tokens.json")
    >>> tokens.find(token).tenant, tokens.find("guess")
    ('acme', None)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        # A table of keyed digests, so that the time of a look-up reveals nothing about the tokens: an attacker does not
        # know the key.
        self._key = secrets.token_bytes(32)
        self._grants: dict[bytes, tuple[bytes, Grant]] = {}
        self._error: TokenFileError | None = None
        self._stamp: object = None
        self._checked_at = 0.0
        self._read()
        if self._error is not None:
            raise self._error

    def find(self, token: str) -> Grant | None:
        """Return the grant of a token, or None for an unknown one.

        Raises:
            TokenFileError: the file is malformed, so no caller can be identified.
        """
        if time.monotonic() - self._checked_at > _CHECK_SECONDS:
            self._read()
        if self._error is not None:
            raise self._error
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        known, grant = self._grants.get(self._blinded(digest), (bytes(32), None))
        return grant if hmac.compare_digest(known, digest) else None

    def __len__(self) -> int:
        return len(self._grants)

    def _blinded(self, digest: bytes) -> bytes:
        return hmac.digest(self._key, digest, "sha256")

    def _read(self) -> None:
        with self._lock:
            try:
                status = self.path.stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                if stamp != self._stamp:
                    grants = dict(read_grants(self.path))
                    self._grants = {
                        self._blinded(digest): (digest, grant) for digest, grant in grants.items()
                    }
                    self._stamp = stamp
                self._error = None
            except OSError as error:
                self._stamp = None
                self._error = TokenFileError(f"{self.path}: {error.strerror or error}")
            except TokenFileError as error:
                self._stamp = None
                self._error = error
            self._checked_at = time.monotonic()


def read_grants(path: Path) -> Iterable[tuple[bytes, Grant]]:
    """Yield pairs (SHA-256 of a token, its grant) from a token file.

    Raises:
        TokenFileError, OSError: the file is malformed, or cannot be read.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["tokens"]
        grants = [_grant(entry) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TokenFileError(f"{path}: expected tokens as scrubjay writes them, got {error!r}") from error
    if len(dict(grants)) < len(grants):
        raise TokenFileError(f"{path}: expected different tokens, two are the same")
    return grants


def add_token(path: str | Path, grant: Grant) -> str:
    """Generate a token, add its SHA-256 to the file (created if absent, mode 0600), and return it; it is not stored.

    Args:
        path: the path of the file.
        grant: the grant of the token.

    Raises:
        TokenFileError: the file exists and is not a token file.
        ValueError: the grant has no tenant.
    """
    if grant.tenant is None:
        raise ValueError("tenant: expected a str, got None")
    path = Path(path)
    entries: list[dict[str, Any]] = []
    if path.exists():
        read_grants(path)
        entries = json.loads(path.read_text(encoding="utf-8"))["tokens"]
    token = "sj_" + secrets.token_urlsafe(32)
    entry: dict[str, Any] = {"name": grant.name, "sha256": hashlib.sha256(token.encode()).hexdigest()}
    entry.update({"tenant": grant.tenant, "user": grant.user, "agent": grant.agent, "can": list(grant.can)})
    with whole_file(path, replace=True) as file:  # a service may be reading it
        json.dump({"tokens": [*entries, entry]}, file, ensure_ascii=False, indent=2)
    return token


def _grant(entry: dict[str, Any]) -> tuple[bytes, Grant]:
    unknown = entry.keys() - {"name", "sha256", "tenant", "user", "agent", "can"}
    if unknown:
        raise ValueError(f"{sorted(unknown)[0]}: unknown")
    digest = bytes.fromhex(entry["sha256"])
    if len(digest) != 32 or not isinstance(entry["tenant"], str) or not isinstance(entry["can"], list):
        raise ValueError("expected sha256 of 64 digits, a tenant and a list of permissions")
    return digest, Grant(
        str(entry.get("name", "")), entry["tenant"], entry.get("user"), entry.get("agent"), entry["can"]
    )
