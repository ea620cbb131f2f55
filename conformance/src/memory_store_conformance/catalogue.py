"""All checks, in order; their modules are imported when the checks are first asked for, not with the plugin."""

from __future__ import annotations

from collections.abc import Iterable

from memory_store_conformance.registry import LEVELS, Check, registered

__all__ = ["all_checks"]


def all_checks(only: Iterable[str] = ()) -> list[Check]:
    """Return the checks, level by level, restricted to the ids and levels in `only` unless it is empty."""
    import memory_store_conformance.checks  # noqa: F401 - registers them

    names = list(only)
    checks = registered()
    unknown = [name for name in names if name not in LEVELS and all(one.id != name for one in checks)]
    if unknown:
        raise ValueError(f"only: expected levels or ids of checks, got {unknown}")
    order = list(LEVELS)
    wanted = [one for one in checks if not names or one.id in names or one.level in names]
    return sorted(wanted, key=lambda one: order.index(one.level))
