"""Compaction in steps: others write meanwhile, space is released, no deleted data is left, and any step may be the
last one."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.store.sqlite import shrinking
from scrubjay.store.sqlite.connections import StoreConnection, connect
from scrubjay.store.sqlite.pages import Pages, unallocated

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
SCOPES = [Scope("acme", user=name) for name in ("jane", "joe", "ann")]
DIM = 16


Texts = dict[str, str]
"""By id, the texts of existing documents."""


def fill(index: Index, n: int, *, seed: int = 1) -> Texts:
    """Write documents, replace some and delete half; return the remaining ones."""
    rng = random.Random(seed)
    texts = {f"id-{rng.getrandbits(64):016x}": text(rng) for _ in range(n)}
    write(index, texts)
    texts.update(again := {id: text(rng) for id in rng.sample(list(texts), n // 4)})
    write(index, again)
    gone = rng.sample(list(texts), n // 2)
    for scope in SCOPES:
        index.delete_many([id for id in gone if scope_of(id) == scope], scope=scope)
    for id in gone:
        del texts[id]
    return texts


def write(index: Index, texts: Texts) -> None:
    index.upsert_many(
        [
            {"id": id, "text": text, "scope": scope_of(id), "vector": np.arange(DIM) + len(text)}
            for id, text in texts.items()
        ]
    )


def text(rng: random.Random) -> str:
    """Words that no other text has, up to a page of them."""
    return " ".join(f"w-{rng.getrandbits(64):016x}" for _ in range(rng.choice([1, 3, 10, 40])))


def scope_of(id: str) -> Scope:
    return SCOPES[int(id[3:], 16) % len(SCOPES)]


def deleted_words_left(path: Path, texts: Texts) -> set[str]:
    """Return the ids and words of deleted documents that are in the file or its log."""
    files = (file for file in (path, path.with_name(path.name + "-wal")) if file.exists())
    data = b"".join(file.read_bytes() for file in files)
    found = {word.decode() for word in re.findall(rb"(?:id|w)-[0-9a-f]{16}", data)}
    return found - set(texts) - {word for text in texts.values() for word in text.split()}


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, path.with_name(path.name + "-wal")) if file.exists())


def unclean(path: Path) -> list[int]:
    with path.open("rb") as file:
        return list(Pages(file.fileno()).unclean())


def test_nothing_deleted_is_left_and_the_space_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        texts = fill(index, 6_000)
        before = size(path)
        assert deleted_words_left(path, texts)
        index.admin.compact()
        assert not deleted_words_left(path, texts)
        assert unclean(path) == []
        assert len(index) == len(texts)
        assert index.admin.check().clean
        whole = tmp_path / "whole"
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("VACUUM INTO ?", (str(whole),))
        connection.close()
        assert size(path) < 1.15 * size(whole)
        assert size(path) < 0.75 * before


def test_no_replaced_text_is_left_in_images_of_other_collections(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay", durability="normal") as index:
        side, jane, joe = index.collection("side"), SCOPES[0], SCOPES[1]
        side.upsert("m1", "xyzzy", scope=jane)
        side.upsert("m2", "plover", scope=joe)
        side.admin.compact()
        side.upsert("m1", "the door is open", scope=jane)
        assert not index.admin.verify_erased(["xyzzy"]).clean
        index.admin.compact()
        assert index.admin.verify_erased(["xyzzy"]).clean
        connection = index._collection.engine.store.reading_connection()  # type: ignore[union-attr]
        assert connection.execute("SELECT count(*) FROM image_1").fetchone() == (1,)  # joe's is current
        assert side.search("door", scope=jane).ids == ["m1"]


def test_without_zeroing_deleted_bytes_would_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The premise of that step."""
    monkeypatch.setattr(shrinking._Shrinking, "zero", lambda shrinking: None)
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        texts = fill(index, 6_000)
        index.admin.compact()
        assert unclean(path) != []
        assert deleted_words_left(path, texts)


