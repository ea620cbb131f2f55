"""LangGraph's store: the size of an item in the file, files of earlier versions, prefixes over many namespaces."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.store.base import MatchCondition, PutOp

from scrubjay import Index, Query, Scope, StoreFormatError, embedders
from scrubjay.adapters.langgraph import ScrubjayStore
from scrubjay.adapters.langgraph import store as langgraph_store
from scrubjay.adapters.langgraph.namespaces import document_id
from tests.adapters.test_langgraph import letters

DEEP = ("acme", "emea", "sales", "jane", "notes")


@pytest.fixture(params=["memory", "file"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "agent.scrubjay"


@pytest.fixture
def store(where: Path | None) -> Iterator[ScrubjayStore]:
    with ScrubjayStore(where) as opened:
        yield opened


def note(i: int) -> str:
    return " ".join(f"word{(i * 7919 + j * 104729) % 997}" for j in range(30))[:140]


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


# ---------------------------------------------------------------------- cost of an item


def test_an_item_is_one_document_however_deep(store: ScrubjayStore) -> None:
    for depth in range(1, 6):
        store.put(DEEP[:depth], "m1", {"text": "The staging key is sk-stg-0041."})
    assert len(store._index) == 5
    for depth in range(6):
        found = store.search(DEEP[:depth], query="sk-stg-0041", limit=10)
        assert sorted(len(item.namespace) for item in found) == list(range(max(1, depth), 6))


def test_a_deep_item_takes_little_more_than_langchains_document(tmp_path: Path) -> None:
    """1,000 items of 140 bytes at depth 5: at most 1.3 times the bytes, in one file each."""
    langchain = pytest.importorskip("scrubjay.adapters.langchain")
    model = embedders.default()
    for name in ("langgraph", "langchain"):
        (tmp_path / name).mkdir()
    with ScrubjayStore(tmp_path / "langgraph" / "a", index={"embed": model, "fields": ["text"]}) as store:
        store.batch([PutOp(DEEP, f"m{i}", {"text": note(i)}) for i in range(1000)])
    with langchain.ScrubjayVectorStore(
        langchain.ScrubjayEmbeddings(model),
        path=tmp_path / "langchain" / "a",
        scope=Scope("acme", user="jane"),
    ) as vectors:
        vectors.add_texts([note(i) for i in range(1000)], ids=[f"m{i}" for i in range(1000)])
    assert bytes_of(tmp_path / "langgraph") <= 1.3 * bytes_of(tmp_path / "langchain")


VALUES: list[dict[str, Any]] = [
    {"text": "The staging key", "n": 1}, {"n": 1, "text": ""}, {"a": "same", "b": "same"}, {}, {"text": None},
    {"text": "\ud800 lone", "n": 1}, {"text": "{}"}, {"text": '{"text": 1}'}, {"n": 1.0, "m": -0.0, "big": 2**70},
    {"nested": {"text": "deep"}, "list": ["x", {"y": [1]}]}, {"key": "k", "part": 7, "value": 1, "at": "key"},
    {"text": "ünï 🐦", "json": True}, {"parts": 3, "namespace": ["other"], "updated_at": "never"},
]  # fmt: skip


@pytest.mark.parametrize("fields", [["text"], ["$"], ["a", "b", "key"], ["nested.text", "text"]])
def test_values_come_back_as_they_were_put(where: Path | None, fields: list[str]) -> None:
    config: Any = {"embed": letters, "dims": 3, "fields": fields}
    with ScrubjayStore(where, index=config) as store:
        store.batch([PutOp(("a", "b"), f"k{i}", value) for i, value in enumerate(VALUES)])
        for again in range(2):
            for i, value in enumerate(VALUES):
                item = store.get(("a", "b"), f"k{i}")
                assert repr(sorted(item.value.items())) == repr(sorted(value.items()))
                assert item.namespace == ("a", "b") and item.key == f"k{i}"
            found = {item.key: item.value for item in store.search(("a",), query="key", limit=100)}
            assert found == {f"k{i}": value for i, value in enumerate(VALUES)}
            if again == 0:
                store.batch([PutOp(("a", "b"), f"k{i}", value) for i, value in enumerate(VALUES)])


# ---------------------------------------------------------------------- files of earlier versions


def old_file(path: Path, tenant: str = ".", n: int = 12) -> None:
    """Write items of two parts as the first version of the adapter did: to the scope of every prefix."""
    with Index.open(path) as file:
        index = file.collection("langgraph")
        for i in range(n):
            namespace, key, long = ("memories", f"user{i % 3}"), f"m{i}", "s" + "x" * (i * 30)
            digest = hashlib.sha256(long.encode()).hexdigest()
            metadata = {
                "=text": f"snote {i}", "=t": long if len(long) <= 200 else "h" + digest,
                "namespace": list(namespace), "key": key, "value": {"text": f"note {i}", "t": long[1:]},
                "updated_at": "2026-03-01T00:00:00+00:00", "parts": 2,
            }  # fmt: skip
            prefixes = [Scope(tenant, user=".".join(namespace[:depth]) or ".") for depth in range(3)]
            home = Scope(tenant, user=".".join(namespace), agent=".")
            for part, scopes in enumerate(([*prefixes[:-1], home], prefixes)):
                for scope in scopes:
                    index.upsert(
                        document_id(namespace, key, part), f"note {i}", scope=scope,
                        metadata={**metadata, "part": part}, created_at="2026-03-01",
                    )  # fmt: skip
        index.upsert("stranger", "a note", scope=Scope(tenant, user="."))


def test_copies_of_an_earlier_version_go_in_one_commit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    old_file(path)
    old_file(path, tenant="acme", n=3)
    with Index.open(path) as file:
        before = len(file.collection("langgraph"))
        assert before == 6 * 12 + 6 * 3 + 2
    with ScrubjayStore(path) as store:
        assert (
            len(store._index) == 2 * 12 + 6 * 3 + 2
        )  # another tenant's items are converted when its store is opened
        assert len(store._index.list(Scope(".", user="."))) == 1  # of the other tenant
        for prefix in ((), ("memories",)):
            assert len(store.search(prefix, limit=100)) == 12
        assert len(store.search(("memories", "user1"), query="note", limit=100)) == 4
        for i in range(12):
            item = store.get(("memories", f"user{i % 3}"), f"m{i}")
            assert item.value == {"text": f"note {i}", "t": "x" * (i * 30)}
            found = store.search(("memories",), filter={"t": "x" * (i * 30)}, limit=100)
            assert [one.key for one in found] == [f"m{i}"]
            assert f"m{i}" not in {
                one.key for one in store.search((), filter={"t": {"$ne": item.value["t"]}})
            }
        store.put(("memories", "user0"), "m0", {"text": "new", "t": ""})
        store.delete(("memories", "user1"), "m1")
        assert len(store._index) == 2 * 12 + 6 * 3 + 2 - 1 - 2
        reasons = [event.reason for event in store._index.admin.events()]
        assert "langgraph: one document for each item" in reasons
    with ScrubjayStore(path, tenant="acme") as store:
        assert len(store.search(())) == 3


def test_an_earlier_version_that_cannot_be_converted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    old_file(path)
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="Open the file for writing"):
        ScrubjayStore(path, read_only=True)
    assert path.read_bytes() == before
    ScrubjayStore(path).close()
    with ScrubjayStore(path, read_only=True) as store:
        assert len(store.search(("memories",), limit=100)) == 12


# ---------------------------------------------------------------------- prefixes


def test_an_identifier_is_found_from_every_prefix(store: ScrubjayStore) -> None:
    """Also if its namespace is tiny and others are full of the question's words."""
    store.batch(
        [PutOp(("notes", f"user{u}", "keys"), f"m{i}", {"text": f"the staging key of project {i}"})
         for u in range(20) for i in range(10)]
        + [PutOp(("notes", "jane", "keys"), "it", {"text": "the staging key is sk-stg-0041"})]
    )  # fmt: skip
    for prefix in ((), ("notes",), ("notes", "jane"), ("notes", "jane", "keys")):
        assert store.search(prefix, query="what is the staging key sk-stg-0041", limit=3)[0].key == "it"


