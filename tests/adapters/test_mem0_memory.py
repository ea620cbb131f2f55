"""Scrubjay under mem0's own Memory: remembering, finding, changing and forgetting through mem0's API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mem0")
pytest.importorskip("qdrant_client")

import mem0
from mem0.vector_stores.qdrant import Qdrant

import scrubjay
from scrubjay import Index, Scope
from tests.adapters import mem0_doubles
from tests.adapters.mem0_doubles import config, memory, remember

KEY = "The prefix is sk-stg-0041"
QUESTION = "who knows about sk-stg-0041?"
# The memory of the key has another direction than all questions; the fillers have that of the questions.
TOPICS = {"prefix": 0, "who": 1, "filler": 1, "number": 4, "tea": 2, "train": 3, "anna": 5, "schmidt": 6}


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    with mem0_doubles.scripted(TOPICS):
        yield


def texts(found: dict[str, Any]) -> list[str]:
    return [result["memory"] for result in found["results"]]


def tell(target: Any, *lines: str, **whose: str) -> list[str]:
    return [result["id"] for result in target.add(remember(*lines), **whose)["results"]]


def test_an_identifier_that_no_vector_is_near_survives_mem0s_gate(tmp_path: Path) -> None:
    fillers = [f"filler number {number} about nothing" for number in range(5)]
    ours, stock = memory("scrubjay", tmp_path), memory("qdrant", tmp_path)
    for each in (ours, stock):
        tell(each, KEY, *fillers, user_id="jane")
    assert texts(ours.search(QUESTION, filters={"user_id": "jane"}))[0] == KEY
    assert texts(ours.search(QUESTION, filters={"user_id": "jane"}, threshold=0.8)).count(KEY) == 1
    assert KEY not in texts(stock.search(QUESTION, filters={"user_id": "jane"}, top_k=100))
    details = ours.search(QUESTION, filters={"user_id": "jane"}, explain=True)["results"][0]["score_details"]
    assert details["semantic_score"] == pytest.approx(0.9) and details["bm25_score"] > 0


def test_the_stock_store_loses_it_even_with_keyword_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So mem0's threshold loses it, not a missing package."""
    stock = memory("qdrant", tmp_path)
    (id,) = tell(stock, KEY, user_id="jane")

    def keyword_search(self: Any, query: str, top_k: int = 5, filters: Any = None) -> list[Any]:
        found = self.get(id)
        return [scrubjay.adapters.mem0.OutputData(found.id, 14.0, found.payload)]

    monkeypatch.setattr(Qdrant, "keyword_search", keyword_search)
    assert texts(stock.search(QUESTION, filters={"user_id": "jane"})) == []


def test_common_words_do_not_pass_mem0s_gate(tmp_path: Path) -> None:
    ours = memory("scrubjay", tmp_path)
    tell(ours, *(f"tea number {number} and the kettle" for number in range(20)), user_id="jane")
    assert texts(ours.search("who has the train", filters={"user_id": "jane"})) == []


def test_a_users_memories_are_found_by_all_that_mem0_asks_for(tmp_path: Path) -> None:
    ours = memory("scrubjay", tmp_path)
    tell(ours, "tea at five", user_id="jane", agent_id="butler")
    tell(ours, "tea at six", user_id="jane", run_id="r1")
    tell(ours, "tea at seven", agent_id="butler")
    tell(ours, "tea at eight", run_id="r1")
    tell(ours, "tea at nine", user_id="jane10")
    cases = [
        ({"user_id": "jane"}, {"tea at five", "tea at six"}),
        ({"user_id": "jane", "agent_id": "butler"}, {"tea at five"}),
        ({"agent_id": "butler"}, {"tea at five", "tea at seven"}),
        ({"run_id": "r1"}, {"tea at six", "tea at eight"}),
        ({"user_id": "jane1"}, set()),
        ({"user_id": "*"}, {"tea at five", "tea at six", "tea at nine"}),
        ({"agent_id": "butler", "NOT": [{"user_id": "*"}]}, {"tea at seven"}),
        ({"run_id": "r1", "OR": [{"user_id": "jane"}, {"user_id": "joe"}]}, {"tea at six"}),
    ]
    for filters, expected in cases:
        assert set(texts(ours.search("tea", filters=filters))) == expected, filters
        assert set(texts(ours.get_all(filters=filters))) == expected, filters
    ours.delete_all(agent_id="butler")
    assert set(texts(ours.get_all(filters={"user_id": "jane"}))) == {"tea at six"}


