"""A legal hold keeps the held notes, whichever way they would be replaced, changed or deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import HeldError, Index, OwnedCollectionError
from scrubjay.backend import Backend, Documents
from scrubjay.memory import Memory
from tests.memory.setting import ACME, GLOBEX, JANE, JANES_CODER, JOE, Clock, lives, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        for scope in (ACME, JANE, JANES_CODER, JOE):
            memory.index.upsert_many(
                [{"id": "n1", "text": "oak"}, {"id": "n2", "text": "elm", "metadata": {"kind": "tree"}}],
                scope=scope,
            )
        memory.index.collection("side").upsert("s1", "ash", scope=JANE)
        yield memory


def everything(memory: Memory) -> list[Any]:
    found = []
    for index in (memory.index, memory.index.collection("side")):
        for scope in index.scopes():
            for record in index.list(scope, exact=True):
                found.append(
                    (index.count(scope), scope, record.id, record.text, record.version, record.metadata)
                )
    return found


def through_backend(memory: Memory, change: Callable[[Any], Any]) -> None:
    with Backend.of(memory.index).changing("testing") as changing:
        change(changing)


DESTROYING: dict[str, Callable[[Memory], Any]] = {
    "upsert": lambda memory: memory.index.upsert("n1", "rewritten", scope=JANE),
    "upsert within": lambda memory: memory.index.upsert("n1", "rewritten", scope=JANES_CODER),
    "upsert at a version": lambda memory: memory.index.upsert(
        "n1", "rewritten", scope=JANE, version=getattr(memory.index.get("n1", scope=JANE), "version", 0)
    ),
    "upsert_many": lambda memory: memory.index.upsert_many(
        [{"id": "n0", "text": "new"}, {"id": "n1", "text": "rewritten"}], scope=JANE
    ),
    "upsert of several scopes": lambda memory: memory.index.upsert_many(
        [{"id": "n1", "text": "other", "scope": JOE}, {"id": "n1", "text": "rewritten", "scope": JANE}]
    ),
    "patch": lambda memory: memory.index.patch("n1", scope=JANE, metadata={"kind": "x"}),
    "patch a vector": lambda memory: memory.index.patch("n1", scope=JANE, vector=None),
    "delete": lambda memory: memory.index.delete("n1", scope=JANE),
    "delete_many": lambda memory: memory.index.delete_many(["n9", "n1"], scope=JANE),
    "delete by filter": lambda memory: memory.index.delete_many(filter={"kind": "tree"}, scope=JANE),
    "delete in a view": lambda memory: memory.index.scope("acme", user="jane").delete("n1"),
    "delete in a collection": lambda memory: memory.index.collection("side").delete("s1", scope=JANE),
    "erase": lambda memory: memory.index.erase(JANE),
    "erase around": lambda memory: memory.index.erase(ACME),
    "erase within": lambda memory: memory.index.erase(JANES_CODER, exact=True),
    "erase a collection": lambda memory: memory.index.collection("side").erase(JANE),
    "drop a collection": lambda memory: memory.index.admin.drop_collection("side"),
    "documents": lambda memory: Documents(memory.index).delete_many(["n1"], scope=JANE),
    "a batch": lambda memory: through_backend(
        memory, lambda change: change.delete(["n1"], scope=JANE, reason="test")
    ),
    "a batch that erases": lambda memory: through_backend(
        memory, lambda change: change.erase(JANE, reason="test")
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", DESTROYING)
def test_held_notes_are_not_destroyed(memory: Memory, how: str) -> None:
    memory.admin.hold(JANE, reason="case 17", by="legal")
    before = everything(memory)
    with pytest.raises(HeldError, match="case 17") as caught:
        DESTROYING[how](memory)
    assert caught.value.scope == JANE and everything(memory) == before
    assert memory.index.admin.check().clean and memory.admin.check() == []
    memory.admin.release(JANE, by="legal")
    DESTROYING[how](memory)
    assert everything(memory) != before


def test_new_and_foreign_documents_are_written_during_a_hold(memory: Memory) -> None:
    memory.admin.hold(JANE, reason="case 17", by="legal")
    index = memory.index
    index.upsert("n3", "larch", scope=JANE)
    index.upsert("n9", "yew", scope=JANES_CODER, version=0)
    assert not index.delete("n8", scope=JANE) and index.delete_many(["n8"], scope=JANE) == 0
    assert index.delete_many(filter={"kind": "house"}, scope=JANE) == 0
    assert index.patch("n8", scope=JANE, metadata={"a": 1}) is None
    for scope in (JOE, ACME):  # a hold on a user does not cover the tenant's own notes
        index.upsert("n1", "rewritten", scope=scope)
        assert index.delete("n1", scope=scope)
    assert index.erase(ACME, exact=True) == 1 and index.erase(JOE) == 1 and index.erase(GLOBEX) == 0
    assert sorted(str(record.id) for record in index.list(JANE, exact=True)) == ["n1", "n2", "n3"]
    with pytest.raises(HeldError):
        index.delete("n3", scope=JANE)  # written after the hold was set


def test_a_hold_on_the_tenant_holds_all_within(memory: Memory) -> None:
    memory.admin.hold(ACME, reason="case 17", by="legal")
    for scope in (ACME, JANE, JOE, JANES_CODER):
        with pytest.raises(HeldError):
            memory.index.delete("n1", scope=scope)
    memory.index.upsert("n1", "oak", scope=GLOBEX)
    assert memory.index.delete("n1", scope=GLOBEX)


def test_expired_documents_under_a_hold_are_hidden_but_kept(tmp_path: Path) -> None:
    clock = Clock()
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        expires_at = datetime.fromtimestamp(clock.now / 1e6, timezone.utc) + timedelta(seconds=10)
        for scope in (JANE, JOE):
            memory.index.upsert("n1", "oak", scope=scope, expires_at=expires_at)
        memory.admin.hold(JANE, reason="case 17", by="legal")
        Backend.of(memory.index).use_clock(clock)
        clock.now += 60_000_000
        assert memory.index.get("n1", scope=JANE) is None and len(memory.index.search("oak", scope=JANE)) == 0
        assert memory.index.admin.sweep() == 1
        with pytest.raises(HeldError):
            memory.index.upsert("n1", "rewritten", scope=JANE)
        memory.admin.release(JANE, by="legal")
        assert memory.index.admin.sweep() == 1


def test_memorys_own_documents_follow_its_records(memory: Memory) -> None:
    old = lives(memory, "Oslo").id
    memory.admin.hold(JANE, reason="case 17", by="legal")
    new = lives(memory, "Rome")
    assert (
        new.superseded == old
        and memory.recall("where does Jane live?", JANE).texts[0] == "Jane lives in Rome"
    )
    assert memory.revoke(new.id or "", reason="x", scope=JANE) is None and memory.admin.check() == []


def test_pending_documents_under_a_hold_are_embedded(tmp_path: Path) -> None:
    class Embedder:
        name, dim, is_up = "ones", 2, False

        def embed_documents(self, texts: list[str]) -> Any:
            if not self.is_up:
                raise OSError("away")
            return np.ones((len(texts), 2), dtype=np.float32)

        def embed_query(self, text: str) -> Any:
            return self.embed_documents([text])[0]

    embedder = Embedder()
    path = tmp_path / "m.scrubjay"
    with Index.open(path, embedder=embedder) as index, Memory(index) as memory:
        index.upsert("n1", "oak", scope=JANE)
        memory.admin.hold(JANE, reason="case 17", by="legal")
        embedder.is_up = True
        assert index.admin.backfill().pending == 0
        record = index.get("n1", scope=JANE)
        assert record is not None and not record.pending
        index.admin.reembed(embedder)
        with pytest.raises(HeldError):
            index.delete("n1", scope=JANE)


def test_a_hold_of_another_process_is_met_by_one_that_never_saw_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        index.upsert("n1", "oak", scope=JANE)
        index.upsert("n1", "elm", scope=JANE)
        with open_memory(path) as memory:
            memory.admin.hold(JANE, reason="case 17", by="legal")
            for write in (
                lambda: index.upsert("n1", "rewritten", scope=JANE),
                lambda: index.delete("n1", scope=JANE),
                lambda: index.erase(ACME),
            ):
                with pytest.raises(HeldError):
                    write()
            memory.admin.release(JANE, by="legal")
            index.upsert("n1", "rewritten", scope=JANE)


@pytest.mark.parametrize("arguments", [{"everywhere": True}, {"names": True}])
def test_an_erasure_of_all_collections_is_memorys(
    memory: Memory, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    lives(memory, "Oslo")
    before = everything(memory)
    with Index.open(tmp_path / "m.scrubjay") as other:
        for index in (memory.index, memory.index.collection("side"), other):
            with pytest.raises(OwnedCollectionError, match=r"Memory\.forget"):
                index.erase(JANE, **arguments)
    assert everything(memory) == before and memory.admin.check() == []
    assert memory.recall("where does Jane live?", JANE).texts[0] == "Jane lives in Oslo"
    memory.forget(JANE)
    assert memory.list(JANE) == [] and memory.index.count(JANE) == memory.index.count(ACME) == 2
