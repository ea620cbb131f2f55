"""A search over several scopes of an index in memory, or in a file whose partitions are loaded and evicted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Query, Scope

USERS = [Scope("acme", f"u{i}") for i in range(30)]


@pytest.fixture(params=["memory", "file", "small file"])
def index(request: Any, tmp_path: Path) -> Iterator[Index]:
    if request.param == "memory":
        made = Index(dim=2)
    else:
        budget = 40_000 if request.param == "small file" else None
        made = Index.open(tmp_path / "a.scrubjay", dim=2, memory_budget=budget)
    with made:
        for i, user in enumerate(USERS):
            made.upsert("m1", f"the oak of user {i} is sk-{i:04d}", scope=user, vector=[1.0, float(i)])
        made.upsert("m1", "the oak of all", scope=Scope("acme"), vector=[1.0, 0.0])
        made.upsert("m1", "the oak of another tenant sk-0007", scope=Scope("globex"), vector=[1.0, 7.0])
        yield made


def test_a_document_visible_in_several_scopes_is_ranked_once(index: Index) -> None:
    hits = index.search("oak sk-0007", scope=USERS, k=50)
    assert hits[0].scope == USERS[7]
    assert sorted(hit.scope for hit in hits) == [Scope("acme"), *sorted(USERS)]
    some = index.search("oak sk-0007", scope=USERS[:3] + USERS[:2], k=50)
    assert {hit.scope for hit in some} == {Scope("acme"), *USERS[:3]}


def test_a_list_of_one_scope_searches_as_that_scope(index: Index) -> None:
    one = index.search("oak sk-0007", scope=USERS[7], vector=[1.0, 2.0], explain=True)
    same = index.search("oak sk-0007", scope=[USERS[7]], vector=[1.0, 2.0], explain=True)
    assert (list(same.ids), list(same.scores)) == (list(one.ids), list(one.scores))
    awaited = asyncio.run(index.asearch("oak sk-0007", scope=[USERS[7], USERS[7]]))
    assert list(awaited.ids) == list(index.search("oak sk-0007", scope=USERS[7]).ids)


def test_vectors_filters_and_lists_of_names(index: Index) -> None:
    names = [{"tenant": "acme", "user": "u3"}, USERS[4]]
    hits = index.search(vector=[0.1, 1.0], scope=names, k=3, query=Query(mode="vector"))
    assert [hit.scope for hit in hits] == [USERS[4], USERS[3], Scope("acme")]
    index.upsert("m2", "an oak", scope=USERS[5], metadata={"n": 1})
    assert [hit.id for hit in index.search("oak", scope=USERS, filter={"n": 1})] == ["m2"]


def test_writes_are_seen_at_once(index: Index) -> None:
    index.search("oak", scope=USERS)
    index.upsert("new", "a beech", scope=USERS[9])
    assert [hit.scope for hit in index.search("beech", scope=USERS)] == [USERS[9]]
    index.delete("new", scope=USERS[9])
    index.erase(USERS[8])
    assert len(index.search("beech", scope=USERS, query=Query(mode="lexical", spelling=False))) == 0
    assert USERS[8] not in {hit.scope for hit in index.search("oak", scope=USERS, k=50)}


def test_an_empty_list_of_scopes_is_refused(index: Index) -> None:
    with pytest.raises(ValueError, match="scope: expected at least one"):
        index.search("oak", scope=[])
    with pytest.raises(TypeError, match=r"scope\[1\]"):
        index.search("oak", scope=[USERS[0], "acme"])  # type: ignore[list-item]