def test_updates_and_deletions_reach_the_store_and_its_history(tmp_path: Path) -> None:
    ours = memory("scrubjay", tmp_path)
    one, other = tell(ours, "tea at five", "train at six", user_id="jane")
    ours.update(one, "tea at noon", metadata={"checked": True})
    assert ours.get(one)["memory"] == "tea at noon" and ours.get(one)["metadata"] == {"checked": True}
    assert texts(ours.search("noon", filters={"user_id": "jane"}))[0] == "tea at noon"
    assert texts(ours.search("five", filters={"user_id": "jane"})) == []
    ours.delete(other)
    assert ours.get(other) is None and texts(ours.get_all(filters={"user_id": "jane"})) == ["tea at noon"]
    with pytest.raises(ValueError, match="not found"):
        ours.delete(other)
    assert [event["event"] for event in ours.history(one)] == ["ADD", "UPDATE"]


def test_memories_of_other_users_change_no_score(tmp_path: Path) -> None:
    ours = memory("scrubjay", tmp_path)
    tell(ours, KEY, "tea at five", user_id="jane")
    before = ours.search(QUESTION, filters={"user_id": "jane"}, explain=True)
    for number in range(30):
        tell(ours, f"The prefix is sk-stg-00{number}", f"tea at {number}", user_id=f"user{number}")
        tell(ours, f"The prefix is sk-stg-00{number}", agent_id=f"agent{number}")
    assert ours.search(QUESTION, filters={"user_id": "jane"}, explain=True) == before


def test_memories_outlive_the_process_and_reset_forgets_them(tmp_path: Path) -> None:
    ours = memory("scrubjay", tmp_path)
    tell(ours, "tea at five", user_id="jane")
    ours.close()
    again = memory("scrubjay", tmp_path)  # the first is still open: mem0 closes no vector store
    assert texts(again.search("tea", filters={"user_id": "jane"})) == ["tea at five"]
    again.reset()
    assert texts(ours.vector_store and again.get_all(filters={"user_id": "jane"})) == []
    tell(again, "tea at six", user_id="jane")
    assert texts(again.get_all(filters={"user_id": "jane"})) == ["tea at six"]
    assert [one.payload["data"] for one in ours.vector_store.list()[0]] == ["tea at six"]


def test_entities_of_a_memory_live_beside_it(tmp_path: Path) -> None:
    """mem0's own bookkeeping of entities, which uses a second collection of the same path."""
    ours = memory("scrubjay", tmp_path)
    filters = {"user_id": "jane"}
    ours._upsert_entity("Anna Schmidt", "PERSON", "m1", filters)
    ours._upsert_entity("Anna", "PERSON", "m2", filters)  # it has all of the words, but is another entity
    ours._upsert_entity("anna  schmidt", "PERSON", "m3", filters)
    ours._upsert_entity("Anna Schmidt", "PERSON", "m4", {"user_id": "joe"})
    rows = ours.entity_store.list(filters=filters)[0]
    assert {row.payload["data"]: row.payload["linked_memory_ids"] for row in rows} == {
        "Anna Schmidt": ["m1", "m3"],
        "Anna": ["m2"],
    }
    assert ours.vector_store.list_cols() == ["mem0", "mem0_entities"]
    boosts = ours._compute_entity_boosts([("PERSON", "Anna Schmidt")], filters)
    assert boosts.keys() >= {"m1", "m3"} and "m4" not in boosts
    ours._remove_memory_from_entity_store("m2", filters)
    assert len(ours.entity_store.list(filters=filters)[0]) == 1


