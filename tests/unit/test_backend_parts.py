"""Parts shared by adapters: trees of scopes, writing in one step, sweeping, and a framework's embeddings."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import ClosedError, Index, Query, Scope
from scrubjay.backend import Documents, FrameworkEmbedder, ScopeTree, Sweeper, model_of, prepared
from scrubjay.documents.records import Row

ACME = Scope("acme")
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture(params=["memory", "file"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Documents]:
    where = None if request.param == "memory" else tmp_path / "a.scrubjay"
    with Documents(where, collection="notes") as opened:
        yield opened


def row(id: str, text: str, scope: Scope = JANE) -> Row:
    return Row(id, text, scope, None, None)


# ---------------------------------------------------------------------- trees of scopes

LABELS = ["a", "b", "ab", "a b", "é", "%", "_", "A", "-", "0", "\U0001f426"]


@pytest.mark.parametrize("separator", [".", "/", "\0"])
def test_scopes_below_a_path_equal_a_full_scan(documents: Documents, separator: str) -> None:
    """Random writes and deletions, also in other tenants, of other agents and by users that are not paths."""
    chance = random.Random(7)
    within = Scope("acme", agent=".")
    tree = ScopeTree(documents.index, within, separator)
    paths: set[str] = set()
    for step in range(120):
        path = separator.join(chance.choices(LABELS, k=chance.randint(1, 4)))
        scope = Scope("acme", user=path, agent=".")
        if chance.random() < 0.7:
            documents.upsert_many([{"id": "m", "text": "note"}], scope=scope)
            tree.note([path])
            paths.add(path)
        elif paths:
            gone = chance.choice(sorted(paths))
            documents.erase(Scope("acme", user=gone, agent="."))
            paths.discard(gone)
        elsewhere = [Scope("acme2", path, "."), Scope("acme", path), Scope("acme", path, "x")]
        documents.upsert_many([{"id": "m", "text": "note"}], scope=chance.choice(elsewhere))
        asked = separator.join(path.split(separator)[: chance.randint(0, 3)])
        slow = [one for one in paths if not asked or one == asked or one.startswith(asked + separator)]
        assert tree.below(asked) == [Scope("acme", one, ".") for one in sorted(slow)], (step, asked)
    assert ScopeTree(documents.index, within, separator).below() == tree.below()


def test_a_tree_is_of_a_tenant_and_one_separator() -> None:
    index = Index()
    for wrong in ({"within": JANE}, {"within": "acme"}, {"separator": ""}, {"separator": "::"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            ScopeTree(**{"index": index, "within": ACME, **wrong})  # type: ignore[arg-type]


# ---------------------------------------------------------------------- writing in one step


def test_writes_and_deletes_apply_when_the_block_ends(documents: Documents) -> None:
    documents.upsert_many([{"id": id, "text": id} for id in ("m1", "m2")], scope=JANE)
    with documents.writing("moving") as writes:
        writes.delete([(JANE, "m1"), (JANE, "absent"), (JANE, "m2")])
        writes.put([row("m2", "again"), row("m3", "new"), row("m1", "elsewhere", JOE)])
        assert [one.id for one in documents.list(scope=JANE, order="oldest")] == ["m1", "m2"]
    assert {one.id: one.text for one in documents.list(scope=JANE)} == {"m2": "again", "m3": "new"}
    assert [one.text for one in documents.list(scope=JOE)] == ["elsewhere"]
    with documents.writing("nothing"):
        pass
    if documents.index.path is not None:
        assert "moving" in [event.reason for event in documents.index.admin.events()]


def test_an_error_inside_the_block_writes_nothing(documents: Documents) -> None:
    documents.upsert_many([{"id": "m1", "text": "first"}], scope=JANE)

    def write(rows: list[Row], error: Exception | None = None) -> None:
        with documents.writing("failing") as writes:
            writes.put(rows)
            writes.delete([(JANE, "m1")])
            if error is not None:
                raise error

    with pytest.raises(KeyError):
        write([row("m2", "second")], KeyError("m1"))
    with pytest.raises((TypeError, ValueError)):
        write([row("m2", "second"), row("", "no id")])
    assert [one.text for one in documents.list(scope=JANE)] == ["first"]


def test_the_write_block_excludes_concurrent_writers(documents: Documents) -> None:
    """Sixteen threads increment a counter: each reads and writes while holding the lock."""
    documents.upsert_many([{"id": "n", "text": "0"}], scope=JANE)

    def count_up() -> None:
        for _ in range(5):
            with documents.writing("counting") as writes:
                (found,) = documents.get_many(["n"], scope=JANE)
                assert found is not None
                writes.put([row("n", str(int(found.text) + 1))])

    threads = [threading.Thread(target=count_up) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.text for one in documents.list(scope=JANE)] == ["80"]


# ---------------------------------------------------------------------- sweeping


class Swept:
    """Counts calls; raises on request."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times = 0
        self.often = threading.Event()

    def sweep(self) -> None:
        self.times += 1
        if self.times > 3:
            self.often.set()
        if self.errors:
            raise self.errors.pop(0)


