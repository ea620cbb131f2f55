"""Sensitivity: the class of a fact or episode, given with it or found by a hook of the caller's.

A hook that finds personal data fits here: it sees every candidate before anything is written, and may refuse it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scrubjay.memory.checking import Unfit
from scrubjay.memory.content import MAX_NAME_CHARS
from scrubjay.memory.rows import FactRow
from scrubjay.memory.statements import detail_in

__all__ = ["Classify", "checked_classifier", "classified", "merged_detail"]

Classify = Callable[[Any], "str | None"]
"""Says the sensitivity of a candidate; None or "": none. What it raises refuses the candidate."""


def checked_classifier(classify: Any) -> Classify | None:
    """Return the hook of a memory.

    Raises:
        TypeError: it is no function.
    """
    if classify is not None and not callable(classify):
        raise TypeError(f"classify: expected a function of a candidate, got {type(classify).__name__}")
    return classify  # type: ignore[no-any-return]


def classified(classify: Classify | None, candidate: Any) -> Any:
    """Return a candidate with its class: its own, or what the hook says.

    Raises:
        Unfit: the hook raised, or said something else than a short str.
    """
    if classify is None or getattr(candidate, "sensitivity", None) != "":
        return candidate
    try:
        found = classify(candidate)
    except Exception as error:  # noqa: BLE001 - a finder of another project raises errors of its own
        raise Unfit(f"classify: {str(error)[:500] or type(error).__name__}") from None
    if not found:
        return candidate
    if not isinstance(found, str) or len(found) > MAX_NAME_CHARS:
        raise Unfit(
            f"classify: expected a str of at most {MAX_NAME_CHARS} characters, got {type(found).__name__}"
        )
    return replace(candidate, sensitivity=found)


def merged_detail(held: FactRow, restated: bytes | None, *, valued: bool) -> bytes | None:
    """Return the detail of a fact that is said again.

    Args:
        held: as it is known.
        restated: the detail of what is said now.
        valued: whether that brings the value that the fact lacked, and with it the rest.

    A class that the fact has stays; one that it lacked is taken over.
    """
    before, again = dict(detail_in(held)), {} if restated is None else json.loads(restated)
    merged = {**before, **again} if valued else dict(before)
    sensitivity = before.get("sensitivity") or again.get("sensitivity")
    if sensitivity:
        merged["sensitivity"] = sensitivity
    if merged == before:
        return held.detail
    return json.dumps(merged, separators=(",", ":")).encode()
