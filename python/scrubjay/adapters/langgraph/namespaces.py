"""Namespaces as scopes: each namespace is one partition, which holds nothing but its items.

An item is stored once, in the scope of its namespace. A search in a namespace without descendants is one native search,
with the statistics of that namespace alone; items elsewhere (other users' memories) change neither its scores nor its
order nor its cost. A search below a prefix visits the namespaces there (:class:`scrubjay.backend.ScopeTree`) and ranks
their items together.

Labels contain no period, so a namespace is its labels joined by periods, unambiguously; ``.`` is the empty prefix.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import InvalidNamespaceError, ListNamespacesOp, MatchCondition

from scrubjay._native import Scope

Namespace = tuple[str, ...]

NO_TENANT = "."
"""The tenant of stores that are opened without a tenant."""

_HOME = "."


def checked_labels(namespace: Any) -> Namespace:
    """Return a namespace, a prefix or a path as a tuple.

    Raises:
        InvalidNamespaceError: a label is not a str, is empty, or contains a period, NUL or text invalid in UTF-8.

    >>> checked_labels(["memories", "jane"])
    ('memories', 'jane')
    """
    if isinstance(namespace, str) or not isinstance(namespace, (tuple, list)):
        raise InvalidNamespaceError(f"namespace: expected a tuple of str, got {type(namespace).__name__}")
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(f"namespace: expected labels of type str, got {_shown(label)}")
        if not label:
            raise InvalidNamespaceError(
                f"namespace: expected labels that are not empty, got {_shown(namespace)}"
            )
        if "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"namespace: expected labels without a period or NUL character, got {_shown(label)}"
            )
    joined = "".join(namespace)
    try:
        n_bytes = len(joined.encode()) + len(namespace)
    except UnicodeEncodeError:
        raise InvalidNamespaceError(
            f"namespace: expected labels that UTF-8 can encode, got {_shown(namespace)}"
        ) from None
    if n_bytes > 65_000:
        raise InvalidNamespaceError(f"namespace: expected at most 65,000 bytes, got {n_bytes:,}")
    return tuple(namespace)


def checked_namespace(namespace: Any) -> Namespace:
    """Return a namespace of an item, checked.

    Raises:
        InvalidNamespaceError: it is empty, or a label is invalid. (LangGraph's `put` refuses ``langgraph`` as the root
            of an application's items.)
    """
    labels = checked_labels(namespace)
    if not labels:
        raise InvalidNamespaceError("namespace: expected at least one label, got ()")
    return labels


def home_of(tenant: str, namespace: Namespace) -> Scope:
    """Return the scope from which a search sees the items of a namespace.

    >>> home_of("acme", ("memories", "jane"))
    Scope('acme', user='memories.jane', agent='.')
    """
    return Scope(tenant, user=".".join(namespace) or ".", agent=_HOME)


def scope_of(tenant: str, namespace: Namespace, part: int) -> Scope:
    """Return the scope of a part of an item.

    Only the first part is in the home of the namespace, so that a home has as many documents as items. The others are
    in the scope without an agent, which the home sees.

    >>> scope_of("acme", ("jane",), 0), scope_of("acme", ("jane",), 1)
    (Scope('acme', user='jane', agent='.'), Scope('acme', user='jane'))
    """
    return Scope(tenant, user=".".join(namespace)) if part else home_of(tenant, namespace)


def all_homes(tenant: str) -> Scope:
    """Return the scope that covers every home of a tenant."""
    return Scope(tenant, agent=_HOME)


def namespace_of(scope: Scope) -> Namespace:
    """Return the namespace of a home.

    >>> namespace_of(Scope("acme", user="memories.jane", agent="."))
    ('memories', 'jane')
    """
    return tuple((scope.user or "").split("."))


def document_id(namespace: Namespace, key: str, part: int) -> str:
    """Return the id of a part of an item: a hash, because any text may be a key but not every text is a valid id."""
    named = json.dumps([namespace, key]).encode()
    return f"{hashlib.blake2b(named, digest_size=20).hexdigest()}-{part}"


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the page of namespaces that an operation asks for: filtered, cut to its depth, sorted."""
    conditions = op.match_conditions or ()
    matches = {
        n[: op.max_depth] for n in namespaces if all(_matches(condition, n) for condition in conditions)
    }
    return sorted(matches)[op.offset : op.offset + op.limit]


def path_of(condition: MatchCondition) -> Namespace:
    """Return the labels of a condition; a str, as LangGraph's own tests have it, counts as one label.

    Raises:
        InvalidNamespaceError: a label is invalid.

    >>> path_of(MatchCondition("suffix", "public"))
    ('public',)
    """
    path: Any = condition.path
    return checked_labels((path,) if isinstance(path, str) else path)


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = path_of(condition)
    if len(namespace) < len(path):
        return False
    labels = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(pattern in ("*", label) for pattern, label in zip(path, labels, strict=True))


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
