"""Feedback is kept as long as it may be, and no longer."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import (
    ClosedError,
    EncryptionError,
    Index,
    KeyErasedError,
    Query,
    Retriever,
    Scope,
    StoreBusyError,
)
from scrubjay.backend import Backend
from scrubjay.retrieval.judged_sets import from_feedback
from scrubjay.store.rows import feedback as feedback_log
from scrubjay.store.rows.sealed import SEALED, is_sealed
from scrubjay.store.sqlite import feedback as feedback_store
from scrubjay.store.sqlite.registry import seal_tables

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
SECRET = "where did I hide the yellow submarine"


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    index = Index() if request.param == "memory" else Index.open(tmp_path / "a.scrubjay", durability="normal")
    index.upsert("mine", "Takes the night train.", scope=JANE)
    index.upsert("ours", "The train leaves at nine.", scope=ACME)
    index.upsert("his", "Missed the train.", scope=JOE)
    yield index
    index.close()


def noted(index: Index, scope: Scope | None = None) -> list[tuple[str | int, bool, str | None, Scope]]:
    return [(note.id, note.used, note.query, note.scope) for note in index.admin.feedbacks(scope)]


def test_feedback_records_hit_id_question_and_asker(index: Index) -> None:
    hit = next(hit for hit in index.search("train", scope=JANE) if hit.id == "ours")
    assert index.feedback(hit, query="train", scope=JANE)
    assert index.feedback("mine", False, "when?", scope=JANE)
    assert noted(index) == [("ours", True, "train", JANE), ("mine", False, "when?", JANE)]
    first, second = index.admin.feedbacks()
    assert (first.lexical_rank, first.vector_rank, first.score) == (hit.lexical_rank, None, hit.score)
    assert (second.lexical_rank, second.score) == (None, None)
    assert abs(first.at - time.time()) < 60
    retrieved = Retriever(index).search("train", scope=JANE)[0]
    assert index.feedback(retrieved, query="train", scope=JANE)
    assert [note.document_scope for note in index.admin.feedbacks()] == [ACME, JANE, retrieved.scope]


def test_feedback_is_taken_only_on_visible_documents(index: Index) -> None:
    assert not index.feedback("his", query="x", scope=JANE)
    assert not index.feedback("mine", query="x", scope=ACME)
    assert not index.feedback("ours", query="x", scope=Scope("globex"))
    assert not index.feedback("nobody's", query="x", scope=JANE)
    assert index.admin.feedbacks() == []
    assert index.feedback("ours", query="x", scope=Scope("acme", "jane", "coder"))


def test_notes_of_a_scope(index: Index) -> None:
    for id, scope in (("mine", JANE), ("ours", JOE), ("ours", ACME)):
        assert index.feedback(id, query="q", scope=scope)
    assert [note.scope for note in index.admin.feedbacks(ACME)] == [JANE, JOE, ACME]
    assert [note.scope for note in index.admin.feedbacks(JOE)] == [JOE]
    assert index.admin.feedbacks(Scope("globex")) == []


def test_a_deleted_memory_takes_its_notes_along(index: Index) -> None:
    index.feedback("ours", query=SECRET, scope=JANE)
    index.feedback("mine", query="other", scope=JANE)
    assert not index.delete("ours", scope=JANE)
    assert len(index.admin.feedbacks()) == 2
    index.delete("ours", scope=ACME)
    assert [note.id for note in index.admin.feedbacks()] == ["mine"]
    index.upsert("ours", "Written anew.", scope=ACME)
    assert [note.id for note in index.admin.feedbacks()] == ["mine"]


def test_feedback_on_the_same_id_in_two_scopes_is_kept_apart(index: Index) -> None:
    for scope in (ACME, JANE, JOE):
        index.upsert("m", f"A train, by {scope!r}.", scope=scope)
    assert index.feedback("m", query="an id is the most specific that the asker sees", scope=JANE)
    for hit in index.search("train", scope=JANE, query=Query(ids=["m"])):
        assert index.feedback(hit, hit.scope == ACME, "train", scope=JANE)
    assert index.feedback("m", query="joe's", scope=JOE)
    assert index.feedback("m", query="shared", scope=Scope("acme", agent="coder"))

    def judged() -> list[tuple[str | None, bool, Scope]]:
        return sorted((note.query, note.used, note.document_scope) for note in index.admin.feedbacks())

    of_jane = [("an id is the most specific that the asker sees", True, JANE), ("train", False, JANE)]
    of_others = [("joe's", True, JOE), ("shared", True, ACME), ("train", True, ACME)]
    assert judged() == sorted([*of_jane, *of_others])
    found = {(query.text, query.scope): set(query.relevant) for query in from_feedback(index)}
    assert found["train", JANE] == {(ACME, "m")} and found["joe's", JOE] == {(JOE, "m")}
    index.delete("m", scope=JANE)
    assert judged() == of_others
    index.upsert("m", "Written anew.", scope=JANE)
    assert judged() == of_others
    index.erase(ACME, exact=True)
    assert judged() == [("joe's", True, JOE)]
    if index.path is not None:
        assert index.admin.check().problems == []


def test_a_replaced_memory_keeps_them(index: Index) -> None:
    index.feedback("mine", query="q", scope=JANE)
    index.upsert("mine", "Takes the evening train.", scope=JANE)
    assert [note.id for note in index.admin.feedbacks()] == ["mine"]


@pytest.mark.parametrize(
    ("scope", "exact", "left"),
    [
        (JANE, False, [("ours", JOE), ("his", JOE), ("ours", ACME)]),
        (JANE, True, [("ours", JOE), ("his", JOE), ("ours", ACME)]),
        (ACME, True, [("mine", JANE), ("his", JOE)]),  # feedback on shared memories is deleted with them
        (ACME, False, []),
        (
            Scope("globex"),
            False,
            [("mine", JANE), ("ours", JANE), ("ours", JOE), ("his", JOE), ("ours", ACME)],
        ),
    ],
)
def test_erasing_a_scope_deletes_its_feedback_and_that_on_its_documents(
    index: Index, scope: Scope, exact: bool, left: list[tuple[str, Scope]]
) -> None:
    for id, asker in (("mine", JANE), ("ours", JANE), ("ours", JOE), ("his", JOE), ("ours", ACME)):
        assert index.feedback(id, query="q", scope=asker)
    index.erase(scope, exact=exact)
    assert [(note.id, note.scope) for note in index.admin.feedbacks()] == left
    if index.path is not None:
        assert index.admin.check().problems == []


def test_erasure_of_a_user_without_memories_deletes_their_questions(index: Index) -> None:
    """A user who only read shared memories has left questions all the same."""
    reader = Scope("acme", user="reader")
    index.feedback("ours", query=SECRET, scope=reader)
    assert index.erase(reader) == 0
    assert index.admin.feedbacks() == []


def test_erase_covers_feedback_of_all_collections(index: Index) -> None:
    side = index.collection("side")
    side.upsert("m", "A train.", scope=JANE)
    side.feedback("m", query="q", scope=JANE)
    index.feedback("ours", query="q", scope=JANE)
    assert (len(side.admin.feedbacks()), len(index.admin.feedbacks())) == (1, 1)
    index.erase(JANE)
    assert (len(side.admin.feedbacks()), len(index.admin.feedbacks())) == (1, 0)
    index.erase(JANE, everywhere=True)
    assert side.admin.feedbacks() == []


def test_feedback_is_deleted_with_its_expired_memory(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.upsert("soon", "A train.", scope=JANE, ttl=600)
    index.feedback("soon", query="q", scope=JANE)
    assert len(index.admin.feedbacks()) == 1
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + 601 * 10**9)
    assert index.admin.feedbacks() == []
    assert not index.feedback("soon", query="q", scope=JANE)
    index.admin.sweep()
    index.upsert("soon", "A train.", scope=JANE)
    assert index.admin.feedbacks() == []


@pytest.mark.parametrize(
    ("arguments", "error", "names"),
    [
        ({"hit": None}, TypeError, "id: expected a str or an int"),
        ({"hit": True}, TypeError, "id: expected a str or an int"),
        ({"hit": 2**63}, (TypeError, ValueError), "id: expected"),
        ({"used": 1}, TypeError, "used: expected a bool, got int 1"),
        ({"query": b"q"}, TypeError, "query: expected a str, got bytes"),
        ({"query": "q" * 32_769}, ValueError, "query: expected at most 32,768 characters, got 32,769"),
        ({"scope": "acme"}, TypeError, "scope: expected a scrubjay.Scope, got str"),
        ({"scope": None}, TypeError, "scope: expected a scrubjay.Scope with an id, got None"),
    ],
)
def test_bad_arguments(
    index: Index, arguments: dict[str, object], error: type[Exception], names: str
) -> None:
    with pytest.raises(error, match=names):
        index.feedback(**{"hit": "mine", "scope": JANE, **arguments})  # type: ignore[arg-type]
    assert index.admin.feedbacks() == []


@pytest.mark.parametrize(
    "query", ["", "\0 and more", "naïve 鸟 🐦", "lone \ud800 half", "'; DROP TABLE feedback; --"]
)
def test_any_text_is_a_question(index: Index, query: str) -> None:
    assert index.feedback("mine", query=query, scope=JANE)
    assert index.admin.feedbacks()[0].query == query.replace("\ud800", "\ufffd")
    assert index.admin.check().problems == [] if index.path is not None else True


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    with Index.open(tmp_path / "n.scrubjay") as index:
        index.upsert(7, "A train.", scope=JANE)
        assert index.feedback(index.search("train", scope=JANE)[0])
        assert [note.id for note in index.admin.feedbacks()] == [7]
        with pytest.raises(TypeError, match="expected int like the ids"):
            index.feedback("7", scope=JANE)


def test_the_oldest_make_room(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (feedback_log, feedback_store):
        monkeypatch.setattr(module, "MAX_NOTES", 5)
    monkeypatch.setattr(feedback_store, "_PRUNED_EVERY", 1)
    index.upsert("theirs", "A train.", scope=Scope("globex"))
    index.feedback("theirs", query="first of all", scope=Scope("globex"))
    for i in range(12):
        index.feedback("mine", query=str(i), scope=JANE)
    queries = [note.query for note in index.admin.feedbacks()]
    assert queries == ["first of all", "7", "8", "9", "10", "11"]  # tenants evict only their own


# ---- files -----------------------------------------------------------------------------------------------------------


def test_notes_survive_and_are_seen_by_others(tmp_path: Path) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("m1", "Takes the train.", scope=JANE)
        assert other.admin.feedbacks() == []
        index.feedback("m1", query="how?", scope=JANE)
        assert [note.query for note in other.admin.feedbacks()] == ["how?"]
    script = textwrap.dedent(
        """
        import os, sys
        from scrubjay import Index, Scope
        index = Index.open(sys.argv[1])
        assert index.feedback("m1", False, "from elsewhere", scope=Scope("acme", user="jane"))
        os.kill(os.getpid(), 9)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    with Index.open(path) as index:
        assert noted(index) == [("m1", True, "how?", JANE), ("m1", False, "from elsewhere", JANE)]
        assert index.admin.check().problems == []


