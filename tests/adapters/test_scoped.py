"""Changes by callers with scopes: isolation from the memories of others."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Index, Query, Scope
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError, ScopedMemories, UnknownMemoryError

SCOPES = [
    Scope(tenant, user, agent)
    for tenant in ("a", 'a",null,null]:')
    for user in (None, "u", 'u",null]:m')
    for agent in (None, "u")
]
# Plain ids, and ids in the form of an earlier encoding with a scope prefix.
IDS = st.sampled_from(["m", 'm"', '["a",null,null]:m', '["a","u",null]:m', "\x00", "*", "m" * 500])
OPERATION = st.tuples(
    st.sampled_from(["put", "get", "update", "delete", "erase"]), st.sampled_from(SCOPES), IDS
)


def visible(scope: Scope) -> list[Scope]:
    """Return the scopes that a scope sees, the most specific first, computed independently."""
    users, agents = dict.fromkeys([scope.user, None]), dict.fromkeys([scope.agent, None])
    return [Scope(scope.tenant, user, agent) for user in users for agent in agents]


@given(st.lists(OPERATION, max_size=40))
@example([("put", SCOPES[0], "m"), ("put", SCOPES[0], '["a",null,null]:m'), ("get", SCOPES[0], "m")])
def test_scoped_memories_behave_as_one_dictionary_a_scope(operations: list[tuple[str, Scope, str]]) -> None:
    index = Index()
    memories = ScopedMemories(index)
    model: dict[tuple[Scope, str], str] = {}
    for number, (what, scope, id) in enumerate(operations):
        text = f"text {number}"
        seen = next((key for key in ((one, id) for one in visible(scope)) if key in model), None)
        if what == "put":
            assert memories.put(scope, [{"id": id, "text": text}]) == 1
            model[scope, id] = text
        elif what == "get":
            found = index.get(id, scope=scope)
            assert (None if found is None else (found.scope, found.id, found.text)) == (
                None if seen is None else (*seen, model[seen])
            )
        elif what == "erase":
            gone = [key for key in model if scope.contains(key[0])]
            assert memories.erase(scope, exact=False) == len(gone)
            for key in gone:
                del model[key]
        else:
            expected = UnknownMemoryError if seen is None else ReadOnlyMemoryError
            try:
                if what == "update":
                    memories.update(scope, id, {"text": text})
                else:
                    memories.delete(scope, id)
            except (UnknownMemoryError, ReadOnlyMemoryError) as error:
                assert type(error) is expected and (seen is None or seen[0] != scope)
            else:
                assert seen is not None and seen[0] == scope
                if what == "update":
                    model[seen] = text
                else:
                    del model[seen]
        chosen = index.search("text", scope=scope, query=Query(ids=[id]), k=100)
        assert {(hit.scope, hit.id) for hit in chosen} == {
            (one, id) for one in visible(scope) if (one, id) in model
        }
        for one in {scope, *visible(scope)}:
            hits = index.search("text", scope=one, k=100)
            assert sorted((str(hit.scope), hit.id, hit.text) for hit in hits) == sorted(
                (str(key[0]), key[1], text) for key, text in model.items() if key[0] in visible(one)
            )


def test_memories_of_the_index_itself_are_the_same_memories() -> None:
    index = Index()
    memories = ScopedMemories(index)
    acme, jane, joe = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
    index.upsert("m1", "Prefers trains.", scope=jane, metadata={"n": 1}, created_at="2026-03-01")
    index.upsert("m2", "Closed on Monday.", scope=acme)
    memories.put(joe, [{"id": "m1", "text": "Prefers planes."}])  # jane has one, which joe cannot notice
    updated = memories.update(jane, "m1", {"text": "Prefers ships."})
    assert (updated.id, updated.scope, updated.metadata) == ("m1", jane, {"n": 1})
    assert updated.created_at is not None and updated == index.get("m1", scope=jane)
    for change in (memories.delete, lambda scope, id: memories.update(scope, id, {"text": "x"})):
        with pytest.raises(ReadOnlyMemoryError, match="shared"):
            change(jane, "m2")
        with pytest.raises(UnknownMemoryError):
            change(acme, "m1")
    memories.put(jane, [{"id": "m1", "text": "Prefers to stay."}])
    assert len(index) == 3 and index.count(jane) == 2
    memories.delete(jane, "m1")
    assert index.get("m1", scope=jane) is None and index.get("m1", scope=joe) is not None


def test_an_update_keeps_what_it_does_not_name() -> None:
    memories = ScopedMemories(Index(dim=2))
    jane = Scope("acme", user="jane")
    memories.put(jane, [{"id": "m", "text": "a", "metadata": {"x": 1}, "vector": [0.6, 0.8], "ttl": 3600}])
    before = memories.index.get("m", scope=jane)
    after = memories.update(jane, "m", {"metadata": {"x": 2}})
    assert before is not None and before.vector is not None and after.vector is not None
    assert (after.text, after.metadata, after.expires_at) == ("a", {"x": 2}, before.expires_at)
    assert list(map(float, after.vector)) == list(map(float, before.vector))
    assert memories.update(jane, "m", {"text": "b"}).vector is None  # the vector of the old text is dropped
    with pytest.raises(TypeError, match="metadata"):
        memories.update(jane, "m", {"metadata": {"x": object()}})
    kept = memories.index.get("m", scope=jane)
    assert kept is not None and kept.metadata == {"x": 2}


def test_a_concurrent_update_does_not_restore_a_deleted_memory() -> None:
    """Without the lock, an update that has read the old text would write it again after the deletion."""
    jane = Scope("acme", user="jane")

    class Slow(Index):
        def upsert(self, id: str | int, text: str | bytes, **fields: Any) -> None:
            if text == "new":
                reading.set()
                erased.wait(0.2)  # the lock is held, so this times out
            super().upsert(id, text, **fields)

    for how in ("delete", "erase"):
        memories = ScopedMemories(Slow())
        reading, erased = threading.Event(), threading.Event()
        memories.put(jane, [{"id": "m", "text": "old"}])
        updating = threading.Thread(target=memories.update, args=(jane, "m", {"text": "new"}))
        updating.start()
        assert reading.wait(5)
        if how == "delete":
            memories.delete(jane, "m")
        else:
            assert memories.erase(jane, exact=True) == 1
        erased.set()
        updating.join(5)
        assert memories.index.get("m", scope=jane) is None and len(memories.index) == 0


def test_an_index_with_int_ids_is_refused(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert(7, "Sails on Saturdays", scope=Scope("acme"))
        with pytest.raises(ValueError, match="str, got one whose ids are int"):
            ScopedMemories(index)
