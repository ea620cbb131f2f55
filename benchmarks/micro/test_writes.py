"""The writes of users, with the vector given. Test names are permanent."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from benchmarks.micro.users import TENANT, Users, new_records
from scrubjay import Scope
from scrubjay.bench.pytest_plugin import EachCall

KINDS = ("memory", "file")
SCOPE = Scope(TENANT, user="u1000")
N_NEW = 4_000
BATCH = 100


@pytest.mark.parametrize("kind", KINDS)
def test_upsert(each_call: EachCall, users: Users, kind: str) -> None:
    """New documents one by one, into an index of 1,000."""
    index = users.fresh(kind)

    def upsert(record: dict[str, Any]) -> None:
        index.upsert(record["id"], record["text"], scope=SCOPE, vector=record["vector"])

    each_call(upsert, new_records(N_NEW))
    assert index.count(scope=SCOPE) > 1_000


@pytest.mark.parametrize("kind", KINDS)
def test_upsert_hundred(each_call: EachCall, users: Users, kind: str) -> None:
    """New documents, a hundred a call; percentiles for a single document."""
    index, new = users.fresh(kind), iter(new_records(N_NEW))
    batches = [list(islice(new, BATCH)) for _ in range(N_NEW // BATCH)]

    def upsert(some: list[dict[str, Any]]) -> int:
        return index.upsert_many(some, scope=SCOPE, progress=False)

    assert each_call(upsert, batches, rounds=30, calls_a_round=BATCH) == BATCH


@pytest.mark.parametrize("kind", KINDS)
def test_patch(each_call: EachCall, users: Users, kind: str) -> None:
    """One metadata field."""
    index = users.fresh(kind)
    ids = [f"m{row}" for row in range(1_000)]
    assert each_call(lambda id: index.patch(id, scope=SCOPE, metadata={"n": 0.25}), ids, rounds=500)


@pytest.mark.parametrize("kind", KINDS)
def test_delete(each_call: EachCall, users: Users, kind: str) -> None:
    """One document after the other, of 1,000; each call deletes a document."""
    index = users.fresh(kind)
    ids = [f"m{row}" for row in range(1_000)]
    assert each_call(lambda id: index.delete(id, scope=SCOPE), ids, rounds=800)


@pytest.mark.parametrize("kind", KINDS)
def test_search_after_upsert(each_call: EachCall, users: Users, kind: str) -> None:
    """A write and a search that finds the document, timed together."""
    index = users.fresh(kind)

    def turn(record: dict[str, Any]) -> int:
        index.upsert(record["id"], record["text"], scope=SCOPE, vector=record["vector"])
        return len(index.search(record["text"][:40], vector=record["vector"], scope=SCOPE, k=10).ids)

    assert each_call(turn, new_records(N_NEW), rounds=500) == 10
