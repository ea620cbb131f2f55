"""Encrypted tenants over PostgreSQL as far as they differ from a file: the location of the key, agreement on it, and
the power of an attacker at the server. test_store_encryption covers the common guarantees, over both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from scrubjay import (
    CorruptIndexError,
    EncryptionError,
    Index,
    Memory,
    Query,
    Scope,
    StoreError,
    UnsupportedError,
)
from scrubjay.embedders import Function
from scrubjay.memory import FactCandidate, PolicyCandidate
from scrubjay.store.postgres.layer_connection import counting
from scrubjay.store.postgres.store import PostgresStore
from tests.data.keys import provider
from tests.data.postgres import new_url
from tests.data.stores import superuser_rows

pytest.importorskip("cryptography")

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
PLAIN = Scope("globex")


pytestmark = pytest.mark.usefixtures("no_key_cache")


@pytest.fixture
def url() -> str:
    return new_url()


def opened(url: str, **options: Any) -> Index:
    return Index.open(url, keys=provider, max_stale=0, **options)


@pytest.fixture
def filled(url: str) -> str:
    with opened(url) as index:
        for scope in (JANE, JOE, PLAIN):
            index.upsert_many(
                {
                    "id": f"{scope.user}-{i}",
                    "text": f"secret oak {i}",
                    "scope": scope,
                    "vector": [1.0, float(i), 2.0],
                    "metadata": {"colour": "ultramarine"},
                }
                for i in range(20)
            )
        index.upsert("soon", "oak soon over", scope=JANE, expires_at="2999-01-01T00:00:00+00:00")
        index.feedback("jane-1", query="which secret?", scope=JANE)
        index.feedback("jane-2", query="which secret?", scope=JANE)
    return url


def found(url: str, scope: Scope = JANE) -> list[Any]:
    with opened(url) as index:
        return sorted(hit.id for hit in index.search("oak", scope=scope, k=100, query=Query(mode="lexical")))


def problems(url: str) -> list[str]:
    with opened(url) as index:
        return index.admin.check().problems


def values(url: str) -> Iterator[bytes]:
    """Return every value of every row of the tenant."""
    tables = "SELECT table_name::text FROM information_schema.columns WHERE column_name = 'home' AND table_schema = "
    for (table,) in superuser_rows(url, f"{tables} current_schema()"):
        for row in superuser_rows(url, f"SELECT * FROM {table} WHERE home ~ '^acme'"):
            yield repr(row).encode()
            yield from (bytes(value) for value in row if isinstance(value, bytes))


def test_no_value_of_an_encrypted_tenant_is_in_the_clear(filled: str) -> None:
    with opened(filled) as index:
        index.admin.compact()
        index.upsert("late", "secret oak of late", scope=JANE, metadata={"colour": "ultramarine"})
        assert len(index.admin.feedbacks(JANE)) == 2
        assert problems(filled) == []
    for value in values(filled):
        for word in (b"secret", b"ultramarine"):
            assert word not in value
    plain = superuser_rows(
        filled, "SELECT text, vector FROM sj_document WHERE home = 'globex' AND text = 'secret oak 1'::bytea"
    )
    sealed = superuser_rows(filled, "SELECT vector FROM sj_document WHERE home ~ '^acme'")
    assert plain and all(plain[0][1] not in (row[0] or b"") for row in sealed)


def test_tenants_that_are_written_first_by_several_get_one_key(url: str) -> None:
    """The holder of the home's lock draws the key; the others find it there."""
    indexes = [opened(url) for _ in range(4)]
    barrier = threading.Barrier(len(indexes))
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for tenant in range(5):
                barrier.wait(60)
                indexes[number].upsert(f"m{number}", "oak", scope=Scope(f"t{tenant}"))
        except BaseException as error:  # noqa: BLE001 - shown below
            failed.append(error)
            barrier.abort()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(indexes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for index in indexes:
        assert index.admin.encrypted_tenants() == [f"t{i}" for i in range(5)]
        for i in range(5):
            assert len(index.search("oak", scope=Scope(f"t{i}"))) == 4
        index.close()
    assert problems(url) == []


TAMPERING = {
    "a row is put back": "INSERT INTO sj_document SELECT * FROM saved_document s "
    "WHERE id = 'jane-3'::bytea AND NOT EXISTS (SELECT 1 FROM "
    "sj_document d WHERE d.home = s.home AND d.scope = s.scope AND d.seq = s.seq)",
    "a row is taken out": "DELETE FROM sj_document WHERE seq = (SELECT max(seq) FROM sj_document d JOIN sj_scope s "
    "ON s.key = d.scope WHERE s.usr = 'jane')",
    "a vector is deleted": "UPDATE sj_document SET vector = NULL WHERE seq = (SELECT max(seq) FROM sj_document d "
    "JOIN sj_scope s ON s.key = d.scope WHERE s.usr = 'jane' AND vector IS NOT NULL)",
    "an expiry is taken away": "UPDATE sj_document SET expires_at = NULL WHERE expires_at IS NOT NULL",
    "a scope is put back": "UPDATE sj_scope s SET version = o.version, digest = o.digest FROM saved_scope o "
    "WHERE o.home = s.home AND o.key = s.key AND s.usr = 'jane'",
    "a digest is taken away": "UPDATE sj_scope SET digest = NULL WHERE usr = 'jane'",
    "a text is moved": "UPDATE sj_document d SET text = o.text FROM sj_document o WHERE o.home = d.home AND "
    "o.scope = d.scope AND o.seq = (SELECT min(seq) FROM sj_document m WHERE m.scope = d.scope) AND d.home ~ '^acme'",
    "a plain row": "UPDATE sj_document SET text = 'oak of somebody'::bytea, payload = NULL WHERE home ~ '^acme' AND "
    "seq = (SELECT max(seq) FROM sj_document d JOIN sj_scope s ON s.key = d.scope WHERE s.usr = 'jane')",
}


@pytest.mark.parametrize("images", [False, True], ids=["rows", "images"])
@pytest.mark.parametrize("how", TAMPERING)
def test_rows_changed_at_the_server_are_reported_as_damage(filled: str, how: str, images: bool) -> None:
    for table in ("document", "scope"):
        superuser_rows(
            filled,
            f"CREATE TABLE saved_{table} AS SELECT * FROM sj_{table} WHERE home ~ '^acme'",
        )
    with opened(filled) as index:
        index.delete("jane-3", scope=JANE)
        if images:
            index.admin.compact()
            index.upsert("jane-4", "secret oak anew", scope=JANE, vector=[1.0, 1.0, 1.0])
    others = found(filled, JOE)
    assert problems(filled) == []
    superuser_rows(filled, TAMPERING[how])
    assert problems(filled) != []
    if not images:
        with pytest.raises((CorruptIndexError, EncryptionError)):
            found(filled)
    if how != "a text is moved":
        assert found(filled, JOE) == others
    assert len(found(filled, PLAIN)) == 20


def test_an_old_image_brings_nothing_back(filled: str) -> None:
    with opened(filled) as index:
        index.admin.compact()
        superuser_rows(filled, "CREATE TABLE saved AS SELECT * FROM sj_image WHERE home ~ '^acme'")
        index.delete("jane-3", scope=JANE)
        index.admin.compact()
    wanted = found(filled)
    superuser_rows(filled, "DELETE FROM sj_image WHERE home ~ '^acme'")
    superuser_rows(filled, "INSERT INTO sj_image SELECT * FROM saved")
    superuser_rows(filled, "UPDATE sj_scope SET horizon = 0 WHERE home ~ '^acme'")
    assert found(filled) == wanted and "jane-3" not in wanted


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM sj_feedback WHERE number = (SELECT min(number) FROM sj_feedback)",
        "UPDATE sj_feedback SET used = NOT used",
        "INSERT INTO sj_feedback SELECT home, collection, number + 1, at, tenant, usr, agent, scope, id, used, query, "
        "lexical_rank, vector_rank, score FROM sj_feedback ORDER BY number DESC LIMIT 1",
        "UPDATE sj_digest SET digest = digest || '\\x00'::bytea",
    ],
)
def test_notes_that_were_changed_are_reported(filled: str, statement: str) -> None:
    assert problems(filled) == []
    superuser_rows(filled, statement)
    assert any("feedback" in problem for problem in problems(filled))


