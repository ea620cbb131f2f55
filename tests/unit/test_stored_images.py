"""Images that the engine reads from the pages of the file beside SQLite: the image that SQLite returns, or an error."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import CorruptIndexError, Index, Scope
from scrubjay._native import Engine
from scrubjay.backend import Backend
from scrubjay.store.sqlite import images as sqlite_images

pytestmark = pytest.mark.skipif(
    os.name != "posix" or sys.version_info < (3, 11), reason="images are read through SQLite there"
)

JANE = Scope("acme", user="jane")
END = b"the end of the BLOB"


def partition(n: int) -> Engine:
    engine = Engine(dim=16)
    vectors = np.random.default_rng(n).normal(size=(n, 16)).astype(np.float32)
    engine.upsert_many(
        list(range(n)), [f"oak {i} of jay {i % 7}" for i in range(n)], scope=JANE, vectors=vectors
    )
    return engine


@pytest.fixture(scope="module")
def images() -> list[bytes]:
    return [engine.save_partition(JANE)[0] for engine in map(partition, (4, 60, 700))]


def write(path: Path, images: list[bytes], page_bytes: int, *, in_order: bool = True) -> None:
    """Write a table with each image several times among other rows; without `in_order` their pages are scattered."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {page_bytes}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("CREATE TABLE other(bytes BLOB)")
    connection.execute("CREATE TABLE image(number INTEGER PRIMARY KEY, scope INTEGER, name TEXT, data BLOB)")
    if not in_order:
        connection.executemany("INSERT INTO other VALUES (?)", [(os.urandom(3 * page_bytes),)] * 40)
        connection.execute("DELETE FROM other WHERE rowid % 3 = 0")
    for number in range(60):
        data = images[number % len(images)] + END
        connection.execute(
            "INSERT INTO image VALUES (?, ?, ?, ?)", (number * 1000 - 9, number, "n" * number, data)
        )
    connection.close()


def place(path: Path, row: int) -> tuple[int, int, bytes]:
    """Return the table's root, and the BLOB's size and first bytes, by SQLite."""
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'image'").fetchone()
    (data,) = connection.execute("SELECT data FROM image WHERE number = ?", (row,)).fetchone()
    connection.close()
    return root, len(data), data[:80]


def load(path: Path, row: int, root: int, n_bytes: int, first: bytes, end: bytes = END) -> Engine:
    engine = Engine(dim=16)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        engine.load_stored_partition(JANE, [(descriptor, root, [(row, n_bytes)], first, end)])
    except CorruptIndexError:
        assert len(engine) == 0
        raise
    finally:
        os.close(descriptor)
    return engine


@pytest.mark.parametrize("page_bytes", [1024, 4096, 8192, 65536])
@pytest.mark.parametrize("in_order", [True, False])
def test_the_image_read_beside_sqlite_is_the_one_that_sqlite_returns(
    images: list[bytes], tmp_path: Path, page_bytes: int, in_order: bool
) -> None:
    path = tmp_path / "images"
    write(path, images, page_bytes, in_order=in_order)
    for number in range(60):
        row = number * 1000 - 9
        engine = load(path, row, *place(path, row))
        assert engine.save_partition(JANE) == [images[number % len(images)]]


