"""Encrypted tenants: visibility by key, and keys that are unavailable, wrong, changed or destroyed."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import EncryptionError, Index, KeyErasedError, Query, Scope
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.store.keys import encryption
from tests.data import keys
from tests.data.stores import database_of, superuser_rows, use_postgres

pytest.importorskip("cryptography")

ROOT = Path(__file__).resolve().parents[2]
ACME, JANE, GLOBEX, OTHER = Scope("acme"), Scope("acme", user="jane"), Scope("globex"), Scope("other")
ERASED = object()


class Provider:
    """Keys that a test can change."""

    def __init__(self, **known: Any) -> None:
        self.known: dict[str, Any] = {"acme": b"a" * 32, "other": b"o" * 16, **known}
        self.asked: list[str] = []

    def __call__(self, tenant: str) -> Any:
        self.asked.append(tenant)
        key = self.known.get(tenant)
        if key is ERASED:
            raise KeyErasedError(f"{tenant} has left")
        if isinstance(key, Exception):
            raise key
        return key


pytestmark = pytest.mark.usefixtures("no_key_cache")


FILE_ONLY = {
    "test_the_store_tests_pass_with_keys": "runs suites of files",
    "test_keys_are_a_callable": "looks whether there is a file",
    "test_without_the_extra_it_is_named": "looks whether there is a file",
    "test_a_file_without_encrypted_tenants_stays_as_it_was": "is about the format of files",
    "test_older_versions_refuse_a_file_with_encrypted_tenants": "is about the format of files",
    "test_processes_that_write_first_share_the_data_keys": "a twin is in test_postgres_keys",
}
"""Tests that do not concern a database, each with the reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    stores = ["file"] if metafunc.function.__name__ in FILE_ONLY else ["file", "postgres"]
    metafunc.parametrize("store", stores, indirect=True)


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the store of this run of a test, "file" or "postgres"."""
    kind: str = request.param
    if kind == "postgres":
        use_postgres(monkeypatch)
    return kind


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


@pytest.fixture
def provider() -> Provider:
    return Provider()


def fill(index: Index, n: int = 12) -> None:
    for scope in (ACME, JANE, GLOBEX, OTHER):
        index.upsert_many(
            {
                "id": f"{scope.tenant}-{scope.user}-{i}",
                "text": f"oak number {i}",
                "scope": scope,
                "vector": None if i == 5 else np.arange(8) + i,
                "metadata": {"n": i},
            }
            for i in range(n)
        )


def ids(index: Index, scope: Scope = JANE, query: str = "oak") -> list[Any]:
    return [hit.id for hit in index.search(query, scope=scope, k=100_000)]


def reopened(path: Path, provider: Any, **options: Any) -> Index:
    return Index.open(path, keys=provider, durability="normal", **options)


# ---------------------------------------------------------------------- the same answers


@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
def test_an_encrypted_index_answers_bit_for_bit_like_one_in_the_clear(
    tmp_path: Path, images: bool, dtype: str
) -> None:
    answers = []
    for number, given in enumerate([None, Provider()]):
        path = tmp_path / f"{number}"
        with Index.open(path, keys=given, dtype=dtype) as index:
            fill(index, 60)
            index.delete("acme-jane-7", scope=JANE)
            if images:
                index.admin.compact()
                index.upsert("acme-jane-3", "oak changed", scope=JANE)
        with Index.open(path, keys=given) as index:
            hits = index.search("oak number 9", vector=np.arange(8), scope=JANE, k=200, explain=True)
            answers.append([(h.id, h.score, h.bm25, h.similarity, h.text, h.metadata) for h in hits])
            assert index.admin.check().problems == []
            assert index.admin.check().sealed == 0
    assert answers[0] == answers[1]
    assert len(answers[0]) > 60


def test_the_store_tests_pass_with_keys(tmp_path: Path) -> None:
    """Tests that look for unencrypted data, begin with such, or start a program without keys, are left out."""
    files = [f"tests/unit/test_store_{name}.py" for name in ("rows", "reembed", "collections")]
    left_out = "erased or another_process_drops or format_1 or postgres"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", f"not ({left_out})"],
        cwd=ROOT,
        env={**os.environ, "SCRUBJAY_TEST_KEYS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


# ---------------------------------------------------------------------- a key that is destroyed


def test_a_destroyed_key_hides_its_tenant_like_an_erasure(
    path: Path, provider: Provider, tmp_path: Path, store: str
) -> None:
    with reopened(path, provider) as index:
        fill(index)
        others = ids(index, OTHER), ids(index, GLOBEX)
        assert len(ids(index)) == 24
        before = Backend.of(index).generation(JANE)
        provider.known["acme"] = ERASED
        assert ids(index) == ids(index, ACME) == []
        assert Backend.of(index).generation(JANE) != before
        assert len(index.search("oak", vector=np.ones(8), scope=JANE, query=Query(mode="vector"))) == 0
        assert [len(hits) for hits in index.search_batch(["oak", "number"], scope=[JANE, OTHER])] == [0, 10]
        assert len(index.search("number 3", scope=JANE, query=Query("auto"))) == 0
        assert index.get("acme-jane-1", scope=JANE) is None
        assert index.find("acme-jane-1", within=ACME) == []
        assert Backend.of(index).hits_of([(JANE, "acme-jane-1")], JANE) is None
        assert index.count(JANE) == index.count(JANE, filter={"n": 3}) == index.admin.warm(JANE) == 0
        assert len(Backend.of(index).engine.find_substring("oak", scope=JANE)) == 0
        assert Backend.of(index).engine.native.count(JANE) == 0, "nothing of the tenant stays in memory"  # type: ignore[union-attr]
        assert (ids(index, OTHER), ids(index, GLOBEX)) == others
        with pytest.raises(KeyErasedError, match="'acme' was destroyed"):
            index.upsert("new", "oak", scope=JANE)
        with pytest.raises(KeyErasedError):
            index.upsert_many([{"id": i, "text": "oak", "scope": s} for i, s in (("o", OTHER), ("j", JANE))])
        assert index.get("o", scope=OTHER) is None
        assert index.delete("acme-jane-1", scope=JANE)
        # maintenance of the file still works
        index.admin.compact()
        if store == "file":
            assert index.admin.backup(tmp_path / "copy") > 0
        assert index.admin.export(tmp_path / "export") == 24
        report = index.admin.check()
        assert (report.problems, report.sealed, report.documents) == ([], 2, 47)
        assert len(index) == 47, "rows, until they are erased"
    with reopened(path, provider) as index:
        assert ids(index) == []
        assert index.erase(Scope("acme"), everywhere=True) == 23
        assert index.admin.encrypted_tenants() == ["other"]
        assert [event.documents for event in index.admin.events()][-2:] == [12, 11]
        index.admin.compact()
        assert index.admin.check().problems == []
        provider.known["acme"] = b"n" * 24  # the tenant returns, with another key
        index.upsert("new", "oak", scope=JANE)
        assert ids(index) == ["new"]
    with reopened(path, provider) as index:
        assert ids(index) == ["new"]
        assert len(ids(index, OTHER)) == 12


def test_resident_documents_of_a_destroyed_key_are_not_found(path: Path, provider: Provider) -> None:
    """Another search uses it, or another thread was just loading it."""
    with reopened(path, provider) as index:
        fill(index)
        assert len(ids(index)) == 24
        provider.known["acme"] = ERASED
        with Backend.of(index).engine.residency.without_eviction():  # type: ignore[union-attr]
            assert ids(index) == []
            assert [len(hits) for hits in index.search_batch(["oak", "oak"], scope=[JANE, OTHER])] == [0, 10]
            assert [len(hits) for hits in index.search_batch(["oak", "oak"], scope=JANE)] == [0, 0]
            assert index.count(JANE, filter={"n": 3}) == 0
            assert Backend.of(index).engine.native.count(JANE) == 24  # type: ignore[union-attr]
        assert ids(index) == []
        assert Backend.of(index).engine.native.count(JANE) == 0  # type: ignore[union-attr]


def test_a_key_that_comes_back_brings_everything_back(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
        before = ids(index)
        provider.known["acme"] = ERASED
        assert ids(index) == []
        provider.known["acme"] = b"a" * 32
        assert ids(index) == before
        index.upsert("later", "oak", scope=JANE)
        assert index.admin.check().problems == []


def test_forgetting_keys_takes_what_is_decrypted_out_of_memory(
    path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encryption, "KEY_SECONDS", 3600.0)
    with reopened(path, provider) as index:
        fill(index)
        side = index.collection("side")
        side.upsert("s", "oak", scope=JANE)
        assert len(ids(index)) == 24
        assert provider.asked.count("acme") == 1, "what the provider said is believed for a while"
        provider.known["acme"] = ERASED
        assert len(ids(index)) == 24
        index.admin.forget_keys("acme")
        for one in (index, side):
            assert Backend.of(one).engine.native.count(JANE) == 0  # type: ignore[union-attr]
            assert ids(one) == []
        assert provider.asked.count("acme") == 2


# ---------------------------------------------------------------------- a key that is away, or wrong


def everything_fails(index: Index, message: str) -> None:
    for call in (
        lambda: index.search("oak", scope=JANE),
        lambda: index.search_batch(["oak", "oak"], scope=[JANE, OTHER]),
        lambda: index.get("acme-jane-1", scope=JANE),
        lambda: index.count(JANE),
        lambda: index.upsert("new", "oak", scope=JANE),
        lambda: index.upsert_many([{"id": "o", "text": "oak", "scope": s} for s in (OTHER, JANE)][1:]),
        lambda: index.admin.encrypt("acme"),
    ):
        with pytest.raises(EncryptionError, match=message):
            call()


def test_a_provider_that_fails_fails_one_tenant_and_loses_nothing(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
        index.admin.compact()
        wanted = ids(index)
    stored = rows(path)
    for trouble, message in (
        (OSError("no route to key store, token hunter2"), r"failed for tenant 'acme' \(OSError\)"),
        (KeyError("acme"), "KeyError"),
        (b"short", "expected 16, 24 or 32 bytes, got 5"),
        ("a" * 32, "expected a key as bytes, got str"),
        (b"w" * 32, "another key"),
        (None, "expected its key, got None"),
    ):
        good, provider.known["acme"] = provider.known["acme"], trouble
        with reopened(path, provider) as index:
            everything_fails(index, message)
            assert len(ids(index, OTHER)) == len(ids(index, GLOBEX)) == 12
            index.upsert("late", "oak", scope=OTHER)
            index.delete("late", scope=OTHER)
            index.admin.compact()
            report = index.admin.check()
            assert (report.problems, report.sealed) == ([], 2)
            with pytest.raises(EncryptionError):
                index.admin.export(path.with_name("export"))
            assert not path.with_name("export").exists()
            provider.known["acme"] = good
            assert ids(index) == wanted
            provider.known["acme"] = trouble
            everything_fails(index, message)
        provider.known["acme"] = good
        assert rows(path) == stored, "rows and images are as they were"
    with reopened(path, provider) as index:
        assert ids(index) == wanted
        assert index.admin.check().problems == []


def rows(path: Path) -> list[Any]:
    """Return the file's data of acme, including images."""
    if (url := database_of(path)) is not None:
        tables = ("sj_home", "sj_document", "sj_image")
        return [
            superuser_rows(url, f"SELECT * FROM {table} WHERE home = 'acme' ORDER BY 1, 2, 3")
            for table in tables
        ]
    with sqlite3.connect(path) as connection:
        found = [
            connection.execute(
                f"SELECT {columns} FROM {table} t JOIN scope s ON s.key = {key} WHERE s.tenant = 'acme' ORDER BY 1"
            ).fetchall()
            for columns, table, key in (
                ("t.seq, t.text, t.payload, t.hash", "document", "t.scope"),
                ("t.number, t.ordinal, t.version, t.data", "image", "t.scope"),
            )
        ]
        found.append(connection.execute("SELECT * FROM vector ORDER BY seq").fetchall())
        found.append(connection.execute("SELECT * FROM data_key ORDER BY tenant").fetchall())
    connection.close()
    return found


