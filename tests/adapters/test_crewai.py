"""CrewAI's storage, through its own memory, scopes and slices, and compared with its own storage."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

# Before CrewAI is imported: test runs must not count as usage, nor wait for a trace collector.
os.environ.setdefault("CREWAI_TESTING", "true")
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
pytest.importorskip("crewai.memory.storage.factory")

from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import Field

from scrubjay import ClosedError, Index, Query, Scope
from scrubjay.adapters.crewai import ScrubjayEmbedder, ScrubjayStorage, register, text_of
from scrubjay.embedders import default
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

JANE = Scope("acme", user="jane")


class Silent(BaseLLM):
    """A model that must never be called."""

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the model was asked")


class Saying(BaseLLM):
    """A model with a fixed answer that records its calls."""

    answer: Any = ""
    asked: list[Any] = Field(default_factory=list)

    def call(self, messages: Any, *_: Any, **options: Any) -> Any:
        self.asked.append(messages)
        return self.answer


def memory_of(storage: Any, llm: Any = None, **options: Any) -> Memory:
    return Memory(storage=storage, embedder=ScrubjayEmbedder(), llm=llm or Silent(model="silent"), **options)


def remember(memory: Any, text: str, scope: str = "/", **options: Any) -> Any:
    return memory.remember(text, **{"scope": scope, "categories": [], "importance": 0.5, **options})


def record(id: str, text: str = "a note", vector: list[float] | None = None, **fields: Any) -> MemoryRecord:
    return MemoryRecord(id=id, content=text, embedding=vector, **fields)


def ids(found: list[tuple[MemoryRecord, float]]) -> list[str]:
    return [one.id for one, _ in found]


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayStorage]:
    storage = ScrubjayStorage(None if request.param == "memory" else tmp_path / "a", scope=JANE)
    yield storage
    storage.close()


def test_the_storage_implements_crewais_backend(storage: ScrubjayStorage) -> None:
    assert isinstance(storage, StorageBackend)


# ---------------------------------------------------------------------- through Memory


@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_a_memory_remembers_and_recalls(storage: ScrubjayStorage, depth: Any) -> None:
    memory = memory_of(storage)
    kept = remember(
        memory, "The staging key prefix is sk-stg-0041.", "/keys", categories=["keys"], metadata={"by": "joe"}
    )
    remember(memory, "Lies awake after espresso.", "/health")
    first = memory.recall("what is sk-stg-0041?", depth=depth)[0].record
    assert (first.id, first.content, first.scope) == (kept.id, kept.content, "/keys")
    assert (first.categories, first.metadata) == (["keys"], {"by": "joe"})
    assert memory.recall("trouble sleeping", depth=depth)[0].record.content == "Lies awake after espresso."
    assert [m.record.scope for m in memory.recall("key", scope="/keys", depth=depth)] == ["/keys"]
    assert memory.recall("key", scope="/key", depth=depth) == []


def test_a_recall_notes_that_it_read(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage)
    kept = remember(memory, "The staging key prefix is sk-stg-0041.", metadata={"by": "joe"})
    memory.recall("sk-stg-0041", depth="shallow")
    touched = storage.get_record(kept.id)
    assert touched is not None and touched.last_accessed > kept.last_accessed
    assert (touched.created_at, touched.metadata) == (kept.created_at, {"by": "joe"})
    assert touched.embedding is not None and len(touched.embedding) == default().dim


def test_many_are_remembered_in_the_background_and_alike_ones_dropped(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage)
    texts = ["Prefers trains.", "Prefers trains.", "Lies awake after espresso."]
    memory.remember_many(texts, scope="/a", categories=[], importance=0.5)
    found = memory.recall("trains", depth="shallow")
    assert found[0].record.content == "Prefers trains." and memory.info().record_count == 2


def test_words_alone_make_no_version_of_a_memory(storage: ScrubjayStorage) -> None:
    """CrewAI asks a model from a score of .85 on: a shared identifier scores lower, the same text higher."""
    memory = memory_of(storage)
    remember(memory, "The staging key prefix is sk-stg-0041.")
    remember(memory, "Deployed on Friday with sk-stg-0041 by the night shift, which nobody had announced.")
    assert storage.count() == 2
    with_model = memory_of(storage, Saying(model="saying", answer="{}"))
    remember(with_model, "The staging key prefix is sk-stg-0041!")
    assert len(with_model.llm.asked) == 1


def test_a_memory_updates_forgets_and_resets(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage)
    kept = remember(memory, "Prefers trains.", "/trips", categories=["travel"])
    remember(memory, "Prefers tea.", "/food", categories=["taste"])
    memory.update(kept.id, content="Prefers planes.", metadata={"since": "May"})
    found = memory.recall("planes", depth="shallow")[0].record
    assert (found.content, found.metadata, found.categories) == (
        "Prefers planes.",
        {"since": "May"},
        ["travel"],
    )
    assert memory.forget(categories=["travel"]) == 1
    assert memory.forget(scope="/trips") == 0
    assert [one.content for one in memory.list_records()] == ["Prefers tea."]
    memory.reset()
    assert memory.recall("tea", depth="shallow") == [] and memory.list_categories() == {}


def test_the_model_of_a_long_question_chooses_among_the_scopes(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage, Saying(model="saying", answer="no JSON"), exploration_budget=0)
    remember(memory, "The staging key prefix is sk-stg-0041.", "/keys")
    question = "We deploy tonight, and what we need to know before that is " * 5 + "what sk-stg-0041 is."
    assert memory.recall(question)[0].record.scope == "/keys"


def test_scopes_and_slices_of_a_memory(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage)
    for name in ("/crew/a", "/crew/ab", "/crew/a/b"):
        remember(memory, f"A secret of {name}.", name)
    view = memory.scope("/crew/a")
    assert {m.record.scope for m in view.recall("secret", depth="shallow")} == {"/crew/a", "/crew/a/b"}
    slice = memory.slice(["/crew/ab", "/crew/a/b"])
    assert {m.record.scope for m in slice.recall("secret", depth="shallow")} == {"/crew/ab", "/crew/a/b"}
    view.reset()
    assert [one.scope for one in memory.list_records()] == ["/crew/ab"]
    assert "/crew/ab (1 records)" in memory.tree()


def test_a_root_scope_is_a_memory_of_its_own(storage: ScrubjayStorage) -> None:
    one, other = (memory_of(storage, root_scope=root) for root in ("/crew/one", "/crew/one-two"))
    remember(one, "The key is sk-stg-0041.", "/keys")
    remember(other, "The key is sk-stg-0042.", "/keys")
    assert [m.record.scope for m in one.recall("key", depth="shallow")] == ["/crew/one/keys"]
    one.reset()
    assert [one.scope for one in storage.list_records()] == ["/crew/one-two/keys"]


def test_a_private_memory_is_its_sources(storage: ScrubjayStorage) -> None:
    memory = memory_of(storage)
    remember(memory, "Jane's own key is sk-stg-0041.", source="jane", private=True)
    assert memory.recall("sk-stg-0041", depth="shallow") == []
    assert memory.recall("sk-stg-0041", depth="shallow", source="joe") == []
    assert len(memory.recall("sk-stg-0041", depth="shallow", source="jane")) == 1


def test_an_asynchronous_memory(storage: ScrubjayStorage) -> None:
    async def use() -> Any:
        memory = memory_of(storage)
        await memory.aremember("The key is sk-stg-0041.", scope="/", categories=[], importance=0.5)
        await storage.asave([record("m2", "tea", metadata={"n": 1})])
        vector = ScrubjayEmbedder()(["sk-stg-0041"])[0]
        found = await storage.asearch(vector, limit=1)
        assert await storage.adelete(metadata_filter={"n": 1}) == 1
        return [
            *(m.record.content for m in await memory.arecall("sk-stg-0041")),
            *(r.content for r, _ in found),
        ]

    assert asyncio.run(use()) == ["The key is sk-stg-0041."] * 2


def test_two_hundred_identifiers_come_first(storage: ScrubjayStorage) -> None:
    texts = {
        f"m{n}": f"The key prefix of the gateway is sk-{'stg' if n % 2 else 'prd'}-{n:04d}."
        for n in range(400)
    }
    vectors = default().embed_documents(list(texts.values()))
    storage.save(
        [record(id, text, list(map(float, v))) for (id, text), v in zip(texts.items(), vectors, strict=True)]
    )
    memory = memory_of(storage)
    for n in range(0, 400, 2):
        text = texts[f"m{n}"]
        best = memory.recall(f"what is {text.rpartition(' ')[2][:-1]}?", depth="shallow", limit=4)[0]
        assert best.record.content == text


def test_a_closed_memory_raises_closed_error(tmp_path: Path) -> None:
    memory = memory_of(ScrubjayStorage(tmp_path / "a", scope=JANE))
    remember(memory, "The key is sk-stg-0041.")
    memory.close()
    with pytest.raises(ClosedError):
        memory.list_records()
    again = memory_of(ScrubjayStorage(tmp_path / "a", scope=JANE))
    assert len(again.recall("sk-stg-0041", depth="shallow")) == 1
    again.close()


def test_a_copied_memory_has_the_same_memories(storage: ScrubjayStorage) -> None:
    """CrewAI copies the fields of a memory when it copies a crew."""
    fields = {"storage": storage, "embedder": ScrubjayEmbedder(), "llm": Silent(model="silent")}
    remember(Memory(**fields), "The key is sk-stg-0041.")
    assert len(Memory(**copy.deepcopy(fields)).recall("sk-stg-0041", depth="shallow")) == 1


def test_a_name_opens_it(tmp_path: Path) -> None:
    try:
        register(tmp_path / "a", scope=JANE)
        register(tmp_path / "a", scope=Scope("acme", user="joe"), spec="joe's")
        jane, joe = (memory_of(name) for name in ("scrubjay", "joe's"))
        remember(jane, "The key is sk-stg-0041.")
        assert len(jane.recall("sk-stg-0041", depth="shallow")) == 1
        assert joe.recall("sk-stg-0041", depth="shallow") == []
        assert type(memory_of(str(tmp_path / "lance"))._storage).__name__ == "LanceDBStorage"
        jane.close()
        joe.close()
        with pytest.raises(TypeError, match="scope"):
            register(tmp_path / "a", scope="acme")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="spec"):
            register(tmp_path / "a", scope=JANE, spec="")
    finally:
        set_memory_storage_factory(None)


# ---------------------------------------------------------------------- the protocol


def test_a_record_comes_back_as_it_was(storage: ScrubjayStorage) -> None:
    written = record(
        "m1",
        "Prefers trains. 電車",
        [0.5, -0.25],
        scope="/crew/a",
        categories=["travel", "é"],
        metadata={"n": 1, "deep": {"list": [1, None]}, "none": None},
        importance=0.75,
        created_at=datetime(2026, 3, 1, 9, 30, 0, 123456),
        last_accessed=datetime(2026, 3, 2, tzinfo=timezone(timedelta(hours=2))),
        source="jane",
        private=True,
    )
    storage.save([written])
    read = storage.get_record("m1")
    assert read is not None
    expected = written.model_copy(update={"last_accessed": datetime(2026, 3, 1, 22)})
    assert read.model_dump() == expected.model_dump() and read.embedding == [0.5, -0.25]
    assert storage.search([0.5, -0.25])[0][0].model_dump() == expected.model_dump()
    assert storage.get_record("m2") is storage.get_record("") is storage.get_record("\ud800") is None


def test_a_saved_id_is_replaced_and_a_vector_kept_with_its_text(storage: ScrubjayStorage) -> None:
    storage.save([record("m1", "one", [1.0, 0.0]), record("m1", "two", [1.0, 0.0])])
    storage.update(record("m1", "two", metadata={"n": 1}))
    assert storage.search([1.0, 0.0])[0][0].metadata == {"n": 1}
    storage.update(record("m1", "three"))
    assert storage.search([1.0, 0.0]) == [] and storage.count() == 1
    storage.update(record("m2", "new", [0.0, 1.0]))
    assert storage.count() == 2


PATHS = [
    "/",
    "/a",
    "/a/b",
    "/a/b/c",
    "/ab",
    "/a b",
    "/a0",
    "/a-",
    "/A",
    "/a%",
    "/a_",
    "/é",
    "/a/é/ü",
    "/日本/東",
]


@pytest.mark.parametrize("path", [*PATHS, "/%", "/_", "/a/", "a//b", "", "/nothing", "/a/b/c/d", "/*"])
def test_a_path_selects_its_own_records_and_those_below(storage: ScrubjayStorage, path: str) -> None:
    storage.save([record(one, f"secret {n}", [1.0, n / 100], scope=one) for n, one in enumerate(PATHS)])
    prefix = "/" + "/".join(part for part in path.split("/") if part)
    inside = {one for one in PATHS if prefix == "/" or one == prefix or one.startswith(prefix + "/")}
    assert set(ids(storage.search([1.0, 0.0], path, limit=100))) == inside
    assert {one.id for one in storage.list_records(path)} == inside
    assert storage.count(path) == storage.get_scope_info(path).record_count == len(inside)
    steps = {one.removeprefix(prefix.rstrip("/")).split("/")[1] for one in inside - {prefix}}
    assert storage.list_scopes(path) == sorted(prefix.rstrip("/") + "/" + step for step in steps)
    storage.reset(path)
    assert {one.id for one in storage.list_records()} == set(PATHS) - inside


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"n": 1}, ["b", "t"]),  # in Python, True == 1
    ({"n": True}, ["b", "t"]),
    ({"n": 2.0}, ["c"]),
    ({"s": "x"}, ["a"]),
    ({"s": "X"}, []),
    ({"s": None}, ["b", "c", "d", "t"]),
    ({"l": ["p", "q"]}, ["d"]),
    ({"l": "p"}, []),
    ({"o": {"k": [1]}}, ["c"]),
    ({"n": 2, "o": {"k": [1]}}, ["c"]),
    ({"created_at": "then"}, ["a"]),
    ({"$and": 1}, ["d"]),
    ({"n": float("nan")}, []),
    ({"n": 2**80}, []),
]


@pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=[str(filter) for filter, _ in FILTERS])
def test_metadata_are_equal_as_in_python(
    storage: ScrubjayStorage, filter: dict[str, Any], expected: list[str]
) -> None:
    metadata: dict[str, dict[str, Any]] = {
        "a": {"s": "x", "created_at": "then"},
        "b": {"n": 1},
        "c": {"n": 2, "o": {"k": [1]}},
        "d": {"l": ["p", "q"], "$and": 1},
        "t": {"n": True, "s": None},
    }
    for id, held in metadata.items():
        storage.save([record(id, "a note", [1.0, 0.5], metadata=held)])
        if all(held.get(name) == value for name, value in filter.items()):
            assert id in expected
    assert sorted(ids(storage.search([1.0, 0.5], metadata_filter=filter))) == expected
    assert storage.delete(metadata_filter=filter) == len(expected)
    assert {one.id for one in storage.list_records()} == metadata.keys() - set(expected)


def test_a_deletion_meets_all_of_its_conditions(storage: ScrubjayStorage) -> None:
    def fill() -> None:
        storage.save(
            [
                record(
                    f"m{n}",
                    scope=f"/s{n % 2}",
                    categories=[f"c{n % 3}"],
                    created_at=datetime(2026, 3, 1 + n),
                    metadata={"n": n},
                )
                for n in range(6)
            ]
        )

    everyone = {f"m{n}" for n in range(6)}
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, everyone),
        ({"scope_prefix": "/"}, everyone),
        ({"record_ids": []}, set()),
        ({"record_ids": ["m1", "m2", "m9", ""], "scope_prefix": "/s0"}, {"m2"}),
        ({"record_ids": ["m1", "m2"], "metadata_filter": {"n": 1}}, {"m1"}),
        ({"record_ids": ["m1", "m2"], "older_than": datetime(2026, 3, 3)}, {"m1"}),
        ({"categories": ["c0", "c1"], "scope_prefix": "/s1"}, {"m1", "m3"}),
        ({"older_than": datetime(2026, 3, 3)}, {"m0", "m1"}),
        ({"older_than": datetime(2026, 3, 3, 2, tzinfo=timezone(timedelta(hours=2)))}, {"m0", "m1"}),
    ]
    for asked, gone in cases:
        fill()
        assert storage.delete(**asked) == len(gone), asked
        assert {one.id for one in storage.list_records()} == everyone - gone, asked


def test_pages_and_what_a_scope_holds(storage: ScrubjayStorage) -> None:
    assert storage.get_scope_info("/").model_dump() == {
        "path": "/", "record_count": 0, "categories": [], "oldest_record": None, "newest_record": None,
        "child_scopes": [],
    }  # fmt: skip
    days = [3, 1, 5, 2, 4]
    storage.save(
        [
            record(
                f"m{day}",
                scope="/a",
                categories=["odd" if day % 2 else "even", "all"],
                created_at=datetime(2026, 3, day),
            )
            for day in days
        ]
    )
    storage.update(
        record("m1", "changed", scope="/a", categories=["odd", "all"], created_at=datetime(2026, 3, 1))
    )
    pages = [
        [one.id for one in storage.list_records("/a", limit=2, offset=offset)] for offset in (0, 2, 4, 6)
    ]
    assert pages == [["m5", "m4"], ["m3", "m2"], ["m1"], []]
    assert storage.list_records(limit=0) == storage.list_records(offset=-1) == []
    info = storage.get_scope_info("a")
    assert (info.path, info.record_count, info.categories) == ("/a", 5, ["all", "even", "odd"])
    assert (info.oldest_record, info.newest_record) == (datetime(2026, 3, 1), datetime(2026, 3, 5))
    assert storage.list_categories() == {"all": 5, "odd": 3, "even": 2}
    assert ids(storage.search([1.0, 0.0], limit=0)) == []


def test_fewer_results_are_the_first_of_more(storage: ScrubjayStorage) -> None:
    """Results are ordered by CrewAI's scores, which differ from the index's ranking."""
    embed = ScrubjayEmbedder()
    things = ["night trains", "staging keys", "decaf coffee", "old invoices", "miniature ships"]
    texts = [f"Note {n} about {things[n % 5]} and {things[n * 7 % 3]} in room {n % 11}" for n in range(60)]
    vectors = embed(texts)
    storage.save(
        [record(f"m{n}", text, vector) for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))]
    )
    (asked,) = embed(["the keys of the train room 7"])
    most = storage.search(asked, limit=40)
    assert [score for _, score in most] == sorted((score for _, score in most), reverse=True)
    for limit in (1, 2, 3, 5, 10, 25):
        assert ids(storage.search(asked, limit=limit)) == ids(most)[:limit]


def test_a_vector_that_carries_its_text_searches_by_words_too() -> None:
    storage = ScrubjayStorage(scope=JANE)
    storage.save([record("m1", "The key is sk-stg-0041.", [0.0, 1.0]), record("m2", "Tea", [1.0, 0.0])])
    plain = [1.0, 0.1]
    carrying = ScrubjayEmbedder(lambda texts: [plain for _ in texts])(["sk-stg-0041"])[0]
    assert ids(storage.search(plain)) == ["m2", "m1"] and text_of(plain) is None
    assert ids(storage.search(carrying)) == ["m1", "m2"] and text_of(carrying) == "sk-stg-0041"
    scores = [score for _, score in storage.search(carrying)]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    assert ids(storage.search(plain, min_score=0.9)) == ["m2"]
    by_words = ScrubjayStorage(
        storage._documents.index, scope=JANE, collection=None, query=Query(mode="lexical")
    )
    assert ids(by_words.search(carrying)) == ["m1"]


@pytest.mark.parametrize("embed", [default(), None, lambda texts: [[1.0, 2.0] for _ in texts]])
def test_each_kind_of_embedder_is_accepted(embed: Any) -> None:
    first, second = ScrubjayEmbedder(embed)(["one", "two"])
    assert (text_of(first), text_of(second)) == ("one", "two")
    assert all(isinstance(number, float) for number in first) and len(first) == len(second) > 1
    assert text_of(copy.deepcopy(first)) == "one"


def test_invalid_arguments_are_named(storage: ScrubjayStorage) -> None:
    storage.save([record("m1", vector=[1.0, 0.0])])
    for wrong in ([record("m2", vector=[1.0])], [record("m3"), record("m4", vector=[1.0, 2.0, 3.0])]):
        with pytest.raises(EmbeddingDimensionMismatchError) as error:
            storage.save(wrong)
        assert error.value.stored_dim == 2
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        ScrubjayStorage(scope=JANE).save([record("m1", vector=[1.0]), record("m2", vector=[1.0, 2.0])])
    with pytest.raises(ValueError, match="crewai_scope"):
        storage.save([record("m5", metadata={"crewai_scope": "/"})])
    with pytest.raises((TypeError, ValueError), match="metadata"):
        storage.save([record("m5"), record("m6", metadata={"x": object()})])
    for asked in (
        {"categories": "all"},
        {"metadata_filter": [1]},
        {"older_than": "May"},
        {"scope_prefix": 1},
    ):
        with pytest.raises(TypeError, match=next(iter(asked)).split("_")[0]):
            storage.delete(**asked)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="embed"):
        ScrubjayEmbedder(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="embed"):
        ScrubjayEmbedder(lambda texts: [])(["one"])
    with pytest.raises(TypeError, match="scope"):
        ScrubjayStorage(scope="acme")  # type: ignore[arg-type]
    assert [one.id for one in storage.list_records()] == ["m1"]


# ---------------------------------------------------------------------- isolation, deletion, kills


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_hostile_names_reach_no_other_scope(name: str) -> None:
    index = Index()
    mine = ScrubjayStorage(index, scope=Scope("acme", user=name))
    mine.save([record("m1", "The launch code is zx-9981.", [1.0, 0.0], scope="/keys", categories=["c"])])
    for twin in TWINS(name):
        for scope in (
            Scope("acme", user=twin),
            Scope(twin),
            Scope(twin, user=name),
            Scope("acme", agent=name),
        ):
            other = ScrubjayStorage(index, scope=scope)
            assert other.search([1.0, 0.0], limit=100) == other.list_records() == other.list_scopes() == []
            assert other.get_record("m1") is None and other.count() == 0 and other.list_categories() == {}
            other.touch_records(["m1"])
            other.save([record("m1", "mine", [0.0, 1.0])])
            assert other.delete(record_ids=["m1"]) == 1
            other.delete()
            other.reset()
    read = mine.get_record("m1")
    assert read is not None and read.content == "The launch code is zx-9981."


def test_tenant_wide_records_are_found_but_not_deleted_by_a_user() -> None:
    index = Index()
    shared = ScrubjayStorage(index, scope=Scope("acme"))
    shared.save([record("m1", "Closed on Mondays.", [1.0, 0.0], scope="/a")])
    jane = ScrubjayStorage(index, scope=JANE)
    assert ids(jane.search([1.0, 0.0], "/a")) == ["m1"]
    jane.touch_records(["m1"])
    assert jane.delete() == jane.delete(record_ids=["m1"]) == jane.delete(scope_prefix="/a") == 0
    jane.reset()
    assert ids(shared.search([1.0, 0.0])) == ["m1"]


def test_deleted_texts_are_in_no_file(tmp_path: Path) -> None:
    memory = memory_of(ScrubjayStorage(tmp_path / "a", scope=JANE))
    kept = remember(memory, "The launch code is zx-9981.")
    memory.forget(record_ids=[kept.id])
    memory.storage._documents.index.admin.compact()
    assert memory.recall("zx-9981", depth="shallow") == []
    memory.close()
    assert not any(b"zx-9981" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_write_that_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    said = acknowledged_writes(
        """
