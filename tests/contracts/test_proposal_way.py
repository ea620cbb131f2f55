"""A proposal passes through the rooms of the package once, from `propose` to the rows.

A room is an entry of one of the package's folders: a folder in it, or a module (`memory/gate`, `store/writing`). The
path of a proposal is the sequence of calls that receive its words: as text, or in a container, row or candidate.
Consecutive calls in one room are a stay; each stay after a room's first is a return to a room that was left. (Return
values do not count, nor do calls of an object that collects documents for later.)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import scrubjay
from scrubjay import Memory, Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, PolicyCandidate, PreferenceCandidate

PACKAGE = Path(scrubjay.__file__).parent
WORDS = "zebrafinch"
MOST_RETURNS = 8
JANE = Scope("acme", user="jane")

CANDIDATES: dict[str, Callable[[int, str], Any]] = {
    "fact": lambda i, words: FactCandidate(f"{i}: likes {words}.", "jane", f"likes no {i}", value=str(i)),
    "fact of one value": lambda i, words: FactCandidate(f"Jane lives in {words} {i}.", "jane", "lives in"),
    "fact in no slot": lambda i, words: f"{words} number {i} was seen.",
    "episode": lambda i, words: EpisodeCandidate(f"Counted {words} {i}.", outcome="success"),
    "preference": lambda i, words: PreferenceCandidate(f"bird {i}", f"the {words}"),
    "preference again": lambda i, words: PreferenceCandidate("bird", f"the {words} {i}"),
    "policy": lambda i, words: PolicyCandidate(f"rule {i}", f"Feed the {words}."),
}


def carries(value: Any, depth: int = 5) -> bool:
    """Whether a value contains the words."""
    if isinstance(value, str):
        return WORDS in value
    if isinstance(value, bytes):
        return WORDS.encode() in value
    return depth > 0 and any(carries(one, depth - 1) for one in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif dataclasses.is_dataclass(value):
        yield from (getattr(value, field.name) for field in dataclasses.fields(value))


def room_of(file: str) -> str:
    return "/".join(Path(file).relative_to(PACKAGE).with_suffix("").parts[:2])


def rooms_entered(run: Callable[[], object]) -> list[str]:
    """Return the rooms whose calls receive the words, one entry per stay."""
    stays: list[str] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)) or code.co_name.startswith("<"):
            return
        n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        if any(carries(frame.f_locals.get(name)) for name in code.co_varnames[:n]):
            room = room_of(code.co_filename)
            if not stays or stays[-1] != room:
                stays.append(room)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return stays


@pytest.mark.parametrize("kind", CANDIDATES)
def test_a_proposal_returns_to_few_rooms(kind: str, tmp_path: Path) -> None:
    make = CANDIDATES[kind]
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        scope = Scope("acme") if kind == "policy" else JANE
        for i in range(3):  # warm up the file and its statements
            assert memory.propose(make(i, "goldfinch"), scope=scope, source="run")
        stays = rooms_entered(lambda: memory.propose(make(9, WORDS), scope=scope, source="run"))
    assert stays[:2] == ["memory/facade", "memory/gate"]
    assert "store/sqlite" in stays, "it did not come to the rows"
    assert len(stays) - len(set(stays)) <= MOST_RETURNS, stays


def test_the_way_of_a_call_is_counted() -> None:
    """The judge counts a return where there is one, and ignores calls that do not receive the words."""
    from scrubjay.documents.payload import encode_fields
    from scrubjay.memory.model.content import normalised

    def run() -> None:
        normalised(WORDS)
        normalised("other")
        encode_fields({"metadata": {"word": WORDS}})
        encode_fields({"metadata": {}})
        normalised(f"The {WORDS}.")

    assert rooms_entered(run) == ["memory/model", "documents/payload", "memory/model"]
