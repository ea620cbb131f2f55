"""Ids that belong to scopes: nobody sees, changes or notices what is another's."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import ConflictError, Index, Scope
from scrubjay.adapters._scoped import (
    ReadOnlyMemoryError,
    ScopedMemories,
    UnknownMemoryError,
    local_id,
    visible_scopes,
)

SCOPES = [
    Scope(tenant, user, agent)
    for tenant in ("a", 'a",null,null]:')
    for user in (None, "u", 'u",null]:m')
    for agent in (None, "u")
]
IDS = st.sampled_from(["m", 'm"', '["a",null,null]:m', '["a","u",null]:m', "\x00", "*", "m" * 500])
OPERATION = st.tuples(
    st.sampled_from(["put", "get", "update", "delete", "erase"]), st.sampled_from(SCOPES), IDS
)


@given(st.lists(OPERATION, max_size=40))
@example([("put", SCOPES[0], "m"), ("put", SCOPES[0], '["a",null,null]:m'), ("get", SCOPES[0], "m")])
def test_it_behaves_as_one_dictionary_a_scope(operations: list[tuple[str, Scope, str]]) -> None:
    memories = ScopedMemories(Index())
    model: dict[tuple[Scope, str], str] = {}
    for number, (what, scope, id) in enumerate(operations):
        text = f"text {number}"
        seen = next((key for key in ((one, id) for one in visible_scopes(scope)) if key in model), None)
        if what == "put":
            assert memories.put(scope, [{"id": id, "text": text}]) == 1
            model[scope, id] = text
        elif what == "get":
            found = memories.get(scope, id)
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
        chosen = memories.search(scope, "text", ids=[id], k=100)
        assert {(hit.scope, local_id(hit)) for hit in chosen} == {
            (one, id) for one in visible_scopes(scope) if (one, id) in model
        }
        for one in {scope, *visible_scopes(scope)}:
            hits = memories.search(one, "text", k=100)
            assert sorted((str(hit.scope), local_id(hit), hit.text) for hit in hits) == sorted(
                (str(key[0]), key[1], text) for key, text in model.items() if key[0] in visible_scopes(one)
            )


def test_bare_ids_are_found_changed_and_deleted_where_the_scope_allows_it() -> None:
    index = Index()
    memories = ScopedMemories(index)
    acme, jane, joe = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
    index.upsert("m1", "Prefers trains.", scope=jane, metadata={"n": 1}, created_at="2026-03-01")
    index.upsert("m2", "Closed on Monday.", scope=acme)
    found = memories.get(jane, "m1")
    assert found is not None and found.metadata == {"n": 1} and memories.get(joe, "m1") is None
    memories.put(joe, [{"id": "m1", "text": "Prefers planes."}])  # taken by jane, which joe does not learn
    assert memories.update(jane, "m1", {"text": "Prefers ships."}).id == "m1"
    bare = index.get("m1")
    assert bare is not None and bare.text == "Prefers ships." and bare.created_at is not None
    with pytest.raises(ReadOnlyMemoryError, match="shared"):
        memories.delete(jane, "m2")
    memories.put(jane, [{"id": "m1", "text": "Prefers to stay."}])  # replaces the bare one
    assert len(index) == 3 and memories.count(jane) == 2
    memories.delete(jane, "m1")
    assert "m1" not in index and memories.get(joe, "m1") is not None


def test_a_bare_id_that_looks_like_a_scopes_own_is_not_taken_for_it() -> None:
    index = Index()
    jane, joe = Scope("acme", user="jane"), Scope("acme", user="joe")
    index.upsert('["acme","jane",null]:m1', "Joe's, under an odd id.", scope=joe)
    memories = ScopedMemories(index)
    assert memories.get(jane, "m1") is None
    with pytest.raises(UnknownMemoryError):
        memories.delete(jane, "m1")
    with pytest.raises(ConflictError):  # only who writes to the index directly can bring this about
        memories.put(jane, [{"id": "m1", "text": "Jane's"}])
    assert len(index) == 1


def test_ids_of_a_search_are_those_of_the_scope() -> None:
    memories = ScopedMemories(Index())
    acme, jane, joe = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
    for scope in (acme, jane, joe):
        memories.put(scope, [{"id": "m1", "text": "train"}, {"id": "m2", "text": "train"}])
    chosen = memories.search(jane, "train", ids=["m1"])
    assert {(local_id(hit), hit.scope) for hit in chosen} == {("m1", jane), ("m1", acme)}
    rest = memories.search(jane, "train", exclude_ids=["m1"])
    assert {(local_id(hit), hit.scope) for hit in rest} == {("m2", jane), ("m2", acme)}
    stolen = memories.search(jane, "train", ids=['["acme","joe",null]:m1'])
    assert len(stolen) == 0


def test_an_update_keeps_what_it_does_not_name() -> None:
    memories = ScopedMemories(Index(dim=2))
    jane = Scope("acme", user="jane")
    memories.put(jane, [{"id": "m", "text": "a", "metadata": {"x": 1}, "vector": [0.6, 0.8], "ttl": 3600}])
    before = memories.get(jane, "m")
    after = memories.update(jane, "m", {"metadata": {"x": 2}})
    assert before is not None and before.vector is not None and after.vector is not None
    assert (after.text, after.metadata, after.expires_at) == ("a", {"x": 2}, before.expires_at)
    assert list(map(float, after.vector)) == list(map(float, before.vector))
    assert memories.update(jane, "m", {"text": "b"}).vector is None  # it was the old text's
    with pytest.raises(TypeError, match="metadata"):
        memories.update(jane, "m", {"metadata": {"x": object()}})
    kept = memories.get(jane, "m")
    assert kept is not None and kept.metadata == {"x": 2}


def test_what_is_deleted_while_it_is_updated_stays_deleted() -> None:
    """Without the lock an update that has read the old text would write it again after the deletion."""
    jane = Scope("acme", user="jane")

    class Slow(Index):
        def upsert(self, id: str | int, text: str | bytes, **fields: Any) -> None:
            if text == "new":
                reading.set()
                erased.wait(0.2)  # nobody gets in, so this passes
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
        assert memories.get(jane, "m") is None and len(memories.index) == 0


def test_an_index_with_int_ids_is_refused(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay") as index:
        index.upsert(7, "Sails on Saturdays", scope=Scope("acme"))
        with pytest.raises(ValueError, match="str, got one whose ids are int"):
            ScopedMemories(index)
