"""What finds rows: the home of a scope, the key of its names, ids as bytes."""

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
from scrubjay.store.rows.stored import RowId

MOST_BUCKETS = 4096
"""Of one tenant's users."""
_SIGN = "#"


class Key(NamedTuple):
    """What the rows of one exact scope have in common: its home and a hash of its names."""

    home: str
    number: int
    scope: Scope


@dataclass(frozen=True)
class Homes:
    """Where rows are: the unit that a write locks, that a server shards by, and that a statement names one of.

    Without buckets a home is a tenant. With them the rows of a user are in one of the tenant's buckets, by a hash of
    the user's name, and what has no user is in the tenant's own home. A tenant's own home sorts before its buckets.

    >>> Homes().of(Scope("acme", user="jane")), Homes(64).of(Scope("acme"))
    ('acme', 'acme')
    >>> Homes(64).of(Scope("acme", user="jane")), Homes(64).tenant("acme#40")
    ('acme#40', 'acme')

    A name that holds the sign is a tenant's like any other: its own home ends in the sign.

    >>> Homes(64).own("a#3"), Homes(64).tenant("a#3"), Homes(64).tenant("a#3#"), Homes(64).tenant("a#3#5")
    ('a#3#', 'a', 'a#3', 'a#3')
    """

    user_homes: int = 0
    """How many buckets the users of each tenant are in."""

    def own(self, tenant: str) -> str:
        """Return the home of what a tenant has without a user ("": of what belongs to all tenants)."""
        return tenant + _SIGN if self.user_homes and _SIGN in tenant else tenant

    def of_user(self, tenant: str, user: str | None) -> str:
        """Return the home of what a user of a tenant has; of none, the tenant's own."""
        if not self.user_homes or not user:
            return self.own(tenant)
        digest = hashlib.blake2b(user.encode(), digest_size=8).digest()
        return f"{tenant}{_SIGN}{int.from_bytes(digest, 'big') % self.user_homes}"

    def of(self, scope: Scope) -> str:
        """Return the home of an exact scope."""
        return self.key(scope).home

    def key(self, scope: Scope) -> Key:
        """Return the key of a scope: 63 bits of a hash. Rows are held to the names as well, by their checksums.

        >>> Homes().key(Scope("acme")) == Homes().key(Scope("acme")) != Homes().key(Scope("acme", user="jane"))
        True
        """
        return _key(self, scope)

    def tenant(self, home: str) -> str:
        """Return whose home it is."""
        return home.rpartition(_SIGN)[0] if self.user_homes and _SIGN in home else home

    def is_own(self, home: str) -> bool:
        """Whether it is the home of a tenant itself, not a bucket of its users."""
        return home == self.own(self.tenant(home))

    def part(self, home: str) -> int:
        """Return which of a tenant's homes it is: 0 for its own, 1 and more for a bucket.

        >>> Homes(64).part("acme"), Homes(64).part("acme#0"), Homes().part("acme#0")
        (0, 1, 0)
        """
        return 0 if self.is_own(home) else int(home.rpartition(_SIGN)[2]) + 1

    def all(self, tenant: str) -> list[str]:
        """Return every home that a tenant may have, its own first."""
        buckets = sorted(f"{tenant}{_SIGN}{bucket}" for bucket in range(self.user_homes))
        return [self.own(tenant), *buckets]

    def within(self, scope: Scope, *, exact: bool = False) -> list[str]:
        """Return the homes in which scopes are that agree with each component that `scope` names; with `exact` that of
        precisely this scope."""
        if exact or scope.user is not None:
            return [self.of(scope)]
        return self.all(scope.tenant)

    def asked_within(self, scope: Scope) -> list[str]:
        """Return the homes of what may be noted of those who asked from within a scope: of all that they see."""
        if scope.user is None:
            return self.all(scope.tenant)
        return sorted({self.own(scope.tenant), self.of(scope)})

    def by_home(self, scopes: Iterable[Scope]) -> Iterator[tuple[str, Sequence[Key]]]:
        """Yield each home of exact scopes with their keys; what the tables cannot hold is left out."""
        keys = sorted((self.key(scope) for scope in scopes if can_hold(scope)), key=itemgetter(0, 1))
        for home, group in groupby(keys, key=itemgetter(0)):
            yield home, list(group)


def checked_user_homes(given: Any) -> int | None:
    """Return a number of buckets as a caller gives it, or raise TypeError or ValueError."""
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
