"""How are texts kept that nobody may read without the tenant's key? By the store's cipher, where it has one.

In the clear a text stays a text in the file. Sealed bytes open only for their tenant, in their place (table, column,
row).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast

__all__ = ["Sealer"]


class _Cipher(Protocol):
    def seal(self, tenant: str, place: str, data: bytes | None) -> bytes | None:
        """Return what is kept."""
        ...

    def open(self, tenant: str, place: str, data: bytes | None) -> bytes | None:
        """Return what was sealed."""
        ...

    def readable(self, tenant: str) -> bool:
        """Whether the key was not destroyed."""
        ...

    def require(self, tenants: Iterable[str]) -> None:
        """Ask for keys."""
        ...


class Sealer:
    """Seals and opens the texts of one store; in the clear if it has no cipher.

    >>> sealer = Sealer(store=None)
    >>> sealer.seal("acme", "memory_event.content 1.1", "Hello"), sealer.readable("acme")
    ('Hello', True)
    """

    def __init__(self, store: Any) -> None:
        self._cipher = cast("_Cipher | None", getattr(store, "cipher", None))

    def readable(self, tenant: str) -> bool:
        """Whether the tenant's key was not destroyed: otherwise the tenant is as if erased."""
        return self._cipher is None or self._cipher.readable(tenant)

    def require(self, tenant: str) -> None:
        """Ask for the tenant's key before a transaction, so that nobody waits for it within one."""
        if self._cipher is not None:
            self._cipher.require([tenant])

    def seal(self, tenant: str, place: str, given: str | bytes | None) -> str | bytes | None:
        """Return what is to be kept, within a transaction of the store."""
        if self._cipher is None or given is None:
            return given
        raw = given.encode() if isinstance(given, str) else given
        kept = self._cipher.seal(tenant, place, raw)
        return given if kept == raw else kept

    def open(self, tenant: str, place: str, kept: str | bytes | None) -> bytes | None:
        """Return the bytes that were given (of a str its UTF-8)."""
        raw = kept.encode() if isinstance(kept, str) else kept
        return raw if self._cipher is None or raw is None else self._cipher.open(tenant, place, raw)
