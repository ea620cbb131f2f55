"""None of 200 tenants with the same ids and near-identical texts sees, or is affected by, another. (The acceptance test
of the scope rules.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Query
from tests.data.engines import Kit
from tests.reference import judge

N_TENANTS = 200
N_DOCUMENTS = 8
IDS = tuple(str(number) for number in range(N_DOCUMENTS))
DIM = 16
TEMPLATES = [
    "The staging API key prefix of {name} is sk-stg-{number:04d}.",
    "{name} prefers oak tables and acorn bread.",
    "Meeting notes: {name} asked to cache the keys for {number} minutes.",
    "Ticket TS-{number} was closed by {name}.",
    "The scrub jay of {name} remembers where the acorns are.",
    "Deploy v2.{number}.1 to 10.0.0.{number} at noon.",
    "{name} likes jays, jays and jays.",
    "Nothing else to say about {name}.",
]
QUERIES = [
    "staging key prefix",
    "oak and acorn",
    "jay",
    "TS-7",
    "cache the keys",
    "v2.3.1",
    "prefers",
    "likes jays",
]


class Town:
    """200 tenants with the same eight ids and texts, except for a name and a number; vectors nearly equal across
    tenants.

    The payload names the tenant of a document.
    """

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.engine = kit.Engine(dim=DIM)
        random = np.random.default_rng(7)
        base = random.normal(size=(N_DOCUMENTS, DIM))
        for tenant in range(N_TENANTS):
            self.move_in(tenant, base + random.normal(size=base.shape) * 1e-3)
        self.query_vectors = base[: len(QUERIES)]

    def scope(self, tenant: int) -> Any:
        return self.kit.Scope(f"tenant{tenant}", user="u" if tenant % 2 else None)

    def move_in(self, tenant: int, rows: Any) -> None:
        texts = [text.format(name="Jane Doe", number=tenant % 10) for text in TEMPLATES]
        self.engine.upsert_many(
            list(IDS), texts, scope=self.scope(tenant), vectors=rows, payloads=[whose(tenant)] * N_DOCUMENTS
        )

    def answers(self, tenant: int) -> list[tuple[list[Any], bytes]]:
        found = []
        for query, vector in zip(QUERIES, self.query_vectors, strict=True):
            for mode in ("lexical", "vector", "hybrid"):
                result = self.engine.search(
                    query, vector=vector, scope=self.scope(tenant), query=Query(mode=mode), k=20
                )
                found.append((judge.keys(result), result.scores.tobytes()))
        return found


def whose(tenant: int) -> bytes:
    return f"of tenant{tenant}".encode()


@pytest.fixture(scope="module")
def town(kit: Kit) -> Town:
    return Town(kit)


def test_twenty_thousand_searches_return_no_foreign_document(town: Town) -> None:
    n_searches = 20_000 if town.kit.is_native else 400
    modes = ("lexical", "vector", "hybrid")
    for number in range(n_searches):
        tenant, query = number * 7919 % N_TENANTS, number % len(QUERIES)
        result = town.engine.search(
            QUERIES[query],
            vector=town.query_vectors[query],
            scope=town.scope(tenant),
            query=Query(mode=modes[number // N_TENANTS % 3]),
            k=(1, 10, 1000)[number % 3],
        )
        assert len(result) > 0
        assert len(set(result.ids)) == len(result)
        for index in range(len(result)):
            assert result.payload(index) == whose(tenant), (tenant, result.payload(index))
            assert result.scope(index) == town.scope(tenant)


def test_each_tenant_gets_its_own_document_of_an_id(town: Town) -> None:
    for tenant in range(N_TENANTS):
        for id in IDS:
            document = town.engine.get(id, scope=town.scope(tenant))
            assert (document.payload, document.scope) == (whose(tenant), town.scope(tenant))
            assert town.engine.get(id, scope=town.kit.Scope(f"tenant{N_TENANTS + tenant}")) is None


def test_scores_do_not_feel_other_tenants(kit: Kit) -> None:
    """Not one bit changes when others arrive, change, leave one by one or are erased, or when all is compacted."""
    town = Town(kit)
    residents = (0, 1, 101)
    before = [town.answers(tenant) for tenant in residents]
    random = np.random.default_rng(8)
    others = [tenant for tenant in range(N_TENANTS) if tenant not in residents]

    def unchanged() -> None:
        assert [town.answers(tenant) for tenant in residents] == before

    for tenant in others[:20]:
        town.engine.upsert_many(
            [f"{number}" for number in range(20)],
            [f"staging key prefix jay oak {number}" for number in range(20)],
            scope=kit.Scope(f"tenant{tenant}", "v"),
            vectors=random.normal(size=(20, DIM)),
        )
    unchanged()
    for tenant in others[20:40]:
        town.engine.upsert("0", "jay " * 50, scope=town.scope(tenant), vector=random.normal(size=DIM))
    unchanged()
    for tenant in others[40:60]:
        assert town.engine.delete("3", scope=town.scope(tenant))
    unchanged()
    for tenant in others[60:]:
        assert town.engine.erase(town.scope(tenant)) == N_DOCUMENTS
    town.engine.compact()
    unchanged()
    town.engine.upsert("neighbour", "staging key prefix", scope=kit.Scope("tenant1", "another user"))
    town.engine.upsert("0", "staging key prefix", scope=kit.Scope("tenant1", "another user"))
    unchanged()
