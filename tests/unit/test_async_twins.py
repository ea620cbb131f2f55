"""Every method that may block has an async twin that blocks no event loop, and quick searches use no thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Admin, AsyncIndex, ClosedError, Index, Query, Scope, ScopeView, embedders
from scrubjay.index import AsyncAdmin, AsyncScopeView
from scrubjay.index import searcher as searching
from scrubjay.index.twins import twin
from tests.data.flaky import Flaky
from tests.data.keys import provider

JANE = Scope("acme", user="jane")
PAIRS = {Index: AsyncIndex, ScopeView: AsyncScopeView, Admin: AsyncAdmin}
WITHOUT = {
    (Index, "asearch"): "search is its twin",
    (ScopeView, "asearch"): "search is its twin",
    (Index, "scope"): "makes a view, and waits for nothing",
}


def methods(cls: type) -> Iterator[str]:
    """Yield all public methods."""
    for name in dir(cls):
        if not name.startswith("_") and not isinstance(inspect.getattr_static(cls, name), property):
            yield name


@pytest.mark.parametrize("cls", PAIRS)
def test_every_method_has_its_twin(cls: type) -> None:
    missing = [
        name
        for name in methods(cls)
        if (cls, name) not in WITHOUT and not inspect.iscoroutinefunction(getattr(PAIRS[cls], name, None))
    ]
    assert not missing, f"add them to {PAIRS[cls].__name__} in python/scrubjay/index/twins.py"
    extra = set(methods(PAIRS[cls])) - set(methods(cls)) - {"use"}
    assert not extra


def test_a_new_method_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "brand_new", lambda self: None, raising=False)
    with pytest.raises(AssertionError, match="add them to AsyncIndex"):
        test_every_method_has_its_twin(Index)


@pytest.mark.parametrize("cls", PAIRS)
def test_twins_take_what_their_methods_take(cls: type) -> None:
    for name in methods(PAIRS[cls]):
        of_twin = getattr(PAIRS[cls], name)
        if hasattr(of_twin, "__wrapped__"):
            assert of_twin.__wrapped__ == getattr(cls, name)
            assert of_twin.__qualname__ == f"{PAIRS[cls].__name__}.{name}"
            assert f"{cls.__name__}.{name}" in of_twin.__doc__


def test_a_twin_runs_on_another_thread_and_raises_what_its_method_raises() -> None:
    async def main() -> None:
        index = AsyncIndex(Index())
        mine = threading.get_ident()
        assert await twin(lambda index: threading.get_ident())(index) != mine
        with pytest.raises(
            TypeError, match=r"Index.count\(\) got an unexpected keyword argument 'unheard_of'"
        ):
            await index.count(unheard_of=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="scope: expected"):
            await index.upsert("m1", "text", scope="acme")  # type: ignore[arg-type]

    asyncio.run(main())


def test_the_loop_goes_on_while_a_write_waits_for_the_embedder() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(texts: list[str]) -> np.ndarray:
        begun.set()
        assert may_end.wait(60), "the loop was kept waiting"
        return np.ones((len(texts), 4), dtype=np.float32)

    async def main() -> None:
        index = AsyncIndex(Index(embedders.Function(slow, name="slow", dim=4)))
        for write in (
            index.upsert("m1", "tea", scope=JANE),
            index.scope(JANE).upsert_many([{"id": "m2", "text": "tea"}]),
        ):
            begun.clear()
            may_end.clear()
            task = asyncio.create_task(write)
            while not begun.is_set():
                await asyncio.sleep(0.001)
            assert not task.done()
            may_end.set()
            await task
        assert await index.count() == 2

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_day_of_an_index(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncIndex.open(tmp_path / "one.scrubjay", dim=2) as index:
            jane = index.scope("acme", user="jane")
            await jane.upsert("m1", "Prefers trains.", vector=[1.0, 0.0], metadata={"stars": 3})
            side = await index.collection("side")
            await side.upsert("m1", "elsewhere", scope=JANE)
            assert (await jane.search("trains"))[0].id == "m1"
            assert [len(hits) for hits in await jane.search_batch(["trains", "ships"])] == [1, 0]
            assert (await jane.patch("m1", metadata={"stars": 4})) is not None
            record = await index.get("m1", scope=JANE)
            assert record is not None and record.metadata == {"stars": 4}
            assert (await index.admin.check()).problems == []
            assert await index.scopes() == [JANE]
            assert await index.admin.backup(tmp_path / "copy.scrubjay") > 0
            await index.use(Flaky(letters="ab"))
            assert index.index.embedder is not None and index.index.embedder.name == "flaky"
            assert await jane.erase() == 1
        assert (await AsyncAdmin.repair(tmp_path / "copy.scrubjay")) is not None
        with pytest.raises(TypeError, match=r"index: expected a scrubjay\.Index"):
            AsyncIndex("index")  # type: ignore[arg-type]

    asyncio.run(main())


class Spy:
    """Counts the calls that are passed to threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_threads = 0
        real = asyncio.to_thread

        async def to_thread(*args: Any, **kwargs: Any) -> Any:
            self.n_threads += 1
            return await real(*args, **kwargs)

        monkeypatch.setattr(asyncio, "to_thread", to_thread)

    def threads_of(self, index: Index, text: Any = "oak", **options: Any) -> int:
        """Return how many threads a search uses; its hits must be those of the plain call."""
        before = self.n_threads
        hits = asyncio.run(index.asearch(text, **{"scope": JANE, **options}))
        after = self.n_threads
        wanted = index.search(text, **{"scope": JANE, **options})
        assert (hits.keys, hits.scores.tolist(), hits.mode, hits.degraded) == (
            wanted.keys, wanted.scores.tolist(), wanted.mode, wanted.degraded
        )  # fmt: skip
        return after - before


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    return Spy(monkeypatch)


