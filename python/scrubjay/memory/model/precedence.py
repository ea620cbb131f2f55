"""Precedence between a tenant's policies and global ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from scrubjay._native import Scope
from scrubjay.memory.model.records import Policy

EVERYWHERE = ""
"""The tenant column of a global policy."""

_P = TypeVar("_P", bound=Policy)


def tenant_of(given: str | Scope) -> Scope:
    """Return the scope of a tenant, given its name or any of its scopes."""
    return Scope(given.tenant if isinstance(given, Scope) else given)


def prevailing(own: Mapping[str, _P], everywhere: Iterable[_P]) -> list[_P]:
    """Return the policies that apply, of a tenant's policies in force (by key) and the global ones, ordered by key."""
    found = dict(own)
    for policy in everywhere:
        if policy.mandatory or policy.key not in own:
            found[policy.key] = policy
    return [found[key] for key in sorted(found)]
