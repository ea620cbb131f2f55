"""The engine in memory and the one over rows do the same, whichever layer calls them."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from scrubjay import ClosedError, Index, Scope, StoreError
from scrubjay.backend import Backend
from scrubjay.documents.payload import encode, with_pending
from scrubjay.store.document_engine import DocumentEngine
from scrubjay.store.rows.listing import listing_of
from scrubjay.store.rows.scrolling import scroll_of

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    index = Index() if request.param == "memory" else Index.open(tmp_path / "a.scrubjay", durability="normal")
    yield index
    index.close()


@pytest.fixture
def engine(index: Index) -> DocumentEngine:
    return Backend.of(index).engine


def expiring(seconds: float) -> bytes | None:
    """Return the payload of a document that expires in some seconds."""
    return encode(None, None, datetime.fromtimestamp(time.time() + seconds, timezone.utc))


READS: dict[str, Callable[[DocumentEngine], object]] = {
    "len": len,
    "count": lambda engine: engine.count(JANE),
    "get": lambda engine: 0 if engine.get("m1", scope=JANE) is None else 1,
    "found": lambda engine: len(engine.found("m1", within=ACME)),
    "listed": lambda engine: len(engine.listed(listing_of(JANE))),
    "page": lambda engine: len(engine.page(scroll_of(JANE), None)[0]),
    "keys": lambda engine: len(engine.keys(scroll_of(JANE, order_by="n"))),
    "version_at": lambda engine: 0 if engine.version_at([scroll_of(JANE)], 0) is None else 1,
    "values": lambda engine: len(engine.values("expires_at", scroll_of(JANE)).most_common(None)),
    "scopes": lambda engine: len(engine.scopes(ACME)),
    "scopes of users": lambda engine: len(engine.scopes(ACME, ("ja", "jb"))),
    "first_scopes": lambda engine: len(engine.first_scopes(ACME, None, 5)),
    "search": lambda engine: len(engine.search("train", scope=JANE)),
    "search_batch": lambda engine: len(engine.search_batch(["train"], scope=JANE)[0]),
    "find_substring": lambda engine: len(engine.find_substring("train", scope=JANE)),
    "admitted": lambda engine: len(engine.admitted(JANE)),
    "holds": lambda engine: int(engine.holds(JANE)),
}
"""Name -> a call that returns 1 if there is one document, 0 if there is none."""


@pytest.mark.parametrize("read", READS)
def test_an_expired_document_is_seen_by_no_read(engine: DocumentEngine, read: str) -> None:
    assert READS[read](engine) == 0
    engine.upsert("m1", "Takes the night train.", scope=JANE, payload=expiring(0.5))
    assert READS[read](engine) == 1
    time.sleep(0.6)
    assert READS[read](engine) == 0


def test_every_write_of_the_engine_records_the_expiry(engine: DocumentEngine) -> None:
    engine.upsert("one", "train", scope=JANE, payload=expiring(-1))
    engine.upsert_many(
        ["two", "three"], ["train"] * 2, scope=[JANE, ACME], payloads=[expiring(-1), expiring(60)]
    )
    engine.upsert_versioned(["four"], ["train"], scope=JANE, versions=[0], payloads=[expiring(-1)])
    assert [document.id for document in engine.listed(listing_of(JANE))] == ["three"]
    assert engine.upsert_versioned(["four"], ["train"], scope=JANE, versions=[0])  # it counts as absent


def test_pending_documents_are_listed_until_they_are_embedded_or_deleted(engine: DocumentEngine) -> None:
    ids = ["m1", "m2", "m3"]
    engine.upsert_many(ids, ["train"] * 3, scope=[JANE, ACME, JANE], payloads=[with_pending(None)] * 3)
    assert [[document.id for document in page] for page in engine.pending.pages(2)] == [["m1", "m2"], ["m3"]]
    assert engine.pending.count([JANE]) == 2
    engine.upsert("m1", "train", scope=JANE, vector=[1.0, 2.0])
    engine.delete("m2", scope=ACME)
    engine.pending.forget_embedded()
    assert [[document.id for document in page] for page in engine.pending.pages(2)] == [["m3"]]
    assert engine.pending.count() == 1


@pytest.mark.parametrize("verb", ["delete", "delete_many", "delete_keys", "delete by filter", "erase"])
def test_feedback_is_deleted_with_its_document(index: Index, engine: DocumentEngine, verb: str) -> None:
    def write() -> None:
        for scope in (JANE, JOE):
            index.upsert("m1", "train", scope=scope, metadata={"kind": "note"})

    write()
    for scope in (JANE, JOE):
        assert index.feedback("m1", scope=scope)
    if verb == "delete":
        engine.delete("m1", scope=JANE)
    elif verb == "delete_many":
        engine.delete_many(["m1"], scope=JANE)
    elif verb == "delete_keys":
        Backend.of(index).delete_keys([(JANE, "m1")])
    elif verb == "erase":
        engine.erase(JANE)
    else:
        index.delete_many(filter={"kind": "note"}, scope=JANE)
    write()  # the new document has the key of the old one
    assert [note.document_scope for note in engine.notes(None)] == [JOE]


def test_a_closed_engine_raises_in_every_call(index: Index, engine: DocumentEngine) -> None:
    engine.upsert("m1", "train", scope=JANE)
    assert not engine.is_closed
    index.close()
    index.close()
    assert engine.is_closed
    calls = {
        **READS,
        "upsert": lambda engine: engine.upsert("m1", "train", scope=JANE),
        "delete": lambda engine: engine.delete("m1", scope=JANE),
        "erase": lambda engine: engine.erase(JANE, everywhere=True),
        "sweep": lambda engine: engine.sweep(),
        "notes": lambda engine: engine.notes(None),
        "compact": lambda engine: engine.compact(),
        "stats": lambda engine: engine.stats(),
        "durable": lambda engine: engine.durable("test"),
        "check_open": lambda engine: engine.check_open(),
        "generation": lambda engine: engine.generation(JANE),
        "shared_generation": lambda engine: engine.shared_generation(JANE),
    }
    for name, call in calls.items():
        with pytest.raises(ClosedError):
            pytest.fail(f"{name}: {call(engine)}")


def test_closing_an_index_in_memory_frees_its_documents() -> None:
    index = Index()
    native = weakref.ref(Backend.of(index).engine.native)
    index.close()
    gc.collect()
    assert native() is None


def test_the_verbs_of_a_file_are_refused_in_memory() -> None:
    engine = Backend.of(Index()).engine
    assert not engine.is_durable and engine.path is None and engine.shared_generation(JANE) is None
    with pytest.raises(StoreError, match="backup: this index is in memory and has no file"):
        engine.durable("backup")


def test_collections_are_listed_dropped_and_erased_together(index: Index, engine: DocumentEngine) -> None:
    for name in ("b", "a"):
        index.collection(name).upsert("m1", "train", scope=JANE)
    index.upsert("m1", "train", scope=JANE)
    assert engine.collection_names() == ["a", "b"]
    assert index.admin.drop_collection("b") == 1 and engine.collection_names() == ["a"]
    with pytest.raises(ValueError, match="exact: expected False with names=True"):
        engine.erase(JANE, exact=True, names=True)
    assert engine.erase(JANE, everywhere=True) == 2
    assert len(index) == len(index.collection("a")) == 0
