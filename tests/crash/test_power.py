"""Writes acknowledged with durability "full" survive a power loss. (Needs strace.)"""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from tests.crash.power import NAME, Call, Disk, File, main, traced

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


@needs_strace
def test_acknowledged_writes_survive_a_loss_of_power() -> None:
    tally = main(1, 7, 12)
    assert tally.failures == []
    assert tally.cuts == 12 and tally.acknowledged == 120 and tally.compactions > 0 and tally.unsynced > 0


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        "import scrubjay.store.sqlite.syncing as s; s.SharedSync.wait = lambda self: None",
        "import os; os.fdatasync = lambda descriptor: None",
    ],
)
def test_the_judge_sees_writes_that_did_not_wait_for_the_disk(first: str) -> None:
    tally = main(2, 7, 30, first=first)
    assert tally.failures and "lost" in tally.failures[0]


_ERASING = """
import os
from scrubjay import Index, Scope
said = os.open({said!r}, os.O_WRONLY | os.O_CREAT)
scope = Scope("acme")
index = Index.open({path!r}, durability={durability!r})
for n in range(60):
    index.upsert(n, f"xyzzy-{{n}} " * 40, scope=scope)
index.delete_many(range(5, 60), scope=scope)
index.admin.compact()
os.write(said, b"compacted")
os._exit(0)
"""


@needs_strace
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_compaction_erases_for_good_across_a_power_loss(tmp_path: Path, durability: str) -> None:
    """The truncation of the WAL is synced as well, which SQLite itself does not do."""
    folder = tmp_path / "folder"
    folder.mkdir()
    script = _ERASING.format(said=str(folder / "said"), path=str(folder / NAME), durability=durability)
    disk = Disk(folder)
    for one in traced(folder, script):
        disk.take(one)
        if disk.said:
            break
    rng = random.Random(1)
    for _ in range(30):
        data = b"".join(disk.left(rng).values())
        found = {int(n) for n in re.findall(rb"xyzzy-(\d+) ", data)}
        assert found == set(range(5))


FOLDER = "/somewhere/else"


def call(name: str, arguments: str, result: int, number: int) -> Call:
    return Call(name, arguments, result, number, number)


def hexed(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def test_a_disk_may_hold_any_subset_of_unsynced_calls() -> None:
    disk = Disk(Path(FOLDER))
    name = hexed(f"{FOLDER}/power.scrubjay-wal")
    disk.take(call("openat", f'AT_FDCWD<{hexed("/")}>, "{name}", O_RDWR|O_CREAT', 3, 0))
    disk.take(call("pwrite64", f'3<{name}>, "{hexed("abc")}", 3, 0', 3, 1))
    disk.take(call("lseek", f"3<{name}>, 3, SEEK_SET", 3, 2))
    disk.take(call("write", f'3<{name}>, "{hexed("de")}", 2', 2, 3))
    rng = random.Random(1)
    contents = {data for _ in range(60) for data in disk.left(rng).values()}
    assert contents == {b"", b"abc", b"abcde", b"\0\0\0de"}
    assert any(disk.left(rng) == {} for _ in range(20))  # its folder was not synced
    disk.take(call("fdatasync", f"3<{name}>", 0, 4))
    disk.take(call("openat", f'AT_FDCWD<{hexed("/")}>, "{hexed(FOLDER)}", O_RDONLY', 4, 5))
    disk.take(call("fsync", f"4<{hexed(FOLDER)}>", 0, 6))
    assert all(disk.left(rng) == {"power.scrubjay-wal": b"abcde"} for _ in range(20))
    disk.take(call("ftruncate", f"3<{name}>, 1", 0, 7))
    disk.take(call("unlink", f'"{name}"', 0, 8))
    found = [disk.left(rng) for _ in range(40)]
    assert {} in found and {"power.scrubjay-wal": b"abcde"} in found


def test_a_sync_covers_what_ended_before_it_began() -> None:
    file = File(pending=[(1, 0, b"abc"), (4, 0, b"x")])
    file.sync(3)
    assert file.synced == b"abc" and file.pending == [(4, 0, b"x")]
    torn = File(pending=[(1, 0, b"a" * 512 + b"b" * 512)])
    states = {torn.left(random.Random(n)) for n in range(60)}
    assert bytes(512) + b"b" * 512 in states and b"a" * 512 in states
