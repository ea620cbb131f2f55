"""Keys for tests: every tenant except globex and b has one. With SCRUBJAY_TEST_KEYS=1 every index in a file uses them.

With SCRUBJAY_TEST_USER_KEYS=FOLDER every user has a key, too; half of it is in that folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from scrubjay import Index
from scrubjay.keystores import KeyFolder, UserKeys

__all__ = ["IN_THE_CLEAR", "key_of", "provider", "use_everywhere"]

IN_THE_CLEAR = ("globex", "b")


def key_of(tenant: str) -> bytes | None:
    """Return the key of a tenant."""
    return None if tenant in IN_THE_CLEAR else hashlib.sha256(b"a test's key " + tenant.encode()).digest()


provider: Callable[[str], bytes | None] = key_of
"""A provider of the keys of tenants, and if configured of users."""
if folder := os.environ.get("SCRUBJAY_TEST_USER_KEYS"):
    provider = UserKeys(key_of, KeyFolder(folder))


def use_everywhere() -> None:
    """Let `Index.open` use these keys by default."""
    plain = Index.open.__func__  # type: ignore[attr-defined]

    def open_with_keys(cls: Any, *arguments: Any, **options: Any) -> Any:
        return plain(cls, *arguments, **{"keys": provider, **options})

    Index.open = classmethod(open_with_keys)  # type: ignore[assignment]
