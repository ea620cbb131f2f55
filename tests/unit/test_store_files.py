"""Copies, exports, damaged images, and whether erased data is gone from the files."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope

JANE = Scope("acme", user="jane")
BOB = Scope("acme", user="bob")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def secret(i: int) -> str:
    rng = random.Random(i)
    return " ".join("".join(rng.choices("abcdefghijklmnop", k=9)) for _ in range(8 if i % 3 else 700))


def vector(i: int) -> np.ndarray:
    return np.random.default_rng(i).normal(size=96).astype(np.float32)


def fill(index: Index, n: int = 40) -> None:
    for i in range(n):
        index.upsert(
            f"m{i}",
            secret(i),
            scope=JANE if i % 2 else BOB,
            vector=vector(i),
            metadata={"s": secret(1000 + i)[:60]},
        )


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@pytest.mark.parametrize("how", ["delete", "erase", "update", "sweep"])
def test_erased_bytes_are_gone_from_every_file(path: Path, dtype: str, how: str) -> None:
    with Index.open(path, dtype=dtype) as index:
        fill(index)
        index.admin.compact()  # images hold everything once
        kept, gone = range(0, 40, 2), range(1, 40, 2)
        everything = ([secret(i) for i in gone], [vector(i) for i in gone])
        before = index.admin.verify_erased(*everything)
        assert {number for _, _, number in before.found} >= set(range(20)), (
            "the search itself finds what is there"
        )
        assert {number for _, _, number in before.found if number >= 20}, "vectors, too"
        if how == "erase":
            assert index.erase(JANE) == 20
        elif how == "delete":
            for i in gone:
                index.delete(f"m{i}", scope=JANE)
        elif how == "update":
            for i in gone:
                index.upsert(f"m{i}", "nothing", scope=JANE)
        else:
            for i in gone:
                index.upsert(f"m{i}", "nothing", scope=JANE, expires_at=0)
            assert index.admin.sweep() == 20
        index.admin.compact()
        metadata = [secret(1000 + i)[:60] for i in gone]
        report = index.admin.verify_erased([*everything[0], *metadata], everything[1])
        assert report.clean, report.found[:5]
        assert report.n_bytes > 10_000
        assert len(report.files) >= 1
        still = index.admin.verify_erased([secret(i) for i in kept])
        assert len(still.found) >= 20, "what was not erased is still there"
        assert index.admin.check().problems == []


def test_without_compaction_the_search_of_the_files_finds_the_rest(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
        index.erase(JANE)
        assert not index.admin.verify_erased([secret(1)]).clean  # in the log


def test_deleted_ids_do_not_come_back_from_an_older_image(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
        index.admin.compact()
    with Index.open(path) as index:  # nothing is resident: the image is older than the deletion
        for i in range(1, 40, 2):
            index.delete(f"m{i}", scope=JANE)
        assert index.admin.stats()["resident_partitions"] == 0
    with Index.open(path) as index:
        assert len(index.search(secret(1), vector=vector(1), scope=JANE)) == 0
        assert index.admin.check().problems == []


def images(path: Path) -> list[tuple[int, bytes]]:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT number, data FROM image ORDER BY number").fetchall()
    connection.close()
    return found


def test_a_damaged_image_is_rebuilt_from_the_rows(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
        index.admin.compact()
        expected = [(hit.id, hit.score) for hit in index.search(secret(1)[:40], vector=vector(1), scope=JANE)]
        assert index.admin.check().images == 2
    rng = random.Random(0)
    whole = images(path)
    for round_number in range(60):
        with sqlite3.connect(path) as connection:
            for number, data in whole:
                damaged = bytearray(data)
                if round_number % 3 == 0:
                    damaged = damaged[: rng.randrange(len(damaged))]
                elif round_number % 3 == 1:
                    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
                else:
                    damaged += b"\0" * rng.randint(1, 9)
                connection.execute("UPDATE image SET data = ? WHERE number = ?", (bytes(damaged), number))
        connection.close()
        with Index.open(path) as index:
            found = index.search(secret(1)[:40], vector=vector(1), scope=JANE)
            assert [(hit.id, hit.score) for hit in found] == expected
            assert any("image" in problem for problem in index.admin.check().problems)
    with Index.open(path) as index:
        index.admin.compact()
        assert index.admin.check().problems == []


@pytest.mark.parametrize("what", ["missing", "of another version", "half"])
def test_images_that_do_not_fit_are_not_used(path: Path, what: str) -> None:
    with Index.open(path) as index:
        fill(index)
        index.admin.compact()
    statement = {
        "missing": "DELETE FROM image",
        "of another version": "UPDATE image SET version = version + 1000",
        "half": "UPDATE image SET n_chunks = 2",
    }[what]
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with Index.open(path) as index:
        assert index.search(secret(1)[:40], scope=JANE)[0].id == "m1"


def test_check_finds_what_is_wrong(path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
    for statement, expected in (
        ("UPDATE document SET text = 'forged' WHERE id = 'm1'", "'m1'"),
        ("UPDATE scope SET documents = documents + 1 WHERE user = 'bob'", "count"),
        ("DELETE FROM document WHERE id = 'm2'", "vectors without a document"),
        ("UPDATE vector SET data = x'0011' WHERE seq = 1", "bytes"),
    ):
        copy = path.with_name("copy.scrubjay")
        for old in path.parent.glob("copy.scrubjay*"):
            old.unlink()
        with Index.open(path) as index:
            index.admin.backup(copy)
        with sqlite3.connect(copy) as connection:
            connection.execute(statement)
        connection.close()
        with Index.open(copy) as index:
            try:
                problems = index.admin.check().problems
            except ValueError as error:  # a vector that cannot be read at all
                problems = [str(error) + " bytes"]
            assert any(expected in problem for problem in problems), (statement, problems)


def test_a_backup_is_a_whole_index(path: Path, tmp_path: Path) -> None:
    with Index.open(path) as index:
        fill(index)
        assert index.admin.backup(tmp_path / "copy") > 10_000
        with pytest.raises(scrubjay.StoreError, match="exists already"):
            index.admin.backup(tmp_path / "copy")
        index.delete("m1", scope=JANE)
        with Index.open(tmp_path / "copy") as copy:
            assert len(copy) == len(index) + 1
            assert copy.get("m1", scope=JANE) is not None
            assert copy.admin.check().problems == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy", "memories.scrubjay"]


def test_a_backup_that_finds_no_space_names_its_own_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.connect

    def connect(file: Path, **options: object) -> sqlite3.Connection:
        connection = real(file, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 2")
        return connection

    with Index.open(path) as index:
        fill(index)
        monkeypatch.setattr("scrubjay.store.sqlite.files.sqlite3.connect", connect)
        with pytest.raises(scrubjay.StoreError, match=r"^backing up: .*full: .*copy"):
            index.admin.backup(tmp_path / "copy")
        monkeypatch.undo()
        assert not (tmp_path / "copy").exists() and len(index) == 40
        assert index.admin.backup(tmp_path / "copy") > 10_000


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
def test_an_export_imports_as_the_same_index(path: Path, tmp_path: Path, dtype: str) -> None:
    with Index.open(path, dtype=dtype) as index:
        fill(index)
        index.upsert("e", "expires", scope=JANE, expires_at="2999-01-01", created_at=5)
        assert index.admin.export(tmp_path / "all.jsonl") == 41
        with pytest.raises(scrubjay.StoreError, match="exists"):
            index.admin.export(tmp_path / "all.jsonl")
        with Index.open(tmp_path / "other", dtype=dtype) as other:
            assert other.admin.import_(tmp_path / "all.jsonl", batch_size=7) == 41
            for id, scope in [("e", JANE), *((f"m{i}", JANE if i % 2 else BOB) for i in range(40))]:
                one, two = index.get(id, scope=scope), other.get(id, scope=scope)
                assert one == two
                assert one is not None
                assert two is not None
                np.testing.assert_array_equal(np.asarray(one.vector), np.asarray(two.vector))
            assert [hit.id for hit in other.search(secret(3)[:50], vector=vector(4), scope=JANE)] == [
                hit.id for hit in index.search(secret(3)[:50], vector=vector(4), scope=JANE)
            ]


@pytest.mark.parametrize("damaged", [b'{"id": "a", "text": "\xff", "tenant": "acme"}\n', b"[" * 3000])
def test_a_damaged_line_of_an_export_is_named(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b'{"scrubjay_export": 1}\n' + damaged)
    with Index.open(tmp_path / "index") as index, pytest.raises(scrubjay.StoreFormatError, match="line 2"):
        index.admin.import_(tmp_path / "bad.jsonl")


@pytest.mark.parametrize("content", ["", "{}\n", "[1]\n", '{"scrubjay_export": 1}\n{"id": 1}\n', "no json\n"])
def test_a_file_that_is_not_an_export_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.jsonl").write_text(content)
    index = Index()
    with pytest.raises(scrubjay.StoreFormatError):
        index.admin.import_(tmp_path / "bad.jsonl")
    assert len(index) == 0
