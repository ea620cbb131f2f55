"""Agno's vector database, through its Knowledge, and compared with its own LanceDB store."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("AGNO_TELEMETRY", "false")
pytest.importorskip("agno.vectordb.base")

from agno.filters import AND, CONTAINS, EQ, GT, GTE, IN, LT, LTE, NEQ, NOT, OR, STARTSWITH
from agno.knowledge.document import Document
from agno.knowledge.embedder import Embedder
from agno.knowledge.knowledge import Knowledge
from agno.knowledge.reranker.base import Reranker
from agno.vectordb.base import VectorDb, suppress_reranker
from agno.vectordb.distance import Distance
from agno.vectordb.search import SearchType

from scrubjay import ClosedError, Index, Query, Scope
from scrubjay.adapters.agno import LocalEmbedder, ScrubjayDb
from scrubjay.embedders import default
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes


class Letters(Embedder):
    """An embedder that counts letters and its own calls."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__(dimensions=3)
        self.fails, self.n_asked = fails, 0

    def get_embedding(self, text: str) -> list[float]:
        self.n_asked += 1
        if self.fails:
            raise ConnectionError("the model is away")
        return [1.0 + text.count("a"), 1.0 + text.count("e"), 1.0 + text.count("o")]

    def get_embedding_and_usage(self, text: str) -> tuple[list[float], dict[str, Any] | None]:
        return self.get_embedding(text), {"tokens": len(text)}

    async def async_get_embedding(self, text: str) -> list[float]:
        return self.get_embedding(text)

    async def async_get_embedding_and_usage(self, text: str) -> tuple[list[float], dict[str, Any] | None]:
        return self.get_embedding_and_usage(text)


def chunk(text: str, id: str | None = None, **fields: Any) -> Document:
    return Document(content=text, id=id, **fields)


def texts(found: list[Document]) -> list[str]:
    return [document.content for document in found]


