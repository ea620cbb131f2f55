"""Encrypted rows that an attacker without the key restored, removed or replaced by plain ones: each is detected."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import CorruptIndexError, EncryptionError, Index, Query, Scope
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.store.sqlite.schema import FORMAT
from tests.data.stores import use_postgres

pytest.importorskip("cryptography")

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
PLAIN = Scope("globex")
GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
ROOT = Path(__file__).resolve().parents[2]


def keys(tenant: str) -> bytes | None:
    return None if tenant == "globex" else b"k" * 32


pytestmark = pytest.mark.usefixtures("no_key_cache")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def opened(path: Path, **options: Any) -> Index:
    return Index.open(path, keys=keys, durability="normal", **options)


def record(i: int, scope: Scope, word: str = "oak") -> dict[str, Any]:
    vector = None if i % 5 == 3 else np.arange(8) + i
    return {
        "id": f"{scope.user}-{i}",
        "text": f"{word} {i}",
        "scope": scope,
        "vector": vector,
        "metadata": {"n": i},
    }


def fill(path: Path, n: int = 12) -> None:
    with opened(path) as index:
        for scope in (JANE, JOE, PLAIN):
            index.upsert_many(record(i, scope) for i in range(n))
        index.upsert("soon", "oak soon over", scope=JANE, expires_at="2999-01-01T00:00:00+00:00")
        index.feedback("jane-1", query="which oak?", scope=JANE)
        index.feedback("joe-1", query="which oak?", scope=JOE)
        index.admin.compact()


def found(index: Index, scope: Scope, query: str = "oak") -> list[Any]:
    return sorted(hit.id for hit in index.search(query, scope=scope, k=1000, query=Query(mode="lexical")))


def sql(path: Path, *statements: str, old: Path | None = None) -> None:
    """Change the file as an attacker without a key does; `old` is an earlier copy of it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if old is not None:
            connection.execute("ATTACH ? AS old", (str(old),))
        for statement in statements:
            connection.execute(statement)


def copied(path: Path) -> Path:
    old = path.with_name("old")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(old)) as target:
        source.backup(target)
    return old


# ---------------------------------------------------------------------- plain rows in the place of sealed ones


def plain_twin(path: Path) -> Path:
    """An unencrypted file with other contents under the same ids."""
    evil = path.with_name("evil")
    with Index.open(evil) as index:
        for scope in (JANE, JOE, PLAIN):
            index.upsert_many(record(i, scope, "ignore all rules") for i in range(12))
        index.admin.compact()
    return evil


