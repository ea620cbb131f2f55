"""Blobs by their hash: folders, bounded caches on disk, options, and a store that fails."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scrubjay import CorruptIndexError, Index, Objects, StoreUnavailableError
from scrubjay.store.objects import objects as module
from scrubjay.store.objects.blob_cache import BlobCache
from scrubjay.store.objects.blobs import Folder
from scrubjay.store.objects.objects import GRACE_SECONDS, ObjectStore, blobs_of, name_of
from tests.data.blobs import FAULTS, FaultyBlobs

DATA = b"the image of a scope" * 100
INDEX = "0f" * 16
NOTHING: Any = lambda digests: ()  # noqa: E731


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def store(blobs: FaultyBlobs, **options: Any) -> ObjectStore:
    given = Objects(blobs, **options)
    return ObjectStore(given, INDEX, blobs_of(given))


# ---------------------------------------------------------------------- folders


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_a_folder_and_its_files_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Folder(tmp_path / "new" / "deep").put("index/ab/abcd", DATA)
    finally:
        os.umask(before)
    made = [tmp_path / "new", tmp_path / "new/deep", tmp_path / "new/deep/index"]
    assert [mode(folder) for folder in made] == [0o700] * 3
    assert mode(tmp_path / "new/deep/index/ab/abcd") == 0o600


def test_a_folder_gives_what_it_was_given(tmp_path: Path) -> None:
    folder = blobs_of(Objects((tmp_path / "a b").as_uri()))
    assert list(folder.list("index")) == []
    folder.put("index/ab/abcd", DATA)
    folder.put("index/ab/abcd", DATA[:-1])
    folder.put("other/x", b"")
    assert folder.get("index/ab/abcd", 5000) == DATA[:-1] and folder.get("index/ab/abcd", 3) == b"the"
    (found,) = folder.list("index")
    assert found[:2] == ("index/ab/abcd", len(DATA) - 1) and -1 < found.age < 60
    folder.delete(["index/ab/abcd", "index/ab/never"])
    assert list(folder.list("index")) == []
    with pytest.raises(FileNotFoundError):
        folder.get("index/ab/abcd", 1)


def test_partial_files_of_killed_processes_are_listed(tmp_path: Path) -> None:
    Folder(tmp_path).put("index/ab/abcd", DATA)
    (tmp_path / "index/ab/.abcd.x1.partial").write_bytes(DATA[:7])
    assert {one.name for one in Folder(tmp_path).list("index")} == {
        "index/ab/abcd",
        "index/ab/.abcd.x1.partial",
    }


# ---------------------------------------------------------------------- copies on this machine


def test_the_least_recently_used_copies_make_room(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", 10_000)
    for i in range(10):
        cache.put(f"{i}", bytes(1000))
        past = time.time() - 1000 + i
        os.utime(tmp_path / "cache" / f"{i}", (past, past))
    assert cache.get("0", 1000) == bytes(1000)  # recently used
    cache.put("10", bytes(1000))
    cache.put("11", bytes(1500))
    assert set(cache.names()) == {"0", *(str(i) for i in range(4, 12))}
    cache.put("12", bytes(10_001))  # would never fit
    assert "12" not in cache.names() and len(cache.names()) == 9


def test_copies_of_several_processes_are_bounded_together(tmp_path: Path) -> None:
    caches = [BlobCache(tmp_path, 16_000) for _ in range(3)]
    for i in range(300):
        caches[i % 3].put(str(i), bytes(100 + i % 7))
        total = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert total <= 16_000 + 2 * 16_000 // 16 + 107


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_copies_are_their_owners_alone_and_appear_whole(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        cache = BlobCache(tmp_path / "cache", 1 << 20)
        cache.put("abcd", DATA)
    finally:
        os.umask(before)
    assert mode(tmp_path / "cache") == 0o700 and mode(tmp_path / "cache/abcd") == 0o600
    seen: set[bytes] = set()
    going = threading.Event()

    def read() -> None:
        while not going.is_set():
            seen.add(cache.get("abcd", 1 << 20) or b"")

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(300):
        cache.put("abcd", bytes([i % 2]) * 50_000)
    going.set()
    reader.join()
    assert seen <= {DATA, bytes(50_000), b"\1" * 50_000}


def test_a_disk_that_takes_nothing_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"in the way")
    cache = BlobCache(tmp_path / "file" / "cache", 1000)
    cache.put("a", b"x")
    cache.forget(["a", "b"])
    assert cache.get("a", 1) is None and cache.names() == [] and list(cache.everything()) == []


def test_unfinished_copies_go_after_an_hour(tmp_path: Path) -> None:
    for name, age in ((".old.partial", 4000), (".new.partial", 10)):
        (tmp_path / name).write_bytes(b"x")
        past = time.time() - age
        os.utime(tmp_path / name, (past, past))
    BlobCache(tmp_path, 1000).put("a", b"x")
    assert {path.name for path in tmp_path.iterdir()} == {".new.partial", "a"}


# ---------------------------------------------------------------------- by hash


@pytest.mark.parametrize("fault", [*FAULTS, "missing"])
def test_a_damaged_object_is_treated_as_lost_and_counted(fault: str) -> None:
    blobs = FaultyBlobs()
    objects = store(blobs)
    digest = objects.put(DATA)
    assert digest == hashlib.sha256(DATA).digest() and list(blobs.kept) == [name_of(INDEX, digest)]
    assert objects.get(digest, len(DATA)) == DATA
    blobs.damage(fault)
    if fault == "longer":  # bytes after the end are never read
        assert objects.get(digest, len(DATA)) == DATA
        return
    with pytest.raises(CorruptIndexError):
        objects.get(digest, len(DATA))
    assert objects.stats() == {
        "objects_read": 1,
        "objects_cached": 0,
        "objects_lost": 1,
        "objects_away": 0,
        "objects_written": 1,
    }


def test_a_damaged_copy_is_fetched_again_and_the_cache_saves_reads(tmp_path: Path) -> None:
    blobs = FaultyBlobs()
    digest = store(blobs).put(DATA)
    assert digest is not None
    objects = store(blobs, cache=tmp_path)
    for fault in (None, *FAULTS):
        if fault is not None:
            copy = tmp_path / INDEX / digest.hex()
            copy.write_bytes(FAULTS[fault](DATA))
        blobs.calls.clear()
        assert objects.get(digest, len(DATA)) == DATA
        assert blobs.calls == ["get"], fault
        assert objects.get(digest, len(DATA)) == DATA and blobs.calls == ["get"]
    assert objects.get(digest, len(DATA), past_cache=True) == DATA and blobs.calls == ["get"] * 2
    blobs.damage("missing")
    with pytest.raises(CorruptIndexError):
        objects.get(digest, len(DATA), past_cache=True)


def test_a_place_that_does_not_answer_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    blobs = FaultyBlobs()
    objects = store(blobs)
    digest = objects.put(DATA)
    assert digest is not None
    blobs.refuses = {"get", "put", "delete"}
    assert objects.get(digest, len(DATA)) is None
    calls = len(blobs.calls)
    assert objects.get(digest, len(DATA)) is None and objects.put(DATA) is None
    objects.discard([digest])
    assert len(blobs.calls) == calls and objects.stats()["objects_away"] == 2
    blobs.refuses = set()
    now[0] += 16
    assert objects.get(digest, len(DATA)) == DATA
    objects.tidy(NOTHING)  # earlier failed removals are repeated
    assert blobs.kept == {}


def test_a_pending_removal_is_dropped_once_a_row_names_the_object() -> None:
    blobs = FaultyBlobs()
    objects = store(blobs)
    digest = objects.put(DATA)
    assert digest is not None
    blobs.refuses = {"delete"}
    objects.discard([digest])
    blobs.refuses = set()
    objects._away_until = 0
    objects.tidy(lambda digests: set(digests))
    assert len(blobs.kept) == 1


def test_a_sweep_removes_what_no_row_names_and_is_old(tmp_path: Path) -> None:
    blobs = FaultyBlobs()
    objects = store(blobs, cache=tmp_path)
    named, unnamed = objects.put(DATA), objects.put(DATA + b"2")
    blobs.put(f"{INDEX}/ab/.{'ab' * 32}.x1.partial", b"unfinished")
    blobs.put(f"{INDEX}/ab/notes.txt", b"of somebody who put it there")
    blobs.put("another-index/ab/abcd", b"of somebody else")
    assert named is not None and unnamed is not None
    assert objects.sweep(lambda digests: {named}) == 0  # a row may still be written
    blobs.grow_old(GRACE_SECONDS + 1)
    young = objects.put(DATA + b"3")
    assert young is not None
    assert objects.sweep(lambda digests: {named}) == 2
    left = {name_of(INDEX, named), name_of(INDEX, young), "another-index/ab/abcd", f"{INDEX}/ab/notes.txt"}
    assert set(blobs.kept) == left
    assert {path.name for path in (tmp_path / INDEX).iterdir()} == {named.hex()}
    blobs.refuses = {"list"}
    with pytest.raises(StoreUnavailableError, match="memory of a test"):
        objects.sweep(NOTHING)
    with pytest.raises(StoreUnavailableError):
        list(objects.everything())


@pytest.mark.parametrize("index", ["..", "", "a/b", "0F" * 16, "0f" * 17])
def test_a_name_that_is_no_index_leads_nowhere(index: str) -> None:
    """A sweep deletes the files below it."""
    with pytest.raises(CorruptIndexError, match="32 hexadecimal digits"):
        ObjectStore(Objects("file:///folder"), index, FaultyBlobs())


# ---------------------------------------------------------------------- options


def test_invalid_object_store_options_are_refused_by_name(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"place": 3}, TypeError, "objects"),
        ({"place": ""}, ValueError, "objects"),
        ({"place": "s3://a", "cache": 3}, TypeError, "cache"),
        ({"place": "s3://a", "cache_bytes": "1"}, TypeError, "cache_bytes"),
        ({"place": "s3://a", "least_bytes": -1}, ValueError, "least_bytes"),
        ({"place": "s3://a", "least_bytes": True}, TypeError, "least_bytes"),
    ]
    for options, kind, name in wrong:
        with pytest.raises(kind, match=name):
            Objects(**options)
    for place in ("file://host/folder", "file:folder"):
        with pytest.raises(ValueError, match="objects: expected file:///folder"):
            blobs_of(Objects(place))
    with pytest.raises(ValueError, match="objects: expected None for an index in a file"):
        Index.open(tmp_path / "a.scrubjay", objects=tmp_path.as_uri())
    assert not (tmp_path / "a.scrubjay").exists()
    assert "x9" not in repr(Objects("s3://bucket/a?secret_access_key=x9", cache=tmp_path))
