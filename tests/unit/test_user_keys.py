"""Has each user a key of their own, does erasing destroy it, and does no copy from before open then?"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import CorruptIndexError, EncryptionError, Index, KeyErasedError, Memory, Scope, StoreError
from scrubjay.keystores import KeyDatabase, KeyFolder, KeyStore, UserKeys
from scrubjay.store.keys import encryption
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.sqlite.transaction import Transaction
from tests.data.postgres import Cluster, new_cluster, new_url
from scrubjay.store.postgres.sealing import SEALED_TEXT, SealedText
from scrubjay.store.rows.sealed import is_sealed, sealed_by
from tests.data.stores import asked, database_of, use_postgres
from tests.memory.test_memory_encryption import WRITES, write_notes

pytest.importorskip("cryptography")

ACME, JANE, BOB = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="bob")
JANES_BOT = Scope("acme", user="jane", agent="bot")
CODE = "The door code is 4711-0815."


class Halves:
    """A key store in memory, which can be down, and can be asked what happened."""

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
    """A key manager for tenants, who are all encrypted but "globex", with a key store for their users."""

    def __init__(self) -> None:
        self.halves = Halves()
        self.masters: dict[str, bytes] = {}
        super().__init__(self._master, self.halves)

    def _master(self, tenant: str) -> bytes | None:
        return None if tenant == "globex" else self.masters.setdefault(tenant, os.urandom(32))

    def without_users(self) -> Callable[[str], bytes | None]:
        return self._master


@pytest.fixture(autouse=True)
def always_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "KEY_SECONDS", -1.0)


@pytest.fixture(params=["file", "postgres"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    if request.param == "postgres":
        use_postgres(monkeypatch)
    return tmp_path / "memories.scrubjay"


@pytest.fixture
def vault() -> Vault:
    return Vault()


def rows(path: Path, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """What somebody at the file or the server reads; `{sj}` begins a table's name, `{user}` is the column."""
    url = database_of(path)
    if url is not None:
        return asked(url, query.format(sj="sj_", user="usr").replace("?", "%s"), *parameters)
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(query.format(sj="", user="user"), parameters).fetchall()


def fill(index: Index) -> None:
    for scope in (ACME, JANE, BOB, JANES_BOT):
        index.upsert("m", CODE, scope=scope, metadata={"of": scope.user or "all"})


def own(index: Index, scope: Scope) -> list[str]:
    """The texts of exactly a scope, by every way to read them."""
    listed = [one.text for one in index.list(scope) if one.scope == scope]
    found = [hit.text for hit in index.search("door", scope=scope, k=100) if hit.scope == scope]
    got = index.get("m", scope=scope)
    assert sorted(listed) == sorted(found)
    assert (got is not None and got.scope == scope) == ("m" in [one.id for one in index.list(scope) if one.scope == scope])
    return listed


def jane_is_as_if_erased(index: Index) -> None:
    assert own(index, JANE) == own(index, JANES_BOT) == []
    assert own(index, ACME) == own(index, BOB) == [CODE]
    assert index.count(JANE) == len(index.search("door", scope=JANE)) == len(index.list(JANE)) == 1  # the tenant's
    with pytest.raises(KeyErasedError, match=r"key of user 'jane' of tenant 'acme' was destroyed; erase\("):
        index.upsert("n", CODE, scope=JANE)


# ---------------------------------------------------------------------- one key a user


def test_each_user_has_a_key_and_the_tenant_its_own(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.admin.compact()
        for scope in (ACME, JANE, BOB, JANES_BOT):
            assert own(index, scope) == [CODE]
        assert not index.admin.check().problems
    assert len(vault.halves.keys) == 2  # jane's and bob's
    heads = rows(path, "SELECT DISTINCT substr(text, 1, 10) FROM {sj}document")
    assert len(heads) == 3
    (data_key,) = rows(path, "SELECT key_id FROM {sj}home" if database_of(path) else "SELECT id FROM data_key")[0]
    assert {bytes(head)[2:] for (head,) in heads} == {bytes(data_key), *vault.halves.keys}


def test_a_key_that_is_destroyed_takes_its_user_and_nobody_else(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.admin.compact()
        ((id,),) = rows(path, "SELECT id FROM {sj}user_key WHERE {user} = 'jane'")
        assert own(index, JANE) == [CODE]
        vault.halves.destroy(bytes(id))
        jane_is_as_if_erased(index)  # what was in memory, too
    with Index.open(path, keys=vault) as index:
        jane_is_as_if_erased(index)
        assert not index.admin.check().problems
        assert index.erase(JANE) == 2
        index.upsert("m", CODE, scope=JANE)
        assert own(index, JANE) == [CODE]


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
        assert index.admin.verify_erased([CODE + "!"], scope=JANE).proofs[1] in ("bytes absent", "rows absent")
        assert not index.admin.verify_erased(scope=BOB).clean
        index.upsert("m", CODE, scope=JANE)  # comes back, with another key
        assert own(index, JANE) == [CODE]
        assert [key.destroyed_at is None for key in index.admin.verify_erased(scope=JANE).keys] == [False, True]
        assert not index.admin.check().problems


def test_a_tenant_that_is_erased_takes_the_keys_of_its_users(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.upsert("m", CODE, scope=Scope("initech", user="ann"))
        assert index.erase(ACME) == 4
        assert len(vault.halves.gone) == 2 and len(vault.halves.keys) == 1
        assert rows(path, "SELECT count(*) FROM {sj}user_key") == [(1,)]
        assert own(index, Scope("initech", user="ann")) == [CODE]


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
        assert own(other, JANE) == [CODE]
        index.erase(JANE)
        assert own(other, JANE) == []
        other.upsert("m", CODE, scope=JANE)  # what it knows of the old key must not seal it
        assert own(index, JANE) == own(other, JANE) == [CODE]
        assert len(vault.halves.keys) == 2 and len(vault.halves.gone) == 1


# ---------------------------------------------------------------------- memory


def sealed_by_whom(path: Path) -> dict[tuple[str, str], set[bytes]]:
    """(table, whose) -> the keys of the sealed cells that the table has of them, by every row of every table."""
    url = database_of(path)
    if url is not None:
        names = [n for (n,) in asked(url, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'sj\\_%'")]
    else:
        names = [n for (n,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[tuple[str, str], set[bytes]] = {}
    for name in names:
        if name in ("data_key", "user_key", "sj_user_key", "sj_home", "table_digest", "sj_digest", "sqlite_sequence"):
            continue
        for row in _dicts(path, name):
            row.pop("digest", None)  # of a scope: holds no content
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
            for (one,) in asked(
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
        names = asked(
            url, "SELECT usr FROM sj_scope WHERE collection = %s AND key = %s", row["collection"], row["scope"]
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
        assert not [hit for hit in memory.recall("violet0001", scope=JANE) if "violet" in hit.text and hit.scope != ACME]
        assert memory.session(JANE, "chat").events() == []
        assert memory.rejections(JANE) == [] and memory.runs(JANE) == []
        assert [one.key for one in memory.known(JANE).preferences] == ["weight"]  # the tenant's
        assert len(memory.list(BOB)) >= 2
        exported = path.with_name("export.jsonl")
        memory.files.export(exported, scope=ACME)
        assert "Answer violet" not in exported.read_text() and "grey" in exported.read_text()
        assert all('violet' not in (one.detail or '') for one in memory.feed.changes(scope=JANE) if one.scope == JANE)
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
