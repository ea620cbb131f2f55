"""Large images, written piece by piece while others write: whole or not at all, and nothing is left behind."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.sqlite import image_pieces, image_writing
from tests.data.keys import key_of

JANE, MARY = Scope("acme", user="jane"), Scope("acme", user="mary")
N, PIECE = 400, 20_000
SECRET = "the vault opens with cinnabar"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_writing, "PIECE_BYTES", PIECE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def fill(index: Index, scope: Scope = JANE, *, first: int = 0) -> None:
    vectors = np.random.default_rng(5).normal(size=(N, 96)).astype(np.float32)
    index.upsert_many(
        [{"id": f"m{first + i}", "text": f"oak {i} of {SECRET}", "vector": vectors[i]} for i in range(N)],
        scope=scope,
        progress=False,
    )


def save(index: Index, scope: Scope = JANE) -> bool:
    residency = Backend.of(index).engine.residency
    residency.housekeeper.stop()
    return residency.save(residency.partition(scope), wait=True, in_background=True)


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def n_pieces(path: Path) -> int:
    return len(rows(path, "SELECT number FROM image_piece"))


def n_listed(path: Path) -> int:
    lists = rows(path, "SELECT data FROM image WHERE n_chunks < 0")
    return sum(len(image_pieces.decoded(data) or ()) for (data,) in lists)


def between(monkeypatch: pytest.MonkeyPatch, at: int, do: Callable[[], object]) -> list[int]:
    """Let `do` run after the step with this number; return the numbers of the steps."""
    steps: list[int] = []

    def rest(seconds: float) -> None:
        steps.append(len(steps) + 1)
        if len(steps) == at:
            do()

    monkeypatch.setattr(image_writing, "rest", rest)
    return steps


def loaded_from(index: Index, scope: Scope = JANE) -> str:
    """Search, and return what the partition was loaded from."""
    stats = Backend.of(index).engine.residency.loads.stats
    before = stats()
    assert len(index.search("cinnabar oak", scope=scope, k=5)) == 5
    after = stats()
    return "image" if after["loads_from_image"] > before["loads_from_image"] else "rows"


@pytest.mark.parametrize("in_the_log", [False, True])
def test_a_large_image_is_read_as_it_was_written(path: Path, in_the_log: bool) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        assert save(index)
        engine = Backend.of(index).engine
        expected = engine.native.save_partition(JANE)
        key = rows(path, "SELECT key FROM scope WHERE user = 'jane'")[0][0]
        image = engine.store.image(key)
        assert image is not None and image[1] == expected
        assert n_pieces(path) == n_listed(path) == -(-len(expected[0]) // PIECE)
        assert rows(path, f"SELECT count(*) FROM image_piece WHERE length(data) > {PIECE + 64}") == [(0,)]
        assert index.admin.check().problems == []
        if in_the_log:
            with Index.open(path) as other:
                assert loaded_from(other) == "image"
    with Index.open(path) as index:
        assert loaded_from(index) == "image"
        assert Backend.of(index).engine.native.save_partition(JANE) == expected


def test_others_write_between_the_pieces_and_the_next_image_replaces_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(path, dim=96) as index, Index.open(path) as other:
        fill(index)
        steps = between(monkeypatch, 3, lambda: other.upsert("late", "a late oak", scope=MARY))
        assert save(index)
        assert len(steps) > 8 and n_pieces(path) == n_listed(path)
        first = {number for (number,) in rows(path, "SELECT number FROM image_piece")}
        index.upsert("later", "a later oak", vector=np.ones(96), scope=JANE)
        assert save(index)
        second = {number for (number,) in rows(path, "SELECT number FROM image_piece")}
        assert first.isdisjoint(second) and len(second) == n_listed(path)
    with Index.open(path) as index:
        assert loaded_from(index) == "image" and len(index) == N + 2
        assert index.admin.check().problems == []


def test_erased_between_the_pieces_nothing_comes_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(path, dim=96) as index, Index.open(path) as other:
        fill(index)
        between(monkeypatch, 4, lambda: other.erase(JANE, reason="test"))
        assert not save(index)
        assert n_pieces(path) == 0 and rows(path, "SELECT count(*) FROM image WHERE scope = 1") == [(0,)]
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean
        assert len(index) == 0


def test_erasure_deletes_the_pieces(path: Path) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        fill(index, MARY, first=N)
        assert save(index) and save(index, MARY)
        index.erase(JANE, reason="test")
        assert n_pieces(path) == n_listed(path) > 0
        assert loaded_from(index, MARY)
        index.erase(MARY, reason="test")
        assert n_pieces(path) == 0
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean


def test_pieces_without_an_image_are_erased_as_well(path: Path) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        assert save(index)
        index.delete_many([f"m{i}" for i in range(N)], scope=JANE)
    for statement in ("DELETE FROM image", "DELETE FROM tombstone"):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement)
    assert n_pieces(path) > 0
    with Index.open(path) as index:
        index.erase(JANE, reason="test")
        assert n_pieces(path) == 0


KILLED = """
import os, sys
import tests.unit.test_store_large_images as t
from scrubjay import Index
from scrubjay.store.sqlite import image_writing

image_writing.PIECE_BYTES = t.PIECE
steps = []

def rest(seconds):
    steps.append(1)
    if len(steps) == int(sys.argv[2]):
        os._exit(9)

with Index.open(sys.argv[1], dim=96) as index:
    assert t.loaded_from(index) == "image"
    index.upsert("one more", "one more oak", scope=t.JANE)
    image_writing.rest = rest
    assert t.save(index)
