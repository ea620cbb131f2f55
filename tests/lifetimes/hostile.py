"""Hostile values for every parameter of every public method: only typed errors may be raised.

One parameter at a time is hostile, the others are valid. A method may also accept the value.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np

import scrubjay
from tests.lifetimes import api
from tests.lifetimes.arguments import DIM, JANE, VALUES, World, finished

N_SOME = 8
"""The number of values that are tried per parameter, unless all are."""

ALWAYS: dict[str, dict[str, Callable[[], Any]]] = {
    "search": {"text": lambda: "trains"},
    "asearch": {"text": lambda: "trains", "scope": lambda: JANE},
    "feedback": {"query": lambda: "how?", "scope": lambda: JANE},
    "search_batch": {"texts": lambda: ["trains"]},
    "find_in_traces": {"text": lambda: "Oslo"},
    "policy": {"by": lambda: "legal"},
    "forget": {"user": lambda: "nobody", "tenant": lambda: "acme"},
    "verify_erased": {},
}
"""Arguments besides the required ones, without which a method would not check the others."""

SKIPPED = {"change", "row", "rows", "one"}
"""Parameters that are internal to the package; callers cannot create their values."""


def values() -> list[Any]:
    """Return the hostile values, as new objects, since a call may change some of them."""
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return [
        None, True, 0, 1, -1, 2**31, 2**62, 2**63, 2**64, -(2**63) - 1, 10**30, 0.5, -0.0, float("nan"), float("inf"),
        -float("inf"), 1j, Decimal("1.5"), "", " ", "m1", "\0", "\ud800", "a\udfffb", "x" * 70_000, "\u202e\ufdfa",
        b"", b"\xff\xfe", bytearray(b"ab"), [], [None], [1], [[]], ["m1", 1], [b"\xff"], ["\ud800"], (), (1, 2, 3), {},
        {"a": 1}, {1: 2}, {"\ud800": "\ud800"}, {"a": {"b": [None, {}]}}, {"$in": [1]}, set(), {1}, frozenset("a"),
        np.float32("nan"), np.int64(3), np.ones(3), np.full(DIM, np.nan), np.ones((2, 2)), np.array(["a"]),
        np.array([object()]), object(), int, len, lambda *_: None, _raising, Exception("x"),
        NotImplemented, ..., cyclic, iter([1]), (value for value in [1]), range(3), memoryview(b"abc"),
        scrubjay.Scope("acme"), scrubjay.Scope.__new__(scrubjay.Scope), scrubjay.Filter.__new__(scrubjay.Filter),
        scrubjay.Index.__new__(scrubjay.Index), _Liar(),
    ]  # fmt: skip


NAMING = {"id", "ids", "exclude", "hit", "keys", "rankings", "scope", "within", "tenant"}
"""Parameters that identify documents or scopes."""


def almost_keys() -> list[Any]:
    """Return values that resemble a key, a scope or an id; the parameters in :data:`NAMING` get them, too."""
    return [
        JANE, (JANE, "m1"), [JANE, JANE], [(JANE, "m1")], [(JANE, None)], [("m1", JANE)], [(JANE,)], ["m1", (JANE, 1)],
        [[(JANE, "m1"), "m1"]], [[("m1", JANE)]], [[JANE]], [[(JANE, "m1", 1)]],
        [[(scrubjay.Scope.__new__(scrubjay.Scope), "m1")]], ("acme", "jane", None), {"tenant": "acme"},
    ]  # fmt: skip


class Theirs(Exception):  # noqa: N818
    """The error that the caller's own objects raise; it must reach the caller."""


def _raising(*_: Any) -> Any:
    raise Theirs


class _Liar:
    """A sequence that has a length but raises for every item."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        raise Theirs

    def __repr__(self) -> str:
        return "a liar"


def calls(
    subject: str, member: str, world: World, made: Any, *, everything: bool
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield (description of the argument, call) for a method of an object; nothing for a property."""
    cls = api.classes()[subject.partition(" ")[0]]
    required = api.required(cls, member)
    if required is None or member in ("__eq__", "__hash__"):
        return
    names = [name for name, _ in required]
    if any(name not in VALUES for name in names):
        return
    always = dict(ALWAYS.get(member, {}))
    if cls is scrubjay.ScopeView:
        always.pop("scope", None)  # the view has one
    parameters = list(dict.fromkeys([*names, *always, *api.optional(cls, member)]))
    chance = random.Random(f"{subject}.{member}")
    for parameter in parameters:
        if parameter in SKIPPED:
            continue
        n_values = len(values())
        places = range(n_values) if everything else chance.sample(range(n_values), N_SOME)
        for place in places:
            yield (
                f"{parameter}={_shown(values()[place])}",
                lambda parameter=parameter, place=place: _call(
                    world, made, member, required, always, parameter, values()[place]
                ),
            )
        for value in almost_keys() if parameter in NAMING else []:
            yield (
                f"{parameter}={_shown(value)}",
                lambda parameter=parameter, value=value: _call(
                    world, made, member, required, always, parameter, value
                ),
            )


def _call(
    world: World,
    made: Any,
    member: str,
    required: list[tuple[str, bool]],
    always: dict[str, Callable[[], Any]],
    hostile: str,
    value: Any,
) -> None:
    given: dict[str, Any] = {name: make() for name, make in always.items()}
    given.update({name: VALUES[name](world, made) for name, _ in required})
    given[hostile] = value
    positional = [given.pop(name) for name, keyword in required if not keyword]
    finished(getattr(made, member)(*positional, **given))


def acceptable(error: BaseException) -> bool:
    """Return whether an error is typed and has a message that a caller can understand, not a bare key."""
    if isinstance(error, (Theirs, IndexError)):
        return True
    if isinstance(error, KeyError):
        return isinstance(error, scrubjay.Error) or " " in str(error.args[0] if error.args else "")
    if isinstance(error, (scrubjay.Error, TypeError, ValueError)):
        return not isinstance(error, UnicodeError) or ": " in str(error)
    return isinstance(error, FileNotFoundError)  # the hostile value was taken for a path


def enter(world: World) -> None:
    """Change to the world's folder, so that relative paths stay within it."""
    os.chdir(world.folder)


def _shown(value: Any) -> str:
    try:
        return ascii(value)[:60]
    except Exception:  # noqa: BLE001 - some objects cannot be shown
        return type(value).__name__
