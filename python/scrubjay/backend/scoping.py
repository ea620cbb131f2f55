"""Scopes from the names by which a framework identifies owners.

A framework has `user_id`, `app_name`, paths such as ``/company/team``, or tuples of labels. Each becomes one component
of a :class:`scrubjay.Scope`, exactly: different names never become the same scope, and a missing name never becomes a
scope that everybody shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from scrubjay._native import Scope

NOBODY = "."
"""The component for "no particular user or agent", which is shared with none."""

Names: TypeAlias = "str | tuple[str, ...] | None"


def joined(parts: Sequence[str]) -> str:
    """Join several texts into one, injectively; :func:`parted` is the inverse.

    A prefix of `parts` gives a prefix of the text that ends before a ``/``.

    >>> joined(["memories", "jane"]), joined(["memories/jane"]), joined(["50%"])
    ('memories/jane', 'memories%2Fjane', '50%25')
    """
    for part in parts:
        if not isinstance(part, str) or not part:
            raise ValueError(f"parts: expected texts that are not empty, got {part!r}")
    if not parts:
        raise ValueError("parts: expected at least one text, got none")
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def parted(text: str) -> tuple[str, ...]:
    """Split what :func:`joined` joined.

    >>> parted("memories%2Fjane/50%25")
    ('memories/jane', '50%')
    """
    return tuple(part.replace("%2F", "/").replace("%25", "%") for part in text.split("/"))


@dataclass(frozen=True)
class ScopeMap:
    """A mapping of a framework's names to the components of a scope.

    Args:
        tenant: the tenant of all scopes, usually a parameter of the adapter.
        user: the framework's name for the user, or several names that form the component together; None: no user.
        agent: the same for the agent (a session, an assistant, a run).
        tenant_of: a name whose value replaces `tenant`; it is then required.
        absent: the meaning of a name without a value (None or absent). "refuse": ValueError. "nobody": a component of
            its own, :data:`NOBODY`, that shares nothing. "shared": no component, so all users (agents) of the tenant
            see it.
    >>> names = ScopeMap("acme", user="user_id", agent=("app", "session"), absent="nobody")
    >>> names.scope(user_id="jane", app="notes", session="s1")
    Scope('acme', user='jane', agent='notes/s1')
    >>> names.scope(user_id="jane")
    Scope('acme', user='jane', agent='.')
    >>> names.names(Scope("acme", user="jane", agent="notes/s1"))
    {'user_id': 'jane', 'app': 'notes', 'session': 's1'}
    """

    tenant: str
    user: Names = None
    agent: Names = None
    tenant_of: str | None = None
    absent: Literal["refuse", "nobody", "shared"] = "refuse"

    def __post_init__(self) -> None:
        Scope(self.tenant)
        if self.absent not in ("refuse", "nobody", "shared"):
            raise ValueError(f"absent: expected 'refuse', 'nobody' or 'shared', got {self.absent!r}")

    def scope(self, given: Mapping[str, Any] | None = None, /, **names: Any) -> Scope:
        """Return the scope for the names in a call of the framework; others are ignored.

        Args:
            given, names: the names, as a mapping or by keyword.

        Raises:
            TypeError: a value is not a str.
            ValueError: a value is empty or equal to NOBODY, or a required one is missing.
        """
        known = {**(given or {}), **names}
        tenant = self.tenant
        if self.tenant_of is not None:
            tenant = _value(known, self.tenant_of) or _refused(self.tenant_of)
        return Scope(tenant, self._component(self.user, known), self._component(self.agent, known))

    def names(self, scope: Scope) -> dict[str, str]:
        """Return the framework's names for a scope that :meth:`scope` returned."""
        components: dict[str, str] = {}
        if self.tenant_of is not None:
            components[self.tenant_of] = scope.tenant
        for names, component in ((self.user, scope.user), (self.agent, scope.agent)):
            if names is None or component is None or component == NOBODY:
                continue
            if isinstance(names, str):
                components[names] = component
            else:
                components.update(
                    (name, part)
                    for name, part in zip(names, parted(component), strict=False)
                    if part != NOBODY
                )
        return components

    def _component(self, names: Names, known: Mapping[str, Any]) -> str | None:
        if names is None:
            return None
        several = (names,) if isinstance(names, str) else names
        values = [_value(known, name) for name in several]
        if self.absent == "refuse":
            for name, value in zip(several, values, strict=True):
                if value is None:
                    _refused(name)
        if all(value is None for value in values):
            return None if self.absent == "shared" else NOBODY
        if isinstance(names, str):
            return values[0]
        return joined([NOBODY if value is None else value for value in values])


def _value(known: Mapping[str, Any], name: str) -> str | None:
    value = known.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    if not value or value == NOBODY:
        raise ValueError(f"{name}: expected a name other than '' and {NOBODY!r}, got {value!r}")
    return value


def _refused(name: str) -> str:
    raise ValueError(f"{name}: expected a name, it is missing; without it nothing says whose this is")