"""


@pytest.mark.parametrize("step", [1, 5, 8, 10])
def test_killed_between_the_pieces_the_old_image_stays_and_compaction_tidies(path: Path, step: int) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        assert save(index)
    before = n_pieces(path)
    command = [sys.executable, "-c", KILLED, str(path), str(step)]
    assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == 9
    # The new image has as many pieces; then those of the old one are deleted.
    assert n_pieces(path) == before + (step if step <= before else 2 * before - step)
    with Index.open(path) as index:
        assert loaded_from(index) == "image" and len(index) == N + 1
        assert index.admin.check().problems == []
        index.admin.compact()
        assert n_pieces(path) == n_listed(path) > 0
        assert index.admin.check().problems == []
    with Index.open(path) as index:
        assert loaded_from(index) == "image" and len(index) == N + 1


def test_on_a_full_disk_the_old_image_stays(path: Path) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        assert save(index)
        listed = rows(path, "SELECT data FROM image")
        index.upsert("one more", "one more oak", scope=JANE)
        writer = Backend.of(index).engine.store._writer
        (n_pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {n_pages + 8}")
        assert not save(index)
        assert rows(path, "SELECT data FROM image") == listed and n_pieces(path) == n_listed(path)
        writer.execute("PRAGMA max_page_count = 1000000")
        assert save(index) and rows(path, "SELECT data FROM image") != listed
        assert index.admin.check().problems == []


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM image_piece WHERE number = (SELECT max(number) FROM image_piece)",
        "DELETE FROM image_piece",
        "DROP TABLE image_piece",
        "UPDATE image_piece SET data = data || x'00' WHERE number = 2",
        "UPDATE image_piece SET data = zeroblob(length(data)) WHERE number = 2",
        "UPDATE image_piece SET data = CAST(data AS TEXT) WHERE number = 2",
        "UPDATE image_piece SET scope = 99",
        "UPDATE image SET data = substr(data, 13)",
        "UPDATE image SET data = substr(data, 2)",
        "UPDATE image SET data = x''",
        "UPDATE image SET data = 'text'",
        "UPDATE image SET n_chunks = -2",
        "UPDATE image SET n_chunks = 1",
        "UPDATE image SET data = substr(data, 13, 12) || substr(data, 1, 12) || substr(data, 25)",
    ],
)
def test_damaged_pieces_are_replaced_by_the_rows(path: Path, damage: str) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
        assert save(index)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    with Index.open(path) as index:
        assert loaded_from(index) == "rows" and len(index) == N
        index.admin.compact()
        assert save(index)
    with Index.open(path) as index:
        assert loaded_from(index) == "image"
        assert index.admin.check().problems == []


def test_of_an_encrypted_tenant_no_piece_is_in_the_clear(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(path, dim=96, keys=key_of) as index:
        fill(index)
        assert save(index)
        assert n_pieces(path) == n_listed(path) > 0
        assert SECRET.encode() not in b"".join(one.read_bytes() for one in path.parent.iterdir())
    with Index.open(path, keys=key_of) as index:
        assert loaded_from(index) == "image"
        assert index.admin.check().problems == []


def test_a_tenant_that_is_encrypted_between_the_pieces_leaves_none_in_the_clear(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
    with Index.open(path) as plain, Index.open(path, keys=key_of) as index:
        assert loaded_from(plain) == "image"
        plain.upsert("one more", "one more oak", scope=JANE)
        between(monkeypatch, 4, lambda: index.admin.encrypt("acme"))
        assert not save(plain)
        assert n_pieces(path) == 0
    with Index.open(path, keys=key_of) as index:
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean
        assert save(index)
    with Index.open(path, keys=key_of) as index:
        assert loaded_from(index) == "image"


def test_a_dropped_collection_takes_its_pieces_with_it(path: Path) -> None:
    with Index.open(path, dim=96) as index:
        fill(index)
    with Index.open(path, collection="notes", dim=96) as notes:
        fill(notes)
        assert save(notes)
        assert rows(path, "SELECT count(*) > 7 FROM image_piece_1") == [(1,)]
    with Index.open(path) as index:
        index.admin.drop_collection("notes")
        assert rows(path, "SELECT name FROM sqlite_master WHERE name LIKE 'image_piece%1'") == []
        assert index.admin.check().problems == []


def test_another_image_between_the_pieces_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes write the image of one scope: one of them gives up, and the file has a whole one."""
    with Index.open(path, dim=96) as index, Index.open(path) as other:
        fill(index)
        assert len(other.search("oak", scope=JANE)) == 10
        done: list[bool] = []
        between(monkeypatch, 3, lambda: done.append(save(other)))
        done.append(save(index))
        assert done[0]
        assert n_pieces(path) == n_listed(path) > 0
    with Index.open(path) as index:
        assert loaded_from(index) == "image"
        assert index.admin.check().problems == []


def test_an_image_that_another_process_wrote_is_not_written_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(path, dim=96) as index, Index.open(path) as other:
        fill(index)
        assert save(index) and loaded_from(other) == "image"
        index.upsert("one more", "one more oak", scope=JANE)
        assert save(index)
        assert other.search("one more", scope=JANE)[0].id == "one more"
        before = rows(path, "SELECT number FROM image_piece")
        steps = between(monkeypatch, 0, lambda: None)
        assert save(other)
        assert steps == [] and rows(path, "SELECT number FROM image_piece") == before


def test_small_images_are_in_one_row(path: Path) -> None:
    with Index.open(path, dim=96) as index:
        index.upsert("m", "an oak", vector=np.ones(96), scope=JANE)
        assert save(index)
        assert rows(path, "SELECT n_chunks FROM image") == [(1,)]
        assert rows(path, "SELECT name FROM sqlite_master WHERE name LIKE 'image_piece%'") == []
