"""Sensitivity: the class of a record, given with it or determined by a hook of the caller.

The hook suits a detector of personal data: it sees every candidate before anything is written, and may reject it.
Reading calls can exclude classes (`without`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scrubjay.memory.model.content import MAX_NAME_CHARS, checked_str
from scrubjay.memory.model.refusal import Refusal

Classify = Callable[[Any], "str | None"]
"""Returns the sensitivity of a candidate; None or "": none. If it raises, the candidate is rejected."""


def checked_classifier(classify: Any) -> Classify | None:
    """Return the hook of a memory.

    Raises:
        TypeError: it is not callable.
    """
    if classify is not None and not callable(classify):
        raise TypeError(f"classify: expected a function of a candidate, got {type(classify).__name__}")
    return classify  # type: ignore[no-any-return]


def classified(classify: Classify | None, candidate: Any) -> Any:
    """Return a candidate with its sensitivity: its own, or the one that the hook returns.

    Raises:
        Refusal: the hook raised, or returned something other than a short str.
    """
    if classify is None or getattr(candidate, "sensitivity", None) != "":
        return candidate
    try:
        found = classify(candidate)
    except Exception as error:  # noqa: BLE001 - a finder of another project raises errors of its own
        raise Refusal(f"classify: {str(error)[:500] or type(error).__name__}") from None
    if not found:
        return candidate
    if not isinstance(found, str) or len(found) > MAX_NAME_CHARS:
        raise Refusal(
            f"classify: expected a str of at most {MAX_NAME_CHARS} characters, got {type(found).__name__}"
        )
    return replace(candidate, sensitivity=found)


def checked_without(without: Sequence[str]) -> frozenset[str]:
    """Return the sensitivity classes that a call excludes.

    Raises:
        TypeError: not a sequence of str.
        ValueError: one is empty: records without a class cannot be excluded.

    >>> sorted(checked_without(["secret", "health"]))
    ['health', 'secret']
    """
    if isinstance(without, (str, bytes)) or not isinstance(without, (Sequence, set, frozenset)):
        raise TypeError(f"without: expected a sequence of classes, got {type(without).__name__}")
    classes = frozenset(checked_str(name, f"without[{i}]") for i, name in enumerate(without))
    if "" in classes:
        raise ValueError("without: expected names of classes, got an empty one")
    return classes


def not_of(classes: frozenset[str], filter: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a filter that also excludes classes.

    >>> not_of(frozenset({"secret"}), None)
    {'$not': {'sensitivity': {'$in': ['secret']}}}
    """
    if not classes:
        return filter
    allowed: dict[str, Any] = {"$not": {"sensitivity": {"$in": sorted(classes)}}}
    return allowed if filter is None else {"$and": [filter, allowed]}
