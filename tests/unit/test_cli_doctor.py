"""`scrubjay doctor` reports the environment, the problems of an index, and future problems."""

from __future__ import annotations

import json
import sqlite3
from collections import namedtuple
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Memory, Scope, cli
from scrubjay.cli import doctor_command
from scrubjay.store.sqlite import disk
from scrubjay.store.sqlite.disk import Disk, kind_of

MOUNTS = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
41 27 0:50 / /srv/with\040space rw,relatime - nfs4 host:/export rw,vers=4.2
42 27 0:51 / /srv/over rw - nfs host:/below rw
43 42 0:52 / /srv/over rw - tmpfs tmpfs rw
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.scrubjay"
    with Index.open(path, dim=2) as index:
        for i in range(20):
            index.upsert(i, f"oak number {i}", scope=Scope("acme", user=f"u{i % 3}"), vector=[i, 1])
        index.collection("notes", dim=2).upsert("n", "a note", scope=Scope("acme"), vector=[1, 2])
    return path


def doctor(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = cli.main(["doctor", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def text_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    cli.main(["doctor", *map(str, arguments)])
    return capsys.readouterr().out


# -------------------------------------------------------------------- here


def test_sqlite_and_its_options_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = doctor(capsys)
    assert (code, report["problems"], report["here"]["sqlite"]) == (0, [], sqlite3.sqlite_version)
    assert any(option.startswith("THREADSAFE=") for option in report["here"]["sqlite_options"])
    assert report["here"]["free_threaded"] in (True, False)
    assert "sqlite options" not in text_of(capsys)  # fifty lines, only in the JSON


def test_the_tags_of_the_wheel_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return {
                "WHEEL": "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\nTag: cp312-cp312-linux\n"
            }[name]

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert doctor(capsys)[1]["here"]["wheel"] == "cp312-cp312-manylinux_2_28_x86_64 cp312-cp312-linux"

    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert doctor(capsys)[1]["here"]["wheel"] is None


@pytest.mark.parametrize(
    ("version", "options", "words"),
    [
        ((3, 7, 17), ["THREADSAFE=1"], "SQLite 3.7.17 is too old"),
        ((3, 45, 0), ["THREADSAFE=0"], "without threads"),
        ((3, 45, 0), ["OMIT_WAL"], "without a write-ahead log"),
        ((3, 45, 0), ["THREADSAFE=2", "OMIT_LOAD_EXTENSION"], ""),
    ],
)
def test_a_sqlite_that_cannot_hold_a_file_is_a_problem(
    version: tuple[int, ...], options: list[str], words: str
) -> None:
    problems = doctor_command._of_sqlite(version, options)
    assert len(problems) == bool(words) and words in "".join(problems)


# -------------------------------------------------------------------- a file


def test_a_sound_file_is_described(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = doctor(capsys, path)
    facts = report["file"]
    assert (code, report["problems"], facts["problems"], facts["checked"]) == (0, [], [], True)
    assert (facts["documents"], facts["scopes"], facts["collections"]) == (20, 3, ["notes"])
    assert facts["bytes"] == path.stat().st_size and facts["free_bytes"] > 0
    assert "no problem found" in text_of(capsys, path)


def test_quick_does_not_compare_rows_and_retrievers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE document SET text = 'another' WHERE id = 3")
    code, report = doctor(capsys, path, "--quick")
    assert (code, report["file"]["checked"], report["file"]["documents"]) == (0, False, 20)
    code, report = doctor(capsys, path)
    assert code == 1 and report["problems"] == report["file"]["problems"] != []
    assert "problem: " in text_of(capsys, path)


def test_every_collection_of_the_file_is_checked_and_the_memory_counted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report = doctor(capsys, path)
    assert report["file"]["memory"] is False and "memory_documents" not in report["file"]
    with Memory.open(path, None) as memory:
        memory.propose("Jane lives in Oslo", scope=Scope("acme", "jane"), source="t")
    _, report = doctor(capsys, path)
    facts = report["file"]
    assert (facts["documents"], facts["memory"], facts["memory_documents"]) == (20, True, 1)
    assert facts["memory_embedder"] is None and facts["problems"] == []
    with closing(sqlite3.connect(path)) as connection, connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in (name for name in tables if name.startswith("document_")):
            with suppress(sqlite3.OperationalError):
                connection.execute(f"UPDATE {table} SET text = 'another' WHERE id = 'n'")
    code, report = doctor(capsys, path)
    assert code == 1 and any(problem.startswith("collection 'notes': ") for problem in report["problems"])


def test_a_file_that_does_not_open_is_a_problem_not_an_error(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    code, report = doctor(capsys, path)
    assert code == 1 and "99" in report["problems"][0] and report["file"]["bytes"] > 0
    assert cli.main(["doctor", str(path.with_name("missing"))]) == 2


def test_a_network_file_system_and_a_full_disk_are_warnings(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_command, "disk_of", lambda path: Disk(10, "nfs4", True))
    code, report = doctor(capsys, path)
    assert (code, report["file"]["file_system"], report["file"]["network"]) == (0, "nfs4", True)
    assert [warning.split()[0] for warning in report["warnings"]] == ["the", "less"]
    assert "warning: the file is on a network file system" in text_of(capsys, path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/jane/m.scrubjay", "ext4"),
        ("/srv/with space/m.scrubjay", "nfs4"),
        ("/srv/with spaces/m.scrubjay", "ext4"),
        ("/srv/over/m.scrubjay", "tmpfs"),
        ("/proc", "proc"),
    ],
)
def test_the_file_system_is_that_of_the_deepest_and_latest_mount(path: str, kind: str) -> None:
    assert kind_of(path, MOUNTS) == kind


def test_free_space_and_file_system_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, file = tmp_path / "link", tmp_path / "m.scrubjay"
    file.touch()
    link.symlink_to(file)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda at: usage(3, 2, 1 if at == tmp_path else 99))
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / {tmp_path} rw - fuse.sshfs b rw\n")
    monkeypatch.setattr(disk, "_MOUNTS", mounts)
    assert disk.disk_of(link) == Disk(1, "fuse.sshfs", True)
    monkeypatch.setattr(disk, "_MOUNTS", tmp_path / "none")
    assert disk.disk_of(file) == Disk(1, None, None)


# -------------------------------------------------------------------- a database


def test_a_database_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.data.postgres import new_url

    url = new_url()
    with Index.open(url, dim=2) as index:
        index.upsert("a", "oak", scope=Scope("acme"), vector=[1, 2])
    code, report = doctor(capsys, url)
    facts = report["database"]
    assert (facts["documents"], facts["scopes"], facts["checked"], facts["encoding"]) == (1, 1, True, "UTF8")
    assert facts["round_trip_us"] > 0 and facts["connections"] >= 1 and not facts["standby"]
    assert code == bool(report["problems"]) and all("is off" in problem for problem in report["problems"])
    assert facts["place"] in text_of(capsys, url, "--quick")


def test_a_server_that_does_not_answer_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg")
    code, report = doctor(capsys, "postgresql://jane:secret@127.0.0.1:1/memories")
    assert code == 1 and "does not answer" in report["problems"][0]
    assert "secret" not in json.dumps(report)


def test_a_database_without_an_index_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.data.postgres import new_url

    code, report = doctor(capsys, new_url())
    assert code == 1 and report["database"]["server"] and report["database"]["problems"]
