"""Images that are loaded while they are read: in pieces, straight into the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import CorruptIndexError, Index, Scope
from scrubjay._native import Engine
from scrubjay.backend import Backend
from scrubjay.store.rows.decoding import marked

JANE = Scope("acme", user="jane")
N = 600


class Pieces:
    """An image in pieces of one size; `then` is called between them."""

    def __init__(self, image: bytes, size: int, then: Callable[[], object] = lambda: None) -> None:
        self.image, self.size, self.then = image, size, then

    def __len__(self) -> int:
        return len(self.image)

    def __iter__(self) -> Iterator[bytes]:
        for at in range(0, len(self.image), self.size):
            yield self.image[at : at + self.size]
            self.then()


@pytest.fixture(scope="module")
def written() -> Engine:
    engine = Engine(dim=96)
    vectors = np.random.default_rng(3).normal(size=(N, 96)).astype(np.float32)
    texts = [f"the oak of jay number {i} has {i % 7} acorns, said naïve José" for i in range(N)]
    engine.upsert_many([f"m{i}" for i in range(N)], texts, scope=JANE, vectors=vectors)
    return engine


@pytest.mark.parametrize("size", [1000, 4096, 1 << 20])
def test_pieces_give_the_partition_that_the_whole_image_gives(written: Engine, size: int) -> None:
    images = written.save_partition(JANE)
    engine = Engine(dim=96)
    assert engine.load_partition(JANE, [Pieces(image, size) for image in images]) == N
    assert engine.digest(JANE) == written.digest(JANE)
    assert engine.save_partition(JANE) == images


def test_an_error_while_pieces_are_read_leaves_the_engine_as_it_was(written: Engine) -> None:
    (image,) = written.save_partition(JANE)

    class EndedError(Exception):
        pass

    def end() -> None:
        raise EndedError

    engine = Engine(dim=96)
    with pytest.raises(EndedError):
        engine.load_partition(JANE, [Pieces(image, 5000, end)])
    assert len(engine) == 0
    assert engine.load_partition(JANE, [Pieces(image, 5000)]) == N


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ([5], "pieces of bytes, got int"),
        ([iter([b"SJ"])], "pieces of bytes, got list_iterator"),
        ([["text"] * 100], "pieces of bytes, got str"),
        ([[bytearray(b"SJ")] * 100], "pieces of bytes, got bytearray"),
    ],
)
def test_what_is_no_image_is_refused_by_name(images: list[Any], expected: str) -> None:
    with pytest.raises(TypeError, match=f"images: expected .*{expected}"):
        Engine(dim=96).load_partition(JANE, images)


@pytest.mark.parametrize(
    "image", [[], [b""], [b"SJCHUNK\n"], [b"x" * 200]], ids=["none", "empty", "short", "other"]
)
def test_pieces_of_no_image_are_corrupt(image: list[bytes]) -> None:
    with pytest.raises(CorruptIndexError):
        Engine(dim=96).load_partition(JANE, [image])


def test_more_bytes_than_announced_are_corrupt(written: Engine) -> None:
    (image,) = written.save_partition(JANE)

    class Short(Pieces):
        def __len__(self) -> int:
            return 1000

    with pytest.raises(CorruptIndexError, match="the size"):
        Engine(dim=96).load_partition(JANE, [Short(image, 4096)])


def test_the_list_and_the_engine_may_change_while_pieces_are_read(written: Engine) -> None:
    images: list[Any] = []
    engine = Engine(dim=96)

    def change() -> None:
        images.clear()
        engine.upsert("other", "an oak", scope=JANE)

    images.append(Pieces(written.save_partition(JANE)[0], 50_000, change))
    with pytest.raises(ValueError, match="scope"):
        engine.load_partition(JANE, images)
    assert engine.search("oak", scope=JANE).ids.tolist() == ["other"]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "index.scrubjay"
    vectors = np.random.default_rng(4).normal(size=(3 * N, 96)).astype(np.float32)
    with Index.open(path, dim=96) as index:
        index.upsert_many(
            [{"id": i, "text": f"oak {i} of jays", "vector": vectors[i]} for i in range(3 * N)],
            scope=JANE,
            progress=False,
        )
        index.admin.compact()
    return path


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace the image of the file."""
    with Index.open(path, dim=96) as index:
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        with store.writing("changing an image") as transaction:
            ((number, data),) = transaction.connection.execute("SELECT number, data FROM image").fetchall()
            assert len(data) > 3 << 17  # several pieces
            transaction.connection.execute(
                "UPDATE image SET data = ? WHERE number = ?", (change(data), number)
            )


def loads(path: Path) -> tuple[int, int, list[int | str]]:
    with Index.open(path, dim=96) as index:
        ids = [hit.id for hit in index.search("oak 77", scope=JANE, k=3)]
        stats = Backend.of(index).engine.residency.loads.stats()  # type: ignore[union-attr]
        return int(stats["loads_from_image"]), int(stats["loads_from_rows"]), ids


def of_another_scope(data: bytes) -> bytes:
    return marked(Scope("acme", user="joe"), 1, [data[:-16]])[0]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "header": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    "first piece": lambda data: data[:9000] + bytes([data[9000] ^ 1]) + data[9001:],
    "last piece": lambda data: data[:-300] + bytes([data[-300] ^ 1]) + data[-299:],
    "mark": lambda data: data[:-10] + bytes([data[-10] ^ 1]) + data[-9:],
    "of another scope": of_another_scope,
    "torn": lambda data: data[: len(data) // 2],
    "short": lambda data: data[:7],
    "nothing": lambda data: b"",
    "longer": lambda data: data + b"\0" * 200_000,
}


def test_an_image_is_read_from_the_file_in_pieces(stored: Path) -> None:
    assert loads(stored)[:2] == (1, 0)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 an image is read as a whole")
def test_an_image_without_a_mark_is_read_like_those_of_earlier_versions(stored: Path) -> None:
    expected = loads(stored)
    rewritten(stored, lambda data: data[:-16])
    assert loads(stored) == expected


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_image_is_replaced_by_the_rows(stored: Path, damage: Callable[[bytes], bytes]) -> None:
    ids = loads(stored)[2]
    rewritten(stored, damage)
    assert loads(stored) == (0, 1, ids)
