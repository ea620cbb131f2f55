"""A graph is stored beside the images of its partition, and an unusable one only costs a scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from tests.unit.test_store_housekeeping import wait_for

JANE = Scope("acme", user="jane")
N_ROWS, DIM = 1_100, 16  # chunks with fewer than 1,024 vectors are scanned


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def vectors() -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).normal(size=(N_ROWS, DIM)).astype(np.float32)


def fill(index: Index) -> None:
    index.upsert_many(
        [{"id": i, "text": f"oak {i}", "scope": JANE, "vector": row} for i, row in enumerate(vectors())]
    )


def native(index: Index) -> Any:
    """Return the native engine, with the partition in it."""
    index.search(vector=vectors()[0], scope=JANE)
    return Backend.of(index).engine.native  # type: ignore[union-attr]


def images(index: Index) -> list[bytes]:
    writer = Backend.of(index).engine.store._writer  # type: ignore[union-attr]
    return [data for (data,) in writer.execute("SELECT data FROM image ORDER BY ordinal")]


def nearest(index: Index) -> list[list[int]]:
    return [[hit.id for hit in index.search(vector=row, scope=JANE, k=10)] for row in vectors()[:20]]


def with_graph(path: Path) -> list[list[int]]:
    """Write a file whose images have a graph; return the nearest documents."""
    with Index.open(path) as index:
        fill(index)
        assert native(index).build_graphs(min_vectors=1_000) == 1
        return nearest(index)


def test_a_graph_is_read_with_its_image(path: Path) -> None:
    expected = with_graph(path)
    with Index.open(path) as index:
        engine = native(index)
        assert engine.graph_state(JANE) == "built"
        assert engine.stats()["graph_vectors"] == N_ROWS
        assert nearest(index) == expected
        found = images(index)
        assert [engine.is_graph_image(image) for image in found] == [False, True]
        assert index.admin.check().clean
    with Index.open(path) as index:
        native(index)
        assert images(index) == found  # nothing changed, nothing was written


def test_a_graph_that_came_after_the_image_is_saved(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
    with Index.open(path) as index:
        assert len(images(index)) == 1
        assert native(index).build_graphs(min_vectors=1_000) == 1
    with Index.open(path) as index:
        assert native(index).graph_state(JANE) == "built"


def test_without_its_graph_a_partition_is_complete(path: Path) -> None:
    expected = with_graph(path)
    for damage in (
        "substr(data, 1, 9000)",
        "CAST(substr(data, 1, 99) || x'00ff00ff' || substr(data, 104) AS BLOB)",
    ):
        with Index.open(path) as index:
            writer = Backend.of(index).engine.store._writer  # type: ignore[union-attr]
            writer.execute(f"UPDATE image SET data = {damage} WHERE ordinal = 1")
            # While the damage is in the log, the file has the bytes that the graph's checksum promises.
            assert writer.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0] == 0
            engine = native(index)
            assert engine.graph_state(JANE) == "none"
            assert nearest(index) == expected
            (problem,) = index.admin.check().problems
            assert "graph" in problem
            index.admin.compact()
            assert index.admin.check().clean
            assert len(images(index)) == 1
            assert engine.build_graphs(min_vectors=1_000) == 1
        with Index.open(path) as index:
            assert native(index).graph_state(JANE) == "built"
            assert index.admin.check().clean


def test_a_graph_of_other_images_is_not_used(path: Path) -> None:
    with_graph(path)
    with Index.open(path) as index:
        native(index)
        (_, graph) = images(index)
        index.upsert_many(
            [{"id": i, "text": "beech", "scope": JANE, "vector": vectors()[i]} for i in range(100)]
        )
    with Index.open(path) as index:
        (_, newer) = images(index)
        assert newer != graph
        Backend.of(index).engine.store._writer.execute(
            "UPDATE image SET data = ? WHERE ordinal = 1", (graph,)
        )  # type: ignore[union-attr]
        assert native(index).graph_state(JANE) == "none"
        assert len(index.search("beech", scope=JANE, k=200, query=Query(mode="lexical"))) == 100


class _Late:
    """The native engine, with a slow graph build."""

    def __init__(self, engine: Any, state: str) -> None:
        self._engine = engine
        self.state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def graph_state(self, scope: Scope) -> str:
        return self.state


@pytest.mark.usefixtures("eager_housekeeping")
def test_an_idle_scope_is_saved_again_once_its_graph_is_built(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
    with Index.open(path) as index:
        home = Backend.of(index).engine.residency  # type: ignore[union-attr]
        late = _Late(home.engine, "coming")
        home.engine = late
        native(index)  # reads the image, which has no graph
        partition = home.partition(JANE)
        for _ in range(3):
            assert home.tidy()
            assert partition in home._changed
        assert len(images(index)) == 1
        assert Backend.of(index).engine.native.build_graphs(min_vectors=1_000) == 1  # type: ignore[union-attr]
        late.state = "built"
        wait_for(lambda: len(images(index)) == 2 and partition not in home._changed)
        assert index.admin.check().clean


@pytest.mark.usefixtures("eager_housekeeping")
def test_a_graph_that_grew_after_it_was_read_is_saved_once(path: Path) -> None:
    with_graph(path)
    with Index.open(path) as index:
        home = Backend.of(index).engine.residency  # type: ignore[union-attr]
        late = _Late(home.engine, "growing")  # as if a process ended before its graph had all of its writes
        home.engine = late
        native(index)
        partition = home.partition(JANE)
        (_, before) = images(index)
        for _ in range(3):
            assert home.tidy()
            assert partition in home._changed
        assert images(index)[1] == before
        written: list[bool] = []
        save = home.save
        home.save = lambda *given, **more: written.append(True) or save(*given, **more)
        late.state = "built"
        wait_for(lambda: bool(written) and not home.is_dirty(partition))
        assert not home.tidy()
        assert written == [True]
        assert index.admin.check().clean


def test_a_sealed_graph_is_read_with_its_image(path: Path) -> None:
    pytest.importorskip("cryptography")
    keys = {"acme": b"k" * 32}.get
    with Index.open(path, keys=keys) as index:
        fill(index)
        assert native(index).build_graphs(min_vectors=1_000) == 1
    with Index.open(path, keys=keys) as index:
        assert native(index).graph_state(JANE) == "built"
        assert not any(b"SJGRAPH" in image for image in images(index))
        assert index.admin.check().clean
