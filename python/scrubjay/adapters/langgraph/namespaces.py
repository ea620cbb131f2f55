"""Namespaces as scopes: the items of one namespace are one partition, and nothing else is in it.

An item is stored once, in the scope of its namespace. A search in a namespace that has none below it is one native
search, with the statistics of that namespace alone; what lies elsewhere (other users' memories) changes neither its
scores nor its order nor its cost. A search below a prefix looks at the namespaces there
(:mod:`scrubjay.adapters.langgraph.directory`) and ranks what they have together.

Labels hold no period, so joined by periods they name a namespace unambiguously; ``.`` is the empty prefix.
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
"""The tenant of stores that are opened without one."""

_HOME = "."


def checked_labels(namespace: Any) -> Namespace:
    """Return a namespace, prefix or path of one as a tuple.

    Raises:
        InvalidNamespaceError: a label is not a str, empty, or holds a period, NUL or what UTF-8 cannot encode.

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
    """Return a namespace that an item may be put into.

    Raises:
        InvalidNamespaceError: it is empty, or a label is wrong. (LangGraph's `put` refuses ``langgraph`` as the root of
            an application's items.)
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
    """Return the scope that a part of an item is written to.

    Only the first part lives in the home of the namespace, so that a home has as many documents as items. The others
    lie beside it, where the home sees them.

    >>> scope_of("acme", ("jane",), 0), scope_of("acme", ("jane",), 1)
    (Scope('acme', user='jane', agent='.'), Scope('acme', user='jane'))
    """
    return Scope(tenant, user=".".join(namespace)) if part else home_of(tenant, namespace)


def all_homes(tenant: str) -> Scope:
    """Return the scope that every home of a tenant agrees with."""
    return Scope(tenant, agent=_HOME)


def namespace_of(scope: Scope) -> Namespace:
    """Return the namespace that a scope is the home of.

    >>> namespace_of(Scope("acme", user="memories.jane", agent="."))
    ('memories', 'jane')
    """
    return tuple((scope.user or "").split("."))


def document_id(namespace: Namespace, key: str, part: int) -> str:
    """Return the id of a part of an item: any text may be a key, and not all of them may be an id."""
    named = json.dumps([namespace, key]).encode()
    return f"{hashlib.blake2b(named, digest_size=20).hexdigest()}-{part}"


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the namespaces that an operation asks for: matched, cut to its depth, sorted, its page of them."""
    conditions = op.match_conditions or ()
    found = {n[: op.max_depth] for n in namespaces if all(_matches(one, n) for one in conditions)}
    return sorted(found)[op.offset : op.offset + op.limit]


def path_of(condition: MatchCondition) -> Namespace:
    """Return the labels of a condition; a str, as LangGraph's own tests have it, is one label.

    Raises:
        InvalidNamespaceError: a label is none.

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
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
