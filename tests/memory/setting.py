"""What the tests of memory share: a few scopes, a clock that stands still, a memory in a temporary file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrubjay import Scope
from scrubjay.memory import DefaultJudge, FactCandidate, Memory, Outcome, Provenance
from scrubjay.memory.ledger.documents import holding

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
    """Microseconds since 1970, as the test says."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_days(self, days: float) -> None:
        """Let time pass."""
        self.now += int(days * DAY)


def open_memory(path: Path, clock: Clock | None = None, **options: Any) -> Memory:
    """Open a memory as the tests use it: found by keywords, quickly written."""
    return Memory.open(path, clock=clock, durability="normal", **{"judge": ONE_AT_A_TIME, **options})


def lives(memory: Memory, where: str, scope: Scope = JANE, run: str = "r", **options: Any) -> Outcome:
    """Propose where Jane lives: contents of one subject and predicate."""
    candidate = FactCandidate(f"Jane lives in {where}", "Jane", "lives in", **options)
    return memory.propose(candidate, scope=scope, source=run)


def texts(memory: Memory, query: str, scope: Scope, **options: Any) -> list[str]:
    """Return what is recalled, in alphabetical order."""
    return sorted(memory.recall(query, scope, k=100, **options).texts)


def by_ann(run: str) -> Provenance:
    """Return a source that names who observed it: without a user it is independent of those that name others."""
    return Provenance(run, author="ann")


def documents_now(memory: Memory, scope: Scope, text: str = "", **options: Any) -> list[str]:
    """Return the texts of the documents of what is in force now, in alphabetical order, found by a raw search."""
    found = memory.documents.search(
        text, scope=scope, k=100, filter=holding(memory._parts.context.clock()), **options
    )
    return sorted(hit.text for hit in found)


OF_RECORDS = "what NOT IN ('expired', 'forgotten')"
"""The rows of memory_log that go with their records."""


def row_count(memory: Memory, table: str, condition: str = "1") -> int:
    """Return how many rows a table has."""
    (n,) = (
        memory._parts.context.store.reading_connection()
        .execute(f"SELECT count(*) FROM {table} WHERE {condition}")
        .fetchone()
    )
    return int(n)
