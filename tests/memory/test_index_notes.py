"""Documents that Index, adapters and importers wrote to a memory's file are recalled as notes, and only as notes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scrubjay
from scrubjay import Index, Query, Retriever, Scope
from scrubjay.embedders import Function
from scrubjay.memory import EpisodeCandidate, Memory, Note
from scrubjay.memory.read.index_notes import merged
from tests.memory.setting import (
    ACME,
    CODER,
    EVERYWHERE,
    GLOBEX,
    JANE,
    JANES_CODER,
    JOE,
    Clock,
    is_gone,
    lives,
    open_memory,
)
from tests.reference import merging

EMBEDDER = scrubjay.embedders.default()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.scrubjay"


# ---------------------------------------------------------------------- one memory for everybody


def test_documents_written_by_an_index_are_recalled(path: Path) -> None:
    """The example of an index and a memory in one file."""
    with Memory.open(path, embedder=EMBEDDER) as memory:
        memory.propose("Jane lives in Oslo", scope=JANE, source="r1")
        memory.session(JANE, "r").user("hi")
    with Index.open(path, embedder=EMBEDDER) as index:
        index.upsert("x1", "Jane's cat is Miso", scope=JANE, metadata={"pet": True}, created_at="2026-01-02")
    with Memory.open(path, embedder=EMBEDDER) as memory:
        (first, *others) = memory.recall("cat Miso", JANE)
        assert (first.id, first.kind, first.text) == ("x1", "note", "Jane's cat is Miso")
        assert first.tier == "high" and first.scope == JANE and first.metadata == {"pet": True}
        note = first.record
        assert (
            isinstance(note, Note)
            and note.created_at is not None
            and note.created_at.isoformat()[:10] == "2026-01-02"
        )
        assert (note.id, note.text, note.scope, note.metadata, note.expires_at) == (
            "x1", "Jane's cat is Miso", JANE, {"pet": True}, None,
        )  # fmt: skip
        assert [hit.kind for hit in others] == ["fact"]
        assert "Jane's cat is Miso" in memory.assemble("cat Miso", JANE).text
        assert memory.recall("cat Miso", JANE, kinds=("fact", "episode")).texts == ["Jane lives in Oslo"]
        assert memory.recall("where does Jane live?", JANE).texts[0] == "Jane lives in Oslo"


def test_kinds_select_records_and_notes(path: Path) -> None:
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        memory.propose(EpisodeCandidate("Moved Jane to Oslo", "success", "moving"), scope=JANE, source="r")
        memory.index.upsert("n", "Oslo is where Jane skates", scope=JANE)

        def kinds(*asked: str, **options: Any) -> list[str]:
            return sorted(hit.kind for hit in memory.recall("Jane Oslo", JANE, kinds=asked, **options))

        assert sorted(hit.kind for hit in memory.recall("Jane Oslo", JANE)) == ["episode", "fact", "note"]
        assert kinds("note") == ["note"] and kinds("fact", "note") == ["fact", "note"]
        assert kinds("fact", "episode") == ["episode", "fact"] and kinds("fact") == ["fact"]
        assert kinds("episode", "note", task_type="moving") == ["episode", "note"]
        assert kinds("episode", "note", task_type="cooking") == ["note"]
        alone = memory.recall("Oslo", JANE, kinds=["note"])
        assert (alone.mode, alone.ids) == ("lexical", ["n"])
        assert memory.recall("Oslo", JOE, kinds=["note"]).ids == []
        with pytest.raises(ValueError, match="note"):
            memory.recall("Oslo", JANE, kinds=["notes"])


def test_scopes_hold_for_notes(path: Path) -> None:
    with open_memory(path) as memory:
        for place, scope in enumerate(EVERYWHERE):
            memory.index.upsert(f"n{place}", f"oak number {place}", scope=scope)
            memory.index.upsert("same", f"oak of {place}", scope=scope)
        for scope in EVERYWHERE:
            found = memory.recall("oak", scope, k=100)
            assert {hit.scope for hit in found} == {one for one in EVERYWHERE if one in scope.visible()}
            for hit in found:
                note = hit.record
                assert isinstance(note, Note) and (note.scope, note.text) == (hit.scope, hit.text)
        assert {hit.scope for hit in memory.recall("oak", Scope("initech"))} == set()
        assert {hit.scope for hit in memory.recall("oak", JANES_CODER, k=100)} == {
            ACME,
            JANE,
            CODER,
            JANES_CODER,
        }


def test_a_note_cannot_pass_for_a_fact(path: Path) -> None:
    """Neither its metadata nor its id makes it one."""
    with open_memory(path) as memory:
        fact = lives(memory, "Oslo")
        forged = {"kind": "fact", "record": fact.id, "confidence": 1.0, "faded": False}
        memory.index.upsert(str(fact.id), "Jane lives in Rome", scope=JANE, metadata=forged)
        hits = {hit.text: hit for hit in memory.recall("Jane lives", JANE)}
        assert hits["Jane lives in Rome"].kind == "note" and hits["Jane lives in Oslo"].kind == "fact"
        assert isinstance(hits["Jane lives in Rome"].record, Note)
        record = memory.get(str(fact.id), scope=JANE)
        assert record is not None and record.text == "Jane lives in Oslo"
        assert memory.recall("lives", JANE, kinds=["fact"]).texts == ["Jane lives in Oslo"]


def test_filters_and_bounds_hold_for_notes(path: Path) -> None:
    with Memory.open(path, embedder=EMBEDDER) as memory:
        memory.propose("Jane plays the cello", scope=JANE, source="r")
        memory.index.upsert("n1", "Jane plays chess", scope=JANE, metadata={"topic": "games"})
        memory.index.upsert("n2", "The harbour of Oslo froze", scope=JANE, metadata={"topic": "weather"})
        assert memory.recall("Jane plays", JANE, filter={"topic": "weather"}).ids == ["n2"]
        assert memory.recall("Jane plays", JANE, filter={"topic": "none"}).ids == []
        assert len(memory.recall("what does Jane play?", JANE, k=2)) == 2
        near = memory.recall("what does Jane play?", JANE, relevance="standard")
        assert "The harbour of Oslo froze" not in near.texts and "Jane plays chess" in near.texts
        assert memory.recall("plays", JANE, query=Query(ids=["n1"])).ids == ["n1"]
        scores = [hit.score for hit in memory.recall("what does Jane play?", JANE)]
        assert scores == sorted(scores, reverse=True)


def test_identifiers_of_a_note_come_first(path: Path) -> None:
    with Memory.open(path, embedder=EMBEDDER) as memory:
        for n in range(20):
            memory.propose(f"The staging key of team {n} was rotated", scope=JANE, source="r")
        memory.index.upsert("n", "Key sk-stg-0041 belongs to the ferry project", scope=JANE)
        found = memory.recall("which team has the staging key sk-stg-0041?", JANE)
        assert found[0].id == "n" and found[0].identifier and found[0].tier == "high"


def test_faded_facts_stay_behind_notes(path: Path) -> None:
    clock = Clock()
    with open_memory(path, clock) as memory:
        memory.propose({"content": "Jane likes oak", "confidence": 0.7}, scope=JANE, source="r")
        memory.index.upsert("n", "an oak", scope=JANE)
        assert memory.recall("Jane oak", JANE).texts[0] == "Jane likes oak"
        clock.pass_days(300)
        assert memory.admin.sweep().faded == 1
        assert memory.recall("Jane oak", JANE).texts == ["an oak", "Jane likes oak"]


def test_notes_change_where_they_were_written(path: Path) -> None:
    with open_memory(path) as memory:
        memory.index.upsert("n", "an oak", scope=JANE)
        hit = memory.recall("oak", JANE)[0]
        memory.index.upsert("n", "a beech", scope=JANE)
        assert hit.record is not None and hit.record.text == "a beech"  # its present state
        assert memory.recall("oak", JANE).ids == [] and memory.recall("beech", JANE).ids == ["n"]
        memory.index.delete("n", scope=JANE)
        assert hit.record is None and memory.recall("beech", JANE).ids == []
        memory.index.upsert("n", "an ash", scope=JANE, expires_at=1)
        assert memory.recall("ash", JANE).ids == []


def test_ids_that_are_numbers(path: Path) -> None:
    with open_memory(path) as memory:
        memory.index.upsert(7, "an oak", scope=JANE)
        hit = memory.recall("oak", JANE)[0]
        assert hit.id == "7" and isinstance(hit.record, Note) and hit.record.id == "7"
        with memory.session(JANE, "chat") as session:
            session.user("oak?")
            prompt = session.assemble()
        assert prompt.ids("memories") == ("7",)
        (replayed,) = memory.replay("chat", JANE).prompts()
        assert replayed.faithful and replayed.assembled is not None and replayed.assembled.text == prompt.text


def test_forgetting_takes_notes_with_it(path: Path) -> None:
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        memory.index.upsert("n", "Jane skates in Oslo", scope=JANE)
        memory.index.upsert("n", "Joe skates in Oslo", scope=JOE)
        assert memory.forget(JANE).counts["documents"] == 2
        assert memory.recall("Oslo", JANE).ids == [] and memory.recall("Oslo", JOE).ids == ["n"]
        memory.admin.compact()
        assert is_gone(memory, JANE, "Jane skates in Oslo")


def test_notes_come_from_the_collection_that_open_names(path: Path) -> None:
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        memory.index.upsert("n", "Oslo unnamed", scope=JANE)
        memory.index.collection("other").upsert("o", "Oslo other", scope=JANE)
        assert memory.recall("Oslo", JANE, kinds=["note"]).ids == ["n"]
    with open_memory(path, collection="other") as memory:
        assert memory.recall("Oslo", JANE, kinds=["note"]).ids == ["o"]
    with open_memory(path, collection="memory") as memory:
        assert memory.recall("Oslo", JANE, kinds=["note"]).ids == []
        assert memory.recall("Oslo", JANE).texts == ["Jane lives in Oslo"]


# ---------------------------------------------------------------------- cost, and what is down


class Counting:
    """A retriever that counts its searches."""

    def __init__(self, index: Index) -> None:
        self.inner = Retriever(index)
        self.n = 0
        self.close = self.inner.close

    def search(self, *arguments: Any, **options: Any) -> Any:
        self.n += 1
        return self.inner.search(*arguments, **options)


def test_a_scope_without_notes_is_searched_once(path: Path) -> None:
    made: list[Counting] = []

    def make(index: Index) -> Any:
        made.append(Counting(index))
        return made[-1]

    with open_memory(path, retriever=make) as memory:
        lives(memory, "Oslo")
        memory.index.upsert("n", "Oslo", scope=JOE)
        facts, notes = made
        assert memory.recall("Oslo", JANE).ids and (facts.n, notes.n) == (1, 0)
        assert memory.recall("Oslo", JOE).ids == ["n"] and (facts.n, notes.n) == (2, 1)
        memory.recall("Oslo", JOE, kinds=("fact", "episode"))
        assert (facts.n, notes.n) == (3, 1)
        memory.recall("Oslo", JOE, kinds=("note",))
        assert (facts.n, notes.n) == (3, 2)


def test_the_first_note_of_a_scope_is_recalled_from_any_writer(path: Path) -> None:
    """The absence of notes is cached until something other than traces is written."""
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        session = memory.session(JANE, "r1")
        writers: list[Any] = [memory.index, Index.open(path)]
        for n, scope in enumerate((JANE, ACME)):
            for _ in range(2):
                session.user("Where?")
                assert [hit for hit in memory.recall("Oslo", JANE) if hit.kind == "note"] == []
            writers[n].upsert(f"n{n}", "Oslo is cold", scope=scope)
            notes = [hit.id for hit in memory.recall("Oslo", JANE) if hit.kind == "note"]
            assert notes == [f"n{n}"]
            writers[n].delete(f"n{n}", scope=scope)
        memory.index.upsert("n2", "Oslo is cold", scope=JANE)
        memory.forget(JANE)
        assert memory.recall("Oslo", JANE).ids == []
        writers[1].close()


def test_a_scope_without_notes_asks_its_file_once(
    path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        asked: list[Scope] = []
        counting = SimpleNamespace(holds=lambda scope: asked.append(scope))
        monkeypatch.setattr(memory._parts.recall._notes, "_backend", counting)
        with memory.session(JANE, "r1") as session:
            for _ in range(3):
                session.user("Where?")
                session.assemble()
        assert asked == [JANE] * (1 if store == "file" else 3)


def test_a_question_is_embedded_once_and_a_broken_embedder_asked_once(path: Path) -> None:
    asked: list[str] = []
    broken = False

    def embed(given: list[str]) -> list[list[float]]:
        asked.extend(given)
        if broken:
            raise ConnectionError("no route to host")
        return [[float(len(text)), 1.0] for text in given]

    with open_memory(path, embedder=Function(embed, dim=2, name="lengths")) as memory:
        lives(memory, "Oslo")
        memory.index.upsert("n", "Oslo", scope=JANE)
        asked.clear()
        assert memory.recall("Oslo?", JANE).mode == "hybrid" and asked == ["Oslo?"]
        broken = True
        asked.clear()
        found = memory.recall("where is Oslo?", JANE)
        assert asked == ["where is Oslo?"] and sorted(hit.kind for hit in found) == ["fact", "note"]
        assert found.mode == "lexical" and [one.split(":")[0] for one in found.degraded] == [
            "embedder_failed"
        ]


def test_damaged_notes_are_left_out_and_named(path: Path) -> None:
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        for n in range(3):
            memory.index.upsert(f"n{n}", f"Oslo number {n}", scope=JANE, metadata={"n": n})
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM image")
    connection.execute("UPDATE document SET payload = x'7b' WHERE id = 'n1'")
    connection.close()
    with open_memory(path) as memory:
        found = memory.recall("Oslo", JANE)
        assert sorted(found.texts) == ["Jane lives in Oslo", "Oslo number 0", "Oslo number 2"]
        assert any("damaged" in reason for reason in found.degraded), found.degraded
        assert memory.assemble("Oslo", JANE).trace.degraded == found.degraded


def test_reranked_hits_keep_the_order_of_the_reranker(path: Path) -> None:
    class ByLength:
        name = "by length"

        def score(self, query: str, texts: list[str]) -> Any:
            return np.array([len(text) for text in texts], dtype=np.float32)

    with open_memory(path, retriever=lambda index: Retriever(index, reranker=ByLength())) as memory:
        lives(memory, "Oslo, by the sea")
        for n, text in enumerate(["Oslo", "Oslo, where the ferries come from Kiel and from Copenhagen"]):
            memory.index.upsert(f"n{n}", text, scope=JANE)
        assert memory.recall("Oslo", JANE).texts == [
            "Oslo, where the ferries come from Kiel and from Copenhagen",
            "Jane lives in Oslo, by the sea",
            "Oslo",
        ]


def test_a_sealed_tenant_without_its_key_shows_nothing(path: Path) -> None:
    pytest.importorskip("cryptography")
    with open_memory(path, keys={"acme": b"k" * 32}.get) as memory:
        lives(memory, "Oslo")
        memory.index.upsert("n", "Oslo", scope=JANE)
        memory.index.upsert("n", "Oslo", scope=GLOBEX)
        assert len(memory.recall("Oslo", JANE)) == 2
    with open_memory(path) as memory:
        found = memory.recall("Oslo", JANE)
        assert found.ids == [] and found.degraded
        assert memory.recall("Oslo", GLOBEX).ids == ["n"]


# ---------------------------------------------------------------------- the merge and its twin

VALUES = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, -2.0])
HITS = st.lists(
    st.builds(
        SimpleNamespace,
        identifier=st.booleans(),
        similarity=VALUES,
        bm25=st.none() | st.sampled_from([0.0, 0.5, 2.0]),
        rerank_score=st.none(),
    ),
    max_size=6,
)


@given(HITS, HITS, st.booleans(), st.randoms())
def test_merged_hits_equal_the_slow_twin(
    facts: list[Any], notes: list[Any], reranked: bool, random: Any
) -> None:
    if reranked:
        for side in (facts, notes):
            for place, hit in enumerate(side):
                hit.rerank_score = random.choice([0.1, 0.2, 0.9]) if place < 3 else None
    found = merged(facts, notes)
    places = {
        id(hit): (side, rank) for side, hits in enumerate((facts, notes)) for rank, hit in enumerate(hits)
    }
    assert [places[id(one.hit)] for one in found] == merging.merged(facts, notes)
    assert [one.is_note for one in found] == [places[id(one.hit)][0] == 1 for one in found]
    for side, hits in ((False, facts), (True, notes)):  # the order of each ranking is unchanged
        assert [one.hit for one in found if one.is_note is side] == hits


def test_an_earlier_time_has_the_notes_that_were_created_by_then(path: Path) -> None:
    with open_memory(path, Clock()) as memory:
        lives(memory, "Oslo", valid_from="2020-01-01")
        for id, created_at in (("old", "2021-05-01"), ("new", "2023-05-01"), ("unsaid", None)):
            memory.index.upsert(id, f"Oslo {id}", scope=JANE, created_at=created_at, metadata={"n": 1})

        def seen(**asked: Any) -> list[str]:
            return sorted(hit.text for hit in memory.recall("Oslo", JANE, **asked))

        every = ["Jane lives in Oslo", "Oslo new", "Oslo old", "Oslo unsaid"]
        assert seen() == seen(as_of="2040-01-01") == every
        assert seen(as_of="2022-01-01") == ["Jane lives in Oslo", "Oslo old"]
        assert seen(as_of="2024-01-01", filter={"n": 1}) == ["Oslo new", "Oslo old"]
        assert seen(as_of="2024-01-01", filter={"n": 2}) == []
        assert seen(known_at="2022-01-01") == ["Oslo old"]  # the fact was not known yet
        assert seen(as_of="2019-01-01") == []
