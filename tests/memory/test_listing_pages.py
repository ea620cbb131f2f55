"""Pages of records must be the cut listing, whatever is written or deleted in between, and read no more than needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scrubjay import CursorError
from scrubjay.adapters._typed import page
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate
from scrubjay.memory.read import lookup
from scrubjay.memory.read.lookup import created_at
from tests.memory.setting import ACME, JANE, JANES_CODER, JOE, Clock


def fill(memory: Memory, clock: Clock) -> None:
    """Write records of all kinds and scopes, some of them at the same time."""
    for n in range(4):
        memory.propose_all(
            [
                (FactCandidate(f"Jane saw bird {n}", "Jane", "saw"), JANE, "r"),
                (FactCandidate(f"Jane coded {n}", "Jane", "coded"), JANES_CODER, "r"),
                (FactCandidate(f"Joe saw fish {n}", "Joe", "saw"), JOE, "r"),
                (FactCandidate(f"Jane lives in town {n}", "Jane", "lives in"), JANE, "r"),
                (EpisodeCandidate(f"Did {n}", "success"), ACME, "r"),
                (PreferenceCandidate(f"key {n % 4}", f"wish {n}"), JANE, "r"),
            ]
        )
        memory.policy(f"rule {n % 3}", f"text {n}", tenant="acme", by="boss")
        clock.now += n % 2 * 1000


def ids(records: list[Any]) -> list[str]:
    return [one.id for one in records]


@pytest.mark.parametrize("part", [1, 2, 256])
def test_pages_are_the_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(lookup, "_PART", part)
    clock = Clock()
    with Memory.open(tmp_path / "m.scrubjay", clock=clock) as memory:
        fill(memory, clock)
        for scope, options in (
            (JANES_CODER, {}),
            (JANES_CODER, {"hidden": True}),
            (JANE, {"hidden": True, "exact": True}),
            (JANE, {"hidden": True, "subject": "Jane", "kinds": ["episode", "fact"]}),
            (ACME, {"hidden": True, "kinds": ["fact", "policy"]}),
            (JANE, {"known_at": clock.now / 1e6}),
        ):
            everything = memory.list(scope, **options)  # type: ignore[arg-type]
            for limit in (1, 3, 100):
                found: list[Any] = []
                cursor = None
                while not found or cursor is not None:
                    some, cursor = page(memory, scope, limit=limit, cursor=cursor, **options)  # type: ignore[arg-type]
                    assert len(some) == min(limit, len(everything) - len(found))
                    found += some
                    if not some:
                        break
                assert ids(found) == ids(everything)
            assert ids(memory.list(scope, limit=2, **options)) == ids(everything)[:2]  # type: ignore[arg-type]
            for at, record in enumerate(everything):
                behind = memory.list(scope, after=(record.kind, created_at(record), record.id), **options)  # type: ignore[arg-type]
                assert ids(behind) == ids(everything)[at + 1 :]
        active, cursor = page(memory, JANE, limit=2, hidden=True, statuses=["superseded"])
        assert len(active) == 2 and cursor is not None
        more, end = page(memory, JANE, limit=100, hidden=True, statuses=["superseded"], cursor=cursor)
        expected = [one for one in memory.list(JANE, hidden=True) if one.status == "superseded"]
        assert ids(active + more) == ids(expected) and end is None


def test_deletions_and_writes_between_pages_shift_no_record(tmp_path: Path) -> None:
    clock = Clock()
    with Memory.open(tmp_path / "m.scrubjay", clock=clock) as memory:
        for n in range(6):
            memory.propose(f"fact {n}", scope=JANE, source="r")
            clock.now += 1
        first, cursor = page(memory, JANE, limit=2)
        assert [one.text for one in first] == ["fact 0", "fact 1"]
        for one in first:
            memory.delete(one.id, scope=JANE)
        memory.propose("fact 6", scope=JANE, source="r")
        second, cursor = page(memory, JANE, limit=3, cursor=cursor)
        assert [one.text for one in second] == ["fact 2", "fact 3", "fact 4"]
        third, cursor = page(memory, JANE, limit=3, cursor=cursor)
        assert [one.text for one in third] == ["fact 5", "fact 6"] and cursor is None


def test_a_page_reads_no_more_than_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        memory.propose_all([(f"fact {n}", JANE, "r") for n in range(600)])
        read: list[int] = []
        raw = lookup.raw_rows_where

        def counted(*arguments: Any) -> list[Any]:
            rows = raw(*arguments)
            read.append(len(rows))
            return rows

        monkeypatch.setattr(lookup, "raw_rows_where", counted)
        some, cursor = page(memory, JANE, limit=10, kinds=["fact"])
        assert len(some) == 10 and sum(read) <= 12
        while cursor is not None:
            some, cursor = page(memory, JANE, limit=200, kinds=["fact"], cursor=cursor)
        assert sum(read) < 700


def test_an_invalid_cursor_is_refused(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        for bad, error in (
            ("fact", TypeError), (("fact", 1), TypeError), (("fact", "1", "x"), TypeError), (("fact", 1, 2), TypeError),
            (("note", 1, "x"), ValueError),
        ):  # fmt: skip
            with pytest.raises(error, match="after: expected"):
                memory.list(JANE, after=bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="after: expected a record of episode"):
            memory.list(JANE, kinds=["episode"], after=("fact", 1, "x"))  # type: ignore[arg-type]
        memory.propose_all([("a", JANE, "r"), ("b", JANE, "r")])
        _, cursor = page(memory, JANE, limit=1)
        assert cursor is not None
        for bad_cursor in ("", "x", "W10", cursor[:-2], cursor + "AAAA"):
            with pytest.raises(CursorError):
                page(memory, JANE, limit=1, cursor=bad_cursor)
        with pytest.raises(CursorError):
            page(memory, JANE, limit=1, cursor=cursor, kinds=["episode"])
