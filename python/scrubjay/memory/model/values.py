"""Values of policies and preferences: any JSON value beside the text that a prompt shows.

The text is the one given, or else the value as JSON on one line. If no value was given, the value is the text. Fields
that no query needs are stored as one JSON object in the column `detail`: `value`, `type` and `mandatory` of a policy,
`value` and `type` of a preference, `title` of an episode, and the `sensitivity` of each; NULL if all are empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from scrubjay.documents import payload
from scrubjay.memory.model.content import MAX_CHARS, checked_str, normalised

MAX_VALUE_BYTES = 4 * MAX_CHARS
"""Maximum length of a value as JSON."""

Validators = Mapping[str, Callable[[Any], object]]
"""Key of a policy or preference -> function that checks its values."""

_C = TypeVar("_C")


def said(text: Any, value: Any) -> tuple[Any, Any]:
    """Return the text and the value of a call that may have passed the value as its text.

    >>> said(25, None), said("Under 500 USD.", {"usd": 500})
    (('', 25), ('Under 500 USD.', {'usd': 500}))
    """
    if value is None and isinstance(text, (bool, int, float, list, tuple, Mapping)):
        return "", text
    return text, value


def text_of(value: Any) -> str:
    """Return the text that shows a value given without one: a str as it is, any other value as JSON on one line.

    >>> text_of({"max_auto_approve_usd": 500}), text_of("json"), text_of(True)
    ('{"max_auto_approve_usd": 500}', 'json', 'true')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def with_text(candidate: _C) -> _C:
    """Return a candidate of a policy or preference with its value in JSON types, and with a text.

    Raises:
        TypeError, ValueError: the value is not JSON; the message says where.
    """
    untyped: Any = candidate
    if untyped.value is None:
        return candidate
    value = payload.checked_value(untyped.value, "value")
    try:
        text = untyped.text if untyped.text != "" else text_of(value)
        json.dumps(value)
    except ValueError as error:  # an int with thousands of digits
        raise ValueError(f"value: {error}") from None
    is_text = value == checked_str(text, "text")  # the stored form of the text
    filled: _C = replace(untyped, text=text, value=None if is_text else value)
    return filled


def kept_detail(**fields: Any) -> bytes | None:
    """Return the content of the column `detail`; None and empty fields are omitted.

    >>> kept_detail(value=0, type=""), kept_detail(value=None, type="")
    (b'{"value":0}', None)
    """
    present = {
        name: value
        for name, value in fields.items()
        if value is not None and (name == "value" or value not in ("", False))
    }
    return json.dumps(present, separators=(",", ":")).encode() if present else None


def is_same(held: Any, text: str, detail: bytes | None) -> bool:
    """Whether a row has this text and this detail; `1`, `1.0` and `true` differ, the order of keys does not matter.

    A row with a sensitivity equals a statement without one, and vice versa.
    """
    before, again = _loaded(held.detail), _loaded(detail)
    classes = before.pop("sensitivity", ""), again.pop("sensitivity", "")
    if all(classes) and classes[0] != classes[1]:
        return False
    return normalised(held.text) == normalised(text) and _canonical(before) == _canonical(again)


def _loaded(detail: bytes | None) -> dict[str, Any]:
    return {} if detail is None else dict(json.loads(detail))


def _canonical(detail: dict[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True)


def checked_validators(validate: Any) -> Validators:
    """Return the validators of a memory.

    Raises:
        TypeError: not a mapping of keys to functions.
    """
    if validate is None:
        return {}
    if not isinstance(validate, Mapping):
        raise TypeError(f"validate: expected a mapping of keys to functions, got {type(validate).__name__}")
    for key, check in validate.items():
        if not isinstance(key, str) or not callable(check):
            raise TypeError(f"validate[{key!r}]: expected a function of a value under the name of a key")
    return dict(validate)


def fault(validators: Validators, candidate: Any) -> str:
    """Return the reason why the value of a candidate is invalid; empty if it is valid, or no validator has its key.

    A validator rejects by raising (the error is the reason) or by returning False.
    """
    check = validators.get(candidate.key)
    if check is None:
        return ""
    value = candidate.text if candidate.value is None else payload.checked_value(candidate.value, "value")
    try:
        fits = check(value)
    except Exception as error:  # noqa: BLE001 - validators of other projects raise errors of their own
        return f"value: {_first_line(error)}"
    return f"value: {text_of(value)[:200]} is refused for {candidate.key!r}" if fits is False else ""


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"{kind}{lines[0][:500]}" if lines else type(error).__name__
