"""If a memory's embedder is unavailable, nothing is refused or lost, and everything is embedded in the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay
from scrubjay import Index, Query, Record
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory
from tests.data.flaky import Flaky
from tests.data.keys import provider
from tests.memory.setting import ACME, JANE, JOE, ONE_AT_A_TIME, documents_now, lives

pytestmark = pytest.mark.usefixtures("no_background_embedding")


@pytest.fixture(params=["plain", "sealed"])
def memory(request: pytest.FixtureRequest, store: str, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "sealed" and store == "postgres":
        pytest.skip("tenants are encrypted in files only")
    keys = provider if request.param == "sealed" else None
    with Memory.open(tmp_path / "m.scrubjay", Flaky(), keys=keys, judge=ONE_AT_A_TIME) as memory:
        yield memory


def flaky(memory: Memory) -> Flaky:
    embedder = memory.documents.embedder
    assert isinstance(embedder, Flaky)
    return embedder


def documents(memory: Memory) -> list[Record]:
    return [
        one
        for scope in (JANE, JOE, ACME)
        for one in memory.documents.scroll(scope=scope, exact=True, vectors=True)
    ]


def check(memory: Memory) -> None:
    """Check that rows, documents and vectors agree, and that documents are pending if they have no vector."""
    assert memory.admin.check() == []
    for one in documents(memory):
        assert one.pending == (one.vector is None), one
    assert memory.documents.admin.stats()["pending"] == sum(one.pending for one in documents(memory))


def test_proposals_during_an_outage_are_found_by_words_and_embedded_later(memory: Memory) -> None:
    lives(memory, "Oslo")
    flaky(memory).is_up = False
    moved = lives(memory, "Rome")
    assert moved.status == "superseded" and moved.active
    done = memory.propose(EpisodeCandidate("Booked a train to Rome", "success"), scope=JANE, source="r2")
    assert done.status == "written"
    found = memory.recall("Rome", JANE)
    assert set(found.texts) == {"Jane lives in Rome", "Booked a train to Rome"}
    assert memory.documents.admin.stats()["pending"] == 2
    check(memory)
    flaky(memory).is_up = True
    assert memory.documents.admin.backfill().embedded == 2
    assert len(documents_now(memory, JANE, "Rome", query=Query(mode="vector"))) == 2
    check(memory)


def test_an_update_during_an_outage_leaves_the_record_pending(memory: Memory) -> None:
    flaky(memory).is_up = False
    outcome = lives(memory, "Oslo", confidence=0.8)
    again = lives(memory, "Oslo", run="r2", confidence=0.9)  # rewrites its document with the same text
    assert again.status == "deduplicated" and documents(memory)[0].pending
    memory.update(str(outcome.id), scope=JANE, content="Jane lives in Bergen")
    check(memory)
    assert documents(memory)[0].pending
    flaky(memory).is_up = True
    assert memory.documents.admin.backfill().embedded == 2  # the version from before the edit, too
    flaky(memory).is_up = False
    lives_in_bergen = FactCandidate("Jane lives in Bergen", "Jane", "lives in", confidence=1.0)
    memory.propose(lives_in_bergen, scope=JANE, source="r3")
    assert not documents(memory)[0].pending  # the vector of an unchanged text is kept
    check(memory)


def test_confirming_ingesting_and_repairing_do_not_need_the_embedder(memory: Memory, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "trip.md").write_text("The hotel is Neiburgs.\n")
    flaky(memory).is_up = False
    shared = memory.propose(
        FactCandidate("acme ships on Mondays", "acme", "ships on"), scope=ACME, source="r"
    )
    assert memory.confirm(str(shared.id), by="ann", scope=ACME).active
    assert memory.ingest(notes, scope=JANE).written == 1
    assert {one.text for one in documents(memory) if one.pending} == {
        "acme ships on Mondays",
        "The hotel is Neiburgs.",
    }
    check(memory)
    (scroll,) = memory.documents.scroll(scope=ACME, exact=True)
    with scrubjay.backend.Backend.of(memory.documents, owner=True).changing("losing a document") as change:
        change.delete([scroll.id], scope=ACME, reason="lost")
    assert memory.admin.reindex() == 1
    check(memory)
    flaky(memory).is_up = True
    assert memory.documents.admin.backfill().embedded == 2
    check(memory)


def test_an_embedder_that_must_answer_can_be_asked_for(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", Flaky(), on_embedder_error="raise") as memory:
        flaky(memory).is_up = False
        with pytest.raises(scrubjay.EmbedderError):
            lives(memory, "Oslo")
        assert memory.list(JANE, hidden=True) == [] and documents(memory) == []


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 6))])
def test_facts_survive_random_outages_and_are_embedded_in_the_end(tmp_path: Path, seed: int) -> None:
    rng, known = random.Random(seed), {}
    path = tmp_path / "m.scrubjay"
    memory = Memory.open(path, Flaky(), judge=ONE_AT_A_TIME, durability="normal")
    for step in range(60):
        flaky(memory).is_up = rng.random() < 0.5
        scope, what = rng.choice([JANE, JOE]), rng.randrange(10)
        if what < 6:
            place = rng.choice(["Oslo", "Rome", "Bergen", "Ulm"])
            assert lives(memory, place, scope, run=f"r{step}", confidence=rng.choice([0.7, 0.9]))
            known[scope] = place
        elif what < 7 and scope in known:
            (fact,) = memory.list(scope, kinds=("fact",), exact=True)
            memory.update(fact.id, scope=scope, content=f"Jane lives in {known[scope]}", metadata={"n": step})
        elif what < 8:
            memory.documents.admin.backfill()
        elif what < 9:
            memory.close()
            memory = Memory.open(path, Flaky(), judge=ONE_AT_A_TIME, durability="normal")
        for one, place in known.items():
            assert [fact.content for fact in memory.list(one, kinds=("fact",), exact=True)] == [
                f"Jane lives in {place}"
            ]
        check(memory)
    flaky(memory).is_up = True
    memory.documents.admin.backfill()
    check(memory)
    for scope, place in known.items():
        found = documents_now(memory, scope, "a place", query=Query(mode="vector"))
        assert found == [f"Jane lives in {place}"], "embedded in the end"
    memory.close()


def test_pending_of_a_memory_counts_in_the_index_of_its_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", Flaky()) as memory:
        flaky(memory).is_up = False
        lives(memory, "Oslo")
    with Index.open(tmp_path / "m.scrubjay", Flaky()) as index:
        assert index.collection("memory").admin.stats()["pending"] == 1
