"""The collections of one file are independent indexes that share the file."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from tests.data.postgres import new_url

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
JANE = Scope("acme", user="jane")
JOE = Scope("acme", user="joe")


class Toy:
    """An embedder whose dimension is the length of its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dim = len(name)

    def embed_documents(self, texts: Any) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        return np.float32([text.count("o") + 1, *range(1, self.dim)])


@pytest.fixture(params=["file", "memory", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    if request.param == "memory":
        yield Index()
        return
    path = new_url() if request.param == "postgres" else tmp_path / "memories.scrubjay"
    with Index.open(path) as opened:
        yield opened


def ids(index: Index, word: str = "oak", scope: Scope = JANE) -> list[Any]:
    return sorted(hit.id for hit in index.search(word, scope=scope, k=100, query=Query(mode="lexical")))


def test_collections_share_nothing_but_the_place(index: Index) -> None:
    assert index.admin.collections() == []
    traces, facts = index.collection("traces"), index.collection("facts", dim=3)
    assert index.admin.collections() == ["facts", "traces"]
    assert (index.name, traces.name, facts.name) == ("", "traces", "facts")
    index.upsert("a", "an oak", scope=JANE, vector=[1.0, 2.0])
    traces.upsert("a", "a trace of an oak", scope=JOE)  # the same id, another scope
    traces.upsert("b", "oak too", scope=JANE)
    facts.upsert(7, "oak facts", scope=JANE, vector=[1.0, 2.0, 3.0])  # ids of another kind, another dimension
    assert (ids(index), ids(traces), ids(facts)) == (["a"], ["b"], [7])
    assert (len(index), len(traces), len(facts)) == (1, 2, 1)
    assert index.collection("traces") is traces
    assert facts.collection("traces") is traces
    assert traces.delete("a", scope=JOE)
    assert traces.erase(JANE) == 1
    assert (ids(index), ids(traces), ids(facts)) == (["a"], [], [7])
    with pytest.raises(ValueError, match="dim"):
        index.collection("facts", dim=4)


def test_erase_covers_all_collections(index: Index) -> None:
    traces = index.collection("traces")
    for each in (index, traces):
        each.upsert("jane's", "oak", scope=JANE)
        each.upsert("joe's", "oak", scope=JOE)
    assert traces.erase(JANE, everywhere=True, reason="she asked for it") == 2
    assert (ids(index), ids(traces)) == ([], [])
    assert (ids(index, scope=JOE), ids(traces, scope=JOE)) == (["joe's"], ["joe's"])
    if index.path is not None:
        for each in (index, traces):
            assert [(e.reason, e.scope, e.documents) for e in each.admin.events()] == [
                ("she asked for it", JANE, 1)
            ]
            assert each.admin.check().problems == []


def test_dropping_a_collection_deletes_its_documents(index: Index) -> None:
    traces = index.collection("traces")
    traces.upsert_many([{"id": i, "text": "a secret oak", "scope": (JANE, JOE)[i % 2]} for i in range(5)])
    with pytest.raises(KeyError, match="traces"):
        index.admin.drop_collection("tracks")
    assert index.admin.drop_collection("traces") == 5
    assert index.admin.collections() == []
    anew = index.collection("traces")
    assert anew is not traces
    assert len(anew) == 0
    if index.path is not None:
        with pytest.raises(scrubjay.ClosedError):
            traces.search("oak", scope=JANE)
        assert [(e.reason, e.scope, e.documents) for e in index.admin.events()] == [
            ("drop_collection traces", JANE, 3),
            ("drop_collection traces", JOE, 2),
        ]
        index.admin.compact()
        assert index.admin.verify_erased(["a secret oak"]).clean


def test_a_collection_whose_counts_were_damaged_is_not_dropped_half(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        index.collection("traces").upsert("a", "oak", scope=JANE)
        index.collection("traces").upsert("b", "oak", scope=JOE)
    with closing(sqlite3.connect(path)) as connection, connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'scope_[0-9]*'"
        ).fetchone()
        connection.execute(f"UPDATE {table} SET documents = x'40b9' WHERE user = 'joe'")
    with Index.open(path) as index:
        with pytest.raises(scrubjay.CorruptIndexError, match="count of documents"):
            index.admin.drop_collection("traces")
        assert index.admin.collections() == ["traces"]
        assert index.admin.events() == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", 7, None])
def test_invalid_collection_names_are_refused(index: Index, name: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="collection"):
        index.collection(name)
    assert index.admin.collections() == []


def test_quotes_in_a_name_are_harmless(index: Index) -> None:
    odd = index.collection("""x"'; DROP TABLE document; --""")
    odd.upsert("a", "oak", scope=JANE)
    assert ids(odd) == ["a"]
    assert index.admin.collections() == [odd.name]


def test_the_embedder_is_shared_where_it_fits(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    toy, other = Toy("toy"), Toy("longer")
    with Index.open(path, toy) as index:
        same = index.collection("same")
        assert same.embedder is toy
        larger = index.collection("larger", embedder=other)
        plain = index.collection("plain", dim=9)
        assert plain.embedder is None
        for each in (index, same, larger):
            each.upsert("a", "oak wood", scope=JANE)
            assert each.search("oak", scope=JANE).mode == "hybrid"
        plain.upsert("a", "oak", scope=JANE, vector=np.ones(9))
        assert [each.admin.stats()["dim"] for each in (index, same, larger, plain)] == [3, 3, 6, 9]
    with Index.open(path, toy) as index:
        assert index.collection("same").embedder is toy
        larger = index.collection("larger")
        assert larger.embedder is None  # the index's own embedder does not fit, and no other was given
        assert larger.search("oak", scope=JANE).mode == "lexical"
        assert index.collection("larger", embedder=other) is larger
        assert larger.search("oak", scope=JANE).mode == "hybrid"
        assert index.collection("plain").embedder is None


def test_collections_survive_and_are_opened_by_name(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path, collection="traces") as traces:
        traces.upsert("a", "oak", scope=JANE)
        assert traces.admin.collections() == ["traces"]
    with Index.open(path) as index, Index.open(path, collection="traces") as traces:
        assert (ids(index), ids(traces)) == ([], ["a"])
        index.collection("traces").upsert("b", "oak", scope=JANE)  # a second index of the same collection
        assert ids(traces) == ["a", "b"]
        index.upsert("c", "oak", scope=JANE)
    with Index.open(path) as index:
        assert (ids(index), ids(index.collection("traces"))) == (["c"], ["a", "b"])
        traces = index.collection("traces")
    with pytest.raises(scrubjay.ClosedError):  # closed with the index that was opened
        traces.search("oak", scope=JANE)


def test_compaction_backup_and_the_search_for_erased_bytes_see_all(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        traces = index.collection("traces")
        for each in (index, traces):
            each.upsert_many(
                [{"id": i, "text": f"the door code is {i:05}", "scope": JANE} for i in range(200)]
            )
            each.admin.compact()
        assert traces.delete(17, scope=JANE, reason="asked for")
        assert not index.admin.verify_erased(["the door code is 00017"]).clean
        assert index.delete(17, scope=JANE)
        index.admin.compact()
        assert index.admin.verify_erased(["the door code is 00017"]).clean
        index.admin.backup(tmp_path / "copy.scrubjay")
        for each in (index, traces):
            assert each.admin.check().problems == []
    with Index.open(tmp_path / "copy.scrubjay") as copy:
        traces = copy.collection("traces")
        assert (len(copy), len(traces)) == (199, 199)
        assert [event.reason for event in traces.admin.events()] == ["asked for"]
        assert traces.get(17, scope=JANE) is None


def test_collections_share_one_memory_budget(tmp_path: Path) -> None:
    with Index.open(tmp_path / "memories.scrubjay", memory_budget=3 << 20) as index:
        collections = [index, *(index.collection(f"c{i}") for i in range(4))]
        for each in collections:
            for user in range(4):
                scope = Scope("acme", user=str(user))
                each.upsert_many(
                    [
                        {"id": 1000 * user + i, "text": f"oak {i} " + "tree " * 40, "scope": scope}
                        for i in range(500)
                    ]
                )
        budget = Backend.of(index).engine.residency.budget  # type: ignore[union-attr]
        used = sum(Backend.of(each).engine.native.stats()["memory_bytes"] for each in collections)  # type: ignore[union-attr]
        assert budget.used_bytes <= 3 << 20
        assert 0 < used < 4 << 20
        for each in collections:
            for user in range(4):
                assert len(each.search("oak", scope=Scope("acme", user=str(user)), k=1000)) == 500
        assert sum(each.admin.check().documents for each in collections) == 10_000
        assert all(each.admin.check().clean for each in collections)


def test_another_process_drops_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "memories.scrubjay"
    with Index.open(path) as index:
        traces = index.collection("traces")
        traces.upsert("a", "oak", scope=JANE)
        assert ids(traces) == ["a"]
        script = textwrap.dedent(
            """
            import json, sys
            from scrubjay import Index, Scope
            with Index.open(sys.argv[1]) as index:
                before = index.admin.collections()
                index.admin.drop_collection("traces")
                index.collection("other").upsert("b", "oak", scope=Scope("acme", user="jane"))
                print(json.dumps([before, index.admin.collections()]))
            """
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout) == [["traces"], ["other"]]
        with pytest.raises(scrubjay.ClosedError, match="dropped"):
            traces.search("oak", scope=JANE)
        with pytest.raises(scrubjay.ClosedError, match="dropped"):
            traces.upsert("c", "oak", scope=JANE)
        assert ids(index.collection("other")) == ["b"]
        assert index.admin.events()[0].documents == 1


def test_a_file_of_format_1_gets_collections(tmp_path: Path) -> None:
    path = tmp_path / "old.scrubjay"
    shutil.copy(GOLDEN / "format-1.scrubjay", path)
    with Index.open(path) as index:
        assert index.admin.collections() == []
        index.collection("traces").upsert("m1", "oak", scope=JANE)
        assert len(index) == 11
    with Index.open(path) as index:
        assert index.admin.collections() == ["traces"]
        assert ids(index.collection("traces")) == ["m1"]
        assert index.admin.check().problems == []
