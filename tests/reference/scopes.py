"""Visibility of documents by scope, and the order of equal scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class AnyScope(Protocol):
    """The model's own scope or the native one: three read-only components."""

    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str | None: ...
    @property
    def agent(self) -> str | None: ...


Key = tuple[str, str | None, str | None]
"""An exact scope, as a plain value."""
DocumentKey = tuple[Key, str | int]
"""(exact scope, id): identifies one document. The same id in another scope is another document."""


@dataclass(frozen=True)
class Scope:
    """The model's scope. None means: shared by all users, or agents, of the tenant."""

    tenant: str
    user: str | None = None
    agent: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("tenant", self.tenant), ("user", self.user), ("agent", self.agent)):
            if value is None and name != "tenant":
                continue
            if not isinstance(value, str):
                raise TypeError(f"{name}: expected str, got {type(value).__name__}")
            if not value:
                raise ValueError(f"{name}: expected a non-empty str, got ''")
            if any(0xD800 <= ord(character) < 0xE000 for character in value):
                raise ValueError(f"{name}: expected text that can be encoded as UTF-8, got {value!r}")


def key(scope: AnyScope) -> Key:
    """Return the exact partition of a scope."""
    return scope.tenant, scope.user, scope.agent


def visible_partitions(scope: AnyScope) -> list[Key]:
    """Return the partitions visible from `scope`, in the order in which ties are broken."""
    tenant, user, agent = key(scope)
    partitions: list[Key] = [(tenant, None, None)]
    if user is not None:
        partitions.append((tenant, user, None))
    if agent is not None:
        partitions.append((tenant, None, agent))
    if user is not None and agent is not None:
        partitions.append((tenant, user, agent))
    return partitions


def visible_together(scopes: Iterable[AnyScope]) -> list[Key]:
    """Return the partitions visible from any of several scopes, without repetition, in the order of tie-breaking."""
    return list(dict.fromkeys(partition for scope in scopes for partition in visible_partitions(scope)))


def most_specific_together(scopes: Iterable[AnyScope]) -> list[Key]:
    """Return the same in the order in which an id without a scope is resolved: user and agent, user, agent, tenant."""
    return sorted(visible_together(scopes), key=lambda home: (home[1] is None, home[2] is None))


def most_specific_first(scope: AnyScope) -> list[Key]:
    """Return the visible partitions in the order in which a reader of one id searches: a user's before an agent's."""
    tenant, user, agent = key(scope)
    wanted: list[Key] = [
        (tenant, user, agent),
        (tenant, user, None),
        (tenant, None, agent),
        (tenant, None, None),
    ]
    return list(dict.fromkeys(wanted))


def erased_by(scope: AnyScope, partition: Key, *, exact: bool) -> bool:
    """Whether erase(scope, exact=exact) removes `partition`: every one that agrees in all given components, or only
    one."""
    if exact:
        return partition == key(scope)
    return all(wanted is None or wanted == have for wanted, have in zip(key(scope), partition, strict=True))