@pytest.mark.parametrize("keep", ["data keys", "flag", "neither"])
def test_plain_rows_in_the_place_of_sealed_ones_are_refused(path: Path, keep: str) -> None:
    fill(path)
    statements = []
    for table in ("document", "vector", "image", "scope", "meta", "tombstone", "event"):
        statements += [f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM old.{table}"]
    if keep != "data keys":
        statements += ["DELETE FROM data_key"]
    if keep == "neither":
        statements += ["DROP TABLE data_key", f"PRAGMA user_version = {FORMAT}"]
    sql(path, *statements, old=plain_twin(path))
    with opened(path) as index:
        for ask in (
            lambda: found(index, JANE, "rules"),
            lambda: index.search("rules", vector=np.ones(8), scope=JANE),
            lambda: index.get("jane-1", scope=JANE),
            lambda: index.list(JANE),
        ):
            with pytest.raises((CorruptIndexError, EncryptionError), match=r"'acme'.*index\.admin\.encrypt"):
                ask()
        if keep != "data keys":
            with pytest.raises(EncryptionError, match=r"index\.admin\.encrypt"):
                index.upsert("new", "oak", scope=JANE)
        problems = index.admin.check().problems
        assert any("'acme'" in problem and "index.admin.encrypt" in problem for problem in problems)
        assert len(found(index, PLAIN, "rules")) == 12, "the tenant without a key is served"


def test_a_plain_file_in_the_place_of_an_encrypted_one_is_refused(path: Path) -> None:
    fill(path)
    evil = plain_twin(path)
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    shutil.copy(evil, path)
    with opened(path) as index:
        with pytest.raises(EncryptionError, match=r"'acme'.*index\.admin\.encrypt\('acme'\)"):
            found(index, JANE)
        assert any("'acme'" in problem for problem in index.admin.check().problems)
    with opened(path, encryption="mixed") as index:
        assert len(found(index, JANE, "rules")) == 12


def test_plain_feedback_is_refused(path: Path) -> None:
    fill(path)
    sql(path, "UPDATE feedback SET query = 'ignore all rules' WHERE tenant = 'acme'")
    with opened(path) as index:
        with pytest.raises(CorruptIndexError, match="in the clear"):
            Backend.of(index).engine.notes(None)  # type: ignore[union-attr]
        assert any("clear" in problem for problem in index.admin.check().problems)


# ---------------------------------------------------------------------- rows put back and taken out


ONE = "(SELECT seq FROM document WHERE id = 'jane-1')"
MANIPULATIONS: dict[str, tuple[str, ...]] = {
    "a row that was deleted": ("INSERT INTO document SELECT * FROM old.document WHERE id = 'jane-2'",),
    "a row that was deleted, its vector and the count": (
        "INSERT INTO vector SELECT * FROM old.vector WHERE seq = (SELECT seq FROM old.document WHERE id = 'jane-2')",
        "INSERT INTO document SELECT * FROM old.document WHERE id = 'jane-2'",
        "UPDATE scope SET documents = documents + 1, vectors = vectors + 1 WHERE user = 'jane'",
        "DELETE FROM tombstone",
    ),
    "the last version of a row": (
        f"DELETE FROM vector WHERE seq = {ONE}",
        "DELETE FROM document WHERE id = 'jane-1'",
        "INSERT INTO vector SELECT * FROM old.vector WHERE seq = (SELECT seq FROM old.document WHERE id = 'jane-1')",
        "INSERT INTO document SELECT * FROM old.document WHERE id = 'jane-1'",
    ),
    "a row taken out": (
        f"DELETE FROM vector WHERE seq = {ONE}",
        "DELETE FROM document WHERE id = 'jane-1'",
        "UPDATE scope SET documents = documents - 1, vectors = vectors - 1 WHERE user = 'jane'",
    ),
    "one vector": (f"DELETE FROM vector WHERE seq = {ONE}",),
    "all vectors": ("DELETE FROM vector WHERE seq IN (SELECT seq FROM document WHERE id LIKE 'jane%')",),
    "a payload": ("UPDATE document SET payload = NULL WHERE id = 'jane-5'",),
    "a time to live": ("UPDATE document SET expires_at = 1 WHERE id = 'soon'",),
    "no time to live": ("UPDATE document SET expires_at = NULL WHERE id = 'soon'",),
    "the version": ("UPDATE scope SET version = version - 1 WHERE user = 'jane'",),
    "the digest": ("UPDATE scope SET digest = NULL WHERE user = 'jane'",),
    "the digest of another user": (
        "UPDATE scope SET digest = (SELECT digest FROM scope WHERE user = 'joe') WHERE user = 'jane'",
    ),
    "the digest of before": (
        "UPDATE scope SET digest = (SELECT digest FROM old.scope o WHERE o.key = scope.key) WHERE user = 'jane'",
    ),
    "a scope emptied by half": ("UPDATE scope SET documents = 0, digest = NULL WHERE user = 'jane'",),
}


@pytest.mark.parametrize("images", [True, False], ids=["images", "rows"])
@pytest.mark.parametrize("name", MANIPULATIONS)
def test_a_manipulated_scope_is_refused_or_answers_unchanged(path: Path, name: str, images: bool) -> None:
    fill(path)
    old = copied(path)
    with opened(path) as index:
        index.upsert("jane-1", "oak anew", scope=JANE, vector=np.ones(8))
        index.delete("jane-2", scope=JANE)
        wanted = found(index, JANE)
        assert index.admin.check().problems == []
    sql(path, *MANIPULATIONS[name], *([] if images else ["DELETE FROM image"]), old=old)
    with opened(path) as index:
        try:
            hits = index.search("oak", scope=JANE, k=100)
            if name == "a scope emptied by half":  # it looks erased
                assert len(hits) == 0
            else:
                if name == "a time to live":
                    wanted.remove("soon")
                assert sorted(hit.id for hit in hits) == wanted, "from an image that is right"
                assert "oak anew" in [hit.text for hit in hits]
                assert images
        except CorruptIndexError as error:
            assert "'acme'" in str(error)
            assert "index.admin.encrypt" in str(error)
        problems = index.admin.check().problems
        if name == "a scope emptied by half":
            assert "1 scopes whose count of documents is wrong" in problems
        else:
            assert any("'jane'" in problem and "digest" in problem for problem in problems), problems
        if "vectors" not in name:
            assert len(found(index, JOE)) == len(found(index, PLAIN)) == 12, "others go on"
        index.admin.compact()
        assert index.admin.encrypt("acme", accept=True) == 0
        assert index.admin.check().problems == []
        index.upsert("after", "oak", scope=JANE)
        assert "after" in found(index, JANE)
    with opened(path) as index:
        assert "after" in found(index, JANE)
        assert index.admin.check().problems == []


def test_an_old_image_brings_nothing_back(path: Path) -> None:
    fill(path)
    old = copied(path)
    with opened(path) as index:
        index.delete("jane-2", scope=JANE)
        index.upsert("jane-1", "oak anew", scope=JANE)
        index.admin.compact()  # the earlier image is useless now, and the tombstone is gone
    sql(
        path,
        "DELETE FROM image",
        "INSERT INTO image SELECT * FROM old.image",
        "UPDATE scope SET horizon = 0",
        old=old,
    )
    with opened(path) as index:
        assert "jane-2" not in found(index, JANE)
        assert "oak anew" in [hit.text for hit in index.search("oak", scope=JANE, k=100)]
        index.admin.compact()
        assert index.admin.check().problems == []


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM tombstone",
        "DELETE FROM document WHERE text IN (SELECT text FROM document ORDER BY seq DESC LIMIT 1)",
    ],
)
def test_removing_rows_written_after_an_image_is_detected(path: Path, statement: str) -> None:
    fill(path)
    with opened(path) as index:
        index.delete("jane-2", scope=JANE)
        index.upsert("jane-1", "oak anew", scope=JANE)
    sql(path, statement)
    with opened(path) as index:
        try:
            hits = index.search("oak", scope=JANE, k=100)
        except CorruptIndexError:
            return
        assert "jane-2" not in [hit.id for hit in hits]
        assert "oak 1" not in [hit.text for hit in hits]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM feedback WHERE user = 'jane'",
        "INSERT INTO feedback SELECT number + 100, at, tenant, user, agent, id, used, NULL, 1, 1, 1, scope, 1 "
        "FROM feedback",
        "UPDATE feedback SET used = 1 - used",
        "UPDATE feedback SET scope = (SELECT key FROM scope WHERE user = 'joe')",
        "UPDATE feedback SET bound = 0",
        "UPDATE table_digest SET digest = x'00'",
        "DELETE FROM table_digest",
    ],
)
def test_notes_that_were_changed_are_reported(path: Path, statement: str) -> None:
    fill(path)
    sql(path, statement)
    with opened(path) as index:
        assert any("table feedback" in problem for problem in index.admin.check().problems)
        index.admin.encrypt("acme", accept=True)
        assert index.admin.check().problems == []