import sys
from crewai.memory.types import MemoryRecord
from scrubjay import Scope
from scrubjay.adapters.crewai import ScrubjayStorage
storage = ScrubjayStorage(sys.argv[1], scope=Scope("acme", user="jane"))
n = 0
while True:
    storage.save([MemoryRecord(id=f"m{n}", content=f"Note {n}", embedding=[1.0, float(n)], scope="/a")])
    print("wrote", f"m{n}")
    n += 1
""",
        tmp_path / "a",
        after=40,
        prefix="wrote ",
    )
    storage = ScrubjayStorage(tmp_path / "a", scope=JANE)
    there = {one.id for one in storage.list_records("/a", limit=10**6)}
    assert set(said) <= there and len(there) - len(said) <= 1
    assert set(ids(storage.search([1.0, 0.0], limit=10**4))) == there
    storage.close()


# ---------------------------------------------------------------------- beside LanceDB


def test_results_match_crewais_lancedb_storage(tmp_path: Path) -> None:
    """Equal where the stock storage works as documented; it treats look-alikes as parts of a path."""
    lancedb_storage = pytest.importorskip("crewai.memory.storage.lancedb_storage")
    stock = lancedb_storage.LanceDBStorage(tmp_path / "lance", compact_every=0)
    ours = ScrubjayStorage(tmp_path / "ours", scope=JANE)
    made = [
        record(
            f"m{n}",
            f"note {n}",
            [1.0, n / 10, (n % 3) / 5],
            scope=f"/crew/{'abc'[n % 3]}",
            categories=[f"c{n % 2}"],
            metadata={"n": n % 4},
            created_at=datetime(2026, 3, 1 + n),
        )
        for n in range(12)
    ]
    for storage in (stock, ours):
        storage.save(made)

    def looks(storage: Any) -> list[Any]:
        return [
            storage.count(),
            storage.count("/crew/a"),
            storage.list_scopes("/"),
            storage.list_scopes("/crew"),
            storage.list_categories("/crew/b"),
            storage.get_scope_info("/crew").model_dump(),
            [one.id for one in storage.list_records("/crew", limit=5, offset=2)],
            sorted(ids(storage.search([1.0, 0.3, 0.2], "/crew/b", categories=["c1"], limit=12))),
            sorted(ids(storage.search([1.0, 0.3, 0.2], metadata_filter={"n": 3}, limit=12))),
        ]

    assert looks(ours) == looks(stock)
    for asked in ({"categories": ["c1"], "scope_prefix": "/crew/a"}, {"record_ids": ["m2", "m4"]}):
        assert ours.delete(**asked) == stock.delete(**asked)  # type: ignore[arg-type]
    assert looks(ours) == looks(stock)
    for storage in (stock, ours):
        storage.save([record("look-alike", "A secret", [1.0, 0.0, 0.0], scope="/crew/a1")])
    found = ids(ours.search([1.0, 0.0, 0.0], "/crew/a", limit=20))
    theirs = ids(stock.search([1.0, 0.0, 0.0], "/crew/a", limit=20))
    assert "look-alike" not in found and set(found) == set(theirs) - {"look-alike"}
    ours.close()


def test_repr_names_scope_and_file(tmp_path: Path) -> None:
    storage = ScrubjayStorage(tmp_path / "a", scope=JANE)
    said = f"ScrubjayStorage Scope('acme', user='jane'): 'crewai' of {tmp_path / 'a'}, by words"
    assert repr(storage) == f"<scrubjay.adapters.crewai.{said}>"
    storage.close()
    assert repr(storage) == f"<scrubjay.adapters.crewai.ScrubjayStorage {JANE!r}: closed>"