def test_a_search_in_memory_is_a_plain_call_where_nothing_waits(
    spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(Flaky())
    index.upsert_many([{"id": i, "text": f"oak {i}", "metadata": {"i": i}} for i in range(50)], scope=JANE)
    assert spy.threads_of(index) == 1  # calls the embedder
    assert spy.threads_of(index) == 0  # is in the cache
    assert spy.threads_of(index, filter={"i": {"$gt": 40}}, k=3, explain=True) == 0
    assert spy.threads_of(index, "jay", query=Query(mode="lexical")) == 0
    assert spy.threads_of(index, "jay", vector=[1.0, 0.0, 0.0]) == 0
    assert spy.threads_of(index, None, vector=[1.0, 0.0, 0.0]) == 0
    assert spy.threads_of(index, "oak " * 1000, vector=[1.0, 0.0, 0.0]) == 1  # its analysis takes time
    assert spy.threads_of(index, query=Query(ids=[1, 2])) == 1
    monkeypatch.setattr(searching, "_MOST_DOCUMENTS", 49)
    assert spy.threads_of(index) == 1
    assert spy.threads_of(index, scope=Scope("globex")) == 0


def test_async_searches_that_may_wait_run_on_a_thread(spy: Spy) -> None:
    expiring, stemmed, down = Index(), Index(analyzer="own", stemmer=lambda word: word), Index(Flaky())
    expiring.upsert("m1", "oak", scope=JANE, ttl=1000)
    assert spy.threads_of(expiring) == 1  # expired documents are deleted first
    stemmed.upsert("m1", "oak", scope=JANE)
    assert spy.threads_of(stemmed) == 1
    assert isinstance(down.embedder, Flaky)
    down.upsert("m1", "oak", scope=JANE)
    down.embedder.is_up = False
    assert spy.threads_of(down, "jay") == 1  # it may hang


def test_a_search_of_a_file_is_a_plain_call_once_it_is_warm(spy: Spy, tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("m1", "oak", scope=JANE)
        index.search("oak", scope=JANE)
        assert spy.threads_of(index) == 0
        assert (
            spy.threads_of(index, scope=Scope("acme", user="joe")) == 1
        )  # its partitions have not been loaded yet
        assert spy.threads_of(index, scope=Scope("acme", user="joe")) == 0
        other.upsert("m2", "oak oak", scope=JANE)  # as from another process
        assert spy.threads_of(index) == 1
        assert spy.threads_of(index) == 0
        index.upsert("m3", "oak", scope=JANE, ttl=timedelta(days=1))
        index.search("oak", scope=JANE)
        assert spy.threads_of(index) == 0
        partition = index._collection.engine.residency.partition(JANE)  # type: ignore[union-attr]
        with partition.lock:
            partition.ready = False  # while a write is applied
        assert spy.threads_of(index) == 1
    with Index.open(tmp_path / "sealed.scrubjay", keys=provider) as index:
        index.upsert("m1", "oak", scope=JANE)
        index.search("oak", scope=JANE)
        assert spy.threads_of(index) == 1  # may request a key


def test_async_searches_raise_the_same_errors_inline_and_on_a_thread(spy: Spy) -> None:
    index = Index(dim=2)
    index.upsert("m1", "oak", scope=JANE)
    for options, message in (
        ({"scope": JANE, "k": 0}, "k: expected"),
        ({"scope": JANE, "vector": [1.0]}, "vector: expected"),
        ({"scope": "acme"}, "scope: expected"),
        ({"scope": JANE, "unheard_of": 1}, r"Index.asearch\(\) got an unexpected keyword argument"),
        ({"scope": JANE, "query": "rrf"}, "query: expected"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            asyncio.run(index.asearch("oak", **options))
    with pytest.raises((TypeError, ValueError), match="text: expected"):
        asyncio.run(index.asearch(7, scope=JANE))  # type: ignore[arg-type]
    index.close()
    with pytest.raises(ClosedError):
        asyncio.run(index.asearch("oak", scope=JANE))
