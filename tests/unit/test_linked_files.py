"""An index behind a symbolic link: its log is beside the link's target, and belongs to it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from scrubjay import Index, Scope
from scrubjay.base.whole_files import log_of
from scrubjay.index import Admin

JANE = Scope("acme", user="jane")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A link in one folder to a file in another that does not exist yet."""
    for name in ("names", "files"):
        (tmp_path / name).mkdir()
    link = tmp_path / "names" / "index"
    link.symlink_to(tmp_path / "files" / "m.scrubjay")
    return link


def left_by_a_killed_process(link: Path) -> None:
    """Leave the file and its log as they are while open: the writes are only in the log."""
    real = link.resolve()
    with Index.open(link, durability="normal") as index:
        index.upsert("m1", "a common oak", scope=JANE)
        for file in (real, log_of(link)):
            shutil.copyfile(file, file.with_name(f"kept {file.name}"))
    for file in (real, log_of(link)):
        file.with_name(f"kept {file.name}").replace(file)


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_writes_reach_the_file(link: Path, durability: str) -> None:
    with Index.open(link, durability=durability) as index:
        index.upsert("m1", "a common oak", scope=JANE)
        assert [file.name for file in link.parent.iterdir()] == ["index"]
    with Index.open(link.resolve()) as index:
        assert [hit.id for hit in index.search("oak", scope=JANE)] == ["m1"]


def test_verify_erased_searches_the_log_of_a_linked_file(link: Path) -> None:
    with Index.open(link) as index:
        index.upsert("m1", "a zebra of the ballet", scope=JANE)
        index.delete("m1", scope=JANE)
        report = index.admin.verify_erased(["zebra"])
        assert any("m.scrubjay-wal" in str(found) for found in report.found), report
        index.admin.compact()
        assert index.admin.verify_erased(["zebra"]).clean


def test_a_repair_reads_the_log_and_keeps_the_link(link: Path) -> None:
    left_by_a_killed_process(link)
    real = link.resolve()
    with real.open("r+b") as file:  # the schema's page is damaged; the log has a newer one
        file.seek(40)
        file.write(b"\xff" * 8)
    Admin.repair(link)
    assert link.is_symlink() and not log_of(link).exists()
    with Index.open(link) as index:
        assert [hit.id for hit in index.search("oak", scope=JANE)] == ["m1"]


def test_salvage_reads_the_log(link: Path, tmp_path: Path) -> None:
    left_by_a_killed_process(link)
    report = Admin.salvage(link, tmp_path / "out.jsonl")
    assert report.memories == 1 and "a common oak" in (tmp_path / "out.jsonl").read_text(encoding="utf-8")
