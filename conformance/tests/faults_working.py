"""Planted faults of the levels durability, async and errors."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from faults import fault
from memory_store_conformance import Hit, Item, Scope
from reference import ReferenceStore


@fault("durability.reopen")
class KeepsNoMetadata(ReferenceStore):
    """Metadata are kept in memory only."""

    def _refresh(self) -> None:
        _, operations = self._log.unread()
        for what, scope, arguments in operations:
            for written in arguments if what == "put" else ():
                written[2] = json.dumps({})
            self.apply(what, tuple(scope), arguments)


@fault("durability.reopen-search")
class VectorsOfIds(ReferenceStore):
    """Rows read from the log get the vectors of their ids."""

    def _refresh(self) -> None:
        _, operations = self._log.unread()
        for what, scope, arguments in operations:
            self.apply(what, tuple(scope), arguments)
            for id, *_ in arguments if what == "put" else ():
                self._rows[tuple(scope)][id].vector = self._embedder.embed_query(id)


@fault("durability.kill")
class WritesLater(ReferenceStore):
    """Writes are buffered until there are 100, or until the store is closed."""

    def __init__(self, setting: Any) -> None:
        self._waiting: list[Any] = []
        super().__init__(setting)

    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if self._closed:
            raise ValueError("the store is closed")
        with self._turn:
            self.apply(what, scope, arguments)
            self._waiting.append([what, scope, arguments])
            if len(self._waiting) == 100:
                self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        with self._log.locked():
            self._refresh()
            for operation in waiting:
                self._log.append(operation)

    def purge(self) -> None:
        self._flush()
        super().purge()

    def close(self) -> None:
        self._flush()
        super().close()


@fault("durability.two-writers")
class LastWriterWins(ReferenceStore):
    """Each write rewrites the file from what this process knows."""

    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        with self._turn, self._log.locked():
            if self._closed:
                raise ValueError("the store is closed")
            self.apply(what, scope, arguments)
            self._rewrite()

    def _refresh(self) -> None:
        if not self._rows:
            super()._refresh()


@fault("durability.fork")
class ForgetsInChildren(ReferenceStore):
    def __init__(self, setting: Any) -> None:
        self._process = os.getpid()
        super().__init__(setting)

    def get(self, scope: Scope, id: str) -> Item | None:
        return super().get(scope, id) if os.getpid() == self._process else None


@fault("durability.fork")
class DiesInChildren(ForgetsInChildren):
    def get(self, scope: Scope, id: str) -> Item | None:
        if os.getpid() != self._process:
            os.abort()
        return super().get(scope, id)


@fault("async.same")
class DropsTheLast(ReferenceStore):
    async def asearch(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> Any:
        return (await super().asearch(scope, text, k, filter))[:-1]


@fault("async.lag")
class HoldsTheLoop(ReferenceStore):
    async def asearch(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> Any:
        time.sleep(0.002)
        return self.search(scope, text, k, filter)


@fault("async.lag")
class WorksInTheLoop(ReferenceStore):
    async def asearch(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> Any:
        end = time.process_time() + 0.002
        while time.process_time() < end:
            pass
        return self.search(scope, text, k, filter)


@fault("async.cancelled")
class PutsOneByOne(ReferenceStore):
    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        for item in items:
            await super().aput(scope, [item])


@fault("async.loops")
class FirstLoopOnly(ReferenceStore):
    _loop: Any = None

    async def aget(self, scope: Scope, id: str) -> Item | None:
        self._loop = self._loop or asyncio.get_running_loop()
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        return await super().aget(scope, id)

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        self._loop = self._loop or asyncio.get_running_loop()
        await super().aput(scope, items)


@fault("async.together")
class OneAtATime(ReferenceStore):
    _busy = False

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            await super().aput(scope, items)
        finally:
            self._busy = False


@fault("errors.vector-length")
class TakesShortVectors(ReferenceStore):
    def check_vectors(self, vectors: Any) -> None:
        super().check_vectors(np.zeros((len(vectors), self._embedder.dim)) + vectors[:, :1])


@fault("errors.vector-nan")
class TakesNan(ReferenceStore):
    def check_vectors(self, vectors: Any) -> None:
        super().check_vectors(np.nan_to_num(vectors))

    def scores(self, rows: list[Any], vector: Any) -> Any:
        scores = super().scores(rows, vector)
        return scores - 0 * scores.mean()


@fault("errors.metadata")
class SmallBatchesOneByOne(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        for part in [[item] for item in items] if 1 < len(items) < 4 else [items]:
            super().put(scope, part, **options)


@fault("errors.k")
class NegativeIsASlice(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        if k == -1:
            return super().search(scope, text, 100, filter)[:k]
        return super().search(scope, text, k, filter)


@fault("errors.k")
class StumblesOverTexts(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        if isinstance(k, str):
            raise AttributeError("'str' object has no attribute 'bit_length'")
        return super().search(scope, text, k, filter)


@fault("errors.text")
class TextOfAnything(ReferenceStore):
    def put(self, scope: Scope, items: Sequence[Item], **options: Any) -> None:
        super().put(scope, [Item(item.id, str(item.text), item.metadata) for item in items], **options)


@fault("errors.question")
class StumblesOverEmpty(ReferenceStore):
    def embed_question(self, text: str) -> Any:
        text.split()[0]
        return super().embed_question(text)


@fault("errors.closed")
class ClosedIsSilent(ReferenceStore):
    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if not self._closed:
            super().write(what, scope, arguments)


@fault("errors.closed")
class ClosesOnce(ReferenceStore):
    def close(self) -> None:
        if self._closed:
            raise RuntimeError("closed already")
        super().close()