def test_feedback_digests_stay_right_through_deletions(filled: str) -> None:
    with opened(filled) as index:
        index.delete("jane-1", scope=JANE)
        assert index.admin.check().problems == []
        index.feedback("joe-1", query=None, scope=JOE)
        index.collection("side").upsert("s", "oak", scope=JANE)
        index.collection("side").feedback("s", query="which?", scope=JANE)
        assert index.collection("side").admin.check().problems == []
        index.admin.drop_collection("side")
        index.erase(JANE)
        assert index.admin.check().problems == []
        assert [note.id for note in index.admin.feedbacks()] == ["joe-1"]


def test_an_erased_tenant_cannot_be_opened_from_a_copy_of_its_rows(filled: str) -> None:
    """A backup of the rows, without the row of the wrapped key: the provider's key alone decrypts none of them."""
    tables = ("sj_document", "sj_scope", "sj_image", "sj_feedback", "sj_digest")
    with opened(filled) as index:
        index.admin.compact()
        for table in tables:
            superuser_rows(
                filled,
                f"CREATE TABLE old_{table} AS SELECT * FROM {table} WHERE home ~ '^acme'",
            )
        assert index.erase(Scope("acme")) == 41
        assert index.admin.encrypted_tenants() == []
    keys = superuser_rows(
        filled,
        "SELECT key_id, key_mark, key_fingerprint, key_wrapped FROM sj_home WHERE home ~ '^acme'",
    )
    assert set(keys) == {(None, None, None, None)}
    assert superuser_rows(filled, "SELECT count(*) FROM sj_digest WHERE home ~ '^acme'") == [(0,)]
    for table in tables:
        superuser_rows(filled, f"DELETE FROM {table} WHERE home ~ '^acme'")
        superuser_rows(filled, f"INSERT INTO {table} SELECT * FROM old_{table}")
    with opened(filled) as index:
        for call in (
            lambda: index.search("oak", scope=JANE),
            lambda: index.get("jane-1", scope=JANE),
            lambda: index.list(JANE),
        ):
            with pytest.raises((EncryptionError, CorruptIndexError)):
                call()
        with pytest.raises((EncryptionError, CorruptIndexError)):
            index.admin.feedbacks(JANE)
        assert index.admin.check().problems or index.admin.check().sealed
        index.erase(Scope("acme"))
        index.upsert("new", "oak", scope=JANE)  # a returning user gets another key
        assert index.get("new", scope=JANE) is not None
    assert found(filled) == ["new"]