def test_pages_freed_by_a_concurrent_compaction_are_zeroed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite moves a page unchanged: with bytes of deleted rows."""
    path = tmp_path / "memories.scrubjay"
    listing = Pages.unclean
    n_listed = 0

    def moved(pages: Pages) -> Iterator[int]:
        nonlocal n_listed
        n_listed += 1
        found = list(listing(pages))
        if n_listed == 1:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("DROP TABLE room")  # at the beginning of the file
            for _ in range(500):
                connection.execute("PRAGMA incremental_vacuum(1)").fetchall()
            connection.close()
        yield from found

    with Index.open(path, durability="normal") as index:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE room(data)")
        connection.execute("INSERT INTO room VALUES (zeroblob(4000000))")
        connection.commit()
        connection.close()
        texts = fill(index, 3_000)
        monkeypatch.setattr(Pages, "unclean", moved)
        index.admin.compact()
        assert n_listed > 1
        assert not deleted_words_left(path, texts)
        assert index.admin.check().clean


def test_rows_of_a_step_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short rows, of which many are in one batch, are followed by long ones."""
    n_bytes = 20_000
    monkeypatch.setattr(shrinking, "_MAX_BYTES", n_bytes)
    connection = connect(tmp_path / "memories.scrubjay", durability="normal", busy_seconds=0)
    connection.execute("CREATE TABLE one(seq INTEGER PRIMARY KEY, id, text, payload)")
    rows = [(i, f"id{i}", "t" * (50 if i <= 100 else 9_000), b"p" if i % 2 else None) for i in range(1, 141)]
    connection.executemany("INSERT INTO one VALUES (?, ?, ?, ?)", rows)
    steps, begin = [], 1
    while begin is not None:
        following = shrinking._write_again(connection, "one", begin, 200, 1_000)
        steps.append(rows[begin - 1 : (following or 200) - 1])
        begin = following  # type: ignore[assignment]
    assert [row for step in steps for row in step] == rows
    assert connection.execute("SELECT * FROM one ORDER BY seq").fetchall() == rows
    assert max(len(step) for step in steps) > 50
    assert all(sum(len(row[2]) for row in step[:-1]) < n_bytes for step in steps)
    connection.close()


