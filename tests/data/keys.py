"""Keys for tests: every tenant has one, but globex and b. SCRUBJAY_TEST_KEYS=1 gives them to every index in a file."""

from __future__ import annotations

import hashlib
from typing import Any

from scrubjay import Index

__all__ = ["IN_THE_CLEAR", "provider", "use_everywhere"]

IN_THE_CLEAR = ("globex", "b")


def provider(tenant: str) -> bytes | None:
    """Return the key of a tenant."""
    return None if tenant in IN_THE_CLEAR else hashlib.sha256(b"a test's key " + tenant.encode()).digest()


def use_everywhere() -> None:
    """Let `Index.open` use these keys unless it is given others."""
    plain = Index.open.__func__  # type: ignore[attr-defined]

    def open_with_keys(cls: Any, *arguments: Any, **options: Any) -> Any:
        return plain(cls, *arguments, **{"keys": provider, **options})

    Index.open = classmethod(open_with_keys)  # type: ignore[assignment]