def test_a_tenant_whose_name_is_erased_leaves_no_key(filled: str) -> None:
    with opened(filled) as index:
        index.erase(Scope("acme"), names=True)
        assert index.admin.encrypted_tenants() == []
    assert superuser_rows(filled, "SELECT count(*) FROM sj_home WHERE key_id IS NOT NULL") == [(0,)]
    assert superuser_rows(filled, "SELECT count(*) FROM sj_digest") == [(0,)]


def test_without_keys_an_encrypted_tenant_is_refused_and_the_others_are_served(filled: str) -> None:
    with Index.open(filled) as index:
        for call in (
            lambda: index.search("oak", scope=JANE),
            lambda: index.get("jane-1", scope=JANE),
            lambda: index.upsert("new", "oak", scope=Scope("acme", user="somebody new")),
            lambda: index.delete("jane-1", scope=JANE),
        ):
            with pytest.raises(EncryptionError, match="keys"):
                call()
        assert len(index.search("oak", scope=PLAIN, k=50)) == 20
        assert index.admin.encrypted_tenants() == ["acme"]
        assert index.erase(JOE) == 20
        assert index.admin.check().sealed == 1
    assert problems(filled) == []


def test_vectors_of_an_unfinished_reembedding_are_sealed_and_read(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors that are not in place yet are encrypted, and read; the digest covers those in place."""
    monkeypatch.setattr(PostgresStore, "settle", lambda self: None)
    toy = Function(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="toy")
    with opened(filled) as index:
        assert index.admin.reembed(toy, progress=False) == 61
    (n,) = superuser_rows(
        filled, "SELECT count(*) FROM sj_staged WHERE substr(data, 1, 2) = '\\xff01'::bytea"
    )[0]
    assert n == 41
    with opened(filled) as index:
        hits = index.search(vector=[13.0, 1.0], scope=JANE, k=50)
        assert len(hits) == 21
        record = index.get("jane-1", scope=JANE)
        assert record is not None and [*map(float, record.vector)] == [12.0, 1.0]  # type: ignore[union-attr,arg-type]
        index.upsert("late", "oak of late", scope=JANE, vector=[1.0, 1.0])  # puts them in place
    monkeypatch.undo()
    with opened(filled) as index:
        assert index.admin.check().problems == []
        index.admin.compact()
        assert index.admin.check().problems == []
    assert superuser_rows(filled, "SELECT count(*) FROM sj_staged") == [(0,)]


def back_to_version_3(url: str) -> None:
    superuser_rows(url, "ALTER TABLE sj_image DROP object, DROP n_bytes")
    superuser_rows(
        url, "ALTER TABLE sj_home DROP key_id, DROP key_mark, DROP key_fingerprint, DROP key_wrapped"
    )
    superuser_rows(url, "ALTER TABLE sj_scope DROP digest")
    superuser_rows(url, "DROP TABLE sj_digest")
    superuser_rows(url, "DROP TABLE sj_user_key")
    superuser_rows(url, "ALTER TABLE sj_schema DROP user_homes")
    superuser_rows(url, "DROP TABLE sj_cold")
    superuser_rows(url, "ALTER TABLE sj_scope DROP cold, DROP used")
    superuser_rows(url, "UPDATE sj_schema SET version = 3")


def test_tables_of_version_3_are_migrated_and_their_tenants_encrypted(url: str) -> None:
    with Index.open(url) as index:
        for scope in (JANE, PLAIN):
            index.upsert("m", "secret oak", scope=scope, vector=[1.0, 2.0])
        index.feedback("m", query="which secret?", scope=JANE)
        index.admin.compact()
    back_to_version_3(url)
    with opened(url) as index:
        with pytest.raises(EncryptionError, match=r"index.admin.encrypt\('acme'\)"):
            index.search("oak", scope=JANE)
        with pytest.raises(EncryptionError, match=r"index.admin.encrypt\('acme'\)"):
            index.upsert("n", "oak", scope=JANE)
        assert index.admin.encrypt("acme") == 1
        assert len(index.search("oak", scope=JANE)) == 1
        assert [note.query for note in index.admin.feedbacks()] == ["which secret?"]
        assert index.admin.check().problems == []
    assert not any(b"secret" in value for value in values(url))
    assert len(found(url, PLAIN)) == 1


def test_encrypt_takes_what_is_there_only_if_it_is_told_to(filled: str) -> None:
    superuser_rows(
        filled,
        "DELETE FROM sj_document WHERE seq = (SELECT max(seq) FROM sj_document WHERE home ~ '^acme')",
    )
    with opened(filled) as index:
        with pytest.raises(CorruptIndexError, match="accept=True"):
            index.admin.encrypt("acme")
        assert index.admin.encrypt("acme", accept=True) == 0
        assert index.admin.check().problems == []
        assert index.admin.encrypt("acme") == 0
    assert len(found(filled)) + len(found(filled, JOE)) == 40


def remember(memory: Memory) -> None:
    memory.propose(FactCandidate("Jane's secret is ultramarine", "Jane", "secret"), scope=JANE, source="r")
    memory.propose(FactCandidate("Jane's secret is cyan", "Jane", "secret"), scope=JANE, source="r2")
    memory.prefer("tone", "a secret tone", scope=JANE)
    memory.propose(PolicyCandidate("style", "a secret style"), scope=ACME, source="r")
    memory.session(JANE, "chat").user("a secret of the chat")
    joe = Scope("globex", user="joe")
    memory.propose(FactCandidate("Joe's secret of globex", "Joe", "secret"), scope=joe, source="r")


def test_a_memory_seals_what_it_keeps_beside_the_documents(url: str) -> None:
    with Memory.open(url, keys=provider, max_stale=0) as memory:
        remember(memory)
        assert "Jane's secret is cyan" in memory.recall("secret", JANE).texts
        assert memory.index.admin.check().problems == []
        assert memory.admin.check() == memory.admin.check()
    for value in values(url):
        for word in (b"secret", b"ultramarine", b"cyan"):
            assert word not in value
    assert superuser_rows(
        url, "SELECT count(*) FROM sj_memory_fact WHERE content LIKE '%secret of globex'"
    ) == [(1,)]
    with Memory.open(url, keys=provider, max_stale=0) as memory:
        assert "Jane's secret is cyan" in memory.recall("secret", JANE).texts
        assert [event.content for event in memory.replay("chat", JANE).events] == ["a secret of the chat"]
        memory.forget(ACME)
        assert memory.index.admin.encrypted_tenants() == []
        assert memory.index.admin.check().problems == []
    with Memory.open(url) as memory:  # whose data key is gone
        memory.propose(FactCandidate("Jane is back", "Jane", "is"), scope=JANE, source="r")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM sj_memory_fact WHERE content = (SELECT min(content) FROM sj_memory_fact WHERE home ~ '^acme')",
        "UPDATE sj_memory_fact SET updated_at = updated_at + 1",
        "UPDATE sj_memory_preference SET key = 'other'",
        "UPDATE sj_memory_event SET kind = 'tool_call'",
        "DELETE FROM sj_digest WHERE name = 'sj_memory_policy'",
        "UPDATE sj_memory_policy SET number = number + 1",
    ],
)
def test_records_that_were_changed_are_reported(url: str, statement: str) -> None:
    with Memory.open(url, keys=provider) as memory:
        remember(memory)
    assert problems(url) == []
    superuser_rows(url, statement)
    assert any("sj_memory" in problem for problem in problems(url)), problems(url)


def test_without_keys_a_user_can_be_forgotten_and_nothing_else_be_done(url: str) -> None:
    with Memory.open(url, keys=provider) as memory:
        memory.prefer("tone", "a secret tone", scope=JANE)
        memory.prefer("tone", "a secret tone", scope=JOE)
    with Memory.open(url) as memory:
        for call in (
            lambda: memory.prefer("tone", "a tone", scope=JANE),
            lambda: memory.known(JANE),
            lambda: memory.forget(JANE),  # the digest of Joe's rows cannot be written
        ):
            with pytest.raises(EncryptionError, match="keys"):
                call()
        assert memory.forget(ACME).counts["preference"] == 2
    assert problems(url) == []
    assert set(superuser_rows(url, "SELECT key_id FROM sj_home WHERE home ~ '^acme'")) == {(None,)}


def test_a_memory_without_keys_leaves_an_encrypted_tenant_alone(filled: str) -> None:
    with Memory.open(filled) as memory:
        with pytest.raises(EncryptionError, match="keys"):
            memory.prefer("tone", "a secret tone", scope=JANE)
        memory.prefer("tone", "short", scope=PLAIN)
    assert problems(filled) == []


def test_a_tenant_whose_records_are_in_the_clear_is_refused_with_a_remedy(url: str) -> None:
    with Memory.open(url) as memory:
        remember(memory)
    with opened(url) as index:
        for call in (lambda: index.upsert("m", "oak", scope=ACME), lambda: index.admin.encrypt("acme")):
            with pytest.raises(UnsupportedError, match="import it into a Memory with keys"):
                call()
        assert index.admin.encrypted_tenants() == []


@pytest.mark.parametrize(
    ("query", "old"),
    [
        (
            "DELETE FROM sj_memory_fact WHERE a IN (SELECT b FROM c WHERE d) AND home = %(p0)s",
            "WHERE a IN (SELECT",
        ),
        ("UPDATE sj_memory_fact SET a = (SELECT 1 WHERE true), b = 2 WHERE id = %(p1)s", "WHERE id = %(p1)s"),
    ],
)
def test_the_rows_that_a_statement_changes_are_asked_for_before(query: str, old: str) -> None:
    counted = counting(query)
    assert counted is not None and counted.old is not None
    assert counted.old.startswith(f"SELECT * FROM sj_memory_fact {old}")
    assert counting("UPDATE sj_memory_run SET erasing = 1") is None


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE sj_memory_fact AS f SET uses = 1 WHERE f.id = %(p0)s",
        "INSERT INTO sj_memory_fact(id) VALUES (%(p0)s) ON CONFLICT (id) DO UPDATE SET uses = 1",
    ],
)
def test_a_statement_whose_rows_cannot_be_told_is_refused(query: str) -> None:
    with pytest.raises(StoreError, match="without an alias"):
        counting(query)
