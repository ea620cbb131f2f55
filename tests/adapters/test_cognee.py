"""cognee over Scrubjay: compared with its LanceDB store, isolation of datasets, and cognee with scripted models."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID, uuid5

import pytest

if importlib.util.find_spec("cognee") is None:
    pytest.skip("could not import 'cognee': it is not installed", allow_module_level=True)

import cognee
from cognee import SearchType
from cognee.infrastructure.databases.exceptions import MissingQueryParameterError
from cognee.infrastructure.databases.vector import get_vector_engine_async
from cognee.infrastructure.databases.vector.create_vector_engine import vector_engine_cache
from cognee.infrastructure.databases.vector.exceptions import CollectionNotFoundError
from cognee.infrastructure.databases.vector.lancedb.LanceDBAdapter import LanceDBAdapter
from cognee.infrastructure.engine import DataPoint
from cognee.infrastructure.llm.LLMGateway import LLMGateway
from cognee.tasks.storage.index_data_points import index_data_points

from scrubjay import ClosedError, Index, Query, Scope
from scrubjay.adapters.cognee import ScrubjayAdapter, ScrubjayDatasetHandler, register
from tests.adapters.cognee_doubles import DIM, Letters
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

NAMESPACE = UUID(int=1)


class Note(DataPoint):  # type: ignore[misc]
    """The indexed data point, with its text."""

    text: str
    of: str = ""
    metadata: dict = {"index_fields": ["text"]}  # type: ignore[type-arg] # noqa: RUF012


def note(n: int, text: str, *tags: str, of: str = "") -> Note:
    return Note(id=uuid5(NAMESPACE, str(n)), text=text, belongs_to_set=list(tags), of=of)


def opened(path: Path, dataset: str = "", **options: Any) -> ScrubjayAdapter:
    return ScrubjayAdapter(
        url=str(path / "v.scrubjay"), embedding_engine=Letters(), database_name=dataset, **options
    )


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[ScrubjayAdapter]:
    made = opened(tmp_path)
    yield made
    asyncio.run(made.close())


def texts(found: list[Any]) -> list[str]:
    return [one.payload["text"] for one in found]


async def search(adapter: Any, text: str, limit: int | None = 3, **options: Any) -> list[str]:
    return texts(await adapter.search("Notes", text, None, limit, include_payload=True, **options))


# ------------------------------------------------------------------ beside cognee's own store


@pytest.mark.parametrize("seed", range(4))
def test_the_same_calls_leave_the_same_as_in_lancedb(tmp_path: Path, seed: int) -> None:
    """Replacing writes, joining and leaving sets, changed payloads, deletions."""

    async def use() -> None:
        chooser, words = random.Random(seed), ["oak", "elm", "yew", "ash", "fir", "box"]
        stock = LanceDBAdapter(url=str(tmp_path / "lance"), api_key=None, embedding_engine=Letters())
        ours = opened(tmp_path)
        for store in (stock, ours):
            await store.create_collection("Notes", Note)
        for _ in range(10):
            ids = [str(uuid5(NAMESPACE, str(n))) for n in chooser.sample(range(8), 3)]
            tags = chooser.sample(["a", "b", "it's"], chooser.randint(0, 2))
            points = [
                note(n, " ".join(chooser.choices(words, k=3)), *tags) for n in chooser.choices(range(8), k=3)
            ]
            step = chooser.choice(["write", "write", "write", "delete", "update", "untag", "untag some"])
            for store in (stock, ours):
                if step == "write":
                    await store.create_data_points("Notes", points)
                elif step == "delete":
                    await store.delete_data_points("Notes", ids)
                elif step == "update":
                    await store.update_payload("Notes", {id: {"of": "new"} for id in ids})
                else:
                    of = None if step == "untag" else ids
                    await store.remove_belongs_to_set_tags(["a"], node_ids=of)
            await alike(stock, ours, [str(uuid5(NAMESPACE, str(n))) for n in range(9)], chooser.choice(words))
        await ours.close()
        await stock.close()

    asyncio.run(use())


async def alike(stock: Any, ours: Any, ids: list[str], word: str) -> None:
    both = []
    for store in (stock, ours):
        kept = {one.id: one.payload for one in await store.retrieve("Notes", ids)}
        (vector,) = await Letters().embed_text([word])
        found: dict[str, Any] = {}
        for tags, operator in ((None, "OR"), (["a", "it's"], "OR"), (["a", "it's"], "AND")):
            options = {"node_name": tags, "node_name_filter_operator": operator}
            hits = await store.search("Notes", None, vector, None, **options)
            assert [one.score for one in hits] == sorted(one.score for one in hits)
            found[f"{tags} {operator}"] = {one.id: round(one.score, 2) for one in hits}
        scored = {one.id: round(one.score, 2) for one in await store.score_by_ids("Notes", ids, vector)}
        both.append((kept, found, scored, await store.get_stored_vector_size()))
    (kept, found, scored, size), (our_kept, our_found, our_scored, our_size) = both
    for payload in (*kept.values(), *our_kept.values()):
        payload["belongs_to_set"] = sorted(payload["belongs_to_set"] or [])
    assert our_kept == kept and our_size == size == DIM
    for theirs, mine in ((scored, our_scored), *((found[name], our_found[name]) for name in found)):
        assert theirs.keys() == mine.keys()
        assert all(math.isclose(theirs[id], mine[id], abs_tol=0.011) for id in theirs)


def test_200_identifiers_are_each_first(tmp_path: Path) -> None:
    """Vectors alone cannot distinguish them, so LanceDB finds few of them."""
    chooser = random.Random(5)
    names = [f"{chooser.choice(['sk', 'inv'])}-{chooser.choice(['stg', 'prd'])}-{n:04d}" for n in range(200)]
    points = [note(n, f"The ticket of billing is {name}.") for n, name in enumerate(names)]

    async def firsts(store: Any) -> list[bool]:
        await store.create_collection("Notes", Note)
        await store.create_data_points("Notes", points)
        return [
            name in (await search(store, f"what is {name}?", 1))[0]
            for name in names[:: 1 + 19 * (store is stock)]
        ]

    ours = opened(tmp_path)
    stock = LanceDBAdapter(url=str(tmp_path / "lance"), api_key=None, embedding_engine=Letters())
    assert all(asyncio.run(firsts(ours))) and sum(asyncio.run(firsts(stock))) <= 2
    by_distance = opened(tmp_path, query=Query(mode="vector"))
    assert sum(asyncio.run(firsts(by_distance))) < 20


# ------------------------------------------------------------------ the interface


def test_scores_ascend_even_if_a_keyword_match_comes_first(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        await adapter.create_data_points(
            "Notes", [note(1, "oak elm"), note(2, "oak oak oak"), note(3, "yew tk-0041")]
        )
        found = await adapter.search("Notes", "oak oak oak tk-0041", limit=3, include_payload=True)
        assert texts(found)[0] == "yew tk-0041"
        scores = [one.score for one in found]
        assert scores == sorted(scores) and scores[0] == scores[1]  # as near as the nearest after it
        assert scores[0] >= -1e-3 and scores[-1] <= 2.0
        (alone,) = await adapter.score_by_ids(
            "Notes", [found[0].id], (await Letters().embed_text(["oak"]))[0]
        )
        assert alone.score > 0.3  # its own distance

    asyncio.run(use())


@pytest.mark.parametrize(("limit", "n"), [(None, 5), (2, 2), (0, 0), (-1, 0), (100, 5)])
def test_limit_bounds_the_results(adapter: ScrubjayAdapter, limit: int | None, n: int) -> None:
    async def use() -> None:
        await adapter.create_data_points("Notes", [note(n, f"oak number {n}") for n in range(5)])
        assert len(await search(adapter, "oak", limit)) == n
        assert [len(one) for one in await adapter.batch_search("Notes", ["oak", "elm"], limit)] == [n, n]

    asyncio.run(use())


@pytest.mark.parametrize(
    ("names", "operator", "expected"),
    [
        (["a"], "OR", ["one", "two"]),
        (["a", "b"], "OR", ["one", "three", "two"]),
        (["a", "b"], "AND", ["two"]),
        (["' OR 1=1 --"], "OR", []),
        (["%"], "AND", []),
        ([], "OR", ["four", "one", "three", "two"]),
    ],
)
def test_sets_narrow_before_anything_is_ranked(
    adapter: ScrubjayAdapter, names: list[str], operator: str, expected: list[str]
) -> None:
    async def use() -> None:
        points = [note(1, "one", "a"), note(2, "two", "a", "b"), note(3, "three", "b"), note(4, "four", "A")]
        await adapter.create_data_points("Notes", points)
        found = await search(adapter, "one", None, node_name=names, node_name_filter_operator=operator)
        assert sorted(found) == expected

    asyncio.run(use())


def test_a_batch_is_embedded_once_and_answers_as_searches_do(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        await adapter.create_data_points("Notes", [note(n, f"oak tk-{n:04d}") for n in range(20)])
        asked = [f"what is tk-{n:04d}?" for n in range(20)]
        before = adapter.embedding_engine.n_calls
        batch = await adapter.batch_search("Notes", asked, 3, include_payload=True)
        assert adapter.embedding_engine.n_calls == before + 1
        assert [texts(one) for one in batch] == [await search(adapter, text) for text in asked]
        assert await adapter.batch_search("Notes", [], 3) == []

    asyncio.run(use())


def test_points_that_are_written_again_are_replaced_and_stay_in_their_sets(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        await adapter.create_data_points("Notes", [note(1, "oak", "a")])
        await adapter.create_data_points("Notes", [note(1, "elm", "b"), note(1, "yew", "c")])
        (found,) = await adapter.retrieve("Notes", [uuid5(NAMESPACE, "1")])
        assert (found.payload["text"], found.payload["belongs_to_set"]) == ("yew", ["a", "b", "c"])
        assert await search(adapter, "oak elm yew", None) == ["yew"]

    asyncio.run(use())


def test_given_vectors_are_stored_without_embedding(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        before = adapter.embedding_engine.n_calls
        vectors = await Letters().embed_text(["oak", "elm"])
        points = [
            {"id": uuid5(NAMESPACE, f"p{n}"), "vector": vector, "payload": {"n": n}}
            for n, vector in enumerate(vectors)
        ]
        await adapter.upsert_raw_vectors("Raw", points)
        asked = [uuid5(NAMESPACE, name) for name in ("p1", "none", "p0")]
        assert [one.payload["n"] for one in await adapter.retrieve("Raw", asked)] == [1, 0]
        (near,) = await adapter.search("Raw", None, vectors[1], 1, include_payload=True)
        assert near.payload == {"n": 1} and abs(near.score) < 0.01
        assert adapter.embedding_engine.n_calls == before
        for wrong in ({"vector": [1.0] * DIM}, {"id": "p3"}):
            with pytest.raises(ValueError, match=r"points\[1\]\.(id|vector): expected a value"):
                await adapter.upsert_raw_vectors("Raw", [points[0], wrong])

    asyncio.run(use())


def test_a_payload_that_changes_costs_no_embedding(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        await adapter.create_data_points("Notes", [note(1, "oak"), note(2, "elm")])
        ids = [str(uuid5(NAMESPACE, str(n))) for n in (1, 2, 3)]
        before = adapter.embedding_engine.n_calls
        near = await adapter.score_by_ids("Notes", ids, (await Letters().embed_text(["oak"]))[0])
        await adapter.update_payload("Notes", {id: {"of": "updated"} for id in ids})
        assert adapter.embedding_engine.n_calls == before
        assert [one.payload["of"] for one in await adapter.retrieve("Notes", ids)] == ["updated"] * 2
        assert await adapter.score_by_ids("Notes", ids, (await Letters().embed_text(["oak"]))[0]) == near
        assert await search(adapter, "oak", 1) == ["oak"]
        await adapter.update_payload("None", {ids[0]: {"of": "x"}})

    asyncio.run(use())


def test_deleted_points_are_not_found(adapter: ScrubjayAdapter) -> None:
    async def use() -> None:
        await adapter.create_data_points("Notes", [note(n, f"oak tk-{n:04d}") for n in range(500)])
        gone = [uuid5(NAMESPACE, str(n)) for n in range(499)]
        await adapter.delete_data_points("Notes", [*gone, uuid5(NAMESPACE, "none"), "\ud800", ""])
        assert await search(adapter, "what is tk-0041?", None) == ["oak tk-0499"]
        assert [one.payload["text"] for one in await adapter.retrieve("Notes", gone)] == []
        assert await adapter.score_by_ids("Notes", gone, [1.0] * DIM) == []
        await adapter.delete_data_points("Notes", [])
        await adapter.delete_data_points("None", gone)

    asyncio.run(use())


def test_missing_collections_and_wrong_arguments(adapter: ScrubjayAdapter, tmp_path: Path) -> None:
    async def use() -> None:
        assert await adapter.retrieve("None", ["a"]) == [] and not await adapter.has_collection("None")
        for call in (
            adapter.search("None", "oak"),
            adapter.batch_search("None", ["oak"], 1),
            adapter.get_collection("None"),
            adapter.score_by_ids("None", ["a"], [1.0] * DIM),
        ):
            with pytest.raises(CollectionNotFoundError, match="'None' not found"):
                await call
        with pytest.raises(MissingQueryParameterError):
            await adapter.search("None")
        await adapter.create_collection("Notes", Note)
        assert await adapter.search("Notes", "oak") == [] and await adapter.has_collection("Notes")
        with pytest.raises(ValueError, match="node_name_filter_operator"):
            await adapter.search("Notes", "oak", node_name=["a"], node_name_filter_operator="XOR")
        with pytest.raises(ValueError, match="expected 32 numbers"):
            await adapter.upsert_raw_vectors("Notes", [{"id": "a", "vector": [1.0]}])
        for name in ("", None, "\ud800"):
            with pytest.raises(ValueError, match="collection_name"):
                await adapter.create_collection(name)  # type: ignore[arg-type]

    asyncio.run(use())
    for url in ("", None, "https://example.com/db"):
        with pytest.raises(ValueError, match="vector_db_url: expected the path of a file"):
            ScrubjayAdapter(url=url, embedding_engine=Letters())
    with pytest.raises(ValueError, match="database_name"):
        opened(tmp_path, dataset=".")
    with pytest.raises(TypeError, match="query"):
        opened(tmp_path, query=3)
    with pytest.raises(ValueError, match="name: expected a name in small letters"):
        register("Scrubjay")


# ------------------------------------------------------------------ datasets


@pytest.mark.parametrize(
    "name", [name for name in NAMES if len(name) < 1000], ids=lambda name: ascii(name)[:20]
)
def test_datasets_of_look_alike_names_are_apart(tmp_path: Path, name: str) -> None:
    async def use() -> None:
        mine = opened(tmp_path, name)
        await mine.create_data_points("Notes", [note(1, "the secret of mine tk-0041", "a")])
        id = uuid5(NAMESPACE, "1")
        for other in [*TWINS(name), ""]:
            theirs = opened(tmp_path, other)
            assert not await theirs.has_collection("Notes") and await theirs.get_stored_vector_size() is None
            await theirs.create_data_points("Notes", [note(2, "another tk-0041")])
            assert await search(theirs, "the secret tk-0041", None) == ["another tk-0041"]
            assert await theirs.retrieve("Notes", [id]) == []
            await theirs.delete_data_points("Notes", [id])
            await theirs.update_payload("Notes", {str(id): {"of": "stolen"}})
            await theirs.remove_belongs_to_set_tags(["a"])
            await theirs.prune()
            if other:
                row = mock.Mock(vector_database_url=str(tmp_path / "v.scrubjay"), vector_database_name=other)
                await ScrubjayDatasetHandler.delete_dataset(row)
            assert not await theirs.has_collection("Notes")
            await theirs.close()
        (found,) = await mine.search("Notes", "secret", include_payload=True)
        assert (found.payload["text"], found.payload["of"]) == ("the secret of mine tk-0041", "")
        assert found.payload["belongs_to_set"] == ["a"]
        await mine.close()

    asyncio.run(use())


def test_datasets_of_other_models_share_the_file(tmp_path: Path) -> None:
    async def use() -> None:
        for dim in (3, 8):
            one = ScrubjayAdapter(
                url=str(tmp_path / "v"), embedding_engine=Letters(dim), database_name=f"d{dim}"
            )
            await one.create_data_points("Notes", [note(1, f"oak {dim}")])
            assert await one.get_stored_vector_size() == dim
            assert await search(one, "oak") == [f"oak {dim}"]
            await one.close()

    asyncio.run(use())


def test_a_dataset_is_pruned_or_deleted_in_all_its_collections(tmp_path: Path) -> None:
    async def use() -> None:
        both = [opened(tmp_path, name) for name in ("one", "two")]
        for store in both:
            for collection in ("Notes", "Others"):
                await store.create_data_points(collection, [note(1, "oak")])
        await both[0].prune()
        assert [await store.has_collection("Others") for store in both] == [False, True]
        row = mock.Mock(vector_database_url=str(tmp_path / "v.scrubjay"), vector_database_name="two")
        await ScrubjayDatasetHandler.delete_dataset(row)
        assert [await store.has_collection("Others") for store in both] == [False, False]
        row.vector_database_name = ""
        with pytest.raises(ValueError, match="vector_database_name"):
            await ScrubjayDatasetHandler.delete_dataset(row)
        for store in both:
            await store.close()
        with Index.open(tmp_path / "v.scrubjay") as index:
            counts = [
                index.collection(name).count(Scope("cognee", user="two"))
                for name in index.admin.collections()
            ]
            assert set(counts) == {0}

    asyncio.run(use())


# ------------------------------------------------------------------ files


KILLED = """
import asyncio, itertools, sys
sys.path[:0] = sys.argv[2:]
from tests.adapters.cognee_doubles import Letters
from cognee.infrastructure.engine import DataPoint
from scrubjay.adapters.cognee import ScrubjayAdapter

