"""A tenant's keys are destroyed once none of its data is left, which makes earlier copies unreadable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scrubjay import EncryptionError, Index, KeyErasedError, Memory, Scope, StoreError
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.sqlite.transaction import Transaction
from tests.data.postgres import Cluster, new_cluster, new_url
from tests.data.stores import use_postgres

pytest.importorskip("cryptography")

ACME, JANE, PLAIN = Scope("acme"), Scope("acme", user="jane"), Scope("globex", user="joe")
CODE = "The door code is 4711-0815."


class Vault:
    """A key manager: creates a tenant's key at the first request, and destroys it."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes] = {}
        self.destroyed: list[str] = []
        self.is_down = False

    def __call__(self, tenant: str) -> bytes | None:
        if tenant == "globex":
            return None
        if tenant in self.destroyed:
            raise KeyErasedError(f"{tenant}: destroyed")
        return self.keys.setdefault(tenant, os.urandom(32))

    def destroy(self, tenant: str) -> None:
        if self.is_down:
            raise TimeoutError("the key manager does not answer")
        self.keys.pop(tenant, None)
        self.destroyed.append(tenant)


pytestmark = pytest.mark.usefixtures("no_key_cache")


@pytest.fixture(params=["file", "postgres"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    if request.param == "postgres":
        use_postgres(monkeypatch)
    return tmp_path / "memories.scrubjay"


@pytest.fixture
def vault() -> Vault:
    return Vault()


def fill(index: Index) -> None:
    for scope in (ACME, JANE, PLAIN):
        index.upsert("m", CODE, scope=scope)


def nothing_of_acme_opens(index: Index) -> None:
    """A tenant whose key was destroyed counts as erased, or is refused: no data is returned."""
    for scope in (ACME, JANE):
        for call in (
            lambda: index.search("door code", scope=scope),  # noqa: B023 - called at once
            lambda: index.list(scope),  # noqa: B023
            lambda: [one for one in [index.get("m", scope=scope)] if one is not None],  # noqa: B023
        ):
            with suppress(EncryptionError):
                assert len(call()) == 0


def test_erasing_the_last_documents_of_a_tenant_destroys_its_key(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        index.erase(ACME, exact=True)
        assert vault.destroyed == []  # a user is left
        index.upsert("m", CODE, scope=ACME)
        index.erase(JANE)
        assert vault.destroyed == []
        assert index.erase(ACME, exact=True) == 1
        assert vault.destroyed == ["acme"]
        with pytest.raises(KeyErasedError):
            index.upsert("m", CODE, scope=JANE)
        assert len(index.search("door", scope=PLAIN)) == 1


def test_the_key_stays_while_another_collection_needs_it(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        notes = index.collection("notes")
        notes.upsert("n", CODE, scope=JANE)
        index.erase(ACME)
        assert vault.destroyed == []
        assert notes.get("n", scope=JANE) is not None
        index.erase(ACME, everywhere=True)
        assert vault.destroyed == ["acme"]


def test_a_memory_that_is_forgotten_destroys_the_key(path: Path, vault: Vault) -> None:
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        memory.propose(CODE, scope=JANE, source="run-1")
        memory.prefer("drink", "tea", scope=ACME)
        memory.forget(user="jane", tenant="acme")
        assert vault.destroyed == []
        memory.forget(tenant="acme")
        assert vault.destroyed == ["acme"]
        assert memory.list(JANE) == []


def test_a_failed_key_destruction_raises_and_is_repeated_by_erase(path: Path, vault: Vault) -> None:
    with Index.open(path, keys=vault) as index:
        fill(index)
        vault.is_down = True
        with pytest.raises(EncryptionError, match="'acme' was erased, but the provider failed to destroy"):
            index.erase(ACME)
        assert index.count(JANE) == 0
        assert vault.destroyed == []
        vault.is_down = False
        assert index.erase(ACME) == 0
        assert vault.destroyed == ["acme"]


def test_a_memory_whose_key_could_not_be_destroyed_is_forgotten_all_the_same(
    path: Path, vault: Vault
) -> None:
    with Index.open(path, collection="memory", keys=vault) as documents, Memory(documents) as memory:
        told: list[str] = []
        memory.feed.on_change(lambda event: told.append(event.action), scope=ACME)
        memory.propose(CODE, scope=JANE, source="run-1")
        memory.prefer("drink", "tea", scope=ACME)
        assert len(memory.known(ACME).preferences) == 1  # cached from now on
        vault.is_down = True
        with pytest.raises(EncryptionError, match="failed to destroy its key"):
            memory.forget(tenant="acme")
        assert memory.list(JANE) == [] and memory.known(ACME).preferences == ()
        assert told[-1] == "forgotten"
        vault.is_down = False
        memory.forget(tenant="acme")
        assert vault.destroyed == ["acme"]


def test_an_uncommitted_erasure_destroys_no_key(
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
                index.erase(ACME)
        assert vault.destroyed == []
        assert index.get("m", scope=JANE) is not None


def test_a_provider_that_only_gives_keys_is_left_alone(path: Path) -> None:
    keys = {"acme": b"k" * 32}
    with Index.open(path, keys=keys.get) as index:
        fill(index)
        assert index.erase(ACME) == 2
        index.upsert("m", CODE, scope=JANE)
        assert index.get("m", scope=JANE) is not None


# ---------------------------------------------------------------------- copies from before


def test_a_backup_of_a_file_from_before_cannot_be_opened(tmp_path: Path, vault: Vault) -> None:
    with Index.open(tmp_path / "m.scrubjay", keys=vault) as index:
        fill(index)
        index.admin.backup(tmp_path / "before.scrubjay")
        index.erase(ACME)
    with Index.open(tmp_path / "before.scrubjay", keys=vault) as index:
        nothing_of_acme_opens(index)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    made = new_cluster()
    if isinstance(made, str):
        pytest.skip(made)
    yield made
    made.remove()


def test_a_base_backup_of_a_server_from_before_cannot_be_opened(
    server: Cluster, vault: Vault, tmp_path: Path
) -> None:
    """`pg_basebackup` with the write-ahead log, the tenant forgotten, the backup started: none of its data is
    readable."""
    url = new_url(server.url)
    with (
        Index.open(url, collection="memory", keys=vault, max_stale=0) as documents,
        Memory(documents) as memory,
    ):
        memory.propose(CODE, scope=JANE, source="run-1")
        memory.prefer("drink", "ultramarine", scope=ACME)
        memory.propose("The plain code is 1234-5678.", scope=PLAIN, source="run-2")
        documents.admin.compact()  # images as well
        backup = server.base_backup()
        memory.forget(tenant="acme")
        assert memory.list(JANE) == [] and vault.destroyed == ["acme"]
        assert len(memory.list(PLAIN)) == 1
    server.stop()
    files = [file.read_bytes() for file in backup.rglob("*") if file.is_file()]
    assert any(b"1234-5678" in file for file in files)  # the needle search works
    assert not any(word in file for file in files for word in (b"4711-0815", b"ultramarine"))
    server.restore(backup)
    with (
        Index.open(url, collection="memory", keys=vault, max_stale=0) as documents,
        Memory(documents) as memory,
    ):
        assert len(memory.list(PLAIN)) == 1  # this is the backup, and it is served
        assert memory.list(JANE) == []
        assert len(memory.recall("code", scope=JANE)) == 0
        nothing_of_acme_opens(documents)