def test_the_newest_come_first_over_all_namespaces(store: ScrubjayStore) -> None:
    for i in range(30):
        store.put(("notes", f"user{i % 7}"), f"m{i}", {"n": i})
    assert [item.key for item in store.search(("notes",), limit=30)] == [f"m{i}" for i in reversed(range(30))]
    assert [item.key for item in store.search((), limit=5, offset=10)] == [f"m{i}" for i in range(19, 14, -1)]
    kept = store.search(("notes",), filter={"n": {"$lt": 10}}, limit=4, offset=3)
    assert [item.key for item in kept] == ["m6", "m5", "m4", "m3"]


def test_other_namespaces_change_no_search_below_a_prefix(where: Path | None) -> None:
    alone = ScrubjayStore()
    with ScrubjayStore(where) as crowded:
        for store in (alone, crowded):
            for i in range(30):
                store.put(
                    ("users", "jane", f"topic{i % 3}"), f"m{i}", {"text": f"staging key number {i % 5}"}
                )
        crowded.batch(
            [PutOp(("users", f"jane{i}", "topic1"), "m", {"text": "number 3 " * (i % 9)}) for i in range(200)]
        )
        for query in ("staging number 3", "key"):
            expected = [
                (item.key, item.score) for item in alone.search(("users", "jane"), query=query, limit=30)
            ]
            got = [
                (item.key, item.score) for item in crowded.search(("users", "jane"), query=query, limit=30)
            ]
            assert got == expected