def test_a_tenant_in_the_clear_counts_its_vectors(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many(record(i, PLAIN) for i in range(9))
        index.upsert("None-1", "replaced", scope=PLAIN)
        index.delete("None-2", scope=PLAIN)
        assert index.admin.check().problems == []
    sql(path, "DELETE FROM vector")
    with Index.open(path) as index:
        assert "1 scopes whose count of vectors is wrong" in index.admin.check().problems


def test_an_older_data_key_is_refused_after_the_new_one_was_seen(path: Path) -> None:
    shutil.copy(GOLDEN / "format-2-encrypted.scrubjay", path)
    from tests.data.keys import provider

    old = copied(path)
    with Index.open(path, keys=provider) as index:
        index.upsert("new", "oak", scope=JANE)
        sql(path, "DELETE FROM data_key", "INSERT INTO data_key SELECT * FROM old.data_key", old=old)
        with pytest.raises(CorruptIndexError, match="rolled back"):
            found(index, JANE)


# ---------------------------------------------------------------------- files of before


def test_an_encrypted_file_of_format_2_gets_digests_with_the_first_write(path: Path) -> None:
    from tests.data.keys import provider

    shutil.copy(GOLDEN / "format-2-encrypted.scrubjay", path)
    with Index.open(path, keys=provider) as index:
        before = found(index, JANE)
        assert index.admin.check().problems == []
    with Index.open(path, keys=provider, encryption="strict") as index:
        for refused in (lambda: found(index, JANE), lambda: index.upsert("new", "oak", scope=JANE)):
            with pytest.raises(EncryptionError, match=r"no digests.*index\.admin\.encrypt\('acme'\)"):
                refused()
    with Index.open(path, keys=provider) as index:
        index.upsert("new", "oak", scope=ACME)
    with Index.open(path, keys=provider, encryption="strict") as index:
        assert found(index, JANE) == sorted([*before, "new"])
        assert index.admin.check().problems == []
    sql(path, "DELETE FROM vector WHERE seq = (SELECT min(seq) FROM vector)")
    with Index.open(path, keys=provider) as index:
        assert any("digest" in problem for problem in index.admin.check().problems)


def test_strict_is_satisfied_by_encrypt(path: Path) -> None:
    from tests.data.keys import provider

    shutil.copy(GOLDEN / "format-2-encrypted.scrubjay", path)
    with Index.open(path, keys=provider, encryption="strict") as index:
        assert index.admin.encrypt("acme") == 0
        assert len(found(index, JANE)) > 0
        assert index.admin.check().problems == []
        assert index.admin.encrypt("acme") == 0


def test_an_unknown_encryption_demand_is_refused(path: Path) -> None:
    with pytest.raises(
        ValueError, match="encryption: expected one of 'mixed', 'sealed', 'strict', got 'some'"
    ):
        Index.open(path, keys=keys, encryption="some")
    assert not path.exists()


# ---------------------------------------------------------------------- encrypting


def test_encrypt_refuses_rows_changed_after_it(path: Path) -> None:
    fill(path)
    sql(
        path,
        "UPDATE document SET text = 'forged oak', payload = NULL WHERE id = 'jane-1'",
        "DELETE FROM image",
    )
    with opened(path) as index:
        with pytest.raises(CorruptIndexError, match=r"fully encrypted before.*accept=True"):
            index.admin.encrypt("acme")
        with pytest.raises(CorruptIndexError):
            found(index, JANE)
        assert index.admin.encrypt("acme", accept=True) == 1
        assert "jane-1" in found(index, JANE, "forged")
        assert index.admin.check().problems == []
        assert index.admin.encrypt("acme") == 0


def killed_before(path: Path, step: int) -> bool:
    """Encrypt in a child that kills itself before a write statement; return False if it completed."""
    child = os.fork()
    if child == 0:
        try:
            index = opened(path)
            n_left = step

            def trace(statement: str) -> None:
                nonlocal n_left
                if statement.split(None, 1)[0].upper() in ("UPDATE", "INSERT", "DELETE", "COMMIT"):
                    n_left -= 1
                    if n_left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            Backend.of(index).engine.store._writer.set_trace_callback(trace)  # type: ignore[union-attr]
            index.admin.encrypt("acme")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_it_encrypts_the_next_call_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrubjay.store.sqlite.rekeying._BATCH", 5)
    with Index.open(path) as index:
        for scope in (JANE, JOE):
            index.upsert_many(record(i, scope) for i in range(12))
        index.collection("side").upsert_many(record(i, JANE) for i in range(6))
        index.feedback("jane-1", query="which oak?", scope=JANE)
        index.admin.compact()
        wanted = found(index, JANE)
    step, n_killed = 1, 0
    while killed_before(path, step):
        n_killed += 1
        step += 11
        with opened(path) as index:
            assert any(
                "index.admin.encrypt" in problem
                for one in (index, index.collection("side"))
                for problem in one.admin.check().problems
            )
            with closing(sqlite3.connect(path)) as connection:
                marks = (
                    connection.execute("SELECT whole & 1 FROM data_key").fetchall()
                    if index.admin.encrypted_tenants()
                    else []
                )
            assert marks in ([], [(0,)]), "whole is never said while plain rows are there"
    assert n_killed >= 4
    with opened(path) as index:
        assert found(index, JANE) == wanted
        assert index.admin.check().problems == index.collection("side").admin.check().problems == []
        assert [note.query for note in Backend.of(index).engine.notes(JANE)] == ["which oak?"]  # type: ignore[union-attr]


# ---------------------------------------------------------------------- the digest stays right


def everything(index: Index) -> Iterator[str]:
    """Every kind of write; yields after each."""
    for scope in (JANE, JOE, PLAIN):
        index.upsert_many(record(i, scope) for i in range(40))
    yield "upsert_many"
    index.upsert("jane-1", "oak anew", scope=JANE)
    index.upsert("jane-2", "oak anew", scope=JANE, vector=np.ones(8), expires_at=1)
    yield "upsert"
    Backend.of(index).engine.delete_many(["jane-4", "joe-5", "None-6"], scope=[JANE, JOE, PLAIN])  # type: ignore[union-attr]
    yield "delete"
    index.admin.sweep()
    yield "sweep"
    with Backend.of(index).changing("changing") as change:
        change.delete(["jane-7"], scope=JANE, reason="test")
        for text in ("first", "second"):
            change.upsert(["jane-8"], [text], scopes=[JANE], vectors=[np.ones(8)], payloads=[None])
        change.erase(JOE, reason="test")
        change.upsert(["joe-1"], ["again"], scopes=[JOE], vectors=[None], payloads=[b"{}"])
    yield "changing"
    index.feedback("jane-9", query="which?", scope=JANE)
    yield "feedback"
    index.collection("side").upsert_many(record(i, JANE) for i in range(9))
    index.collection("side").feedback("jane-1", query="at the side?", scope=JANE)
    yield "collection"
    residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
    for partition in residency.resident():
        residency.save(partition, wait=True)
    index.upsert("jane-10", "after the image", scope=JANE)
    yield "images"
    index.admin.compact()
    yield "compact"
    index.delete("jane-9", scope=JANE)
    yield "delete with notes"
    index.admin.reembed(
        Function(lambda texts: [[len(text), 1.0, 2.0] for text in texts], dim=3, name="new"), progress=False
    )
    yield "reembed"
    index.erase(JANE, everywhere=True)
    yield "erase"
    index.upsert("back", "again", scope=JANE)
    yield "again"
    index.admin.drop_collection("side")
    yield "drop"


def test_digests_stay_right_whatever_is_written_to_a_database(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_postgres(monkeypatch)
    with opened(path) as index, opened(path) as elsewhere:
        for step in everything(index):
            assert index.admin.check().problems == [], step
            assert found(elsewhere, JANE) == found(index, JANE), step
            assert elsewhere.admin.check().problems == [], step
            with opened(path, encryption="strict") as fresh:
                assert fresh.admin.check().problems == [], step
                for scope in (JANE, JOE, PLAIN):
                    assert found(fresh, scope) == found(index, scope), step
                for name in fresh.admin.collections():
                    assert fresh.collection(name).admin.check().problems == [], step


def test_digests_stay_right_whatever_is_written(path: Path, tmp_path: Path) -> None:
    with opened(path) as index, opened(path) as elsewhere:
        for n, step in enumerate(everything(index)):
            assert index.admin.check().problems == [], step
            assert found(elsewhere, JANE) == found(index, JANE), step  # which notices a new model
            assert elsewhere.admin.check().problems == [], step
            index.admin.backup(tmp_path / f"{n}")
            with opened(tmp_path / f"{n}", encryption="strict") as copy:
                assert copy.admin.check().problems == [], step
                for scope in (JANE, JOE, PLAIN):
                    assert found(copy, scope) == found(index, scope), step
                for name in copy.admin.collections():
                    assert copy.collection(name).admin.check().problems == [], step


@pytest.mark.parametrize("store", ["file", "postgres"])
def test_digests_follow_a_new_key_and_an_import(
    path: Path, tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store == "postgres":
        use_postgres(monkeypatch)
    fill(path)
    new = {"acme": b"n" * 32}.get
    with Index.open(path, keys=new) as index:
        index.admin.rotate_key("acme", b"k" * 32)
        index.upsert("after", "oak", scope=JANE)
        assert index.admin.check().problems == []
        index.admin.export(tmp_path / "export")
    with Index.open(tmp_path / "other", keys=new) as index:
        index.admin.import_(tmp_path / "export")
        assert index.admin.check().problems == []
        assert "after" in found(index, JANE)


# ---------------------------------------------------------------------- encryption does not depend on an import


@contextmanager
def memory_file(path: Path) -> Iterator[Path]:
    from scrubjay import FactCandidate, Memory

    with Memory.open(path) as memory:
        memory.propose(
            FactCandidate("Jane's door code is 4711-XYZZY", "Jane", "door code"), scope=JANE, source="r"
        )
        memory.prefer("tone", "Secretly likes PLUGHPLUGH.", scope=JANE)
        memory.index.feedback("nothing", query="x", scope=JANE)
    yield path


ENCRYPT = """
import sys
from scrubjay import Index
{first}
with Index.open(sys.argv[1], keys=lambda tenant: b"k" * 32) as index:
    print(index.admin.encrypt("acme"))
    index.admin.compact()
    assert index.admin.check().problems == [], index.admin.check().problems
    assert index.admin.verify_erased(["door code is 4711-XYZZY", "Secretly likes PLUGHPLUGH."]).clean
assert ("scrubjay.memory" in sys.modules) == {imported}
"""


def run(program: str, path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("imported", [True, False])
def test_encrypt_seals_memory_whether_or_not_it_was_imported(path: Path, imported: bool) -> None:
    from scrubjay import Memory

    with memory_file(path):
        pass
    run(ENCRYPT.format(first="import scrubjay.memory" if imported else "", imported=imported), path)
    for file in path.parent.iterdir():
        assert b"4711-XYZZY" not in file.read_bytes(), file
        assert b"PLUGHPLUGH" not in file.read_bytes(), file
    with Memory.open(path, keys=keys) as memory:
        assert [one.text for one in memory.known(JANE).preferences] == ["Secretly likes PLUGHPLUGH."]
        assert memory.recall("door code", JANE).texts == ["Jane's door code is 4711-XYZZY"]
        assert len(memory.list(JANE)) == 2
        again = memory.propose("Jane's door code is 4711-XYZZY", scope=JANE, source="r2")
        assert again.status == "deduplicated"
        assert memory.admin.check() == memory.index.admin.check().problems == []


WRITE = """
import sys
from scrubjay import Index, Scope, EncryptionError
{first}
with Index.open(sys.argv[1], keys=lambda tenant: b"k" * 32, encryption=sys.argv[2]) as index:
    try:
        index.upsert("x", "unrelated", scope=Scope("acme", user="joe"))
        assert sys.argv[2] == "mixed"
    except EncryptionError as error:
        assert sys.argv[2] == "sealed" and "index.admin.encrypt('acme')" in str(error), error
        assert index.admin.encrypted_tenants() == []
"""


@pytest.mark.parametrize("imported", [True, False])
@pytest.mark.parametrize("mode", ["sealed", "mixed"])
def test_a_write_beside_plain_memory_never_says_that_all_is_sealed(
    path: Path, imported: bool, mode: str
) -> None:
    from scrubjay import Memory

    with Memory.open(path) as memory:
        memory.prefer("tone", "Answer briefly.", scope=JANE)
    program = WRITE.format(first="import scrubjay.memory" if imported else "")
    run(program.replace("sys.argv[2]", repr(mode)), path)
    with Memory.open(path, keys=keys, encryption=mode) as memory:
        if mode == "sealed":
            with pytest.raises(EncryptionError, match=r"index\.admin\.encrypt\('acme'\)"):
                memory.known(JANE)
            memory.index.admin.encrypt("acme")
        assert [one.text for one in memory.known(JANE).preferences] == ["Answer briefly."]
        assert memory.index.admin.check().problems == []


def flip(statement: str) -> Callable[[Path], None]:
    """Change memory's rows bypassing the rules of its schema."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("ATTACH ? AS old", (str(path.with_name("old")),))
            assert connection.execute(statement).rowcount > 0
            connection.commit()

    return change


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM memory_fact",
        "INSERT INTO memory_preference SELECT * FROM old.memory_preference",
        "UPDATE memory_fact SET status = 'active' WHERE status = 'revoked'",
        "DELETE FROM memory_event WHERE seq = 2",
        "DELETE FROM memory_rejection",
        "UPDATE memory_event SET turn = 7",
        "DELETE FROM memory_observation",
        "DELETE FROM table_digest",
    ],
)
def test_rows_of_memory_that_were_put_back_or_taken_out_are_reported(path: Path, statement: str) -> None:
    from scrubjay import FactCandidate, Memory

    with Memory.open(path, keys=keys) as memory:
        memory.prefer("tone", "Answer briefly.", scope=JANE)
        with memory.session(JANE, "chat") as session:
            session.user("one")
            session.user("two")
        for text in ("a boat", "a house"):
            memory.propose(text, scope=JANE, source="r", confidence=1) if False else None
            fact = memory.propose(FactCandidate(text), scope=JANE, source="r")
        memory.propose(FactCandidate("acme has a dog", "acme", "has"), scope=ACME, source="r1")
        memory.propose(FactCandidate("perhaps", confidence=0.1), scope=JANE, source="r")
        memory.revoke(str(fact.id), reason="sold", scope=JANE)
    copied(path)
    with Memory.open(path, keys=keys) as memory:
        (preference,) = memory.known(JANE).preferences
        memory.delete(preference.id, scope=JANE)
        assert memory.index.admin.check().problems == []
    flip(statement)(path)
    with Memory.open(path, keys=keys) as memory:
        assert any("digest" in problem for problem in memory.index.admin.check().problems)
        memory.index.admin.encrypt("acme", accept=True)
        assert memory.index.admin.check().problems == []


def test_a_file_that_says_an_older_format_than_it_has_is_corrupt(tmp_path: Path) -> None:
    """A file's digests cannot be removed by lowering its format."""
    path = tmp_path / "index"
    Index.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(CorruptIndexError, match="user_version: 2"):
        Index.open(path)
