"""Offsets at which no page ended: right in every store, over several scopes, and counted instead of read."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend, Documents
from scrubjay.store.sqlite.connections import StoreConnection
from tests.data.keys import provider
from tests.data.postgres import new_url

ACME, GLOBEX = Scope("acme"), Scope("globex", user="jane")  # nothing of the latter is visible
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
BOT = Scope("acme", user="jane", agent="bot")
EMPTY = Scope("acme", user="nobody")
KINDS = ["memory", "file", "sealed", "postgres", "sealed postgres"]


@pytest.fixture(params=KINDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    if request.param == "memory":
        opened = Index()
    else:
        where: Any = new_url() if request.param.endswith("postgres") else tmp_path / "a.scrubjay"
        keys = provider if request.param.startswith("sealed") else None
        opened = Index.open(where, keys=keys, durability="normal")
    with opened:
        yield opened


def jump(index: Index, **asked: Any) -> list[tuple[Scope, Any]]:
    with Documents(index) as fresh:  # in which no page of the listing has ended yet
        return [(record.scope, record.id) for record in fresh.page(**asked)]


SCOPES = {
    "one": [JANE],
    "two": [JANE, JOE],
    "seen by both": [BOT, JANE],
    "with an empty one": [EMPTY, JOE, ACME],
}


@pytest.mark.parametrize("scopes", SCOPES.values(), ids=list(SCOPES))
def test_a_jump_is_a_slice_of_the_listing(index: Index, scopes: list[Scope]) -> None:
    choose = random.Random(1)
    everywhere = [ACME, JANE, JOE, BOT, GLOBEX]
    for number in range(60):
        scope = choose.choice(everywhere)
        soon = {"ttl": 0.05} if number % 7 == 0 else {}
        index.upsert(f"m{number % 40}", f"note {number}", scope=scope, metadata={"n": number}, **soon)
        if number % 9 == 8:
            index.delete(f"m{number - 3}", scope=scope)
    time.sleep(0.06)
    for exact, descending, filter in itertools.product(
        (True, False), (True, False), (None, {"n": {"$gt": 20}})
    ):
        asked = {"scope": scopes, "exact": exact, "descending": descending, "filter": filter}
        whole = jump(index, limit=1000, **asked)
        assert len(whole) == len(set(whole)) > 3
        for offset in (1, 2, len(whole) // 2, len(whole) - 1, len(whole), len(whole) + 7):
            assert jump(index, offset=offset, limit=3, **asked) == whole[offset:][:3], (asked, offset)


def test_a_jump_over_several_scopes_reads_no_text_of_what_it_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [Scope("acme", user=f"user{i}") for i in range(10)]
    with Index.open(tmp_path / "a.scrubjay", durability="normal") as index:
        rows = [{"id": f"m{n}", "text": "a note", "scope": many[n % 10]} for n in range(3000)]
        index.upsert_many(rows, progress=False)
        read: list[int] = []
        plain = StoreConnection.execute

        def counted(self: Any, *args: Any) -> Any:
            found = plain(self, *args)
            return _Noted(found, read) if "text" in args[0] and "FROM document" in args[0] else found

        monkeypatch.setattr(StoreConnection, "execute", counted)
        page = jump(index, scope=many, exact=True, offset=2900, limit=20, descending=True)
        assert [id for _, id in page] == [f"m{n}" for n in range(99, 79, -1)]
        assert 20 <= sum(read) <= 200  # the page, and a few rows of each scope


def test_many_scopes_in_memory_are_passed_over_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Scope("acme", user=f"user{i}") for i in range(10)]
    with Index() as index:
        rows = [{"id": f"m{n}", "text": "a note", "scope": many[n % 10]} for n in range(3000)]
        index.upsert_many(rows, progress=False)
        engine, n_read = Backend.of(index).engine, [0]
        plain = type(engine).page

        def counted(self: Any, *args: Any) -> Any:
            found = plain(self, *args)
            n_read[0] += len(found[0])
            return found

        monkeypatch.setattr(type(engine), "page", counted)
        page = jump(index, scope=many, exact=True, offset=2900, limit=20)
        assert [id for _, id in page] == [f"m{n}" for n in range(2900, 2920)]
        assert 20 <= n_read[0] <= 100


class _Noted:
    """A cursor that records how many rows are fetched from it."""

    def __init__(self, cursor: Any, read: list[int]) -> None:
        self._cursor, self._read = cursor, read

    def fetchall(self) -> Any:
        rows = self._cursor.fetchall()
        self._read.append(len(rows))
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)
