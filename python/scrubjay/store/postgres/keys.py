"""The keys of rows: the home of a scope, the hash of its names, ids as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import frame
from scrubjay.store.rows.values import RowId

MOST_BUCKETS = 4096
"""The maximum number of buckets of one tenant's users."""
_SIGN = "#"


class Key(NamedTuple):
    """The key of the rows of one exact scope: its home and a hash of its names."""

    home: str
    number: int
    scope: Scope


@dataclass(frozen=True)
class Homes:
    """The assignment of rows to homes. A home is the unit that a write locks and a server shards by, and a
    statement names one.

    Without buckets the home is the tenant. With buckets the rows of a user are in one of the tenant's buckets, by
    a hash of the user's name, and rows without a user are in the tenant's own home, which sorts before its
    buckets.

    >>> Homes().of(Scope("acme", user="jane")), Homes(64).of(Scope("acme"))
    ('acme', 'acme')
    >>> Homes(64).of(Scope("acme", user="jane")), Homes(64).tenant("acme#40")
    ('acme#40', 'acme')

    A tenant may have the separator in its name; its own home then ends with the separator.

    >>> Homes(64).own("a#3"), Homes(64).tenant("a#3"), Homes(64).tenant("a#3#"), Homes(64).tenant("a#3#5")
    ('a#3#', 'a', 'a#3', 'a#3')
    """

    user_homes: int = 0
    """The number of buckets for the users of each tenant."""

    def own(self, tenant: str) -> str:
        """Return the home of a tenant's rows without a user ("": rows that belong to all tenants)."""
        return tenant + _SIGN if self.user_homes and _SIGN in tenant else tenant

    def of_user(self, tenant: str, user: str | None) -> str:
        """Return the home of the rows of a user; without a user the tenant's own."""
        if not self.user_homes or not user:
            return self.own(tenant)
        digest = hashlib.blake2b(user.encode(), digest_size=8).digest()
        return f"{tenant}{_SIGN}{int.from_bytes(digest, 'big') % self.user_homes}"

    def of(self, scope: Scope) -> str:
        """Return the home of an exact scope."""
        return self.key(scope).home

    def key(self, scope: Scope) -> Key:
        """Return the key of a scope, a hash of 63 bits. Checksums of rows cover the names as well, so collisions
        are detected.

        >>> Homes().key(Scope("acme")) == Homes().key(Scope("acme")) != Homes().key(Scope("acme", user="jane"))
        True
        """
        return _key(self, scope)

    def tenant(self, home: str) -> str:
        """Return the tenant of a home."""
        return home.rpartition(_SIGN)[0] if self.user_homes and _SIGN in home else home

    def is_own(self, home: str) -> bool:
        """Whether it is the own home of a tenant, not a bucket of its users."""
        return home == self.own(self.tenant(home))

    def part(self, home: str) -> int:
        """Return the number of a home within its tenant: 0 for its own, 1 and more for a bucket.

        >>> Homes(64).part("acme"), Homes(64).part("acme#0"), Homes().part("acme#0")
        (0, 1, 0)
        """
        return 0 if self.is_own(home) else int(home.rpartition(_SIGN)[2]) + 1

    def all(self, tenant: str) -> list[str]:
        """Return every possible home of a tenant, its own first."""
        buckets = sorted(f"{tenant}{_SIGN}{bucket}" for bucket in range(self.user_homes))
        return [self.own(tenant), *buckets]

    def within(self, scope: Scope, *, exact: bool = False) -> list[str]:
        """Return the homes of the scopes that agree with `scope`; with `exact` the home of exactly this scope."""
        if exact or scope.user is not None:
            return [self.of(scope)]
        return self.all(scope.tenant)

    def asked_within(self, scope: Scope) -> list[str]:
        """Return the homes of feedback written from within a scope: the homes of all visible scopes."""
        if scope.user is None:
            return self.all(scope.tenant)
        return sorted({self.own(scope.tenant), self.of(scope)})

    def by_home(self, scopes: Iterable[Scope]) -> Iterator[tuple[str, Sequence[Key]]]:
        """Yield each home of exact scopes with their keys; scopes that the tables cannot store are omitted."""
        keys = sorted((self.key(scope) for scope in scopes if can_hold(scope)), key=itemgetter(0, 1))
        for home, group in groupby(keys, key=itemgetter(0)):
            yield home, list(group)


def checked_user_homes(given: Any) -> int | None:
    """Return a valid number of buckets, or raise TypeError or ValueError."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"user_homes: expected an int or None, got {type(given).__name__}")
    if not 0 <= given <= MOST_BUCKETS:
        raise ValueError(f"user_homes: expected 0 to {MOST_BUCKETS}, got {given}")
    return given


@lru_cache(maxsize=4096)
def _key(homes: Homes, scope: Scope) -> Key:
    digest = hashlib.blake2b(frame(*names_of(scope)), digest_size=8).digest()
    home = homes.of_user(scope.tenant, scope.user)
    return Key(home, int.from_bytes(digest, "big") >> 1, scope)


def can_hold(scope: Scope) -> bool:
    """Whether the tables can store this scope: texts of PostgreSQL cannot contain NUL."""
    return "\0" not in scope.tenant and "\0" not in (scope.user or "") and "\0" not in (scope.agent or "")


def stored_id(id: RowId) -> bytes:
    """Return an id in stored form; integers in decimal digits."""
    return (id if isinstance(id, str) else str(id)).encode()


class Unreadable(bytes):
    """A stored id that is invalid for the index's kind."""


def id_of(data: bytes, kind: str | None) -> Any:
    """Decode a stored id of kind "str" or "int"; :class:`Unreadable` if it is invalid."""
    try:
        return int(data) if kind == "int" else data.decode()
    except ValueError:
        return Unreadable(data)
