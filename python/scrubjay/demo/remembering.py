"""The demo of the typed memory: what an assistant was told about Jane of Acme in the autumn of 2025.

`remembered.jsonl` holds it line by line, in the order of telling: facts that changed, one that was told late and
corrected later, a plan; preferences and policies in several versions, some of which await confirmation; two tasks, and
the recorded run of one. All of it passes the gate at the time at which it was told: the memory has its own clock, so
"what did we believe in October?" has an answer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from scrubjay._native import Scope
from scrubjay.index import Index
from scrubjay.memory import Memory, Provenance

JANE = Scope("acme", user="jane")
RUN = "on-call-2025-10-15"
"""The run that is recorded for replay."""

_KINDS = ("fact", "preference", "episode", "policy")


def remember(index: Index) -> None:
    """Fill the memory in the file of an index with the facts about :data:`JANE`.

    Each call writes the same records at the same times, except for their ids. Call it once per file.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Index.open(folder.name + "/demo.scrubjay") as index:
    ...     remember(index)
    ...     with Memory(index) as memory:
    ...         for known_at in ("2025-10-20", None):
    ...             told = memory.list(JANE, kinds=["fact"], as_of="2020-01-01", known_at=known_at)
    ...             print([fact.text for fact in told])
    ...         print([prompt.faithful for prompt in memory.replay(RUN, JANE).prompts()])
    ['Before Lisbon Jane lived in Milan']
    ['From 2018 to 2021 Jane lived in Brno, not in Milan']
    [True, True, True]
    >>> folder.cleanup()
    """
    clock = _Clock()
    with Memory(index, clock=clock) as memory:
        for line in (
            files("scrubjay.demo").joinpath("remembered.jsonl").read_text(encoding="utf-8").splitlines()
        ):
            row = json.loads(line)
            clock.now = datetime.fromisoformat(row["at"].replace("Z", "+00:00"))
            _tell(memory, row)


class _Clock:
    """A clock at the day of the story, which advances by a second at each reading."""

    now: datetime

    def __call__(self) -> int:
        self.now += timedelta(seconds=1)
        return round(self.now.timestamp()) * 1_000_000


def _tell(memory: Memory, row: dict[str, Any]) -> None:
    """Apply a row: a run, a policy decision, or a candidate for the gate."""
    scope = Scope("acme", user=row.get("user"))
    if "session" in row:
        _record(memory, scope, row["run"], row["session"])
        return
    if "by" in row:
        memory.policy(**row["policy"], tenant="acme", by=row["by"])
        return
    kind = next(kind for kind in _KINDS if kind in row)
    source = Provenance(row["run"], author=row.get("author", row.get("user")))
    if row.get("refused"):
        with _quiet():
            memory.propose({"kind": kind, **row[kind]}, scope, source)
        return
    decision = memory.propose({"kind": kind, **row[kind]}, scope, source, raise_if_rejected=True)
    if "revoked" in row:
        assert decision.id is not None
        memory.revoke(decision.id, scope=scope, **row["revoked"])


def _record(memory: Memory, scope: Scope, run: str, steps: list[dict[str, Any]]) -> None:
    """Record a run permanently: with the default retention it would be deleted after 90 days."""
    with memory.session(scope, run, retention="permanent") as session:
        for step in steps:
            ((kind, content),) = step.items()
            if kind == "assemble":
                session.assemble(budget_tokens=content)
            else:
                session.append(kind, content)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log: the gate warns of rejections, but here they are part of the story."""
    log = logging.getLogger("scrubjay.memory")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
