"""Files are readable by their owner only, whatever the umask; and appear only when complete."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Admin, Index, Memory, Scope, StoreError, fusion
from scrubjay.base.whole_files import make_private, whole_file
from scrubjay.keystores import KeyFolder
from scrubjay.store.objects.blob_cache import BlobCache
from scrubjay.store.objects.blobs import Folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such modes")

JANE = Scope("acme", user="jane")


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir() if file.is_file()}


def test_an_index_and_all_that_is_made_of_it(folder: Path) -> None:
    path = folder / "x"
    with Memory.open(path) as memory:
        memory.policy("tone", "Be brief.", tenant="acme", by="test")
        memory.index.collection("more").upsert("m1", "oak", scope=JANE)
        memory.index.upsert("m1", "oak", scope=JANE)
        memory.index.search("oak", scope=JANE)
        assert modes(folder).keys() == {"x", "x-wal", "x-shm"}
        memory.index.admin.backup(folder / "backup")
        memory.index.admin.export(folder / "export.jsonl")
        memory.index.admin.compact()
        fusion.save(fusion.RRF(), folder / "ranking.json")
        assert set(modes(folder).values()) == {0o600}
        assert modes(folder).keys() == {"x", "x-wal", "x-shm", "backup", "export.jsonl", "ranking.json"}
    with Index.open(folder / "backup") as copy:
        copy.upsert("m2", "oak", scope=JANE)
        assert set(modes(folder).values()) == {0o600}


def test_an_index_that_is_there_keeps_its_mode_and_its_log_gets_it(folder: Path) -> None:
    path = folder / "x"
    Index.open(path).close()
    path.chmod(0o640)
    with Index.open(path) as index:
        index.upsert("m1", "oak", scope=JANE)
        assert modes(folder) == {"x": 0o640, "x-wal": 0o640, "x-shm": 0o640}


def test_a_file_behind_a_link_is_made_private(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "real")
    with Index.open(folder / "link") as index:
        index.upsert("m1", "oak", scope=JANE)
        assert set(modes(folder).values()) == {0o600}
    with whole_file(folder / "other link", replace=True) as file:
        file.write("x")
    assert (folder / "link").is_symlink()


def test_a_replaced_file_keeps_its_mode(folder: Path) -> None:
    with Index.open(folder / "x") as index:
        index.upsert("m1", "oak", scope=JANE)
        for name, write in (("backup", index.admin.backup), ("export", index.admin.export)):
            (folder / name).touch()
            (folder / name).chmod(0o644)
            write(folder / name, replace=True)
            assert modes(folder)[name] == 0o644 and (folder / name).stat().st_size
            with pytest.raises(StoreError, match=name):
                write(folder / name)
        (folder / "alias").symlink_to(folder / "x")
        for target in ("x", "alias"):
            for write in (index.admin.backup, index.admin.export):
                with pytest.raises(StoreError, match="another file than the index itself"):
                    write(folder / target, replace=True)
        assert index.get("m1", scope=JANE) is not None


def test_files_written_by_repair_and_salvage_are_private(folder: Path) -> None:
    path = folder / "x"
    with Memory.open(path) as memory:
        memory.policy("tone", "Be brief.", tenant="acme", by="test")
        memory.index.upsert("m1", "oak", scope=JANE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE document SET text = 'forged'")
    assert Admin.salvage(path, folder / "out").left_out
    assert Admin.repair(path).left_out
    assert {"out", "out.memory", "out.tables", "x", "x.damaged", "x.set-aside.jsonl"} == modes(folder).keys()
    assert set(modes(folder).values()) == {0o600}


def test_a_key_folder(folder: Path) -> None:
    keys = KeyFolder(folder / "keys")
    for number in range(2):
        keys.put(bytes([number] * 16), b"k" * 32)
    keys.destroy(bytes(16))
    made = [file.stat() for file in (folder / "keys").rglob("*")]
    assert {stat.S_IMODE(one.st_mode) for one in made if stat.S_ISREG(one.st_mode)} == {0o600}
    assert not any(stat.S_IMODE(one.st_mode) & 0o077 for one in made)


def test_images_in_a_folder_and_in_a_cache(folder: Path) -> None:
    cache = BlobCache(folder / "cache", 1 << 20)
    cache.put("a/b", b"image")
    blobs = Folder(folder / "blobs")
    blobs.put("a/b", b"image")
    made = [file.stat() for file in folder.rglob("*")]
    assert {stat.S_IMODE(one.st_mode) for one in made if stat.S_ISREG(one.st_mode)} == {0o600}
    assert not any(stat.S_IMODE(one.st_mode) & 0o077 for one in made)


def test_a_token_file(folder: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    pytest.importorskip("prometheus_client")
    from scrubjay.adapters.service import Grant, Tokens, add_token

    path = folder / "tokens.json"
    add_token(path, Grant("a", "acme"))
    assert modes(folder) == {"tokens.json": 0o600}
    path.chmod(0o640)  # for the group of the service
    add_token(path, Grant("b", "acme"))
    assert modes(folder) == {"tokens.json": 0o640} and len(Tokens(path)) == 2


def test_of_concurrent_writers_of_a_new_file_one_wins(folder: Path) -> None:
    path, errors = folder / "x", []
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        try:
            with whole_file(path) as file:
                file.write(str(number) * 10_000)
        except FileExistsError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 7 and len(set(path.read_text())) == 1 and path.stat().st_size == 10_000
    assert modes(folder) == {"x": 0o600}


def test_processes_that_make_the_same_index_at_once(folder: Path) -> None:
    code = (
        "import sys; from scrubjay import Index, Scope\n"
        "with Index.open(sys.argv[1], durability='normal') as index:\n"
        "    index.upsert(sys.argv[2], 'oak', scope=Scope('acme'))"
    )
    path = folder / "x"
    started = [subprocess.Popen([sys.executable, "-c", code, path, f"m{i}"]) for i in range(6)]
    assert [one.wait() for one in started] == [0] * 6
    assert modes(folder) == {"x": 0o600}
    with Index.open(path) as index:
        assert index.count(Scope("acme")) == 6 and index.admin.check().problems == []


def test_a_file_system_without_links(folder: Path, monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with whole_file(folder / "x") as file:
        file.write("one")
    with pytest.raises(FileExistsError), whole_file(folder / "x") as file:
        file.write("two")
    make_private(folder / "y")
    assert modes(folder) == {"x": 0o600, "y": 0o600} and (folder / "x").read_text() == "one"


def test_a_block_that_raises_leaves_nothing(folder: Path) -> None:
    (folder / "there").write_text("whole")
    for name, replace in (("new", False), ("there", True)):
        with pytest.raises(ZeroDivisionError), whole_file(folder / name, replace=replace) as file:
            file.write(f"half {1 // 0}")
    assert list(modes(folder)) == ["there"] and (folder / "there").read_text() == "whole"


def test_partial_files_of_killed_processes_are_removed_after_a_day(folder: Path) -> None:
    def leave(name: str, hours: float) -> None:
        (folder / name).write_text("half")
        os.utime(folder / name, (time.time() - 3600 * hours,) * 2)

    def left() -> set[str]:
        return {path.name for path in folder.iterdir() if ".partial" in path.name}

    others = {".x.json.bak.partial": 25, ".xyjson.abcdefgh.partial": 25, ".y.json.abcdefgh.partial": 25}
    young = {".x.json.ab_d3fgh.partial": 23}
    in_use = {".x.json.abcdefgi.partial": 25, ".x.json.abcdefgi.partial-wal": 1}
    for name, hours in (others | young | in_use).items():
        leave(name, hours)
    for name in (".x.json.abcdefgh.partial", ".x.json.abcdefgj.partial", ".x.json.abcdefgj.partial-wal"):
        leave(name, 25)
    (folder / ".x.json.abcdefgk.partial").mkdir()
    with whole_file(folder / "x.json") as file:
        file.write("whole")
    assert left() == {*others, *young, *in_use, ".x.json.abcdefgk.partial"}
    leave(".copy.scrubjay.abcdefgh.partial", 25)
    with Index.open(folder / "index.scrubjay") as index:
        index.admin.backup(folder / "copy.scrubjay")
    assert ".copy.scrubjay.abcdefgh.partial" not in left()


def test_whole_file_writes_to_a_pipe_and_keeps_it(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reading = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reading.start()
    with whole_file(pipe) as file:
        file.write("through")
    reading.join()
    assert read == ["through"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_backup_that_is_opened_has_a_log_again(folder: Path) -> None:
    """It is created without a log; and without a log readers and writers would wait for each other."""
    with Index.open(folder / "x") as index:
        index.upsert("m1", "oak", scope=JANE)
        index.admin.backup(folder / "copy")
    with Index.open(folder / "copy") as copy:
        copy.upsert("m2", "oak", scope=JANE)
        assert (folder / "copy-wal").exists()