def test_pages_cached_by_other_connections_are_not_written_back(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index, Index.open(path, durability="normal") as other:
        texts = fill(index, 3_000)
        for id in texts:  # into the caches of both
            other.get(id, scope=scope_of(id))
        other.upsert(scope=scope_of("id-0"), id="id-0", text="one more")
        index.admin.compact()
        rng = random.Random(2)
        for one in (index, other):
            for _ in range(200):  # pages are written again
                id = f"id-{rng.getrandbits(64):016x}"
                texts[id] = text(rng)
                one.upsert(id, texts[id], scope=scope_of(id), vector=np.ones(DIM))
        assert not deleted_words_left(path, texts)


def test_writers_and_searches_go_on(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with (
        Index.open(path, durability="normal", busy_timeout=2) as index,
        Index.open(path, durability="normal", busy_timeout=2) as other,
    ):
        fill(index, 8_000)
        errors: list[BaseException] = []
        n_written = 0
        over = threading.Event()

        def work(one: Index, name: str) -> None:
            nonlocal n_written
            i = 0
            try:
                while not over.is_set():
                    one.upsert(f"{name}{i}", f"new {i}", scope=SCOPES[0], vector=np.ones(DIM))
                    assert one.search(f"new {i}", scope=SCOPES[0], k=1)
                    i += 1
                    n_written += 1
                    time.sleep(0.001)
            except BaseException as error:  # noqa: BLE001 - it is asserted that there is none
                errors.append(error)

        threads = [threading.Thread(target=work, args=pair) for pair in ((index, "a"), (other, "b"))]
        for thread in threads:
            thread.start()
        n_before, n_documents = n_written, len(index)
        index.admin.compact()
        n_meanwhile = n_written - n_before
        over.set()
        for thread in threads:
            thread.join()
        assert errors == []
        assert n_meanwhile > 20
        assert len(index) == len(other) > n_documents
        assert index.admin.check().clean


def test_a_step_takes_the_turn_for_milliseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        fill(index, 8_000)
        turns: list[float] = []
        store = type(index._collection.engine.store)  # type: ignore[union-attr]
        taken = store._turn

        @contextmanager
        def timed(self: Any, *arguments: Any, **options: Any) -> Iterator[None]:
            with taken(self, *arguments, **options):
                begun = time.thread_time()  # CPU time: waiting for a disk does not count
                yield
                turns.append(time.thread_time() - begun)

        monkeypatch.setattr(store, "_turn", timed)
        index.admin.compact()
        assert len(turns) > 20
        assert max(turns) < 0.05
        assert sorted(turns)[int(0.9 * len(turns))] < 0.005


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_compaction_that_ends_anywhere_leaves_a_whole_file(tmp_path: Path, is_committed: bool) -> None:
    source, path = tmp_path / "source", tmp_path / "memories.scrubjay"
    with Index.open(source, durability="normal") as index:
        texts = fill(index, 1_500)
    n_steps, ended = 1, True
    while ended:
        shutil.copy(source, path)
        with Index.open(path, durability="normal") as index:
            ended = compact_until(index, n_steps, is_committed=is_committed)
        with Index.open(path, durability="normal") as index:
            assert len(index) == len(texts)
            assert index.admin.check().clean
            index.admin.compact()
            assert not deleted_words_left(path, texts)
            assert len(index) == len(texts)
        n_steps += 1 + n_steps // 3
    assert n_steps > 10


def test_rows_that_cannot_be_written_again_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: SQLite then rolls back one statement, not the deletion before it."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        texts = fill(index, 1_500)
        insert = StoreConnection.executemany
        n_refused = 0

        def refusing(connection: StoreConnection, statement: str, *rest: Any) -> Any:
            nonlocal n_refused
            if statement.startswith(("INSERT INTO document ", "INSERT INTO vector ")):
                n_refused += 1
                raise sqlite3.OperationalError("database or disk is full")
            return insert(connection, statement, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(StoreConnection, "executemany", refusing)
            with pytest.raises(scrubjay.StoreError, match="full"):
                index.admin.compact()
        assert n_refused == 1 and len(index) == len(texts)
        assert index.admin.check().clean
        index.admin.compact()
        assert index.admin.check().clean and not deleted_words_left(path, texts)
    with Index.open(path) as index:
        assert len(index) == len(texts)


class Ended(BaseException):
    """Simulates the end of the process."""


def compact_until(index: Index, n_steps: int, *, is_committed: bool) -> bool:
    """Compact, but stop in step `n_steps`, before or after its commit; return whether there were as many."""
    store = index._collection.engine.store  # type: ignore[union-attr]
    n_begun = 0

    def ending(step: Any) -> Any:
        @contextmanager
        def stopped(*arguments: Any, **options: Any) -> Iterator[Any]:
            nonlocal n_begun
            n_begun += 1
            is_last = n_begun == n_steps
            with step(*arguments, **options) as connection:
                yield connection
                if is_last and not is_committed:
                    raise Ended
            if is_last:
                raise Ended

        return stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "stepping", ending(store.stepping))
        patch.setattr(store, "exclusively", ending(store.exclusively))
        try:
            index.admin.compact()
        except Ended:
            return True
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_compaction_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "memories.scrubjay"
    with Index.open(source, durability="normal") as index:
        texts = fill(index, 1_500)
    rng = random.Random(1)
    for _ in range(8):
        for file in tmp_path.glob("memories.scrubjay*"):
            file.unlink()
        shutil.copy(source, path)
        child = os.fork()
        if child == 0:
            with Index.open(path) as index:
                index.admin.compact()
            os._exit(0)
        time.sleep(rng.random() * 0.3)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with Index.open(path, durability="normal") as index:
            assert len(index) == len(texts)
            assert index.admin.check().clean
            index.admin.compact()
            assert not deleted_words_left(path, texts)
            assert len(index) == len(texts)


def test_a_file_of_before_is_rewritten_once(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    shutil.copy(GOLDEN / "format-4.scrubjay", path)
    before = sqlite3.connect(path)
    assert before.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    before.close()
    for _ in range(2):
        with Index.open(path) as index:
            index.admin.compact()
            assert index.admin.check().clean
        after = sqlite3.connect(path)
        assert after.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        after.close()


@pytest.mark.parametrize("page_bytes", [512, 4096, 8192, 65536])
@pytest.mark.parametrize("n_reserved", [0, 12, 32])
def test_pages_of_any_size_are_compacted(tmp_path: Path, page_bytes: int, n_reserved: int) -> None:
    """As from builds of SQLite that reserve bytes of each page."""
    path = tmp_path / "memories.scrubjay"
    empty = sqlite3.connect(path, isolation_level=None)
    for setting in (f"page_size = {page_bytes}", "auto_vacuum = INCREMENTAL"):
        empty.execute(f"PRAGMA {setting}")
    empty.execute("VACUUM")
    empty.close()
    data = bytearray(path.read_bytes())
    assert len(data) == page_bytes
    data[20], data[105:107] = n_reserved, (page_bytes - n_reserved & 0xFFFF).to_bytes(2, "big")
    path.write_bytes(data)
    with Index.open(path, durability="normal") as index:
        texts = fill(index, 1_000)
        index.admin.compact()
        assert not deleted_words_left(path, texts)
        assert index.admin.check().clean and len(index) == len(texts)
        header = path.read_bytes()[:100]
        assert header[16:18] == (page_bytes & 0xFFFF or 1).to_bytes(2, "big") and header[20] == n_reserved
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        whole = tmp_path / "whole"
        connection.execute("VACUUM INTO ?", (str(whole),))
        connection.close()
        assert size(path) < 1.3 * size(whole)


def test_a_compaction_of_what_is_compact_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        fill(index, 3_000)
        index.admin.compact()
        n_again = 0
        write_again = shrinking._write_again

        def counted(*arguments: Any) -> Any:
            nonlocal n_again
            following = write_again(*arguments)
            n_again += following is not None  # None: there were no rows left
            return following

        monkeypatch.setattr(shrinking, "_write_again", counted)
        index.admin.compact()
        assert n_again <= 4


def test_texts_that_are_damaged_or_long_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    long = "long \0 text ✓ " * 40_000
    with Index.open(path, durability="normal") as index:
        fill(index, 1_000)
        index.upsert("id-7", long, scope=SCOPES[0])
        index.upsert("id-8", "to be damaged", scope=SCOPES[0])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE document SET text = CAST(x'FF41' AS TEXT) WHERE id = 'id-8'")
    connection.commit()
    before = connection.execute("SELECT seq, id, typeof(text), CAST(text AS BLOB) FROM document").fetchall()
    connection.close()
    with Index.open(path, durability="normal") as index:
        index.admin.compact()
        found = index.get("id-7", scope=SCOPES[0])
        assert found is not None
        assert found.text == long
    connection = sqlite3.connect(path)
    assert (
        connection.execute("SELECT seq, id, typeof(text), CAST(text AS BLOB) FROM document").fetchall()
        == before
    )
    connection.close()


def test_a_page_that_does_not_look_right_is_not_zeroed(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, durability="normal") as index:
        fill(index, 1_000)
    with path.open("r+b") as file:
        pages = Pages(file.fileno())
        page = next(iter(pages.unclean()))
        data = bytearray(pages.read(page))
        begin, end = unallocated(page, data)
        data[5:7] = (end + 200).to_bytes(2, "big")  # cells begin before
        file.seek((page - 1) * pages.page_bytes)
        file.write(data)
        file.flush()
        pages.zero(page)
        assert pages.read(page) == data
        assert begin < end


def test_a_reader_in_the_middle_of_a_snapshot_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, busy_timeout=0.05) as index:
        texts = fill(index, 1_000)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM document").fetchone()
        with pytest.raises(scrubjay.StoreBusyError, match="using the index"):
            index.admin.compact()
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        other.close()
        index.upsert("new", "a writer does not wait", scope=SCOPES[0])
        index.admin.compact()
        assert not deleted_words_left(path, texts)
