"""The searches of users, through the public call, with ids, scores and texts of the hits read.

Test names are permanent, so that figures remain comparable for years. Times are for one call with one question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.micro.filters import FILTERS
from benchmarks.micro.users import Asked, Users, questions
from scrubjay import Query, embedders
from scrubjay.bench.pytest_plugin import EachCall

KINDS = ("memory", "file")
SIZES = (1_000, 10_000)
FILTERED = (
    "category 1%",
    "category 50%",
    "number 10%",
    "number 50%",
    "$in of 20, 4%",
    "$in of 500, 50%",
    "$in of 500 numbers, 50%",
    "$contains 40%",
)
AWAITED = 20


def read(hits: Any) -> int:
    """Read what callers read."""
    n = 0
    for hit in hits:
        _ = (hit.id, hit.score, hit.text)
        n += 1
    return n


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_search(each_call: EachCall, users: Users, kind: str, n: int) -> None:
    """Default fusion, a new scope object for each call."""
    index = users.index(kind, n)

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10))

    assert each_call(search, questions(f"u{n}")) == 10


@pytest.mark.parametrize("n", SIZES)
def test_search_ids_only(each_call: EachCall, users: Users, n: int) -> None:
    """The same with only the ids read."""
    index = users.index("memory", n)

    def search(asked: Asked) -> int:
        return len(list(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10).ids))

    assert each_call(search, questions(f"u{n}")) == 10


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("mode", ["lexical", "vector"])
def test_search_one_arm(each_call: EachCall, users: Users, mode: str, n: int) -> None:
    index, query = users.index("memory", n), Query(mode=mode)

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10, query=query))

    assert each_call(search, questions(f"u{n}")) == 10


@pytest.mark.parametrize("name", FILTERED)
def test_search_filtered(each_call: EachCall, users: Users, name: str) -> None:
    """10,000 memories; the name tells how many of them the filter admits."""
    index, filter = users.index("memory", 10_000), FILTERS[name]

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10, filter=filter))

    assert each_call(search, questions("u10000")) == 10


@pytest.mark.parametrize("n_words", [30, 100, 200])
def test_search_long_question(each_call: EachCall, users: Users, n_words: int) -> None:
    index = users.index("memory", 10_000)

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10))

    assert each_call(search, questions("u10000", n_words)) == 10


def test_search_hundred_hits(each_call: EachCall, users: Users) -> None:
    """k = 100 of 10,000."""
    index = users.index("memory", 10_000)

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=100))

    assert each_call(search, questions("u10000")) == 100


def test_search_thousand_hits(each_call: EachCall, users: Users) -> None:
    """k = 1,000 of 10,000."""
    index = users.index("memory", 10_000)

    def search(asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=1_000))

    assert each_call(search, questions("u10000")) == 1_000


@pytest.mark.parametrize("kind", KINDS)
def test_asearch(each_call: EachCall, users: Users, kind: str) -> None:
    """1,000 memories; twenty searches awaited in one run of the loop, percentiles for a single search."""
    index, loop = users.index(kind, 1_000), asyncio.new_event_loop()

    async def ask(some: Sequence[Asked]) -> int:
        n = 0
        for asked in some:
            n += read(await index.asearch(asked.text, vector=asked.vector, scope=asked.scope, k=10))
        return n

    asked = questions("u1000")
    batches = [asked[first : first + AWAITED] for first in range(0, len(asked), AWAITED)]
    try:
        found = each_call(
            lambda some: loop.run_until_complete(ask(some)), batches, rounds=100, calls_a_round=AWAITED
        )
    finally:
        loop.close()
    assert found == 10 * AWAITED


def test_embed_query(each_call: EachCall) -> None:
    """The default embedder alone: the extra cost of a search without a vector."""
    embedder = embedders.default()
    assert each_call(lambda asked: embedder.embed_query(asked.text), questions("u1000")).shape == (256,)


def test_get(each_call: EachCall, users: Users) -> None:
    index, asked = users.index("memory", 10_000), questions("u10000")[0]
    ids = [f"m{row}" for row in range(0, 10_000, 17)]
    assert each_call(lambda id: index.get(id, scope=asked.scope), ids) is not None


def test_count_filtered(each_call: EachCall, users: Users) -> None:
    index, filter = users.index("memory", 10_000), FILTERS["category 10%"]
    assert each_call(lambda asked: index.count(scope=asked.scope, filter=filter), questions("u10000")) > 500