def test_two_stores_of_one_index_see_each_others_namespaces(where: Path | None) -> None:
    with Index() if where is None else Index.open(where) as index:
        one, other = ScrubjayStore(index), ScrubjayStore(index)
        one.put(("a", "b"), "k", {"text": "x"})
        assert [item.key for item in other.search(("a",))] == ["k"]
        other.delete(("a", "b"), "k")
        assert one.search(("a",)) == [] == other.search(())
        one.put(("a", "b"), "k", {"text": "x"})
        assert [item.key for item in other.search(())] == ["k"]


@pytest.mark.parametrize("fields", [["text"], ["text", "more"]], ids=["one part", "two parts"])
@pytest.mark.parametrize("unranked", [True, False])
@pytest.mark.parametrize("prefix", [("many",), ("many", "u1")], ids=str)
def test_pages_of_a_question_have_each_item_once(
    prefix: tuple[str, ...], unranked: bool, fields: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScrubjayStore(index={"embed": embedders.default(), "fields": fields}, unranked=unranked) as store:
        words = ["trains", "coffee", "keys", "invoices"]
        for n in range(360):
            value = {"text": f"note {n} about {words[n % 4]}", "more": f"and {words[n * 7 % 3]}", "n": n}
            store.put(("many", f"u{n % 2}"), f"m{n}", value, index=False if n % 50 == 7 else None)
        for filter in (None, {"n": {"$lt": 350}}):
            asked = {"query": "keys and trains 7", "filter": filter}
            whole = [one.key for one in store.search(prefix, limit=1000, **asked)]
            assert len(set(whole)) == len(whole) > 150
            pages = [
                [one.key for one in store.search(prefix, limit=17, offset=offset, **asked)]
                for offset in range(0, len(whole) + 17, 17)
            ]
            found = [key for page in pages for key in page]
            assert sorted(found) == sorted(whole) and not pages[-1]
            assert found[:85] == [one.key for one in store.search(prefix, limit=85, **asked)]
            again = [one.key for one in store.search(prefix, limit=17, offset=136, **asked)]
            assert again == pages[8]
            jump = [
                one.key for one in store.search(prefix, limit=7, offset=131, **asked)
            ]  # not the end of a page
            assert len(set(jump)) == 7 and not set(jump) & set(found[:85])
        looked: list[Any] = []
        plain = langgraph_store.is_item
        monkeypatch.setattr(langgraph_store, "is_item", lambda found: looked.append(found) or plain(found))
        store.search(prefix, limit=5, offset=120, query="keys and trains 7")
        assert bool(looked) == (len(fields) > 1)  # otherwise each document is an item


def test_listing_namespaces_reads_only_those_below_the_prefix(tmp_path: Path) -> None:
    """The range of names is read from the index over names, not from all scopes."""
    with ScrubjayStore(tmp_path / "a") as store:
        store.put(("a", "b"), "k", {"text": "x"})
        assert store._tree.below("a") == [Scope(".", user="a.b", agent=".")]
    connection = sqlite3.connect(tmp_path / "a")
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'scope*'"
        )
    ]
    plan = connection.execute(
        f"EXPLAIN QUERY PLAN SELECT tenant FROM {tables[0]} s WHERE documents > 0 AND s.tenant = '.' AND s.agent = '.' "
        "AND s.user >= 'a.' AND s.user < 'a/'"
    ).fetchall()
    connection.close()
    assert any("SEARCH" in row[-1] and "user>? AND user<?" in row[-1] for row in plan), plan


