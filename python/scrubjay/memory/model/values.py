"""Values of policies and preferences: any JSON value beside the text that a prompt shows.

The text is what was given, or else the value as JSON on one line. A record whose value was not given has its text as
its value. What no query asks for is kept as one JSON object in the column `detail`: `value`, `type` and `mandatory` of
a policy, `value` and `type` of a preference, `title` of an episode, and the `sensitivity` of each; NULL if there is
nothing to keep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from scrubjay import payload
from scrubjay.memory.model.content import MAX_CHARS, checked_str, normalised

MAX_VALUE_BYTES = 4 * MAX_CHARS
"""Of a value as JSON."""

Validators = Mapping[str, Callable[[Any], object]]
"""Key of a policy or preference -> what its values are held against."""

_C = TypeVar("_C")


def said(text: Any, value: Any) -> tuple[Any, Any]:
    """Return the text and the value of a call whose text may be a value itself.

    >>> said(25, None), said("Under 500 USD.", {"usd": 500})
    (('', 25), ('Under 500 USD.', {'usd': 500}))
    """
    if value is None and isinstance(text, (bool, int, float, list, tuple, Mapping)):
        return "", text
    return text, value


def text_of(value: Any) -> str:
    """Return the text that is shown of a value for which none was given: a str as it is, all else as JSON on one line.

    >>> text_of({"max_auto_approve_usd": 500}), text_of("json"), text_of(True)
    ('{"max_auto_approve_usd": 500}', 'json', 'true')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def with_text(candidate: _C) -> _C:
    """Return a candidate of a policy or preference with its value in JSON's own types, and with the text of it.

    Raises:
        TypeError, ValueError: the value is not JSON; the message says where.
    """
    given: Any = candidate
    if given.value is None:
        return candidate
    value = payload.checked_value(given.value, "value")
    try:
        text = given.text if given.text != "" else text_of(value)
        json.dumps(value)
    except ValueError as error:  # an int of thousands of digits
        raise ValueError(f"value: {error}") from None
    is_text = value == checked_str(text, "text")  # as it is kept
    made: _C = replace(given, text=text, value=None if is_text else value)
    return made


def kept_detail(**fields: Any) -> bytes | None:
    """Return what is kept in the column `detail`; None and empty fields are not there.

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
    """Whether a row says this text and keeps this detail; `1`, `1.0` and `true` differ, the order of keys does not.

    A class that is not told again is still that of the row; one that the row lacks is nothing new that is said.
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
        TypeError: they are not a mapping of keys to functions.
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
    """Return why the value of a candidate does not fit; empty if it does, or nothing checks its key.

    A validator refuses by raising (what it raises is the reason) or by returning False.
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