def test_no_key_is_in_a_message(path: Path, provider: Provider) -> None:
    secret = b"0123456789abcdefg"
    with reopened(path, Provider(acme=secret)) as index, pytest.raises(EncryptionError) as caught:
        index.upsert("a", "oak", scope=JANE)
    assert "0123" not in str(caught.value)
    with reopened(path, provider) as index:
        index.upsert("a", "oak", scope=JANE)
        with pytest.raises(EncryptionError) as caught:
            index.admin.rotate_key("acme", secret)
        assert "0123" not in str(caught.value)


def test_without_keys_the_rest_of_the_file_can_be_used(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
        index.admin.compact()
    stored = rows(path)
    with Index.open(path) as index:
        assert len(ids(index, GLOBEX)) == 12
        index.upsert("more", "oak", scope=GLOBEX)
        for call in (
            lambda: index.search("oak", scope=JANE),
            lambda: index.get("acme-jane-1", scope=JANE),
            lambda: index.upsert("new", "oak", scope=JANE),
            lambda: index.upsert("new", "oak", scope=Scope("acme", user="somebody new")),
            lambda: index.admin.reembed(letters("x"), progress=False),
            lambda: index.admin.export(path.with_name("export")),
            lambda: index.admin.encrypt("acme"),
            lambda: index.admin.rotate_key("acme", b"a" * 32),
        ):
            with pytest.raises(EncryptionError, match="keys"):
                call()
        assert index.count(JANE) == 24
        index.admin.compact()
        report = index.admin.check()
        assert (report.problems, report.sealed) == ([], 3)
        assert len(ids(index, GLOBEX)) == 13
    assert rows(path) == stored
    with Index.open(path) as index:
        with pytest.raises(EncryptionError, match="'acme' is encrypted"):  # its digest cannot be written
            index.delete("acme-jane-1", scope=JANE)
        assert index.erase(OTHER) == 12
        assert index.erase(ACME, exact=True) == 12
        index.admin.sweep()
    with reopened(path, provider) as index:
        assert len(ids(index)) == 12
        assert index.admin.check().problems == []


def test_invalid_tenants_and_keys_are_refused(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
        for bad, error in ((5, TypeError), (None, TypeError), ("", ValueError), (b"acme", TypeError)):
            with pytest.raises(error, match="tenant"):
                index.admin.encrypt(bad)  # type: ignore[arg-type]
            with pytest.raises(error, match="tenant"):
                index.admin.rotate_key(bad, b"a" * 32)  # type: ignore[arg-type]
        for key in (b"short", "a" * 32, None):
            with pytest.raises(EncryptionError, match="old: expected"):
                index.admin.rotate_key("acme", key)  # type: ignore[arg-type]
        assert len(ids(index)) == 24
    for call in (lambda: Index().admin.encrypt("acme"), lambda: Index().admin.rotate_key("acme", b"a" * 32)):
        with pytest.raises(scrubjay.StoreError, match="no file"):
            call()


@pytest.mark.parametrize("bad", [b"a" * 32, {"acme": b"a" * 32}, "key"])
def test_keys_are_a_callable(path: Path, bad: Any) -> None:
    with pytest.raises(TypeError, match="keys: expected a callable"):
        Index.open(path, keys=bad)
    assert not path.exists()


def test_without_the_extra_it_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(scrubjay.MissingExtraError, match=r"scrubjay\[encryption\]"):
        Index.open(path, keys=Provider())
    assert not path.exists()


# ---------------------------------------------------------------------- files of two kinds


def test_a_file_without_encrypted_tenants_stays_as_it_was(path: Path) -> None:
    with reopened(path, lambda tenant: None) as index:
        fill(index)
        assert index.admin.encrypted_tenants() == []
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (scrubjay.store.sqlite.schema.FORMAT,)
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'data_key'").fetchone() is None
    connection.close()
    with Index.open(path) as index:
        assert len(ids(index)) == 24


def test_older_versions_refuse_a_file_with_encrypted_tenants(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
    with sqlite3.connect(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    assert version > scrubjay.store.sqlite.schema.FORMAT, "which is what they compare"


def test_encrypt_seals_existing_plain_rows(path: Path, provider: Provider) -> None:
    with Index.open(path) as index:
        fill(index)
        index.collection("side").upsert("s", "oak at the side", scope=JANE, vector=np.ones(8))
        index.admin.compact()
    with reopened(path, provider) as index:
        for refused in (
            lambda: ids(index),
            lambda: index.get("acme-jane-2", scope=JANE),
            lambda: index.list(JANE),
            lambda: index.upsert("new", "oak", scope=JANE),
            lambda: index.collection("side").upsert("new", "oak", scope=Scope("acme", user="somebody new")),
        ):
            with pytest.raises(EncryptionError, match=r"call index.admin.encrypt\('acme'\)"):
                refused()
        assert any("index.admin.encrypt('acme')" in problem for problem in index.admin.check().problems)
        assert len(ids(index, GLOBEX)) == 12
    with reopened(path, provider, encryption="mixed") as index:
        assert len(ids(index)) == 24, "what is in the clear stays readable"
        index.upsert("acme-jane-2", "new oak text", scope=JANE, vector=np.ones(8))
        wanted = ids(index)
        assert index.admin.verify_erased(["new oak text"]).clean
        assert not index.admin.verify_erased(["oak number 7"]).clean
    with reopened(path, provider, encryption="mixed") as index:
        assert ids(index) == wanted
    with reopened(path, provider) as index:
        assert index.admin.encrypt("acme") == 24, "one of 24 was new, and one is at the side"
        assert index.admin.encrypt("acme") == 0
        assert index.admin.encrypt("other") == 12
        with pytest.raises(EncryptionError, match="expected a key for tenant 'globex'"):
            index.admin.encrypt("globex")
        index.erase(GLOBEX)
        index.admin.compact()
        assert index.admin.verify_erased(["oak number 7", "oak at the side"], [np.arange(8) + 7]).clean
        assert ids(index) == wanted
        assert index.admin.check().problems == index.collection("side").admin.check().problems == []
    with reopened(path, provider) as index:
        assert ids(index) == wanted
        assert ids(index.collection("side")) == ["s"]
    with Index.open(path) as index, pytest.raises(EncryptionError):
        ids(index)


# ---------------------------------------------------------------------- rotation


def test_a_key_is_changed_at_once_and_for_all(path: Path, provider: Provider) -> None:
    old, new = b"a" * 32, b"b" * 16
    other_process = Provider()
    with reopened(path, provider) as index, reopened(path, other_process) as elsewhere:
        fill(index)
        index.collection("side").upsert("s", "oak", scope=JANE)
        wanted = ids(index)
        assert ids(elsewhere) == wanted
        provider.known["acme"] = new
        everything_fails(index, r"rotated\? see index.admin.rotate_key")
        with pytest.raises(EncryptionError, match="old: tenant 'acme' is encrypted with another key"):
            index.admin.rotate_key("acme", b"x" * 32)
        with pytest.raises(EncryptionError, match="'globex'"):
            index.admin.rotate_key("globex", old)
        index.admin.rotate_key("acme", old)
        index.admin.rotate_key("acme", old)
        assert ids(index) == wanted
        assert ids(elsewhere) == wanted, "who has opened the data key before needs no master key"
        elsewhere.upsert("e", "oak elsewhere", scope=JANE)
        other_process.known["acme"] = new
        assert ids(elsewhere) == ids(index)
        wanted = ids(index)
        assert "e" in wanted
    with reopened(path, provider) as index:
        assert ids(index) == wanted
        assert ids(index.collection("side")) == ["s"]
        assert index.admin.check().problems == []
    with reopened(path, Provider(acme=old)) as index:
        everything_fails(index, "another key")


# ---------------------------------------------------------------------- processes and threads


def _first_write(path: str, number: int, go: Any) -> None:
    with Index.open(path, keys=keys.provider, busy_timeout=30) as index:
        go.wait(60)
        index.upsert_many(
            [{"id": number * 100 + i, "text": f"oak {i}", "scope": Scope(f"t{i % 5}")} for i in range(20)]
        )


def test_processes_that_write_first_share_the_data_keys(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    go = context.Event()
    workers = [context.Process(target=_first_write, args=(str(path), n, go)) for n in range(3)]
    for worker in workers:
        worker.start()
    go.set()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with Index.open(path, keys=keys.provider) as index:
        assert index.admin.encrypted_tenants() == [f"t{i}" for i in range(5)]
        for i in range(5):
            assert len(ids(index, Scope(f"t{i}"))) == 12
        assert index.admin.check().problems == []


def test_a_data_key_that_is_gone_seals_nothing_more(path: Path, provider: Provider) -> None:
    """Two indexes: one erases the tenant, and with it the data key; the other still has that in memory."""
    with reopened(path, provider) as one, reopened(path, provider) as two:
        one.upsert("a", "oak", scope=JANE)
        two.upsert("b", "oak", scope=JANE)
        assert ids(two) == ["a", "b"]
        one.erase(Scope("acme"))
        assert one.admin.encrypted_tenants() == []
        two.upsert("c", "oak", scope=JANE)
        assert ids(one) == ids(two) == ["c"]
        one.upsert("d", "oak", scope=JANE)
        assert ids(two) == ["c", "d"]
    with reopened(path, provider) as index:
        assert ids(index) == ["c", "d"]
        assert index.admin.check().problems == []


def test_a_provider_is_asked_outside_of_locks(path: Path, provider: Provider) -> None:
    """It may wait for another thread that searches and writes, even of this tenant, as long as it answers that one."""
    with reopened(path, provider) as index:
        fill(index)
        index.admin.forget_keys()
        inside = threading.local()

        def slow(tenant: str) -> Any:
            if tenant == "acme" and not getattr(inside, "busy", False):

                def work() -> None:
                    inside.busy = True
                    index.upsert("while asked", "oak", scope=GLOBEX)
                    assert "while asked" in ids(index, GLOBEX)

                thread = threading.Thread(target=work, daemon=True)
                thread.start()
                thread.join(20)
                assert not thread.is_alive(), "waited for a lock that the asking thread holds"
            return provider(tenant)

        Backend.of(index).engine.store.cipher.ring._provider = slow  # type: ignore[union-attr]
        assert len(ids(index)) == 24
        index.upsert("x", "oak", scope=JANE)
        assert index.get("x", scope=JANE) is not None


def test_keys_come_and_go_while_threads_search_and_write(path: Path, provider: Provider) -> None:
    """In any case: all of the tenant's memories, none of them, or a typed error; and nothing is lost."""
    with reopened(path, provider) as index:
        fill(index, 40)
        index.admin.compact()
    start = time.monotonic()
    written: list[str] = []
    failures: list[str] = []
    seen: set[int] = set()
    with Index.open(path, keys=provider, durability="normal", memory_budget=30_000) as index:

        def goes_on() -> bool:
            """Two seconds, or until all had their turn if switching threads is slow."""
            passed = time.monotonic() - start
            enough = len(written) > 10 and seen >= {80, 0, -1}
            return not failures and (passed < 2.0 or (not enough and passed < 60.0))

        def search(scope: Scope, sizes: set[int]) -> None:
            try:
                while goes_on():
                    try:
                        found = sum(not str(id).startswith("w") for id in ids(index, scope))
                    except EncryptionError:
                        found = -1
                    seen.add(found)
                    if found not in sizes:
                        failures.append(f"{scope}: {found}")
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(repr(error))

        def write() -> None:
            try:
                while goes_on():
                    id = f"w{len(written)}"
                    try:
                        index.upsert(id, "oak", scope=JANE)
                    except EncryptionError:
                        continue
                    written.append(id)
            except BaseException as error:  # noqa: BLE001
                failures.append(repr(error))

        threads = [threading.Thread(target=search, args=(JANE, {80, 0, -1})) for _ in range(2)]
        threads += [threading.Thread(target=search, args=(OTHER, {40})), threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        states = [b"a" * 32, ERASED, b"a" * 32, OSError("away"), b"a" * 32, b"w" * 32]
        number = 0
        while goes_on():
            provider.known["acme"] = states[number % len(states)]
            number += 1
            time.sleep(0.02)
        for thread in threads:
            thread.join()
        assert failures == []
        provider.known["acme"] = b"a" * 32
        assert seen >= {80, 0, -1}
        assert sorted(id for id in ids(index) if id.startswith("w")) == sorted(written)
        assert len(written) > 10
        assert index.admin.check().problems == []


# ---------------------------------------------------------------------- another model


def letters(name: str) -> Function:
    return Function(lambda texts: [[len(text), text.count("o") + 1, 3] for text in texts], dim=3, name=name)


def test_reembedding_reads_and_writes_sealed_rows(path: Path, provider: Provider) -> None:
    with reopened(path, provider) as index:
        fill(index)
        provider.known["other"] = OSError("away")
        with pytest.raises(EncryptionError, match="'other'"):
            index.admin.reembed(letters("new"), progress=False, batch_size=5)
        assert len(ids(index)) == 24, "the old model goes on"
        provider.known["other"] = b"o" * 16
        assert 0 < index.admin.reembed(letters("new"), progress=False, batch_size=5) < 48, (
            "goes on where it stopped"
        )
        assert index.search("oak number 3", scope=JANE).mode == "hybrid"
        assert index.admin.check().problems == []
        vector = index.get("acme-jane-1", scope=JANE).vector  # type: ignore[union-attr]
        assert np.asarray(vector).tolist() == [12.0, 2.0, 3.0]
        provider.known["acme"] = ERASED
        assert index.admin.reembed(letters("newer"), progress=False) == 48, (
            "whose key was destroyed has no vectors any more"
        )
        assert len(ids(index, OTHER)) == 12
        assert index.admin.check().problems == []
    with Index.open(path, letters("newer"), keys=provider) as index:
        assert index.search("oak number 3", scope=OTHER).mode == "hybrid"


# ---------------------------------------------------------------------- exports


def test_an_export_is_sealed_and_comes_back(path: Path, provider: Provider, tmp_path: Path) -> None:
    sealed, clear = tmp_path / "sealed.jsonl", tmp_path / "clear.jsonl"
    with reopened(path, provider) as index:
        fill(index)
        assert index.admin.export(sealed) == index.admin.export(clear, plaintext=True) == 48
        text = sealed.read_text()
        assert text.count("oak number") == 12, "those of the tenant in the clear"
        assert clear.read_text().count("oak number") == 48
        for source in (sealed, clear):
            with Index.open(tmp_path / f"from {source.name}", keys=provider) as other:
                assert other.admin.import_(source, batch_size=7) == 48
                for id, scope in (
                    ("acme-jane-3", JANE),
                    ("acme-None-5", ACME),
                    ("globex-None-1", GLOBEX),
                    ("other-None-0", OTHER),
                ):
                    assert other.get(id, scope=scope) == index.get(id, scope=scope) is not None
                assert ids(other) == ids(index)
                assert other.admin.encrypted_tenants() == ["acme", "other"]
    assert Index().admin.import_(clear) == 48
    with pytest.raises(EncryptionError, match="line 2: tenant 'acme' is encrypted, and there is no key"):
        Index().admin.import_(sealed)
    for key, message in (
        (b"w" * 32, "another key"),
        (None, "no key"),
        (ERASED, "no key"),
        (OSError(), "failed"),
    ):
        with (
            reopened(tmp_path / "wrong", Provider(acme=key)) as index,
            pytest.raises(EncryptionError, match=message),
        ):
            index.admin.import_(sealed)
    lines = text.splitlines(keepends=True)
    of_other = next(i for i, line in enumerate(lines) if '"other"' in line)
    middle = len(lines[2]) // 2
    changed = lines[2][:middle] + ("A" if lines[2][middle] != "A" else "B") + lines[2][middle + 1 :]
    for broken, error in (
        ([lines[0], lines[2]], scrubjay.StoreFormatError),  # no key before it
        ([*lines[:2], changed], scrubjay.CorruptIndexError),
        ([*lines[:2], lines[of_other], lines[2].replace('"acme"', '"other"')], scrubjay.CorruptIndexError),
        ([*lines[:1], lines[1].replace('"acme"', '"other"')], EncryptionError),
        ([*lines[:2], '{"tenant": "acme", "sealed": 5}\n'], scrubjay.StoreFormatError),
        ([*lines[:1], '{"tenant": "acme", "key": {"id": "zz"}}\n'], scrubjay.StoreFormatError),
        ([*lines[:1], '{"tenant": 7, "key": {}}\n'], scrubjay.StoreFormatError),
    ):
        (tmp_path / "broken.jsonl").write_text("".join(broken))
        with reopened(tmp_path / "wrong", provider) as index, pytest.raises(error):
            index.admin.import_(tmp_path / "broken.jsonl")