def test_one_open_index_serves_mem0_and_its_owner(tmp_path: Path) -> None:
    with Index.open(tmp_path / "all.scrubjay") as index:
        ours = memory("scrubjay", tmp_path, path=None, index=index)
        (id,) = tell(ours, "tea at five", user_id="jane")
        mine = index.collection("mem0")
        assert mine.search("tea", scope=Scope("mem0", user="jane"))[0].id == id
        assert ours.entity_store.index is index.collection("mem0_entities")
        index.upsert("n1", "a note", scope=Scope("acme"))
        assert ours.vector_store.list_cols() == ["mem0", "mem0_entities"]


def test_with_mem0s_telemetry_there_is_a_third_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem0.memory.main.MEM0_TELEMETRY", True)
    ours = memory("scrubjay", tmp_path)
    tell(ours, "tea at five", user_id="jane")
    assert ours.vector_store.list_cols() == ["mem0", "mem0migrations"]
    assert texts(ours.search("tea", filters={"user_id": "jane"})) == ["tea at five"]


def test_the_comparison_with_the_stock_store_runs() -> None:
    from benchmarks.adapters.mem0 import run

    stock, *ours = run(200, 25)
    assert stock.found < 1.0 and [row.found_first for row in ours] == [1.0, 1.0]
    assert sum(row.foreign for row in [stock, *ours]) == 0


def test_a_wrong_configuration_is_named(tmp_path: Path) -> None:
    for wrong in ({"url": "http://localhost"}, {"embedding_model_dims": "many"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            memory("scrubjay", tmp_path, **wrong)
    with pytest.raises(ValueError, match="metric"):
        memory("scrubjay", tmp_path, metric="manhattan")
    with pytest.raises(ValueError, match="path, index"):
        memory("scrubjay", tmp_path, index=Index())
    unplaced = config("scrubjay", tmp_path)
    del unplaced["vector_store"]["config"]["path"]
    assert mem0.Memory.from_config(unplaced).vector_store.index.path is None  # not a folder of mem0's in /tmp


def test_the_asynchronous_memory(tmp_path: Path) -> None:
    async def work() -> None:
        ours = mem0.AsyncMemory.from_config(config("scrubjay", tmp_path))
        told = [ours.add(remember(f"tea at {hour}", KEY), user_id=f"user{hour}") for hour in range(5)]
        await asyncio.gather(*told)
        found = await asyncio.gather(
            *(ours.search(QUESTION, filters={"user_id": f"user{hour}"}) for hour in range(5))
        )
        assert [texts(one)[0] for one in found] == [KEY] * 5
        await ours.delete_all(user_id="user3")
        assert texts(await ours.get_all(filters={"user_id": "user3"})) == []
        assert len(texts(await ours.get_all(filters={"user_id": "user4"}))) == 2
        await ours.reset()
        assert texts(await ours.get_all(filters={"user_id": "user4"})) == []

    asyncio.run(work())


@pytest.mark.parametrize(
    "hostile", ["jane'--", "jane%", "jane_", "*", "ja*", "JANE", "jаne", "jane\x00", "{}", "$or", "j" * 9000]
)
def test_hostile_names_find_nothing_of_others(tmp_path: Path, hostile: str) -> None:
    ours = memory("scrubjay", tmp_path)
    tell(ours, "tea at five", user_id="jane")
    for filters in ({"user_id": hostile}, {"agent_id": hostile}, {"run_id": hostile}):
        found = texts(ours.search("tea", filters=filters)) + texts(ours.get_all(filters=filters))
        assert found == (
            [] if filters != {"user_id": "*"} else ["tea at five"] * 2
        )  # mem0's "any user", documented
    if hostile != "*":
        tell(ours, "tea at six", user_id=hostile)
        assert texts(ours.get_all(filters={"user_id": hostile})) == ["tea at six"]
        ours.delete_all(user_id=hostile)
    assert texts(ours.get_all(filters={"user_id": "jane"})) == ["tea at five"]
