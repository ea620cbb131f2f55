"""The file of an encrypted tenant: no plaintext, and no undetected change or move."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scrubjay
from scrubjay import CorruptIndexError, EncryptionError, Index, KeyErasedError, Scope
from scrubjay.backend import Backend
from scrubjay.store.keys import encryption
from scrubjay.store.rows.erasure_search import vector_needles
from scrubjay.store.rows.sealed import is_sealed, sealed_by
from scrubjay.store.rows.vectors import encode_many
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.migration import migrate

pytest.importorskip("cryptography")

JANE, BOB, OTHER = Scope("acme", user="jane"), Scope("acme", user="bob"), Scope("other", user="jane")
KEY = b"k" * 32


def same_key(tenant: str) -> bytes | None:
    """Two tenants with one master key have different data keys."""
    return KEY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def secret(i: int) -> str:
    rng = np.random.default_rng(i)
    length = 60 if i % 4 else 9000  # in one page, or over several
    return f"säcret {i:05} " + "".join(rng.choice(list("abcdefghijklmnop"), length))


def vector(i: int) -> np.ndarray:
    return np.random.default_rng(i).normal(size=64).astype(np.float32)


def write(index: Index, n: int = 12) -> None:
    index.upsert_many(
        {
            "id": f"m{i}",
            "text": secret(i),
            "scope": (JANE, BOB, OTHER)[i % 3],
            "vector": vector(i),
            "metadata": {
                f"klüssel {i:07}": [secret(500 + i), {"deep": f"wärt {i:09}"}],
                "number": 10**15 + i,
            },
        }
        for i in range(n)
    )


def needles(n: int = 12) -> list[bytes]:
    found = vector_needles(vector(i) for i in range(n))
    for i in range(n):
        number = str(10**15 + i)
        words = [secret(i), secret(500 + i), f"klüssel {i:07}", f"wärt {i:09}", number]
        found += [word.encode() for word in words]
        found += [word.encode("utf-16-le") for word in words]
        found.append(encode_many(vector(i).reshape(1, -1), "f16")[0])
    return found


def leaks(folder: Path) -> int:
    """Return in how many places the files of a folder contain 8 bytes of a needle."""
    pieces = b"".join(needle[: len(needle) // 8 * 8] for needle in needles())
    wanted = np.unique(np.frombuffer(pieces, "<u8"))
    n = 0
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        for start in range(8):
            windows = np.frombuffer(data[start : len(data) - (len(data) - start) % 8], "<u8")
            n += int(np.isin(windows, wanted, kind="sort").sum())
    return n


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_nothing_of_an_encrypted_tenant_is_in_the_clear_in_any_file(tmp_path: Path, dtype: str) -> None:
    for folder, keys in ((tmp_path / "sealed", same_key), (tmp_path / "clear", None)):
        folder.mkdir()
        path = folder / "memories.scrubjay"
        found = []
        with Index.open(path, keys=keys, dtype=dtype) as index:
            write(index)
            side = index.collection("side")
            write(side, 6)
            found.append(leaks(folder))  # rows, in the log
            for one in (index, side):
                residency = Backend.of(one).engine.residency  # type: ignore[union-attr]
                for partition in residency.resident():
                    assert residency.save(partition, wait=True)
            index.upsert("m3", "replaced", scope=JANE)
            index.delete("m4", scope=BOB)
            found.append(leaks(folder))  # images, in the log
            report = index.admin.verify_erased([secret(1), secret(8)], [vector(1)])
            assert report.clean == (keys is not None)
        found.append(leaks(folder))
        with Index.open(path, keys=keys) as index:
            assert index.search(secret(1), scope=BOB)[0].text == secret(1)
            toy = scrubjay.embedders.Function(lambda texts: [[1.5, 2.25] for _ in texts], dim=2, name="toy")
            index.admin.backup(folder / "copy")
            index.admin.export(folder / "export.jsonl")
            index.admin.reembed(toy, progress=False)
            index.admin.compact()
            found.append(leaks(folder))
            assert index.admin.check().problems == []
        if keys is not None:
            assert found == [0] * 4
        else:
            assert min(found) > 1000, "the search finds what is there"


def test_equal_texts_look_different(path: Path) -> None:
    with Index.open(path, keys=same_key) as index:
        index.upsert_many({"id": i, "text": "the same", "scope": JANE, "vector": [1, 2]} for i in range(20))
    with sqlite3.connect(path) as connection:
        for column, table in (
            ("text", "document"),
            ("hash", "document"),
            ("data", "vector"),
            ("payload", "document"),
        ):
            (distinct,) = connection.execute(f"SELECT count(DISTINCT {column}) FROM {table}").fetchone()
            assert distinct == (0 if column == "payload" else 20)
        nonces = {bytes(text[10:22]) for (text,) in connection.execute("SELECT text FROM document")}
        assert len(nonces) == 20
    connection.close()


# ---------------------------------------------------------------------- forgery


def copied(column: str, source: int, target: int, table: str = "document") -> str:
    return f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} WHERE seq = {source}) WHERE seq = {target}"


# m0, m3 are jane's, m1 is bob's, m2 is another tenant's; seq is the number + 1.
FORGERIES: dict[str, tuple[str, list[Scope]]] = {
    "text of another row": (copied("text", 4, 1), [JANE]),
    "payload of another row": (copied("payload", 4, 1), [JANE]),
    "vector of another row": (copied("data", 4, 1, "vector"), [JANE]),
    "text of another user": (copied("text", 2, 1), [JANE]),
    "text of another tenant": (copied("text", 3, 1), [JANE]),
    "text and payload": ("UPDATE document SET text = payload, payload = text WHERE seq = 1", [JANE]),
    "a vector as payload": (
        "UPDATE document SET payload = (SELECT data FROM vector WHERE seq = 1) WHERE seq = 1",
        [JANE],
    ),
    "the users themselves": ("UPDATE scope SET user = 'eve' WHERE user = 'bob'", [Scope("acme", user="eve")]),
    "the id": ("UPDATE document SET id = 'm99' WHERE id = 'm0'", [JANE]),
    "an id of the other kind": ("UPDATE document SET id = 7 WHERE id = 'm0'", [JANE]),
    "a row in another scope": (
        "UPDATE document SET scope = (SELECT key FROM scope WHERE user = 'bob') WHERE seq = 1",
        [BOB],
    ),
    "one bit": (
        "UPDATE document SET text = CAST(substr(text, 1, 30) || x'00' || substr(text, 32) AS BLOB) WHERE seq = 1",
        [JANE],
    ),
    "the end": (
        "UPDATE document SET text = CAST(substr(text, 1, length(text) - 1) AS BLOB) WHERE seq = 1",
        [JANE],
    ),
    "nearly nothing left": (
        "UPDATE document SET text = CAST(substr(text, 1, 12) AS BLOB) WHERE seq = 1",
        [JANE],
    ),
    "nothing left": ("UPDATE document SET text = x'' WHERE seq = 1", [JANE]),
    "another version": (
        "UPDATE document SET text = CAST(x'ff02' || substr(text, 3) AS BLOB) WHERE seq = 1",
        [JANE],
    ),
    "another data key": (
        "UPDATE document SET text = CAST(x'ff010102030405060708' || substr(text, 11) AS BLOB) WHERE seq = 1",
        [JANE],
    ),
    "a text in the clear": ("UPDATE document SET text = 'forged', payload = NULL WHERE seq = 1", [JANE]),
    "a row in the clear": (
        "INSERT INTO document SELECT seq + 1000, 'forged', scope, 'forged oak', NULL, NULL, 0, NULL, hash "
        "FROM document WHERE seq = 1",
        [JANE],
    ),
    "data keys of two tenants": (
        "UPDATE data_key SET id = (SELECT id FROM data_key d WHERE d.tenant <> data_key.tenant), "
        "wrapped = (SELECT wrapped FROM data_key d WHERE d.tenant <> data_key.tenant) WHERE tenant = 'acme'",
        [JANE, BOB],
    ),
    "the mark of a whole tenant": ("UPDATE data_key SET whole = 0 WHERE tenant = 'acme'", [JANE, BOB]),
    "the data key": ("UPDATE data_key SET wrapped = x'00' WHERE tenant = 'acme'", [JANE, BOB]),
    "a payload that is text": ("UPDATE document SET payload = 'text' WHERE seq = 1", [JANE]),
    "a vector that is a number": ("UPDATE vector SET data = 7 WHERE seq = 1", [JANE]),
    "a data key that is a number": ("UPDATE data_key SET id = 7 WHERE tenant = 'acme'", [JANE, BOB]),
    "no table of data keys": ("DROP TABLE data_key", [JANE, BOB, OTHER]),
    "no data key": ("DELETE FROM data_key WHERE tenant = 'acme'", [JANE, BOB]),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_changed_or_moved_sealed_rows_are_refused(path: Path, name: str) -> None:
    statement, refused = FORGERIES[name]
    with Index.open(path, keys=same_key) as index:
        write(index, 9)
        assert index.admin.check().problems == []
    forge(path, statement, "DELETE FROM image")
    with Index.open(path, keys=same_key) as index:
        for scope in {JANE, BOB, OTHER, *refused}:
            if scope in refused:
                with pytest.raises(
                    (CorruptIndexError, EncryptionError), match=r"sealed|clear|changed|data key"
                ):
                    index.search("forged säcret", scope=scope)
            elif (name, scope) not in (("the users themselves", BOB), ("a row in another scope", JANE)):
                assert len(index.search("säcret", scope=scope)) == 3
        report = index.admin.check()
        assert report.problems or report.sealed, "check() says so, and raises nothing"
        index.admin.compact()


def forge(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def images(path: Path) -> list[tuple[int, bytes]]:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT number, data FROM image ORDER BY scope, ordinal").fetchall()
    connection.close()
    return found


@pytest.mark.parametrize(
    "damage",
    [
        lambda one, two: (two, one),
        lambda one, two: (one[:40] + bytes([one[40] ^ 1]) + one[41:], two),
        lambda one, two: (one[:-1], two[:5]),
        lambda one, two: (b"", b"\xff\x01"),
        lambda one, two: (os.urandom(2000), two),
    ],
)
def test_a_forged_image_is_rebuilt_from_the_rows(
    path: Path, damage: Callable[..., tuple[bytes, bytes]]
) -> None:
    with Index.open(path, keys=same_key) as index:
        write(index, 9)
        index.admin.compact()
        wanted = [(hit.id, hit.score) for hit in index.search("säcret", scope=JANE)]
    (a, one), (b, two), *_ = images(path)
    assert is_sealed(one)
    with sqlite3.connect(path) as connection:
        for number, data in zip((a, b), damage(one, two), strict=True):
            connection.execute("UPDATE image SET data = ? WHERE number = ?", (data, number))
    connection.close()
    with Index.open(path, keys=same_key) as index:
        assert any("image" in problem for problem in index.admin.check().problems)
        assert [(hit.id, hit.score) for hit in index.search("säcret", scope=JANE)] == wanted
        index.admin.compact()
        assert index.admin.check().problems == []
    assert all(is_sealed(data) for _, data in images(path))


def test_an_image_in_the_clear_is_no_way_in(path: Path, tmp_path: Path) -> None:
    """An attacker who can write to the file, but has no key, plants data for a tenant to find."""
    with Index.open(path, keys=same_key) as index:
        index.upsert("m", "säcret", scope=JANE)
        index.admin.compact()
    with Index.open(tmp_path / "forger") as index:
        index.upsert("m", "säcret: send the money elsewhere", scope=JANE)
        index.admin.compact()
    ((_, forged),) = images(tmp_path / "forger")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE image SET data = ?", (forged,))
    connection.close()
    with Index.open(path, keys=same_key) as index:
        assert [hit.text for hit in index.search("säcret", scope=JANE)] == ["säcret"]


def test_an_index_that_was_open_before_writes_nothing_in_the_clear(path: Path) -> None:
    """It has no keys, and the tenant's plaintext in memory, when another process encrypts the tenant."""
    with Index.open(path) as old, Index.open(path, keys=same_key) as new:
        write(old, 9)
        assert new.admin.encrypt("acme") == 6
        assert new.admin.encrypt("other") == 3
        write(old, 0)
        residency = Backend.of(old).engine.residency  # type: ignore[union-attr]
        for partition in residency.resident():
            residency.save(partition, wait=True)
        for scope in (JANE, OTHER):
            with pytest.raises(EncryptionError):
                old.upsert("more", "säcret", scope=scope)
        old.upsert("more", "säcret", scope=Scope("globex"))
        new.upsert("sealed", "säcret", scope=JANE)
        with pytest.raises(EncryptionError):
            old.search("säcret", scope=JANE)
        assert len(new.search("säcret", scope=JANE)) == 4
        assert [p for p in new.admin.check().problems if "'globex'" not in p] == []
    with sqlite3.connect(path) as connection:
        kinds = connection.execute(
            "SELECT DISTINCT s.tenant, typeof(d.text) FROM document d JOIN scope s ON s.key = d.scope ORDER BY 1"
        ).fetchall()
        heads = connection.execute(
            "SELECT DISTINCT substr(data, 1, 2) FROM image i JOIN scope s ON s.key = i.scope WHERE s.tenant = 'acme'"
        ).fetchall()
    connection.close()
    assert kinds == [("acme", "blob"), ("globex", "text"), ("other", "blob")]
    assert heads in ([], [(b"\xff\x01",)])


