"""Shared setup for the tests of memory: scopes, a clock that stands still, a memory in a temporary file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from scrubjay import Scope
from scrubjay.memory import DefaultJudge, FactCandidate, Memory, Outcome, Provenance
from scrubjay.memory.model.documents import holding
from scrubjay.store.postgres.row_security import EVERY_HOME

ACME, GLOBEX = Scope("acme"), Scope("globex")
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
CODER = Scope("acme", agent="coder")
JANES_CODER = Scope("acme", user="jane", agent="coder")
EVERYWHERE = [ACME, JANE, JOE, CODER, JANES_CODER, GLOBEX, Scope("globex", user="jane")]

DAY = 86_400_000_000
START = 1_800_000_000_000_000

ONE_AT_A_TIME = DefaultJudge(single=["likes", "ships", "ships on", "sells", "sails", "has", "is"])
"""A judge for which these predicates of the tests, absent from the library's list, have one value at a time."""


class Clock:
    """A clock set by the test, in microseconds since 1970."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_days(self, days: float) -> None:
        """Advance the clock."""
        self.now += int(days * DAY)


def address_of(path: Path) -> str:
    """Return the address for another process: the path, or the database for which it stands."""
    return os.environ.get(f"SCRUBJAY_TEST_DATABASE {path}", str(path))


def is_gone(memory: Memory, scope: Scope, *texts: str) -> bool:
    """Whether neither rows nor texts of a scope remain in the bytes of a file, or in any row of a database."""
    report = memory.admin.verify_erased(scope, texts)
    assert report.files is not None and report.files.n_bytes > 0
    if memory.index.path is not None:
        assert report.files.proof == "bytes"
        return report.clean
    ask = memory._parts.context.store.ask  # type: ignore[attr-defined]
    tables = ask(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'sj%%'"
    )
    for (table,) in tables:
        for text in texts:
            for found in (text, text.encode().hex()):
                if ask(
                    f"SELECT 1 FROM {table} t WHERE position(%s in t::text) > 0 LIMIT 1",
                    (found,),
                    home=EVERY_HOME,
                ):
                    assert not report.clean
                    return False
    assert report.files.proof == "rows"
    return report.clean


def open_memory(path: Path, clock: Clock | None = None, **options: Any) -> Memory:
    """Open a memory for tests: keyword search, fast writes. `path` may stand for a database, also in a process
    started by a test (see conftest.py)."""
    return Memory.open(
        address_of(path), clock=clock, durability="normal", **{"judge": ONE_AT_A_TIME, **options}
    )


def lives(memory: Memory, where: str, scope: Scope = JANE, run: str = "r", **options: Any) -> Outcome:
    """Propose where Jane lives: facts of one slot."""
    candidate = FactCandidate(f"Jane lives in {where}", "Jane", "lives in", **options)
    return memory.propose(candidate, scope=scope, source=run)


def texts(memory: Memory, query: str, scope: Scope, **options: Any) -> list[str]:
    """Return the recalled texts in alphabetical order."""
    return sorted(memory.recall(query, scope, k=100, **options).texts)


def by_ann(run: str) -> Provenance:
    """Return a source with an author: without a user it is independent of sources with other authors."""
    return Provenance(run, author="ann")


def documents_now(memory: Memory, scope: Scope, text: str = "", **options: Any) -> list[str]:
    """Return the texts of the documents in force now, in alphabetical order, from a raw search."""
    found = memory.documents.search(
        text, scope=scope, k=100, filter=holding(memory._parts.context.clock()), **options
    )
    return sorted(hit.text for hit in found)


OF_RECORDS = "what NOT IN ('expired', 'forgotten')"
"""Condition for the rows of memory_log that are deleted with their records."""


def row_count(memory: Memory, table: str, condition: str = "1 = 1") -> int:
    """Return the number of rows of a table that meet a condition."""
    (n,) = (
        memory._parts.context.store.reading_connection()
        .execute(f"SELECT count(*) FROM {table} WHERE {condition}")
        .fetchone()
    )
    return int(n)
