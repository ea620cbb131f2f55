"""LangGraph's store: operations and their order, embeddings, fields, time to live, several stores over one file."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scrubjay.backend import Backend

pytest.importorskip("langgraph.store.base")

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from scrubjay import EmbedderError, EmbedderMismatchError, Index, Query, Scope
from scrubjay.adapters.langgraph import ScrubjayStore
from scrubjay.adapters.langgraph.items import value_of
from scrubjay.adapters.langgraph.namespaces import home_of
from scrubjay.adapters.langgraph.writes import refresh
from scrubjay.embedders import Function

JANE = ("memories", "jane")


def letters(texts: list[str]) -> list[list[float]]:
    """Return vectors of the frequencies of a, b and c."""
    return [[text.count("a") + 0.1, text.count("b"), text.count("c")] for text in texts]


@pytest.fixture(params=["memory", "file"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "agent.scrubjay"


class Later:
    """Advances the time of the adapter and of the index below it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0
        real, later = time.time_ns, self

        class Kind(type):
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, datetime)

        class Clock(datetime, metaclass=Kind):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(seconds=later.seconds)

        monkeypatch.setattr("time.time_ns", lambda: real() + self.seconds * 10**9)
        monkeypatch.setattr("scrubjay.adapters.langgraph.writes.datetime", Clock)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    return Later(monkeypatch)


@pytest.fixture
def store(where: Path | None) -> Iterator[ScrubjayStore]:
    with ScrubjayStore(where) as opened:
        yield opened


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_an_item_comes_back_as_json_has_it(store: ScrubjayStore) -> None:
    value = {
        "text": "Grüße \U0001f426",
        "n": 1,
        "nested": {"list": [1, 2.5, None, True, {"x": "y"}]},
        "none": None,
    }
    store.put(JANE, "m1", value)
    item = store.get(JANE, "m1")
    assert (item.namespace, item.key, item.value) == (JANE, "m1", value)
    assert item.created_at == item.updated_at
    assert item.created_at.tzinfo is not None
    assert store.get(JANE, "m2") is store.get(("memories",), "m1") is None
    item.value["n"] = 2  # the caller's copy
    assert store.get(JANE, "m1").value["n"] == 1


def test_an_update_keeps_the_time_of_creation(store: ScrubjayStore) -> None:
    store.put(JANE, "m1", {"text": "one"})
    first = store.get(JANE, "m1")
    time.sleep(0.002)
    store.put(JANE, "m1", {"text": "two"})
    second = store.get(JANE, "m1")
    assert second.value == {"text": "two"}
    assert second.created_at == first.created_at < second.updated_at
    store.delete(JANE, "m1")
    store.put(JANE, "m1", {"text": "three"})
    assert store.get(JANE, "m1").created_at > second.updated_at