def test_an_erased_question_leaves_no_bytes_in_the_file(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        index.upsert("ours", "The submarine.", scope=ACME)
        index.feedback("ours", query=SECRET, scope=JANE)
        assert not index.admin.verify_erased([SECRET]).clean
        index.erase(JANE)
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean
        assert len(index) == 1


def test_a_file_without_feedback_has_no_table_of_it(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        index.upsert("m", "A train.", scope=JANE)
        assert not index.feedback("other", scope=JANE)
        connection = Backend.of(index).engine.store.reading_connection()  # type: ignore[union-attr]
        tables = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'feedback%'"
        assert connection.execute(tables).fetchone() == (0,)
        index.feedback("m", scope=JANE)
        assert connection.execute(tables).fetchone() == (3,)


def test_a_dropped_collection_takes_its_notes_along(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        side = index.collection("side")
        side.upsert("m", "A train.", scope=JANE)
        side.feedback("m", query=SECRET, scope=JANE)
        index.admin.drop_collection("side")
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean
        assert index.collection("side").admin.feedbacks() == []


def test_backups_have_the_notes(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        index.upsert("m", "A train.", scope=JANE)
        index.feedback("m", query="q", scope=JANE)
        index.admin.backup(tmp_path / "b.scrubjay")
    with Index.open(tmp_path / "b.scrubjay") as copy:
        assert [note.query for note in copy.admin.feedbacks()] == ["q"]


def test_notes_leave_cached_results_and_searches_alone(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay", busy_timeout=0.05) as index:
        index.upsert("m", "A train.", scope=JANE)
        before = (Backend.of(index).generation(JANE), Backend.of(index).shared_generation(JANE))
        index.feedback("m", query="q", scope=JANE)
        assert (Backend.of(index).generation(JANE), Backend.of(index).shared_generation(JANE)) == before
        with Backend.of(index).engine.store.exclusively("testing") as writer:  # type: ignore[union-attr]
            writer.execute("BEGIN IMMEDIATE")
            done: list[object] = []

            def note() -> None:
                try:
                    index.feedback("m", query="q2", scope=JANE)
                except StoreBusyError as error:
                    done.append(error)

            thread = threading.Thread(target=note)
            thread.start()
            assert len(index.search("train", scope=JANE)) == 1  # a blocked writer blocks no search
            thread.join()
            writer.execute("ROLLBACK")
        assert len(done) == 1
        assert [n.query for n in index.admin.feedbacks()] == ["q"]


class Cipher:
    """Encrypts by inverting bits and adding the location; the key of one tenant is destroyed."""

    def __init__(self, usual: Any, gone: str) -> None:
        self._usual, self._gone = usual, gone

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def seal(self, tenant: str, place: str, data: bytes | None, *, user: str = "") -> bytes | None:
        if data is None:
            return None
        return SEALED + f"{tenant} {place}|".encode() + bytes(255 - byte for byte in data)

    def open(self, tenant: str, place: str, data: bytes | None) -> bytes | None:
        if data is None or not is_sealed(data):
            return data
        head, _, sealed = data.partition(b"|")
        assert head == SEALED + f"{tenant} {place}".encode()
        return bytes(255 - byte for byte in sealed)

    def readable(self, tenant: str, user: str | None = None) -> bool:
        return tenant != self._gone


def test_questions_are_sealed_where_the_store_has_a_cipher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        index.upsert("m", "A train.", scope=JANE)
        index.upsert("g", "A train.", scope=Scope("gone"))
        index.feedback("m", query="asked before", scope=JANE)
        usual = store.cipher
        for part in (store, store._scopes):  # the writer and the reader of feedback
            monkeypatch.setattr(part, "cipher", Cipher(usual, "nobody's"))
        index.feedback("g", query="will never be read", scope=Scope("gone"))
        for part in (store, store._scopes):
            monkeypatch.setattr(part, "cipher", Cipher(usual, "gone"))
        index.feedback("m", query=SECRET, scope=JANE)
        index.feedback("m", scope=JANE)
        assert not index.feedback("g", query="as if erased", scope=Scope("gone"))
        assert index.admin.verify_erased([SECRET]).clean
        assert [note.query for note in index.admin.feedbacks()] == ["asked before", SECRET, None]
        with store.writing("encrypting") as transaction:
            count = (
                "SELECT count(*) FROM feedback WHERE tenant = 'acme' AND hex(substr(query, 1, 2)) = 'FF01'"
            )
            assert transaction.connection.execute(count).fetchone() == (1,)
            seal_tables(transaction.connection, store.cipher, "acme", first=False)
            assert transaction.connection.execute(count).fetchone() == (2,)
        assert [note.query for note in index.admin.feedbacks()] == ["asked before", SECRET, None]
        index.admin.compact()
        assert index.admin.verify_erased(["asked before"]).clean


def test_a_closed_index_takes_no_notes(tmp_path: Path) -> None:
    index = Index.open(tmp_path / "a.scrubjay")
    index.upsert("m", "A train.", scope=JANE)
    hit = index.search("train", scope=JANE)[0]
    index.close()
    with pytest.raises(ClosedError):
        index.feedback(hit)
    with pytest.raises(ClosedError):
        index.admin.feedbacks()


def test_erasing_while_notes_arrive_leaves_none(index: Index) -> None:
    stop = threading.Event()

    def keep_noting() -> None:
        while not stop.is_set():
            index.feedback("mine", query=SECRET, scope=JANE)
            noted.set()

    noted = threading.Event()
    threads = [threading.Thread(target=keep_noting) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert noted.wait(60)
    time.sleep(0.05)
    index.erase(JANE)
    time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join()
    index.upsert("mine", "New.", scope=JANE)
    assert index.admin.feedbacks() == []


def test_feedback_becomes_judgements(index: Index) -> None:
    for id, used, query in [
        ("mine", True, "how?"),
        ("ours", False, "how?"),
        ("ours", True, "when?"),
        ("mine", True, "who?"),
        ("mine", False, "who?"),
        ("ours", True, None),
        ("ours", True, "  "),
    ]:
        assert index.feedback(id, used, query, scope=JANE)
    index.feedback("ours", True, "how?", scope=JOE)
    found = [(query.text, query.scope, set(query.relevant)) for query in from_feedback(index)]
    mine, ours = (JANE, "mine"), (ACME, "ours")
    assert found == [("how?", JANE, {mine}), ("when?", JANE, {ours}), ("how?", JOE, {ours})]
    assert [query.scope for query in from_feedback(index, JOE)] == [JOE]


def test_questions_of_encrypted_tenants(tmp_path: Path) -> None:
    """Encrypted from the first key on, completely once the whole tenant is encrypted, gone with the key."""
    pytest.importorskip("cryptography", reason="cryptography is not installed (extra: encryption)")
    keys: dict[str, Any] = {"acme": None}

    def provider(tenant: str) -> Any:
        if keys.get(tenant) == "gone":
            raise KeyErasedError(tenant)
        return keys.get(tenant)

    path = tmp_path / "a.scrubjay"
    with Index.open(path, keys=provider, durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        index.upsert("other", "A train.", scope=Scope("globex"))
        index.feedback("m", query="asked in the clear", scope=JANE)
        index.feedback("other", query="asked of another tenant", scope=Scope("globex"))
    keys["acme"] = bytes(32)
    with Index.open(path, keys=provider, durability="normal") as index:  # "sealed" requires encrypt first
        for ask in (lambda: index.feedback("m", query=SECRET, scope=JANE), index.admin.feedbacks):
            with pytest.raises(EncryptionError, match=r"in the clear.*index\.admin\.encrypt\('acme'\)"):
                ask()
    with Index.open(path, keys=provider, durability="normal", encryption="mixed") as index:
        index.feedback("m", query=SECRET, scope=JANE)
        assert index.admin.verify_erased([SECRET]).clean
        assert not index.admin.verify_erased(["asked in the clear"]).clean
        index.admin.encrypt("acme")
        index.admin.compact()
        assert index.admin.verify_erased(["asked in the clear"]).clean
        expected = ["asked in the clear", "asked of another tenant", SECRET]
        assert [note.query for note in index.admin.feedbacks()] == expected
        assert index.admin.check().problems == []
    keys["acme"] = "gone"
    with Index.open(path, keys=provider, durability="normal") as index:
        assert [note.query for note in index.admin.feedbacks()] == ["asked of another tenant"]
        assert not index.feedback("m", query="too late", scope=JANE)
        assert index.feedback("other", query="still there", scope=Scope("globex"))
        index.erase(Scope("acme"))
        assert len(index.admin.feedbacks()) == 2
        assert index.admin.check().problems == []