def test_another_row_root_size_beginning_or_end_is_refused(images: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "images"
    write(path, images, 8192)
    root, n_bytes, first = place(path, 991)
    assert len(load(path, 991, root, n_bytes, first)) == 60
    for wrong in (
        (992, root, n_bytes, first),
        (1991, root, n_bytes, first),
        (991, 1, n_bytes, first),
        (991, 0, n_bytes, first),
        (991, 999_999, n_bytes, first),
        (991, root + 1, n_bytes, first),
        (991, root, n_bytes - 1, first),
        (991, root, n_bytes + 1, first),
        (991, root, 5, first),
        (991, root, n_bytes, first[:79]),
        (991, root, n_bytes, first[:79] + b"?"),
        (991, root, n_bytes, first, END[1:] + b"?"),
    ):
        with pytest.raises(CorruptIndexError):
            load(path, *wrong)
    with pytest.raises(CorruptIndexError):
        Engine(dim=16).load_stored_partition(JANE, [(-1, root, [(991, n_bytes)], first, END)])
    reading, writing = os.pipe()
    with pytest.raises(CorruptIndexError):
        Engine(dim=16).load_stored_partition(JANE, [(reading, root, [(991, n_bytes)], first, END)])
    os.close(reading)
    os.close(writing)


def test_a_damaged_file_gives_the_image_or_an_error(images: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "images"
    write(path, images[:2], 1024, in_order=False)
    sound, damaged = path.read_bytes(), tmp_path / "damaged"
    draw = random.Random(5)
    n_refused = 0
    for _ in range(400):
        number = draw.randrange(60)
        row = number * 1000 - 9
        where = place(path, row)
        data = bytearray(sound)
        kind = draw.randrange(4)
        if kind == 0:
            data = data[: draw.randrange(len(data))]
        elif kind == 1:  # links, cell pointers and sizes are at the beginnings of pages
            for page in range(len(data) // 1024):
                if draw.random() < 0.1:
                    data[1024 * page + draw.randrange(16)] = draw.randrange(256)
        elif kind == 2:
            for _ in range(30):
                data[draw.randrange(len(data))] = draw.randrange(256)
        else:
            page, other = (1024 * draw.randrange(len(data) // 1024) for _ in range(2))
            data[page : page + 1024] = sound[other : other + 1024]
        damaged.write_bytes(data)
        try:
            engine = load(damaged, row, *where)
        except CorruptIndexError:
            n_refused += 1
        else:
            assert engine.save_partition(JANE) == [images[number % 2]]
    assert 40 < n_refused < 390


# ------------------------------------------------------------------ through an index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    vectors = np.random.default_rng(4).normal(size=(3000, 16)).astype(np.float32)
    with Index.open(tmp_path / "index.scrubjay", dim=16) as index:
        index.upsert_many(
            [{"id": i, "text": f"oak {i} of jays", "vector": vectors[i]} for i in range(3000)],
            scope=JANE,
            progress=False,
        )
        yield index


def residency(index: Index) -> Any:
    return Backend.of(index).engine.residency  # type: ignore[union-attr]


def reload(index: Index) -> dict[str, int]:
    """Evict the scope without writing its image, search, and return how it was loaded."""
    loads, scope = residency(index), residency(index).partition(JANE)
    before = dict(loads.loads.stats())
    with scope.lock:
        loads.drop(scope)
    assert len(index.search("oak 77", scope=JANE, k=3)) == 3
    return {name: n - before[name] for name, n in loads.loads.stats().items() if n != before[name]}


def write_image(index: Index) -> None:
    assert residency(index).save(residency(index).partition(JANE), wait=True)


def checkpoint(index: Index) -> None:
    connection = sqlite3.connect(Backend.of(index).engine.store.path)  # type: ignore[union-attr]
    assert connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0] == 0
    connection.close()


@pytest.fixture
def through_sqlite(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the images whose BLOBs are read through SQLite."""
    reads: list[int] = []
    iterate = sqlite_images._Pieces.__iter__

    def counted(pieces: Any) -> Iterator[bytes]:
        reads.append(len(pieces))
        return iterate(pieces)

    monkeypatch.setattr(sqlite_images._Pieces, "__iter__", counted)
    return reads


def test_an_image_in_the_file_is_not_read_through_sqlite(index: Index, through_sqlite: list[int]) -> None:
    write_image(index)
    checkpoint(index)
    digest = residency(index).engine.digest(JANE)
    assert reload(index).keys() == {"loads_from_image", "load_seconds"}
    assert through_sqlite == []
    assert residency(index).engine.digest(JANE) == digest


def test_an_image_in_the_log_is_read_through_sqlite(index: Index, through_sqlite: list[int]) -> None:
    write_image(index)
    digest = residency(index).engine.digest(JANE)
    assert reload(index).keys() == {"loads_from_image", "load_seconds"}
    assert len(through_sqlite) == 1
    assert residency(index).engine.digest(JANE) == digest


def test_an_image_that_is_newer_in_the_log_than_in_the_file_is_the_newer_one(
    index: Index, through_sqlite: list[int]
) -> None:
    write_image(index)
    checkpoint(index)
    index.upsert_many(
        [{"id": i, "text": f"acorn {i} of jays"} for i in range(0, 3000, 2)], scope=JANE, progress=False
    )
    write_image(index)
    digest = residency(index).engine.digest(JANE)
    assert reload(index).keys() == {"loads_from_image", "load_seconds"}
    assert len(through_sqlite) == 1
    assert residency(index).engine.digest(JANE) == digest


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_an_image_in_several_rows_is_the_one_that_was_cut(
    images: list[bytes], tmp_path: Path, n_rows: int
) -> None:
    path = tmp_path / "images"
    data = images[0] + END
    cuts = sorted({0, len(data), *(len(data) * i // n_rows for i in range(1, n_rows))})
    parts = [data[begin:end] for begin, end in pairwise(cuts)]
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE image(number INTEGER PRIMARY KEY, name TEXT, data BLOB)")
    rows = [((7 * i) % 11, len(part)) for i, part in enumerate(parts)]
    for (number, _), part in zip(rows, parts, strict=True):
        connection.execute("INSERT INTO image VALUES (?, 'n', ?)", (number, part))
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'image'").fetchone()
    connection.close()

    def loaded(rows: list[tuple[int, int]], end: bytes = END) -> Engine:
        engine = Engine(dim=16)
        with path.open("rb") as file:
            engine.load_stored_partition(JANE, [(file.fileno(), root, rows, data[:80], end)])
        return engine

    assert loaded(rows).save_partition(JANE) == [images[0]]
    first, *others = rows
    for wrong in (
        [],
        others,
        rows[:-1],
        [*others, first],
        [first, *rows],
        [(first[0], first[1] - 1), *others],
        [(first[0], first[1] + 1), *others],
        [(99, first[1]), *others],
        [first, *((number, 2**63) for number, _ in others)],
        [(first[0], 2**64 - len(data) + first[1]), *others],
    ):
        with pytest.raises(CorruptIndexError):
            loaded(wrong)
