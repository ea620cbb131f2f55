"""Any single failing write, a read-only file or folder, or a held lock: all or nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Index, Query, Scope
from tests.crash import faults
from tests.data.keys import provider

ROOT = Path(__file__).resolve().parents[2]
JANE = Scope("acme", user="jane")


def has_mounts() -> bool:
    """Whether a process may have its own file system here."""
    if shutil.which("unshare") is None:
        return False
    script = 'd=$(mktemp -d) && mount -t tmpfs -o size=1m tmpfs "$d"'
    return (
        subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("kind", ["size", "pages", "space"])
def test_every_write_of_every_operation_fails_once(kind: str, share_of: Callable[[int, int], int]) -> None:
    """Every fifth write; --slow: every third; --long: each. Of pages each: an operation adds few."""
    every = 1 if kind == "pages" else share_of(5, 3)
    command = [sys.executable, "-m", "tests.crash.faults", kind, "--every", str(every)]
    if kind == "space":
        if not has_mounts():
            pytest.skip("a file system of its own is not permitted here")
        command = ["unshare", "-m", *command, "upsert_many", "compact"]  # the others are those of "size"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    failures = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()}
    if kind == "size":
        assert set(failures) == set(faults.OPERATIONS)
        assert min(failures.values()) > 5 // every
    assert failures["upsert_many"] > 0


@pytest.mark.parametrize("name", sorted(faults.OPERATIONS))
def test_a_held_lock_is_a_typed_error_and_readers_go_on(name: str, tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    faults.prepare(path)
    given = provider if name in faults.KEYED else None
    with Index.open(path, busy_timeout=0, keys=given, encryption="mixed") as index:
        index.admin.warm(JANE)
        before = faults.content(index)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(scrubjay.StoreError):
            faults.OPERATIONS[name](index)
        assert len(index.search("oak", scope=JANE, k=100, query=Query(mode="lexical"))) == 39
        other.execute("ROLLBACK")
        other.close()
        assert faults.content(index) == before
        faults.OPERATIONS[name](index)  # and now it works
    faults.judge(path, name)


def test_compaction_reports_a_reader_that_blocks_it(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    faults.prepare(path)
    with Index.open(path, busy_timeout=0) as index:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM document").fetchone()
        with pytest.raises(scrubjay.StoreBusyError, match="using the index"):
            index.admin.compact()
        other.close()
        index.admin.compact()
        assert index.admin.check().clean


def obeying_permissions() -> list[str] | None:
    """Return a command prefix with which file permissions apply, to root as well."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        return None
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    probe = subprocess.run([*without, "true"], capture_output=True, check=False)
    return without if probe.returncode == 0 else None


READ_ONLY: dict[str, Callable[[Path], Any]] = {
    "file": lambda path: path.chmod(0o444),
    "folder": lambda path: path.parent.chmod(0o555),
    "both": lambda path: (path.chmod(0o444), path.parent.chmod(0o555)),
}


@pytest.mark.parametrize("what", sorted(READ_ONLY))
def test_writes_to_a_read_only_file_are_refused_and_leave_it_intact(what: str, tmp_path: Path) -> None:
    before = obeying_permissions()
    if before is None:
        pytest.skip("root cannot give up its power over permissions here")
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "memories.scrubjay"
    faults.prepare(path)
    data = path.read_bytes()
    READ_ONLY[what](path)
    script = textwrap.dedent(
        """
        import sys
        import scrubjay
        from scrubjay import Index, Scope

        try:
            with Index.open(sys.argv[1]) as index:
                index.upsert(1, "oak", scope=Scope("acme", user="jane"))
        except scrubjay.StoreError as error:
            print("refused", error)
        """
    )
    try:
        done = subprocess.run(
            [*before, sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
        )
    finally:
        folder.chmod(0o755)
        path.chmod(0o644)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("refused")
    assert path.read_bytes() == data
    assert faults.judge(path)[1]


def test_an_index_that_is_open_goes_on_when_its_folder_becomes_read_only(tmp_path: Path) -> None:
    before = obeying_permissions()
    if before is None:
        pytest.skip("root cannot give up its power over permissions here")
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "memories.scrubjay"
    faults.prepare(path)
    script = textwrap.dedent(
        """
        import os, sys
        import scrubjay
        from scrubjay import Index, Scope

        jane = Scope("acme", user="jane")
        index = Index.open(sys.argv[1])
        os.chmod(os.path.dirname(sys.argv[1]), 0o555)
        written = 0
        for i in range(200, 220):
            try:
                index.upsert(i, "oak", scope=jane)
                written += 1
            except scrubjay.StoreError:
                pass
        try:
            index.admin.compact()
        except scrubjay.StoreError:
            pass
        assert len(index.search("oak", scope=jane, k=100)) == 39 + written
        print(written)
        """
    )
    try:
        done = subprocess.run(
            [*before, sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr[-2000:]
    with Index.open(path) as index:
        assert len(index.search("oak", scope=JANE, k=100)) == 39 + int(done.stdout)
        assert index.admin.check().clean


def test_verifying_leaves_the_locks_of_sqlite_alone(tmp_path: Path) -> None:
    """Another process that closes the file must not assume to be the last one, and remove the log."""
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.upsert(1, "an oak", scope=JANE)
        index.admin.verify_erased(["a beech"])
        other = "import sys; from scrubjay import Index; Index.open(sys.argv[1]).close()"
        subprocess.run([sys.executable, "-c", other, str(path)], check=True)
        assert path.with_name(path.name + "-wal").exists()
        index.upsert(2, "another oak", scope=JANE)
        seen = "import sys; from scrubjay import Index; print(len(Index.open(sys.argv[1])))"
        done = subprocess.run(
            [sys.executable, "-c", seen, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "2"
