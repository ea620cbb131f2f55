"""Each user has their own key, erasing destroys it, and no earlier copy is readable then."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from scrubjay import (
    Admin,
    CorruptIndexError,
    EncryptionError,
    Index,
    KeyErasedError,
    Memory,
    Query,
    Scope,
    StoreError,
)
from scrubjay.backend import Backend
from scrubjay.keystores import KeyDatabase, KeyFolder, KeyStore, UserKeys
from scrubjay.memory import FactCandidate
from scrubjay.memory.exchange import dump
from scrubjay.store.keys import encryption
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.sealing import SEALED_TEXT, SealedText
from scrubjay.store.rows.sealed import is_sealed, sealed_by
from scrubjay.store.sqlite.transaction import Transaction
from tests.data.postgres import Cluster, new_cluster, new_url
from tests.data.stores import database_of, superuser_rows, use_postgres
from tests.memory.test_memory_encryption import WRITES, write_notes

pytest.importorskip("cryptography")

ACME, JANE, BOB = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="bob")
JANES_BOT = Scope("acme", user="jane", agent="bot")
CODE = "The door code is 4711-0815."


class Halves:
    """A key store in memory, which can fail, and records what happened."""

    def __init__(self) -> None:
        self.keys: dict[bytes, bytes] = {}
        self.gone: dict[bytes, datetime] = {}
        self.is_down = False

    def _check(self) -> None:
        if self.is_down:
            raise TimeoutError("the key store does not answer")

    def put(self, id: bytes, key: bytes) -> None:
        self._check()
        if id in self.keys or id in self.gone:
            raise FileExistsError(id.hex())
        self.keys[id] = key

    def get(self, id: bytes) -> bytes | None:
        self._check()
        if id in self.gone:
            raise KeyErasedError(id.hex())
        return self.keys.get(id)

    def destroy(self, id: bytes) -> None:
        self._check()
        self.keys.pop(id, None)
        self.gone.setdefault(id, datetime.now(timezone.utc))

    def destroyed_at(self, id: bytes) -> datetime | None:
        self._check()
        return self.gone.get(id)


class Vault(UserKeys):
    """A key manager for tenants, all encrypted except "globex", with a key store for their users."""

    def __init__(self) -> None:
        self.halves = Halves()
        self.masters: dict[str, bytes] = {}
        super().__init__(self._master, self.halves)

    def _master(self, tenant: str) -> bytes | None:
        return None if tenant == "globex" else self.masters.setdefault(tenant, os.urandom(32))

    def without_users(self) -> Callable[[str], bytes | None]:
        return self._master


pytestmark = pytest.mark.usefixtures("no_key_cache")


@pytest.fixture(params=["file", "postgres"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    if request.param == "postgres":
        use_postgres(monkeypatch)
    return tmp_path / "memories.scrubjay"


@pytest.fixture
def vault() -> Vault:
    return Vault()


def rows(path: Path, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return what an attacker at the file or the server reads; `{sj}` is the prefix of tables, `{user}` the column."""
    url = database_of(path)
    if url is not None:
        return superuser_rows(url, query.format(sj="sj_", user="usr").replace("?", "%s"), *parameters)
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(query.format(sj="", user="user"), parameters).fetchall()


def fill(index: Index) -> None:
    for scope in (ACME, JANE, BOB, JANES_BOT):
        index.upsert("m", CODE, scope=scope, metadata={"of": scope.user or "all"})


def texts_of_scope(index: Index, scope: Scope) -> list[str]:
    """Return the texts of exactly a scope, by every way to read them."""
    listed = [one.text for one in index.list(scope) if one.scope == scope]
    found = [hit.text for hit in index.search("door", scope=scope, k=100) if hit.scope == scope]
    got = index.get("m", scope=scope)
    assert sorted(listed) == sorted(found)
    assert (got is not None and got.scope == scope) == (
        "m" in [one.id for one in index.list(scope) if one.scope == scope]
    )
    return listed


def jane_is_as_if_erased(index: Index) -> None:
    assert texts_of_scope(index, JANE) == texts_of_scope(index, JANES_BOT) == []
    assert texts_of_scope(index, ACME) == texts_of_scope(index, BOB) == [CODE]
    assert (
        index.count(JANE) == len(index.search("door", scope=JANE)) == len(index.list(JANE)) == 1
    )  # the tenant's
    with pytest.raises(KeyErasedError, match=r"key of user 'jane' of tenant 'acme' was destroyed; erase\("):
        index.upsert("n", CODE, scope=JANE)


# ---------------------------------------------------------------------- one key a user


