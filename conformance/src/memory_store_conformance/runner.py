"""Running checks one by one, each with its own stores and a time limit."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from memory_store_conformance.catalogue import all_checks
from memory_store_conformance.context import Context
from memory_store_conformance.contract import capabilities
from memory_store_conformance.factories import Factory
from memory_store_conformance.outcomes import NotOffered, Violation
from memory_store_conformance.registry import Check
from memory_store_conformance.report import Report, Result

__all__ = ["run_check", "validate"]

TIME_LIMIT_SECONDS = 600.0


def validate(
    factory: Factory,
    *,
    only: Iterable[str] = (),
    name: str | None = None,
    on_result: Callable[[Result], None] | None = None,
    time_limit: float = TIME_LIMIT_SECONDS,
) -> Report:
    """Run the checks against the stores that a factory opens.

    Args:
        factory: maps a :class:`Setting` to a :class:`Store`. The durability checks start processes that import it, so
            for them it must be a function of a module.
        only: levels or ids of checks; empty: all.
        name: the store's name in the report; by default the factory's.
        on_result: called with each result as soon as it is known.
        time_limit: of each check, in seconds.

    Raises:
        ValueError: `only` names an unknown check, or the store declares an unknown capability.

    Exceptions of the factory itself are raised, because a store that cannot be opened cannot be judged.
    """
    checks = all_checks(only)
    offered = _offered(factory)
    results = []
    for check in checks:
        result = run_check(check, factory, offered, time_limit)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return Report(name or str(getattr(factory, "__name__", "store")), sorted(offered), results)


def _offered(factory: Factory) -> frozenset[str]:
    context = Context(factory)
    try:
        return capabilities(context.open())
    finally:
        context.clean_up()


def run_check(one: Check, factory: Factory, offered: frozenset[str], time_limit: float) -> Result:
    """Run one check on a separate thread, so that a hanging store fails the check and not the run."""
    missing = one.needs - offered
    if missing:
        return Result.of(one, "not offered", f"needs {', '.join(sorted(missing))}", 0.0)
    outcome: list[tuple[str, str, dict[str, Any] | None]] = []
    context = Context(factory)
    thread = threading.Thread(target=lambda: outcome.append(_attempt(one, context)), daemon=True)
    start = time.monotonic()
    thread.start()
    thread.join(time_limit)
    seconds = time.monotonic() - start
    if not outcome:
        stack = f"no answer within {time_limit:.0f} s"
        return Result.of(one, "failed", stack, seconds)
    result, evidence, figures = outcome[0]
    return Result.of(one, result, context.without_paths(evidence), seconds, figures)


def _attempt(one: Check, context: Context) -> tuple[str, str, dict[str, Any] | None]:
    try:
        figures = one.run(context)
        return ("measured" if one.level == "costs" else "passed", "", figures)
    except Violation as violation:
        return ("failed", str(violation), None)
    except (NotOffered, NotImplementedError) as reason:
        return ("not offered", str(reason) or "not implemented", None)
    except Exception as error:  # noqa: BLE001 - a store may raise anything
        where = traceback.extract_tb(error.__traceback__)
        own = [
            frame for frame in where if "memory_store_conformance/checks" in frame.filename.replace("\\", "/")
        ]
        line = f" at {own[-1].line!r}" if own else ""
        message = " ".join(str(error).split())[:300]
        return ("failed", f"raised {type(error).__name__}: {message}{line}", None)
    finally:
        context.clean_up()
