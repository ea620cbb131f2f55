"""Proposing a batch must give the same result as proposing one by one."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.memory import FactCandidate, Memory, PreferenceCandidate
from scrubjay.memory.ledger.inserting import insert_values
from tests.memory.setting import ACME, JANE, JOE, START, Clock, open_memory

_FACT = FactCandidate


def proposals(known: str) -> list[tuple[Any, Scope, str]]:
    """Return facts that stand alone, and others that do not; `known`: the id of a fact that is known before."""
    alone = [(f"Jane saw bird {n}.", JANE, f"r{n % 3}") for n in range(23)]
    return [
        *alone,
        ("Jane SAW bird 3", JANE, "r1"),  # twice in the batch
        ("Known before.", JANE, "r1"),
        (_FACT("Jane lives in Oslo.", "Jane", "lives in"), JANE, "r1"),
        ("Jane rows.", JANE, "r1"),
        (_FACT("Known anew.", replaces=[known]), JANE, "r1"),
        (_FACT("Jane lives in Rome.", "Jane", "lives in"), JANE, "r2"),
        (_FACT("Acme is closed on Mondays.", "acme", "closed on"), JANE, "r1"),
        (_FACT("Acme is closed on Mondays.", "acme", "closed on"), JOE, "r2"),
        (_FACT("Acme is large.", "acme"), ACME, "r1"),
        (_FACT("Unsure.", confidence=0.2), JANE, "r1"),
        (PreferenceCandidate("tone", "brief"), JANE, "r1"),
        (_FACT("It was so.", valid_from=START / 1e6 - 90, valid_until=START / 1e6 - 9), JANE, "r1"),
        (_FACT("It will be so.", valid_from=START / 1e6 + 90), JANE, "r1"),
        (_FACT("No more.", relation="ends"), JOE, "r1"),
        (
            _FACT("Jane has a value.", value={"n": 1}, entities=["Jane"], metadata={"a": [1]}, ttl=60),
            JANE,
            "r1",
        ),
        *((f"Joe saw bird {n}.", JOE, "r1") for n in range(90)),
    ]


def everything_stored(memory: Memory, outcomes: list[Any]) -> Any:
    """Return everything that can be queried, with ids replaced by names in the order of their writing."""
    names: dict[str | None, Any] = {None: None}
    with memory._parts.context.reading() as connection:
        facts = connection.execute("SELECT * FROM memory_fact ORDER BY rowid").fetchall()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(memory_fact)").fetchall()]
        log = connection.execute("SELECT * FROM memory_log ORDER BY number").fetchall()
        seen = connection.execute("SELECT tenant, hash, run, user, fact FROM memory_observation").fetchall()
    for row in facts:
        for name in ("id", "slot"):
            names.setdefault(row[columns.index(name)], f"{name} {len(names)}")
    for row in log:
        names.setdefault(row[2], f"other {len(names)}")

    def renamed(rows: list[Any]) -> list[Any]:
        def name(found: re.Match[str]) -> str:
            return str(names.get(found.group(), found.group()))

        return [
            [re.sub(r"\w+_[0-9a-f]{32}", name, value) if isinstance(value, str) else value for value in row]
            for row in rows
        ]

    found = [
        [(hit.text, hit.score, hit.record and hit.record.status) for hit in memory.recall(text, scope, k=50)]
        for text, scope in (("bird 3", JANE), ("Jane lives", JANE), ("Acme", JOE), ("saw", JOE))
    ]
    said = [
        (one.status, one.reason, names.get(one.superseded), names.get(one.id), one.active) for one in outcomes
    ]
    return renamed(facts), renamed(log), sorted(renamed(seen), key=str), found, said


def open_with_known_fact(path: Path) -> tuple[Memory, str]:
    memory = open_memory(path, Clock())
    memory.policy("rule", "Be kind.", tenant="acme", by="boss")
    memory.propose("known before", JANE, "r0")
    known = memory.propose("known for long", JANE, "r0").id
    assert known is not None
    return memory, known


@pytest.mark.parametrize("seed", range(8))
def test_a_batch_of_proposals_equals_one_by_one(tmp_path: Path, seed: int) -> None:
    """The order does not matter: facts are no longer inserted together once a document has changed."""
    order = list(range(len(proposals(""))))
    if seed:
        Random(seed).shuffle(order)
    (one, known), (other, same) = (
        open_with_known_fact(tmp_path / "a.scrubjay"),
        open_with_known_fact(tmp_path / "b.scrubjay"),
    )
    with one, other:
        if one.index.path is None:
            pytest.skip("rows are compared as a file has them")
        together = one.propose_all([proposals(known)[i] for i in order])
        each = [other.propose(*proposals(same)[i]) for i in order]
        assert everything_stored(one, together) == everything_stored(other, each)


def test_a_fact_restored_by_a_batch_revocation_is_deduplicated_in_it(tmp_path: Path) -> None:
    """A revocation before the proposals brings a fact back that one of them restates."""
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        oslo = memory.propose(_FACT("Lives in Oslo.", "Jane", "lives in", said_at=START / 1e6 - 9), JANE, "r")
        rome = memory.propose(_FACT("Lives in Rome.", "Jane", "lives in"), JANE, "r")
        assert rome.superseded == oslo.id
        outcomes = memory.propose_all(
            [("Lives in Oslo.", JANE, "r"), ("Rows.", JANE, "r")], revoke=[(rome.id, JANE, "no")]
        )  # type: ignore[call-arg, arg-type]
        assert [one.status for one in outcomes] == ["deduplicated", "written"] and outcomes[0].id == oslo.id


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 15, 16, 21, 63, 64, 65, 149])
def test_rows_are_inserted_in_their_order(n: int) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t(number INTEGER PRIMARY KEY AUTOINCREMENT, a, b)")
    rows = [(i, f"row {i}") for i in range(n)]
    insert_values(connection, "INSERT INTO t(a, b) VALUES (?, ?)", rows)
    assert connection.execute("SELECT a, b FROM t ORDER BY number").fetchall() == rows


def test_a_row_that_is_refused_ends_the_insertion() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t(a UNIQUE)")
    with pytest.raises(sqlite3.IntegrityError):
        insert_values(connection, "INSERT INTO t(a) VALUES (?)", [(i % 60,) for i in range(70)])