class Note(DataPoint):
    text: str
    metadata: dict = {"index_fields": ["text"]}

async def main():
    adapter = ScrubjayAdapter(url=sys.argv[1], embedding_engine=Letters())
    for n in itertools.count():
        await adapter.create_data_points("Notes", [Note(text=f"oak {n} {part}") for part in "ab"])
        print(n)

asyncio.run(main())
"""


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    n = len(acknowledged_writes(KILLED, tmp_path / "v.scrubjay", Path(__file__).parents[2], after=25))

    async def use() -> None:
        adapter = opened(tmp_path)
        found = await search(adapter, "oak", None)
        expected = {f"oak {i} {part}" for i in range(n) for part in "ab"}
        assert expected <= set(found) and len(found) in (2 * n, 2 * n + 2)  # whole writes
        await adapter.close()

    asyncio.run(use())


def test_the_url_decides_the_place_of_the_file(tmp_path: Path) -> None:
    for url, expected in (("deep/cognee.lancedb", "deep/cognee.scrubjay"), ("v.db", "v.db")):
        adapter = ScrubjayAdapter(url=str(tmp_path / url), embedding_engine=Letters())
        assert (tmp_path / expected).is_file() and expected in repr(adapter)
        asyncio.run(adapter.close())
    with pytest.raises(ClosedError):
        asyncio.run(adapter.has_collection("Notes"))


# ------------------------------------------------------------------ cognee itself


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[str]:
    """cognee with Scrubjay as its vector database, and scripted models."""

    async def answer(text_input: str, system_prompt: str, response_model: Any, **_: Any) -> Any:
        if response_model is str:
            return "ok"
        graph = "Graph" in response_model.__name__
        return response_model(nodes=[], edges=[]) if graph else response_model(summary="s", description="d")

    path = str(tmp_path / "v.scrubjay")
    register(path=path)
    cognee.config.set_vector_db_config(
        {"vector_db_provider": "scrubjay", "vector_dataset_database_handler": "scrubjay"}
    )
    embeddings = sys.modules["cognee.infrastructure.databases.vector.embeddings.get_embedding_engine"]
    letters = Letters()
    with (
        mock.patch.object(embeddings, "create_embedding_engine", return_value=letters),
        mock.patch.object(LLMGateway, "acreate_structured_output", staticmethod(answer)),
    ):
        yield path
    cognee.config.set_vector_db_config(
        {"vector_db_provider": "lancedb", "vector_dataset_database_handler": "lancedb"}
    )
    assert vector_engine_cache is not None


def test_cognees_own_engine_and_tasks_use_it(provider: str) -> None:
    async def use() -> None:
        engine = await get_vector_engine_async()
        assert engine.name == "Scrubjay"
        await index_data_points([note(n, f"The ticket of billing is tk-{n:04d}.", "a") for n in range(50)])
        found = await engine.search("Note_text", "what is tk-0041?", limit=1, include_payload=True)
        assert texts(found) == ["The ticket of billing is tk-0041."]
        assert found[0].payload["belongs_to_set"] == ["a"]

    asyncio.run(use())


def test_add_cognify_search_and_forget_by_dataset(provider: str) -> None:
    """All of cognee: each dataset is a scope of one file, erased when the dataset is deleted."""

    async def ask(dataset: str) -> list[str]:
        (answer,) = await cognee.search(
            "what is sk-stg-0041?", query_type=SearchType.CHUNKS, datasets=[dataset]
        )
        return [chunk["text"] for chunk in answer["search_result"]]

    async def use() -> None:
        for dataset, text in (
            ("jane", "Jane keeps sk-stg-0041 in a safe."),
            ("joe", "Joe lost sk-stg-0041."),
        ):
            await cognee.add(text, dataset_name=dataset)
            await cognee.cognify([dataset])
        assert await ask("jane") == ["Jane keeps sk-stg-0041 in a safe."]
        assert await ask("joe") == ["Joe lost sk-stg-0041."]
        with Index.open(provider) as index:
            chunks = index.collection(f"cognee: DocumentChunk_text ({DIM})")
            scopes = [scope for scope in chunks.scopes() if chunks.count(scope)]
            assert len(scopes) == 2 and {scope.tenant for scope in scopes} == {"cognee"}
        await cognee.forget(dataset="jane")
        assert await ask("joe") == ["Joe lost sk-stg-0041."]

    asyncio.run(use())
    assert Path(provider).exists()