# ---------------------------------------------------------------------- LangGraph's ways


def test_the_store_is_an_async_context_manager_with_setup(where: Path | None) -> None:
    async def run() -> list[str]:
        async with ScrubjayStore.from_conn_string(where) as store:  # type: ignore[arg-type]
            await store.setup()
            await store.aput(("a",), "k", {"text": "x"})
            return [item.key for item in await store.asearch(("a",))]

    assert asyncio.run(run()) == ["k"]
    with ScrubjayStore(where) as store:
        store.setup()


def test_dotted_keys_are_paths(store: ScrubjayStore) -> None:
    store.put(("a",), "nested", {"user": {"level": 3, "name": {"first": "Jane"}}})
    store.put(("a",), "literal", {"user.level": 3})
    store.put(("a",), "other", {"user": "jane"})

    def found(filter: dict[str, Any], query: str | None = None) -> list[str]:
        return sorted(item.key for item in store.search(("a",), filter=filter, query=query))

    for query in (None, "jane"):
        assert found({"user.level": 3}, query) == ["literal", "nested"]
        assert found({"user.level": {"$gt": 3}}, query) == []
        assert found({"user.level": {"$gte": 2.5}}, query) == ["literal", "nested"]
        assert found({"user.name.first": "Jane"}, query) == ["nested"]
        assert found({"user.name": {"first": "Jane"}}, query) == ["nested"]
        assert found({"user.level": {"$ne": 3}}, query) == ["other"]
        assert found({"user.level": None}, query) == ["other"]
    with pytest.raises(ValueError, match="like"):
        found({"user.level": {"$like": 3}})


def test_a_path_may_be_one_label(store: ScrubjayStore) -> None:
    store.put(("users", "jane", "public"), "k", {})
    store.put(("users", "jane", "private"), "k", {})
    assert store.list_namespaces(suffix="public") == [("users", "jane", "public")]  # type: ignore[arg-type]
    condition = MatchCondition("prefix", "users")  # type: ignore[arg-type]
    assert condition.path == "users" and len(store.list_namespaces(prefix="users")) == 2  # type: ignore[arg-type]


def test_l2_scores_are_negative_distances(where: Path | None) -> None:
    config: Any = {"embed": letters, "dims": 3, "fields": ["text"]}
    with ScrubjayStore(where, index=config, query=Query(mode="vector"), metric="l2", dtype="f32") as store:
        for text in ("aaa", "bb", "c"):
            store.put(("a", text), text, {"text": text})
        for prefix in (("a",), ("a", "aaa")):
            for item in store.search(prefix, query="abc"):
                (one,), (other,) = letters(["abc"]), letters([item.value["text"]])
                assert item.score == pytest.approx(-math.dist(one, other), abs=1e-3)
    assert json.dumps(config["fields"]) == '["text"]'