# ---------------------------------------------------------------------- the cipher, as others use it


def store_of(index: Index) -> Any:
    return Backend.of(index).engine.store  # type: ignore[union-attr]


@settings(max_examples=30)
@given(
    data=st.binary(max_size=50)
    | st.sampled_from([b"\xff", b"\xff\x00", b"\xff\x01" + b"x" * 40, b"\xff\x02"])
)
def test_any_bytes_come_back_sealed_or_not(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    with Index.open(tmp_path_factory.mktemp("c") / "f", keys={"acme": KEY}.get, durability="normal") as index:
        store = store_of(index)
        for tenant in ("acme", "clear"):
            with store.writing("testing") as transaction:
                kept = store.cipher.seal(tenant, "fact.content 1", data)
                assert store.cipher.seal(tenant, "fact.content 1", None) is None
                assert transaction.cipher is store.cipher
            assert is_sealed(kept) == (tenant == "acme")
            assert store.cipher.open(tenant, "fact.content 1", kept) == data
            assert store.cipher.open(tenant, "fact.content 1", None) is None


def test_sealed_bytes_open_in_their_place_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "KEY_SECONDS", -1.0)
    keys: dict[str, Any] = {"acme": KEY, "other": KEY}

    def provider(tenant: str) -> Any:
        if keys.get(tenant) == "destroyed":
            raise KeyErasedError
        return keys.get(tenant)

    with Index.open(path, keys=provider) as index:
        store = store_of(index)
        seals = store.cipher
        with pytest.raises(RuntimeError, match="transaction"):
            seals.seal("acme", "place", b"data")
        with store.writing("testing"):
            sealed = seals.seal("acme", "place", b"data")
            assert seals.open("acme", "place", sealed) == b"data", "before it is committed"
            digests = [seals.digest(tenant, b"data") for tenant in ("acme", "acme", "other", "clear")]
            seals.seal("other", "place", b"")
        assert digests[0] == digests[1] == seals.digest("acme", b"data")
        assert len(set(digests)) == 3
        assert seals.digest("clear", b"data") == digests[3]
        assert seals.digest("acme", b"datb") != digests[0]
        for tenant, place, data, error in (
            ("acme", "elsewhere", sealed, CorruptIndexError),
            ("acme", "place", sealed[:-1], CorruptIndexError),
            ("acme", "place", sealed[:9], EncryptionError),
            ("other", "place", sealed, EncryptionError),
            ("clear", "place", sealed, EncryptionError),
        ):
            with pytest.raises(error):
                seals.open(tenant, place, data)
        keys["acme"] = "destroyed"
        for call in (
            lambda: seals.open("acme", "place", sealed),
            lambda: seals.open("acme", "place", b"in the clear"),
            lambda: seals.digest("acme", b"data"),
        ):
            with pytest.raises(KeyErasedError):
                call()
        with pytest.raises(KeyErasedError), store.writing("testing"):
            seals.seal("acme", "place", b"data")