def test_each_user_has_a_key_and_the_tenant_its_own(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.admin.compact()
        for scope in (ACME, JANE, BOB, JANES_BOT):
            assert texts_of_scope(index, scope) == [CODE]
        assert not index.admin.check().problems
    assert len(vault.halves.keys) == 2  # jane's and bob's
    heads = rows(path, "SELECT DISTINCT substr(text, 1, 10) FROM {sj}document")
    assert len(heads) == 3
    (data_key,) = rows(
        path, "SELECT key_id FROM {sj}home" if database_of(path) else "SELECT id FROM data_key"
    )[0]
    assert {bytes(head)[2:] for (head,) in heads} == {bytes(data_key), *vault.halves.keys}


def test_a_key_that_is_destroyed_takes_its_user_and_nobody_else(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.admin.compact()
        ((id,),) = rows(path, "SELECT id FROM {sj}user_key WHERE {user} = 'jane'")
        assert texts_of_scope(index, JANE) == [CODE]
        vault.halves.destroy(bytes(id))
        jane_is_as_if_erased(index)  # what was in memory, too
    with Index.open(path, keys=vault) as index:
        jane_is_as_if_erased(index)
        assert not index.admin.check().problems
        assert index.erase(JANE) == 2
        index.upsert("m", CODE, scope=JANE)
        assert texts_of_scope(index, JANE) == [CODE]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_user_who_returns_can_be_erased_again(path: Path, vault: Vault, elsewhere: bool) -> None:
    """Even a scope that had no data before, and resident data of a process while another one writes."""
    with Index.open(path, keys=vault) as index, Index.open(path, keys=vault) as other:
        fill(index)
        index.erase(JANES_BOT, exact=True)
        for _ in range(2):
            ((id,),) = rows(path, "SELECT id FROM {sj}user_key WHERE {user} = 'jane'")
            vault.halves.destroy(bytes(id))
            for one in (index, other):
                for scope in (JANE, JANES_BOT):
                    assert texts_of_scope(one, scope) == []
            (other if elsewhere else index).erase(JANE)
            for scope in (JANE, JANES_BOT):
                (other if elsewhere else index).upsert("m", CODE, scope=scope)
            for one in (index, other):
                for scope in (JANE, JANES_BOT):
                    assert texts_of_scope(one, scope) == [CODE]


def test_a_destroyed_key_hides_its_user_in_every_verb(path: Path, vault: Vault, tmp_path: Path) -> None:
    with Index.open(path, keys=vault) as index:
        for scope in (ACME, JANE, BOB):
            for n in range(12):
                index.upsert(
                    f"{scope.user}-{n}",
                    f"oak number {n}",
                    scope=scope,
                    vector=np.eye(8)[n % 8],
                    metadata={"n": n},
                )
        index.feedback("jane-1", True, "which oak?", scope=JANE)
        index.feedback("bob-1", True, "which oak?", scope=BOB)
        backend = Backend.of(index)
        before, shared = backend.generation(JANE), backend.engine.shared_generation(JANE)
        assert len(index.search("oak", scope=JANE, k=100)) == 24
        ((id,),) = rows(path, "SELECT id FROM {sj}user_key WHERE {user} = 'jane'")
        vault.halves.destroy(bytes(id))
        assert len(index.search("oak", scope=JANE, k=100)) == 12  # the tenant's
        assert backend.generation(JANE) != before and backend.engine.shared_generation(JANE) != shared
        hits = index.search("oak", vector=np.ones(8), scope=JANE, k=100, query=Query(mode="vector"))
        assert {hit.scope for hit in hits} == {ACME}
        assert [len(hits) for hits in index.search_batch(["oak", "oak"], scope=[JANE, BOB], k=100)] == [
            12,
            24,
        ]
        assert index.get("jane-1", scope=JANE) is None and index.get_many(["jane-1"], scope=JANE) == [None]
        assert index.find("jane-1", within=ACME) == []
        assert backend.hits_of([(JANE, "jane-1")], JANE) is None
        assert index.count(JANE) == 12 and index.count(JANE, filter={"n": 3}) == 1
        assert index.admin.warm(JANE) == 12
        assert len(backend.engine.find_substring("oak", scope=JANE, k=100)) == 12
        assert len(index.list(JANE)) == len(index.scroll(scope=JANE).records) == 12
        assert sum(index.values("n", scope=JANE).values()) == 12
        assert [note.scope for note in index.admin.feedbacks(ACME)] == [BOB]
        assert not index.feedback("None-1", True, "mine?", scope=JANE)
        assert index.patch("jane-1", metadata={"n": 1}, scope=JANE) is None
        with pytest.raises(KeyErasedError):
            index.upsert_many([{"id": "x", "text": "oak", "scope": one} for one in (BOB, JANE)])
        assert index.get("x", scope=BOB) is None
        assert index.delete("jane-1", scope=JANE)  # what is there can be removed and cared for
        index.admin.compact()
        assert index.admin.export(tmp_path / "export") == 24
        report = index.admin.check()
        assert (report.problems, report.sealed) == ([], 1)
        assert index.erase(JANE) == 11
        index.admin.compact()
        assert index.admin.check().problems == [] and len(index.search("oak", scope=BOB, k=100)) == 24


def test_erasing_a_user_destroys_the_key(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        assert index.erase(JANE, exact=True) == 1
        assert not vault.halves.gone  # the agent's memories need it
        index.collection("notes").upsert("n", CODE, scope=JANE)
        assert index.erase(JANE) == 1
        assert not vault.halves.gone  # and those of another collection
        before = datetime.now(timezone.utc) - timedelta(seconds=5)
        assert index.erase(JANE, everywhere=True) == 1
        assert len(vault.halves.gone) == 1 and len(vault.halves.keys) == 1
        report = index.admin.verify_erased(scope=JANE)
        (key,) = report.keys
        assert report.clean and key.whole and key.destroyed_at is not None and key.destroyed_at > before
        assert report.proofs == (f"key {key.id} destroyed at {key.destroyed_at:%Y-%m-%dT%H:%M:%SZ}",)
        assert index.admin.verify_erased([CODE + "!"], scope=JANE).proofs[1] in (
            "bytes absent",
            "rows absent",
        )
        assert not index.admin.verify_erased(scope=BOB).clean
        index.upsert("m", CODE, scope=JANE)  # comes back, with another key
        assert texts_of_scope(index, JANE) == [CODE]
        assert [key.destroyed_at is None for key in index.admin.verify_erased(scope=JANE).keys] == [
            False,
            True,
        ]
        assert not index.admin.check().problems


def test_a_tenant_that_is_erased_takes_the_keys_of_its_users(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.upsert("m", CODE, scope=Scope("initech", user="ann"))
        assert index.erase(ACME) == 4
        assert len(vault.halves.gone) == 2 and len(vault.halves.keys) == 1
        assert rows(path, "SELECT count(*) FROM {sj}user_key") == [(1,)]
        assert texts_of_scope(index, Scope("initech", user="ann")) == [CODE]


def test_names_that_are_erased_are_in_no_row_of_a_key(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        index.upsert("m", CODE, scope=Scope("acme", user="rumpelstilz"))
        index.upsert("m", CODE, scope=BOB)
        index.erase(Scope("acme", user="rumpelstilz"), names=True)
        index.admin.compact()
        assert index.admin.verify_erased(names=["rumpelstilz"]).clean
        index.erase(Scope("acme"), names=True)
        index.admin.compact()
        assert rows(path, "SELECT count(*) FROM {sj}user_key") == [(0,)]
        assert len(vault.halves.gone) == 2 and not vault.halves.keys


def test_another_process_sees_that_a_key_is_gone_and_makes_another(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index, Index.open(path, keys=vault) as other:
        fill(index)
        assert texts_of_scope(other, JANE) == [CODE]
        index.erase(JANE)
        assert texts_of_scope(other, JANE) == []
        other.upsert("m", CODE, scope=JANE)  # what it knows of the old key must not seal it
        assert texts_of_scope(index, JANE) == texts_of_scope(other, JANE) == [CODE]
        assert len(vault.halves.keys) == 2 and len(vault.halves.gone) == 1


# ---------------------------------------------------------------------- memory


def sealed_by_whom(path: Path) -> dict[tuple[str, str], set[bytes]]:
    """(table, owner) -> the keys of the encrypted cells in the table, from every row of every table."""
    url = database_of(path)
    if url is not None:
        names = [
            n
            for (n,) in superuser_rows(
                url,
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'sj\\_%'",
            )
        ]
    else:
        names = [n for (n,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[tuple[str, str], set[bytes]] = {}
    for name in names:
        if name in (
            "data_key",
            "user_key",
            "sj_user_key",
            "sj_home",
            "table_digest",
            "sj_digest",
            "sqlite_sequence",
        ):
            continue
        for row in _dicts(path, name):
            row.pop("digest", None)  # of a scope: contains no content
            keys = {key for key in map(_key_of, row.values()) if key is not None}
            if keys:
                found.setdefault((name, _user_of(path, name, row)), set()).update(keys)
    return found


def _dicts(path: Path, table: str) -> list[dict[str, Any]]:
    url = database_of(path)
    if url is None:
        columns = [one[1] for one in rows(path, f"PRAGMA table_info({table})")]
    else:
        columns = [
            one
            for (one,) in superuser_rows(
                url,
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
                "ORDER BY attnum",
                table,
            )
        ]
    return [dict(zip(columns, row, strict=True)) for row in rows(path, f"SELECT * FROM {table}")]


def _key_of(value: Any) -> bytes | None:
    if isinstance(value, str) and value.startswith(SEALED_TEXT):
        value = SealedText.from_text(value)
    return sealed_by(value) if isinstance(value, (bytes, memoryview)) and is_sealed(value) else None


def _user_of(path: Path, table: str, row: dict[str, Any]) -> str:
    for column in ("user", "usr"):
        if column in row:
            return str(row[column])
    if "event" in table:
        (found,) = rows(path, "SELECT {user} FROM {sj}memory_run WHERE key = ?", row["run"])[0]
        return str(found)
    url = database_of(path)
    if url is not None:
        if "collection" not in row:
            return ""
        names = superuser_rows(
            url,
            "SELECT usr FROM sj_scope WHERE collection = %s AND key = %s",
            row["collection"],
            row["scope"],
        )
    elif "scope" in row:
        suffix = table.removeprefix("document").removeprefix("image").removeprefix("tombstone")
        names = rows(path, f"SELECT user FROM scope{suffix} WHERE key = ?", row["scope"])
    elif table.startswith(("vector", "staged")):
        suffix = table.removeprefix("staged_").removeprefix("vector")
        names = rows(
            path,
            f"SELECT s.user FROM scope{suffix} s JOIN document{suffix} d ON d.scope = s.key WHERE d.seq = ?",
            row["seq"],
        )
    else:
        return ""
    return str(names[0][0])


def test_everything_that_memory_keeps_of_a_user_is_sealed_with_the_key(path: Path, vault: Vault) -> None:
    n = 0

    def violet() -> str:
        nonlocal n
        n += 1
        return f"violet{n:04}"

    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        for write in WRITES:
            if write is not write_notes:  # which asks for a file
                write(memory, violet)
        plain = documents.collection("plain")
        for scope in (ACME, JANE):
            plain.upsert("m", CODE, scope=scope, vector=[1.0, 0.0])
        assert plain.feedback(plain.search("door", scope=JANE, k=1)[0], True, "door?", scope=JANE)
        memory.propose("Bob likes grey.", scope=BOB, source="run-1")
        memory.prefer("colour", "grey", scope=BOB)
        memory.prefer("weight", "kilograms", scope=ACME)
        documents.admin.compact()
        keys = {user: bytes(id) for id, user in rows(path, "SELECT id, {user} FROM {sj}user_key")}
        assert {"jane", "bob"} <= keys.keys()
        seen, url = sealed_by_whom(path), database_of(path)
        assert {table.removeprefix("sj_") for table, whose in seen if whose == "jane"} >= {
            "memory_preference",
            "memory_fact",
            "memory_episode",
            "memory_rejection",
            "memory_event",
            "memory_log",
            "feedback" if url else "feedback_2",
        }
        tenants = set().union(*(ids for (_, whose), ids in seen.items() if not whose))
        assert len(tenants) == 1 and not tenants & set(keys.values())
        for (table, whose), ids in seen.items():
            assert ids == ({keys[whose]} if whose else tenants), (table, whose)

        vault.halves.destroy(keys["jane"])
        assert memory.list(JANE) == [] or {one.scope for one in memory.list(JANE)} == {ACME}
        assert not [
            hit
            for hit in memory.recall("violet0001", scope=JANE)
            if "violet" in hit.text and hit.scope != ACME
        ]
        assert memory.session(JANE, "chat").events() == []
        assert memory.rejections(JANE) == [] and memory.runs(JANE) == []
        assert [one.key for one in memory.known(JANE).preferences] == ["weight"]  # the tenant's
        assert len(memory.list(BOB)) >= 2
        exported = path.with_name("export.jsonl")
        memory.files.export(exported, scope=ACME)
        assert "Answer violet" not in exported.read_text() and "grey" in exported.read_text()
        assert all(
            "violet" not in (one.detail or "") for one in memory.feed.changes(scope=JANE) if one.scope == JANE
        )
        with pytest.raises(KeyErasedError):
            memory.prefer("colour", "red", scope=JANE)
        assert memory.forget(JANE).counts["preference"] > 0
        proof = memory.admin.verify_erased(JANE)
        assert proof.clean and "rows absent" in proof.proofs and len(proof.keys) == 1
        memory.prefer("colour", "red", scope=JANE)
        assert [one.key for one in memory.known(JANE).preferences] == ["colour", "weight"]
        assert memory.admin.check() == [] and not documents.admin.check().problems


def test_a_memory_that_forgets_a_user_destroys_the_key(path: Path, vault: Vault) -> None:
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        memory.propose(CODE, scope=JANE, source="run-1")
        memory.prefer("drink", "tea", scope=JANE)
        with memory.session(JANE, "run-1") as session:
            session.user("Hello")
        plain = documents.collection("notes")
        plain.upsert("n", CODE, scope=JANE)
        plain.erase(JANE)
        assert not vault.halves.gone  # what memory keeps needs it
        memory.forget(JANE)
        assert len(vault.halves.gone) == 1
        assert memory.admin.verify_erased(JANE).clean


def test_a_record_that_an_import_leaves_out_takes_no_key_along(
    path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rolling back the savepoint also undoes the key that it created: later writes of the user get another one."""
    exported = path.with_name("export.jsonl")
    with Index.open(path.with_name("from"), collection="memory") as documents, Memory(documents) as memory:
        for text in ("Jane sails", "Jane rows", "Jane swims"):
            memory.propose(text, scope=JANE, source="run-1")
        memory.files.export(exported, scope=ACME)
    insert, calls = dump.insert, []

    def refused_once(connection: Any, table: str, row: Any) -> None:
        insert(connection, table, row)
        calls.append(table)
        if len(calls) == 1:
            raise sqlite3.IntegrityError("refused")

    monkeypatch.setattr(dump, "insert", refused_once)
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        done = memory.files.import_(exported, scope=ACME)
        assert done.written["fact"] == 2 and len(calls) == 3
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        assert len(memory.list(JANE)) == 2 and memory.admin.check() == []
        memory.forget(JANE)
        assert memory.admin.verify_erased(JANE).clean


def test_a_transaction_reads_what_it_sealed_with_a_key_that_it_made(path: Path, vault: Vault) -> None:
    facts = [FactCandidate(f"Jane lives in {town}", "Jane", "lives in") for town in ("Oslo", "Rome")]
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        done = memory.propose_all([(fact, JANE, "run-1") for fact in facts])
        assert [one.status for one in done] == ["written", "superseded"]
        assert len(memory.recall("Rome", scope=JANE)) == 1


# ---------------------------------------------------------------------- failures


def test_a_key_store_that_is_away_is_told_and_the_next_opening_finishes(path: Path, vault: Vault) -> None:
    """As after a crash between the commit that removes the rows and the destruction of the key."""
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.erase(JANES_BOT, exact=True)
        ((id,),) = rows(path, "SELECT id FROM {sj}user_key WHERE {user} = 'jane'")
        vault.halves.destroy = _down  # type: ignore[method-assign]
        with pytest.raises(EncryptionError, match="failed to destroy the user's key"):
            index.erase(JANE)
        assert rows(path, "SELECT {user}, dead FROM {sj}user_key WHERE id = ?", id) == [("", 1)]
        assert not index.admin.verify_erased(scope=JANE).clean
        assert texts_of_scope(index, JANE) == []
        index.upsert("m", CODE, scope=JANE)  # with another key
    with Index.open(path, keys=vault) as index:  # it is away still
        assert texts_of_scope(index, JANE) == [CODE] and not vault.halves.gone
    del vault.halves.destroy
    with Index.open(path, keys=vault, read_only=True):
        assert not vault.halves.gone
    with Index.open(path, keys=vault) as index:
        assert list(vault.halves.gone) == [bytes(id)]
        assert rows(path, "SELECT dead FROM {sj}user_key WHERE id = ?", id) == [(2,)]
        assert texts_of_scope(index, JANE) == [CODE]
        assert index.erase(JANE) == 1 and len(vault.halves.gone) == 2
        assert index.admin.verify_erased(scope=JANE).clean


def _down(_: bytes) -> None:
    raise TimeoutError("the key store does not answer")


def test_a_crash_after_the_commit_leaves_what_the_next_opening_does(
    path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    def crash(*_: object) -> None:
        raise Crash

    with Index.open(path, keys=vault) as index:
        fill(index)
        with monkeypatch.context() as context:
            context.setattr(encryption.KeyRing, "destroy_users", crash)
            with pytest.raises(Crash):
                index.erase(JANE)
        assert not vault.halves.gone
    with Index.open(path, keys=vault) as index:
        assert (
            len(vault.halves.gone) == 1
            and texts_of_scope(index, JANE) == []
            and texts_of_scope(index, BOB) == [CODE]
        )


_WRITER = """
import sys
from scrubjay import Index, Scope
from scrubjay.keystores import KeyFolder, UserKeys
with Index.open(sys.argv[1], keys=UserKeys(lambda tenant: b"k" * 32, KeyFolder(sys.argv[2]))) as index:
    for n in range(10**6):
        scope = Scope("acme", f"u{n % 4}")
        index.upsert("a", "The door code.", scope=scope)
        index.upsert("b", "The door code.", scope=scope)
        print("there", scope.user, flush=True)
        index.erase(scope)
        print("gone", scope.user, flush=True)
"""


def test_a_process_that_is_killed_leaves_a_user_whole_or_gone_with_the_key(
    path: Path, tmp_path: Path
) -> None:
    random = Random(7)
    folder = tmp_path / "keys"
    keys = UserKeys(lambda tenant: b"k" * 32, KeyFolder(folder))
    with Index.open(path, keys=keys):
        pass
    n_lines = n_orphans = 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(database_of(path) or path), str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        said = [child.stdout.readline()]
        time.sleep(random.uniform(0.05, 0.5))
        child.kill()
        said += child.stdout.readlines()
        child.wait()
        last = {line.split()[1]: line.split()[0] for line in said if line.endswith("\n")}
        n_lines += len(said)
        with Index.open(path, keys=keys) as index:
            assert rows(path, "SELECT count(*) FROM {sj}user_key WHERE dead = 1") == [(0,)]
            living = {bytes(id).hex() for (id,) in rows(path, "SELECT id FROM {sj}user_key WHERE dead = 0")}
            files = {file.name: file for file in folder.rglob("*") if file.is_file()}
            halves = {name for name in files if "." not in name}
            assert living <= halves
            n_orphans = len(halves - living)  # created, and not committed
            dead = {bytes(id).hex() for (id,) in rows(path, "SELECT id FROM {sj}user_key WHERE dead = 2")}
            assert all(f"{id}.destroyed" in files and id not in files for id in dead)
            for n in range(4):
                scope = Scope("acme", f"u{n}")
                texts = [one.text for one in index.list(scope)]
                assert len(texts) <= 2 and len(index.search("door", scope=scope)) == len(texts)
                if scope.user in last and scope.user != f"u{(len(said) // 2) % 4}":  # not in flight
                    assert last[scope.user] == "gone" and texts == []
                index.erase(scope)
            assert not index.admin.check().problems
    assert n_lines > 12 and n_orphans <= 6


def test_an_erasure_that_is_not_committed_destroys_no_key(
    path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with Index.open(path, keys=vault) as index:
        fill(index)
        with monkeypatch.context() as context:
            context.setattr(Transaction, "commit", fail)
            context.setattr(Batch, "commit", fail)
            with pytest.raises(StoreError, match="the disk is full"):
                index.erase(JANE)
            with pytest.raises(StoreError, match="the disk is full"):
                index.upsert("m", CODE, scope=Scope("acme", user="carl"))
        assert not vault.halves.gone
        assert texts_of_scope(index, JANE) == texts_of_scope(index, JANES_BOT) == [CODE]
        index.upsert("m", CODE, scope=Scope("acme", user="carl"))
        assert texts_of_scope(index, Scope("acme", user="carl")) == [CODE]


def test_a_key_store_that_is_away_or_another_one_never_looks_like_an_erasure(
    path: Path, vault: Vault
) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        vault.halves.is_down = True
        for call in (
            lambda: index.search("door", scope=JANE),
            lambda: index.list(JANE),
            lambda: index.get("m", scope=JANE),
            lambda: index.count(JANE),
            lambda: index.upsert("m", CODE, scope=JANE),
        ):
            with pytest.raises(EncryptionError, match="nothing is lost, try again"):
                call()
        assert texts_of_scope(index, ACME) == [CODE]
        vault.halves.is_down = False
        assert texts_of_scope(index, JANE) == [CODE]
        vault.users = index._collection.family.options["ring"].users = Halves()
        with pytest.raises(EncryptionError, match="is it the store that this index was written with"):
            index.search("door", scope=JANE)


def test_without_the_key_store_users_are_refused_and_the_tenant_is_not(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
    with Index.open(path, keys=vault.without_users()) as index:
        assert texts_of_scope(index, ACME) == [CODE]
        index.upsert("n", CODE, scope=ACME)
        for call in (
            lambda: index.search("door", scope=JANE),
            lambda: index.upsert("m", CODE, scope=JANE),
            lambda: index.upsert(
                "m", CODE, scope=Scope("acme", user="carl")
            ),  # not with the tenant's key alone
        ):
            with pytest.raises(EncryptionError, match=r"keys=UserKeys\(provider, store\)"):
                call()
    with Index.open(path, keys=vault) as index:
        assert texts_of_scope(index, JANE) == [CODE] and index.count(ACME) == 2


def test_keys_that_were_exchanged_are_refused(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
    (((jane, hers), (bob, his))) = rows(path, "SELECT id, half FROM {sj}user_key ORDER BY {user} DESC")
    change = "UPDATE {sj}user_key SET half = ? WHERE id = ?"
    for half, id in ((his, jane), (hers, bob)):
        rows(path, change, half, id)
    with Index.open(path, keys=vault) as index:
        for scope in (JANE, BOB):
            with pytest.raises(CorruptIndexError):
                index.get("m", scope=scope)
            with pytest.raises(CorruptIndexError):
                index.upsert("m", CODE, scope=scope)
    for half, id in ((hers, jane), (his, bob)):
        rows(path, change, half, id)
    rows(path, "UPDATE {sj}user_key SET {user} = '-' WHERE id = ?", jane)  # bob's next values with jane's key
    rows(path, "UPDATE {sj}user_key SET {user} = 'jane' WHERE id = ?", bob)
    with Index.open(path, keys=vault) as index, pytest.raises(CorruptIndexError):
        index.upsert("m", CODE, scope=JANE)


# ---------------------------------------------------------------------- from before there were keys of users


def test_rows_sealed_with_the_tenants_key_stay_readable_and_new_ones_use_the_users(
    path: Path, vault: Vault
) -> None:
    with Index.open(path, keys=vault.without_users()) as index:
        fill(index)
    with Index.open(path, keys=vault) as index:
        assert texts_of_scope(index, JANE) == [CODE]
        index.upsert("n", CODE, scope=JANE)
        index.admin.compact()
        assert texts_of_scope(index, JANE) == [CODE, CODE] and not index.admin.check().problems
        index.erase(JANE)
        (key,) = index.admin.verify_erased(scope=JANE).keys
        assert not key.whole and "copies from before" in str(key)
        index.upsert("m", CODE, scope=JANE)
        assert [key.whole for key in index.admin.verify_erased(scope=JANE).keys] == [False, True]


def test_tables_from_before_there_were_keys_of_users_are_migrated(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault.without_users()) as index:
        fill(index)
    if database_of(path) is not None:
        rows(path, "DROP TABLE sj_user_key")
        rows(path, "ALTER TABLE sj_schema DROP user_homes")
        rows(path, "DROP TABLE sj_cold")
        rows(path, "ALTER TABLE sj_scope DROP cold, DROP used")
        rows(path, "UPDATE sj_schema SET version = 5")
    else:
        assert (
            rows(path, "PRAGMA user_version")[0][0] & 0x800 == 0
        )  # a file gets the table with the first key
    with Index.open(path, keys=vault) as index:
        index.upsert("n", CODE, scope=JANE)
        assert texts_of_scope(index, JANE) == [CODE, CODE] and len(vault.halves.keys) == 1
    if database_of(path) is None:
        assert rows(path, "PRAGMA user_version")[0][0] & 0x800  # which versions that do not know it refuse


def test_a_tenant_that_is_encrypted_gives_its_users_keys(path: Path, vault: Vault) -> None:
    with Index.open(path) as index:
        fill(index)
        index.feedback("m", True, "door?", scope=JANE)
    with Index.open(path, keys=vault) as index:
        assert index.admin.encrypt("acme") == 4
        assert len(vault.halves.keys) == 2
        assert (
            texts_of_scope(index, JANE) == texts_of_scope(index, BOB) == [CODE]
            and not index.admin.check().problems
        )
        assert [note.query for note in index.admin.feedbacks(JANE)] == ["door?"]
        keys = {user: bytes(id) for id, user in rows(path, "SELECT id, {user} FROM {sj}user_key")}
        for (table, whose), ids in sealed_by_whom(path).items():
            assert not whose or ids == {keys[whose]}, table
        assert not index.admin.verify_erased(scope=JANE).keys[0].whole


def test_a_tenants_master_key_is_exchanged_without_its_users(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        old = vault.masters["acme"]
        vault.masters["acme"] = os.urandom(32)
        index.admin.rotate_key("acme", old)
        assert (
            texts_of_scope(index, JANE) == texts_of_scope(index, BOB) == texts_of_scope(index, ACME) == [CODE]
        )
    with Index.open(path, keys=vault) as index:
        assert texts_of_scope(index, JANE) == [CODE]
        index.erase(JANE)
        assert len(vault.halves.gone) == 1


# ---------------------------------------------------------------------- copies from before


def test_a_backup_of_a_file_from_before_opens_for_others_only(tmp_path: Path, vault: Vault) -> None:
    path, before = tmp_path / "m.scrubjay", tmp_path / "before.scrubjay"
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.admin.compact()
        index.admin.backup(before)
        index.erase(JANE)
        index.upsert("m", "Back again.", scope=JANE)  # with another key, which decrypts no old data
    with Index.open(before, keys=vault) as index:
        jane_is_as_if_erased(index)
        index.admin.check()
        index.erase(JANE)
        index.upsert("m", CODE, scope=JANE)
        assert texts_of_scope(index, JANE) == [CODE] and not index.admin.check().problems


@pytest.mark.parametrize("with_users", [True, False])
def test_a_repaired_file_keeps_the_keys_of_users(tmp_path: Path, vault: Vault, with_users: bool) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.upsert("m", "Damaged.", scope=Scope("globex"))
        index.erase(BOB)
    rows(path, "UPDATE document SET text = 7 WHERE id = 'm' AND text = 'Damaged.'")
    report = Admin.repair(path, keys=vault if with_users else vault.without_users())
    assert report.changed and not [one for one in report.left_out if "acme" in one or "user_key" in one]
    with Index.open(path, keys=vault) as index:
        assert texts_of_scope(index, JANE) == [CODE] and index.admin.verify_erased(scope=BOB).clean
        index.erase(JANE)
        assert len(vault.halves.gone) == 2


def test_a_file_that_lost_its_keys_of_users_says_so_and_serves_the_rest(tmp_path: Path, vault: Vault) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path, keys=vault) as index:
        fill(index)
    rows(path, "DROP TABLE user_key")
    with Index.open(path, keys=vault) as index:
        assert texts_of_scope(index, ACME) == [CODE]
        with pytest.raises(CorruptIndexError, match="keys of users cannot be read"):
            index.get("m", scope=JANE)
        with pytest.raises(CorruptIndexError):
            index.upsert("m", CODE, scope=JANE)


def test_a_process_without_the_key_store_erases_and_the_key_goes_later(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
    with Index.open(path, keys=vault.without_users()) as index:
        assert index.erase(JANE) == 2 and not vault.halves.gone
        assert index.admin.verify_erased(scope=JANE).proofs == ()  # unknown
    with Index.open(path, keys=vault) as index:
        assert len(vault.halves.gone) == 1 and index.admin.verify_erased(scope=JANE).clean


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    made = new_cluster()
    if isinstance(made, str):
        pytest.skip(made)
    yield made
    made.remove()


def test_a_base_backup_of_a_server_from_before_opens_for_others_only(
    server: Cluster, vault: Vault, tmp_path: Path
) -> None:
    """`pg_basebackup` with the write-ahead log, a user forgotten, the backup started: no data of the user is readable,
    with the tenant's key at hand; other users' are. The keys of users are in another cluster's database."""
    other = new_cluster()
    assert not isinstance(other, str)
    url, halves = new_url(server.url), KeyDatabase(new_url(other.url))
    keys = UserKeys(vault.without_users(), halves)
    try:
        with (
            Index.open(url, collection="memory", keys=keys, max_stale=0) as documents,
            Memory(documents) as memory,
        ):
            memory.propose(CODE, scope=JANE, source="run-1")
            memory.prefer("drink", "ultramarine", scope=JANE)
            with memory.session(JANE, "chat") as session:
                session.user("I like ultramarine.")
            memory.propose("The plain code is 1234-5678.", scope=BOB, source="run-2")
            memory.prefer("drink", "cobalt", scope=ACME)
            documents.admin.compact()  # images as well
            backup = server.base_backup()
            memory.forget(JANE)
            assert {one.scope for one in memory.list(JANE)} == {ACME} and len(memory.list(BOB)) == 2
            proof = memory.admin.verify_erased(JANE)
            assert proof.clean and proof.keys[0].destroyed_at is not None
        server.stop()
        files = [file.read_bytes() for file in backup.rglob("*") if file.is_file()]
        assert not any(
            word in file for file in files for word in (b"4711-0815", b"ultramarine", b"1234-5678")
        )
        server.restore(backup)
        with (
            Index.open(url, collection="memory", keys=keys, max_stale=0) as documents,
            Memory(documents) as memory,
        ):
            assert (
                len(memory.list(BOB)) == 2 and len(memory.recall("code", scope=BOB)) == 1
            )  # it is the backup
            assert [one.text for one in memory.known(JANE).preferences] == ["cobalt"]  # the tenant's
            assert {one.scope for one in memory.list(JANE)} == {ACME}
            assert len(memory.recall("code", scope=JANE)) == 0
            assert memory.session(JANE, "chat").events() == [] and memory.runs(JANE) == []
            assert documents.count(JANE) == 0 and len(documents.search("code", scope=JANE)) == 0
            with pytest.raises(KeyErasedError):
                memory.propose(CODE, scope=JANE, source="run-1")
            sealed = superuser_rows(
                url,
                "SELECT count(*) FROM sj_document d JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection "
                "AND s.key = d.scope WHERE s.usr = 'jane'",
            )
            assert sealed[0][0] > 0  # jane's rows exist, and stay unreadable
            memory.forget(JANE)  # deletes them from the backup, too
            memory.propose(CODE, scope=JANE, source="run-1")
            assert len(memory.list(JANE)) >= 1 and memory.admin.check() == []
    finally:
        halves.close()
        other.remove()


# ---------------------------------------------------------------------- key stores


@pytest.fixture(params=["folder", "database", "memory"])
def key_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyStore]:
    if request.param == "folder":
        yield KeyFolder(tmp_path / "keys")
    elif request.param == "memory":
        yield Halves()
    else:
        made = KeyDatabase(new_url())
        yield made
        made.close()


def test_a_key_store_keeps_and_destroys(key_store: KeyStore) -> None:
    id, other, key = b"\x00\xff345678", b"\x00\xff345679", bytes(range(32))
    assert key_store.get(id) is None and key_store.destroyed_at(id) is None
    key_store.put(id, key)
    key_store.put(other, key[::-1])
    assert key_store.get(id) == key
    with pytest.raises(FileExistsError):
        key_store.put(id, key)
    start = datetime.now(timezone.utc)
    key_store.destroy(id)
    at = key_store.destroyed_at(id)
    assert at is not None and abs(at - start) < timedelta(seconds=5)
    with pytest.raises(KeyErasedError):
        key_store.get(id)
    with pytest.raises(FileExistsError):
        key_store.put(id, key)
    key_store.destroy(id)
    assert key_store.destroyed_at(id) == at
    assert key_store.get(other) == key[::-1] and key_store.destroyed_at(other) is None
    key_store.destroy(b"never666")  # in a backup of the keys that is older than the key
    with pytest.raises(KeyErasedError):
        key_store.get(b"never666")


def test_a_folder_of_keys_is_its_owners_and_keeps_nothing_of_a_destroyed_one(tmp_path: Path) -> None:
    store = KeyFolder(tmp_path / "keys")
    store.put(b"12345678", b"\xab" * 32)
    (file,) = [file for file in (tmp_path / "keys").rglob("*") if file.is_file()]
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    link = tmp_path / "link"
    os.link(file, link)
    store.destroy(b"12345678")
    assert link.read_bytes() == bytes(32)  # overwritten, and not only unlinked
    (note,) = [file for file in (tmp_path / "keys").rglob("*") if file.is_file()]
    assert b"\xab" not in note.read_bytes()
    note.write_bytes(b"")  # a crash before it was written
    assert store.destroyed_at(b"12345678") is not None


def test_a_key_database_that_does_not_answer_is_an_error_of_encryption(tmp_path: Path) -> None:
    with pytest.raises(EncryptionError, match="the key database does not answer"):
        KeyDatabase("postgresql://nobody@127.0.0.1:1/nothing", timeout=2)


def test_an_invalid_key_store_is_refused() -> None:
    with pytest.raises(TypeError, match="users: expected a KeyStore"):
        UserKeys(lambda tenant: None, object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="provider: expected a callable"):
        UserKeys(b"key", Halves())  # type: ignore[arg-type]


def test_a_key_folder_refuses_invalid_paths_and_ids(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"path: expected a str or os\.PathLike, got int"):
        KeyFolder(7)  # type: ignore[arg-type]
    folder = KeyFolder(tmp_path / "keys")
    for call in (folder.get, folder.destroy, folder.destroyed_at, lambda id: folder.put(id, b"k" * 32)):
        for id in (b"", "aa"):
            with pytest.raises(ValueError, match="id: expected bytes"):
                call(id)  # type: ignore[operator]
    assert list((tmp_path / "keys").iterdir()) == []