def test_a_sweep_that_fails_is_not_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    swept = Swept(OSError("the disk is full"), KeyError("a"))
    sweeper = Sweeper(swept.sweep)
    done = sweeper.start(0.001)
    assert sweeper.start(0.001) is done
    assert swept.often.wait(60) and not done.done()
    assert sweeper.stop() and done.done() and "the disk is full" in caplog.text
    times = swept.times
    assert sweeper.stop(1) and swept.times == times
    swept.often.clear()
    assert sweeper.start(0.001) is not done and swept.often.wait(60) and sweeper.stop()


def test_the_sweeper_ends_when_its_object_is_closed_or_collected() -> None:
    closed, gone, cancelled = Swept(ClosedError("closed")), Swept(), Swept()
    sweepers = [Sweeper(one.sweep) for one in (closed, gone, cancelled)]
    done = [sweeper.start(0.001) for sweeper in sweepers]
    done[0].result(60)
    assert closed.times == 1
    del gone
    gc.collect()
    done[1].result(60)
    assert done[2].cancel()
    assert all(sweeper.stop() for sweeper in sweepers)


# ---------------------------------------------------------------------- a framework's embeddings


class Embeddings:
    """Returns vectors (length, 1), and records its calls."""

    model = "lengths"

    def __init__(self, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.fails = fails

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise OSError("no network")
        self.asked += texts
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


def test_prepared_texts_are_not_embedded_again() -> None:
    made = Embeddings()
    embedder = FrameworkEmbedder(made, "lengths", 2)
    ready = asyncio.run(embedder.prepare(["train", "plane", "train", "\ud800"], ["train?"]))
    assert sorted(made.asked) == sorted(["train", "plane", "\ufffd", "train?"])
    made.asked.clear()
    index = Index(embedder)
    with prepared(ready):
        index.upsert_many(
            [{"id": str(n), "text": text} for n, text in enumerate(["train", "\ud800"])], scope=JANE
        )
        assert index.search("train?", scope=JANE, query=Query(mode="vector"))[0].id == "0"
        assert made.asked == []
        assert embedder.embed_documents(["plane", "tram", "train"]).tolist() == [[5, 1], [4, 1], [5, 1]]
        assert made.asked == ["tram"]
    embedder.embed_documents(["train"])
    assert made.asked == ["tram", "train"]  # outside the block the vectors are not used


def test_contexts_do_not_see_what_others_prepared() -> None:
    made = Embeddings()
    embedder = FrameworkEmbedder(made, "lengths", 2)

    async def one(number: int) -> float:
        with prepared({("query", "q"): [float(number), 0.0]}):
            await asyncio.sleep(0)
            return float((await asyncio.to_thread(embedder.embed_query, "q"))[0])

    async def many() -> list[float]:
        return await asyncio.gather(*(one(number) for number in range(20)))

    assert asyncio.run(many()) == [float(number) for number in range(20)] and made.asked == []


def test_embedding_errors_are_raised_when_the_vector_is_used() -> None:
    embedder = FrameworkEmbedder(Embeddings(fails=True), "lengths", 2)
    ready = asyncio.run(embedder.prepare(["train"], ["train?"]))
    index = Index(embedder)
    index.upsert("m1", "The train to Oslo.", scope=JANE, vector=np.ones(2))
    with prepared(ready):
        hits = index.search("train?", scope=JANE)
        assert [hit.id for hit in hits] == ["m1"] and "no network" in str(hits.degraded)
        with pytest.raises(OSError, match="no network"):
            embedder.embed_documents(["train"])

    class Short(Embeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return []

    short = FrameworkEmbedder(Short(), "short", 2)
    with prepared(asyncio.run(short.prepare(["train"]))), pytest.raises(ValueError, match="1 vectors, got 0"):
        short.embed_documents(["train"])


def test_a_model_says_its_dimension_and_its_name_and_how_much_it_reads() -> None:
    made: Any = Embeddings()
    embedder = FrameworkEmbedder(made, "lengths")
    assert made.asked == []
    assert embedder.dim == 2 and made.asked == ["dimension"]
    assert model_of(made) == "lengths" and model_of(made, ["model_id"]) is None
    long = "A sentence of some words. " * 20
    assert embedder.asked_for(["a", long, "a"]) == ["a", long]
    made.passage_chars = 100
    parts = FrameworkEmbedder(made, "lengths", 2).asked_for([long])
    assert len(parts) > 1 and all(len(part) <= 100 for part in parts)
    with pytest.raises(ValueError, match="passage_chars"):
        FrameworkEmbedder(made, "lengths", 2, 10)
