"""The event loop continues while a search runs, and batches survive a fork."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings

import numpy as np
import pytest

from scrubjay import Engine, Index, Scope
from scrubjay.embedders import Function

HOME = Scope("acme", user="jane")


def test_the_loop_ticks_while_a_search_waits() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(texts: list[str]) -> np.ndarray:
        begun.set()
        assert may_end.wait(60), "the loop was blocked"
        return np.ones((len(texts), 4), dtype=np.float32)

    index = Index(Function(lambda texts: np.ones((len(texts), 4)), name="ones", dim=4, query=slow))
    index.upsert("m1", "green tea", scope=HOME)

    async def ticks() -> int:
        search = asyncio.create_task(index.asearch("tea", scope=HOME))
        n_ticks = 0
        while not (begun.is_set() and n_ticks >= 20):
            assert not search.done()
            await asyncio.sleep(0.001)
            n_ticks += 1
        may_end.set()
        hits = await search
        assert (hits[0].id, hits.mode) == ("m1", "hybrid")
        return n_ticks

    assert asyncio.run(asyncio.wait_for(ticks(), 120)) >= 20


def test_several_searches_run_at_once_and_errors_arrive() -> None:
    index = Index(dim=8)
    vectors = np.random.default_rng(1).normal(size=(200, 8))
    index.upsert_many([{"id": i, "text": f"note {i}", "vector": vectors[i]} for i in range(200)], scope=HOME)

    async def all_of_them() -> None:
        found = await asyncio.gather(*(index.asearch(vector=vector, scope=HOME, k=1) for vector in vectors))
        assert [hits[0].id for hits in found] == list(range(200))
        with pytest.raises(ValueError, match="k: expected"):
            await index.asearch("note", scope=HOME, k=0)

    asyncio.run(all_of_them())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_batches_go_on_in_the_child_of_a_fork() -> None:
    engine = Engine()
    engine.upsert_many(list(range(50)), [f"note {i}" for i in range(50)], scope=HOME)

    def best() -> list[int]:
        texts = [f"note {i}" for i in range(50)]
        return [result.id(0) for result in engine.search_batch(texts, scope=HOME, threads=8)]  # type: ignore[misc]

    assert best() == list(range(50))  # starts the pool's threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the test is about a fork with threads
        child = os.fork()
    if child == 0:
        os._exit(0 if best() == list(range(50)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert best() == list(range(50))