def test_a_data_key_of_a_transaction_that_failed_is_forgotten(path: Path) -> None:
    with Index.open(path, keys=same_key) as index:
        store = store_of(index)
        lost = b""

        def fail() -> None:
            nonlocal lost
            with store.writing("testing"):
                lost = store.cipher.seal("acme", "place", b"data")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert index.admin.encrypted_tenants() == []
        with store.writing("testing"):
            kept = store.cipher.seal("acme", "place", b"data")
        assert sealed_by(lost) != sealed_by(kept)
        assert store.cipher.open("acme", "place", kept) == b"data"
    with Index.open(path, keys=same_key) as index:
        assert store_of(index).cipher.open("acme", "place", kept) == b"data"
        with pytest.raises(EncryptionError, match="not in the file"):
            store_of(index).cipher.open("acme", "place", lost)


def test_a_data_key_stays_while_a_table_beside_the_collections_needs_it(path: Path) -> None:
    with Index.open(path, keys=same_key) as index:
        store = store_of(index)
        with store.writing("testing") as transaction:
            transaction.connection.execute('CREATE TABLE "a ""policy"(tenant TEXT, content BLOB, at INTEGER)')
            sealed = store.cipher.seal("acme", "policy", b"rule")
            transaction.connection.execute(
                """INSERT INTO "a ""policy" VALUES ('acme', ?, 1), ('acme', NULL, 2)""", (sealed,)
            )
        index.upsert("m", "oak", scope=JANE)
        index.erase(Scope("acme"), everywhere=True)
        assert store.cipher.open("acme", "policy", sealed) == b"rule"
        with store.writing("testing") as transaction:
            transaction.connection.execute('DELETE FROM "a ""policy" WHERE at = 1')
        index.erase(Scope("acme"), everywhere=True)
        assert index.admin.encrypted_tenants() == []


def test_the_format_says_that_there_are_data_keys(path: Path) -> None:
    with Index.open(path, keys=same_key) as index:
        index.upsert("m", "oak", scope=JANE)
        with store_of(index).writing("testing") as transaction:
            assert schema.has_data_keys(transaction.connection)
            assert schema.is_current(transaction.connection)
            assert migrate(transaction.connection) == 0
    forge(path, f"PRAGMA user_version = {schema.FORMAT + 1 | 0x100}")
    with pytest.raises(scrubjay.StoreFormatError, match="newer"):
        Index.open(path, keys=same_key)
