"""What finds rows: the home of a scope, the key of its names, ids as bytes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import frame
from scrubjay.store.rows.stored import RowId

__all__ = ["Key", "Unreadable", "can_hold", "home_of", "id_of", "key_of", "stored_id"]


class Key(NamedTuple):
    """What the rows of one exact scope have in common: its home and a hash of its names."""

    home: str
    number: int
    scope: Scope


def home_of(scope: Scope) -> str:
    """Return the unit that a write to this scope locks: its tenant."""
    return scope.tenant


@lru_cache(maxsize=4096)
def key_of(scope: Scope) -> Key:
    """Return the key of a scope: 63 bits of a hash. Rows are held to the names as well, by their checksums.

    >>> key_of(Scope("acme")) == key_of(Scope("acme")) != key_of(Scope("acme", user="jane"))
    True
    """
    digest = hashlib.blake2b(frame(*names_of(scope)), digest_size=8).digest()
    return Key(home_of(scope), int.from_bytes(digest, "big") >> 1, scope)


def can_hold(scope: Scope) -> bool:
    """Whether the tables can have this scope: a text of PostgreSQL holds every character but NUL."""
    return "\0" not in scope.tenant and "\0" not in (scope.user or "") and "\0" not in (scope.agent or "")


def stored_id(id: RowId) -> bytes:
    """Return an id as the rows have it; integers in decimal digits."""
    return (id if isinstance(id, str) else str(id)).encode()


class Unreadable(bytes):
    """A stored id that is none of the index's kind."""


def id_of(data: bytes, kind: str | None) -> Any:
    """Return the id of stored bytes, of the kind "str" or "int"; :class:`Unreadable` if they are none."""
    try:
        return int(data) if kind == "int" else data.decode()
    except ValueError:
        return Unreadable(data)
