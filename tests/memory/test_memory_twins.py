"""Every blocking method of a memory must have an async twin that does not block the event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import ClosedError, embedders
from scrubjay.memory import AsyncMemory, FactCandidate, Feed, Files, Memory, MemoryAdmin
from scrubjay.memory.facade.twins import AsyncFeed, AsyncFiles, AsyncMemoryAdmin, AsyncSession
from scrubjay.memory.runs.session import Session
from tests.memory.setting import JANE, JOE

PAIRS: dict[type, type] = {
    Memory: AsyncMemory,
    Session: AsyncSession,
    Feed: AsyncFeed,
    Files: AsyncFiles,
    MemoryAdmin: AsyncMemoryAdmin,
}
WITHOUT = {
    (Memory, "distil_later"): "a task of distil does the same",
    (Files, "lines"): "yields, and so does its twin",
}
MORE = {(AsyncFeed, "follow")}


def methods(cls: type) -> Iterator[str]:
    """Yield the names of public methods."""
    for name in dir(cls):
        static = inspect.getattr_static(cls, name)
        if not name.startswith("_") and callable(getattr(cls, name)) and not isinstance(static, property):
            yield name


@pytest.mark.parametrize("cls", PAIRS)
def test_every_method_has_its_twin(cls: type) -> None:
    missing = [
        name
        for name in methods(cls)
        if (cls, name) not in WITHOUT and not inspect.iscoroutinefunction(getattr(PAIRS[cls], name, None))
    ]
    assert not missing, f"add them to {PAIRS[cls].__name__} in python/scrubjay/memory/facade/twins.py"
    extra = set(methods(PAIRS[cls])) - set(methods(cls)) - {name for one, name in MORE if one is PAIRS[cls]}
    assert not extra
    for name in methods(PAIRS[cls]):
        of_twin = getattr(PAIRS[cls], name)
        if hasattr(of_twin, "__wrapped__"):
            assert of_twin.__wrapped__ == getattr(cls, name)


def test_a_new_method_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "brand_new", lambda self: None, raising=False)
    with pytest.raises(AssertionError, match="add them to AsyncMemory"):
        test_every_method_has_its_twin(Memory)


def test_the_loop_goes_on_while_a_call_waits_for_the_embedder(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()
    may_end.set()

    def slow(texts: list[str]) -> np.ndarray:
        begun.set()
        assert may_end.wait(60), "the loop was kept waiting"
        return np.ones((len(texts), 4), dtype=np.float32)

    async def main() -> None:
        embedder = embedders.Function(slow, name="slow", dim=4)
        async with await AsyncMemory.open(tmp_path / "m.scrubjay", embedder) as memory:
            await memory.propose("Jane sings", scope=JANE, source="r")
            session = await memory.session(JANE, "run-1")
            calls: list[Any] = [
                memory.propose("Jane dances", scope=JANE, source="r"),
                memory.recall("what does Jane do?", JANE),
                memory.assemble("and what else?", JANE),
                session.assemble("what now?"),
                session.propose("Jane jumps"),
            ]
            for call in calls:
                begun.clear()
                may_end.clear()
                task = asyncio.create_task(call)
                while not begun.is_set():
                    await asyncio.sleep(0.001)
                assert not task.done()
                may_end.set()
                await task
            assert len(await memory.list(JANE)) == 3

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_day_of_a_memory(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncMemory.open(tmp_path / "m.scrubjay") as memory:
            oslo = await memory.propose(
                FactCandidate("Jane lives in Oslo", "Jane", "lives in"), scope=JANE, source="r"
            )
            seen = memory.memory.feed.cursor
            async with await memory.session(JANE, "chat") as session:
                await session.user("Where do I live?")
                assert "Oslo" in (await session.assemble()).text
            told: list[Any] = []
            stop = await memory.feed.on_change(told.append, scope=JANE)
            follower = memory.feed.follow(seen, scope=JANE, poll_s=0.01)
            following = asyncio.ensure_future(anext(follower))
            await asyncio.sleep(0.05)
            assert not following.done()
            rome = await memory.propose(
                FactCandidate("Jane lives in Rome", "Jane", "lives in"), scope=JANE, source="r"
            )
            assert [(await following).action, (await anext(follower)).record] == ["superseded", rome.id]
            assert await memory.feed.changes(seen, scope=JANE) == told and len(told) == 2
            stop()
            assert [line async for line in memory.files.lines(JANE)] == list(memory.memory.files.lines(JANE))
            assert await memory.files.export(tmp_path / "jane.jsonl", scope=JANE) > 3
            assert (await memory.files.import_(tmp_path / "jane.jsonl", scope=JANE)).written == {}
            assert (await memory.get(oslo.id or "", scope=JANE)) is None and await memory.admin.check() == []
            with pytest.raises(KeyError):
                await memory.revoke(rome.id or "", reason="x", scope=JOE)
            assert (await memory.forget(JANE)).total > 0
            await follower.aclose()
        with pytest.raises(ClosedError):
            await memory.known(JANE)
        with pytest.raises(TypeError, match=r"memory: expected a scrubjay\.Memory"):
            AsyncMemory("memory")  # type: ignore[arg-type]

    asyncio.run(main())
