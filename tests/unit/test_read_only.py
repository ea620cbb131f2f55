"""An index opened read-only."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope, StoreError, StoreFormatError
from tests.unit.test_store_golden import GOLDEN

JANE = Scope("acme", user="jane")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x"
    with Index.open(path) as index:
        index.upsert_many([{"id": f"m{i}", "text": f"oak number {i}", "scope": JANE} for i in range(100)])
        index.collection("more").upsert("m1", "elm", scope=JANE)
    return path


def test_everything_that_reads_works(path: Path) -> None:
    whole = path.read_bytes()
    with Index.open(path, read_only=True) as index:
        assert index.search("oak 7", scope=JANE, k=1)[0].id == "m7"
        assert len(index.list(JANE)) == index.count(JANE) == 100
        assert index.get("m3", scope=JANE) is not None and index.scopes() == [JANE]
        assert index.admin.check().problems == [] and index.admin.stats()["documents"] == 100
        assert index.collection("more").search("elm", scope=JANE)[0].id == "m1"
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(index.search("oak", scope=JANE)))
        thread.start()
        thread.join()
        assert len(found[0]) == 10
    assert path.read_bytes() == whole and [file.name for file in path.parent.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "write",
    [
        lambda index: index.upsert("m1", "elm", scope=JANE),
        lambda index: index.upsert_many([{"id": "m1", "text": "elm", "scope": JANE}]),
        lambda index: index.delete("m1", scope=JANE),
        lambda index: index.delete_many(["m1", "m2"], scope=JANE),
        lambda index: index.erase(JANE),
        lambda index: index.admin.sweep(),
        lambda index: index.admin.compact(),
        lambda index: index.collection("new"),
        lambda index: index.admin.drop_collection("more"),
    ],
)
def test_writing_verbs_raise_and_change_nothing(path: Path, write: Callable[[Index], Any]) -> None:
    whole = path.read_bytes()
    with Index.open(path, read_only=True) as index:
        index.search("oak", scope=JANE)
        with pytest.raises(StoreError, match=str(path)):
            write(index)
        assert index.count(JANE) == 100 and index.get("m1", scope=JANE) is not None
    assert path.read_bytes() == whole


def test_a_read_only_index_sees_writes_of_others(path: Path) -> None:
    with Index.open(path, read_only=True) as reading, Index.open(path) as writing:
        assert reading.count(JANE) == 100
        writing.upsert("new", "a cedar", scope=JANE)
        assert reading.search("cedar", scope=JANE)[0].id == "new"
        writing.delete_many([f"m{i}" for i in range(100)], scope=JANE)
        assert reading.count(JANE) == 1


def test_a_read_only_open_creates_neither_file_nor_collection(path: Path) -> None:
    with pytest.raises(StoreFormatError, match="no such file"):
        Index.open(path.parent / "none", read_only=True)
    (path.parent / "empty").touch()
    with pytest.raises(StoreFormatError, match="empty file"):
        Index.open(path.parent / "empty", read_only=True)
    with pytest.raises(StoreFormatError, match="collection"):
        Index.open(path, collection="none", read_only=True)
    assert {file.name: file.stat().st_size > 0 for file in path.parent.iterdir()} == {
        "x": True,
        "empty": False,
    }


def test_an_older_format_is_not_migrated(tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copy(GOLDEN / "format-1.scrubjay", old)
    whole = old.read_bytes()
    with pytest.raises(StoreFormatError, match="older format"):
        Index.open(old, read_only=True)
    assert old.read_bytes() == whole
    Index.open(old).close()
    with Index.open(old, read_only=True) as index:
        assert len(index) > 0
