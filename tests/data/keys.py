"""Keys for tests: every tenant has one, but globex and b. SCRUBJAY_TEST_KEYS=1 gives them to every index in a file.

With SCRUBJAY_TEST_USER_KEYS=FOLDER every user has a key, too, whose half is in that folder.
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
"""Gives the key of a tenant, and has those of users if it is to."""
if folder := os.environ.get("SCRUBJAY_TEST_USER_KEYS"):
    provider = UserKeys(key_of, KeyFolder(folder))


def use_everywhere() -> None:
    """Let `Index.open` use these keys unless it is given others."""
    plain = Index.open.__func__  # type: ignore[attr-defined]

    def open_with_keys(cls: Any, *arguments: Any, **options: Any) -> Any:
        return plain(cls, *arguments, **{"keys": provider, **options})

    Index.open = classmethod(open_with_keys)  # type: ignore[assignment]