def test_a_batch_reads_the_state_before_its_puts(store: ScrubjayStore) -> None:
    store.put(JANE, "m1", {"v": 1})
    results = store.batch(
        [
            PutOp(JANE, "m1", {"v": 2}),
            GetOp(JANE, "m1"),
            PutOp(JANE, "m2", {"v": 3}),
            SearchOp(("memories",)),
            ListNamespacesOp(),
            PutOp(("notes",), "n1", {"v": 4}),
            PutOp(JANE, "m1", None),
            GetOp(JANE, "m2"),
        ]
    )
    assert results[1].value == {"v": 1}
    assert [results[i] for i in (0, 2, 5, 6, 7)] == [None] * 5
    assert [item.value for item in results[3]] == [{"v": 1}]
    assert results[4] == [JANE]
    assert store.get(JANE, "m1") is None  # the last of several puts wins
    assert keys(store.search(())) == ["n1", "m2"]
    store.batch([PutOp(JANE, "m2", None), PutOp(JANE, "m2", {"v": 5})])
    assert store.get(JANE, "m2").value == {"v": 5}


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (PutOp((), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("a.b",), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("a", ""), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("a", 7), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp("abc", "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("a\0",), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("\ud800",), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("x" * 70_000,), "k", {"v": 1}), InvalidNamespaceError),
        (PutOp(("a",), 7, {"v": 1}), TypeError),
        (PutOp(("a",), "k", "text"), TypeError),
        (PutOp(("a",), "k", {"v": object()}), TypeError),
        (PutOp(("a",), "k", {7: "v"}), TypeError),
        (PutOp(("a",), "k", {"v": float("nan")}), ValueError),
        (PutOp(("a",), "k", {"v": 1}, index="text"), TypeError),
        (PutOp(("a",), "k", {"v": 1}, ttl="soon"), TypeError),
        (PutOp(("a",), "k", {"v": 1}, ttl=1e300), ValueError),
        (PutOp(("a",), "k", {"v": 1}, ttl=float("nan")), ValueError),
        (GetOp(("a.b",), "k"), InvalidNamespaceError),
        (GetOp(("a",), None), TypeError),
        (SearchOp(("a", "")), InvalidNamespaceError),
        (SearchOp(("a",), limit=-1), ValueError),
        (SearchOp(("a",), offset=1.5), TypeError),
        (SearchOp(("a",), query=7), TypeError),
        (SearchOp(("a",), filter={"x": {"$like": 1}}), ValueError),
        (SearchOp(("a",), filter={"x": {"$gt": None}}), TypeError),
        (SearchOp(("a",), filter={"x": object()}), TypeError),
        (SearchOp(("a",), filter=[1]), TypeError),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), ValueError),
        (ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)), InvalidNamespaceError),
        ("get", ValueError),
    ],
)
def test_a_batch_with_something_wrong_does_nothing(
    store: ScrubjayStore, bad: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.batch([PutOp(JANE, "m1", {"v": 1}), bad])
    assert store.search(()) == []


def test_namespaces_are_listed(store: ScrubjayStore) -> None:
    for namespace in [
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
    ]:
        store.put(namespace, "k", {"v": 1})
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("*", "c")) == [("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "*", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert store.list_namespaces(prefix=("a", "b"), suffix=("d", "*")) == [
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
    ]
    assert store.list_namespaces(limit=2, offset=1) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    store.delete(("a", "c", "f"), "k")
    assert store.list_namespaces(prefix=("a", "c")) == []


def test_the_best_text_of_an_item_counts(where: Path | None) -> None:
    config = {"dims": 3, "embed": letters, "fields": ["title", "parts[*].text", "a.b[*].c"]}
    with ScrubjayStore(where, index=config, query=Query(mode="vector"), dtype="f32") as store:
        store.put(JANE, "both", {"title": "aaa", "parts": [{"text": "bbb"}, {"text": "ccc"}]})
        store.put(JANE, "mixed", {"title": "abc", "a": {"b": [{"c": "ab"}, {"d": 1}]}})
        store.put(JANE, "none", {"body": "aaa"})
        found = store.search(JANE, query="ccc")
        assert keys(found) == ["both", "mixed", "none"]
        assert found[0].score == pytest.approx(1.0, abs=0.01)
        assert found[2].score is None
        assert keys(store.search(JANE, query="ccc", limit=2, offset=1)) == ["mixed", "none"]
        store.put(JANE, "both", {"title": "aaa"})  # fewer texts: removed ones are not found any more
        assert store.search(JANE, query="ccc")[0].key == "mixed"
        assert len(store.search(())) == 3
        store.put(JANE, "mixed", {"title": "ccc"}, index=False)
        store.put(JANE, "whole", {"body": "cc"}, index=["$"])  # the stock store finds nothing here
        assert store.search(JANE, query="cc", limit=1)[0].key == "whole"
        store.delete(JANE, "whole")
        store.put(JANE, "none", {"body": "ccc"}, index=["body"])
        found = store.search(JANE, query="ccc")
        assert [(item.key, item.score is None) for item in found] == [
            ("none", False),
            ("both", False),
            ("mixed", True),
        ]


def test_hybrid_search_finds_identifiers_that_vectors_lose(where: Path | None) -> None:
    config = {"dims": 3, "embed": letters, "fields": ["text"]}
    texts = {
        "key": "The staging key prefix is sk-stg-0041.",
        "other": "aabbcc",
        "third": "The key of the bicycle.",
    }
    with ScrubjayStore(where, index=config) as store:
        for key, text in texts.items():
            store.put(JANE, key, {"text": text})
        assert store.search(("memories",), query="sk-stg-0041")[0].key == "key"


def test_without_embeddings_words_rank(store: ScrubjayStore) -> None:
    store.put(JANE, "m1", {"text": "The staging key"})
    store.put(JANE, "m2", {"text": "A bicycle"})
    found = store.search(JANE, query="bicycles")
    assert keys(found) == ["m2", "m1"]
    assert found[0].score > 0
    assert found[1].score is None
    assert keys(store.search(JANE, query="?!")) == ["m2", "m1"]


def test_items_that_a_query_does_not_rank_may_be_left_out(where: Path | None) -> None:
    with ScrubjayStore(where, unranked=False) as store:
        store.put(JANE, "m1", {"text": "The staging key"})
        store.put(JANE, "m2", {"text": "A bicycle"})
        assert keys(store.search(JANE, query="bicycles")) == ["m2"]
        assert len(store.search(JANE)) == 2


def test_pages_are_parts_of_the_whole(store: ScrubjayStore) -> None:
    store.batch(
        [PutOp(("u", str(i % 3)), f"k{i}", {"text": f"memory {i % 7} of {i}", "i": i}) for i in range(60)]
    )
    for query in (None, "memory 3"):
        whole = keys(store.search(("u",), query=query, limit=100))
        assert len(whole) == len(set(whole)) == 60
        pages = [keys(store.search(("u",), query=query, limit=7, offset=at)) for at in range(0, 63, 7)]
        assert [key for page in pages for key in page] == whole
    assert store.search(("u",), limit=0) == store.search(("u",), offset=60) == []
    assert len(store.search(("u",), query="memory", limit=10**12)) == 60


class Counting(Embeddings):
    """LangChain embeddings that record where they were called."""

    model = "letters"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append("documents")
        if self.fails:
            raise RuntimeError("no quota")
        return letters(texts)

    def embed_query(self, text: str) -> list[float]:
        self.calls.append("query")
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append("adocuments")
        if self.fails:
            raise RuntimeError("no quota")
        return letters(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.calls.append("aquery")
        return (await self.aembed_documents([text]))[0]


def test_langchain_embeddings_and_their_failure(where: Path | None) -> None:
    embeddings = Counting()
    with ScrubjayStore(where, index={"dims": 3, "embed": embeddings}) as store:
        store.put(JANE, "m1", {"text": "aaa"})
        assert store.search(JANE, query="aaa")[0].score is not None
        assert store.embeddings is embeddings
        embeddings.fails = True
        with pytest.raises(EmbedderError, match="no quota"):
            store.batch([PutOp(JANE, "m2", {"text": "bbb"}), PutOp(JANE, "m1", None)])
        assert store.get(JANE, "m1") is not None
        assert store.get(JANE, "m2") is None
        assert keys(store.search(JANE, query="aaa other")) == ["m1"]  # words still answer


def test_an_event_loop_awaits_embeddings(where: Path | None) -> None:
    embeddings = Counting()

    async def use(store: ScrubjayStore) -> list[Any]:
        await store.aput(JANE, "m1", {"text": "aaa"})
        await store.abatch([PutOp(JANE, "m2", {"text": "bbb"}), PutOp(JANE, "m3", {"text": "ccc"})])
        found = await store.asearch(JANE, query="ccc")
        assert (await store.aget(JANE, "m2")).value == {"text": "bbb"}
        await store.adelete(JANE, "m2")
        assert await store.alist_namespaces() == [JANE]
        embeddings.fails = True
        with pytest.raises(EmbedderError, match="no quota"):
            await store.aput(JANE, "m4", {"text": "aaa b"})
        assert len(await store.asearch(JANE, query="aaa b")) == 2
        return found

    with ScrubjayStore(where, index={"dims": 3, "embed": embeddings, "fields": ["text"]}) as store:
        found = asyncio.run(use(store))
    assert found[0].key == "m3"
    assert {"documents", "query"}.isdisjoint(embeddings.calls)


LONG = "aaaa aaaa aaaa aaaa aaaa aaaa. bbbb bbbb bbbb bbbb bbbb bbbb. cccc cccc cccc cccc cccc cccc."


class Reading(Counting):
    """Declares passages of 60 characters."""

    passage_chars = 60


@pytest.mark.parametrize("is_async", [False, True])
def test_long_texts_are_embedded_in_passages(where: Path | None, is_async: bool) -> None:
    embeddings = Reading()
    given: list[str] = []
    count = embeddings.embed_documents

    def recorded(texts: list[str]) -> list[list[float]]:
        given.extend(texts)
        return count(texts)

    embeddings.embed_documents = recorded  # type: ignore[method-assign]
    with ScrubjayStore(where, index={"dims": 3, "embed": embeddings, "fields": ["text"]}) as store:
        put = PutOp(JANE, "m1", {"text": LONG})
        if is_async:
            asyncio.run(store.abatch([put]))
            assert not given and "documents" not in embeddings.calls  # awaited, passage by passage
        else:
            store.batch([put])
            assert given == [LONG[:30], LONG[31:61], LONG[62:]]
        (record,) = store._index.scroll(scope=home_of(store._tenant, JANE), vectors=True)
        assert record.vector.spans.tolist() == [[0, 30], [31, 61], [62, 92]]
        assert record.vector.rows.argmax(axis=1).tolist() == [0, 1, 2]


async def aletters(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return letters(texts)


def test_an_async_function_serves_both_kinds_of_calls(where: Path | None) -> None:
    async def use(store: ScrubjayStore) -> None:
        await store.aput(JANE, "m2", {"text": "ccc"})
        store.put(JANE, "m3", {"text": "aaa"})  # inside a running loop
        assert (await store.asearch(JANE, query="bbb"))[0].key == "m1"

    with ScrubjayStore(
        where, index={"embed": aletters, "fields": ["text"]}, query=Query(mode="vector")
    ) as store:
        store.put(JANE, "m1", {"text": "bbb"})
        assert store.search(JANE, query="bbb")[0].key == "m1"
        asyncio.run(use(store))
        assert store.search(JANE, query="ccc")[0].key == "m2"


def test_scrubjays_own_embedders(where: Path | None) -> None:
    embedder = Function(letters, dim=3, name="letters")
    for options in ({"embedder": embedder}, {"index": {"dims": 3, "embed": embedder}}):
        with ScrubjayStore(where, **options) as store:
            store.put(JANE, "m1", {"text": "bbb"})
            assert store.search(JANE, query="bbb")[0].key == "m1"
    with pytest.raises(ValueError, match="dims 3"):
        ScrubjayStore(where, index={"dims": 4, "embed": embedder})


def test_another_model_is_refused(tmp_path: Path) -> None:
    with ScrubjayStore(tmp_path / "a", embedder=Function(letters, dim=3, name="one")) as store:
        store.put(JANE, "m1", {"text": "bbb"})
    with pytest.raises(EmbedderMismatchError):
        ScrubjayStore(tmp_path / "a", embedder=Function(letters, dim=3, name="two"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"query": {"mode": "best"}}, ValueError, "mode"),
        ({"query": Query(mode="vector")}, ValueError, "query: expected mode"),
        ({"query": "vector"}, TypeError, "query"),
        ({"tenant": "."}, ValueError, "tenant"),
        ({"tenant": ""}, ValueError, "tenant"),
        ({"tenant": 7}, TypeError, "tenant"),
        ({"index": {"dims": 3, "embed": 7}}, TypeError, "embed"),
        ({"index": {"dims": 3, "embed": letters, "fields": "text"}}, TypeError, "fields"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ScrubjayStore(**options)


def test_items_expire_and_reading_keeps_them(where: Path | None, later: Later) -> None:
    with ScrubjayStore(where, ttl={"default_ttl": 15.0, "refresh_on_read": True}) as store:
        for key in ("got", "searched", "unread", "left"):
            store.put(JANE, key, {"text": key})
        store.put(JANE, "kept", {"text": "kept"}, ttl=None)
        created_at = store.get(JANE, "got").created_at
        later.seconds += 600
        assert store.get(JANE, "got").value == {"text": "got"}
        assert keys(store.search(JANE, query="searched", limit=1)) == ["searched"]
        assert store.get(JANE, "left", refresh_ttl=False) is not None
        later.seconds += 480
        assert sorted(keys(store.search((), refresh_ttl=False))) == ["got", "kept", "searched"]
        assert store.get(JANE, "got", refresh_ttl=False).created_at == created_at
        assert store.get(JANE, "left") is None
        assert store.sweep_ttl() == (0 if where is None else 2)
        later.seconds += 1020
        assert keys(store.search(())) == ["kept"]
        store.delete(JANE, "kept")
        assert store.list_namespaces() == []


def test_a_refresh_does_not_restore_an_overwritten_item(tmp_path: Path) -> None:
    """A value that was read before another write must not be restored."""
    with ScrubjayStore(tmp_path / "a", ttl={"default_ttl": 60.0}) as store:
        store.put(JANE, "m1", {"v": 0})
        stop = threading.Event()

        def read() -> None:
            with ScrubjayStore(tmp_path / "a", ttl={"default_ttl": 60.0}) as other:
                while not stop.is_set():
                    other.get(JANE, "m1")
                    other.search(JANE)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for v in range(40):
            store.put(JANE, "m1", {"v": v}, ttl=0.03 + v)  # each read has many items to refresh
            assert store.get(JANE, "m1", refresh_ttl=False).value == {"v": v}
        stop.set()
        for thread in threads:
            thread.join()
        assert store.get(JANE, "m1").value == {"v": 39}


def test_a_refresh_skips_items_written_since(where: Path | None, later: Later) -> None:
    """As if another process wrote between a read and its refresh."""
    with ScrubjayStore(where) as store:
        for key in ("without", "shorter", "gone"):
            store.put(JANE, key, {"v": 1}, ttl=60.0)
        read = [replace(record) for record in store._index.list(Scope(".", user="."))]
        for record in read:
            record.metadata = {**(record.metadata or {}), "ends": "2020-01-01T00:00:00+00:00"}  # long due
        store.put(JANE, "without", {"v": 2})
        store.put(JANE, "shorter", {"v": 2}, ttl=5.0)
        store.delete(JANE, "gone")
        refresh(store._documents, ".", read)
        assert store.get(JANE, "without").value == {"v": 2}
        assert store.get(JANE, "gone") is None
        later.seconds += 301
        assert keys(store.search(())) == ["without"]


def _count_up(path: Path, name: str, n: int) -> None:
    with ScrubjayStore(path, durability="normal", ttl={"default_ttl": 60.0}) as store:
        for i in range(n):
            store.put(JANE, name, {"text": " ".join(["word"] * (i % 3)), "i": i}, index=["text", "i"])
            store.put(
                JANE, "both", {"texts": ["a", "b", "c"][: i % 4], "of": name, "i": i}, index=["texts[*]"]
            )
            store.search(JANE, query="word")
            assert store.get(JANE, name).value["i"] == i


def test_processes_put_into_one_file(tmp_path: Path) -> None:
    """Each process sees its own writes, and an item that both write ends consistent: its texts match its value."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_count_up, args=(tmp_path / "a", name, 25)) for name in ("one", "two")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with ScrubjayStore(tmp_path / "a") as store:
        assert sorted(keys(store.search(()))) == ["both", "one", "two"]
        both = store.get(JANE, "both").value
        documents = store._index.list(Scope(".", user="memories.jane", agent="."), filter={"key": "both"})
        assert sorted(record.text for record in documents) == sorted(both["texts"] or [""])
        assert all(value_of(record) == both for record in documents)


def test_the_sweeper_starts_and_stops(tmp_path: Path) -> None:
    with ScrubjayStore(tmp_path / "a") as store:
        store.put(JANE, "m1", {"text": "short"}, ttl=0.001)
        done = store.start_ttl_sweeper(0.002)
        assert store.start_ttl_sweeper(0.002) is done
        rows = Backend.of(store._index).engine.store  # type: ignore[union-attr]
        for _ in range(2400):
            if all(state.documents == 0 for _, state in rows.scopes()):
                break
            time.sleep(0.05)
        assert rows.scopes() == []
        assert store.stop_ttl_sweeper(timeout=60)
        assert done.done()
        again = store.start_ttl_sweeper(10)
        assert again.cancel()
        assert store.stop_ttl_sweeper(timeout=60)
        with pytest.raises(ValueError, match="sweep_interval_minutes"):
            store.start_ttl_sweeper(0)


def test_items_survive_reopening(tmp_path: Path) -> None:
    with ScrubjayStore.from_conn_string(tmp_path / "a") as store:
        store.setup()
        store.put(JANE, "m1", {"text": "The staging key"})
    with ScrubjayStore(tmp_path / "a") as store:
        assert keys(store.search(("memories",), query="keys")) == ["m1"]


def test_an_open_index_is_shared(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a") as index:
        index.upsert("x", "of somebody else", scope=Scope("acme"))
        store = ScrubjayStore(index)
        store.put(JANE, "m1", {"text": "The staging key"})
        assert len(index) == 1
        store.close()
        assert index.collection("langgraph").count() == 1


def test_threads_put_and_search(where: Path | None) -> None:
    with ScrubjayStore(where, durability="normal") if where else ScrubjayStore() as store:
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for i in range(15):
                    store.put(("t", str(number)), f"k{i}", {"text": f"memory {i}", "n": number})
                    store.put(("t", "all"), "same", {"text": " ".join(["word"] * (i % 3)), "n": number})
                    assert len(store.search(("t", str(number)), query="memory", limit=50)) == i + 1
            except BaseException as error:  # noqa: BLE001 - told by the main thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(store.search(("t",), limit=100)) == 61


def test_repr_names_scope_and_file(tmp_path: Path) -> None:
    said = "ScrubjayStore of no tenant, lexical: 'langgraph' in memory, by words"
    assert repr(ScrubjayStore()) == f"<scrubjay.adapters.langgraph.{said}>"
    ones = Function(lambda texts: [[1.0]] * len(texts), dim=1, name="ones")
    with ScrubjayStore(tmp_path / "a", tenant="acme", embedder=ones) as store:
        assert f"of tenant 'acme', hybrid: 'langgraph' of {tmp_path / 'a'}, by words and ones>" in repr(store)
    assert "closed" in repr(store)