@pytest.fixture(params=["memory", "file"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayDb]:
    db = ScrubjayDb(None if request.param == "memory" else tmp_path / "a", tenant="acme", embedder=Letters())
    yield db
    db.close()


# ---------------------------------------------------------------------- through Knowledge


@pytest.fixture
def knowledge(tmp_path: Path) -> Iterator[Knowledge]:
    db = ScrubjayDb(tmp_path / "a", tenant="acme")
    yield Knowledge(vector_db=db)
    db.close()


def fill(knowledge: Knowledge) -> None:
    knowledge.insert(
        text_content="The staging key prefix is sk-stg-0041.",
        name="keys",
        metadata={"team": "ops"},
        user_id="jane",
    )
    knowledge.insert(text_content="Lies awake after espresso.", name="health", user_id="joe")
    knowledge.insert(text_content="Closed on Mondays.", name="hours")


@pytest.mark.parametrize("kind", ["vector", "keyword", "hybrid"])
def test_a_knowledge_keeps_and_finds(knowledge: Knowledge, kind: str) -> None:
    fill(knowledge)
    found = knowledge.search("sk-stg-0041 key", search_type=kind, user_id="jane")
    assert (found[0].content, found[0].name) == ("The staging key prefix is sk-stg-0041.", "keys")
    assert found[0].meta_data["team"] == "ops" and found[0].content_id
    everyones = set(texts(knowledge.search("staging espresso mondays", search_type=kind)))
    assert len(everyones) == 3
    joes = set(texts(knowledge.search("staging espresso mondays", search_type=kind, user_id="joe")))
    assert joes == {"Lies awake after espresso.", "Closed on Mondays."}


def test_an_asynchronous_knowledge(knowledge: Knowledge) -> None:
    async def use() -> list[str]:
        await knowledge.ainsert(
            text_content="The staging key prefix is sk-stg-0041.", name="k", user_id="jane"
        )
        await knowledge.ainsert(text_content="Tea at six.", name="t", user_id="joe")
        assert texts(await knowledge.asearch("sk-stg-0041", user_id="joe")) == ["Tea at six."]
        return texts(await knowledge.asearch("sk-stg-0041", user_id="jane"))

    assert asyncio.run(use()) == ["The staging key prefix is sk-stg-0041."]


def test_a_knowledge_filters_and_removes(knowledge: Knowledge) -> None:
    fill(knowledge)
    assert texts(knowledge.search("key", filters={"team": "ops"})) == [
        "The staging key prefix is sk-stg-0041."
    ]
    assert knowledge.search("key", filters=[EQ("team", "dev")]) == []
    assert knowledge.remove_vectors_by_name("health") and not knowledge.remove_vectors_by_name("health")
    assert knowledge.remove_vectors_by_metadata({"team": "ops"})
    (left,) = knowledge.search("mondays")
    assert knowledge.remove_vector_by_id(left.id or "")
    assert knowledge.search("mondays") == []


def test_content_that_is_inserted_again_is_one(knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("The staging key prefix is sk-stg-0041.")
    for _ in range(3):
        knowledge.insert(path=str(file), user_id="jane")
    knowledge.insert(path=str(file), user_id="joe")
    assert knowledge.vector_db.get_count() == 2
    knowledge.insert(path=str(file), user_id="jane", skip_if_exists=True)
    assert knowledge.vector_db.get_count() == 2


def test_instances_of_one_database_are_isolated_on_demand(tmp_path: Path) -> None:
    db = ScrubjayDb(tmp_path / "a", tenant="acme")
    one, other = (Knowledge(name=name, vector_db=db, isolate_vector_search=True) for name in ("one", "one2"))
    one.insert(text_content="A secret of one.", name="one's")  # Agno identifies contents by name
    other.insert(text_content="A secret of another.", name="the other's")
    assert texts(one.search("secret")) == ["A secret of one."]
    assert texts(other.search("secret", filters={})) == ["A secret of another."]
    db.close()


def test_the_search_tool_of_an_agent_finds_inserted_content(knowledge: Knowledge) -> None:
    fill(knowledge)
    (tool,) = knowledge.get_tools()
    assert "sk-stg-0041" in str(tool.entrypoint(query="staging key"))


def test_two_hundred_identifiers_come_first(tmp_path: Path) -> None:
    db = ScrubjayDb(tmp_path / "a", tenant="acme")
    made = [f"The key prefix of the gateway is sk-{'stg' if n % 2 else 'prd'}-{n:04d}." for n in range(400)]
    db.insert("hash", [chunk(text) for text in made], user_id="jane")
    knowledge = Knowledge(vector_db=db)
    for n in range(0, 400, 2):
        identifier = made[n].rpartition(" ")[2][:-1]
        assert texts(knowledge.search(f"what is {identifier}?", max_results=3, user_id="jane"))[0] == made[n]
        if n % 40 == 0:
            assert texts(db.search(f"what is {identifier}?"))[0] == made[n]
    db.close()


# ---------------------------------------------------------------------- the interface


def test_the_store_implements_agnos_vector_db(db: ScrubjayDb) -> None:
    assert isinstance(db, VectorDb) and db.upsert_available()
    assert db.get_supported_search_types() == [SearchType.vector, SearchType.keyword, SearchType.hybrid]
    assert db.create() is db.optimize() is asyncio.run(db.async_create()) is None


def test_a_document_comes_back_as_it_was(db: ScrubjayDb) -> None:
    written = chunk(
        "Prefers trains. 電車", "d1", name="n", content_id="c", meta_data={"n": 1, "deep": {"l": [1]}}
    )
    db.insert("hash", [written], filters={"stamp": True})
    (read,) = db.search("trains", 1)
    assert (read.content, read.name, read.content_id) == (written.content, "n", "c")
    assert read.meta_data == {"n": 1, "deep": {"l": [1]}, "stamp": True}
    assert read.usage == {"tokens": len(written.content)} and written.meta_data == {
        "n": 1,
        "deep": {"l": [1]},
    }


@pytest.mark.parametrize("is_async", [False, True])
def test_the_same_content_again_takes_its_own_place(db: ScrubjayDb, is_async: bool) -> None:
    def do(verb: str, *args: Any, **options: Any) -> None:
        done = getattr(db, f"async_{verb}" if is_async else verb)(*args, **options)
        if is_async:
            asyncio.run(done)

    do("insert", "h", [chunk("one", "1"), chunk("two", "2"), chunk("three")])
    do("insert", "h", [chunk("one", "1"), chunk("three")])
    assert db.get_count() == 3
    do("insert", "other", [chunk("one", "1")])  # another file with a chunk of the same name
    do("insert", "h", [chunk("one", "1")], user_id="jane")
    assert db.get_count() == 5
    do("upsert", "h", [chunk("uno", "1"), chunk("four", "4")])
    assert sorted(texts(db.search("one uno two three four", 9))) == ["four", "one", "one", "uno"]
    do("upsert", "h", [], user_id="jane")
    assert db.get_count() == 3
    do("insert", "h", [])
    assert db.get_count() == 3


def test_chunks_with_an_embedding_are_not_embedded_again(db: ScrubjayDb) -> None:
    embedder: Any = db.embedder
    db.insert("h", [chunk("tea", embedding=[1.0, 2.0, 3.0]), chunk("coffee")])
    assert embedder.n_asked == 1
    db.update_metadata("c", {"n": 1})
    asyncio.run(db.async_insert("h2", [chunk("milk", embedding=[1.0, 2.0, 3.0]), chunk("oat")]))
    assert embedder.n_asked == 2
    db.search_type = SearchType.keyword
    assert texts(db.search("tea")) == ["tea"] and embedder.n_asked == 2


def test_chunks_without_a_vector_are_found_by_words(db: ScrubjayDb) -> None:
    db.insert("h", [chunk("The key is sk-stg-0041.", embedding=[]), chunk("tea")])
    assert texts(db.search("sk-stg-0041"))[0] == "The key is sk-stg-0041."
    db.search_type = SearchType.vector
    assert texts(db.search("sk-stg-0041")) == ["tea"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failing_embedder_neither_writes_nor_loses_chunks(tmp_path: Path, is_async: bool) -> None:
    db = ScrubjayDb(tmp_path / "a", tenant="acme", embedder=Letters())
    db.insert("h", [chunk("The key is sk-stg-0041.")])
    db.embedder = Letters(fails=True)
    with pytest.raises(ConnectionError):
        asyncio.run(db.async_upsert("h", [chunk("new")])) if is_async else db.upsert("h", [chunk("new")])
    db.search_type = SearchType.keyword
    assert texts(db.search("sk-stg-0041 new")) == ["The key is sk-stg-0041."]
    db.close()


METADATA: dict[str, dict[str, Any]] = {
    "a": {"s": "Alpha One", "n": 1, "b": True, "created_at": "2026-03-01"},
    "b": {"s": "alpha", "n": 2, "l": ["p", "q"]},
    "c": {"s": "beta", "n": 3.5, "o": {"k": 1}, "created_at": "2026-05-01"},
    "d": {"n": "2", "b": False},
    "e": {},
}
FILTERS: list[tuple[Any, str]] = [
    ({}, "abcde"),
    ([], "abcde"),
    (None, "abcde"),
    ({"n": 2}, "b"),
    ({"n": "2"}, "d"),
    ({"b": True}, "a"),
    ({"b": 0}, "d"),
    ({"l": ["p", "q"]}, "b"),
    ({"l": "p"}, ""),
    ({"o": {"k": 1}, "n": 3.5}, "c"),
    ({"s": None}, ""),
    ([EQ("s", "alpha")], "b"),
    (EQ("s", "alpha"), "b"),
    ([{"op": "EQ", "key": "s", "value": "alpha"}], "b"),
    ([NEQ("s", "alpha")], "acde"),
    ([IN("n", [1, 3.5, "2"])], "acd"),
    ([IN("n", [])], ""),
    ([GT("n", 1)], "bc"),
    ([GTE("n", 2), LT("n", 3.5)], "b"),
    ([LTE("s", "alpha")], "ab"),
    ([GTE("created_at", "2026-04-01")], "c"),
    ([CONTAINS("s", "ALPHA")], "ab"),
    ([CONTAINS("n", "2")], "d"),
    ([STARTSWITH("s", "Alpha")], "a"),
    ([AND(EQ("n", 1), STARTSWITH("s", "A"))], "a"),
    ([OR(EQ("n", 1), CONTAINS("s", "eta"))], "ac"),
    ([NOT(CONTAINS("s", "alpha"))], "cde"),
    ([NOT(OR(EQ("b", True), NOT(GT("n", 0)))), LT("n", 3)], "b"),
    (AND(OR(EQ("n", 1), EQ("n", 2)), ~EQ("b", True)), "b"),
]


@pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=[str(number) for number in range(len(FILTERS))])
def test_filters_come_before_the_ranking(db: ScrubjayDb, filter: Any, expected: str) -> None:
    db.insert(
        "h", [chunk("a note", id, meta_data=dict(held)) for id, held in METADATA.items()], user_id="jane"
    )
    db.insert("h", [chunk("a note of joe's", "joe's", meta_data=dict(METADATA["b"]))], user_id="joe")
    for kind in SearchType:
        db.search_type = kind
        found = db.search("note", 10, filters=filter, user_id="jane")
        assert sorted(id for id, held in METADATA.items() if held in [d.meta_data for d in found]) == list(
            expected
        )
        assert len(found) == len(expected)
        if expected:
            assert len(db.search("note", 1, filters=filter, user_id="jane")) == 1
        assert asyncio.run(db.async_search("note", 10, filters=filter, user_id="jane")) == found


def test_invalid_filters_are_refused(db: ScrubjayDb) -> None:
    deep: Any = EQ("a", 1)
    for _ in range(200):
        deep = NOT(deep)
    wrong: list[Any] = [
        7,
        "a",
        [7],
        [EQ(7, 1)],
        [GT("n", [1])],
        [GT("n", None)],
        [IN("n", "abc")],
        [CONTAINS("s", 1)],
    ]
    for filter in (*wrong, {7: 1}, [deep], [{"op": "XOR"}]):
        with pytest.raises((TypeError, ValueError)):
            db.search("note", filters=filter)


def test_each_verb_reaches_the_documents_of_its_owner_only(db: ScrubjayDb) -> None:
    for owner in ("jane", "joe", None):
        db.insert(
            "h", [chunk(f"of {owner}", "d1", name="n", content_id="c", meta_data={"k": 1})], user_id=owner
        )
    assert [db.content_hash_exists("h", owner) for owner in ("jane", None, "jim")] == [True, True, False]
    assert not db.content_hash_exists("H") and db.name_exists("n") and not db.name_exists("N")
    assert asyncio.run(db.async_name_exists("n")) and db.id_exists("d1") and not db.id_exists("d")
    assert sorted(texts(db.search("of", user_id="jane"))) == ["of None", "of jane"]
    assert db.delete_by_content_id("c", user_id="jane") and not db.delete_by_content_id("c", user_id="jane")
    assert sorted(texts(db.search("of"))) == ["of None", "of joe"]
    with pytest.raises(ValueError, match="single owner"):
        db.delete_by_id("d1")
    assert db.delete_by_id("d1", user_id="joe") and not db.delete_by_id("d1", user_id="joe")
    db.insert("h", [chunk("of joe", "d1", name="n", meta_data={"k": 1})], user_id="joe")
    assert db.delete_by_name("n", user_id="joe") and texts(db.search("of")) == ["of None"]
    assert db.delete_by_metadata({"k": True}) and not db.delete_by_metadata({"k": 1})
    assert db.get_count() == 0 and not db.exists()


@pytest.mark.parametrize("verb", ["drop", "async_drop", "delete"])
def test_a_tenant_deletes_its_own(verb: str) -> None:
    index = Index()
    acme, globex = (ScrubjayDb(index, tenant=name, embedder=Letters()) for name in ("acme", "globex"))
    for one in (acme, globex):
        one.insert("h", [chunk("secret")], user_id="jane")
        one.insert("h", [chunk("shared")])
    done = getattr(acme, verb)()
    if verb == "async_drop":
        asyncio.run(done)
    assert not acme.exists() and acme.search("secret") == [] and acme.get_count() == 0
    assert asyncio.run(globex.async_exists()) and globex.get_count() == 2
    assert verb != "delete" or acme.delete() is False


def test_metadata_are_merged_in_every_chunk_of_some_content(db: ScrubjayDb) -> None:
    for owner in ("jane", None):
        several = [chunk(f"chunk {n}", str(n), content_id="c", meta_data={"n": n, "k": 1}) for n in range(5)]
        db.insert("h", several, user_id=owner)
    db.insert("other", [chunk("else", content_id="C")])
    embedder: Any = db.embedder
    n_asked = embedder.n_asked
    db.update_metadata("c", {"k": 2, "new": ["x"]})
    assert embedder.n_asked == n_asked
    found = db.search("chunk", 20, filters={"k": 2})
    assert len(found) == 10 and all(one.meta_data["new"] == ["x"] for one in found)
    assert sorted(one.meta_data["n"] for one in found) == sorted([*range(5)] * 2)
    db.search_type = SearchType.vector
    assert len(db.search("chunk", 20)) == 11  # the vectors are there
    db.update_metadata("nothing", {"k": 3})
    with pytest.raises(ValueError, match="agno_name"):
        db.update_metadata("c", {"agno_name": "x"})


class Backwards(Reranker):
    def rerank(self, query: str, documents: list[Document]) -> list[Document]:
        return documents[::-1]


def test_thresholds_rerankers_and_queries(tmp_path: Path) -> None:
    made = ["The key is sk-stg-0041.", "aaaa", "oooo"]
    strict = ScrubjayDb(tenant="acme", embedder=Letters(), similarity_threshold=0.97)
    strict.insert("h", [chunk(text) for text in made])
    assert texts(strict.search("sk-stg-0041")) == ["The key is sk-stg-0041."]
    assert texts(strict.search("aaaaa")) == ["aaaa"]
    reranked = ScrubjayDb(tenant="acme", embedder=Letters(), reranker=Backwards())
    reranked.insert("h", [chunk(text) for text in made])
    with suppress_reranker():
        plain = texts(reranked.search("aaaaa", 3))
    assert texts(reranked.search("aaaaa", 3)) == plain[::-1]
    by_words = ScrubjayDb(tenant="acme", embedder=Letters(), query=Query(ids=["none"]))
    by_words.insert("h", [chunk(text) for text in made])
    assert by_words.search("aaaa") == []


@pytest.mark.parametrize("distance", list(Distance))
def test_each_distance_ranks_as_its_metric(distance: Distance) -> None:
    db = ScrubjayDb(tenant="acme", embedder=Letters(), distance=distance, search_type=SearchType.vector)
    db.insert("h", [chunk("aaaa"), chunk("eeee"), chunk("oooo")])
    assert texts(db.search("aaaa", 1)) == ["aaaa"]


@pytest.mark.parametrize("embedder", [None, default(), LocalEmbedder()])
def test_an_embedder_of_scrubjays(embedder: Any) -> None:
    db = ScrubjayDb(tenant="acme", embedder=embedder)
    db.insert("h", [chunk("Lies awake after espresso."), chunk("Pays by card.")])
    assert texts(db.search("trouble sleeping"))[0] == "Lies awake after espresso."
    asyncio.run(db.async_upsert("h", [chunk("Sleeps badly.")]))
    assert texts(asyncio.run(db.async_search("insomnia"))) == ["Sleeps badly."]


def test_invalid_arguments_are_named(db: ScrubjayDb) -> None:
    db.insert("h", [chunk("one")])
    with pytest.raises(ValueError, match="3"):
        db.insert("h", [chunk("two"), chunk("three", embedding=[1.0])])
    with pytest.raises(ValueError, match="agno_name"):
        db.insert("h", [chunk("two", meta_data={"agno_name": 1})])
    with pytest.raises((TypeError, ValueError), match="metadata"):
        db.insert("h", [chunk("two"), chunk("three", meta_data={"x": object()})])
    with pytest.raises(ValueError, match="content_hash"):
        db.insert("", [chunk("two")])
    with pytest.raises(ValueError, match="metadata"):
        db.delete_by_metadata({})
    for call in (
        lambda: db.search("one", user_id=7),  # type: ignore[arg-type]
        lambda: db.delete_by_name(7),  # type: ignore[arg-type]
        lambda: db.delete_by_metadata("all"),  # type: ignore[arg-type]
        lambda: db.update_metadata("c", "k"),  # type: ignore[arg-type]
        lambda: db.content_hash_exists(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="expected"):
            call()
    with pytest.raises(ValueError, match="user"):
        db.search("one", user_id="")
    assert texts(db.search("one two three", 9)) == ["one"] and db.search(" ") == db.search("one", 0) == []
    for options in ({"tenant": ""}, {"tenant": "a", "embedder": 7}, {"tenant": "a", "search_type": "fuzzy"},
                    {"tenant": "a", "similarity_threshold": 2.0}):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            ScrubjayDb(**options)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- isolation, deletion, kills


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_hostile_names_reach_no_other_scope(name: str) -> None:
    index = Index()
    mine = ScrubjayDb(index, tenant="acme", embedder=Letters())
    mine.insert("h", [chunk("The launch code is zx-9981.", "d1", name="n", content_id="c")], user_id=name)
    for twin in TWINS(name):
        assert mine.search("zx-9981", 100, user_id=twin) == []
        assert not mine.content_hash_exists("h", twin)
        assert not mine.delete_by_content_id("c", user_id=twin)
        assert not mine.delete_by_id("d1", user_id=twin)
        mine.upsert("h", [chunk("other", "d1")], user_id=twin)
        assert texts(mine.search("zx-9981", 100, user_id=name)) == ["The launch code is zx-9981."]
        other = ScrubjayDb(index, tenant=twin, embedder=Letters())
        assert other.search("zx-9981", 100) == other.search("zx-9981", 100, user_id=name) == []
        assert not other.exists() and not other.id_exists("d1") and not other.name_exists("n")
        assert not other.delete_by_name("n") and not other.delete_by_id("d1") and not other.delete()
        other.update_metadata("c", {"k": 1})
        other.drop()
    assert [one.meta_data for one in mine.search("zx-9981", 1, user_id=name)] == [{}]


def test_deleted_texts_are_in_no_file(tmp_path: Path) -> None:
    db = ScrubjayDb(tmp_path / "a", tenant="acme", embedder=Letters())
    db.insert("h", [chunk("The launch code is zx-9981.", content_id="c"), chunk("tea")], user_id="jane")
    assert db.delete_by_content_id("c")
    assert texts(db.search("zx-9981")) == ["tea"]
    db._documents.index.admin.compact()
    db.close()
    assert not any(b"zx-9981" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_write_that_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    said = acknowledged_writes(
        """
import sys
from agno.knowledge.document import Document
from scrubjay.adapters.agno import ScrubjayDb
db = ScrubjayDb(sys.argv[1], tenant="acme")
n = 0
while True:
    db.insert(f"h{n}", [Document(content=f"note {n} {k}", embedding=[1.0, float(n)]) for k in range(3)], user_id="jane")
    print("wrote", n)
    n += 1
""",
        tmp_path / "a",
        after=40,
        prefix="wrote ",
    )
    db = ScrubjayDb(tmp_path / "a", tenant="acme")
    assert all(db.content_hash_exists(f"h{n}", "jane") for n in said)
    assert db.get_count() % 3 == 0 and db.get_count() // 3 - len(said) <= 1
    db.close()


def test_stores_of_one_file_share_it_and_a_closed_one_says_so(tmp_path: Path) -> None:
    one, other = (ScrubjayDb(tmp_path / "a", tenant="acme", embedder=Letters()) for _ in range(2))
    one.insert("h", [chunk("tea")])
    assert copy.deepcopy(one) is one
    said = repr(one)
    one.close()
    assert texts(other.search("tea")) == ["tea"]
    with pytest.raises(ClosedError):
        one.search("tea")
    other.close()
    assert said == f"<scrubjay.adapters.agno.ScrubjayDb of 'acme': 'agno' of {tmp_path / 'a'}, by words>"
    assert repr(one) == "<scrubjay.adapters.agno.ScrubjayDb of 'acme': closed>"
    assert one.id != ScrubjayDb(tenant="acme").id and one.id == other.id


def test_documents_written_by_others_in_a_users_scope_belong_to_the_user() -> None:
    index = Index()
    db = ScrubjayDb(index, tenant="acme", embedder=Letters(), collection="notes")
    index.collection("notes").upsert("m1", "Prefers trains.", scope=Scope("acme", user="jane"))
    (found,) = db.search("trains", user_id="jane")
    assert (found.id, found.name, found.meta_data) == ("m1", None, {})
    assert db.delete_by_id("m1")


# ---------------------------------------------------------------------- beside LanceDB


def test_vector_search_ranks_like_agnos_lancedb_store(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("agno.vectordb.lancedb.lance_db")
    embedder = Letters()
    stock = lancedb.LanceDb(uri=str(tmp_path / "lance"), table_name="notes", embedder=embedder)
    ours = ScrubjayDb(tmp_path / "ours", tenant="acme", embedder=embedder, search_type=SearchType.vector)
    words = ["area", "echo", "oboe", "aeon", "opera", "ease", "oasis", "aorta"]
    for store in (stock, ours):
        store.create()
        for owner in ("jane", "joe", None):
            several = [
                chunk(f"{word} of {owner}", f"{n}", name=word, content_id=f"c{n % 2}", meta_data={"n": n % 3})
                for n, word in enumerate(words)
            ]
            store.insert("h", several, user_id=owner)

    def looks(store: Any) -> list[Any]:
        return [
            [
                sorted(texts(store.search("aorta", 50, user_id=owner)))
                for owner in ("jane", "joe", "jim", None)
            ],
            sorted(texts(store.search("aorta", 50, filters={"n": 1}, user_id="jane"))),
            [store.content_hash_exists("h", owner) for owner in ("jane", "joe", "jim", None)],
            [store.name_exists(name) for name in ("area", "none")],
            store.get_count(),
            store.search("aorta of jane", 1, user_id="jane")[0].content,
        ]

    assert looks(ours) == looks(stock)
    for do in (
        lambda store: store.delete_by_content_id("c1", user_id="jane"),
        lambda store: store.delete_by_metadata({"n": 2}),
        lambda store: store.upsert("h", [chunk("new of joe", "1", name="new")], user_id="joe"),
        lambda store: store.update_metadata("c0", {"n": 1}),
        lambda store: store.delete_by_name("area"),
        lambda store: store.delete_by_name("none"),
    ):
        assert do(ours) == do(stock)
        assert looks(ours) == looks(stock)
    ours.close()
